/*
 * auth/client_fixture.h - the authorization of a client, with all around it in one hand
 *
 * A server, an authorization server and a store of the test's own, which answer when the
 * test says so; messages that are signed, refused and told; and both clocks. Whoever frees
 * memory with a SECRET in it is found out.
 */
#ifndef TESTS_AUTH_CLIENT_FIXTURE_H
#define TESTS_AUTH_CLIENT_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "auth/client.h"
#include "auth/dpop.h"
#include "support/fake_fetch.h"

#define SECRET "sesame" /* in all that nobody may see */
#define SERVER "https://mcp.test/mcp"
#define WELL_KNOWN "https://mcp.test/.well-known/oauth-protected-resource/mcp"
#define ISSUER "https://as.test"
#define ISSUER_WELL_KNOWN ISSUER "/.well-known/oauth-authorization-server"
#define TOKENS ISSUER "/token"
#define DAY_ONE 1800000000 /* s, since 1970 */

#define RESOURCE_DOCUMENT \
    "{\"resource\":\"" SERVER "\",\"authorization_servers\":[\"" ISSUER "\"]}"
#define ISSUER_DOCUMENT                                                     \
    "{\"issuer\":\"" ISSUER "\",\"token_endpoint\":\"" TOKENS               \
    "\",\"token_endpoint_auth_methods_supported\":[\"client_secret_post\"]" \
    ",\"dpop_signing_alg_values_supported\":[\"ES256\"]}"

static int64_t wall_now;

static inline int64_t
wall(void)
{
    return wall_now;
}

/* ---- a store ---------------------------------------------------------------- */

struct shelf {
    char *text;  /* of the token; or NULL */
    int refuses; /* negative: what load returns */
    int loads, saves, locks, unlocks;
};

static inline int
shelf_load(void *self, const char *key, char **ret_text)
{
    struct shelf *shelf = self;

    assert_non_null(strstr(key, SERVER));
    shelf->loads++;
    if (shelf->refuses < 0)
        return shelf->refuses;
    *ret_text = shelf->text ? strdup(shelf->text) : NULL;
    return 0;
}

static inline int
shelf_save(void *self, const char *key, const char *text)
{
    struct shelf *shelf = self;

    assert_non_null(strstr(key, SERVER));
    shelf->saves++;
    free(shelf->text);
    shelf->text = text ? strdup(text) : NULL;
    return 0;
}

static inline int
shelf_lock(void *self, const char *key)
{
    (void)key;
    ((struct shelf *)self)->locks++;
    return 0;
}

static inline void
shelf_unlock(void *self, const char *key)
{
    (void)key;
    ((struct shelf *)self)->unlocks++;
}

/* ---- a desk ----------------------------------------------------------------- */

struct desk {
    struct test_mem own, *mem;
    struct mcpi_loop *loop;
    struct fake_fetcher fetcher;
    struct shelf shelf;
    mcp_token_store store;
    mcp_auth_options options;
    struct mcpi_auth_client *client;
    struct mcpi_http_auth *auth;
    int64_t now; /* us */
    int closed;
    bool discarded;
    char log[8192]; /* under DEBUG */
};

static inline int64_t
desk_clock(void *user)
{
    return ((struct desk *)user)->now;
}

static inline void
desk_logs(void *user, enum mcp_log_level level, const char *text)
{
    struct desk *d = user;
    size_t len = strlen(d->log);

    (void)level;
    assert_null(strstr(text, SECRET));
    (void)snprintf(d->log + len, sizeof(d->log) - len, "%s\n", text);
}

/* Whatever happens without time passing. */
static inline void
desk_run(struct desk *d)
{
    for (int i = 0; i < 8; i++)
        assert_int_equal(mcpi_loop_step(d->loop), 0);
}

/* So many seconds pass, on both clocks. */
static inline void
desk_pass(struct desk *d, int64_t seconds)
{
    wall_now += seconds;
    d->now += seconds * 1000000;
    desk_run(d);
}

