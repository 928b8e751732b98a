/* http_gate_test.c - a hook decides who may do what, by the headers of a request */
#include "api/http_reached.h"

#define WANTS_TOKEN "Bearer realm=\"mcp\""
#define WANTS_SCOPE "Bearer error=\"insufficient_scope\", scope=\"tools:fail\""

/* Tokens are "name scope"; the tool `fail` needs a scope of its own. */
static void
gate(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    const char *token = mcp_http_header(request, "Authorization");
    const char *tool = mcp_http_header(request, "Mcp-Name");
    atomic_int *asked = user;

    atomic_fetch_add(asked, 1);
    if (!token || strncmp(token, "Bearer ", 7) != 0)
        mcp_http_deny(ticket, 401, WANTS_TOKEN, "a token is needed");
    else if (tool && strcmp(tool, "fail") == 0 && !strstr(token, "tools:fail"))
        mcp_http_deny(ticket, 403, WANTS_SCOPE, "more scope is needed");
    else
        mcp_http_allow(ticket, token + 7);
}

static void
gated_open(struct reached *f, struct http_raw *h, atomic_int *asked)
{
    reached_serve(f, MCP_SERVER_OPTIONS(.page = 0),
                  MCP_HTTP_OPTIONS(.identify = gate, .identify_user = asked));
    http_open(h, f->port, NULL);
}

static void
gated_close(struct reached *f, struct http_raw *h)
{
    http_close(h);
    reached_close(f);
}

#define CALL_OF(tool) REQUEST("1", "tools/call", "{\"name\":\"" tool "\"," STAMP "}")

/* A modern call; its answer has this status. */
static void
call_gives(struct http_raw *h, const char *token, const char *tool, const char *body,
           int status)
{
    http_post(h, &HTTP_POST(.method = "tools/call", .name = tool, .fields = token,
                            .body = body));
    assert_int_equal(http_answer(h), status);
}

#define ANN "Authorization: Bearer ann\r\n"
#define BOB "Authorization: Bearer bob tools:fail\r\n"

static void
who_brings_no_token_is_challenged_in_both_eras(void **state)
{
    atomic_int asked = 0;
    struct http_raw h;
    struct reached f;

    (void)state;
    gated_open(&f, &h, &asked);
    call_gives(&h, "", "say", CALL_OF("say"), 401);
    assert_string_equal(http_field(&h, "WWW-Authenticate"), WANTS_TOKEN);
    http_post(&h,
              &HTTP_POST(.era = MCP_ERA_LEGACY, .body = INITIALIZE("0", "2025-11-25")));
    assert_int_equal(http_answer(&h), 401);
    assert_string_equal(http_field(&h, "WWW-Authenticate"), WANTS_TOKEN);
    assert_null(http_field(&h, "Mcp-Session-Id"));
    assert_int_equal(atomic_load(&asked), 2);
    assert_int_equal(raw_counts(&f.raw).requests, 0);
    assert_int_equal(raw_counts(&f.raw).sessions, 0);
    call_gives(&h, ANN, "say", CALL_OF("say"), 200);
    assert_non_null(strstr(h.body, "said to <ann>"));
    gated_close(&f, &h);
}

/* The headers that name the operation are what the message says, so a hook may trust
 * them. */
static void
an_operation_may_need_a_scope_of_its_own(void **state)
{
    atomic_int asked = 0;
    struct http_raw h;
    struct reached f;

    (void)state;
    gated_open(&f, &h, &asked);
    call_gives(&h, ANN, "fail", CALL_OF("fail"), 403);
    assert_string_equal(http_field(&h, "WWW-Authenticate"), WANTS_SCOPE);
    call_gives(&h, ANN, "say", CALL_OF("fail"), 400);
    assert_non_null(strstr(h.body, "-32020"));
    assert_int_equal(raw_counts(&f.raw).requests, 0);
    call_gives(&h, BOB, "fail", CALL_OF("fail"), 200);
    assert_non_null(strstr(h.body, "not today"));
    gated_close(&f, &h);
}

/* ---- the same, seen by a client ------------------------------------------- */

static void
a_client_is_told_the_status(void **state)
{
    static const char *const headers[] = {"Authorization: Bearer ann", NULL};
    const mcp_client_options me = REACHED_OPTIONS(.era = MCP_ERA_MODERN);
    atomic_int asked = 0;
    mcp_error err = {0};
    struct http_raw h;
    struct reached f;

    (void)state;
    gated_open(&f, &h, &asked);
    assert_int_equal(reached_try(&f, NULL, me, &f.client, &err), MCP_E_HTTP);
    assert_int_equal(err.http_status, 401);
    assert_int_equal(reached_try(&f, &MCP_HTTP_CLIENT_OPTIONS(.headers = headers), me,
                                 &f.client, &err),
                     0);
    assert_int_equal(mcp_client_call_tool(f.client, "fail", NULL, NULL, NULL, &err),
                     MCP_E_HTTP);
    assert_int_equal(err.http_status, 403);
    reached_says(f.client); /* it goes on */
    gated_close(&f, &h);
}

TEST_MAIN(TEST(who_brings_no_token_is_challenged_in_both_eras),
          TEST(an_operation_may_need_a_scope_of_its_own),
          TEST(a_client_is_told_the_status))
