/* subscription_make_test.c - what may be asked for, and from where */
#include <mcp/subscription.h>
#include <sys/wait.h>

#include "api/subscription_heard.h"

static int
try_subscribe(struct teller *t, mcp_subscribe opt, mcp_error *err)
{
    mcp_subscription *s = NULL;
    int r = mcp_client_subscribe(t->client, &opt, &s, err);

    assert_int_equal(r == 0, s != NULL);
    mcp_subscription_free(s);
    return r;
}

static void
what_makes_no_sense_is_refused(void **state)
{
    const char *empty[] = {"", NULL}, *garbled[] = {"a\xff", NULL};
    mcp_subscription *s = NULL;
    struct teller t;
    mcp_error err;

    (void)state;
    teller_open(&t);
    assert_int_equal(mcp_client_subscribe(NULL, &MCP_SUBSCRIBE(), &s, &err),
                     MCP_E_INVAL);
    assert_int_equal(mcp_client_subscribe(t.client, &MCP_SUBSCRIBE(), NULL, &err),
                     MCP_E_INVAL);
    assert_int_equal(
        try_subscribe(&t, MCP_SUBSCRIBE(.lists = MCP_RESOURCE_UPDATED), &err),
        MCP_E_INVAL);
    assert_string_equal(err.message, "lists: not a set of lists");
    assert_int_equal(try_subscribe(&t, MCP_SUBSCRIBE(.uris = empty), &err),
                     MCP_E_INVAL);
    assert_int_equal(try_subscribe(&t, MCP_SUBSCRIBE(.uris = garbled), &err),
                     MCP_E_INVAL);
    assert_int_equal(try_subscribe(&t, MCP_SUBSCRIBE(.timeout_ms = -1), &err),
                     MCP_E_INVAL);
    assert_int_equal(try_subscribe(&t, (mcp_subscribe){.size = 1}, &err), MCP_E_INVAL);
    teller_sync(&t);
    assert_int_equal(teller_count(&t, "subscriptions/listen"), 0);
    teller_close(&t);
}

static void
no_options_ask_for_nothing(void **state)
{
    mcp_subscription *s;
    struct teller t;

    (void)state;
    teller_open(&t);
    assert_int_equal(mcp_client_subscribe(t.client, NULL, &s, NULL), 0);
    assert_non_null(
        strstr(teller_line(&t, "subscriptions/listen", 1), "\"notifications\":{}"));
    expect_none(s);
    mcp_subscription_free(s);
    teller_close(&t);
}

static void
more_than_a_message_may_have_is_refused(void **state)
{
    const char *uris[] = {NULL, NULL};
    char *uri = malloc(70000);
    struct teller t;
    mcp_error err;

    (void)state;
    assert_non_null(uri);
    memset(uri, 'a', 69999);
    uri[69999] = '\0';
    uris[0] = uri;
    teller_open_as(&t, MCP_ERA_MODERN, NULL, TELLER_OPTIONS(.message_bytes = 65536));
    assert_int_equal(try_subscribe(&t, MCP_SUBSCRIBE(.uris = uris), &err), MCP_E_LIMIT);
    teller_close(&t);
    free(uri);
}

static void
after_the_clients_end_nothing_can_be_opened(void **state)
{
    struct teller t;
    mcp_error err;

    (void)state;
    teller_open(&t);
    mcp_client_close(t.client);
    assert_int_equal(try_subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS), &err),
                     MCP_E_CLOSED);
    assert_string_equal(err.message, "the connection is closed");
    teller_close(&t);
}

/* ---- on a loop ----------------------------------------------------------- */

struct on_loop {
    struct teller t;
    mcp_loop *loop;
    struct heard h;
    mcp_subscription *s;
    int blocking, begun, waiting;
};

static void
end_on_loop(mcp_subscription *s, enum mcp_subscription_end how, int status, void *user)
{
    struct on_loop *l = user;

    hear_end(s, how, status, &l->h);
    mcp_subscription_free(s);
}

static void
event_on_loop(mcp_subscription *s, const mcp_notice *event, void *user)
{
    struct on_loop *l = user;

    hear_event(s, event, &l->h);
}

