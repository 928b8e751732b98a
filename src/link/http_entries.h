/*
 * http_entries.h - all the messages that a client has on their way
 *
 * Five kinds are HELD and not sent at once. A cancel frame waits for the last byte of
 * its request, because on another connection it might arrive before the request does
 * (B8). A request waits for a frame that names its id, of an earlier request, because
 * the frame would cancel this one; not for long. An answer of ours waits while too many
 * others are on their way. What there is no memory for waits for some, unless it is a
 * request, which fails. And what may not be sent yet waits to be allowed (http_permit.h);
 * all but requests, and what holds up others, only so long.
 *
 * A request that is abandoned before a byte of it has left is aborted, and its frame is
 * not sent: the server knows nothing to take back (B5).
 *
 * Entries are found through their legs (E16). Only an id that is issued again is looked
 * up: what there is left of its former request is severed (E15). But not if that one is
 * resumed, and leaving it would cancel it.
 */
#ifndef MCPI_LINK_HTTP_ENTRIES_H
#define MCPI_LINK_HTTP_ENTRIES_H

#include "link/http_entry.h"

/* How long one that there is no memory for may wait for some. */
#define MCPI_HTTP_STARVED_MAX 5000000 /* us */

/* Answers of ours that are on their way at the same time; the others wait. A server
 * that asks without end, and takes no answer, must not have all our descriptors. */
#define MCPI_HTTP_ANSWERS_MAX 64
/* So many may wait; past it the link is given up (C7). */
#define MCPI_HTTP_CROWD_MAX 4096

struct mcpi_http_entries {
    struct mcpi_http_target *target;
    struct mcpi_peer *peer; /* set before the first one is opened */
    const struct mcpi_http_entries_ops *ops;
    void *user;
    struct mcpi_list held, open, gone;
    struct mcpi_list crowd; /* HELD too: answers, until fewer are on their way */
    size_t crowding;        /* that many wait */
    size_t answering;       /* that many are on their way */
    bool has_complained;    /* that one was not accepted */
    struct mcpi_map by_id;
    struct mcpi_http_entry *spare;    /* for the next message */
    struct mcpi_http_entry *greeting; /* notifications/initialized, not yet answered */
    size_t unaccepted;                /* those that have an out */
    bool starved;                     /* one waits for memory: resume them soon */
    struct mcpi_buf lines;            /* of the request that is being started */
};

static inline int64_t
mcpi_http_entry_now(const struct mcpi_http_entry *entry)
{
    return mcpi_http_target_now(entry->entries->target);
}

int mcpi_http_entries_init(struct mcpi_http_entries *entries,
                           struct mcpi_http_target *target,
                           const struct mcpi_http_entries_ops *ops, void *user);
/* All must be gone. A zeroed one ok. */
void mcpi_http_entries_done(struct mcpi_http_entries *entries);

/* Is there an entry for one more message? MCP_E_NOMEM: nothing is to be taken. */
int mcpi_http_entries_prepare(struct mcpi_http_entries *entries);

/* The entry of a message that was just taken, with its text. Cannot fail after a
 * prepare. What is left of an earlier request with the same id is severed. */
struct mcpi_http_entry *mcpi_http_entries_open(struct mcpi_http_entries *entries,
                                               struct mcpi_out *out,
                                               const struct mcpi_buf *text);

/* Send it, with some more header lines (NULL: none; a failed buffer: it fails so), or
 * let it wait. If it waits, or may have to be sent again, both are moved out of their
 * buffers. A request that cannot be started has failed, unsent. */
void mcpi_http_entries_send(struct mcpi_http_entry *entry, struct mcpi_buf *text,
                            struct mcpi_buf *more);

/* Must what follows wait in the outlet? For notifications/initialized to be answered, or for
 * a frame to be sent. Not for long. */
bool mcpi_http_entries_are_closed(const struct mcpi_http_entries *entries);

/* Send what need not wait any more. */
void mcpi_http_entries_resume(struct mcpi_http_entries *entries);

/* The session of that number is over: finish what was sent in it. */
void mcpi_http_entries_drop(struct mcpi_http_entries *entries, unsigned session);
void mcpi_http_entries_finish(struct mcpi_http_entries *entries); /* all of them */

/* Free those that are gone. */
void mcpi_http_entries_reap(struct mcpi_http_entries *entries);

#endif
