/* engine.c - one side of the protocol: what it is made with, and what it counts */
#include "core/engine.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/dialect.h"
#include "core/versions.h"

#define SECONDS(n) ((int64_t)(n)*1000000)

#define DEFAULT_REQUEST_US SECONDS(60)
#define DEFAULT_CEILING_US SECONDS(3600)
#define DEFAULT_PROBE_US SECONDS(10)
#define DEFAULT_HELLO_US SECONDS(60)
#define DEFAULT_DRAIN_US SECONDS(1)
#define DEFAULT_STOP_US SECONDS(1)
#define DEFAULT_GRACE_US SECONDS(5)
#define DEFAULT_DEAF_US SECONDS(5)

enum {
    DEFAULT_IN_FLIGHT = 16384,
    DEFAULT_QUEUED_ANSWERS = 16384,
    DEFAULT_QUEUED_BYTES = 1024 * 1024,
    DEFAULT_HELD_BYTES = 256 * 1024 * 1024,
    DEFAULT_MESSAGE_BYTES = 64 * 1024 * 1024,
    /* A host opens one for each server; over HTTP each is a connection that stays. */
    DEFAULT_LISTENERS = 1024,
    /* Far above what anybody watches one by one; a list says more for less. */
    DEFAULT_SUBSCRIBED = 1024,
    DEFAULT_DEPTH = 128
};

static void
default_size(size_t *value, size_t otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

static void
default_time(int64_t *value, int64_t otherwise)
{
    if (*value == 0)
        *value = otherwise;
}

static void
engine_defaults(struct mcpi_engine *e)
{
    default_size(&e->limits.in_flight, DEFAULT_IN_FLIGHT);
    default_size(&e->limits.queued_answers, DEFAULT_QUEUED_ANSWERS);
    default_size(&e->limits.queued_bytes, DEFAULT_QUEUED_BYTES);
    default_size(&e->limits.held_bytes, DEFAULT_HELD_BYTES);
    default_size(&e->limits.message_bytes, DEFAULT_MESSAGE_BYTES);
    default_size(&e->limits.listeners, DEFAULT_LISTENERS);
    default_size(&e->limits.subscribed, DEFAULT_SUBSCRIBED);
    default_size(&e->limits.depth, DEFAULT_DEPTH);
    default_time(&e->times.request, DEFAULT_REQUEST_US);
    default_time(&e->times.ceiling, DEFAULT_CEILING_US);
    default_time(&e->times.probe, DEFAULT_PROBE_US);
    default_time(&e->times.hello, DEFAULT_HELLO_US);
    default_time(&e->times.drain, DEFAULT_DRAIN_US);
    default_time(&e->times.stop, DEFAULT_STOP_US);
    default_time(&e->times.grace, DEFAULT_GRACE_US);
    default_time(&e->times.deaf, DEFAULT_DEAF_US);
    default_time(&e->times.run, MCPI_NEVER);
}

/* The identity is spliced into messages as it is, so it must be one object, without
 * line breaks: parsed and printed once here. */
static int
copy_object(const struct mcpi_engine *e, const char *text, char **ret)
{
    mcp_json_options opt = {
        .size = sizeof(opt), .allocator = e->mem, .unique_keys = true};
    mcp_doc *doc;
    int r;

    r = mcp_doc_parse(text, strlen(text), &opt, &doc, NULL);
    if (r < 0)
        return r == MCP_E_NOMEM ? r : MCP_E_INVAL;
    if (mcp_json_get_type(mcp_doc_root(doc)) == MCP_JSON_OBJECT)
        r = mcp_json_print(mcp_doc_root(doc), false, e->mem, ret, NULL);
    else
        r = MCP_E_INVAL;
    mcp_doc_free(doc);
    return r;
}

static int
copy_string(struct mcpi_engine *e, const char *text, char **ret)
{
    int r;

    mcpi_buf_clear(&e->scratch);
    r = mcpi_json_write_string(&e->scratch, text, strlen(text));
    mcpi_buf_char(&e->scratch, '\0');
    if (r == 0)
        r = e->scratch.status;
    if (r < 0)
        return r;
    *ret = mcpi_alloc(e->mem, e->scratch.len);
    if (!*ret)
        return MCP_E_NOMEM;
    memcpy(*ret, e->scratch.data, e->scratch.len);
    return 0;
}

static int
engine_introduce(struct mcpi_engine *e, const struct mcpi_identity *id)
{
    int r;

    if (!id->info)
        return MCP_E_INVAL;
    r = copy_object(e, id->info, &e->info);
    if (r == 0)
        r = copy_object(e, id->capabilities ? id->capabilities : "{}",
                        &e->capabilities);
    if (r == 0)
        e->capabilities_room = strlen(e->capabilities);
    if (r == 0)
        r = copy_object(
            e, id->legacy_capabilities ? id->legacy_capabilities : e->capabilities,
            &e->legacy_capabilities);
    if (r == 0 && id->instructions)
        r = copy_string(e, id->instructions, &e->instructions);
    return r;
}

static void
engine_destroy(struct mcpi_engine *e)
{
    mcp_text_free(e->info, e->mem);
    mcp_text_free(e->capabilities, e->mem);
    mcp_text_free(e->legacy_capabilities, e->mem);
    mcpi_free(e->mem, e->instructions);
    mcpi_buf_done(&e->scratch);
    mcpi_free(e->mem, e);
}

int
mcpi_engine_new(const struct mcpi_engine_options *opt, struct mcpi_engine **ret)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(opt->mem);
    struct mcpi_engine *e;
    int r;

    e = mcpi_alloc_zero(mem, sizeof(*e));
    if (!e)
        return MCP_E_NOMEM;
    e->mem = mem;
    e->role = opt->role;
    e->era = opt->era;
    e->timers = opt->timers;
    e->router = opt->router;
    e->router_user = opt->router_user;
    e->log = opt->log;
    e->trace = opt->trace;
    e->trace_came = opt->trace_came;
    e->trace_event = opt->trace_event;
    e->trace_user = opt->trace_user;
    e->limits = opt->limits;
    e->times = opt->times;
    memcpy(e->seed, opt->seed, sizeof(e->seed));
    mcpi_list_init(&e->peers);
    mcpi_list_init(&e->listeners);
    engine_defaults(e);
    mcpi_buf_init(&e->scratch, mem, e->limits.message_bytes);
    r = engine_introduce(e, &opt->identity);
    if (r < 0) {
        engine_destroy(e);
        return r;
    }
    *ret = e;
    return 0;
}

