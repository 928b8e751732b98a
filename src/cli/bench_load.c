/*
 * bench_load.c - keeps a number of calls under way, measures each, cancels a share
 *
 * A slot is a place for one call at a time. The end of a call starts the next one in
 * its slot, on the loop's thread, so that nobody has to be woken for it. The thread
 * that waits only cancels what is due, and looks at the server.
 *
 * One lock guards all. A call is freed in its own end, after its slot has forgotten it
 * under the lock; so whoever cancels it does that under the lock too. Calls are started
 * without it: an end may come before the start has returned, which the slot's turn
 * shows.
 *
 * Each call holds the run from its start to its end, and so does each start while it is
 * at it: when nobody holds it any more it is over, and no callback will look at it.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cli/bench.h"
#include "cli/clock.h"

#define AT_ONCE_MAX 65536
#define SPREAD_MS 20     /* cancels without a time come in the first 20 ms */
#define TICK_NS 1000000  /* how exact cancels are */
#define LOOK_NS 50000000 /* between two looks at the server */
#define CANCEL_PATIENCE_MS 5000

struct run;

struct slot {
    struct run *run;
    mcp_call *call; /* NULL: none, or it is being started */
    uint64_t turn;  /* counts the calls of this slot */
    int64_t began;
    int64_t cancel_at; /* 0: never */
    bool is_live;
    bool is_asked; /* to cancel, by us */
    bool is_lost;  /* never ended: who waited frees it */
};

struct run {
    const struct cli_bench_plan *plan;
    struct cli_bench_load *load;
    pthread_mutex_t lock; /* guards all below, and the slots */
    pthread_cond_t changed;
    size_t holds;
    bool is_over; /* no new calls */
    int64_t deadline, last_end;
    const char *method;
    struct slot *slots;
};

void
cli_bench_count_kind(struct cli_bench_load *load, const char *text)
{
    size_t i;

    for (i = 0; i < load->kind_count; i++)
        if (strncmp(load->kinds[i].text, text, CLI_BENCH_KIND - 1) == 0)
            break;
    if (i == CLI_BENCH_KINDS) {
        i--;
        (void)snprintf(load->kinds[i].text, CLI_BENCH_KIND, "others");
    } else if (i == load->kind_count) {
        load->kind_count++;
        (void)snprintf(load->kinds[i].text, CLI_BENCH_KIND, "%.*s", CLI_BENCH_KIND - 1,
                       text);
    }
    load->kinds[i].count++;
}

/* ---- one call ------------------------------------------------------------------- */

static void start_next(struct run *run, struct slot *slot);

static void
let_go(struct run *run)
{
    (void)pthread_mutex_lock(&run->lock);
    run->holds--;
    (void)pthread_cond_signal(&run->changed);
    (void)pthread_mutex_unlock(&run->lock);
}

/* Under the lock. */
static void
count_error(struct run *run, mcp_call *call, int status, const mcp_reply *reply)
{
    const mcp_error *error = mcp_call_error(call);
    char text[320];

    run->load->failed++;
    if (status == 0)
        (void)snprintf(text, sizeof(text), "the tool failed: %s",
                       mcp_reply_text(reply));
    else if (error && error->rpc_code != 0)
        (void)snprintf(text, sizeof(text), "error %d: %s", error->rpc_code,
                       error->message);
    else if (error && error->http_status != 0)
        (void)snprintf(text, sizeof(text), "HTTP %d: %s", error->http_status,
                       error->message);
    else
        (void)snprintf(text, sizeof(text), "%s", mcp_status_text(status));
    cli_bench_count_kind(run->load, text);
}

/* Under the lock. */
static void
count_end(struct run *run, struct slot *slot, mcp_call *call, int status,
          const mcp_reply *reply)
{
    struct cli_bench_load *load = run->load;
    int64_t now = cli_now_ns();
    bool was_answered = status == 0 || status == MCP_E_PEER || status == MCP_E_HTTP;

    run->last_end = now;
    if (status == MCP_E_CANCELED) {
        load->canceled++;
        return;
    }
    if (slot->is_asked || slot->cancel_at != 0)
        load->missed++;
    if (was_answered)
        cli_times_add(&load->times, (uint64_t)(now - slot->began));
    if (status != 0 || mcp_reply_is_error(reply))
        count_error(run, call, status, reply);
    else
        load->answered++;
}

