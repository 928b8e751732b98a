/*
 * doctor_orphans.c - processes that outlive the server that started them
 *
 * While a server runs we are the one to whom processes fall that have lost their parent:
 * so each that it leaves is seen, also one that has a session of its own.
 */
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/doctor.h"
#include "cli/proc.h"

#define LOOK_MS 10
#define KILL_LOOKS 100 /* who starts others faster than that is left to the system */
#define SHOWN 5        /* of them, by name */

static bool
is_known(const struct cli_doctor *doctor, int64_t pid)
{
    for (size_t i = 0; i < doctor->known_count; i++)
        if (doctor->known[i] == pid)
            return true;
    return false;
}

void
cli_orphans_begin(struct cli_doctor *doctor)
{
    struct cli_proc *list = calloc(CLI_PROC_MAX, sizeof(*list));
    size_t count = list ? cli_proc_all(list, CLI_PROC_MAX) : 0;

    doctor->known_count = 0;
    for (size_t i = 0; i < count && doctor->known_count < CLI_DOCTOR_KNOWN; i++)
        if (list[i].parent == getpid())
            doctor->known[doctor->known_count++] = list[i].pid;
    free(list);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

/* A process whose first thread has ended is shown as a zombie, too, but lives on: only
 * waiting for it tells. */
static bool
has_ended(const struct cli_proc *proc, bool is_ours)
{
    return proc->state == 'Z' &&
           (!is_ours || waitpid((pid_t)proc->pid, NULL, WNOHANG) != 0);
}

/* One look: processes of that session, and those that fell to us, first in list. Those
 * that have ended are let go; ret_ended tells how many. */
static size_t
look(const struct cli_doctor *doctor, pid_t session, struct cli_proc *list,
     size_t *ret_ended)
{
    size_t count = cli_proc_all(list, CLI_PROC_MAX), found = 0;

    *ret_ended = 0;
    for (size_t i = 0; i < count; i++) {
        struct cli_proc proc = list[i];
        bool is_ours = proc.parent == getpid() && !is_known(doctor, proc.pid);

        if (!is_ours && (session <= 0 || proc.session != session))
            continue;
        if (has_ended(&proc, is_ours))
            *ret_ended += is_ours;
        else
            list[found++] = proc;
    }
    return found;
}

/* Processes are looked at one after the other: one whose parent ended meanwhile may have
 * been seen when it was not ours yet. So a look that let somebody go is not the last. */
static size_t
find(const struct cli_doctor *doctor, pid_t session, struct cli_proc *list)
{
    size_t ended, found;

    do {
        found = look(doctor, session, list, &ended);
    } while (found == 0 && ended > 0);
    return found;
}

static void
note(struct cli_doctor *doctor, const struct cli_proc *list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (++doctor->orphan_count <= SHOWN)
            cli_text_printf(&doctor->orphans, "%s%s (%lld)",
                            doctor->orphans.length ? ", " : "", list[i].name,
                            (long long)list[i].pid);
}

/* Until nobody is left: who is killed may just have started another one. */
static void
kill_all(const struct cli_doctor *doctor, pid_t session, struct cli_proc *list,
         size_t count)
{
    for (int looks = 0; count > 0 && looks < KILL_LOOKS; looks++) {
        for (size_t i = 0; i < count; i++)
            (void)kill((pid_t)list[i].pid, SIGKILL);
        (void)poll(NULL, 0, LOOK_MS);
        count = find(doctor, session, list);
    }
}

void
cli_orphans_end(struct cli_doctor *doctor, pid_t session)
{
    struct cli_proc *list = calloc(CLI_PROC_MAX, sizeof(*list));
    size_t count = list ? find(doctor, session, list) : 0;

    for (int waited = 0; count > 0 && waited < doctor->orphan_ms; waited += LOOK_MS) {
        (void)poll(NULL, 0, LOOK_MS);
        count = find(doctor, session, list);
    }
    note(doctor, list, count);
    kill_all(doctor, session, list, count);
    free(list);
    (void)prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}
