/* cli/args_test.c - proves cli/args.c: a file, words, questions and the check */
#include "cli/args.h"

#include <stdio.h>

#include "cli/desk.h"
#include "cli/secret.h"
#include "cli/trace.h"

#define ADD                                                              \
    "{'type':'object','properties':{'a':{'type':'integer','maximum':9}," \
    "'b':{'type':'integer'}},'required':['a','b'],'additionalProperties':false}"

struct args {
    struct desk desk;
    char *json;
    int code;
};

static void
args_run(struct args *args, const char *schema, bool is_prompt,
         const char *const *words)
{
    mcp_doc *doc = schema ? desk_json(schema) : NULL;
    char *copy[8];
    int count = 0;

    for (; words[count]; count++)
        copy[count] = strdup(words[count]);
    desk_hear(&args->desk);
    args->code = (is_prompt ? cli_args_read_prompt : cli_args_read)(
        &args->desk.cli, mcp_doc_root(doc), count, copy, &args->json);
    (void)desk_heard(&args->desk);
    while (count > 0)
        free(copy[--count]);
    mcp_doc_free(doc);
}

#define RUN(args, schema, ...) \
    args_run(args, schema, false, (const char *const[]){__VA_ARGS__, NULL})
#define RUN_PROMPT(args, list, ...) \
    args_run(args, list, true, (const char *const[]){__VA_ARGS__, NULL})

static void
args_open(struct args *args)
{
    desk_open(&args->desk);
    args->desk.cli.may_ask = false;
    args->json = NULL;
}

static void
args_close(struct args *args)
{
    free(args->json);
    desk_close(&args->desk);
}

static void
words_become_an_object(void **state)
{
    struct args args;

    (void)state;
    args_open(&args);
    RUN(&args, ADD, "a=1", "b=2");
    assert_int_equal(args.code, CLI_OK);
    assert_string_equal(args.json, "{\"a\":1,\"b\":2}");
    assert_string_equal(args.desk.heard, "");
    args_close(&args);
}

static void
what_the_schema_calls_a_secret_is_not_in_a_trace(void **state)
{
    static const char schema[] =
        "{'type':'object','properties':{'user':{'type':'string'},'door':{'type':"
        "'object','properties':{'pin':{'type':'string','format':'password'}}}}}";
    struct cli_text traced = {0};
    struct args args;

    (void)state;
    args_open(&args);
    args.desk.cli.options.trace = true;
    RUN(&args, schema, "user=somebody", "door.pin=0815");
    assert_string_equal(args.json,
                        "{\"user\":\"somebody\",\"door\":{\"pin\":\"0815\"}}");
    cli_trace_message(args.json, strlen(args.json), &traced);
    assert_string_equal(cli_text_string(&traced),
                        "{\"user\":\"somebody\",\"door\":{\"pin\":\"[hidden]\"}}");
    cli_text_done(&traced);
    cli_secret_forget();
    args_close(&args);
}

static void
no_words_are_an_empty_object(void **state)
{
    struct args args;

    (void)state;
    args_open(&args);
    RUN(&args, NULL, NULL);
    assert_int_equal(args.code, CLI_OK);
    assert_string_equal(args.json, "{}");
    args_close(&args);
}

static void
a_wrong_one_is_explained_and_nothing_is_given(void **state)
{
    struct args args;

    (void)state;
    args_open(&args);
    RUN(&args, ADD, "a=10", "b:=\"x\"");
    assert_int_equal(args.code, CLI_OTHER);
    assert_null(args.json);
    assert_has(args.desk.heard,
               "a: must be at most 9; the schema says: integer, at most 9");
    assert_has(args.desk.heard, "b: must be an integer, not a string");
    assert_has(args.desk.heard, "nothing was sent");
    args_close(&args);
}

static void
a_file_comes_before_the_words(void **state)
{
    char path[64];
    struct args args;
    int fd = memfd_create("args", MFD_CLOEXEC);

    (void)state;
    args_open(&args);
    assert_int_equal(write(fd, "{\"a\":1,\"b\":5}", 13), 13);
    assert_true(snprintf(path, sizeof(path), "/proc/self/fd/%d", fd) > 0);
    args.desk.cli.options.args = path;
    RUN(&args, ADD, "b=2");
    assert_int_equal(args.code, CLI_OK);
    assert_string_equal(args.json, "{\"a\":1,\"b\":2}");
    args_close(&args);
    close(fd);
}

static void
a_file_that_is_no_object_is_refused(void **state)
{
    char path[64];
    struct args args;
    int fd = memfd_create("args", MFD_CLOEXEC);

    (void)state;
    args_open(&args);
    assert_int_equal(write(fd, "[1]", 3), 3);
    assert_true(snprintf(path, sizeof(path), "/proc/self/fd/%d", fd) > 0);
    args.desk.cli.options.args = path;
    RUN(&args, ADD, NULL);
    assert_int_equal(args.code, CLI_OTHER);
    assert_has(args.desk.heard, "--args: must be a JSON object");
    args.desk.cli.options.args = "/nowhere";
    RUN(&args, ADD, NULL);
    assert_has(args.desk.heard, "--args: cannot read \"/nowhere\"");
    args_close(&args);
    close(fd);
}

static void
what_is_missing_is_asked_for_and_checked(void **state)
{
    struct args args;

    (void)state;
    args_open(&args);
    args.desk.cli.may_ask = true;
    desk_type(&args.desk, "10\n3\n");
    RUN(&args, ADD, "b=2");
    assert_int_equal(args.code, CLI_OK);
    assert_string_equal(args.json, "{\"b\":2,\"a\":3}");
    args_close(&args);
}

static void
a_prompt_has_only_strings(void **state)
{
    struct args args;

    (void)state;
    args_open(&args);
    RUN_PROMPT(&args, "[{'name':'n','required':true}]", "n=5", "other=6");
    assert_int_equal(args.code, CLI_OK);
    assert_string_equal(args.json, "{\"n\":\"5\",\"other\":\"6\"}");
    free(args.json);
    RUN_PROMPT(&args, "[{'name':'n'}]", "n:=5");
    assert_int_equal(args.code, CLI_OTHER);
    assert_has(args.desk.heard, "n: must be a string, not an integer");
    RUN_PROMPT(&args, NULL, "x=1");
    assert_string_equal(args.json, "{\"x\":\"1\"}");
    args_close(&args);
}

static void
a_prompt_says_what_is_missing(void **state)
{
    struct args args;

    (void)state;
    args_open(&args);
    RUN_PROMPT(&args, "[{'name':'n','description':'The name','required':true}]", NULL);
    assert_int_equal(args.code, CLI_OTHER);
    assert_has(args.desk.heard, "n: is required and missing; the schema says: string, "
                                "\"The name\"");
    args_close(&args);
}

TEST_MAIN(TEST(words_become_an_object),
          TEST(what_the_schema_calls_a_secret_is_not_in_a_trace),
          TEST(no_words_are_an_empty_object),
          TEST(a_wrong_one_is_explained_and_nothing_is_given),
          TEST(a_file_comes_before_the_words),
          TEST(a_file_that_is_no_object_is_refused),
          TEST(what_is_missing_is_asked_for_and_checked),
          TEST(a_prompt_has_only_strings), TEST(a_prompt_says_what_is_missing))
