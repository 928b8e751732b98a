/*
 * changes.c - a list or a resource has changed: who is told, and when
 *
 * Events come from the bus on any thread and wait as a set for the loop: three bits for
 * the lists, and the URIs of resources, each once. If there are too many of these, or no
 * memory for one, they are not kept apart any more: everybody is told that all that it
 * watches has changed. So a flood costs a bounded set and nobody misses anything; a
 * client may read something once more than it had to.
 */
#include "api/changes.h"

#include <string.h>

#include "api/resource.h"
#include "api/server.h"
#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"
#include "core/subscribe.h"

/* Changes of a list within that time are told once: as many as a program makes while it
 * opens or closes one thing, and less than a person notices. */
#define DEFAULT_CHANGES_US 50000

/* Resources that may have changed within one turn of the loop before they are not kept
 * apart: four times what one client may watch by default. */
#define MCPI_NEWS_MAX 4096

/* The same bits, in public and in core. */
_Static_assert((int)MCPI_TOPIC_TOOLS == (int)MCP_TOOLS_CHANGED &&
                   (int)MCPI_TOPIC_PROMPTS == (int)MCP_PROMPTS_CHANGED &&
                   (int)MCPI_TOPIC_RESOURCES == (int)MCP_RESOURCES_CHANGED &&
                   (int)MCPI_TOPIC_UPDATED == (int)MCP_RESOURCE_UPDATED,
               "topics are changes");

#define LISTS (MCP_TOOLS_CHANGED | MCP_PROMPTS_CHANGED | MCP_RESOURCES_CHANGED)

struct news_uri {
    struct mcpi_list node;
    struct mcpi_map_node by_uri;
    char text[];
};

/* ---- told, on the loop -------------------------------------------------- */

static void
news_tell(struct mcpi_branch *branch, enum mcpi_topic topic, const char *uri)
{
    const struct mcpi_event event = {.topic = topic, .uri = uri};

    mcpi_engine_publish(branch->host.engine, &event,
                        mcpi_loop_now(branch->host.inside));
}

static void
news_tell_lists(struct mcpi_branch *branch, unsigned lists)
{
    for (unsigned bit = 1; bit <= lists; bit <<= 1) {
        if (lists & bit)
            news_tell(branch, (enum mcpi_topic)bit, NULL);
    }
}

static void
news_tell_resources(struct mcpi_branch *branch, struct mcpi_list *uris, bool everything)
{
    struct news_uri *uri;
    struct mcpi_list *node;

    if (everything)
        news_tell(branch, MCPI_TOPIC_UPDATED, NULL);
    while ((node = mcpi_list_pop(uris)) != NULL) {
        uri = MCPI_CONTAINER(node, struct news_uri, node);
        if (!everything)
            news_tell(branch, MCPI_TOPIC_UPDATED, uri->text);
        mcpi_free(branch->host.mem, uri);
    }
}

/* All that has come from the bus until now. */
static void
news_tell_all(struct mcpi_branch *branch)
{
    struct mcpi_news *news = &branch->news;
    struct mcpi_list uris, *node;
    struct news_uri *uri;
    bool everything;
    unsigned lists;

    mcpi_list_init(&uris);
    pthread_mutex_lock(&branch->server->lock);
    lists = news->lists;
    everything = news->everything;
    news->lists = 0;
    news->everything = false;
    while ((node = mcpi_list_pop(&news->uris)) != NULL) {
        uri = MCPI_CONTAINER(node, struct news_uri, node);
        (void)mcpi_map_remove(&news->by_uri, &uri->by_uri); /* it is there */
        mcpi_list_append(&uris, node);
    }
    pthread_mutex_unlock(&branch->server->lock);
    news_tell_lists(branch, lists);
    news_tell_resources(branch, &uris, everything);
}

/* ---- to the bus --------------------------------------------------------- */

static void
own_publish(struct mcpi_branch *branch)
{
    struct mcpi_news *news = &branch->news;
    unsigned own;
    int r;

    pthread_mutex_lock(&branch->server->lock);
    own = news->own;
    news->own = 0;
    pthread_mutex_unlock(&branch->server->lock);
    for (unsigned bit = 1; bit <= own; bit <<= 1) {
        if (!(own & bit))
            continue;
        r = news->bus.publish(news->bus.self,
                              &(mcp_event){.change = (enum mcp_change)bit});
        if (r < 0)
            MCPI_LOG(&branch->host.log, MCP_LOG_WARNING,
                     "the bus does not take a change: %s", mcp_status_text(r));
    }
}

