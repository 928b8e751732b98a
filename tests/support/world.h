/*
 * support/world.h - a client, a server and the memory link between them, on a clock
 * that the test holds
 *
 * Every request that arrives at either side and is not answered by the library itself
 * becomes a job, which the test finishes when it likes. Every call has an outcome.
 * Every message is recorded as it is issued, and checked against the protocol's schema
 * after the tests (scripts/run-tests). Nothing happens but in world_run, world_pass and
 * world_connect.
 *
 * Links differ in how a cancel is said: cases ask for signals, not for frames.
 */
#ifndef TESTS_SUPPORT_WORLD_H
#define TESTS_SUPPORT_WORLD_H

#include "core/call.h"
#include "core/exchange.h"
#include "core/negotiate.h"
#include "core/peer.h"
#include "link/pair.h"
#include "support/test.h"

#define MS ((int64_t)1000) /* in microseconds */
#define SECOND (1000 * MS)

enum { CLIENT = 0, SERVER = 1 };

/* A request that a side received. */
struct job {
    struct mcpi_exchange *x; /* counted by the job until world_close */
    int told;                /* times the handler was told to stop */
    enum mcpi_ending how;
    char reason[MCPI_REASON_MAX + 1];
    bool finished;
    bool finish_when_told; /* finish with nothing as soon as it is told */
};

/* What became of a call. */
struct outcome {
    struct mcpi_call *call;
    int done; /* times done ran */
    int status;
    int code;                  /* of an error */
    char *result;              /* JSON text of the result, or NULL */
    char message[256];         /* of an error */
    int progressed;            /* times progress ran */
    struct mcpi_progress last; /* message is not kept */
    struct world *world;
    int order; /* the how-many-eth `done` of this world it was, from 1 */
};

struct notice { /* a notification that a side received */
    int side;
    char method[64];
    struct mcpi_exchange *about;
};

struct world;
struct world_options;

/* What a link cannot do, because of what it is. */
enum world_trait {
    /* Each request has a response of its own (HTTP). There is no connection that ends,
     * so neither side sees the other one's end but by what happens to its requests. */
    WORLD_RESPONSES = 1,
    /* A response is one answer, with nothing before it: no progress, no logs. */
    WORLD_ANSWERS_ONLY = 2,
    /* A legacy server cannot ask its client (J9). */
    WORLD_NO_QUESTIONS = 4,
    /* A legacy server has no sessions: what is posted belongs to no other request, so a
     * frame finds nothing, and a client that leaves cancels (D16). */
    WORLD_STATELESS = 8
};

/* What joins the two sides of a world. A link that is not the memory link brings one of
 * these (see link_suite.h). */
struct world_link {
    const char *name;
    /* Join w->engine[] and set w->peer[]. */
    int (*open)(struct world *w, const struct world_options *opt);
    /* Move what can be moved without waiting: above 0, something was. */
    int (*step)(struct world *w, int side);
    /* Raw bytes from this side; returns how many found room. */
    size_t (*inject)(struct world *w, int side, const char *bytes, size_t len);
    /* This side says EOF and still reads. */
    void (*shutdown)(struct world *w, int side);
    /* This side goes, without a word; its peer is gone. Once for each side. */
    void (*free)(struct world *w, int side);

    unsigned traits;   /* enum world_trait */
    enum mcpi_era era; /* the only one it is about; MCPI_ERA_BOTH: each */
    /* A stream that is lost is looked for that long before it is given up (D8). */
    int64_t patience_us;
    /* A cancel waits that long for its request to be read. */
    int64_t frame_us;
    /* When the link itself has something to do; NULL: never. */
    int64_t (*next)(struct world *w);
    /* Cancels of the client's that the server could see, ever; NULL: its frames. */
    size_t (*signals)(struct world *w);
    /* Fill the wire towards the client, which reads nothing until it is stepped; NULL:
     * a long answer does that. */
    void (*clog)(struct world *w);
    /* Asserts that nothing of the link's own is under way. NULL ok. */
    void (*assert_quiet)(struct world *w);
};

extern const struct world_link world_pair;

struct world_options {
    enum mcpi_era client_era, server_era;
    struct mcpi_limits limits; /* both */
    struct mcpi_times times;   /* both */
    const char *client_capabilities;
    const char *instructions;
    size_t ring_bytes;
    struct test_mem *mem;          /* NULL: the world's own */
    const struct world_link *link; /* NULL: the memory link */
};

