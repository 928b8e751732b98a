/* cli/shell_settings_test.c - proves cli/shell_settings.c: what can be set */
#include "cli/shell_settings.h"

#include "cli/shell_room.h"

static struct room room;

/* `set` with these words; what it said. */
static const char *
set(int *ret_code, const char *name, const char *value)
{
    char name_copy[32], value_copy[32];
    char *argv[] = {name_copy, value_copy, NULL};
    int argc = (name != NULL) + (value != NULL);

    snprintf(name_copy, sizeof name_copy, "%s", name ? name : "");
    snprintf(value_copy, sizeof value_copy, "%s", value ? value : "");
    room_hear(&room);
    *ret_code = cli_settings_do(&room.session, argc, argv);
    return room_heard(&room);
}

static void
times_are_set_as_options_are(void **state)
{
    int code;

    (void)state;
    room_open(&room);
    (void)set(&code, "timeout", "1500ms");
    assert_int_equal(code, CLI_OK);
    assert_int_equal(room.cli.options.timeout_ms, 1500);
    (void)set(&code, "max-total", "2m");
    assert_int_equal(room.cli.options.total_ms, 120000);
    assert_has(set(&code, NULL, NULL), "timeout    1500ms\n");
    assert_string_equal(set(&code, "max-total", NULL), "max-total  120s\n");
    room_close(&room);
}

static void
a_wrong_value_changes_nothing(void **state)
{
    int codes[4];

    (void)state;
    room_open(&room);
    (void)set(&codes[0], "timeout", "5s");
    (void)set(&codes[0], "timeout", "soon");
    (void)set(&codes[1], "log", "loud");
    (void)set(&codes[2], "json", "maybe");
    assert_has(set(&codes[3], "nosuch", "1"), "there is no setting \"nosuch\"");
    for (int i = 0; i < 4; i++)
        assert_int_equal(codes[i], CLI_OTHER);
    assert_int_equal(room.cli.options.timeout_ms, 5000);
    assert_false(room.cli.json && room.cli.out_is_terminal);
    room_close(&room);
}

static void
json_is_switched_for_results_and_notes(void **state)
{
    int code;

    (void)state;
    room_open(&room);
    room.cli.out_is_terminal = true;
    (void)set(&code, "json", "on");
    assert_int_equal(code, CLI_OK);
    assert_true(room.cli.json);
    assert_true(room.cli.say.is_json);
    assert_has(set(&code, "json", NULL), "\"json\": \"on\"");
    (void)set(&code, "json", "off");
    assert_false(room.cli.json);
    assert_false(room.cli.say.is_json);
    room_close(&room);
}

static void
the_server_hears_of_the_log_level(void **state)
{
    int code;

    (void)state;
    room_open(&room);
    (void)set(&code, "log", "debug");
    assert_int_equal(code, CLI_OK);
    assert_int_equal(room.cli.options.severity, MCP_SEVERITY_DEBUG);
    assert_string_equal(set(&code, "log", NULL), "log        debug\n");
    room_close(&room);
}

static size_t
count(enum cli_want_kind kind, const char *subject, const char *prefix)
{
    struct cli_want want = {.kind = kind, .subject = subject, .prefix = prefix};
    struct cli_candidates list;
    size_t found;

    cli_candidates_init(&list, &want);
    cli_settings_complete(&want, &list);
    found = list.count;
    cli_candidates_done(&list);
    return found;
}

static void
names_and_values_are_completed(void **state)
{
    (void)state;
    assert_int_equal(count(CLI_WANT_SETTING, NULL, ""), 4);
    assert_int_equal(count(CLI_WANT_SETTING, NULL, "t"), 1);
    assert_int_equal(count(CLI_WANT_SETTING_VALUE, "json", "o"), 2);
    assert_int_equal(count(CLI_WANT_SETTING_VALUE, "log", ""), 9);
    assert_int_equal(count(CLI_WANT_SETTING_VALUE, "timeout", ""), 0);
}

TEST_MAIN(TEST(times_are_set_as_options_are), TEST(a_wrong_value_changes_nothing),
          TEST(json_is_switched_for_results_and_notes),
          TEST(the_server_hears_of_the_log_level), TEST(names_and_values_are_completed))
