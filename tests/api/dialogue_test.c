/*
 * dialogue_test.c - a server of ours asks a client of ours: what is asked and what is
 * answered arrive as they are, in both eras
 */
#include <mcp/client.h>

#include "ask_fixture.h"

struct dialogue {
    int (*ask)(mcp_request *req); /* the question "q" of the tool "t" */
    mcp_handler_fn *answer;       /* what the client says to it */
    char asked[8192];             /* params, as the client's handler saw them */
    char answered[8192];          /* the answer, as the tool's handler saw it */
    int runs;                     /* of the tool's handler */
    int bound;                    /* what binding the answer returned */
    struct raw raw;               /* the server */
    mcp_client *client;
    char elicited[64]; /* under raw_log_lock */
};

static void
print_into(char *into, size_t size, const mcp_json *value)
{
    char *text = NULL;

    if (value && mcp_json_print(value, false, NULL, &text, NULL) == 0)
        snprintf(into, size, "%s", text);
    else
        snprintf(into, size, "null");
    mcp_text_free(text, NULL);
}

struct named {
    const char *name;
};

static const mcp_field named_fields[] = {
    MCP_FIELD(struct named, name, MCP_STRING, MCP_REQUIRED, NULL), {0}};

static int
tool_run(mcp_request *req, mcp_result *out, void *user)
{
    struct dialogue *d = user;
    const mcp_json *answer = mcp_request_answer(req, "q");
    struct named named;

    d->runs++;
    if (!answer)
        return d->ask(req);
    print_into(d->answered, sizeof(d->answered), answer);
    d->bound = mcp_request_bind_answer(req, "q", named_fields, &named);
    return mcp_result_text(out, "done");
}

static int
client_run(mcp_request *req, mcp_result *out, void *user)
{
    struct dialogue *d = mcp_request_server_user(req);

    print_into(d->asked, sizeof(d->asked), mcp_request_params(req));
    return d->answer(req, out, user);
}

static void
on_elicited(mcp_client *client, const char *id, void *user)
{
    struct dialogue *d = user;

    (void)client;
    pthread_mutex_lock(&raw_log_lock);
    snprintf(d->elicited, sizeof(d->elicited), "%s", id);
    pthread_mutex_unlock(&raw_log_lock);
}

static void
dialogue_open(struct dialogue *d, bool modern, int (*ask)(mcp_request *req),
              mcp_handler_fn *answer)
{
    mcp_client_options me = MCP_CLIENT_OPTIONS(
            .name = "asked", .version = "1", .elicit.run = client_run,
            .sample.run = client_run, .roots.run = client_run,
            .able = MCP_ABLE_URL | MCP_ABLE_SAMPLE_TOOLS | MCP_ABLE_SAMPLE_CONTEXT,
            .era = modern ? MCP_ERA_MODERN : MCP_ERA_LEGACY, .on_elicited = on_elicited,
            .user = d);

    memset(d, 0, sizeof(*d));
    d->ask = ask;
    d->answer = answer;
    raw_make(&d->raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&d->raw, MCP_TOOL(.name = "t", .run = tool_run, .user = d));
    assert_int_equal(mcp_server_start(d->raw.server, NULL), 0);
    me.allocator = &d->raw.mem->allocator;
    assert_int_equal(mcp_client_attach_server(d->raw.server, &me, &d->client, NULL), 0);
}

static void
dialogue_close(struct dialogue *d)
{
    mcp_client_free(d->client);
    raw_done(&d->raw);
}

static void
assert_text(const char *text, const char *wanted)
{
    mcp_doc *doc = ask_parse(text);

    ask_assert(mcp_doc_root(doc), wanted);
    mcp_doc_free(doc);
}

/* The one was asked that, and the other was answered that; returns what binding said. */
static int
assert_dialogue(bool modern, int (*ask)(mcp_request *req), mcp_handler_fn *answer,
                const char *asked, const char *answered)
{
    mcp_error err = {0};
    struct dialogue d;

    dialogue_open(&d, modern, ask, answer);
    if (mcp_client_call_tool(d.client, "t", NULL, NULL, NULL, &err) < 0)
        fail_msg("%s", err.message);
    assert_text(d.asked, asked);
    assert_text(d.answered, answered);
    assert_int_equal(d.runs, 2);
    dialogue_close(&d);
    return d.bound;
}

/* Text of JSON with ' for ", as the question or the answer. */
static int
ask_form(mcp_request *req, const char *schema)
{
    char json[4096];

    return mcp_request_elicit(
        req, "q",
        &MCP_ELICIT(.message = "Who are you?",
                    .schema = ask_json(json, sizeof(json), schema)));
}

