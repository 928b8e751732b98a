/* share_test.c - what a client makes a server hold is charged, and has a bound */
#include <stdio.h>
#include <string.h>

#include "base/budget.h"
#include "core/exchange.h"
#include "core/note.h"
#include "core/peer.h"
#include "support/endpoint.h"
#include "support/listeners.h"

/* A client with a budget of its own, of which it may have half, and a quarter for what may
 * be dropped. */
struct share {
    struct mcpi_budget budget;
    struct mcpi_account account;
};

static void
share_with(struct share *share, struct mcpi_peer *peer, size_t bytes)
{
    mcpi_budget_init(&share->budget);
    mcpi_budget_raise(&share->budget, MCPI_HELD_BYTES, 2 * bytes);
    mcpi_budget_raise(&share->budget, MCPI_HELD_NOTES, bytes);
    mcpi_budget_raise(&share->budget, MCPI_HELD_LISTENERS, MCPI_UNSHARED_MAX);
    mcpi_account_init(&share->account, &share->budget, NULL);
    mcpi_outlet_set_account(mcpi_peer_outlet(peer), &share->account);
}

static size_t
held(const struct share *share)
{
    return mcpi_budget_bytes(&share->budget);
}

/* ---- requests and answers -------------------------------------------------- */

static void
request_and_answer_are_held_until_they_are_done_with(void **state)
{
    struct endpoint ep;
    struct share share;
    size_t request;

    (void)state;
    endpoint_open(&ep, MCPI_PRIVATE_IDS, NULL);
    share_with(&share, ep.peer[0], 100000);
    endpoint_post(&ep, MODERN_CALL("1"));
    request = held(&share);
    assert_true(request >= mcpi_doc_bytes(endpoint_job(&ep)->x->doc) +
                               sizeof(struct mcpi_exchange));
    endpoint_finish_long(&ep, endpoint_job(&ep), 50000);
    assert_true(held(&share) >= request + 50000);
    endpoint_run(&ep);
    endpoint_forget(&ep);
    assert_int_equal(held(&share), 0);
    endpoint_close(&ep);
}

static void
handler_that_ignores_its_cancel_still_holds_its_request(void **state)
{
    struct endpoint_stream *stream;
    struct endpoint ep;
    struct share share;

    (void)state;
    endpoint_open(&ep, MCPI_PRIVATE_IDS | MCPI_GONE_CANCELS, NULL);
    share_with(&share, ep.peer[0], 100000);
    stream = endpoint_post(&ep, MODERN_CALL("1"));
    endpoint_leave(&ep, stream);
    assert_int_equal(endpoint_job(&ep)->told, 1);
    assert_true(held(&share) > 0);
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_forget(&ep);
    assert_int_equal(held(&share), 0);
    endpoint_close(&ep);
}

static void
request_beyond_the_share_is_refused_under_its_id(void **state)
{
    struct endpoint_stream *stream;
    struct endpoint ep;
    struct share share;

    (void)state;
    endpoint_open(&ep, MCPI_PRIVATE_IDS, NULL);
    share_with(&share, ep.peer[0], 10);
    stream = endpoint_post(&ep, MODERN_CALL("7"));
    endpoint_run(&ep);
    assert_int_equal(ep.job_count, 0);
    assert_int_equal(stream->count, 1);
    assert_int_equal(stream->codes[0], MCPI_RPC_INTERNAL_ERROR);
    assert_non_null(strstr(stream->sent[0], "\"id\":7"));
    assert_int_equal(held(&share), 0);
    endpoint_post_to(&ep, 1, MODERN_CALL("7")); /* others are not refused */
    assert_int_equal(ep.job_count, 1);
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_close(&ep);
}

