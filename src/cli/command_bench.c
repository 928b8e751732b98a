/* command_bench.c - bench: how fast a server is, and what it leaves behind */
#include <stdlib.h>
#include <string.h>

#include "cli/args.h"
#include "cli/bench.h"
#include "cli/clock.h"
#include "cli/session.h"
#include "cli/times.h"

#define DURATION_MS 5000  /* of a run that has neither count nor duration */
#define PATIENCE_MS 60000 /* for the last calls, if there is no --timeout */
#define SETTLE_MS 5000    /* for the server to come to rest */
#define PING_MS 5000
#define AGAIN_TIMES 3 /* that the load is run again if the server has grown */
#define AGAIN_MOST 1000
#define AGAIN_MS 1000
#define CALM_LEAST_MS 300
#define CALM_MOST_MS 2000

/* Ends go on where they come, or we would measure how fast threads are woken; and what
 * is kept from before would be no call at all. */
static void
adjust(mcp_client_options *opt, void *user)
{
    const mcp_handler none = {0};

    opt->callbacks_on_loop = true;
    opt->no_cache = true;
    opt->elicit = none; /* nobody answers a thousand questions */
    opt->sample = none;
    opt->able = 0;
    cli_late_offer(user, opt);
}

static int
find_tool(struct cli *cli, const mcp_json *tools, const char *name,
          const mcp_json **ret_schema)
{
    const mcp_json *tool = mcp_json_find(tools, "name", name);

    if (!tool)
        return cli_fail_with(cli, CLI_OTHER, "The server has no tool named %s.", name);
    *ret_schema = mcp_json_get(tool, "inputSchema");
    return CLI_OK;
}

static void
plan_fill(struct cli_bench_plan *plan, struct cli_session *session)
{
    const struct cli_options *options = &session->cli->options;

    plan->client = session->client;
    plan->tool = options->tool;
    plan->call = cli_session_call_options(session);
    plan->call.on_progress = NULL;
    plan->count = (uint64_t)options->count;
    plan->duration_ms = options->duration_ms;
    if (plan->count == 0 && plan->duration_ms == 0)
        plan->duration_ms = DURATION_MS;
    plan->at_once = options->at_once > 0 ? (size_t)options->at_once : 1;
    plan->cancel_rate = options->cancel_rate;
    plan->cancel_after_ms = options->cancel_after_ms;
}

/* The load, not measured. */
static int
run_aside(const struct cli_bench *bench, uint64_t count, int64_t patience_ms)
{
    struct cli_bench_load *unused = malloc(sizeof(*unused));
    struct cli_bench_plan plan = bench->plan;
    int r;

    if (!unused)
        return MCP_E_NOMEM;
    plan.count = count;
    r = cli_bench_run(&plan, patience_ms, NULL, NULL, unused);
    free(unused);
    return r;
}

/* As many calls as before show what grows with them; but nobody waits for that for
 * ever. */
static uint64_t
again_count(const struct cli_bench *bench)
{
    return bench->load.started < AGAIN_MOST ? bench->load.started : AGAIN_MOST;
}

/* What takes long to start takes long to come to rest. */
static int64_t
calm_ms(const struct cli_bench *bench)
{
    double ms = 3 * bench->ready_ms;

    if (ms < CALM_LEAST_MS)
        ms = CALM_LEAST_MS;
    if (ms > CALM_MOST_MS)
        ms = CALM_MOST_MS;
    return cli_times_get("calm", (int64_t)ms);
}

static int
measure(struct cli *cli, struct cli_bench *bench, const mcp_json *tools,
        struct cli_late *late)
{
    const mcp_call_options ping = MCP_CALL_OPTIONS(.timeout_ms = cli_times_get(
                                                       "ping", PING_MS));
    int64_t settle_ms = cli_times_get("settle", SETTLE_MS);
    int64_t patience = cli->options.timeout_ms > 0 ? cli->options.timeout_ms
                                                   : PATIENCE_MS;
    mcp_client *client = bench->plan.client;
    uint64_t late_before = 0;
    mcp_error err = {0};
    int r;

