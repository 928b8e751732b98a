/*
 * curl.h - a fetcher over libcurl, on the loop
 *
 * One multi handle, its sockets watched by uv_poll, its one timeout among the loop's
 * deadlines. HTTP/1.1, unless libcurl is 8.15.0 or newer: before that an aborted
 * request of HTTP/2 is not reset on the wire, and the server works on. No cap on
 * connections: a cancel must not queue behind what it is to cancel. Easy handles are
 * used again, and connections that were not idle for longer than 4 s.
 *
 * A POST of which a byte has left is never sent again, whatever becomes of its
 * connection (B29), but for a redirect that is followed; other methods may be repeated
 * once a connection that was used before turns out to be dead.
 *
 * Who may not go near (`nearest`) is held up where sockets are opened, for each address
 * that is tried, and again when a connection is there, for it may be one that was kept.
 * Over a proxy only an address in the URL itself is looked at. A proxy is known by its
 * port, which is not the URL's; if it is, the proxy must not be too near either.
 *
 * What is plain http to loopback, as the URL has it, goes over no proxy, whoever names
 * one: it is not for others to read, and who may go there is looked at.
 */
#ifndef MCPI_RUN_CURL_H
#define MCPI_RUN_CURL_H

#include "run/fetch.h"
#include "run/loop.h"

/* Zero or NULL means the default; texts are copied. */
struct mcpi_curl_options {
    struct mcpi_loop *loop;
    const char *proxy;             /* a URL; NULL: as the environment says; "": none;
                                        not used for http to loopback */
    const char *no_proxy;          /* hosts, with commas between */
    const char *ca_file, *ca_path; /* whom to trust; both NULL: as the system does */
    const char *cert_file, *key_file, *key_password; /* of ours; PEM */
    bool no_verify;  /* any certificate of a server will do: for tests only */
    bool follow_any; /* redirects to other origins too; but Authorization, Cookie, DPoP
                             and Mcp-Session-Id do not go along */
    int64_t connect_us; /* name, connection and TLS: 10 s */
    size_t head_bytes;  /* longest head of an answer, with all that is provisional and
                           all trailers: 64 KiB */
    size_t idle_connections; /* kept for later, until the server closes them: 64 */
    /* For tests. Names whose addresses are known: lines "host:port:address", with more
     * addresses behind commas, NULL at the end. And who is told where each connection
     * goes, and may send it elsewhere: *address is a copy with room for any; what it was
     * counts as where it is, whatever it becomes. */
    const char *const *resolve;
    void (*connecting)(void *user, struct sockaddr *address);
    void *connecting_user;
};

/* Redirects that are followed, one after the other. */
#define MCPI_CURL_REDIRECTS_MAX 5

/* MCP_E_INVAL: a file that is none, or what this libcurl cannot do; MCP_E_NOMEM. err
 * may be NULL. [loop] */
int mcpi_curl_new(const struct mcpi_curl_options *opt,
                  struct mcpi_fetcher **ret_fetcher, mcp_error *err);

/* Aborts what is under way. The loop keeps a little memory for one more turn, or until
 * it is freed. Not from inside a callback of its own. NULL ok. [loop] */
void mcpi_curl_free(struct mcpi_fetcher *fetcher);

#endif
