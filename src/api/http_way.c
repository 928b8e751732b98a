/* http_way.c - the way of a client over HTTP */
#include "api/http_way.h"

#include <string.h>

#include "api/mirrors.h"
#include "api/time.h"
#include "auth/client.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/engine.h"
#include "link/http_client.h"
#include "run/curl.h"

struct http_way {
    struct mcpi_way way;
    const mcp_allocator *mem;
    const char *url;             /* in this block, as all texts of opt are */
    mcp_http_client_options opt; /* without headers, names and auth */
    mcp_auth_options *auth;      /* or NULL */
    struct mcpi_buf fields;      /* these */
    struct mcpi_buf names;

    /* Open. */
    struct mcpi_loop *loop;
    struct mcpi_mirrors *mirrors;
    struct mcpi_fetcher *fetcher;
    struct mcpi_auth_client *authorization; /* or NULL */
    struct mcpi_http_client *client;
    struct mcpi_flush closing;
};

/* ---- on the loop --------------------------------------------------------- */

/* The link goes when the client hears of it, and not before: until then it is asked. */
static void
way_closed(struct http_way *way)
{
    mcpi_http_client_free(way->client);
    way->client = NULL;
    mcpi_curl_free(way->fetcher);
    way->fetcher = NULL;
    way->way.closed(way->way.user);
}

static void
authorization_closed(void *user)
{
    struct http_way *way = user;

    way->authorization = NULL;
    way_closed(way);
}

/* At the end of the turn: nothing of the fetcher's own is on the stack. What authorization
 * is at may take longer: functions of the program's that have to return. */
static void
way_end(struct mcpi_flush *flush)
{
    struct http_way *way = MCPI_CONTAINER(flush, struct http_way, closing);

    if (way->authorization)
        mcpi_auth_client_close(way->authorization, authorization_closed, way);
    else
        way_closed(way);
}

static void
link_closed(void *user, struct mcpi_http_client *client)
{
    struct http_way *way = user;

    (void)client;
    mcpi_loop_flush(way->loop, &way->closing);
}

static const struct mcpi_mirror *
mirror_find(void *user, const char *tool)
{
    struct http_way *way = user;

    return mcpi_mirrors_find(way->mirrors, tool);
}

static int
open_fetcher(struct http_way *way, mcp_error *err)
{
    const mcp_http_client_options *opt = &way->opt;
    const struct mcpi_curl_options curl = {
        .loop = way->loop,
        .proxy = opt->proxy,
        .no_proxy = opt->no_proxy,
        .ca_file = opt->tls_ca_file,
        .ca_path = opt->tls_ca_path,
        .cert_file = opt->tls_certificate,
        .key_file = opt->tls_key,
        .key_password = opt->tls_key_password,
        .no_verify = opt->tls_no_verify,
        .follow_any = opt->follow_any,
        .connect_us = mcpi_ms(opt->connect_ms),
        .head_bytes = opt->head_bytes,
    };

    return mcpi_curl_new(&curl, &way->fetcher, err);
}

static int
open_authorization(struct http_way *way, const struct mcpi_ground *ground,
                   mcp_error *err)
{
    const struct mcpi_auth_client_options opt = {.loop = way->loop,
                                                 .fetcher = way->fetcher,
                                                 .pool = ground->pool,
                                                 .server_url = way->url,
                                                 .name = ground->name,
                                                 .auth = way->auth};

    return way->auth ? mcpi_auth_client_new(&opt, &way->authorization, err) : 0;
}

static int
open_link(struct http_way *way, struct mcpi_engine *engine, mcp_error *err)
{
    const mcp_http_client_options *opt = &way->opt;
    const struct mcpi_http_client_options link = {
        .loop = way->loop,
        .engine = engine,
        .fetcher = way->fetcher,
        .url = way->url,
        .fields = way->fields.data,
        .fields_len = way->fields.len,
        .idle_us = opt->idle_ms > 0 ? mcpi_ms(opt->idle_ms) : MCPI_NEVER,
        .no_stream = opt->no_stream,
        .no_2024 = opt->no_2024,
        .names = &way->names,
        .mirror = mirror_find,
        .auth = way->authorization ? mcpi_auth_client_interface(way->authorization)
                                   : NULL,
        .closed = link_closed,
        .user = way,
    };

    int r = mcpi_http_client_new(&link, &way->client);

    return r < 0
               ? mcpi_error_set(err, r, "no link could be made: %s", mcp_status_text(r))
               : 0;
}

