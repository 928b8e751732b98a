/* examples_client.h - what a server says, fed to a client that has asked for it */
#ifndef TESTS_API_EXAMPLES_CLIENT_H
#define TESTS_API_EXAMPLES_CLIENT_H

#include <mcp/subscription.h>

#include "api/client_fixture.h"
#include "api/examples.h"

#define TAG "\"_meta\":{\"io.modelcontextprotocol/subscriptionId\":\"listen-1\"}"

/* What its handlers and callbacks were given, as texts of JSON. */
struct ears {
    struct fixture f;
    char *asked[4];
    atomic_size_t count;
    char *told; /* set before f.told counts a note */
};

static void
ears_keep(struct ears *e, const mcp_json *params)
{
    size_t i = atomic_load(&e->count);

    assert_true(i < 4);
    e->asked[i] = params ? text_of(params) : NULL;
    atomic_store(&e->count, i + 1);
}

/* On the loop, so one at a time. What a form leaves open gets its default. */
static int
on_elicit(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *asked = mcp_request_params(req);
    const mcp_json *form = mcp_json_get(asked, "requestedSchema");
    const char *content = "{}";

    (void)user;
    ears_keep(mcp_request_server_user(req), asked);
    if (!form)
        return mcp_result_accept(out);
    if (mcp_json_get(form, "required"))
        content = "{\"name\":\"octocat\",\"email\":\"octocat@github.com\"}";
    return mcp_result_json(out, content, strlen(content));
}

static int
on_sample(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    ears_keep(mcp_request_server_user(req), mcp_request_params(req));
    (void)mcp_result_model(out, "parrot");
    return mcp_result_text(out, "Paris");
}

static int
on_roots(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    ears_keep(mcp_request_server_user(req), mcp_request_params(req));
    return mcp_result_root(out, "file:///home", NULL);
}

static void
on_message(mcp_client *client, enum mcp_severity severity, const char *logger,
           const mcp_json *data, void *user)
{
    struct ears *e = user;
    char *text = text_of(data);

    assert_int_equal(severity, MCP_SEVERITY_ERROR);
    e->told = fill("{\"level\":\"error\",\"logger\":\"%s\",\"data\":%s}", logger, text);
    mcp_text_free(text, NULL);
    told_note(client, "message", NULL, &e->f.told);
}

static void
client_open(struct ears *e)
{
    e->f.client = script_client(
        &e->f.s, &SCRIPT_OPTIONS(.allocator = &e->f.mem.allocator,
                                 .era = MCP_ERA_MODERN, .elicit.reply = on_elicit,
                                 .sample.reply = on_sample, .roots.reply = on_roots,
                                 .able = MCP_ABLE_URL | MCP_ABLE_SAMPLE_TOOLS,
                                 .messages = MCP_SEVERITY_DEBUG,
                                 .on_message = on_message, .user = e));
}

static void
ears_open(struct ears *e)
{
    memset(e, 0, sizeof *e);
    fixture_prepare(&e->f, MCP_ERA_MODERN);
    client_open(e);
}

static void
ears_close(struct ears *e)
{
    fixture_close(&e->f);
    for (size_t i = 0; i < 4; i++)
        mcp_text_free(e->asked[i], NULL);
    free(e->told);
}

/* ---- results ------------------------------------------------------------- */

/* Call that method, as a program does. */
static int
call_method(struct ears *e, const char *method, const mcp_call_options *opt,
            mcp_reply **reply, mcp_error *err)
{
    mcp_client *client = e->f.client;

    if (strcmp(method, "tools/call") == 0)
        return mcp_client_call_tool(client, "get_weather", NULL, opt, reply, err);
    if (strcmp(method, "tools/list") == 0)
        return mcp_client_list_tools(client, NULL, opt, reply, err);
    if (strcmp(method, "resources/list") == 0)
        return mcp_client_list_resources(client, NULL, opt, reply, err);
    if (strcmp(method, "resources/templates/list") == 0)
        return mcp_client_list_templates(client, NULL, opt, reply, err);
    if (strcmp(method, "prompts/list") == 0)
        return mcp_client_list_prompts(client, NULL, opt, reply, err);
    if (strcmp(method, "resources/read") == 0)
        return mcp_client_read(client, "file:///project/src/main.rs", opt, reply, err);
    if (strcmp(method, "prompts/get") == 0)
        return mcp_client_get_prompt(client, "code_review", NULL, opt, reply, err);
    assert_string_equal(method, "completion/complete");
    return mcp_client_complete(
        client,
        &MCP_COMPLETE(.prompt = "code_review", .argument = "language", .value = "py"),
        opt, reply, err);
}

