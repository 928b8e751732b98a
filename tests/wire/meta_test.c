/* meta_test.c - the `_meta` member, read and stamped */
#include "wire/meta.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

struct fixture {
    struct test_mem mem;
    struct mcpi_buf buf;
    struct mcpi_meta meta;
    const char *fault;
    mcp_doc *doc;
};

static void
open_fixture(struct fixture *f)
{
    test_mem_init(&f->mem);
    mcpi_buf_init(&f->buf, &f->mem.allocator, 4096);
    f->doc = NULL;
}

static void
close_fixture(struct fixture *f)
{
    mcp_doc_free(f->doc);
    mcpi_buf_done(&f->buf);
    test_mem_done(&f->mem);
}

/* Read the _meta of params of this text. */
static int
read_params(struct fixture *f, const char *text)
{
    mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = &f->mem.allocator);

    mcp_doc_free(f->doc);
    f->doc = NULL;
    f->fault = NULL;
    assert_int_equal(mcp_doc_parse(text, strlen(text), &opt, &f->doc, NULL), 0);
    return mcpi_meta_read(mcp_doc_root(f->doc), &f->meta, &f->fault);
}

static void
assert_written(struct fixture *f, const struct mcpi_stamp *stamp, const char *expected)
{
    mcpi_buf_clear(&f->buf);
    assert_int_equal(mcpi_meta_write(&f->buf, stamp), expected[0] != '\0');
    mcpi_buf_char(&f->buf, '\0');
    assert_int_equal(f->buf.status, 0);
    assert_string_equal(f->buf.data, expected);
}

static const char all_members[] =
    "{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\"},"
    "\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}},"
    "\"io.modelcontextprotocol/logLevel\":\"info\","
    "\"io.modelcontextprotocol/subscriptionId\":\"s\",\"progressToken\":12}}";

static void
all_keys_are_read(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(read_params(&f, all_members), 0);
    assert_string_equal(f.meta.version, "2026-07-28");
    assert_true(mcp_json_is_string(mcp_json_get(f.meta.client_info, "name"), "c"));
    assert_int_equal(mcp_json_count(f.meta.client_capabilities), 1);
    assert_string_equal(f.meta.log_level, "info");
    assert_int_equal(f.meta.subscription_id.kind, MCPI_ID_STRING);
    assert_int_equal(f.meta.progress_token.kind, MCPI_ID_INT);
    assert_int_equal(f.meta.progress_token.number, 12);
    assert_ptr_equal(f.meta.object, mcp_json_get(mcp_doc_root(f.doc), "_meta"));
    close_fixture(&f);
}

static void
what_is_absent_is_null(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(read_params(&f, "{\"name\":\"x\"}"), 0);
    assert_null(f.meta.object);
    assert_int_equal(f.meta.subscription_id.kind, MCPI_ID_NONE);
    memset(&f.meta, 0xff, sizeof f.meta);
    assert_int_equal(mcpi_meta_read(NULL, &f.meta, &f.fault), 0);
    assert_null(f.meta.object);
    assert_null(f.meta.version);
    assert_int_equal(f.meta.progress_token.kind, MCPI_ID_NONE);
    assert_int_equal(read_params(&f, "{\"_meta\":{}}"), 0);
    assert_non_null(f.meta.object);
    assert_null(f.meta.client_capabilities);
    close_fixture(&f);
}

static const char other_members[] =
    "{\"_meta\":{\"io.modelcontextprotocol/protocolversion\":1,"
    "\"io.modelcontextprotocol/tasks\":2,\"io.modelcontextprotocol/\":5,"
    "\"dev.mcp/x\":3,\"protocolVersion\":4,\"\":6,\"progresstoken\":7}}";

static void
other_keys_are_ignored(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(read_params(&f, other_members), 0);
    assert_null(f.meta.version);
    assert_int_equal(f.meta.progress_token.kind, MCPI_ID_NONE);
    close_fixture(&f);
}

/* A value of every type but the right one, and a sentence that names the key. */
static void
assert_refused(struct fixture *f, const char *key, const char *const values[5])
{
    char text[160];

    for (size_t i = 0; i < 5; i++) {
        snprintf(text, sizeof text, "{\"_meta\":{\"io.modelcontextprotocol/%s\":%s}}",
                 key, values[i]);
        assert_int_equal(read_params(f, text), MCP_E_PROTO);
        assert_non_null(strstr(f->fault, key));
    }
}

