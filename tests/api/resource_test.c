/* resource_test.c - one resource or template: checked and rendered once, when added */
#include "api/resource.h"

#include <math.h>
#include <string.h>

#include "base/mem.h"
#include "base/timers.h"
#include "support/test.h"

static int
nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

static struct mcpi_resource *
make(mcp_resource definition)
{
    struct mcpi_resource *resource = NULL;
    mcp_error err = {0};

    if (mcpi_resource_new(mcpi_mem_or_malloc(NULL), &definition, &resource, &err) < 0)
        fail_msg("%s", err.message);
    return resource;
}

static struct mcpi_resource *
make_template(mcp_template definition)
{
    struct mcpi_resource *template = NULL;
    mcp_error err = {0};

    if (mcpi_template_new(mcpi_mem_or_malloc(NULL), &definition, &template, &err) < 0)
        fail_msg("%s", err.message);
    return template;
}

static void
refuse(mcp_resource definition, const char *why)
{
    struct mcpi_resource *resource = NULL;
    mcp_error err = {0};

    assert_int_equal(
        mcpi_resource_new(mcpi_mem_or_malloc(NULL), &definition, &resource, &err),
        MCP_E_INVAL);
    assert_null(resource);
    if (!strstr(err.message, why))
        fail_msg("no %s in %s", why, err.message);
}

static void
refuse_template(mcp_template definition, const char *why)
{
    struct mcpi_resource *template = NULL;
    mcp_error err = {0};

    assert_int_equal(
        mcpi_template_new(mcpi_mem_or_malloc(NULL), &definition, &template, &err),
        MCP_E_INVAL);
    assert_null(template);
    if (!strstr(err.message, why))
        fail_msg("no %s in %s", why, err.message);
}

static void
shows(struct mcpi_resource *resource, const char *text)
{
    assert_string_equal(mcp_builder_text(resource->offer.shown, NULL), text);
    mcpi_offer_unref(&resource->offer);
}

/* ---- what lists show ---------------------------------------------------- */

static void
the_least_resource_has_a_uri_and_a_name(void **state)
{
    (void)state;
    shows(make(MCP_RESOURCE(.uri = "a:b", .name = "b", .reply = nothing)),
          "{\"uri\":\"a:b\",\"name\":\"b\"}");
}

static void
all_members_are_shown_in_one_order(void **state)
{
    const mcp_icon icons[] = {{.src = "data:x"}, {0}};

    (void)state;
    shows(make(MCP_RESOURCE(.uri = "file:///m", .name = "m", .title = "M",
                            .description = "says \"m\"", .mime_type = "text/plain",
                            .bytes = 12, .audience = MCP_FOR_USER | MCP_FOR_ASSISTANT,
                            .priority = 0.5, .last_modified = "2025-01-12T15:00:58Z",
                            .icons = icons, .meta = "{\"a/b\" : 1}", .run = nothing)),
          "{\"uri\":\"file:///m\",\"name\":\"m\",\"title\":\"M\","
          "\"description\":\"says \\\"m\\\"\",\"mimeType\":\"text/plain\","
          "\"annotations\":{\"audience\":[\"user\",\"assistant\"],\"priority\":0.5,"
          "\"lastModified\":\"2025-01-12T15:00:58Z\"},\"size\":12,"
          "\"icons\":[{\"src\":\"data:x\"}],\"_meta\":{\"a/b\":1}}");
}

static void
the_size_of_what_never_changes_is_known(void **state)
{
    (void)state;
    shows(make(MCP_RESOURCE(.uri = "a:b", .name = "b", .text = "h\xc3\xa9")),
          "{\"uri\":\"a:b\",\"name\":\"b\",\"size\":3}");
    shows(
        make(MCP_RESOURCE(.uri = "a:b", .name = "b", .data = "\0\1", .data_length = 2)),
        "{\"uri\":\"a:b\",\"name\":\"b\",\"size\":2}");
    shows(make(MCP_RESOURCE(.uri = "a:b", .name = "b", .text = "")),
          "{\"uri\":\"a:b\",\"name\":\"b\"}");
}

