/*
 * flow.c - getting a token: one run
 *
 * Read it from mcpi_flow_start downwards in the header's order: each step begins one thing
 * that takes time and names what follows. flow_fail and flow_succeed are its two ends.
 */
#include "auth/flow.h"

#include <stdio.h>
#include <string.h>

#include "auth/flow_steps.h"
#include "auth/place.h"
#include "auth/scopes.h"
#include "base/text.h"

/* ---- ends ---------------------------------------------------------------------- */

void
mcpi_flow_unlock(struct mcpi_flow *f)
{
    if (f->lock)
        mcpi_shelf_unlock(f->lock);
    f->lock = NULL;
}

/* What a run has asked for in vain is not asked for again, unless the server wants it
 * again: it may be why it was in vain. */
static void
forget_scopes(struct mcpi_flow *f)
{
    if (f->scopes.len > f->asked_before)
        mcpi_buf_truncate(&f->scopes, f->asked_before);
}

/* Nothing of a run is left. */
static void
flow_rest(struct mcpi_flow *f)
{
    f->step = MCPI_STEP_IDLE;
    mcpi_discovery_stop(&f->discovery);
    mcpi_visitor_end(&f->visitor);
    mcpi_lookup_abort(&f->lookup);
    mcpi_timer_disarm(mcpi_loop_timers(f->opt.loop), &f->pause);
    mcpi_flush_cancel(&f->start);
    mcpi_shelf_drop(f->op);
    f->op = NULL;
    mcpi_flow_drop_errand(f);
    mcpi_flow_unlock(f);
    mcpi_credential_free(f->reloaded);
    f->reloaded = NULL;
    f->old = NULL;
    mcpi_buf_done(&f->form);
    mcpi_buf_init(&f->form, f->mem, MCPI_GRANT_FORM_MAX);
    explicit_bzero(f->state, sizeof(f->state));
    explicit_bzero(f->verifier, sizeof(f->verifier));
}

void
mcpi_flow_fail(struct mcpi_flow *f, int status, const char *why)
{
    char text[MCPI_FLOW_WHY_MAX];

    (void)mcpi_text_clean(text, sizeof(text), why, strlen(why));
    flow_rest(f);
    forget_scopes(f);
    mcpi_credential_free(f->made);
    f->made = NULL;
    f->opt.done(f->opt.user, status == MCP_E_NOMEM ? status : MCP_E_AUTH, NULL, text,
                f->lost);
}

void
mcpi_flow_succeed(struct mcpi_flow *f)
{
    struct mcpi_credential *made = f->made;

    f->made = NULL;
    flow_rest(f);
    f->opt.done(f->opt.user, 0, made, "", false);
}

void
mcpi_flow_check(struct mcpi_flow *f, int status, const char *why)
{
    if (status < 0)
        mcpi_flow_fail(f, status,
                       status == MCP_E_NOMEM ? mcp_status_text(status) : why);
}

/* ---- what all steps know --------------------------------------------------------- */

int64_t
mcpi_flow_fetch_us(const struct mcpi_flow *f)
{
    return f->opt.auth->fetch_ms * 1000;
}

const struct mcpi_credential *
mcpi_flow_old(const struct mcpi_flow *f)
{
    return f->reloaded ? f->reloaded : f->old;
}

const char *
mcpi_flow_scope(const struct mcpi_flow *f)
{
    return f->scopes.data;
}

/* ---- scopes and proofs ------------------------------------------------------------ */

/* What the challenge wants, or else what the resource has; and all that was asked for
 * before, so that nothing is lost by asking for more. */
static void
add_scopes(struct mcpi_flow *f)
{
    const struct mcpi_found *found = &f->discovery.found;

    if (f->old)
        mcpi_scopes_add(&f->scopes, f->old->scope);
    mcpi_scopes_add(&f->scopes, f->challenge.scope);
    if (f->scopes.len == 0)
        mcpi_scopes_add_json(&f->scopes, found->resource.scopes);
    mcpi_scopes_add(&f->scopes, f->opt.auth->scope);
    if (f->scopes.len > 0 && f->opt.auth->grant == MCP_GRANT_CODE &&
        !f->opt.auth->no_offline &&
        mcpi_metadata_lists(found->issuer.scopes, "offline_access"))
        mcpi_scopes_add(&f->scopes, "offline_access");
}

