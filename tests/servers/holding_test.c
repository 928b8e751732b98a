/*
 * holding_test.c - what the tools of the example hold is free again after each end
 *
 * The test is the HTTP server of `fetch`, looks into the database of `transfer` and
 * wants the lock of `locked` itself.
 */
#include "servers/program.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

struct holding {
    struct program program;
    enum ending how;
    char file[64]; /* the database of the server */
};

static struct way {
    struct cell cell;
    enum ending how;
} ways[] = {
    {{MCP_ERA_MODERN, false}, BY_CANCEL},  {{MCP_ERA_LEGACY, false}, BY_CANCEL},
    {{MCP_ERA_MODERN, false}, BY_TIMEOUT}, {{MCP_ERA_LEGACY, false}, BY_TIMEOUT},
    {{MCP_ERA_MODERN, false}, BY_LEAVING}, {{MCP_ERA_LEGACY, false}, BY_LEAVING},
};

/* clang-format off */
#define IN_EACH_WAY(fn)                               \
    TEST_AS("modern.canceled." #fn, fn, &ways[0]),    \
    TEST_AS("legacy.canceled." #fn, fn, &ways[1]),    \
    TEST_AS("modern.timed_out." #fn, fn, &ways[2]),   \
    TEST_AS("legacy.timed_out." #fn, fn, &ways[3]),   \
    TEST_AS("modern.left." #fn, fn, &ways[4]),        \
    TEST_AS("legacy.left." #fn, fn, &ways[5])
/* clang-format on */

static void
make_file(char name[64])
{
    int fd;

    (void)snprintf(name, 64, "/tmp/holding-test-XXXXXX");
    fd = mkstemp(name);
    assert_true(fd >= 0);
    close(fd);
}

static void
holding_open(struct holding *h, void **state)
{
    static struct way plain = {{MCP_ERA_MODERN, false}, BY_CANCEL};
    const struct way *way = *state ? *state : &plain;

    h->how = way->how;
    make_file(h->file);
    program_open(&h->program, &way->cell, h->file);
}

static void
holding_close(struct holding *h)
{
    program_close(&h->program);
    unlink(h->file);
}

/* The server has heard of all calls before, for it answers one that came after them. */
static void
expect_heard(struct holding *h)
{
    char file[64];

    make_file(file);
    program_expect(&h->program, "locked",
                   text_of("{\"file\":\"%s\",\"seconds\":0}", file), false, "done");
    unlink(file);
}

/* ---- a connection --------------------------------------------------------------- */

struct site {
    int listener, fd;
    char arguments[128]; /* for fetch */
};

static void
site_open(struct site *site)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    site->fd = -1;
    site->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(site->listener, (struct sockaddr *)&address, length), 0);
    assert_int_equal(listen(site->listener, 8), 0);
    assert_int_equal(getsockname(site->listener, (struct sockaddr *)&address, &length),
                     0);
    (void)snprintf(site->arguments, sizeof(site->arguments),
                   "{\"url\":\"http://127.0.0.1:%d/\"}", ntohs(address.sin_port));
}

static void
site_close(struct site *site)
{
    close(site->fd);
    close(site->listener);
}

/* Take a request, and answer it with this. */
static void
site_answer(struct site *site, const char *answer)
{
    struct pollfd ready = {.fd = site->listener, .events = POLLIN};
    char request[4096];

    assert_int_equal(poll(&ready, 1, AWAIT_MS), 1);
    site->fd = accept(site->listener, NULL, NULL);
    assert_true(site->fd >= 0);
    ready.fd = site->fd;
    assert_int_equal(poll(&ready, 1, AWAIT_MS), 1);
    assert_true(read(site->fd, request, sizeof(request)) > 0);
    assert_int_equal(write(site->fd, answer, strlen(answer)), (ssize_t)strlen(answer));
}

/* The other side has closed. */
static void
site_expect_end(struct site *site)
{
    struct pollfd ready = {.fd = site->fd, .events = POLLIN};
    char byte;

    assert_int_equal(poll(&ready, 1, AWAIT_MS), 1);
    assert_true(read(site->fd, &byte, 1) <= 0);
}

static void
fetch_starts(struct holding *h, const char *arguments)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = program_time(
                                                      &h->program, h->how));

    assert_int_equal(mcp_client_start_tool(h->program.client, "fetch", arguments, &opt,
                                           NULL, NULL, &h->program.call),
                     0);
}

static void
F3_a_transfer_under_way_is_aborted(void **state)
{
    struct holding h;
    struct site site;

    holding_open(&h, state);
    site_open(&site);
    fetch_starts(&h, site.arguments);
    site_answer(&site, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nthe beginning");
    program_end(&h.program, h.how);
    site_expect_end(&site);
    site_close(&site);
    holding_close(&h);
}

static void
F3_so_is_one_that_nobody_answers(void **state)
{
    struct holding h;
    struct site site;

    holding_open(&h, state);
    site_open(&site);
    fetch_starts(&h, site.arguments);
    site_answer(&site, "");
    program_end(&h.program, h.how);
    site_expect_end(&site);
    site_close(&site);
    holding_close(&h);
}

static void
fetch_ends_as(struct holding *h, struct site *site, const char *answer,
              const char *said)
{
    mcp_reply *reply;

    fetch_starts(h, site->arguments);
    site_answer(site, answer);
    close(site->fd);
    site->fd = -1;
    assert_int_equal(mcp_call_wait(h->program.call, AWAIT_MS, &reply, NULL), 0);
    mcp_call_free(h->program.call);
    h->program.call = NULL;
    if (said)
        assert_true(reply_says(reply, said));
    else
        assert_string_equal(
            mcp_json_string(
                mcp_json_get(mcp_json_at(mcp_reply_content(reply), 0), "type"), ""),
            "resource");
    mcp_reply_free(reply);
}

static void
a_transfer_gives_what_was_there(void **state)
{
    static char large[(1 << 20) + 100];
    struct holding h;
    struct site site;

    holding_open(&h, state);
    site_open(&site);
    fetch_ends_as(&h, &site, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
                  "hello");
    fetch_ends_as(&h, &site, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n\xff\xfe",
                  NULL);
    fetch_ends_as(&h, &site, "HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n",
                  "status 404");
    fetch_ends_as(
        &h, &site,
        "HTTP/1.1 302 Found\r\nLocation: /else\r\nContent-Length: 2\r\n\r\nhi",
        "status 302");
    memset(large, 'x', sizeof(large) - 1);
    memcpy(large, "HTTP/1.1 200 OK\r\n\r\n", 19);
    fetch_ends_as(&h, &site, large, "more than 1048576 bytes");
    program_expect(&h.program, "fetch", "{\"url\":\"file:///etc/passwd\"}", true,
                   "Unsupported protocol");
    site_close(&site);
    holding_close(&h);
}

/* ---- a transaction -------------------------------------------------------------- */

static int64_t
balance(const struct holding *h, const char *name)
{
    sqlite3_stmt *statement;
    sqlite3 *database;
    int64_t amount;

    assert_int_equal(sqlite3_open(h->file, &database), SQLITE_OK);
    assert_int_equal(sqlite3_busy_timeout(database, AWAIT_MS), SQLITE_OK);
    assert_int_equal(sqlite3_prepare_v2(database,
                                        "SELECT balance FROM accounts WHERE name = ?",
                                        -1, &statement, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC), 0);
    assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
    amount = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return amount;
}

/* Nobody has begun to write: somebody else can. */
static bool
is_free(void *user)
{
    const struct holding *h = user;
    sqlite3 *database;
    bool begun;

    assert_int_equal(sqlite3_open(h->file, &database), SQLITE_OK);
    begun = sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_close(database);
    return begun;
}

#define SLOWLY "{\"from\":\"ann\",\"to\":\"bob\",\"amount\":900,\"pause_ms\":400}"

static void
F3_a_transaction_is_rolled_back(void **state)
{
    struct holding h;

    holding_open(&h, state);
    program_begin(&h.program, h.how, "transfer", SLOWLY);
    assert_false(is_free(&h));
    program_end(&h.program, h.how);
    wait_until(is_free, &h);
    assert_int_equal(balance(&h, "ann"), 1000);
    assert_int_equal(balance(&h, "bob"), 1000);
    if (h.how != BY_LEAVING)
        program_expect(&h.program, "transfer",
                       "{\"from\":\"bob\",\"to\":\"ann\",\"amount\":3}", false,
                       "moved 3");
    holding_close(&h);
}

static void
F3_who_waits_for_a_transaction_is_told_too(void **state)
{
    struct holding h;
    sqlite3 *database;
    mcp_call *call;

    holding_open(&h, state);
    assert_int_equal(sqlite3_open(h.file, &database), SQLITE_OK);
    assert_int_equal(sqlite3_exec(database, "BEGIN IMMEDIATE", NULL, NULL, NULL), 0);
    assert_int_equal(mcp_client_start_tool(h.program.client, "transfer", SLOWLY, NULL,
                                           NULL, NULL, &call),
                     0);
    expect_heard(&h);
    assert_int_equal(mcp_call_wait(call, 0, NULL, NULL), MCP_E_AGAIN);
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    mcp_call_free(call);
    assert_int_equal(sqlite3_exec(database, "ROLLBACK", NULL, NULL, NULL), 0);
    sqlite3_close(database);
    program_expect(&h.program, "transfer",
                   "{\"from\":\"ann\",\"to\":\"bob\",\"amount\":7}", false, "moved 7");
    assert_int_equal(balance(&h, "ann"), 993);
    assert_int_equal(balance(&h, "bob"), 1007);
    holding_close(&h);
}

static void
what_cannot_be_moved_is_not(void **state)
{
    struct holding h;

    holding_open(&h, state);
    program_expect(&h.program, "transfer",
                   "{\"from\":\"ann\",\"to\":\"bob\",\"amount\":1001}", true,
                   "CHECK constraint");
    program_expect(&h.program, "transfer",
                   "{\"from\":\"ann\",\"to\":\"nobody\",\"amount\":1}", true,
                   "no such account");
    assert_int_equal(balance(&h, "ann"), 1000);
    holding_close(&h);
}

/* ---- a lock --------------------------------------------------------------------- */

static bool
can_lock(void *user)
{
    int fd = open(user, O_RDONLY | O_CLOEXEC);
    bool locked;

    assert_true(fd >= 0);
    locked = flock(fd, LOCK_EX | LOCK_NB) == 0;
    close(fd);
    return locked;
}

static void
F3_a_lock_is_free_for_others(void **state)
{
    struct holding h;
    char file[64];

    make_file(file);
    holding_open(&h, state);
    program_begin(&h.program, h.how, "locked",
                  text_of("{\"file\":\"%s\",\"seconds\":300}", file));
    assert_false(can_lock(file));
    program_end(&h.program, h.how);
    wait_until(can_lock, file);
    holding_close(&h);
    unlink(file);
}

static void
F3_who_waits_for_a_lock_is_told_too(void **state)
{
    mcp_call *waiting;
    struct holding h;
    char file[64];

    make_file(file);
    holding_open(&h, state);
    program_begin(&h.program, BY_CANCEL, "locked",
                  text_of("{\"file\":\"%s\",\"seconds\":300}", file));
    assert_int_equal(
        mcp_client_start_tool(h.program.client, "locked",
                              text_of("{\"file\":\"%s\",\"seconds\":300}", file), NULL,
                              NULL, NULL, &waiting),
        0);
    expect_heard(&h);
    assert_int_equal(mcp_call_wait(waiting, 0, NULL, NULL), MCP_E_AGAIN);
    assert_int_equal(mcp_call_cancel(waiting, NULL), 0);
    assert_int_equal(mcp_call_wait(waiting, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    mcp_call_free(waiting);
    assert_false(can_lock(file));
    program_end(&h.program, BY_CANCEL);
    program_expect(&h.program, "locked",
                   text_of("{\"file\":\"%s\",\"seconds\":0}", file), false, "done");
    assert_true(can_lock(file));
    holding_close(&h);
    unlink(file);
}

TEST_MAIN(IN_EACH_WAY(F3_a_transfer_under_way_is_aborted),
          TEST(F3_so_is_one_that_nobody_answers), TEST(a_transfer_gives_what_was_there),
          IN_EACH_WAY(F3_a_transaction_is_rolled_back),
          TEST(F3_who_waits_for_a_transaction_is_told_too),
          TEST(what_cannot_be_moved_is_not), IN_EACH_WAY(F3_a_lock_is_free_for_others),
          TEST(F3_who_waits_for_a_lock_is_told_too))
