/* http_mount_test.c - a server inside another HTTP server */
#include <mcp/http.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "api/server.h"
#include "run/loop.h"
#include "support/messages.h"
#include "support/test.h"
#include "support/virtual_clock.h"

#define CALL(name) REQUEST("7", "tools/call", "{\"name\":\"" name "\"," STAMP "}")

struct rig {
    struct test_mem mem;
    mcp_server *server;
    mcp_http_mount *mount;
    atomic_int running, canceled;
};

/* One request and what it was answered. */
struct talk {
    mcp_http_turn *turn;
    char text[4096];
    size_t len;
    int status, aborts;
    char session[128];
    atomic_bool over;
};

static void
nap(void)
{
    const struct timespec little = {.tv_nsec = 200000};

    (void)nanosleep(&little, NULL);
}

#define WAIT(condition)                               \
    do {                                              \
        int64_t until = mcpi_loop_clock() + AWAIT_US; \
                                                      \
        while (!(condition)) {                        \
            assert_true(mcpi_loop_clock() < until);   \
            nap();                                    \
        }                                             \
    } while (0)

/* ---- the program's HTTP server ------------------------------------------- */

static void
on_more(void *user, const char *body, size_t length, bool last)
{
    struct talk *t = user;

    assert_true(t->len + length < sizeof(t->text));
    memcpy(t->text + t->len, body, length);
    t->len += length;
    if (last)
        atomic_store(&t->over, true);
}

static void
on_begin(void *user, int status, const mcp_http_field *fields, size_t field_count,
         const char *body, size_t length, bool last)
{
    struct talk *t = user;

    if (status != 202) {
        assert_true(field_count > 0);
        assert_string_equal(fields[0].name, "Content-Type");
    }
    t->status = status;
    for (size_t i = 0; i < field_count; i++)
        if (strcasecmp(fields[i].name, "Mcp-Session-Id") == 0)
            (void)snprintf(t->session, sizeof(t->session), "%s", fields[i].value);
    on_more(user, body, length, last);
}

static void
on_abort(void *user)
{
    struct talk *t = user;

    t->aborts++;
    atomic_store(&t->over, true);
}

static const mcp_http_turn_ops ops = {.size = sizeof(mcp_http_turn_ops),
                                      .begin = on_begin,
                                      .more = on_more,
                                      .abort = on_abort};

static mcp_http_request
request_for(const char *name, const char *body)
{
    static _Thread_local mcp_http_field fields[2][6];
    mcp_http_field *mine = fields[strcmp(name, "hang") == 0];

    mine[0] = (mcp_http_field){"host", "whatever.example"};
    mine[1] = (mcp_http_field){"content-type", "application/json"};
    mine[2] = (mcp_http_field){"accept", "application/json, text/event-stream"};
    mine[3] = (mcp_http_field){"mcp-protocol-version", "2026-07-28"};
    mine[4] = (mcp_http_field){"mcp-method", "tools/call"};
    mine[5] = (mcp_http_field){"mcp-name", name};
    return MCP_HTTP_REQUEST(.method = "POST", .target = "/mcp", .fields = mine,
                            .field_count = 6, .body = body,
                            .body_length = strlen(body));
}

static int
talk_begin(struct talk *t, struct rig *rig, const char *name)
{
    mcp_http_request request = request_for(
        name, strcmp(name, "hang") == 0 ? CALL("hang") : CALL("echo"));

    memset(t, 0, sizeof(*t));
    return mcp_http_serve(rig->mount, &request, &ops, t, &t->turn);
}

/* ---- the server ---------------------------------------------------------- */

static int
echo(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_text(out, "hello");
}

static int
hang(mcp_request *req, mcp_result *out, void *user)
{
    struct rig *rig = user;
    int r;

    (void)out;
    atomic_fetch_add(&rig->running, 1);
    r = mcp_request_sleep(req, 60000);
    atomic_fetch_add(&rig->canceled, r == MCP_E_CANCELED);
    atomic_fetch_sub(&rig->running, 1);
    return r;
}

