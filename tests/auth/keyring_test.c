/* keyring_test.c - the keys of one issuer: fetched, kept for a while, fetched anew */
#include "auth/keyring.h"

#include <stdlib.h>

#include "auth/key_fixture.h"
#include "support/fake_fetch.h"

#define ISSUER "https://as.test/one"
#define FIRST "https://as.test/.well-known/oauth-authorization-server/one"
#define SECOND "https://as.test/.well-known/openid-configuration/one"
#define THIRD "https://as.test/one/.well-known/openid-configuration"
#define KEYS_URL "https://as.test/keys"
#define METADATA "{'issuer':'" ISSUER "','jwks_uri':'" KEYS_URL "'}"
#define SET "{'keys':[" EC_PUBLIC "]}"
#define SECOND_US ((int64_t)1000000)
#define KEPT_US (60 * SECOND_US)

struct desk;

struct waiter {
    struct mcpi_keyring_wait wait;
    int ready;
};

struct desk {
    struct test_mem own, *mem;
    struct mcpi_loop *loop;
    struct fake_fetcher fetcher;
    struct mcpi_log log;
    struct mcpi_keyring *ring;
    int64_t now;
    int warned;
};

static int64_t
desk_clock(void *user)
{
    return ((struct desk *)user)->now;
}

static void
on_log(void *user, enum mcp_log_level level, const char *text)
{
    struct desk *d = user;

    assert_int_equal(level, MCP_LOG_WARNING);
    assert_non_null(strstr(text, "the keys of " ISSUER " cannot be fetched: "));
    d->warned++;
}

static int
desk_try(struct desk *d, struct test_mem *mem, const char *jwks_uri)
{
    struct mcpi_keyring_options opt = {.issuer = ISSUER,
                                       .jwks_uri = jwks_uri,
                                       .keys_us = KEPT_US,
                                       .nearest = MCPI_ADDRESS_PUBLIC};

    memset(d, 0, sizeof(*d));
    test_mem_init(&d->own);
    d->mem = mem ? mem : &d->own;
    d->now = 1000 * SECOND_US;
    d->log = (struct mcpi_log){on_log, d, MCP_LOG_INFO};
    fake_fetcher_init(&d->fetcher, &d->mem->allocator);
    if (mcpi_loop_new(&d->mem->allocator, NULL, &d->loop) < 0)
        return MCP_E_NOMEM;
    mcpi_loop_set_clock(d->loop, desk_clock, d);
    opt.mem = &d->mem->allocator;
    opt.loop = d->loop;
    opt.fetcher = &d->fetcher.fetcher;
    opt.log = &d->log;
    return mcpi_keyring_new(&opt, &d->ring);
}

static void
desk_open(struct desk *d, const char *jwks_uri)
{
    assert_int_equal(desk_try(d, NULL, jwks_uri), 0);
}

static void
desk_close(struct desk *d)
{
    if (d->ring)
        mcpi_keyring_close(d->ring);
    mcpi_keyring_free(d->ring);
    fake_fetcher_done(&d->fetcher);
    mcpi_loop_free(d->loop);
    test_mem_done(&d->own);
}

static void
on_ready(struct mcpi_keyring_wait *wait)
{
    MCPI_CONTAINER(wait, struct waiter, wait)->ready++;
}

static void
desk_ask(struct desk *d, struct waiter *w)
{
    *w = (struct waiter){.wait.ready = on_ready};
    mcpi_list_init(&w->wait.node);
    mcpi_keyring_ask(d->ring, &w->wait);
}

/* The last request answers so; texts have ' for ". */
static void
desk_answer(struct desk *d, const char *url, int status, const char *text)
{
    struct fake_fetch *get = fake_last(&d->fetcher);
    struct mcpi_buf json;

    assert_string_equal(get->url, url);
    assert_string_equal(get->method, "GET");
    assert_int_equal(get->nearest, MCPI_ADDRESS_PUBLIC);
    mcpi_buf_init(&json, NULL, 1 << 20);
    json_append(&json, text);
    mcpi_buf_char(&json, '\0');
    fake_answer(get, status, "application/json", json.data);
    mcpi_buf_done(&json);
}

