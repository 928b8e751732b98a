/*
 * clock.c - the monotonic clock of this process, which a case can put forward
 *
 * The dynamic linker finds this clock_gettime before that of libc, for libmcp and libuv too.
 * So a timeout of an hour expires when a case says so, however slow the server is.
 */
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

static atomic_llong ahead_s;

/* Exported, though all else in this program is hidden. */
__attribute__((visibility("default"))) int
clock_gettime(clockid_t __clock_id, struct timespec *__tp)
{
    int r = (int)syscall(SYS_clock_gettime, __clock_id, __tp);

    if (r == 0 &&
        (__clock_id == CLOCK_MONOTONIC || __clock_id == CLOCK_MONOTONIC_COARSE))
        __tp->tv_sec += (time_t)atomic_load(&ahead_s);
    return r;
}

/* The loop may be asleep until a moment of the old time: a call wakes it. The call has no
 * timeout, because that might be computed from the old time. */
bool
time_passes(mcp_client *client, int64_t ms)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r;

    atomic_fetch_add(&ahead_s, ms / 1000);
    r = mcp_client_call_tool(client, "echo", peer.kind->echo_arguments, &opt, &reply,
                             &err);
    mcp_reply_free(reply);
    return status_is(r, 0, &err);
}
