/* round_test.c - asking in the modern era: what goes out, and what is let in again */
#include "api/asking.h"
#include "api/seal.h"
#include "ask_fixture.h"
#include "visit.h"

#define PLAIN "'requestedSchema':{'type':'object','properties':{'v':{'type':'string'}}}"
#define FORM(message) "{'mode':'form','message':'" message "'," PLAIN "}"
#define QUESTION(key, message) \
    "'" key "':{'method':'elicitation/create','params':" FORM(message) "}"
#define ACCEPT(value) "{'action':'accept','content':{'v':'" value "'}}"

static int
ask_plainly(mcp_request *req, const char *key, const char *message)
{
    return mcp_request_elicit(
        req, key,
        &MCP_ELICIT(.message = message,
                    .schema = "{\"type\":\"object\",\"properties\":{\"v\":{\"type\":"
                              "\"string\"}}}"));
}

static const char *
value_of(const mcp_request *req, const char *key)
{
    return mcp_json_string(
        mcp_json_get(mcp_json_get(mcp_request_answer(req, key), "content"), "v"), "-");
}

/* Two things at once, then a third. */
static int
three_run(mcp_request *req, mcp_result *out, void *user)
{
    atomic_int *runs = user;

    if (runs)
        atomic_fetch_add(runs, 1);
    if (!mcp_request_answer(req, "a"))
        (void)ask_plainly(req, "a", "A?");
    if (!mcp_request_answer(req, "b"))
        (void)ask_plainly(req, "b", "B?");
    if (!mcp_request_answer(req, "a") || !mcp_request_answer(req, "b")) {
        (void)mcp_result_text(out, "not sent");
        return MCP_E_INPUT;
    }
    if (!mcp_request_answer(req, "c"))
        return ask_plainly(req, "c", "C?");
    return mcp_result_textf(out, "%s %s %s", value_of(req, "a"), value_of(req, "b"),
                            value_of(req, "c"));
}

#define BOTH "{" QUESTION("a", "A?") "," QUESTION("b", "B?") "}"

static void
earlier_answers_are_kept_though_a_retry_brings_only_its_own(void **state)
{
    atomic_int runs = 0;
    struct raw raw;
    char *sealed;

    (void)state;
    ask_start(&raw, true, three_run, &runs);
    ask_call(&raw, "1", "");
    sealed = ask_expect_input(&raw, BOTH);
    ask_retry(&raw, "2", "{'a':" ACCEPT("1") ",'b':" ACCEPT("2") "}", sealed);
    sealed = ask_expect_input(&raw, "{" QUESTION("c", "C?") "}");
    ask_retry(&raw, "3", "{'c':" ACCEPT("3") "}", sealed);
    ask_expect_text(&raw, "3", "1 2 3");
    assert_int_equal(atomic_load(&runs), 3);
    assert_int_equal(raw_counts(&raw).requests, 3);
    assert_int_equal(raw_counts(&raw).answered, 3);
    ask_done(&raw);
}

static void
answer_is_exactly_that(void **state)
{
    struct raw raw;
    mcp_doc *doc;

    (void)state;
    ask_start(&raw, true, three_run, NULL);
    ask_call(&raw, "1", "");
    doc = ask_next(&raw);
    assert_int_equal(mcp_json_count(mcp_doc_root(doc)), 3);
    /* resultType, inputRequests, requestState, _meta */
    assert_int_equal(mcp_json_count(mcp_json_get(mcp_doc_root(doc), "result")), 4);
    mcp_doc_free(doc);
    ask_done(&raw);
}

static void
L9_server_keeps_nothing_for_who_never_comes_back(void **state)
{
    struct raw raw;
    char id[16];

    (void)state;
    ask_start(&raw, true, three_run, NULL);
    for (int i = 0; i < 50; i++) {
        snprintf(id, sizeof(id), "%d", i);
        ask_call(&raw, id, "");
        free(ask_expect_input(&raw, BOTH));
    }
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    assert_int_equal(raw_counts(&raw).in_flight, 0);
    ask_done(&raw);
}

