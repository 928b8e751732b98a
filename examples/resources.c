/*
 * resources.c - a server with things to read: texts, bytes, templates, and one that changes
 *
 *     build/bin/example-host build/bin/example-resources
 */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include <mcp/server.h>

static atomic_int visits;

/* A resource that is made when it is read. */
static int
counter(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_textf(out, "%d", atomic_load(&visits));
}

/* One of many: the URI has matched the template users://{name}/card. */
static int
card(mcp_request *req, mcp_result *out, void *user)
{
    const char *name = mcp_request_argument(req, "name");

    (void)user;
    if (!name || (strcmp(name, "ada") != 0 && strcmp(name, "alan") != 0))
        return mcp_request_not_found(req); /* the right error code for each era */
    mcp_result_cache(out, 60000, MCP_CACHE_PUBLIC);
    return mcp_result_textf(out, "Name: %s", name);
}

/* What could {name} be? Clients show these while a person types. */
static int
complete_name(mcp_request *req, mcp_result *out, void *user)
{
    static const char *const names[] = {"ada", "alan"};
    const char *typed = mcp_request_complete_value(req);
    int r = 0;

    (void)user;
    for (size_t i = 0; i < 2; i++)
        if (strncmp(names[i], typed, strlen(typed)) == 0)
            r = mcp_result_value(out, names[i]);
    return r;
}

/* A tool that changes what a resource contains: who has subscribed to it is told. */
static int
visit(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    atomic_fetch_add(&visits, 1);
    mcp_server_resource_updated(mcp_request_server(req), "visits://count");
    return mcp_result_text(out, "welcome");
}

static int
add_all(mcp_server *server, mcp_error *err)
{
    const mcp_resource about = MCP_RESOURCE(.uri = "visits://about", .name = "about",
                                            .title = "About", .mime_type = "text/plain",
                                            .text = "Counts visits.", .priority = 0.3);
    const mcp_resource icon = MCP_RESOURCE(.uri = "visits://icon", .name = "icon",
                                           .mime_type = "image/gif", .data = "GIF89a",
                                           .data_length = 6);
    const mcp_resource count = MCP_RESOURCE(.uri = "visits://count", .name = "count",
                                            .mime_type = "text/plain",
                                            .audience = MCP_FOR_USER, .reply = counter);
    const mcp_template cards = MCP_TEMPLATE(.uri_template = "users://{name}/card",
                                            .name = "card", .mime_type = "text/plain",
                                            .run = card,
                                            .complete = {.reply = complete_name});
    int r = mcp_server_add_resource(server, &about, err);

    if (r == 0)
        r = mcp_server_add_resource(server, &icon, err);
    if (r == 0)
        r = mcp_server_add_resource(server, &count, err);
    if (r == 0)
        r = mcp_server_add_template(server, &cards, err);
    if (r == 0)
        r = mcp_server_add_tool(server, &MCP_TOOL(.name = "visit", .reply = visit),
                                err);
    return r;
}

int
main(void)
{
    mcp_server *server = NULL;
    mcp_error err = {0};
    int r;

    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "visits", .version = "1.0",
                                           .list_ttl_ms = 60000,
                                           .list_scope = MCP_CACHE_PUBLIC),
                       &server, &err);
    if (r == 0)
        r = add_all(server, &err);
    if (r == 0)
        r = mcp_server_run_stdio(server, &err);
    if (r < 0)
        fprintf(stderr, "visits: %s\n", err.message);
    mcp_server_free(server);
    return r < 0;
}
