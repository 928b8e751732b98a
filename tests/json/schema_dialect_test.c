/* json/schema_dialect_test.c - proves json/schema_dialect.c: $schema and vocabularies */
#include "json/schema_fixture.h"

#define DRAFT7 "'$schema':'http://json-schema.org/draft-07/schema#'"
#define DRAFT6 "'$schema':'http://json-schema.org/draft-06/schema#'"
#define DRAFT2019 "'$schema':'https://json-schema.org/draft/2019-09/schema'"
#define MODERN "'$schema':'https://json-schema.org/draft/2020-12/schema'"
#define VOCABULARY "'https://json-schema.org/draft/2020-12/vocab/"
#define VOCABULARY2019 "'https://json-schema.org/draft/2019-09/vocab/"

static mcp_schema_set *
set_of(const char *uri, const char *text)
{
    mcp_schema_set *set = mcp_schema_set_new(NULL);
    mcp_doc *doc = doc_of(text);

    assert_int_equal(mcp_schema_set_add(set, uri, doc, NULL), 0);
    mcp_doc_free(doc);
    return set;
}

static void
dialects_are_known_by_their_uri(void **state)
{
    (void)state;
    verdicts("{" MODERN ",'prefixItems':[{'type':'string'}]}", "[['a'],[1]]", "YN");
    verdicts(
        "{'$schema':'https://json-schema.org/draft/2020-12/schema#','type':'null'}",
        "[null,1]", "YN");
    verdicts("{" DRAFT7 ",'prefixItems':[{'type':'string'}]}", "[['a'],[1]]", "YY");
    verdicts("{'$schema':'http://json-schema.org/draft-07/schema','type':'null'}",
             "[null,1]", "YN");
}

static void
unknown_dialect_is_refused(void **state)
{
    (void)state;
    assert_int_equal(refused("{'$schema':'http://json-schema.org/draft-04/schema#'}",
                             "#/$schema is not a supported dialect (2020-12, 2019-09, "
                             "draft-07, draft-06): "
                             "http://json-schema.org/draft-04/schema#"),
                     MCP_E_INVAL);
    assert_int_equal(refused("{'$schema':5}", "#/$schema must be a string"),
                     MCP_E_INVAL);
}

static void
draft7_has_its_own_meaning(void **state)
{
    (void)state;
    verdicts("{" DRAFT7 ",'items':[{'type':'string'}],'additionalItems':false}",
             "[['a'],[1],['a',1],[]]", "YNNY");
    verdicts("{" DRAFT7 ",'items':{'type':'string'},'additionalItems':false}",
             "[['a','b'],[1]]", "YN");
    verdicts("{" DRAFT7 ",'items':[],'additionalItems':{'type':'null'}}",
             "[[null],[1]]", "YN");
    verdicts("{" DRAFT7 ",'dependencies':{'a':['b'],'c':{'required':['d']}}}",
             "[{'a':1},{'a':1,'b':1},{'c':1},{'c':1,'d':1},{}]", "NYNYY");
    verdicts("{" DRAFT7 ",'dependentRequired':{'a':['b']}}", "[{'a':1}]", "Y");
    verdicts("{" DRAFT7 ",'unevaluatedProperties':false}", "[{'a':1}]", "Y");
    verdicts("{" DRAFT7 ",'contains':{'type':'null'},'minContains':0}", "[[],[null]]",
             "NY");
}

static void
draft7_ignores_what_stands_beside_a_reference(void **state)
{
    (void)state;
    verdicts("{" DRAFT7 ",'properties':{'a':{'$ref':'#/definitions/n','maximum':1}},"
             "'definitions':{'n':{'type':'number'}}}",
             "[{'a':5},{'a':''}]", "YN");
    verdicts("{" DRAFT7 ",'$id':'http://a/','properties':{'a':{'$ref':'x.json',"
             "'$id':'http://b/'}},'definitions':{'x':{'$id':'http://a/x.json',"
             "'type':'null'}}}",
             "[{'a':null},{'a':1}]", "YN");
}

/* It is no keyword there; but a reference may lead into what is not. */
static void
draft7_does_not_know_defs(void **state)
{
    (void)state;
    verdicts("{" DRAFT7 ",'$defs':5}", "[1]", "Y");
    verdicts("{" DRAFT7 ",'$defs':{'title':'these','n':{'type':'null'}},"
             "'properties':{'a':{'$ref':'#/$defs/n'}}}",
             "[{'a':null},{'a':1}]", "YN");
    assert_int_equal(refused("{" DRAFT7 ",'$defs':{'title':'these'},"
                             "'allOf':[{'$ref':'#/$defs/title'}]}",
                             "#/$defs/title must be a schema"),
                     MCP_E_INVAL);
    assert_int_equal(refused("{" DRAFT7 ",'definitions':{'title':'these'}}",
                             "#/definitions/title must be a schema"),
                     MCP_E_INVAL);
    assert_int_equal(
        refused("{'$defs':{'title':'these'}}", "#/$defs/title must be a schema"),
        MCP_E_INVAL);
}

