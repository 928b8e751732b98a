/* cli/generate_man_test.c - proves cli/generate_man.c: the source of mcpctl(1).
 * tests/checks/man.py looks at the page that scdoc makes of it. */
#include <stdio.h>
#include <string.h>

#include "cli/generate.h"
#include "cli/prose.h"
#include "support/test.h"

static struct cli_text page;

static void
has(const char *text)
{
    if (strstr(cli_text_string(&page), text) == NULL)
        fail_msg("the page does not have: %s", text);
}

static void
page_has_every_section_in_order(void **state)
{
    static const char *const sections[] = {
        "NAME",        "SYNOPSIS",    "DESCRIPTION", "OPTIONS",  "COMMANDS",
        "EXIT STATUS", "ENVIRONMENT", "FILES",       "EXAMPLES", "SEE ALSO",
    };
    const char *at;
    char line[40];

    (void)state;
    cli_generate_man(&page);
    assert_false(page.failed);
    at = page.data;
    assert_ptr_equal(strstr(at, "mcpctl(1) \"libmcp "), at);
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        (void)snprintf(line, sizeof line, "\n\n# %s\n\n", sections[i]);
        at = strstr(at, line);
        assert_non_null(at);
    }
    cli_text_done(&page);
    page = (struct cli_text){0};
}

static void
page_has_all_commands_options_and_exits(void **state)
{
    char line[80];

    (void)state;
    cli_generate_man(&page);
    for (const struct cli_command *const *c = cli_commands; *c != NULL; c++) {
        (void)snprintf(line, sizeof line, "\n## %s\n\n*mcpctl %s*", (*c)->name,
                       (*c)->name);
        assert_int_equal(strstr(page.data, line) != NULL, !(*c)->hidden);
    }
    for (const struct cli_option *o = cli_common_options; o->name != NULL; o++) {
        (void)snprintf(line, sizeof line, "\n*--%s*", o->name);
        has(line);
    }
    for (const struct cli_prose_item *e = cli_prose_exits; e->name != NULL; e++) {
        (void)snprintf(line, sizeof line, "\n*%s*\n\t", e->name);
        has(line);
    }
    cli_text_done(&page);
    page = (struct cli_text){0};
}

static void
what_has_a_meaning_to_scdoc_is_escaped(void **state)
{
    (void)state;
    cli_generate_man(&page);
    has("*XDG\\_STATE\\_HOME*");
    has("_\\~/.claude.json_");
    has("_$XDG\\_CONFIG\\_HOME/Claude/claude\\_desktop\\_config.json_");
    has("\n```\n'./server --flag'    a command line");
    cli_text_done(&page);
    page = (struct cli_text){0};
}

TEST_MAIN(TEST(page_has_every_section_in_order),
          TEST(page_has_all_commands_options_and_exits),
          TEST(what_has_a_meaning_to_scdoc_is_escaped))
