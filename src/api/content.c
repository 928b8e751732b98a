/* content.c - what a handler writes for the model: blocks of content */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/result.h"
#include "base/mem.h"
#include "json/value.h"

#define BLOCK_ROOM 96 /* for what stands around a short text, in one allocation */
#define FORMATTED 512 /* longer texts are formatted on the heap */

/* ---- blocks ------------------------------------------------------------- */

/* Begin a block. False: nothing may be written any more. */
static bool
block_begin(mcp_result *out, size_t room)
{
    struct mcpi_buf *body = &out->answer.body;

    if (out->status < 0)
        return false;
    (void)mcpi_buf_reserve(body, room + BLOCK_ROOM);
    if (out->has_block)
        mcpi_buf_char(body, ',');
    else
        MCPI_BUF_LITERAL(body, "{\"content\":[");
    out->has_block = true;
    out->can_annotate = true;
    return true;
}

/* The value of a member of the block that is open, a string; `what` names it. */
static void
block_string(mcp_result *out, const char *text, size_t len, const char *what)
{
    char why[96];

    if (mcpi_json_write_string(&out->answer.body, text, len) != MCP_E_INVAL)
        return; /* other failures are the buffer's */
    snprintf(why, sizeof(why), "the %s of a content block is not UTF-8", what);
    (void)mcpi_tool_result_fail(out, MCP_E_INVAL, why);
}

/* An optional member; key with its comma, quotes and colon. */
static void
block_member(mcp_result *out, const char *key, const char *text, const char *what)
{
    if (!text)
        return;
    mcpi_buf_text(&out->answer.body, key);
    block_string(out, text, strlen(text), what);
}

static int
block_end(mcp_result *out)
{
    mcpi_buf_char(&out->answer.body, '}');
    return mcpi_tool_result_status(out);
}

int
mcpi_tool_result_text(mcp_result *out, const char *text, size_t len)
{
    if (!block_begin(out, len))
        return out->status;
    MCPI_BUF_LITERAL(&out->answer.body, "{\"type\":\"text\",\"text\":");
    block_string(out, text, len, "text");
    return block_end(out);
}

int
mcp_result_text(mcp_result *out, const char *text)
{
    if (!out || !text)
        return MCP_E_INVAL;
    return mcpi_tool_result_text(out, text, strlen(text));
}

int
mcp_result_text_n(mcp_result *out, const char *text, size_t length)
{
    if (!out || (!text && length > 0))
        return MCP_E_INVAL;
    return mcpi_tool_result_text(out, text ? text : "", length);
}

MCP_PRINTF(2, 0)
static int
write_formatted(mcp_result *out, const char *format, va_list args)
{
    const mcp_allocator *mem = out->answer.body.mem;
    char short_text[FORMATTED];
    char *text = short_text;
    va_list again;
    int len, r;

    va_copy(again, args);
    len = vsnprintf(short_text, sizeof(short_text), format, args);
    if (len >= FORMATTED) {
        text = mcpi_alloc(mem, (size_t)len + 1);
        if (text)
            (void)vsnprintf(text, (size_t)len + 1, format, again);
    }
    va_end(again);
    if (len < 0)
        return mcpi_tool_result_fail(out, MCP_E_INVAL, "a text cannot be formatted");
    if (!text)
        return mcpi_tool_result_fail(out, MCP_E_NOMEM, mcp_status_text(MCP_E_NOMEM));
    r = mcpi_tool_result_text(out, text, (size_t)len);
    if (text != short_text)
        mcpi_free(mem, text);
    return r;
}

int
mcp_result_textf(mcp_result *out, const char *format, ...)
{
    va_list args;
    int r;

    if (!out || !format)
        return MCP_E_INVAL;
    va_start(args, format);
    r = write_formatted(out, format, args);
    va_end(args);
    return r;
}

