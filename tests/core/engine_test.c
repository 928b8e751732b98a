/* engine_test.c - one side of the protocol: what it is made with, and what it counts */
#include "core/engine.h"

#include <stdio.h>
#include <string.h>

#include "support/messages.h"
#include "support/world.h"

#define INFO "{\"name\":\"n\",\"version\":\"1\"}"

static int
no_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    (void)user;
    (void)x;
    (void)why;
    return MCP_E_INVAL;
}

static const struct mcpi_router router = {.route = no_route};

/* Make an engine with this identity and free it. */
static int
try_identity(struct test_mem *mem, const struct mcpi_identity *identity, char *ret_text)
{
    struct mcpi_timers timers;
    struct mcpi_engine_options opt = {.role = MCPI_SERVER, .router = &router};
    struct mcpi_engine *e;
    int r;

    mcpi_timers_init(&timers);
    opt.mem = &mem->allocator;
    opt.timers = &timers;
    opt.identity = *identity;
    r = mcpi_engine_new(&opt, &e);
    if (r < 0)
        return r;
    if (ret_text)
        strcpy(ret_text, e->capabilities);
    assert_int_equal(mcpi_engine_free(e), 0);
    return 0;
}

static void
identity_must_be_made_of_objects(void **state)
{
    static const struct mcpi_identity bad[] = {
        {.info = NULL},
        {.info = ""},
        {.info = "[]"},
        {.info = "\"name\""},
        {.info = "{\"name\":"},
        {.info = "{\"name\":1,\"name\":2}"},
        {.info = INFO, .capabilities = "null"},
        {.info = INFO, .capabilities = "{} {}"},
        {.info = INFO, .instructions = "\xff"},
    };
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        assert_int_equal(try_identity(&mem, &bad[i], NULL), MCP_E_INVAL);
    test_mem_done(&mem);
}

/* It is spliced into messages, and a message is one line. */
static void
identity_is_kept_as_one_line(void **state)
{
    struct mcpi_identity identity = {.info = INFO,
                                     .capabilities = "{\n  \"tools\": {}\r\n}\n"};
    struct test_mem mem;
    char text[64];

    (void)state;
    test_mem_init(&mem);
    assert_int_equal(try_identity(&mem, &identity, text), 0);
    assert_string_equal(text, "{\"tools\":{}}");
    test_mem_done(&mem);
}

static void
make_with_failing_memory(struct test_mem *mem, void *user)
{
    struct mcpi_identity identity = {
        .info = INFO, .capabilities = "{\"tools\":{}}", .instructions = "text"};
    int r = try_identity(mem, &identity, NULL);

    (void)user;
    assert_int_equal(r, mem->failed > 0 ? MCP_E_NOMEM : 0);
}

static void
every_allocation_of_a_new_engine_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(make_with_failing_memory, NULL) > 3);
}

static void
zero_means_the_default(void **state)
{
    struct world w;
    const struct mcpi_engine *e;

    (void)state;
    assert_int_equal(world_open(&w, NULL), 0);
    e = w.engine[SERVER];
    assert_int_equal(e->limits.in_flight, 16384);
    assert_int_equal(e->limits.depth, 128);
    assert_int_equal(e->limits.message_bytes, 64 * 1024 * 1024);
    assert_int_equal(e->times.request, 60 * SECOND);
    assert_int_equal(e->times.ceiling, 3600 * SECOND);
    assert_int_equal(e->times.probe, 10 * SECOND);
    assert_int_equal(e->times.drain, 1 * SECOND);
    assert_int_equal(e->times.stop, 1 * SECOND);
    assert_int_equal(e->times.grace, 5 * SECOND);
    assert_int_equal(e->times.deaf, 5 * SECOND);
    assert_int_equal(e->times.run, MCPI_NEVER);
    world_close(&w);
}

