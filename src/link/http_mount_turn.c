/*
 * http_mount_turn.c - one turn of a mount: two owners, one answer
 *
 * Who frees a turn waits for an op of it that runs on another thread.
 *
 * While a turn is paused, the one piece that comes is kept: an endpoint writes nothing
 * more then but an end. The carrier has as long to go on as a client of our own has to
 * read.
 */
#include "link/http_mount_turn.h"

#include <string.h>

#include "base/budget.h"
#include "base/mem.h"
#include "link/http_copy.h"
#include "run/thread.h"

struct mcp_http_turn {
    struct mcpi_turn turn;
    struct mcpi_mount *mount;
    const mcp_http_turn_ops *ops;
    void *user;
    struct mcpi_post post;

    /* the loop's */
    struct mcpi_list in_mount;
    struct mcpi_http_in *request; /* a copy; NULL: begun */
    struct mcpi_account *account; /* of the client, until it is over; or NULL */
    struct mcpi_http_piece *kept; /* while paused */
    struct mcpi_timer slow;       /* it is kept for too long */
    bool end_waits;               /* behind what is kept */
    bool broken;                  /* give it up in the next turn of the loop */

    /* under the mount's lock */
    unsigned refs;
    pthread_t in_op_on;
    bool in_op, posted, paused, freed, over;
};

/* ---- what several threads look at ---------------------------------------- */

static void
turn_unref(mcp_http_turn *turn)
{
    struct mcpi_mount *mount = turn->mount;

    mcpi_mount_lock(mount);
    if (--turn->refs > 0) {
        mcpi_mount_unlock(mount);
        return;
    }
    mcpi_free(mount->mem, turn);
    mount->count--;
    mcpi_mount_unref_unlock(mount);
}

/* Under lock, which is given back. Not if the loop has nothing to do with it any more. */
void
mcpi_mount_turn_post_unlock(mcp_http_turn *turn)
{
    struct mcpi_mount *mount = turn->mount;
    bool post = !turn->posted && !turn->over && !mount->closed;

    if (post) {
        turn->posted = true;
        turn->refs++;
        mount->posting++;
    }
    mcpi_mount_unlock(mount);
    if (!post)
        return;
    mcpi_loop_post(mount->loop, &turn->post); /* it may be freed now, not the mount */
    mcpi_mount_lock(mount);
    mount->posting--;
    if (mount->closed)
        pthread_cond_broadcast(&mount->moved);
    mcpi_mount_unlock(mount);
}

enum entry { ENTERED, PAUSED, FREED };

/* May an op run now? Then leave must follow. */
static enum entry
turn_enter(mcp_http_turn *turn, bool even_paused)
{
    enum entry entry = ENTERED;

    mcpi_mount_lock(turn->mount);
    if (turn->freed)
        entry = FREED;
    else if (turn->paused && !even_paused)
        entry = PAUSED;
    else
        turn->in_op = true;
    turn->in_op_on = pthread_self();
    mcpi_mount_unlock(turn->mount);
    return entry;
}

static void
turn_leave(mcp_http_turn *turn)
{
    mcpi_mount_lock(turn->mount);
    turn->in_op = false;
    if (turn->freed)
        pthread_cond_broadcast(&turn->mount->moved);
    mcpi_mount_unlock(turn->mount);
}

/* ---- the loop's part ----------------------------------------------------- */

static void
turn_drop_kept(mcp_http_turn *turn)
{
    mcpi_timer_disarm(mcpi_loop_timers(turn->mount->loop), &turn->slow);
    mcpi_http_piece_free(turn->mount->mem, turn->kept);
    turn->kept = NULL;
}

/* There is a reference of whoever wants to know. */
static void
mount_tell_idle(struct mcpi_mount *mount)
{
    void (*idle)(void *user) = mount->idle;

    mount->idle = NULL;
    idle(mount->idle_user);
}

/* The loop has nothing to do with it any more. Whoever holds it by a post or by its
 * handle still may. */
static void
turn_over(mcp_http_turn *turn)
{
    struct mcpi_mount *mount = turn->mount;
    bool tell;

    if (turn->over)
        return;
    mcpi_list_remove(&turn->in_mount);
    turn_drop_kept(turn);
    mcpi_http_in_free(mount->mem, turn->request);
    turn->request = NULL;
    mcpi_account_unref(turn->account);
    turn->account = NULL;
    tell = mount->idle && mcpi_list_empty(&mount->turns);
    mcpi_mount_lock(mount);
    turn->over = true;
    mcpi_mount_unlock(mount);
    turn_unref(turn);
    if (tell)
        mount_tell_idle(mount);
}

/* Entered; leaves. */
static void
turn_deliver(mcp_http_turn *turn, const struct mcpi_http_piece *piece)
{
    if (piece->status != 0)
        turn->ops->begin(turn->user, piece->status, piece->fields, piece->field_count,
                         piece->body, piece->body_len, piece->last);
    else
        turn->ops->more(turn->user, piece->body, piece->body_len, piece->last);
    turn_leave(turn);
}

