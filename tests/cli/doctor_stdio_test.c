/* doctor_stdio_test.c - proves cli/doctor_stdio.c: a good program, and bad ones */
#include <signal.h>
#include <string.h>

#include "cli/doctor.h"
#include "cli/program.h"

#define HELLO                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocolVersion\":"       \
    "\"2025-11-25\",\"capabilities\":{},\"serverInfo\":{\"name\":\"bad\"," \
    "\"version\":\"1\"}}}"
#define NO_METHOD(id_)                 \
    "{\"jsonrpc\":\"2.0\",\"id\":" id_ \
    ",\"error\":{\"code\":-32601,\"message\":\"no\"}}"

struct rig {
    struct cli cli;
    struct cli_doctor doctor;
    char words[3][2048];
    char *argv[4];
    struct cli_finding findings[16];
};

/* Runs all of the checks for a script of sh(1); or for the probe server, if NULL. */
static void
examine(struct rig *rig, const char *script, int64_t exit_ms)
{
    (void)signal(SIGPIPE, SIG_IGN);
    memset(rig, 0, sizeof(*rig));
    (void)strcpy(rig->words[0], script ? "/bin/sh" : PROBE);
    (void)strcpy(rig->words[1], "-c");
    if (script)
        (void)strncpy(rig->words[2], script, sizeof(rig->words[2]) - 1);
    for (int i = 0; i < (script ? 3 : 1); i++)
        rig->argv[i] = rig->words[i];
    rig->doctor.cli = &rig->cli;
    rig->doctor.target.kind = CLI_TARGET_COMMAND;
    rig->doctor.target.argv = rig->argv;
    rig->doctor.timeout_ms = AWAIT_MS;
    rig->doctor.exit_ms = exit_ms;
    rig->doctor.orphan_ms = exit_ms;
    for (int i = 0; cli_stdio_checks[i].title; i++)
        if (cli_stdio_checks[i].applies(&rig->doctor))
            cli_stdio_checks[i].run(&rig->doctor, &rig->findings[i]);
}

static void
rig_done(struct rig *rig)
{
    cli_stdio_checks_done(&rig->doctor);
    for (int i = 0; i < 16; i++)
        cli_finding_done(&rig->findings[i]);
}

static void
assert_found(const struct rig *rig, const char *id, enum cli_verdict verdict,
             const char *seen)
{
    for (int i = 0; cli_stdio_checks[i].title; i++) {
        if (strcmp(cli_stdio_checks[i].id, id) != 0)
            continue;
        assert_non_null(strstr(cli_text_string(&rig->findings[i].seen), seen));
        assert_int_equal(rig->findings[i].verdict, verdict);
        return;
    }
    fail();
}

static void
a_good_program_passes_all(void **state)
{
    struct rig rig;

    (void)state;
    examine(&rig, NULL, AWAIT_MS);
    for (int i = 0; cli_stdio_checks[i].title; i++)
        assert_int_equal(rig.findings[i].verdict, CLI_PASS);
    assert_found(&rig, "stdio.answers", CLI_PASS, "both eras");
    assert_found(&rig, "stdio.unknown-method", CLI_PASS, "-32601");
    rig_done(&rig);
}

/* Greets on stdout, leaves a child, ignores SIGTERM and the end of its input, and does
 * not know ping. */
static void
all_that_a_bad_program_does_is_seen(void **state)
{
    static const char script[] =
        "trap '' TERM; echo 'Hello!'; sleep 3600 >/dev/null 2>&1 </dev/null &\n"
        "while read -r line; do case $line in\n"
        "*server/discover*) echo '" NO_METHOD(
            "1") "';;\n"
                 "*'\"initialize\"'*) echo '" HELLO "';;\n"
                 "*'\"id\":2'*) echo '" NO_METHOD(
                     "2") "';;\n"
                          "*'\"id\":3'*) echo "
                          "'{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}';;\n"
                          "*'\"id\":4'*) echo '" NO_METHOD(
                              "4") "';;\n"
                                   "esac; done; while :; do sleep 3600; done";
    struct rig rig;

    (void)state;
    examine(&rig, script, 50);
    assert_found(&rig, "stdio.answers", CLI_PASS, "legacy era only");
    assert_found(&rig, "stdio.ping", CLI_FAIL, "not answered with a result");
    assert_found(&rig, "stdio.unknown-method", CLI_FAIL, "has a result");
    assert_found(&rig, "stdio.malformed", CLI_PASS, "no harm");
    assert_found(&rig, "stdio.eof", CLI_FAIL, "still runs");
    assert_found(&rig, "stdio.term", CLI_FAIL, "still runs");
    assert_found(&rig, "stdio.orphans", CLI_FAIL, "outlived it");
    assert_found(&rig, "stdio.stdout", CLI_FAIL, "the first: Hello!");
    rig_done(&rig);
}

static void
a_program_that_ends_at_once_is_told_so(void **state)
{
    struct rig rig;

    (void)state;
    examine(&rig, "exit 3", AWAIT_MS);
    assert_found(&rig, "stdio.answers", CLI_FAIL, "ended before it answered");
    assert_found(&rig, "stdio.answers", CLI_FAIL, "status 3");
    assert_found(&rig, "stdio.ping", CLI_SKIP, "no handshake");
    assert_found(&rig, "stdio.eof", CLI_SKIP, "had ended");
    rig_done(&rig);
}

