/* cli/shell_lookup_test.c - proves cli/shell_lookup.c: what a server knows */
#include "cli/shell_lookup.h"

#include "cli/shell_room.h"

/* The candidates for this line, with blanks between, and an underscore if a blank is
 * typed behind the only one. */
static const char *
look_up(struct room *room, const char *line)
{
    static char shown[512];
    struct cli_candidates list;
    struct cli_typed typed;
    struct cli_want want;
    size_t length = 0;

    assert_int_equal(cli_typed_read(line, strlen(line), &typed), 0);
    cli_want_read(&typed, &want);
    cli_candidates_init(&list, &want);
    cli_lookup(&room->session, &want, &list);
    cli_candidates_sort(&list);
    shown[0] = '\0';
    for (size_t i = 0; i < list.count; i++)
        length += (size_t)snprintf(shown + length, sizeof shown - length, "%s%s",
                                   i ? " " : "", list.item[i]);
    snprintf(shown + length, sizeof shown - length, "%s",
             list.count && *list.tail ? "_" : "");
    cli_candidates_done(&list);
    cli_typed_done(&typed);
    return shown;
}

static void
tools_and_their_arguments_are_found(void **state)
{
    struct room room;

    (void)state;
    room_open(&room);
    assert_string_equal(look_up(&room, "call "), "echo fail hang_");
    assert_string_equal(look_up(&room, "tools e"), "echo_");
    assert_string_equal(look_up(&room, "call echo "), "color= loud= text=");
    assert_string_equal(look_up(&room, "call echo text=x "), "color= loud=");
    assert_string_equal(look_up(&room, "call echo color=r"), "red_");
    assert_string_equal(look_up(&room, "call echo loud="), "false true_");
    assert_string_equal(look_up(&room, "call nosuch "), "");
    room_close(&room);
}

static void
prompts_and_values_for_them_are_found(void **state)
{
    struct room room;

    (void)state;
    room_open(&room);
    assert_string_equal(look_up(&room, "get "), "review_");
    assert_string_equal(look_up(&room, "get review code=x "), "language=");
    assert_string_equal(look_up(&room, "get review code=x language=p"), "perl python_");
    assert_string_equal(look_up(&room, "get review nosuch="), "");
    room_close(&room);
}

static void
resources_and_templates_are_found(void **state)
{
    struct room room;

    (void)state;
    room_open(&room);
    assert_string_equal(look_up(&room, "read "), "note:index page:");
    assert_string_equal(look_up(&room, "read n"), "note:index_");
    assert_string_equal(look_up(&room, "read page:r"), "page:red%20book/");
    assert_string_equal(look_up(&room, "read page:red%20book/1"), "page:red%20book/17");
    room_close(&room);
}

static void
a_server_that_is_gone_knows_nothing(void **state)
{
    struct room room;

    (void)state;
    room_open(&room);
    mcp_client_close(room.session.client);
    assert_string_equal(look_up(&room, "call "), "");
    assert_string_equal(look_up(&room, "get review language=p"), "");
    room_close(&room);
}

/* What it would take too long to ask is not asked any more once Ctrl-C was pressed. */
static void
a_canceled_scope_ends_the_asking(void **state)
{
    struct room room;

    (void)state;
    room_open(&room);
    assert_int_equal(mcp_scope_cancel(room.cli.scope, "Ctrl-C"), 0);
    assert_string_equal(look_up(&room, "call "), "");
    room_close(&room);
}

TEST_MAIN(TEST(tools_and_their_arguments_are_found),
          TEST(prompts_and_values_for_them_are_found),
          TEST(resources_and_templates_are_found),
          TEST(a_server_that_is_gone_knows_nothing),
          TEST(a_canceled_scope_ends_the_asking))
