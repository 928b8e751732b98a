/*
 * client_link.c - a client's loop side: from the link that is opened to the last turn
 *
 * client_shut is the one way to the end, whoever asks for it: the user, a failed
 * opening, a scope. It closes the peer; the rest follows by itself, as it does when the
 * server goes: the link says that it is closed, the child is reaped, all calls are
 * stranded. Two turns later the handles are closed too, and when all handlers and all
 * callbacks have come home the engine is freed and the client is finished.
 */
#include <assert.h>
#include <string.h>
#include <sys/wait.h>

#include "api/call.h"
#include "api/client.h"
#include "api/fault.h"
#include "api/subscription.h"
#include "base/text.h"
#include "core/dialect.h"
#include "core/negotiate.h"

/* A child that hangs up usually exits: how long the news of that may take. */
#define EXCUSE_US INT64_C(200000)

static int64_t
client_now(const struct mcp_client *client)
{
    return mcpi_loop_now(client->host.inside);
}

/* ---- the end ------------------------------------------------------------- */

/* If it is freed, nothing of the client is used any more after this. */
static void
client_leave(struct mcp_client *client)
{
    bool leaves, orphan, own = !client->host.loop;

    pthread_mutex_lock(&client->lock);
    leaves = client->is_freed && !client->look_out && !client->is_gone;
    orphan = client->is_orphan;
    if (leaves) {
        client->is_gone = true;
        pthread_cond_broadcast(&client->changed);
    }
    pthread_mutex_unlock(&client->lock);
    if (leaves && own) {
        mcpi_loop_stop(
            client->host.inside); /* this thread sees to the rest, or who joins it */
    } else if (leaves && orphan) {
        mcpi_client_dismantle(client);
        mcpi_client_unref(client);
    }
}

/* Its peer is gone, and no handler holds an exchange of it. */
static void
client_drop_engine(struct mcp_client *client)
{
    int r;

    r = mcpi_engine_free(client->host.engine);
    assert(r == 0);
    (void)r;
    client->host.engine = NULL;
}

void
mcpi_client_try_finish(struct mcp_client *client)
{
    mcp_client_counts counts;
    bool quiet;

    if (!client->links_gone || client->turns > 0 || !mcpi_list_empty(&client->calls) ||
        !mcpi_list_empty(&client->subscriptions) || client->host.live > 0)
        return;
    client_drop_engine(client);
    mcpi_front_count(&client->front, &counts);
    pthread_mutex_lock(&client->lock);
    quiet = client->lane_busy == 0 && !client->gone_note_out;
    pthread_mutex_unlock(&client->lock);
    if (counts.calls == 0 && quiet) /* else a call is on its way here, or a callback */
        client_leave(client);
}

/* Two rounds of flushes: the end of the turn, in which handles are closed, lies
 * between. */
static void
client_rest(struct mcpi_flush *flush)
{
    struct mcp_client *client = MCPI_CONTAINER(flush, struct mcp_client, rest);

    client->turns--;
    if (client->turns > 0)
        mcpi_loop_flush(client->host.inside, &client->rest);
    else
        mcpi_client_try_finish(client);
}

static void
client_strand_calls(struct mcp_client *client)
{
    struct mcpi_list *node = client->calls.next;
    struct mcpi_list *next;

    for (; node != &client->calls; node = next) {
        next = node->next;
        mcpi_handle_strand(MCPI_CONTAINER(node, mcp_call, in_client));
    }
}

static void
client_links_gone(struct mcp_client *client)
{
    client_strand_calls(client);
    pthread_mutex_lock(&client->lock);
    client->child_pid = 0;
    pthread_mutex_unlock(&client->lock);
    mcpi_client_tell_gone(client);
    client->turns = 2;
    client->links_gone = true;
    mcpi_flush_init(&client->rest, client_rest);
    mcpi_loop_flush(client->host.inside, &client->rest);
}

/* The opening has no more use for its scope (M27). */
static void
client_drop_scope(struct mcp_client *client)
{
    mcpi_scope_unhook(&client->scope_hook);
    mcpi_scope_unref(client->scope);
    client->scope = NULL;
}

/* Nothing can be started any more; whoever waits for the opening hears why. error NULL:
 * somebody closes it. */
