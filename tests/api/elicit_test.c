/* elicit_test.c - a handler asks the user: the exact questions, in all versions */
#include "ask_fixture.h"

#include <mcp/client.h>

struct who {
    const char *name;
    int32_t age;
    bool sure;
    int color;
    int *colors;
    size_t color_count;
};

static const mcp_enum_name colors[] = {{"red", 0}, {"blue", 1}, {0}};

static const mcp_field who_fields[] = {
    MCP_FIELD_WITH(struct who, name, MCP_STRING, MCP_REQUIRED, "Your name",
                   .max_length = 40),
    MCP_FIELD(struct who, sure, MCP_BOOL, 0, NULL),
    MCP_FIELD_WITH(struct who, color, MCP_ENUM, 0, NULL, .names = colors),
    {0}};

#define WHO_SCHEMA                                                           \
    "{'type':'object','properties':{'name':{'type':'string','description':"  \
    "'Your name','maxLength':40},'sure':{'type':'boolean'},'color':{'type':" \
    "'string','enum':['red','blue']}},'required':['name']}"

/* What a test wants asked, and what came of it. */
struct script {
    int (*ask)(mcp_request *req);
    atomic_int status; /* that asking returned */
};

static int
script_run(mcp_request *req, mcp_result *out, void *user)
{
    struct script *script = user;
    int r;

    if (mcp_request_answer(req, "who"))
        return mcp_result_textf(out, "%d", (int)mcp_request_action(req, "who"));
    r = script->ask(req);
    atomic_store(&script->status, r);
    return r;
}

/* ---- forms -------------------------------------------------------------- */

static int
ask_who(mcp_request *req)
{
    return mcp_request_elicit(
        req, "who", &MCP_ELICIT(.message = "Who are you?", .fields = who_fields));
}

static int
ask_who_run(mcp_request *req, mcp_result *out, void *user)
{
    struct who who;
    int r;

    (void)user;
    if (!mcp_request_answer(req, "who"))
        return ask_who(req);
    if (mcp_request_action(req, "who") == MCP_DECLINED)
        return mcp_result_text(out, "declined");
    if (mcp_request_action(req, "who") == MCP_DISMISSED)
        return mcp_result_text(out, "dismissed");
    r = mcp_request_bind_answer(req, "who", who_fields, &who);
    return r < 0 ? r
                 : mcp_result_textf(out, "%s, %d, %s", who.name, who.sure,
                                    colors[who.color].name);
}

#define WHO "{'mode':'form','message':'Who are you?','requestedSchema':" WHO_SCHEMA "}"

/* Ask, answer with that, and see what the handler makes of it. */
static void
assert_answer_gives(bool modern, const char *answer, const char *text)
{
    struct raw raw;
    char *state;

    ask_start(&raw, modern, ask_who_run, NULL);
    ask_call(&raw, "1", "");
    state = ask_expect_question(&raw, 1, "who", "elicitation/create", WHO);
    ask_answer(&raw, 1, "who", answer, "2", state);
    ask_expect_text(&raw, ask_id(&raw, "2"), text);
    ask_done(&raw);
}

static void
form_is_asked_and_its_answer_is_a_struct(void **state)
{
    assert_answer_gives(
        RAW_MODERN,
        "{'action':'accept','content':{'name':'Ada','sure':true,'color':"
        "'blue'}}",
        "Ada, 1, blue");
}

static void
declined_and_dismissed_are_answers(void **state)
{
    assert_answer_gives(RAW_MODERN, "{'action':'decline'}", "declined");
    assert_answer_gives(RAW_MODERN, "{'action':'cancel'}", "dismissed");
}

/* J10 by name: what a user cancels is an answer, and nothing is canceled. */
static void
J10_cancel_answer_is_an_answer(void **state)
{
    struct raw raw;
    char *sealed;

    ask_start(&raw, RAW_MODERN, ask_who_run, NULL);
    ask_call(&raw, "1", "");
    sealed = ask_expect_question(&raw, 1, "who", "elicitation/create", WHO);
    ask_answer(&raw, 1, "who", "{'action':'cancel'}", "2", sealed);
    ask_expect_text(&raw, ask_id(&raw, "2"), "dismissed");
    assert_int_equal(raw_counts(&raw).canceled_by_peer, 0);
    ask_done(&raw);
}

