/* gather.c - the questions of one input_required answer, and what they are answered */
#include "core/gather.h"

#include <string.h>

#include "base/mem.h"
#include "core/peer.h"

#define RESPONSES "inputResponses"
#define STATE "requestState"

struct question {
    struct mcpi_gather *gather;
    const char *method;
    const mcp_json *key, *params;
    struct mcpi_exchange *x; /* counted; NULL: not opened yet */
    bool is_over;
};

struct mcpi_gather {
    unsigned refs; /* the owner's, that of its start, and one for each question asked:
                      one that is in the middle of its end still tells us */
    struct mcpi_peer *peer;
    struct mcpi_engine *engine;
    mcp_doc *doc;
    const mcp_json *requests, *state; /* in doc; each may be NULL */
    mcpi_gathered_fn *fn; /* NULL: nobody to tell, not yet or not any more */
    void *user;
    struct mcpi_buf answers; /* members of inputResponses, in the order they came */
    size_t count;
    size_t open; /* not answered yet, or not even asked */
    struct question questions[];
};

static void
gather_unref(struct mcpi_gather *g)
{
    if (--g->refs > 0)
        return;
    for (size_t i = 0; i < g->count; i++)
        if (g->questions[i].x)
            mcpi_exchange_unref(g->questions[i].x);
    mcpi_buf_done(&g->answers);
    mcp_doc_free(g->doc);
    mcpi_free(g->engine->mem, g);
}

/* ---- what is asked --------------------------------------------------------- */

bool
mcpi_gather_is_due(const struct mcpi_rpc *answer)
{
    return mcp_json_is_string(mcp_json_get(answer->result, "resultType"),
                              "input_required");
}

static bool
is_object(const mcp_json *value)
{
    return mcp_json_get_type(value) == MCP_JSON_OBJECT;
}

/* The three kinds of question there are (basic/patterns/mrtr); NULL: it is none. */
static const char *
question_method(const mcp_json *name)
{
    static const enum mcpi_method kinds[] = {MCPI_METHOD_ELICIT, MCPI_METHOD_SAMPLING,
                                             MCPI_METHOD_ROOTS_LIST};

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (mcp_json_is_string(name, mcpi_method_name(kinds[i])))
            return mcpi_method_name(kinds[i]);
    return NULL;
}

static bool
question_read(struct question *q, const mcp_json *request)
{
    struct mcpi_meta meta;
    const char *fault;

    q->method = question_method(mcp_json_get(request, "method"));
    q->params = mcp_json_get(request, "params");
    if (!q->method || mcpi_json_has_duplicates(request) ||
        mcpi_json_has_duplicates(q->params))
        return false;
    if (!q->params) /* only this one can do without */
        return strcmp(q->method, mcpi_method_name(MCPI_METHOD_ROOTS_LIST)) == 0;
    return is_object(q->params) && mcpi_meta_read(q->params, &meta, &fault) == 0;
}

static bool
gather_read(struct mcpi_gather *g)
{
    mcp_json_iterator it = mcp_json_each(g->requests);
    struct question *q = g->questions;

    for (; mcp_json_next(&it); q++) {
        q->gather = g;
        q->key = it.key;
        if (!question_read(q, it.value))
            return false;
    }
    return true;
}

static int
gather_check(const mcp_json *result, const struct mcpi_engine *e)
{
    const mcp_json *requests = mcp_json_get(result, "inputRequests");
    const mcp_json *state = mcp_json_get(result, STATE);

    if (mcpi_json_has_duplicates(result) || (!requests && !state))
        return MCP_E_PROTO;
    if (state && mcp_json_get_type(state) != MCP_JSON_STRING)
        return MCP_E_PROTO;
    if (requests && (!is_object(requests) || mcpi_json_has_duplicates(requests)))
        return MCP_E_PROTO;
    return mcp_json_count(requests) > e->limits.in_flight ? MCP_E_LIMIT : 0;
}

int
mcpi_gather_new(struct mcpi_peer *peer, const struct mcpi_rpc *answer,
                struct mcpi_gather **ret)
{
    struct mcpi_engine *e = peer->engine;
    struct mcpi_gather *g;
    size_t count;
    int r;

    r = gather_check(answer->result, e);
    if (r < 0)
        return r;
    count = mcp_json_count(mcp_json_get(answer->result, "inputRequests"));
    g = mcpi_alloc_zero(e->mem, sizeof(*g) + count * sizeof(g->questions[0]));
    if (!g)
        return MCP_E_NOMEM;
    g->refs = 1;
    g->peer = peer;
    g->engine = e;
    g->doc = mcp_doc_ref(answer->doc);
    g->requests = mcp_json_get(answer->result, "inputRequests");
    g->state = mcp_json_get(answer->result, STATE);
    g->count = g->open = count;
    mcpi_buf_init(&g->answers, e->mem, e->limits.message_bytes);
    if (!gather_read(g)) {
        gather_unref(g);
        return MCP_E_PROTO;
    }
    *ret = g;
    return 0;
}

size_t
mcpi_gather_count(const struct mcpi_gather *g)
{
    return g->count;
}

/* ---- what is answered ------------------------------------------------------ */

/* The one ending: whoever comes second finds nobody to tell. */
static void
gather_end(struct mcpi_gather *g, int status, const struct mcpi_rpc *error)
{
    mcpi_gathered_fn *fn = g->fn;

    g->fn = NULL;
    if (fn)
        fn(g->user, status, error);
}

/* The same members as in an answer on the wire, without those of the envelope: what is
 * inside of a request has no resultType. */