static void
rig_make_with(struct rig *rig, mcp_server_options opt)
{
    mcp_error err;

    memset(rig, 0, sizeof(*rig));
    test_mem_init(&rig->mem);
    opt.name = "mounted";
    opt.version = "1";
    opt.allocator = &rig->mem.allocator;
    assert_int_equal(mcp_server_new(&opt, &rig->server, &err), 0);
    assert_int_equal(mcp_server_add_tool(
                         rig->server, &MCP_TOOL(.name = "echo", .reply = echo), &err),
                     0);
    assert_int_equal(
        mcp_server_add_tool(rig->server,
                            &MCP_TOOL(.name = "hang", .run = hang, .user = rig), &err),
        0);
    assert_int_equal(mcp_http_mount_new(rig->server, NULL, &rig->mount, &err), 0);
}

static void
rig_make(struct rig *rig, mcp_loop *loop)
{
    rig_make_with(rig,
                  MCP_SERVER_OPTIONS(.loop = loop, .stop_ms = 60000, .drain_ms = 20));
}

static void
rig_start(struct rig *rig)
{
    rig_make(rig, NULL);
    assert_int_equal(mcp_server_start(rig->server, NULL), 0);
}

static void
rig_done(struct rig *rig)
{
    mcp_server_free(rig->server);
    mcp_http_mount_free(rig->mount);
    test_mem_done(&rig->mem);
}

/* ---- tests --------------------------------------------------------------- */

static void
a_request_is_answered(void **state)
{
    struct rig rig;
    struct talk t;

    (void)state;
    rig_start(&rig);
    assert_int_equal(talk_begin(&t, &rig, "echo"), 0);
    WAIT(atomic_load(&t.over));
    assert_int_equal(t.status, 200);
    assert_non_null(strstr(t.text, "hello"));
    mcp_http_turn_free(t.turn);
    rig_done(&rig);
}

static void
a_method_is_judged_by_its_name(void **state)
{
    static const struct {
        const char *method;
        int status;
    } rows[] = {{"PUT", 405}, {"PATCH", 405}, {"PROPFIND", 501}, {"post", 501}};
    mcp_http_request request;
    struct rig rig;
    struct talk t;

    (void)state;
    rig_start(&rig);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        memset(&t, 0, sizeof(t));
        request = request_for("echo", CALL("echo"));
        request.method = rows[i].method;
        assert_int_equal(mcp_http_serve(rig.mount, &request, &ops, &t, &t.turn), 0);
        WAIT(atomic_load(&t.over));
        assert_int_equal(t.status, rows[i].status);
        mcp_http_turn_free(t.turn);
    }
    rig_done(&rig);
}

/* As a client of 2025-11-25. */
static void
talk_legacy(struct talk *t, struct rig *rig, const char *session, const char *body)
{
    const mcp_http_field fields[] = {
        {"host", "whatever.example"},
        {"content-type", "application/json"},
        {"accept", "application/json, text/event-stream"},
        {"mcp-session-id", session},
    };
    const mcp_http_request request = MCP_HTTP_REQUEST(.method = "POST",
                                                      .target = "/mcp",
                                                      .fields = fields,
                                                      .field_count = session ? 4 : 3,
                                                      .body = body,
                                                      .body_length = strlen(body));

    memset(t, 0, sizeof(*t));
    assert_int_equal(mcp_http_serve(rig->mount, &request, &ops, t, &t->turn), 0);
    WAIT(atomic_load(&t->over));
    mcp_http_turn_free(t->turn);
}

