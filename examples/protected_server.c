/*
 * protected_server.c - a server that lets in whom an authorization server vouches for
 *
 *     make && build/bin/example-protected-server https://mcp.example.com/mcp \
 *         https://issuer.example.com 8080
 *
 * Clients know it by the first URL, which a proxy with a certificate has; tokens are of
 * that issuer. Who has none is told where to get one. Everybody may look; to write takes
 * a scope of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/auth.h>

static const char *
needs(void *user, const char *method, const char *name)
{
    (void)user;
    if (strcmp(method, "tools/call") == 0 && strcmp(name, "write") == 0)
        return "notes:write";
    return NULL;
}

static int
make_guard(const char *resource, const char *issuer, mcp_guard **ret_guard,
           mcp_error *err)
{
    static const char *const scopes[] = {"notes:read", "notes:write", NULL};
    static const char *const implies[] = {"notes:write notes:read", NULL};
    const char *const issuers[] = {issuer, NULL};

    return mcp_guard_new(&MCP_GUARD_OPTIONS(.resource = resource, .issuers = issuers,
                                            .scopes = scopes, .scope = "notes:read",
                                            .implies = implies, .needs = needs),
                         ret_guard, err);
}

static int
whoami(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *claims = mcp_request_claims(req);

    (void)user;
    return mcp_result_textf(out, "%s, known as %s, may: %s",
                            mcp_json_string(mcp_json_get(claims, "name"), "somebody"),
                            mcp_request_principal(req), mcp_request_scope(req));
}

static int
write_note(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_text(out, "written");
}

static int
serve(mcp_server *server, mcp_guard *guard, int port, mcp_error *err)
{
    char url[MCP_HTTP_URL_MAX];
    int r;

    r = mcp_server_add_tool(server, &MCP_TOOL(.name = "whoami", .reply = whoami), err);
    if (r == 0)
        r = mcp_server_add_tool(server, &MCP_TOOL(.name = "write", .reply = write_note),
                                err);
    if (r == 0)
        r = mcp_server_listen_http(
            server, &MCP_HTTP_OPTIONS(.port = port, .guard = guard), url, err);
    if (r < 0)
        return r;
    printf("%s\n", url);
    fflush(stdout);
    return mcp_server_run(server, &MCP_RUN_OPTIONS(.signals = true), err);
}

int
main(int argc, char **argv)
{
    mcp_guard *guard = NULL;
    mcp_server *server = NULL;
    mcp_error err = {0};
    int r = MCP_E_INVAL;

    if (argc > 3)
        r = make_guard(argv[1], argv[2], &guard, &err);
    if (r == 0)
        r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "notes", .version = "1.0"),
                           &server, &err);
    if (r == 0)
        r = serve(server, guard, (int)strtol(argv[3], NULL, 10), &err);
    if (r < 0)
        fprintf(stderr, "protected-server: %s\n",
                err.message[0] ? err.message : "resource, issuer and port are needed");
    mcp_server_free(server);
    mcp_guard_free(guard); /* which outlives its servers */
    return r < 0;
}
