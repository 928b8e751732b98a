/* cli/args_word_test.c - proves cli/args_word.c: name=value into the arguments */
#include <stdio.h>

#include "cli/args_parts.h"
#include "cli/desk.h"

#define PERSON                                                                    \
    "{'properties':{'name':{'type':'string'},'age':{'type':'integer'},"           \
    "'tags':{'type':'array','items':{'type':'string'}},'a.b':{'type':'integer'}," \
    "'home':{'type':'object','properties':{'street':{'type':'string'},"           \
    "'number':{'type':'integer'}},'additionalProperties':false}},"                \
    "'additionalProperties':false}"

struct words {
    struct desk desk;
    mcp_doc *schema, *file;
    struct cli_args args;
    struct cli_text json;
};

/* Reads these words, after what a file said (NULL: none). */
static void
words_read(struct words *w, const char *schema, const char *file,
           const char *const *words)
{
    memset(w, 0, sizeof(*w));
    desk_open(&w->desk);
    w->schema = schema ? desk_json(schema) : NULL;
    w->args = (struct cli_args){.cli = &w->desk.cli, .schema = mcp_doc_root(w->schema)};
    if (file) {
        w->file = desk_json(file);
        assert_true(cli_node_load(&w->args.root, mcp_doc_root(w->file)));
    }
    desk_hear(&w->desk);
    for (; *words; words++)
        cli_args_word(&w->args, *words);
    (void)desk_heard(&w->desk);
    cli_node_write(&w->args.root, &w->json);
}

static void
words_done(struct words *w)
{
    cli_text_done(&w->json);
    cli_text_done(&w->args.faults);
    cli_node_done(&w->args.root);
    mcp_doc_free(w->schema);
    mcp_doc_free(w->file);
    desk_close(&w->desk);
}

#define READ(w, schema, file, ...) \
    words_read(w, schema, file, (const char *const[]){__VA_ARGS__, NULL})

static void
assert_json(struct words *w, const char *json)
{
    assert_string_equal(cli_text_string(&w->args.faults), "");
    assert_string_equal(cli_text_string(&w->json), json);
    words_done(w);
}

static void
assert_fault(struct words *w, const char *fault)
{
    assert_string_equal(cli_text_string(&w->args.faults), fault);
    words_done(w);
}

static void
values_have_the_types_of_the_schema(void **state)
{
    struct words w;

    (void)state;
    READ(&w, PERSON, NULL, "name=5", "age=5", "tags=a,b", "a.b=7");
    assert_json(&w, "{\"name\":\"5\",\"age\":5,\"tags\":[\"a\",\"b\"],\"a.b\":7}");
}

static void
without_a_schema_they_are_strings(void **state)
{
    struct words w;

    (void)state;
    READ(&w, NULL, NULL, "a=5", "b=x=y", "c.d=1", "l[]=1", "l[]=2");
    assert_json(&w, "{\"a\":\"5\",\"b\":\"x=y\",\"c\":{\"d\":\"1\"},"
                    "\"l\":[\"1\",\"2\"]}");
}

static void
json_is_taken_as_it_is(void **state)
{
    struct words w;

    (void)state;
    READ(&w, NULL, NULL, "a:=[1,2]", "b:=123456789012345678901", "c=:=");
    assert_json(&w, "{\"a\":[1,2],\"b\":123456789012345678901,\"c\":\":=\"}");
}

static void
dots_lead_into_objects(void **state)
{
    struct words w;

    (void)state;
    READ(&w, PERSON, NULL, "home.street=Long", "home.number=5");
    assert_json(&w, "{\"home\":{\"street\":\"Long\",\"number\":5}}");
}

static void
words_win_over_the_file(void **state)
{
    struct words w;

    (void)state;
    READ(&w, PERSON, "{'age':1,'home':{'street':'x','number':1},'tags':['a']}", "age=2",
         "home.number=2", "tags[]=b");
    assert_json(&w, "{\"age\":2,\"home\":{\"street\":\"x\",\"number\":2},"
                    "\"tags\":[\"a\",\"b\"]}");
}