static void
I9_time_never_goes_back(void **state)
{
    struct world w;

    (void)state;
    assert_int_equal(world_open(&w, NULL), 0);
    mcpi_engine_at(w.engine[SERVER], w.now + 5);
    mcpi_engine_at(w.engine[SERVER], w.now - 5);
    assert_int_equal(w.engine[SERVER]->now, w.now + 5);
    world_close(&w);
}

static void
engine_with_a_peer_is_not_freed(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_BOTH);
    assert_int_equal(w.engine[SERVER]->counts.peers, 1);
    assert_int_equal(mcpi_engine_free(w.engine[SERVER]), MCP_E_STATE);
    world_close(&w);
}

static void
F5_engine_with_a_running_handler_is_not_freed(void **state)
{
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_BOTH);
    world_inject(&w, CLIENT, MODERN_CALL("5"));
    world_run(&w);
    world_cut(&w, SERVER);
    assert_int_equal(w.engine[SERVER]->counts.peers, 0);
    assert_int_equal(w.engine[SERVER]->counts.held, 1);
    assert_int_equal(mcpi_engine_free(w.engine[SERVER]), MCP_E_STATE);
    world_close(&w);
}

static void
counts_follow_a_request_through_its_life(void **state)
{
    struct world w;
    struct outcome out;
    const struct mcpi_counts *client, *server;

    (void)state;
    world_start(&w, MCPI_ERA_BOTH);
    client = &w.engine[CLIENT]->counts;
    server = &w.engine[SERVER]->counts;
    world_plain_call(&w, &out);
    assert_int_equal(client->calls, 1);
    assert_int_equal(client->legs, 1);
    world_run(&w);
    assert_int_equal(server->exchanges, 1);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, w.now), 0);
    assert_int_equal(client->calls + client->legs, 0);
    world_run(&w);
    assert_int_equal(server->exchanges, 0);
    assert_int_equal(server->held, 1);
    job_finish(&w, world_job(&w, SERVER), "{}");
    outcome_done(&out);
    world_assert_quiet(&w);
    world_close(&w);
}

static void
refusal_is_cut_between_characters(void **state)
{
    struct mcpi_refusal why;
    char text[401];

    (void)state;
    for (int i = 0; i < 200; i++)
        memcpy(text + 2 * i, "\xc3\xa4", 3);
    mcpi_refuse(&why, -32601, "x%s", text);
    assert_true(strlen(why.message) < sizeof(why.message));
    assert_true(strlen(why.message) >= sizeof(why.message) - 4);
    assert_true(mcpi_utf8_valid(why.message, strlen(why.message)));
    assert_string_equal(why.data, "");
}

static void
error_forgets_what_was_said_before(void **state)
{
    struct world w;
    struct mcpi_result r;

    (void)state;
    assert_int_equal(world_open(&w, NULL), 0);
    mcpi_result_init(&r, w.engine[SERVER]);
    mcpi_buf_text(&r.body, "{\"half\":");
    mcpi_result_error(&r, -32603, "no %s", "more");
    assert_int_equal(r.code, -32603);
    assert_string_equal(r.message, "no more");
    assert_int_equal(r.body.len, 0);
    mcpi_result_done(&r);
    world_close(&w);
}

static void
B11_error_needs_no_memory_and_says_less_without(void **state)
{
    struct mcpi_result r, moved;
    struct world w;

    (void)state;
    assert_int_equal(world_open(&w, NULL), 0);
    mcpi_result_init(&r, w.engine[SERVER]);
    atomic_store(&w.mem->fail_at, atomic_load(&w.mem->total) + 1);
    w.mem->fail_after = true;
    mcpi_result_error(&r, -32000, "Connection closed");
    assert_string_equal(r.message, "Connection closed");
    mcpi_result_fail(&r, MCP_E_NOMEM);
    assert_string_equal(r.message, mcp_status_text(MCP_E_NOMEM));
    mcpi_result_error(&r, -32055, "the %s is full", "disk");
    assert_int_equal(r.code, -32055);
    assert_string_equal(r.message, "Internal error");
    atomic_store(&w.mem->fail_at, 0);
    w.mem->fail_after = false;
    mcpi_result_error(&r, -32055, "the %s is full", "disk");
    mcpi_result_say(&r, r.message + 4); /* a part of what it has */
    mcpi_result_move(&moved, &r);
    assert_string_equal(r.message, "");
    assert_string_equal(moved.message, "disk is full");
    mcpi_result_done(&moved);
    assert_string_equal(moved.message, "");
    world_close(&w);
}

