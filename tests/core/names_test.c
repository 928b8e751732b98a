/* names_test.c - a set of resources, by URI, and which of them a resource lies below */
#include "core/names.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static const unsigned char seed[MCPI_SEED_SIZE] = {1, 2, 3};

static void
make(struct mcpi_map *names, struct mcpi_name *name, const char *text)
{
    mcpi_map_init(names, NULL, seed);
    mcpi_names_add(names, name, text, strlen(text));
}

static void
name_is_found_by_its_whole_text(void **state)
{
    struct mcpi_name name;
    struct mcpi_map names;

    (void)state;
    make(&names, &name, "x:12");
    assert_ptr_equal(mcpi_names_find(&names, "x:12", 4), &name);
    assert_ptr_equal(mcpi_names_find(&names, "x:123", 4), &name);
    assert_null(mcpi_names_find(&names, "x:12", 3));
    assert_null(mcpi_names_find(&names, "x:13", 4));
    assert_null(mcpi_names_find(&names, "", 0));
    mcpi_map_done(&names);
}

static void
name_covers_itself_and_what_lies_below_it(void **state)
{
    static const struct {
        const char *name, *uri;
        bool covered;
    } rows[] = {
        {"f:///a", "f:///a", true},
        {"f:///a", "f:///a/", true},
        {"f:///a", "f:///a/b", true},
        {"f:///a", "f:///a/b/c", true},
        {"f:///a/", "f:///a/b/c", true},
        {"f:///", "f:///a", true},
        {"f:", "f:/a", true},
        {"f:///a", "f:///ab", false},
        {"f:///a", "f:///", false},
        {"f:///a/", "f:///a", false},
        {"f:///a", "f:///a?b/c", false},
        {"urn:a", "urn:a:b", false},
        {"f:///a", "", false},
        {"", "", true},
    };
    struct mcpi_name name;
    struct mcpi_map names;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        make(&names, &name, rows[i].name);
        if (mcpi_names_cover(&names, rows[i].uri) != rows[i].covered)
            fail_msg("\"%s\" of \"%s\"", rows[i].uri, rows[i].name);
        mcpi_map_done(&names);
    }
}

/* Who names it must not make every event a walk through all its parts. */
static void
long_name_is_found_at_once(void **state)
{
    size_t len = (size_t)1 << 20;
    char *uri = malloc(len + 1);
    struct mcpi_name name;
    struct mcpi_map names;

    (void)state;
    assert_non_null(uri);
    memset(uri, '/', len);
    uri[len] = '\0';
    make(&names, &name, uri);
    assert_true(mcpi_names_cover(&names, uri));
    mcpi_map_done(&names);
    make(&names, &name, "x:1");
    assert_false(mcpi_names_cover(&names, uri));
    mcpi_map_done(&names);
    free(uri);
}

static void
empty_set_covers_nothing(void **state)
{
    struct mcpi_map names;

    (void)state;
    mcpi_map_init(&names, NULL, seed);
    assert_false(mcpi_names_cover(&names, "x:1"));
    assert_false(mcpi_names_cover(&names, ""));
    mcpi_map_done(&names);
}

static void
each_of_many_is_found(void **state)
{
    enum { MANY = 500 };
    static struct mcpi_name name[MANY];
    static char text[MANY][16];
    struct mcpi_map names;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    mcpi_map_init(&names, &mem.allocator, seed);
    for (int i = 0; i < MANY; i++) {
        snprintf(text[i], sizeof(text[i]), "x:%d", i);
        mcpi_names_add(&names, &name[i], text[i], strlen(text[i]));
    }
    for (int i = 0; i < MANY; i++)
        assert_ptr_equal(mcpi_names_find(&names, text[i], strlen(text[i])), &name[i]);
    mcpi_map_done(&names);
    test_mem_done(&mem);
}

TEST_MAIN(TEST(name_is_found_by_its_whole_text),
          TEST(name_covers_itself_and_what_lies_below_it),
          TEST(long_name_is_found_at_once), TEST(empty_set_covers_nothing),
          TEST(each_of_many_is_found))
