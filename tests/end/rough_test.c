/*
 * rough_test.c - isolated tools that do what tools must not cost their own call only
 *
 * Around each of them another call of the same client is under way, in a helper of the
 * same tool, and before and after it the tool and a plain one work.
 */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "end/below.h"
#include "end/http_probe.h"
#include "support/curl_warm.h"

#include <mcp/http.h>

struct rig {
    mcp_client *client;
    struct raw http; /* over HTTP: the server, which is not the client's then */
    bool is_http;
    pid_t server;
};

static bool over_stdio = false, over_http = true;

#define ON_BOTH(fn) \
    TEST_AS("stdio." #fn, fn, &over_stdio), TEST_AS("http." #fn, fn, &over_http)

/* ---- a server and its client -------------------------------------------- */

static void
http_open_rig(struct rig *rig, const mcp_client_options *me)
{
    const char *const argv[] = {ROUGH_SERVER, "--http", NULL};
    char url[256], *end;
    mcp_error err = {0};

    raw_spawn(&rig->http, argv, -1);
    rig->server = rig->http.pid;
    expect_readable(rig->http.out, url, sizeof(url), "\n");
    end = strchr(url, '\n');
    *end = '\0';
    if (mcp_client_connect_http(url, NULL, me, &rig->client, &err) < 0)
        fail_msg("%s: %s", url, err.message);
}

static void
rig_open(struct rig *rig, void **state)
{
    const char *const argv[] = {ROUGH_SERVER, NULL};
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0",
                                                     .timeout_ms = AWAIT_MS);
    mcp_error err = {0};

    memset(rig, 0, sizeof(*rig));
    assert_int_equal(setenv("SECRET", "hush", 1), 0); /* the server has it */
    test_limit(120);
    rig->is_http = *(bool *)*state;
    if (rig->is_http) {
        http_open_rig(rig, &me);
        return;
    }
    if (mcp_client_spawn(argv, &me, &rig->client, &err) < 0)
        fail_msg("%s: %s", ROUGH_SERVER, err.message);
    rig->server = (pid_t)mcp_client_pid(rig->client);
}

static bool
all_are_gone(void *user)
{
    return below_alive(user) == 0;
}

/* And nothing that was below the server survives it. */
static void
rig_close(struct rig *rig)
{
    struct below *below = malloc(sizeof(*below));

    assert_non_null(below);
    below_list(below, rig->server);
    mcp_client_free(rig->client);
    if (rig->is_http) {
        assert_int_equal(kill(rig->server, SIGTERM), 0);
        expect_exit(raw_close(&rig->http), 0);
    }
    wait_until(all_are_gone, below);
    free(below);
}

/* ---- calls -------------------------------------------------------------- */

static const char *
how_text(const char *how)
{
    static char text[64];

    (void)snprintf(text, sizeof(text), "{\"how\":\"%s\"}", how);
    return text;
}

/* The answer to one call; freed by the caller. */
static mcp_reply *
rig_call(struct rig *rig, const char *tool, const char *how)
{
    mcp_reply *reply = NULL;
    mcp_error err = {0};

    if (mcp_client_call_tool(rig->client, tool, how_text(how), NULL, &reply, &err) < 0)
        fail_msg("%s %s: %s", tool, how, err.message);
    return reply;
}

static void
rig_expect(struct rig *rig, const char *tool, const char *how, const char *text)
{
    mcp_reply *reply = rig_call(rig, tool, how);

    assert_false(mcp_reply_is_error(reply));
    assert_string_equal(mcp_reply_text(reply), text);
    mcp_reply_free(reply);
}

/* It is an error that the model can read, with this in it. */
static void
rig_expect_failure(struct rig *rig, const char *tool, const char *how, const char *part)
{
    mcp_reply *reply = rig_call(rig, tool, how);

    assert_true(mcp_reply_is_error(reply));
    if (!strstr(mcp_reply_text(reply), part))
        fail_msg("no %s in %s", part, mcp_reply_text(reply));
    mcp_reply_free(reply);
}

