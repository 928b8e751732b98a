/* nonce.c - nonces for proofs that nobody has to remember */
#include "auth/nonce.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>

#include "run/random.h"

#define SEAL_BYTES 12 /* of the HMAC: more guesses than anybody has time for */

int
mcpi_nonces_init(struct mcpi_nonces *nonces)
{
    return mcpi_random(nonces->secret, sizeof(nonces->secret));
}

void
mcpi_nonces_done(struct mcpi_nonces *nonces)
{
    explicit_bzero(nonces->secret, sizeof(nonces->secret));
}

int
mcpi_nonces_write(const struct mcpi_nonces *nonces, int64_t now, int earlier,
                  char ret_text[MCPI_NONCE_SIZE])
{
    unsigned long long window = (unsigned long long)(now / MCPI_NONCE_WINDOW - earlier);
    unsigned char seal[EVP_MAX_MD_SIZE];
    char text[MCPI_NONCE_SIZE];
    int len = snprintf(text, sizeof(text), "%llx.", window & 0xffffffff);

    if (!HMAC(EVP_sha256(), nonces->secret, (int)sizeof(nonces->secret),
              (const unsigned char *)text, (size_t)len, seal, NULL))
        return MCP_E_LIMIT;
    for (int i = 0; i < SEAL_BYTES; i++)
        len += snprintf(text + len, sizeof(text) - (size_t)len, "%02x", seal[i]);
    memcpy(ret_text, text, (size_t)len + 1);
    return 0;
}
