/*
 * keys.h - the keys that an issuer signs with, as it publishes them (RFC 7517, 5)
 *
 * A set is counted and never changes: whoever has one goes on with it while the next one
 * takes its place. [any]
 */
#ifndef MCPI_AUTH_KEYS_H
#define MCPI_AUTH_KEYS_H

#include "auth/jwt.h"

/* Keys of a set that are kept, the first ones: an issuer has one, and two or three while
 * it changes them. */
#define MCPI_KEYS_MAX 64

struct mcpi_keys;

/* Of the object {"keys":[...]}. Keys that are none of ours are passed over, and so is one
 * whose secret was published. MCP_E_INVAL: it is no set, or nothing is left; MCP_E_NOMEM. */
int mcpi_keys_read(const mcp_allocator *mem, const mcp_json *set,
                   struct mcpi_keys **ret_keys);
struct mcpi_keys *mcpi_keys_ref(struct mcpi_keys *keys);
void mcpi_keys_unref(struct mcpi_keys *keys); /* NULL ok */
size_t mcpi_keys_count(const struct mcpi_keys *keys);

enum mcpi_keys_verdict {
    MCPI_KEYS_UNKNOWN, /* none of these was used, as far as can be told: there may be newer
                          ones */
    MCPI_KEYS_FORGED, /* the one that it names was not */
    MCPI_KEYS_SIGNED
};

/* Which keys it may be is told by `kid` and by the algorithm; one that names none may be
 * of any. */
enum mcpi_keys_verdict mcpi_keys_check(const struct mcpi_keys *keys,
                                       const struct mcpi_jwt *jwt);

#endif