static void
client_become_closing(struct mcp_client *client, const mcp_error *error)
{
    bool opening;

    mcpi_front_close(&client->front);
    client_drop_scope(client);
    pthread_mutex_lock(&client->lock);
    opening = client->state == MCPI_CLIENT_OPENING;
    client->state = MCPI_CLIENT_CLOSING;
    if (opening) {
        if (error)
            client->error = *error;
        else
            (void)mcpi_error_set(&client->error, MCP_E_CLOSED,
                                 "closed before the server was ready");
        client->status = client->error.status;
        pthread_cond_broadcast(&client->changed);
    }
    pthread_mutex_unlock(&client->lock);
    /* who waits for the opening hears it there, and who is told of states by that */
    if (opening && error && client->opt.no_wait && !client->opt.on_state)
        MCPI_LOG(&client->host.log, MCP_LOG_WARNING, "%s", error->message);
    if (opening)
        mcpi_client_tell_opened(client);
    mcpi_subscriptions_close(client);
}

static int
describe_exit(const struct mcpi_reach *reach, mcp_error *err)
{
    int status = reach->exit_status;

    if (!reach->has_exited)
        return mcpi_error_set(err, MCP_E_CLOSED,
                              "the connection closed before the server was ready");
    if (WIFEXITED(status))
        return mcpi_error_set(err, MCP_E_CLOSED,
                              "the server exited with status %d before it was ready",
                              WEXITSTATUS(status));
    if (WIFSIGNALED(status))
        return mcpi_error_set(err, MCP_E_CLOSED,
                              "signal %d ended the server before it was ready",
                              WTERMSIG(status));
    return mcpi_error_set(err, MCP_E_CLOSED, "the server exited before it was ready");
}

/* The link is closed: the child goes, if there is one. */
static void
client_reap(struct mcp_client *client)
{
    mcp_error error;

    mcpi_timer_disarm(mcpi_loop_timers(client->host.inside), &client->excuse);
    if (client->is_unexplained) {
        (void)describe_exit(&client->reach, &error);
        client_become_closing(client, &error);
    }
    client->is_unexplained = false;
    if (!mcpi_reach_reap(&client->reach))
        client_links_gone(client);
}

static void
excuse_is_over(struct mcpi_timer *timer, int64_t now)
{
    (void)now;
    client_reap(MCPI_CONTAINER(timer, struct mcp_client, excuse));
}

static void
client_tell_exit(const struct mcp_client *client)
{
    long pid = (long)client->child_pid; /* written by this thread only */
    int status = client->reach.exit_status;

    if (status != MCPI_WAIT_UNKNOWN && WIFEXITED(status))
        MCPI_TELL(client->host.engine, "process %ld exited with status %d", pid,
                  WEXITSTATUS(status));
    else if (status != MCPI_WAIT_UNKNOWN && WIFSIGNALED(status))
        MCPI_TELL(client->host.engine, "signal %d ended process %ld", WTERMSIG(status),
                  pid);
    else
        MCPI_TELL(client->host.engine, "process %ld has ended", pid);
}

static void
reach_exited(void *user)
{
    struct mcp_client *client = user;

    client_tell_exit(client);
    if (mcpi_timer_is_armed(&client->excuse))
        client_reap(client);
}

static void
reach_closed(void *user)
{
    struct mcp_client *client = user;

    client->peer = NULL;
    client->is_shut = true; /* the rest is on its way, whoever else asks for it */
    if (client->is_unexplained && !client->reach.has_exited)
        mcpi_timer_arm(mcpi_loop_timers(client->host.inside), &client->excuse,
                       mcpi_time_add(client_now(client), EXCUSE_US));
    else
        client_reap(client);
}

static void
reach_reaped(void *user)
{
    client_links_gone(user);
}

static void
client_shut(struct mcp_client *client, const mcp_error *error)
{
    if (client->is_shut)
        return;
    client->is_shut = true;
    client_become_closing(client, error);
    if (client->peer)
        mcpi_peer_close(client->peer, client_now(client));
    else if (!client->links_gone && !mcpi_reach_reap(&client->reach))
        client_links_gone(client);
}

/* ---- what core tells ----------------------------------------------------- */

