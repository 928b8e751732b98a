/*
 * own_loop.c - a client inside a program that has its own event loop
 *
 *     build/bin/example-own-loop build/bin/probe-server
 *
 * The program's loop is poll(2) here: it watches the library's descriptor beside its own
 * ones, and steps when that is readable or when the timeout has passed. Everything runs
 * on this one thread, callbacks too.
 */
#include <poll.h>
#include <stdio.h>

#include <mcp/client.h>

static bool finished;

static void
on_progress(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    (void)call, (void)message, (void)user;
    printf("%g of %g\n", progress, total);
}

static void
on_done(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    (void)call, (void)user;
    printf("%s: %s\n", mcp_status_text(status), mcp_reply_text(reply));
    finished = true;
}

static void
on_state(mcp_client *client, int status, void *user)
{
    (void)user;
    if (status == 0)
        printf("connected, protocol %s\n", mcp_client_version(client));
    else
        finished = true;
}

static void
run(mcp_loop *loop)
{
    struct pollfd fds[1] = {{.fd = mcp_loop_fd(loop), .events = POLLIN}};

    mcp_loop_step(loop);
    while (!finished) {
        poll(fds, 1, mcp_loop_timeout_ms(loop)); /* and the program's own descriptors */
        mcp_loop_step(loop);
    }
}

int
main(int argc, char **argv)
{
    const mcp_call_options options = MCP_CALL_OPTIONS(.on_progress = on_progress);
    mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "poller", .version = "1.0",
                                               .no_wait = true, .on_state = on_state,
                                               .callbacks_on_loop = true);
    mcp_client *client = NULL;
    mcp_error err = {0};
    int r;

    if (argc < 2) {
        fprintf(stderr, "usage: %s SERVER [ARGUMENT...]\n", argv[0]);
        return 2;
    }
    r = mcp_loop_new(NULL, &me.loop, &err);
    if (r == 0)
        r = mcp_client_spawn((const char *const *)(argv + 1), &me, &client, &err);
    if (r == 0) /* waits in line until the server is ready */
        r = mcp_client_start_tool(client, "count", "{\"to\":5,\"delay_ms\":200}",
                                  &options, on_done, NULL, NULL);
    if (r == 0)
        run(me.loop);
    else
        fprintf(stderr, "%s: %s\n", mcp_status_name(r), err.message);
    mcp_client_free(client);
    mcp_loop_free(me.loop); /* runs until the server's process is gone */
    return r < 0;
}
