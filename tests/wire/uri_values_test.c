/* wire/uri_values_test.c - proves wire/uri_values.c: texts, lists and maps of a URI */
#include "wire/uri_rows.h"

static void
missing_variables_are_not_there(void **state)
{
    (void)state;
    ASSERT_ROWS({"x{a}", "x", "{}"}, {"x{/a,b}", "x/1", "{'a':'1'}"},
                {"x{/a,b}", "x/", "{'a':''}"}, {"{/a*,b}", "/1,2", "{'b':['1','2']}"},
                {"{a,b}", ",", "{'a':'','b':''}"}, {"x{?a,b}", "x", "{}"},
                {"x{?a,b}", "x?b=2", "{'b':'2'}"});
}

static void
number_of_missing_variables_is_told(void **state)
{
    mcp_uri_template *t = make("x{/a,b}{?c,a}");
    mcp_doc *doc = NULL;
    size_t missing = 99;

    (void)state;
    assert_int_equal(mcp_uri_template_match(t, "y", 1, &doc, &missing, NULL), 0);
    assert_null(doc);
    assert_int_equal(missing, 99);
    assert_int_equal(mcp_uri_template_match(t, "x/1", 3, &doc, &missing, NULL), 0);
    assert_int_equal(missing, 2);
    mcp_doc_free(doc);
    mcp_uri_template_free(t);
}

static void
lists_come_back(void **state)
{
    (void)state;
    ASSERT_ROWS(
        {"{l}", "a,b%2C,", "{'l':['a','b,','']}"}, {"{l*}", "a,b", "{'l':['a','b']}"},
        {"{l*}", "a", "{'l':['a']}"}, {"{/l*}", "/a/b/", "{'l':['a','b','']}"},
        {"{/l}", "/a,b", "{'l':['a','b']}"}, {"{/l}", "/a/b", NULL},
        {"{.l*}", ".a.b", "{'l':['a','b']}"}, {"{.l}", ".a.b", "{'l':'a.b'}"},
        {"{.a,b}", ".1024.768", "{'a':'1024','b':'768'}"},
        {"{a,b}", "1,2,3", "{'a':'1','b':['2','3']}"},
        {"{?l}", "?l=a,b", "{'l':['a','b']}"}, {"{?l*}", "?l=a&l=b", "{'l':['a','b']}"},
        {"{;l*}", ";l=a;l", "{'l':['a','']}"}, {"{+l*}", "a,/b", "{'l':['a','/b']}"});
}

static void
maps_come_back(void **state)
{
    (void)state;
    ASSERT_ROWS(
        {"{m*}", "a=1,b%3D=", "{'m':{'a':'1','b=':''}}"}, {"{m*}", "a=1,b", NULL},
        {"{m}", "a,1", "{'m':['a','1']}"},
        {"{/m*}", "/a=1/b=2", "{'m':{'a':'1','b':'2'}}"},
        {"{#m*}", "#semi=;,dot=.,comma=,", "{'m':{'semi':';','dot':'.','comma':','}}"},
        {"{?m*}", "?a=1&b=", "{'m':{'a':'1','b':''}}"},
        {"{;m*}", ";a=1;b", "{'m':{'a':'1','b':''}}"},
        {"{?m*}", "?a=1&m=2", "{'m':{'a':'1','m':'2'}}"}, {"{?m*}", "?a=1&a=2", NULL},
        {"{m*}", "a=1,a=2", NULL});
}

static void
pairs_come_in_any_order(void **state)
{
    (void)state;
    ASSERT_ROWS(
        {"{?a,b}", "?b=2&a=1", "{'a':'1','b':'2'}"}, {"{?a,b}", "?a=1&c=3", NULL},
        {"{?a}", "?a=1&a=2", NULL}, {"{?a}", "?a", "{'a':''}"}, {"{?a}", "?", NULL},
        {"{?a,ab}", "?ab=1&a=2", "{'a':'2','ab':'1'}"},
        {"{;a,b}", ";b;a=1", "{'a':'1','b':''}"}, {"?x=1{&a}", "?x=1&a=2", "{'a':'2'}"},
        {"{?a,b}{&c}", "?a=1&b=2&c=3", "{'a':'1','b':'2','c':'3'}"},
        {"{?a,m*}", "?x=1&a=2&y=3", "{'a':'2','m':{'x':'1','y':'3'}}"},
        {"{?a,m*}", "?a=1&a=2", "{'a':'1','m':{'a':'2'}}"},
        {"{?a,m*}", "?a=1&a=2,3", NULL});
}

static void
prefix_tells_only_short_values(void **state)
{
    (void)state;
    ASSERT_ROWS({"{a:3}", "ab", "{'a':'ab'}"}, {"{a:3}", "abc", "{}"},
                {"{a:2}", "%C3%A4", "{'a':'\xC3\xA4'}"},
                {"{a:1}/{a}", "v/value", "{'a':'value'}"},
                {"{a:1}/{a}", "x/value", NULL}, {"{a:1}/{a}", "x/x,y", NULL},
                {"{a:1}/{a}", "va/value", NULL}, {"{a}/{a:3}", "ab/a", NULL},
                {"{a:1}/{a:1}", "x/y", NULL}, {"{a:1}/{a:1}", "x/x", "{}"},
                {"{a:1}/{a:4}", "v/val", "{'a':'val'}"});
}

static void
prefix_longer_than_it_may_be_does_not_match(void **state)
{
    (void)state;
    ASSERT_ROWS({"{a:3}", "abcd", NULL}, {"{?a:2}", "?a=xyz", NULL},
                {"{a:1}", "%C3%A4", "{}"}, {"{a:1}", "%C3%A4a", NULL},
                {"{a:2}/{a:4}", "abc/abc", NULL},
                {"{a:2}/{a:4}", "ab/abc", "{'a':'abc'}"});
}

static void
variable_that_stands_twice_has_one_value(void **state)
{
    (void)state;
    ASSERT_ROWS({"{a}/{a}", "1/1", "{'a':'1'}"}, {"{a}/{a}", "1/2", NULL},
                {"{a}/{a}", "1,2/1,2", "{'a':['1','2']}"}, {"{a}/{a}", "1,2/1,3", NULL},
                {"{a}{?a}", "1?a=1", "{'a':'1'}"}, {"{a}/{a}", "1/", "{'a':'1'}"},
                {"{m*}/{m*}", "a=1/a=1", "{'m':{'a':'1'}}"},
                {"{m*}/{m*}", "a=1/b=1", NULL}, {"{?a,m*}{#m*}", "?a=1&a=2#b=2", NULL},
                {"{?a,m*}{#m*}", "?a=1&a=2#a=2", "{'a':'1','m':{'a':'2'}}"},
                {"{m*}/{m*}", "a=1/1", NULL});
}

TEST_MAIN(TEST(missing_variables_are_not_there),
          TEST(number_of_missing_variables_is_told), TEST(lists_come_back),
          TEST(maps_come_back), TEST(pairs_come_in_any_order),
          TEST(prefix_tells_only_short_values),
          TEST(prefix_longer_than_it_may_be_does_not_match),
          TEST(variable_that_stands_twice_has_one_value))
