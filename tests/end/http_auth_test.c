/* end/http_auth_test.c - clients that sign in, servers with a guard, over real sockets */
#include "end/http_auth_rig.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <signal.h>
#include <sys/wait.h>

#define ERA (*(enum mcp_era *)*state)

/* ---- a user without a browser --------------------------------------------------------- */

static void
a_client_is_asked_signs_in_and_calls(void **state)
{
    struct issuer_counts counts;
    struct auth_rig rig;

    rig_open(&rig, ERA, NULL);
    rig_connect(&rig, HEADLESS(.scope = "read"));
    rig_calls(&rig, "say", "|a%20user>"); /* who that is, is in the token */
    rig_says(&rig);
    rig_says_often(&rig, 20);
    counts = issuer_counts(rig.issuer);
    assert_int_equal(counts.registered, 1);
    assert_int_equal(counts.codes, 1);
    assert_int_equal(counts.tokens, 1);
    assert_int_equal(counts.refused, 0);
    assert_string_equal(issuer_param(rig.issuer, "/authorize", 0, "resource"),
                        rig.resource);
    assert_string_equal(issuer_param(rig.issuer, "/token", 0, "resource"),
                        rig.resource);
    assert_string_equal(issuer_param(rig.issuer, "/authorize", 0, "scope"), "read");
    assert_string_equal(issuer_member(rig.issuer, "/register", 0, "client_name"),
                        "rig");
    assert_null(issuer_header(rig.issuer, "/token", 0, "MCP-Protocol-Version"));
    rig_close(&rig);
}

/* Without options a refusal is the answer. */
static void
without_authorization_a_refusal_is_told(void **state)
{
    struct auth_rig rig;
    mcp_error err = {0};

    rig_open(&rig, ERA, NULL);
    assert_int_equal(reached_try(&rig.f, NULL, REACHED_OPTIONS(), &rig.f.client, &err),
                     MCP_E_HTTP);
    assert_int_equal(err.http_status, 401);
    rig_is_refused(&rig, MCP_AUTH_OPTIONS(.scope = "x"), "nobody can");
    rig_close(&rig);
}

static void
what_one_client_got_the_next_one_has(void **state)
{
    mcp_token_keep *keep = NULL;
    struct auth_rig rig;

    rig_open(&rig, ERA, NULL);
    assert_int_equal(mcp_token_keep_memory(NULL, &keep), 0);
    for (int i = 0; i < 3; i++) {
        rig_connect(&rig, HEADLESS(.store = mcp_token_keep_interface(keep)));
        rig_says(&rig);
        rig_disconnect(&rig);
    }
    assert_int_equal(issuer_counts(rig.issuer).tokens, 1);
    rig_close(&rig);
    mcp_token_keep_free(keep);
}

/* ---- an agent of the program's ----------------------------------------------------------- */

static void
a_user_signs_in(void **state)
{
    struct user user = {0};
    mcp_auth_agent agent = user_agent(&user);
    struct auth_rig rig;

    rig_open(&rig, ERA, NULL);
    rig_connect(&rig, MCP_AUTH_OPTIONS(.agent = &agent));
    rig_says(&rig);
    rig_close(&rig);
    assert_int_equal(user.begun, 1);
    assert_int_equal(user.opened, 1);
    assert_int_equal(user.ended, 1);
}

static void
a_user_who_will_not_is_the_reason(void **state)
{
    struct user user = {.refuses = "not today"};
    mcp_auth_agent agent = user_agent(&user);
    struct auth_rig rig;

    rig_open(&rig, ERA, NULL);
    rig_is_refused(&rig, MCP_AUTH_OPTIONS(.agent = &agent), "not today");
    assert_int_equal(user.ended, 1);
    user.refuses = NULL; /* the next time they do */
    rig_connect(&rig, MCP_AUTH_OPTIONS(.agent = &agent));
    rig_says(&rig);
    rig_close(&rig);
    assert_int_equal(user.ended, user.begun);
}

/* ---- a browser -------------------------------------------------------------------------- */

