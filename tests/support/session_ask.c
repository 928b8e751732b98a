/* support/session_ask.c - the session suite's cases of groups J and L: a server that
 * asks its client, in the way of either era */
#include <stdio.h>
#include <string.h>

#include "support/session.h"

#define NO_ROOTS "{\"roots\":[]}"

/* ---- legacy: requests of the server ---------------------------------------- */

enum { CALL = 0, ASKED = 1, TWIN = 2 }; /* which of the outcomes */

/* The server asks on behalf of the request that came last. */
static void
ask(struct session *t, int n, const struct mcpi_call_options *how)
{
    struct mcpi_call_options opt = {0};
    size_t before = t->w.job_count[CLIENT];

    if (how)
        opt = *how;
    opt.method = opt.method ? opt.method : "roots/list";
    opt.parent = world_job(&t->w, SERVER)->x;
    if (t->out[n].world)
        outcome_done(&t->out[n]);
    world_call(&t->w, SERVER, &opt, &t->out[n]);
    world_run(&t->w);
    assert_int_equal(t->w.job_count[CLIENT], before + 1);
}

/* How often a job was told to stop. */
static int
told(struct session *t, int side, size_t job)
{
    assert_true(job < t->w.job_count[side]);
    return t->w.jobs[side][job].told;
}

/* A call whose handler waits for what it asked. */
static void
start_asking(struct session *t, const struct mcpi_call_options *how)
{
    session_call(t, CALL, NULL);
    ask(t, ASKED, how);
    world_forget(&t->w);
}

/* Its handler goes on and answers. */
static void
expect_unharmed(struct session *t)
{
    assert_int_equal(world_job(&t->w, SERVER)->told, 0);
    session_answer(t, SERVER, "{\"content\":[]}");
    session_expect(t, CALL, 0);
}

static void
a_question_that_is_abandoned_is_taken_back(struct session *t)
{
    static const char *const methods[] = {"sampling/createMessage",
                                          "elicitation/create", "roots/list"};
    struct mcpi_call_options opt = {0};

    for (int i = 0; i < 6; i++) {
        bool times_out = i % 2;

        opt.method = methods[i / 2];
        opt.timeout_us = times_out ? SECOND : 0;
        start_asking(t, &opt);
        if (times_out)
            world_pass(&t->w, SECOND);
        else
            session_cancel(t, ASKED);
        session_expect(t, ASKED, times_out ? MCP_E_TIMEOUT : MCP_E_CANCELED);
        assert_int_equal(session_frames(t, SERVER), 1);
        assert_int_equal(world_job(&t->w, CLIENT)->told, 1);
        assert_int_equal(world_job(&t->w, CLIENT)->how, MCPI_CANCELED);
        session_answer(t, CLIENT, "{}");
        assert_int_equal(t->w.sent_count[CLIENT], 0); /* it sends no answer */
        expect_unharmed(t);
    }
}

static void
a_late_answer_of_the_client_is_dropped(struct session *t)
{
    struct mcpi_id seven = mcpi_id_int(7);
    struct mcpi_call_options opt = {.id = &seven};

    start_asking(t, &opt);
    session_cancel(t, ASKED);
    world_inject(&t->w, CLIENT, RESULT("7", NO_ROOTS));
    world_inject(&t->w, CLIENT, ERROR("7", "-32603"));
    world_run(&t->w);
    session_expect(t, ASKED, MCP_E_CANCELED);
    assert_true(world_logged(&t->w, 'D', "late answer"));
    assert_int_equal(t->w.closed[SERVER], 0);
    expect_unharmed(t);
}

