/* leg_id_test.c - the ids of requests we send */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake.h"
#include "support/ids.h"

static int64_t
minted(struct fake *f, struct outcome *out)
{
    fake_call(f, NULL, out);
    assert_int_equal(mcpi_call_id(out->call)->kind, MCPI_ID_INT);
    return mcpi_call_id(out->call)->number;
}

/* ---- ids ------------------------------------------------------------------- */

static void
A1_minted_ids_are_integers_of_the_session_and_never_used_again(void **state)
{
    struct outcome out;
    struct fake f, g;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_start(&g, FAKE_PIPE, MCPI_ERA_MODERN);
    for (int64_t i = 1; i <= 5; i++) {
        assert_int_equal(minted(&f, &out), i);
        outcome_done(&out); /* settled: the value is not given out again */
    }
    assert_int_equal(minted(&g, &out), 1);
    outcome_done(&out);
    fake_close(&f);
    fake_close(&g);
}

static void
A2_id_of_the_caller_goes_out_verbatim(void **state)
{
    static const char snowman[] = "\xE2\x98\x83 \"q\" \\ \t";
    const struct mcpi_id ids[] = {text_id("7"), mcpi_id_int(8), mcpi_id_int(-3),
                                  text_id(snowman), text_id("")};
    static const char *const spelled[] = {"\"id\":\"7\",", "\"id\":8,", "\"id\":-3,",
                                          "\"id\":\"\xE2\x98\x83 \\\"q\\\" \\\\ \\t\",",
                                          "\"id\":\"\","};
    struct outcome out;
    struct fake f;

    (void)state;
    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
        fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
        start_id(&f, ids[i], &out);
        fake_run(&f);
        assert_non_null(strstr(fake_text(&f, 0), spelled[i]));
        outcome_done(&out);
        fake_close(&f);
    }
}

static void
A2_peer_sees_the_value_and_type_of_the_id(void **state)
{
    struct mcpi_id id = text_id("7");
    struct mcpi_call_options opt = {.id = &id};
    struct outcome out;
    struct world w;

    (void)state;
    world_start(&w, MCPI_ERA_BOTH);
    world_call(&w, CLIENT, &opt, &out);
    world_run(&w);
    assert_int_equal(world_job(&w, SERVER)->x->rpc.id.kind, MCPI_ID_STRING);
    assert_memory_equal(world_job(&w, SERVER)->x->rpc.id.text, "7", 1);
    outcome_done(&out);
    world_close(&w);
}

static void
A3_id_is_known_when_start_returns(void **state)
{
    struct outcome own, given;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_call(&f, NULL, &own);
    start_id(&f, text_id("mine"), &given);
    assert_int_equal(f.event_count, 0);
    assert_int_equal(mcpi_call_id(own.call)->number, 1);
    assert_int_equal(mcpi_call_id(given.call)->len, 4);
    assert_memory_equal(mcpi_call_id(given.call)->text, "mine", 4);
    fake_run(&f);
    assert_non_null(strstr(fake_text(&f, 0), "\"id\":1,"));
    assert_non_null(strstr(fake_text(&f, 1), "\"id\":\"mine\","));
    outcome_done(&own);
    outcome_done(&given);
    fake_close(&f);
}

static void
check_twin(struct mcpi_id first, struct mcpi_id second, const char *answer)
{
    struct outcome out, twin;
    struct fake f;

    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    start_id(&f, first, &out);
    fake_run(&f);
    fake_forget(&f);
    assert_int_equal(try_id(&f, second, &twin), MCP_E_ID_IN_USE);
    fake_run(&f);
    assert_string_equal(fake_said(&f), "");
    assert_int_equal(twin.done, 0);
    fake_receive(&f, answer);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, 0);
    outcome_done(&out);
    fake_close(&f);
}

static void
A4_second_start_with_the_twin_id_is_refused(void **state)
{
    (void)state;
    check_twin(mcpi_id_int(7), text_id("7"), RESULT("7", "{}"));
    check_twin(text_id("7"), mcpi_id_int(7), RESULT("\"7\"", "{}"));
    check_twin(mcpi_id_int(7), mcpi_id_int(7), RESULT("7", "{}"));
    check_twin(text_id("seven"), text_id("seven"), RESULT("\"seven\"", "{}"));
}

