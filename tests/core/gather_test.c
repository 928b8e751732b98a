/* gather_test.c - the questions of one answer: read, asked, answered, given up */
#include "core/gather.h"

#include <stdlib.h>
#include <string.h>

#include "support/fake.h"

#define ELICIT                   \
    "{\"method\":\"elicitation/" \
    "create\",\"params\":{\"message\":\"?\",\"mode\":\"form\"}}"
#define SAMPLE                \
    "{\"method\":\"sampling/" \
    "createMessage\",\"params\":{\"messages\":[],\"maxTokens\":1}}"
#define ROOTS "{\"method\":\"roots/list\"}"
#define ASK(members) RESULT("1", "{\"resultType\":\"input_required\"," members "}")
#define THREE                                                                    \
    ASK("\"inputRequests\":{\"a\":" ELICIT ",\"b\":" SAMPLE ",\"c\":" ROOTS "}," \
        "\"requestState\":\"s\"")

/* A gather, and what became of it. */
struct gathering {
    struct fake f;
    mcp_doc *doc;
    struct mcpi_rpc rpc;
    struct mcpi_gather *gather;
    int told;
    int status;
    int code;
    char message[200];
    bool frees; /* from inside of fn */
};

static void
on_gathered(void *user, int status, const struct mcpi_rpc *error)
{
    struct gathering *g = user;

    g->told++;
    g->status = status;
    assert_int_equal(error != NULL, status == MCP_E_PEER);
    if (error) {
        assert_int_equal(error->kind, MCPI_RPC_ERROR);
        g->code = error->error_code;
        strcpy(g->message, error->error_message);
    }
    if (g->frees) {
        mcpi_gather_free(g->gather, "done with");
        g->gather = NULL;
    }
}

static void
open_with(struct gathering *g, const struct fake_options *opt)
{
    memset(g, 0, sizeof(*g));
    fake_start_with(&g->f, opt);
}

static int
read_answer(struct gathering *g, const char *answer)
{
    assert_int_equal(mcp_doc_parse(answer, strlen(answer), NULL, &g->doc, NULL), 0);
    mcpi_rpc_read(mcp_doc_root(g->doc), &g->rpc);
    g->rpc.doc = g->doc;
    return mcpi_gather_new(g->f.peer, &g->rpc, &g->gather);
}

/* One that has begun to ask. Nobody but the gather keeps the answer. */
static void
open_asking(struct gathering *g, const char *answer)
{
    open_with(g, &fake_links[MODERN_PIPE]);
    assert_int_equal(read_answer(g, answer), 0);
    mcp_doc_free(g->doc);
    g->doc = NULL;
    mcpi_gather_start(g->gather, on_gathered, g);
}

static void
close_gathering(struct gathering *g)
{
    mcpi_gather_free(g->gather, NULL);
    mcp_doc_free(g->doc);
    fake_run(&g->f);
    assert_string_equal(fake_said(&g->f), ""); /* nothing of this is the wire's */
    fake_close(&g->f);
}

static void
finish(struct gathering *g, size_t job, int code, const char *text)
{
    struct mcpi_exchange *x = g->f.jobs[job];
    struct mcpi_result r;

    mcpi_result_init(&r, x->engine);
    if (code != 0)
        mcpi_result_error(&r, code, "%s", text);
    else
        mcpi_buf_text(&r.body, text);
    mcpi_exchange_finish(x, &r, g->f.w.now);
}

/* What the next leg would ask. */
static const char *
written(struct gathering *g, const char *params)
{
    static char text[2048];
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, &g->f.mem->allocator, sizeof(text) - 1);
    assert_int_equal(
        mcpi_gather_write(g->gather, params, params ? strlen(params) : 0, &buf), 0);
    memcpy(text, buf.data, buf.len);
    text[buf.len] = '\0';
    mcpi_buf_done(&buf);
    return text;
}

/* ---- reading --------------------------------------------------------------- */

