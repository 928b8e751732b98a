/*
 * nonce.h - nonces for proofs that nobody has to remember (RFC 9449, 9)
 *
 * One is a time and a seal over it, with a secret that lives as long as the process. It
 * is good in its own window and the one behind.
 */
#ifndef MCPI_AUTH_NONCE_H
#define MCPI_AUTH_NONCE_H

#include <mcp/base.h>

/* A window: short for who has stolen a proof, long enough that few requests have to be
 * made twice. */
#define MCPI_NONCE_WINDOW 120 /* s */
#define MCPI_NONCE_SIZE 40

struct mcpi_nonces {
    unsigned char secret[32];
};

/* MCP_E_LIMIT: no randomness. */
int mcpi_nonces_init(struct mcpi_nonces *nonces);
void mcpi_nonces_done(struct mcpi_nonces *nonces);

/* That of now (earlier 0), or of so many windows before; now: seconds since 1970. Never
 * the same in two windows. MCP_E_LIMIT. */
int mcpi_nonces_write(const struct mcpi_nonces *nonces, int64_t now, int earlier,
                      char ret_text[MCPI_NONCE_SIZE]);

#endif
