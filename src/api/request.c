/*
 * request.c - one run of a handler: what was asked, and how it ends
 *
 * Ending has an owner: the first to set `over`. What it does then it does on its own
 * thread (hooks off, clean-up, the answer), because a handler's clean-up may block; the
 * rest is the loop's. From the moment the request is posted home it may be gone.
 */
#include "api/request.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "api/asking.h"
#include "api/custom.h"
#include "base/mem.h"
#include "base/text.h"

/* ---- what was asked ----------------------------------------------------- */

const mcp_json *
mcp_request_params(const mcp_request *req)
{
    return req ? req->x->rpc.params : NULL;
}

const mcp_json *
mcp_request_arguments(const mcp_request *req)
{
    return mcp_json_get(mcp_request_params(req), "arguments");
}

const mcp_json *
mcp_request_meta(const mcp_request *req)
{
    return mcp_json_get(mcp_request_params(req), "_meta");
}

const char *
mcp_request_method(const mcp_request *req)
{
    return req ? req->x->rpc.method_name : "";
}

const char *
mcp_request_name(const mcp_request *req)
{
    if (!req)
        return "";
    switch (req->x->rpc.method) {
    case MCPI_METHOD_TOOLS_CALL:
    case MCPI_METHOD_PROMPTS_GET:
        return mcp_json_string(mcp_json_get(req->x->rpc.params, "name"), "");
    case MCPI_METHOD_RESOURCES_READ:
    case MCPI_METHOD_RESOURCES_SUBSCRIBE:
    case MCPI_METHOD_RESOURCES_UNSUBSCRIBE:
        return mcp_json_string(mcp_json_get(req->x->rpc.params, "uri"), "");
    case MCPI_METHOD_COMPLETE:
        return req->offer ? req->offer->key : "";
    default:
        return "";
    }
}

const mcp_json *
mcp_request_variables(const mcp_request *req)
{
    return req ? mcp_doc_root(req->variables) : NULL;
}

const char *
mcpi_variable_text(const mcp_request *req, const char *name)
{
    const mcp_json *value = mcp_json_get(mcp_request_variables(req), name);

    if (mcp_json_get_type(value) == MCP_JSON_ARRAY)
        value = mcp_json_at(value, 0);
    return mcp_json_string(value, NULL);
}

const char *
mcp_request_argument(const mcp_request *req, const char *name)
{
    if (!req || !name)
        return NULL;
    if (req->x->rpc.method == MCPI_METHOD_RESOURCES_READ)
        return mcpi_variable_text(req, name);
    return mcp_json_string(mcp_json_get(mcp_request_arguments(req), name), NULL);
}

const mcp_json *
mcp_request_client_info(const mcp_request *req)
{
    return req ? req->x->caller.info : NULL;
}

const mcp_json *
mcp_request_client_capabilities(const mcp_request *req)
{
    return req ? req->x->caller.capabilities : NULL;
}

/* A member of _meta that is a string; U+0000 inside makes it none. */
static const char *
meta_text(const mcp_request *req, const char *key)
{
    const mcp_json *value = mcp_json_get(mcp_request_meta(req), key);
    const char *text = mcp_json_string(value, NULL);

    return text && strlen(text) == mcp_json_string_length(value) ? text : NULL;
}

const char *
mcp_request_traceparent(const mcp_request *req)
{
    return meta_text(req, "traceparent");
}

const char *
mcp_request_tracestate(const mcp_request *req)
{
    return meta_text(req, "tracestate");
}

const char *
mcp_request_baggage(const mcp_request *req)
{
    return meta_text(req, "baggage");
}

const char *
mcp_request_version(const mcp_request *req)
{
    return req ? req->x->caller.version : "";
}

void *
mcp_request_server_user(const mcp_request *req)
{
    return req ? req->host->user : NULL;
}

mcp_server *
mcp_request_server(const mcp_request *req)
{
    return req ? req->server : NULL;
}

mcp_loop *
mcp_request_loop(const mcp_request *req)
{
    return req ? req->host->loop : NULL;
}

mcp_result *
mcp_request_result(mcp_request *req)
{
    return req ? &req->out : NULL;
}

