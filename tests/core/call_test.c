/* call_test.c - what the user started: one outcome, told once, whoever ends it */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "run/post.h"
#include "support/fake.h"

#define PROGRESS_OF_1 \
    NOTE("notifications/progress", "{\"progressToken\":1,\"progress\":1}")

static const enum mcpi_era eras[] = {MCPI_ERA_MODERN, MCPI_ERA_LEGACY};

/* ---- over the memory link -------------------------------------------------- */

static void
expect_service(struct world *w)
{
    struct outcome out;

    world_plain_call(w, &out);
    world_run(w);
    job_finish(w, world_job(w, SERVER), "{\"content\":[]}");
    world_run(w);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, 0);
    outcome_done(&out);
}

static void
B1_cancel_reaches_the_peer_once_and_the_session_serves_on(void **state)
{
    struct outcome out;
    struct world w;

    (void)state;
    for (int i = 0; i < 2; i++) {
        world_start(&w, eras[i]);
        world_plain_call(&w, &out);
        world_run(&w);
        assert_int_equal(mcpi_call_cancel(out.call, "user", w.now), 0);
        world_run(&w);
        assert_int_equal(world_count_sent(&w, CLIENT, "notifications/cancelled"), 1);
        assert_int_equal(world_job(&w, SERVER)->told, 1);
        assert_int_equal(world_job(&w, SERVER)->how, MCPI_CANCELED);
        assert_string_equal(world_job(&w, SERVER)->reason, "user");
        assert_int_equal(out.status, MCP_E_CANCELED);
        expect_service(&w);
        outcome_done(&out);
        world_close(&w);
    }
}

static void
B2_cancel_is_scoped_to_one_request(void **state)
{
    struct outcome out, other;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_BOTH);
    world_plain_call(&w, &other);
    world_plain_call(&w, &out);
    world_run(&w);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, w.now), 0);
    world_run(&w);
    assert_int_equal(w.jobs[SERVER][0].told, 0);
    assert_int_equal(w.jobs[SERVER][1].told, 1);
    job_finish(&w, &w.jobs[SERVER][0], "{\"content\":[],\"mine\":1}");
    world_run(&w);
    assert_int_equal(other.status, 0);
    assert_non_null(strstr(other.result, "\"mine\":1"));
    outcome_done(&out);
    outcome_done(&other);
    world_close(&w);
}

static void
B3_B30_timeout_reaches_the_peer_and_the_session_serves_on(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND};
    struct outcome out;
    struct world w;

    (void)state;
    for (int i = 0; i < 2; i++) {
        world_start(&w, eras[i]);
        world_call(&w, CLIENT, &opt, &out);
        world_run(&w);
        world_pass(&w, SECOND);
        assert_int_equal(out.done, 1);
        assert_int_equal(out.status, MCP_E_TIMEOUT);
        assert_int_equal(world_count_sent(&w, CLIENT, "notifications/cancelled"), 1);
        assert_int_equal(world_job(&w, SERVER)->told, 1);
        assert_int_equal(w.closed[CLIENT] + w.closed[SERVER], 0);
        world_forget(&w);
        expect_service(&w);
        assert_int_equal(world_count_sent(&w, CLIENT, "initialize"), 0);
        assert_int_equal(world_count_sent(&w, CLIENT, "server/discover"), 0);
        outcome_done(&out);
        world_close(&w);
    }
}

static bool
is_negotiation(const char *method)
{
    return strcmp(method, "initialize") == 0 || strcmp(method, "server/discover") == 0;
}

static void
check_method(struct fake *f, const char *method)
{
    struct mcpi_call_options opt = {.method = method};
    struct outcome out;

    if (strncmp(method, "notifications/", 14) == 0)
        return;
    fake_issue(f, &opt, &out);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f->w.now), 0);
    fake_run(f);
    assert_string_equal(fake_said(f), is_negotiation(method) ? "" : "frame");
    outcome_done(&out);
    fake_forget(f);
}

