/*
 * support/fake.h - one engine on a link that only records
 *
 * The link is one pipe, or has a stream for each request as an HTTP client has. What
 * core asks of it is written down in order: takes, hang-ups with their delay, closes.
 * The test plays the other side, and says when a message is taken and when its last
 * byte has left.
 */
#ifndef TESTS_SUPPORT_FAKE_H
#define TESTS_SUPPORT_FAKE_H

#include "support/messages.h"
#include "support/world.h"

enum fake_kind { FAKE_PIPE, FAKE_STREAMS };

enum fake_event_kind { FAKE_TAKE, FAKE_HANGUP, FAKE_CLOSE };

struct fake_event {
    enum fake_event_kind kind;
    char *text;             /* TAKE: the message */
    enum mcpi_out_kind out; /* TAKE */
    struct mcpi_leg *leg;   /* TAKE of a request, HANGUP: whose; counted */
    int64_t after_us;       /* HANGUP */
    enum mcpi_closing how;  /* CLOSE */
};

struct fake;
typedef void fake_wake_fn(struct fake *f, struct mcpi_outlet *outlet);

struct fake_options {
    enum fake_kind kind;
    enum mcpi_role role;
    enum mcpi_era era;
    struct mcpi_limits limits;
    struct mcpi_times times;
    bool eager;           /* take from inside wake, as an HTTP client does */
    struct test_mem *mem; /* NULL: its own */
};

struct fake {
    struct world w; /* now, the peer and what outcomes need; no server, no link */
    struct test_mem own_mem, *mem;
    struct mcpi_timers timers;
    struct mcpi_engine *engine;
    struct mcpi_peer *peer;
    struct mcpi_buf buf;
    bool eager;
    fake_wake_fn *on_wake; /* before anything is taken; may be NULL */
    void *user;            /* of on_wake */
    int wakes;
    struct fake_event *events;
    size_t event_count;
    struct mcpi_out **open; /* taken, last byte not yet left */
    size_t open_count;
    struct mcpi_exchange **jobs; /* requests received; counted */
    size_t job_count;
    int ready, ready_status, closed;
    struct mcpi_fault fault; /* of the peer, when the router heard ready; why is kept */
    char why[MCPI_REASON_MAX + 1];
    int renewed, greeted; /* the router heard; the link did, each time */
    char said[512];
    char log[16384]; /* "W: text\n" */
};

/* The four columns of the table of cancels. A link with streams takes at once, as an
 * HTTP client does. */
enum { MODERN_PIPE, LEGACY_PIPE, LEGACY_STREAMS, MODERN_STREAMS, FAKE_LINKS };
extern const struct fake_options fake_links[FAKE_LINKS];

/* Make it; nothing is connected yet. Returns a status; fake_close is allowed after a
 * failure. */
int fake_open(struct fake *f, const struct fake_options *opt);

/* Open and connect as client, playing the server; what that took is forgotten. */
void fake_start(struct fake *f, enum fake_kind kind, enum mcpi_era era);
void fake_start_with(struct fake *f, const struct fake_options *opt);

/* Play the server until the peer is ready. */
void fake_negotiate(struct fake *f);

/* The link dies if it has not, all is freed; asserts that nothing is left alive. */
void fake_close(struct fake *f);

/* Take all that can be taken. Their bytes are on the way until fake_written. */
size_t fake_take(struct fake *f);
void fake_written(struct fake *f, int status);
void fake_run(struct fake *f); /* both, with success */

/* Hand up a message, from the pipe or from the stream of a leg. */
void fake_receive(struct fake *f, const char *text);
void fake_receive_on(struct fake *f, struct mcpi_leg *leg, const char *text);

/* Let time pass; expires at each deadline on the way. Takes nothing. */
void fake_pass(struct fake *f, int64_t us);

/* Start a call as world_call does, and let its request leave. */
void fake_call(struct fake *f, const struct mcpi_call_options *opt,
               struct outcome *out);
void fake_issue(struct fake *f, const struct mcpi_call_options *opt,
                struct outcome *out);
struct mcpi_leg *fake_leg(struct fake *f, const struct outcome *out); /* NULL: ended */

/* A cancel frame written by hand. */
void fake_frame(struct fake *f, const char *params);

/* What may end a call; IDLE and TOTAL let a second pass. */
enum fake_cause { CANCEL, BY_HAND, IDLE, TOTAL, FREE, CLOSE, LOST };
void fake_end_by(struct fake *f, enum fake_cause cause, struct outcome *out);

/* A whole cancel frame; params is JSON text. */
#define CANCEL_FRAME(params) NOTE("notifications/cancelled", params)

/* All events since the last fake_forget, in words: "request", "frame", "note",
 * "answer", "hangup:MS" or "hangup:never", "drain", "now"; one blank between them. */
const char *fake_said(struct fake *f);
void fake_forget(struct fake *f);
const struct fake_event *fake_event(struct fake *f,
                                    size_t index);   /* asserts it exists */
const char *fake_text(struct fake *f, size_t index); /* of a take */

bool fake_logged(struct fake *f, const char *part); /* "D: late answer" */

/* Nothing pending, nothing armed. */
void fake_assert_quiet(struct fake *f);

#endif
