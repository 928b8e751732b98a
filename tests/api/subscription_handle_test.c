/* subscription_handle_test.c - what the holder of a subscription may do, from any thread
 * and at any time */
#include <mcp/subscription.h>
#include <poll.h>

#include "api/subscription_heard.h"

#define TOOLS "tools/list_changed"
#define PROMPTS "prompts/list_changed"

static void
nothing_is_a_subscription(void **state)
{
    mcp_notice event;
    int fd;

    (void)state;
    assert_int_equal(mcp_subscription_next(NULL, 0, &event), MCP_E_INVAL);
    assert_int_equal(mcp_subscription_fd(NULL, &fd), MCP_E_INVAL);
    assert_int_equal(mcp_subscription_status(NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_subscription_how(NULL), MCP_SUBSCRIPTION_LOST);
    assert_int_equal(mcp_subscription_lists(NULL), 0);
    assert_false(mcp_subscription_watches(NULL, "a"));
    mcp_subscription_free(NULL);
}

/* ---- waiting ------------------------------------------------------------- */

static void *
tell_later(void *user)
{
    struct teller *t = user;

    teller_sync(t);
    teller_tell(t, "listen-1", TOOLS, NULL);
    return NULL;
}

static void
next_waits_for_an_event(void **state)
{
    mcp_subscription *s;
    pthread_t thread;
    struct teller t;
    mcp_notice event;

    (void)state;
    teller_open(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    assert_int_equal(mcp_subscription_next(s, 0, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_subscription_next(s, 5, &event), MCP_E_AGAIN);
    assert_int_equal(pthread_create(&thread, NULL, tell_later, &t), 0);
    assert_int_equal(mcp_subscription_next(s, MCP_TIMEOUT_NONE, &event), 0);
    assert_int_equal(event.change, MCP_TOOLS_CHANGED);
    pthread_join(thread, NULL);
    assert_false(mcp_subscription_watches(s, NULL));
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
the_uri_is_good_until_the_next_is_taken(void **state)
{
    const char *uris[] = {"a", NULL};
    mcp_subscription *s;
    struct teller t;
    mcp_notice event;

    (void)state;
    teller_open(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.uris = uris));
    teller_tell(&t, "listen-1", "resources/updated", "a/1");
    assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &event), 0);
    teller_tell(&t, "listen-1", "resources/updated", "a/1");
    teller_tell(&t, "listen-1", "resources/updated", "a/2");
    teller_leave(&t);
    mcp_client_free(t.client);
    t.client = NULL;
    assert_string_equal(event.uri, "a/1");
    mcp_subscription_free(s);
    teller_close(&t);
}

/* ---- the descriptor ------------------------------------------------------ */

static int
poll_for(int fd, int ms)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, ms);
}

