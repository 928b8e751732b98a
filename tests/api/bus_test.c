/* bus_test.c - the bus inside a process */
#include <mcp/server.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "support/test.h"

struct ear {
    const mcp_bus *bus;
    void *ticket;
    atomic_int heard;
    atomic_int inside;
    atomic_bool open;   /* go on */
    bool waits;         /* for that */
    atomic_bool leaves; /* unsubscribes itself, once */
    bool repeats;       /* publishes once more */
    char uri[64];
};

static void
pause_briefly(void)
{
    const struct timespec brief = {0, 500000};

    nanosleep(&brief, NULL);
}

static void
on_event(void *user, const mcp_event *event)
{
    struct ear *ear = user;

    atomic_fetch_add(&ear->inside, 1);
    while (ear->waits && !atomic_load(&ear->open))
        pause_briefly();
    if (event->uri && ear->repeats)
        strcpy(ear->uri, event->uri);
    if (event->uri && ear->repeats)
        ear->bus->publish(ear->bus->self, &(mcp_event){.change = MCP_TOOLS_CHANGED});
    if (atomic_exchange(&ear->leaves, false))
        assert_int_equal(ear->bus->unsubscribe(ear->bus->self, ear->ticket), 0);
    atomic_fetch_add(&ear->heard, 1);
    atomic_fetch_sub(&ear->inside, 1);
}

static void
ear_open(struct ear *ear, const mcp_bus *bus)
{
    ear->bus = bus;
    assert_int_equal(bus->subscribe(bus->self, on_event, ear, &ear->ticket), 0);
}

static void
ear_close(struct ear *ear)
{
    assert_int_equal(ear->bus->unsubscribe(ear->bus->self, ear->ticket), 0);
}

static int
publish(const mcp_bus *bus, enum mcp_change change, const char *uri)
{
    return bus->publish(bus->self, &(mcp_event){.change = change, .uri = uri});
}

static mcp_local_bus *
bus_make(struct test_mem *mem, const mcp_bus **ret_bus)
{
    mcp_local_bus *bus;

    test_mem_init(mem);
    assert_int_equal(mcp_local_bus_new(&mem->allocator, &bus), 0);
    *ret_bus = mcp_local_bus_interface(bus);
    return bus;
}

static void
an_event_reaches_all_who_have_subscribed(void **state)
{
    struct ear a = {.waits = false}, b = {.waits = false};
    struct test_mem mem;
    const mcp_bus *bus;
    mcp_local_bus *local = bus_make(&mem, &bus);

    (void)state;
    assert_int_equal(publish(bus, MCP_TOOLS_CHANGED, NULL), 0); /* nobody: no error */
    ear_open(&a, bus);
    ear_open(&b, bus);
    assert_int_equal(publish(bus, MCP_RESOURCE_UPDATED, "a:b"), 0);
    assert_int_equal(a.heard, 1);
    assert_int_equal(b.heard, 1);
    ear_close(&a);
    assert_int_equal(publish(bus, MCP_PROMPTS_CHANGED, NULL), 0);
    assert_int_equal(a.heard, 1);
    assert_int_equal(b.heard, 2);
    ear_close(&b);
    mcp_local_bus_free(local);
    test_mem_done(&mem);
}