static void
subscribe_on_loop(void *user)
{
    mcp_subscribe opt = MCP_SUBSCRIBE(.lists = ALL_LISTS, .on_event = event_on_loop,
                                      .on_end = end_on_loop, .user = user);
    struct on_loop *l = user;
    mcp_subscription *other;
    mcp_notice event;

    l->blocking = mcp_client_subscribe(l->t.client, &opt, &l->s, NULL);
    opt.no_wait = true;
    l->begun = mcp_client_subscribe(l->t.client, &opt, &l->s, NULL);
    opt = MCP_SUBSCRIBE(.no_wait = true);
    if (mcp_client_subscribe(l->t.client, &opt, &other, NULL) == 0) {
        l->waiting = mcp_subscription_next(other, 1, &event);
        mcp_subscription_free(other); /* before it has begun */
    }
}

static void *
run_loop(void *user)
{
    return (void *)(intptr_t)mcp_loop_run(user);
}

/* With callbacks on workers, or (state) on the loop itself. */
static void
on_a_loop_it_does_not_wait(void **state)
{
    struct on_loop l;
    pthread_t thread;
    int fd;

    memset(&l, 0, sizeof l);
    heard_init(&l.h);
    assert_int_equal(mcp_loop_new(NULL, &l.loop, NULL), 0);
    fd = teller_prepare(&l.t, MCP_ERA_MODERN, NULL);
    teller_start(&l.t);
    assert_int_equal(
        mcp_client_attach(fd, fd,
                          &TELLER_OPTIONS(.allocator = &l.t.mem.allocator,
                                          .loop = l.loop, .no_wait = true,
                                          .callbacks_on_loop = *state != NULL),
                          &l.t.client, NULL),
        0);
    assert_int_equal(mcp_loop_post(l.loop, subscribe_on_loop, &l), 0);
    assert_int_equal(pthread_create(&thread, NULL, run_loop, l.loop), 0);
    teller_line(&l.t, "\"listen-1\"", 1);
    teller_sync(&l.t);
    teller_tell(&l.t, "listen-1", "tools/list_changed", NULL);
    teller_end(&l.t, "listen-1");
    heard_await(&l.h, ends, 1);
    assert_int_equal(l.blocking, MCP_E_STATE);
    assert_int_equal(l.begun, 0);
    assert_int_equal(l.waiting, MCP_E_STATE);
    assert_string_equal(l.h.events, "1 ");
    assert_int_equal(l.h.how, MCP_SUBSCRIPTION_GRACEFUL);
    mcp_client_free(l.t.client);
    l.t.client = NULL;
    mcp_loop_stop(l.loop);
    pthread_join(thread, NULL);
    mcp_loop_free(l.loop);
    assert_int_equal(teller_count(&l.t, "\"listen-2\""), 0);
    teller_close(&l.t);
    heard_done(&l.h);
}

/* ---- in a callback ------------------------------------------------------- */

struct inside {
    struct teller t;
    struct heard h;
    int r;
};

static void
subscribe_inside(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    struct inside *in = user;
    mcp_subscription *s = NULL;

    (void)call;
    (void)reply;
    in->r = mcp_client_subscribe(in->t.client, &MCP_SUBSCRIBE(.lists = ALL_LISTS), &s,
                                 NULL);
    if (in->r == 0)
        expect_none(s);
    mcp_subscription_free(s);
    hear_end(NULL, MCP_SUBSCRIPTION_OPEN, status, &in->h);
}

static void
a_worker_may_wait_for_it(void **state)
{
    struct inside in;

    (void)state;
    memset(&in, 0, sizeof in);
    teller_open(&in.t);
    heard_init(&in.h);
    assert_int_equal(
        mcp_client_start(in.t.client, "x/any", NULL, NULL, subscribe_inside, &in, NULL),
        0);
    heard_await(&in.h, ends, 1);
    assert_int_equal(in.r, 0);
    teller_close(&in.t);
    heard_done(&in.h);
}

struct early {
    struct heard h;
    mcp_subscription *s; /* where the caller wants it */
    bool differs;
};

