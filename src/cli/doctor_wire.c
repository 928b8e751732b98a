/* doctor_wire.c - a connection for HTTP/1.1, plain or under TLS, for bytes as they are */
#include "cli/doctor_wire.h"

#include <poll.h>

#include <curl/curl.h>

#include "cli/clock.h"
#include "cli/error.h"

#define SLICE_MS 50 /* between two looks at whether somebody has lost patience */

static bool
is_canceled(const struct cli_wire *wire)
{
    return wire->scope && mcp_scope_is_over(wire->scope);
}

/* ---- opening -------------------------------------------------------------------- */

/* libcurl calls it about once a second, and oftener when something happens. */
static int
on_tick(void *user, curl_off_t download, curl_off_t now, curl_off_t upload,
        curl_off_t sent)
{
    (void)download;
    (void)now;
    (void)upload;
    (void)sent;
    return is_canceled(user);
}

static CURLcode
set_up(CURL *curl, const char *origin, const struct cli_way *way, struct cli_wire *wire,
       char *message)
{
    const struct {
        CURLoption option;
        long value;
    } numbers[] = {
        {CURLOPT_CONNECT_ONLY, 1},
        {CURLOPT_NOSIGNAL, 1},
        {CURLOPT_NOPROGRESS, 0},
        {CURLOPT_HTTPPROXYTUNNEL, 1}, /* a proxy is not to read what no client sends */
        {CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1},
        {CURLOPT_CONNECTTIMEOUT_MS, (long)way->timeout_ms},
        {CURLOPT_SSL_VERIFYPEER, !way->insecure},
        {CURLOPT_SSL_VERIFYHOST, way->insecure ? 0 : 2},
    };
    CURLcode code = curl_easy_setopt(curl, CURLOPT_URL, origin);

    for (size_t i = 0; code == CURLE_OK && i < sizeof(numbers) / sizeof(numbers[0]);
         i++)
        code = curl_easy_setopt(curl, numbers[i].option, numbers[i].value);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    if (code == CURLE_OK && way->ca)
        code = curl_easy_setopt(curl, CURLOPT_CAINFO, way->ca);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_XFERINFOFUNCTION, on_tick);
    if (code == CURLE_OK)
        code = curl_easy_setopt(curl, CURLOPT_XFERINFODATA, wire);
    return code;
}

int
cli_wire_open(struct cli_wire *wire, const char *origin, const struct cli_way *way,
              mcp_error *err)
{
    char message[CURL_ERROR_SIZE] = "";
    curl_socket_t fd = -1;
    CURL *curl = curl_easy_init();
    CURLcode code;

    *wire = (struct cli_wire){.fd = -1, .scope = way->scope};
    wire->until = cli_now_ms() + way->timeout_ms;
    if (!curl)
        return cli_error_of(err, MCP_E_NOMEM);
    code = set_up(curl, origin, way, wire, message);
    if (code == CURLE_OK)
        code = curl_easy_perform(curl);
    if (code == CURLE_OK)
        code = curl_easy_getinfo(curl, CURLINFO_ACTIVESOCKET, &fd);
    /* the message is gone with this function */
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, NULL);
    if (code == CURLE_OK && fd >= 0) {
        wire->curl = curl;
        wire->fd = (int)fd;
        return 0;
    }
    curl_easy_cleanup(curl);
    if (code == CURLE_OUT_OF_MEMORY)
        return cli_error_of(err, MCP_E_NOMEM);
    if (is_canceled(wire))
        return cli_error_of(err, MCP_E_CANCELED);
    return cli_error(err, MCP_E_SEND_FAILED, "there is no connection: %s",
                     *message ? message : curl_easy_strerror(code));
}

/* ---- bytes ---------------------------------------------------------------------- */

/* 0: something can be done; else why not, and late says so in words. */
static int
wait_for(const struct cli_wire *wire, short events, const char *late, mcp_error *err)
{
    struct pollfd poll_fd = {.fd = wire->fd, .events = events};

    for (;;) {
        if (is_canceled(wire))
            return cli_error_of(err, MCP_E_CANCELED);
        if (cli_now_ms() >= wire->until)
            return cli_error(err, MCP_E_TIMEOUT, "%s", late);
        if (poll(&poll_fd, 1, SLICE_MS) > 0)
            return 0;
    }
}

int
cli_wire_send(struct cli_wire *wire, const char *data, size_t length, mcp_error *err)
{
    size_t sent = 0, n;
    CURLcode code;
    int r = 0;

    while (r == 0 && sent < length) {
        n = 0;
        code = curl_easy_send(wire->curl, data + sent, length - sent, &n);
        sent += n;
        if (code == CURLE_AGAIN)
            r = wait_for(wire, POLLOUT, "it does not read what is sent", err);
        else if (code != CURLE_OK)
            r = cli_error(err, MCP_E_CLOSED, "it went away: %s",
                          curl_easy_strerror(code));
    }
    return r;
}

int
cli_wire_read(struct cli_wire *wire, char *into, size_t room, size_t *ret_length,
              mcp_error *err)
{
    CURLcode code;
    size_t n = 0;
    int r;

    for (;;) {
        code = curl_easy_recv(wire->curl, into, room, &n);
        if (code == CURLE_OK) {
            *ret_length = n;
            return 0;
        }
        if (code != CURLE_AGAIN)
            return cli_error(err, MCP_E_CLOSED, "it went away: %s",
                             curl_easy_strerror(code));
        r = wait_for(wire, POLLIN, "there is no whole answer in time", err);
        if (r < 0)
            return r;
    }
}

void
cli_wire_close(struct cli_wire *wire)
{
    curl_easy_cleanup(wire->curl);
    wire->curl = NULL;
    wire->fd = -1;
}
