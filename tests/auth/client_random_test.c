/*
 * auth/client_random_test.c - the authorization of one client, with others that do anything
 *
 * Messages are signed, refused, accepted, given up; issuer, store and user do what they
 * should, or fail, or say nothing; time passes. Whatever happens: who waits is told once,
 * or has left; each sign-in that began is ended, each lock given back, and in the end
 * nothing is under way.
 */
#include "auth/client_fixture.h"
#include "auth/key_fixture.h"

#define ASKERS 4
#define STEPS 120
#define SEEDS 3000
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define FULL_DOCUMENT                                                              \
    "{\"issuer\":\"" ISSUER "\",\"token_endpoint\":\"" TOKENS                      \
    "\",\"authorization_endpoint\":\"" ISSUER                                      \
    "/authorize\",\"registration_endpoint\":\"" ISSUER                             \
    "/register\",\"code_challenge_methods_supported\":[\"S256\"]"                  \
    ",\"scopes_supported\":[\"offline_access\"]"                                   \
    ",\"token_endpoint_auth_methods_supported\":[\"none\",\"client_secret_post\"]" \
    ",\"dpop_signing_alg_values_supported\":[\"ES256\"]}"

enum asker_state { RESTS, SENT, WAITS };

struct chaos {
    struct desk d;
    uint64_t seed;
    struct asker askers[ASKERS];
    enum asker_state states[ASKERS];
    unsigned given; /* tokens and registrations so far */
    /* the store: a token, and a registration */
    char *texts[2];
    int locks;
    /* the user */
    mcp_auth_agent agent;
    mcp_auth_visit *visit; /* NULL: none */
    bool shown;
    int begins, ends;
    char page[16384];
};

static unsigned
pick(struct chaos *c, unsigned n)
{
    c->seed = c->seed * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(c->seed >> 33) % n;
}

/* ---- the store ------------------------------------------------------------------- */

static char **
text_at(struct chaos *c, const char *key)
{
    return &c->texts[strncmp(key, "token ", 6) == 0];
}

static int
chaos_load(void *self, const char *key, char **ret_text)
{
    static const int statuses[] = {MCP_E_SYNTAX, MCP_E_NOMEM};
    const char *text = *text_at(self, key);
    unsigned i = pick(self, 20);

    if (i < COUNT(statuses))
        return statuses[i];
    *ret_text = text ? strdup(text) : NULL;
    return 0;
}

static int
chaos_save(void *self, const char *key, const char *text)
{
    char **at = text_at(self, key);

    if (pick(self, 10) == 0)
        return MCP_E_LIMIT;
    free(*at);
    *at = text ? strdup(text) : NULL;
    return 0;
}

static int
chaos_lock(void *self, const char *key)
{
    static const int statuses[] = {MCP_E_AGAIN, MCP_E_INVAL};
    unsigned i = pick(self, 8);

    (void)key;
    if (i < COUNT(statuses))
        return statuses[i];
    ((struct chaos *)self)->locks++;
    return 0;
}

static void
chaos_unlock(void *self, const char *key)
{
    (void)key;
    ((struct chaos *)self)->locks--;
}

/* ---- the user -------------------------------------------------------------------- */

static int
chaos_begin(void *self, mcp_auth_visit *visit, const char *earlier, char *ret_uri)
{
    struct chaos *c = self;

    assert_null(c->visit);
    if (pick(c, 12) == 0)
        return MCP_E_LIMIT;
    if (earlier && pick(c, 2))
        (void)snprintf(ret_uri, MCP_AUTH_URI_MAX, "%s", earlier);
    else
        (void)snprintf(ret_uri, MCP_AUTH_URI_MAX, "http://127.0.0.1:%u/back",
                       1000 + pick(c, 9));
    c->visit = visit;
    c->shown = false;
    c->begins++;
    return 0;
}

static int
chaos_open(void *self, mcp_auth_visit *visit, const char *url)
{
    struct chaos *c = self;

    assert_ptr_equal(visit, c->visit);
    if (pick(c, 12) == 0)
        return MCP_E_INVAL;
    (void)snprintf(c->page, sizeof(c->page), "%s", url);
    c->shown = true;
    return 0;
}

static void
chaos_end(void *self, mcp_auth_visit *visit)
{
    struct chaos *c = self;

    assert_ptr_equal(visit, c->visit);
    c->visit = NULL;
    c->ends++;
}

/* The value of a parameter of the page, as it stands there. */
static void
page_value(const struct chaos *c, const char *name, char *into, size_t size)
{
    const char *at = strstr(c->page, name);

    assert_non_null(at);
    at += strlen(name);
    (void)snprintf(into, size, "%.*s", (int)strcspn(at, "&"), at);
}