static void
the_descriptor_is_readable_while_there_is_something_to_take(void **state)
{
    mcp_subscription *s;
    struct teller t;
    mcp_notice event;
    int fd, again;

    (void)state;
    teller_open(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    assert_int_equal(mcp_subscription_fd(s, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_subscription_fd(s, &fd), 0);
    assert_int_equal(mcp_subscription_fd(s, &again), 0);
    assert_int_equal(fd, again);
    assert_int_equal(poll_for(fd, 0), 0);
    teller_tell(&t, "listen-1", TOOLS, NULL);
    teller_tell(&t, "listen-1", PROMPTS, NULL);
    assert_int_equal(poll_for(fd, (int)AWAIT_MS), 1);
    expect_event(s, MCP_TOOLS_CHANGED, NULL);
    teller_sync(&t);
    assert_int_equal(poll_for(fd, 0), 1);
    expect_event(s, MCP_PROMPTS_CHANGED, NULL);
    assert_int_equal(poll_for(fd, 0), 0);
    expect_none(s);
    teller_tell(&t, "listen-1", TOOLS, NULL);
    teller_end(&t, "listen-1");
    assert_int_equal(poll_for(fd, (int)AWAIT_MS), 1);
    teller_sync(&t);
    expect_event(s, MCP_TOOLS_CHANGED, NULL);
    assert_int_equal(poll_for(fd, 0), 1); /* the end is to be seen */
    assert_int_equal(mcp_subscription_next(s, 0, &event), MCP_E_CLOSED);
    assert_int_equal(poll_for(fd, 0), 0);
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
a_descriptor_that_is_asked_for_late_shows_what_is_there(void **state)
{
    mcp_subscription *with_event, *ended;
    struct teller t;
    int fd;

    (void)state;
    teller_open(&t);
    with_event = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    ended = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    teller_tell(&t, "listen-1", TOOLS, NULL);
    teller_revoke(&t, "listen-2");
    teller_sync(&t);
    assert_int_equal(mcp_subscription_fd(with_event, &fd), 0);
    assert_int_equal(poll_for(fd, 0), 1);
    assert_int_equal(mcp_subscription_fd(ended, &fd), 0);
    assert_int_equal(poll_for(fd, 0), 1);
    expect_end(ended, MCP_SUBSCRIPTION_LOST, MCP_E_CANCELED);
    assert_int_equal(poll_for(fd, 0), 0);
    mcp_subscription_free(with_event);
    mcp_subscription_free(ended);
    teller_close(&t);
}

static void
the_descriptor_tells_of_an_opening_that_fails(void **state)
{
    mcp_subscription *s;
    struct teller t;
    int fd;

    (void)state;
    teller_open(&t);
    teller_set_refuse(&t, "subscriptions/listen");
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .no_wait = true));
    assert_int_equal(mcp_subscription_fd(s, &fd), 0);
    assert_int_equal(poll_for(fd, (int)AWAIT_MS), 1);
    expect_end(s, MCP_SUBSCRIPTION_LOST, MCP_E_PEER);
    mcp_subscription_free(s);
    teller_close(&t);
}

/* ---- letting go ---------------------------------------------------------- */

struct inside {
    struct heard h;
    mcp_client *client;
};

static void
free_in_event(mcp_subscription *s, const mcp_notice *event, void *user)
{
    mcp_subscription_free(s);
    hear_event(NULL, event, user);
}

static void
free_in_end(mcp_subscription *s, enum mcp_subscription_end how, int status, void *user)
{
    mcp_subscription_free(s);
    hear_end(NULL, how, status, user);
}

static void
B33_it_may_be_freed_inside_its_callbacks(void **state)
{
    struct heard first, second;
    struct teller t;

    (void)state;
    teller_open(&t);
    heard_init(&first);
    heard_init(&second);
    (void)subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .on_event = free_in_event,
                                      .on_end = hear_end, .user = &first));
    (void)subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .on_event = hear_event,
                                      .on_end = free_in_end, .user = &second));
    teller_tell(&t, "listen-1", TOOLS, NULL);
    teller_tell(&t, "listen-1", PROMPTS, NULL);
    teller_tell(&t, "listen-2", PROMPTS, NULL);
    heard_await(&first, count, 1);
    heard_await(&second, count, 1); /* a close drops what waits (H12) */
    teller_line(&t, "notifications/cancelled", 1);
    mcp_client_close(t.client);
    heard_await(&second, ends, 1);
    teller_close(&t);
    assert_string_equal(first.events, "1 ");
    assert_int_equal(first.ends, 0);
    assert_string_equal(second.events, "2 ");
    heard_done(&first);
    heard_done(&second);
}

/* The acknowledgment and an event come together, so that the callback may be faster than
 * the thread that waits for the opening. */
static void
B33_it_may_be_freed_inside_a_callback_before_its_opening_returns(void **state)
{
    char name[32];
    struct heard h;
    struct teller t;
    int i;

    (void)state;
    teller_open(&t);
    teller_set_mute(&t, true);
    for (i = 1; i <= 50; i++) {
        struct opening o;

        heard_init(&h);
        opening_begin(
            &o, &t,
            MCP_SUBSCRIBE(.lists = ALL_LISTS, .on_event = free_in_event, .user = &h));
        snprintf(name, sizeof name, "listen-%d", i);
        teller_line(&t, name, 1);
        teller_ack(&t, name, "{\"toolsListChanged\":true}");
        teller_tell(&t, name, TOOLS, NULL);
        heard_await(&h, count, 1);
        assert_int_equal(opening_end(&o), 0);
        heard_done(&h);
    }
    teller_close(&t);
}

