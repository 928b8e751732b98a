/*
 * call_make.c - a call on its caller's thread: what is asked is checked and copied
 *
 * One block holds the call and its texts. The wire wants one line: in a valid JSON text
 * control characters stand only between tokens, so that copying them as spaces changes
 * nothing else.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "api/call.h"
#include "api/request.h"
#include "api/resume.h"
#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/thread.h"
#include "wire/severity.h"
#include "json/value.h"

static bool
is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static struct mcpi_text
text_trim(const char *text)
{
    size_t len = strlen(text);

    for (; len > 0 && is_space(text[0]); len--)
        text++;
    while (len > 0 && is_space(text[len - 1]))
        len--;
    return (struct mcpi_text){text, len};
}

int
mcpi_object_text(const struct mcp_client *client, const char *text, const char *what,
                 struct mcpi_text *ret, mcp_doc **ret_doc, mcp_error *err)
{
    const struct mcpi_json_limits limits = {client->max_bytes, client->max_depth};
    struct mcpi_text found = text_trim(text);
    mcp_doc *doc;
    int r;

    r = mcpi_doc_parse(client->host.mem, found.text, found.len, &limits, &doc);
    if (r == MCP_E_SYNTAX)
        return mcpi_error_set(err, MCP_E_INVAL, "%s: not valid JSON", what);
    if (r < 0)
        return mcpi_error_set(err, r, "%s: %s", what, mcp_status_text(r));
    if (mcp_json_get_type(mcp_doc_root(doc)) != MCP_JSON_OBJECT)
        r = mcpi_error_set(err, MCP_E_INVAL, "%s: not a JSON object", what);
    else if (mcpi_json_has_duplicates(mcp_doc_root(doc)))
        r = mcpi_error_set(err, MCP_E_INVAL, "%s: a key stands twice", what);
    if (r == 0)
        *ret = found;
    if (r == 0 && ret_doc)
        *ret_doc = doc;
    else
        mcp_doc_free(doc);
    return r;
}

static int
meta_check(const mcp_json *meta, mcp_error *err)
{
    mcp_json_iterator it;
    const char *key;

    for (it = mcp_json_each(meta); mcp_json_next(&it);) {
        key = mcp_json_string(it.key, "");
        if (mcpi_meta_reserved(key, mcp_json_string_length(it.key)))
            return mcpi_error_set(err, MCP_E_INVAL,
                                  "meta: %s is the library's own to set", key);
    }
    return 0;
}

/* What the request is part of that this is done for (W3C trace context), unless the
 * caller has said something else. into: `{` and the caller's own members. */
static void
trace_write(struct mcpi_buf *into, const mcp_json *own, const mcp_json *parents)
{
    static const char *const keys[] = {"traceparent", "tracestate", "baggage"};
    bool comma = mcp_json_count(own) > 0;
    const mcp_json *value;
    size_t i;

    for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        value = mcp_json_get(parents, keys[i]);
        if (mcp_json_get_type(value) != MCP_JSON_STRING || mcp_json_get(own, keys[i]))
            continue;
        if (comma)
            mcpi_buf_char(into, ',');
        (void)mcpi_json_write_string(into, keys[i], strlen(keys[i]));
        mcpi_buf_char(into, ':');
        mcpi_json_write(into, value); /* all failures are the buffer's */
        comma = true;
    }
}

/* The caller's own members and the trace, as text of an object; empty: neither. */
static int
meta_write(const struct mcp_client *client, const mcp_call_options *opt,
           struct mcpi_buf *into, mcp_error *err)
{
    struct mcpi_text found = {NULL, 0};
    mcp_doc *doc = NULL;
    int r = 0;

    if (opt->meta)
        r = mcpi_object_text(client, opt->meta, "meta", &found, &doc, err);
    if (r == 0 && doc)
        r = meta_check(mcp_doc_root(doc), err);
    if (r == 0) {
        mcpi_buf_char(into, '{');
        if (doc)
            mcpi_buf_append(into, found.text + 1, found.len - 2);
        trace_write(into, mcp_doc_root(doc), mcp_request_meta(opt->parent));
        mcpi_buf_char(into, '}');
        if (into->status < 0)
            r = mcpi_error_set(err, into->status, "meta: %s",
                               mcp_status_text(into->status));
    }
    mcp_doc_free(doc);
    return r;
}

