/* ask.c - what a server asks its user: who answers it, or that nobody does */
#include "cli/ask.h"

#include <string.h>

#include "cli/ask_parts.h"

#define COLUMNS_SHOWN 400 /* of a message that nobody answers */

char *
cli_ask_line(struct cli *cli, const char *prompt, bool secret, int stop_fd)
{
    struct cli_turn turn;
    char *line;

    if (!cli_turn_begin(&turn, cli, stop_fd))
        return NULL;
    line = cli_turn_line(&turn, prompt, secret);
    cli_turn_end(&turn);
    return line;
}

static int
answer_elicit(mcp_request *req, mcp_result *out, void *user)
{
    if (mcp_json_get(mcp_request_params(req), "url"))
        return cli_ask_url(user, req, out);
    return cli_ask_form(user, req, out);
}

static int
answer_sample(mcp_request *req, mcp_result *out, void *user)
{
    return cli_ask_sample(user, req, out);
}

/* There is nobody. */
static int
decline_elicit(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *message = mcp_json_get(mcp_request_params(req), "message");
    struct cli_text text = {0}, cut = {0};
    struct cli *cli = user;

    cli_text_add_harmless(&text, mcp_json_string(message, ""),
                          mcp_json_string_length(message), true);
    cli_text_add_cut(&cut, cli_text_string(&text), text.length, COLUMNS_SHOWN);
    cli_note(&cli->say,
             "the server asks: \"%s\"; declined, since nobody can be asked here",
             cli_text_string(&cut));
    cli_text_done(&text);
    cli_text_done(&cut);
    return mcp_result_decline(out);
}

void
cli_ask_offer(struct cli *cli, mcp_client_options *opt)
{
    if (!cli->may_ask) {
        opt->elicit = (mcp_handler){.run = decline_elicit, .user = cli};
        return;
    }
    opt->elicit = (mcp_handler){.run = answer_elicit, .user = cli};
    opt->sample = (mcp_handler){.run = answer_sample, .user = cli};
    opt->able |= MCP_ABLE_URL;
}
