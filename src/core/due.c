/*
 * due.c - what one reader is still to be told, as a set
 *
 * The out of the set has no text of its own: it is whatever is first when it is taken.
 * That item is kept in `taken` until the out has ended, because even then it may have
 * failed; meanwhile the same may become due again. At a graceful end all must stand in
 * the outlet before what the owner says last: for that every item has an out. Its node
 * is in the set until then.
 */
#include "core/due.h"

#include <assert.h>
#include <string.h>

#include "base/mem.h"
#include "core/engine.h"

const char *
mcpi_topic_method(enum mcpi_topic topic)
{
    switch (topic) {
    case MCPI_TOPIC_TOOLS:
        return mcpi_method_name(MCPI_METHOD_NOTE_TOOLS_CHANGED);
    case MCPI_TOPIC_PROMPTS:
        return mcpi_method_name(MCPI_METHOD_NOTE_PROMPTS_CHANGED);
    case MCPI_TOPIC_RESOURCES:
        return mcpi_method_name(MCPI_METHOD_NOTE_RESOURCES_CHANGED);
    case MCPI_TOPIC_UPDATED:
        break;
    }
    return mcpi_method_name(MCPI_METHOD_NOTE_RESOURCE_UPDATED);
}

static void
owner_ref(struct mcpi_due *due)
{
    if (due->ops->ref)
        due->ops->ref(due);
}

static void
owner_unref(struct mcpi_due *due)
{
    if (due->ops->unref)
        due->ops->unref(due);
}

/* ---- items ----------------------------------------------------------------- */

static bool
item_is_due(const struct mcpi_due_item *item)
{
    return item->out.state == MCPI_OUT_IDLE && !mcpi_list_empty(&item->out.node);
}

static struct mcpi_due_item *
item_of(const struct mcpi_list *node)
{
    return MCPI_CONTAINER(node, struct mcpi_due_item, out.node);
}

/* The set's own. */
struct own_item {
    struct mcpi_due_item item;
    struct mcpi_name name;
    char uri[];
};

static struct own_item *
own_of(struct mcpi_due_item *item)
{
    return MCPI_CONTAINER(item, struct own_item, item);
}

static size_t
own_size(size_t uri_len)
{
    return sizeof(struct own_item) + uri_len + 1;
}

/* Not if its out is in the outlet: it is the last of its kind. */
static void
item_enter(struct mcpi_due_item *item)
{
    if (item->out.state != MCPI_OUT_IDLE || item_is_due(item))
        return;
    mcpi_list_append(&item->due->items, &item->out.node);
    if (item->own)
        mcpi_names_add(item->due->uris, &own_of(item)->name, item->name->text,
                       item->name->len);
}

static void
item_leave(struct mcpi_due_item *item)
{
    if (!item_is_due(item))
        return;
    mcpi_list_remove(&item->out.node);
    if (item->own)
        (void)mcpi_map_remove(item->due->uris, &own_of(item)->name.node);
}

static void
item_drop(struct mcpi_due_item *item)
{
    item_leave(item);
    if (!item->own)
        return;
    mcpi_account_give(item->due->outlet->account, MCPI_HELD_BYTES,
                      own_size(item->name->len));
    mcpi_free(item->due->engine->mem, own_of(item));
}

/* It was not written. Unless the same is due by now, it is again. */
static void
item_restore(struct mcpi_due_item *item)
{
    if (item->own &&
        mcpi_names_find(item->due->uris, item->name->text, item->name->len))
        item_drop(item);
    else
        item_enter(item);
}

static int
last_take(struct mcpi_out *out, struct mcpi_buf *into)
{
    struct mcpi_due_item *item = MCPI_CONTAINER(out, struct mcpi_due_item, out);

    return item->due->ops->write(item->due, item, into);
}

static void
last_done(struct mcpi_out *out, int status)
{
    struct mcpi_due_item *item = MCPI_CONTAINER(out, struct mcpi_due_item, out);
    struct mcpi_due *due = item->due;

    (void)status; /* its owner has ended */
    item_drop(item);
    owner_unref(due);
}

static const struct mcpi_out_ops last_ops = {
    .kind = MCPI_OUT_NOTE, .take = last_take, .done = last_done};

/* ---- the one that waits ---------------------------------------------------- */

static struct mcpi_due *
due_of(struct mcpi_out *out)
{
    return MCPI_CONTAINER(out, struct mcpi_due, out);
}

static int
due_take(struct mcpi_out *out, struct mcpi_buf *into)
{
    struct mcpi_due *due = due_of(out);
    struct mcpi_list *node = mcpi_list_first(&due->items);

    if (!node)
        return 1; /* all has been forgotten meanwhile */
    due->taken = item_of(node);
    item_leave(due->taken);
    return due->ops->write(due, due->taken, into);
}

static void
due_ended(struct mcpi_out *out, int status)
{
    struct mcpi_due *due = due_of(out);
    struct mcpi_due_item *taken = due->taken;

    due->taken = NULL;
    due->stuck = status < 0;
    if (taken && status < 0)
        item_restore(taken);
    else if (taken && taken->own)
        item_drop(taken);
    due->ops->ended(due, status);
    owner_unref(due);
}

static const struct mcpi_out_ops due_ops = {
    .kind = MCPI_OUT_NOTE, .take = due_take, .done = due_ended};