static void
on_notified(void *user, struct mcpi_peer *peer, const struct mcpi_rpc *note,
            struct mcpi_exchange *about)
{
    (void)peer;
    (void)about;
    if (note->method != MCPI_METHOD_NOTE_CANCELED &&
        note->method != MCPI_METHOD_NOTE_PROGRESS)
        mcpi_client_tell_note(user, note);
}

static void
hello_read(struct mcpi_hello *hello, const struct mcpi_peer *peer,
           const mcp_json *result)
{
    hello->version = peer->version;
    hello->is_modern = peer->dialect->modern;
    hello->capabilities = mcp_json_get(result, "capabilities");
    hello->instructions = mcp_json_string(mcp_json_get(result, "instructions"), NULL);
    if (hello->is_modern) {
        hello->result = result;
        hello->info = mcp_json_get(mcp_json_get(result, "_meta"),
                                   "io.modelcontextprotocol/serverInfo");
    } else {
        hello->info = mcp_json_get(result, "serverInfo");
    }
}

static void
client_become_ready(struct mcp_client *client, const struct mcpi_peer *peer,
                    const struct mcpi_rpc *reply)
{
    mcp_doc *doc = reply ? reply->doc : client->adopted;
    const mcp_json *result = reply ? reply->result : mcp_doc_root(doc);

    client_drop_scope(client);
    mcpi_front_ready(&client->front);
    pthread_mutex_lock(&client->lock);
    hello_read(&client->hello, peer, result);
    client->hello.doc = mcp_doc_ref(doc);
    pthread_mutex_unlock(&client->lock);
    mcpi_client_ask_messages(client); /* ahead of what the program asks for now */
    pthread_mutex_lock(&client->lock);
    client->state = MCPI_CLIENT_READY;
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->lock);
    mcpi_client_tell_opened(client);
    mcpi_subscriptions_ready(client);
}

/* peer->fault: the link knows better than the status. */
static void
describe_failure(const struct mcp_client *client, const struct mcpi_peer *peer,
                 int status, const struct mcpi_rpc *reply, mcp_error *err)
{
    if (mcpi_fault_describe(peer->fault, status, NULL, err))
        return;
    switch (status) {
    case MCP_E_CLOSED:
        (void)describe_exit(&client->reach, err);
        break;
    case MCP_E_TIMEOUT:
        (void)mcpi_error_set(err, status, "the server did not answer in time");
        break;
    case MCP_E_PROTO:
        (void)mcpi_error_set(err, status,
                             "the server speaks no version of the protocol that we do");
        break;
    case MCP_E_PEER:
        (void)mcpi_error_set(err, status, "the server refused: %s",
                             reply->error_message);
        err->rpc_code = reply->error_code;
        break;
    default:
        (void)mcpi_error_set(err, status, "the server could not be reached: %s",
                             mcp_status_text(status));
        break;
    }
}

static void
on_ready(void *user, struct mcpi_peer *peer, int status, const struct mcpi_rpc *reply)
{
    struct mcp_client *client = user;
    mcp_error error;

    if (status == 0) {
        client_become_ready(client, peer, reply);
        return;
    }
    if (status == MCP_E_CLOSED && client->reach.child && !client->is_shut) {
        client->is_unexplained = true; /* how it exits says more than its silence */
        return;
    }
    describe_failure(client, peer, status, reply, &error);
    client_become_closing(client, &error); /* core closes the peer */
}

/* What an earlier discovery promised was wrong: it is a legacy server, and says other
 * things of itself. What somebody has borrowed stays. This happens once at most. */
static void
client_change_era(struct mcp_client *client, const struct mcpi_peer *peer,
                  const struct mcpi_rpc *reply)
{
    struct mcpi_hello hello = {.doc = mcp_doc_ref(reply->doc)};

    hello_read(&hello, peer, reply->result);
    pthread_mutex_lock(&client->lock);
    client->former = client->hello.doc;
    client->hello = hello;
    pthread_mutex_unlock(&client->lock);
}

/* The server knows nothing of what was before. What it says of itself stays as it was
 * first told, unless it is of another era. */