/* This program is one, too: it goes where it is sent, and there once more. */
static void
be_a_browser(int argc, char **argv)
{
    char back[4096], nowhere[4096];

    if (argc != 3 || strcmp(argv[1], "--browse") != 0)
        return;
    browse(argv[2], back, sizeof(back));
    browse(back, nowhere, sizeof(nowhere));
    _exit(0);
}

static void
on_url(void *user, const char *url)
{
    (void)snprintf(user, 256, "%.200s", url);
}

static void
a_browser_is_opened(void **state)
{
    char self[4096] = "", shown[256] = "";
    const char *const command[] = {self, "--browse", NULL};
    mcp_auth_browser *browser = NULL;
    struct auth_rig rig;
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

    assert_true(len > 0);
    assert_int_equal(
        mcp_auth_browser_new(&MCP_AUTH_BROWSER_OPTIONS(.command = command,
                                                       .on_url = on_url, .user = shown),
                             &browser, NULL),
        0);
    rig_open(&rig, ERA, NULL);
    rig_connect(&rig, MCP_AUTH_OPTIONS(.agent = mcp_auth_browser_interface(browser)));
    rig_says(&rig);
    assert_int_equal(
        strncmp(shown, issuer_origin(rig.issuer), strlen(issuer_origin(rig.issuer))),
        0);
    rig_close(&rig);
    mcp_auth_browser_free(browser);
}

/* ---- tokens that end ---------------------------------------------------------------------- */

/* The issuer says that they live for a second. */
static void
a_token_that_ends_is_renewed(void **state)
{
    struct auth_rig rig;
    int64_t end = raw_now_ms() + AWAIT_MS;

    rig_open(&rig, ERA, &ISSUER_OPTIONS(.told = 1));
    rig_connect(&rig, HEADLESS(.scope = "read"));
    while (issuer_counts(rig.issuer).refreshed < 2) {
        rig_says(&rig);
        assert_true(raw_now_ms() < end);
    }
    assert_int_equal(issuer_counts(rig.issuer).codes, 1);
    assert_int_equal(issuer_counts(rig.issuer).reused, 0);
    rig_close(&rig);
}

static void
many_that_meet_an_ended_token_cause_one_refresh(void **state)
{
    struct auth_rig rig;

    rig_open_with(&rig, ERA, NULL,
                  MCP_GUARD_OPTIONS(.verify = rig_verify, .verify_user = &rig));
    rig_connect(&rig, HEADLESS(.scope = "read"));
    for (unsigned i = 1; i <= 3; i++) {
        rig_says(&rig);
        rig_revoke(&rig);
        rig_says_often(&rig, 40);
        assert_int_equal(issuer_counts(rig.issuer).refreshed, i);
    }
    assert_int_equal(issuer_counts(rig.issuer).codes, 1);
    rig_close(&rig);
}

static void
many_that_meet_a_dead_refresh_token_cause_one_sign_in(void **state)
{
    struct auth_rig rig;

    rig_open_with(&rig, ERA, NULL,
                  MCP_GUARD_OPTIONS(.verify = rig_verify, .verify_user = &rig));
    rig_connect(&rig, HEADLESS(.scope = "read"));
    rig_says(&rig);
    rig_revoke(&rig);
    issuer_revoke(rig.issuer);
    rig_says_often(&rig, 40);
    assert_int_equal(issuer_counts(rig.issuer).refreshed, 0);
    assert_int_equal(issuer_counts(rig.issuer).codes, 2);
    assert_int_equal(issuer_counts(rig.issuer).registered, 1);
    rig_close(&rig);
}

