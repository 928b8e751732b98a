/*
 * curl.c - a fetcher over libcurl, on the loop
 *
 * libcurl works in one place, fetcher_act, when a socket or its timeout is ready. From
 * in there it calls the requests back, and in these calls nobody may add or remove a
 * handle. So while `inside` is set what is started waits, and what is aborted is dead:
 * nothing of it is told any more, and it is removed as soon as libcurl returns. `sent`
 * (but for a hasty server) and `ended` are told after that, outside.
 *
 * libcurl closes a connection that it keeps only when it looks for one. If none is looked
 * for after the server has closed some, it is made to look: that is the sweep.
 *
 *   waiting   started, not yet known to libcurl
 *   open      known to libcurl
 *   dead      aborted, still known to libcurl
 */
#include "run/curl.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "run/curl_easy.h"
#include "run/curl_fetch.h"
#include "run/thread.h"

#define HEAD_BYTES 65536
#define IDLE_CONNECTIONS 64
/* From when one of them is closed by the server, and between two sweeps: libcurl looks
 * through them once a second at most. */
#define SWEEP_PAUSE 1000000 /* us */
#define SPARES 64           /* handles kept for the next requests */
/* CURLMOPT_QUICK_EXIT of 8.20: to free it does not wait for names. Others refuse it. */
#define QUICK_EXIT ((CURLMoption)21)

/* Handles of one kind. */
struct stock {
    CURL *model; /* all are copies of it */
    CURL *spares[SPARES];
    size_t count;
};

/* With our certificate, and without: of these there are none if there is no such. */
enum { NAMED, ANONYMOUS, STOCKS };

struct fetcher {
    struct mcpi_fetcher base;
    struct mcpi_curl_scene scene;
    CURLM *multi;
    struct stock stocks[STOCKS];
    struct mcpi_timer timer; /* libcurl's one timeout */
    struct mcpi_timer sweep;
    struct mcpi_list waiting, open, dead;
    bool inside;    /* libcurl is at work, so that it may not be called */
    size_t handles; /* that it has */
    size_t idle_connections;
    struct curl_slist *names; /* whose addresses are given; libcurl borrows them */
    char texts[];             /* of the scene */
};

/* ---- libcurl's handles ------------------------------------------------------ */

static struct fetcher *
fetcher_of(const struct mcpi_curl_fetch *fetch)
{
    return MCPI_CONTAINER(fetch->base.fetcher, struct fetcher, base);
}

/* NULL: a handle of libcurl's own, with which it closes connections. */
static struct mcpi_curl_fetch *
fetch_of(CURL *easy)
{
    char *private = NULL;

    (void)curl_easy_getinfo(easy, CURLINFO_PRIVATE, &private);
    return (struct mcpi_curl_fetch *)(void *)private;
}

static struct stock *
fetcher_stock(struct fetcher *fetcher, bool anonymous)
{
    struct stock *other = &fetcher->stocks[ANONYMOUS];

    return anonymous && other->model ? other : &fetcher->stocks[NAMED];
}

static CURL *
stock_take(struct stock *stock)
{
    return stock->count > 0 ? stock->spares[--stock->count]
                            : curl_easy_duphandle(stock->model);
}

static void
stock_give(struct stock *stock, CURL *easy)
{
    if (stock->count < SPARES)
        stock->spares[stock->count++] = easy;
    else
        curl_easy_cleanup(easy);
}

static void
stock_done(struct stock *stock)
{
    while (stock->count > 0)
        curl_easy_cleanup(stock->spares[--stock->count]);
    curl_easy_cleanup(stock->model);
}

/* libcurl counts connections that are in use among those that it keeps. */
static void
fetcher_keep(struct fetcher *fetcher)
{
    (void)curl_multi_setopt(fetcher->multi, CURLMOPT_MAXCONNECTS,
                            (long)(fetcher->idle_connections + fetcher->handles));
}

static int
fetch_add(struct mcpi_curl_fetch *fetch)
{
    struct fetcher *fetcher = fetcher_of(fetch);

    fetcher->handles++;
    fetcher_keep(fetcher);
    if (curl_multi_add_handle(fetcher->multi, fetch->easy) == CURLM_OK) {
        fetch->added = true;
        return 0;
    }
    fetcher->handles--;
    return MCP_E_NOMEM;
}

