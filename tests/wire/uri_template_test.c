/* wire/uri_template_test.c - proves wire/uri_template.c: what a template is */
#include "wire/uri_template.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

static mcp_uri_template *
make(const char *text)
{
    mcp_uri_template *t = NULL;
    mcp_error err = {0};

    if (mcp_uri_template_new(text, NULL, &t, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return t;
}

static void
assert_refused(const char *text, const char *message)
{
    mcp_uri_template *t = NULL;
    mcp_error err = {0};

    assert_int_equal(mcp_uri_template_new(text, NULL, &t, &err), MCP_E_INVAL);
    assert_string_equal(err.message, message);
    assert_null(t);
}

static void
template_is_literals_and_expressions(void **state)
{
    mcp_uri_template *t = make("a/{x}{+y:30,z*}b");

    (void)state;
    assert_string_equal(mcp_uri_template_text(t), "a/{x}{+y:30,z*}b");
    assert_int_equal(t->part_count, 4);
    assert_null(t->parts[0].form);
    assert_int_equal(t->parts[0].len, 2);
    assert_int_equal(t->parts[1].form->mark, '\0');
    assert_int_equal(t->parts[2].form->mark, '+');
    assert_int_equal(t->parts[2].count, 2);
    assert_int_equal(t->variables[1].prefix, 30);
    assert_true(t->variables[2].explode && !t->variables[1].explode);
    mcp_uri_template_free(t);
}

static void
names_are_listed_once_in_order(void **state)
{
    mcp_uri_template *t = make("{b}{/a,b}{?a.c_1,%41x:5}{&a*}");

    (void)state;
    assert_int_equal(mcp_uri_template_count(t), 4);
    assert_string_equal(mcp_uri_template_name(t, 0), "b");
    assert_string_equal(mcp_uri_template_name(t, 1), "a");
    assert_string_equal(mcp_uri_template_name(t, 2), "a.c_1");
    assert_string_equal(mcp_uri_template_name(t, 3), "%41x");
    assert_null(mcp_uri_template_name(t, 4));
    mcp_uri_template_free(t);
}

static void
null_has_no_text_and_no_names(void **state)
{
    (void)state;
    assert_null(mcp_uri_template_text(NULL));
    assert_int_equal(mcp_uri_template_count(NULL), 0);
    assert_null(mcp_uri_template_name(NULL, 0));
    mcp_uri_template_free(NULL);
}

static void
empty_text_is_a_template(void **state)
{
    mcp_uri_template *t = make("");

    (void)state;
    assert_int_equal(t->part_count, 0);
    mcp_uri_template_free(t);
}

static void
braces_must_pair(void **state)
{
    (void)state;
    assert_refused("{", "not a URI template: a variable without a name at byte 1");
    assert_refused("a{b", "not a URI template: a brace that is not closed at byte 1");
    assert_refused("a}", "not a URI template: a brace that closes nothing at byte 1");
    assert_refused("{a{b}}",
                   "not a URI template: a character that no variable has at byte 2");
}

static void
names_must_be_names(void **state)
{
    (void)state;
    assert_refused("{}", "not a URI template: a variable without a name at byte 1");
    assert_refused("{?}", "not a URI template: a variable without a name at byte 2");
    assert_refused("{a,}", "not a URI template: a variable without a name at byte 3");
    assert_refused("{.a..b}",
                   "not a URI template: a variable without a name at byte 4");
    assert_refused("{a.}", "not a URI template: a variable without a name at byte 3");
    assert_refused("{a b}",
                   "not a URI template: a character that no variable has at byte 2");
    assert_refused("{a-b}",
                   "not a URI template: a character that no variable has at byte 2");
    assert_refused("{%4}", "not a URI template: a variable without a name at byte 1");
}

static void
modifiers_must_be_modifiers(void **state)
{
    static const char message[] =
        "not a URI template: a prefix that is not from 1 to 9999 at byte 2";

    (void)state;
    assert_refused("{a:}", message);
    assert_refused("{a:0}", message);
    assert_refused("{a:01}", message);
    assert_refused("{a:10000}", message);
    assert_refused("{a:x}", message);
    assert_refused("{a:3*}",
                   "not a URI template: a character that no variable has at byte 4");
    assert_refused("{a*:3}",
                   "not a URI template: a character that no variable has at byte 3");
    mcp_uri_template_free(make("{a:9999}"));
}

static void
reserved_operators_are_refused(void **state)
{
    char text[] = "{?a}";

    (void)state;
    for (const char *mark = "=,!@|"; *mark; mark++) {
        text[1] = *mark;
        assert_refused(text,
                       "not a URI template: an operator that is reserved at byte 1");
    }
}

static void
characters_no_uri_has_are_refused(void **state)
{
    char text[] = "a?{x}";

    (void)state;
    for (const char *c = " \"<>\\^`|%\x01\x7F"; *c; c++) {
        text[1] = *c;
        assert_refused(text,
                       "not a URI template: a character that no URI has at byte 1");
    }
    assert_refused("\xFF", "not a URI template: no UTF-8 text");
    mcp_uri_template_free(make("\xC3\xA4%20'!"));
}

static void
limits_are_kept(void **state)
{
    static char text[MCP_URI_TEMPLATE_LENGTH_MAX + 2];
    mcp_uri_template *t = NULL;
    mcp_error err;

    (void)state;
    memset(text, 'a', MCP_URI_TEMPLATE_LENGTH_MAX + 1);
    assert_int_equal(mcp_uri_template_new(text, NULL, &t, &err), MCP_E_LIMIT);
    assert_string_equal(err.message, "a URI template longer than 4096 bytes");
    text[0] = '\0';
    for (size_t i = 0; i < MCP_URI_EXPRESSIONS_MAX; i++)
        strcat(text, "{a}");
    mcp_uri_template_free(make(text));
    strcat(text, "{a}");
    assert_int_equal(mcp_uri_template_new(text, NULL, &t, &err), MCP_E_LIMIT);
    assert_string_equal(err.message, "a URI template of more than 64 expressions");
    strcpy(text, "{a");
    for (size_t i = 0; i < MCP_URI_VARIABLES_MAX; i++)
        strcat(text, ",a");
    strcat(text, "}");
    assert_int_equal(mcp_uri_template_new(text, NULL, &t, &err), MCP_E_LIMIT);
    assert_string_equal(err.message, "a URI template of more than 128 variables");
}

static void
arguments_are_checked(void **state)
{
    mcp_uri_template *t = NULL;

    (void)state;
    assert_int_equal(mcp_uri_template_new(NULL, NULL, &t, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_uri_template_new("a", NULL, NULL, NULL), MCP_E_INVAL);
}

static void
units_are_characters_or_triplets(void **state)
{
    static const char text[] = "a%41%2f/\xC3%7E";
    const mcpi_uri_unit wanted[] = {'a', 'A', 0x12F, '/', 0x1C3, '~'};
    mcpi_uri_unit units[sizeof text];
    size_t count = 0;

    (void)state;
    assert_int_equal(mcpi_uri_read(text, strlen(text), units, &count), strlen(text));
    assert_int_equal(count, 6);
    assert_memory_equal(units, wanted, sizeof wanted);
    assert_int_equal(mcpi_uri_read("ab%4", 4, units, &count), 2);
    assert_int_equal(mcpi_uri_read("ab%4g", 5, units, &count), 2);
    assert_int_equal(mcpi_uri_read("a b", 3, units, &count), 1);
    assert_int_equal(mcpi_uri_read("a\0b", 3, units, &count), 1);
}

static void
make_flow(struct test_mem *mem, void *user)
{
    mcp_uri_template *t = NULL;
    mcp_error err = {0};
    int r = mcp_uri_template_new("http://a/{x,y*}{/z*}{?a,b*}", &mem->allocator, &t,
                                 &err);

    (void)user;
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(err.status, r);
    mcp_uri_template_free(t);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(make_flow, NULL) >= 8);
}

TEST_MAIN(TEST(template_is_literals_and_expressions),
          TEST(names_are_listed_once_in_order), TEST(null_has_no_text_and_no_names),
          TEST(empty_text_is_a_template), TEST(braces_must_pair),
          TEST(names_must_be_names), TEST(modifiers_must_be_modifiers),
          TEST(reserved_operators_are_refused), TEST(characters_no_uri_has_are_refused),
          TEST(limits_are_kept), TEST(arguments_are_checked),
          TEST(units_are_characters_or_triplets), TEST(each_allocation_may_fail))