static void
A5_only_the_canonical_spelling_is_the_same_id(void **state)
{
    static const int64_t numbers[] = {7, 0, 10, 1000, INT64_MIN};
    static const char *const others[] = {"07",
                                         " 7",
                                         "7 ",
                                         "+7",
                                         "1_0",
                                         "1e3",
                                         "-0",
                                         "",
                                         "0x7",
                                         "7.0",
                                         "\xD9\xA7",
                                         "9223372036854775808",
                                         "-9223372036854775809"};
    enum { NUMBERS = 5, OTHERS = sizeof(others) / sizeof(others[0]) };
    struct outcome out[NUMBERS + OTHERS], refused;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    for (int i = 0; i < NUMBERS; i++)
        start_id(&f, mcpi_id_int(numbers[i]), &out[i]);
    for (size_t i = 0; i < OTHERS; i++)
        start_id(&f, text_id(others[i]), &out[NUMBERS + i]);
    assert_int_equal(try_id(&f, text_id("7"), &refused), MCP_E_ID_IN_USE);
    assert_int_equal(try_id(&f, text_id("0"), &refused), MCP_E_ID_IN_USE);
    assert_int_equal(try_id(&f, text_id("-9223372036854775808"), &refused),
                     MCP_E_ID_IN_USE);
    for (size_t i = 0; i < NUMBERS + OTHERS; i++)
        outcome_done(&out[i]);
    fake_close(&f);
}

static void
check_echo(struct mcpi_id id, const char *progress, const char *answer, int status)
{
    struct mcpi_call_options opt = {.id = &id, .ops = &outcome_progress_ops};
    struct outcome out;
    struct fake f;

    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, &opt, &out);
    fake_receive(&f, progress);
    assert_int_equal(out.progressed, 1);
    fake_receive(&f, answer);
    assert_int_equal(out.done, 1);
    assert_int_equal(out.status, status);
    outcome_done(&out);
    fake_close(&f);
}

#define PROGRESS(token) \
    NOTE("notifications/progress", "{\"progressToken\":" token ",\"progress\":1}")

static void
A6_echo_in_the_other_spelling_finds_its_request(void **state)
{
    (void)state;
    check_echo(mcpi_id_int(7), PROGRESS("\"7\""), RESULT("\"7\"", "{}"), 0);
    check_echo(text_id("7"), PROGRESS("7"), RESULT("7", "{}"), 0);
    check_echo(mcpi_id_int(7), PROGRESS("\"7\""), ERROR("\"7\"", "-32603"), MCP_E_PEER);
    check_echo(text_id("7"), PROGRESS("7"), ERROR("7", "-32603"), MCP_E_PEER);
}

static void
A7_minting_passes_over_ids_of_the_caller(void **state)
{
    struct outcome taken, out[3];
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    start_id(&f, text_id("3"), &taken);
    assert_int_equal(minted(&f, &out[0]), 1);
    assert_int_equal(minted(&f, &out[1]), 2);
    assert_int_equal(minted(&f, &out[2]), 4);
    outcome_done(&taken);
    for (int i = 0; i < 3; i++)
        outcome_done(&out[i]);
    fake_close(&f);
}

static void
A8_id_that_has_settled_may_be_used_again(void **state)
{
    struct mcpi_id id = text_id("x");
    struct mcpi_call_options opt = {.id = &id, .timeout_us = SECOND};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    for (int cause = 0; cause < 5; cause++) {
        fake_issue(&f, &opt, &out);
        if (cause == 0)
            fake_receive(&f, RESULT("\"x\"", "{}"));
        else if (cause == 1)
            fake_receive(&f, ERROR("\"x\"", "-32603"));
        else if (cause == 2)
            assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
        else if (cause == 3)
            fake_pass(&f, SECOND);
        outcome_done(&out); /* and the fifth is freed alive */
    }
    fake_issue(&f, &opt, &out);
    fake_receive(&f, RESULT("\"x\"", "{\"n\":6}"));
    assert_string_equal(out.result, "{\"n\":6}");
    outcome_done(&out);
    fake_close(&f);
}

static void
A9_caller_that_meets_an_id_of_ours_fails_alone(void **state)
{
    struct fake_options opt = {.kind = FAKE_PIPE, .era = MCPI_ERA_MODERN};
    struct outcome out;
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    assert_int_equal(mcpi_peer_connect(f.peer, f.w.now), 0);
    assert_int_equal(try_id(&f, text_id("libmcp:discover"), &out), MCP_E_ID_IN_USE);
    fake_negotiate(&f);
    assert_int_equal(f.ready, 1);
    assert_int_equal(f.ready_status, 0);
    start_id(&f, text_id("libmcp:discover"), &out); /* settled: free for all */
    outcome_done(&out);
    fake_close(&f);
}

