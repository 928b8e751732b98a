/*
 * client_note.c - callbacks of the client itself: its state, and notifications
 *
 * They run on one lane, in order. gone_note is the last delivery on it; once it has run
 * and the lane is idle, no callback of the client runs any more.
 */
#include <string.h>

#include "api/client.h"
#include "api/custom.h"
#include "api/subscription.h"
#include "base/mem.h"
#include "wire/severity.h"
#include "json/value.h"

/* Notifications that wait for a slow callback: a server that floods must not fill
 * memory. Beyond it they are dropped; a single one may be as long as any message. */
#define NOTES_WAITING 1024
#define MCPI_NOTES_BYTES_MAX ((size_t)16 << 20)

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
    struct mcpi_loop *loop = client->host.inside;
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
    return mcpi_lane_init(&client->lane, client->pool, client->host.inside,
                          lane_is_busy, lane_is_idle);
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

static bool
client_has_callbacks(const struct mcp_client *client)
{
    const mcp_client_options *opt = &client->opt;

    return opt->on_state || opt->on_notification || opt->on_message || opt->on_change ||
           opt->on_elicited || client->answerer.tells_methods;
}

void
mcpi_client_tell_gone(struct mcp_client *client)
{
    if (!client_has_callbacks(client))
        return;
    pthread_mutex_lock(&client->lock);
    client->gone_note_out = true;
    pthread_mutex_unlock(&client->lock);
    client->gone_note.fn = deliver_gone;
    mcpi_lane_add(&client->lane, &client->gone_note);
}

/* ---- notifications ------------------------------------------------------- */

/* One that waits for its callback. */
struct note {
    struct mcpi_post post;
    struct mcp_client *client;
    void (*tell)(const struct note *note);
    mcp_doc *doc; /* keeps the next two; NULL: there are none */
    const char *method;
    const mcp_json *params;
    struct mcpi_custom *custom; /* counted: whose it is; NULL: the client's */
    enum mcp_change change;
    size_t bytes; /* that it keeps */
    bool has_uri;
    char uri[];
};

static void
note_free(struct note *note)
{
    mcp_doc_free(note->doc);
    if (note->custom)
        mcpi_offer_unref(&note->custom->offer);
    mcpi_free(note->client->host.mem, note);
}

static void
deliver_note(struct mcpi_post *post)
{
    struct note *note = MCPI_CONTAINER(post, struct note, post);
    struct mcp_client *client = note->client;
    bool wanted;

    pthread_mutex_lock(&client->lock);
    client->notes--;
    client->note_bytes -= note->bytes;
    wanted = !client->is_freed;
    pthread_mutex_unlock(&client->lock);
    if (wanted)
        note->tell(note);
    note_free(note);
}

/* False: there is none. *ret_first: that is news. */
static bool
notes_make_room(struct mcp_client *client, size_t bytes, bool *ret_first)
{
    bool room;

    pthread_mutex_lock(&client->lock);
    room = client->notes == 0 || (client->notes < NOTES_WAITING &&
                                  client->note_bytes + bytes <= MCPI_NOTES_BYTES_MAX);
    if (room) {
        client->notes++;
        client->note_bytes += bytes;
    }
    *ret_first = !room && !client->notes_dropped;
    client->notes_dropped = !room;
    pthread_mutex_unlock(&client->lock);
    return room;
}

/* A new one, with room for a URI; NULL: it is dropped, and the log has it, once for as
 * many as are dropped in a row. doc: that it keeps, or NULL. */
static struct note *
note_new(struct mcp_client *client, void (*tell)(const struct note *note),
         const char *uri, mcp_doc *doc)
{
    size_t len = uri ? strlen(uri) + 1 : 0;
    size_t bytes = len + mcpi_doc_bytes(doc);
    struct note *note = mcpi_alloc_zero(client->host.mem, sizeof(*note) + len);
    bool first = true;

    if (!note || !notes_make_room(client, bytes, &first)) {
        if (first)
            MCPI_LOG(&client->host.log, MCP_LOG_WARNING,
                     "a notification is dropped: %s",
                     note ? "too many wait" : "out of memory");
        mcpi_free(client->host.mem, note);
        return NULL;
    }
    note->doc = mcp_doc_ref(doc);
    note->bytes = bytes;
    note->post.fn = deliver_note;
    note->client = client;
    note->tell = tell;
    note->has_uri = uri != NULL;
    if (uri)
        memcpy(note->uri, uri, len);
    return note;
}

/* take_custom: whose it is; NULL: the client's. */
static void
note_pass(struct mcp_client *client, const struct mcpi_rpc *rpc,
          void (*tell)(const struct note *note), struct mcpi_custom *take_custom)
{
    struct note *note = note_new(client, tell, NULL, rpc->doc);

    if (!note) {
        if (take_custom)
            mcpi_offer_unref(&take_custom->offer);
        return;
    }
    note->custom = take_custom;
    note->method = rpc->method_name;
    note->params = rpc->params;
    mcpi_lane_add(&client->lane, &note->post);
}

