/*
 * binding.h - a token that is bound to a key, and the proof that it comes with (RFC 9449, 7)
 *
 * Such a token comes with one proof, which is for this request, of that key, and new; with
 * a nonce of ours, if the guard wants them. No other token comes with the scheme DPoP.
 */
#ifndef MCPI_AUTH_BINDING_H
#define MCPI_AUTH_BINDING_H

#include "auth/guard.h"
#include "auth/refusal.h"

/* The token, which is good, is of that principal, and bound to the key of that thumbprint;
 * NULL: to none. True: as it should be, and its proof is used up. False: *ret_refusal says
 * why not. [any] */
bool mcpi_binding_check(const mcp_guard *guard, const struct mcpi_asked *asked,
                        const char *principal, const char *key,
                        struct mcpi_refusal *ret_refusal);

#endif
