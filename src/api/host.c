/* host.c - who runs handlers: a server, or a client that is asked something */
#include "api/host.h"

#include "api/request.h"

int
mcpi_host_init(struct mcpi_host *host)
{
    mcpi_list_init(&host->told);
    return pthread_mutex_init(&host->lock, NULL) == 0 ? 0 : MCP_E_NOMEM;
}

void
mcpi_host_done(struct mcpi_host *host)
{
    pthread_mutex_destroy(&host->lock);
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
