/* cli/config_entry_test.c - proves cli/config_entry.c: an entry becomes a target */
#include <stdlib.h>
#include <string.h>

#include "cli/config_entry.h"
#include "home.h"

struct read {
    struct cli_target target;
    struct cli_text shown, fault;
};

static struct read
read_in(const char *text, bool is_project)
{
    const struct cli_config_place place = {"/project/shop", is_project,
                                           CLI_VARIABLES_BRACES, NULL};
    struct read read = {{0}, {0}, {0}};
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    assert_int_equal(cli_config_entry_read(mcp_doc_root(doc), &place, &read.target,
                                           &read.shown, &read.fault),
                     0);
    mcp_doc_free(doc);
    return read;
}

static void
read_done(struct read *read)
{
    cli_target_done(&read->target);
    cli_text_done(&read->shown);
    cli_text_done(&read->fault);
}

static void
assert_fault(const char *text, const char *expected)
{
    struct read read = read_in(text, false);

    assert_string_equal(cli_text_string(&read.fault), expected);
    assert_null(read.target.argv);
    assert_null(read.target.url);
    read_done(&read);
}

static void
a_command_has_arguments_variables_and_a_folder(void **state)
{
    struct read read = read_in(
        "{\"command\":\"srv\",\"args\":[\"-y\",\"${MCPCTL_TEST}\","
        "8080,true],\"env\":{\"A\":\"x=${MCPCTL_TEST}\",\"B\":1,"
        "\"C\":null},\"cwd\":\"/there\"}",
        false);

    (void)state;
    assert_int_equal(read.fault.length, 0);
    assert_int_equal(read.target.kind, CLI_TARGET_COMMAND);
    assert_string_equal(read.target.argv[0], "srv");
    assert_string_equal(read.target.argv[2], "set");
    assert_string_equal(read.target.argv[3], "8080");
    assert_string_equal(read.target.argv[4], "true");
    assert_null(read.target.argv[5]);
    assert_string_equal(read.target.env[0], "A=x=set");
    assert_string_equal(read.target.env[1], "B=1");
    assert_null(read.target.env[2]);
    assert_string_equal(read.target.cwd, "/there");
    read_done(&read);
}

static void
a_url_has_headers(void **state)
{
    struct read read = read_in(
        "{\"type\":\"http\",\"url\":\"https://h/${MCPCTL_TEST}?k\","
        "\"headers\":{\"Authorization\":\"Bearer "
        "${MCPCTL_TEST}\"}}",
        true);

    (void)state;
    assert_int_equal(read.fault.length, 0);
    assert_int_equal(read.target.kind, CLI_TARGET_URL);
    assert_string_equal(read.target.url, "https://h/set?k");
    assert_string_equal(read.target.headers[0], "Authorization: Bearer set");
    assert_null(read.target.headers[1]);
    assert_null(read.target.cwd);
    read_done(&read);
}

static void
each_program_has_its_own_name_for_the_address(void **state)
{
    static const char *const texts[] = {
        "{\"url\":\"http://h\"}",
        "{\"serverUrl\":\"http://h\"}",
        "{\"httpUrl\":\"http://h\",\"url\":\"http://other\",\"command\":\"x\"}",
        "{\"type\":\"sse\",\"url\":\"http://h\",\"command\":\"x\"}",
        "{\"type\":\"streamable-http\",\"url\":\"http://h\"}",
        "{\"type\":\"streamableHttp\",\"url\":\"http://h\"}",
    };
    size_t i;

    (void)state;
    for (i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct read read = read_in(texts[i], false);

        assert_string_equal(read.target.url, "http://h");
        read_done(&read);
    }
}

static void
the_type_says_which_of_two_is_meant(void **state)
{
    struct read read = read_in(
        "{\"type\":\"stdio\",\"url\":\"http://h\",\"command\":\"x\"}", false);

    (void)state;
    assert_string_equal(read.target.argv[0], "x");
    read_done(&read);
    read = read_in("{\"url\":\"http://h\",\"command\":\"x\"}", false);
    assert_string_equal(read.target.argv[0], "x");
    read_done(&read);
    assert_fault("{\"type\":\"http\",\"command\":\"x\"}",
                 "has neither a command nor an address");
}

