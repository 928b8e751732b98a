/*
 * support/script.h - a server that follows a script, for tests of the public client
 *
 * A thread at the other end of a socket writes down every line that comes, and answers:
 * negotiation in its era, `ping`, `tools/list`, and tools/call of these tools:
 *
 *     echo   its arguments, as text            fail   an error with data
 *     steps  progress up to `count`, then 0    wrong  an answer that is none
 *     hang   nothing                           leave  nothing, and it hangs up
 *     ask    sends `ping` and a notification "test/note", then answers
 *
 * All waits are bounded, and fail the case.
 */
#ifndef TESTS_SUPPORT_SCRIPT_H
#define TESTS_SUPPORT_SCRIPT_H

#include <mcp/client.h>
#include <pthread.h>

#include "support/virtual_clock.h"

struct script {
    int fd;      /* the script's own */
    int give_fd; /* for the client */
    enum mcp_era era;
    bool deaf;  /* answers nothing */
    bool stuck; /* reads nothing, from the next line on */
    pthread_t thread;
    pthread_mutex_t lock; /* guards all below, and the flags above */
    pthread_cond_t changed;
    char **lines;
    size_t count;
    bool over;                 /* the other side has hung up */
    struct script_plan *plans; /* what was planned, the first one first */
};

/* era: MODERN, LEGACY; BOTH: modern, and initialize too. */
void script_open(struct script *s, enum mcp_era era);

/* The same on a socket that there is already, which is taken; give_fd may be -1. */
void script_open_on(struct script *s, enum mcp_era era, int fd, int give_fd);

/* Hangs up, waits for the thread, frees. give_fd is closed if it was not given away. */
void script_close(struct script *s);

/* The descriptor for the client, given away. */
int script_give(struct script *s);

/* Hang up. */
void script_leave(struct script *s);

/* Answer nothing any more, not even negotiation; or again. */
void script_ignore(struct script *s, bool deaf);

/* The next request of which the line contains `part` is answered with this member,
 * `"result":{...}` or `"error":{...}`; NULL: with nothing. Once; plans for the same part
 * are used in their order, and come before all that it does by itself. */
void script_plan(struct script *s, const char *part, const char *answer);

/* The same, but that much time passes before the answer. */
void script_plan_late(struct script *s, const char *part, const char *answer,
                      struct virtual_clock *clock, int64_t ms);

/* Stop or go on reading. */
void script_hold(struct script *s, bool stuck);

/* The nth line (from 1) that contains this; waits for it. Good until script_close. */
const char *script_line(struct script *s, const char *part, size_t nth);

/* How many lines contain it by now. */
size_t script_count(struct script *s, const char *part);

/* Where the first line stands that contains it; fails the case if there is none. */
size_t script_place(struct script *s, const char *part);

/* Wait until the client has hung up: all it ever wrote is there. */
void script_await_end(struct script *s);

/* Write a line. */
void script_say(struct script *s, const char *line);

/* ---- a client that is opened to it --------------------------------------- */

/* Options with a name; the rest is the test's. */
#define SCRIPT_OPTIONS(...) \
    MCP_CLIENT_OPTIONS(.name = "test", .version = "1", __VA_ARGS__)

mcp_client *script_client(struct script *s, const mcp_client_options *opt);

/* ---- what callbacks told ------------------------------------------------- */

/* Write it down and wake who waits. The functions below are callbacks, with a struct
 * told as their user. */
struct told {
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t changed;
    size_t done, states, notes, steps; /* how often each was called */
    int status;                        /* of the last done or state */
    char text[64]; /* of the last reply, or the last note's method */
    double last_step;
    bool out_of_order; /* progress fell, or came after done */
    bool gate_shut;    /* callbacks wait at the gate */
    size_t at_gate;    /* how many do */
};

void told_init(struct told *t);
void told_clear(struct told *t); /* the opposite */

void told_done(mcp_call *call, int status, mcp_reply *reply, void *user);
void told_progress(mcp_call *call, double progress, double total, const char *message,
                   void *user);
void told_state(mcp_client *client, int status, void *user);
void told_note(mcp_client *client, const char *method, const mcp_json *params,
               void *user);

/* Wait until a member has this value at least. */
#define told_await(t, member, value) \
    told_await_count(t, offsetof(struct told, member), value)
void told_await_count(struct told *t, size_t offset, size_t value);
/* What it is now. */
#define told_count(t, member) told_get_count(t, offsetof(struct told, member))
size_t told_get_count(struct told *t, size_t offset);
int told_status(struct told *t);

/* Callbacks that come wait inside until it is opened. */
void told_gate(struct told *t, bool shut);

#endif