static int
answer_form(mcp_result *out, const char *content)
{
    char json[4096];

    ask_json(json, sizeof(json), content);
    return mcp_result_json(out, json, strlen(json));
}

#define FORM(schema) \
    "{'mode':'form','message':'Who are you?','requestedSchema':" schema "}"
#define ACCEPTED(content) "{'action':'accept','content':" content "}"

/* ---- forms -------------------------------------------------------------- */

#define PRIMITIVES                                                                  \
    "{'type':'object','properties':{'name':{'type':'string','title':'Name',"        \
    "'description':'Yours','minLength':1,'maxLength':40},'mail':{'type':'string',"  \
    "'format':'email'},'site':{'type':'string','format':'uri'},'born':{'type':"     \
    "'string','format':'date'},'at':{'type':'string','format':'date-time'},'age':{" \
    "'type':'integer','minimum':0,'maximum':150},'size':{'type':'number','minimum'" \
    ":0.5},'sure':{'type':'boolean','default':true}},'required':['name','age']}"
#define PERSON                                                                    \
    "'name':'Ada','mail':'ada@example.org','site':'https://example.org/','born':" \
    "'1815-12-10','at':'2026-07-28T12:00:00Z','age':36,'size':1.5"

static int
ask_primitives(mcp_request *req)
{
    return ask_form(req, PRIMITIVES);
}

static int
answer_primitives(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return answer_form(out, "{" PERSON ",'sure':false}");
}

static void
a_form_and_its_content_arrive_as_they_are(void **state)
{
    assert_int_equal(assert_dialogue(RAW_MODERN, ask_primitives, answer_primitives,
                                     FORM(PRIMITIVES),
                                     ACCEPTED("{" PERSON ",'sure':false}")),
                     0);
}

static int
answer_without_default(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return answer_form(out, "{" PERSON "}");
}

static void
what_a_user_leaves_out_arrives_as_its_default(void **state)
{
    (void)assert_dialogue(RAW_MODERN, ask_primitives, answer_without_default,
                          FORM(PRIMITIVES), ACCEPTED("{" PERSON ",'sure':true}"));
}

#define CHOICES                                                                     \
    "{'type':'object','properties':{'plain':{'type':'string','enum':['r','g']},"    \
    "'old':{'type':'string','enum':['r','g'],'enumNames':['Red','Green']},'titled'" \
    ":{'type':'string','oneOf':[{'const':'r','title':'Red'},{'const':'g','title':"  \
    "'Green'}],'default':'r'},'many':{'type':'array','minItems':1,'maxItems':2,"    \
    "'items':{'type':'string','enum':['r','g','b']}},'many_titled':{'type':'array'" \
    ",'items':{'anyOf':[{'const':'r','title':'Red'},{'const':'g','title':'Green'}"  \
    "]}}}}"
#define CHOSEN \
    "{'plain':'g','old':'r','titled':'g','many':['b','r'],'many_titled':['g']}"

static int
ask_choices(mcp_request *req)
{
    return ask_form(req, CHOICES);
}

static int
answer_choices(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return answer_form(out, CHOSEN);
}

static void
choices_of_every_kind_arrive_as_they_are(void **state)
{
    (void)assert_dialogue(RAW_MODERN, ask_choices, answer_choices, FORM(CHOICES),
                          ACCEPTED(CHOSEN));
}

/* ---- URLs, and users who do not want ------------------------------------- */

static int
ask_to_go(mcp_request *req)
{
    return mcp_request_elicit(req, "q",
                              &MCP_ELICIT(.message = "Sign in",
                                          .url = "https://a.example/x?y=1",
                                          .id = "e-1"));
}

#define GO(modern)                                                                   \
    ((modern) ? "{'mode':'url','message':'Sign in','url':'https://a.example/x?y=1'}" \
              : "{'mode':'url','message':'Sign in','elicitationId':'e-1','url':"     \
                "'https://a.example/x?y=1'}")

static int
accept_it(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_accept(out);
}

static int
decline_it(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_decline(out);
}

static int
dismiss_it(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_dismiss(out);
}

static void
a_url_arrives_as_it_is_and_nothing_comes_back_with_it(void **state)
{
    bool modern = RAW_MODERN;

    (void)assert_dialogue(modern, ask_to_go, accept_it, GO(modern),
                          "{'action':'accept'}");
    (void)assert_dialogue(modern, ask_to_go, decline_it, GO(modern),
                          "{'action':'decline'}");
    (void)assert_dialogue(modern, ask_to_go, dismiss_it, GO(modern),
                          "{'action':'cancel'}");
}

