/* hostile_test.c - probe-server, and clients that send what they should not */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "end/raw.h"
#include "support/messages.h"

#define PARSE_ERROR (-32700)
#define INVALID_REQUEST (-32600)

#define MESSAGE_BYTES ((size_t)64 * 1024 * 1024)
#define HELD_BYTES ((size_t)256 * 1024 * 1024)
#define ANSWERS 16384

/* ---- what is no message -------------------------------------------------- */

static const struct line {
    const char *text;
    size_t len;     /* 0: as long as it looks */
    int code;       /* of the error; 0: nothing is said */
    const char *id; /* in that error; NULL: none */
} lines[] = {
    {"nonsense", 0, PARSE_ERROR, NULL},
    {"{", 0, PARSE_ERROR, NULL},
    {"}", 0, PARSE_ERROR, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"", 0, PARSE_ERROR, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",", 0, PARSE_ERROR, "1"},
    {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}{}", 0, PARSE_ERROR, "1"},
    {"[]", 0, INVALID_REQUEST, NULL},
    {"[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", 0, INVALID_REQUEST, NULL},
    {"{}", 0, INVALID_REQUEST, NULL},
    {"null", 0, INVALID_REQUEST, NULL},
    {"42", 0, INVALID_REQUEST, NULL},
    {"\"text\"", 0, INVALID_REQUEST, NULL},
    {"\0", 1, PARSE_ERROR, NULL},
    {"\0\0\0\0", 4, PARSE_ERROR, NULL},
    {"{\"jsonrpc\":\"2.0\",\0\"id\":1}", 25, PARSE_ERROR, NULL},
    {"\xff\xfe\xfd", 0, PARSE_ERROR, NULL},
    {"\xef\xbb\xbf{}", 0, INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"\xc3\x28\",\"method\":\"ping\"}", 0, PARSE_ERROR,
     NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"\xed\xa0\x80\",\"method\":\"ping\"}", 0,
     PARSE_ERROR, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":\"\\ud800\",\"method\":\"ping\"}", 0, INVALID_REQUEST,
     NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":NaN,\"method\":\"ping\"}", 0, PARSE_ERROR, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"ping\"}", 0, INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", 0, INVALID_REQUEST, NULL},
    {"{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", 0, INVALID_REQUEST, NULL},
    {"", 0, 0, NULL},
    {"\r", 0, 0, NULL},
    /* frames and answers that fit to nothing are never replied to (F13, F15, F16) */
    {NOTE("notifications/cancelled", "{}"), 0, 0, NULL},
    {NOTE("notifications/cancelled", "{\"requestId\":4711}"), 0, 0, NULL},
    {NOTE("notifications/cancelled", "{\"requestId\":true}"), 0, 0, NULL},
    {NOTE("notifications/cancelled", "[]"), 0, 0, NULL},
    {NOTE("notifications/nobody/knows", "{}"), 0, 0, NULL},
    {RESULT("4711", "{}"), 0, 0, NULL},
    {ERROR("4711", "-1"), 0, 0, NULL},
    {ERROR("null", "-1"), 0, 0, NULL},
};

static void
C11_F13_F15_F16_nonsense_is_reported_and_the_session_lives(void **state)
{
    struct raw raw;

    raw_open(&raw, era_of(state));
    raw_call(&raw, "\"runs\"", "hang_async", "{\"seconds\":600}");
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        size_t len = lines[i].len ? lines[i].len : strlen(lines[i].text);

        raw_write(&raw, lines[i].text, len);
        raw_write(&raw, "\n", 1);
        if (lines[i].code != 0)
            raw_expect_error(&raw, lines[i].id, lines[i].code);
        raw_expect_alive(&raw);
    }
    raw_expect_handlers(&raw, 1); /* which was not lost */
    raw_say(&raw, CANCEL("\"runs\""));
    raw_expect_handlers(&raw, 0);
    expect_exit(raw_close(&raw), 0);
}

static void
C11_deep_nesting_is_refused(void **state)
{
    static char deep[200001];
    struct raw raw;

    raw_open(&raw, era_of(state));
    memset(deep, '[', sizeof(deep) - 1);
    raw_say(&raw, deep);
    raw_expect_error(&raw, NULL, PARSE_ERROR); /* it has no end */
    memset(deep + 100000, ']', 100000);
    raw_say(&raw, deep);
    raw_expect_error(&raw, NULL, INVALID_REQUEST);
    for (size_t i = 0; i + 5 < sizeof(deep); i += 5)
        memcpy(deep + i, "{\"a\":", 5);
    raw_say(&raw, deep);
    raw_expect_error(&raw, NULL, PARSE_ERROR);
    raw_expect_alive(&raw);
    expect_exit(raw_close(&raw), 0);
}