static void
what_is_no_event_is_refused(void **state)
{
    struct test_mem mem;
    const mcp_bus *bus;
    mcp_local_bus *local = bus_make(&mem, &bus);
    void *ticket;

    (void)state;
    assert_int_equal(bus->publish(bus->self, NULL), MCP_E_INVAL);
    assert_int_equal(publish(bus, MCP_RESOURCE_UPDATED, NULL), MCP_E_INVAL);
    assert_int_equal(publish(bus, (enum mcp_change)3, NULL), MCP_E_INVAL);
    assert_int_equal(publish(bus, (enum mcp_change)16, NULL), MCP_E_INVAL);
    assert_int_equal(bus->subscribe(bus->self, NULL, NULL, &ticket), MCP_E_INVAL);
    assert_int_equal(bus->subscribe(bus->self, on_event, NULL, NULL), MCP_E_INVAL);
    assert_int_equal(bus->unsubscribe(bus->self, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_local_bus_new(NULL, NULL), MCP_E_INVAL);
    assert_null(mcp_local_bus_interface(NULL));
    mcp_local_bus_free(NULL);
    mcp_local_bus_free(local);
    test_mem_done(&mem);
}

static void
a_callback_may_unsubscribe_itself_and_publish(void **state)
{
    struct ear a = {.leaves = true, .repeats = true}, b = {.repeats = true};
    struct test_mem mem;
    const mcp_bus *bus;
    mcp_local_bus *local = bus_make(&mem, &bus);

    (void)state;
    ear_open(&a, bus);
    ear_open(&b, bus);
    assert_int_equal(publish(bus, MCP_RESOURCE_UPDATED, "a:b"), 0);
    assert_string_equal(b.uri, "a:b");
    assert_int_equal(a.heard, 2); /* it left in the second, inside of the first */
    assert_int_equal(b.heard, 3);
    assert_int_equal(publish(bus, MCP_TOOLS_CHANGED, NULL), 0);
    assert_int_equal(a.heard, 2);
    assert_int_equal(b.heard, 4);
    ear_close(&b);
    mcp_local_bus_free(local);
    test_mem_done(&mem);
}

/* ---- threads ------------------------------------------------------------ */

static void *
publish_one(void *user)
{
    const mcp_bus *bus = user;

    assert_int_equal(publish(bus, MCP_TOOLS_CHANGED, NULL), 0);
    return NULL;
}

struct leaver {
    struct ear *ear;
    atomic_bool left;
    int inside; /* when it had */
};

static void *
leave(void *user)
{
    struct leaver *leaver = user;

    ear_close(leaver->ear);
    leaver->inside = atomic_load(&leaver->ear->inside);
    atomic_store(&leaver->left, true);
    return NULL;
}

static void
unsubscribing_waits_for_a_callback_that_runs(void **state)
{
    struct ear ear = {.waits = true};
    struct leaver leaver = {.ear = &ear};
    struct test_mem mem;
    const mcp_bus *bus;
    mcp_local_bus *local = bus_make(&mem, &bus);
    pthread_t publisher, leaving;

    (void)state;
    ear_open(&ear, bus);
    assert_int_equal(
        pthread_create(&publisher, NULL, publish_one, (void *)(uintptr_t)bus), 0);
    while (atomic_load(&ear.inside) == 0)
        pause_briefly();
    assert_int_equal(pthread_create(&leaving, NULL, leave, &leaver), 0);
    for (int i = 0; i < 20; i++)
        pause_briefly(); /* as long as it likes: it must not return */
    assert_false(atomic_load(&leaver.left));
    atomic_store(&ear.open, true);
    pthread_join(leaving, NULL);
    pthread_join(publisher, NULL);
    assert_int_equal(leaver.inside, 0);
    assert_int_equal(ear.heard, 1);
    mcp_local_bus_free(local);
    test_mem_done(&mem);
}

#define ROUNDS 300

static void *
publish_many(void *user)
{
    for (int i = 0; i < ROUNDS; i++)
        publish_one(user);
    return NULL;
}

static void *
come_and_go(void *user)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct ear ear = {.leaves = i % 3 == 0};

        ear_open(&ear, user);
        publish_one(user);
        if (i % 3 != 0) {
            assert_true(atomic_load(&ear.heard) >= 1);
            ear_close(&ear);
        }
        while (atomic_load(&ear.inside) > 0) /* another thread leaves for us */
            pause_briefly();
        assert_true(atomic_load(&ear.heard) >= 1);
    }
    return NULL;
}

static void
all_may_happen_at_once(void **state)
{
    struct ear stays = {.waits = false};
    pthread_t threads[4];
    struct test_mem mem;
    const mcp_bus *bus;
    mcp_local_bus *local = bus_make(&mem, &bus);

    (void)state;
    ear_open(&stays, bus);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL,
                                        i % 2 ? publish_many : come_and_go,
                                        (void *)(uintptr_t)bus),
                         0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    assert_int_equal(stays.heard, 4 * ROUNDS);
    ear_close(&stays);
    mcp_local_bus_free(local);
    test_mem_done(&mem);
}

static void
flow(struct test_mem *mem, void *user)
{
    mcp_local_bus *local;
    const mcp_bus *bus;
    void *ticket;

    (void)user;
    if (mcp_local_bus_new(&mem->allocator, &local) < 0)
        return;
    bus = mcp_local_bus_interface(local);
    if (bus->subscribe(bus->self, on_event, NULL, &ticket) == 0)
        assert_int_equal(bus->unsubscribe(bus->self, ticket), 0);
    mcp_local_bus_free(local);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(flow, NULL), 2);
}

TEST_MAIN(TEST(an_event_reaches_all_who_have_subscribed),
          TEST(what_is_no_event_is_refused),
          TEST(a_callback_may_unsubscribe_itself_and_publish),
          TEST(unsubscribing_waits_for_a_callback_that_runs),
          TEST(all_may_happen_at_once), TEST(each_allocation_may_fail))
