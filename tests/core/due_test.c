/* due_test.c - what one reader is still to be told, as a set */
#include "core/due.h"

#include <stdio.h>
#include <string.h>

#include "core/engine.h"
#include "core/peer.h"
#include "support/fake.h"

/* ---- an owner that writes "tools" and "uri:x" ------------------------------ */

struct owner {
    struct fake f;
    struct mcpi_due due;
    int refs, ended, status;
    bool dead; /* not live */
    bool idle; /* does not push the next by itself */
    int write; /* what writing says; 0: it writes */
};

static struct owner *
owner_of(const struct mcpi_due *due)
{
    return MCPI_CONTAINER(due, struct owner, due);
}

static int
owner_write(struct mcpi_due *due, const struct mcpi_due_item *item,
            struct mcpi_buf *into)
{
    if (owner_of(due)->write != 0)
        return owner_of(due)->write;
    if (item->topic == MCPI_TOPIC_UPDATED)
        mcpi_buf_append(into, item->name->text, item->name->len);
    else
        mcpi_buf_text(into, item->topic ? mcpi_topic_method(item->topic) : "first");
    return into->status;
}

static bool
owner_is_live(const struct mcpi_due *due)
{
    return !owner_of(due)->dead;
}

static void
owner_ended(struct mcpi_due *due, int status)
{
    struct owner *o = owner_of(due);

    o->ended++;
    o->status = status;
    if (status == 0 && !o->idle)
        mcpi_due_push(due);
}

static void
owner_ref(struct mcpi_due *due)
{
    owner_of(due)->refs++;
}

static void
owner_unref(struct mcpi_due *due)
{
    owner_of(due)->refs--;
}

static const struct mcpi_due_ops owner_ops = {.write = owner_write,
                                              .is_live = owner_is_live,
                                              .ended = owner_ended,
                                              .ref = owner_ref,
                                              .unref = owner_unref};

static void
owner_open(struct owner *o)
{
    struct fake_options opt = {.role = MCPI_SERVER, .limits = {.subscribed = 3}};

    memset(o, 0, sizeof(*o));
    assert_int_equal(fake_open(&o->f, &opt), 0);
    o->f.engine->trace = NULL; /* what is written here are no messages */
    mcpi_due_init(&o->due, &owner_ops, o->f.engine, mcpi_peer_outlet(o->f.peer));
}

/* All outs have ended: nobody needs the owner. */
static void
owner_close(struct owner *o)
{
    assert_int_equal(o->refs, 0);
    mcpi_due_done(&o->due);
    fake_close(&o->f);
}

static void
add_uri(struct owner *o, const char *uri)
{
    assert_int_equal(mcpi_due_add_uri(&o->due, uri), 0);
    mcpi_due_push(&o->due);
}

static void
add_list(struct owner *o, enum mcpi_topic list)
{
    mcpi_due_add_list(&o->due, list);
    mcpi_due_push(&o->due);
}

/* Everything that is taken until nothing is left, with blanks between. */
static void
expect_all(struct owner *o, const char *expected)
{
    char all[512] = "";

    while (fake_take(&o->f) > 0)
        fake_written(&o->f, 0);
    for (size_t i = 0; i < o->f.event_count; i++) {
        strcat(all, i > 0 ? " " : "");
        strcat(all, fake_text(&o->f, i));
    }
    assert_string_equal(all, expected);
    fake_forget(&o->f);
}

#define TOOLS "notifications/tools/list_changed"
#define PROMPTS "notifications/prompts/list_changed"
#define RESOURCES "notifications/resources/list_changed"

/* ---- what is due ----------------------------------------------------------- */

static void
each_topic_has_its_method(void **state)
{
    (void)state;
    assert_string_equal(mcpi_topic_method(MCPI_TOPIC_TOOLS), TOOLS);
    assert_string_equal(mcpi_topic_method(MCPI_TOPIC_PROMPTS), PROMPTS);
    assert_string_equal(mcpi_topic_method(MCPI_TOPIC_RESOURCES), RESOURCES);
    assert_string_equal(mcpi_topic_method(MCPI_TOPIC_UPDATED),
                        "notifications/resources/updated");
}

static void
what_is_due_is_told_once_and_in_order(void **state)
{
    struct owner o;

    (void)state;
    owner_open(&o);
    mcpi_due_push(&o.due); /* nothing */
    assert_int_equal(o.f.wakes, 0);
    for (int i = 0; i < 3; i++) {
        add_list(&o, 0);
        add_uri(&o, "x:2");
        add_list(&o, MCPI_TOPIC_PROMPTS);
        add_uri(&o, "x:1");
        add_list(&o, MCPI_TOPIC_RESOURCES);
        add_list(&o, MCPI_TOPIC_TOOLS);
    }
    assert_int_equal(fake_take(&o.f), 1); /* one at a time */
    fake_written(&o.f, 0);
    expect_all(&o, "first x:2 " PROMPTS " x:1 " RESOURCES " " TOOLS);
    owner_close(&o);
}

