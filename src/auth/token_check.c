/*
 * token_check.c - one request at the guard: what it brings, whether that will do
 *
 *   credentials   read (bearer.h); none: 401, malformed: 400
 *   token         checked here, with the keys there are (access_token.h); or it waits for
 *                 newer keys, on the guard's loop; or for the program's own verdict
 *   binding       a token that is bound to a key comes with a proof (binding.h)
 *   scopes        those that every request needs, and this one: else 403. What this one
 *                 needs is in its body (needs.h); a long one is read last, and only then
 *
 * Whoever waits has a copy of what of the request is needed later, and a reference to the
 * guard; the request itself waits in its ticket.
 */
#include <string.h>

#include "auth/access_token.h"
#include "auth/binding.h"
#include "auth/claims.h"
#include "auth/needs.h"
#include "auth/scopes.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/value.h"

/* A body is read for what it needs before it is known who sends it if it is no longer than
 * that: the scopes in a challenge are a courtesy. */
#define STRANGER_BODY_MAX 65536
#define CLAIMS_BYTES_MAX 65536
#define CLAIMS_DEPTH_MAX 32

/* Who it is, if the token is to be believed; borrowed. */
struct who {
    const char *principal;
    const char *scope; /* with what is implied */
    const char *key;   /* or NULL */
    mcp_doc *claims;   /* or NULL */
};

/* One that waits; the texts of asked stand behind it. */
struct mcp_token_check {
    struct mcpi_post post;
    struct mcpi_keyring_wait wait;
    mcp_guard *guard; /* counted */
    mcp_http_ticket *ticket;
    size_t ring; /* for whose keys it waits */
    struct mcpi_asked asked;
    size_t text_size;
    char text[];
};

/* ---- refusals ---------------------------------------------------------------- */

static void
deny(const mcp_guard *guard, const struct mcpi_asked *asked, mcp_http_ticket *ticket,
     const struct mcpi_refusal *refusal)
{
    mcpi_refusal_say(refusal, guard->settings, asked, ticket, mcp_http_deny);
}

static void
deny_token(const mcp_guard *guard, const struct mcpi_asked *asked,
           mcp_http_ticket *ticket, const char *why)
{
    const struct mcpi_refusal refusal = mcpi_refusal_token(why);

    deny(guard, asked, ticket, &refusal);
}

static void
deny_later(const mcp_guard *guard, const struct mcpi_asked *asked,
           mcp_http_ticket *ticket)
{
    deny(guard, asked, ticket, &mcpi_refusal_later);
}

/* ---- enough ------------------------------------------------------------------- */

/* The token is good, and the body was too long to be read before. */
static void
on_last_look(void *user, const mcp_http_request *request, const char *scope,
             mcp_http_ticket *ticket)
{
    const struct mcpi_refusal *refusal;
    struct mcpi_asked asked = {0};
    const mcp_guard *guard = user;
    struct mcpi_buf need;

    (void)mcpi_bearer_read(request, &asked.bearer);
    mcpi_buf_init(&need, guard->mem, MCPI_SCOPES_MAX);
    refusal = mcpi_needs_find(guard, request, true, &need);
    asked.need = refusal ? "" : need.data;
    if (!refusal && !mcpi_scopes_have(scope, asked.need))
        refusal = &mcpi_refusal_scope;
    if (refusal)
        mcpi_refusal_say(refusal, guard->settings, &asked, ticket,
                         mcpi_http_ticket_veto);
    mcpi_buf_done(&need);
}

/* The token is good: is it enough? */
static void
conclude(const mcp_guard *guard, const struct mcpi_asked *asked,
         mcp_http_ticket *ticket, const struct who *who)
{
    struct mcpi_refusal refusal;

    if (!mcpi_binding_check(guard, asked, who->principal, who->key, &refusal)) {
        deny(guard, asked, ticket, &refusal);
        return;
    }
    if (!asked->unread && !mcpi_scopes_have(who->scope, asked->need)) {
        deny(guard, asked, ticket, &mcpi_refusal_scope);
        return;
    }
    if (asked->unread)
        mcpi_http_ticket_set_last(ticket, on_last_look, (void *)(uintptr_t)guard);
    mcpi_http_ticket_allow(ticket, who->principal, who->scope, who->claims);
}

/* ---- tokens that are JWTs --------------------------------------------------- */

static void
jwt_conclude(const mcp_guard *guard, const struct mcpi_asked *asked,
             mcp_http_ticket *ticket, const struct mcpi_jwt *jwt)
{
    struct mcpi_claims claims;
    struct who who = {.claims = jwt->claims_doc};
    const char *fault;
    int status;

    fault = mcpi_claims_read(guard->mem, jwt->claims, &claims, &status);
    if (status < 0) {
        deny_later(guard, asked, ticket);
        return;
    }
    if (fault) {
        deny_token(guard, asked, ticket, fault);
        return;
    }
    mcpi_guard_settings_imply(guard->settings, &claims.scope);
    mcpi_buf_append(&claims.scope, "", 1);
    who.principal = claims.principal;
    who.scope = claims.scope.data;
    who.key = claims.key;
    if (claims.scope.status < 0)
        deny_later(guard, asked, ticket);
    else
        conclude(guard, asked, ticket, &who);
    mcpi_claims_done(&claims);
}

