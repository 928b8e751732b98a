/*
 * isolated_test.c - inside a helper process
 *
 * This program is executed anew as the helper, without a keeper, and the test is the
 * other end of its wire, line by line.
 */
#include "api/isolated.h"

#include "api/isolated_tools.h"
#include "api/raw_client.h"

/* First in main. */
static void
enter(int argc, char **argv)
{
    tools_fill();
    if (argc > 1 && strcmp(argv[1], "serve") == 0)
        mcpi_isolated_serve(argv + 2, tools, tool_count);
    mcp_isolated_enter(argc, argv, tools, tool_count);
}

/* ---- a helper ----------------------------------------------------------- */

struct helper {
    struct raw raw; /* without a server: only what reads and writes */
    pid_t pid;
};

static void
helper_exec(int wire, const char *const *words)
{
    const char *argv[8] = {"isolated_test", "serve"};

    for (size_t i = 0; i < 5 && words[i]; i++)
        argv[i + 2] = words[i];
    if (dup2(wire, 3) == 3)
        execv("/proc/self/exe", (char *const *)(uintptr_t)argv);
    _exit(99);
}

static void
helper_start(struct helper *helper, const char *const *words)
{
    int pair[2];

    memset(helper, 0, sizeof(*helper));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    helper->raw.fd = pair[0];
    helper->raw.modern = true;
    helper->pid = fork(); /* this program has one thread */
    assert_true(helper->pid >= 0);
    if (helper->pid == 0)
        helper_exec(pair[1], words);
    close(pair[1]);
}

static void
helper_open(struct helper *helper, const char *tool)
{
    const char *const words[] = {tool, "0", "0", "0", "0"};

    helper_start(helper, words);
}

/* How it ended, as waitpid has it; within so many times the usual bound. */
static int
helper_wait_for(struct helper *helper, int bounds)
{
    int64_t end = raw_now_ms() + bounds * AWAIT_MS;
    int status = -1;

    while (waitpid(helper->pid, &status, WNOHANG) != helper->pid) {
        if (raw_now_ms() > end)
            fail_msg("the helper does not end");
        raw_pause();
    }
    close(helper->raw.fd);
    free(helper->raw.in);
    return status;
}

static int
helper_wait(struct helper *helper)
{
    return helper_wait_for(helper, 1);
}

static void
helper_close(struct helper *helper)
{
    shutdown(helper->raw.fd, SHUT_RDWR);
    assert_int_equal(helper_wait(helper), 0);
}

/* A call with more in its _meta. */
static void
helper_call_with(struct helper *helper, const char *id, const char *tool,
                 const char *meta)
{
    char line[1024];

    snprintf(line, sizeof(line),
             "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"tools/call\",\"params\":"
             "{\"name\":\"%s\",\"_meta\":{%s,%s}}}",
             id, tool, RAW_STAMP, meta);
    raw_send(&helper->raw, line);
}

static void
helper_rest(struct helper *helper, const char *id)
{
    raw_ask(&helper->raw, id, MCPI_ISOLATED_REST, "");
}

/* A file that is not there, and what names it as arguments. */
struct marker {
    char path[64], arguments[128];
};

static void
marker_init(struct marker *marker)
{
    static int count;

    snprintf(marker->path, sizeof(marker->path), "/tmp/isolated-test-%d-%d",
             (int)getpid(), ++count);
    snprintf(marker->arguments, sizeof(marker->arguments), "{\"path\":\"%s\"}",
             marker->path);
}

static void
marker_make(struct marker *marker)
{
    int fd = open(marker->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    close(fd);
}

/* ---- what a program says that it has ------------------------------------ */

static void
known_are_the_tools_that_are_isolated(void **state)
{
    (void)state;
    assert_true(mcpi_isolated_knows("echo"));
    assert_true(mcpi_isolated_knows("square"));
    assert_false(mcpi_isolated_knows("plain"));
    assert_false(mcpi_isolated_knows("ech"));
    assert_false(mcpi_isolated_knows(""));
    assert_false(mcpi_isolated_knows(NULL));
}

static void
words_that_name_no_tool_end_a_helper(void **state)
{
    static const char *const wrong[][6] = {{"nothing", "0", "0", "0", "0"},
                                           {"plain", "0", "0", "0", "0"},
                                           {"echo", "0", "0", "0"},
                                           {NULL}};
    struct helper helper;

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        int status;

        helper_start(&helper, wrong[i]);
        status = helper_wait(&helper);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), EXIT_FAILURE);
    }
}