static void
expect_reply(struct ears *e, const struct example *example, const char *method,
             const char *result)
{
    mcp_doc *should = parse_text(result);
    char *answer = fill("\"result\":%s", result);
    mcp_reply *reply = NULL;
    mcp_error err = {0};

    script_plan(&e->f.s, method, answer);
    if (call_method(e, method, NULL, &reply, &err) < 0)
        fail_msg("%s: %s", example->name, err.message);
    expect_equal(example, mcp_reply_result(reply), mcp_doc_root(should));
    mcp_reply_free(reply);
    mcp_doc_free(should);
    free(answer);
}

/* A result; arg: of which method. */
static void
result(const struct example *example, const char *arg)
{
    struct ears e;

    ears_open(&e);
    expect_reply(&e, example, arg, example->text);
    ears_close(&e);
}

/* What a result carries; arg: the method, a blank, and the result around it. */
static void
part(const struct example *example, const char *arg)
{
    char *whole = embed(strchr(arg, ' ') + 1, example->text);
    char method[64];
    struct ears e;

    snprintf(method, sizeof method, "%.*s", (int)strcspn(arg, " "), arg);
    ears_open(&e);
    expect_reply(&e, example, method, whole);
    ears_close(&e);
    free(whole);
}

/* ---- whole answers, as they are ------------------------------------------ */

struct asked {
    struct ears *e;
    const char *method;
    mcp_call_options opt;
    mcp_reply *reply;
    mcp_error err;
    int status;
};

static void *
ask_main(void *user)
{
    struct asked *a = user;

    if (strcmp(a->method, "server/discover") == 0)
        a->status = mcp_client_ping(a->e->f.client, &a->opt, &a->err);
    else
        a->status = call_method(a->e, a->method, &a->opt, &a->reply, &a->err);
    return NULL;
}

/* Call under the id that the answer has, and let the server say it when the request is
 * there. */
