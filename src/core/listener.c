/*
 * listener.c - a modern client listens: one subscriptions/listen request, served
 *
 * Its set of what is due begins with the acknowledgment. A graceful end pushes all that
 * is left, so that it stands before the result; any other end takes it back. Neither
 * needs memory, and neither can fail (H21).
 *
 * A listener that cannot keep up, or cannot be told, has failed: it takes nothing more,
 * and its owner hears of it from a timer, with nothing of ours on the stack.
 */
#include "core/listener.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "core/names.h"
#include "core/peer.h"

/* ---- what is told ---------------------------------------------------------- */

static const struct list {
    enum mcpi_topic topic;
    const char *asked; /* member of the filter */
} lists[] = {
    {MCPI_TOPIC_TOOLS, "toolsListChanged"},
    {MCPI_TOPIC_PROMPTS, "promptsListChanged"},
    {MCPI_TOPIC_RESOURCES, "resourcesListChanged"},
};

enum { LISTS = sizeof(lists) / sizeof(lists[0]) };

#define ASKED_UPDATES "resourceSubscriptions"

/* Known to be UTF-8: only memory can fail, and that is the buffer's. */
static void
text_write(struct mcpi_buf *buf, const char *text, size_t len)
{
    (void)mcpi_json_write_string(buf, text, len);
}

/* ---- listeners ------------------------------------------------------------- */

/* Resources that it named, each once, and behind them their texts. */
struct asked {
    struct mcpi_map by_uri;
    size_t count;
    struct mcpi_name names[]; /* in order */
};

struct mcpi_listener {
    struct mcpi_list in_engine; /* while it is open */
    unsigned refs;              /* open: one; one for each out */
    unsigned topics;            /* honored */
    bool open, failed;
    struct mcpi_exchange *x; /* counted: its id, its outlet */
    void (*slow)(void *user);
    void *slow_user;
    struct asked *asked; /* NULL: it named none */
    size_t asked_bytes;  /* of its client's account */
    struct mcpi_due due;
    struct mcpi_timer timer; /* it has failed: tell its owner */
};

static struct mcpi_listener *
listener_of(const struct mcpi_due *due)
{
    return MCPI_CONTAINER(due, struct mcpi_listener, due);
}

static void
listener_unref(struct mcpi_listener *l)
{
    const mcp_allocator *mem = l->x->engine->mem;

    if (--l->refs > 0)
        return;
    mcpi_due_done(&l->due);
    if (l->asked)
        mcpi_map_done(&l->asked->by_uri);
    mcpi_free(mem, l->asked);
    mcpi_account_give(l->x->outlet->account, MCPI_HELD_BYTES, l->asked_bytes);
    mcpi_exchange_unref(l->x);
    mcpi_free(mem, l);
}

/* May it be told more? */
static bool
listener_is_live(const struct mcpi_listener *l)
{
    return l->open && !l->failed && l->x->ending == MCPI_OPEN;
}

static void
listener_fail(struct mcpi_listener *l)
{
    const struct mcpi_engine *e = l->x->engine;

    if (!listener_is_live(l))
        return;
    l->failed = true;
    mcpi_timer_arm(e->timers, &l->timer, e->now);
}

static void
listener_expired(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_listener *l = MCPI_CONTAINER(timer, struct mcpi_listener, timer);

    mcpi_engine_at(l->x->engine, now);
    if (l->slow)
        l->slow(l->slow_user);
}

static void
listener_write_filter(const struct mcpi_listener *l, struct mcpi_buf *into)
{
    const char *comma = "";

    MCPI_BUF_LITERAL(into, ",\"notifications\":{");
    for (size_t i = 0; i < LISTS; i++) {
        if (!(l->topics & lists[i].topic))
            continue;
        mcpi_buf_text(into, comma);
        text_write(into, lists[i].asked, strlen(lists[i].asked));
        MCPI_BUF_LITERAL(into, ":true");
        comma = ",";
    }
    if (l->topics & MCPI_TOPIC_UPDATED) {
        mcpi_buf_text(into, comma);
        MCPI_BUF_LITERAL(into, "\"" ASKED_UPDATES "\":[");
        for (size_t i = 0; i < l->asked->count; i++) {
            if (i > 0)
                mcpi_buf_char(into, ',');
            text_write(into, l->asked->names[i].text, l->asked->names[i].len);
        }
        mcpi_buf_char(into, ']');
    }
    mcpi_buf_char(into, '}');
}