/* The tool and a plain one work. */
static void
rig_works(struct rig *rig, const char *tool)
{
    struct probe p = {rig->client};
    mcp_reply *reply = rig_call(rig, tool, "nothing");

    assert_false(mcp_reply_is_error(reply));
    mcp_reply_free(reply);
    probe_expect(&p, "echo", "{\"text\":\"plain\"}", "plain");
}

static mcp_call *
rig_start(struct rig *rig, const char *tool, const char *how,
          const mcp_call_options *opt)
{
    mcp_call *call = NULL;

    assert_int_equal(
        mcp_client_start_tool(rig->client, tool, how_text(how), opt, NULL, NULL, &call),
        0);
    return call;
}

static mcp_call *
neighbor_start(struct rig *rig, const char *tool)
{
    rig_works(rig, tool);
    return rig_start(rig, tool, "nap", NULL);
}

static void
neighbor_end(struct rig *rig, const char *tool, mcp_call *neighbor)
{
    mcp_reply *reply = NULL;

    rig_works(rig, tool);
    assert_int_equal(mcp_call_wait(neighbor, AWAIT_MS, &reply, NULL), 0);
    assert_string_equal(mcp_reply_text(reply), "rested");
    mcp_reply_free(reply);
    mcp_call_free(neighbor);
}

/* ---- processes that the server's side hears of -------------------------- */

struct teller {
    char text[32];
    atomic_bool told;
};

static void
on_progress(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    struct teller *teller = user;

    (void)call, (void)progress, (void)total;
    (void)snprintf(teller->text, sizeof(teller->text), "%s", message ? message : "");
    atomic_store(&teller->told, true);
}

static bool
has_told(void *user)
{
    return atomic_load(&((struct teller *)user)->told);
}

static bool
is_gone(void *user)
{
    return process_is_gone(*(pid_t *)user);
}

static void
expect_gone(const char *text)
{
    pid_t pid = (pid_t)strtol(text, NULL, 10);

    assert_true(pid > 1);
    wait_until(is_gone, &pid);
}

static void
call_cancel(mcp_call *call)
{
    assert_int_equal(mcp_call_cancel(call, "enough"), 0);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    mcp_call_free(call);
}

/* ---- ends --------------------------------------------------------------- */

static void
M20_a_crash_is_an_error_of_its_own_call(void **state)
{
    static const struct {
        const char *how, *part;
    } ends[] = {{"segv", "SIGSEGV"}, {"abort", "SIGABRT"}, {"exit", "3"}};
    mcp_call *neighbor;
    struct rig rig;

    rig_open(&rig, state);
    for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
        neighbor = neighbor_start(&rig, "rough");
        rig_expect_failure(&rig, "rough", ends[i].how, ends[i].part);
        neighbor_end(&rig, "rough", neighbor);
    }
    rig_close(&rig);
}

struct stopped {
    pid_t server, pid;
};

static bool
one_has_stopped(void *user)
{
    struct stopped *stopped = user;

    stopped->pid = below_stopped(stopped->server);
    return stopped->pid != 0;
}

static void
F5_one_that_has_stopped_itself_is_killed_after_a_cancel(void **state)
{
    struct stopped stopped = {0};
    mcp_call *neighbor, *call;
    struct rig rig;

    rig_open(&rig, state);
    neighbor = neighbor_start(&rig, "rough");
    call = rig_start(&rig, "rough", "stop", NULL);
    stopped.server = rig.server;
    wait_until(one_has_stopped, &stopped);
    call_cancel(call);
    wait_until(is_gone, &stopped.pid);
    neighbor_end(&rig, "rough", neighbor);
    rig_close(&rig);
}

/* ---- processes ---------------------------------------------------------- */

static void
M4_a_daemon_ends_soon_after_the_call_that_started_it(void **state)
{
    mcp_call *neighbor;
    mcp_reply *reply;
    struct rig rig;

    rig_open(&rig, state);
    neighbor = neighbor_start(&rig, "rough");
    reply = rig_call(&rig, "rough", "daemon");
    assert_false(mcp_reply_is_error(reply)); /* its result is good all the same */
    expect_gone(mcp_reply_text(reply));
    mcp_reply_free(reply);
    neighbor_end(&rig, "rough", neighbor);
    rig_close(&rig);
}

