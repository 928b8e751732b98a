/*
 * endpoint_model.h - handlers, clients and a store around an endpoint, and what it must
 * not do to them
 *
 * For endpoint_fuzz.c alone, which says what happens; this is who hears of it.
 */
#ifndef FUZZ_ENDPOINT_MODEL_H
#define FUZZ_ENDPOINT_MODEL_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/call.h"
#include "core/peer.h"
#include "core/subscribe.h"
#include "link/http_parser.h"
#include "link/http_session.h"
#include "link/http_session_id.h"
#include "wire/sse.h"
#include "json/value.h"

#define CHECK(condition)  \
    do {                  \
        if (!(condition)) \
            abort();      \
    } while (0)

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

enum { CLIENTS = 8, JOBS = 96, SESSIONS = 8, TICKETS = 16 };
enum { STREAMS = 96, RECORDS = 1024, REACTIONS = 16 };

struct fuzz;

/* A connection and the request on it. */
struct client {
    struct fuzz *f;
    struct mcpi_turn turn;
    struct mcpi_http_parser *parser; /* while a request arrives */
    char *behind;                    /* what came while one was served */
    size_t behind_len;
    bool full;  /* it reads nothing: what is written is kept */
    bool keeps; /* something is */
    bool dead;  /* the endpoint has broken it, or its last answer has left */
    bool closes, old;
    /* the request; serving: it is whole, and its answer has not left */
    bool serving, opened, answered, settled; /* settled: its last word was an event */
    unsigned serial;                         /* of all requests */
    mcp_doc *doc;                            /* its body, or NULL */
    struct mcpi_rpc rpc;
    enum mcpi_http_method method;
    bool is_2024;
    char session[MCPI_SESSION_ID], principal[8];
    uint64_t stream, number; /* of the last event with an id; or Last-Event-ID */
    bool resumes;
    struct mcpi_sse_reader reader; /* once opened */
};

/* A request that is served. */
struct job {
    struct fuzz *f;
    struct mcpi_exchange *x; /* counted */
    struct mcpi_listener *listener;
    unsigned serial; /* of the client's request; 0: of a shared stream */
    bool gone_cancels, deaf;
    bool begun, running, finished;
    bool untold; /* it finished once it had ended, before it could be told */
    double progress;
    int told;
};

struct known_session {
    char id[MCPI_SESSION_ID];
    uint64_t stream, number; /* of the last event that its client heard */
    char asked[32];          /* the id of what it was asked last, as JSON */
};

struct known_stream {
    uint64_t number, last;
    char session[MCPI_SESSION_ID];
};

/* An event as it was first seen. */
struct record {
    uint64_t stream, number, hash;
};

struct pending {
    mcp_http_ticket *ticket;
    unsigned serial; /* of the request */
    char verdict[8];
};

struct reaction {
    int letter;
    unsigned a, b;
};

struct fuzz {
    mcp_allocator mem;
    long blocks, failing; /* failing: so many allocations succeed; negative: all */
    bool failed;          /* one did not */
    int64_t now;
    mcp_http_options http;
    bool small_store;
    mcp_memory_store *memory;
    mcp_event_store store;
    struct mcpi_loop *loop;
    struct mcpi_engine *engine;
    struct mcpi_endpoint *endpoint; /* NULL: closed */
    struct mcpi_accounts *accounts;
    struct mcpi_account *account; /* of all who are not authenticated */
    struct mcpi_http_parsers parsers;
    struct mcpi_buf refusal;
    bool closing;
    int closed, sessions_open, streams_open;
    struct client *clients[CLIENTS], *at_door;
    size_t current;
    unsigned serials;
    struct job jobs[JOBS];
    size_t job_count;
    long asked, told; /* questions of handlers, and how many have ended */
    struct known_session sessions[SESSIONS], old[SESSIONS];
    size_t session_count, old_count;
    struct known_stream streams[STREAMS];
    size_t stream_count;
    struct record records[RECORDS];
    size_t record_count;
    struct pending tickets[TICKETS];
    size_t ticket_count;
    struct reaction reactions[REACTIONS];
    size_t reaction_count;
    int depth;
    /* of requests that are put together */
    unsigned credential, flavor;
    size_t piece; /* bytes that come at once; 0: all */
    const uint8_t *at, *stop;
};

/* A callback of a handler: do what was planned for one. */
static void react(struct fuzz *f);

