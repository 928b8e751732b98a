/* json/schema_protocol_test.c - the protocol's schemas compile, its examples conform */
#include "support/data.h"
#include "json/schema_fixture.h"

/* Calls fn with the path of a revision's schema: ours, and the published one where that
 * is at hand. */
static void
each_schema(const char *revision, void (*fn)(const char *path, const char *revision))
{
    char name[64];

    snprintf(name, sizeof name, "schema/%s.json", revision);
    fn(data_own(name), revision);
    snprintf(name, sizeof name, "mcp-schema/%s.json", revision);
    if (data_published(name))
        fn(data_published(name), revision);
}

static void
schema_compiles(const char *path, const char *revision)
{
    mcp_doc *doc = data_read(path);
    mcp_schema *schema = NULL;
    mcp_error err;

    assert_non_null(doc);
    if (mcp_schema_compile(mcp_doc_root(doc), NULL, &schema, &err) < 0)
        fail_msg("%s: %s", revision, err.message);
    mcp_schema_free(schema);
    mcp_doc_free(doc);
}

static void
schema_of_each_revision_compiles(void **state)
{
    (void)state;
    each_schema("2025-03-26", schema_compiles);
    each_schema("2025-06-18", schema_compiles);
    each_schema("2025-11-25", schema_compiles);
    each_schema("2026-07-28", schema_compiles);
}

/* The schema in that file as urn:mcp. */
static mcp_schema_set *
set_of(const char *path)
{
    mcp_schema_set *set = mcp_schema_set_new(NULL);
    mcp_doc *doc = data_read(path);

    assert_non_null(set);
    assert_non_null(doc);
    assert_int_equal(mcp_schema_set_add(set, "urn:mcp", doc, NULL), 0);
    mcp_doc_free(doc);
    return set;
}

static void
message_conforms(const struct data_message *message, void *user)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.set = user,
                                                      .assert_formats = true);
    mcp_error err = {0};
    mcp_schema *schema;
    char text[400];

    snprintf(text, sizeof text, "{'$ref':'urn:mcp#/$defs/%.200s'}", message->type);
    schema = schema_with(text, &opt);
    if (mcp_schema_check(schema, message->value, NULL, &err) < 0)
        fail_msg("%s, %s: %s", message->revision, message->name, err.message);
    mcp_schema_free(schema);
}

static void
messages_conform(const char *path, const char *revision)
{
    mcp_schema_set *set = set_of(path);

    assert_true(data_each_message(revision, NULL, message_conforms, set) >= 100);
    mcp_schema_set_free(set);
}

static void
every_published_example_conforms_to_its_type(void **state)
{
    (void)state;
    each_schema(DATA_MODERN, messages_conform);
    each_schema(DATA_LEGACY, messages_conform);
}

static void
others_do_not_conform(const char *path, const char *revision)
{
    mcp_schema_set *set = set_of(path);
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.set = set);
    static const struct {
        const char *type, *value, *message;
    } rows[] = {
        {"{'$ref':'urn:mcp#/$defs/Tool'}", "{'name':1}",
         "/name must be a string, not an integer"},
        {"{'$ref':'urn:mcp#/$defs/CallToolResult'}",
         "{'resultType':'complete','content':'hi'}",
         "/content must be an array, not a string"},
        {"{'$ref':'urn:mcp#/$defs/CallToolResult'}", "{'resultType':'complete'}",
         "content"},
        {"{'$ref':'urn:mcp#/$defs/CallToolResult'}",
         "{'resultType':'complete','content':[{'type':'text'}]}", "/content/0"},
    };

    (void)revision;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        mcp_schema *schema = schema_with(rows[i].type, &opt);
        mcp_error err = {0};

        assert_int_equal(check_text(schema, rows[i].value, NULL, &err), MCP_E_INVAL);
        if (!strstr(err.message, rows[i].message))
            fail_msg("%s: %s", rows[i].value, err.message);
        mcp_schema_free(schema);
    }
    mcp_schema_set_free(set);
}

static void
message_of_another_type_does_not_conform(void **state)
{
    (void)state;
    each_schema(DATA_MODERN, others_do_not_conform);
}

static void
is_form(const struct data_message *message, void *user)
{
    mcp_error err = {0};

    (void)user;
    if (mcp_schema_check_form(mcp_json_get(message->value, "requestedSchema"), &err) <
        0)
        fail_msg("%s: %s", message->name, err.message);
}

/* The schemas that the elicitation requests ask for are forms. */
static void
published_forms_are_forms(void **state)
{
    static const char type[] = "ElicitRequestFormParams";

    (void)state;
    assert_true(data_each_message(DATA_MODERN, type, is_form, NULL) > 0);
    assert_true(data_each_message(DATA_LEGACY, type, is_form, NULL) > 0);
}

TEST_MAIN(TEST(schema_of_each_revision_compiles),
          TEST(every_published_example_conforms_to_its_type),
          TEST(message_of_another_type_does_not_conform),
          TEST(published_forms_are_forms))