/* ---- what is missing, what is too much ---------------------------------- */

static void
what_was_not_answered_is_asked_again(void **state)
{
    struct raw raw;
    char *sealed;

    (void)state;
    ask_start(&raw, true, three_run, NULL);
    ask_call(&raw, "1", "");
    sealed = ask_expect_input(&raw, BOTH);
    ask_retry(&raw, "2", "{'b':" ACCEPT("2") ",'x':7}", sealed);
    sealed = ask_expect_input(&raw, "{" QUESTION("a", "A?") "}");
    ask_retry(&raw, "3", "{'a':" ACCEPT("1") ",'b':" ACCEPT("9") "}", sealed);
    sealed = ask_expect_input(&raw, "{" QUESTION("c", "C?") "}");
    ask_retry(&raw, "4", "{'c':" ACCEPT("3") "}", sealed);
    ask_expect_text(&raw, "4", "1 2 3"); /* what was answered stays */
    ask_done(&raw);
}

/* ---- answers before their questions ------------------------------------- */

static void
answers_that_come_before_their_questions_are_taken(void **state)
{
    const mcp_tool tools[] = {MCP_TOOL(.run = three_run), MCP_TOOL(.reply = three_run)};

    (void)state;
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++) {
        mcp_tool tool = tools[i];
        atomic_int runs = 0;
        struct raw raw;

        tool.user = &runs;
        ask_start_with(&raw, true, tool, MCP_SERVER_OPTIONS(.page = 0));
        ask_call(&raw, "1",
                 ",'inputResponses':{'a':" ACCEPT("1") ",'b':" ACCEPT(
                     "2") ",'c':" ACCEPT("3") ",'x':7}");
        ask_expect_text(&raw, "1", "1 2 3");
        assert_int_equal(atomic_load(&runs), 3); /* as if it had been asked twice */
        assert_int_equal(raw_counts(&raw).requests, 1);
        assert_int_equal(raw_counts(&raw).answered, 1);
        ask_done(&raw);
    }
}

static void
what_early_answers_leave_open_is_asked(void **state)
{
    struct raw raw;
    char *sealed;

    (void)state;
    ask_start(&raw, true, three_run, NULL);
    ask_call(&raw, "1", ",'inputResponses':{'a':" ACCEPT("1") ",'x':{}}");
    sealed = ask_expect_input(&raw, "{" QUESTION("b", "B?") "}");
    ask_retry(&raw, "2", "{'a':" ACCEPT("9") ",'b':" ACCEPT("2") "}", sealed);
    sealed = ask_expect_input(&raw, "{" QUESTION("c", "C?") "}");
    ask_retry(&raw, "3", "{'c':" ACCEPT("3") "}", sealed);
    ask_expect_text(&raw, "3", "1 2 3");
    ask_done(&raw);
}

static void
early_answers_to_other_questions_change_nothing(void **state)
{
    struct raw raw;

    (void)state;
    ask_start(&raw, true, three_run, NULL);
    ask_call(&raw, "1", ",'inputResponses':{'c':" ACCEPT("3") ",'x':null}");
    free(ask_expect_input(&raw, BOTH));
    ask_done(&raw);
}

static void
early_answer_that_is_none_is_refused(void **state)
{
    struct raw raw;

    (void)state;
    ask_start(&raw, true, three_run, NULL);
    ask_call(&raw, "1", ",'inputResponses':{'a':" ACCEPT("1") ",'b':12345}");
    raw_expect(&raw,
               "\"code\":-32602,\"message\":\"Invalid params: inputResponses, b:");
    ask_call(&raw, "2",
             ",'inputResponses':{'a':{'action':'accept','content':{'v':1}}}");
    raw_expect(&raw,
               "\"code\":-32602,\"message\":\"Invalid params: inputResponses, a:");
    ask_done(&raw);
}