static void
M4_a_daemon_ends_after_a_call_that_failed(void **state)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    mcp_call *call;
    struct rig rig;

    rig_open(&rig, state);
    call = rig_start(&rig, "rough", "daemon_and_fail", NULL);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, &reply, &err), MCP_E_PEER);
    mcp_call_free(call);
    expect_gone(err.message + strcspn(err.message, "123456789"));
    rig_works(&rig, "rough");
    rig_close(&rig);
}

static void
M4_a_daemon_ends_with_a_call_that_is_canceled(void **state)
{
    struct teller teller = {.text = ""};
    const mcp_call_options opt = MCP_CALL_OPTIONS(.on_progress = on_progress,
                                                  .user = &teller);
    mcp_call *neighbor, *call;
    struct rig rig;

    rig_open(&rig, state);
    neighbor = neighbor_start(&rig, "rough");
    call = rig_start(&rig, "rough", "daemon_and_stay", &opt);
    wait_until(has_told, &teller);
    call_cancel(call);
    expect_gone(teller.text);
    neighbor_end(&rig, "rough", neighbor);
    rig_close(&rig);
}

static void
a_command_runs_in_a_helper_too(void **state)
{
    struct rig rig;

    rig_open(&rig, state);
    rig_expect(&rig, "rough", "command", "from a command\n");
    rig_expect(&rig, "rough", "contained", "from a command\n");
    rig_expect(&rig, "rough", "command", "from a command\n");
    rig_close(&rig);
}

/* ---- limits ------------------------------------------------------------- */

static void
M20_memory_has_an_end(void **state)
{
    mcp_call *neighbor;
    struct rig rig;

    rig_open(&rig, state);
    neighbor = neighbor_start(&rig, "bounded");
    if (MEMORY_IS_REAL) { /* the sanitizers map all there is at the start */
        rig_expect(&rig, "bounded", "fill_and_say", "more: no, half: yes");
        rig_expect_failure(&rig, "bounded", "fill", "SIGABRT");
    }
    neighbor_end(&rig, "bounded", neighbor);
    rig_close(&rig);
}

static void
M20_processor_time_has_an_end(void **state)
{
    mcp_call *neighbor;
    struct rig rig;

    rig_open(&rig, state);
    neighbor = neighbor_start(&rig, "bounded");
    rig_expect_failure(&rig, "bounded", "burn", "SIGXCPU");
    neighbor_end(&rig, "bounded", neighbor);
    rig_close(&rig);
}

static void
M20_descriptors_have_an_end(void **state)
{
    mcp_call *neighbor;
    struct rig rig;

    rig_open(&rig, state);
    neighbor = neighbor_start(&rig, "bounded");
    rig_expect(&rig, "bounded", "open", "EMFILE after a few");
    rig_expect(&rig, "bounded", "open", "EMFILE after a few");
    neighbor_end(&rig, "bounded", neighbor);
    rig_close(&rig);
}

static void
files_have_an_end(void **state)
{
    mcp_call *neighbor;
    struct rig rig;

    rig_open(&rig, state);
    neighbor = neighbor_start(&rig, "bounded");
    for (int i = 0; i < 2; i++) {
        rig_expect(&rig, "bounded", "write", "1048575 bytes and 0: File too large");
        rig_expect(&rig, "bounded", "write_below", "signal 25 after 1048576\n");
    }
    neighbor_end(&rig, "bounded", neighbor);
    rig_close(&rig);
}

/* One that leaks, and does not crash of it. */
static void
M20_what_a_call_keeps_is_not_missing_in_the_next(void **state)
{
    struct rig rig;

    rig_open(&rig, state);
    for (int i = 0; i < 3; i++) {
        if (MEMORY_IS_REAL)
            rig_expect(&rig, "bounded", "keep", "kept");
        rig_expect(&rig, "bounded", "open", "EMFILE after a few");
        rig_expect(&rig, "bounded", "command", "from a command\n");
    }
    rig_close(&rig);
}

