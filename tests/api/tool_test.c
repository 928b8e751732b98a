/* tool_test.c - one tool: checked and rendered once, when it is added */
#include "api/tool.h"

#include <string.h>

#include "base/mem.h"
#include "base/timers.h"
#include "support/test.h"

struct search {
    const char *query;
    int64_t limit;
};

static const mcp_field search_fields[] = {
    MCP_FIELD(struct search, query, MCP_STRING, MCP_REQUIRED, "what to look for"),
    MCP_FIELD_WITH(struct search, limit, MCP_INT, 0, NULL, MCP_MINIMUM(1),
                   MCP_MAXIMUM(9)),
    {0},
};

static int
nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

static struct mcpi_tool *
make(mcp_tool definition)
{
    struct mcpi_tool *tool = NULL;
    mcp_error err = {0};

    if (mcpi_tool_new(mcpi_mem_or_malloc(NULL), &definition, &tool, &err) < 0)
        fail_msg("%s", err.message);
    return tool;
}

static void
refuse(mcp_tool definition, const char *why)
{
    struct mcpi_tool *tool = NULL;
    mcp_error err = {0};

    assert_int_equal(mcpi_tool_new(mcpi_mem_or_malloc(NULL), &definition, &tool, &err),
                     MCP_E_INVAL);
    assert_null(tool);
    if (!strstr(err.message, why))
        fail_msg("no %s in %s", why, err.message);
}

static void
shows(mcp_tool definition, const char *text)
{
    struct mcpi_tool *tool = make(definition);

    assert_string_equal(mcp_builder_text(tool->offer.shown, NULL), text);
    mcpi_offer_unref(&tool->offer);
}

static void
the_least_tool_takes_any_object(void **state)
{
    (void)state;
    shows(MCP_TOOL(.name = "now", .reply = nothing),
          "{\"name\":\"now\",\"inputSchema\":{\"type\":\"object\"}}");
}

static void
all_members_are_shown_in_one_order(void **state)
{
    const mcp_icon icons[] = {{.src = "data:x"}, {0}};

    (void)state;
    shows(MCP_TOOL(.name = "search", .title = "Search", .description = "Look",
                   .fields = search_fields,
                   .output_schema = "{ \"type\":\n\"object\" }",
                   .hints = MCP_READ_ONLY | MCP_NOT_DESTRUCTIVE | MCP_IDEMPOTENT |
                            MCP_CLOSED_WORLD,
                   .icons = icons, .meta = "{\"a/b\" : 1}", .run = nothing),
          "{\"name\":\"search\",\"title\":\"Search\",\"description\":\"Look\","
          "\"icons\":[{\"src\":\"data:x\"}],"
          "\"inputSchema\":{\"type\":\"object\",\"properties\":{\"query\":{"
          "\"description\":"
          "\"what to look for\",\"type\":\"string\"},\"limit\":{\"type\":"
          "\"integer\",\"minimum\":1,\"maximum\":9}},\"required\":[\"query\"]},"
          "\"outputSchema\":{\"type\":\"object\"},"
          "\"annotations\":{\"title\":\"Search\",\"readOnlyHint\":true,"
          "\"destructiveHint\":false,\"idempotentHint\":true,\"openWorldHint\":false},"
          "\"_meta\":{\"a/b\":1}}");
}

static void
hints_that_are_not_given_are_not_shown(void **state)
{
    (void)state;
    shows(MCP_TOOL(.name = "t", .reply = nothing, .hints = MCP_IDEMPOTENT),
          "{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"},"
          "\"annotations\":{\"idempotentHint\":true}}");
}

static void
a_schema_is_shown_as_it_is(void **state)
{
    (void)state;
    shows(MCP_TOOL(.name = "t", .reply = nothing,
                   .input_schema = "{\"$schema\":\"http://json-schema.org/draft-07/"
                                   "schema#\",\"type\":\"object\",\"x-own\":[1]}"),
          "{\"name\":\"t\",\"inputSchema\":{\"$schema\":\"http://json-schema.org/"
          "draft-07/schema#\",\"type\":\"object\",\"x-own\":[1]}}");
}

