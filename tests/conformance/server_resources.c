/* server_resources.c - everything-server: what can be read */
#include "everything.h"

const unsigned char pixel_png[PIXEL_BYTES] = {
    0x89, 'P',  'N',  'G',  0x0d, 0x0a, 0x1a, 0x0a, 0,    0,    0,    0x0d, 'I', 'H',
    'D',  'R',  0,    0,    0,    1,    0,    0,    0,    1,    8,    2,    0,   0,
    0,    0x90, 0x77, 0x53, 0xde, 0,    0,    0,    0x0c, 'I',  'D',  'A',  'T', 0x78,
    0xda, 0x63, 0xf8, 0xcf, 0xc0, 0,    0,    3,    1,    1,    0,    0xf7, 3,   0x41,
    0x43, 0,    0,    0,    0,    'I',  'E',  'N',  'D',  0xae, 0x42, 0x60, 0x82};

/* The id is the client's to choose: a builder writes it as JSON, whatever it is. */
static int
read_record(mcp_request *req, mcp_result *out, void *user)
{
    mcp_builder *b = mcp_builder_new(NULL);
    const char *id = mcp_request_argument(req, "id");
    int r;

    (void)user;
    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "id", id ? id : "");
    mcp_builder_bool(b, "templateTest", true);
    mcp_builder_end(b);
    r = mcp_builder_status(b);
    if (r == 0)
        r = mcp_result_text(out, mcp_builder_text(b, NULL));
    mcp_builder_free(b);
    return r;
}

int
add_resources(mcp_server *server, mcp_error *err)
{
    const mcp_resource resources[] = {
        MCP_RESOURCE(.uri = "test://static-text", .name = "static-text",
                     .description = "A text that never changes",
                     .mime_type = "text/plain",
                     .text = "This is the content of the static text resource."),
        MCP_RESOURCE(.uri = "test://static-binary", .name = "static-binary",
                     .description = "A picture that never changes",
                     .mime_type = "image/png", .data = pixel_png,
                     .data_length = sizeof(pixel_png)),
        MCP_RESOURCE(.uri = "test://watched-resource", .name = "watched-resource",
                     .description = "A resource to subscribe to",
                     .mime_type = "text/plain", .text = "Nothing has changed yet."),
    };
    const mcp_template record = MCP_TEMPLATE(
            .uri_template = "test://template/{id}/data", .name = "template-data",
            .description = "What is known of an id", .mime_type = "application/json",
            .reply = read_record);
    int r = mcp_server_add_template(server, &record, err);

    for (size_t i = 0; r == 0 && i < sizeof(resources) / sizeof(resources[0]); i++)
        r = mcp_server_add_resource(server, &resources[i], err);
    return r;
}