/* Its connection is closed, unless the answer was whole: that may write a last word of
 * TLS, and this may be called while nobody runs the loop. */
static void
fetch_remove(struct mcpi_curl_fetch *fetch)
{
    struct fetcher *fetcher = fetcher_of(fetch);
    bool here = mcpi_loop_is_here(fetcher->scene.loop);
    struct mcpi_sigpipe before;

    if (!fetch->added)
        return;
    if (!here)
        mcpi_sigpipe_hold(&before);
    (void)curl_multi_remove_handle(fetcher->multi, fetch->easy);
    if (!here)
        mcpi_sigpipe_release(&before);
    fetch->added = false;
    fetcher->handles--;
    fetcher_keep(fetcher);
}

static void
fetch_free(struct mcpi_curl_fetch *fetch)
{
    struct stock *stock = fetcher_stock(fetcher_of(fetch), fetch->anonymous);
    CURL *easy = fetch->easy;

    mcpi_curl_fetch_free(fetch);
    stock_give(stock, easy);
}

/* ---- endings ---------------------------------------------------------------- */

/* The one ending that is told. */
static void
fetch_end(struct mcpi_curl_fetch *fetch, CURLcode code)
{
    struct mcpi_fetch_fault fault;
    bool is_whole = !mcpi_curl_fetch_fault(fetch, code, &fault);

    mcpi_curl_fetch_hush(fetch);
    fetch_remove(fetch);
    fetch->ops->ended(fetch->user, is_whole ? NULL : &fault);
    fetch_free(fetch);
}

static void
on_silent(struct mcpi_curl_fetch *fetch)
{
    fetch_end(fetch, CURLE_OK);
}

static void
fetch_redirect(struct mcpi_curl_fetch *fetch)
{
    CURLcode code;

    fetch_remove(fetch);
    code = mcpi_curl_fetch_redirect(fetch);
    if (code != CURLE_OK || fetch_add(fetch) < 0)
        fetch_end(fetch, CURLE_OUT_OF_MEMORY);
}

static void
fetcher_bury(struct fetcher *fetcher)
{
    struct mcpi_curl_fetch *fetch;
    struct mcpi_list *node;

    for (node = mcpi_list_pop(&fetcher->dead); node;
         node = mcpi_list_pop(&fetcher->dead)) {
        fetch = MCPI_CONTAINER(node, struct mcpi_curl_fetch, node);
        fetch_remove(fetch);
        fetch_free(fetch);
    }
}

/* Whoever is told may abort any of them, and start others. */
static void
fetcher_tell_sent(struct fetcher *fetcher)
{
    struct mcpi_list *sending = &fetcher->scene.sending;
    struct mcpi_curl_fetch *fetch;
    struct mcpi_list look, *node;

    mcpi_list_init(&look);
    for (node = mcpi_list_pop(sending); node; node = mcpi_list_pop(sending))
        mcpi_list_append(&look, node);
    for (node = mcpi_list_pop(&look); node; node = mcpi_list_pop(&look)) {
        fetch = MCPI_CONTAINER(node, struct mcpi_curl_fetch, sending);
        if (mcpi_curl_fetch_look(fetch) == MCPI_FETCH_SENT)
            mcpi_curl_fetch_tell_sent(fetch);
        else
            mcpi_list_append(sending, node);
    }
}

static void
fetcher_tell_ended(struct fetcher *fetcher)
{
    struct mcpi_curl_fetch *fetch;
    CURLMsg *message;
    int more;

    for (message = curl_multi_info_read(fetcher->multi, &more); message;
         message = curl_multi_info_read(fetcher->multi, &more)) {
        fetch = fetch_of(message->easy_handle);
        if (!fetch || message->msg != CURLMSG_DONE)
            continue;
        if (fetch->next)
            fetch_redirect(fetch);
        else
            fetch_end(fetch, message->data.result);
    }
}