static void
free_client_in_end(mcp_subscription *s, enum mcp_subscription_end how, int status,
                   void *user)
{
    struct inside *in = user;

    mcp_client_free(in->client);
    mcp_subscription_free(s);
    hear_end(NULL, how, status, &in->h);
}

static void
the_client_may_be_freed_inside_its_callback(void **state)
{
    struct inside in;
    struct teller t;

    (void)state;
    teller_open(&t);
    heard_init(&in.h);
    in.client = t.client;
    (void)subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .on_end = free_client_in_end,
                                      .user = &in));
    t.client = NULL;
    teller_end(&t, "listen-1");
    heard_await(&in.h, ends, 1);
    pthread_join(t.thread, NULL); /* the client has hung up */
    assert_int_equal(pthread_create(&t.thread, NULL, teller_main, &t), 0);
    while (atomic_load(&t.mem.live) > 0) /* its own thread takes it apart */
        assert_int_equal(poll(NULL, 0, 1), 0);
    teller_close(&t);
    heard_done(&in.h);
}

struct freeing {
    mcp_subscription *s;
    atomic_bool returned;
};

static void *
free_it(void *user)
{
    struct freeing *freeing = user;

    mcp_subscription_free(freeing->s);
    atomic_store(&freeing->returned, true);
    return NULL;
}

static void
B32_freeing_waits_for_a_callback_that_runs(void **state)
{
    struct freeing freeing;
    pthread_t thread;
    struct heard h;
    struct teller t;
    int i;

    (void)state;
    teller_open(&t);
    heard_init(&h);
    heard_gate(&h, true);
    freeing.s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .on_event = hear_event,
                                            .on_end = hear_end, .user = &h));
    atomic_init(&freeing.returned, false);
    teller_tell(&t, "listen-1", TOOLS, NULL);
    heard_await(&h, at_gate, 1);
    assert_int_equal(pthread_create(&thread, NULL, free_it, &freeing), 0);
    for (i = 0; i < 20; i++) /* time enough for one that does not wait */
        teller_sync(&t);
    assert_false(atomic_load(&freeing.returned));
    heard_gate(&h, false);
    pthread_join(thread, NULL);
    assert_int_equal(h.count, 1);
    assert_int_equal(h.ends, 0);
    teller_close(&t);
    heard_done(&h);
}

static void
M26_it_outlives_its_client_in_every_state(void **state)
{
    mcp_subscription *open, *opening, *graceful, *waiting;
    struct teller t;
    int fd;

    (void)state;
    teller_open(&t);
    open = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    graceful = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    waiting = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    teller_tell(&t, "listen-3", TOOLS, NULL);
    teller_end(&t, "listen-2");
    teller_set_mute(&t, true);
    opening = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS, .no_wait = true));
    teller_sync(&t);
    mcp_client_free(t.client);
    t.client = NULL;
    assert_int_equal(mcp_subscription_fd(waiting, &fd), 0);
    assert_int_equal(poll_for(fd, 0), 1);
    expect_event(waiting, MCP_TOOLS_CHANGED, NULL);
    expect_end(waiting, MCP_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    expect_end(open, MCP_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    expect_end(opening, MCP_SUBSCRIPTION_LOST, MCP_E_CLOSED);
    expect_end(graceful, MCP_SUBSCRIPTION_GRACEFUL, 0);
    assert_int_equal(mcp_subscription_lists(opening), 0);
    assert_int_equal(mcp_subscription_lists(open), ALL_LISTS);
    mcp_subscription_free(open);
    mcp_subscription_free(opening);
    mcp_subscription_free(graceful);
    mcp_subscription_free(waiting);
    teller_close(&t);
}

/* ---- everything at once -------------------------------------------------- */

#define THREADS 4
#define ROUNDS 60

struct churn {
    struct teller *t;
    struct heard h;
    pthread_t thread;
    unsigned seed;
};

static void
quiet_event(mcp_subscription *s, const mcp_notice *event, void *user)
{
    struct churn *c = user;

    (void)s;
    (void)event;
    pthread_mutex_lock(&c->h.lock);
    c->h.count++;
    pthread_mutex_unlock(&c->h.lock);
}

static void
quiet_end(mcp_subscription *s, enum mcp_subscription_end how, int status, void *user)
{
    (void)s;
    (void)how;
    (void)status;
    quiet_event(NULL, NULL, user);
}

static void *
churn_main(void *user)
{
    static const char *const uris[] = {"a", "b", NULL};
    struct churn *c = user;
    int i;

    for (i = 0; i < ROUNDS; i++) {
        unsigned dice = (unsigned)rand_r(&c->seed);
        mcp_subscribe opt = MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = uris,
                                          .no_wait = (dice & 1) != 0, .user = c);
        mcp_subscription *s = NULL;
        mcp_notice event;

        if (dice & 2)
            opt.on_event = quiet_event;
        if (dice & 4)
            opt.on_end = quiet_end;
        if (mcp_client_subscribe(c->t->client, &opt, &s, NULL) < 0)
            continue; /* it closes */
        if (dice & 8) {
            teller_tell(c->t, NULL, TOOLS, NULL);
            teller_tell(c->t, NULL, "resources/updated", "a");
        }
        if (dice & 16)
            (void)mcp_subscription_next(s, 1, &event);
        if (dice & 32)
            (void)mcp_subscription_watches(s, "a");
        mcp_subscription_free(s);
    }
    return NULL;
}

