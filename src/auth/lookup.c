/* lookup.c - one document over HTTP */
#include "auth/lookup.h"

#include <assert.h>
#include <string.h>

#include "json/value.h"

#define ACCEPT "Accept: application/json"
#define TYPE "Content-Type: "

static struct mcpi_lookup *
lookup_at(struct mcpi_timer *timer)
{
    return MCPI_CONTAINER(timer, struct mcpi_lookup, timer);
}

/* ---- what must leave no trace ----------------------------------------------- */

/* A document may be a token, and a field a password. */
static void
buf_wipe(struct mcpi_buf *buf)
{
    if (buf->data)
        explicit_bzero(buf->data, buf->cap);
    mcpi_buf_done(buf);
}

/* The buffer's own way to grow would leave a copy behind. */
static int
body_grow(struct mcpi_lookup *lookup, size_t len)
{
    size_t room = (size_t)lookup->body.len * 2 + len;
    struct mcpi_buf grown;

    mcpi_buf_init(&grown, mcpi_loop_mem(lookup->loop), MCPI_LOOKUP_BYTES_MAX);
    if (!mcpi_buf_reserve(&grown,
                          room < MCPI_LOOKUP_BYTES_MAX ? room : MCPI_LOOKUP_BYTES_MAX))
        return MCP_E_NOMEM;
    mcpi_buf_append(&grown, lookup->body.data, lookup->body.len);
    buf_wipe(&lookup->body);
    lookup->body = grown;
    return 0;
}

/* ---- its end ---------------------------------------------------------------- */

/* What was an object. Only want of memory is a fault: a text that is none may be what a
 * server says with a status. */
static int
body_read(struct mcpi_lookup *lookup, mcp_doc **ret_doc)
{
    static const struct mcpi_json_limits limits = {MCPI_LOOKUP_BYTES_MAX,
                                                   MCPI_LOOKUP_DEPTH_MAX};
    const struct mcpi_buf *body = &lookup->body;
    mcp_doc *doc;
    int r;

    if (body->len == 0)
        return 0;
    r = mcpi_doc_parse_secret(body->mem, body->data, body->len, &limits, &doc);
    if (r < 0)
        return r == MCP_E_NOMEM ? r : 0;
    if (mcp_json_get_type(mcp_doc_root(doc)) == MCP_JSON_OBJECT)
        *ret_doc = doc;
    else
        mcp_doc_free(doc);
    return 0;
}

/* It can be started again from now on. */
static void
lookup_clear(struct mcpi_lookup *lookup)
{
    lookup->fetch = NULL;
    mcpi_timer_disarm(mcpi_loop_timers(lookup->loop), &lookup->timer);
    buf_wipe(&lookup->body);
    explicit_bzero(lookup->location, sizeof(lookup->location));
    explicit_bzero(lookup->nonce, sizeof(lookup->nonce));
}

/* Who is told may start it again, or free it: nothing of it is used after that, and the
 * answer has copies. */
static void
lookup_finish(struct mcpi_lookup *lookup, int status, const char *why)
{
    void (*done)(void *user, const struct mcpi_lookup_answer *answer) = lookup->done;
    struct mcpi_lookup_answer answer = {.http = lookup->http};
    char location[MCPI_LOOKUP_VALUE_MAX], nonce[MCPI_LOOKUP_VALUE_MAX];
    void *user = lookup->user;

    if (status == 0)
        status = body_read(lookup, &answer.doc);
    memcpy(location, lookup->location, sizeof(location));
    memcpy(nonce, lookup->nonce, sizeof(nonce));
    answer.status = status;
    answer.why = status == MCP_E_NOMEM ? "out of memory" : why;
    answer.json = mcp_doc_root(answer.doc);
    answer.location = location;
    answer.nonce = nonce;
    lookup_clear(lookup);
    done(user, &answer);
    mcp_doc_free(answer.doc);
    explicit_bzero(location, sizeof(location));
    explicit_bzero(nonce, sizeof(nonce));
}

static void
on_late(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_lookup *lookup = lookup_at(timer);

    (void)now;
    mcpi_fetch_abort(lookup->fetch);
    lookup_finish(lookup, MCP_E_TIMEOUT, "no answer in time");
}

/* ---- told by the fetcher ---------------------------------------------------- */

/* What is too long, or not text, is not there. */
static void
value_keep(char *into, const char *value)
{
    size_t len = value ? strlen(value) : 0;

    if (len >= MCPI_LOOKUP_VALUE_MAX)
        len = 0;
    for (size_t i = 0; i < len; i++)
        if ((unsigned char)value[i] < ' ' || value[i] == '\x7f')
            len = 0;
    if (len > 0)
        memcpy(into, value, len);
    into[len] = '\0';
}

