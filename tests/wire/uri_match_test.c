/* wire/uri_match_test.c - proves wire/uri_match.c: what matches, in linear time */
#include <stdio.h>
#include <string.h>

#include "wire/uri_rows.h"

static void
literals_match_themselves(void **state)
{
    (void)state;
    ASSERT_ROWS({"", "", "{}"}, {"", "a", NULL}, {"a/b", "a/b", "{}"},
                {"a/b", "a/bc", NULL}, {"a/b", "a/", NULL}, {"a~", "a%7e", "{}"},
                {"a%2Fb", "a%2fb", "{}"}, {"a%2Fb", "a/b", NULL},
                {"\xC3\xA4", "%C3%A4", "{}"}, {"%C3%A4", "\xC3\xA4", "{}"});
}

static void
plain_values_are_decoded(void **state)
{
    (void)state;
    ASSERT_ROWS({"file:///{path}", "file:///a.txt", "{'path':'a.txt'}"},
                {"{a}", "%C3%A4%2F%20\xC3\xA4", "{'a':'\xC3\xA4/ \xC3\xA4'}"},
                {"{a}", "x/y", NULL}, {"{a}/x", "b/x", "{'a':'b'}"},
                {"u/{a}/p/{b}", "u/1/p/2", "{'a':'1','b':'2'}"},
                {"u/{a}/p/{b}", "u/1/q/2", NULL}, {"{a}", "%00", "{'a':'\\u0000'}"});
}

static void
broken_encoding_does_not_match(void **state)
{
    (void)state;
    ASSERT_ROWS({"{a}", "%", NULL}, {"{a}", "%4", NULL}, {"{a}", "%zz", NULL},
                {"{a}", "%FF", NULL}, {"{a}", "%C3", NULL}, {"{a}", "\xFF", NULL},
                {"{a}", "a b", NULL}, {"{+a}", "a\"b", NULL},
                {"{a}{b}", "%C3%A4", "{'b':'\xC3\xA4'}"}, {"{?m*}", "?%FF=1", NULL},
                {"{?m*}", "?a%00=1", NULL});
}

static void
reserved_values_take_everything(void **state)
{
    (void)state;
    ASSERT_ROWS({"file://{+path}", "file:///a/b?c", "{'path':'/a/b?c'}"},
                {"{+a}/{b}", "x/y/z", "{'a':'x/y','b':'z'}"},
                {"{+a}/here", "/foo/bar/here", "{'a':'/foo/bar'}"},
                {"x{#f}", "x#a,b", "{'f':'a,b'}"}, {"x{#f}", "x#", "{'f':''}"},
                {"{+a,b}", "1,2", "{'a':'1','b':'2'}"}, {"{+a}", "x,y", "{'a':'x,y'}"},
                {"{+a}", "a%2Fb", "{'a':'a/b'}"});
}

static void
left_expression_takes_as_little_as_it_can(void **state)
{
    (void)state;
    ASSERT_ROWS(
        {"{a}{b}", "xyz", "{'b':'xyz'}"}, {"{a}-{b}", "1-2-3", "{'a':'1','b':'2-3'}"},
        {"{a}-{b}-", "1-2-3-", "{'a':'1','b':'2-3'}"},
        {"{+a}.{+b}", "x.y.z", "{'a':'x','b':'y.z'}"}, {"{/a}{/b}", "/1", "{'a':'1'}"},
        {"{/a}{/b}", "/1/2", "{'a':'1','b':'2'}"}, {"{a}{?b}", "?b=1", "{'b':'1'}"});
}

/* ---- effort ---------------------------------------------------------------- */

static size_t
steps_of(const mcp_uri_template *t, const char *uri, size_t len, bool *ret_matches)
{
    mcp_doc *doc = NULL;
    size_t steps = 0;

    assert_int_equal(mcpi_uri_match(t, uri, len, &doc, NULL, &steps), 0);
    *ret_matches = doc != NULL;
    mcp_doc_free(doc);
    return steps;
}

/* Twice the URI is at most twice the steps, whether it matches or not. */
static void
assert_linear(const char *text, const char *unit, const char *end, bool matches)
{
    static char uri[MCP_URI_MATCH_LENGTH_MAX + 1];
    mcp_uri_template *t = make(text);
    size_t before = 0, bound;
    bool found;

    for (size_t len = 256; len <= 4096; len *= 2) {
        size_t steps, used = 0;

        while (used + strlen(unit) <= len)
            used += (size_t)sprintf(uri + used, "%s", unit);
        used += (size_t)sprintf(uri + used, "%s", end);
        steps = steps_of(t, uri, used, &found);
        bound = (used + 1) * (2 * t->program.step_count + t->program.unit_count + 9);
        assert_int_equal(found, matches);
        assert_in_range(steps, 1, bound);
        if (before && steps > before * 2 + bound / used * 20)
            fail_msg("%s: %zu steps, then %zu", text, before, steps);
        before = steps;
    }
    mcp_uri_template_free(t);
}