static void
what_happens_after_it_was_taken_is_told_again(void **state)
{
    struct owner o;

    (void)state;
    owner_open(&o);
    add_list(&o, MCPI_TOPIC_TOOLS);
    assert_int_equal(fake_take(&o.f), 1);
    add_list(&o, MCPI_TOPIC_TOOLS);
    add_list(&o, MCPI_TOPIC_TOOLS);
    fake_written(&o.f, 0);
    add_uri(&o, "x:1");
    assert_int_equal(fake_take(&o.f), 1);
    fake_written(&o.f, 0);
    assert_int_equal(fake_take(&o.f), 1);
    add_uri(&o, "x:1");
    fake_written(&o.f, 0);
    expect_all(&o, TOOLS " " TOOLS " x:1 x:1");
    owner_close(&o);
}

static void
resources_are_bounded_and_can_be_forgotten(void **state)
{
    struct owner o;

    (void)state;
    owner_open(&o);
    add_uri(&o, "x:1");
    add_uri(&o, "x:2");
    add_list(&o, MCPI_TOPIC_TOOLS);
    add_uri(&o, "x:3");
    assert_int_equal(mcpi_due_add_uri(&o.due, "x:4"), MCP_E_LIMIT);
    add_uri(&o, "x:2"); /* it is there */
    mcpi_due_forget_uris(&o.due);
    add_uri(&o, "x:4");
    expect_all(&o, TOOLS " x:4");
    add_uri(&o, "x:5");
    mcpi_due_forget_uris(&o.due); /* and what waits has nothing to say */
    expect_all(&o, "");
    add_uri(&o, "x:6");
    expect_all(&o, "x:6");
    owner_close(&o);
}

static void
item_of_somebody_else_s_needs_no_memory_and_can_be_removed(void **state)
{
    const struct mcpi_name names[] = {{.text = "a:", .len = 2},
                                      {.text = "b:", .len = 2}};
    struct mcpi_due_item a, b;
    struct owner o;

    (void)state;
    owner_open(&o);
    mcpi_due_item_init(&a, &o.due, MCPI_TOPIC_UPDATED, &names[0]);
    mcpi_due_item_init(&b, &o.due, MCPI_TOPIC_UPDATED, &names[1]);
    o.f.mem->fail_at = o.f.mem->total + 1;
    o.f.mem->fail_after = true;
    mcpi_due_add(&a);
    mcpi_due_add(&b);
    mcpi_due_add(&a);
    assert_int_equal(mcpi_due_add_uri(&o.due, "x:1"), MCP_E_NOMEM);
    mcpi_due_forget_uris(&o.due); /* which these are not */
    mcpi_due_push(&o.due);
    o.f.mem->fail_after = false;
    mcpi_due_remove(&a);
    mcpi_due_remove(&a);
    assert_int_equal(fake_take(&o.f), 1);
    mcpi_due_remove(&b);
    memset(&b, 0xA5, sizeof(b)); /* it is gone */
    fake_written(&o.f, MCP_E_NOMEM);
    expect_all(&o, "b:");
    owner_close(&o);
}

/* ---- what cannot be written ------------------------------------------------ */

static void
what_could_not_be_written_is_due_again(void **state)
{
    struct owner o;

    (void)state;
    owner_open(&o);
    add_list(&o, MCPI_TOPIC_TOOLS);
    add_uri(&o, "x:1");
    o.write = MCP_E_NOMEM;
    assert_int_equal(fake_take(&o.f), 0);
    assert_int_equal(o.ended, 1);
    assert_int_equal(o.status, MCP_E_NOMEM);
    o.write = 0;
    mcpi_due_push(&o.due);
    assert_int_equal(fake_take(&o.f), 1); /* x:1, and its last byte never leaves */
    add_uri(&o, "x:2");
    fake_written(&o.f, MCP_E_NOMEM);
    fake_forget(&o.f);
    mcpi_due_push(&o.due);
    expect_all(&o, TOOLS " x:2 x:1");
    owner_close(&o);
}

