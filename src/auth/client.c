/* client.c - the authorization of one HTTP client: its token, and who waits for it */
#include "auth/client.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "auth/client_inside.h"
#include "auth/dpop.h"
#include "base/mem.h"
#include "base/text.h"

/* More than the lines of a proof take. */
#define PROOF_ROOM 2048

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
int
mcpi_auth_permit_retry(struct mcpi_auth_client *c, struct mcpi_http_permit *permit)
{
    permit_wait(&c->due, permit);
    mcpi_loop_flush(c->opt.loop, &c->tell);
    return MCP_E_AGAIN;
}

int
mcpi_auth_permit_join(struct mcpi_auth_client *c, struct mcpi_http_permit *permit)
{
    mcpi_flow_want(&c->flow);
    permit_wait(&c->waiting, permit);
    return MCP_E_AGAIN;
}

static void
op_leave(struct mcpi_http_auth *auth, struct mcpi_http_permit *permit)
{
    struct mcpi_auth_client *c = mcpi_auth_client_of(auth);

    if (!permit->waits)
        return;
    permit->waits = false;
    mcpi_list_remove(&permit->node);
    if (mcpi_list_empty(&c->waiting) && mcpi_flow_is_running(&c->flow))
        (void)mcpi_flow_stop(&c->flow);
}

/* ---- the token ------------------------------------------------------------------ */

void
mcpi_auth_token_set(struct mcpi_auth_client *c, struct mcpi_credential *take_token)
{
    mcpi_credential_free(c->token);
    c->token = take_token;
    c->stamp++;
    c->failures = 0;
    c->refused = false;
    c->trial = MCPI_TOKEN_PROVEN;
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
        mcpi_auth_token_set(c, NULL);
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
        mcpi_auth_token_set(c, take_token);
        c->trial = c->flow.refreshed ? MCPI_TOKEN_REFRESHED : MCPI_TOKEN_SIGNED_IN;
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
        mcpi_auth_token_set(c, NULL);
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
        mcpi_auth_token_set(c, token);
        c->made_at = 0; /* not now: it may be due at once */
        c->refused = mcpi_flow_wants_more(&c->flow, token);
    }
    tell_all(&c->waiting, 0, 0, "");
}

static int
client_load(struct mcpi_auth_client *c, struct mcpi_http_permit *permit)
{
    if (!c->load &&
        mcpi_shelf_load(&c->shelf, c->token_key, on_loaded, c, &c->load) < 0)
        return MCP_E_NOMEM;
    return mcpi_auth_permit_join(c, permit);
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

/* It goes on alone: who only wanted to be signed is, with the present token. Who was refused
 * needs another one. */
static void
on_patience(struct mcpi_timer *timer, int64_t now)
{
    struct mcpi_auth_client *c = MCPI_CONTAINER(timer, struct mcpi_auth_client,
                                                patience);
    struct mcpi_list signed_now, refused, *node;
    struct mcpi_http_permit *permit;

    (void)now;
    if (!mcpi_flow_is_running(&c->flow) || c->flow.kind != MCPI_FLOW_RENEW ||
        !token_is_usable(c))
        return;
    mcpi_list_init(&signed_now);
    mcpi_list_init(&refused);
    while ((node = mcpi_list_pop(&c->waiting)) != NULL) {
        permit = MCPI_CONTAINER(node, struct mcpi_http_permit, node);
        mcpi_list_append(permit->refusals == 0 ? &signed_now : &refused, node);
    }
    while ((node = mcpi_list_pop(&refused)) != NULL)
        mcpi_list_append(&c->waiting, node);
    tell_all(&signed_now, 0, 0, "");
}

static void
client_renew(struct mcpi_auth_client *c)
{
    mcpi_flow_start(&c->flow, MCPI_FLOW_RENEW, c->token, NULL, c->nearest);
    mcpi_timer_arm(mcpi_loop_timers(c->opt.loop), &c->patience,
                   mcpi_time_add(mcpi_loop_now(c->opt.loop), MCPI_AUTH_RENEW_WAIT_US));
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
        return token_is_usable(c) ? 0 : mcpi_auth_permit_join(c, permit);
    if (c->token && !c->refused && token_wants_renewal(c)) {
        client_renew(c);
        return mcpi_auth_permit_join(c, permit);
    }
    return 0;
}

static int
op_sign(struct mcpi_http_auth *auth, struct mcpi_http_permit *permit,
        const char *method, const char *url, struct mcpi_buf *into)
{
    struct mcpi_auth_client *c = mcpi_auth_client_of(auth);
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

static const struct mcpi_http_auth_ops client_ops = {
    .sign = op_sign, .heard = mcpi_auth_heard, .leave = op_leave};

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
    mcpi_timer_init(&c->patience, on_patience);
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
    mcpi_timer_disarm(mcpi_loop_timers(c->opt.loop), &c->patience);
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
