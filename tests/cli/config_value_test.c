/* cli/config_value_test.c - proves cli/config_value.c: what variables become */
#include <stdlib.h>
#include <string.h>

#include "cli/config_value.h"
#include "home.h"

#define BRACES CLI_VARIABLES_BRACES

/* The value, or "FAULT " and why there is none. */
static const char *
value_in(const char *text, enum cli_config_variables variables, const mcp_json *inputs)
{
    const struct cli_config_place place = {
        .folder = "/project/shop", .variables = variables, .inputs = inputs};
    static char shown[1024];
    struct cli_text into = {0}, fault = {0};

    if (cli_config_value(text, &place, &into, &fault)) {
        assert_int_equal(fault.length, 0);
        snprintf(shown, sizeof shown, "%s", cli_text_string(&into));
    } else {
        assert_true(fault.length > 0);
        snprintf(shown, sizeof shown, "FAULT %s", cli_text_string(&fault));
    }
    cli_text_done(&into);
    cli_text_done(&fault);
    return shown;
}

static const char *
value(const char *text, enum cli_config_variables variables)
{
    return value_in(text, variables, NULL);
}

static void
variables_in_braces_are_filled_in(void **state)
{
    (void)state;
    assert_string_equal(value("a${MCPCTL_TEST}b", BRACES), "asetb");
    assert_string_equal(value("${env:MCPCTL_TEST}${MCPCTL_TEST}", BRACES), "setset");
    assert_string_equal(value("", BRACES), "");
}

static void
a_variable_that_is_set_to_nothing_is_set(void **state)
{
    (void)state;
    assert_string_equal(value("a${MCPCTL_EMPTY}b", BRACES), "ab");
}

static void
a_variable_that_is_not_set_is_a_fault(void **state)
{
    (void)state;
    assert_string_equal(value("${MCPCTL_UNSET}", BRACES),
                        "FAULT needs the variable MCPCTL_UNSET, which is not set");
    assert_string_equal(value("${env:MCPCTL_UNSET}", BRACES),
                        "FAULT needs the variable MCPCTL_UNSET, which is not set");
    assert_memory_equal(value("${env:}", BRACES), "FAULT", 5);
}

static void
a_default_stands_in_for_what_is_not_set_or_empty(void **state)
{
    (void)state;
    assert_string_equal(value("${MCPCTL_UNSET:-x y}", BRACES), "x y");
    assert_string_equal(value("${MCPCTL_EMPTY:-x}", BRACES), "x");
    assert_string_equal(value("${MCPCTL_TEST:-x}", BRACES), "set");
    assert_string_equal(value("a${MCPCTL_UNSET:-}b", BRACES), "ab");
}

static void
folders_of_an_editor_are_known(void **state)
{
    char expected[600];

    (void)state;
    assert_string_equal(value("${workspaceFolder}/x", BRACES), "/project/shop/x");
    assert_string_equal(value("${workspaceFolderBasename}", BRACES), "shop");
    assert_string_equal(value("a${/}b${pathSeparator}c", BRACES), "a/b/c");
    snprintf(expected, sizeof expected, "%s/x", home_path("home"));
    assert_string_equal(value("${userHome}/x", BRACES), expected);
}

static void
what_only_another_program_can_answer_is_a_fault(void **state)
{
    (void)state;
    assert_string_equal(value("${input:api-key}", BRACES),
                        "FAULT asks for the input api-key, which only its own program "
                        "can answer");
    assert_string_equal(value("${command:x.y}", BRACES),
                        "FAULT uses ${command:x.y}, which only its own program knows");
}

static void
what_is_declared_is_left_to_be_asked_for(void **state)
{
    static const char inputs[] = "[{\"type\":\"promptString\",\"id\":\"key\"},"
                                 "{\"type\":\"command\",\"id\":\"other\"}]";
    mcp_doc *doc;

    (void)state;
    assert_int_equal(mcp_doc_parse(inputs, strlen(inputs), NULL, &doc, NULL), 0);
    assert_string_equal(value_in("a ${input:key}", BRACES, mcp_doc_root(doc)),
                        "a ${input:key}");
    assert_memory_equal(value_in("${input:ke}", BRACES, mcp_doc_root(doc)), "FAULT", 5);
    assert_memory_equal(value_in("${input:}", BRACES, mcp_doc_root(doc)), "FAULT", 5);
    assert_memory_equal(value_in("${input:other}", BRACES, mcp_doc_root(doc)), "FAULT",
                        5);
    mcp_doc_free(doc);
}

