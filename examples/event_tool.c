/*
 * event_tool.c - a tool without a thread: it waits for an event, and a cancel ends that
 *
 * `wait_for` answers with what is next written into a FIFO; any number of calls may wait.
 * Its handler runs on the loop and returns at once; events finish the request later.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <mcp/server.h>

struct wait {
    const char *fifo; /* the argument */
    mcp_request *req;
    mcp_watch *watch;
    int fd;
};

static const mcp_field wait_fields[] = {
    MCP_FIELD(struct wait, fifo, MCP_STRING, MCP_REQUIRED, "path of a FIFO"),
    {0},
};

/* The one way out: everything is given back, then the request is over. */
static void
wait_end(struct wait *wait, int status)
{
    mcp_request *req = wait->req;

    mcp_watch_free(wait->watch);
    close(wait->fd);
    free(wait);
    mcp_request_finish(req, status);
}

static void
wait_readable(void *user, unsigned events)
{
    struct wait *wait = user;
    char text[512];
    ssize_t n = read(wait->fd, text, sizeof(text));

    (void)events;
    if (n > 0)
        wait_end(wait,
                 mcp_result_text_n(mcp_request_result(wait->req), text, (size_t)n));
}

static void
wait_canceled(void *user)
{
    wait_end(user, MCP_E_CANCELED);
}

static int
wait_for(mcp_request *req, mcp_result *out, void *user)
{
    struct wait *wait = calloc(1, sizeof(*wait));
    int r = wait ? mcp_request_bind(req, wait) : MCP_E_NOMEM;

    (void)user;
    if (r < 0) {
        free(wait);
        return r;
    }
    wait->req = req;
    wait->fd = open(wait->fifo, O_RDWR | O_NONBLOCK | O_CLOEXEC);
    r = mcp_watch_new(mcp_request_loop(req), wait->fd, MCP_READABLE, wait_readable,
                      wait, &wait->watch);
    if (r == 0)
        r = mcp_request_on_cancel(req, wait_canceled, wait, NULL);
    if (r < 0)
        wait_end(wait, mcp_result_fail(out, "cannot watch %s", wait->fifo));
    return 0; /* begun, and perhaps over already */
}

int
main(void)
{
    mcp_server *server = NULL;
    mcp_error err;
    int r;

    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "fifo", .version = "1.0"), &server,
                       &err);
    if (r == 0)
        r = mcp_server_add_tool(
            server,
            &MCP_TOOL(.name = "wait_for", .fields = wait_fields, .start = wait_for),
            &err);
    if (r == 0)
        r = mcp_server_run_stdio(server, &err);
    if (r < 0)
        fprintf(stderr, "fifo: %s\n", err.message);
    mcp_server_free(server);
    return r < 0;
}
