/* flow_code.c - a token for a user who signs in (authorization_code with PKCE) */
#include <stdio.h>
#include <string.h>

#include "auth/flow_steps.h"
#include "auth/form.h"
#include "auth/redirect.h"
#include "auth/scopes.h"

/* Longest URL to sign in at, with all its parameters. */
#define URL_MAX ((size_t)16384)

/* ---- the answer ------------------------------------------------------------------ */

static void
post_code(struct mcpi_flow *f, const char *code)
{
    mcpi_flow_form(f, "authorization_code");
    mcpi_form_add(&f->form, "code", code);
    mcpi_form_add(&f->form, "redirect_uri", f->visitor.redirect_uri);
    mcpi_form_add(&f->form, "code_verifier", f->verifier);
    mcpi_form_add(&f->form, "resource", f->discovery.found.resource.resource);
    mcpi_flow_post(f, MCPI_STEP_TOKEN, mcpi_flow_issuer(f)->token_endpoint);
}

/* Nobody was sent back. An issuer that has forgotten us says so on its page, and we would
 * never hear of it. */
static void
not_sent_back(struct mcpi_flow *f, int status, const char *why)
{
    if (status != MCP_E_NOMEM)
        mcpi_flow_forget_who(f);
    mcpi_flow_fail(f, status, why);
}

void
mcpi_flow_visited(void *user, int status, const char *text)
{
    struct mcpi_flow *f = user;
    const struct mcpi_redirect_rules rules = {
        .redirect_uri = f->visitor.redirect_uri,
        .state = f->state,
        .issuer = mcpi_flow_issuer(f)->issuer,
        .sends_iss = mcpi_flow_issuer(f)->sends_iss};
    struct mcpi_buf code;
    int r = status;

    if (r < 0) {
        not_sent_back(f, r, text);
        return;
    }
    mcpi_buf_init(&code, f->mem, URL_MAX);
    r = mcpi_redirect_read(text, &rules, &code, f->why, sizeof(f->why));
    if (r == 0)
        post_code(f, code.data);
    else
        mcpi_flow_check(f, r, f->why);
    mcpi_buf_done(&code);
}

/* ---- the page ------------------------------------------------------------------- */

static int
write_page(struct mcpi_flow *f, const char *challenge, struct mcpi_buf *url)
{
    const char *endpoint = mcpi_flow_issuer(f)->authorization_endpoint;
    const char *scope = mcpi_flow_scope(f);

    mcpi_buf_text(url, endpoint);
    if (!strchr(endpoint, '?'))
        mcpi_buf_char(url, '?');
    mcpi_form_add(url, "response_type", "code");
    mcpi_form_add(url, "client_id", f->who->client_id);
    mcpi_form_add(url, "redirect_uri", f->visitor.redirect_uri);
    if (*scope)
        mcpi_form_add(url, "scope", scope);
    if (mcpi_scopes_have(scope, "offline_access"))
        mcpi_form_add(url, "prompt", "consent"); /* OpenID Connect gives none without */
    mcpi_form_add(url, "state", f->state);
    mcpi_form_add(url, "code_challenge", challenge);
    mcpi_form_add(url, "code_challenge_method", "S256");
    mcpi_form_add(url, "resource", f->discovery.found.resource.resource);
    mcpi_buf_char(url, '\0');
    return url->status;
}

static int
open_page(struct mcpi_flow *f)
{
    char challenge[MCPI_PKCE_SIZE];
    struct mcpi_buf url;
    int r;

    r = mcpi_nonce_make(f->state);
    if (r == 0)
        r = mcpi_pkce_make(f->verifier, challenge);
    if (r < 0)
        return r;
    mcpi_buf_init(&url, f->mem, URL_MAX);
    r = write_page(f, challenge, &url);
    if (r == 0)
        r = mcpi_visitor_open(&f->visitor, url.data);
    mcpi_buf_done(&url);
    return r;
}

void
mcpi_flow_visit(struct mcpi_flow *f)
{
    f->step = MCPI_STEP_VISIT;
    mcpi_flow_check(f, open_page(f), "the page to sign in cannot be shown");
}

/* ---- beginning ------------------------------------------------------------------ */

static const char *
page_fault(const struct mcpi_flow *f)
{
    if (!mcpi_flow_issuer(f)->authorization_endpoint)
        return "the authorization server has no page to sign in";
    if (!mcpi_flow_issuer(f)->has_s256)
        return "the authorization server does not protect codes (PKCE with S256)";
    return NULL;
}

/* Why nobody signs in: mcp_auth_agent.begin has said so, if there is one. */
static void
begin_fault(int status, char *into, size_t size)
{
    if (status == MCP_E_AUTH)
        snprintf(into, size, "nobody can");
    else if (status == MCP_E_STATE)
        snprintf(into, size, "the place to come back to is taken");
    else
        snprintf(into, size, "that cannot begin: %s", mcp_status_text(status));
}

/* What has to be asked for, a user will have to know. */
static void
cannot_begin(struct mcpi_flow *f, int status)
{
    char fault[64];

    begin_fault(status, fault, sizeof(fault));
    if (f->kind == MCPI_FLOW_STEP_UP)
        snprintf(
            f->why, sizeof(f->why),
            "the server wants a token for \"%.100s\", somebody has to sign in, and "
            "%s",
            f->challenge.scope, fault);
    else
        snprintf(f->why, sizeof(f->why), "somebody has to sign in, and %s", fault);
    mcpi_flow_check(f, status, f->why);
}

void
mcpi_flow_by_code(struct mcpi_flow *f)
{
    const char *fault = page_fault(f);
    int r;

    if (fault) {
        mcpi_flow_fail(f, MCP_E_AUTH, fault);
        return;
    }
    f->step = MCPI_STEP_VISIT;
    f->visitor.nearest = f->nearest;
    r = mcpi_visitor_begin(&f->visitor, f->registered ? f->who->redirect_uri : "");
    if (r < 0)
        cannot_begin(f, r);
    else if (!f->who || (f->registered &&
                         strcmp(f->who->redirect_uri, f->visitor.redirect_uri) != 0))
        mcpi_flow_register(f);
    else
        mcpi_flow_visit(f);
}
