/* mirror_schema_test.c - x-mcp-header: what a schema may say, and where */
#include <stdio.h>
#include <string.h>

#include "support/test.h"
#include "wire/mirror.h"
#include "json/value.h"

static mcp_doc *
parse(const char *text)
{
    mcp_doc *doc = NULL;
    mcp_error err = {0};

    if (mcp_doc_parse(text, strlen(text), NULL, &doc, &err) < 0)
        fail_msg("%s: %s", text, err.message);
    return doc;
}

static struct mcpi_mirror *
mirror_of(const char *schema)
{
    struct mcpi_mirror *mirror = NULL;
    const char *fault = NULL;
    mcp_doc *doc = parse(schema);

    if (mcpi_mirror_new(NULL, mcp_doc_root(doc), &mirror, &fault) < 0)
        fail_msg("%s: %s", schema, fault);
    mcp_doc_free(doc);
    return mirror;
}

static void
refuses(const char *schema, const char *why)
{
    struct mcpi_mirror *mirror = NULL;
    const char *fault = "";
    mcp_doc *doc = parse(schema);
    int r = mcpi_mirror_new(NULL, mcp_doc_root(doc), &mirror, &fault);

    if (r != MCP_E_INVAL || mirror || !strstr(fault, why))
        fail_msg("%s: %d, %s", schema, r, fault);
    mcp_doc_free(doc);
}

#define IN_PROPERTIES(property) "{\"type\":\"object\",\"properties\":" property "}"
#define STRING_AS(name) "{\"type\":\"string\",\"x-mcp-header\":\"" name "\"}"
#define ELSEWHERE "where properties alone do not lead"

/* ---- what is read ------------------------------------------------------- */