    cli_bench_server_begin(&bench->server, client, tools);
    /* the first calls make threads, fill pools and open what stays open */
    r = run_aside(bench,
                  cli->options.warm_up > 0 ? (uint64_t)cli->options.warm_up
                                           : bench->plan.at_once,
                  patience);
    if (r == 0) {
        late_before = cli_late_count(late);
        cli_bench_server_calm(&bench->server, calm_ms(bench));
        r = cli_bench_run(&bench->plan, patience, cli_bench_server_look, &bench->server,
                          &bench->load);
    }
    if (r < 0) {
        err.status = r;
        (void)strncpy(err.message, mcp_status_text(r), sizeof(err.message) - 1);
        return cli_fail(cli, &err);
    }
    r = mcp_client_ping(client, &ping, NULL);
    bench->still_answers = r == 0 || r == MCP_E_PEER;
    cli_bench_server_settle(&bench->server, bench->still_answers ? settle_ms : 0);
    for (int i = 0; i < AGAIN_TIMES && cli_bench_server_has_grown(&bench->server); i++)
        if (!bench->load.interrupted && bench->still_answers &&
            run_aside(bench, again_count(bench), patience) == 0)
            cli_bench_server_settle_again(&bench->server, AGAIN_MS);
    bench->late = cli_late_count(late) - late_before;
    return CLI_OK;
}

static int
show(struct cli *cli, const struct cli_bench *bench)
{
    struct cli_text text = {0};
    mcp_builder *b = NULL;
    mcp_doc *doc;
    int code = CLI_OK;

    if (cli->json) {
        b = mcp_builder_new(NULL);
        cli_bench_json(bench, b);
        if (mcp_builder_parse(b, &doc) < 0) {
            code = cli_fail_with(cli, CLI_OTHER, "There is no memory for the report.");
        } else {
            code = cli_print_json(cli, mcp_doc_root(doc));
            mcp_doc_free(doc);
        }
        mcp_builder_free(b);
    } else {
        cli_bench_table(bench, &text);
        if (!cli_write(cli, cli_text_string(&text), text.length))
            code = CLI_OTHER;
    }
    cli_text_done(&text);
    return code;
}

static int
verdict_exit(const struct cli_bench *bench)
{
    struct cli_text unused = {0};
    enum cli_bench_verdict verdict = cli_bench_judge(bench, &unused);

    cli_text_done(&unused);
    if (bench->load.interrupted)
        return CLI_CANCELED;
    return verdict == CLI_BENCH_LEFT ? CLI_OTHER : CLI_OK;
}

/* Everything between the opening of the session and its end. */
static int
bench_session(struct cli_session *session, struct cli_bench *bench,
              struct cli_late *late, int argc, char **argv)
{
    struct cli *cli = session->cli;
    const mcp_json *tools, *schema = NULL;
    mcp_reply *list = NULL;
    char *arguments = NULL;
    int code = CLI_OK;

    bench->version = mcp_client_version(session->client);
    bench->target = cli_target_describe(&session->target);
    plan_fill(&bench->plan, session);
    /* a server without tools may say that it does not know the method */
    if (mcp_client_list_all(session->client, MCP_LIST_TOOLS, &bench->plan.call, &list,
                            NULL) < 0)
        list = NULL;
    tools = mcp_reply_items(list);
    if (bench->plan.tool) {
        code = find_tool(cli, tools, bench->plan.tool, &schema);
        if (code == CLI_OK)
            code = cli_args_read(cli, schema, argc - 1, argv + 1, &arguments);
        bench->plan.arguments = arguments;
    }
    if (code == CLI_OK)
        code = measure(cli, bench, tools, late);
    if (code == CLI_OK)
        code = show(cli, bench);
    if (code == CLI_OK)
        code = verdict_exit(bench);
    free(arguments);
    free(bench->target);
    mcp_reply_free(list);
    return code;
}

