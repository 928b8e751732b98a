/*
 * auth/flow_fixture.h - a run of authorization in which the test plays everybody else
 *
 *   stage   memory, a loop whose clock the test holds, a fetcher that it answers
 *   agent   who shows pages; it says nothing unless the test does
 *   store   what is kept, under a lock that others may have
 *   scene   all of these around one flow
 *
 * Texts of JSON have ' where JSON has ". What is secret has "geheim" in it: no block of
 * memory may be freed, and nobody be told why, with that inside.
 */
#ifndef TESTS_AUTH_FLOW_FIXTURE_H
#define TESTS_AUTH_FLOW_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth/flow.h"
#include "auth/form.h"
#include "auth/key_fixture.h"
#include "auth/wipe.h"
#include "support/fake_fetch.h"
#include "support/test.h"

#define SERVER "https://mcp.test/v1/mcp"
#define RESOURCE_PLACE "https://mcp.test/.well-known/oauth-protected-resource/v1/mcp"
#define RESOURCE_ROOT "https://mcp.test/.well-known/oauth-protected-resource"
#define ISSUER "https://as.test/tenant"
#define ISSUER_PLACE "https://as.test/.well-known/oauth-authorization-server/tenant"
#define TOKEN_PLACE "https://as.test/token"
#define REGISTER_PLACE "https://as.test/register"
#define HOME "http://127.0.0.1:4711/callback"

#define RESOURCE_JSON(issuer, more) \
    "{'resource':'" SERVER "','authorization_servers':['" issuer "']" more "}"
#define ISSUER_JSON(issuer, more)                                                  \
    "{'issuer':'" issuer "','authorization_endpoint':'https://as.test/authorize'," \
    "'token_endpoint':'" TOKEN_PLACE "',"                                          \
    "'registration_endpoint':'" REGISTER_PLACE "',"                                \
    "'token_endpoint_auth_methods_supported':['none','client_secret_basic'],"      \
    "'code_challenge_methods_supported':['S256']" more "}"
#define TOKEN_JSON(more) \
    "{'access_token':'geheim-new','token_type':'Bearer','expires_in':3600" more "}"

/* ---- stage --------------------------------------------------------------------- */

struct stage {
    struct test_mem own, *mem;
    struct mcpi_wipe wipe;
    struct mcpi_loop *loop;
    struct fake_fetcher fetcher;
    int64_t now; /* us */
};

static inline int64_t
stage_clock(void *user)
{
    return ((struct stage *)user)->now;
}

/* mem NULL: its own. */
static inline int
stage_open(struct stage *st, struct test_mem *mem)
{
    test_mem_init(&st->own);
    st->mem = mem ? mem : &st->own;
    st->mem->secret = "geheim";
    st->now = 1000000;
    mcpi_wipe_init(&st->wipe, &st->mem->allocator);
    fake_fetcher_init(&st->fetcher, &st->mem->allocator);
    if (mcpi_loop_new(&st->mem->allocator, NULL, &st->loop) < 0)
        return MCP_E_NOMEM;
    mcpi_loop_set_clock(st->loop, stage_clock, st);
    return 0;
}

static inline void
stage_close(struct stage *st)
{
    fake_fetcher_done(&st->fetcher);
    mcpi_loop_free(st->loop);
    assert_int_equal(st->mem->spilled, 0);
    test_mem_done(&st->own);
}

/* Whatever can be done without time or an answer is done. */
static inline void
stage_settle(struct stage *st)
{
    for (int i = 0; i < 12; i++)
        assert_int_equal(mcpi_loop_step(st->loop), 0);
}

static inline void
stage_pass(struct stage *st, int64_t us)
{
    st->now += us;
    stage_settle(st);
}

/* The last request, which is open, and is this one. */
static inline struct fake_fetch *
asked(struct stage *st, const char *method, const char *url)
{
    struct fake_fetch *fetch;

    stage_settle(st);
    fetch = fake_last(&st->fetcher);
    assert_string_equal(fetch->url, url);
    assert_string_equal(fetch->method, method);
    assert_int_equal(fetch->state, FAKE_OPEN);
    assert_int_equal(fake_open_count(&st->fetcher), 1);
    return fetch;
}

