/*
 * support/listeners.h - a server on its own whose listen requests are served, and what
 * it writes
 */
#ifndef TESTS_SUPPORT_LISTENERS_H
#define TESTS_SUPPORT_LISTENERS_H

#include <string.h>

#include "support/fake.h"
#include "support/listening.h"

static inline void
start_with(struct fake *f, const struct mcpi_limits *limits)
{
    struct fake_options opt = {.role = MCPI_SERVER};

    if (limits)
        opt.limits = *limits;
    assert_int_equal(fake_open(f, &opt), 0);
}

static inline void
start(struct fake *f)
{
    start_with(f, NULL);
}

static inline int
try_listen(struct fake *f, const char *request, unsigned offered, struct stream *s)
{
    size_t before = f->job_count;

    memset(s, 0, sizeof(*s));
    fake_receive(f, request);
    assert_int_equal(f->job_count, before + 1);
    return stream_serve(s, f->jobs[before], offered);
}

static inline void
listen_to(struct fake *f, const char *request, struct stream *s)
{
    assert_int_equal(try_listen(f, request, EVERYTHING, s), 0);
}

/* The same, and its acknowledgment is written and forgotten. */
static inline void
listen_acked(struct fake *f, const char *request, struct stream *s)
{
    listen_to(f, request, s);
    fake_run(f);
    fake_forget(f);
}

/* NULL, or why not; its memory may fail. */
static inline const char *
subscribe(struct fake *f, const char *uri)
{
    static struct mcpi_refusal why;
    int r = mcpi_peer_subscribe(f->peer, uri, &why);

    if (r == 0)
        return NULL;
    if (r == MCP_E_NOMEM)
        return "no memory";
    assert_int_equal(r, MCP_E_LIMIT);
    assert_int_equal(why.code, MCPI_RPC_INTERNAL_ERROR);
    return why.message;
}

static inline void
publish(struct fake *f, const struct mcpi_event *event)
{
    mcpi_engine_publish(f->engine, event, f->w.now);
}

static inline void
update(struct fake *f, const char *uri)
{
    struct mcpi_event event = {MCPI_TOPIC_UPDATED, uri};

    publish(f, &event);
}

/* Write until nothing is left. */
static inline void
write_all(struct fake *f)
{
    while (fake_take(f) > 0)
        fake_written(f, 0);
}

static inline void
expect_texts(struct fake *f, const char *const *texts, size_t count)
{
    write_all(f);
    for (size_t i = 0; i < count; i++)
        assert_string_equal(fake_text(f, i), texts[i]);
    assert_int_equal(f->event_count, count);
    fake_forget(f);
}

#define EXPECT(f, ...)                                               \
    do {                                                             \
        static const char *const texts_[] = {__VA_ARGS__};           \
        expect_texts(f, texts_, sizeof(texts_) / sizeof(texts_[0])); \
    } while (0)
#define EXPECT_NOTHING(f) expect_texts(f, NULL, 0)

#endif