/* Are there keys, and how are they? */
static void
desk_has(struct desk *d, bool any, bool fresh, bool may_wait)
{
    struct mcpi_keyring_state state;
    struct mcpi_keys *keys = mcpi_keyring_get(d->ring, d->now, &state);

    assert_int_equal(keys != NULL, any);
    assert_int_equal(state.fresh, fresh);
    assert_int_equal(state.may_wait, may_wait);
    mcpi_keys_unref(keys);
}

static void
desk_fetch(struct desk *d)
{
    struct waiter w;

    desk_ask(d, &w);
    desk_answer(d, KEYS_URL, 200, SET);
    assert_int_equal(w.ready, 1);
}

static void
metadata_says_where_the_keys_are(void **state)
{
    struct waiter w;
    struct desk d;

    (void)state;
    desk_open(&d, NULL);
    desk_has(&d, false, false, true);
    desk_ask(&d, &w);
    assert_int_equal(d.fetcher.count, 1);
    desk_answer(&d, FIRST, 200, METADATA);
    desk_has(&d, false, false, true);
    assert_int_equal(w.ready, 0);
    desk_answer(&d, KEYS_URL, 200, SET);
    assert_int_equal(w.ready, 1);
    desk_has(&d, true, true, false);
    d.now += MCPI_KEYRING_PAUSE_US;
    desk_has(&d, true, true, true);
    desk_ask(&d, &w);
    assert_int_equal(d.fetcher.count, 3); /* it is known where they are */
    desk_answer(&d, KEYS_URL, 200, SET);
    assert_int_equal(w.ready, 1);
    desk_close(&d);
}

static void
metadata_is_looked_for_in_order(void **state)
{
    struct waiter w;
    struct desk d;

    (void)state;
    desk_open(&d, NULL);
    desk_ask(&d, &w);
    desk_answer(&d, FIRST, 404, "{}");
    desk_answer(&d, SECOND, 200,
                "{'issuer':'https://evil.test','jwks_uri':'" KEYS_URL "'}");
    desk_answer(&d, THIRD, 200, METADATA);
    desk_answer(&d, KEYS_URL, 200, SET);
    assert_int_equal(w.ready, 1);
    desk_has(&d, true, true, false);
    assert_int_equal(d.warned, 0);
    desk_close(&d);
}

static void
without_metadata_there_are_no_keys(void **state)
{
    struct waiter w;
    struct desk d;

    (void)state;
    desk_open(&d, NULL);
    desk_ask(&d, &w);
    desk_answer(&d, FIRST, 404, "{}");
    desk_answer(&d, SECOND, 500, "{}");
    assert_int_equal(w.ready, 0);
    desk_answer(&d, THIRD, 200, "{'issuer':'" ISSUER "'}");
    assert_int_equal(w.ready, 1);
    assert_int_equal(d.warned, 1);
    desk_has(&d, false, false, false);
    desk_close(&d);
}

static void
one_flight_is_for_all_who_wait(void **state)
{
    struct waiter w[5];
    struct desk d;

    (void)state;
    desk_open(&d, KEYS_URL);
    for (int i = 0; i < 5; i++)
        desk_ask(&d, &w[i]);
    assert_int_equal(d.fetcher.count, 1);
    desk_answer(&d, KEYS_URL, 200, SET);
    for (int i = 0; i < 5; i++)
        assert_int_equal(w[i].ready, 1);
    desk_close(&d);
}

/* Strangers cannot make us call an issuer as often as they like. */
static void
between_flights_is_a_pause(void **state)
{
    struct waiter w;
    struct desk d;

    (void)state;
    desk_open(&d, KEYS_URL);
    desk_fetch(&d);
    for (int i = 0; i < 100; i++) {
        desk_ask(&d, &w);
        assert_int_equal(w.ready, 1); /* there is nothing to wait for */
    }
    assert_int_equal(d.fetcher.count, 1);
    d.now += MCPI_KEYRING_PAUSE_US - 1;
    desk_has(&d, true, true, false);
    desk_ask(&d, &w);
    assert_int_equal(w.ready, 1);
    d.now += 1;
    desk_has(&d, true, true, true);
    desk_fetch(&d);
    assert_int_equal(d.fetcher.count, 2);
    desk_close(&d);
}

