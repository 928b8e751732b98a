/*
 * refusal.h - why a request is not let in, and how that is said (RFC 6750, 3; RFC 9449, 7)
 *
 * Who judges makes one, and says nothing: a refusal is a value, of borrowed sentences that
 * have nothing of a token in them. It is said in one place, with the challenge that tells
 * what would have been right.
 */
#ifndef MCPI_AUTH_REFUSAL_H
#define MCPI_AUTH_REFUSAL_H

#include "auth/asked.h"
#include "auth/guard_settings.h"

struct mcpi_refusal {
    int status;        /* of HTTP; below 500 there is a challenge */
    const char *error; /* a constant of the RFCs; NULL: none */
    const char *why;   /* for people; NULL: nothing was brought */
    bool dpop; /* a token that is bound to a key is what would have been right */
};

/* Nobody can tell now: it is not the token's fault. */
extern const struct mcpi_refusal mcpi_refusal_later;
/* The token is good, and not for so much. */
extern const struct mcpi_refusal mcpi_refusal_scope;

/* The token is not good. */
struct mcpi_refusal mcpi_refusal_token(const char *why);
/* It may be, but its proof is not. */
struct mcpi_refusal mcpi_refusal_proof(const char *why);

/* Who says it: mcp_http_deny, or mcpi_http_ticket_veto from inside of a last look. */
typedef void mcpi_refusal_say_fn(mcp_http_ticket *ticket, int status,
                                 const char *challenge, const char *message);

/* Of the request, scheme and need are looked at, for a challenge only. [any] */
void mcpi_refusal_say(const struct mcpi_refusal *refusal,
                      const struct mcpi_guard_settings *settings,
                      const struct mcpi_asked *asked, mcp_http_ticket *ticket,
                      mcpi_refusal_say_fn *say);

#endif
