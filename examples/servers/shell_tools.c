/*
 * shell_tools.c - commands as tools, from a small JSON file
 *
 *     shell-tools [--http HOST:PORT] FILE
 *
 * shell_tools.json is such a file. One of its tools:
 *
 *     {
 *       "name": "disk_usage",
 *       "description": "The space that folders take, in kilobytes",
 *       "command": ["du", "-k", ["-d", "{depth}"], "--", "{folders}"],
 *       "arguments": {
 *         "folders": {"type": "array", "items": {"type": "string"}, "minItems": 1},
 *         "depth": {"type": "integer", "minimum": 0, "optional": true}
 *       },
 *       "timeout_ms": 300000,
 *       "hints": ["read_only", "closed_world"]
 *     }
 *
 * command     The program and its words. No shell reads them unless the program is one.
 *             {name} is the argument of that name, alone or inside a word; a value is
 *             never split. Braces that mean themselves are written twice, {{ and }}.
 *             A word is there for each item of an array in it; it is not there if an
 *             argument in it is missing. Words in inner brackets come and go together.
 * arguments   By name, with keywords of JSON Schema: type (string, integer, number,
 *             boolean, array), title, description, default, enum, minimum, maximum,
 *             minLength, maxLength, pattern, format, items, minItems, maxItems. And:
 *               optional    it may be missing; so may one with a default
 *               when_true   of a boolean: the word that it is if true, else none
 *               dash        its value may begin with a dash: see below
 * schema      Instead of arguments: a whole JSON Schema with such "properties".
 * input       What the command reads; cwd: its folder; env: {"NAME": "text"}, added to
 *             the environment of this server. Arguments may stand in each of them.
 * timeout_ms  60000; grace_ms between SIGTERM and SIGKILL: 2000;
 * max_input   bytes of the input: 1048576; a call with more is refused.
 * max_output  bytes kept of stdout, and of stderr: 65536.
 * success     Exit codes that are no failure: [0].
 * title, hints  For the client; hints are read_only, not_destructive, idempotent and
 *             closed_world.
 *
 * What is written here, and not what a stranger sends, decides which program runs with
 * which options:
 *   - a value at the beginning of a word must not begin with a dash, which would make
 *     it an option, unless the word "--" stands before it, or its argument says "dash";
 *   - a value inside the script of `sh -c` would be read as script. So words that come
 *     after the name of a shell are plain, or all argument: write "$1" in the script,
 *     and the argument as a word of its own behind "--". Likewise the input of a shell
 *     without "-c", which is its script. Other programs that run what they are given
 *     (ssh, python -c, awk, psql) are not known here: the same care is yours;
 *   - a value in a variable such as PATH, LD_PRELOAD, BASH_ENV, HOME or GIT_SSH_COMMAND
 *     would decide what runs: those are plain. Here, too, not all are known;
 *   - no value has U+0000 in it. One inside the input may have newlines, though: where
 *     the input is read line by line, forbid them with "pattern".
 * Commands run as the user of this server: that a path or pattern is harmless is for
 * "pattern" and "enum" to say.
 *
 * Lines of stdout are shown as progress while it runs, lines of stderr as log messages;
 * the result has both. A call that is canceled, or whose time is up, ends all that it
 * has started, daemons too, and so does the end of this server.
 *
 * On a port, everybody who can reach it can run the commands. With SHELL_TOOLS_TOKEN in
 * the environment each request must have it as bearer token; without, only an address
 * of loopback is served.
 */
#include "shell_tools.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/isolate.h>

#include "gate.h"

static bool
read_choice(int argc, char **argv, struct gate *gate)
{
    if (argc == 4 && strcmp(argv[1], "--http") == 0)
        return gate_read_address(gate, argv[2]);
    return argc == 2 && argv[1][0] != '-';
}

/* ---- serving -------------------------------------------------------------------- */

static int
add_tool(mcp_server *server, struct shell_tool *tool, mcp_error *err)
{
    mcp_builder *schema = mcp_builder_new(NULL);
    mcp_tool offer = MCP_TOOL(.name = tool->name, .title = tool->title,
                              .description = tool->description,
                              .output_fields = shell_outcome_fields,
                              .run = shell_call_run, .user = tool,
                              .limit_ms = -1); /* its command has one */
    int r;

    for (size_t i = 0; i < tool->hint_count; i++)
        offer.hints |= (unsigned)tool->hints[i];
    shell_schema_write(tool, schema);
    r = mcp_builder_status(schema);
    if (r == 0) {
        offer.input_schema = mcp_builder_text(schema, NULL);
        r = mcp_server_add_tool(server, &offer, err);
    } else {
        shell_fault(err, "%s", mcp_status_text(r));
    }
    mcp_builder_free(schema);
    return r;
}

static int
add_tools(mcp_server *server, const struct shell_file *file, mcp_error *err)
{
    mcp_error why;
    int r = 0;

    for (size_t i = 0; r == 0 && i < file->count; i++) {
        r = add_tool(server, &file->tools[i], &why);
        if (r < 0)
            shell_fault(err, "/tools/%zu: %s", i, why.message);
    }
    return r;
}

/* Time for commands to go when the server stops: mcp_server_free waits for handlers for
 * half of it. */
static int64_t
stop_ms(const struct shell_file *file)
{
    int64_t longest = 0;

    for (size_t i = 0; i < file->count; i++)
        if (file->tools[i].grace_ms > longest)
            longest = file->tools[i].grace_ms;
    return 2 * (longest + 1000);
}

static void
print_log(void *user, enum mcp_log_level level, const char *line)
{
    (void)user, (void)level;
    fprintf(stderr, "%s\n", line);
}

int
main(int argc, char **argv)
{
    mcp_server_options options = MCP_SERVER_OPTIONS(.name = "shell-tools",
                                                    .version = mcp_version(),
                                                    .on_log = print_log);
    struct shell_file file = {0};
    mcp_server *server = NULL;
    struct gate gate;
    mcp_error err = {0};
    int r;

    mcp_isolated_enter(argc, argv, NULL, 0); /* commands are contained */
    if (!gate_init(&gate, "SHELL_TOOLS_TOKEN") || !read_choice(argc, argv, &gate)) {
        fprintf(stderr, "usage: shell-tools [--http HOST:PORT] FILE\n");
        gate_done(&gate);
        return 2;
    }
    r = shell_file_read(argv[argc - 1], &file, &err);
    options.stop_ms = stop_ms(&file);
    if (r == 0)
        r = mcp_server_new(&options, &server, &err);
    if (r == 0)
        r = add_tools(server, &file, &err);
    if (r == 0)
        r = gate_serve(&gate, server, &err);
    if (r < 0)
        fprintf(stderr, "shell-tools: %s: %s\n", argv[argc - 1], err.message);
    mcp_server_free(server);
    shell_file_done(&file);
    gate_done(&gate);
    return r < 0;
}
