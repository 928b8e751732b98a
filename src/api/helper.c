/*
 * helper.c - one helper process, from the server's side
 *
 * It ends by one of two events, and is gone when both have come: its process has
 * exited, with all that it started, and its socket is closed. Whichever comes first
 * sees to the other: of a dead process what it said last is read, one that has closed
 * its socket is killed if it does not exit soon. So a result that was sent before a
 * crash is a result.
 *
 * Core must not be left by freeing what it is in the middle of. Its callbacks here only
 * change the state and signal the process; streams are freed from the loop.
 */
#include "api/helper.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "api/crew.h"
#include "api/crossing.h"
#include "api/isolated.h"
#include "base/mem.h"
#include "base/text.h"

#define SECOND INT64_C(1000000)

/* An idle one beyond those that are to be warm is kept that long: calls come in bursts,
 * and a new one costs more than a call. */
#define LINGER_US (10 * SECOND)
/* Between the end of its socket and that of its process, either way round. */
#define GOODBYE_US (1 * SECOND)
/* A handler that has returned answers at once that it rests. */
#define REST_US (1 * SECOND)
/* After SIGKILL only the kernel is slow. */
#define REAP_US (2 * SECOND)

static struct mcpi_isolation *
helper_isolation(const struct mcpi_helper *helper)
{
    return helper->crew->isolation;
}

static int64_t
helper_now(const struct mcpi_helper *helper)
{
    return mcpi_loop_now(helper_isolation(helper)->loop);
}

static void
helper_arm(struct mcpi_helper *helper, int64_t us)
{
    mcpi_timer_arm(mcpi_loop_timers(helper_isolation(helper)->loop), &helper->timer,
                   mcpi_time_add(helper_now(helper), us));
}

static void
helper_disarm(struct mcpi_helper *helper)
{
    mcpi_timer_disarm(mcpi_loop_timers(helper_isolation(helper)->loop), &helper->timer);
}

static bool
state_is_busy(enum mcpi_helper_state state)
{
    return state == MCPI_HELPER_BUSY || state == MCPI_HELPER_LEAVING;
}

static void
count_add(atomic_uint_fast64_t *count, int by)
{
    atomic_fetch_add_explicit(count, (uint_fast64_t)by, memory_order_relaxed);
}

/* The one setter. Its timer is that of its state. */
static void
helper_become(struct mcpi_helper *helper, enum mcpi_helper_state to)
{
    struct mcpi_crew *crew = helper->crew;
    int busier = state_is_busy(to) - state_is_busy(helper->state);

    helper_disarm(helper);
    mcpi_list_remove(&helper->node);
    crew->count[helper->state]--;
    mcpi_list_append(&crew->helpers[to], &helper->node);
    crew->count[to]++;
    helper->state = to;
    if (busier != 0)
        count_add(&crew->isolation->busy, busier);
    mcpi_crew_stir(crew);
}

/* ---- its end ------------------------------------------------------------ */

static void
on_watch_closed(uv_handle_t *handle)
{
    struct mcpi_helper *helper = handle->data;
    struct mcpi_isolation *isolation = helper_isolation(helper);
    struct mcpi_crew *crew = helper->crew;

    crew->closing--;
    isolation->live--;
    mcpi_free(isolation->mem, helper);
    mcpi_crew_stir(crew);
    mcpi_isolation_check(isolation);
}

/* Its call hears how it ended, or its crew does if it never had one. */
static void
helper_tell(struct mcpi_helper *helper)
{
    const struct mcpi_crew *crew = helper->crew;
    struct mcpi_task *task = helper->task;
    char why[160];

    if (helper->told)
        snprintf(why, sizeof(why), "%s", helper->told);
    else if (helper->process.failure < 0)
        snprintf(why, sizeof(why), "its process cannot be kept: %s",
                 mcp_status_text(helper->process.failure));
    else
        mcpi_crossing_describe(why, sizeof(why), helper->process.wait_status,
                               crew->memory_bytes, crew->cpu_seconds);
    helper->task = NULL;
    if (helper->is_failure)
        mcpi_crew_failed(helper->crew, why);
    if (task)
        mcpi_task_fail(task, why);
}