static void
B4_every_kind_of_request_is_signaled_alike(void **state)
{
#define METHOD_NAME(name, text) text,
    static const char *const methods[] = {MCPI_METHOD_MAP(METHOD_NAME) "custom",
                                          "com.example/extension"};
#undef METHOD_NAME
    struct fake f;

    (void)state;
    for (int i = 0; i < 2; i++) {
        fake_start(&f, FAKE_PIPE, eras[i]);
        for (size_t n = 0; n < sizeof(methods) / sizeof(methods[0]); n++)
            check_method(&f, methods[n]);
        fake_close(&f);
    }
}

static void
B7_B8_one_byte_has_left_so_the_rest_and_the_frame_follow_whole(void **state)
{
    struct world_options wo = {.ring_bytes = 16};
    struct outcome out, waiting;
    struct world w;

    (void)state;
    world_start_with(&w, &wo);
    world_plain_call(&w, &out);
    assert_true(mcpi_pair_step(w.end[CLIENT], w.now) > 0); /* 16 bytes of it */
    world_plain_call(&w, &waiting);
    assert_int_equal(w.job_count[SERVER], 0);
    assert_int_equal(mcpi_call_cancel(out.call, "half", w.now), 0);
    assert_int_equal(mcpi_call_cancel(waiting.call, NULL, w.now), 0);
    world_run(&w);
    assert_int_equal(w.job_count[SERVER], 1);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    assert_string_equal(world_job(&w, SERVER)->reason, "half");
    assert_int_equal(w.sent_count[CLIENT], 2);
    assert_non_null(strstr(world_sent(&w, CLIENT, 1), "notifications/cancelled"));
    assert_false(world_logged(&w, 'W', ""));
    outcome_done(&out);
    outcome_done(&waiting);
    world_close(&w);
}

static void
B9_signal_survives_the_freeing_of_its_scope(void **state)
{
    struct outcome out;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_BOTH);
    world_plain_call(&w, &out);
    world_run(&w);
    mcpi_call_free(out.call, w.now); /* nothing of the call is left */
    out.call = NULL;
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->told, 1);
    assert_int_equal(out.done, 0);
    world_close(&w);
}

/* ---- afterwards ------------------------------------------------------------ */

static void
B20_B21_late_answers_are_dropped_quietly_and_called_late(void **state)
{
    static const char *const answers[] = {RESULT("1", "{}"), ERROR("\"1\"", "-32603"),
                                          PROGRESS_OF_1};
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, &opt, &out);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    fake_run(&f);
    fake_forget(&f);
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
        fake_receive(&f, answers[i]);
    assert_true(fake_logged(&f, "D: late answer to request 1"));
    assert_false(fake_logged(&f, "W: "));
    assert_false(fake_logged(&f, "E: "));
    assert_int_equal(out.done, 1);
    assert_int_equal(out.progressed, 0);
    fake_run(&f);
    assert_string_equal(fake_said(&f), ""); /* up, and not a word about it */
    outcome_done(&out);
    fake_close(&f);
}

static void
B21_answer_to_what_was_never_asked_is_called_unknown(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, NULL, &out);
    fake_receive(&f, RESULT("1", "{}"));
    fake_receive(&f, RESULT("1", "{}")); /* answered is not abandoned */
    assert_true(fake_logged(&f, "D: unknown answer to request 1"));
    fake_receive(&f, RESULT("55", "{}"));
    assert_true(fake_logged(&f, "D: unknown answer to request 55"));
    assert_false(fake_logged(&f, "late"));
    outcome_done(&out);
    fake_close(&f);
}

static void
B21_abandoned_ids_are_free_and_answer_for_no_successor(void **state)
{
    struct mcpi_id id = mcpi_id_string("x", 1);
    struct mcpi_call_options opt = {.id = &id};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, &opt, &out);
    outcome_done(&out);
    fake_issue(&f, &opt, &out); /* buried, and used again */
    fake_receive(&f, RESULT("\"x\"", "{\"n\":2}"));
    assert_int_equal(out.done, 1);
    assert_string_equal(out.result, "{\"n\":2}");
    assert_false(fake_logged(&f, "late"));
    outcome_done(&out);
    fake_close(&f);
}

