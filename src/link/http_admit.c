/*
 * http_admit.c - is the head of a request worth a body?
 *
 * Who may come is decided by names that a browser cannot forge: Host against DNS
 * rebinding, Origin against pages of others (2026-07-28, transports/streamable-http,
 * Security & Endpoint). A refusal is a JSON-RPC error without an id: nobody has read
 * one yet.
 */
#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/mem.h"
#include "link/http_2024.h"
#include "link/http_endpoint.h"
#include "link/http_type.h"
#include "wire/rpc.h"

#define JSON_TYPE "application/json"

/* A page may send what we read. The star is for Mcp-Param-<name>, whose names are the
 * tools'; it does not stand for the credential, which is why that is named. */
#define CORS_HEADERS                                              \
    "content-type, accept, authorization, mcp-protocol-version, " \
    "mcp-session-id, mcp-method, mcp-name, last-event-id, *"
#define CORS_AGE "86400" /* browsers that keep it for less than a day cut it */

#define NOTICE_METHODS "GET, HEAD, OPTIONS"
#define NOTICE_AGE "300" /* s: who changes it does not wait long */

#define REFUSAL_KEEP 65536 /* a refusal's buffer above this is given back */

enum { CORS_FIELDS = 3 };

/* What answers to pages of one listed origin say besides. */
struct mcpi_cors {
    mcp_http_field fields[CORS_FIELDS]; /* up to one without a name */
    char *origin; /* in lower case, as browsers write it; "*": any */
};

/* ---- refusals -------------------------------------------------------------- */

static const mcp_http_field retry_later[] = {{"Retry-After", "1"}};

static void
refusal_write(struct mcpi_buf *into, const struct mcpi_id *id, int code,
              const char *message)
{
    static const struct mcpi_id none = {0};

    mcpi_buf_clear(into);
    mcpi_rpc_write_error(into, id ? id : &none, code, message, NULL, 0);
}

void
mcpi_http_refusal(struct mcpi_http_out *ret_out, struct mcpi_buf *into, int status,
                  const struct mcpi_id *id, int rpc_code, const char *message)
{
    static const char bare[] = "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,"
                               "\"message\":\"Out of memory\"}}";

    if (into->cap > REFUSAL_KEEP) { /* an id can be as long as a message */
        const mcp_allocator *mem = into->mem;
        size_t max = into->max;

        mcpi_buf_done(into);
        mcpi_buf_init(into, mem, max);
    }
    refusal_write(into, id, rpc_code, message);
    if (into->status < 0 && id)
        refusal_write(into, NULL, rpc_code, message);
    *ret_out = (struct mcpi_http_out){.status = status, .type = JSON_TYPE};
    ret_out->body = into->status == 0 ? into->data : bare;
    ret_out->body_len = into->status == 0 ? into->len : sizeof(bare) - 1;
    if (status == 429 || status == 503) {
        ret_out->fields = retry_later;
        ret_out->field_count = 1;
    }
}

/* ---- names of hosts and origins -------------------------------------------- */

static char
lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool
text_same(const char *a, const char *b, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (lower(a[i]) != lower(b[i]))
            return false;
    return true;
}

static bool
text_is(const char *text, size_t len, const char *other)
{
    return strlen(other) == len && text_same(text, other, len);
}

/* The name in host[:port], with the brackets of an IPv6 address; 0: there is none. Its
 * port, or -1 for none that can be one. */
static size_t
host_read(const char *text, int *ret_port)
{
    size_t len = *text == '[' ? strcspn(text, "]") + 1 : strcspn(text, ":");
    const char *at = text + len;
    int port = 0;

    *ret_port = 0;
    if (len > strlen(text))
        return 0;
    if (!*at)
        return len;
    if (*at++ != ':' || !*at)
        return 0;
    for (; *at; at++) {
        if (*at < '0' || *at > '9' || port > 65535)
            return 0;
        port = port * 10 + (*at - '0');
    }
    *ret_port = port > 65535 ? -1 : port;
    return len;
}

