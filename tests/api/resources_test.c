/* resources_test.c - resources/read: who is read, and what if nobody is */
#include <mcp/uri_template.h>

#include "api/conforms.h"
#include "api/raw_client.h"

static void
add(struct raw *raw, mcp_resource resource)
{
    mcp_error err = {0};

    if (mcp_server_add_resource(raw->server, &resource, &err) < 0)
        fail_msg("%s", err.message);
}

static void
add_template(struct raw *raw, mcp_template template)
{
    mcp_error err = {0};

    if (mcp_server_add_template(raw->server, &template, &err) < 0)
        fail_msg("%s", err.message);
}

static void
read_uri(struct raw *raw, const char *uri)
{
    char more[9000];

    snprintf(more, sizeof(more), ",\"uri\":\"%s\"", uri);
    raw_ask(raw, "1", "resources/read", more);
}

/* What every modern result ends with. */
#define KEPT(ttl, scope) \
    ",\"ttlMs\":" ttl ",\"cacheScope\":\"" scope "\",\"resultType\":"

/* ---- what never changes ------------------------------------------------- */

static void
text_and_bytes_are_read(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_RESOURCE(.uri = "file:///motd", .name = "motd", .text = "Hi \"you\"",
                           .mime_type = "text/plain", .ttl_ms = 1000,
                           .scope = MCP_CACHE_PUBLIC));
    add(&raw, MCP_RESOURCE(.uri = "file:///b", .name = "b", .data = "\0\xff",
                           .data_length = 2));
    raw_start(&raw, RAW_MODERN);
    read_uri(&raw, "file:///motd");
    raw_expect(&raw,
               RAW_MODERN
                   ? "\"result\":{\"contents\":[{\"uri\":\"file:///motd\","
                     "\"mimeType\":\"text/plain\",\"text\":\"Hi \\\"you\\\"\"}]" KEPT(
                         "1000", "public")
                   : "\"result\":{\"contents\":[{\"uri\":\"file:///motd\","
                     "\"mimeType\":\"text/plain\",\"text\":\"Hi \\\"you\\\"\"}]}}");
    read_uri(&raw, "file:///b");
    raw_expect(&raw, RAW_MODERN ? "\"result\":{\"contents\":[{\"uri\":\"file:///b\","
                                  "\"blob\":\"AP8=\"}]" KEPT("0", "private")
                                : "\"result\":{\"contents\":[{\"uri\":\"file:///b\","
                                  "\"blob\":\"AP8=\"}]}}");
    raw_done(&raw);
}

/* ---- handlers ----------------------------------------------------------- */

static int
read_own(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    mcp_result_textf(out, "%s %s", mcp_request_method(req), mcp_request_name(req));
    mcp_result_resource_text(out, "a:other", "text/css", "b{}");
    return mcp_result_cache(out, 5, MCP_CACHE_PUBLIC);
}

static void
handlers_of_all_kinds_read(void **state)
{
    const char *line;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_RESOURCE(.uri = "a:run", .name = "n", .run = read_own));
    add(&raw, MCP_RESOURCE(.uri = "a:reply", .name = "n", .reply = read_own,
                           .mime_type = "x/y", .ttl_ms = 77));
    raw_start(&raw, RAW_MODERN);
    read_uri(&raw, "a:run");
    raw_expect(&raw, RAW_MODERN
                         ? "\"contents\":[{\"uri\":\"a:run\",\"text\":\"resources/read "
                           "a:run\"},{\"uri\":\"a:other\",\"mimeType\":\"text/css\","
                           "\"text\":\"b{}\"}]" KEPT("5", "public")
                         : "\"contents\":[{\"uri\":\"a:run\",\"text\":\"resources/read "
                           "a:run\"},{\"uri\":\"a:other\",\"mimeType\":\"text/css\","
                           "\"text\":\"b{}\"}]}}");
    read_uri(&raw, "a:reply");
    line = raw_expect(&raw, "{\"uri\":\"a:reply\",\"mimeType\":\"x/y\",\"text\":\"");
    if (RAW_MODERN) /* and not 77 */
        assert_non_null(strstr(line, KEPT("5", "public")));
    raw_done(&raw);
}

static int
read_nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

static int
read_not_found(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    mcp_result_text(out, "not sent");
    return mcp_request_not_found(req);
}

static int
read_wrongly(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_image(out, "", 0, "image/png");
}

