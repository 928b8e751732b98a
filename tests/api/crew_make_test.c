/* crew_make_test.c - the options of an isolated tool: read, checked and copied */
#include "api/crew.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static int
no_run(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

static const mcp_isolate plain = {.size = sizeof(mcp_isolate)};

static const mcp_tool tools[] = {
    {.size = sizeof(mcp_tool), .name = "tool", .run = no_run, .isolate = &plain}};

static void
enter(int argc, char **argv)
{
    mcp_isolated_enter(argc, argv, tools, 1);
}

static struct mcpi_crew *
make(struct test_mem *mem, const mcp_isolate *isolate)
{
    mcp_tool tool = tools[0];
    struct mcpi_crew *crew;
    mcp_error err = {0};

    tool.isolate = isolate;
    if (mcpi_crew_new(&mem->allocator, &tool, &crew, &err) < 0)
        fail_msg("%s", err.message);
    return crew;
}

static void
expect_refused(const mcp_tool *tool, int status, const char *part)
{
    struct mcpi_crew *crew;
    struct test_mem mem;
    mcp_error err = {0};

    test_mem_init(&mem);
    assert_int_equal(mcpi_crew_new(&mem.allocator, tool, &crew, &err), status);
    if (!strstr(err.message, part))
        fail_msg("no %s in %s", part, err.message);
    test_mem_done(&mem);
}

static void
expect_refused_isolate(const mcp_isolate *isolate, const char *part)
{
    mcp_tool tool = tools[0];

    tool.isolate = isolate;
    expect_refused(&tool, MCP_E_INVAL, part);
}

/* ---- refused ------------------------------------------------------------ */

static void
a_tool_that_cannot_be_isolated_is_refused(void **state)
{
    mcp_tool tool = tools[0];

    (void)state;
    tool.run = NULL;
    tool.start = no_run;
    expect_refused(&tool, MCP_E_INVAL, "tool tool: what is isolated needs a handler");
    tool = tools[0];
    tool.flags = MCP_SIGNAL_ONLY;
    expect_refused(&tool, MCP_E_INVAL, "MCP_SIGNAL_ONLY");
    tool = tools[0];
    tool.name = "stranger";
    expect_refused(&tool, MCP_E_STATE, "mcp_isolated_enter was not given it");
}

static void
options_that_make_no_sense_are_refused(void **state)
{
    static const char *const no_name[] = {"A=1", "=2", NULL};
    static const char *const no_value[] = {"A", NULL};
    struct {
        mcp_isolate known;
        int more;
    } newer = {.known = {.size = sizeof(newer)}, .more = 1};

    (void)state;
    expect_refused_isolate(&MCP_ISOLATE(.grace_ms = -2), "is negative");
    expect_refused_isolate(&MCP_ISOLATE(.cpu_seconds = -1), "is negative");
    expect_refused_isolate(&MCP_ISOLATE(.env = no_name), "\"=2\" in its env");
    expect_refused_isolate(&MCP_ISOLATE(.env = no_value), "\"A\" in its env");
    expect_refused_isolate(&newer.known, "its isolate is no mcp_isolate");
}

/* ---- taken -------------------------------------------------------------- */

static void
what_is_not_said_has_a_default(void **state)
{
    struct mcpi_crew *crew;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    crew = make(&mem, &plain);
    assert_int_equal(crew->grace_us, 2000000);
    assert_int_equal(crew->warm, 1);
    assert_int_equal(crew->most, 16);
    assert_string_equal(crew->name, "tool");
    mcpi_crew_discard(crew);
    test_mem_done(&mem);
}

static void
what_is_said_is_taken(void **state)
{
    struct mcpi_crew *crew;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    crew = make(&mem, &MCP_ISOLATE(.grace_ms = -1, .warm = 9, .most = 3,
                                   .memory_bytes = UINT64_MAX, .cpu_seconds = 7,
                                   .files = 20, .file_bytes = 30));
    assert_int_equal(crew->grace_us, 0);
    assert_int_equal(crew->most, 3);
    assert_int_equal(crew->warm, 3); /* more could not be used */
    assert_string_equal(crew->words[0], "tool");
    assert_string_equal(crew->words[1], "18446744073709551615");
    assert_string_equal(crew->words[2], "7");
    assert_string_equal(crew->words[3], "20");
    assert_string_equal(crew->words[4], "30");
    assert_null(crew->words[5]);
    mcpi_crew_discard(crew);
    test_mem_done(&mem);
}

static bool
env_holds(const struct mcpi_crew *crew, const char *text)
{
    for (const char *const *env = crew->env; *env; env++) {
        if (strcmp(*env, text) == 0)
            return true;
    }
    return false;
}

static void
the_environment_is_copied_and_comes_first(void **state)
{
    char own[] = "TZ=Own/Zone";
    const char *const env[] = {own, "MORE=1", NULL};
    struct mcpi_crew *crew;
    struct test_mem mem;

    (void)state;
    setenv("TZ", "Program/Zone", 1);
    setenv("LANG", "xx_YY", 1);
    setenv("SECRET", "1", 1);
    test_mem_init(&mem);
    crew = make(&mem, &MCP_ISOLATE(.env = env));
    memset(own, 'x', sizeof(own) - 1);
    assert_true(env_holds(crew, "TZ=Own/Zone"));
    assert_false(env_holds(crew, "TZ=Program/Zone"));
    assert_true(env_holds(crew, "MORE=1"));
    assert_true(env_holds(crew, "LANG=xx_YY"));
    assert_false(env_holds(crew, "SECRET=1"));
    mcpi_crew_discard(crew);
    crew = make(&mem, &plain);
    assert_true(env_holds(crew, "TZ=Program/Zone"));
    mcpi_crew_discard(crew);
    test_mem_done(&mem);
    unsetenv("TZ");
    unsetenv("LANG");
    unsetenv("SECRET");
}

static void
make_flow(struct test_mem *mem, void *user)
{
    struct mcpi_crew *crew;
    mcp_error err = {0};
    int r;

    (void)user;
    r = mcpi_crew_new(&mem->allocator, tools, &crew, &err);
    if (r == 0)
        mcpi_crew_discard(crew);
    else
        assert_int_equal(err.status, MCP_E_NOMEM);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(make_flow, NULL) > 0);
}

TEST_MAIN_AFTER(enter, TEST(a_tool_that_cannot_be_isolated_is_refused),
                TEST(options_that_make_no_sense_are_refused),
                TEST(what_is_not_said_has_a_default), TEST(what_is_said_is_taken),
                TEST(the_environment_is_copied_and_comes_first),
                TEST(each_allocation_may_fail))