static void
answer_beyond_the_share_becomes_an_error(void **state)
{
    struct endpoint_stream *stream;
    struct endpoint ep;
    struct mcpi_exchange *x;
    struct share share;

    (void)state;
    endpoint_open(&ep, MCPI_PRIVATE_IDS, NULL);
    share_with(&share, ep.peer[0], 20000);
    stream = endpoint_post(&ep, MODERN_CALL("7"));
    x = endpoint_job(&ep)->x;
    endpoint_finish_long(&ep, endpoint_job(&ep), 50000);
    assert_int_equal(x->result.body.cap, 0); /* nor is it kept uncounted */
    endpoint_run(&ep);
    assert_int_equal(stream->count, 1);
    assert_int_equal(stream->codes[0], MCPI_RPC_INTERNAL_ERROR);
    assert_non_null(strstr(stream->sent[0], "\"id\":7"));
    assert_int_equal(stream->failed, 0);
    stream = endpoint_post(&ep, MODERN_CALL("8"));
    endpoint_finish(&ep, endpoint_job(&ep)); /* the next one fits */
    endpoint_run(&ep);
    assert_int_equal(stream->codes[0], 0);
    endpoint_forget(&ep);
    assert_int_equal(held(&share), 0);
    endpoint_close(&ep);
}

/* Issue 20: of a client that reads none they piled up to twice held_bytes. */
static void
refusals_are_held_and_have_a_bound(void **state)
{
    static const char bad[] = "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":7}";
    struct share share;
    struct fake f;
    size_t before;

    (void)state;
    start(&f);
    share_with(&share, f.peer, 20000);
    fake_receive(&f, INITIALIZE("0", "2025-11-25"));
    fake_run(&f);
    before = held(&share);
    fake_receive(&f, bad);
    assert_true(held(&share) > before);
    fake_run(&f);
    assert_int_equal(held(&share), before);
    for (int i = 0; i < 1000 && f.peer->refusal_bytes <= MCPI_REFUSALS_FREE_MAX; i++) {
        assert_int_equal(f.peer->failing, 0);
        fake_receive(&f, bad);
    }
    assert_true(f.peer->refusal_bytes > MCPI_REFUSALS_FREE_MAX);
    assert_true(held(&share) <= 20000);
    fake_receive(&f, bad);
    assert_int_equal(f.peer->failing, MCP_E_LIMIT);
    fake_close(&f);
    assert_int_equal(held(&share), 0);
}

/* A client that reads a long answer is told what it is refused meanwhile. */
static void
refusals_beside_a_long_answer_are_told(void **state)
{
    struct endpoint_stream *answer, *stream;
    struct mcpi_account others[8];
    struct endpoint ep;
    struct share share;

    (void)state;
    endpoint_open(&ep, MCPI_UNORDERED, NULL);
    endpoint_greet(&ep, 0);
    share_with(&share, ep.peer[0], 100000);
    answer = endpoint_post(&ep, LEGACY_CALL("7"));
    endpoint_finish_long(&ep, endpoint_job(&ep), 2 * MCPI_REFUSALS_FREE_MAX);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        size_t left = 200000 - held(&share);

        mcpi_account_init(&others[i], &share.budget, NULL);
        assert_true(mcpi_account_take(&others[i], MCPI_HELD_BYTES, left / 2));
    }
    stream = endpoint_post(&ep, LEGACY_CALL("8"));
    assert_int_equal(ep.peer[0]->failing, 0);
    endpoint_run(&ep);
    assert_int_equal(stream->failed, 0);
    assert_int_equal(stream->codes[0], MCPI_RPC_INTERNAL_ERROR);
    assert_int_equal(answer->codes[0], 0);
    assert_int_equal(ep.peer[0]->refusal_bytes, 0);
    endpoint_close(&ep);
}

/* ---- what is said on the way ----------------------------------------------- */

#define LOG_PARAMS "{\"level\":\"info\",\"data\":1}"

/* Ten long log messages. */
static void
say_much(struct endpoint *ep)
{
    char text[5000];

    memset(text, ' ', sizeof(text));
    memcpy(text, LOG_PARAMS, sizeof(LOG_PARAMS) - 1);
    for (int i = 0; i < 10; i++)
        assert_int_equal(mcpi_exchange_notify(endpoint_job(ep)->x,
                                              "notifications/message", text,
                                              sizeof(text), ep->now),
                         0);
}

