/* doctor_web_test.c - proves cli/doctor_web.c: good and careless servers */
#include <string.h>

#include "cli/canned.h"
#include "cli/doctor.h"
#include "cli/program.h"
#include "support/curl_warm.h"
#include "support/tls_pair.h"

#define OK(body_) "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n" body_
#define RESULT(members_) "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{" members_ "}}"

struct rig {
    struct cli cli;
    struct cli_doctor doctor;
    struct cli_finding findings[16];
};

static void
rig_open(struct rig *rig, const char *url)
{
    memset(rig, 0, sizeof(*rig));
    rig->doctor.cli = &rig->cli;
    rig->doctor.target.kind = CLI_TARGET_URL;
    rig->doctor.timeout_ms = AWAIT_MS;
    assert_true(cli_url_read(url, &rig->doctor.url));
}

static void
rig_done(struct rig *rig)
{
    cli_web_checks_done(&rig->doctor);
    for (int i = 0; i < 16; i++)
        cli_finding_done(&rig->findings[i]);
}

static const struct cli_finding *
examine(struct rig *rig, const char *id)
{
    for (int i = 0; cli_web_checks[i].title; i++) {
        if (strcmp(cli_web_checks[i].id, id) != 0)
            continue;
        assert_true(cli_web_checks[i].applies(&rig->doctor));
        cli_web_checks[i].run(&rig->doctor, &rig->findings[i]);
        return &rig->findings[i];
    }
    fail();
    return NULL;
}

static void
assert_passes_all(const char *url, const char *ca)
{
    struct rig rig;

    rig_open(&rig, url);
    rig.cli.options.ca = ca;
    for (int i = 0; cli_web_checks[i].title; i++) {
        assert_true(cli_web_checks[i].applies(&rig.doctor));
        cli_web_checks[i].run(&rig.doctor, &rig.findings[i]);
        if (strcmp(cli_web_checks[i].id, "http.authorization") == 0)
            assert_int_equal(rig.findings[i].verdict, CLI_SKIP);
        else
            assert_int_equal(rig.findings[i].verdict, CLI_PASS);
    }
    assert_true(rig.doctor.is_modern && rig.doctor.is_legacy);
    rig_done(&rig);
}

static void
a_good_server_passes_all(void **state)
{
    (void)state;
    assert_passes_all(probe_http(), NULL);
    probe_stop();
}

static void
tls_makes_no_difference(void **state)
{
    struct tls_pair pair;

    (void)state;
    tls_pair_make(&pair);
    assert_passes_all(probe_https(pair.certificate, pair.key), pair.certificate);
    probe_stop();
    tls_pair_remove(&pair);
}

static void
a_server_that_accepts_everything_is_warned_of(void **state)
{
    struct canned canned = {.answers = {OK(RESULT("")), OK(RESULT("")), OK(RESULT("")),
                                        OK(RESULT("")), OK(RESULT("")),
                                        OK(RESULT(""))}};
    struct rig rig;

    (void)state;
    canned_open(&canned);
    rig_open(&rig, canned.url);
    rig.doctor.is_reachable = rig.doctor.is_modern = true;
    assert_int_equal(examine(&rig, "http.type")->verdict, CLI_WARN);
    assert_int_equal(examine(&rig, "http.host")->verdict, CLI_WARN);
    assert_int_equal(examine(&rig, "http.origin")->verdict, CLI_FAIL);
    assert_int_equal(examine(&rig, "http.version")->verdict, CLI_FAIL);
    assert_int_equal(examine(&rig, "http.mirrors")->verdict, CLI_FAIL);
    assert_int_equal(examine(&rig, "http.get")->verdict, CLI_WARN);
    canned_close(&canned);
    assert_non_null(strstr(canned.requests[1], "Host: attacker.example\r\n"));
    assert_non_null(strstr(canned.requests[2], "Origin: http://attacker.example\r\n"));
    assert_non_null(strstr(canned.requests[4], "Mcp-Method: tools/list\r\n"));
    rig_done(&rig);
}

/* A server for everybody may mean it; one of this machine is what pages are after. */
static void
a_foreign_origin_is_a_fault_of_local_servers(void **state)
{
    struct canned canned = {.answers = {OK(RESULT("")), OK(RESULT(""))}};
    struct rig rig;

    (void)state;
    canned_open(&canned);
    rig_open(&rig, canned.url);
    rig.doctor.is_reachable = rig.doctor.is_modern = true;
    assert_int_equal(examine(&rig, "http.origin")->verdict, CLI_FAIL);
    (void)strcpy(rig.doctor.url.host, "mcp.example");
    assert_int_equal(examine(&rig, "http.origin")->verdict, CLI_WARN);
    canned_close(&canned);
    rig_done(&rig);
}

