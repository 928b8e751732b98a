/*
 * child.h - a program that a test starts, reads from and waits for
 *
 * Everything asserts, and nothing waits longer than AWAIT_MS.
 */
#ifndef TESTS_SERVERS_CHILD_H
#define TESTS_SERVERS_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What of it can be read from the pipe. */
enum child_output { CHILD_STDOUT = 1, CHILD_STDERR = 2 };

/* argv[0] is its path. It has nothing to read, and dies with us, also if a case fails;
 * with ret_in it reads what we write, and hears of our end by that. */
pid_t child_start(const char *const *argv, unsigned output, int *ret_in, int *ret_out);

/* Read until this text is there, or, without one, until the end. */
void child_read(int fd, char *into, size_t room, const char *text);

/* Until it has ended: its wait status; its exit status, which it must have. */
int child_wait(pid_t pid);
int child_exit(pid_t pid);

/* Wait until it is true, asking again and again; asserts that it became true. */
void wait_until(bool (*is_true)(void *user), void *user);

#endif
