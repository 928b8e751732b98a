/* host.c - who runs handlers: a server, or a client that is asked something */
#include "api/host.h"

#include "api/request.h"

static void
locks_done(struct mcpi_host *host, size_t count)
{
    while (count > 0)
        pthread_mutex_destroy(&host->request_locks[--count]);
}

int
mcpi_host_init(struct mcpi_host *host)
{
    size_t count = 0;

    mcpi_list_init(&host->told);
    while (count < MCPI_REQUEST_LOCKS &&
           pthread_mutex_init(&host->request_locks[count], NULL) == 0)
        count++;
    if (count == MCPI_REQUEST_LOCKS && pthread_mutex_init(&host->lock, NULL) == 0)
        return 0;
    locks_done(host, count);
    return MCP_E_NOMEM;
}

void
mcpi_host_done(struct mcpi_host *host)
{
    pthread_mutex_destroy(&host->lock);
    locks_done(host, MCPI_REQUEST_LOCKS);
}

void
mcpi_tally_answered(struct mcpi_tally *tally, int code)
{
    mcpi_tally_add(&tally->in_flight, -1);
    mcpi_tally_add(code == 0 ? &tally->answered : &tally->failed, 1);
}

static atomic_uint_fast64_t *
tally_of(struct mcpi_tally *tally, enum mcpi_ending how)
{
    switch (how) {
    case MCPI_CANCELED:
        return &tally->by_peer;
    case MCPI_LIMITED:
        return &tally->by_limit;
    case MCPI_CLOSED:
        return &tally->by_stop;
    default:
        return &tally->by_loss;
    }
}

void
mcpi_tally_ended(struct mcpi_tally *tally, enum mcpi_ending how)
{
    mcpi_tally_add(&tally->in_flight, -1);
    mcpi_tally_add(tally_of(tally, how), 1);
}

uint64_t
mcpi_host_overdue(struct mcpi_host *host, int64_t overdue_us)
{
    int64_t now = mcpi_loop_clock();
    const struct mcpi_list *node;
    uint64_t count = 0;
    const mcp_request *req;

    pthread_mutex_lock(&host->lock);
    for (node = host->told.next; node != &host->told; node = node->next) {
        req = MCPI_CONTAINER(node, mcp_request, told);
        count += mcpi_time_add(req->told_at, overdue_us) <= now;
    }
    pthread_mutex_unlock(&host->lock);
    return count;
}
