/* outlet_test.c - messages that wait to be written, and the moment they are */
#include "core/outlet.h"

#include <string.h>

#include "support/fake.h"
#include "support/wire.h"

/* A message of the test: says its name when it is taken. */
struct item {
    struct mcpi_out out;
    const char *name;
    int verdict; /* of take */
    int done;
    int status;
};

static int
item_take(struct mcpi_out *out, struct mcpi_buf *into)
{
    struct item *item = MCPI_CONTAINER(out, struct item, out);

    mcpi_buf_text(into, item->name);
    return item->verdict ? item->verdict : into->status;
}

static void
item_done(struct mcpi_out *out, int status)
{
    struct item *item = MCPI_CONTAINER(out, struct item, out);

    item->done++;
    item->status = status;
}

static const struct mcpi_out_ops note_ops = {
    .kind = MCPI_OUT_NOTE, .take = item_take, .done = item_done};
static const struct mcpi_out_ops first_ops = {
    .kind = MCPI_OUT_NOTE, .first = true, .take = item_take, .done = item_done};
static const struct mcpi_out_ops droppable_ops = {
    .kind = MCPI_OUT_NOTE, .droppable = true, .take = item_take, .done = item_done};
static const struct mcpi_out_ops answer_ops = {
    .kind = MCPI_OUT_ANSWER, .take = item_take, .done = item_done};

static void
item_init(struct item *item, const struct mcpi_out_ops *ops, const char *name)
{
    wire_recording(false); /* what an item says is no message of the protocol */
    memset(item, 0, sizeof(*item));
    item->name = name;
    mcpi_out_init(&item->out, ops);
}

static bool
push(struct fake *f, struct item *item)
{
    return mcpi_outlet_push(mcpi_peer_outlet(f->peer), &item->out);
}

static void
push_new(struct fake *f, struct item *item, const struct mcpi_out_ops *ops,
         const char *name)
{
    item_init(item, ops, name);
    assert_true(push(f, item));
}

/* All that was taken, one after the other. */
static void
expect_taken(struct fake *f, const char *names)
{
    char text[64] = "";

    for (size_t i = 0; i < f->event_count; i++)
        strcat(text, fake_text(f, i));
    assert_string_equal(text, names);
}

static void
messages_are_taken_in_the_order_they_came(void **state)
{
    struct item items[3];
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MANUAL);
    push_new(&f, &items[0], &note_ops, "a");
    push_new(&f, &items[1], &answer_ops, "b");
    push_new(&f, &items[2], &note_ops, "c");
    assert_int_equal(fake_take(&f), 3);
    expect_taken(&f, "abc");
    assert_int_equal(fake_event(&f, 1)->out, MCPI_OUT_ANSWER);
    assert_int_equal(items[0].done + items[1].done + items[2].done, 0);
    fake_written(&f, 0);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(items[i].done, 1);
        assert_int_equal(items[i].status, 0);
    }
    fake_close(&f);
}

static void
taken_message_that_fails_hears_why_once(void **state)
{
    struct item item;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MANUAL);
    push_new(&f, &item, &note_ops, "a");
    fake_take(&f);
    fake_written(&f, MCP_E_SEND_FAILED);
    assert_int_equal(item.done, 1);
    assert_int_equal(item.status, MCP_E_SEND_FAILED);
    assert_false(mcpi_out_withdraw(&item.out));
    assert_int_equal(item.done, 1);
    fake_close(&f);
}

static void
B7_waiting_message_is_withdrawn_and_a_taken_one_is_not(void **state)
{
    struct item items[3];
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MANUAL);
    push_new(&f, &items[0], &note_ops, "a");
    fake_take(&f);
    push_new(&f, &items[1], &answer_ops, "b");
    push_new(&f, &items[2], &note_ops, "c");
    assert_false(mcpi_out_withdraw(&items[0].out));
    assert_true(mcpi_out_withdraw(&items[1].out));
    assert_false(mcpi_out_withdraw(&items[1].out));
    assert_int_equal(items[0].done, 0);
    assert_int_equal(items[1].done, 1);
    assert_int_equal(items[1].status, MCP_E_CANCELED);
    assert_int_equal(mcpi_peer_outlet(f.peer)->answers, 0);
    fake_run(&f);
    expect_taken(&f, "ac");
    fake_close(&f);
}

