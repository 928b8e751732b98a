/* curl_fetch.c - one request of a fetcher over libcurl */
#include "run/curl_fetch.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "run/curl_easy.h"
#include "run/curl_lines.h"

#define TOO_NEAR "the address is not to be reached from here"

struct head {
    struct mcpi_fetch_head base;
    CURL *easy;
};

/* ---- how far it is ---------------------------------------------------------- */

enum mcpi_fetch_phase
mcpi_curl_fetch_look(struct mcpi_curl_fetch *fetch)
{
    curl_off_t uploaded = 0;
    long request = 0;

    if (fetch->sent)
        return MCPI_FETCH_SENT;
    if (fetch->begun)
        (void)curl_easy_getinfo(fetch->easy, CURLINFO_REQUEST_SIZE, &request);
    if (fetch->begun && request > fetch->mark) {
        fetch->left = true;
        (void)curl_easy_getinfo(fetch->easy, CURLINFO_SIZE_UPLOAD_T, &uploaded);
        if (uploaded != fetch->uploaded)
            fetch->active_at = mcpi_loop_now(fetch->scene->loop);
        fetch->uploaded = uploaded;
        if ((size_t)uploaded >= fetch->body_len)
            return MCPI_FETCH_SENT;
    }
    return fetch->left ? MCPI_FETCH_SENDING : MCPI_FETCH_UNSENT;
}

void
mcpi_curl_fetch_tell_sent(struct mcpi_curl_fetch *fetch)
{
    fetch->sent = fetch->left = true;
    mcpi_list_remove(&fetch->sending);
    if (fetch->ops->sent)
        fetch->ops->sent(fetch->user);
}

void
mcpi_curl_fetch_hush(struct mcpi_curl_fetch *fetch)
{
    fetch->over = true;
    mcpi_timer_disarm(mcpi_loop_timers(fetch->scene->loop), &fetch->idle);
    mcpi_list_remove(&fetch->sending);
    mcpi_list_remove(&fetch->node);
}

static void
on_idle(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_curl_fetch *fetch = MCPI_CONTAINER(timer, struct mcpi_curl_fetch, idle);
    int64_t until;

    (void)mcpi_curl_fetch_look(fetch); /* while it is being sent it is not silent */
    until = mcpi_time_add(fetch->active_at, fetch->idle_us);
    if (now < until) {
        mcpi_timer_arm(mcpi_loop_timers(fetch->scene->loop), timer, until);
        return;
    }
    fetch->stop = MCP_E_CLOSED;
    (void)snprintf(fetch->why, sizeof(fetch->why), "nothing came for %lld ms",
                   (long long)(fetch->idle_us / 1000));
    fetch->scene->silent(fetch);
}

/* ---- where it goes ---------------------------------------------------------- */

/* Who connects to the server itself connects to the URL's port. */
static bool
fetch_is_proxied(const struct mcpi_curl_fetch *fetch, unsigned port)
{
    return fetch->scene->proxies && !fetch->url->direct && port != fetch->url->port;
}

/* An address in the URL counts too, for a proxy goes there for us. */
static bool
fetch_may_go(const struct mcpi_curl_fetch *fetch, enum mcpi_address_kind kind)
{
    return mcpi_address_may(kind, fetch->nearest) &&
           mcpi_address_may(fetch->url->near, fetch->nearest);
}

union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
    struct sockaddr_storage room;
};

/* Before a socket is opened for it; ANY: it is a proxy's. */
static enum mcpi_address_kind
fetch_judge_address(const struct mcpi_curl_fetch *fetch, const union address *to)
{
    unsigned port = 0;

    if (to->any.sa_family == AF_INET)
        port = ntohs(to->four.sin_port);
    else if (to->any.sa_family == AF_INET6)
        port = ntohs(to->six.sin6_port);
    if (fetch_is_proxied(fetch, port))
        return MCPI_ADDRESS_ANY;
    return mcpi_address_kind(&to->any);
}

/* Once there is a connection, which may be one that was kept. If nobody knows where it
 * is, then not where it may go, if there is a limit. */
static enum mcpi_address_kind
fetch_judge_peer(const struct mcpi_curl_fetch *fetch, const char *ip, int port,
                 int local_port)
{
    const struct mcpi_curl_scene *scene = fetch->scene;
    bool limited = fetch->nearest != MCPI_ADDRESS_ANY;

    if (scene->connecting)
        return mcpi_curl_watches_kind(&scene->watches, local_port);
    if (fetch_is_proxied(fetch, (unsigned)port))
        return MCPI_ADDRESS_ANY;
    if (ip[0] == '\0')
        return limited ? MCPI_ADDRESS_SPECIAL : MCPI_ADDRESS_PUBLIC;
    return mcpi_address_kind_of_host(ip, strlen(ip));
}

