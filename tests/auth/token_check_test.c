/* token_check_test.c - one request at the guard: what it brings, whether that will do */
#include <pthread.h>

#include "auth/scopes.h"
#include "auth/watch.h"

/* ---- credentials ---------------------------------------------------------- */

static void
who_brings_nothing_is_told_where_to_get_it(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.scope = "mcp"));
    watch_begin(&w, NULL, NULL, NULL, MODERN_T, MODERN_CALL("1"));
    assert_non_null(strstr(w.v.text, "Unauthorized: a token is needed"));
    watch_refused(&w, 401, "Bearer scope=\"mcp\", " SAYS_DOCUMENT);
    watch_begin(&w, "Basic", "YTpi", NULL, MODERN_T, MODERN_CALL("1"));
    watch_refused(&w, 401, "Bearer scope=\"mcp\", " SAYS_DOCUMENT);
    assert_int_equal(w.f.served, 0);
    watch_close(&w);
}

static void
what_is_malformed_is_no_credential(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    watch_begin(&w, "Bearer", "a b", NULL, MODERN_T, MODERN_CALL("1"));
    watch_refused(&w, 400,
                  "Bearer error=\"invalid_request\", error_description=\"this is no "
                  "token\", " SAYS_DOCUMENT);
    watch_begin(&w, "Bearer", "a", NULL, MODERN_T "Authorization: Bearer a\n",
                MODERN_CALL("1"));
    watch_refused(&w, 400,
                  "Bearer error=\"invalid_request\", error_description=\"Authorization "
                  "stands twice\", " SAYS_DOCUMENT);
    watch_close(&w);
}

static void
a_token_in_the_url_is_none(void **state)
{
    struct token token;
    struct watch w;
    char target[256];

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    token_make(&token, HEAD_EC, "{'iss':'" ISSUER "'}", EC_PRIVATE);
    (void)snprintf(target, sizeof(target), "/mcp?access_token=%s", token.text.data);
    visit_init(&w.v, "POST", target, MODERN_T, MODERN_CALL("1"));
    visit_begin(&w.f, &w.v);
    watch_refused(&w, 401, "Bearer " SAYS_DOCUMENT);
    token_done(&token);
    watch_close(&w);
}

/* ---- tokens ---------------------------------------------------------------- */

static void
a_good_token_lets_in_and_says_who(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    watch_lets_in(&w, ANN(",'scope':'read write'"));
    assert_string_equal(w.f.principal, ISSUER "|app|ann");
    assert_string_equal(w.f.scope, "read write");
    assert_string_equal(w.f.claim, "ann");
    watch_lets_in(&w, ANN(""));
    assert_string_equal(w.f.scope, "");
    watch_close(&w);
}

static void
tokens_of_all_kinds_of_keys_are_taken(void **state)
{
    static const char set[] =
        "{\"keys\":[{\"kid\":\"r\",\"kty\":\"RSA\",\"e\":\"AQAB\","
        "\"n\":\"" RSA_N "\"},{\"kid\":\"two\",\"crv\":"
        "\"Ed25519\",\"kty\":\"OKP\",\"x\":\"" ED_X "\"}]}";
    struct watch w;

    (void)state;
    watch_open(&w, MCP_GUARD_OPTIONS(.jwks = set));
    watch_call(&w, "{'alg':'RS256','kid':'r','typ':'at+jwt'}", ANN(""), RSA_PRIVATE);
    watch_gives(&w, 200);
    watch_call(&w, "{'alg':'EdDSA','kid':'two','typ':'JWT'}", ANN(""), ED_PRIVATE);
    watch_gives(&w, 200);
    watch_close(&w);
}

#define WITH(iss, aud, rest) "{'iss':'" iss "','aud':" aud ",'sub':'ann'" rest "}"

static void
a_token_is_refused_for_what_it_says(void **state)
{
    static const struct {
        const char *claims, *why;
    } rows[] = {
        {WITH(ISSUER, "'" RESOURCE "'", ",'exp':1799999969"), "the token has expired"},
        {WITH(ISSUER, "'" RESOURCE "'", ""), "the token has no expiry"},
        {WITH(ISSUER, "'" RESOURCE "'", ",'exp':1800000600,'nbf':1800000031"),
         "the token is not valid yet"},
        {WITH(ISSUER, "'https://other.test/mcp'", ",'exp':1800000600"),
         "the token is for another audience"},
        {WITH(ISSUER, "['a','b']", ",'exp':1800000600"),
         "the token is for another audience"},
        {WITH("https://evil.test", "'" RESOURCE "'", ",'exp':1800000600"),
         "the token is not of an issuer that is trusted"},
        {WITH(ISSUER "/", "'" RESOURCE "'", ",'exp':1800000600"),
         "the token is not of an issuer that is trusted"},
        {"{'aud':'" RESOURCE "','exp':1800000600,'sub':'ann'}",
         "the token is not of an issuer that is trusted"},
        {"{'iss':'" ISSUER "','aud':'" RESOURCE "','exp':1800000600}",
         "the token names nobody"},
        {ANN(",'cnf':{'x5t#S256':'x'}"),
         "the token is bound to what cannot be checked here"},
    };
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        watch_refuses(&w, HEAD_EC, rows[i].claims, EC_PRIVATE, rows[i].why);
    assert_int_equal(w.f.served, 0);
    watch_lets_in(&w, WITH(ISSUER, "['a','" RESOURCE "']", ",'exp':1799999971"));
    watch_lets_in(&w,
                  WITH(ISSUER, "'" RESOURCE "'", ",'exp':1800000600,'nbf':1800000030"));
    watch_close(&w);
}

static void
another_audience_may_be_ours(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.audience = "api"));
    watch_lets_in(&w, WITH(ISSUER, "'api'", ",'exp':1800000600"));
    watch_refuses(&w, HEAD_EC, ANN(""), EC_PRIVATE,
                  "the token is for another audience");
    watch_close(&w);
}

