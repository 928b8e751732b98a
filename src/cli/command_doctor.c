/* command_doctor.c - doctor: what is wrong with a server, and how to mend it */
#include <stdlib.h>
#include <string.h>

#include "cli/content.h"
#include "cli/doctor.h"
#include "cli/input.h"
#include "cli/times.h"

#define TIMEOUT_MS 60000 /* for one answer, if there shall be no --timeout */

enum { REPORT_AUTO, REPORT_TEXT, REPORT_JSON, REPORT_JUNIT };

static const struct cli_check *const tables[] = {cli_stdio_checks, cli_web_checks,
                                                 cli_session_checks};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

static size_t
table_count(const struct cli_check *table)
{
    size_t count = 0;

    while (table[count].title)
        count++;
    return count;
}

/* ---- examining ------------------------------------------------------------------ */

/* Somebody watches: some checks wait for long. */
static void
show_check(struct cli *cli, const struct cli_report *report,
           const struct cli_check *check)
{
    if (!cli->say.is_terminal || cli->say.is_json)
        return;
    cli_say_progress_end(&cli->say); /* the next one is drawn, however soon it comes */
    cli_say_progress(&cli->say, (double)report->count + 1, 0, check->title);
}

/* Each of a table that means something for this target, until Ctrl-C. */
static void
run_table(struct cli_doctor *doctor, const struct cli_check *check,
          struct cli_report *report)
{
    struct cli_report_row *row;

    for (; check->title; check++) {
        if (!check->applies(doctor) || mcp_scope_is_over(doctor->cli->scope))
            continue;
        show_check(doctor->cli, report, check);
        row = &report->rows[report->count++];
        row->check = check;
        check->run(doctor, &row->finding);
        if (mcp_scope_is_over(doctor->cli->scope)) { /* it was not waited for */
            cli_found(&row->finding, CLI_SKIP, "You have interrupted it.");
            cli_text_done(&row->finding.mend);
        }
    }
}

static void
examine(struct cli_doctor *doctor, struct cli_report *report)
{
    run_table(doctor, cli_stdio_checks, report);
    cli_stdio_checks_done(doctor); /* before a session starts processes of its own */
    run_table(doctor, cli_web_checks, report);
    cli_web_checks_done(doctor);
    run_table(doctor, cli_session_checks, report);
    cli_session_checks_done(doctor);
    cli_say_progress_end(&doctor->cli->say);
}

/* ---- telling -------------------------------------------------------------------- */

static int
show_json(struct cli *cli, const struct cli_report *report)
{
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc;
    int code;

    cli_report_json(report, b);
    if (mcp_builder_parse(b, &doc) < 0) {
        code = cli_fail_with(cli, CLI_OTHER, "There is no memory for the report.");
    } else {
        code = cli_print_json(cli, mcp_doc_root(doc));
        mcp_doc_free(doc);
    }
    mcp_builder_free(b);
    return code;
}

static int
show(struct cli *cli, const struct cli_report *report)
{
    struct cli_text text = {0};
    int mode = cli->options.report, code = CLI_OK;

    if (mode == REPORT_AUTO)
        mode = cli->json ? REPORT_JSON : REPORT_TEXT;
    if (mode == REPORT_JSON)
        return show_json(cli, report);
    if (mode == REPORT_JUNIT)
        cli_report_junit(report, &text);
    else
        cli_report_text(report, cli_terminal_width(), cli->color, &text);
    if (!cli_write(cli, cli_text_string(&text), text.length))
        code = CLI_OTHER;
    cli_text_done(&text);
    return code;
}

static int
exit_of(const struct cli_doctor *doctor, const struct cli_report *report)
{
    if (mcp_scope_is_over(doctor->cli->scope))
        return CLI_CANCELED;
    if (doctor->open_code == CLI_UNREACHABLE && !doctor->is_reachable &&
        !doctor->is_modern && !doctor->is_legacy)
        return CLI_UNREACHABLE;
    return cli_report_count(report, CLI_FAIL) > 0 ? CLI_OTHER : CLI_OK;
}