/* Nothing is left of it but this, or it is given up. */
static void
helper_go(struct mcpi_helper *helper)
{
    struct mcpi_crew *crew = helper->crew;

    helper_disarm(helper);
    mcpi_list_remove(&helper->node);
    crew->count[MCPI_HELPER_ENDED]--;
    crew->closing++;
    uv_close((uv_handle_t *)&helper->watch, on_watch_closed);
    (void)mcpi_process_done(&helper->process, 0);
    count_add(&crew->isolation->helpers, -1);
    helper_tell(helper);
}

/* An end that was not ours: how its process ends says why. */
static void
helper_lost(struct mcpi_helper *helper)
{
    if (helper->state == MCPI_HELPER_ENDED)
        return;
    helper->is_failure = !helper->has_served &&
                         (helper->state == MCPI_HELPER_STARTING ||
                          helper->state == MCPI_HELPER_IDLE);
    helper_become(helper, MCPI_HELPER_ENDED);
    helper_arm(helper, GOODBYE_US);
}

void
mcpi_helper_on_exit(uv_poll_t *watch, int status, int events)
{
    struct mcpi_helper *helper = watch->data;

    (void)status;
    (void)events;
    if (!mcpi_process_poll(&helper->process))
        return;
    (void)uv_poll_stop(watch);
    helper->has_exited = true;
    if (helper->stream)
        mcpi_stream_finish(helper->stream);
    else
        helper_go(helper);
}

void
mcpi_helper_hung_up(void *user, struct mcpi_stream *stream)
{
    struct mcpi_helper *helper = user;

    helper->stream = NULL;
    mcpi_stream_free(stream);
    helper_lost(helper);
    if (helper->has_exited)
        helper_go(helper);
}

void
mcpi_helper_kill(struct mcpi_helper *helper)
{
    if (helper->was_killed)
        return;
    helper->was_killed = true;
    count_add(&helper_isolation(helper)->killed, 1);
    if (helper->state != MCPI_HELPER_ENDED)
        helper_become(helper, MCPI_HELPER_ENDED);
    (void)mcpi_process_signal(&helper->process, SIGKILL); /* gone: we will see it */
    helper_arm(helper, REAP_US);
}

void
mcpi_helper_dismiss(struct mcpi_helper *helper)
{
    struct mcpi_stream *stream = helper->stream;

    helper_become(helper, MCPI_HELPER_ENDED);
    helper_arm(helper, GOODBYE_US);
    helper->stream = NULL;
    mcpi_stream_free(stream);
    if (helper->has_exited)
        helper_go(helper);
}

void
mcpi_helper_abandon(struct mcpi_helper *helper)
{
    struct mcpi_stream *stream = helper->stream;

    MCPI_LOG(&helper_isolation(helper)->log, MCP_LOG_WARNING,
             "a process of tool %s does not end: given up", helper->crew->name);
    if (helper->state != MCPI_HELPER_ENDED)
        helper_become(helper, MCPI_HELPER_ENDED);
    helper->told = "the process of the tool does not end";
    helper->stream = NULL;
    mcpi_stream_free(stream);
    helper_go(helper);
}

/* The socket of a dead process is closed before anybody hears that it has died. */
bool
mcpi_helper_lives(struct mcpi_helper *helper)
{
    struct pollfd wire = {.fd = helper->wire, .events = POLLRDHUP};

    return helper->stream && !helper->has_exited && poll(&wire, 1, 0) == 0;
}

void
mcpi_helper_hurry(struct mcpi_helper *helper, int64_t until)
{
    struct mcpi_timers *timers = mcpi_loop_timers(helper_isolation(helper)->loop);

    if (!helper->was_killed && mcpi_timer_at(&helper->timer) > until)
        mcpi_timer_arm(timers, &helper->timer, until);
}

/* ---- it rests ----------------------------------------------------------- */