static void *
echo_events(void *user)
{
    struct teller *t = user;
    char name[32];
    int i;

    for (i = 1; i < THREADS * ROUNDS; i++) { /* to those that are open by chance */
        snprintf(name, sizeof name, "listen-%d", i);
        teller_tell(t, name, TOOLS, NULL);
        if (i % 7 == 0)
            teller_end(t, name);
        if (i % 11 == 0)
            teller_revoke(t, name);
    }
    return NULL;
}

/* state: the era. With the end of the client in the middle of it. */
static void
free_in_every_state_from_many_threads(void **state)
{
    enum mcp_era era = *(const enum mcp_era *)*state;
    struct churn churns[THREADS];
    pthread_t echo;
    struct teller t;
    size_t i;

    teller_open_as(&t, era, TELLS_ALL, TELLER_OPTIONS(.quiet = true));
    for (i = 0; i < THREADS; i++) {
        churns[i].t = &t;
        churns[i].seed = (unsigned)i + 1;
        heard_init(&churns[i].h);
        assert_int_equal(
            pthread_create(&churns[i].thread, NULL, churn_main, &churns[i]), 0);
    }
    assert_int_equal(pthread_create(&echo, NULL, echo_events, &t), 0);
    pthread_join(echo, NULL);
    pthread_join(churns[0].thread, NULL);
    mcp_client_close(t.client);
    for (i = 1; i < THREADS; i++)
        pthread_join(churns[i].thread, NULL);
    teller_close(&t);
    for (i = 0; i < THREADS; i++)
        heard_done(&churns[i].h);
}

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

TEST_MAIN(TEST(nothing_is_a_subscription), TEST(next_waits_for_an_event),
          TEST(the_uri_is_good_until_the_next_is_taken),
          TEST(the_descriptor_is_readable_while_there_is_something_to_take),
          TEST(a_descriptor_that_is_asked_for_late_shows_what_is_there),
          TEST(the_descriptor_tells_of_an_opening_that_fails),
          TEST(B33_it_may_be_freed_inside_its_callbacks),
          TEST(B33_it_may_be_freed_inside_a_callback_before_its_opening_returns),
          TEST(the_client_may_be_freed_inside_its_callback),
          TEST(B32_freeing_waits_for_a_callback_that_runs),
          TEST(M26_it_outlives_its_client_in_every_state),
          TEST_AS("modern.free_in_every_state_from_many_threads",
                  free_in_every_state_from_many_threads, &modern),
          TEST_AS("legacy.free_in_every_state_from_many_threads",
                  free_in_every_state_from_many_threads, &legacy))