int
mcp_result_fail(mcp_result *out, const char *format, ...)
{
    va_list args;
    int r;

    if (!out || !format)
        return MCP_E_INVAL;
    out->is_error = true;
    va_start(args, format);
    r = write_formatted(out, format, args);
    va_end(args);
    return r;
}

/* ---- bytes -------------------------------------------------------------- */

static void
base64_three(const unsigned char *in, char *out)
{
    static const char digits[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

    out[0] = digits[in[0] >> 2];
    out[1] = digits[(in[0] & 3) << 4 | in[1] >> 4];
    out[2] = digits[(in[1] & 15) << 2 | in[2] >> 6];
    out[3] = digits[in[2] & 63];
}

/* RFC 4648, section 4: with padding. */
static void
base64_write(struct mcpi_buf *buf, const unsigned char *bytes, size_t len)
{
    size_t whole = len / 3, rest = len % 3;
    unsigned char last[3] = {0};
    char *at;

    if (len > SIZE_MAX / 2) {
        buf->status = MCP_E_LIMIT;
        return;
    }
    at = mcpi_buf_reserve(buf, (whole + 1) * 4);
    if (!at)
        return;
    for (size_t i = 0; i < whole; i++)
        base64_three(bytes + 3 * i, at + 4 * i);
    if (rest > 0) {
        memcpy(last, bytes + 3 * whole, rest);
        base64_three(last, at + 4 * whole);
        memcpy(at + 4 * whole + rest + 1, "==", 3 - rest);
    }
    mcpi_buf_commit(buf, (whole + (rest > 0)) * 4);
}

static int
write_bytes(mcp_result *out, const char *type, const void *bytes, size_t length,
            const char *mime_type)
{
    struct mcpi_buf *body;

    if (!out || (!bytes && length > 0) || !mime_type)
        return MCP_E_INVAL;
    body = &out->answer.body;
    if (!block_begin(out, 0))
        return out->status;
    MCPI_BUF_LITERAL(body, "{\"type\":\"");
    mcpi_buf_text(body, type);
    MCPI_BUF_LITERAL(body, "\",\"data\":\"");
    base64_write(body, bytes, length);
    mcpi_buf_char(body, '"');
    block_member(out, ",\"mimeType\":", mime_type, "MIME type");
    return block_end(out);
}

int
mcp_result_image(mcp_result *out, const void *bytes, size_t length,
                 const char *mime_type)
{
    return write_bytes(out, "image", bytes, length, mime_type);
}

int
mcp_result_audio(mcp_result *out, const void *bytes, size_t length,
                 const char *mime_type)
{
    return write_bytes(out, "audio", bytes, length, mime_type);
}

/* ---- resources ---------------------------------------------------------- */

static void
resource_begin(mcp_result *out, const char *uri, const char *mime_type)
{
    MCPI_BUF_LITERAL(&out->answer.body,
                     "{\"type\":\"resource\",\"resource\":{\"uri\":");
    block_string(out, uri, strlen(uri), "URI");
    block_member(out, ",\"mimeType\":", mime_type, "MIME type");
}

static int
resource_end(mcp_result *out)
{
    mcpi_buf_char(&out->answer.body, '}');
    return block_end(out);
}

int
mcp_result_resource_text(mcp_result *out, const char *uri, const char *mime_type,
                         const char *text)
{
    if (!out || !uri || !text)
        return MCP_E_INVAL;
    if (!block_begin(out, 0))
        return out->status;
    resource_begin(out, uri, mime_type);
    block_member(out, ",\"text\":", text, "text");
    return resource_end(out);
}

int
mcp_result_resource_bytes(mcp_result *out, const char *uri, const char *mime_type,
                          const void *bytes, size_t length)
{
    if (!out || !uri || (!bytes && length > 0))
        return MCP_E_INVAL;
    if (!block_begin(out, 0))
        return out->status;
    resource_begin(out, uri, mime_type);
    MCPI_BUF_LITERAL(&out->answer.body, ",\"blob\":\"");
    base64_write(&out->answer.body, bytes, length);
    mcpi_buf_char(&out->answer.body, '"');
    return resource_end(out);
}

int
mcp_result_resource_link(mcp_result *out, const char *uri, const char *name,
                         const char *title, const char *description,
                         const char *mime_type)
{
    if (!out || !uri || !name)
        return MCP_E_INVAL;
    if (!block_begin(out, 0))
        return out->status;
    MCPI_BUF_LITERAL(&out->answer.body, "{\"type\":\"resource_link\",\"uri\":");
    block_string(out, uri, strlen(uri), "URI");
    block_member(out, ",\"name\":", name, "name");
    block_member(out, ",\"title\":", title, "title");
    block_member(out, ",\"description\":", description, "description");
    block_member(out, ",\"mimeType\":", mime_type, "MIME type");
    return block_end(out);
}

/* ---- JSON given as text ------------------------------------------------- */

int
mcp_result_content(mcp_result *out, const char *json, size_t length)
{
    const mcp_json *root;
    mcp_doc *doc;

    if (!out || !json)
        return MCP_E_INVAL;
    if (out->status < 0 ||
        mcpi_tool_result_parse(out, json, length, "content block", &doc) < 0)
        return out->status;
    root = mcp_doc_root(doc);
    if (mcp_json_get_type(mcp_json_get(root, "type")) != MCP_JSON_STRING) {
        (void)mcpi_tool_result_fail(out, MCP_E_INVAL, "a content block has a type");
    } else if (block_begin(out, 0)) {
        mcpi_json_write(&out->answer.body, root);
        out->can_annotate = !mcp_json_get(root, "annotations");
    }
    mcp_doc_free(doc);
    return mcpi_tool_result_status(out);
}

static void
annotations_write(mcp_result *out, unsigned audience, double priority,
                  const char *last_modified)
{
    struct mcpi_buf *body = &out->answer.body;
    const char *comma = "";

    MCPI_BUF_LITERAL(body, ",\"annotations\":{");
    if (audience) {
        mcpi_buf_text(body, "\"audience\":[");
        mcpi_buf_text(body, audience & MCP_FOR_USER ? "\"user\"" : "");
        mcpi_buf_text(body, audience == (MCP_FOR_USER | MCP_FOR_ASSISTANT) ? "," : "");
        mcpi_buf_text(body, audience & MCP_FOR_ASSISTANT ? "\"assistant\"" : "");
        mcpi_buf_char(body, ']');
        comma = ",";
    }
    if (priority >= 0) {
        mcpi_buf_text(body, comma);
        MCPI_BUF_LITERAL(body, "\"priority\":");
        (void)mcpi_json_write_real(body, priority); /* in range: only memory can fail */
        comma = ",";
    }
    if (last_modified) {
        mcpi_buf_text(body, comma);
        MCPI_BUF_LITERAL(body, "\"lastModified\":");
        block_string(out, last_modified, strlen(last_modified), "time");
    }
    mcpi_buf_char(body, '}');
}

int
mcp_result_annotate(mcp_result *out, unsigned audience, double priority,
                    const char *last_modified)
{
    struct mcpi_buf *body;

    if (!out)
        return MCP_E_INVAL;
    if (out->status < 0)
        return out->status;
    if (!out->has_block || !out->can_annotate)
        return mcpi_tool_result_fail(out, MCP_E_STATE,
                                     "there is no content block to annotate");
    if (audience > (MCP_FOR_USER | MCP_FOR_ASSISTANT) || !(priority <= 1))
        return mcpi_tool_result_fail(out, MCP_E_INVAL,
                                     "an annotation is out of its range");
    body = &out->answer.body;
    mcpi_buf_truncate(body, body->len - 1); /* the brace at its end */
    annotations_write(out, audience, priority, last_modified);
    out->can_annotate = false;
    return block_end(out);
}
