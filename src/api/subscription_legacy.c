/*
 * subscription_legacy.c - subscriptions to a server that knows no subscriptions/listen
 *
 * Changed lists come unasked, if the server says in its capabilities that it tells of
 * them. For a resource there is one watch, however many subscriptions want it:
 *
 *   OFF -> SUBSCRIBING -> ON -> UNSUBSCRIBING -> OFF
 *
 * watch_move takes it to where it should be; a watch that is off and that nobody wants
 * is freed. Whoever comes while it unsubscribes waits for the answer: servers may serve
 * two requests in any order. When nobody waits for a subscribe any more, it is canceled
 * and taken back, since it may have happened.
 *
 * A server that has lost our session knows of no watch: those that were on are asked for
 * again, and what may have changed meanwhile counts as changed. Those who rely on a watch
 * that cannot be had again are lost: they would hear nothing, and think that nothing
 * changes.
 */
#include <string.h>

#include "api/subscription.h"
#include "base/mem.h"
#include "core/call.h"
#include "json/value.h"

enum watch_state { OFF, SUBSCRIBING, ON, UNSUBSCRIBING };

struct mcpi_watch {
    struct mcpi_map_node in_client;
    struct mcp_client *client;
    struct mcpi_list wishes; /* of those who want it */
    enum watch_state state;
    bool is_telling; /* not to be moved now */
    bool is_renewed; /* SUBSCRIBING: it was on, in a session that is lost */
    struct mcpi_claim claim;
    struct mcpi_call *call; /* SUBSCRIBING */
    size_t len;
    char uri[];
};

/* ---- watches ------------------------------------------------------------- */

static bool
watch_has_uri(const struct mcpi_map_node *node, const void *key)
{
    const struct mcpi_watch *watch = MCPI_CONTAINER(node, struct mcpi_watch, in_client);
    const struct mcpi_wish *wish = key;

    return watch->len == wish->len && memcmp(watch->uri, wish->uri, wish->len) == 0;
}

static struct mcpi_watch *
watch_new(struct mcp_client *client, const struct mcpi_wish *wish, uint64_t hash)
{
    struct mcpi_watch *watch;

    watch = mcpi_alloc_zero_first(client->host.mem, sizeof(*watch) + wish->len + 1,
                                  sizeof(*watch));
    if (!watch)
        return NULL;
    watch->client = client;
    watch->len = wish->len;
    memcpy(watch->uri, wish->uri, wish->len + 1);
    mcpi_list_init(&watch->wishes);
    mcpi_map_add(&client->watches, &watch->in_client, hash);
    return watch;
}

static void
watch_free(struct mcpi_watch *watch)
{
    struct mcp_client *client = watch->client;

    (void)mcpi_map_remove(&client->watches, &watch->in_client);
    mcpi_free(client->host.mem, watch);
    mcpi_client_try_finish(client);
}

/* Ask the server, under an id that is no caller's. */
static int
watch_ask(struct mcpi_watch *watch, enum mcpi_method method,
          const struct mcpi_call_ops *ops, int64_t timeout_us,
          struct mcpi_call **ret_call)
{
    struct mcp_client *client = watch->client;
    struct mcpi_call_options opt = {
        .id = &watch->claim.id,
        .method = mcpi_method_name(method),
        .timeout_us = timeout_us,
        .ops = ops,
        .user = watch,
    };
    struct mcpi_buf params;
    int r;

    if (!client->peer)
        return MCP_E_CLOSED;
    watch->claim.id.kind = MCPI_ID_NONE;
    r = mcpi_front_claim(&client->front, &watch->claim);
    if (r < 0)
        return r;
    mcpi_buf_init(&params, client->host.mem, client->max_bytes);
    MCPI_BUF_LITERAL(&params, "{\"uri\":");
    (void)mcpi_json_write_string(&params, watch->uri, watch->len); /* is UTF-8 */
    mcpi_buf_char(&params, '}');
    opt.params = params.data;
    opt.params_len = params.len;
    r = params.status < 0
            ? params.status
            : mcpi_call_start(client->peer, &opt, mcpi_loop_now(client->host.inside),
                              ret_call);
    mcpi_buf_done(&params);
    if (r < 0)
        mcpi_front_release(&client->front, &watch->claim, r);
    return r;
}