static void
hostile_uris_take_linear_time(void **state)
{
    (void)state;
    assert_linear("{+a}{+b}{+c}{+d}{+e}{+f}{+g}{+h}x", "a", "y", false);
    assert_linear("{+a}a{+b}a{+c}a{+d}a{+e}a{+f}a{+g}ab", "a", "", false);
    assert_linear("{a}{b}{c}{d}{e}{f}{g}{h}{i}{j}!", "a", "", false);
    assert_linear("{+a}aaaaaaaaaaaaaaaaaaaaaaab{+b}", "a", "", false);
    assert_linear("{+a*}{+b*}{+c*}{+d*}!x", "a=b,", "", false);
    assert_linear("{?a,b,aa,ab*}{&c*}{&d*}", "&a=1", "", false);
    assert_linear("{.a*,b*,c*}{.d*}", ".", "!", false);
    assert_linear("{.a*,b*,c*}{.d*}", ".x", "", true);
    assert_linear("{+a}/{+b}/{c}", "/", "", true);
    assert_linear("{l}", ",", "", true);
}

static void
longest_uri_and_largest_template_end(void **state)
{
    static char uri[MCP_URI_MATCH_LENGTH_MAX + 2];
    char text[MCP_URI_TEMPLATE_LENGTH_MAX] = "";
    mcp_uri_template *t;
    mcp_doc *doc = NULL;
    mcp_error err;
    bool found;

    (void)state;
    for (int i = 0; i < MCP_URI_EXPRESSIONS_MAX; i++)
        strcat(text, "{+a,b*}");
    t = make(text);
    memset(uri, ',', sizeof uri);
    assert_true(steps_of(t, uri, MCP_URI_MATCH_LENGTH_MAX, &found) < 100000000);
    assert_int_equal(
        mcp_uri_template_match(t, uri, MCP_URI_MATCH_LENGTH_MAX + 1, &doc, NULL, &err),
        MCP_E_LIMIT);
    assert_string_equal(err.message, "a URI to match longer than 8192 bytes");
    mcp_uri_template_free(t);
}

static void
other_beginning_is_refused_at_once(void **state)
{
    mcp_uri_template *t = make("file:///{+path}");
    bool found;

    (void)state;
    assert_true(steps_of(t, "http://example", 14, &found) < 10);
    assert_false(found);
    mcp_uri_template_free(t);
}

static void
arguments_are_checked(void **state)
{
    mcp_uri_template *t = make("{a}");
    mcp_doc *doc = NULL;

    (void)state;
    assert_int_equal(mcp_uri_template_match(NULL, "", 0, &doc, NULL, NULL),
                     MCP_E_INVAL);
    assert_int_equal(mcp_uri_template_match(t, NULL, 0, &doc, NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_uri_template_match(t, "", 0, NULL, NULL, NULL), MCP_E_INVAL);
    mcp_uri_template_free(t);
}

static void
match_flow(struct test_mem *mem, void *user)
{
    static const char uri[] = "a/1,2?x=1&y=2&z=3";
    mcp_uri_template *t = NULL;
    mcp_doc *doc = NULL;
    mcp_error err = {0};
    int r = mcp_uri_template_new("a/{l}{?x,m*}", &mem->allocator, &t, &err);

    (void)user;
    if (r == 0)
        r = mcp_uri_template_match(t, uri, strlen(uri), &doc, NULL, &err);
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(err.status, r);
    assert_int_equal(doc != NULL, r == 0);
    mcp_doc_free(doc);
    mcp_uri_template_free(t);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(match_flow, NULL) >= 15);
}

TEST_MAIN(TEST(literals_match_themselves), TEST(plain_values_are_decoded),
          TEST(broken_encoding_does_not_match), TEST(reserved_values_take_everything),
          TEST(left_expression_takes_as_little_as_it_can),
          TEST(hostile_uris_take_linear_time),
          TEST(longest_uri_and_largest_template_end),
          TEST(other_beginning_is_refused_at_once), TEST(arguments_are_checked),
          TEST(each_allocation_may_fail))
