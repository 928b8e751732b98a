/* prompt_test.c - one prompt: checked and rendered once, when it is added */
#include "api/prompt.h"

#include <string.h>

#include "base/mem.h"
#include "support/test.h"

static int
nothing(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

static const char *const languages[] = {"c", "c++", NULL};

static const mcp_prompt_argument arguments[] = {
    {.name = "code", .required = true},
    {.name = "language",
     .title = "Language",
     .description = "in which it is written",
     .values = languages},
    {0},
};

static struct mcpi_prompt *
make(mcp_prompt definition)
{
    struct mcpi_prompt *prompt = NULL;
    mcp_error err = {0};

    if (mcpi_prompt_new(mcpi_mem_or_malloc(NULL), &definition, &prompt, &err) < 0)
        fail_msg("%s", err.message);
    return prompt;
}

static void
refuse(mcp_prompt definition, const char *why)
{
    struct mcpi_prompt *prompt = NULL;
    mcp_error err = {0};

    assert_int_equal(
        mcpi_prompt_new(mcpi_mem_or_malloc(NULL), &definition, &prompt, &err),
        MCP_E_INVAL);
    assert_null(prompt);
    if (!strstr(err.message, why))
        fail_msg("no %s in %s", why, err.message);
}

static void
shows(mcp_prompt definition, const char *text)
{
    struct mcpi_prompt *prompt = make(definition);

    assert_string_equal(mcp_builder_text(prompt->offer.shown, NULL), text);
    mcpi_offer_unref(&prompt->offer);
}

static void
the_least_prompt_has_a_name(void **state)
{
    const mcp_prompt_argument none[] = {{0}};

    (void)state;
    shows(MCP_PROMPT(.name = "hi", .reply = nothing), "{\"name\":\"hi\"}");
    shows(MCP_PROMPT(.name = "hi", .reply = nothing, .arguments = none),
          "{\"name\":\"hi\"}");
}

static void
all_members_are_shown_in_one_order(void **state)
{
    const mcp_icon icons[] = {{.src = "data:x"}, {0}};

    (void)state;
    shows(MCP_PROMPT(.name = "review", .title = "Review", .description = "Look at it",
                     .arguments = arguments, .icons = icons, .meta = "{ \"a\":1}",
                     .run = nothing),
          "{\"name\":\"review\",\"title\":\"Review\",\"description\":\"Look at it\","
          "\"arguments\":[{\"name\":\"code\",\"required\":true},"
          "{\"name\":\"language\",\"title\":\"Language\","
          "\"description\":\"in which it is written\"}],"
          "\"icons\":[{\"src\":\"data:x\"}],\"_meta\":{\"a\":1}}");
}

static void
arguments_and_values_are_copied(void **state)
{
    char value[] = "c", name[] = "language", description[] = "d";
    const char *const values[] = {value, NULL};
    const mcp_prompt_argument own[] = {{.name = name, .values = values}, {0}};
    const mcp_json *argument;
    struct mcpi_prompt *prompt;

    (void)state;
    prompt = make(MCP_PROMPT(.name = "p", .description = description, .arguments = own,
                             .reply = nothing));
    value[0] = name[0] = description[0] = 'x';
    argument = mcp_json_get(prompt->arguments, "language");
    assert_true(
        mcp_json_is_string(mcp_json_at(mcp_json_get(argument, "values"), 0), "c"));
    assert_string_equal(prompt->description, "d");
    assert_true(prompt->completes);
    mcpi_offer_unref(&prompt->offer);
}

static void
what_completes_it_is_known(void **state)
{
    const mcp_prompt_argument plain[] = {{.name = "a"}, {0}};
    const mcp_handler complete = {.run = nothing};
    struct mcpi_prompt *prompt;

    (void)state;
    prompt = make(MCP_PROMPT(.name = "p", .arguments = plain, .reply = nothing));
    assert_false(prompt->completes);
    assert_int_equal(prompt->offer.complete.kind, MCPI_NO_HANDLER);
    mcpi_offer_unref(&prompt->offer);
    prompt = make(MCP_PROMPT(.name = "p", .arguments = plain, .reply = nothing,
                             .complete = complete, .limit_ms = 3));
    assert_true(prompt->completes);
    assert_int_equal(prompt->offer.complete.kind, MCPI_RUNS);
    assert_int_equal(prompt->offer.complete.limit_us, 3000);
    mcpi_offer_unref(&prompt->offer);
}

static void
mistakes_are_told_with_the_prompt(void **state)
{
    const mcp_icon icons[] = {{.src = "file:///x"}, {0}};
    const mcp_handler two = {.run = nothing, .reply = nothing};

    (void)state;
    refuse(MCP_PROMPT(.reply = nothing), "a prompt's name");
    refuse(MCP_PROMPT(.name = "a b", .reply = nothing), "not \"a b\"");
    refuse(MCP_PROMPT(.name = "p"), "prompt p: it needs one handler");
    refuse(MCP_PROMPT(.name = "p", .reply = nothing, .complete = two),
           "its completion: it needs one handler");
    refuse(MCP_PROMPT(.name = "p", .reply = nothing, .flags = 2), "unknown flag");
    refuse(MCP_PROMPT(.name = "p", .reply = nothing, .title = "\xff"), "title");
    refuse(MCP_PROMPT(.name = "p", .reply = nothing, .description = "\xff"),
           "description");
    refuse(MCP_PROMPT(.name = "p", .reply = nothing, .icons = icons), "icon");
    refuse(MCP_PROMPT(.name = "p", .reply = nothing, .meta = "1"), "_meta");
}

static void
refuse_argument(mcp_prompt_argument argument, const char *why)
{
    const mcp_prompt_argument two[] = {{.name = "first"}, argument, {0}};

    refuse(MCP_PROMPT(.name = "p", .reply = nothing, .arguments = two), why);
}

static void
mistakes_of_arguments_are_told(void **state)
{
    static const char *const bad[] = {"good", "\xff", NULL};

    (void)state;
    refuse_argument((mcp_prompt_argument){.name = "first"}, "first stands twice");
    refuse_argument((mcp_prompt_argument){.name = ""}, "no name");
    refuse_argument((mcp_prompt_argument){.name = "\xff"}, "name of an argument");
    refuse_argument((mcp_prompt_argument){.name = "a", .title = "\xff"}, "title of an");
    refuse_argument((mcp_prompt_argument){.name = "a", .description = "\xff"},
                    "description of an");
    refuse_argument((mcp_prompt_argument){.name = "a", .values = bad}, "value of an");
}

static void
make_in(struct test_mem *mem, void *user)
{
    struct mcpi_prompt *prompt = NULL;
    mcp_error err = {0};
    int r = mcpi_prompt_new(&mem->allocator, user, &prompt, &err);

    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(err.status, r);
    if (prompt)
        mcpi_offer_unref(&prompt->offer);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_prompt definition = MCP_PROMPT(.name = "p", .reply = nothing,
                                       .arguments = arguments, .meta = "{\"a\":1}");

    (void)state;
    assert_true(test_each_allocation_fails(make_in, &definition) > 4);
}

TEST_MAIN(TEST(the_least_prompt_has_a_name), TEST(all_members_are_shown_in_one_order),
          TEST(arguments_and_values_are_copied), TEST(what_completes_it_is_known),
          TEST(mistakes_are_told_with_the_prompt), TEST(mistakes_of_arguments_are_told),
          TEST(each_allocation_may_fail))