static void
on_done(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    struct slot *slot = user;
    struct run *run = slot->run;

    (void)pthread_mutex_lock(&run->lock);
    if (slot->is_lost) {
        (void)pthread_mutex_unlock(&run->lock);
        return;
    }
    count_end(run, slot, call, status, reply);
    slot->is_live = false;
    slot->call = NULL;
    (void)pthread_mutex_unlock(&run->lock);
    mcp_call_free(call);
    start_next(run, slot);
}

int64_t
cli_bench_cancel_ms(const struct cli_bench_plan *plan, uint64_t number)
{
    if (!cli_share_has(plan->cancel_rate, number))
        return -1;
    if (plan->cancel_after_ms >= 0)
        return plan->cancel_after_ms;
    return (int64_t)(number * 13 % (SPREAD_MS + 1)); /* so that neighbors differ */
}

/* When to cancel the call of that number; 0: not at all. */
static int64_t
cancel_time(const struct cli_bench_plan *plan, uint64_t number, int64_t began)
{
    int64_t after = cli_bench_cancel_ms(plan, number);

    return after < 0 ? 0 : began + after * 1000000;
}

/* Under the lock: shall there be no more calls? */
static void
look_at_end(struct run *run, int64_t now)
{
    const struct cli_bench_plan *plan = run->plan;

    if ((plan->count && run->load->started >= plan->count) ||
        (run->deadline && now >= run->deadline) ||
        (plan->call.scope && mcp_scope_is_over(plan->call.scope)))
        run->is_over = true;
}

/* May there be one more? Takes it, if so. */
static bool
take_turn(struct run *run, struct slot *slot, uint64_t *ret_turn)
{
    const struct cli_bench_plan *plan = run->plan;
    int64_t now = cli_now_ns();
    bool may;

    (void)pthread_mutex_lock(&run->lock);
    look_at_end(run, now);
    may = !run->is_over;
    if (may) {
        slot->began = now;
        slot->cancel_at = cancel_time(plan, run->load->started, now);
        slot->is_live = true;
        slot->is_asked = false;
        slot->turn++;
        run->load->started++;
        run->holds++;
        *ret_turn = slot->turn;
    }
    (void)pthread_mutex_unlock(&run->lock);
    return may;
}

/* Under the lock. */
static void
slot_cancel(struct run *run, struct slot *slot)
{
    if (!slot->call || slot->is_asked)
        return;
    slot->is_asked = true;
    if (mcp_call_cancel(slot->call, "a benchmark cancels this one") == 0)
        run->load->asked++;
}

static void
start_failed(struct run *run, struct slot *slot, int status)
{
    (void)pthread_mutex_lock(&run->lock);
    slot->is_live = false;
    run->holds--;
    run->load->started--; /* nobody was asked */
    run->is_over = true;
    if (status != MCP_E_CANCELED) {
        run->load->failed++;
        cli_bench_count_kind(run->load, mcp_status_text(status));
    }
    (void)pthread_mutex_unlock(&run->lock);
}

static void
start_turn(struct run *run, struct slot *slot, uint64_t turn)
{
    const struct cli_bench_plan *plan = run->plan;
    mcp_call *call = NULL;
    int r;

    if (plan->tool)
        r = mcp_client_start_tool(plan->client, plan->tool, plan->arguments,
                                  &plan->call, on_done, slot, &call);
    else
        r = mcp_client_start(plan->client, run->method, NULL, &plan->call, on_done,
                             slot, &call);
    if (r < 0) {
        start_failed(run, slot, r);
        return;
    }
    (void)pthread_mutex_lock(&run->lock);
    if (slot->turn == turn && slot->is_live) {
        slot->call = call;
        if (slot->cancel_at != 0 && slot->cancel_at <= cli_now_ns())
            slot_cancel(run, slot);
    }
    (void)pthread_mutex_unlock(&run->lock);
}

/* Takes the hold of who calls it. */
static void
start_next(struct run *run, struct slot *slot)
{
    uint64_t turn = 0;

    if (take_turn(run, slot, &turn))
        start_turn(run, slot, turn);
    let_go(run);
}

/* ---- the whole ------------------------------------------------------------------ */

/* Under the lock. */
static void
cancel_due(struct run *run, int64_t now, bool all)
{
    for (size_t i = 0; i < run->plan->at_once; i++) {
        struct slot *slot = &run->slots[i];

        if (slot->is_live && (all || (slot->cancel_at != 0 && slot->cancel_at <= now)))
            slot_cancel(run, slot);
    }
}

