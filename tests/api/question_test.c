/* question_test.c - who may ask, whom, what and how often; what is kept meanwhile */
#include "ask_fixture.h"

#define KEY_MAX 64

/* ---- roots -------------------------------------------------------------- */

static int
roots_run(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *answer = mcp_request_answer(req, "where");

    (void)user;
    if (!answer)
        return mcp_request_roots(req, "where");
    return mcp_result_text(
        out, mcp_json_string(
                 mcp_json_get(mcp_json_at(mcp_json_get(answer, "roots"), 0), "uri"),
                 "nowhere"));
}

static void
roots_are_asked_for(void **state)
{
    struct raw raw;
    char *sealed;

    ask_able = "{'roots':{}}";
    ask_start(&raw, RAW_MODERN, roots_run, NULL);
    ask_call(&raw, "1", "");
    sealed = ask_expect_question(&raw, 1, "where", "roots/list", NULL);
    ask_answer(&raw, 1, "where", "{'roots':[{'uri':'file:///home'}]}", "2", sealed);
    ask_expect_text(&raw, ask_id(&raw, "2"), "file:///home");
    ask_done(&raw);
}

static void
client_without_roots_is_not_asked_for_them(void **state)
{
    struct raw raw;

    ask_able = "{'sampling':{}}";
    ask_start(&raw, RAW_MODERN, roots_run, NULL);
    ask_call(&raw, "1", "");
    ask_expect_member(&raw, "error",
                      "{'code':-32021,'message':'Missing required client capability: "
                      "roots','data':{'requiredCapabilities':{'roots':{}}}}");
    raw_expect_silence(&raw);
    ask_done(&raw);
}

/* ---- what can be asked -------------------------------------------------- */

static int
able_run(mcp_request *req, mcp_result *out, void *user)
{
    unsigned able = 0;

    (void)user;
    for (unsigned one = 1; one <= MCP_ASK_SAMPLE_CONTEXT; one <<= 1)
        able |= mcp_request_can_ask(req, one) ? one : 0;
    if (mcp_request_can_ask(req, able) && !mcp_request_can_ask(req, 1U << 20) &&
        !mcp_request_can_ask(NULL, 0))
        return mcp_result_textf(out, "%u", able);
    return mcp_result_text(out, "it does not agree with itself");
}

static void
assert_able(const char *version, const char *able, unsigned what)
{
    struct raw raw;
    char text[16];

    ask_version = version ? version : "";
    ask_able = able;
    snprintf(text, sizeof(text), "%u", what);
    ask_start(&raw, version == NULL, able_run, NULL);
    ask_call(&raw, "1", "");
    ask_expect_text(&raw, "1", text);
    ask_done(&raw);
}

static void
what_can_be_asked_is_what_was_declared_and_is_known(void **state)
{
    (void)state;
    assert_able(NULL, "{}", 0);
    assert_able("2025-11-25", "{}", 0);
    assert_able(NULL, "{'elicitation':{}}", MCP_ASK_FORM);
    assert_able("2025-11-25", "{'elicitation':{}}", MCP_ASK_FORM);
    assert_able("2025-11-25", "{'elicitation':{'url':{}}}", MCP_ASK_URL);
    assert_able("2025-06-18", "{'elicitation':{'url':{}}}", 0);
    assert_able("2025-06-18", "{'elicitation':{},'sampling':{'tools':{}}}",
                MCP_ASK_FORM | MCP_ASK_SAMPLE | MCP_ASK_SAMPLE_CONTEXT);
    assert_able("2024-11-05", ABLE_ALL,
                MCP_ASK_SAMPLE | MCP_ASK_SAMPLE_CONTEXT | MCP_ASK_ROOTS);
    assert_able("2025-11-25", "{'sampling':{'context':{}}}",
                MCP_ASK_SAMPLE | MCP_ASK_SAMPLE_CONTEXT);
    assert_able(NULL, ABLE_ALL, 31);
    assert_able("2025-11-25", ABLE_ALL, 31);
}

/* ---- keys --------------------------------------------------------------- */

/* user: the key. Asks once, and once more when it is answered. */
static int
key_run(mcp_request *req, mcp_result *out, void *user)
{
    int r = mcp_request_roots(req, user);

    return r == MCP_E_INVAL ? mcp_result_text(out, "refused") : r;
}

static int
twice_run(mcp_request *req, mcp_result *out, void *user)
{
    (void)mcp_request_roots(req, "k");
    return key_run(req, out, user);
}

