/* principal_test.c - who asks, as handlers see it */
#include "api/raw_client.h"
#include "api/request.h"

static void
nobody_in_particular_is_an_empty_text(void **state)
{
    (void)state;
    assert_string_equal(mcp_request_principal(NULL), "");
}

static void
the_principal_is_the_one_of_the_exchange(void **state)
{
    struct mcpi_exchange x = {.caller = {.principal = "alice"}};
    struct mcp_request req = {.x = &x};

    (void)state;
    assert_string_equal(mcp_request_principal(&req), "alice");
}

static void
claims_and_scope_are_those_of_the_exchange(void **state)
{
    static const char text[] = "{\"sub\":\"alice\"}";
    struct mcpi_exchange x = {.caller = {.principal = "alice", .scope = "read"}};
    struct mcpi_exchange nothing = {0};
    struct mcp_request req = {.x = &x};

    (void)state;
    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &x.caller.claims, NULL),
                     0);
    assert_string_equal(mcp_request_scope(&req), "read");
    assert_string_equal(
        mcp_json_string(mcp_json_get(mcp_request_claims(&req), "sub"), ""), "alice");
    mcp_doc_free(x.caller.claims);
    req.x = &nothing;
    assert_string_equal(mcp_request_scope(&req), "");
    assert_null(mcp_request_claims(&req));
    assert_string_equal(mcp_request_scope(NULL), "");
    assert_null(mcp_request_claims(NULL));
}

static void
headers_are_what_was_said_to_the_exchange(void **state)
{
    static const char said[] = "X-Tenant\0blue\0X-Empty\0\0X-Last\0z";
    struct mcpi_exchange x = {.caller = {.said = said, .said_len = sizeof(said)}};
    struct mcpi_exchange nothing = {0};
    struct mcp_request req = {.x = &x};

    (void)state;
    assert_string_equal(mcp_request_header(&req, "x-tenant"), "blue");
    assert_string_equal(mcp_request_header(&req, "X-Empty"), "");
    assert_string_equal(mcp_request_header(&req, "X-LAST"), "z");
    assert_null(mcp_request_header(&req, "blue"));
    assert_null(mcp_request_header(&req, ""));
    assert_null(mcp_request_header(&req, NULL));
    assert_null(mcp_request_header(NULL, "X-Tenant"));
    req.x = &nothing;
    assert_null(mcp_request_header(&req, "X-Tenant"));
}

static int
whoami(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    assert_null(mcp_request_header(req, "Host"));
    return mcp_result_textf(out, "<%s>", mcp_request_principal(req));
}

static void
nobody_is_known_on_a_pipe(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "whoami", .reply = whoami));
    raw_start(&raw, RAW_MODERN);
    raw_call(&raw, "1", "whoami", NULL);
    raw_expect(&raw, "\"<>\"");
    raw_done(&raw);
}

TEST_MAIN(TEST(nobody_in_particular_is_an_empty_text),
          TEST(the_principal_is_the_one_of_the_exchange),
          TEST(claims_and_scope_are_those_of_the_exchange),
          TEST(headers_are_what_was_said_to_the_exchange),
          TEST_ERAS(nobody_is_known_on_a_pipe))
