/*
 * wait.c - blocking for a request, until something comes or its cancel does
 *
 * A worker that waits here does not count in the pool, so that many who sleep do not
 * keep others from running. If too many do, it counts like one that works: a sleep and
 * a poll need no other worker to come to their end.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>

#include "api/request.h"
#include "api/time.h"

#define POLL_MAX 64

/* May this thread block for it? A wait of a canceled request fails at once; one that
 * was only to be signaled waits on. *ret_uncounted: wait_end is due. */
static int
wait_begin(mcp_request *req, bool *ret_uncounted)
{
    if (mcpi_host_guard(req->host) < 0 || mcpi_loop_any_here() || !req->handler)
        return MCP_E_STATE; /* without a handler: a middleware, and so on the loop */
    if (!mcpi_request_get_token(req))
        return MCP_E_NOMEM;
    if (!req->handler->signal_only && mcp_request_is_canceled(req))
        return MCP_E_CANCELED;
    *ret_uncounted = mcpi_pool_wait_begin() == 0;
    return 0;
}

static void
wait_end(bool uncounted)
{
    if (uncounted)
        mcpi_pool_wait_end();
}

static void
sleep_until(int64_t at_us)
{
    struct timespec at = {(time_t)(at_us / 1000000), (long)(at_us % 1000000) * 1000};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        continue;
}

int
mcp_request_sleep(mcp_request *req, int64_t ms)
{
    int64_t us = mcpi_ms(ms);
    bool canceled = false, uncounted;
    int r;

    if (!req || ms < 0)
        return MCP_E_INVAL;
    r = wait_begin(req, &uncounted);
    if (r < 0)
        return r;
    if (req->handler->signal_only)
        sleep_until(mcpi_time_add(mcpi_loop_clock(), us));
    else
        canceled = mcpi_token_wait(atomic_load(&req->token), us);
    wait_end(uncounted);
    return canceled ? MCP_E_CANCELED : 0;
}

/* What poll(2) is to wait, until that moment; MCPI_NEVER: -1. */
static int
ms_until(int64_t at_us)
{
    int64_t left;

    if (at_us == MCPI_NEVER)
        return -1;
    left = (at_us - mcpi_loop_clock() + 999) / 1000;
    if (left < 0)
        return 0;
    return left > INT32_MAX ? INT32_MAX : (int)left;
}

/* poll(2), through interruptions by signals. */
static int
poll_until(struct pollfd *fds, nfds_t count, int64_t at_us, int *ret_ready)
{
    int ready;

    do
        ready = poll(fds, count, ms_until(at_us));
    while (ready < 0 && errno == EINTR);
    if (ready < 0)
        return errno == ENOMEM ? MCP_E_NOMEM : MCP_E_INVAL;
    *ret_ready = ready;
    return 0;
}

/* The cancel's descriptor is the last one; a signal-only request has none. */
static int
poll_with_cancel(mcp_request *req, struct pollfd *fds, size_t count, int64_t at_us,
                 int *ret_ready)
{
    struct pollfd all[POLL_MAX + 1];
    int cancel, ready = 0, r;

    if (req->handler->signal_only)
        return poll_until(fds, count, at_us, ret_ready);
    cancel = mcpi_token_fd(atomic_load(&req->token));
    if (cancel < 0)
        return cancel;
    if (count > 0)
        memcpy(all, fds, count * sizeof(all[0]));
    all[count] = (struct pollfd){.fd = cancel, .events = POLLIN};
    r = poll_until(all, count + 1, at_us, &ready);
    if (r < 0)
        return r;
    if (all[count].revents)
        return MCP_E_CANCELED;
    if (count > 0)
        memcpy(fds, all, count * sizeof(all[0]));
    *ret_ready = ready;
    return 0;
}

int
mcp_request_poll(mcp_request *req, struct pollfd *fds, size_t count, int timeout_ms,
                 int *ret_ready)
{
    int64_t at_us = MCPI_NEVER;
    bool uncounted;
    int r;

    if (!req || (!fds && count > 0) || count > POLL_MAX || !ret_ready ||
        timeout_ms < -1)
        return MCP_E_INVAL;
    r = wait_begin(req, &uncounted);
    if (r < 0)
        return r;
    if (timeout_ms >= 0)
        at_us = mcpi_time_add(mcpi_loop_clock(), (int64_t)timeout_ms * 1000);
    r = poll_with_cancel(req, fds, count, at_us, ret_ready);
    wait_end(uncounted);
    return r;
}
