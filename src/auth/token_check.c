/*
 * token_check.c - one request at the guard: what it brings, whether that will do
 *
 *   credentials   read; none: 401, malformed: 400
 *   token         checked here, with the keys there are; or it waits for newer keys
 *                 (WAITING, on the guard's loop); or for the program's own verdict
 *   binding       a token that is bound to a key comes with a proof, and no other does
 *   scopes        those that every request needs, and this one: else 403. What this one
 *                 needs is in its body; a long one is read last, and only then
 *
 * Whoever waits has a copy of what of the request is needed later, and a reference to the
 * guard; the request itself waits in its ticket. What is said of a token never has its
 * text in it.
 */
#include <stdio.h>
#include <string.h>

#include "auth/bearer.h"
#include "auth/claims.h"
#include "auth/dpop.h"
#include "auth/guard.h"
#include "auth/scopes.h"
#include "base/mem.h"
#include "base/text.h"
#include "wire/rpc.h"
#include "json/value.h"

/* A body is read for what it needs before it is known who sends it if it is no longer than
 * that: the scopes in a challenge are a courtesy. */
#define STRANGER_BODY_MAX 65536
/* Of a message; deeper ones are refused elsewhere. */
#define BODY_DEPTH_MAX 256
#define CLAIMS_BYTES_MAX 65536
#define CLAIMS_DEPTH_MAX 32
#define WHY_SIZE 200

/* What a request brings, as far as it is looked at; borrowed. */
struct asked {
    enum mcpi_bearer_scheme scheme;
    const char *token, *proof;
    unsigned proofs;
    const char *method, *path; /* the path may go on with a query */
    const char *need;          /* scopes */
    bool unread;               /* the body may need more */
    size_t body_length;
};

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
    struct asked asked;
    size_t text_size;
    char text[];
};

/* ---- refusals --------------------------------------------------------------- */

struct refusal {
    int status;
    const char *error; /* or NULL */
    const char *why;   /* or NULL */
    bool dpop;         /* that is what would have been right */
};

static const char *
status_word(int status)
{
    if (status == 401)
        return "Unauthorized";
    return status == 403 ? "Forbidden" : "Bad request";
}

/* As mcp_http_deny. */
typedef void say_fn(mcp_http_ticket *ticket, int status, const char *challenge,
                    const char *message);

static void
refuse(const mcp_guard *guard, const struct asked *asked, mcp_http_ticket *ticket,
       const struct refusal *refusal, say_fn *say)
{
    const struct mcpi_guard_settings *settings = guard->settings;
    const struct mcpi_bearer_challenge what = {
        .dpop = refusal->dpop || settings->opt.dpop_only ||
                asked->scheme == MCPI_BEARER_DPOP,
        .error = refusal->error,
        .description = refusal->why,
        .scope = asked->need,
        .metadata = settings->metadata};
    char challenge[MCPI_BEARER_CHALLENGE_MAX];
    char message[WHY_SIZE];

    mcpi_bearer_challenge(&what, challenge);
    (void)snprintf(message, sizeof(message), "%s: %s", status_word(refusal->status),
                   refusal->why ? refusal->why : "a token is needed");
    say(ticket, refusal->status, challenge, message);
}

static void
deny(const mcp_guard *guard, const struct asked *asked, mcp_http_ticket *ticket,
     const struct refusal *refusal)
{
    refuse(guard, asked, ticket, refusal, mcp_http_deny);
}

static void
deny_token(const mcp_guard *guard, const struct asked *asked, mcp_http_ticket *ticket,
           const char *why)
{
    deny(guard, asked, ticket, &(struct refusal){401, "invalid_token", why, false});
}

/* Nobody can tell now. */
static void
say_later(mcp_http_ticket *ticket, say_fn *say)
{
    say(ticket, 503, NULL, "Internal error: tokens cannot be checked now");
}

