/*
 * asking_test.c - a server asks the user, over a stream: answered, given up, left alone
 *
 * In the legacy era its question is a request of its own; in the modern one it is the
 * answer, and the client calls again. What the program sees is the same.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "end/raw.h"
#include "support/client_clock.h"
#include "support/messages.h"

enum { FIFTY = 50 };

#define QUESTION "{\"question\":\"who are you?\"}"

/* The user, and what became of the questions. */
struct user {
    atomic_bool answers; /* at once; or never */
    atomic_int asked, told, returned;
    atomic_bool wrong; /* a question that was not ours */
};

/* A question that is not answered ends by its cancel alone. */
static void
give_up(void *arg)
{
    mcp_request *req = arg;
    struct user *user = mcp_request_server_user(req);

    atomic_fetch_add(&user->told, 1);
    atomic_fetch_add(&user->returned, 1);
    mcp_request_finish(req, MCP_E_CANCELED);
}

static int
elicit(mcp_request *req, mcp_result *out, void *arg)
{
    struct user *user = mcp_request_server_user(req);
    const mcp_json *message = mcp_json_get(mcp_request_params(req), "message");

    (void)arg;
    if (!mcp_json_is_string(message, "who are you?"))
        atomic_store(&user->wrong, true);
    atomic_fetch_add(&user->asked, 1);
    if (!atomic_load(&user->answers))
        return mcp_request_on_cancel(req, give_up, req, NULL);
    atomic_fetch_add(&user->returned, 1);
    mcp_request_finish(req, mcp_result_json(out, "{\"answer\":\"me\"}", 15));
    return 0;
}

/* The same on a worker, which waits. */
static int
elicit_slowly(mcp_request *req, mcp_result *out, void *arg)
{
    struct user *user = mcp_request_server_user(req);
    int r;

    (void)out, (void)arg;
    atomic_fetch_add(&user->asked, 1);
    r = mcp_request_sleep(req, AWAIT_MS);
    if (r == MCP_E_CANCELED)
        atomic_fetch_add(&user->told, 1);
    atomic_fetch_add(&user->returned, 1);
    return r;
}

static int
decline(mcp_request *req, mcp_result *out, void *arg)
{
    (void)req, (void)arg;
    return mcp_result_decline(out);
}

#define ME(...) MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0", __VA_ARGS__)

static void
open_with(struct probe *p, const mcp_client_options *me)
{
    const char *const command[] = {PROBE_SERVER, NULL};
    mcp_error err = {0};

    if (mcp_client_spawn(command, me, &p->client, &err) < 0)
        fail_msg("%s: %s", PROBE_SERVER, err.message);
}

static void
open_asked(struct probe *p, enum mcp_era era, struct user *user)
{
    open_with(p, &ME(.era = era, .elicit.start = elicit, .user = user));
}

static void
start_asking(struct probe *p, const mcp_call_options *opt, mcp_call **calls)
{
    for (int i = 0; i < FIFTY; i++)
        assert_int_equal(mcp_client_start_tool(p->client, "ask", QUESTION, opt, NULL,
                                               NULL, &calls[i]),
                         0);
}

static void
end_asking(mcp_call **calls, int status)
{
    for (int i = 0; i < FIFTY; i++) {
        assert_int_equal(mcp_call_wait(calls[i], AWAIT_MS, NULL, NULL), status);
        mcp_call_free(calls[i]);
    }
}

static bool
all_are_asked(void *arg)
{
    struct user *user = arg;

    return atomic_load(&user->asked) == FIFTY;
}

static bool
somebody_is_asked(void *arg)
{
    struct user *user = arg;

    return atomic_load(&user->asked) > 0;
}

static bool
all_are_told(void *arg)
{
    struct user *user = arg;

    return atomic_load(&user->told) == atomic_load(&user->asked) &&
           atomic_load(&user->returned) == atomic_load(&user->asked);
}

struct baseline {
    struct probe *probe;
    struct probe_stats server;
    size_t descriptors; /* of this process */
};

static struct baseline
take_baseline(struct probe *p)
{
    struct baseline b = {.probe = p, .server = probe_calm(p, 0)};

    b.descriptors = count_descriptors();
    return b;
}