static void watch_move(struct mcpi_watch *watch);
static void wish_answered(struct mcpi_wish *wish, int status,
                          const struct mcpi_rpc *answer,
                          const struct mcpi_fault *fault);

/* Those who are told may leave, and others with them. */
static void
watch_tell(struct mcpi_watch *watch, int status, const struct mcpi_rpc *answer,
           const struct mcpi_fault *fault)
{
    struct mcpi_list round, *node;

    watch->is_telling = true;
    mcpi_list_append(&watch->wishes, &round); /* takes the place of the old head */
    mcpi_list_remove(&watch->wishes);
    for (node = mcpi_list_pop(&round); node; node = mcpi_list_pop(&round)) {
        mcpi_list_append(&watch->wishes, node);
        wish_answered(MCPI_CONTAINER(node, struct mcpi_wish, in_watch), status, answer,
                      fault);
    }
    watch->is_telling = false;
}

/* Nobody knows what happened while it was off. Those who are told may leave. */
static void
watch_may_have_changed(struct mcpi_watch *watch)
{
    watch->is_telling = true;
    mcpi_client_tell_change(watch->client, MCP_RESOURCE_UPDATED, watch->uri, true);
    watch->is_telling = false;
}

static void
subscribe_done(void *user, struct mcpi_call *call, int status,
               const struct mcpi_rpc *answer)
{
    struct mcpi_watch *watch = user;

    watch->call = NULL;
    mcpi_front_release(&watch->client->front, &watch->claim, status);
    watch->state = status == 0 ? ON : OFF;
    watch_tell(watch, status, answer, mcpi_call_fault(call));
    mcpi_call_release(call);
    if (status == 0 && watch->is_renewed)
        watch_may_have_changed(watch);
    watch->is_renewed = false;
    watch_move(watch);
}

static void
unsubscribe_done(void *user, struct mcpi_call *call, int status,
                 const struct mcpi_rpc *answer)
{
    struct mcpi_watch *watch = user;

    (void)call;
    (void)answer; /* whatever it is, nobody waits for it */
    mcpi_front_release(&watch->client->front, &watch->claim, status);
    watch->state = OFF;
    watch_move(watch);
}

static const struct mcpi_call_ops subscribe_ops = {.done = subscribe_done};
static const struct mcpi_call_ops unsubscribe_ops = {.done = unsubscribe_done};

/* No clock: each who waits for it has one of its own. */
static int
watch_subscribe(struct mcpi_watch *watch)
{
    int r;

    r = watch_ask(watch, MCPI_METHOD_RESOURCES_SUBSCRIBE, &subscribe_ops, MCPI_NEVER,
                  &watch->call);
    if (r == 0)
        watch->state = SUBSCRIBING;
    return r;
}

static void
watch_unsubscribe(struct mcpi_watch *watch)
{
    int r;

    watch->state = UNSUBSCRIBING;
    r = watch_ask(watch, MCPI_METHOD_RESOURCES_UNSUBSCRIBE, &unsubscribe_ops,
                  MCPI_TIMEOUT_DEFAULT, NULL);
    if (r == 0)
        return;
    if (r != MCP_E_CLOSED)
        MCPI_LOG(&watch->client->host.log, MCP_LOG_WARNING,
                 "a resource stays subscribed to: %s", mcp_status_text(r));
    watch_free(watch); /* nobody wants it */
}

/* Nobody waits for the answer any more. When the client closes, it comes by itself. */
static void
watch_give_up(struct mcpi_watch *watch)
{
    struct mcp_client *client = watch->client;

    if (client->state == MCPI_CLIENT_CLOSING)
        return;
    mcpi_call_free(watch->call, mcpi_loop_now(client->host.inside));
    watch->call = NULL;
    mcpi_front_release(&client->front, &watch->claim, MCP_E_CANCELED);
    watch_unsubscribe(watch);
}

