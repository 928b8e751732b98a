/* json/schema_load_test.c - proves json/schema_load.c: $id, anchors, limits */
#include "json/schema.h"
#include "json/schema_fixture.h"

#define DRAFT7 "'$schema':'http://json-schema.org/draft-07/schema#'"

static void
draft7_has_anchors_in_its_ids(void **state)
{
    (void)state;
    verdicts("{" DRAFT7 ",'$ref':'#n','definitions':{'x':{'$id':'#n','type':'null'}}}",
             "[null]", "Y");
    verdicts("{" DRAFT7 ",'allOf':[{'$ref':'#n'}],"
             "'definitions':{'x':{'$id':'#n','type':'null'}}}",
             "[null,1]", "YN");
}

static void
ids_and_anchors_are_names(void **state)
{
    (void)state;
    verdicts("{'$id':'http://a/root','$ref':'sub#x','$defs':{'s':{'$id':'sub','$defs':"
             "{'t':{'$anchor':'x','type':'null'}}}}}",
             "[null,1]", "YN");
    verdicts("{'$ref':'#x','$defs':{'s':{'$dynamicAnchor':'x','type':'null'}}}",
             "[null,1]", "YN");
}

static void
bad_identifiers_are_refused(void **state)
{
    (void)state;
    assert_int_equal(refused("{'$id':1}", "#/$id must be a string"), MCP_E_INVAL);
    assert_int_equal(refused("{'$id':'http://a/#b'}", "fragment"), MCP_E_INVAL);
    assert_int_equal(refused("{'$anchor':null}", "#/$anchor"), MCP_E_INVAL);
    assert_int_equal(refused("{'$dynamicAnchor':[]}", "#/$dynamicAnchor"), MCP_E_INVAL);
    assert_int_equal(refused("{'$defs':{'a':{'$anchor':'x'},'b':{'$anchor':'x'}}}",
                             "#/$defs/b has the name #x"),
                     MCP_E_INVAL);
    assert_int_equal(
        refused("{'$defs':{'a':{'$id':'urn:x'},'b':{'$id':'urn:x'}}}", "urn:x"),
        MCP_E_INVAL);
}

static void
what_is_no_schema_is_refused(void **state)
{
    (void)state;
    assert_int_equal(refused("5", "# must be a schema"), MCP_E_INVAL);
    assert_int_equal(refused("null", "# must be a schema"), MCP_E_INVAL);
    assert_int_equal(refused("{'properties':{'a':[]}}", "#/properties/a must be"),
                     MCP_E_INVAL);
    assert_int_equal(refused("{'a':1,'a':2}", "twice"), MCP_E_SYNTAX);
}

static void
subschemas_are_counted(void **state)
{
    const mcp_schema_options few = MCP_SCHEMA_OPTIONS(.max_subschemas = 3);
    mcp_schema *schema = NULL;
    mcp_error err;

    (void)state;
    assert_int_equal(compile_with("{'allOf':[true,true]}", &few, &schema, &err), 0);
    mcp_schema_free(schema);
    assert_int_equal(compile_with("{'allOf':[true,true,true]}", &few, &schema, &err),
                     MCP_E_LIMIT);
    assert_non_null(strstr(err.message, "more than 3 subschemas"));
}

/* {"$defs":{"k0":<item>,...}} with %d replaced. */
static char *
many(const char *item, int count)
{
    char *text = malloc((size_t)count * (strlen(item) + 40) + 100), *at = text;

    assert_non_null(text);
    at += sprintf(at, "{'$defs':{");
    for (int i = 0; i < count; i++) {
        at += sprintf(at, "%s'k%d':", i > 0 ? "," : "", i);
        for (const char *c = item; *c; c++)
            at += *c == '%' ? sprintf(at, "%d", i) : sprintf(at, "%c", *c);
    }
    sprintf(at, "}}");
    return text;
}

static void
names_are_counted(void **state)
{
    char *text = many("{'$anchor':'a%'}", MCPI_SCHEMA_NAMES_MAX + 1);

    (void)state;
    assert_int_equal(refused(text, "identifiers"), MCP_E_LIMIT);
    free(text);
}

static void
uris_and_documents_have_a_limit(void **state)
{
    char *uri = malloc(3000), text[3200];
    mcp_schema_set *set = mcp_schema_set_new(NULL);
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.set = set);
    mcp_schema *schema = NULL;
    mcp_error err;

    (void)state;
    memset(uri, 'a', 2500);
    uri[2500] = '\0';
    snprintf(text, sizeof text, "{'$id':'http://b/%s'}", uri);
    assert_int_equal(refused(text, "bytes"), MCP_E_LIMIT);
    free(uri);
    for (int i = 0; i <= MCPI_SCHEMA_DOCS_MAX; i++) {
        mcp_doc *doc;

        snprintf(text, sizeof text, "{'$ref':'http://a/%d'}", i + 1);
        doc = doc_of(text);
        snprintf(text, sizeof text, "http://a/%d", i);
        assert_int_equal(mcp_schema_set_add(set, text, doc, NULL), 0);
        mcp_doc_free(doc);
    }
    assert_int_equal(compile_with("{'$ref':'http://a/0'}", &opt, &schema, &err),
                     MCP_E_LIMIT);
    assert_non_null(strstr(err.message, "documents"));
    mcp_schema_set_free(set);
}

TEST_MAIN(TEST(draft7_has_anchors_in_its_ids), TEST(ids_and_anchors_are_names),
          TEST(bad_identifiers_are_refused), TEST(what_is_no_schema_is_refused),
          TEST(subschemas_are_counted), TEST(names_are_counted),
          TEST(uris_and_documents_have_a_limit))
