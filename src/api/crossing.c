/* crossing.c - what crosses between a request of an isolated tool and its helper */
#include "api/crossing.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "api/isolated.h"
#include "base/mem.h"
#include "run/process.h"
#include "wire/meta.h"
#include "wire/severity.h"

static bool
key_is(const mcp_json *key, const char *text)
{
    return mcp_json_is_string(key, text);
}

/* Ours, between the two. */
static bool
key_is_private(const mcp_json *key)
{
    return key_is(key, MCPI_ISOLATED_LEFT) || key_is(key, MCPI_ISOLATED_PRINCIPAL);
}

/* The protocol's own are stamped anew on either side. */
static bool
key_crosses(const mcp_json *key)
{
    return !key_is_private(key) &&
           !mcpi_meta_reserved(mcp_json_string(key, ""), mcp_json_string_length(key));
}

/* ---- there -------------------------------------------------------------- */

static void
member_begin(struct mcpi_buf *into, const char *key, size_t len)
{
    if (into->len > 1)
        mcpi_buf_char(into, ',');
    (void)mcpi_json_write_string(into, key, len); /* UTF-8; the rest is the buffer's */
    mcpi_buf_char(into, ':');
}

static void
meta_write(const mcp_request *req, struct mcpi_buf *into)
{
    const char *principal = mcp_request_principal(req);
    mcp_json_iterator it;

    mcpi_buf_char(into, '{');
    for (it = mcp_json_each(mcp_request_meta(req)); mcp_json_next(&it);) {
        if (!key_crosses(it.key))
            continue;
        member_begin(into, mcp_json_string(it.key, ""), mcp_json_string_length(it.key));
        mcpi_json_write(into, it.value);
    }
    if (principal[0]) {
        member_begin(into, MCPI_ISOLATED_PRINCIPAL, strlen(MCPI_ISOLATED_PRINCIPAL));
        if (mcpi_json_write_string(into, principal, strlen(principal)) == MCP_E_INVAL)
            MCPI_BUF_LITERAL(into, "\"\""); /* a name that no JSON can have */
    }
    mcpi_buf_char(into, '}');
}

void
mcpi_crossing_ask(const mcp_request *req, struct mcpi_buf *params,
                  struct mcpi_buf *meta)
{
    const mcp_json *arguments = mcp_request_arguments(req);

    MCPI_BUF_LITERAL(params, "{\"name\":");
    (void)mcpi_json_write_string(params, req->offer->key, strlen(req->offer->key));
    if (arguments) {
        MCPI_BUF_LITERAL(params, ",\"arguments\":");
        mcpi_json_write(params, arguments);
    }
    mcpi_buf_char(params, '}');
    meta_write(req, meta);
}

const char *
mcpi_crossing_log_level(const mcp_request *req)
{
    enum mcp_severity from;

    from = atomic_load_explicit(&req->log_from, memory_order_relaxed);
    return mcpi_severity_is_one(from) ? mcpi_severity_name(from) : NULL;
}

/* ---- and back ----------------------------------------------------------- */

/* What cannot be passed on is lost, as any message that finds no room. */
void
mcpi_crossing_message(mcp_request *req, const mcp_json *params)
{
    const mcp_json *level = mcp_json_get(params, "level");
    const mcp_json *data = mcp_json_get(params, "data");
    enum mcp_severity severity;
    char *text = NULL;
    size_t len = 0;

    severity = mcpi_severity_find(mcp_json_string(level, ""),
                                  mcp_json_string_length(level));
    if (!data || !mcp_request_logs(req, severity) ||
        mcp_json_print(data, false, req->host->mem, &text, &len) < 0)
        return;
    (void)mcp_request_log_json(req, severity,
                               mcp_json_string(mcp_json_get(params, "logger"), NULL),
                               text, len);
    mcp_text_free(text, req->host->mem);
}

static void
meta_take(mcp_result *out, const mcp_json *meta)
{
    const mcp_allocator *mem = out->answer.body.mem;
    mcp_json_iterator it;
    char *text;
    int r;

    for (it = mcp_json_each(meta); mcp_json_next(&it);) {
        if (!key_crosses(it.key))
            continue;
        r = mcp_json_print(it.value, false, mem, &text, NULL);
        if (r < 0) {
            (void)mcpi_tool_result_fail(out, r, mcp_status_text(r));
            return;
        }
        (void)mcp_result_meta(out, mcp_json_string(it.key, ""), text);
        mcp_text_free(text, mem);
    }
}