static void
B26_late_answer_of_a_detached_call_is_dropped(void **state)
{
    struct mcpi_call_options opt = {.on_abandon = MCPI_ABANDON_DETACHES};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_STREAMS, MCPI_ERA_MODERN);
    fake_issue(&f, &opt, &out);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    assert_string_equal(fake_said(&f), "hangup:never");
    fake_receive_on(&f, fake_event(&f, 0)->leg, RESULT("1", "{}"));
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, MCP_E_CANCELED);
    outcome_done(&out);
    fake_close(&f);
}

static void
B29_nothing_is_ever_sent_again_by_itself(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND};
    struct outcome timed_out, canceled;
    struct fake f;

    (void)state;
    for (int i = 0; i < 2; i++) {
        fake_start(&f, FAKE_PIPE, eras[i]);
        fake_call(&f, &opt, &timed_out);
        fake_call(&f, NULL, &canceled);
        fake_run(&f);
        assert_int_equal(mcpi_call_cancel(canceled.call, NULL, f.w.now), 0);
        for (int n = 0; n < 10; n++) {
            fake_pass(&f, 3600 * SECOND);
            fake_run(&f);
        }
        assert_string_equal(fake_said(&f), "request request frame frame");
        outcome_done(&timed_out);
        outcome_done(&canceled);
        fake_close(&f);
    }
}

/* ---- outcomes -------------------------------------------------------------- */

struct verdict {
    int status;
    bool has_answer;
    int code;
};

static void
on_verdict(void *user, struct mcpi_call *call, int status,
           const struct mcpi_rpc *answer)
{
    struct verdict *v = user;

    (void)call;
    v->status = status;
    v->has_answer = answer != NULL;
    v->code = answer ? answer->error_code : 0;
}

static const struct mcpi_call_ops verdict_ops = {.done = on_verdict};

static struct verdict
ended_by(int status)
{
    struct mcpi_call_options opt = {.method = "ping", .ops = &verdict_ops};
    struct verdict v = {.status = 1};
    struct mcpi_call *call;
    struct fake f;

    opt.timeout_us = status == MCP_E_TIMEOUT ? SECOND : MCPI_NEVER;
    opt.total_us = status == MCP_E_TOTAL_TIMEOUT ? SECOND : MCPI_NEVER;
    opt.user = &v;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    assert_int_equal(mcpi_call_start(f.peer, &opt, f.w.now, &call), 0);
    fake_take(&f);
    if (status == MCP_E_CANCELED)
        assert_int_equal(mcpi_call_cancel(call, NULL, f.w.now), 0);
    else if (status == MCP_E_CLOSED)
        mcpi_peer_close(f.peer, f.w.now);
    else if (status == MCP_E_SEND_FAILED)
        fake_written(&f, MCP_E_SEND_FAILED);
    else if (status == MCP_E_PEER)
        fake_receive(&f, ERROR("1", "-4")); /* the number of MCP_E_CANCELED */
    else
        fake_pass(&f, SECOND);
    mcpi_call_free(call, f.w.now);
    fake_close(&f);
    return v;
}

static void
B31_local_outcomes_cannot_be_taken_for_errors_of_the_peer(void **state)
{
    static const int local[] = {MCP_E_CANCELED, MCP_E_TIMEOUT, MCP_E_TOTAL_TIMEOUT,
                                MCP_E_CLOSED, MCP_E_SEND_FAILED};
    struct verdict v;

    (void)state;
    for (size_t i = 0; i < sizeof(local) / sizeof(local[0]); i++) {
        v = ended_by(local[i]);
        assert_int_equal(v.status, local[i]);
        assert_false(v.has_answer);
    }
    v = ended_by(MCP_E_PEER);
    assert_int_equal(v.status, MCP_E_PEER);
    assert_true(v.has_answer);
    assert_int_equal(v.code, -4);
}