static void
a_server_of_a_project_runs_in_its_folder(void **state)
{
    struct read read = read_in("{\"command\":\"./x\"}", true);

    (void)state;
    assert_string_equal(read.target.cwd, "/project/shop");
    assert_string_equal(read.target.argv[0], "./x");
    read_done(&read);
    read = read_in("{\"command\":\"x\",\"cwd\":\"sub\"}", true);
    assert_string_equal(read.target.cwd, "/project/shop/sub");
    read_done(&read);
    read = read_in("{\"command\":\"x\"}", false);
    assert_null(read.target.cwd);
    read_done(&read);
}

static void
a_tilde_is_the_home_in_command_and_cwd(void **state)
{
    struct read read = read_in("{\"command\":\"~/x\",\"cwd\":\"~/y\"}", false);

    (void)state;
    assert_string_equal(read.target.argv[0], home_path("home/x"));
    assert_string_equal(read.target.cwd, home_path("home/y"));
    read_done(&read);
}

static void
what_is_shown_has_no_secrets_of_the_environment(void **state)
{
    struct read read = read_in(
        "{\"command\":\"srv\",\"args\":[\"${MCPCTL_TEST}\",\"a b\"]}", false);

    (void)state;
    assert_string_equal(cli_text_string(&read.shown), "srv '${MCPCTL_TEST}' 'a b'");
    read_done(&read);
    read = read_in("{\"url\":\"https://u:p@h/${MCPCTL_UNSET}?key=1\"}", false);
    assert_string_equal(cli_text_string(&read.shown), "https://h/${MCPCTL_UNSET}");
    assert_true(read.fault.length > 0);
    read_done(&read);
}

static void
what_cannot_be_used_says_why(void **state)
{
    (void)state;
    assert_fault("{}", "has neither a command nor an address");
    assert_fault("[]", "is no object");
    assert_fault("null", "is no object");
    assert_fault("{\"command\":\"\"}", "has nothing in command");
    assert_fault("{\"command\":[\"x\"]}", "has something that is no text in command");
    assert_fault("{\"command\":\"a\\u0000b\"}",
                 "has something that is no text in command");
    assert_fault("{\"type\":\"ws\",\"url\":\"ws://h\"}",
                 "has a type that mcpctl does not know: ws");
    assert_fault("{\"type\":1,\"url\":\"ws://h\"}",
                 "has a type that mcpctl does not know: it is no text");
    assert_fault("{\"url\":\"ws://h\"}", "has no http:// or https:// address in url");
    assert_fault("{\"url\":\"http://h\\n\"}",
                 "has no http:// or https:// address in url");
    assert_fault("{\"command\":\"x\",\"args\":[\"${MCPCTL_UNSET}\"]}",
                 "needs the variable MCPCTL_UNSET, which is not set");
}

static void
parts_of_the_wrong_type_are_faults(void **state)
{
    (void)state;
    assert_fault("{\"command\":\"x\",\"args\":\"y\"}", "has no list in args");
    assert_fault("{\"command\":\"x\",\"args\":[{}]}",
                 "has something that is no text in args");
    assert_fault("{\"command\":\"x\",\"env\":[]}", "has no object in env");
    assert_fault("{\"command\":\"x\",\"env\":{\"A\":[]}}",
                 "has something that is no text in env");
    assert_fault("{\"command\":\"x\",\"env\":{\"A=B\":\"\"}}",
                 "has a name that cannot be one in env");
    assert_fault("{\"command\":\"x\",\"cwd\":1}",
                 "has something that is no text in cwd");
    assert_fault("{\"url\":\"http://h\",\"headers\":{\"a b\":\"\"}}",
                 "has a name that cannot be one in headers");
    assert_fault("{\"url\":\"http://h\",\"headers\":{\"a\":\"x\\r\\nb: y\"}}",
                 "has control characters in headers");
}

static void
null_is_as_if_it_were_not_there(void **state)
{
    struct read read = read_in("{\"type\":null,\"url\":null,\"command\":\"x\","
                               "\"args\":null,\"env\":null,\"cwd\":null}",
                               false);

    (void)state;
    assert_int_equal(read.fault.length, 0);
    assert_string_equal(read.target.argv[0], "x");
    read_done(&read);
}

