/* api/result_fixture.h - a result without a server, to be written to and looked at */
#ifndef TESTS_API_RESULT_FIXTURE_H
#define TESTS_API_RESULT_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/result.h"
#include "base/mem.h"
#include "support/test.h"

struct sum {
    int64_t sum;
};

static const mcp_field sum_fields[] = {
    MCP_FIELD_WITH(struct sum, sum, MCP_INT, MCP_REQUIRED, NULL, MCP_MAXIMUM(100)),
    {0},
};

static inline int
written_nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

struct written {
    struct test_mem mem;
    struct mcpi_engine engine; /* only what a result needs of one */
    struct mcpi_tool *tool;
    mcp_result out;
};

static inline void
written_open(struct written *w, const mcp_tool *tool, size_t most)
{
    memset(w, 0, sizeof(*w));
    test_mem_init(&w->mem);
    w->engine.mem = &w->mem.allocator;
    w->engine.limits.message_bytes = most;
    if (tool)
        assert_int_equal(mcpi_tool_new(w->engine.mem, tool, &w->tool, NULL), 0);
    mcpi_tool_result_init(&w->out, &w->engine, w->tool);
    w->out.kind = MCPI_RESULT_TOOL;
    w->out.modern = true;
}

/* A result of another kind, which nobody's offer stands behind. */
static inline mcp_result *
written_as(struct written *w, enum mcpi_result_kind kind)
{
    written_open(w, NULL, 1 << 20);
    w->out.kind = kind;
    return &w->out;
}

static inline mcp_result *
written_plain(struct written *w)
{
    written_open(w, &MCP_TOOL(.name = "t", .reply = written_nothing), 1 << 20);
    return &w->out;
}

static inline mcp_result *
written_summing(struct written *w)
{
    written_open(
        w,
        &MCP_TOOL(.name = "t", .reply = written_nothing, .output_fields = sum_fields),
        1 << 20);
    return &w->out;
}

static inline void
written_close(struct written *w)
{
    mcpi_tool_result_done(&w->out);
    mcpi_offer_unref(w->tool ? &w->tool->offer : NULL);
    test_mem_done(&w->mem);
}

/* The result is this text; quotes are written as '. */
static inline void
written_is(struct written *w, const char *text)
{
    char *wanted = strdup(text), *at;
    mcp_error err = {0};

    if (mcpi_tool_result_close(&w->out, &err) < 0)
        fail_msg("%s", err.message);
    for (at = wanted; *at; at++)
        *at = *at == '\'' ? '"' : *at;
    mcpi_buf_char(&w->out.answer.body, '\0');
    assert_string_equal(w->out.answer.body.data, wanted);
    free(wanted);
    written_close(w);
}

/* It cannot be sent, with that status and for that reason. */
static inline void
written_fails(struct written *w, int status, const char *why)
{
    mcp_error err = {0};

    assert_int_equal(mcpi_tool_result_close(&w->out, &err), status);
    if (!strstr(err.message, why))
        fail_msg("no %s in %s", why, err.message);
    written_close(w);
}

#endif