static void
answer_that_does_not_fit_its_form_is_refused(void **state)
{
    struct raw raw;
    char *sealed;

    ask_start(&raw, RAW_MODERN, ask_who_run, NULL);
    ask_call(&raw, "1", "");
    sealed = ask_expect_question(&raw, 1, "who", "elicitation/create", WHO);
    ask_answer(&raw, 1, "who", "{'action':'accept','content':{'sure':1}}", "2", sealed);
    if (RAW_MODERN)
        raw_expect(&raw, "\"id\":2,\"error\":{\"code\":-32602,\"message\":"
                         "\"Invalid params: inputResponses, who: ");
    else
        raw_expect(&raw, "\"id\":1,\"error\":{\"code\":-32603,\"message\":"
                         "\"The answer to elicitation/create is none: ");
    assert_int_equal(raw_counts(&raw).failed, 1);
    ask_done(&raw);
}

static int
ask_by_schema(mcp_request *req)
{
    return mcp_request_elicit(
        req, "who",
        &MCP_ELICIT(
                .message = "\xc3\xa9",
                .schema = "{\"type\": \"object\", \"properties\": {\"c\": {\"type\": "
                          "\"array\", \"items\": {\"anyOf\": [{\"const\": \"r\", "
                          "\"title\": \"Red\"}]}}, \"d\": {\"type\": \"string\", "
                          "\"oneOf\": [{\"const\": \"a\", \"title\": \"A\"}]}}}"));
}

static void
form_may_be_a_schema_with_choices(void **state)
{
    struct script script = {.ask = ask_by_schema};
    struct raw raw;
    char *sealed;

    ask_start(&raw, RAW_MODERN, script_run, &script);
    ask_call(&raw, "1", "");
    sealed = ask_expect_question(
        &raw, 1, "who", "elicitation/create",
        "{'mode':'form','message':'\xc3\xa9','requestedSchema':{'type':'object',"
        "'properties':{'c':{'type':'array','items':{'anyOf':[{'const':'r','title':"
        "'Red'}]}},'d':{'type':'string','oneOf':[{'const':'a','title':'A'}]}}}}");
    ask_answer(&raw, 1, "who", "{'action':'accept','content':{'c':['r'],'d':'a'}}", "2",
               sealed);
    ask_expect_text(&raw, ask_id(&raw, "2"), "1");
    ask_done(&raw);
}

/* ---- older versions ----------------------------------------------------- */

static void
before_modes_a_form_has_none(void **state)
{
    struct raw raw;

    (void)state;
    ask_version = "2025-06-18";
    ask_able = "{'elicitation':{}}";
    ask_start(&raw, false, ask_who_run, NULL);
    ask_call(&raw, "1", "");
    free(ask_expect_question(&raw, 1, "who", "elicitation/create",
                             "{'message':'Who are you?','requestedSchema':" WHO_SCHEMA
                             "}")); /* no state in this era */
    ask_answer(&raw, 1, "who", "{'action':'decline'}", "", NULL);
    ask_expect_text(&raw, "1", "declined");
    ask_done(&raw);
}

/* Not asked, whatever it declares: the version does not know it. */
static void
assert_refused(const char *version, const char *able, int (*ask)(mcp_request *req),
               const char *missing, const char *data)
{
    struct script script = {.ask = ask};
    char wanted[400];
    struct raw raw;

    ask_version = version ? version : "";
    ask_able = able;
    snprintf(wanted, sizeof(wanted),
             "{'code':-32021,'message':'Missing required client capability: %s',"
             "'data':{'requiredCapabilities':%s}}",
             missing, data);
    ask_start(&raw, version == NULL, script_run, &script);
    ask_call(&raw, "1", "");
    ask_expect_member(&raw, "error", wanted);
    assert_int_equal(atomic_load(&script.status), MCP_E_PEER);
    raw_expect_silence(&raw);
    ask_done(&raw);
}

static int
ask_by_titles(mcp_request *req)
{
    return mcp_request_elicit(
        req, "who",
        &MCP_ELICIT(.message = "Which?",
                    .schema = "{\"type\":\"object\",\"properties\":{\"c\":{"
                              "\"type\":\"string\",\"oneOf\":[{\"const\":\"r\","
                              "\"title\":\"Red\"}]}}}"));
}

static int
ask_to_go(mcp_request *req)
{
    return mcp_request_elicit(
        req, "who", &MCP_ELICIT(.message = "Go", .url = "https://a.example/x"));
}

static int
ask_to_go_first(mcp_request *req)
{
    return mcp_request_elicit_first(
        req, "who",
        &MCP_ELICIT(.message = "Go", .url = "https://a.example/x", .id = "e-1"));
}

#define FORM "elicitation.form", "{'elicitation':{'form':{}}}"
#define URL "elicitation.url", "{'elicitation':{'url':{}}}"

