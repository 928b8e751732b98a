/*
 * endpoint_clients.h - connections of clients: bytes into requests, and who leaves
 *
 * For endpoint_fuzz.c alone. As link/http_connection.c does it, without a socket.
 */
#ifndef FUZZ_ENDPOINT_CLIENTS_H
#define FUZZ_ENDPOINT_CLIENTS_H

#include "endpoint_jobs.h"

enum { BEHIND_MAX = 8192 };

/* ---- a connection ---------------------------------------------------------- */

static void
client_free(struct fuzz *f, size_t index)
{
    struct client *c = f->clients[index];

    f->clients[index] = NULL;
    CHECK(!c->turn.served);
    mcpi_http_parser_free(c->parser);
    if (c->opened)
        mcpi_sse_reader_done(&c->reader);
    mcp_doc_free(c->doc);
    free(c->behind);
    free(c);
}

/* Was this handler told what it must be told, now that a client has left? */
static void
check_left(const struct client *c, const struct job *job, bool was_open,
           int told_before)
{
    bool own = c->serving && !c->answered && job->serial == c->serial;
    int told = job->told - told_before;

    if (job->serial == 0 && c->is_2024) { /* its whole session may be lost (D23) */
        CHECK(told == 0 || (was_open && job->x->ending == MCPI_DROPPED));
        return;
    }
    CHECK(told == (own && was_open && job->gone_cancels));
    CHECK(told == 0 || job->x->ending == MCPI_CANCELED);
}

static const struct mcpi_http_stream *
stream_find(const struct fuzz *f, uint64_t number)
{
    const struct mcpi_list *node;
    const struct mcpi_http_stream *s;

    for (node = f->endpoint->streams.next; node != &f->endpoint->streams;
         node = node->next) {
        s = MCPI_CONTAINER(node, struct mcpi_http_stream, in_endpoint);
        if (s->number == number)
            return s;
    }
    return NULL;
}

/* The stream of a request that its client can come back for, when it has left; or 0. */
static uint64_t
stream_that_stays(const struct fuzz *f, const struct client *c)
{
    const struct mcpi_http_stream *s;

    if (!c->opened || c->answered || c->method != MCPI_HTTP_POST || c->stream == 0)
        return 0;
    s = stream_find(f, c->stream);
    CHECK(s && s->turn == &c->turn);
    return s->session->ending ? 0 : c->stream;
}

/* The client leaves: that cancels what is modern or stateless, and nothing else. */
static void
client_leave(struct fuzz *f, size_t index)
{
    struct client *c = f->clients[index];
    uint64_t stays = stream_that_stays(f, c);
    size_t count = f->job_count;
    bool open[JOBS];
    int told[JOBS];

    for (size_t i = 0; i < count; i++) {
        open[i] = f->jobs[i].x->ending == MCPI_OPEN;
        told[i] = f->jobs[i].told;
    }
    mcpi_turn_gone(&c->turn);
    CHECK(f->job_count == count);
    for (size_t i = 0; i < count; i++)
        check_left(c, &f->jobs[i], open[i], told[i]);
    CHECK(stays == 0 || stream_find(f, stays));
    client_free(f, index);
}

static struct client *
client_get(struct fuzz *f)
{
    struct client *c = f->clients[f->current];

    if (c)
        return c;
    c = calloc(1, sizeof(*c));
    CHECK(c);
    c->f = f;
    c->turn.ops = &turn_ops;
    f->clients[f->current] = c;
    return c;
}

static void
client_drop_parser(struct client *c)
{
    struct fuzz *f = c->f;
    struct mcpi_http_parsers *all = &f->parsers;

    mcpi_http_parser_free(c->parser);
    c->parser = NULL;
    /* no spare: whoever still looks at a request that was served is caught */
    mcpi_http_parsers_done(all);
    mcpi_http_parsers_init(all, &f->mem, f->http.head_bytes, f->http.body_bytes);
}

/* The answer has left. */
static void
client_over(struct client *c)
{
    if (c->opened)
        mcpi_sse_reader_done(&c->reader);
    mcp_doc_free(c->doc);
    c->doc = NULL;
    c->rpc = (struct mcpi_rpc){0};
    c->serving = c->opened = false;
    c->dead = c->dead || c->closes;
}

#define DEPTH_MAX 128 /* as the engine's */

static void
client_read_request(struct client *c, const struct mcpi_http_in *in)
{
    const char *session = mcpi_http_get(in, "mcp-session-id", NULL);
    const char *event = mcpi_http_get(in, "last-event-id", NULL);

    c->method = in->method;
    c->is_2024 = c->f->http.sse_path && (strncmp(in->target, "/sse", 4) == 0 ||
                                         strncmp(in->target, "/message", 8) == 0);
    c->stream = c->number = 0;
    c->resumes = in->method == MCPI_HTTP_GET && event && *event && c->f->http.store;
    if (c->resumes)
        (void)mcpi_event_id_read(event, &c->stream, &c->number);
    c->session[0] = c->principal[0] = '\0';
    if (session && strlen(session) < sizeof(c->session))
        memcpy(c->session, session, strlen(session) + 1);
    if (mcp_doc_parse(in->body, in->body_len, NULL, &c->doc, NULL) == 0) {
        mcpi_rpc_read(mcp_doc_root(c->doc), &c->rpc);
        return;
    }
    /* what is not JSON may still tell whose message it is */
    (void)mcpi_rpc_parse(NULL, in->body, in->body_len,
                         &(struct mcpi_json_limits){in->body_len, DEPTH_MAX}, &c->rpc);
    c->doc = c->rpc.doc;
}