static const char *
id_write(mcp_request *req)
{
    const struct mcpi_id *id = &req->x->rpc.id;
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, req->host->mem, SIZE_MAX);
    mcpi_id_write(&buf, id);
    mcpi_buf_char(&buf, '\0');
    if (buf.status < 0) {
        mcpi_buf_done(&buf);
        return NULL;
    }
    return buf.data;
}

const char *
mcp_request_id(const mcp_request *req)
{
    mcp_request *own = (mcp_request *)(uintptr_t)req; /* the text is made when asked */
    const char *text;

    if (!req)
        return "";
    text = atomic_load_explicit(&own->id_text, memory_order_acquire);
    if (text)
        return text;
    pthread_mutex_lock(mcpi_request_lock(own));
    text = atomic_load_explicit(&own->id_text, memory_order_relaxed);
    if (!text) {
        text = id_write(own);
        atomic_store_explicit(&own->id_text, text, memory_order_release);
    }
    pthread_mutex_unlock(mcpi_request_lock(own));
    return text ? text : "";
}

/* ---- its arguments as a struct ------------------------------------------ */

struct mcpi_decoded_node {
    struct mcpi_decoded_node *next;
    mcp_decoded *decoded;
};

int
mcpi_request_decode(mcp_request *req, const mcp_fields *fields, mcp_doc *doc,
                    const mcp_json *value, void *into)
{
    struct mcpi_decoded_node *node;
    int r;

    node = mcpi_alloc(req->host->mem, sizeof(*node));
    if (!node)
        return MCP_E_NOMEM;
    r = mcp_fields_decode(fields, doc, value, into, &node->decoded, NULL);
    if (r < 0) {
        mcpi_free(req->host->mem, node);
        return r;
    }
    node->next = req->decoded;
    req->decoded = node;
    return 0;
}

int
mcp_request_bind(mcp_request *req, void *into)
{
    if (!req || !into)
        return MCP_E_INVAL;
    if (req->out.custom && req->out.custom->fields)
        return mcpi_request_decode(req, req->out.custom->fields, req->x->doc,
                                   mcp_request_params(req), into);
    if (!req->out.tool || !req->out.tool->input)
        return MCP_E_STATE;
    return mcpi_request_decode(req, req->out.tool->input, req->x->doc,
                               mcp_request_arguments(req), into);
}

static void
decoded_free(mcp_request *req)
{
    struct mcpi_decoded_node *node, *next;

    for (node = req->decoded; node; node = next) {
        next = node->next;
        mcp_decoded_free(node->decoded);
        mcpi_free(req->host->mem, node);
    }
}

/* ---- clean-up ----------------------------------------------------------- */

struct mcpi_defer {
    struct mcpi_defer *next;
    bool early; /* by a middleware: for the request, not for one run of its handler */
    void (*fn)(void *user);
    void *user;
};

int
mcp_request_defer(mcp_request *req, void (*fn)(void *user), void *user)
{
    struct mcpi_defer *defer;

    if (!req || !fn)
        return MCP_E_INVAL;
    if (atomic_load(&req->over))
        return MCP_E_STATE;
    defer = mcpi_alloc(req->host->mem, sizeof(*defer));
    if (!defer)
        return MCP_E_NOMEM;
    defer->fn = fn;
    defer->user = user;
    defer->early = !req->entered;
    pthread_mutex_lock(mcpi_request_lock(req));
    defer->next = req->defers;
    req->defers = defer;
    pthread_mutex_unlock(mcpi_request_lock(req));
    return 0;
}

/* Early ones are the last. */
static struct mcpi_defer *
defer_pop(mcp_request *req, bool early_too)
{
    struct mcpi_defer *defer;

    pthread_mutex_lock(mcpi_request_lock(req));
    defer = req->defers;
    if (defer && defer->early && !early_too)
        defer = NULL;
    if (defer)
        req->defers = defer->next;
    pthread_mutex_unlock(mcpi_request_lock(req));
    return defer;
}

static void
defers_run(mcp_request *req, bool early_too)
{
    struct mcpi_defer *defer;

    while ((defer = defer_pop(req, early_too)) != NULL) {
        defer->fn(defer->user);
        mcpi_free(req->host->mem, defer);
    }
}

/* ---- errors ------------------------------------------------------------- */

