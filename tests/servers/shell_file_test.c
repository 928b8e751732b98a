/* shell_file_test.c - the file of the tools: what is wrong is said before it serves */
#include "servers/shell_fixture.h"

#define SAMPLE SERVERS "/../../examples/servers/shell_tools.json"

/* ---- files that are wrong ------------------------------------------------------- */

#define ONE(members) "{\"tools\":[{\"name\":\"a\"," members "}]}"
#define WITH_X(members) ONE(members ",\"arguments\":{\"x\":{\"type\":\"string\"}}")
#define WITH(argument) \
    ONE("\"command\":[\"true\",\"{x}\"],\"arguments\":{\"x\":" argument "}")

static const struct {
    const char *text, *said;
} wrong[] = {
    {"", "shell-test-"},
    {"{\"tools\":[}", "shell-test-"},
    {"[]", "expected an object"},
    {"{}", "tools"},
    {"{\"tools\":[]}", "/tools"},
    {"{\"tools\":[{\"name\":\"a\",\"name\":\"b\"}]}", "name"},
    {"{\"tools\":[{\"name\":\"a\"}]}", "/tools/0/command"},
    {ONE("\"command\":[\"a\"],\"comand\":[]"), "/tools/0/comand"},
    {ONE("\"command\":\"ls\""), "/tools/0/command/0: must be"},
    {ONE("\"command\":[]"), "/tools/0/command/0: must be"},
    {ONE("\"command\":[\"\"]"), "/tools/0/command/0: must be"},
    {ONE("\"command\":[[]]"), "/tools/0/command/0"},
    {ONE("\"command\":[\"a\",[]]"), "/tools/0/command/1"},
    {ONE("\"command\":[\"a\",1]"), "/tools/0/command/1: a word is a string"},
    {ONE("\"command\":[\"a\",[\"b\",[\"c\"]]]"), "/tools/0/command/1: a word"},
    {ONE("\"command\":[\"a\",\"{b}\"]"),
     "/tools/0/command/1: {b} is not among the arguments"},
    {ONE("\"command\":[\"a\",\"{b\"]"), "/tools/0/command/1: a brace"},
    {ONE("\"command\":[\"a\",\"b}\"]"), "/tools/0/command/1: a brace"},
    {ONE("\"command\":[\"a\",\"\\u0000\"]"), "/tools/0/command/1"},
    {ONE("\"command\":[\"a\"],\"timeout_ms\":0"), "/tools/0/timeout_ms: expected"},
    {ONE("\"command\":[\"a\"],\"grace_ms\":\"2\""), "/tools/0/grace_ms: expected"},
    {ONE("\"command\":[\"a\"],\"max_output\":1e12"), "/tools/0/max_output: expected"},
    {ONE("\"command\":[\"a\"],\"hints\":[\"safe\"]"), "/tools/0/hints/0: expected"},
    {ONE("\"command\":[\"a\"],\"success\":[256]"), "/tools/0/success/0: expected"},
    {ONE("\"command\":[\"a\"],\"input\":\"{x}\""), "/tools/0/input: {x} is not among"},
    {ONE("\"command\":[\"a\"],\"cwd\":\"{x}\""), "/tools/0/cwd: {x} is not among"},
    {ONE("\"command\":[\"a\"],\"env\":[]"), "/tools/0/env: is an object"},
    {ONE("\"command\":[\"a\"],\"env\":{\"A=\":\"\"}"), "/tools/0/env: \"A=\""},
    {ONE("\"command\":[\"a\"],\"env\":{\"A\":1}"), "/tools/0/env/A: is a string"},
    {ONE("\"command\":[\"a\"],\"env\":{\"A\":\"{x}\"}"), "/tools/0/env/A: {x} is not"},
    {ONE("\"command\":[\"a\"],\"env\":{\"A\\u0000B\":\"\"}"), "/tools/0/env: \"A\""},
    {ONE("\"command\":[\"a\"],\"env\":{\"A\":\"b\\u0000c\"}"), "/tools/0/env/A: "},
    {WITH_X("\"command\":[\"a\"],\"env\":{\"PATH\":\"{x}\"}"),
     "/tools/0/env/PATH: decides what runs"},
    {WITH_X("\"command\":[\"a\"],\"env\":{\"LD_PRELOAD\":\"/lib/{x}.so\"}"),
     "/tools/0/env/LD_PRELOAD: decides what runs"},
    {WITH_X("\"command\":[\"a\"],\"env\":{\"BASH_ENV\":\"{x}\"}"),
     "/tools/0/env/BASH_ENV: decides what runs"},
    {WITH_X("\"command\":[\"a\"],\"env\":{\"IFS\":\"{x}\"}"),
     "/tools/0/env/IFS: decides what runs"},
    {WITH_X("\"command\":[\"a\"],\"env\":{\"GIT_SSH_COMMAND\":\"ssh -p {x}\"}"),
     "/tools/0/env/GIT_SSH_COMMAND: decides what runs"},
    {WITH_X("\"command\":[\"sh\"],\"input\":\"ls {x}\""),
     "/tools/0/input: a shell would read"},
    {WITH_X("\"command\":[\"env\",\"/bin/bash\",\"-s\"],\"input\":\"ls '{x}'\""),
     "/tools/0/input: a shell would read"},
    {WITH_X("\"command\":[\"sh\",[\"-c\",\"{x}\"]],\"input\":\"ls {x}\""),
     "/tools/0/input: a shell would read"},
    {WITH_X("\"command\":[\"a\"],\"input\":\"{x}\",\"max_input\":0"),
     "/tools/0/max_input: expected"},
    {ONE("\"command\":[\"a\"],\"arguments\":[]"), "/tools/0/arguments: is an object"},
    {ONE("\"command\":[\"a\"],\"arguments\":{},\"schema\":{}"), "/tools/0/schema: "},
    {ONE("\"command\":[\"a\",\"{x}\"],\"schema\":{\"properties\":{\"x\":{}}}"),
     "/tools/0/schema/properties/x/type: is none"},
    {ONE("\"command\":[\"a\"],\"schema\":{\"type\":\"array\"}"), "/tools/0: "},
    {WITH("1"), "/tools/0/arguments/x: the value: expected an object"},
    {WITH("{}"), "/tools/0/arguments/x/type"},
    {WITH("{\"type\":\"object\"}"), "/tools/0/arguments/x/type: expected"},
    {WITH("{\"type\":\"string\",\"desciption\":\"\"}"),
     "/tools/0/arguments/x/desciption"},
    {WITH("{\"type\":\"string\",\"default\":1}"), "/tools/0/arguments/x/default: "},
    {WITH("{\"type\":\"string\",\"pattern\":\"(\"}"), "/tools/0/arguments/x"},
    {WITH("{\"type\":\"string\",\"when_true\":\"-x\"}"),
     "/tools/0/arguments/x/when_true: is for booleans"},
    {WITH("{\"type\":\"array\"}"), "/tools/0/arguments/x/items: "},
    {WITH("{\"type\":\"array\",\"items\":{\"type\":\"array\"}}"),
     "/tools/0/arguments/x/items: "},
    {ONE("\"command\":[\"a\",\"{x}{y}\"],\"arguments\":{\"x\":{\"type\":\"array\","
         "\"items\":{\"type\":\"string\"}},\"y\":{\"type\":\"array\",\"items\":"
         "{\"type\":\"string\"}}}"),
     "/tools/0/command/1: {y} is an array"},
    {ONE("\"command\":[\"a\"],\"input\":\"{x}\",\"arguments\":{\"x\":{\"type\":"
         "\"array\",\"items\":{\"type\":\"string\"}}}"),
     "/tools/0/input: {x} is an array"},
    {ONE("\"command\":[\"/bin/sh\",\"-ec\",\"ls {x}\"],\"arguments\":{\"x\":"
         "{\"type\":\"string\"}}"),
     "/tools/0/command/2: a shell would read"},
    {ONE("\"command\":[\"env\",\"bash\",\"-c\",\"-e\",\"ls '{x}'\"],\"arguments\":"
         "{\"x\":{\"type\":\"string\"}}"),
     "/tools/0/command/4: a shell would read"},
    {ONE("\"command\":[\"{x}\"],\"arguments\":{\"x\":{\"type\":\"string\"}}"),
     "/tools/0/command/0: must be"},
    {"{\"tools\":[{\"name\":\"a\",\"command\":[\"a\"]},"
     "{\"name\":\"a\",\"command\":[\"b\"]}]}",
     "/tools/1: "},
    {"{\"tools\":[{\"name\":\"a b\",\"command\":[\"a\"]}]}", "/tools/0: "},
};

