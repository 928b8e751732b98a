/* cli/config_test.c - proves cli/config.c: which files are read, which entry wins */
#include <stdlib.h>
#include <string.h>

#include "cli/config.h"
#include "home.h"

#define MCP "home/project/.mcp.json"

static char warnings[4096];

static void
on_warning(void *user, const char *line)
{
    size_t length = strlen(warnings);

    assert_string_equal(user, "user");
    snprintf(warnings + length, sizeof warnings - length, "%s\n", line);
}

static struct cli_config *
read_all(void)
{
    static char user[] = "user";
    struct cli_config *config;

    warnings[0] = '\0';
    assert_int_equal(cli_config_read(on_warning, user, &config), 0);
    return config;
}

/* The program whose entry a name means; NULL: it means none. */
static const char *
source_of(const char *name)
{
    struct cli_config *config = read_all();
    const struct cli_config_entry *entry = cli_config_find(config, name);
    const char *source = entry ? entry->source : NULL; /* lives on */

    cli_config_free(config);
    return source;
}

static void
without_files_there_is_nothing(void **state)
{
    struct cli_config *config = read_all();

    (void)state;
    assert_int_equal(cli_config_count(config), 0);
    assert_null(cli_config_find(config, "x"));
    assert_string_equal(warnings, "");
    cli_config_free(config);
    cli_config_free(NULL);
}

static void
each_program_s_file_is_read(void **state)
{
    static const char *const files[][3] = {
        {"home/project/deep/.mcp.json", "mcpServers", "Claude Code (project)"},
        {"home/project/.cursor/mcp.json", "mcpServers", "Cursor (project)"},
        {"home/project/.vscode/mcp.json", "servers", "VS Code (project)"},
        {"home/project/.gemini/settings.json", "mcpServers", "Gemini (project)"},
        {"home/project/.roo/mcp.json", "mcpServers", "Roo Code (project)"},
        {"home/project/.kiro/settings/mcp.json", "mcpServers", "Kiro (project)"},
        {"home/.mcp.json", "mcpServers", "Claude Code (project)"},
        {"home/.claude.json", "mcpServers", "Claude Code (user)"},
        {"home/.config/Claude/claude_desktop_config.json", "mcpServers",
         "Claude Desktop"},
        {"home/.cursor/mcp.json", "mcpServers", "Cursor (user)"},
        {"home/.config/Code/User/mcp.json", "servers", "VS Code (user)"},
        {"home/.gemini/settings.json", "mcpServers", "Gemini (user)"},
        {"home/.codeium/windsurf/mcp_config.json", "mcpServers", "Windsurf"},
        {"home/.kiro/settings/mcp.json", "mcpServers", "Kiro (user)"},
        {"home/.copilot/mcp-config.json", "mcpServers", "Copilot"},
    };
    char text[128];
    size_t i;

    (void)state;
    for (i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(text, sizeof text, "{\"%s\":{\"s\":{\"command\":\"x\"},},}",
                 files[i][1]);
        home_write(files[i][0], text);
        assert_string_equal(source_of("s"), files[i][2]);
        assert_string_equal(warnings, "");
        home_unlink(files[i][0]);
    }
}

static void
the_nearest_one_wins_and_hides_the_others(void **state)
{
    struct cli_config *config;

    (void)state;
    home_write("home/project/deep/.mcp.json",
               "{\"mcpServers\":{\"s\":{\"command\":\"near\"}}}");
    home_write(MCP, "{\"mcpServers\":{\"s\":{\"command\":\"above\"}}}");
    home_write("home/.claude.json", "{\"mcpServers\":{\"s\":{\"command\":\"wide\"}}}");
    config = read_all();
    assert_int_equal(cli_config_count(config), 3);
    assert_string_equal(cli_config_find(config, "s")->target.argv[0], "near");
    assert_ptr_equal(cli_config_find(config, "s"), cli_config_at(config, 0));
    assert_false(cli_config_at(config, 0)->is_shadowed);
    assert_true(cli_config_at(config, 1)->is_shadowed);
    assert_string_equal(cli_config_at(config, 1)->target.argv[0], "above");
    assert_string_equal(cli_config_at(config, 1)->target.cwd,
                        home_path("home/project"));
    assert_true(cli_config_at(config, 2)->is_shadowed);
    assert_string_equal(cli_config_at(config, 2)->file, home_path("home/.claude.json"));
    cli_config_free(config);
    home_unlink("home/project/deep/.mcp.json");
    home_unlink(MCP);
    home_unlink("home/.claude.json");
}

