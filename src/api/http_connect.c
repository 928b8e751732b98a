/*
 * http_connect.c - a client over HTTP, on its caller's thread: what it is given is checked
 *
 * What can be wrong with URL and options is said here, before anything is made. Files are
 * read on the loop, by who uses them, and a wrong one ends the opening.
 */
#include <string.h>
#include <strings.h>

#include "api/client.h"
#include "api/http_way.h"
#include "auth/client.h"
#include "base/mem.h"
#include "base/text.h"
#include "link/http_fields.h"
#include "link/http_url.h"
#include "run/curl_url.h"

/* Longer header lines than any server takes. */
#define FIELDS_MAX ((size_t)1 << 20)
/* A century is for ever, and its microseconds are a number. */
#define TIME_MAX_MS (INT64_C(100) * 365 * 24 * 3600 * 1000)

static int
wrong(mcp_error *err, const char *member, const char *why)
{
    return mcpi_error_set(err, MCP_E_INVAL, "HTTP option %s: %s", member, why);
}

/* ---- the URL ------------------------------------------------------------- */

static int
url_wrong(mcp_error *err, const char *why)
{
    return mcpi_error_set(err, MCP_E_INVAL, "URL: %s", why);
}

/* What follows the name: nothing, or a colon and a number. Without a number it is the
 * port of the scheme. */
static bool
is_port(const char *text, size_t len)
{
    unsigned port = 0;
    size_t i;

    if (len == 0)
        return true;
    if (text[0] != ':' || len > 6)
        return false;
    for (i = 1; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        port = port * 10 + (unsigned)(text[i] - '0');
    }
    return len == 1 || (port > 0 && port <= 65535);
}

/* A name, or an address, of IPv6 in brackets; then a port. */
static int
authority_check(const char *text, size_t len, mcp_error *err)
{
    const char *close = text[0] == '[' ? memchr(text, ']', len) : NULL;
    const char *colon = memchr(text, ':', len);
    size_t name = len;

    if (memchr(text, '@', len))
        return url_wrong(err, "has a name or a password in it: use a header, such as "
                              "\"Authorization: Basic ...\"");
    if (close)
        name = (size_t)(close - text) + 1;
    else if (colon)
        name = (size_t)(colon - text);
    if (name == 0 || (text[0] == '[' && name <= 2))
        return url_wrong(err, "names no host");
    if (!is_port(text + name, len - name))
        return url_wrong(err, "has a port that is none");
    return 0;
}

/* What follows the scheme; NULL: another one. */
static const char *
url_rest(const char *url)
{
    if (strncasecmp(url, "http://", 7) == 0)
        return url + 7;
    return strncasecmp(url, "https://", 8) == 0 ? url + 8 : NULL;
}

static int
rest_check(const char *rest, mcp_error *err)
{
    const char *at;

    for (at = rest; *at; at++) {
        if (*at <= ' ' || *at > '~' || strchr("\"<>\\^`{|}", *at))
            return url_wrong(err, "has characters that do not belong there");
    }
    if (strchr(rest, '#'))
        return url_wrong(err, "has a fragment, which no server would see");
    return authority_check(rest, strcspn(rest, "/?"), err);
}

static int
url_check(const char *url, mcp_error *err)
{
    const char *rest;
    int r;

    if (!url)
        return url_wrong(err, "there is none");
    rest = url_rest(url);
    if (!rest)
        return url_wrong(err, "must begin with http:// or https://");
    if (strlen(url) > MCPI_HTTP_URL_LIMIT)
        return mcpi_error_set(err, MCP_E_INVAL, "URL: is longer than %d bytes",
                              MCPI_HTTP_URL_LIMIT);
    r = rest_check(rest, err);
    if (r < 0)
        return r;
    r = mcpi_curl_url_check(url); /* the host is all that was not looked at */
    if (r == MCP_E_INVAL)
        return url_wrong(err, "names no host that there could be");
    return r < 0 ? mcpi_error_set(err, r, "no client: %s", mcp_status_text(r)) : 0;
}

