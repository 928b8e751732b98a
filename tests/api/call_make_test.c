/* call_make_test.c - what is asked: checked before anything is sent, and sent as it is
 * */
#include <mcp/client.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/script.h"
#include "support/test.h"

struct fixture {
    struct test_mem mem;
    struct script s;
    mcp_client *client;
};

static void
fixture_open(struct fixture *f)
{
    test_mem_init(&f->mem);
    script_open(&f->s, MCP_ERA_MODERN);
    f->client = script_client(
        &f->s, &SCRIPT_OPTIONS(.allocator = &f->mem.allocator, .message_bytes = 4096));
}

static void
fixture_close(struct fixture *f)
{
    mcp_client_free(f->client);
    script_close(&f->s);
    test_mem_done(&f->mem);
}

static void
assert_has(const char *line, const char *part)
{
    if (!strstr(line, part))
        fail_msg("%s is not in %s", part, line);
}

/* Refused with this, in these words, and nothing was sent. */
static void
assert_refused(struct fixture *f, const char *params, const mcp_call_options *opt,
               int r, const char *words)
{
    mcp_error err;
    size_t before = script_count(&f->s, "");

    assert_int_equal(mcp_client_call(f->client, "x/y", params, opt, NULL, &err), r);
    assert_string_equal(err.message, words);
    assert_int_equal(mcp_client_ping(f->client, NULL, NULL), 0);
    assert_int_equal(script_count(&f->s, ""), before + 1);
}

static void
params_must_be_an_object(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_refused(&f, "[1]", NULL, MCP_E_INVAL, "params: not a JSON object");
    assert_refused(&f, "", NULL, MCP_E_INVAL, "params: not valid JSON");
    assert_refused(&f, "{\"a\":}", NULL, MCP_E_INVAL, "params: not valid JSON");
    assert_refused(&f, "{} {}", NULL, MCP_E_INVAL, "params: not valid JSON");
    assert_refused(&f, "{\"a\":1,\"a\":2}", NULL, MCP_E_INVAL,
                   "params: a key stands twice");
    assert_refused(&f, "{\"_meta\":{}}", NULL, MCP_E_INVAL,
                   "params: _meta is given in the options, as meta");
    fixture_close(&f);
}

static void
C3_params_with_line_breaks_go_out_on_one_line(void **state)
{
    struct fixture f;
    mcp_error err;

    (void)state;
    fixture_open(&f);
    assert_int_equal(mcp_client_call(f.client, "x/y",
                                     "\n {\n\t\"big\": 123456789012345678901234567890,"
                                     "\r\n \"text\": \"a\\nb\" }\n ",
                                     NULL, NULL, &err),
                     MCP_E_PEER);
    assert_has(script_line(&f.s, "x/y", 1),
               "\"params\":{  \"big\": 123456789012345678901234567890,   "
               "\"text\": \"a\\nb\" ,\"_meta\"");
    fixture_close(&f);
}

static void
meta_must_be_an_object_of_the_callers_own(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_refused(&f, NULL, &MCP_CALL_OPTIONS(.meta = "7"), MCP_E_INVAL,
                   "meta: not a JSON object");
    assert_refused(&f, NULL, &MCP_CALL_OPTIONS(.meta = "{\"progressToken\":1}"),
                   MCP_E_INVAL, "meta: progressToken is the library's own to set");
    fixture_close(&f);
}

static void
A2_an_id_goes_out_as_it_is(void **state)
{
    static const mcp_id ids[] = {MCP_TEXT_ID("7"), MCP_TEXT_ID("\xc3\xa9\n\"\\"),
                                 MCP_NUMBER_ID(INT64_MIN), MCP_TEXT_ID(""),
                                 MCP_NUMBER_ID(0)};
    static const char *const texts[] = {"\"7\"", "\"\xc3\xa9\\n\\\"\\\\\"",
                                        "-9223372036854775808", "\"\"", "0"};
    struct fixture f;
    mcp_call *call;
    char part[64];
    size_t i;

    (void)state;
    fixture_open(&f);
    for (i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        assert_int_equal(mcp_client_start(f.client, "x/y", NULL,
                                          &MCP_CALL_OPTIONS(.id = ids[i]), NULL, NULL,
                                          &call),
                         0);
        assert_string_equal(mcp_call_id(call), texts[i]); /* A3, A11 */
        snprintf(part, sizeof part, "\"id\":%s,\"method\":\"x/y\"", texts[i]);
        script_line(&f.s, part, 1);
        assert_int_equal(mcp_call_wait(call, MCP_TIMEOUT_NONE, NULL, NULL), MCP_E_PEER);
        mcp_call_free(call);
    }
    fixture_close(&f);
}

