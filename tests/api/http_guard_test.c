/* http_guard_test.c - a server that asks for tokens, over real sockets and real threads */
#include <mcp/auth.h>
#include <pthread.h>
#include <time.h>

#include "api/http_reached.h"
#include "auth/jwt_fixture.h"
#include "support/http_script.h"

#define RESOURCE "https://mcp.test/mcp"
#define WELL_KNOWN "/.well-known/oauth-protected-resource"
#define ISSUER "https://as.test"
#define SAYS_DOCUMENT "resource_metadata=\"https://mcp.test" WELL_KNOWN "/mcp\""
#define PUBLIC(kid)                                                       \
    "{\"kid\":\"" kid "\",\"crv\":\"P-256\",\"kty\":\"EC\",\"x\":\"" EC_X \
    "\",\"y\":\"" EC_Y "\"}"
#define SET "{\"keys\":[" PUBLIC("one") "]}"

static const char *const issuers[] = {ISSUER, NULL};

/* ---- tokens ---------------------------------------------------------------- */

/* A header line with a token of that subject; more: claims, each with its comma before.
 * lives: seconds. */
struct credential {
    char line[4096];
};

static const char *
credential_make(struct credential *c, const char *head, const char *issuer,
                const char *subject, int lives, const char *more)
{
    char claims[1024];
    struct token token;

    (void)snprintf(claims, sizeof(claims),
                   "{'iss':'%s','aud':'" RESOURCE "','sub':'%s','client_id':'app',"
                   "'exp':%lld%s}",
                   issuer, subject, (long long)time(NULL) + lives, more);
    token_make(&token, head, claims, EC_PRIVATE);
    (void)snprintf(c->line, sizeof(c->line), "Authorization: Bearer %s\r\n",
                   token.text.data);
    token_done(&token);
    return c->line;
}

#define HEAD(kid) "{'alg':'ES256','kid':'" kid "'}"

static const char *
token_of(struct credential *c, const char *subject, const char *more)
{
    return credential_make(c, HEAD("one"), ISSUER, subject, 600, more);
}

/* ---- the server ------------------------------------------------------------- */

struct rig {
    struct reached f;
    struct http_raw h;
    struct test_mem mem; /* the guard's */
    mcp_guard *guard;
};

static int
whoami(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *claims = mcp_request_claims(req);

    (void)user;
    return mcp_result_textf(out, "<%s> <%s> <%s>", mcp_request_principal(req),
                            mcp_request_scope(req),
                            mcp_json_string(mcp_json_get(claims, "name"), "-"));
}

static const char *
needs(void *user, const char *method, const char *name)
{
    (void)user;
    if (strcmp(method, "tools/call") == 0 && strcmp(name, "fail") == 0)
        return "tools:fail";
    return NULL;
}

static void
rig_make_guard(struct rig *rig, mcp_guard_options opt)
{
    mcp_error err = {0};

    memset(rig, 0, sizeof(*rig));
    test_mem_init(&rig->mem);
    opt.resource = RESOURCE;
    opt.issuers = opt.issuers ? opt.issuers : issuers;
    opt.needs = needs;
    opt.allocator = &rig->mem.allocator;
    if (mcp_guard_new(&opt, &rig->guard, &err) < 0)
        fail_msg("%s", err.message);
}

static void
rig_open_with(struct rig *rig, mcp_guard_options opt, mcp_http_options http)
{
    rig_make_guard(rig, opt);
    http.guard = rig->guard;
    reached_serve(&rig->f, MCP_SERVER_OPTIONS(.stop_ms = 5000), http);
    raw_tool(&rig->f.raw, MCP_TOOL(.name = "whoami", .run = whoami));
    http_open(&rig->h, rig->f.port, NULL);
}

static void
rig_open(struct rig *rig, mcp_guard_options opt)
{
    rig_open_with(rig, opt, MCP_HTTP_OPTIONS(.port = 0));
}

/* The server goes. What of its memory a guard has still to answer is looked at later. */
static void
rig_stop(struct rig *rig)
{
    mcp_server_free(rig->f.raw.server);
    rig->f.raw.server = NULL;
}

/* The guard outlives its server. */
static void
rig_close(struct rig *rig)
{
    http_close(&rig->h);
    rig_stop(rig);
    mcp_guard_free(rig->guard);
    reached_close(&rig->f);
    test_mem_done(&rig->mem);
}