static void
C11_lines_may_end_as_on_windows(void **state)
{
    struct raw raw;
    char *text;

    raw_open(&raw, era_of(state));
    text = raw_call_text(raw.era, "1", "echo", "{\"text\":\"hello\"}");
    raw_write(&raw, text, strlen(text) - 1);
    raw_write(&raw, "\r\n\r\n", 4);
    raw_expect(&raw, "1", "hello");
    free(text);
    raw_expect_alive(&raw);
    expect_exit(raw_close(&raw), 0);
}

static void
C11_a_message_may_come_byte_by_byte(void **state)
{
    struct raw raw;
    char *text;

    raw_open(&raw, era_of(state));
    text = raw_call_text(raw.era, "1", "echo", "{\"text\":\"h\xc3\xa9llo\"}");
    for (size_t i = 0; text[i] != '\0'; i++)
        raw_write(&raw, &text[i], 1);
    raw_expect(&raw, "1", "h\xc3\xa9llo");
    free(text);
    expect_exit(raw_close(&raw), 0);
}

/* A call of echo that is so long in all, without its newline. */
static char *
padded_call(enum mcp_era era, size_t len)
{
    char *call = raw_call_text(era, "1", "echo", "{\"text\":\"long\"}");
    size_t used = strlen(call) - 1;
    char *text = malloc(len + 2);

    assert_non_null(text);
    memcpy(text, call, used);
    memset(text + used, ' ', len - used);
    text[used - 1] = ' ';
    text[len - 1] = '}';
    text[len] = '\n';
    text[len + 1] = '\0';
    free(call);
    return text;
}

static void
C11_a_message_over_the_limit_is_refused_and_the_next_one_served(void **state)
{
    struct raw raw;
    char *text;

    raw_open(&raw, era_of(state));
    text = padded_call(raw.era, MESSAGE_BYTES + 1024);
    raw_write(&raw, text, MESSAGE_BYTES + 1025);
    free(text);
    raw_expect_error(&raw, "1", INVALID_REQUEST);
    raw_expect_alive(&raw);
    expect_exit(raw_close(&raw), 0);
}

static void
C11_a_message_at_the_limit_is_served(void **state)
{
    struct raw raw;
    char *text;

    raw_open(&raw, era_of(state));
    text = padded_call(raw.era, MESSAGE_BYTES);
    raw_write(&raw, text, MESSAGE_BYTES + 1);
    free(text);
    raw_expect(&raw, "1", "long");
    expect_exit(raw_close(&raw), 0);
}

/* ---- the end of the input ------------------------------------------------ */

static void
C11_M16_half_a_line_at_the_end_is_reported(void **state)
{
    struct raw raw;

    raw_open(&raw, era_of(state));
    raw_expect_alive(&raw);
    raw_write(&raw, "{\"jsonrpc\":\"2.0\",\"id\":1", 23);
    raw_shut(&raw);
    raw_expect_error(&raw, NULL, PARSE_ERROR);
    assert_null(raw_read(&raw));
    expect_exit(raw_close(&raw), 0);
}

static void
M16_a_server_that_hears_nothing_at_all_exits(void **state)
{
    const char *const command[] = {PROBE_SERVER, NULL};
    struct raw raw;

    (void)state;
    raw_spawn(&raw, command, -1);
    raw_shut(&raw);
    assert_null(raw_read(&raw));
    expect_exit(raw_close(&raw), 0);
}

static void
F28_M16_what_runs_at_the_end_of_the_input_may_finish(void **state)
{
    const char *const patient[] = {PROBE_SERVER, "--patience", "60000", NULL};
    struct raw raw;

    raw_spawn(&raw, patient, -1);
    raw_hello(&raw, era_of(state));
    raw_call(&raw, "1", "hang", "{\"seconds\":0.1}");
    raw_call(&raw, "2", "echo", "{\"text\":\"hello\"}");
    raw_shut(&raw);
    raw_expect(&raw, "2", "hello");
    raw_expect(&raw, "1", "slept");
    assert_null(raw_read(&raw));
    expect_exit(raw_close(&raw), 0);
}

static void
F27_F28_M16_what_runs_on_and_on_is_dropped(void **state)
{
    struct raw raw;

    raw_open(&raw, era_of(state));
    raw_call(&raw, "1", "hang", "{\"seconds\":600}");
    raw_call(&raw, "2", "hang_async", "{\"seconds\":600}");
    raw_call(&raw, "3", "deaf", "{\"seconds\":600}");
    raw_shut(&raw);
    assert_null(raw_read(&raw)); /* and not answered */
    expect_exit(raw_close(&raw), 0);
}

