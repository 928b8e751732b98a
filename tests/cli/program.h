/*
 * program.h - mcpctl itself, run as a user would run it
 *
 * Everything asserts, and nothing waits longer than AWAIT_MS.
 */
#ifndef TESTS_CLI_PROGRAM_H
#define TESTS_CLI_PROGRAM_H

#include <sys/types.h>

#include "support/test.h"

/* In each test of mcpctl it has as long for each step, and so have its servers: a busy
 * machine is no fault of theirs. See cli/times.h. */
#define PATIENT_TIMES                                                               \
    "opening=60000 confirm=60000 end=60000 exit=60000 orphan=60000 discover=60000 " \
    "answer=60000 watch=60000 stats=60000 ping=60000 settle=60000 lookup=60000 "    \
    "words=60000"
/* For an environment: all of these, but for some. TIMES("exit=50") */
#define TIMES(others) "MCPCTL_TIMES=" PATIENT_TIMES " " others
#define MCPCTL CLI_BIN "/mcpctl"
#define PROBE CLI_BIN "/probe-server" /* over stdio; as a target word */

/* What a run gave. Texts are terminated. */
struct ran {
    int code;   /* exit code; -1: a signal ended it */
    int signal; /* that one, or 0 */
    char *out, *err;
};

/* mcpctl with these words (NULL at the end), stdin /dev/null, stdout and stderr pipes, HOME
 * and the XDG folders in an empty scratch folder; waits for its end. */
struct ran run_mcpctl(const char *const *words);
/* The same with this on stdin, and these "NAME=value" more in the environment; NULL ok. */
struct ran run_mcpctl_with(const char *const *words, const char *input,
                           const char *const *env);
void ran_done(struct ran *ran);

/* RUN("tools", PROBE): the short form. */
#define RUN(...) run_mcpctl((const char *const[]){__VA_ARGS__, NULL})

/* It ended so, and these texts are on stdout and stderr (NULL: whatever; "": nothing is
 * there); frees it. */
void check_ran(struct ran *ran, int code, const char *in_out, const char *in_err);

/* CHECK_RAN(0, "pong", NULL, "ping", PROBE): run it, and check that. */
#define CHECK_RAN(code, in_out, in_err, ...)    \
    do {                                        \
        struct ran ran_ = RUN(__VA_ARGS__);     \
                                                \
        check_ran(&ran_, code, in_out, in_err); \
    } while (0)

/* The same with other times: CHECK_RAN_IN("exit=50", 0, "pong", NULL, "ping", PROBE). */
#define CHECK_RAN_IN(times, code, in_out, in_err, ...)                                \
    do {                                                                              \
        struct ran ran_ = run_mcpctl_with((const char *const[]){__VA_ARGS__, NULL},   \
                                          NULL, /* no input */                        \
                                          (const char *const[]){TIMES(times), NULL}); \
                                                                                      \
        check_ran(&ran_, code, in_out, in_err);                                       \
    } while (0)

/* Started, not waited for. */
struct running {
    pid_t pid;
    int in, out, err; /* pipes of ours; in -1: /dev/null */
};
struct running start_mcpctl(const char *const *words, const char *const *env);
/* The environment of one that will be killed by a second signal: that waits for no thread
 * of its own, and TSan is not to complain. */
const char *const *to_be_killed(void);
/* Any program, argv[0] being its path. */
struct running start_program(const char *const *argv);
/* mcpctl with a pipe as its stdin; closed by running_end. */
struct running start_mcpctl_with_input(const char *const *words);
/* Read from one of its pipes until this text was there; what was read is returned, in a
 * buffer that is good until the next call. */
const char *running_until(int fd, const char *text);
/* Wait for the end, and gather the rest. */
struct ran running_end(struct running *running);

/* probe-server on a port: its URL, good until the next call; one at a time, until
 * probe_stop, which sees that it ends well. */
const char *probe_http(void);
/* The same under TLS, with these PEM files. */
const char *probe_https(const char *certificate, const char *key);
/* The same on a Unix socket. */
void probe_unix(const char *path);
void probe_stop(void);
void probe_kill(void); /* without a word */

/* Asks that server's `stats` until it says all of these (NULL at the end), as soon it
 * should. */
void await_stats(const char *target, const char *const *texts);
#define AWAIT_STATS(target, ...) \
    await_stats(target, (const char *const[]){__VA_ARGS__, NULL})

/* The scratch folder of this test program, empty at first; removed at its end. */
const char *scratch(void);
/* A file in it, with this text; its path is good until the next call. */
const char *scratch_file(const char *name, const char *text);

#endif