#define CALL_OF(tool) REQUEST("1", "tools/call", "{\"name\":\"" tool "\"," STAMP "}")

static void
post(struct rig *rig, const char *credential, const char *tool, const char *body)
{
    http_post(&rig->h, &HTTP_POST(.method = "tools/call", .name = tool,
                                  .fields = credential, .body = body));
}

static void
post_gives(struct rig *rig, const char *credential, int status, const char *challenge)
{
    post(rig, credential, "whoami", CALL_OF("whoami"));
    assert_int_equal(http_answer(&rig->h), status);
    if (challenge)
        assert_string_equal(http_field(&rig->h, "WWW-Authenticate"), challenge);
    else
        assert_null(http_field(&rig->h, "WWW-Authenticate"));
    assert_int_equal(strstr(rig->h.body, "\"error\"") != NULL, status != 200);
}

#define INVALID(why) \
    "Bearer error=\"invalid_token\", error_description=\"" why "\", " SAYS_DOCUMENT

/* ---- who may come ------------------------------------------------------------ */

static void
only_a_good_token_comes_in(void **state)
{
    struct credential c;
    struct rig rig;

    (void)state;
    rig_open(&rig, MCP_GUARD_OPTIONS(.jwks = SET));
    post_gives(&rig, "", 401, "Bearer " SAYS_DOCUMENT);
    post_gives(&rig, "Authorization: Basic YTpi\r\n", 401, "Bearer " SAYS_DOCUMENT);
    post_gives(&rig, "Authorization: Bearer\r\n", 400,
               "Bearer error=\"invalid_request\", error_description=\"this is no "
               "token\", " SAYS_DOCUMENT);
    post_gives(&rig, credential_make(&c, HEAD("one"), ISSUER, "ann", -60, ""), 401,
               INVALID("the token has expired"));
    post_gives(
        &rig, credential_make(&c, HEAD("one"), ISSUER, "ann", 600, ",'nbf':4102444800"),
        401, INVALID("the token is not valid yet"));
    post_gives(&rig,
               credential_make(&c, HEAD("one"), "https://evil.test", "ann", 600, ""),
               401, INVALID("the token is not of an issuer that is trusted"));
    post_gives(&rig, credential_make(&c, "{'alg':'none'}", ISSUER, "ann", 600, ""), 401,
               INVALID("the token is signed in a way that is not taken"));
    post_gives(&rig, credential_make(&c, HEAD("two"), ISSUER, "ann", 600, ""), 401,
               INVALID("the token is not signed by its issuer"));
    assert_int_equal(raw_counts(&rig.f.raw).requests, 0);
    post_gives(&rig, token_of(&c, "ann", ""), 200, NULL);
    assert_int_equal(raw_counts(&rig.f.raw).requests, 1);
    rig_close(&rig);
}

static void
a_handler_sees_who_asks(void **state)
{
    struct credential c;
    struct rig rig;

    (void)state;
    rig_open(&rig, MCP_GUARD_OPTIONS(.jwks = SET));
    post_gives(&rig, token_of(&c, "ann", ",'scope':'read write','name':'Ann'"), 200,
               NULL);
    assert_non_null(strstr(rig.h.body, "<" ISSUER "|app|ann> <read write> <Ann>"));
    post_gives(&rig, token_of(&c, "bob", ""), 200, NULL);
    assert_non_null(strstr(rig.h.body, "<" ISSUER "|app|bob> <> <->"));
    rig_close(&rig);
}

static void
more_scope_lets_in_further(void **state)
{
    struct credential c;
    struct rig rig;

    (void)state;
    rig_open(&rig, MCP_GUARD_OPTIONS(.jwks = SET, .scope = "mcp"));
    post(&rig, token_of(&c, "ann", ",'scope':'mcp'"), "fail", CALL_OF("fail"));
    assert_int_equal(http_answer(&rig.h), 403);
    assert_string_equal(
        http_field(&rig.h, "WWW-Authenticate"),
        "Bearer error=\"insufficient_scope\", error_description=\"the token has not "
        "all "
        "scopes that are needed\", scope=\"mcp tools:fail\", " SAYS_DOCUMENT);
    assert_int_equal(raw_counts(&rig.f.raw).requests, 0);
    post(&rig, token_of(&c, "ann", ",'scope':'mcp tools:fail'"), "fail",
         CALL_OF("fail"));
    assert_int_equal(http_answer(&rig.h), 200);
    assert_non_null(strstr(rig.h.body, "not today"));
    rig_close(&rig);
}