static void
a_session_that_outlives_its_delete_is_a_fault(void **state)
{
    struct canned canned = {
        .answers = {"HTTP/1.1 204 No Content\r\n\r\n", OK(RESULT(""))}};
    struct rig rig;

    (void)state;
    canned_open(&canned);
    rig_open(&rig, canned.url);
    rig.doctor.is_reachable = rig.doctor.is_legacy = true;
    (void)strcpy(rig.doctor.session_id, "s1");
    assert_int_equal(examine(&rig, "http.delete")->verdict, CLI_FAIL);
    canned_close(&canned);
    assert_non_null(strstr(canned.requests[0], "DELETE /mcp HTTP/1.1\r\n"));
    assert_non_null(strstr(canned.requests[1], "Mcp-Session-Id: s1\r\n"));
    rig_done(&rig);
}

static void
a_server_that_wants_to_know_who_asks_is_not_faulted(void **state)
{
    struct canned canned = {
        .answers = {"HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer x=\"y\"\r\n\r\n",
                    "HTTP/1.1 401 No\r\n\r\n", "HTTP/1.1 401 No\r\n\r\n"}};
    struct rig rig;

    (void)state;
    canned_open(&canned);
    rig_open(&rig, canned.url);
    assert_int_equal(examine(&rig, "http.reachable")->verdict, CLI_PASS);
    assert_true(rig.doctor.wants_authorization);
    assert_string_equal(rig.doctor.challenge, "Bearer x=\"y\"");
    assert_int_equal(examine(&rig, "http.eras")->verdict, CLI_SKIP);
    assert_int_equal(examine(&rig, "http.host")->verdict, CLI_SKIP);
    canned_close(&canned);
    rig_done(&rig);
}

static void
the_transport_of_2024_is_known_and_doubted(void **state)
{
    struct canned canned = {
        .answers = {"HTTP/1.1 405 No\r\n\r\n", "HTTP/1.1 405 No\r\n\r\n",
                    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
                    "event: endpoint\ndata: /message\n\n"}};
    struct rig rig;

    (void)state;
    canned_open(&canned);
    rig_open(&rig, canned.url);
    rig.doctor.is_reachable = true;
    assert_int_equal(examine(&rig, "http.eras")->verdict, CLI_WARN);
    canned_close(&canned);
    assert_non_null(strstr(canned.requests[2], "GET /mcp HTTP/1.1\r\n"));
    rig_done(&rig);
}

static void
nobody_is_not_examined_further(void **state)
{
    struct canned canned = {.answers = {NULL}};
    struct rig rig;

    (void)state;
    canned_open(&canned);
    canned_close(&canned);
    rig_open(&rig, canned.url);
    assert_int_equal(examine(&rig, "http.reachable")->verdict, CLI_FAIL);
    assert_false(cli_web_checks[1].applies(&rig.doctor));
    rig_done(&rig);
}

static void
a_session_is_ended_also_after_ctrl_c(void **state)
{
    struct canned canned = {.answers = {"HTTP/1.1 204 No Content\r\n\r\n"}};
    struct rig rig;

    (void)state;
    canned_open(&canned);
    rig_open(&rig, canned.url);
    (void)strcpy(rig.doctor.session_id, "s1");
    assert_int_equal(mcp_scope_new(NULL, &rig.cli.scope), 0);
    (void)mcp_scope_cancel(rig.cli.scope, "Ctrl-C");
    rig_done(&rig);
    canned_close(&canned);
    assert_non_null(strstr(canned.requests[0], "DELETE /mcp HTTP/1.1\r\n"));
    mcp_scope_free(rig.cli.scope);
}

TEST_MAIN(TEST(a_session_is_ended_also_after_ctrl_c), TEST(a_good_server_passes_all),
          TEST(tls_makes_no_difference),
          TEST(a_server_that_accepts_everything_is_warned_of),
          TEST(a_foreign_origin_is_a_fault_of_local_servers),
          TEST(a_session_that_outlives_its_delete_is_a_fault),
          TEST(a_server_that_wants_to_know_who_asks_is_not_faulted),
          TEST(the_transport_of_2024_is_known_and_doubted),
          TEST(nobody_is_not_examined_further))