static void
F35_M21_a_client_that_is_gone_for_good_kills_nobody(void **state)
{
    struct raw raw;

    raw_open(&raw, era_of(state));
    raw_call(&raw, "1", "count", "{\"to\":1000000,\"delay_ms\":1}");
    raw_call(&raw, "2", "hang", "{\"seconds\":600}");
    raw_expect_handlers(&raw, 2);
    expect_exit(raw_close(&raw), 0); /* both pipes at once */
}

/* ---- ids ----------------------------------------------------------------- */

static void
F21_a_second_request_with_an_id_in_flight_is_refused(void **state)
{
    struct raw raw;

    raw_open(&raw, era_of(state));
    raw_call(&raw, "7", "hang_async", "{\"seconds\":600}");
    raw_call(&raw, "7", "echo", "{\"text\":\"hello\"}");
    raw_expect_error(&raw, "7", INVALID_REQUEST);
    raw_call(&raw, "\"7\"", "echo", "{\"text\":\"hello\"}");
    raw_expect_error(&raw, "\"7\"", INVALID_REQUEST);
    raw_expect_handlers(&raw, 1);
    raw_say(&raw, CANCEL("7"));
    raw_expect_handlers(&raw, 0);
    raw_call(&raw, "7", "echo", "{\"text\":\"hello\"}"); /* and now it is free */
    raw_expect(&raw, "7", "hello");
    expect_exit(raw_close(&raw), 0);
}

static void
F21_equal_ids_of_two_clients_never_meet(void **state)
{
    struct probe_socket s;
    struct raw a, b;
    char id[16];

    probe_socket_open(&s);
    raw_connect(&a, s.path, era_of(state));
    raw_connect(&b, s.path, MCP_ERA_MODERN);
    raw_call(&a, "1", "hang_async", "{\"seconds\":600}");
    raw_call(&b, "1", "hang_async", "{\"seconds\":600}");
    raw_expect_handlers(&a, 2);
    raw_say(&b, CANCEL("1"));
    raw_expect_handlers(&a, 1); /* only its own */
    for (int i = 2; i < 200; i++) {
        snprintf(id, sizeof(id), "%d", i);
        raw_call(&a, id, i % 2 ? "echo" : "hang",
                 i % 2 ? "{\"text\":\"to a\"}" : "{\"seconds\":0}");
        raw_call(&b, id, "echo", "{\"text\":\"to b\"}");
        raw_expect(&b, id, "to b");
        raw_expect(&a, id, i % 2 ? "to a" : "slept");
    }
    (void)raw_close(&a);
    raw_expect_handlers(&b, 0);
    (void)raw_close(&b);
    probe_socket_close(&s);
}

/* ---- clients that do not read -------------------------------------------- */

struct pushed {
    size_t requests;
    int64_t peak_kb;
};

/* Ask and ask, and never read, until the server has enough. */
static struct pushed
push_until_closed(struct raw *raw, const char *text, size_t most, pid_t pid)
{
    struct pushed pushed = {0};
    size_t len = strlen(text);
    int64_t peak;

    while (raw_push(raw, text, len)) {
        pushed.requests++;
        if (pushed.requests > most)
            fail_msg("the server takes more than it may");
        if (pushed.requests % 256 != 0)
            continue;
        peak = process_peak_kb(pid);
        pushed.peak_kb = peak > pushed.peak_kb ? peak : pushed.peak_kb;
    }
    return pushed;
}

static void
C7_F31_who_asks_and_never_reads_loses_the_link(void **state)
{
    struct pushed pushed;
    struct raw raw;
    char *text;

    raw_open(&raw, era_of(state));
    text = raw_call_text(raw.era, "1", "echo", "{\"text\":\"hello\"}");
    pushed = push_until_closed(&raw, text, ANSWERS * 3, raw.pid);
    free(text);
    expect_exit(process_wait(raw.pid), 0);
    raw.pid = 0;
    (void)raw_close(&raw);
    assert_true(pushed.requests >= ANSWERS); /* it read on as long as it could */
    assert_in_range(pushed.peak_kb, 1, HELD_BYTES / 1024);
}

/* A call of echo with so many letters. */
static char *
big_call(enum mcp_era era, size_t letters)
{
    char *arguments = malloc(letters + 16);
    char *text;

    assert_non_null(arguments);
    memcpy(arguments, "{\"text\":\"", 9);
    memset(arguments + 9, 'x', letters);
    memcpy(arguments + 9 + letters, "\"}", 3);
    text = raw_call_text(era, "1", "echo", arguments);
    free(arguments);
    return text;
}