static void
turn_abort(mcp_http_turn *turn)
{
    if (turn_enter(turn, true) == ENTERED) {
        turn->ops->abort(turn->user);
        turn_leave(turn);
    }
    turn_over(turn);
}

static void
turn_keep(mcp_http_turn *turn, const struct mcpi_http_piece *piece)
{
    bool is_free = piece->body_len <= MCPI_HTTP_PIECE_FREE_MAX;
    struct mcpi_mount *mount = turn->mount;

    turn->kept = mcpi_http_piece_copy(mount->mem, is_free ? NULL : turn->account,
                                      piece);
    turn->broken = !turn->kept;
    if (turn->kept)
        mcpi_timer_arm(mcpi_loop_timers(mount->loop), &turn->slow,
                       mcpi_time_add(mcpi_loop_now(mount->loop),
                                     mount->endpoint->http->write_ms * 1000));
    if (turn->broken) { /* the endpoint must not hear of it from inside */
        mcpi_mount_lock(mount);
        mcpi_mount_turn_post_unlock(turn);
    }
}

/* The turn lasts until it is over, so it may be gone afterwards if the piece was the
 * last. */
static bool
turn_put(mcp_http_turn *turn, const struct mcpi_http_piece *piece)
{
    struct mcpi_mount *mount = turn->mount;
    enum entry entry = turn_enter(turn, false);

    if (entry == PAUSED && !mount->endpoint) {
        turn_abort(turn); /* nobody would ever hear that it goes on */
        return true;
    }
    if (entry == PAUSED) {
        turn_keep(turn, piece);
        return false;
    }
    if (entry == ENTERED)
        turn_deliver(turn, piece);
    if (piece->last)
        turn_over(turn);
    return true;
}

static bool
turn_answer(mcp_http_turn *turn, const struct mcpi_http_out *out, bool last)
{
    mcp_http_field fields[MCPI_HTTP_PIECE_FIELDS];
    struct mcpi_http_piece piece;

    mcpi_http_piece_of(out, last, fields, &piece);
    return turn_put(turn, &piece);
}

/* ---- what the endpoint asks ---------------------------------------------- */

static mcp_http_turn *
turn_of(struct mcpi_turn *turn)
{
    return MCPI_CONTAINER(turn, mcp_http_turn, turn);
}

static bool
op_reply(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    return turn_answer(turn_of(turn), out, true);
}

static bool
op_open(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    return turn_answer(turn_of(turn), out, false);
}

static bool
op_write(struct mcpi_turn *turn, const char *data, size_t len)
{
    return turn_put(turn_of(turn),
                    &(struct mcpi_http_piece){.body = data, .body_len = len});
}

static void
turn_end(mcp_http_turn *turn)
{
    const struct mcpi_http_piece nothing = {.body = "", .last = true};
    enum entry entry = turn->kept ? PAUSED : turn_enter(turn, false);

    turn->end_waits = entry == PAUSED;
    if (entry == ENTERED)
        turn_deliver(turn, &nothing);
    if (entry != PAUSED)
        turn_over(turn);
}

static void
op_end(struct mcpi_turn *turn)
{
    if (!turn_of(turn)->broken)
        turn_end(turn_of(turn));
}

static void
op_abort(struct mcpi_turn *turn)
{
    turn_abort(turn_of(turn));
}

static const struct mcpi_turn_ops turn_ops = {.reply = op_reply,
                                              .open = op_open,
                                              .write = op_write,
                                              .end = op_end,
                                              .abort = op_abort};

/* ---- on the loop --------------------------------------------------------- */

static void
turn_refuse(mcp_http_turn *turn, const struct mcpi_http_in *in, int status,
            const char *body)
{
    struct mcpi_endpoint *endpoint = turn->mount->endpoint;
    struct mcpi_http_known room;
    const struct mcpi_http_out out = {.status = status,
                                      .type = "application/json",
                                      .body = body,
                                      .body_len = strlen(body)};

    if (endpoint)
        mcpi_endpoint_greet_origin(endpoint, &turn->turn,
                                   mcpi_http_known_of(in, &room));
    (void)mcpi_turn_reply(&turn->turn, &out);
}

static void
turn_serve(mcp_http_turn *turn, const struct mcpi_http_in *in)
{
    struct mcpi_endpoint *endpoint = turn->mount->endpoint;
    struct mcpi_http_out out;

    if (!endpoint || turn->mount->draining) /* which only this thread sets */
        turn_refuse(turn, in, 503,
                    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,"
                    "\"message\":\"The server has stopped\"}}");
    else if (!mcpi_endpoint_check_head(endpoint, in, in->body_len, &out))
        (void)turn_answer(turn, &out, true);
    else if (in->body_len > 0 && !in->body) /* too much to be copied */
        turn_refuse(turn, in, 413,
                    "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,"
                    "\"message\":\"Invalid request: message too long\"}}");
    else
        mcpi_endpoint_serve(endpoint, &turn->turn, in);
}

