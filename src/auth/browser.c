/*
 * browser.c - an agent: the user's browser, and a port of this machine it comes back to
 *
 * Each visit has a desk of its own (browser_desk.h), so that several may go on at once,
 * of clients on several threads. The lock is for the list of them.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "auth/browser_desk.h"
#include "auth/browser_opener.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"

#define PATH_MAX_LEN 512 /* so that every URI fits in MCP_AUTH_URI_MAX */
#define PORT_MAX 65535

struct stay {
    struct mcpi_list node;
    const mcp_auth_visit *visit;
    struct mcpi_desk *desk;
};

struct mcp_auth_browser {
    const mcp_allocator *mem;
    mcp_auth_agent agent;
    struct mcpi_opener opener;
    int port;
    const char *host; /* constant */
    void (*on_url)(void *user, const char *url);
    void *user;
    pthread_mutex_t lock; /* for what follows */
    struct mcpi_list stays;
    char path[];
};

/* ---- the agent ---------------------------------------------------------------------- */

/* What of an earlier URI of ours was the port? 0: it is not one that we would make now. */
static int
port_of(const struct mcp_auth_browser *browser, const char *uri)
{
    size_t len = strlen(browser->host);
    char *end = NULL;
    long port;

    if (!uri || strncmp(uri, "http://", 7) != 0 ||
        strncmp(uri + 7, browser->host, len) != 0 || uri[7 + len] != ':')
        return 0;
    uri += 7 + len + 1;
    if (*uri < '1' || *uri > '9')
        return 0;
    port = strtol(uri, &end, 10);
    return port <= PORT_MAX && strcmp(end, browser->path) == 0 ? (int)port : 0;
}

static int
browser_begin(void *self, mcp_auth_visit *visit, const char *earlier, char *ret_uri)
{
    struct mcp_auth_browser *browser = self;
    const struct mcpi_desk_options opt = {.mem = browser->mem,
                                          .host = browser->host,
                                          .path = browser->path,
                                          .port = browser->port,
                                          .earlier = port_of(browser, earlier),
                                          .visit = visit};
    struct stay *stay = mcpi_alloc_zero(browser->mem, sizeof(*stay));
    const char *uri;
    int r;

    if (!stay)
        return MCP_E_NOMEM;
    stay->visit = visit;
    r = mcpi_desk_new(&opt, &stay->desk);
    if (r < 0) {
        mcpi_free(browser->mem, stay);
        return r;
    }
    uri = mcpi_desk_uri(stay->desk);
    memcpy(ret_uri, uri, strlen(uri) + 1);
    pthread_mutex_lock(&browser->lock);
    mcpi_list_append(&browser->stays, &stay->node);
    pthread_mutex_unlock(&browser->lock);
    return 0;
}

/* NULL: no such visit. It is the caller's own, so that nobody else ends it meanwhile. */
static struct stay *
browser_find(struct mcp_auth_browser *browser, const mcp_auth_visit *visit, bool take)
{
    struct mcpi_list *node;
    struct stay *stay = NULL;

    pthread_mutex_lock(&browser->lock);
    for (node = browser->stays.next; node != &browser->stays && !stay;
         node = node->next) {
        stay = MCPI_CONTAINER(node, struct stay, node);
        if (stay->visit != visit)
            stay = NULL;
    }
    if (stay && take)
        mcpi_list_remove(&stay->node);
    pthread_mutex_unlock(&browser->lock);
    return stay;
}

/* The desk knows first: a browser may be fast. Who is told of the page can open it, though
 * we cannot. */
static int
browser_open(void *self, mcp_auth_visit *visit, const char *url)
{
    struct mcp_auth_browser *browser = self;
    struct stay *stay = browser_find(browser, visit, false);
    int r;

    if (!stay || !url || !mcpi_opener_may(url))
        return MCP_E_INVAL;
    r = mcpi_desk_expect(stay->desk, url);
    if (r < 0)
        return r;
    if (browser->on_url)
        browser->on_url(browser->user, url);
    r = mcpi_opener_open(&browser->opener, url);
    return browser->on_url ? 0 : r;
}

static void
stay_free(struct mcp_auth_browser *browser, struct stay *stay)
{
    mcpi_desk_free(stay->desk);
    mcpi_free(browser->mem, stay);
}

