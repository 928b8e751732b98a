/*
 * asking.c - tools that ask back: the user by a form or a page, the model, the roots
 *
 * The same handlers serve clients of both eras: see mcp/ask.h.
 *
 *     build/bin/example-host build/bin/example-asking
 */
#include <stdio.h>

#include <mcp/ask.h>
#include <mcp/server.h>

struct trip {
    const char *city;
    int seat;
    int64_t days;
};

static const mcp_enum_name seats[] = {{"aisle", 0}, {"window", 1}, {0}};

static const mcp_field trip_fields[] = {
    MCP_FIELD(struct trip, city, MCP_STRING, MCP_REQUIRED, "Where to?"),
    MCP_FIELD_WITH(struct trip, seat, MCP_ENUM, 0, "Which seat?", .names = seats,
                   MCP_DEFAULT_STRING("aisle")),
    MCP_FIELD_WITH(struct trip, days, MCP_INT, 0, "For how many days?", MCP_MINIMUM(1),
                   MCP_MAXIMUM(30), MCP_DEFAULT_INT(7)),
    {0},
};

static int
book(mcp_request *req, mcp_result *out, void *user)
{
    struct trip trip;
    int r;

    (void)user;
    r = mcp_request_elicit(
        req, "trip",
        &MCP_ELICIT(.message = "Tell me about your trip", .fields = trip_fields));
    if (r < 0)
        return r; /* it is asked; or cannot be */
    if (mcp_request_action(req, "trip") != MCP_ACCEPTED)
        return mcp_result_fail(out, "The user does not want to travel");
    r = mcp_request_bind_answer(req, "trip", trip_fields, &trip);
    return r < 0 ? r
                 : mcp_result_textf(out, "%s, %s seat, %lld days", trip.city,
                                    seats[trip.seat].name, (long long)trip.days);
}

/* Secrets are never asked for in a form: the user goes to a page instead. */
static int
sign_in(mcp_request *req, mcp_result *out, void *user)
{
    int r;

    (void)user;
    r = mcp_request_elicit(
        req, "page",
        &MCP_ELICIT(.message = "Please sign in", .url = "https://example.com/sign-in"));
    if (r < 0)
        return r;
    return mcp_request_action(req, "page") == MCP_ACCEPTED
               ? mcp_result_text(out, "welcome")
               : mcp_result_fail(out, "not signed in");
}

/* What the client's model says of the client's roots; two questions at once. */
static int
summarize(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_sample question = MCP_SAMPLE(.text = "Say hello to the user",
                                           .system_prompt = "Be brief",
                                           .max_tokens = 100);
    const mcp_json *summary, *roots;
    int r;

    (void)user;
    mcp_request_sample(req, "summary", &question);
    r = mcp_request_roots(req, "roots"); /* tells of both */
    if (r < 0)
        return r;
    summary = mcp_json_get(mcp_request_answer(req, "summary"), "content");
    roots = mcp_json_get(mcp_request_answer(req, "roots"), "roots");
    return mcp_result_textf(out, "%s (%zu roots)",
                            mcp_json_string(mcp_json_get(summary, "text"), ""),
                            mcp_json_count(roots));
}

int
main(void)
{
    const mcp_tool tools[] = {MCP_TOOL(.name = "book", .reply = book),
                              MCP_TOOL(.name = "sign_in", .reply = sign_in),
                              MCP_TOOL(.name = "summarize", .reply = summarize)};
    mcp_server *server = NULL;
    mcp_error err = {0};
    int r;

    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "asking", .version = "1.0"), &server,
                       &err);
    for (size_t i = 0; r == 0 && i < sizeof(tools) / sizeof(tools[0]); i++)
        r = mcp_server_add_tool(server, &tools[i], &err);
    if (r == 0)
        r = mcp_server_run_stdio(server, &err);
    if (r < 0)
        fprintf(stderr, "asking: %s\n", err.message);
    mcp_server_free(server);
    return r < 0;
}
