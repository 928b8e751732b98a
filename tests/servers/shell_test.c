/* shell_test.c - commands as tools: what they get, what they write, how they end */
#include "servers/shell_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* ---- how they end --------------------------------------------------------------- */

static void
expect_status(struct shell *s, const char *text, const char *member, int64_t status)
{
    mcp_reply *reply = program_call(&s->program, "sh", script(s, text));
    const mcp_json *value = mcp_json_get(mcp_reply_structured(reply), member);

    assert_int_equal(mcp_json_get_type(value), MCP_JSON_INTEGER);
    assert_int_equal(mcp_json_int(value, -1), status);
    assert_int_equal(mcp_reply_is_error(reply), status != 0);
    mcp_reply_free(reply);
}

static void
its_status_is_the_result(void **state)
{
    struct program *p;
    struct shell s;

    shell_open(&s, state);
    p = &s.program;
    expect_status(&s, "exit 0", "exit_code", 0);
    expect_status(&s, "exit 7", "exit_code", 7);
    expect_status(&s, "kill -9 $$", "signal", 9);
    program_expect(p, "sh", "{\"script\":\"echo why >&2; exit 7\"}", true, "why");
    program_expect(p, "sh", "{\"script\":\"exit 7\"}", true, "[exit status 7]");
    program_expect(p, "sh", "{\"script\":\"kill -9 $$\"}", true, "by signal 9");
    program_expect(p, "differ", "{}", false, "\"exit_code\":1");
    program_expect(p, "nothing", "{}", true, "/nowhere/at-all");
    shell_close(&s);
}

static void
M5_what_it_leaves_behind_ends_with_it(void **state)
{
    struct shell s;

    shell_open(&s, state);
    program_expect(&s.program, "sh",
                   script(&s, "setsid sh -c 'sleep 300' & sleep 300 & echo done"),
                   false, "done");
    expect_none_marked(s.mark);
    shell_close(&s);
}

static void
a_time_limit_ends_it_and_what_it_wrote_is_kept(void **state)
{
    mcp_reply *reply;
    struct shell s;

    shell_open(&s, state);
    reply = program_call(&s.program, "hasty",
                         script(&s, "echo early; setsid sleep 300 & sleep 300"));
    assert_true(mcp_reply_is_error(reply));
    assert_true(
        mcp_json_bool(mcp_json_get(mcp_reply_structured(reply), "timed_out"), false));
    assert_non_null(strstr(mcp_reply_text(reply), "early"));
    mcp_reply_free(reply);
    expect_none_marked(s.mark);
    shell_close(&s);
}

/* ---- what they get -------------------------------------------------------------- */

static void
arguments_become_words(void **state)
{
    struct program *p;
    struct shell s;

    shell_open(&s, state);
    p = &s.program;
    program_expect(p, "words", "{}", false, "[{none}][none]");
    program_expect(p, "words", "{\"text\":\"a b\"}", false, "[{a b}][a b]");
    program_expect(p, "words", "{\"text\":\"\"}", false, "[{}][]");
    program_expect(p, "words", "{\"flag\":false}", false, "[{none}][none]");
    program_expect(p, "words", "{\"flag\":true,\"number\":-1.5}", false,
                   "[{none}][-f][-n][-1.5][none]");
    program_expect(p, "words", "{\"list\":[7,-8]}", false,
                   "[{none}][-I7][-I-8][-e][7][-e][-8][none]");
    program_expect(p, "open", "{\"first\":\"x\"}", false, "[x]");
    program_expect(p, "open", "{\"first\":\"x\",\"second\":\"b\"}", false, "[x][ab]");
    shell_close(&s);
}

static void
a_value_is_never_read_as_anything_else(void **state)
{
    struct program *p;
    struct shell s;

    shell_open(&s, state);
    p = &s.program;
    program_expect(p, "words", "{\"text\":\"$(id); `id` | 'x' \\\"y\\\" > z * ~\"}",
                   false, "[$(id); `id` | 'x' \"y\" > z * ~]");
    program_expect(p, "words", "{\"text\":\"{flag}{{%s\\\\n\"}", false,
                   "[{flag}{{%s\\n]");
    program_expect(p, "words", "{\"text\":\"--help\"}", false, "[--help]");
    program_expect(p, "sh",
                   "{\"script\":\"echo \\\"$#:$1\\\"\",\"words\":[\"-x; id $(id)\"]}",
                   false, "1:-x; id $(id)\n");
    program_expect(p, "quote", "{\"text\":\"$(id)\\\"; id\"}", false, "<$(id)\"; id>");
    program_expect(p, "words", "{\"text\":\"a\\u0000b\"}", true, "U+0000");
    program_expect(p, "words", "{\"text\":[\"a\"]}", true, "/text");
    program_expect(p, "words", "{\"other\":1}", true, "/other");
    shell_close(&s);
}