static void
A9_request_of_ours_that_meets_the_callers_id_fails_alone(void **state)
{
    struct fake_options opt = {.kind = FAKE_PIPE, .era = MCPI_ERA_MODERN};
    struct outcome out;
    struct fake f;

    (void)state;
    assert_int_equal(fake_open(&f, &opt), 0);
    start_id(&f, text_id("libmcp:discover"), &out);
    assert_int_equal(mcpi_peer_connect(f.peer, f.w.now), MCP_E_ID_IN_USE);
    assert_int_equal(out.done, 0);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    assert_int_equal(mcpi_peer_connect(f.peer, f.w.now), 0);
    outcome_done(&out);
    fake_close(&f);
}

static void
A10_large_neighbours_are_different_ids(void **state)
{
    struct outcome a, b, c;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    start_id(&f, mcpi_id_int(9007199254740993), &a);
    start_id(&f, mcpi_id_int(9007199254740994), &b);
    start_id(&f, mcpi_id_int(9007199254740992), &c);
    fake_run(&f);
    fake_forget(&f);
    fake_receive(&f, RESULT("9007199254740994", "{}"));
    assert_int_equal(a.done + c.done, 0);
    assert_int_equal(b.done, 1);
    assert_int_equal(mcpi_call_cancel(a.call, NULL, f.w.now), 0);
    fake_run(&f);
    assert_int_equal(f.event_count, 1);
    assert_non_null(strstr(fake_text(&f, 0), "\"requestId\":9007199254740993,"));
    assert_int_equal(c.done, 0);
    outcome_done(&a);
    outcome_done(&b);
    outcome_done(&c);
    fake_close(&f);
}

static void
check_small_id(struct mcpi_id id, const char *frame_part, const char *progress,
               const char *answer)
{
    struct mcpi_call_options opt = {.id = &id, .ops = &outcome_progress_ops};
    struct outcome out;
    struct fake f;

    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, &opt, &out);
    fake_receive(&f, progress);
    fake_receive(&f, answer);
    assert_int_equal(out.progressed, 1);
    assert_int_equal(out.status, 0);
    assert_int_equal(out.done, 1);
    outcome_done(&out);
    fake_issue(&f, &opt, &out);
    assert_int_equal(mcpi_call_cancel(out.call, NULL, f.w.now), 0);
    fake_run(&f);
    assert_non_null(strstr(fake_text(&f, 0), frame_part));
    outcome_done(&out);
    fake_close(&f);
}

static void
A11_zero_and_empty_are_ids_like_others(void **state)
{
    (void)state;
    check_small_id(mcpi_id_int(0), "\"requestId\":0,", PROGRESS("0"),
                   RESULT("0", "{}"));
    check_small_id(text_id(""), "\"requestId\":\"\",", PROGRESS("\"\""),
                   RESULT("\"\"", "{}"));
}

static void
A12_what_is_no_id_matches_nothing(void **state)
{
    static const char *const strays[] = {RESULT("true", "{}"),
                                         RESULT("null", "{}"),
                                         RESULT("1.0", "{}"),
                                         RESULT("[1]", "{}"),
                                         RESULT("{\"a\":1}", "{}"),
                                         ERROR("true", "-32603"),
                                         PROGRESS("true"),
                                         PROGRESS("null"),
                                         PROGRESS("1.0"),
                                         PROGRESS("[1]"),
                                         CANCEL("true"),
                                         CANCEL("null")};
    struct mcpi_call_options opt = {.ops = &outcome_progress_ops};
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, &opt, &out);
    assert_int_equal(mcpi_call_id(out.call)->number, 1);
    for (size_t i = 0; i < sizeof(strays) / sizeof(strays[0]); i++)
        fake_receive(&f, strays[i]);
    assert_int_equal(out.done + out.progressed, 0);
    assert_int_equal(f.closed, 0);
    fake_receive(&f, RESULT("1", "{}"));
    assert_int_equal(out.status, 0);
    assert_int_equal(out.done, 1);
    outcome_done(&out);
    fake_close(&f);
}