static void
assert_no_key(bool modern, mcp_handler_fn *run, char *key)
{
    struct raw raw;

    ask_start(&raw, modern, run, key);
    ask_call(&raw, "1", "");
    ask_expect_text(&raw, "1", "refused");
    ask_done(&raw);
}

static void
key_is_a_short_text_and_used_once_in_a_run(void **state)
{
    char longer[KEY_MAX + 2];
    char once[] = "k", empty[] = "", broken[] = "\xff";

    memset(longer, 'k', sizeof(longer));
    longer[KEY_MAX + 1] = '\0';
    assert_no_key(RAW_MODERN, key_run, longer);
    assert_no_key(RAW_MODERN, key_run, empty);
    assert_no_key(RAW_MODERN, key_run, broken);
    assert_no_key(RAW_MODERN, key_run, NULL);
    assert_no_key(RAW_MODERN, twice_run, once);
    assert_int_equal(mcp_request_roots(NULL, "k"), MCP_E_INVAL);
}

/* Its answer is there: that is no question any more. */
static int
answered_run(mcp_request *req, mcp_result *out, void *user)
{
    int r = mcp_request_roots(req, user);

    if (r == 0)
        r = mcp_request_roots(req, user);
    return r < 0 ? r : mcp_result_text(out, "good");
}

static void
question_that_is_answered_is_not_asked_again(void **state)
{
    char key[KEY_MAX + 1];
    struct raw raw;
    char *sealed;

    memset(key, 'k', KEY_MAX);
    key[KEY_MAX] = '\0';
    ask_start(&raw, RAW_MODERN, answered_run, key);
    ask_call(&raw, "1", "");
    sealed = ask_expect_question(&raw, 1, key, "roots/list", NULL);
    ask_answer(&raw, 1, key, "{'roots':[]}", "2", sealed);
    ask_expect_text(&raw, ask_id(&raw, "2"), "good");
    ask_done(&raw);
}

/* ---- several at once ---------------------------------------------------- */

struct outcomes {
    atomic_int runs, first, last;
};

/* Two at once; what each of them comes to. */
static int
pair_run(mcp_request *req, mcp_result *out, void *user)
{
    struct outcomes *o = user;
    int r;

    atomic_fetch_add(&o->runs, 1);
    atomic_store(&o->first, mcp_request_roots(req, "a"));
    r = mcp_request_roots(req, "b");
    atomic_store(&o->last, r);
    return r < 0 ? r : mcp_result_text(out, "both");
}

static void
last_question_tells_of_all(void **state)
{
    struct outcomes o = {0};
    struct raw raw;
    char *sealed;

    (void)state;
    ask_start(&raw, true, pair_run, &o);
    ask_call(&raw, "1", "");
    sealed = ask_expect_input(
        &raw, "{'a':{'method':'roots/list'},'b':{'method':'roots/list'}}");
    assert_int_equal(atomic_load(&o.last), MCP_E_INPUT);
    ask_retry(&raw, "2", "{'b':{'roots':[]}}", sealed);
    sealed = ask_expect_input(&raw, "{'a':{'method':'roots/list'}}");
    assert_int_equal(atomic_load(&o.last), MCP_E_INPUT); /* though b is answered */
    ask_retry(&raw, "3", "{'a':{'roots':[]}}", sealed);
    ask_expect_text(&raw, "3", "both");
    assert_int_equal(atomic_load(&o.first), 0);
    assert_int_equal(atomic_load(&o.last), 0);
    assert_int_equal(atomic_load(&o.runs), 3);
    ask_done(&raw);
}

/* The first one cannot be asked, the second one can. */
static int
refused_pair_run(mcp_request *req, mcp_result *out, void *user)
{
    struct outcomes *o = user;
    int r;

    atomic_store(&o->first, mcp_request_sample(
                                req, "s", &MCP_SAMPLE(.text = "?", .max_tokens = 1)));
    r = mcp_request_roots(req, "r");
    atomic_store(&o->last, r);
    return r < 0 ? r : mcp_result_text(out, "both");
}

static void
failed_question_is_not_forgotten_by_the_next(void **state)
{
    struct outcomes o = {0};
    struct raw raw;

    ask_able = "{'roots':{}}";
    ask_start(&raw, RAW_MODERN, refused_pair_run, &o);
    ask_call(&raw, "1", "");
    raw_expect(&raw, "-32021");
    raw_expect_silence(&raw);
    assert_int_equal(atomic_load(&o.first), MCP_E_PEER);
    assert_int_equal(atomic_load(&o.last), MCP_E_PEER);
    ask_done(&raw);
}

/* ---- how often ---------------------------------------------------------- */