static void
feed_answer(struct asked *a, const struct example *example)
{
    const mcp_json *id = mcp_json_get(example->root, "id");
    bool opened_with = strcmp(a->method, "server/discover") == 0;
    pthread_t thread;

    a->opt = MCP_CALL_OPTIONS(.timeout_ms = AWAIT_MS);
    if (mcp_json_get_type(id) == MCP_JSON_STRING)
        a->opt.id = (mcp_id)MCP_TEXT_ID(mcp_json_string(id, ""));
    else
        a->opt.id = (mcp_id)MCP_NUMBER_ID(mcp_json_int(id, 0));
    script_plan(&a->e->f.s, a->method, NULL);
    assert_int_equal(pthread_create(&thread, NULL, ask_main, a), 0);
    (void)script_line(&a->e->f.s, a->method, opened_with ? 2 : 1);
    script_say(&a->e->f.s, example->text);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

/* arg: the method. */
static void
answer_as_it_is(const struct example *example, const char *arg)
{
    struct asked a = {.method = arg};
    struct ears e;

    a.e = &e;
    ears_open(&e);
    feed_answer(&a, example);
    if (a.status < 0)
        fail_msg("%s: %s", example->name, a.err.message);
    if (a.reply)
        expect_equal(example, mcp_reply_result(a.reply),
                     mcp_json_get(example->root, "result"));
    mcp_reply_free(a.reply);
    ears_close(&e);
}

static void
error_as_it_is(const struct example *example, const char *arg)
{
    const mcp_json *error = mcp_json_get(example->root, "error");
    struct asked a = {.method = arg};
    struct ears e;

    a.e = &e;
    ears_open(&e);
    feed_answer(&a, example);
    assert_int_equal(a.status, MCP_E_PEER);
    assert_int_equal(a.err.rpc_code, mcp_json_int(mcp_json_get(error, "code"), 0));
    assert_string_equal(a.err.message,
                        mcp_json_string(mcp_json_get(error, "message"), ""));
    ears_close(&e);
}

/* The error alone; arg: the method that it is the answer to. */
static void
error(const struct example *example, const char *arg)
{
    char *answer = fill("\"error\":%s", example->text);
    mcp_error err = {0};
    struct ears e;

    ears_open(&e);
    script_plan(&e.f.s, arg, answer);
    assert_int_equal(call_method(&e, arg, NULL, NULL, &err), MCP_E_PEER);
    assert_int_equal(err.rpc_code,
                     mcp_json_int(mcp_json_get(example->root, "code"), 0));
    assert_string_equal(err.message,
                        mcp_json_string(mcp_json_get(example->root, "message"), ""));
    ears_close(&e);
    free(answer);
}

/* ---- what a server says of itself ---------------------------------------- */

/* arg: the result around it. */
static void
discovery(const struct example *example, const char *arg)
{
    char *whole = embed(arg, example->text);
    char *answer = fill("\"result\":%s", whole);
    mcp_doc *should = parse_text(whole);
    struct ears e;

    memset(&e, 0, sizeof e);
    fixture_prepare(&e.f, MCP_ERA_MODERN);
    script_plan(&e.f.s, "server/discover", answer);
    client_open(&e);
    expect_equal(example, mcp_client_server_capabilities(e.f.client),
                 mcp_json_get(mcp_doc_root(should), "capabilities"));
    assert_string_equal(mcp_client_version(e.f.client), "2026-07-28");
    ears_close(&e);
    mcp_doc_free(should);
    free(answer);
    free(whole);
}

/* ---- questions ----------------------------------------------------------- */

#define COMPLETE "\"result\":{\"resultType\":\"complete\",\"content\":[]}"

/* A call is answered with this, then asks again and is done. Returns the second
 * request. */
static const char *
play_round(struct ears *e, const struct example *example, const char *asks)
{
    char *answer = fill("\"result\":%s", asks);
    mcp_error err = {0};

    script_plan(&e->f.s, "tools/call", answer);
    script_plan(&e->f.s, "tools/call", COMPLETE);
    if (call_method(e, "tools/call", NULL, NULL, &err) < 0)
        fail_msg("%s: %s", example->name, err.message);
    free(answer);
    return script_line(&e->f.s, "tools/call", 2);
}

/* A handler got these params: NULL, if the request has none. */
static void
expect_heard(const struct example *example, const char *text, const mcp_json *params)
{
    mcp_doc *heard = text ? parse_text(text) : NULL;

    if (params)
        expect_equal(example, mcp_doc_root(heard), params);
    else
        assert_null(text);
    mcp_doc_free(heard);
}

/* A result that asks, or the requests in it; arg: the result around them. Every handler
 * got its params, and every answer and the state went back. */
static void
input_required(const struct example *example, const char *arg)
{
    char *whole = embed(arg, example->text);
    mcp_doc *result_doc = parse_text(whole), *retry;
    const mcp_json *asks = mcp_doc_root(result_doc), *again, *state;
    mcp_json_iterator it;
    struct ears e;
    size_t i = 0;

    ears_open(&e);
    retry = parse_text(play_round(&e, example, whole));
    again = mcp_json_get(mcp_doc_root(retry), "params");
    state = mcp_json_get(asks, "requestState");
    if (state)
        expect_equal(example, mcp_json_get(again, "requestState"), state);
    for (it = mcp_json_each(mcp_json_get(asks, "inputRequests")); mcp_json_next(&it);
         i++) {
        expect_heard(example, e.asked[i], mcp_json_get(it.value, "params"));
        assert_non_null(mcp_json_get(mcp_json_get(again, "inputResponses"),
                                     mcp_json_string(it.key, "")));
    }
    assert_int_equal(atomic_load(&e.count), i);
    mcp_doc_free(retry);
    mcp_doc_free(result_doc);
    ears_close(&e);
    free(whole);
}

/* roots/list has no params, and no id inside of a result. */
static void
roots_request(const struct example *example, const char *arg)
{
    const char *method = mcp_json_string(mcp_json_get(example->root, "method"), "");
    char *whole = embed(arg, method);
    struct ears e;

    ears_open(&e);
    assert_non_null(strstr(play_round(&e, example, whole), "\"file:///home\""));
    assert_int_equal(atomic_load(&e.count), 1);
    ears_close(&e);
    free(whole);
}

/* A member of a form: what the user leaves open is answered with its default. */
static void
form_member(const struct example *example, const char *arg)
{
    char *whole = embed(arg, example->text);
    const mcp_json *responses, *content;
    struct ears e;
    mcp_doc *retry;

    ears_open(&e);
    retry = parse_text(play_round(&e, example, whole));
    responses = mcp_json_get(mcp_json_get(mcp_doc_root(retry), "params"),
                             "inputResponses");
    content = mcp_json_get(mcp_json_get(responses, "q"), "content");
    expect_equal(example, mcp_json_get(content, "v"),
                 mcp_json_get(example->root, "default"));
    mcp_doc_free(retry);
    ears_close(&e);
    free(whole);
}

/* ---- notifications ------------------------------------------------------- */

struct steps {
    atomic_int count;
    double progress, total;
    char message[64];
};

static void
on_step(mcp_call *call, double progress, double total, const char *message, void *user)
{
    struct steps *s = user;

    (void)call;
    s->progress = progress;
    s->total = total;
    snprintf(s->message, sizeof s->message, "%s", message ? message : "");
    atomic_fetch_add(&s->count, 1);
}

/* A call under the id that is the example's token is told what the example says. */
static void
expect_progress(struct ears *e, const mcp_json *params, const char *line)
{
    const char *token = mcp_json_string(mcp_json_get(params, "progressToken"), "");
    struct steps steps = {.count = 0};
    const mcp_call_options opt = MCP_CALL_OPTIONS(.id = MCP_TEXT_ID(token),
                                                  .on_progress = on_step,
                                                  .user = &steps);
    char *asked = fill("\"progressToken\":\"%s\"", token);
    char *answer = fill("{\"jsonrpc\":\"2.0\",\"id\":\"%s\"," COMPLETE "}", token);
    mcp_call *call;

    assert_int_equal(
        mcp_client_start_tool(e->f.client, "hang", NULL, &opt, NULL, NULL, &call), 0);
    (void)script_line(&e->f.s, asked, 1);
    script_say(&e->f.s, line);
    script_say(&e->f.s, answer);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), 0);
    assert_int_equal(atomic_load(&steps.count), 1);
    assert_true(steps.progress ==
                mcp_json_number(mcp_json_get(params, "progress"), -1));
    assert_true(steps.total == mcp_json_number(mcp_json_get(params, "total"), -1));
    assert_string_equal(steps.message,
                        mcp_json_string(mcp_json_get(params, "message"), ""));
    mcp_call_free(call);
    free(answer);
    free(asked);
}