static void
a_value_is_no_option_unless_the_file_says_so(void **state)
{
    struct program *p;
    struct shell s;

    shell_open(&s, state);
    p = &s.program;
    program_expect(p, "open", "{\"first\":\"-v\"}", true, "first must not begin with");
    program_expect(p, "open", "{\"first\":\"x\",\"second\":\"-v\"}", false, "[x][a-v]");
    program_expect(p, "open", "{\"first\":\"x\",\"signed\":-5}", false, "[x][-5]");
    program_expect(p, "sh", "{\"script\":\"echo $1\",\"words\":[\"-e\"]}", false, "-e");
    shell_close(&s);
}

static void
it_has_its_folder_environment_and_input(void **state)
{
    struct program *p;
    struct shell s;

    shell_open(&s, state);
    p = &s.program;
    program_expect(p, "sh", "{\"script\":\"pwd\"}", false, "/tmp\n");
    program_expect(p, "sh", "{\"script\":\"echo $SHELL_TEST\",\"mark\":\"a b=c\"}",
                   false, "a b=c\n");
    program_expect(p, "sh", "{\"script\":\"echo [$SHELL_TEST]\"}", false, "[]\n");
    program_expect(p, "cat", "{\"text\":\"one\\ntwo\"}", false, "one\ntwo");
    program_expect(p, "cat", "{\"text\":\"\"}", false, "\"exit_code\":0");
    program_expect(p, "sh", "{\"script\":\"cat; echo end\"}", false, "end\n");
    shell_close(&s);
}

static void
a_value_is_no_code_in_the_environment_and_no_end_in_the_input(void **state)
{
    struct program *p;
    struct shell s;

    shell_open(&s, state);
    p = &s.program;
    program_expect(p, "sh", "{\"script\":\"true\",\"mark\":\"() { :; }; id\"}", true,
                   "SHELL_TEST must not begin with ()");
    program_expect(p, "sh", "{\"script\":\"echo $SHELL_TEST\",\"mark\":\"f() {\"}",
                   false, "f() {");
    program_expect(p, "cat", "{\"text\":\"a\\u0000b\"}", true, "U+0000");
    program_expect(p, "shell", "{\"text\":\"$(id)\"}", false, "<$(id)>");
    shell_close(&s);
}

/* A call with this many bytes of text and this many items. */
static void
expect_much(struct program *p, const char *tool, size_t bytes, int items, bool is_error,
            const char *said)
{
    char *arguments = malloc(bytes + (size_t)items * 2 + 64);
    char *at = arguments;

    assert_non_null(arguments);
    at += sprintf(at, "{\"text\":\"");
    memset(at, 'x', bytes);
    at += bytes;
    at += sprintf(at, "\"%s", items > 0 ? ",\"list\":[" : "}");
    for (int i = 0; i < items; i++)
        at += sprintf(at, "1%s", i < items - 1 ? "," : "]}");
    program_expect(p, tool, arguments, is_error, said);
    free(arguments);
}

static void
what_a_call_gives_them_is_bounded(void **state)
{
    struct program *p;
    struct shell s;

    shell_open(&s, state);
    p = &s.program;
    program_expect(p, "little", "{\"text\":\"12345\"}", false, "1234512345");
    program_expect(p, "little", "{\"text\":\"123456\"}", true,
                   "the input is longer than 10 bytes");
    expect_much(p, "unheard", 1 << 20, 0, false, "\"exit_code\":0");
    expect_much(p, "unheard", (1 << 20) + 1, 0, true,
                "the input is longer than 1048576 bytes");
    expect_much(p, "many", 1 << 16, 64, true,
                "the command is longer than 2097152 bytes");
    expect_much(p, "shell", 1 << 17, 0, true,
                "GIT_AUTHOR_NAME is longer than 65536 bytes");
    shell_close(&s);
}

/* ---- what they write ------------------------------------------------------------ */

struct shown {
    struct program *program;
    char go[96]; /* a file that is made when both streams have been seen */
    int count;
    double last;
    size_t longest;
};

static bool
has_said_two(void *user)
{
    return program_has_said(user, "two");
}