static void
set_in(struct test_mem *mem, void *user)
{
    struct mcpi_timers timers;
    struct mcpi_engine_options opt = {.role = MCPI_SERVER, .router = &router};
    struct mcpi_engine *e;
    int r;

    (void)user;
    mcpi_timers_init(&timers);
    opt.mem = &mem->allocator;
    opt.timers = &timers;
    opt.identity = (struct mcpi_identity){.info = INFO, .capabilities = "{\"a\":{}}"};
    if (mcpi_engine_new(&opt, &e) < 0)
        return;
    assert_int_equal(mcpi_engine_set_capabilities(e, "{}"), 0);
    assert_string_equal(e->capabilities, "{}");
    assert_int_equal(mcpi_engine_set_capabilities(e, "{\"b\":{}}"), 0); /* as before */
    r = mcpi_engine_set_capabilities(e, "{\"longer\":{}}");
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_string_equal(e->capabilities, r < 0 ? "{\"b\":{}}" : "{\"longer\":{}}");
    assert_int_equal(mcpi_engine_free(e), 0);
}

static void
capabilities_change_without_memory_if_they_were_as_long(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(set_in, NULL) > 3);
}

/* ---- versions, for links ------------------------------------------------- */

static struct mcpi_engine *
engine_of(struct test_mem *mem, struct mcpi_timers *timers, enum mcpi_era era)
{
    struct mcpi_engine_options opt = {
        .role = MCPI_SERVER, .era = era, .router = &router, .identity = {.info = INFO}};
    struct mcpi_engine *e;

    test_mem_init(mem);
    mcpi_timers_init(timers);
    opt.mem = &mem->allocator;
    opt.timers = timers;
    assert_int_equal(mcpi_engine_new(&opt, &e), 0);
    return e;
}

static void
version_is_found_in_the_eras_that_are_served(void **state)
{
    static const struct {
        enum mcpi_era era;
        const char *text;
        bool found, modern;
    } cases[] = {
        {MCPI_ERA_BOTH, "2026-07-28", true, true},
        {MCPI_ERA_BOTH, "2025-11-25", true, false},
        {MCPI_ERA_BOTH, "2024-11-05", true, false},
        {MCPI_ERA_BOTH, "2025-11-26", false, false},
        {MCPI_ERA_BOTH, "", false, false},
        {MCPI_ERA_BOTH, NULL, false, false},
        {MCPI_ERA_MODERN, "2026-07-28", true, true},
        {MCPI_ERA_MODERN, "2025-11-25", false, false},
        {MCPI_ERA_LEGACY, "2026-07-28", false, false},
        {MCPI_ERA_LEGACY, "2025-03-26", true, false},
    };
    struct mcpi_timers timers;
    struct mcpi_engine *e;
    struct test_mem mem;
    const char *version;
    char text[32];
    bool modern;

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        e = engine_of(&mem, &timers, cases[i].era);
        modern = !cases[i].modern;
        (void)snprintf(text, sizeof(text), "%s", cases[i].text);
        version = mcpi_engine_version(e, text, &modern);
        assert_int_equal(version != NULL, cases[i].found);
        assert_int_equal(modern, cases[i].modern);
        if (version) {
            assert_string_equal(version, cases[i].text);
            assert_ptr_not_equal(version, text);
        }
        assert_int_equal(mcpi_engine_free(e), 0);
        test_mem_done(&mem);
    }
}