static void
a_name_is_what_the_specification_has(void **state)
{
    char longest[MCPI_NAME_MAX + 2];

    (void)state;
    memset(longest, 'a', sizeof(longest));
    assert_true(mcpi_name_fits("getUser", 7));
    assert_true(mcpi_name_fits("DATA_EXPORT_v2", 14));
    assert_true(mcpi_name_fits("admin.tools.list-9", 18));
    assert_true(mcpi_name_fits(longest, MCPI_NAME_MAX));
    assert_false(mcpi_name_fits(longest, MCPI_NAME_MAX + 1));
    assert_false(mcpi_name_fits("", 0));
    assert_false(mcpi_name_fits("a b", 3));
    assert_false(mcpi_name_fits("a/b", 3));
    assert_false(mcpi_name_fits("caf\xc3\xa9", 5));
    refuse(MCP_TOOL(.reply = nothing), "a tool's name");
    refuse(MCP_TOOL(.name = "a b", .reply = nothing), "not \"a b\"");
}

static void
it_has_one_handler(void **state)
{
    (void)state;
    refuse(MCP_TOOL(.name = "t"), "tool t: it needs one handler");
    refuse(MCP_TOOL(.name = "t", .run = nothing, .reply = nothing), "one handler");
}

static void
a_mistake_is_told_with_the_tool_and_the_place(void **state)
{
    const mcp_field bad[] = {
        {.name = "count", .type = MCP_INT, .size = 3},
        {0},
    };

    (void)state;
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .fields = bad),
           "tool t: its inputS");
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .fields = bad), "count");
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .output_fields = bad),
           "its outputSchema");
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .input_schema = "{"), "inputSchema");
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .input_schema = "[]"),
           "not an object");
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .input_schema = "{}"),
           "\"type\": \"object\"");
    refuse(MCP_TOOL(.name = "t", .reply = nothing,
                    .input_schema = "{\"type\":\"object\",\"minProperties\":-1}"),
           "minProperties");
    refuse(MCP_TOOL(.name = "t", .reply = nothing,
                    .output_schema = "{\"$schema\":\"https://odd.example/dialect\"}"),
           "#/$schema is not a supported dialect (2020-12, 2019-09, draft-07, "
           "draft-06): https://odd.example/dialect");
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .output_schema = "[]"),
           "outputSchema is not an object");
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .fields = search_fields,
                    .input_schema = "{\"type\":\"object\"}"),
           "fields and an input schema");
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .output_fields = search_fields,
                    .output_schema = "{\"type\":\"object\"}"),
           "output fields and an output schema");
}

static void
other_mistakes_are_told_too(void **state)
{
    const mcp_icon icons[] = {{.src = "file:///x"}, {0}};

    (void)state;
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .hints = 16), "unknown hint");
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .flags = 2), "unknown flag");
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .title = "\xff"), "title");
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .description = "\xff"),
           "description");
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .icons = icons), "icon");
    refuse(MCP_TOOL(.name = "t", .reply = nothing, .meta = "1"), "_meta");
    refuse(MCP_TOOL(.name = "t", .reply = nothing,
                    .meta = "{\"io.modelcontextprotocol/logLevel\":{}}"),
           "reserved");
}

static void
limits_are_microseconds(void **state)
{
    struct mcpi_tool *tool;

    (void)state;
    tool = make(MCP_TOOL(.name = "t", .run = nothing, .limit_ms = 5));
    assert_int_equal(tool->offer.handler.limit_us, 5000);
    mcpi_offer_unref(&tool->offer);
    tool = make(MCP_TOOL(.name = "t", .run = nothing, .limit_ms = INT64_MAX));
    assert_int_equal(tool->offer.handler.limit_us, MCPI_NEVER);
    mcpi_offer_unref(&tool->offer);
    tool = make(MCP_TOOL(.name = "t", .run = nothing, .limit_ms = -1));
    assert_int_equal(tool->offer.handler.limit_us, MCPI_NEVER);
    mcpi_offer_unref(&tool->offer);
    tool = make(MCP_TOOL(.name = "t", .start = nothing));
    assert_int_equal(tool->offer.handler.limit_us, 0);
    assert_int_equal(tool->offer.handler.kind, MCPI_STARTS);
    mcpi_offer_unref(&tool->offer);
}

