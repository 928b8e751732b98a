/*
 * scope_client.c - many calls, one cancel: Ctrl-C ends all of them, on both sides
 *
 *     build/bin/example-scope build/bin/probe-server
 */
#include <signal.h>
#include <stdio.h>

#include <mcp/client.h>

#define CALLS 8

static mcp_scope *scope;

static void
on_interrupt(int number)
{
    (void)number;
    /* may be called in a signal handler, NOLINTNEXTLINE(bugprone-signal-handler) */
    mcp_scope_cancel(scope, "Ctrl-C");
}

static void
show_progress(mcp_call *call, double progress, double total, const char *message,
              void *user)
{
    (void)message, (void)user;
    printf("call %s: %g of %g\n", mcp_call_id(call), progress, total);
}

/* Calls run at the same time; the scope is in the options of each. */
static int
count_together(mcp_client *client, mcp_error *err)
{
    const mcp_call_options options = MCP_CALL_OPTIONS(.scope = scope,
                                                      .on_progress = show_progress);
    mcp_call *calls[CALLS] = {NULL};
    int r = 0, outcome;

    for (int i = 0; r == 0 && i < CALLS; i++)
        r = mcp_client_start_tool(client, "count", "{\"to\":10,\"delay_ms\":500}",
                                  &options, NULL, NULL, &calls[i]);
    for (int i = 0; i < CALLS && calls[i]; i++) {
        outcome = mcp_call_wait(calls[i], MCP_TIMEOUT_NONE, NULL, err);
        printf("call %s: %s\n", mcp_call_id(calls[i]), mcp_status_text(outcome));
        mcp_call_free(calls[i]);
    }
    return r;
}

int
main(int argc, char **argv)
{
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "counter",
                                                     .version = "1.0");
    mcp_client *client = NULL;
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    int r;

    if (argc < 2) {
        fprintf(stderr, "usage: %s SERVER [ARGUMENT...]\n", argv[0]);
        return 2;
    }
    r = mcp_scope_new(&MCP_SCOPE_OPTIONS(.timeout_ms = 60000), &scope);
    if (r < 0)
        return 1;
    signal(SIGINT, on_interrupt);
    r = mcp_client_spawn((const char *const *)(argv + 1), &me, &client, &err);
    if (r == 0)
        r = count_together(client, &err);
    if (r == 0) /* the session works on; this call is under no scope */
        r = mcp_client_call_tool(client, "stats", NULL, NULL, &reply, &err);
    if (r == 0)
        printf("afterwards: %s\n", mcp_reply_text(reply));
    if (r < 0)
        fprintf(stderr, "%s: %s\n", mcp_status_name(r), err.message);
    mcp_reply_free(reply);
    mcp_client_free(client);
    signal(SIGINT, SIG_DFL); /* before what its handler uses is gone */
    mcp_scope_free(scope);
    return r < 0;
}
