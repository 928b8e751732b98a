/* doctor_message.c - messages that the doctor writes by hand, and reads */
#include "cli/doctor.h"

#define META "io.modelcontextprotocol/"
#define CLIENT "{\"name\":\"mcpctl\",\"version\":\"%s\"}"

void
cli_message_request(struct cli_text *into, int id, const char *method,
                    const char *version, const char *members)
{
    cli_text_printf(into, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"%s\"", id,
                    method);
    if (version || members)
        cli_text_puts(into, ",\"params\":{");
    if (members)
        cli_text_puts(into, members);
    if (version)
        cli_text_printf(into,
                        "%s\"_meta\":{\"" META "protocolVersion\":\"%s\",\"" META
                        "clientInfo\":" CLIENT ",\"" META "clientCapabilities\":{}}",
                        members ? "," : "", version, mcp_version());
    cli_text_puts(into, version || members ? "}}" : "}");
}

void
cli_message_initialize(struct cli_text *into, int id)
{
    struct cli_text members = {0};

    cli_text_printf(&members,
                    "\"protocolVersion\":\"" CLI_LEGACY
                    "\",\"capabilities\":{},\"clientInfo\":" CLIENT,
                    mcp_version());
    cli_message_request(into, id, "initialize", NULL, cli_text_string(&members));
    cli_text_done(&members);
}

static bool
is_message(const mcp_json *value)
{
    return mcp_json_is_string(mcp_json_get(value, "jsonrpc"), "2.0") &&
           (mcp_json_get(value, "method") || mcp_json_get(value, "result") ||
            mcp_json_get(value, "error"));
}

bool
cli_message_is(const mcp_json *value)
{
    mcp_json_iterator it;

    if (mcp_json_get_type(value) != MCP_JSON_ARRAY)
        return is_message(value);
    for (it = mcp_json_each(value); mcp_json_next(&it);)
        if (!is_message(it.value))
            return false;
    return mcp_json_count(value) > 0;
}

bool
cli_message_answers(const mcp_json *value, int id)
{
    return is_message(value) && !mcp_json_get(value, "method") &&
           mcp_json_int(mcp_json_get(value, "id"), -1) == id;
}

int64_t
cli_message_error(const mcp_json *value)
{
    return mcp_json_int(mcp_json_get(mcp_json_get(value, "error"), "code"), 0);
}
