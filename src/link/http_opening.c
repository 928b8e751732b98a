/* http_opening.c - how an answer begins: one JSON body, an event stream, or nothing */
#include "link/http_opening.h"

#include "link/http_event.h"
#include "link/http_session.h"
#include "wire/rpc.h"

int
mcpi_http_status_of(int rpc_code, bool modern)
{
    switch (rpc_code) {
    case MCPI_RPC_PARSE_ERROR:
    case MCPI_RPC_INVALID_REQUEST:
        return 400;
    case MCPI_RPC_METHOD_NOT_FOUND:
        return modern ? 404 : 200;
    /* An envelope without what it must have is a 400, and code alone does not tell it
     * from a handler's own -32602. One status for both is what the Python server has;
     * clients of this era read the body of a 400. */
    case MCPI_RPC_INVALID_PARAMS:
    case MCPI_RPC_HEADER_MISMATCH:
    case MCPI_RPC_MISSING_CAPABILITY:
    case MCPI_RPC_UNSUPPORTED_VERSION:
        return modern ? 400 : 200;
    default:
        return 200;
    }
}

static void
stream_reply(struct mcpi_http_stream *s, struct mcpi_out *out, const char *body,
             size_t len)
{
    mcp_http_field field = {"Mcp-Session-Id", NULL};
    struct mcpi_http_out answer = {
        .status = mcpi_http_status_of(mcpi_out_code(out), s->modern),
        .type = "application/json",
        .body = body,
        .body_len = len};
    struct mcpi_turn *turn = mcpi_http_stream_release(s);

    if (s->says_session) {
        field.value = s->session->id;
        answer.fields = &field;
        answer.field_count = 1;
    }
    /* It is held once: by core until here, then by the carrier. */
    mcpi_out_done(out, 0, mcpi_loop_now(s->endpoint->loop));
    (void)mcpi_turn_reply(turn, &answer);
    mcpi_http_stream_free(s);
}

/* Canceled without a word (X1), and nothing was said before: as an event stream that
 * ends, as it would if something had been. A client that reads none gets 202: it has
 * canceled and waits for nothing. */
static void
stream_say_nothing(struct mcpi_http_stream *s)
{
    const struct mcpi_http_out accepted = {.status = 202};
    struct mcpi_turn *turn;

    if (s->may_sse) {
        s->turn->ends = true;
        mcpi_http_stream_send(s, mcpi_http_event_scratch(s));
        mcpi_http_stream_finish(s);
        return;
    }
    turn = mcpi_http_stream_release(s);
    (void)mcpi_turn_reply(turn, &accepted); /* the rest is the carrier's */
    mcpi_http_stream_free(s);
}

static void
stream_begin_with(struct mcpi_http_stream *s, struct mcpi_buf *batch,
                  struct mcpi_out *out, const struct mcpi_http_span *span)
{
    bool answered = mcpi_out_get_kind(out) == MCPI_OUT_ANSWER;

    mcpi_http_event_prime(s);
    mcpi_http_event_keep(s, batch->data + span->at, span->len);
    s->sent = s->events;
    s->out = out;
    if (!answered)
        answered = mcpi_http_event_fill(s, batch);
    s->turn->ends = answered;
    mcpi_http_stream_send(s, batch);
    if (answered)
        mcpi_http_stream_finish(s);
    else
        mcpi_http_stream_go_on(s);
}

/* Without event streams there is no way to say it. */
static void
out_drop(const struct mcpi_http_stream *s, struct mcpi_out *out)
{
    bool asks = mcpi_out_get_kind(out) == MCPI_OUT_REQUEST;

    mcpi_out_done(out, asks ? MCP_E_SEND_FAILED : 0, mcpi_loop_now(s->endpoint->loop));
}

void
mcpi_http_opening_decide(struct mcpi_http_stream *s)
{
    struct mcpi_buf *batch = mcpi_http_event_scratch(s);
    struct mcpi_out *out;
    struct mcpi_http_span span;

    if (s->primes)
        mcpi_http_event_write_priming(s, batch);
    for (;;) {
        out = mcpi_http_event_take(s, batch, s->events + (s->primes ? 2 : 1), &span);
        if (!out)
            break;
        if (mcpi_out_get_kind(out) == MCPI_OUT_ANSWER && (s->may_json || !s->may_sse)) {
            stream_reply(s, out, batch->data + span.at, span.len);
            return;
        }
        if (s->may_sse) {
            stream_begin_with(s, batch, out, &span);
            return;
        }
        mcpi_buf_rewind(batch, 0);
        out_drop(s, out);
    }
    if (s->failed)
        return;
    if (s->settled && !mcpi_outlet_peer(s->outlet)) {
        mcpi_http_stream_end(s); /* its peer was lost: nobody has canceled it */
    } else if (s->settled) {
        stream_say_nothing(s);
    } else if (s->primes) {
        mcpi_http_event_prime(s);
        mcpi_http_stream_send(s, batch);
        mcpi_http_stream_go_on(s);
    }
}