static void
fetcher_add_waiting(struct fetcher *fetcher)
{
    struct mcpi_curl_fetch *fetch;
    struct mcpi_list *node;

    for (node = mcpi_list_pop(&fetcher->waiting); node;
         node = mcpi_list_pop(&fetcher->waiting)) {
        fetch = MCPI_CONTAINER(node, struct mcpi_curl_fetch, node);
        mcpi_list_append(&fetcher->open, node);
        if (fetch_add(fetch) < 0)
            fetch_end(fetch, CURLE_OUT_OF_MEMORY);
    }
}

/* ---- libcurl at work -------------------------------------------------------- */

static void
fetcher_act(struct fetcher *fetcher, curl_socket_t fd, int events)
{
    int running;

    fetcher->inside = true;
    (void)curl_multi_socket_action(fetcher->multi, fd, events, &running);
    fetcher->inside = false;
    fetcher_bury(fetcher);
    fetcher_tell_sent(fetcher);
    fetcher_tell_ended(fetcher);
    fetcher_add_waiting(fetcher);
}

/* What was posted before this is read comes first (F10). */
static void
on_ready(void *user, int fd, int events)
{
    struct fetcher *fetcher = user;

    mcpi_loop_run_posts(fetcher->scene.loop);
    fetcher_act(fetcher, fd, events);
}

/* To fail here would end all transfers. There is memory for ours before libcurl has
 * them; a socket of its resolver that is not watched is looked at by and by. */
static int
on_socket(CURL *easy, curl_socket_t fd, int what, void *user, void *socket_user)
{
    const struct mcpi_curl_fetch *fetch = fetch_of(easy);
    struct fetcher *fetcher = user;

    (void)socket_user;
    (void)mcpi_curl_watches_set(&fetcher->scene.watches, fd, what,
                                fetch && !fetch->connecting);
    return 0;
}

static int
on_close(void *user, curl_socket_t fd)
{
    struct fetcher *fetcher = user;

    mcpi_curl_watches_close(&fetcher->scene.watches, fd);
    return 0;
}

static int
on_timeout(CURLM *multi, long ms, void *user)
{
    struct fetcher *fetcher = user;
    struct mcpi_loop *loop = fetcher->scene.loop;
    int64_t at = MCPI_NEVER;

    (void)multi;
    if (ms >= 0)
        at = mcpi_time_add(mcpi_loop_now(loop), (int64_t)ms * 1000);
    mcpi_timer_arm(mcpi_loop_timers(loop), &fetcher->timer, at);
    return 0;
}

/* libcurl says once for each moment when it is to be called. If that is too early for
 * it, because its clock is not ours, it says nothing more: it must be asked. */
static void
on_timer(struct mcpi_timer *timer, int64_t now)
{
    struct fetcher *fetcher = MCPI_CONTAINER(timer, struct fetcher, timer);
    long ms = -1;

    (void)now;
    fetcher_act(fetcher, CURL_SOCKET_TIMEOUT, 0);
    if (mcpi_timer_is_armed(timer))
        return;
    (void)curl_multi_timeout(fetcher->multi, &ms);
    (void)on_timeout(fetcher->multi, ms, fetcher);
}

/* ---- idle connections -------------------------------------------------------- */

static void
fetcher_sweep(struct fetcher *fetcher)
{
    CURL *sweeper = mcpi_curl_easy_new_sweeper(fetcher->stocks[NAMED].model);

    if (!sweeper)
        return;
    if (curl_multi_add_handle(fetcher->multi, sweeper) == CURLM_OK) {
        fetcher_act(fetcher, CURL_SOCKET_TIMEOUT, 0);
        (void)curl_multi_remove_handle(fetcher->multi, sweeper);
    }
    curl_easy_cleanup(sweeper);
}

static void
on_spoiled(void *user)
{
    struct fetcher *fetcher = user;
    struct mcpi_loop *loop = fetcher->scene.loop;

    if (!mcpi_timer_is_armed(&fetcher->sweep))
        mcpi_timer_arm(mcpi_loop_timers(loop), &fetcher->sweep,
                       mcpi_time_add(mcpi_loop_now(loop), SWEEP_PAUSE));
}

