/* command_ping.c - mcpctl ping: is anybody there, and how quickly does it answer? */

#include "cli/clock.h"
#include "cli/do.h"

static int
ping_once(struct cli_session *session, int64_t number)
{
    struct cli *cli = session->cli;
    mcp_call_options opt = cli_session_call_options(session);
    double began = (double)cli_now_ns() / 1e6, took;
    mcp_error err = {0};
    bool ok;
    int r;

    opt.fresh = true;
    r = mcp_client_ping(session->client, &opt, &err);
    took = (double)cli_now_ns() / 1e6 - began;
    if (r == MCP_E_CANCELED)
        return cli_session_confirm(session, NULL, "ping", NULL);
    if (r < 0)
        return cli_fail(cli, &err);
    if (cli->json)
        ok = cli_printf(cli, "{\"ping\":%lld,\"ms\":%.3f}\n", (long long)number, took);
    else
        ok = cli_printf(cli, "answer %lld after %.3f ms\n", (long long)number, took);
    return ok && cli_flush(cli) ? CLI_OK : CLI_OTHER;
}

int
cli_do_ping(struct cli_session *session, int argc, char **argv)
{
    int64_t count = session->cli->options.count;
    int code = CLI_OK;

    (void)argc;
    (void)argv;
    for (int64_t i = 1; i <= (count > 0 ? count : 1) && code == CLI_OK; i++)
        code = ping_once(session, i);
    return code;
}

static int
run(struct cli *cli, int argc, char **argv)
{
    return cli_do_in_session(cli, argc, argv, cli_do_ping);
}

static const struct cli_option options[] = {
    {"count", "N", NULL, CLI_COUNT, offsetof(struct cli_options, count),
     "How often to ask, one after the other; 1 unless said"},
    {0},
};

const struct cli_command cli_command_ping = {
    .name = "ping",
    .arguments = "TARGET",
    .summary = "Ask whether anybody is there, and how long the answer takes",
    .text =
        "Sends ping to servers of 2025-11-25 and before, and server/discover to newer "
        "ones, which have no ping.",
    .examples = "mcpctl ping --count 5 https://example.com/mcp\n",
    .options = options,
    .least = 1,
    .most = 1,
    .words = {CLI_WORD_TARGET},
    .run = run,
};
