/* http_service_test.c - an endpoint on each of some branches of a server */
#include "api/http_service.h"

#include <fcntl.h>

#include "api/raw_client.h"
#include "link/http_listener.h"
#include "support/http_raw.h"

static int
say(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_text(out, "said");
}

static struct mcpi_http_settings *
settings_of(struct raw *raw, mcp_http_options opt)
{
    struct mcpi_http_settings *settings;

    assert_int_equal(
        mcpi_http_settings_new(&raw->mem->allocator, &opt, &settings, NULL), 0);
    return settings;
}

static int
socket_on(int *port)
{
    mcp_error err = {0};
    bool loopback;
    int fd;

    if (mcpi_http_listen("127.0.0.1", port, MCPI_HTTP_ALONE, &fd, &loopback, &err) < 0)
        fail_msg("%s", err.message);
    return fd;
}

static void
start(struct raw *raw)
{
    raw_make(raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(raw, MCP_TOOL(.name = "say", .reply = say));
    assert_int_equal(mcp_server_start(raw->server, NULL), 0);
}

static bool
is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* ---- sockets ------------------------------------------------------------ */

static void
each_shard_serves_its_socket(void **state)
{
    struct mcpi_http_service_options opt = {.shards = 3, .loopback = true};
    struct http_raw h;
    struct raw raw;
    int fds[3], ports[3] = {0};

    (void)state;
    start(&raw);
    opt.server = raw.server;
    opt.settings = settings_of(&raw, MCP_HTTP_OPTIONS(.port = 0));
    opt.take_fds = fds;
    for (int i = 0; i < 3; i++)
        fds[i] = socket_on(&ports[i]); /* so we know who is who */
    assert_int_equal(mcpi_http_service_open(&opt, NULL, NULL), 0);
    mcpi_http_settings_unref(opt.settings); /* it has its own reference */
    for (unsigned i = 0; i < 3; i++) {
        const struct mcpi_tally *tally = &mcpi_server_branch(raw.server, i)->host.tally;

        http_open(&h, ports[i], NULL);
        http_call(&h, &HTTP_CALL(.tool = "say"));
        assert_int_equal(http_answer(&h), 200);
        assert_int_equal(atomic_load(&tally->answered), 1); /* here, not elsewhere */
        assert_int_equal(atomic_load(&tally->connections), 1);
        http_close(&h);
        RAW_UNTIL(atomic_load(&tally->connections) == 0);
    }
    raw_done(&raw);
}

static void
a_shard_that_cannot_be_opened_is_logged_and_the_others_serve(void **state)
{
    struct mcpi_http_service_options opt = {.shards = 2, .loopback = true};
    struct http_raw h;
    struct raw raw;
    int fds[2], port = 0;

    (void)state;
    start(&raw);
    opt.server = raw.server;
    opt.settings = settings_of(&raw, MCP_HTTP_OPTIONS(.port = 0));
    opt.take_fds = fds;
    fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    fds[1] = socket_on(&port);
    assert_int_equal(mcpi_http_service_open(&opt, NULL, NULL), 0);
    mcpi_http_settings_unref(opt.settings);
    RAW_UNTIL(raw_logged(&raw, "HTTP cannot be served"));
    http_open(&h, port, NULL);
    http_call(&h, &HTTP_CALL(.tool = "say"));
    assert_int_equal(http_answer(&h), 200);
    http_close(&h);
    raw_done(&raw);
}

static void
what_comes_too_late_is_closed(void **state)
{
    struct mcpi_http_service_options opt = {.shards = 1};
    struct mcpi_mount *mount = NULL;
    struct raw raw;
    int fd, port = 0;

    (void)state;
    start(&raw);
    opt.server = raw.server;
    opt.settings = settings_of(&raw, MCP_HTTP_OPTIONS(.port = 0));
    opt.take_fds = &fd;
    fd = socket_on(&port);
    mcp_server_stop(raw.server);
    RAW_UNTIL(atomic_load(&raw.server->stopped));
    opt.shards = 2; /* no new branch: nothing is taken */
    assert_int_equal(mcpi_http_service_open(&opt, NULL, NULL), MCP_E_CLOSED);
    assert_true(is_open(fd));
    opt.shards = 1; /* the trunk is there, and closes it */
    assert_int_equal(mcpi_http_service_open(&opt, &mount, NULL), 0);
    mcpi_http_settings_unref(opt.settings);
    mcp_server_free(raw.server);
    assert_false(is_open(fd));
    mcpi_mount_unref(mount); /* outlives the server */
    test_mem_done(raw.mem);
}

/* ---- without sockets ---------------------------------------------------- */

struct answer {
    atomic_int status;
    atomic_bool over;
    char body[512];
};

static void
on_begin(void *user, int status, const mcp_http_field *fields, size_t field_count,
         const char *body, size_t length, bool last)
{
    struct answer *answer = user;

    (void)fields;
    (void)field_count;
    assert_true(length < sizeof(answer->body));
    memcpy(answer->body, body, length);
    atomic_store(&answer->status, status);
    atomic_store(&answer->over, last);
}

static void
on_more(void *user, const char *body, size_t length, bool last)
{
    (void)user;
    (void)body;
    (void)length;
    (void)last;
    fail_msg("one piece was enough");
}

static void
on_abort(void *user)
{
    struct answer *answer = user;

    atomic_store(&answer->over, true);
}

static const mcp_http_turn_ops answer_ops = {
    .size = sizeof(answer_ops), .begin = on_begin, .more = on_more, .abort = on_abort};

static void
the_mount_leads_to_the_first_shard(void **state)
{
    static const mcp_http_field fields[] = {
        {"Host", "localhost"},
        {"Content-Type", "application/json"},
        {"Accept", "application/json, text/event-stream"},
        {"MCP-Protocol-Version", "2026-07-28"},
        {"Mcp-Method", "tools/call"},
        {"Mcp-Name", "say"}};
    static const char body[] = REQUEST("1", "tools/call",
                                       "{\"name\":\"say\"," STAMP "}");
    const struct mcpi_http_in in = {.method = MCPI_HTTP_POST,
                                    .method_name = "POST",
                                    .target = "/mcp",
                                    .path_len = 4,
                                    .fields = fields,
                                    .field_count = sizeof(fields) / sizeof(fields[0]),
                                    .body = body,
                                    .body_len = sizeof(body) - 1};
    struct mcpi_http_service_options opt = {.shards = 1};
    struct answer answer = {.body = ""};
    mcp_http_turn *turn;
    struct mcpi_mount *mount;
    struct raw raw;

    (void)state;
    start(&raw);
    opt.server = raw.server;
    opt.settings = settings_of(&raw, MCP_HTTP_OPTIONS(.port = 0));
    assert_int_equal(mcpi_http_service_open(&opt, &mount, NULL), 0);
    mcpi_http_settings_unref(opt.settings);
    assert_int_equal(mcpi_mount_serve(mount, &in, &answer_ops, &answer, &turn), 0);
    RAW_UNTIL(atomic_load(&answer.over));
    assert_int_equal(atomic_load(&answer.status), 200);
    assert_non_null(strstr(answer.body, "said"));
    mcpi_mount_turn_free(turn);
    mcp_server_free(raw.server);
    assert_int_equal(mcpi_mount_serve(mount, &in, &answer_ops, &answer, &turn),
                     MCP_E_CLOSED);
    mcpi_mount_unref(mount);
    test_mem_done(raw.mem);
}

TEST_MAIN(TEST(each_shard_serves_its_socket),
          TEST(a_shard_that_cannot_be_opened_is_logged_and_the_others_serve),
          TEST(what_comes_too_late_is_closed), TEST(the_mount_leads_to_the_first_shard))