static void
client_that_cannot_is_not_asked_for_forms(void **state)
{
    (void)state;
    assert_refused("2025-11-25", "{}", ask_who, FORM);
    assert_refused(NULL, "{}", ask_who, FORM);
    assert_refused("2025-11-25", "{'elicitation':true}", ask_who, FORM);
    assert_refused("2025-11-25", "{'elicitation':{'url':{}}}", ask_who, FORM);
    assert_refused(NULL, "{'elicitation':{'url':{}}}", ask_who, FORM);
    assert_refused("2025-03-26", "{'elicitation':{}}", ask_who, FORM);
    assert_refused("2025-06-18", "{'elicitation':{}}", ask_by_schema, FORM);
    assert_refused("2025-06-18", "{'elicitation':{}}", ask_by_titles, FORM);
}

static void
client_that_cannot_is_not_sent_to_urls(void **state)
{
    (void)state;
    assert_refused("2025-11-25", "{'elicitation':{}}", ask_to_go, URL);
    assert_refused("2025-11-25", "{'elicitation':{'form':{}}}", ask_to_go, URL);
    assert_refused(NULL, "{'elicitation':{}}", ask_to_go, URL);
    assert_refused("2025-06-18", "{'elicitation':{'url':{}}}", ask_to_go, URL);
    assert_refused("2025-06-18", "{'elicitation':{'url':{}}}", ask_to_go_first, URL);
    assert_refused("2025-11-25", "{'elicitation':{}}", ask_to_go_first, URL);
    assert_refused(NULL, "{'elicitation':{}}", ask_to_go_first, URL);
}

/* ---- URLs --------------------------------------------------------------- */

static int
ask_with_id(mcp_request *req)
{
    return mcp_request_elicit(
        req, "who",
        &MCP_ELICIT(.message = "Go", .url = "https://a.example/x", .id = "e-1"));
}

static void
url_has_an_id_in_the_legacy_era_only(void **state)
{
    struct script script = {.ask = ask_with_id};
    struct raw raw;
    char *sealed;

    ask_start(&raw, RAW_MODERN, script_run, &script);
    ask_call(&raw, "1", "");
    sealed = ask_expect_question(
        &raw, 1, "who", "elicitation/create",
        RAW_MODERN ? "{'mode':'url','message':'Go','url':'https://a.example/x'}"
                   : "{'mode':'url','message':'Go','elicitationId':'e-1','url':"
                     "'https://a.example/x'}");
    ask_answer(&raw, 1, "who", "{'action':'accept'}", "2", sealed);
    ask_expect_text(&raw, ask_id(&raw, "2"), "1");
    if (!RAW_MODERN) { /* who was asked can be told */
        assert_int_equal(mcp_server_elicitation_complete(raw.server, "e-1"), 0);
        raw_expect(&raw, "notifications/elicitation/complete");
    }
    ask_done(&raw);
}

static void
id_is_made_if_none_is_given(void **state)
{
    struct script script = {.ask = ask_to_go};
    const mcp_json *params;
    struct raw raw;
    mcp_doc *doc;

    (void)state;
    ask_start(&raw, false, script_run, &script);
    ask_call(&raw, "1", "");
    doc = ask_next(&raw);
    params = mcp_json_get(mcp_doc_root(doc), "params");
    assert_int_equal(mcp_json_string_length(mcp_json_get(params, "elicitationId")), 32);
    mcp_doc_free(doc);
    ask_done(&raw);
}

static void
first_is_an_error_in_2025_11_25(void **state)
{
    struct script script = {.ask = ask_to_go_first};
    struct raw raw;

    (void)state;
    ask_start(&raw, false, script_run, &script);
    ask_call(&raw, "1", "");
    ask_expect_member(&raw, "error",
                      "{'code':-32042,'message':'This request needs an elicitation "
                      "first','data':{'elicitations':[{'mode':'url','message':'Go',"
                      "'elicitationId':'e-1','url':'https://a.example/x'}]}}");
    assert_int_equal(atomic_load(&script.status), MCP_E_PEER);
    assert_int_equal(mcp_server_elicitation_complete(raw.server, "e-1"), 0);
    raw_expect(&raw, "notifications/elicitation/complete");
    ask_done(&raw);
}

static void
first_is_a_question_in_2026_07_28(void **state)
{
    struct script script = {.ask = ask_to_go_first};
    struct raw raw;

    (void)state;
    ask_start(&raw, true, script_run, &script);
    ask_call(&raw, "1", "");
    free(ask_expect_question(&raw, 1, "who", "elicitation/create",
                             "{'mode':'url','message':'Go','url':"
                             "'https://a.example/x'}"));
    assert_int_equal(atomic_load(&script.status), MCP_E_INPUT);
    ask_done(&raw);
}

