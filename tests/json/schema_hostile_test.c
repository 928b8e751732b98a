/* json/schema_hostile_test.c - hostile schemas and values end within their limits */
#include "json/schema.h"
#include "json/schema_fixture.h"

struct text {
    char *data;
    size_t len, room;
};

static void text_add(struct text *t, const char *format, ...) MCP_PRINTF(2, 3);

static void
text_add(struct text *t, const char *format, ...)
{
    char piece[200];
    va_list args;
    int n;

    va_start(args, format);
    n = vsnprintf(piece, sizeof piece, format, args);
    va_end(args);
    assert_in_range(n, 0, sizeof piece - 1);
    if (t->room <= t->len + (size_t)n) {
        t->room = 2 * (t->len + sizeof piece);
        t->data = realloc(t->data, t->room);
    }
    assert_non_null(t->data);
    memcpy(t->data + t->len, piece, (size_t)n + 1);
    t->len += (size_t)n;
}

/* What checking the value says; both texts are freed. */
static int
status_of(struct text schema_text, struct text value, mcp_error *err)
{
    mcp_schema *schema = schema_of(schema_text.data);
    mcp_schema_report *report = mcp_schema_report_new(NULL, 0);
    int r = check_text(schema, value.data, report, err);

    mcp_schema_report_free(report);
    mcp_schema_free(schema);
    free(schema_text.data);
    free(value.data);
    return r;
}

/* $defs 0 to levels - 1, each `keyword` of `width` references to the next, then `last`. */
static struct text
web(const char *keyword, int levels, int width, const char *last)
{
    struct text t = {0};

    text_add(&t, "{'$ref':'#/$defs/0','$defs':{");
    for (int i = 0; i < levels; i++) {
        text_add(&t, "'%d':{'%s':[", i, keyword);
        for (int j = 0; j < width; j++)
            text_add(&t, "%s{'$ref':'#/$defs/%d'}", j > 0 ? "," : "", i + 1);
        text_add(&t, "]},");
    }
    text_add(&t, "'%d':%s}}", levels, last);
    return t;
}

static struct text
one(const char *value)
{
    struct text t = {0};

    text_add(&t, "%s", value);
    return t;
}

static void
exponential_composition_is_given_up(void **state)
{
    mcp_error err = {0};

    (void)state;
    assert_int_equal(status_of(web("allOf", 60, 2, "true"), one("1"), &err),
                     MCP_E_LIMIT);
    assert_string_equal(err.message, "the schema takes too many steps");
    assert_int_equal(status_of(web("oneOf", 60, 2, "{'minimum':2}"), one("1"), &err),
                     MCP_E_LIMIT);
    assert_int_equal(status_of(web("anyOf", 60, 2, "{'minimum':2}"), one("1"), &err),
                     MCP_E_LIMIT);
}

static void
web_of_a_billion_branches_is_given_up(void **state)
{
    mcp_error err = {0};

    (void)state;
    assert_int_equal(status_of(web("allOf", 9, 10, "{'minimum':0}"), one("1"), &err),
                     MCP_E_LIMIT);
}

static void
unevaluated_with_exponential_branches_is_given_up(void **state)
{
    struct text schema = web("anyOf", 40, 2, "{'properties':{'a':true}}");
    mcp_error err = {0};

    (void)state;
    schema.data[schema.len - 1] = ',';
    text_add(&schema, "'unevaluatedProperties':false}");
    assert_int_equal(status_of(schema, one("{'a':1}"), &err), MCP_E_LIMIT);
}

static void
dynamic_circle_is_given_up(void **state)
{
    mcp_error err = {0};

    (void)state;
    assert_int_equal(
        status_of(one("{'$dynamicAnchor':'a','$dynamicRef':'#a'}"), one("1"), &err),
        MCP_E_LIMIT);
    assert_string_equal(err.message, "the schema is nested too deep");
    assert_int_equal(
        status_of(one("{'$schema':'https://json-schema.org/draft/2019-09/schema',"
                      "'$recursiveAnchor':true,'$recursiveRef':'#'}"),
                  one("1"), &err),
        MCP_E_LIMIT);
    assert_int_equal(status_of(one("{'if':{'$ref':'#'}}"), one("1"), &err), 0);
    assert_int_equal(status_of(one("{'if':{'$ref':'#'},'then':true}"), one("1"), &err),
                     MCP_E_LIMIT);
    assert_int_equal(
        status_of(one("{'dependentSchemas':{'a':{'$ref':'#'}}}"), one("{'a':1}"), &err),
        MCP_E_LIMIT);
}