static void
a_session_begins_and_is_served(void **state)
{
    struct talk hello, call;
    struct rig rig;

    (void)state;
    rig_start(&rig);
    talk_legacy(&hello, &rig, NULL, INITIALIZE("1", "2025-11-25"));
    assert_int_equal(hello.status, 200);
    assert_non_null(strstr(hello.text, "\"serverInfo\":{\"name\":\"mounted\""));
    assert_string_not_equal(hello.session, "");
    talk_legacy(&call, &rig, hello.session, NOTE("notifications/initialized", "{}"));
    assert_int_equal(call.status, 202);
    talk_legacy(&call, &rig, hello.session,
                REQUEST("2", "tools/call", "{\"name\":\"echo\"}"));
    assert_int_equal(call.status, 200);
    assert_non_null(strstr(call.text, "hello"));
    rig_done(&rig);
}

static void
E18_freeing_the_turn_is_the_cancel(void **state)
{
    struct rig rig;
    struct talk t;

    (void)state;
    rig_start(&rig);
    assert_int_equal(talk_begin(&t, &rig, "hang"), 0);
    WAIT(atomic_load(&rig.running) == 1);
    mcp_http_turn_free(t.turn);
    WAIT(atomic_load(&rig.running) == 0);
    assert_int_equal(atomic_load(&rig.canceled), 1);
    assert_false(atomic_load(&t.over));
    rig_done(&rig);
}

static void
a_paused_turn_is_answered_when_it_goes_on(void **state)
{
    struct rig rig;
    struct talk t, other;

    (void)state;
    rig_make(&rig, NULL);
    assert_int_equal(talk_begin(&t, &rig, "echo"), 0);
    mcp_http_turn_pause(t.turn, true);
    assert_int_equal(mcp_server_start(rig.server, NULL), 0);
    assert_int_equal(talk_begin(&other, &rig, "echo"), 0);
    WAIT(atomic_load(&other.over));
    assert_false(atomic_load(&t.over));
    mcp_http_turn_pause(t.turn, false);
    WAIT(atomic_load(&t.over));
    assert_int_equal(t.status, 200);
    mcp_http_turn_free(t.turn);
    mcp_http_turn_free(other.turn);
    rig_done(&rig);
}

static void
a_mount_works_on_a_loop_of_the_programs(void **state)
{
    mcp_loop *loop;
    struct rig rig;
    struct talk t;

    (void)state;
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), 0);
    rig_make(&rig, loop);
    assert_int_equal(talk_begin(&t, &rig, "echo"), 0);
    for (int i = 0; i < 1000 && !atomic_load(&t.over); i++)
        (void)mcp_loop_step(loop);
    assert_int_equal(t.status, 200);
    mcp_http_turn_free(t.turn);
    mcp_server_free(rig.server);
    for (int i = 0; i < 100; i++)
        (void)mcp_loop_step(loop);
    mcp_loop_free(loop);
    assert_int_equal(talk_begin(&t, &rig, "echo"), MCP_E_CLOSED);
    mcp_http_mount_free(rig.mount);
    test_mem_done(&rig.mem);
}

static void
turns_and_mount_may_outlast_the_server(void **state)
{
    struct talk t, hanging, late;
    struct rig rig;

    (void)state;
    rig_start(&rig);
    assert_int_equal(talk_begin(&t, &rig, "echo"), 0);
    assert_int_equal(talk_begin(&hanging, &rig, "hang"), 0);
    WAIT(atomic_load(&rig.running) == 1);
    mcp_server_free(rig.server);
    assert_true(atomic_load(&t.over));
    assert_true(atomic_load(&hanging.over)); /* answered with an error, or aborted */
    assert_int_equal(atomic_load(&rig.running), 0);
    assert_int_equal(talk_begin(&late, &rig, "echo"), MCP_E_CLOSED);
    mcp_http_turn_pause(hanging.turn, true);
    mcp_http_turn_pause(hanging.turn, false);
    mcp_http_turn_free(t.turn);
    mcp_http_turn_free(hanging.turn);
    mcp_http_mount_free(rig.mount);
    test_mem_done(&rig.mem);
}

