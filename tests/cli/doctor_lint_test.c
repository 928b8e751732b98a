/* doctor_lint_test.c - proves cli/doctor_lint.c: tools that are right, and wrong */
#include <stdio.h>
#include <string.h>

#include "cli/doctor.h"
#include "support/test.h"

#define OBJECT "{\"type\":\"object\"}"

static void
check(void (*rule)(const mcp_json *, struct cli_finding *), const char *text,
      enum cli_verdict verdict, const char *seen)
{
    struct cli_finding finding = {0};
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    rule(mcp_doc_root(doc), &finding);
    assert_int_equal(finding.verdict, verdict);
    assert_non_null(strstr(cli_text_string(&finding.seen), seen));
    assert_int_equal(finding.mend.length > 0,
                     verdict == CLI_WARN || verdict == CLI_FAIL);
    cli_finding_done(&finding);
    mcp_doc_free(doc);
}

static void
names_are_of_few_letters_and_there_once(void **state)
{
    (void)state;
    check(cli_lint_tool_names, "[{\"name\":\"a.B-9_\"},{\"name\":\"b\"}]", CLI_PASS,
          "2 tools");
    check(cli_lint_tool_names, "[{\"name\":\"\"}]", CLI_FAIL, "no name");
    check(cli_lint_tool_names, "[{}]", CLI_FAIL, "(no name)");
    check(cli_lint_tool_names, "[{\"name\":\"a\"},{\"name\":\"a\"}]", CLI_FAIL,
          "a is the name of two");
}

/* The specification only advises against them. */
static void
other_letters_in_a_name_are_a_warning(void **state)
{
    (void)state;
    check(cli_lint_tool_names, "[{\"name\":\"a b\"}]", CLI_WARN, "\"a b\" is no name");
    check(cli_lint_tool_names, "[{\"name\":\"a\\u0000\"}]", CLI_WARN, "no name");
    check(cli_lint_tool_names, "[{\"name\":\"a b\"},{}]", CLI_FAIL,
          "\"a b\" is no name");
}

/* In the time of a test: comparing each with each would take minutes. */
static void
a_long_list_is_looked_through_at_once(void **state)
{
    const size_t count = 300000;
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc;
    char name[32];

    (void)state;
    mcp_builder_begin_array(b, NULL);
    for (size_t i = 0; i <= count; i++) {
        (void)snprintf(name, sizeof(name), "tool-%zu", i % count);
        mcp_builder_begin_object(b, NULL);
        mcp_builder_string(b, "name", name);
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
    assert_int_equal(mcp_builder_parse(b, &doc), 0);
    assert_string_equal(cli_twice(mcp_doc_root(doc), "name"), "tool-0");
    assert_null(cli_twice(mcp_doc_root(doc), "title"));
    mcp_doc_free(doc);
    mcp_builder_free(b);
}

static void
what_says_nothing_of_itself_is_a_warning(void **state)
{
    (void)state;
    check(cli_lint_tool_texts,
          "[{\"name\":\"a\",\"description\":\"x\",\"inputSchema\":{\"properties\":"
          "{\"p\":{\"description\":\"y\"},\"q\":{\"$ref\":\"#/x\"}}}}]",
          CLI_PASS, "have descriptions");
    check(cli_lint_tool_texts, "[{\"name\":\"a\"}]", CLI_WARN, "a has no description");
    check(cli_lint_tool_texts,
          "[{\"name\":\"a\",\"description\":\"x\",\"inputSchema\":{\"properties\":"
          "{\"p\":{}}}}]",
          CLI_WARN, "a does not describe its argument p");
}

static void
input_schemas_are_of_objects_and_compile(void **state)
{
    (void)state;
    check(cli_lint_tool_inputs, "[{\"name\":\"a\",\"inputSchema\":" OBJECT "}]",
          CLI_PASS, "can be used");
    check(cli_lint_tool_inputs, "[{\"name\":\"a\"}]", CLI_FAIL, "is no object");
    check(cli_lint_tool_inputs, "[{\"name\":\"a\",\"inputSchema\":{}}]", CLI_FAIL,
          "must have type");
    check(cli_lint_tool_inputs,
          "[{\"name\":\"a\",\"inputSchema\":{\"type\":\"object\",\"$ref\":\"#/no\"}}]",
          CLI_FAIL, "a: inputSchema cannot be used");
}

static void
output_schemas_are_checked_where_they_are(void **state)
{
    (void)state;
    check(cli_lint_tool_outputs, "[{\"name\":\"a\"}]", CLI_SKIP, "No tool");
    check(cli_lint_tool_outputs, "[{\"name\":\"a\",\"outputSchema\":" OBJECT "}]",
          CLI_PASS, "1 output schema,");
    check(cli_lint_tool_outputs, "[{\"name\":\"a\",\"outputSchema\":{\"type\":3}}]",
          CLI_FAIL, "a: outputSchema cannot be used");
}

static void
many_complaints_are_counted_and_few_shown(void **state)
{
    struct cli_complaints all = {0};
    struct cli_finding finding = {0};

    (void)state;
    for (int i = 0; i < 8; i++)
        cli_complain(&all, "fault %d", i);
    cli_complaints_found(&all, CLI_WARN, &finding, "fine");
    assert_string_equal(cli_text_string(&finding.seen),
                        "fault 0; fault 1; fault 2; fault 3; fault 4; and 3 more.");
    cli_finding_done(&finding);
}

TEST_MAIN(TEST(names_are_of_few_letters_and_there_once),
          TEST(other_letters_in_a_name_are_a_warning),
          TEST(a_long_list_is_looked_through_at_once),
          TEST(what_says_nothing_of_itself_is_a_warning),
          TEST(input_schemas_are_of_objects_and_compile),
          TEST(output_schemas_are_checked_where_they_are),
          TEST(many_complaints_are_counted_and_few_shown))