static void
malformed_questions_are_no_questions(void **state)
{
    static const char *const bad[] = {
        ASK("\"x\":1"), /* neither questions nor a state */
        ASK("\"requestState\":null"),
        ASK("\"requestState\":1"),
        ASK("\"requestState\":\"a\",\"requestState\":\"b\""),
        ASK("\"inputRequests\":null"),
        ASK("\"inputRequests\":[" ROOTS "]"),
        ASK("\"inputRequests\":\"a\",\"requestState\":\"s\""),
        ASK("\"inputRequests\":{\"a\":" ROOTS ",\"a\":" ROOTS "}"),
        ASK("\"inputRequests\":{\"a\":" ROOTS ",\"b\":1}"),
        ASK("\"inputRequests\":{\"a\":{}}"),
        ASK("\"inputRequests\":{\"a\":{\"method\":1}}"),
        ASK("\"inputRequests\":{\"a\":{\"method\":\"tools/call\",\"params\":{}}}"),
        ASK("\"inputRequests\":{\"a\":{\"method\":\"roots/list\\u0000\"}}"),
        ASK("\"inputRequests\":{\"a\":{\"method\":\"ping\"}}"),
        ASK("\"inputRequests\":{\"a\":{\"method\":\"elicitation/create\"}}"),
        ASK("\"inputRequests\":{\"a\":{\"method\":\"roots/list\",\"params\":[]}}"),
        ASK("\"inputRequests\":{\"a\":{\"method\":\"roots/list\",\"params\":null}}"),
        ASK("\"inputRequests\":{\"a\":{\"method\":\"roots/list\",\"params\":{\"a\":1,"
            "\"a\":2}}}"),
        ASK("\"inputRequests\":{\"a\":{\"method\":\"roots/list\",\"params\":{"
            "\"_meta\":1}}}"),
        ASK("\"inputRequests\":{\"a\":{\"method\":\"roots/list\","
            "\"method\":\"roots/list\"}}"),
    };
    struct gathering g;

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        open_with(&g, &fake_links[MODERN_PIPE]);
        assert_int_equal(read_answer(&g, bad[i]), MCP_E_PROTO);
        assert_true(mcpi_gather_is_due(&g.rpc));
        assert_null(g.gather);
        assert_int_equal(g.f.job_count, 0);
        close_gathering(&g);
    }
}

static void
only_one_type_of_result_asks(void **state)
{
    static const char *const others[] = {
        "{}", "{\"resultType\":\"complete\"}", "{\"resultType\":1}",
        "{\"resultType\":\"input_required\\u0000\"}", "{\"inputRequests\":{}}"};
    struct mcpi_rpc rpc = {.kind = MCPI_RPC_RESULT};
    mcp_doc *doc;

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        assert_int_equal(mcp_doc_parse(others[i], strlen(others[i]), NULL, &doc, NULL),
                         0);
        rpc.result = mcp_doc_root(doc);
        assert_false(mcpi_gather_is_due(&rpc));
        mcp_doc_free(doc);
    }
}

static void
state_without_questions_is_not_asked(void **state)
{
    struct gathering g;

    (void)state;
    open_with(&g, &fake_links[MODERN_PIPE]);
    assert_int_equal(read_answer(&g, ASK("\"requestState\":\"\"")), 0);
    assert_int_equal(mcpi_gather_count(g.gather), 0);
    assert_string_equal(written(&g, "{\"n\":1}"), "{\"n\":1,\"requestState\":\"\"}");
    assert_string_equal(written(&g, NULL), "{\"requestState\":\"\"}");
    assert_string_equal(written(&g, "{}"), "{\"requestState\":\"\"}");
    close_gathering(&g);
}

static void
empty_questions_are_answered_with_nothing(void **state)
{
    struct gathering g;

    (void)state;
    open_with(&g, &fake_links[MODERN_PIPE]);
    assert_int_equal(read_answer(&g, ASK("\"inputRequests\":{}")), 0);
    assert_int_equal(mcpi_gather_count(g.gather), 0);
    assert_string_equal(written(&g, "{\"n\":1}"), "{\"n\":1,\"inputResponses\":{}}");
    close_gathering(&g);
}

static void
more_questions_than_may_be_in_flight_are_not_even_read(void **state)
{
    struct fake_options opt = {.era = MCPI_ERA_MODERN, .limits = {.in_flight = 2}};
    struct gathering g;

    (void)state;
    open_with(&g, &opt);
    assert_int_equal(read_answer(&g, THREE), MCP_E_LIMIT);
    close_gathering(&g);
}

/* ---- asking and answering -------------------------------------------------- */

static void
all_are_asked_at_once_and_told_of_when_the_last_is_answered(void **state)
{
    struct gathering g;

    (void)state;
    open_asking(&g, THREE);
    assert_int_equal(mcpi_gather_count(g.gather), 3);
    assert_int_equal(g.f.job_count, 3);
    assert_string_equal(g.f.jobs[1]->rpc.method_name, "sampling/createMessage");
    assert_int_equal(g.f.jobs[1]->rpc.method, MCPI_METHOD_SAMPLING);
    assert_int_equal(
        mcp_json_int(mcp_json_get(g.f.jobs[1]->rpc.params, "maxTokens"), 0), 1);
    assert_null(g.f.jobs[2]->rpc.params);
    finish(&g, 2, 0, "{\"roots\":[]}");
    finish(&g, 0, 0, "{\"action\":\"decline\"}");
    assert_int_equal(g.told, 0);
    finish(&g, 1, 0, "");
    assert_int_equal(g.told, 1);
    assert_int_equal(g.status, 0);
    assert_string_equal(
        written(&g, "{\"name\":\"t\"}"),
        "{\"name\":\"t\",\"inputResponses\":{\"c\":{\"roots\":[]},\"a\":{\"action\":"
        "\"decline\"},\"b\":{}},\"requestState\":\"s\"}");
    close_gathering(&g);
}