/* Under the lock, which is let go meanwhile. */
static void
wait_tick(struct run *run, int64_t ns)
{
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += ns;
    while (until.tv_nsec >= 1000000000) {
        until.tv_nsec -= 1000000000;
        until.tv_sec++;
    }
    (void)pthread_cond_timedwait(&run->changed, &run->lock, &until);
}

/* Under the lock: until all calls have ended. False: some never did. */
static bool
wait_for_ends(struct run *run, int64_t patience_ms, cli_bench_look_fn *look, void *user)
{
    int64_t tick = run->plan->cancel_rate > 0 ? TICK_NS : LOOK_NS;
    int64_t looked = cli_now_ns(), now, give_up = 0;
    bool is_last = false;

    while (run->holds > 0) {
        wait_tick(run, tick);
        now = cli_now_ns();
        look_at_end(run, now);
        cancel_due(run, now, is_last);
        if (run->is_over && give_up == 0)
            give_up = now + patience_ms * 1000000;
        if (give_up != 0 && now >= give_up) {
            if (is_last)
                return false;
            is_last = true;
            give_up = now + (int64_t)CANCEL_PATIENCE_MS * 1000000;
        }
        if (look && now - looked >= LOOK_NS) {
            uint64_t canceled = run->load->canceled;

            looked = now;
            (void)pthread_mutex_unlock(&run->lock);
            look(user, canceled);
            (void)pthread_mutex_lock(&run->lock);
        }
    }
    return true;
}

static int
run_init(struct run *run, const struct cli_bench_plan *plan,
         struct cli_bench_load *load)
{
    const char *version = mcp_client_version(plan->client);
    pthread_condattr_t monotonic;

    memset(run, 0, sizeof(*run));
    run->plan = plan;
    run->load = load;
    /* versions are dates: in 2026 ping was given up for server/discover */
    run->method = version && strcmp(version, "2026") >= 0 ? "server/discover" : "ping";
    run->slots = calloc(plan->at_once, sizeof(*run->slots));
    if (!run->slots)
        return MCP_E_NOMEM;
    for (size_t i = 0; i < plan->at_once; i++)
        run->slots[i].run = run;
    (void)pthread_mutex_init(&run->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&run->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    return 0;
}

/* Calls that never ended must not reach a run that is gone: on return from the free of
 * one no callback of it runs. Under the lock. */
static void
free_lost(struct run *run)
{
    struct slot *slot;
    mcp_call *call;

    for (size_t i = 0; i < run->plan->at_once; i++) {
        slot = &run->slots[i];
        if (!slot->call || slot->is_lost)
            continue;
        slot->is_lost = true;
        call = slot->call;
        run->load->lost++;
        run->holds--;
        (void)pthread_mutex_unlock(&run->lock);
        mcp_call_free(call);
        (void)pthread_mutex_lock(&run->lock);
    }
}

static void
run_done(struct run *run)
{
    (void)pthread_mutex_lock(&run->lock);
    while (run->holds > 0) {
        free_lost(run);
        if (run->holds > 0)
            wait_tick(run, TICK_NS);
    }
    (void)pthread_mutex_unlock(&run->lock);
    (void)pthread_mutex_destroy(&run->lock);
    (void)pthread_cond_destroy(&run->changed);
    free(run->slots);
}

int
cli_bench_run(const struct cli_bench_plan *plan, int64_t patience_ms,
              cli_bench_look_fn *look, void *user, struct cli_bench_load *ret_load)
{
    struct run run;
    int64_t began = cli_now_ns();
    int r;

    if (plan->at_once == 0 || plan->at_once > AT_ONCE_MAX)
        return MCP_E_INVAL;
    memset(ret_load, 0, sizeof(*ret_load));
    r = run_init(&run, plan, ret_load);
    if (r < 0)
        return r;
    if (plan->duration_ms > 0)
        run.deadline = began + plan->duration_ms * 1000000;
    run.last_end = began;
    run.holds = plan->at_once;
    for (size_t i = 0; i < plan->at_once; i++)
        start_next(&run, &run.slots[i]);
    (void)pthread_mutex_lock(&run.lock);
    (void)wait_for_ends(&run, patience_ms, look, user);
    (void)pthread_mutex_unlock(&run.lock);
    run_done(&run);
    if (plan->call.scope && mcp_scope_is_over(plan->call.scope))
        ret_load->interrupted = true;
    ret_load->seconds = (double)(run.last_end - began) / 1e9;
    return 0;
}