static void
write_file(char name[64], const char *text, size_t length)
{
    int fd;

    (void)snprintf(name, 64, "/tmp/shell-test-XXXXXX");
    fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, length), (ssize_t)length);
    close(fd);
}

static void
what_is_wrong_is_said_with_its_place(void **state)
{
    static char said[4096];
    char name[64];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const char *const arguments[] = {name, NULL};
        int status;

        write_file(name, wrong[i].text, strlen(wrong[i].text));
        status = program_run(arguments, said, sizeof(said));
        unlink(name);
        if (status != 1 || !strstr(said, wrong[i].said))
            fail_msg("%s: status %d, %s", wrong[i].text, status, said);
    }
}

static void
a_file_that_is_not_there_or_too_long_is_refused(void **state)
{
    static const char *const missing[] = {"/nowhere/at-all", NULL};
    static char text[1 << 20], said[4096];
    char name[64];
    const char *const longer[] = {name, NULL};

    (void)state;
    assert_int_equal(program_run(missing, said, sizeof(said)), 1);
    assert_non_null(strstr(said, "No such file"));
    memset(text, ' ', sizeof(text));
    write_file(name, text, sizeof(text));
    assert_int_equal(program_run(longer, said, sizeof(said)), 1);
    unlink(name);
    assert_non_null(strstr(said, "longer than"));
}

