/* mirrors.c - which arguments of a server's tools stand in HTTP headers */
#include "api/mirrors.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "json/value.h"

/* What is known of one tool. */
struct entry {
    struct mcpi_map_node node;
    struct mcpi_list in_order;
    struct mcpi_mirror *mirror;
    uint64_t change; /* by which this became known */
    uint64_t list;   /* the last one that had it */
    size_t len;
    char name[];
};

void
mcpi_mirrors_init(struct mcpi_mirrors *mirrors, const mcp_allocator *mem,
                  const unsigned char seed[MCPI_SEED_SIZE])
{
    *mirrors = (struct mcpi_mirrors){.mem = mem};
    mcpi_map_init(&mirrors->tools, mem, seed);
    mcpi_list_init(&mirrors->order);
}

/* ---- entries ------------------------------------------------------------- */

static struct entry *
entry_of(const struct mcpi_list *in_order)
{
    return MCPI_CONTAINER(in_order, struct entry, in_order);
}

static size_t
entry_bytes(const struct entry *entry)
{
    return sizeof(*entry) + entry->len + 1 + mcpi_mirror_bytes(entry->mirror);
}

static void
entry_remove(struct mcpi_mirrors *mirrors, struct entry *entry)
{
    (void)mcpi_map_remove(&mirrors->tools, &entry->node);
    mcpi_list_remove(&entry->in_order);
    mirrors->bytes -= entry_bytes(entry);
    mirrors->lost = ++mirrors->changes;
    mcpi_mirror_free(entry->mirror);
    mcpi_free(mirrors->mem, entry);
}

struct name {
    const char *text;
    size_t len;
};

static struct name
name_of(const mcp_json *string)
{
    return (struct name){mcp_json_string(string, ""), mcp_json_string_length(string)};
}

static bool
entry_has_name(const struct mcpi_map_node *node, const void *key)
{
    const struct entry *entry = MCPI_CONTAINER(node, struct entry, node);
    const struct name *name = key;

    return entry->len == name->len && memcmp(entry->name, name->text, name->len) == 0;
}

static struct entry *
entry_find(const struct mcpi_mirrors *mirrors, const struct name *name)
{
    struct mcpi_map_node *node;

    node = mcpi_map_find(&mirrors->tools,
                         mcpi_map_hash(&mirrors->tools, name->text, name->len),
                         entry_has_name, name);
    return node ? MCPI_CONTAINER(node, struct entry, node) : NULL;
}

void
mcpi_mirrors_forget(struct mcpi_mirrors *mirrors)
{
    struct mcpi_list *node;

    while ((node = mcpi_list_first(&mirrors->order)) != NULL)
        entry_remove(mirrors, entry_of(node));
    mirrors->next = MCPI_MIRRORS_FIRST;
}

void
mcpi_mirrors_done(struct mcpi_mirrors *mirrors)
{
    mcpi_mirrors_forget(mirrors);
    mcpi_map_done(&mirrors->tools);
}

const struct mcpi_mirror *
mcpi_mirrors_find(const struct mcpi_mirrors *mirrors, const char *tool)
{
    const struct name name = {tool, strlen(tool)};
    const struct entry *entry = entry_find(mirrors, &name);

    return entry ? entry->mirror : NULL;
}

uint64_t
mcpi_mirrors_version(const struct mcpi_mirrors *mirrors, const mcp_json *name)
{
    const struct name key = name_of(name);
    const struct entry *entry = entry_find(mirrors, &key);

    return entry ? entry->change : 0;
}

bool
mcpi_mirrors_changed(const struct mcpi_mirrors *mirrors, const mcp_json *name,
                     uint64_t changes)
{
    uint64_t version = mcpi_mirrors_version(mirrors, name);

    return (version ? version : mirrors->lost) > changes;
}

/* ---- learning ------------------------------------------------------------ */

uint64_t
mcpi_mirrors_page(const struct mcpi_mirrors *mirrors, const char *cursor, size_t len)
{
    /* neither of the two that are none */
    return mcpi_map_hash(&mirrors->tools, cursor, len) / 2 + 1;
}

static int
tool_read(const struct mcpi_mirrors *mirrors, const mcp_json *tool,
          struct mcpi_mirror **ret, const char **ret_fault)
{
    return mcpi_mirror_new(mirrors->mem, mcp_json_get(tool, "inputSchema"), ret,
                           ret_fault);
}

int
mcpi_mirrors_check(const struct mcpi_mirrors *mirrors, const mcp_json *tool)
{
    struct mcpi_mirror *mirror = NULL;
    const char *fault;
    int r;

    r = tool_read(mirrors, tool, &mirror, &fault);
    mcpi_mirror_free(mirror);
    return r;
}

