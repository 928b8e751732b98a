/*
 * memory_store.c - events of sessions' streams, in memory
 *
 * A session has one queue of events, of all its streams in the order they came; when it
 * holds too many bytes the oldest leave. When all sessions together hold too many, the
 * one that holds the most loses its oldest, so a session that holds no more than an equal
 * part loses nothing to the others. Of each stream the first events are missing and
 * never one in between: where one could not be kept, all before it are dropped too.
 *
 * One thread speaks for a session (mcp/http.h), but any may take events from it, under
 * the lock. Not from one that is being read: it is read without the lock, so that none is
 * held while the caller's function runs. Then another session pays instead.
 */
#include "link/memory_store.h"

#include <pthread.h>
#include <string.h>

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/peak.h"
#include "run/memory.h"
#include "run/random.h"

struct event {
    struct mcpi_list node;
    uint64_t stream, number;
    size_t len;
    char data[];
};

struct session {
    struct mcpi_map_node by_id;
    struct mcpi_list node; /* the store's; who was told something last is last */
    struct mcpi_heap_node
        by_bytes;            /* who holds the most is first; not in: being read */
    struct mcpi_list events; /* the oldest first */
    size_t bytes;            /* of them */
    char id[];
};

struct mcp_memory_store {
    const mcp_allocator *mem;
    mcp_event_store interface;
    size_t session_bytes, all_bytes;
    pthread_mutex_t lock;      /* for all that follows */
    size_t bytes;              /* of all events */
    struct mcpi_peak peak;     /* of them */
    struct mcpi_map sessions;  /* by id */
    struct mcpi_list in_order; /* the same */
    struct mcpi_heap by_bytes; /* the same, but for those being read */
};

/* ---- events of one session ------------------------------------------------- */

static struct event *
event_of(const struct mcpi_list *node)
{
    return MCPI_CONTAINER(node, struct event, node);
}

static size_t
event_weight(size_t len)
{
    return sizeof(struct event) + len;
}

static void
session_enter_heap(struct mcp_memory_store *store, struct session *session)
{
    mcpi_heap_insert(&store->by_bytes, &session->by_bytes, -(int64_t)session->bytes);
}

static void
session_set_bytes(struct mcp_memory_store *store, struct session *session, size_t bytes)
{
    store->bytes = store->bytes - session->bytes + bytes;
    session->bytes = bytes;
    if (mcpi_heap_remove(&store->by_bytes, &session->by_bytes))
        session_enter_heap(store, session);
}

static void
event_drop(struct mcp_memory_store *store, struct session *session, struct event *event)
{
    mcpi_list_remove(&event->node);
    session_set_bytes(store, session, session->bytes - event_weight(event->len));
    mcpi_free(store->mem, event);
}

static void
session_drop_oldest(struct mcp_memory_store *store, struct session *session)
{
    event_drop(store, session, event_of(mcpi_list_first(&session->events)));
}

/* Of that stream; 0: all. */
static void
session_drop(struct mcp_memory_store *store, struct session *session, uint64_t stream)
{
    struct mcpi_list *node = session->events.next;
    struct event *event;

    while (node != &session->events) {
        event = event_of(node);
        node = node->next;
        if (stream == 0 || event->stream == stream)
            event_drop(store, session, event);
    }
}

static struct session *
store_largest(const struct mcp_memory_store *store)
{
    struct mcpi_heap_node *first = mcpi_heap_first(&store->by_bytes);

    return first ? MCPI_CONTAINER(first, struct session, by_bytes) : NULL;
}

/* Make the others hold less, until the event has room at least in place of all that its
 * session holds. False: it would be more than any of them holds. */
static bool
store_shrink_others(struct mcp_memory_store *store, const struct session *session,
                    size_t weight)
{
    struct session *largest;

    while (store->bytes - session->bytes + weight > store->all_bytes) {
        largest = store_largest(store);
        if (!largest || largest->bytes <= weight)
            return false;
        session_drop_oldest(store, largest);
    }
    return true;
}

/* Room for an event of that weight, which is not more than a session may hold. False:
 * there is none, and the session still holds what it did. */
