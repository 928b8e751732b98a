/* server_tools.c - everything-server: tools that answer by themselves */
#include "everything.h"

#define STEP_MS 50 /* so that what is said on the way arrives one by one */

/* ---- content -------------------------------------------------------------------- */

static const unsigned char silence_wav[] = {
    'R', 'I', 'F',  'F',  44, 0,    0,    0,    'W',  'A',  'V',  'E',  'f',
    'm', 't', ' ',  16,   0,  0,    0,    1,    0,    1,    0,    0x40, 0x1f,
    0,   0,   0x40, 0x1f, 0,  0,    1,    0,    8,    0,    'd',  'a',  't',
    'a', 8,   0,    0,    0,  0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80};

static int
simple_text(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_text(out, "This is a simple text response for testing.");
}

static int
image_content(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_image(out, pixel_png, sizeof(pixel_png), "image/png");
}

static int
audio_content(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_audio(out, silence_wav, sizeof(silence_wav), "audio/wav");
}

static int
embedded_resource(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_resource_text(out, "test://embedded-resource", "text/plain",
                                    "This is an embedded resource content.");
}

static int
mixed_content(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    mcp_result_text(out, "Multiple content types test:");
    mcp_result_image(out, pixel_png, sizeof(pixel_png), "image/png");
    return mcp_result_resource_text(out, "test://mixed-content-resource",
                                    "application/json",
                                    "{\"test\":\"data\",\"value\":123}");
}

static int
error_handling(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_fail(out, "This tool intentionally returns an error for testing");
}

/* ---- said on the way ------------------------------------------------------------ */

static int
with_progress(mcp_request *req, mcp_result *out, void *user)
{
    int r = 0;

    (void)user;
    for (int percent = 0; r == 0 && percent <= 100; percent += 50) {
        r = mcp_request_progress(req, percent, 100, NULL);
        if (r == 0)
            r = mcp_request_sleep(req, STEP_MS);
    }
    return r < 0 ? r : mcp_result_text(out, "Progress reported");
}

static int
with_logging(mcp_request *req, mcp_result *out, void *user)
{
    static const char *const lines[] = {
        "Tool execution started", "Tool processing data", "Tool execution completed"};
    int r = 0;

    (void)user;
    for (size_t i = 0; r == 0 && i < sizeof(lines) / sizeof(lines[0]); i++) {
        r = mcp_request_log(req, MCP_SEVERITY_INFO, NULL, "%s", lines[i]);
        if (r == 0)
            r = mcp_request_sleep(req, STEP_MS);
    }
    return r < 0 ? r : mcp_result_text(out, "Tool with logging executed");
}

/* Let the client go, where it can come back for the result (SEP-1699). */
static int
reconnection(mcp_request *req, mcp_result *out, void *user)
{
    int r;

    (void)user;
    (void)mcp_request_detach(req);
    r = mcp_request_sleep(req, 2 * STEP_MS);
    return r < 0 ? r : mcp_result_text(out, "Reconnection test completed");
}

/* ---- lists that change ---------------------------------------------------------- */

/* What comes and goes; how it looks does not matter. */
static const char changing_name[] = "test_changing";

static int
trigger_tool_change(mcp_request *req, mcp_result *out, void *user)
{
    mcp_server *server = mcp_request_server(req);
    const mcp_tool changing = MCP_TOOL(.name = changing_name, .reply = simple_text,
                                       .description = "A tool that comes and goes");
    int r = mcp_server_remove_tool(server, changing_name);

    (void)user;
    if (r < 0)
        r = mcp_server_add_tool(server, &changing, NULL);
    return r < 0 ? r : mcp_result_text(out, "The list of tools has changed");
}

static int
trigger_prompt_change(mcp_request *req, mcp_result *out, void *user)
{
    mcp_server *server = mcp_request_server(req);
    const mcp_prompt changing = MCP_PROMPT(
            .name = changing_name, .reply = simple_text,
            .description = "A prompt that comes and goes");
    int r = mcp_server_remove_prompt(server, changing_name);

    (void)user;
    if (r < 0)
        r = mcp_server_add_prompt(server, &changing, NULL);
    return r < 0 ? r : mcp_result_text(out, "The list of prompts has changed");
}

/* ---- schemas -------------------------------------------------------------------- */

struct header_args {
    const char *region;
    int64_t level;
};

static const mcp_field header_fields[] = {
    MCP_FIELD_WITH(struct header_args, region, MCP_STRING, 0, "also in a header",
                   .header = "Region"),
    MCP_FIELD(struct header_args, level, MCP_INT, 0, "only in the body"),
    {0},
};

static int
mirrored_header(mcp_request *req, mcp_result *out, void *user)
{
    struct header_args args;
    int r = mcp_request_bind(req, &args);

    (void)user;
    return r < 0 ? r
                 : mcp_result_textf(out, "region %s, level %lld",
                                    args.region ? args.region : "unknown",
                                    (long long)args.level);
}

static const char full_schema[] =
    "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\","
    "\"type\":\"object\","
    "\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\","
    "\"properties\":{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}}"
    ","
    "\"properties\":{\"name\":{\"type\":\"string\"},"
    "\"address\":{\"$ref\":\"#/$defs/address\"},"
    "\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"
    "\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"
    "\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"
    "\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"
    "\"required\":[\"contactMethod\"]},"
    "\"then\":{\"required\":[\"phone\"]},"
    "\"else\":{\"required\":[\"email\"]},"
    "\"additionalProperties\":false}";

/* ---- all of them ---------------------------------------------------------------- */

int
add_tools(mcp_server *server, mcp_error *err)
{
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "test_simple_text", .description = "Answers with a text",
                 .reply = simple_text),
        MCP_TOOL(.name = "test_image_content", .description = "Answers with a picture",
                 .reply = image_content),
        MCP_TOOL(.name = "test_audio_content", .description = "Answers with a sound",
                 .reply = audio_content),
        MCP_TOOL(.name = "test_embedded_resource",
                 .description = "Answers with a resource", .reply = embedded_resource),
        MCP_TOOL(.name = "test_multiple_content_types",
                 .description = "Answers with a text, a picture and a resource",
                 .reply = mixed_content),
        MCP_TOOL(.name = "test_error_handling", .description = "Fails at its job",
                 .reply = error_handling),
        MCP_TOOL(.name = "test_tool_with_progress", .description = "Reports progress",
                 .run = with_progress),
        MCP_TOOL(.name = "test_tool_with_logging", .description = "Sends log messages",
                 .run = with_logging),
        MCP_TOOL(.name = "test_logging_tool",
                 .description = "Sends log messages to who wants them",
                 .run = with_logging),
        MCP_TOOL(.name = "test_reconnection",
                 .description = "Lets the client go and come back for the result",
                 .run = reconnection),
        MCP_TOOL(.name = "test_trigger_tool_change",
                 .description = "Changes the list of tools",
                 .reply = trigger_tool_change),
        MCP_TOOL(.name = "test_trigger_prompt_change",
                 .description = "Changes the list of prompts",
                 .reply = trigger_prompt_change),
        MCP_TOOL(.name = "test_x_mcp_header",
                 .description = "Has an argument that also stands in a header",
                 .fields = header_fields, .reply = mirrored_header),
        MCP_TOOL(.name = "json_schema_2020_12_tool",
                 .description = "Has a schema with most keywords",
                 .input_schema = full_schema, .reply = simple_text),
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(tools) / sizeof(tools[0]); i++)
        r = mcp_server_add_tool(server, &tools[i], err);
    return r;
}