/* ---- memory that is counted, and may run out ------------------------------- */

static bool
memory_fails(struct fuzz *f)
{
    bool fails = f->failing >= 0 && f->failing-- == 0;

    f->failed = f->failed || fails;
    return fails;
}

static void *
count_alloc(void *user, size_t size)
{
    struct fuzz *f = user;

    if (memory_fails(f))
        return NULL;
    f->blocks++;
    return malloc(size);
}

static void *
count_realloc(void *user, void *ptr, size_t size)
{
    struct fuzz *f = user;

    if (memory_fails(f))
        return NULL;
    f->blocks += !ptr;
    return realloc(ptr, size);
}

static void
count_free(void *user, void *ptr)
{
    struct fuzz *f = user;

    if (ptr)
        f->blocks--;
    free(ptr);
}

/* ---- the store: a real one, watched ---------------------------------------- */

static uint64_t
hash_of(const char *data, size_t len)
{
    uint64_t hash = UINT64_C(14695981039346656037);

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (unsigned char)data[i]) * UINT64_C(1099511628211);
    return hash;
}

/* However often an event is said, and to whom: it is the same. */
static void
saw_event_data(struct fuzz *f, uint64_t stream, uint64_t number, const char *data,
               size_t len)
{
    uint64_t hash = hash_of(data, len);

    for (size_t i = 0; i < f->record_count; i++) {
        const struct record *record = &f->records[i];

        if (record->stream == stream && record->number == number) {
            CHECK(record->hash == hash);
            return;
        }
    }
    if (f->record_count < RECORDS)
        f->records[f->record_count++] = (struct record){stream, number, hash};
}

static struct known_stream *
stream_known(struct fuzz *f, uint64_t number)
{
    for (size_t i = 0; i < f->stream_count; i++)
        if (f->streams[i].number == number)
            return &f->streams[i];
    return NULL;
}

static int
store_append(void *self, const char *session, uint64_t stream, uint64_t number,
             const char *data, size_t length)
{
    struct fuzz *f = self;
    const mcp_event_store *inner = mcp_memory_store_interface(f->memory);
    struct known_stream *known = stream_known(f, stream);

    if (!known && f->stream_count < STREAMS) {
        known = &f->streams[f->stream_count++];
        *known = (struct known_stream){.number = stream};
        (void)snprintf(known->session, sizeof(known->session), "%s", session);
    }
    if (known) {
        CHECK(number == known->last + 1 && strcmp(known->session, session) == 0);
        known->last = number;
    }
    saw_event_data(f, stream, number, data, length);
    return inner->append(inner->self, session, stream, number, data, length);
}

static int
store_replay(void *self, const char *session, uint64_t stream, uint64_t after,
             void (*each)(void *user, uint64_t number, const char *data, size_t length),
             void *user)
{
    const struct fuzz *f = self;
    const mcp_event_store *inner = mcp_memory_store_interface(f->memory);

    return inner->replay(inner->self, session, stream, after, each, user);
}

static void
store_forget(void *self, const char *session, uint64_t stream)
{
    const struct fuzz *f = self;
    const mcp_event_store *inner = mcp_memory_store_interface(f->memory);

    inner->forget(inner->self, session, stream);
}

/* ---- what clients hear ----------------------------------------------------- */

static struct known_session *
session_known(struct fuzz *f, const char *id)
{
    for (size_t i = 0; i < f->session_count; i++)
        if (strcmp(f->sessions[i].id, id) == 0)
            return &f->sessions[i];
    return NULL;
}

static void
session_learn(struct known_session *table, size_t *count, const char *id)
{
    struct known_session *into = &table[*count % SESSIONS];

    CHECK(*id && strlen(id) < sizeof(into->id));
    if (*count < SESSIONS)
        ++*count;
    else
        into = &table[SESSIONS - 1];
    *into = (struct known_session){.asked = "0"};
    memcpy(into->id, id, strlen(id) + 1);
}

static bool
same_id(const struct mcpi_id *a, const struct mcpi_id *b)
{
    struct mcpi_id x = mcpi_id_fold(*a), y = mcpi_id_fold(*b);

    return mcpi_id_same(&x, &y);
}

/* Nobody hears what another session was told; numbers rise, by one unless some were
 * lost before they could be said once more. */
