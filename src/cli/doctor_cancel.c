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
#include "cli/times.h"

#define RUN_MS 200  /* how long the tool may run before it is canceled */
#define END_MS 5000 /* for each step behind it */
#define POLL_MS 20

#define REPORTS 1 /* of progress, that may have been under way */

/* What was seen of one canceled call. */
struct outcome {
    int status;       /* how it ended */
    bool was_told;    /* the server */
    bool is_alive;    /* it answers a ping afterwards */
    uint64_t late;    /* answers to it */
    uint64_t reports; /* of its progress, after it answered that ping */
    int64_t handlers; /* still running; -1: not known */
};

static int64_t
run_ms(void)
{
    return cli_times_get("run", RUN_MS);
}

static int64_t
end_ms(void)
{
    return cli_times_get("watch", END_MS);
}

/* Without this no progress is asked for. */
static void
on_progress(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    (void)call;
    (void)progress;
    (void)total;
    (void)message;
    (void)user;
}

/* Waits for what should not come. Where handlers are counted, nothing will once the last
 * of them is gone; elsewhere only time tells, and who answers late tells it soon. What
 * has come by the end of that time counts, however late we look. */
static void
watch_rest(struct cli_doctor *doctor, bool has_stats, int64_t handlers_before,
           struct outcome *outcome)
{
    int64_t until = cli_now_ms() + end_ms();
    uint64_t reports_before = cli_late_reports(&doctor->late);
    bool is_late, is_over;

    do {
        is_late = cli_now_ms() >= until;
        if (has_stats)
            outcome->handlers = cli_bench_live_handlers(doctor->session.client) -
                                handlers_before;
        outcome->late = cli_late_count(&doctor->late);
        outcome->reports = cli_late_reports(&doctor->late) - reports_before;
        is_over = outcome->late > 0 || outcome->reports > REPORTS ||
                  (has_stats && outcome->handlers <= 0) || is_late ||
                  mcp_scope_is_over(doctor->cli->scope);
        if (!is_over)
            (void)poll(NULL, 0, POLL_MS);
    } while (!is_over);
}

/* The time that a tool may run begins when its call goes out: what is canceled before is
 * never sent, and shows nothing. MCP_E_AGAIN: it still runs. */
static int
let_run(struct cli_doctor *doctor, mcp_call *call, uint64_t calls_before)
{
    int64_t until = cli_now_ms() + end_ms();
    int r = MCP_E_AGAIN;

    while (r == MCP_E_AGAIN && cli_late_calls(&doctor->late) == calls_before &&
           cli_now_ms() < until)
        r = mcp_call_wait(call, 1, NULL, NULL);
    return r == MCP_E_AGAIN ? mcp_call_wait(call, run_ms(), NULL, NULL) : r;
}

/* MCP_E_STATE: it has ended by itself; MCP_E_CLOSED: and so has the server. */
static int
cancel_one(struct cli_doctor *doctor, const char *arguments, struct outcome *ret)
{
    mcp_client *client = doctor->session.client;
    const mcp_call_options ping = MCP_CALL_OPTIONS(.timeout_ms = end_ms());
    mcp_call_options opt = cli_session_call_options(&doctor->session);
    bool has_stats = cli_bench_has_stats(
        mcp_reply_items(doctor->lists[MCP_LIST_TOOLS]));
    int64_t before = has_stats ? cli_bench_live_handlers(client) : 0;
    uint64_t calls = cli_late_calls(&doctor->late); /* with that one */
    mcp_call *call;
    int r;

    opt.on_progress = on_progress;
    r = mcp_client_start_tool(client, doctor->cli->options.tool, arguments, &opt, NULL,
                              NULL, &call);
    if (r < 0)
        return r;
    r = let_run(doctor, call, calls);
    if (r == MCP_E_AGAIN) {
        (void)mcp_call_cancel(call, "the doctor cancels");
        ret->status = mcp_call_wait(call, end_ms(), NULL, NULL);
        ret->was_told = mcp_call_flush(call, end_ms()) == 0;
        r = mcp_client_ping(client, &ping, NULL);
        ret->is_alive = r == 0 || r == MCP_E_PEER;
        if (ret->is_alive)
            watch_rest(doctor, has_stats, before, ret);
        r = 0;
    } else if (r != MCP_E_CLOSED) {
        r = MCP_E_STATE;
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
    } else if (outcome->reports > REPORTS) {
        cli_found(finding, CLI_FAIL,
                  "It goes on with what was canceled, and reports its progress.");
        cli_mend(finding, "Look for the cancel in what takes long, and stop.");
    } else if (outcome->handlers > 0) {
        cli_found(finding, CLI_FAIL,
                  "%lld handler%s still run%s %lld s after the cancel.",
                  (long long)outcome->handlers, outcome->handlers == 1 ? "" : "s",
                  outcome->handlers == 1 ? "s" : "", (long long)end_ms() / 1000);
        cli_mend(finding, "Look for the cancel in what takes long, and stop.");
    } else if (outcome->handlers < 0) {
        cli_found(
            finding, CLI_PASS,
            "No answer came within %lld s, and the session goes on. Whether the work "
            "has ended cannot be seen from here.",
            (long long)end_ms() / 1000);
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
        cli_found(finding, CLI_SKIP, "%.128s ended by itself within %lld ms.",
                  cli->options.tool, (long long)run_ms());
    else if (r == MCP_E_CLOSED)
        cli_found(finding, CLI_FAIL, "The server went away when %.128s was called.",
                  cli->options.tool);
    else if (r < 0)
        cli_found(finding, CLI_FAIL, "%.128s could not be called: %s.",
                  cli->options.tool, mcp_status_text(r));
    else
        judge(&outcome, finding);
    free(arguments);
}
