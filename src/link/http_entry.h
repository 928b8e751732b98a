/*
 * http_entry.h - one message of ours on its way, and all that comes back for it
 *
 *   HELD -> OPEN -> LINGER -> GONE          initialize: OPEN -> PARKED -> OPEN
 *   refused, and to be sent again: OPEN -> HELD
 *   hung up: GRACE -> GONE (legacy, D6), ORPHAN -> GONE (read to its end, B26)
 *
 * An entry exists from the moment its message is taken (E4, E5). It keeps what its
 * message was sent under: era, version, session. What arrives goes up with its leg
 * attached, so an ended or superseded leg hears nothing (E12, E15).
 *
 * HELD: nothing of it is with the server; http_entries.h says why.
 *
 * An entry that is GONE is freed by mcpi_http_entries_reap: somebody may be on the
 * stack who knows it.
 */
#ifndef MCPI_LINK_HTTP_ENTRY_H
#define MCPI_LINK_HTTP_ENTRY_H

#include "base/list.h"
#include "base/map.h"
#include "link/http_permit.h"

/* An answered stream may take that long to end by itself, so that its connection can be
 * used again. */
#define MCPI_HTTP_LINGER 1000000 /* us */
/* A request that was sent is read within that time, or its head says so sooner: a frame
 * that waits for it waits no longer. */
#define MCPI_HTTP_OVERTAKEN_MAX 250000
/* A notification or an answer of ours that is not accepted within that time is given
 * up: nobody else would end it. */
#define MCPI_HTTP_NOTE_MAX 30000000
/* The body of an error may take that long: it is a text for people, or one answer. What has
 * come by then is all of it: who was refused hears of it before its timeout. */
#define MCPI_HTTP_ERROR_MAX 5000000
/* Others wait for notifications/initialized to be answered; not longer than that. */
#define MCPI_HTTP_GREETING_MAX 5000000

enum mcpi_http_entry_state {
    MCPI_ENTRY_HELD = 0,
    MCPI_ENTRY_OPEN,
    MCPI_ENTRY_PARKED, /* initialize was refused: its owner looks for another way */
    MCPI_ENTRY_LINGER,
    MCPI_ENTRY_GRACE,
    MCPI_ENTRY_ORPHAN,
    MCPI_ENTRY_GONE
};

struct mcpi_http_entry {
    struct mcpi_list node;      /* of held, crowd, open or gone */
    struct mcpi_map_node by_id; /* of a request, or of the request that a frame names */
    bool in_map;
    struct mcpi_http_entries *entries;
    enum mcpi_http_entry_state state;
    struct mcpi_leg *leg; /* counted; NULL: a notification or an answer */
    struct mcpi_out
        *out; /* until it was accepted; of a request: until it is started, or
                             waits to be allowed */
    struct mcpi_http_entry *awaits; /* HELD: until then; NULL: for memory, if at all */
    struct mcpi_http_entry *waiter; /* who awaits this one; or NULL */
    const char *version;            /* a constant; "" none */
    unsigned session;               /* its number; 0: none */
    bool modern;
    bool frame;      /* a cancel frame */
    bool answers;    /* an answer of ours, on its way, be it that it waits again */
    bool crowded;    /* an answer of ours that waits for such */
    bool initialize; /* a session may begin with its answer */
    bool greets;     /* initialize or server/discover */
    bool started;    /* bytes of it may have left */
    bool sent;       /* all have */
    int64_t sent_at;
    bool headed;          /* it is answered, so the server has read it */
    bool accepted;        /* it was answered with a success */
    bool out_of_date;     /* the server does not know its session */
    struct mcpi_buf body; /* of one that is HELD or may be, and of initialize: the
                             message */
    struct mcpi_buf more; /* its own header lines, likewise */
    struct mcpi_http_permit permit;
    struct mcpi_timer timer;
    struct mcpi_http_flow flow;
};

/* What the owner of entries is told; but for changed, never from inside core. */
struct mcpi_http_entries_ops {
    /* The present session is unknown to the server. met is the leg that found out, if
     * the server has not begun with it; else NULL. It fails if it is not sent again. */
    void (*lost)(void *user, struct mcpi_leg *met);
    /* initialize was refused with 400, 404 or 405, and without an answer to it. True:
     * it is PARKED, and the owner sends it again, fails or finishes it. */
    bool (*refused)(void *user, struct mcpi_http_entry *entry,
                    const struct mcpi_fault *fault);
    /* Something ended, or may start: look after the entries in the next flush. */
    void (*changed)(void *user);
};

/* Begin: memory that may hold anything. It is HELD, and in that list. */
void mcpi_http_entry_init(struct mcpi_http_entry *entry,
                          struct mcpi_http_entries *entries, struct mcpi_out *out);
/* Of one that is GONE: done with its out, if nobody was, and with its leg. */
void mcpi_http_entry_done(struct mcpi_http_entry *entry);

/* Send it, with some more header lines (NULL: none), to where messages go now; once
 * more if it is PARKED, or was refused. A resumed request (B27) is a GET; MCP_E_STATE: a
 * server of 2024-11-05 knows no such thing (D23). MCP_E_AGAIN: its permit waits. Negative:
 * as before. */
int mcpi_http_entry_start(struct mcpi_http_entry *entry, const struct mcpi_buf *text,
                          const struct mcpi_buf *more);

/* How much of the message has left? */
enum mcpi_fetch_phase mcpi_http_entry_phase(const struct mcpi_http_entry *entry);

/* Has the server read it, as far as one can know? */
bool mcpi_http_entry_has_arrived(const struct mcpi_http_entry *entry);

/* Who awaits it need not any longer. */
void mcpi_http_entry_release(struct mcpi_http_entry *entry);

/* Nobody waits for it any more; as hangup in core/port.h. But a stateless legacy server
 * takes our leaving for a cancel, and may notice no frame (D16): a request in no session
 * is closed at once when it should go after the grace, and read to its end when it should
 * go at once, which in that era is no cancel (B26). */
void mcpi_http_entry_hangup(struct mcpi_http_entry *entry, int64_t after_us);

/* The one ending: its request is aborted, silently, in whatever state. Its leg, and its
 * out, stay as they are. From anywhere. */
void mcpi_http_entry_finish(struct mcpi_http_entry *entry);

/* Finish it, and its leg fails; or its out, with a line in the log. */
void mcpi_http_entry_fail(struct mcpi_http_entry *entry,
                          const struct mcpi_fault *fault);

/* The one ending of its out; nothing if it has none any more. */
void mcpi_http_entry_settle(struct mcpi_http_entry *entry, int status);

/* Finish it, or do what else is due, after that time; MCPI_NEVER: not at all. */
void mcpi_http_entry_arm(struct mcpi_http_entry *entry, int64_t after_us);

/* If others wait for it to be answered, notifications/initialized: they need not. */
void mcpi_http_entry_greeted(struct mcpi_http_entry *entry);

/* http_entry_answer.c: its flow is made anew, to where messages go now; what that brings
 * is for its leg. */
void mcpi_http_entry_set_flow(struct mcpi_http_entry *entry);

#endif