static void
notifications_beyond_the_share_are_dropped(void **state)
{
    struct endpoint_stream *stream;
    struct endpoint ep;
    struct share share;
    size_t request;

    (void)state;
    endpoint_open(&ep, MCPI_PRIVATE_IDS, NULL);
    share_with(&share, ep.peer[0], 16000);
    stream = endpoint_post(&ep, MODERN_CALL("7"));
    request = held(&share);
    say_much(&ep);
    assert_in_range(held(&share) - request, 5000, 8000);
    assert_true(ep.engine->counts.dropped > 0);
    endpoint_run(&ep);
    assert_int_equal(stream->count + ep.engine->counts.dropped, 10);
    assert_int_equal(held(&share), request);
    endpoint_finish(&ep, endpoint_job(&ep));
    endpoint_run(&ep);
    endpoint_forget(&ep);
    assert_int_equal(held(&share), 0);
    assert_int_equal(mcpi_account_holds(&share.account, MCPI_HELD_NOTES), 0);
    endpoint_close(&ep);
}

/* Issue 20: they may wait for a client that is silent as long as it likes. */
static void
notifications_keep_no_answer_out(void **state)
{
    struct endpoint_stream *stream;
    struct endpoint ep;
    struct share share;

    (void)state;
    endpoint_open(&ep, MCPI_PRIVATE_IDS, NULL);
    share_with(&share, ep.peer[0], 40000);
    stream = endpoint_post(&ep, MODERN_CALL("7"));
    say_much(&ep);
    assert_true(ep.engine->counts.dropped > 0);
    endpoint_finish_long(&ep, endpoint_job(&ep), 10000);
    endpoint_run(&ep);
    assert_int_equal(stream->codes[stream->count - 1], 0);
    endpoint_forget(&ep);
    assert_int_equal(held(&share), 0);
    assert_int_equal(mcpi_account_holds(&share.account, MCPI_HELD_NOTES), 0);
    endpoint_close(&ep);
}

/* ---- listeners ------------------------------------------------------------- */

static void
what_a_listener_watches_is_held(void **state)
{
    struct share share;
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    share_with(&share, f.peer, 100000);
    listen_acked(&f, LISTEN("1", "{" URIS("\"x:1\",\"x:2\"") "}"), &s);
    assert_true(held(&share) > 0);
    assert_int_equal(atomic_load(&share.account.used[MCPI_HELD_LISTENERS]), 1);
    stream_end(&s, 0);
    fake_run(&f);
    assert_int_equal(atomic_load(&share.account.used[MCPI_HELD_LISTENERS]), 0);
    fake_close(&f);
    assert_int_equal(held(&share), 0);
}

static void
listeners_of_one_client_have_a_bound(void **state)
{
    struct stream s[MCPI_UNSHARED_MAX + 1];
    struct share share;
    struct fake f;
    char text[512];

    (void)state;
    start(&f);
    share_with(&share, f.peer, 1000000);
    for (int i = 0; i < MCPI_UNSHARED_MAX; i++) {
        snprintf(text, sizeof(text), LISTEN("%d", "{" ALL_LISTS "}"), i);
        listen_acked(&f, text, &s[i]);
    }
    assert_int_equal(try_listen(&f, LISTEN("\"more\"", "{" ALL_LISTS "}"), EVERYTHING,
                                &s[MCPI_UNSHARED_MAX]),
                     MCP_E_LIMIT);
    assert_int_equal(f.engine->listener_count, MCPI_UNSHARED_MAX);
    fake_close(&f);
    assert_int_equal(held(&share), 0);
}

