/*
 * subscription_make.c - a subscription on its caller's thread: what is asked is checked
 * and copied
 *
 * One block holds the subscription, its wishes and their texts. What a modern server is
 * asked is written here too, so that the loop cannot fail at it.
 */
#include <string.h>

#include "api/subscription.h"
#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/random.h"
#include "run/thread.h"

#define DEFAULT_BACKLOG 1024

#define LISTS \
    ((unsigned)MCP_TOOLS_CHANGED | MCP_PROMPTS_CHANGED | MCP_RESOURCES_CHANGED)

/* ---- its resources ------------------------------------------------------- */

static bool
wish_has_uri(const struct mcpi_map_node *node, const void *key)
{
    const struct mcpi_wish *wish = MCPI_CONTAINER(node, struct mcpi_wish, by_uri);
    const struct mcpi_wish *other = key;

    return wish->len == other->len && memcmp(wish->uri, other->uri, other->len) == 0;
}

struct mcpi_wish *
mcpi_source_find(const mcp_subscription *s, const char *uri, size_t len)
{
    const struct mcpi_wish key = {.uri = uri, .len = len};
    struct mcpi_map_node *node;

    node = mcpi_map_find(&s->uris, mcpi_map_hash(&s->uris, uri, len), wish_has_uri,
                         &key);
    return node ? MCPI_CONTAINER(node, struct mcpi_wish, by_uri) : NULL;
}

/* How many there are, and how long with their terminators. */
static int
uris_measure(const char *const *uris, size_t *ret_count, size_t *ret_bytes,
             mcp_error *err)
{
    size_t count, len, bytes = 0;

    for (count = 0; uris && uris[count]; count++) {
        len = strlen(uris[count]);
        if (len == 0 || !mcpi_utf8_valid(uris[count], len))
            return mcpi_error_set(err, MCP_E_INVAL,
                                  "uris: each must be a text in UTF-8");
        bytes += len + 1;
    }
    *ret_count = count;
    *ret_bytes = bytes;
    return 0;
}

/* Each once, however often it is named. */
static void
wishes_fill(mcp_subscription *s, const char *const *uris)
{
    char *at = (char *)(s->wishes + s->wish_count);
    size_t count = s->wish_count;
    struct mcpi_wish *wish;
    size_t i, len;

    s->wish_count = 0;
    for (i = 0; i < count; i++) {
        len = strlen(uris[i]);
        if (mcpi_source_find(s, uris[i], len))
            continue;
        wish = &s->wishes[s->wish_count++];
        wish->uri = mcpi_text_stow(&at, uris[i], len);
        wish->len = len;
        wish->source = s;
        mcpi_list_init(&wish->in_watch);
        mcpi_map_add(&s->uris, &wish->by_uri, mcpi_map_hash(&s->uris, uris[i], len));
    }
}

/* ---- what a modern server is asked --------------------------------------- */