/* A connection that has gone is closed a moment later. */
static bool
is_at_baseline(void *arg)
{
    struct baseline *b = arg;
    struct probe_stats now = probe_calm(b->probe, 0);

    return now.open_fds == b->server.open_fds && now.workers == b->server.workers &&
           now.pool_free == 10 && count_descriptors() == b->descriptors;
}

static void
expect_baseline(struct baseline *b)
{
    mcp_client_counts counts = {.size = sizeof(counts)};

    wait_until(is_at_baseline, b);
    assert_int_equal(mcp_client_count(b->probe->client, &counts), 0);
    assert_int_equal(counts.calls, 0);
}

/* ---- answered ------------------------------------------------------------ */

static void
the_user_answers_over_a_stream(void **state)
{
    struct user user = {.answers = true};
    struct probe p;

    open_asked(&p, era_of(state), &user);
    for (int i = 0; i < 3; i++)
        probe_expect(&p, "ask", QUESTION, "answer: me");
    assert_int_equal(atomic_load(&user.asked), 3);
    assert_false(atomic_load(&user.wrong));
    probe_close(&p);
}

static void
fifty_questions_at_once_are_answered(void **state)
{
    struct user user = {.answers = true};
    struct baseline before;
    mcp_call *calls[FIFTY];
    struct probe p;

    open_asked(&p, era_of(state), &user);
    probe_expect(&p, "ask", QUESTION, "answer: me");
    before = take_baseline(&p);
    start_asking(&p, NULL, calls);
    end_asking(calls, 0);
    assert_int_equal(atomic_load(&user.asked), 1 + FIFTY);
    expect_baseline(&before);
    probe_close(&p);
}

static void
a_user_may_decline(void **state)
{
    struct probe p;

    open_with(&p, &ME(.era = era_of(state), .elicit.reply = decline));
    probe_expect(&p, "ask", QUESTION, "no answer");
    probe_close(&p);
}

static void
who_cannot_be_asked_is_not(void **state)
{
    mcp_error err = {0};
    struct probe p;

    probe_open(&p, era_of(state));
    assert_int_equal(mcp_client_call_tool(p.client, "ask", QUESTION, NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32021);
    (void)probe_calm(&p, 0);
    probe_close(&p);
}

/* ---- given up ------------------------------------------------------------ */

/* While the user thinks, a question holds nothing in the server: no handler, no worker.
 */
static void
J1_J6_L2_L10_fifty_canceled_while_the_user_is_asked(void **state)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);
    struct user user = {.answers = true};
    struct probe_stats asking;
    struct baseline before;
    mcp_call *calls[FIFTY];
    struct probe p;

    open_asked(&p, era_of(state), &user);
    probe_expect(&p, "ask", QUESTION, "answer: me");
    before = take_baseline(&p);
    atomic_store(&user.answers, false);
    atomic_store(&user.asked, 0);
    atomic_store(&user.returned, 0);
    start_asking(&p, &opt, calls);
    wait_until(all_are_asked, &user);
    asking = probe_calm(&p, 0);
    for (int i = 0; i < FIFTY; i++)
        assert_int_equal(mcp_call_cancel(calls[i], "enough"), 0);
    end_asking(calls, MCP_E_CANCELED);
    wait_until(all_are_told, &user);
    expect_baseline(&before);
    /* nobody began anew: between two legs nothing is sent, and a handler that rests is
     * not begun again */
    assert_int_equal(probe_stats(&p).started, asking.started);
    atomic_store(&user.answers, true);
    probe_expect(&p, "ask", QUESTION, "answer: me");
    probe_close(&p);
}

static void
J1_J6_L2_L10_fifty_timed_out_while_the_user_is_asked(void **state)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE,
                                                  .total_ms = HOUR_MS);
    struct user user = {.answers = true};
    struct virtual_clock clock;
    struct baseline before;
    mcp_call *calls[FIFTY];
    struct probe p;

    open_asked(&p, era_of(state), &user);
    probe_expect(&p, "ask", QUESTION, "answer: me");
    before = take_baseline(&p);
    atomic_store(&user.answers, false);
    atomic_store(&user.asked, 0);
    atomic_store(&user.returned, 0);
    client_clock_hold(&clock, p.client);
    start_asking(&p, &opt, calls);
    wait_until(all_are_asked, &user);
    virtual_clock_pass(&clock, HOUR_MS);
    end_asking(calls, MCP_E_TOTAL_TIMEOUT);
    wait_until(all_are_told, &user);
    expect_baseline(&before);
    atomic_store(&user.answers, true);
    probe_expect(&p, "ask", QUESTION, "answer: me");
    probe_close(&p);
}