static void
client_saw_id(struct client *c, const struct mcpi_sse_event *event)
{
    struct fuzz *f = c->f;
    struct known_session *session = session_known(f, c->session);
    struct known_stream *known;
    uint64_t stream, number;

    CHECK(f->http.store && mcpi_event_id_read(event->id, &stream, &number));
    CHECK(stream > 0 && number > 0);
    if (c->resumes || c->stream != 0) {
        CHECK(stream == c->stream && number > c->number);
        CHECK(f->small_store || f->failed || number == c->number + 1);
    } else {
        CHECK(number == 1);
    }
    c->stream = stream;
    c->number = number;
    known = stream_known(f, stream);
    CHECK(!known || strcmp(known->session, c->session) == 0);
    saw_event_data(f, stream, number, event->data, event->data_len);
    if (session) {
        session->stream = stream;
        session->number = number;
    }
}

static void
client_saw_question(struct client *c, const struct mcpi_rpc *rpc)
{
    struct known_session *session = session_known(c->f, c->session);

    CHECK(c->is_2024 || (*c->session && !c->f->http.json && !c->f->http.stateless));
    if (session && rpc->id.kind == MCPI_ID_STRING && rpc->id.len < 24)
        (void)snprintf(session->asked, sizeof(session->asked), "\"%.*s\"",
                       (int)rpc->id.len, rpc->id.text);
    else if (session)
        (void)snprintf(session->asked, sizeof(session->asked), "%lld",
                       (long long)rpc->id.number);
}

/* The last word about a request is its own, and the last of its stream. */
static void
client_saw_message(struct client *c, const struct mcpi_sse_event *event)
{
    bool posted = c->method == MCPI_HTTP_POST;
    struct mcpi_rpc rpc;
    mcp_doc *doc;

    CHECK(!c->settled);
    CHECK(mcp_doc_parse(event->data, event->data_len, NULL, &doc, NULL) == 0);
    mcpi_rpc_read(mcp_doc_root(doc), &rpc);
    CHECK(rpc.kind != MCPI_RPC_INVALID);
    if (rpc.kind == MCPI_RPC_REQUEST)
        client_saw_question(c, &rpc);
    if (posted && rpc.kind != MCPI_RPC_REQUEST && rpc.kind != MCPI_RPC_NOTIFICATION) {
        CHECK(c->rpc.kind == MCPI_RPC_REQUEST && same_id(&rpc.id, &c->rpc.id));
        c->settled = true;
    }
    mcp_doc_free(doc);
}

static int
on_sse(void *user, const struct mcpi_sse_event *event)
{
    static const char query[] = "?sessionId=";
    struct client *c = user;
    const char *at;

    if (event->has_id)
        client_saw_id(c, event);
    if (event->type && strcmp(event->type, "endpoint") == 0) {
        at = strstr(event->data, query);
        CHECK(c->is_2024 && at);
        session_learn(c->f->old, &c->f->old_count, at + sizeof(query) - 1);
    } else if (event->data_len > 0) {
        client_saw_message(c, event);
    }
    return 0;
}

static void
client_hear(struct client *c, const char *data, size_t len)
{
    CHECK(mcpi_sse_reader_feed(&c->reader, data, len, on_sse, c) == 0);
    c->keeps = c->full && len > 0;
}

/* ---- answers --------------------------------------------------------------- */

static const char *
out_field(const struct mcpi_http_out *out, const char *name)
{
    for (size_t i = 0; i < out->field_count; i++)
        if (strcmp(out->fields[i].name, name) == 0)
            return out->fields[i].value;
    return NULL;
}

static void
check_fields(const struct mcpi_http_out *out)
{
    CHECK(out->field_count <= MCPI_HTTP_FIELDS);
    for (size_t i = 0; i < out->field_count; i++) {
        const char *value = out->fields[i].value;

        CHECK(out->fields[i].name[0]);
        for (; *value; value++)
            CHECK((unsigned char)*value >= ' ');
    }
    if (out->status == 429 || out->status == 503)
        CHECK(out_field(out, "Retry-After"));
    if (out->status == 405)
        CHECK(out_field(out, "Allow"));
    if (out->status == 401)
        CHECK(out_field(out, "WWW-Authenticate"));
}