/* ---- its set of what is due ------------------------------------------------ */

/* Nothing with that id after its end, even if its owner is late to close it (H16). */
static bool
listener_is_moot(const struct mcpi_listener *l)
{
    return l->x->ending == MCPI_CANCELED || l->x->ending == MCPI_DROPPED;
}

static int
due_write(struct mcpi_due *due, const struct mcpi_due_item *item, struct mcpi_buf *into)
{
    const struct mcpi_listener *l = listener_of(due);
    const char *method = item->topic ? mcpi_topic_method(item->topic)
                                     : mcpi_method_name(MCPI_METHOD_NOTE_ACKNOWLEDGED);

    if (listener_is_moot(l))
        return 1;
    mcpi_rpc_write_note(into, method, strlen(method));
    MCPI_BUF_LITERAL(into, ",\"params\":{\"_meta\":");
    mcpi_meta_write_subscription(into, &l->x->rpc.id);
    if (item->topic == MCPI_TOPIC_UPDATED) {
        MCPI_BUF_LITERAL(into, ",\"uri\":");
        text_write(into, item->name->text, item->name->len);
    } else if (!item->topic) {
        listener_write_filter(l, into);
    }
    MCPI_BUF_LITERAL(into, "}}");
    return into->status;
}

static bool
due_is_live(const struct mcpi_due *due)
{
    return listener_is_live(listener_of(due));
}

static void
due_ended(struct mcpi_due *due, int status)
{
    if (status < 0)
        listener_fail(listener_of(due));
    else
        mcpi_due_push(due);
}

static void
due_ref(struct mcpi_due *due)
{
    listener_of(due)->refs++;
}

static void
due_unref(struct mcpi_due *due)
{
    listener_unref(listener_of(due));
}

static const struct mcpi_due_ops due_ops = {.write = due_write,
                                            .is_live = due_is_live,
                                            .ended = due_ended,
                                            .ref = due_ref,
                                            .unref = due_unref};

/* ---- events ---------------------------------------------------------------- */

static void
listener_tell(struct mcpi_listener *l, const struct mcpi_event *event)
{
    int r = 0;

    if (!listener_is_live(l) || !(l->topics & event->topic))
        return;
    if (event->topic != MCPI_TOPIC_UPDATED)
        mcpi_due_add_list(&l->due, event->topic);
    else if (mcpi_names_cover(&l->asked->by_uri, event->uri))
        r = mcpi_due_add_uri(&l->due, event->uri);
    if (r < 0)
        listener_fail(l); /* it has missed something (H19) */
    else
        mcpi_due_push(&l->due);
}

/* It may go while it is told. */
static void
listener_tell_all(struct mcpi_listener *l)
{
    struct mcpi_event event = {.topic = MCPI_TOPIC_UPDATED};

    l->refs++;
    for (size_t i = 0; l->asked && i < l->asked->count; i++) {
        event.uri = l->asked->names[i].text;
        listener_tell(l, &event);
    }
    listener_unref(l);
}

/* Who is told may go while another is: each stands in one of two lists. */
void
mcpi_listeners_tell(struct mcpi_engine *engine, const struct mcpi_event *event)
{
    bool all = event->topic == MCPI_TOPIC_UPDATED && !event->uri;
    struct mcpi_list untold, *node;
    struct mcpi_listener *l;

    mcpi_list_init(&untold);
    while ((node = mcpi_list_pop(&engine->listeners)) != NULL)
        mcpi_list_append(&untold, node);
    while ((node = mcpi_list_pop(&untold)) != NULL) {
        mcpi_list_append(&engine->listeners, node);
        l = MCPI_CONTAINER(node, struct mcpi_listener, in_engine);
        if (all)
            listener_tell_all(l);
        else
            listener_tell(l, event);
    }
}