/* Above that many bytes requests are refused, in few words; and above that many words
 * the link is lost. */
static void
C7_F31_long_answers_that_nobody_reads_cost_bounded_memory(void **state)
{
    const size_t letters = (size_t)1024 * 1024;
    struct pushed pushed;
    struct raw raw;
    char *text;

    raw_open(&raw, era_of(state));
    text = big_call(raw.era, letters);
    for (size_t i = 0; i < 2 * HELD_BYTES / letters; i++)
        assert_true(raw_push(&raw, text, strlen(text)));
    free(text);
    text = big_call(raw.era, 1);
    pushed = push_until_closed(&raw, text, ANSWERS * 3, raw.pid);
    free(text);
    expect_exit(process_wait(raw.pid), 0);
    raw.pid = 0;
    (void)raw_close(&raw);
    assert_in_range(pushed.peak_kb, 1,
                    3 * HELD_BYTES / 1024); /* sanitizers need more */
}

static void
C7_on_a_socket_only_who_does_not_read_loses_its_link(void **state)
{
    struct pushed pushed;
    struct probe_socket s;
    struct raw good, bad;
    char *text;

    probe_socket_open(&s);
    raw_connect(&good, s.path, era_of(state));
    raw_connect(&bad, s.path, era_of(state));
    raw_call(&good, "1", "hang_async", "{\"seconds\":600}");
    raw_call(&bad, "2", "hang_async", "{\"seconds\":600}");
    raw_expect_handlers(&good, 2);
    text = raw_call_text(bad.era, "1", "echo", "{\"text\":\"hello\"}");
    pushed = push_until_closed(&bad, text, ANSWERS * 3, s.server.pid);
    free(text);
    assert_true(pushed.requests >= ANSWERS);
    raw_expect_handlers(&good, 1); /* what it left running is told, too */
    (void)raw_close(&bad);
    (void)raw_close(&good);
    probe_socket_close(&s);
}

/* ---- clients that flood -------------------------------------------------- */

#define BATCH ((size_t)500)

struct flood {
    struct raw raw;
    char *text; /* one request */
    atomic_bool stop;
    atomic_size_t answered;
    size_t asked;
    bool failed;
};

/* Count the answers. False: there are no more. */
static bool
flood_read(struct flood *f)
{
    char bytes[65536];
    ssize_t n = recv(f->raw.out, bytes, sizeof(bytes), MSG_DONTWAIT);

    for (ssize_t i = 0; i < n; i++)
        if (bytes[i] == '\n')
            atomic_fetch_add(&f->answered, 1);
    return n > 0 || (n < 0 && errno == EAGAIN);
}

/* Nothing in here asserts: it is a thread of its own. Whole batches, so that there is
 * always more to read. */
static void *
flood_run(void *user)
{
    struct flood *f = user;
    size_t len = strlen(f->text) * BATCH, at = 0;
    char *batch = malloc(len);
    bool open = batch != NULL;

    for (size_t i = 0; open && i < BATCH; i++)
        memcpy(batch + i * (len / BATCH), f->text, len / BATCH);
    while (open && (!atomic_load(&f->stop) || at > 0)) {
        struct pollfd poll_fd = {.fd = f->raw.in, .events = POLLIN | POLLOUT};
        ssize_t n;

        if (poll(&poll_fd, 1, AWAIT_MS) < 1)
            break;
        if (poll_fd.revents & POLLIN)
            open = flood_read(f);
        n = send(f->raw.in, batch + at, len - at, MSG_DONTWAIT | MSG_NOSIGNAL);
        at += n > 0 ? (size_t)n : 0;
        f->asked += at == len ? BATCH : 0;
        at = at == len ? 0 : at;
    }
    f->failed = !open;
    free(batch);
    (void)shutdown(f->raw.in, SHUT_WR);
    while (open) {
        struct pollfd poll_fd = {.fd = f->raw.in, .events = POLLIN};

        open = poll(&poll_fd, 1, AWAIT_MS) == 1 && flood_read(f);
    }
    return NULL;
}

static bool
has_flooded(void *user)
{
    const struct flood *f = user;

    return atomic_load(&f->answered) > 5000;
}