static void
on_progress(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    struct shown *shown = user;

    (void)call, (void)total;
    assert_true(progress > shown->last);
    shown->last = progress;
    shown->count++;
    if (message && strlen(message) > shown->longest)
        shown->longest = strlen(message);
    if (message && strcmp(message, "one") == 0) {
        wait_until(has_said_two, shown->program);
        close(open(shown->go, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
    }
}

/* The command waits for a file that is only made when what it wrote was seen. */
static void
what_it_writes_is_shown_while_it_runs(void **state)
{
    struct shown shown = {.program = NULL};
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = AWAIT_MS,
                                                  .on_progress = on_progress,
                                                  .user = &shown);
    mcp_reply *reply;
    struct shell s;

    shell_open(&s, state);
    shown.program = &s.program;
    (void)snprintf(shown.go, sizeof(shown.go), "/tmp/%sgo", s.mark);
    assert_int_equal(
        mcp_client_call_tool(
            s.program.client, "sh",
            script(&s, text_of("echo two >&2; sleep 0.1; echo one; while [ ! -e %s ];"
                               " do sleep 0.01; done; printf three",
                               shown.go)),
            &opt, &reply, NULL),
        0);
    assert_string_equal(
        mcp_json_string(mcp_json_get(mcp_reply_structured(reply), "output"), ""),
        "one\nthree");
    assert_true(shown.count >= 1);
    mcp_reply_free(reply);
    assert_int_equal(unlink(shown.go), 0);
    shell_close(&s);
}

static int64_t
peak_kb(pid_t pid)
{
    char line[256];
    FILE *status;
    long long kb = -1;

    (void)snprintf(line, sizeof(line), "/proc/%d/status", (int)pid);
    status = fopen(line, "re");
    assert_non_null(status);
    while (kb < 0 && fgets(line, sizeof(line), status))
        (void)sscanf(line, "VmHWM: %lld kB", &kb);
    fclose(status);
    return kb;
}

static void
what_it_writes_without_end_is_cut(void **state)
{
    struct shown shown = {.program = NULL};
    const mcp_call_options watched = MCP_CALL_OPTIONS(.timeout_ms = AWAIT_MS,
                                                      .on_progress = on_progress,
                                                      .user = &shown);
    const mcp_call_options unwatched = MCP_CALL_OPTIONS(.timeout_ms = AWAIT_MS);
    int64_t before, kept;
    struct shell s;

    shell_open(&s, state);
    program_expect(&s.program, "sh", script(&s, "true"), false, "");
    before = peak_kb(s.program.pid);
    for (int i = 0; i < 2; i++) {
        mcp_reply *reply;

        assert_int_equal(
            mcp_client_call_tool(
                s.program.client, "sh",
                script(
                    &s,
                    "yes 0123456789012345678901234567890123456789 | head -c 100000000"),
                i == 0 ? &watched : &unwatched, &reply, NULL),
            0);
        assert_true(
            mcp_json_bool(mcp_json_get(mcp_reply_structured(reply), "is_cut"), false));
        kept = (int64_t)mcp_json_string_length(
            mcp_json_get(mcp_reply_structured(reply), "output"));
        assert_int_equal(kept, 65536);
        assert_true(reply_says(reply, "[cut"));
        mcp_reply_free(reply);
    }
    assert_true(peak_kb(s.program.pid) - before < 20000);
    assert_in_range(shown.count, 1, 1000 + AWAIT_MS / 1000 + 1);
    shell_close(&s);
}

static void
a_long_line_is_shown_in_part(void **state)
{
    struct shown shown = {.program = NULL};
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = AWAIT_MS,
                                                  .on_progress = on_progress,
                                                  .user = &shown);
    mcp_reply *reply;
    struct shell s;

    shell_open(&s, state);
    assert_int_equal(
        mcp_client_call_tool(s.program.client, "sh",
                             script(&s, "yes | tr -d '\\\\n' | head -c 5000"), &opt,
                             &reply, NULL),
        0);
    assert_int_equal(shown.longest, 1003);
    assert_int_equal(strlen(mcp_reply_text(reply)), 5000);
    mcp_reply_free(reply);
    program_expect(
        &s.program, "cat",
        "{\"text\":\"0123456789012345678901234567890123456789012345678901234567"
        "8901234567890123456789012345678901234567\xc3\xa4\xc3\xa4\"}",
        false, "[cut: only the first 100 bytes are here]");
    shell_close(&s);
}

static void
what_is_no_text_is_replaced_and_what_is_for_terminals_dropped(void **state)
{
    static const struct {
        const char *printed, *kept;
    } cases[] = {
        {"a\\\\377b", "a\xef\xbf\xbd"
                      "b"},
        {"\\\\303\\\\244", "\xc3\xa4"},
        {"\\\\303", "\xef\xbf\xbd"},
        {"\\\\300\\\\200", "\xef\xbf\xbd"},
        {"\\\\355\\\\240\\\\200", "\xef\xbf\xbd"},
        {"\\\\342\\\\202x", "\xef\xbf\xbdx"},
        {"\\\\360\\\\237\\\\230\\\\200", "\xf0\x9f\x98\x80"},
        {"\\\\033[1;31mred\\\\033[0m", "red"},
        {"\\\\033]0;title\\\\007x\\\\033]8;;u\\\\033\\\\\\\\y", "xy"},
        {"\\\\033(Bx\\\\000\\\\010\\\\177y", "xy"},
        {"\\\\302\\\\2331mx", "1mx"},
        {"1%%\\\\r2%%\\\\r\\\\nend\\\\t.", "1%\n2%\nend\t."},
    };
    mcp_reply *reply;
    struct shell s;

    shell_open(&s, state);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        reply = program_call(&s.program, "sh",
                             script(&s, text_of("printf '%s'", cases[i].printed)));
        assert_string_equal(mcp_reply_text(reply), cases[i].kept);
        mcp_reply_free(reply);
    }
    shell_close(&s);
}

