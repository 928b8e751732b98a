/*
 * support/session.h - a world with subscriptions and calls: what the cases of the
 * session suite are made of
 *
 * What a case opens is kept here and not on its stack: it is closed with the world,
 * after the case.
 */
#ifndef TESTS_SUPPORT_SESSION_H
#define TESTS_SUPPORT_SESSION_H

#include "core/subscription.h"
#include "support/link_suite.h"
#include "support/listening.h"
#include "support/world.h"

#define CANCELED_FRAME "notifications/cancelled"

/* ---- our own subscriptions ------------------------------------------------- */

/* What a subscription hears. */
struct heard {
    struct session *session;
    struct mcpi_subscription *s;
    int opened, events, ended;
    bool filtered; /* an object came with it */
    enum mcpi_subscription_end how;
    int status, code;
    char order[32];        /* "o", "e", "x" as they came */
    bool close_when_event; /* from inside of the first */
};

enum { SESSION_MAX = 4 };

struct session {
    struct world w;
    struct heard heard[SESSION_MAX];
    struct stream stream[SESSION_MAX]; /* how the server serves the same */
    struct outcome out[SESSION_MAX];
    int begun; /* runs of a handler that rested */
};

/* All that can be listened to: each list, x:1, and all below y: */
#define SESSION_FILTER "{" ALL_LISTS "," URIS("\"x:1\",\"y:\"") "}"

/* The nth subscription: asked for, and on its way. open_us as ever. */
void session_listen(struct session *t, int n, int64_t open_us);
/* The server serves the request that came last as the nth stream: its status. */
int session_try_serve(struct session *t, int n);
/* Both, and the acknowledgment has come. */
void session_join(struct session *t, int n);

void session_publish(struct session *t, const struct mcpi_event *event);
void session_update(struct session *t, const char *uri);

/* The server ends the nth stream with a result. */
void session_end_gracefully(struct session *t, int n);
/* We close it. No callback runs any more. */
void session_close(struct session *t, int n);

/* It ended once, that way. */
void session_expect_end(struct session *t, int n, enum mcpi_subscription_end how,
                        int status);
void session_expect_order(struct session *t, int n, const char *order);

/* ---- calls ----------------------------------------------------------------- */

/* The nth call, from the client; it has arrived. */
void session_call(struct session *t, int n, const struct mcpi_call_options *opt);
void session_cancel(struct session *t, int n);
/* It ended once, with that status. */
void session_expect(struct session *t, int n, int status);

/* The last request of a side's is answered. */
void session_answer(struct session *t, int side, const char *result);

/* Cancels of a side's since the last world_forget, as world_count_signals. */
size_t session_signals(struct session *t, int side);
/* Frames that a side has issued since then. */
size_t session_frames(struct session *t, int side);

/* What a server's stream is told when its client leaves: where that is all it can do,
 * it is a cancel. */
enum mcpi_ending session_leaving(const struct session *t);

/* ---- one side alone -------------------------------------------------------- */

/* Move what can be moved, while the other side neither reads nor writes. */
void session_run_only(struct session *t, int side);
/* Let time pass for it. */
void session_pass_only(struct session *t, int side, int64_t us);

/* The server has more to say than the wire takes: the answer of the nth call, of which
 * the client reads nothing, nor of anything else. */
void session_fill_wire(struct session *t, int n);

/* ---- the cases ------------------------------------------------------------- */

struct session_case {
    const char *name;
    void (*run)(struct session *t);
    enum mcpi_era era;
    struct mcpi_limits limits; /* both sides */
    unsigned needs;            /* enum suite_need */
};

/* clang-format off */
#define SESSION_CASE_NEEDING(needs, items, function, era) \
    {items #function, function, era, {0}, needs}
/* clang-format on */
#define SESSION_CASE(items, function, era) SESSION_CASE_NEEDING(0, items, function, era)

extern const struct session_case session_listening[], session_asking[];
extern const size_t session_listening_count, session_asking_count;

#endif
