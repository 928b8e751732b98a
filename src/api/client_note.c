/*
 * client_note.c - callbacks of the client itself: its state, and notifications
 *
 * They run on one lane, in order. gone_note is the last delivery on it; once it has run
 * and the lane is idle, no callback of the client runs any more.
 */
#include "api/client.h"
#include "base/mem.h"

/* Notifications that wait for a slow callback: a server that floods must not fill
 * memory. Beyond it they are dropped. */
#define NOTES_WAITING 1024

static void
lane_is_busy(struct mcpi_lane *lane)
{
    struct mcp_client *client = MCPI_CONTAINER(lane, struct mcp_client, lane);

    pthread_mutex_lock(&client->lock);
    client->lane_busy++;
    pthread_mutex_unlock(&client->lock);
}

static void
lane_is_idle(struct mcpi_lane *lane)
{
    struct mcp_client *client = MCPI_CONTAINER(lane, struct mcp_client, lane);
    struct mcpi_loop *loop = client->loop;
    bool post;

    pthread_mutex_lock(&client->lock);
    client->lane_busy--;
    post = client->lane_busy == 0 && client->is_told_gone &&
           mcpi_client_wants_look(client);
    pthread_mutex_unlock(&client->lock);
    if (post)
        mcpi_loop_post(loop, &client->look);
}

int
mcpi_client_init_lane(struct mcp_client *client)
{
    return mcpi_lane_init(&client->lane, client->pool, client->loop, lane_is_busy,
                          lane_is_idle);
}

/* ---- its state ----------------------------------------------------------- */

static void
deliver_told(struct mcpi_post *post)
{
    struct mcp_client *client = MCPI_CONTAINER(post, struct mcp_client, told_note);
    bool wanted;
    int status;

    pthread_mutex_lock(&client->lock);
    wanted = !client->is_freed;
    status = client->status;
    pthread_mutex_unlock(&client->lock);
    if (wanted)
        client->opt.on_state(client, status, client->opt.user);
}

void
mcpi_client_tell_opened(struct mcp_client *client)
{
    /* who waits for the opening hears of its failure there, and only there */
    if (!client->opt.on_state || (client->status < 0 && !client->opt.no_wait))
        return;
    client->told_note.fn = deliver_told;
    mcpi_lane_add(&client->lane, &client->told_note);
}

static void
deliver_gone(struct mcpi_post *post)
{
    struct mcp_client *client = MCPI_CONTAINER(post, struct mcp_client, gone_note);
    bool wanted;

    pthread_mutex_lock(&client->lock);
    wanted = client->opt.on_state && !client->is_freed && client->hello.version;
    pthread_mutex_unlock(&client->lock);
    if (wanted)
        client->opt.on_state(client, MCP_E_CLOSED, client->opt.user);
    pthread_mutex_lock(&client->lock);
    client->gone_note_out = false;
    client->is_told_gone = true;
    pthread_mutex_unlock(&client->lock);
}

void
mcpi_client_tell_gone(struct mcp_client *client)
{
    if (!client->opt.on_state && !client->opt.on_notification)
        return;
    pthread_mutex_lock(&client->lock);
    client->gone_note_out = true;
    pthread_mutex_unlock(&client->lock);
    client->gone_note.fn = deliver_gone;
    mcpi_lane_add(&client->lane, &client->gone_note);
}

/* ---- notifications ------------------------------------------------------- */

struct note {
    struct mcpi_post post;
    struct mcp_client *client;
    mcp_doc *doc; /* keeps the rest */
    const char *method;
    const mcp_json *params;
};

static void
deliver_note(struct mcpi_post *post)
{
    struct note *note = MCPI_CONTAINER(post, struct note, post);
    struct mcp_client *client = note->client;
    bool wanted;

    pthread_mutex_lock(&client->lock);
    client->notes--;
    wanted = !client->is_freed;
    pthread_mutex_unlock(&client->lock);
    if (wanted)
        client->opt.on_notification(client, note->method, note->params,
                                    client->opt.user);
    mcp_doc_free(note->doc);
    mcpi_free(client->mem, note);
}

static bool
notes_make_room(struct mcp_client *client)
{
    bool room;

    pthread_mutex_lock(&client->lock);
    room = client->notes < NOTES_WAITING;
    if (room)
        client->notes++;
    pthread_mutex_unlock(&client->lock);
    return room;
}

void
mcpi_client_tell_note(struct mcp_client *client, const struct mcpi_rpc *rpc)
{
    struct note *note;

    if (!client->opt.on_notification)
        return;
    note = mcpi_alloc_zero(client->mem, sizeof(*note));
    if (!note || !notes_make_room(client)) {
        MCPI_LOG(&client->log, MCP_LOG_WARNING, "a notification is dropped: %s",
                 note ? "too many wait" : "out of memory");
        mcpi_free(client->mem, note);
        return;
    }
    note->post.fn = deliver_note;
    note->client = client;
    note->doc = mcp_doc_ref(rpc->doc);
    note->method = rpc->method_name;
    note->params = rpc->params;
    mcpi_lane_add(&client->lane, &note->post);
}