/* What a server said of itself is known: the first calls go out at once, all of them. */
static void
many_first_calls_cause_one_sign_in(void **state)
{
    struct auth_rig rig;
    char *known;

    (void)state;
    rig_open(&rig, MCP_ERA_MODERN, NULL);
    rig_connect(&rig, HEADLESS(.scope = "read"));
    known = strdup(mcp_client_discovery(rig.f.client));
    rig_disconnect(&rig);
    assert_int_equal(rig_try(&rig, HEADLESS(.scope = "read"),
                             MCP_CLIENT_OPTIONS(.discovery = known), &rig.f.client,
                             NULL),
                     0);
    assert_int_equal(issuer_counts(rig.issuer).codes, 1);
    rig_says_often(&rig, 40);
    assert_int_equal(issuer_counts(rig.issuer).codes, 2);
    rig_close(&rig);
    free(known);
}

/* ---- more than was given --------------------------------------------------------------------- */

static void
a_tool_that_needs_more_gets_it(void **state)
{
    struct auth_rig rig;

    rig_open(&rig, ERA, NULL);
    rig_connect(&rig, HEADLESS(.scope = "read"));
    rig_says(&rig);
    rig_calls(&rig, "steps", "done");
    assert_int_equal(issuer_counts(rig.issuer).codes, 2);
    assert_string_equal(issuer_param(rig.issuer, "/authorize", 1, "scope"),
                        "read steps");
    rig_calls(&rig, "steps", "done");
    rig_says(&rig);
    assert_int_equal(issuer_counts(rig.issuer).codes, 2);
    rig_close(&rig);
}

/* The issuer gives less, whatever it is asked for. */
static void
more_that_nobody_gives_is_refused(void **state)
{
    struct auth_rig rig;
    mcp_error err = {0};
    unsigned codes;

    rig_open(&rig, ERA, &ISSUER_OPTIONS(.granted = "read"));
    rig_connect(&rig, HEADLESS(.scope = "read"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            mcp_client_call_tool(rig.f.client, "steps", NULL, NULL, NULL, &err),
            MCP_E_AUTH);
        assert_int_equal(err.http_status, 403);
        assert_non_null(strstr(err.message, "wants more"));
        codes = issuer_counts(rig.issuer).codes;
        assert_int_equal(codes, 2); /* one more was tried, once */
        rig_says(&rig);
    }
    rig_close(&rig);
}

/* ---- programs, and others who are vouched for --------------------------------------------------- */

static char *
pem_make(void)
{
    EVP_PKEY *pair = EVP_PKEY_Q_keygen(NULL, NULL, "EC", "P-256");
    BIO *bio = BIO_new(BIO_s_mem());
    char *text, *copy;
    long len;

    assert_int_equal(
        PEM_write_bio_PKCS8PrivateKey(bio, pair, NULL, NULL, 0, NULL, NULL), 1);
    len = BIO_get_mem_data(bio, &text);
    copy = strndup(text, (size_t)len);
    BIO_free(bio);
    EVP_PKEY_free(pair);
    return copy;
}

static void __attribute__((constructor)) pem_warm(void)
{
    free(pem_make());
}

static void
a_program_has_a_secret(void **state)
{
    static const char *const methods[] = {"client_secret_basic", "client_secret_post"};
    struct auth_rig rig;

    for (int i = 0; i < 2; i++) {
        rig_open(&rig, ERA,
                 &ISSUER_OPTIONS(.client_id = "we", .client_secret = HUSH,
                                 .auth_methods = methods[i]));
        rig_connect(&rig, MCP_AUTH_OPTIONS(.grant = MCP_GRANT_CLIENT, .client_id = "we",
                                           .client_secret = HUSH));
        rig_says(&rig);
        assert_int_equal(issuer_counts(rig.issuer).tokens, 1);
        assert_int_equal(issuer_count(rig.issuer, "/authorize"), 0);
        rig_disconnect(&rig);
        rig_is_refused(&rig,
                       MCP_AUTH_OPTIONS(.grant = MCP_GRANT_CLIENT, .client_id = "we",
                                        .client_secret = HUSH "-wrong"),
                       "invalid_client");
        rig_close(&rig);
    }
}

