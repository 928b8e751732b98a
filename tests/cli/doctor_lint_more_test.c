/* doctor_lint_more_test.c - proves cli/doctor_lint_more.c: what is right, and wrong */
#include <string.h>

#include "cli/doctor.h"
#include "support/test.h"

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
    cli_finding_done(&finding);
    mcp_doc_free(doc);
}

static void
resources_have_uris_of_their_own(void **state)
{
    (void)state;
    check(cli_lint_resources, "[{\"uri\":\"file:///a\",\"name\":\"a\"}]", CLI_PASS,
          "1 resources");
    check(cli_lint_resources, "[{\"uri\":\"a/b\",\"name\":\"a\"}]", CLI_FAIL,
          "\"a/b\" is no URI");
    check(cli_lint_resources, "[{\"uri\":\"x:a b\",\"name\":\"a\"}]", CLI_FAIL,
          "no URI");
    check(cli_lint_resources, "[{\"uri\":\"x:a\"}]", CLI_FAIL, "x:a has no name");
    check(cli_lint_resources,
          "[{\"uri\":\"x:a\",\"name\":\"a\"},{\"uri\":\"x:a\",\"name\":\"b\"}]",
          CLI_FAIL, "x:a is there twice");
}

static void
templates_can_be_parsed(void **state)
{
    (void)state;
    check(cli_lint_templates, "[{\"uriTemplate\":\"x:{+a}\"}]", CLI_PASS, "1 template");
    check(cli_lint_templates, "[{\"uriTemplate\":\"x:{a\"}]", CLI_FAIL, "x:{a: ");
    check(cli_lint_templates, "[{}]", CLI_FAIL, "no uriTemplate");
}

static void
prompts_and_their_arguments_have_names_of_their_own(void **state)
{
    (void)state;
    check(cli_lint_prompts,
          "[{\"name\":\"a\",\"arguments\":[{\"name\":\"x\"},{\"name\":\"y\"}]}]",
          CLI_PASS, "1 prompts");
    check(cli_lint_prompts, "[{\"name\":\"a\"},{\"name\":\"a\"}]", CLI_FAIL,
          "two prompts");
    check(cli_lint_prompts,
          "[{\"name\":\"a\",\"arguments\":[{\"name\":\"x\"},{\"name\":\"x\"}]}]",
          CLI_FAIL, "a has two arguments named x");
    check(cli_lint_prompts, "[{}]", CLI_FAIL, "no name");
}

TEST_MAIN(TEST(resources_have_uris_of_their_own), TEST(templates_can_be_parsed),
          TEST(prompts_and_their_arguments_have_names_of_their_own))
