/* client.c - the authorization of one HTTP client */
#include "auth/client.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "auth/dpop.h"
#include "auth/flow.h"
#include "auth/place.h"
#include "auth/scopes.h"
#include "auth/wipe.h"
#include "base/mem.h"
#include "base/text.h"

/* Where tokens are kept: grant, who we are, and the server. */
#define KEY_MAX (3 * MCPI_PLACE_MAX)
/* More than the lines of a proof take. */
#define PROOF_ROOM 2048

/* How the present token came, until the server has accepted it. */
enum token_trial { PROVEN, REFRESHED, SIGNED_IN };

struct mcpi_auth_client {
    struct mcpi_http_auth base;
    struct mcpi_wipe wipe;    /* for all below */
    const mcp_allocator *mem; /* it */
    struct mcpi_auth_client_options opt;
    struct mcpi_shelf shelf;
    struct mcpi_flow flow;
    struct mcpi_key *key;          /* options.private_key; or NULL */
    struct mcpi_credential *token; /* or NULL */
    unsigned stamp;                /* of the token, or of there being none */
    int64_t made_at;               /* when it became ours, seconds since 1970 */
    int64_t renew_at;              /* not before */
    unsigned failures;             /* runs for another one that failed */
    bool renewable;                /* its refresh token was not refused */
    bool refused;                  /* the server has, under the present stamp */
    enum token_trial trial;
    int64_t spurned_until; /* what a sign-in brings is refused: no other one before */
    bool is_safe;          /* tokens may go to the server */
    bool loaded;           /* the store was looked into */
    struct mcpi_shelf_op *load;
    struct mcpi_list waiting; /* permits */
    struct mcpi_list due;     /* those that are told in the turn's end */
    struct mcpi_flush tell;
    int http;                        /* the refusal that the run is about */
    enum mcpi_address_kind nearest;  /* as near as the server is */
    char nonce[MCPI_FLOW_NONCE_MAX]; /* of the server; "" none */
    unsigned nonces;                 /* so many there were */
    char token_key[KEY_MAX];
    struct mcpi_timer last; /* closing */
    void (*closed)(void *user);
    void *user;
};

static struct mcpi_auth_client *
client_of(struct mcpi_http_auth *auth)
{
    return MCPI_CONTAINER(auth, struct mcpi_auth_client, base);
}

static int64_t
wall_clock(void)
{
    return (int64_t)time(NULL);
}

/* ---- who waits ----------------------------------------------------------------- */

static void
permit_wait(struct mcpi_list *list, struct mcpi_http_permit *permit)
{
    permit->waits = true;
    mcpi_list_init(&permit->node);
    mcpi_list_append(list, &permit->node);
}

/* Whoever hears may wait again, or have others leave: those are told that are there now. */
static void
tell_all(struct mcpi_list *list, int status, int http, const char *why)
{
    struct mcpi_http_permit *permit;
    struct mcpi_list now, *node;

    mcpi_list_init(&now);
    while ((node = mcpi_list_pop(list)) != NULL)
        mcpi_list_append(&now, node);
    while ((node = mcpi_list_pop(&now)) != NULL) {
        permit = MCPI_CONTAINER(node, struct mcpi_http_permit, node);
        permit->waits = false;
        permit->ready(permit, status, http, why);
    }
}

static void
on_tell(struct mcpi_flush *flush)
{
    struct mcpi_auth_client *c = MCPI_CONTAINER(flush, struct mcpi_auth_client, tell);

    tell_all(&c->due, 0, 0, "");
}

/* It may be sent at once, signed anew. */
static int
permit_retry(struct mcpi_auth_client *c, struct mcpi_http_permit *permit)
{
    permit_wait(&c->due, permit);
    mcpi_loop_flush(c->opt.loop, &c->tell);
    return MCP_E_AGAIN;
}

static int
permit_join(struct mcpi_auth_client *c, struct mcpi_http_permit *permit)
{
    mcpi_flow_want(&c->flow);
    permit_wait(&c->waiting, permit);
    return MCP_E_AGAIN;
}

