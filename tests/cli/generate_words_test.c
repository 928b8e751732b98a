/* cli/generate_words_test.c - proves cli/generate_words.c: words, and no noise */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/program.h"

#define WORDS(...) RUN("generate", "words", __VA_ARGS__)

static void
check(struct ran ran, int code, const char *out)
{
    assert_string_equal(ran.out, out);
    assert_string_equal(ran.err, "");
    assert_int_equal(ran.code, code);
    ran_done(&ran);
}

static void
names_of_a_server_come_one_a_line(void **state)
{
    struct ran ran = WORDS("tools", "--", PROBE);

    (void)state;
    assert_int_equal(ran.code, 0);
    assert_non_null(strstr(ran.out, "\necho\nhang\n"));
    assert_string_equal(ran.err, "");
    ran_done(&ran);
    check(WORDS("resources", PROBE), 0, "watch://0\nwatch://1\nwatch://2\n");
}

static void
arguments_are_those_of_the_schema(void **state)
{
    (void)state;
    check(WORDS("tool-arguments", PROBE, "echo"), 0, "text=\n");
    check(WORDS("tool-arguments", PROBE, "nothing"), 0, "");
}

static void
failure_is_silent(void **state)
{
    (void)state;
    check(WORDS("tools", "/nothing/here"), 4, "");
    check(WORDS("tools", "'"), 1, "");
    check(WORDS("tools"), 1, "");
    check(WORDS("nonsense", PROBE), 1, "");
    check(RUN("generate", "words"), 1, "");
}

static void
configured_servers_are_offered(void **state)
{
    static const char *const words[] = {"generate", "words", "servers", NULL};

    (void)state;
    (void)scratch_file(".mcp.json",
                       "{\"mcpServers\": {\"notes\": {\"command\": \"x\"}, "
                       "\"bad\": {}}}");
    assert_int_equal(chdir(scratch()), 0);
    check(run_mcpctl(words), 0, "notes\n");
    assert_int_equal(chdir("/"), 0);
}

TEST_MAIN(TEST(names_of_a_server_come_one_a_line),
          TEST(arguments_are_those_of_the_schema), TEST(failure_is_silent),
          TEST(configured_servers_are_offered))