static void
browser_end(void *self, mcp_auth_visit *visit)
{
    struct mcp_auth_browser *browser = self;
    struct stay *stay = browser_find(browser, visit, true);

    if (stay)
        stay_free(browser, stay);
}

/* ---- making and freeing ----------------------------------------------------------------- */

/* A path of a URI (RFC 3986), as it is asked for. */
static bool
path_is_sound(const char *path)
{
    static const char may[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789/-._~!$&'()*+,;=:@%";
    size_t len = strlen(path);

    return path[0] == '/' && len <= PATH_MAX_LEN && strspn(path, may) == len;
}

/* One of the two, as a constant; NULL: another. */
static const char *
host_of(const char *host)
{
    if (!host || strcmp(host, "127.0.0.1") == 0)
        return "127.0.0.1";
    return strcmp(host, "localhost") == 0 ? "localhost" : NULL;
}

static int
options_check(const mcp_auth_browser_options *opt, mcp_error *err)
{
    if (opt->port < 0 || opt->port > PORT_MAX)
        return mcpi_error_set(err, MCP_E_INVAL, "%d is no port", opt->port);
    if (opt->path && !path_is_sound(opt->path))
        return mcpi_error_set(err, MCP_E_INVAL, "\"%.100s\" is no path of a URI",
                              opt->path);
    if (!host_of(opt->host))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "\"%.100s\" is neither 127.0.0.1 nor localhost",
                              opt->host);
    if (opt->command && !opt->command[0] && !opt->on_url)
        return mcpi_error_set(err, MCP_E_INVAL,
                              "neither a command nor on_url to show a page with");
    return 0;
}

static struct mcp_auth_browser *
browser_alloc(const mcp_auth_browser_options *opt)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(opt->allocator);
    const char *path = opt->path ? opt->path : "/callback";
    size_t size = strlen(path) + 1;
    struct mcp_auth_browser *browser;

    browser = mcpi_alloc_zero(mem, sizeof(*browser) + size);
    if (!browser)
        return NULL;
    browser->mem = mem;
    browser->port = opt->port;
    browser->host = host_of(opt->host);
    browser->on_url = opt->on_url;
    browser->user = opt->user;
    memcpy(browser->path, path, size);
    mcpi_list_init(&browser->stays);
    browser->agent = MCP_AUTH_AGENT(.begin = browser_begin, .open = browser_open,
                                    .end = browser_end, .self = browser);
    return browser;
}

/* $BROWSER is read now: later somebody may change the environment on another thread. A
 * program with more rights than its user does not run what that user says. */
int
mcp_auth_browser_new(const mcp_auth_browser_options *opt,
                     mcp_auth_browser **ret_browser, mcp_error *err)
{
    struct mcp_auth_browser *browser;
    mcp_auth_browser_options o;
    int r;

    if (!ret_browser || mcpi_options_read(&o, sizeof(o), opt) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "options of a browser not understood");
    r = options_check(&o, err);
    if (r < 0)
        return r;
    browser = browser_alloc(&o);
    if (!browser)
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory");
    r = mcpi_opener_init(&browser->opener, browser->mem, o.command,
                         secure_getenv("BROWSER"));
    if (r == 0 && pthread_mutex_init(&browser->lock, NULL) != 0) {
        mcpi_opener_done(&browser->opener);
        r = MCP_E_NOMEM;
    }
    if (r < 0) {
        mcpi_free(browser->mem, browser);
        return mcpi_error_set(err, r, "out of memory");
    }
    *ret_browser = browser;
    return 0;
}

void
mcp_auth_browser_free(mcp_auth_browser *browser)
{
    struct mcpi_list *node;

    if (!browser)
        return;
    while ((node = mcpi_list_pop(&browser->stays)) != NULL)
        stay_free(browser, MCPI_CONTAINER(node, struct stay, node));
    mcpi_opener_done(&browser->opener);
    pthread_mutex_destroy(&browser->lock);
    mcpi_free(browser->mem, browser);
}

const mcp_auth_agent *
mcp_auth_browser_interface(const mcp_auth_browser *browser)
{
    return browser ? &browser->agent : NULL;
}
