/* pipe_test.c - messages over one ordered byte stream, with nobody on the other side */
#include "link/pipe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/call.h"
#include "core/negotiate.h"
#include "core/note.h"
#include "core/peer.h"
#include "support/messages.h"
#include "support/test.h"

/* An engine, one peer, one pipe; requests that arrive are refused. */
struct lone {
    struct test_mem mem;
    struct mcpi_timers timers;
    struct mcpi_engine *engine;
    struct mcpi_peer *peer;
    struct mcpi_pipe pipe;
    int done, status; /* of the calls */
};

static int
no_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    (void)user;
    (void)x;
    (void)why;
    return MCP_E_INVAL;
}

static void
no_wake(struct mcpi_outlet *outlet)
{
    (void)outlet;
}

static void
no_close(struct mcpi_peer *peer, enum mcpi_closing how)
{
    (void)peer;
    (void)how;
}

static void
lone_open(struct lone *l, enum mcpi_role role, size_t message_bytes)
{
    static const struct mcpi_router router = {.route = no_route};
    static const struct mcpi_link_ops ops = {.wake = no_wake, .close = no_close};
    struct mcpi_engine_options opt = {.role = role,
                                      .identity = {.info = "{\"name\":\"n\"}"},
                                      .router = &router,
                                      .limits = {.message_bytes = message_bytes}};

    memset(l, 0, sizeof(*l));
    test_mem_init(&l->mem);
    mcpi_timers_init(&l->timers);
    opt.mem = &l->mem.allocator;
    opt.timers = &l->timers;
    opt.era = role == MCPI_CLIENT ? MCPI_ERA_MANUAL : MCPI_ERA_BOTH;
    assert_int_equal(mcpi_engine_new(&opt, &l->engine), 0);
    assert_int_equal(mcpi_peer_new(l->engine, &ops, 0, NULL, &l->peer), 0);
    assert_int_equal(mcpi_pipe_init(&l->pipe, l->engine, l->peer), 0);
    if (role == MCPI_CLIENT)
        assert_int_equal(mcpi_peer_connect(l->peer, 0), 0);
}

static void
lone_close(struct lone *l)
{
    mcpi_peer_lost(l->peer, MCP_E_CLOSED, 0);
    mcpi_pipe_done(&l->pipe, 0);
    mcpi_peer_free(l->peer);
    assert_int_equal(mcpi_engine_free(l->engine), 0);
    assert_int_equal(mcpi_timers_next(&l->timers), MCPI_NEVER);
    test_mem_done(&l->mem);
}

static void
feed(struct lone *l, const char *bytes, size_t len)
{
    size_t room;
    char *into;

    while (len > 0) {
        into = mcpi_pipe_space(&l->pipe, &room);
        assert_non_null(into);
        room = room < len ? room : len;
        memcpy(into, bytes, room);
        mcpi_pipe_filled(&l->pipe, room, 0);
        bytes += room;
        len -= room;
    }
}

/* Write all there is; how many lines that were. */
static size_t
drain(struct lone *l)
{
    const char *bytes;
    size_t len, lines = 0;

    for (bytes = mcpi_pipe_output(&l->pipe, SIZE_MAX, &len, 0); len > 0;
         bytes = mcpi_pipe_output(&l->pipe, SIZE_MAX, &len, 0)) {
        for (size_t i = 0; i < len; i++)
            lines += bytes[i] == '\n';
        mcpi_pipe_written(&l->pipe, len, 0);
    }
    return lines;
}

static void
on_done(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *answer)
{
    struct lone *l = user;

    (void)call;
    (void)answer;
    l->done++;
    l->status = status;
}

static struct mcpi_call *
call(struct lone *l, const char *params)
{
    static const struct mcpi_call_ops ops = {.done = on_done};
    struct mcpi_call_options opt = {.method = "tools/call",
                                    .params = params,
                                    .params_len = strlen(params),
                                    .ops = &ops,
                                    .user = l};
    struct mcpi_call *c;

    assert_int_equal(mcpi_call_start(l->peer, &opt, 0, &c), 0);
    return c;
}