static int
run(struct cli *cli, int argc, char **argv)
{
    struct cli_bench *bench;
    struct cli_session session;
    struct cli_late late;
    const struct cli_session_wish wish = {.adjust = adjust, .user = &late};
    int code;

    if (argc > 1 && !cli->options.tool)
        return cli_fail_with(cli, CLI_OTHER,
                             "Arguments are for a tool: say which with --tool NAME.");
    bench = calloc(1, sizeof(*bench));
    if (!bench)
        return cli_fail_with(cli, CLI_OTHER, "There is no memory for the times.");
    cli_late_init(&late);
    code = cli_session_open(cli, argv[0], &wish, &session);
    if (code == CLI_OK) {
        bench->ready_ms = (double)(cli_now_ns() - session.began_ns) / 1e6;
        code = bench_session(&session, bench, &late, argc, argv);
        cli_session_close(&session);
    }
    cli_late_done(&late);
    free(bench);
    return code;
}

static const struct cli_option options[] = {
    {"tool", "TOOL", NULL, CLI_TEXT, offsetof(struct cli_options, tool),
     "Call this tool; without it the server is pinged"},
    {"args", "FILE", NULL, CLI_TEXT, offsetof(struct cli_options, args),
     "Read arguments of the tool from a file with a JSON object, or - for stdin"},
    {"count", "N", NULL, CLI_COUNT, offsetof(struct cli_options, count),
     "Make that many calls"},
    {"duration", "TIME", NULL, CLI_TIME, offsetof(struct cli_options, duration_ms),
     "Start calls for that long; 5s if there is no --count either"},
    {"at-once", "N", NULL, CLI_COUNT, offsetof(struct cli_options, at_once),
     "Keep that many calls under way; 1 without it"},
    {"cancel-rate", "SHARE", NULL, CLI_PERCENT,
     offsetof(struct cli_options, cancel_rate),
     "Cancel that share of the calls, as 30%"},
    {"cancel-after", "TIME", NULL, CLI_TIME,
     offsetof(struct cli_options, cancel_after_ms),
     "Cancel them after that time, 0 is at once; else each at another one within 20 "
     "ms"},
    {"warm-up", "N", NULL, CLI_COUNT, offsetof(struct cli_options, warm_up),
     "Calls that are made before it counts; as many as --at-once without it"},
    {0},
};

const struct cli_command cli_command_bench = {
    .name = "bench",
    .arguments = "TARGET [NAME=VALUE...]",
    .summary = "Measure speed, memory, and what canceled calls leave behind",
    .text =
        "Makes calls one after the other, or many at once, and says how many a second\n"
        "were answered and how long they took. Of a server that mcpctl starts itself "
        "it\n"
        "also says what memory, open files and processes it had before, after and at\n"
        "most, and how long it took from its start until it was ready.\n"
        "\n"
        "With --cancel-rate a share of the calls is canceled, always the same ones. "
        "The\n"
        "verdict then says what was left behind: open files, processes, handlers that\n"
        "still run, a session that does not answer. The server has five seconds to "
        "come\n"
        "to rest. Handlers are counted if the server has a tool named stats whose "
        "output\n"
        "has live_handlers. Of a server elsewhere, without such a tool, this cannot "
        "be\n"
        "seen.\n"
        "\n"
        "A server that has more open files or processes than before may keep them "
        "for\nthe next calls. To see that, the calls are made again, up to 1000 of "
        "them "
        "and\nthree times: only what grows each time is left behind. So the tool is "
        "called\nmore often than --count says; calls that warm up come on top too.\n"
        "\n"
        "NAME=VALUE are arguments of the tool, as for mcpctl call. Ctrl-C ends the "
        "run\n"
        "early and shows what was measured until then. The exit code is 1 if "
        "something\n"
        "was left behind.",
    .examples = "mcpctl bench ./server --count 10000 --at-once 8\n"
                "mcpctl bench ./server --tool echo text=hi --duration 10s\n"
                "mcpctl bench http://127.0.0.1:8080/mcp --tool hang seconds=60 "
                "--at-once 8 --count 1000 --cancel-rate 100%\n",
    .options = options,
    .reports = true,
    .least = 1,
    .most = CLI_ANY_NUMBER,
    .words = {CLI_WORD_TARGET, CLI_WORD_ARGUMENT},
    .run = run,
};