MCP_PRINTF(3, 0)
static void
request_note_error(mcp_request *req, int code, const char *format, va_list args)
{
    char text[MCPI_MESSAGE_MAX + 1]; /* a format of the program's may go before this */

    req->fail_code = code ? code : MCPI_RPC_INTERNAL_ERROR;
    (void)vsnprintf(text, sizeof(text), format, args);
    mcpi_result_say(&req->out.answer, text);
}

void
mcpi_request_refuse(mcp_request *req, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    request_note_error(req, code, format, args);
    va_end(args);
}

/* Printed again: a message is one line. What is no JSON is left out, with a word. */
static void
fail_take_data(mcp_request *req, const char *data)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = req->host->mem);
    mcp_doc *doc;
    int r;

    mcp_text_free(req->fail_data, req->host->mem);
    req->fail_data = NULL;
    if (!data)
        return;
    r = mcp_doc_parse(data, strlen(data), &opt, &doc, NULL);
    if (r == 0) {
        r = mcp_json_print(mcp_doc_root(doc), false, req->host->mem, &req->fail_data,
                           &req->fail_length);
        mcp_doc_free(doc);
    }
    if (r < 0)
        MCPI_LOG(&req->host->log, MCP_LOG_WARNING,
                 "the data of an error is left out: %s", mcp_status_text(r));
}

int
mcp_request_fail(mcp_request *req, int code, const char *data, const char *format, ...)
{
    va_list args;

    if (!req || !format)
        return MCP_E_INVAL;
    va_start(args, format);
    request_note_error(req, code, format, args);
    va_end(args);
    fail_take_data(req, data);
    return MCP_E_PEER;
}

/* ---- the answer --------------------------------------------------------- */

/* What was written so far is not sent: an error has data only if its buffer has any. */
static void
answer_drop(struct mcpi_buf *buf)
{
    mcpi_buf_done(buf);
    mcpi_buf_init(buf, buf->mem, buf->max);
}

static void
answer_noted_error(mcp_request *req)
{
    struct mcpi_result *answer = &req->out.answer;

    answer->code = req->fail_code;
    answer_drop(&answer->body);
    answer_drop(&answer->meta);
    if (req->fail_data)
        mcpi_buf_append(&answer->body, req->fail_data, req->fail_length);
}

/* The program's own mistake; the peer gets the status in words, the log the
 * sentence. */
static void
answer_internal_error(mcp_request *req, int status, const char *why)
{
    bool broken = status == MCP_E_PROTO;
    /* Of the program: worth a word. */
    bool mistake = broken || status == MCP_E_INVAL || status == MCP_E_STATE;
    char shown[MCPI_ID_SHOWN];

    MCPI_LOG(&req->host->log, mistake ? MCP_LOG_WARNING : MCP_LOG_INFO,
             "request %s (%.60s) failed: %s", mcpi_id_show(&req->x->rpc.id, shown),
             req->offer ? req->offer->key : mcp_request_method(req), why);
    answer_drop(&req->out.answer.body);
    if (broken)
        mcpi_result_error(&req->out.answer, MCPI_RPC_INTERNAL_ERROR,
                          "output does not match its schema");
    else
        mcpi_result_fail(&req->out.answer, status);
}

/* What was found at the end, or what the result had to say to a handler that passed it
 * on. */
static const char *
failure_text(const mcp_request *req, int status, const mcp_error *why)
{
    if (why->message[0])
        return why->message;
    if (req->out.status == status && req->out.answer.message[0])
        return req->out.answer.message;
    return mcp_status_text(status);
}

static void
request_make_answer(mcp_request *req, int status)
{
    bool canceled = mcp_request_is_canceled(req);
    mcp_error why = {0};

    if (canceled && (status == MCP_E_CANCELED || status == 0 || status == MCP_E_INPUT))
        return; /* nobody will read it */
    if (status == MCP_E_INPUT)
        status = mcpi_asking_close(req, &why);
    else if (status == 0 && req->out.kind != MCPI_RESULT_PLAIN)
        status = mcpi_tool_result_close(&req->out, &why);
    if (status == MCP_E_PEER && req->fail_code != 0)
        answer_noted_error(req);
    else if (status != 0)
        answer_internal_error(req, status, failure_text(req, status, &why));
}

/* ---- its life ----------------------------------------------------------- */

