/*
 * end/http_auth_rig.h - a server with a guard, an authorization server, and clients of ours
 *
 * All in this process, on threads of their own, with real sockets between them. What
 * client and guard log is collected, and at the end looked through for secrets; so is the
 * memory that a client frees.
 */
#ifndef TESTS_END_HTTP_AUTH_RIG_H
#define TESTS_END_HTTP_AUTH_RIG_H

#include <arpa/inet.h>
#include <ctype.h>
#include <mcp/auth.h>
#include <netinet/in.h>

#include "api/http_reached.h"
#include "support/issuer.h"
#include "support/issuer_warm.h"

#define HUSH "hush-hush" /* in secrets of the test's own */
#define BACK "http://127.0.0.1:9/back"

/* ---- what is logged ------------------------------------------------------------- */

struct journal {
    pthread_mutex_t lock;
    char *text;
    size_t len, room;
};

static inline void
journal_add(void *user, enum mcp_log_level level, const char *line)
{
    struct journal *j = user;
    size_t len = strlen(line);

    (void)level;
    pthread_mutex_lock(&j->lock);
    if (j->len + len + 2 > j->room) {
        j->room = (j->len + len + 2) * 2;
        j->text = realloc(j->text, j->room);
    }
    memcpy(j->text + j->len, line, len);
    j->len += len;
    memcpy(j->text + j->len++, "\n", 2);
    pthread_mutex_unlock(&j->lock);
}

/* A word with a number behind it, as the issuer makes them. */
static inline const char *
journal_word(const char *text, const char *word)
{
    const char *at = text;

    while ((at = strstr(at, word)) != NULL && !isdigit((unsigned char)at[strlen(word)]))
        at++;
    return at;
}

/* No token, no code, no secret. */
static inline void
journal_done(struct journal *j, const char *token)
{
    static const char *const words[] = {"code.", "refresh.", "secret."};
    const char *text = j->text ? j->text : "";

    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
        if (journal_word(text, words[i]))
            fail_msg("logged: %.80s", journal_word(text, words[i]));
    if (strstr(text, token) || strstr(text, HUSH) || strstr(text, "code_verifier"))
        fail_msg("logged a secret: %s", text);
    free(j->text);
    pthread_mutex_destroy(&j->lock);
}

/* ---- the rig -------------------------------------------------------------------- */

struct auth_rig {
    struct issuer *issuer;
    const char *issuers[2];
    struct test_mem guard_mem;
    mcp_guard *guard;
    struct reached f; /* server and client */
    struct journal journal;
    enum mcp_era era;
    int port;
    char resource[128];
    char token[17];    /* how tokens of this issuer begin */
    char session[128]; /* of the legacy client that came last */
    /* For a verifier of the test's own. */
    pthread_mutex_t lock;
    char last[4096], revoked[4096]; /* tokens */
};

/* One that was free a moment ago: the guard is made before the server. */
static inline int
rig_port(void)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    close(fd);
    return ntohs(at.sin_port);
}

/* "steps" is for those who may. */
static inline const char *
rig_needs(void *user, const char *method, const char *name)
{
    (void)user;
    return strcmp(method, "tools/call") == 0 && strcmp(name, "steps") == 0 ? "steps"
                                                                           : NULL;
}

/* Whatever comes is somebody, unless it was revoked. */
static inline void
rig_verify(void *user, const char *token, mcp_token_check *check)
{
    struct auth_rig *rig = user;
    bool revoked;

    pthread_mutex_lock(&rig->lock);
    revoked = strcmp(token, rig->revoked) == 0;
    (void)snprintf(rig->last, sizeof(rig->last), "%s", token);
    pthread_mutex_unlock(&rig->lock);
    if (revoked)
        mcp_token_reject(check, "revoked");
    else
        mcp_token_accept(check, &MCP_IDENTITY(.principal = "alice"));
}

/* The token that was seen last is good no more. */
static inline void
rig_revoke(struct auth_rig *rig)
{
    pthread_mutex_lock(&rig->lock);
    memcpy(rig->revoked, rig->last, sizeof(rig->last));
    pthread_mutex_unlock(&rig->lock);
}

static inline void
rig_on_session(void *user, const char *session, bool begun)
{
    struct auth_rig *rig = user;

    pthread_mutex_lock(&rig->lock);
    if (begun)
        (void)snprintf(rig->session, sizeof(rig->session), "%s", session);
    pthread_mutex_unlock(&rig->lock);
}

/* Long enough not to be met by chance in what is random. */
static inline void
rig_learn_token(struct auth_rig *rig)
{
    char *token = issuer_token(rig->issuer, rig->resource, NULL, NULL);

    (void)snprintf(rig->token, sizeof(rig->token), "%.16s", token);
    free(token);
}

