/*
 * support/listening.h - a server's subscriptions/listen, served as a server does it
 *
 * A request that has begun, in whatever fixture, becomes a stream: closed and finished
 * by whatever ends it.
 */
#ifndef TESTS_SUPPORT_LISTENING_H
#define TESTS_SUPPORT_LISTENING_H

#include "core/subscribe.h"
#include "support/messages.h"

#define LISTEN(id, filter) \
    REQUEST(id, "subscriptions/listen", "{\"notifications\":" filter "," STAMP "}")
#define TAG(id) "\"_meta\":{" META_KEY("subscriptionId") ":" id "}"
#define ACK(id, filter)                              \
    NOTE("notifications/subscriptions/acknowledged", \
         "{" TAG(id) ",\"notifications\":" filter "}")
#define CHANGED(id, list) NOTE("notifications/" list "/list_changed", "{" TAG(id) "}")
#define UPDATED(id, uri) \
    NOTE("notifications/resources/updated", "{" TAG(id) ",\"uri\":\"" uri "\"}")

#define ALL_LISTS                                            \
    "\"toolsListChanged\":true,\"promptsListChanged\":true," \
    "\"resourcesListChanged\":true"
#define URIS(list) "\"resourceSubscriptions\":[" list "]"

enum {
    EVERYTHING = MCPI_TOPIC_TOOLS | MCPI_TOPIC_PROMPTS | MCPI_TOPIC_RESOURCES |
                 MCPI_TOPIC_UPDATED
};

static const struct mcpi_event tools = {MCPI_TOPIC_TOOLS, NULL};
static const struct mcpi_event prompts = {MCPI_TOPIC_PROMPTS, NULL};
static const struct mcpi_event resources = {MCPI_TOPIC_RESOURCES, NULL};

/* One that is served as a server does it: closed and finished whatever ends it. */
struct stream {
    struct mcpi_exchange *x; /* borrowed: the fixture counts it */
    struct mcpi_listener *listener;
    struct mcpi_refusal why;
    int slow, ended, closing;
    enum mcpi_ending how;
    bool lazy;      /* does not close it when told */
    bool *finished; /* the fixture's own note of it, or NULL */
};

static inline void
stream_finish(struct stream *s, struct mcpi_result *result)
{
    if (s->finished)
        *s->finished = true;
    mcpi_exchange_finish(s->x, result, s->x->engine->now);
}

static inline void
stream_end(struct stream *s, int code)
{
    struct mcpi_result result;

    mcpi_listener_close(s->listener, NULL);
    s->listener = NULL;
    mcpi_result_init(&result, s->x->engine);
    mcpi_result_error(&result, code, "ended");
    stream_finish(s, &result);
}

static inline void
stream_slow(void *user)
{
    struct stream *s = user;

    s->slow++;
    stream_end(s, MCPI_RPC_INTERNAL_ERROR);
}

static inline void
stream_begin(struct mcpi_exchange *x)
{
    (void)x;
}

static inline void
stream_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct stream *s = x->served_user;

    (void)reason;
    s->ended++;
    s->how = how;
    if (!s->lazy)
        stream_end(s, MCPI_RPC_INTERNAL_ERROR);
}

static inline void
stream_closing(struct mcpi_exchange *x, struct mcpi_result *last)
{
    struct stream *s = x->served_user;

    s->closing++;
    mcpi_listener_close(s->listener, last);
    s->listener = NULL;
}

static const struct mcpi_served_ops stream_ops = {
    .begin = stream_begin, .ended = stream_ended, .closing = stream_closing};

/* Serve a request that has begun; the status of opening its listener. */
static inline int
stream_serve(struct stream *s, struct mcpi_exchange *x, unsigned offered)
{
    struct mcpi_listener_options opt = {offered, stream_slow, s};

    s->x = x;
    mcpi_exchange_serve(x, &stream_ops, s);
    return mcpi_listener_open(x, &opt, &s->listener, &s->why);
}

#endif