static void
what_could_not_be_written_and_is_due_anyway_is_due_once(void **state)
{
    struct owner o;

    (void)state;
    owner_open(&o);
    for (int i = 0; i < 2; i++) {
        add_list(&o, MCPI_TOPIC_TOOLS);
        add_uri(&o, "x:1");
        assert_int_equal(fake_take(&o.f), 1);
        add_list(&o, MCPI_TOPIC_TOOLS);
        add_uri(&o, "x:1");
        fake_written(&o.f, MCP_E_NOMEM);
        mcpi_due_push(&o.due);
    }
    fake_forget(&o.f);
    expect_all(&o, TOOLS " x:1");
    owner_close(&o);
}

static void
what_has_become_moot_makes_room_for_the_next(void **state)
{
    struct owner o;

    (void)state;
    owner_open(&o);
    add_uri(&o, "x:1");
    add_uri(&o, "x:2");
    o.write = 1;
    o.idle = true;
    expect_all(&o, "");
    o.write = 0;
    mcpi_due_push(&o.due);
    expect_all(&o, "x:2");
    owner_close(&o);
}

static void
take_from_inside(struct fake *f, struct mcpi_outlet *outlet)
{
    int status = *(int *)f->user;

    (void)outlet;
    if (fake_take(f) > 0)
        fake_written(f, status);
}

static void
link_that_writes_from_inside_gets_all_of_it(void **state)
{
    struct owner o;
    int status = 0;

    (void)state;
    owner_open(&o);
    o.f.user = &status;
    o.f.on_wake = take_from_inside;
    mcpi_due_add_list(&o.due, MCPI_TOPIC_TOOLS);
    mcpi_due_add_list(&o.due, MCPI_TOPIC_PROMPTS);
    add_uri(&o, "x:1");
    o.f.on_wake = NULL;
    expect_all(&o, TOOLS " " PROMPTS " x:1");
    owner_close(&o);
}

static void
link_that_cannot_write_from_inside_is_not_asked_again(void **state)
{
    struct owner o;
    int status = MCP_E_NOMEM;

    (void)state;
    owner_open(&o);
    o.f.user = &status;
    o.f.on_wake = take_from_inside;
    add_list(&o, MCPI_TOPIC_TOOLS);
    assert_int_equal(o.ended, 1);
    o.f.on_wake = NULL;
    fake_forget(&o.f);
    mcpi_due_push(&o.due);
    expect_all(&o, TOOLS);
    owner_close(&o);
}

static void
outlet_that_is_gone_is_said_to_the_owner(void **state)
{
    struct owner o;

    (void)state;
    owner_open(&o);
    mcpi_peer_lost(o.f.peer, MCP_E_CLOSED, o.f.w.now);
    add_uri(&o, "x:1");
    assert_int_equal(o.ended, 1);
    assert_int_equal(o.status, MCP_E_CLOSED);
    owner_close(&o);
}

static void
owner_that_is_not_live_lets_nothing_wait(void **state)
{
    struct owner o;

    (void)state;
    owner_open(&o);
    o.dead = true;
    add_uri(&o, "x:1");
    expect_all(&o, "");
    o.dead = false;
    mcpi_due_push(&o.due);
    expect_all(&o, "x:1");
    owner_close(&o);
}

/* ---- the two ends ---------------------------------------------------------- */

static void
flush_needs_no_memory_and_stands_before_what_follows(void **state)
{
    struct owner o;

    (void)state;
    owner_open(&o);
    add_list(&o, MCPI_TOPIC_TOOLS);
    assert_int_equal(fake_take(&o.f), 1); /* half written, and due again */
    add_list(&o, MCPI_TOPIC_TOOLS);
    add_uri(&o, "x:1");
    o.f.mem->fail_at = o.f.mem->total + 1;
    o.f.mem->fail_after = true;
    o.dead = true;
    mcpi_due_flush(&o.due);
    o.f.mem->fail_after = false;
    assert_int_equal(fake_take(&o.f), 2); /* all at once */
    assert_int_equal(o.refs, 3);          /* its owner is needed until they are out */
    fake_written(&o.f, 0);
    expect_all(&o, TOOLS " " TOOLS " x:1");
    owner_close(&o);
}

static void
flush_follows_what_waits(void **state)
{
    struct owner o;

    (void)state;
    owner_open(&o);
    add_list(&o, 0);
    add_list(&o, MCPI_TOPIC_TOOLS);
    add_uri(&o, "x:1");
    o.dead = true;
    mcpi_due_flush(&o.due);
    mcpi_due_flush(&o.due);
    assert_int_equal(fake_take(&o.f), 3);
    fake_written(&o.f, 0);
    expect_all(&o, "first " TOOLS " x:1");
    add_uri(&o, "x:2"); /* it is not live */
    mcpi_due_forget_uris(&o.due);
    mcpi_due_flush(&o.due);
    expect_all(&o, "");
    owner_close(&o);
}