/* Again, until all are closed: libcurl may have looked just before. */
static void
on_sweep(struct mcpi_timer *timer, int64_t now)
{
    struct fetcher *fetcher = MCPI_CONTAINER(timer, struct fetcher, sweep);

    (void)now;
    if (fetcher->scene.watches.spoiled > 0)
        fetcher_sweep(fetcher);
    if (fetcher->scene.watches.spoiled > 0)
        on_spoiled(fetcher);
}

/* ---- what a fetcher can do -------------------------------------------------- */

static int
fetcher_start(struct mcpi_fetcher *self, const struct mcpi_fetch_options *opt,
              struct mcpi_fetch **ret_fetch)
{
    struct fetcher *fetcher = MCPI_CONTAINER(self, struct fetcher, base);
    struct stock *stock = fetcher_stock(fetcher, opt->anonymous);
    CURL *easy = stock_take(stock);
    struct mcpi_curl_fetch *fetch;
    int r;

    if (!easy)
        return MCP_E_NOMEM;
    r = mcpi_curl_fetch_new(&fetcher->scene, opt, easy, &fetch);
    if (r < 0) {
        stock_give(stock, easy);
        return r;
    }
    fetch->base.fetcher = self;
    if (!fetcher->inside && fetch_add(fetch) < 0) {
        fetch_free(fetch);
        return MCP_E_NOMEM;
    }
    mcpi_list_append(fetcher->inside ? &fetcher->waiting : &fetcher->open,
                     &fetch->node);
    *ret_fetch = &fetch->base;
    return 0;
}

static void
fetcher_abort(struct mcpi_fetch *base)
{
    struct mcpi_curl_fetch *fetch = MCPI_CONTAINER(base, struct mcpi_curl_fetch, base);
    struct fetcher *fetcher = fetcher_of(fetch);

    if (fetch->over) /* it is just being told that it has ended */
        return;
    mcpi_curl_fetch_hush(fetch);
    if (fetch->added && fetcher->inside) {
        mcpi_list_append(&fetcher->dead, &fetch->node);
        return;
    }
    fetch_remove(fetch);
    fetch_free(fetch);
}

static enum mcpi_fetch_phase
fetcher_phase(const struct mcpi_fetch *base)
{
    return mcpi_curl_fetch_look(MCPI_CONTAINER(base, struct mcpi_curl_fetch, base));
}

/* ---- making it -------------------------------------------------------------- */

/* Where libcurl looks for one, if none is given. */
static bool
environment_has_proxy(void)
{
    static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY",
                                        "all_proxy", "ALL_PROXY"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (getenv(names[i])) /* NOLINT(concurrency-mt-unsafe) */
            return true;
    return false;
}

static int
names_make(struct fetcher *fetcher, const char *const *lines)
{
    CURL *model = fetcher->stocks[NAMED].model;
    struct curl_slist *longer;

    for (; lines && *lines; lines++) {
        longer = curl_slist_append(fetcher->names, *lines);
        if (!longer)
            return MCP_E_NOMEM;
        fetcher->names = longer;
    }
    (void)curl_easy_setopt(model, CURLOPT_RESOLVE, fetcher->names);
    return 0;
}

static int
multi_make(struct fetcher *fetcher)
{
    CURL *model = fetcher->stocks[NAMED].model;
    CURLM *multi = curl_multi_init();

    fetcher->multi = multi;
    if (!multi || mcpi_curl_fetch_prepare(model) != CURLE_OK)
        return MCP_E_NOMEM;
    (void)curl_easy_setopt(model, CURLOPT_CLOSESOCKETFUNCTION, on_close);
    (void)curl_easy_setopt(model, CURLOPT_CLOSESOCKETDATA, fetcher);
    (void)curl_multi_setopt(multi, QUICK_EXIT, 1L);
    (void)curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, on_socket);
    (void)curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, fetcher);
    (void)curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, on_timeout);
    (void)curl_multi_setopt(multi, CURLMOPT_TIMERDATA, fetcher);
    return 0;
}

/* The other handles, once the named ones are all that they are to be. Without a
 * certificate they would be the same. */
static int
anonymous_make(struct fetcher *fetcher, const struct mcpi_curl_options *opt)
{
    struct stock *other = &fetcher->stocks[ANONYMOUS];

    if (!opt->cert_file && !opt->key_file)
        return 0;
    other->model = mcpi_curl_easy_new_anonymous(fetcher->stocks[NAMED].model);
    return other->model ? 0 : MCP_E_NOMEM;
}

