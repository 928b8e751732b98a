/*
 * methods.c - methods of a program's own, on both sides, in one process
 *
 *     build/bin/example-methods
 */
#include <semaphore.h>
#include <stdio.h>

#include <mcp/ask.h>
#include <mcp/client.h>
#include <mcp/server.h>

struct stock {
    const char *of;
    int64_t left;
};

static const mcp_field stock_fields[] = {
    MCP_FIELD(struct stock, of, MCP_STRING, MCP_REQUIRED, "what it is"),
    MCP_FIELD(struct stock, left, MCP_INT, 0, "how much of it there is"),
    {0},
};

/* A request: the params are checked by then, and the result is an object. */
static int
look_up(mcp_request *req, mcp_result *out, void *user)
{
    struct stock stock;
    int r = mcp_request_bind(req, &stock);

    (void)user;
    if (r == 0)
        r = mcp_request_notify(req, "shop/looking", "{\"shelf\":3}");
    stock.left = 12;
    return r < 0 ? r : mcp_result_struct(out, &stock);
}

/* A notification, on the loop. */
static void
greet(const char *method, const mcp_json *params, void *user)
{
    (void)method, (void)user;
    printf("hello, %s\n", mcp_json_string(mcp_json_get(params, "name"), "stranger"));
}

static int
add_methods(mcp_server *server, mcp_error *err)
{
    int r;

    r = mcp_server_add_method(server,
                              &MCP_METHOD(.name = "shop/stock", .run = look_up,
                                          .fields = stock_fields,
                                          .result_fields = stock_fields),
                              err);
    if (r == 0)
        r = mcp_server_add_method(
            server, &MCP_METHOD(.name = "shop/hello", .told = greet), err);
    return r;
}

/* What the server says of its own while it looks; on a worker, beside the call. */
static void
wait_a_moment(const char *method, const mcp_json *params, void *user)
{
    (void)method;
    printf("at shelf %d\n", (int)mcp_json_int(mcp_json_get(params, "shelf"), 0));
    sem_post(user);
}

/* What it may ask, until 2025-11-25: mcp_request_call(req, "shop/budget", ...). */
static int
budget(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_json(out, "{\"most\":20}", 11);
}

static int
go_shopping(mcp_client *client, mcp_error *err)
{
    mcp_reply *reply = NULL;
    const mcp_json *left;
    int r;

    r = mcp_client_notify(client, "shop/hello", "{\"name\":\"Ada\"}");
    if (r == 0)
        r = mcp_client_call(client, "shop/stock", "{\"of\":\"tea\"}", NULL, &reply,
                            err);
    left = mcp_json_get(mcp_reply_result(reply), "left");
    if (r == 0)
        printf("tea: %d\n", (int)mcp_json_int(left, 0));
    mcp_reply_free(reply);
    return r;
}

int
main(void)
{
    sem_t told;
    const mcp_method looking = MCP_METHOD(.name = "shop/looking", .told = wait_a_moment,
                                          .user = &told);
    const mcp_method asked = MCP_METHOD(.name = "shop/budget", .reply = budget);
    const mcp_method *const methods[] = {&looking, &asked, NULL};
    mcp_server *server = NULL;
    mcp_client *client = NULL;
    mcp_error err = {0};
    int r;

    sem_init(&told, 0, 0);
    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "shop", .version = "1.0"), &server,
                       &err);
    if (r == 0)
        r = add_methods(server, &err);
    if (r == 0)
        r = mcp_server_start(server, &err);
    if (r == 0)
        r = mcp_client_attach_server(server,
                                     &MCP_CLIENT_OPTIONS(.name = "shopper",
                                                         .version = "1.0",
                                                         .methods = methods),
                                     &client, &err);
    if (r == 0)
        r = go_shopping(client, &err);
    if (r == 0)
        sem_wait(&told);
    if (r < 0)
        fprintf(stderr, "methods: %s\n", err.message);
    mcp_client_free(client);
    mcp_server_free(server);
    sem_destroy(&told);
    return r < 0;
}