static void
B32_no_callback_runs_after_free(void **state)
{
    struct mcpi_call_options opt = {.timeout_us = SECOND, .ops = &outcome_progress_ops};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, &opt, &out);
    outcome_done(&out);
    fake_receive(&f, PROGRESS_OF_1);
    fake_receive(&f, RESULT("1", "{}"));
    fake_pass(&f, 2 * SECOND);
    mcpi_peer_close(f.peer, f.w.now);
    mcpi_peer_lost(f.peer, MCP_E_CLOSED, f.w.now);
    assert_int_equal(out.done + out.progressed, 0);
    fake_assert_quiet(&f);
    fake_close(&f);
}

static void
released_handle_is_still_told_and_frees_itself(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, NULL, &out);
    mcpi_call_release(out.call);
    out.call = NULL;
    fake_receive(&f, RESULT("1", "{}"));
    assert_int_equal(out.done, 1);
    outcome_done(&out);
    fake_close(&f);
}

static void
call_without_a_handle_frees_itself(void **state)
{
    struct mcpi_call_options opt = {.method = "ping", .ops = &outcome_ops};
    struct outcome out = {0};
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    out.world = &f.w;
    opt.user = &out;
    assert_int_equal(mcpi_call_start(f.peer, &opt, f.w.now, NULL), 0);
    fake_run(&f);
    fake_receive(&f, RESULT("1", "{}"));
    assert_int_equal(out.done, 1);
    outcome_done(&out);
    fake_close(&f);
}

/* ---- from callbacks and threads -------------------------------------------- */

struct reentrant {
    struct fake *f;
    int done;
    int status;
    int cancels[3]; /* what cancel said: in progress, again there, in done */
    bool free_in_done;
};

static void
cancel_in_done(void *user, struct mcpi_call *call, int status,
               const struct mcpi_rpc *answer)
{
    struct reentrant *r = user;

    (void)answer;
    r->done++;
    r->status = status;
    r->cancels[2] = mcpi_call_cancel(call, NULL, r->f->w.now);
    if (r->free_in_done)
        mcpi_call_free(call, r->f->w.now);
}

static void
cancel_in_progress(void *user, struct mcpi_call *call, const struct mcpi_progress *p)
{
    struct reentrant *r = user;

    (void)p;
    r->cancels[0] = mcpi_call_cancel(call, NULL, r->f->w.now);
    if (!r->free_in_done)
        r->cancels[1] = mcpi_call_cancel(call, NULL, r->f->w.now);
}

static const struct mcpi_call_ops reentrant_ops = {.done = cancel_in_done,
                                                   .progress = cancel_in_progress};

static void
B33_cancel_from_its_own_callbacks_is_one_signal(void **state)
{
    struct mcpi_call_options opt = {.method = "ping", .ops = &reentrant_ops};
    struct mcpi_call *call;
    struct fake f;

    (void)state;
    for (int frees = 0; frees < 2; frees++) {
        struct reentrant r = {.f = &f, .cancels = {1, 1, 1}, .free_in_done = frees};

        opt.user = &r;
        fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
        assert_int_equal(mcpi_call_start(f.peer, &opt, f.w.now, &call), 0);
        fake_run(&f);
        fake_receive(&f, PROGRESS_OF_1);
        fake_run(&f);
        assert_string_equal(fake_said(&f), "request frame");
        assert_int_equal(r.done, 1);
        assert_int_equal(r.status, MCP_E_CANCELED);
        assert_int_equal(r.cancels[0], 0);
        assert_int_equal(r.cancels[1], frees ? 1 : MCP_E_STATE);
        assert_int_equal(r.cancels[2], MCP_E_STATE);
        if (!frees)
            mcpi_call_free(call, f.w.now);
        fake_close(&f);
    }
}

/* The thread that owns the engine sleeps until something is posted. */
struct door {
    struct mcpi_posts posts;
    pthread_mutex_t lock;
    pthread_cond_t knock;
    bool knocked; /* under lock */
};

struct canceler {
    struct mcpi_post post; /* first: the node is the canceler */
    struct door *door;
    struct fake *f;
    struct mcpi_call *call;
    pthread_barrier_t *barrier;
    bool ran;
    int status;
};

