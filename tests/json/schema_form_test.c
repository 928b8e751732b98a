/* json/schema_form_test.c - proves json/schema_form.c: what a form may ask for */
#include "json/schema_fixture.h"

static void
form_is(int expected, const char *text, const char *says)
{
    mcp_doc *doc = doc_of(text);
    mcp_error err = {0};
    int r = mcp_schema_check_form(mcp_doc_root(doc), &err);

    if (r != expected || !strstr(err.message, says))
        fail_msg("%s: %d %s", text, r, err.message);
    mcp_doc_free(doc);
}

static void
property_is(int expected, const char *property, const char *says)
{
    char text[600];

    snprintf(text, sizeof text, "{'type':'object','properties':{'x':%s}}", property);
    form_is(expected, text, says);
}

/* The examples of Client / Elicitation, "Requested Schema". */
static void
each_kind_of_the_specification_is_allowed(void **state)
{
    static const char *const properties[] = {
        "{'type':'string','title':'t','description':'d','minLength':3,'maxLength':50,"
        "'pattern':'^[A-Za-z]+$','format':'email','default':'user@example.com'}",
        "{'type':'number','title':'t','minimum':0,'maximum':100,'default':50}",
        "{'type':'integer','default':5}",
        "{'type':'boolean','title':'t','description':'d','default':false}",
        "{'type':'string','enum':['Red','Green'],'default':'Red'}",
        "{'type':'string','enum':['r'],'enumNames':['Red']}",
        "{'type':'string','oneOf':[{'const':'#F00','title':'Red'}],'default':'#F00'}",
        "{'type':'array','minItems':1,'maxItems':2,'items':{'type':'string',"
        "'enum':['Red']},'default':['Red']}",
        "{'type':'array','items':{'anyOf':[{'const':'#F00','title':'Red'}]},"
        "'default':['#F00']}",
        "{'type':'string','x-own':{'a':1}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(properties) / sizeof(properties[0]); i++)
        property_is(0, properties[i], "");
}

static void
all_else_is_refused(void **state)
{
    (void)state;
    property_is(MCP_E_INVAL, "{'type':'object','properties':{}}", "/properties/x/type");
    property_is(MCP_E_INVAL, "{'type':'null'}", "/properties/x/type");
    property_is(MCP_E_INVAL, "{'type':['string','null']}", "/properties/x/type");
    property_is(MCP_E_INVAL, "true", "/properties/x/type");
    property_is(MCP_E_INVAL, "{}", "/properties/x/type");
    property_is(MCP_E_INVAL, "{'type':'string','$ref':'#'}", "/x/$ref is not allowed");
    property_is(MCP_E_INVAL, "{'type':'string','allOf':[]}", "/x/allOf is not allowed");
    property_is(MCP_E_INVAL, "{'type':'string','format':'ipv4'}", "/x/format must be");
    property_is(MCP_E_INVAL, "{'type':'string','minimum':1}", "/x/minimum is not");
    property_is(MCP_E_INVAL, "{'type':'string','minLength':-1}",
                "/x/minLength must be");
    property_is(MCP_E_INVAL, "{'type':'string','enum':[1]}", "/x/enum must be");
    property_is(MCP_E_INVAL, "{'type':'string','oneOf':[{'const':'a'}]}", "/x/oneOf");
    property_is(MCP_E_INVAL, "{'type':'string','enum':['a'],'oneOf':[]}",
                "beside enum");
    property_is(MCP_E_INVAL, "{'type':'string','default':1}", "/x/default");
    property_is(MCP_E_INVAL, "{'type':'string','title':1}", "/x/title");
    property_is(MCP_E_INVAL, "{'type':'number','enum':['1']}", "/x/enum is not");
    property_is(MCP_E_INVAL, "{'type':'number','multipleOf':2}",
                "/x/multipleOf is not");
    property_is(MCP_E_INVAL, "{'type':'number','default':'1'}", "/x/default");
    property_is(MCP_E_INVAL, "{'type':'boolean','default':0}", "/x/default");
    property_is(MCP_E_INVAL, "{'type':'array'}", "/x/items");
    property_is(MCP_E_INVAL, "{'type':'array','items':{'type':'string'}}", "/x/items");
    property_is(MCP_E_INVAL, "{'type':'array','items':{'type':'object'}}", "/x/items");
    property_is(MCP_E_INVAL,
                "{'type':'array','items':{'type':'string','enum':['a'],'pattern':'a'}}",
                "/x/items");
    property_is(MCP_E_INVAL,
                "{'type':'array','items':{'type':'string','enum':['a']},'default':'a'}",
                "/x/default");
    property_is(MCP_E_INVAL,
                "{'type':'array','items':{'type':'string','enum':['a']},"
                "'uniqueItems':true}",
                "/x/uniqueItems is not allowed");
}

static void
form_itself_is_a_flat_object(void **state)
{
    (void)state;
    form_is(0, "{'type':'object','properties':{}}", "");
    form_is(0,
            "{'$schema':'https://json-schema.org/draft/2020-12/schema','type':'object',"
            "'title':'t','properties':{'a':{'type':'string'}},'required':['a'],"
            "'additionalProperties':false}",
            "");
    form_is(MCP_E_INVAL, "{'type':'array','properties':{}}", "/type must be object");
    form_is(MCP_E_INVAL, "{'properties':{}}", "/type must be object");
    form_is(MCP_E_INVAL, "{'type':'object'}", "/properties must be");
    form_is(MCP_E_INVAL, "{'type':'object','properties':[]}", "/properties must be");
    form_is(MCP_E_INVAL, "{'type':'object','properties':{},'required':'a'}",
            "/required");
    form_is(MCP_E_INVAL, "{'type':'object','properties':{},'$defs':{}}",
            "/$defs is not");
    form_is(MCP_E_INVAL, "{'type':'object','properties':{},'additionalProperties':{}}",
            "/additionalProperties");
    form_is(MCP_E_INVAL, "true", "/type");
    assert_int_equal(mcp_schema_check_form(NULL, NULL), MCP_E_INVAL);
}

TEST_MAIN(TEST(each_kind_of_the_specification_is_allowed), TEST(all_else_is_refused),
          TEST(form_itself_is_a_flat_object))
