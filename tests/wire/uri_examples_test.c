/* uri_examples_test.c - every example of RFC 6570, expanded and read back */
#include <stdio.h>
#include <string.h>

#include "support/data.h"
#include "support/test.h"
#include "wire/uri_template.h"

#define EXAMPLE_COUNT 189 /* sections 1.2, 2.4 and 3.2 */
#define EXAMPLE_MAX 400
#define NAME_MAX 100

struct example {
    const char *text;
    const mcp_json *variables;
    const mcp_json *expected; /* a string, or an array of those that are right */
    char name[NAME_MAX];
};

static struct example examples[EXAMPLE_MAX];
static size_t example_count;

static bool
is_expected(const mcp_json *expected, const char *uri)
{
    mcp_json_iterator it;

    if (mcp_json_is_string(expected, uri))
        return true;
    for (it = mcp_json_each(expected); mcp_json_next(&it);) {
        if (mcp_json_is_string(it.value, uri))
            return true;
    }
    return false;
}

/* What was read back expands to the same URI; a prefix cannot be read back. */
static void
assert_reads_back(const mcp_uri_template *t, const char *uri)
{
    mcp_doc *doc = NULL;
    char *again = NULL;

    assert_int_equal(mcp_uri_template_match(t, uri, strlen(uri), &doc, NULL, NULL), 0);
    assert_non_null(doc);
    if (!strchr(t->text, ':')) {
        assert_int_equal(
            mcp_uri_template_expand(t, mcp_doc_root(doc), NULL, &again, NULL, NULL), 0);
        assert_string_equal(again, uri);
    }
    mcp_text_free(again, NULL);
    mcp_doc_free(doc);
}

static void
example_expands_and_reads_back(void **state)
{
    const struct example *example = *state;
    mcp_uri_template *t = NULL;
    char *uri = NULL;

    assert_int_equal(mcp_uri_template_new(example->text, NULL, &t, NULL), 0);
    assert_int_equal(
        mcp_uri_template_expand(t, example->variables, NULL, &uri, NULL, NULL), 0);
    if (!is_expected(example->expected, uri))
        fail_msg("%s", uri);
    assert_reads_back(t, uri);
    mcp_text_free(uri, NULL);
    mcp_uri_template_free(t);
}

/* Of ours; MCP_TEST_DATA has at least one more. */
static void
all_examples_are_there(void **state)
{
    const size_t *own_count = *state;

    assert_int_equal(*own_count, EXAMPLE_COUNT);
    if (data_published(""))
        assert_true(example_count > EXAMPLE_COUNT);
}

static void
read_group(const mcp_json *group, const char *source, size_t before)
{
    mcp_json_iterator it;

    for (it = mcp_json_each(mcp_json_get(group, "testcases")); mcp_json_next(&it);) {
        struct example *example = &examples[example_count];

        if (example_count == EXAMPLE_MAX)
            return;
        example->text = mcp_json_string(mcp_json_at(it.value, 0), "");
        example->variables = mcp_json_get(group, "variables");
        example->expected = mcp_json_at(it.value, 1);
        snprintf(example->name, NAME_MAX, "%s.%zu %s", source, ++example_count - before,
                 example->text);
    }
}

/* NULL: there is no data, or it is not JSON. */
static mcp_doc *
read_examples(const char *path, const char *source)
{
    mcp_doc *doc = path ? data_read(path) : NULL;
    size_t before = example_count;
    mcp_json_iterator it;

    if (!doc)
        return NULL;
    for (it = mcp_json_each(mcp_doc_root(doc)); mcp_json_next(&it);)
        read_group(it.value, source, before);
    return doc;
}

int
main(void)
{
    static struct test_case cases[EXAMPLE_MAX + 1];
    mcp_doc *own = read_examples(data_own("uri-template.json"), "rfc_6570");
    size_t own_count = example_count;
    mcp_doc *published = read_examples(
        data_published("uri-template/spec-examples.json"), "published");
    int r;

    cases[0] = (struct test_case)TEST_AS("all_examples_are_there",
                                         all_examples_are_there, &own_count);
    for (size_t i = 0; i < example_count; i++)
        cases[i + 1] = (struct test_case)TEST_AS(
            examples[i].name, example_expands_and_reads_back, &examples[i]);
    r = test_main(__FILE__, cases, example_count + 1);
    mcp_doc_free(published);
    mcp_doc_free(own);
    return r;
}