static inline void
rig_make_guard(struct auth_rig *rig, mcp_guard_options guard)
{
    mcp_error err = {0};

    rig->issuers[0] = issuer_url(rig->issuer);
    rig->issuers[1] = NULL;
    test_mem_init(&rig->guard_mem);
    guard.resource = guard.resource ? guard.resource : rig->resource;
    guard.issuers = guard.issuers ? guard.issuers : rig->issuers;
    guard.needs = rig_needs;
    guard.private_issuers = true;
    guard.on_log = journal_add;
    guard.log_user = &rig->journal;
    guard.allocator = &rig->guard_mem.allocator;
    if (mcp_guard_new(&guard, &rig->guard, &err) < 0)
        fail_msg("%s", err.message);
}

/* issuer NULL: a good one. */
static inline void
rig_open_with(struct auth_rig *rig, enum mcp_era era,
              const struct issuer_options *issuer, mcp_guard_options guard)
{
    memset(rig, 0, sizeof(*rig));
    pthread_mutex_init(&rig->lock, NULL);
    pthread_mutex_init(&rig->journal.lock, NULL);
    rig->era = era;
    rig->issuer = issuer_open(issuer);
    rig->port = rig_port();
    (void)snprintf(rig->resource, sizeof(rig->resource), "http://127.0.0.1:%d/mcp",
                   rig->port);
    rig_learn_token(rig);
    rig_make_guard(rig, guard);
    reached_serve(&rig->f, MCP_SERVER_OPTIONS(.era = era),
                  MCP_HTTP_OPTIONS(.port = rig->port, .guard = rig->guard,
                                   .on_session = rig_on_session, .session_user = rig));
    assert_string_equal(rig->f.url, rig->resource);
    rig->f.mem.secret = rig->token;
}

static inline void
rig_open(struct auth_rig *rig, enum mcp_era era, const struct issuer_options *issuer)
{
    rig_open_with(rig, era, issuer, MCP_GUARD_OPTIONS(.dpop_only = false));
}

static inline int
rig_try(struct auth_rig *rig, mcp_auth_options auth, mcp_client_options opt,
        mcp_client **ret_client, mcp_error *err)
{
    opt.name = "rig";
    opt.version = "1";
    opt.on_log = journal_add;
    opt.log_user = &rig->journal;
    opt.log_level = MCP_LOG_DEBUG;
    opt.flush_ms = 20000;
    return reached_try(&rig->f, &MCP_HTTP_CLIENT_OPTIONS(.auth = &auth), opt,
                       ret_client, err);
}

/* It signs in and is ready: rig->f.client. */
static inline void
rig_connect(struct auth_rig *rig, mcp_auth_options auth)
{
    mcp_error err = {0};

    if (rig_try(rig, auth, MCP_CLIENT_OPTIONS(.rounds = 0), &rig->f.client, &err) < 0)
        fail_msg("%s (%d): %s", mcp_status_name(err.status), err.http_status,
                 err.message);
}

/* It does not, and this is why. */
static inline void
rig_check_refusal(const struct auth_rig *rig, const mcp_error *err, const char *why)
{
    assert_int_equal(err->status, MCP_E_AUTH);
    assert_int_equal(err->http_status, 401);
    if (err->message[0] == '\0' || !strstr(err->message, why))
        fail_msg("%s", err->message);
    assert_null(strstr(err->message, rig->token));
    assert_null(strstr(err->message, HUSH));
}

static inline void
rig_is_refused(struct auth_rig *rig, mcp_auth_options auth, const char *why)
{
    mcp_error err = {0};

    assert_int_equal(
        rig_try(rig, auth, MCP_CLIENT_OPTIONS(.rounds = 0), &rig->f.client, &err),
        MCP_E_AUTH);
    assert_null(rig->f.client);
    rig_check_refusal(rig, &err, why);
}

static inline void
rig_disconnect(struct auth_rig *rig)
{
    mcp_client_free(rig->f.client);
    rig->f.client = NULL;
}

static inline void
rig_close(struct auth_rig *rig)
{
    rig_disconnect(rig);
    mcp_server_free(rig->f.raw.server);
    rig->f.raw.server = NULL;
    mcp_guard_free(rig->guard);
    issuer_close(rig->issuer);
    reached_close(&rig->f);
    test_mem_done(&rig->guard_mem);
    journal_done(&rig->journal, rig->token);
    pthread_mutex_destroy(&rig->lock);
}

/* ---- calls ------------------------------------------------------------------------ */

static inline void
rig_calls(struct auth_rig *rig, const char *tool, const char *text)
{
    mcp_reply *reply = NULL;
    mcp_error err = {0};

    if (mcp_client_call_tool(rig->f.client, tool, NULL, NULL, &reply, &err) < 0)
        fail_msg("%s: %s", mcp_status_name(err.status), err.message);
    if (!strstr(mcp_reply_text(reply), text))
        fail_msg("%s", mcp_reply_text(reply));
    mcp_reply_free(reply);
}

