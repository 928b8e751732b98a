/* client_open_test.c - the ways to open a client, and what is left when one fails */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "api/client.h"
#include "api/client_fixture.h"
#include "base/text.h"

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

static void
a_stored_discovery_saves_the_question(void **state)
{
    struct fixture f, g;
    const char *stored;

    fixture_open(&f, state);
    stored = mcp_client_discovery(f.client);
    assert_ptr_equal(mcp_client_discovery(f.client), stored);
    fixture_prepare(&g, MCP_ERA_MODERN);
    g.client = script_client(
        &g.s, &SCRIPT_OPTIONS(.allocator = &g.mem.allocator, .discovery = stored));
    assert_string_equal(mcp_client_instructions(g.client), "be kind");
    assert_true(mcp_json_is_string(
        mcp_json_get(mcp_client_server_info(g.client), "name"), "script"));
    assert_non_null(mcp_json_get(mcp_client_server_capabilities(g.client), "tools"));
    assert_string_equal(mcp_client_discovery(g.client), stored);
    assert_int_equal(mcp_client_call_tool(g.client, "echo", NULL, NULL, NULL, NULL), 0);
    assert_int_equal(script_count(&g.s, ""), 1);
    fixture_close(&g);
    fixture_close(&f);
}

static int
attach(struct fixture *f, const mcp_client_options *opt, mcp_error *err)
{
    return mcp_client_attach(f->s.give_fd, f->s.give_fd, opt, &f->client, err);
}

static void
a_discovery_that_is_none_is_refused(void **state)
{
    struct fixture f;
    mcp_error err;

    (void)state;
    fixture_prepare(&f, MCP_ERA_MODERN);
    assert_int_equal(attach(&f, &SCRIPT_OPTIONS(.discovery = "{"), &err), MCP_E_INVAL);
    assert_string_equal(err.message, "discovery: not valid JSON");
    assert_int_equal(attach(&f, &SCRIPT_OPTIONS(.discovery = "{}"), &err), MCP_E_PROTO);
    assert_string_equal(err.message, "discovery: names no version that we speak");
    assert_int_equal(fcntl(f.s.give_fd, F_GETFD) >= 0, true); /* still the caller's */
    fixture_close(&f);
}

static void
descriptors_are_taken_on_success_only(void **state)
{
    struct fixture f, g;
    mcp_error err;
    int fd;

    (void)state;
    fixture_prepare(&f, MCP_ERA_MODERN);
    script_ignore(&f.s, true);
    assert_int_equal(attach(&f, &SCRIPT_OPTIONS(.probe_ms = 20, .hello_ms = 20), &err),
                     MCP_E_TIMEOUT);
    assert_string_equal(err.message, "the server did not answer in time");
    assert_true(fcntl(f.s.give_fd, F_GETFD) >= 0); /* still the caller's to close */
    fixture_prepare(&g, MCP_ERA_MODERN);
    fd = g.s.give_fd;
    g.client = script_client(&g.s, &SCRIPT_OPTIONS());
    assert_true(fcntl(fd, F_GETFD) < 0 && errno == EBADF);
    assert_int_equal(mcp_client_attach(fd, fd, &SCRIPT_OPTIONS(), &f.client, &err),
                     MCP_E_INVAL);
    fixture_close(&g);
    fixture_close(&f);
}