/* What was opened, when the rest could not be. */
static void
way_discard(struct http_way *way)
{
    if (way->authorization)
        mcpi_auth_client_discard(way->authorization);
    mcpi_curl_free(way->fetcher);
    way->authorization = NULL;
    way->fetcher = NULL;
}

static int
way_open(struct mcpi_way *base, const struct mcpi_ground *ground,
         struct mcpi_peer **ret_peer, mcp_error *err)
{
    struct http_way *way = MCPI_CONTAINER(base, struct http_way, way);
    int r;

    way->loop = ground->loop;
    way->mirrors = ground->mirrors;
    way->mirrors->on = true;
    if (way->opt.grace_ms > 0)
        ground->engine->times.grace = mcpi_ms(way->opt.grace_ms);
    r = open_fetcher(way, err);
    if (r < 0)
        return r;
    r = open_authorization(way, ground, err);
    if (r == 0)
        r = open_link(way, ground->engine, err);
    if (r < 0) {
        way_discard(way);
        return r;
    }
    *ret_peer = mcpi_http_client_peer(way->client);
    return 0;
}

/* ---- its block ----------------------------------------------------------- */

static void
way_free(struct mcpi_way *base)
{
    struct http_way *way = MCPI_CONTAINER(base, struct http_way, way);

    mcpi_buf_done(&way->fields);
    mcpi_buf_done(&way->names);
    mcpi_auth_options_free(way->mem, way->auth);
    mcpi_free(way->mem, way);
}

#define TEXTS 7

static void
texts_of(mcp_http_client_options *opt, const char **ret[TEXTS])
{
    ret[0] = &opt->proxy;
    ret[1] = &opt->no_proxy;
    ret[2] = &opt->tls_ca_file;
    ret[3] = &opt->tls_ca_path;
    ret[4] = &opt->tls_certificate;
    ret[5] = &opt->tls_key;
    ret[6] = &opt->tls_key_password;
}

static size_t
text_size(const char *text)
{
    return text ? strlen(text) + 1 : 0;
}

int
mcpi_http_way_new(const mcp_allocator *mem, const char *url,
                  const mcp_http_client_options *opt, struct mcpi_buf *fields,
                  struct mcpi_buf *names, struct mcpi_way **ret_way)
{
    mcp_http_client_options kept = *opt;
    const char **texts[TEXTS];
    size_t size = text_size(url);
    struct http_way *way;
    char *at;

    texts_of(&kept, texts);
    for (int i = 0; i < TEXTS; i++)
        size += text_size(*texts[i]);
    way = mcpi_alloc_zero_first(mem, sizeof(*way) + size, sizeof(*way));
    if (!way)
        return MCP_E_NOMEM;
    at = (char *)(way + 1);
    way->url = mcpi_text_stow(&at, url, strlen(url));
    for (int i = 0; i < TEXTS; i++)
        *texts[i] = mcpi_text_stow(&at, *texts[i], *texts[i] ? strlen(*texts[i]) : 0);
    kept.headers = kept.names = NULL;
    kept.auth = NULL;
    if (opt->auth) {
        way->auth = mcpi_auth_options_copy(mem, opt->auth);
        if (!way->auth) {
            mcpi_free(mem, way);
            return MCP_E_NOMEM;
        }
    }
    way->opt = kept;
    way->mem = mem;
    mcpi_buf_move(&way->fields, fields);
    mcpi_buf_move(&way->names, names);
    mcpi_flush_init(&way->closing, way_end);
    way->way.open = way_open;
    way->way.free = way_free;
    way->way.resumes = true;
    *ret_way = &way->way;
    return 0;
}