/* A flight may take longer than the pause: issuers that hang get one as well. */
static void
the_pause_begins_with_the_landing(void **state)
{
    struct waiter w;
    struct desk d;

    (void)state;
    desk_open(&d, KEYS_URL);
    desk_ask(&d, &w);
    d.now += MCPI_KEYRING_PAUSE_US;
    desk_has(&d, false, false, true);
    desk_answer(&d, KEYS_URL, 503, "{}");
    desk_has(&d, false, false, false);
    desk_ask(&d, &w);
    assert_int_equal(w.ready, 1);
    assert_int_equal(d.fetcher.count, 1);
    d.now += MCPI_KEYRING_PAUSE_US - 1;
    desk_has(&d, false, false, false);
    d.now += 1;
    desk_has(&d, false, false, true);
    desk_close(&d);
}

static bool
desk_keys_will_do(struct desk *d)
{
    struct mcpi_keyring_state state;

    mcpi_keys_unref(mcpi_keyring_get(d->ring, d->now, &state));
    return state.will_do;
}

/* While others are fetched; nobody learns late that a key was given up. */
static void
old_keys_will_do_for_as_long_again_or_while_the_issuer_is_ill(void **state)
{
    struct waiter w;
    struct desk d;

    (void)state;
    desk_open(&d, KEYS_URL);
    assert_false(desk_keys_will_do(&d));
    desk_fetch(&d);
    assert_true(desk_keys_will_do(&d));
    d.now += 2 * KEPT_US - 1;
    assert_true(desk_keys_will_do(&d));
    d.now += 1;
    assert_false(desk_keys_will_do(&d));
    desk_ask(&d, &w);
    assert_false(desk_keys_will_do(&d));
    desk_answer(&d, KEYS_URL, 503, "{}");
    assert_true(desk_keys_will_do(&d));
    d.now += MCPI_KEYRING_PAUSE_US;
    desk_ask(&d, &w);
    assert_true(desk_keys_will_do(&d));
    desk_answer(&d, KEYS_URL, 200, SET);
    d.now += 2 * KEPT_US;
    assert_false(desk_keys_will_do(&d));
    desk_ask(&d, &w);
    desk_answer(&d, KEYS_URL, 503, "{}");
    d.now += MCPI_KEYRING_GRACE_US - KEPT_US - 1;
    assert_true(desk_keys_will_do(&d));
    d.now += 1;
    assert_false(desk_keys_will_do(&d));
    desk_close(&d);
}

static void
keys_are_good_for_a_while(void **state)
{
    struct desk d;

    (void)state;
    desk_open(&d, KEYS_URL);
    desk_fetch(&d);
    d.now += KEPT_US - 1;
    desk_has(&d, true, true, true);
    d.now += 1;
    desk_has(&d, true, false, true);
    desk_fetch(&d);
    desk_has(&d, true, true, false);
    desk_close(&d);
}

static void
an_issuer_that_is_ill_locks_nobody_out_at_once(void **state)
{
    struct waiter w;
    struct desk d;

    (void)state;
    desk_open(&d, KEYS_URL);
    desk_fetch(&d);
    d.now += KEPT_US;
    desk_ask(&d, &w);
    desk_answer(&d, KEYS_URL, 503, "{}");
    assert_int_equal(w.ready, 1);
    assert_int_equal(d.warned, 1);
    desk_has(&d, true, false, false); /* the old ones, and nothing is to be had now */
    d.now += MCPI_KEYRING_PAUSE_US;
    desk_has(&d, true, false, true);
    d.now += MCPI_KEYRING_GRACE_US - MCPI_KEYRING_PAUSE_US - 1;
    desk_has(&d, true, false, true);
    d.now += 1;
    desk_has(&d, false, false, true);
    desk_close(&d);
}