/* ---- what is no question ------------------------------------------------ */

static const mcp_field list_fields[] = {
    MCP_FIELD_ARRAY(struct who, colors, color_count, MCP_INT, 0, NULL), {0}};
static const mcp_field wrong_fields[] = {
    MCP_FIELD_WITH(struct who, name, MCP_STRING, MCP_REQUIRED, NULL, .pattern = "("),
    {0}};

#define EMPTY_FORM "{\"type\":\"object\",\"properties\":{}}"

/* user: the question, or NULL. */
static int
wrong_run(mcp_request *req, mcp_result *out, void *user)
{
    int r = mcp_request_elicit(req, "k", user);

    return r == MCP_E_INVAL ? mcp_result_text(out, "not asked") : r;
}

static int
wrong_first_run(mcp_request *req, mcp_result *out, void *user)
{
    int r = mcp_request_elicit_first(req, "k",
                                     &MCP_ELICIT(.message = "m", .schema = EMPTY_FORM));

    (void)user;
    return r == MCP_E_INVAL ? mcp_result_text(out, "not asked") : r;
}

static void
assert_not_asked(bool modern, mcp_handler_fn *run, const mcp_elicit *question)
{
    mcp_elicit own = question ? *question : (mcp_elicit){0};
    struct raw raw;

    ask_start(&raw, modern, run, question ? &own : NULL);
    ask_call(&raw, "1", "");
    ask_expect_text(&raw, "1", "not asked");
    assert_true(raw_logged(&raw, "2: the question \"k\": "));
    ask_done(&raw);
}

static void
what_is_no_question_is_not_asked(void **state)
{
    const mcp_elicit wrong[] = {
        MCP_ELICIT(.message = NULL, .schema = EMPTY_FORM),
        MCP_ELICIT(.message = "\xff", .schema = EMPTY_FORM),
        MCP_ELICIT(.message = "m"),
        MCP_ELICIT(.message = "m", .schema = EMPTY_FORM, .url = "https://a.example/"),
        MCP_ELICIT(.message = "m", .schema = EMPTY_FORM, .fields = who_fields),
        MCP_ELICIT(.message = "m", .schema = EMPTY_FORM, .id = "i"),
        MCP_ELICIT(.message = "m", .url = "no url"),
        MCP_ELICIT(.message = "m", .url = "https://a.example/", .id = ""),
        MCP_ELICIT(.message = "m", .url = "https://a.example/", .id = "\xff"),
        MCP_ELICIT(.message = "m", .schema = "{"),
        MCP_ELICIT(.message = "m", .schema = "[]"),
        MCP_ELICIT(.message = "m", .schema = "{\"type\":\"string\"}"),
        MCP_ELICIT(.message = "m",
                   .schema = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
                             "\"object\"}}}"),
        MCP_ELICIT(.message = "m",
                   .schema = "{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
                             "\"string\",\"pattern\":\"(\"}}}"),
        MCP_ELICIT(.message = "m", .fields = list_fields),
        MCP_ELICIT(.message = "m", .fields = wrong_fields),
        {.size = 3, .message = "m"},
    };

    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
        assert_not_asked(RAW_MODERN, wrong_run, &wrong[i]);
    assert_not_asked(RAW_MODERN, wrong_run, NULL);
    assert_not_asked(RAW_MODERN, wrong_first_run, NULL);
    assert_int_equal(mcp_request_elicit(NULL, "k", &wrong[0]), MCP_E_INVAL);
}

TEST_MAIN(TEST_ERAS(form_is_asked_and_its_answer_is_a_struct),
          TEST_ERAS(declined_and_dismissed_are_answers),
          TEST_ERAS(J10_cancel_answer_is_an_answer),
          TEST_ERAS(answer_that_does_not_fit_its_form_is_refused),
          TEST_ERAS(form_may_be_a_schema_with_choices),
          TEST(before_modes_a_form_has_none),
          TEST(client_that_cannot_is_not_asked_for_forms),
          TEST(client_that_cannot_is_not_sent_to_urls),
          TEST_ERAS(url_has_an_id_in_the_legacy_era_only),
          TEST(id_is_made_if_none_is_given), TEST(first_is_an_error_in_2025_11_25),
          TEST(first_is_a_question_in_2026_07_28),
          TEST_ERAS(what_is_no_question_is_not_asked))
