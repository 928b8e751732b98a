/* http_url.c - URLs of HTTP, as far as a client must look into one */
#include "link/http_url.h"

#include <stdio.h>
#include <string.h>

/* Views of a URL. */
struct text {
    const char *at;
    size_t len;
};

struct url {
    struct text scheme;    /* "https" */
    struct text authority; /* "user@host:80" */
    struct text rest;      /* "/path?query", may be empty; without a fragment */
};

struct origin {
    bool secure;
    struct text host; /* with its brackets */
    struct text port; /* the default one if none is named */
};

static struct text
text_until(struct text text, const char *marks)
{
    size_t n = 0;

    while (n < text.len && !strchr(marks, text.at[n]))
        n++;
    return (struct text){text.at, n};
}

static struct text
text_after(struct text text, size_t len)
{
    return (struct text){text.at + len, text.len - len};
}

static bool
text_begins(struct text text, const char *with)
{
    size_t len = strlen(with);

    return text.len >= len && memcmp(text.at, with, len) == 0;
}

static char
lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static bool
text_same(struct text a, struct text b)
{
    if (a.len != b.len)
        return false;
    for (size_t i = 0; i < a.len; i++)
        if (lower(a.at[i]) != lower(b.at[i]))
            return false;
    return true;
}

static bool
text_is(struct text a, const char *b)
{
    return text_same(a, (struct text){b, strlen(b)});
}

static bool
text_is_plain(struct text text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.at[i];

        if (c <= 0x20 || c == 0x7F || c == '\\')
            return false;
    }
    return true;
}

/* "scheme:" at the beginning, without its colon; empty: none (RFC 3986, 3.1). */
static struct text
text_scheme(struct text text)
{
    struct text name = text_until(text, ":/?#");

    if (name.len == text.len || text.at[name.len] != ':')
        return (struct text){text.at, 0};
    return name;
}

/* The authority and what follows, behind "//". */
static void
url_split(struct text text, struct url *ret)
{
    ret->authority = text_until(text, "/?#");
    ret->rest = text_until(text_after(text, ret->authority.len), "#");
}

static bool
url_read(struct text text, struct url *ret)
{
    struct text after;

    ret->scheme = text_scheme(text);
    if (!text_is(ret->scheme, "http") && !text_is(ret->scheme, "https"))
        return false;
    after = text_after(text, ret->scheme.len + 1);
    if (!text_begins(after, "//") || !text_is_plain(text))
        return false;
    url_split(text_after(after, 2), ret);
    return true;
}

/* False: it has no host, or what should be a port is none. */
static bool
url_origin(const struct url *url, struct origin *ret)
{
    struct text text = url->authority;
    size_t host;

    for (size_t i = 0; i < url->authority.len; i++)
        if (url->authority.at[i] == '@')
            text = text_after(url->authority, i + 1);
    host = text_until(text, text_begins(text, "[") ? "]" : ":").len;
    if (text_begins(text, "["))
        host += host < text.len;
    ret->secure = text_is(url->scheme, "https");
    ret->host = (struct text){text.at, host};
    ret->port = text_after(text, host);
    if (text_begins(ret->port, ":"))
        ret->port = text_after(ret->port, 1);
    else if (ret->port.len > 0)
        return false;
    for (size_t i = 0; i < ret->port.len; i++)
        if (ret->port.at[i] < '0' || ret->port.at[i] > '9')
            return false;
    for (; ret->port.len > 1 && *ret->port.at == '0';)
        ret->port = text_after(ret->port, 1);
    if (ret->port.len == 0)
        ret->port = ret->secure ? (struct text){"443", 3} : (struct text){"80", 2};
    return ret->host.len > 0;
}

bool
mcpi_http_url_valid(const char *url, size_t len)
{
    struct origin origin;
    struct url parts;

    return len <= MCPI_HTTP_URL_LIMIT && url_read((struct text){url, len}, &parts) &&
           url_origin(&parts, &origin);
}

static bool
url_same_origin(const struct url *a, const struct url *b)
{
    struct origin of_a, of_b;

    return url_origin(a, &of_a) && url_origin(b, &of_b) && of_a.secure == of_b.secure &&
           text_same(of_a.host, of_b.host) && text_same(of_a.port, of_b.port);
}

/* Up to and with the last slash of the path. */
static struct text
rest_directory(struct text rest)
{
    struct text path = text_until(rest, "?");

    while (path.len > 0 && path.at[path.len - 1] != '/')
        path.len--;
    return path;
}

static void
append(struct mcpi_buf *into, struct text text)
{
    mcpi_buf_append(into, text.at, text.len);
}

/* One of the same origin: who we are is the base's to say, not the reference's. */
static int
write_whole(struct mcpi_buf *into, const struct url *base, const struct url *url)
{
    append(into, base->scheme);
    MCPI_BUF_LITERAL(into, "://");
    append(into, base->authority);
    append(into, url->rest);
    mcpi_buf_char(into, '\0');
    return into->status;
}

/* A path, a query, or a part of a path, beside the base (RFC 3986, 5.2.2). */
static int
write_relative(struct mcpi_buf *into, const struct url *base, struct text reference)
{
    struct text kept = {"", 0};

    if (text_begins(reference, "?") || reference.len == 0)
        kept = text_until(base->rest, "?");
    else if (!text_begins(reference, "/"))
        kept = rest_directory(base->rest);
    append(into, base->scheme);
    MCPI_BUF_LITERAL(into, "://");
    append(into, base->authority);
    append(into, kept);
    if (kept.len == 0 && !text_begins(reference, "/"))
        mcpi_buf_char(into, '/');
    append(into, reference);
    mcpi_buf_char(into, '\0');
    return into->status;
}

int
mcpi_http_url_resolve(struct mcpi_buf *into, const char *base, const char *reference,
                      size_t len)
{
    struct text text = {reference, len};
    struct url of_base, url;

    if (len == 0 || len > MCPI_HTTP_URL_LIMIT || !text_is_plain(text) ||
        !url_read((struct text){base, strlen(base)}, &of_base))
        return MCP_E_PROTO;
    if (text_scheme(text).len > 0) {
        if (!url_read(text, &url) || !url_same_origin(&of_base, &url))
            return MCP_E_PROTO;
        return write_whole(into, &of_base, &url);
    }
    if (text_begins(text, "//")) {
        url.scheme = of_base.scheme;
        url_split(text_after(text, 2), &url);
        if (!url_same_origin(&of_base, &url))
            return MCP_E_PROTO;
        return write_whole(into, &of_base, &url);
    }
    return write_relative(into, &of_base, text_until(text, "#"));
}

const char *
mcpi_http_url_show(const char *url, bool whole, char *into, size_t size)
{
    struct text path = {"/", 1};
    struct origin origin;
    struct url parts;

    if (!url_read((struct text){url, strlen(url)}, &parts) ||
        !url_origin(&parts, &origin)) {
        (void)snprintf(into, size, "?");
        return into;
    }
    if (text_begins(parts.rest, "/"))
        path = text_until(parts.rest, "?");
    if (whole)
        (void)snprintf(into, size, "%s://%.*s:%.*s%.*s",
                       origin.secure ? "https" : "http", (int)origin.host.len,
                       origin.host.at, (int)origin.port.len, origin.port.at,
                       (int)path.len, path.at);
    else
        (void)snprintf(into, size, "%.*s", (int)path.len, path.at);
    return into;
}