static bool
session_make_room(struct mcp_memory_store *store, struct session *session,
                  size_t weight)
{
    bool was_in = mcpi_heap_remove(&store->by_bytes, &session->by_bytes);
    struct session *largest;
    bool fits;

    fits = store_shrink_others(store, session, weight);
    while (fits && session->bytes + weight > store->session_bytes)
        session_drop_oldest(store, session);
    while (fits && store->bytes + weight > store->all_bytes) {
        largest = store_largest(store);
        if (!largest || largest->bytes <= session->bytes + weight)
            largest = session;
        session_drop_oldest(store, largest);
    }
    if (was_in)
        session_enter_heap(store, session);
    return fits;
}

static int
session_append(struct mcp_memory_store *store, struct session *session,
               const struct event *like, const char *data)
{
    size_t weight = event_weight(like->len);
    struct event *event;

    if (weight > store->session_bytes)
        return MCP_E_LIMIT;
    event = mcpi_alloc(store->mem, weight);
    if (!event)
        return MCP_E_NOMEM;
    if (!session_make_room(store, session, weight)) {
        mcpi_free(store->mem, event);
        return MCP_E_LIMIT;
    }
    *event = *like;
    if (like->len > 0)
        memcpy(event->data, data, like->len);
    mcpi_list_append(&session->events, &event->node);
    session_set_bytes(store, session, session->bytes + weight);
    mcpi_peak_note(&store->peak, store->bytes);
    return 0;
}

/* Nothing is missing behind that number if it is there, or the one behind it. */
static bool
session_knows(const struct session *session, uint64_t stream, uint64_t number)
{
    const struct mcpi_list *node;
    const struct event *event;

    for (node = session->events.next; node != &session->events; node = node->next) {
        event = event_of(node);
        if (event->stream == stream &&
            (event->number == number || event->number - 1 == number))
            return true;
    }
    return false;
}

/* ---- sessions; all under lock ---------------------------------------------- */

static struct session *
session_of(const struct mcpi_map_node *node)
{
    return MCPI_CONTAINER(node, struct session, by_id);
}

static bool
session_has_id(const struct mcpi_map_node *node, const void *id)
{
    return strcmp(session_of(node)->id, id) == 0;
}

static uint64_t
id_hash(const struct mcp_memory_store *store, const char *id)
{
    return mcpi_map_hash(&store->sessions, id, strlen(id));
}

static struct session *
store_find(const struct mcp_memory_store *store, const char *id)
{
    struct mcpi_map_node *node;

    node = mcpi_map_find(&store->sessions, id_hash(store, id), session_has_id, id);
    return node ? session_of(node) : NULL;
}

static void
store_remove(struct mcp_memory_store *store, struct session *session)
{
    (void)mcpi_map_remove(&store->sessions, &session->by_id);
    mcpi_list_remove(&session->node);
    (void)mcpi_heap_remove(&store->by_bytes, &session->by_bytes);
    session_drop(store, session, 0);
    mcpi_free(store->mem, session);
}

/* Where there are too many, the first in order that is not being read leaves. */
static void
store_bound_sessions(struct mcp_memory_store *store)
{
    struct mcpi_list *node = store->in_order.next;
    struct session *session;

    while (store->sessions.count >= MCPI_STORE_SESSIONS && node != &store->in_order) {
        session = MCPI_CONTAINER(node, struct session, node);
        node = node->next;
        if (session->by_bytes.in_heap)
            store_remove(store, session);
    }
}

static struct session *
store_add(struct mcp_memory_store *store, const char *id)
{
    size_t size = strlen(id) + 1;
    struct session *session;

    store_bound_sessions(store);
    session = mcpi_alloc(store->mem, sizeof(*session) + size);
    if (!session)
        return NULL;
    *session = (struct session){.bytes = 0};
    memcpy(session->id, id, size);
    mcpi_list_init(&session->node);
    mcpi_list_init(&session->events);
    mcpi_map_add(&store->sessions, &session->by_id, id_hash(store, id));
    session_enter_heap(store, session);
    return session;
}

/* ---- the interface --------------------------------------------------------- */

