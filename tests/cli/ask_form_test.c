/* cli/ask_form_test.c - proves cli/ask_form.c: a server's form, filled in */
#include "cli/asking.h"

#define TRIP                                                                        \
    "{\"type\":\"object\",\"properties\":{\"city\":{\"type\":\"string\",\"title\":" \
    "\"City\",\"minLength\":2},\"days\":{\"type\":\"integer\",\"default\":3},"      \
    "\"mail\":{\"type\":\"string\",\"format\":\"email\"}},\"required\":[\"city\"]}"

static enum mcp_era modern = MCP_ERA_MODERN, legacy = MCP_ERA_LEGACY;

static void
trip_open(struct asking *asking, const enum mcp_era *era)
{
    *asking = (struct asking){
        .elicit = MCP_ELICIT(.message = "Where\033[31m to?", .schema = TRIP)};
    asking_open(asking, *era, true);
}

static void
a_form_is_filled_in_and_sent(void **state)
{
    struct asking asking;

    trip_open(&asking, *state);
    asking_gives(&asking, "Oslo\n\n\ny\n",
                 "{'action':'accept','content':{'city':'Oslo','days':3}}");
    assert_has(desk_shown(&asking.desk), "The server asks: Where to?");
    assert_has(desk_shown(&asking.desk), "  city: \"Oslo\"\r\n");
    asking_close(&asking);
}

static void
a_wrong_answer_is_asked_for_again(void **state)
{
    struct asking asking;

    trip_open(&asking, *state);
    asking_gives(&asking, "O\nOslo\nx\n4\nnobody\na@b.example\ny\n",
                 "{'action':'accept','content':{'city':'Oslo','days':4,"
                 "'mail':'a@b.example'}}");
    assert_has(desk_shown(&asking.desk), "It must have at least 2 characters");
    assert_has(desk_shown(&asking.desk), "It must be of the format email");
    asking_close(&asking);
}

static void
a_user_may_decline_or_cancel(void **state)
{
    struct asking asking;

    trip_open(&asking, *state);
    asking_gives(&asking, "Oslo\n\n\nn\n", "{'action':'decline'}");
    asking_gives(&asking, "Oslo\n\n\nc\n", "{'action':'cancel'}");
    asking_gives(&asking, "Oslo\n\004", "{'action':'cancel'}");
    asking_close(&asking);
}

static void
a_cancel_of_the_call_ends_the_question(void **state)
{
    struct asking asking;

    trip_open(&asking, *state);
    asking_start(&asking);
    desk_until(&asking.desk, "city> ");
    assert_int_equal(mcp_call_cancel(asking.call, NULL), 0);
    asking_ends(&asking, MCP_E_CANCELED, NULL);
    asking_close(&asking); /* which waits for the handler */
}

static void
the_end_of_the_scope_is_a_cancel(void **state)
{
    struct asking asking;

    trip_open(&asking, *state);
    asking_start(&asking);
    desk_until(&asking.desk, "city> ");
    assert_int_equal(mcp_scope_cancel(asking.desk.cli.scope, NULL), 0);
    asking_ends(&asking, 0, "{'action':'cancel'}");
    asking_close(&asking);
}

#define BOTH(name) \
    TEST_AS("modern." #name, name, &modern), TEST_AS("legacy." #name, name, &legacy)

TEST_MAIN(BOTH(a_form_is_filled_in_and_sent), BOTH(a_wrong_answer_is_asked_for_again),
          BOTH(a_user_may_decline_or_cancel),
          BOTH(a_cancel_of_the_call_ends_the_question),
          BOTH(the_end_of_the_scope_is_a_cancel))