/* ---- calls -------------------------------------------------------------- */

static void
its_tool_answers_call_by_call(void **state)
{
    struct helper helper;

    (void)state;
    helper_open(&helper, "echo");
    raw_call(&helper.raw, "1", "echo", "{\"text\":\"one\"}");
    assert_null(strstr(raw_expect(&helper.raw, "<one> as \""), MCPI_ISOLATED_LEFT));
    raw_call(&helper.raw, "2", "echo", NULL);
    raw_expect(&helper.raw, "<nothing> as \"");
    raw_call(&helper.raw, "3", "plain", NULL); /* is not what it is for */
    raw_expect(&helper.raw, "Unknown tool");
    helper_close(&helper);
}

static void
the_principal_comes_with_its_call_only(void **state)
{
    struct helper helper;

    (void)state;
    helper_open(&helper, "echo");
    helper_call_with(&helper, "1", "echo", "\"" MCPI_ISOLATED_PRINCIPAL "\":\"alice\"");
    raw_expect(&helper.raw, "as alice\"");
    helper_call_with(&helper, "2", "echo", "\"" MCPI_ISOLATED_PRINCIPAL "\":7");
    raw_expect(&helper.raw, "as \"");
    helper_close(&helper);
}

static void
questions_have_no_channel(void **state)
{
    char expected[64];
    struct helper helper;

    (void)state;
    snprintf(expected, sizeof(expected), "asked: %d, can ask: 0", MCP_E_NO_CHANNEL);
    helper_open(&helper, "ask");
    raw_send(&helper.raw,
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":"
             "{\"name\":\"ask\",\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":"
             "\"2026-07-28\",\"io.modelcontextprotocol/clientCapabilities\":"
             "{\"elicitation\":{\"form\":{}}}}}}");
    raw_expect(&helper.raw, expected);
    helper_close(&helper);
}

static void
progress_and_messages_come_before_the_answer(void **state)
{
    struct helper helper;

    (void)state;
    helper_open(&helper, "speak");
    helper_call_with(
        &helper, "1", "speak",
        "\"progressToken\":5,\"io.modelcontextprotocol/logLevel\":\"info\"");
    raw_expect(&helper.raw, "\"to whom\"");
    raw_expect(&helper.raw, "\"half\"");
    raw_expect(&helper.raw, "spoke");
    helper_close(&helper);
}

static void
M19_what_a_tool_prints_is_not_on_its_wire(void **state)
{
    struct helper helper;

    (void)state;
    helper_open(&helper, "print");
    raw_call(&helper.raw, "1", "print", NULL);
    raw_expect(&helper.raw, "printed 21");
    raw_expect_silence(&helper.raw);
    helper_close(&helper);
}

static void
output_that_does_not_fit_is_refused_here_already(void **state)
{
    struct helper helper;

    (void)state;
    helper_open(&helper, "square");
    raw_call(&helper.raw, "1", "square", NULL);
    raw_expect(&helper.raw, "output does not match its schema");
    helper_close(&helper);
}

/* ---- rest --------------------------------------------------------------- */

static void
a_helper_without_a_call_rests(void **state)
{
    struct helper helper;

    (void)state;
    helper_open(&helper, "echo");
    helper_rest(&helper, "1");
    raw_expect(&helper.raw, "\"left\":false");
    helper_close(&helper);
}

static void
F5_it_rests_when_a_canceled_handler_has_returned(void **state)
{
    struct marker marker;
    struct helper helper;

    (void)state;
    marker_init(&marker);
    helper_open(&helper, "wait");
    raw_call_with(&helper.raw, "1", "wait", marker.arguments, "1");
    raw_expect(&helper.raw, "waiting");
    raw_cancel(&helper.raw, "1", "enough");
    helper_rest(&helper, "2");
    helper_rest(&helper, "3");
    raw_expect(&helper.raw, "\"id\":3"); /* one is enough */
    raw_expect_silence(&helper.raw);     /* it is deaf, so there is no rest yet */
    marker_make(&marker);
    assert_non_null(strstr(raw_expect(&helper.raw, "\"left\":false"), "\"id\":2"));
    raw_call(&helper.raw, "4", "wait", marker.arguments);
    raw_expect(&helper.raw, "seen");
    unlink(marker.path);
    helper_close(&helper);
}