static void
refusal_of_a_version_says_which_are_served(void **state)
{
    const struct mcpi_id seven = mcpi_id_int(7), none = {0};
    struct mcpi_timers timers;
    struct mcpi_engine *e;
    struct test_mem mem;
    struct mcpi_buf buf;

    (void)state;
    e = engine_of(&mem, &timers, MCPI_ERA_MODERN);
    mcpi_buf_init(&buf, &mem.allocator, 4096);
    mcpi_buf_text(&buf, "before ");
    mcpi_engine_refuse_version(e, &seven, "1999-\"x\"", &buf);
    mcpi_buf_char(&buf, '\0');
    assert_string_equal(
        buf.data, "before {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32022,"
                  "\"message\":\"Unsupported protocol version\",\"data\":{"
                  "\"supported\":[\"2026-07-28\"],\"requested\":\"1999-\\\"x\\\"\"}}}");
    mcpi_buf_clear(&buf);
    mcpi_engine_refuse_version(e, &none, "", &buf);
    mcpi_buf_char(&buf, '\0');
    assert_null(strstr(buf.data, "\"id\""));
    assert_non_null(strstr(buf.data, "-32022"));
    mcpi_buf_done(&buf);
    assert_int_equal(mcpi_engine_free(e), 0);
    test_mem_done(&mem);
}

static void
refuse_flow(struct test_mem *mem, void *user)
{
    const struct mcpi_id seven = mcpi_id_int(7);
    struct mcpi_engine_options opt = {
        .role = MCPI_SERVER, .router = &router, .identity = {.info = INFO}};
    struct mcpi_timers timers;
    struct mcpi_engine *e;
    struct mcpi_buf buf;

    (void)user;
    mcpi_timers_init(&timers);
    opt.mem = &mem->allocator;
    opt.timers = &timers;
    if (mcpi_engine_new(&opt, &e) < 0)
        return;
    mcpi_buf_init(&buf, &mem->allocator, 4096);
    mcpi_engine_refuse_version(e, &seven, "1999-01-01", &buf);
    if (buf.status == 0)
        assert_non_null(strstr(buf.data, "-32022"));
    mcpi_buf_done(&buf);
    assert_int_equal(mcpi_engine_free(e), 0);
}

static void
refusal_of_a_version_without_memory_is_shorter_or_none(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(refuse_flow, NULL) > 3);
}

/* ---- who watches the wire ----------------------------------------------------- */

/* All that was shown, each with a letter before it and a newline behind. */
struct shown {
    char text[4096];
};

static void
shown_add(struct shown *shown, char what, const char *text, size_t len)
{
    size_t used = strlen(shown->text);

    assert_true(used + len + 4 < sizeof(shown->text));
    (void)snprintf(shown->text + used, sizeof(shown->text) - used, "%c %.*s\n", what,
                   (int)len, text);
}

static void
show_sent(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    assert_non_null(peer);
    shown_add(user, '>', text, len);
}

static void
show_came(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    assert_null(peer);
    shown_add(user, '<', text, len);
}

static void
show_event(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    assert_null(peer);
    assert_int_equal(text[len], '\0');
    shown_add(user, '=', text, len);
}

static void
watch(struct mcpi_engine *e, struct shown *shown)
{
    shown->text[0] = '\0';
    e->trace = show_sent;
    e->trace_came = show_came;
    e->trace_event = show_event;
    e->trace_user = shown;
}