static void
a_template_is_shown_by_its_text(void **state)
{
    (void)state;
    shows(
        make_template(MCP_TEMPLATE(.uri_template = "users://{id}/card", .name = "card",
                                   .title = "Card", .mime_type = "text/vcard",
                                   .audience = MCP_FOR_ASSISTANT, .start = nothing)),
        "{\"uriTemplate\":\"users://{id}/card\",\"name\":\"card\",\"title\":\"Card\","
        "\"mimeType\":\"text/vcard\",\"annotations\":{\"audience\":[\"assistant\"]}}");
}

/* ---- what is kept ------------------------------------------------------- */

static void
content_is_copied(void **state)
{
    char text[] = "text", data[] = "\1\2", mime[] = "a/b", uri[] = "a:b";
    struct mcpi_resource *resource;

    (void)state;
    resource = make(MCP_RESOURCE(.uri = uri, .name = "b", .mime_type = mime,
                                 .text = text, .ttl_ms = 5, .scope = MCP_CACHE_PUBLIC));
    memset(text, 'x', 4);
    memset(mime, 'x', 3);
    memset(uri, 'x', 3);
    assert_true(resource->is_text);
    assert_string_equal(resource->content, "text");
    assert_string_equal(resource->mime_type, "a/b");
    assert_string_equal(resource->offer.key, "a:b");
    assert_int_equal(resource->ttl_ms, 5);
    assert_int_equal(resource->scope, MCP_CACHE_PUBLIC);
    assert_int_equal(resource->offer.handler.kind, MCPI_REPLIES);
    mcpi_offer_unref(&resource->offer);
    resource = make(
        MCP_RESOURCE(.uri = "a:b", .name = "b", .data = data, .data_length = 2));
    memset(data, 'x', 2);
    assert_false(resource->is_text);
    assert_int_equal(resource->content_length, 2);
    assert_memory_equal(resource->content, "\1\2", 2);
    mcpi_offer_unref(&resource->offer);
}

static void
handlers_have_their_flags_and_limits(void **state)
{
    const mcp_handler complete = {.start = nothing};
    struct mcpi_resource *template;

    (void)state;
    template = make_template(MCP_TEMPLATE(.uri_template = "a:{b}", .name = "b",
                                          .run = nothing, .complete = complete,
                                          .flags = MCP_SIGNAL_ONLY, .limit_ms = 2));
    assert_int_equal(template->offer.handler.kind, MCPI_RUNS);
    assert_int_equal(template->offer.handler.limit_us, 2000);
    assert_true(template->offer.handler.signal_only);
    assert_int_equal(template->offer.complete.kind, MCPI_STARTS);
    assert_int_equal(template->offer.complete.limit_us, 2000);
    assert_true(mcpi_template_has(template, "b"));
    assert_false(mcpi_template_has(template, "c"));
    mcpi_offer_unref(&template->offer);
}

/* ---- what is refused ---------------------------------------------------- */

static void
a_uri_is_absolute(void **state)
{
    static const char *const bad[] = {"",     "motd",  "/motd", "//host/x", ":x",
                                      "1a:b", "a b:c", "a:b c", "a:\n",     "a:\xff"};
    mcp_resource resource = MCP_RESOURCE(.name = "b", .reply = nothing);

    (void)state;
    refuse(resource, "a resource's URI is absolute, not \"\"");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        resource.uri = bad[i];
        refuse(resource, "a resource's URI is absolute");
    }
    mcpi_offer_unref(
        &make(MCP_RESOURCE(.uri = "x-own.1:/\xc3\xa4", .name = "b", .reply = nothing))
             ->offer);
}

static void
it_has_one_source(void **state)
{
    (void)state;
    refuse(MCP_RESOURCE(.uri = "a:b", .name = "b"),
           "resource a:b: it needs one of text, data and a handler");
    refuse(MCP_RESOURCE(.uri = "a:b", .name = "b", .text = "x", .reply = nothing),
           "one of text, data and a handler");
    refuse(MCP_RESOURCE(.uri = "a:b", .name = "b", .text = "x", .data = "x"),
           "one of text, data and a handler");
    refuse(MCP_RESOURCE(.uri = "a:b", .name = "b", .run = nothing, .reply = nothing),
           "one handler");
    refuse(MCP_RESOURCE(.uri = "a:b", .name = "b", .text = "x", .data_length = 1),
           "a length and no bytes");
}

