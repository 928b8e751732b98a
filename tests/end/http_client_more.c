/* http_client_more.c - more ways in which calls end over HTTP, in each cell */
#include "end/http_client_matrix.h"

#define GIVEN_MS 1000
#define GRACE_MS 10000 /* longer than a cancel waits */
#define CALLS_MAX 16

static const struct phase *
phase_find(const char *name)
{
    for (size_t i = 0; i < run_phase_count; i++)
        if (strcmp(run_phases[i].name, name) == 0)
            return &run_phases[i];
    fail_msg("no phase %s", name);
    return NULL;
}

static bool
is_modern(const struct rig *r)
{
    return r->cell == CELL_MODERN;
}

static void
open_plain(struct rig *r)
{
    rig_open(r, r->cell, r->tls, NULL);
}

/* ---- time ---------------------------------------------------------------- */

/* Streams of their own; the one of 2024-11-05 is shared, so no event there is cut. */
static bool
may_be_one_of_many(const struct rig *r, const struct phase *phase)
{
    if (r->cell == CELL_OLD && strcmp(phase->name, "mid_event") == 0)
        return false;
    return (phase->cells & r->cell) && phase->left == LEFT_ALL;
}

static int
take_one_of(struct rig *r, const struct run *runs, int count)
{
    struct visit v;
    int found = -1;

    rig_await_visit(r);
    rig_take(r, &v, "notifications/cancelled");
    for (int i = 0; i < count; i++) {
        char member[96];

        (void)snprintf(member, sizeof(member), "\"requestId\":%s,", runs[i].c.id);
        if (strstr(v.body, member))
            found = i;
    }
    if (found < 0)
        fail_msg("nobody's: %s", v.body);
    rig_say(&v, "202 Accepted", NULL, "");
    return found < 0 ? 0 : found;
}

/* The server hears of all of them, of each once. */
static void
expect_all_told(struct rig *r, struct run *runs, int count)
{
    unsigned seen = 0;

    for (int i = 0; i < count && !is_modern(r); i++)
        seen |= 1u << take_one_of(r, runs, count);
    if (!is_modern(r))
        assert_int_equal(seen, (1u << count) - 1);
    for (int i = 0; i < count; i++) {
        struct visit *v = &runs[i].v;

        if (is_modern(r) || r->cell == CELL_STATELESS)
            visit_await_gone(v);
        else if (v->fd >= 0)
            assert_true(visit_is_there(v));
        if (v->fd >= 0)
            visit_close(v);
    }
}

/* Two calls in each phase: one has this time, the other has it in all. */
static int
drive_all(struct rig *r, struct run *runs)
{
    int count = 0;

    for (size_t i = 0; i < 2 * run_phase_count; i++) {
        const struct phase *phase = &run_phases[i / 2];

        if (!may_be_one_of_many(r, phase))
            continue;
        assert_true(count < CALLS_MAX);
        run_begin(&runs[count], r, phase);
        if (i % 2)
            runs[count].opt.timeout_ms = GIVEN_MS;
        else
            runs[count].opt.total_ms = GIVEN_MS;
        phase->drive(&runs[count]);
        count++;
    }
    return count;
}

/* All at once, and not before the time has passed. */
static void
timeouts_in_each_phase(struct rig *r)
{
    struct run *runs = calloc(CALLS_MAX, sizeof(*runs));
    int count;

    assert_non_null(runs);
    open_plain(r);
    count = drive_all(r, runs);
    virtual_clock_pass(&r->clock, GIVEN_MS - 1);
    for (int i = 0; i < count; i++)
        assert_int_equal(atomic_load(&runs[i].c.end.times), 0);
    virtual_clock_pass(&r->clock, 1);
    for (int i = 0; i < count; i++)
        rig_ends(&runs[i].c,
                 runs[i].opt.total_ms > 0 ? MCP_E_TOTAL_TIMEOUT : MCP_E_TIMEOUT, NULL);
    expect_all_told(r, runs, count);
    rig_works(r);
    free(runs);
    rig_close(r);
}

