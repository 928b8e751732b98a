/*
 * http_modes_test.c - one server, each way to speak HTTP with it: streams, plain JSON,
 * without sessions, the transport of 2024-11-05, several clients at once
 */
#include "api/http_reached.h"

/* ---- each way ---------------------------------------------------------------- */

struct way {
    enum mcp_era era;
    mcp_http_options http; /* but for its size */
    const char *path;      /* of the client's URL; NULL: the server's own */
    const char *version;
    bool has_session;
};

static int
tool_gives_up(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    (void)user;
    return mcp_result_fail(out, "no %s", "luck");
}

static mcp_client *
client_at(struct reached *f, const char *path, mcp_client_options opt)
{
    char url[MCP_HTTP_URL_MAX];

    memcpy(url, f->url, sizeof(url));
    if (path)
        snprintf(f->url, sizeof(f->url), "http://127.0.0.1:%d%s", f->port, path);
    f->client = reached_client(f, opt);
    memcpy(f->url, url, sizeof(url));
    return f->client;
}

static void
calls_are_answered(struct reached *f, mcp_client *client)
{
    mcp_reply *reply = NULL;
    mcp_error err;

    (void)f;
    reached_says(client);
    assert_int_equal(mcp_client_call_tool(client, "gives_up", NULL, NULL, &reply, &err),
                     0);
    assert_true(mcp_reply_is_error(reply));
    assert_string_equal(mcp_reply_text(reply), "no luck");
    mcp_reply_free(reply);
    assert_int_equal(mcp_client_call_tool(client, "fail", NULL, NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32077);
    assert_int_equal(mcp_client_call_tool(client, "nobody", NULL, NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32602);
    reached_says(client);
}

/* Before the end; where there are no streams, of nothing. */
static void
progress_is_heard(struct reached *f, bool is_plain)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.on_progress = told_progress,
                                            .user = &f->told);

    assert_int_equal(mcp_client_call_tool(f->client, "steps", NULL, &opt, NULL, NULL),
                     0);
    assert_int_equal(told_count(&f->told, steps), is_plain ? 0 : 20);
    assert_false(f->told.out_of_order);
}

static void
a_client_calls_and_hears_of_errors(void **state)
{
    const struct way *way = *state;
    mcp_http_options http = way->http;
    struct reached f;

    http.size = sizeof(http);
    reached_serve(&f, MCP_SERVER_OPTIONS(.era = way->era), http);
    raw_tool(&f.raw, MCP_TOOL(.name = "gives_up", .run = tool_gives_up));
    (void)client_at(&f, way->path, REACHED_OPTIONS());
    assert_string_equal(mcp_client_version(f.client), way->version);
    calls_are_answered(&f, f.client);
    progress_is_heard(&f, way->http.json);
    assert_int_equal(raw_counts(&f.raw).sessions, way->has_session);
    reached_close(&f);
}

#define HTTP(...) MCP_HTTP_OPTIONS(.port = 0, __VA_ARGS__)

static struct way ways[] = {
    {MCP_ERA_MODERN, {0}, NULL, "2026-07-28", false},
    {MCP_ERA_MODERN, {.json = true}, NULL, "2026-07-28", false},
    {MCP_ERA_LEGACY, {0}, NULL, "2025-11-25", true},
    {MCP_ERA_LEGACY, {.json = true}, NULL, "2025-11-25", true},
    {MCP_ERA_LEGACY, {.stateless = true}, NULL, "2025-11-25", false},
    {MCP_ERA_LEGACY, {.stateless = true, .json = true}, NULL, "2025-11-25", false},
    {MCP_ERA_LEGACY, {.sse_path = "/sse"}, "/sse", "2025-11-25", true},
};

/* ---- several at once ---------------------------------------------------------- */

static void
one_server_serves_new_and_old_transports_at_once(void **state)
{
    mcp_client *new_one, *old_one;
    struct reached f;

    (void)state;
    reached_serve(&f, MCP_SERVER_OPTIONS(.page = 0), HTTP(.sse_path = "/sse"));
    raw_tool(&f.raw, MCP_TOOL(.name = "gives_up", .run = tool_gives_up));
    new_one = client_at(&f, NULL, REACHED_OPTIONS());
    old_one = client_at(&f, "/sse", REACHED_OPTIONS());
    f.client = NULL;
    assert_string_equal(mcp_client_version(new_one), "2026-07-28");
    assert_string_equal(mcp_client_version(old_one), "2025-11-25");
    for (int i = 0; i < 3; i++) {
        calls_are_answered(&f, new_one);
        calls_are_answered(&f, old_one);
    }
    mcp_client_free(old_one);
    calls_are_answered(&f, new_one);
    mcp_client_free(new_one);
    reached_close(&f);
}

/* The session that was named last; written on the server's loop, and read
 * when its answer is there. */
struct seen {
    pthread_mutex_t lock;
    char session[128];
};

static void
identify_and_see(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    const char *session = mcp_http_header(request, "Mcp-Session-Id");
    struct seen *seen = user;

    pthread_mutex_lock(&seen->lock);
    if (session)
        snprintf(seen->session, sizeof(seen->session), "%s", session);
    pthread_mutex_unlock(&seen->lock);
    mcp_http_allow(ticket, NULL);
}