static void
tell_any(const struct note *note)
{
    const mcp_client_options *opt = &note->client->opt;

    opt->on_notification(note->client, note->method, note->params, opt->user);
}

static void
tell_custom(const struct note *note)
{
    mcpi_custom_tell(note->custom, &note->client->host.log, note->params);
}

/* A level that nobody knows is still a message; one in the middle is neither overheard
 * nor an alarm. */
static void
tell_message(const struct note *note)
{
    const mcp_client_options *opt = &note->client->opt;
    const mcp_json *level = mcp_json_get(note->params, "level");
    enum mcp_severity severity = mcpi_severity_find(mcp_json_string(level, ""),
                                                    mcp_json_string_length(level));

    opt->on_message(note->client, severity ? severity : MCP_SEVERITY_NOTICE,
                    mcp_json_string(mcp_json_get(note->params, "logger"), NULL),
                    mcp_json_get(note->params, "data"), opt->user);
}

static void
tell_elicited(const struct note *note)
{
    const mcp_client_options *opt = &note->client->opt;

    opt->on_elicited(note->client,
                     mcp_json_string(mcp_json_get(note->params, "elicitationId"), ""),
                     opt->user);
}

/* ---- changes ------------------------------------------------------------- */

static void
tell_change(const struct note *note)
{
    const mcp_client_options *opt = &note->client->opt;

    opt->on_change(note->client, note->change, note->has_uri ? note->uri : NULL,
                   opt->user);
}

void
mcpi_client_tell_change(struct mcp_client *client, enum mcp_change change,
                        const char *uri, bool unasked)
{
    struct note *note;

    mcpi_cache_forget(&client->cache, change, uri);
    if (change & MCP_TOOLS_CHANGED)
        mcpi_mirrors_forget(&client->mirrors);
    if (unasked)
        mcpi_subscriptions_feed(client, change, uri);
    if (!client->opt.on_change)
        return;
    note = note_new(client, tell_change, uri, NULL);
    if (!note)
        return;
    note->change = change;
    mcpi_lane_add(&client->lane, &note->post);
}

/* The resource that has changed: a text without U+0000, or NULL. */
static const char *
changed_uri(const struct mcpi_rpc *rpc)
{
    const mcp_json *value = mcp_json_get(rpc->params, "uri");
    const char *uri = mcp_json_string(value, NULL);

    return uri && strlen(uri) == mcp_json_string_length(value) ? uri : NULL;
}

/* What the notification says has changed; 0: nothing. */
static enum mcp_change
change_of(const struct mcpi_rpc *rpc)
{
    switch (rpc->method) {
    case MCPI_METHOD_NOTE_TOOLS_CHANGED:
        return MCP_TOOLS_CHANGED;
    case MCPI_METHOD_NOTE_PROMPTS_CHANGED:
        return MCP_PROMPTS_CHANGED;
    case MCPI_METHOD_NOTE_RESOURCES_CHANGED:
        return MCP_RESOURCES_CHANGED;
    case MCPI_METHOD_NOTE_RESOURCE_UPDATED:
        return changed_uri(rpc) ? MCP_RESOURCE_UPDATED : 0;
    default:
        return 0;
    }
}

/* True: its own callback has it. */
static bool
note_has_callback(struct mcp_client *client, const struct mcpi_rpc *rpc)
{
    enum mcp_change change = change_of(rpc);

    if (change != 0) {
        mcpi_client_tell_change(
            client, change, change == MCP_RESOURCE_UPDATED ? changed_uri(rpc) : NULL,
            true);
        return client->opt.on_change != NULL;
    }
    if (rpc->method == MCPI_METHOD_NOTE_MESSAGE && client->opt.on_message) {
        note_pass(client, rpc, tell_message, NULL);
        return true;
    }
    if (rpc->method == MCPI_METHOD_NOTE_ELICIT_COMPLETE && client->opt.on_elicited &&
        mcp_json_string(mcp_json_get(rpc->params, "elicitationId"), NULL)) {
        note_pass(client, rpc, tell_elicited, NULL);
        return true;
    }
    return false;
}

void
mcpi_client_tell_note(struct mcp_client *client, const struct mcpi_rpc *rpc)
{
    struct mcpi_custom *custom = mcpi_custom_find(&client->answerer.methods, rpc);

    if (custom)
        note_pass(client, rpc, tell_custom, custom);
    else if (!note_has_callback(client, rpc) && client->opt.on_notification)
        note_pass(client, rpc, tell_any, NULL);
}