static void
a_program_that_closes_its_stdout_is_told_so(void **state)
{
    struct rig rig;

    (void)state;
    examine(&rig, "exec cat >/dev/null", 50);
    assert_found(&rig, "stdio.answers", CLI_FAIL, "closed its stdout");
    rig_done(&rig);
}

static void
a_program_that_is_not_there_is_not_examined(void **state)
{
    struct rig rig;

    (void)state;
    memset(&rig, 0, sizeof(rig));
    (void)strcpy(rig.words[0], "/nonexistent/server");
    rig.argv[0] = rig.words[0];
    rig.doctor.cli = &rig.cli;
    rig.doctor.target.kind = CLI_TARGET_COMMAND;
    rig.doctor.target.argv = rig.argv;
    cli_stdio_checks[0].run(&rig.doctor, &rig.findings[0]);
    assert_found(&rig, "stdio.answers", CLI_FAIL, "cannot be started");
    for (int i = 1; cli_stdio_checks[i].title; i++)
        assert_false(cli_stdio_checks[i].applies(&rig.doctor));
    rig_done(&rig);
}

static void
a_status_and_a_long_log_are_warnings(void **state)
{
    static const char script[] =
        "head -c 50000 /dev/zero >&2\n"
        "while read -r line; do case $line in\n"
        "*server/discover*) echo '" NO_METHOD(
            "1") "';;\n"
                 "*'\"initialize\"'*) echo '" HELLO "';;\n"
                 "*'\"id\":2'*) echo '" NO_METHOD(
                     "2") "';;\n"
                          "*'\"id\":3'*) echo '" NO_METHOD(
                              "3") "';;\n"
                                   "*'\"id\":4'*) echo '" NO_METHOD(
                                       "4") "';;\n"
                                            "esac; done; exit 7";
    struct rig rig;

    (void)state;
    examine(&rig, script, AWAIT_MS);
    assert_found(&rig, "stdio.eof", CLI_WARN, "status 7");
    assert_found(&rig, "stdio.stderr", CLI_WARN, "150000 bytes");
    assert_found(&rig, "stdio.term", CLI_PASS, "SIGTERM ends it");
    assert_found(&rig, "stdio.orphans", CLI_PASS, "No process");
    rig_done(&rig);
}

static void
the_signal_that_ended_a_program_is_told(void **state)
{
    struct rig rig;

    (void)state;
    examine(&rig, "kill -11 $$", AWAIT_MS);
    assert_found(&rig, "stdio.answers", CLI_FAIL, "by signal 11");
    rig_done(&rig);
}

/* It is not the end of stdin that ends it. */
static void
who_died_of_a_malformed_line_is_blamed_once(void **state)
{
    static const char script[] = "while read -r line; do case $line in\n"
                                 "*server/discover*) echo '" NO_METHOD(
                                     "1") "';;\n"
                                          "*'\"initialize\"'*) echo '" HELLO "';;\n"
                                          "*'\"id\":2'*) echo '" NO_METHOD(
                                              "2") "';;\n"
                                                   "*'\"id\":3'*) echo '" NO_METHOD(
                                                       "3") "';;\n"
                                                            "*'\"2.0\",') exit 1;;\n"
                                                            "esac; done";
    struct rig rig;

    (void)state;
    examine(&rig, script, AWAIT_MS);
    assert_found(&rig, "stdio.malformed", CLI_FAIL, "closed");
    assert_found(&rig, "stdio.eof", CLI_SKIP, "had ended");
    rig_done(&rig);
}

/* A missing key, most often: it is no silence, and a session may say more. */
static void
who_answers_with_an_error_is_not_silent(void **state)
{
    struct rig rig;

    (void)state;
    examine(&rig,
            "while read -r l; do echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":"
            "{\"code\":-32603,\"message\":\"the key is not set\"}}'; done",
            AWAIT_MS);
    assert_found(&rig, "stdio.answers", CLI_FAIL,
                 "refuses initialize: -32603, the key is not set");
    assert_false(rig.doctor.is_silent);
    rig_done(&rig);
    examine(&rig,
            "while read -r l; do echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}'; "
            "done",
            AWAIT_MS);
    assert_found(&rig, "stdio.answers", CLI_FAIL, "initialize names no version");
    assert_false(rig.doctor.is_silent);
    rig_done(&rig);
}

TEST_MAIN(TEST(who_answers_with_an_error_is_not_silent),
          TEST(the_signal_that_ended_a_program_is_told),
          TEST(who_died_of_a_malformed_line_is_blamed_once),
          TEST(a_good_program_passes_all), TEST(all_that_a_bad_program_does_is_seen),
          TEST(a_program_that_ends_at_once_is_told_so),
          TEST(a_program_that_closes_its_stdout_is_told_so),
          TEST(a_program_that_is_not_there_is_not_examined),
          TEST(a_status_and_a_long_log_are_warnings))
