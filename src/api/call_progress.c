/*
 * call_progress.c - progress on its way to a callback that may be slow
 *
 * One delivery for each report, in order, until too many wait: then the newest takes
 * the place of the last (I13). A report that there is no memory for is lost, which
 * progress may be.
 */
#include <math.h>
#include <string.h>

#include "api/call.h"
#include "base/mem.h"

struct mcpi_progress_note {
    struct mcpi_post post;
    mcp_call *call;
    /* Until it begins: under the call's lock. */
    double progress, total;
    char *message; /* NULL: none */
};

static char *
text_copy(const mcp_allocator *mem, const char *text)
{
    size_t size = strlen(text) + 1;
    char *copy = mcpi_alloc(mem, size);

    if (copy)
        memcpy(copy, text, size);
    return copy;
}

static void
note_free(struct mcpi_progress_note *note)
{
    const mcp_allocator *mem = note->call->mem;

    mcpi_free(mem, note->message);
    mcpi_free(mem, note);
}

static void
note_deliver(struct mcpi_post *post)
{
    struct mcpi_progress_note *note = MCPI_CONTAINER(post, struct mcpi_progress_note,
                                                     post);
    mcp_call *call = note->call;
    bool wanted;

    pthread_mutex_lock(&call->lock);
    call->progress_waiting--;
    if (call->progress_last == note)
        call->progress_last = NULL;
    wanted = !call->is_freed;
    pthread_mutex_unlock(&call->lock);
    if (wanted)
        call->on_progress(call, note->progress, note->total, note->message,
                          call->progress_user);
    note_free(note);
    pthread_mutex_lock(&call->lock);
    call->progress_left--;
    pthread_cond_broadcast(
        &call->changed); /* who waits for the end waits for this too */
    pthread_mutex_unlock(&call->lock);
}

static struct mcpi_progress_note *
note_new(mcp_call *call, const struct mcpi_progress *p)
{
    struct mcpi_progress_note *note;

    note = mcpi_alloc_zero(call->mem, sizeof(*note));
    if (!note)
        return NULL;
    note->post.fn = note_deliver;
    note->call = call;
    note->progress = p->progress;
    note->total = isnan(p->total) ? 0 : p->total;
    if (p->message) {
        note->message = text_copy(call->mem, p->message);
        if (!note->message) {
            mcpi_free(call->mem, note);
            return NULL;
        }
    }
    return note;
}

/* Under lock: the contents of the two change places. */
static void
notes_swap(struct mcpi_progress_note *a, struct mcpi_progress_note *b)
{
    char *message = a->message;

    a->progress = b->progress;
    a->total = b->total;
    a->message = b->message;
    b->message = message;
}

void
mcpi_handle_progress(mcp_call *call, const struct mcpi_progress *p)
{
    struct mcpi_progress_note *note = note_new(call, p);
    bool full;

    if (!note)
        return;
    pthread_mutex_lock(&call->lock);
    full = call->progress_waiting >= MCPI_PROGRESS_WAITING && call->progress_last;
    if (full) {
        notes_swap(call->progress_last, note);
    } else {
        call->progress_waiting++;
        call->progress_left++;
        call->progress_last = note;
    }
    pthread_mutex_unlock(&call->lock);
    if (full)
        note_free(note);
    else
        mcpi_lane_add(&call->lane, &note->post);
}
