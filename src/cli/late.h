/*
 * late.h - what still comes for requests that were canceled, as it shows on the wire
 *
 * The library drops it, as it should; here it is counted. An answer that only says that
 * the request was canceled (-32800) is none.
 */
#ifndef CLI_LATE_H
#define CLI_LATE_H

#include <pthread.h>

#include <mcp/client.h>

#define CLI_LATE_IDS 256 /* canceled requests that are remembered: the last ones */
#define CLI_LATE_ID 64   /* bytes of an id; a longer one is not followed */

struct cli_late {
    pthread_mutex_t lock;
    char ids[CLI_LATE_IDS][CLI_LATE_ID]; /* under lock, as all below; JSON; "": none */
    size_t next;
    uint64_t canceled; /* requests that the server was told to cancel */
    uint64_t answered; /* of these: answered all the same, after it */
    uint64_t reports;  /* of progress, whatever they are for */
    uint64_t calls;    /* of tools, that were handed to the link */
    /* who was to see the wire before us (--trace), and to hear of the session */
    void (*on_wire)(mcp_client *client, enum mcp_wire what, const char *text,
                    size_t length, void *user);
    void (*on_state)(mcp_client *client, int status, void *user);
    void *user;
};

void cli_late_init(struct cli_late *late);
void cli_late_done(struct cli_late *late);

/* Look at the wire of the client that is opened with opt. late must outlive it. Other
 * callbacks of opt than these two are taken out, since opt->user is ours then. */
void cli_late_offer(struct cli_late *late, mcp_client_options *opt);

/* A message went out, or came. [any] */
void cli_late_look(struct cli_late *late, enum mcp_wire what, const char *text,
                   size_t length);

/* How many were answered although canceled, until now. [any] */
uint64_t cli_late_count(struct cli_late *late);

/* How many reports of progress came, for whichever request, until now. [any] */
uint64_t cli_late_reports(struct cli_late *late);

/* How many calls of tools have gone out, until now. [any] */
uint64_t cli_late_calls(struct cli_late *late);

#endif