static void
message_may_be_pushed_again_after_its_end(void **state)
{
    struct item item;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MANUAL);
    push_new(&f, &item, &note_ops, "a");
    fake_run(&f);
    assert_true(push(&f, &item));
    fake_run(&f);
    assert_int_equal(item.done, 2);
    expect_taken(&f, "aa");
    fake_close(&f);
}

static void
link_is_woken_for_what_it_can_take_and_only_then(void **state)
{
    struct fake_options opt = {.era = MCPI_ERA_MODERN};
    struct item held, first;
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    push_new(&f, &held, &note_ops, "a");
    assert_int_equal(f.wakes, 0);
    assert_true(mcpi_outlet_is_empty(mcpi_peer_outlet(f.peer)));
    push_new(&f, &first, &first_ops, "f");
    assert_int_equal(f.wakes, 1);
    assert_false(mcpi_outlet_is_empty(mcpi_peer_outlet(f.peer)));
    fake_close(&f);
    assert_int_equal(held.done + first.done, 2);
}

static void
only_negotiation_passes_while_negotiating_and_all_follows_in_order(void **state)
{
    struct fake_options opt = {.era = MCPI_ERA_MODERN};
    struct item a, b, c;
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    push_new(&f, &a, &note_ops, "a");
    assert_int_equal(mcpi_peer_connect(f.peer, f.w.now), 0);
    push_new(&f, &b, &note_ops, "b");
    push_new(&f, &c, &first_ops, "c");
    assert_int_equal(fake_take(&f), 2);
    assert_non_null(strstr(fake_text(&f, 0), "server/discover"));
    assert_string_equal(fake_text(&f, 1), "c");
    fake_forget(&f);
    fake_negotiate(&f);
    assert_int_equal(f.ready_status, 0);
    expect_taken(&f, "ab");
    fake_close(&f);
}

static void
message_with_nothing_to_say_any_more_is_passed_over(void **state)
{
    struct item items[3];
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MANUAL);
    push_new(&f, &items[0], &note_ops, "a");
    items[0].verdict = 1;
    push_new(&f, &items[1], &note_ops, "b");
    items[1].verdict = MCP_E_NOMEM;
    push_new(&f, &items[2], &note_ops, "c");
    fake_take(&f);
    expect_taken(&f, "c"); /* and nothing of the others stands in front of it */
    assert_int_equal(items[0].status, 0);
    assert_int_equal(items[1].status, MCP_E_NOMEM);
    assert_int_equal(items[0].done, 1);
    assert_int_equal(items[1].done, 1);
    fake_close(&f);
}

static void
take_appends_and_leaves_what_stands_before(void **state)
{
    struct mcpi_outlet *outlet;
    struct item item;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MANUAL);
    outlet = mcpi_peer_outlet(f.peer);
    push_new(&f, &item, &note_ops, "a");
    mcpi_buf_clear(&f.buf);
    mcpi_buf_text(&f.buf, "before,");
    assert_ptr_equal(mcpi_outlet_take(outlet, &f.buf, f.w.now), &item.out);
    assert_memory_equal(f.buf.data, "before,a", 8);
    assert_null(mcpi_outlet_take(outlet, &f.buf, f.w.now));
    mcpi_out_done(&item.out, 0, f.w.now);
    fake_close(&f);
}

static void
E21_killed_outlet_drops_what_waits_and_swallows_the_rest(void **state)
{
    struct mcpi_outlet *outlet;
    struct item taken, waiting, late;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MANUAL);
    outlet = mcpi_peer_outlet(f.peer);
    push_new(&f, &taken, &note_ops, "a");
    fake_take(&f);
    push_new(&f, &waiting, &answer_ops, "b");
    f.wakes = 0;
    mcpi_outlet_kill(outlet);
    assert_int_equal(waiting.done, 1);
    assert_int_equal(waiting.status, MCP_E_CLOSED);
    assert_int_equal(taken.done, 0); /* its bytes are the link's business */
    item_init(&late, &answer_ops, "c");
    assert_false(push(&f, &late));
    assert_int_equal(late.done, 0);
    assert_int_equal(f.wakes, 0);
    assert_null(mcpi_outlet_peer(outlet));
    assert_int_equal(fake_take(&f), 0);
    fake_written(&f, 0);
    assert_int_equal(taken.done, 1);
    fake_close(&f);
}