/* In the legacy era the call is under way while its user is asked: it has a clock. */
static void
J1_J6_fifty_idle_timeouts_take_the_questions_back(void **state)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = HOUR_MS);
    struct user user = {.answers = false};
    struct virtual_clock clock;
    mcp_call *calls[FIFTY];
    struct probe p;

    open_asked(&p, era_of(state), &user);
    client_clock_hold(&clock, p.client);
    start_asking(&p, &opt, calls);
    wait_until(all_are_asked, &user);
    virtual_clock_pass(&clock, HOUR_MS);
    end_asking(calls, MCP_E_TIMEOUT);
    (void)probe_calm(&p, 0); /* all that it has said before was read */
    wait_until(all_are_told, &user);
    probe_close(&p);
}

static void
L2_a_handler_that_waits_on_a_worker_is_woken(void **state)
{
    struct user user = {.answers = false};
    mcp_call *calls[FIFTY];
    struct probe p;

    open_with(&p,
              &ME(.era = era_of(state), .elicit.run = elicit_slowly, .user = &user));
    start_asking(&p, NULL, calls);
    wait_until(somebody_is_asked, &user);
    for (int i = 0; i < FIFTY; i++)
        assert_int_equal(mcp_call_cancel(calls[i], NULL), 0);
    end_asking(calls, MCP_E_CANCELED);
    (void)probe_calm(&p, 0);
    wait_until(all_are_told, &user);
    probe_close(&p);
    assert_int_equal(atomic_load(&user.returned), atomic_load(&user.asked));
}

/* ---- one side goes ------------------------------------------------------- */

static void
the_server_dies_while_the_user_is_asked(void **state)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);
    struct user user = {.answers = false};
    mcp_call *calls[FIFTY];
    struct probe p;
    pid_t pid;

    open_asked(&p, era_of(state), &user);
    pid = (pid_t)mcp_client_pid(p.client);
    start_asking(&p, &opt, calls);
    wait_until(all_are_asked, &user);
    assert_int_equal(kill(pid, SIGKILL), 0);
    end_asking(calls, MCP_E_CLOSED);
    wait_until(all_are_told, &user);
    probe_close_dead(&p, pid);
}

static void
a_client_is_freed_while_its_user_is_asked(void **state)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);
    struct user user = {.answers = false};
    mcp_call *calls[FIFTY];
    struct probe p;

    open_asked(&p, era_of(state), &user);
    start_asking(&p, &opt, calls);
    wait_until(all_are_asked, &user);
    probe_close(&p); /* waits for the handlers, who are told */
    assert_true(all_are_told(&user));
    end_asking(calls, MCP_E_CLOSED);
}

static void
J8_handlers_of_a_client_that_has_gone_wake(void **state)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);
    struct user user = {.answers = false};
    struct baseline before;
    struct probe_socket server;
    mcp_call *calls[FIFTY];
    struct probe p, other;

    probe_socket_open(&server);
    assert_int_equal(mcp_client_connect_unix(server.path, &ME(.era = era_of(state)),
                                             &other.client, NULL),
                     0);
    before = take_baseline(&other);
    assert_int_equal(mcp_client_connect_unix(server.path,
                                             &ME(.era = era_of(state),
                                                 .elicit.start = elicit, .user = &user),
                                             &p.client, NULL),
                     0);
    start_asking(&p, &opt, calls);
    wait_until(all_are_asked, &user);
    mcp_client_free(p.client);
    assert_true(all_are_told(&user));
    end_asking(calls, MCP_E_CLOSED);
    expect_baseline(&before);
    mcp_client_free(other.client);
    probe_socket_close(&server);
}

/* ---- what is on the wire ------------------------------------------------- */

#define HELLO_ELICIT                                                                   \
    REQUEST("0", "initialize",                                                         \
            "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"elicitation\":{}" \
            "},\"clientInfo\":{\"name\":\"raw\",\"version\":\"1\"}}")

static void
raw_open_asked(struct raw *raw)
{
    const char *const command[] = {PROBE_SERVER, NULL};

    raw_spawn(raw, command, -1);
    raw->era = MCP_ERA_LEGACY;
    raw_say(raw, HELLO_ELICIT);
    assert_non_null(mcp_json_get(raw_read(raw), "result"));
    raw_say(raw, NOTE("notifications/initialized", "{}"));
}