static void
two_calls_never_run_at_once(void **state)
{
    struct marker marker;
    struct helper helper;

    (void)state;
    marker_init(&marker);
    helper_open(&helper, "wait");
    raw_call_with(&helper.raw, "1", "wait", marker.arguments, "1");
    raw_expect(&helper.raw, "waiting");
    raw_call(&helper.raw, "2", "wait", marker.arguments);
    raw_expect(&helper.raw, "the helper is busy");
    raw_cancel(&helper.raw, "1", "enough");
    raw_call(&helper.raw, "3", "wait", marker.arguments);
    raw_expect(&helper.raw, "the helper is busy"); /* a cancel does not end it */
    marker_make(&marker);
    helper_rest(&helper, "4");
    raw_expect(&helper.raw, "\"left\":false");
    raw_call(&helper.raw, "5", "wait", marker.arguments);
    raw_expect(&helper.raw, "seen");
    unlink(marker.path);
    helper_close(&helper);
}

/* In one write, so that a cancel may come before the worker has begun, or while it
 * begins: whoever is at rest is so when the handler cannot run any more. */
static void
F37_rest_never_overtakes_a_handler(void **state)
{
    struct helper helper;
    char lines[2048];
    int len;

    (void)state;
    helper_open(&helper, "echo");
    for (int i = 1; i <= 200; i++) {
        len = snprintf(
            lines, sizeof(lines),
            "{\"jsonrpc\":\"2.0\",\"id\":\"c%d\",\"method\":\"tools/call\",\"params\":"
            "{\"name\":\"echo\",\"_meta\":{%s}}}\n"
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
            "{\"requestId\":\"c%d\"}}\n"
            "{\"jsonrpc\":\"2.0\",\"id\":\"r%d\",\"method\":\"%s\",\"params\":"
            "{\"_meta\":{%s}}}\n",
            i, RAW_STAMP, i, i, MCPI_ISOLATED_REST, RAW_STAMP);
        raw_bytes(&helper.raw, lines, (size_t)len);
        raw_expect(&helper.raw, "\"left\":false");
        raw_call(&helper.raw, "\"next\"", "echo", NULL);
        raw_expect(&helper.raw, "<nothing>");
    }
    helper_close(&helper);
}

static void
clean_up_of_a_handler_comes_before_its_rest(void **state)
{
    struct marker marker;
    struct helper helper;

    (void)state;
    helper_open(&helper, "tidy");
    for (int i = 0; i < 20; i++) {
        marker_init(&marker);
        marker_make(&marker);
        raw_call(&helper.raw, "1", "tidy", marker.arguments);
        helper_rest(&helper, "2");
        while (!strstr(raw_line(&helper.raw), "\"left\":false"))
            continue;
        assert_int_equal(access(marker.path, F_OK), -1);
    }
    helper_close(&helper);
}

/* ---- what it started ---------------------------------------------------- */

/* The number after this. */
static pid_t
number_after(const char *line, const char *what)
{
    const char *at = strstr(line, what);

    assert_non_null(at);
    return (pid_t)strtol(at + strlen(what), NULL, 10);
}

static void
M4_a_daemon_that_a_call_leaves_is_told_of(void **state)
{
    struct helper helper;
    const char *line;
    pid_t daemon;

    (void)state;
    helper_open(&helper, "leave");
    raw_call(&helper.raw, "1", "leave", NULL);
    line = raw_expect(&helper.raw, "\"" MCPI_ISOLATED_LEFT "\":true");
    daemon = number_after(line, "\"text\":\"");
    helper_rest(&helper, "2");
    raw_expect(&helper.raw, "\"left\":true");
    assert_int_equal(kill(daemon, SIGKILL), 0);
    helper_close(&helper);
}

