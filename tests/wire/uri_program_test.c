/* wire/uri_program_test.c - proves wire/uri_program.c: the shape every program has */
#include <stdio.h>
#include <string.h>

#include "support/test.h"
#include "wire/uri_template.h"

static const char *const templates[] = {
    "",          "a",           "{a}",          "{a,b*,c:3}",     "{+a,b*}x",
    "{#a*}",     "{.a,b}{.c*}", "{/a*,b}",      "{;a,b*,c*}",     "{?a,b:2,c}",
    "{?a*}{&b}", "x{a}y{b}z",   "{a}{a}{?a,a}", "f:{+p}/{n}{?q}",
};

#define TEMPLATE_COUNT (sizeof templates / sizeof templates[0])

static bool
consumes(const struct mcpi_uri_step *step)
{
    return step->kind == MCPI_URI_LITERAL || step->kind == MCPI_URI_ANY;
}

static void
assert_shape(const struct mcpi_uri_program *program, const char *text)
{
    for (size_t i = 0; i < program->step_count; i++) {
        const struct mcpi_uri_step *step = &program->steps[i];
        bool is_fork = step->kind == MCPI_URI_FORK;

        if (step->next >= program->step_count || step->other >= program->step_count)
            fail_msg("%s: step %zu leads nowhere", text, i);
        if (step->kind == MCPI_URI_END || consumes(step))
            continue;
        if (step->next >= i && !consumes(&program->steps[step->next]))
            fail_msg("%s: step %zu goes ahead", text, i);
        if (is_fork && step->other >= i && !consumes(&program->steps[step->other]))
            fail_msg("%s: step %zu may go ahead", text, i);
    }
}

static void
steps_without_consumption_lead_back_only(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEMPLATE_COUNT; i++) {
        mcp_uri_template *t = NULL;

        assert_int_equal(mcp_uri_template_new(templates[i], NULL, &t, NULL), 0);
        assert_shape(&t->program, templates[i]);
        mcp_uri_template_free(t);
    }
}

static void
literals_are_one_step_of_decoded_units(void **state)
{
    mcp_uri_template *t = NULL;
    const struct mcpi_uri_step *start;

    (void)state;
    assert_int_equal(mcp_uri_template_new("a%2fb{x}", NULL, &t, NULL), 0);
    start = &t->program.steps[t->program.start];
    assert_int_equal(start->kind, MCPI_URI_LITERAL);
    assert_int_equal(start->count, 3);
    assert_int_equal(t->program.units[start->first + 1], MCPI_URI_ENCODED | '/');
    mcp_uri_template_free(t);
}

static void
literals_of_no_length_do_not_exist(void **state)
{
    (void)state;
    for (size_t i = 0; i < TEMPLATE_COUNT; i++) {
        mcp_uri_template *t = NULL;

        assert_int_equal(mcp_uri_template_new(templates[i], NULL, &t, NULL), 0);
        for (size_t j = 0; j < t->program.step_count; j++) {
            if (t->program.steps[j].kind == MCPI_URI_LITERAL)
                assert_true(t->program.steps[j].count > 0);
        }
        mcp_uri_template_free(t);
    }
}

static void
largest_template_stays_small(void **state)
{
    char text[4000] = "{?a*";
    mcp_uri_template *t = NULL;

    (void)state;
    for (int i = 1; i < MCP_URI_VARIABLES_MAX; i++)
        snprintf(text + strlen(text), 20, ",b%d", i);
    strcat(text, "}");
    assert_int_equal(mcp_uri_template_new(text, NULL, &t, NULL), 0);
    assert_in_range(t->program.step_count, 1000, 16 * MCP_URI_VARIABLES_MAX);
    mcp_uri_template_free(t);
}

TEST_MAIN(TEST(steps_without_consumption_lead_back_only),
          TEST(literals_are_one_step_of_decoded_units),
          TEST(literals_of_no_length_do_not_exist), TEST(largest_template_stays_small))
