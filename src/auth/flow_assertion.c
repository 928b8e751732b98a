/*
 * flow_assertion.c - a token for somebody whom another vouches for (jwt-bearer)
 *
 * The program gives the assertion: a JWT of its platform, which goes to the authorization
 * server as it is; or an ID token, of which the company's provider makes an ID-JAG first.
 */
#include <string.h>

#include "auth/flow_steps.h"
#include "auth/form.h"
#include "base/mem.h"
#include "base/text.h"

/* The program is asked, where it may block. */
struct mcpi_flow_errand {
    struct mcpi_errand errand;
    const mcp_allocator *mem;
    struct mcpi_flow *flow; /* NULL: nobody waits */
    mcp_assertion_fn *fn;
    void *user;
    char *assertion;
    int status;
    mcp_error err;
    char audience[]; /* the issuer */
};

void
mcpi_flow_by_assertion(struct mcpi_flow *f, const char *assertion)
{
    mcpi_flow_form(f, "urn:ietf:params:oauth:grant-type:jwt-bearer");
    mcpi_form_add(&f->form, "assertion", assertion);
    mcpi_flow_form_resource(f);
    mcpi_flow_post(f, MCPI_STEP_TOKEN, f->discovery.found.issuer.token_endpoint);
}

static void
exchange(struct mcpi_flow *f, const char *id_token)
{
    const mcp_auth_options *auth = f->opt.auth;
    const struct mcpi_found *found = &f->discovery.found;

    mcpi_flow_form(f, "urn:ietf:params:oauth:grant-type:token-exchange");
    mcpi_form_add(&f->form, "requested_token_type",
                  "urn:ietf:params:oauth:token-type:id-jag");
    mcpi_form_add(&f->form, "audience", found->issuer.issuer);
    mcpi_flow_form_resource(f);
    mcpi_form_add(&f->form, "subject_token", id_token);
    mcpi_form_add(&f->form, "subject_token_type",
                  "urn:ietf:params:oauth:token-type:id_token");
    mcpi_form_add(&f->form, "client_id", auth->idp_client_id);
    mcpi_form_add(&f->form, "client_secret", auth->idp_client_secret);
    mcpi_flow_post(f, MCPI_STEP_EXCHANGE, auth->idp_token_endpoint);
}

static void
errand_free(struct mcpi_flow_errand *errand)
{
    if (errand->assertion)
        explicit_bzero(errand->assertion, strlen(errand->assertion));
    mcp_text_free(errand->assertion, NULL);
    mcpi_free(errand->mem, errand);
}

static void
errand_work(struct mcpi_errand *base)
{
    struct mcpi_flow_errand *errand = MCPI_CONTAINER(base, struct mcpi_flow_errand,
                                                     errand);

    errand->status = errand->fn(errand->user, errand->audience, &errand->assertion,
                                &errand->err);
    if (errand->status >= 0 && (!errand->assertion || !*errand->assertion))
        errand->status = MCP_E_AUTH;
}

static void
errand_told(struct mcpi_flow *f, const struct mcpi_flow_errand *errand)
{
    const char *why = errand->err.message;

    f->errand = NULL;
    if (errand->status < 0)
        mcpi_flow_check(f, errand->status, *why ? why : "there is no assertion for us");
    else if (f->opt.auth->grant == MCP_GRANT_ENTERPRISE)
        exchange(f, errand->assertion);
    else
        mcpi_flow_by_assertion(f, errand->assertion);
}

static void
errand_home(struct mcpi_errand *base)
{
    struct mcpi_flow_errand *errand = MCPI_CONTAINER(base, struct mcpi_flow_errand,
                                                     errand);

    if (errand->flow)
        errand_told(errand->flow, errand);
    errand_free(errand);
}

void
mcpi_flow_drop_errand(struct mcpi_flow *f)
{
    if (f->errand)
        f->errand->flow = NULL;
    f->errand = NULL;
}

void
mcpi_flow_assert(struct mcpi_flow *f)
{
    const char *audience = f->discovery.found.issuer.issuer;
    size_t len = strlen(audience);
    struct mcpi_flow_errand *errand;

    f->step = MCPI_STEP_ASSERT;
    errand = mcpi_alloc_zero(f->mem, sizeof(*errand) + len + 1);
    if (!errand) {
        mcpi_flow_fail(f, MCP_E_NOMEM, mcp_status_text(MCP_E_NOMEM));
        return;
    }
    errand->mem = f->mem;
    errand->flow = f;
    errand->fn = f->opt.auth->assertion;
    errand->user = f->opt.auth->assertion_user;
    memcpy(errand->audience, audience, len);
    errand->errand.work = errand_work;
    errand->errand.home = errand_home;
    f->errand = errand;
    mcpi_errands_send(f->opt.shelf->errands, &errand->errand);
}
