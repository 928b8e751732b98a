/* place.c - URLs of authorization: which may be used, and which are the same */
#include "auth/place.h"

#include <string.h>

#define PORT_DIGITS 5 /* 65535 */
#define RESOURCE "/.well-known/oauth-protected-resource"
#define SERVER "/.well-known/oauth-authorization-server"
#define OPENID "/.well-known/openid-configuration"

/* ---- small things about text --------------------------------------------- */

static char
lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
}

static bool
same_letters(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (lower(a[i]) != lower(b[i]))
            return false;
    return true;
}

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static size_t
digits(const char *text, size_t len)
{
    size_t n = 0;

    while (n < len && is_digit(text[n]))
        n++;
    return n;
}

/* Digits, few enough for an int. */
static int
number(const char *text, size_t len)
{
    int value = 0;

    for (size_t i = 0; i < len; i++)
        value = value * 10 + (text[i] - '0');
    return value;
}

/* Up to MCPI_PLACE_MAX of what may stand in a URL; a fragment may not, nor a backslash,
 * which some take for a slash. */
static bool
is_plain(const char *url)
{
    size_t len = strnlen(url, MCPI_PLACE_MAX + 1);

    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)url[i];

        if (c <= 0x20 || c == 0x7F || c == '\\' || c == '#')
            return false;
    }
    return len <= MCPI_PLACE_MAX;
}

/* ---- hosts and ports ----------------------------------------------------- */

/* Of a name or an address of IPv4. No '%': what it hides is seen only by who decodes
 * it. */
static bool
is_of_name(char c)
{
    return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'z') || c == '-' ||
           c == '.' || c == '_' || (unsigned char)c >= 0x80;
}

/* Of an address of IPv6, between its brackets; without a zone. */
static bool
is_of_address(char c)
{
    return is_digit(c) || (lower(c) >= 'a' && lower(c) <= 'f') || c == ':' || c == '.';
}

/* The length of the host at the beginning; 0: there is none. */
static size_t
host_length(const char *text, size_t len)
{
    bool bracket = len > 0 && text[0] == '[';
    size_t n = bracket ? 1 : 0;

    while (n < len && (bracket ? is_of_address(text[n]) : is_of_name(text[n])))
        n++;
    if (!bracket)
        return n;
    return n > 1 && n < len && text[n] == ']' ? n + 1 : 0;
}

/* ":8080", or nothing; 0: no port. */
static int
port_read(const char *text, size_t len, bool tls)
{
    int port;

    if (len == 0)
        return tls ? 443 : 80;
    if (text[0] != ':' || len < 2 || len - 1 > PORT_DIGITS ||
        digits(text + 1, len - 1) != len - 1)
        return 0;
    port = number(text + 1, len - 1);
    return port <= UINT16_MAX ? port : 0;
}

/* 0 to 255 without zeros before it, at *at; a dot before it if it is not the first. */
static bool
byte_read(const char *text, size_t len, size_t *at, int *ret_value)
{
    size_t n;

    if (*at > 0) {
        if (*at >= len || text[*at] != '.')
            return false;
        (*at)++;
    }
    n = digits(text + *at, len - *at);
    if (n == 0 || n > 3 || (n > 1 && text[*at] == '0'))
        return false;
    *ret_value = number(text + *at, n);
    *at += n;
    return *ret_value <= 255;
}

/* 127.0.0.0/8 in the one spelling that everybody reads alike: 127.1 and 0x7f000001 are
 * loopback to some and names to others. */
static bool
is_loopback_address(const char *host, size_t len)
{
    size_t at = 0;
    int value = 0;

    if (!byte_read(host, len, &at, &value) || value != 127)
        return false;
    for (int i = 0; i < 3; i++)
        if (!byte_read(host, len, &at, &value))
            return false;
    return at == len;
}

static bool
is_localhost(const char *host, size_t len)
{
    static const char name[] = "localhost";
    const size_t name_len = sizeof(name) - 1;

    if (len < name_len || !same_letters(host + len - name_len, name, name_len))
        return false;
    return len == name_len || (host[len - name_len - 1] == '.' && host[0] != '.');
}

static bool
is_loopback(const struct mcpi_place *place)
{
    static const char address[] = "[::1]";

    if (place->host_len == sizeof(address) - 1 &&
        memcmp(place->host, address, sizeof(address) - 1) == 0)
        return true;
    return is_loopback_address(place->host, place->host_len) ||
           is_localhost(place->host, place->host_len);
}

/* ---- reading ------------------------------------------------------------- */

/* The length of "http://" or "https://" at the beginning; 0: neither. */
static size_t
scheme_read(const char *url, bool *ret_tls)
{
    static const char plain[] = "http://", tls[] = "https://";
    size_t len = strnlen(url, sizeof(tls) - 1);

    *ret_tls = len == sizeof(tls) - 1 && same_letters(url, tls, sizeof(tls) - 1);
    if (*ret_tls)
        return sizeof(tls) - 1;
    if (len >= sizeof(plain) - 1 && same_letters(url, plain, sizeof(plain) - 1))
        return sizeof(plain) - 1;
    return 0;
}