/* So many requests were made, and none of them is open. */
static inline void
asked_no_more(struct stage *st, size_t count)
{
    stage_settle(st);
    assert_int_equal(st->fetcher.count, count);
    assert_int_equal(fake_open_count(&st->fetcher), 0);
}

static inline void
answer(struct fake_fetch *fetch, int http, const char *json)
{
    struct mcpi_buf text;

    mcpi_buf_init(&text, NULL, 1 << 20);
    json_append(&text, json);
    mcpi_buf_char(&text, '\0');
    fake_answer(fetch, http, "application/json", text.data);
    mcpi_buf_done(&text);
}

static inline void
answer_headed(struct fake_fetch *fetch, int http, const char *lines, const char *json)
{
    struct mcpi_buf text;

    mcpi_buf_init(&text, NULL, 1 << 20);
    json_append(&text, json);
    fake_head(fetch, http, lines);
    if (text.len > 0)
        fake_body_n(fetch, text.data, text.len);
    if (fetch->state == FAKE_OPEN)
        fake_end(fetch);
    mcpi_buf_done(&text);
}

/* More than anybody reads. */
static inline void
answer_too_long(struct fake_fetch *fetch)
{
    static char blanks[64 * 1024];

    memset(blanks, ' ', sizeof(blanks));
    fake_head(fetch, 200, NULL);
    while (fetch->state == FAKE_OPEN)
        fake_body_n(fetch, blanks, sizeof(blanks));
}

/* The value of that name in a form or a URL, or NULL; one of the last eight. */
static inline const char *
value_of(const char *text, const char *name)
{
    static char room[8][20000];
    static unsigned turn;
    const char *query = strchr(text, '?') ? strchr(text, '?') + 1 : text;
    struct mcpi_buf value;
    char *into = room[turn++ % 8];
    int r;

    mcpi_buf_init(&value, NULL, sizeof(room[0]));
    r = mcpi_form_find(&value, query, strlen(query), name);
    assert_true(r == 0 || r == 1);
    if (r == 1)
        memcpy(into, value.data, value.len);
    mcpi_buf_done(&value);
    return r == 1 ? into : NULL;
}

static inline void
assert_value(const char *text, const char *name, const char *wanted)
{
    const char *value = value_of(text, name);

    if (!wanted) {
        assert_null(value);
        return;
    }
    if (!value)
        fail_msg("no %s", name);
    assert_string_equal(value, wanted);
}

/* ---- agent --------------------------------------------------------------------- */

struct agent {
    mcp_auth_agent agent;
    int begins, opens, ends;
    int begin_status, open_status;
    const char *uri;       /* to be sent back to; HOME unless set */
    const char *in_begin;  /* answered from inside; NULL: not */
    const char *in_open;   /* likewise */
    char earlier[256];     /* "(none)" */
    char page[20000];      /* the last one */
    mcp_auth_visit *visit; /* NULL: none */
    bool shown;            /* its page is */
};

static inline int
agent_begin(void *self, mcp_auth_visit *visit, const char *earlier, char *ret_uri)
{
    struct agent *a = self;

    a->begins++;
    (void)snprintf(a->earlier, sizeof(a->earlier), "%s", earlier ? earlier : "(none)");
    if (a->in_begin)
        mcp_auth_answer(visit, a->in_begin);
    if (a->begin_status < 0)
        return a->begin_status;
    assert_null(a->visit);
    a->visit = visit;
    memset(ret_uri, 'x', MCP_AUTH_URI_MAX); /* all of it is there */
    memcpy(ret_uri, a->uri, strnlen(a->uri, MCP_AUTH_URI_MAX - 1) + 1);
    return 0;
}

static inline int
agent_open(void *self, mcp_auth_visit *visit, const char *url)
{
    struct agent *a = self;

    assert_ptr_equal(visit, a->visit);
    a->opens++;
    a->shown = true;
    (void)snprintf(a->page, sizeof(a->page), "%s", url);
    if (a->in_open)
        mcp_auth_answer(visit, a->in_open);
    return a->open_status;
}

static inline void
agent_end(void *self, mcp_auth_visit *visit)
{
    struct agent *a = self;

    assert_ptr_equal(visit, a->visit);
    a->visit = NULL;
    a->shown = false;
    a->ends++;
}