static void
what_claude_code_keeps_for_a_folder_beats_its_files(void **state)
{
    char text[600];

    (void)state;
    snprintf(text, sizeof text,
             "{\"projects\":{\"%s\":{\"mcpServers\":{\"s\":{\"command\":\"x\"}}},"
             "\"/elsewhere\":{\"mcpServers\":{\"t\":{\"command\":\"x\"}}}}}",
             home_path("home/project"));
    home_write("home/.claude.json", text);
    home_write(MCP, "{\"mcpServers\":{\"s\":{\"command\":\"y\"}}}");
    assert_string_equal(source_of("s"), "Claude Code (local)");
    assert_null(source_of("t"));
    home_unlink("home/.claude.json");
    home_unlink(MCP);
}

static void
a_disabled_one_wins_only_if_there_is_no_other(void **state)
{
    struct cli_config *config;

    (void)state;
    home_write(MCP, "{\"mcpServers\":{\"s\":{\"command\":\"x\",\"disabled\":true},"
                    "\"t\":{\"command\":\"x\",\"disabled\":true}}}");
    home_write("home/.claude.json", "{\"mcpServers\":{\"s\":{\"command\":\"y\"}}}");
    config = read_all();
    assert_string_equal(cli_config_find(config, "s")->target.argv[0], "y");
    assert_true(cli_config_find(config, "t")->is_disabled);
    assert_false(cli_config_find(config, "t")->is_shadowed);
    cli_config_free(config);
    home_unlink(MCP);
    home_unlink("home/.claude.json");
}

static void
gemini_disables_by_a_list(void **state)
{
    struct cli_config *config;

    (void)state;
    home_write("home/.gemini/settings.json",
               "{\"mcp\":{\"excluded\":[1,\"s\"]},\"mcpServers\":{\"s\":{\"httpUrl\":"
               "\"http://h/$MCPCTL_TEST\"},\"t\":{\"command\":\"x\"}}}");
    config = read_all();
    assert_true(cli_config_find(config, "s")->is_disabled);
    assert_string_equal(cli_config_find(config, "s")->target.url, "http://h/set");
    assert_false(cli_config_find(config, "t")->is_disabled);
    cli_config_free(config);
    home_unlink("home/.gemini/settings.json");
}

static void
a_fault_does_not_let_a_wider_one_win(void **state)
{
    struct cli_config *config;

    (void)state;
    home_write(MCP, "{\"mcpServers\":{\"s\":{\"command\":\"${MCPCTL_UNSET}\"}}}");
    home_write("home/.claude.json", "{\"mcpServers\":{\"s\":{\"command\":\"y\"}}}");
    config = read_all();
    assert_string_equal(cli_config_find(config, "s")->fault,
                        "needs the variable MCPCTL_UNSET, which is not set");
    assert_string_equal(cli_config_find(config, "s")->shown, "'${MCPCTL_UNSET}'");
    cli_config_free(config);
    home_unlink(MCP);
    home_unlink("home/.claude.json");
}

static void
a_file_that_is_wrong_is_a_warning_and_others_are_read(void **state)
{
    static const char *const wrong[] = {"{", "[]", "7", "{\"mcpServers\":[]}",
                                        "{\"mcpServers\":\"x\"}"};
    size_t i;

    (void)state;
    home_write("home/.claude.json", "{\"mcpServers\":{\"s\":{\"command\":\"y\"}}}");
    for (i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        home_write(MCP, wrong[i]);
        assert_string_equal(source_of("s"), "Claude Code (user)");
        assert_non_null(strstr(warnings, ".mcp.json"));
        assert_ptr_equal(strchr(warnings, '\n'), warnings + strlen(warnings) - 1);
    }
    home_unlink(MCP);
    home_write("home/.claude.json", "{");
    assert_null(source_of("s"));
    assert_ptr_equal(strchr(warnings, '\n'), warnings + strlen(warnings) - 1);
    home_unlink("home/.claude.json");
}