/* ---- options ------------------------------------------------------------- */

static int
time_take(int64_t *value, const char *member, mcp_error *err)
{
    if (*value < 0)
        return wrong(err, member, "a time must not be negative");
    if (*value > TIME_MAX_MS)
        *value = TIME_MAX_MS;
    return 0;
}

/* Who we are is said once. */
static bool
has_authorization(const char *const *lines)
{
    for (; lines && *lines; lines++)
        if (strncasecmp(*lines, "Authorization:", 14) == 0)
            return true;
    return false;
}

/* Reads it into *ret_auth, and points the options there. */
static int
auth_take(mcp_http_client_options *opt, mcp_auth_options *ret_auth, mcp_error *err)
{
    if (!opt->auth)
        return 0;
    if (mcpi_options_read(ret_auth, sizeof(*ret_auth), opt->auth) < 0)
        return wrong(err, "auth", "these are no options of authorization");
    if (has_authorization(opt->headers))
        return wrong(err, "auth", "there is a header Authorization too");
    opt->auth = ret_auth;
    return mcpi_auth_options_take(ret_auth, err);
}

static int
options_take(mcp_http_client_options *opt, mcp_error *err)
{
    int r;

    if (opt->tls_key && !opt->tls_certificate)
        return wrong(err, "tls_certificate",
                     "there is a key, and nothing that it is of");
    if (opt->tls_key_password && !opt->tls_certificate)
        return wrong(err, "tls_key_password", "there is no key that it is of");
    r = time_take(&opt->connect_ms, "connect_ms", err);
    if (r == 0)
        r = time_take(&opt->idle_ms, "idle_ms", err);
    if (r == 0)
        r = time_take(&opt->grace_ms, "grace_ms", err);
    return r;
}

/* The client's own memory. Options that are none are told of where they are used. */
static const mcp_allocator *
mem_of(const mcp_client_options *given)
{
    mcp_client_options opt;

    if (mcpi_options_read(&opt, sizeof(opt), given) < 0)
        return mcpi_mem_or_malloc(NULL);
    return mcpi_mem_or_malloc(opt.allocator);
}

static int
way_make(const char *url, const mcp_http_client_options *http, const mcp_allocator *mem,
         struct mcpi_way **ret_way, mcp_error *err)
{
    struct mcpi_buf fields, names;
    int r;

    mcpi_buf_init(&fields, mem, FIELDS_MAX);
    mcpi_buf_init(&names, mem, FIELDS_MAX);
    r = mcpi_http_fields_given(&fields, http->headers, err);
    if (r == 0)
        r = mcpi_http_fields_names(&names, http->names, err);
    if (r == 0) {
        r = mcpi_http_way_new(mem, url, http, &fields, &names, ret_way);
        if (r < 0)
            (void)mcpi_error_set(err, r, "no client: %s", mcp_status_text(r));
    }
    mcpi_buf_done(&fields);
    mcpi_buf_done(&names);
    return r;
}

int
mcp_client_connect_http(const char *url, const mcp_http_client_options *given,
                        const mcp_client_options *opt, mcp_client **ret_client,
                        mcp_error *err)
{
    mcp_http_client_options http;
    mcp_auth_options auth;
    struct mcpi_way *way;
    int r;

    if (!ret_client)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no place for the client");
    r = url_check(url, err);
    if (r < 0)
        return r;
    if (mcpi_options_read(&http, sizeof(http), given) < 0)
        return mcpi_error_set(err, MCP_E_INVAL,
                              "these are no options of a client over HTTP");
    r = options_take(&http, err);
    if (r == 0)
        r = auth_take(&http, &auth, err);
    if (r == 0)
        r = way_make(url, &http, mem_of(opt), &way, err);
    if (r == 0)
        r = mcpi_client_open_by(way, opt, ret_client, err);
    return r;
}
