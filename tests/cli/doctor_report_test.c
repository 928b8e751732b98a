/* doctor_report_test.c - proves cli/doctor_report.c: text, JSON, JUnit */
#include <string.h>

#include "cli/doctor.h"
#include "support/test.h"

static const struct cli_check checks[] = {{.id = "a.pass", .title = "Passes"},
                                          {.id = "a.warn", .title = "Warns"},
                                          {.id = "a.fail", .title = "Fails & <breaks>"},
                                          {.id = "a.skip", .title = "Skips"}};
static char target[] = "./srv \"x\"";

struct rig {
    struct cli_report_row rows[4];
    struct cli_report report;
    struct cli_text text;
};

static void
rig_open(struct rig *rig)
{
    memset(rig, 0, sizeof(*rig));
    for (size_t i = 0; i < 4; i++) {
        rig->rows[i].check = &checks[i];
        cli_found(&rig->rows[i].finding, (enum cli_verdict)i, "saw \033[2J%s", "<it>");
        if (i > 0)
            cli_mend(&rig->rows[i].finding, "mend \"%d\"", (int)i);
    }
    rig->report = (struct cli_report){.target = target, .rows = rig->rows, .count = 4};
}

static void
rig_close(struct rig *rig)
{
    for (size_t i = 0; i < 4; i++)
        cli_finding_done(&rig->rows[i].finding);
    cli_text_done(&rig->text);
}

static void
people_read_lines_with_hints(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig);
    cli_report_text(&rig.report, 80, false, &rig.text);
    assert_string_equal(cli_text_string(&rig.text),
                        "PASS  Passes: saw <it>\n"
                        "WARN  Warns: saw <it>\n      mend \"1\"\n"
                        "FAIL  Fails & <breaks>: saw <it>\n      mend \"2\"\n"
                        "SKIP  Skips: saw <it>\n      mend \"3\"\n"
                        "\n1 passed, 1 warnings, 1 failed, 1 skipped\n");
    rig_close(&rig);
}

static void
color_is_only_for_who_wants_it(void **state)
{
    struct rig rig;

    (void)state;
    rig_open(&rig);
    cli_report_text(&rig.report, 80, true, &rig.text);
    assert_non_null(strstr(cli_text_string(&rig.text), "\033[31mFAIL\033[0m"));
    rig_close(&rig);
}

static void
programs_read_one_object(void **state)
{
    mcp_builder *b = mcp_builder_new(NULL);
    const mcp_json *row;
    mcp_doc *doc;
    struct rig rig;

    (void)state;
    rig_open(&rig);
    cli_report_json(&rig.report, b);
    assert_int_equal(mcp_builder_parse(b, &doc), 0);
    row = mcp_json_find(mcp_json_get(mcp_doc_root(doc), "checks"), "id", "a.fail");
    assert_true(mcp_json_is_string(mcp_json_get(row, "verdict"), "fail"));
    assert_true(mcp_json_is_string(mcp_json_get(row, "seen"), "saw <it>"));
    assert_true(mcp_json_is_string(mcp_json_get(row, "mend"), "mend \"2\""));
    assert_int_equal(mcp_json_int(mcp_json_get(mcp_doc_root(doc), "failed"), 0), 1);
    mcp_doc_free(doc);
    mcp_builder_free(b);
    rig_close(&rig);
}

static void
test_runners_read_xml(void **state)
{
    struct rig rig;
    const char *text;

    (void)state;
    rig_open(&rig);
    cli_report_junit(&rig.report, &rig.text);
    text = cli_text_string(&rig.text);
    assert_non_null(strstr(text,
                           "<testsuite name=\"mcpctl doctor ./srv &quot;x&quot;\" "
                           "tests=\"4\" failures=\"1\" skipped=\"1\">"));
    assert_non_null(strstr(text, "<testcase classname=\"a.pass\" name=\"Passes\"/>"));
    assert_non_null(strstr(text,
                           "name=\"Fails &amp; &lt;breaks&gt;\">\n    <failure "
                           "message=\"saw &lt;it&gt;\">mend &quot;2&quot;</failure>"));
    assert_non_null(strstr(text, "<system-out>warning: saw &lt;it&gt;"));
    assert_non_null(strstr(text, "<skipped message=\"saw &lt;it&gt;\">"));
    rig_close(&rig);
}

TEST_MAIN(TEST(people_read_lines_with_hints), TEST(color_is_only_for_who_wants_it),
          TEST(programs_read_one_object), TEST(test_runners_read_xml))
