/* command_get_test.c - mcpctl get: the messages of a prompt */
#include "cli/program.h"

static void
its_arguments_are_texts(void **state)
{
    (void)state;
    CHECK_RAN(0, "Review this c code", NULL, "get", CLI_BIN "/example-prompts",
              "review", "code=1", "language=c");
}

static void
what_is_missing_is_named(void **state)
{
    (void)state;
    CHECK_RAN(1, "", "code", "get", CLI_BIN "/example-prompts", "review");
}

static void
one_that_is_not_there_is_1(void **state)
{
    (void)state;
    CHECK_RAN(1, "", "the server says -32602", "get", CLI_BIN "/example-prompts",
              "nothing");
}

TEST_MAIN(TEST(its_arguments_are_texts), TEST(what_is_missing_is_named),
          TEST(one_that_is_not_there_is_1))
