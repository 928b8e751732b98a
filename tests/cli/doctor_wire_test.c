/* doctor_wire_test.c - proves cli/doctor_wire.c: bytes as they are, plain and under TLS */
#include "cli/doctor_wire.h"

#include <string.h>

#include "cli/canned.h"
#include "cli/program.h"
#include "support/curl_warm.h"
#include "support/tls_pair.h"

/* All that comes until the end; returns why there is no more. */
static int
read_all(struct cli_wire *wire, char *into, size_t room)
{
    size_t used = 0, n;
    mcp_error err;
    int r;

    do {
        r = cli_wire_read(wire, into + used, room - 1 - used, &n, &err);
        used += r == 0 ? n : 0;
    } while (r == 0 && n > 0);
    into[used] = '\0';
    return r;
}

static void
bytes_go_and_come_as_they_are(void **state)
{
    static const char request[] = "GARBAGE of mine\r\n\r\n";
    struct canned canned = {.answers = {"and of theirs"}};
    const struct cli_way way = {.timeout_ms = AWAIT_MS};
    struct cli_wire wire;
    mcp_error err;
    char came[64];

    (void)state;
    canned_open(&canned);
    assert_int_equal(cli_wire_open(&wire, canned.url, &way, &err), 0);
    assert_int_equal(cli_wire_send(&wire, request, strlen(request), &err), 0);
    assert_int_equal(read_all(&wire, came, sizeof(came)), 0);
    assert_string_equal(came, "and of theirs");
    cli_wire_close(&wire);
    canned_close(&canned);
    assert_string_equal(canned.requests[0], request);
}

static void
nobody_there_is_told_apart_from_silence(void **state)
{
    struct canned canned = {.answers = {NULL}};
    const struct cli_way way = {.timeout_ms = AWAIT_MS}, soon = {.timeout_ms = 1};
    struct cli_wire wire;
    mcp_error err;
    char came[64];

    (void)state;
    canned_open(&canned); /* listens, and accepts nobody */
    assert_int_equal(cli_wire_open(&wire, canned.url, &way, &err), 0);
    wire.until = 0;
    assert_int_equal(read_all(&wire, came, sizeof(came)), MCP_E_TIMEOUT);
    cli_wire_close(&wire);
    canned_close(&canned);
    assert_int_equal(cli_wire_open(&wire, canned.url, &way, &err), MCP_E_SEND_FAILED);
    assert_non_null(strstr(err.message, "there is no connection: "));
    assert_int_equal(cli_wire_open(&wire, "ftp://127.0.0.1:1", &soon, &err),
                     MCP_E_SEND_FAILED);
}

static void
the_end_of_the_scope_ends_a_wait(void **state)
{
    struct canned canned = {.answers = {NULL}};
    struct cli_way way = {.timeout_ms = AWAIT_MS};
    struct cli_wire wire;
    mcp_error err;
    char came[64];

    (void)state;
    assert_int_equal(mcp_scope_new(NULL, &way.scope), 0);
    canned_open(&canned);
    assert_int_equal(cli_wire_open(&wire, canned.url, &way, &err), 0);
    mcp_scope_cancel(way.scope, "that is enough");
    assert_int_equal(read_all(&wire, came, sizeof(came)), MCP_E_CANCELED);
    cli_wire_close(&wire);
    canned_close(&canned);
    mcp_scope_free(way.scope);
}

static void
who_vouches_for_a_server_is_looked_at(void **state)
{
    struct cli_way way = {.timeout_ms = AWAIT_MS};
    struct cli_wire wire;
    struct tls_pair pair;
    const char *url;
    mcp_error err;

    (void)state;
    tls_pair_make(&pair);
    url = probe_https(pair.certificate, pair.key);
    assert_int_equal(cli_wire_open(&wire, url, &way, &err), MCP_E_SEND_FAILED);
    way.ca = pair.certificate;
    assert_int_equal(cli_wire_open(&wire, url, &way, &err), 0);
    cli_wire_close(&wire);
    way = (struct cli_way){.timeout_ms = AWAIT_MS, .insecure = true};
    assert_int_equal(cli_wire_open(&wire, url, &way, &err), 0);
    cli_wire_close(&wire);
    probe_stop();
    tls_pair_remove(&pair);
}

TEST_MAIN(TEST(bytes_go_and_come_as_they_are),
          TEST(nobody_there_is_told_apart_from_silence),
          TEST(the_end_of_the_scope_ends_a_wait),
          TEST(who_vouches_for_a_server_is_looked_at))