static void
op_leave(struct mcpi_http_auth *auth, struct mcpi_http_permit *permit)
{
    struct mcpi_auth_client *c = client_of(auth);

    if (!permit->waits)
        return;
    permit->waits = false;
    mcpi_list_remove(&permit->node);
    if (mcpi_list_empty(&c->waiting) && mcpi_flow_is_running(&c->flow))
        (void)mcpi_flow_stop(&c->flow);
}

/* ---- the token ------------------------------------------------------------------ */

static void
token_set(struct mcpi_auth_client *c, struct mcpi_credential *take_token)
{
    mcpi_credential_free(c->token);
    c->token = take_token;
    c->stamp++;
    c->failures = 0;
    c->refused = false;
    c->trial = PROVEN;
    c->renewable = true;
    c->made_at = c->opt.wall();
    c->renew_at = 0;
}

/* When it is to be renewed: some time before its end. */
static int64_t
token_due(const struct mcpi_auth_client *c)
{
    int64_t life, margin = MCPI_AUTH_MARGIN_S;

    if (c->token->expires_at == MCPI_NEVER)
        return MCPI_NEVER;
    life = c->token->expires_at - c->made_at;
    if (life < 2 * margin)
        margin = life > 0 ? life / 2 : 0;
    return c->token->expires_at - margin;
}

static bool
token_wants_renewal(const struct mcpi_auth_client *c)
{
    int64_t now = c->opt.wall();

    return c->renewable && *c->token->refresh && now >= token_due(c) &&
           now >= c->renew_at && now > c->made_at;
}

/* One that has ended is not shown, unless it just came. */
static bool
token_is_usable(const struct mcpi_auth_client *c)
{
    int64_t now = c->opt.wall();

    return c->token && !c->refused &&
           (now < c->token->expires_at || now <= c->made_at + 1);
}

/* What is over may still be renewed later: only what nobody takes any more is dropped. */
static void
renewal_failed(struct mcpi_auth_client *c, bool lost)
{
    c->renewable = !lost;
    c->renew_at = c->opt.wall() + MCPI_AUTH_RENEW_PAUSE_S;
    if (lost && !token_is_usable(c))
        token_set(c, NULL);
    tell_all(&c->waiting, 0, 0, ""); /* the server will say what it wants */
}

/* It has only been waited for. Not from inside of the flow: it has still to return. */
static void
client_is_spent(struct mcpi_auth_client *c, struct mcpi_credential *take_token)
{
    mcpi_credential_free(take_token);
    mcpi_timer_arm(mcpi_loop_timers(c->opt.loop), &c->last, mcpi_loop_now(c->opt.loop));
}

static void
on_flow_done(void *user, int status, struct mcpi_credential *take_token,
             const char *why, bool lost)
{
    struct mcpi_auth_client *c = user;

    if (c->closed) {
        client_is_spent(c, take_token);
        return;
    }
    if (status == 0) {
        token_set(c, take_token);
        c->trial = c->flow.refreshed ? REFRESHED : SIGNED_IN;
        tell_all(&c->waiting, 0, 0, "");
        return;
    }
    MCPI_LOG(mcpi_loop_log(c->opt.loop), MCP_LOG_INFO, "auth: no token: %s", why);
    if (c->flow.kind == MCPI_FLOW_RENEW && status != MCP_E_NOMEM) {
        renewal_failed(c, lost);
        return;
    }
    if (c->flow.kind == MCPI_FLOW_REFUSED &&
        (lost || ++c->failures >= MCPI_AUTH_FAILURES_MAX))
        token_set(c, NULL);
    tell_all(&c->waiting, status, c->http, why);
}

/* ---- the store -------------------------------------------------------------------- */

/* Of the issuer that knows us, and bound to a key if that is demanded. Who has not said
 * which issuer that is was told by the first one. */
