/* cli/shell_screen_test.c - proves cli/shell_screen.c: the terminal under a prompt */
#include "cli/shell_screen.h"

#include "cli/shell_room.h"

static struct cli_screen screen;
static int keys[2], signals[2], others[2];

static void
begin(void)
{
    assert_int_equal(cli_screen_init(&screen), 0);
    assert_int_equal(pipe(keys), 0);
    assert_int_equal(pipe(signals), 0);
    assert_int_equal(pipe(others), 0);
}

static void
end(void)
{
    for (int i = 0; i < 2; i++) {
        close(keys[i]);
        close(signals[i]);
        close(others[i]);
    }
    cli_screen_done(&screen);
}

static enum cli_screen_event
wait_for_event(void)
{
    return cli_screen_wait(&screen, keys[0], signals[0], others[0]);
}

static void
lines_of_others_wait_for_the_prompt(void **state)
{
    struct room room = {0};
    enum cli_screen_event event;
    const char *heard;

    (void)state;
    begin();
    room_hear(&room);
    cli_screen_enter(&screen);
    fputs("a line\n", stderr);
    event = wait_for_event();
    fputs("above: ", stdout);
    fflush(stdout);
    cli_screen_lift(&screen);
    cli_screen_lower(&screen);
    fputs("another\n", stderr);
    fputs("below: ", stdout);
    fflush(stdout);
    cli_screen_leave(&screen);
    heard = room_heard(&room);
    assert_int_equal(event, CLI_SCREEN_LINES);
    assert_string_equal(heard, "above: a line\nbelow: another\n");
    end();
}

static void
each_event_has_its_place(void **state)
{
    (void)state;
    begin();
    assert_int_equal(write(keys[1], "k", 1), 1);
    assert_int_equal(wait_for_event(), CLI_SCREEN_KEY);
    assert_int_equal(write(others[1], "j", 1), 1);
    assert_int_equal(wait_for_event(), CLI_SCREEN_LINES);
    assert_int_equal(write(signals[1], "s", 1), 1);
    assert_int_equal(wait_for_event(), CLI_SCREEN_INTERRUPT);
    end();
}

/* A question of the server's. */
struct question {
    mcp_client_options opt;
    atomic_bool was_asked, was_prompt;
};

static int
answer(mcp_request *req, mcp_result *out, void *user)
{
    struct question *question = user;

    (void)req, (void)out;
    pthread_mutex_lock(&screen.lock);
    atomic_store(&question->was_prompt, screen.is_prompt);
    pthread_mutex_unlock(&screen.lock);
    atomic_store(&question->was_asked, true);
    return 17;
}

static void *
ask(void *user)
{
    struct question *question = user;
    int r = question->opt.elicit.run(NULL, NULL, question->opt.elicit.user);

    return r == 17 ? question : NULL;
}

static void
a_question_takes_the_terminal_from_the_prompt(void **state)
{
    struct question question = {.opt = {.elicit = {.run = answer, .user = &question}}};
    enum cli_screen_event event;
    pthread_t thread;
    bool too_early;
    void *answered;

    (void)state;
    begin();
    cli_screen_offer(&screen, &question.opt);
    cli_screen_enter(&screen);
    (void)pthread_create(&thread, NULL, ask, &question);
    event = wait_for_event();
    too_early = atomic_load(&question.was_asked);
    cli_screen_leave(&screen);
    cli_screen_enter(&screen); /* waits for the answer */
    cli_screen_leave(&screen);
    pthread_join(thread, &answered);
    assert_int_equal(event, CLI_SCREEN_QUESTION);
    assert_false(too_early);
    assert_true(atomic_load(&question.was_asked));
    assert_false(atomic_load(&question.was_prompt));
    assert_ptr_equal(answered, &question);
    end();
}

static void
handlers_that_are_not_there_stay_so(void **state)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.name = "t", .version = "1");

    (void)state;
    begin();
    cli_screen_offer(&screen, &opt);
    assert_null(opt.elicit.run);
    assert_null(opt.sample.run);
    end();
}

TEST_MAIN(TEST(lines_of_others_wait_for_the_prompt), TEST(each_event_has_its_place),
          TEST(a_question_takes_the_terminal_from_the_prompt),
          TEST(handlers_that_are_not_there_stay_so))