static void
mirrors_make_room(struct mcpi_mirrors *mirrors)
{
    while (mirrors->tools.count > MCPI_MIRRORS_MAX ||
           mirrors->bytes > MCPI_MIRRORS_BYTES_MAX)
        entry_remove(mirrors, entry_of(mcpi_list_first(&mirrors->order)));
}

/* The mirror is taken in every case. */
static int
mirrors_add(struct mcpi_mirrors *mirrors, const struct name *name,
            struct mcpi_mirror *take_mirror)
{
    struct entry *entry;

    entry = mcpi_alloc_zero_first(mirrors->mem, sizeof(*entry) + name->len + 1,
                                  sizeof(*entry));
    if (!entry) {
        mcpi_mirror_free(take_mirror);
        return MCP_E_NOMEM;
    }
    memcpy(entry->name, name->text, name->len);
    entry->name[name->len] = '\0';
    entry->len = name->len;
    entry->mirror = take_mirror;
    entry->list = mirrors->list;
    entry->change = ++mirrors->changes;
    mirrors->bytes += entry_bytes(entry);
    mcpi_list_append(&mirrors->order, &entry->in_order);
    mcpi_map_add(&mirrors->tools, &entry->node,
                 mcpi_map_hash(&mirrors->tools, name->text, name->len));
    mirrors_make_room(mirrors);
    return 0;
}

/* One that says the same as before is as old as it was, and younger than others. */
static int
mirrors_take(struct mcpi_mirrors *mirrors, const struct name *name,
             struct mcpi_mirror *take_mirror)
{
    struct entry *old = entry_find(mirrors, name);

    if (old && take_mirror && mcpi_mirror_same(old->mirror, take_mirror)) {
        mcpi_mirror_free(take_mirror);
        old->list = mirrors->list;
        mcpi_list_remove(&old->in_order);
        mcpi_list_append(&mirrors->order, &old->in_order);
        return 0;
    }
    if (old)
        entry_remove(mirrors, old);
    return take_mirror ? mirrors_add(mirrors, name, take_mirror) : 0;
}

static void
tool_warn(const mcp_json *tool, const char *fault, size_t before,
          const struct mcpi_log *log)
{
    const char *name = mcp_json_string(mcp_json_get(tool, "name"), "without a name");

    if (before < MCPI_MIRRORS_WARNED_MAX)
        MCPI_LOG(log, MCP_LOG_WARNING, "tool %.200s is left out: %s", name, fault);
}

/* MCP_E_INVAL: it breaks a rule, which fault says. What was known of it by that name
 * stays until the list is seen as a whole: the name may stand there twice. */
static int
tool_learn(struct mcpi_mirrors *mirrors, const mcp_json *tool, const char **ret_fault)
{
    const mcp_json *name = mcp_json_get(tool, "name");
    struct mcpi_mirror *mirror = NULL;
    struct name key;
    int r;

    r = tool_read(mirrors, tool, &mirror, ret_fault);
    if (r < 0)
        return r;
    if (mcp_json_get_type(name) != MCP_JSON_STRING) {
        mcpi_mirror_free(mirror);
        return 0;
    }
    key = name_of(name);
    return mirrors_take(mirrors, &key, mirror);
}

static void
mirrors_sweep(struct mcpi_mirrors *mirrors)
{
    struct mcpi_list *node = mirrors->order.next;
    struct mcpi_list *next;

    for (; node != &mirrors->order; node = next) {
        next = node->next;
        if (entry_of(node)->list != mirrors->list)
            entry_remove(mirrors, entry_of(node));
    }
}

/* Is this page of the list that is read, and the next one of it? */
static bool
mirrors_turn_to(struct mcpi_mirrors *mirrors, uint64_t page)
{
    if (page == MCPI_MIRRORS_FIRST)
        mirrors->list++;
    else if (page != mirrors->next)
        return false;
    mirrors->next = MCPI_MIRRORS_FIRST;
    return true;
}

static int
tools_learn(struct mcpi_mirrors *mirrors, const mcp_json *tools,
            const struct mcpi_log *log, size_t *ret_unfit)
{
    size_t unfit = 0;
    const char *fault;
    mcp_json_iterator it;
    int r;

    for (it = mcp_json_each(tools); mcp_json_next(&it);) {
        r = tool_learn(mirrors, it.value, &fault);
        if (r == MCP_E_INVAL)
            tool_warn(it.value, fault, unfit++, log);
        else if (r < 0)
            return r;
    }
    if (unfit > MCPI_MIRRORS_WARNED_MAX)
        MCPI_LOG(log, MCP_LOG_WARNING, "%zu more tools are left out",
                 unfit - MCPI_MIRRORS_WARNED_MAX);
    *ret_unfit = unfit;
    return 0;
}

