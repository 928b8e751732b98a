/* support/issuer_warm.h - for programs with an issuer, whose baseline of memory is looked
 * at */
#ifndef TESTS_SUPPORT_ISSUER_WARM_H
#define TESTS_SUPPORT_ISSUER_WARM_H

#include <stdlib.h>

#include "support/issuer.h"

/* What OpenSSL allocates once and keeps comes before the baseline, so before main. */
static void __attribute__((constructor)) issuer_warm(void)
{
    static const enum issuer_alg algs[] = {ISSUER_ES256, ISSUER_RS256, ISSUER_EDDSA};
    struct issuer *issuer;

    for (size_t i = 0; i < sizeof(algs) / sizeof(*algs); i++) {
        issuer = issuer_open(&ISSUER_OPTIONS(.alg = algs[i]));
        free(issuer_token(issuer, "http://127.0.0.1/", NULL, NULL));
        issuer_close(issuer);
    }
}

#endif
