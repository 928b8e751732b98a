/* option_test.c - options on the command line: a table describes them, one reader */
#include "cli/option.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define AT(member) offsetof(struct cli_options, member)

static const struct cli_option common[] = {
    {"era", "ERA", "auto|modern|legacy", CLI_CHOICE, AT(era), ""},
    {"header", "LINE", NULL, CLI_LIST, AT(headers), ""},
    {"timeout", "TIME", NULL, CLI_TIME, AT(timeout_ms), ""},
    {"json", NULL, NULL, CLI_FLAG, AT(json), ""},
    {0},
};

static const struct cli_option own[] = {
    {"count", "N", NULL, CLI_COUNT, AT(count), ""},
    {"cancel-rate", "SHARE", NULL, CLI_PERCENT, AT(cancel_rate), ""},
    {"tool", "NAME", NULL, CLI_TEXT, AT(tool), ""},
    {0},
};

struct outcome {
    struct cli_options opt;
    char *words[16];
    int count;
    mcp_error err;
    bool ok;
};

/* The words, NULL at the end, read with both tables. */
static struct outcome
read_words(const char *const *words)
{
    static char texts[16][64];
    struct outcome o;
    int n = 0;

    memset(&o, 0, sizeof(o));
    cli_options_begin(&o.opt);
    for (; words[n]; n++) {
        (void)strncpy(texts[n], words[n], sizeof(texts[n]) - 1);
        o.words[n] = texts[n];
    }
    o.ok = cli_options_read(common, own, n, o.words, &o.opt, &o.count, &o.err);
    return o;
}

#define READ(...) read_words((const char *const[]){__VA_ARGS__, NULL})

static void
options_may_stand_anywhere(void **state)
{
    struct outcome o = READ("--json", "a", "--timeout", "5s", "b", "--era=legacy", "c");

    (void)state;
    assert_true(o.ok);
    assert_true(o.opt.json);
    assert_int_equal(o.opt.timeout_ms, 5000);
    assert_int_equal(o.opt.era, MCP_ERA_LEGACY);
    assert_int_equal(o.count, 3);
    assert_string_equal(o.words[0], "a");
    assert_string_equal(o.words[1], "b");
    assert_string_equal(o.words[2], "c");
}

static void
after_two_dashes_there_are_none(void **state)
{
    struct outcome o = READ("a", "--", "--json", "--");

    (void)state;
    assert_true(o.ok);
    assert_false(o.opt.json);
    assert_int_equal(o.count, 3);
    assert_string_equal(o.words[1], "--json");
    assert_string_equal(o.words[2], "--");
}

static void
a_list_keeps_all_in_order(void **state)
{
    struct outcome o = READ("--header", "A: 1", "--header=B: 2=3");

    (void)state;
    assert_true(o.ok);
    assert_int_equal(o.opt.headers.count, 2);
    assert_string_equal(o.opt.headers.item[0], "A: 1");
    assert_string_equal(o.opt.headers.item[1], "B: 2=3");
    assert_null(o.opt.headers.item[2]);
}

static void
a_list_has_an_end(void **state)
{
    static char option[] = "--header=x";
    char *words[CLI_LIST_MAX + 1];
    struct cli_options opt;
    mcp_error err;
    int count;

    (void)state;
    cli_options_begin(&opt);
    for (int i = 0; i <= CLI_LIST_MAX; i++)
        words[i] = option;
    assert_false(
        cli_options_read(common, NULL, CLI_LIST_MAX + 1, words, &opt, &count, &err));
    assert_non_null(strstr(err.message, "--header"));
}

static void
numbers_shares_and_texts_are_read(void **state)
{
    struct outcome o = READ("--count", "12", "--cancel-rate", "30%", "--tool", "hang");

    (void)state;
    assert_true(o.ok);
    assert_int_equal(o.opt.count, 12);
    assert_true(o.opt.cancel_rate > 0.29 && o.opt.cancel_rate < 0.31);
    assert_string_equal(o.opt.tool, "hang");
    o = READ("--cancel-rate=0.5");
    assert_true(o.ok && o.opt.cancel_rate > 0.49 && o.opt.cancel_rate < 0.51);
}

/* The words, and what the error must name. */
static void
check_refused(const char *word, const char *value, const char *named)
{
    struct outcome o = READ(word, value);

    assert_false(o.ok);
    assert_int_equal(o.err.status, MCP_E_INVAL);
    if (!strstr(o.err.message, named))
        fail_msg("\"%s\" does not say %s", o.err.message, named);
}