int
mcpi_engine_free(struct mcpi_engine *e)
{
    if (!e)
        return 0;
    if (!mcpi_list_empty(&e->peers) || e->counts.exchanges || e->counts.held)
        return MCP_E_STATE;
    engine_destroy(e);
    return 0;
}

int
mcpi_engine_set_capabilities(struct mcpi_engine *e, const char *text)
{
    size_t len = strlen(text);
    char *longer;

    if (len > e->capabilities_room) {
        longer = mcpi_alloc(e->mem, len + 1);
        if (!longer)
            return MCP_E_NOMEM;
        mcp_text_free(e->capabilities, e->mem);
        e->capabilities = longer;
        e->capabilities_room = len;
    }
    memcpy(e->capabilities, text, len + 1);
    return 0;
}

const mcp_allocator *
mcpi_engine_mem(const struct mcpi_engine *e)
{
    return e->mem;
}

size_t
mcpi_engine_max_bytes(const struct mcpi_engine *e)
{
    return e->limits.message_bytes;
}

size_t
mcpi_engine_max_depth(const struct mcpi_engine *e)
{
    return e->limits.depth;
}

const char *
mcpi_engine_version(const struct mcpi_engine *e, const char *text, bool *ret_modern)
{
    const char *version = NULL;

    *ret_modern = false;
    if (e->era != MCPI_ERA_LEGACY)
        version = mcpi_version_find(text, true);
    if (version)
        *ret_modern = true;
    else if (e->era != MCPI_ERA_MODERN)
        version = mcpi_version_find(text, false);
    return version;
}

void
mcpi_engine_refuse_version(struct mcpi_engine *e, const struct mcpi_id *id,
                           const char *requested, struct mcpi_buf *into)
{
    struct mcpi_refusal why;

    (void)mcpi_dialect_refuse_version(e, requested, &why); /* says that it refuses */
    mcpi_rpc_write_error(into, id, why.code, why.message, why.data, strlen(why.data));
}

