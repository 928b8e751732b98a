/* mirrored_test.c - arguments of a tool that stand in HTTP headers too */
#include "api/mirrored.h"

#include <string.h>

#include "support/test.h"

#define SCHEMA                                                      \
    "{\"type\":\"object\",\"properties\":{"                         \
    "\"region\":{\"type\":\"string\",\"x-mcp-header\":\"Region\"}," \
    "\"query\":{\"type\":\"string\"},"                              \
    "\"where\":{\"type\":\"object\",\"properties\":{"               \
    "\"floor\":{\"type\":\"integer\",\"x-mcp-header\":\"Floor\"},"  \
    "\"open\":{\"type\":\"boolean\",\"x-mcp-header\":\"Is-Open\"}}}}}"

struct headers {
    const char *pairs[8]; /* name, value, ... */
    int asked;
};

static const char *
header_find(void *user, const char *name, size_t *ret_count)
{
    struct headers *headers = user;
    const char *value = NULL;

    headers->asked++;
    *ret_count = 0;
    for (size_t i = 0; i < 8 && headers->pairs[i]; i += 2) {
        if (strcmp(headers->pairs[i], name) != 0)
            continue;
        if (!value)
            value = headers->pairs[i + 1];
        ++*ret_count;
    }
    return value;
}

static int
nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

struct called {
    int64_t id;
    const char *name;
};

static const mcp_field called_fields[] = {
    MCP_FIELD_WITH(struct called, id, MCP_INT, 0, NULL, .header = "Trip-Id"),
    MCP_FIELD_WITH(struct called, name, MCP_STRING, 0, NULL, .header = "Name"),
    {0},
};

static mcp_server *
make_server(const mcp_allocator *mem)
{
    mcp_server_options opt = MCP_SERVER_OPTIONS(.name = "test", .version = "1",
                                                .allocator = mem);
    mcp_server *server = NULL;
    mcp_tool search = MCP_TOOL(.name = "search", .reply = nothing,
                               .input_schema = SCHEMA);
    mcp_tool trip = MCP_TOOL(.name = "trip", .reply = nothing, .fields = called_fields);
    mcp_tool plain = MCP_TOOL(.name = "plain", .reply = nothing);

    assert_int_equal(mcp_server_new(&opt, &server, NULL), 0);
    assert_int_equal(mcp_server_add_tool(server, &search, NULL), 0);
    assert_int_equal(mcp_server_add_tool(server, &trip, NULL), 0);
    assert_int_equal(mcp_server_add_tool(server, &plain, NULL), 0);
    return server;
}

/* Checks a call; why it was refused, or NULL. */
static const char *
refused(mcp_server *server, const char *tool, const char *arguments,
        struct headers headers)
{
    static char why[200];
    mcp_doc *doc = NULL;
    int r;

    if (arguments)
        assert_int_equal(mcp_doc_parse(arguments, strlen(arguments), NULL, &doc, NULL),
                         0);
    why[0] = '\0';
    r = mcpi_mirrored_check(server, tool, mcp_doc_root(doc), header_find, &headers, why,
                            sizeof(why));
    mcp_doc_free(doc);
    assert_true(r == 0 || r == MCP_E_PROTO);
    return r == 0 ? NULL : why;
}

#define HEADERS(...) ((struct headers){.pairs = {__VA_ARGS__}})
#define NONE ((struct headers){.asked = 0})
#define ACCEPTS(tool, arguments, headers) \
    assert_null(refused(server, tool, arguments, headers))
#define REFUSES(tool, arguments, headers, because) \
    assert_string_equal(refused(server, tool, arguments, headers), because)

static void
what_headers_and_arguments_both_say_is_accepted(void **state)
{
    mcp_server *server = make_server(NULL);

    (void)state;
    ACCEPTS("search", "{\"region\":\"us\",\"query\":\"x\"}",
            HEADERS("mcp-param-region", "us"));
    ACCEPTS("search", "{\"region\":\"Hello\",\"where\":{\"floor\":42,\"open\":false}}",
            HEADERS("mcp-param-floor", "42.0", "mcp-param-region",
                    "=?base64?SGVsbG8=?=", "mcp-param-is-open", "false"));
    ACCEPTS("search", "{\"region\":\"\"}", HEADERS("mcp-param-region", ""));
    ACCEPTS("trip", "{\"id\":7,\"name\":\"n\"}",
            HEADERS("mcp-param-trip-id", "7", "mcp-param-name", "n"));
    mcp_server_free(server);
}

static void
what_neither_says_is_accepted(void **state)
{
    mcp_server *server = make_server(NULL);

    (void)state;
    ACCEPTS("search", "{}", NONE);
    ACCEPTS("search", NULL, NONE);
    ACCEPTS("search", "[1]", NONE);
    ACCEPTS("search", "{\"region\":null,\"where\":{\"floor\":null}}", NONE);
    ACCEPTS("search", "{\"query\":\"x\",\"where\":7}", NONE);
    ACCEPTS("search", "{}", HEADERS("mcp-param-query", "of nobody's concern"));
    mcp_server_free(server);
}

