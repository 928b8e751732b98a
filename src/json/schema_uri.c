/* schema_uri.c - references resolved against a base (RFC 3986, section 5) */
#include "json/schema_uri.h"

#include <string.h>

struct part {
    const char *text; /* NULL: there is none, which is not an empty one */
    size_t len;
};

struct uri {
    struct part scheme, authority, path, query; /* without their delimiters */
};

static bool
is_scheme_char(char c, bool first)
{
    bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

    if (first)
        return letter;
    return letter || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
}

size_t
mcpi_uri_scheme(const char *text, size_t len)
{
    size_t i = 0;

    while (i < len && is_scheme_char(text[i], i == 0))
        i++;
    return i < len && text[i] == ':' ? i : 0;
}

/* Up to the first of some delimiters. */
static struct part
part_until(const char *text, const char *end, const char *delimiters)
{
    struct part part = {text, 0};

    while (text + part.len < end &&
           (text[part.len] == '\0' || !strchr(delimiters, text[part.len])))
        part.len++;
    return part;
}

static struct uri
uri_split(const char *text, size_t len)
{
    const char *end = text + len;
    struct uri uri = {{NULL, 0}, {NULL, 0}, {NULL, 0}, {NULL, 0}};
    size_t scheme = mcpi_uri_scheme(text, len);

    if (scheme > 0) {
        uri.scheme = (struct part){text, scheme};
        text += scheme + 1;
    }
    if (end - text >= 2 && text[0] == '/' && text[1] == '/') {
        uri.authority = part_until(text + 2, end, "/?#");
        text = uri.authority.text + uri.authority.len;
    }
    uri.path = part_until(text, end, "?#");
    text = uri.path.text + uri.path.len;
    if (text < end && *text == '?')
        uri.query = part_until(text + 1, end, "#");
    return uri;
}

/* Cut the last segment of what was written since `start`, with its '/'. */
static void
segment_drop(struct mcpi_buf *buf, size_t start)
{
    size_t len = buf->len;

    while (len > start && buf->data[len - 1] != '/')
        len--;
    if (len > start)
        len--;
    mcpi_buf_truncate(buf, len);
}

static bool
segment_is(struct part segment, const char *text)
{
    return segment.text && segment.len == strlen(text) &&
           memcmp(segment.text, text, segment.len) == 0;
}

/* Section 5.2.4, a segment a step: "." vanishes, ".." takes the one before with it. */
static void
path_write(struct mcpi_buf *buf, const char *path, size_t len)
{
    const char *end = path + len;
    size_t start = buf->len;
    bool first = true;

    while (first || path < end) {
        bool slash = path < end && *path == '/';
        struct part segment = part_until(path + slash, end, "/");
        bool last = segment.text + segment.len == end;

        if (segment_is(segment, "..") && !(first && !slash)) {
            segment_drop(buf, start);
            if (last)
                mcpi_buf_char(buf, '/');
        } else if (segment_is(segment, ".") && !(first && !slash)) {
            if (last)
                mcpi_buf_char(buf, '/');
        } else {
            mcpi_buf_append(buf, path, segment.len + slash);
        }
        path = segment.text + segment.len;
        first = false;
    }
}

/* Section 5.2.3: the base's path up to its last '/', then the reference's. */
static void
path_merge(struct mcpi_buf *buf, const struct uri *base, struct part path)
{
    struct mcpi_buf merged;
    size_t keep = base->path.len;

    while (keep > 0 && base->path.text[keep - 1] != '/')
        keep--;
    mcpi_buf_init(&merged, buf->mem, buf->max);
    if (base->authority.text && base->path.len == 0)
        mcpi_buf_char(&merged, '/');
    else if (keep > 0)
        mcpi_buf_append(&merged, base->path.text, keep);
    if (path.len > 0)
        mcpi_buf_append(&merged, path.text, path.len);
    if (merged.status < 0)
        buf->status = merged.status;
    else if (merged.len > 0)
        path_write(buf, merged.data, merged.len);
    mcpi_buf_done(&merged);
}

static void
part_write(struct mcpi_buf *buf, const char *before, struct part part,
           const char *after)
{
    if (!part.text)
        return;
    mcpi_buf_text(buf, before);
    if (part.len > 0)
        mcpi_buf_append(buf, part.text, part.len);
    mcpi_buf_text(buf, after);
}

void
mcpi_uri_resolve(struct mcpi_buf *buf, const char *base, size_t base_len,
                 const char *ref, size_t ref_len)
{
    struct uri from = uri_split(base, base_len);
    struct uri to = uri_split(ref, ref_len);
    bool same_place = !to.scheme.text && !to.authority.text;
    bool same_path = same_place && to.path.len == 0;

    part_write(buf, "", to.scheme.text ? to.scheme : from.scheme, ":");
    part_write(buf, "//", same_place ? from.authority : to.authority, "");
    if (same_path)
        mcpi_buf_append(buf, from.path.text, from.path.len);
    else if (!same_place || to.path.text[0] == '/')
        path_write(buf, to.path.text, to.path.len);
    else
        path_merge(buf, &from, to.path);
    part_write(buf, "?", same_path && !to.query.text ? from.query : to.query, "");
}

const char *
mcpi_uri_fragment(const char *ref, size_t len, size_t *ret_len)
{
    const char *at = len > 0 ? memchr(ref, '#', len) : NULL;

    if (!at)
        return NULL;
    *ret_len = len - (size_t)(at - ref) - 1;
    return at + 1;
}

static int
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

int
mcpi_uri_decode(struct mcpi_buf *buf, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] != '%') {
            mcpi_buf_char(buf, text[i]);
            continue;
        }
        if (len - i < 3 || hex_digit(text[i + 1]) < 0 || hex_digit(text[i + 2]) < 0)
            return MCP_E_INVAL;
        mcpi_buf_char(buf,
                      (char)(hex_digit(text[i + 1]) * 16 + hex_digit(text[i + 2])));
        i += 2;
    }
    return 0;
}