static int
filter_make(mcp_subscription *s, mcp_error *err)
{
    mcp_builder *b = s->filter = mcp_builder_new(s->mem);
    size_t i, len = 0;
    int r;

    mcp_builder_begin_object(b, NULL);
    if (s->lists & MCP_TOOLS_CHANGED)
        mcp_builder_bool(b, "toolsListChanged", true);
    if (s->lists & MCP_PROMPTS_CHANGED)
        mcp_builder_bool(b, "promptsListChanged", true);
    if (s->lists & MCP_RESOURCES_CHANGED)
        mcp_builder_bool(b, "resourcesListChanged", true);
    if (s->wish_count > 0) {
        mcp_builder_begin_array(b, "resourceSubscriptions");
        for (i = 0; i < s->wish_count; i++)
            mcp_builder_string_n(b, NULL, s->wishes[i].uri, s->wishes[i].len);
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
    r = mcp_builder_status(b);
    (void)mcp_builder_text(b, &len);
    if (r == 0 && len > s->client->max_bytes)
        r = MCP_E_LIMIT;
    return r < 0 ? mcpi_error_set(err, r, "uris: %s", mcp_status_text(r)) : 0;
}

/* ---- its parts ----------------------------------------------------------- */

static int
options_take(mcp_subscription *s, const mcp_subscribe *opt, mcp_error *err)
{
    int r;

    if (opt->lists & ~LISTS)
        return mcpi_error_set(err, MCP_E_INVAL, "lists: not a set of lists");
    if (!mcpi_time_option(opt->timeout_ms, &s->timeout_us))
        return mcpi_error_set(err, MCP_E_INVAL, "a time must not be negative");
    if (s->timeout_us == 0)
        s->timeout_us = s->client->timeout_us;
    s->lists = opt->lists;
    s->on_event = opt->on_event;
    s->on_end = opt->on_end;
    s->user = opt->user;
    s->on_lane = opt->on_event || opt->on_end;
    s->no_wait = opt->no_wait;
    r = mcpi_scope_check(opt->scope, err); /* what is over is never sent */
    if (r == 0 && opt->scope)
        s->scope = mcpi_scope_ref(mcpi_scope_inside(opt->scope));
    return r;
}

static int
locks_make(mcp_subscription *s)
{
    int r;

    if (pthread_mutex_init(&s->lock, NULL) != 0)
        return MCP_E_NOMEM;
    r = mcpi_cond_init(&s->changed);
    if (r < 0)
        goto no_condition;
    r = s->on_lane ? mcpi_source_init_lane(s) : 0;
    if (r < 0)
        goto no_lane;
    return 0;

no_lane:
    pthread_cond_destroy(&s->changed);
no_condition:
    pthread_mutex_destroy(&s->lock);
    return r;
}

/* What was made before the locks. */
static void
source_drop(mcp_subscription *s)
{
    mcp_builder_free(s->filter);
    mcpi_scope_unref(s->scope);
    mcpi_notices_done(&s->events);
    mcpi_map_done(&s->uris);
    mcpi_free(s->mem, s);
}

/* The block, with its wishes. */
static int
block_make(struct mcp_client *client, const mcp_subscribe *opt, mcp_subscription **ret,
           mcp_error *err)
{
    unsigned char seed[MCPI_SEED_SIZE];
    size_t count = 0, bytes = 0;
    mcp_subscription *s;
    int r;

    r = uris_measure(opt->uris, &count, &bytes, err);
    if (r < 0)
        return r;
    r = mcpi_random(seed, sizeof(seed));
    if (r < 0)
        return mcpi_error_set(err, r, "no subscription: %s", mcp_status_text(r));
    bytes += count * sizeof(struct mcpi_wish);
    s = mcpi_alloc_zero(client->host.mem, sizeof(*s) + bytes);
    if (!s)
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory");
    s->mem = client->host.mem;
    s->client = client;
    s->fd = -1;
    s->wishes = (struct mcpi_wish *)(s + 1);
    s->wish_count = count;
    mcpi_list_init(&s->in_client);
    mcpi_map_init(&s->uris, s->mem, seed);
    mcpi_notices_init(&s->events, s->mem, seed,
                      opt->backlog ? opt->backlog : DEFAULT_BACKLOG);
    wishes_fill(s, opt->uris);
    *ret = s;
    return 0;
}

int
mcpi_source_make(struct mcp_client *client, const mcp_subscribe *opt,
                 mcp_subscription **ret, mcp_error *err)
{
    mcp_subscription *s = NULL;
    int r;

    r = block_make(client, opt, &s, err);
    if (!s)
        return r;
    r = options_take(s, opt, err);
    if (r == 0)
        r = filter_make(s, err);
    if (r == 0) {
        r = locks_make(s);
        if (r < 0)
            (void)mcpi_error_set(err, r, "out of memory");
    }
    if (r < 0) {
        source_drop(s);
        return r;
    }
    atomic_init(&s->refs, 1);
    mcpi_client_ref(client);
    *ret = s;
    return 0;
}

void
mcpi_source_ref(mcp_subscription *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
}

void
mcpi_source_unref(mcp_subscription *s)
{
    struct mcp_client *client = s->client;

    if (atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (s->on_lane)
        mcpi_lane_done(&s->lane);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
    source_drop(s);
    mcpi_client_unref(client);
}

/* ---- the way in ---------------------------------------------------------- */

/* Takes nothing; after a failure nothing is left. */
static int
source_open(struct mcp_client *client, const mcp_subscribe *opt, mcp_subscription **ret,
            mcp_error *err)
{
    mcp_subscription *s = NULL;
    int r;

    r = mcpi_source_make(client, opt, &s, err);
    if (!s)
        return r;
    r = mcpi_source_begin(s, ret, err);
    if (r < 0)
        mcpi_source_unref(s);
    return r;
}

/* Takes nothing; after a failure nothing is left. */
static int
source_open_and_wait(struct mcp_client *client, const mcp_subscribe *opt,
                     mcp_subscription **ret, mcp_error *err)
{
    mcp_subscription *s = NULL;
    int r;

    r = mcpi_source_make(client, opt, &s, err);
    if (!s)
        return r;
    mcpi_source_ref(s); /* a callback may free it before this thread wakes */
    r = mcpi_source_begin(s, ret, err);
    if (r < 0) {
        mcpi_source_unref(s);
    } else {
        r = mcpi_source_await(s, err);
        if (r < 0) {
            mcpi_source_free(s); /* no callback ran */
            *ret = NULL;
        }
    }
    mcpi_source_unref(s);
    return r;
}

int
mcp_client_subscribe(mcp_client *client, const mcp_subscribe *given,
                     mcp_subscription **ret, mcp_error *err)
{
    mcp_subscribe opt;
    int r;

    if (!client || !ret || mcpi_options_read(&opt, sizeof(opt), given) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "this asks for no subscription");
    if (!mcpi_client_is_ours(client))
        return mcpi_error_set(err, MCP_E_STATE, "this process was forked off");
    if (opt.no_wait)
        return source_open(client, &opt, ret, err);
    r = mcpi_client_may_wait(client, err);
    if (r < 0)
        return r;
    r = mcpi_pool_wait_begin();
    if (r < 0)
        return mcpi_error_set(err, r, "too many workers wait already");
    r = source_open_and_wait(client, &opt, ret, err);
    mcpi_pool_wait_end();
    return r;
}