/* Asks once more each time, until it may not any more. */
static int
insatiable_run(mcp_request *req, mcp_result *out, void *user)
{
    atomic_int *last = user;
    char key[16];
    int n = 0, r;

    do
        snprintf(key, sizeof(key), "k%d", n++);
    while (mcp_request_answer(req, key));
    r = mcp_request_roots(req, key);
    atomic_store(last, r);
    return r == MCP_E_LIMIT ? mcp_result_textf(out, "%d", n - 1) : r;
}

static void
handler_may_ask_ten_times(void **state)
{
    char key[16], id[16];
    atomic_int last = 0;
    struct raw raw;
    char *sealed;

    ask_start(&raw, RAW_MODERN, insatiable_run, &last);
    ask_call(&raw, "1", "");
    for (int i = 0; i < 10; i++) {
        snprintf(key, sizeof(key), "k%d", i);
        snprintf(id, sizeof(id), "%d", i + 2);
        sealed = ask_expect_question(&raw, i + 1, key, "roots/list", NULL);
        ask_answer(&raw, i + 1, key, "{'roots':[]}", id, sealed);
    }
    ask_expect_text(&raw, ask_id(&raw, "11"), "10");
    assert_int_equal(atomic_load(&last), MCP_E_LIMIT);
    ask_done(&raw);
}

static void
answers_that_come_early_count_as_asked(void **state)
{
    char more[1024] = ",'inputResponses':{'x':{}";
    atomic_int last = 0;
    struct raw raw;

    (void)state;
    for (int i = 0; i < 12; i++)
        snprintf(more + strlen(more), sizeof(more) - strlen(more),
                 ",'k%d':{'roots':[]}", i);
    strcat(more, "}");
    ask_start(&raw, true, insatiable_run, &last);
    ask_call(&raw, "1", more);
    ask_expect_text(&raw, "1", "10");
    assert_int_equal(atomic_load(&last), MCP_E_LIMIT);
    ask_done(&raw);
}

/* ---- who may, besides tools --------------------------------------------- */

/* Asks once, then says what it was asked for. */
static int
named_run(mcp_request *req, mcp_result *out, void *user)
{
    const char *variable = mcp_request_argument(req, "v");

    (void)user;
    if (!mcp_request_answer(req, "k"))
        return mcp_request_roots(req, "k");
    return mcp_result_textf(out, "%s %s", mcp_request_name(req),
                            variable ? variable : "-");
}

static int
complete_run(mcp_request *req, mcp_result *out, void *user)
{
    atomic_store((atomic_int *)user, mcp_request_roots(req, "k"));
    return mcp_result_value(out, "done");
}

