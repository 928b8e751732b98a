/* procfs.c - reading /proc without memory */
#include "run/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* What getdents64 fills in; libc has no portable name for it. */
struct entry {
    uint64_t inode;
    int64_t offset;
    unsigned short size;
    unsigned char type;
    char name[];
};

/* Digits and nothing else, or -1. */
static long
number_read(const char *text)
{
    long number = 0;

    if (!*text)
        return -1;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || number > (LONG_MAX - 9) / 10)
            return -1;
        number = number * 10 + (*text - '0');
    }
    return number;
}

bool
mcpi_procfs_is_ours(void)
{
    char text[16];
    ssize_t n = readlink("/proc/self", text, sizeof(text) - 1);

    if (n <= 0)
        return false;
    text[n] = '\0';
    return number_read(text) == getpid();
}

int
mcpi_procfs_open(struct mcpi_procfs *procfs, const char *folder)
{
    procfs->at = procfs->len = 0;
    procfs->fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (procfs->fd >= 0)
        return 0;
    return errno == EMFILE || errno == ENFILE ? MCP_E_LIMIT : MCP_E_STATE;
}

long
mcpi_procfs_next(struct mcpi_procfs *procfs)
{
    const struct entry *entry;
    long number;

    for (;;) {
        if (procfs->at >= procfs->len) {
            number = syscall(SYS_getdents64, procfs->fd, procfs->data,
                             sizeof(procfs->data));
            if (number <= 0)
                return number == 0 ? -1 : -2;
            procfs->at = 0;
            procfs->len = (size_t)number;
        }
        entry = (const struct entry *)(const void *)(procfs->data + procfs->at);
        procfs->at += entry->size;
        number = number_read(entry->name);
        if (number >= 0)
            return number;
    }
}

void
mcpi_procfs_close(struct mcpi_procfs *procfs)
{
    close(procfs->fd);
    procfs->fd = -1;
}

/* One number and the space before it. */
static bool
text_take_number(const char **text, long *ret_number)
{
    const char *at = *text;
    long sign = 1, number = 0;

    if (*at++ != ' ')
        return false;
    if (*at == '-') {
        sign = -1;
        at++;
    }
    if (*at < '0' || *at > '9')
        return false;
    for (; *at >= '0' && *at <= '9'; at++) {
        if (number > (LONG_MAX - 9) / 10)
            return false;
        number = number * 10 + (*at - '0');
    }
    *text = at;
    *ret_number = sign * number;
    return true;
}

/* "pid (name) state parent group session terminal foreground flags ..."; the name may
 * hold spaces and parentheses, so that only the last one ends it. */
int
mcpi_procfs_read_stat(const char *text, size_t len, struct mcpi_procfs_stat *ret_stat)
{
    char line[256];
    const char *at;
    char state;
    long field[6];
    long pid = 0;

    len = len < sizeof(line) - 1 ? len : sizeof(line) - 1;
    memcpy(line, text, len);
    line[len] = '\0';
    for (at = line; *at >= '0' && *at <= '9' && pid < INT_MAX / 10; at++)
        pid = pid * 10 + (*at - '0');
    if (at == line || *at != ' ' || at[1] != '(')
        return MCP_E_SYNTAX;
    at = strrchr(line, ')');
    if (!at || at[1] != ' ' || !at[2])
        return MCP_E_SYNTAX;
    state = at[2];
    at += 3;
    for (int i = 0; i < 6; i++) {
        if (!text_take_number(&at, &field[i]))
            return MCP_E_SYNTAX;
    }
    *ret_stat = (struct mcpi_procfs_stat){.pid = (pid_t)pid,
                                          .state = state,
                                          .parent = (pid_t)field[0],
                                          .group = (pid_t)field[1],
                                          .session = (pid_t)field[2],
                                          .flags = (unsigned)field[5]};
    return 0;
}

/* "/proc/<pid>/stat": snprintf may not be called between fork and exec. */
static void
stat_path(char into[40], pid_t pid)
{
    char digits[16];
    size_t n = 0, at = sizeof("/proc/") - 1;
    long number = pid;

    memcpy(into, "/proc/", at);
    do {
        digits[n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (n > 0)
        into[at++] = digits[--n];
    memcpy(into + at, "/stat", sizeof("/stat"));
}

int
mcpi_procfs_stat(pid_t pid, struct mcpi_procfs_stat *ret_stat)
{
    char path[40], text[256];
    ssize_t n;
    int fd;

    if (pid <= 0)
        return MCP_E_CLOSED;
    stat_path(path, pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return errno == EMFILE || errno == ENFILE ? MCP_E_LIMIT : MCP_E_CLOSED;
    n = read(fd, text, sizeof(text));
    close(fd);
    if (n <= 0)
        return MCP_E_CLOSED; /* it ended meanwhile */
    return mcpi_procfs_read_stat(text, (size_t)n, ret_stat);
}
