/*
 * due.h - what one reader is still to be told, as a set
 *
 * An event is due once: each list, and each resource by its URI. At most one waits in
 * the outlet, and only when it is taken it is decided which; when that has been written
 * the next is pushed. So a slow reader costs a bounded set, and what happens after an
 * event was taken is a new one. One that could not be written is due again.
 *
 * The set of a listener, or of a legacy session. Its owner decides what is due, how it
 * is written, and what to do when there is no room for it.
 */
#ifndef MCPI_CORE_DUE_H
#define MCPI_CORE_DUE_H

#include "core/names.h"
#include "core/outlet.h"

enum mcpi_topic {
    MCPI_TOPIC_TOOLS = 1,
    MCPI_TOPIC_PROMPTS = 2,
    MCPI_TOPIC_RESOURCES = 4,
    MCPI_TOPIC_UPDATED = 8 /* of one resource */
};

enum { MCPI_TOPIC_LISTS = 3 };

/* The notification that tells of it. */
const char *mcpi_topic_method(enum mcpi_topic topic);

struct mcpi_due;

/* An event that is due, or can be. A member of what it tells of, so that being due needs
 * no memory; or the set's own. */
struct mcpi_due_item {
    struct mcpi_out out; /* idle: its node is in the set while it is due; else it is in
                            the outlet, for the end: see mcpi_due_flush */
    struct mcpi_due *due;
    enum mcpi_topic topic;        /* 0: what the owner says before all else */
    bool own;                     /* the set's: freed when it is not due any more */
    const struct mcpi_name *name; /* UPDATED: its URI. The set's own: in due->uris */
};

struct mcpi_due_ops {
    /* Encode it, as take of an out does. */
    int (*write)(struct mcpi_due *due, const struct mcpi_due_item *item,
                 struct mcpi_buf *into);
    /* May one be pushed? */
    bool (*is_live)(const struct mcpi_due *due);
    /* The one in the outlet has ended: written (0), or not (negative), and then it is
     * due again. mcpi_due_push goes on. */
    void (*ended)(struct mcpi_due *due, int status);
    /* The owner is needed, for an out; and not any more. NULL: it outlives them. */
    void (*ref)(struct mcpi_due *due);
    void (*unref)(struct mcpi_due *due);
};

struct mcpi_due {
    const struct mcpi_due_ops *ops;
    struct mcpi_engine *engine;
    struct mcpi_outlet *outlet;  /* borrowed from the owner */
    struct mcpi_list items;      /* in the order in which they became due */
    struct mcpi_map *uris;       /* of the set's own items; NULL: none so far */
    struct mcpi_out out;         /* the one that waits, whichever it will be */
    struct mcpi_due_item *taken; /* which it was; NULL: still open, or gone */
    bool pushing, stuck;
    struct mcpi_due_item first, lists[MCPI_TOPIC_LISTS];
};

void mcpi_due_init(struct mcpi_due *due, const struct mcpi_due_ops *ops,
                   struct mcpi_engine *engine, struct mcpi_outlet *outlet);
/* Nothing of it may be in the outlet any more. */
void mcpi_due_done(struct mcpi_due *due);

/* An item that its maker keeps; name is borrowed, NULL but for UPDATED. Remove it before
 * it goes. */
void mcpi_due_item_init(struct mcpi_due_item *item, struct mcpi_due *due,
                        enum mcpi_topic topic, const struct mcpi_name *name);

/* Each of these is due now; twice is as once. */
void mcpi_due_add(struct mcpi_due_item *item);
void mcpi_due_add_list(struct mcpi_due *due, enum mcpi_topic list); /* 0: the first */
/* MCP_E_LIMIT: as many are as one reader may watch, or its share of memory is used up;
 * MCP_E_NOMEM. */
int mcpi_due_add_uri(struct mcpi_due *due, const char *uri);

/* And not any more. */
void mcpi_due_remove(struct mcpi_due_item *item);
void mcpi_due_forget_uris(struct mcpi_due *due); /* the set's own */

/* If none waits in the outlet, let one. */
void mcpi_due_push(struct mcpi_due *due);

/* Two ends, which need no memory. Push all that is due, now; the owner is not live any
 * more. Or forget it, and take back what waits; what is half written goes on. */
void mcpi_due_flush(struct mcpi_due *due);
void mcpi_due_clear(struct mcpi_due *due);

#endif
