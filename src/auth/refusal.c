/* refusal.c - why a request is not let in, and how that is said */
#include "auth/refusal.h"

#include <stdio.h>

#define MESSAGE_SIZE 200

const struct mcpi_refusal mcpi_refusal_later = {.status = 503,
                                                .why = "tokens cannot be checked now"};

const struct mcpi_refusal mcpi_refusal_scope = {
    .status = 403,
    .error = "insufficient_scope",
    .why = "the token has not all scopes that are needed"};

struct mcpi_refusal
mcpi_refusal_token(const char *why)
{
    return (struct mcpi_refusal){.status = 401, .error = "invalid_token", .why = why};
}

struct mcpi_refusal
mcpi_refusal_proof(const char *why)
{
    return (struct mcpi_refusal){
        .status = 401, .error = "invalid_dpop_proof", .why = why, .dpop = true};
}

static const char *
status_word(int status)
{
    switch (status) {
    case 401:
        return "Unauthorized";
    case 403:
        return "Forbidden";
    default:
        return status < 500 ? "Bad request" : "Internal error";
    }
}

/* What would have been right. */
static void
challenge_write(const struct mcpi_refusal *refusal,
                const struct mcpi_guard_settings *settings,
                const struct mcpi_asked *asked, char into[MCPI_BEARER_CHALLENGE_MAX])
{
    const struct mcpi_bearer_challenge what = {
        .dpop = refusal->dpop || settings->opt.dpop_only ||
                asked->bearer.scheme == MCPI_BEARER_DPOP,
        .error = refusal->error,
        .description = refusal->why,
        .scope = asked->need,
        .metadata = settings->metadata};

    mcpi_bearer_challenge(&what, into);
}

void
mcpi_refusal_say(const struct mcpi_refusal *refusal,
                 const struct mcpi_guard_settings *settings,
                 const struct mcpi_asked *asked, mcp_http_ticket *ticket,
                 mcpi_refusal_say_fn *say)
{
    char challenge[MCPI_BEARER_CHALLENGE_MAX];
    bool is_theirs = refusal->status < 500;
    char message[MESSAGE_SIZE];

    if (is_theirs)
        challenge_write(refusal, settings, asked, challenge);
    (void)snprintf(message, sizeof(message), "%s: %s", status_word(refusal->status),
                   refusal->why ? refusal->why : "a token is needed");
    say(ticket, refusal->status, is_theirs ? challenge : NULL, message);
}
