/* links_test.c - how clients reach a server: descriptors, sockets, memory */
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "api/raw_client.h"

static int
say(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_text(out, "said");
}

static void
open_saying(struct raw *raw, mcp_server_options opt)
{
    raw_make(raw, opt);
    raw_tool(raw, MCP_TOOL(.name = "say", .reply = say));
    raw->modern = true;
}

static void
converse(struct raw *raw)
{
    raw_call(raw, "1", "say", NULL);
    raw_expect(raw, "said");
}

/* ---- descriptors -------------------------------------------------------- */

static void
two_pipes_are_a_client(void **state)
{
    static const char call[] = REQUEST("1", "server/discover", "{" STAMP "}") "\n";
    int in[2], out[2];
    char answer[4096];
    struct raw raw;
    ssize_t n;

    (void)state;
    open_saying(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(mcp_server_attach(raw.server, in[0], out[1], NULL), 0);
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    assert_int_equal(write(in[1], call, strlen(call)), strlen(call));
    n = read(out[0], answer, sizeof(answer) - 1);
    assert_true(n > 0);
    answer[n] = '\0';
    assert_non_null(strstr(answer, "supportedVersions"));
    close(in[1]); /* EOF: it goes, and the server stays */
    assert_int_equal(read(out[0], answer, sizeof(answer)), 0);
    RAW_UNTIL(raw_counts(&raw).clients == 0);
    close(out[0]);
    raw_done(&raw);
}

static void
what_is_no_descriptor_is_refused(void **state)
{
    mcp_error err = {0};
    int pair[2];
    struct raw raw;

    (void)state;
    open_saying(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
    assert_int_equal(mcp_server_attach(NULL, pair[0], pair[0], NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_attach(raw.server, -1, pair[0], NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_attach(raw.server, pair[0], 9999, &err), MCP_E_INVAL);
    assert_string_equal(err.message, "descriptor 9999 is not open");
    assert_int_equal(close(pair[0]), 0); /* still ours */
    close(pair[1]);
    raw_done(&raw);
}

static void
M25_a_stop_needs_no_input(void **state)
{
    int in[2], out[2];
    char c;
    struct raw raw;

    (void)state;
    open_saying(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(pipe2(in, O_CLOEXEC), 0);
    assert_int_equal(pipe2(out, O_CLOEXEC), 0);
    assert_int_equal(mcp_server_attach(raw.server, in[0], out[1], NULL), 0);
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    RAW_UNTIL(raw_counts(&raw).clients == 1);
    mcp_server_stop(raw.server);
    assert_int_equal(read(out[0], &c, 1), 0); /* without a byte or an EOF from us */
    raw_done(&raw);
    close(in[1]);
    close(out[0]);
}

static void
after_a_stop_nobody_comes(void **state)
{
    struct mcpi_pair *pair;
    mcp_error err = {0};
    struct raw raw;

    (void)state;
    open_saying(&raw, MCP_SERVER_OPTIONS(.page = 0));
    mcp_server_stop(raw.server);
    assert_int_equal(mcp_server_attach(raw.server, 0, 1, &err), MCP_E_CLOSED);
    assert_int_equal(mcp_server_attach_stdio(raw.server, NULL), MCP_E_CLOSED);
    assert_int_equal(mcp_server_listen_unix(raw.server, "@libmcp-none", NULL),
                     MCP_E_CLOSED);
    assert_int_equal(mcp_server_listen_fd(raw.server, 0, NULL), MCP_E_CLOSED);
    assert_int_equal(mcpi_pair_make(&raw.mem->allocator, 0, &pair), 0);
    assert_int_equal(mcpi_server_attach_pair(raw.server, pair, 1), MCP_E_CLOSED);
    mcpi_pair_unmake(pair, 0);
    mcpi_pair_unmake(pair, 1);
    raw_done(&raw);
}

static void
an_end_of_a_pair_that_is_never_opened_is_given_up(void **state)
{
    struct mcpi_pair *pair;
    struct raw raw;

    (void)state;
    open_saying(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcpi_pair_make(&raw.mem->allocator, 0, &pair), 0);
    assert_int_equal(mcpi_server_attach_pair(raw.server, pair, 1), 0);
    mcpi_pair_unmake(pair, 0);
    raw_done(&raw);
}

/* ---- listening ---------------------------------------------------------- */

static struct sockaddr_un
address(const char *path, socklen_t *ret_len)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};

    memcpy(at.sun_path, path, strlen(path));
    *ret_len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) +
                           (path[0] != '@'));
    if (path[0] == '@')
        at.sun_path[0] = '\0';
    return at;
}

/* One more client, at a socket. */
static void
dial(struct raw *raw, const char *path)
{
    socklen_t len;
    struct sockaddr_un at = address(path, &len);

    raw->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    raw->modern = true;
    assert_int_equal(connect(raw->fd, (struct sockaddr *)&at, len), 0);
}

static void
hang_up(struct raw *raw)
{
    close(raw->fd);
    free(raw->in);
    raw->fd = -1;
    raw->in = NULL;
    raw->len = raw->cap = raw->line = 0;
}

static const char *
temporary(char folder[64], char path[96])
{
    snprintf(folder, 64, "/tmp/libmcp-links-XXXXXX");
    assert_non_null(mkdtemp(folder));
    snprintf(path, 96, "%s/socket", folder);
    return path;
}

static void
many_clients_come_to_a_socket(void **state)
{
    char folder[64], path[96];
    struct raw raw, other = {.fd = -1};
    struct stat st;

    (void)state;
    open_saying(&raw, MCP_SERVER_OPTIONS(.page = 0));
    temporary(folder, path);
    assert_int_equal(mcp_server_listen_unix(raw.server, path, NULL), 0);
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0600);
    dial(&raw, path);
    dial(&other, path);
    converse(&raw);
    converse(&other);
    assert_int_equal(raw_counts(&raw).clients, 2);
    hang_up(&other);
    RAW_UNTIL(raw_counts(&raw).clients == 1);
    converse(&raw);
    raw_done(&raw);
    assert_int_equal(stat(path, &st), -1); /* removed at the end */
    assert_int_equal(rmdir(folder), 0);
}