/* ---- who watches --------------------------------------------------------- */

/* Each with a letter before it and a newline behind. */
static char shown[2048];

static void
show(char what, const char *text, size_t len)
{
    size_t used = strlen(shown);

    (void)snprintf(shown + used, sizeof(shown) - used, "%c %.*s\n", what, (int)len,
                   text);
}

static void
show_came(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    (void)user, (void)peer;
    show('<', text, len);
}

static void
show_event(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    (void)user, (void)peer;
    show('=', text, len);
}

static void
what_comes_is_shown_as_it_stood_there(void **state)
{
    static const char lines[] = "{ \"jsonrpc\":\"2.0\", \"method\":\"x\" }\r\n"
                                "starting up...\n"
                                "{\"neither\":\"nor\"}\n"
                                "[1,2]\nhalf a li";
    struct lone l;

    (void)state;
    shown[0] = '\0';
    lone_open(&l, MCPI_CLIENT, 0);
    l.engine->trace_came = show_came;
    l.engine->trace_event = show_event;
    feed(&l, lines, sizeof(lines) - 1);
    mcpi_pipe_ended(&l.pipe, 0);
    assert_string_equal(
        shown,
        "< { \"jsonrpc\":\"2.0\", \"method\":\"x\" }\n"
        "= what came is no message (Parse error): starting up...\n"
        "< {\"neither\":\"nor\"}\n"
        "< [1,2]\n"
        "= what came is no message (Parse error: the input ends in the middle of "
        "a message): half a li\n"
        "= EOF: nothing more will come\n");
    lone_close(&l);
}

static void
what_is_too_long_or_too_deep_is_told(void **state)
{
    char long_line[4000], deep_line[601];
    struct lone l;

    (void)state;
    shown[0] = '\0';
    memset(long_line, 'x', sizeof(long_line));
    long_line[sizeof(long_line) - 1] = '\n';
    memset(deep_line, '[', 300);
    memset(deep_line + 300, ']', 300);
    deep_line[600] = '\n';
    lone_open(&l, MCPI_CLIENT, 3000);
    l.engine->trace_event = show_event;
    feed(&l, long_line, sizeof(long_line));
    feed(&l, deep_line, sizeof(deep_line));
    assert_non_null(strstr(
        shown, "= what came is no message (Invalid request: message too long)\n"));
    assert_non_null(strstr(
        shown, "= what came is no message (Invalid request: nested too deep): [[["));
    lone_close(&l);
}

/* ---- in ------------------------------------------------------------------ */

static void
message_is_dispatched_when_its_newline_has_come(void **state)
{
    static const char line[] = REQUEST("1", "ping", "{}") "\n";
    struct lone l;

    (void)state;
    lone_open(&l, MCPI_SERVER, 0);
    for (size_t i = 0; i + 1 < sizeof(line); i++) {
        assert_true(mcpi_pipe_is_idle(&l.pipe));
        feed(&l, line + i, 1);
    }
    assert_false(mcpi_pipe_is_idle(&l.pipe));
    assert_int_equal(drain(&l), 1);
    lone_close(&l);
}

static void
several_messages_in_one_read_are_all_dispatched(void **state)
{
    static const char lines[] = REQUEST("1", "ping", "{}") "\n" //
        REQUEST("2", "ping", "{}") "\r\n\n" REQUEST("3", "ping", "{}") "\n";
    struct lone l;

    (void)state;
    lone_open(&l, MCPI_SERVER, 0);
    feed(&l, lines, sizeof(lines) - 1);
    assert_int_equal(drain(&l), 3);
    lone_close(&l);
}