void
mcpi_copy_line(char *into, const struct mcpi_text *text)
{
    size_t i;

    for (i = 0; i < text->len; i++)
        into[i] = (unsigned char)text->text[i] < ' ' ? ' ' : text->text[i];
}

/* ---- ids ----------------------------------------------------------------- */

static int
id_read(const mcp_id *id, struct mcpi_id *ret, mcp_error *err)
{
    size_t len;

    *ret = (struct mcpi_id){.kind = MCPI_ID_NONE};
    if (id->type == MCP_ID_NUMBER) {
        *ret = mcpi_id_int(id->number);
    } else if (id->type == MCP_ID_TEXT) {
        len = id->text ? strnlen(id->text, MCPI_ID_MAX + 1) : MCPI_ID_MAX + 1;
        if (len > MCPI_ID_MAX)
            return mcpi_error_set(err, MCP_E_INVAL,
                                  "id: there must be a text of at most %d bytes",
                                  MCPI_ID_MAX);
        if (!mcpi_utf8_valid(id->text, len))
            return mcpi_error_set(err, MCP_E_INVAL, "id: not UTF-8");
        *ret = mcpi_id_string(id->text, len);
    } else if (id->type != MCP_ID_NONE) {
        return mcpi_error_set(err, MCP_E_INVAL, "id: of no type that there is");
    }
    return 0;
}

/* ---- the block ----------------------------------------------------------- */

struct parts {
    struct mcpi_id id;
    struct mcpi_buf id_text; /* of a text; else empty */
    struct mcpi_buf meta_text;
    size_t method_len;
    struct mcpi_text params, meta, key, tool, resume;
};

static const char *
stow_line(char **at, const struct mcpi_text *text)
{
    char *copy = *at;

    if (!text->text)
        return NULL;
    mcpi_copy_line(copy, text);
    copy[text->len] = '\0';
    *at += text->len + 1;
    return copy;
}

static mcp_call *
block_new(const mcp_allocator *mem, const char *method, const struct parts *parts)
{
    size_t texts = parts->id.len + parts->id_text.len + parts->method_len +
                   parts->params.len + parts->meta.len + parts->key.len +
                   parts->tool.len + parts->resume.len + 8;
    mcp_call *call;
    char *at;

    call = mcpi_alloc_zero_first(mem, sizeof(*call) + texts, sizeof(*call));
    if (!call)
        return NULL;
    at = (char *)(call + 1);
    call->mem = mem;
    call->claim.id = parts->id;
    if (parts->id.kind == MCPI_ID_STRING)
        call->claim.id.text = mcpi_text_stow(&at, parts->id.text, parts->id.len);
    atomic_init(&call->id_text,
                mcpi_text_stow(&at, parts->id_text.data, parts->id_text.len));
    call->method = mcpi_text_stow(&at, method, parts->method_len);
    call->params = stow_line(&at, &parts->params);
    call->params_len = parts->params.len;
    call->meta = stow_line(&at, &parts->meta);
    call->meta_len = parts->meta.len;
    call->key.text = mcpi_text_stow(&at, parts->key.text, parts->key.len);
    call->key.len = parts->key.len;
    call->tool = mcpi_text_stow(&at, parts->tool.text, parts->tool.len);
    call->resume = mcpi_text_stow(&at, parts->resume.text, parts->resume.len);
    return call;
}

