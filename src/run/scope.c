/*
 * scope.c - one flag over many calls
 *
 *   LIVE -> COPYING -> CANCELED      whoever leaves LIVE has the text for itself
 *
 * A cancel may come from a signal handler, so it is an atomic exchange, a copy and a
 * write to an eventfd that is never read: it stays readable. Each loop that has hooks
 * under a scope has one watch of it, which polls that descriptor, has a timer for the
 * scope's own deadline, and is itself a hook on the parent: so a scope that ends ends
 * what is under it, on each loop by that loop.
 *
 * A watch belongs to its loop's thread; only the list of them, by which a loop finds
 * its own, is shared and has a lock. It closes with its last hook. Hooks that were
 * added while it told the others are told from its timer, in a later turn.
 */
#include "run/scope.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"

enum state { LIVE, COPYING, CANCELED };

struct mcpi_scope {
    const mcp_allocator *mem;
    struct mcpi_scope *parent; /* a reference; NULL: none */
    int64_t deadline;
    int fd;
    pid_t pid; /* of the process that made it */
    atomic_uint refs;
    atomic_int state;
    char reason[MCPI_REASON_MAX + 1]; /* written before CANCELED, not after */
    pthread_mutex_t lock;             /* a leaf */
    struct mcpi_list watches;         /* under lock */
};

struct mcpi_scope_watch {
    struct mcpi_list node;    /* under the scope's lock */
    struct mcpi_scope *scope; /* a reference */
    struct mcpi_loop *loop;
    uv_poll_t poll;
    struct mcpi_timer timer;   /* the deadline; then, who came late */
    struct mcpi_scope_hook up; /* on the parent */
    struct mcpi_list hooks;
    bool telling; /* not to be closed now */
};

/* ---- the flag --------------------------------------------------------------- */

int
mcpi_scope_new(const mcp_allocator *mem, struct mcpi_scope *parent, int64_t deadline,
               struct mcpi_scope **ret_scope)
{
    struct mcpi_scope *scope;
    int r = MCP_E_LIMIT;

    mem = mcpi_mem_or_malloc(mem);
    scope = mcpi_alloc_zero(mem, sizeof(*scope));
    if (!scope)
        return MCP_E_NOMEM;
    scope->mem = mem;
    scope->deadline = deadline;
    scope->pid = getpid();
    atomic_init(&scope->refs, 1);
    atomic_init(&scope->state, LIVE);
    mcpi_list_init(&scope->watches);
    scope->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (scope->fd < 0)
        goto no_fd;
    if (pthread_mutex_init(&scope->lock, NULL) != 0) {
        r = MCP_E_NOMEM;
        goto no_lock;
    }
    scope->parent = parent ? mcpi_scope_ref(parent) : NULL;
    *ret_scope = scope;
    return 0;

no_lock:
    close(scope->fd);
no_fd:
    mcpi_free(mem, scope);
    return r;
}

bool
mcpi_scope_is_ours(const struct mcpi_scope *scope)
{
    return scope->pid == getpid();
}

struct mcpi_scope *
mcpi_scope_ref(struct mcpi_scope *scope)
{
    atomic_fetch_add_explicit(&scope->refs, 1, memory_order_relaxed);
    return scope;
}

void
mcpi_scope_unref(struct mcpi_scope *scope)
{
    struct mcpi_scope *parent;

    while (scope &&
           atomic_fetch_sub_explicit(&scope->refs, 1, memory_order_acq_rel) == 1) {
        assert(mcpi_list_empty(&scope->watches));
        parent = scope->parent;
        close(scope->fd);
        pthread_mutex_destroy(&scope->lock);
        mcpi_free(scope->mem, scope);
        scope = parent; /* which loses a reference by that */
    }
}

/* Only what POSIX allows in a signal handler, and errno as it was. */
bool
mcpi_scope_cancel(struct mcpi_scope *scope, const char *reason)
{
    uint64_t one = 1;
    int state = LIVE;
    int before = errno;
    ssize_t n;

    if (!atomic_compare_exchange_strong(&scope->state, &state, COPYING))
        return false;
    (void)mcpi_text_clean(scope->reason, sizeof(scope->reason), reason,
                          reason ? strlen(reason) : 0);
    atomic_store(&scope->state, CANCELED);
    do
        n = write(scope->fd, &one, sizeof(one));
    while (n < 0 && errno == EINTR);
    errno = before;
    return true;
}

static bool
scope_is_canceled(const struct mcpi_scope *scope)
{
    return atomic_load_explicit(&scope->state, memory_order_acquire) == CANCELED;
}

int
mcpi_scope_status(const struct mcpi_scope *scope, int64_t now)
{
    int r = 0;

    for (; scope; scope = scope->parent) {
        if (scope_is_canceled(scope))
            return MCP_E_CANCELED;
        if (scope->deadline <= now)
            r = MCP_E_TOTAL_TIMEOUT;
    }
    return r;
}

const char *
mcpi_scope_reason(const struct mcpi_scope *scope)
{
    for (; scope; scope = scope->parent) {
        if (scope_is_canceled(scope))
            return scope->reason;
    }
    return "";
}

/* ---- watches ---------------------------------------------------------------- */

static struct mcpi_scope_watch *
watch_find(struct mcpi_scope *scope, const struct mcpi_loop *loop)
{
    struct mcpi_scope_watch *found = NULL;
    struct mcpi_list *node;

    pthread_mutex_lock(&scope->lock);
    for (node = scope->watches.next; node != &scope->watches && !found;
         node = node->next) {
        struct mcpi_scope_watch *watch = MCPI_CONTAINER(node, struct mcpi_scope_watch,
                                                        node);

        if (watch->loop == loop)
            found = watch;
    }
    pthread_mutex_unlock(&scope->lock);
    return found;
}

