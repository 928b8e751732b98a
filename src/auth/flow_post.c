/*
 * flow_post.c - asking a token endpoint, and keeping what it gives
 */
#include <stdio.h>
#include <string.h>

#include "auth/dpop.h"
#include "auth/flow_steps.h"
#include "auth/form.h"

void
mcpi_flow_form(struct mcpi_flow *f, const char *grant_type)
{
    mcpi_buf_clear(&f->form);
    mcpi_form_add(&f->form, "grant_type", grant_type);
}

void
mcpi_flow_form_resource(struct mcpi_flow *f)
{
    const char *scope = mcpi_flow_scope(f);

    mcpi_form_add(&f->form, "resource", f->discovery.found.resource.resource);
    if (*scope)
        mcpi_form_add(&f->form, "scope", scope);
}

/* ---- saving --------------------------------------------------------------------- */

static void
on_saved(void *user, struct mcpi_shelf_op *op, int status, const char *text)
{
    struct mcpi_flow *f = user;

    (void)op, (void)text;
    f->op = NULL;
    if (status < 0)
        MCPI_LOG(mcpi_loop_log(f->opt.loop), MCP_LOG_WARNING,
                 "auth: the token could not be kept: %s", mcp_status_text(status));
    mcpi_flow_kept(f, status == 0);
    mcpi_flow_succeed(f);
}

/* One that cannot be kept is good all the same. */
static void
flow_save(struct mcpi_flow *f)
{
    struct mcpi_buf text;

    f->step = MCPI_STEP_SAVE;
    mcpi_buf_init(&text, f->mem, MCPI_GRANT_FORM_MAX);
    mcpi_credential_write(f->made, &text);
    mcpi_buf_char(&text, '\0');
    if (text.status < 0 || mcpi_shelf_save(f->opt.shelf, f->opt.token_key, text.data,
                                           on_saved, f, &f->op) < 0) {
        mcpi_flow_kept(f, false);
        mcpi_flow_succeed(f);
    }
    mcpi_buf_done(&text);
}

/* ---- asking ------------------------------------------------- */

static int
add_proof(struct mcpi_flow *f, struct mcpi_buf *fields)
{
    const struct mcpi_dpop proof = {
        .method = "POST", .url = f->post_url, .nonce = f->nonce, .now = f->opt.wall()};
    int r;

    MCPI_BUF_LITERAL(fields, "DPoP: ");
    r = mcpi_dpop_write(f->key, &proof, fields);
    mcpi_buf_char(fields, '\0');
    return r;
}

static int
add_client(struct mcpi_flow *f, struct mcpi_buf *fields, struct mcpi_buf *form)
{
    const struct mcpi_grant_client client = {.registration = f->who,
                                             .key = f->opt.client_key,
                                             .kid = f->opt.auth->key_id,
                                             .now = f->opt.wall()};

    return f->who ? mcpi_grant_authenticate(&client, fields, form) : 0;
}

/* To the issuer, as who we are; to the company's provider as whom it knows. */
static int
write_post(struct mcpi_flow *f, struct mcpi_buf *fields, struct mcpi_buf *form)
{
    int r = 0;

    mcpi_buf_append(form, f->form.data, f->form.len);
    if (f->step != MCPI_STEP_EXCHANGE)
        r = add_client(f, fields, form);
    if (r == 0 && f->dpop && f->step != MCPI_STEP_EXCHANGE)
        r = add_proof(f, fields);
    if (r == 0)
        r = fields->status < 0 ? fields->status : form->status;
    return r < 0 ? r : f->form.status;
}

static void on_token_answer(void *user, const struct mcpi_lookup_answer *answer);

static int
post_form(struct mcpi_flow *f, const struct mcpi_buf *fields,
          const struct mcpi_buf *form)
{
    const struct mcpi_lookup_options opt = {
        .loop = f->opt.loop,
        .fetcher = f->opt.fetcher,
        .method = "POST",
        .url = f->post_url,
        .fields = fields->data,
        .fields_len = fields->len,
        .body = form->data,
        .body_len = form->len,
        .type = "application/x-www-form-urlencoded",
        /* who was named by the program may be anywhere */
        .nearest = f->step == MCPI_STEP_EXCHANGE || f->opt.auth->issuer
                       ? MCPI_ADDRESS_ANY
                       : f->nearest,
        .stays = true, /* nobody is handed on what is for another */
        .limit_us = mcpi_flow_fetch_us(f),
        .done = on_token_answer,
        .user = f,
    };

    return mcpi_lookup_start(&f->lookup, &opt);
}

static int
post_once(struct mcpi_flow *f)
{
    struct mcpi_buf fields, form;
    int r;

    mcpi_buf_init(&fields, f->mem, MCPI_GRANT_FORM_MAX);
    mcpi_buf_init(&form, f->mem, MCPI_GRANT_FORM_MAX);
    r = write_post(f, &fields, &form);
    if (r == 0)
        r = post_form(f, &fields, &form);
    mcpi_buf_done(&fields);
    mcpi_buf_done(&form);
    return r;
}