static void
C6_F28_who_floods_does_not_keep_others_waiting(void **state)
{
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0",
                                                     .era = era_of(state),
                                                     .timeout_ms = AWAIT_MS);
    struct flood f = {.asked = 0};
    struct probe_socket s;
    pthread_t thread;
    struct probe p;

    probe_socket_open(&s);
    raw_connect(&f.raw, s.path, era_of(state));
    f.text = raw_call_text(f.raw.era, "1", "echo", "{\"text\":\"flood\"}");
    assert_int_equal(pthread_create(&thread, NULL, flood_run, &f), 0);
    wait_until(has_flooded, &f);
    assert_int_equal(mcp_client_connect_unix(s.path, &me, &p.client, NULL), 0);
    for (int i = 0; i < 100; i++)
        probe_expect(&p, "echo", "{\"text\":\"calm\"}", "calm");
    probe_expect(&p, "hang", "{\"seconds\":0}", "slept");
    atomic_store(&f.stop, true);
    pthread_join(thread, NULL);
    assert_false(f.failed);
    assert_int_equal(atomic_load(&f.answered), f.asked);
    mcp_client_free(p.client);
    (void)raw_close(&f.raw);
    free(f.text);
    probe_socket_close(&s);
}

static void
F33_F27_clients_that_hang_up_leave_nothing(void **state)
{
    struct probe_socket s;
    struct raw raw, watch;

    probe_socket_open(&s);
    raw_connect(&watch, s.path, MCP_ERA_MODERN);
    for (int i = 0; i < 300; i++) {
        raw_connect(&raw, s.path, era_of(state));
        raw_call(&raw, "1", i % 2 ? "hang_async" : "hang", "{\"seconds\":600}");
        if (i % 3 == 0)
            raw_say(&raw, "{\"half");
        (void)raw_close(&raw);
    }
    raw_expect_handlers(&watch, 0);
    (void)raw_close(&watch);
    probe_socket_close(&s);
}

static void
F38_over_the_limit_requests_are_refused_and_cancels_are_read(void **state)
{
    const int count = ANSWERS + 100;
    int refused = 0;
    struct raw raw;
    char text[200];

    raw_open(&raw, era_of(state));
    for (int i = 1; i <= count; i++) {
        snprintf(text, sizeof(text), "%d", i);
        raw_call(&raw, text, "hang_async", "{\"seconds\":600}");
    }
    for (int i = 0; i < 100; i++) {
        const mcp_json *answer = raw_read(&raw);
        int64_t code = mcp_json_int(mcp_json_get(mcp_json_get(answer, "error"), "code"),
                                    0);

        refused += code == -32603;
    }
    assert_int_equal(refused, 100);
    for (int i = 1; i <= count; i++) {
        snprintf(text, sizeof(text),
                 NOTE("notifications/cancelled", "{\"requestId\":%d}"), i);
        raw_say(&raw, text);
    }
    raw_expect_handlers(&raw, 0);
    expect_exit(raw_close(&raw), 0);
}

static const struct test_case cases[] = {
    IN_BOTH_ERAS(C11_F13_F15_F16_nonsense_is_reported_and_the_session_lives),
    IN_BOTH_ERAS(C11_deep_nesting_is_refused),
    IN_BOTH_ERAS(C11_lines_may_end_as_on_windows),
    IN_BOTH_ERAS(C11_a_message_may_come_byte_by_byte),
    IN_MODERN(C11_a_message_over_the_limit_is_refused_and_the_next_one_served),
    IN_LEGACY(C11_a_message_at_the_limit_is_served),
    IN_BOTH_ERAS(C11_M16_half_a_line_at_the_end_is_reported),
    TEST(M16_a_server_that_hears_nothing_at_all_exits),
    IN_BOTH_ERAS(F28_M16_what_runs_at_the_end_of_the_input_may_finish),
    IN_BOTH_ERAS(F27_F28_M16_what_runs_on_and_on_is_dropped),
    IN_BOTH_ERAS(F35_M21_a_client_that_is_gone_for_good_kills_nobody),
    IN_BOTH_ERAS(F21_a_second_request_with_an_id_in_flight_is_refused),
    IN_BOTH_ERAS(F21_equal_ids_of_two_clients_never_meet),
    IN_BOTH_ERAS(C7_F31_who_asks_and_never_reads_loses_the_link),
    IN_MODERN(C7_F31_long_answers_that_nobody_reads_cost_bounded_memory),
    IN_BOTH_ERAS(C7_on_a_socket_only_who_does_not_read_loses_its_link),
    IN_BOTH_ERAS(C6_F28_who_floods_does_not_keep_others_waiting),
    IN_BOTH_ERAS(F33_F27_clients_that_hang_up_leave_nothing),
    IN_BOTH_ERAS(F38_over_the_limit_requests_are_refused_and_cancels_are_read),
};

int
main(void)
{
    (void)signal(SIGPIPE, SIG_IGN); /* ours: raw clients write into closed pipes */
    return test_main(__FILE__, cases, sizeof(cases) / sizeof(cases[0]));
}