static void
seen_session(struct seen *seen, char *into, size_t size)
{
    pthread_mutex_lock(&seen->lock);
    snprintf(into, size, "%s", seen->session);
    pthread_mutex_unlock(&seen->lock);
}

static void
who_has_left_comes_again_in_a_new_session(void **state)
{
    struct seen seen = {.lock = PTHREAD_MUTEX_INITIALIZER};
    char first[128], second[128];
    struct reached f;

    (void)state;
    reached_serve(&f, MCP_SERVER_OPTIONS(.era = MCP_ERA_LEGACY),
                  HTTP(.identify = identify_and_see, .identify_user = &seen));
    f.client = reached_client(&f, REACHED_OPTIONS());
    reached_says(f.client);
    seen_session(&seen, first, sizeof(first));
    assert_string_not_equal(first, "");
    mcp_client_free(f.client);
    RAW_UNTIL(raw_counts(&f.raw).sessions == 0);
    f.client = reached_client(&f, REACHED_OPTIONS());
    reached_says(f.client);
    seen_session(&seen, second, sizeof(second));
    assert_string_not_equal(second, "");
    assert_string_not_equal(second, first);
    assert_int_equal(raw_counts(&f.raw).sessions, 1);
    reached_close(&f);
}

/* What one client hears; all of it must have its own name. */
struct ear {
    const char *name;
    atomic_int messages, strange;
};

static void
on_message(mcp_client *client, enum mcp_severity severity, const char *logger,
           const mcp_json *data, void *user)
{
    struct ear *ear = user;

    (void)client;
    (void)severity;
    (void)logger;
    if (strcmp(mcp_json_string(data, ""), ear->name) == 0)
        atomic_fetch_add(&ear->messages, 1);
    else
        atomic_fetch_add(&ear->strange, 1);
}

static void
on_progress(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    struct ear *ear = user;

    (void)call;
    (void)progress;
    (void)total;
    if (strcmp(message ? message : "", ear->name) != 0)
        atomic_fetch_add(&ear->strange, 1);
}

/* Says the name that it is given, ten times, as a message and as progress. */
static int
tool_chatter(mcp_request *req, mcp_result *out, void *user)
{
    const char *name = mcp_json_string(mcp_json_get(mcp_request_arguments(req), "name"),
                                       "?");
    struct gate *gate = user;

    atomic_fetch_add(&gate->entered, 1);
    while (atomic_load(&gate->entered) < 2 && mcp_request_sleep(req, 1) == 0)
        continue; /* both at once */
    for (int i = 1; i <= 10; i++) {
        (void)mcp_request_log(req, MCP_SEVERITY_INFO, "me", "%s", name);
        (void)mcp_request_progress(req, i, 10, name);
    }
    return mcp_result_text(out, name);
}

static void
clients_hear_only_what_belongs_to_their_own_calls(void **state)
{
    struct ear ears[2] = {{.name = "here"}, {.name = "there"}};
    mcp_client *clients[2];
    mcp_call *calls[2];
    struct gate gate = {0};
    struct reached f;

    reached_serve(&f, MCP_SERVER_OPTIONS(.era = *(enum mcp_era *)*state), HTTP());
    raw_tool(&f.raw, MCP_TOOL(.name = "chatter", .run = tool_chatter, .user = &gate));
    for (int i = 0; i < 2; i++) {
        mcp_call_options opt = MCP_CALL_OPTIONS(.on_progress = on_progress,
                                                .user = &ears[i]);
        char arguments[32];

        snprintf(arguments, sizeof(arguments), "{\"name\":\"%s\"}", ears[i].name);
        clients[i] = reached_client(&f, REACHED_OPTIONS(.messages = MCP_SEVERITY_INFO,
                                                        .on_message = on_message,
                                                        .user = &ears[i]));
        assert_int_equal(mcp_client_start_tool(clients[i], "chatter", arguments, &opt,
                                               NULL, NULL, &calls[i]),
                         0);
    }
    if (*(enum mcp_era *)*state == MCP_ERA_LEGACY)
        assert_int_equal(raw_counts(&f.raw).sessions, 2);
    for (int i = 0; i < 2; i++) {
        mcp_reply *reply = NULL;

        assert_int_equal(mcp_call_wait(calls[i], AWAIT_MS, &reply, NULL), 0);
        assert_string_equal(mcp_reply_text(reply), ears[i].name);
        mcp_reply_free(reply);
        mcp_call_free(calls[i]);
        RAW_UNTIL(atomic_load(&ears[i].messages) == 10);
        mcp_client_free(clients[i]);
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(atomic_load(&ears[i].strange), 0);
    reached_close(&f);
}

#define BY(name, n)                                     \
    TEST_AS(name ".a_client_calls_and_hears_of_errors", \
            a_client_calls_and_hears_of_errors, &ways[n])

TEST_MAIN(BY("modern", 0), BY("modern_json", 1), BY("legacy", 2), BY("legacy_json", 3),
          BY("stateless", 4), BY("stateless_json", 5), BY("sse", 6),
          TEST(one_server_serves_new_and_old_transports_at_once),
          TEST(who_has_left_comes_again_in_a_new_session),
          IN_BOTH_ERAS(clients_hear_only_what_belongs_to_their_own_calls))
