/* http_settings.c - the options of HTTP: read, checked, complete, and kept */
#include "api/http_settings.h"

#include <string.h>

#include "auth/guard.h"
#include "base/mem.h"
#include "base/text.h"

#define DEFAULT_HOST "127.0.0.1"
#define DEFAULT_PATH "/mcp"
#define DEFAULT_MESSAGE_PATH "/message"
/* More loop threads than any machine has use for. */
#define THREADS_MAX 1024
/* A name of DNS is shorter; with a path as long the URL still fits. */
#define NAME_MAX_BYTES 253
#define PATH_MAX_BYTES 200
#define ORIGIN_MAX_BYTES 300 /* a scheme, a name, a port */
/* A century is for ever, and its microseconds are a number. */
#define TIME_MAX_MS (INT64_C(100) * 365 * 24 * 3600 * 1000)
/* A list that is longer is a mistake. */
#define LIST_MAX 1024

/* Proxies give up on a quiet stream after a minute, some after 30 s: two pings are in
 * there. */
#define DEFAULT_PING_MS 15000
#define DEFAULT_HEAD_MS 10000 /* a head is one packet; a slow line has time for ten */
#define DEFAULT_BODY_MS 60000 /* 16 MiB over a line of 2 Mbit/s */
/* Longer than proxies keep a connection for (60 s), so that they close it, not we while
 * they send. */
#define DEFAULT_IDLE_MS 75000
#define DEFAULT_WRITE_MS 30000 /* as long as TCP tries before a person gives up */
#define DEFAULT_SESSION_IDLE_MS (30 * INT64_C(60000)) /* a long lunch, and a restart */
#define DEFAULT_RETRY_MS 1000 /* soon for a person, and no storm after a restart */
/* With the default of hard limits on descriptors (524288) far from them, and what 1 GiB
 * carries. */
#define DEFAULT_CONNECTIONS 16384
#define DEFAULT_SESSIONS 10000
/* One GET and one for each tool call of a busy host that lost its line. */
#define DEFAULT_SESSION_STREAMS 64
#define DEFAULT_BODY_BYTES ((size_t)16 * 1024 * 1024) /* a photo in Base64, twice */
#define DEFAULT_HEAD_BYTES ((size_t)32 * 1024) /* cookies, tokens; others: 8-64 */

/* ---- texts -------------------------------------------------------------- */

static int
wrong(mcp_error *err, const char *member, const char *why)
{
    return mcpi_error_set(err, MCP_E_INVAL, "HTTP option %s: %s", member, why);
}

/* A name or an address; IPv6 also in brackets, as in a URL. */
static int
host_check(const char *host, mcp_error *err)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789.:-_%[]";
    size_t len = strlen(host);

    if (len == 0 || len > NAME_MAX_BYTES || strspn(host, letters) != len ||
        (host[0] == '[') != (host[len - 1] == ']'))
        return wrong(err, "host", "must be a name or an address");
    return 0;
}

/* As a request line has it: no query, nothing that ends a word. */
static int
path_check(const char *path, const char *member, mcp_error *err)
{
    size_t len = strlen(path);

    if (path[0] != '/' || len > PATH_MAX_BYTES)
        return wrong(err, member, "must begin with / and have 200 bytes at most");
    for (size_t i = 0; i < len; i++) {
        if (path[i] <= ' ' || path[i] > '~' || strchr("?#\"<>\\^`{|}", path[i]))
            return wrong(err, member, "has characters that do not belong in a path");
    }
    return 0;
}

/* A list whose entries are of that kind; NULL is none. */
static int
list_check(const char *const *list, const char *member,
           bool (*is_good)(const char *entry), const char *why, mcp_error *err)
{
    size_t count = 0;

    for (; list && list[count]; count++) {
        if (count == LIST_MAX)
            return wrong(err, member, "is too long, or has no NULL at its end");
        if (!is_good(list[count]))
            return wrong(err, member, why);
    }
    return 0;
}

/* One colon is a port, which would never match; addresses have more. */
static bool
is_host(const char *entry)
{
    const char *colon = strchr(entry, ':');

    return host_check(entry, NULL) == 0 && (!colon || strchr(colon + 1, ':'));
}

/* "null" is what a page without an origin says: nothing that could be trusted. */
static bool
is_origin(const char *entry)
{
    const char *scheme = strstr(entry, "://");

    if (strcmp(entry, "*") == 0)
        return true;
    return scheme && scheme != entry && scheme[3] && !strchr(scheme + 3, '/') &&
           !strpbrk(entry, " \t\r\n,") && strlen(entry) <= ORIGIN_MAX_BYTES;
}