static void
a_name_given_twice_is_a_fault(void **state)
{
    struct words w;

    (void)state;
    READ(&w, PERSON, NULL, "age=1", "age=2");
    assert_fault(&w, "age: is given twice");
    READ(&w, PERSON, NULL, "home.number=1", "home={}");
    assert_fault(&w, "home: is given twice");
    READ(&w, PERSON, NULL, "tags=a", "tags[]=b");
    assert_fault(&w, "tags[]: is given twice");
}

static void
a_file_gives_its_text(void **state)
{
    char word[64];
    struct words w;
    int fd = memfd_create("text", MFD_CLOEXEC);

    (void)state;
    assert_int_equal(write(fd, "12\n", 3), 3);
    assert_true(snprintf(word, sizeof(word), "name=@/proc/self/fd/%d", fd) > 0);
    READ(&w, PERSON, NULL, word);
    assert_json(&w, "{\"name\":\"12\\n\"}");
    assert_true(snprintf(word, sizeof(word), "age=@/proc/self/fd/%d", fd) > 0);
    READ(&w, PERSON, NULL, word);
    assert_json(&w, "{\"age\":12}");
    assert_true(snprintf(word, sizeof(word), "name:=@/proc/self/fd/%d", fd) > 0);
    READ(&w, PERSON, NULL, word);
    assert_json(&w, "{\"name\":12\n}");
    close(fd);
}

static void
two_at_signs_are_one(void **state)
{
    struct words w;

    (void)state;
    READ(&w, PERSON, NULL, "name=@@me");
    assert_json(&w, "{\"name\":\"@me\"}");
    READ(&w, PERSON, NULL, "name=@/nowhere");
    assert_fault(&w, "name: cannot read \"/nowhere\": No such file or directory; for a "
                     "text that begins with @ write NAME=@@TEXT");
}

static void
a_name_that_is_not_allowed_gets_a_near_one(void **state)
{
    struct words w;

    (void)state;
    READ(&w, PERSON, NULL, "nmae=x", "home.numbr=1");
    assert_fault(&w, "nmae: there is no such argument; did you mean name?\n"
                     "home.numbr: there is no such argument; did you mean number?");
    READ(&w, PERSON, NULL, "home.zzz=1");
    assert_fault(&w, "home.zzz: there is no such argument; there are street, number");
}

static void
a_name_that_is_not_known_is_passed_with_a_note(void **state)
{
    struct words w;

    (void)state;
    READ(&w, "{'properties':{'name':{}}}", NULL, "nmae=5");
    assert_has(w.desk.heard, "the schema does not name nmae; did you mean name?");
    assert_json(&w, "{\"nmae\":\"5\"}");
}

static void
what_is_no_argument_shows_the_forms(void **state)
{
    struct words w;

    (void)state;
    READ(&w, PERSON, NULL, "hello");
    assert_has(cli_text_string(&w.args.faults),
               "hello: this is no argument: write NAME=VALUE, NAME:=JSON");
    words_done(&w);
    READ(&w, PERSON, NULL, "=x", ":=x", "home.=1", ".x=1");
    assert_int_equal(w.args.fault_count, 4);
    words_done(&w);
}

static void
a_wrong_value_is_explained_with_the_schema(void **state)
{
    struct words w;

    (void)state;
    READ(&w,
         "{'properties':{'n':{'type':'integer','minimum':1,'description':'How many'}}}",
         NULL, "n=x");
    assert_fault(&w, "n: must be an integer, not \"x\"; the schema says: integer, at "
                     "least 1, \"How many\"");
    READ(&w, NULL, NULL, "n:=x");
    assert_has(cli_text_string(&w.args.faults), "n: is not JSON: ");
    words_done(&w);
}

TEST_MAIN(TEST(values_have_the_types_of_the_schema),
          TEST(without_a_schema_they_are_strings), TEST(json_is_taken_as_it_is),
          TEST(dots_lead_into_objects), TEST(words_win_over_the_file),
          TEST(a_name_given_twice_is_a_fault), TEST(a_file_gives_its_text),
          TEST(two_at_signs_are_one), TEST(a_name_that_is_not_allowed_gets_a_near_one),
          TEST(a_name_that_is_not_known_is_passed_with_a_note),
          TEST(what_is_no_argument_shows_the_forms),
          TEST(a_wrong_value_is_explained_with_the_schema))
