/*
 * pair.c - the memory link
 *
 * One lock guards both rings and the flags; it is a leaf and is never held while
 * anything of ours or of the user's is called. Ring r is written by end r and read by
 * end 1 - r. A wake in progress is counted, so that freeing an end can wait for it.
 */
#include "link/pair.h"

#include <pthread.h>
#include <string.h>

#include "base/mem.h"
#include "link/pipe.h"

#define DEFAULT_RING 65536

struct ring {
    char *data;
    size_t head; /* next byte to read */
    size_t len;
    bool eof;    /* its writer will write no more */
    bool broken; /* its reader is gone */
};

struct mcpi_pair {
    const mcp_allocator *mem;
    pthread_mutex_t lock; /* guards all below */
    pthread_cond_t quiet; /* a wake has returned */
    size_t size;          /* of each ring; constant */
    struct ring ring[2];
    struct mcpi_pair_side side[2]; /* wake NULL before it is opened, once freed */
    unsigned waking[2];
    unsigned ends; /* not yet gone, opened or not */
};

struct mcpi_pair_end {
    struct mcpi_pair *pair;
    unsigned index;
    const mcp_allocator *mem;
    struct mcpi_peer *peer;
    struct mcpi_pipe pipe;
    bool saw_eof; /* and core knows */
    bool closing; /* flush, then close */
    bool closed;
    bool shut;     /* said EOF */
    bool stepping; /* and somebody else's code runs: the memory is still needed */
    bool freed;
};

/* ---- the shared part ------------------------------------------------------- */

static struct ring *
ring_out(const struct mcpi_pair_end *end)
{
    return &end->pair->ring[end->index];
}

static struct ring *
ring_in(const struct mcpi_pair_end *end)
{
    return &end->pair->ring[1 - end->index];
}

/* That end may be freed meanwhile, on its thread: it waits until we are out. */
static void
pair_wake(struct mcpi_pair *pair, unsigned index)
{
    struct mcpi_pair_side side;

    pthread_mutex_lock(&pair->lock);
    side = pair->side[index];
    if (side.wake)
        pair->waking[index]++;
    pthread_mutex_unlock(&pair->lock);
    if (!side.wake)
        return;
    side.wake(side.wake_user);
    pthread_mutex_lock(&pair->lock);
    pair->waking[index]--;
    if (!pair->side[index].wake)
        pthread_cond_broadcast(&pair->quiet);
    pthread_mutex_unlock(&pair->lock);
}

static void
end_wake_other(const struct mcpi_pair_end *end)
{
    pair_wake(end->pair, 1 - end->index);
}

static size_t
ring_put(struct ring *ring, size_t size, const char *bytes, size_t len)
{
    size_t tail = (ring->head + ring->len) % size;
    size_t room = size - ring->len;
    size_t first;

    len = len < room ? len : room;
    first = len < size - tail ? len : size - tail;
    memcpy(ring->data + tail, bytes, first);
    memcpy(ring->data, bytes + first, len - first);
    ring->len += len;
    return len;
}

static size_t
ring_get(struct ring *ring, size_t size, char *into, size_t room)
{
    size_t len = ring->len < room ? ring->len : room;
    size_t first = len < size - ring->head ? len : size - ring->head;

    memcpy(into, ring->data + ring->head, first);
    memcpy(into + first, ring->data, len - first);
    ring->head = (ring->head + len) % size;
    ring->len -= len;
    return len;
}

/* What a step needs to know, in one look. */
struct view {
    size_t readable;
    size_t writable;
    bool eof;    /* nothing more will come */
    bool broken; /* nobody reads what we write */
};

static struct view
end_look(const struct mcpi_pair_end *end)
{
    struct view view;

    pthread_mutex_lock(&end->pair->lock);
    view.readable = ring_in(end)->len;
    view.eof = ring_in(end)->eof;
    view.writable = end->pair->size - ring_out(end)->len;
    view.broken = ring_out(end)->broken;
    pthread_mutex_unlock(&end->pair->lock);
    return view;
}

static size_t
end_put(struct mcpi_pair_end *end, const char *bytes, size_t len)
{
    bool was_empty;

    pthread_mutex_lock(&end->pair->lock);
    was_empty = ring_out(end)->len == 0;
    len = ring_put(ring_out(end), end->pair->size, bytes, len);
    pthread_mutex_unlock(&end->pair->lock);
    if (was_empty)
        end_wake_other(end); /* its reader has seen nothing */
    return len;
}

/* ---- what core asks -------------------------------------------------------- */

static void
pair_shut(struct mcpi_pair *pair, unsigned index, bool reading_too)
{
    pthread_mutex_lock(&pair->lock);
    pair->ring[index].eof = true;
    if (reading_too)
        pair->ring[1 - index].broken = true;
    pthread_mutex_unlock(&pair->lock);
    pair_wake(pair, 1 - index);
}