/* Both arrive in one read: the call is between two of its runs when it is canceled. */
static void
call_that_is_canceled_between_its_runs_is_not_run_again(void **state)
{
    static const char both[] = REQUEST(
        "1", "tools/call",
        "{\"name\":\"t\",\"inputResponses\":{"
        "\"a\":{\"action\":\"decline\"},\"b\":{\"action\":\"decline\"},"
        "\"c\":{\"action\":\"decline\"}},"
        "\"_meta\":{" META_KEY("protocolVersion") ":\"2026-07-28\"," META_KEY(
            "clientCapabilities") ":{\"elicitation\":{}}}}") "\n" CANCEL("1") "\n";
    atomic_int runs = 0;
    struct raw raw;

    (void)state;
    ask_start_with(&raw, true, MCP_TOOL(.reply = three_run, .user = &runs),
                   MCP_SERVER_OPTIONS(.page = 0));
    raw_bytes(&raw, both, sizeof(both) - 1);
    RAW_UNTIL(raw_counts(&raw).canceled_by_peer == 1);
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    raw_expect_silence(&raw);
    assert_int_equal(atomic_load(&runs), 1);
    assert_int_equal(raw_counts(&raw).in_flight, 0);
    ask_done(&raw);
}

/* Sets a state, and says whether it is there when it is run again. */
static int
stateful_run(mcp_request *req, mcp_result *out, void *user)
{
    char before[16];
    int r;

    (void)user;
    snprintf(before, sizeof(before), "%s", mcp_request_state(req));
    r = mcp_request_set_state(req, "kept");
    if (r == 0)
        r = ask_plainly(req, "a", "A?");
    return r < 0 ? r : mcp_result_textf(out, "%s %s", before, value_of(req, "a"));
}

static void
early_answers_go_with_the_state_of_their_round(void **state)
{
    struct raw raw;

    (void)state;
    ask_start(&raw, true, stateful_run, NULL);
    ask_call(&raw, "1", ",'inputResponses':{'a':" ACCEPT("1") "}");
    ask_expect_text(&raw, "1", "kept 1");
    ask_done(&raw);
}

static void
retry_in_a_wrong_form_is_refused_before_its_handler(void **state)
{
    atomic_int runs = 0;
    struct raw raw;

    (void)state;
    ask_start(&raw, true, three_run, &runs);
    ask_call(&raw, "1", ",'inputResponses':[]");
    raw_expect(&raw, "-32602");
    ask_call(&raw, "2", ",'inputResponses':{'a':{},'a':{}}");
    raw_expect(&raw, "-32602");
    ask_call(&raw, "3", ",'requestState':7");
    ask_expect_member(
        &raw, "error",
        "{'code':-32602,'message':'Invalid params: requestState must be a "
        "string'}");
    assert_int_equal(atomic_load(&runs), 0);
    ask_done(&raw);
}

/* Issue 20, 4: what is looked for among others is looked for among few. */
static void
too_many_answers_are_refused_before_the_handler(void **state)
{
    char text[MCPI_ROUND_ANSWERS_MAX * 10 + 100];
    atomic_int runs = 0;
    struct raw raw;
    int n;

    (void)state;
    n = sprintf(text, ",'inputResponses':{'x':0");
    for (int i = 0; i < MCPI_ROUND_ANSWERS_MAX; i++)
        n += sprintf(text + n, ",'%d':0", i);
    sprintf(text + n, "}");
    ask_start(&raw, true, three_run, &runs);
    ask_call(&raw, "1", text);
    ask_expect_member(&raw, "error",
                      "{'code':-32602,'message':'Invalid params: inputResponses has "
                      "more than 256 members'}");
    assert_int_equal(atomic_load(&runs), 0);
    ask_done(&raw);
}

/* As many questions as have room, and one more. */
static int
many_run(mcp_request *req, mcp_result *out, void *user)
{
    char key[16];
    int r = MCP_E_INPUT;

    (void)user;
    (void)out;
    for (int i = 0; r == MCP_E_INPUT && i < MCPI_ROUND_ANSWERS_MAX; i++) {
        snprintf(key, sizeof(key), "q%d", i);
        r = ask_plainly(req, key, "?");
    }
    assert_int_equal(r, MCP_E_INPUT);
    return ask_plainly(req, "more", "?");
}

