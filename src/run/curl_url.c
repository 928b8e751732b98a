/* curl_url.c - URLs as libcurl reads them */
#include "run/curl_url.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "run/curl.h"

/* What makes an origin; each is freed by curl_free. */
struct origin {
    char *scheme, *host, *port;
};

static void
origin_done(struct origin *origin)
{
    curl_free(origin->scheme);
    curl_free(origin->host);
    curl_free(origin->port);
}

/* False: not all of it is there. To be done with in any case. */
static bool
origin_read(struct origin *origin, CURLU *url)
{
    *origin = (struct origin){.scheme = NULL};
    return curl_url_get(url, CURLUPART_SCHEME, &origin->scheme, 0) == CURLUE_OK &&
           curl_url_get(url, CURLUPART_HOST, &origin->host, 0) == CURLUE_OK &&
           curl_url_get(url, CURLUPART_PORT, &origin->port, CURLU_DEFAULT_PORT) ==
               CURLUE_OK;
}

static bool
origin_is_http(const struct origin *origin)
{
    return mcpi_text_same_letters(origin->scheme, "http") ||
           mcpi_text_same_letters(origin->scheme, "https");
}

static bool
origin_same(const struct origin *a, const struct origin *b)
{
    return mcpi_text_same_letters(a->scheme, b->scheme) &&
           mcpi_text_same_letters(a->host, b->host) &&
           mcpi_text_same_letters(a->port, b->port);
}

/* 0, MCP_E_NOMEM, or `otherwise`. */
static int
url_set(CURLU *parsed, const char *text, int otherwise)
{
    CURLUcode code = curl_url_set(parsed, CURLUPART_URL, text, 0);

    if (code == CURLUE_OUT_OF_MEMORY)
        return MCP_E_NOMEM;
    return code == CURLUE_OK ? 0 : otherwise;
}

static void
url_learn(struct mcpi_curl_url *url, const struct origin *origin)
{
    url->near = mcpi_address_kind_of_host(origin->host, strlen(origin->host));
    url->port = (unsigned)strtoul(origin->port, NULL, 10);
    url->direct = url->near == MCPI_ADDRESS_LOOPBACK &&
                  mcpi_text_same_letters(origin->scheme, "http");
}

/* 0, MCP_E_INVAL or MCP_E_NOMEM; and url, if not NULL, knows where it goes. */
static int
url_read(CURLU *parsed, const char *text, struct mcpi_curl_url *url)
{
    struct origin origin;
    int r;

    r = url_set(parsed, text, MCP_E_INVAL);
    if (r < 0)
        return r;
    if (!origin_read(&origin, parsed) || !origin_is_http(&origin))
        r = MCP_E_INVAL;
    if (r == 0 && url)
        url_learn(url, &origin);
    origin_done(&origin);
    return r;
}

int
mcpi_curl_url_check(const char *url)
{
    CURLU *parsed = curl_url();
    int r;

    if (!parsed)
        return MCP_E_NOMEM;
    r = url_read(parsed, url, NULL);
    curl_url_cleanup(parsed);
    return r;
}

int
mcpi_curl_url_new(const mcp_allocator *mem, const char *text,
                  struct mcpi_curl_url **ret_url)
{
    size_t size = strlen(text) + 1;
    struct mcpi_curl_url *url = mcpi_alloc(mem, sizeof(*url) + size);
    int r = MCP_E_NOMEM;

    if (!url)
        return MCP_E_NOMEM;
    url->refs = 1;
    url->mem = mem;
    url->text = memcpy(url + 1, text, size);
    url->parsed = curl_url();
    if (url->parsed)
        r = url_read(url->parsed, text, url);
    if (r == 0)
        *ret_url = url;
    else
        mcpi_curl_url_unref(url);
    return r;
}

struct mcpi_curl_url *
mcpi_curl_url_ref(struct mcpi_curl_url *url)
{
    url->refs++;
    return url;
}

void
mcpi_curl_url_unref(struct mcpi_curl_url *url)
{
    if (!url || --url->refs > 0)
        return;
    curl_url_cleanup(url->parsed);
    mcpi_free(url->mem, url);
}

/* ---- redirects -------------------------------------------------------------- */

bool
mcpi_curl_url_is_redirect(long status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 ||
           status == 308;
}

/* parsed is the URL of the request, and becomes the target. */
static int
target_read(CURLU *parsed, const char *location, char **ret_target, bool *ret_foreign)
{
    struct origin here, there = {.scheme = NULL};
    char *target = NULL;
    int r = 0;

    if (!origin_read(&here, parsed))
        r = MCP_E_NOMEM;
    if (r == 0)
        r = url_set(parsed, location, MCP_E_PROTO);
    if (r == 0 && (!origin_read(&there, parsed) || !origin_is_http(&there)))
        r = MCP_E_PROTO;
    if (r == 0 && curl_url_get(parsed, CURLUPART_URL, &target, 0) != CURLUE_OK)
        r = MCP_E_NOMEM;
    if (r == 0) {
        *ret_target = target;
        *ret_foreign = !origin_same(&here, &there);
    }
    origin_done(&here);
    origin_done(&there);
    return r;
}

static int
target_resolve(const struct mcpi_curl_redirect *redirect, char **ret_target,
               bool *ret_foreign)
{
    CURLU *parsed = curl_url();
    int r;

    if (!parsed)
        return MCP_E_NOMEM;
    r = url_set(parsed, redirect->url, MCP_E_PROTO);
    if (r == 0)
        r = target_read(parsed, redirect->location, ret_target, ret_foreign);
    curl_url_cleanup(parsed);
    return r;
}

/* NULL: none. */
static const char *
reason_against(const struct mcpi_curl_redirect *redirect, bool foreign)
{
    if (redirect->status == 303) /* means: GET it there */
        return "redirected by 303, which is not followed, to";
    if (foreign && !redirect->follow_any)
        return "redirected to another origin:";
    if (redirect->count >= MCPI_CURL_REDIRECTS_MAX)
        return "redirected too often, now to";
    return NULL;
}

/* What a URL asks for may be a secret. */
static int
shown(const char *url)
{
    size_t len = strcspn(url, "?#");

    return len < INT32_MAX ? (int)len : INT32_MAX;
}

int
mcpi_curl_url_redirect(const struct mcpi_curl_redirect *redirect, char **ret_target,
                       bool *ret_foreign, char *why, size_t size)
{
    const char *reason;
    char *target = NULL;
    bool foreign = false;
    int r;

    r = target_resolve(redirect, &target, &foreign);
    if (r < 0) {
        (void)snprintf(why, size, "redirected to what is no URL: %.*s",
                       shown(redirect->location), redirect->location);
        return r;
    }
    reason = reason_against(redirect, foreign);
    if (!reason) {
        *ret_target = target;
        *ret_foreign = foreign;
        return 0;
    }
    (void)snprintf(why, size, "%s %.*s", reason, shown(target), target);
    curl_free(target);
    return MCP_E_PROTO;
}