static void
end_shut(const struct mcpi_pair_end *end, bool reading_too)
{
    pair_shut(end->pair, end->index, reading_too);
}

/* On our own thread, which is the only one that frees this end: no lock, no count. */
static void
end_wake_self(const struct mcpi_pair_end *end)
{
    const struct mcpi_pair_side *side = &end->pair->side[end->index];

    if (side->wake)
        side->wake(side->wake_user);
}

static void
op_wake(struct mcpi_outlet *outlet)
{
    end_wake_self(mcpi_outlet_link(outlet));
}

static void
op_close(struct mcpi_peer *peer, enum mcpi_closing how)
{
    struct mcpi_pair_end *end = mcpi_peer_link(peer);

    end->closing = true;
    if (how == MCPI_CLOSE_NOW && !end->closed) {
        end->closed = true;
        end_shut(end, true);
    }
    end_wake_self(end);
}

static const struct mcpi_link_ops pair_ops = {.wake = op_wake, .close = op_close};

/* ---- stepping -------------------------------------------------------------- */

/* True: it is still there, and still wants to read. */
static bool
end_announce(struct mcpi_pair_end *end)
{
    const struct mcpi_pair_side *side = &end->pair->side[end->index];

    if (side->arriving) {
        end->stepping = true;
        side->arriving(side->wake_user);
        end->stepping = false;
    }
    return !end->freed && !end->closing;
}

static int
end_read(struct mcpi_pair_end *end, const struct view *view, int64_t now)
{
    size_t room, len;
    bool was_full;
    char *into;

    if (end->closing || view->readable == 0)
        return 0; /* who closes reads no more (F30) */
    into = mcpi_pipe_space(&end->pipe, &room);
    if (!into)
        return MCP_E_NOMEM;
    pthread_mutex_lock(&end->pair->lock);
    was_full = ring_in(end)->len == end->pair->size;
    len = ring_get(ring_in(end), end->pair->size, into, room);
    pthread_mutex_unlock(&end->pair->lock);
    if (was_full)
        end_wake_other(end); /* its writer has seen no room */
    if (end_announce(end))
        mcpi_pipe_filled(&end->pipe, len, now);
    return end->freed ? MCP_E_CLOSED : 1;
}

static int
end_notice_eof(struct mcpi_pair_end *end, const struct view *view, int64_t now)
{
    if (end->saw_eof || !view->eof || view->readable > 0)
        return 0;
    end->saw_eof = true;
    mcpi_pipe_ended(&end->pipe, now);
    return 1;
}

static int
end_write(struct mcpi_pair_end *end, const struct view *view, int64_t now)
{
    const char *bytes;
    size_t len;

    if (end->shut || mcpi_pipe_is_idle(&end->pipe))
        return 0;
    if (view->broken)
        return MCP_E_CLOSED;
    if (view->writable == 0)
        return 0;
    bytes = mcpi_pipe_output(&end->pipe, view->writable, &len, now);
    if (len == 0)
        return 0;
    len = end_put(end, bytes, len);
    mcpi_pipe_written(&end->pipe, len, now);
    return 1;
}

static int
end_finish_closing(struct mcpi_pair_end *end)
{
    if (!end->closing || !(end->shut || mcpi_pipe_is_idle(&end->pipe)))
        return 0;
    return MCP_E_CLOSED;
}

static void
end_close(struct mcpi_pair_end *end, int status, int64_t now)
{
    if (!end->closed) {
        end->closed = true;
        end_shut(end, true);
    }
    mcpi_peer_lost(end->peer, status, now);
    mcpi_pipe_abort(&end->pipe, now);
}

/* Both directions in every step: a peer that floods us must not keep our cancels from
 * leaving. But what one said before it went is read first, all of it. */
static int
end_move(struct mcpi_pair_end *end, int64_t now)
{
    struct view view = end_look(end);
    int read, wrote;

    read = end_read(end, &view, now);
    if (read == 0)
        read = end_notice_eof(end, &view, now);
    if (read < 0 || (read > 0 && view.broken))
        return read;
    wrote = end_write(end, &view, now);
    return wrote < 0 ? wrote : read | wrote;
}

int
mcpi_pair_step(struct mcpi_pair_end *end, int64_t now)
{
    int r;

    if (end->closed) {
        mcpi_pipe_abort(&end->pipe, now); /* core may have closed it, at once */
        return MCP_E_CLOSED;
    }
    r = end_move(end, now);
    if (end->freed) {
        mcpi_free(end->mem, end);
        return MCP_E_CLOSED;
    }
    if (r == 0)
        r = end_finish_closing(end);
    if (r < 0)
        end_close(end, r, now);
    return r;
}

