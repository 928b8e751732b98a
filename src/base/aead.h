/*
 * aead.h - XChaCha20-Poly1305: text that nobody but us can read or change
 *
 * Written here because a program that speaks over a pipe links no library of ciphers.
 * The cipher is the one of draft-irtf-cfrg-xchacha over RFC 8439: additions, rotations
 * and exclusive ors on public indexes only, so that its time tells nothing. Nonces of
 * 24 bytes may be random.
 */
#ifndef MCPI_BASE_AEAD_H
#define MCPI_BASE_AEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MCPI_AEAD_KEY 32
#define MCPI_AEAD_NONCE 24
#define MCPI_AEAD_TAG 16

/* With what a text is sealed. The associated data is not in the text, but who opens it
 * must have the same. */
struct mcpi_aead {
    const unsigned char *key;   /* MCPI_AEAD_KEY bytes */
    const unsigned char *nonce; /* MCPI_AEAD_NONCE bytes, never twice with one key */
    const void *data;
    size_t data_len;
};

/* Encrypt in place, and make the tag. */
void mcpi_aead_seal(const struct mcpi_aead *with, unsigned char *text, size_t len,
                    unsigned char tag[MCPI_AEAD_TAG]);

/* Decrypt in place. False: it is not what was sealed, and the text is untouched. */
bool mcpi_aead_open(const struct mcpi_aead *with, unsigned char *text, size_t len,
                    const unsigned char tag[MCPI_AEAD_TAG]);

/* Overwrite what must not stay in memory; never optimized away. */
void mcpi_wipe(void *secret, size_t len);

/* ---- its parts, for their published vectors ----------------------------- */

/* RFC 8439, 2.4: encrypt or decrypt in place, from that block on. */
void mcpi_chacha20(const unsigned char key[32], uint32_t block,
                   const unsigned char nonce[12], unsigned char *text, size_t len);

/* draft-irtf-cfrg-xchacha, 2.2: a key from a key and 16 bytes of a nonce. */
void mcpi_hchacha20(const unsigned char key[32], const unsigned char nonce[16],
                    unsigned char ret_key[32]);

/* RFC 8439, 2.5. */
void mcpi_poly1305(const unsigned char key[32], const void *text, size_t len,
                   unsigned char ret_tag[16]);

#endif
