/* base/log_test.c - proves base/log.c: levels, and lines that stay lines */
#include "base/log.h"

#include <string.h>

#include "base/text.h"
#include "support/test.h"

struct sink {
    char line[2 * MCPI_LOG_LINE];
    enum mcp_log_level level;
    int count;
};

static void
sink_write(void *user, enum mcp_log_level level, const char *line)
{
    struct sink *sink = user;

    assert_in_range(strlen(line), 0, MCPI_LOG_LINE - 1);
    strcpy(sink->line, line);
    sink->level = level;
    sink->count++;
}

static void
line_is_formatted_and_handed_over(void **state)
{
    struct sink sink = {.count = 0};
    struct mcpi_log log = {sink_write, &sink, MCP_LOG_INFO};

    (void)state;
    MCPI_LOG(&log, MCP_LOG_WARNING, "%s is %d", "answer", 42);
    assert_int_equal(sink.count, 1);
    assert_int_equal(sink.level, MCP_LOG_WARNING);
    assert_string_equal(sink.line, "answer is 42");
}

static void
nothing_is_formatted_for_nobody(void **state)
{
    struct sink sink = {.count = 0};
    struct mcpi_log log = {sink_write, &sink, MCP_LOG_INFO};
    struct mcpi_log silent = {NULL, NULL, MCP_LOG_DEBUG};
    int evaluated = 0;

    (void)state;
    MCPI_LOG(&log, MCP_LOG_DEBUG, "%d", ++evaluated);
    MCPI_LOG(&silent, MCP_LOG_ERROR, "%d", ++evaluated);
    mcpi_log_write(&log, MCP_LOG_DEBUG, "direct");
    mcpi_log_write(&silent, MCP_LOG_ERROR, "direct");
    assert_int_equal(evaluated, 0);
    assert_int_equal(sink.count, 0);
}

static void
line_ends_and_controls_do_not_pass(void **state)
{
    struct sink sink = {.count = 0};
    struct mcpi_log log = {sink_write, &sink, MCP_LOG_DEBUG};

    (void)state;
    mcpi_log_write(&log, MCP_LOG_ERROR, "a\nb\r\tc\x1b[31m\xff%s", "d\n");
    assert_string_equal(sink.line, "a b  c?[31m?d ");
}

static void
long_line_is_cut_between_characters(void **state)
{
    struct sink sink = {.count = 0};
    struct mcpi_log log = {sink_write, &sink, MCP_LOG_DEBUG};
    char text[2 * MCPI_LOG_LINE];

    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', shift);
        for (size_t i = shift; i + 5 < sizeof(text); i += 4)
            strcpy(text + i, "\xF0\x9F\x98\x80");
        mcpi_log_write(&log, MCP_LOG_ERROR, "%s", text);
        assert_true(mcpi_utf8_valid(sink.line, strlen(sink.line)));
        assert_null(strchr(sink.line, '?'));
        assert_in_range(strlen(sink.line), MCPI_LOG_LINE - 4, MCPI_LOG_LINE - 1);
    }
}

TEST_MAIN(TEST(line_is_formatted_and_handed_over),
          TEST(nothing_is_formatted_for_nobody),
          TEST(line_ends_and_controls_do_not_pass),
          TEST(long_line_is_cut_between_characters))
