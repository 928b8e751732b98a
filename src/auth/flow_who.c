/*
 * flow_who.c - who we are to an issuer: agreed on, a document of ours, or registered
 *
 * In that order. What was agreed on with one issuer, or registered there, is told to no
 * other.
 */
#include <stdio.h>
#include <string.h>

#include "auth/flow_steps.h"
#include "auth/place.h"

#define KEY_MAX (MCPI_PLACE_MAX + 16)
/* Longest body of a registration. */
#define BODY_MAX ((size_t)32 * 1024)

/* Where a registration is kept. */
static void
who_key(const struct mcpi_flow *f, char *into)
{
    snprintf(into, KEY_MAX, "client %s", mcpi_flow_issuer(f)->issuer);
}

static void
forget_who(struct mcpi_flow *f)
{
    mcpi_registration_free(f->who);
    f->who = NULL;
    f->registered = false;
}

/* If it is not forgotten in the store, it is for the next one to find out. */
void
mcpi_flow_forget_who(struct mcpi_flow *f)
{
    struct mcpi_shelf_op *op = NULL;
    char key[KEY_MAX];

    if (!f->registered)
        return;
    who_key(f, key);
    if (mcpi_shelf_save(f->opt.shelf, key, NULL, NULL, NULL, &op) == 0)
        mcpi_shelf_drop(op);
    forget_who(f);
}

static void
be(struct mcpi_flow *f, const struct mcpi_registration *parts)
{
    int r;

    forget_who(f);
    r = mcpi_registration_new(f->mem, parts, &f->who);
    if (r < 0)
        mcpi_flow_fail(f, r, mcp_status_text(r));
    else
        mcpi_flow_go(f);
}

/* ---- agreed on ---------------------------------------------------------------- */

static bool
is_bound_elsewhere(struct mcpi_flow *f)
{
    const char *issuer = mcpi_flow_issuer(f)->issuer;

    if (f->bound[0] == '\0')
        mcpi_flow_bind(f, issuer);
    return strcmp(f->bound, issuer) != 0;
}

/* Is there a key of ours, and of a kind that the issuer takes? One that does not say takes
 * any. */
static bool
key_is_taken(const struct mcpi_flow *f)
{
    const mcp_json *algs = mcpi_flow_issuer(f)->auth_algs;

    return f->opt.client_key &&
           (!algs || mcpi_metadata_lists(algs, mcpi_key_alg(f->opt.client_key)));
}

static void
be_agreed_on(struct mcpi_flow *f)
{
    const mcp_auth_options *auth = f->opt.auth;
    struct mcpi_registration parts = {.issuer = mcpi_flow_issuer(f)->issuer,
                                      .client_id = auth->client_id,
                                      .client_secret = auth->client_secret};

    if (is_bound_elsewhere(f))
        mcpi_flow_fail(
            f, MCP_E_AUTH,
            "the server has another authorization server now, which does not "
            "know our client_id");
    else if ((f->opt.client_key && !key_is_taken(f)) ||
             mcpi_registration_choose(mcpi_flow_issuer(f), auth->client_secret != NULL,
                                      f->opt.client_key != NULL, &parts.auth) < 0)
        mcpi_flow_fail(f, MCP_E_AUTH,
                       "the authorization server takes no authentication that we have");
    else
        be(f, &parts);
}

/* ---- a document ---------------------------------------------------------------- */

static void
be_a_document(struct mcpi_flow *f)
{
    struct mcpi_registration parts = {.issuer = mcpi_flow_issuer(f)->issuer,
                                      .client_id = f->opt.auth->metadata_url};

    if (key_is_taken(f) && mcpi_flow_issuer(f)->auth_jwt)
        parts.auth = MCPI_CLIENT_JWT;
    be(f, &parts);
}

/* ---- registered ------------------------------------------------------------------ */

static bool
is_owner(const struct mcpi_flow *f, const struct mcpi_registration *who)
{
    return who && strcmp(who->client_id, f->old->client_id) == 0 &&
           strcmp(who->issuer, mcpi_flow_issuer(f)->issuer) == 0;
}

/* Who has a token to renew is whom it was given to: it says who that is. */
static int
be_owner(struct mcpi_flow *f)
{
    struct mcpi_registration *who = NULL;
    int r;

    if (!f->old || !*f->old->who || f->kind == MCPI_FLOW_STEP_UP || is_owner(f, f->who))
        return 0;
    r = mcpi_registration_read(f->mem, f->old->who, &who);
    if (is_owner(f, who)) {
        forget_who(f);
        f->who = who;
        f->registered = true;
    } else {
        mcpi_registration_free(who);
    }
    return r == MCP_E_NOMEM ? r : 0;
}

static void
go_registered(struct mcpi_flow *f)
{
    int r = be_owner(f);

    if (r < 0)
        mcpi_flow_check(f, r, "");
    else
        mcpi_flow_go(f);
}

static void
on_who_loaded(void *user, struct mcpi_shelf_op *op, int status, const char *text)
{
    struct mcpi_flow *f = user;
    int r = status;

    (void)op;
    f->op = NULL;
    forget_who(f);
    if (r == 0 && text)
        r = mcpi_registration_read(f->mem, text, &f->who);
    if (r == MCP_E_NOMEM) { /* we may well be registered: not twice */
        mcpi_flow_check(f, r, "");
        return;
    }
    f->registered = f->who != NULL;
    if (f->who && strcmp(f->who->issuer, mcpi_flow_issuer(f)->issuer) != 0)
        forget_who(f);
    go_registered(f);
}