static void
a_program_has_a_key(void **state)
{
    char *pem = pem_make();
    struct auth_rig rig;

    rig_open(&rig, ERA, &ISSUER_OPTIONS(.client_id = "we", .client_key = pem));
    rig_connect(&rig, MCP_AUTH_OPTIONS(.grant = MCP_GRANT_CLIENT, .client_id = "we",
                                       .private_key = pem));
    rig_says(&rig);
    assert_null(issuer_param(rig.issuer, "/token", 0, "client_secret"));
    rig_close(&rig);
    free(pem);
}

struct voucher {
    struct issuer *by;
    const char *audience; /* NULL: as asked */
    const char *type;
    int asked;
};

static int
vouch(void *user, const char *audience, char **ret_assertion, mcp_error *err)
{
    struct voucher *voucher = user;
    char claims[1024];

    (void)err;
    voucher->asked++;
    (void)snprintf(claims, sizeof(claims),
                   "{\"iss\":\"%s\",\"sub\":\"ann\",\"aud\":\"%s\",\"jti\":\"%d\","
                   "\"exp\":99999999999}",
                   issuer_url(voucher->by),
                   voucher->audience ? voucher->audience : audience, voucher->asked);
    *ret_assertion = issuer_sign(voucher->by, voucher->type, claims);
    return 0;
}

static void
an_employee_is_vouched_for_by_the_company(void **state)
{
    struct issuer *company = issuer_open(
        &ISSUER_OPTIONS(.client_id = "here", .client_secret = HUSH));
    struct voucher voucher = {.by = company, .audience = "here"};
    struct auth_rig rig;
    char url[256];

    (void)snprintf(url, sizeof(url), "%s/token", issuer_url(company));
    rig_open(
        &rig, ERA,
        &ISSUER_OPTIONS(.client_id = "we", .client_secret = HUSH, .trusts = company));
    rig_connect(&rig,
                MCP_AUTH_OPTIONS(.grant = MCP_GRANT_ENTERPRISE, .client_id = "we",
                                 .client_secret = HUSH, .idp_token_endpoint = url,
                                 .idp_client_id = "here", .idp_client_secret = HUSH,
                                 .assertion = vouch, .assertion_user = &voucher));
    rig_says(&rig);
    assert_int_equal(voucher.asked, 1);
    assert_string_equal(issuer_param(company, "/token", 0, "audience"),
                        issuer_url(rig.issuer));
    assert_string_equal(issuer_param(company, "/token", 0, "resource"), rig.resource);
    assert_int_equal(issuer_counts(rig.issuer).tokens, 1);
    rig_close(&rig);
    issuer_close(company);
}

static void
a_workload_is_vouched_for_by_its_platform(void **state)
{
    struct issuer *platform = issuer_open(NULL);
    struct voucher voucher = {.by = platform};
    struct auth_rig rig;

    rig_open(
        &rig, ERA,
        &ISSUER_OPTIONS(.client_id = "we", .client_secret = HUSH, .trusts = platform));
    rig_connect(&rig, MCP_AUTH_OPTIONS(.grant = MCP_GRANT_ASSERTION, .client_id = "we",
                                       .client_secret = HUSH, .assertion = vouch,
                                       .assertion_user = &voucher));
    rig_says(&rig);
    assert_int_equal(voucher.asked, 1);
    rig_close(&rig);
    issuer_close(platform);
}

/* ---- DPoP ------------------------------------------------------------------------------------ */

static void
tokens_are_bound_to_a_key(void **state)
{
    struct auth_rig rig;

    rig_open_with(&rig, ERA, &ISSUER_OPTIONS(.dpop_only = true),
                  MCP_GUARD_OPTIONS(.dpop_only = true));
    rig.f.mem.secret = "refresh.";                /* proofs are no secrets */
    rig_connect(&rig, HEADLESS(.scope = "read")); /* the server says that it wants it */
    rig_says_often(&rig, 20);
    assert_non_null(issuer_header(rig.issuer, "/token", 0, "DPoP"));
    assert_int_equal(issuer_counts(rig.issuer).codes, 1);
    rig_close(&rig);
}

