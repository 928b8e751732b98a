/* http_client_causes.c - what ends a call, and what its server is to see of that */
#include "end/http_client_matrix.h"

#include <unistd.h>

static bool
is_modern(const struct run *u)
{
    return u->r->cell == CELL_MODERN;
}

/* Where leaving is what the server hears; the frame is posted all the same (D16). */
static bool
is_stateless(const struct run *u)
{
    return u->r->cell == CELL_STATELESS;
}

static bool
has_inlet_stream(const struct run *u)
{
    return u->stream == &u->r->inlet;
}

/* ---- what the server sees ------------------------------------------------ */

/* The call is over for who made it: with that status, or nobody is told. */
static void
expect_status(struct run *u)
{
    if (u->cause->status != 0)
        rig_ends(&u->c, u->cause->status, NULL);
    else
        assert_int_equal(atomic_load(&u->c.end.times), 0);
}

/* It never left: nothing is known of it, and nothing is said of it (B7). */
static void
expect_nothing(struct run *u)
{
    RIG_UNTIL(rig_connecting(u->r) == 0);
    rig_unblock(u->r, u->block);
    u->block = -1;
}

/* A request of which a part has left is sent to its end, before a frame is. */
static void
read_rest(struct run *u)
{
    if (u->phase->left == LEFT_PART)
        visit_read_bytes(&u->v,
                         strtoul(visit_field(&u->v, "Content-Length"), NULL, 10));
}

/* Its frame. A client that closes sends it at once: no time passes. */
static void
frame_take(struct run *u, struct visit *frame)
{
    if (u->cause->closes) {
        visit_accept(frame, &u->r->s);
        visit_read(frame);
        rig_check_cancel(u->r, frame, u->c.id);
    } else {
        rig_take_cancel_as(u->r, frame, u->c.id);
    }
}

/* One frame; and when it comes the stream is still there, for what belongs to it; but
 * not one that is being resumed (D7, D11). In no session it goes first, at once. */
static void
expect_frame(struct run *u)
{
    struct visit frame;

    if (is_stateless(u)) {
        visit_await_gone(&u->v);
        frame_take(u, &frame);
        rig_say(&frame, "202 Accepted", NULL, "");
        return;
    }
    read_rest(u);
    frame_take(u, &frame);
    if (u->v.fd >= 0 && u->phase->left == LEFT_BROKEN)
        visit_await_gone(&u->v);
    else if (u->v.fd >= 0)
        assert_true(visit_is_there(&u->v));
    rig_say(&frame, "202 Accepted", NULL, "");
}

/* What the server says of it now is for nobody (B20). */
static void
answer_late(struct run *u)
{
    if (is_stateless(u) || u->phase->left == LEFT_BROKEN || u->stream->fd < 0)
        return;
    if (strcmp(u->phase->name, "idle_stream") == 0)
        rig_event(u->stream, rig_result(u->c.id, "late"));
    if (strcmp(u->phase->name, "mid_event") == 0)
        visit_say(u->stream, "null}\n\n");
}

static void
expect_abandoned(struct run *u)
{
    expect_status(u);
    if (u->phase->left == LEFT_NOTHING) {
        expect_nothing(u);
    } else if (is_modern(u)) {
        visit_await_gone(&u->v);
    } else {
        expect_frame(u);
        answer_late(u);
    }
}

/* Of the answer and the cause one has won, and the server sees which. */
static void
expect_either(struct run *u)
{
    bool freed = u->cause->status == 0, framed;
    struct rig_call next;
    struct visit v;

    if (!freed) {
        RIG_UNTIL(atomic_load(&u->c.end.times) == 1);
        assert_true(u->c.end.status == 0 || u->c.end.status == u->cause->status);
        mcp_call_free(u->c.call);
    }
    rig_call(u->r, &next, NULL);
    rig_await_visit(u->r);
    visit_accept(&v, &u->r->s);
    visit_read(&v);
    framed = strstr(v.body, "notifications/cancelled") != NULL;
    if (framed) {
        assert_false(is_modern(u));
        assert_true(freed || u->c.end.status != 0);
        rig_check(u->r, &v, "notifications/cancelled");
        rig_say(&v, "202 Accepted", NULL, "");
        visit_accept(&v, &u->r->s);
        visit_read(&v);
    } else if (!is_modern(u) && !freed) {
        assert_int_equal(u->c.end.status, 0);
    }
    rig_check(u->r, &v, "tools/call");
    rig_answer(u->r, &v, next.id, "next");
    rig_ends(&next, 0, "next");
}

static void
expect_abandon(struct run *u)
{
    if (u->phase->left == LEFT_ANSWERED)
        expect_either(u);
    else
        expect_abandoned(u);
}

/* ---- by who made it ------------------------------------------------------ */

static void
strike_cancel(struct run *u)
{
    int r = mcp_call_cancel(u->c.call, "enough");

    assert_true(r == 0 || (r == MCP_E_STATE && u->phase->left == LEFT_ANSWERED));
}

static void
strike_scope(struct run *u)
{
    assert_int_equal(mcp_scope_cancel(u->scope, "all of them"), 0);
}

static void
strike_free(struct run *u)
{
    mcp_call_free(u->c.call);
}