static void
options_that_are_none_are_refused(void **state)
{
    mcp_client_options wrong = SCRIPT_OPTIONS();
    struct fixture f;
    mcp_error err;

    (void)state;
    fixture_prepare(&f, MCP_ERA_MODERN);
    assert_int_equal(attach(&f, NULL, &err), MCP_E_INVAL);
    assert_int_equal(attach(&f, &MCP_CLIENT_OPTIONS(.name = "x"), &err), MCP_E_INVAL);
    assert_int_equal(attach(&f, &SCRIPT_OPTIONS(.timeout_ms = -1), &err), MCP_E_INVAL);
    assert_string_equal(err.message, "a time must not be negative");
    assert_int_equal(attach(&f, &SCRIPT_OPTIONS(.era = (enum mcp_era)7), &err),
                     MCP_E_INVAL);
    wrong.size = 3;
    assert_int_equal(attach(&f, &wrong, &err), MCP_E_INVAL);
    assert_int_equal(mcp_client_attach(0, 0, &SCRIPT_OPTIONS(), NULL, &err),
                     MCP_E_INVAL);
    assert_int_equal(mcp_client_spawn(NULL, &SCRIPT_OPTIONS(), NULL, &err),
                     MCP_E_INVAL);
    assert_int_equal(mcp_client_connect_unix(NULL, &SCRIPT_OPTIONS(), &f.client, &err),
                     MCP_E_INVAL);
    assert_int_equal(mcp_client_attach_server(NULL, &SCRIPT_OPTIONS(), &f.client, &err),
                     MCP_E_INVAL);
    fixture_close(&f);
}

/* An abstract Unix socket that listens; its name goes into path. */
static int
listen_somewhere(char path[32])
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int len = snprintf(path, 32, "@libmcp-test-%ld", (long)getpid());

    memcpy(address.sun_path + 1, path + 1, (size_t)len - 1);
    assert_int_equal(
        bind(fd, (struct sockaddr *)&address,
             (socklen_t)(offsetof(struct sockaddr_un, sun_path) + (size_t)len)),
        0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

static void
a_client_connects_to_a_unix_socket(void **state)
{
    struct test_mem mem;
    struct told told;
    struct script s;
    mcp_client *client;
    char path[32];
    int fd = listen_somewhere(path);

    (void)state;
    test_mem_init(&mem);
    told_init(&told);
    assert_int_equal(mcp_client_connect_unix(
                         path,
                         &SCRIPT_OPTIONS(.allocator = &mem.allocator, .no_wait = true,
                                         .on_state = told_state, .user = &told),
                         &client, NULL),
                     0);
    assert_int_equal(mcp_client_opening(client, NULL), MCP_E_AGAIN);
    script_open_on(&s, MCP_ERA_LEGACY, accept(fd, NULL, NULL), -1);
    told_await(&told, states, 1);
    assert_int_equal(mcp_client_opening(client, NULL), 0);
    assert_int_equal(mcp_client_call_tool(client, "echo", NULL, NULL, NULL, NULL), 0);
    mcp_client_free(client);
    script_close(&s);
    close(fd);
    assert_int_equal(mcp_client_connect_unix(path, &SCRIPT_OPTIONS(), &client, NULL),
                     MCP_E_CLOSED);
    told_clear(&told);
    test_mem_done(&mem);
}

struct said { /* lines of the log, while it opens */
    atomic_int rubbish;
};

static void
on_line(void *user, enum mcp_log_level level, const char *line)
{
    struct said *said = user;

    if (level == MCP_LOG_WARNING && strstr(line, "not a message"))
        atomic_fetch_add(&said->rubbish, 1);
}

static void
what_goes_wrong_before_it_is_ready_is_logged(void **state)
{
    struct said said = {.rubbish = 0};
    struct fixture f;

    fixture_prepare(&f, *(enum mcp_era *)*state);
    script_say(&f.s, "Listening on port 8080"); /* there before the first answer */
    f.client = script_client(&f.s,
                             &SCRIPT_OPTIONS(.allocator = &f.mem.allocator,
                                             .on_log = on_line, .log_user = &said));
    assert_int_equal(atomic_load(&said.rubbish), 1);
    assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL, NULL, NULL, NULL), 0);
    fixture_close(&f);
}