/* ---- called by libcurl ------------------------------------------------------ */

/* Asked before it begins, which may be once more. */
static bool
fetch_may_begin(struct mcpi_curl_fetch *fetch)
{
    bool repeatable = strcmp(fetch->method, "POST") != 0;

    if (fetch->over)
        return false;
    if (!fetch->begun || repeatable || mcpi_curl_fetch_look(fetch) == MCPI_FETCH_UNSENT)
        return true;
    fetch->stop = MCP_E_CLOSED;
    (void)snprintf(fetch->why, sizeof(fetch->why),
                   "the connection was lost before an answer came");
    return false;
}

/* There is a connection, and nothing of the request was written to it. */
static int
on_begin(void *user, char *ip, char *local_ip, int port, int local_port)
{
    struct mcpi_curl_fetch *fetch = user;
    struct mcpi_curl_scene *scene = fetch->scene;

    (void)local_ip;
    if (!fetch_may_begin(fetch))
        return CURL_PREREQFUNC_ABORT;
    fetch->from = fetch_judge_peer(fetch, ip, port, local_port);
    if (!fetch_may_go(fetch, fetch->from)) {
        fetch->stop = MCP_E_SEND_FAILED;
        (void)snprintf(fetch->why, sizeof(fetch->why), TOO_NEAR);
        return CURL_PREREQFUNC_ABORT;
    }
    fetch->begun = true;
    fetch->connecting = false;
    (void)curl_easy_getinfo(fetch->easy, CURLINFO_REQUEST_SIZE, &fetch->mark);
    mcpi_list_remove(&fetch->sending);
    mcpi_list_append(&scene->sending, &fetch->sending);
    fetch->active_at = mcpi_loop_now(scene->loop);
    mcpi_timer_arm(mcpi_loop_timers(scene->loop), &fetch->idle,
                   mcpi_time_add(fetch->active_at, fetch->idle_us));
    return CURL_PREREQFUNC_OK;
}

static const char *
head_find_nth(const struct mcpi_fetch_head *base, const char *name, unsigned number)
{
    const struct head *head = (const struct head *)(const void *)base;
    struct curl_header *found;

    if (curl_easy_header(head->easy, name, number, CURLH_HEADER, -1, &found) !=
        CURLHE_OK)
        return NULL;
    return found->value;
}

static const char *
head_find(const struct mcpi_fetch_head *base, const char *name)
{
    return head_find_nth(base, name, 0);
}

static int
fetch_be_sent_on(struct mcpi_curl_fetch *fetch, long status, const char *location)
{
    struct mcpi_curl_redirect redirect = {.url = fetch->url->text,
                                          .location = location,
                                          .status = status,
                                          .count = fetch->redirects,
                                          .follow_any = fetch->scene->follow_any &&
                                                        !fetch->within};
    bool foreign;
    char *target;
    int r;

    r = mcpi_curl_url_redirect(&redirect, &target, &foreign, fetch->why,
                               sizeof(fetch->why));
    if (r < 0)
        return r;
    r = mcpi_curl_url_new(fetch->scene->mem, target, &fetch->next);
    curl_free(target);
    if (r == 0 && foreign)
        fetch->lines = mcpi_curl_lines_drop_secrets(fetch->lines);
    if (r == 0 && fetch->ops->redirected)
        fetch->ops->redirected(fetch->user, (int)status, fetch->next->text);
    return r;
}

/* For who wants to see what goes over the wire. What a URL asks for may be a secret, and
 * stays out. */
static void
fetch_log(const struct mcpi_curl_fetch *fetch, long status)
{
    const char *url = fetch->url->text;
    curl_off_t us = 0;

    (void)curl_easy_getinfo(fetch->easy, CURLINFO_STARTTRANSFER_TIME_T, &us);
    MCPI_LOG(mcpi_loop_log(fetch->scene->loop), MCP_LOG_DEBUG,
             "http: %s %.*s: %ld after %ld ms", fetch->method, (int)strcspn(url, "?"),
             url, status, (long)(us / 1000));
}