/* The server's question; returns its id as text. */
static void
raw_expect_question(struct raw *raw, char *id, size_t room)
{
    const mcp_json *message = raw_read(raw);
    char *text;

    assert_true(
        mcp_json_is_string(mcp_json_get(message, "method"), "elicitation/create"));
    assert_int_equal(
        mcp_json_print(mcp_json_get(message, "id"), false, NULL, &text, NULL), 0);
    snprintf(id, room, "%s", text);
    mcp_text_free(text, NULL);
}

static void
J1_J6_the_question_is_taken_back_and_nothing_is_answered(void **state)
{
    const mcp_json *message, *taken_back;
    struct raw raw;
    char asked[64];
    char *text;

    (void)state;
    raw_open_asked(&raw);
    raw_call(&raw, "7", "ask", QUESTION);
    raw_expect_question(&raw, asked, sizeof(asked));
    raw_say(&raw, CANCEL("7"));
    message = raw_read(&raw);
    assert_true(
        mcp_json_is_string(mcp_json_get(message, "method"), "notifications/cancelled"));
    taken_back = mcp_json_get(mcp_json_get(message, "params"), "requestId");
    assert_int_equal(mcp_json_print(taken_back, false, NULL, &text, NULL), 0);
    assert_string_equal(text, asked);
    mcp_text_free(text, NULL);
    raw_expect_alive(&raw); /* the next message is its answer: none for 7 */
    raw_expect_handlers(&raw, 0);
    expect_exit(raw_close(&raw), 0);
}

static void
J2_a_late_answer_changes_nothing(void **state)
{
    struct raw raw;
    char asked[64], late[256];

    (void)state;
    raw_open_asked(&raw);
    raw_call(&raw, "7", "ask", QUESTION);
    raw_expect_question(&raw, asked, sizeof(asked));
    raw_say(&raw, CANCEL("7"));
    assert_non_null(mcp_json_get(raw_read(&raw), "method"));
    snprintf(late, sizeof(late),
             RESULT("%s", "{\"action\":\"accept\",\"content\":{\"answer\":\"me\"}}"),
             asked);
    raw_say(&raw, late);
    raw_expect_alive(&raw);
    raw_expect_handlers(&raw, 0);
    expect_exit(raw_close(&raw), 0);
}

static void
J8_a_server_whose_client_says_goodbye_meanwhile_exits(void **state)
{
    struct raw raw;
    char asked[64];

    (void)state;
    raw_open_asked(&raw);
    for (int i = 0; i < 20; i++) {
        raw_call(&raw, i % 2 ? "\"odd\"" : "8", "ask", QUESTION);
        if (i < 2)
            raw_expect_question(&raw, asked, sizeof(asked));
        else
            assert_non_null(mcp_json_get(raw_read(&raw), "error")); /* id in flight */
    }
    raw_shut(&raw);
    while (raw_read(&raw))
        continue;
    expect_exit(raw_close(&raw), 0);
}

TEST_MAIN(IN_BOTH_ERAS(the_user_answers_over_a_stream),
          IN_BOTH_ERAS(fifty_questions_at_once_are_answered),
          IN_BOTH_ERAS(a_user_may_decline), IN_BOTH_ERAS(who_cannot_be_asked_is_not),
          IN_BOTH_ERAS(J1_J6_L2_L10_fifty_canceled_while_the_user_is_asked),
          IN_BOTH_ERAS(J1_J6_L2_L10_fifty_timed_out_while_the_user_is_asked),
          IN_LEGACY(J1_J6_fifty_idle_timeouts_take_the_questions_back),
          IN_BOTH_ERAS(L2_a_handler_that_waits_on_a_worker_is_woken),
          IN_BOTH_ERAS(the_server_dies_while_the_user_is_asked),
          IN_BOTH_ERAS(a_client_is_freed_while_its_user_is_asked),
          IN_BOTH_ERAS(J8_handlers_of_a_client_that_has_gone_wake),
          TEST(J1_J6_the_question_is_taken_back_and_nothing_is_answered),
          TEST(J2_a_late_answer_changes_nothing),
          TEST(J8_a_server_whose_client_says_goodbye_meanwhile_exits))