static void
what_is_empty_is_there_and_what_is_not_is_an_error(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_RESOURCE(.uri = "a:empty", .name = "n", .reply = read_nothing));
    add(&raw, MCP_RESOURCE(.uri = "a:gone", .name = "n", .run = read_not_found));
    add(&raw, MCP_RESOURCE(.uri = "a:wrong", .name = "n", .run = read_wrongly));
    raw_start(&raw, RAW_MODERN);
    read_uri(&raw, "a:empty");
    raw_expect(&raw, "\"result\":{\"contents\":[]");
    read_uri(&raw, "a:gone");
    raw_expect(&raw,
               RAW_MODERN
                   ? "\"error\":{\"code\":-32602,\"message\":\"Resource not found\","
                     "\"data\":{\"uri\":\"a:gone\"}}}"
                   : "\"error\":{\"code\":-32002,\"message\":\"Resource not found\","
                     "\"data\":{\"uri\":\"a:gone\"}}}");
    read_uri(&raw, "a:none\\n\\u00e4");
    raw_expect(&raw, RAW_MODERN ? "{\"code\":-32602,\"message\":\"Resource not found\","
                                  "\"data\":{\"uri\":\"a:none\\n\xc3\xa4\"}}"
                                : "{\"code\":-32002,\"message\":\"Resource not found\","
                                  "\"data\":{\"uri\":\"a:none\\n\xc3\xa4\"}}");
    read_uri(&raw, "a:wrong");
    raw_expect(&raw, "\"code\":-32603");
    assert_true(raw_logged(&raw, "the answer to resources/read has no image"));
    assert_int_equal(mcp_request_not_found(NULL), MCP_E_INVAL);
    raw_done(&raw);
}

static void
a_read_that_is_malformed_is_refused(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_RESOURCE(.uri = "a:b", .name = "n", .text = "x"));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "resources/read", "");
    raw_expect(
        &raw, "{\"code\":-32602,\"message\":\"Invalid params: uri must be a string\"}");
    raw_ask(&raw, "2", "resources/read", ",\"uri\":[\"a:b\"]");
    raw_expect(&raw, "uri must be a string");
    read_uri(&raw, "a:b\\u0000");
    raw_expect(&raw, "Resource not found");
    raw_done(&raw);
}

/* ---- templates ---------------------------------------------------------- */

static int
read_card(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *variables = mcp_request_variables(req);
    const char *id = mcp_request_argument(req, "id");
    const char *list = mcp_request_argument(req, "list");

    if (mcp_request_argument(req, "none") || mcp_request_argument(req, NULL))
        return MCP_E_PROTO;
    return mcp_result_textf(out, "%s: %s %s %d", (const char *)user, id ? id : "-",
                            list ? list : "-", (int)mcp_json_count(variables));
}

static void
a_uri_is_read_by_the_first_template_that_matches(void **state)
{
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add_template(&raw, MCP_TEMPLATE(.uri_template = "u://{id}{?list*}", .name = "n",
                                    .mime_type = "c/d", .run = read_card,
                                    .user = (char[]){"second"}));
    add_template(&raw, MCP_TEMPLATE(.uri_template = "u://a{id}", .name = "n",
                                    .reply = read_card, .user = (char[]){"first"}));
    add(&raw, MCP_RESOURCE(.uri = "u://own", .name = "n", .text = "its own"));
    raw_start(&raw, RAW_MODERN);
    read_uri(&raw, "u://own");
    raw_expect(&raw, "\"text\":\"its own\"");
    read_uri(&raw, "u://ab");
    raw_expect(&raw, "{\"uri\":\"u://ab\",\"text\":\"first: b - 1\"}");
    read_uri(&raw, "u://x%20y?list=p&list=q");
    raw_expect(&raw, "{\"uri\":\"u://x%20y?list=p&list=q\",\"mimeType\":\"c/d\","
                     "\"text\":\"second: x y p 2\"}");
    read_uri(&raw, "v://x");
    raw_expect(&raw, "Resource not found");
    assert_int_equal(mcp_server_remove_template(raw.server, "u://a{id}"), 0);
    read_uri(&raw, "u://ab");
    if (RAW_MODERN)
        raw_expect(&raw, "second: ab");
    raw_done(&raw);
}

static void
a_uri_that_is_too_long_to_match_is_nobody_s(void **state)
{
    char uri[MCP_URI_MATCH_LENGTH_MAX + 64], line[MCP_URI_MATCH_LENGTH_MAX + 512];
    struct raw raw;

    (void)state;
    memset(uri, 'a', sizeof(uri));
    memcpy(uri, "u:", 2);
    uri[sizeof(uri) - 1] = '\0';
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add_template(&raw, MCP_TEMPLATE(.uri_template = "u:{id}", .name = "n",
                                    .reply = read_card, .user = (char[]){""}));
    raw_start(&raw, true);
    snprintf(line, sizeof(line),
             "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/read\","
             "\"params\":{\"uri\":\"%s\",\"_meta\":{" RAW_STAMP "}}}",
             uri);
    raw_send(&raw, line);
    raw_expect(&raw, "Resource not found");
    raw_done(&raw);
}

/* ---- its run ------------------------------------------------------------ */

