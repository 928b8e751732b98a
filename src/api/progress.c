/*
 * progress.c - reports of a handler, and what else it says, on their way to the client
 *
 * On the loop they go straight to the exchange. From elsewhere they wait in the request
 * for the loop, in the order in which they were made. So few wait that a handler which
 * speaks in a tight loop neither fills memory nor is slowed down: of progress the newest
 * takes the place of the one before it, and log messages beyond the bound are dropped
 * and counted. That a client may go and come back stands among them, so that it has
 * what was said before.
 */
#include <math.h>
#include <string.h>

#include "api/custom.h"
#include "api/request.h"
#include "base/mem.h"
#include "base/text.h"

#define REPORTS_MAX 64 /* of progress: the newest says it all */
/* Each says something: more than a person reads, and what a turn can take. */
#define MCPI_LOGS_MAX 256
#define LOGS_BYTES ((size_t)1024 * 1024) /* as much as may wait to be written */

enum report_kind { REPORT_PROGRESS, REPORT_NOTE, REPORT_DETACH };

struct report {
    struct mcpi_list node;
    enum report_kind kind;
    bool has_message;
    double progress, total; /* total NaN: unknown */
    size_t length;          /* of a note: of its params; 0: none */
    char text[];            /* message, terminated; of a note: method, terminated, and
                               params */
};

/* Made for the first one that waits: most requests say nothing from another thread. */
struct mcpi_reports {
    struct mcpi_post post;
    mcp_request *req;
    struct mcpi_list waiting;    /* all under the request's lock */
    size_t count;                /* progress among them */
    size_t log_count, log_bytes; /* notes among them */
    size_t logs_dropped;         /* since the last were sent */
    bool detaches;               /* that it does is among them */
};

static struct report *
report_new(const mcp_request *req, double progress, double total, const char *message)
{
    size_t size = message ? strlen(message) + 1 : 0;
    struct report *report = mcpi_alloc(req->host->mem, sizeof(*report) + size);

    if (!report)
        return NULL;
    *report = (struct report){
        .progress = progress, .total = total, .has_message = message != NULL};
    mcpi_list_init(&report->node);
    if (message)
        memcpy(report->text, message, size);
    return report;
}

static struct report *
report_new_note(const mcp_request *req, const char *method, const char *params,
                size_t len)
{
    size_t size = strlen(method) + 1;
    struct report *report = mcpi_alloc(req->host->mem, sizeof(*report) + size + len);

    if (!report)
        return NULL;
    *report = (struct report){.kind = REPORT_NOTE, .length = len};
    mcpi_list_init(&report->node);
    memcpy(report->text, method, size);
    if (len > 0)
        memcpy(report->text + size, params, len);
    return report;
}

static struct report *
report_new_detach(const mcp_request *req)
{
    struct report *report = mcpi_alloc(req->host->mem, sizeof(*report));

    if (!report)
        return NULL;
    *report = (struct report){.kind = REPORT_DETACH};
    mcpi_list_init(&report->node);
    return report;
}

/* ---- they are sent ------------------------------------------------------ */

static struct report *
report_of(struct mcpi_list *node)
{
    return MCPI_CONTAINER(node, struct report, node);
}

static int
note_send(mcp_request *req, const char *method, const char *params, size_t len)
{
    return mcpi_exchange_notify(req->x, method, len > 0 ? params : NULL, len,
                                mcpi_loop_now(req->host->inside));
}

static void
report_send(mcp_request *req, struct report *report)
{
    int64_t now = mcpi_loop_now(req->host->inside);

    if (report->kind == REPORT_NOTE)
        (void)note_send(req, report->text, report->text + strlen(report->text) + 1,
                        report->length);
    else if (report->kind == REPORT_DETACH)
        (void)mcpi_exchange_detach(req->x, now);
    else
        (void)mcpi_exchange_progress(req->x, report->progress, report->total,
                                     report->has_message ? report->text : NULL, now);
    mcpi_free(req->host->mem, report);
}