static void
too_many_questions_are_an_error(void **state)
{
    struct raw raw;

    (void)state;
    ask_start(&raw, true, many_run, NULL);
    ask_call(&raw, "1", "");
    raw_expect(&raw, "\"id\":1,\"error\":{\"code\":-32603,");
    ask_done(&raw);
}

/* ---- what is not let in ------------------------------------------------- */

#define FOREIGN                                                             \
    "{'code':-32602,'message':'Invalid params: requestState is not one of " \
    "ours for this request'}"

static void
tampered_state_is_refused_before_the_handler_runs(void **state)
{
    atomic_int runs = 0;
    struct raw raw;
    char *sealed;

    (void)state;
    ask_start(&raw, true, three_run, &runs);
    ask_call(&raw, "1", "");
    sealed = ask_expect_input(&raw, BOTH);
    sealed[40] = sealed[40] == 'A' ? 'B' : 'A';
    ask_retry(&raw, "2", "{}", sealed);
    ask_expect_member(&raw, "error", FOREIGN);
    ask_call(&raw, "3", ",'requestState':''");
    ask_expect_member(&raw, "error", FOREIGN);
    assert_int_equal(atomic_load(&runs), 1);
    ask_done(&raw);
}

static void
state_is_good_for_its_own_arguments_only(void **state)
{
    struct raw raw;
    char *sealed, more[65536];

    (void)state;
    ask_start(&raw, true, three_run, NULL);
    ask_call(&raw, "1", ",'arguments':{'x':1,'y':2}");
    sealed = ask_expect_input(&raw, BOTH);
    snprintf(more, sizeof(more), ",'arguments':{'y':2,'x':2},'requestState':'%s'",
             sealed);
    ask_call(&raw, "2", more);
    ask_expect_member(&raw, "error", FOREIGN);
    snprintf(more, sizeof(more), ",'requestState':'%s'", sealed);
    ask_call(&raw, "3", more);
    ask_expect_member(&raw, "error", FOREIGN);
    snprintf(more, sizeof(more), ",'arguments':{'y':2,'x':1},'requestState':'%s'",
             sealed);
    ask_call(&raw, "4", more);
    free(ask_expect_input(&raw, BOTH));
    free(sealed);
    ask_done(&raw);
}

static void
state_is_good_for_its_own_tool_only(void **state)
{
    char *sealed, json[8192];
    struct raw raw;

    (void)state;
    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "t", .run = three_run));
    raw_tool(&raw, MCP_TOOL(.name = "u", .run = three_run));
    raw_start(&raw, true);
    ask_call(&raw, "1", "");
    sealed = ask_expect_input(&raw, BOTH);
    snprintf(json, sizeof(json), ",\"name\":\"u\",\"requestState\":\"%s\"", sealed);
    raw_ask(&raw, "2", "tools/call", json);
    ask_expect_member(&raw, "error", FOREIGN);
    free(sealed);
    ask_done(&raw);
}

static void
state_expires(void **state)
{
    int64_t until;
    struct raw raw;
    char *sealed;

    (void)state;
    ask_start_with(&raw, true, MCP_TOOL(.run = three_run),
                   MCP_SERVER_OPTIONS(.state_ms = 1));
    ask_call(&raw, "1", "");
    sealed = ask_expect_input(&raw, BOTH);
    until = mcpi_seal_now_ms() + 2;
    RAW_UNTIL(mcpi_seal_now_ms() > until);
    ask_retry(&raw, "2", "{}", sealed);
    ask_expect_member(&raw, "error",
                      "{'code':-32602,'message':'Invalid params: requestState has "
                      "expired: begin again without it'}");
    ask_done(&raw);
}

