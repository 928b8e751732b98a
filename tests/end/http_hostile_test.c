/* http_hostile_test.c - probe-server over HTTP, and bytes that nobody should send */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "end/http_probe.h"
#include "support/messages.h"

#define CALLS 32

/* ---- one request after the other, and how they are cut ------------------- */

static char *
echo_text(struct http_probe *p, const char *id)
{
    return http_call_text(&HTTP_CALL(.era = p->way.era, .session = p->session, .id = id,
                                     .tool = "echo",
                                     .arguments = "{\"text\":\"h\xc3\xa9llo\"}"));
}

static void
expect_echo(struct http_raw *h, const char *id)
{
    const char *message = http_probe_message(h);
    char member[32];

    (void)snprintf(member, sizeof(member), "\"id\":%s", id);
    assert_int_equal(h->status, 200);
    assert_non_null(strstr(message, member));
    assert_non_null(strstr(message, "h\xc3\xa9llo"));
}

static void
E26_pipelined_requests_are_answered_in_order(void **state)
{
    struct http_probe p;
    struct http_raw h;
    char *all = calloc(CALLS, 1024);
    char id[16], *text;

    assert_non_null(all);
    http_probe_start(&p, *state);
    http_probe_open(&p, &h);
    for (int i = 0; i < CALLS; i++) {
        (void)snprintf(id, sizeof(id), "%d", 100 + i);
        text = echo_text(&p, id);
        strcat(all, text);
        free(text);
    }
    http_say(&h, all);
    for (int i = 0; i < CALLS; i++) {
        (void)snprintf(id, sizeof(id), "%d", 100 + i);
        expect_echo(&h, id);
    }
    free(all);
    http_close(&h);
    http_probe_stop(&p);
}

static void
D22_a_request_may_be_split_at_every_byte(void **state)
{
    struct http_probe p;
    struct http_raw h;
    char *text;
    size_t len;

    http_probe_start(&p, *state);
    http_probe_open(&p, &h);
    text = echo_text(&p, "7");
    len = strlen(text);
    for (size_t i = 1; i < len; i++) {
        http_write(&h, text, i);
        http_write(&h, text + i, len - i);
        expect_echo(&h, "7");
    }
    for (size_t i = 0; i < len; i++)
        http_write(&h, text + i, 1);
    expect_echo(&h, "7");
    free(text);
    http_close(&h);
    http_probe_stop(&p);
}

/* The same request with its body in chunks of that size. */
static char *
chunked_text(const char *text, size_t size)
{
    const char *body = strstr(text, "\r\n\r\n") + 4;
    char *into = calloc(1, strlen(text) * 8 + 64);
    char *at = into;
    size_t part;

    assert_non_null(into);
    for (const char *line = text; line < body - 2; line = strstr(line, "\r\n") + 2)
        if (strncmp(line, "Content-Length", 14) != 0)
            at = mempcpy(at, line, (size_t)(strstr(line, "\r\n") + 2 - line));
    at += sprintf(at, "Transfer-Encoding: chunked\r\n\r\n");
    for (; *body; body += part) {
        part = strlen(body) < size ? strlen(body) : size;
        at += sprintf(at, "%zx\r\n%.*s\r\n", part, (int)part, body);
    }
    (void)sprintf(at, "0\r\n\r\n");
    return into;
}

static void
D22_a_body_may_come_in_chunks_of_any_size(void **state)
{
    struct http_probe p;
    struct http_raw h;
    char *text, *chunked;

    http_probe_start(&p, *state);
    http_probe_open(&p, &h);
    text = echo_text(&p, "7");
    for (size_t size = 1; size < 300; size++) {
        chunked = chunked_text(text, size);
        http_say(&h, chunked);
        expect_echo(&h, "7");
        free(chunked);
    }
    free(text);
    http_close(&h);
    http_probe_stop(&p);
}

static void
D22_chunks_may_be_split_at_every_byte(void **state)
{
    struct http_probe p;
    struct http_raw h;
    char *text, *chunked;
    size_t len;

    http_probe_start(&p, *state);
    http_probe_open(&p, &h);
    text = echo_text(&p, "7");
    chunked = chunked_text(text, 16);
    len = strlen(chunked);
    for (size_t i = 1; i < len; i++) {
        http_write(&h, chunked, i);
        http_write(&h, chunked + i, len - i);
        expect_echo(&h, "7");
    }
    free(text);
    free(chunked);
    http_close(&h);
    http_probe_stop(&p);
}

/* ---- bytes behind an open answer ----------------------------------------- */