static void
a_client_is_told_the_status(void **state)
{
    const mcp_client_options me = REACHED_OPTIONS(.era = MCP_ERA_MODERN);
    const char *headers[] = {NULL, NULL};
    struct credential c;
    mcp_error err = {0};
    struct rig rig;

    (void)state;
    rig_open(&rig, MCP_GUARD_OPTIONS(.jwks = SET));
    assert_int_equal(reached_try(&rig.f, NULL, me, &rig.f.client, &err), MCP_E_HTTP);
    assert_int_equal(err.http_status, 401);
    (void)token_of(&c, "ann", "");
    c.line[strcspn(c.line, "\r")] = '\0';
    headers[0] = c.line;
    assert_int_equal(reached_try(&rig.f, &MCP_HTTP_CLIENT_OPTIONS(.headers = headers),
                                 me, &rig.f.client, &err),
                     0);
    reached_says(rig.f.client);
    rig_close(&rig);
}

static void
a_guard_and_another_hook_exclude_each_other(void **state)
{
    mcp_error err = {0};
    struct raw raw;
    struct rig rig;

    (void)state;
    rig_make_guard(&rig, MCP_GUARD_OPTIONS(.jwks = SET));
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(
        mcp_server_listen_http(
            raw.server,
            &MCP_HTTP_OPTIONS(.guard = rig.guard,
                              .identify = (mcp_http_identify_fn *)(uintptr_t)1),
            NULL, &err),
        MCP_E_INVAL);
    assert_non_null(strstr(err.message, "guard"));
    raw_done(&raw);
    mcp_guard_free(rig.guard);
    test_mem_done(&rig.mem);
}

/* ---- the document ------------------------------------------------------------- */

#define PRM                                                                         \
    "{\"resource\":\"" RESOURCE "\",\"authorization_servers\":[\"" ISSUER           \
    "\"],\"scopes_supported\":[\"mcp\"],\"bearer_methods_supported\":[\"header\"]," \
    "\"dpop_signing_alg_values_supported\":[\"ES256\",\"EdDSA\",\"RS256\"]}"

static const char *const published[] = {"mcp", NULL};

static void
ask(struct http_raw *h, const char *method, const char *target)
{
    char text[512];

    (void)snprintf(
        text, sizeof(text),
        "%s %s HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: https://any.test\r\n\r\n", method,
        target);
    http_say(h, text);
}

static void
everybody_may_read_the_document(void **state)
{
    static const char *const targets[] = {WELL_KNOWN "/mcp", WELL_KNOWN};
    struct rig rig;

    (void)state;
    rig_open(&rig, MCP_GUARD_OPTIONS(.jwks = SET, .scopes = published));
    for (int i = 0; i < 2; i++) {
        ask(&rig.h, "GET", targets[i]);
        assert_int_equal(http_answer(&rig.h), 200);
        assert_string_equal(rig.h.body, PRM);
        assert_string_equal(http_field(&rig.h, "Content-Type"), "application/json");
        assert_string_equal(http_field(&rig.h, "Access-Control-Allow-Origin"), "*");
        assert_non_null(http_field(&rig.h, "Cache-Control"));
    }
    ask(&rig.h, "OPTIONS", WELL_KNOWN);
    assert_int_equal(http_answer(&rig.h), 204);
    ask(&rig.h, "GET", WELL_KNOWN "/other");
    assert_int_equal(http_answer(&rig.h), 404);
    ask(&rig.h, "HEAD", WELL_KNOWN);
    assert_int_equal(http_head(&rig.h), 200);
    rig_close(&rig);
}

/* ---- keys --------------------------------------------------------------------- */

struct issuer {
    struct http_script script;
    char url[128];
    const char *list[2];
};

static void
issuer_open(struct issuer *as)
{
    http_script_open(&as->script, NULL, NULL);
    (void)snprintf(as->url, sizeof(as->url), "http://127.0.0.1:%d", as->script.port);
    as->list[0] = as->url;
    as->list[1] = NULL;
}