static void
on_timer(struct mcpi_timer *timer, int64_t now)
{
    (void)now;
    own_publish(MCPI_CONTAINER(timer, struct mcpi_branch, news.timer));
}

/* The first change begins the wait, so that it ends though changes go on. */
static void
own_wait(struct mcpi_branch *branch)
{
    struct mcpi_news *news = &branch->news;
    int64_t now = mcpi_loop_now(branch->host.inside);

    if (news->wait_us < 0)
        own_publish(branch);
    else if (!mcpi_timer_is_armed(&news->timer))
        mcpi_timer_arm(mcpi_loop_timers(branch->host.inside), &news->timer,
                       mcpi_time_add(now, news->wait_us));
}

static void
on_post(struct mcpi_post *post)
{
    struct mcpi_branch *branch = MCPI_CONTAINER(post, struct mcpi_branch, news.post);
    bool own;

    pthread_mutex_lock(&branch->server->lock);
    branch->news.posted = false;
    own = branch->news.own != 0;
    pthread_mutex_unlock(&branch->server->lock);
    if (branch->stopping) {
        mcpi_branch_check(branch); /* which may have waited for this */
        return;
    }
    if (own)
        own_wait(branch);
    news_tell_all(branch);
}

/* Under lock. True: post it. */
static bool
news_wake(struct mcpi_news *news)
{
    bool post = !news->posted;

    news->posted = true;
    return post;
}

void
mcpi_server_changed(mcp_server *server, enum mcp_change change)
{
    struct mcpi_branch *branch = &server->trunk;
    struct mcpi_news *news = &branch->news;
    bool post;

    if (atomic_load(&server->stop_asked) || !atomic_load(&server->reachable))
        return; /* nobody has seen what it was before */
    pthread_mutex_lock(&branch->server->lock);
    news->own |= change & LISTS;
    post = news_wake(news);
    pthread_mutex_unlock(&branch->server->lock);
    if (post)
        mcpi_loop_post(branch->host.inside, &news->post);
}

int
mcp_server_resource_updated(mcp_server *server, const char *uri)
{
    const mcp_event event = {.change = MCP_RESOURCE_UPDATED, .uri = uri};
    const mcp_bus *bus;

    if (!server || !uri || !mcpi_uri_fits(uri, strlen(uri)))
        return MCP_E_INVAL;
    if (mcpi_server_guard(server) < 0)
        return MCP_E_STATE;
    if (atomic_load(&server->stop_asked))
        return MCP_E_CLOSED;
    bus = &server->trunk.news.bus;
    return bus->publish(bus->self, &event);
}

/* ---- from the bus ------------------------------------------------------- */

static bool
uri_has_text(const struct mcpi_map_node *node, const void *key)
{
    return strcmp(MCPI_CONTAINER(node, struct news_uri, by_uri)->text, key) == 0;
}

static struct news_uri *
uri_new(const mcp_allocator *mem, const char *text)
{
    size_t size = strlen(text) + 1;
    struct news_uri *uri = mcpi_alloc(mem, sizeof(*uri) + size);

    if (uri)
        memcpy(uri->text, text, size);
    return uri;
}

/* Under lock. */
static void
news_add_uri(struct mcpi_branch *branch, const char *text)
{
    struct mcpi_news *news = &branch->news;
    uint64_t hash = mcpi_map_hash(&news->by_uri, text, strlen(text));
    struct news_uri *uri = NULL;

    if (news->everything || mcpi_map_find(&news->by_uri, hash, uri_has_text, text))
        return;
    if (news->by_uri.count < MCPI_NEWS_MAX)
        uri = uri_new(branch->host.mem, text);
    if (!uri) {
        news->everything = true;
        return;
    }
    mcpi_list_append(&news->uris, &uri->node);
    mcpi_map_add(&news->by_uri, &uri->by_uri, hash);
}

