/*
 * content.c - what a handler writes for the model: blocks of content
 *
 * The same functions write blocks of a tool or a sample, messages of a prompt, which
 * are blocks with a role around them, and what a resource contains, which are none.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/resource.h"
#include "api/result.h"
#include "base/base64.h"
#include "base/mem.h"
#include "core/versions.h"
#include "json/value.h"

#define BLOCKS (MCPI_KIND(TOOL) | MCPI_KIND(PROMPT) | MCPI_KIND(SAMPLE))
#define OFFERED (MCPI_KIND(TOOL) | MCPI_KIND(PROMPT)) /* of servers: resources too */

#define BLOCK_ROOM 96 /* for what stands around a short text, in one allocation */
#define FORMATTED 512 /* longer texts are formatted on the heap */

/* ---- blocks ------------------------------------------------------------- */

/* Begin a block. False: nothing may be written any more. */
static bool
block_begin(mcp_result *out, unsigned kinds, size_t room, const char *what)
{
    struct mcpi_buf *body = &out->answer.body;

    if (!mcpi_result_takes(out, kinds, what) ||
        !mcpi_result_item(out, room + BLOCK_ROOM))
        return false;
    if (out->kind == MCPI_RESULT_PROMPT)
        mcpi_buf_text(body, out->role == MCP_ROLE_ASSISTANT
                                ? "{\"role\":\"assistant\",\"content\":"
                                : "{\"role\":\"user\",\"content\":");
    out->can_annotate = out->kind != MCPI_RESULT_RESOURCE;
    return true;
}

/* Behind the block itself. */
static int
block_close(mcp_result *out)
{
    if (out->kind == MCPI_RESULT_PROMPT)
        mcpi_buf_char(&out->answer.body, '}');
    return mcpi_tool_result_status(out);
}

static int
block_end(mcp_result *out)
{
    mcpi_buf_char(&out->answer.body, '}');
    return block_close(out);
}

/* What a resource contains, but for that: `{"uri":...,"mimeType":...`. */
static void
entry_begin(mcp_result *out, const char *uri, const char *mime_type)
{
    MCPI_BUF_LITERAL(&out->answer.body, "{\"uri\":");
    mcpi_result_string(out, uri, strlen(uri), "URI of a resource");
    mcpi_result_member(out, ",\"mimeType\":", mime_type, "MIME type of a resource");
}

/* Of the resource that was asked for. */
static void
entry_begin_own(mcp_result *out)
{
    entry_begin(out, out->uri ? out->uri : "",
                out->resource ? out->resource->mime_type : NULL);
}

/* ---- text --------------------------------------------------------------- */

int
mcpi_tool_result_text(mcp_result *out, const char *text, size_t len)
{
    if (!block_begin(out, BLOCKS | MCPI_KIND(RESOURCE), len, "text"))
        return out->status;
    if (out->kind == MCPI_RESULT_RESOURCE) {
        entry_begin_own(out);
        MCPI_BUF_LITERAL(&out->answer.body, ",\"text\":");
    } else {
        MCPI_BUF_LITERAL(&out->answer.body, "{\"type\":\"text\",\"text\":");
    }
    mcpi_result_string(out, text, len, "text of a content block");
    out->has_text = true;
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
    if (!mcpi_result_takes(out, MCPI_KIND(TOOL), "failure: use mcp_request_fail"))
        return out->status;
    out->is_error = true;
    va_start(args, format);
    r = write_formatted(out, format, args);
    va_end(args);
    return r;
}

/* ---- bytes -------------------------------------------------------------- */

/* The value of the last member. */
static void
bytes_write(mcp_result *out, const void *bytes, size_t length)
{
    struct mcpi_buf *body = &out->answer.body;

    mcpi_buf_char(body, '"');
    mcpi_base64_write(body, bytes, length);
    mcpi_buf_char(body, '"');
}

static int
write_media(mcp_result *out, const char *type, const void *bytes, size_t length,
            const char *mime_type)
{
    if (!block_begin(out, BLOCKS, 0, type))
        return out->status;
    MCPI_BUF_LITERAL(&out->answer.body, "{\"type\":\"");
    mcpi_buf_text(&out->answer.body, type);
    MCPI_BUF_LITERAL(&out->answer.body, "\",\"data\":");
    bytes_write(out, bytes, length);
    mcpi_result_member(out, ",\"mimeType\":", mime_type,
                       "MIME type of a content block");
    return block_end(out);
}

int
mcp_result_image(mcp_result *out, const void *bytes, size_t length,
                 const char *mime_type)
{
    if (!out || (!bytes && length > 0) || !mime_type)
        return MCP_E_INVAL;
    return write_media(out, "image", bytes, length, mime_type);
}

/* What a caller's version does not know is said in words: a block of a type that is not
 * in its schema may cost it the whole answer. */
static bool
is_too_new(const mcp_result *out, const char *since)
{
    return out->version && mcpi_version_is_before(out->version, since) &&
           out->status == 0 && BLOCKS & 1U << out->kind;
}

static int
write_no_audio(mcp_result *out, const char *mime_type)
{
    return mcp_result_textf(out,
                            "(%s audio, which protocol version %s has no room for)",
                            mime_type, out->version);
}

int
mcp_result_audio(mcp_result *out, const void *bytes, size_t length,
                 const char *mime_type)
{
    if (!out || (!bytes && length > 0) || !mime_type)
        return MCP_E_INVAL;
    if (is_too_new(out, MCPI_VERSION_AUDIO))
        return write_no_audio(out, mime_type);
    return write_media(out, "audio", bytes, length, mime_type);
}