static void
a_protocol_key_of_the_wrong_type_is_refused(void **state)
{
    static const char *const no_text[5] = {"null", "1", "{}", "[\"x\"]",
                                           "\"a\\u0000\""};
    static const char *const no_object[5] = {"null", "true", "1", "[]", "\"{}\""};
    struct fixture f;

    (void)state;
    open_fixture(&f);
    memset(&f.meta, 0x5a, sizeof f.meta);
    assert_refused(&f, "protocolVersion", no_text);
    assert_refused(&f, "logLevel", no_text);
    assert_refused(&f, "clientInfo", no_object);
    assert_refused(&f, "clientCapabilities", no_object);
    assert_int_equal(((unsigned char *)&f.meta)[0], 0x5a); /* untouched on failure */
    close_fixture(&f);
}

static void
a_meta_that_is_no_object_or_ambiguous_is_refused(void **state)
{
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_int_equal(read_params(&f, "{\"_meta\":null}"), MCP_E_PROTO);
    assert_string_equal(f.fault, "_meta must be an object");
    assert_int_equal(read_params(&f, "{\"_meta\":[]}"), MCP_E_PROTO);
    assert_int_equal(
        read_params(&f, "{\"_meta\":{\"progressToken\":1,\"progressToken\":2}}"),
        MCP_E_PROTO);
    assert_string_equal(f.fault, "_meta names a key twice");
    assert_int_equal(read_params(&f, "{\"_meta\":{\"x\":1,\"y\":2,\"x\":1}}"),
                     MCP_E_PROTO);
    close_fixture(&f);
}

static void
A12_a_token_that_is_none_is_no_token(void **state)
{
    static const char *const values[] = {"null", "true", "1.5", "[]", "{}"};
    struct fixture f;
    char text[160];

    (void)state;
    open_fixture(&f);
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        snprintf(text, sizeof text,
                 "{\"_meta\":{\"progressToken\":%s,"
                 "\"io.modelcontextprotocol/subscriptionId\":%s}}",
                 values[i], values[i]);
        assert_int_equal(read_params(&f, text), 0);
        assert_int_equal(f.meta.progress_token.kind, MCPI_ID_NONE);
        assert_int_equal(f.meta.subscription_id.kind, MCPI_ID_NONE);
    }
    close_fixture(&f);
}

static const char least_stamp[] =
    "\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
    "\"io.modelcontextprotocol/clientCapabilities\":{}}";
static const char full_stamp[] =
    "\"_meta\":{\"a\":1,\"b\":[],"
    "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
    "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"c\"},"
    "\"io.modelcontextprotocol/clientCapabilities\":{\"roots\":{}},"
    "\"io.modelcontextprotocol/logLevel\":\"debug\",\"progressToken\":\"t\\\"\"}";

static void
a_modern_stamp_has_version_and_capabilities(void **state)
{
    struct mcpi_id token = mcpi_id_string("t\"", 2);
    struct mcpi_stamp stamp = {.version = "2026-07-28"};
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_written(&f, &stamp, least_stamp);
    stamp.client_info = "{\"name\":\"c\"}";
    stamp.client_capabilities = "{\"roots\":{}}";
    stamp.log_level = "debug";
    stamp.progress_token = &token;
    stamp.members = "{\"a\":1,\"b\":[]}";
    stamp.members_len = strlen(stamp.members);
    assert_written(&f, &stamp, full_stamp);
    close_fixture(&f);
}

static void
a_legacy_stamp_has_only_what_the_caller_gave(void **state)
{
    struct mcpi_id token = mcpi_id_int(0);
    struct mcpi_stamp stamp = {.client_info = "{}", .log_level = "info"};
    struct fixture f;

    (void)state;
    open_fixture(&f);
    assert_written(&f, &stamp, "");
    stamp.members = "{}";
    stamp.members_len = 2;
    assert_written(&f, &stamp, "");
    stamp.progress_token = &token;
    assert_written(&f, &stamp, "\"_meta\":{\"progressToken\":0}");
    stamp.members = "{\"a\":1}";
    stamp.members_len = 7;
    assert_written(&f, &stamp, "\"_meta\":{\"a\":1,\"progressToken\":0}");
    stamp.progress_token = NULL;
    assert_written(&f, &stamp, "\"_meta\":{\"a\":1}");
    close_fixture(&f);
}

