/*
 * stress/stall.c - runs a command and stops its threads, one at a time, at random
 *
 *     stall COMMAND [ARGUMENT...]
 *
 * A busy machine takes the processor away from a thread at any instruction, for as long
 * as it likes. This program does the same on an idle machine: it seizes the command and
 * all processes and threads that descend from it, stops a random thread for 1 to 200
 * ms, lets all run for 1 to 100 ms, and so on. A thread that begins, or that got a
 * signal, is stopped by the kernel anyway: one in four is held there too. A test whose
 * result depends on who is faster fails under it sooner or later.
 *
 * The seed is printed; STALL_SEED sets another one. The same seed makes the same
 * decisions, but the threads meet them at other instructions. Exits as the command did,
 * with 128 + n if signal n ended it, with 125 if it could not be seized, with 127 if it
 * could not be executed. What the command leaves running is killed, but for a process
 * that a signal has stopped: that one is left alone.
 *
 * A process has one tracer: the command cannot trace its own children meanwhile.
 * LeakSanitizer wants to, so it is turned off unless LSAN_OPTIONS is set. A stop ends a
 * few system calls with EINTR (epoll_wait, sigtimedwait), as SIGSTOP and SIGCONT do.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HOLD_BITS 8 /* a stop is shorter than 2 to the power of this, in ms */
#define HOLD_MAX_MS 200
#define PAUSE_MAX_MS 100
#define OPTIONS                                                     \
    (PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | \
     PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC)

struct thread {
    pid_t tid;
    int64_t until; /* held until then, in ms; 0: it runs */
    int signal;    /* to deliver when it goes on */
};

struct stall {
    struct thread *threads;
    size_t count;
    size_t room;
    pid_t command;
    int status; /* as of waitpid, once the command has ended */
    bool ended;
    pid_t victim; /* asked to stop, and has not yet; 0: none */
    int64_t next; /* when the next victim is chosen */
    uint64_t random;
};

