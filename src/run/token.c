/*
 * token.c - the cancel token
 *
 * A token is small, because many requests that only wait have one: it shares its lock and
 * condition with others, and a reason that is long stands beside it.
 *
 * The lock is a leaf, never held during a hook. A hook is waiting (in the
 * list), running (some thread's `struct run` names it), or neither. A thread that runs
 * one takes it off the list first, so it runs once, and does not look at it afterwards:
 * the hook may have unhooked and freed itself. That is why running is noted in the
 * thread's own frame and not in the hook. Several threads can run hooks at a time: the
 * one that set the token, and those that came late. If memory freed by a hook is used
 * for the next one before its run is noted as over, unhooking that one may wait a
 * moment for nothing.
 *
 * The condition says "something changed": the flag, or a run that is over; maybe of
 * another token.
 */
#include "run/token.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/text.h"
#include "run/loop.h"
#include "run/thread.h"

/* A hook being run; lives on the stack of the thread that runs it. */
struct run {
    struct mcpi_list node;
    const struct mcpi_hook *hook;
    pthread_t thread;
};

/* Room for what we say ourselves; without memory a longer reason is cut to it. */
#define SHORT_REASON 40

struct mcpi_token {
    const mcp_allocator *mem;
    atomic_uint refs;
    atomic_bool set;        /* written under lock, after reason */
    bool late_runs;         /* a hook that comes now runs at once; under lock */
    struct mcpi_list hooks; /* waiting; under lock */
    struct mcpi_list runs;  /* under lock */
    int fd;                 /* -1 until asked for; under lock */
    char short_reason[SHORT_REASON];
    char *long_reason; /* or NULL */
};

/* Never gone: tokens of any client or server, at any time. */
enum { SHARES = 16 };
static struct share {
    pthread_mutex_t lock;
    pthread_cond_t changed;
} shares[SHARES];
static pthread_once_t shares_once = PTHREAD_ONCE_INIT;
static bool shares_made;

static void
shares_make(void)
{
    bool made = true;

    for (size_t i = 0; i < SHARES; i++)
        made = made && pthread_mutex_init(&shares[i].lock, NULL) == 0 &&
               mcpi_cond_init(&shares[i].changed) == 0;
    shares_made = made;
}

static struct share *
token_share(const struct mcpi_token *token)
{
    return &shares[(uintptr_t)token / sizeof(*token) % SHARES];
}

static void
token_lock(const struct mcpi_token *token)
{
    pthread_mutex_lock(&token_share(token)->lock);
}

static void
token_unlock(const struct mcpi_token *token)
{
    pthread_mutex_unlock(&token_share(token)->lock);
}

/* Under lock, which is open while the hook runs. */
static void
hook_run(struct mcpi_token *token, struct mcpi_hook *hook)
{
    struct run run = {.hook = hook, .thread = pthread_self()};
    void (*fn)(void *user) = hook->fn;
    void *user = hook->user;

    mcpi_list_append(&token->runs, &run.node);
    token_unlock(token);
    fn(user);
    token_lock(token);
    mcpi_list_remove(&run.node);
    pthread_cond_broadcast(&token_share(token)->changed);
}

/* Under lock, which is open while each hook runs. */
static void
hooks_run(struct mcpi_token *token)
{
    struct mcpi_list *node;
    struct mcpi_hook *hook;

    token->late_runs = true;
    for (node = mcpi_list_pop(&token->hooks); node;
         node = mcpi_list_pop(&token->hooks)) {
        hook = MCPI_CONTAINER(node, struct mcpi_hook, node);
        hook->waiting = false;
        hook_run(token, hook);
    }
}

/* Under lock: does another thread run it? */
static bool
hook_runs_elsewhere(const struct mcpi_token *token, const struct mcpi_hook *hook)
{
    const struct mcpi_list *node;
    const struct run *run;

    for (node = token->runs.next; node != &token->runs; node = node->next) {
        run = (const struct run *)(const void *)node; /* node is its first member */
        if (run->hook == hook && !pthread_equal(run->thread, pthread_self()))
            return true;
    }
    return false;
}

struct mcpi_token *
mcpi_token_new(const mcp_allocator *mem)
{
    struct mcpi_token *token;

    if (pthread_once(&shares_once, shares_make) != 0 || !shares_made)
        return NULL;
    mem = mcpi_mem_or_malloc(mem);
    token = mcpi_alloc_zero(mem, sizeof *token);
    if (!token)
        return NULL;
    token->mem = mem;
    token->fd = -1;
    atomic_init(&token->refs, 1);
    atomic_init(&token->set, false);
    mcpi_list_init(&token->hooks);
    mcpi_list_init(&token->runs);
    return token;
}

