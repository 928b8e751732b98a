/*
 * http_server.c - the server that bench-http measures
 *
 * `echo` answers on the loop. `hang` waits for its cancel: with a progress token it
 * says one word first, which opens its stream; with `report` it writes to stdout, as 8
 * bytes, zero when it begins and the time when its cancel hook runs.
 */
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include <mcp/http.h>

/* More than the open streams that are measured. */
enum { STREAMS = 32768 };

struct echo_args {
    const char *text;
};

static const mcp_field echo_fields[] = {
    MCP_FIELD(struct echo_args, text, MCP_STRING, MCP_REQUIRED, "what to say"),
    {0},
};

static int
echo(mcp_request *req, mcp_result *out, void *user)
{
    struct echo_args args;
    int r = mcp_request_bind(req, &args);

    (void)user;
    return r < 0 ? r : mcp_result_text(out, args.text);
}

struct hang_args {
    bool report;
};

static const mcp_field hang_fields[] = {
    MCP_FIELD(struct hang_args, report, MCP_BOOL, 0, "say when it is canceled"),
    {0},
};

static void
time_report(const struct timespec *t)
{
    int64_t ns = (int64_t)t->tv_sec * 1000000000 + t->tv_nsec;

    if (write(STDOUT_FILENO, &ns, sizeof(ns)) != sizeof(ns))
        perror("bench-http-server");
}

static void
hang_end(void *user)
{
    mcp_request_finish(user, MCP_E_CANCELED);
}

static void
hang_report(void *user)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    time_report(&now);
    hang_end(user);
}

static int
hang(mcp_request *req, mcp_result *out, void *user)
{
    const struct timespec never = {0};
    struct hang_args args;
    int r = mcp_request_bind(req, &args);

    (void)out, (void)user;
    if (r == 0)
        r = mcp_request_progress(req, 1, 2, NULL);
    if (r == 0)
        r = mcp_request_on_cancel(req, args.report ? hang_report : hang_end, req, NULL);
    if (r == 0 && args.report)
        time_report(&never);
    return r;
}

int
main(void)
{
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "echo", .fields = echo_fields, .reply = echo),
        MCP_TOOL(.name = "hang", .fields = hang_fields, .start = hang),
    };
    char url[MCP_HTTP_URL_MAX];
    mcp_server *server = NULL;
    mcp_error err = {0};
    int r;

    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "bench-http-server",
                                           .version = "1.0", .in_flight = STREAMS,
                                           .listeners = STREAMS),
                       &server, &err);
    for (size_t i = 0; r == 0 && i < sizeof(tools) / sizeof(tools[0]); i++)
        r = mcp_server_add_tool(server, &tools[i], &err);
    if (r == 0)
        r = mcp_server_listen_http(
            server,
            &MCP_HTTP_OPTIONS(.connections = STREAMS, .session_streams = STREAMS,
                              .proxied = true), /* all streams are one client's */
            url, &err);
    if (r == 0) {
        printf("%s\n", url);
        fflush(stdout);
        r = mcp_server_run(server, &MCP_RUN_OPTIONS(.signals = true), &err);
    }
    if (r < 0)
        fprintf(stderr, "bench-http-server: %s\n", err.message);
    mcp_server_free(server);
    return r < 0;
}
