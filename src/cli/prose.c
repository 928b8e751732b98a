/* prose.c - texts for people: their pieces, and those that belong to no command */
#include "cli/prose.h"

#include <string.h>

#define AS_IS "    "

const char cli_prose_about[] = "list, call, read, watch and measure any MCP server";

const char cli_prose_targets[] =
    "TARGET says which server is meant (MCP is the Model Context Protocol). It is one "
    "word:\n"
    "\n"
    "    './server --flag'    a command line; quote it to make it one word\n"
    "    https://host/mcp     a URL, also http://\n"
    "    unix:PATH            a Unix socket; unix:@NAME is an abstract one\n"
    "    NAME                 a server from a configuration file that you have\n"
    "                         already; \"mcpctl servers\" lists them;\n"
    "                         name:NAME if it has blanks or slashes\n"
    "\n"
    "A command line is split into words as a shell would split it, but no shell runs "
    "it: "
    "variables, patterns and pipes do not work. The server is started, spoken to over "
    "its stdin and stdout, and stopped at the end.";

const char cli_prose_cancel[] =
    "Ctrl-C cancels what is under way: the server is told in the way that its "
    "transport "
    "and its version of the protocol prescribe. mcpctl says so, waits until the server "
    "answers again, and exits with 130; with 6 if the server does not show that it "
    "heard. A second Ctrl-C does not wait: it kills a server that was started, and "
    "exits "
    "with 130. A reader of the output that goes away, as head(1) does, cancels too, "
    "and "
    "nothing more is said.";

const char cli_prose_output[] =
    "Results go to stdout: readable on a terminal, JSON with --json and whenever "
    "stdout "
    "is not a terminal. Everything else goes to stderr: progress, log messages of the "
    "server, notes and failures; with --json each is one line of JSON. Control "
    "sequences "
    "in a server's text are taken out before it is shown on a terminal.";

const char cli_prose_words[] =
    "Shells complete commands, options, names of configured servers, and the tools, "
    "prompts and resources of a server. To learn those the server is asked, which "
    "starts "
    "it if it is a command line; after three seconds nothing is offered.";

const struct cli_prose_item cli_prose_exits[] = {
    {"0", "All went well."},
    {"1", "Wrong usage, or a failure that has no number of its own."},
    {"3", "The server wants to know who you are: try \"mcpctl login\"."},
    {"4", "The server cannot be reached, or the connection was lost."},
    {"5", "The tool ran, and says that it failed."},
    {"6", "Canceled, but the server did not show that it heard."},
    {"130", "Canceled by Ctrl-C, and the server was told."},
    {NULL, NULL},
};

const struct cli_prose_item cli_prose_environment[] = {
    {"NO_COLOR", "If it is set and not empty, there are no colors."},
    {"BROWSER", "The program that opens pages: those of \"mcpctl login\", and those to "
                "which a server "
                "sends you."},
    {"XDG_STATE_HOME",
     "The folder for tokens and the history of the shell; otherwise ~/.local/state."},
    {"XDG_CONFIG_HOME", "Where configuration files of other programs are looked for; "
                        "otherwise ~/.config."},
    {"TMPDIR", "The folder for images and other files of results; otherwise /tmp."},
    {NULL, NULL},
};

const struct cli_prose_item cli_prose_files[] = {
    {"$XDG_STATE_HOME/mcpctl/tokens.json",
     "Tokens that \"mcpctl login\" got. Only its owner may read it."},
    {"$XDG_STATE_HOME/mcpctl/history", "The lines that were typed in \"mcpctl sh\"."},
    {".mcp.json, .cursor/mcp.json, .vscode/mcp.json, .gemini/settings.json, "
     ".roo/mcp.json, .kiro/settings/mcp.json",
     "Servers of the project: looked for in this folder and in those above it. Read, "
     "never written, as are all that follow."},
    {"~/.claude.json", "Servers of Claude Code."},
    {"$XDG_CONFIG_HOME/Claude/claude_desktop_config.json",
     "Servers of Claude Desktop; on a Mac in ~/Library/Application Support."},
    {"~/.cursor/mcp.json", "Servers of Cursor."},
    {"$XDG_CONFIG_HOME/Code/User/mcp.json",
     "Servers of VS Code; on a Mac in ~/Library/Application Support."},
    {"~/.gemini/settings.json", "Servers of Gemini CLI."},
    {"~/.codeium/windsurf/mcp_config.json", "Servers of Windsurf."},
    {"~/.kiro/settings/mcp.json", "Servers of Kiro."},
    {"~/.copilot/mcp-config.json", "Servers of Copilot."},
    {NULL, NULL},
};

const struct cli_prose_item cli_prose_examples[] = {
    {"mcpctl tools ./server", "List the tools of a program."},
    {"mcpctl call './server --verbose' add a=19 b=23",
     "Call one of them. Arguments are typed by its schema."},
    {"mcpctl read https://example.com/mcp file:///notes.txt",
     "Read a resource of a server on the web."},
    {"mcpctl call notes search text=milk --json | jq .structuredContent",
     "Call a tool of a configured server, and give its result to another program."},
    {"mcpctl doctor ./server", "Look for faults of a server."},
    {NULL, NULL},
};

const char *
cli_prose_line(const char **at, size_t *ret_length)
{
    const char *line = *at;

    if (line == NULL || *line == '\0')
        return NULL;
    *ret_length = strcspn(line, "\n");
    *at = line + *ret_length;
    if (**at == '\n')
        (*at)++;
    return line;
}

static bool
starts_as_is(const char *line)
{
    return strncmp(line, AS_IS, sizeof AS_IS - 1) == 0;
}

bool
cli_prose_next(const char **at, struct cli_block *ret_block)
{
    const char *line, *next;
    size_t length = 0;

    ret_block->is_apart = false;
    while (*at != NULL && **at == '\n') {
        ret_block->is_apart = true;
        (*at)++;
    }
    line = cli_prose_line(at, &length);
    if (line == NULL)
        return false;
    ret_block->data = line;
    ret_block->is_as_is = starts_as_is(line);
    ret_block->length = length;
    for (next = *at; *next != '\0' && *next != '\n'; next = *at) {
        if (starts_as_is(next) != ret_block->is_as_is)
            break;
        (void)cli_prose_line(at, &length); /* there is one: it does not end here */
        ret_block->length = (size_t)(next - line) + length;
    }
    return true;
}

enum cli_value
cli_prose_value(const struct cli_option *option)
{
    if (option->choices != NULL)
        return CLI_VALUE_CHOICE;
    if (option->value == NULL)
        return CLI_VALUE_NONE;
    if (strncmp(option->value, "FILE", 4) == 0)
        return CLI_VALUE_FILE;
    if (strncmp(option->value, "FOLDER", 6) == 0 ||
        strncmp(option->value, "DIR", 3) == 0)
        return CLI_VALUE_FOLDER;
    return CLI_VALUE_ANY;
}
