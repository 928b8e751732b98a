/*
 * process.c - a process of ours
 *
 * The leader: runs, exited (a zombie, which we keep), reaped. It is reaped by us when
 * nobody of its group is seen any more, or by the program around us at any time. A
 * number is not given out again as long as a process or a zombie has it as pid, group
 * or session. So -pid means our group while the leader is not reaped; and afterwards as
 * long as its members hold it, which is looked at each time before it is signaled.
 */
#include "run/process.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/keeper.h"
#include "run/loop.h"
#include "run/procfs.h"
#include "run/spawn.h"

#define WAIT_PIDFD ((idtype_t)3) /* P_PIDFD, which older headers do not have */
#define EXIT_SHIFT 8             /* of the exit code in a status as waitpid gives it */
#define CORE_DUMPED 0x80
#define WAIT_MAX_US 60000000 /* at a time */
#define WAKE_US 20000        /* between looks whether a keeper must be woken */

/* What a look at all processes has found of a group. */
struct census {
    pid_t alive; /* one of them, not the leader; 0: none */
    bool dead;   /* there are zombies besides the leader */
    bool leader; /* somebody has the leader's number, dead or alive */
};

/* ---- the leader --------------------------------------------------------------- */

static int
status_of(const siginfo_t *info)
{
    if (info->si_code == CLD_EXITED)
        return (info->si_status & 0xff) << EXIT_SHIFT;
    return info->si_status | (info->si_code == CLD_DUMPED ? CORE_DUMPED : 0);
}

/* Options of waitid as given. True: it has exited, and *ret_status says how. */
static bool
leader_wait(const struct mcpi_process *process, int options, int *ret_status)
{
    siginfo_t info = {.si_pid = 0};

    if (waitid(WAIT_PIDFD, (id_t)process->pidfd, &info, WEXITED | WNOHANG | options) ==
        0) {
        if (info.si_pid == 0)
            return false;
        *ret_status = status_of(&info);
        return true;
    }
    if (errno != ECHILD)
        return false;
    *ret_status = MCPI_WAIT_UNKNOWN; /* somebody else has waited for it */
    return true;
}

static void
leader_reap(struct mcpi_process *process)
{
    int status;

    assert(process->exited);
    if (process->reaped)
        return;
    (void)leader_wait(process, 0, &status); /* known already */
    process->reaped = true;
}

/* ---- its group ---------------------------------------------------------------- */

static bool
is_dead(const struct mcpi_procfs_stat *stat)
{
    return stat->state == 'Z' || stat->state == 'X' || stat->state == 'x';
}

/* Setsid made the group, so that its members are in the session of the same number. */
static bool
is_member(const struct mcpi_process *process, const struct mcpi_procfs_stat *stat)
{
    return stat->group == process->pid && stat->session == process->pid;
}

static bool
witness_lives(const struct mcpi_process *process)
{
    struct mcpi_procfs_stat stat;

    return process->witness != 0 && mcpi_procfs_stat(process->witness, &stat) == 0 &&
           is_member(process, &stat) && !is_dead(&stat);
}

static void
census_add(struct census *census, const struct mcpi_process *process,
           const struct mcpi_procfs_stat *stat)
{
    if (stat->pid == process->pid)
        census->leader = true;
    else if (is_member(process, stat) && is_dead(stat))
        census->dead = true;
    else if (is_member(process, stat))
        census->alive = stat->pid;
}

/* Processes come in the order of their numbers, and a child's is nearly always higher:
 * one that forks and exits meanwhile does not hide its child. */
static int
census_take(struct census *census, const struct mcpi_process *process)
{
    struct mcpi_procfs_stat stat;
    struct mcpi_procfs all;
    long pid;
    int r;

    *census = (struct census){.alive = 0};
    if (!mcpi_procfs_is_ours())
        return MCP_E_STATE;
    r = mcpi_procfs_open(&all, "/proc");
    if (r < 0)
        return r;
    for (pid = mcpi_procfs_next(&all); pid >= 0; pid = mcpi_procfs_next(&all)) {
        r = mcpi_procfs_stat((pid_t)pid, &stat);
        if (r == MCP_E_LIMIT)
            break;
        if (r == 0) /* else it has ended meanwhile */
            census_add(census, process, &stat);
    }
    mcpi_procfs_close(&all);
    return pid == -1 ? 0 : MCP_E_STATE;
}

/* The leader has exited. If nobody is seen, its zombie is given up and the kernel
 * asked: some may be hidden, or there is no /proc of ours to look at. */
