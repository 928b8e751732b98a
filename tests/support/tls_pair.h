/* support/tls_pair.h - a certificate for this machine, made for a test */
#ifndef TESTS_SUPPORT_TLS_PAIR_H
#define TESTS_SUPPORT_TLS_PAIR_H

#include <openssl/ssl.h>

/* Two PEM files in a folder of their own. */
struct tls_pair {
    char folder[64];
    char certificate[96];
    char key[96];
};

/* For 127.0.0.1 and localhost, signed by itself. Asserts that it works. */
void tls_pair_make(struct tls_pair *pair);
void tls_pair_remove(struct tls_pair *pair);

/* One for the whole program, made when it is first asked for. */
const struct tls_pair *tls_pair_shared(void);

/* What a client needs that trusts this certificate and no other; for SSL_CTX_free. */
SSL_CTX *tls_pair_client(const struct tls_pair *pair);

#endif