/* Whatever was bound to it ends with it, in a signal-only request too. */
static void
request_end_bound(mcp_request *req)
{
    struct mcpi_token *token = atomic_load(&req->token);

    if (token && !mcpi_token_set(token, "the request is over", true))
        mcpi_token_run_hooks(token);
}

static void
request_release(mcp_request *req, bool early_too)
{
    mcpi_request_unhook_all(req);
    defers_run(req, early_too);
    request_end_bound(req);
}

/* How a handler took its cancel. */
static void
request_tally(const mcp_request *req)
{
    struct mcpi_tally *tally = &req->host->tally;

    if (!mcp_request_is_canceled(req))
        return;
    if (!req->entered && req->handler)
        mcpi_tally_add(&tally->never_started, 1);
    else if (req->status == MCP_E_CANCELED)
        mcpi_tally_add(&tally->stopped, 1);
    else
        mcpi_tally_add(&tally->ran_to_end, 1);
}

static void
request_forget_told(mcp_request *req)
{
    if (!mcp_request_is_canceled(req))
        return;
    pthread_mutex_lock(&req->host->lock);
    mcpi_list_remove(&req->told);
    pthread_mutex_unlock(&req->host->lock);
}

void
mcpi_request_go_home(mcp_request *req)
{
    struct mcpi_host *host = req->host;

    mcpi_request_send_reports(req);
    request_tally(req);
    request_forget_told(req);
    mcpi_asking_note_first(req);
    if (req->rests) {
        mcpi_asking_rest(req);
        defers_run(req, true); /* unless the next run has them */
    } else {
        mcpi_exchange_finish(req->x, &req->out.answer, mcpi_loop_now(host->inside));
    }
    mcpi_request_free(req);
    host->went_home(host);
}

static void
on_home(struct mcpi_post *post)
{
    mcpi_request_go_home(MCPI_CONTAINER(post, mcp_request, home));
}

bool
mcpi_request_end(mcp_request *req, int status)
{
    struct mcpi_loop *loop = req->host->inside;

    if (atomic_exchange(&req->over, true))
        return false;
    req->status = status;
    if (req->entered && req->handler->kind == MCPI_STARTS)
        atomic_fetch_sub_explicit(&req->host->tally.live_handlers, 1,
                                  memory_order_relaxed);
    request_release(req, status != MCP_E_INPUT); /* which may not be the end of it */
    request_make_answer(req, status);
    if (status == MCP_E_INPUT && !req->rests)
        defers_run(req, true);
    if (!mcpi_loop_is_here(loop) || atomic_load(&req->report_posted))
        mcpi_loop_post(loop, &req->home);
    else if (req->starting)
        req->home_due = true;
    else
        mcpi_request_go_home(req);
    return true;
}

void
mcpi_request_part(mcp_request *req)
{
    struct mcpi_host *host = req->host;

    atomic_store(&req->over, true);
    request_release(req, true);
    mcpi_request_free(req);
    host->went_home(host);
}

mcp_request *
mcpi_request_new(struct mcpi_host *host, struct mcpi_exchange *x)
{
    mcp_request *req;

    req = mcpi_alloc_zero_first(host->mem, sizeof(*req),
                                offsetof(mcp_request, out.answer));
    if (!req)
        return NULL;
    req->x = x;
    req->host = host;
    req->home.fn = on_home;
    req->progress = req->reported = -INFINITY;
    mcpi_list_init(&req->told);
    mcpi_list_init(&req->hooks);
    mcpi_tool_result_init(&req->out, host->engine, NULL);
    req->out.version = x->caller.version;
    req->out.modern = x->caller.dialect->modern;
    host->live++;
    return req;
}

void
mcpi_request_free(mcp_request *req)
{
    struct mcpi_host *host = req->host;
    const char *id = atomic_load_explicit(&req->id_text, memory_order_relaxed);

    host->live--;
    decoded_free(req);
    mcpi_request_free_reports(req);
    mcpi_asking_free(req->asking);
    mcp_doc_free(req->variables);
    mcp_text_free(req->fail_data, host->mem);
    mcpi_free(host->mem, (void *)(uintptr_t)id);
    mcpi_tool_result_done(&req->out);
    mcpi_token_unref(atomic_load(&req->token));
    mcpi_offer_unref(req->offer);
    mcpi_free(host->mem, req);
}