static int
diagnose(struct cli_doctor *doctor)
{
    struct cli_report report = {.target = cli_target_describe(&doctor->target)};
    size_t most = 0;
    int code;

    for (size_t i = 0; i < TABLES; i++)
        most += table_count(tables[i]);
    report.rows = calloc(most, sizeof(*report.rows));
    if (!report.rows) {
        free(report.target);
        return cli_fail_with(doctor->cli, CLI_OTHER, "There is no memory for that.");
    }
    examine(doctor, &report);
    code = show(doctor->cli, &report);
    if (code == CLI_OK)
        code = exit_of(doctor, &report);
    for (size_t i = 0; i < report.count; i++)
        cli_finding_done(&report.rows[i].finding);
    free(report.rows);
    free(report.target);
    return code;
}

static int
run(struct cli *cli, int argc, char **argv)
{
    struct cli_doctor *doctor;
    int code;

    if (argc > 1 && !cli->options.tool)
        return cli_fail_with(cli, CLI_OTHER,
                             "Arguments are for a tool: say which with --tool NAME.");
    doctor = calloc(1, sizeof(*doctor));
    if (!doctor)
        return cli_fail_with(cli, CLI_OTHER, "There is no memory for that.");
    doctor->cli = cli;
    doctor->word = argv[0];
    doctor->argument_count = argc - 1;
    doctor->arguments = argv + 1;
    doctor->timeout_ms = cli->options.timeout_ms > 0 ? cli->options.timeout_ms
                                                     : TIMEOUT_MS;
    doctor->exit_ms = cli_times_get("exit", CLI_DOCTOR_EXIT_MS);
    doctor->orphan_ms = cli_times_get("orphan", CLI_DOCTOR_ORPHAN_MS);
    cli_late_init(&doctor->late);
    code = cli_target_get(cli, argv[0], &doctor->target);
    if (code == CLI_OK && doctor->target.kind == CLI_TARGET_URL &&
        !cli_url_read(doctor->target.url, &doctor->url))
        code = cli_fail_with(cli, CLI_OTHER, "This is no URL that can be reached.");
    if (code == CLI_OK)
        code = diagnose(doctor);
    cli_target_done(&doctor->target);
    cli_late_done(&doctor->late);
    free(doctor);
    return code;
}

static const struct cli_option options[] = {
    {"tool", "TOOL", NULL, CLI_TEXT, offsetof(struct cli_options, tool),
     "Call this tool and cancel it; it should take a second at least"},
    {"args", "FILE", NULL, CLI_TEXT, offsetof(struct cli_options, args),
     "Read arguments of the tool from a file with a JSON object, or - for stdin"},
    {"report", "FORM", "auto|text|json|junit", CLI_CHOICE,
     offsetof(struct cli_options, report),
     "How to write the report; auto is text on a terminal, else json"},
    {0},
};

const struct cli_command cli_command_doctor = {
    .name = "doctor",
    .arguments = "TARGET [NAME=VALUE...]",
    .summary = "Find out what is wrong with a server, and how to mend it",
    .text =
        "Runs a table of checks and says for each what was seen: PASS, WARN, FAIL, or\n"
        "SKIP if it could not be made. What did not pass comes with a hint.\n"
        "\n"
        "A program is started several times, with pipes: does it keep stdout clean,\n"
        "which versions does it speak, does it refuse what it does not know, does it\n"
        "exit when stdin ends and on SIGTERM, does it leave processes behind. A "
        "server\n"
        "over HTTP gets requests that no good client sends: with a foreign Host or\n"
        "Origin, with headers that differ from the message. Of one that wants to know\n"
        "who asks, the way to its authorization server is looked at. All servers: "
        "what\n"
        "is declared, and the names and schemas of what they list.\n"
        "\n"
        "With --tool a call of that tool is canceled after 200 ms: the server must "
        "not\n"
        "answer it any more, nor report its progress, must stop its work, and must go "
        "on\nwith the session. It is watched for five seconds: a tool that takes "
        "longer shows\nless.\n"
        "NAME=VALUE are arguments of the tool, as for mcpctl call.\n"
        "\n"
        "The exit code is 0 if nothing failed, 1 if something did, 4 if nobody is "
        "there.",
    .examples = "mcpctl doctor ./server\n"
                "mcpctl doctor ./server --tool hang seconds=60\n"
                "mcpctl doctor http://127.0.0.1:8080/mcp --report junit\n",
    .options = options,
    .reports = true,
    .least = 1,
    .most = CLI_ANY_NUMBER,
    .words = {CLI_WORD_TARGET, CLI_WORD_ARGUMENT},
    .run = run,
};
