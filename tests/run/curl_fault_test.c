/* run/curl_fault_test.c - all that can go wrong, and what is said of it */
#include "run/curl_fixture.h"

#include <sys/resource.h>

/* ---- no connection ---------------------------------------------------------- */

static void
expect_unsent(struct answer *a)
{
    assert_true(a->faulty);
    assert_int_equal(a->fault.status, MCP_E_SEND_FAILED);
    assert_true(a->fault.unsent);
    assert_int_equal(a->sent + a->heads + a->bodies, 0);
}

static void
B5_nobody_listens(void **state)
{
    struct answer a = {.w = NULL};
    struct http_script other;
    struct world w;

    (void)state;
    world_open(&w);
    http_script_open(&other, NULL, NULL);
    http_script_close(&other);
    answer_start_as(&a, &w, fetch_options("POST", other.url, "{}"));
    world_until(&w, &a.ended, 1);
    expect_unsent(&a);
    assert_non_null(strstr(a.why, "127.0.0.1"));
    assert_non_null(strstr(a.why, "Connection refused"));
    world_close(&w);
}

static void
B5_no_descriptors_are_left(void **state)
{
    struct answer a = {.w = NULL};
    struct rlimit before, few;
    struct world w;
    struct visit v;

    (void)state;
    world_open(&w);
    world_step(&w, 1);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = 3;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    answer_post(&a, &w, "{}");
    world_until(&w, &a.ended, 1);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    expect_unsent(&a);
    assert_non_null(strstr(a.why, "Too many open files"));
    memset(&a, 0, sizeof(a));
    answer_post(&a, &w, "{}"); /* and later there are some */
    visit_accept(&v, &w.script);
    visit_read(&v);
    visit_answer(&v, "200 OK", NULL, "");
    world_until(&w, &a.ended, 1);
    assert_false(a.faulty);
    visit_close(&v);
    world_close(&w);
}

static void
B5_nobody_answers_in_time(void **state)
{
    struct mcpi_curl_options opt = {.connect_us = 50000};
    struct answer fill[3], a = {.w = NULL};
    struct world w;

    (void)state;
    memset(fill, 0, sizeof(fill));
    world_open_as(&w, opt, NULL);
    http_script_listen(&w.script, 0);
    for (int i = 0; i < 3; i++) /* a backlog of 0 takes two at the most */
        answer_post(&fill[i], &w, "{}");
    answer_post(&a, &w, "{}");
    world_until(&w, &a.ended, 1);
    expect_unsent(&a);
    world_close(&w);
}

static void
B5_a_greeting_that_does_not_come(void **state)
{
    struct mcpi_curl_options opt = {.connect_us = 50000};
    struct answer a = {.w = NULL};
    struct tls_pair pair;
    struct world w;
    struct visit v;

    (void)state;
    tls_pair_make(&pair);
    world_open_as(&w, opt, &pair);
    answer_post(&a, &w, "{}");
    visit_accept_plain(&v, &w.script);
    world_until(&w, &a.ended, 1);
    expect_unsent(&a);
    visit_await_gone(&v);
    visit_close(&v);
    world_close(&w);
    tls_pair_remove(&pair);
}

static void
B5_no_greeting_but_something_else(void **state)
{
    struct answer a = {.w = NULL};
    struct tls_pair pair;
    struct world w;
    struct visit v;

    (void)state;
    tls_pair_make(&pair);
    world_open_as(&w, (struct mcpi_curl_options){.loop = NULL}, &pair);
    answer_post(&a, &w, "{}");
    visit_accept_plain(&v, &w.script);
    visit_say(&v, "HTTP/1.1 400 Bad Request\r\n\r\n");
    world_until(&w, &a.ended, 1);
    expect_unsent(&a);
    visit_close(&v);
    world_close(&w);
    tls_pair_remove(&pair);
}

static void
B5_a_name_that_nobody_knows(void **state)
{
    struct answer a = {.w = NULL};
    struct world w;

    (void)state;
    world_open(&w);
    answer_start_as(&a, &w, fetch_options("POST", "http://nobody.invalid/", "{}"));
    world_until(&w, &a.ended, 1);
    expect_unsent(&a);
    assert_non_null(strstr(a.why, "nobody.invalid"));
    world_close(&w);
}

/* ---- lost ------------------------------------------------------------------- */

enum how { RESET, CLOSE };

/* What was said before the connection was lost, or what is no HTTP. */
struct loss {
    const char *name, *said;
    int heads, status;
};