static void
J10_who_does_not_fill_in_a_form_sends_no_content(void **state)
{
    bool modern = RAW_MODERN;

    assert_int_equal(assert_dialogue(modern, ask_primitives, decline_it,
                                     FORM(PRIMITIVES), "{'action':'decline'}"),
                     MCP_E_STATE); /* there is nothing to bind */
    assert_int_equal(assert_dialogue(modern, ask_primitives, dismiss_it,
                                     FORM(PRIMITIVES), "{'action':'cancel'}"),
                     MCP_E_STATE);
}

static int
ask_to_go_first(mcp_request *req)
{
    return mcp_request_elicit_first(req, "q",
                                    &MCP_ELICIT(.message = "Sign in",
                                                .url = "https://a.example/x?y=1",
                                                .id = "e-1"));
}

static bool
dialogue_elicited(struct dialogue *d, const char *id)
{
    bool is;

    pthread_mutex_lock(&raw_log_lock);
    is = strcmp(d->elicited, id) == 0;
    pthread_mutex_unlock(&raw_log_lock);
    return is;
}

/* In 2025-11-25 an error says so, and the client hears when it is done. */
static void
what_must_be_done_first_is_in_the_error(void **state)
{
    struct dialogue d;
    mcp_call *call;

    (void)state;
    dialogue_open(&d, false, ask_to_go_first, accept_it);
    assert_int_equal(
        mcp_client_start_tool(d.client, "t", NULL, NULL, NULL, NULL, &call), 0);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_PEER);
    assert_int_equal(mcp_call_error(call)->rpc_code, -32042);
    ask_assert(mcp_call_error_data(call),
               "{'elicitations':[{'mode':'url','message':'Sign in','elicitationId':"
               "'e-1','url':'https://a.example/x?y=1'}]}");
    mcp_call_free(call);
    assert_string_equal(d.asked, ""); /* its handler was not */
    assert_int_equal(mcp_server_elicitation_complete(d.raw.server, "e-1"), 0);
    RAW_UNTIL(dialogue_elicited(&d, "e-1"));
    dialogue_close(&d);
}

static void
what_must_be_done_first_is_asked_in_2026(void **state)
{
    (void)state;
    (void)assert_dialogue(true, ask_to_go_first, accept_it, GO(true),
                          "{'action':'accept'}");
}

/* ---- samples ------------------------------------------------------------ */

#define MESSAGES                                                                      \
    "[{'role':'user','content':{'type':'text','text':'What is this?'}},{'role':"      \
    "'user','content':[{'type':'image','data':'aGVsbG8=','mimeType':'image/png'},{"   \
    "'type':'audio','data':'d29ybGQ=','mimeType':'audio/wav'}]},{'role':'assistant'," \
    "'content':[{'type':'text','text':'Let me look.'},{'type':'tool_use','id':'u1',"  \
    "'name':'look','input':{'at':1}}]},{'role':'user','content':{'type':"             \
    "'tool_result','toolUseId':'u1','content':[{'type':'text','text':'A cat.'}]}}]"
#define MORE                                                                   \
    "'modelPreferences':{'hints':[{'name':'small'},{'name':'any'}],"           \
    "'costPriority':0.25,'speedPriority':0.5,'intelligencePriority':1.0},"     \
    "'includeContext':'allServers','temperature':0.5,'stopSequences':['END']," \
    "'metadata':{'trace':'x'},'toolChoice':{'mode':'auto'}"
#define TOOLS "[{'name':'look','description':'Look','inputSchema':{'type':'object'}}]"
#define SAMPLE              \
    "{'messages':" MESSAGES \
    ",'systemPrompt':'Be brief.','maxTokens':100,'tools':" TOOLS "," MORE "}"

static int
ask_sample(mcp_request *req)
{
    char messages[2048], tools[512], more[1024];

    return mcp_request_sample(
        req, "q",
        &MCP_SAMPLE(.messages = ask_json(messages, sizeof(messages), MESSAGES),
                    .system_prompt = "Be brief.", .max_tokens = 100,
                    .tools = ask_json(tools, sizeof(tools), TOOLS),
                    .more = ask_json(more, sizeof(more), "{" MORE "}")));
}

static int
answer_text(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    (void)mcp_result_model(out, "m-1");
    (void)mcp_result_stop_reason(out, "endTurn");
    return mcp_result_text(out, "A cat.");
}

#define ANSWER(stop, content) \
    "{'role':'assistant','model':'m-1','stopReason':'" stop "','content':" content "}"

static void
a_sample_and_its_answer_arrive_as_they_are(void **state)
{
    (void)assert_dialogue(RAW_MODERN, ask_sample, answer_text, SAMPLE,
                          ANSWER("endTurn", "{'type':'text','text':'A cat.'}"));
}