bool
mcpi_engine_is_watched(const struct mcpi_engine *e)
{
    return e && e->trace_event;
}

void
mcpi_engine_came(const struct mcpi_engine *e, const char *text, size_t len)
{
    if (e && e->trace_came)
        e->trace_came(e->trace_user, NULL, text, len);
}

/* What a peer sent may stand in it, and be cut in the middle of a character. */
void
mcpi_engine_tell(const struct mcpi_engine *e, const char *format, ...)
{
    char line[MCPI_TELL_LINE];
    va_list args;
    size_t len;

    if (!mcpi_engine_is_watched(e))
        return;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    len = mcpi_text_clean(line, sizeof(line), line, strlen(line));
    e->trace_event(e->trace_user, NULL, line, len);
}

void
mcpi_engine_tell_garbled(const struct mcpi_engine *e, const char *why, const char *text,
                         size_t len)
{
    int shown = len < MCPI_TELL_EXCERPT ? (int)len : MCPI_TELL_EXCERPT;

    mcpi_engine_tell(e, "what came is no message (%s)%s%.*s", why, len > 0 ? ": " : "",
                     shown, text);
}

void
mcpi_engine_at(struct mcpi_engine *e, int64_t now)
{
    if (now > e->now)
        e->now = now;
}

void
mcpi_refuse(struct mcpi_refusal *why, int code, const char *format, ...)
{
    va_list args;

    why->code = code;
    why->data[0] = '\0';
    va_start(args, format);
    vsnprintf(why->message, sizeof(why->message), format, args);
    va_end(args);
    /* What a peer sent may stand in it and may be cut in the middle of a character. */
    mcpi_text_clean(why->message, sizeof(why->message), why->message,
                    strlen(why->message));
}

void
mcpi_result_init(struct mcpi_result *result, const struct mcpi_engine *engine)
{
    result->code = 0;
    result->type = NULL;
    result->message = "";
    result->own = NULL;
    mcpi_buf_init(&result->body, engine->mem, engine->limits.message_bytes);
    mcpi_buf_init(&result->meta, engine->mem, engine->limits.message_bytes);
}

void
mcpi_result_unsay(struct mcpi_result *result)
{
    mcpi_free(result->body.mem, result->own);
    result->own = NULL;
    result->message = "";
}

/* An ending must not fail for want of memory: then it says less. */
void
mcpi_result_say(struct mcpi_result *result, const char *message)
{
    char clean[MCPI_MESSAGE_MAX + 1];
    size_t size = mcpi_text_clean(clean, sizeof(clean), message, strlen(message)) + 1;
    char *own = mcpi_alloc(result->body.mem, size);

    mcpi_result_unsay(result);
    result->own = own;
    result->message = own ? memcpy(own, clean, size) : "Internal error";
}

void
mcpi_result_done(struct mcpi_result *result)
{
    mcpi_result_unsay(result);
    mcpi_buf_done(&result->body);
    mcpi_buf_done(&result->meta);
}

void
mcpi_result_move(struct mcpi_result *into, struct mcpi_result *result)
{
    into->code = result->code;
    into->type = result->type;
    into->message = result->message;
    into->own = result->own;
    result->message = "";
    result->own = NULL;
    mcpi_buf_move(&into->body, &result->body);
    mcpi_buf_move(&into->meta, &result->meta);
}

void
mcpi_result_fail(struct mcpi_result *result, int status)
{
    mcpi_result_error(result, MCPI_RPC_INTERNAL_ERROR, "Internal error");
    result->message = mcp_status_text(status);
}

void
mcpi_result_error(struct mcpi_result *result, int code, const char *format, ...)
{
    char text[MCPI_MESSAGE_MAX + 1];
    va_list args;

    result->code = code;
    mcpi_buf_clear(&result->body);
    mcpi_buf_clear(&result->meta);
    if (!strchr(format, '%')) {
        mcpi_result_unsay(result);
        result->message = format;
        return;
    }
    va_start(args, format);
    vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    mcpi_result_say(result, text);
}
