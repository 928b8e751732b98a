/* ask_sample.c - a server asks for a model: the user plays it, or declines */
#include <stdlib.h>
#include <string.h>

#include "cli/ask_parts.h"

#define COLUMNS_SHOWN 4000 /* of one message: about fifty lines */
#define REJECTED (-1)      /* the code that the protocol's text has for a user's no */

/* ---- showing -------------------------------------------------------------------- */

static void
show_cut(struct cli_turn *turn, const char *ours, const mcp_json *theirs)
{
    struct cli_text text = {0}, cut = {0};

    cli_text_add_harmless(&text, mcp_json_string(theirs, ""),
                          mcp_json_string_length(theirs), false);
    cli_text_add_cut(&cut, cli_text_string(&text), text.length, COLUMNS_SHOWN);
    cli_turn_show(turn, ours, cli_text_string(&cut), cut.length);
    cli_text_done(&text);
    cli_text_done(&cut);
}

/* One block of content; what is no text is named. */
static void
show_block(struct cli_turn *turn, const char *role, const mcp_json *block)
{
    const mcp_json *text = mcp_json_get(block, "text");
    const mcp_json *name = mcp_json_get(block, "mimeType");
    struct cli_text ours = {0};

    cli_text_puts(&ours, "  ");
    cli_text_add_harmless(&ours, role, strlen(role), true);
    cli_text_puts(&ours, ": ");
    if (!text) {
        const char *type = mcp_json_string(mcp_json_get(block, "type"), "something");

        cli_text_puts(&ours, "(");
        cli_text_add_harmless(&ours, type, strlen(type), true);
        cli_text_puts(&ours, ") ");
        text = name ? name : mcp_json_get(block, "name");
    }
    show_cut(turn, cli_text_string(&ours), text);
    cli_text_done(&ours);
}

static void
show_message(struct cli_turn *turn, const mcp_json *message)
{
    const char *role = mcp_json_string(mcp_json_get(message, "role"), "?");
    const mcp_json *content = mcp_json_get(message, "content");
    mcp_json_iterator it;

    if (mcp_json_get_type(content) != MCP_JSON_ARRAY) {
        show_block(turn, role, content);
        return;
    }
    for (it = mcp_json_each(content); mcp_json_next(&it);)
        show_block(turn, role, it.value);
}

static void
show_request(struct cli_turn *turn, const mcp_json *params)
{
    const mcp_json *system = mcp_json_get(params, "systemPrompt");
    struct cli_text line = {0};
    mcp_json_iterator it;

    cli_text_printf(&line,
                    "The server asks for a model's answer, of at most %lld tokens:",
                    (long long)mcp_json_int(mcp_json_get(params, "maxTokens"), 0));
    cli_turn_say(turn, cli_text_string(&line), NULL);
    cli_text_done(&line);
    if (mcp_json_string_length(system) > 0)
        show_cut(turn, "  system: ", system);
    for (it = mcp_json_each(mcp_json_get(params, "messages")); mcp_json_next(&it);)
        show_message(turn, it.value);
    cli_turn_say(turn,
                 "Type the answer. An empty line or a single dot ends it; "
                 "an empty answer declines.",
                 NULL);
}

/* ---- answering ------------------------------------------------------------------ */

/* False: the end of the input in mid-answer, or it is over. */
static bool
read_answer(struct cli_turn *turn, struct cli_text *answer)
{
    char *line;
    bool is_end = false;

    while (!is_end) {
        line = cli_turn_line(turn, "> ", false);
        if (!line)
            return !cli_turn_is_over(turn); /* Ctrl-D is an end, too */
        is_end = line[0] == '\0' || strcmp(line, ".") == 0;
        if (!is_end && answer->length > 0)
            cli_text_puts(answer, "\n");
        if (!is_end)
            cli_text_puts(answer, line);
        free(line);
    }
    return true;
}

static int
sample_run(struct cli_turn *turn, mcp_request *req, mcp_result *out)
{
    struct cli_text answer = {0};
    int r;

    show_request(turn, mcp_request_params(req));
    if (!read_answer(turn, &answer) || answer.length == 0) {
        cli_text_done(&answer);
        return mcp_request_fail(req, REJECTED, NULL, "User rejected sampling request");
    }
    (void)mcp_result_model(out, "human at mcpctl");
    (void)mcp_result_stop_reason(out, "endTurn");
    r = mcp_result_text_n(out, cli_text_string(&answer), answer.length);
    cli_text_done(&answer);
    return r;
}

int
cli_ask_sample(struct cli *cli, mcp_request *req, mcp_result *out)
{
    struct cli_turn turn;
    int stop_fd, r;

    r = mcp_request_cancel_fd(req, &stop_fd);
    if (r < 0)
        return r;
    if (!cli_turn_begin(&turn, cli, stop_fd))
        return mcp_request_is_canceled(req)
                   ? MCP_E_CANCELED
                   : mcp_request_fail(req, REJECTED, NULL,
                                      "User rejected sampling request");
    r = sample_run(&turn, req, out);
    cli_turn_end(&turn);
    return mcp_request_is_canceled(req) ? MCP_E_CANCELED : r;
}
