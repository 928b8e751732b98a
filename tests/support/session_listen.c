/* support/session_listen.c - the session suite's cases of group H: who listens */
#include <stdio.h>
#include <string.h>

#include "support/session.h"

/* ---- what repeats ---------------------------------------------------------- */

#define FIRST "\"listen-1\"" /* ids of subscriptions, in order */
#define SECOND_ID "\"listen-2\""
/* How the result begins that ends one; it names it twice. */
#define GRACEFUL(id)                                                              \
    "\"id\":" id ",\"result\":{\"resultType\":\"complete\",\"_meta\":{" META_KEY( \
        "subscriptionId") ":" id
#define ENDED(id) RESULT(id, "{\"resultType\":\"complete\"," TAG(id) "}")

/* The server says something on its own, whatever its engine thinks of it. */
static void
inject(struct session *t, const char *line)
{
    world_inject(&t->w, SERVER, line);
    world_run(&t->w);
}

static size_t
listeners(const struct session *t)
{
    return t->w.engine[SERVER]->listener_count;
}

static bool
has_route(struct session *t, const char *text)
{
    struct mcpi_id id = mcpi_id_string(text, strlen(text));

    return mcpi_leg_find_any(t->w.peer[CLIENT], &id) != NULL;
}

/* A subscription that is asked for, and that nobody has acknowledged. */
static void
listen_unserved(struct session *t, int n, int64_t open_us)
{
    session_listen(t, n, open_us);
    world_run(&t->w);
}

/* ---- opening --------------------------------------------------------------- */

static void
a_subscription_has_a_text_for_an_id_and_its_route_first(struct session *t)
{
    const struct mcpi_id *id;

    session_listen(t, 0, 0);
    assert_true(has_route(t, "listen-1"));
    assert_int_equal(t->w.sent_count[CLIENT], 0);
    world_run(&t->w);
    id = &world_job(&t->w, SERVER)->x->rpc.id;
    assert_int_equal(id->kind, MCPI_ID_STRING);
    assert_int_equal(id->len, strlen("listen-1"));
    assert_memory_equal(id->text, "listen-1", id->len);
    assert_int_equal(session_try_serve(t, 0), 0);
    world_run(&t->w);
    session_expect_order(t, 0, "o");
}

static void
only_the_wait_for_the_ack_has_a_clock(struct session *t)
{
    listen_unserved(t, 0, SECOND);
    world_pass(&t->w, SECOND - 1);
    assert_int_equal(session_try_serve(t, 0), 0);
    world_run(&t->w);
    session_expect_order(t, 0, "o");
    world_pass(&t->w, 24 * 3600 * SECOND);
    session_publish(t, &tools);
    world_run(&t->w);
    session_expect_order(t, 0, "oe");
    assert_int_equal(session_signals(t, CLIENT), 0);
}

static void
no_ack_in_time_fails_the_open_with_a_frame(struct session *t)
{
    listen_unserved(t, 0, SECOND);
    world_pass(&t->w, SECOND - 1);
    assert_int_equal(t->heard[0].ended, 0);
    world_pass(&t->w, 1);
    session_expect_end(t, 0, MCPI_SUBSCRIPTION_LOST, MCP_E_TIMEOUT);
    assert_int_equal(session_signals(t, CLIENT), 1);
    world_expect_named(&t->w, FIRST);
    assert_int_equal(world_job(&t->w, SERVER)->told, 1);
    assert_int_equal(world_job(&t->w, SERVER)->how, MCPI_CANCELED);
    assert_false(has_route(t, "listen-1"));
    if (world_hangs_up(&t->w))
        session_call(t, 0, NULL); /* or there is no stream for what is late */
    inject(t, ACK(FIRST, "{}"));
    inject(t, CHANGED(FIRST, "tools"));
    session_expect_order(t, 0, "x");
}