static bool
is_header(const char *entry)
{
    return mcpi_text_is_token(entry, strlen(entry));
}

static int
texts_check(const mcp_http_options *opt, mcp_error *err)
{
    int r;

    r = host_check(opt->host, err);
    if (r == 0)
        r = path_check(opt->path, "path", err);
    if (r == 0 && opt->sse_path)
        r = path_check(opt->sse_path, "sse_path", err);
    if (r == 0)
        r = path_check(opt->message_path, "message_path", err);
    if (r == 0)
        r = list_check(opt->hosts, "hosts", is_host,
                       "an entry must be a name or an address, without a port", err);
    if (r == 0)
        r = list_check(opt->origins, "origins", is_origin,
                       "an entry must be * or like https://app.example", err);
    if (r == 0)
        r = list_check(opt->headers, "headers", is_header,
                       "an entry must be the name of a header", err);
    if (r < 0 || !opt->sse_path)
        return r;
    if (strcmp(opt->sse_path, opt->path) == 0 ||
        strcmp(opt->message_path, opt->path) == 0 ||
        strcmp(opt->message_path, opt->sse_path) == 0)
        return wrong(err, "sse_path", "path, sse_path and message_path must differ");
    return 0;
}

/* ---- numbers ------------------------------------------------------------ */

static void
default_text(const char **value, const char *otherwise)
{
    if (!*value)
        *value = otherwise;
}