static void
deny_later(mcp_http_ticket *ticket)
{
    say_later(ticket, mcp_http_deny);
}

/* ---- binding ---------------------------------------------------------------- */

static void
deny_proof(const mcp_guard *guard, const struct asked *asked, mcp_http_ticket *ticket,
           const char *why)
{
    deny(guard, asked, ticket, &(struct refusal){401, "invalid_dpop_proof", why, true});
}

/* Is it a proof for this request? With one of the nonces that are good now, if they are
 * wanted. As mcpi_dpop_fault. */
static const char *
proof_fault(const mcp_guard *guard, const struct asked *asked, struct mcpi_dpop *what,
            char *ret_thumbprint, char *ret_jti, bool *ret_wants_nonce)
{
    const char *fault = NULL;
    char nonce[MCPI_NONCE_SIZE];

    *ret_wants_nonce = false;
    if (!guard->settings->opt.dpop_nonce)
        return mcpi_dpop_fault(guard->mem, asked->proof, what, ret_thumbprint, ret_jti,
                               ret_wants_nonce);
    what->nonce = nonce;
    for (int i = 0; i < 2; i++) {
        *ret_wants_nonce = false;
        if (mcpi_nonces_write(&guard->nonces, what->now, i, nonce) < 0)
            return mcp_status_text(MCP_E_NOMEM);
        fault = mcpi_dpop_fault(guard->mem, asked->proof, what, ret_thumbprint, ret_jti,
                                ret_wants_nonce);
        if (!fault || !*ret_wants_nonce)
            break;
    }
    return fault;
}

/* Is it no fault of the proof at all? */
static bool
fault_is_ours(const char *fault)
{
    return strcmp(fault, mcp_status_text(MCP_E_NOMEM)) == 0;
}

static bool
proof_is_new(const mcp_guard *guard, const struct asked *asked, mcp_http_ticket *ticket,
             const struct who *who, const char *jti, int64_t now)
{
    int64_t good = guard->settings->opt.dpop_nonce ? 2 * MCPI_NONCE_WINDOW
                                                   : 2 * MCPI_DPOP_AGE_MAX;
    int r = mcpi_replay_add(guard->replay, who->principal, jti, now, now + good);

    if (r == MCP_E_STATE)
        deny_proof(guard, asked, ticket, "the proof was used before");
    else if (r < 0)
        deny_later(ticket);
    return r == 0;
}

/* False: it was denied. */
static bool
proof_check(const mcp_guard *guard, const struct asked *asked, mcp_http_ticket *ticket,
            const struct who *who, const char *url)
{
    struct mcpi_dpop what = {.method = asked->method,
                             .url = url,
                             .token = asked->token,
                             .now = mcpi_guard_now(guard)};
    char thumbprint[MCPI_KEY_THUMBPRINT_SIZE], jti[MCPI_KEY_THUMBPRINT_SIZE];
    const char *fault;
    bool wants_nonce;

    fault = proof_fault(guard, asked, &what, thumbprint, jti, &wants_nonce);
    if (fault && wants_nonce) {
        deny(guard, asked, ticket,
             &(struct refusal){401, "use_dpop_nonce", "the proof needs a nonce", true});
        return false;
    }
    if (!fault && strcmp(thumbprint, who->key) != 0)
        fault = "the proof is of another key";
    if (!fault)
        return proof_is_new(guard, asked, ticket, who, jti, what.now);
    if (fault_is_ours(fault))
        deny_later(ticket);
    else
        deny_proof(guard, asked, ticket, fault);
    return false;
}

