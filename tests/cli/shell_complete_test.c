/* cli/shell_complete_test.c - proves cli/shell_complete.c: what is typed */
#include "cli/shell_complete.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

static struct cli_typed typed;

/* What is wanted for this line; freed by want_done. */
static struct cli_want
want_of(const char *line)
{
    struct cli_want want;

    assert_int_equal(cli_typed_read(line, strlen(line), &typed), 0);
    cli_want_read(&typed, &want);
    return want;
}

static void
want_done(void)
{
    cli_typed_done(&typed);
}

static enum cli_want_kind
kind_of(const char *line)
{
    enum cli_want_kind kind = want_of(line).kind;

    want_done();
    return kind;
}

/* The candidates, with blanks between; frees the list. */
static const char *
items(struct cli_candidates *list)
{
    static char shown[512];
    size_t length = 0;

    shown[0] = '\0';
    cli_candidates_sort(list);
    for (size_t i = 0; i < list->count; i++)
        length += (size_t)snprintf(shown + length, sizeof shown - length, "%s%s",
                                   i ? " " : "", list->item[i]);
    cli_candidates_done(list);
    return shown;
}

static mcp_doc *
json(const char *text)
{
    char copy[512];
    mcp_doc *doc;

    snprintf(copy, sizeof copy, "%s", text);
    for (char *at = copy; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    assert_int_equal(mcp_doc_parse(copy, strlen(copy), NULL, &doc, NULL), 0);
    return doc;
}

static void
each_word_of_a_command_means_something(void **state)
{
    (void)state;
    assert_int_equal(kind_of(""), CLI_WANT_COMMAND);
    assert_int_equal(kind_of("ca"), CLI_WANT_COMMAND);
    assert_int_equal(kind_of("call "), CLI_WANT_TOOL);
    assert_int_equal(kind_of("call echo te"), CLI_WANT_TOOL_ARGUMENT);
    assert_int_equal(kind_of("call echo text=a"), CLI_WANT_TOOL_VALUE);
    assert_int_equal(kind_of("get "), CLI_WANT_PROMPT);
    assert_int_equal(kind_of("get review "), CLI_WANT_PROMPT_ARGUMENT);
    assert_int_equal(kind_of("get review l="), CLI_WANT_PROMPT_VALUE);
    assert_int_equal(kind_of("read no"), CLI_WANT_RESOURCE);
    assert_int_equal(kind_of("kill "), CLI_WANT_JOB);
    assert_int_equal(kind_of("set json "), CLI_WANT_SETTING_VALUE);
    assert_int_equal(kind_of("tools echo "), CLI_WANT_NOTHING);
    assert_int_equal(kind_of("nonsense "), CLI_WANT_NOTHING);
}

static void
options_do_not_count_as_words(void **state)
{
    (void)state;
    assert_int_equal(kind_of("call --json "), CLI_WANT_TOOL);
    assert_int_equal(kind_of("call --timeout 5s "), CLI_WANT_TOOL);
    assert_int_equal(kind_of("call --timeout "), CLI_WANT_NOTHING);
    assert_int_equal(kind_of("call --timeout=5s ec"), CLI_WANT_TOOL);
    assert_int_equal(kind_of("call echo --js"), CLI_WANT_OPTION);
}

static void
a_value_is_wanted_for_a_name(void **state)
{
    struct cli_want want = want_of("call echo a=1 color:=re");

    (void)state;
    assert_string_equal(want.subject, "echo");
    assert_int_equal(want.name_length, 5);
    assert_memory_equal(want.name, "color", 5);
    assert_string_equal(want.prefix, "re");
    assert_int_equal(want.given_count, 1);
    assert_string_equal(want.given[0], "a=1");
    want_done();
}

static void
candidates_begin_as_what_is_typed(void **state)
{
    static const char *const names[] = {"call", "complete", "info", "call", NULL};
    struct cli_want want = want_of("c");
    struct cli_candidates list;

    (void)state;
    cli_candidates_init(&list, &want);
    cli_candidates_add_names(&list, names);
    assert_string_equal(list.tail, " ");
    assert_string_equal(items(&list), "call complete");
    want_done();
}

static void
names_that_would_type_for_the_user_are_left_out(void **state)
{
    mcp_doc *doc = json("[{'name':'a\\u001b]0;x'},{'name':'a\\nquit'},{'name':'ab'},"
                        "{'name':7},{}]");
    struct cli_want want = want_of("call a");
    struct cli_candidates list;

    (void)state;
    cli_candidates_init(&list, &want);
    cli_candidates_add_items(&list, mcp_doc_root(doc), "name");
    assert_string_equal(items(&list), "ab");
    want_done();
    mcp_doc_free(doc);
}

static void
fields_are_offered_until_they_are_given(void **state)
{
    mcp_doc *doc = json("{'properties':{'to':{},'text':{},'tags':{},'x':{}}}");
    struct cli_want want = want_of("call echo text=1 to:=2 tags[]=3 t");
    struct cli_candidates list;

    (void)state;
    cli_candidates_init(&list, &want);
    cli_candidates_add_fields(&list, &want, mcp_doc_root(doc));
    assert_string_equal(list.tail, "");
    assert_string_equal(items(&list), "tags=");
    want_done();
    mcp_doc_free(doc);
}

static void
arguments_of_prompts_are_offered_too(void **state)
{
    mcp_doc *doc = json("[{'name':'code'},{'name':'language'},{}]");
    struct cli_want want = want_of("get review code=1 ");
    struct cli_candidates list;

    (void)state;
    cli_candidates_init(&list, &want);
    cli_candidates_add_arguments(&list, &want, mcp_doc_root(doc));
    assert_string_equal(items(&list), "language=");
    want_done();
    mcp_doc_free(doc);
}

static void
values_come_from_the_schema(void **state)
{
    static const char *const cases[][2] = {
        {"{'enum':['red','green',3]}", "3 green red"},
        {"{'type':'boolean'}", "false true"},
        {"{'type':['null','boolean']}", "false true"},
        {"{'const':'x'}", "x"},
        {"{'oneOf':[{'const':'a','title':'A'},{'const':'b'}]}", "a b"},
        {"{'type':'string'}", ""}};
    struct cli_want want = want_of("call t x=");

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        mcp_doc *doc = json(cases[i][0]);
        struct cli_candidates list;

        cli_candidates_init(&list, &want);
        cli_candidates_add_values(&list, mcp_doc_root(doc));
        assert_string_equal(items(&list), cases[i][1]);
        mcp_doc_free(doc);
    }
    want_done();
}

