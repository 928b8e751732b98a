/*
 * http_client.c - a server at a URL: its tools, and a call of one, which Ctrl-C cancels
 *
 *     build/bin/example-http-client http://127.0.0.1:8080/mcp
 *     TOKEN=... build/bin/example-http-client URL remember '{"text":"milk"}'
 *
 * The cancel is the server's as well: in 2026-07-28 the response to that one call is
 * closed, before that a cancel is posted. The client lives on, and could ask for more.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <mcp/http.h>

static mcp_scope *scope;

static void
on_interrupt(int number)
{
    (void)number;
    /* may be called in a signal handler, NOLINTNEXTLINE(bugprone-signal-handler) */
    mcp_scope_cancel(scope, "Ctrl-C");
}

static int
open_client(const char *url, mcp_client **ret_client, mcp_error *err)
{
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "caller", .version = "1.0",
                                                     .scope = scope);
    const char *token = getenv("TOKEN");
    const char *headers[2] = {NULL, NULL};
    char line[8192]; /* tokens can be long */

    if (token && snprintf(line, sizeof(line), "Authorization: Bearer %s", token) <
                     (int)sizeof(line))
        headers[0] = line;
    return mcp_client_connect_http(url, &MCP_HTTP_CLIENT_OPTIONS(.headers = headers),
                                   &me, ret_client, err);
}

/* All of them, and what the one that is wanted is for; wanted may be NULL. */
static int
list_tools(mcp_client *client, const char *wanted, mcp_error *err)
{
    mcp_reply *tools = NULL;
    const mcp_json *tool;
    mcp_json_iterator it;
    int r;

    r = mcp_client_list_all(client, MCP_LIST_TOOLS, &MCP_CALL_OPTIONS(.scope = scope),
                            &tools, err);
    for (it = mcp_json_each(mcp_reply_items(tools)); mcp_json_next(&it);)
        printf("  %s\n", mcp_json_string(mcp_json_get(it.value, "name"), "?"));
    tool = mcp_json_find(mcp_reply_items(tools), "name", wanted);
    if (tool)
        printf("%s: %s\n", wanted,
               mcp_json_string(mcp_json_get(tool, "description"), "nobody says why"));
    mcp_reply_free(tools);
    return r;
}

/* At most half a minute; whatever ends it sooner, the server is told. */
static int
call_tool(mcp_client *client, const char *name, const char *arguments, mcp_error *err)
{
    const mcp_call_options options = MCP_CALL_OPTIONS(.timeout_ms = 30000,
                                                      .scope = scope);
    mcp_reply *reply = NULL;
    int r;

    r = mcp_client_call_tool(client, name, arguments, &options, &reply, err);
    if (r == 0)
        printf("%s%s\n", mcp_reply_is_error(reply) ? "failed: " : "",
               mcp_reply_text(reply));
    mcp_reply_free(reply);
    return r;
}

int
main(int argc, char **argv)
{
    mcp_client *client = NULL;
    mcp_error err = {0};
    int r;

    if (argc < 2) {
        fprintf(stderr, "usage: %s URL [TOOL [ARGUMENTS]]\n", argv[0]);
        return 2;
    }
    if (mcp_scope_new(NULL, &scope) < 0)
        return 1;
    signal(SIGINT, on_interrupt);
    r = open_client(argv[1], &client, &err);
    if (r == 0) {
        printf("protocol %s\n", mcp_client_version(client));
        r = list_tools(client, argc > 2 ? argv[2] : NULL, &err);
    }
    if (r == 0 && argc > 2)
        r = call_tool(client, argv[2], argc > 3 ? argv[3] : NULL, &err);
    if (r < 0) /* err.http_status is 401, say, if the server wants a token */
        fprintf(stderr, "%s: %s\n", mcp_status_name(r), err.message);
    mcp_client_free(client);
    signal(SIGINT, SIG_DFL); /* before what its handler uses is gone */
    mcp_scope_free(scope);
    return r < 0;
}