static void
close_before_the_ack_takes_back_what_was_sent(struct session *t)
{
    session_listen(t, 0, 0);
    session_close(t, 0); /* not yet sent: without a trace */
    world_run(&t->w);
    assert_int_equal(t->w.sent_count[CLIENT], 0);
    listen_unserved(t, 0, 0);
    session_close(t, 0);
    world_run(&t->w);
    assert_int_equal(session_signals(t, CLIENT), 1);
    world_expect_named(&t->w, SECOND_ID);
    assert_int_equal(world_job(&t->w, SERVER)->told, 1);
    assert_false(has_route(t, "listen-2"));
    session_expect_order(t, 0, "");
}

/* ---- we close it ----------------------------------------------------------- */

static void
close_is_one_frame_that_names_it(struct session *t)
{
    session_join(t, 0);
    session_join(t, 1);
    world_forget(&t->w);
    session_close(t, 0);
    world_run(&t->w);
    assert_int_equal(t->w.sent_count[CLIENT], 1);
    assert_int_equal(session_frames(t, CLIENT), 1);
    assert_int_equal(world_count_sent(&t->w, CLIENT, "\"requestId\":" FIRST), 1);
    assert_int_equal(t->stream[0].ended, 1);
    assert_int_equal(t->stream[0].how, MCPI_CANCELED);
    assert_int_equal(t->stream[1].ended, 0);
    session_close(t, 1);
    world_run(&t->w);
    world_assert_quiet(&t->w);
}

static void
close_hangs_up_and_posts_nothing(struct session *t)
{
    session_join(t, 0);
    session_join(t, 1);
    session_call(t, 0, NULL);
    world_forget(&t->w);
    session_close(t, 0);
    world_run(&t->w);
    assert_int_equal(session_signals(t, CLIENT), 1);
    assert_int_equal(t->w.sent_count[CLIENT], 0);
    assert_int_equal(t->stream[0].ended, 1);
    assert_int_equal(t->stream[0].how, MCPI_CANCELED);
    assert_int_equal(t->stream[1].ended, 0);
    session_answer(t, SERVER, "{\"content\":[]}");
    session_expect(t, 0, 0);
    session_publish(t, &tools);
    world_run(&t->w);
    session_expect_order(t, 0, "o");
    session_expect_order(t, 1, "oe");
    session_close(t, 1);
    world_run(&t->w);
    world_assert_quiet(&t->w);
}

static void
close_discards_what_is_on_its_way(struct session *t)
{
    session_join(t, 0);
    session_publish(t, &tools);
    session_update(t, "x:1");
    session_run_only(t, SERVER); /* the client has not read them */
    assert_int_equal(world_count_sent(&t->w, SERVER, "list_changed"), 1);
    session_close(t, 0);
    world_run(&t->w);
    session_expect_order(t, 0, "o");
    session_join(t, 1);
    t->heard[1].close_when_event = true;
    session_publish(t, &tools);
    session_publish(t, &prompts);
    session_update(t, "x:1");
    world_run(&t->w);
    session_expect_order(t, 1, "oe");
    assert_null(t->heard[1].s);
    assert_int_equal(session_signals(t, CLIENT), 2);
}

/* ---- how it ends ----------------------------------------------------------- */

static void
the_first_reason_to_end_wins(struct session *t)
{
    for (int i = 0; i < 3; i++)
        session_join(t, i);
    inject(t, ENDED(FIRST)); /* graceful */
    inject(t, CANCEL(FIRST));
    inject(t, CANCEL(SECOND_ID)); /* lost */
    inject(t, ENDED(SECOND_ID));
    session_close(t, 2); /* local */
    inject(t, ENDED("\"listen-3\""));
    inject(t, CANCEL("\"listen-3\""));
    world_cut(&t->w, SERVER);
    world_run(&t->w);
    session_expect_end(t, 0, MCPI_SUBSCRIPTION_GRACEFUL, 0);
    session_expect_end(t, 1, MCPI_SUBSCRIPTION_LOST, MCP_E_CANCELED);
    session_expect_order(t, 2, "o"); /* we know */
}

