/* http_world.c - worlds over Streamable HTTP, without a socket */
#include "support/http_world.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define URL "http://localhost:8080/mcp"
#define PING_MS 15000
#define RETRY_MS 1000

struct http_world *
http_world_of(struct world *w)
{
    return w->link_state;
}

struct mcpi_session *
http_world_session(struct world *w)
{
    const struct mcpi_endpoint *endpoint = http_world_of(w)->endpoint;
    const struct mcpi_list *last = endpoint ? endpoint->all_sessions.prev : NULL;

    if (!last || last == &endpoint->all_sessions)
        return NULL;
    return MCPI_CONTAINER(last, struct mcpi_session, in_endpoint);
}

/* ---- moving ---------------------------------------------------------------- */

static bool
loop_is_busy(struct mcpi_loop *loop)
{
    struct pollfd fd = {.fd = mcpi_loop_fd(loop), .events = POLLIN};

    return poll(&fd, 1, 0) > 0 || mcpi_loop_timeout_ms(loop) == 0;
}

static int64_t
world_clock(void *user)
{
    return ((const struct world *)user)->now;
}

static void
on_client_turn(struct mcpi_post *post)
{
    (void)memory_http_hear(&MCPI_CONTAINER(post, struct http_world, post[CLIENT])->net);
}

static void
on_server_turn(struct mcpi_post *post)
{
    (void)memory_http_serve(
        &MCPI_CONTAINER(post, struct http_world, post[SERVER])->net);
}

static bool
half_is_busy(const struct http_world *h, int side)
{
    return loop_is_busy(h->loop[side]) ||
           (side == CLIENT ? memory_http_has_news(&h->net)
                           : memory_http_has_work(&h->net));
}

/* A server has other peers than the one that matters, and they come and go. */
static void
find_peer(struct world *w)
{
    const struct http_world *h = http_world_of(w);
    const struct mcpi_session *session = http_world_session(w);

    if (!h->endpoint)
        return;
    if (session)
        w->peer[SERVER] = session->peer;
    else if (h->endpoint->stateless && !w->modern)
        w->peer[SERVER] = h->endpoint->stateless;
    else if (h->endpoint->anonymous)
        w->peer[SERVER] = h->endpoint->anonymous;
    else
        w->peer[SERVER] = mcpi_endpoint_anonymous(h->endpoint);
}

static int
http_step(struct world *w, int side)
{
    struct http_world *h = http_world_of(w);
    bool busy;

    if (!h->loop[side])
        return 0;
    busy = half_is_busy(h, side);
    mcpi_loop_post(h->loop[side], &h->post[side]);
    assert_int_equal(mcpi_loop_step(h->loop[side]), 0);
    if (side == CLIENT)
        (void)memory_http_send(&h->net);
    find_peer(w);
    return busy || half_is_busy(h, side);
}

static int64_t
http_next(struct world *w)
{
    const struct http_world *h = http_world_of(w);
    int64_t next = MCPI_NEVER, at;

    for (int side = 0; side < 2; side++) {
        at = h->loop[side] ? mcpi_timers_next(mcpi_loop_timers(h->loop[side]))
                           : MCPI_NEVER;
        next = at < next ? at : next;
    }
    return next;
}

/* Each stream has something to say, which is not read. */
static void
http_clog(struct world *w)
{
    http_world_of(w)->net.clogged = true;
    w->now += PING_MS * MS;
    mcpi_timers_expire(&w->timers, w->now);
    while (http_step(w, SERVER) > 0)
        continue;
}

/* ---- what a side says by hand ---------------------------------------------- */

/* Header lines as our own client has them. */
static size_t
write_fields(struct world *w, char *into, size_t size)
{
    const struct mcpi_session *session = http_world_session(w);
    size_t used = 0;

    used += (size_t)snprintf(into + used, size - used, "Accept: %s",
                             "application/json, text/event-stream") +
            1;
    used += (size_t)snprintf(into + used, size - used,
                             "Content-Type: application/json") +
            1;
    used += (size_t)snprintf(into + used, size - used, "MCP-Protocol-Version: %s",
                             w->peer[CLIENT]->version) +
            1;
    if (session)
        used += (size_t)snprintf(into + used, size - used, "Mcp-Session-Id: %s",
                                 session->id) +
                1;
    assert_true(used < size);
    return used;
}

