/*
 * end/offers.h - a server of ours and a client of ours in one process, in one era
 */
#ifndef TESTS_END_OFFERS_H
#define TESTS_END_OFFERS_H

#include <mcp/ask.h>
#include <mcp/client.h>
#include <mcp/subscription.h>

#include "api/raw_client.h"

struct both {
    struct raw raw; /* the server */
    struct test_mem mem;
    mcp_client *client;
    atomic_int tools, prompts, resources; /* changes that were told */
    struct gate gate;
    atomic_int messages;      /* that were heard, */
    atomic_int severities[4]; /* and of which severity, in order */
};

static inline void
on_message(mcp_client *client, enum mcp_severity severity, const char *logger,
           const mcp_json *data, void *user)
{
    struct both *b = user;
    int nth = atomic_load(&b->messages);

    (void)client, (void)logger, (void)data;
    if (nth < 4)
        atomic_store(&b->severities[nth], (int)severity);
    atomic_store(&b->messages, nth + 1);
}

static inline void
on_change(mcp_client *client, enum mcp_change change, const char *uri, void *user)
{
    struct both *b = user;

    (void)client, (void)uri;
    if (change == MCP_TOOLS_CHANGED)
        atomic_fetch_add(&b->tools, 1);
    if (change == MCP_PROMPTS_CHANGED)
        atomic_fetch_add(&b->prompts, 1);
    if (change == MCP_RESOURCES_CHANGED)
        atomic_fetch_add(&b->resources, 1);
}

static inline int
sample(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    mcp_result_model(out, "parrot");
    return mcp_result_text(out, "hello");
}

static inline void
both_make(struct both *b)
{
    memset(b, 0, sizeof(*b));
    test_mem_init(&b->mem);
    raw_make(&b->raw,
             MCP_SERVER_OPTIONS(.changes_ms = -1, .offers = MCP_TOOLS_CHANGED |
                                                            MCP_PROMPTS_CHANGED |
                                                            MCP_RESOURCES_CHANGED));
}

static inline void
both_open(struct both *b, bool modern, const char *extensions)
{
    const mcp_client_options opt = MCP_CLIENT_OPTIONS(
            .name = "reader", .version = "1", .allocator = &b->mem.allocator,
            .era = modern ? MCP_ERA_MODERN : MCP_ERA_LEGACY, .on_change = on_change,
            .on_message = on_message, .messages = MCP_SEVERITY_DEBUG,
            .sample.run = sample, .extensions = extensions, .user = b);
    mcp_error err = {0};

    assert_int_equal(mcp_server_start(b->raw.server, NULL), 0);
    if (mcp_client_attach_server(b->raw.server, &opt, &b->client, &err) < 0)
        fail_msg("%s", err.message);
}

static inline void
both_close(struct both *b)
{
    mcp_client_free(b->client);
    raw_done(&b->raw);
    test_mem_done(&b->mem);
}

/* ---- looking at replies ----------------------------------------------------- */

/* As text with ' for quotes, in one of two buffers. */
static inline const char *
shown(const mcp_json *value)
{
    static char texts[2][4096];
    static int turn;
    char *text, *into = texts[turn++ % 2];

    assert_int_equal(mcp_json_print(value, false, NULL, &text, NULL), 0);
    snprintf(into, sizeof(texts[0]), "%s", text);
    mcp_text_free(text, NULL);
    for (char *at = into; *at; at++)
        *at = *at == '"' ? '\'' : *at;
    return into;
}

static inline mcp_reply *
called(struct both *b, const char *name, const char *arguments)
{
    mcp_reply *reply = NULL;
    mcp_error err = {0};

    if (mcp_client_call_tool(b->client, name, arguments, NULL, &reply, &err) < 0)
        fail_msg("%s: %s", name, err.message);
    return reply;
}

static inline void
content_is(struct both *b, const char *name, const char *content)
{
    mcp_reply *reply = called(b, name, NULL);

    assert_string_equal(shown(mcp_reply_content(reply)), content);
    mcp_reply_free(reply);
}

/* How many a list has, fresh from the server. */
static inline size_t
count_of(struct both *b, enum mcp_list list)
{
    mcp_reply *reply = NULL;
    size_t count;

    assert_int_equal(mcp_client_list_all(b->client, list,
                                         &MCP_CALL_OPTIONS(.fresh = true), &reply,
                                         NULL),
                     0);
    count = mcp_json_count(mcp_reply_items(reply));
    mcp_reply_free(reply);
    return count;
}

/* The first of a list, whole. */
static inline void
first_is(struct both *b, enum mcp_list list, const char *text)
{
    mcp_reply *reply = NULL;

    assert_int_equal(mcp_client_list_all(b->client, list, NULL, &reply, NULL), 0);
    assert_string_equal(shown(mcp_json_at(mcp_reply_items(reply), 0)), text);
    mcp_reply_free(reply);
}

#endif