static void
timeouts_while_connecting(struct rig *r)
{
    struct rig_call c[2];
    int block;

    open_plain(r);
    block = rig_block(r);
    rig_call(r, &c[0], &MCP_CALL_OPTIONS(.timeout_ms = GIVEN_MS));
    rig_call(r, &c[1], &MCP_CALL_OPTIONS(.total_ms = GIVEN_MS));
    RIG_UNTIL(rig_connecting(r) == 2);
    virtual_clock_pass(&r->clock, GIVEN_MS);
    rig_ends(&c[0], MCP_E_TIMEOUT, NULL);
    rig_ends(&c[1], MCP_E_TOTAL_TIMEOUT, NULL);
    RIG_UNTIL(rig_connecting(r) == 0);
    rig_unblock(r, block);
    rig_works(r);
    rig_close(r);
}

/* The stream of a canceled request is given up, when nothing has come on it. */
static void
the_grace_ends(struct rig *r)
{
    const struct rig_options opt = {.http.grace_ms = GRACE_MS};
    const char *const names[] = {"awaiting", "mid_head", "idle_stream"};
    struct run u;

    rig_open(r, r->cell, r->tls, &opt);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        const struct phase *phase = phase_find(names[i]);

        if (!(phase->cells & r->cell))
            continue;
        run_begin(&u, r, phase);
        phase->drive(&u);
        assert_int_equal(mcp_call_cancel(u.c.call, NULL), 0);
        rig_ends(&u.c, MCP_E_CANCELED, NULL);
        rig_take_cancel(r, u.c.id);
        assert_true(visit_is_there(&u.v));
        virtual_clock_pass(&r->clock, GRACE_MS);
        visit_await_gone(&u.v);
        visit_close(&u.v);
        rig_works(r);
    }
    rig_close(r);
}

/* What is still being sent when the grace ends is cut off; and its server, which has
 * seen a part of it, is told (B6). */
static void
the_grace_ends_while_sending(struct rig *r)
{
    const struct rig_options opt = {.http.grace_ms = GRACE_MS, .unread = true};
    struct run u;

    rig_open(r, r->cell, r->tls, &opt);
    run_begin(&u, r, phase_find("sending"));
    u.phase->drive(&u);
    assert_int_equal(mcp_call_cancel(u.c.call, NULL), 0);
    rig_ends(&u.c, MCP_E_CANCELED, NULL);
    virtual_clock_pass(&r->clock, GRACE_MS);
    rig_take_cancel(r, u.c.id);
    visit_await_gone(&u.v);
    visit_close(&u.v);
    rig_works(r);
    rig_close(r);
}

/* ---- what is not said ---------------------------------------------------- */

static void
nothing_of_what_is_over_before(struct rig *r)
{
    struct rig_end end = {.status = 0};
    mcp_scope *scope;
    mcp_call *call;

    open_plain(r);
    assert_int_equal(mcp_scope_new(NULL, &scope), 0);
    assert_int_equal(mcp_scope_cancel(scope, NULL), 0);
    assert_int_equal(mcp_client_start(r->client, "tools/call", "{\"name\":\"t\"}",
                                      &MCP_CALL_OPTIONS(.scope = scope), NULL, &end,
                                      &call),
                     MCP_E_CANCELED);
    rig_works(r);
    mcp_scope_free(scope);
    rig_close(r);
}

/* The server goes on: a stream that may be closed without a word is closed, any other
 * is left to run out, and what comes is dropped. */
static void
detached(struct rig *r)
{
    struct run u;

    open_plain(r);
    run_begin(&u, r, phase_find("awaiting"));
    u.opt.on_abandon = MCP_ABANDON_DETACHES;
    u.phase->drive(&u);
    mcp_call_free(u.c.call);
    if (r->cell & CELLS_SESSIONS) {
        visit_await_gone(&u.v);
        visit_close(&u.v);
    } else {
        rig_works(r);
        assert_true(visit_is_there(&u.v));
        rig_answer(r, &u.v, u.c.id, "for nobody");
    }
    rig_works(r);
    assert_int_equal(atomic_load(&u.c.end.times), 0);
    rig_close(r);
}