static void
C11_bad_lines_between_good_ones_cost_nothing_else(void **state)
{
    struct lone l;
    char *long_line = calloc(1, 5001);

    (void)state;
    assert_non_null(long_line);
    memset(long_line, '[', 4999);
    long_line[4999] = '\n';
    lone_open(&l, MCPI_SERVER, 3000);
    feed(&l, "nonsense\n", 9);
    feed(&l, long_line, 5000);
    feed(&l, long_line + 4000, 1000); /* short enough, and too deep */
    feed(&l, REQUEST("1", "ping", "{}") "\n", strlen(REQUEST("1", "ping", "{}")) + 1);
    assert_int_equal(drain(&l), 4);
    free(long_line);
    lone_close(&l);
}

static void
a_message_that_no_memory_can_hold_closes_the_link(void **state)
{
    static const char line[] = REQUEST("1", "ping", "{}") "\n";
    struct lone l;

    (void)state;
    lone_open(&l, MCPI_SERVER, 0);
    feed(&l, line, sizeof(line) - 1);
    assert_int_equal(drain(&l), 1);
    l.mem.fail_at = l.mem.total + 1; /* the document of the next one */
    feed(&l, line, sizeof(line) - 1);
    assert_int_equal(l.mem.failed, 1);
    assert_int_equal(l.peer->state, MCPI_PEER_READY);
    mcpi_timers_expire(&l.timers, 0); /* its sender must not wait for ever */
    assert_int_equal(l.peer->state, MCPI_PEER_CLOSED);
    lone_close(&l);
}

/* ---- out ----------------------------------------------------------------- */

static void
B7_what_stands_behind_the_batch_can_still_be_withdrawn(void **state)
{
    struct lone l;
    struct mcpi_call *calls[MCPI_PIPE_BATCH + 2];
    size_t len;

    (void)state;
    lone_open(&l, MCPI_CLIENT, 0);
    for (int i = 0; i < MCPI_PIPE_BATCH + 2; i++)
        calls[i] = call(&l, "{}");
    (void)mcpi_pipe_output(&l.pipe, SIZE_MAX, &len, 0); /* the first 64 are issued */
    assert_int_equal(l.pipe.count, MCPI_PIPE_BATCH);
    assert_int_equal(mcpi_call_cancel(calls[MCPI_PIPE_BATCH], NULL, 0), 0);
    mcpi_pipe_written(&l.pipe, len, 0);
    assert_int_equal(drain(&l), 1); /* the last call; no frame */
    for (int i = 0; i < MCPI_PIPE_BATCH + 2; i++)
        mcpi_call_free(calls[i], 0);
    lone_close(&l);
}

static void
large_message_closes_its_batch(void **state)
{
    struct lone l;
    struct mcpi_call *big, *next;
    char *params = malloc(MCPI_PIPE_BATCH_BYTES + 100);
    size_t len;

    (void)state;
    assert_non_null(params);
    memset(params, 'x', MCPI_PIPE_BATCH_BYTES + 100);
    memcpy(params, "{\"x\":\"", 6);
    strcpy(params + MCPI_PIPE_BATCH_BYTES + 90, "\"}");
    lone_open(&l, MCPI_CLIENT, 0);
    big = call(&l, params);
    next = call(&l, "{}");
    (void)mcpi_pipe_output(&l.pipe, SIZE_MAX, &len, 0);
    assert_int_equal(l.pipe.count, 1);
    assert_true(len > MCPI_PIPE_BATCH_BYTES);
    mcpi_pipe_written(&l.pipe, len, 0);
    assert_int_equal(drain(&l), 1);
    mcpi_call_free(big, 0);
    mcpi_call_free(next, 0);
    free(params);
    lone_close(&l);
}