static void
deep_schema_is_compiled_or_refused(void **state)
{
    struct text schema = {0};
    mcp_schema *compiled;

    (void)state;
    for (int i = 0; i < 255; i++)
        text_add(&schema, "{'not':");
    text_add(&schema, "true");
    for (int i = 0; i < 255; i++)
        text_add(&schema, "}");
    compiled = schema_of(schema.data);
    assert_int_equal(check_text(compiled, "1", NULL, NULL), MCP_E_INVAL);
    mcp_schema_free(compiled);
    free(schema.data);
}

static void
catastrophic_pattern_is_given_up(void **state)
{
    mcp_error err = {0};

    (void)state;
    assert_int_equal(
        status_of(one("{'pattern':'^(a+)+$'}"),
                  one("'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab'"), &err),
        MCP_E_LIMIT);
    assert_string_equal(err.message, "a pattern takes too much effort");
    assert_int_equal(status_of(one("{'patternProperties':{'^(a|a)*$':true}}"),
                               one("{'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab':1}"),
                               &err),
                     MCP_E_LIMIT);
}

static void
many_patterns_on_many_names_are_given_up(void **state)
{
    struct text schema = {0}, value = {0};
    mcp_error err = {0};

    (void)state;
    for (int i = 0; i < 500; i++)
        text_add(&schema, "%s'a%db':true", i > 0 ? "," : "{'patternProperties':{", i);
    text_add(&schema, "}}");
    for (int i = 0; i < 5000; i++)
        text_add(&value, "%s'x%d':1", i > 0 ? "," : "{", i);
    text_add(&value, "}");
    assert_int_equal(status_of(schema, value, &err), MCP_E_LIMIT);
}

static struct text
long_text(size_t len)
{
    struct text t = {malloc(len + 3), len + 2, 0};

    assert_non_null(t.data);
    memset(t.data, 'a', len + 2);
    t.data[0] = t.data[len + 1] = '\'';
    t.data[len + 2] = '\0';
    return t;
}

static void
long_texts_are_for_linear_patterns(void **state)
{
    mcp_error err = {0};

    (void)state;
    assert_int_equal(status_of(one("{'pattern':'^[a-z]*$'}"), long_text(5000000), &err),
                     0);
    assert_int_equal(status_of(one("{'pattern':'a*b'}"), long_text(5000000), &err),
                     MCP_E_LIMIT);
    assert_int_equal(status_of(one("{'pattern':'(a|b)$'}"), long_text(1000), &err), 0);
    assert_int_equal(status_of(one("{'pattern':'[a-z]'}"), long_text(300000), &err), 0);
}

static void
long_list_of_choices_for_many_values_is_given_up(void **state)
{
    struct text schema = {0}, value = {0};
    mcp_error err = {0};

    (void)state;
    for (int i = 0; i < 5000; i++) {
        text_add(&schema, "%s%d", i > 0 ? "," : "{'items':{'enum':[", i);
        text_add(&value, "%s4999", i > 0 ? "," : "[");
    }
    text_add(&schema, "]}}");
    text_add(&value, "]");
    assert_int_equal(status_of(schema, value, &err), MCP_E_LIMIT);
}

static void
bombs_of_repetition_are_refused_or_small(void **state)
{
    mcp_schema *schema = NULL;
    mcp_error err = {0};

    (void)state;
    assert_int_equal(
        compile_with("{'pattern':'(((a{999}){999}){999}){999}'}", NULL, &schema, &err),
        MCP_E_LIMIT);
    assert_string_equal(err.message,
                        "#/pattern is a pattern with repetitions that make "
                        "it too large, which is not supported");
}

/* `last` at the end of a web that nobody gets through: unless each step costs what it
 * takes, this takes minutes. */
static void
web_is_given_up(struct text last, struct text value)
{
    struct text schema = web("allOf", 60, 2, "");
    mcp_error err = {0};

    schema.len -= 2;
    schema.data = realloc(schema.data, schema.len + last.len + 3);
    assert_non_null(schema.data);
    memcpy(schema.data + schema.len, last.data, last.len);
    strcpy(schema.data + schema.len + last.len, "}}");
    free(last.data);
    assert_int_equal(status_of(schema, value, &err), MCP_E_LIMIT);
}

/* before, text, after */
static struct text
joined(const char *before, struct text middle, const char *after)
{
    size_t before_len = strlen(before);
    struct text t = {malloc(before_len + middle.len + strlen(after) + 1), 0, 0};

    assert_non_null(t.data);
    memcpy(t.data, before, before_len);
    memcpy(t.data + before_len, middle.data, middle.len);
    strcpy(t.data + before_len + middle.len, after);
    t.len = strlen(t.data);
    free(middle.data);
    return t;
}

