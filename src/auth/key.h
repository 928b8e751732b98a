/*
 * key.h - keys that sign and check: RSA, P-256, Ed25519; as PEM and as JWK
 *
 * What a key is good for is decided by what it is, never by what a message says: one of
 * RSA signs RS256, one of P-256 ES256, one of Ed25519 EdDSA, and nothing else. Counted,
 * atomic; immutable. [any]
 */
#ifndef MCPI_AUTH_KEY_H
#define MCPI_AUTH_KEY_H

#include <mcp/json.h>

#include "base/buf.h"

struct mcpi_key;

/* RSA keys below that are too weak, above they are somebody's idea of a joke. */
#define MCPI_KEY_RSA_BITS_MIN 2048
#define MCPI_KEY_RSA_BITS_MAX 8192
/* Longest signature in bytes: RSA of that size. */
#define MCPI_KEY_SIGNATURE_MAX (MCPI_KEY_RSA_BITS_MAX / 8)
/* A thumbprint (RFC 7638, SHA-256) as base64url, with its terminator. */
#define MCPI_KEY_THUMBPRINT_SIZE 44

int mcpi_key_generate(const mcp_allocator *mem, struct mcpi_key **ret_key); /* P-256 */
/* A private key (PKCS#8, or the older forms). MCP_E_INVAL: none of ours; MCP_E_NOMEM. */
int mcpi_key_from_pem(const mcp_allocator *mem, const char *pem,
                      struct mcpi_key **ret_key);
/* A public key, or a private one. MCP_E_INVAL: none of ours, or `use` or `key_ops` or
 * `alg` say that it is for something else; a symmetric one; MCP_E_NOMEM. */
int mcpi_key_from_jwk(const mcp_allocator *mem, const mcp_json *jwk,
                      struct mcpi_key **ret_key);
struct mcpi_key *mcpi_key_ref(struct mcpi_key *key);
void mcpi_key_unref(struct mcpi_key *key); /* NULL ok */

const char *mcpi_key_alg(const struct mcpi_key *key); /* "ES256"; a constant */
const char *mcpi_key_id(const struct mcpi_key *key);  /* kid of its JWK; "" none */
bool mcpi_key_is_private(const struct mcpi_key *key);

/* Append it as a JWK: the required members only, in the order of RFC 7638; with secret its
 * private part too. A failure is the buffer's; MCP_E_STATE: it has no private part. */
int mcpi_key_write(const struct mcpi_key *key, bool secret, struct mcpi_buf *into);
int mcpi_key_thumbprint(const struct mcpi_key *key, char *ret_text);

/* Append the signature's bytes as JWS has them (ECDSA: r and s, 32 bytes each).
 * MCP_E_STATE: not private. */
int mcpi_key_sign(const struct mcpi_key *key, const void *data, size_t len,
                  struct mcpi_buf *into);
bool mcpi_key_verify(const struct mcpi_key *key, const void *data, size_t len,
                     const void *signature, size_t signature_len);

/* SHA-256, as base64url without padding; ret_text has MCPI_KEY_THUMBPRINT_SIZE bytes. */
int mcpi_sha256_text(const void *data, size_t len, char *ret_text);

#endif
