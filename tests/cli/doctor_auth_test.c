/* doctor_auth_test.c - proves cli/doctor_auth.c: challenges, and the way behind them */
#include <string.h>

#include "cli/canned.h"
#include "cli/doctor.h"
#include "support/curl_warm.h"

#define JSON "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n"

static void
the_metadata_is_found_in_a_challenge(void **state)
{
    char url[32];

    (void)state;
    assert_true(cli_challenge_metadata(
        "Bearer realm=\"x\", Resource_Metadata = \"http://a/b\", scope=\"s\"", url,
        sizeof(url)));
    assert_string_equal(url, "http://a/b");
    assert_true(cli_challenge_metadata("Bearer resource_metadata=http://c, x=y", url,
                                       sizeof(url)));
    assert_string_equal(url, "http://c");
    assert_false(cli_challenge_metadata("Bearer realm=\"x\"", url, sizeof(url)));
    assert_false(
        cli_challenge_metadata("Bearer resource_metadata=\"\"", url, sizeof(url)));
    assert_false(cli_challenge_metadata(
        "resource_metadata=\"http://much-too-long-for-the-room/\"", url, sizeof(url)));
}

/* Walks to a document with this body; %s in it is the URL of the server. */
static void
walk(const char *head, const char *resource, const char *rest, enum cli_verdict verdict,
     const char *seen)
{
    struct canned canned = {.answers = {"x"}};
    struct cli cli = {0};
    struct cli_doctor doctor = {
        .cli = &cli, .timeout_ms = 60000, .wants_authorization = true};
    struct cli_finding finding = {0};
    char answer[512];

    canned.answers[0] = answer;
    canned_open(&canned); /* nobody asks it before its answer is written */
    (void)snprintf(answer, sizeof(answer), "%s{\"resource\":\"%s\"%s}", head,
                   resource ? resource : canned.url, rest);
    assert_true(cli_url_read(canned.url, &doctor.url));
    (void)snprintf(doctor.challenge, sizeof(doctor.challenge),
                   "Bearer resource_metadata=\"%s/x\"", canned.url);
    cli_check_authorization(&doctor, &finding);
    canned_close(&canned);
    assert_int_equal(finding.verdict, verdict);
    assert_non_null(strstr(cli_text_string(&finding.seen), seen));
    assert_non_null(strstr(canned.requests[0], "GET /mcp/x HTTP/1.1\r\n"));
    cli_finding_done(&finding);
}

static void
the_document_names_this_resource_and_who_gives_tokens(void **state)
{
    (void)state;
    walk(JSON, NULL, ",\"authorization_servers\":[\"http://as\"]", CLI_PASS,
         "http://as");
    walk(JSON, "http://other/mcp", ",\"authorization_servers\":[\"http://as\"]",
         CLI_FAIL, "another resource");
    walk(JSON, NULL, "", CLI_FAIL, "no authorization server");
    walk("HTTP/1.1 404 No\r\n\r\n", NULL, "", CLI_FAIL, "status 404");
    walk(JSON "no JSON", NULL, "", CLI_FAIL, "cannot be read");
}

static void
without_a_hint_the_usual_place_is_looked_at(void **state)
{
    struct canned canned = {.answers = {"HTTP/1.1 404 No\r\n\r\n"}};
    struct cli cli = {0};
    struct cli_doctor doctor = {
        .cli = &cli, .timeout_ms = 60000, .wants_authorization = true};
    struct cli_finding finding = {0};

    (void)state;
    canned_open(&canned);
    assert_true(cli_url_read(canned.url, &doctor.url));
    cli_check_authorization(&doctor, &finding);
    canned_close(&canned);
    assert_int_equal(finding.verdict, CLI_WARN);
    assert_non_null(strstr(canned.requests[0],
                           "GET /.well-known/oauth-protected-resource/mcp HTTP/1.1"));
    cli_finding_done(&finding);
}

static void
what_cannot_be_walked_is_said(void **state)
{
    struct cli cli = {0};
    struct cli_doctor doctor = {.cli = &cli};
    struct cli_finding finding = {0};

    (void)state;
    cli_check_authorization(&doctor, &finding);
    assert_int_equal(finding.verdict, CLI_SKIP);
    doctor.wants_authorization = true;
    (void)strcpy(doctor.challenge, "Bearer resource_metadata=\"ftp://a/\"");
    cli_check_authorization(&doctor, &finding);
    assert_int_equal(finding.verdict, CLI_FAIL);
    cli_finding_done(&finding);
}

TEST_MAIN(TEST(the_metadata_is_found_in_a_challenge),
          TEST(the_document_names_this_resource_and_who_gives_tokens),
          TEST(without_a_hint_the_usual_place_is_looked_at),
          TEST(what_cannot_be_walked_is_said))
