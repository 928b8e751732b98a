/*
 * http_client_random_test.c - the HTTP client, with a server that does anything
 *
 * Requests are brought to any phase, answered rightly, wrongly or not at all, calls are
 * started, canceled, freed, time passes, memory is short, what was allowed is not any
 * more. Whatever happens: each call ends once, nothing that was aborted is heard of, what
 * waits to be allowed is let go of, and nothing is left.
 */
#include "link/http_signer.h"

#define CALLS 6
#define STEPS 120
#define SEEDS 400

struct chaos {
    struct lab l;
    struct signer signer;
    bool is_signed;
    uint64_t seed;
    struct outcome calls[CALLS]; /* call NULL: free */
};

static unsigned
pick(struct chaos *c, unsigned n)
{
    c->seed = c->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(c->seed >> 33) % n;
}

/* ---- our side --------------------------------------------------------------- */

static void
step_start(struct chaos *c, struct outcome *out)
{
    struct mcpi_id id = pick(c, 2) ? mcpi_id_int(77) : mcpi_id_string("x", 1);
    struct mcpi_call_options opt = {0};

    if (out->call)
        return;
    opt.id = pick(c, 3) == 0 ? &id : NULL;
    opt.timeout_us = pick(c, 4) == 0 ? SECOND : 0;
    opt.on_abandon = pick(c, 5) == 0 ? MCPI_ABANDON_DETACHES : MCPI_ABANDON_CANCELS;
    opt.resume_token = pick(c, 8) == 0 ? "token" : NULL;
    opt.resumable = pick(c, 4) == 0;
    if (world_try_call(&c->l.w, CLIENT, &opt, out) < 0)
        memset(out, 0, sizeof(*out));
}

static void
step_end(struct chaos *c, struct outcome *out)
{
    if (!out->call)
        return;
    if (pick(c, 2) && out->done == 0)
        lab_cancel(&c->l, out);
    assert_true(out->done <= 1);
    if (pick(c, 2)) {
        outcome_done(out);
        memset(out, 0, sizeof(*out));
    }
}

static void
step_ours(struct chaos *c)
{
    struct outcome *out = &c->calls[pick(c, CALLS)];

    switch (pick(c, 8)) {
    case 0:
    case 1:
    case 2:
        step_start(c, out);
        break;
    case 3:
    case 4:
        step_end(c, out);
        break;
    case 5:
        (void)mcpi_peer_notify(c->l.w.peer[CLIENT], "notifications/roots/list_changed",
                               NULL, 0, c->l.w.now);
        break;
    case 6:
        c->l.fetcher.refuse = pick(c, 3) == 0 ? MCP_E_NOMEM : 0;
        break;
    default:
        lab_pass(&c->l, pick(c, 3000) * MS);
    }
}

static void
step_allow(struct chaos *c)
{
    struct signer *s = &c->signer;

    s->never = pick(c, 8) == 0;
    s->cannot = pick(c, 12) == 0 ? MCP_E_NOMEM : 0;
    switch (pick(c, 4)) {
    case 0:
        s->token = 0;
        break;
    case 1:
        signer_tell(s, pick(c, 2) ? MCP_E_AUTH : MCP_E_NOMEM, 401, "no");
        break;
    default:
        s->token++;
        signer_tell(s, 0, 0, NULL);
    }
}

/* ---- the server's ----------------------------------------------------------- */

/* What a right answer to this request would be. */
static const char *
right_answer(const struct fake_fetch *fetch, char *into, size_t size)
{
    const char *id = fetch->body ? strstr(fetch->body, "\"id\":") : NULL;
    const char *result = "{\"content\":[],\"resultType\":\"complete\"}";
    size_t len = id ? strcspn(id + 5, ",") : 0;

    if (!id)
        return NULL;
    if (fetch_says(fetch, "server/discover"))
        result = DISCOVERED;
    if (fetch_says(fetch, "\"initialize\""))
        result = INITIALIZED("2025-11-25");
    snprintf(into, size, "{\"jsonrpc\":\"2.0\",\"id\":%.*s,\"result\":%s}", (int)len,
             id + 5, result);
    return into;
}

static const char *
some_message(struct chaos *c, const struct fake_fetch *fetch, char *into, size_t size)
{
    static const char *const others[] = {
        ANSWER("77"),
        ANSWER("\"x\""),
        ERROR("null", "-32001"),
        NOTE("notifications/tools/list_changed", "{}"),
        NOTE("notifications/cancelled", "{\"requestId\":1}"),
        REQUEST("1", "ping", "{}"),
        "{\"nonsense\":1}",
        "[",
    };
    const char *right = right_answer(fetch, into, size);

    return right && pick(c, 3) ? right : others[pick(c, 8)];
}