static bool
token_may_be_used(struct mcpi_auth_client *c, const struct mcpi_credential *token)
{
    const mcp_auth_options *auth = c->opt.auth;

    if (auth->client_id && !auth->issuer)
        mcpi_flow_bind(&c->flow, token->issuer);
    return (!auth->issuer || strcmp(auth->issuer, token->issuer) == 0) &&
           (!auth->dpop || token->key);
}

static void
on_loaded(void *user, struct mcpi_shelf_op *op, int status, const char *text)
{
    struct mcpi_auth_client *c = user;
    struct mcpi_credential *token = NULL;

    (void)op;
    c->load = NULL;
    c->loaded = true;
    if (status < 0)
        MCPI_LOG(mcpi_loop_log(c->opt.loop), MCP_LOG_WARNING,
                 "auth: the token store does not answer: %s", mcp_status_text(status));
    else if (text && mcpi_credential_read(c->mem, text, &token) < 0)
        MCPI_LOG(mcpi_loop_log(c->opt.loop), MCP_LOG_WARNING,
                 "auth: what the token store has is no token of ours");
    if (token && !token_may_be_used(c, token)) {
        mcpi_credential_free(token);
        token = NULL;
    }
    if (token) {
        token_set(c, token);
        c->made_at = 0; /* not now: it may be due at once */
    }
    tell_all(&c->waiting, 0, 0, "");
}

static int
client_load(struct mcpi_auth_client *c, struct mcpi_http_permit *permit)
{
    if (!c->load &&
        mcpi_shelf_load(&c->shelf, c->token_key, on_loaded, c, &c->load) < 0)
        return MCP_E_NOMEM;
    return permit_join(c, permit);
}

/* ---- signing ---------------------------------------------------------------------- */

static int
add_proof(struct mcpi_auth_client *c, const char *method, const char *url,
          struct mcpi_buf *into)
{
    const struct mcpi_dpop proof = {.method = method,
                                    .url = url,
                                    .token = c->token->access,
                                    .nonce = c->nonce,
                                    .now = c->opt.wall()};
    int r;

    MCPI_BUF_LITERAL(into, "DPoP: ");
    r = mcpi_dpop_write(c->token->key, &proof, into);
    mcpi_buf_char(into, '\0');
    return r < 0 ? r : into->status;
}

static int
add_token(struct mcpi_auth_client *c, const char *method, const char *url,
          struct mcpi_buf *into)
{
    /* room for all of it: a buffer that grows leaves what it had behind */
    (void)mcpi_buf_reserve(into, strlen(c->token->access) + PROOF_ROOM);
    mcpi_buf_text(into, "Authorization: ");
    mcpi_buf_text(into, c->token->key ? "DPoP " : "Bearer ");
    mcpi_buf_append(into, c->token->access, strlen(c->token->access) + 1);
    if (into->status < 0 || !c->token->key)
        return into->status;
    return add_proof(c, method, url, into);
}

/* 0: it may be signed, with a token or without. */
static int
permit_check(struct mcpi_auth_client *c, struct mcpi_http_permit *permit)
{
    if (!c->is_safe)
        return 0;
    if (!c->loaded)
        return client_load(c, permit);
    if (mcpi_flow_is_running(&c->flow))
        return token_is_usable(c) ? 0 : permit_join(c, permit);
    if (c->token && !c->refused && token_wants_renewal(c)) {
        mcpi_flow_start(&c->flow, MCPI_FLOW_RENEW, c->token, NULL, c->nearest);
        return permit_join(c, permit);
    }
    return 0;
}

static int
op_sign(struct mcpi_http_auth *auth, struct mcpi_http_permit *permit,
        const char *method, const char *url, struct mcpi_buf *into)
{
    struct mcpi_auth_client *c = client_of(auth);
    int r = permit ? permit_check(c, permit) : 0;
    bool shown;

    if (r < 0)
        return r;
    shown = token_is_usable(c) && mcpi_place_same_origin(url, c->opt.server_url);
    if (permit) {
        permit->stamp = c->stamp;
        permit->shown = shown;
        permit->nonce = c->nonces;
    }
    return shown ? add_token(c, method, url, into) : 0;
}

