/*
 * call_progress.c - progress, and tokens to resume from, on their way to callbacks that
 * may be slow
 *
 * One delivery for each, in order, until too many wait: then the newest takes the place of
 * the last of its kind (I13). One that there is no memory for is lost, which progress may
 * be, and an older token is good too: more comes again from there.
 */
#include <math.h>
#include <string.h>

#include "api/call.h"
#include "api/resume.h"
#include "base/mem.h"

struct mcpi_call_note {
    struct mcpi_post post;
    mcp_call *call;
    bool is_token;
    /* Until it begins: under the call's lock. */
    double progress, total;
    char *message; /* or the token. NULL: none */
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
note_free(struct mcpi_call_note *note)
{
    const mcp_allocator *mem = note->call->mem;

    mcpi_free(mem, note->message);
    mcpi_free(mem, note);
}

/* The last of its kind, which waits, or NULL. */
static struct mcpi_call_note **
note_slot(const struct mcpi_call_note *note)
{
    mcp_call *call = note->call;

    return note->is_token ? &call->token_last : &call->progress_last;
}

static void
note_tell(const struct mcpi_call_note *note)
{
    mcp_call *call = note->call;

    if (note->is_token)
        call->on_resume(call, note->message, call->progress_user);
    else
        call->on_progress(call, note->progress, note->total, note->message,
                          call->progress_user);
}

static void
note_deliver(struct mcpi_post *post)
{
    struct mcpi_call_note *note = MCPI_CONTAINER(post, struct mcpi_call_note, post);
    mcp_call *call = note->call;
    bool wanted;

    pthread_mutex_lock(&call->lock);
    call->progress_waiting--;
    if (*note_slot(note) == note)
        *note_slot(note) = NULL;
    wanted = !call->is_freed;
    pthread_mutex_unlock(&call->lock);
    if (wanted)
        note_tell(note);
    note_free(note);
    pthread_mutex_lock(&call->lock);
    call->progress_left--;
    pthread_cond_broadcast(
        &call->changed); /* who waits for the end waits for this too */
    pthread_mutex_unlock(&call->lock);
}

/* text: a message, a token, or NULL. */
static struct mcpi_call_note *
note_new(mcp_call *call, const char *text)
{
    struct mcpi_call_note *note;

    note = mcpi_alloc_zero(call->mem, sizeof(*note));
    if (!note)
        return NULL;
    note->post.fn = note_deliver;
    note->call = call;
    if (text) {
        note->message = text_copy(call->mem, text);
        if (!note->message) {
            mcpi_free(call->mem, note);
            return NULL;
        }
    }
    return note;
}

/* Under lock: the contents of the two change places. */
static void
notes_swap(struct mcpi_call_note *a, struct mcpi_call_note *b)
{
    char *message = a->message;

    a->progress = b->progress;
    a->total = b->total;
    a->message = b->message;
    b->message = message;
}

static void
note_send(struct mcpi_call_note *note)
{
    mcp_call *call = note->call;
    struct mcpi_call_note **last = note_slot(note);
    bool full;

    pthread_mutex_lock(&call->lock);
    full = call->progress_waiting >= MCPI_PROGRESS_WAITING && *last;
    if (full) {
        notes_swap(*last, note);
    } else {
        call->progress_waiting++;
        call->progress_left++;
        *last = note;
    }
    pthread_mutex_unlock(&call->lock);
    if (full)
        note_free(note);
    else
        mcpi_lane_add(&call->lane, &note->post);
}

void
mcpi_handle_progress(mcp_call *call, const struct mcpi_progress *p)
{
    struct mcpi_call_note *note = note_new(call, p->message);

    if (!note)
        return;
    note->progress = p->progress;
    note->total = isnan(p->total) ? 0 : p->total;
    note_send(note);
}

void
mcpi_handle_token(mcp_call *call, const struct mcpi_id *id, const char *event)
{
    struct mcpi_call_note *note = NULL;
    struct mcpi_buf token;

    mcpi_buf_init(&token, call->mem, MCPI_RESUME_MAX + 1);
    mcpi_resume_write(&token, id, event);
    mcpi_buf_char(&token, '\0');
    if (token.status == 0)
        note = note_new(call, token.data);
    mcpi_buf_done(&token);
    if (!note)
        return;
    note->is_token = true;
    note_send(note);
}
