/* end/http_auth_shared_test.c - processes that share one file of tokens */
#include "auth/keep_fixture.h"
#include "end/http_auth_rig.h"

#include <signal.h>
#include <sys/wait.h>

enum { CLIENTS = 3, REFRESHES = 3 };

/* ---- a client that is a process -------------------------------------------------------------- */

/* Calls until it is told to stop, or something is wrong: says "." for each call. */
static int
call_on_and_on(const char *url, const char *path, const char *era)
{
    mcp_token_keep *keep = NULL;
    mcp_auth_options auth = HEADLESS(.scope = "read");
    mcp_client *client = NULL;
    mcp_error err = {0};
    char go;
    int r;

    r = mcp_token_keep_file(NULL, path, &keep, &err);
    auth.store = mcp_token_keep_interface(keep);
    if (r == 0)
        r = mcp_client_connect_http(
            url, &MCP_HTTP_CLIENT_OPTIONS(.auth = &auth),
            &REACHED_OPTIONS(.era = era[0] == 'm' ? MCP_ERA_MODERN : MCP_ERA_LEGACY),
            &client, &err);
    while (r == 0 && read(STDIN_FILENO, &go, 1) == 1) {
        r = mcp_client_call_tool(client, "say", NULL, NULL, NULL, &err);
        if (r == 0 && write(STDOUT_FILENO, ".", 1) != 1)
            break;
    }
    if (r < 0)
        (void)!write(STDOUT_FILENO, err.message, strlen(err.message));
    mcp_client_free(client);
    mcp_token_keep_free(keep);
    return r < 0;
}

static void
be_a_client(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "--call") == 0)
        _exit(call_on_and_on(argv[2], argv[3], argv[4]));
}

struct peer {
    pid_t pid;
    int in, out;
};

static void
peer_start(struct peer *p, const char *url, const char *path, enum mcp_era era)
{
    char self[4096] = "";
    int in[2], out[2];

    assert_true(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0);
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    p->pid = fork();
    assert_true(p->pid >= 0);
    if (p->pid == 0) {
        (void)dup2(in[0], STDIN_FILENO);
        (void)dup2(out[1], STDOUT_FILENO);
        execl(self, self, "--call", url, path,
              era == MCP_ERA_MODERN ? "modern" : "legacy", (char *)NULL);
        _exit(127);
    }
    close(in[0]);
    close(out[1]);
    p->in = in[1];
    p->out = out[0];
}

/* One call more. */
static void
peer_go(struct peer *p)
{
    assert_int_equal(write(p->in, "!", 1), 1);
}

static void
peer_said(struct peer *p)
{
    struct pollfd watched = {.fd = p->out, .events = POLLIN};
    char text[256] = "";

    assert_int_equal(poll(&watched, 1, AWAIT_MS), 1);
    assert_true(read(p->out, text, 1) == 1);
    if (text[0] != '.') {
        (void)!read(p->out, text + 1, sizeof(text) - 2);
        fail_msg("%s", text);
    }
}

static void
peer_stop(struct peer *p)
{
    int status;

    close(p->in);
    assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    close(p->out);
}

/* ---- cases --------------------------------------------------------------------------------------- */

/* Tokens live for a second, refresh tokens are good for one use, and a second one costs all
 * that came of the first: nobody loses anything. */
static void
processes_that_share_a_file_lose_no_refresh_token(void **state)
{
    enum mcp_era era = *(enum mcp_era *)*state;
    struct peer peers[CLIENTS];
    struct folder folder;
    struct auth_rig rig;

    folder_make(&folder);
    rig_open(&rig, era, &ISSUER_OPTIONS(.told = 1));
    for (int i = 0; i < CLIENTS; i++) {
        peer_start(&peers[i], rig.resource, folder_path(&folder, "tokens"), era);
        peer_go(&peers[i]);
        peer_said(&peers[i]); /* the first one has signed in when the second comes */
    }
    while (issuer_counts(rig.issuer).refreshed < REFRESHES) {
        for (int i = 0; i < CLIENTS; i++)
            peer_go(&peers[i]);
        for (int i = 0; i < CLIENTS; i++)
            peer_said(&peers[i]);
    }
    for (int i = 0; i < CLIENTS; i++)
        peer_stop(&peers[i]);
    assert_int_equal(issuer_counts(rig.issuer).codes, 1);
    assert_int_equal(issuer_counts(rig.issuer).registered, 1);
    assert_int_equal(issuer_counts(rig.issuer).reused, 0);
    assert_int_equal(issuer_counts(rig.issuer).refused, 0);
    rig_close(&rig);
    folder_remove(&folder);
}

/* One dies while it has the lock, and its refresh token is spent: the others get it, and
 * sign in if they must. */
static void
a_process_that_dies_in_a_refresh_does_not_stop_the_others(void **state)
{
    enum mcp_era era = *(enum mcp_era *)*state;
    struct peer dead, alive;
    struct folder folder;
    struct auth_rig rig;
    int status;

    folder_make(&folder);
    rig_open_with(&rig, era, NULL,
                  MCP_GUARD_OPTIONS(.verify = rig_verify, .verify_user = &rig));
    peer_start(&dead, rig.resource, folder_path(&folder, "tokens"), era);
    peer_go(&dead);
    peer_said(&dead);
    peer_start(&alive, rig.resource, folder_path(&folder, "tokens"), era);
    peer_go(&alive);
    peer_said(&alive);
    rig_revoke(&rig);
    issuer_hold(rig.issuer, "/token");
    peer_go(&dead);
    assert_true(issuer_await(rig.issuer, "/token", 2));
    assert_int_equal(kill(dead.pid, SIGKILL), 0);
    assert_int_equal(waitpid(dead.pid, &status, 0), dead.pid);
    close(dead.in);
    close(dead.out);
    issuer_release(rig.issuer);
    peer_go(&alive);
    peer_said(&alive);
    peer_stop(&alive);
    rig_close(&rig);
    folder_remove(&folder);
}

TEST_MAIN_AFTER(be_a_client,
                IN_BOTH_ERAS(processes_that_share_a_file_lose_no_refresh_token),
                IN_BOTH_ERAS(a_process_that_dies_in_a_refresh_does_not_stop_the_others))