static void
a_token_is_refused_for_how_it_is_signed(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    watch_refuses(&w, "{'alg':'none','kid':'one'}", ANN(""), EC_PRIVATE,
                  "the token is signed in a way that is not taken");
    watch_refuses(&w, "{'alg':'HS256','kid':'one'}", ANN(""), EC_PRIVATE,
                  "the token is signed in a way that is not taken");
    watch_refuses(&w, "{'alg':'EdDSA','kid':'one'}", ANN(""), ED_PRIVATE,
                  "the token is not signed by its issuer");
    watch_refuses(&w, "{'alg':'ES256','kid':'one'}", ANN(""), ED_PRIVATE,
                  "the token is not signed by its issuer");
    watch_refuses(&w, "{'alg':'ES256','kid':'two'}", ANN(""), EC_PRIVATE,
                  "the token is not signed by its issuer");
    watch_refuses(&w, "{'alg':'ES256','kid':'one','typ':'dpop+jwt'}", ANN(""),
                  EC_PRIVATE, "this is no access token");
    watch_refuses(&w, "{'alg':'ES256','kid':'one','crit':['x']}", ANN(""), EC_PRIVATE,
                  "this is no token of a kind that is taken");
    watch_begin(&w, "Bearer", "opaque", NULL, MODERN_T, MODERN_CALL("1"));
    watch_refused(
        &w, 401,
        "Bearer error=\"invalid_token\", error_description=\"this is no token "
        "of a kind that is taken\", " SAYS_DOCUMENT);
    assert_int_equal(w.f.served, 0);
    watch_close(&w);
}

#define AT_JWT "{'alg':'ES256','kid':'one','typ':'at+jwt'}"

/* It may well be for us, if our audience is the name of a client. */
static void
an_id_token_is_no_access_token(void **state)
{
    static const char *const marks[] = {ANN(",'nonce':'n'"), ANN(",'at_hash':'h'"),
                                        ANN(",'c_hash':'h'")};
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        watch_refuses(&w, HEAD_EC, marks[i], EC_PRIVATE, "this is no access token");
        watch_refuses(&w, "{'alg':'ES256','kid':'one','typ':'JWT'}", marks[i],
                      EC_PRIVATE, "this is no access token");
        watch_call(&w, AT_JWT, marks[i], EC_PRIVATE); /* it says that it is one */
        watch_gives(&w, 200);
    }
    watch_close(&w);
}

static void
tokens_may_have_to_say_that_they_are_access_tokens(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.typed_only = true));
    watch_refuses(&w, HEAD_EC, ANN(""), EC_PRIVATE, "this is no access token");
    watch_refuses(&w, "{'alg':'ES256','kid':'one','typ':'JWT'}", ANN(""), EC_PRIVATE,
                  "this is no access token");
    watch_call(&w, AT_JWT, ANN(""), EC_PRIVATE);
    watch_gives(&w, 200);
    watch_call(&w, "{'alg':'ES256','kid':'one','typ':'application/AT+JWT'}", ANN(""),
               EC_PRIVATE);
    watch_gives(&w, 200);
    watch_close(&w);
}

/* "none" without a signature, and HS256 with our public key as its secret. */
static void
no_algorithm_is_talked_into(void **state)
{
    static const char *const heads[] = {"{'alg':'none'}",
                                        "{'alg':'HS256','kid':'one'}"};
    struct token token;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    for (int i = 0; i < 2; i++) {
        token_begin(&token, heads[i], ANN(""));
        token_end(&token, SET_EC, i == 0 ? 0 : 32);
        watch_begin(&w, "Bearer", token.text.data, NULL, MODERN_T, MODERN_CALL("1"));
        watch_gives(&w, 401);
        token_done(&token);
    }
    assert_int_equal(w.f.served, 0);
    watch_close(&w);
}

/* ---- scopes ----------------------------------------------------------------- */

static const char *
needs(void *user, const char *method, const char *name)
{
    char *seen = user;

    (void)snprintf(seen, 64, "%s %s", method, name);
    if (strcmp(method, "tools/call") == 0 && strcmp(name, "t") == 0)
        return "tools:t mcp";
    return NULL;
}

#define MISSING                                                                       \
    "Bearer error=\"insufficient_scope\", error_description=\"the token has not all " \
    "scopes that are needed\", scope=\"mcp tools:t\", " SAYS_DOCUMENT

static void
a_request_needs_its_scopes(void **state)
{
    char seen[64] = "";
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.scope = "mcp", .needs = needs, .user = seen));
    watch_begin(&w, NULL, NULL, NULL, MODERN_T, MODERN_CALL("1"));
    watch_refused(&w, 401, "Bearer scope=\"mcp tools:t\", " SAYS_DOCUMENT);
    assert_string_equal(seen, "tools/call t");
    watch_call(&w, HEAD_EC, ANN(",'scope':'mcp'"), EC_PRIVATE);
    assert_non_null(strstr(w.v.text, "Forbidden: "));
    watch_refused(&w, 403, MISSING);
    watch_call(&w, HEAD_EC, ANN(",'scope':'tools:t'"), EC_PRIVATE);
    watch_refused(&w, 403, MISSING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_refused(&w, 403, MISSING);
    assert_int_equal(w.f.served, 0);
    watch_lets_in(&w, ANN(",'scope':'other mcp tools:t'"));
    watch_close(&w);
}

static void
a_broad_scope_has_the_narrow_ones(void **state)
{
    static const char *const implies[] = {"admin mcp tools:t", NULL};
    char seen[64] = "";
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.scope = "mcp", .needs = needs, .user = seen,
                                 .implies = implies));
    watch_lets_in(&w, ANN(",'scope':'admin'"));
    assert_string_equal(w.f.scope, "admin mcp tools:t");
    watch_call(&w, HEAD_EC, ANN(",'scope':'mcp'"), EC_PRIVATE);
    watch_gives(&w, 403);
    watch_close(&w);
}

