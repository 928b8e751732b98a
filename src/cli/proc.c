/* proc.c - what the system says of a process, and of those below it */
#include "cli/proc.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024

/* Fields of /proc/PID/stat, counted from the one behind the state. */
enum { PARENT, GROUP, SESSION, USER_TICKS = 10, SYSTEM_TICKS, PAGES = 20, FIELDS };

/* Numbers with blanks between, as many as we need. */
static bool
numbers_read(const char *text, long long numbers[FIELDS])
{
    char *rest;

    for (int i = 0; i < FIELDS; i++) {
        numbers[i] = strtoll(text, &rest, 10);
        if (rest == text)
            return false;
        text = rest;
    }
    return true;
}

bool
cli_proc_parse(const char *line, struct cli_proc *ret_proc)
{
    const char *open = strchr(line, '('), *close = strrchr(line, ')');
    struct cli_proc proc = {0};
    long long pid, numbers[FIELDS];
    char *rest;
    size_t length;

    pid = strtoll(line, &rest, 10);
    if (!open || !close || close < open || rest == line)
        return false;
    if (close[1] != ' ' || close[2] == '\0' || !numbers_read(close + 3, numbers))
        return false;
    proc.state = close[2];
    length = (size_t)(close - open - 1);
    if (length >= sizeof(proc.name))
        length = sizeof(proc.name) - 1;
    memcpy(proc.name, open + 1, length);
    proc.pid = pid;
    proc.parent = numbers[PARENT];
    proc.group = numbers[GROUP];
    proc.session = numbers[SESSION];
    proc.cpu_ticks = numbers[USER_TICKS] + numbers[SYSTEM_TICKS];
    proc.pages = numbers[PAGES];
    *ret_proc = proc;
    return true;
}

bool
cli_proc_look(int64_t pid, struct cli_proc *ret_proc)
{
    char path[64], line[LINE_MAX_BYTES];
    ssize_t length;
    int fd;

    (void)snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    length = read(fd, line, sizeof(line) - 1);
    close(fd);
    if (length <= 0)
        return false;
    line[length] = '\0';
    return cli_proc_parse(line, ret_proc);
}

static int64_t
descriptors_of(int64_t pid)
{
    char path[64];
    int64_t count = 0;
    const struct dirent *entry;
    DIR *folder;

    (void)snprintf(path, sizeof(path), "/proc/%lld/fd", (long long)pid);
    folder = opendir(path);
    if (!folder)
        return -1;
    for (entry = readdir(folder); entry; entry = readdir(folder))
        if (entry->d_name[0] != '.')
            count++;
    closedir(folder);
    if (pid == getpid())
        count--; /* the folder itself */
    return count;
}

static int64_t
processes_of(int64_t pid)
{
    struct cli_proc *list = calloc(CLI_PROC_MAX, sizeof(*list));
    size_t count;

    if (!list)
        return -1;
    count = cli_proc_below(pid, list, cli_proc_all(list, CLI_PROC_MAX));
    free(list);
    return (int64_t)count + 1;
}

void
cli_proc_usage(int64_t pid, struct cli_usage *ret_usage)
{
    const struct cli_usage unknown = {-1, -1, -1, -1};
    int64_t per_second = sysconf(_SC_CLK_TCK);
    struct cli_proc proc;

    *ret_usage = unknown;
    if (!cli_proc_look(pid, &proc) || proc.state == 'Z')
        return;
    ret_usage->memory_bytes = proc.pages * sysconf(_SC_PAGESIZE);
    ret_usage->descriptors = descriptors_of(pid);
    ret_usage->processes = processes_of(pid);
    if (per_second > 0)
        ret_usage->cpu_ms = proc.cpu_ticks * 1000 / per_second;
}

size_t
cli_proc_all(struct cli_proc *list, size_t room)
{
    DIR *folder = opendir("/proc");
    const struct dirent *entry;
    size_t count = 0;

    if (!folder)
        return 0;
    for (entry = readdir(folder); entry && count < room; entry = readdir(folder))
        if (isdigit((unsigned char)entry->d_name[0]) &&
            cli_proc_look(strtoll(entry->d_name, NULL, 10), &list[count]))
            count++;
    closedir(folder);
    return count;
}

static bool
is_among(const struct cli_proc *list, size_t count, int64_t pid)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].pid == pid)
            return true;
    return false;
}

size_t
cli_proc_below(int64_t pid, struct cli_proc *list, size_t count)
{
    size_t below = 0, before;

    /* each round finds the next generation at least; the last one finds nobody */
    do {
        before = below;
        for (size_t i = below; i < count; i++) {
            struct cli_proc child = list[i];

            if (child.parent != pid && !is_among(list, below, child.parent))
                continue;
            list[i] = list[below];
            list[below++] = child;
        }
    } while (below > before);
    return below;
}
