/* http_fields.c - the header lines of what a client sends */
#include "link/http_fields.h"

#include <string.h>

#include "base/text.h"

/* ---- one line -------------------------------------------------------------- */

static bool
text_fits_header(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];

        if ((c < 0x20 && c != '\t') || c == 0x7F)
            return false;
    }
    return true;
}

static void
line_begin(struct mcpi_buf *into, const char *name)
{
    mcpi_buf_text(into, name);
    MCPI_BUF_LITERAL(into, ": ");
}

static int
line_end(struct mcpi_buf *into)
{
    mcpi_buf_char(into, '\0');
    return into->status;
}

static int
line_write(struct mcpi_buf *into, const char *name, const char *value, size_t len)
{
    if (!text_fits_header(value, len))
        return MCP_E_INVAL;
    line_begin(into, name);
    mcpi_buf_append(into, value, len);
    return line_end(into);
}

int
mcpi_http_fields_add(struct mcpi_buf *into, const char *name, const char *value)
{
    return line_write(into, name, value, strlen(value));
}

/* ---- those of a user ------------------------------------------------------- */

static bool
name_is_ours(const char *name, size_t len)
{
    static const char *const ours[] = {
        "accept",
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "expect",
        "host",
        "keep-alive",
        "last-event-id",
        "te",
        "trailer",
        "proxy-connection",
        "upgrade",
        "transfer-encoding",
    };
    char lower[32] = {0};

    for (size_t i = 0; i < len && i < sizeof(lower) - 1; i++)
        lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] + 32 : name[i]);
    if (strncmp(lower, "mcp-", 4) == 0)
        return true;
    for (size_t i = 0; i < sizeof(ours) / sizeof(ours[0]); i++)
        if (strcmp(lower, ours[i]) == 0)
            return true;
    return false;
}

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* Who would get to see it in a log is not known: nothing but a name is repeated. */
static int
given_line(struct mcpi_buf *into, const char *line, size_t number, mcp_error *err)
{
    const char *colon = strchr(line, ':');
    size_t name_len = colon ? (size_t)(colon - line) : 0;
    const char *value, *end;

    if (!colon || !mcpi_text_is_token(line, name_len))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "header line %zu is not \"Name: value\"", number);
    if (name_is_ours(line, name_len))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "the header %.*s is written by the protocol itself",
                              (int)name_len, line);
    for (value = colon + 1; is_blank(*value); value++)
        continue;
    for (end = value + strlen(value); end > value && is_blank(end[-1]); end--)
        continue;
    if (end == value)
        return mcpi_error_set(err, MCP_E_INVAL, "the header %.*s has no value",
                              (int)name_len, line);
    if (!text_fits_header(value, (size_t)(end - value)))
        return mcpi_error_set(
            err, MCP_E_INVAL,
            "the header %.*s has a line break in it, or another control character",
            (int)name_len, line);
    mcpi_buf_append(into, line, name_len);
    MCPI_BUF_LITERAL(into, ": ");
    mcpi_buf_append(into, value, (size_t)(end - value));
    if (line_end(into) < 0)
        return mcpi_error_set(err, into->status, "no room for the header %.*s",
                              (int)name_len, line);
    return 0;
}

int
mcpi_http_fields_given(struct mcpi_buf *into, const char *const *lines, mcp_error *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && lines && lines[i]; i++)
        r = given_line(into, lines[i], i + 1, err);
    return r;
}

int
mcpi_http_fields_names(struct mcpi_buf *into, const char *const *names, mcp_error *err)
{
    for (size_t i = 0; names && names[i]; i++) {
        const char *blank = strchr(names[i], ' ');

        if (!blank || blank == names[i] || !blank[1] || strchr(blank + 1, ' '))
            return mcpi_error_set(err, MCP_E_INVAL, "name %zu is not \"method member\"",
                                  i + 1);
        mcpi_buf_append(into, names[i], strlen(names[i]) + 1);
    }
    if (into->status < 0)
        return mcpi_error_set(err, into->status, "no room for the names");
    return 0;
}

/* ---- those of the protocol ------------------------------------------------- */

void
mcpi_http_fields_post(struct mcpi_buf *into)
{
    (void)mcpi_http_fields_add(into, "Accept", "application/json, text/event-stream");
    (void)mcpi_http_fields_add(into, "Content-Type", "application/json");
}

void
mcpi_http_fields_get(struct mcpi_buf *into)
{
    (void)mcpi_http_fields_add(into, "Accept", "text/event-stream");
}

/* The member that a method of an extension names something by, or NULL. */
static const char *
name_member(const struct mcpi_buf *names, const struct mcpi_rpc *rpc)
{
    for (size_t i = 0; names && i < names->len; i += strlen(names->data + i) + 1) {
        const char *text = names->data + i;

        if (strncmp(text, rpc->method_name, rpc->method_len) == 0 &&
            text[rpc->method_len] == ' ')
            return text + rpc->method_len + 1;
    }
    return NULL;
}

/* What Mcp-Name repeats, or NULL (basic/transports/streamable-http, Standard Request
 * Headers). */
static const mcp_json *
name_source(const struct mcpi_rpc *rpc, const struct mcpi_buf *names)
{
    const char *member;

    switch (rpc->method) {
    case MCPI_METHOD_TOOLS_CALL:
    case MCPI_METHOD_PROMPTS_GET:
        return mcp_json_get(rpc->params, "name");
    case MCPI_METHOD_RESOURCES_READ:
        return mcp_json_get(rpc->params, "uri");
    default:
        member = name_member(names, rpc);
        return member ? mcp_json_get(rpc->params, member) : NULL;
    }
}

/* A value of a type that no header has stays out: the server will refuse the argument
 * itself. */
static int
mirror_line(struct mcpi_buf *into, const char *before, const char *name,
            const mcp_json *value)
{
    size_t mark = into->len;
    int r;

    if (!value || mcp_json_get_type(value) == MCP_JSON_NULL)
        return into->status;
    mcpi_buf_text(into, before);
    line_begin(into, name);
    r = mcpi_mirror_write(into, value);
    if (r == MCP_E_INVAL) {
        mcpi_buf_truncate(into, mark);
        return into->status;
    }
    return line_end(into);
}

int
mcpi_http_fields_mirror(struct mcpi_buf *into, const struct mcpi_rpc *rpc,
                        const struct mcpi_buf *names, const struct mcpi_mirror *mirror)
{
    const mcp_json *arguments = mcp_json_get(rpc->params, "arguments");
    int r;

    r = line_write(into, "Mcp-Method", rpc->method_name, rpc->method_len);
    if (r == 0)
        r = mirror_line(into, "", "Mcp-Name", name_source(rpc, names));
    for (size_t i = 0; r == 0 && i < mcpi_mirror_count(mirror); i++)
        r = mirror_line(into, "Mcp-Param-", mcpi_mirror_name(mirror, i),
                        mcpi_mirror_value(mirror, i, arguments));
    return r;
}