static void
other_command_lines_show_how_it_is_used(void **state)
{
    static const char *const lines[][4] = {
        {NULL},
        {"--http", NULL},
        {"--http", "127.0.0.1:0", NULL},
        {"--http", "127.0.0.1:65536", "file"},
        {"--http", "nowhere", "file"},
        {"one", "two", NULL},
    };
    static char said[4096];

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        const char *const words[] = {lines[i][0], lines[i][1], lines[i][2], NULL};

        assert_int_equal(program_run(words, said, sizeof(said)), 2);
        assert_non_null(strstr(said, "usage: shell-tools"));
    }
}

/* ---- the sample ----------------------------------------------------------------- */

static void
clients_see_a_schema_of_the_arguments(void **state)
{
    const mcp_json *tool, *schema, *files;
    mcp_reply *reply;
    struct program p;

    program_open(&p, *state, SAMPLE);
    assert_int_equal(mcp_client_list_tools(p.client, NULL, NULL, &reply, NULL), 0);
    tool = mcp_json_find(mcp_reply_items(reply), "name", "grep");
    schema = mcp_json_get(tool, "inputSchema");
    assert_int_equal(mcp_json_count(mcp_json_get(schema, "required")), 1);
    assert_true(mcp_json_is_string(mcp_json_at(mcp_json_get(schema, "required"), 0),
                                   "pattern"));
    assert_false(mcp_json_bool(mcp_json_get(schema, "additionalProperties"), true));
    files = mcp_json_get(mcp_json_get(schema, "properties"), "files");
    assert_true(mcp_json_is_string(mcp_json_get(files, "type"), "array"));
    assert_null(mcp_json_get(files, "optional"));
    assert_non_null(mcp_json_get(tool, "outputSchema"));
    assert_true(mcp_json_bool(
        mcp_json_get(mcp_json_get(tool, "annotations"), "readOnlyHint"), false));
    mcp_reply_free(reply);
    program_close(&p);
}

static void
the_sample_is_of_use(void **state)
{
    struct program p;

    program_open(&p, *state, SAMPLE);
    program_expect(&p, "grep",
                   "{\"pattern\":\"-THE_SAMPLE_IS\",\"folder\":\"" SERVERS
                   "\",\"files\":[\"*_test.c\",\"*.h\"],\"ignore_case\":true}",
                   false, "shell_file_test.c");
    program_expect(&p, "grep", "{\"pattern\":\"^[z]{9}$\",\"folder\":\"" SERVERS "\"}",
                   false, "\"exit_code\":1");
    program_expect(&p, "disk_usage", "{\"folders\":[\"" SERVERS "\"],\"depth\":0}",
                   false, SERVERS);
    program_expect(&p, "disk_usage", "{\"folders\":[\"--version\"]}", true,
                   "--version");
    program_expect(&p, "count_words", "{\"text\":\"three small words\"}", false, " 3 ");
    program_expect(&p, "largest_files", "{\"folder\":\"" SERVERS "\",\"count\":100}",
                   false, "shell_file_test.c");
    program_expect(&p, "largest_files", "{\"folder\":\"-delete\"}", true, "/folder");
    program_expect(&p, "git_log",
                   "{\"repository\":\"/\",\"branch\":\"--output=/tmp/x\"}", true,
                   "branch must not begin");
    program_expect(&p, "run", "{\"script\":\"pwd\"}", false, "/tmp");
    program_close(&p);
}

TEST_MAIN(TEST(what_is_wrong_is_said_with_its_place),
          TEST(a_file_that_is_not_there_or_too_long_is_refused),
          TEST(other_command_lines_show_how_it_is_used),
          IN_BOTH_ERAS(clients_see_a_schema_of_the_arguments),
          IN_BOTH_ERAS(the_sample_is_of_use))