static void
on_closed(uv_handle_t *handle)
{
    struct mcpi_scope_watch *watch = handle->data;
    struct mcpi_scope *scope = watch->scope;

    mcpi_free(scope->mem, watch);
    mcpi_scope_unref(scope);
}

/* Its time and its parent tell it nothing any more. */
static void
watch_rest(struct mcpi_scope_watch *watch)
{
    mcpi_timer_disarm(mcpi_loop_timers(watch->loop), &watch->timer);
    mcpi_scope_unhook(&watch->up);
}

static void
watch_close(struct mcpi_scope_watch *watch)
{
    pthread_mutex_lock(&watch->scope->lock);
    mcpi_list_remove(&watch->node);
    pthread_mutex_unlock(&watch->scope->lock);
    watch_rest(watch);
    uv_close((uv_handle_t *)&watch->poll, on_closed);
}

static void
watch_tell_hooks(struct mcpi_scope_watch *watch, int status)
{
    const char *reason = mcpi_scope_reason(watch->scope);
    struct mcpi_list round, *node;

    if (mcpi_list_empty(&watch->hooks))
        return;
    mcpi_list_append(&watch->hooks, &round); /* takes the place of the old head */
    mcpi_list_remove(&watch->hooks);
    for (node = mcpi_list_pop(&round); node; node = mcpi_list_pop(&round)) {
        struct mcpi_scope_hook *hook = MCPI_CONTAINER(node, struct mcpi_scope_hook,
                                                      node);

        hook->watch = NULL;
        hook->fn(hook, status, reason);
    }
}

static void
watch_tell(struct mcpi_scope_watch *watch, int64_t now)
{
    int status = mcpi_scope_status(watch->scope, now);

    if (status == 0)
        return;
    watch_rest(watch);
    watch->telling = true;
    watch_tell_hooks(watch, status);
    watch->telling = false;
    if (mcpi_list_empty(&watch->hooks))
        watch_close(watch);
    else
        mcpi_timer_arm(mcpi_loop_timers(watch->loop), &watch->timer, 0);
}

static void
on_readable(uv_poll_t *poll, int status, int events)
{
    struct mcpi_scope_watch *watch = poll->data;

    (void)status, (void)events; /* whatever it is: look */
    watch_tell(watch, mcpi_loop_now(watch->loop));
}

static void
on_deadline(struct mcpi_timer *timer, int64_t now)
{
    watch_tell(MCPI_CONTAINER(timer, struct mcpi_scope_watch, timer), now);
}

static void
on_parent(struct mcpi_scope_hook *hook, int status, const char *reason)
{
    struct mcpi_scope_watch *watch = MCPI_CONTAINER(hook, struct mcpi_scope_watch, up);

    (void)status, (void)reason; /* the same, as it asks all its parents */
    watch_tell(watch, mcpi_loop_now(watch->loop));
}

static int
watch_open(struct mcpi_scope_watch *watch)
{
    struct mcpi_scope *parent = watch->scope->parent;
    int r;

    r = parent ? mcpi_scope_hook(parent, watch->loop, &watch->up) : 0;
    if (r < 0)
        return r;
    r = uv_poll_init(mcpi_loop_uv(watch->loop), &watch->poll, watch->scope->fd);
    if (r < 0) {
        mcpi_scope_unhook(&watch->up);
        return r == UV_ENOMEM ? MCP_E_NOMEM : MCP_E_LIMIT;
    }
    watch->poll.data = watch;
    uv_poll_start(&watch->poll, UV_READABLE, on_readable);
    mcpi_timer_arm(mcpi_loop_timers(watch->loop), &watch->timer,
                   watch->scope->deadline);
    return 0;
}

static int
watch_new(struct mcpi_scope *scope, struct mcpi_loop *loop,
          struct mcpi_scope_watch **ret_watch)
{
    struct mcpi_scope_watch *watch;
    int r;

    watch = mcpi_alloc_zero(scope->mem, sizeof(*watch));
    if (!watch)
        return MCP_E_NOMEM;
    watch->scope = scope;
    watch->loop = loop;
    watch->up.fn = on_parent;
    mcpi_list_init(&watch->hooks);
    mcpi_timer_init(&watch->timer, on_deadline);
    r = watch_open(watch);
    if (r < 0) {
        mcpi_free(scope->mem, watch);
        return r;
    }
    mcpi_scope_ref(scope);
    pthread_mutex_lock(&scope->lock);
    mcpi_list_append(&scope->watches, &watch->node);
    pthread_mutex_unlock(&scope->lock);
    *ret_watch = watch;
    return 0;
}

/* ---- hooks ------------------------------------------------------------------ */

int
mcpi_scope_hook(struct mcpi_scope *scope, struct mcpi_loop *loop,
                struct mcpi_scope_hook *hook)
{
    struct mcpi_scope_watch *watch = watch_find(scope, loop);
    int r = 0;

    assert(!hook->watch);
    if (!watch)
        r = watch_new(scope, loop, &watch);
    if (r < 0)
        return r;
    hook->watch = watch;
    mcpi_list_append(&watch->hooks, &hook->node);
    return 0;
}

void
mcpi_scope_unhook(struct mcpi_scope_hook *hook)
{
    struct mcpi_scope_watch *watch = hook->watch;

    if (!watch)
        return;
    hook->watch = NULL;
    mcpi_list_remove(&hook->node);
    if (mcpi_list_empty(&watch->hooks) && !watch->telling)
        watch_close(watch);
}