/* The program itself asks (client_credentials), unless auth says otherwise. */
static inline int
desk_try(struct desk *d, struct test_mem *mem, const char *url, mcp_auth_options auth)
{
    const struct mcpi_log log = {desk_logs, d, MCP_LOG_DEBUG};
    struct mcpi_auth_client_options opt = {
        .server_url = url, .name = "me", .wall = wall};
    int r;

    memset(d, 0, sizeof(*d));
    test_mem_init(&d->own);
    d->own.secret = SECRET;
    d->mem = mem ? mem : &d->own;
    d->now = 1000000;
    wall_now = DAY_ONE;
    fake_fetcher_init(&d->fetcher, &d->mem->allocator);
    d->store = MCP_TOKEN_STORE(.load = shelf_load, .save = shelf_save,
                               .lock = shelf_lock, .unlock = shelf_unlock,
                               .self = &d->shelf);
    auth.store = &d->store;
    assert_int_equal(mcpi_auth_options_take(&auth, NULL), 0);
    d->options = auth;
    r = mcpi_loop_new(&d->mem->allocator, &log, &d->loop);
    if (r < 0)
        return r;
    mcpi_loop_set_clock(d->loop, desk_clock, d);
    opt.loop = d->loop;
    opt.fetcher = &d->fetcher.fetcher;
    opt.auth = &d->options;
    r = mcpi_auth_client_new(&opt, &d->client, NULL);
    if (r == 0)
        d->auth = mcpi_auth_client_interface(d->client);
    return r;
}

#define PROGRAM(...)                                               \
    MCP_AUTH_OPTIONS(.grant = MCP_GRANT_CLIENT, .client_id = "we", \
                     .client_secret = SECRET "-client", __VA_ARGS__)

static inline void
desk_open_with(struct desk *d, mcp_auth_options auth)
{
    assert_int_equal(desk_try(d, NULL, SERVER, auth), 0);
}

static inline void
desk_open(struct desk *d)
{
    desk_open_with(d, PROGRAM(.no_offline = true));
}

static inline void
desk_closed(void *user)
{
    ((struct desk *)user)->closed++;
}

/* Also of one that waits for what it spends. */
static inline void
desk_close(struct desk *d)
{
    if (d->client)
        mcpi_auth_client_close(d->client, desk_closed, d);
    if (d->loop)
        desk_run(d);
    if (d->client && !d->closed)
        desk_pass(d, 2);
    assert_int_equal(d->closed, d->auth && !d->discarded);
    assert_int_equal(d->shelf.locks, d->shelf.unlocks);
    fake_fetcher_done(&d->fetcher);
    mcpi_loop_free(d->loop);
    free(d->shelf.text);
    test_mem_done(&d->own);
}

/* ---- a message -------------------------------------------------------------- */

struct asker {
    struct mcpi_http_permit permit;
    struct desk *desk;
    int told, status, http;
    char why[256];
    char authorization[512]; /* with which it was signed last; "" none */
    char proof[2048];        /* likewise */
    void (*then)(struct asker *asker);
    struct asker *other;
};

static inline void
asker_ready(struct mcpi_http_permit *permit, int status, int http, const char *why)
{
    struct asker *a = (struct asker *)permit;

    assert_false(permit->waits);
    a->told++;
    a->status = status;
    a->http = http;
    (void)snprintf(a->why, sizeof(a->why), "%s", why);
    if (a->then)
        a->then(a);
}

static inline void
asker_init(struct asker *a, struct desk *d)
{
    memset(a, 0, sizeof(*a));
    a->permit.ready = asker_ready;
    a->desk = d;
}

/* The value of that line, or "". */
static inline void
line_copy(const struct mcpi_buf *lines, const char *name, char *into, size_t size)
{
    const char *at = lines->data;
    size_t len = strlen(name);

    into[0] = '\0';
    for (; at && at < lines->data + lines->len; at += strlen(at) + 1)
        if (strncmp(at, name, len) == 0)
            (void)snprintf(into, size, "%s", at + len);
}

static inline int
asker_signs_for(struct asker *a, const char *method, const char *url, bool waits)
{
    struct mcpi_buf lines;
    int r;

    mcpi_buf_init(&lines, &a->desk->mem->allocator, 65536);
    (void)mcpi_buf_reserve(&lines, 8192); /* it does not grow, and so leaves no copy */
    r = a->desk->auth->ops->sign(a->desk->auth, waits ? &a->permit : NULL, method, url,
                                 &lines);
    assert_int_equal(a->permit.waits, waits && r == MCP_E_AGAIN);
    line_copy(&lines, "Authorization: ", a->authorization, sizeof(a->authorization));
    line_copy(&lines, "DPoP: ", a->proof, sizeof(a->proof));
    if (lines.data)
        explicit_bzero(lines.data, lines.cap);
    mcpi_buf_done(&lines);
    return r;
}

static inline int
asker_signs(struct asker *a)
{
    return asker_signs_for(a, "POST", SERVER, true);
}

/* It was signed at once, with this token; NULL: with none. */
static inline void
asker_has(struct asker *a, const char *token)
{
    char wanted[512] = "";

    assert_int_equal(asker_signs(a), 0);
    if (token)
        (void)snprintf(wanted, sizeof(wanted), "Bearer " SECRET "-%s", token);
    assert_string_equal(a->authorization, wanted);
}