/* To where it should be. May free it. */
static void
watch_move(struct mcpi_watch *watch)
{
    bool wanted = !mcpi_list_empty(&watch->wishes);
    int r = 0;

    if (watch->is_telling)
        return;
    if (watch->state == OFF && wanted) {
        r = watch_subscribe(watch);
        if (r < 0)
            watch_tell(watch, r, NULL, NULL); /* all leave */
        wanted = r == 0;
    }
    if (wanted)
        return;
    if (watch->state == OFF)
        watch_free(watch);
    else if (watch->state == SUBSCRIBING)
        watch_give_up(watch);
    else if (watch->state == ON)
        watch_unsubscribe(watch);
}

/* ---- wishes -------------------------------------------------------------- */

static void
wish_leave(struct mcpi_wish *wish)
{
    mcpi_list_remove(&wish->in_watch);
    wish->watch = NULL;
    wish->waits = false;
}

static int
wish_join(struct mcpi_wish *wish, struct mcp_client *client)
{
    uint64_t hash = mcpi_map_hash(&client->watches, wish->uri, wish->len);
    struct mcpi_map_node *node;
    struct mcpi_watch *watch;
    int r = 0;

    node = mcpi_map_find(&client->watches, hash, watch_has_uri, wish);
    watch = node ? MCPI_CONTAINER(node, struct mcpi_watch, in_client)
                 : watch_new(client, wish, hash);
    if (!watch)
        return MCP_E_NOMEM;
    if (watch->state == OFF && !watch->is_telling)
        r = watch_subscribe(watch);
    if (r < 0) {
        watch_free(watch); /* it is new, and does not hold the client */
        return r;
    }
    wish->watch = watch;
    wish->waits = true;
    mcpi_list_append(&watch->wishes, &wish->in_watch);
    return 0;
}

static void
wish_agree(struct mcpi_wish *wish)
{
    mcp_subscription *s = wish->source;

    wish->waits = false;
    s->honored |= MCP_RESOURCE_UPDATED;
    pthread_mutex_lock(&s->lock);
    wish->is_agreed = true;
    pthread_mutex_unlock(&s->lock);
}

/* One thing less to wait for. If all was refused that could be asked, so is the
 * subscription. May let go of it. */
static void
source_answered(mcp_subscription *s)
{
    if (--s->unanswered > 0)
        return;
    if (s->honored == 0 && s->refusal.status < 0)
        mcpi_source_lose(s, &s->refusal);
    else
        mcpi_source_opened(s, s->honored & s->lists);
}

/* An error is of this resource; anything else is of the connection. */
static void
wish_answered(struct mcpi_wish *wish, int status, const struct mcpi_rpc *answer,
              const struct mcpi_fault *fault)
{
    mcp_subscription *s = wish->source;

    if (!wish->waits) { /* it had been agreed to, in a session that is lost */
        if (status < 0)
            mcpi_source_fail_by(s, status, answer, fault);
        return;
    }
    if (status == 0) {
        wish_agree(wish);
    } else if (status == MCP_E_PEER) {
        wish_leave(wish);
        mcpi_source_describe(answer, &s->refusal);
    } else {
        mcpi_source_fail_by(s, status, NULL, fault); /* leaves */
        return;
    }
    source_answered(s);
}

void
mcpi_source_leave(mcp_subscription *s)
{
    struct mcpi_watch *watch;
    size_t i;

    for (i = 0; i < s->wish_count; i++) {
        watch = s->wishes[i].watch;
        if (!watch)
            continue;
        wish_leave(&s->wishes[i]);
        watch_move(watch);
    }
}

/* ---- the subscription ---------------------------------------------------- */

static bool
server_has(const struct mcp_client *client, const char *what, const char *flag)
{
    const mcp_json *capability = mcp_json_get(client->hello.capabilities, what);

    return mcp_json_bool(mcp_json_get(capability, flag), false);
}