/* ---- what stands in headers too ----------------------------------------- */

#define MIRRORED(property) \
    "{\"type\":\"object\",\"properties\":{\"region\":" property "}}"

static void
a_schema_says_what_stands_in_headers(void **state)
{
    struct mcpi_tool *tool;

    (void)state;
    tool = make(MCP_TOOL(.name = "t", .reply = nothing, .fields = search_fields));
    assert_null(tool->mirror);
    mcpi_offer_unref(&tool->offer);
    tool = make(MCP_TOOL(.name = "t", .reply = nothing,
                         .input_schema = MIRRORED("{\"type\":\"string\","
                                                  "\"x-mcp-header\":\"Region\"}")));
    assert_int_equal(mcpi_mirror_count(tool->mirror), 1);
    assert_string_equal(mcpi_mirror_name(tool->mirror, 0), "Region");
    assert_non_null(strstr(mcp_builder_text(tool->offer.shown, NULL), "x-mcp-header"));
    mcpi_offer_unref(&tool->offer);
}

static const mcp_field mirrored_fields[] = {
    MCP_FIELD_WITH(struct search, query, MCP_STRING, 0, NULL, .header = "Query"),
    MCP_FIELD_WITH(struct search, limit, MCP_INT, 0, NULL, .header = "Most"),
    {0},
};

static void
a_table_says_what_stands_in_headers(void **state)
{
    struct mcpi_tool *tool = make(
        MCP_TOOL(.name = "t", .reply = nothing, .fields = mirrored_fields));

    (void)state;
    assert_int_equal(mcpi_mirror_count(tool->mirror), 2);
    assert_string_equal(mcpi_mirror_header(tool->mirror, 0), "mcp-param-query");
    assert_string_equal(mcpi_mirror_header(tool->mirror, 1), "mcp-param-most");
    mcpi_offer_unref(&tool->offer);
}

static void
a_wrong_annotation_is_told(void **state)
{
    (void)state;
    refuse(MCP_TOOL(.name = "t", .reply = nothing,
                    .input_schema = MIRRORED("{\"type\":\"string\","
                                             "\"x-mcp-header\":\"My Region\"}")),
           "tool t: its inputSchema: x-mcp-header is no HTTP token");
    refuse(MCP_TOOL(.name = "t", .reply = nothing,
                    .input_schema = MIRRORED("{\"type\":\"number\","
                                             "\"x-mcp-header\":\"Region\"}")),
           "not of type");
    refuse(MCP_TOOL(.name = "t", .reply = nothing,
                    .input_schema = MIRRORED("{\"anyOf\":[{\"type\":\"string\","
                                             "\"x-mcp-header\":\"Region\"}]}")),
           "where properties alone do not lead");
}

/* ---- checking ----------------------------------------------------------- */

static int
check(const struct mcpi_tool *tool, const char *arguments, mcp_error *err)
{
    mcp_doc *doc = NULL;
    int r;

    if (arguments)
        assert_int_equal(mcp_doc_parse(arguments, strlen(arguments), NULL, &doc, NULL),
                         0);
    r = mcpi_tool_check_input(tool, mcp_doc_root(doc), err);
    mcp_doc_free(doc);
    return r;
}

static void
arguments_are_checked_by_the_table(void **state)
{
    struct mcpi_tool *tool = make(
        MCP_TOOL(.name = "t", .reply = nothing, .fields = search_fields));
    mcp_error err = {0};

    (void)state;
    assert_int_equal(check(tool, "{\"query\":\"x\"}", &err), 0);
    assert_int_equal(check(tool, "{\"query\":\"x\",\"limit\":10}", &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, "/limit"));
    assert_int_equal(check(tool, NULL, &err), MCP_E_INVAL);
    mcpi_offer_unref(&tool->offer);
}

