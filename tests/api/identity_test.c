/* identity_test.c - who a client or a server says it is */
#include "api/identity.h"

#include <string.h>

#include "support/test.h"

static const mcp_icon icons[] = {
    {.src = "https://example.org/i.png",
     .mime_type = "image/png",
     .sizes = "48x48 any"},
    {.src = "data:image/png;base64,AAAA", .theme = "dark"},
    {0},
};

static void
all_members_are_written(void **state)
{
    const struct mcpi_implementation who = {.name = "clock",
                                            .version = "1.0",
                                            .title = "Clock",
                                            .description = "tells the time",
                                            .website = "https://example.org",
                                            .icons = icons};
    mcp_builder *b = mcp_builder_new(NULL);

    (void)state;
    assert_int_equal(mcpi_identity_build(b, &who, NULL), 0);
    assert_string_equal(
        mcp_builder_text(b, NULL),
        "{\"name\":\"clock\",\"title\":\"Clock\",\"version\":\"1.0\","
        "\"description\":\"tells the time\",\"websiteUrl\":\"https://example.org\","
        "\"icons\":[{\"src\":\"https://example.org/i.png\",\"mimeType\":\"image/png\","
        "\"sizes\":[\"48x48\",\"any\"]},"
        "{\"src\":\"data:image/png;base64,AAAA\",\"theme\":\"dark\"}]}");
    mcp_builder_free(b);
}

static void
name_and_version_are_enough(void **state)
{
    const struct mcpi_implementation who = {.name = "a", .version = "b"};
    mcp_builder *b = mcp_builder_new(NULL);

    (void)state;
    assert_int_equal(mcpi_identity_build(b, &who, NULL), 0);
    assert_string_equal(mcp_builder_text(b, NULL),
                        "{\"name\":\"a\",\"version\":\"b\"}");
    mcp_builder_free(b);
}

static void
refuse(const struct mcpi_implementation *who, const char *why)
{
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_error err = {0};

    assert_int_equal(mcpi_identity_build(b, who, &err), MCP_E_INVAL);
    if (!strstr(err.message, why))
        fail_msg("no %s in %s", why, err.message);
    mcp_builder_free(b);
}

static void
what_is_missing_or_wrong_is_named(void **state)
{
    const mcp_icon ftp[] = {{.src = "ftp://example.org/i.png"}, {0}};
    const mcp_icon theme[] = {{.src = "data:x", .theme = "pink"}, {0}};
    const mcp_icon sizes[] = {{.src = "data:x", .sizes = "\xff"}, {0}};
    const mcp_icon mime[] = {{.src = "data:x", .mime_type = "\xff"}, {0}};
    struct mcpi_implementation who = {.version = "1"};

    (void)state;
    refuse(&who, "name is missing");
    who.name = "";
    refuse(&who, "name is missing");
    who.name = "a\xff";
    refuse(&who, "name is not UTF-8");
    who.name = "a";
    who.version = NULL;
    refuse(&who, "version is missing");
    who.version = "1";
    who.title = "\xc3";
    refuse(&who, "title is not UTF-8");
    who.title = NULL;
    who.description = "\xc3";
    refuse(&who, "description is not UTF-8");
    who.description = NULL;
    who.website = "\xc3";
    refuse(&who, "website is not UTF-8");
    who.website = NULL;
    who.icons = ftp;
    refuse(&who, "not at ftp:");
    who.icons = theme;
    refuse(&who, "theme");
    who.icons = sizes;
    refuse(&who, "sizes of an icon");
    who.icons = mime;
    refuse(&who, "MIME type of an icon");
}

static void
sizes_may_have_more_than_one_space(void **state)
{
    const mcp_icon one[] = {{.src = "data:x", .sizes = "  16x16   32x32 "}, {0}};
    mcp_builder *b = mcp_builder_new(NULL);

    (void)state;
    mcp_builder_begin_object(b, NULL);
    mcpi_icons_build(b, "icons", one);
    mcp_builder_end(b);
    assert_string_equal(
        mcp_builder_text(b, NULL),
        "{\"icons\":[{\"src\":\"data:x\",\"sizes\":[\"16x16\",\"32x32\"]}]}");
    mcp_builder_free(b);
}

static void
no_icons_are_no_member(void **state)
{
    const mcp_icon none[] = {{0}};
    mcp_builder *b = mcp_builder_new(NULL);

    (void)state;
    mcp_builder_begin_object(b, NULL);
    mcpi_icons_build(b, "icons", NULL);
    mcpi_icons_build(b, "icons", none);
    mcp_builder_end(b);
    assert_string_equal(mcp_builder_text(b, NULL), "{}");
    assert_int_equal(mcpi_icons_check(NULL, NULL), 0);
    mcp_builder_free(b);
}

static void
build_in(struct test_mem *mem, void *user)
{
    const struct mcpi_implementation who = {
        .name = "a", .version = "b", .icons = icons};
    mcp_builder *b = mcp_builder_new(&mem->allocator);
    mcp_error err = {0};
    int r = mcpi_identity_build(b, &who, &err);

    (void)user;
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(err.status, r);
    mcp_builder_free(b);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(build_in, NULL) >= 2);
}

TEST_MAIN(TEST(all_members_are_written), TEST(name_and_version_are_enough),
          TEST(what_is_missing_or_wrong_is_named),
          TEST(sizes_may_have_more_than_one_space), TEST(no_icons_are_no_member),
          TEST(each_allocation_may_fail))