static void
what_is_no_request_is_refused(void **state)
{
    static const mcp_http_field nameless[] = {{NULL, "x"}};
    mcp_http_turn_ops few = {.size = sizeof(few), .begin = on_begin, .more = on_more};
    mcp_http_request request = request_for("echo", CALL("echo"));
    mcp_http_request wrong;
    mcp_http_turn *turn = NULL;
    struct rig rig;
    struct talk t;

    (void)state;
    rig_start(&rig);
    assert_int_equal(mcp_http_serve(NULL, &request, &ops, &t, &turn), MCP_E_INVAL);
    assert_int_equal(mcp_http_serve(rig.mount, NULL, &ops, &t, &turn), MCP_E_INVAL);
    assert_int_equal(mcp_http_serve(rig.mount, &request, NULL, &t, &turn), MCP_E_INVAL);
    assert_int_equal(mcp_http_serve(rig.mount, &request, &few, &t, &turn), MCP_E_INVAL);
    assert_int_equal(mcp_http_serve(rig.mount, &request, &ops, &t, NULL), MCP_E_INVAL);
    wrong = request;
    wrong.size = 3;
    assert_int_equal(mcp_http_serve(rig.mount, &wrong, &ops, &t, &turn), MCP_E_INVAL);
    wrong = request;
    wrong.method = NULL;
    assert_int_equal(mcp_http_serve(rig.mount, &wrong, &ops, &t, &turn), MCP_E_INVAL);
    wrong = request;
    wrong.target = NULL;
    assert_int_equal(mcp_http_serve(rig.mount, &wrong, &ops, &t, &turn), MCP_E_INVAL);
    wrong = request;
    wrong.body = NULL;
    assert_int_equal(mcp_http_serve(rig.mount, &wrong, &ops, &t, &turn), MCP_E_INVAL);
    wrong = request;
    wrong.fields = nameless;
    wrong.field_count = 1;
    assert_int_equal(mcp_http_serve(rig.mount, &wrong, &ops, &t, &turn), MCP_E_INVAL);
    assert_null(turn);
    mcp_http_turn_pause(NULL, true);
    mcp_http_turn_free(NULL);
    mcp_http_mount_free(NULL);
    rig_done(&rig);
}

static void
what_is_wrong_with_a_mount_is_told(void **state)
{
    mcp_http_mount *mount = NULL;
    struct rig rig;
    mcp_error err;

    (void)state;
    rig_start(&rig);
    assert_int_equal(mcp_http_mount_new(NULL, NULL, &mount, &err), MCP_E_INVAL);
    assert_int_equal(mcp_http_mount_new(rig.server, NULL, NULL, &err), MCP_E_INVAL);
    assert_int_equal(mcp_http_mount_new(rig.server,
                                        &MCP_HTTP_OPTIONS(.path = "no slash"), &mount,
                                        &err),
                     MCP_E_INVAL);
    assert_non_null(strstr(err.message, "path"));
    mcp_server_stop(rig.server);
    assert_int_equal(mcp_http_mount_new(rig.server, NULL, &mount, &err), MCP_E_CLOSED);
    assert_null(mount);
    rig_done(&rig);
}

/* ---- threads ------------------------------------------------------------- */

static void *
talk_a_lot(void *user)
{
    struct rig *rig = user;
    struct talk *t = malloc(sizeof(*t));

    assert_non_null(t);
    for (int i = 0; i < 100; i++) {
        assert_int_equal(talk_begin(t, rig, i % 4 ? "echo" : "hang"), 0);
        if (i % 4)
            WAIT(atomic_load(&t->over));
        mcp_http_turn_free(t->turn);
    }
    free(t);
    return NULL;
}

static void
E18_threads_may_hand_in_and_leave(void **state)
{
    pthread_t threads[4];
    struct rig rig;

    (void)state;
    rig_start(&rig);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, talk_a_lot, &rig), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    WAIT(atomic_load(&rig.running) == 0);
    rig_done(&rig);
}