static inline void
agent_init(struct agent *a)
{
    *a = (struct agent){.uri = HOME};
    a->agent = MCP_AUTH_AGENT(.begin = agent_begin, .open = agent_open,
                              .end = agent_end, .self = a);
}

/* ---- store --------------------------------------------------------------------- */

#define STORE_MAX 8

struct store {
    mcp_token_store store;
    struct {
        char *key, *text;
    } all[STORE_MAX];
    int load_status, save_status, lock_status;  /* what they return, if not 0 */
    int locked;                                 /* by us */
    char log[512];                              /* "lock load save unlock " */
    void (*then)(void *user, const char *what); /* at each of them; or NULL */
    void *user;
};

static inline char **
store_at(struct store *s, const char *key)
{
    int i = 0;

    while (s->all[i].key && strcmp(s->all[i].key, key) != 0)
        i++;
    assert_true(i < STORE_MAX - 1);
    if (!s->all[i].key)
        s->all[i].key = strdup(key);
    return &s->all[i].text;
}

static inline void
store_note(struct store *s, const char *what)
{
    size_t len = strlen(s->log);

    (void)snprintf(s->log + len, sizeof(s->log) - len, "%s ", what);
    if (s->then)
        s->then(s->user, what);
}

static inline int
store_load(void *self, const char *key, char **ret_text)
{
    struct store *s = self;
    const char *text = *store_at(s, key);

    store_note(s, "load");
    if (s->load_status < 0)
        return s->load_status;
    *ret_text = text ? strdup(text) : NULL;
    return 0;
}

static inline int
store_save(void *self, const char *key, const char *text)
{
    struct store *s = self;
    char **at = store_at(s, key);

    store_note(s, text ? "save" : "forget");
    if (s->save_status < 0)
        return s->save_status;
    free(*at);
    *at = text ? strdup(text) : NULL;
    return 0;
}

static inline int
store_lock(void *self, const char *key)
{
    struct store *s = self;

    assert_string_equal(key, "the token");
    store_note(s, "lock");
    if (s->lock_status < 0)
        return s->lock_status;
    assert_int_equal(s->locked++, 0);
    return 0;
}

static inline void
store_unlock(void *self, const char *key)
{
    struct store *s = self;

    assert_string_equal(key, "the token");
    store_note(s, "unlock");
    assert_int_equal(s->locked--, 1);
}

static inline void
store_init(struct store *s)
{
    *s = (struct store){.locked = 0};
    s->store = MCP_TOKEN_STORE(.load = store_load, .save = store_save,
                               .lock = store_lock, .unlock = store_unlock, .self = s);
}

static inline void
store_done(struct store *s)
{
    assert_int_equal(s->locked, 0); /* whatever happened */
    for (int i = 0; i < STORE_MAX; i++) {
        free(s->all[i].key);
        free(s->all[i].text);
    }
}

/* As somebody else would have it, with ' for ". NULL: nothing. */
static inline void
store_put(struct store *s, const char *key, const char *json)
{
    char **at = store_at(s, key);

    free(*at);
    *at = json ? strdup(json) : NULL;
    for (char *c = *at; c && *c; c++)
        if (*c == '\'')
            *c = '"';
}

/* A member of what is kept there; "" none, or nothing is kept. In a buffer that the next
 * call reuses. */
static inline const char *
store_get(struct store *s, const char *key, const char *member)
{
    static char room[256];
    const char *text = *store_at(s, key);
    mcp_doc *doc = json_doc(NULL, text ? text : "{}");

    (void)snprintf(room, sizeof(room), "%s",
                   mcp_json_string(mcp_json_get(mcp_doc_root(doc), member), ""));
    mcp_doc_free(doc);
    return room;
}

/* ---- scene --------------------------------------------------------------------- */

struct scene {
    struct stage st;
    struct agent agent;
    struct store store;
    mcp_auth_options auth; /* to be changed before scene_init */
    const char *server_url;
    struct mcpi_key *client_key;
    struct mcpi_errands *errands;
    struct mcpi_shelf shelf;
    struct mcpi_flow flow;
    bool has_flow, closed;

    int done; /* so often it was told; the rest is of the last time */
    int status;
    bool lost;
    char why[MCPI_FLOW_WHY_MAX];
    struct mcpi_credential *token;
};

static int64_t wall_now = 1800000000; /* s */