/* ---- when there is no room for one ---------------------------------------------- */

static size_t
count_open(pid_t pid)
{
    DIR *folder = opendir(text_of("/proc/%d/fd", (int)pid));
    size_t count = 0;

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count - 2; /* . and .. */
}

/* A descriptor more at each turn: whatever is the first that is missing, it is named. */
static void
one_that_cannot_be_started_is_a_failure_that_says_why(void **state)
{
    struct rlimit limit;
    mcp_reply *reply;
    bool works = false;
    struct shell s;
    size_t open;

    shell_open(&s, state);
    assert_int_equal(prlimit(s.program.pid, RLIMIT_NOFILE, NULL, &limit), 0);
    open = count_open(s.program.pid);
    for (size_t room = 0; !works; room++) {
        limit.rlim_cur = open + room;
        assert_int_equal(prlimit(s.program.pid, RLIMIT_NOFILE, &limit, NULL), 0);
        reply = program_call(&s.program, "sh", script(&s, "echo here"));
        works = !mcp_reply_is_error(reply);
        if (!works && !reply_says(reply, "sh: limit reached") &&
            !reply_says(reply, "descriptors") &&
            !reply_says(reply, "too many open files"))
            fail_msg("%s", mcp_reply_text(reply));
        assert_true(works == (room > 0 && reply_says(reply, "here")));
        mcp_reply_free(reply);
    }
    shell_close(&s);
}

/* ---- on a port ------------------------------------------------------------------ */

static void
a_port_for_everybody_needs_a_token(void **state)
{
    static const char *const hosts[] = {"0.0.0.0:0", "[::]:0", "127.example.org:0"};
    static char said[4096];

    (void)state;
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        const char *const anywhere[] = {"--http", hosts[i], SERVERS "/shell_test.json",
                                        NULL};

        assert_int_equal(program_run(anywhere, said, sizeof(said)), 1);
        assert_non_null(strstr(said, "SHELL_TOOLS_TOKEN"));
    }
}

static void
with_a_token_nobody_else_is_served(void **state)
{
    static const char *const with[] = {"Authorization: Bearer open sesame", NULL};
    static const char *const other[] = {"Authorization: Bearer open sesamy", NULL};
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0");
    const char *const *const wrong[] = {NULL, other};
    mcp_client *client;
    struct program p;
    mcp_error err;

    setenv("SHELL_TOOLS_TOKEN", "open sesame", 1);
    program_start(&p, SERVERS "/shell_test.json");
    unsetenv("SHELL_TOOLS_TOKEN");
    (void)state;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(program_connect(&p, wrong[i], &me, &client, &err), MCP_E_HTTP);
        assert_int_equal(err.http_status, 401);
    }
    assert_int_equal(program_connect(&p, with, &me, &p.client, &err), 0);
    program_expect(&p, "sh", "{\"script\":\"echo [$SHELL_TOOLS_TOKEN]\"}", false, "[]");
    program_close(&p);
}

TEST_MAIN(IN_EACH_CELL(its_status_is_the_result),
          IN_EACH_CELL(M5_what_it_leaves_behind_ends_with_it),
          IN_BOTH_ERAS(a_time_limit_ends_it_and_what_it_wrote_is_kept),
          IN_BOTH_ERAS(arguments_become_words),
          IN_BOTH_ERAS(a_value_is_never_read_as_anything_else),
          IN_BOTH_ERAS(a_value_is_no_option_unless_the_file_says_so),
          IN_BOTH_ERAS(it_has_its_folder_environment_and_input),
          IN_BOTH_ERAS(a_value_is_no_code_in_the_environment_and_no_end_in_the_input),
          IN_BOTH_ERAS(what_a_call_gives_them_is_bounded),
          IN_EACH_CELL(what_it_writes_is_shown_while_it_runs),
          IN_BOTH_ERAS(what_it_writes_without_end_is_cut),
          IN_BOTH_ERAS(a_long_line_is_shown_in_part),
          IN_BOTH_ERAS(what_is_no_text_is_replaced_and_what_is_for_terminals_dropped),
          IN_BOTH_ERAS(one_that_cannot_be_started_is_a_failure_that_says_why),
          TEST(a_port_for_everybody_needs_a_token),
          TEST(with_a_token_nobody_else_is_served))
