/* run/curl_fixture.h - a fetcher on a loop, a script as its server, and what came of
 * it */
#ifndef TESTS_RUN_CURL_FIXTURE_H
#define TESTS_RUN_CURL_FIXTURE_H

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/curl.h"
#include "support/curl_warm.h"
#include "support/http_script.h"
#include "support/test.h"

struct world {
    struct test_mem mem;
    struct mcpi_loop *loop;
    struct mcpi_fetcher *fetcher;
    struct http_script script;
};

/* A request and all that was told of it. */
struct answer {
    struct world *w;
    struct mcpi_fetch *fetch;
    int sent, heads, bodies, ended; /* how often */
    int redirects;                  /* that were told */
    int redirect_status;            /* of the last one */
    char redirect_url[128];
    int status;
    char type[64], extra[64]; /* Content-Type, X-Extra */
    char second[64];          /* X-Extra, the second one */
    enum mcpi_address_kind from;
    char body[4096]; /* its beginning */
    size_t body_len;
    bool faulty;
    struct mcpi_fetch_fault fault; /* without why */
    char why[300];
    enum mcpi_fetch_phase phase_at_head;

    int refuse_head, refuse_body;           /* what to return there */
    void (*then)(struct answer *, char at); /* 's', 'h', 'b', 'e' */
    struct answer *other;
    char where;
};

static inline void
answer_then(struct answer *a, char at)
{
    if (a->then)
        a->then(a, at);
}

static inline void
answer_sent(void *user)
{
    struct answer *a = user;

    assert_int_equal(a->ended, 0);
    a->sent++;
    answer_then(a, 's');
}

static inline void
answer_redirected(void *user, int status, const char *url)
{
    struct answer *a = user;

    assert_int_equal(a->ended, 0);
    a->redirects++;
    a->redirect_status = status;
    (void)snprintf(a->redirect_url, sizeof(a->redirect_url), "%s", url);
}

static inline int
answer_head(void *user, const struct mcpi_fetch_head *head)
{
    struct answer *a = user;
    const char *type = head->find(head, "content-TYPE");
    const char *extra = head->find(head, "X-Extra");
    const char *second = head->find_nth(head, "x-extra", 1);

    assert_int_equal(a->ended, 0);
    a->heads++;
    a->status = head->status;
    a->from = head->from;
    a->phase_at_head = mcpi_fetch_get_phase(a->fetch);
    (void)snprintf(a->type, sizeof(a->type), "%s", type ? type : "(none)");
    (void)snprintf(a->extra, sizeof(a->extra), "%s", extra ? extra : "(none)");
    (void)snprintf(a->second, sizeof(a->second), "%s", second ? second : "(none)");
    answer_then(a, 'h');
    return a->refuse_head;
}

static inline int
answer_body(void *user, const char *data, size_t len)
{
    struct answer *a = user;
    size_t room = sizeof(a->body) - 1;

    assert_int_equal(a->ended, 0);
    assert_true(len > 0);
    a->bodies++;
    for (size_t i = 0; i < len; i++, a->body_len++)
        if (a->body_len < room)
            a->body[a->body_len] = data[i];
    answer_then(a, 'b');
    return a->refuse_body;
}

static inline void
answer_ended(void *user, const struct mcpi_fetch_fault *fault)
{
    struct answer *a = user;

    a->ended++;
    if (fault) {
        a->faulty = true;
        a->fault = *fault;
        (void)snprintf(a->why, sizeof(a->why), "%s", fault->why);
        assert_true(a->why[0] != '\0');
        assert_null(strchr(a->why, '\n'));
    }
    answer_then(a, 'e');
    a->fetch = NULL;
}

static const struct mcpi_fetch_ops answer_ops = {
    .sent = answer_sent,
    .redirected = answer_redirected,
    .head = answer_head,
    .body = answer_body,
    .ended = answer_ended,
};

/* ---- the world -------------------------------------------------------------- */