/* Where clients think they are: behind a proxy that is another place than we are at. */
static bool
proof_check_here(const mcp_guard *guard, const struct asked *asked,
                 mcp_http_ticket *ticket, const struct who *who)
{
    struct mcpi_buf url;
    bool good = false;

    mcpi_buf_init(&url, guard->mem, MCPI_BEARER_TOKEN_MAX);
    mcpi_buf_text(&url, guard->settings->origin);
    mcpi_buf_append(&url, asked->path, strcspn(asked->path, "?#"));
    mcpi_buf_append(&url, "", 1);
    if (url.status < 0)
        deny_later(ticket);
    else
        good = proof_check(guard, asked, ticket, who, url.data);
    mcpi_buf_done(&url);
    return good;
}

static bool
binding_check(const mcp_guard *guard, const struct asked *asked,
              mcp_http_ticket *ticket, const struct who *who)
{
    const char *key = who->key;
    const struct refusal unbound = {401, "invalid_token",
                                    "the token must be bound to a key", true};
    const struct refusal bare = {
        401, "invalid_token", "the token is bound to a key and needs its proof", true};

    if (!key && (guard->settings->opt.dpop_only || asked->scheme == MCPI_BEARER_DPOP)) {
        deny(guard, asked, ticket, &unbound);
        return false;
    }
    if (key && asked->scheme != MCPI_BEARER_DPOP) {
        deny(guard, asked, ticket, &bare);
        return false;
    }
    if (key && asked->proofs != 1) {
        deny_proof(guard, asked, ticket, "one proof is needed");
        return false;
    }
    return !key || proof_check_here(guard, asked, ticket, who);
}

/* ---- what a request needs ---------------------------------------------------- */

/* As mcp_request_name; of a completion, of what it completes. */
static const char *
name_of(const struct mcpi_rpc *rpc)
{
    const mcp_json *ref;

    switch (rpc->method) {
    case MCPI_METHOD_TOOLS_CALL:
    case MCPI_METHOD_PROMPTS_GET:
        return mcp_json_string(mcp_json_get(rpc->params, "name"), "");
    case MCPI_METHOD_RESOURCES_READ:
    case MCPI_METHOD_RESOURCES_SUBSCRIBE:
    case MCPI_METHOD_RESOURCES_UNSUBSCRIBE:
        return mcp_json_string(mcp_json_get(rpc->params, "uri"), "");
    case MCPI_METHOD_COMPLETE:
        ref = mcp_json_get(rpc->params, "ref");
        return mcp_json_string(mcp_json_get(ref, "name"),
                               mcp_json_string(mcp_json_get(ref, "uri"), ""));
    default:
        return "";
    }
}

/* What is no message, or an answer, needs nothing of its own: it is refused, or it was
 * asked for. MCP_E_INVAL: what the program says are no scopes; to leave them out would be
 * to let in who lacks them. */
static int
needs_add(const mcp_guard *guard, const mcp_json *message, struct mcpi_buf *into)
{
    const mcp_guard_options *opt = &guard->settings->opt;
    const char *words;
    struct mcpi_rpc rpc;

    mcpi_rpc_read(message, &rpc);
    if (rpc.kind != MCPI_RPC_REQUEST && rpc.kind != MCPI_RPC_NOTIFICATION)
        return 0;
    words = opt->needs(opt->user, rpc.method_name, name_of(&rpc));
    mcpi_scopes_add(into, words);
    if (into->status == MCP_E_NOMEM)
        return MCP_E_NOMEM;
    if (mcpi_scopes_are(words) && into->status == 0)
        return 0;
    MCPI_LOG(&guard->log, MCP_LOG_ERROR,
             "guard option needs: what it says of %.100s are no scopes, or too many",
             rpc.method_name);
    return MCP_E_INVAL;
}

static int
needs_add_body(const mcp_guard *guard, const mcp_http_request *request,
               struct mcpi_buf *into)
{
    const struct mcpi_json_limits limits = {SIZE_MAX, BODY_DEPTH_MAX};
    mcp_doc *doc;
    int r;

    r = mcpi_doc_parse(guard->mem, request->body, request->body_length, &limits, &doc);
    if (r < 0)
        return r == MCP_E_NOMEM ? r : 0;
    r = needs_add(guard, mcp_doc_root(doc), into);
    mcp_doc_free(doc);
    return r;
}