static void
A13_error_without_an_id_touches_nobody_and_is_logged(void **state)
{
    struct outcome out;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(&f, NULL, &out);
    fake_receive(&f, ERROR("null", "-32700"));
    assert_int_equal(out.done, 0);
    assert_true(
        fake_logged(&f, "W: the peer reports an error without an id: -32700 m"));
    fake_receive(&f, RESULT("1", "{}"));
    assert_int_equal(out.status, 0);
    outcome_done(&out);
    fake_close(&f);
}

static void
ids_that_cannot_be_sent_are_refused(void **state)
{
    char longest[MCPI_ID_MAX + 1];
    struct mcpi_id none = {0};
    struct outcome out;
    struct fake f;

    (void)state;
    memset(longest, 'i', sizeof(longest));
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    assert_int_equal(try_id(&f, none, &out), MCP_E_INVAL);
    assert_int_equal(try_id(&f, text_id("\xFF"), &out), MCP_E_INVAL);
    assert_int_equal(try_id(&f, mcpi_id_string(longest, MCPI_ID_MAX + 1), &out),
                     MCP_E_INVAL);
    assert_int_equal(fake_take(&f), 0);
    fake_assert_quiet(&f);
    start_id(&f, mcpi_id_string(longest, MCPI_ID_MAX), &out);
    outcome_done(&out);
    fake_close(&f);
}

static void
token_sent(const struct mcpi_call_options *opt, enum mcpi_era era, char *into,
           size_t size)
{
    struct outcome out;
    struct fake f;
    mcp_doc *doc;
    const mcp_json *meta;
    char *text = NULL;

    fake_start(&f, FAKE_PIPE, era);
    fake_call(&f, opt, &out);
    fake_run(&f);
    assert_int_equal(
        mcp_doc_parse(fake_text(&f, 0), strlen(fake_text(&f, 0)), NULL, &doc, NULL), 0);
    meta = mcp_json_get(mcp_json_get(mcp_doc_root(doc), "params"), "_meta");
    assert_int_equal(
        mcp_json_print(mcp_json_get(meta, "progressToken"), false, NULL, &text, NULL),
        0);
    snprintf(into, size, "%s %s", text,
             mcp_json_string(mcp_json_get(meta, "mine"), "none"));
    mcp_text_free(text, NULL);
    mcp_doc_free(doc);
    outcome_done(&out);
    fake_close(&f);
}

static void
A18_progress_token_is_the_id_and_other_meta_is_kept(void **state)
{
    static const enum mcpi_era eras[] = {MCPI_ERA_MODERN, MCPI_ERA_LEGACY};
    struct mcpi_id id = text_id("7");
    struct mcpi_call_options plain = {.id = &id}, meta = {.id = &id}, ear = {.id = &id},
                             reset = {.id = &id};
    char sent[64];

    (void)state;
    meta.meta = ear.meta = "{\"mine\":\"kept\"}";
    ear.ops = &outcome_progress_ops;
    reset.reset_on_progress = true;
    for (int i = 0; i < 2; i++) {
        token_sent(&plain, eras[i], sent, sizeof(sent));
        assert_string_equal(sent, "null none");
        token_sent(&meta, eras[i], sent, sizeof(sent));
        assert_string_equal(sent, "null kept");
        token_sent(&ear, eras[i], sent, sizeof(sent));
        assert_string_equal(sent, "\"7\" kept");
        token_sent(&reset, eras[i], sent, sizeof(sent));
        assert_string_equal(sent, "\"7\" none");
    }
}

/* ---- two dispatchers, two domains ------------------------------------------ */

struct step {
    int number;       /* its id if text is NULL; 0: minted */
    const char *text; /* its id */
    int ends;         /* before it, end the call of this step; -1: none */
};

static const struct step steps[] = {
    {1, NULL, -1},  {0, "1", -1},  {0, NULL, -1}, {0, "2", -1},    {2, NULL, -1},
    {0, "02", -1},  {0, "x", -1},  {0, "x", -1},  {1, NULL, 0},    {0, "1", -1},
    {0, NULL, -1},  {0, "-0", -1}, {0, "", -1},   {0, "\xFF", -1}, {0, "x", 6},
    {-5, NULL, -1}, {0, "-5", -1}, {0, "-05", -1}};

enum { STEPS = sizeof(steps) / sizeof(steps[0]) };

