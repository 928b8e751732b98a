/* doctor_report.c - what was found: for people, programs and test runners */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cli/doctor.h"

#define INDENT 6 /* behind the verdict */

static const char *const names[] = {"pass", "warn", "fail", "skip"};

/* ---- findings ------------------------------------------------------------------- */

/* Texts of servers may be in it: whole sequences are taken out, not parts. */
MCP_PRINTF(2, 0)
static void
text_set(struct cli_text *text, const char *format, va_list args)
{
    char raw[2048];

    cli_text_done(text);
    (void)vsnprintf(raw, sizeof(raw), format, args);
    cli_text_add_harmless(text, raw, strlen(raw), true);
}

void
cli_found(struct cli_finding *finding, enum cli_verdict verdict, const char *format,
          ...)
{
    va_list args;

    finding->verdict = verdict;
    va_start(args, format);
    text_set(&finding->seen, format, args);
    va_end(args);
}

void
cli_mend(struct cli_finding *finding, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    text_set(&finding->mend, format, args);
    va_end(args);
}

void
cli_finding_done(struct cli_finding *finding)
{
    cli_text_done(&finding->seen);
    cli_text_done(&finding->mend);
}

size_t
cli_report_count(const struct cli_report *report, enum cli_verdict verdict)
{
    size_t count = 0;

    for (size_t i = 0; i < report->count; i++)
        count += report->rows[i].finding.verdict == verdict;
    return count;
}

/* ---- for people ----------------------------------------------------------------- */

static void
text_row(const struct cli_report_row *row, size_t width, bool color,
         struct cli_text *into)
{
    static const char *const shown[] = {"PASS", "WARN", "FAIL", "SKIP"};
    static const char *const colors[] = {"\033[32m", "\033[33m", "\033[31m", "\033[2m"};
    const struct cli_finding *finding = &row->finding;
    struct cli_text line = {0};
    size_t columns = width > INDENT + 20 ? width - INDENT : 20;

    cli_text_printf(&line, "%s: %s", row->check->title,
                    cli_text_string(&finding->seen));
    cli_text_printf(into, "%s%s%s  ", color ? colors[finding->verdict] : "",
                    shown[finding->verdict], color ? "\033[0m" : "");
    cli_text_add_wrapped(into, cli_text_string(&line), line.length, columns, INDENT);
    cli_text_puts(into, "\n");
    if (finding->mend.length > 0) {
        cli_text_pad(into, INDENT);
        cli_text_add_wrapped(into, cli_text_string(&finding->mend),
                             finding->mend.length, columns, INDENT);
        cli_text_puts(into, "\n");
    }
    cli_text_done(&line);
}

void
cli_report_text(const struct cli_report *report, size_t width, bool color,
                struct cli_text *into)
{
    for (size_t i = 0; i < report->count; i++)
        text_row(&report->rows[i], width, color, into);
    cli_text_printf(
        into, "\n%zu passed, %zu warnings, %zu failed, %zu skipped\n",
        cli_report_count(report, CLI_PASS), cli_report_count(report, CLI_WARN),
        cli_report_count(report, CLI_FAIL), cli_report_count(report, CLI_SKIP));
}

/* ---- for programs --------------------------------------------------------------- */

void
cli_report_json(const struct cli_report *report, mcp_builder *b)
{
    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "target", report->target ? report->target : "");
    mcp_builder_begin_array(b, "checks");
    for (size_t i = 0; i < report->count; i++) {
        const struct cli_report_row *row = &report->rows[i];

        mcp_builder_begin_object(b, NULL);
        mcp_builder_string(b, "id", row->check->id);
        mcp_builder_string(b, "title", row->check->title);
        mcp_builder_string(b, "verdict", names[row->finding.verdict]);
        mcp_builder_string(b, "seen", cli_text_string(&row->finding.seen));
        mcp_builder_string(b, "mend", cli_text_string(&row->finding.mend));
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
    mcp_builder_uint(b, "passed", cli_report_count(report, CLI_PASS));
    mcp_builder_uint(b, "warned", cli_report_count(report, CLI_WARN));
    mcp_builder_uint(b, "failed", cli_report_count(report, CLI_FAIL));
    mcp_builder_uint(b, "skipped", cli_report_count(report, CLI_SKIP));
    mcp_builder_end(b);
}

/* ---- for test runners ----------------------------------------------------------- */

/* Texts are harmless already, so no control is left that XML does not know. */
static void
xml_add(struct cli_text *into, const char *text)
{
    for (; *text; text++) {
        switch (*text) {
        case '&':
            cli_text_puts(into, "&amp;");
            break;
        case '<':
            cli_text_puts(into, "&lt;");
            break;
        case '>':
            cli_text_puts(into, "&gt;");
            break;
        case '"':
            cli_text_puts(into, "&quot;");
            break;
        default:
            cli_text_add(into, text, 1);
        }
    }
}

static void
junit_row(const struct cli_report_row *row, struct cli_text *into)
{
    /* a warning is no failure to a test runner: it stands in the output of its case */
    static const char *const tags[] = {NULL, "system-out", "failure", "skipped"};
    const struct cli_finding *finding = &row->finding;
    const char *tag = tags[finding->verdict];

    cli_text_printf(into, "  <testcase classname=\"%s\" name=\"", row->check->id);
    xml_add(into, row->check->title);
    if (!tag) {
        cli_text_puts(into, "\"/>\n");
        return;
    }
    cli_text_printf(into, "\">\n    <%s", tag);
    if (finding->verdict != CLI_WARN) {
        cli_text_puts(into, " message=\"");
        xml_add(into, cli_text_string(&finding->seen));
        cli_text_puts(into, "\">");
    } else {
        cli_text_puts(into, ">warning: ");
        xml_add(into, cli_text_string(&finding->seen));
        cli_text_puts(into, " ");
    }
    xml_add(into, cli_text_string(&finding->mend));
    cli_text_printf(into, "</%s>\n  </testcase>\n", tag);
}

void
cli_report_junit(const struct cli_report *report, struct cli_text *into)
{
    cli_text_puts(into, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                        "<testsuite name=\"mcpctl doctor ");
    xml_add(into, report->target ? report->target : "");
    cli_text_printf(into, "\" tests=\"%zu\" failures=\"%zu\" skipped=\"%zu\">\n",
                    report->count, cli_report_count(report, CLI_FAIL),
                    cli_report_count(report, CLI_SKIP));
    for (size_t i = 0; i < report->count; i++)
        junit_row(&report->rows[i], into);
    cli_text_puts(into, "</testsuite>\n");
}