static inline void
asker_leaves(struct asker *a)
{
    a->desk->auth->ops->leave(a->desk->auth, &a->permit);
    assert_false(a->permit.waits);
}

/* ---- what the server says to it ---------------------------------------------- */

struct head {
    struct mcpi_fetch_head base;
    const char *lines; /* "Name: value\n..."; or NULL */
    char value[2048];
};

static inline const char *
head_find_nth(const struct mcpi_fetch_head *base, const char *name, unsigned number)
{
    struct head *head = (struct head *)(uintptr_t)base;
    const char *at = head->lines;
    size_t len = strlen(name);

    for (; at && *at; at += strcspn(at, "\n"), at += *at == '\n')
        if (strncmp(at, name, len) == 0 && at[len] == ':' && number-- == 0) {
            (void)snprintf(head->value, sizeof(head->value), "%.*s",
                           (int)strcspn(at + len + 2, "\n"), at + len + 2);
            return head->value;
        }
    return NULL;
}

static inline const char *
head_find(const struct mcpi_fetch_head *base, const char *name)
{
    return head_find_nth(base, name, 0);
}

static inline int
asker_hears_from(struct asker *a, int status, const char *lines,
                 enum mcpi_address_kind from)
{
    struct head head = {.base = {.status = status,
                                 .find = head_find,
                                 .find_nth = head_find_nth,
                                 .from = from},
                        .lines = lines};
    int r;

    r = a->desk->auth->ops->heard(a->desk->auth, &a->permit, &head.base, a->why,
                                  sizeof(a->why));
    assert_int_equal(a->permit.waits, r == MCP_E_AGAIN);
    return r;
}

static inline int
asker_hears(struct asker *a, int status, const char *lines)
{
    return asker_hears_from(a, status, lines, MCPI_ADDRESS_PUBLIC);
}

/* It was refused for good, and the sentence has this. */
static inline void
asker_is_refused(struct asker *a, int status, const char *lines, const char *why)
{
    assert_int_equal(asker_hears(a, status, lines), MCP_E_AUTH);
    if (!strstr(a->why, why))
        fail_msg("%s", a->why);
}

#define UNAUTHORIZED "WWW-Authenticate: Bearer"
#define TOO_LITTLE(scope) \
    "WWW-Authenticate: Bearer error=\"insufficient_scope\", scope=\"" scope "\""

/* ---- what others say ------------------------------------------------------------ */

/* The newest request, which is open and goes there, is answered. */
static inline void
desk_answer(struct desk *d, const char *url, int status, const char *body)
{
    struct fake_fetch *fetch = fake_last(&d->fetcher);

    assert_string_equal(fetch->url, url);
    assert_int_equal(fetch->state, FAKE_OPEN);
    fake_answer(fetch, status, "application/json", body);
    desk_run(d);
}

static inline void
desk_discovers(struct desk *d)
{
    desk_run(d);
    desk_answer(d, WELL_KNOWN, 200, RESOURCE_DOCUMENT);
    desk_answer(d, ISSUER_WELL_KNOWN, 200, ISSUER_DOCUMENT);
}

/* lives: seconds, or below 0: not said; refresh NULL: none. */
static inline void
desk_gives(struct desk *d, const char *token, const char *refresh, int lives)
{
    char body[512], tail[64] = "";

    if (lives >= 0)
        (void)snprintf(tail, sizeof(tail), ",\"expires_in\":%d", lives);
    (void)snprintf(body, sizeof(body),
                   "{\"access_token\":\"" SECRET
                   "-%s\",\"token_type\":\"Bearer\"%s%s%s%s}",
                   token, refresh ? ",\"refresh_token\":\"" SECRET "-" : "",
                   refresh ? refresh : "", refresh ? "\"" : "", tail);
    desk_answer(d, TOKENS, 200, body);
}

/* From nothing to a token that this message is signed with. */
static inline void
desk_signs_in(struct desk *d, struct asker *a, const char *token, const char *refresh,
              int lives)
{
    if (asker_signs(a) == MCP_E_AGAIN) { /* the store, at first */
        desk_run(d);
        asker_has(a, NULL);
    }
    assert_int_equal(asker_hears(a, 401, UNAUTHORIZED), MCP_E_AGAIN);
    desk_discovers(d);
    desk_gives(d, token, refresh, lives);
    asker_has(a, token);
}

/* A parameter of what is posted is there. */
static inline void
desk_posts(struct desk *d, const char *part)
{
    struct fake_fetch *fetch = fake_last(&d->fetcher);

    assert_string_equal(fetch->url, TOKENS);
    assert_int_equal(fetch->state, FAKE_OPEN);
    if (!strstr(fetch->body, part))
        fail_msg("%s", fetch->body);
}

#endif