/* The last one is called first: one that was used before one that was not. */
static void
helper_be_idle(struct mcpi_helper *helper)
{
    bool is_new = helper->state == MCPI_HELPER_STARTING;

    helper_become(helper, MCPI_HELPER_IDLE);
    if (is_new) {
        mcpi_list_remove(&helper->node);
        mcpi_list_prepend(&helper->crew->helpers[MCPI_HELPER_IDLE], &helper->node);
    }
    helper_arm(helper, LINGER_US);
}

static void
on_rest_done(void *user, struct mcpi_call *call, int status,
             const struct mcpi_rpc *answer)
{
    struct mcpi_helper *helper = user;

    helper->call = NULL;
    mcpi_call_release(call);
    if (helper->state == MCPI_HELPER_ENDED)
        return;
    if (status == MCP_E_CLOSED)
        helper_lost(helper);
    else if (status < 0 || mcpi_crossing_rest_left(answer->result))
        mcpi_helper_kill(helper);
    else
        helper_be_idle(helper);
}

int
mcpi_helper_ask_rest(struct mcpi_helper *helper)
{
    static const struct mcpi_call_ops ops = {.done = on_rest_done};
    const struct mcpi_call_options opt = {.method = MCPI_ISOLATED_REST,
                                          .timeout_us = MCPI_NEVER,
                                          .rounds = MCPI_ROUNDS_NONE,
                                          .ops = &ops,
                                          .user = helper};

    return mcpi_call_start(mcpi_stream_peer(helper->stream), &opt, helper_now(helper),
                           &helper->call);
}

/* It has been told to stop, or may have left something behind. */
static void
helper_await_rest(struct mcpi_helper *helper, int64_t within_us)
{
    if (mcpi_helper_ask_rest(helper) < 0)
        mcpi_helper_kill(helper);
    else
        helper_arm(helper, within_us);
}

/* ---- its call ----------------------------------------------------------- */

/* An error does not say whether something is left behind. */
static void
helper_answered(struct mcpi_helper *helper, int status, const struct mcpi_rpc *answer)
{
    struct mcpi_task *task = helper->task;
    int r;

    helper->task = NULL;
    helper->has_served = true;
    mcpi_crew_served(helper->crew);
    if (status < 0) {
        helper_become(helper, MCPI_HELPER_LEAVING);
        helper_await_rest(helper, REST_US);
        r = mcpi_crossing_error(task->req, answer);
    } else {
        if (mcpi_crossing_left(answer->result))
            mcpi_helper_kill(helper);
        else
            helper_be_idle(helper);
        r = mcpi_crossing_result(task->req, answer->result);
    }
    mcpi_task_end(task, r);
}

static void
on_call_done(void *user, struct mcpi_call *call, int status,
             const struct mcpi_rpc *answer)
{
    struct mcpi_helper *helper = user;

    helper->call = NULL;
    mcpi_call_release(call);
    if (helper->state != MCPI_HELPER_BUSY)
        return; /* it was told to stop, or is being ended */
    if (status == 0 || status == MCP_E_PEER) {
        helper_answered(helper, status, answer);
    } else if (status == MCP_E_CLOSED) {
        helper_lost(helper);
    } else {
        helper->told = "the answer of the tool cannot be read";
        mcpi_helper_kill(helper);
    }
}

static void
on_call_progress(void *user, struct mcpi_call *call, const struct mcpi_progress *p)
{
    const struct mcpi_helper *helper = user;

    (void)call;
    if (helper->state == MCPI_HELPER_BUSY)
        (void)mcp_request_progress(helper->task->req, p->progress,
                                   isnan(p->total) ? 0 : p->total, p->message);
}

void
mcpi_helper_note(struct mcpi_helper *helper, const struct mcpi_rpc *note)
{
    if (note->method == MCPI_METHOD_NOTE_MESSAGE)
        mcpi_crossing_message(helper->task->req, note->params);
}

