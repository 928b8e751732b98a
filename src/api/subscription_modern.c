/*
 * subscription_modern.c - subscriptions to a server that can be listened to: one
 * subscriptions/listen of core each
 */
#include <string.h>

#include "api/subscription.h"

static const struct topic {
    enum mcp_change change;
    enum mcpi_method method;
    const char *filter; /* member of the filter */
} topics[] = {
    {MCP_TOOLS_CHANGED, MCPI_METHOD_NOTE_TOOLS_CHANGED, "toolsListChanged"},
    {MCP_PROMPTS_CHANGED, MCPI_METHOD_NOTE_PROMPTS_CHANGED, "promptsListChanged"},
    {MCP_RESOURCES_CHANGED, MCPI_METHOD_NOTE_RESOURCES_CHANGED, "resourcesListChanged"},
    {MCP_RESOURCE_UPDATED, MCPI_METHOD_NOTE_RESOURCE_UPDATED, NULL},
};

#define TOPICS (sizeof(topics) / sizeof(topics[0]))

/* What was asked for and is in the acknowledgment. True: a resource. */
static bool
agree_to_uris(mcp_subscription *s, const mcp_json *filter)
{
    mcp_json_iterator it = mcp_json_each(mcp_json_get(filter, "resourceSubscriptions"));
    struct mcpi_wish *wish;
    bool any = false;

    pthread_mutex_lock(&s->lock);
    while (mcp_json_next(&it)) {
        wish = mcpi_source_find(s, mcp_json_string(it.value, ""),
                                mcp_json_string_length(it.value));
        if (wish)
            any = wish->is_agreed = true;
    }
    pthread_mutex_unlock(&s->lock);
    return any;
}

static void
core_opened(void *user, const mcp_json *filter)
{
    mcp_subscription *s = user;
    unsigned lists = 0;
    size_t i;

    for (i = 0; i < TOPICS; i++) {
        if (topics[i].filter &&
            mcp_json_bool(mcp_json_get(filter, topics[i].filter), false))
            lists |= topics[i].change;
    }
    lists &= s->lists;
    s->honored = lists;
    if (agree_to_uris(s, filter))
        s->honored |= MCP_RESOURCE_UPDATED;
    mcpi_source_opened(s, lists);
}

/* What a change is of: a text without U+0000, or NULL. */
static const char *
event_uri(const struct mcpi_rpc *note)
{
    const mcp_json *value = mcp_json_get(note->params, "uri");
    const char *uri = mcp_json_string(value, NULL);

    return uri && strlen(uri) == mcp_json_string_length(value) ? uri : NULL;
}

/* What was not asked for, or not agreed to, is not told. A resource need not be one that
 * was asked for: it may lie below it. */
static void
core_event(void *user, const struct mcpi_rpc *note)
{
    mcp_subscription *s = user;
    enum mcp_change change = 0;
    const char *uri = NULL;
    size_t i;

    for (i = 0; i < TOPICS; i++) {
        if (topics[i].method == note->method)
            change = topics[i].change;
    }
    if (change == MCP_RESOURCE_UPDATED)
        uri = event_uri(note);
    if (!(s->honored & change) || (change == MCP_RESOURCE_UPDATED && !uri)) {
        MCPI_LOG(&s->client->host.log, MCP_LOG_DEBUG,
                 "an event of subscription %s that was not agreed to is dropped",
                 s->id);
        return;
    }
    mcpi_client_tell_change(s->client, change, uri, false); /* caches first */
    mcpi_source_event(s, change, uri);
}

static void
core_ended(void *user, enum mcpi_subscription_end how, int status,
           const struct mcpi_rpc *answer)
{
    mcp_subscription *s = user;

    if (how == MCPI_SUBSCRIPTION_GRACEFUL)
        mcpi_source_finish(s);
    else
        mcpi_source_fail_by(s, status, answer, mcpi_subscription_fault(s->core));
}

static const struct mcpi_subscription_ops core_ops = {
    .opened = core_opened,
    .event = core_event,
    .ended = core_ended,
};

/* Core has the clock from here on. */
static int64_t
source_take_clock(mcp_subscription *s)
{
    int64_t left = MCPI_NEVER;

    if (mcpi_timer_is_armed(&s->timer))
        left = mcpi_timer_at(&s->timer) - mcpi_loop_now(s->client->host.inside);
    mcpi_timer_disarm(mcpi_loop_timers(s->client->host.inside), &s->timer);
    return left > 0 ? left : 1;
}

int
mcpi_source_start_modern(mcp_subscription *s)
{
    struct mcpi_subscription_options opt = {
        .id = &s->claim.id,
        .open_us = source_take_clock(s),
        .ops = &core_ops,
        .user = s,
    };
    int r;

    opt.filter = mcp_builder_text(s->filter, &opt.filter_len);
    r = mcpi_subscription_open(s->client->peer, &opt,
                               mcpi_loop_now(s->client->host.inside), &s->core);
    mcp_builder_free(s->filter);
    s->filter = NULL;
    return r;
}