static int
on_head(void *user, const struct mcpi_fetch_head *head)
{
    struct mcpi_lookup *lookup = user;

    lookup->http = head->status;
    value_keep(lookup->location, head->find(head, "Location"));
    value_keep(lookup->nonce, head->find(head, "DPoP-Nonce"));
    return 0;
}

static int
on_body(void *user, const char *data, size_t len)
{
    struct mcpi_lookup *lookup = user;
    struct mcpi_buf *body = &lookup->body;
    int r = 0;

    if (len > MCPI_LOOKUP_BYTES_MAX - body->len) {
        body->status = MCP_E_LIMIT;
        return MCP_E_LIMIT;
    }
    if (len > body->cap - body->len)
        r = body_grow(lookup, len);
    if (r == 0)
        mcpi_buf_append(body, data, len);
    return r;
}

static void
on_ended(void *user, const struct mcpi_fetch_fault *fault)
{
    struct mcpi_lookup *lookup = user;
    const char *why = fault ? fault->why : "";

    if (lookup->body.status == MCP_E_LIMIT)
        why = "the document is too long";
    lookup_finish(lookup, fault ? fault->status : 0, why);
}

static const struct mcpi_fetch_ops ops = {
    .head = on_head, .body = on_body, .ended = on_ended};

/* ---- its beginning ---------------------------------------------------------- */

/* In one allocation, which is wiped. */
static int
fields_make(struct mcpi_buf *fields, const struct mcpi_lookup_options *opt)
{
    size_t type = opt->body ? sizeof(TYPE) + strlen(opt->type) : 0;
    size_t room = opt->fields_len + sizeof(ACCEPT) + type;

    mcpi_buf_init(fields, mcpi_loop_mem(opt->loop), room);
    if (!mcpi_buf_reserve(fields, room))
        return fields->status;
    mcpi_buf_append(fields, opt->fields, opt->fields_len);
    mcpi_buf_append(fields, ACCEPT, sizeof(ACCEPT));
    if (opt->body) {
        MCPI_BUF_LITERAL(fields, TYPE);
        mcpi_buf_append(fields, opt->type, strlen(opt->type) + 1);
    }
    return fields->status;
}

static int
lookup_fetch(struct mcpi_lookup *lookup, const struct mcpi_lookup_options *opt,
             const struct mcpi_buf *fields)
{
    struct mcpi_fetch_options request = {
        .method = opt->method,
        .url = opt->url,
        .fields = fields->data,
        .fields_len = fields->len,
        .body = opt->body,
        .body_len = opt->body_len,
        .idle_us = MCPI_NEVER, /* there is a limit for all of it */
        .nearest = opt->nearest,
        .stays = opt->stays,
        .within = true, /* a document speaks for the origin that was asked */
        .anonymous =
            true, /* our certificate is for the server, not for whom it names */
        .ops = &ops,
        .user = lookup,
    };

    return mcpi_fetch_start(opt->fetcher, &request, &lookup->fetch);
}

int
mcpi_lookup_start(struct mcpi_lookup *lookup, const struct mcpi_lookup_options *opt)
{
    struct mcpi_buf fields;
    int r;

    assert(!mcpi_lookup_is_open(lookup));
    lookup->loop = opt->loop;
    lookup->http = 0;
    lookup->location[0] = lookup->nonce[0] = '\0';
    lookup->done = opt->done;
    lookup->user = opt->user;
    mcpi_timer_init(&lookup->timer, on_late);
    mcpi_buf_init(&lookup->body, mcpi_loop_mem(opt->loop), MCPI_LOOKUP_BYTES_MAX);
    r = fields_make(&fields, opt);
    if (r == 0)
        r = lookup_fetch(lookup, opt, &fields);
    buf_wipe(&fields);
    if (r < 0)
        return r;
    mcpi_timer_arm(mcpi_loop_timers(opt->loop), &lookup->timer,
                   mcpi_time_add(mcpi_loop_now(opt->loop), opt->limit_us));
    return 0;
}

bool
mcpi_lookup_is_open(const struct mcpi_lookup *lookup)
{
    return lookup->fetch != NULL;
}

bool
mcpi_lookup_is_refused(const struct mcpi_lookup_answer *answer)
{
    int http = answer->http;

    return answer->status == 0 && http >= 400 && http < 500 && http != 408 &&
           http != 425 && http != 429;
}

void
mcpi_lookup_abort(struct mcpi_lookup *lookup)
{
    struct mcpi_fetch *fetch = lookup->fetch;

    if (!fetch)
        return;
    lookup_clear(lookup);
    mcpi_fetch_abort(fetch);
}
