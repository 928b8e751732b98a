/*
 * http_caller.c - a client of ours that bench-http-client drives
 *
 *     bench-http-caller URL ERA        modern or legacy
 *
 * Commands come as lines on stdin, and each is answered by a line on stdout:
 *   calls LANES US    echo for that long, so many at once: how many there were
 *   open COUNT        so many calls that hang, each with its stream open: "open"
 *   drop              cancel them, one by one: microseconds of our time for each
 *   hang              start one that hangs: "hangs"
 *   cancel            cancel it: the time when that was asked for, in nanoseconds
 * All callbacks run on the client's own loop.
 */
#include <semaphore.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mcp/http.h>

enum { MOST = 16384 };

#define TEXT "the quick brown fox jumps over the lazy dog"

static mcp_client *client;
static mcp_call *hanging[MOST];
static int hanging_count;
static sem_t told;

static _Atomic int64_t until; /* monotonic ns */
static atomic_long calls;

static void
must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "bench-http-caller: %s\n", what);
    exit(1);
}

static int64_t
clock_ns(clockid_t clock)
{
    struct timespec t = {0};

    must(clock_gettime(clock, &t) == 0, "a clock cannot be read");
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- calls ----------------------------------------------------------------- */

static void echo_done(mcp_call *call, int status, mcp_reply *reply, void *user);

static void
echo_start(void)
{
    must(mcp_client_start_tool(client, "echo", "{\"text\":\"" TEXT "\"}", NULL,
                               echo_done, NULL, NULL) == 0,
         "a call cannot be started");
}

/* The next one, or this lane is over. */
static void
echo_done(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    (void)call, (void)user;
    must(status == 0 && strcmp(mcp_reply_text(reply), TEXT) == 0,
         "a call was not answered well");
    atomic_fetch_add(&calls, 1);
    if (clock_ns(CLOCK_MONOTONIC) < atomic_load(&until))
        echo_start();
    else
        (void)sem_post(&told);
}

static void
wait_for(int count)
{
    for (int i = 0; i < count; i++)
        while (sem_wait(&told) < 0)
            continue;
}

static void
calls_run(int lanes, int64_t us)
{
    atomic_store(&calls, 0);
    atomic_store(&until, clock_ns(CLOCK_MONOTONIC) + us * 1000);
    for (int i = 0; i < lanes; i++)
        echo_start();
    wait_for(lanes);
    printf("%ld\n", atomic_load(&calls));
}

/* ---- calls that hang ------------------------------------------------------- */

static void
hang_runs(mcp_call *call, double progress, double total, const char *message,
          void *user)
{
    (void)call, (void)progress, (void)total, (void)message, (void)user;
    (void)sem_post(&told);
}

static void
hang_done(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    (void)call, (void)reply, (void)user;
    must(status == MCP_E_CANCELED, "a call that hangs has ended");
    (void)sem_post(&told);
}

static void
hang_start(const char *arguments)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE,
                                                  .on_progress = hang_runs);

    must(hanging_count < MOST, "too many calls");
    must(mcp_client_start_tool(client, "hang", arguments, &opt, hang_done, NULL,
                               &hanging[hanging_count++]) == 0,
         "a call cannot be started");
}

static void
hang_open(int count)
{
    for (int i = 0; i < count; i++) {
        hang_start("{\"report\":false}");
        wait_for(1); /* in order: a listening socket has no endless backlog */
    }
    printf("open\n");
}

static void
hang_free(void)
{
    while (hanging_count > 0)
        mcp_call_free(hanging[--hanging_count]);
}

static void
hang_drop(void)
{
    int64_t start = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    int count = hanging_count;

    for (int i = 0; i < count; i++) {
        must(mcp_call_cancel(hanging[i], NULL) == 0, "a call cannot be canceled");
        wait_for(1);
    }
    printf("%.2f\n",
           (double)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - start) / 1e3 / count);
    hang_free();
}

static void
hang_cancel(void)
{
    int64_t now = clock_ns(CLOCK_MONOTONIC);

    must(mcp_call_cancel(hanging[0], NULL) == 0, "a call cannot be canceled");
    printf("%lld\n", (long long)now);
    wait_for(1);
    hang_free();
}

/* ---- the program ----------------------------------------------------------- */

static void
command_run(const char *line)
{
    char *rest = NULL;
    long first = strtol(line + strcspn(line, " "), &rest, 10);

    if (strncmp(line, "calls ", 6) == 0) {
        calls_run((int)first, strtol(rest, NULL, 10));
    } else if (strncmp(line, "open ", 5) == 0) {
        hang_open((int)first);
    } else if (strcmp(line, "drop\n") == 0) {
        hang_drop();
    } else if (strcmp(line, "hang\n") == 0) {
        hang_start("{\"report\":true}");
        wait_for(1);
        printf("hangs\n");
    } else if (strcmp(line, "cancel\n") == 0) {
        hang_cancel();
    } else {
        must(false, "no such command");
    }
    fflush(stdout);
}

int
main(int argc, char **argv)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.name = "bench-http-caller",
                                                .version = "1.0",
                                                .callbacks_on_loop = true,
                                                .no_output_check = true);
    mcp_error err = {0};
    char line[128];

    if (argc != 3) {
        fprintf(stderr, "usage: bench-http-caller URL modern|legacy\n");
        return 2;
    }
    opt.era = strcmp(argv[2], "legacy") == 0 ? MCP_ERA_LEGACY : MCP_ERA_MODERN;
    must(sem_init(&told, 0, 0) == 0, "no semaphore");
    if (mcp_client_connect_http(argv[1], NULL, &opt, &client, &err) < 0) {
        fprintf(stderr, "bench-http-caller: %s\n", err.message);
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof(line), stdin))
        command_run(line);
    mcp_client_free(client);
    return 0;
}
