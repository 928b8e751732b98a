/* command_read_test.c - mcpctl read: what is in a resource */
#include "cli/program.h"

static void
texts_and_bytes_come_as_they_are(void **state)
{
    (void)state;
    CHECK_RAN(0, "\"text\":\"Name: ada\"", NULL, "read", CLI_BIN "/example-resources",
              "users://ada/card");
    CHECK_RAN(0, "\"blob\":", NULL, "read", CLI_BIN "/example-resources",
              "visits://icon");
}

static void
what_is_not_there_is_1(void **state)
{
    (void)state;
    CHECK_RAN(1, "", "the server says -32", "read", CLI_BIN "/example-resources",
              "users://eve/card");
}

TEST_MAIN(TEST(texts_and_bytes_come_as_they_are), TEST(what_is_not_there_is_1))
