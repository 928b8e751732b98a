/* support/gone.h - has a process ended? */
#ifndef TESTS_SUPPORT_GONE_H
#define TESTS_SUPPORT_GONE_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

/* Somebody else's child counts as gone once it is dead: init, or a subreaper, waits for
 * it when it likes. */
static inline bool
process_is_gone(pid_t pid)
{
    char path[32], stat[256] = "";
    const char *state;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    file = fopen(path, "r");
    if (!file)
        return true;
    (void)!fread(stat, 1, sizeof stat - 1, file);
    fclose(file);
    state = strrchr(stat, ')');
    return !state || state[2] == 'Z' || state[2] == 'X';
}

#endif