static void
what_is_wrong_is_named(void **state)
{
    (void)state;
    check_refused("--count", "many", "--count");
    check_refused("--count", "-1", "-1");
    check_refused("--count", "1e3", "1e3");
    check_refused("--cancel-rate", "130%", "130%");
    check_refused("--cancel-rate", "nan", "nan");
    check_refused("--timeout", "soon", "500ms");
    check_refused("--era", "old", "auto|modern|legacy");
    check_refused("--json=yes", "x", "takes no value");
    check_refused("x", "--tool", "--tool NAME");
    check_refused("x", "--nothing-of-that-kind", "--nothing-of-that-kind");
    check_refused("--timeuot", "5s", "--timeout?");
    check_refused("--cuont", "5", "--count?");
}

static void
times_have_units_and_bounds(void **state)
{
    int64_t ms = -1;

    (void)state;
    assert_true(cli_time_read("500ms", &ms) && ms == 500);
    assert_true(cli_time_read("5s", &ms) && ms == 5000);
    assert_true(cli_time_read("5", &ms) && ms == 5000);
    assert_true(cli_time_read("1.5", &ms) && ms == 1500);
    assert_true(cli_time_read("2m", &ms) && ms == 120000);
    assert_true(cli_time_read("1h", &ms) && ms == 3600000);
    assert_true(cli_time_read("0", &ms) && ms == 0);
    assert_true(cli_time_read("0.0001ms", &ms) && ms == 1);
    assert_false(cli_time_read("", &ms));
    assert_false(cli_time_read("s", &ms));
    assert_false(cli_time_read("-5s", &ms));
    assert_false(cli_time_read("+5s", &ms));
    assert_false(cli_time_read("0x10", &ms));
    assert_false(cli_time_read("inf", &ms));
    assert_false(cli_time_read("5 s", &ms));
    assert_false(cli_time_read("5d", &ms));
    assert_false(cli_time_read("1e300h", &ms));
}

static void
an_option_is_found_in_either_table(void **state)
{
    (void)state;
    assert_ptr_equal(cli_option_find(common, own, "json"), &common[3]);
    assert_ptr_equal(cli_option_find(common, own, "tool"), &own[2]);
    assert_null(cli_option_find(common, NULL, "tool"));
    assert_null(cli_option_find(common, own, "jso"));
}

static void
what_is_configured_comes_before_what_is_said(void **state)
{
    char configured[] = "A=1";
    char *const list[] = {configured, NULL};
    const struct cli_list said = {.item = {"A=2"}, .count = 1}, nothing = {0};
    const char **all = cli_list_join(list, &said);

    (void)state;
    assert_ptr_equal(all[0], configured);
    assert_string_equal(all[1], "A=2");
    assert_null(all[2]);
    free(all);
    all = cli_list_join(NULL, &nothing);
    assert_null(all[0]);
    free(all);
}

static void
what_is_said_wins_over_what_is_configured(void **state)
{
    char *env[] = {strdup("A=1"), strdup("AB=1"), strdup("a=1"), NULL};
    char *headers[] = {strdup("X-Key: 1"), strdup("X-Ke: 1"), NULL};
    const struct cli_list said = {.item = {"A=2"}, .count = 1},
                          header = {.item = {"x-key:2"}, .count = 1};

    (void)state;
    cli_list_override(env, &said, '=');
    assert_string_equal(env[0], "AB=1");
    assert_string_equal(env[1], "a=1");
    assert_null(env[2]);
    cli_list_override(headers, &header, ':');
    assert_string_equal(headers[0], "X-Ke: 1");
    assert_null(headers[1]);
    cli_list_override(NULL, &said, '=');
    free(env[0]);
    free(env[1]);
    free(headers[0]);
}

TEST_MAIN(TEST(what_is_said_wins_over_what_is_configured),
          TEST(what_is_configured_comes_before_what_is_said),
          TEST(options_may_stand_anywhere), TEST(after_two_dashes_there_are_none),
          TEST(a_list_keeps_all_in_order), TEST(a_list_has_an_end),
          TEST(numbers_shares_and_texts_are_read), TEST(what_is_wrong_is_named),
          TEST(times_have_units_and_bounds), TEST(an_option_is_found_in_either_table))