/* A set that is too long is forgotten, or no run would ever succeed again. */
static int
select_scopes(struct mcpi_flow *f)
{
    char *end;
    int r;

    add_scopes(f);
    end = mcpi_buf_reserve(&f->scopes, 1);
    if (end)
        *end = '\0'; /* not a part of the set */
    r = f->scopes.status;
    if (r < 0)
        mcpi_buf_clear(&f->scopes);
    return r;
}

/* Is the token to be bound to a key? If we say so, or the server does, or both can. */
static int
select_key(struct mcpi_flow *f)
{
    const struct mcpi_found *found = &f->discovery.found;

    f->dpop = f->opt.auth->dpop || found->resource.dpop_required ||
              (f->challenge.dpop && (found->issuer.knows_dpop || !f->challenge.bearer));
    return f->dpop && !f->key ? mcpi_key_generate(f->mem, &f->key) : 0;
}

/* ---- the run ----------------------------------------------------------------------- */

/* A refresh brings no more than there was. */
static bool
can_refresh(const struct mcpi_flow *f)
{
    if (f->kind == MCPI_FLOW_REFUSED && f->old && mcpi_flow_wants_more(f, f->old))
        return false;
    return f->kind != MCPI_FLOW_STEP_UP && f->old && *f->old->refresh && f->who &&
           strcmp(f->old->client_id, f->who->client_id) == 0 &&
           strcmp(f->old->issuer, mcpi_flow_issuer(f)->issuer) == 0;
}

void
mcpi_flow_by_grant(struct mcpi_flow *f)
{
    switch (f->opt.auth->grant) {
    case MCP_GRANT_CODE:
        mcpi_flow_by_code(f);
        break;
    case MCP_GRANT_CLIENT:
        mcpi_flow_form(f, "client_credentials");
        mcpi_flow_form_resource(f);
        mcpi_flow_post(f, MCPI_STEP_TOKEN, mcpi_flow_issuer(f)->token_endpoint);
        break;
    case MCP_GRANT_ENTERPRISE:
    case MCP_GRANT_ASSERTION:
        mcpi_flow_assert(f);
        break;
    }
}

void
mcpi_flow_go(struct mcpi_flow *f)
{
    if (!mcpi_flow_issuer(f)->token_endpoint)
        mcpi_flow_fail(f, MCP_E_AUTH, "the authorization server gives out no tokens");
    else if (can_refresh(f))
        mcpi_flow_refresh(f);
    else if (f->kind == MCPI_FLOW_RENEW)
        mcpi_flow_fail(f, MCP_E_AUTH, "the token cannot be renewed");
    else
        mcpi_flow_by_grant(f);
}

static void
flow_discovered(struct mcpi_flow *f)
{
    int r;

    r = select_scopes(f);
    if (r < 0) {
        mcpi_flow_check(f, r, "too many scopes");
        return;
    }
    r = select_key(f);
    if (r < 0)
        mcpi_flow_check(f, r, "there is no key to bind a token to");
    else
        mcpi_flow_find_who(f);
}

static void
on_discovered(void *user, int status, const char *why)
{
    struct mcpi_flow *f = user;

    if (status < 0)
        mcpi_flow_fail(f, status, why);
    else
        flow_discovered(f);
}

/* What was found before is good enough for one who only wants more, if the resource was
 * looked at too, or the same again. */
static bool
is_discovered(const struct mcpi_flow *f)
{
    const struct mcpi_discovery *d = &f->discovery;

    if (f->kind == MCPI_FLOW_REFUSED || !mcpi_discovery_has_found(d))
        return false;
    if (f->kind == MCPI_FLOW_STEP_UP)
        return d->resource_doc != NULL;
    return strcmp(d->found.issuer.issuer, f->old->issuer) == 0;
}

static int
flow_discover(struct mcpi_flow *f)
{
    f->step = MCPI_STEP_DISCOVER;
    f->discovery.nearest = f->nearest;
    if (f->kind == MCPI_FLOW_RENEW)
        return mcpi_discovery_start_issuer(&f->discovery, f->old->resource,
                                           f->old->issuer);
    return mcpi_discovery_start(&f->discovery, f->challenge.resource_metadata);
}

/* In the turn's end, so that nobody is told from inside of what he calls. */
static void
on_start(struct mcpi_flush *flush)
{
    struct mcpi_flow *f = MCPI_CONTAINER(flush, struct mcpi_flow, start);

    if (is_discovered(f))
        flow_discovered(f);
    else
        mcpi_flow_check(f, flow_discover(f), "its metadata cannot be looked for");
}