static void
see(struct watch *w, const char *body, char seen[64], const char *expected)
{
    strcpy(seen, "-");
    watch_begin(w, NULL, NULL, NULL, MODERN_T, body);
    watch_gives(w, 401);
    assert_string_equal(seen, expected);
}

static void
what_is_asked_for_is_told_by_its_body(void **state)
{
    static char big[70000];
    char seen[64] = "";
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.needs = needs, .user = seen));
    see(&w, REQUEST("1", "prompts/get", "{\"name\":\"p\"}"), seen, "prompts/get p");
    see(&w, REQUEST("1", "resources/read", "{\"uri\":\"a:b\"}"), seen,
        "resources/read a:b");
    see(&w, REQUEST("1", "resources/subscribe", "{\"uri\":\"a:b\"}"), seen,
        "resources/subscribe a:b");
    see(&w, REQUEST("1", "completion/complete", "{\"ref\":{\"name\":\"p\"}}"), seen,
        "completion/complete p");
    see(&w, REQUEST("1", "completion/complete", "{\"ref\":{\"uri\":\"a:{b}\"}}"), seen,
        "completion/complete a:{b}");
    see(&w, REQUEST("1", "tools/list", "{}"), seen, "tools/list ");
    see(&w, REQUEST("1", "my/own", "{\"name\":\"x\"}"), seen, "my/own ");
    see(&w, NOTE("notifications/x", "{}"), seen, "notifications/x ");
    see(&w, "[" REQUEST("1", "tools/list", "{}") "]", seen, "-");
    see(&w, "{", seen, "-");
    see(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", seen, "-");
    memset(big, ' ', sizeof(big) - 1); /* a stranger's is not read for courtesy */
    memcpy(big, REQUEST("1", "tools/list", "{}"),
           strlen(REQUEST("1", "tools/list", "{}")));
    see(&w, big, seen, "-");
    watch_begin(&w, "Basic", "x", NULL, MODERN_T, big);
    watch_gives(&w, 401);
    watch_begin(&w, "Bearer", "x", NULL, MODERN_T, big);
    watch_gives(&w, 401);
    assert_string_equal(seen, "-"); /* nor is that of who only says to be somebody */
    watch_close(&w);
}

static void
get_and_delete_need_what_every_request_needs(void **state)
{
    static const char *const methods[] = {"GET", "DELETE"};
    char headers[2048], seen[64] = "-";
    struct token token;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.scope = "mcp", .needs = needs, .user = seen));
    for (int i = 0; i < 4; i++) {
        token_make(&token, HEAD_EC, i < 2 ? ANN("") : ANN(",'scope':'mcp'"),
                   EC_PRIVATE);
        (void)snprintf(headers, sizeof(headers),
                       HOST BOTH "Mcp-Session-Id: x\nAuthorization: Bearer %s\n",
                       token.text.data);
        token_done(&token);
        front_ask(&w.f, &w.v, methods[i % 2], headers, NULL);
        watch_gives(&w, i < 2 ? 403 : 404); /* there is no such session */
    }
    assert_string_equal(seen, "-");
    watch_close(&w);
}

static void
call_long(struct watch *w, const char *claims)
{
    static char big[70000];
    struct token token;

    memset(big, ' ', sizeof(big) - 1);
    memcpy(big, MODERN_CALL("1"), strlen(MODERN_CALL("1")));
    token_make(&token, HEAD_EC, claims, EC_PRIVATE);
    watch_begin(w, "Bearer", token.text.data, NULL, MODERN_T, big);
    token_done(&token);
}

static void
a_long_body_is_read_once_the_token_is_good(void **state)
{
    char seen[64] = "-";
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.scope = "mcp", .needs = needs, .user = seen));
    call_long(&w, WITH("https://evil.test", "'x'", ""));
    watch_gives(&w, 401);
    assert_string_equal(seen, "-");
    call_long(&w, ANN(",'scope':'mcp'"));
    assert_string_equal(seen, "tools/call t");
    watch_refused(&w, 403, MISSING);
    call_long(&w, ANN(",'scope':'tools:t'"));
    watch_refused(&w, 403, MISSING);
    assert_int_equal(w.f.served, 0);
    call_long(&w, ANN(",'scope':'mcp tools:t'"));
    watch_gives(&w, 200);
    assert_int_equal(w.f.served, 1);
    watch_close(&w);
}

/* ---- what `needs` gets wrong ------------------------------------------------- */

struct told {
    const char *needs;
    int lines;
};

static const char *
needs_told(void *user, const char *method, const char *name)
{
    (void)method;
    (void)name;
    return ((struct told *)user)->needs;
}

static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    assert_int_equal(level, MCP_LOG_ERROR);
    assert_non_null(strstr(line, "guard option needs: "));
    assert_non_null(strstr(line, "tools/call"));
    ((struct told *)user)->lines++;
}

/* Less would be required than was meant. */
static void
what_is_no_scope_is_not_left_out_of_what_is_needed(void **state)
{
    static const char *const wrong[] = {"read\"", "mcp a\\b", "mcp\tread",
                                        "caf\xc3\xa9"};
    static char many[MCPI_SCOPES_MAX + 3];
    struct told told = {0};
    struct watch w;

    (void)state;
    for (size_t i = 0; i < MCPI_SCOPES_MAX; i += 2)
        memcpy(many + i, "a ", 2);
    memcpy(many + MCPI_SCOPES_MAX, "b", 2);
    watch_open(&w, WATCH_OPTIONS(.needs = needs_told, .user = &told, .on_log = on_log,
                                 .log_user = &told));
    for (int i = 0; i < 10; i++) {
        told.needs = i < 8 ? wrong[i / 2] : many;
        if (i % 2 == 0)
            watch_call(&w, HEAD_EC, ANN(",'scope':'mcp read a'"), EC_PRIVATE);
        else
            call_long(&w, ANN(",'scope':'mcp read a'"));
        watch_gives(&w, 500);
        assert_int_equal(told.lines, i + 1);
    }
    assert_int_equal(w.f.served, 0);
    told.needs = " mcp  read ";
    watch_lets_in(&w, ANN(",'scope':'mcp read a'"));
    watch_close(&w);
}