static void
door_knock(void *user)
{
    struct door *door = user;

    pthread_mutex_lock(&door->lock);
    door->knocked = true;
    pthread_cond_signal(&door->knock);
    pthread_mutex_unlock(&door->lock);
}

static void
door_answer(struct door *door)
{
    pthread_mutex_lock(&door->lock);
    while (!door->knocked)
        pthread_cond_wait(&door->knock, &door->lock);
    door->knocked = false;
    pthread_mutex_unlock(&door->lock);
    mcpi_posts_run(&door->posts);
}

static void
canceler_arrive(struct mcpi_post *post)
{
    struct canceler *c = (struct canceler *)post;

    c->status = mcpi_call_cancel(c->call, NULL, c->f->w.now);
    c->ran = true;
}

static void *
canceler_main(void *user)
{
    struct canceler *c = user;

    pthread_barrier_wait(c->barrier);
    mcpi_posts_add(&c->door->posts, &c->post);
    return NULL;
}

static void
race_two_cancels(struct door *door, struct fake *f, struct outcome *out)
{
    struct canceler c[2];
    pthread_barrier_t barrier;
    pthread_t threads[2];

    pthread_barrier_init(&barrier, NULL, 2);
    for (int i = 0; i < 2; i++) {
        c[i] = (struct canceler){.post = {.fn = canceler_arrive},
                                 .door = door,
                                 .f = f,
                                 .call = out->call,
                                 .barrier = &barrier};
        assert_int_equal(pthread_create(&threads[i], NULL, canceler_main, &c[i]), 0);
    }
    while (!c[0].ran || !c[1].ran)
        door_answer(door);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&barrier);
    assert_int_equal(c[0].status + c[1].status, MCP_E_STATE); /* one came second */
}

static void
A16_B33_two_threads_cancel_at_once_and_one_signal_goes_out(void **state)
{
    struct door door = {.knocked = false};
    struct outcome out;
    struct fake f;

    (void)state;
    assert_int_equal(mcpi_posts_init(&door.posts, door_knock, &door), 0);
    pthread_mutex_init(&door.lock, NULL);
    pthread_cond_init(&door.knock, NULL);
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    for (int round = 0; round < 50; round++) {
        fake_issue(&f, NULL, &out);
        race_two_cancels(&door, &f, &out);
        fake_run(&f);
        assert_string_equal(fake_said(&f), "frame");
        assert_int_equal(out.done, 1);
        assert_int_equal(out.status, MCP_E_CANCELED);
        outcome_done(&out);
    }
    fake_close(&f);
    mcpi_posts_done(&door.posts);
    pthread_cond_destroy(&door.knock);
    pthread_mutex_destroy(&door.lock);
}

TEST_MAIN(TEST(B1_cancel_reaches_the_peer_once_and_the_session_serves_on),
          TEST(B2_cancel_is_scoped_to_one_request),
          TEST(B3_B30_timeout_reaches_the_peer_and_the_session_serves_on),
          TEST(B4_every_kind_of_request_is_signaled_alike),
          TEST(B7_B8_one_byte_has_left_so_the_rest_and_the_frame_follow_whole),
          TEST(B9_signal_survives_the_freeing_of_its_scope),
          TEST(B20_B21_late_answers_are_dropped_quietly_and_called_late),
          TEST(B21_answer_to_what_was_never_asked_is_called_unknown),
          TEST(B21_abandoned_ids_are_free_and_answer_for_no_successor),
          TEST(B26_late_answer_of_a_detached_call_is_dropped),
          TEST(B29_nothing_is_ever_sent_again_by_itself),
          TEST(B31_local_outcomes_cannot_be_taken_for_errors_of_the_peer),
          TEST(B32_no_callback_runs_after_free),
          TEST(released_handle_is_still_told_and_frees_itself),
          TEST(call_without_a_handle_frees_itself),
          TEST(B33_cancel_from_its_own_callbacks_is_one_signal),
          TEST(A16_B33_two_threads_cancel_at_once_and_one_signal_goes_out))
