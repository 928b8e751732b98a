/* support/session_suite.c - listening, asking back and rounds, on every link */
#include "support/session_suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/link_suite.h"
#include "support/session.h"

/* ---- our own subscriptions ------------------------------------------------- */

static void
heard_note(struct heard *h, char what)
{
    size_t used = strlen(h->order);

    assert_true(used + 1 < sizeof(h->order));
    h->order[used] = what;
    h->order[used + 1] = '\0';
}

static void
on_opened(void *user, const mcp_json *filter)
{
    struct heard *h = user;

    h->opened++;
    h->filtered = mcp_json_get_type(filter) == MCP_JSON_OBJECT;
    heard_note(h, 'o');
}

static void
on_event(void *user, const struct mcpi_rpc *note)
{
    struct heard *h = user;

    (void)note;
    h->events++;
    heard_note(h, 'e');
    if (h->close_when_event) {
        mcpi_subscription_close(h->s, h->session->w.now);
        h->s = NULL;
    }
}

static void
on_ended(void *user, enum mcpi_subscription_end how, int status,
         const struct mcpi_rpc *answer)
{
    struct heard *h = user;

    h->ended++;
    h->how = how;
    h->status = status;
    h->code = status == MCP_E_PEER ? answer->error_code : 0;
    heard_note(h, 'x');
}

void
session_listen(struct session *t, int n, int64_t open_us)
{
    static const struct mcpi_subscription_ops ops = {on_opened, on_event, on_ended};
    struct heard *h = &t->heard[n];
    struct mcpi_subscription_options opt = {.filter = SESSION_FILTER,
                                            .filter_len = strlen(SESSION_FILTER),
                                            .open_us = open_us,
                                            .ops = &ops,
                                            .user = h};

    assert_null(h->s);
    memset(h, 0, sizeof(*h));
    h->session = t;
    assert_int_equal(mcpi_subscription_open(t->w.peer[CLIENT], &opt, t->w.now, &h->s),
                     0);
}

int
session_try_serve(struct session *t, int n)
{
    struct job *job = world_job(&t->w, SERVER);
    struct stream *s = &t->stream[n];
    int r;

    memset(s, 0, sizeof(*s));
    r = stream_serve(s, job->x, EVERYTHING);
    if (r == 0)
        job->finished = true; /* from now on the stream's to say */
    return r;
}

void
session_join(struct session *t, int n)
{
    size_t before = t->w.job_count[SERVER];

    session_listen(t, n, 0);
    world_run(&t->w);
    assert_int_equal(t->w.job_count[SERVER], before + 1);
    assert_int_equal(session_try_serve(t, n), 0);
    world_run(&t->w);
    session_expect_order(t, n, "o");
    assert_true(t->heard[n].filtered);
}

void
session_publish(struct session *t, const struct mcpi_event *event)
{
    mcpi_engine_publish(t->w.engine[SERVER], event, t->w.now);
}

void
session_update(struct session *t, const char *uri)
{
    struct mcpi_event event = {MCPI_TOPIC_UPDATED, uri};

    session_publish(t, &event);
}

void
session_end_gracefully(struct session *t, int n)
{
    struct stream *s = &t->stream[n];
    struct mcpi_result last;

    mcpi_result_init(&last, t->w.engine[SERVER]);
    stream_closing(s->x, &last);
    stream_finish(s, &last);
}

void
session_close(struct session *t, int n)
{
    mcpi_subscription_close(t->heard[n].s, t->w.now);
    t->heard[n].s = NULL;
}

void
session_expect_end(struct session *t, int n, enum mcpi_subscription_end how, int status)
{
    struct heard *h = &t->heard[n];

    assert_int_equal(h->ended, 1);
    assert_int_equal(h->how, how);
    assert_int_equal(h->status, status);
    assert_int_equal(mcpi_subscription_how(h->s), how);
}

void
session_expect_order(struct session *t, int n, const char *order)
{
    assert_string_equal(t->heard[n].order, order);
}

/* ---- calls ----------------------------------------------------------------- */

void
session_call(struct session *t, int n, const struct mcpi_call_options *opt)
{
    if (t->out[n].world)
        outcome_done(&t->out[n]);
    world_call(&t->w, CLIENT, opt, &t->out[n]);
    world_run(&t->w);
}