static void
a_result_comes_after_all_events(struct session *t)
{
    session_join(t, 0);
    session_publish(t, &tools);
    session_update(t, "x:1");
    session_update(t, "y:/2");
    session_end_gracefully(t, 0);
    session_run_only(t, SERVER); /* all of it is buffered */
    session_expect_order(t, 0, "o");
    world_forget(&t->w);
    world_run(&t->w);
    session_expect_order(t, 0, "oeeex");
    session_expect_end(t, 0, MCPI_SUBSCRIPTION_GRACEFUL, 0);
    session_close(t, 0);
    world_run(&t->w);
    assert_int_equal(t->w.sent_count[CLIENT], 0);
    world_assert_quiet(&t->w);
}

static void
a_result_before_the_ack_opens_it_and_ends_it(struct session *t)
{
    listen_unserved(t, 0, 0);
    session_answer(t, SERVER, "{}");
    session_expect_order(t, 0, "ox");
    assert_false(t->heard[0].filtered);
    session_expect_end(t, 0, MCPI_SUBSCRIPTION_GRACEFUL, 0);
    assert_int_equal(session_signals(t, CLIENT), 0);
}

static void
a_frame_of_the_server_ends_that_one_alone(struct session *t)
{
    session_join(t, 0);
    listen_unserved(t, 1, 0);
    session_call(t, 0, NULL);
    world_forget(&t->w);
    inject(t, CANCEL(FIRST));
    session_expect_end(t, 0, MCPI_SUBSCRIPTION_LOST, MCP_E_CANCELED);
    assert_int_equal(t->heard[1].ended, 0);
    inject(t, CANCEL(SECOND_ID));
    session_expect_end(t, 1, MCPI_SUBSCRIPTION_LOST, MCP_E_CANCELED);
    session_expect_order(t, 1, "x"); /* before the ack: the open has failed */
    inject(t, CANCEL("3"));          /* not for a server to cancel */
    assert_int_equal(t->out[0].done, 0);
    assert_int_equal(t->w.sent_count[CLIENT], 0);
    session_answer(t, SERVER, "{\"content\":[]}");
    session_expect(t, 0, 0);
}