/* 127.0.0.0/8 in dotted decimals. */
static bool
is_loopback_v4(const char *text, size_t len)
{
    unsigned part = 0, parts = 0, digits = 0;

    if (len < 9 || memcmp(text, "127.", 4) != 0)
        return false;
    for (size_t i = 0; i <= len; i++) {
        if (i < len && text[i] >= '0' && text[i] <= '9') {
            part = part * 10 + (unsigned)(text[i] - '0');
            if (++digits > 3)
                return false;
        } else if (digits > 0 && part <= 255 && (i == len || text[i] == '.')) {
            part = digits = 0;
            parts++;
        } else {
            return false;
        }
    }
    return parts == 4;
}

static bool
is_loopback(const char *text, size_t len)
{
    return is_loopback_v4(text, len) || text_is(text, len, "localhost") ||
           text_is(text, len, "[::1]");
}

/* scheme://host[:port] */
struct origin {
    const char *scheme, *host;
    size_t scheme_len, host_len;
    int port;
};

/* The port that a URL of this scheme has without saying so; 0: not known. */
static int
scheme_port(const char *scheme, size_t len)
{
    if (text_is(scheme, len, "http"))
        return 80;
    return text_is(scheme, len, "https") ? 443 : 0;
}

static bool
origin_read(const char *text, struct origin *ret)
{
    const char *colon = strstr(text, "://");

    if (!colon)
        return false;
    ret->scheme = text;
    ret->scheme_len = (size_t)(colon - text);
    ret->host = colon + 3;
    ret->host_len = host_read(ret->host, &ret->port);
    if (ret->port == 0)
        ret->port = scheme_port(text, ret->scheme_len);
    return ret->host_len > 0 && ret->port >= 0;
}

static bool
origin_is(const char *said, const char *listed)
{
    struct origin a, b;

    if (!origin_read(said, &a) || !origin_read(listed, &b))
        return text_is(said, strlen(said), listed);
    return a.port == b.port && a.scheme_len == b.scheme_len &&
           a.host_len == b.host_len && text_same(a.scheme, b.scheme, a.scheme_len) &&
           text_same(a.host, b.host, a.host_len);
}

/* ---- origins that are listed ----------------------------------------------- */

/* As a browser writes it, or it does not take it for its own: in small letters, and
 * without the port that its scheme has anyway. */
static int
cors_init(struct mcpi_cors *cors, const mcp_allocator *mem, const char *origin)
{
    size_t len = strlen(origin);
    struct origin read;

    if (origin_read(origin, &read) && read.port != 0 &&
        read.port == scheme_port(read.scheme, read.scheme_len))
        len = (size_t)(read.host + read.host_len - origin);
    cors->origin = mcpi_alloc_zero(mem, len + 1);
    if (!cors->origin)
        return MCP_E_NOMEM;
    for (size_t i = 0; i < len; i++)
        cors->origin[i] = lower(origin[i]);
    cors->fields[0] = (mcp_http_field){"Access-Control-Allow-Origin", cors->origin};
    cors->fields[1] = (mcp_http_field){"Access-Control-Expose-Headers",
                                       "Mcp-Session-Id, WWW-Authenticate, "
                                       "DPoP-Nonce, Retry-After"};
    cors->fields[2] = (mcp_http_field){"Vary", "Origin"};
    return 0;
}

int
mcpi_endpoint_learn_origins(struct mcpi_endpoint *endpoint)
{
    const char *const *origins = endpoint->http->origins;
    size_t count = 0;
    int r;

    while (origins && origins[count])
        count++;
    if (count == 0)
        return 0;
    endpoint->cors = mcpi_alloc_zero(endpoint->mem, count * sizeof(*endpoint->cors));
    if (!endpoint->cors)
        return MCP_E_NOMEM;
    for (size_t i = 0; i < count; i++) {
        r = cors_init(&endpoint->cors[i], endpoint->mem, origins[i]);
        if (r < 0)
            return r;
        endpoint->cors_count++;
    }
    return 0;
}

void
mcpi_endpoint_forget_origins(struct mcpi_endpoint *endpoint)
{
    for (size_t i = 0; i < endpoint->cors_count; i++)
        mcpi_free(endpoint->mem, endpoint->cors[i].origin);
    mcpi_free(endpoint->mem, endpoint->cors);
}

