/* cli/input_test.c - proves cli/input.c: what a configuration leaves to its user */
#include "cli/input.h"

#include "cli/clock.h"
#include "cli/desk.h"
#include "cli/home.h"
#include "cli/secret.h"
#include "cli/session.h"

#define INPUTS                                                                  \
    "[{'type':'promptString','id':'key','description':'The key of the shop',"   \
    "'password':true},"                                                         \
    "{'type':'promptString','id':'name','default':'Ann'},"                      \
    "{'type':'pickString','id':'place','options':['here',"                      \
    "{'label':'Far away','value':'there'},{'value':'here'},{'label':'Home'}]}," \
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

static void
a_choice_may_have_only_a_label_or_be_there_twice(void **state)
{
    static const struct {
        const char *typed, *value;
    } rows[] = {
        {"1\n", "P=here"}, {"3\n", "P=here"}, {"4\n", "P=Home"}, {"Home\n", "P=Home"}};

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        struct cli_target target = target_of("x", "P=${input:place}", NULL);
        struct desk desk;

        desk_open(&desk);
        desk_type(&desk, rows[i].typed);
        assert_int_equal(cli_input_fill(&desk.cli, &target), CLI_OK);
        assert_string_equal(target.env[0], rows[i].value);
        cli_target_done(&target);
        desk_leave(&desk);
    }
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
    assert_has(desk.heard, "; or say --env KEY=...");
    assert_int_equal(code, CLI_OTHER);
    assert_null(target.argv);
    desk_leave(&desk);
}

static void
only_an_option_that_helps_is_named(void **state)
{
    struct cli_target argument = target_of("${input:key}", "KEY=${input:key}", NULL);
    struct cli_target folder = target_of("x", "KEY=key", NULL);
    struct cli_target header = target_of("x", "KEY=key", NULL);
    struct desk desk;

    (void)state;
    folder.cwd = strdup("${input:name}");
    header.headers = list_of("X-Key: ${input:key}", NULL);
    desk_open(&desk);
    desk.cli.may_ask = false;
    desk_hear(&desk);
    (void)cli_input_fill(&desk.cli, &argument);
    (void)cli_input_fill(&desk.cli, &folder);
    (void)cli_input_fill(&desk.cli, &header);
    assert_has(desk_heard(&desk), "key, which was not given; it can be given at a");
    assert_null(strstr(desk.heard, "--env"));
    assert_has(desk.heard, "; or say --cwd FOLDER");
    assert_has(desk.heard, "; or say --header X-Key:...");
    desk_leave(&desk);
}

static void
a_whole_path_may_be_typed(void **state)
{
    struct cli_target target = target_of("x", "KEY=key", NULL);
    struct cli_target again = target_of("x", "KEY=key", NULL);
    struct desk desk;

    (void)state;
    target.cwd = strdup("${input:name}");
    target.folder = strdup("/project");
    again.cwd = strdup("${input:other}${input:name}/x");
    again.folder = strdup("/project");
    desk_open(&desk);
    desk_type(&desk, "/usr\n");
    assert_int_equal(cli_input_fill(&desk.cli, &target), CLI_OK);
    assert_string_equal(target.cwd, "/usr");
    assert_int_equal(cli_input_fill(&desk.cli, &again), CLI_OK);
    assert_string_equal(again.cwd, "/project/${input:other}/usr/x");
    cli_target_done(&target);
    cli_target_done(&again);
    desk_leave(&desk);
}

static void
an_address_that_is_typed_is_looked_at(void **state)
{
    struct cli_target target = target_of("x", "KEY=key", NULL);
    struct cli_target again = target_of("x", "KEY=key", NULL);
    struct desk desk;
    int good, bad;

    (void)state;
    target.url = strdup("${input:name}");
    again.url = strdup("x${input:name}");
    desk_open(&desk);
    desk_type(&desk, "http://127.0.0.1/mcp\n");
    desk_hear(&desk);
    good = cli_input_fill(&desk.cli, &target);
    bad = cli_input_fill(&desk.cli, &again);
    assert_has(desk_heard(&desk), "\"shop\" was given no http:// or https:// address");
    assert_int_equal(good, CLI_OK);
    assert_int_equal(bad, CLI_OTHER);
    assert_string_equal(target.url, "http://127.0.0.1/mcp");
    assert_null(again.url);
    cli_target_done(&target);
    desk_leave(&desk);
}