static inline void
rig_says(struct auth_rig *rig)
{
    rig_calls(rig, "say", "said to <");
}

/* So many calls of `say` at once, which all are answered. */
static inline void
rig_says_often(struct auth_rig *rig, size_t count)
{
    mcp_call *calls[64];
    mcp_reply *reply;
    mcp_error err = {0};

    assert_true(count <= 64);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(mcp_client_start_tool(rig->f.client, "say", NULL, NULL, NULL,
                                               NULL, &calls[i]),
                         0);
    for (size_t i = 0; i < count; i++) {
        if (mcp_call_wait(calls[i], AWAIT_MS, &reply, &err) < 0)
            fail_msg("%s: %s", mcp_status_name(err.status), err.message);
        mcp_reply_free(reply);
        mcp_call_free(calls[i]);
    }
}

/* ---- a user ----------------------------------------------------------------------- */

struct user {
    pthread_t thread;
    bool runs;
    mcp_auth_visit *visit;
    char url[4096];
    const char *refuses; /* why; NULL: signs in */
    const char *brings;  /* sent back there instead; NULL: as the page says */
    atomic_bool idle;    /* looks at the page, and does nothing */
    bool moves;          /* is sent back to another place each time */
    atomic_int begun, opened, ended;
};

/* What a browser would do, up to the redirect: GET, into `into`. */
static inline void
browse(const char *url, char *into, size_t size)
{
    const char *host = strstr(url, "://") + 3, *path = strchr(host, '/');
    char *request = malloc(strlen(path) + 256);
    struct http_raw h;

    assert_non_null(request);
    http_open(&h, (int)strtol(strchr(host, ':') + 1, NULL, 10), NULL);
    (void)sprintf(request, "GET %s HTTP/1.1\r\nHost: %.*s\r\n\r\n", path,
                  (int)(path - host), host);
    http_say(&h, request);
    (void)http_answer(&h);
    (void)snprintf(into, size, "%s",
                   http_field(&h, "Location") ? http_field(&h, "Location") : "");
    http_close(&h);
    free(request);
}

/* What the page said, from its query on, at another place; or with another code. */
static inline void
user_brings(const struct user *user, char *back, size_t size)
{
    char query[4096];

    if (strncmp(user->brings, "code=", 5) == 0)
        (void)snprintf(query, sizeof(query), "%s?%s%s", BACK, user->brings,
                       strstr(back, "&state="));
    else
        (void)snprintf(query, sizeof(query), "%s%s", user->brings, strchr(back, '?'));
    (void)snprintf(back, size, "%s", query);
}

static inline void *
user_signs_in(void *arg)
{
    struct user *user = arg;
    char back[4096];

    if (user->refuses) {
        mcp_auth_refuse(user->visit, user->refuses);
        return NULL;
    }
    browse(user->url, back, sizeof(back));
    if (user->brings)
        user_brings(user, back, sizeof(back));
    mcp_auth_answer(user->visit, back);
    mcp_auth_answer(user->visit, "http://127.0.0.1:9/again"); /* counts as none */
    mcp_auth_refuse(user->visit, "late");
    return NULL;
}

static inline int
user_begin(void *self, mcp_auth_visit *visit, const char *earlier, char *ret_uri)
{
    struct user *user = self;

    (void)earlier;
    user->begun++;
    user->visit = visit;
    (void)snprintf(ret_uri, MCP_AUTH_URI_MAX, "%s", BACK);
    if (user->moves)
        (void)snprintf(ret_uri, MCP_AUTH_URI_MAX, "%s%d", BACK, user->begun);
    return 0;
}

static inline int
user_open(void *self, mcp_auth_visit *visit, const char *url)
{
    struct user *user = self;

    assert_ptr_equal(visit, user->visit);
    (void)snprintf(user->url, sizeof(user->url), "%s", url);
    user->opened++;
    if (user->idle)
        return 0;
    user->runs = pthread_create(&user->thread, NULL, user_signs_in, user) == 0;
    return user->runs ? 0 : MCP_E_LIMIT;
}

static inline void
user_end(void *self, mcp_auth_visit *visit)
{
    struct user *user = self;

    assert_ptr_equal(visit, user->visit);
    user->ended++;
    if (user->runs)
        pthread_join(user->thread, NULL);
    user->runs = false;
}

static inline mcp_auth_agent
user_agent(struct user *user)
{
    return MCP_AUTH_AGENT(.begin = user_begin, .open = user_open, .end = user_end,
                          .self = user);
}

#define HEADLESS(...) MCP_AUTH_OPTIONS(.headless = true, __VA_ARGS__)

#endif