static int
fetch_take_head(struct mcpi_curl_fetch *fetch, long status)
{
    struct head head = {.base = {.status = (int)status,
                                 .find = head_find,
                                 .find_nth = head_find_nth,
                                 .from = fetch->from},
                        .easy = fetch->easy};
    const char *location = NULL;

    fetch_log(fetch, status);
    fetch->headed = true;
    if (!fetch->sent)
        mcpi_curl_fetch_tell_sent(fetch); /* it is answered: enough was read of it */
    if (fetch->over)
        return 0;
    if (!fetch->stays && mcpi_curl_url_is_redirect(status))
        location = head_find(&head.base, "Location");
    if (location)
        return fetch_be_sent_on(fetch, status, location);
    return fetch->ops->head(fetch->user, &head.base);
}

/* What is returned to libcurl: all was taken, or else it ends the transfer. */
static size_t
fetch_taken(struct mcpi_curl_fetch *fetch, int r, size_t len)
{
    if (fetch->over)
        return 0;
    if (r < 0)
        fetch->stop = r;
    return r < 0 ? 0 : len;
}

/* Lines of trailers come here too; they count, and nobody is told. */
static size_t
on_header(char *data, size_t size, size_t count, void *user)
{
    struct mcpi_curl_fetch *fetch = user;
    size_t len = size * count;
    long status = 0;

    if (fetch->over)
        return 0;
    fetch->active_at = mcpi_loop_now(fetch->scene->loop);
    fetch->head_len += len;
    if (fetch->head_len > fetch->scene->head_bytes) {
        (void)snprintf(fetch->why, sizeof(fetch->why),
                       "the head of the answer is longer than %zu bytes",
                       fetch->scene->head_bytes);
        return fetch_taken(fetch, MCP_E_LIMIT, len);
    }
    if (fetch->headed || (data[0] != '\r' && data[0] != '\n'))
        return len;
    (void)curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200 && status != 101) /* the head that counts is still to come */
        return len;
    return fetch_taken(fetch, fetch_take_head(fetch, status), len);
}

static size_t
on_body(char *data, size_t size, size_t count, void *user)
{
    struct mcpi_curl_fetch *fetch = user;
    size_t len = size * count;

    if (fetch->over)
        return 0;
    fetch->active_at = mcpi_loop_now(fetch->scene->loop);
    if (fetch->next) { /* this is of no interest */
        fetch->skipped += len;
        return fetch->skipped > fetch->scene->head_bytes ? 0 : len;
    }
    return fetch_taken(fetch, fetch->ops->body(fetch->user, data, len), len);
}

/* A test sends it elsewhere, if it likes. */
static void
scene_bend(const struct mcpi_curl_scene *scene, struct curl_sockaddr *address,
           union address *to)
{
    if (!scene->connecting)
        return;
    scene->connecting(scene->connecting_user, &to->any);
    address->family = to->any.sa_family;
    address->addrlen = to->any.sa_family == AF_INET6 ? sizeof(to->six)
                                                     : sizeof(to->four);
    memcpy(&address->addr, to, address->addrlen);
}

static int
fetch_open(struct mcpi_curl_fetch *fetch, struct curl_sockaddr *address)
{
    struct mcpi_curl_watches *watches = &fetch->scene->watches;
    enum mcpi_address_kind kind;
    union address to = {.any = {.sa_family = AF_UNSPEC}};
    int fd;

    memcpy(&to, &address->addr,
           address->addrlen < sizeof(to) ? address->addrlen : sizeof(to));
    kind = fetch_judge_address(fetch, &to);
    if (!fetch_may_go(fetch, kind)) {
        fetch->too_near = true;
        return -1;
    }
    scene_bend(fetch->scene, address, &to);
    fd = mcpi_curl_watches_open(watches, address);
    if (fd < 0)
        fetch->open_errno = errno;
    else
        mcpi_curl_watches_mark(watches, fd, kind);
    return fd;
}

/* libcurl tries the next address if there is no socket for this one. */
static curl_socket_t
on_open(void *user, curlsocktype purpose, struct curl_sockaddr *address)
{
    struct mcpi_curl_fetch *fetch = user;
    int fd;

    (void)purpose;
    if (!fetch_may_begin(fetch))
        return CURL_SOCKET_BAD;
    fetch->connecting = true;
    fd = fetch_open(fetch, address);
    return fd >= 0 ? fd : CURL_SOCKET_BAD;
}

/* ---- its beginning ---------------------------------------------------------- */

