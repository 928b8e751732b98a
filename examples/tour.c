/*
 * tour.c - the small things of a session, with client and server in one process
 *
 *     build/bin/example-tour
 */
#include <stdio.h>

#include <mcp/ask.h>
#include <mcp/client.h>
#include <mcp/server.h>

/* What the two sides have agreed on. */
static void
print_agreement(mcp_client *client)
{
    const mcp_json *can = mcp_client_server_capabilities(client);

    printf("protocol %s\n", mcp_client_version(client));
    printf("prompts: %s\n", mcp_json_get(can, "prompts") ? "yes" : "no");
    printf("how to use it: %s\n", mcp_client_instructions(client));
}

/* A prompt with its arguments; the messages are ready to be shown to a model. */
static int
print_prompt(mcp_client *client, mcp_error *err)
{
    mcp_reply *reply = NULL;
    const mcp_json *first;
    int r;

    r = mcp_client_get_prompt(client, "greet", "{\"name\":\"Ada\"}", NULL, &reply, err);
    first = mcp_json_at(mcp_reply_items(reply), 0);
    if (r == 0)
        printf(
            "prompt: %s\n",
            mcp_json_string(mcp_json_get(mcp_json_get(first, "content"), "text"), ""));
    mcp_reply_free(reply);
    return r;
}

/* From now on other log messages, and other roots. */
static int
change_mind(mcp_client *client, mcp_error *err)
{
    const mcp_root roots[] = {{.uri = "file:///tmp"}, {0}};
    int r;

    r = mcp_client_set_messages(client, MCP_SEVERITY_ERROR, NULL, err);
    if (r == 0)
        r = mcp_client_set_roots(client, roots); /* a legacy server is told */
    return r;
}

static int
greet(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    return mcp_result_textf(out, "Greet %s", mcp_request_argument(req, "name"));
}

static int
serve(mcp_server **server, mcp_error *err)
{
    static const mcp_prompt_argument arguments[] = {{.name = "name", .required = true},
                                                    {0}};
    int r;

    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "guide", .version = "1.0",
                                           .instructions = "Greet people."),
                       server, err);
    if (r == 0)
        r = mcp_server_add_prompt(
            *server,
            &MCP_PROMPT(.name = "greet", .arguments = arguments, .reply = greet), err);
    return r < 0 ? r : mcp_server_start(*server, err);
}

int
main(void)
{
    const mcp_root roots[] = {{.uri = "file:///project", .name = "home"}, {0}};
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "tourist",
                                                     .version = "1.0",
                                                     .root_list = roots);
    mcp_server *server = NULL;
    mcp_client *client = NULL;
    mcp_error err = {0};
    int r;

    r = serve(&server, &err);
    if (r == 0)
        r = mcp_client_attach_server(server, &me, &client, &err);
    if (r == 0) {
        print_agreement(client);
        r = mcp_client_ping(client, NULL, &err);
    }
    if (r == 0)
        r = print_prompt(client, &err);
    if (r == 0)
        r = change_mind(client, &err);
    /* Somewhere else, a user has signed in: the client that was asked is told. */
    if (r == 0 && mcp_server_elicitation_complete(server, "no such id") != MCP_E_INVAL)
        r = MCP_E_STATE;
    if (r < 0)
        fprintf(stderr, "tour: %s\n", err.message);
    mcp_client_free(client);
    mcp_server_free(server);
    return r < 0;
}