static void
arguments_are_checked_by_the_schema(void **state)
{
    struct mcpi_tool *tool = make(
        MCP_TOOL(.name = "t", .reply = nothing,
                 .input_schema = "{\"type\":\"object\",\"required\":[\"city\"],"
                                 "\"properties\":{\"city\":{\"type\":\"string\"}}}"));
    mcp_error err = {0};

    (void)state;
    assert_int_equal(check(tool, "{\"city\":\"x\"}", &err), 0);
    assert_int_equal(check(tool, "{\"city\":1}", &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, "/city"));
    assert_int_equal(check(tool, NULL, &err), MCP_E_INVAL);
    mcpi_offer_unref(&tool->offer);
    tool = make(MCP_TOOL(.name = "t", .reply = nothing,
                         .input_schema = "{\"type\":\"object\"}"));
    assert_int_equal(check(tool, NULL, &err), 0); /* none are an empty object */
    mcpi_offer_unref(&tool->offer);
}

static void
output_is_checked_if_it_was_promised(void **state)
{
    struct mcpi_tool *tool = make(
        MCP_TOOL(.name = "t", .reply = nothing, .output_fields = search_fields));
    struct mcpi_tool *other = make(MCP_TOOL(.name = "t", .reply = nothing));
    mcp_doc *doc;

    (void)state;
    assert_int_equal(mcp_doc_parse("{\"query\":1}", 11, NULL, &doc, NULL), 0);
    assert_true(mcpi_tool_has_output(tool));
    assert_false(mcpi_tool_has_output(other));
    assert_int_equal(mcpi_tool_check_output(tool, mcp_doc_root(doc), NULL),
                     MCP_E_INVAL);
    assert_int_equal(mcpi_tool_check_output(other, mcp_doc_root(doc), NULL), 0);
    mcp_doc_free(doc);
    mcpi_offer_unref(&tool->offer);
    mcpi_offer_unref(&other->offer);
}

static void
make_in(struct test_mem *mem, void *user)
{
    const mcp_tool *definition = user;
    struct mcpi_tool *tool = NULL;
    mcp_error err = {0};
    int r = mcpi_tool_new(&mem->allocator, definition, &tool, &err);

    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(err.status, r);
    if (tool)
        mcpi_offer_unref(&tool->offer);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_tool tables = MCP_TOOL(.name = "t", .reply = nothing, .fields = search_fields,
                               .output_fields = search_fields, .meta = "{\"a\":1}");
    mcp_tool schemas = MCP_TOOL(.name = "t", .reply = nothing,
                                .input_schema = "{\"type\":\"object\"}",
                                .output_schema = "{\"type\":\"object\"}");
    mcp_tool mirrored = MCP_TOOL(.name = "t", .reply = nothing,
                                 .fields = mirrored_fields,
                                 .output_schema = "{\"type\":\"array\"}");

    (void)state;
    assert_true(test_each_allocation_fails(make_in, &mirrored) > 6);
    assert_true(test_each_allocation_fails(make_in, &tables) > 4);
    assert_true(test_each_allocation_fails(make_in, &schemas) > 4);
}

TEST_MAIN(TEST(the_least_tool_takes_any_object),
          TEST(all_members_are_shown_in_one_order),
          TEST(hints_that_are_not_given_are_not_shown),
          TEST(a_schema_is_shown_as_it_is), TEST(a_name_is_what_the_specification_has),
          TEST(it_has_one_handler), TEST(a_mistake_is_told_with_the_tool_and_the_place),
          TEST(other_mistakes_are_told_too), TEST(limits_are_microseconds),
          TEST(a_schema_says_what_stands_in_headers),
          TEST(a_table_says_what_stands_in_headers), TEST(a_wrong_annotation_is_told),
          TEST(arguments_are_checked_by_the_table),
          TEST(arguments_are_checked_by_the_schema),
          TEST(output_is_checked_if_it_was_promised), TEST(each_allocation_may_fail))
