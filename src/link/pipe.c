/* pipe.c - messages over one ordered byte stream */
#include "link/pipe.h"

#include "wire/broken.h"
#include "json/value.h"

int
mcpi_pipe_init(struct mcpi_pipe *pipe, const struct mcpi_engine *engine,
               struct mcpi_peer *peer)
{
    pipe->peer = peer;
    pipe->engine = engine;
    pipe->mem = mcpi_engine_mem(engine);
    pipe->max_bytes = mcpi_engine_max_bytes(engine);
    pipe->max_depth = mcpi_engine_max_depth(engine);
    pipe->written = pipe->first = pipe->count = 0;
    mcpi_line_init(&pipe->in, pipe->mem, pipe->max_bytes);
    mcpi_buf_init(&pipe->out, pipe->mem, pipe->max_bytes + MCPI_PIPE_BATCH_BYTES);
    if (mcpi_buf_reserve(&pipe->out, MCPI_FRAME_MAX + 1))
        return 0;
    mcpi_buf_done(&pipe->out);
    mcpi_line_done(&pipe->in);
    return MCP_E_NOMEM;
}

void
mcpi_pipe_abort(struct mcpi_pipe *pipe, int64_t now)
{
    while (pipe->first < pipe->count)
        mcpi_out_done(pipe->sent[pipe->first++].out, MCP_E_CLOSED, now);
    pipe->written = pipe->out.len;
}

void
mcpi_pipe_done(struct mcpi_pipe *pipe, int64_t now)
{
    mcpi_pipe_abort(pipe, now);
    mcpi_line_done(&pipe->in);
    mcpi_buf_done(&pipe->out);
}

/* ---- in -------------------------------------------------------------------- */

char *
mcpi_pipe_space(struct mcpi_pipe *pipe, size_t *ret_room)
{
    return mcpi_line_space(&pipe->in, ret_room);
}

static void
pipe_receive(struct mcpi_pipe *pipe, const struct mcpi_rpc *rpc, int64_t now)
{
    const struct mcpi_arrival arrival = {.take_doc = rpc->doc, .rpc = rpc};

    mcpi_peer_receive(pipe->peer, &arrival, now);
}

/* It is shown first: who answers what came must not be seen to do so before. */
static void
pipe_dispatch(struct mcpi_pipe *pipe, const char *text, size_t len, int64_t now)
{
    const struct mcpi_json_limits limits = {pipe->max_bytes, pipe->max_depth};
    struct mcpi_rpc rpc;
    int r;

    r = mcpi_rpc_parse(pipe->mem, text, len, &limits, &rpc);
    if (r == MCP_E_NOMEM) {
        mcpi_peer_fail(pipe->peer, r, "no memory to read a message");
        return;
    }
    if (r == 0)
        mcpi_engine_came(pipe->engine, text, len);
    else
        mcpi_engine_tell_garbled(pipe->engine, rpc.fault_text, text, len);
    pipe_receive(pipe, &rpc, now);
}

/* Of a line that was too long there is its beginning. */
static void
pipe_dispatch_long(struct mcpi_pipe *pipe, const char *text, size_t len, int64_t now)
{
    struct mcpi_rpc rpc;

    mcpi_broken_read(pipe->mem, text, len, MCPI_RPC_INVALID_REQUEST,
                     "Invalid request: message too long", &rpc);
    mcpi_engine_tell_garbled(pipe->engine, rpc.fault_text, "", 0);
    pipe_receive(pipe, &rpc, now);
}

void
mcpi_pipe_filled(struct mcpi_pipe *pipe, size_t len, int64_t now)
{
    const char *text;
    size_t text_len;
    int r;

    mcpi_line_filled(&pipe->in, len);
    for (r = mcpi_line_next(&pipe->in, &text, &text_len); r != 0;
         r = mcpi_line_next(&pipe->in, &text, &text_len)) {
        if (r > 0)
            pipe_dispatch(pipe, text, text_len, now);
        else
            pipe_dispatch_long(pipe, text, text_len, now);
    }
}

/* Half of a message at the end: its id is not looked for. What ends with the input is all
 * calls, because the peer is gone, and nobody may be there to hear an answer. */
static void
pipe_dispatch_half(struct mcpi_pipe *pipe, const char *text, size_t len, int64_t now)
{
    struct mcpi_rpc rpc;

    mcpi_broken_read(pipe->mem, "", 0, MCPI_RPC_PARSE_ERROR,
                     "Parse error: the input ends in the middle of a message", &rpc);
    mcpi_engine_tell_garbled(pipe->engine, rpc.fault_text, text, len);
    pipe_receive(pipe, &rpc, now);
}

void
mcpi_pipe_ended(struct mcpi_pipe *pipe, int64_t now)
{
    const struct mcpi_line *in = &pipe->in;

    if (mcpi_line_partial(in))
        pipe_dispatch_half(pipe, in->buf.data + in->start, in->buf.len - in->start,
                           now);
    mcpi_peer_input_ended(pipe->peer, now);
}

/* ---- out ------------------------------------------------------------------- */

static bool
pipe_has_room(struct mcpi_pipe *pipe)
{
    if (pipe->count == MCPI_PIPE_BATCH || pipe->out.len >= MCPI_PIPE_BATCH_BYTES)
        return false;
    if (mcpi_buf_reserve(&pipe->out, MCPI_FRAME_MAX + 1))
        return true;
    mcpi_buf_rewind(&pipe->out, pipe->out.len); /* the next batch starts with room */
    return false;
}

/* One more message, with its newline. One that takes the last byte of memory, so that
 * its newline does not fit, has failed: half of a line would spoil the next. */
static bool
pipe_take(struct mcpi_pipe *pipe, int64_t now)
{
    struct mcpi_out *out;
    size_t mark = pipe->out.len;

    out = mcpi_outlet_take(mcpi_peer_outlet(pipe->peer), &pipe->out, now);
    if (!out)
        return false;
    mcpi_buf_char(&pipe->out, '\n');
    if (pipe->out.status < 0) {
        mcpi_buf_rewind(&pipe->out, mark);
        mcpi_out_done(out, MCP_E_NOMEM, now);
        return true;
    }
    pipe->sent[pipe->count].out = out;
    pipe->sent[pipe->count].end = pipe->out.len;
    pipe->count++;
    return true;
}

const char *
mcpi_pipe_output(struct mcpi_pipe *pipe, size_t room, size_t *ret_len, int64_t now)
{
    if (pipe->written == pipe->out.len) {
        mcpi_buf_clear(&pipe->out);
        pipe->written = pipe->first = pipe->count = 0;
        while (pipe->out.len < room && pipe_has_room(pipe) && pipe_take(pipe, now))
            continue;
    }
    *ret_len = pipe->out.len - pipe->written;
    return pipe->out.data + pipe->written;
}

void
mcpi_pipe_written(struct mcpi_pipe *pipe, size_t len, int64_t now)
{
    pipe->written += len;
    while (pipe->first < pipe->count && pipe->sent[pipe->first].end <= pipe->written)
        mcpi_out_done(pipe->sent[pipe->first++].out, 0, now);
}

bool
mcpi_pipe_is_idle(const struct mcpi_pipe *pipe)
{
    return pipe->written == pipe->out.len &&
           mcpi_outlet_is_empty(mcpi_peer_outlet(pipe->peer));
}