static void
find_registered(struct mcpi_flow *f)
{
    char key[KEY_MAX];
    int r;

    if (f->who && f->registered &&
        strcmp(f->who->issuer, mcpi_flow_issuer(f)->issuer) == 0) {
        go_registered(f);
        return;
    }
    who_key(f, key);
    r = mcpi_shelf_load(f->opt.shelf, key, on_who_loaded, f, &f->op);
    mcpi_flow_check(f, r, "");
}

void
mcpi_flow_find_who(struct mcpi_flow *f)
{
    const mcp_auth_options *auth = f->opt.auth;

    f->step = MCPI_STEP_WHO;
    if (auth->client_id) {
        be_agreed_on(f);
    } else if (auth->grant != MCP_GRANT_CODE) {
        forget_who(f);
        mcpi_flow_go(f);
    } else if (auth->metadata_url && mcpi_flow_issuer(f)->takes_documents) {
        be_a_document(f);
    } else {
        find_registered(f);
    }
}

/* ---- registering --------------------------------------------------------------------- */

static void
who_is_kept(void *user, struct mcpi_shelf_op *op, int status, const char *text)
{
    struct mcpi_flow *f = user;

    (void)op, (void)text;
    f->op = NULL;
    if (status < 0)
        MCPI_LOG(mcpi_loop_log(f->opt.loop), MCP_LOG_WARNING,
                 "auth: the registration could not be kept: %s",
                 mcp_status_text(status));
    mcpi_flow_visit(f);
}

static void
keep_who(struct mcpi_flow *f)
{
    struct mcpi_buf text;
    char key[KEY_MAX];

    f->step = MCPI_STEP_KEEP_WHO;
    who_key(f, key);
    mcpi_buf_init(&text, f->mem, BODY_MAX);
    mcpi_registration_write(f->who, &text);
    mcpi_buf_char(&text, '\0');
    if (text.status < 0 ||
        mcpi_shelf_save(f->opt.shelf, key, text.data, who_is_kept, f, &f->op) < 0)
        mcpi_flow_visit(f);
    mcpi_buf_done(&text);
}

static struct mcpi_registration_ask
what_to_ask(struct mcpi_flow *f)
{
    const mcp_auth_options *auth = f->opt.auth;

    return (struct mcpi_registration_ask){
        .name = auth->client_name ? auth->client_name : f->opt.name,
        .uri = auth->client_uri,
        .redirect_uri = f->visitor.redirect_uri,
        .scope = mcpi_flow_scope(f),
        .issuer = mcpi_flow_issuer(f),
    };
}

static void
registration_refused(struct mcpi_flow *f, const struct mcpi_lookup_answer *answer)
{
    const char *code = mcp_json_string(mcp_json_get(answer->json, "error"), "");
    const char *more = mcp_json_string(mcp_json_get(answer->json, "error_description"),
                                       "");

    snprintf(f->why, sizeof(f->why), "registration was refused: HTTP %d%s%.60s%s%.120s",
             answer->http, *code ? " " : "", code, *more ? ": " : "", more);
    mcpi_flow_fail(f, MCP_E_AUTH, f->why);
}

static void
on_registered(void *user, const struct mcpi_lookup_answer *answer)
{
    struct mcpi_flow *f = user;
    const struct mcpi_registration_ask ask = what_to_ask(f);
    const char *why = answer->why;
    int r = answer->status;

    if (r == 0 && answer->http != 201 && answer->http != 200) {
        registration_refused(f, answer);
        return;
    }
    forget_who(f);
    if (r == 0)
        r = mcpi_registration_answer(f->mem, answer->json, &ask, &f->who, &why);
    if (r < 0) {
        mcpi_flow_check(f, r, why);
        return;
    }
    f->registered = true;
    keep_who(f);
}

void
mcpi_flow_register(struct mcpi_flow *f)
{
    const struct mcpi_registration_ask ask = what_to_ask(f);
    struct mcpi_lookup_options opt = {.loop = f->opt.loop,
                                      .fetcher = f->opt.fetcher,
                                      .method = "POST",
                                      .url = ask.issuer->registration_endpoint,
                                      .type = "application/json",
                                      .nearest = f->nearest,
                                      .stays = true,
                                      .limit_us = mcpi_flow_fetch_us(f),
                                      .done = on_registered,
                                      .user = f};
    struct mcpi_buf body;
    int r;

    f->step = MCPI_STEP_REGISTER;
    if (!opt.url || f->opt.auth->no_registration) {
        mcpi_flow_fail(
            f, MCP_E_AUTH,
            "the authorization server does not know us, and we cannot register");
        return;
    }
    mcpi_buf_init(&body, f->mem, BODY_MAX);
    mcpi_registration_ask(&ask, &body);
    opt.body = body.data;
    opt.body_len = body.len;
    r = body.status < 0 ? body.status : mcpi_lookup_start(&f->lookup, &opt);
    mcpi_buf_done(&body);
    mcpi_flow_check(f, r, "registration cannot be asked for");
}