static void
turn_begin(mcp_http_turn *turn)
{
    struct mcpi_http_in *request = turn->request;

    turn->request = NULL;
    mcpi_list_append(&turn->mount->turns, &turn->in_mount);
    turn_serve(turn, request);
    mcpi_http_in_free(turn->mount->mem, request);
}

/* Not paused any more. */
static void
turn_resume(mcp_http_turn *turn)
{
    struct mcpi_http_piece *kept = turn->kept;

    if (!kept && turn->end_waits)
        turn_end(turn);
    if (!kept || turn_enter(turn, false) != ENTERED)
        return;
    turn->kept = NULL;
    mcpi_http_piece_uncharge(kept);
    kept->last = kept->last || turn->end_waits;
    turn_deliver(turn, kept);
    turn_drop_kept(turn);
    if (kept->last)
        turn_over(turn);
    else
        mcpi_turn_written(&turn->turn);
    mcpi_http_piece_free(turn->mount->mem, kept);
}

/* Neither the endpoint nor the carrier has more to say to it. */
static void
turn_give_up(mcp_http_turn *turn)
{
    mcpi_turn_gone(&turn->turn);
    turn_abort(turn);
}

static void
on_slow(struct mcpi_timer *timer, int64_t now)
{
    (void)now;
    turn_give_up(MCPI_CONTAINER(timer, mcp_http_turn, slow));
}

static void
on_post(struct mcpi_post *post)
{
    mcp_http_turn *turn = MCPI_CONTAINER(post, mcp_http_turn, post);
    bool freed, over, begins;

    mcpi_mount_lock(turn->mount);
    turn->posted = false;
    freed = turn->freed;
    over = turn->over;
    mcpi_mount_unlock(turn->mount);
    if (!over) {
        begins = turn->request && (!freed || mcpi_endpoint_must_serve(
                                                 turn->mount->endpoint, turn->request));
        if (begins)
            turn_begin(turn);
        if (freed || turn->broken)
            turn_give_up(turn);
        else if (!begins)
            turn_resume(turn);
    }
    turn_unref(turn);
}

/* ---- for the mount ------------------------------------------------------- */

void
mcpi_mount_turn_discard(mcp_http_turn *turn)
{
    const mcp_allocator *mem = turn->mount->mem;

    mcpi_http_in_free(mem, turn->request);
    mcpi_account_unref(turn->account);
    mcpi_free(mem, turn);
}

mcp_http_turn *
mcpi_mount_turn_new(struct mcpi_mount *mount, const struct mcpi_http_in *in,
                    size_t max_body, const mcp_http_turn_ops *ops, void *user)
{
    mcp_http_turn *turn = mcpi_alloc_zero(mount->mem, sizeof(*turn));

    if (!turn)
        return NULL;
    turn->turn.ops = &turn_ops;
    turn->mount = mount;
    turn->ops = ops;
    turn->user = user;
    turn->post.fn = on_post;
    turn->refs = 2; /* who handed it in, and the loop */
    mcpi_list_init(&turn->in_mount);
    mcpi_timer_init(&turn->slow, on_slow);
    turn->account = mcpi_account_ref(in->account);
    turn->request = mcpi_http_in_copy(mount->mem, in, max_body);
    if (turn->request)
        return turn;
    mcpi_mount_turn_discard(turn);
    return NULL;
}

void
mcpi_mount_turn_give_up(struct mcpi_list *in_mount)
{
    turn_give_up(MCPI_CONTAINER(in_mount, mcp_http_turn, in_mount));
}

/* ---- for who carries it --------------------------------------------------- */

bool
mcpi_mount_turn_is_ours(const mcp_http_turn *turn)
{
    return mcpi_mount_is_ours(turn->mount);
}

void
mcpi_mount_turn_pause(mcp_http_turn *turn, bool pause)
{
    bool go_on;

    mcpi_mount_lock(turn->mount);
    go_on = turn->paused && !pause;
    turn->paused = pause;
    if (go_on)
        mcpi_mount_turn_post_unlock(turn);
    else
        mcpi_mount_unlock(turn->mount);
}

void
mcpi_mount_turn_free(mcp_http_turn *turn)
{
    struct mcpi_mount *mount;

    if (!turn)
        return;
    mount = turn->mount;
    mcpi_mount_lock(mount);
    turn->freed = true;
    while (turn->in_op && !pthread_equal(turn->in_op_on, pthread_self()))
        (void)mcpi_cond_wait(&mount->moved, &mount->lock, MCPI_NEVER);
    mcpi_mount_turn_post_unlock(turn);
    turn_unref(turn);
}
