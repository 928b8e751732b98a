/* http_client_phases.c - how far a server has come with a call when it ends */
#include "end/http_client_matrix.h"

#define SSE "text/event-stream"
/* More than the system keeps for a connection with small buffers. */
#define LARGE ((size_t)1 << 20)

static void
read_it(struct run *u)
{
    rig_take(u->r, &u->v, "tools/call");
}

static void
say(struct run *u, const char *text)
{
    visit_say(u->stream, text);
    rig_await_read(u->stream);
}

/* The head of a stream; of 2024-11-05 there is one already. */
static void
open_stream(struct run *u)
{
    read_it(u);
    if (u->r->cell == CELL_OLD) {
        rig_say(&u->v, "202 Accepted", NULL, "");
        u->v.fd = -1;
        u->stream = &u->r->inlet;
        return;
    }
    rig_head(&u->v, "200 OK", SSE, "");
    rig_await_read(&u->v);
}

static void
call(struct run *u)
{
    rig_call(u->r, &u->c, &u->opt);
}

/* ---- phases -------------------------------------------------------------- */

static void
drive_connecting(struct run *u)
{
    u->block = rig_block(u->r);
    call(u);
    RIG_UNTIL(rig_connecting(u->r) == 1);
}

static void
drive_sending(struct run *u)
{
    char *params = malloc(LARGE + 64);
    size_t at;

    assert_non_null(params);
    at = (size_t)snprintf(params, 64, "{\"name\":\"t\",\"arguments\":{\"x\":\"");
    memset(params + at, 'x', LARGE);
    memcpy(params + at + LARGE, "\"}}", 4);
    rig_call_with(u->r, &u->c, &u->opt, params);
    free(params);
    visit_accept(&u->v, &u->r->s);
    visit_read_head(&u->v);
}

static void
drive_awaiting(struct run *u)
{
    call(u);
    read_it(u);
}

static void
drive_mid_head(struct run *u)
{
    drive_awaiting(u);
    say(u, "HTTP/1.1 200 OK\r\nConte");
}

static void
drive_mid_body(struct run *u)
{
    drive_awaiting(u);
    rig_head(&u->v, "200 OK", "application/json", "Content-Length: 1000\r\n");
    say(u, "{\"jsonrpc\":\"2.0\",\"id\":");
}

static void
drive_idle_stream(struct run *u)
{
    call(u);
    open_stream(u);
}

static void
drive_mid_event(struct run *u)
{
    call(u);
    open_stream(u);
    say(u, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":");
}

static void
drive_keep_alives(struct run *u)
{
    call(u);
    open_stream(u);
    for (int i = 0; i < 3; i++)
        say(u, ": still here\n\n");
}

static void
drive_answering(struct run *u)
{
    call(u);
    if (u->r->cell == CELL_BODIES) {
        read_it(u);
        rig_head(&u->v, "200 OK", "application/json", "");
        visit_say(&u->v, rig_result(u->c.id, "just in time"));
        visit_close(&u->v);
        u->v.fd = -1;
        return;
    }
    open_stream(u);
    rig_event(u->stream, rig_result(u->c.id, "just in time"));
}

/* An event with an id, and a time to wait; then the stream ends. */
static void
break_stream(struct run *u, const char *retry)
{
    call(u);
    read_it(u);
    rig_head(&u->v, "200 OK", SSE, "Transfer-Encoding: chunked\r\n");
    visit_chunk(&u->v, retry);
    visit_chunk(&u->v, "");
    visit_await_gone(&u->v);
    visit_close(&u->v);
    u->v.fd = -1;
}

static void
drive_broken(struct run *u)
{
    break_stream(u, "id: 1\nretry: 60000\ndata:\n\n");
}

static void
drive_resuming(struct run *u)
{
    break_stream(u, "id: 1\nretry: 1\ndata:\n\n");
    rig_await_visit(u->r);
    visit_accept(&u->v, &u->r->s);
    visit_read(&u->v);
    assert_true(visit_asks(&u->v, "GET /mcp"));
    assert_string_equal(visit_field(&u->v, "Last-Event-ID"), "1");
    assert_string_equal(visit_field(&u->v, "Mcp-Session-Id"), RIG_SESSION);
}

const struct phase run_phases[] = {
    {"connecting", CELLS_ALL, LEFT_NOTHING, drive_connecting},
    {"sending", CELLS_ALL, LEFT_PART, drive_sending},
    {"awaiting", CELLS_ALL, LEFT_ALL, drive_awaiting},
    {"mid_head", CELLS_ALL, LEFT_ALL, drive_mid_head},
    {"mid_body", CELL_MODERN | CELL_BODIES | CELL_STATELESS, LEFT_ALL, drive_mid_body},
    {"idle_stream", CELLS_STREAMS | CELL_OLD, LEFT_ALL, drive_idle_stream},
    {"mid_event", CELLS_STREAMS | CELL_OLD, LEFT_ALL, drive_mid_event},
    {"keep_alives", CELLS_STREAMS | CELL_OLD, LEFT_ALL, drive_keep_alives},
    {"answering", CELLS_ALL, LEFT_ANSWERED, drive_answering},
    {"broken", CELL_SESSION, LEFT_BROKEN, drive_broken},
    {"resuming", CELL_SESSION, LEFT_BROKEN, drive_resuming},
};
const size_t run_phase_count = sizeof(run_phases) / sizeof(run_phases[0]);