static int
read_until_canceled(mcp_request *req, mcp_result *out, void *user)
{
    (void)out;
    atomic_store((atomic_bool *)user, true);
    return mcp_request_sleep(req, AWAIT_MS);
}

static void
a_read_can_be_canceled(void **state)
{
    atomic_bool entered = false;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add_template(&raw, MCP_TEMPLATE(.uri_template = "u:{id}", .name = "n",
                                    .run = read_until_canceled, .user = &entered));
    raw_start(&raw, RAW_MODERN);
    read_uri(&raw, "u:x");
    RAW_UNTIL(atomic_load(&entered));
    raw_cancel(&raw, "1", "enough");
    raw_expect_silence(&raw);
    RAW_UNTIL(raw_counts(&raw).stopped == 1);
    raw_done(&raw);
}

static void
a_read_has_the_limit_of_its_resource(void **state)
{
    atomic_bool entered = false;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    add(&raw, MCP_RESOURCE(.uri = "u:x", .name = "n", .run = read_until_canceled,
                           .user = &entered, .limit_ms = 20));
    raw_start(&raw, RAW_MODERN);
    read_uri(&raw, "u:x");
    raw_expect(&raw, "\"error\"");
    assert_int_equal(raw_counts(&raw).canceled_by_limit, 1);
    raw_done(&raw);
}

/* ---- the protocol's own schemas ----------------------------------------- */

static void
what_is_answered_conforms_to_the_schema(void **state)
{
    const mcp_icon icons[] = {{.src = "https://example.org/i.png"}, {0}};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 1));
    add(&raw, MCP_RESOURCE(.uri = "a:b", .name = "b", .title = "B", .description = "d",
                           .mime_type = "x/y", .bytes = 9, .audience = MCP_FOR_USER,
                           .priority = 1, .last_modified = "2025-01-12T15:00:58Z",
                           .icons = icons, .meta = "{\"a\":1}", .run = read_own));
    add(&raw, MCP_RESOURCE(.uri = "a:c", .name = "c", .data = "x", .data_length = 1));
    add_template(&raw, MCP_TEMPLATE(.uri_template = "u:{id}", .name = "n", .title = "N",
                                    .description = "d", .mime_type = "x/y",
                                    .priority = 0.25, .icons = icons,
                                    .meta = "{\"a\":1}", .reply = read_nothing));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "resources/list", "");
    conforms(raw_expect(&raw, "nextCursor"), RAW_MODERN, "ListResourcesResult");
    raw_ask(&raw, "2", "resources/templates/list", "");
    conforms(raw_line(&raw), RAW_MODERN, "ListResourceTemplatesResult");
    read_uri(&raw, "a:b");
    conforms(raw_line(&raw), RAW_MODERN, "ReadResourceResult");
    read_uri(&raw, "a:c");
    conforms(raw_expect(&raw, "blob"), RAW_MODERN, "ReadResourceResult");
    read_uri(&raw, "u:x");
    conforms(raw_expect(&raw, "[]"), RAW_MODERN, "ReadResourceResult");
    raw_done(&raw);
}

/* ---- memory ------------------------------------------------------------- */

static void
read_in(struct test_mem *mem, void *user)
{
    const char *line;
    struct raw raw;

    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    raw.lenient = true;
    if (mcp_server_add_template(raw.server,
                                &MCP_TEMPLATE(.uri_template = "u:{id}", .name = "n",
                                              .run = read_card, .user = (char[]){""}),
                                NULL) == 0 &&
        raw_try_connect(&raw, true) == 0 && mcp_server_start(raw.server, NULL) == 0) {
        read_uri(&raw, user);
        line = raw_next(&raw);
        if (line && !strstr(line, "\"id\":1"))
            fail_msg("%s", line);
        if (line && atomic_load(&mem->failed) && strcmp(user, "u:x") == 0 &&
            strstr(line, "not found"))
            fail_msg("%s", line); /* it is there */
    }
    raw_close(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(read_in, (char[]){"u:x"}) > 20);
    assert_true(test_each_allocation_fails(read_in, (char[]){"v:x"}) > 20);
}

TEST_MAIN(TEST_ERAS(text_and_bytes_are_read), TEST_ERAS(handlers_of_all_kinds_read),
          TEST_ERAS(what_is_empty_is_there_and_what_is_not_is_an_error),
          TEST_ERAS(a_read_that_is_malformed_is_refused),
          TEST_ERAS(a_uri_is_read_by_the_first_template_that_matches),
          TEST(a_uri_that_is_too_long_to_match_is_nobody_s),
          TEST_ERAS(a_read_can_be_canceled),
          TEST_ERAS(a_read_has_the_limit_of_its_resource),
          TEST_ERAS(what_is_answered_conforms_to_the_schema),
          TEST(each_allocation_may_fail))
