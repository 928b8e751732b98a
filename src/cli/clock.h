/* clock.h - time that only goes forward, from wherever it began */
#ifndef CLI_CLOCK_H
#define CLI_CLOCK_H

#include <stdint.h>

int64_t cli_now_ns(void);
int64_t cli_now_ms(void);

#endif