static void
E26_bytes_behind_an_open_answer_are_no_disconnect(void **state)
{
    struct http_probe p;
    struct http_raw h;
    char *next;

    http_probe_start(&p, *state);
    http_probe_call(&p, &h, "1", "deaf", "{\"seconds\":600}");
    (void)http_probe_calm(&p, 1);
    next = echo_text(&p, "2");
    http_say(&h, next);
    assert_int_equal(http_probe_stats(&p).live_handlers, 1);
    assert_int_equal(kill(p.server.pid, SIGUSR1), 0);
    assert_non_null(strstr(http_probe_message(&h), "heard nothing"));
    assert_int_equal(http_probe_stats(&p).canceled, 0);
    expect_echo(&h, "2");
    free(next);
    http_close(&h);
    http_probe_stop(&p);
}

static void
E26_too_many_bytes_behind_an_open_answer_are_a_disconnect(void **state)
{
    static char junk[1 << 20];
    struct http_way way = *(struct http_way *)*state;
    struct http_probe p;
    struct http_raw h;

    way.more = "--patience"; /* in a session it runs on, until the server stops */
    way.value = "50";
    http_probe_start(&p, &way);
    http_probe_call(&p, &h, "1", "hang_async", "{\"seconds\":600}");
    (void)http_probe_calm(&p, 1);
    memset(junk, 'x', sizeof(junk));
    (void)http_push(&h, junk, sizeof(junk));
    http_expect_end(&h);
    http_close(&h);
    if (p.way.era != MCP_ERA_LEGACY || p.way.stateless)
        assert_int_equal(http_probe_calm(&p, 0).canceled, 1);
    http_probe_alive(&p);
    http_probe_stop(&p);
}

/* ---- clients that leave in each phase ------------------------------------ */

static void
D22_E3_a_reset_in_any_phase_costs_one_request(void **state)
{
    struct http_probe p;
    struct probe_stats before;
    struct http_raw h;
    char *text;
    size_t len;

    http_probe_start(&p, *state);
    before = http_probe_stats(&p);
    text = echo_text(&p, "7");
    len = strlen(text);
    for (size_t i = 0; i <= len; i += 3) {
        http_probe_open(&p, &h);
        http_write(&h, text, i);
        if (i % 2)
            http_reset(&h);
        else
            http_close(&h);
    }
    for (size_t i = 0; i < len; i += 7) { /* in order, in mid-request */
        http_probe_open(&p, &h);
        http_write(&h, text, i);
        http_shut(&h);
        http_expect_end(&h);
        http_close(&h);
    }
    free(text);
    (void)http_probe_rest(&p, before.open_fds);
    http_probe_alive(&p);
    http_probe_stop(&p);
}

static void
D22_a_broken_handshake_costs_one_connection(void **state)
{
    static const char *const words[] = {"",
                                        "\x16",
                                        "\x16\x03\x01\x02",
                                        "GET / HTTP/1.1\r\n",
                                        "\x80\x80\x80\x80\x80\x80",
                                        "\x15\x03\x03"};
    struct http_probe p;
    struct probe_stats before;
    struct http_raw h;

    http_probe_start(&p, *state);
    before = http_probe_stats(&p);
    for (size_t i = 0; i < 3 * sizeof(words) / sizeof(words[0]); i++) {
        http_open(&h, p.port, NULL); /* plain, to a server that wants TLS */
        http_say(&h, words[i / 3]);
        if (i % 3 == 0)
            http_reset(&h);
        else if (i % 3 == 1)
            http_shut(&h), http_expect_end(&h), http_close(&h);
        else
            http_close(&h);
    }
    (void)http_probe_rest(&p, before.open_fds);
    http_probe_alive(&p);
    http_probe_stop(&p);
}

/* ---- what is refused ----------------------------------------------------- */

#define LINE "POST /mcp HTTP/1.1\r\n"
#define HOST "Host: 127.0.0.1\r\n"
#define TYPES                            \
    "Content-Type: application/json\r\n" \
    "Accept: application/json, text/event-stream\r\n"
#define VERSION "MCP-Protocol-Version: 2026-07-28\r\n"
#define NAMES "Mcp-Method: tools/call\r\nMcp-Name: echo\r\n"
#define BODY                   \
    REQUEST("7", "tools/call", \
            "{\"name\":\"echo\",\"arguments\":{\"text\":\"x\"}," STAMP "}")

