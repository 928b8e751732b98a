/* stateless_test.c - who asks, where no peer stands for one client: traits, versions,
 * principals */
#include <string.h>

#include "core/subscribe.h"
#include "core/versions.h"
#include "support/endpoint.h"

enum {
    SESSION = MCPI_LAST_WORD,
    STATELESS = MCPI_PRIVATE_IDS | MCPI_GONE_CANCELS | MCPI_NO_REQUESTS |
                MCPI_LAST_WORD | MCPI_STATELESS
};

#define OLDER "2025-06-18"

static const char *
sent(const struct endpoint_stream *stream)
{
    assert_int_equal(stream->count, 1);
    return stream->sent[0];
}

/* ---- no handshake -------------------------------------------------------- */

static void
D16_legacy_request_is_served_without_a_handshake(void **state)
{
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, STATELESS, NULL);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    assert_ptr_equal(endpoint_job(&ep)->x->caller.dialect, &mcpi_dialect_legacy);
    assert_string_equal(endpoint_job(&ep)->x->caller.version, MCPI_VERSION_LEGACY);
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_run(&ep);
    assert_string_equal(sent(post), RESULT("1", "{}"));
    endpoint_close(&ep);
}

static void
legacy_request_of_a_session_still_needs_one(void **state)
{
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SESSION, NULL);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    endpoint_run(&ep);
    assert_non_null(strstr(sent(post), "not initialized"));
    assert_int_equal(post->codes[0], -32602);
    endpoint_close(&ep);
}

static void
server_of_the_modern_era_alone_serves_no_legacy_request_without_one_either(void **state)
{
    struct endpoint_options opt = {.traits = STATELESS, .era = MCPI_ERA_MODERN};
    struct endpoint_stream *post, *hello;
    struct endpoint ep;

    (void)state;
    endpoint_open_with(&ep, &opt);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    hello = endpoint_post(&ep, INITIALIZE("2", "2025-11-25"));
    endpoint_run(&ep);
    assert_int_equal(ep.job_count, 0);
    assert_int_equal(sent(post) ? post->codes[0] : 0, -32602);
    assert_int_equal(sent(hello) ? hello->codes[0] : 0, -32022);
    endpoint_close(&ep);
}

static void
initialize_is_answered_each_time_and_nothing_of_it_is_kept(void **state)
{
    struct endpoint_stream *post;
    struct endpoint ep;
    long live;

    (void)state;
    endpoint_open(&ep, STATELESS, NULL);
    live = ep.mem.live;
    for (int i = 0; i < 3; i++) {
        post = endpoint_post(&ep, INITIALIZE("1", OLDER));
        endpoint_run(&ep);
        assert_non_null(strstr(sent(post), "\"protocolVersion\":\"" OLDER "\""));
        assert_int_equal(post->settled, 1);
        endpoint_post(&ep, NOTE("notifications/initialized", "{}"));
        endpoint_run(&ep);
        endpoint_forget(&ep);
        assert_int_equal(ep.mem.live, live);
    }
    assert_false(ep.peer[0]->initialized);
    assert_null(ep.peer[0]->hello);
    assert_null(ep.peer[0]->info);
    assert_null(ep.peer[0]->capabilities);
    assert_null(ep.peer[0]->version);
    assert_string_equal(mcpi_peer_agreed_version(ep.peer[0]), "");
    endpoint_close(&ep);
}

static void
what_the_client_could_be_asked_is_not_known(void **state)
{
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, STATELESS, NULL);
    endpoint_post(&ep, INITIALIZE("1", "2025-11-25")); /* it declares roots */
    endpoint_post(&ep, LEGACY_CALL("2"));
    assert_null(endpoint_job(&ep)->x->caller.capabilities);
    assert_null(endpoint_job(&ep)->x->caller.info);
    endpoint_close(&ep);
}

static void
J9_stateless_client_is_asked_nothing(void **state)
{
    /* Also where the link has not said so by the other trait. */
    const unsigned traits[] = {STATELESS, STATELESS & ~(unsigned)MCPI_NO_REQUESTS};
    struct mcpi_call_options opt = {.method = "roots/list", .ops = &outcome_ops};
    struct endpoint_stream *post;
    struct outcome asked;
    struct endpoint ep;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        endpoint_open(&ep, traits[i], NULL);
        post = endpoint_post(&ep, LEGACY_CALL("1"));
        assert_false(endpoint_job(&ep)->x->caller.askable);
        assert_int_equal(endpoint_ask(&ep, endpoint_job(&ep), &asked),
                         MCP_E_NO_CHANNEL);
        assert_int_equal(mcpi_call_start(ep.peer[0], &opt, ep.now, &asked.call),
                         MCP_E_NO_CHANNEL);
        endpoint_run(&ep);
        assert_int_equal(post->count + ep.own[0].count, 0);
        assert_int_equal(ep.engine->counts.legs, 0);
        endpoint_close(&ep);
    }
}