/* again: what it takes up; zeroed: nothing. */
static int
block_make(const struct mcp_client *client, const struct mcpi_ask *ask,
           const mcp_call_options *opt, const struct mcpi_resume *again, mcp_call **ret,
           mcp_error *err)
{
    const char *tool = client->opt.no_output_check ? NULL : ask->tool;
    struct parts parts = {.method_len = strlen(ask->method),
                          .params = {ask->params, ask->params_len},
                          .key = {ask->key.text, ask->key.len},
                          .tool = {tool, tool ? strlen(tool) : 0}};
    int r;

    if (parts.method_len == 0 || !mcpi_utf8_valid(ask->method, parts.method_len))
        return mcpi_error_set(err, MCP_E_INVAL, "a method must be a text in UTF-8");
    r = id_read(&opt->id, &parts.id, err);
    if (r < 0)
        return r;
    if (again->event)
        parts.resume = (struct mcpi_text){again->event, strlen(again->event)};
    if (parts.id.kind == MCPI_ID_NONE)
        parts.id = again->id;
    mcpi_buf_init(&parts.meta_text, client->host.mem, client->max_bytes);
    mcpi_buf_init(&parts.id_text, client->host.mem, MCPI_FRAME_MAX);
    if (opt->meta || opt->parent)
        r = meta_write(client, opt, &parts.meta_text, err);
    if (r == 0 && parts.id.kind == MCPI_ID_STRING)
        mcpi_id_write(&parts.id_text, &parts.id);
    if (parts.meta_text.len > 2) /* `{}` says nothing */
        parts.meta = (struct mcpi_text){parts.meta_text.data, parts.meta_text.len};
    if (r == 0 && parts.id_text.status == 0)
        *ret = block_new(client->host.mem, ask->method, &parts);
    mcpi_buf_done(&parts.id_text);
    mcpi_buf_done(&parts.meta_text);
    if (r == 0 && !*ret)
        r = mcpi_error_set(err, MCP_E_NOMEM, "out of memory");
    return r;
}

/* ---- its options --------------------------------------------------------- */

/* 0: the default; NONE: never; NOW; or milliseconds. */
static bool
timeout_read(int64_t ms, int64_t *ret_us)
{
    if (ms == MCP_TIMEOUT_NOW) {
        *ret_us = MCPI_TIMEOUT_NOW;
        return true;
    }
    return mcpi_time_option(ms, ret_us);
}

/* Those of the client's that a call may have of its own. */
static int
defaults_take(mcp_call *call, const struct mcp_client *client,
              const mcp_call_options *opt, mcp_error *err)
{
    int rounds = opt->rounds ? opt->rounds : client->opt.rounds;
    enum mcp_severity wanted = opt->messages;

    if (opt->rounds < -1)
        return mcpi_error_set(err, MCP_E_INVAL, "rounds: there cannot be %d",
                              opt->rounds);
    if (wanted == MCP_SEVERITY_NONE)
        wanted = (enum mcp_severity)atomic_load(&client->messages);
    else if (!mcpi_severity_is_one(wanted))
        return mcpi_error_set(err, MCP_E_INVAL, "messages: of no severity there is");
    if (wanted != MCP_SEVERITY_NONE)
        call->log_level = mcpi_severity_name(wanted);
    call->rounds = rounds < 0 ? MCPI_ROUNDS_NONE : rounds;
    if (rounds == 0)
        call->rounds = MCPI_ROUNDS_DEFAULT;
    return 0;
}

/* What cannot be taken up again must not be sent as if it were new: it would be done
 * twice (B29). */
static int
resume_take(struct mcp_client *client, const char *token, struct mcpi_resume *ret,
            mcp_error *err)
{
    bool ready, modern;
    int r;

    pthread_mutex_lock(&client->lock);
    ready = client->hello.version != NULL;
    modern = client->hello.is_modern;
    pthread_mutex_unlock(&client->lock);
    if (!ready)
        return mcpi_error_set(err, MCP_E_STATE, "the connection is not ready yet");
    if (modern || !client->resumes)
        return mcpi_error_set(err, MCP_E_STATE,
                              "resume: nothing can be taken up again on this link");
    r = mcpi_resume_read(client->host.mem, token, ret);
    if (r == MCP_E_INVAL)
        return mcpi_error_set(err, r, "resume: this is no token");
    return r < 0 ? mcpi_error_set(err, r, "out of memory") : 0;
}