CURLcode
mcpi_curl_fetch_prepare(CURL *easy)
{
    CURLcode code = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, on_header);

    if (!code)
        code = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, on_body);
    if (!code)
        code = curl_easy_setopt(easy, CURLOPT_PREREQFUNCTION, on_begin);
    if (!code)
        code = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, on_open);
    return code;
}

static CURLcode
easy_set_method(CURL *easy, const struct mcpi_curl_fetch *fetch)
{
    bool is_post = strcmp(fetch->method, "POST") == 0;
    bool is_plain = is_post || strcmp(fetch->method, "GET") == 0;
    CURLcode code;

    if (is_post || fetch->body_len > 0) {
        code = curl_easy_setopt(easy, CURLOPT_POST, 1L);
        if (!code)
            code = curl_easy_setopt(easy, CURLOPT_POSTFIELDS, fetch->body);
        if (!code)
            code = curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE,
                                    (curl_off_t)fetch->body_len);
    } else {
        code = curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);
    }
    if (!code)
        code = curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST,
                                is_plain ? NULL : fetch->method);
    return code;
}

/* The text is for older versions, that remember the one of an earlier request. The
 * environment may name a proxy at any time: whether there is one is not asked. */
static CURLcode
easy_set_url(CURL *easy, const struct mcpi_curl_fetch *fetch)
{
    const struct mcpi_curl_url *url = fetch->url;
    CURLcode code = curl_easy_setopt(easy, CURLOPT_NOPROXY,
                                     url->direct ? "*" : fetch->scene->no_proxy);

    (void)curl_easy_setopt(easy, CURLOPT_CURLU, url->parsed);
    return code ? code : curl_easy_setopt(easy, CURLOPT_URL, url->text);
}

static CURLcode
easy_set_request(CURL *easy, struct mcpi_curl_fetch *fetch)
{
    CURLcode code = easy_set_method(easy, fetch);

    if (!code)
        code = easy_set_url(easy, fetch);
    if (code)
        return code;
    (void)curl_easy_setopt(easy, CURLOPT_HTTPHEADER, fetch->lines);
    (void)curl_easy_setopt(easy, CURLOPT_PRIVATE, fetch);
    (void)curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, fetch->text);
    (void)curl_easy_setopt(easy, CURLOPT_HEADERDATA, fetch);
    (void)curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch);
    (void)curl_easy_setopt(easy, CURLOPT_PREREQDATA, fetch);
    (void)curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, fetch);
    return CURLE_OK;
}

/* All in one allocation: the request, its lines and its body. */
static struct mcpi_curl_fetch *
fetch_make(const mcp_allocator *mem, const struct mcpi_fetch_options *opt)
{
    size_t lines = mcpi_curl_lines_room(opt->fields, opt->fields_len);
    size_t body = opt->body ? opt->body_len : 0;
    size_t size = sizeof(struct mcpi_curl_fetch) + lines + body;
    struct mcpi_curl_fetch *fetch;
    char *at;

    fetch = mcpi_alloc_zero_first(mem, size, sizeof(*fetch));
    if (!fetch)
        return NULL;
    fetch->size = size;
    at = (char *)(fetch + 1);
    fetch->lines = mcpi_curl_lines_make(at, opt->fields, opt->fields_len);
    at += lines;
    fetch->body = at;
    fetch->body_len = body;
    if (body > 0)
        memcpy(at, opt->body, body);
    return fetch;
}

/* Counted for the caller. */
static int
scene_find_url(struct mcpi_curl_scene *scene, const char *text,
               struct mcpi_curl_url **ret_url)
{
    struct mcpi_curl_url *url;
    int r;

    if (!scene->url || strcmp(scene->url->text, text) != 0) {
        r = mcpi_curl_url_new(scene->mem, text, &url);
        if (r < 0)
            return r;
        mcpi_curl_url_unref(scene->url);
        scene->url = url;
    }
    *ret_url = mcpi_curl_url_ref(scene->url);
    return 0;
}