static void
only_droppable_messages_are_refused_over_the_limit(void **state)
{
    struct fake_options opt = {.era = MCPI_ERA_MANUAL, .limits = {.queued_bytes = 100}};
    struct item items[2], refused, firm;
    struct fake f;

    (void)state;
    fake_start_with(&f, &opt);
    for (int i = 0; i < 2; i++) {
        item_init(&items[i], &droppable_ops, "d");
        items[i].out.weight = 50;
        assert_true(push(&f, &items[i]));
    }
    item_init(&refused, &droppable_ops, "r");
    refused.out.weight = 1;
    assert_false(push(&f, &refused));
    assert_int_equal(refused.done, 0);
    assert_int_equal(f.engine->counts.dropped, 1);
    push_new(&f, &firm, &note_ops, "n");
    assert_true(mcpi_out_withdraw(&items[0].out)); /* makes room */
    assert_true(push(&f, &refused));
    fake_run(&f);
    expect_taken(&f, "dnr");
    assert_int_equal(mcpi_peer_outlet(f.peer)->weight, 0);
    fake_close(&f);
}

static void
C7_answers_over_the_cap_fail_the_peer_on_the_next_turn(void **state)
{
    struct fake_options opt = {.role = MCPI_SERVER, .limits = {.queued_answers = 2}};
    struct item items[3];
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    push_new(&f, &items[0], &answer_ops, "a");
    push_new(&f, &items[1], &answer_ops, "b");
    fake_pass(&f, SECOND);
    assert_int_equal(f.closed, 0); /* the cap itself is allowed */
    push_new(&f, &items[2], &answer_ops, "c");
    assert_int_equal(f.closed, 0); /* somebody may be in the middle of something */
    assert_string_equal(fake_said(&f), "");
    fake_pass(&f, 0);
    assert_string_equal(fake_said(&f), "now");
    assert_int_equal(f.closed, 1);
    assert_true(fake_logged(&f, "E: giving the link up: the peer does not read"));
    for (int i = 0; i < 3; i++)
        assert_int_equal(items[i].status, MCP_E_CLOSED);
    fake_close(&f);
}

static void
C7_answers_that_were_taken_do_not_count(void **state)
{
    struct fake_options opt = {.role = MCPI_SERVER, .limits = {.queued_answers = 2}};
    struct item items[6];
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    for (int i = 0; i < 6; i++) {
        push_new(&f, &items[i], &answer_ops, "a");
        fake_take(&f);
    }
    fake_pass(&f, SECOND);
    assert_int_equal(f.closed, 0);
    fake_close(&f);
}

static void
outlet_lives_as_long_as_a_message_of_it(void **state)
{
    struct mcpi_outlet *outlet;
    struct item item;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MANUAL);
    assert_int_equal(mcpi_outlet_new(f.peer, &f, &outlet), 0);
    assert_ptr_equal(mcpi_outlet_link(outlet), &f);
    assert_ptr_equal(mcpi_outlet_peer(outlet), f.peer);
    item_init(&item, &note_ops, "a");
    assert_true(mcpi_outlet_push(outlet, &item.out));
    assert_ptr_equal(mcpi_outlet_take(outlet, &f.buf, f.w.now), &item.out);
    mcpi_outlet_kill(outlet);
    mcpi_outlet_unref(outlet);
    mcpi_out_done(&item.out, 0, f.w.now); /* the last one to know it */
    assert_int_equal(item.done, 1);
    fake_close(&f);
}

TEST_MAIN(TEST(messages_are_taken_in_the_order_they_came),
          TEST(taken_message_that_fails_hears_why_once),
          TEST(B7_waiting_message_is_withdrawn_and_a_taken_one_is_not),
          TEST(message_may_be_pushed_again_after_its_end),
          TEST(link_is_woken_for_what_it_can_take_and_only_then),
          TEST(only_negotiation_passes_while_negotiating_and_all_follows_in_order),
          TEST(message_with_nothing_to_say_any_more_is_passed_over),
          TEST(take_appends_and_leaves_what_stands_before),
          TEST(E21_killed_outlet_drops_what_waits_and_swallows_the_rest),
          TEST(only_droppable_messages_are_refused_over_the_limit),
          TEST(C7_answers_over_the_cap_fail_the_peer_on_the_next_turn),
          TEST(C7_answers_that_were_taken_do_not_count),
          TEST(outlet_lives_as_long_as_a_message_of_it))