static void
on_renewed(void *user, struct mcpi_peer *peer, const struct mcpi_rpc *reply)
{
    struct mcp_client *client = user;

    if (client->hello.is_modern) /* written by this thread only */
        client_change_era(client, peer, reply);
    mcpi_client_ask_messages(client);
    mcpi_subscriptions_renew(client);
}

static void
on_closed(void *user, struct mcpi_peer *peer, int status)
{
    struct mcp_client *client = user;

    (void)peer;
    (void)status;
    mcpi_front_close(&client->front);
    if (!client->is_unexplained)
        client_become_closing(client, NULL);
    /* the link tells the rest */
}

const struct mcpi_router mcpi_client_router = {
    .route = mcpi_answerer_route,
    .notified = on_notified,
    .ready = on_ready,
    .renewed = on_renewed,
    .closed = on_closed,
};

/* ---- the beginning ------------------------------------------------------- */

static void
scope_is_over(struct mcpi_scope_hook *hook, int status, const char *reason)
{
    struct mcp_client *client = MCPI_CONTAINER(hook, struct mcp_client, scope_hook);
    mcp_error error;

    if (status == MCP_E_TOTAL_TIMEOUT)
        (void)mcpi_error_set(&error, status, "the time of the scope is used up");
    else
        (void)mcpi_error_set(&error, status, "the opening was canceled%s%s",
                             reason[0] ? ": " : "", reason);
    client_shut(client, &error);
}

static int
client_watch_scope(struct mcp_client *client, mcp_error *err)
{
    int r;

    if (!client->scope)
        return 0;
    client->scope_hook.fn = scope_is_over;
    r = mcpi_scope_hook(client->scope, client->host.inside, &client->scope_hook);
    if (r < 0)
        return mcpi_error_set(err, r, "the scope cannot be watched: %s",
                              mcp_status_text(r));
    return 0;
}

static int
client_negotiate(struct mcp_client *client, mcp_error *err)
{
    int64_t now = client_now(client);
    int r;

    if (client->adopted) {
        r = mcpi_peer_adopt(client->peer, mcp_doc_root(client->adopted), now);
        if (r == MCP_E_PROTO)
            return mcpi_error_set(err, r, "discovery: names no version that we speak");
    } else {
        r = mcpi_peer_connect(client->peer, now);
    }
    if (r < 0)
        return mcpi_error_set(err, r, "nothing can be asked: %s", mcp_status_text(r));
    return 0;
}

static int
client_reach(struct mcp_client *client, mcp_error *err)
{
    const struct mcpi_ground ground = {.loop = client->host.inside,
                                       .engine = client->host.engine,
                                       .mem = client->host.mem,
                                       .mirrors = &client->mirrors,
                                       .pool = client->pool,
                                       .name = client->opt.name};
    struct mcpi_reach *reach = &client->reach;
    int r;

    r = client_watch_scope(client, err);
    if (r < 0)
        return r;
    mcpi_timer_init(&client->excuse, excuse_is_over);
    reach->closed = reach_closed;
    reach->exited = reach_exited;
    reach->reaped = reach_reaped;
    reach->user = client;
    r = mcpi_reach_open(reach, &ground, &client->peer, err);
    if (reach->child) {
        pthread_mutex_lock(&client->lock);
        client->child_pid = mcpi_child_pid(reach->child);
        pthread_mutex_unlock(&client->lock);
        MCPI_TELL(client->host.engine, "process %ld was started",
                  (long)client->child_pid);
    }
    return r < 0 ? r : client_negotiate(client, err);
}

void
mcpi_client_on_open(struct mcpi_post *post)
{
    struct mcp_client *client = MCPI_CONTAINER(post, struct mcp_client, open);
    mcp_error error;

    if (client_reach(client, &error) < 0)
        client_shut(client, &error);
}

void
mcpi_client_on_look(struct mcpi_post *post)
{
    struct mcp_client *client = MCPI_CONTAINER(post, struct mcp_client, look);
    bool closing;

    pthread_mutex_lock(&client->lock);
    client->look_out = false;
    closing = client->is_closing;
    pthread_mutex_unlock(&client->lock);
    mcpi_roots_tell(client);
    if (closing)
        client_shut(client, NULL);
    mcpi_client_try_finish(client);
}
