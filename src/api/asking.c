/*
 * asking.c - what a handler has asked; in the legacy era, asking it
 *
 * While the exchange rests, all that can happen to it comes as the end of a nested
 * call: an answer, a refusal, the end of the exchange itself or of its peer. Each may
 * come in the middle of something (the peer ends its legs before its exchanges), so
 * nothing is decided there: it is noted, and a post looks at what has become of it all.
 * So there is no recursion either, however often a handler wants to be run again.
 *
 *   the exchange has ended     middleware is told, and that was it (L10)
 *   the client is gone         the exchange is dropped (J8)
 *   one question has failed    the exchange fails, its siblings are canceled
 *   all are answered           the next run
 */
#include "api/asking.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "api/elicited.h"
#include "api/server.h"
#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/peer.h"
#include "run/random.h"

/* ---- questions ---------------------------------------------------------- */

struct mcpi_asked *
mcpi_asked_new(const mcp_allocator *mem, enum mcpi_asked_kind kind, const char *key,
               mcp_doc *take_from)
{
    size_t len = strlen(key) + 1;
    struct mcpi_asked *asked = mcpi_alloc_zero_first(mem, sizeof(*asked) + len,
                                                     sizeof(*asked));

    if (!asked)
        return NULL;
    mcpi_list_init(&asked->node);
    asked->kind = kind;
    asked->from = take_from;
    asked->params = mcp_doc_root(take_from);
    asked->schema = mcp_json_get(asked->params, "requestedSchema");
    memcpy(asked->key, key, len);
    return asked;
}

void
mcpi_asked_free(const mcp_allocator *mem, struct mcpi_asked *asked)
{
    assert(!asked->call);
    mcpi_list_remove(&asked->node);
    mcp_doc_free(asked->from);
    mcp_doc_free(asked->doc);
    mcpi_free(mem, asked);
}

struct mcpi_asked *
mcpi_asked_find(const struct mcpi_list *list, const char *key)
{
    const struct mcpi_list *node;
    struct mcpi_asked *asked;

    for (node = list->next; node != list; node = node->next) {
        asked = MCPI_CONTAINER(node, struct mcpi_asked, node);
        if (strcmp(asked->key, key) == 0)
            return asked;
    }
    return NULL;
}

enum mcpi_method
mcpi_asked_method(enum mcpi_asked_kind kind)
{
    switch (kind) {
    case MCPI_ASKED_SAMPLE:
        return MCPI_METHOD_SAMPLING;
    case MCPI_ASKED_ROOTS:
        return MCPI_METHOD_ROOTS_LIST;
    default:
        return MCPI_METHOD_ELICIT;
    }
}

bool
mcpi_method_may_ask(enum mcpi_method method)
{
    return method == MCPI_METHOD_TOOLS_CALL || method == MCPI_METHOD_PROMPTS_GET ||
           method == MCPI_METHOD_RESOURCES_READ;
}

/* ---- what a handler keeps ----------------------------------------------- */

/* Those before the last one may still be looked at. */
struct mcpi_kept {
    struct mcpi_kept *next;
    char text[];
};

const char *
mcpi_asking_kept(const struct mcpi_asking *asking)
{
    return asking->kept ? asking->kept->text : "";
}

int
mcpi_asking_keep(struct mcpi_asking *asking, const char *text)
{
    size_t len = strlen(text) + 1;
    struct mcpi_kept *kept = mcpi_alloc(asking->mem, sizeof(*kept) + len);

    if (!kept)
        return MCP_E_NOMEM;
    memcpy(kept->text, text, len);
    kept->next = asking->kept;
    asking->kept = kept;
    return 0;
}

static void
kept_free(const mcp_allocator *mem, struct mcpi_kept *kept)
{
    struct mcpi_kept *next;

    for (; kept; kept = next) {
        next = kept->next;
        mcpi_free(mem, kept);
    }
}

/* All but the last one: who could look at them is over. */
static void
kept_forget(struct mcpi_asking *asking)
{
    if (!asking->kept)
        return;
    kept_free(asking->mem, asking->kept->next);
    asking->kept->next = NULL;
}

/* ---- its life ----------------------------------------------------------- */

static void on_step(struct mcpi_post *post);