static void
fetcher_init(struct fetcher *fetcher, const struct mcpi_curl_options *opt)
{
    struct mcpi_curl_scene *scene = &fetcher->scene;
    char *at = fetcher->texts;

    fetcher->base.start = fetcher_start;
    fetcher->base.abort = fetcher_abort;
    fetcher->base.phase = fetcher_phase;
    fetcher->idle_connections = opt->idle_connections > 0 ? opt->idle_connections
                                                          : IDLE_CONNECTIONS;
    mcpi_timer_init(&fetcher->timer, on_timer);
    mcpi_timer_init(&fetcher->sweep, on_sweep);
    mcpi_list_init(&fetcher->waiting);
    mcpi_list_init(&fetcher->open);
    mcpi_list_init(&fetcher->dead);
    scene->mem = mcpi_loop_mem(opt->loop);
    scene->loop = opt->loop;
    scene->head_bytes = opt->head_bytes > 0 ? opt->head_bytes : HEAD_BYTES;
    scene->follow_any = opt->follow_any;
    scene->proxies = opt->proxy ? opt->proxy[0] != '\0' : environment_has_proxy();
    scene->no_proxy = mcpi_text_stow(&at, opt->no_proxy,
                                     opt->no_proxy ? strlen(opt->no_proxy) : 0);
    scene->connecting = opt->connecting;
    scene->connecting_user = opt->connecting_user;
    scene->silent = on_silent;
    mcpi_list_init(&scene->sending);
    mcpi_curl_watches_init(&scene->watches, opt->loop, on_ready, fetcher);
    scene->watches.on_spoiled = on_spoiled;
}

int
mcpi_curl_new(const struct mcpi_curl_options *opt, struct mcpi_fetcher **ret_fetcher,
              mcp_error *err)
{
    size_t texts = opt->no_proxy ? strlen(opt->no_proxy) + 1 : 0;
    struct fetcher *fetcher;
    int r;

    fetcher = mcpi_alloc_zero(mcpi_loop_mem(opt->loop), sizeof(*fetcher) + texts);
    if (!fetcher)
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory for HTTP");
    fetcher_init(fetcher, opt);
    r = mcpi_curl_easy_new(opt, &fetcher->stocks[NAMED].model, err);
    if (r == 0 && (names_make(fetcher, opt->resolve) < 0 || multi_make(fetcher) < 0 ||
                   anonymous_make(fetcher, opt) < 0))
        r = mcpi_error_set(err, MCP_E_NOMEM, "out of memory for HTTP");
    if (r < 0) {
        mcpi_curl_free(&fetcher->base);
        return r;
    }
    *ret_fetcher = &fetcher->base;
    return 0;
}

static void
list_abort(struct mcpi_list *list)
{
    struct mcpi_list *node;

    for (node = mcpi_list_first(list); node; node = mcpi_list_first(list))
        fetcher_abort(&MCPI_CONTAINER(node, struct mcpi_curl_fetch, node)->base);
}

void
mcpi_curl_free(struct mcpi_fetcher *fetcher)
{
    struct fetcher *self = MCPI_CONTAINER(fetcher, struct fetcher, base);
    struct mcpi_sigpipe before;

    if (!fetcher)
        return;
    assert(!self->inside);
    list_abort(&self->waiting);
    list_abort(&self->open);
    mcpi_sigpipe_hold(&before); /* last words of TLS */
    (void)curl_multi_cleanup(self->multi);
    mcpi_sigpipe_release(&before);
    for (size_t i = 0; i < STOCKS; i++)
        stock_done(&self->stocks[i]);
    curl_slist_free_all(self->names);
    mcpi_timer_disarm(mcpi_loop_timers(self->scene.loop), &self->timer);
    mcpi_timer_disarm(mcpi_loop_timers(self->scene.loop), &self->sweep);
    mcpi_curl_watches_done(&self->scene.watches);
    mcpi_curl_url_unref(self->scene.url);
    mcpi_free(self->scene.mem, self);
}