static void
draft6_is_draft7_without_conditions(void **state)
{
    (void)state;
    verdicts("{" DRAFT6 ",'if':true,'then':false,'else':5}", "[1]", "Y");
    verdicts("{" DRAFT6 ",'items':[{'const':'a'}],'contains':{'type':'null'}}",
             "[['a',null],['a'],[1,null]]", "YNN");
}

static void
draft2019_has_its_own_meaning(void **state)
{
    (void)state;
    verdicts("{" DRAFT2019 ",'items':[{'type':'string'}],'additionalItems':false}",
             "[['a'],[1],['a',1],[]]", "YNNY");
    verdicts("{" DRAFT2019 ",'prefixItems':[{'type':'string'}]}", "[[1]]", "Y");
    verdicts("{" DRAFT2019 ",'dependentRequired':{'a':['b']}}", "[{'a':1}]", "N");
    verdicts("{" DRAFT2019 ",'dependencies':{'a':['b']}}", "[{'a':1}]", "Y");
    verdicts("{" DRAFT2019 ",'$ref':'#/$defs/n','maximum':1,"
             "'$defs':{'n':{'type':'number'}}}",
             "[1,2,'a']", "YNN");
    verdicts("{" DRAFT2019 ",'contains':{'const':1},'minContains':2}", "[[1,1],[1]]",
             "YN");
    verdicts("{" DRAFT2019 ",'$defs':{'a':{'$anchor':'x','type':'null'}},'$ref':'#x'}",
             "[null,1]", "YN");
    verdicts("{" DRAFT2019 ",'$dynamicRef':'#nowhere'}", "[1]", "Y");
}

static void
contained_items_count_as_looked_at_only_since_2020(void **state)
{
    (void)state;
    verdicts("{" DRAFT2019 ",'contains':{'const':1},'unevaluatedItems':false}",
             "[[1],[]]", "NN");
    verdicts("{" MODERN ",'contains':{'const':1},'unevaluatedItems':false}",
             "[[1],[1,2]]", "YN");
}

/* A tree; and a strict one that says nothing of children again. */
static void
recursive_reference_leads_to_the_outermost_anchor(void **state)
{
    static const char strict[] =
        "{" DRAFT2019 ",'$id':'http://a/strict','$recursiveAnchor':true,'$ref':'tree',"
        "'unevaluatedProperties':false,'$defs':{'tree':{'$id':'tree',"
        "%s'properties':{'value':true,'children':{'items':{'$recursiveRef':'#'}}}}}}";
    static const char values[] = "[{'children':[{'value':1}]},{'children':[{'x':1}]}]";
    char text[500];

    (void)state;
    snprintf(text, sizeof text, strict, "'$recursiveAnchor':true,");
    verdicts(text, values, "YN");
    snprintf(text, sizeof text, strict, "'$recursiveAnchor':false,");
    verdicts(text, values, "YY");
    snprintf(text, sizeof text, strict, "");
    verdicts(text, values, "YY");
    verdicts("{" DRAFT2019 ",'properties':{'a':{'$recursiveAnchor':true,"
             "'$recursiveRef':'#'}},'type':'object'}",
             "[{'a':{}},{'a':1}]", "YN");
}

static void
bad_recursive_keywords_are_refused(void **state)
{
    (void)state;
    assert_int_equal(refused("{" DRAFT2019 ",'$recursiveRef':'#/$defs/a'}",
                             "#/$recursiveRef must be \"#\""),
                     MCP_E_INVAL);
    assert_int_equal(
        refused("{" DRAFT2019 ",'$recursiveRef':1}", "#/$recursiveRef must be"),
        MCP_E_INVAL);
    assert_int_equal(refused("{" DRAFT2019 ",'$recursiveAnchor':'a'}",
                             "#/$recursiveAnchor must be a boolean"),
                     MCP_E_INVAL);
    assert_int_equal(refused("{" DRAFT2019 ",'$ref':'#$recursiveAnchor',"
                             "'$recursiveAnchor':true}",
                             "where nothing is"),
                     MCP_E_INVAL);
    verdicts("{'$recursiveRef':5,'$recursiveAnchor':5}", "[1]", "Y");
}

