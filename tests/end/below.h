/* below.h - the processes below another one, as /proc has them */
#ifndef TESTS_END_BELOW_H
#define TESTS_END_BELOW_H

#include <stddef.h>
#include <sys/types.h>

struct below {
    pid_t pids[1024];
    size_t count;
};

/* Its children, theirs, and so on, which are alive now: who is dead and was not waited
 * for is left out. */
void below_list(struct below *below, pid_t root);

/* One below that is stopped, as by SIGSTOP; 0: none is. */
pid_t below_stopped(pid_t root);

/* How many of them are alive still. */
size_t below_alive(const struct below *below);

#endif