static inline int64_t
wall(void)
{
    return wall_now;
}

static inline void
on_scene_done(void *user, int status, struct mcpi_credential *take_token,
              const char *why, bool lost)
{
    struct scene *s = user;

    s->done++;
    assert_false(mcpi_flow_is_running(&s->flow));
    assert_int_equal(status == 0, take_token != NULL);
    assert_int_equal(status == 0, *why == '\0');
    assert_true(status == 0 || status == MCP_E_AUTH || status == MCP_E_NOMEM);
    assert_true(!lost || status < 0);
    assert_null(strstr(why, "geheim"));
    assert_null(s->agent.visit);
    s->status = status;
    s->lost = lost;
    (void)snprintf(s->why, sizeof(s->why), "%s", why);
    mcpi_credential_free(s->token);
    s->token = take_token;
}

/* Options are to be set; then scene_init. */
static inline void
scene_set(struct scene *s)
{
    memset(s, 0, sizeof(*s));
    agent_init(&s->agent);
    store_init(&s->store);
    s->server_url = SERVER;
    s->auth = MCP_AUTH_OPTIONS(.agent = &s->agent.agent, .store = &s->store.store,
                               .login_ms = 300000, .fetch_ms = 30000);
}

static inline int
scene_init_with(struct scene *s, struct test_mem *mem)
{
    int r = stage_open(&s->st, mem);

    if (r == 0)
        r = mcpi_errands_new(s->st.loop, NULL, &s->errands);
    if (r < 0)
        return r;
    s->shelf = (struct mcpi_shelf){
        .mem = &s->st.wipe.allocator, .errands = s->errands, .store = s->auth.store};
    mcpi_flow_init(&s->flow,
                   &(struct mcpi_flow_options){.mem = &s->st.wipe.allocator,
                                               .loop = s->st.loop,
                                               .fetcher = &s->st.fetcher.fetcher,
                                               .auth = &s->auth,
                                               .server_url = s->server_url,
                                               .name = "our client",
                                               .shelf = &s->shelf,
                                               .token_key = "the token",
                                               .client_key = s->client_key,
                                               .wall = wall,
                                               .done = on_scene_done,
                                               .user = s});
    s->has_flow = true;
    return 0;
}

static inline void
scene_init(struct scene *s)
{
    assert_int_equal(scene_init_with(s, NULL), 0);
}

static inline void
scene_open(struct scene *s)
{
    scene_set(s);
    scene_init(s);
}

static inline void
on_scene_closed(void *user)
{
    ((struct scene *)user)->closed = true;
}

static inline void
scene_close(struct scene *s)
{
    if (s->has_flow)
        mcpi_flow_done(&s->flow);
    if (s->errands) {
        mcpi_errands_close(s->errands, on_scene_closed, s);
        stage_settle(&s->st);
        assert_true(s->closed);
    }
    assert_int_equal(s->agent.begins, s->agent.ends + (s->agent.begin_status < 0));
    mcpi_credential_free(s->token);
    mcpi_key_unref(s->client_key);
    store_done(&s->store);
    stage_close(&s->st);
}

static inline void
scene_settle(struct scene *s)
{
    stage_settle(&s->st);
}

/* ---- what everybody says ----------------------------------------------------------- */

static inline struct mcpi_credential
old_token(void)
{
    return (struct mcpi_credential){.expires_at = 1800000100,
                                    .issuer = ISSUER,
                                    .resource = SERVER,
                                    .client_id = "c1",
                                    .access = "geheim-old",
                                    .refresh = "geheim-refresh",
                                    .scope = "read",
                                    .who = ""};
}

/* The server refuses: 401 with that scope ("" none). */
static inline void
refused(struct scene *s, const struct mcpi_credential *old, const char *scope)
{
    struct mcpi_challenge challenge = {.bearer = true};

    (void)snprintf(challenge.scope, sizeof(challenge.scope), "%s", scope);
    mcpi_flow_start(&s->flow, MCPI_FLOW_REFUSED, old, &challenge, MCPI_ADDRESS_PUBLIC);
    assert_true(mcpi_flow_is_running(&s->flow));
}