static void
other_dollars_stay(void **state)
{
    (void)state;
    assert_string_equal(value("$ $1 ${1} ${} ${a b} ${x", BRACES),
                        "$ $1 ${1} ${} ${a b} ${x");
    assert_string_equal(value("$MCPCTL_TEST", BRACES), "$MCPCTL_TEST");
    assert_string_equal(value("cost $", CLI_VARIABLES_ALL), "cost $");
    assert_string_equal(value("$1", CLI_VARIABLES_ALL), "$1");
}

static void
names_without_braces_are_filled_in_where_they_mean_that(void **state)
{
    (void)state;
    assert_string_equal(value("$MCPCTL_TEST.x", CLI_VARIABLES_ALL), "set.x");
    assert_string_equal(value("${MCPCTL_TEST}$MCPCTL_TEST", CLI_VARIABLES_ALL),
                        "setset");
    assert_string_equal(value("$MCPCTL_UNSET", CLI_VARIABLES_ALL),
                        "FAULT needs the variable MCPCTL_UNSET, which is not set");
}

static void
nothing_is_filled_in_where_a_dollar_is_a_dollar(void **state)
{
    (void)state;
    assert_string_equal(value("${MCPCTL_TEST} $MCPCTL_UNSET", CLI_VARIABLES_NONE),
                        "${MCPCTL_TEST} $MCPCTL_UNSET");
}

static void
what_a_terminal_would_obey_is_not_in_a_fault(void **state)
{
    (void)state;
    assert_string_equal(value("${input:a\x1B[2Jb\nc}", BRACES),
                        "FAULT asks for the input ab c, which only its own program can "
                        "answer");
}

static void
a_value_that_grows_too_long_is_a_fault(void **state)
{
    size_t length = CLI_CONFIG_VALUE_MAX;
    char *text = calloc(1, length + 2);

    (void)state;
    assert_non_null(text);
    memset(text, 'x', length);
    assert_int_equal(value(text, BRACES)[0], 'x');
    text[length] = 'x';
    assert_string_equal(value(text, BRACES), "FAULT has a value that is too long");
    assert_string_equal(value(text, CLI_VARIABLES_NONE),
                        "FAULT has a value that is too long");
    free(text);
}

static void
many_variables_that_are_not_closed_take_no_time(void **state)
{
    size_t length = 16 << 20, i;
    char *text = calloc(1, length + 1);

    (void)state;
    assert_non_null(text);
    for (i = 0; i < length; i += 2)
        memcpy(text + i, "${", 2);
    assert_string_equal(value(text, CLI_VARIABLES_ALL),
                        "FAULT has a value that is too long");
    text[length - 1] = '}';
    assert_string_equal(value(text, CLI_VARIABLES_ALL),
                        "FAULT has a value that is too long");
    free(text);
}

TEST_MAIN_AFTER(home_enter, TEST(variables_in_braces_are_filled_in),
                TEST(a_variable_that_is_set_to_nothing_is_set),
                TEST(a_variable_that_is_not_set_is_a_fault),
                TEST(a_default_stands_in_for_what_is_not_set_or_empty),
                TEST(folders_of_an_editor_are_known),
                TEST(what_only_another_program_can_answer_is_a_fault),
                TEST(what_is_declared_is_left_to_be_asked_for),
                TEST(other_dollars_stay),
                TEST(names_without_braces_are_filled_in_where_they_mean_that),
                TEST(nothing_is_filled_in_where_a_dollar_is_a_dollar),
                TEST(what_a_terminal_would_obey_is_not_in_a_fault),
                TEST(a_value_that_grows_too_long_is_a_fault),
                TEST(many_variables_that_are_not_closed_take_no_time))
