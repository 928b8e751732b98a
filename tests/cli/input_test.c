/* cli/input_test.c - proves cli/input.c: what a configuration leaves to its user */
#include "cli/input.h"

#include "cli/desk.h"

#define INPUTS                                                                \
    "[{'type':'promptString','id':'key','description':'The key of the shop'," \
    "'password':true},"                                                       \
    "{'type':'promptString','id':'name','default':'Ann'},"                    \
    "{'type':'pickString','id':'place','options':['here',"                    \
    "{'label':'Far away','value':'there'}]},"                                 \
    "{'type':'command','id':'other','command':'x'}]"

static char **
list_of(const char *first, const char *second)
{
    char **list = calloc(3, sizeof(*list));

    assert_non_null(list);
    list[0] = strdup(first);
    list[1] = second ? strdup(second) : NULL;
    return list;
}

/* A program that was configured with these arguments and variables. */
static struct cli_target
target_of(const char *argument, const char *first, const char *second)
{
    mcp_doc *doc = desk_json(INPUTS);
    struct cli_target target = {.kind = CLI_TARGET_COMMAND, .name = strdup("shop")};
    char *text;

    assert_int_equal(mcp_json_print(mcp_doc_root(doc), false, NULL, &text, NULL), 0);
    target.inputs = strdup(text);
    mcp_text_free(text, NULL);
    mcp_doc_free(doc);
    target.argv = list_of("srv", argument);
    target.env = list_of(first, second);
    return target;
}

static void
desk_leave(struct desk *desk)
{
    cli_answers_free(desk->cli.answers);
    desk_close(desk);
}

static void
what_is_needed_is_asked_for_and_filled_in(void **state)
{
    struct cli_target target = target_of("--as=${input:name}", "KEY=a${input:key}z",
                                         "PLACE=${input:place}");
    struct desk desk;

    (void)state;
    desk_open(&desk);
    desk_type(&desk, "\nhidden\nnowhere\n2\n");
    assert_int_equal(cli_input_fill(&desk.cli, &target), CLI_OK);
    assert_string_equal(target.argv[1], "--as=Ann");
    assert_string_equal(target.env[0], "KEY=ahiddenz");
    assert_string_equal(target.env[1], "PLACE=there");
    assert_has(desk_shown(&desk), "leaves this to you: the server shop");
    assert_has(desk_shown(&desk), "key: The key of the shop");
    assert_has(desk_shown(&desk), "2) Far away");
    cli_target_done(&target);
    desk_leave(&desk);
}

/* What is typed before it is asked for is echoed: so the terminal is waited for. */
static void *
type_the_key(void *user)
{
    desk_until(user, "key");
    desk_until(user, "> ");
    desk_type(user, "hidden\n");
    return NULL;
}

static void
a_password_is_not_shown(void **state)
{
    struct cli_target target = target_of("x", "KEY=${input:key}", NULL);
    struct desk desk;
    pthread_t thread;

    (void)state;
    desk_open(&desk);
    assert_int_equal(pthread_create(&thread, NULL, type_the_key, &desk), 0);
    assert_int_equal(cli_input_fill(&desk.cli, &target), CLI_OK);
    pthread_join(thread, NULL);
    assert_string_equal(target.env[0], "KEY=hidden");
    assert_null(strstr(desk_shown(&desk), "hidden"));
    cli_target_done(&target);
    desk_leave(&desk);
}

static void
each_is_asked_for_once_in_a_run(void **state)
{
    struct cli_target target = target_of("${input:name}${input:name}",
                                         "A=${input:name}", NULL);
    struct cli_target again = target_of("${input:name}", "B=1", NULL);
    struct desk desk;

    (void)state;
    desk_open(&desk);
    desk_type(&desk, "Eve\n");
    assert_int_equal(cli_input_fill(&desk.cli, &target), CLI_OK);
    assert_int_equal(cli_input_fill(&desk.cli, &again), CLI_OK);
    assert_string_equal(target.argv[1], "EveEve");
    assert_string_equal(target.env[0], "A=Eve");
    assert_string_equal(again.argv[1], "Eve");
    cli_target_done(&target);
    cli_target_done(&again);
    desk_leave(&desk);
}

static void
what_is_not_needed_is_not_asked_for(void **state)
{
    struct cli_target target = target_of("${input:other}${input:", "KEY=key", NULL);
    struct desk desk;

    (void)state;
    desk_open(&desk);
    assert_int_equal(cli_input_fill(&desk.cli, &target), CLI_OK);
    assert_string_equal(target.argv[1], "${input:other}${input:");
    assert_string_equal(target.env[0], "KEY=key");
    assert_string_equal(desk_shown(&desk), "");
    cli_target_done(&target);
    desk_leave(&desk);
}

static void
without_a_terminal_it_is_said_what_is_missing(void **state)
{
    struct cli_target target = target_of("x", "KEY=${input:key}", NULL);
    struct desk desk;
    int code;

    (void)state;
    desk_open(&desk);
    desk.cli.may_ask = false;
    desk_hear(&desk);
    code = cli_input_fill(&desk.cli, &target);
    assert_has(desk_heard(&desk), "the server \"shop\" asks for the input key");
    assert_has(desk.heard, "--env or --header");
    assert_int_equal(code, CLI_OTHER);
    assert_null(target.argv);
    desk_leave(&desk);
}

static void
who_leaves_or_cancels_starts_nothing(void **state)
{
    struct cli_target target = target_of("x", "KEY=${input:key}", NULL);
    struct cli_target again = target_of("x", "KEY=${input:key}", NULL);
    struct desk desk;
    int left, canceled;

    (void)state;
    desk_open(&desk);
    desk_type(&desk, "\x04"); /* Ctrl-D */
    desk_hear(&desk);
    left = cli_input_fill(&desk.cli, &target);
    mcp_scope_cancel(desk.cli.scope, NULL);
    canceled = cli_input_fill(&desk.cli, &again);
    assert_has(desk_heard(&desk), "which was not given");
    assert_has(desk.heard, "canceled before there was a session");
    assert_int_equal(left, CLI_OTHER);
    assert_int_equal(canceled, CLI_CANCELED);
    assert_null(target.argv);
    assert_null(again.argv);
    desk_leave(&desk);
}

TEST_MAIN(TEST(what_is_needed_is_asked_for_and_filled_in),
          TEST(a_password_is_not_shown), TEST(each_is_asked_for_once_in_a_run),
          TEST(what_is_not_needed_is_not_asked_for),
          TEST(without_a_terminal_it_is_said_what_is_missing),
          TEST(who_leaves_or_cancels_starts_nothing))