static void
who_watches_sees_both_ways_in_their_order(void **state)
{
    struct outcome out;
    struct shown shown;
    const char *sent, *came, *closed;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_LEGACY);
    watch(w.engine[CLIENT], &shown);
    world_plain_call(&w, &out);
    world_run(&w);
    job_finish(&w, world_job(&w, SERVER), "{\"content\":[]}");
    world_run(&w);
    world_inject(&w, SERVER, "Listening on \x1b[1mstdio\xff");
    world_run(&w);
    world_cut(&w, SERVER);
    world_run(&w);
    sent = strstr(shown.text, "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\"");
    came = strstr(shown.text, "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\"");
    assert_ptr_equal(sent, shown.text);
    assert_non_null(came);
    closed = strchr(came, '\n') + 1;
    assert_string_equal(closed, "= what came is no message (Parse error): Listening on "
                                "?[1mstdio?\n"
                                "= EOF: nothing more will come\n"
                                "= the connection is closed\n");
    outcome_done(&out);
    world_close(&w);
}

static void
what_is_told_is_one_clean_line_of_bounded_length(void **state)
{
    char noise[MCPI_TELL_LINE * 2];
    struct shown shown;
    struct world w;

    (void)state;
    memset(noise, 'n', sizeof(noise) - 1);
    noise[sizeof(noise) - 1] = '\0';
    assert_int_equal(world_open(&w, NULL), 0);
    watch(w.engine[CLIENT], &shown);
    MCPI_TELL(w.engine[CLIENT], "a\nb%s", "\r\t\xc3");
    assert_string_equal(shown.text, "= a?b???\n");
    watch(w.engine[CLIENT], &shown);
    MCPI_TELL(w.engine[CLIENT], "%s", noise);
    assert_int_equal(strlen(shown.text), 2 + MCPI_TELL_LINE - 1 + 1);
    watch(w.engine[CLIENT], &shown);
    mcpi_engine_tell_garbled(w.engine[CLIENT], "why", noise, sizeof(noise) - 1);
    assert_int_equal(strlen(shown.text),
                     strlen("= what came is no message (why): \n") + MCPI_TELL_EXCERPT);
    watch(w.engine[CLIENT], &shown);
    mcpi_engine_tell_garbled(w.engine[CLIENT], "too long", "", 0);
    assert_string_equal(shown.text, "= what came is no message (too long)\n");
    world_close(&w);
}

static int
not_asked(int *asked)
{
    (*asked)++;
    return 0;
}

static void
nothing_is_made_for_nobody(void **state)
{
    int asked = 0;
    struct world w;

    (void)state;
    assert_int_equal(world_open(&w, NULL), 0);
    assert_false(mcpi_engine_is_watched(NULL));
    assert_false(mcpi_engine_is_watched(w.engine[CLIENT]));
    MCPI_TELL(w.engine[CLIENT], "%d", not_asked(&asked));
    MCPI_TELL(NULL, "%d", not_asked(&asked));
    assert_int_equal(asked, 0);
    mcpi_engine_tell(w.engine[CLIENT], "nobody hears it");
    mcpi_engine_came(w.engine[CLIENT], "{}", 2);
    mcpi_engine_came(NULL, "{}", 2);
    mcpi_engine_tell_garbled(NULL, "why", "x", 1);
    world_close(&w);
}

TEST_MAIN(TEST(identity_must_be_made_of_objects), TEST(identity_is_kept_as_one_line),
          TEST(capabilities_change_without_memory_if_they_were_as_long),
          TEST(every_allocation_of_a_new_engine_may_fail), TEST(zero_means_the_default),
          TEST(I9_time_never_goes_back), TEST(engine_with_a_peer_is_not_freed),
          TEST(F5_engine_with_a_running_handler_is_not_freed),
          TEST(counts_follow_a_request_through_its_life),
          TEST(refusal_is_cut_between_characters),
          TEST(error_forgets_what_was_said_before),
          TEST(B11_error_needs_no_memory_and_says_less_without),
          TEST(version_is_found_in_the_eras_that_are_served),
          TEST(refusal_of_a_version_says_which_are_served),
          TEST(refusal_of_a_version_without_memory_is_shorter_or_none),
          TEST(who_watches_sees_both_ways_in_their_order),
          TEST(what_is_told_is_one_clean_line_of_bounded_length),
          TEST(nothing_is_made_for_nobody))