/* [any] */
static void
on_event(void *user, const mcp_event *event)
{
    struct mcpi_branch *branch = user;
    struct mcpi_news *news = &branch->news;
    bool updated = event && event->change == MCP_RESOURCE_UPDATED;
    bool post = false;

    if (!event || (updated && !event->uri) || (!updated && !(event->change & LISTS)))
        return; /* whatever it is, it is none of ours */
    pthread_mutex_lock(&branch->server->lock);
    if (!news->closed) {
        if (updated)
            news_add_uri(branch, event->uri);
        else
            news->lists |= event->change & LISTS;
        post = news_wake(news);
    }
    pthread_mutex_unlock(&branch->server->lock);
    if (post)
        mcpi_loop_post(branch->host.inside, &news->post);
}

/* ---- its beginning and its end ------------------------------------------ */

static int
news_take_bus(struct mcpi_branch *branch, const mcp_bus *bus, mcp_error *err)
{
    struct mcpi_news *news = &branch->news;
    mcp_bus read;
    int r;

    if (!bus) {
        r = mcp_local_bus_new(branch->host.mem, &news->own_bus);
        if (r < 0)
            return mcpi_error_set(err, r, "%s", mcp_status_text(r));
        bus = mcp_local_bus_interface(news->own_bus);
    }
    if (mcpi_options_read(&read, sizeof(read), bus) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "the bus has no size, or another");
    if (!read.publish || !read.subscribe || !read.unsubscribe)
        return mcpi_error_set(err, MCP_E_INVAL, "the bus lacks a function");
    news->bus = read;
    return 0;
}

/* The bus is known. */
static int
news_subscribe(struct mcpi_branch *branch, mcp_error *err)
{
    struct mcpi_news *news = &branch->news;
    int r;

    news->post.fn = on_post;
    mcpi_timer_init(&news->timer, on_timer);
    mcpi_list_init(&news->uris);
    mcpi_map_init(&news->by_uri, branch->host.mem, branch->host.engine->seed);
    r = news->bus.subscribe(news->bus.self, on_event, branch, &news->ticket);
    return r < 0 ? mcpi_error_set(err, r, "no place on the bus: %s", mcp_status_text(r))
                 : 0;
}

int
mcpi_news_open(mcp_server *server, const mcp_server_options *opt, mcp_error *err)
{
    struct mcpi_news *news = &server->trunk.news;
    int r;

    if (opt->changes_ms < -1)
        return mcpi_error_set(err, MCP_E_INVAL, "a time of the server is negative");
    news->wait_us = opt->changes_ms < 0 ? -1 : mcpi_ms(opt->changes_ms);
    if (opt->changes_ms == 0)
        news->wait_us = DEFAULT_CHANGES_US;
    r = news_take_bus(&server->trunk, opt->bus, err);
    return r < 0 ? r : news_subscribe(&server->trunk, err);
}

int
mcpi_news_join(struct mcpi_branch *branch, mcp_error *err)
{
    branch->news.bus = branch->server->trunk.news.bus;
    return news_subscribe(branch, err);
}

void
mcpi_news_close(struct mcpi_branch *branch)
{
    struct mcpi_news *news = &branch->news;
    int r;

    mcpi_timer_disarm(mcpi_loop_timers(branch->host.inside), &news->timer);
    own_publish(branch);
    r = news->bus.unsubscribe(news->bus.self, news->ticket);
    if (r < 0)
        MCPI_LOG(&branch->host.log, MCP_LOG_WARNING,
                 "the bus does not let the server go: %s", mcp_status_text(r));
    pthread_mutex_lock(&branch->server->lock);
    news->closed = true;
    pthread_mutex_unlock(&branch->server->lock);
    news_tell_all(branch);
}

bool
mcpi_news_waits(struct mcpi_branch *branch)
{
    bool waits;

    pthread_mutex_lock(&branch->server->lock);
    waits = branch->news.posted;
    pthread_mutex_unlock(&branch->server->lock);
    return waits;
}

void
mcpi_news_done(struct mcpi_branch *branch)
{
    if (branch->news.by_uri.mem)
        mcpi_map_done(&branch->news.by_uri);
    mcp_local_bus_free(branch->news.own_bus);
}