/* The server's question and the client's call have the same id. */
static void
a_frame_cancels_only_what_its_sender_asked(struct session *t)
{
    struct mcpi_id seven = mcpi_id_int(7);
    struct mcpi_call_options opt = {.id = &seven};

    start_asking(t, &opt);
    session_call(t, TWIN, &opt);
    session_cancel(t, TWIN);
    assert_int_equal(told(t, SERVER, 1), 1);
    assert_int_equal(told(t, CLIENT, 0), 0);
    assert_int_equal(t->out[ASKED].done, 0);
    session_call(t, TWIN, &opt);
    session_cancel(t, ASKED);
    assert_int_equal(told(t, CLIENT, 0), 1);
    assert_int_equal(told(t, SERVER, 0), 0);
    assert_int_equal(told(t, SERVER, 2), 0);
    assert_int_equal(t->out[TWIN].done, 0);
    session_answer(t, SERVER, "{\"content\":[]}");
    session_expect(t, TWIN, 0);
}

static void
a_frame_for_our_own_request_is_warned_of_once(struct session *t)
{
    struct mcpi_id id = mcpi_id_int(44);
    struct mcpi_call_options opt = {.id = &id};
    size_t warned = 0;

    session_call(t, CALL, &opt);
    world_forget(&t->w);
    for (int i = 0; i < 3; i++)
        world_inject(&t->w, SERVER, CANCEL("44"));
    world_run(&t->w);
    for (size_t i = 0; i < t->w.log_count; i++)
        warned += t->w.log[i][0] == 'W';
    assert_int_equal(warned, 1);
    assert_true(world_logged(&t->w, 'W', "cancels request 44, which is ours"));
    assert_int_equal(t->out[CALL].done, 0);
    expect_unharmed(t);
    assert_int_equal(t->w.sent_count[CLIENT], 0);
}

static void
the_frame_of_a_question_stands_before_the_answer(struct session *t)
{
    start_asking(t, NULL);
    job_fail(&t->w, world_job(&t->w, SERVER), -32000, "gave up");
    world_run(&t->w);
    assert_int_equal(t->w.sent_count[SERVER], 2);
    assert_non_null(strstr(world_sent(&t->w, SERVER, 0), CANCELED_FRAME));
    assert_non_null(strstr(world_sent(&t->w, SERVER, 1), "gave up"));
    assert_int_equal(world_job(&t->w, CLIENT)->told, 1);
    session_expect(t, ASKED, MCP_E_CANCELED);
    session_expect(t, CALL, MCP_E_PEER);
}

static void
a_modern_client_drops_requests_and_answers_none(struct session *t)
{
    struct mcpi_call_options opt = {.method = "roots/list"};

    session_call(t, CALL, NULL);
    world_forget(&t->w);
    opt.parent = world_job(&t->w, SERVER)->x;
    assert_int_equal(world_try_call(&t->w, SERVER, &opt, &t->out[ASKED]),
                     MCP_E_NO_CHANNEL);
    opt.parent = NULL;
    assert_int_equal(world_try_call(&t->w, SERVER, &opt, &t->out[ASKED]),
                     MCP_E_NO_CHANNEL);
    world_inject(&t->w, SERVER, REQUEST("9", "roots/list", "{}"));
    world_inject(&t->w, SERVER, REQUEST("10", "ping", "{}"));
    world_run(&t->w);
    assert_int_equal(t->w.job_count[CLIENT], 0);
    assert_int_equal(t->w.sent_count[CLIENT], 0);
    assert_int_equal(t->w.sent_count[SERVER], 0);
    expect_unharmed(t);
}

static void
handlers_that_wait_hear_that_the_client_is_gone(struct session *t)
{
    start_asking(t, NULL);
    ask(t, TWIN, NULL);
    world_forget(&t->w);
    world_cut(&t->w, CLIENT);
    world_run(&t->w);
    session_expect(t, ASKED, MCP_E_CLOSED);
    session_expect(t, TWIN, MCP_E_CLOSED);
    assert_int_equal(session_frames(t, SERVER), 0);
}