bool
mcpi_place_read(const char *url, struct mcpi_place *ret_place)
{
    struct mcpi_place place = {0};
    size_t scheme, authority;

    if (!url || !is_plain(url))
        return false;
    scheme = scheme_read(url, &place.tls);
    if (scheme == 0)
        return false;
    place.host = url + scheme;
    authority = strcspn(place.host, "/?");
    place.host_len = host_length(place.host, authority);
    if (place.host_len == 0)
        return false;
    place.port = port_read(place.host + place.host_len, authority - place.host_len,
                           place.tls);
    if (place.port == 0)
        return false;
    place.path = place.host + authority;
    place.path_len = strcspn(place.path, "?");
    place.query = place.path + place.path_len;
    place.query_len = strlen(place.query);
    *ret_place = place;
    return true;
}

bool
mcpi_place_is_safe(const char *url)
{
    struct mcpi_place place;

    return mcpi_place_read(url, &place) && (place.tls || is_loopback(&place));
}

/* ---- comparing ----------------------------------------------------------- */

static bool
place_same_origin(const struct mcpi_place *a, const struct mcpi_place *b)
{
    return a->tls == b->tls && a->port == b->port && a->host_len == b->host_len &&
           same_letters(a->host, b->host, a->host_len);
}

bool
mcpi_place_same_origin(const char *a, const char *b)
{
    struct mcpi_place of_a, of_b;

    return mcpi_place_read(a, &of_a) && mcpi_place_read(b, &of_b) &&
           place_same_origin(&of_a, &of_b);
}

/* A dot, plain or as %2e; its length, 0: none. */
static size_t
dot_length(const char *text, size_t len)
{
    if (len >= 1 && text[0] == '.')
        return 1;
    return len >= 3 && same_letters(text, "%2e", 3) ? 3 : 0;
}

/* "." or ".." between slashes: who fetches it goes elsewhere than it reads. */
static bool
has_dot_segment(const char *path, size_t len)
{
    for (size_t at = 0; at < len; at++) {
        size_t end = at + 1;

        if (path[at] != '/')
            continue;
        end += dot_length(path + end, len - end);
        if (end == at + 1)
            continue;
        end += dot_length(path + end, len - end);
        if (end == len || path[end] == '/')
            return true;
    }
    return false;
}

static bool
path_covers(const struct mcpi_place *resource, const struct mcpi_place *server)
{
    size_t len = resource->path_len;

    if (has_dot_segment(resource->path, len) ||
        has_dot_segment(server->path, server->path_len))
        return false;
    if (len > 0 && resource->path[len - 1] == '/')
        len--; /* "/a/" is "/a" */
    if (len > server->path_len || memcmp(resource->path, server->path, len) != 0)
        return false;
    return len == server->path_len || server->path[len] == '/';
}

bool
mcpi_place_covers(const char *resource, const char *server_url)
{
    struct mcpi_place of_resource, of_server;

    if (!mcpi_place_read(resource, &of_resource) ||
        !mcpi_place_read(server_url, &of_server))
        return false;
    if (of_resource.query_len > 0 && strcmp(of_resource.query, of_server.query) != 0)
        return false;
    return place_same_origin(&of_resource, &of_server) &&
           path_covers(&of_resource, &of_server);
}

/* ---- where documents are ------------------------------------------------- */

struct part {
    const char *at;
    size_t len;
};

static struct part
part(const char *text)
{
    return (struct part){text, strlen(text)};
}

/* What a URL has before its path, and two parts behind it. */
static void
add_url(struct mcpi_buf *into, const char *url, const struct mcpi_place *place,
        struct part first, struct part then)
{
    mcpi_buf_append(into, url, (size_t)(place->path - url));
    mcpi_buf_append(into, first.at, first.len);
    mcpi_buf_append(into, then.at, then.len);
    mcpi_buf_char(into, '\0');
}

/* All of them or none. */
static int
finish(struct mcpi_buf *into, size_t before, int count)
{
    if (into->status == 0)
        return count;
    mcpi_buf_truncate(into, before);
    return into->status;
}

/* RFC 9728, 3.1: between host and path; a query stays where it is. */
int
mcpi_place_resource_metadata(struct mcpi_buf *into, const char *server_url)
{
    size_t before = into->len;
    struct mcpi_place place;
    int count = 1;

    if (!mcpi_place_read(server_url, &place))
        return MCP_E_INVAL;
    if (place.path_len > 1) {
        add_url(into, server_url, &place, part(RESOURCE),
                (struct part){place.path, place.path_len + place.query_len});
        count++;
    }
    add_url(into, server_url, &place, part(RESOURCE), part(""));
    return finish(into, before, count);
}

/* 2026-07-28, authorization server metadata discovery; slashes at the end go before
 * something is inserted or appended (RFC 8414, 3.1; OpenID Connect Discovery, 4.1). */
int
mcpi_place_issuer_metadata(struct mcpi_buf *into, const char *issuer)
{
    size_t before = into->len;
    struct mcpi_place place;
    struct part path;

    if (!mcpi_place_read(issuer, &place) || place.query_len > 0)
        return MCP_E_INVAL;
    path = (struct part){place.path, place.path_len};
    while (path.len > 0 && path.at[path.len - 1] == '/')
        path.len--;
    add_url(into, issuer, &place, part(SERVER), path);
    add_url(into, issuer, &place, part(OPENID), path);
    if (path.len > 0)
        add_url(into, issuer, &place, path, part(OPENID));
    return finish(into, before, path.len > 0 ? 3 : 2);
}
