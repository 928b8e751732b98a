/*
 * crew.c - the helpers of one isolated tool, and the calls that wait for one
 *
 * All that happens to a helper or a task only stirs the crew. One look, from the loop,
 * then does what is due: calls are handed out, helpers started and ended. So nothing is
 * done from inside of core, and it does not matter what happened first.
 */
#include "api/crew.h"

#include <stdio.h>

#include "api/request.h"
#include "base/mem.h"

/* So many that die one after the other before they served a call are no accident. */
#define FAILURES 3
/* Then the next one is started after that time: seldom enough to cost nothing, and soon
 * enough for a program that is just being replaced. */
#define PAUSE_US INT64_C(1000000)
/* Processes for each call that may run: those that run, that were told to stop, and
 * that were killed and are still there. */
#define PROCESSES 3

/* ---- tasks -------------------------------------------------------------- */

/* The hook is not running and will not run once the request is gone: what it has posted
 * by then is known. */
void
mcpi_task_end(struct mcpi_task *task, int status)
{
    const mcp_allocator *mem = task->crew->isolation->mem;

    task->is_over = true;
    mcp_request_finish(task->req, status);
    if (!atomic_load(&task->is_posted))
        mcpi_free(mem, task);
}

void
mcpi_task_fail(struct mcpi_task *task, const char *why)
{
    mcpi_task_end(task, mcp_result_fail(mcp_request_result(task->req), "%s", why));
}

static void
task_post(struct mcpi_task *task)
{
    if (!atomic_exchange(&task->is_posted, true))
        mcpi_loop_post(task->crew->isolation->loop, &task->look);
}

/* On the loop of the server. */
static void
on_cancel(void *user)
{
    struct mcpi_task *task = user;

    atomic_store(&task->is_canceled, true);
    task_post(task);
}

static void
line_leave(struct mcpi_task *task)
{
    if (mcpi_list_empty(&task->node))
        return;
    mcpi_list_remove(&task->node);
    task->crew->waiting--;
}

static void
task_cancel(struct mcpi_task *task)
{
    line_leave(task);
    if (task->helper)
        mcpi_helper_leave(task->helper, mcp_request_cancel_reason(task->req));
    mcpi_task_end(task, MCP_E_CANCELED);
}

static void crew_look(struct mcpi_crew *crew);

static void
on_task_look(struct mcpi_post *post)
{
    struct mcpi_task *task = MCPI_CONTAINER(post, struct mcpi_task, look);
    struct mcpi_crew *crew = task->crew;

    atomic_store(&task->is_posted, false);
    if (task->is_over) {
        mcpi_free(crew->isolation->mem, task);
    } else if (atomic_load(&task->is_canceled)) {
        task_cancel(task);
    } else if (!task->is_known) {
        task->is_known = true;
        mcpi_list_append(&crew->line, &task->node);
        crew->waiting++;
        crew_look(crew);
    }
}

int
mcpi_crew_start(mcp_request *req, mcp_result *out, void *user)
{
    struct mcpi_crew *crew = user;
    const mcp_allocator *mem = crew->isolation->mem;
    struct mcpi_task *task = mcpi_alloc_zero(mem, sizeof(*task));
    int r;

    (void)out;
    if (!task)
        return MCP_E_NOMEM;
    task->crew = crew;
    task->req = req;
    task->look.fn = on_task_look;
    mcpi_list_init(&task->node);
    atomic_init(&task->is_posted, true); /* below: the hook may run before that */
    r = mcp_request_on_cancel(req, on_cancel, task, NULL);
    if (r < 0) {
        mcpi_free(mem, task);
        return r;
    }
    mcpi_loop_post(crew->isolation->loop, &task->look);
    return 0; /* from now on the request is that thread's */
}

/* ---- its helpers -------------------------------------------------------- */

static struct mcpi_helper *
helper_of(struct mcpi_list *node)
{
    return MCPI_CONTAINER(node, struct mcpi_helper, node);
}

/* The first one of that state, or NULL. */
static struct mcpi_helper *
crew_first(struct mcpi_crew *crew, enum mcpi_helper_state state)
{
    struct mcpi_list *node = mcpi_list_first(&crew->helpers[state]);

    return node ? helper_of(node) : NULL;
}

static size_t
crew_size(const struct mcpi_crew *crew)
{
    return crew->count[MCPI_HELPER_STARTING] + crew->count[MCPI_HELPER_IDLE] +
           crew->count[MCPI_HELPER_BUSY];
}