static void
a_failed_opening_that_waited_tells_no_state(void **state)
{
    static const char *const command[] = {"false", NULL};
    mcp_client *client;
    struct test_mem mem;
    struct told told;
    int i;

    (void)state;
    test_mem_init(&mem);
    told_init(&told);
    for (i = 0; i < 20; i++)
        assert_int_equal(
            mcp_client_spawn(command,
                             &SCRIPT_OPTIONS(.allocator = &mem.allocator,
                                             .callbacks_on_loop = i % 2,
                                             .on_state = told_state, .user = &told),
                             &client, NULL),
            MCP_E_CLOSED);
    assert_int_equal(told_count(&told, states), 0);
    told_clear(&told);
    test_mem_done(&mem);
}

/* ---- a way that is made elsewhere ----------------------------------------- */

/* Over a descriptor; another library would have something of its own here. */
struct elsewhere {
    struct mcpi_way way;
    int fd;
    struct mcpi_loop *loop;
    struct mcpi_stream *stream;
    struct mcpi_flush closing;
    int opens, frees;
};

/* Later than the link says so: others may have something on the stack. */
static void
elsewhere_end(struct mcpi_flush *flush)
{
    struct elsewhere *e = MCPI_CONTAINER(flush, struct elsewhere, closing);

    mcpi_stream_free(e->stream);
    e->stream = NULL;
    e->way.closed(e->way.user);
}

static void
elsewhere_closed(void *user, struct mcpi_stream *stream)
{
    struct elsewhere *e = user;

    (void)stream;
    mcpi_loop_flush(e->loop, &e->closing);
}

static int
elsewhere_open(struct mcpi_way *way, const struct mcpi_ground *ground,
               struct mcpi_peer **ret_peer, mcp_error *err)
{
    struct elsewhere *e = MCPI_CONTAINER(way, struct elsewhere, way);
    const struct mcpi_stream_options opt = {.loop = ground->loop,
                                            .engine = ground->engine,
                                            .take_in = e->fd,
                                            .take_out = e->fd,
                                            .closed = elsewhere_closed,
                                            .user = e};

    e->opens++;
    e->loop = ground->loop;
    assert_non_null(ground->mirrors);
    if (e->fd < 0 || mcpi_stream_new(&opt, &e->stream) < 0)
        return mcpi_error_set(err, MCP_E_SEND_FAILED, "the way is blocked");
    e->fd = -1;
    *ret_peer = mcpi_stream_peer(e->stream);
    return 0;
}

static void
elsewhere_free(struct mcpi_way *way)
{
    struct elsewhere *e = MCPI_CONTAINER(way, struct elsewhere, way);

    assert_null(e->stream);
    e->frees++;
    if (e->fd >= 0)
        close(e->fd);
    e->fd = -1;
}

static void
elsewhere_init(struct elsewhere *e, int take_fd)
{
    *e = (struct elsewhere){.way = {.open = elsewhere_open, .free = elsewhere_free},
                            .fd = take_fd};
    mcpi_flush_init(&e->closing, elsewhere_end);
}

static void
a_client_goes_a_way_that_was_made_elsewhere(void **state)
{
    struct elsewhere e;
    struct fixture f;

    fixture_prepare(&f, *(enum mcp_era *)*state);
    elsewhere_init(&e, script_give(&f.s));
    assert_int_equal(mcpi_client_open_by(&e.way,
                                         &SCRIPT_OPTIONS(.allocator = &f.mem.allocator),
                                         &f.client, NULL),
                     0);
    assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL, NULL, NULL, NULL), 0);
    assert_int_equal(mcp_client_pid(f.client), 0);
    assert_int_equal(e.frees, 0);
    mcp_client_free(f.client);
    f.client = NULL;
    assert_int_equal(e.opens, 1);
    assert_int_equal(e.frees, 1);
    fixture_close(&f);
}