static int64_t
now_ms(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

/* splitmix64 */
static uint64_t
draw(struct stall *s, uint64_t below)
{
    uint64_t z = s->random += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (z ^ (z >> 31)) % below;
}

/* Short ones and long ones are equally likely: races are of all sizes. */
static int64_t
draw_hold(struct stall *s)
{
    uint64_t ms = 1 + draw(s, (uint64_t)1 << (1 + draw(s, HOLD_BITS)));

    return (int64_t)(ms > HOLD_MAX_MS ? HOLD_MAX_MS : ms);
}

/* ---- the threads ------------------------------------------------------------- */

static struct thread *
thread_of(struct stall *s, pid_t tid)
{
    size_t i;

    for (i = 0; i < s->count; i++) {
        if (s->threads[i].tid == tid)
            return &s->threads[i];
    }
    if (s->count == s->room) {
        s->room = s->room ? s->room * 2 : 64;
        s->threads = realloc(s->threads, s->room * sizeof *s->threads);
        if (!s->threads)
            exit(125); /* the kernel kills the command */
    }
    s->threads[s->count] = (struct thread){.tid = tid};
    return &s->threads[s->count++];
}

static void
thread_gone(struct stall *s, pid_t tid)
{
    struct thread *t = thread_of(s, tid);

    *t = s->threads[--s->count];
    if (s->victim == tid)
        s->victim = 0;
}

static void
thread_go_on(struct thread *t)
{
    t->until = 0;
    (void)ptrace(PTRACE_CONT, t->tid, 0, (long)t->signal);
}

static void
choose_victim(struct stall *s)
{
    struct thread *t;

    s->next = now_ms() + 1 + (int64_t)draw(s, PAUSE_MAX_MS);
    if (s->count == 0)
        return;
    t = &s->threads[draw(s, s->count)];
    if (t->until != 0)
        return;
    s->victim = t->tid;
    if (ptrace(PTRACE_INTERRUPT, t->tid, 0, 0) != 0)
        thread_gone(s, t->tid); /* an exec took it without a word */
}

/* ---- what the kernel reports ---------------------------------------------------- */

/* It was stopped by us or for us: hold it if it is the victim, and at times if not. */
static void
thread_hold(struct stall *s, struct thread *t)
{
    bool chosen = s->victim == t->tid;

    if (chosen)
        s->victim = 0;
    if (!chosen && draw(s, 4) != 0) {
        thread_go_on(t);
        return;
    }
    t->until = now_ms() + draw_hold(s);
    s->next = t->until + 1 + (int64_t)draw(s, PAUSE_MAX_MS);
}

/* Stopped by a signal, until SIGCONT. It is traced no longer: of a traced thread /proc
 * tells the tracer's stop, and a test that waits for the signal's would never see it. */
static void
thread_leave(struct stall *s, pid_t tid)
{
    (void)ptrace(PTRACE_DETACH, tid, 0, 0);
    thread_gone(s, tid);
}

static bool
is_job_control(int signal)
{
    return signal == SIGSTOP || signal == SIGTSTP || signal == SIGTTIN ||
           signal == SIGTTOU;
}

static void
thread_stopped(struct stall *s, pid_t tid, int status)
{
    struct thread *t = thread_of(s, tid);
    int event = status >> 16;
    int signal = WSTOPSIG(status);

    t->signal = event == 0 ? signal : 0;
    if (event == PTRACE_EVENT_STOP && is_job_control(signal))
        thread_leave(s, tid);
    else if (event == 0 || event == PTRACE_EVENT_STOP)
        thread_hold(s, t);
    else
        thread_go_on(t); /* a fork, a clone or an exec */
}

static void
take_reports(struct stall *s)
{
    int status;
    pid_t tid;

    while ((tid = waitpid(-1, &status, __WALL | WNOHANG)) > 0) {
        if (WIFSTOPPED(status)) {
            thread_stopped(s, tid, status);
            continue;
        }
        thread_gone(s, tid);
        if (tid == s->command) {
            s->status = status;
            s->ended = true;
        }
    }
}

/* ---- running -------------------------------------------------------------------- */

static int64_t
release_and_next(struct stall *s)
{
    int64_t now = now_ms();
    int64_t next = s->next;
    size_t i;

    for (i = 0; i < s->count; i++) {
        struct thread *t = &s->threads[i];

        if (t->until != 0 && t->until <= now)
            thread_go_on(t);
        if (t->until != 0 && t->until < next)
            next = t->until;
    }
    return next;
}

static void
sleep_until(int64_t at)
{
    int64_t ms = at - now_ms();
    struct timespec rest = {ms / 1000, ms % 1000 * 1000000};
    sigset_t children;

    if (ms <= 0)
        return;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    (void)sigtimedwait(&children, NULL, &rest);
}

static void
run(struct stall *s)
{
    while (!s->ended) {
        sleep_until(release_and_next(s));
        take_reports(s);
        if (s->victim == 0 && now_ms() >= s->next)
            choose_victim(s);
        else if (now_ms() >= s->next)
            s->next = now_ms() + PAUSE_MAX_MS; /* the victim is in the kernel */
    }
}

/* The child waits until it is seized, so that nothing of the command runs before. */
static void
start(struct stall *s, char **argv)
{
    sigset_t children;
    sigset_t before;
    int gate[2];
    char c = 0;

    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    sigprocmask(SIG_BLOCK, &children, &before);
    if (pipe(gate) != 0)
        exit(125);
    s->command = fork();
    if (s->command == 0) {
        close(gate[1]);
        if (read(gate[0], &c, 1) != 1)
            _exit(125);
        close(gate[0]);
        sigprocmask(SIG_SETMASK, &before, NULL);
        (void)setenv("LSAN_OPTIONS", "detect_leaks=0", 0);
        execvp(argv[0], argv);
        fprintf(stderr, "stall: %s: %s\n", argv[0], strerror(errno));
        _exit(127);
    }
    if (s->command < 0 || ptrace(PTRACE_SEIZE, s->command, 0, (long)OPTIONS) != 0) {
        fprintf(stderr, "stall: %s\n", strerror(errno));
        exit(125);
    }
    (void)thread_of(s, s->command);
    if (write(gate[1], &c, 1) != 1)
        exit(125);
    close(gate[0]);
    close(gate[1]);
}

int
main(int argc, char **argv)
{
    const char *seed = getenv("STALL_SEED");
    struct stall s = {.random = seed ? strtoull(seed, NULL, 10) : 1};

    if (argc < 2) {
        fprintf(stderr, "usage: stall COMMAND [ARGUMENT...]\n");
        return 125;
    }
    fprintf(stderr, "stall: STALL_SEED=%llu\n", (unsigned long long)s.random);
    start(&s, argv + 1);
    run(&s);
    free(s.threads);
    return WIFSIGNALED(s.status) ? 128 + WTERMSIG(s.status) : WEXITSTATUS(s.status);
}
