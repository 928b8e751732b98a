/* answered_test.c - what is an answer to which question */
#include "api/asking.h"

#include <string.h>

#include "support/test.h"

#define SCHEMA                                                                      \
    "{\"type\":\"object\",\"properties\":{\"name\":{\"type\":\"string\"},\"mail\":" \
    "{\"type\":\"string\",\"format\":\"email\"},\"age\":{\"type\":\"integer\","     \
    "\"minimum\":0},\"color\":{\"type\":\"string\",\"enum\":[\"red\",\"blue\"]}},"  \
    "\"required\":[\"name\"]}"

struct judged {
    enum mcpi_asked_kind kind;
    const char *answer;
    const char *fault; /* a part of the sentence; NULL: it is one */
};

static const struct judged answers[] = {
    {MCPI_ASKED_FORM, "{\"action\":\"accept\",\"content\":{\"name\":\"Ada\"}}", NULL},
    {MCPI_ASKED_FORM,
     "{\"action\":\"accept\",\"content\":{\"name\":\"A\",\"age\":3,\"color\":\"red\","
     "\"mail\":\"a@example.org\"}}",
     NULL},
    {MCPI_ASKED_FORM, "{\"action\":\"decline\"}", NULL},
    {MCPI_ASKED_FORM, "{\"action\":\"cancel\",\"content\":null}", NULL},
    {MCPI_ASKED_FORM, "{\"action\":\"accept\",\"content\":{\"name\":7}}", "/name"},
    {MCPI_ASKED_FORM, "{\"action\":\"accept\",\"content\":{}}", "name"},
    {MCPI_ASKED_FORM, "{\"action\":\"accept\"}", "name"},
    {MCPI_ASKED_FORM, "{\"action\":\"accept\",\"content\":[]}", "an object"},
    {MCPI_ASKED_FORM,
     "{\"action\":\"accept\",\"content\":{\"name\":\"A\",\"mail\":\"nobody\"}}",
     "/mail"},
    {MCPI_ASKED_FORM,
     "{\"action\":\"accept\",\"content\":{\"name\":\"A\",\"color\":\"green\"}}",
     "/color"},
    {MCPI_ASKED_FORM, "{\"action\":\"agree\"}", "action"},
    {MCPI_ASKED_FORM, "{\"content\":{\"name\":\"A\"}}", "action"},
    {MCPI_ASKED_FORM, "[]", "an object"},
    {MCPI_ASKED_URL, "{\"action\":\"accept\"}", NULL},
    {MCPI_ASKED_URL, "{\"action\":\"cancel\"}", NULL},
    {MCPI_ASKED_URL, "{}", "action"},
    {MCPI_ASKED_SAMPLE,
     "{\"role\":\"assistant\",\"model\":\"m\",\"content\":{\"type\":\"text\",\"text\":"
     "\"t\"}}",
     NULL},
    {MCPI_ASKED_SAMPLE, "{\"role\":\"assistant\",\"model\":\"m\",\"content\":[]}",
     NULL},
    {MCPI_ASKED_SAMPLE, "{\"role\":\"robot\",\"model\":\"m\",\"content\":{}}", "role"},
    {MCPI_ASKED_SAMPLE, "{\"role\":\"user\",\"model\":\"m\",\"content\":\"t\"}",
     "content"},
    {MCPI_ASKED_SAMPLE, "{\"role\":\"user\",\"content\":{}}", "model"},
    {MCPI_ASKED_ROOTS, "{\"roots\":[]}", NULL},
    {MCPI_ASKED_ROOTS, "{\"roots\":[{\"uri\":\"file:///a\"},{\"uri\":\"file:///b\"}]}",
     NULL},
    {MCPI_ASKED_ROOTS, "{\"roots\":[{\"name\":\"a\"}]}", "uri"},
    {MCPI_ASKED_ROOTS, "{\"roots\":{}}", "array"},
    {MCPI_ASKED_ROOTS, "{}", "array"},
};

static mcp_doc *
parse(const char *text)
{
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    return doc;
}

static void
answers_are_judged_by_what_was_asked(void **state)
{
    mcp_doc *schema = parse(SCHEMA), *doc;
    mcp_error why;
    int r;

    (void)state;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        doc = parse(answers[i].answer);
        memset(&why, 0, sizeof(why));
        r = mcpi_answer_check(NULL, answers[i].kind, mcp_doc_root(schema),
                              mcp_doc_root(doc), &why);
        if (!answers[i].fault
                ? r != 0
                : r != MCP_E_INVAL || !strstr(why.message, answers[i].fault))
            fail_msg("%s: %d %s", answers[i].answer, r, why.message);
        mcp_doc_free(doc);
    }
    mcp_doc_free(schema);
}

static void
a_form_that_wants_nothing_is_accepted_without_content(void **state)
{
    mcp_doc *schema = parse("{\"type\":\"object\",\"properties\":{}}");
    mcp_doc *doc = parse("{\"action\":\"accept\"}");

    (void)state;
    assert_int_equal(mcpi_answer_check(NULL, MCPI_ASKED_FORM, mcp_doc_root(schema),
                                       mcp_doc_root(doc), NULL),
                     0);
    mcp_doc_free(schema);
    mcp_doc_free(doc);
}

static void
flow(struct test_mem *mem, void *user)
{
    mcp_doc *doc = parse(user);
    mcp_doc *schema = parse("{\"type\":\"object\",\"properties\":{}}");
    int r = mcpi_answer_check(&mem->allocator, MCPI_ASKED_FORM, mcp_doc_root(schema),
                              mcp_doc_root(doc), NULL);

    assert_true(r == 0 || r == MCP_E_NOMEM);
    mcp_doc_free(doc);
    mcp_doc_free(schema);
}

static void
each_allocation_may_fail(void **state)
{
    char bare[] = "{\"action\":\"accept\"}";
    char full[] = "{\"action\":\"accept\",\"content\":{}}";

    (void)state;
    assert_true(test_each_allocation_fails(flow, bare) > 0);
    assert_true(test_each_allocation_fails(flow, full) > 0);
}

static void
nobody_has_answered_nothing(void **state)
{
    int into = 0;

    (void)state;
    assert_null(mcp_request_answer(NULL, "k"));
    assert_int_equal(mcp_request_action(NULL, "k"), MCP_UNANSWERED);
    assert_int_equal(mcp_request_bind_answer(NULL, "k", NULL, &into), MCP_E_INVAL);
}

TEST_MAIN(TEST(answers_are_judged_by_what_was_asked),
          TEST(a_form_that_wants_nothing_is_accepted_without_content),
          TEST(each_allocation_may_fail), TEST(nobody_has_answered_nothing))