static void
what_says_nothing_of_it_costs_nothing(void **state)
{
    static const char *const schemas[] = {
        "{}",
        "true",
        "{\"type\":\"object\"}",
        IN_PROPERTIES("{\"a\":{\"type\":\"string\"},\"b\":true}"),
        /* the name of a property, of a definition; data; no schema at all */
        IN_PROPERTIES("{\"x-mcp-header\":{\"type\":\"string\"}}"),
        "{\"$defs\":{\"x-mcp-header\":{\"type\":\"string\"}}}",
        "{\"patternProperties\":{\"x-mcp-header\":{}}}",
        IN_PROPERTIES("{\"a\":{\"const\":{\"x-mcp-header\":\"A\"}}}"),
        IN_PROPERTIES("{\"a\":{\"enum\":[{\"x-mcp-header\":\"A\"}]}}"),
        IN_PROPERTIES("{\"a\":{\"default\":{\"x-mcp-header\":\"A\"}}}"),
        IN_PROPERTIES("{\"a\":{\"examples\":[{\"x-mcp-header\":\"A\"}]}}"),
        "{\"required\":[\"x-mcp-header\"]}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(schemas) / sizeof(schemas[0]); i++)
        if (mirror_of(schemas[i]))
            fail_msg("%s", schemas[i]);
    assert_int_equal(mcpi_mirror_count(NULL), 0);
    mcpi_mirror_free(NULL);
}

static void
strings_integers_and_booleans_are_read(void **state)
{
    struct mcpi_mirror *mirror = mirror_of(IN_PROPERTIES("{\"region\":" STRING_AS(
        "Region") ",\"query\":{\"type\":\"string\"},"
                  "\"n\":{\"type\":\"integer\",\"x-mcp-header\":\"N_!#9\"},"
                  "\"b\":{\"type\":\"boolean\",\"x-mcp-header\":\"Really-So\"}}"));

    (void)state;
    assert_int_equal(mcpi_mirror_count(mirror), 3);
    assert_string_equal(mcpi_mirror_name(mirror, 0), "Region");
    assert_string_equal(mcpi_mirror_header(mirror, 0), "mcp-param-region");
    assert_string_equal(mcpi_mirror_name(mirror, 1), "N_!#9");
    assert_string_equal(mcpi_mirror_header(mirror, 1), "mcp-param-n_!#9");
    assert_string_equal(mcpi_mirror_name(mirror, 2), "Really-So");
    assert_string_equal(mcpi_mirror_header(mirror, 2), "mcp-param-really-so");
    mcpi_mirror_free(mirror);
}

static void
a_value_stands_at_the_exact_path(void **state)
{
    struct mcpi_mirror *mirror = mirror_of(
        IN_PROPERTIES("{\"top\":" STRING_AS("Top") ",\"where\":" IN_PROPERTIES(
            "{\"x-mcp-header\":" IN_PROPERTIES("{\"a\\u0000b\":" STRING_AS(
                "Deep") "}") ",\"\":" STRING_AS("None") "}") "}"));
    mcp_doc *doc = parse("{\"where\":{\"x-mcp-header\":{\"a\":1,\"a\\u0000b\":2},"
                         "\"\":null},\"Top\":3}");
    const mcp_json *arguments = mcp_doc_root(doc);

    (void)state;
    assert_int_equal(mcpi_mirror_count(mirror), 3);
    assert_null(mcpi_mirror_value(mirror, 0, arguments));
    assert_int_equal(mcp_json_int(mcpi_mirror_value(mirror, 1, arguments), 0), 2);
    assert_int_equal(mcp_json_get_type(mcpi_mirror_value(mirror, 2, arguments)),
                     MCP_JSON_NULL);
    assert_null(mcpi_mirror_value(mirror, 1, NULL));
    mcp_doc_free(doc);
    doc = parse("{\"where\":[7],\"top\":\"t\"}");
    assert_null(mcpi_mirror_value(mirror, 1, mcp_doc_root(doc)));
    assert_true(
        mcp_json_is_string(mcpi_mirror_value(mirror, 0, mcp_doc_root(doc)), "t"));
    mcp_doc_free(doc);
    mcpi_mirror_free(mirror);
}

static void
properties_said_twice_do_not_lead_astray(void **state)
{
    struct mcpi_mirror *mirror = mirror_of("{\"properties\":{\"a\":" STRING_AS(
        "A") "},\"properties\":{\"b\":" STRING_AS("B") "}}");
    mcp_doc *doc = parse("{\"a\":{\"b\":1},\"b\":2}");

    (void)state;
    assert_int_equal(mcp_json_int(mcpi_mirror_value(mirror, 1, mcp_doc_root(doc)), 0),
                     2);
    mcp_doc_free(doc);
    mcpi_mirror_free(mirror);
}

/* ---- what is refused ---------------------------------------------------- */

static void
a_name_is_a_token(void **state)
{
    static const char *const names[] = {
        "\"\"",
        "\"My Region\"",
        "\"Region:Primary\"",
        "\"R\\u00e9gion\"",
        "\"a\\u0001b\"",
        "\"a\\tb\"",
        "\"a\\r\\nb\"",
        "\"a\\u0000\"",
        "\"a\\u007f\"",
        "\"(a)\"",
        "\"a,b\"",
        "null",
        "7",
        "true",
        "{}",
        "[\"A\"]",
    };
    char schema[200];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        snprintf(schema, sizeof(schema),
                 IN_PROPERTIES("{\"a\":{\"type\":\"string\",\"x-mcp-header\":%s}}"),
                 names[i]);
        refuses(schema, "no HTTP token");
    }
}

static void
only_three_types_are_mirrored(void **state)
{
    static const char *const types[] = {
        "\"number\"",   "\"object\"", "\"array\"",  "\"null\"", "[\"string\",\"null\"]",
        "[\"string\"]", "null",       "\"String\"",
    };
    char schema[200];

    (void)state;
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        snprintf(schema, sizeof(schema),
                 IN_PROPERTIES("{\"a\":{\"x-mcp-header\":\"A\",\"type\":%s}}"),
                 types[i]);
        refuses(schema, "not of type");
    }
    refuses(IN_PROPERTIES("{\"a\":{\"x-mcp-header\":\"A\"}}"), "not of type");
    refuses(IN_PROPERTIES("{\"a\":{\"$ref\":\"#/x\",\"x-mcp-header\":\"A\"}}"),
            "not of type");
}

static void
a_header_is_named_once_whatever_its_case(void **state)
{
    (void)state;
    refuses(
        IN_PROPERTIES("{\"a\":" STRING_AS("Region") ",\"b\":" STRING_AS("Region") "}"),
        "twice");
    refuses(IN_PROPERTIES("{\"a\":" STRING_AS("Region") ",\"b\":" IN_PROPERTIES(
                "{\"c\":" STRING_AS("rEGION") "}") "}"),
            "twice");
}