struct mcpi_asking *
mcpi_asking_new(const mcp_allocator *mem)
{
    struct mcpi_asking *asking = mcpi_alloc_zero(mem, sizeof(*asking));

    if (!asking)
        return NULL;
    asking->mem = mem;
    asking->step.fn = on_step;
    mcpi_list_init(&asking->asked);
    mcpi_list_init(&asking->answered);
    return asking;
}

struct mcpi_asking *
mcpi_asking_peek(const mcp_request *req)
{
    mcp_request *own = (mcp_request *)(uintptr_t)req; /* for its lock */
    struct mcpi_asking *asking;

    pthread_mutex_lock(mcpi_request_lock(own));
    asking = own->asking;
    pthread_mutex_unlock(mcpi_request_lock(own));
    return asking;
}

struct mcpi_asking *
mcpi_asking_get(mcp_request *req)
{
    struct mcpi_asking *asking;

    pthread_mutex_lock(mcpi_request_lock(req));
    if (!req->asking)
        req->asking = mcpi_asking_new(req->host->mem);
    asking = req->asking;
    pthread_mutex_unlock(mcpi_request_lock(req));
    return asking;
}

static void
list_free(const mcp_allocator *mem, struct mcpi_list *list)
{
    struct mcpi_list *node;

    while ((node = mcpi_list_first(list)) != NULL)
        mcpi_asked_free(mem, MCPI_CONTAINER(node, struct mcpi_asked, node));
}

void
mcpi_asking_free(struct mcpi_asking *asking)
{
    if (!asking)
        return;
    assert(!asking->x);
    list_free(asking->mem, &asking->asked);
    list_free(asking->mem, &asking->answered);
    kept_free(asking->mem, asking->kept);
    mcpi_free(asking->mem, asking->first_id);
    mcpi_free(asking->mem, asking);
}

/* ---- its options -------------------------------------------------------- */

#define DEFAULT_ASK_MS 600000
#define DEFAULT_STATE_MS 600000
#define STATE_MS_MAX (INT64_C(1) << 50) /* far below where times overflow */

int
mcpi_asking_take_options(mcp_server *server, const mcp_server_options *opt,
                         mcp_error *err)
{
    int64_t state_ms = opt->state_ms ? opt->state_ms : DEFAULT_STATE_MS;
    int r = 0;

    if (opt->ask_ms < 0 || opt->state_ms < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "a time of the server is negative");
    server->ask_us = mcpi_ms(opt->ask_ms ? opt->ask_ms : DEFAULT_ASK_MS);
    server->state_ms = state_ms < STATE_MS_MAX ? state_ms : STATE_MS_MAX;
    if (opt->state_key)
        memcpy(server->state_key, opt->state_key, sizeof(server->state_key));
    else
        r = mcpi_random(server->state_key, sizeof(server->state_key));
    return r < 0 ? mcpi_error_set(err, r, "no key: %s", mcp_status_text(r)) : 0;
}

/* ---- the end of a run --------------------------------------------------- */

int
mcpi_asking_close(mcp_request *req, mcp_error *err)
{
    const struct mcpi_asking *asking = mcpi_asking_peek(req);
    int r;

    if (!asking || (mcpi_list_empty(&asking->asked) && !asking->kept))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "input required, but nothing was asked");
    if (asking->rounds >= MCPI_ASKING_ROUNDS_MAX)
        return mcpi_error_set(err, MCP_E_LIMIT, "it has asked %d times already",
                              MCPI_ASKING_ROUNDS_MAX);
    if (req->x->caller.dialect->modern) {
        r = mcpi_round_take_early(req);
        if (r <= 0)
            return r < 0 ? r : mcpi_round_close(req, err);
    }
    req->rests = true;
    return 0;
}

void
mcpi_asking_note_first(mcp_request *req)
{
    const struct mcpi_asking *asking = req->asking;
    int r = 0;

    if (!asking || !asking->first_id || req->status != MCP_E_PEER ||
        req->fail_code != MCPI_RPC_URL_FIRST)
        return;
    if (req->x->ending == MCPI_OPEN && req->x->peer)
        r = mcpi_server_note_elicitation(req->server, asking->first_id, req->x->peer);
    if (r < 0)
        MCPI_LOG(&req->host->log, MCP_LOG_WARNING,
                 "a client will not be told that an elicitation is complete: %s",
                 mcp_status_text(r));
}

/* ---- while it rests ----------------------------------------------------- */

static int64_t
asking_now(const struct mcpi_asking *asking)
{
    return mcpi_loop_now(asking->next->host->inside);
}

