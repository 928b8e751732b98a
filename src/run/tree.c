/*
 * tree.c - all that this process has started
 *
 * Everybody below is found by a look at all processes and their parents. One that forks
 * and exits again and again is gone before such a look is over, but its newest one is
 * our child as soon as the one before has exited: so for SIGKILL the children are listed
 * first, which takes microseconds, a few times over, and with each its group, which the
 * kernel signals as one, forks and all.
 *
 * A number that a child of ours has is its own until we have waited for it. For the
 * others it may be given out again at any time: they are signaled through a pidfd,
 * whose process was looked at after that was opened.
 */
#include "run/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "run/procfs.h"

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif

#define QUICK 64 /* children to signal before the long look */

struct member {
    pid_t pid, parent;
    bool below;
};

struct roll {
    const mcp_allocator *mem;
    struct member *members;
    size_t count, room;
};

int
mcpi_tree_root(void)
{
    if (!mcpi_procfs_is_ours() || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0)
        return MCP_E_STATE;
    return 0;
}

/* ---- children ----------------------------------------------------------------- */

static bool
is_dead(const struct mcpi_procfs_stat *stat)
{
    return stat->state == 'Z' || stat->state == 'X' || stat->state == 'x';
}

/* Its group too, unless it is ours. What is in a session that began below us is below
 * us, and the dead hold the number of their group until we wait for them. True: it was
 * not dead yet. */
static bool
child_kill(pid_t pid)
{
    struct mcpi_procfs_stat stat;

    (void)kill(pid, SIGKILL); /* another user's: not allowed */
    if (mcpi_procfs_stat(pid, &stat) < 0)
        return false;
    if (stat.group > 1 && stat.session > 1 && stat.session != getsid(0))
        (void)kill(-stat.group, SIGKILL);
    return !is_dead(&stat);
}

/* From a list of numbers, each with a space behind it. Returns how many lived. */
static size_t
children_kill_listed(int list)
{
    char text[512];
    size_t living = 0;
    ssize_t n;
    long pid = 0;

    for (n = read(list, text, sizeof(text)); n > 0;
         n = read(list, text, sizeof(text))) {
        for (ssize_t i = 0; i < n; i++) {
            if (text[i] >= '0' && text[i] <= '9') {
                pid = pid * 10 + (text[i] - '0');
                continue;
            }
            living += pid > 1 && child_kill((pid_t)pid);
            pid = 0;
        }
    }
    return living;
}

/* Some kernels have no such list: then the long look must do. */
static size_t
children_kill(void)
{
    int list = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
    size_t living;

    if (list < 0)
        return 0;
    living = children_kill_listed(list);
    close(list);
    return living;
}

/* ---- everybody ---------------------------------------------------------------- */

static bool
roll_add(struct roll *roll, const struct mcpi_procfs_stat *stat)
{
    struct member *members = roll->members;
    size_t room = roll->room;

    if (roll->count == room) {
        room = room * 2 + 256;
        members = mcpi_realloc(roll->mem, members, room * sizeof(*members));
        if (!members)
            return false;
        roll->members = members;
        roll->room = room;
    }
    members[roll->count++] = (struct member){
        .pid = stat->pid, .parent = stat->parent, .below = stat->parent == getpid()};
    return true;
}

/* Without memory or descriptors for all of them: those that were seen. */
static void
roll_take(struct roll *roll)
{
    struct mcpi_procfs_stat stat;
    struct mcpi_procfs all;
    bool more = true;
    long pid;

    if (mcpi_procfs_open(&all, "/proc") < 0)
        return;
    for (pid = mcpi_procfs_next(&all); pid >= 0 && more; pid = mcpi_procfs_next(&all)) {
        if (mcpi_procfs_stat((pid_t)pid, &stat) == 0)
            more = roll_add(roll, &stat);
    }
    mcpi_procfs_close(&all);
}

/* In the order of their numbers, as /proc has them. */
static const struct member *
roll_find(const struct roll *roll, pid_t pid)
{
    size_t from = 0, to = roll->count;

    while (from < to) {
        size_t middle = from + (to - from) / 2;

        if (roll->members[middle].pid == pid)
            return &roll->members[middle];
        if (roll->members[middle].pid < pid)
            from = middle + 1;
        else
            to = middle;
    }
    return NULL;
}

/* A child's number is nearly always higher than its parent's, so that one time through
 * marks nearly all. */
static void
roll_mark(struct roll *roll)
{
    const struct member *parent;
    bool changed = true;

    while (changed) {
        changed = false;
        for (size_t i = 0; i < roll->count; i++) {
            if (roll->members[i].below)
                continue;
            parent = roll_find(roll, roll->members[i].parent);
            if (parent && parent->below)
                changed = roll->members[i].below = true;
        }
    }
}

/* Whose parent has ended meanwhile is our child. */
static void
member_signal(const struct member *member, int signal)
{
    struct mcpi_procfs_stat stat;
    int pidfd;

    if (member->parent == getpid()) {
        (void)kill(member->pid, signal);
        return;
    }
    pidfd = (int)syscall(SYS_pidfd_open, member->pid, 0);
    if (pidfd < 0)
        return;
    if (mcpi_procfs_stat(member->pid, &stat) == 0 &&
        (stat.parent == member->parent || stat.parent == getpid()))
        (void)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
    close(pidfd);
}

/* ---- the interface ------------------------------------------------------------ */

void
mcpi_tree_signal(int signal)
{
    struct roll roll = {.mem = mcpi_mem_or_malloc(NULL)};
    size_t living = 1;

    for (size_t done = 0; signal == SIGKILL && done < QUICK && living > 0;
         done += living)
        living = children_kill();
    roll_take(&roll);
    roll_mark(&roll);
    for (size_t i = 0; i < roll.count; i++) {
        if (roll.members[i].below)
            member_signal(&roll.members[i], signal);
    }
    mcpi_free(roll.mem, roll.members);
}

/* Also for those whose end is no SIGCHLD: without __WALL there would be none of them. */
bool
mcpi_tree_reap(pid_t of, int *ret_status)
{
    int status;
    pid_t pid;

    for (pid = waitpid(-1, &status, WNOHANG | __WALL); pid > 0;
         pid = waitpid(-1, &status, WNOHANG | __WALL)) {
        if (pid == of)
            *ret_status = status;
    }
    return pid == 0 || errno != ECHILD;
}