static inline void
world_open_as(struct world *w, struct mcpi_curl_options opt,
              const struct tls_pair *pair)
{
    mcp_error err;

    memset(w, 0, sizeof(*w));
    test_mem_init(&w->mem);
    assert_int_equal(mcpi_loop_new(&w->mem.allocator, NULL, &w->loop), 0);
    opt.loop = w->loop;
    if (!opt.proxy)
        opt.proxy = ""; /* whatever the environment says */
    if (mcpi_curl_new(&opt, &w->fetcher, &err) != 0)
        fail_msg("%s", err.message);
    http_script_open(&w->script, pair, w->loop);
}

static inline void
world_open(struct world *w)
{
    world_open_as(w, (struct mcpi_curl_options){.loop = NULL}, NULL);
}

static inline void
world_close(struct world *w)
{
    mcpi_curl_free(w->fetcher);
    http_script_close(&w->script);
    mcpi_loop_free(w->loop);
    test_mem_done(&w->mem);
}

/* Run the loop until the number at `what` is `count`. */
static inline void
world_until(struct world *w, const int *what, int count)
{
    int64_t until = mcpi_loop_clock() + AWAIT_US;
    struct pollfd one = {.events = POLLIN};
    int ms;

    while (*what < count) {
        assert_int_equal(mcpi_loop_step(w->loop), 0);
        if (*what >= count)
            break;
        one.fd = mcpi_loop_fd(w->loop);
        ms = mcpi_loop_timeout_ms(w->loop);
        (void)poll(&one, 1, ms >= 0 && ms < 1000 ? ms : 1000);
        if (mcpi_loop_clock() > until)
            fail_msg("nothing happens");
    }
    assert_int_equal(*what, count);
}

static inline void
world_step(struct world *w, int times)
{
    while (times-- > 0)
        assert_int_equal(mcpi_loop_step(w->loop), 0);
}

/* ---- requests --------------------------------------------------------------- */

static inline struct mcpi_fetch_options
fetch_options(const char *method, const char *url, const char *body)
{
    static const char fields[] = "Content-Type: application/json\0X-Test: yes";

    return (struct mcpi_fetch_options){
        .method = method,
        .url = url,
        .fields = fields,
        .fields_len = sizeof(fields),
        .body = body,
        .body_len = body ? strlen(body) : 0,
        .idle_us = MCPI_NEVER,
        .ops = &answer_ops,
    };
}

static inline void
answer_start_as(struct answer *a, struct world *w, struct mcpi_fetch_options opt)
{
    void (*then)(struct answer *, char) = a->then;

    a->w = w;
    a->then = NULL; /* nothing is told from inside */
    opt.user = a;
    assert_int_equal(mcpi_fetch_start(w->fetcher, &opt, &a->fetch), 0);
    assert_int_equal(a->sent + a->heads + a->bodies + a->ended, 0);
    a->then = then;
}

static inline void
answer_post(struct answer *a, struct world *w, const char *body)
{
    answer_start_as(a, w, fetch_options("POST", w->script.url, body));
}

static inline void
answer_get(struct answer *a, struct world *w)
{
    struct mcpi_fetch_options opt = fetch_options("GET", w->script.url, NULL);

    opt.fields += sizeof("Content-Type: application/json");
    opt.fields_len -= sizeof("Content-Type: application/json");
    answer_start_as(a, w, opt);
}

static inline void
answer_abort(struct answer *a)
{
    struct mcpi_fetch *fetch = a->fetch;

    a->fetch = NULL;
    mcpi_fetch_abort(fetch);
}

/* A request that the script has read, and has not answered. */
struct asked {
    struct world w;
    struct visit v;
    struct answer a;
};

static inline void
asked_open(struct asked *c)
{
    memset(&c->a, 0, sizeof(c->a));
    world_open(&c->w);
    answer_post(&c->a, &c->w, "{}");
    visit_accept(&c->v, &c->w.script);
    visit_read(&c->v);
}

static inline void
asked_close(struct asked *c)
{
    if (c->v.fd >= 0)
        visit_close(&c->v);
    world_close(&c->w);
}

static inline void
asked_end(struct asked *c, int status)
{
    world_until(&c->w, &c->a.ended, 1);
    assert_int_equal(c->a.faulty, status != 0);
    assert_int_equal(c->a.fault.status, status);
    assert_false(c->a.fault.unsent);
    assert_int_equal(c->a.sent, 1);
}

#endif