/* Note it, if it is the first, and let the loop look at it. code 0: it was none of the
 * client's, and message may be NULL. */
static void
asking_fail(struct mcpi_asking *asking, int status, int code, const char *message)
{
    if (asking->status == 0) {
        asking->status = status;
        asking->code = code;
        message = message ? message : mcp_status_text(status);
        (void)mcpi_text_clean(asking->message, sizeof(asking->message), message,
                              strlen(message));
    }
    mcpi_loop_post(asking->next->host->inside, &asking->step);
}

static void
asked_answer(struct mcpi_asked *asked, const struct mcpi_rpc *answer)
{
    struct mcpi_asking *asking = asked->asking;
    mcp_error why = {0};
    char message[300];
    int r;

    r = mcpi_answer_check(asking->mem, asked->kind, asked->schema, answer->result,
                          &why);
    if (r < 0) {
        snprintf(message, sizeof(message), "The answer to %s is none: %s",
                 mcpi_method_name(mcpi_asked_method(asked->kind)),
                 why.message[0] ? why.message : mcp_status_text(r));
        asking_fail(asking, r, 0, message);
        return;
    }
    r = mcpi_peer_keep(asking->x, mcpi_doc_bytes(answer->doc));
    if (r < 0) {
        asking_fail(asking, r, 0, NULL);
        return;
    }
    asked->doc = mcp_doc_ref(answer->doc);
    asked->answer = answer->result;
}

static void
on_call_done(void *user, struct mcpi_call *call, int status,
             const struct mcpi_rpc *answer)
{
    struct mcpi_asked *asked = user;
    struct mcpi_asking *asking = asked->asking;
    char message[100];

    (void)call;
    asking->open--;
    if (status == 0) {
        asked_answer(asked, answer);
    } else if (status == MCP_E_PEER) {
        asking_fail(asking, status, answer->error_code, answer->error_message);
    } else {
        snprintf(message, sizeof(message), "The client has not answered %s: %s",
                 mcpi_method_name(mcpi_asked_method(asked->kind)),
                 mcp_status_text(status));
        asking_fail(asking, status, 0, message);
    }
    if (asking->open == 0)
        mcpi_loop_post(asking->next->host->inside, &asking->step);
}

static int
asked_send(struct mcpi_asked *asked, const struct mcpi_buf *params)
{
    static const struct mcpi_call_ops ops = {.done = on_call_done};
    struct mcpi_asking *asking = asked->asking;
    const mcp_server *server = asking->next->server;
    const struct mcpi_call_options opt = {
        .method = mcpi_method_name(mcpi_asked_method(asked->kind)),
        .params = params->data,
        .params_len = params->len,
        .timeout_us = server->ask_us,
        .parent = asking->x,
        .ops = &ops,
        .user = asked,
    };
    int r;

    r = mcpi_call_start(asking->x->peer, &opt, asking_now(asking), &asked->call);
    if (r < 0)
        return r;
    asking->open++;
    return 0;
}

/* Who is told that it is done: the client that was asked. */
static int
asked_note(const struct mcpi_asked *asked)
{
    const mcp_json *id = mcp_json_get(asked->params, "elicitationId");
    const struct mcpi_asking *asking = asked->asking;

    if (!id)
        return 0;
    return mcpi_server_note_elicitation(asking->next->server, mcp_json_string(id, ""),
                                        asking->x->peer);
}

static int
asked_begin(struct mcpi_asked *asked)
{
    struct mcpi_asking *asking = asked->asking;
    struct mcpi_buf params;
    int r;

    mcpi_buf_init(&params, asking->mem, MCPI_JSON_TEXT_MAX);
    if (asked->params)
        mcpi_json_write(&params, asked->params);
    r = params.status;
    if (r == 0)
        r = asked_note(asked);
    if (r == 0)
        r = asked_send(asked, &params);
    mcpi_buf_done(&params);
    return r;
}