static inline void
stepped_up(struct scene *s, const struct mcpi_credential *old, const char *scope)
{
    struct mcpi_challenge challenge = {.bearer = true};

    (void)snprintf(challenge.scope, sizeof(challenge.scope), "%s", scope);
    mcpi_flow_start(&s->flow, MCPI_FLOW_STEP_UP, old, &challenge, MCPI_ADDRESS_PUBLIC);
}

static inline void
renewed(struct scene *s, const struct mcpi_credential *old)
{
    mcpi_flow_start(&s->flow, MCPI_FLOW_RENEW, old, NULL, MCPI_ADDRESS_PUBLIC);
}

static inline void
resource_says(struct scene *s, const char *json)
{
    answer(asked(&s->st, "GET", RESOURCE_PLACE), 200, json);
}

static inline void
issuer_says(struct scene *s, const char *json)
{
    answer(asked(&s->st, "GET", ISSUER_PLACE), 200, json);
    scene_settle(s);
}

/* Both documents, as they are usually. */
static inline void
discovered(struct scene *s)
{
    resource_says(s, RESOURCE_JSON(ISSUER, ""));
    issuer_says(s, ISSUER_JSON(ISSUER, ""));
}

static inline void
registered(struct scene *s)
{
    answer(asked(&s->st, "POST", REGISTER_PLACE), 201, "{'client_id':'c1'}");
    scene_settle(s);
}

/* The user signs in, and is sent back with these parameters besides the state. */
static inline void
signed_in(struct scene *s, const char *more)
{
    char uri[4096];

    assert_non_null(s->agent.visit);
    (void)snprintf(uri, sizeof(uri), "%s?state=%s%s", s->agent.uri,
                   value_of(s->agent.page, "state"), more);
    mcp_auth_answer(s->agent.visit, uri);
    scene_settle(s);
}

static inline struct fake_fetch *
token_asked(struct scene *s)
{
    return asked(&s->st, "POST", TOKEN_PLACE);
}

static inline void
token_says(struct scene *s, int http, const char *json)
{
    answer(token_asked(s), http, json);
    scene_settle(s);
}

/* Somebody does the next thing that he has to, as he should. False: nobody has to. */
static inline bool
play_one(struct scene *s)
{
    struct fake_fetch *fetch = s->st.fetcher.count ? fake_last(&s->st.fetcher) : NULL;

    if (!fetch || fetch->state != FAKE_OPEN) {
        if (!s->agent.shown)
            return false;
        signed_in(s, "&code=geheim-code");
        return true;
    }
    if (strcmp(fetch->url, RESOURCE_PLACE) == 0)
        answer(fetch, 200, RESOURCE_JSON(ISSUER, ",'scopes_supported':['read']"));
    else if (strcmp(fetch->url, ISSUER_PLACE) == 0)
        answer(fetch, 200,
               ISSUER_JSON(ISSUER, ",'scopes_supported':['offline_access']"));
    else if (strcmp(fetch->url, REGISTER_PLACE) == 0)
        answer(fetch, 201, "{'client_id':'c1','client_secret':'geheim-secret'}");
    else
        answer(fetch, 200,
               TOKEN_JSON(",'refresh_token':'geheim-second','issued_token_type':"
                          "'urn:ietf:params:oauth:token-type:id-jag'"));
    scene_settle(s);
    return true;
}

/* How far a run goes, if everybody does what he should. */
static inline int
play(struct scene *s)
{
    int steps = 0;

    scene_settle(s);
    while (play_one(s))
        steps++;
    return steps;
}

/* ---- how it ended -------------------------------------------------------------------- */

static inline void
expect_nothing(const struct scene *s)
{
    assert_int_equal(s->done, 0);
}

/* The n-th end is a token. */
static inline void
expect_token(const struct scene *s, int n, const char *access)
{
    if (s->status < 0)
        fail_msg("%s", s->why);
    assert_int_equal(s->done, n);
    assert_string_equal(s->token->access, access);
    assert_int_equal(s->store.locked, 0);
}

static inline void
expect_failure(const struct scene *s, int n, const char *why, bool lost)
{
    assert_int_equal(s->done, n);
    assert_int_equal(s->status, MCP_E_AUTH);
    assert_string_equal(s->why, why);
    assert_int_equal(s->lost, lost);
    assert_int_equal(s->store.locked, 0);
    assert_int_equal(fake_open_count(&s->st.fetcher), 0);
}

#endif