/* The state of one server, brought to another. */
static void
bring_to_another(const unsigned char *key, const unsigned char *other_key,
                 bool is_let_in)
{
    struct raw one, two;
    char *sealed;

    ask_start_with(&one, true, MCP_TOOL(.run = three_run),
                   MCP_SERVER_OPTIONS(.state_key = key));
    ask_start_with(&two, true, MCP_TOOL(.run = three_run),
                   MCP_SERVER_OPTIONS(.state_key = other_key));
    ask_call(&one, "1", "");
    sealed = ask_expect_input(&one, BOTH);
    ask_retry(&two, "1", "{'a':" ACCEPT("1") ",'b':" ACCEPT("2") "}", sealed);
    if (is_let_in)
        free(ask_expect_input(&two, "{" QUESTION("c", "C?") "}"));
    else
        ask_expect_member(&two, "error", FOREIGN);
    ask_done(&one);
    ask_done(&two);
}

static void
replicas_share_states_by_their_key(void **state)
{
    static const unsigned char key[32] = "0123456789abcdef0123456789abcdef";
    static const unsigned char other[32] = "0123456789abcdef0123456789abcdeg";

    (void)state;
    bring_to_another(key, key, true);
    bring_to_another(key, other, false);
    bring_to_another(key, NULL, false);
    bring_to_another(NULL, NULL, false);
}

static void
times_of_the_options_are_checked(void **state)
{
    mcp_server *server;

    (void)state;
    assert_int_equal(
        mcp_server_new(&MCP_SERVER_OPTIONS(.name = "n", .version = "1", .state_ms = -1),
                       &server, NULL),
        MCP_E_INVAL);
    assert_int_equal(
        mcp_server_new(&MCP_SERVER_OPTIONS(.name = "n", .version = "1", .ask_ms = -1),
                       &server, NULL),
        MCP_E_INVAL);
    assert_int_equal(
        mcp_server_new(&MCP_SERVER_OPTIONS(.name = "n", .version = "1",
                                           .state_ms = INT64_MAX, .ask_ms = INT64_MAX),
                       &server, NULL),
        0);
    mcp_server_free(server);
}

/* ---- a state alone ------------------------------------------------------ */

static int
state_only_run(mcp_request *req, mcp_result *out, void *user)
{
    char next[16];
    int n = atoi(mcp_request_state(req));

    if (n == *(const int *)user)
        return mcp_result_textf(out, "after %d", n);
    snprintf(next, sizeof(next), "%d", n + 1);
    (void)mcp_request_set_state(req, next);
    return MCP_E_INPUT;
}

static void
state_alone_asks_to_come_again(void **state)
{
    struct raw raw;
    int times = 2;
    char *sealed;

    (void)state;
    ask_start(&raw, true, state_only_run, &times);
    ask_call(&raw, "1", "");
    sealed = ask_expect_input(&raw, NULL);
    ask_retry(&raw, "2", "{}", sealed);
    sealed = ask_expect_input(&raw, NULL);
    ask_retry(&raw, "3", "{}", sealed);
    ask_expect_text(&raw, "3", "after 2");
    ask_done(&raw);
}

static void
L6_state_alone_comes_to_an_end_too(void **state)
{
    struct raw raw;
    int times = 1000;
    char *sealed, id[16];

    (void)state;
    ask_start(&raw, true, state_only_run, &times);
    ask_call(&raw, "1", "");
    for (int i = 2; i < 12; i++) {
        sealed = ask_expect_input(&raw, NULL);
        snprintf(id, sizeof(id), "%d", i);
        ask_retry(&raw, id, "{}", sealed);
    }
    raw_expect(&raw, "\"id\":11,\"error\":{\"code\":-32603,");
    assert_true(raw_logged(&raw, "it has asked 10 times already"));
    ask_done(&raw);
}

static int
nothing_run(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return MCP_E_INPUT;
}

static void
nothing_asked_is_an_internal_error(void **state)
{
    struct raw raw;

    ask_start(&raw, RAW_MODERN, nothing_run, NULL);
    ask_call(&raw, "1", "");
    raw_expect(&raw, "\"id\":1,\"error\":{\"code\":-32603,");
    assert_true(raw_logged(&raw, "nothing was asked"));
    ask_done(&raw);
}