/* A body is a JSON-RPC answer. rpc: what was asked; not a request: nothing. */
static void
check_body(const struct mcpi_http_out *out, const struct mcpi_rpc *asked)
{
    struct mcpi_rpc rpc;
    mcp_doc *doc;

    CHECK(strcmp(out->type, "application/json") == 0);
    CHECK(mcp_doc_parse(out->body, out->body_len, NULL, &doc, NULL) == 0);
    mcpi_rpc_read(mcp_doc_root(doc), &rpc);
    CHECK(rpc.kind == MCPI_RPC_ERROR ||
          (rpc.kind == MCPI_RPC_RESULT && out->status == 200));
    if (out->status == 200)
        CHECK(asked->kind == MCPI_RPC_REQUEST && same_id(&rpc.id, &asked->id));
    else if (rpc.id.kind != MCPI_ID_NONE)
        CHECK(same_id(&rpc.id, &asked->id));
    mcp_doc_free(doc);
}

/* The statuses that the documentation knows. */
static void
check_out(const struct mcpi_http_out *out, const struct mcpi_rpc *asked)
{
    static const int known[] = {200, 202, 204, 400, 401, 403, 404, 405, 406, 408,
                                413, 415, 417, 429, 431, 500, 501, 503, 505};
    bool found = false;

    for (size_t i = 0; i < COUNT(known); i++)
        found = found || known[i] == out->status;
    CHECK(found);
    check_fields(out);
    if (out->type)
        check_body(out, asked);
    else
        CHECK(out->body_len == 0 && out->status < 300);
}

static struct client *
client_of(struct mcpi_turn *turn)
{
    return MCPI_CONTAINER(turn, struct client, turn);
}

static void
client_head(struct client *c, const struct mcpi_http_out *out)
{
    const char *session = out_field(out, "Mcp-Session-Id");

    CHECK(c->serving && !c->opened && !c->answered && !c->keeps && !c->dead);
    c->closes = c->closes || out->close;
    if (!session)
        return;
    CHECK(!*c->session && out->status == 200 && strlen(session) < sizeof(c->session));
    memcpy(c->session, session, strlen(session) + 1);
    session_learn(c->f->sessions, &c->f->session_count, session);
}

/* Who asks outside of sessions gets an answer, whole, as long as there is memory and
 * the server does not stop; but for the silent end, which only legacy clients know. */
static bool
may_lack_an_end(const struct client *c)
{
    const struct fuzz *f = c->f;

    return *c->session || c->rpc.method == MCPI_METHOD_INITIALIZE || f->failed ||
           f->closing || (f->http.silent_end && f->http.stateless);
}

static bool
op_reply(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    struct client *c = client_of(turn);
    bool asked = c->rpc.kind == MCPI_RPC_REQUEST;

    CHECK(!turn->served);
    client_head(c, out);
    check_out(out, &c->rpc);
    CHECK(out->status != 202 || !asked || c->is_2024 || c->f->http.silent_end);
    c->answered = true;
    c->keeps = c->full;
    return !c->keeps;
}

static bool
op_open(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    struct client *c = client_of(turn);

    CHECK(turn->served && out->status == 200);
    CHECK(strcmp(out->type, "text/event-stream") == 0);
    CHECK(c->method == MCPI_HTTP_GET || c->rpc.kind == MCPI_RPC_REQUEST);
    client_head(c, out);
    check_fields(out);
    c->opened = true;
    c->closes = c->closes || c->old;
    mcpi_sse_reader_init(&c->reader, NULL, 1 << 20);
    client_hear(c, out->body, out->body_len);
    c->keeps = c->full;
    return !c->keeps;
}

static bool
op_write(struct mcpi_turn *turn, const char *data, size_t len)
{
    struct client *c = client_of(turn);

    CHECK(turn->served && c->opened && !c->answered && !c->keeps && !c->dead);
    client_hear(c, data, len);
    return !c->keeps;
}

static void
op_end(struct mcpi_turn *turn)
{
    struct client *c = client_of(turn);

    CHECK(!turn->served && c->opened && !c->answered && !c->dead);
    CHECK(c->settled || c->method == MCPI_HTTP_GET || may_lack_an_end(c));
    c->answered = true;
}

static void
op_abort(struct mcpi_turn *turn)
{
    struct client *c = client_of(turn);

    CHECK(!turn->served && c->serving && !c->answered && !c->dead);
    CHECK(c->is_2024 || may_lack_an_end(c));
    c->answered = c->dead = true;
}

static const struct mcpi_turn_ops turn_ops = {op_reply, op_open, op_write, op_end,
                                              op_abort};

#endif