static void
answer_keeps_its_meta_and_odd_keys_and_states_are_kept_whole(void **state)
{
    struct gathering g;
    struct mcpi_result r;

    (void)state;
    open_asking(&g, ASK("\"inputRequests\":{\"\\\"\\u0000\\n\":" ROOTS "},"
                        "\"requestState\":\"\\\"\\u0000\\\\ \u00e9\""));
    mcpi_result_init(&r, g.f.engine);
    mcpi_buf_text(&r.body, "{\"roots\":[]}");
    mcpi_buf_text(&r.meta, "{\"k\":1}");
    mcpi_exchange_finish(g.f.jobs[0], &r, g.f.w.now);
    assert_string_equal(
        written(&g, NULL),
        "{\"inputResponses\":{\"\\\"\\u0000\\n\":{\"roots\":[],\"_meta\":{\"k\":1}}},"
        "\"requestState\":\"\\\"\\u0000\\\\ \u00e9\"}");
    close_gathering(&g);
}

static void
what_an_older_round_said_is_not_said_again(void **state)
{
    struct gathering g;

    (void)state;
    open_with(&g, &fake_links[MODERN_PIPE]);
    assert_int_equal(read_answer(&g, ASK("\"requestState\":\"new\"")), 0);
    assert_string_equal(
        written(&g, "{\"requestState\":\"old\",\"name\":\"t\",\"inputResponses\":{},"
                    "\"arguments\":{\"requestState\":1.5}}"),
        "{\"name\":\"t\",\"arguments\":{\"requestState\":1.5},\"requestState\":"
        "\"new\"}");
    assert_string_equal(written(&g, "{\"requestState\":\"old\"}"),
                        "{\"requestState\":\"new\"}");
    close_gathering(&g);
}

static void
L4_first_failure_is_told_once_and_the_others_end_with_the_gather(void **state)
{
    struct gathering g;

    (void)state;
    for (int frees = 0; frees < 2; frees++) {
        open_asking(&g, THREE);
        g.frees = frees;
        finish(&g, 0, 0, "{}");
        finish(&g, 1, -7, "no");
        assert_int_equal(g.told, 1);
        assert_int_equal(g.status, MCP_E_PEER);
        assert_int_equal(g.code, -7);
        assert_string_equal(g.message, "no");
        mcpi_gather_free(g.gather, "enough");
        g.gather = NULL;
        assert_int_equal(g.f.jobs[2]->ending, MCPI_CANCELED);
        assert_string_equal(g.f.jobs[2]->reason, frees ? "done with" : "enough");
        finish(&g, 2, -8, "late");
        assert_int_equal(g.told, 1);
        assert_int_equal(g.f.engine->counts.held, 0);
        close_gathering(&g);
    }
}

static void
question_that_ends_without_an_answer_is_the_end_of_all(void **state)
{
    struct gathering g;

    (void)state;
    open_asking(&g, THREE);
    assert_true(mcpi_exchange_end(g.f.jobs[1], MCPI_CANCELED, NULL, NULL));
    assert_int_equal(g.told, 1);
    assert_int_equal(g.status, MCP_E_CANCELED);
    close_gathering(&g);
    open_asking(&g, THREE);
    assert_true(mcpi_exchange_end(g.f.jobs[1], MCPI_DROPPED, NULL, NULL));
    assert_int_equal(g.status, MCP_E_CLOSED);
    close_gathering(&g);
}

static void
answers_that_do_not_fit_are_the_end_of_all(void **state)
{
    struct fake_options opt = {.era = MCPI_ERA_MODERN,
                               .limits = {.message_bytes = 4000}};
    struct gathering g;
    char body[2500] = "{\"t\":\"";

    (void)state;
    memset(body + strlen(body), 'x', 2300);
    strcat(body, "\"}");
    open_with(&g, &opt);
    assert_int_equal(read_answer(&g, THREE), 0);
    mcpi_gather_start(g.gather, on_gathered, &g);
    finish(&g, 0, 0, body);
    assert_int_equal(g.told, 0);
    finish(&g, 1, 0, body);
    assert_int_equal(g.told, 1);
    assert_int_equal(g.status, MCP_E_LIMIT);
    close_gathering(&g);
}