/* arg: the text around it that makes it a whole message. */
static void
progress(const struct example *example, const char *arg)
{
    const mcp_json *inside = mcp_json_get(example->root, "params");
    char *line = embed(arg, example->text);
    struct ears e;

    ears_open(&e);
    expect_progress(&e, inside ? inside : example->root, line);
    ears_close(&e);
    free(line);
}

static void
message(const struct example *example, const char *arg)
{
    const mcp_json *inside = mcp_json_get(example->root, "params");
    char *line = embed(arg, example->text);
    struct ears e;
    mcp_doc *told;

    ears_open(&e);
    script_say(&e.f.s, line);
    told_await(&e.f.told, notes, 1);
    told = parse_text(e.told);
    expect_equal(example, mcp_doc_root(told), inside ? inside : example->root);
    mcp_doc_free(told);
    ears_close(&e);
    free(line);
}

/* ---- subscriptions ------------------------------------------------------- */

#define ACK(filter)                                                                 \
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\"," \
    "\"params\":{" TAG ",\"notifications\":" filter "}}"
#define ALL                                                     \
    "{\"toolsListChanged\":true,\"promptsListChanged\":true,"   \
    "\"resourcesListChanged\":true,\"resourceSubscriptions\":[" \
    "\"file:///project/src/main.rs\",\"file:///project/config.json\"]}"

