/* promise.c - what the tools of a server have promised to put out */
#include "api/promise.h"

#include <string.h>

#include "api/time.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/value.h"

/* ---- one ----------------------------------------------------------------- */

static struct mcpi_promise *
promise_new(const mcp_allocator *mem, const mcp_json *name, const struct mcpi_buf *text)
{
    size_t name_len = mcp_json_string_length(name);
    struct mcpi_promise *promise;
    char *at;

    promise = mcpi_alloc_zero(mem, sizeof(*promise) + name_len + text->len + 2);
    if (!promise)
        return NULL;
    at = (char *)(promise + 1);
    atomic_init(&promise->refs, 1);
    promise->mem = mem;
    promise->name = mcpi_text_stow(&at, mcp_json_string(name, ""), name_len);
    promise->name_len = name_len;
    promise->text = mcpi_text_stow(&at, text->data, text->len);
    promise->text_len = text->len;
    return promise;
}

struct mcpi_promise *
mcpi_promise_ref(struct mcpi_promise *promise)
{
    atomic_fetch_add_explicit(&promise->refs, 1, memory_order_relaxed);
    return promise;
}

void
mcpi_promise_unref(struct mcpi_promise *promise)
{
    if (!promise ||
        atomic_fetch_sub_explicit(&promise->refs, 1, memory_order_acq_rel) != 1)
        return;
    mcp_schema_free(atomic_load(&promise->schema));
    mcpi_free(promise->mem, promise);
}

/* The output cannot be checked this time. */
static void
promise_pass(const struct mcpi_promise *promise, const struct mcpi_log *log,
             const char *why)
{
    MCPI_LOG(log, MCP_LOG_WARNING, "the output of tool %s is not checked: %s",
             promise->name, why);
}

static int
promise_compile(const struct mcpi_promise *promise, mcp_schema **ret, mcp_error *err)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.allocator = promise->mem);
    const struct mcpi_json_limits limits = {MCPI_PROMISES_BYTES_MAX, SIZE_MAX};
    mcp_doc *doc;
    int r;

    r = mcpi_doc_parse(promise->mem, promise->text, promise->text_len, &limits, &doc);
    if (r < 0)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    r = mcp_schema_compile(mcp_doc_root(doc), &opt, ret, err);
    mcp_doc_free(doc);
    return r;
}

/* The compiled schema, borrowed. Two threads may come here at the same time: the first
 * one's is everybody's. */
static int
promise_schema(struct mcpi_promise *promise, const mcp_schema **ret, mcp_error *err)
{
    mcp_schema *schema = atomic_load(&promise->schema);
    mcp_schema *made = NULL;
    int r = 0;

    if (!schema)
        r = promise_compile(promise, &made, err);
    if (made && !atomic_compare_exchange_strong(&promise->schema, &schema, made))
        mcp_schema_free(made);
    *ret = schema ? schema : made;
    return r;
}

/* Nobody can tell what was promised. Limits are ours, and no fault of the server's. */
static int
promise_refuse(const struct mcpi_promise *promise, int status, const char *why,
               const struct mcpi_log *log, mcp_error *err)
{
    if (status == MCP_E_INVAL || status == MCP_E_SYNTAX)
        return mcpi_error_set(err, MCP_E_PROTO,
                              "the output of tool %s cannot be checked by its schema: "
                              "%s",
                              promise->name, why);
    promise_pass(promise, log, why);
    return 0;
}

int
mcpi_promise_check(struct mcpi_promise *promise, const mcp_json *result,
                   const struct mcpi_log *log, mcp_error *err)
{
    const mcp_json *output = mcp_json_get(result, "structuredContent");
    const mcp_schema *schema;
    mcp_error why;
    int r;

    r = promise_schema(promise, &schema, &why);
    if (r < 0)
        return output ? promise_refuse(promise, r, why.message, log, err) : 0;
    if (!output)
        return mcpi_error_set(err, MCP_E_PROTO,
                              "tool %s promised structured output and gave none",
                              promise->name);
    r = mcp_schema_check(schema, output, NULL, &why);
    if (r == MCP_E_INVAL)
        return mcpi_error_set(err, MCP_E_PROTO,
                              "the output of tool %s is not what it promised: %s",
                              promise->name, why.message);
    if (r < 0)
        promise_pass(promise, log, why.message);
    return 0;
}

/* ---- all of a server ----------------------------------------------------- */

void
mcpi_promises_init(struct mcpi_promises *promises, const mcp_allocator *mem,
                   const unsigned char seed[MCPI_SEED_SIZE])
{
    *promises = (struct mcpi_promises){.mem = mem, .until = MCPI_NEVER};
    mcpi_map_init(&promises->tools, mem, seed);
}

void
mcpi_promises_done(struct mcpi_promises *promises)
{
    mcpi_promises_forget(promises);
    mcpi_map_done(&promises->tools);
}

static struct mcpi_promise *
promise_of(const struct mcpi_map_node *node)
{
    return MCPI_CONTAINER(node, struct mcpi_promise, node);
}