/* ---- keys ------------------------------------------------------------------- */

#define FETCHING MCP_GUARD_OPTIONS(.jwks_uri = KEYS_URL)

static void
keys_come(struct watch *w, int status, const char *set)
{
    struct fake_fetch *get = fake_last(&w->fetcher);

    assert_string_equal(get->url, KEYS_URL);
    fake_answer(get, status, "application/json", set);
    front_run(&w->f);
}

static void
a_request_waits_for_keys(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, FETCHING);
    watch_call(&w, HEAD_EC, ANN(",'scope':'read'"), EC_PRIVATE);
    assert_int_equal(w.v.replies + w.v.opens, 0);
    assert_int_equal(w.fetcher.count, 1);
    keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    assert_string_equal(w.f.principal, ISSUER "|app|ann");
    assert_string_equal(w.f.scope, "read");
    assert_string_equal(w.f.claim, "ann");
    watch_lets_in(&w, ANN("")); /* at once */
    assert_int_equal(w.fetcher.count, 1);
    watch_close(&w);
}

static void
an_unknown_key_is_looked_for_once(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    w.f.now += MCPI_KEYRING_PAUSE_US;
    watch_call(&w, HEAD_ED, ANN(""), ED_PRIVATE);
    assert_int_equal(w.fetcher.count, 2);
    keys_come(&w, 200, SET_EC);
    watch_gives(&w, 401);
    for (int i = 0; i < 50; i++)
        watch_refuses(&w, HEAD_ED, ANN(""), ED_PRIVATE,
                      "the token is not signed by its issuer");
    watch_refuses(&w, HEAD_EC, ANN(""), ED_PRIVATE,
                  "the token is not signed by its issuer");
    assert_int_equal(w.fetcher.count, 2);
    watch_lets_in(&w, ANN(""));
    watch_close(&w);
}

static void
keys_may_change(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    w.f.now += MCPI_KEYRING_PAUSE_US;
    watch_call(&w, HEAD_ED, ANN(""), ED_PRIVATE);
    keys_come(&w, 200, SET_ED);
    watch_gives(&w, 200);
    watch_refuses(&w, HEAD_EC, ANN(""), EC_PRIVATE,
                  "the token is not signed by its issuer");
    watch_close(&w);
}

static void
what_cannot_be_true_is_not_worth_a_flight(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, FETCHING);
    watch_refuses(&w, "{'alg':'none'}", ANN(""), EC_PRIVATE,
                  "the token is signed in a way that is not taken");
    watch_refuses(&w, HEAD_EC, WITH(ISSUER, "'" RESOURCE "'", ",'exp':1700000000"),
                  EC_PRIVATE, "the token has expired");
    watch_refuses(&w, HEAD_EC, WITH("https://evil.test", "'x'", ""), EC_PRIVATE,
                  "the token is not of an issuer that is trusted");
    assert_int_equal(w.fetcher.count, 0);
    watch_close(&w);
}

static void
a_long_body_that_waited_for_keys_is_read_too(void **state)
{
    char seen[64] = "-";
    struct watch w;

    (void)state;
    watch_open(&w, MCP_GUARD_OPTIONS(.jwks_uri = KEYS_URL, .scope = "mcp",
                                     .needs = needs, .user = seen));
    call_long(&w, ANN(",'scope':'mcp'"));
    assert_string_equal(seen, "-");
    assert_int_equal(atomic_load(&w.guard->waiting_bytes), 69999);
    keys_come(&w, 200, SET_EC);
    watch_refused(&w, 403, MISSING);
    assert_string_equal(seen, "tools/call t");
    assert_int_equal(atomic_load(&w.guard->waiting_bytes), 0);
    assert_int_equal(w.f.served, 0);
    watch_close(&w);
}

static void
without_keys_nobody_can_tell(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    keys_come(&w, 500, "{}");
    assert_true(visit_says(&w.v, "Retry-After: "));
    assert_false(visit_says(&w.v, AUTHENTICATE));
    watch_gives(&w, 503);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_gives(&w, 503); /* at once: the issuer is left alone */
    assert_int_equal(w.fetcher.count, 1);
    watch_close(&w);
}

static void
old_keys_do_while_the_issuer_is_ill(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    w.f.now += 300 * SECOND;
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    keys_come(&w, 500, "{}");
    watch_gives(&w, 200);
    watch_lets_in(&w, ANN(""));
    assert_int_equal(w.fetcher.count, 2);
    watch_close(&w);
}

static void
nobody_waits_for_an_issuer_that_hangs_while_old_keys_do(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    w.f.now += 300 * SECOND;
    watch_lets_in(&w, ANN(""));
    watch_lets_in(&w, ANN(""));
    assert_int_equal(w.fetcher.count, 2); /* beside, and once */
    w.f.now += MCPI_KEYRING_FETCH_US;
    front_run(&w.f);
    watch_lets_in(&w, ANN(""));
    assert_int_equal(w.fetcher.count, 2);
    w.f.now += MCPI_KEYRING_PAUSE_US;
    watch_lets_in(&w, ANN(""));
    assert_int_equal(w.fetcher.count, 3);
    watch_call(&w, HEAD_ED, ANN(""), ED_PRIVATE); /* a new key is worth the time */
    assert_int_equal(w.v.replies + w.v.opens, 0);
    keys_come(&w, 200, SET_ED);
    watch_gives(&w, 200);
    watch_close(&w);
}

static void
keys_that_rested_for_long_are_not_believed_unseen(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    w.f.now += 600 * SECOND;
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    assert_int_equal(w.v.replies + w.v.opens, 0);
    keys_come(&w, 200, SET_ED);
    watch_gives(&w, 401);
    watch_close(&w);
}

static void
many_wait_for_one_flight_and_some_leave(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    mcpi_turn_gone(&w.v.turn); /* the first one leaves */
    visit_done(&w.v);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    assert_int_equal(w.fetcher.count, 1);
    keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    assert_int_equal(w.f.served, 1);
    assert_int_equal(atomic_load(&w.guard->waiting), 0);
    watch_close(&w);
}

