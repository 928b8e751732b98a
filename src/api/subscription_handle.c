/* subscription_handle.c - what the holder of a subscription may do with it */
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/subscription.h"
#include "api/time.h"
#include "base/text.h"
#include "run/thread.h"

/* The loop may be gone by now: what tells a fork must not be the loop's. */
static bool
source_is_ours(const mcp_subscription *s)
{
    return getpid() == s->client->pid;
}

/* ---- its descriptor ------------------------------------------------------ */

void
mcpi_source_show(mcp_subscription *s)
{
    bool event = s->is_opened && s->events.count > 0;
    bool raise = event || (s->is_ended && !s->is_seen);
    eventfd_t count;

    if (s->fd < 0 || raise == s->is_raised)
        return;
    s->is_raised = raise;
    if (raise)
        (void)eventfd_write(s->fd, 1);
    else
        (void)eventfd_read(s->fd, &count);
}

int
mcp_subscription_fd(mcp_subscription *s, int *ret_fd)
{
    int r = 0;

    if (!s || !ret_fd)
        return MCP_E_INVAL;
    if (!source_is_ours(s) || s->on_event)
        return MCP_E_STATE;
    pthread_mutex_lock(&s->lock);
    if (s->fd < 0)
        s->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (s->fd < 0)
        r = MCP_E_LIMIT;
    else
        *ret_fd = s->fd;
    mcpi_source_show(s);
    pthread_mutex_unlock(&s->lock);
    return r;
}

/* ---- waiting ------------------------------------------------------------- */

int
mcpi_source_await(mcp_subscription *s, mcp_error *err)
{
    int r;

    pthread_mutex_lock(&s->lock);
    while (!s->is_opened && !s->is_ended)
        (void)mcpi_cond_wait(&s->changed, &s->lock, MCPI_NEVER);
    r = s->is_opened ? 0 : s->error.status;
    if (r < 0 && err)
        *err = s->error;
    pthread_mutex_unlock(&s->lock);
    return r;
}

/* Under lock. */
static int
source_take(mcp_subscription *s, mcp_notice *ret)
{
    int r = MCP_E_AGAIN;

    if (s->is_opened && mcpi_notices_take(&s->events, ret))
        r = 0;
    else if (s->is_ended)
        r = MCP_E_CLOSED;
    s->is_seen |= r == MCP_E_CLOSED;
    mcpi_source_show(s);
    return r;
}

/* until: a moment; 0: just look. */
static int
source_next(mcp_subscription *s, int64_t until, mcp_notice *ret)
{
    bool in_time = until > 0;
    int r;

    pthread_mutex_lock(&s->lock);
    r = source_take(s, ret);
    while (r == MCP_E_AGAIN && in_time) {
        in_time = mcpi_cond_wait(&s->changed, &s->lock, until);
        r = source_take(s, ret);
    }
    pthread_mutex_unlock(&s->lock);
    return r;
}

int
mcp_subscription_next(mcp_subscription *s, int64_t timeout_ms, mcp_notice *ret_event)
{
    bool blocks = timeout_ms > 0 || timeout_ms == MCP_TIMEOUT_NONE;
    int64_t until = MCPI_NEVER;
    int r;

    if (!s || !ret_event)
        return MCP_E_INVAL;
    if (!source_is_ours(s) || s->on_event)
        return MCP_E_STATE;
    r = source_next(s, 0, ret_event);
    if (r != MCP_E_AGAIN || !blocks)
        return r;
    r = mcpi_client_may_wait(s->client, NULL);
    if (r < 0)
        return r;
    if (timeout_ms > 0)
        until = mcpi_time_add(mcpi_loop_clock(), mcpi_ms(timeout_ms));
    r = mcpi_pool_wait_begin();
    if (r < 0)
        return r;
    r = source_next(s, until, ret_event);
    mcpi_pool_wait_end();
    return r;
}

/* ---- what became of it --------------------------------------------------- */

unsigned
mcp_subscription_lists(mcp_subscription *s)
{
    unsigned lists;

    if (!s || !source_is_ours(s))
        return 0;
    pthread_mutex_lock(&s->lock);
    lists = s->agreed;
    pthread_mutex_unlock(&s->lock);
    return lists;
}

bool
mcp_subscription_watches(mcp_subscription *s, const char *uri)
{
    const struct mcpi_wish *wish;
    bool agreed;

    if (!s || !uri || !source_is_ours(s))
        return false;
    wish = mcpi_source_find(s, uri, strlen(uri));
    if (!wish)
        return false;
    pthread_mutex_lock(&s->lock);
    agreed = s->is_opened && wish->is_agreed;
    pthread_mutex_unlock(&s->lock);
    return agreed;
}

enum mcp_subscription_end
mcp_subscription_how(mcp_subscription *s)
{
    enum mcp_subscription_end how;

    if (!s || !source_is_ours(s))
        return MCP_SUBSCRIPTION_LOST;
    pthread_mutex_lock(&s->lock);
    how = s->how;
    pthread_mutex_unlock(&s->lock);
    return how;
}

int
mcp_subscription_status(mcp_subscription *s, mcp_error *err)
{
    int r;

    if (!s)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no subscription");
    if (!source_is_ours(s))
        return mcpi_error_set(err, MCP_E_STATE, "this process was forked off");
    pthread_mutex_lock(&s->lock);
    r = s->error.status;
    if (r < 0 && err)
        *err = s->error;
    pthread_mutex_unlock(&s->lock);
    return r;
}

/* ---- letting go ---------------------------------------------------------- */

/* Under lock: nobody waits for it any more. */
static void
source_close_fd(mcp_subscription *s)
{
    if (s->fd >= 0)
        (void)close(s->fd);
    s->fd = -1;
}

void
mcpi_source_free(mcp_subscription *s)
{
    bool post;

    pthread_mutex_lock(&s->lock);
    s->is_freed = true;
    mcpi_notices_clear(&s->events);
    source_close_fd(s);
    post = !s->is_gone && !s->act_out;
    s->act_out |= post;
    pthread_mutex_unlock(&s->lock);
    if (post)
        mcpi_loop_post(s->client->host.inside, &s->act);
    /* a callback that runs may wait for this very thread, if it is a loop's */
    if (s->on_lane && mcpi_client_may_wait(s->client, NULL) == 0)
        mcpi_lane_wait(&s->lane);
    mcpi_source_unref(s);
}

void
mcp_subscription_free(mcp_subscription *s)
{
    if (s && source_is_ours(s))
        mcpi_source_free(s);
}