static void
step_user(struct chaos *c)
{
    static const char *const said[] = {"error=access_denied",
                                       "nothing=", "code=" SECRET "-code",
                                       "code=" SECRET "-other"};
    char uri[256], state[128], answer[1024];
    unsigned port;

    if (!c->visit || !c->shown)
        return;
    page_value(c, "redirect_uri=", uri, sizeof(uri));
    page_value(c, "&state=", state, sizeof(state));
    assert_int_equal(sscanf(uri, "http%%3A%%2F%%2F127.0.0.1%%3A%u%%2Fback", &port), 1);
    if (pick(c, 6) == 0)
        state[0] ^= 1;
    (void)snprintf(answer, sizeof(answer), "http://127.0.0.1:%u/back?%s&state=%s", port,
                   said[pick(c, COUNT(said))], state);
    if (pick(c, 6) == 0)
        mcp_auth_refuse(c->visit, "no");
    else
        mcp_auth_answer(c->visit, answer);
}

/* ---- the issuer ------------------------------------------------------------------- */

static void
give_registration(struct chaos *c, struct fake_fetch *fetch)
{
    char body[256];

    (void)snprintf(body, sizeof(body), "{\"client_id\":\"we%u\"%s}", c->given++,
                   pick(c, 2) ? ",\"client_secret\":\"" SECRET
                                "-r\",\"token_endpoint_auth_method\":"
                                "\"client_secret_post\""
                              : "");
    fake_answer(fetch, 201, "application/json", body);
}

static void
give_token(struct chaos *c, struct fake_fetch *fetch)
{
    static const char *const errors[] = {"{\"error\":\"invalid_grant\"}",
                                         "{\"error\":\"invalid_client\"}",
                                         "{\"error\":\"invalid_scope\"}"};
    unsigned i = pick(c, 10);
    char body[512];

    if (i < COUNT(errors)) {
        fake_answer(fetch, 400, "application/json", errors[i]);
        return;
    }
    (void)snprintf(body, sizeof(body),
                   "{\"access_token\":\"" SECRET
                   "-%u\",\"token_type\":\"%s\",\"expires_in\":%u%s}",
                   c->given++, fake_field(fetch, "DPoP") ? "DPoP" : "Bearer",
                   pick(c, 3) ? 60 * pick(c, 5) : pick(c, 3),
                   pick(c, 3) ? ",\"refresh_token\":\"" SECRET "-more\"" : "");
    fake_answer(fetch, 200, "application/json", body);
}

static void
answer_well(struct chaos *c, struct fake_fetch *fetch)
{
    if (strcmp(fetch->url, WELL_KNOWN) == 0)
        fake_answer(fetch, 200, "application/json", RESOURCE_DOCUMENT);
    else if (strcmp(fetch->url, ISSUER_WELL_KNOWN) == 0)
        fake_answer(fetch, 200, "application/json", FULL_DOCUMENT);
    else if (strcmp(fetch->url, ISSUER "/register") == 0)
        give_registration(c, fetch);
    else if (strcmp(fetch->url, TOKENS) == 0)
        give_token(c, fetch);
    else
        fake_answer(fetch, 404, NULL, NULL);
}

static void
step_issuer(struct chaos *c)
{
    struct fake_fetch *fetch;

    if (fake_open_count(&c->d.fetcher) == 0)
        return;
    fetch = fake_last(&c->d.fetcher); /* there is one at a time */
    assert_int_equal(fetch->state, FAKE_OPEN);
    if (fetch->told_head || pick(c, 14) == 0)
        fake_fail(fetch, MCP_E_CLOSED, "lost");
    else if (pick(c, 14) == 0)
        fake_answer(fetch, pick(c, 2) ? 500 : 404, NULL, NULL);
    else if (pick(c, 14) == 0)
        fake_answer(fetch, 200, "application/json", "[]");
    else if (pick(c, 28) == 0)
        fake_head(fetch, 200, "Content-Type: application/json");
    else
        answer_well(c, fetch);
}

/* ---- messages ---------------------------------------------------------------------- */

static void
asker_heard(struct chaos *c, unsigned i, int r)
{
    c->states[i] = r == MCP_E_AGAIN ? WAITS : RESTS;
    if (r < 0 && r != MCP_E_AGAIN) /* it is over, and this is another message */
        asker_init(&c->askers[i], &c->d);
    c->askers[i].told = 0;
}

