/*
 * sign_in.c - a client of a protected server: the user signs in, in a browser
 *
 *     example-sign-in https://mcp.example.com/mcp [TOKENS]
 *
 * The first time a page opens; tokens are kept in the file, if one is named, and renewed by
 * themselves. Lists the tools. Ctrl-C ends it in whatever step it is.
 */
#include <mcp/auth.h>
#include <signal.h>
#include <stdio.h>

static mcp_scope *scope;

static void
on_interrupt(int number)
{
    (void)number;
    /* may be called in a signal handler, NOLINTNEXTLINE(bugprone-signal-handler) */
    mcp_scope_cancel(scope, "interrupted");
}

static void
show_page(void *user, const char *url)
{
    (void)user;
    fprintf(stderr, "If no page opens, go to\n\n    %s\n\n", url);
}

static int
list_tools(const char *url, const mcp_auth_options *auth, mcp_error *err)
{
    const mcp_http_client_options http = MCP_HTTP_CLIENT_OPTIONS(.auth = auth);
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "sign-in",
                                                     .version = "1.0", .scope = scope);
    mcp_client *client = NULL;
    mcp_reply *reply = NULL;
    mcp_json_iterator it;
    int r = mcp_client_connect_http(url, &http, &me, &client, err);

    if (r == 0)
        r = mcp_client_list_tools(client, NULL, NULL, &reply, err);
    if (r == 0)
        for (it = mcp_json_each(mcp_json_get(mcp_reply_result(reply), "tools"));
             mcp_json_next(&it);)
            printf("%s\n", mcp_json_string(mcp_json_get(it.value, "name"), "?"));
    mcp_reply_free(reply);
    mcp_client_free(client);
    return r;
}

int
main(int argc, char **argv)
{
    mcp_auth_browser *browser = NULL;
    mcp_token_keep *keep = NULL;
    mcp_auth_options auth;
    mcp_error err = {0};
    int r;

    if (argc < 2) {
        fprintf(stderr, "usage: %s URL [TOKENS]\n", argv[0]);
        return 2;
    }
    r = mcp_scope_new(NULL, &scope);
    if (r == 0)
        r = mcp_auth_browser_new(&MCP_AUTH_BROWSER_OPTIONS(.on_url = show_page),
                                 &browser, &err);
    if (r == 0 && argc > 2)
        r = mcp_token_keep_file(NULL, argv[2], &keep, &err);
    if (r == 0) {
        auth = MCP_AUTH_OPTIONS(.agent = mcp_auth_browser_interface(browser),
                                .store = keep ? mcp_token_keep_interface(keep) : NULL);
        signal(SIGINT, on_interrupt);
        r = list_tools(argv[1], &auth, &err);
    }
    if (r < 0)
        fprintf(stderr, "%s: %s\n", mcp_status_name(r), err.message);
    mcp_token_keep_free(keep);
    mcp_auth_browser_free(browser);
    signal(SIGINT, SIG_DFL); /* before what its handler uses is gone */
    mcp_scope_free(scope);
    return r < 0;
}