static size_t
promise_bytes(const struct mcpi_promise *promise)
{
    return promise->name_len + promise->text_len;
}

static void
promises_remove(struct mcpi_promises *promises, struct mcpi_promise *promise)
{
    (void)mcpi_map_remove(&promises->tools, &promise->node);
    promises->bytes -= promise_bytes(promise);
    mcpi_promise_unref(promise);
}

void
mcpi_promises_forget(struct mcpi_promises *promises)
{
    struct mcpi_map_node *node;

    while ((node = mcpi_map_any(&promises->tools)) != NULL)
        promises_remove(promises, promise_of(node));
    promises->until = MCPI_NEVER;
    promises->is_whole = promises->is_full = false;
}

struct name {
    const char *text;
    size_t len;
};

static bool
promise_has_name(const struct mcpi_map_node *node, const void *key)
{
    const struct mcpi_promise *promise = promise_of(node);
    const struct name *name = key;

    return promise->name_len == name->len &&
           memcmp(promise->name, name->text, name->len) == 0;
}

static struct mcpi_promise *
promises_get(const struct mcpi_promises *promises, const struct name *name)
{
    struct mcpi_map_node *node;

    node = mcpi_map_find(&promises->tools,
                         mcpi_map_hash(&promises->tools, name->text, name->len),
                         promise_has_name, name);
    return node ? promise_of(node) : NULL;
}

/* ---- learning ------------------------------------------------------------ */

static bool
promise_says(const struct mcpi_promise *promise, const struct mcpi_buf *text)
{
    return promise->text_len == text->len &&
           (text->len == 0 || memcmp(promise->text, text->data, text->len) == 0);
}

/* One that says the same as before keeps what was compiled. */
static void
promises_add(struct mcpi_promises *promises, const mcp_json *name,
             const struct mcpi_buf *text)
{
    const struct name key = {mcp_json_string(name, ""), mcp_json_string_length(name)};
    struct mcpi_promise *old = promises_get(promises, &key);
    struct mcpi_promise *promise;

    if (old && promise_says(old, text))
        return;
    if (old)
        promises_remove(promises, old);
    promise = promises->tools.count < MCPI_PROMISES_MAX &&
                      promises->bytes + key.len + text->len <= MCPI_PROMISES_BYTES_MAX
                  ? promise_new(promises->mem, name, text)
                  : NULL;
    if (!promise) {
        promises->is_full = true;
        return;
    }
    promises->bytes += promise_bytes(promise);
    mcpi_map_add(&promises->tools, &promise->node,
                 mcpi_map_hash(&promises->tools, key.text, key.len));
}

static void
promises_add_tool(struct mcpi_promises *promises, const mcp_json *tool)
{
    const mcp_json *name = mcp_json_get(tool, "name");
    const mcp_json *schema = mcp_json_get(tool, "outputSchema");
    struct mcpi_buf text;

    if (mcp_json_get_type(name) != MCP_JSON_STRING)
        return;
    mcpi_buf_init(&text, promises->mem, MCPI_PROMISES_BYTES_MAX);
    if (schema)
        mcpi_json_write(&text, schema);
    if (text.status < 0)
        promises->is_full = true;
    else
        promises_add(promises, name, &text);
    mcpi_buf_done(&text);
}

/* What was not said to last for some time lasts until it changes. */
static void
promises_age(struct mcpi_promises *promises, const mcp_json *result, int64_t now)
{
    int64_t lasts = mcpi_ms(mcp_json_int(mcp_json_get(result, "ttlMs"), 0));
    int64_t until = lasts > 0 ? mcpi_time_add(now, lasts) : MCPI_NEVER;

    if (until < promises->until)
        promises->until = until;
}

void
mcpi_promises_learn(struct mcpi_promises *promises, const mcp_json *result,
                    bool is_first, uint64_t version, int64_t now)
{
    bool is_last = mcp_json_get_type(mcp_json_get(result, "nextCursor")) !=
                   MCP_JSON_STRING;
    mcp_json_iterator it;

    if (promises->version != version || now >= promises->until)
        mcpi_promises_forget(promises);
    if (is_first)
        promises->is_full = false;
    if (is_first && is_last) /* nothing of another age is left to be asked about */
        promises->until = MCPI_NEVER;
    promises->version = version;
    promises_age(promises, result, now);
    for (it = mcp_json_each(mcp_json_get(result, "tools")); mcp_json_next(&it);)
        promises_add_tool(promises, it.value);
    if (is_first && is_last)
        promises->is_whole = true;
}

void
mcpi_promises_close(struct mcpi_promises *promises, uint64_t version)
{
    if (promises->version == version)
        promises->is_whole = true;
}

struct mcpi_promise *
mcpi_promises_find(struct mcpi_promises *promises, const char *name, uint64_t version,
                   int64_t now, bool *ret_all)
{
    const struct name key = {name, strlen(name)};

    if (promises->version != version || now >= promises->until)
        mcpi_promises_forget(promises);
    *ret_all = promises->is_whole || promises->is_full;
    return promises_get(promises, &key);
}