static void
a_user_who_picks_cancel_has_answered(struct session *t)
{
    struct mcpi_call_options opt = {.method = "elicitation/create"};

    start_asking(t, &opt);
    session_answer(t, CLIENT, "{\"action\":\"cancel\"}");
    session_expect(t, ASKED, 0);
    assert_string_equal(t->out[ASKED].result, "{\"action\":\"cancel\"}");
    assert_int_equal(session_frames(t, SERVER), 0);
    expect_unharmed(t);
}

static void
resting_begin(struct mcpi_exchange *x)
{
    struct session *t = x->served_user;

    t->begun++;
}

/* A handler that asks as the modern era does, served in the legacy one: its run is over
 * while it waits for answers. */
static void
cancel_takes_back_all_that_a_resting_request_asked(struct session *t)
{
    static const struct mcpi_served_ops resting = {.begin = resting_begin};
    struct mcpi_exchange *x;

    start_asking(t, NULL);
    ask(t, TWIN, NULL);
    world_forget(&t->w);
    x = world_job(&t->w, SERVER)->x;
    world_job(&t->w, SERVER)->finished = true; /* its run */
    mcpi_exchange_serve(x, &resting, t);
    mcpi_exchange_rest(x, t->w.now);
    session_cancel(t, CALL);
    session_expect(t, ASKED, MCP_E_CANCELED);
    session_expect(t, TWIN, MCP_E_CANCELED);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(told(t, CLIENT, i), 1);
    /* their frames, and no answer but what ends a response */
    assert_int_equal(t->w.sent_count[SERVER], 2 + world_has_last_words(&t->w));
    assert_int_equal(session_frames(t, SERVER), 2);
    assert_true(x->settled);
    assert_false(mcpi_exchange_resume(x, t->w.now));
    assert_int_equal(t->begun, 0);
    session_answer(t, CLIENT, NO_ROOTS); /* too late */
    assert_int_equal(session_frames(t, CLIENT), 1);
    assert_int_equal(t->w.sent_count[CLIENT], 1);
}

/* ---- modern: answers that ask ---------------------------------------------- */

#define ELICIT                                                                         \
    "{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\","                \
    "\"message\":\"who\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}" \
    "}"
#define ROOTS "{\"method\":\"roots/list\"}"
#define ACCEPT "{\"action\":\"accept\"}"
#define BOTH \
    "{\"inputRequests\":{\"a\":" ELICIT ",\"b\":" ROOTS "},\"requestState\":\"s1\"}"
#define ROOTS_ONLY "{\"inputRequests\":{\"c\":" ROOTS "}}"
#define STATE_ONLY "{\"requestState\":\"s2\"}"

/* The server answers the request that came last with questions. */
static void
answer_asking(struct session *t, const char *body)
{
    struct job *job = world_job(&t->w, SERVER);
    struct mcpi_result r;

    mcpi_result_init(&r, t->w.engine[SERVER]);
    r.type = "input_required";
    mcpi_buf_text(&r.body, body);
    job->finished = true;
    mcpi_exchange_finish(job->x, &r, t->w.now);
    world_run(&t->w);
}

/* The nth call, and that it was answered so; what was sent for it is forgotten. */
static void
start_asked(struct session *t, int n, const struct mcpi_call_options *opt,
            const char *body)
{
    session_call(t, n, opt);
    answer_asking(t, body);
    assert_int_equal(t->out[n].done, 0);
    world_forget(&t->w);
}

/* The client's handlers answer the last two questions. */
static void
answer_both(struct session *t)
{
    struct job *last = world_job(&t->w, CLIENT);

    job_finish(&t->w, last - 1, ACCEPT);
    job_finish(&t->w, last, NO_ROOTS);
    world_run(&t->w);
}

enum ending { BY_CANCEL, BY_IDLE, BY_TOTAL, ENDINGS };
static const int statuses[ENDINGS] = {MCP_E_CANCELED, MCP_E_TIMEOUT,
                                      MCP_E_TOTAL_TIMEOUT};

