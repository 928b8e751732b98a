/* htu.c - the URL that a proof of DPoP is for: compared */
#include "auth/htu.h"

#include <string.h>

#define PORT_MAX 65535

/* Borrowed from the text. */
struct parts {
    bool tls;
    const char *host;
    size_t host_len;
    long port;
    const char *path; /* not empty */
    size_t path_len;
};

size_t
mcpi_htu_length(const char *url, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (url[i] == '?' || url[i] == '#')
            return i;
    }
    return len;
}

static char
lower(char c)
{
    return (char)(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
}

/* Not strncasecmp, which ends at a NUL, and asks the locale. */
static bool
same_letters(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (lower(a[i]) != lower(b[i]))
            return false;
    }
    return true;
}

static bool
begins_with(const char *text, size_t len, const char *prefix)
{
    return len >= strlen(prefix) && same_letters(text, prefix, strlen(prefix));
}

/* Behind the colon, which may stand there without a number. */
static bool
port_read(const char *text, size_t len, long *port)
{
    long number = 0;

    for (size_t i = 0; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        number = number * 10 + (text[i] - '0');
        if (number > PORT_MAX)
            return false;
    }
    if (len > 0)
        *port = number;
    return true;
}

/* An address of IPv6 is in brackets, and has colons of its own. */
static bool
host_read(const char *text, size_t len, struct parts *parts)
{
    const char *end = text + len;
    const char *bracket = len > 0 && text[0] == '[' ? memchr(text, ']', len) : NULL;
    const char *from = bracket ? bracket : text;
    const char *colon = memchr(from, ':', (size_t)(end - from));

    if (memchr(text, '@', len) || (bracket && bracket + 1 != (colon ? colon : end)))
        return false;
    parts->host = text;
    parts->host_len = (size_t)((colon ? colon : end) - text);
    return parts->host_len > 0 &&
           (!colon || port_read(colon + 1, (size_t)(end - colon - 1), &parts->port));
}

static bool
parts_read(const char *url, size_t len, struct parts *ret)
{
    const char *end = url + mcpi_htu_length(url, len), *path;

    ret->tls = begins_with(url, len, "https://");
    if (!ret->tls && !begins_with(url, len, "http://"))
        return false;
    ret->port = ret->tls ? 443 : 80;
    url += ret->tls ? strlen("https://") : strlen("http://");
    path = memchr(url, '/', (size_t)(end - url));
    ret->path = path ? path : "/";
    ret->path_len = path ? (size_t)(end - path) : 1;
    return host_read(url, (size_t)((path ? path : end) - url), ret);
}

bool
mcpi_htu_same(const char *a, size_t a_len, const char *b, size_t b_len)
{
    struct parts x, y;

    return parts_read(a, a_len, &x) && parts_read(b, b_len, &y) && x.tls == y.tls &&
           x.port == y.port && x.host_len == y.host_len &&
           same_letters(x.host, y.host, x.host_len) && x.path_len == y.path_len &&
           memcmp(x.path, y.path, x.path_len) == 0;
}