static void
step_server(struct chaos *c, unsigned i)
{
    static const struct {
        int status;
        const char *lines;
    } heads[] = {
        {200, NULL},
        {500, NULL},
        {401, UNAUTHORIZED},
        {401, UNAUTHORIZED " scope=\"a b\""},
        {401, UNAUTHORIZED ", DPoP algs=\"ES256\""},
        {401, UNAUTHORIZED " resource_metadata=\"" WELL_KNOWN "\""},
        {401, "WWW-Authenticate: DPoP error=\"use_dpop_nonce\"\nDPoP-Nonce: n"},
        {401, "WWW-Authenticate: DPoP error=\"invalid_dpop_proof\""},
        {403, TOO_LITTLE("c")},
        {403, TOO_LITTLE("d e")},
    };
    unsigned n = pick(c, 3) == 0 ? 0 : pick(c, COUNT(heads));
    int r = asker_hears(&c->askers[i], heads[n].status, heads[n].lines);

    assert_true(r == 0 || r == MCP_E_AGAIN || r == MCP_E_AUTH);
    asker_heard(c, i, r);
}

static void
step_message(struct chaos *c)
{
    unsigned i = pick(c, ASKERS);
    int r;

    if (c->states[i] == SENT) {
        step_server(c, i);
    } else if (c->states[i] == RESTS) {
        r = asker_signs(&c->askers[i]);
        assert_true(r == 0 || r == MCP_E_AGAIN);
        asker_heard(c, i, r);
        if (r == 0)
            c->states[i] = SENT;
    } else if (pick(c, 4) == 0) {
        asker_leaves(&c->askers[i]);
        c->states[i] = RESTS;
    }
}

/* Who was told does not wait any more, and was told once. */
static void
look_at_messages(struct chaos *c)
{
    for (unsigned i = 0; i < ASKERS; i++) {
        struct asker *a = &c->askers[i];

        assert_int_equal(a->told, c->states[i] == WAITS && !a->permit.waits);
        if (a->told)
            asker_heard(c, i, a->status);
    }
}

/* ---- all of it ---------------------------------------------------------------------- */

static void
step(struct chaos *c)
{
    switch (pick(c, 9)) {
    case 0:
    case 1:
    case 2:
        step_message(c);
        break;
    case 3:
        step_user(c);
        break;
    case 4:
        if (pick(c, 3) == 0)
            desk_pass(&c->d, 1 + pick(c, 40));
        break;
    case 5:
    case 6:
    case 7:
        step_issuer(c);
        break;
    default:
        desk_run(&c->d);
        break;
    }
    look_at_messages(c);
}

static void
chaos_open_desk(struct chaos *c, mcp_auth_options auth)
{
    desk_open_with(&c->d, auth);
    c->d.store = MCP_TOKEN_STORE(.load = chaos_load, .save = chaos_save,
                                 .lock = chaos_lock, .unlock = chaos_unlock, .self = c);
    for (unsigned i = 0; i < ASKERS; i++)
        asker_init(&c->askers[i], &c->d);
}

/* What spends something may still be answered. */
static void
chaos_close(struct chaos *c)
{
    for (unsigned i = 0; i < ASKERS; i++)
        asker_leaves(&c->askers[i]);
    mcpi_auth_client_close(c->d.client, desk_closed, &c->d);
    c->d.client = NULL;
    for (int i = 0; i < 6; i++) {
        desk_run(&c->d);
        if (!c->d.closed && pick(c, 2))
            step_issuer(c);
    }
    desk_pass(&c->d, 2);
    assert_null(c->visit);
    assert_int_equal(c->begins, c->ends);
    assert_int_equal(c->locks, 0);
    desk_close(&c->d); /* nothing is under way */
    free(c->texts[0]);
    free(c->texts[1]);
}

static mcp_auth_options
options_of(struct chaos *c)
{
    c->agent = MCP_AUTH_AGENT(.begin = chaos_begin, .open = chaos_open,
                              .end = chaos_end, .self = c);
    switch (pick(c, 3)) {
    case 0:
        return PROGRAM(.dpop = pick(c, 2) == 0);
    case 1:
        return MCP_AUTH_OPTIONS(.client_id = "we", .agent = &c->agent,
                                .dpop = pick(c, 3) == 0);
    default:
        return MCP_AUTH_OPTIONS(.agent = &c->agent, .login_ms = 20000);
    }
}

static void
whatever_happens_who_waits_is_told_once_and_nothing_is_left(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct chaos c = {.seed = seed * 7919};

        chaos_open_desk(&c, options_of(&c));
        for (unsigned i = 20 + pick(&c, STEPS); i > 0; i--)
            step(&c);
        chaos_close(&c);
    }
}

TEST_MAIN(TEST(whatever_happens_who_waits_is_told_once_and_nothing_is_left))