static void
run_steps(struct world *w, int verdicts[STEPS])
{
    struct outcome out[STEPS];

    for (int i = 0; i < STEPS; i++) {
        const struct step *s = &steps[i];
        struct mcpi_id id = s->text ? text_id(s->text) : mcpi_id_int(s->number);
        struct mcpi_call_options opt = {.id = s->text || s->number ? &id : NULL};

        if (s->ends >= 0)
            assert_int_equal(mcpi_call_cancel(out[s->ends].call, NULL, w->now), 0);
        verdicts[i] = world_try_call(w, CLIENT, &opt, &out[i]);
    }
    for (int i = 0; i < STEPS; i++)
        if (verdicts[i] == 0)
            outcome_done(&out[i]);
}

static void
A19_fake_pipe_and_memory_link_give_the_same_verdicts(void **state)
{
    static const int want[STEPS] = {0,
                                    MCP_E_ID_IN_USE,
                                    0,
                                    MCP_E_ID_IN_USE,
                                    MCP_E_ID_IN_USE,
                                    0,
                                    0,
                                    MCP_E_ID_IN_USE,
                                    0,
                                    MCP_E_ID_IN_USE,
                                    0,
                                    0,
                                    0,
                                    MCP_E_INVAL,
                                    0,
                                    0,
                                    MCP_E_ID_IN_USE,
                                    0};
    int wire[STEPS], memory[STEPS];
    struct world w;
    struct fake f;

    (void)state;
    fake_start(&f, FAKE_PIPE, MCPI_ERA_MODERN);
    run_steps(&f.w, wire);
    fake_close(&f);
    world_start(&w, MCPI_ERA_MODERN);
    run_steps(&w, memory);
    world_run(&w);
    world_close(&w);
    assert_memory_equal(wire, memory, sizeof(wire));
    assert_memory_equal(wire, want, sizeof(wire));
}

static void
A20_tables_fold_ids_and_the_link_knows_legs_by_pointer(void **state)
{
    struct fake_options fo = {
        .kind = FAKE_STREAMS, .era = MCPI_ERA_LEGACY, .eager = true};
    struct outcome first, second;
    struct mcpi_leg *old, *new;
    struct fake f;

    (void)state;
    fake_start_with(&f, &fo);
    start_id(&f, mcpi_id_int(9), &first);
    old = fake_event(&f, 0)->leg;
    fake_frame(&f, "{\"requestId\":\"9\"}"); /* its stream lingers for the grace */
    start_id(&f, text_id("9"), &second);
    assert_string_equal(fake_said(&f), "request frame hangup:5000 request");
    assert_ptr_equal(fake_event(&f, 2)->leg, old);
    new = fake_event(&f, 3)->leg;
    fake_receive_on(&f, old, RESULT("9", "{}"));
    assert_int_equal(second.done, 0);
    fake_frame(&f, "{\"requestId\":9}");
    assert_ptr_equal(fake_event(&f, 5)->leg, new);
    assert_non_null(strstr(fake_text(&f, 4), "\"requestId\":\"9\""));
    outcome_done(&first);
    outcome_done(&second);
    fake_close(&f);
}

TEST_MAIN(TEST(A1_minted_ids_are_integers_of_the_session_and_never_used_again),
          TEST(A2_id_of_the_caller_goes_out_verbatim),
          TEST(A2_peer_sees_the_value_and_type_of_the_id),
          TEST(A3_id_is_known_when_start_returns),
          TEST(A4_second_start_with_the_twin_id_is_refused),
          TEST(A5_only_the_canonical_spelling_is_the_same_id),
          TEST(A6_echo_in_the_other_spelling_finds_its_request),
          TEST(A7_minting_passes_over_ids_of_the_caller),
          TEST(A8_id_that_has_settled_may_be_used_again),
          TEST(A9_caller_that_meets_an_id_of_ours_fails_alone),
          TEST(A9_request_of_ours_that_meets_the_callers_id_fails_alone),
          TEST(A10_large_neighbours_are_different_ids),
          TEST(A11_zero_and_empty_are_ids_like_others),
          TEST(A12_what_is_no_id_matches_nothing),
          TEST(A13_error_without_an_id_touches_nobody_and_is_logged),
          TEST(ids_that_cannot_be_sent_are_refused),
          TEST(A18_progress_token_is_the_id_and_other_meta_is_kept),
          TEST(A19_fake_pipe_and_memory_link_give_the_same_verdicts),
          TEST(A20_tables_fold_ids_and_the_link_knows_legs_by_pointer))