static void
entries_can_be_disabled(void **state)
{
    static const struct {
        const char *text;
        bool is_disabled;
    } cases[] = {{"{\"disabled\":true}", true},
                 {"{\"disabled\":false}", false},
                 {"{\"enabled\":false}", true},
                 {"{\"disabled\":\"yes\"}", false},
                 {"[]", false}};
    size_t i;

    (void)state;
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        mcp_doc *doc;

        assert_int_equal(
            mcp_doc_parse(cases[i].text, strlen(cases[i].text), NULL, &doc, NULL), 0);
        assert_int_equal(cli_config_entry_is_disabled(mcp_doc_root(doc)),
                         cases[i].is_disabled);
        mcp_doc_free(doc);
    }
}

static void
variables_may_stand_in_a_file(void **state)
{
    struct read read;

    (void)state;
    home_write("home/vars.env", "# mine\nexport A='a b'\nB=1\n");
    read = read_in("{\"command\":\"srv\",\"envFile\":\"~/vars.env\",\"env\":{"
                   "\"B\":\"2\"}}",
                   true);
    assert_int_equal(read.fault.length, 0);
    assert_string_equal(read.target.env[0], "A=a b");
    assert_string_equal(read.target.env[1], "B=1");
    assert_string_equal(read.target.env[2], "B=2"); /* the last one counts */
    assert_null(read.target.env[3]);
    read_done(&read);
    read = read_in("{\"command\":\"srv\",\"envFile\":\"\"}", true);
    assert_int_equal(read.fault.length, 0);
    read_done(&read);
}

static void
a_file_of_variables_that_is_none_is_a_fault(void **state)
{
    (void)state;
    home_write("home/bad.env", "A=1\nwhat is this\n");
    home_write_n("home/nul.env", "A=1\0B", 5);
    assert_fault("{\"command\":\"x\",\"envFile\":\"~/none.env\"}",
                 "has an envFile that cannot be read: ~/none.env");
    assert_fault("{\"command\":\"x\",\"envFile\":\"/dev/zero\"}",
                 "has an envFile that cannot be used: /dev/zero is passed over: it is "
                 "not a file");
    assert_fault("{\"command\":\"x\",\"envFile\":\"~/nul.env\"}",
                 "has an envFile that cannot be read: ~/nul.env");
    assert_fault("{\"command\":\"x\",\"envFile\":\"~/bad.env\"}",
                 "has an envFile with a line that sets no variable");
    assert_fault("{\"command\":\"x\",\"envFile\":1}",
                 "has something that is no text in envFile");
}

static void
letters_of_a_scheme_may_be_large(void **state)
{
    struct read read = read_in("{\"url\":\"HTTPS://h/mcp\"}", false);

    (void)state;
    assert_int_equal(read.fault.length, 0);
    assert_string_equal(read.target.url, "HTTPS://h/mcp");
    read_done(&read);
}

static void
numbers_are_shown_as_they_are_written(void **state)
{
    struct read read = read_in("{\"command\":\"x\",\"args\":[8080,true,\"y\"]}", false);

    (void)state;
    assert_string_equal(cli_text_string(&read.shown), "x 8080 true y");
    read_done(&read);
}

TEST_MAIN_AFTER(home_enter, TEST(a_command_has_arguments_variables_and_a_folder),
                TEST(a_url_has_headers),
                TEST(each_program_has_its_own_name_for_the_address),
                TEST(the_type_says_which_of_two_is_meant),
                TEST(a_server_of_a_project_runs_in_its_folder),
                TEST(a_tilde_is_the_home_in_command_and_cwd),
                TEST(what_is_shown_has_no_secrets_of_the_environment),
                TEST(what_cannot_be_used_says_why),
                TEST(parts_of_the_wrong_type_are_faults),
                TEST(null_is_as_if_it_were_not_there), TEST(entries_can_be_disabled),
                TEST(variables_may_stand_in_a_file),
                TEST(a_file_of_variables_that_is_none_is_a_fault),
                TEST(letters_of_a_scheme_may_be_large),
                TEST(numbers_are_shown_as_they_are_written))
