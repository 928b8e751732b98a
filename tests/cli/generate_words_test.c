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
    const char *url = probe_http();
    struct ran ran = WORDS("tools", "--", url);

    (void)state;
    assert_int_equal(ran.code, 0);
    assert_non_null(strstr(ran.out, "\necho\nhang\n"));
    assert_string_equal(ran.err, "");
    ran_done(&ran);
    check(WORDS("resources", url), 0, "watch://0\nwatch://1\nwatch://2\n");
    probe_stop();
}

static void
arguments_are_those_of_the_schema(void **state)
{
    const char *url = probe_http();

    (void)state;
    check(WORDS("tool-arguments", url, "echo"), 0, "text=\n");
    check(WORDS("tool-arguments", url, "nothing"), 0, "");
    probe_stop();
}

/* Its file says what is sent, and that may be a secret. */
static void
a_server_that_a_project_names_is_not_asked(void **state)
{
    char config[512];

    (void)state;
    (void)snprintf(config, sizeof(config),
                   "{\"mcpServers\": {\"web\": {\"url\": \"%s\"}}}", probe_http());
    (void)scratch_file(".mcp.json", config);
    check(WORDS("tools", "web"), 0, "");
    probe_stop();
}

/* Neither a command line, nor what a project's file says. */
static void
nothing_is_run_while_a_user_types(void **state)
{
    char ran[512], command[1024], config[2048];

    (void)state;
    (void)snprintf(ran, sizeof(ran), "%s/ran", scratch());
    (void)snprintf(command, sizeof(command), "touch %s", ran);
    (void)snprintf(config, sizeof(config),
                   "{\"mcpServers\": {\"notes\": {\"command\": \"touch\", "
                   "\"args\": [\"%s\"]}}}",
                   ran);
    check(WORDS("tools", command), 0, "");
    (void)scratch_file(".mcp.json", config);
    assert_int_equal(chdir(scratch()), 0);
    check(WORDS("tools", "notes"), 0, "");
    check(WORDS("tool-arguments", "notes", "echo"), 0, "");
    assert_int_equal(chdir("/"), 0);
    assert_int_equal(access(ran, F_OK), -1);
    (void)snprintf(command, sizeof(command), "%s/.mcp.json", scratch());
    assert_int_equal(unlink(command), 0);
}

static void
failure_is_silent(void **state)
{
    (void)state;
    check(WORDS("tools", "unix:/nothing/here"), 4, "");
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
          TEST(arguments_are_those_of_the_schema),
          TEST(a_server_that_a_project_names_is_not_asked),
          TEST(nothing_is_run_while_a_user_types), TEST(failure_is_silent),
          TEST(configured_servers_are_offered))
