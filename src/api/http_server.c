/*
 * http_server.c - a server listens on a port
 *
 * What can fail for a reason of the caller's fails on its thread: options, certificate,
 * port. The rest is the loops', and is posted.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/http_service.h"
#include "base/mem.h"
#include "base/text.h"
#include "link/http_listener.h"

/* An address as getaddrinfo wants it: without brackets. */
static void
host_bare(const char *host, char into[MCP_HTTP_URL_MAX])
{
    size_t len = strlen(host);
    bool bracketed = host[0] == '[' && len > 2;

    (void)snprintf(into, MCP_HTTP_URL_MAX, "%.*s", (int)(bracketed ? len - 2 : len),
                   host + bracketed);
}

static void
url_write(const mcp_http_options *http, int port, char *into)
{
    char host[MCP_HTTP_URL_MAX];
    bool is_v6;

    host_bare(http->host, host);
    is_v6 = strchr(host, ':') != NULL;
    (void)snprintf(into, MCP_HTTP_URL_MAX, "%s://%s%.253s%s:%d%.200s",
                   http->tls_certificate ? "https" : "http", is_v6 ? "[" : "", host,
                   is_v6 ? "]" : "", port, http->path);
}

static void
sockets_close(const int *fds, unsigned count)
{
    while (count-- > 0)
        close(fds[count]);
}

/* One for each loop, all on one port. */
static int
sockets_open(const mcp_http_options *http, int *fds, int *ret_port, bool *ret_loopback,
             mcp_error *err)
{
    enum mcpi_http_share share = http->threads > 1 ? MCPI_HTTP_FIRST : MCPI_HTTP_ALONE;
    char host[MCP_HTTP_URL_MAX];
    int port = http->port;
    unsigned count = 0;
    int r = 0;

    host_bare(http->host, host);
    while (r == 0 && count < http->threads) {
        r = mcpi_http_listen(host, &port, share, &fds[count], ret_loopback, err);
        share = MCPI_HTTP_NEXT;
        count += r == 0;
    }
    if (r < 0)
        sockets_close(fds, count);
    *ret_port = port;
    return r;
}

static int
settings_listen(mcp_server *server, struct mcpi_http_settings *settings,
                struct mcpi_tls_context *tls, char *ret_url, mcp_error *err)
{
    const mcp_http_options *http = &settings->http;
    const mcp_allocator *mem = server->trunk.host.mem;
    struct mcpi_http_service_options opt = {
        .server = server, .settings = settings, .tls = tls, .shards = http->threads};
    int *fds;
    int r;

    fds = mcpi_alloc(mem, http->threads * sizeof(fds[0]));
    if (!fds)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    opt.take_fds = fds;
    r = sockets_open(http, fds, &opt.port, &opt.loopback, err);
    if (r == 0) {
        r = mcpi_http_service_open(&opt, NULL, err);
        if (r < 0)
            sockets_close(fds, http->threads);
    }
    if (r == 0 && ret_url)
        url_write(http, opt.port, ret_url);
    mcpi_free(mem, fds);
    return r;
}

int
mcp_server_listen_http(mcp_server *server, const mcp_http_options *given, char *ret_url,
                       mcp_error *err)
{
    struct mcpi_http_settings *settings;
    struct mcpi_tls_context *tls = NULL;
    int r;

    r = mcpi_links_guard(server, err);
    if (r < 0)
        return r;
    r = mcpi_http_settings_new(server->trunk.host.mem, given, &settings, err);
    if (r < 0)
        return r;
    if (settings->http.tls_certificate)
        r = mcpi_tls_context_new(server->trunk.host.mem, settings->http.tls_certificate,
                                 settings->http.tls_key, &tls, err);
    if (r == 0)
        r = settings_listen(server, settings, tls, ret_url, err);
    mcpi_tls_context_unref(tls);
    mcpi_http_settings_unref(settings);
    return r;
}