static void
answer_wholly(struct chaos *c, struct fake_fetch *fetch)
{
    static const int codes[] = {200, 200, 200, 202, 400, 404, 405, 500, 401, 403};
    int code = codes[pick(c, c->is_signed ? 10 : 8)];
    char head[128], into[512];
    const char *type = code == 202 ? NULL : JSON_TYPE;

    snprintf(head, sizeof(head), "%s%s%sMcp-Session-Id: s-%u",
             type ? "Content-Type: " : "", type ? type : "", type ? "\n" : "",
             pick(c, 3));
    fake_head(fetch, code, pick(c, 2) ? head : "Content-Type: " JSON_TYPE);
    if (fetch->state == FAKE_OPEN && code != 202 && pick(c, 5))
        fake_body(fetch, some_message(c, fetch, into, sizeof(into)));
    if (fetch->state == FAKE_OPEN)
        fake_end(fetch);
}

static void
answer_some(struct chaos *c, struct fake_fetch *fetch)
{
    char event[640], into[512];

    if (!fetch->told_head) {
        fake_stream(fetch);
        return;
    }
    snprintf(event, sizeof(event), "%s%sdata: %s\n\n",
             pick(c, 12) ? "" : "event: endpoint\n", pick(c, 3) ? "" : "id: 9\n",
             some_message(c, fetch, into, sizeof(into)));
    fake_body(fetch, pick(c, 12) ? event : "event: endpoint\ndata: /m\n\n");
}

static void
step_theirs(struct chaos *c)
{
    struct fake_fetcher *fetcher = &c->l.fetcher;
    struct fake_fetch *fetch;

    if (fetcher->count == 0)
        return;
    fetch = fetcher->all[fetcher->count - 1 -
                         pick(c, fetcher->count < 12 ? (unsigned)fetcher->count : 12)];
    if (fetch->state != FAKE_OPEN)
        return;
    switch (pick(c, 8)) {
    case 0:
        if (!fetch->told_sent)
            fake_sending(fetch);
        break;
    case 1:
        if (!fetch->told_sent)
            fake_sent(fetch);
        break;
    case 2:
        fake_fail(fetch, fetch->told_head ? MCP_E_CLOSED : MCP_E_SEND_FAILED, "broke");
        break;
    case 3:
        if (fetch->told_head)
            fake_end(fetch);
        break;
    case 4:
    case 5:
        if (!fetch->told_head)
            answer_wholly(c, fetch);
        break;
    default:
        answer_some(c, fetch);
    }
}

/* ---- all of it -------------------------------------------------------------- */

static void
end_of(struct chaos *c)
{
    c->l.fetcher.refuse = 0;
    if (pick(c, 3)) {
        lab_shut(&c->l);
        lab_pass(&c->l, 2 * SECOND);
        assert_int_equal(c->l.lost, 1);
        assert_int_equal(c->l.closed, 1);
    } else {
        lab_free_link(&c->l);
    }
    for (int i = 0; i < CALLS; i++) {
        if (!c->calls[i].call)
            continue;
        assert_int_equal(c->calls[i].done, 1);
        outcome_done(&c->calls[i]);
    }
    assert_int_equal(fake_open_count(&c->l.fetcher), 0);
    lab_close(&c->l);
    if (c->is_signed)
        signer_done(&c->signer);
}

static void
go_on(struct chaos *c)
{
    for (int i = 0; i < STEPS; i++) {
        if (c->is_signed && pick(c, 4) == 0)
            step_allow(c);
        else if (pick(c, 2))
            step_ours(c);
        else
            step_theirs(c);
        if (pick(c, 2)) /* else several in one turn */
            lab_run(&c->l);
    }
    lab_run(&c->l);
    end_of(c);
}

static void
run(uint64_t seed, enum mcpi_era era)
{
    struct lab_options opt = {.era = era};
    struct chaos c = {.seed = seed};

    lab_connect(&c.l, &opt);
    go_on(&c);
}

static void
whatever_happens_each_call_ends_once_and_nothing_is_left(void **state)
{
    static const enum mcpi_era eras[] = {MCPI_ERA_BOTH, MCPI_ERA_LEGACY,
                                         MCPI_ERA_MODERN, MCPI_ERA_MANUAL};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++)
        run(seed, eras[seed % 4]);
}

/* Started well, so that it gets further. */
static void
whatever_happens_in_a_session(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct chaos c = {.seed = seed + 1000};

        if (seed % 2)
            lab_start_modern(&c.l);
        else
            lab_start_legacy(&c.l);
        go_on(&c);
    }
}

static void
whatever_is_allowed_or_not(void **state)
{
    static const enum mcpi_era eras[] = {MCPI_ERA_BOTH, MCPI_ERA_LEGACY,
                                         MCPI_ERA_MODERN, MCPI_ERA_MANUAL};

    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct chaos c = {.seed = seed + 2000, .is_signed = true};
        struct lab_options opt = {.era = eras[seed % 4], .auth = &c.signer.auth};

        signer_init(&c.signer, seed % 3 > 0);
        lab_connect(&c.l, &opt);
        go_on(&c);
    }
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct chaos c = {.seed = seed + 3000, .is_signed = true};

        signed_start(&c.l, &c.signer, both_eras[seed % 2]);
        go_on(&c);
    }
}

TEST_MAIN(TEST(whatever_happens_each_call_ends_once_and_nothing_is_left),
          TEST(whatever_happens_in_a_session), TEST(whatever_is_allowed_or_not))
