/*
 * procfs.h - reading /proc without memory: the numbers in a folder, a process's status
 *
 * Nothing here allocates or locks: all of it may run between fork and exec.
 */
#ifndef MCPI_RUN_PROCFS_H
#define MCPI_RUN_PROCFS_H

#include <mcp/base.h>
#include <sys/types.h>

/* The entries of a folder whose names are numbers: processes, descriptors. */
struct mcpi_procfs {
    int fd;
    size_t at, len; /* what is read and not yet given out */
    _Alignas(8) char data[2048];
};

struct mcpi_procfs_stat {
    pid_t pid;
    char state; /* 'Z' and 'X' are dead */
    pid_t parent, group, session;
    unsigned flags;
};

/* It has not executed a program since it was forked off (PF_FORKNOEXEC of Linux). */
#define MCPI_PROCFS_FORKED 0x40U

/* Are its numbers those of our processes? Not if it was mounted in another pid
 * namespace, nor if there is none. */
bool mcpi_procfs_is_ours(void);

/* MCP_E_STATE: no such folder. MCP_E_LIMIT: no descriptor for it. */
int mcpi_procfs_open(struct mcpi_procfs *procfs, const char *folder);
/* The next number; -1: no more; -2: it cannot be read. */
long mcpi_procfs_next(struct mcpi_procfs *procfs);
void mcpi_procfs_close(struct mcpi_procfs *procfs);

/* MCP_E_CLOSED: no such process, or none that we may see. MCP_E_LIMIT: no
 * descriptor. */
int mcpi_procfs_stat(pid_t pid, struct mcpi_procfs_stat *ret_stat);

/* The same from the text of its stat file. MCP_E_SYNTAX: it is none. */
int mcpi_procfs_read_stat(const char *text, size_t len,
                          struct mcpi_procfs_stat *ret_stat);

#endif