static void
a_value_without_its_header_is_refused(void **state)
{
    mcp_server *server = make_server(NULL);

    (void)state;
    REFUSES("search", "{\"region\":\"us\"}", NONE, "Mcp-Param-Region is missing");
    REFUSES("search", "{\"region\":\"\"}", NONE, "Mcp-Param-Region is missing");
    REFUSES("search", "{\"region\":\"us\",\"where\":{\"open\":true}}",
            HEADERS("mcp-param-region", "us"), "Mcp-Param-Is-Open is missing");
    REFUSES("trip", "{\"id\":7}", NONE, "Mcp-Param-Trip-Id is missing");
    mcp_server_free(server);
}

static void
a_header_that_says_something_else_is_refused(void **state)
{
    static const char *const values[] = {
        "eu",     "US",       "", "us1", "=?base64?SGVsbG8=?=", "=?base64?dXM?=",
        "u\x01s", "\xC3\xBCs"};
    mcp_server *server = make_server(NULL);

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
        REFUSES("search", "{\"region\":\"us\"}", HEADERS("mcp-param-region", values[i]),
                "Mcp-Param-Region does not say what its argument says");
    REFUSES("search", "{\"where\":{\"floor\":42}}", HEADERS("mcp-param-floor", "43"),
            "Mcp-Param-Floor does not say what its argument says");
    /* what no header can say */
    REFUSES("search", "{\"region\":[\"us\"]}", HEADERS("mcp-param-region", "us"),
            "Mcp-Param-Region does not say what its argument says");
    mcp_server_free(server);
}

static void
a_header_without_its_value_is_refused(void **state)
{
    mcp_server *server = make_server(NULL);

    (void)state;
    REFUSES("search", "{}", HEADERS("mcp-param-region", "us"),
            "Mcp-Param-Region stands there without its argument");
    REFUSES("search", "{\"region\":null}", HEADERS("mcp-param-region", "null"),
            "Mcp-Param-Region stands there without its argument");
    REFUSES("search", NULL, HEADERS("mcp-param-floor", ""),
            "Mcp-Param-Floor stands there without its argument");
    mcp_server_free(server);
}

static void
a_header_that_stands_there_twice_is_refused(void **state)
{
    mcp_server *server = make_server(NULL);

    (void)state;
    REFUSES("search", "{\"region\":\"us\"}",
            HEADERS("mcp-param-region", "us", "mcp-param-region", "us"),
            "Mcp-Param-Region stands there more than once");
    mcp_server_free(server);
}

static void
other_tools_ask_for_no_header(void **state)
{
    struct headers headers = HEADERS("mcp-param-region", "us");
    mcp_server *server = make_server(NULL);

    (void)state;
    assert_int_equal(
        mcpi_mirrored_check(server, "plain", NULL, header_find, &headers, NULL, 0), 0);
    assert_int_equal(
        mcpi_mirrored_check(server, "unknown", NULL, header_find, &headers, NULL, 0),
        0);
    assert_int_equal(headers.asked, 0);
    mcp_server_free(server);
}

static void
a_tool_that_was_removed_is_not_asked(void **state)
{
    mcp_server *server = make_server(NULL);

    (void)state;
    assert_int_equal(mcp_server_remove_tool(server, "search"), 0);
    ACCEPTS("search", "{\"region\":\"us\"}", NONE);
    mcp_server_free(server);
}

static void
a_long_sentence_is_cut(void **state)
{
    struct headers headers = NONE;
    mcp_server *server = make_server(NULL);
    mcp_doc *doc = NULL;
    char why[8];

    (void)state;
    assert_int_equal(mcp_doc_parse("{\"id\":1}", 8, NULL, &doc, NULL), 0);
    assert_int_equal(mcpi_mirrored_check(server, "trip", mcp_doc_root(doc), header_find,
                                         &headers, why, sizeof(why)),
                     MCP_E_PROTO);
    assert_string_equal(why, "Mcp-Par");
    mcp_doc_free(doc);
    mcp_server_free(server);
}

/* Only an encoded value needs memory; without it the call is not refused as wrong. */
static void
want_of_memory_is_told_as_such(void **state)
{
    struct headers headers = HEADERS("mcp-param-name", "=?base64?SGVsbG8=?=");
    struct test_mem mem;
    mcp_server *server;
    mcp_doc *doc = NULL;
    char why[100];

    (void)state;
    test_mem_init(&mem);
    server = make_server(&mem.allocator);
    assert_int_equal(mcp_doc_parse("{\"name\":\"Hello\"}", 16, NULL, &doc, NULL), 0);
    atomic_store(&mem.fail_at, atomic_load(&mem.total) + 1);
    assert_int_equal(mcpi_mirrored_check(server, "trip", mcp_doc_root(doc), header_find,
                                         &headers, why, sizeof(why)),
                     MCP_E_NOMEM);
    assert_int_equal(mcpi_mirrored_check(server, "trip", mcp_doc_root(doc), header_find,
                                         &headers, why, sizeof(why)),
                     0);
    mcp_doc_free(doc);
    mcp_server_free(server);
    test_mem_done(&mem);
}

TEST_MAIN(TEST(what_headers_and_arguments_both_say_is_accepted),
          TEST(what_neither_says_is_accepted),
          TEST(a_value_without_its_header_is_refused),
          TEST(a_header_that_says_something_else_is_refused),
          TEST(a_header_without_its_value_is_refused),
          TEST(a_header_that_stands_there_twice_is_refused),
          TEST(other_tools_ask_for_no_header),
          TEST(a_tool_that_was_removed_is_not_asked), TEST(a_long_sentence_is_cut),
          TEST(want_of_memory_is_told_as_such))