/* ---- too long ----------------------------------------------------------- */

#define MUCH ((size_t)500 << 10)

static int
much_run(mcp_request *req, mcp_result *out, void *user)
{
    const char *key = mcp_request_answer(req, "a") ? "b" : "a";

    (void)user;
    if (mcp_request_answer(req, "b"))
        return mcp_result_text(out, "there was room");
    return ask_plainly(req, key, key);
}

static void
more_than_can_travel_is_an_error(void **state)
{
    char *answer = malloc(2 * MUCH), *sealed, *big = malloc(MUCH + 1);
    struct raw raw;

    (void)state;
    assert_non_null(answer);
    assert_non_null(big);
    memset(big, 'x', MUCH);
    big[MUCH] = '\0';
    ask_start(&raw, true, much_run, NULL);
    ask_call(&raw, "1", "");
    sealed = ask_expect_input(&raw, "{" QUESTION("a", "a") "}");
    snprintf(answer, 2 * MUCH,
             "{'a':{'action':'accept','content':{'v':'%s','w':'%s'}}}", big,
             big + MUCH / 3);
    ask_retry(&raw, "2", answer, sealed);
    raw_expect(&raw, "\"id\":2,\"error\":{\"code\":-32603,");
    assert_true(raw_logged(&raw, "what was asked and answered so far is too long"));
    ask_done(&raw);
    free(answer);
    free(big);
}

/* ---- the kinds of handlers ---------------------------------------------- */

static int
two_rounds(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    if (!mcp_request_answer(req, "a"))
        return ask_plainly(req, "a", "A?");
    return mcp_result_text(out, value_of(req, "a"));
}

/* Finished from inside. */
static int
two_rounds_start(mcp_request *req, mcp_result *out, void *user)
{
    mcp_request_finish(req, two_rounds(req, out, user));
    return 0;
}

static void
all_kinds_of_handlers_may_ask(void **state)
{
    const mcp_tool tools[] = {
        MCP_TOOL(.run = two_rounds), MCP_TOOL(.reply = two_rounds),
        MCP_TOOL(.start = two_rounds), MCP_TOOL(.start = two_rounds_start)};
    struct raw raw;
    char *sealed;

    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]) - 1; i++) {
        /* a start handler's 0 means begun: the third is for its first round only */
        ask_start_with(&raw, RAW_MODERN, tools[i == 2 ? 3 : i],
                       MCP_SERVER_OPTIONS(.page = 0));
        ask_call(&raw, "1", "");
        sealed = ask_expect_question(&raw, 1, "a", "elicitation/create", FORM("A?"));
        ask_answer(&raw, 1, "a", ACCEPT("7"), "2", sealed);
        ask_expect_text(&raw, ask_id(&raw, "2"), "7");
        ask_done(&raw);
    }
    ask_start_with(&raw, RAW_MODERN, tools[2], MCP_SERVER_OPTIONS(.page = 0));
    ask_call(&raw, "1", "");
    free(ask_expect_question(&raw, 1, "a", "elicitation/create", FORM("A?")));
    ask_done(&raw);
}

/* ---- out of memory ------------------------------------------------------ */

/* One retry; whatever fails, each call is answered or the link is closed. */
static void
flow(struct test_mem *mem, void *user)
{
    struct raw raw;
    mcp_doc *doc = NULL;
    const char *line;
    const mcp_json *state;

    (void)user;
    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    raw.lenient = true;
    if (mcp_server_add_tool(raw.server, &MCP_TOOL(.name = "t", .reply = two_rounds),
                            NULL) == 0 &&
        raw_try_connect(&raw, true) == 0 && mcp_server_start(raw.server, NULL) == 0) {
        ask_call(&raw, "1", "");
        line = raw_next(&raw);
        if (line)
            doc = ask_parse(line);
        state = mcp_json_get(mcp_json_get(mcp_doc_root(doc), "result"), "requestState");
        if (state) {
            ask_retry(&raw, "2", "{'a':" ACCEPT("7") "}",
                      strdup(mcp_json_string(state, "")));
            line = raw_next(&raw);
            assert_true(!line || strstr(line, "\"id\":2,"));
        }
        mcp_doc_free(doc);
    }
    raw_close(&raw);
}