static void
a_server_that_leaves_ends_the_way(void **state)
{
    struct elsewhere e;
    struct fixture f;

    fixture_prepare(&f, *(enum mcp_era *)*state);
    elsewhere_init(&e, script_give(&f.s));
    assert_int_equal(
        mcpi_client_open_by(&e.way,
                            &SCRIPT_OPTIONS(.allocator = &f.mem.allocator,
                                            .on_state = told_state, .user = &f.told),
                            &f.client, NULL),
        0);
    script_leave(&f.s);
    told_await(&f.told, states, 2);
    assert_int_equal(told_status(&f.told), MCP_E_CLOSED);
    assert_int_equal(e.frees, 0); /* with its client */
    mcp_client_free(f.client);
    f.client = NULL;
    assert_int_equal(e.frees, 1);
    fixture_close(&f);
}

static void
a_way_is_freed_whatever_fails(void **state)
{
    struct elsewhere e;
    struct fixture f;
    mcp_error err;

    (void)state;
    fixture_prepare(&f, MCP_ERA_MODERN);
    elsewhere_init(&e, -1);
    assert_int_equal(mcpi_client_open_by(&e.way, NULL, &f.client, &err), MCP_E_INVAL);
    assert_int_equal(e.opens, 0);
    assert_int_equal(e.frees, 1);
    assert_int_equal(mcpi_client_open_by(&e.way, &SCRIPT_OPTIONS(), &f.client, &err),
                     MCP_E_SEND_FAILED);
    assert_string_equal(err.message, "the way is blocked");
    assert_int_equal(e.opens, 1);
    assert_int_equal(e.frees, 2);
    fixture_close(&f);
}

static void
what_cannot_be_resumed_is_not_sent_anew(void **state)
{
    const mcp_call_options again = MCP_CALL_OPTIONS(.resume = "event-7");
    struct fixture f;
    mcp_error err;

    fixture_open(&f, state);
    assert_int_equal(mcp_client_call_tool(f.client, "echo", NULL, &again, NULL, &err),
                     MCP_E_STATE);
    assert_string_equal(err.message,
                        "resume: nothing can be taken up again on this link");
    assert_int_equal(script_count(&f.s, "tools/call"), 0);
    fixture_close(&f);
}

/* ---- memory ---------------------------------------------------------------- */

static void
open_once(struct test_mem *mem, void *user)
{
    mcp_client *client = NULL;
    struct told told;
    struct script s;
    mcp_error err;
    int r;

    told_init(&told);
    script_open(&s, *(enum mcp_era *)user);
    r = mcp_client_attach(s.give_fd, s.give_fd,
                          &SCRIPT_OPTIONS(.allocator = &mem->allocator,
                                          .on_state = told_state, .user = &told),
                          &client, &err);
    if (r == 0)
        s.give_fd = -1;
    else
        assert_true(err.status == r &&
                    (r == MCP_E_NOMEM || r == MCP_E_CLOSED || r == MCP_E_LIMIT));
    mcp_client_free(client);
    script_close(&s);
    told_clear(&told);
}

static void
each_allocation_of_an_opening_may_fail(void **state)
{
    assert_in_range(test_each_allocation_fails(open_once, *state), 10, 200);
}

#define IN_BOTH_ERAS(test) \
    TEST_AS("modern." #test, test, &modern), TEST_AS("legacy." #test, test, &legacy)

TEST_MAIN(TEST(a_stored_discovery_saves_the_question),
          TEST(a_discovery_that_is_none_is_refused),
          TEST(descriptors_are_taken_on_success_only),
          TEST(options_that_are_none_are_refused),
          TEST(a_client_connects_to_a_unix_socket),
          IN_BOTH_ERAS(what_goes_wrong_before_it_is_ready_is_logged),
          TEST(a_failed_opening_that_waited_tells_no_state),
          IN_BOTH_ERAS(a_client_goes_a_way_that_was_made_elsewhere),
          IN_BOTH_ERAS(a_server_that_leaves_ends_the_way),
          TEST(a_way_is_freed_whatever_fails),
          IN_BOTH_ERAS(what_cannot_be_resumed_is_not_sent_anew),
          IN_BOTH_ERAS(each_allocation_of_an_opening_may_fail))
