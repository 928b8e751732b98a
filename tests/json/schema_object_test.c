/* json/schema_object_test.c - proves json/schema_object.c: keywords about objects */
#include "json/schema_fixture.h"

static void
keywords_of_a_wrong_type_are_refused(void **state)
{
    static const char *const bad[] = {
        "'properties':[]",
        "'properties':{'a':1}",
        "'required':{}",
        "'required':[1]",
        "'patternProperties':[]",
        "'patternProperties':{'(':true}",
        "'patternProperties':{'a':1}",
        "'additionalProperties':1",
        "'propertyNames':1",
        "'minProperties':-1",
        "'maxProperties':'1'",
        "'dependentRequired':[]",
        "'dependentRequired':{'a':1}",
        "'dependentRequired':{'a':[1]}",
        "'dependentSchemas':1",
        "'dependentSchemas':{'a':1}",
        "'unevaluatedProperties':1",
    };
    char text[200];

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        snprintf(text, sizeof text, "{'properties':{'x':{%s}}}", bad[i]);
        assert_int_equal(refused(text, "#/properties/x/"), MCP_E_INVAL);
    }
}

static void
names_of_all_keywords_share_one_table(void **state)
{
    (void)state;
    verdicts("{'properties':{'a':{'type':'null'}},'required':['b','a'],"
             "'dependentRequired':{'b':['c'],'d':['a','e']},"
             "'dependentSchemas':{'c':{'minProperties':4}}}",
             "[{'a':null,'b':1,'c':1,'x':1},{'a':null,'b':1},{'a':null,'b':1,'c':1},"
             "{'b':1,'c':1,'x':1,'y':1},{'a':1,'b':1,'c':1,'x':1},"
             "{'a':null,'b':1,'c':1,'d':1},{'a':null,'b':1,'c':1,'d':1,'e':1}]",
             "YNNNNNY");
}

static void
more_names_than_fit_on_the_stack_work(void **state)
{
    char schema[12000] = "{'additionalProperties':false,'properties':{", *at;
    char value[8000] = "[{", *in = value + 2;

    (void)state;
    at = schema + strlen(schema);
    for (int i = 0; i < 300; i++) {
        at += sprintf(at, "%s'p%d':{'const':%d}", i > 0 ? "," : "", i, i);
        in += sprintf(in, "%s'p%d':%d", i > 0 ? "," : "", 299 - i, 299 - i);
    }
    strcpy(at, "},'required':['p0','p299']}");
    strcpy(in, "},{'p0':0},{'p299':299,'p0':0},{'p0':0,'p299':299,'q':1}]");
    verdicts(schema, value, "YNYN");
}

/* In draft-07 they are `dependencies`; here the names are in no table. */
static void
lists_among_dependent_schemas_are_refused(void **state)
{
    (void)state;
    assert_int_equal(refused("{'dependentSchemas':{'a':['b']}}",
                             "#/dependentSchemas/a must be a schema"),
                     MCP_E_INVAL);
}

static void
empty_keywords_change_nothing(void **state)
{
    (void)state;
    verdicts("{'properties':{},'required':[],'patternProperties':{},"
             "'dependentRequired':{},'dependentSchemas':{}}",
             "[{},{'a':1},1]", "YYY");
}

static void
property_may_have_any_name(void **state)
{
    (void)state;
    verdicts("{'properties':{'':{'type':'null'},'$ref':{'type':'null'},"
             "'a\\u0000b':{'type':'null'}},'required':['']}",
             "[{'':null},{'':1},{'':null,'$ref':1},{'':null,'a\\u0000b':1},"
             "{'':null,'a':1},{}]",
             "YNNNYN");
}

TEST_MAIN(TEST(keywords_of_a_wrong_type_are_refused),
          TEST(names_of_all_keywords_share_one_table),
          TEST(more_names_than_fit_on_the_stack_work),
          TEST(lists_among_dependent_schemas_are_refused),
          TEST(empty_keywords_change_nothing), TEST(property_may_have_any_name))