static void
other_mistakes_are_told_too(void **state)
{
    const mcp_icon icons[] = {{.src = "file:///x"}, {0}};
    mcp_resource good = MCP_RESOURCE(.uri = "a:b", .name = "b", .reply = nothing), bad;

    (void)state;
#define BAD(member, value, why) \
    do {                        \
        bad = good;             \
        bad.member = value;     \
        refuse(bad, why);       \
    } while (0)
    BAD(name, NULL, "resource a:b: it has no name");
    BAD(name, "", "no name");
    BAD(name, "\xff", "name");
    BAD(title, "\xff", "title");
    BAD(description, "\xff", "description");
    BAD(mime_type, "\xff", "MIME type");
    BAD(last_modified, "\xff", "time of the last change");
    BAD(icons, icons, "icon");
    BAD(audience, 4, "audience");
    BAD(priority, 1.5, "priority");
    BAD(priority, -0.5, "priority");
    BAD(priority, (double)NAN, "priority");
    BAD(bytes, -1, "size");
    BAD(ttl_ms, -1, "kept");
    BAD(scope, (enum mcp_cache_scope)9, "scope");
    BAD(flags, 2, "unknown flag");
    BAD(meta, "[]", "_meta");
    BAD(meta, "{\"io.modelcontextprotocol/logLevel\":{}}", "reserved");
#undef BAD
    refuse(MCP_RESOURCE(.uri = "a:b", .name = "b", .text = "\xff"), "text");
}

static void
a_template_compiles_and_has_a_handler(void **state)
{
    const mcp_handler two = {.run = nothing, .start = nothing};

    (void)state;
    refuse_template(MCP_TEMPLATE(.name = "b", .run = nothing), "no text");
    refuse_template(MCP_TEMPLATE(.uri_template = "a:{b", .name = "b", .run = nothing),
                    "template a:{b: ");
    refuse_template(MCP_TEMPLATE(.uri_template = "a:{b}", .name = "b"),
                    "template a:{b}: it needs one handler");
    refuse_template(MCP_TEMPLATE(.uri_template = "a:{b}", .run = nothing), "no name");
    refuse_template(MCP_TEMPLATE(.uri_template = "a:{b}", .name = "b", .run = nothing,
                                 .complete = two),
                    "its completion: it needs one handler");
    refuse_template(MCP_TEMPLATE(.uri_template = "a:{b}", .name = "b", .run = nothing,
                                 .priority = 2),
                    "priority");
}

/* ---- memory ------------------------------------------------------------- */

static void
make_in(struct test_mem *mem, void *user)
{
    struct mcpi_resource *resource = NULL;
    mcp_error err = {0};
    int r = mcpi_resource_new(&mem->allocator, user, &resource, &err);

    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(err.status, r);
    if (resource)
        mcpi_offer_unref(&resource->offer);
}

static void
make_template_in(struct test_mem *mem, void *user)
{
    struct mcpi_resource *template = NULL;
    mcp_error err = {0};
    int r = mcpi_template_new(&mem->allocator, user, &template, &err);

    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(err.status, r);
    if (template)
        mcpi_offer_unref(&template->offer);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_resource text = MCP_RESOURCE(.uri = "a:b", .name = "b", .text = "x",
                                     .mime_type = "c/d", .meta = "{\"a\":1}");
    mcp_template template = MCP_TEMPLATE(.uri_template = "a:{b}", .name = "b",
                                         .mime_type = "c/d", .run = nothing);

    (void)state;
    assert_true(test_each_allocation_fails(make_in, &text) > 4);
    assert_true(test_each_allocation_fails(make_template_in, &template) > 3);
}

TEST_MAIN(TEST(the_least_resource_has_a_uri_and_a_name),
          TEST(all_members_are_shown_in_one_order),
          TEST(the_size_of_what_never_changes_is_known),
          TEST(a_template_is_shown_by_its_text), TEST(content_is_copied),
          TEST(handlers_have_their_flags_and_limits), TEST(a_uri_is_absolute),
          TEST(it_has_one_source), TEST(other_mistakes_are_told_too),
          TEST(a_template_compiles_and_has_a_handler), TEST(each_allocation_may_fail))