static bool
crew_is_closed(const struct mcpi_crew *crew)
{
    return crew->is_left || crew->isolation->ending;
}

/* An idle one, the last that was used: the others may be too many. One that has died is
 * on its way out. */
static struct mcpi_helper *
crew_find_idle(struct mcpi_crew *crew)
{
    struct mcpi_list *list = &crew->helpers[MCPI_HELPER_IDLE];
    struct mcpi_list *node;

    for (node = list->prev; node != list; node = node->prev) {
        if (mcpi_helper_lives(helper_of(node)))
            return helper_of(node);
    }
    return NULL;
}

/* True: some are on their way. */
static bool
crew_hand_out(struct mcpi_crew *crew)
{
    struct mcpi_helper *helper;
    struct mcpi_task *task;
    bool some = false;

    while (crew->waiting > 0 && crew->count[MCPI_HELPER_BUSY] < crew->most) {
        helper = crew_find_idle(crew);
        if (!helper)
            break;
        some = true;
        task = MCPI_CONTAINER(mcpi_list_first(&crew->line), struct mcpi_task, node);
        line_leave(task);
        mcpi_helper_call(helper, task);
    }
    return some;
}

static void
crew_fail_line(struct mcpi_crew *crew, const char *why)
{
    struct mcpi_task *task;

    while (crew->waiting > 0) {
        task = MCPI_CONTAINER(mcpi_list_first(&crew->line), struct mcpi_task, node);
        line_leave(task);
        mcpi_task_fail(task, why);
    }
}

/* Too many that were told to stop; or one of those did, and is one too many now: then
 * another one goes, that was not used yet. */
static void
crew_trim(struct mcpi_crew *crew)
{
    struct mcpi_helper *helper;

    while (crew->count[MCPI_HELPER_LEAVING] > crew->most)
        mcpi_helper_kill(crew_first(crew, MCPI_HELPER_LEAVING));
    while (crew_size(crew) > crew->most) {
        helper = crew_first(crew, MCPI_HELPER_STARTING);
        if (!helper)
            helper = crew_first(crew, MCPI_HELPER_IDLE);
        if (!helper)
            return;
        mcpi_helper_dismiss(helper);
    }
}

static bool
crew_wants_more(const struct mcpi_crew *crew)
{
    size_t ready = crew->count[MCPI_HELPER_STARTING] + crew->count[MCPI_HELPER_IDLE];
    size_t wanted = crew->waiting + (crew->is_doubtful ? 0 : crew->warm);
    size_t all = crew_size(crew) + crew->count[MCPI_HELPER_LEAVING] +
                 crew->count[MCPI_HELPER_ENDED];

    return !crew->paused && crew_size(crew) < crew->most && ready < wanted &&
           all < PROCESSES * crew->most;
}

/* One at a time: it takes milliseconds, in which nobody else is heard. */
static void
crew_grow(struct mcpi_crew *crew)
{
    mcp_error err = {0};

    if (!crew_wants_more(crew))
        return;
    if (mcpi_helper_start(crew, &err) < 0)
        mcpi_crew_failed(crew, err.message);
    mcpi_crew_stir(crew);
}

static bool
crew_is_empty(const struct mcpi_crew *crew)
{
    return crew_size(crew) == 0 && crew->count[MCPI_HELPER_LEAVING] == 0 &&
           crew->count[MCPI_HELPER_ENDED] == 0 && crew->closing == 0;
}

/* May free it. */
static void
crew_look(struct mcpi_crew *crew)
{
    struct mcpi_isolation *isolation = crew->isolation;
    bool some;

    if (!crew_is_closed(crew)) {
        some = crew_hand_out(crew);
        if (crew->paused && crew_size(crew) == 0)
            crew_fail_line(crew, crew->why);
        crew_trim(crew);
        if (some)
            mcpi_crew_stir(crew); /* they leave at the end of this turn */
        else
            crew_grow(crew);
        return;
    }
    crew_fail_line(crew, "the server is stopping");
    mcpi_crew_dismiss(crew, MCPI_NEVER);
    if (!crew->is_left || crew->look_out || !crew_is_empty(crew))
        return;
    mcpi_timer_disarm(mcpi_loop_timers(isolation->loop), &crew->pause);
    mcpi_crew_discard(crew);
    mcpi_isolation_check(isolation);
}

static void
on_look(struct mcpi_post *post)
{
    struct mcpi_crew *crew = MCPI_CONTAINER(post, struct mcpi_crew, look);

    crew->look_out = false;
    crew_look(crew);
}