static void
a_socket_file_goes_though_the_server_never_ran(void **state)
{
    char folder[64], path[96];
    struct stat st;
    struct raw raw;

    (void)state;
    open_saying(&raw, MCP_SERVER_OPTIONS(.page = 0));
    temporary(folder, path);
    assert_int_equal(mcp_server_listen_unix(raw.server, path, NULL), 0);
    assert_int_equal(stat(path, &st), 0);
    raw_done(&raw);
    assert_int_equal(stat(path, &st), -1);
    assert_int_equal(rmdir(folder), 0);
}

static void
a_socket_file_goes_though_the_program_is_elsewhere_by_then(void **state)
{
    char before[4096], folder[64], path[96];
    struct stat st;
    struct raw raw;

    (void)state;
    assert_non_null(getcwd(before, sizeof(before)));
    open_saying(&raw, MCP_SERVER_OPTIONS(.page = 0));
    temporary(folder, path);
    assert_int_equal(chdir(folder), 0);
    assert_int_equal(mcp_server_listen_unix(raw.server, strrchr(path, '/') + 1, NULL),
                     0);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(stat(path, &st), 0);
    raw_done(&raw);
    assert_int_equal(stat(path, &st), -1);
    assert_int_equal(rmdir(folder), 0);
}

static void
a_path_that_cannot_be_is_told(void **state)
{
    mcp_error err = {0};
    struct raw raw;

    (void)state;
    open_saying(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcp_server_listen_unix(raw.server, NULL, &err), MCP_E_INVAL);
    assert_int_equal(mcp_server_listen_unix(raw.server, "", &err), MCP_E_INVAL);
    assert_int_equal(mcp_server_listen_unix(raw.server, "/no/such/folder/socket", &err),
                     MCP_E_INVAL);
    assert_true(err.message[0]);
    raw_done(&raw);
}