static void
B8_frame_follows_the_last_byte_of_a_half_written_request(void **state)
{
    struct lone l;
    struct mcpi_call *c;
    const char *bytes;
    char all[2000] = "";
    size_t len;

    (void)state;
    lone_open(&l, MCPI_CLIENT, 0);
    c = call(&l, "{\"name\":\"t\"}");
    bytes = mcpi_pipe_output(&l.pipe, SIZE_MAX, &len, 0);
    strncat(all, bytes, 10);
    mcpi_pipe_written(&l.pipe, 10, 0);
    assert_int_equal(mcpi_call_cancel(c, NULL, 0), 0);
    while (len > 0) {
        bytes = mcpi_pipe_output(&l.pipe, SIZE_MAX, &len, 0);
        len = len < 7 ? len : 7;
        strncat(all, bytes, len);
        mcpi_pipe_written(&l.pipe, len, 0);
    }
    assert_non_null(strstr(all,
                           "\"params\":{\"name\":\"t\"}}\n"
                           "{\"jsonrpc\":\"2.0\",\"method\":"
                           "\"notifications/cancelled\",\"params\":{\"requestId\":1"));
    assert_true(mcpi_pipe_is_idle(&l.pipe));
    mcpi_call_free(c, 0);
    lone_close(&l);
}

static void
B24_pipe_that_ends_in_the_middle_reports_its_messages_as_failed(void **state)
{
    struct lone l;
    struct mcpi_call *c;
    size_t len;

    (void)state;
    lone_open(&l, MCPI_CLIENT, 0);
    c = call(&l, "{}");
    (void)mcpi_pipe_output(&l.pipe, SIZE_MAX, &len, 0);
    mcpi_pipe_written(&l.pipe, len - 1, 0);
    mcpi_pipe_done(&l.pipe, 0);
    assert_int_equal(l.done, 1);
    assert_int_equal(l.status, MCP_E_SEND_FAILED);
    mcpi_call_free(c, 0);
    assert_int_equal(mcpi_pipe_init(&l.pipe, l.engine, l.peer), 0);
    lone_close(&l);
}

static void
B11_frames_are_written_without_any_memory(void **state)
{
    struct lone l;
    struct mcpi_call *calls[20];

    (void)state;
    lone_open(&l, MCPI_CLIENT, 0);
    for (int i = 0; i < 20; i++)
        calls[i] = call(&l, "{}");
    assert_int_equal(drain(&l), 20);
    l.mem.fail_at = l.mem.total + 1;
    l.mem.fail_after = true;
    for (int i = 0; i < 20; i++)
        assert_int_equal(mcpi_call_cancel(calls[i], "enough", 0), 0);
    assert_int_equal(drain(&l), 20);
    assert_true(mcpi_pipe_is_idle(&l.pipe));
    l.mem.fail_at = 0;
    l.mem.fail_after = false;
    for (int i = 0; i < 20; i++)
        mcpi_call_free(calls[i], 0);
    lone_close(&l);
}

static void
init_fails_cleanly_without_memory(void **state)
{
    struct lone l;
    struct mcpi_pipe pipe;

    (void)state;
    lone_open(&l, MCPI_SERVER, 0);
    l.mem.fail_at = l.mem.total + 1;
    assert_int_equal(mcpi_pipe_init(&pipe, l.engine, l.peer), MCP_E_NOMEM);
    lone_close(&l);
}

TEST_MAIN(TEST(message_is_dispatched_when_its_newline_has_come),
          TEST(several_messages_in_one_read_are_all_dispatched),
          TEST(C11_bad_lines_between_good_ones_cost_nothing_else),
          TEST(a_message_that_no_memory_can_hold_closes_the_link),
          TEST(B7_what_stands_behind_the_batch_can_still_be_withdrawn),
          TEST(large_message_closes_its_batch),
          TEST(B8_frame_follows_the_last_byte_of_a_half_written_request),
          TEST(B24_pipe_that_ends_in_the_middle_reports_its_messages_as_failed),
          TEST(B11_frames_are_written_without_any_memory),
          TEST(init_fails_cleanly_without_memory),
          TEST(what_comes_is_shown_as_it_stood_there),
          TEST(what_is_too_long_or_too_deep_is_told))
