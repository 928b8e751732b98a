/*
 * server.c - a server with three kinds of answers: text, structured output, a failure
 *
 *     make && npx @modelcontextprotocol/inspector build/bin/example-server
 */
#include <stdio.h>
#include <time.h>

#include <mcp/server.h>

struct place {
    const char *zone;
};

static const mcp_field place_fields[] = {
    MCP_FIELD_WITH(struct place, zone, MCP_STRING, 0, "UTC or local",
                   MCP_DEFAULT_STRING("UTC")),
    {0},
};

struct moment {
    int64_t hour, minute, second;
};

static const mcp_field moment_fields[] = {
    MCP_FIELD(struct moment, hour, MCP_INT, MCP_REQUIRED, "0 to 23"),
    MCP_FIELD(struct moment, minute, MCP_INT, MCP_REQUIRED, "0 to 59"),
    MCP_FIELD(struct moment, second, MCP_INT, MCP_REQUIRED, "0 to 60"),
    {0},
};

static int
now(mcp_request *req, mcp_result *out, void *user)
{
    struct place place;
    struct moment moment;
    time_t seconds = time(NULL);
    struct tm tm;
    int r = mcp_request_bind(req, &place);

    (void)user;
    if (r < 0)
        return r;
    if (place.zone[0] == 'U')
        gmtime_r(&seconds, &tm);
    else if (place.zone[0] == 'l')
        localtime_r(&seconds, &tm);
    else
        return mcp_result_fail(out, "I do not know the zone %s; try UTC", place.zone);
    moment.hour = tm.tm_hour;
    moment.minute = tm.tm_min;
    moment.second = tm.tm_sec;
    mcp_result_textf(out, "%02d:%02d:%02d", tm.tm_hour, tm.tm_min, tm.tm_sec);
    return mcp_result_struct(out,
                             &moment); /* for programs; the text is for the model */
}

static void
print_log(void *user, enum mcp_log_level level, const char *line)
{
    (void)user, (void)level;
    fprintf(stderr, "%s\n", line);
}

int
main(void)
{
    const mcp_server_options options = MCP_SERVER_OPTIONS(
            .name = "clock", .version = "1.0", .title = "What time is it?",
            .instructions = "Ask for the time only when you need it.",
            .on_log = print_log);
    const mcp_tool now_tool = MCP_TOOL(.name = "now", .title = "Now",
                                       .description = "The time of day",
                                       .fields = place_fields,
                                       .output_fields = moment_fields, .reply = now,
                                       .hints = MCP_READ_ONLY | MCP_CLOSED_WORLD);
    mcp_server *server = NULL;
    mcp_error err;
    int r;

    r = mcp_server_new(&options, &server, &err);
    if (r == 0)
        r = mcp_server_add_tool(server, &now_tool, &err);
    if (r == 0)
        r = mcp_server_run_stdio(server, &err);
    if (r < 0)
        fprintf(stderr, "clock: %s\n", err.message);
    mcp_server_free(server);
    return r < 0;
}