/* ---- refusals ----------------------------------------------------------------------- */

static void
challenge_read(const struct mcpi_fetch_head *head, struct mcpi_challenge *ret)
{
    const char *value;

    memset(ret, 0, sizeof(*ret));
    for (unsigned i = 0; i < MCPI_AUTH_CHALLENGES_MAX; i++) {
        value = head->find_nth(head, "WWW-Authenticate", i);
        if (!value)
            break;
        mcpi_challenge_read(ret, value);
    }
}

static void
nonce_note(struct mcpi_auth_client *c, const struct mcpi_fetch_head *head)
{
    const char *nonce = head->find(head, "DPoP-Nonce");

    if (!nonce || !*nonce || strlen(nonce) >= sizeof(c->nonce) ||
        strcmp(nonce, c->nonce) == 0)
        return;
    memcpy(c->nonce, nonce, strlen(nonce) + 1);
    c->nonces++;
}

/* Was it refused for want of a nonce, and is there another one than it had? */
static bool
lacks_nonce(const struct mcpi_auth_client *c, const struct mcpi_http_permit *permit,
            const struct mcpi_challenge *challenge)
{
    return c->token && c->token->key && permit->nonce != c->nonces &&
           strcmp(challenge->error, "use_dpop_nonce") == 0;
}

static bool
is_about_proof(const struct mcpi_auth_client *c, const struct mcpi_challenge *challenge)
{
    return c->token && c->token->key &&
           strcmp(challenge->error, "invalid_dpop_proof") == 0;
}

static int
refuse(char *why, size_t size, const char *what)
{
    snprintf(why, size, "%s", what);
    return MCP_E_AUTH;
}

static void
client_run(struct mcpi_auth_client *c, enum mcpi_flow_kind kind, int http,
           const struct mcpi_challenge *challenge)
{
    /* one that a refresh has just brought, and that is refused, is not refreshed again */
    bool useless = kind == MCPI_FLOW_REFUSED && c->trial == REFRESHED;

    c->http = http;
    mcpi_flow_start(&c->flow, kind, useless ? NULL : c->token, challenge, c->nearest);
}

/* The server refuses what a sign-in has brought: nobody signs in again for a while, for
 * each call would open a page. What a run is about stays until that has ended. */
static void
client_is_spurned(struct mcpi_auth_client *c)
{
    c->spurned_until = c->opt.wall() + MCPI_AUTH_SPURNED_S;
    if (!mcpi_flow_is_running(&c->flow))
        token_set(c, NULL);
}

/* The token is none, or none any more. */
static int
heard_401(struct mcpi_auth_client *c, struct mcpi_http_permit *permit,
          const struct mcpi_challenge *challenge, char *why, size_t size)
{
    if (permit->shown && c->trial == SIGNED_IN)
        client_is_spurned(c);
    c->refused = true;
    if (mcpi_flow_is_running(&c->flow))
        return permit_join(c, permit);
    if (c->opt.wall() < c->spurned_until)
        return refuse(
            why, size,
            "the server refuses the token that its authorization server gave");
    client_run(c, MCPI_FLOW_REFUSED, 401, challenge);
    return permit_join(c, permit);
}

/* The token is for less than is wanted. Nothing that was not asked for yet: then nobody
 * will give it. */
static int
heard_403(struct mcpi_auth_client *c, struct mcpi_http_permit *permit,
          const struct mcpi_challenge *challenge, char *why, size_t size)
{
    if (mcpi_flow_is_running(&c->flow))
        return permit_join(c, permit);
    if (!*challenge->scope ||
        (c->token && mcpi_scopes_have(c->token->scope, challenge->scope)))
        return refuse(why, size,
                      "the server wants more than it can be given a token for");
    client_run(c, MCPI_FLOW_STEP_UP, 403, challenge);
    return permit_join(c, permit);
}