/* ---- descriptors and the environment ------------------------------------ */

static void
M19_what_it_prints_is_on_no_wire(void **state)
{
    mcp_call *neighbor;
    struct rig rig;

    rig_open(&rig, state);
    neighbor = neighbor_start(&rig, "rough");
    rig_expect(&rig, "rough", "print", "printed");
    neighbor_end(&rig, "rough", neighbor);
    rig_close(&rig);
}

static void
M20_one_that_closes_its_wire_costs_its_own_call(void **state)
{
    mcp_call *neighbor;
    struct rig rig;

    rig_open(&rig, state);
    neighbor = neighbor_start(&rig, "rough");
    rig_expect_failure(&rig, "rough", "close_all", "");
    neighbor_end(&rig, "rough", neighbor);
    rig_close(&rig);
}

/* Has this process a descriptor of that name? */
static bool
process_has(pid_t pid, const char *name)
{
    char folder_path[64], path[512], target[256];
    struct dirent *entry;
    bool found = false;
    DIR *folder;
    ssize_t n;

    (void)snprintf(folder_path, sizeof(folder_path), "/proc/%d/fd", (int)pid);
    folder = opendir(folder_path);
    assert_non_null(folder);
    while (!found && (entry = readdir(folder)) != NULL) {
        (void)snprintf(path, sizeof(path), "%s/%s", folder_path, entry->d_name);
        n = readlink(path, target, sizeof(target) - 1);
        target[n > 0 ? n : 0] = '\0';
        found = strcmp(target, name) == 0;
    }
    closedir(folder);
    return found;
}

static void
M13_a_helper_has_no_descriptor_of_its_server(void **state)
{
    char *text, *line, *next, *socket = NULL;
    mcp_reply *reply;
    struct rig rig;

    rig_open(&rig, state);
    reply = rig_call(&rig, "rough", "descriptors");
    text = strdup(mcp_reply_text(reply));
    mcp_reply_free(reply);
    for (line = strtok_r(text, "\n", &next); line; line = strtok_r(NULL, "\n", &next)) {
        if (strncmp(line, "socket:", 7) != 0 && strncmp(line, "pipe:", 5) != 0)
            continue;
        assert_false(process_has(rig.server, line));
        if (strncmp(line, "socket:", 7) != 0)
            continue; /* the pipes of its own loop */
        if (!socket)
            socket = line;
        assert_string_equal(line, socket); /* its wire, both ways, and no other */
    }
    assert_non_null(socket);
    free(text);
    rig_close(&rig);
}

static void
a_helper_does_not_know_the_secrets_of_its_server(void **state)
{
    struct rig rig;

    rig_open(&rig, state);
    rig_expect(&rig, "rough", "secret", "secret: none, path: yes");
    rig_close(&rig);
}

TEST_MAIN(ON_BOTH(M20_a_crash_is_an_error_of_its_own_call),
          ON_BOTH(F5_one_that_has_stopped_itself_is_killed_after_a_cancel),
          ON_BOTH(M4_a_daemon_ends_soon_after_the_call_that_started_it),
          ON_BOTH(M4_a_daemon_ends_after_a_call_that_failed),
          ON_BOTH(M4_a_daemon_ends_with_a_call_that_is_canceled),
          ON_BOTH(a_command_runs_in_a_helper_too), ON_BOTH(M20_memory_has_an_end),
          ON_BOTH(M20_processor_time_has_an_end), ON_BOTH(M20_descriptors_have_an_end),
          ON_BOTH(files_have_an_end),
          ON_BOTH(M20_what_a_call_keeps_is_not_missing_in_the_next),
          ON_BOTH(M19_what_it_prints_is_on_no_wire),
          ON_BOTH(M20_one_that_closes_its_wire_costs_its_own_call),
          ON_BOTH(M13_a_helper_has_no_descriptor_of_its_server),
          ON_BOTH(a_helper_does_not_know_the_secrets_of_its_server))
