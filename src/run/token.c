/*
 * token.c - the cancel token
 *
 * One lock for each token, a leaf, never held during a hook. A hook is waiting (in the
 * list), running (some thread's `struct run` names it), or neither. A thread that runs
 * one takes it off the list first, so it runs once, and does not look at it afterwards:
 * the hook may have unhooked and freed itself. That is why running is noted in the
 * thread's own frame and not in the hook. Several threads can run hooks at a time: the
 * one that set the token, and those that came late. If memory freed by a hook is used
 * for the next one before its run is noted as over, unhooking that one may wait a
 * moment for nothing.
 *
 * The condition says "something changed": the flag, or a run that is over.
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

struct mcpi_token {
    const mcp_allocator *mem;
    atomic_uint refs;
    atomic_bool set; /* written under lock, after reason */
    char reason[MCPI_REASON_MAX + 1];
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct mcpi_list hooks; /* waiting; under lock */
    struct mcpi_list runs;  /* under lock */
    bool late_runs;         /* a hook that comes now runs at once; under lock */
    int fd;                 /* -1 until asked for; under lock */
};

/* Under lock, which is open while the hook runs. */
static void
hook_run(struct mcpi_token *token, struct mcpi_hook *hook)
{
    struct run run = {.hook = hook, .thread = pthread_self()};
    void (*fn)(void *user) = hook->fn;
    void *user = hook->user;

    mcpi_list_append(&token->runs, &run.node);
    pthread_mutex_unlock(&token->lock);
    fn(user);
    pthread_mutex_lock(&token->lock);
    mcpi_list_remove(&run.node);
    pthread_cond_broadcast(&token->changed);
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
    if (pthread_mutex_init(&token->lock, NULL) != 0)
        goto no_lock;
    if (mcpi_cond_init(&token->changed) < 0)
        goto no_condition;
    return token;

no_condition:
    pthread_mutex_destroy(&token->lock);
no_lock:
    mcpi_free(mem, token);
    return NULL;
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
    pthread_cond_destroy(&token->changed);
    pthread_mutex_destroy(&token->lock);
    mcpi_free(token->mem, token);
}

bool
mcpi_token_set(struct mcpi_token *token, const char *reason, bool run_hooks)
{
    bool first;

    mcpi_token_ref(token); /* a hook may drop the caller's */
    pthread_mutex_lock(&token->lock);
    first = !mcpi_token_is_set(token);
    if (first) {
        mcpi_text_clean(token->reason, sizeof token->reason, reason,
                        reason ? strlen(reason) : 0);
        atomic_store_explicit(&token->set, true, memory_order_release);
        if (token->fd >= 0)
            eventfd_write(token->fd, 1);
        pthread_cond_broadcast(&token->changed);
    }
    if (first && run_hooks)
        hooks_run(token);
    pthread_mutex_unlock(&token->lock);
    mcpi_token_unref(token);
    return first;
}

void
mcpi_token_run_hooks(struct mcpi_token *token)
{
    mcpi_token_ref(token); /* a hook may drop the caller's */
    pthread_mutex_lock(&token->lock);
    if (mcpi_token_is_set(token))
        hooks_run(token);
    pthread_mutex_unlock(&token->lock);
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
    return mcpi_token_is_set(token) ? token->reason : "";
}

bool
mcpi_token_wait(struct mcpi_token *token, int64_t timeout_us)
{
    bool in_time = true;
    int64_t at;

    if (mcpi_token_is_set(token) || timeout_us <= 0)
        return mcpi_token_is_set(token);
    at = mcpi_time_add(mcpi_loop_clock(), timeout_us);
    pthread_mutex_lock(&token->lock);
    while (!mcpi_token_is_set(token) && in_time)
        in_time = mcpi_cond_wait(&token->changed, &token->lock, at);
    pthread_mutex_unlock(&token->lock);
    return mcpi_token_is_set(token);
}

int
mcpi_token_fd(struct mcpi_token *token)
{
    int r;

    pthread_mutex_lock(&token->lock);
    if (token->fd < 0)
        token->fd = eventfd(mcpi_token_is_set(token) ? 1 : 0,
                            EFD_CLOEXEC | EFD_NONBLOCK);
    r = token->fd < 0 ? MCP_E_LIMIT : token->fd;
    pthread_mutex_unlock(&token->lock);
    return r;
}

void
mcpi_token_hook(struct mcpi_token *token, struct mcpi_hook *hook)
{
    mcpi_token_ref(token); /* the hook may drop the caller's */
    pthread_mutex_lock(&token->lock);
    hook->waiting = !token->late_runs;
    mcpi_list_init(&hook->node);
    if (hook->waiting)
        mcpi_list_append(&token->hooks, &hook->node);
    else
        hook_run(token, hook);
    pthread_mutex_unlock(&token->lock);
    mcpi_token_unref(token);
}

void
mcpi_token_unhook(struct mcpi_token *token, struct mcpi_hook *hook)
{
    pthread_mutex_lock(&token->lock);
    if (hook->waiting) {
        hook->waiting = false;
        mcpi_list_remove(&hook->node);
    }
    while (hook_runs_elsewhere(token, hook))
        pthread_cond_wait(&token->changed, &token->lock);
    pthread_mutex_unlock(&token->lock);
}
