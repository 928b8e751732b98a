/* flag.h - something that other threads tell of once, and one thread waits for */
#ifndef CLI_FLAG_H
#define CLI_FLAG_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct cli_flag {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool is_up; /* under lock */
};

void cli_flag_init(struct cli_flag *flag);
void cli_flag_done(struct cli_flag *flag);

void cli_flag_raise(struct cli_flag *flag); /* [any] */
void cli_flag_lower(struct cli_flag *flag); /* [any] */

/* Until it is up, at most so long. Is it? [any] */
bool cli_flag_wait(struct cli_flag *flag, int64_t ms);

#endif