/* The same with answers that come early: two runs for one call. */
static void
early_flow(struct test_mem *mem, void *user)
{
    struct raw raw;
    const char *line;

    (void)user;
    if (raw_make_in(&raw, mem, MCP_SERVER_OPTIONS(.page = 0)) < 0)
        return;
    raw.lenient = true;
    if (mcp_server_add_tool(raw.server, &MCP_TOOL(.name = "t", .reply = three_run),
                            NULL) == 0 &&
        raw_try_connect(&raw, true) == 0 && mcp_server_start(raw.server, NULL) == 0) {
        ask_call(&raw, "1",
                 ",'inputResponses':{'a':" ACCEPT("1") ",'b':" ACCEPT("2") "}");
        line = raw_next(&raw);
        assert_true(!line || strstr(line, "\"id\":1,"));
    }
    raw_close(&raw);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 20);
    assert_true(test_each_allocation_fails(early_flow, NULL) > 20);
}

/* ---- who asks ----------------------------------------------------------- */

/* Call "t" as somebody; state NULL: from the beginning. The answer is the caller's. */
static char *
call_as(struct visit *v, const char *principal, const char *state)
{
    char text[8192], json[8192], more[4096] = "";

    if (state)
        snprintf(more, sizeof(more),
                 ",'inputResponses':{'a':" ACCEPT("1") ",'b':" ACCEPT(
                     "2") "},'requestState':'%s'",
                 state);
    snprintf(text, sizeof(text),
             "{'jsonrpc':'2.0','id':1,'method':'tools/call','params':{'name':'t'%s,"
             "'_meta':{'io.modelcontextprotocol/protocolVersion':'2026-07-28',"
             "'io.modelcontextprotocol/clientCapabilities':" ABLE_ALL "}}}",
             more);
    return visit_ask(v, principal, ask_json(json, sizeof(json), text));
}

/* The state that a call as somebody is answered with. */
static char *
state_of(struct visit *v, const char *principal)
{
    char *answer = call_as(v, principal, NULL), *state;
    mcp_doc *doc = ask_parse(answer);
    const mcp_json *result = mcp_json_get(mcp_doc_root(doc), "result");

    state = strdup(mcp_json_string(mcp_json_get(result, "requestState"), ""));
    assert_non_null(state);
    assert_true(strlen(state) > 0);
    mcp_doc_free(doc);
    free(answer);
    return state;
}

static void
D20_state_is_good_for_who_asked_only(void **state)
{
    static const char *const others[] = {"bob", "alic", "alice ", "", NULL};
    atomic_int runs = 0;
    struct visit v;
    struct raw raw;
    char *sealed, *answer;

    (void)state;
    ask_start(&raw, true, three_run, &runs);
    visit_open(&v, &raw.server->trunk.host, MCPI_PRIVATE_IDS | MCPI_GONE_CANCELS);
    sealed = state_of(&v, "alice");
    assert_int_equal(atomic_load(&runs), 1);
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        answer = call_as(&v, others[i], sealed);
        assert_non_null(strstr(answer, "\"code\":-32602"));
        assert_non_null(strstr(answer, "not one of ours"));
        free(answer);
    }
    assert_int_equal(atomic_load(&runs), 1); /* refused before the handler */
    answer = call_as(&v, "alice", sealed);
    assert_non_null(strstr(answer, "C?"));
    free(answer);
    free(sealed);
    sealed = state_of(&v, NULL); /* nobody is nobody, and not alice */
    answer = call_as(&v, "alice", sealed);
    assert_non_null(strstr(answer, "not one of ours"));
    free(answer);
    answer = call_as(&v, "", sealed);
    assert_non_null(strstr(answer, "C?"));
    free(answer);
    free(sealed);
    visit_close(&v);
    ask_done(&raw);
}