static const struct mcpi_cors *
cors_find(const struct mcpi_endpoint *endpoint, const struct mcpi_http_known *known)
{
    const char *origin = known->value[MCPI_HTTP_ORIGIN];

    if (!origin || known->count[MCPI_HTTP_ORIGIN] > 1)
        return NULL;
    for (size_t i = 0; i < endpoint->cors_count; i++)
        if (strcmp(endpoint->cors[i].origin, "*") == 0 ||
            origin_is(origin, endpoint->cors[i].origin))
            return &endpoint->cors[i];
    return NULL;
}

void
mcpi_endpoint_greet_origin(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                           const struct mcpi_http_known *known)
{
    const struct mcpi_cors *cors = cors_find(endpoint, known);

    turn->nonce[0] = '\0';
    turn->fields = cors ? cors->fields : NULL;
    turn->field_count = cors ? CORS_FIELDS : 0;
}

/* ---- one head -------------------------------------------------------------- */

struct head {
    struct mcpi_endpoint *endpoint;
    const struct mcpi_http_in *in;
    const struct mcpi_http_known *known;
    const struct mcpi_cors *cors;
    bool is_2024;
    struct mcpi_http_out *out;
};

static void
head_say(struct head *head, const char *name, const char *value)
{
    struct mcpi_endpoint *endpoint = head->endpoint;
    size_t at = head->out->field_count;

    endpoint->said[at] = (mcp_http_field){name, value};
    head->out->fields = endpoint->said;
    head->out->field_count = at + 1;
}

static void
head_say_cors(struct head *head)
{
    for (size_t i = 0; head->cors && i < CORS_FIELDS && head->cors->fields[i].name; i++)
        head_say(head, head->cors->fields[i].name, head->cors->fields[i].value);
}

/* Always false, for who returns it. */
static bool
head_refuse(struct head *head, int status, const char *message)
{
    mcpi_endpoint_log_refusal(head->endpoint, head->in->address, status, message);
    mcpi_http_refusal(head->out, &head->endpoint->refusal, status, NULL,
                      MCPI_RPC_INVALID_REQUEST, message);
    assert(head->out->field_count == 0); /* fields are for another time to come */
    head_say_cors(head);
    return false;
}

static bool
path_is(const struct mcpi_http_in *in, const char *path)
{
    return path && strlen(path) == in->path_len &&
           memcmp(path, in->target, in->path_len) == 0;
}

static bool
head_check_path(struct head *head)
{
    const struct mcpi_endpoint *endpoint = head->endpoint;

    head->is_2024 = mcpi_http_2024_wants(endpoint, head->in);
    if (head->is_2024 || path_is(head->in, endpoint->http->path))
        return true;
    return head_refuse(head, 404, "Not found: nothing is served at this path");
}

static bool
host_is_ours(const struct mcpi_endpoint *endpoint, const char *host)
{
    const char *const *hosts = endpoint->http->hosts;
    size_t len;
    int port;

    if (!hosts && !endpoint->opt.loopback)
        return true;
    len = host ? host_read(host, &port) : 0;
    if (len == 0 || port < 0)
        return false;
    if (endpoint->opt.loopback && is_loopback(host, len))
        return true;
    for (; hosts && *hosts; hosts++)
        if (text_is(host, len, *hosts))
            return true;
    return false;
}

/* A page that this very server may have sent. */
static bool
origin_is_own(const struct mcpi_endpoint *endpoint, const char *text)
{
    struct origin origin;

    if (!endpoint->opt.loopback || !origin_read(text, &origin))
        return false;
    if (!text_is(origin.scheme, origin.scheme_len, "http") &&
        !text_is(origin.scheme, origin.scheme_len, "https"))
        return false;
    return is_loopback(origin.host, origin.host_len) &&
           (endpoint->opt.port == 0 || origin.port == endpoint->opt.port);
}

static bool
head_check_host(struct head *head)
{
    const struct mcpi_http_known *known = head->known;

    if (known->count[MCPI_HTTP_HOST] > 1)
        return head_refuse(head, 400, "Bad request: Host stands twice");
    if (!host_is_ours(head->endpoint, known->value[MCPI_HTTP_HOST]))
        return head_refuse(head, 403, "Forbidden: this Host is not ours");
    return true;
}