static struct mcpi_call_options
options_for(enum ending how)
{
    struct mcpi_call_options opt = {.timeout_us = MCPI_NEVER, .total_us = MCPI_NEVER};

    if (how == BY_IDLE)
        opt.timeout_us = SECOND;
    if (how == BY_TOTAL)
        opt.total_us = SECOND;
    return opt;
}

static void
end_by(struct session *t, enum ending how)
{
    if (how == BY_CANCEL)
        session_cancel(t, CALL);
    else
        world_pass(&t->w, SECOND);
    session_expect(t, CALL, statuses[how]);
}

static void
the_signal_names_the_leg_that_is_out(struct session *t)
{
    char id[32];

    for (enum ending how = 0; how < ENDINGS; how++) {
        struct mcpi_call_options opt = options_for(how);
        size_t first = t->w.job_count[SERVER];

        start_asked(t, CALL, &opt, BOTH);
        answer_both(t);
        assert_int_equal(t->w.job_count[SERVER], first + 2);
        assert_int_not_equal(t->w.jobs[SERVER][first].x->rpc.id.number,
                             mcpi_call_id(t->out[CALL].call)->number);
        snprintf(id, sizeof(id), "%lld",
                 (long long)mcpi_call_id(t->out[CALL].call)->number);
        end_by(t, how);
        assert_int_equal(session_signals(t, CLIENT), 1);
        world_expect_named(&t->w, id);
        assert_int_equal(told(t, SERVER, first), 0);
        assert_int_equal(told(t, SERVER, first + 1), 1);
        session_answer(t, SERVER, "{}");
    }
}

static void
between_legs_the_questions_are_canceled_and_nothing_is_sent(struct session *t)
{
    static const enum ending ends[] = {BY_CANCEL, BY_TOTAL};

    for (int i = 0; i < 2; i++) {
        struct mcpi_call_options opt = options_for(ends[i]);

        start_asked(t, CALL, &opt, BOTH);
        end_by(t, ends[i]);
        for (size_t n = t->w.job_count[CLIENT] - 2; n < t->w.job_count[CLIENT]; n++) {
            assert_int_equal(told(t, CLIENT, n), 1);
            assert_int_equal(t->w.jobs[CLIENT][n].how, MCPI_CANCELED);
        }
        answer_both(t); /* they come back too late */
        world_pass(&t->w, 60 * SECOND);
        assert_int_equal(t->w.sent_count[CLIENT], 0);
        assert_int_equal(session_signals(t, CLIENT), 0);
        assert_int_equal(t->w.sent_count[SERVER], 0);
        session_expect(t, CALL, statuses[ends[i]]);
        world_assert_quiet(&t->w);
    }
}

static void
a_pause_ends_at_once(struct session *t)
{
    struct mcpi_call_options brief = {.total_us = MCPI_PAUSE_FIRST / 2};

    start_asked(t, CALL, NULL, STATE_ONLY);
    session_cancel(t, CALL);
    session_expect(t, CALL, MCP_E_CANCELED);
    world_assert_quiet(&t->w);
    world_pass(&t->w, 60 * SECOND);
    start_asked(t, TWIN, &brief, STATE_ONLY);
    world_pass(&t->w, MCPI_PAUSE_FIRST / 2);
    session_expect(t, TWIN, MCP_E_TOTAL_TIMEOUT);
    world_pass(&t->w, 60 * SECOND);
    assert_int_equal(t->w.sent_count[CLIENT], 0);
    start_asked(t, TWIN, NULL, STATE_ONLY); /* and one that nobody ends goes on */
    world_pass(&t->w, MCPI_PAUSE_FIRST);
    assert_int_equal(world_count_sent(&t->w, CLIENT, "\"requestState\":\"s2\""), 1);
    session_answer(t, SERVER, "{\"content\":[]}");
    session_expect(t, TWIN, 0);
}