void
mcpi_flow_post(struct mcpi_flow *f, enum mcpi_flow_step step, const char *url)
{
    f->step = step;
    f->post_url = url;
    f->nonces = 0;
    mcpi_flow_check(f, post_once(f), "the token could not be asked for");
}

/* ---- what a token endpoint answers ------------------------------------------------ */

/* A nonce that it gives may be wanted from now on; true: the request was refused for want
 * of it, and is made again. */
static bool
answer_wants_nonce(struct mcpi_flow *f, const struct mcpi_lookup_answer *answer)
{
    size_t len = strlen(answer->nonce);

    if (!f->dpop || f->step == MCPI_STEP_EXCHANGE ||
        !mcpi_credential_is_text(answer->nonce) || len >= sizeof(f->nonce))
        return false;
    memcpy(f->nonce, answer->nonce, len + 1);
    return mcp_json_is_string(mcp_json_get(answer->json, "error"), "use_dpop_nonce") &&
           f->nonces++ < MCPI_FLOW_NONCES_MAX;
}

/* A refresh token is kept if no other is given. */
static int
make_token_of(struct mcpi_flow *f, const struct mcpi_grant_answer *answer,
              const char *who)
{
    const struct mcpi_credential *old = mcpi_flow_old(f);
    bool refreshed = f->step == MCPI_STEP_REFRESH;
    struct mcpi_credential parts = {
        .key = answer->dpop ? f->key : NULL,
        .expires_at = answer->expires_at,
        .issuer = f->discovery.found.issuer.issuer,
        .resource = f->discovery.found.resource.resource,
        .client_id = f->who ? f->who->client_id : "",
        .access = answer->access,
        .refresh = refreshed && !*answer->refresh ? old->refresh : answer->refresh,
        .scope = refreshed ? old->scope : mcpi_flow_scope(f),
        .who = who,
    };

    f->refreshed = refreshed;
    return mcpi_credential_new(f->mem, &parts, &f->made);
}

static int
make_token(struct mcpi_flow *f, const struct mcpi_grant_answer *answer)
{
    struct mcpi_buf who;
    int r;

    mcpi_buf_init(&who, f->mem, MCPI_GRANT_FORM_MAX);
    if (f->registered) {
        mcpi_registration_write(f->who, &who);
        mcpi_buf_char(&who, '\0');
    }
    r = who.status < 0 ? who.status : make_token_of(f, answer, who.data);
    mcpi_buf_done(&who);
    return r;
}

/* A token that is bound must be bound to our key, and if we demand that, it must be. */
static int
check_binding(struct mcpi_flow *f, const struct mcpi_grant_answer *read)
{
    if (read->dpop == f->dpop || (f->dpop && !f->opt.auth->dpop))
        return 0;
    snprintf(f->why, sizeof(f->why), "%s",
             read->dpop ? "the token is bound to a key that is not ours"
                        : "the token is not bound to our key");
    return MCP_E_AUTH;
}

static void
token_arrived(struct mcpi_flow *f, const struct mcpi_lookup_answer *answer)
{
    struct mcpi_grant_answer read;
    const char *code;
    int r;

    r = mcpi_grant_read(answer->http, answer->json, f->opt.wall(), &read, &code, f->why,
                        sizeof(f->why));
    if (r == 0)
        r = check_binding(f, &read);
    if (r == 0)
        r = make_token(f, &read);
    if (r < 0 && strcmp(code, "invalid_client") == 0)
        mcpi_flow_forget_who(f);
    if (r == 0)
        flow_save(f);
    else if (f->step == MCPI_STEP_REFRESH && mcpi_lookup_is_refused(answer))
        mcpi_flow_refresh_refused(f);
    else
        mcpi_flow_check(f, r, f->why);
}

static void
exchange_arrived(struct mcpi_flow *f, const struct mcpi_lookup_answer *answer)
{
    const char *assertion;
    int r;

    r = mcpi_grant_read_exchange(answer->http, answer->json, &assertion, f->why,
                                 sizeof(f->why));
    if (r < 0)
        mcpi_flow_fail(f, r, f->why);
    else
        mcpi_flow_by_assertion(f, assertion);
}

static void
on_token_answer(void *user, const struct mcpi_lookup_answer *answer)
{
    struct mcpi_flow *f = user;

    if (answer->status < 0) {
        snprintf(f->why, sizeof(f->why), "the authorization server: %s", answer->why);
        mcpi_flow_check(f, answer->status, f->why);
    } else if (answer_wants_nonce(f, answer)) {
        mcpi_flow_check(f, post_once(f), "the token could not be asked for");
    } else if (f->step == MCPI_STEP_EXCHANGE) {
        exchange_arrived(f, answer);
    } else {
        token_arrived(f, answer);
    }
}