static void
a_cancel_by_hand(struct rig *r)
{
    char params[128];
    struct run u;

    open_plain(r);
    run_begin(&u, r, phase_find("awaiting"));
    u.phase->drive(&u);
    (void)snprintf(params, sizeof(params), "{\"requestId\":%s}", u.c.id);
    assert_int_equal(mcp_client_notify(r->client, "notifications/cancelled", params),
                     0);
    rig_ends(&u.c, MCP_E_CANCELED, NULL);
    if (is_modern(r))
        visit_await_gone(&u.v);
    else
        rig_take_cancel(r, u.c.id);
    visit_close(&u.v);
    rig_works(r);
    rig_close(r);
}

static void
a_cancel_by_hand_that_names_nobody(struct rig *r)
{
    struct run u;

    open_plain(r);
    run_begin(&u, r, phase_find("awaiting"));
    u.phase->drive(&u);
    assert_int_equal(mcp_client_notify(r->client, "notifications/cancelled",
                                       "{\"requestId\":\"nobody\"}"),
                     0);
    if (!is_modern(r))
        rig_take_cancel(r, "\"nobody\"");
    rig_works(r);
    assert_true(visit_is_there(&u.v));
    rig_answer(r, &u.v, u.c.id, "undisturbed");
    rig_ends(&u.c, 0, "undisturbed");
    rig_close(r);
}

/* Whatever the server thinks of a cancel, nobody's outcome changes, and it is not said
 * twice. */
static void
a_cancel_that_is_refused(struct rig *r)
{
    const char *const refusals[] = {"400 Bad Request", "500 Internal Server Error",
                                    "403 Forbidden"};
    struct visit frame;
    struct run u;

    open_plain(r);
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        run_begin(&u, r, phase_find("awaiting"));
        u.phase->drive(&u);
        assert_int_equal(mcp_call_cancel(u.c.call, NULL), 0);
        rig_ends(&u.c, MCP_E_CANCELED, NULL);
        rig_take_cancel_as(r, &frame, u.c.id);
        rig_say(&frame, refusals[i], "text/html", "<p>No</p>");
        visit_close(&u.v);
        rig_works(r);
    }
    rig_close(r);
}

const struct cell_case run_more[] = {
    {"B3_I1_E1_E3_timeouts_in_each_phase", CELL_MODERN, false, timeouts_in_each_phase},
    {"B3_I1_D1_D2_timeouts_in_each_phase", CELL_SESSION, false, timeouts_in_each_phase},
    {"B3_I1_D1_D2_timeouts_in_each_phase", CELL_BODIES | CELL_OLD, true,
     timeouts_in_each_phase},
    {"B3_I1_D1_D16_timeouts_in_each_phase", CELL_STATELESS, true,
     timeouts_in_each_phase},
    {"B3_B5_B7_timeouts_while_connecting", CELLS_ALL, true, timeouts_while_connecting},
    {"D6_the_grace_ends", CELLS_SESSIONS, false, the_grace_ends},
    {"B6_B8_D6_the_grace_ends_while_sending", CELLS_SESSIONS, true,
     the_grace_ends_while_sending},
    {"B5_nothing_of_what_is_over_before", CELLS_ALL, true,
     nothing_of_what_is_over_before},
    {"B26_detached", CELLS_ALL, true, detached},
    {"B34_E1_a_cancel_by_hand", CELL_MODERN, true, a_cancel_by_hand},
    {"B34_D1_a_cancel_by_hand", CELLS_LEGACY, true, a_cancel_by_hand},
    {"E8_a_cancel_by_hand_that_names_nobody", CELL_MODERN, true,
     a_cancel_by_hand_that_names_nobody},
    {"E9_a_cancel_by_hand_that_names_nobody", CELLS_LEGACY, true,
     a_cancel_by_hand_that_names_nobody},
    {"D5_a_cancel_that_is_refused", CELLS_LEGACY, true, a_cancel_that_is_refused},
};
const size_t run_more_count = sizeof(run_more) / sizeof(run_more[0]);
