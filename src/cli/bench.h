/*
 * bench.h - a measured run of calls: the load, what is left behind, and the report
 */
#ifndef CLI_BENCH_H
#define CLI_BENCH_H

#include <pthread.h>

#include "cli/bench_stats.h"
#include "cli/cli.h"
#include "cli/late.h"
#include "cli/proc.h"
#include "cli/text.h"

#define CLI_BENCH_KINDS 16 /* of errors that are told apart; the rest is "others" */
#define CLI_BENCH_KIND 120 /* bytes of a kind */

/* ---- the load (bench_load.c) ---------------------------------------------------- */

struct cli_bench_plan {
    mcp_client *client;
    const char *tool;      /* NULL: ping, or what is one in that version */
    const char *arguments; /* of the tool; a JSON object, or NULL */
    mcp_call_options call;
    uint64_t count;      /* calls; 0: as many as there are in the time */
    int64_t duration_ms; /* no new call after it; 0: no limit */
    size_t at_once;      /* at least 1 */
    double cancel_rate;
    int64_t cancel_after_ms; /* negative: 0 to 20 ms, each another */
};

struct cli_bench_kind {
    char text[CLI_BENCH_KIND];
    uint64_t count;
};

struct cli_bench_load {
    uint64_t started, answered, failed;
    uint64_t asked;    /* to cancel */
    uint64_t canceled; /* ended so */
    uint64_t missed;   /* was to be canceled, and had ended before */
    uint64_t lost;     /* never ended, also after they were canceled */
    double seconds;    /* from the first start to the last end */
    bool interrupted;
    struct cli_times times; /* of those that were answered, also with an error */
    struct cli_bench_kind kinds[CLI_BENCH_KINDS];
    size_t kind_count;
};

/* Called now and then while the load runs, with the calls canceled so far. */
typedef void cli_bench_look_fn(void *user, uint64_t canceled);

/* Makes the calls and waits for their ends; ends early when plan->call.scope does. When
 * a call does not end within patience_ms after no new one is made it is canceled, and
 * if that does not end it, lost. MCP_E_NOMEM; MCP_E_INVAL: at_once is 0 or too large.
 * look may be NULL. The client must have been opened with callbacks_on_loop. */
int cli_bench_run(const struct cli_bench_plan *plan, int64_t patience_ms,
                  cli_bench_look_fn *look, void *user, struct cli_bench_load *ret_load);

/* After how many ms the call of that number (from 0) is canceled; -1: it is not. Pure. */
int64_t cli_bench_cancel_ms(const struct cli_bench_plan *plan, uint64_t number);

/* One more error of that kind. */
void cli_bench_count_kind(struct cli_bench_load *load, const char *text);

/* ---- the server (bench_server.c) ------------------------------------------------ */

/* What can be seen of the server from here. */
struct cli_bench_server {
    mcp_client *client;
    int64_t pid;    /* 0: not ours */
    bool has_stats; /* it has a tool `stats` that tells live_handlers */
    struct cli_usage before, after, peak;
    struct cli_usage allowed; /* what it may have: before, or what it keeps */
    struct cli_usage now;     /* the last look; after, unless the load ran again */
    bool keeps;               /* it has more than before, and grew no further */
    int64_t handlers_before, handlers_after; /* -1: not known */
    struct cli_trend memory;                 /* by calls that were canceled */
};

/* tools: the server's list; NULL: it has none. Handlers are counted from here on. */
void cli_bench_server_begin(struct cli_bench_server *server, mcp_client *client,
                            const mcp_json *tools);
/* What it uses is counted from here on: waits until nothing has changed for calm_ms,
 * but not for ever. */
void cli_bench_server_calm(struct cli_bench_server *server, int64_t calm_ms);
void cli_bench_server_look(void *user, uint64_t canceled); /* a cli_bench_look_fn */

/* Waits, at most patience_ms, until the server has no more than it may. */
void cli_bench_server_settle(struct cli_bench_server *server, int64_t patience_ms);

/* Has it more descriptors or processes than before? Then it may be that it keeps them
 * for the next calls: the load is to be run again, and what it has by then may stay. */
bool cli_bench_server_has_grown(const struct cli_bench_server *server);
/* The load has run again: has it grown further? */
void cli_bench_server_settle_again(struct cli_bench_server *server,
                                   int64_t patience_ms);

/* Does that list have a tool `stats` that promises live_handlers? */
bool cli_bench_has_stats(const mcp_json *tools);
/* What it says; -1: it does not. */
int64_t cli_bench_live_handlers(mcp_client *client);

/* ---- the verdict and the report (bench_report.c) -------------------------------- */

struct cli_bench {
    char *target;        /* for people; may be NULL */
    const char *version; /* of the protocol */
    struct cli_bench_plan plan;
    double ready_ms; /* from the start of the program, or connection, to ready */
    struct cli_bench_load load;
    struct cli_bench_server server;
    bool still_answers; /* a ping, after all of it */
    uint64_t late;      /* answers that came after their cancel */
};

enum cli_bench_verdict {
    CLI_BENCH_CLEAN,
    CLI_BENCH_LEFT,   /* something is left behind */
    CLI_BENCH_UNSEEN, /* the server answers, and more cannot be seen from here */
};

/* What was left behind, as a sentence without full stop. */
enum cli_bench_verdict cli_bench_judge(const struct cli_bench *bench,
                                       struct cli_text *into);

void cli_bench_table(const struct cli_bench *bench, struct cli_text *into);
void cli_bench_json(const struct cli_bench *bench, mcp_builder *b);

#endif