/* False: it is answered. True: it has to wait for keys of that issuer. */
static bool
jwt_judge(const mcp_guard *guard, const struct mcpi_asked *asked,
          mcp_http_ticket *ticket, const struct mcpi_jwt *jwt, bool last,
          size_t *ret_issuer)
{
    struct mcpi_refusal refusal;

    switch (mcpi_access_token_judge(guard, jwt, last, &refusal, ret_issuer)) {
    case MCPI_ACCESS_WAIT:
        return true;
    case MCPI_ACCESS_GOOD:
        jwt_conclude(guard, asked, ticket, jwt);
        break;
    case MCPI_ACCESS_REFUSED:
        deny(guard, asked, ticket, &refusal);
        break;
    }
    return false;
}

/* As jwt_judge. */
static bool
token_judge(const mcp_guard *guard, const struct mcpi_asked *asked,
            mcp_http_ticket *ticket, bool last, size_t *ret_issuer)
{
    struct mcpi_jwt jwt;
    bool waits;
    int r;

    r = mcpi_jwt_read(guard->mem, asked->bearer.token, strlen(asked->bearer.token),
                      &jwt);
    if (r == MCP_E_NOMEM) {
        deny_later(guard, asked, ticket);
        return false;
    }
    if (r < 0) {
        deny_token(guard, asked, ticket, "this is no token of a kind that is taken");
        return false;
    }
    waits = jwt_judge(guard, asked, ticket, &jwt, last, ret_issuer);
    mcpi_jwt_done(&jwt);
    return waits;
}

/* ---- waiting ---------------------------------------------------------------- */

/* Is there room for one more who waits, with such a body? */
static bool
guard_enter(mcp_guard *guard, size_t body_length)
{
    size_t others = atomic_fetch_add(&guard->waiting, 1);
    size_t bytes = atomic_fetch_add(&guard->waiting_bytes, body_length);

    return others < MCPI_GUARD_WAITING_MAX && bytes <= MCPI_GUARD_WAITING_BYTES_MAX;
}

static void
guard_leave(mcp_guard *guard, size_t body_length)
{
    atomic_fetch_sub(&guard->waiting_bytes, body_length);
    atomic_fetch_sub(&guard->waiting, 1);
}

static void
check_free(mcp_token_check *check)
{
    mcp_guard *guard = check->guard;
    size_t body_length = check->asked.body_length;

    explicit_bzero(check->text, check->text_size);
    mcpi_free(guard->mem, check);
    guard_leave(guard, body_length);
    mcpi_guard_unref(guard);
}

static void
asked_keep(struct mcpi_asked *asked, char *room)
{
    const char **texts[] = {&asked->bearer.token, &asked->bearer.proof, &asked->method,
                            &asked->path, &asked->need};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        *texts[i] = mcpi_text_stow(&room, *texts[i], strlen(*texts[i]));
}

/* NULL: too many wait, or no memory. */
static mcp_token_check *
check_new(mcp_guard *guard, const struct mcpi_asked *asked, mcp_http_ticket *ticket)
{
    size_t size = strlen(asked->bearer.token) + strlen(asked->bearer.proof) +
                  strlen(asked->method) + strlen(asked->path) + strlen(asked->need) + 5;
    mcp_token_check *check = NULL;

    if (guard_enter(guard, asked->body_length))
        check = mcpi_alloc_zero(guard->mem, sizeof(*check) + size);
    if (!check) {
        guard_leave(guard, asked->body_length);
        return NULL;
    }
    mcpi_list_init(&check->wait.node);
    check->guard = mcpi_guard_ref(guard);
    check->ticket = ticket;
    check->asked = *asked;
    check->text_size = size;
    asked_keep(&check->asked, check->text);
    return check;
}

/* On the guard's loop: keys came, or will not. */
static void
on_keys_ready(struct mcpi_keyring_wait *wait)
{
    mcp_token_check *check = MCPI_CONTAINER(wait, mcp_token_check, wait);
    size_t issuer;

    (void)token_judge(check->guard, &check->asked, check->ticket, true, &issuer);
    check_free(check);
}

static void
on_check_posted(struct mcpi_post *post)
{
    mcp_token_check *check = MCPI_CONTAINER(post, mcp_token_check, post);

    mcpi_keyring_ask(check->guard->rings[check->ring], &check->wait);
}

static void
token_check(mcp_guard *guard, const struct mcpi_asked *asked, mcp_http_ticket *ticket)
{
    mcp_token_check *check;
    size_t issuer;

    if (!token_judge(guard, asked, ticket, false, &issuer))
        return;
    check = check_new(guard, asked, ticket);
    if (!check) {
        deny_later(guard, asked, ticket);
        return;
    }
    check->ring = issuer;
    check->wait.ready = on_keys_ready;
    check->post.fn = on_check_posted;
    mcpi_loop_post(guard->loop, &check->post);
}