static int
answer_tool_use(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    (void)mcp_result_model(out, "m-1");
    (void)mcp_result_stop_reason(out, "toolUse");
    (void)mcp_result_text(out, "Once more.");
    return mcp_result_tool_use(out, "u2", "look", "{\"at\":2}");
}

static void
a_model_may_want_a_tool(void **state)
{
    (void)assert_dialogue(RAW_MODERN, ask_sample, answer_tool_use, SAMPLE,
                          ANSWER("toolUse",
                                 "[{'type':'text','text':'Once more.'},{'type':"
                                 "'tool_use','id':'u2','name':'look','input':{'at':2}"
                                 "}]"));
}

static int
ask_plain(mcp_request *req)
{
    return mcp_request_sample(req, "q", &MCP_SAMPLE(.text = "Draw.", .max_tokens = 9));
}

#define PLAIN                                                                 \
    "{'messages':[{'role':'user','content':{'type':'text','text':'Draw.'}}]," \
    "'maxTokens':9}"

static int
answer_image(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    (void)mcp_result_model(out, "m-1");
    (void)mcp_result_stop_reason(out, "endTurn");
    return mcp_result_image(out, "hello", 5, "image/png");
}

static int
answer_audio(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    (void)mcp_result_model(out, "m-1");
    (void)mcp_result_stop_reason(out, "endTurn");
    return mcp_result_audio(out, "world", 5, "audio/wav");
}

static void
a_model_may_answer_with_images_and_sound(void **state)
{
    bool modern = RAW_MODERN;

    (void)assert_dialogue(modern, ask_plain, answer_image, PLAIN,
                          ANSWER("endTurn", "{'type':'image','data':'aGVsbG8=',"
                                            "'mimeType':'image/png'}"));
    (void)assert_dialogue(modern, ask_plain, answer_audio, PLAIN,
                          ANSWER("endTurn", "{'type':'audio','data':'d29ybGQ=',"
                                            "'mimeType':'audio/wav'}"));
}

/* ---- roots -------------------------------------------------------------- */

static int
ask_roots(mcp_request *req)
{
    return mcp_request_roots(req, "q");
}

static int
answer_roots(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    (void)mcp_result_root(out, "file:///place/me", "Home");
    return mcp_result_root(out, "file:///tmp", NULL);
}

static int
answer_no_roots(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)out;
    (void)user;
    return 0;
}

static void
roots_arrive_as_they_are_and_none_are_some(void **state)
{
    bool modern = RAW_MODERN;

    (void)assert_dialogue(modern, ask_roots, answer_roots, "null",
                          "{'roots':[{'uri':'file:///place/me','name':'Home'},{'uri':"
                          "'file:///tmp'}]}");
    (void)assert_dialogue(modern, ask_roots, answer_no_roots, "null", "{'roots':[]}");
}

/* ---- errors ------------------------------------------------------------- */

static int
refuse_it(mcp_request *req, mcp_result *out, void *user)
{
    (void)out;
    (void)user;
    return mcp_request_fail(req, -1, NULL, "User rejected sampling request");
}

/* Its handler is not asked again, and the call ends with that error. */
static void
assert_refusal(bool modern, int (*ask)(mcp_request *req))
{
    mcp_error err = {0};
    struct dialogue d;

    dialogue_open(&d, modern, ask, refuse_it);
    assert_int_equal(mcp_client_call_tool(d.client, "t", NULL, NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -1);
    assert_non_null(strstr(err.message, "User rejected sampling request"));
    assert_int_equal(d.runs, 1);
    dialogue_close(&d);
}

static void
an_error_of_who_is_asked_ends_the_call(void **state)
{
    bool modern = RAW_MODERN;

    assert_refusal(modern, ask_plain);
    assert_refusal(modern, ask_roots);
    assert_refusal(modern, ask_primitives);
}

TEST_MAIN(TEST_ERAS(a_form_and_its_content_arrive_as_they_are),
          TEST_ERAS(what_a_user_leaves_out_arrives_as_its_default),
          TEST_ERAS(choices_of_every_kind_arrive_as_they_are),
          TEST_ERAS(a_url_arrives_as_it_is_and_nothing_comes_back_with_it),
          TEST_ERAS(J10_who_does_not_fill_in_a_form_sends_no_content),
          TEST(what_must_be_done_first_is_in_the_error),
          TEST(what_must_be_done_first_is_asked_in_2026),
          TEST_ERAS(a_sample_and_its_answer_arrive_as_they_are),
          TEST_ERAS(a_model_may_want_a_tool),
          TEST_ERAS(a_model_may_answer_with_images_and_sound),
          TEST_ERAS(roots_arrive_as_they_are_and_none_are_some),
          TEST_ERAS(an_error_of_who_is_asked_ends_the_call))