static int
gather_keep(struct mcpi_gather *g, const struct question *q,
            const struct mcpi_result *answer)
{
    struct mcpi_buf *into = &g->answers;
    const char *members;
    size_t len;

    if (answer->body.status < 0 || answer->meta.status < 0)
        return answer->body.status < 0 ? answer->body.status : answer->meta.status;
    mcpi_members(answer->body.data, answer->body.len, &members, &len);
    if (into->len > 0)
        mcpi_buf_char(into, ',');
    mcpi_json_write(into, q->key);
    MCPI_BUF_LITERAL(into, ":{");
    mcpi_buf_append(into, members, len);
    mcpi_dialect_legacy.write_result(g->engine, answer, len > 0, into);
    mcpi_buf_char(into, '}');
    return into->status;
}

static void
gather_hear(struct mcpi_gather *g, const struct question *q,
            const struct mcpi_result *answer)
{
    struct mcpi_rpc error = {.kind = MCPI_RPC_ERROR};
    int r;

    if (answer->code != 0) {
        error.error_code = answer->code;
        error.error_message = answer->message;
        gather_end(g, MCP_E_PEER, &error);
        return;
    }
    r = gather_keep(g, q, answer);
    if (r < 0 || g->open == 0)
        gather_end(g, r, NULL);
}

static void
question_ended(void *user, struct mcpi_exchange *x, const struct mcpi_result *answer)
{
    struct question *q = user;
    struct mcpi_gather *g = q->gather;

    g->open--;
    q->is_over = true;
    if (g->fn && answer)
        gather_hear(g, q, answer);
    else
        gather_end(g, x->ending == MCPI_CANCELED ? MCP_E_CANCELED : MCP_E_CLOSED, NULL);
    gather_unref(g);
}

/* ---- asking ---------------------------------------------------------------- */

static int
question_ask(struct question *q)
{
    struct mcpi_gather *g = q->gather;
    const struct mcpi_question question = {.doc = g->doc,
                                           .method = q->method,
                                           .params = q->params,
                                           .bytes = mcpi_doc_bytes(g->doc) / g->count};
    int r;

    g->refs++; /* until question_ended */
    r = mcpi_exchange_open_local(g->peer, &question, question_ended, q, &q->x);
    if (r < 0)
        gather_unref(g);
    return r;
}

static void
question_cancel(struct question *q, const char *reason)
{
    if (q->x && !q->is_over)
        mcpi_exchange_end(q->x, MCPI_CANCELED, NULL, reason);
}

void
mcpi_gather_start(struct mcpi_gather *g, mcpi_gathered_fn *fn, void *user)
{
    int r;

    g->refs++;
    g->fn = fn;
    g->user = user;
    for (size_t i = 0; i < g->count && g->fn; i++) {
        r = question_ask(&g->questions[i]);
        if (r < 0)
            gather_end(g, r, NULL);
    }
    gather_unref(g);
}

void
mcpi_gather_free(struct mcpi_gather *g, const char *reason)
{
    if (!g)
        return;
    g->fn = NULL;
    for (size_t i = 0; i < g->count; i++)
        question_cancel(&g->questions[i], reason);
    gather_unref(g);
}

/* ---- the next leg ---------------------------------------------------------- */

/* Whoever asked may have begun in the middle of such a conversation. What it said then
 * must not be said again, so its params are taken apart, and only then. */
static int
write_without_rounds(const struct mcpi_engine *e, const char *params, size_t len,
                     struct mcpi_buf *into)
{
    const struct mcpi_json_limits limits = {e->limits.message_bytes, e->limits.depth};
    mcp_json_iterator it;
    bool comma = false;
    mcp_doc *doc;
    int r;

    r = mcpi_doc_parse(e->mem, params, len, &limits, &doc);
    if (r < 0)
        return r;
    for (it = mcp_json_each(mcp_doc_root(doc)); mcp_json_next(&it);) {
        if (mcp_json_is_string(it.key, RESPONSES) || mcp_json_is_string(it.key, STATE))
            continue;
        if (comma)
            mcpi_buf_char(into, ',');
        mcpi_json_write(into, it.key);
        mcpi_buf_char(into, ':');
        mcpi_json_write(into, it.value);
        comma = true;
    }
    mcp_doc_free(doc);
    return 0;
}

static int
write_first(const struct mcpi_engine *e, const char *params, size_t len,
            struct mcpi_buf *into)
{
    const char *members;
    size_t members_len;

    if (params &&
        (strstr(params, "\"" RESPONSES "\"") || strstr(params, "\"" STATE "\"")))
        return write_without_rounds(e, params, len, into);
    mcpi_members(params, len, &members, &members_len);
    mcpi_buf_append(into, members, members_len);
    return 0;
}

int
mcpi_gather_write(const struct mcpi_gather *g, const char *params, size_t len,
                  struct mcpi_buf *into)
{
    const char *comma;
    size_t start;
    int r;

    mcpi_buf_char(into, '{');
    start = into->len;
    r = write_first(g->engine, params, len, into);
    if (r < 0)
        return r;
    comma = into->len > start ? "," : "";
    if (g->requests) {
        mcpi_buf_text(into, comma);
        MCPI_BUF_LITERAL(into, "\"" RESPONSES "\":{");
        mcpi_buf_append(into, g->answers.data, g->answers.len);
        mcpi_buf_char(into, '}');
        comma = ",";
    }
    if (g->state) {
        mcpi_buf_text(into, comma);
        MCPI_BUF_LITERAL(into, "\"" STATE "\":");
        mcpi_json_write(into, g->state);
    }
    mcpi_buf_char(into, '}');
    return into->status;
}