static void
flush_of_what_was_forgotten_says_nothing(void **state)
{
    struct owner o;

    (void)state;
    owner_open(&o);
    add_uri(&o, "x:1");
    mcpi_due_forget_uris(&o.due);
    o.dead = true;
    mcpi_due_flush(&o.due);
    expect_all(&o, "");
    owner_close(&o);
}

static void
flush_to_a_link_that_writes_from_inside_is_in_order(void **state)
{
    struct owner o;
    int status = 0;

    (void)state;
    owner_open(&o);
    add_list(&o, 0);
    add_list(&o, MCPI_TOPIC_TOOLS);
    add_uri(&o, "x:1");
    o.dead = true;
    o.f.user = &status;
    o.f.on_wake = take_from_inside;
    mcpi_due_flush(&o.due);
    o.f.on_wake = NULL;
    expect_all(&o, "first " TOOLS " x:1");
    owner_close(&o);
}

static void
flush_into_an_outlet_that_is_gone_leaks_nothing(void **state)
{
    struct owner o;

    (void)state;
    owner_open(&o);
    add_list(&o, MCPI_TOPIC_TOOLS);
    add_uri(&o, "x:1");
    o.dead = true;
    mcpi_peer_lost(o.f.peer, MCP_E_CLOSED, o.f.w.now);
    mcpi_due_flush(&o.due);
    owner_close(&o);
}

static void
clear_takes_back_what_waits_and_not_what_is_half_written(void **state)
{
    struct owner o;

    (void)state;
    owner_open(&o);
    add_list(&o, MCPI_TOPIC_TOOLS);
    add_uri(&o, "x:1");
    o.dead = true;
    mcpi_due_clear(&o.due);
    expect_all(&o, "");
    o.dead = false;
    add_uri(&o, "x:2");
    add_uri(&o, "x:3");
    assert_int_equal(fake_take(&o.f), 1);
    o.dead = true;
    mcpi_due_clear(&o.due);
    fake_written(&o.f, MCP_E_CLOSED); /* which is due again, to nobody */
    expect_all(&o, "x:2");
    owner_close(&o);
}

/* ---- without memory -------------------------------------------------------- */

static void
due_flow(struct test_mem *mem, void *user)
{
    struct fake_options opt = {.role = MCPI_SERVER, .mem = mem};
    struct owner o;
    char uri[16];

    (void)user;
    memset(&o, 0, sizeof(o));
    if (fake_open(&o.f, &opt) == 0) {
        o.f.engine->trace = NULL;
        mcpi_due_init(&o.due, &owner_ops, o.f.engine, mcpi_peer_outlet(o.f.peer));
        for (int i = 0; i < 20; i++) {
            snprintf(uri, sizeof(uri), "x:%d", i);
            (void)mcpi_due_add_uri(&o.due, uri);
            mcpi_due_push(&o.due);
        }
        fake_run(&o.f);
        fake_run(&o.f);
        o.dead = true;
        mcpi_due_flush(&o.due);
        fake_run(&o.f);
        assert_int_equal(o.refs, 0);
        mcpi_due_done(&o.due);
    }
    fake_close(&o.f);
}

static void
every_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(due_flow, NULL) > 20);
}

TEST_MAIN(TEST(each_topic_has_its_method), TEST(what_is_due_is_told_once_and_in_order),
          TEST(what_happens_after_it_was_taken_is_told_again),
          TEST(resources_are_bounded_and_can_be_forgotten),
          TEST(item_of_somebody_else_s_needs_no_memory_and_can_be_removed),
          TEST(what_could_not_be_written_is_due_again),
          TEST(what_could_not_be_written_and_is_due_anyway_is_due_once),
          TEST(what_has_become_moot_makes_room_for_the_next),
          TEST(link_that_writes_from_inside_gets_all_of_it),
          TEST(link_that_cannot_write_from_inside_is_not_asked_again),
          TEST(outlet_that_is_gone_is_said_to_the_owner),
          TEST(owner_that_is_not_live_lets_nothing_wait),
          TEST(flush_needs_no_memory_and_stands_before_what_follows),
          TEST(flush_follows_what_waits),
          TEST(flush_of_what_was_forgotten_says_nothing),
          TEST(flush_to_a_link_that_writes_from_inside_is_in_order),
          TEST(flush_into_an_outlet_that_is_gone_leaks_nothing),
          TEST(clear_takes_back_what_waits_and_not_what_is_half_written),
          TEST(every_allocation_may_fail))
