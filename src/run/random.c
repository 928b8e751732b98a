/* random.c - bytes that nobody can guess */
#include "run/random.h"

#include <errno.h>
#include <sys/random.h>

int
mcpi_random(void *into, size_t len)
{
    char *at = into;
    ssize_t n;

    while (len > 0) {
        n = getrandom(at, len, 0);
        if (n < 0 && errno != EINTR)
            return MCP_E_LIMIT;
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
    return 0;
}