static void
compare_handle(mcp_subscription *s, enum mcp_subscription_end how, int status,
               void *user)
{
    struct early *e = user;

    e->differs |= e->s != s;
    hear_end(s, how, status, &e->h);
}

/* As with a call that is started: a callback finds the handle where it was asked for. */
static void
the_handle_is_there_before_its_callbacks(void **state)
{
    struct early e;
    struct teller t;
    int i;

    (void)state;
    teller_open(&t);
    teller_set_refuse(&t, "subscriptions/listen");
    for (i = 0; i < 200; i++) {
        memset(&e, 0, sizeof e);
        heard_init(&e.h);
        assert_int_equal(
            mcp_client_subscribe(t.client,
                                 &MCP_SUBSCRIBE(.lists = ALL_LISTS, .no_wait = true,
                                                .on_end = compare_handle, .user = &e),
                                 &e.s, NULL),
            0);
        heard_await(&e.h, ends, 1);
        assert_false(e.differs);
        mcp_subscription_free(e.s);
        heard_done(&e.h);
    }
    teller_close(&t);
}

/* ---- memory -------------------------------------------------------------- */

static void
make_many(struct test_mem *mem, void *user)
{
    const char *uris[41] = {NULL};
    char texts[40][16];
    mcp_subscription *s = NULL;
    struct teller *t = user;
    mcp_error err;
    size_t i;
    int r;

    (void)mem; /* of the client, which stays */
    for (i = 0; i < 40; i++) {
        snprintf(texts[i], sizeof texts[i], "file:///%zu", i);
        uris[i] = texts[i];
    }
    r = mcp_client_subscribe(
        t->client, &MCP_SUBSCRIBE(.lists = ALL_LISTS, .uris = uris), &s, &err);
    assert_true(r == 0 || r == MCP_E_NOMEM || r == MCP_E_CLOSED);
    assert_int_equal(r == 0, s != NULL);
    mcp_subscription_free(s);
}

/* The 1st, 2nd, ... allocation from now on fails while the client works on. */
static void
each_allocation_of_the_opening_may_fail(void **state)
{
    struct teller t;
    long n, failed;

    (void)state;
    for (n = 1; n < 40; n++) {
        teller_open(&t);
        teller_sync(&t);
        atomic_store(&t.mem.fail_at, atomic_load(&t.mem.total) + n);
        make_many(&t.mem, &t);
        failed = atomic_load(&t.mem.failed);
        atomic_store(&t.mem.fail_at, 0);
        teller_close(&t);
        if (failed == 0)
            break;
    }
    assert_in_range(n, 3, 39);
}

static void
in_a_forked_process_every_function_fails(void **state)
{
    mcp_subscription *s, *other;
    struct teller t;
    mcp_notice event;
    int status, fd;
    pid_t pid;

    (void)state;
    teller_open(&t);
    s = subscribe(&t, MCP_SUBSCRIBE(.lists = ALL_LISTS));
    pid = fork();
    if (pid == 0) {
        bool ok = mcp_client_subscribe(t.client, NULL, &other, NULL) == MCP_E_STATE &&
                  mcp_subscription_next(s, 0, &event) == MCP_E_STATE &&
                  mcp_subscription_fd(s, &fd) == MCP_E_STATE &&
                  mcp_subscription_status(s, NULL) == MCP_E_STATE &&
                  mcp_subscription_lists(s) == 0;

        mcp_subscription_free(s);
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    expect_none(s);
    mcp_subscription_free(s);
    teller_close(&t);
}

static int yes = 1;

TEST_MAIN(TEST(what_makes_no_sense_is_refused), TEST(no_options_ask_for_nothing),
          TEST(more_than_a_message_may_have_is_refused),
          TEST(after_the_clients_end_nothing_can_be_opened),
          TEST_AS("on_a_loop_it_does_not_wait", on_a_loop_it_does_not_wait, NULL),
          TEST_AS("on_a_loop_with_its_callbacks_it_does_not_wait",
                  on_a_loop_it_does_not_wait, &yes),
          TEST(a_worker_may_wait_for_it),
          TEST(the_handle_is_there_before_its_callbacks),
          TEST(each_allocation_of_the_opening_may_fail),
          TEST(in_a_forked_process_every_function_fails))
