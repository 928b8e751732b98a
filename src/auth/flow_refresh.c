/*
 * flow_refresh.c - a new token for an old one, one user of it at a time
 *
 * A refresh token is often good for one use, and a second use may cost the user all that
 * came of the first. So who refreshes has the store's lock, and looks first whether
 * another process has done it already.
 */
#include <string.h>

#include "auth/flow_steps.h"
#include "auth/form.h"

static void ask_for_lock(struct mcpi_flow *f);

void
mcpi_flow_refresh_refused(struct mcpi_flow *f)
{
    f->lost = true;
    if (f->kind != MCPI_FLOW_REFUSED || f->unwanted) {
        mcpi_flow_fail(f, MCP_E_AUTH, f->why);
        return;
    }
    mcpi_flow_unlock(f);
    mcpi_flow_by_grant(f);
}

/* With the key that it is bound to; if to none, perhaps to one from now on. */
static void
post_refresh(struct mcpi_flow *f)
{
    const struct mcpi_credential *old = mcpi_flow_old(f);
    const struct mcpi_found *found = &f->discovery.found;

    if (old->key) {
        mcpi_key_unref(f->key);
        f->key = mcpi_key_ref(old->key);
        f->dpop = true;
    }
    mcpi_flow_form(f, "refresh_token");
    mcpi_form_add(&f->form, "refresh_token", old->refresh);
    mcpi_form_add(&f->form, "resource", found->resource.resource);
    mcpi_flow_post(f, MCPI_STEP_REFRESH, found->issuer.token_endpoint);
}

/* ---- what the store has ------------------------------------------------------------ */

static bool
is_stale(const struct mcpi_flow *f, const struct mcpi_credential *stored)
{
    char hash[MCPI_KEY_THUMBPRINT_SIZE];

    return f->stale[0] != '\0' &&
           mcpi_sha256_text(stored->access, strlen(stored->access), hash) == 0 &&
           strcmp(hash, f->stale) == 0;
}

/* One that could not be replaced several times in a row is still the first one. */
void
mcpi_flow_kept(struct mcpi_flow *f, bool kept)
{
    const struct mcpi_credential *old = mcpi_flow_old(f);

    if (!kept && (!old || f->stale[0] != '\0'))
        return;
    if (kept || mcpi_sha256_text(old->access, strlen(old->access), f->stale) < 0)
        f->stale[0] = '\0';
}

/* Somebody else was here: is what the store has of any use? */
static bool
is_newer(const struct mcpi_flow *f, const struct mcpi_credential *stored)
{
    return strcmp(stored->access, f->old->access) != 0 &&
           stored->expires_at > f->opt.wall() && (stored->key || !f->opt.auth->dpop);
}

static bool
is_same_kind(const struct mcpi_flow *f, const struct mcpi_credential *stored)
{
    return strcmp(stored->issuer, f->old->issuer) == 0 &&
           strcmp(stored->client_id, f->old->client_id) == 0;
}

/* NULL: nothing of use. */
static void
refresh_with(struct mcpi_flow *f, struct mcpi_credential *take_stored)
{
    if (take_stored && is_newer(f, take_stored)) {
        f->made = take_stored;
        f->refreshed = true;
        mcpi_flow_succeed(f);
        return;
    }
    if (take_stored && *take_stored->refresh)
        f->reloaded = take_stored;
    else
        mcpi_credential_free(take_stored);
    post_refresh(f);
}

/* It does not work: what others may be using is not used. A user can still sign in. */
static void
without_store(struct mcpi_flow *f, const char *why)
{
    mcpi_flow_unlock(f);
    if (f->kind == MCPI_FLOW_REFUSED)
        mcpi_flow_by_grant(f);
    else
        mcpi_flow_fail(f, MCP_E_AUTH, why);
}

/* A damaged one has nothing; of what cannot be read now nobody knows. */
static bool
may_be_newer(const struct mcpi_flow *f, int status)
{
    const mcp_token_store *store = f->opt.shelf->store;

    return status < 0 && status != MCP_E_SYNTAX && store && store->lock;
}

static void
on_reloaded(void *user, struct mcpi_shelf_op *op, int status, const char *text)
{
    struct mcpi_flow *f = user;
    struct mcpi_credential *stored = NULL;
    int r = status;

    (void)op;
    f->op = NULL;
    if (r == 0 && text)
        r = mcpi_credential_read(f->mem, text, &stored);
    if (r == MCP_E_NOMEM) { /* there may be a newer one: ours is not spent */
        mcpi_flow_check(f, r, "");
        return;
    }
    if (may_be_newer(f, status)) {
        without_store(f, "the token store cannot be read");
        return;
    }
    if (stored && (is_stale(f, stored) || !is_same_kind(f, stored))) {
        mcpi_credential_free(stored);
        stored = NULL;
    }
    if (stored)
        f->stale[0] = '\0'; /* somebody else could replace it */
    refresh_with(f, stored);
}

static void
reload(struct mcpi_flow *f)
{
    int r;

    f->step = MCPI_STEP_RELOAD;
    r = mcpi_shelf_load(f->opt.shelf, f->opt.token_key, on_reloaded, f, &f->op);
    mcpi_flow_check(f, r, "");
}

void
mcpi_flow_on_pause(struct mcpi_timer *timer, int64_t now)
{
    (void)now;
    ask_for_lock(MCPI_CONTAINER(timer, struct mcpi_flow, pause));
}

static void
on_locked(void *user, struct mcpi_shelf_op *op, int status, const char *text)
{
    struct mcpi_flow *f = user;
    int64_t now = mcpi_loop_now(f->opt.loop);

    (void)text;
    f->op = NULL;
    if (status == 0) {
        f->lock = op;
        reload(f);
    } else if (status != MCP_E_AGAIN) {
        without_store(f, "the token store cannot be locked");
    } else if (now >= f->give_up_at) {
        mcpi_flow_fail(f, MCP_E_AUTH,
                       "another process holds the tokens, and keeps them");
    } else {
        mcpi_timer_arm(mcpi_loop_timers(f->opt.loop), &f->pause,
                       now + MCPI_FLOW_LOCK_PAUSE);
    }
}

static void
ask_for_lock(struct mcpi_flow *f)
{
    int r = mcpi_shelf_lock(f->opt.shelf, f->opt.token_key, on_locked, f, &f->op);

    mcpi_flow_check(f, r, "");
}

void
mcpi_flow_refresh(struct mcpi_flow *f)
{
    f->step = MCPI_STEP_LOCK;
    f->give_up_at = mcpi_time_add(mcpi_loop_now(f->opt.loop), mcpi_flow_fetch_us(f));
    ask_for_lock(f);
}
