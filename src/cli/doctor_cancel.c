/*
 * doctor_cancel.c - a call that is canceled in the middle: is that obeyed?
 *
 * Only with a tool that the user names: what a tool does, nobody else knows.
 */
#include <poll.h>
#include <stdlib.h>

#include "cli/args.h"
#include "cli/bench.h"
#include "cli/clock.h"
#include "cli/doctor.h"

#define RUN_MS 200  /* how long the tool may run before it is canceled */
#define END_MS 5000 /* for each step behind it */
#define LATE_MS 500 /* for an answer that should not come */
#define POLL_MS 20

/* What was seen of one canceled call. */
struct outcome {
    int status;       /* how it ended */
    bool was_told;    /* the server */
    bool is_alive;    /* it answers a ping afterwards */
    uint64_t late;    /* answers to it */
    int64_t handlers; /* still running; -1: not known */
};

/* Waits for an answer that should not come. Where handlers are counted, none will once
 * the last of them is gone. */
static void
watch_rest(struct cli_doctor *doctor, bool has_stats, int64_t handlers_before,
           struct outcome *outcome)
{
    int64_t began = cli_now_ms(), left = -1;

    for (;;) {
        if (has_stats)
            left = cli_bench_live_handlers(doctor->session.client) - handlers_before;
        if (has_stats ? left <= 0 : cli_now_ms() - began >= LATE_MS)
            break;
        if (cli_now_ms() - began >= END_MS)
            break;
        (void)poll(NULL, 0, POLL_MS);
    }
    outcome->late = cli_late_count(&doctor->late);
    outcome->handlers = has_stats ? left : -1;
}

static int
cancel_one(struct cli_doctor *doctor, const char *arguments, struct outcome *ret)
{
    mcp_client *client = doctor->session.client;
    const mcp_call_options ping = MCP_CALL_OPTIONS(.timeout_ms = END_MS);
    mcp_call_options opt = cli_session_call_options(&doctor->session);
    bool has_stats = cli_bench_has_stats(
        mcp_reply_items(doctor->lists[MCP_LIST_TOOLS]));
    int64_t before = has_stats ? cli_bench_live_handlers(client) : 0;
    mcp_call *call;
    int r;

    opt.on_progress = NULL;
    r = mcp_client_start_tool(client, doctor->cli->options.tool, arguments, &opt, NULL,
                              NULL, &call);
    if (r < 0)
        return r;
    r = mcp_call_wait(call, RUN_MS, NULL, NULL);
    if (r == MCP_E_AGAIN) {
        (void)mcp_call_cancel(call, "the doctor cancels");
        ret->status = mcp_call_wait(call, END_MS, NULL, NULL);
        ret->was_told = mcp_call_flush(call, END_MS) == 0;
        r = mcp_client_ping(client, &ping, NULL);
        ret->is_alive = r == 0 || r == MCP_E_PEER;
        if (ret->is_alive)
            watch_rest(doctor, has_stats, before, ret);
        r = 0;
    } else {
        r = MCP_E_STATE; /* it has ended by itself */
    }
    mcp_call_free(call);
    return r;
}

static void
judge(const struct outcome *outcome, struct cli_finding *finding)
{
    if (!outcome->was_told || outcome->status == MCP_E_AGAIN) {
        cli_found(finding, CLI_FAIL, "The server could not be told of the cancel.");
        cli_mend(finding, "Read requests also while one of them is being worked on.");
    } else if (!outcome->is_alive) {
        cli_found(finding, CLI_FAIL, "After a cancel it does not answer a ping.");
        cli_mend(finding, "End the work of the canceled request, and nothing else.");
    } else if (outcome->late > 0) {
        cli_found(finding, CLI_FAIL, "It answers a request that was canceled.");
        cli_mend(finding, "Send nothing for a request once it was canceled.");
    } else if (outcome->handlers > 0) {
        cli_found(finding, CLI_FAIL,
                  "%lld handler%s still run%s %d s after the cancel.",
                  (long long)outcome->handlers, outcome->handlers == 1 ? "" : "s",
                  outcome->handlers == 1 ? "s" : "", END_MS / 1000);
        cli_mend(finding, "Look for the cancel in what takes long, and stop.");
    } else if (outcome->handlers < 0) {
        cli_found(finding, CLI_PASS,
                  "No answer came, and the session goes on. Whether the work has ended "
                  "cannot be seen from here.");
    } else {
        cli_found(finding, CLI_PASS,
                  "No answer came, the session goes on, and no handler is left.");
    }
}

void
cli_check_cancel(struct cli_doctor *doctor, struct cli_finding *finding)
{
    struct cli *cli = doctor->cli;
    struct outcome outcome = {.handlers = -1};
    const mcp_json *tool;
    char *arguments = NULL;
    int r;

    if (!cli->options.tool) {
        cli_found(finding, CLI_SKIP, "No tool was named.");
        cli_mend(finding, "Name one that takes long, with its arguments: --tool NAME "
                          "ARGUMENT=VALUE.");
        return;
    }
    tool = mcp_json_find(mcp_reply_items(doctor->lists[MCP_LIST_TOOLS]), "name",
                         cli->options.tool);
    if (!tool) {
        cli_found(finding, CLI_SKIP, "There is no tool named %.128s.",
                  cli->options.tool);
        return;
    }
    if (cli_args_read(cli, mcp_json_get(tool, "inputSchema"), doctor->argument_count,
                      doctor->arguments, &arguments) != CLI_OK) {
        cli_found(finding, CLI_SKIP, "The arguments do not fit the tool.");
        return;
    }
    r = cancel_one(doctor, arguments, &outcome);
    if (r == MCP_E_STATE)
        cli_found(finding, CLI_SKIP, "%.128s ended by itself within %d ms.",
                  cli->options.tool, RUN_MS);
    else if (r < 0)
        cli_found(finding, CLI_FAIL, "%.128s could not be called: %s.",
                  cli->options.tool, mcp_status_text(r));
    else
        judge(&outcome, finding);
    free(arguments);
}
