/*
 * key_inside.h - a key as its own files see it
 *
 * OpenSSL's queue of errors is one for each thread, shared with the program. So each call
 * from outside marks it, and takes out again what has come on top of the mark.
 */
#ifndef MCPI_AUTH_KEY_INSIDE_H
#define MCPI_AUTH_KEY_INSIDE_H

#include <openssl/evp.h>
#include <stdatomic.h>

#include "auth/key.h"

/* Bytes of a coordinate, or a scalar, of P-256; of a key of Ed25519. Twice that is a
 * signature of either. */
#define MCPI_KEY_CURVE_BYTES 32

enum mcpi_key_kind { MCPI_KEY_RSA, MCPI_KEY_P256, MCPI_KEY_ED25519 };

struct mcpi_key {
    const mcp_allocator *mem;
    EVP_PKEY *pkey;
    enum mcpi_key_kind kind;
    bool is_private;
    atomic_int refs;
    char id[];
};

/* A key of ours around one of OpenSSL's, which is taken. MCP_E_INVAL: it is none that we
 * sign or check with, or its two halves are not of one key; MCP_E_NOMEM. */
int mcpi_key_adopt(const mcp_allocator *mem, EVP_PKEY *take_pkey, bool is_private,
                   const char *id, struct mcpi_key **ret_key);

/* A buffer over an array, which never grows, and is not to be freed: what does not fit is
 * MCP_E_LIMIT. For what must leave no copies behind, and for what has no allocator. */
static inline struct mcpi_buf
mcpi_buf_over(void *array, size_t size)
{
    return (struct mcpi_buf){
        .data = array, .cap = (uint32_t)size, .max = (uint32_t)size};
}

#endif