static void
a_socket_that_was_handed_in_is_listened_on(void **state)
{
    char name[64];
    struct sockaddr_un at;
    struct raw raw;
    socklen_t len;
    int fd;

    (void)state;
    open_saying(&raw, MCP_SERVER_OPTIONS(.page = 0));
    snprintf(name, sizeof(name), "@libmcp-links-%ld", (long)getpid());
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    at = address(name, &len);
    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(mcp_server_listen_fd(raw.server, fd, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_server_listen_fd(raw.server, -1, NULL), MCP_E_INVAL);
    assert_int_equal(listen(fd, 5), 0);
    assert_int_equal(mcp_server_listen_fd(raw.server, fd, NULL), 0);
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    dial(&raw, name);
    converse(&raw);
    raw_done(&raw);
}

static void
clients_over_the_limit_are_turned_away(void **state)
{
    char name[64];
    struct raw raw, other = {.fd = -1};

    (void)state;
    open_saying(&raw, MCP_SERVER_OPTIONS(.clients = 1));
    snprintf(name, sizeof(name), "@libmcp-limit-%ld", (long)getpid());
    assert_int_equal(mcp_server_listen_unix(raw.server, name, NULL), 0);
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    dial(&raw, name);
    converse(&raw);
    dial(&other, name);
    assert_true(raw_at_eof(&other));
    hang_up(&other);
    hang_up(&raw);
    RAW_UNTIL(raw_counts(&raw).clients == 0);
    dial(&raw, name); /* there is room again */
    converse(&raw);
    raw_done(&raw);
}

static void
a_stop_closes_listeners_and_clients(void **state)
{
    char name[64];
    socklen_t len;
    struct sockaddr_un at;
    struct raw raw;
    int fd;

    (void)state;
    open_saying(&raw, MCP_SERVER_OPTIONS(.page = 0));
    snprintf(name, sizeof(name), "@libmcp-stop-%ld", (long)getpid());
    assert_int_equal(mcp_server_listen_unix(raw.server, name, NULL), 0);
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    dial(&raw, name);
    converse(&raw);
    mcp_server_stop(raw.server);
    assert_true(raw_at_eof(&raw));
    RAW_UNTIL(atomic_load(&raw.server->stopped));
    at = address(name, &len);
    fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&at, len), -1);
    close(fd);
    raw_done(&raw);
}

static void
F33_a_thousand_clients_leave_nothing(void **state)
{
    char name[64];
    struct raw raw;

    (void)state;
    open_saying(&raw, MCP_SERVER_OPTIONS(.drain_ms = -1));
    snprintf(name, sizeof(name), "@libmcp-many-%ld", (long)getpid());
    assert_int_equal(mcp_server_listen_unix(raw.server, name, NULL), 0);
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    for (int i = 0; i < 1000; i++) {
        dial(&raw, name);
        raw_call(&raw, "1", "say", NULL);
        if (i % 2)
            raw_expect(&raw, "said");
        hang_up(&raw);
    }
    RAW_UNTIL(raw_counts(&raw).clients == 0);
    assert_int_equal(raw_counts(&raw).in_flight, 0);
    raw_done(&raw);
}

/* ---- memory ------------------------------------------------------------- */

static void
links_in(struct test_mem *mem, void *user)
{
    char name[64];
    struct raw raw;

    (void)user;
    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    raw.lenient = true;
    snprintf(name, sizeof(name), "@libmcp-memory-%ld", (long)getpid());
    if (mcp_server_listen_unix(raw.server, name, NULL) == 0 &&
        mcp_server_start(raw.server, NULL) == 0) {
        socklen_t len;
        struct sockaddr_un at = address(name, &len);

        raw.fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        raw.modern = true;
        if (connect(raw.fd, (struct sockaddr *)&at, len) == 0) {
            raw_ask(&raw, "1", "tools/list", "");
            (void)raw_next(&raw);
        }
    }
    raw_close(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(links_in, NULL) > 10);
}

TEST_MAIN(TEST(two_pipes_are_a_client), TEST(what_is_no_descriptor_is_refused),
          TEST(M25_a_stop_needs_no_input), TEST(after_a_stop_nobody_comes),
          TEST(an_end_of_a_pair_that_is_never_opened_is_given_up),
          TEST(many_clients_come_to_a_socket),
          TEST(a_socket_file_goes_though_the_server_never_ran),
          TEST(a_socket_file_goes_though_the_program_is_elsewhere_by_then),
          TEST(a_path_that_cannot_be_is_told),
          TEST(a_socket_that_was_handed_in_is_listened_on),
          TEST(clients_over_the_limit_are_turned_away),
          TEST(a_stop_closes_listeners_and_clients),
          TEST(F33_a_thousand_clients_leave_nothing), TEST(each_allocation_may_fail))