void
mcpi_crew_stir(struct mcpi_crew *crew)
{
    if (crew->look_out)
        return;
    crew->look_out = true;
    mcpi_loop_post(crew->isolation->loop, &crew->look);
}

/* ---- those that do not start -------------------------------------------- */

static void
on_pause_over(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_crew *crew = MCPI_CONTAINER(timer, struct mcpi_crew, pause);

    (void)now;
    crew->paused = false;
    crew->failures = FAILURES - 1; /* one try */
    mcpi_crew_stir(crew);
}

void
mcpi_crew_failed(struct mcpi_crew *crew, const char *why)
{
    struct mcpi_loop *loop = crew->isolation->loop;

    crew->failures++;
    MCPI_LOG(&crew->isolation->log, MCP_LOG_WARNING,
             "a helper of tool %s has gone before its first call: %s%s", crew->name,
             why, crew->failures >= FAILURES ? "; the next one is started later" : "");
    if (crew->failures < FAILURES)
        return;
    (void)snprintf(crew->why, sizeof(crew->why),
                   "no process for the tool can be started: %s", why);
    crew->paused = crew->is_doubtful = true;
    mcpi_timer_arm(mcpi_loop_timers(loop), &crew->pause,
                   mcpi_time_add(mcpi_loop_now(loop), PAUSE_US));
    mcpi_crew_stir(crew);
}

void
mcpi_crew_served(struct mcpi_crew *crew)
{
    crew->failures = 0;
    crew->is_doubtful = false;
}

/* ---- its end ------------------------------------------------------------ */

static void
crew_hurry(struct mcpi_crew *crew, enum mcpi_helper_state state, int64_t until)
{
    struct mcpi_list *list = &crew->helpers[state];
    struct mcpi_list *node;

    for (node = list->next; node != list; node = node->next)
        mcpi_helper_hurry(helper_of(node), until);
}

void
mcpi_crew_dismiss(struct mcpi_crew *crew, int64_t until)
{
    struct mcpi_helper *helper;

    while ((helper = crew_first(crew, MCPI_HELPER_STARTING)) != NULL)
        mcpi_helper_dismiss(helper);
    while ((helper = crew_first(crew, MCPI_HELPER_IDLE)) != NULL)
        mcpi_helper_dismiss(helper);
    crew_hurry(crew, MCPI_HELPER_BUSY, until);
    crew_hurry(crew, MCPI_HELPER_LEAVING, until);
    crew_hurry(crew, MCPI_HELPER_ENDED, until);
}

void
mcpi_crew_kill(struct mcpi_crew *crew)
{
    struct mcpi_list *ended = &crew->helpers[MCPI_HELPER_ENDED];
    struct mcpi_helper *helper;
    struct mcpi_list *node;

    for (int state = 0; state < MCPI_HELPER_ENDED; state++) {
        while ((helper = crew_first(crew, (enum mcpi_helper_state)state)) != NULL)
            mcpi_helper_kill(helper);
    }
    for (node = ended->next; node != ended; node = node->next)
        mcpi_helper_kill(helper_of(node));
}

void
mcpi_crew_abandon(struct mcpi_crew *crew)
{
    struct mcpi_helper *helper;

    while ((helper = crew_first(crew, MCPI_HELPER_ENDED)) != NULL)
        mcpi_helper_abandon(helper);
}

static void
on_leave(struct mcpi_post *post)
{
    struct mcpi_crew *crew = MCPI_CONTAINER(post, struct mcpi_crew, leave);

    crew->is_left = true;
    crew_look(crew);
}

void
mcpi_crew_free(struct mcpi_crew *crew)
{
    if (crew)
        mcpi_loop_post(crew->isolation->loop, &crew->leave);
}

/* ---- its beginning ------------------------------------------------------ */

static void
on_open(struct mcpi_post *post)
{
    struct mcpi_crew *crew = MCPI_CONTAINER(post, struct mcpi_crew, open);

    mcpi_list_append(&crew->isolation->crews, &crew->node);
    mcpi_crew_stir(crew); /* its tool may be gone already: that comes first */
}

void
mcpi_crew_open(struct mcpi_crew *crew, struct mcpi_isolation *isolation)
{
    crew->isolation = isolation;
    crew->open.fn = on_open;
    crew->leave.fn = on_leave;
    crew->look.fn = on_look;
    mcpi_timer_init(&crew->pause, on_pause_over);
    mcpi_loop_post(isolation->loop, &crew->open);
}