static bool
head_check_origin(struct head *head)
{
    const struct mcpi_endpoint *endpoint = head->endpoint;
    const struct mcpi_http_known *known = head->known;
    const char *origin = known->value[MCPI_HTTP_ORIGIN];

    if (!origin || head->cors)
        return true;
    if (known->count[MCPI_HTTP_ORIGIN] > 1 || !origin_is_own(endpoint, origin))
        return head_refuse(head, 403, "Forbidden: this Origin may not call");
    return true;
}

/* What means something here: sessions have streams and can be ended. */
static const char *
allowed_methods(const struct head *head)
{
    const struct mcpi_endpoint *endpoint = head->endpoint;

    if (head->is_2024)
        return "GET, POST";
    if (!endpoint->opt.legacy || endpoint->http->stateless)
        return "POST";
    return endpoint->http->json ? "POST, DELETE" : "GET, POST, DELETE";
}

/* Those of HTTP itself (RFC 9110, 9.1), and PATCH. */
static bool
method_is_known(const struct mcpi_http_in *in)
{
    static const char *const others[] = {"PUT", "PATCH", "TRACE", "CONNECT"};

    if (in->method != MCPI_HTTP_OTHER)
        return true;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(in->method_name, others[i]) == 0)
            return true;
    return false;
}

static bool
head_refuse_method(struct head *head, const char *allowed)
{
    if (!method_is_known(head->in))
        return head_refuse(head, 501, "Not implemented: this method is not known");
    (void)head_refuse(head, 405, "Method not allowed");
    head_say(head, "Allow", allowed);
    return false;
}

/* A browser asks for a page of a more public network than ours is of (Private Network
 * Access). Who may call may do so from there. */
static void
head_say_private(struct head *head)
{
    const char *asks = mcpi_http_get(head->in, "access-control-request-private-network",
                                     NULL);

    if (asks && strcmp(asks, "true") == 0)
        head_say(head, "Access-Control-Allow-Private-Network", "true");
}

static bool
head_preflight(struct head *head)
{
    *head->out = (struct mcpi_http_out){.status = 204};
    if (head->cors) {
        head_say_cors(head);
        head_say(head, "Access-Control-Allow-Methods", allowed_methods(head));
        head_say(head, "Access-Control-Allow-Headers", CORS_HEADERS);
        head_say(head, "Access-Control-Max-Age", CORS_AGE);
        head_say_private(head);
    }
    return false;
}

static bool
head_check_method(struct head *head)
{
    const struct mcpi_endpoint *endpoint = head->endpoint;
    bool sessions = endpoint->opt.legacy && !endpoint->http->stateless;

    switch (head->in->method) {
    case MCPI_HTTP_POST:
        return true;
    case MCPI_HTTP_GET:
        if (head->is_2024 || (sessions && !endpoint->http->json))
            return true;
        break;
    case MCPI_HTTP_DELETE:
        if (sessions && !head->is_2024)
            return true;
        break;
    case MCPI_HTTP_OPTIONS:
        if (head->known->value[MCPI_HTTP_ORIGIN] &&
            head->known->value[MCPI_HTTP_PREFLIGHT])
            return head_preflight(head);
        break;
    case MCPI_HTTP_HEAD:
    case MCPI_HTTP_OTHER:
        break;
    }
    return head_refuse_method(head, allowed_methods(head));
}

/* A body may announce that it is sent as it is, and in no other coding. */
static bool
head_check_coding(struct head *head)
{
    const struct mcpi_http_known *known = head->known;
    const char *coding = known->value[MCPI_HTTP_CONTENT_CODING];

    if (!coding || (known->count[MCPI_HTTP_CONTENT_CODING] == 1 &&
                    (!*coding || strcasecmp(coding, "identity") == 0)))
        return true;
    (void)head_refuse(head, 415,
                      "Unsupported media type: Content-Encoding must be identity");
    head_say(head, "Accept-Encoding", "identity");
    return false;
}

static bool
head_check_expect(struct head *head)
{
    const struct mcpi_http_known *known = head->known;
    const char *expects = known->value[MCPI_HTTP_EXPECT];

    if (!expects || (known->count[MCPI_HTTP_EXPECT] == 1 &&
                     (!*expects || strcasecmp(expects, "100-continue") == 0)))
        return true;
    return head_refuse(head, 417, "Expectation failed: only 100-continue is known");
}