void
mcpi_flow_start(struct mcpi_flow *f, enum mcpi_flow_kind kind,
                const struct mcpi_credential *old,
                const struct mcpi_challenge *challenge, enum mcpi_address_kind nearest)
{
    f->kind = kind;
    f->step = MCPI_STEP_DISCOVER;
    f->refreshed = false;
    f->old = old;
    f->lost = f->unwanted = false;
    f->asked_before = f->scopes.len;
    f->nearest = nearest;
    memset(&f->challenge, 0, sizeof(f->challenge));
    if (challenge)
        f->challenge = *challenge;
    mcpi_loop_flush(f->opt.loop, &f->start);
}

bool
mcpi_flow_wants_more(const struct mcpi_flow *f, const struct mcpi_credential *token)
{
    const mcp_auth_options *auth = f->opt.auth;
    bool somebody_can = auth->grant != MCP_GRANT_CODE || auth->agent || auth->headless;

    return somebody_can && !mcpi_scopes_have(token->scope, auth->scope);
}

void
mcpi_flow_bind(struct mcpi_flow *f, const char *issuer)
{
    snprintf(f->bound, sizeof(f->bound), "%s", issuer);
}

bool
mcpi_flow_is_running(const struct mcpi_flow *f)
{
    return f->step != MCPI_STEP_IDLE;
}

/* A code, and a refresh token, are good for one use: who has sent one waits for what it
 * brings. */
static bool
is_spending(const struct mcpi_flow *f)
{
    return f->step == MCPI_STEP_REFRESH || f->step == MCPI_STEP_SAVE ||
           (f->step == MCPI_STEP_TOKEN && f->opt.auth->grant == MCP_GRANT_CODE);
}

bool
mcpi_flow_stop(struct mcpi_flow *f)
{
    if (is_spending(f)) {
        f->unwanted = true;
        return false;
    }
    flow_rest(f);
    forget_scopes(f);
    return true;
}

void
mcpi_flow_want(struct mcpi_flow *f)
{
    f->unwanted = false;
}

/* ---- making and freeing -------------------------------------------------------------- */

static void
init_parts(struct mcpi_flow *f)
{
    const mcp_auth_options *auth = f->opt.auth;

    f->discovery = (struct mcpi_discovery){.mem = f->mem,
                                           .loop = f->opt.loop,
                                           .fetcher = f->opt.fetcher,
                                           .server_url = f->opt.server_url,
                                           .only_issuer = auth->issuer,
                                           .limit_us = mcpi_flow_fetch_us(f),
                                           .done = on_discovered,
                                           .user = f};
    mcpi_discovery_init(&f->discovery);
    f->visitor = (struct mcpi_visitor){.mem = f->mem,
                                       .loop = f->opt.loop,
                                       .fetcher = f->opt.fetcher,
                                       .agent = auth->agent,
                                       .headless = auth->headless,
                                       .headless_uri = auth->redirect_uri,
                                       .login_us = auth->login_ms * 1000,
                                       .fetch_us = mcpi_flow_fetch_us(f),
                                       .done = mcpi_flow_visited,
                                       .user = f};
    mcpi_visitor_init(&f->visitor);
}

void
mcpi_flow_init(struct mcpi_flow *f, const struct mcpi_flow_options *opt)
{
    memset(f, 0, sizeof(*f));
    f->opt = *opt;
    f->mem = opt->mem;
    init_parts(f);
    if (opt->auth->issuer)
        mcpi_flow_bind(f, opt->auth->issuer);
    mcpi_timer_init(&f->pause, mcpi_flow_on_pause);
    mcpi_flush_init(&f->start, on_start);
    mcpi_buf_init(&f->scopes, f->mem, MCPI_SCOPES_MAX);
    mcpi_buf_init(&f->form, f->mem, MCPI_GRANT_FORM_MAX);
}

void
mcpi_flow_done(struct mcpi_flow *f)
{
    flow_rest(f);
    mcpi_credential_free(f->made);
    mcpi_discovery_done(&f->discovery);
    mcpi_registration_free(f->who);
    mcpi_key_unref(f->key);
    mcpi_buf_done(&f->scopes);
    mcpi_buf_done(&f->form);
}