static void
nothing_is_asked_of_a_peer_that_closes(void **state)
{
    struct gathering g;

    (void)state;
    open_with(&g, &fake_links[MODERN_PIPE]);
    assert_int_equal(read_answer(&g, THREE), 0);
    mcpi_peer_close(g.f.peer, g.f.w.now);
    fake_forget(&g.f);
    mcpi_gather_start(g.gather, on_gathered, &g);
    assert_int_equal(g.told, 1);
    assert_int_equal(g.status, MCP_E_CLOSED);
    assert_int_equal(g.f.job_count, 0);
    close_gathering(&g);
}

/* ---- handlers that give up -------------------------------------------------- */

static void
quit_begin(struct mcpi_exchange *x)
{
    (void)x;
}

/* Told that its question has ended, a handler gives up the call it was asked for. */
static void
quit_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct gathering *g = x->served_user;

    (void)reason;
    assert_int_equal(how, MCPI_LIMITED);
    mcpi_gather_free(g->gather, "not any more");
    g->gather = NULL;
}

static void
L2_gather_that_is_freed_while_a_question_ends_is_not_told_of_it(void **state)
{
    static const struct mcpi_served_ops quitting = {.begin = quit_begin,
                                                    .ended = quit_ended};
    struct gathering g;

    (void)state;
    open_asking(&g, THREE);
    mcpi_exchange_serve(g.f.jobs[1], &quitting, &g);
    mcpi_exchange_limit(g.f.jobs[1], SECOND);
    fake_pass(&g.f, SECOND);
    assert_null(g.gather);
    assert_int_equal(g.told, 0);
    assert_int_equal(g.f.jobs[0]->ending, MCPI_CANCELED);
    assert_int_equal(g.f.jobs[1]->ending, MCPI_LIMITED);
    assert_int_equal(g.f.jobs[2]->ending, MCPI_CANCELED);
    for (size_t i = 0; i < 3; i++)
        finish(&g, i, 0, "{}");
    close_gathering(&g);
}

/* ---- handlers that answer at once ------------------------------------------ */

enum at_once { ANSWER, FAIL, REFUSE, FREE_IT };

/* Of the n-th question; those before it are answered, or none. */
struct script {
    struct gathering *g;
    enum at_once what;
    int at, count;
    bool leaves_open;
};

static void
script_begin(struct mcpi_exchange *x)
{
    struct script *s = x->served_user;
    struct mcpi_result r;
    bool now = s->count++ == s->at;

    if (now && s->what == FREE_IT) {
        mcpi_gather_free(s->g->gather, "in the middle");
        s->g->gather = NULL;
        return;
    }
    if (!now && s->leaves_open)
        return;
    mcpi_result_init(&r, x->engine);
    if (now && s->what == FAIL)
        mcpi_result_error(&r, -9, "failed");
    mcpi_exchange_finish(x, &r, x->engine->now);
}

static int
script_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    static const struct mcpi_served_ops ops = {.begin = script_begin};
    struct script *s = user;
    struct fake *f = &s->g->f;

    if (s->count == s->at && s->what == REFUSE) {
        s->count++;
        mcpi_refuse(why, -10, "refused");
        return MCP_E_INVAL;
    }
    f->jobs = realloc(f->jobs, (f->job_count + 1) * sizeof(struct mcpi_exchange *));
    f->jobs[f->job_count++] = mcpi_exchange_ref(x);
    mcpi_exchange_serve(x, &ops, s);
    return 0;
}

static void
run_script(struct script *s, struct gathering *g)
{
    static const struct mcpi_router router = {.route = script_route};

    s->g = g;
    open_with(g, &fake_links[MODERN_PIPE]);
    g->frees = true;
    assert_int_equal(read_answer(g, THREE), 0);
    g->f.engine->router = &router;
    g->f.engine->router_user = s;
    mcpi_gather_start(g->gather, on_gathered, g);
}

static void
handlers_that_answer_from_begin_are_heard(void **state)
{
    struct script s = {.what = ANSWER};
    struct gathering g;

    (void)state;
    run_script(&s, &g);
    assert_int_equal(s.count, 3);
    assert_int_equal(g.told, 1);
    assert_int_equal(g.status, 0);
    assert_null(g.gather); /* freed from there */
    close_gathering(&g);
}