static bool
head_check_body_type(struct head *head)
{
    const struct mcpi_http_known *known = head->known;
    enum mcpi_http_type type = mcpi_http_type_of(known->value[MCPI_HTTP_CONTENT_TYPE]);

    if (known->count[MCPI_HTTP_CONTENT_TYPE] != 1 || type == MCPI_TYPE_OTHER)
        return head_refuse(
            head, 415, "Unsupported media type: Content-Type must be application/json");
    if (type == MCPI_TYPE_CHARSET)
        return head_refuse(
            head, 415,
            "Unsupported media type: the charset of Content-Type must be utf-8");
    return head_check_coding(head);
}

/* The specification wants both types named; we take what is there. */
static bool
head_check_types(struct head *head)
{
    const struct mcpi_http_known *known = head->known;
    const struct mcpi_http_in *in = head->in;

    if (in->method == MCPI_HTTP_GET && !(mcpi_http_accepts(in, known) & MCPI_HTTP_SSE))
        return head_refuse(head, 406,
                           "Not acceptable: Accept must allow text/event-stream");
    if (in->method != MCPI_HTTP_POST)
        return true;
    if (!head_check_body_type(head))
        return false;
    if (!head->is_2024 && mcpi_http_accepts(in, known) == 0)
        return head_refuse(head, 406,
                           "Not acceptable: Accept must allow application/json and "
                           "text/event-stream");
    return true;
}

/* ---- what everybody may read ----------------------------------------------- */

static bool
head_is_notice(const struct head *head)
{
    const struct mcpi_http_notice *notice = head->endpoint->opt.notice;

    return notice &&
           (path_is(head->in, notice->path) || path_is(head->in, notice->other_path));
}

static bool
head_notice_options(struct head *head)
{
    *head->out = (struct mcpi_http_out){.status = 204};
    head_say_cors(head);
    head_say(head, "Access-Control-Allow-Methods", NOTICE_METHODS);
    head_say(head, "Access-Control-Allow-Headers", "mcp-protocol-version, *");
    head_say(head, "Access-Control-Max-Age", CORS_AGE);
    head_say(head, "Allow", NOTICE_METHODS);
    head_say_private(head);
    return false;
}

/* Any page may read it: there is nothing in it that is not for everybody. */
static bool
head_notice(struct head *head)
{
    static const struct mcpi_cors any = {
        .fields = {{"Access-Control-Allow-Origin", "*"}}};
    const struct mcpi_http_notice *notice = head->endpoint->opt.notice;
    enum mcpi_http_method method = head->in->method;

    head->cors = &any;
    if (!head_check_host(head))
        return false;
    if (method == MCPI_HTTP_OPTIONS)
        return head_notice_options(head);
    if (method != MCPI_HTTP_GET && method != MCPI_HTTP_HEAD)
        return head_refuse_method(head, NOTICE_METHODS);
    *head->out = (struct mcpi_http_out){.status = 200,
                                        .type = JSON_TYPE,
                                        .body = notice->text,
                                        .body_len = notice->len};
    head_say_cors(head);
    head_say(head, "Cache-Control", "public, max-age=" NOTICE_AGE);
    return false;
}

bool
mcpi_endpoint_check_head(struct mcpi_endpoint *endpoint, const struct mcpi_http_in *in,
                         uint64_t body_len, struct mcpi_http_out *ret_out)
{
    struct mcpi_http_known room;
    struct head head = {.endpoint = endpoint,
                        .in = in,
                        .known = mcpi_http_known_of(in, &room),
                        .out = ret_out};

    head.cors = cors_find(endpoint, head.known);
    if (head_is_notice(&head))
        return head_notice(&head);
    if (!head_check_path(&head) || !head_check_host(&head) ||
        !head_check_origin(&head) || !head_check_method(&head) ||
        !head_check_expect(&head) || !head_check_types(&head))
        return false;
    if (body_len > endpoint->http->body_bytes)
        return head_refuse(&head, 413, "Content too large");
    return true;
}