/* It is asked for this, and answers. */
static void
issuer_answers(struct visit *v, const char *target, const char *body)
{
    visit_read(v);
    if (!visit_asks(v, target))
        fail_msg("%s", v->head);
    visit_answer(v, "200 OK", "application/json", body);
}

/* The keys are asked for, and where they are. */
static void
issuer_gives_keys(struct issuer *as, struct visit *v, const char *set)
{
    char metadata[512];

    (void)snprintf(metadata, sizeof(metadata),
                   "{\"issuer\":\"%s\",\"jwks_uri\":\"%s/keys\"}", as->url, as->url);
    visit_accept(v, &as->script);
    issuer_answers(v, "GET /.well-known/oauth-authorization-server", metadata);
    issuer_answers(v, "GET /keys", set);
}

static void
keys_are_fetched_and_kept(void **state)
{
    struct credential c;
    struct issuer as;
    struct visit v;
    struct rig rig;

    (void)state;
    issuer_open(&as);
    rig_open(&rig, MCP_GUARD_OPTIONS(.issuers = as.list));
    post(&rig, credential_make(&c, HEAD("one"), as.url, "ann", 600, ""), "whoami",
         CALL_OF("whoami"));
    issuer_gives_keys(&as, &v, SET);
    assert_int_equal(http_answer(&rig.h), 200);
    post_gives(&rig, c.line, 200, NULL);
    post_gives(&rig, credential_make(&c, HEAD("two"), as.url, "ann", 600, ""), 401,
               INVALID("the token is not signed by its issuer"));
    assert_false(http_script_is_visited(&as.script, 0)); /* so soon after the first */
    rig_close(&rig);
    visit_close(&v);
    http_script_close(&as.script);
}

static void
an_issuer_that_is_not_there_is_no_verdict(void **state)
{
    struct credential c;
    struct issuer as;
    struct rig rig;

    (void)state;
    issuer_open(&as);
    http_script_close(&as.script);
    rig_open(&rig, MCP_GUARD_OPTIONS(.issuers = as.list));
    (void)credential_make(&c, HEAD("one"), as.url, "ann", 600, "");
    for (int i = 0; i < 3; i++)
        post_gives(&rig, c.line, 503, NULL);
    rig_close(&rig);
}

static void
a_server_may_go_while_keys_are_fetched(void **state)
{
    struct credential c;
    struct issuer as;
    struct visit v;
    struct rig rig;

    (void)state;
    issuer_open(&as);
    rig_open(&rig, MCP_GUARD_OPTIONS(.issuers = as.list));
    post(&rig, credential_make(&c, HEAD("one"), as.url, "ann", 600, ""), "whoami",
         CALL_OF("whoami"));
    visit_accept(&v, &as.script);
    visit_read(&v); /* and is not answered */
    rig_stop(&rig);
    rig_close(&rig);
    visit_close(&v);
    http_script_close(&as.script);
}

/* Many clients on two loops, one flight. */
static void
loops_share_a_guard(void **state)
{
    struct http_raw more[8];
    struct credential c;
    struct issuer as;
    struct visit v;
    struct rig rig;

    (void)state;
    issuer_open(&as);
    rig_open_with(&rig, MCP_GUARD_OPTIONS(.issuers = as.list),
                  MCP_HTTP_OPTIONS(.threads = 2));
    (void)credential_make(&c, HEAD("one"), as.url, "ann", 600, "");
    for (int i = 0; i < 8; i++) {
        http_open(&more[i], rig.f.port, NULL);
        http_post(&more[i], &HTTP_POST(.method = "tools/call", .name = "whoami",
                                       .fields = c.line, .body = CALL_OF("whoami")));
    }
    issuer_gives_keys(&as, &v, SET);
    for (int i = 0; i < 8; i++) {
        assert_int_equal(http_answer(&more[i]), 200);
        assert_non_null(strstr(more[i].body, "|app|ann>"));
        http_close(&more[i]);
    }
    assert_false(http_script_is_visited(&as.script, 0));
    rig_close(&rig);
    visit_close(&v);
    http_script_close(&as.script);
}

/* ---- sessions ------------------------------------------------------------------ */

static void
session_post(struct http_raw *h, const char *session, const char *credential,
             const char *body)
{
    http_post(h, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = session,
                            .fields = credential, .body = body));
}