static void
L4_what_fails_at_once_is_the_last_that_is_asked(void **state)
{
    static const int codes[] = {[FAIL] = -9, [REFUSE] = -10, [FREE_IT] = 0};
    struct gathering g;

    (void)state;
    for (int what = FAIL; what <= FREE_IT; what++) {
        for (int at = 0; at < 3; at++) {
            struct script s = {.what = what, .at = at, .leaves_open = true};

            run_script(&s, &g);
            assert_int_equal(s.count, at + 1);
            assert_int_equal(g.told, what != FREE_IT);
            assert_int_equal(g.code, codes[what]);
            for (int i = 0; i < at; i++)
                assert_int_equal(g.f.jobs[i]->ending, MCPI_CANCELED);
            if (what == FREE_IT)
                assert_int_equal(g.f.jobs[at]->ending, MCPI_CANCELED);
            assert_int_equal(g.f.engine->counts.exchanges, 0);
            close_gathering(&g);
        }
    }
}

/* ---- memory ---------------------------------------------------------------- */

static void
questions_share_the_bytes_of_their_document(void **state)
{
    struct gathering g;
    size_t whole;

    (void)state;
    open_with(&g, &fake_links[MODERN_PIPE]);
    assert_int_equal(read_answer(&g, THREE), 0);
    whole = mcpi_doc_bytes(g.doc);
    mcpi_gather_start(g.gather, on_gathered, &g);
    assert_true(g.f.peer->request_bytes > whole / 2);
    assert_true(g.f.peer->request_bytes <= whole);
    assert_int_equal(g.f.peer->exchange_count, 3);
    for (size_t i = 0; i < 3; i++)
        finish(&g, i, 0, "{}");
    assert_int_equal(g.f.peer->exchange_count, 0);
    close_gathering(&g);
}

static void
flow_gather(struct test_mem *mem, void *user)
{
    struct fake_options opt = {.era = MCPI_ERA_MODERN, .mem = mem};
    struct gathering g = {0};
    int r;

    (void)user;
    r = fake_open(&g.f, &opt);
    if (r == 0)
        r = mcpi_peer_connect(g.f.peer, g.f.w.now);
    if (r == 0) {
        r = read_answer(&g, THREE);
        if (r == 0)
            mcpi_gather_start(g.gather, on_gathered, &g);
        for (size_t i = 0; i < g.f.job_count; i++)
            if (g.f.jobs[i]->ending == MCPI_OPEN)
                finish(&g, i, 0, "{\"a\":1}");
        assert_int_equal(g.told, r == 0);
        mcpi_gather_free(g.gather, NULL);
        mcp_doc_free(g.doc);
        r = r == 0 ? g.status : r;
    }
    assert_true(r == 0 || r == MCP_E_NOMEM);
    fake_close(&g.f);
}

static void
each_allocation_fails_cleanly(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow_gather, NULL) > 6);
}

static void
giving_up_needs_no_memory(void **state)
{
    struct gathering g;

    (void)state;
    open_asking(&g, THREE);
    finish(&g, 0, 0, "{}");
    g.f.mem->fail_at = g.f.mem->total + 1;
    g.f.mem->fail_after = true;
    mcpi_gather_free(g.gather, "enough");
    g.gather = NULL;
    assert_int_equal(g.f.mem->failed, 0);
    g.f.mem->fail_at = 0;
    assert_int_equal(g.f.jobs[1]->ending, MCPI_CANCELED);
    close_gathering(&g);
}

TEST_MAIN(TEST(malformed_questions_are_no_questions),
          TEST(only_one_type_of_result_asks),
          TEST(state_without_questions_is_not_asked),
          TEST(empty_questions_are_answered_with_nothing),
          TEST(more_questions_than_may_be_in_flight_are_not_even_read),
          TEST(all_are_asked_at_once_and_told_of_when_the_last_is_answered),
          TEST(answer_keeps_its_meta_and_odd_keys_and_states_are_kept_whole),
          TEST(what_an_older_round_said_is_not_said_again),
          TEST(L4_first_failure_is_told_once_and_the_others_end_with_the_gather),
          TEST(question_that_ends_without_an_answer_is_the_end_of_all),
          TEST(answers_that_do_not_fit_are_the_end_of_all),
          TEST(nothing_is_asked_of_a_peer_that_closes),
          TEST(L2_gather_that_is_freed_while_a_question_ends_is_not_told_of_it),
          TEST(handlers_that_answer_from_begin_are_heard),
          TEST(L4_what_fails_at_once_is_the_last_that_is_asked),
          TEST(questions_share_the_bytes_of_their_document),
          TEST(each_allocation_fails_cleanly), TEST(giving_up_needs_no_memory))