/* with_body: what stands in there counts too. MCP_E_NOMEM, MCP_E_INVAL. */
static int
needs_find(const mcp_guard *guard, const mcp_http_request *request, bool with_body,
           struct mcpi_buf *into)
{
    const mcp_guard_options *opt = &guard->settings->opt;
    int r = 0;

    mcpi_scopes_add(into, opt->scope);
    if (with_body && opt->needs && request->body_length > 0)
        r = needs_add_body(guard, request, into);
    mcpi_buf_append(into, "", 1);
    return r < 0 ? r : into->status;
}

static void
needs_fail(mcp_http_ticket *ticket, int status, say_fn *say)
{
    if (status == MCP_E_NOMEM)
        say_later(ticket, say);
    else
        say(ticket, 500, NULL, "Internal error: it is not known what this needs");
}

static const struct refusal missing = {
    403, "insufficient_scope", "the token has not all scopes that are needed", false};

/* The token is good, and the body was too long to be read before. */
static void
on_last_look(void *user, const mcp_http_request *request, const char *scope,
             mcp_http_ticket *ticket)
{
    const mcp_guard *guard = user;
    struct mcpi_bearer bearer;
    struct asked asked = {0};
    struct mcpi_buf need;
    int r;

    (void)mcpi_bearer_read(request, &bearer);
    mcpi_buf_init(&need, guard->mem, MCPI_SCOPES_MAX);
    r = needs_find(guard, request, true, &need);
    asked.scheme = bearer.scheme;
    asked.need = need.data;
    if (r < 0)
        needs_fail(ticket, r, mcpi_http_ticket_veto);
    else if (!mcpi_scopes_have(scope, need.data))
        refuse(guard, &asked, ticket, &missing, mcpi_http_ticket_veto);
    mcpi_buf_done(&need);
}

/* ---- enough ------------------------------------------------------------------- */

/* The token is good: is it enough? */
static void
conclude(const mcp_guard *guard, const struct asked *asked, mcp_http_ticket *ticket,
         const struct who *who)
{
    if (!binding_check(guard, asked, ticket, who))
        return;
    if (!asked->unread && !mcpi_scopes_have(who->scope, asked->need)) {
        deny(guard, asked, ticket, &missing);
        return;
    }
    if (asked->unread)
        mcpi_http_ticket_set_last(ticket, on_last_look, (void *)(uintptr_t)guard);
    mcpi_http_ticket_allow(ticket, who->principal, who->scope, who->claims);
}

/* ---- tokens that are JWTs --------------------------------------------------- */

static bool
alg_is_ours(const char *alg)
{
    return strcmp(alg, "RS256") == 0 || strcmp(alg, "ES256") == 0 ||
           strcmp(alg, "EdDSA") == 0;
}

static bool
typ_is_at_jwt(const char *typ)
{
    return mcpi_text_same_letters(typ, "at+jwt") ||
           mcpi_text_same_letters(typ, "application/at+jwt");
}

/* What only ID tokens say (OpenID Connect Core, 2 and 3.3). */
static bool
claims_are_of_id_token(const mcp_json *claims)
{
    return mcp_json_get(claims, "nonce") || mcp_json_get(claims, "at_hash") ||
           mcp_json_get(claims, "c_hash");
}

/* Many issuers still write "JWT", or nothing; what says that it is something else, such as
 * a proof or an assertion, is no access token (RFC 9068, 4). */
static bool
is_access_token(const mcp_guard *guard, const struct mcpi_jwt *jwt)
{
    if (typ_is_at_jwt(jwt->typ))
        return true;
    if (guard->settings->opt.typed_only)
        return false;
    return (!*jwt->typ || mcpi_text_same_letters(jwt->typ, "JWT")) &&
           !claims_are_of_id_token(jwt->claims);
}