/* ---- the program's own verdict ---------------------------------------------- */

static void
token_ask(mcp_guard *guard, const struct mcpi_asked *asked, mcp_http_ticket *ticket)
{
    const mcp_guard_options *opt = &guard->settings->opt;
    mcp_token_check *check = check_new(guard, asked, ticket);

    if (check)
        opt->verify(opt->verify_user, check->asked.bearer.token, check);
    else
        deny_later(guard, asked, ticket);
}

static int
claims_parse(const mcp_guard *guard, const char *text, mcp_doc **ret_doc)
{
    const struct mcpi_json_limits limits = {CLAIMS_BYTES_MAX, CLAIMS_DEPTH_MAX};
    int r;

    if (!text)
        return 0;
    r = mcpi_doc_parse(guard->mem, text, strlen(text), &limits, ret_doc);
    if (r == 0 && mcp_json_get_type(mcp_doc_root(*ret_doc)) != MCP_JSON_OBJECT)
        r = MCP_E_INVAL;
    return r;
}

/* What the program says of who it is. */
static int
identity_take(const mcp_token_check *check, const mcp_identity *said,
              struct mcpi_buf *scope, struct who *ret_who)
{
    const mcp_guard *guard = check->guard;
    int r;

    if (!said->principal || !*said->principal || (said->key && !*said->key))
        return MCP_E_INVAL;
    mcpi_scopes_add(scope, said->scope);
    mcpi_guard_settings_imply(guard->settings, scope);
    mcpi_buf_append(scope, "", 1);
    if (scope->status < 0)
        return scope->status;
    r = claims_parse(guard, said->claims, &ret_who->claims);
    ret_who->principal = said->principal;
    ret_who->scope = scope->data;
    ret_who->key = said->key;
    return r;
}

void
mcp_token_accept(mcp_token_check *check, const mcp_identity *identity)
{
    static const struct mcpi_refusal nobody = {.status = 500,
                                               .why = "this is nobody's identity"};
    struct who who = {0};
    struct mcpi_buf scope;
    mcp_identity said;
    int r = MCP_E_INVAL;

    if (!check)
        return;
    mcpi_buf_init(&scope, check->guard->mem, MCPI_SCOPES_MAX);
    if (identity && mcpi_options_read(&said, sizeof(said), identity) == 0)
        r = identity_take(check, &said, &scope, &who);
    if (r == 0)
        conclude(check->guard, &check->asked, check->ticket, &who);
    else if (r == MCP_E_NOMEM)
        deny_later(check->guard, &check->asked, check->ticket);
    else
        deny(check->guard, &check->asked, check->ticket, &nobody);
    mcp_doc_free(who.claims);
    mcpi_buf_done(&scope);
    check_free(check);
}

void
mcp_token_reject(mcp_token_check *check, const char *why)
{
    if (!check)
        return;
    deny_token(check->guard, &check->asked, check->ticket,
               why ? why : "the token is not good");
    check_free(check);
}

void
mcp_token_fail(mcp_token_check *check)
{
    if (!check)
        return;
    deny_later(check->guard, &check->asked, check->ticket);
    check_free(check);
}

/* ---- the hook ---------------------------------------------------------------- */

static void
identify(mcp_guard *guard, const mcp_http_request *request, struct mcpi_asked *asked,
         mcp_http_ticket *ticket)
{
    const struct mcpi_refusal nobody = {.status = 401};
    struct mcpi_refusal malformed = {.status = 400, .error = "invalid_request"};

    malformed.why = mcpi_bearer_read(request, &asked->bearer);
    if (malformed.why)
        deny(guard, asked, ticket, &malformed);
    else if (asked->bearer.scheme == MCPI_BEARER_NONE)
        deny(guard, asked, ticket, &nobody);
    else if (guard->settings->opt.verify)
        token_ask(guard, asked, ticket);
    else
        token_check(guard, asked, ticket);
}

void
mcpi_guard_identify(void *user, const mcp_http_request *request,
                    mcp_http_ticket *ticket)
{
    struct mcpi_asked asked = {.method = request->method,
                               .path = request->target,
                               .body_length = request->body_length};
    bool is_short = request->body_length <= STRANGER_BODY_MAX;
    const struct mcpi_refusal *refusal;
    char nonce[MCPI_NONCE_SIZE];
    mcp_guard *guard = user;
    struct mcpi_buf need;

    if (guard->settings->opt.dpop_nonce &&
        mcpi_nonces_write(&guard->nonces, mcpi_guard_now(guard), 0, nonce) == 0)
        mcpi_http_ticket_set_nonce(ticket, nonce); /* whatever the answer is */
    mcpi_buf_init(&need, guard->mem, MCPI_SCOPES_MAX);
    refusal = mcpi_needs_find(guard, request, is_short, &need);
    asked.need = refusal ? "" : need.data;
    asked.unread = !is_short && guard->settings->opt.needs;
    if (refusal)
        deny(guard, &asked, ticket, refusal);
    else
        identify(guard, request, &asked, ticket);
    mcpi_buf_done(&need);
}
