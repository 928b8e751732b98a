/*
 * crew.h - the helpers of one isolated tool, and the calls that wait for one
 *
 * A task is one call, from the moment its request is handed over to its end. It is
 * ended once: answered by its helper, canceled, or failed with its helper. Tasks
 * without a helper wait in line, in order.
 *
 * Of helpers that start, are idle or busy there are at most `most`; of those that were
 * told to stop as many again; those that are being ended do not count, but if there are
 * too many that cannot be ended no other is started. All of it is on the thread of the
 * isolation, but for what is [any].
 */
#ifndef MCPI_API_CREW_H
#define MCPI_API_CREW_H

#include <pthread.h>
#include <stdatomic.h>

#include "api/helper.h"
#include "core/engine.h"

/* Members without a word are the thread's own. */
struct mcpi_isolation {
    const mcp_allocator *mem;
    struct mcpi_log log;
    struct mcpi_loop *loop;
    struct mcpi_engine *engine;
    mcp_doc *discovery; /* what is known of every helper: no handshake is needed */
    struct mcpi_list crews;
    size_t live;                /* helpers of all crews */
    bool ending;                /* no helper is started any more */
    bool quitting;              /* and when none is left, the thread ends */
    struct mcpi_timer patience; /* then all are killed */
    struct mcpi_timer give_up;  /* then they are given up */
    int64_t patience_us;
    struct mcpi_loop *gone_loop; /* where `gone` is posted when none is left */
    struct mcpi_post *gone;      /* NULL: nobody waits for that, or it was posted */
    struct mcpi_post end, quit;
    atomic_uint_fast64_t helpers, busy, killed; /* [any] */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_quiet; /* the thread has done all; under lock */
};

struct mcpi_crew {
    const mcp_allocator *mem;
    struct mcpi_isolation *isolation;
    struct mcpi_list node;  /* in its isolation; empty until it was opened */
    const char *name;       /* of the tool */
    const char *const *env; /* for its helpers */
    const char *words[6];   /* likewise: isolated.h */
    int64_t grace_us;       /* 0: killed at once */
    size_t warm, most;
    uint64_t memory_bytes;
    int64_t cpu_seconds;
    struct mcpi_list helpers[MCPI_HELPER_STATES]; /* those that came first are first */
    size_t count[MCPI_HELPER_STATES];
    size_t closing;        /* helpers that are gone, but for a handle of libuv's */
    struct mcpi_list line; /* tasks */
    size_t waiting;        /* in there */
    unsigned failures;     /* helpers in a row that died before they served a call */
    bool paused;           /* there were too many: none is started for a while */
    bool is_doubtful;      /* and then only if a call waits for it */
    bool is_left;          /* its tool is gone */
    bool look_out;         /* look is posted */
    char why[160];         /* the last of them died */
    struct mcpi_timer pause;
    struct mcpi_post open, leave, look;
    char numbers[4][24]; /* words point here */
};

struct mcpi_task {
    struct mcpi_crew *crew;
    mcp_request *req;           /* gone once is_over */
    struct mcpi_list node;      /* in line */
    struct mcpi_helper *helper; /* that has it, or NULL */
    struct mcpi_post look;
    atomic_bool is_posted;   /* look is; [any] */
    atomic_bool is_canceled; /* [any] */
    bool is_known;           /* it has arrived */
    bool is_over;
};

/* The options of a tool: a crew that nobody has heard of (crew_make.c). Statuses of
 * mcpi_isolation_add. [any] */
int mcpi_crew_new(const mcp_allocator *mem, const mcp_tool *definition,
                  struct mcpi_crew **ret_crew, mcp_error *err);

/* One that was made and is not opened, or has no helper any more. */
void mcpi_crew_discard(struct mcpi_crew *crew);

/* It is ready, from another thread: start helpers that are to be warm. [any] */
void mcpi_crew_open(struct mcpi_crew *crew, struct mcpi_isolation *isolation);

/* Something has changed: look at all of it, soon. */
void mcpi_crew_stir(struct mcpi_crew *crew);

/* The isolation ends: its helpers shall go by themselves, those that were told to stop
 * until that moment; or are killed; or given up, and then none is left. Not from inside
 * core. */
void mcpi_crew_dismiss(struct mcpi_crew *crew, int64_t until);
void mcpi_crew_kill(struct mcpi_crew *crew);
void mcpi_crew_abandon(struct mcpi_crew *crew);

/* ---- what its helpers tell; from inside of core too ------------------------- */

/* One of them has died, or could not be started, before it served a call. */
void mcpi_crew_failed(struct mcpi_crew *crew, const char *why);

/* One has answered a call. */
void mcpi_crew_served(struct mcpi_crew *crew);

/* ---- tasks -------------------------------------------------------------- */

/* It ends with that status, as its handler's: the request is gone, the task soon. */
void mcpi_task_end(struct mcpi_task *task, int status);

/* It ends as a tool that failed at its job. */
void mcpi_task_fail(struct mcpi_task *task, const char *why);

/* ---- the isolation ------------------------------------------------------ */

/* A helper is gone: the next step, if it was the last. */
void mcpi_isolation_check(struct mcpi_isolation *isolation);

#endif