static void
long_texts_are_paid_for(void **state)
{
    (void)state;
    web_is_given_up(joined("{'const':", long_text(1000000), "}"), long_text(1000000));
    web_is_given_up(joined("{'const':[", long_text(1000000), "]}"),
                    joined("[", long_text(1000000), "]"));
    web_is_given_up(joined("{'properties':{", long_text(1000000), ":true}}"),
                    joined("{", long_text(1000000), ":1}"));
}

static void
texts_that_must_differ_are_paid_for(void **state)
{
    struct text value = {0};

    (void)state;
    text_add(&value, "[");
    for (int i = 0; i < 20; i++) {
        struct text item = long_text(50000 + (size_t)i);
        struct text more = joined(value.data, item, i < 19 ? "," : "]");

        free(value.data);
        value = more;
    }
    web_is_given_up(one("{'uniqueItems':true}"), value);
}

/* Their type alone decides, and that is a step too. */
static void
values_of_another_type_are_paid_for(void **state)
{
    struct text value = {0};

    (void)state;
    for (int i = 0; i < 20000; i++)
        text_add(&value, "%s1", i > 0 ? "," : "[");
    text_add(&value, "]");
    web_is_given_up(one("{'contains':{'type':'null'},'minContains':0,'maxContains':1}"),
                    value);
}

static void
long_chain_of_references_is_one_step(void **state)
{
    struct text chain = {0};

    (void)state;
    text_add(&chain, "{'$ref':'#/$defs/a0'}");
    for (int i = 0; i < 8000; i++)
        text_add(&chain, ",'a%d':{'$ref':'#/$defs/a%d'}", i, i + 1);
    text_add(&chain, ",'a8000':{'type':'integer'}");
    web_is_given_up(chain, one("1"));
}

static void
many_dynamic_anchors_are_paid_for(void **state)
{
    struct text anchors = {0};

    (void)state;
    text_add(&anchors, "{'$dynamicRef':'#a0'}");
    for (int i = 0; i < 4000; i++)
        text_add(&anchors, ",'a%d':{'$dynamicAnchor':'a%d'}", i, i);
    web_is_given_up(anchors, one("1"));
}

static void
references_past_many_values_are_refused(void **state)
{
    struct text schema = {0};
    mcp_schema *compiled = NULL;
    mcp_error err = {0};

    (void)state;
    for (int i = 0; i < 50000; i++)
        text_add(&schema, "%s'%d':0", i > 0 ? "," : "{'junk':{", i);
    text_add(&schema, ",'z':true}");
    for (int i = 0; i < 5000; i++)
        text_add(&schema, "%s{'$ref':'#/junk/z'}", i > 0 ? "," : ",'allOf':[");
    text_add(&schema, "]}");
    assert_int_equal(compile_with(schema.data, NULL, &compiled, &err), MCP_E_LIMIT);
    assert_non_null(strstr(err.message, "too many references to look up"));
    free(schema.data);
}

/* Faults are looked for within the limits too, and the report stays bounded. */
static void
a_million_faults_fill_the_report_once(void **state)
{
    struct text value = {malloc(2000010), 0, 0};
    mcp_error err = {0};

    (void)state;
    assert_non_null(value.data);
    for (int i = 0; i < 1000000; i++) {
        value.data[value.len++] = i > 0 ? ',' : '[';
        value.data[value.len++] = '1';
    }
    strcpy(value.data + value.len, "]");
    assert_int_equal(status_of(one("{'items':{'type':'null'}}"), value, &err),
                     MCP_E_INVAL);
    assert_string_equal(err.message, "/0 must be null, not an integer");
}

TEST_MAIN(TEST(exponential_composition_is_given_up),
          TEST(web_of_a_billion_branches_is_given_up),
          TEST(unevaluated_with_exponential_branches_is_given_up),
          TEST(dynamic_circle_is_given_up), TEST(deep_schema_is_compiled_or_refused),
          TEST(catastrophic_pattern_is_given_up),
          TEST(many_patterns_on_many_names_are_given_up),
          TEST(long_texts_are_for_linear_patterns),
          TEST(long_list_of_choices_for_many_values_is_given_up),
          TEST(long_texts_are_paid_for), TEST(texts_that_must_differ_are_paid_for),
          TEST(values_of_another_type_are_paid_for),
          TEST(long_chain_of_references_is_one_step),
          TEST(many_dynamic_anchors_are_paid_for),
          TEST(references_past_many_values_are_refused),
          TEST(bombs_of_repetition_are_refused_or_small),
          TEST(a_million_faults_fill_the_report_once))