struct mcpi_token *
mcpi_token_ref(struct mcpi_token *token)
{
    atomic_fetch_add_explicit(&token->refs, 1, memory_order_relaxed);
    return token;
}

void
mcpi_token_unref(struct mcpi_token *token)
{
    if (!token || atomic_fetch_sub_explicit(&token->refs, 1, memory_order_acq_rel) != 1)
        return;
    assert(mcpi_list_empty(&token->hooks) && mcpi_list_empty(&token->runs));
    if (token->fd >= 0)
        close(token->fd);
    mcpi_free(token->mem, token->long_reason);
    mcpi_free(token->mem, token);
}

static void
token_keep_reason(struct mcpi_token *token, const char *reason)
{
    size_t len = strlen(reason);

    (void)mcpi_text_clean(token->short_reason, SHORT_REASON, reason, len);
    if (len < SHORT_REASON)
        return;
    token->long_reason = mcpi_alloc(token->mem, MCPI_REASON_MAX + 1);
    if (token->long_reason)
        (void)mcpi_text_clean(token->long_reason, MCPI_REASON_MAX + 1, reason, len);
}

bool
mcpi_token_set(struct mcpi_token *token, const char *reason, bool run_hooks)
{
    bool first;

    mcpi_token_ref(token); /* a hook may drop the caller's */
    token_lock(token);
    first = !mcpi_token_is_set(token);
    if (first) {
        token_keep_reason(token, reason ? reason : "");
        atomic_store_explicit(&token->set, true, memory_order_release);
        if (token->fd >= 0)
            eventfd_write(token->fd, 1);
        pthread_cond_broadcast(&token_share(token)->changed);
    }
    if (first && run_hooks)
        hooks_run(token);
    token_unlock(token);
    mcpi_token_unref(token);
    return first;
}

void
mcpi_token_run_hooks(struct mcpi_token *token)
{
    mcpi_token_ref(token); /* a hook may drop the caller's */
    token_lock(token);
    if (mcpi_token_is_set(token))
        hooks_run(token);
    token_unlock(token);
    mcpi_token_unref(token);
}

bool
mcpi_token_is_set(const struct mcpi_token *token)
{
    return atomic_load_explicit(&token->set, memory_order_acquire);
}

const char *
mcpi_token_reason(const struct mcpi_token *token)
{
    if (!mcpi_token_is_set(token))
        return "";
    return token->long_reason ? token->long_reason : token->short_reason;
}

bool
mcpi_token_wait(struct mcpi_token *token, int64_t timeout_us)
{
    bool in_time = true;
    int64_t at;

    if (mcpi_token_is_set(token) || timeout_us <= 0)
        return mcpi_token_is_set(token);
    at = mcpi_time_add(mcpi_loop_clock(), timeout_us);
    token_lock(token);
    while (!mcpi_token_is_set(token) && in_time)
        in_time = mcpi_cond_wait(&token_share(token)->changed,
                                 &token_share(token)->lock, at);
    token_unlock(token);
    return mcpi_token_is_set(token);
}

int
mcpi_token_fd(struct mcpi_token *token)
{
    int r;

    token_lock(token);
    if (token->fd < 0)
        token->fd = eventfd(mcpi_token_is_set(token) ? 1 : 0,
                            EFD_CLOEXEC | EFD_NONBLOCK);
    r = token->fd < 0 ? MCP_E_LIMIT : token->fd;
    token_unlock(token);
    return r;
}

void
mcpi_token_hook(struct mcpi_token *token, struct mcpi_hook *hook)
{
    mcpi_token_ref(token); /* the hook may drop the caller's */
    token_lock(token);
    hook->waiting = !token->late_runs;
    mcpi_list_init(&hook->node);
    if (hook->waiting)
        mcpi_list_append(&token->hooks, &hook->node);
    else
        hook_run(token, hook);
    token_unlock(token);
    mcpi_token_unref(token);
}

void
mcpi_token_unhook(struct mcpi_token *token, struct mcpi_hook *hook)
{
    token_lock(token);
    if (hook->waiting) {
        hook->waiting = false;
        mcpi_list_remove(&hook->node);
    }
    while (hook_runs_elsewhere(token, hook))
        pthread_cond_wait(&token_share(token)->changed, &token_share(token)->lock);
    token_unlock(token);
}