static bool
say_line(struct world *w, int side)
{
    struct http_world *h = http_world_of(w);
    char fields[512];

    h->line_len[side] = 0;
    if (side == SERVER)
        return memory_http_say(&h->net, h->line[side]);
    memory_http_post(&h->net, fields, write_fields(w, fields, sizeof(fields)),
                     h->line[side]);
    return true;
}

/* A message is a line here too, and goes when it is whole. */
static size_t
http_inject(struct world *w, int side, const char *bytes, size_t len)
{
    struct http_world *h = http_world_of(w);
    char *line = realloc(h->line[side], h->line_len[side] + len + 1);

    assert_non_null(line);
    h->line[side] = line;
    if (len == 1 && *bytes == '\n') {
        line[h->line_len[side]] = '\0';
        return say_line(w, side) ? 1 : 0;
    }
    memcpy(line + h->line_len[side], bytes, len);
    h->line_len[side] += len;
    return len;
}

static void
http_shutdown(struct world *w, int side)
{
    (void)w, (void)side;
    fail_msg("a client of HTTP has nothing that it could end and still read (E25)");
}

/* What the endpoint refuses by itself, its engine does not see: it is said by the
 * server all the same. */
static void
on_replied(void *user, int status, const char *body, size_t len)
{
    struct world *w = user;

    if (status >= 400 && body == http_world_of(w)->endpoint->refusal.data)
        world_record(w, SERVER, body, len);
}

/* ---- cancels --------------------------------------------------------------- */

static size_t
http_signals(struct world *w)
{
    const struct memory_http *net = &http_world_of(w)->net;

    return w->modern ? net->hangups : net->frames;
}

static void
http_assert_quiet(struct world *w)
{
    assert_int_equal(memory_http_count(&http_world_of(w)->net, "POST"), 0);
}

/* ---- the end --------------------------------------------------------------- */

static void
http_done(struct world *w)
{
    struct http_world *h = http_world_of(w);

    memory_http_done(&h->net);
    mcp_memory_store_free(h->store);
    free(h->line[CLIENT]);
    free(h->line[SERVER]);
    free(h);
    w->link_state = NULL;
}

static void
free_client(struct http_world *h)
{
    mcpi_http_client_free(h->client);
    h->client = NULL;
}

/* It dies: who asked it something loses the connection, and nobody is answered. */
static void
free_endpoint(struct http_world *h)
{
    struct mcpi_engine *engine = h->world->engine[SERVER];
    int64_t drain = engine->times.drain;

    memory_http_cut(&h->net);
    if (!h->endpoint)
        return;
    engine->times.drain = -1;
    mcpi_endpoint_close(h->endpoint);
    for (int i = 0; i < 100 && h->endpoint; i++)
        assert_int_equal(mcpi_loop_step(h->loop[SERVER]), 0);
    assert_null(h->endpoint);
    engine->times.drain = drain;
}

static void
http_free(struct world *w, int side)
{
    struct http_world *h = http_world_of(w);

    if (side == CLIENT)
        free_client(h);
    else
        free_endpoint(h);
    mcpi_loop_free(h->loop[side]);
    h->loop[side] = NULL;
    if (!h->loop[1 - side])
        http_done(w);
}

/* ---- the beginning --------------------------------------------------------- */

static void
on_client_closed(void *user, struct mcpi_http_client *client)
{
    struct http_world *h = user;

    (void)client;
    h->told[CLIENT]++;
}

static void
on_endpoint_closed(void *user, struct mcpi_endpoint *endpoint)
{
    struct http_world *h = user;

    h->told[SERVER]++;
    mcpi_endpoint_free(endpoint);
    h->endpoint = NULL;
}

static int
open_loop(struct http_world *h, int side)
{
    struct world *w = h->world;
    int r;

    r = mcpi_loop_new(&w->mem->allocator, &w->engine[side]->log, &h->loop[side]);
    if (r == 0)
        mcpi_loop_set_clock(h->loop[side], world_clock, w);
    return r;
}

static int
open_server(struct http_world *h, const struct world_options *opt)
{
    struct mcpi_endpoint_options eo = {.loop = h->loop[SERVER],
                                       .engine = h->world->engine[SERVER],
                                       .modern = opt->server_era != MCPI_ERA_LEGACY,
                                       .legacy = opt->server_era != MCPI_ERA_MODERN,
                                       .http = &h->http,
                                       .loopback = true,
                                       .port = 8080,
                                       .shards = 1,
                                       .closed = on_endpoint_closed,
                                       .user = h};
    int r = mcpi_endpoint_new(&eo, &h->endpoint);

    h->net.endpoint = h->endpoint;
    return r;
}