/* Nonces of both, which change; and many requests that lack the new one at once. */
static void
tokens_are_bound_to_a_key_and_proofs_to_a_nonce(void **state)
{
    struct auth_rig rig;

    rig_open_with(&rig, ERA, &ISSUER_OPTIONS(.dpop_nonce = true, .told = 1),
                  MCP_GUARD_OPTIONS(.dpop_only = true, .dpop_nonce = true));
    rig.f.mem.secret = "refresh.";
    rig_connect(&rig, HEADLESS(.dpop = true));
    rig_says_often(&rig, 20);
    issuer_turn_nonce(rig.issuer);
    RAW_UNTIL((rig_says(&rig), issuer_counts(rig.issuer).refreshed > 0));
    assert_int_equal(issuer_counts(rig.issuer).codes, 1);
    rig_close(&rig);
}

static void
many_first_calls_without_a_nonce_cause_one_sign_in(void **state)
{
    struct auth_rig rig;
    char *known;

    (void)state;
    rig_open_with(&rig, MCP_ERA_MODERN, NULL,
                  MCP_GUARD_OPTIONS(.dpop_only = true, .dpop_nonce = true));
    rig.f.mem.secret = "refresh.";
    rig_connect(&rig, HEADLESS(.dpop = true));
    known = strdup(mcp_client_discovery(rig.f.client));
    rig_disconnect(&rig);
    assert_int_equal(rig_try(&rig, HEADLESS(.dpop = true),
                             MCP_CLIENT_OPTIONS(.discovery = known), &rig.f.client,
                             NULL),
                     0);
    rig_says_often(&rig, 40);
    assert_int_equal(issuer_counts(rig.issuer).codes, 2);
    assert_int_equal(issuer_counts(rig.issuer).tokens, 2);
    rig_close(&rig);
    free(known);
}

/* ---- sessions belong to a credential ------------------------------------------------------------ */

/* B has a good token, and knows the session of A. */
static void
D20_a_cancel_with_another_token_cancels_nothing(void **state)
{
    char *other, fields[4096], body[256];
    struct auth_rig rig;
    struct http_raw h;
    mcp_call *call;

    (void)state;
    rig_open(&rig, MCP_ERA_LEGACY, NULL);
    rig_connect(&rig, HEADLESS(.scope = "read"));
    call = reached_hangs(&rig.f, rig.f.client,
                         &MCP_CALL_OPTIONS(.id = MCP_NUMBER_ID(77)));
    other = issuer_token(rig.issuer, rig.resource, NULL, NULL); /* of another client */
    (void)snprintf(fields, sizeof(fields), "Authorization: Bearer %s\r\n", other);
    (void)snprintf(body, sizeof(body),
                   "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\","
                   "\"params\":{\"requestId\":77}}");
    http_open(&h, rig.port, NULL);
    http_post(&h, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = rig.session,
                             .fields = fields, .body = body));
    assert_int_equal(http_answer(&h), 404);
    http_post(&h, &HTTP_POST(.era = MCP_ERA_LEGACY, .session = rig.session,
                             .fields = "", .body = body));
    assert_int_equal(http_answer(&h), 401);
    http_close(&h);
    assert_int_equal(mcp_call_wait(call, 0, NULL, NULL), MCP_E_AGAIN);
    assert_int_equal(atomic_load(&rig.f.gate.left), 0);
    rig_says(&rig);
    assert_int_equal(mcp_call_cancel(call, NULL), 0); /* its own does */
    RAW_UNTIL(atomic_load(&rig.f.gate.left) == 1);
    mcp_call_free(call);
    free(other);
    rig_close(&rig);
}

/* The cancel of a call that runs is signed as any message; also with a token that was made
 * after the call. */
static void
B1_a_cancel_goes_out_under_a_renewed_token(void **state)
{
    struct auth_rig rig;
    mcp_call *call;

    rig_open_with(&rig, ERA, NULL,
                  MCP_GUARD_OPTIONS(.verify = rig_verify, .verify_user = &rig));
    rig_connect(&rig, HEADLESS(.scope = "read"));
    call = reached_hangs(&rig.f, rig.f.client, NULL);
    rig_revoke(&rig);
    rig_says(&rig);
    assert_int_equal(issuer_counts(rig.issuer).refreshed, 1);
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    RAW_UNTIL(atomic_load(&rig.f.gate.left) == 1);
    mcp_call_free(call);
    rig_close(&rig);
}