static void
a_result_names_the_server_after_the_handlers_own_members(void **state)
{
    static const char info[] = "{\"name\":\"s\"}";
    struct fixture f;

    (void)state;
    open_fixture(&f);
    mcpi_meta_write_result(&f.buf, NULL, 0, info);
    mcpi_buf_char(&f.buf, '\0');
    assert_string_equal(
        f.buf.data,
        "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":{\"name\":\"s\"}}");
    mcpi_buf_clear(&f.buf);
    mcpi_meta_write_result(&f.buf, "{\"a\":1}", 7, info);
    mcpi_buf_char(&f.buf, '\0');
    assert_string_equal(f.buf.data,
                        "\"_meta\":{\"a\":1,"
                        "\"io.modelcontextprotocol/serverInfo\":{\"name\":\"s\"}}");
    close_fixture(&f);
}

static void
a_subscription_is_named_as_its_request_was(void **state)
{
    const struct mcpi_id number = mcpi_id_int(7), text = mcpi_id_string("7", 1);
    struct fixture f;

    (void)state;
    open_fixture(&f);
    mcpi_meta_write_subscription(&f.buf, &number);
    mcpi_meta_write_subscription(&f.buf, &text);
    mcpi_buf_char(&f.buf, '\0');
    assert_string_equal(f.buf.data,
                        "{\"io.modelcontextprotocol/subscriptionId\":7}"
                        "{\"io.modelcontextprotocol/subscriptionId\":\"7\"}");
    close_fixture(&f);
}

static void
only_the_keys_we_stamp_are_reserved(void **state)
{
    static const char *const ours[] = {"io.modelcontextprotocol/protocolVersion",
                                       "io.modelcontextprotocol/clientInfo",
                                       "io.modelcontextprotocol/clientCapabilities",
                                       "io.modelcontextprotocol/logLevel",
                                       "io.modelcontextprotocol/subscriptionId",
                                       "io.modelcontextprotocol/serverInfo",
                                       "progressToken"};
    static const char *const others[] = {"",
                                         "progressTokens",
                                         "progressToke",
                                         "traceparent",
                                         "io.modelcontextprotocol/",
                                         "clientInfo",
                                         "io.modelcontextprotocol/tasks"};

    (void)state;
    for (size_t i = 0; i < sizeof ours / sizeof ours[0]; i++)
        assert_true(mcpi_meta_reserved(ours[i], strlen(ours[i])));
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        assert_false(mcpi_meta_reserved(others[i], strlen(others[i])));
}

static void
members_stand_between_the_braces(void **state)
{
    const char *text;
    size_t len;

    (void)state;
    mcpi_members(NULL, 0, &text, &len);
    assert_int_equal(len, 0);
    assert_non_null(text);
    mcpi_members("{}", 2, &text, &len);
    assert_int_equal(len, 0);
    mcpi_members("{\"a\":1}", 7, &text, &len);
    assert_int_equal(len, 5);
    assert_memory_equal(text, "\"a\":1", 5);
}

static void
stamp_once(struct test_mem *mem, void *user)
{
    struct mcpi_stamp stamp = {.version = "2026-07-28", .log_level = "debug"};
    struct mcpi_buf buf;

    (void)user;
    mcpi_buf_init(&buf, &mem->allocator, 4096);
    assert_true(mcpi_meta_write(&buf, &stamp));
    assert_int_equal(buf.status, atomic_load(&mem->failed) > 0 ? MCP_E_NOMEM : 0);
    mcpi_buf_done(&buf);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(stamp_once, NULL) >= 1);
}

TEST_MAIN(TEST(all_keys_are_read), TEST(what_is_absent_is_null),
          TEST(other_keys_are_ignored),
          TEST(a_protocol_key_of_the_wrong_type_is_refused),
          TEST(a_meta_that_is_no_object_or_ambiguous_is_refused),
          TEST(A12_a_token_that_is_none_is_no_token),
          TEST(a_modern_stamp_has_version_and_capabilities),
          TEST(a_legacy_stamp_has_only_what_the_caller_gave),
          TEST(a_result_names_the_server_after_the_handlers_own_members),
          TEST(a_subscription_is_named_as_its_request_was),
          TEST(only_the_keys_we_stamp_are_reserved),
          TEST(members_stand_between_the_braces), TEST(each_allocation_may_fail))