static void
a_question_that_fails_ends_the_others_and_the_call(struct session *t)
{
    for (size_t fails = 0; fails < 2; fails++) {
        struct job *asked;

        start_asked(t, CALL, NULL, BOTH);
        asked = world_job(&t->w, CLIENT) - 1;
        job_fail(&t->w, &asked[fails], -1234, "the user is gone");
        world_run(&t->w);
        session_expect(t, CALL, MCP_E_PEER);
        assert_int_equal(t->out[CALL].code, -1234);
        assert_string_equal(t->out[CALL].message, "the user is gone");
        assert_int_equal(asked[1 - fails].told, 1);
        assert_int_equal(asked[fails].told, 0);
        job_finish(&t->w, &asked[1 - fails], "{}");
        world_run(&t->w);
        assert_int_equal(t->w.sent_count[CLIENT], 0);
        world_assert_quiet(&t->w);
    }
}

static void
the_total_spans_all_legs_and_questions(struct session *t)
{
    struct mcpi_call_options opt = {.timeout_us = 3 * SECOND, .total_us = 4 * SECOND};

    session_call(t, CALL, &opt);
    world_pass(&t->w, SECOND);
    answer_asking(t, ROOTS_ONLY);
    world_pass(&t->w, SECOND); /* somebody thinks */
    session_answer(t, CLIENT, NO_ROOTS);
    assert_int_equal(t->w.job_count[SERVER], 2);
    world_pass(&t->w, 2 * SECOND - 1); /* what is left for the second leg */
    assert_int_equal(t->out[CALL].done, 0);
    world_pass(&t->w, 1);
    session_expect(t, CALL, MCP_E_TOTAL_TIMEOUT);
    assert_int_equal(session_signals(t, CLIENT), 1);
    assert_int_equal(world_job(&t->w, SERVER)->told, 1);
}

static void
a_server_that_keeps_asking_is_left_without_a_signal(struct session *t)
{
    session_call(t, CALL, NULL);
    for (int i = 0; i < MCPI_ROUNDS_DEFAULT; i++) {
        answer_asking(t, ROOTS_ONLY);
        assert_int_equal(t->out[CALL].done, 0);
        session_answer(t, CLIENT, NO_ROOTS);
    }
    assert_int_equal(t->w.job_count[SERVER], MCPI_ROUNDS_DEFAULT + 1);
    answer_asking(t, ROOTS_ONLY);
    session_expect(t, CALL, MCP_E_LIMIT);
    assert_int_equal(t->w.job_count[CLIENT], MCPI_ROUNDS_DEFAULT);
    assert_int_equal(t->w.sent_count[CLIENT], MCPI_ROUNDS_DEFAULT + 1);
    assert_int_equal(session_signals(t, CLIENT), 0);
    world_assert_quiet(&t->w);
}

static void
the_last_answer_and_a_cancel_race_and_one_wins(struct session *t)
{
    for (int cancel_first = 0; cancel_first < 2; cancel_first++) {
        struct job *last;

        start_asked(t, CALL, NULL, BOTH);
        last = world_job(&t->w, CLIENT);
        job_finish(&t->w, last - 1, ACCEPT);
        if (cancel_first)
            session_cancel(t, CALL);
        job_finish(&t->w, last, NO_ROOTS);
        world_run(&t->w);
        assert_int_equal(t->w.sent_count[CLIENT], !cancel_first);
        if (!cancel_first)
            session_cancel(t, CALL);
        session_expect(t, CALL, MCP_E_CANCELED);
        assert_int_equal(session_signals(t, CLIENT), !cancel_first);
        assert_int_equal(world_job(&t->w, SERVER)->told, !cancel_first);
    }
}