static uint64_t
rig_answered(struct rig *rig)
{
    mcp_server_counts counts = {.size = sizeof(counts)};

    assert_int_equal(mcp_server_count(rig->server, &counts), 0);
    return counts.answered;
}

static void
what_waits_at_the_stop_may_still_be_taken(void **state)
{
    struct virtual_clock clock;
    struct rig rig;
    struct talk t;

    (void)state;
    rig_start(&rig);
    virtual_clock_init(&clock);
    virtual_clock_hold(&clock, rig.server->trunk.host.inside);
    assert_int_equal(talk_begin(&t, &rig, "echo"), 0);
    mcp_http_turn_pause(t.turn, true);
    WAIT(rig_answered(&rig) == 1);
    mcp_server_stop(rig.server);
    for (int i = 0; i < 10; i++) /* a stop that does not wait is over by then */
        virtual_clock_pass(&clock, 1000);
    mcp_http_turn_pause(t.turn, false);
    WAIT(atomic_load(&t.over));
    assert_int_equal(t.aborts, 0);
    assert_int_equal(t.status, 200);
    mcp_http_turn_free(t.turn);
    rig_done(&rig);
}

static void
who_takes_nothing_does_not_hold_the_stop(void **state)
{
    struct rig rig;
    struct talk t;

    (void)state;
    rig_make_with(&rig, MCP_SERVER_OPTIONS(.stop_ms = 50, .drain_ms = -1));
    assert_int_equal(mcp_server_start(rig.server, NULL), 0);
    assert_int_equal(talk_begin(&t, &rig, "echo"), 0);
    mcp_http_turn_pause(t.turn, true);
    WAIT(rig_answered(&rig) == 1);
    mcp_server_free(rig.server); /* comes back long before write_ms */
    assert_int_equal(t.aborts, 1);
    mcp_http_turn_free(t.turn);
    mcp_http_mount_free(rig.mount);
    test_mem_done(&rig.mem);
}

/* A child that froze while somebody held the lock would wait for it for ever; one that
 * frees would cancel nothing, and one that serves would wake its parent. */
static void
nothing_works_in_a_process_that_was_forked_off(void **state)
{
    struct rig rig;
    struct talk t, other;
    int status;
    pid_t pid;

    (void)state;
    rig_start(&rig);
    assert_int_equal(talk_begin(&t, &rig, "hang"), 0);
    WAIT(atomic_load(&rig.running) == 1);
    pid = fork();
    if (pid == 0) {
        bool ok = talk_begin(&other, &rig, "echo") == MCP_E_STATE;

        mcp_http_turn_pause(t.turn, true);
        mcp_http_turn_free(t.turn);
        mcp_http_mount_free(rig.mount);
        ok = ok && talk_begin(&other, &rig, "echo") == MCP_E_STATE; /* still there */
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(talk_begin(&other, &rig, "echo"), 0);
    WAIT(atomic_load(&other.over));
    assert_int_equal(atomic_load(&rig.running), 1);
    mcp_http_turn_free(other.turn);
    mcp_http_turn_free(t.turn);
    rig_done(&rig);
}

TEST_MAIN(TEST(a_request_is_answered), TEST(a_method_is_judged_by_its_name),
          TEST(a_session_begins_and_is_served),
          TEST(E18_freeing_the_turn_is_the_cancel),
          TEST(a_paused_turn_is_answered_when_it_goes_on),
          TEST(a_mount_works_on_a_loop_of_the_programs),
          TEST(turns_and_mount_may_outlast_the_server),
          TEST(what_is_no_request_is_refused), TEST(what_is_wrong_with_a_mount_is_told),
          TEST(E18_threads_may_hand_in_and_leave),
          TEST(what_waits_at_the_stop_may_still_be_taken),
          TEST(who_takes_nothing_does_not_hold_the_stop),
          TEST(nothing_works_in_a_process_that_was_forked_off))