/* And when it is refused itself, once it may go. */
static void
B1_a_cancel_that_is_refused_goes_out_again(void **state)
{
    struct auth_rig rig;
    mcp_call *call;

    rig_open_with(&rig, ERA, NULL,
                  MCP_GUARD_OPTIONS(.verify = rig_verify, .verify_user = &rig));
    rig_connect(&rig, HEADLESS(.scope = "read"));
    call = reached_hangs(&rig.f, rig.f.client, NULL);
    rig_revoke(&rig);
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    RAW_UNTIL(atomic_load(&rig.f.gate.left) == 1);
    mcp_call_free(call);
    rig_says(&rig);
    rig_close(&rig);
}

/* ---- without memory ------------------------------------------------------------------------- */

static void
sign_in_once(struct test_mem *mem, void *user)
{
    const mcp_auth_options auth = HEADLESS(.scope = "read");
    struct auth_rig *rig = user;
    mcp_client *client = NULL;
    mcp_error err = {0};
    int r;

    mem->secret = rig->token;
    r = mcp_client_connect_http(rig->resource, &MCP_HTTP_CLIENT_OPTIONS(.auth = &auth),
                                &REACHED_OPTIONS(.allocator = &mem->allocator), &client,
                                &err);
    if (r == 0)
        r = mcp_client_call_tool(client, "say", NULL, NULL, NULL, &err);
    if (r < 0 && atomic_load(&mem->failed) == 0)
        fail_msg("%s", err.message);
    mcp_client_free(client);
}

static void
each_allocation_of_the_client_may_fail(void **state)
{
    struct auth_rig rig;

    rig_open(&rig, ERA, NULL);
    assert_true(test_each_allocation_fails(sign_in_once, &rig) > 100);
    rig_close(&rig);
}

TEST_MAIN_AFTER(be_a_browser, IN_BOTH_ERAS(a_client_is_asked_signs_in_and_calls),
                IN_BOTH_ERAS(without_authorization_a_refusal_is_told),
                IN_BOTH_ERAS(what_one_client_got_the_next_one_has),
                IN_BOTH_ERAS(a_user_signs_in),
                IN_BOTH_ERAS(a_user_who_will_not_is_the_reason),
                IN_BOTH_ERAS(a_browser_is_opened),
                IN_BOTH_ERAS(a_token_that_ends_is_renewed),
                IN_BOTH_ERAS(many_that_meet_an_ended_token_cause_one_refresh),
                IN_BOTH_ERAS(many_that_meet_a_dead_refresh_token_cause_one_sign_in),
                TEST(many_first_calls_cause_one_sign_in),
                IN_BOTH_ERAS(a_tool_that_needs_more_gets_it),
                IN_BOTH_ERAS(more_that_nobody_gives_is_refused),
                IN_BOTH_ERAS(a_program_has_a_secret), IN_BOTH_ERAS(a_program_has_a_key),
                IN_BOTH_ERAS(an_employee_is_vouched_for_by_the_company),
                IN_BOTH_ERAS(a_workload_is_vouched_for_by_its_platform),
                IN_BOTH_ERAS(tokens_are_bound_to_a_key),
                IN_BOTH_ERAS(tokens_are_bound_to_a_key_and_proofs_to_a_nonce),
                TEST(many_first_calls_without_a_nonce_cause_one_sign_in),
                TEST(D20_a_cancel_with_another_token_cancels_nothing),
                IN_BOTH_ERAS(B1_a_cancel_goes_out_under_a_renewed_token),
                IN_BOTH_ERAS(B1_a_cancel_that_is_refused_goes_out_again),
                IN_BOTH_ERAS(each_allocation_of_the_client_may_fail))
