/*
 * api/visit.h - a client of a running server whose link knows more than bytes: who asks,
 * and that each request has a stream of its own
 *
 * What core is told and asked happens on the server's loop; the test waits for it. One
 * request at a time.
 */
#ifndef TESTS_API_VISIT_H
#define TESTS_API_VISIT_H

#include "core/exchange.h"
#include "raw_client.h"

struct visit {
    struct mcpi_post post;  /* of the step under way */
    struct mcpi_host *host; /* the server's */
    unsigned traits;
    const char *text, *principal;
    struct mcpi_peer *peer;
    struct mcpi_outlet *outlet;
    struct mcpi_out *out; /* taken, not yet done */
    char *answer;         /* its text */
    atomic_bool stepped, answered;
};

/* ---- on the loop -------------------------------------------------------- */

/* What comes before an answer is not looked at. */
static inline void
visit_wake(struct mcpi_outlet *outlet)
{
    struct visit *v = mcpi_outlet_link(outlet);
    struct mcpi_buf buf;

    if (v->out || outlet == mcpi_peer_outlet(v->peer))
        return;
    mcpi_buf_init(&buf, v->host->mem, (size_t)1 << 20);
    assert_non_null(mcpi_buf_reserve(&buf, MCPI_FRAME_MAX));
    v->out = mcpi_outlet_take(outlet, &buf, mcpi_loop_now(v->host->inside));
    assert_non_null(v->out);
    assert_int_equal(mcpi_out_get_kind(v->out), MCPI_OUT_ANSWER);
    mcpi_buf_char(&buf, '\0');
    v->answer = strdup(buf.data);
    mcpi_buf_done(&buf);
    assert_non_null(v->answer);
    atomic_store(&v->answered, true);
}

static inline void
visit_close_link(struct mcpi_peer *peer, enum mcpi_closing how)
{
    (void)peer;
    (void)how;
}

static const struct mcpi_link_ops visit_ops = {.wake = visit_wake,
                                               .close = visit_close_link};

static inline void
visit_on_open(struct mcpi_post *post)
{
    struct visit *v = MCPI_CONTAINER(post, struct visit, post);

    assert_int_equal(mcpi_peer_new(v->host->engine, &visit_ops, v->traits, v, &v->peer),
                     0);
    atomic_store(&v->stepped, true);
}

static inline void
visit_on_post(struct mcpi_post *post)
{
    struct visit *v = MCPI_CONTAINER(post, struct visit, post);
    struct mcpi_arrival arrival = {.principal = v->principal};

    assert_int_equal(mcpi_outlet_new(v->peer, v, &v->outlet), 0);
    assert_int_equal(
        mcp_doc_parse(v->text, strlen(v->text), NULL, &arrival.take_doc, NULL), 0);
    arrival.outlet = v->outlet;
    mcpi_peer_receive(v->peer, &arrival, mcpi_loop_now(v->host->inside));
    atomic_store(&v->stepped, true);
}

static inline void
visit_on_answered(struct mcpi_post *post)
{
    struct visit *v = MCPI_CONTAINER(post, struct visit, post);

    if (v->out)
        mcpi_out_done(v->out, 0, mcpi_loop_now(v->host->inside));
    v->out = NULL;
    mcpi_outlet_kill(v->outlet);
    mcpi_outlet_unref(v->outlet);
    atomic_store(&v->stepped, true);
}

static inline void
visit_on_close(struct mcpi_post *post)
{
    struct visit *v = MCPI_CONTAINER(post, struct visit, post);

    mcpi_peer_free(v->peer);
    atomic_store(&v->stepped, true);
}

/* ---- in the test -------------------------------------------------------- */

static inline void
visit_step(struct visit *v, void (*fn)(struct mcpi_post *post))
{
    v->post.fn = fn;
    atomic_store(&v->stepped, false);
    mcpi_loop_post(v->host->inside, &v->post);
    RAW_UNTIL(atomic_load(&v->stepped));
}

static inline void
visit_open(struct visit *v, struct mcpi_host *host, unsigned traits)
{
    memset(v, 0, sizeof(*v));
    v->host = host;
    v->traits = traits;
    visit_step(v, visit_on_open);
}

/* Ask, and wait for the answer, which is the caller's to free. */
static inline char *
visit_ask(struct visit *v, const char *principal, const char *text)
{
    v->text = text;
    v->principal = principal;
    v->answer = NULL;
    atomic_store(&v->answered, false);
    visit_step(v, visit_on_post);
    RAW_UNTIL(atomic_load(&v->answered));
    visit_step(v, visit_on_answered);
    return v->answer;
}

/* A message that is not answered. */
static inline void
visit_tell(struct visit *v, const char *text)
{
    v->text = text;
    v->principal = NULL;
    visit_step(v, visit_on_post);
    visit_step(v, visit_on_answered);
}

static inline void
visit_close(struct visit *v)
{
    visit_step(v, visit_on_close);
}

#endif