/* ---- the set --------------------------------------------------------------- */

void
mcpi_due_item_init(struct mcpi_due_item *item, struct mcpi_due *due,
                   enum mcpi_topic topic, const struct mcpi_name *name)
{
    mcpi_out_init(&item->out, &last_ops);
    item->due = due;
    item->topic = topic;
    item->name = name;
    item->own = false;
}

void
mcpi_due_init(struct mcpi_due *due, const struct mcpi_due_ops *ops,
              struct mcpi_engine *engine, struct mcpi_outlet *outlet)
{
    due->ops = ops;
    due->engine = engine;
    due->outlet = outlet;
    due->uris = NULL;
    due->taken = NULL;
    due->pushing = due->stuck = false;
    mcpi_list_init(&due->items);
    mcpi_out_init(&due->out, &due_ops);
    mcpi_due_item_init(&due->first, due, 0, NULL);
    for (unsigned i = 0; i < MCPI_TOPIC_LISTS; i++)
        mcpi_due_item_init(&due->lists[i], due, (enum mcpi_topic)(1U << i), NULL);
}

void
mcpi_due_done(struct mcpi_due *due)
{
    assert(due->out.state == MCPI_OUT_IDLE);
    mcpi_due_clear(due);
    if (due->uris)
        mcpi_map_done(due->uris);
    mcpi_free(due->engine->mem, due->uris);
    due->uris = NULL;
}

void
mcpi_due_add(struct mcpi_due_item *item)
{
    item_enter(item);
}

void
mcpi_due_add_list(struct mcpi_due *due, enum mcpi_topic list)
{
    if (!list)
        mcpi_due_add(&due->first);
    for (size_t i = 0; i < MCPI_TOPIC_LISTS; i++)
        if (due->lists[i].topic == list)
            mcpi_due_add(&due->lists[i]);
}

/* Most sets never have any. */
static int
uris_open(struct mcpi_due *due)
{
    struct mcpi_map *uris;

    if (due->uris)
        return 0;
    uris = mcpi_alloc(due->engine->mem, sizeof(*uris));
    if (!uris)
        return MCP_E_NOMEM;
    mcpi_map_init(uris, due->engine->mem, due->engine->seed);
    due->uris = uris;
    return 0;
}

int
mcpi_due_add_uri(struct mcpi_due *due, const char *uri)
{
    size_t len = strlen(uri);
    struct own_item *own;

    if (uris_open(due) < 0)
        return MCP_E_NOMEM;
    if (mcpi_names_find(due->uris, uri, len))
        return 0;
    if (due->uris->count >= due->engine->limits.subscribed)
        return MCP_E_LIMIT;
    if (!mcpi_account_take(due->outlet->account, MCPI_HELD_BYTES, own_size(len)))
        return MCP_E_LIMIT;
    own = mcpi_alloc(due->engine->mem, own_size(len));
    if (!own) {
        mcpi_account_give(due->outlet->account, MCPI_HELD_BYTES, own_size(len));
        return MCP_E_NOMEM;
    }
    own->name.text = memcpy(own->uri, uri, len + 1);
    own->name.len = len;
    mcpi_due_item_init(&own->item, due, MCPI_TOPIC_UPDATED, &own->name);
    own->item.own = true;
    item_enter(&own->item);
    return 0;
}

void
mcpi_due_remove(struct mcpi_due_item *item)
{
    if (item->due->taken == item)
        item->due->taken = NULL; /* what was taken is on its way */
    item_leave(item);
}

void
mcpi_due_forget_uris(struct mcpi_due *due)
{
    struct mcpi_map_node *node;

    while (due->uris && (node = mcpi_map_any(due->uris)) != NULL)
        item_drop(&MCPI_CONTAINER(node, struct own_item, name.node)->item);
}

/* A link that writes from inside makes room for the next at once; one that cannot write
 * from inside is not asked again. */
void
mcpi_due_push(struct mcpi_due *due)
{
    if (due->pushing)
        return;
    due->pushing = true;
    due->stuck = false;
    owner_ref(due);
    while (!due->stuck && due->out.state == MCPI_OUT_IDLE &&
           !mcpi_list_empty(&due->items) && due->ops->is_live(due)) {
        owner_ref(due);
        if (!mcpi_outlet_push(due->outlet, &due->out))
            due_ended(&due->out, MCP_E_CLOSED); /* where it would go is gone */
    }
    due->pushing = false;
    owner_unref(due);
}

/* The one that waits stays where it is, and will be the first of these. */
void
mcpi_due_flush(struct mcpi_due *due)
{
    struct mcpi_list *node = due->items.next;
    struct mcpi_due_item *item;

    if (due->out.state == MCPI_OUT_QUEUED)
        node = node->next;
    while (node != &due->items) {
        item = item_of(node);
        node = node->next;
        item_leave(item);
        owner_ref(due);
        if (!mcpi_outlet_push(due->outlet, &item->out))
            last_done(&item->out, MCP_E_CLOSED);
    }
}

void
mcpi_due_clear(struct mcpi_due *due)
{
    struct mcpi_list *node;

    (void)mcpi_out_withdraw(&due->out);
    for (node = mcpi_list_first(&due->items); node; node = mcpi_list_first(&due->items))
        item_drop(item_of(node));
}