/* The request of the next run: the same but for what a run makes itself. */
static mcp_request *
request_again(mcp_request *req)
{
    mcp_request *next = mcpi_request_new(req->host, req->x);

    if (!next)
        return NULL;
    next->server = req->server;
    next->offer = req->offer ? mcpi_offer_ref(req->offer) : NULL;
    next->handler = req->handler;
    next->serve = req->serve;
    next->variables = req->variables ? mcp_doc_ref(req->variables) : NULL;
    next->passed = req->passed;
    next->reported = req->reported > req->progress ? req->reported : req->progress;
    atomic_init(&next->log_from, atomic_load(&req->log_from));
    next->out.kind = req->out.kind;
    next->out.tool = req->out.tool;
    next->out.resource = req->out.resource;
    next->out.prompt = req->out.prompt;
    next->out.uri = req->out.uri;
    next->out.version = req->out.version;
    next->out.modern = req->out.modern;
    next->again = true;
    next->defers = req->defers;
    req->defers = NULL;
    next->asking = req->asking;
    req->asking = NULL;
    return next;
}

static void
asking_begin(struct mcpi_asking *asking)
{
    struct mcpi_list *node;
    int r = 0;

    for (node = asking->asked.next; r == 0 && node != &asking->asked; node = node->next)
        r = asked_begin(MCPI_CONTAINER(node, struct mcpi_asked, node));
    if (r < 0)
        asking_fail(asking, r, 0, NULL);
    else if (asking->open == 0)
        mcpi_loop_post(asking->next->host->inside, &asking->step);
}

void
mcpi_asking_rest(mcp_request *req)
{
    int64_t now = mcpi_loop_now(req->host->inside);
    struct mcpi_exchange *x = req->x;
    struct mcpi_asking *asking;
    mcp_request *next;

    if (x->ending != MCPI_OPEN) {
        mcpi_exchange_rest(x, now);
        return;
    }
    next = request_again(req);
    if (!next) {
        mcpi_result_fail(&req->out.answer, MCP_E_NOMEM);
        mcpi_exchange_finish(x, &req->out.answer, now);
        return;
    }
    asking = next->asking;
    asking->next = next;
    asking->x = mcpi_exchange_ref(x);
    kept_forget(asking);
    mcpi_exchange_serve(x, x->served, next);
    mcpi_exchange_rest(x, now);
    asking_begin(asking);
}

/* ---- what has become of it ---------------------------------------------- */

/* Those that still wait are not wanted any more: the client is told so. */
static void
calls_end(struct mcpi_asking *asking, int64_t now)
{
    struct mcpi_asked *asked;
    struct mcpi_list *node;

    for (node = asking->asked.next; node != &asking->asked; node = node->next) {
        asked = MCPI_CONTAINER(node, struct mcpi_asked, node);
        mcpi_call_free(asked->call, now);
        asked->call = NULL;
    }
    asking->open = 0;
}

/* It ended while nobody was there to be told: who is there now is, as if the next run
 * had waited for a worker. */
static void
asking_lost(mcp_request *next, struct mcpi_exchange *x)
{
    x->served->flag(x, x->ending, x->reason);
    x->served->ended(x, x->ending, x->reason);
    (void)mcpi_request_end(next, MCP_E_CANCELED);
}

static void
asking_refuse(mcp_request *next)
{
    const struct mcpi_asking *asking = next->asking;

    mcpi_request_refuse(next, asking->code ? asking->code : MCPI_RPC_INTERNAL_ERROR,
                        "%s", asking->message);
    (void)mcpi_request_end(next, MCP_E_PEER);
}

static void
asking_go_on(struct mcpi_asking *asking, struct mcpi_exchange *x, int64_t now)
{
    struct mcpi_list *node;

    while ((node = mcpi_list_pop(&asking->asked)) != NULL)
        mcpi_list_append(&asking->answered, node);
    asking->questions = 0;
    asking->rounds++;
    (void)mcpi_exchange_resume(x, now); /* it is open: true */
}

static void
on_step(struct mcpi_post *post)
{
    struct mcpi_asking *asking = MCPI_CONTAINER(post, struct mcpi_asking, step);
    int64_t now = asking_now(asking);
    struct mcpi_exchange *x = asking->x;
    mcp_request *next = asking->next;

    calls_end(asking, now); /* first: from here on none of them says anything */
    if (asking->status == MCP_E_CLOSED)
        (void)mcpi_exchange_end(x, MCPI_DROPPED, NULL, "connection lost");
    asking->x = NULL;
    asking->next = NULL;
    if (x->ending != MCPI_OPEN)
        asking_lost(next, x);
    else if (asking->status < 0)
        asking_refuse(next);
    else
        asking_go_on(asking, x, now);
    mcpi_exchange_unref(x);
}