static void
client_begin(struct client *c)
{
    c->serving = true;
    c->opened = c->answered = c->settled = false;
    c->serial = ++c->f->serials;
    c->old = mcpi_http_parser_is_old(c->parser);
    c->closes = !mcpi_http_parser_keeps_alive(c->parser);
}

static void
client_serve(struct client *c)
{
    struct fuzz *f = c->f;
    struct mcpi_http_in *in = mcpi_http_parser_in(c->parser);

    client_begin(c);
    client_read_request(c, in);
    in->account = f->account;
    f->at_door = c;
    mcpi_endpoint_serve(f->endpoint, &c->turn, in);
    f->at_door = NULL;
    client_drop_parser(c);
    if (c->answered && !c->keeps)
        client_over(c);
}

/* A refused head: the connection can be used again only if there is no body. */
static void
client_refuse(struct client *c, const struct mcpi_http_out *out)
{
    static const struct mcpi_rpc nothing = {0};
    size_t used;

    check_out(out, &nothing);
    c->dead = !mcpi_http_parser_keeps_alive(c->parser) || out->close ||
              mcpi_http_parser_has_body(c->parser) ||
              mcpi_http_parser_feed(c->parser, "", 0, &used) != MCPI_HTTP_DONE;
    client_drop_parser(c);
}

static void
client_fault(struct client *c)
{
    static const struct mcpi_rpc nothing = {0};
    struct mcpi_http_out out;
    const char *why = NULL;
    int status = mcpi_http_parser_status(c->parser, &why);

    mcpi_http_refusal(&out, &c->f->refusal, status, NULL, MCPI_RPC_INVALID_REQUEST,
                      why);
    check_out(&out, &nothing);
    client_drop_parser(c);
    c->dead = true;
}

/* One step; true: there may be another. */
static bool
client_step(struct client *c, const char **data, size_t *len)
{
    struct fuzz *f = c->f;
    enum mcpi_http_event event;
    struct mcpi_http_out out;
    size_t used;

    if (!c->parser && mcpi_http_parser_new(&f->parsers, &c->parser) < 0) {
        c->dead = true;
        return false;
    }
    event = mcpi_http_parser_feed(c->parser, *data, *len, &used);
    CHECK(used <= *len);
    *data += used;
    *len -= used;
    if (event == MCPI_HTTP_FAULT) {
        client_fault(c);
    } else if (event == MCPI_HTTP_DONE) {
        client_serve(c);
    } else if (event == MCPI_HTTP_HEAD_DONE) {
        if (mcpi_endpoint_check_head(f->endpoint, mcpi_http_parser_in(c->parser),
                                     mcpi_http_parser_length(c->parser), &out))
            return true; /* its end may need no byte */
        client_refuse(c, &out);
    }
    return !c->dead && !c->serving && *len > 0;
}

static void
client_keep_behind(struct client *c, const char *data, size_t len)
{
    if (len == 0 || c->dead)
        return;
    c->behind = realloc(c->behind, c->behind_len + len);
    CHECK(c->behind);
    memcpy(c->behind + c->behind_len, data, len);
    c->behind_len += len;
}

/* One piece, in memory of its own that goes with it. */
static void
client_feed_piece(struct client *c, const char *data, size_t len)
{
    char *piece = malloc(len + !len);
    const char *at = piece;
    bool more = true;

    CHECK(piece);
    memcpy(piece, data, len);
    while (more)
        more = client_step(c, &at, &len);
    client_keep_behind(c, at, len);
    free(piece);
}

static void
client_feed(struct client *c, const char *data, size_t len)
{
    size_t piece;

    while (len > 0 && !c->dead && c->f->endpoint) {
        if (c->serving || c->behind) {
            client_keep_behind(c, data, len);
            return;
        }
        piece = c->f->piece && c->f->piece < len ? c->f->piece : len;
        client_feed_piece(c, data, piece);
        data += piece;
        len -= piece;
    }
}

/* What became of connections meanwhile; what waits on them goes on. */
static void
client_settle(struct client *c)
{
    char *behind = c->behind;
    size_t len = c->behind_len;

    if (c->serving && c->answered && !c->keeps && !c->dead)
        client_over(c);
    if (c->serving || c->dead || !behind || !c->f->endpoint)
        return;
    c->behind = NULL;
    c->behind_len = 0;
    client_feed_piece(c, behind, len);
    free(behind);
}

static void
clients_settle(struct fuzz *f)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *c = f->clients[i];

        if (c)
            client_settle(c);
        if (c && (c->dead || c->behind_len > BEHIND_MAX || !f->endpoint))
            client_leave(f, i);
    }
}

static void
client_command(struct fuzz *f, int letter)
{
    struct client *c = client_get(f);
    bool kept = c->keeps;

    if (letter == 'x') {
        client_leave(f, f->current);
        return;
    }
    if (letter != 'W')
        c->full = letter == 'b';
    if (letter == 'b' || !kept)
        return;
    c->keeps = false;
    mcpi_turn_written(&c->turn);
}

#endif