static void
M4_after_an_error_the_rest_tells_of_it(void **state)
{
    struct helper helper;
    pid_t daemon;

    (void)state;
    helper_open(&helper, "leave");
    raw_call(&helper.raw, "1", "leave", "{\"fail\":1}");
    daemon = number_after(raw_expect(&helper.raw, "-32000"), "\"message\":\"");
    helper_rest(&helper, "2");
    raw_expect(&helper.raw, "\"left\":true");
    assert_int_equal(kill(daemon, SIGKILL), 0);
    helper_close(&helper);
}

static void
M11_who_is_dead_is_buried_and_not_left(void **state)
{
    struct helper helper;
    const char *line;
    pid_t dead;

    (void)state;
    helper_open(&helper, "forget");
    raw_call(&helper.raw, "1", "forget", NULL);
    line = raw_expect(&helper.raw, "\"text\":\"");
    assert_null(strstr(line, MCPI_ISOLATED_LEFT));
    dead = number_after(line, "\"text\":\"");
    assert_int_equal(kill(dead, 0), -1); /* not even a zombie */
    helper_close(&helper);
}

/* ---- limits ------------------------------------------------------------- */

static void
limits_are_those_of_its_words(void **state)
{
    const char *const words[] = {"limits", "1073741824", "7", "40", "5000"};
    struct helper helper;

    (void)state;
    helper_start(&helper, words);
    for (int i = 0; i < 2; i++) {
        raw_call(&helper.raw, "1", "limits", NULL);
        raw_expect(&helper.raw, "cpu set files 40 40 of 5000 5000 memory set for good");
    }
    helper_close(&helper);
}

static void
what_was_spent_before_is_not_on_the_account_of_a_call(void **state)
{
    const char *const words[] = {"spend", "0", "7", "0", "0"};
    struct helper helper;

    (void)state;
    test_limit(120);
    helper_start(&helper, words);
    for (int i = 0; i < 2; i++) {
        raw_call(&helper.raw, "1", "spend", NULL);
        raw_expect(&helper.raw, "may spend 7 s");
    }
    helper_close(&helper);
}

static void
processor_time_ends_a_call(void **state)
{
    const char *const words[] = {"burn", "0", "1", "0", "0"};
    struct helper helper;
    int status;

    (void)state;
    helper_start(&helper, words);
    test_limit(120);
    raw_call(&helper.raw, "1", "burn", NULL);
    status = helper_wait_for(&helper, 6); /* others may have the processor */
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGXCPU);
}

/* ---- its end ------------------------------------------------------------ */

static void
M16_it_ends_with_its_wire_whatever_its_handler_does(void **state)
{
    struct marker marker;
    struct helper helper;

    (void)state;
    marker_init(&marker);
    helper_open(&helper, "wait");
    raw_call_with(&helper.raw, "1", "wait", marker.arguments, "1");
    raw_expect(&helper.raw, "waiting");
    helper_close(&helper);
}

TEST_MAIN_AFTER(
    enter, TEST(known_are_the_tools_that_are_isolated),
    TEST(words_that_name_no_tool_end_a_helper), TEST(its_tool_answers_call_by_call),
    TEST(the_principal_comes_with_its_call_only), TEST(questions_have_no_channel),
    TEST(progress_and_messages_come_before_the_answer),
    TEST(M19_what_a_tool_prints_is_not_on_its_wire),
    TEST(output_that_does_not_fit_is_refused_here_already),
    TEST(a_helper_without_a_call_rests),
    TEST(F5_it_rests_when_a_canceled_handler_has_returned),
    TEST(two_calls_never_run_at_once), TEST(F37_rest_never_overtakes_a_handler),
    TEST(clean_up_of_a_handler_comes_before_its_rest),
    TEST(M4_a_daemon_that_a_call_leaves_is_told_of),
    TEST(M4_after_an_error_the_rest_tells_of_it),
    TEST(M11_who_is_dead_is_buried_and_not_left), TEST(limits_are_those_of_its_words),
    TEST(what_was_spent_before_is_not_on_the_account_of_a_call),
    TEST(processor_time_ends_a_call),
    TEST(M16_it_ends_with_its_wire_whatever_its_handler_does))