/* ---- it begins and ends ---------------------------------------------------- */

static int
filter_refuse(struct mcpi_refusal *why, const char *member, const char *must)
{
    mcpi_refuse(why, MCPI_RPC_INVALID_PARAMS, "Invalid params: %s must be %s", member,
                must);
    return MCP_E_PROTO;
}

static int
filter_read_lists(struct mcpi_listener *l, const mcp_json *filter, unsigned offered,
                  struct mcpi_refusal *why)
{
    const mcp_json *value;

    for (size_t i = 0; i < LISTS; i++) {
        value = mcp_json_get(filter, lists[i].asked);
        if (value && mcp_json_get_type(value) != MCP_JSON_BOOL)
            return filter_refuse(why, lists[i].asked, "a boolean");
        if (mcp_json_bool(value, false))
            l->topics |= lists[i].topic & offered;
    }
    return 0;
}

static int
filter_check_uris(const mcp_json *uris, struct mcpi_refusal *why)
{
    mcp_json_iterator it;
    const char *text;

    if (uris && mcp_json_get_type(uris) != MCP_JSON_ARRAY)
        return filter_refuse(why, ASKED_UPDATES, "an array");
    for (it = mcp_json_each(uris); mcp_json_next(&it);) {
        text = mcp_json_string(it.value, NULL);
        if (!text || strlen(text) != mcp_json_string_length(it.value))
            return filter_refuse(why, ASKED_UPDATES, "an array of URIs");
        if (mcp_json_string_length(it.value) > MCPI_WATCHED_URI_MAX)
            return filter_refuse(why, ASKED_UPDATES, "an array of shorter URIs");
    }
    return 0;
}

/* Bytes of their texts. */
static size_t
uris_size(const mcp_json *uris)
{
    mcp_json_iterator it;
    size_t size = 0;

    for (it = mcp_json_each(uris); mcp_json_next(&it);)
        size += mcp_json_string_length(it.value) + 1;
    return size;
}

static size_t
asked_size(size_t count, size_t texts)
{
    return sizeof(struct asked) + count * sizeof(struct mcpi_name) + texts;
}

/* None yet, with room for what is of that size; NULL: no memory. */
static struct asked *
asked_new(const struct mcpi_engine *e, size_t size)
{
    struct asked *asked = mcpi_alloc(e->mem, size);

    if (!asked)
        return NULL;
    mcpi_map_init(&asked->by_uri, e->mem, e->seed);
    asked->count = 0;
    return asked;
}

static int
filter_read_uris(struct mcpi_listener *l, const mcp_json *uris,
                 struct mcpi_refusal *why)
{
    const struct mcpi_engine *e = l->x->engine;
    size_t limit = e->limits.subscribed;
    size_t count = mcp_json_count(uris);
    mcp_json_iterator it;
    struct asked *asked;
    const char *text;
    size_t size, len;
    char *texts;

    count = count < limit ? count : limit;
    size = asked_size(count, uris_size(uris));
    if (!mcpi_account_change(l->x->outlet->account, MCPI_HELD_BYTES, &l->asked_bytes,
                             size)) {
        mcpi_refuse(why, MCPI_RPC_INTERNAL_ERROR,
                    "Too much memory is in use for this client");
        return MCP_E_LIMIT;
    }
    asked = l->asked = asked_new(e, size);
    if (!asked)
        return MCP_E_NOMEM;
    texts = (char *)(asked->names + count);
    for (it = mcp_json_each(uris); mcp_json_next(&it);) {
        text = mcp_json_string(it.value, NULL);
        len = mcp_json_string_length(it.value);
        if (mcpi_names_find(&asked->by_uri, text, len))
            continue;
        if (asked->count == limit) {
            mcpi_refuse(why, MCPI_RPC_INVALID_PARAMS,
                        "Invalid params: more than %zu resources", limit);
            return MCP_E_LIMIT;
        }
        text = mcpi_text_stow(&texts, text, len);
        mcpi_names_add(&asked->by_uri, &asked->names[asked->count++], text, len);
    }
    l->topics |= MCPI_TOPIC_UPDATED;
    return 0;
}

