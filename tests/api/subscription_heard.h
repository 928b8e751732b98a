/* subscription_heard.h - what the callbacks of a subscription told */
#ifndef TESTS_API_SUBSCRIPTION_HEARD_H
#define TESTS_API_SUBSCRIPTION_HEARD_H

#include "api/subscription_fixture.h"

struct heard {
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    char events[512]; /* "1 8:a:b 4 ", with the URIs */
    size_t count;     /* events */
    size_t ends;
    enum mcp_subscription_end how;
    int status;
    bool out_of_order; /* an event after the end, or two at once */
    bool busy;
    bool gate_shut; /* callbacks wait inside */
    size_t at_gate;
};

static inline void
heard_init(struct heard *h)
{
    memset(h, 0, sizeof *h);
    pthread_mutex_init(&h->lock, NULL);
    pthread_cond_init(&h->changed, NULL);
}

static inline void
heard_done(struct heard *h)
{
    assert_false(h->out_of_order);
    pthread_cond_destroy(&h->changed);
    pthread_mutex_destroy(&h->lock);
}

static inline void
heard_enter(struct heard *h)
{
    pthread_mutex_lock(&h->lock);
    h->out_of_order |= h->busy || h->ends > 0;
    h->busy = true;
    h->at_gate++;
    pthread_cond_broadcast(&h->changed);
    while (h->gate_shut)
        pthread_cond_wait(&h->changed, &h->lock);
    h->at_gate--;
    h->busy = false;
}

static inline void
heard_leave(struct heard *h)
{
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

static inline void
hear_event(mcp_subscription *s, const mcp_notice *event, void *user)
{
    struct heard *h = user;
    size_t len;

    (void)s;
    heard_enter(h);
    len = strlen(h->events);
    snprintf(h->events + len, sizeof h->events - len, "%d%s%s ", (int)event->change,
             event->uri ? ":" : "", event->uri ? event->uri : "");
    h->count++;
    heard_leave(h);
}

static inline void
hear_end(mcp_subscription *s, enum mcp_subscription_end how, int status, void *user)
{
    struct heard *h = user;

    (void)s;
    heard_enter(h);
    h->ends++;
    h->how = how;
    h->status = status;
    heard_leave(h);
}

static inline void
heard_gate(struct heard *h, bool shut)
{
    pthread_mutex_lock(&h->lock);
    h->gate_shut = shut;
    pthread_cond_broadcast(&h->changed);
    pthread_mutex_unlock(&h->lock);
}

/* How many events by now. */
static inline size_t
heard_count(struct heard *h)
{
    size_t count;

    pthread_mutex_lock(&h->lock);
    count = h->count;
    pthread_mutex_unlock(&h->lock);
    return count;
}

#define heard_await(h, member, value) \
    heard_await_count(h, offsetof(struct heard, member), value)

static inline void
heard_await_count(struct heard *h, size_t offset, size_t value)
{
    struct timespec at = await_deadline();
    int r = 0;

    pthread_mutex_lock(&h->lock);
    while (*(size_t *)(void *)((char *)h + offset) < value && r == 0)
        r = pthread_cond_timedwait(&h->changed, &h->lock, &at);
    pthread_mutex_unlock(&h->lock);
    assert_int_equal(r, 0);
}

#endif