static unsigned
server_lists(const struct mcp_client *client)
{
    unsigned lists = 0;

    if (server_has(client, "tools", "listChanged"))
        lists |= MCP_TOOLS_CHANGED;
    if (server_has(client, "prompts", "listChanged"))
        lists |= MCP_PROMPTS_CHANGED;
    if (server_has(client, "resources", "listChanged"))
        lists |= MCP_RESOURCES_CHANGED;
    return lists;
}

/* On failure the caller ends it, and its wishes leave. */
static int
source_join(mcp_subscription *s)
{
    size_t i;
    int r;

    for (i = 0; i < s->wish_count; i++) {
        struct mcpi_wish *wish = &s->wishes[i];

        r = wish_join(wish, s->client);
        if (r < 0)
            return r;
        if (wish->watch->state == ON)
            wish_agree(wish);
        else
            s->unanswered++;
    }
    return 0;
}

int
mcpi_source_start_legacy(mcp_subscription *s)
{
    int r = 0;

    s->honored = s->lists & server_lists(s->client);
    s->unanswered = 1; /* us */
    if (server_has(s->client, "resources", "subscribe"))
        r = source_join(s);
    if (r == 0)
        source_answered(s);
    return r;
}

/* ---- what the server says ------------------------------------------------ */

/* Is it the same resource, or one below it: a/b lies below a, and below a/. */
static bool
wish_covers(const struct mcpi_wish *wish, const char *uri)
{
    if (strncmp(uri, wish->uri, wish->len) != 0)
        return false;
    return uri[wish->len] == '\0' || uri[wish->len] == '/' ||
           wish->uri[wish->len - 1] == '/';
}

static bool
source_covers(const mcp_subscription *s, const char *uri)
{
    size_t i;

    for (i = 0; i < s->wish_count; i++) {
        if (s->wishes[i].is_agreed && wish_covers(&s->wishes[i], uri))
            return true;
    }
    return false;
}

struct feed {
    enum mcp_change change;
    const char *uri;
};

static void
source_feed(mcp_subscription *s, void *user)
{
    const struct feed *feed = user;

    if (!(s->honored & (unsigned)feed->change) || s->core)
        return;
    if (feed->change != MCP_RESOURCE_UPDATED || source_covers(s, feed->uri))
        mcpi_source_event(s, feed->change, feed->uri);
}

void
mcpi_subscriptions_feed(struct mcp_client *client, enum mcp_change change,
                        const char *uri)
{
    struct feed feed = {change, uri};

    if (change != MCP_RESOURCE_UPDATED || uri)
        mcpi_subscriptions_each(client, source_feed, &feed);
}

/* ---- a session is lost ----------------------------------------------------- */

/* It was on. With a clock: nobody waits for it who has one. May free it. */
static void
watch_renew(struct mcpi_watch *watch)
{
    int r;

    r = watch_ask(watch, MCPI_METHOD_RESOURCES_SUBSCRIBE, &subscribe_ops,
                  MCPI_TIMEOUT_DEFAULT, &watch->call);
    if (r == 0) {
        watch->state = SUBSCRIBING;
        watch->is_renewed = true;
        return;
    }
    watch->state = OFF;
    watch_tell(watch, r, NULL, NULL); /* all leave */
    watch_move(watch);
}

static void
source_renew(mcp_subscription *s, void *user)
{
    size_t i;

    (void)user;
    for (i = 0; i < s->wish_count && !s->is_over; i++) {
        if (s->wishes[i].watch && s->wishes[i].watch->state == ON)
            watch_renew(s->wishes[i].watch);
    }
}

void
mcpi_subscriptions_renew(struct mcp_client *client)
{
    static const enum mcp_change lists[] = {MCP_TOOLS_CHANGED, MCP_PROMPTS_CHANGED,
                                            MCP_RESOURCES_CHANGED};
    unsigned told = server_lists(client);
    size_t i;

    for (i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        if (told & (unsigned)lists[i])
            mcpi_client_tell_change(client, lists[i], NULL, true);
    }
    mcpi_subscriptions_each(client, source_renew, NULL);
}
