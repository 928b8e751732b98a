/* json/schema_names_test.c - proves json/schema_names.c */
#include "json/schema_names.h"

#include "json/schema_fixture.h"

struct table {
    struct mcpi_arena arena;
    struct mcpi_names names;
    mcp_doc *doc;
};

/* The table of the strings of an array. */
static void
table_open(struct table *t, const char *array)
{
    const yyjson_val *strings[3000];
    mcp_json_iterator it;
    size_t count = 0;

    t->doc = doc_of(array);
    for (it = mcp_json_each(mcp_doc_root(t->doc)); mcp_json_next(&it);)
        strings[count++] = mcpi_yy(it.value);
    mcpi_arena_init(&t->arena, NULL);
    assert_int_equal(mcpi_names_init(&t->names, &t->arena, strings, count), 0);
}

static void
table_close(struct table *t)
{
    mcpi_arena_done(&t->arena);
    mcp_doc_free(t->doc);
}

static uint32_t
find(const struct table *t, const char *name, uint32_t guess)
{
    yyjson_val string = {.tag = (uint64_t)strlen(name) << YYJSON_TAG_BIT |
                                YYJSON_TYPE_STR,
                         .uni = {.str = name}};

    return mcpi_names_find(&t->names, &string, guess);
}

static void
names_are_found_once_whatever_their_length(void **state)
{
    static const char *const there[] = {"",
                                        "a",
                                        "bb",
                                        "four",
                                        "fivee",
                                        "sevenn7",
                                        "eightttt",
                                        "ninechars",
                                        "a name of sixteen",
                                        "a name that is longer than sixteen bytes"};
    struct table t;

    (void)state;
    table_open(&t,
               "['bb','a','','four','fivee','sevenn7','eightttt','ninechars','a',"
               "'a name of sixteen','a name that is longer than sixteen bytes','bb']");
    assert_int_equal(t.names.count, 10);
    for (size_t i = 0; i < 10; i++) {
        uint32_t index = find(&t, there[i], MCPI_NAME_NONE);

        assert_in_range(index, 0, 9);
        assert_string_equal(t.names.names[index].text, there[i]);
        for (uint32_t guess = 0; guess < 12; guess++)
            assert_int_equal(find(&t, there[i], guess), index);
    }
    assert_int_equal(find(&t, "fouR", 0), MCPI_NAME_NONE);
    assert_int_equal(find(&t, "eighttt!", 0), MCPI_NAME_NONE);
    assert_int_equal(find(&t, "c", 99), MCPI_NAME_NONE);
    table_close(&t);
}

static void
names_are_linked_in_the_order_of_the_document(void **state)
{
    struct table t;
    char order[64] = "";

    (void)state;
    table_open(&t, "['zz','b','zz','yyy','b','a']");
    for (uint32_t i = t.names.first; i != MCPI_NAME_NONE; i = t.names.names[i].next) {
        strcat(order, t.names.names[i].text);
        strcat(order, " ");
    }
    assert_string_equal(order, "zz b yyy a ");
    table_close(&t);
}

static void
thousands_of_names_are_all_found(void **state)
{
    char *text = malloc(3000 * 10 + 10), *at = text;
    struct table t;
    char name[16];

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < 3000; i++)
        at += sprintf(at, "%s'k%d'", i > 0 ? "," : "[", (i * 7919) % 3000);
    strcpy(at, "]");
    table_open(&t, text);
    assert_int_equal(t.names.count, 3000);
    for (int i = 0; i < 3000; i++) {
        snprintf(name, sizeof name, "k%d", i);
        assert_string_equal(t.names.names[find(&t, name, MCPI_NAME_NONE)].text, name);
    }
    table_close(&t);
    free(text);
}

TEST_MAIN(TEST(names_are_found_once_whatever_their_length),
          TEST(names_are_linked_in_the_order_of_the_document),
          TEST(thousands_of_names_are_all_found))
