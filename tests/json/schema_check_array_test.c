/* json/schema_check_array_test.c - proves json/schema_check_array.c */
#include "json/schema_fixture.h"

static void
items_follow_the_prefix(void **state)
{
    (void)state;
    verdicts(
        "{'prefixItems':[{'type':'null'},{'type':'string'}],'items':{'type':'number'}}",
        "[[],[null],[1],[null,'a',1,2],[null,'a','b'],{}]", "YYNYNY");
    verdicts("{'prefixItems':[true],'items':false}", "[[1],[1,2],[]]", "YNY");
}

static void
counts_are_limited(void **state)
{
    (void)state;
    verdicts("{'minItems':1,'maxItems':2}", "[[],[1],[1,2],[1,2,3],'abc']", "NYYNY");
}

static void
contains_counts_what_conforms(void **state)
{
    (void)state;
    verdicts("{'contains':{'type':'null'}}", "[[],[1],[1,null],5]", "NNYY");
    verdicts("{'contains':{'type':'null'},'minContains':2}", "[[null],[null,1,null]]",
             "NY");
    verdicts("{'contains':{'type':'null'},'minContains':0}", "[[],[1]]", "YY");
    verdicts("{'contains':{'type':'null'},'maxContains':1}",
             "[[null],[null,null],[null,1],[]]", "YNYN");
    verdicts("{'minContains':5,'maxContains':0}", "[[],[1]]", "YY");
}

static void
items_must_differ_if_told(void **state)
{
    (void)state;
    verdicts("{'uniqueItems':true}", "[[1,2],[1,1.0],[{'a':1,'b':2},{'b':2,'a':1}],[]]",
             "YNNY");
    verdicts("{'uniqueItems':false}", "[[1,1]]", "Y");
}

static void
unevaluated_items_are_the_rest(void **state)
{
    (void)state;
    verdicts("{'allOf':[{'prefixItems':[{'type':'null'}]}],'unevaluatedItems':false}",
             "[[],[null],[null,1]]", "YYN");
    verdicts("{'contains':{'type':'string'},'unevaluatedItems':{'type':'null'}}",
             "[['a',null],['a',1]]", "YN");
    verdicts(
        "{'anyOf':[{'prefixItems':[{'const':1}]},{'prefixItems':[true,{'const':2}]}],"
        "'unevaluatedItems':false}",
        "[[1],[1,2],[1,3],[5,2]]", "YYNY");
    verdicts("{'unevaluatedItems':{'items':true,'type':'array'}}", "[[[1]],[1]]", "YN");
}

static void
unevaluated_items_of_long_arrays_work(void **state)
{
    char text[2000] = "[[", *at = text + 2;

    (void)state;
    for (int i = 0; i < 100; i++)
        at += sprintf(at, "'a',");
    strcpy(at, "null],[1]]");
    verdicts("{'contains':{'type':'string'},'minContains':0,'oneOf':[{'contains':"
             "{'type':'null'}},false],'unevaluatedItems':false}",
             text, "YN");
}

static void
faults_are_sentences(void **state)
{
    (void)state;
    first_fault("{'minItems':2}", "[1]",
                "minItems  #/minItems must have at least 2 items");
    first_fault("{'maxItems':0}", "[1]",
                "maxItems  #/maxItems must have at most 0 items");
    first_fault("{'uniqueItems':true}", "[1,1]",
                "uniqueItems  #/uniqueItems must not have the same item twice");
    first_fault("{'contains':false}", "[1]",
                "contains  #/contains must have an item as the schema describes");
    first_fault("{'contains':true,'minContains':2}", "[1]",
                "minContains  #/minContains must have at least 2 items as the schema "
                "describes");
    first_fault("{'contains':true,'maxContains':1}", "[1,2]",
                "maxContains  #/maxContains must have at most 1 item as the schema "
                "describes");
    first_fault("{'prefixItems':[true],'unevaluatedItems':false}", "[1,2]",
                "unevaluatedItems /1 #/unevaluatedItems must not be there");
}

TEST_MAIN(TEST(items_follow_the_prefix), TEST(counts_are_limited),
          TEST(contains_counts_what_conforms), TEST(items_must_differ_if_told),
          TEST(unevaluated_items_are_the_rest),
          TEST(unevaluated_items_of_long_arrays_work), TEST(faults_are_sentences))