static void
D20_a_cancel_by_another_credential_cancels_nothing(void **state)
{
    struct credential ann, bob, later;
    struct http_raw other;
    char *session;
    struct rig rig;

    (void)state;
    rig_open_with(&rig, MCP_GUARD_OPTIONS(.jwks = SET), MCP_HTTP_OPTIONS(.threads = 2));
    (void)token_of(&ann, "ann", "");
    (void)token_of(&bob, "bob", "");
    (void)token_of(&later, "ann", ",'jti':'refreshed','scope':'more'");
    session = http_hello_as(&rig.h, INITIALIZE("0", "2025-11-25"), ann.line);
    session_post(&rig.h, session, ann.line,
                 REQUEST("7", "tools/call", "{\"name\":\"hang\"}"));
    RAW_UNTIL(atomic_load(&rig.f.gate.entered) == 1);
    http_open(&other, rig.f.port, NULL);
    session_post(&other, session, bob.line, CANCEL("7"));
    assert_int_equal(http_answer(&other), 404);
    session_post(&other, session, NULL, CANCEL("7"));
    assert_int_equal(http_answer(&other), 401);
    assert_int_equal(raw_counts(&rig.f.raw).canceled_by_peer, 0);
    assert_int_equal(atomic_load(&rig.f.gate.left), 0);
    session_post(&other, session, later.line, CANCEL("7"));
    assert_int_equal(http_answer(&other), 202);
    RAW_UNTIL(atomic_load(&rig.f.gate.left) == 1);
    assert_int_equal(raw_counts(&rig.f.raw).canceled_by_peer, 1);
    http_close(&other);
    free(session);
    rig_close(&rig);
}

/* ---- a verifier of the program's -------------------------------------------------- */

struct verifier {
    pthread_mutex_t lock;
    mcp_token_check *check;
};

static void
verify(void *user, const char *token, mcp_token_check *check)
{
    struct verifier *v = user;

    if (strcmp(token, "now") == 0) {
        mcp_token_accept(check, &MCP_IDENTITY(.principal = "now", .scope = "s",
                                              .claims = "{\"name\":\"Now\"}"));
        return;
    }
    pthread_mutex_lock(&v->lock);
    v->check = check;
    pthread_mutex_unlock(&v->lock);
}

static mcp_token_check *
verifier_take(struct verifier *v)
{
    mcp_token_check *check;

    pthread_mutex_lock(&v->lock);
    check = v->check;
    v->check = NULL;
    pthread_mutex_unlock(&v->lock);
    return check;
}

static mcp_token_check *
verifier_wait(struct verifier *v)
{
    mcp_token_check *check = NULL;

    RAW_UNTIL((check = verifier_take(v)) != NULL);
    return check;
}

static void
a_verdict_of_the_program_may_come_late(void **state)
{
    struct verifier v = {.lock = PTHREAD_MUTEX_INITIALIZER};
    mcp_token_check *check;
    struct rig rig;

    (void)state;
    rig_open(&rig, MCP_GUARD_OPTIONS(.verify = verify, .verify_user = &v));
    post_gives(&rig, "Authorization: Bearer now\r\n", 200, NULL);
    assert_non_null(strstr(rig.h.body, "<now> <s> <Now>"));
    post(&rig, "Authorization: Bearer later\r\n", "whoami", CALL_OF("whoami"));
    check = verifier_wait(&v);
    mcp_token_accept(check, &MCP_IDENTITY(.principal = "later"));
    assert_int_equal(http_answer(&rig.h), 200);
    assert_non_null(strstr(rig.h.body, "<later> <> <->"));
    post(&rig, "Authorization: Bearer later\r\n", "whoami", CALL_OF("whoami"));
    mcp_token_reject(verifier_wait(&v), "it was revoked");
    assert_int_equal(http_answer(&rig.h), 401);
    assert_string_equal(http_field(&rig.h, "WWW-Authenticate"),
                        INVALID("it was revoked"));
    post(&rig, "Authorization: Bearer later\r\n", "whoami", CALL_OF("whoami"));
    check = verifier_wait(&v);
    http_close(&rig.h);
    rig_stop(&rig); /* the client has left, the server too, and then the guard */
    mcp_guard_free(rig.guard);
    mcp_token_accept(check, &MCP_IDENTITY(.principal = "too late"));
    reached_close(&rig.f);
    test_mem_done(&rig.mem);
}