static int
options_take(mcp_call *call, const struct mcpi_ask *ask, const mcp_call_options *opt,
             mcp_error *err)
{
    int r;

    if (!timeout_read(opt->timeout_ms, &call->timeout_us) ||
        !timeout_read(opt->total_ms, &call->total_us))
        return mcpi_error_set(err, MCP_E_INVAL, "a time must not be negative");
    r = defaults_take(call, call->client, opt, err);
    if (r < 0)
        return r;
    /* whatever else the caller says to the server may make it another question */
    call->key.method = opt->meta ? MCPI_METHOD_OTHER : ask->key.method;
    call->typed = ask->typed;
    call->is_fresh = opt->fresh || call->client->opt.no_cache;
    call->reset_on_progress = opt->reset_on_progress;
    call->detaches = opt->on_abandon == MCP_ABANDON_DETACHES;
    call->done = ask->done;
    call->done_user = ask->user;
    call->on_progress = opt->on_progress;
    call->on_resume = opt->on_resume;
    call->progress_user = opt->user;
    call->on_lane = call->done || call->on_progress || call->on_resume;
    call->has_lane = call->on_lane || call->tool;
    call->is_let_go = !ask->has_handle;
    return 0;
}

/* Nothing starts under what is over already (B5). */
static int
bonds_take(mcp_call *call, const mcp_call_options *opt, mcp_error *err)
{
    int r;

    r = mcpi_scope_check(opt->scope, err);
    if (r < 0)
        return r;
    if (opt->scope)
        call->scope = mcpi_scope_ref(mcpi_scope_inside(opt->scope));
    if (!opt->parent)
        return 0;
    call->parent = mcpi_request_token(opt->parent);
    if (!call->parent)
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory");
    if (mcpi_token_is_set(call->parent))
        return mcpi_error_set(err, MCP_E_CANCELED,
                              "the request this was asked for is over");
    return 0;
}

static int
locks_make(mcp_call *call)
{
    int r;

    if (pthread_mutex_init(&call->lock, NULL) != 0)
        return MCP_E_NOMEM;
    r = mcpi_cond_init(&call->changed);
    if (r < 0)
        goto no_condition;
    r = call->has_lane ? mcpi_handle_init_lane(call) : 0;
    if (r < 0)
        goto no_lane;
    return 0;

no_lane:
    pthread_cond_destroy(&call->changed);
no_condition:
    pthread_mutex_destroy(&call->lock);
    return r;
}

/* What was made before the locks, and the ids that it has had. */
static void
call_drop(mcp_call *call)
{
    struct mcpi_round_id *id = call->round_ids;
    struct mcpi_round_id *next;

    for (; id; id = next) {
        next = id->next;
        mcpi_free(call->mem, id);
    }
    mcpi_scope_unref(call->scope);
    mcpi_token_unref(call->parent);
    mcpi_free(call->mem, call);
}

int
mcpi_handle_make(struct mcp_client *client, const struct mcpi_ask *ask,
                 const mcp_call_options *opt, mcp_call **ret_call, mcp_error *err)
{
    struct mcpi_resume again = {.doc = NULL};
    mcp_call *call = NULL;
    int r = 0;

    if (opt->resume)
        r = resume_take(client, opt->resume, &again, err);
    if (r == 0)
        r = block_make(client, ask, opt, &again, &call, err);
    mcpi_resume_done(&again);
    if (!call)
        return r;
    call->client = client;
    r = options_take(call, ask, opt, err);
    if (r == 0)
        r = bonds_take(call, opt, err);
    if (r == 0) {
        r = locks_make(call);
        if (r < 0)
            (void)mcpi_error_set(err, r, "out of memory");
    }
    if (r < 0) {
        call_drop(call);
        return r;
    }
    atomic_init(&call->refs, 1);
    mcpi_client_ref(client);
    *ret_call = call;
    return 0;
}

void
mcpi_handle_unref(mcp_call *call)
{
    struct mcp_client *client = call->client;

    if (atomic_fetch_sub_explicit(&call->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (call->has_lane)
        mcpi_lane_done(&call->lane);
    pthread_cond_destroy(&call->changed);
    pthread_mutex_destroy(&call->lock);
    mcp_doc_free(call->answer);
    mcpi_check_done(call);
    mcpi_retry_done(call);
    call_drop(call);
    mcpi_client_unref(client);
}
