/* gate.c - how a server is reached: over stdio, or on a port by those who may come */
#include "gate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- who may come --------------------------------------------------------------- */

/* Takes as long for each text of that length: nobody learns the token byte by byte. */
static bool
is_equal(const char *given, const char *expected)
{
    size_t length = strlen(expected);
    unsigned char differ = 0;

    if (strlen(given) != length)
        return false;
    for (size_t i = 0; i < length; i++)
        differ |= (unsigned char)(given[i] ^ expected[i]);
    return differ == 0;
}

static void
identify(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    const struct gate *gate = user;
    const char *given = mcp_http_header(request, "authorization");

    if (given && strncmp(given, "Bearer ", 7) == 0 && is_equal(given + 7, gate->token))
        mcp_http_allow(ticket, "bearer");
    else
        mcp_http_deny(ticket, 401, "Bearer", "a token is needed");
}

/* What the server starts must not find it: neither in its own environment nor in ours,
 * which it can read in /proc. */
bool
gate_init(struct gate *gate, const char *variable)
{
    char *given = getenv(variable);

    *gate = (struct gate){.variable = variable, .http = MCP_HTTP_OPTIONS(0)};
    if (!given)
        return true;
    if (*given) {
        gate->token = strdup(given);
        if (!gate->token)
            return false;
    }
    explicit_bzero(given, strlen(given));
    return unsetenv(variable) == 0;
}

void
gate_done(struct gate *gate)
{
    free(gate->token);
    gate->token = NULL;
}

/* ---- where ---------------------------------------------------------------------- */

/* A name that only begins as such an address is none. */
static bool
is_loopback(const char *host)
{
    return !host || strcmp(host, "localhost") == 0 || strcmp(host, "[::1]") == 0 ||
           strcmp(host, "::1") == 0 ||
           (strncmp(host, "127.", 4) == 0 && !host[strspn(host, "0123456789.")]);
}

bool
gate_read_address(struct gate *gate, char *address)
{
    char *colon = strrchr(address, ':');
    size_t length = colon ? strlen(colon + 1) : 0;

    if (length == 0 || length > 5 || strspn(colon + 1, "0123456789") != length)
        return false;
    gate->http.port = (int)strtol(colon + 1, NULL, 10);
    if (gate->http.port > 65535)
        return false;
    *colon = '\0';
    gate->http.host = *address ? address : NULL;
    gate->is_http = true;
    return true;
}

int
gate_serve(struct gate *gate, mcp_server *server, mcp_error *err)
{
    char url[MCP_HTTP_URL_MAX];
    int r;

    if (!gate->is_http)
        return mcp_server_run_stdio(server, err);
    if (!gate->token && !is_loopback(gate->http.host)) {
        (void)snprintf(err->message, sizeof(err->message),
                       "set %s, or listen on 127.0.0.1", gate->variable);
        return MCP_E_INVAL;
    }
    if (gate->token) {
        gate->http.identify = identify;
        gate->http.identify_user = gate;
    }
    r = mcp_server_listen_http(server, &gate->http, url, err);
    if (r < 0)
        return r;
    printf("listening on %s\n", url);
    fflush(stdout);
    return mcp_server_run(server, &MCP_RUN_OPTIONS(.signals = true), err);
}
