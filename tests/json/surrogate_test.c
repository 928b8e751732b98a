/* json/surrogate_test.c - proves json/surrogate.c: which escapes become that of U+FFFD */
#include "json/surrogate.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static void
repairs(const char *text, const char *expected, size_t count)
{
    size_t len = strlen(text);
    char *own = malloc(len + 1); /* the analyzer sees a byte too many */

    assert_non_null(own);
    memcpy(own, text, len);
    own = realloc(own, len ? len : 1);
    assert_non_null(own);
    assert_int_equal(mcpi_surrogates_repair(own, len), count);
    assert_memory_equal(own, expected, len);
    free(own);
}

static void
half_of_a_pair_is_replaced(void **state)
{
    (void)state;
    repairs("\"\\ud83d\"", "\"\\ufffd\"", 1);
    repairs("\\uD800", "\\ufffd", 1);
    repairs("\\udBfF", "\\ufffd", 1);
    repairs("\\uDC00", "\\ufffd", 1);
    repairs("\\udfff", "\\ufffd", 1);
    repairs("a\\ude00b\\ud83dc", "a\\ufffdb\\ufffdc", 2);
}

static void
a_pair_is_left_alone_and_what_is_beside_it_replaced(void **state)
{
    (void)state;
    repairs("\\ud83d\\ude00", "\\ud83d\\ude00", 0);
    repairs("\\uD83D\\uDE00\\ud83d", "\\uD83D\\uDE00\\ufffd", 1);
    repairs("\\ud83d\\ud83d\\ude00", "\\ufffd\\ud83d\\ude00", 1);
    repairs("\\ud83d\\ude00\\ude00", "\\ud83d\\ude00\\ufffd", 1);
    repairs("\\ude00\\ud83d", "\\ufffd\\ufffd", 2);
    repairs("\\ud83d\\n\\ude00", "\\ufffd\\n\\ufffd", 2);
    repairs("\\ud83d\\\\ude00", "\\ufffd\\\\ude00", 1);
}

static void
what_is_not_an_escape_of_a_half_is_left_alone(void **state)
{
    static const char *const texts[] = {
        "",        "no backslash", "\\",         "\\u",
        "\\ud",    "\\ud83",       "\\\\ud83d",  "\\\\\\\\ud83d",
        "\\ud7ff", "\\ue000",      "\\ud83g",    "\\ud8_3",
        "\\Ud83d", "ud83d",        "\\n\\t\\\"", "\\u0000\\uffff",
        "\\ud/00", "\\udg00",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        repairs(texts[i], texts[i], 0);
}

TEST_MAIN(TEST(half_of_a_pair_is_replaced),
          TEST(a_pair_is_left_alone_and_what_is_beside_it_replaced),
          TEST(what_is_not_an_escape_of_a_half_is_left_alone))