static void
default_size(size_t *value, size_t otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

/* least: 0, or -1 where that turns something off. */
static int
time_take(int64_t *value, int64_t otherwise, int least, const char *member,
          mcp_error *err)
{
    if (*value < least)
        return wrong(err, member, "a time must not be negative");
    if (*value == 0)
        *value = otherwise;
    if (*value > TIME_MAX_MS)
        *value = TIME_MAX_MS;
    return 0;
}

static int
times_take(mcp_http_options *opt, mcp_error *err)
{
    int r;

    r = time_take(&opt->retry_ms, DEFAULT_RETRY_MS, 0, "retry_ms", err);
    if (r == 0)
        r = time_take(&opt->ping_ms, DEFAULT_PING_MS, -1, "ping_ms", err);
    if (r == 0)
        r = time_take(&opt->head_ms, DEFAULT_HEAD_MS, 0, "head_ms", err);
    if (r == 0)
        r = time_take(&opt->body_ms, DEFAULT_BODY_MS, 0, "body_ms", err);
    if (r == 0)
        r = time_take(&opt->idle_ms, DEFAULT_IDLE_MS, 0, "idle_ms", err);
    if (r == 0)
        r = time_take(&opt->write_ms, DEFAULT_WRITE_MS, 0, "write_ms", err);
    if (r == 0)
        r = time_take(&opt->session_idle_ms, DEFAULT_SESSION_IDLE_MS, -1,
                      "session_idle_ms", err);
    return r;
}

static void
limits_take(mcp_http_options *opt)
{
    default_size(&opt->connections, DEFAULT_CONNECTIONS);
    default_size(&opt->sessions, DEFAULT_SESSIONS);
    default_size(&opt->session_streams, DEFAULT_SESSION_STREAMS);
    default_size(&opt->body_bytes, DEFAULT_BODY_BYTES);
    default_size(&opt->head_bytes, DEFAULT_HEAD_BYTES);
}

/* ---- all of them -------------------------------------------------------- */

static int
store_take(const mcp_http_options *opt, mcp_event_store *store, mcp_error *err)
{
    if (!opt->store)
        return 0;
    if (mcpi_options_read(store, sizeof(*store), opt->store) < 0)
        return wrong(err, "store", "has no size, or another");
    if (!store->append || !store->replay || !store->forget)
        return wrong(err, "store", "lacks a function");
    return 0;
}

/* A guard is a hook that we know. */
static int
guard_take(mcp_http_options *opt, mcp_error *err)
{
    if (!opt->guard)
        return 0;
    if (opt->identify)
        return wrong(err, "guard", "identify asks already who comes");
    opt->identify = mcpi_guard_identify;
    opt->identify_user = opt->guard;
    return 0;
}

static int
options_take(mcp_http_options *opt, mcp_event_store *store, mcp_error *err)
{
    int r;

    default_text(&opt->host, DEFAULT_HOST);
    default_text(&opt->path, DEFAULT_PATH);
    default_text(&opt->message_path, DEFAULT_MESSAGE_PATH);
    if (opt->threads == 0)
        opt->threads = 1;
    limits_take(opt);
    if (opt->port < 0 || opt->port > 65535)
        return wrong(err, "port", "must be from 0 to 65535");
    if (opt->threads > THREADS_MAX)
        return wrong(err, "threads", "must be 1024 at most");
    if (!opt->tls_certificate != !opt->tls_key)
        return wrong(err, opt->tls_key ? "tls_certificate" : "tls_key",
                     "certificate and key go together");
    r = texts_check(opt, err);
    if (r == 0)
        r = times_take(opt, err);
    if (r == 0)
        r = store_take(opt, store, err);
    if (r == 0)
        r = guard_take(opt, err);
    return r;
}

/* ---- kept --------------------------------------------------------------- */

static size_t
list_count(const char *const *list)
{
    size_t count = 0;

    while (list && list[count])
        count++;
    return count;
}

static size_t
text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

static size_t
list_size(const char *const *list)
{
    size_t size = 0;

    for (size_t i = 0; i < list_count(list); i++)
        size += text_size(list[i]);
    return size;
}

/* Pointers first, because they must stand where pointers may. */
static size_t
slots_size(const mcp_http_options *opt)
{
    return (list_count(opt->hosts) + list_count(opt->origins) +
            list_count(opt->headers) + 3) *
           sizeof(char *);
}

static size_t
texts_size(const mcp_http_options *opt)
{
    return text_size(opt->host) + text_size(opt->path) +
           text_size(opt->tls_certificate) + text_size(opt->tls_key) +
           text_size(opt->sse_path) + text_size(opt->message_path) +
           list_size(opt->hosts) + list_size(opt->origins) + list_size(opt->headers);
}

static void
text_keep(const char **text, char **at)
{
    *text = mcpi_text_stow(at, *text, *text ? strlen(*text) : 0);
}

static void
list_keep(const char *const **list, const char ***slots, char **at)
{
    const char **kept = *slots;
    size_t count = 0;

    if (!*list)
        return;
    for (; (*list)[count]; count++)
        kept[count] = mcpi_text_stow(at, (*list)[count], strlen((*list)[count]));
    kept[count] = NULL;
    *slots += count + 1;
    *list = kept;
}

static void
texts_keep(mcp_http_options *opt, void *room)
{
    const char **slots = room;
    char *at = (char *)room + slots_size(opt);

    list_keep(&opt->hosts, &slots, &at);
    list_keep(&opt->origins, &slots, &at);
    list_keep(&opt->headers, &slots, &at);
    text_keep(&opt->host, &at);
    text_keep(&opt->path, &at);
    text_keep(&opt->tls_certificate, &at);
    text_keep(&opt->tls_key, &at);
    text_keep(&opt->sse_path, &at);
    text_keep(&opt->message_path, &at);
}

int
mcpi_http_settings_new(const mcp_allocator *mem, const mcp_http_options *given,
                       struct mcpi_http_settings **ret_settings, mcp_error *err)
{
    mcp_event_store store = {0};
    struct mcpi_http_settings *settings;
    mcp_http_options opt;
    int r;

    if (mcpi_options_read(&opt, sizeof(opt), given) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "these are no options of HTTP");
    r = options_take(&opt, &store, err);
    if (r < 0)
        return r;
    settings = mcpi_alloc_zero(mem,
                               sizeof(*settings) + slots_size(&opt) + texts_size(&opt));
    if (!settings)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    settings->mem = mem;
    atomic_init(&settings->refs, 1);
    settings->store = store;
    texts_keep(&opt, settings + 1);
    settings->http = opt;
    settings->http.size = sizeof(settings->http);
    if (opt.store)
        settings->http.store = &settings->store;
    *ret_settings = settings;
    return 0;
}

struct mcpi_http_settings *
mcpi_http_settings_ref(struct mcpi_http_settings *settings)
{
    atomic_fetch_add_explicit(&settings->refs, 1, memory_order_relaxed);
    return settings;
}

void
mcpi_http_settings_unref(struct mcpi_http_settings *settings)
{
    if (settings &&
        atomic_fetch_sub_explicit(&settings->refs, 1, memory_order_acq_rel) == 1)
        mcpi_free(settings->mem, settings);
}
