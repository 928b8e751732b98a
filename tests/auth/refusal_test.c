/* refusal_test.c - why a request is not let in, and how that is said */
#include "auth/refusal.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

#define METADATA "https://mcp.test/.well-known/oauth-protected-resource"
#define SAYS_METADATA "resource_metadata=\"" METADATA "\""
#define ALGS "DPoP algs=\"ES256 EdDSA RS256\", "

/* What was said; it stands where the ticket would. */
struct heard {
    int status, times;
    bool challenged;
    char challenge[MCPI_BEARER_CHALLENGE_MAX], message[256];
};

static void
say(mcp_http_ticket *ticket, int status, const char *challenge, const char *message)
{
    struct heard *heard = (struct heard *)(void *)ticket;

    heard->times++;
    heard->status = status;
    heard->challenged = challenge != NULL;
    (void)snprintf(heard->challenge, sizeof(heard->challenge), "%s",
                   challenge ? challenge : "");
    (void)snprintf(heard->message, sizeof(heard->message), "%s", message);
}

static struct mcpi_guard_settings settings = {.metadata = METADATA};

/* Of a request with that scheme, which needs that. */
static void
hear(struct heard *heard, const struct mcpi_refusal *refusal,
     enum mcpi_bearer_scheme scheme, const char *need)
{
    const struct mcpi_asked asked = {.bearer.scheme = scheme, .need = need};

    memset(heard, 0, sizeof(*heard));
    mcpi_refusal_say(refusal, &settings, &asked, (mcp_http_ticket *)(void *)heard, say);
    assert_int_equal(heard->times, 1);
    assert_int_equal(heard->status, refusal->status);
}

static void
each_is_said_in_its_own_words(void **state)
{
    static const struct {
        struct mcpi_refusal refusal;
        const char *message;
    } rows[] = {
        {{400, "invalid_request", "this is no token", false},
         "Bad request: this is no token"},
        {{401, NULL, NULL, false}, "Unauthorized: a token is needed"},
        {{403, "insufficient_scope", "more is needed", false},
         "Forbidden: more is needed"},
        {{500, NULL, "nobody knows", false}, "Internal error: nobody knows"},
        {{503, NULL, "not now", false}, "Internal error: not now"},
    };
    struct heard heard;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        hear(&heard, &rows[i].refusal, MCPI_BEARER_PLAIN, "");
        assert_string_equal(heard.message, rows[i].message);
    }
}

static void
a_challenge_says_what_would_have_been_right(void **state)
{
    const struct mcpi_refusal token = mcpi_refusal_token("it is \"old\"");
    const struct mcpi_refusal proof = mcpi_refusal_proof("it is old");
    struct heard heard;

    (void)state;
    hear(&heard, &token, MCPI_BEARER_PLAIN, "read write");
    assert_string_equal(heard.challenge,
                        "Bearer error=\"invalid_token\", error_description=\"it is "
                        "'old'\", scope=\"read write\", " SAYS_METADATA);
    hear(&heard, &mcpi_refusal_scope, MCPI_BEARER_PLAIN, "admin");
    assert_string_equal(heard.challenge,
                        "Bearer error=\"insufficient_scope\", error_description=\"the "
                        "token has not all "
                        "scopes that are needed\", scope=\"admin\", " SAYS_METADATA);
    hear(&heard, &proof, MCPI_BEARER_PLAIN, "");
    assert_string_equal(heard.challenge,
                        ALGS "error=\"invalid_dpop_proof\", error_description=\"it is "
                             "old\", " SAYS_METADATA);
}

static void
who_comes_with_a_bound_token_is_asked_for_one(void **state)
{
    const struct mcpi_refusal nobody = {.status = 401};
    struct heard heard;

    (void)state;
    hear(&heard, &nobody, MCPI_BEARER_NONE, "");
    assert_string_equal(heard.challenge, "Bearer " SAYS_METADATA);
    hear(&heard, &nobody, MCPI_BEARER_DPOP, "");
    assert_string_equal(heard.challenge, ALGS SAYS_METADATA);
    settings.opt.dpop_only = true;
    hear(&heard, &nobody, MCPI_BEARER_NONE, "");
    assert_string_equal(heard.challenge, ALGS SAYS_METADATA);
    settings.opt.dpop_only = false;
}

/* Nor is what it needs looked at, which may not be known. */
static void
what_is_our_fault_is_no_challenge(void **state)
{
    const struct mcpi_refusal fault = {.status = 500, .why = "it is broken"};
    struct heard heard;

    (void)state;
    hear(&heard, &fault, MCPI_BEARER_DPOP, NULL);
    assert_false(heard.challenged);
    hear(&heard, &mcpi_refusal_later, MCPI_BEARER_PLAIN, NULL);
    assert_false(heard.challenged);
    assert_string_equal(heard.message, "Internal error: tokens cannot be checked now");
}

/* A verifier may have much to say. */
static void
a_long_reason_is_cut(void **state)
{
    struct mcpi_refusal token;
    struct heard heard;
    char why[5000];

    (void)state;
    memset(why, 'x', sizeof(why));
    why[sizeof(why) - 1] = '\0';
    token = mcpi_refusal_token(why);
    hear(&heard, &token, MCPI_BEARER_PLAIN, "read");
    assert_true(strlen(heard.message) < 200);
    assert_string_equal(heard.challenge, "Bearer error=\"invalid_token\", "
                                         "scope=\"read\", " SAYS_METADATA);
}

TEST_MAIN(TEST(each_is_said_in_its_own_words),
          TEST(a_challenge_says_what_would_have_been_right),
          TEST(who_comes_with_a_bound_token_is_asked_for_one),
          TEST(what_is_our_fault_is_no_challenge), TEST(a_long_reason_is_cut))
