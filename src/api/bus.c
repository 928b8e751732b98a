/*
 * bus.c - the bus inside a process
 *
 * No lock is held while somebody is told, so a callback may publish, subscribe and
 * unsubscribe. Each telling stands in a list of its ticket while it lasts: who
 * unsubscribes waits for those of other threads. A ticket stays in the list of the bus
 * while it is being told, so that the next one can be found from it; if its own callback
 * has unsubscribed it, the last telling frees it.
 */
#include <pthread.h>

#include "api/server.h"
#include "base/mem.h"
#include "run/thread.h"

struct mcp_local_bus {
    const mcp_allocator *mem;
    mcp_bus interface;
    pthread_mutex_t lock; /* a leaf, for what follows */
    pthread_cond_t told;  /* a telling has ended */
    struct mcpi_list tickets;
};

/* All under the lock of the bus. */
struct ticket {
    struct mcpi_list node;
    void (*on_event)(void *user, const mcp_event *event);
    void *user;
    bool gone; /* unsubscribed: not told any more */
    bool left; /* and freed by the last telling */
    struct mcpi_list tellings;
};

struct telling {
    struct mcpi_list node;
    pthread_t thread;
};

/* ---- being told --------------------------------------------------------- */

/* Under lock. */
static void
ticket_free(mcp_local_bus *bus, struct ticket *ticket)
{
    mcpi_list_remove(&ticket->node);
    mcpi_free(bus->mem, ticket);
}

/* Under lock, which is given back meanwhile. Returns the next one. */
static struct mcpi_list *
ticket_tell(mcp_local_bus *bus, struct ticket *ticket, const mcp_event *event)
{
    struct telling telling = {.thread = pthread_self()};
    struct mcpi_list *next;

    mcpi_list_append(&ticket->tellings, &telling.node);
    pthread_mutex_unlock(&bus->lock);
    ticket->on_event(ticket->user, event);
    pthread_mutex_lock(&bus->lock);
    mcpi_list_remove(&telling.node);
    next = ticket->node.next;
    if (ticket->left && mcpi_list_empty(&ticket->tellings))
        ticket_free(bus, ticket);
    else if (ticket->gone)
        pthread_cond_broadcast(&bus->told);
    return next;
}

static bool
event_is_sane(const mcp_event *event)
{
    if (!event)
        return false;
    switch (event->change) {
    case MCP_TOOLS_CHANGED:
    case MCP_PROMPTS_CHANGED:
    case MCP_RESOURCES_CHANGED:
        return true;
    case MCP_RESOURCE_UPDATED:
        return event->uri != NULL;
    }
    return false;
}

static int
bus_publish(void *self, const mcp_event *event)
{
    mcp_local_bus *bus = self;
    struct mcpi_list *node;
    struct ticket *ticket;

    if (!event_is_sane(event))
        return MCP_E_INVAL;
    pthread_mutex_lock(&bus->lock);
    node = bus->tickets.next;
    while (node != &bus->tickets) {
        ticket = MCPI_CONTAINER(node, struct ticket, node);
        node = ticket->gone ? node->next : ticket_tell(bus, ticket, event);
    }
    pthread_mutex_unlock(&bus->lock);
    return 0;
}

/* ---- tickets ------------------------------------------------------------ */

static int
bus_subscribe(void *self, void (*on_event)(void *user, const mcp_event *event),
              void *user, void **ret_ticket)
{
    mcp_local_bus *bus = self;
    struct ticket *ticket;

    if (!on_event || !ret_ticket)
        return MCP_E_INVAL;
    ticket = mcpi_alloc_zero(bus->mem, sizeof(*ticket));
    if (!ticket)
        return MCP_E_NOMEM;
    ticket->on_event = on_event;
    ticket->user = user;
    mcpi_list_init(&ticket->tellings);
    pthread_mutex_lock(&bus->lock);
    *ret_ticket = ticket; /* a callback may need it before we have returned */
    mcpi_list_append(&bus->tickets, &ticket->node);
    pthread_mutex_unlock(&bus->lock);
    return 0;
}

/* Under lock: does another thread tell it? */
static bool
ticket_is_told_elsewhere(const struct ticket *ticket)
{
    const struct mcpi_list *node;

    for (node = ticket->tellings.next; node != &ticket->tellings; node = node->next) {
        if (!pthread_equal(MCPI_CONTAINER(node, struct telling, node)->thread,
                           pthread_self()))
            return true;
    }
    return false;
}

static int
bus_unsubscribe(void *self, void *of)
{
    mcp_local_bus *bus = self;
    struct ticket *ticket = of;

    if (!ticket)
        return MCP_E_INVAL;
    pthread_mutex_lock(&bus->lock);
    ticket->gone = true;
    while (ticket_is_told_elsewhere(ticket))
        (void)mcpi_cond_wait(&bus->told, &bus->lock, MCPI_NEVER);
    ticket->left = !mcpi_list_empty(&ticket->tellings); /* from inside of it */
    if (!ticket->left)
        ticket_free(bus, ticket);
    pthread_mutex_unlock(&bus->lock);
    return 0;
}

/* ---- its life ----------------------------------------------------------- */

int
mcp_local_bus_new(const mcp_allocator *allocator, mcp_local_bus **ret_bus)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(allocator);
    mcp_local_bus *bus;

    if (!ret_bus)
        return MCP_E_INVAL;
    bus = mcpi_alloc_zero(mem, sizeof(*bus));
    if (!bus)
        return MCP_E_NOMEM;
    bus->mem = mem;
    bus->interface = MCP_BUS(.publish = bus_publish, .subscribe = bus_subscribe,
                             .unsubscribe = bus_unsubscribe, .self = bus);
    mcpi_list_init(&bus->tickets);
    if (pthread_mutex_init(&bus->lock, NULL) != 0)
        goto no_lock;
    if (mcpi_cond_init(&bus->told) < 0)
        goto no_condition;
    *ret_bus = bus;
    return 0;

no_condition:
    pthread_mutex_destroy(&bus->lock);
no_lock:
    mcpi_free(mem, bus);
    return MCP_E_NOMEM;
}

void
mcp_local_bus_free(mcp_local_bus *bus)
{
    struct mcpi_list *node;

    if (!bus)
        return;
    while ((node = mcpi_list_pop(&bus->tickets)) != NULL)
        mcpi_free(bus->mem, MCPI_CONTAINER(node, struct ticket, node));
    pthread_cond_destroy(&bus->told);
    pthread_mutex_destroy(&bus->lock);
    mcpi_free(bus->mem, bus);
}

const mcp_bus *
mcp_local_bus_interface(const mcp_local_bus *bus)
{
    return bus ? &bus->interface : NULL;
}
