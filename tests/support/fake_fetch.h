/*
 * support/fake_fetch.h - a fetcher whose requests the test answers by hand
 *
 *     fake_fetcher_init(&fetcher, &mem.allocator);
 *     ... give &fetcher.fetcher to what is tested; it starts a request ...
 *     get = fake_last(&fetcher);
 *     assert_string_equal(get->method, "GET");
 *     assert_string_equal(fake_field(get, "last-event-id"), "7");
 *     fake_head(get, 200, "Content-Type: text/event-stream");
 *     fake_body(get, "data: {}\n\n");
 *     fake_end(get);
 *     fake_fetcher_done(&fetcher);
 *
 * Every request that was started is kept, in order, until fake_fetcher_done, also when
 * it has long ended. What the fetcher hands out is freed when a request ends or is
 * aborted, so whoever uses it later is found out by ASan; aborting twice, or from
 * inside `ended`, fails the case.
 */
#ifndef TESTS_SUPPORT_FAKE_FETCH_H
#define TESTS_SUPPORT_FAKE_FETCH_H

#include "run/fetch.h"
#include "support/test.h"

enum fake_fetch_state { FAKE_OPEN = 0, FAKE_ENDED, FAKE_ABORTED };

/* A request as it was started, and what became of it. */
struct fake_fetch {
    const char *method;
    char *url;
    char *fields; /* as given: each line with its terminator, and one more at the end */
    size_t fields_len;
    char *body; /* terminated; NULL: none */
    size_t body_len;
    int64_t idle_us;
    enum mcpi_address_kind nearest;
    bool stays, within, anonymous;
    enum fake_fetch_state state;
    enum mcpi_fetch_phase phase; /* to be changed by the test at will */
    int stopped;                 /* what head or body returned, if negative */
    bool told_sent, told_head;
    /* Its own. */
    struct fake_fetcher *by;
    struct fake_handle *handle;
    const struct mcpi_fetch_ops *ops;
    void *user;
};

struct fake_fetcher {
    struct mcpi_fetcher fetcher;
    const mcp_allocator *mem;    /* of the handles: if it fails, start does */
    struct fake_fetch **all;     /* in the order they were started */
    size_t count;                /* started so far; refused ones do not count */
    size_t aborts;               /* so far */
    enum mcpi_address_kind from; /* where answers come from; ANY unless set */
    int refuse;            /* negative: start returns it, and nothing is started */
    unsigned refuse_times; /* so often, and then no more; 0: always */
    unsigned refused;      /* so often it did */
};

/* mem NULL: malloc. */
void fake_fetcher_init(struct fake_fetcher *fetcher, const mcp_allocator *mem);
/* Fails the case if a request is still open. */
void fake_fetcher_done(struct fake_fetcher *fetcher);

struct fake_fetch *fake_at(const struct fake_fetcher *fetcher, size_t index);
struct fake_fetch *fake_last(const struct fake_fetcher *fetcher);
size_t fake_open_count(const struct fake_fetcher *fetcher);

/* The value of a header of the request, or NULL; case of the name is not looked at.
 * Fails the case if there are two. */
const char *fake_field(const struct fake_fetch *fetch, const char *name);

/* What happens to an open request. Each may end with the request aborted; then the rest
 * of a longer one is left out. head and body that return a negative status end it with
 * a fault that says so, as a fetcher does, in the same call. */
void fake_sending(struct fake_fetch *fetch); /* only the phase */
void fake_sent(struct fake_fetch *fetch);
/* lines: "Name: value\nName: value", or NULL. Sent first, if it was not. */
void fake_head(struct fake_fetch *fetch, int status, const char *lines);
void fake_body(struct fake_fetch *fetch, const char *text);
void fake_body_n(struct fake_fetch *fetch, const char *data, size_t len);
void fake_end(struct fake_fetch *fetch); /* whole */
/* Not whole. unsent is taken from the phase. */
void fake_fail(struct fake_fetch *fetch, int status, const char *why);

/* Several of them in a row: the whole answer with a body of that type; type or text
 * NULL: none. Or the head of a stream of events. */
void fake_answer(struct fake_fetch *fetch, int status, const char *type,
                 const char *text);
void fake_stream(struct fake_fetch *fetch);

#endif
