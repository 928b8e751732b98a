/*
 * helper.h - one helper process, from the server's side: a process that is kept, and a
 * peer of ours on its socket
 *
 *   STARTING -> IDLE -> BUSY -> IDLE                the call was answered
 *                       BUSY -> LEAVING -> IDLE     told to stop, and did in time
 *                               LEAVING -> ENDED    did not, or left something behind
 *   any -> ENDED -> gone                            it died, or was ended
 *
 * STARTING and LEAVING end when it has answered that it rests (isolated.h). ENDED: it
 * is used no more, but perhaps still there: it is gone when its process has ended, with
 * all that it started, and its socket is closed. Then a call that it had when it died
 * ends, and says how that was. All of it is on the thread of the isolation.
 */
#ifndef MCPI_API_HELPER_H
#define MCPI_API_HELPER_H

#include "api/isolation.h"
#include "core/call.h"
#include "link/stream.h"
#include "run/process.h"

struct mcpi_task;

enum mcpi_helper_state {
    MCPI_HELPER_STARTING,
    MCPI_HELPER_IDLE,
    MCPI_HELPER_BUSY,
    MCPI_HELPER_LEAVING,
    MCPI_HELPER_ENDED,
    MCPI_HELPER_STATES
};

struct mcpi_helper {
    struct mcpi_crew *crew;
    struct mcpi_list node; /* in its crew, among those of its state */
    enum mcpi_helper_state state;
    struct mcpi_process process;
    uv_poll_t watch;            /* on the end of the process */
    struct mcpi_stream *stream; /* NULL: closed */
    int wire;                   /* the descriptor of the stream, while that is there */
    struct mcpi_call *call;     /* that is out; NULL: none */
    struct mcpi_task *task;     /* BUSY, or it died then; else NULL */
    struct mcpi_timer timer;    /* of its state */
    bool has_served;            /* a call was answered */
    bool is_failure;            /* it died before that, by itself */
    bool has_exited;            /* its process, and all that it started */
    bool was_killed;            /* by us */
    const char *told; /* why it ended, if its wait status does not say; a constant */
};

/* Start one. MCP_E_*: nothing is left of it, err says why. */
int mcpi_helper_start(struct mcpi_crew *crew, mcp_error *err);

/* Have an idle one do it. If that cannot even be sent, the task ends at once. */
void mcpi_helper_call(struct mcpi_helper *helper, struct mcpi_task *task);

/* Its call was canceled: the task is not its own any more, and if it is busy it is told
 * to stop. */
void mcpi_helper_leave(struct mcpi_helper *helper, const char *reason);

/* End one that has no call: its socket is closed, which it hears. Not from inside
 * core. */
void mcpi_helper_dismiss(struct mcpi_helper *helper);

/* Kill it, and all that it has started. */
void mcpi_helper_kill(struct mcpi_helper *helper);

/* It does not end: it is not waited for any more. Not from inside core. */
void mcpi_helper_abandon(struct mcpi_helper *helper);

/* Can an idle one be called, as far as can be seen now? */
bool mcpi_helper_lives(struct mcpi_helper *helper);

/* It has until then, if it has not less. */
void mcpi_helper_hurry(struct mcpi_helper *helper, int64_t until);

/* What comes on the socket of a busy one and is no answer: for the router of the
 * engine. */
void mcpi_helper_note(struct mcpi_helper *helper, const struct mcpi_rpc *note);
void mcpi_helper_garbled(struct mcpi_helper *helper);

/* ---- for helper_start.c ------------------------------------------------- */

/* Ask it that: it becomes idle when it has answered. */
int mcpi_helper_ask_rest(struct mcpi_helper *helper);

/* Its process may have exited; its socket is closed; the time of its state is up. */
void mcpi_helper_on_exit(uv_poll_t *watch, int status, int events);
void mcpi_helper_hung_up(void *user, struct mcpi_stream *stream);
void mcpi_helper_on_timer(struct mcpi_timer *timer, int64_t now);

#endif