/* From the file to the target. */
static void
a_folder_and_an_address_may_be_all_that_is_asked_for(void **state)
{
    struct cli_target target;
    struct desk desk;

    (void)state;
    (void)home_write("home/project/.vscode/mcp.json",
                     "{\"inputs\":[{\"type\":\"promptString\",\"id\":\"at\"}],"
                     "\"servers\":{\"shop\":{\"command\":\"srv\",\"cwd\":"
                     "\"${input:at}\"},\"web\":{\"url\":\"${input:at}\"}}}");
    desk_open(&desk);
    desk_type(&desk, "deep\n");
    assert_int_equal(cli_target_get(&desk.cli, "shop", &target), CLI_OK);
    assert_string_equal(target.cwd, home_path("home/project/deep"));
    cli_target_done(&target);
    desk.cli.options.cwd = "/usr";
    desk.cli.may_ask = false;
    cli_answers_free(desk.cli.answers);
    desk.cli.answers = NULL;
    assert_int_equal(cli_target_get(&desk.cli, "shop", &target), CLI_OK);
    cli_target_done(&target);
    desk.cli.may_ask = true;
    desk_type(&desk, "http://127.0.0.1/mcp\n");
    assert_int_equal(cli_target_get(&desk.cli, "web", &target), CLI_OK);
    assert_string_equal(target.url, "http://127.0.0.1/mcp");
    cli_target_done(&target);
    desk_leave(&desk);
}

/* When it was typed, in user; to a terminal that waits for it. */
static void *
type_a_program(void *user)
{
    struct desk *desk = user;
    int64_t *typed_ns = malloc(sizeof(*typed_ns));

    desk_until(desk, "> ");
    assert_non_null(typed_ns);
    *typed_ns = cli_now_ns();
    desk_type(desk, "/nonexistent/srv\n");
    return typed_ns;
}

static void
typing_takes_no_time_of_a_server(void **state)
{
    struct cli_session session;
    struct desk desk;
    pthread_t thread;
    void *typed;
    int code;

    (void)state;
    (void)home_write("home/project/.vscode/mcp.json",
                     "{\"inputs\":[{\"type\":\"promptString\",\"id\":\"at\"}],"
                     "\"servers\":{\"web\":{\"command\":\"${input:at}\"}}}");
    desk_open(&desk);
    desk.cli.command = cli_command_find("bench");
    desk_hear(&desk);
    (void)pthread_create(&thread, NULL, type_a_program, &desk);
    code = cli_session_open(&desk.cli, "web", NULL, &session);
    (void)pthread_join(thread, &typed);
    (void)desk_heard(&desk);
    assert_int_equal(code, CLI_UNREACHABLE);
    assert_true(session.began_ns >= *(int64_t *)typed);
    free(typed);
    desk_leave(&desk);
}

static void
a_password_is_in_no_description(void **state)
{
    struct cli_target target = target_of("${input:key}", "KEY=key", NULL);
    struct desk desk;
    char *text;

    (void)state;
    desk_open(&desk);
    desk_type(&desk, "pw\n");
    assert_int_equal(cli_input_fill(&desk.cli, &target), CLI_OK);
    text = cli_target_describe(&target);
    assert_non_null(text);
    assert_string_equal(text, "srv '[hidden]'");
    free(text);
    cli_target_done(&target);
    cli_secret_forget();
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

TEST_MAIN_AFTER(home_enter, TEST(typing_takes_no_time_of_a_server),
                TEST(a_folder_and_an_address_may_be_all_that_is_asked_for),
                TEST(only_an_option_that_helps_is_named),
                TEST(a_whole_path_may_be_typed),
                TEST(a_choice_may_have_only_a_label_or_be_there_twice),
                TEST(an_address_that_is_typed_is_looked_at),
                TEST(a_password_is_in_no_description),
                TEST(what_is_needed_is_asked_for_and_filled_in),
                TEST(a_password_is_not_shown), TEST(each_is_asked_for_once_in_a_run),
                TEST(what_is_not_needed_is_not_asked_for),
                TEST(without_a_terminal_it_is_said_what_is_missing),
                TEST(who_leaves_or_cancels_starts_nothing))