static void
who_waits_when_the_guard_goes_is_told_so(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, FETCHING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    w.f.http.identify = NULL;
    mcp_guard_free(w.guard);
    w.guard = NULL;
    front_run(&w.f);
    watch_gives(&w, 503);
    watch_close(&w);
}

static void
no_more_wait_than_there_is_room_for(void **state)
{
    struct watch w;

    (void)state;
    watch_open(&w, FETCHING);
    atomic_store(&w.guard->waiting, MCPI_GUARD_WAITING_MAX);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_gives(&w, 503);
    assert_int_equal(atomic_load(&w.guard->waiting), MCPI_GUARD_WAITING_MAX);
    atomic_store(&w.guard->waiting, 0);
    atomic_store(&w.guard->waiting_bytes, MCPI_GUARD_WAITING_BYTES_MAX + 1);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_gives(&w, 503);
    assert_int_equal(atomic_load(&w.guard->waiting), 0);
    assert_int_equal(atomic_load(&w.guard->waiting_bytes),
                     MCPI_GUARD_WAITING_BYTES_MAX + 1);
    assert_int_equal(w.fetcher.count, 0);
    atomic_store(&w.guard->waiting_bytes, MCPI_GUARD_WAITING_BYTES_MAX);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200); /* one may be longer than all are meant to be */
    atomic_store(&w.guard->waiting_bytes, 0);
    watch_close(&w);
}

static void
a_token_that_waited_leaves_no_copy(void **state)
{
    struct token token;
    struct watch w;

    (void)state;
    watch_open(&w, FETCHING);
    token_make(&token, HEAD_EC, ANN(""), EC_PRIVATE);
    w.mem->secret = w.f.mem->secret = token.text.data;
    watch_begin(&w, "Bearer", token.text.data, NULL, MODERN_T, MODERN_CALL("1"));
    keys_come(&w, 200, SET_EC);
    watch_gives(&w, 200);
    watch_close(&w);
    token_done(&token);
}

/* ---- a verifier of the program's ---------------------------------------------- */

struct verifier {
    mcp_token_check *check; /* that was asked for last */
    char token[64];
    bool now;
    mcp_identity identity;
};

static void
verify(void *user, const char *token, mcp_token_check *check)
{
    struct verifier *v = user;

    (void)snprintf(v->token, sizeof(v->token), "%s", token);
    v->check = check;
    if (v->now)
        mcp_token_accept(check, &v->identity);
}

#define VERIFYING(v, ...) \
    MCP_GUARD_OPTIONS(.verify = verify, .verify_user = (v), __VA_ARGS__)

static void
opaque(struct watch *w, const char *scheme)
{
    watch_begin(w, scheme, "opaque", NULL, MODERN_T, MODERN_CALL("1"));
}

static void
a_verifier_accepts_at_once_or_later(void **state)
{
    struct verifier v = {.now = true};
    struct watch w;

    (void)state;
    v.identity = MCP_IDENTITY(.principal = "ann", .scope = "read",
                              .claims = "{\"who\":\"Ann\"}");
    watch_open(&w, VERIFYING(&v, .scope = "read"));
    opaque(&w, "Bearer");
    watch_gives(&w, 200);
    assert_string_equal(v.token, "opaque");
    assert_string_equal(w.f.principal, "ann");
    assert_string_equal(w.f.scope, "read");
    assert_string_equal(w.f.claim, "Ann");
    v.now = false;
    opaque(&w, "Bearer");
    assert_int_equal(w.v.replies, 0);
    mcp_token_accept(v.check, &v.identity);
    front_run(&w.f);
    watch_gives(&w, 200);
    v.identity.scope = "write";
    opaque(&w, "Bearer");
    mcp_token_accept(v.check, &v.identity);
    front_run(&w.f);
    watch_gives(&w, 403);
    watch_close(&w);
}

static void
a_verifier_is_asked_before_a_long_body_is_read(void **state)
{
    struct verifier v = {0};
    char seen[64] = "-";
    struct watch w;

    (void)state;
    watch_open(&w, VERIFYING(&v, .scope = "mcp", .needs = needs, .user = seen));
    for (int i = 0; i < 4; i++) {
        v.now = i % 2 == 0;
        v.identity = MCP_IDENTITY(.principal = "ann",
                                  .scope = i < 2 ? "mcp" : "mcp tools:t");
        call_long(&w, ANN(""));
        if (!v.now) {
            assert_string_equal(seen, "-");
            mcp_token_accept(v.check, &v.identity);
        }
        front_run(&w.f);
        assert_string_equal(seen, "tools/call t");
        watch_gives(&w, i < 2 ? 403 : 200);
        strcpy(seen, "-");
    }
    call_long(&w, ANN(""));
    mcp_token_reject(v.check, NULL);
    front_run(&w.f);
    watch_gives(&w, 401);
    assert_string_equal(seen, "-");
    watch_close(&w);
}

static void
a_verifier_rejects_or_cannot_tell(void **state)
{
    struct verifier v = {0};
    struct watch w;

    (void)state;
    watch_open(&w, VERIFYING(&v, .name = "x"));
    opaque(&w, "Bearer");
    mcp_token_reject(v.check, "it was \"revoked\"");
    front_run(&w.f);
    watch_refused(&w, 401,
                  "Bearer error=\"invalid_token\", error_description=\"it was "
                  "'revoked'\", " SAYS_DOCUMENT);
    opaque(&w, "Bearer");
    mcp_token_reject(v.check, NULL);
    front_run(&w.f);
    watch_refused(
        &w, 401,
        "Bearer error=\"invalid_token\", error_description=\"the token is not "
        "good\", " SAYS_DOCUMENT);
    opaque(&w, "Bearer");
    mcp_token_fail(v.check);
    front_run(&w.f);
    watch_gives(&w, 503);
    mcp_token_accept(NULL, NULL);
    mcp_token_reject(NULL, NULL);
    mcp_token_fail(NULL);
    watch_close(&w);
}