/* Which of the issuers; their number: none. */
static size_t
issuer_find(const mcp_guard *guard, const mcp_json *claims)
{
    const mcp_json *said = mcp_json_get(claims, "iss");
    size_t i = 0;

    while (i < guard->settings->issuer_count &&
           !mcp_json_is_string(said, guard->settings->opt.issuers[i]))
        i++;
    return i;
}

/* All but the signature. */
static const char *
jwt_fault(const mcp_guard *guard, const struct mcpi_jwt *jwt, size_t issuer)
{
    const mcp_guard_options *opt = &guard->settings->opt;
    struct mcpi_jwt_rules rules = {.audience = opt->audience,
                                   .now = mcpi_guard_now(guard),
                                   .leeway = opt->leeway_ms / 1000,
                                   .needs_expiry = true};

    if (!alg_is_ours(jwt->alg))
        return "the token is signed in a way that is not taken";
    if (!is_access_token(guard, jwt))
        return "this is no access token";
    if (issuer >= guard->settings->issuer_count)
        return "the token is not of an issuer that is trusted";
    rules.issuer = opt->issuers[issuer];
    return mcpi_jwt_fault(jwt, &rules);
}

enum verdict { GOOD, FORGED, WAIT, LATER };

/* The signature. last: what is not known now never will be. */
static enum verdict
signature_check(const mcp_guard *guard, const struct mcpi_jwt *jwt, size_t issuer,
                bool last)
{
    struct mcpi_keyring_state state = {.fresh = true};
    enum mcpi_keys_verdict verdict;
    struct mcpi_keys *keys;

    if (guard->fixed)
        keys = mcpi_keys_ref(guard->fixed);
    else
        keys = mcpi_keyring_get(guard->rings[issuer], mcpi_guard_ticks(guard), &state);
    if (!state.fresh && state.may_wait && !last) {
        if (!state.will_do) {
            mcpi_keys_unref(keys);
            return WAIT;
        }
        mcpi_guard_renew(guard, issuer);
    }
    if (!keys)
        return LATER;
    verdict = mcpi_keys_check(keys, jwt);
    mcpi_keys_unref(keys);
    if (verdict == MCPI_KEYS_UNKNOWN && state.may_wait && !last)
        return WAIT;
    return verdict == MCPI_KEYS_SIGNED ? GOOD : FORGED;
}