static void
names_that_nobody_can_type_are_passed_over(void **state)
{
    struct cli_config *config;

    (void)state;
    home_write(MCP, "{\"mcpServers\":{\"\":{},\"a\\u001b[2J\":{},\"a\\u0000\":{},"
                    "\"my server\":{},\"gr\\u00fcn\":{}}}");
    config = read_all();
    assert_int_equal(cli_config_count(config), 2);
    assert_non_null(cli_config_find(config, "my server"));
    assert_non_null(strstr(warnings, "whose name cannot be used"));
    cli_config_free(config);
    home_unlink(MCP);
}

static void
more_servers_than_anybody_has_are_passed_over(void **state)
{
    struct cli_config *config;
    char *text = malloc(40000), *at = text;
    int i;

    (void)state;
    assert_non_null(text);
    at += sprintf(at, "{\"mcpServers\":{");
    for (i = 0; i < 2000; i++)
        at += sprintf(at, "\"s%d\":{},", i);
    sprintf(at, "}}");
    home_write(MCP, text);
    config = read_all();
    assert_int_equal(cli_config_count(config), 1000);
    assert_non_null(strstr(warnings, "more servers than"));
    cli_config_free(config);
    home_unlink(MCP);
    free(text);
}

/* In this folder as in one above it. */
static void
a_project_s_file_of_another_user_is_not_used(void **state)
{
    static const char *const files[] = {MCP, "home/project/deep/.mcp.json"};
    const char *path;

    (void)state;
    if (geteuid() != 0)
        test_skip("only root can give a file away");
    for (int i = 0; i < 2; i++) {
        path = home_write(files[i], "{\"mcpServers\":{\"s\":{\"command\":\"x\"}}}");
        assert_int_equal(chown(path, 1, 1), 0);
        assert_null(source_of("s"));
        assert_non_null(strstr(warnings, "belongs to another user"));
        home_unlink(files[i]);
    }
}

static void
a_project_s_file_that_others_can_write_to_is_not_used(void **state)
{
    const char *path;

    (void)state;
    path = home_write(MCP, "{\"mcpServers\":{\"s\":{\"command\":\"x\"}}}");
    assert_int_equal(chmod(path, 0666), 0);
    assert_null(source_of("s"));
    assert_non_null(strstr(warnings, "other users can write to "));
    home_unlink(MCP);
}

static void
it_is_known_what_of_the_user_a_project_hides(void **state)
{
    const struct cli_config_entry *entry;
    struct cli_config *config;

    (void)state;
    home_write(MCP, "{\"mcpServers\":{\"s\":{\"command\":\"x\"},"
                    "\"other\":{\"command\":\"x\"}}}");
    home_write("home/.claude.json", "{\"mcpServers\":{\"s\":{\"command\":\"mine\"},"
                                    "\"own\":{\"command\":\"mine\"}}}");
    config = read_all();
    entry = cli_config_find(config, "s");
    assert_true(entry->is_project);
    entry = cli_config_hidden(config, entry);
    assert_non_null(entry);
    assert_false(entry->is_project);
    assert_string_equal(entry->target.argv[0], "mine");
    assert_null(cli_config_hidden(config, cli_config_find(config, "other")));
    assert_null(cli_config_hidden(config, cli_config_find(config, "own")));
    cli_config_free(config);
    home_unlink("home/.claude.json");
    home_unlink(MCP);
}

static void
a_warning_may_go_unheard(void **state)
{
    struct cli_config *config;

    (void)state;
    home_write(MCP, "{");
    assert_int_equal(cli_config_read(NULL, NULL, &config), 0);
    assert_int_equal(cli_config_count(config), 0);
    cli_config_free(config);
    home_unlink(MCP);
}

TEST_MAIN_AFTER(home_enter, TEST(without_files_there_is_nothing),
                TEST(each_program_s_file_is_read),
                TEST(the_nearest_one_wins_and_hides_the_others),
                TEST(what_claude_code_keeps_for_a_folder_beats_its_files),
                TEST(a_disabled_one_wins_only_if_there_is_no_other),
                TEST(gemini_disables_by_a_list),
                TEST(a_fault_does_not_let_a_wider_one_win),
                TEST(a_file_that_is_wrong_is_a_warning_and_others_are_read),
                TEST(names_that_nobody_can_type_are_passed_over),
                TEST(more_servers_than_anybody_has_are_passed_over),
                TEST(a_project_s_file_of_another_user_is_not_used),
                TEST(a_project_s_file_that_others_can_write_to_is_not_used),
                TEST(it_is_known_what_of_the_user_a_project_hides),
                TEST(a_warning_may_go_unheard))
