/*
 * http_relay.c - a turn of one loop, served by the endpoint of another
 *
 *   here     the carrier's loop; has the turn and, until it lets go, the mount's turn
 *   there    the endpoint's loop; hands over pieces of the answer
 *
 * What comes there is copied, queued and posted here, in order. There, a relay is only
 * touched from inside ops, and none runs once the mount's turn was freed; so here is who
 * owns it. A post that waits is the one thing that may outlast that.
 *
 * When more than MCPI_RELAY_BYTES wait, there is paused, from inside the op that brought
 * them; when half of it has left, here lets it go on. A client that does not read thus
 * makes the endpoint wait, as it would on a connection of its own.
 */
#include <pthread.h>

#include "base/budget.h"
#include "base/mem.h"
#include "link/http_copy.h"
#include "link/http_mount.h"

struct relay {
    const mcp_allocator *mem;
    struct mcpi_loop *here;
    struct mcpi_post post;
    mcp_http_turn *there;         /* set before the first op; freed here */
    struct mcpi_account *account; /* of the client; or NULL */

    /* here */
    struct mcpi_turn *turn; /* NULL: answered, or gone */
    size_t held;            /* bytes of a piece that the carrier keeps */
    bool blocked;           /* and until it has written that */

    pthread_mutex_t lock;   /* a leaf, for what follows */
    struct mcpi_list queue; /* pieces */
    size_t bytes;           /* of those that have not left */
    bool paused;
    bool aborted; /* whatever waits */
    bool posted;
    bool over; /* here is done with it; freed by the post, if one waits */
};

/* ---- its end ------------------------------------------------------------- */

static struct mcpi_http_piece *
queue_pop(struct mcpi_list *queue)
{
    struct mcpi_list *node = mcpi_list_pop(queue);

    return node ? MCPI_CONTAINER(node, struct mcpi_http_piece, node) : NULL;
}

static void
relay_free(struct relay *relay)
{
    struct mcpi_http_piece *piece;

    while ((piece = queue_pop(&relay->queue)) != NULL)
        mcpi_http_piece_free(relay->mem, piece);
    pthread_mutex_destroy(&relay->lock);
    mcpi_account_unref(relay->account);
    mcpi_free(relay->mem, relay);
}

/* [here] The turn is the carrier's again, or gone. After the free no op runs, so nobody
 * posts any more. */
static void
relay_finish(struct relay *relay)
{
    bool posted;

    mcpi_mount_turn_free(relay->there);
    relay->there = NULL;
    pthread_mutex_lock(&relay->lock);
    relay->over = true;
    posted = relay->posted;
    pthread_mutex_unlock(&relay->lock);
    if (!posted)
        relay_free(relay);
}

/* Before the last word the turn is given back. */
static struct mcpi_turn *
relay_release(struct relay *relay)
{
    struct mcpi_turn *turn = relay->turn;

    relay->turn = NULL;
    turn->served = NULL;
    turn->by = NULL;
    turn->ends = false;
    return turn;
}

/* ---- here ---------------------------------------------------------------- */

/* So much has left. */
static void
relay_left(struct relay *relay, size_t bytes)
{
    bool go_on;

    pthread_mutex_lock(&relay->lock);
    relay->bytes -= bytes;
    go_on = relay->paused && relay->bytes <= MCPI_RELAY_BYTES / 2;
    if (go_on)
        relay->paused = false;
    pthread_mutex_unlock(&relay->lock);
    if (go_on)
        mcpi_mount_turn_pause(relay->there, false);
}

/* True: it was the last of this turn. */
static bool
relay_write(struct relay *relay, const struct mcpi_http_piece *piece)
{
    struct mcpi_turn *turn = relay->turn;
    struct mcpi_http_out out;
    bool left = true;

    if (piece->status != 0) {
        mcpi_http_piece_head(piece, &out);
        if (piece->last)
            relay_release(relay)->ops->reply(turn, &out);
        else
            left = turn->ops->open(turn, &out);
    } else {
        turn->ends = piece->last;
        if (piece->body_len > 0)
            left = turn->ops->write(turn, piece->body, piece->body_len);
        if (piece->last)
            relay_release(relay)->ops->end(turn);
    }
    if (piece->last)
        return true;
    relay->blocked = !left;
    if (left)
        relay_left(relay, piece->body_len);
    else
        relay->held = piece->body_len;
    return false;
}

/* Give the carrier all it takes. The relay may be gone afterwards. */
static void
relay_pump(struct relay *relay)
{
    struct mcpi_http_piece *piece;
    struct mcpi_turn *turn;
    bool aborted, last = false;

    while (!last) {
        pthread_mutex_lock(&relay->lock);
        aborted = relay->aborted;
        piece = aborted || relay->blocked ? NULL : queue_pop(&relay->queue);
        pthread_mutex_unlock(&relay->lock);
        if (aborted) {
            turn = relay_release(relay);
            turn->ops->abort(turn);
            last = true;
        } else if (piece) {
            mcpi_http_piece_uncharge(piece);
            last = relay_write(relay, piece);
            mcpi_http_piece_free(relay->mem, piece);
        } else {
            return;
        }
    }
    relay_finish(relay);
}

static void
on_post(struct mcpi_post *post)
{
    struct relay *relay = MCPI_CONTAINER(post, struct relay, post);
    bool over;

    pthread_mutex_lock(&relay->lock);
    relay->posted = false;
    over = relay->over;
    pthread_mutex_unlock(&relay->lock);
    if (over)
        relay_free(relay);
    else
        relay_pump(relay);
}

