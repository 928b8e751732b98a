/* versions_test.c - the protocol revisions we speak */
#include "core/versions.h"

#include <string.h>

#include "support/test.h"

static const char *
chosen(const char *supported, bool modern)
{
    const char *version;
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(supported, strlen(supported), NULL, &doc, NULL), 0);
    version = mcpi_version_choose(mcp_doc_root(doc), modern);
    mcp_doc_free(doc);
    return version;
}

static void
version_is_found_in_its_own_era_only(void **state)
{
    static const char *const legacy[] = {"2025-11-25", "2025-06-18", "2025-03-26",
                                         "2024-11-05"};

    (void)state;
    for (int i = 0; i < 4; i++) {
        assert_string_equal(mcpi_version_find(legacy[i], false), legacy[i]);
        assert_null(mcpi_version_find(legacy[i], true));
    }
    assert_string_equal(mcpi_version_find("2026-07-28", true), "2026-07-28");
    assert_null(mcpi_version_find("2026-07-28", false));
}

static void
version_found_is_our_own_constant(void **state)
{
    char text[] = "2026-07-28";

    (void)state;
    assert_ptr_not_equal(mcpi_version_find(text, true), text);
    assert_ptr_equal(mcpi_version_find(text, true), mcpi_version_find(text, true));
}

static void
what_is_no_version_of_ours_is_not_found(void **state)
{
    static const char *const texts[] = {"", "2026", "2026-07-28 ", "2025-11-2",
                                        "1999-01-01"};

    (void)state;
    for (int modern = 0; modern < 2; modern++) {
        assert_null(mcpi_version_find(NULL, modern));
        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
            assert_null(mcpi_version_find(texts[i], modern));
    }
}

static void
newest_common_version_is_chosen_whatever_the_order(void **state)
{
    (void)state;
    assert_string_equal(chosen("[\"2024-11-05\",\"2025-06-18\",\"2025-03-26\"]", false),
                        "2025-06-18");
    assert_string_equal(chosen("[\"9999-01-01\",\"2025-03-26\"]", false), "2025-03-26");
    assert_string_equal(chosen("[\"2025-11-25\",\"2026-07-28\"]", true), "2026-07-28");
    assert_string_equal(chosen("[\"2025-11-25\",\"2026-07-28\"]", false), "2025-11-25");
}

static void
list_without_a_common_version_chooses_none(void **state)
{
    static const char *const lists[] = {"[]",
                                        "[\"1999-01-01\"]",
                                        "[7,null,true,{}]",
                                        "{\"a\":\"2026-07-28\"}",
                                        "\"2026-07-28\"",
                                        "null"};

    (void)state;
    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
        assert_null(chosen(lists[i], true));
    assert_null(chosen("[\"2025-11-25\"]", true));
    assert_null(mcpi_version_choose(NULL, true));
}

static void
check_written(bool modern, bool legacy, const char *want)
{
    struct mcpi_buf buf;
    struct test_mem mem;

    test_mem_init(&mem);
    mcpi_buf_init(&buf, &mem.allocator, 1000);
    mcpi_version_write(&buf, modern, legacy);
    assert_int_equal(buf.status, 0);
    assert_int_equal(buf.len, strlen(want));
    assert_memory_equal(buf.data, want, buf.len);
    mcpi_buf_done(&buf);
    test_mem_done(&mem);
}

static void
versions_are_written_newest_first(void **state)
{
    (void)state;
    check_written(false, false, "[]");
    check_written(true, false, "[\"2026-07-28\"]");
    check_written(false, true,
                  "[\"2025-11-25\",\"2025-06-18\",\"2025-03-26\",\"2024-11-05\"]");
    check_written(true, true,
                  "[\"2026-07-28\",\"2025-11-25\",\"2025-06-18\",\"2025-03-26\","
                  "\"2024-11-05\"]");
}

static void
versions_are_in_the_order_of_their_dates(void **state)
{
    (void)state;
    assert_true(mcpi_version_is_before("2024-11-05", MCPI_VERSION_AUDIO));
    assert_false(mcpi_version_is_before("2025-03-26", MCPI_VERSION_AUDIO));
    assert_true(mcpi_version_is_before("2025-03-26", MCPI_VERSION_LINKS));
    assert_false(mcpi_version_is_before("2025-06-18", MCPI_VERSION_LINKS));
    assert_false(mcpi_version_is_before(MCPI_VERSION_MODERN, MCPI_VERSION_LINKS));
}

TEST_MAIN(TEST(version_is_found_in_its_own_era_only),
          TEST(versions_are_in_the_order_of_their_dates),
          TEST(version_found_is_our_own_constant),
          TEST(what_is_no_version_of_ours_is_not_found),
          TEST(newest_common_version_is_chosen_whatever_the_order),
          TEST(list_without_a_common_version_chooses_none),
          TEST(versions_are_written_newest_first))