/* As if it were slow in any other way (H19). */
static void
listener_that_has_no_share_left_is_slow(void **state)
{
    char uri[4000];
    struct share share;
    struct stream s;
    struct fake f;

    (void)state;
    start(&f);
    share_with(&share, f.peer, 12000);
    listen_acked(&f, LISTEN("1", "{" URIS("\"x:\"") "}"), &s);
    publish(&f, &tools);
    for (int i = 0; i < 5; i++) {
        memset(uri, 'a' + i, sizeof(uri) - 1);
        memcpy(uri, "x:/", 3);
        uri[sizeof(uri) - 1] = '\0';
        update(&f, uri);
    }
    assert_true(held(&share) <= 12000);
    fake_pass(&f, 0);
    assert_int_equal(s.slow, 1);
    fake_close(&f);
    assert_int_equal(held(&share), 0);
}

/* ---- legacy sessions ------------------------------------------------------- */

#define LONG_HELLO(size)                                                      \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":"     \
    "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},\"clientInfo\":" \
    "{\"name\":\"%0" #size "d\",\"version\":\"1\"}}}"

/* What a client has said of itself is kept as long as its session. */
static void
hello_is_held_as_long_as_its_session(void **state)
{
    char text[8192];
    struct share share;
    struct fake f;

    (void)state;
    start(&f);
    share_with(&share, f.peer, 100000);
    snprintf(text, sizeof(text), LONG_HELLO(5000), 0);
    fake_receive(&f, text);
    fake_run(&f);
    assert_true(f.peer->initialized);
    assert_true(held(&share) >= 5000);
    fake_close(&f);
    assert_int_equal(held(&share), 0);
}

/* The request fits alone, and not a second time for the session. */
static void
hello_beyond_the_share_is_refused(void **state)
{
    char text[8192];
    struct share share;
    struct fake f;
    size_t once;

    (void)state;
    snprintf(text, sizeof(text), LONG_HELLO(5000), 0);
    start(&f);
    share_with(&share, f.peer, 100000);
    fake_receive(&f, text);
    fake_run(&f);
    once = held(&share);
    fake_close(&f);
    start(&f);
    share_with(&share, f.peer, once + once / 2);
    fake_receive(&f, text);
    fake_run(&f);
    assert_non_null(strstr(fake_text(&f, 0), "Too much memory is in use"));
    assert_false(f.peer->initialized);
    assert_int_equal(held(&share), 0);
    fake_receive(&f, INITIALIZE("1", "2025-11-25")); /* a shorter one fits */
    fake_run(&f);
    assert_true(f.peer->initialized);
    fake_close(&f);
    assert_int_equal(held(&share), 0);
}

static void
subscriptions_beyond_the_share_are_refused(void **state)
{
    char uri[4000];
    struct share share;
    struct fake f;

    (void)state;
    start(&f);
    share_with(&share, f.peer, 11000);
    fake_receive(&f, INITIALIZE("0", "2025-11-25"));
    fake_run(&f);
    memset(uri, 'u', sizeof(uri) - 1);
    uri[sizeof(uri) - 1] = '\0';
    assert_null(subscribe(&f, uri));
    uri[0] = '2';
    assert_null(subscribe(&f, uri));
    uri[0] = '3';
    assert_string_equal(subscribe(&f, uri),
                        "Too much memory is in use for this client");
    uri[0] = '2';
    assert_true(mcpi_peer_unsubscribe(f.peer, uri));
    uri[0] = '3';
    assert_null(subscribe(&f, uri));
    fake_close(&f);
    assert_int_equal(held(&share), 0);
}

TEST_MAIN(TEST(request_and_answer_are_held_until_they_are_done_with),
          TEST(handler_that_ignores_its_cancel_still_holds_its_request),
          TEST(request_beyond_the_share_is_refused_under_its_id),
          TEST(answer_beyond_the_share_becomes_an_error),
          TEST(refusals_are_held_and_have_a_bound),
          TEST(refusals_beside_a_long_answer_are_told),
          TEST(notifications_beyond_the_share_are_dropped),
          TEST(notifications_keep_no_answer_out), TEST(what_a_listener_watches_is_held),
          TEST(listeners_of_one_client_have_a_bound),
          TEST(listener_that_has_no_share_left_is_slow),
          TEST(hello_is_held_as_long_as_its_session),
          TEST(hello_beyond_the_share_is_refused),
          TEST(subscriptions_beyond_the_share_are_refused))
