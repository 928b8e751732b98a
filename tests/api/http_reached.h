/*
 * api/http_reached.h - a server of the public API on a port, and clients of it over HTTP
 *
 * Both are in this process, on threads of their own, and real sockets lie between them.
 * The server is of one era; clients find that out.
 */
#ifndef TESTS_API_HTTP_REACHED_H
#define TESTS_API_HTTP_REACHED_H

#include "api/client.h"
#include "api/http_served.h"
#include "support/curl_warm.h"
#include "support/script.h"
#include "support/virtual_clock.h"

/* A case for each era; its state is the era. */
static enum mcp_era reached_eras[]
    __attribute__((unused)) = {MCP_ERA_MODERN, MCP_ERA_LEGACY};
#define IN_BOTH_ERAS(test)                            \
    TEST_AS("modern." #test, test, &reached_eras[0]), \
        TEST_AS("legacy." #test, test, &reached_eras[1])

struct reached {
    struct raw raw; /* the server */
    char url[MCP_HTTP_URL_MAX];
    int port;
    struct gate gate;    /* of `hang`: handlers that came, and were told to stop */
    struct test_mem mem; /* the clients' */
    struct told told;
    mcp_client *client;
};

/* ---- tools --------------------------------------------------------------- */

static inline int
reached_steps(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    for (int i = 1; i <= 20; i++)
        (void)mcp_request_progress(req, i, 20, "on the way");
    return mcp_result_text(out, "done");
}

static inline int
reached_fail(mcp_request *req, mcp_result *out, void *user)
{
    (void)out;
    (void)user;
    return mcp_request_fail(req, -32077, NULL, "not today");
}

/* ---- both sides ---------------------------------------------------------- */

/* The server, which runs; opt and http say what is not the default. */
static inline void
reached_serve(struct reached *f, mcp_server_options opt, mcp_http_options http)
{
    mcp_error err = {0};

    memset(f, 0, sizeof(*f));
    test_mem_init(&f->mem);
    told_init(&f->told);
    raw_make(&f->raw, opt);
    raw_tool(&f->raw, MCP_TOOL(.name = "say", .reply = served_say));
    raw_tool(&f->raw, MCP_TOOL(.name = "hang", .run = gate_hang, .user = &f->gate));
    raw_tool(&f->raw, MCP_TOOL(.name = "steps", .run = reached_steps));
    raw_tool(&f->raw, MCP_TOOL(.name = "fail", .run = reached_fail));
    if (mcp_server_listen_http(f->raw.server, &http, f->url, &err) < 0)
        fail_msg("%s", err.message);
    f->port = (int)strtol(strrchr(f->url, ':') + 1, NULL, 10);
    assert_int_equal(mcp_server_start(f->raw.server, NULL), 0);
}

#define REACHED_OPTIONS(...) \
    MCP_CLIENT_OPTIONS(.name = "reacher", .version = "1", __VA_ARGS__)

static inline int
reached_try(struct reached *f, const mcp_http_client_options *http,
            mcp_client_options opt, mcp_client **ret, mcp_error *err)
{
    opt.allocator = &f->mem.allocator;
    return mcp_client_connect_http(f->url, http, &opt, ret, err);
}

static inline mcp_client *
reached_client(struct reached *f, mcp_client_options opt)
{
    mcp_client *client = NULL;
    mcp_error err = {0};

    if (reached_try(f, NULL, opt, &client, &err) < 0)
        fail_msg("%s: %s", mcp_status_name(err.status), err.message);
    return client;
}

/* A server of the era that the case is run for, and one client that has found it. */
static inline void
reached_open(struct reached *f, void **state)
{
    reached_serve(f, MCP_SERVER_OPTIONS(.era = *(enum mcp_era *)*state),
                  MCP_HTTP_OPTIONS(.port = 0));
    f->client = reached_client(f,
                               REACHED_OPTIONS(.flush_ms = AWAIT_MS)); /* may be slow */
}

static inline void
reached_close(struct reached *f)
{
    mcp_client_free(f->client);
    raw_done(&f->raw);
    told_clear(&f->told);
    test_mem_done(&f->mem);
}

/* The client's time can be made to pass from now on. */
static inline void
reached_hold_time(struct reached *f, struct virtual_clock *clock)
{
    virtual_clock_init_running(clock);
    virtual_clock_hold(clock, f->client->host.inside);
}

/* It is ready for more. */
static inline void
reached_says(mcp_client *client)
{
    mcp_reply *reply = NULL;
    mcp_error err = {0};

    if (mcp_client_call_tool(client, "say", NULL, NULL, &reply, &err) < 0)
        fail_msg("%s: %s", mcp_status_name(err.status), err.message);
    assert_int_equal(strncmp(mcp_reply_text(reply), "said to <", 9), 0);
    mcp_reply_free(reply);
}

/* A call of `hang`, whose handler runs. */
static inline mcp_call *
reached_hangs(struct reached *f, mcp_client *client, const mcp_call_options *opt)
{
    int before = atomic_load(&f->gate.entered);
    mcp_call *call = NULL;

    assert_int_equal(
        mcp_client_start_tool(client, "hang", NULL, opt, told_done, &f->told, &call),
        0);
    RAW_UNTIL(atomic_load(&f->gate.entered) > before);
    return call;
}

#endif
