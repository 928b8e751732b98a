/* thread.c - threads and their signals, and waits on the monotonic clock */
#include "run/thread.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "base/timers.h"

#define MICROSECONDS INT64_C(1000000)

/* What the kernel raises for the instruction that just failed is not blocked: a handler
 * that prints or collects crashes must see ours too. */
static void
signals_of_others(sigset_t *ret)
{
    sigfillset(ret);
    sigdelset(ret, SIGSEGV);
    sigdelset(ret, SIGBUS);
    sigdelset(ret, SIGFPE);
    sigdelset(ret, SIGILL);
    sigdelset(ret, SIGTRAP);
    sigdelset(ret, SIGSYS);
    sigdelset(ret, SIGABRT);
}

/* Whole pages, and not less than a thread needs; what overflows stays as it is and is
 * refused by the system. */
static size_t
stack_round(size_t stack)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t least = (size_t)sysconf(_SC_THREAD_STACK_MIN);

    if (stack < least)
        stack = least;
    return stack > SIZE_MAX - page ? stack : (stack + page - 1) / page * page;
}

int
mcpi_thread_start(pthread_t *ret_thread, size_t stack, void *(*fn)(void *user),
                  void *user)
{
    pthread_attr_t attributes;
    sigset_t blocked, before;
    pthread_t thread;
    int r;

    if (pthread_attr_init(&attributes) != 0)
        return MCP_E_LIMIT;
    r = stack > 0 ? pthread_attr_setstacksize(&attributes, stack_round(stack)) : 0;
    if (r == 0) {
        signals_of_others(&blocked);
        pthread_sigmask(SIG_SETMASK, &blocked, &before);
        r = pthread_create(&thread, &attributes, fn, user);
        pthread_sigmask(SIG_SETMASK, &before, NULL);
    }
    pthread_attr_destroy(&attributes);
    if (r != 0)
        return MCP_E_LIMIT;
    *ret_thread = thread;
    return 0;
}

static sigset_t
sigpipe_only(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    return set;
}

void
mcpi_sigpipe_hold(struct mcpi_sigpipe *before)
{
    sigset_t only = sigpipe_only();
    sigset_t mask, waiting;

    pthread_sigmask(SIG_BLOCK, &only, &mask);
    before->blocked = sigismember(&mask, SIGPIPE) == 1;
    before->pending = false;
    if (before->blocked && sigpending(&waiting) == 0)
        before->pending = sigismember(&waiting, SIGPIPE) == 1;
}

void
mcpi_sigpipe_release(const struct mcpi_sigpipe *before)
{
    struct timespec none = {0, 0};
    sigset_t only = sigpipe_only();

    if (!before->pending) {
        while (sigtimedwait(&only, NULL, &none) < 0 && errno == EINTR)
            continue;
    }
    if (!before->blocked)
        pthread_sigmask(SIG_UNBLOCK, &only, NULL);
}

int
mcpi_cond_init(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;
    int r;

    if (pthread_condattr_init(&attributes) != 0)
        return MCP_E_NOMEM;
    r = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    if (r == 0)
        r = pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
    return r == 0 ? 0 : MCP_E_NOMEM;
}

bool
mcpi_cond_wait(pthread_cond_t *condition, pthread_mutex_t *lock, int64_t at)
{
    struct timespec moment;

    if (at == MCPI_NEVER) {
        pthread_cond_wait(condition, lock);
        return true;
    }
    moment.tv_sec = (time_t)(at / MICROSECONDS);
    moment.tv_nsec = (long)(at % MICROSECONDS) * 1000;
    return pthread_cond_timedwait(condition, lock, &moment) != ETIMEDOUT;
}