/* Listen, under the id that the examples have; the server is silent so far. */
static mcp_subscription *
listen_1(struct ears *e)
{
    static const char *const uris[] = {"file:///project/src/main.rs",
                                       "file:///project/config.json", NULL};
    mcp_subscription *s = NULL;

    ears_open(e);
    script_plan(&e->f.s, "subscriptions/listen", NULL);
    assert_int_equal(mcp_client_subscribe(e->f.client,
                                          &MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED |
                                                                  MCP_PROMPTS_CHANGED |
                                                                  MCP_RESOURCES_CHANGED,
                                                         .uris = uris, .no_wait = true),
                                          &s, NULL),
                     0);
    (void)script_line(&e->f.s, "\"id\":\"listen-1\"", 1);
    return s;
}

static void
expect_event(const char *line, enum mcp_change change)
{
    struct ears e;
    mcp_subscription *s = listen_1(&e);
    mcp_notice notice = {0};

    script_say(&e.f.s, ACK(ALL));
    script_say(&e.f.s, line);
    assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &notice), 0);
    assert_int_equal(notice.change, change);
    if (change == MCP_RESOURCE_UPDATED)
        assert_string_equal(notice.uri, "file:///project/src/main.rs");
    mcp_subscription_free(s);
    ears_close(&e);
}

/* arg: the name of the list. */
static void
list_changed(const struct example *example, const char *arg)
{
    enum mcp_change change = MCP_TOOLS_CHANGED;

    if (strcmp(arg, "prompts") == 0)
        change = MCP_PROMPTS_CHANGED;
    else if (strcmp(arg, "resources") == 0)
        change = MCP_RESOURCES_CHANGED;
    expect_event(example->text, change);
}

static void
updated(const struct example *example, const char *arg)
{
    (void)arg;
    expect_event(example->text, MCP_RESOURCE_UPDATED);
}

/* They lack what every event of a subscription has. */
static void
updated_params(const struct example *example, const char *arg)
{
    char *line = fill(
        "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/resources/updated\","
        "\"params\":{" TAG ",%s}",
        example->text + 1);

    (void)arg;
    expect_event(line, MCP_RESOURCE_UPDATED);
    free(line);
}

static void
acknowledged(const struct example *example, const char *arg)
{
    struct ears e;
    mcp_subscription *s = listen_1(&e);
    mcp_notice notice = {0};

    script_say(&e.f.s, example->text);
    script_say(&e.f.s, arg); /* an event, so that we know when it was read */
    assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &notice), 0);
    assert_int_equal(mcp_subscription_lists(s), MCP_TOOLS_CHANGED);
    assert_true(mcp_subscription_watches(s, "file:///project/config.json"));
    assert_false(mcp_subscription_watches(s, "file:///project/src/main.rs"));
    mcp_subscription_free(s);
    ears_close(&e);
}

/* arg: the text around it that makes it a whole message. */
static void
listen_ends(const struct example *example, const char *arg)
{
    char *line = embed(arg, example->text);
    struct ears e;
    mcp_subscription *s = listen_1(&e);
    mcp_notice notice;

    script_say(&e.f.s, ACK(ALL));
    script_say(&e.f.s, line);
    assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &notice), MCP_E_CLOSED);
    assert_int_equal(mcp_subscription_how(s), MCP_SUBSCRIPTION_GRACEFUL);
    mcp_subscription_free(s);
    ears_close(&e);
    free(line);
}

#endif
