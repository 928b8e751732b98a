/* json/schema_check_object_test.c - proves json/schema_check_object.c */
#include "json/schema_fixture.h"

static void
members_are_checked_by_name_pattern_or_neither(void **state)
{
    (void)state;
    verdicts(
        "{'properties':{'a':{'type':'null'}},'patternProperties':{'^x':{'minimum':5},"
        "'y$':{'maximum':9}},'additionalProperties':{'type':'string'}}",
        "[{'a':null},{'a':1},{'x':5},{'x':1},{'xy':7},{'xy':10},{'b':''},{'b':1},1]",
        "YNYNYNYNY");
    verdicts("{'properties':{'xa':{'type':'null'}},'patternProperties':{'^x':false}}",
             "[{'xa':null},{'a':1}]", "NY");
    verdicts("{'additionalProperties':false}", "[{},{'a':1}]", "YN");
}

static void
names_are_checked(void **state)
{
    (void)state;
    verdicts("{'propertyNames':{'maxLength':2}}", "[{'ab':1},{'abc':1},{}]", "YNY");
    first_fault("{'propertyNames':{'maxLength':2}}", "{'q':{},'abc':1}",
                "maxLength  #/propertyNames/maxLength must have at most 2 characters");
}

static void
members_are_counted_and_required(void **state)
{
    (void)state;
    verdicts("{'minProperties':1,'maxProperties':2}",
             "[{},{'a':1},{'a':1,'b':1},{'a':1,'b':1,'c':1}]", "NYYN");
    verdicts("{'required':['a','b']}", "[{'b':1,'a':1},{'a':1},{},[]]", "YNNY");
}

static void
dependencies_hold_when_their_name_is_there(void **state)
{
    (void)state;
    verdicts("{'dependentRequired':{'a':['b','c'],'d':[]}}",
             "[{},{'a':1},{'a':1,'b':1,'c':1},{'d':1}]", "YNYY");
    verdicts("{'dependentSchemas':{'a':{'required':['b']},'c':false}}",
             "[{},{'a':1},{'a':1,'b':1},{'c':1}]", "YNYN");
}

static void
unevaluated_members_are_the_rest(void **state)
{
    (void)state;
    verdicts("{'allOf':[{'properties':{'a':true}}],'unevaluatedProperties':false}",
             "[{'a':1},{'b':1},{'a':1,'b':1}]", "YNN");
    verdicts("{'if':{'properties':{'a':{'const':1}},'required':['a']},"
             "'then':{'properties':{'b':true}},'else':{'properties':{'c':true}},"
             "'unevaluatedProperties':false}",
             "[{'a':1,'b':2},{'a':1,'c':2},{'c':2},{'a':2,'c':1}]", "YNYN");
    verdicts("{'dependentSchemas':{'a':{'properties':{'a':true,'b':true}}},"
             "'unevaluatedProperties':false}",
             "[{'a':1,'b':1},{'b':1}]", "YN");
    verdicts("{'properties':{'a':true},'additionalProperties':true,"
             "'unevaluatedProperties':false}",
             "[{'x':1}]", "Y");
    verdicts("{'unevaluatedProperties':{'type':'null'}}", "[{'a':null},{'a':1}]", "YN");
    verdicts("{'not':{'not':{'properties':{'a':true}}},'unevaluatedProperties':false}",
             "[{'a':1},{}]", "NY");
}

static void
unevaluated_sees_through_references_and_nesting(void **state)
{
    (void)state;
    verdicts("{'$ref':'#/$defs/base','unevaluatedProperties':false,"
             "'$defs':{'base':{'properties':{'a':true},'anyOf':[{'required':['b'],"
             "'properties':{'b':true}},true]}}}",
             "[{'a':1},{'a':1,'b':1},{'c':1}]", "YYN");
    verdicts(
        "{'allOf':[{'properties':{'a':true},'unevaluatedProperties':{'type':'null'}}],"
        "'unevaluatedProperties':false}",
        "[{'a':1,'b':null},{'b':1}]", "YN");
}

static void
duplicate_members_are_all_checked(void **state)
{
    (void)state;
    verdicts("{'properties':{'a':{'type':'null'}},'required':['a','b']}",
             "[{'a':null,'a':null,'b':1},{'a':null,'a':1,'b':1},{'a':null,'a':null}]",
             "YNN");
}

static void
faults_are_sentences(void **state)
{
    (void)state;
    first_fault("{'required':['b','a']}", "{}",
                "required  #/required must have the property \"b\"");
    first_fault("{'additionalProperties':false}", "{'x':1}",
                "additionalProperties /x #/additionalProperties is not a property the "
                "schema allows");
    first_fault(
        "{'unevaluatedProperties':false}", "{'x':1}",
        "unevaluatedProperties /x #/unevaluatedProperties is not a property the "
        "schema allows");
    first_fault("{'minProperties':1}", "{}",
                "minProperties  #/minProperties must have at least 1 property");
    first_fault("{'maxProperties':0}", "{'a':1}",
                "maxProperties  #/maxProperties must have at most 0 properties");
    first_fault("{'dependentRequired':{'a':['b']}}", "{'a':1}",
                "dependentRequired  #/dependentRequired must have the property \"b\" "
                "beside \"a\"");
}

TEST_MAIN(TEST(members_are_checked_by_name_pattern_or_neither), TEST(names_are_checked),
          TEST(members_are_counted_and_required),
          TEST(dependencies_hold_when_their_name_is_there),
          TEST(unevaluated_members_are_the_rest),
          TEST(unevaluated_sees_through_references_and_nesting),
          TEST(duplicate_members_are_all_checked), TEST(faults_are_sentences))