static size_t
common(const char *const *names)
{
    struct cli_want want = want_of("");
    struct cli_candidates list;
    size_t length;

    cli_candidates_init(&list, &want);
    cli_candidates_add_names(&list, names);
    length = cli_candidates_common(&list);
    cli_candidates_done(&list);
    want_done();
    return length;
}

static void
what_all_have_in_common_ends_between_characters(void **state)
{
    (void)state;
    assert_int_equal(common((const char *const[]){"hang", "hang_async", NULL}), 4);
    assert_int_equal(common((const char *const[]){"hang", NULL}), 4);
    assert_int_equal(common((const char *const[]){"a", "b", NULL}), 0);
    assert_int_equal(common((const char *const[]){NULL}), 0);
    assert_int_equal(common((const char *const[]){"x\xC3\xA4", "x\xC3\xB6", NULL}), 1);
}

static void
candidates_are_shown_in_columns(void **state)
{
    static const char *const names[] = {"a", "bb", "ccc", "d", "e", NULL};
    struct cli_want want = want_of("");
    struct cli_candidates list;
    struct cli_text text = {0};

    (void)state;
    cli_candidates_init(&list, &want);
    cli_candidates_add_names(&list, names);
    cli_candidates_show(&list, 12, &text);
    assert_string_equal(cli_text_string(&text), "a    d\nbb   e\nccc\n");
    cli_text_done(&text);
    cli_candidates_done(&list);
    want_done();
}

TEST_MAIN(TEST(each_word_of_a_command_means_something),
          TEST(options_do_not_count_as_words), TEST(a_value_is_wanted_for_a_name),
          TEST(candidates_begin_as_what_is_typed),
          TEST(names_that_would_type_for_the_user_are_left_out),
          TEST(fields_are_offered_until_they_are_given),
          TEST(arguments_of_prompts_are_offered_too), TEST(values_come_from_the_schema),
          TEST(what_all_have_in_common_ends_between_characters),
          TEST(candidates_are_shown_in_columns))