static void
vocabularies_of_2019_make_a_dialect_of_2019(void **state)
{
    mcp_schema_set *set = set_of("urn:meta",
                                 "{'$vocabulary':{" VOCABULARY2019 "core':true,"
                                 "" VOCABULARY2019 "applicator':true," VOCABULARY2019
                                 "format':false}}");
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.set = set);

    (void)state;
    verdicts_with("{'$schema':'urn:meta','items':[true],'additionalItems':false,"
                  "'unevaluatedProperties':false,'minItems':5,'format':'ipv4'}",
                  &opt, "[[1],[1,2],{'a':1},'x']", "YNNY");
    mcp_schema_set_free(set);
}

static void
formats_of_2019_are_asserted_where_that_is_required(void **state)
{
    mcp_schema_set *set = set_of("urn:meta",
                                 "{'$vocabulary':{" VOCABULARY2019 "format':true}}");
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.set = set);

    (void)state;
    verdicts_with("{'$schema':'urn:meta','format':'ipv4'}", &opt, "['1.2.3.4','x']",
                  "YN");
    verdicts("{" DRAFT2019 ",'format':'ipv4'}", "['x']", "Y");
    mcp_schema_set_free(set);
}

static void
vocabularies_of_a_registered_metaschema_count(void **state)
{
    mcp_schema_set *set = set_of("urn:meta",
                                 "{'$vocabulary':{" VOCABULARY "core':true," VOCABULARY
                                 "applicator':true,'urn:mine':false}}");
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.set = set);

    (void)state;
    verdicts_with("{'$schema':'urn:meta','type':'null','properties':{'a':false},"
                  "'required':['b']}",
                  &opt, "[1,{'a':1},{'b':1}]", "YNY");
    mcp_schema_set_free(set);
}

static void
format_assertion_vocabulary_asserts(void **state)
{
    mcp_schema_set *set = set_of("urn:meta", "{'$vocabulary':{" VOCABULARY
                                             "format-assertion':true}}");
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.set = set);

    (void)state;
    verdicts_with("{'$schema':'urn:meta','format':'ipv4'}", &opt, "['1.2.3.4','x']",
                  "YN");
    mcp_schema_set_free(set);
}

static void
unknown_required_vocabulary_is_refused(void **state)
{
    mcp_schema_set *set = set_of("urn:meta", "{'$vocabulary':{'urn:mine':true}}");
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.set = set);
    mcp_schema *schema = NULL;
    mcp_error err;

    (void)state;
    assert_int_equal(compile_with("{'$schema':'urn:meta'}", &opt, &schema, &err),
                     MCP_E_INVAL);
    assert_non_null(strstr(err.message, "unknown vocabulary urn:mine"));
    mcp_schema_set_free(set);
}

static void
metaschema_without_vocabularies_has_those_of_its_own_dialect(void **state)
{
    mcp_schema_set *set = set_of("urn:meta", "{" DRAFT7 "}");
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.set = set);

    (void)state;
    verdicts_with("{'$schema':'urn:meta','items':[{'type':'null'}]}", &opt,
                  "[[null],[1]]", "YN");
    mcp_schema_set_free(set);
}

static void
embedded_resource_may_have_another_dialect(void **state)
{
    (void)state;
    verdicts("{'$id':'http://a/','allOf':[{'$ref':'b'}],'$defs':{'b':{'$id':'b'," DRAFT7
             ",'items':[{'type':'string'}]},'c':{'prefixItems':[true]}}}",
             "[['a'],[1]]", "YN");
}

TEST_MAIN(TEST(dialects_are_known_by_their_uri), TEST(unknown_dialect_is_refused),
          TEST(draft7_has_its_own_meaning),
          TEST(draft7_ignores_what_stands_beside_a_reference),
          TEST(draft7_does_not_know_defs), TEST(draft6_is_draft7_without_conditions),
          TEST(draft2019_has_its_own_meaning),
          TEST(contained_items_count_as_looked_at_only_since_2020),
          TEST(recursive_reference_leads_to_the_outermost_anchor),
          TEST(bad_recursive_keywords_are_refused),
          TEST(vocabularies_of_2019_make_a_dialect_of_2019),
          TEST(formats_of_2019_are_asserted_where_that_is_required),
          TEST(vocabularies_of_a_registered_metaschema_count),
          TEST(format_assertion_vocabulary_asserts),
          TEST(unknown_required_vocabulary_is_refused),
          TEST(metaschema_without_vocabularies_has_those_of_its_own_dialect),
          TEST(embedded_resource_may_have_another_dialect))
