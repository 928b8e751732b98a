/* wire/uri_expand_test.c - proves wire/uri_expand.c: what templates expand to */
#include <stdlib.h>
#include <string.h>

#include "support/test.h"
#include "wire/uri_template.h"

static mcp_doc *
parse(const char *text)
{
    mcp_doc *doc = NULL;

    if (mcp_doc_parse(text, strlen(text), NULL, &doc, NULL) < 0)
        fail_msg("not JSON: %s", text);
    return doc;
}

static char *
expand(const char *text, const mcp_json *variables)
{
    mcp_uri_template *t = NULL;
    char *uri = NULL;
    mcp_error err;
    size_t len = 0;

    if (mcp_uri_template_new(text, NULL, &t, &err) < 0 ||
        mcp_uri_template_expand(t, variables, NULL, &uri, &len, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    assert_int_equal(strlen(uri), len);
    mcp_uri_template_free(t);
    return uri;
}

struct row {
    const char *text;
    const char *uri;
};

static void
assert_rows(const char *variables, const struct row *rows)
{
    mcp_doc *doc = parse(variables);

    for (; rows->text; rows++) {
        char *uri = expand(rows->text, mcp_doc_root(doc));

        if (strcmp(uri, rows->uri) != 0)
            fail_msg("%s: %s", rows->text, uri);
        mcp_text_free(uri, NULL);
    }
    mcp_doc_free(doc);
}

#define COMMON                                                               \
    "{\"word\":\"value\",\"text\":\"50% of \\u00e4/b!\",\"none\":\"\","      \
    "\"list\":[\"red\",\"gr en\",\"\"],\"map\":{\"a;\":\";\",\"b\":\"\"},"   \
    "\"null\":null,\"no_list\":[],\"no_map\":{},\"nulls\":[null],\"n\":-12," \
    "\"r\":1.5,\"t\":true,\"mixed\":[1,null,false],\"done\":\"a%2Fb%zz\"}"

static void
plain_expressions_encode_all_but_unreserved(void **state)
{
    static const struct row rows[] = {
        {"{word}", "value"},
        {"a{text}b", "a50%25%20of%20%C3%A4%2Fb%21b"},
        {"{none}", ""},
        {"{list}", "red,gr%20en,"},
        {"{list*}", "red,gr%20en,"},
        {"{map}", "a%3B,%3B,b,"},
        {"{map*}", "a%3B=%3B,b="},
        {"{word,none,word}", "value,,value"},
        {"{unknown,word,null}", "value"},
        {0},
    };

    (void)state;
    assert_rows(COMMON, rows);
}

static void
reserved_expressions_let_reserved_pass(void **state)
{
    static const struct row rows[] = {
        {"{+text}", "50%25%20of%20%C3%A4/b!"},
        {"{+done}", "a%2Fb%25zz"},
        {"{done}", "a%252Fb%25zz"},
        {"{#text}", "#50%25%20of%20%C3%A4/b!"},
        {"{#none}", "#"},
        {"{#unknown}", ""},
        {"{+map*}", "a;=;,b="},
        {"{#list,word}", "#red,gr%20en,,value"},
        {0},
    };

    (void)state;
    assert_rows(COMMON, rows);
}

static void
separators_are_those_of_the_operator(void **state)
{
    static const struct row rows[] = {
        {"X{.word,n}", "X.value.-12"},
        {"{/word,list}", "/value/red,gr%20en,"},
        {"{/list*}", "/red/gr%20en/"},
        {"X{.map*}", "X.a%3B=%3B.b="},
        {"{;word,none}", ";word=value;none"},
        {"{;list}", ";list=red,gr%20en,"},
        {"{;list*}", ";list=red;list=gr%20en;list"},
        {"{;map*}", ";a%3B=%3B;b"},
        {"{?word,none}", "?word=value&none="},
        {"{?map}", "?map=a%3B,%3B,b,"},
        {"{?map*}", "?a%3B=%3B&b="},
        {"?x{&word,list*}", "?x&word=value&list=red&list=gr%20en&list="},
        {0},
    };

    (void)state;
    assert_rows(COMMON, rows);
}

static void
undefined_values_leave_no_trace(void **state)
{
    static const struct row rows[] = {
        {"{null}{no_list}{no_map*}{nulls}", ""},
        {"{?null,no_list,no_map,nulls*}", ""},
        {"{/unknown}{.unknown}{;unknown}{&unknown}", ""},
        {"{?unknown,word}", "?word=value"},
        {0},
    };

    (void)state;
    assert_rows(COMMON, rows);
}

static void
numbers_and_booleans_are_text(void **state)
{
    static const struct row rows[] = {
        {"{n}/{r}/{t}", "-12/1.5/true"},
        {"{mixed}{?mixed*}", "1,false?mixed=1&mixed=false"},
        {"{n:2}", "-1"},
        {0},
    };

    (void)state;
    assert_rows(COMMON, rows);
}

static void
prefixes_count_characters(void **state)
{
    static const struct row rows[] = {
        {"{word:3}", "val"},
        {"{word:30}", "value"},
        {"{text:8}", "50%25%20of%20%C3%A4"},
        {"{+done:2}", "a%2F"},
        {"{done:2}", "a%25"},
        {"{?word:1,word}", "?word=v&word=value"},
        {0},
    };

    (void)state;
    assert_rows(COMMON, rows);
}

static void
literals_are_encoded_where_a_uri_needs_it(void **state)
{
    static const struct row rows[] = {{"\xC3\xA4%20'{word}'", "%C3%A4%20'value'"}, {0}};

    (void)state;
    assert_rows(COMMON, rows);
}

static void
no_variables_at_all_will_do(void **state)
{
    char *uri = expand("a{b}{?c}", NULL);

    (void)state;
    assert_string_equal(uri, "a");
    mcp_text_free(uri, NULL);
}

static void
pairs_are_variables_too(void **state)
{
    const mcp_uri_pair pairs[] = {{"a", "1 2"}, {"b", NULL}, {"c", ""}, {0}};
    mcp_uri_template *t = NULL;
    char *uri = NULL;
    mcp_error err;

    (void)state;
    assert_int_equal(mcp_uri_template_new("x/{a}{?b,c}", NULL, &t, NULL), 0);
    assert_int_equal(mcp_uri_template_expand_pairs(t, pairs, NULL, &uri, NULL, &err),
                     0);
    assert_string_equal(uri, "x/1%202?c=");
    mcp_text_free(uri, NULL);
    assert_int_equal(mcp_uri_template_expand_pairs(t,
                                                   (mcp_uri_pair[]){{"a", "\xFF"}, {0}},
                                                   NULL, &uri, NULL, &err),
                     MCP_E_INVAL);
    assert_string_equal(err.message, "variable 'a': a value that is not UTF-8");
    assert_int_equal(mcp_uri_template_expand_pairs(t, NULL, NULL, &uri, NULL, &err), 0);
    assert_string_equal(uri, "x/");
    mcp_text_free(uri, NULL);
    mcp_uri_template_free(t);
}

static void
assert_refused(const char *text, const char *variables, const char *message)
{
    mcp_uri_template *t = NULL;
    mcp_doc *doc = parse(variables);
    mcp_error err = {0};
    char *uri = NULL;

    assert_int_equal(mcp_uri_template_new(text, NULL, &t, NULL), 0);
    assert_int_equal(
        mcp_uri_template_expand(t, mcp_doc_root(doc), NULL, &uri, NULL, &err),
        MCP_E_INVAL);
    assert_string_equal(err.message, message);
    assert_null(uri);
    mcp_doc_free(doc);
    mcp_uri_template_free(t);
}

static void
values_that_cannot_be_expanded_are_refused_by_name(void **state)
{
    (void)state;
    assert_refused("{a}", "[]", "variables that are no object");
    assert_refused("{a}", "{\"a\":[[1]]}", "variable 'a': a list in a list or map");
    assert_refused("{a*}", "{\"a\":{\"b\":{}}}",
                   "variable 'a': a list in a list or map");
    assert_refused("{a:2}", "{\"a\":[1]}", "variable 'a': a prefix of a list or map");
    assert_refused("{?a:2}", "{\"a\":{\"b\":1}}",
                   "variable 'a': a prefix of a list or map");
}

static void
uri_beyond_its_length_is_refused(void **state)
{
    mcp_uri_template *t = NULL;
    size_t len = MCP_URI_LENGTH_MAX / 3 + 1;
    char *value = malloc(len + 1), *uri = NULL;

    (void)state;
    assert_non_null(value);
    memset(value, '!', len);
    value[len] = '\0';
    assert_int_equal(mcp_uri_template_new("{a}", NULL, &t, NULL), 0);
    assert_int_equal(mcp_uri_template_expand_pairs(t,
                                                   (mcp_uri_pair[]){{"a", value}, {0}},
                                                   NULL, &uri, NULL, NULL),
                     MCP_E_LIMIT);
    assert_int_equal(mcp_uri_template_expand(t, NULL, NULL, NULL, NULL, NULL),
                     MCP_E_INVAL);
    assert_int_equal(mcp_uri_template_expand(NULL, NULL, NULL, &uri, NULL, NULL),
                     MCP_E_INVAL);
    mcp_uri_template_free(t);
    free(value);
}

static void
expand_flow(struct test_mem *mem, void *user)
{
    mcp_uri_template *t = NULL;
    char *uri = NULL;
    mcp_error err = {0};
    int r;

    assert_int_equal(mcp_uri_template_new("{n}{?list*}{&text}", NULL, &t, NULL), 0);
    r = mcp_uri_template_expand(t, user, &mem->allocator, &uri, NULL, &err);
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(err.status, r);
    mcp_text_free(uri, &mem->allocator);
    mcp_uri_template_free(t);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_doc *doc = parse(COMMON);

    (void)state;
    assert_true(test_each_allocation_fails(expand_flow,
                                           (void *)(uintptr_t)mcp_doc_root(doc)) >= 2);
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(plain_expressions_encode_all_but_unreserved),
          TEST(reserved_expressions_let_reserved_pass),
          TEST(separators_are_those_of_the_operator),
          TEST(undefined_values_leave_no_trace), TEST(numbers_and_booleans_are_text),
          TEST(prefixes_count_characters),
          TEST(literals_are_encoded_where_a_uri_needs_it),
          TEST(no_variables_at_all_will_do), TEST(pairs_are_variables_too),
          TEST(values_that_cannot_be_expanded_are_refused_by_name),
          TEST(uri_beyond_its_length_is_refused), TEST(each_allocation_may_fail))