static void
J7_modern_client_is_asked_nothing_on_a_shared_peer(void **state)
{
    struct endpoint_stream *post;
    struct outcome asked;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, MCPI_PRIVATE_IDS | MCPI_GONE_CANCELS, NULL);
    post = endpoint_post(&ep, MODERN_CALL("1"));
    assert_int_equal(endpoint_ask(&ep, endpoint_job(&ep), &asked), MCP_E_NO_CHANNEL);
    endpoint_post(&ep, RESULT("1", "{}")); /* an answer to nothing */
    endpoint_post(&ep, ERROR("1", "-1"));
    endpoint_run(&ep);
    assert_int_equal(post->count, 0);
    assert_int_equal(endpoint_job(&ep)->told, 0);
    endpoint_close(&ep);
}

static void
D16_frame_posted_without_a_session_finds_nothing_though_the_id_is_right(void **state)
{
    struct endpoint_stream *post;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, STATELESS, NULL);
    post = endpoint_post(&ep, LEGACY_CALL("1"));
    endpoint_post(&ep, CANCEL("1"));
    assert_int_equal(endpoint_job(&ep)->told, 0);
    endpoint_leave(&ep, post);
    assert_int_equal(endpoint_job(&ep)->told, 1);
    assert_int_equal(endpoint_job(&ep)->how, MCPI_CANCELED);
    endpoint_close(&ep);
}

static void
E28_equal_ids_of_two_legacy_callers_never_meet(void **state)
{
    struct endpoint_stream *a, *b;
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, STATELESS, NULL);
    a = endpoint_post(&ep, LEGACY_CALL("1"));
    b = endpoint_post(&ep, LEGACY_CALL("1"));
    assert_int_equal(ep.job_count, 2);
    endpoint_leave(&ep, a);
    assert_int_equal(ep.jobs[0]->told, 1);
    assert_int_equal(ep.jobs[1]->told, 0);
    endpoint_finish(&ep, ep.jobs[1]);
    endpoint_run(&ep);
    assert_string_equal(sent(b), RESULT("1", "{}"));
    endpoint_close(&ep);
}

static void
nothing_is_watched_for_who_cannot_be_told(void **state)
{
    struct mcpi_event event = {.topic = MCPI_TOPIC_UPDATED, .uri = "test://a"};
    struct mcpi_refusal why;
    struct endpoint ep;
    long live;

    (void)state;
    endpoint_open(&ep, STATELESS, NULL);
    live = ep.mem.live;
    assert_int_equal(mcpi_peer_subscribe(ep.peer[0], "test://a", &why),
                     MCP_E_NO_CHANNEL);
    assert_false(mcpi_peer_unsubscribe(ep.peer[0], "test://a"));
    mcpi_engine_publish(ep.engine, &event, ep.now);
    event.topic = MCPI_TOPIC_TOOLS;
    mcpi_engine_publish(ep.engine, &event, ep.now);
    endpoint_run(&ep);
    assert_int_equal(ep.own[0].count, 0);
    assert_int_equal(ep.mem.live, live);
    endpoint_close(&ep);
}

/* ---- versions ------------------------------------------------------------ */

static void
version_that_the_link_was_told_is_that_of_the_request(void **state)
{
    struct endpoint ep;
    const char *older;
    bool modern;

    (void)state;
    endpoint_open(&ep, STATELESS, NULL);
    older = mcpi_engine_version(ep.engine, OLDER, &modern);
    endpoint_post_as(&ep, 0, LEGACY_CALL("1"), older, NULL);
    assert_ptr_equal(endpoint_job(&ep)->x->caller.version, older);
    endpoint_post(&ep, LEGACY_CALL("2"));
    assert_string_equal(endpoint_job(&ep)->x->caller.version, MCPI_VERSION_LEGACY);
    endpoint_close(&ep);
}