/* A legacy session in JSON mode: there is no channel for questions. */
static void
visit_in_json(struct visit *v, struct raw *raw, mcp_handler_fn *run, void *user)
{
    static const char hello[] =
        "{'jsonrpc':'2.0','id':0,'method':'initialize','params':{"
        "'protocolVersion':'2025-11-25','capabilities':" ABLE_ALL
        ",'clientInfo':{'name':'raw','version':'1'}}}";
    char json[1024];

    ask_start(raw, true, run, user);
    visit_open(v, &raw->server->trunk.host, MCPI_LAST_WORD | MCPI_NO_REQUESTS);
    free(visit_ask(v, NULL, ask_json(json, sizeof(json), hello)));
    visit_tell(v, NOTE("notifications/initialized", "{}"));
}

static void
J9_handler_that_asks_where_nobody_can_be_asked_is_refused_at_once(void **state)
{
    atomic_int runs = 0;
    struct visit v;
    struct raw raw;
    char *answer;

    (void)state;
    visit_in_json(&v, &raw, three_run, &runs);
    answer = visit_ask(&v, NULL, LEGACY_CALL("7"));
    assert_non_null(strstr(answer, "\"id\":7,\"error\""));
    free(answer);
    assert_int_equal(atomic_load(&runs), 1);
    RAW_UNTIL(raw_counts(&raw).live_handlers == 0);
    assert_int_equal(raw_counts(&raw).in_flight, 0);
    visit_close(&v);
    ask_done(&raw);
}

static int
calling_run(mcp_request *req, mcp_result *out, void *user)
{
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    int r = mcp_request_call(req, "roots/list", NULL, NULL, &reply, &err);

    (void)user;
    assert_null(reply);
    return mcp_result_textf(out, "status %d", r);
}

static void
J9_handler_that_waits_for_who_cannot_be_asked_wakes_at_once(void **state)
{
    char wanted[32];
    struct visit v;
    struct raw raw;
    char *answer;

    (void)state;
    visit_in_json(&v, &raw, calling_run, NULL);
    answer = visit_ask(&v, NULL, LEGACY_CALL("7"));
    snprintf(wanted, sizeof(wanted), "status %d", MCP_E_NO_CHANNEL);
    assert_non_null(strstr(answer, wanted));
    free(answer);
    visit_close(&v);
    ask_done(&raw);
}

TEST_MAIN(TEST(earlier_answers_are_kept_though_a_retry_brings_only_its_own),
          TEST(answer_is_exactly_that),
          TEST(L9_server_keeps_nothing_for_who_never_comes_back),
          TEST(what_was_not_answered_is_asked_again),
          TEST(answers_that_come_before_their_questions_are_taken),
          TEST(what_early_answers_leave_open_is_asked),
          TEST(early_answers_to_other_questions_change_nothing),
          TEST(early_answer_that_is_none_is_refused),
          TEST(early_answers_go_with_the_state_of_their_round),
          TEST(call_that_is_canceled_between_its_runs_is_not_run_again),
          TEST(retry_in_a_wrong_form_is_refused_before_its_handler),
          TEST(too_many_answers_are_refused_before_the_handler),
          TEST(too_many_questions_are_an_error),
          TEST(tampered_state_is_refused_before_the_handler_runs),
          TEST(state_is_good_for_its_own_arguments_only),
          TEST(state_is_good_for_its_own_tool_only), TEST(state_expires),
          TEST(replicas_share_states_by_their_key),
          TEST(times_of_the_options_are_checked), TEST(state_alone_asks_to_come_again),
          TEST(L6_state_alone_comes_to_an_end_too),
          TEST_ERAS(nothing_asked_is_an_internal_error),
          TEST(more_than_can_travel_is_an_error),
          TEST_ERAS(all_kinds_of_handlers_may_ask), TEST(each_allocation_may_fail),
          TEST(D20_state_is_good_for_who_asked_only),
          TEST(J9_handler_that_asks_where_nobody_can_be_asked_is_refused_at_once),
          TEST(J9_handler_that_waits_for_who_cannot_be_asked_wakes_at_once))
