/* api/http_served.h - a server of the public API that listens on a port, for tests */
#ifndef TESTS_API_HTTP_SERVED_H
#define TESTS_API_HTTP_SERVED_H

#include <mcp/http.h>

#include "api/raw_client.h"
#include "support/http_raw.h"

/* ---- the server --------------------------------------------------------- */

static inline int
served_say(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    return mcp_result_textf(out, "said to <%s>", mcp_request_principal(req));
}

static inline int
served_sleep(mcp_request *req, mcp_result *out, void *user)
{
    struct gate *gate = user;
    int r;

    (void)out;
    atomic_fetch_add(&gate->entered, 1);
    r = mcp_request_sleep(req, 60000);
    atomic_fetch_add(&gate->left, 1);
    return r;
}

static inline int
served_listen(struct raw *raw, mcp_http_options opt)
{
    char url[MCP_HTTP_URL_MAX] = "";
    mcp_error err = {0};
    const char *colon;

    if (mcp_server_listen_http(raw->server, &opt, url, &err) < 0)
        fail_msg("%s", err.message);
    colon = strrchr(url, ':');
    assert_non_null(colon);
    return (int)strtol(colon + 1, NULL, 10);
}

/* A server that runs, with a tool; returns its port. */
static inline int
served_start(struct raw *raw, mcp_server_options server, mcp_http_options http)
{
    int port;

    raw_make(raw, server);
    raw_tool(raw, MCP_TOOL(.name = "say", .reply = served_say));
    port = served_listen(raw, http);
    assert_int_equal(mcp_server_start(raw->server, NULL), 0);
    return port;
}

static inline void
served_says(struct http_raw *h, enum mcp_era era, const char *session)
{
    http_call(h, &HTTP_CALL(.era = era, .session = session, .tool = "say"));
    assert_int_equal(http_answer(h), 200);
    assert_non_null(strstr(h->body, "said to"));
}

static inline bool
served_is_refused(int port)
{
    struct http_raw h;
    bool opened = http_try_open(&h, port, NULL);

    http_close(&h);
    return !opened;
}

#endif