static void
version_of_a_session_is_overruled_only_for_that_request(void **state)
{
    struct endpoint ep;
    const char *older;
    bool modern;

    (void)state;
    endpoint_open(&ep, SESSION, NULL);
    assert_string_equal(mcpi_peer_agreed_version(ep.peer[0]), "");
    endpoint_greet(&ep, 0);
    assert_string_equal(mcpi_peer_agreed_version(ep.peer[0]), "2025-11-25");
    older = mcpi_engine_version(ep.engine, OLDER, &modern);
    endpoint_post_as(&ep, 0, LEGACY_CALL("1"), older, NULL);
    assert_ptr_equal(endpoint_job(&ep)->x->caller.version, older);
    endpoint_post(&ep, LEGACY_CALL("2"));
    assert_string_equal(endpoint_job(&ep)->x->caller.version, "2025-11-25");
    assert_string_equal(mcpi_peer_agreed_version(ep.peer[0]), "2025-11-25");
    endpoint_close(&ep);
}

static void
version_of_a_modern_request_is_its_own(void **state)
{
    struct endpoint ep;
    const char *older;
    bool modern;

    (void)state;
    endpoint_open(&ep, STATELESS, NULL);
    older = mcpi_engine_version(ep.engine, OLDER, &modern);
    endpoint_post_as(&ep, 0, MODERN_CALL("1"), older, NULL);
    assert_string_equal(endpoint_job(&ep)->x->caller.version, MCPI_VERSION_MODERN);
    endpoint_close(&ep);
}

/* ---- principals ---------------------------------------------------------- */

static void
D20_each_request_knows_who_asked_and_keeps_it(void **state)
{
    char name[] = "alice";
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, MCPI_PRIVATE_IDS, NULL);
    endpoint_post_as(&ep, 0, MODERN_CALL("1"), NULL, name);
    memset(name, 'x', sizeof(name) - 1);
    endpoint_post_as(&ep, 0, MODERN_CALL("1"), NULL, "bob");
    assert_string_equal(ep.jobs[0]->x->caller.principal, "alice");
    assert_string_equal(ep.jobs[1]->x->caller.principal, "bob");
    endpoint_close(&ep);
}

static void
nobody_in_particular_is_an_empty_text(void **state)
{
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, MCPI_PRIVATE_IDS, NULL);
    endpoint_post_as(&ep, 0, MODERN_CALL("1"), NULL, "");
    endpoint_post_as(&ep, 0, MODERN_CALL("1"), NULL, NULL);
    assert_string_equal(ep.jobs[0]->x->caller.principal, "");
    assert_string_equal(ep.jobs[1]->x->caller.principal, "");
    endpoint_close(&ep);
}

static void
principal_outlives_the_peer_with_its_handler(void **state)
{
    struct endpoint ep;

    (void)state;
    endpoint_open(&ep, SESSION, NULL);
    endpoint_greet(&ep, 0);
    endpoint_post_as(&ep, 0, LEGACY_CALL("1"), NULL, "alice");
    mcpi_peer_free(ep.peer[0]);
    ep.peer[0] = NULL;
    assert_null(endpoint_job(&ep)->x->peer);
    assert_string_equal(endpoint_job(&ep)->x->caller.principal, "alice");
    endpoint_close(&ep);
}

TEST_MAIN(
    TEST(D16_legacy_request_is_served_without_a_handshake),
    TEST(legacy_request_of_a_session_still_needs_one),
    TEST(server_of_the_modern_era_alone_serves_no_legacy_request_without_one_either),
    TEST(initialize_is_answered_each_time_and_nothing_of_it_is_kept),
    TEST(what_the_client_could_be_asked_is_not_known),
    TEST(J9_stateless_client_is_asked_nothing),
    TEST(J7_modern_client_is_asked_nothing_on_a_shared_peer),
    TEST(D16_frame_posted_without_a_session_finds_nothing_though_the_id_is_right),
    TEST(E28_equal_ids_of_two_legacy_callers_never_meet),
    TEST(nothing_is_watched_for_who_cannot_be_told),
    TEST(version_that_the_link_was_told_is_that_of_the_request),
    TEST(version_of_a_session_is_overruled_only_for_that_request),
    TEST(version_of_a_modern_request_is_its_own),
    TEST(D20_each_request_knows_who_asked_and_keeps_it),
    TEST(nobody_in_particular_is_an_empty_text),
    TEST(principal_outlives_the_peer_with_its_handler))