static int
open_client(struct http_world *h)
{
    struct mcpi_http_client_options co = {.loop = h->loop[CLIENT],
                                          .engine = h->world->engine[CLIENT],
                                          .fetcher = &h->net.fetcher,
                                          .url = URL,
                                          .idle_us = MCPI_NEVER,
                                          .closed = on_client_closed,
                                          .user = h};

    return mcpi_http_client_new(&co, &h->client);
}

static int
open_store(struct http_world *h)
{
    int r = mcp_memory_store_new(&h->world->mem->allocator, 0, &h->store);

    if (r == 0)
        h->http.store = mcp_memory_store_interface(h->store);
    return r;
}

static int
open_all(struct http_world *h, const struct http_world_link *link,
         const struct world_options *opt)
{
    int r;

    r = open_loop(h, CLIENT);
    if (r == 0)
        r = open_loop(h, SERVER);
    if (r == 0 && link->stored)
        r = open_store(h);
    if (r == 0)
        r = open_server(h, opt);
    if (r == 0)
        r = open_client(h);
    return r;
}

static void
undo(struct world *w)
{
    struct http_world *h = http_world_of(w);

    free_client(h);
    if (h->endpoint)
        free_endpoint(h);
    mcpi_loop_free(h->loop[CLIENT]);
    mcpi_loop_free(h->loop[SERVER]);
    http_done(w);
}

static int
http_open(struct world *w, const struct world_options *opt)
{
    const struct http_world_link *link = MCPI_CONTAINER(
        w->link, const struct http_world_link, link);
    struct http_world *h = calloc(1, sizeof(*h));
    int r;

    assert_non_null(h);
    w->link_state = h;
    h->world = w;
    h->post[CLIENT].fn = on_client_turn;
    h->post[SERVER].fn = on_server_turn;
    memory_http_init(&h->net);
    h->net.every_byte = link->every_byte;
    h->net.as_events = link->as_events;
    h->net.replied = on_replied;
    h->net.user = w;
    h->http = MCP_HTTP_OPTIONS(.host = "127.0.0.1", .path = "/mcp", .threads = 1,
                               .json = link->json, .stateless = link->stateless,
                               .retry_ms = RETRY_MS, .ping_ms = PING_MS,
                               .session_idle_ms = 1800000, .sessions = 10000,
                               .session_streams = 64, .body_bytes = 16 << 20,
                               .head_bytes = 32768);
    r = open_all(h, link, opt);
    if (r < 0) {
        undo(w);
        return r;
    }
    w->peer[CLIENT] = mcpi_http_client_peer(h->client);
    find_peer(w);
    return 0;
}

/* ---- what there is --------------------------------------------------------- */

#define HTTP_LINK(link_name)                                                        \
    .name = link_name, .open = http_open, .step = http_step, .inject = http_inject, \
    .shutdown = http_shutdown, .free = http_free, .next = http_next,                \
    .signals = http_signals, .clog = http_clog, .assert_quiet = http_assert_quiet,  \
    .frame_us = MCPI_HTTP_OVERTAKEN_MAX

const struct http_world_link world_http = {
    .link = {HTTP_LINK("http"), .traits = WORLD_RESPONSES}};

const struct http_world_link world_http_bytes = {
    .link = {HTTP_LINK("http_bytes"), .traits = WORLD_RESPONSES}, .every_byte = true};

const struct http_world_link world_http_events = {
    .link = {HTTP_LINK("http_events"), .traits = WORLD_RESPONSES},
    .every_byte = true,
    .as_events = true};

const struct http_world_link world_http_json = {
    .link = {HTTP_LINK("http_json"),
             .traits = WORLD_RESPONSES | WORLD_ANSWERS_ONLY | WORLD_NO_QUESTIONS},
    .json = true};

const struct http_world_link world_http_stateless = {
    .link = {HTTP_LINK("http_stateless"),
             .traits = WORLD_RESPONSES | WORLD_NO_QUESTIONS | WORLD_STATELESS,
             .era = MCPI_ERA_LEGACY},
    .stateless = true};

/* Five attempts, each twice as long after the one before: 31 s. */
const struct http_world_link world_http_stored = {
    .link = {HTTP_LINK("http_stored"), .traits = WORLD_RESPONSES,
             .era = MCPI_ERA_LEGACY, .patience_us = 60 * SECOND},
    .stored = true};
