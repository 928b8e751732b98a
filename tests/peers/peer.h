/*
 * peer.h - the frame of the cases: verdicts, calls to a server of somebody else, and
 * what that server's handlers heard
 *
 * What is true or not is a function that returns bool; one that returns false has said
 * why with because().
 */
#ifndef TESTS_PEERS_PEER_H
#define TESTS_PEERS_PEER_H

#include <stdatomic.h>

#include <mcp/client.h>

#define PATIENCE_MS 60000 /* for what should happen at once: it only ends a hang */
#define HOUR_MS 3600000   /* of a timeout: it expires when the case lets time pass */

struct peer_case {
    const char *name;
    bool (*run)(mcp_client *client);
    int calls; /* whose handlers are told to stop */
};

/* What is different from server to server. */
struct peer_kind {
    const char *name;
    const struct peer_case *cases;         /* of its own; ends with {0} */
    const struct peer_case *host_cases[3]; /* with a client that can be asked */
    const char *echo_arguments;   /* of a call that is answered with "still there" */
    const char *slow_tool;        /* reports progress */
    const char *long_tool;        /* for long_arguments, if it is another */
    const char *long_arguments;   /* for it to take long, with its first report soon */
    const char *longer_arguments; /* 6 s, with many reports */
    const char *short_arguments;  /* a moment, with five reports */
    const char *short_text;       /* what it says then */
    bool tells;                   /* has `stats`: what handlers heard */
    bool quiet;                   /* what it prints on stderr is no news */
};

/* The one that this run is about. */
extern struct peer {
    const struct peer_kind *kind;
    const char *const *command;
    const char *version; /* to be agreed on */
    bool is_http;        /* its first line is a URL */
    bool is_sse;         /* by the transport of 2024-11-05 */
    bool is_json;        /* its answers are never streams */
    bool is_stateless;   /* it keeps nothing between requests (legacy) */
    bool resumes;        /* its streams can be resumed (legacy) */
    bool is_guarded;     /* one has to sign in */
    enum mcp_era era;
    atomic_int warnings; /* that the library logged */
    int failures;        /* of cases */
} peer;

/* ---- verdicts -------------------------------------------------------------------- */

/* Say why a case fails; the first reason counts. Returns false. */
bool because(const char *format, ...) MCP_PRINTF(1, 2);

/* Take back what was said, because it was expected; returns it. */
const char *because_nothing(void);

bool status_is(int status, int wanted, const mcp_error *err);

/* Cannot this case be, with this peer, over this way? (client_peer.c) */
bool is_left_out(const char *name);

/* Run cases, until {0}, and print their verdicts. */
void prove(const struct peer_case *cases, mcp_client *client);

void nap(void); /* 10 ms, between two questions */

/* ---- clients --------------------------------------------------------------------- */

/* Start the server and connect; discovery may be NULL. Over HTTP the server is our own
 * process, in a group of its own. */
bool client_opens(const char *discovery, mcp_client **ret_client);

/* The same with options of its own, which get what all have in common. */
bool client_opens_with(mcp_client_options *opt, mcp_client **ret_client);

/* Over HTTP: connect to the server of another client. */
bool client_joins(mcp_client *other, mcp_client **ret_client);

/* Of its server. */
int64_t client_pid(mcp_client *client);

/* Free it, and its server has ended. */
bool client_ends(mcp_client *client);

bool server_dies(mcp_client *client); /* at once, and all of it */

/* No child of ours is left, and nothing of the group pid (0: none). */
bool is_gone(int64_t pid);

/* ---- calls ----------------------------------------------------------------------- */

/* A call of a tool is answered with a text that has this one in it. */
bool says(mcp_client *client, const char *tool, const char *arguments,
          const char *text);

/* Any method is answered with a result that has this member. */
bool has(mcp_client *client, const char *method, const char *params,
         const char *member);

bool still_answers(mcp_client *client);

/* Puts the clock of this process forward, by whole seconds. The client has seen the new time
 * when this returns. */
bool time_passes(mcp_client *client, int64_t ms);

/* A call of the slow tool, with what it reports: on other threads, but in order. Never
 * on the stack: a case that fails leaves its calls behind. */
struct slow {
    mcp_client *client;
    mcp_call *call;
    atomic_int count, last, total;
    atomic_bool fell;
};

extern const mcp_call_options plain; /* no options */

bool slow_begins(struct slow *slow, mcp_client *client, mcp_call_options opt,
                 const char *arguments);
bool slow_runs(struct slow *slow); /* its handler does: it has reported */
bool slow_reported(struct slow *slow, int count); /* at least so many times */
bool slow_ends(struct slow *slow, int wanted); /* like that, and the server is told */
void slow_is_dropped(struct slow *slow);

/* ---- what the handlers heard ----------------------------------------------------- */

struct stats {
    int64_t running, finished, aborted;
    int64_t lists;    /* of resources that were asked for */
    int64_t roots;    /* changes of roots that were told */
    int64_t sessions; /* over HTTP, ever (legacy) */
    char reason[128];
};

bool stats_read(struct stats *stats, mcp_client *client);

/* ---- cases of every server (cases.c) --------------------------------------------- */

extern const struct peer_case common_cases[];
extern const struct peer_case last_cases[]; /* the last one frees the client */
extern const struct peer_case own_session_cases[];
extern const struct peer_case final_cases[];

/* Over HTTP (http_cases.c). */
extern const struct peer_case http_cases[];
extern const struct peer_case session_cases[]; /* legacy, but for 2024-11-05 */
extern const struct peer_case resume_cases[];
extern const struct peer_case probe_cases[]; /* our own probe-server */

/* With clients that can be asked: server_v1.mjs and server_v2.mjs (offer_cases.c,
 * ask_cases.c), server-everything (everything_cases.c). */
extern const struct peer_case offer_cases[];
extern const struct peer_case ask_cases[];
extern const struct peer_case ask_v1_cases[];
extern const struct peer_case ask_v2_cases[];
extern const struct peer_case everything_cases[];

bool is_modern(void); /* is that the version to be agreed on? */
bool agrees_on_version(mcp_client *client);
bool cancel_ends_call(mcp_client *client); /* with the reason "the user left" */

#endif