static int
listener_read_filter(struct mcpi_listener *l, unsigned offered,
                     struct mcpi_refusal *why)
{
    const mcp_json *filter = mcp_json_get(l->x->rpc.params, "notifications");
    const mcp_json *uris = mcp_json_get(filter, ASKED_UPDATES);
    int r;

    if (mcp_json_get_type(filter) != MCP_JSON_OBJECT)
        return filter_refuse(why, "notifications", "an object");
    if (mcpi_json_has_duplicates(filter))
        return filter_refuse(why, "each member of notifications", "there once");
    r = filter_read_lists(l, filter, offered, why);
    if (r == 0)
        r = filter_check_uris(uris, why);
    if (r == 0 && mcp_json_count(uris) > 0 && (offered & MCPI_TOPIC_UPDATED))
        r = filter_read_uris(l, uris, why);
    return r;
}

static struct mcpi_listener *
listener_new(struct mcpi_exchange *x, const struct mcpi_listener_options *opt)
{
    struct mcpi_engine *e = x->engine;
    struct mcpi_listener *l = mcpi_alloc_zero(e->mem, sizeof(*l));

    if (!l)
        return NULL;
    l->refs = 1;
    l->x = mcpi_exchange_ref(x);
    l->slow = opt->slow;
    l->slow_user = opt->user;
    mcpi_list_init(&l->in_engine);
    mcpi_due_init(&l->due, &due_ops, e, x->outlet);
    mcpi_timer_init(&l->timer, listener_expired);
    return l;
}

int
mcpi_listener_open(struct mcpi_exchange *x, const struct mcpi_listener_options *opt,
                   struct mcpi_listener **ret, struct mcpi_refusal *why)
{
    struct mcpi_engine *e = x->engine;
    struct mcpi_listener *l;
    int r;

    if (e->listener_count >= e->limits.listeners) {
        mcpi_refuse(why, MCPI_RPC_INTERNAL_ERROR,
                    "Too many subscriptions; the limit is %zu", e->limits.listeners);
        return MCP_E_LIMIT;
    }
    l = listener_new(x, opt);
    if (!l)
        return MCP_E_NOMEM;
    r = listener_read_filter(l, opt->offered, why);
    if (r == 0 && !mcpi_account_take(x->outlet->account, MCPI_HELD_LISTENERS, 1)) {
        mcpi_refuse(why, MCPI_RPC_INTERNAL_ERROR,
                    "Too many subscriptions of this client");
        r = MCP_E_LIMIT;
    }
    if (r < 0) {
        listener_unref(l);
        return r;
    }
    l->open = true;
    mcpi_list_append(&e->listeners, &l->in_engine);
    e->listener_count++;
    mcpi_exchange_limit(x, MCPI_NEVER); /* it is meant to last */
    *ret = l;
    mcpi_due_add_list(&l->due, 0);
    mcpi_due_push(&l->due);
    return 0;
}

void
mcpi_listener_close(struct mcpi_listener *l, struct mcpi_result *last)
{
    struct mcpi_engine *e;

    if (!l)
        return;
    e = l->x->engine;
    l->open = false;
    mcpi_list_remove(&l->in_engine);
    e->listener_count--;
    mcpi_account_give(l->x->outlet->account, MCPI_HELD_LISTENERS, 1);
    mcpi_timer_disarm(e->timers, &l->timer);
    if (!last) {
        mcpi_due_clear(&l->due);
    } else {
        mcpi_due_flush(&l->due);
        last->code = 0;
        mcpi_buf_clear(&last->body);
        mcpi_buf_clear(&last->meta);
        mcpi_meta_write_subscription(&last->meta, &l->x->rpc.id);
    }
    listener_unref(l);
}
