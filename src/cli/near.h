/* near.h - "did you mean": the nearest of several names */
#ifndef CLI_NEAR_H
#define CLI_NEAR_H

#include <stddef.h>

struct cli_near {
    const char *text;
    size_t length;
    const char *best; /* NULL: none is near */
    size_t distance;  /* of best */
};

struct cli_near cli_near_begin(const char *text, size_t length);
/* One of the names; it is borrowed. Names longer than 128 bytes are passed over. */
void cli_near_offer(struct cli_near *near, const char *name);

#endif