int
mcpi_crossing_result(mcp_request *req, const mcp_json *result)
{
    const mcp_json *structured = mcp_json_get(result, "structuredContent");
    const mcp_json *type = mcp_json_get(result, "resultType");
    mcp_result *out = mcp_request_result(req);
    mcp_json_iterator it;

    if (type && !mcp_json_is_string(type, "complete"))
        return mcp_request_fail(req, 0, NULL,
                                "Internal error: an isolated tool cannot ask");
    for (it = mcp_json_each(mcp_json_get(result, "content")); mcp_json_next(&it);)
        mcpi_tool_result_block(out, it.value);
    if (structured)
        mcp_builder_value(mcp_result_builder(out), NULL, structured);
    out->is_error = mcp_json_bool(mcp_json_get(result, "isError"), false);
    meta_take(out, mcp_json_get(result, "_meta"));
    return mcpi_tool_result_status(out);
}

/* Without memory for its data the error goes without. */
int
mcpi_crossing_error(mcp_request *req, const struct mcpi_rpc *error)
{
    char *data = NULL;
    int r;

    if (error->error_data)
        (void)mcp_json_print(error->error_data, false, req->host->mem, &data, NULL);
    r = mcp_request_fail(req, error->error_code, data, "%s", error->error_message);
    mcp_text_free(data, req->host->mem);
    return r;
}

bool
mcpi_crossing_left(const mcp_json *result)
{
    const mcp_json *meta = mcp_json_get(result, "_meta");

    return mcp_json_bool(mcp_json_get(meta, MCPI_ISOLATED_LEFT), false);
}

bool
mcpi_crossing_rest_left(const mcp_json *result)
{
    return mcp_json_bool(mcp_json_get(result, "left"), false);
}

/* ---- how it ended ------------------------------------------------------- */

/* Those that a process is ended by, with a name that people know. */
static const char *
signal_name(int number)
{
    static const struct {
        int number;
        const char *name;
    } names[] = {
        {SIGSEGV, " (SIGSEGV)"}, {SIGABRT, " (SIGABRT)"}, {SIGBUS, " (SIGBUS)"},
        {SIGFPE, " (SIGFPE)"},   {SIGILL, " (SIGILL)"},   {SIGKILL, " (SIGKILL)"},
        {SIGTERM, " (SIGTERM)"}, {SIGXCPU, " (SIGXCPU)"}, {SIGXFSZ, " (SIGXFSZ)"},
        {SIGTRAP, " (SIGTRAP)"}, {SIGSYS, " (SIGSYS)"},   {SIGPIPE, " (SIGPIPE)"},
        {SIGHUP, " (SIGHUP)"},   {SIGINT, " (SIGINT)"},   {SIGQUIT, " (SIGQUIT)"},
        {SIGALRM, " (SIGALRM)"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].number == number)
            return names[i].name;
    }
    return "";
}

/* What a program does that gets no memory, or what the system does to it then. */
static bool
is_for_memory(int number)
{
    return number == SIGSEGV || number == SIGABRT || number == SIGBUS ||
           number == SIGKILL || number == SIGTRAP;
}

void
mcpi_crossing_describe(char *into, size_t size, int wait_status, uint64_t memory_bytes,
                       int64_t cpu_seconds)
{
    bool known = wait_status != MCPI_WAIT_UNKNOWN;
    char limit[80] = "";
    int number;

    if (known && WIFEXITED(wait_status)) {
        snprintf(into, size, "the tool ended its process with status %d",
                 WEXITSTATUS(wait_status));
    } else if (known && WIFSIGNALED(wait_status)) {
        number = WTERMSIG(wait_status);
        if (number == SIGXCPU && cpu_seconds > 0)
            snprintf(limit, sizeof(limit), "; its limit is %lld s of processor time",
                     (long long)cpu_seconds);
        else if (is_for_memory(number) && memory_bytes > 0)
            snprintf(limit, sizeof(limit), "; its memory limit is %llu bytes",
                     (unsigned long long)memory_bytes);
        snprintf(into, size, "the tool was ended by signal %d%s%s", number,
                 signal_name(number), limit);
    } else {
        snprintf(into, size, "the process of the tool is gone");
    }
}