static void
jwt_conclude(const mcp_guard *guard, const struct asked *asked, mcp_http_ticket *ticket,
             const struct mcpi_jwt *jwt)
{
    struct mcpi_claims claims;
    struct who who = {.claims = jwt->claims_doc};
    const char *fault;
    int status;

    fault = mcpi_claims_read(guard->mem, jwt->claims, &claims, &status);
    if (status < 0) {
        deny_later(ticket);
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
        deny_later(ticket);
    else
        conclude(guard, asked, ticket, &who);
    mcpi_claims_done(&claims);
}

/* False: it is answered. True: it has to wait for keys of that issuer. */
static bool
jwt_judge(const mcp_guard *guard, const struct asked *asked, mcp_http_ticket *ticket,
          const struct mcpi_jwt *jwt, bool last, size_t *ret_issuer)
{
    size_t issuer = issuer_find(guard, jwt->claims);
    const char *fault = jwt_fault(guard, jwt, issuer);

    if (fault) {
        deny_token(guard, asked, ticket, fault);
        return false;
    }
    *ret_issuer = issuer;
    switch (signature_check(guard, jwt, issuer, last)) {
    case WAIT:
        return true;
    case GOOD:
        jwt_conclude(guard, asked, ticket, jwt);
        break;
    case FORGED:
        deny_token(guard, asked, ticket, "the token is not signed by its issuer");
        break;
    case LATER:
        deny_later(ticket);
        break;
    }
    return false;
}

/* As jwt_judge. */
static bool
token_judge(const mcp_guard *guard, const struct asked *asked, mcp_http_ticket *ticket,
            bool last, size_t *ret_issuer)
{
    struct mcpi_jwt jwt;
    bool waits;
    int r;

    r = mcpi_jwt_read(guard->mem, asked->token, strlen(asked->token), &jwt);
    if (r == MCP_E_NOMEM) {
        deny_later(ticket);
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
asked_keep(struct asked *asked, char *room)
{
    const char **texts[] = {&asked->token, &asked->proof, &asked->method, &asked->path,
                            &asked->need};

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        *texts[i] = mcpi_text_stow(&room, *texts[i], strlen(*texts[i]));
}

/* NULL: too many wait, or no memory. */
static mcp_token_check *
check_new(mcp_guard *guard, const struct asked *asked, mcp_http_ticket *ticket)
{
    size_t size = strlen(asked->token) + strlen(asked->proof) + strlen(asked->method) +
                  strlen(asked->path) + strlen(asked->need) + 5;
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
token_check(mcp_guard *guard, const struct asked *asked, mcp_http_ticket *ticket)
{
    mcp_token_check *check;
    size_t issuer;

    if (!token_judge(guard, asked, ticket, false, &issuer))
        return;
    check = check_new(guard, asked, ticket);
    if (!check) {
        deny_later(ticket);
        return;
    }
    check->ring = issuer;
    check->wait.ready = on_keys_ready;
    check->post.fn = on_check_posted;
    mcpi_loop_post(guard->loop, &check->post);
}

/* ---- the program's own verdict ---------------------------------------------- */

static void
token_ask(mcp_guard *guard, const struct asked *asked, mcp_http_ticket *ticket)
{
    const mcp_guard_options *opt = &guard->settings->opt;
    mcp_token_check *check = check_new(guard, asked, ticket);

    if (check)
        opt->verify(opt->verify_user, check->asked.token, check);
    else
        deny_later(ticket);
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
        deny_later(check->ticket);
    else
        mcp_http_deny(check->ticket, 500, NULL,
                      "Internal error: this is nobody's identity");
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
    deny_later(check->ticket);
    check_free(check);
}

/* ---- the hook ---------------------------------------------------------------- */

static void
identify(mcp_guard *guard, const mcp_http_request *request, struct asked *asked,
         mcp_http_ticket *ticket)
{
    const struct refusal nobody = {.status = 401};
    struct refusal malformed = {.status = 400, .error = "invalid_request"};
    struct mcpi_bearer bearer;

    malformed.why = mcpi_bearer_read(request, &bearer);
    asked->scheme = bearer.scheme;
    asked->token = bearer.token;
    asked->proof = bearer.proof;
    asked->proofs = bearer.proofs;
    if (malformed.why)
        deny(guard, asked, ticket, &malformed);
    else if (bearer.scheme == MCPI_BEARER_NONE)
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
    struct asked asked = {.method = request->method,
                          .path = request->target,
                          .body_length = request->body_length};
    bool is_short = request->body_length <= STRANGER_BODY_MAX;
    char nonce[MCPI_NONCE_SIZE];
    mcp_guard *guard = user;
    struct mcpi_buf need;
    int r;

    if (guard->settings->opt.dpop_nonce &&
        mcpi_nonces_write(&guard->nonces, mcpi_guard_now(guard), 0, nonce) == 0)
        mcpi_http_ticket_set_nonce(ticket, nonce); /* whatever the answer is */
    mcpi_buf_init(&need, guard->mem, MCPI_SCOPES_MAX);
    r = needs_find(guard, request, is_short, &need);
    if (r < 0) {
        needs_fail(ticket, r, mcp_http_deny);
    } else {
        asked.need = need.data;
        asked.unread = !is_short && guard->settings->opt.needs;
        identify(guard, request, &asked, ticket);
    }
    mcpi_buf_done(&need);
}
