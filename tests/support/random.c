/*
 * support/random.c - random bytes of the library that are the same in every run
 *
 * The linker puts this function in the place of mcpi_random in every test program. The
 * order of a map, and every id and key, then comes from the seed that the frame prints,
 * and a run can be repeated. What OpenSSL draws is its own.
 */
#include <stdatomic.h>
#include <string.h>

#include "support/test.h"

int __wrap_mcpi_random(void *into, size_t len);

/* splitmix64, one step for each call, whichever thread it is on */
static uint64_t
draw(void)
{
    static atomic_ullong drawn;
    uint64_t z = test_seed(1) + 0x9e3779b97f4a7c15u * (atomic_fetch_add(&drawn, 1) + 1);

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

int
__wrap_mcpi_random(void *into, size_t len)
{
    for (char *at = into; len > 0;) {
        uint64_t value = draw();
        size_t n = len < sizeof(value) ? len : sizeof(value);

        memcpy(at, &value, n);
        at += n;
        len -= n;
    }
    return 0;
}