/* All that wait now. What comes meanwhile is posted anew, behind what others have for
 * the loop, so a handler that speaks without a pause does not hold it. Returns how many
 * log messages were dropped. */
static size_t
reports_take(mcp_request *req, struct mcpi_list *into)
{
    struct mcpi_reports *all;
    struct mcpi_list *node;
    size_t dropped;

    pthread_mutex_lock(mcpi_request_lock(req));
    all = req->reports;
    while ((node = mcpi_list_pop(&all->waiting)) != NULL)
        mcpi_list_append(into, node);
    dropped = all->logs_dropped;
    all->count = all->log_count = all->log_bytes = all->logs_dropped = 0;
    all->detaches = false;
    atomic_store(&req->report_posted, false);
    pthread_mutex_unlock(mcpi_request_lock(req));
    return dropped;
}

void
mcpi_request_send_reports(mcp_request *req)
{
    struct mcpi_list reports, *node;
    char shown[MCPI_ID_SHOWN];
    size_t dropped;

    if (!atomic_load(&req->report_posted))
        return;
    mcpi_list_init(&reports);
    dropped = reports_take(req, &reports);
    while ((node = mcpi_list_pop(&reports)) != NULL)
        report_send(req, report_of(node));
    if (dropped > 0)
        MCPI_LOG(&req->host->log, MCP_LOG_INFO,
                 "%zu messages of request %s were dropped: too many at once", dropped,
                 mcpi_id_show(&req->x->rpc.id, shown));
}

static void
on_report(struct mcpi_post *post)
{
    mcpi_request_send_reports(MCPI_CONTAINER(post, struct mcpi_reports, post)->req);
}

/* Under lock. NULL: no memory. */
static struct mcpi_reports *
reports_get(mcp_request *req)
{
    struct mcpi_reports *all = req->reports;

    if (all)
        return all;
    all = mcpi_alloc_zero(req->host->mem, sizeof(*all));
    if (!all)
        return NULL;
    all->post.fn = on_report;
    all->req = req;
    mcpi_list_init(&all->waiting);
    req->reports = all;
    return all;
}

void
mcpi_request_free_reports(mcp_request *req)
{
    mcpi_free(req->host->mem, req->reports);
    req->reports = NULL;
}

/* ---- they wait ---------------------------------------------------------- */

/* Under lock. Returns one that is not to be sent any more, or NULL. */
static struct report *
reports_add(struct mcpi_reports *all, struct report *report)
{
    struct mcpi_list *node = all->waiting.prev;
    struct report *dropped = NULL;

    if (all->count == REPORTS_MAX) {
        while (report_of(node)->kind != REPORT_PROGRESS)
            node = node->prev;
        dropped = report_of(node);
        mcpi_list_remove(&dropped->node);
        all->count--;
    }
    mcpi_list_append(&all->waiting, &report->node);
    all->count++;
    return dropped;
}

/* Under lock. Returns it if there is no room. */
static struct report *
reports_add_note(struct mcpi_reports *all, struct report *report)
{
    bool fits = all->log_count == 0 || (all->log_count < MCPI_LOGS_MAX &&
                                        all->log_bytes + report->length <= LOGS_BYTES);

    if (!fits) {
        all->logs_dropped++;
        return report;
    }
    mcpi_list_append(&all->waiting, &report->node);
    all->log_count++;
    all->log_bytes += report->length;
    return NULL;
}

/* Under lock. Returns it if one waits already. */
static struct report *
reports_add_detach(struct mcpi_reports *all, struct report *report)
{
    if (all->detaches)
        return report;
    mcpi_list_append(&all->waiting, &report->node);
    all->detaches = true;
    return NULL;
}