/* Nothing else is as long as an answer, and nobody else writes there. */
void
mcpi_helper_garbled(struct mcpi_helper *helper)
{
    helper->told = "the answer of the tool cannot be read: it is no message, or longer "
                   "than one may be, or nested too deep";
    mcpi_helper_kill(helper);
}

static int
helper_send(struct mcpi_helper *helper, const mcp_request *req)
{
    static const struct mcpi_call_ops quiet = {.done = on_call_done};
    static const struct mcpi_call_ops telling = {.done = on_call_done,
                                                 .progress = on_call_progress};
    const struct mcpi_isolation *isolation = helper_isolation(helper);
    bool tells = req->x->caller.progress_token.kind != MCPI_ID_NONE;
    struct mcpi_call_options opt = {.method = mcpi_method_name(MCPI_METHOD_TOOLS_CALL),
                                    .log_level = mcpi_crossing_log_level(req),
                                    .timeout_us = MCPI_NEVER,
                                    .rounds = MCPI_ROUNDS_NONE,
                                    .ops = tells ? &telling : &quiet,
                                    .user = helper};
    struct mcpi_buf params, meta;
    int r;

    mcpi_buf_init(&params, isolation->mem, SIZE_MAX);
    mcpi_buf_init(&meta, isolation->mem, SIZE_MAX);
    mcpi_crossing_ask(req, &params, &meta);
    r = params.status < 0 ? params.status : meta.status;
    opt.params = params.data;
    opt.params_len = params.len;
    opt.meta = meta.data;
    opt.meta_len = meta.len;
    if (r == 0)
        r = mcpi_call_start(mcpi_stream_peer(helper->stream), &opt, helper_now(helper),
                            &helper->call);
    mcpi_buf_done(&params);
    mcpi_buf_done(&meta);
    return r;
}

void
mcpi_helper_call(struct mcpi_helper *helper, struct mcpi_task *task)
{
    int r;

    helper_become(helper, MCPI_HELPER_BUSY);
    helper->task = task;
    task->helper = helper;
    r = helper_send(helper, task->req);
    if (r == 0)
        return;
    helper->task = NULL;
    helper_be_idle(helper);
    mcpi_task_end(task, r);
}

void
mcpi_helper_leave(struct mcpi_helper *helper, const char *reason)
{
    int64_t grace = helper->crew->grace_us;

    helper->task = NULL;
    if (helper->state != MCPI_HELPER_BUSY)
        return; /* it died, and nobody wants to know how any more */
    helper_become(helper, MCPI_HELPER_LEAVING);
    if (grace == 0) {
        mcpi_helper_kill(helper);
        return;
    }
    (void)mcpi_call_cancel(helper->call, reason[0] ? reason : NULL, helper_now(helper));
    helper_await_rest(helper, grace);
}

/* ---- its time is up ----------------------------------------------------- */

static void
ended_expired(struct mcpi_helper *helper)
{
    struct mcpi_task *task = helper->task;

    if (!helper->was_killed) {
        if (!helper->told && !helper->has_exited)
            helper->told = "the tool has closed its connection to the server";
        mcpi_helper_kill(helper);
        return;
    }
    MCPI_LOG(&helper_isolation(helper)->log, MCP_LOG_WARNING,
             "a process of tool %s does not end, though it was killed",
             helper->crew->name);
    helper->task = NULL;
    if (task)
        mcpi_task_fail(task, "the process of the tool does not end");
}

void
mcpi_helper_on_timer(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_helper *helper = MCPI_CONTAINER(timer, struct mcpi_helper, timer);

    (void)now;
    switch (helper->state) {
    case MCPI_HELPER_STARTING:
        helper->told = "it does not start in time";
        helper->is_failure = true;
        mcpi_helper_kill(helper);
        break;
    case MCPI_HELPER_IDLE:
        if (helper->crew->count[MCPI_HELPER_IDLE] > helper->crew->warm)
            mcpi_helper_dismiss(helper);
        break;
    case MCPI_HELPER_BUSY:
    case MCPI_HELPER_LEAVING:
        mcpi_helper_kill(helper);
        break;
    default:
        ended_expired(helper);
        break;
    }
}