/* ---- the client is closed ------------------------------------------------ */

/* DELETE could not be sent in time; and without one, the client waits too short for
 * what is still being sent. */
static bool
fits_close(const struct rig *r, const struct phase *phase)
{
    if (phase->left == LEFT_NOTHING)
        return !(r->cell & CELLS_SESSIONS);
    return phase->left != LEFT_PART || !(r->cell & (CELL_STATELESS | CELL_OLD));
}

static void
strike_close(struct run *u)
{
    mcp_client_close(u->r->client);
}

/* What was still being sent, its frame, and DELETE. */
static void
expect_sent_and_closed(struct run *u)
{
    struct visit v;

    expect_status(u);
    read_rest(u);
    frame_take(u, &v);
    rig_say(&v, "202 Accepted", NULL, "");
    rig_take_delete(u->r, "200 OK");
}

/* It may have been answered just before. */
static void
expect_either_closed(struct run *u)
{
    struct visit v;

    RIG_UNTIL(atomic_load(&u->c.end.times) == 1);
    assert_true(u->c.end.status == 0 || u->c.end.status == MCP_E_CLOSED);
    if (!is_modern(u) && u->c.end.status != 0) {
        frame_take(u, &v);
        rig_say(&v, "202 Accepted", NULL, "");
    }
    mcp_call_free(u->c.call);
}

/* D19: DELETE comes last. */
static void
expect_said_and_closed(struct run *u)
{
    if (u->phase->left == LEFT_ANSWERED) {
        expect_either_closed(u);
    } else {
        expect_status(u);
        if (u->phase->left == LEFT_NOTHING)
            expect_nothing(u);
        else if (!is_modern(u))
            expect_frame(u);
    }
    if (u->r->session[0])
        rig_take_delete(u->r, "200 OK");
}

static void
expect_closed(struct run *u)
{
    if (u->phase->left == LEFT_PART && !is_modern(u) && !is_stateless(u))
        expect_sent_and_closed(u);
    else
        expect_said_and_closed(u);
    if (u->v.fd >= 0 && u->phase->left != LEFT_ANSWERED)
        visit_await_gone(&u->v);
}

/* ---- the other side dies ------------------------------------------------- */

/* A broken stream is tried several times, and long; that is for another test. Nobody
 * there is noticed after a second, so that is tried with few. */
static bool
fits_reset(const struct rig *r, const struct phase *phase)
{
    if (phase->left == LEFT_NOTHING)
        return !r->tls && (r->cell & (CELL_MODERN | CELL_SESSION));
    return phase->left != LEFT_BROKEN && phase->left != LEFT_ANSWERED;
}

static void
strike_reset(struct run *u)
{
    if (u->phase->left == LEFT_NOTHING)
        http_script_close(&u->r->s);
    else
        visit_reset(u->stream);
}

/* Nobody listens any more: SEND_FAILED, and the client lives. */
static void
expect_refused(struct run *u)
{
    rig_ends(&u->c, MCP_E_SEND_FAILED, NULL);
    close(u->block);
    u->block = -1;
}

static void
expect_reset(struct run *u)
{
    if (u->phase->left == LEFT_NOTHING) {
        expect_refused(u);
        return;
    }
    if (has_inlet_stream(u)) { /* D23: nothing can come any more */
        rig_ends(&u->c, MCP_E_CLOSED, NULL);
        rig_ends(&u->other, MCP_E_CLOSED, NULL);
        return;
    }
    rig_ends(&u->c, u->phase->left == LEFT_PART ? MCP_E_SEND_FAILED : MCP_E_CLOSED,
             NULL);
    if (!is_modern(u))
        rig_take_cancel(u->r, u->c.id);
}

const struct cause run_causes[] = {
    {.name = "cancel",
     .modern = "B1_B2_B12_B13_E1_E2_E3_E12_E17",
     .legacy = "B1_B2_B12_B13_D1_D2",
     .stateless = "B1_B2_B12_B13_D1_D16",
     .status = MCP_E_CANCELED,
     .strike = strike_cancel,
     .expect = expect_abandon},
    {.name = "scope",
     .modern = "B9_E1_E2_E3",
     .legacy = "B9_D1_D2",
     .stateless = "B9_D1_D16",
     .status = MCP_E_CANCELED,
     .plain_only = true,
     .strike = strike_scope,
     .expect = expect_abandon},
    {.name = "free",
     .modern = "B32_E1_E2_E3",
     .legacy = "B32_D1_D2",
     .stateless = "B32_D1_D16",
     .plain_only = true,
     .strike = strike_free,
     .expect = expect_abandon},
    {.name = "close",
     .modern = "B22_E1_E2",
     .legacy = "B22_B23_D19",
     .stateless = "B22_B23_D16",
     .status = MCP_E_CLOSED,
     .closes = true,
     .fits = fits_close,
     .strike = strike_close,
     .expect = expect_closed},
    {.name = "reset",
     .modern = "B35_E14",
     .legacy = "B35_D9",
     .stateless = "B35_D9",
     .status = MCP_E_CLOSED,
     .fits = fits_reset,
     .strike = strike_reset,
     .expect = expect_reset},
};
const size_t run_cause_count = sizeof(run_causes) / sizeof(run_causes[0]);