static void
an_identity_of_nobody_lets_nobody_in(void **state)
{
    static const mcp_identity rows[] = {
        {.size = 1, .principal = "ann"},
        {.size = sizeof(mcp_identity)},
        {.size = sizeof(mcp_identity), .principal = ""},
        {.size = sizeof(mcp_identity), .principal = "ann", .key = ""},
        {.size = sizeof(mcp_identity), .principal = "ann", .claims = "7"},
        {.size = sizeof(mcp_identity), .principal = "ann", .claims = "{"},
    };
    struct verifier v = {0};
    struct watch w;

    (void)state;
    watch_open(&w, VERIFYING(&v, .name = "x"));
    for (size_t i = 0; i <= sizeof(rows) / sizeof(rows[0]); i++) {
        opaque(&w, "Bearer");
        mcp_token_accept(v.check, i == 0 ? NULL : &rows[i - 1]);
        front_run(&w.f);
        watch_gives(&w, 500);
    }
    watch_close(&w);
}

static void *
accept_on_a_thread(void *user)
{
    struct verifier *v = user;

    mcp_token_accept(v->check, &v->identity);
    return NULL;
}

static void
a_verdict_may_come_late_from_anywhere(void **state)
{
    struct verifier v = {0};
    pthread_t thread;
    struct watch w;

    (void)state;
    v.identity = MCP_IDENTITY(.principal = "ann");
    watch_open(&w, VERIFYING(&v, .name = "x"));
    opaque(&w, "Bearer");
    assert_int_equal(pthread_create(&thread, NULL, accept_on_a_thread, &v), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    front_run(&w.f);
    watch_gives(&w, 200);
    opaque(&w, "Bearer");
    mcpi_turn_gone(&w.v.turn);
    mcp_token_accept(v.check, &v.identity); /* the client has left */
    visit_done(&w.v);
    opaque(&w, "Bearer");
    mcpi_turn_gone(&w.v.turn);
    visit_done(&w.v);
    w.f.http.identify = NULL;
    mcp_guard_free(w.guard);
    w.guard = NULL;
    mcp_token_accept(v.check, &v.identity); /* and so has the guard */
    watch_close(&w);
}

/* ---- proofs ----------------------------------------------------------------- */

#define THUMB "oKIywvGUpTVTyxMQ3bwIIeQUudfr_CkLMjCE19ECD-U" /* of EC_PUBLIC */
#define BOUND ANN(",'cnf':{'jkt':'" THUMB "'}")

/* A proof by that key, of a call with that token. */
struct proof {
    struct mcpi_buf text;
    struct mcpi_dpop what;
};

static void
proof_init(struct proof *p, const struct watch *w, const char *token)
{
    mcpi_buf_init(&p->text, NULL, 4096);
    p->what = (struct mcpi_dpop){
        .method = "POST", .url = RESOURCE, .token = token, .now = w->unix_time};
}

static const char *
proof_write(struct proof *p, const char *key_text)
{
    struct mcpi_key *key = key_of(key_text);

    mcpi_buf_clear(&p->text);
    assert_int_equal(mcpi_dpop_write(key, &p->what, &p->text), 0);
    mcpi_buf_char(&p->text, '\0');
    mcpi_key_unref(key);
    return p->text.data;
}

static void
call_bound(struct watch *w, const struct token *token, const char *proof)
{
    watch_begin(w, "DPoP", token->text.data, proof, MODERN_T, MODERN_CALL("1"));
}

#define ALGS "DPoP algs=\"ES256 EdDSA RS256\", "
#define BAD_PROOF(why) \
    ALGS "error=\"invalid_dpop_proof\", error_description=\"" why "\", " SAYS_DOCUMENT
#define BAD_TOKEN(why) \
    ALGS "error=\"invalid_token\", error_description=\"" why "\", " SAYS_DOCUMENT

static void
a_bound_token_comes_with_its_proof(void **state)
{
    struct token token;
    struct proof p;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    token_make(&token, HEAD_EC, BOUND, EC_PRIVATE);
    proof_init(&p, &w, token.text.data);
    call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_gives(&w, 200);
    assert_string_equal(w.f.principal, ISSUER "|app|ann");
    call_bound(&w, &token, p.text.data);
    watch_refused(&w, 401, BAD_PROOF("the proof was used before"));
    call_bound(&w, &token, NULL);
    watch_refused(&w, 401, BAD_PROOF("one proof is needed"));
    watch_begin(&w, "DPoP", token.text.data, proof_write(&p, EC_PRIVATE),
                MODERN_T "DPoP: x\n", MODERN_CALL("1"));
    watch_refused(&w, 401, BAD_PROOF("one proof is needed"));
    call_bound(&w, &token, proof_write(&p, ED_PRIVATE));
    watch_refused(&w, 401, BAD_PROOF("the proof is of another key"));
    watch_begin(&w, "Bearer", token.text.data, NULL, MODERN_T, MODERN_CALL("1"));
    watch_refused(&w, 401,
                  BAD_TOKEN("the token is bound to a key and needs its proof"));
    watch_begin(&w, "Bearer", token.text.data, proof_write(&p, EC_PRIVATE), MODERN_T,
                MODERN_CALL("1"));
    watch_refused(&w, 401,
                  BAD_TOKEN("the token is bound to a key and needs its proof"));
    assert_int_equal(w.f.served, 1);
    mcpi_buf_done(&p.text);
    token_done(&token);
    watch_close(&w);
}

static void
a_proof_is_for_one_request(void **state)
{
    struct token token;
    struct proof p;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    token_make(&token, HEAD_EC, BOUND, EC_PRIVATE);
    proof_init(&p, &w, token.text.data);
    p.what.method = "GET";
    call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_refused(&w, 401, BAD_PROOF("the DPoP proof is for another method"));
    p.what.method = "POST";
    p.what.url = "https://mcp.test/other";
    call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_refused(&w, 401, BAD_PROOF("the DPoP proof is for another URL"));
    p.what.url = "http://localhost:8080/mcp"; /* where we are is not where clients go */
    call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_refused(&w, 401, BAD_PROOF("the DPoP proof is for another URL"));
    p.what.url = RESOURCE;
    p.what.token = "another";
    call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_refused(&w, 401, BAD_PROOF("the DPoP proof is for another token"));
    p.what.token = token.text.data;
    p.what.now = w.unix_time - MCPI_DPOP_AGE_MAX - 1;
    call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_refused(&w, 401, BAD_PROOF("the DPoP proof is not of now"));
    assert_int_equal(w.f.served, 0);
    mcpi_buf_done(&p.text);
    token_done(&token);
    watch_close(&w);
}

static void
a_token_that_is_not_bound_needs_no_proof_and_gets_none(void **state)
{
    struct token token;
    struct proof p;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    token_make(&token, HEAD_EC, ANN(""), EC_PRIVATE);
    proof_init(&p, &w, token.text.data);
    call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_refused(&w, 401, BAD_TOKEN("the token must be bound to a key"));
    watch_close(&w);
    watch_open(&w, WATCH_OPTIONS(.dpop_only = true));
    watch_begin(&w, "Bearer", token.text.data, NULL, MODERN_T, MODERN_CALL("1"));
    watch_refused(&w, 401, BAD_TOKEN("the token must be bound to a key"));
    watch_begin(&w, NULL, NULL, NULL, MODERN_T, MODERN_CALL("1"));
    watch_refused(&w, 401, ALGS SAYS_DOCUMENT);
    assert_int_equal(w.f.served, 0);
    mcpi_buf_done(&p.text);
    token_done(&token);
    watch_close(&w);
}

/* The nonce that the last answer said. */
static void
nonce_of(const struct watch *w, char into[MCPI_NONCE_SIZE])
{
    const char *at = strstr(w->v.said, "DPoP-Nonce: ");
    size_t len;

    assert_non_null(at);
    at += strlen("DPoP-Nonce: ");
    len = strcspn(at, "\n");
    assert_true(len < MCPI_NONCE_SIZE);
    memcpy(into, at, len);
    into[len] = '\0';
}

static void
a_proof_may_need_a_nonce_of_ours(void **state)
{
    char nonce[MCPI_NONCE_SIZE], next[MCPI_NONCE_SIZE];
    struct token token;
    struct proof p;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.dpop_nonce = true));
    token_make(&token, HEAD_EC, BOUND, EC_PRIVATE);
    proof_init(&p, &w, token.text.data);
    call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    nonce_of(&w, nonce);
    watch_refused(&w, 401,
                  ALGS
                  "error=\"use_dpop_nonce\", error_description=\"the proof needs a "
                  "nonce\", " SAYS_DOCUMENT);
    p.what.nonce = nonce;
    call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_gives(&w, 200);
    p.what.now = w.unix_time += MCPI_NONCE_WINDOW;
    call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    nonce_of(&w, next);
    watch_gives(&w, 200); /* the one before is good too, and the answer has the next */
    assert_string_not_equal(nonce, next);
    p.what.now = w.unix_time += MCPI_NONCE_WINDOW;
    call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_gives(&w, 401);
    p.what.nonce = next;
    call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
    watch_gives(&w, 200);
    call_bound(&w, &token, p.text.data);
    watch_refused(&w, 401, BAD_PROOF("the proof was used before"));
    mcpi_buf_done(&p.text);
    token_done(&token);
    watch_close(&w);
}