int
mcpi_curl_fetch_new(struct mcpi_curl_scene *scene, const struct mcpi_fetch_options *opt,
                    CURL *easy, struct mcpi_curl_fetch **ret_fetch)
{
    struct mcpi_curl_fetch *fetch;
    struct mcpi_curl_url *url;
    int r;

    r = scene_find_url(scene, opt->url, &url);
    if (r < 0)
        return r;
    fetch = fetch_make(scene->mem, opt);
    if (!fetch) {
        mcpi_curl_url_unref(url);
        return MCP_E_NOMEM;
    }
    fetch->url = url;
    fetch->scene = scene;
    fetch->easy = easy;
    fetch->ops = opt->ops;
    fetch->user = opt->user;
    fetch->method = opt->method;
    fetch->idle_us = opt->idle_us;
    fetch->nearest = opt->nearest;
    fetch->stays = opt->stays;
    fetch->within = opt->within;
    fetch->anonymous = opt->anonymous;
    mcpi_list_init(&fetch->node);
    mcpi_list_init(&fetch->sending);
    mcpi_timer_init(&fetch->idle, on_idle);
    if (easy_set_request(easy, fetch) != CURLE_OK) {
        mcpi_curl_fetch_free(fetch);
        return MCP_E_NOMEM;
    }
    *ret_fetch = fetch;
    return 0;
}

CURLcode
mcpi_curl_fetch_redirect(struct mcpi_curl_fetch *fetch)
{
    CURLcode code;

    mcpi_timer_disarm(mcpi_loop_timers(fetch->scene->loop), &fetch->idle);
    fetch->redirects++;
    fetch->begun = fetch->sent = fetch->headed = false;
    fetch->head_len = fetch->skipped = 0;
    fetch->uploaded = 0;
    fetch->open_errno = 0;
    fetch->too_near = false;
    mcpi_curl_url_unref(fetch->url);
    fetch->url = fetch->next;
    fetch->next = NULL;
    code = easy_set_url(fetch->easy, fetch);
    if (!code)
        code = curl_easy_setopt(fetch->easy, CURLOPT_HTTPHEADER, fetch->lines);
    return code;
}

/* ---- its end ---------------------------------------------------------------- */

/* The handle forgets what points to the request. Lines and body may hold secrets. */
void
mcpi_curl_fetch_free(struct mcpi_curl_fetch *fetch)
{
    const mcp_allocator *mem = fetch->scene->mem;

    (void)curl_easy_setopt(fetch->easy, CURLOPT_ERRORBUFFER, NULL);
    (void)curl_easy_setopt(fetch->easy, CURLOPT_HTTPHEADER, NULL);
    (void)curl_easy_setopt(fetch->easy, CURLOPT_POSTFIELDS, NULL);
    (void)curl_easy_setopt(fetch->easy, CURLOPT_CURLU, NULL);
    mcpi_curl_url_unref(fetch->next);
    mcpi_curl_url_unref(fetch->url);
    explicit_bzero(fetch, fetch->size);
    mcpi_free(mem, fetch);
}

/* Was it held up for that? Of several addresses one may have been far, and silent. */
static bool
fetch_was_too_near(const struct mcpi_curl_fetch *fetch, CURLcode code)
{
    return (fetch->too_near && code == CURLE_COULDNT_CONNECT) ||
           !mcpi_address_may(fetch->url->near, fetch->nearest);
}

static int
fetch_status(struct mcpi_curl_fetch *fetch, CURLcode code, enum mcpi_fetch_phase phase)
{
    struct mcpi_curl_end end = {.easy = fetch->easy,
                                .code = code,
                                .text = fetch->text,
                                .open_errno = fetch->open_errno,
                                .begun = fetch->begun,
                                .sent = phase == MCPI_FETCH_SENT,
                                .headed = fetch->headed};

    if (fetch->stop == 0 && fetch_was_too_near(fetch, code)) {
        fetch->stop = MCP_E_SEND_FAILED;
        (void)snprintf(fetch->why, sizeof(fetch->why), TOO_NEAR);
    }
    if (fetch->stop == 0)
        return mcpi_curl_easy_fault(&end, fetch->why, sizeof(fetch->why));
    if (!fetch->why[0])
        (void)snprintf(fetch->why, sizeof(fetch->why), "the answer was not taken");
    return fetch->stop;
}

bool
mcpi_curl_fetch_fault(struct mcpi_curl_fetch *fetch, CURLcode code,
                      struct mcpi_fetch_fault *ret_fault)
{
    enum mcpi_fetch_phase phase = mcpi_curl_fetch_look(fetch);

    if (code == CURLE_OK && fetch->stop == 0 && fetch->headed)
        return false;
    ret_fault->status = fetch_status(fetch, code, phase);
    ret_fault->unsent = phase == MCPI_FETCH_UNSENT;
    (void)mcpi_text_clean(fetch->why, sizeof(fetch->why), fetch->why,
                          strlen(fetch->why));
    ret_fault->why = fetch->why;
    return true;
}