static const struct loss losses[] = {
    {"before_a_byte", "", 0, MCP_E_CLOSED},
    {"in_the_first_line", "HTTP/1.", 0, MCP_E_CLOSED},
    {"in_the_head", "HTTP/1.1 200 OK\r\nContent-", 0, MCP_E_CLOSED},
    {"after_a_provisional_head", "HTTP/1.1 100 Continue\r\n\r\n", 0, MCP_E_CLOSED},
    {"before_the_body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", 1,
     MCP_E_CLOSED},
    {"in_the_body", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", 1, MCP_E_CLOSED},
    {"in_a_stream", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", 1,
     MCP_E_CLOSED},
    {"in_a_chunk", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc", 1,
     MCP_E_CLOSED},
    {"before_the_last_chunk",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", 1,
     MCP_E_CLOSED},
};

static void
lose(const struct loss *loss, enum how how, const struct tls_pair *pair)
{
    struct mcpi_curl_options opt = {.no_verify = true};
    struct answer a = {.w = NULL};
    struct world w;
    struct visit v;

    world_open_as(&w, opt, pair);
    answer_post(&a, &w, "{}");
    visit_accept(&v, &w.script);
    visit_read(&v);
    visit_say(&v, loss->said);
    world_until(&w, &a.sent, 1);
    world_until(&w, &a.heads, loss->heads);
    world_step(&w, 3);
    if (how == RESET)
        visit_reset(&v);
    else
        visit_close(&v);
    world_until(&w, &a.ended, 1);
    assert_true(a.faulty);
    assert_int_equal(a.fault.status, loss->status);
    assert_false(a.fault.unsent);
    assert_int_equal(a.heads, loss->heads);
    world_close(&w);
}

static void
a_connection_that_is_reset(void **state)
{
    lose(*state, RESET, NULL);
}

static void
a_connection_that_is_closed(void **state)
{
    lose(*state, CLOSE, NULL);
}

static void
a_connection_that_is_reset_under_tls(void **state)
{
    struct tls_pair pair;

    tls_pair_make(&pair);
    lose(*state, RESET, &pair);
    tls_pair_remove(&pair);
}

static void
B6_a_reset_while_it_is_sent(void **state)
{
    size_t len = 40000000;
    struct answer a = {.w = NULL};
    char *body = malloc(len + 1);
    struct world w;
    struct visit v;

    (void)state;
    assert_non_null(body);
    memset(body, 'x', len);
    body[len] = '\0';
    world_open(&w);
    answer_post(&a, &w, body);
    free(body);
    visit_accept(&v, &w.script);
    visit_read_head(&v);
    visit_reset(&v);
    world_until(&w, &a.ended, 1);
    assert_int_equal(a.fault.status, MCP_E_SEND_FAILED);
    assert_false(a.fault.unsent);
    assert_int_equal(a.sent, 0);
    world_close(&w);
}

/* ---- what is no HTTP -------------------------------------------------------- */

static const struct loss garbage[] = {
    {"no_status_line", "SSH-2.0-OpenSSH_9.2\r\n", 0, MCP_E_PROTO},
    {"binary", "\x15\x03\x01\x02\x02\x16\x01\x02\n", 0, MCP_E_PROTO},
    {"a_bare_body", "{\"jsonrpc\":\"2.0\"}\n", 0, MCP_E_PROTO},
    {"a_status_that_is_none", "HTTP/1.1 2xx OK\r\n\r\n", 0, MCP_E_PROTO},
    {"a_version_that_is_none", "HTTP/7.1 200 OK\r\n\r\n", 0, MCP_E_PROTO},
    {"a_length_that_is_none", "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", 0,
     MCP_E_PROTO},
    {"a_chunk_that_is_none",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", 1, MCP_E_PROTO},
    {"a_coding_nobody_asked_for",
     "HTTP/1.1 200 OK\r\nTransfer-Encoding: secret\r\n\r\nxyz\r\n", 1, MCP_E_PROTO},
};

static void
an_answer_with(void **state)
{
    const struct loss *loss = *state;
    struct answer a = {.w = NULL};
    struct world w;
    struct visit v;

    world_open(&w);
    answer_post(&a, &w, "{}");
    visit_accept(&v, &w.script);
    visit_read(&v);
    visit_say(&v, loss->said);
    world_until(&w, &a.ended, 1);
    if (a.fault.status != loss->status)
        fail_msg("%d: %s", a.fault.status, a.why);
    assert_false(a.fault.unsent);
    visit_await_gone(&v);
    visit_close(&v);
    world_close(&w);
}

int
main(void)
{
    enum {
        LOSSES = sizeof(losses) / sizeof(losses[0]),
        GARBAGE = sizeof(garbage) / sizeof(garbage[0]),
    };
    static const struct {
        const char *name;
        void (*run)(void **state);
    } ways[] = {{"reset", a_connection_that_is_reset},
                {"closed", a_connection_that_is_closed},
                {"tls_reset", a_connection_that_is_reset_under_tls}};
    static const struct test_case own[] = {
        TEST(B5_nobody_listens),
        TEST(B5_no_descriptors_are_left),
        TEST(B5_nobody_answers_in_time),
        TEST(B5_a_greeting_that_does_not_come),
        TEST(B5_no_greeting_but_something_else),
        TEST(B5_a_name_that_nobody_knows),
        TEST(B6_a_reset_while_it_is_sent),
    };
    static struct test_case cases[8 + LOSSES * 3 + GARBAGE];
    static char names[LOSSES * 3 + GARBAGE][64];
    size_t count = 0, name = 0;

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        cases[count++] = own[i];
    for (size_t i = 0; i < LOSSES * 3; i++, name++) {
        (void)snprintf(names[name], sizeof(names[0]), "%s_%s", ways[i % 3].name,
                       losses[i / 3].name);
        cases[count++] = (struct test_case){names[name], ways[i % 3].run,
                                            (void *)(uintptr_t)&losses[i / 3]};
    }
    for (size_t i = 0; i < GARBAGE; i++, name++) {
        (void)snprintf(names[name], sizeof(names[0]), "garbage_%s", garbage[i].name);
        cases[count++] = (struct test_case){names[name], an_answer_with,
                                            (void *)(uintptr_t)&garbage[i]};
    }
    return test_main(__FILE__, cases, count);
}