static int
client_refused(struct mcpi_auth_client *c, struct mcpi_http_permit *permit, int http,
               const struct mcpi_challenge *challenge, char *why, size_t size)
{
    if (!c->is_safe)
        return refuse(why, size, "a token goes over https only, or to loopback");
    if (++permit->refusals > MCPI_AUTH_REFUSALS_MAX)
        return refuse(why, size, "the server refuses again and again");
    if (permit->stamp != c->stamp)
        return permit_retry(c, permit);
    return http == 401 ? heard_401(c, permit, challenge, why, size)
                       : heard_403(c, permit, challenge, why, size);
}

/* The server has taken it, whatever it answered. */
static int
client_accepted(struct mcpi_auth_client *c, struct mcpi_http_permit *permit)
{
    if (!permit)
        return 0;
    permit->refusals = 0;
    if (permit->shown && permit->stamp == c->stamp) {
        c->trial = PROVEN;
        c->spurned_until = 0;
    }
    return 0;
}

/* It was not the token that was refused, but its proof. True: for want of a nonce, or it
 * may be the clock; a new proof may do. */
static bool
proof_may_do(const struct mcpi_auth_client *c, const struct mcpi_http_permit *permit,
             const struct mcpi_challenge *challenge)
{
    if (lacks_nonce(c, permit, challenge))
        return permit->refusals < MCPI_AUTH_REFUSALS_MAX;
    return permit->refusals == 0 && is_about_proof(c, challenge);
}

static int
op_heard(struct mcpi_http_auth *auth, struct mcpi_http_permit *permit,
         const struct mcpi_fetch_head *head, char *why, size_t size)
{
    struct mcpi_auth_client *c = client_of(auth);
    struct mcpi_challenge challenge;

    nonce_note(c, head);
    if (head->from != MCPI_ADDRESS_ANY)
        c->nearest = head->from;
    if (head->status != 401 && head->status != 403)
        return client_accepted(c, permit);
    if (!permit)
        return 0;
    challenge_read(head, &challenge);
    if (head->status == 403 && strcmp(challenge.error, "insufficient_scope") != 0)
        return 0;
    if (proof_may_do(c, permit, &challenge)) {
        permit->refusals++;
        return permit_retry(c, permit);
    }
    if (is_about_proof(c, &challenge))
        return refuse(why, size, "the server does not take our proofs");
    return client_refused(c, permit, head->status, &challenge, why, size);
}

static const struct mcpi_http_auth_ops client_ops = {
    .sign = op_sign, .heard = op_heard, .leave = op_leave};

/* ---- making and freeing ---------------------------------------------------------------- */

static void
name_token(struct mcpi_auth_client *c)
{
    const mcp_auth_options *auth = c->opt.auth;
    const char *who = auth->client_id ? auth->client_id : auth->metadata_url;

    snprintf(c->token_key, sizeof(c->token_key), "token %d %.2000s %.4000s",
             (int)auth->grant, who ? who : "-", c->opt.server_url);
}

static void
init_flow(struct mcpi_auth_client *c)
{
    const struct mcpi_flow_options opt = {.mem = c->mem,
                                          .loop = c->opt.loop,
                                          .fetcher = c->opt.fetcher,
                                          .auth = c->opt.auth,
                                          .server_url = c->opt.server_url,
                                          .name = c->opt.name,
                                          .shelf = &c->shelf,
                                          .token_key = c->token_key,
                                          .client_key = c->key,
                                          .wall = c->opt.wall,
                                          .done = on_flow_done,
                                          .user = c};

    mcpi_flow_init(&c->flow, &opt);
}

/* How near the server is, before it has answered: as its URL says, or far. */
static enum mcpi_address_kind
nearest_of(const char *url)
{
    enum mcpi_address_kind kind = MCPI_ADDRESS_ANY;
    struct mcpi_place place;

    if (mcpi_place_read(url, &place))
        kind = mcpi_address_kind_of_host(place.host, place.host_len);
    return kind == MCPI_ADDRESS_ANY ? MCPI_ADDRESS_PUBLIC : kind;
}

