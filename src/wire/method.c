/* method.c - method names: number to name, name to number */
#include "wire/method.h"

#include <string.h>

const char *
mcpi_method_name(enum mcpi_method method)
{
    switch (method) {
    case MCPI_METHOD_OTHER:
        break;
#define NAME(name, text)     \
    case MCPI_METHOD_##name: \
        return text;
        MCPI_METHOD_MAP(NAME)
#undef NAME
    }
    return "";
}

enum mcpi_method
mcpi_method_find(const char *name, size_t len)
{
    /* Lengths are constants here, so this is a row of integer comparisons, and bytes
     * are compared only for the few names of that length. */
#define FIND(method, text)                                                    \
    if (len == sizeof(text) - 1 && memcmp(name, text, sizeof(text) - 1) == 0) \
        return MCPI_METHOD_##method;
    MCPI_METHOD_MAP(FIND)
#undef FIND
    return MCPI_METHOD_OTHER;
}