static void
on_gone(struct mcpi_turn *turn)
{
    struct relay *relay = turn->by;

    relay->turn = NULL;
    turn->served = NULL;
    turn->by = NULL;
    relay_finish(relay);
}

static void
on_written(struct mcpi_turn *turn)
{
    struct relay *relay = turn->by;

    relay->blocked = false;
    relay_left(relay, relay->held);
    relay->held = 0;
    relay_pump(relay);
}

static const struct mcpi_turn_served served = {.gone = on_gone, .written = on_written};

/* ---- there --------------------------------------------------------------- */

/* Under lock, which is given back. The other loop is there: its carrier would have said
 * before that it goes. */
static void
relay_post_unlock(struct relay *relay)
{
    bool post = !relay->posted;

    relay->posted = true;
    pthread_mutex_unlock(&relay->lock);
    if (post)
        mcpi_loop_post(relay->here, &relay->post);
}

/* Here may let it go on at the same moment: who comes last has seen what the other one
 * did. */
static void
relay_pause(struct relay *relay)
{
    bool go_on;

    mcpi_mount_turn_pause(relay->there, true);
    pthread_mutex_lock(&relay->lock);
    go_on = !relay->paused;
    pthread_mutex_unlock(&relay->lock);
    if (go_on)
        mcpi_mount_turn_pause(relay->there, false);
}

/* Whom to charge for a piece. Only this side adds to the queue: what is alone now still is
 * when it is added. */
static struct mcpi_account *
relay_payer(struct relay *relay, const struct mcpi_http_piece *piece)
{
    bool alone;

    pthread_mutex_lock(&relay->lock);
    alone = mcpi_list_empty(&relay->queue);
    pthread_mutex_unlock(&relay->lock);
    return alone && piece->body_len <= MCPI_HTTP_PIECE_FREE_MAX ? NULL : relay->account;
}

static void
relay_queue(struct relay *relay, const struct mcpi_http_piece *piece)
{
    struct mcpi_http_piece *copy;
    bool pause;

    copy = mcpi_http_piece_copy(relay->mem, relay_payer(relay, piece), piece);
    pthread_mutex_lock(&relay->lock);
    if (copy) {
        mcpi_list_append(&relay->queue, &copy->node);
        relay->bytes += copy->body_len;
    } else {
        relay->aborted = true; /* what is missing in the middle cannot be told */
    }
    pause = relay->bytes > MCPI_RELAY_BYTES;
    relay->paused = relay->paused || pause;
    relay_post_unlock(relay);
    if (pause)
        relay_pause(relay);
}

static void
op_begin(void *user, int status, const mcp_http_field *fields, size_t field_count,
         const char *body, size_t length, bool last)
{
    relay_queue(user, &(struct mcpi_http_piece){.status = status,
                                                .fields = fields,
                                                .field_count = field_count,
                                                .body = body,
                                                .body_len = length,
                                                .last = last});
}

static void
op_more(void *user, const char *body, size_t length, bool last)
{
    relay_queue(user, &(struct mcpi_http_piece){
                          .body = body, .body_len = length, .last = last});
}

static void
op_abort(void *user)
{
    struct relay *relay = user;

    pthread_mutex_lock(&relay->lock);
    relay->aborted = true;
    relay_post_unlock(relay);
}

static const mcp_http_turn_ops there_ops = {.size = sizeof(mcp_http_turn_ops),
                                            .begin = op_begin,
                                            .more = op_more,
                                            .abort = op_abort};

/* ---- the beginning ------------------------------------------------------- */

static int
relay_new(struct mcpi_loop *here, struct relay **ret_relay)
{
    const mcp_allocator *mem = mcpi_loop_mem(here);
    struct relay *relay = mcpi_alloc_zero(mem, sizeof(*relay));

    if (!relay)
        return MCP_E_NOMEM;
    relay->mem = mem;
    relay->here = here;
    relay->post.fn = on_post;
    mcpi_list_init(&relay->queue);
    if (pthread_mutex_init(&relay->lock, NULL) != 0) {
        mcpi_free(mem, relay);
        return MCP_E_NOMEM;
    }
    *ret_relay = relay;
    return 0;
}

static void
turn_refuse(struct mcpi_turn *turn)
{
    static const mcp_http_field later = {"Retry-After", "1"};
    static const char body[] = "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32603,"
                               "\"message\":\"Cannot be served now\"}}";
    const struct mcpi_http_out out = {.status = 503,
                                      .type = "application/json",
                                      .fields = &later,
                                      .field_count = 1,
                                      .body = body,
                                      .body_len = sizeof(body) - 1};

    (void)mcpi_turn_reply(turn, &out);
}

void
mcpi_relay_serve(struct mcpi_loop *here, struct mcpi_mount *there,
                 struct mcpi_turn *turn, const struct mcpi_http_in *in)
{
    struct relay *relay;
    int r;

    r = relay_new(here, &relay);
    if (r < 0) {
        turn_refuse(turn);
        return;
    }
    relay->turn = turn;
    relay->account = mcpi_account_ref(in->account);
    turn->served = &served;
    turn->by = relay;
    r = mcpi_mount_serve(there, in, &there_ops, relay, &relay->there);
    if (r < 0) {
        turn_refuse(relay_release(relay));
        relay_free(relay);
    }
}
