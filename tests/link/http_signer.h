/*
 * http_signer.h - an authorization for HTTP clients, which the test holds in its hand
 *
 * It has a token, a number, or none; a request is signed with that, and with what was
 * signed: the method and the URL. Without one, and after a 401 or 403, a message waits
 * until the test grants or denies it.
 */
#ifndef TESTS_LINK_HTTP_SIGNER_H
#define TESTS_LINK_HTTP_SIGNER_H

#include "link/http_client_fixture.h"

#include "link/http_auth.h"

struct signer {
    struct mcpi_http_auth auth;
    struct mcpi_list waiting; /* permits, in order */
    size_t count;             /* that many */
    unsigned token;           /* 0: none */
    int cannot;               /* negative: what sign returns */
    bool never;               /* a refusal is for good */
    /* So far. */
    size_t signed_so_far, heard, waited, readied, left;
};

static inline void
signer_let_wait(struct signer *s, struct mcpi_http_permit *permit)
{
    assert_false(permit->waits);
    assert_non_null(permit->ready);
    permit->waits = true;
    mcpi_list_init(&permit->node);
    mcpi_list_append(&s->waiting, &permit->node);
    s->count++;
    s->waited++;
}

static inline void
signer_let_go(struct signer *s, struct mcpi_http_permit *permit)
{
    assert_true(permit->waits);
    permit->waits = false;
    mcpi_list_remove(&permit->node);
    s->count--;
}

static inline int
signer_sign(struct mcpi_http_auth *auth, struct mcpi_http_permit *permit,
            const char *method, const char *url, struct mcpi_buf *into)
{
    struct signer *s = (struct signer *)auth;
    char lines[256];

    assert_true(!permit || !permit->waits);
    s->signed_so_far++;
    if (s->cannot < 0)
        return s->cannot;
    if (s->token == 0 && permit) {
        signer_let_wait(s, permit);
        return MCP_E_AGAIN;
    }
    if (s->token == 0)
        return 0;
    if (permit)
        permit->stamp = s->token;
    snprintf(lines, sizeof(lines), "Authorization: Bearer %u", s->token);
    mcpi_buf_append(into, lines, strlen(lines) + 1);
    snprintf(lines, sizeof(lines), "X-Signed: %s %s", method, url);
    mcpi_buf_append(into, lines, strlen(lines) + 1);
    return into->status;
}

static inline int
signer_heard(struct mcpi_http_auth *auth, struct mcpi_http_permit *permit,
             const struct mcpi_fetch_head *head, char *why, size_t size)
{
    struct signer *s = (struct signer *)auth;

    assert_true(!permit || !permit->waits);
    s->heard++;
    if (head->status != 401 && head->status != 403)
        return 0;
    if (permit && !s->never) {
        permit->refusals++;
        signer_let_wait(s, permit);
        return MCP_E_AGAIN;
    }
    snprintf(why, size, "not you");
    return MCP_E_AUTH;
}

static inline void
signer_leave(struct mcpi_http_auth *auth, struct mcpi_http_permit *permit)
{
    struct signer *s = (struct signer *)auth;

    signer_let_go(s, permit);
    s->left++;
}

static const struct mcpi_http_auth_ops signer_ops = {
    .sign = signer_sign, .heard = signer_heard, .leave = signer_leave};

static inline void
signer_init(struct signer *s, unsigned token)
{
    *s = (struct signer){.auth = {&signer_ops}, .token = token};
    mcpi_list_init(&s->waiting);
}

/* Each wait has one end. */
static inline void
signer_done(const struct signer *s)
{
    assert_int_equal(s->count, 0);
    assert_int_equal(s->waited, s->readied + s->left);
}

/* Those that wait now hear that, in order. */
static inline void
signer_tell(struct signer *s, int status, int http, const char *why)
{
    struct mcpi_http_permit *permit;
    size_t last = s->waited, first = last - s->count;
    struct mcpi_list *node;

    while (first++ < last && (node = mcpi_list_first(&s->waiting)) != NULL) {
        permit = MCPI_CONTAINER(node, struct mcpi_http_permit, node);
        signer_let_go(s, permit);
        s->readied++;
        permit->ready(permit, status, http, why);
    }
}

/* There is a new token, and the link does what follows. */
static inline void
signer_grant(struct signer *s, struct lab *l)
{
    s->token++;
    signer_tell(s, 0, 0, NULL);
    lab_run(l);
}

static inline void
signer_deny(struct signer *s, struct lab *l)
{
    signer_tell(s, MCP_E_AUTH, 401, "the user said no");
    lab_run(l);
}

/* ---- a lab with one -------------------------------------------------------- */

/* One that has opened its session with token 1, or its server is modern. */
static inline void
signed_start_with(struct lab *l, struct signer *s, struct lab_options *opt)
{
    signer_init(s, 1);
    opt->auth = &s->auth;
    if (opt->era == MCPI_ERA_LEGACY) {
        lab_start_legacy_with(l, opt);
        return;
    }
    lab_connect(l, opt);
    lab_reply(l, lab_last(l), RESULT("\"libmcp:discover\"", DISCOVERED));
    assert_int_equal(l->ready, 1);
    assert_int_equal(l->ready_status, 0);
}

static inline void
signed_start(struct lab *l, struct signer *s, enum mcpi_era era)
{
    struct lab_options opt = {.era = era};

    signed_start_with(l, s, &opt);
}

static inline void
signed_close(struct lab *l, struct signer *s)
{
    lab_close(l);
    signer_done(s);
}

static inline void
refuse(struct lab *l, struct fake_fetch *fetch, int status)
{
    fake_answer(fetch, status, NULL, NULL);
    lab_run(l);
}

/* It was signed with that token, for itself. */
static inline void
expect_signed(const struct fake_fetch *fetch, unsigned token)
{
    char text[256];

    snprintf(text, sizeof(text), "Bearer %u", token);
    assert_non_null(fake_field(fetch, "authorization"));
    assert_string_equal(fake_field(fetch, "authorization"), text);
    snprintf(text, sizeof(text), "%s %s", fetch->method, fetch->url);
    assert_string_equal(fake_field(fetch, "x-signed"), text);
}

/* A call that waits to be allowed: after a 401, or because there is no token. */
static inline void
waiting_call(struct lab *l, struct signer *s, const struct mcpi_call_options *opt,
             bool refused, struct outcome *out)
{
    if (refused) {
        refuse(l, lab_call(l, opt, out), 401);
    } else {
        s->token = 0;
        world_call(&l->w, CLIENT, opt, out);
        lab_run(l);
    }
    expect_open(out);
    assert_true(s->count > 0);
}

static const enum mcpi_era both_eras[] = {MCPI_ERA_MODERN, MCPI_ERA_LEGACY};

#endif