static void
an_id_that_is_none_is_refused(void **state)
{
    char text[514];
    struct fixture f;

    (void)state;
    fixture_open(&f);
    memset(text, 'i', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    assert_refused(&f, NULL, &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID(text)), MCP_E_INVAL,
                   "id: there must be a text of at most 512 bytes");
    assert_refused(&f, NULL, &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID(NULL)), MCP_E_INVAL,
                   "id: there must be a text of at most 512 bytes");
    assert_refused(&f, NULL, &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("\xff")), MCP_E_INVAL,
                   "id: not UTF-8");
    assert_refused(&f, NULL, &MCP_CALL_OPTIONS(.id = {(enum mcp_id_type)9, 0, NULL}),
                   MCP_E_INVAL, "id: of no type that there is");
    text[512] = '\0';
    assert_int_equal(mcp_client_call(f.client, "x/y", NULL,
                                     &MCP_CALL_OPTIONS(.id = MCP_TEXT_ID(text)), NULL,
                                     NULL),
                     MCP_E_PEER);
    fixture_close(&f);
}

static void
other_nonsense_is_refused(void **state)
{
    mcp_call_options larger = MCP_CALL_OPTIONS();
    struct fixture f;

    (void)state;
    fixture_open(&f);
    assert_refused(&f, NULL, &MCP_CALL_OPTIONS(.timeout_ms = -2), MCP_E_INVAL,
                   "a time must not be negative");
    assert_refused(&f, NULL, &MCP_CALL_OPTIONS(.total_ms = -2), MCP_E_INVAL,
                   "a time must not be negative");
    larger.size = 1;
    assert_refused(&f, NULL, &larger, MCP_E_INVAL, "these are no options of a call");
    assert_int_equal(mcp_client_start(f.client, "", NULL, NULL, NULL, NULL, NULL),
                     MCP_E_INVAL);
    assert_int_equal(mcp_client_start(f.client, "\xff", NULL, NULL, NULL, NULL, NULL),
                     MCP_E_INVAL);
    assert_int_equal(mcp_client_start(f.client, NULL, NULL, NULL, NULL, NULL, NULL),
                     MCP_E_INVAL);
    assert_int_equal(mcp_client_start(NULL, "x", NULL, NULL, NULL, NULL, NULL),
                     MCP_E_INVAL);
    fixture_close(&f);
}

static void
what_is_longer_than_a_message_is_refused(void **state)
{
    char text[5000];
    struct fixture f;

    (void)state;
    fixture_open(&f);
    snprintf(text, sizeof text, "{\"a\":\"%*d\"}", 4096, 1);
    assert_refused(&f, text, NULL, MCP_E_LIMIT, "params: limit reached");
    fixture_close(&f);
}

/* Every allocation of one blocking call, in turn. What the loop's side cannot have ends
 * the call, or the link, and is told as such. */
static void
call_once(struct test_mem *mem, void *user)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("id"),
                                            .meta = "{\"a\":1}");
    mcp_client *client = NULL;
    long fail_at = atomic_load(&mem->fail_at);
    struct script s;
    mcp_reply *reply = NULL;
    int r;

    (void)user;
    script_open(&s, MCP_ERA_MODERN);
    atomic_store(&mem->fail_at, 0);
    client = script_client(&s, &SCRIPT_OPTIONS(.allocator = &mem->allocator));
    if (fail_at > 0)
        atomic_store(&mem->fail_at, atomic_load(&mem->total) + fail_at);
    r = mcp_client_call_tool(client, "echo", "{\"a\":[1,2]}", &opt, &reply, NULL);
    atomic_store(&mem->fail_at, 0);
    if (r == 0)
        assert_string_equal(mcp_reply_text(reply), "{\"a\":[1,2]}");
    else
        assert_true(r == MCP_E_NOMEM || r == MCP_E_CLOSED || r == MCP_E_SEND_FAILED);
    mcp_reply_free(reply);
    mcp_client_free(client);
    script_close(&s);
}

static void
each_allocation_of_a_call_may_fail(void **state)
{
    struct test_mem mem;
    long n, failed;

    (void)state;
    for (n = 1; n < 100; n++) {
        test_mem_init(&mem);
        atomic_store(&mem.fail_at, n);
        call_once(&mem, NULL);
        failed = atomic_load(&mem.failed);
        test_mem_done(&mem);
        if (failed == 0)
            break;
    }
    assert_in_range(n, 5, 60);
}

TEST_MAIN(TEST(params_must_be_an_object),
          TEST(C3_params_with_line_breaks_go_out_on_one_line),
          TEST(meta_must_be_an_object_of_the_callers_own),
          TEST(A2_an_id_goes_out_as_it_is), TEST(an_id_that_is_none_is_refused),
          TEST(other_nonsense_is_refused),
          TEST(what_is_longer_than_a_message_is_refused),
          TEST(each_allocation_of_a_call_may_fail))
