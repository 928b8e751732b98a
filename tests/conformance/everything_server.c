/*
 * everything_server.c - the server that the official conformance suite is run against
 *
 *     everything-server --http HOST:PORT ...
 *
 * serves clients of both eras at /mcp. Its URL is the first line on stdout; the other
 * options are those of probe-server (examples/probe_server.c). Some scenarios need an
 * option, or cannot pass with one:
 *
 *   server-sse-polling   needs --resume
 *   --json               no progress, and for 2025-11-25 no log messages and no questions
 *   --stateless          for 2025-11-25 no questions, no subscriptions, no session
 */
#include <stdio.h>

#include "everything.h"
#include "probe.h"

static void
print_log(void *user, enum mcp_log_level level, const char *line)
{
    (void)user, (void)level;
    fprintf(stderr, "everything-server: %s\n", line);
}

static int
serve(struct probe_http *http, mcp_server **ret_server, mcp_error *err)
{
    int r;

    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "everything-server",
                                           .version = "1.0", .on_log = print_log),
                       ret_server, err);
    if (r == 0)
        r = add_tools(*ret_server, err);
    if (r == 0)
        r = add_asking_tools(*ret_server, err);
    if (r == 0)
        r = add_resources(*ret_server, err);
    if (r == 0)
        r = add_prompts(*ret_server, err);
    return r < 0 ? r : probe_serve_http(*ret_server, http, err);
}

int
main(int argc, char **argv)
{
    struct probe_http http = {.options = {.size = sizeof(http.options)}};
    mcp_server *server = NULL;
    mcp_error err = {0};
    int r;

    if (!probe_read_http(argc - 1, argv + 1, &http)) {
        fprintf(stderr, "usage: everything-server --http HOST:PORT ...\n"
                        "       --json --stateless --threads N --tls CERT KEY\n"
                        "       --resume --sse --bearer --origin ORIGIN --ping MS\n");
        return 2;
    }
    r = serve(&http, &server, &err);
    if (r < 0)
        fprintf(stderr, "everything-server: %s\n", err.message);
    mcp_server_free(server);
    probe_http_done(&http);
    return r < 0;
}