static const struct {
    const char *head; /* without its length and its end; or whole, with body NULL */
    const char *body;
    int status, or_status; /* two: both are right */
    int code;              /* of the JSON-RPC error; 0: not looked at */
    bool ends;             /* the connection must end with it */
} refusals[] = {
    /* smuggling: what one reader sees as one request and another as two */
    {LINE HOST TYPES "Content-Length: 5\r\nContent-Length: 5\r\n\r\n{}{}{", NULL, 400,
     0, 0, true},
    {LINE HOST TYPES "Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}{}{", NULL, 400,
     0, 0, true},
    {LINE HOST TYPES "Content-Length: 5, 5\r\n\r\n{}{}{", NULL, 400, 0, 0, true},
    {LINE HOST TYPES "Content-Length: +5\r\n\r\n{}{}{", NULL, 400, 0, 0, true},
    {LINE HOST TYPES "Content-Length: -5\r\n\r\n{}{}{", NULL, 400, 0, 0, true},
    {LINE HOST TYPES "Content-Length: 0x5\r\n\r\n{}{}{", NULL, 400, 0, 0, true},
    {LINE HOST TYPES "Content-Length: 5 5\r\n\r\n{}{}{", NULL, 400, 0, 0, true},
    {LINE HOST TYPES "Content-Length:\r\n\r\n{}{}{", NULL, 400, 0, 0, true},
    {LINE HOST TYPES "Content-Length: 99999999999999999999999\r\n\r\n{}", NULL, 400,
     413, 0, true},
    {LINE HOST TYPES "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     NULL, 400, 0, 0, true},
    {LINE HOST TYPES "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
     NULL, 400, 0, 0, true},
    {LINE HOST TYPES
     "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     NULL, 400, 501, 0, true},
    {LINE HOST TYPES "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", NULL, 400,
     501, 0, true},
    {LINE HOST TYPES "Transfer-Encoding: chunked, gzip\r\n\r\n0\r\n\r\n", NULL, 400,
     501, 0, true},
    {LINE HOST TYPES "Transfer-Encoding: \x0b"
                     "chunked\r\n\r\n0\r\n\r\n",
     NULL, 400, 501, 0, true},
    {LINE HOST TYPES "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", NULL, 400, 0, 0,
     true},
    {LINE HOST TYPES "Transfer-Encoding: chunked\r\n\r\nzz\r\n", NULL, 400, 0, 0, true},
    {LINE HOST TYPES "Transfer-Encoding: chunked\r\n\r\n-1\r\n", NULL, 400, 0, 0, true},
    {LINE HOST TYPES "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n", NULL,
     400, 413, 0, true},
    {LINE HOST TYPES "Transfer-Encoding: chunked\r\n\r\n2\r\n{}x\r\n", NULL, 400, 0, 0,
     true},
    {LINE TYPES "Content-Length: 2\r\n\r\n{}", NULL, 400, 0, 0, true},
    {LINE HOST HOST TYPES "Content-Length: 2\r\n\r\n{}", NULL, 400, 0, 0, true},
    {LINE HOST "X: a\r\n b\r\n" TYPES "Content-Length: 2\r\n\r\n{}", NULL, 400, 0, 0,
     true},
    {LINE HOST "X: a\rb\r\n" TYPES "Content-Length: 2\r\n\r\n{}", NULL, 400, 0, 0,
     true},
    {"POST /mcp HTTP/1.1\nHost: 127.0.0.1\nContent-Length: 2\n\n{}", NULL, 400, 505, 0,
     true},
    {LINE "Host: 127.0.0.1\nX: b\r\n" TYPES "Content-Length: 2\r\n\r\n{}", NULL, 400, 0,
     0, true},
    {LINE HOST ": empty\r\n\r\n", NULL, 400, 0, 0, true},
    {LINE HOST "X y: b\r\n\r\n", NULL, 400, 0, 0, true},
    {"POST /mcp HTTP/2.0\r\n" HOST "\r\n", NULL, 505, 400, 0, true},
    {"POST /mcp HTTP/0.9\r\n" HOST "\r\n", NULL, 505, 400, 0, true},
    {"POST /mcp\r\n" HOST "\r\n", NULL, 400, 505, 0, true},
    {"CONNECT 127.0.0.1:80 HTTP/1.1\r\n" HOST "\r\n", NULL, 501, 400, 0, true},
    {"NONSENSE /mcp HTTP/1.1\r\n" HOST "\r\n", NULL, 400, 501, 0, true},
    {"\x01\x02\x03\x04\r\n\r\n", NULL, 400, 0, 0, true},
    /* not ours */
    {"POST /mcp HTTP/1.1\r\nHost: evil.example\r\n" TYPES VERSION NAMES, BODY, 403, 0,
     0, false},
    {LINE HOST "Origin: http://evil.example\r\n" TYPES VERSION NAMES, BODY, 403, 0, 0,
     false},
    {LINE HOST "Origin: null\r\n" TYPES VERSION NAMES, BODY, 403, 0, 0, false},
    {"POST /other HTTP/1.1\r\n" HOST TYPES VERSION NAMES, BODY, 404, 0, 0, false},
    {"PUT /mcp HTTP/1.1\r\n" HOST TYPES VERSION NAMES, BODY, 405, 0, 0, false},
    {LINE HOST "Content-Type: application/json\r\nAccept: text/html\r\n" VERSION NAMES,
     BODY, 406, 0, 0, false},
    {LINE HOST "Content-Type: text/plain\r\n"
               "Accept: application/json, text/event-stream\r\n" VERSION NAMES,
     BODY, 415, 0, 0, false},
    {LINE HOST TYPES VERSION "Content-Length: 17000000\r\n\r\n{", NULL, 413, 0, 0,
     true},
    /* a header that does not say what the body says, or says it twice */
    {LINE HOST TYPES VERSION "Mcp-Method: tools/list\r\nMcp-Name: echo\r\n", BODY, 400,
     0, -32020, false},
    {LINE HOST TYPES VERSION "Mcp-Method: tools/call\r\nMcp-Name: add\r\n", BODY, 400,
     0, -32020, false},
    {LINE HOST TYPES VERSION "Mcp-Method: tools/call\r\n", BODY, 400, 0, -32020, false},
    {LINE HOST TYPES VERSION "Mcp-Name: echo\r\n", BODY, 400, 0, -32020, false},
    {LINE HOST TYPES VERSION NAMES "Mcp-Name: add\r\n", BODY, 400, 0, -32020, false},
    {LINE HOST TYPES VERSION NAMES "Mcp-Method: tools/list\r\n", BODY, 400, 0, -32020,
     false},
    {LINE HOST TYPES VERSION "MCP-Protocol-Version: 2025-11-25\r\n" NAMES, BODY, 400, 0,
     -32020, false},
    {LINE HOST TYPES NAMES, BODY, 400, 0, -32020, false},
    {LINE HOST TYPES "MCP-Protocol-Version: 2025-11-25\r\n" NAMES, BODY, 400, 0, -32020,
     false},
    {LINE HOST TYPES "MCP-Protocol-Version: v999\r\n", LEGACY_CALL("7"), 400, 0, -32022,
     false},
    /* no message */
    {LINE HOST TYPES VERSION NAMES, "{", 400, 0, -32700, false},
    {LINE HOST TYPES VERSION NAMES, "[]", 400, 0, -32600, false},
    {LINE HOST TYPES VERSION NAMES, "\xff", 400, 0, -32700, false},
    {LINE HOST TYPES VERSION NAMES, "", 400, 0, -32700, false},
    /* no session of ours */
    {LINE HOST TYPES "MCP-Protocol-Version: 2025-11-25\r\nMcp-Session-Id: nobody\r\n",
     LEGACY_CALL("7"), 404, 0, 0, false},
    {LINE HOST TYPES "MCP-Protocol-Version: 2025-11-25\r\n", LEGACY_CALL("7"), 400, 0,
     0, false},
    {"GET /mcp HTTP/1.1\r\n" HOST "Accept: text/event-stream\r\n\r\n", NULL, 400, 405,
     0, false},
    {"DELETE /mcp HTTP/1.1\r\n" HOST "\r\n", NULL, 400, 405, 0, false},
};

static void
refusal_say(struct http_raw *h, size_t i)
{
    char length[64];

    http_say(h, refusals[i].head);
    if (!refusals[i].body)
        return;
    (void)snprintf(length, sizeof(length), "Content-Length: %zu\r\n\r\n",
                   strlen(refusals[i].body));
    http_say(h, length);
    http_say(h, refusals[i].body);
}

static void
refusal_expect(struct http_raw *h, size_t i)
{
    char code[32];

    (void)snprintf(code, sizeof(code), "\"code\":%d", refusals[i].code);
    (void)http_answer(h);
    if (h->status != refusals[i].status &&
        (refusals[i].or_status == 0 || h->status != refusals[i].or_status))
        fail_msg("%d instead of %d for %s", h->status, refusals[i].status,
                 refusals[i].head);
    if (!strstr(h->body, "\"jsonrpc\":\"2.0\"") || !strstr(h->body, "\"error\""))
        fail_msg("no JSON-RPC error for %s", refusals[i].head);
    if (refusals[i].code != 0 && !strstr(h->body, code))
        fail_msg("no %s in %s for %s", code, h->body, refusals[i].head);
}

static void
C11_what_is_wrong_is_refused_and_nobody_else_notices(void **state)
{
    struct http_probe p;
    struct http_raw h, good;

    http_probe_start(&p, *state);
    http_probe_open(&p, &good);
    for (size_t i = 0; i < sizeof(refusals) / sizeof(refusals[0]); i++) {
        http_probe_open(&p, &h);
        refusal_say(&h, i);
        refusal_expect(&h, i);
        if (refusals[i].ends) {
            http_expect_end(&h); /* nobody knows where the next request would begin */
        } else if (!h.ended && http_field(&h, "Connection") == NULL) {
            http_probe_alive_on(&p, &h);
        }
        http_close(&h);
        http_probe_alive_on(&p, &good);
    }
    http_close(&good);
    http_probe_stop(&p);
}

static void
C11_a_head_without_an_end_is_refused(void **state)
{
    char line[1024];
    struct http_probe p;
    struct http_raw h;

    http_probe_start(&p, *state);
    http_probe_open(&p, &h);
    http_say(&h, LINE HOST);
    memset(line, 'x', sizeof(line));
    memcpy(line, "X-Long: ", 8);
    memcpy(line + sizeof(line) - 3, "\r\n", 3);
    for (int i = 0; i < 256 && http_push(&h, line, strlen(line)); i++)
        if (h.ended || !http_wait(&h, 0))
            break;
    assert_int_equal(http_head(&h), 431);
    http_close(&h);
    http_probe_alive(&p);
    http_probe_stop(&p);
}

static void
C11_one_line_without_an_end_is_refused(void **state)
{
    static char junk[1 << 18];
    struct http_probe p;
    struct http_raw h;

    http_probe_start(&p, *state);
    for (int i = 0; i < 2; i++) {
        http_probe_open(&p, &h);
        http_say(&h, i ? LINE "X: " : "POST /");
        memset(junk, 'x', sizeof(junk));
        (void)http_push(&h, junk, sizeof(junk));
        http_expect_end(&h);
        http_close(&h);
    }
    http_probe_alive(&p);
    http_probe_stop(&p);
}

/* ---- slow ones ----------------------------------------------------------- */

#define SLOW 100

static void
C6_clients_that_never_finish_their_head_are_turned_away(void **state)
{
    static struct http_raw slow[SLOW];
    const struct timespec moment = {0, 50000000};
    int64_t start = now_ms();
    struct probe_stats before;
    struct http_probe p;
    int open = SLOW;

    http_probe_start(&p, *state);
    before = http_probe_stats(&p);
    for (int i = 0; i < SLOW; i++)
        http_probe_open(&p, &slow[i]);
    while (open > 0 && now_ms() - start < AWAIT_MS) { /* a byte now and then */
        open = 0;
        for (int i = 0; i < SLOW; i++)
            if (http_wait(&slow[i], 0) && http_push(&slow[i], "P", 1))
                open++;
        http_probe_alive(&p);
        nanosleep(&moment, NULL);
    }
    assert_int_equal(open, 0);
    for (int i = 0; i < SLOW; i++)
        http_close(&slow[i]);
    (void)http_probe_rest(&p, before.open_fds);
    http_probe_stop(&p);
}

TEST_MAIN(ON_ALL(E26_pipelined_requests_are_answered_in_order),
          ON_ALL(D22_a_request_may_be_split_at_every_byte),
          ON_ALL(D22_a_body_may_come_in_chunks_of_any_size),
          ON_MODERN(D22_chunks_may_be_split_at_every_byte),
          ON_MODERN_TLS(D22_chunks_may_be_split_at_every_byte),
          ON_LEGACY(D22_chunks_may_be_split_at_every_byte),
          ON_ALL(E26_bytes_behind_an_open_answer_are_no_disconnect),
          ON_ALL(E26_too_many_bytes_behind_an_open_answer_are_a_disconnect),
          ON_ALL(D22_E3_a_reset_in_any_phase_costs_one_request),
          ON_MODERN_TLS(D22_a_broken_handshake_costs_one_connection),
          ON_MODERN(C11_what_is_wrong_is_refused_and_nobody_else_notices),
          ON_MODERN_JSON(C11_what_is_wrong_is_refused_and_nobody_else_notices),
          ON_MODERN_TLS(C11_what_is_wrong_is_refused_and_nobody_else_notices),
          ON_ALL(C11_a_head_without_an_end_is_refused),
          ON_ALL(C11_one_line_without_an_end_is_refused),
          ON_MODERN(C6_clients_that_never_finish_their_head_are_turned_away))