void
mcpi_pair_shutdown(struct mcpi_pair_end *end, int64_t now)
{
    (void)now;
    if (!end->shut && !end->closed) {
        end->shut = true;
        end_shut(end, false);
    }
}

size_t
mcpi_pair_inject(struct mcpi_pair_end *end, const char *bytes, size_t len)
{
    return end_put(end, bytes, len);
}

/* ---- making and freeing ---------------------------------------------------- */

struct mcpi_peer *
mcpi_pair_peer(const struct mcpi_pair_end *end)
{
    return end->peer;
}

static void
pair_free(struct mcpi_pair *pair)
{
    mcpi_free(pair->mem, pair->ring[0].data);
    mcpi_free(pair->mem, pair->ring[1].data);
    pthread_mutex_destroy(&pair->lock);
    pthread_cond_destroy(&pair->quiet);
    mcpi_free(pair->mem, pair);
}

/* Nobody wakes this end any more; who goes last takes the rings along. */
static void
pair_leave(struct mcpi_pair *pair, unsigned index)
{
    bool last;

    pthread_mutex_lock(&pair->lock);
    pair->side[index].wake = NULL;
    while (pair->waking[index] > 0)
        pthread_cond_wait(&pair->quiet, &pair->lock);
    last = --pair->ends == 0;
    pthread_mutex_unlock(&pair->lock);
    if (last)
        pair_free(pair);
}

void
mcpi_pair_free(struct mcpi_pair_end *end, int64_t now)
{
    if (!end)
        return;
    end_close(end, MCP_E_CLOSED, now);
    mcpi_pipe_done(&end->pipe, now);
    mcpi_peer_free(end->peer);
    pair_leave(end->pair, end->index);
    if (end->stepping)
        end->freed = true; /* the step frees it */
    else
        mcpi_free(end->mem, end);
}

int
mcpi_pair_make(const mcp_allocator *mem, size_t ring_bytes, struct mcpi_pair **ret_pair)
{
    struct mcpi_pair *pair;

    mem = mcpi_mem_or_malloc(mem);
    pair = mcpi_alloc_zero(mem, sizeof(*pair));
    if (!pair)
        return MCP_E_NOMEM;
    pair->mem = mem;
    pair->size = ring_bytes ? ring_bytes : DEFAULT_RING;
    pair->ends = 2;
    pthread_mutex_init(&pair->lock, NULL);
    pthread_cond_init(&pair->quiet, NULL);
    pair->ring[0].data = mcpi_alloc(mem, pair->size);
    pair->ring[1].data = mcpi_alloc(mem, pair->size);
    if (!pair->ring[0].data || !pair->ring[1].data) {
        pair_free(pair);
        return MCP_E_NOMEM;
    }
    *ret_pair = pair;
    return 0;
}

int
mcpi_pair_open(struct mcpi_pair *pair, unsigned index,
               const struct mcpi_pair_side *side, struct mcpi_pair_end **ret_end)
{
    const mcp_allocator *mem = mcpi_engine_mem(side->engine);
    struct mcpi_pair_end *end;
    int r;

    end = mcpi_alloc_zero(mem, sizeof(*end));
    if (!end)
        return MCP_E_NOMEM;
    end->pair = pair;
    end->index = index;
    end->mem = mem;
    r = mcpi_peer_new(side->engine, &pair_ops, 0, end, &end->peer);
    if (r == 0)
        r = mcpi_pipe_init(&end->pipe, side->engine, end->peer);
    if (r < 0) {
        mcpi_peer_free(end->peer);
        mcpi_free(mem, end);
        return r;
    }
    pthread_mutex_lock(&pair->lock);
    pair->side[index] = *side;
    pthread_mutex_unlock(&pair->lock);
    *ret_end = end;
    return 0;
}

void
mcpi_pair_unmake(struct mcpi_pair *pair, unsigned index)
{
    if (!pair)
        return;
    pair_shut(pair, index, true);
    pair_leave(pair, index);
}

int
mcpi_pair_new(const struct mcpi_pair_options *opt, struct mcpi_pair_end *ret_ends[2])
{
    struct mcpi_pair_end *ends[2] = {NULL, NULL};
    struct mcpi_pair *pair;
    int r;

    r = mcpi_pair_make(mcpi_engine_mem(opt->side[0].engine), opt->ring_bytes, &pair);
    if (r < 0)
        return r;
    r = mcpi_pair_open(pair, 0, &opt->side[0], &ends[0]);
    if (r == 0)
        r = mcpi_pair_open(pair, 1, &opt->side[1], &ends[1]);
    if (r < 0) {
        if (ends[0])
            mcpi_pair_free(ends[0], 0);
        else
            mcpi_pair_unmake(pair, 0);
        mcpi_pair_unmake(pair, 1);
        return r;
    }
    ret_ends[0] = ends[0];
    ret_ends[1] = ends[1];
    return 0;
}