void
session_cancel(struct session *t, int n)
{
    assert_int_equal(mcpi_call_cancel(t->out[n].call, "changed my mind", t->w.now), 0);
    world_run(&t->w);
    if (world_has_session(&t->w))
        world_pass(&t->w, t->w.link->frame_us);
}

void
session_expect(struct session *t, int n, int status)
{
    assert_int_equal(t->out[n].done, 1);
    assert_int_equal(t->out[n].status, status);
}

void
session_answer(struct session *t, int side, const char *result)
{
    job_finish(&t->w, world_job(&t->w, side), result);
    world_run(&t->w);
}

size_t
session_signals(struct session *t, int side)
{
    return world_count_signals(&t->w, side);
}

size_t
session_frames(struct session *t, int side)
{
    return world_count_sent(&t->w, side, CANCELED_FRAME);
}

enum mcpi_ending
session_leaving(const struct session *t)
{
    return world_hangs_up(&t->w) ? MCPI_CANCELED : MCPI_DROPPED;
}

/* ---- one side alone -------------------------------------------------------- */

void
session_run_only(struct session *t, int side)
{
    mcpi_engine_at(t->w.engine[side], t->w.now);
    while (t->w.link->step(&t->w, side) > 0)
        continue;
}

void
session_pass_only(struct session *t, int side, int64_t us)
{
    t->w.now += us;
    mcpi_timers_expire(&t->w.timers, t->w.now);
    session_run_only(t, side);
}

#define BIG 1000000

void
session_fill_wire(struct session *t, int n)
{
    static char result[BIG + 32];

    session_call(t, n, NULL);
    snprintf(result, sizeof(result), "{\"content\":[],\"big\":\"%0*d\"}", BIG, 0);
    job_finish(&t->w, world_job(&t->w, SERVER), result);
    session_run_only(t, SERVER);
    if (t->w.link->clog)
        t->w.link->clog(&t->w);
}

/* ---- running it ------------------------------------------------------------ */

/* One case on a link: what a test_case carries. */
struct session_run {
    const struct session_case *what;
    const struct world_link *link;
    char name[128];
};

static void
session_free(struct session *t)
{
    for (int i = 0; i < SESSION_MAX; i++) {
        session_close(t, i);
        if (t->out[i].world)
            outcome_done(&t->out[i]);
    }
    world_close(&t->w);
    free(t);
}

static void
run_case(void **state)
{
    const struct session_run *run = *state;
    struct world_options opt = {.client_era = run->what->era,
                                .server_era = run->what->era,
                                .limits = run->what->limits,
                                .link = run->link};
    struct session *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    world_start_with(&t->w, &opt);
    run->what->run(t);
    session_free(t);
}

static void
session_suite_add(struct case_list *list, const struct world_link *link,
                  const struct session_case *what, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool legacy = what[i].era == MCPI_ERA_LEGACY;
        struct session_run *run;

        if (!link_suite_fits(what[i].needs, link, legacy))
            continue;
        run = calloc(1, sizeof(*run));
        if (!run)
            abort();
        run->what = &what[i];
        run->link = link;
        snprintf(run->name, sizeof(run->name), "%s.%s_%s", link->name, what[i].name,
                 legacy ? "legacy" : "modern");
        case_list_add(list, (struct test_case){run->name, run_case, run}, run);
    }
}

int
session_suites_main(const char *file, const struct world_link *const *links,
                    size_t link_count, const struct test_case *own, size_t own_count)
{
    struct case_list list = {0};

    for (size_t i = 0; i < link_count; i++) {
        link_suite_add(&list, links[i]);
        session_suite_add(&list, links[i], session_listening, session_listening_count);
        session_suite_add(&list, links[i], session_asking, session_asking_count);
    }
    for (size_t i = 0; i < own_count; i++)
        case_list_add(&list, own[i], NULL);
    return case_list_main(file, &list);
}

int
session_suite_main(const char *file, const struct world_link *link,
                   const struct test_case *own, size_t own_count)
{
    return session_suites_main(file, &link, 1, own, own_count);
}