/* Around a schema that is then not reached by properties alone. */
static const struct {
    const char *before, *behind;
} elsewhere[] = {
    {"{\"items\":", "}"},
    {"{\"items\":[", "]}"},
    {"{\"prefixItems\":[{},", "]}"},
    {"{\"additionalItems\":", "}"},
    {"{\"unevaluatedItems\":", "}"},
    {"{\"contains\":", "}"},
    {"{\"oneOf\":[", "]}"},
    {"{\"anyOf\":[{},", "]}"},
    {"{\"allOf\":[", "]}"},
    {"{\"not\":", "}"},
    {"{\"if\":", "}"},
    {"{\"then\":", "}"},
    {"{\"else\":", "}"},
    {"{\"$defs\":{\"a\":", "}}"},
    {"{\"definitions\":{\"a\":", "}}"},
    {"{\"patternProperties\":{\"^a\":", "}}"},
    {"{\"additionalProperties\":", "}"},
    {"{\"unevaluatedProperties\":", "}"},
    {"{\"propertyNames\":", "}"},
    {"{\"dependentSchemas\":{\"a\":", "}}"},
    {"{\"dependencies\":{\"a\":", "}}"},
    {"{\"contentSchema\":", "}"},
    {"{\"x-of-ours\":{\"deep\":[", "]}}"},
    {"{\"properties\":[", "]}"},
    {"[", "]"},
};

static void
refuses_around(size_t i, const char *before, const char *schema, const char *behind)
{
    char text[400];

    snprintf(text, sizeof(text), "%s%s%s%s%s", before, elsewhere[i].before, schema,
             elsewhere[i].behind, behind);
    refuses(text, ELSEWHERE);
}

static void
an_annotation_anywhere_else_is_refused(void **state)
{
    static const char annotated[] = STRING_AS("A");
    static const char below[] = IN_PROPERTIES("{\"b\":" STRING_AS("A") "}");

    (void)state;
    refuses(annotated, ELSEWHERE); /* the arguments as a whole */
    for (size_t i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++) {
        refuses_around(i, "", annotated, "");
        refuses_around(i, "", below, "");
        refuses_around(i, "{\"properties\":{\"p\":", annotated, "}}");
        refuses_around(i, "{\"properties\":{\"p\":", below, "}}");
    }
}

static void
there_are_not_too_many(void **state)
{
    char schema[8192] = "{\"properties\":{";
    struct mcpi_mirror *mirror;
    size_t at;

    (void)state;
    for (int i = 0; i < MCPI_MIRROR_MAX; i++) {
        at = strlen(schema);
        snprintf(schema + at, sizeof(schema) - at,
                 "%s\"p%d\":{\"type\":\"string\",\"x-mcp-header\":\"H%d\"}",
                 i ? "," : "", i, i);
    }
    at = strlen(schema);
    memcpy(schema + at, "}}", 3);
    mirror = mirror_of(schema);
    assert_int_equal(mcpi_mirror_count(mirror), MCPI_MIRROR_MAX);
    assert_string_equal(mcpi_mirror_name(mirror, MCPI_MIRROR_MAX - 1), "H63");
    mcpi_mirror_free(mirror);
    snprintf(schema + at, sizeof(schema) - at, ",\"last\":" STRING_AS("Last") "}}");
    refuses(schema, "64");
}

/* A long way to many of them is kept once for each: from a short text, much memory. */
static void
they_are_not_too_long(void **state)
{
    struct mcpi_mirror *mirror = NULL;
    const char *fault = "";
    struct mcpi_buf text;
    mcp_doc *doc;
    int r;

    (void)state;
    for (int count = 2; count <= 40; count += 38) {
        mcpi_buf_init(&text, NULL, 65536);
        mcpi_buf_text(&text, "{\"properties\":{\"");
        for (int i = 0; i < 2000; i++)
            mcpi_buf_char(&text, 'p');
        mcpi_buf_text(&text, "\":{\"properties\":{");
        for (int i = 0; i < count; i++) {
            mcpi_buf_text(&text, i ? ",\"" : "\"");
            mcpi_buf_int(&text, i);
            mcpi_buf_text(&text, "\":{\"type\":\"string\",\"x-mcp-header\":\"H");
            mcpi_buf_int(&text, i);
            mcpi_buf_text(&text, "\"}");
        }
        mcpi_buf_text(&text, "}}}}");
        mcpi_buf_char(&text, '\0');
        assert_int_equal(text.status, 0);
        doc = parse(text.data);
        r = mcpi_mirror_new(NULL, mcp_doc_root(doc), &mirror, &fault);
        assert_int_equal(r, count == 2 ? 0 : MCP_E_INVAL);
        if (r == 0) {
            assert_in_range(mcpi_mirror_bytes(mirror), 4000, 2 * MCPI_MIRROR_BYTES_MAX);
            mcpi_mirror_free(mirror);
        }
        mcp_doc_free(doc);
        mcpi_buf_done(&text);
    }
    assert_string_equal(fault, "x-mcp-header: its names and paths are too long");
}