static int
store_append(void *self, const char *id, uint64_t stream, uint64_t number,
             const char *data, size_t len)
{
    struct mcp_memory_store *store = self;
    const struct event like = {.stream = stream, .number = number, .len = len};
    struct session *session;
    int r = MCP_E_NOMEM;

    pthread_mutex_lock(&store->lock);
    session = store_find(store, id);
    if (!session)
        session = store_add(store, id);
    if (session) {
        mcpi_list_remove(&session->node);
        mcpi_list_append(&store->in_order, &session->node);
        r = session_append(store, session, &like, data);
        if (r < 0)
            session_drop(store, session, stream);
    }
    pthread_mutex_unlock(&store->lock);
    return r;
}

static int
store_replay(void *self, const char *id, uint64_t stream, uint64_t after,
             void (*each)(void *user, uint64_t number, const char *data, size_t length),
             void *user)
{
    struct mcp_memory_store *store = self;
    const struct mcpi_list *node;
    const struct event *event;
    struct session *session;
    bool was_in = false;

    pthread_mutex_lock(&store->lock);
    session = store_find(store, id);
    if (session && !session_knows(session, stream, after))
        session = NULL;
    if (session)
        was_in = mcpi_heap_remove(&store->by_bytes, &session->by_bytes);
    pthread_mutex_unlock(&store->lock);
    if (!session)
        return MCP_E_INVAL;
    for (node = session->events.next; node != &session->events; node = node->next) {
        event = event_of(node);
        if (event->stream == stream && event->number > after)
            each(user, event->number, event->data, event->len);
    }
    pthread_mutex_lock(&store->lock);
    if (was_in)
        session_enter_heap(store, session);
    pthread_mutex_unlock(&store->lock);
    return 0;
}

static void
store_forget(void *self, const char *id, uint64_t stream)
{
    struct mcp_memory_store *store = self;
    struct session *session;
    bool calm;

    pthread_mutex_lock(&store->lock);
    session = store_find(store, id);
    if (session && stream != 0)
        session_drop(store, session, stream);
    else if (session)
        store_remove(store, session);
    calm = mcpi_peak_settle(&store->peak, store->bytes);
    pthread_mutex_unlock(&store->lock);
    if (calm)
        mcpi_memory_trim(store->mem);
}

/* ---- making and freeing ---------------------------------------------------- */

int
mcpi_memory_store_new(const mcp_allocator *allocator, size_t session_bytes,
                      size_t all_bytes, mcp_memory_store **ret_store)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(allocator);
    unsigned char seed[MCPI_SEED_SIZE];
    struct mcp_memory_store *store;
    int r;

    if (!ret_store)
        return MCP_E_INVAL;
    r = mcpi_random(seed, sizeof(seed));
    if (r < 0)
        return r;
    store = mcpi_alloc_zero(mem, sizeof(*store));
    if (!store)
        return MCP_E_NOMEM;
    if (pthread_mutex_init(&store->lock, NULL) != 0) {
        mcpi_free(mem, store);
        return MCP_E_NOMEM;
    }
    store->mem = mem;
    store->session_bytes = session_bytes > 0 ? session_bytes : MCPI_STORE_BYTES;
    store->all_bytes = all_bytes > 0 ? all_bytes
                                     : mcpi_memory_share() / MCPI_STORE_PART_DEFAULT;
    if (store->session_bytes > store->all_bytes)
        store->session_bytes = store->all_bytes;
    store->interface = MCP_EVENT_STORE(.append = store_append, .replay = store_replay,
                                       .forget = store_forget, .self = store);
    mcpi_map_init(&store->sessions, mem, seed);
    mcpi_list_init(&store->in_order);
    mcpi_heap_init(&store->by_bytes);
    mcpi_peak_init(&store->peak);
    *ret_store = store;
    return 0;
}

int
mcp_memory_store_new(const mcp_allocator *allocator, size_t session_bytes,
                     mcp_memory_store **ret_store)
{
    return mcpi_memory_store_new(allocator, session_bytes, 0, ret_store);
}

void
mcp_memory_store_free(mcp_memory_store *store)
{
    struct mcpi_map_node *node;

    if (!store)
        return;
    while ((node = mcpi_map_any(&store->sessions)) != NULL)
        store_remove(store, session_of(node));
    mcpi_map_done(&store->sessions);
    pthread_mutex_destroy(&store->lock);
    mcpi_free(store->mem, store);
}

const mcp_event_store *
mcp_memory_store_interface(const mcp_memory_store *store)
{
    return store ? &store->interface : NULL;
}