int
mcpi_mirrors_learn(struct mcpi_mirrors *mirrors, const mcp_json *result, uint64_t page,
                   const struct mcpi_log *log, size_t *ret_unfit)
{
    const mcp_json *tools = mcp_json_get(result, "tools");
    const mcp_json *cursor = mcp_json_get(result, "nextCursor");
    bool follows;
    int r;

    *ret_unfit = 0;
    if (mcp_json_get_type(tools) != MCP_JSON_ARRAY)
        return 0;
    follows = mirrors_turn_to(mirrors, page);
    r = tools_learn(mirrors, tools, log, ret_unfit);
    if (r < 0 || !follows)
        return r;
    if (mcp_json_get_type(cursor) == MCP_JSON_STRING)
        mirrors->next = mcpi_mirrors_page(mirrors, mcp_json_string(cursor, ""),
                                          mcp_json_string_length(cursor));
    else
        mirrors_sweep(mirrors);
    return 0;
}

/* ---- leaving out --------------------------------------------------------- */

/* All members of an object go through fn, which writes their values. */
typedef int member_fn(const struct mcpi_mirrors *mirrors, const mcp_json *key,
                      const mcp_json *value, struct mcpi_buf *into);

static int
members_write(const struct mcpi_mirrors *mirrors, const mcp_json *object,
              struct mcpi_buf *into, member_fn *fn)
{
    bool is_first = true;
    mcp_json_iterator it;
    int r = 0;

    mcpi_buf_char(into, '{');
    for (it = mcp_json_each(object); r == 0 && mcp_json_next(&it); is_first = false) {
        if (!is_first)
            mcpi_buf_char(into, ',');
        mcpi_json_write(into, it.key);
        mcpi_buf_char(into, ':');
        r = fn(mirrors, it.key, it.value, into);
    }
    mcpi_buf_char(into, '}');
    return r < 0 ? r : into->status;
}

static int
tools_write(const struct mcpi_mirrors *mirrors, const mcp_json *tools,
            struct mcpi_buf *into)
{
    bool is_first = true;
    mcp_json_iterator it;
    int r;

    mcpi_buf_char(into, '[');
    for (it = mcp_json_each(tools); mcp_json_next(&it);) {
        r = mcpi_mirrors_check(mirrors, it.value);
        if (r == MCP_E_INVAL)
            continue;
        if (r < 0)
            return r;
        if (!is_first)
            mcpi_buf_char(into, ',');
        mcpi_json_write(into, it.value);
        is_first = false;
    }
    mcpi_buf_char(into, ']');
    return 0;
}

static int
result_member_write(const struct mcpi_mirrors *mirrors, const mcp_json *key,
                    const mcp_json *value, struct mcpi_buf *into)
{
    if (mcp_json_is_string(key, "tools") && mcp_json_get_type(value) == MCP_JSON_ARRAY)
        return tools_write(mirrors, value, into);
    mcpi_json_write(into, value);
    return 0;
}

static int
answer_member_write(const struct mcpi_mirrors *mirrors, const mcp_json *key,
                    const mcp_json *value, struct mcpi_buf *into)
{
    if (mcp_json_is_string(key, "result"))
        return members_write(mirrors, value, into, result_member_write);
    mcpi_json_write(into, value);
    return 0;
}

static int
answer_write(const struct mcpi_mirrors *mirrors, const mcp_json *answer,
             mcp_doc **ret_doc)
{
    const struct mcpi_json_limits limits = {MCPI_JSON_TEXT_MAX, SIZE_MAX};
    struct mcpi_buf text;
    int r;

    mcpi_buf_init(&text, mirrors->mem, MCPI_JSON_TEXT_MAX);
    r = members_write(mirrors, answer, &text, answer_member_write);
    if (r == 0)
        r = mcpi_doc_parse(mirrors->mem, text.data, text.len, &limits, ret_doc);
    mcpi_buf_done(&text);
    return r;
}

int
mcpi_mirrors_read(struct mcpi_mirrors *mirrors, const struct mcpi_rpc *answer,
                  uint64_t page, const struct mcpi_log *log, struct mcpi_rpc *ret)
{
    mcp_doc *doc = NULL;
    size_t unfit;
    int r;

    r = mcpi_mirrors_learn(mirrors, answer->result, page, log, &unfit);
    if (r == 0 && unfit > 0)
        r = answer_write(mirrors, mcp_doc_root(answer->doc), &doc);
    if (r < 0)
        return r;
    *ret = *answer;
    if (doc)
        mcpi_rpc_read(mcp_doc_root(doc), ret);
    ret->doc = doc ? doc : mcp_doc_ref(answer->doc);
    return 0;
}