/* As many proofs as one may have. */
static void
fill_share(struct watch *w, const char *owner)
{
    char name[32];
    int r = 0;

    for (int i = 0; r == 0; i++) {
        (void)snprintf(name, sizeof(name), "%d", i);
        r = mcpi_replay_add(w->guard->replay, owner, name, w->unix_time,
                            w->unix_time + 600);
    }
    assert_int_equal(r, MCP_E_LIMIT);
}

static void
who_has_used_up_their_proofs_harms_nobody_else(void **state)
{
    struct token ann, bob;
    struct proof p;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    token_make(&ann, HEAD_EC, BOUND, EC_PRIVATE);
    token_make(&bob, HEAD_EC, CLAIMS_OF("bob", ",'cnf':{'jkt':'" THUMB "'}"),
               EC_PRIVATE);
    fill_share(&w, ISSUER "|app|ann");
    proof_init(&p, &w, ann.text.data);
    call_bound(&w, &ann, proof_write(&p, EC_PRIVATE));
    watch_gives(&w, 503);
    p.what.token = bob.text.data;
    call_bound(&w, &bob, proof_write(&p, EC_PRIVATE));
    watch_gives(&w, 200);
    mcpi_buf_done(&p.text);
    token_done(&ann);
    token_done(&bob);
    watch_close(&w);
}

static void
a_verifier_says_which_key_a_token_is_bound_to(void **state)
{
    struct verifier v = {.now = true};
    struct proof p;
    struct watch w;

    (void)state;
    v.identity = MCP_IDENTITY(.principal = "ann", .key = THUMB);
    watch_open(&w, VERIFYING(&v, .name = "x"));
    proof_init(&p, &w, "opaque");
    watch_begin(&w, "DPoP", "opaque", proof_write(&p, EC_PRIVATE), MODERN_T,
                MODERN_CALL("1"));
    watch_gives(&w, 200);
    opaque(&w, "Bearer");
    watch_gives(&w, 401);
    opaque(&w, "DPoP");
    watch_gives(&w, 401);
    mcpi_buf_done(&p.text);
    watch_close(&w);
}

/* ---- sessions ----------------------------------------------------------------- */

static void
post_as(struct watch *w, struct visit *v, const char *claims, const char *headers,
        const char *body)
{
    struct token token;

    token_make(&token, HEAD_EC, claims, EC_PRIVATE);
    (void)snprintf(w->headers, sizeof(w->headers), "%sAuthorization: Bearer %s\n",
                   headers, token.text.data);
    front_post(&w->f, v, w->headers, body);
    token_done(&token);
}