/* ---- inside another HTTP server ------------------------------------------------- */

struct talk {
    mcp_http_turn *turn;
    int status;
    char challenge[512], text[2048];
    size_t len;
    atomic_bool over;
};

static void
on_more(void *user, const char *body, size_t length, bool last)
{
    struct talk *t = user;

    assert_true(t->len + length < sizeof(t->text));
    memcpy(t->text + t->len, body, length);
    t->len += length;
    if (last)
        atomic_store(&t->over, true);
}

static void
on_begin(void *user, int status, const mcp_http_field *fields, size_t count,
         const char *body, size_t length, bool last)
{
    struct talk *t = user;

    t->status = status;
    for (size_t i = 0; i < count; i++)
        if (strcmp(fields[i].name, "WWW-Authenticate") == 0)
            (void)snprintf(t->challenge, sizeof(t->challenge), "%s", fields[i].value);
    on_more(user, body, length, last);
}

static void
on_abort(void *user)
{
    atomic_store(&((struct talk *)user)->over, true);
}

static void
talk(struct talk *t, mcp_http_mount *mount, const char *method, const char *target,
     const char *token)
{
    static const mcp_http_turn_ops ops = {.size = sizeof(mcp_http_turn_ops),
                                          .begin = on_begin,
                                          .more = on_more,
                                          .abort = on_abort};
    const mcp_http_field fields[] = {{"content-type", "application/json"},
                                     {"mcp-protocol-version", "2026-07-28"},
                                     {"mcp-method", "tools/call"},
                                     {"mcp-name", "whoami"},
                                     {"authorization", token}};

    memset(t, 0, sizeof(*t));
    assert_int_equal(
        mcp_http_serve(mount,
                       &MCP_HTTP_REQUEST(.method = method, .target = target,
                                         .fields = fields, .field_count = token ? 5 : 4,
                                         .body = CALL_OF("whoami"),
                                         .body_length = strlen(CALL_OF("whoami"))),
                       &ops, t, &t->turn),
        0);
    RAW_UNTIL(atomic_load(&t->over));
    mcp_http_turn_free(t->turn);
}

static void
a_guard_stands_in_front_of_a_mount_too(void **state)
{
    mcp_http_mount *mount = NULL;
    struct credential c;
    mcp_error err = {0};
    struct raw raw;
    struct rig rig;
    struct talk t;

    (void)state;
    rig_make_guard(&rig, MCP_GUARD_OPTIONS(.jwks = SET, .scopes = published));
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "whoami", .run = whoami));
    assert_int_equal(mcp_http_mount_new(raw.server,
                                        &MCP_HTTP_OPTIONS(.guard = rig.guard), &mount,
                                        &err),
                     0);
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    talk(&t, mount, "POST", "/mcp", NULL);
    assert_int_equal(t.status, 401);
    assert_string_equal(t.challenge, "Bearer " SAYS_DOCUMENT);
    (void)token_of(&c, "ann", "");
    c.line[strcspn(c.line, "\r")] = '\0';
    talk(&t, mount, "POST", "/mcp", strchr(c.line, ' ') + 1);
    assert_int_equal(t.status, 200);
    assert_non_null(strstr(t.text, "|app|ann>"));
    talk(&t, mount, "GET", WELL_KNOWN "/mcp", NULL);
    assert_int_equal(t.status, 200);
    assert_string_equal(t.text, PRM);
    mcp_server_free(raw.server);
    raw.server = NULL;
    mcp_http_mount_free(mount);
    raw_done(&raw);
    mcp_guard_free(rig.guard);
    test_mem_done(&rig.mem);
}

TEST_MAIN(TEST(only_a_good_token_comes_in), TEST(a_handler_sees_who_asks),
          TEST(more_scope_lets_in_further), TEST(a_client_is_told_the_status),
          TEST(a_guard_and_another_hook_exclude_each_other),
          TEST(everybody_may_read_the_document), TEST(keys_are_fetched_and_kept),
          TEST(an_issuer_that_is_not_there_is_no_verdict),
          TEST(a_server_may_go_while_keys_are_fetched), TEST(loops_share_a_guard),
          TEST(D20_a_cancel_by_another_credential_cancels_nothing),
          TEST(a_verdict_of_the_program_may_come_late),
          TEST(a_guard_stands_in_front_of_a_mount_too))
