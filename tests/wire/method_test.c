/* method_test.c - method names: number to name, name to number */
#include "wire/method.h"

#include <string.h>

#include "support/test.h"

static const enum mcpi_method all[] = {
#define METHOD(name, text) MCPI_METHOD_##name,
    MCPI_METHOD_MAP(METHOD)
#undef METHOD
};

#define COUNT (sizeof all / sizeof all[0])

static void
every_name_is_found_again(void **state)
{
    const char *name;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        name = mcpi_method_name(all[i]);
        assert_true(strlen(name) > 0);
        assert_int_equal(mcpi_method_find(name, strlen(name)), all[i]);
    }
}

static void
a_name_that_differs_a_little_is_another(void **state)
{
    char name[64];
    size_t len;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        len = strlen(mcpi_method_name(all[i]));
        memcpy(name, mcpi_method_name(all[i]), len + 1);
        assert_int_equal(mcpi_method_find(name, len - 1), MCPI_METHOD_OTHER);
        assert_int_equal(mcpi_method_find(name, len + 1), MCPI_METHOD_OTHER);
        for (size_t k = 0; k < len; k++) {
            name[k] ^= 0x20;
            assert_int_equal(mcpi_method_find(name, len), MCPI_METHOD_OTHER);
            name[k] ^= 0x20;
        }
    }
}

static void
what_is_not_in_the_protocol_is_other(void **state)
{
    static const char *const names[] = {"",
                                        "tools",
                                        "tools/",
                                        "ping/",
                                        "Ping",
                                        "tasks/get",
                                        "com.example/custom",
                                        "notifications/canceled"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(mcpi_method_find(names[i], strlen(names[i])),
                         MCPI_METHOD_OTHER);
    assert_string_equal(mcpi_method_name(MCPI_METHOD_OTHER), "");
}

static void
the_wire_spells_cancelled_with_two_l(void **state)
{
    (void)state;
    assert_string_equal(mcpi_method_name(MCPI_METHOD_NOTE_CANCELED),
                        "notifications/cancelled");
}

TEST_MAIN(TEST(every_name_is_found_again),
          TEST(a_name_that_differs_a_little_is_another),
          TEST(what_is_not_in_the_protocol_is_other),
          TEST(the_wire_spells_cancelled_with_two_l))