static void
the_state_of_a_canceled_call_is_never_sent_again(struct session *t)
{
    start_asked(t, CALL, NULL, BOTH);
    session_cancel(t, CALL);
    start_asked(t, TWIN, NULL, BOTH);
    answer_both(t); /* this one may */
    assert_int_equal(world_count_sent(&t->w, CLIENT, "\"requestState\":\"s1\""), 1);
    session_cancel(t, TWIN);
    world_forget(&t->w);
    session_call(t, CALL, NULL);
    answer_asking(t, ROOTS_ONLY);
    session_answer(t, CLIENT, NO_ROOTS);
    assert_int_equal(t->w.sent_count[CLIENT], 2);
    assert_int_equal(world_count_sent(&t->w, CLIENT, "inputResponses"), 1);
    assert_int_equal(world_count_sent(&t->w, CLIENT, "requestState"), 0);
    session_answer(t, SERVER, "{\"content\":[]}");
    session_expect(t, CALL, 0);
}

/* The client does not follow, and never comes back. */
static void
a_server_keeps_nothing_of_what_it_asked(struct session *t)
{
    struct mcpi_call_options opt = {.rounds = MCPI_ROUNDS_NONE};
    const struct mcpi_peer *server = t->w.peer[SERVER];
    long live = 0;

    for (int i = 0; i < 5; i++) {
        session_call(t, CALL, &opt);
        answer_asking(t, BOTH);
        session_expect(t, CALL, 0);
        assert_non_null(strstr(t->out[CALL].result, "input_required"));
        outcome_done(&t->out[CALL]);
        mcpi_exchange_unref(t->w.jobs[SERVER][--t->w.job_count[SERVER]].x);
        world_pass(&t->w, 3600 * SECOND);
        world_assert_quiet(&t->w);
        assert_int_equal(server->request_bytes + server->answer_bytes, 0);
        if (i > 1) /* buffers that are kept have their size by now */
            assert_int_equal(t->w.mem->live, live);
        live = t->w.mem->live;
    }
}

/* ---- the table ------------------------------------------------------------- */

#define LEGACY(items, function) SESSION_CASE(items, function, MCPI_ERA_LEGACY)
#define MODERN(items, function) SESSION_CASE(items, function, MCPI_ERA_MODERN)
#define ASKING(items, function) \
    SESSION_CASE_NEEDING(QUESTIONS, items, function, MCPI_ERA_LEGACY)

const struct session_case session_asking[] = {
    ASKING("J1_", a_question_that_is_abandoned_is_taken_back),
    ASKING("J2_", a_late_answer_of_the_client_is_dropped),
    ASKING("J3_", a_frame_cancels_only_what_its_sender_asked),
    LEGACY("J4_", a_frame_for_our_own_request_is_warned_of_once),
    ASKING("J6_", the_frame_of_a_question_stands_before_the_answer),
    MODERN("J7_", a_modern_client_drops_requests_and_answers_none),
    /* a session over HTTP outlives its client's connections (D12) */
    SESSION_CASE_NEEDING(A_PIPE, "J8_", handlers_that_wait_hear_that_the_client_is_gone,
                         MCPI_ERA_LEGACY),
    ASKING("J10_", a_user_who_picks_cancel_has_answered),
    MODERN("L1_", the_signal_names_the_leg_that_is_out),
    MODERN("L2_L7_", between_legs_the_questions_are_canceled_and_nothing_is_sent),
    MODERN("L3_", a_pause_ends_at_once),
    MODERN("L4_", a_question_that_fails_ends_the_others_and_the_call),
    MODERN("L5_", the_total_spans_all_legs_and_questions),
    MODERN("L6_", a_server_that_keeps_asking_is_left_without_a_signal),
    MODERN("L7_", the_last_answer_and_a_cancel_race_and_one_wins),
    MODERN("L8_", the_state_of_a_canceled_call_is_never_sent_again),
    MODERN("L9_", a_server_keeps_nothing_of_what_it_asked),
    ASKING("L10_", cancel_takes_back_all_that_a_resting_request_asked),
};

const size_t session_asking_count = sizeof(session_asking) / sizeof(session_asking[0]);