/* Progress that does not rise is none. */
static int
report_queue(mcp_request *req, struct report *report)
{
    struct report *dropped = report;
    struct mcpi_reports *all;
    bool post = false;
    int r = 0;

    pthread_mutex_lock(mcpi_request_lock(req));
    all = reports_get(req);
    if (!all) {
        r = MCP_E_NOMEM;
    } else if (report->kind == REPORT_NOTE) {
        dropped = reports_add_note(all, report);
    } else if (report->kind == REPORT_DETACH) {
        dropped = reports_add_detach(all, report);
    } else if (report->progress > req->progress) {
        req->progress = report->progress;
        dropped = reports_add(all, report);
    } else {
        r = MCP_E_INVAL;
    }
    if (dropped != report)
        post = !atomic_exchange(&req->report_posted, true);
    pthread_mutex_unlock(mcpi_request_lock(req));
    mcpi_free(req->host->mem, dropped);
    if (post)
        mcpi_loop_post(req->host->inside, &all->post);
    return r;
}

/* Does what is said now go out at once? Not before what waits. */
static bool
report_is_direct(mcp_request *req)
{
    return mcpi_loop_is_here(req->host->inside) && !atomic_load(&req->report_posted);
}

/* ---- log messages, and notifications of the program's own ---------------- */

int
mcpi_request_send_note(mcp_request *req, const char *method, const char *params,
                       size_t len)
{
    struct report *report;

    if (report_is_direct(req))
        return note_send(req, method, params, len);
    report = report_new_note(req, method, params, len);
    return report ? report_queue(req, report) : MCP_E_NOMEM;
}

int
mcp_request_notify(mcp_request *req, const char *method, const char *params)
{
    struct mcpi_buf text;
    int r;

    if (!req)
        return MCP_E_INVAL;
    if (mcp_request_is_canceled(req))
        return MCP_E_CANCELED;
    if (atomic_load(&req->over) || mcpi_host_guard(req->host) < 0)
        return MCP_E_STATE;
    mcpi_buf_init(&text, req->host->mem, req->host->engine->limits.message_bytes);
    r = mcpi_custom_write_note(req->host->mem, method, params, &text);
    if (r == 0)
        r = mcpi_request_send_note(req, method, text.data, text.len);
    mcpi_buf_done(&text);
    return r;
}

/* ---- letting the client go ---------------------------------------------- */

int
mcp_request_detach(mcp_request *req)
{
    struct report *report;

    if (!req)
        return MCP_E_INVAL;
    if (mcp_request_is_canceled(req))
        return MCP_E_CANCELED;
    if (atomic_load(&req->over) || mcpi_host_guard(req->host) < 0)
        return MCP_E_STATE;
    if (report_is_direct(req))
        return mcpi_exchange_detach(req->x, mcpi_loop_now(req->host->inside));
    report = report_new_detach(req);
    return report ? report_queue(req, report) : MCP_E_NOMEM;
}

/* ---- progress ----------------------------------------------------------- */

/* The value rises: note it down. */
static int
progress_note(mcp_request *req, double progress)
{
    int r = MCP_E_INVAL;

    pthread_mutex_lock(mcpi_request_lock(req));
    if (progress > req->progress) {
        req->progress = progress;
        r = 0;
    }
    pthread_mutex_unlock(mcpi_request_lock(req));
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
    if (atomic_load(&req->over) || mcpi_host_guard(req->host) < 0)
        return MCP_E_STATE;
    if (req->x->caller.progress_token.kind == MCPI_ID_NONE || progress <= req->reported)
        return progress_note(req, progress); /* a run before this one has said it */
    known = total > 0 ? total : (double)NAN;
    if (report_is_direct(req)) {
        r = progress_note(req, progress);
        return r < 0 ? r
                     : mcpi_exchange_progress(req->x, progress, known, message,
                                              mcpi_loop_now(req->host->inside));
    }
    report = report_new(req, progress, known, message);
    return report ? report_queue(req, report) : MCP_E_NOMEM;
}