static void
make_named(struct raw *raw, atomic_int *completed)
{
    static const mcp_prompt_argument arguments[] = {{.name = "v"}, {0}};

    raw_make(raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(
        mcp_server_add_prompt(
            raw->server,
            &MCP_PROMPT(.name = "p", .arguments = arguments, .run = named_run,
                        .complete = {.reply = complete_run, .user = completed}),
            NULL),
        0);
    assert_int_equal(
        mcp_server_add_resource(
            raw->server,
            &MCP_RESOURCE(.uri = "x:r", .name = "r", .run = named_run, .ttl_ms = 5),
            NULL),
        0);
    assert_int_equal(
        mcp_server_add_template(
            raw->server,
            &MCP_TEMPLATE(.uri_template = "y:{v}", .name = "t", .reply = named_run),
            NULL),
        0);
}

/* Asked, answered, and the rest of the answer has this in it. */
static void
assert_may_ask(struct raw *raw, int number, const char *method, const char *params,
               const char *part)
{
    char more[65536];
    char *sealed;

    ask_method(raw, "1", method, params);
    sealed = ask_expect_question(raw, number, "k", "roots/list", NULL);
    if (raw->modern) {
        snprintf(more, sizeof(more),
                 "%s,'requestState':'%s','inputResponses':{'k':{'roots':[]}}", params,
                 sealed);
        ask_method(raw, "1", method, more);
    } else {
        ask_answer(raw, number, "k", "{'roots':[]}", "", NULL);
    }
    raw_expect(raw, part);
    free(sealed);
}

static void
prompts_and_resources_may_ask_too(void **state)
{
    atomic_int completed = 0;
    struct raw raw;

    make_named(&raw, &completed);
    ask_connect(&raw, RAW_MODERN);
    assert_may_ask(&raw, 1, "prompts/get", "'name':'p','arguments':{'v':'1'}",
                   "\"text\":\"p 1\"");
    assert_may_ask(&raw, 2, "resources/read", "'uri':'x:r'", "\"text\":\"x:r -\"");
    assert_may_ask(&raw, 3, "resources/read", "'uri':'y:abc'",
                   "\"text\":\"y:abc abc\"");
    ask_done(&raw);
}

static void
completion_may_not_ask(void **state)
{
    atomic_int completed = 0;
    struct raw raw;

    make_named(&raw, &completed);
    ask_connect(&raw, RAW_MODERN);
    ask_method(&raw, "1", "completion/complete",
               "'ref':{'type':'ref/prompt','name':'p'},'argument':{'name':'v','value':"
               "''}");
    raw_expect(&raw, "\"done\"");
    assert_int_equal(atomic_load(&completed), MCP_E_STATE);
    ask_done(&raw);
}

/* ---- who may not -------------------------------------------------------- */

struct refused {
    atomic_int roots, state;
    atomic_bool can;
};

static int
refused_before(mcp_request *req, void *user)
{
    struct refused *refused = user;

    if (strcmp(mcp_request_method(req), "tools/list") != 0)
        return 0;
    atomic_store(&refused->can, mcp_request_can_ask(req, MCP_ASK_ROOTS));
    atomic_store(&refused->roots, mcp_request_roots(req, "k"));
    atomic_store(&refused->state, mcp_request_set_state(req, "s"));
    return 0;
}

static void
list_may_not_ask(void **state)
{
    struct refused refused = {.can = true};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(
        mcp_server_use(raw.server,
                       &MCP_MIDDLEWARE(.before = refused_before, .user = &refused)),
        0);
    raw_tool(&raw, MCP_TOOL(.name = "t", .run = roots_run));
    raw_start(&raw, RAW_MODERN);
    raw_ask(&raw, "1", "tools/list", "");
    raw_expect(&raw, "\"tools\":[");
    assert_false(atomic_load(&refused.can));
    assert_int_equal(atomic_load(&refused.roots), MCP_E_STATE);
    assert_int_equal(atomic_load(&refused.state), MCP_E_STATE);
    raw_done(&raw);
}

static int
canceled_run(mcp_request *req, mcp_result *out, void *user)
{
    atomic_int *status = user;

    (void)out;
    atomic_store(status, 1);
    (void)mcp_request_sleep(req, AWAIT_MS);
    atomic_store(status, mcp_request_roots(req, "k"));
    return MCP_E_CANCELED;
}

static void
canceled_request_asks_nothing(void **state)
{
    atomic_int status = 0;
    struct raw raw;

    ask_start(&raw, RAW_MODERN, canceled_run, &status);
    ask_call(&raw, "1", "");
    RAW_UNTIL(atomic_load(&status) == 1);
    raw_cancel(&raw, "1", "enough");
    RAW_UNTIL(atomic_load(&status) == MCP_E_CANCELED);
    raw_expect_silence(&raw);
    ask_done(&raw);
}

/* ---- between the rounds ------------------------------------------------- */

static int
state_run(mcp_request *req, mcp_result *out, void *user)
{
    const char *before = mcp_request_state(req);

    (void)user;
    if (mcp_request_answer(req, "k"))
        return mcp_result_textf(out, "kept %s", before);
    if (before[0] || mcp_request_set_state(req, "first") < 0)
        return mcp_result_text(out, "there was one before");
    before = mcp_request_state(req);
    if (mcp_request_set_state(req, "\xff") != MCP_E_INVAL ||
        mcp_request_set_state(req, NULL) != MCP_E_INVAL ||
        mcp_request_set_state(NULL, "a") != MCP_E_INVAL ||
        mcp_request_set_state(req, "s\xc3\xa9"
                                   "cond") < 0)
        return mcp_result_text(out, "not as it should be");
    if (strcmp(before, "first") != 0 || mcp_request_state(NULL)[0])
        return mcp_result_text(out, "the first one is gone");
    return mcp_request_roots(req, "k");
}

static void
last_state_comes_back_with_the_answers(void **state)
{
    struct raw raw;
    char *sealed;

    ask_start(&raw, RAW_MODERN, state_run, NULL);
    ask_call(&raw, "1", "");
    sealed = ask_expect_question(&raw, 1, "k", "roots/list", NULL);
    ask_answer(&raw, 1, "k", "{'roots':[]}", "2", sealed);
    ask_expect_text(&raw, ask_id(&raw, "2"),
                    "kept s\xc3\xa9"
                    "cond");
    ask_done(&raw);
}

static int
long_state_run(mcp_request *req, mcp_result *out, void *user)
{
    char *text = user; /* one byte too long */

    if (mcp_request_answer(req, "k"))
        return mcp_result_textf(out, "%zu", strlen(mcp_request_state(req)));
    if (mcp_request_set_state(req, text) != MCP_E_LIMIT ||
        mcp_request_set_state(req, text + 1) < 0)
        return mcp_result_text(out, "no limit");
    return mcp_request_roots(req, "k");
}

static void
state_has_a_longest_length(void **state)
{
    size_t most = (size_t)64 << 10;
    char *text = malloc(most + 2);
    struct raw raw;
    char *sealed;

    assert_non_null(text);
    memset(text, 'x', most + 1);
    text[most + 1] = '\0';
    ask_start(&raw, RAW_MODERN, long_state_run, text);
    ask_call(&raw, "1", "");
    sealed = ask_expect_question(&raw, 1, "k", "roots/list", NULL);
    ask_answer(&raw, 1, "k", "{'roots':[]}", "2", sealed);
    ask_expect_text(&raw, ask_id(&raw, "2"), "65536");
    ask_done(&raw);
    free(text);
}

/* ---- who may not ---------------------------------------------------------- */

struct guard {
    atomic_int status; /* of its question */
    atomic_int runs;   /* of the handler behind it */
};

static int
guard_before(mcp_request *req, void *user)
{
    struct guard *guard = user;
    int r;

    if (strcmp(mcp_request_method(req), "tools/call") != 0)
        return 0;
    r = mcp_request_set_state(req, "asked");
    if (r == MCP_E_STATE)
        r = mcp_request_roots(req, "where");
    atomic_store(&guard->status, r);
    return r;
}

static int
guarded_run(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    atomic_fetch_add(&((struct guard *)user)->runs, 1);
    return mcp_result_text(out, "done");
}

/* It would not be asked again when the answer is there. */
static void
middleware_may_not_ask(void **state)
{
    struct guard guard = {0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcp_server_use(raw.server, &MCP_MIDDLEWARE(.before = guard_before,
                                                                .user = &guard)),
                     0);
    raw_tool(&raw, MCP_TOOL(.name = "t", .run = guarded_run, .user = &guard));
    ask_connect(&raw, RAW_MODERN);
    ask_call(&raw, "1", "");
    raw_expect(&raw, "\"id\":1,\"error\":{\"code\":-32603,");
    assert_int_equal(atomic_load(&guard.status), MCP_E_STATE);
    assert_int_equal(atomic_load(&guard.runs), 0);
    ask_done(&raw);
}

/* As above, but it lets the request pass. */
static int
lenient_before(mcp_request *req, void *user)
{
    (void)guard_before(req, user);
    return 0;
}

static void
handler_may_ask_though_its_middleware_might_not(void **state)
{
    struct guard guard = {0};
    struct raw raw;
    char *sealed;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(
        mcp_server_use(raw.server,
                       &MCP_MIDDLEWARE(.before = lenient_before, .user = &guard)),
        0);
    raw_tool(&raw, MCP_TOOL(.name = "t", .run = roots_run));
    ask_connect(&raw, RAW_MODERN);
    ask_call(&raw, "1", "");
    sealed = ask_expect_question(&raw, 1, "where", "roots/list", NULL);
    assert_int_equal(atomic_load(&guard.status), MCP_E_STATE);
    ask_answer(&raw, 1, "where", "{'roots':[{'uri':'file:///home'}]}", "2", sealed);
    ask_expect_text(&raw, ask_id(&raw, "2"), "file:///home");
    ask_done(&raw);
}

TEST_MAIN(TEST_ERAS(roots_are_asked_for),
          TEST_ERAS(client_without_roots_is_not_asked_for_them),
          TEST(what_can_be_asked_is_what_was_declared_and_is_known),
          TEST_ERAS(key_is_a_short_text_and_used_once_in_a_run),
          TEST_ERAS(question_that_is_answered_is_not_asked_again),
          TEST(last_question_tells_of_all),
          TEST_ERAS(failed_question_is_not_forgotten_by_the_next),
          TEST(answers_that_come_early_count_as_asked),
          TEST_ERAS(handler_may_ask_ten_times),
          TEST_ERAS(prompts_and_resources_may_ask_too),
          TEST_ERAS(completion_may_not_ask), TEST_ERAS(middleware_may_not_ask),
          TEST_ERAS(handler_may_ask_though_its_middleware_might_not),
          TEST_ERAS(list_may_not_ask), TEST_ERAS(canceled_request_asks_nothing),
          TEST_ERAS(last_state_comes_back_with_the_answers),
          TEST_ERAS(state_has_a_longest_length))