static void on_last(struct mcpi_timer *timer, int64_t now);

static void
client_init(struct mcpi_auth_client *c, const struct mcpi_auth_client_options *opt)
{
    c->base.ops = &client_ops;
    mcpi_wipe_init(&c->wipe, mcpi_loop_mem(opt->loop));
    c->mem = &c->wipe.allocator;
    c->opt = *opt;
    if (!c->opt.wall)
        c->opt.wall = wall_clock;
    c->is_safe = mcpi_place_is_safe(opt->server_url);
    c->nearest = nearest_of(opt->server_url);
    mcpi_list_init(&c->waiting);
    mcpi_list_init(&c->due);
    mcpi_flush_init(&c->tell, on_tell);
    mcpi_timer_init(&c->last, on_last);
    c->shelf.mem = c->mem;
    c->shelf.store = opt->auth->store;
    name_token(c);
}

int
mcpi_auth_client_new(const struct mcpi_auth_client_options *opt,
                     struct mcpi_auth_client **ret_client, mcp_error *err)
{
    const mcp_allocator *mem = mcpi_loop_mem(opt->loop);
    struct mcpi_auth_client *c = mcpi_alloc_zero(mem, sizeof(*c));
    int r = c ? 0 : MCP_E_NOMEM;

    if (r == 0)
        client_init(c, opt);
    if (r == 0 && opt->auth->private_key)
        r = mcpi_key_from_pem(c->mem, opt->auth->private_key, &c->key);
    if (r == 0)
        r = mcpi_errands_new(opt->loop, opt->pool, &c->shelf.errands);
    if (r < 0) {
        if (c)
            mcpi_key_unref(c->key);
        mcpi_free(mem, c);
        return mcpi_error_set(err, r, "authorization: %s", mcp_status_text(r));
    }
    init_flow(c);
    *ret_client = c;
    return 0;
}

static void
on_errands_closed(void *user)
{
    struct mcpi_auth_client *c = user;
    void (*closed)(void *of) = c->closed;
    void *of = c->user;

    mcpi_free(mcpi_loop_mem(c->opt.loop), c);
    closed(of);
}

/* All but the errands. */
static void
client_end(struct mcpi_auth_client *c)
{
    mcpi_flow_done(&c->flow);
    mcpi_timer_disarm(mcpi_loop_timers(c->opt.loop), &c->last);
    mcpi_flush_cancel(&c->tell);
    mcpi_shelf_drop(c->load);
    mcpi_credential_free(c->token);
    mcpi_key_unref(c->key);
    c->token = NULL;
    c->key = NULL;
}

static void
client_close(struct mcpi_auth_client *c)
{
    client_end(c);
    mcpi_errands_close(c->shelf.errands, on_errands_closed, c);
}

static void
on_last(struct mcpi_timer *timer, int64_t now)
{
    (void)now;
    client_close(MCPI_CONTAINER(timer, struct mcpi_auth_client, last));
}

void
mcpi_auth_client_close(struct mcpi_auth_client *c, void (*closed)(void *user),
                       void *user)
{
    c->closed = closed;
    c->user = user;
    if (mcpi_flow_is_running(&c->flow) && !mcpi_flow_stop(&c->flow))
        mcpi_timer_arm(mcpi_loop_timers(c->opt.loop), &c->last,
                       mcpi_time_add(mcpi_loop_now(c->opt.loop), MCPI_AUTH_LAST_US));
    else
        client_close(c);
}

void
mcpi_auth_client_discard(struct mcpi_auth_client *c)
{
    client_end(c);
    mcpi_errands_discard(c->shelf.errands);
    mcpi_free(mcpi_loop_mem(c->opt.loop), c);
}

struct mcpi_http_auth *
mcpi_auth_client_interface(struct mcpi_auth_client *client)
{
    return &client->base;
}