static void
a_lost_connection_ends_it_and_nothing_is_reopened(struct session *t)
{
    session_join(t, 0);
    listen_unserved(t, 1, 0);
    world_forget(&t->w);
    world_cut(&t->w, SERVER);
    world_run(&t->w);
    session_expect_end(t, 0, MCPI_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    session_expect_end(t, 1, MCPI_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    session_expect_order(t, 0, "ox");
    session_expect_order(t, 1, "x");
    world_pass(&t->w, 3600 * SECOND);
    assert_int_equal(t->w.sent_count[CLIENT], 0);
}

static void
closing_the_session_ends_all_as_lost(struct session *t)
{
    session_join(t, 0);
    listen_unserved(t, 1, 0);
    mcpi_peer_close(t->w.peer[CLIENT], t->w.now);
    session_expect_end(t, 0, MCPI_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    session_expect_end(t, 1, MCPI_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    world_run(&t->w);
    world_pass(&t->w, SECOND);
    assert_int_equal(t->w.closed[CLIENT], 1);
    assert_int_equal(t->w.closed[SERVER], world_has_session(&t->w));
    assert_int_equal(t->stream[0].how, session_leaving(t));
    assert_int_equal(listeners(t), 0);
    session_expect_order(t, 0, "ox");
}

static void
what_is_tagged_for_nobody_reaches_nobody(struct session *t)
{
    session_join(t, 0);
    listen_unserved(t, 1, 0);
    session_call(t, 0, NULL);
    session_close(t, 1);
    world_run(&t->w);
    world_forget(&t->w);
    inject(t, CHANGED("\"listen-9\"", "tools")); /* never was */
    inject(t, CHANGED("3", "tools"));            /* a call */
    inject(t, ACK(SECOND_ID, "{}"));             /* closed */
    inject(t, CHANGED(SECOND_ID, "tools"));
    session_expect_order(t, 0, "o");
    session_expect_order(t, 1, "");
    assert_int_equal(t->w.notice_count, 0);
    assert_int_equal(t->out[0].done, 0);
    inject(t, CHANGED(FIRST, "tools"));
    session_expect_order(t, 0, "oe");
}

/* ---- the server's side of it ----------------------------------------------- */

static void
the_ack_stands_before_all_events(struct session *t)
{
    listen_unserved(t, 0, 0);
    session_publish(t, &tools); /* nobody listens yet */
    assert_int_equal(session_try_serve(t, 0), 0);
    session_update(t, "x:1");
    session_publish(t, &prompts);
    world_run(&t->w);
    assert_int_equal(t->w.sent_count[SERVER], 3);
    assert_string_equal(world_sent(&t->w, SERVER, 0), ACK(FIRST, SESSION_FILTER));
    assert_string_equal(world_sent(&t->w, SERVER, 1), UPDATED(FIRST, "x:1"));
    assert_string_equal(world_sent(&t->w, SERVER, 2), CHANGED(FIRST, "prompts"));
    session_expect_order(t, 0, "oee");
}

static void
nothing_follows_once_the_client_has_closed_it(struct session *t)
{
    session_join(t, 0);
    session_join(t, 1);
    world_forget(&t->w);
    session_close(t, 0);
    world_run(&t->w);
    assert_int_equal(listeners(t), 1);
    session_publish(t, &tools);
    session_update(t, "x:1");
    world_run(&t->w);
    assert_int_equal(world_count_sent(&t->w, SERVER, FIRST), 0); /* and no result */
    assert_int_equal(world_count_sent(&t->w, SERVER, SECOND_ID), 2);
    session_expect_order(t, 1, "oee");
}

/* The frame arrives while nothing can leave. */
static void
a_frame_takes_back_what_waits(struct session *t)
{
    session_join(t, 0);
    session_fill_wire(t, 0);
    world_forget(&t->w);
    session_publish(t, &tools);
    session_update(t, "x:1");
    world_inject(&t->w, CLIENT, CANCEL(FIRST));
    session_run_only(t, SERVER);
    assert_int_equal(t->stream[0].how, MCPI_CANCELED);
    assert_int_equal(listeners(t), 0);
    world_run(&t->w);
    session_expect(t, 0, 0); /* what was half written */
    assert_int_equal(t->w.sent_count[SERVER], 0);
    session_expect_order(t, 0, "o");
}

static void
a_client_that_is_gone_leaves_nothing(struct session *t)
{
    session_join(t, 0);
    session_join(t, 1);
    world_forget(&t->w);
    world_cut(&t->w, CLIENT);
    world_run(&t->w);
    /* at once: nothing has to drain */
    assert_int_equal(t->w.closed[SERVER], world_has_session(&t->w));
    assert_int_equal(listeners(t), 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(t->stream[i].how, session_leaving(t));
    session_publish(t, &tools);
    world_run(&t->w);
    assert_int_equal(t->w.sent_count[SERVER], 0);
    assert_int_equal(t->w.engine[SERVER]->counts.exchanges, 0);
}

static void
a_stop_says_what_is_due_and_then_the_results(struct session *t)
{
    session_join(t, 0);
    session_join(t, 1);
    session_call(t, 0, NULL);
    world_forget(&t->w);
    session_publish(t, &tools);
    session_update(t, "x:1");
    mcpi_peer_close(t->w.peer[SERVER], t->w.now);
    assert_int_equal(listeners(t), 0);
    world_run(&t->w);
    for (int i = 0; i < 2; i++) {
        session_expect_order(t, i, "oeex");
        session_expect_end(t, i, MCPI_SUBSCRIPTION_GRACEFUL, 0);
    }
    assert_int_equal(world_count_sent(&t->w, SERVER, GRACEFUL(FIRST)), 1);
    assert_int_equal(world_count_sent(&t->w, SERVER, GRACEFUL(SECOND_ID)), 1);
    session_expect(t, 0, MCP_E_PEER); /* beside it, as ever */
    assert_int_equal(t->w.closed[SERVER], 1);
}

static void
a_stop_is_bounded_though_nobody_reads(struct session *t)
{
    session_join(t, 0);
    session_fill_wire(t, 0);
    session_publish(t, &tools);
    mcpi_peer_close(t->w.peer[SERVER], t->w.now);
    session_run_only(t, SERVER);
    session_pass_only(t, SERVER, SECOND - 1);
    assert_int_equal(t->w.closed[SERVER], 0);
    session_pass_only(t, SERVER, 1);
    assert_int_equal(t->w.closed[SERVER], 1);
    assert_int_equal(listeners(t), 0);
    world_run(&t->w);
    session_expect_end(t, 0, MCPI_SUBSCRIPTION_LOST, MCP_E_CLOSED);
}

static void
a_server_never_sends_a_frame(struct session *t)
{
    struct mcpi_call_options brief = {.timeout_us = SECOND};

    for (int i = 0; i < 3; i++)
        session_join(t, i);
    session_call(t, 0, NULL);
    session_cancel(t, 0); /* by the client */
    session_call(t, 1, &brief);
    world_pass(&t->w, SECOND);
    session_expect(t, 1, MCP_E_TIMEOUT);
    session_call(t, 2, NULL);
    job_fail(&t->w, world_job(&t->w, SERVER), -32603, "failed");
    session_call(t, 3, NULL);
    session_close(t, 0);                          /* by the client */
    session_end_gracefully(t, 1);                 /* by the server */
    mcpi_peer_close(t->w.peer[SERVER], t->w.now); /* and all that is left */
    world_run(&t->w);
    session_expect_end(t, 1, MCPI_SUBSCRIPTION_GRACEFUL, 0);
    session_expect_end(t, 2, MCPI_SUBSCRIPTION_GRACEFUL, 0);
    session_expect(t, 3, MCP_E_PEER);
    assert_int_equal(session_frames(t, SERVER), 0);
}

/* ---- bounds ---------------------------------------------------------------- */

static void
update_many(struct session *t, int count)
{
    char uri[32];

    for (int i = 0; i < count; i++) {
        snprintf(uri, sizeof(uri), "y:/%d", i);
        session_update(t, uri);
    }
}

/* Both limits are as small as can be. */
static void
a_reader_that_is_too_slow_loses_its_stream_and_frees_the_slot(struct session *t)
{
    session_join(t, 0);
    session_fill_wire(t, 0);
    world_forget(&t->w);
    for (int i = 0; i < 1000; i++)
        update_many(t, 2); /* each is due once */
    session_pass_only(t, SERVER, 0);
    assert_int_equal(t->stream[0].slow, 0);
    update_many(t, 3);
    session_pass_only(t, SERVER, 0);
    assert_int_equal(t->stream[0].slow, 1);
    assert_int_equal(listeners(t), 0);
    assert_int_equal(t->w.sent_count[SERVER], 0); /* its writer is stuck */
    world_run(&t->w);
    session_expect_order(t, 0, "ox");
    session_expect_end(t, 0, MCPI_SUBSCRIPTION_LOST, MCP_E_PEER);
    session_expect(t, 0, 0); /* what it was stuck in */
    session_join(t, 1);
}

static void
without_a_slot_it_is_refused_before_any_ack(struct session *t)
{
    session_join(t, 0);
    world_forget(&t->w);
    listen_unserved(t, 1, 0);
    assert_int_equal(session_try_serve(t, 1), MCP_E_LIMIT);
    job_fail(&t->w, world_job(&t->w, SERVER), t->stream[1].why.code,
             t->stream[1].why.message);
    world_run(&t->w);
    session_expect_order(t, 1, "x");
    session_expect_end(t, 1, MCPI_SUBSCRIPTION_LOST, MCP_E_PEER);
    assert_int_equal(t->heard[1].code, MCPI_RPC_INTERNAL_ERROR);
    assert_int_equal(world_count_sent(&t->w, SERVER, "acknowledged"), 0);
    session_close(t, 0);
    world_run(&t->w);
    session_join(t, 2);
}

static void
who_connects_again_must_listen_again(struct session *t)
{
    struct world_options opt = {.client_era = MCPI_ERA_MODERN,
                                .server_era = MCPI_ERA_MODERN};

    session_join(t, 0);
    session_publish(t, &tools);
    world_cut(&t->w, CLIENT);
    world_run(&t->w);
    world_cut(&t->w, SERVER);
    assert_int_equal(t->w.link->open(&t->w, &opt), 0);
    assert_int_equal(mcpi_peer_connect(t->w.peer[CLIENT], t->w.now), 0);
    world_run(&t->w);
    assert_int_equal(t->w.ready_count, 2);
    world_forget(&t->w);
    assert_int_equal(listeners(t), 0);
    session_publish(t, &prompts);
    world_pass(&t->w, 60 * SECOND);
    assert_int_equal(t->w.sent_count[CLIENT], 0);
    assert_int_equal(t->w.sent_count[SERVER], 0);
    session_expect_order(t, 0, "ox");
    session_join(t, 1);
    session_publish(t, &tools);
    world_run(&t->w);
    session_expect_order(t, 1, "oe"); /* and nothing of what was before */
    session_expect_order(t, 0, "ox");
}

#define MODERN(items, function) SESSION_CASE(items, function, MCPI_ERA_MODERN)

const struct session_case session_listening[] = {
    MODERN("H1_", a_subscription_has_a_text_for_an_id_and_its_route_first),
    MODERN("H2_", only_the_wait_for_the_ack_has_a_clock),
    MODERN("H5_", no_ack_in_time_fails_the_open_with_a_frame),
    MODERN("H5_", close_before_the_ack_takes_back_what_was_sent),
    SESSION_CASE_NEEDING(A_PIPE, "H3_", close_is_one_frame_that_names_it,
                         MCPI_ERA_MODERN),
    SESSION_CASE_NEEDING(A_RESPONSE, "H4_", close_hangs_up_and_posts_nothing,
                         MCPI_ERA_MODERN),
    MODERN("H12_", close_discards_what_is_on_its_way),
    MODERN("H6_", the_first_reason_to_end_wins),
    MODERN("H7_", a_result_comes_after_all_events),
    MODERN("H8_", a_result_before_the_ack_opens_it_and_ends_it),
    MODERN("H9_", a_frame_of_the_server_ends_that_one_alone),
    MODERN("H10_", a_lost_connection_ends_it_and_nothing_is_reopened),
    MODERN("H11_", closing_the_session_ends_all_as_lost),
    MODERN("H14_", what_is_tagged_for_nobody_reaches_nobody),
    MODERN("H15_", the_ack_stands_before_all_events),
    MODERN("H16_", nothing_follows_once_the_client_has_closed_it),
    /* a frame of the client's, by hand */
    SESSION_CASE_NEEDING(A_SESSION, "H16_", a_frame_takes_back_what_waits,
                         MCPI_ERA_MODERN),
    MODERN("H16_", a_client_that_is_gone_leaves_nothing),
    MODERN("H17_", a_stop_says_what_is_due_and_then_the_results),
    MODERN("H17_", a_stop_is_bounded_though_nobody_reads),
    MODERN("H18_", a_server_never_sends_a_frame),
    {"H19_a_reader_that_is_too_slow_loses_its_stream_and_frees_the_slot",
     a_reader_that_is_too_slow_loses_its_stream_and_frees_the_slot,
     MCPI_ERA_MODERN,
     {.subscribed = 2, .listeners = 1},
     0},
    {"H20_without_a_slot_it_is_refused_before_any_ack",
     without_a_slot_it_is_refused_before_any_ack,
     MCPI_ERA_MODERN,
     {.listeners = 1},
     0},
    MODERN("H23_", who_connects_again_must_listen_again),
};

const size_t session_listening_count = sizeof(session_listening) /
                                       sizeof(session_listening[0]);