int
mcp_result_bytes(mcp_result *out, const void *bytes, size_t length)
{
    if (!out || (!bytes && length > 0))
        return MCP_E_INVAL;
    if (!block_begin(out, MCPI_KIND(RESOURCE), 0, "bytes of its own"))
        return out->status;
    entry_begin_own(out);
    MCPI_BUF_LITERAL(&out->answer.body, ",\"blob\":");
    bytes_write(out, bytes, length);
    return block_end(out);
}

/* ---- resources ---------------------------------------------------------- */

/* Inside of a block, or as an entry where resources are all there is. */
static bool
resource_begin(mcp_result *out, const char *uri, const char *mime_type)
{
    if (!block_begin(out, OFFERED | MCPI_KIND(RESOURCE), 0, "resources"))
        return false;
    if (out->kind != MCPI_RESULT_RESOURCE)
        MCPI_BUF_LITERAL(&out->answer.body, "{\"type\":\"resource\",\"resource\":");
    entry_begin(out, uri, mime_type);
    return true;
}

static int
resource_end(mcp_result *out)
{
    if (out->kind != MCPI_RESULT_RESOURCE)
        mcpi_buf_char(&out->answer.body, '}');
    return block_end(out);
}

int
mcp_result_resource_text(mcp_result *out, const char *uri, const char *mime_type,
                         const char *text)
{
    if (!out || !uri || !text)
        return MCP_E_INVAL;
    if (!resource_begin(out, uri, mime_type))
        return out->status;
    mcpi_result_member(out, ",\"text\":", text, "text of a resource");
    return resource_end(out);
}

int
mcp_result_resource_bytes(mcp_result *out, const char *uri, const char *mime_type,
                          const void *bytes, size_t length)
{
    if (!out || !uri || (!bytes && length > 0))
        return MCP_E_INVAL;
    if (!resource_begin(out, uri, mime_type))
        return out->status;
    MCPI_BUF_LITERAL(&out->answer.body, ",\"blob\":");
    bytes_write(out, bytes, length);
    return resource_end(out);
}

static int
write_no_link(mcp_result *out, const char *uri, const char *name)
{
    return mcp_result_textf(out, "(link to the resource %s: %s)", name, uri);
}

int
mcp_result_resource_link(mcp_result *out, const char *uri, const char *name,
                         const char *title, const char *description,
                         const char *mime_type)
{
    if (!out || !uri || !name)
        return MCP_E_INVAL;
    if (OFFERED & 1U << out->kind && is_too_new(out, MCPI_VERSION_LINKS))
        return write_no_link(out, uri, name);
    if (!block_begin(out, OFFERED, 0, "links to resources"))
        return out->status;
    MCPI_BUF_LITERAL(&out->answer.body, "{\"type\":\"resource_link\",\"uri\":");
    mcpi_result_string(out, uri, strlen(uri), "URI of a link");
    mcpi_result_member(out, ",\"name\":", name, "name of a link");
    mcpi_result_member(out, ",\"title\":", title, "title of a link");
    mcpi_result_member(out, ",\"description\":", description, "description of a link");
    mcpi_result_member(out, ",\"mimeType\":", mime_type, "MIME type of a link");
    return block_end(out);
}

/* ---- JSON given as text ------------------------------------------------- */

void
mcpi_tool_result_block(mcp_result *out, const mcp_json *block)
{
    const mcp_json *type = mcp_json_get(block, "type");

    if (mcp_json_get_type(type) != MCP_JSON_STRING) {
        (void)mcpi_tool_result_fail(out, MCP_E_INVAL, "a content block has a type");
    } else if (mcp_json_is_string(type, "audio") &&
               is_too_new(out, MCPI_VERSION_AUDIO)) {
        (void)write_no_audio(
            out, mcp_json_string(mcp_json_get(block, "mimeType"), "unknown"));
    } else if (mcp_json_is_string(type, "resource_link") &&
               is_too_new(out, MCPI_VERSION_LINKS)) {
        (void)write_no_link(out, mcp_json_string(mcp_json_get(block, "uri"), ""),
                            mcp_json_string(mcp_json_get(block, "name"), ""));
    } else if (block_begin(out, BLOCKS, 0, "content blocks")) {
        mcpi_json_write(&out->answer.body, block);
        out->can_annotate = !mcp_json_get(block, "annotations");
        out->has_text |= mcp_json_is_string(type, "text");
        (void)block_close(out);
    }
}

int
mcp_result_content(mcp_result *out, const char *json, size_t length)
{
    mcp_doc *doc;

    if (!out || !json)
        return MCP_E_INVAL;
    if (!mcpi_result_takes(out, BLOCKS, "content blocks") ||
        mcpi_tool_result_parse(out, json, length, "content block", &doc) < 0)
        return out->status;
    mcpi_tool_result_block(out, mcp_doc_root(doc));
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
        mcpi_result_string(out, last_modified, strlen(last_modified),
                           "time of a content block");
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
    if (!mcpi_result_takes(out, BLOCKS, "annotations"))
        return out->status;
    if (!out->has_block || !out->can_annotate)
        return mcpi_tool_result_fail(out, MCP_E_STATE,
                                     "there is no content block to annotate");
    if (audience > (MCP_FOR_USER | MCP_FOR_ASSISTANT) || !(priority <= 1))
        return mcpi_tool_result_fail(out, MCP_E_INVAL,
                                     "an annotation is out of its range");
    body = &out->answer.body;
    /* The brace at its end, and that of its message. */
    mcpi_buf_truncate(body, body->len - (out->kind == MCPI_RESULT_PROMPT ? 2 : 1));
    annotations_write(out, audience, priority, last_modified);
    out->can_annotate = false;
    return block_end(out);
}
