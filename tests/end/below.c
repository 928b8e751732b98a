/* below.c - the processes below another one, as /proc has them */
#include "end/below.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROCESSES = 8192 };

struct process {
    pid_t pid, parent;
    bool dead, stopped, is_below;
};

/* False: there is none of that number any more. */
static bool
process_read(pid_t pid, struct process *into)
{
    char path[32], line[512];
    const char *after;
    FILE *file;
    size_t n;

    (void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
    file = fopen(path, "re");
    if (!file)
        return false;
    n = fread(line, 1, sizeof(line) - 1, file);
    fclose(file);
    line[n] = '\0';
    after = strrchr(line, ')'); /* its name may be anything */
    if (!after || strlen(after) < 4)
        return false;
    into->pid = pid;
    into->dead = after[2] == 'Z' || after[2] == 'X';
    into->stopped = after[2] == 'T';
    into->parent = (pid_t)strtol(after + 4, NULL, 10);
    into->is_below = false;
    return true;
}

static size_t
processes_read(struct process *all)
{
    DIR *folder = opendir("/proc");
    struct dirent *entry;
    size_t count = 0;

    while (folder && count < PROCESSES && (entry = readdir(folder)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]))
            count += process_read((pid_t)strtol(entry->d_name, NULL, 10), &all[count]);
    if (folder)
        closedir(folder);
    return count;
}

/* One more generation. */
static bool
mark(struct process *all, size_t count, pid_t root)
{
    bool marked = false;

    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < count && !all[i].is_below; k++) {
            bool above = all[k].is_below || all[k].pid == root;

            if (above && all[i].parent == all[k].pid)
                marked = all[i].is_below = true;
        }
    }
    return marked;
}

void
below_list(struct below *below, pid_t root)
{
    struct process *all = calloc(PROCESSES, sizeof(*all));
    size_t count = all ? processes_read(all) : 0;

    while (mark(all, count, root))
        continue;
    below->count = 0;
    for (size_t i = 0; i < count; i++)
        if (all[i].is_below && !all[i].dead &&
            below->count < sizeof(below->pids) / sizeof(below->pids[0]))
            below->pids[below->count++] = all[i].pid;
    free(all);
}

pid_t
below_stopped(pid_t root)
{
    struct process process;
    struct below below;

    below_list(&below, root);
    for (size_t i = 0; i < below.count; i++)
        if (process_read(below.pids[i], &process) && process.stopped)
            return process.pid;
    return 0;
}

size_t
below_alive(const struct below *below)
{
    struct process process;
    size_t alive = 0;

    for (size_t i = 0; i < below->count; i++)
        alive += process_read(below->pids[i], &process) && !process.dead;
    return alive;
}