static void
answers_that_are_no_keys_change_nothing(void **state)
{
    static const char *const texts[] = {"{}", "{'keys':[]}", "[]", "",
                                        "{'keys':[{'kty':'oct','k':'AAAA'}]}"};
    struct waiter w;
    struct desk d;

    (void)state;
    desk_open(&d, KEYS_URL);
    desk_fetch(&d);
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        d.now += MCPI_KEYRING_PAUSE_US;
        desk_ask(&d, &w);
        desk_answer(&d, KEYS_URL, 200, texts[i]);
        assert_int_equal(w.ready, 1);
        assert_int_equal(d.warned, (int)i + 1);
        desk_has(&d, true, true, false);
    }
    d.now += MCPI_KEYRING_PAUSE_US;
    desk_ask(&d, &w);
    fake_fail(fake_last(&d.fetcher), MCP_E_CLOSED, "gone");
    assert_int_equal(w.ready, 1);
    d.now += MCPI_KEYRING_PAUSE_US;
    d.fetcher.refuse = MCP_E_NOMEM;
    desk_ask(&d, &w);
    assert_int_equal(w.ready, 1);
    desk_has(&d, true, false, false);
    desk_close(&d);
}

/* They may have moved. */
static void
after_a_failure_metadata_is_asked_again(void **state)
{
    struct waiter w;
    struct desk d;

    (void)state;
    desk_open(&d, NULL);
    desk_ask(&d, &w);
    desk_answer(&d, FIRST, 200, METADATA);
    desk_answer(&d, KEYS_URL, 404, "{}");
    assert_int_equal(w.ready, 1);
    d.now += MCPI_KEYRING_PAUSE_US;
    desk_ask(&d, &w);
    desk_answer(&d, FIRST, 200,
                "{'issuer':'" ISSUER "','jwks_uri':'https://as.test/new'}");
    desk_answer(&d, "https://as.test/new", 200, SET);
    desk_has(&d, true, true, false);
    desk_close(&d);
}

static void
time_for_a_document_is_bounded(void **state)
{
    struct waiter w;
    struct desk d;

    (void)state;
    desk_open(&d, KEYS_URL);
    desk_ask(&d, &w);
    d.now += MCPI_KEYRING_FETCH_US;
    assert_int_equal(mcpi_loop_step(d.loop), 0);
    assert_int_equal(w.ready, 1);
    assert_int_equal(d.warned, 1);
    assert_int_equal(fake_open_count(&d.fetcher), 0);
    desk_close(&d);
}

static void
whoever_waits_at_the_end_is_told(void **state)
{
    struct waiter w;
    struct desk d;

    (void)state;
    desk_open(&d, NULL);
    desk_ask(&d, &w);
    mcpi_keyring_close(d.ring);
    assert_int_equal(w.ready, 1);
    assert_int_equal(fake_open_count(&d.fetcher), 0);
    d.now += MCPI_KEYRING_PAUSE_US;
    desk_ask(&d, &w);
    assert_int_equal(w.ready, 1);
    assert_int_equal(d.fetcher.count, 1);
    desk_close(&d);
    mcpi_keyring_free(NULL);
}

static void
fetch_once(struct test_mem *mem, void *user)
{
    struct waiter w = {0};
    struct desk d;

    (void)user;
    if (desk_try(&d, mem, NULL) == 0) {
        desk_ask(&d, &w);
        while (w.ready == 0) {
            struct fake_fetch *get = fake_last(&d.fetcher);

            desk_answer(&d, get->url, 200, strstr(get->url, "keys") ? SET : METADATA);
        }
        assert_int_equal(w.ready, 1);
    }
    desk_close(&d);
}

static void
want_of_memory_is_an_answer(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(fetch_once, NULL) > 5);
}

TEST_MAIN(TEST(metadata_says_where_the_keys_are), TEST(metadata_is_looked_for_in_order),
          TEST(without_metadata_there_are_no_keys),
          TEST(one_flight_is_for_all_who_wait), TEST(between_flights_is_a_pause),
          TEST(the_pause_begins_with_the_landing),
          TEST(old_keys_will_do_for_as_long_again_or_while_the_issuer_is_ill),
          TEST(keys_are_good_for_a_while),
          TEST(an_issuer_that_is_ill_locks_nobody_out_at_once),
          TEST(answers_that_are_no_keys_change_nothing),
          TEST(after_a_failure_metadata_is_asked_again),
          TEST(time_for_a_document_is_bounded), TEST(whoever_waits_at_the_end_is_told),
          TEST(want_of_memory_is_an_answer))