struct world {
    unsigned number; /* of the worlds of this program, from 1 */
    struct test_mem own_mem, *mem;
    struct mcpi_timers timers;
    int64_t now;
    struct mcpi_engine *engine[2];
    const struct world_link *link;
    struct mcpi_pair_end *end[2]; /* memory link */
    void *link_state;             /* other links */
    bool modern;                  /* what was negotiated */
    /* The other side, as each sees it. Where a server has several for one client: the
     * one that its requests belong to. */
    struct mcpi_peer *peer[2];
    struct job *jobs[2]; /* per side, in order of arrival */
    size_t job_count[2];
    char **sent[2]; /* messages issued by each side, in order */
    size_t sent_count[2];
    char **log; /* "W: text", D I W E */
    size_t log_count;
    struct notice *notices;
    size_t notice_count;
    int ready_status; /* 1: not yet told */
    int ready_count;
    size_t signals_before; /* of the client's, those that were forgotten */
    int closed[2];         /* times the router heard `closed` of w->peer */
    int closed_status[2];
    int done_count;
};

/* Make it; nothing is connected yet. NULL options: both eras, defaults. Returns a
 * status, so that allocation failure can be tested; world_close is allowed after a
 * failure. */
int world_open(struct world *w, const struct world_options *opt);

/* Frees all; finishes jobs that are still running; asserts that nothing is left
 * alive in either engine and, with the world's own memory, no block. */
void world_close(struct world *w);

/* Open and connect, asserting that it works; forgets what was sent for that. */
void world_start(struct world *w, enum mcpi_era era);
void world_start_with(struct world *w, const struct world_options *opt);

/* One side goes, without a word: the process died, the pointer was freed. */
void world_cut(struct world *w, int side);

/* Step both ends until neither has anything to do. Time stands still. */
void world_run(struct world *w);

/* Let time pass, expire what is due, run. Expires at each deadline on the way, in
 * order. */
void world_pass(struct world *w, int64_t us);

/* Let the other side hear of a cancel: run, and let that time pass for which a frame
 * waits. */
void world_deliver(struct world *w);

/* Start a call from a side. Fields of opt that are zero: method "tools/call", params
 * {}, ops and user are set here. Asserts that it starts; the handle is in the
 * outcome. */
void world_call(struct world *w, int side, const struct mcpi_call_options *opt,
                struct outcome *out);
/* The same, returning the status of start. */
int world_try_call(struct world *w, int side, const struct mcpi_call_options *opt,
                   struct outcome *out);
/* A plain call from the client with default options. */
void world_plain_call(struct world *w, struct outcome *out);
/* With a progress callback too. */
extern const struct mcpi_call_ops outcome_ops, outcome_progress_ops;

/* Release what an outcome holds: the handle (abandoning a live call) and the text. */
void outcome_done(struct outcome *out);

/* The newest job of a side; asserts that there is one. Pointers stay valid until more
 * arrive. */
struct job *world_job(struct world *w, int side);
void job_finish(struct world *w, struct job *job,
                const char *result); /* JSON object text */
void job_fail(struct world *w, struct job *job, int code, const char *message);

/* Messages a side has issued since the last world_forget. */
const char *world_sent(struct world *w, int side, size_t index); /* asserts it exists */
size_t world_count_sent(struct world *w, int side,
                        const char *part); /* containing part */
void world_forget(struct world *w);

/* A link has said this for a side. */
void world_record(struct world *w, int side, const char *text, size_t len);

/* Cancels that a side has made the other one see since then: frames, or responses that
 * it closed. Where it must be the latter, there is no frame (E1, E2). */
size_t world_count_signals(struct world *w, int side);

/* How a client's cancel is said here: by closing the response, and by nothing else? */
bool world_hangs_up(const struct world *w);
/* Do the client's requests belong to each other on the server, so that ids meet, a
 * frame finds what it names and brings its reason, and its end is the end of all? */
bool world_has_session(const struct world *w);
/* Only a response ends a canceled request, so the server has to say one (D14)? */
bool world_has_last_words(const struct world *w);
/* Asserts that one frame of the client's named this request, an id as JSON text; none
 * did where it hangs up. */
void world_expect_named(struct world *w, const char *id);

/* Raw bytes from one side, as if its link had written them. A newline is added. */
void world_inject(struct world *w, int side, const char *line);

/* Was something logged that contains this text, at this level ('D', 'I', 'W', 'E')? */
bool world_logged(struct world *w, char level, const char *part);

/* Nothing open, held, pending or armed on either side. */
void world_assert_quiet(struct world *w);

#endif