static bool
same(const char *schema, const char *other)
{
    struct mcpi_mirror *a = mirror_of(schema), *b = mirror_of(other);
    bool is = mcpi_mirror_same(a, b);

    assert_int_equal(mcpi_mirror_same(b, a), is);
    assert_true(mcpi_mirror_same(a, a));
    mcpi_mirror_free(a);
    mcpi_mirror_free(b);
    return is;
}

static void
two_are_the_same_if_names_and_paths_are(void **state)
{
    (void)state;
    assert_true(same(IN_PROPERTIES("{\"a\":" STRING_AS("A") "}"),
                     IN_PROPERTIES("{\"b\":{},\"a\":" STRING_AS("A") "}")));
    assert_false(same(IN_PROPERTIES("{\"a\":" STRING_AS("A") "}"),
                      IN_PROPERTIES("{\"a\":" STRING_AS("B") "}")));
    assert_false(same(IN_PROPERTIES("{\"a\":" STRING_AS("A") "}"),
                      IN_PROPERTIES("{\"b\":" STRING_AS("A") "}")));
    assert_false(
        same(IN_PROPERTIES("{\"a\":" STRING_AS("A") "}"),
             IN_PROPERTIES("{\"a\":" STRING_AS("A") ",\"b\":" STRING_AS("B") "}")));
    assert_false(
        same(IN_PROPERTIES("{\"a\":" STRING_AS("A") "}"),
             IN_PROPERTIES("{\"a\":" IN_PROPERTIES("{\"a\":" STRING_AS("A") "}") "}")));
}

/* The deepest document there is: 256 levels. */
static void
deep_schemas_are_walked(void **state)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.max_depth = 256);
    struct mcpi_mirror *mirror = NULL;
    const char *fault = NULL;
    mcp_doc *doc = NULL;
    struct mcpi_buf text;

    (void)state;
    mcpi_buf_init(&text, NULL, 65536);
    for (int i = 0; i < 127; i++)
        mcpi_buf_text(&text, "{\"properties\":{\"p\":");
    mcpi_buf_text(&text, STRING_AS("Deep"));
    for (int i = 0; i < 127; i++)
        mcpi_buf_text(&text, "}}");
    assert_int_equal(mcp_doc_parse(text.data, text.len, &opt, &doc, NULL), 0);
    assert_int_equal(mcpi_mirror_new(NULL, mcp_doc_root(doc), &mirror, &fault), 0);
    assert_int_equal(mcpi_mirror_count(mirror), 1);
    mcpi_mirror_free(mirror);
    mcp_doc_free(doc);
    mcpi_buf_done(&text);
}

/* ---- memory ------------------------------------------------------------- */

static void
make_one(struct test_mem *mem, void *user)
{
    struct mcpi_mirror *mirror = NULL;
    const char *fault = NULL;
    mcp_doc *doc = user;
    int r = mcpi_mirror_new(&mem->allocator, mcp_doc_root(doc), &mirror, &fault);

    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(r == 0, mirror != NULL);
    assert_null(fault);
    mcpi_mirror_free(mirror);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_doc *doc = parse(
        IN_PROPERTIES("{\"a\":" STRING_AS("Region") ",\"b\":" IN_PROPERTIES(
            "{\"a-name-of-some-length\":" STRING_AS(
                "A-Header-Of-Some-Length") "}") "}"));

    (void)state;
    assert_true(test_each_allocation_fails(make_one, doc) >= 3);
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(what_says_nothing_of_it_costs_nothing),
          TEST(strings_integers_and_booleans_are_read),
          TEST(a_value_stands_at_the_exact_path),
          TEST(properties_said_twice_do_not_lead_astray), TEST(a_name_is_a_token),
          TEST(only_three_types_are_mirrored),
          TEST(a_header_is_named_once_whatever_its_case),
          TEST(an_annotation_anywhere_else_is_refused), TEST(there_are_not_too_many),
          TEST(they_are_not_too_long), TEST(two_are_the_same_if_names_and_paths_are),
          TEST(deep_schemas_are_walked), TEST(each_allocation_may_fail))
