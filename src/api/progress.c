/*
 * progress.c - reports of a handler on their way to the client
 *
 * On the loop a report goes straight to the exchange. From elsewhere it waits in the
 * request for the loop; so few wait that a handler which reports in a tight loop
 * neither fills memory nor is slowed down: the newest takes the place of the one before
 * it.
 */
#include <math.h>
#include <string.h>

#include "api/request.h"
#include "api/server.h"
#include "base/mem.h"
#include "base/text.h"

#define REPORTS_MAX 64

struct report {
    struct mcpi_list node;
    double progress, total; /* total NaN: unknown */
    bool has_message;
    char message[];
};

static struct report *
report_new(const mcp_request *req, double progress, double total, const char *message)
{
    size_t len = message ? strlen(message) + 1 : 0;
    struct report *report = mcpi_alloc(req->server->mem, sizeof(*report) + len);

    if (!report)
        return NULL;
    mcpi_list_init(&report->node);
    report->progress = progress;
    report->total = total;
    report->has_message = message != NULL;
    if (message)
        memcpy(report->message, message, len);
    return report;
}

static struct report *
report_pop(mcp_request *req)
{
    struct mcpi_list *node;

    pthread_mutex_lock(&req->lock);
    node = mcpi_list_pop(&req->reports);
    if (node)
        req->report_count--;
    else
        atomic_store(&req->report_posted, false);
    pthread_mutex_unlock(&req->lock);
    return node ? MCPI_CONTAINER(node, struct report, node) : NULL;
}

void
mcpi_request_send_reports(mcp_request *req)
{
    struct report *report;

    if (!atomic_load(&req->report_posted))
        return;
    for (report = report_pop(req); report; report = report_pop(req)) {
        (void)mcpi_exchange_progress(req->x, report->progress, report->total,
                                     report->has_message ? report->message : NULL,
                                     mcpi_loop_now(req->server->inside));
        mcpi_free(req->server->mem, report);
    }
}

static void
on_report(struct mcpi_post *post)
{
    mcpi_request_send_reports(MCPI_CONTAINER(post, mcp_request, report));
}

/* Under lock. Returns one that is not to be sent any more, or NULL. */
static struct report *
reports_add(mcp_request *req, struct report *report)
{
    struct report *dropped = NULL;

    if (req->report_count == REPORTS_MAX) {
        dropped = MCPI_CONTAINER(req->reports.prev, struct report, node);
        mcpi_list_remove(&dropped->node);
        req->report_count--;
    }
    mcpi_list_append(&req->reports, &report->node);
    req->report_count++;
    return dropped;
}

static int
report_queue(mcp_request *req, struct report *report)
{
    struct report *dropped = report;
    bool post = false;
    int r = MCP_E_INVAL;

    pthread_mutex_lock(&req->lock);
    if (report->progress > req->progress) {
        req->progress = report->progress;
        dropped = reports_add(req, report);
        post = !atomic_exchange(&req->report_posted, true);
        r = 0;
    }
    pthread_mutex_unlock(&req->lock);
    mcpi_free(req->server->mem, dropped);
    if (post) {
        req->report.fn = on_report;
        mcpi_loop_post(req->server->inside, &req->report);
    }
    return r;
}

/* The value rises: note it down. */
static int
progress_note(mcp_request *req, double progress)
{
    int r = MCP_E_INVAL;

    pthread_mutex_lock(&req->lock);
    if (progress > req->progress) {
        req->progress = progress;
        r = 0;
    }
    pthread_mutex_unlock(&req->lock);
    return r;
}

static bool
progress_is_sane(double progress, double total, const char *message)
{
    return isfinite(progress) && isfinite(total) && total >= 0 &&
           (!message || mcpi_utf8_valid(message, strlen(message)));
}

int
mcp_request_progress(mcp_request *req, double progress, double total,
                     const char *message)
{
    struct report *report;
    double known;
    int r;

    if (!req || !progress_is_sane(progress, total, message))
        return MCP_E_INVAL;
    if (mcp_request_is_canceled(req))
        return MCP_E_CANCELED;
    if (atomic_load(&req->over) || mcpi_server_guard(req->server) < 0)
        return MCP_E_STATE;
    if (req->x->caller.progress_token.kind == MCPI_ID_NONE)
        return progress_note(req, progress);
    known = total > 0 ? total : (double)NAN;
    if (mcpi_loop_is_here(req->server->inside) && !atomic_load(&req->report_posted)) {
        r = progress_note(req, progress);
        return r < 0 ? r
                     : mcpi_exchange_progress(req->x, progress, known, message,
                                              mcpi_loop_now(req->server->inside));
    }
    report = report_new(req, progress, known, message);
    return report ? report_queue(req, report) : MCP_E_NOMEM;
}