static bool
group_look(struct mcpi_process *process)
{
    bool ours = !process->reaped; /* the number, for its zombie has it */
    struct census census;
    bool seen;

    seen = census_take(&census, process) == 0;
    if (seen && census.alive != 0 && (ours || !census.leader)) {
        process->witness = census.alive;
        return true;
    }
    leader_reap(process);
    if (kill(-process->pid, 0) != 0 && errno == ESRCH)
        return false;
    if (!ours && seen && census.leader)
        return false;             /* a stranger has got the number */
    return !seen || !census.dead; /* some that only their parents can bury */
}

/* ---- the interface ------------------------------------------------------------ */

int
mcpi_process_spawn(struct mcpi_process *process, const struct mcpi_process_options *opt,
                   mcp_error *err)
{
    pid_t pid;
    int pidfd, r;

    if (opt->kept != MCPI_NOT_KEPT)
        return mcpi_keeper_spawn(process, opt, err);
    r = mcpi_spawn(opt, &pid, &pidfd, err);
    if (r < 0)
        return r;
    *process = (struct mcpi_process){.pid = pid, .pidfd = pidfd, .control = -1};
    if (pidfd < 0) {
        process->exited = process->reaped = true;
        process->wait_status = MCPI_WAIT_UNKNOWN;
    }
    return 0;
}

static bool
is_kept(const struct mcpi_process *process)
{
    return process->pid != 0 && process->control >= 0;
}

/* What the keeper has said is there when it has exited. */
bool
mcpi_process_poll(struct mcpi_process *process)
{
    int status = 0;
    bool exits = !process->exited && process->pid != 0 &&
                 leader_wait(process, WNOWAIT, &status);

    if (is_kept(process))
        (void)mcpi_keeper_poll(process);
    if (!exits)
        return process->exited;
    process->exited = true;
    process->reaped = status == MCPI_WAIT_UNKNOWN;
    if (!process->begun)
        process->wait_status = status;
    return true;
}

int
mcpi_process_signal(struct mcpi_process *process, int signal)
{
    if (!mcpi_process_group_lives(process))
        return MCP_E_CLOSED;
    if (is_kept(process))
        return mcpi_keeper_signal(process, signal);
    assert(process->pid > 1); /* -1 is everybody */
    if (kill(-process->pid, signal) == 0)
        return 0;
    if (errno != ESRCH)
        return MCP_E_STATE;
    process->group_gone = true;
    return MCP_E_CLOSED;
}

bool
mcpi_process_group_lives(struct mcpi_process *process)
{
    if (process->group_gone || process->pid == 0)
        return false;
    if (!mcpi_process_poll(process))
        return true;
    if (!is_kept(process) && (witness_lives(process) || group_look(process)))
        return true;
    process->group_gone = true;
    return false;
}

static void
leader_await(struct mcpi_process *process, int64_t within_us)
{
    struct pollfd watched = {.fd = process->pidfd, .events = POLLIN};
    int64_t until = mcpi_time_add(mcpi_loop_clock(), within_us);
    int64_t most = is_kept(process) ? WAKE_US : WAIT_MAX_US;
    int64_t left = within_us;

    while (!mcpi_process_poll(process) && left > 0) {
        left = left < most ? left : most;
        if (poll(&watched, 1, (int)((left + 999) / 1000)) == 0 && is_kept(process))
            mcpi_keeper_wake(process); /* stopped behind our word to end, or slow */
        left = until - mcpi_loop_clock();
    }
}

static void
group_kill(struct mcpi_process *process)
{
    if (mcpi_process_poll(process)) { /* the kernel is asked before all of /proc is */
        leader_reap(process);
        if (kill(-process->pid, 0) != 0 && errno == ESRCH)
            process->group_gone = true;
    }
    (void)mcpi_process_signal(process, SIGKILL); /* not allowed: it may still end */
}

int
mcpi_process_done(struct mcpi_process *process, int64_t within_us)
{
    if (process->pid == 0)
        return 0;
    if (is_kept(process))
        mcpi_keeper_end(process);
    else
        group_kill(process);
    leader_await(process, within_us);
    if (process->exited)
        leader_reap(process);
    if (is_kept(process))
        close(process->control);
    if (process->pidfd >= 0)
        close(process->pidfd);
    process->pidfd = process->control = -1;
    process->pid = 0;
    process->group_gone = true;
    return process->exited ? 0 : MCP_E_TIMEOUT;
}