#define BOB CLAIMS_OF("bob", "")
#define ANN_REFRESHED CLAIMS_OF("ann", ",'jti':'refreshed','scope':'more'")

static void
D20_a_cancel_by_another_credential_cancels_nothing(void **state)
{
    char session[128], headers[512];
    struct visit held, v;
    const char *at;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.name = "x"));
    post_as(&w, &v, ANN(""), PLAIN, HELLO);
    at = strstr(v.said, "Mcp-Session-Id: ");
    assert_non_null(at);
    (void)snprintf(session, sizeof(session), "%.*s\n", (int)strcspn(at, "\n"), at);
    visit_done(&v);
    front_with(headers, sizeof(headers), PLAIN, session);
    post_as(&w, &held, ANN(""), headers, LEGACY_HOLD("1"));
    assert_int_equal(w.f.job_count, 1);
    post_as(&w, &v, BOB, headers, CANCEL("1")); /* who is as welcome as ann */
    assert_int_equal(v.status, 404);
    visit_done(&v);
    assert_int_equal(w.f.told, 0);
    post_as(&w, &v, BOB, PLAIN, HELLO);
    assert_int_equal(v.status, 200);
    visit_done(&v);
    post_as(&w, &v, ANN_REFRESHED, headers, CANCEL("1")); /* ann, with a new token */
    assert_int_equal(v.status, 202);
    visit_done(&v);
    assert_int_equal(w.f.canceled, 1);
    visit_done(&held);
    watch_close(&w);
}

/* ---- memory ------------------------------------------------------------------- */

static void
ask_once(struct test_mem *mem, void *user)
{
    struct watch w;

    if (watch_try(&w, mem, *(mcp_guard_options *)user) == 0) {
        watch_call(&w, HEAD_EC, ANN(",'scope':'mcp tools:t'"), EC_PRIVATE);
        if (fake_open_count(&w.fetcher) > 0)
            keys_come(&w, 200, SET_EC);
        assert_int_equal(w.v.replies + w.v.ends, 1);
        visit_done(&w.v);
    }
    watch_close(&w);
}

/* It is no fault of the proof. */
static void
ask_bound_once(struct test_mem *mem, void *user)
{
    struct token token;
    struct proof p;
    struct watch w;

    if (watch_try(&w, mem, *(mcp_guard_options *)user) == 0) {
        token_make(&token, HEAD_EC, BOUND, EC_PRIVATE);
        proof_init(&p, &w, token.text.data);
        call_bound(&w, &token, proof_write(&p, EC_PRIVATE));
        watch_gives(&w, atomic_load(&mem->failed) ? 503 : 200);
        mcpi_buf_done(&p.text);
        token_done(&token);
    }
    watch_close(&w);
}

static void
want_of_memory_costs_one_request(void **state)
{
    char seen[64];
    mcp_guard_options fixed = WATCH_OPTIONS(.needs = needs, .user = seen);
    mcp_guard_options fetching = FETCHING;

    (void)state;
    assert_true(test_each_allocation_fails(ask_once, &fixed) > 10);
    assert_true(test_each_allocation_fails(ask_once, &fetching) > 10);
    fixed.needs = NULL;
    assert_true(test_each_allocation_fails(ask_bound_once, &fixed) > 10);
}

TEST_MAIN(TEST(who_brings_nothing_is_told_where_to_get_it),
          TEST(what_is_malformed_is_no_credential), TEST(a_token_in_the_url_is_none),
          TEST(a_good_token_lets_in_and_says_who),
          TEST(tokens_of_all_kinds_of_keys_are_taken),
          TEST(a_token_is_refused_for_what_it_says), TEST(another_audience_may_be_ours),
          TEST(a_token_is_refused_for_how_it_is_signed),
          TEST(an_id_token_is_no_access_token),
          TEST(tokens_may_have_to_say_that_they_are_access_tokens),
          TEST(no_algorithm_is_talked_into), TEST(a_request_needs_its_scopes),
          TEST(a_broad_scope_has_the_narrow_ones),
          TEST(what_is_asked_for_is_told_by_its_body),
          TEST(a_long_body_is_read_once_the_token_is_good),
          TEST(what_is_no_scope_is_not_left_out_of_what_is_needed),
          TEST(get_and_delete_need_what_every_request_needs),
          TEST(a_request_waits_for_keys), TEST(an_unknown_key_is_looked_for_once),
          TEST(keys_may_change), TEST(what_cannot_be_true_is_not_worth_a_flight),
          TEST(a_long_body_that_waited_for_keys_is_read_too),
          TEST(without_keys_nobody_can_tell), TEST(old_keys_do_while_the_issuer_is_ill),
          TEST(nobody_waits_for_an_issuer_that_hangs_while_old_keys_do),
          TEST(keys_that_rested_for_long_are_not_believed_unseen),
          TEST(many_wait_for_one_flight_and_some_leave),
          TEST(who_waits_when_the_guard_goes_is_told_so),
          TEST(no_more_wait_than_there_is_room_for),
          TEST(a_token_that_waited_leaves_no_copy),
          TEST(a_verifier_accepts_at_once_or_later),
          TEST(a_verifier_is_asked_before_a_long_body_is_read),
          TEST(a_verifier_rejects_or_cannot_tell),
          TEST(an_identity_of_nobody_lets_nobody_in),
          TEST(a_verdict_may_come_late_from_anywhere),
          TEST(a_bound_token_comes_with_its_proof), TEST(a_proof_is_for_one_request),
          TEST(a_token_that_is_not_bound_needs_no_proof_and_gets_none),
          TEST(a_proof_may_need_a_nonce_of_ours),
          TEST(who_has_used_up_their_proofs_harms_nobody_else),
          TEST(a_verifier_says_which_key_a_token_is_bound_to),
          TEST(D20_a_cancel_by_another_credential_cancels_nothing),
          TEST(want_of_memory_costs_one_request))
