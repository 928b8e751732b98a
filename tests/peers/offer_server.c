/*
 * offer_server.c - a server with long lists that change, and handlers that ask
 *
 *     offer-server [--http 127.0.0.1:PORT]
 *
 * For clients that somebody else wrote: what probe-server and the examples have not. On
 * stdio, or on a port; then its URL is the first line it prints. Its lists are several pages
 * long.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/ask.h>
#include <mcp/http.h>

#define HOUR_MS 3600000

static mcp_server *server;
static atomic_int roots_changed; /* as often as clients said so */

/* ---- plain ones ------------------------------------------------------------------ */

/* Says who it is: a tool, a resource or a prompt. */
static int
say_name(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    return mcp_result_text(out, mcp_request_name(req));
}

/* Takes long; a cancel ends it. */
static int
sleep_long(mcp_request *req, mcp_result *out, void *user)
{
    int r = mcp_request_sleep(req, HOUR_MS);

    (void)user;
    return r < 0 ? r : mcp_result_text(out, "slept");
}

static int
counts(mcp_request *req, mcp_result *out, void *user)
{
    mcp_server_counts now = {.size = sizeof(now)};
    mcp_builder *b = mcp_result_builder(out);
    int r = mcp_server_count(server, &now);

    (void)req, (void)user;
    if (r < 0)
        return r;
    mcp_builder_begin_object(b, NULL);
    mcp_builder_uint(b, "in_flight", now.in_flight);
    mcp_builder_uint(b, "live_handlers", now.live_handlers);
    mcp_builder_uint(b, "canceled", now.canceled_by_peer);
    mcp_builder_int(b, "roots_changed", atomic_load(&roots_changed));
    mcp_builder_end(b);
    return 0;
}

/* ---- messages -------------------------------------------------------------------- */

/* One message of each severity, about this request. */
static int
log_all(mcp_request *req, mcp_result *out, void *user)
{
    int r = 0;

    (void)user;
    for (int i = MCP_SEVERITY_DEBUG; r == 0 && i <= MCP_SEVERITY_EMERGENCY; i++)
        r = mcp_request_log(req, (enum mcp_severity)i, "all", "severity %d", i);
    return r < 0 ? r : mcp_result_text(out, "logged");
}

/* One for every session that wants it. */
static int
announce(mcp_request *req, mcp_result *out, void *user)
{
    const char data[] = "{\"state\":\"up\"}";
    int r = mcp_server_log(server, MCP_SEVERITY_WARNING, NULL, data, strlen(data));

    (void)req, (void)user;
    return r < 0 ? r : mcp_result_text(out, "announced");
}

/* ---- lists that change ---------------------------------------------------------- */

/* Adds or removes one of everything that is named `extra`. */
static int
change(mcp_request *req, mcp_result *out, void *user)
{
    mcp_error err = {0};
    int r;

    (void)user;
    if (mcp_json_bool(mcp_json_get(mcp_request_arguments(req), "add"), false)) {
        r = mcp_server_add_tool(server, &MCP_TOOL(.name = "extra", .reply = say_name),
                                &err);
        if (r == 0)
            r = mcp_server_add_prompt(
                server, &MCP_PROMPT(.name = "extra", .reply = say_name), &err);
        if (r == 0)
            r = mcp_server_add_resource(
                server,
                &MCP_RESOURCE(.uri = "extra:///", .name = "extra", .text = "more"),
                &err);
    } else {
        r = mcp_server_remove_tool(server, "extra");
        if (r == 0)
            r = mcp_server_remove_prompt(server, "extra");
        if (r == 0)
            r = mcp_server_remove_resource(server, "extra:///");
    }
    return r < 0 ? r : mcp_result_text(out, "changed");
}

/* ---- asking --------------------------------------------------------------------- */

struct name {
    const char *name;
};

static const mcp_field name_fields[] = {
    MCP_FIELD(struct name, name, MCP_STRING, MCP_REQUIRED, "a name"),
    {0},
};

static int
ask_name(mcp_request *req, const char *key, const char *message)
{
    return mcp_request_elicit(req, key,
                              &MCP_ELICIT(.message = message, .fields = name_fields));
}

/* For a tool, a resource and a prompt alike. */
static int
greet(mcp_request *req, mcp_result *out, void *user)
{
    struct name answer;
    int r;

    (void)user;
    if (!mcp_request_answer(req, "name"))
        return ask_name(req, "name", "Who are you?");
    if (mcp_request_action(req, "name") != MCP_ACCEPTED)
        return mcp_result_text(out, "hello, stranger");
    r = mcp_request_bind_answer(req, "name", name_fields, &answer);
    return r < 0 ? r : mcp_result_textf(out, "hello, %s", answer.name);
}

/* Two questions, the second one about the answer to the first, and a text of its own
 * that must come back. */
static int
rounds(mcp_request *req, mcp_result *out, void *user)
{
    struct name a = {0}, b = {0};
    char message[128];
    int r;

    (void)user;
    if (!mcp_request_answer(req, "first")) {
        r = mcp_request_set_state(req, "one \"\xc3\xa4\"");
        return r < 0 ? r : ask_name(req, "first", "The first name?");
    }
    r = mcp_request_bind_answer(req, "first", name_fields, &a);
    if (r == 0 && !mcp_request_answer(req, "second")) {
        if (strcmp(mcp_request_state(req), "one \"\xc3\xa4\"") != 0)
            return mcp_result_fail(out, "state: %s", mcp_request_state(req));
        r = mcp_request_set_state(req, "two");
        snprintf(message, sizeof(message), "The name after %s?", a.name);
        return r < 0 ? r : ask_name(req, "second", message);
    }
    if (r == 0)
        r = mcp_request_bind_answer(req, "second", name_fields, &b);
    return r < 0 ? r
                 : mcp_result_textf(out, "%s, %s, %s", a.name, b.name,
                                    mcp_request_state(req));
}

/* All that can be asked, at once. */
static int
ask_all(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *roots = mcp_request_answer(req, "roots");
    const mcp_json *said = mcp_request_answer(req, "said");
    int r;

    (void)user;
    if (!roots || !said || !mcp_request_answer(req, "name")) {
        r = ask_name(req, "name", "Who are you?");
        if (r == MCP_E_INPUT)
            r = mcp_request_roots(req, "roots");
        if (r == MCP_E_INPUT)
            r = mcp_request_sample(
                req, "said",
                &MCP_SAMPLE(.messages = "[{\"role\":\"user\",\"content\":{\"type\":"
                                        "\"text\",\"text\":\"Hi\"}}]",
                            .max_tokens = 10, .more = "{\"temperature\":0.5}"));
        return r;
    }
    roots = mcp_json_at(mcp_json_get(roots, "roots"), 0);
    return mcp_result_textf(
        out, "%d %s %s", (int)mcp_request_action(req, "name"),
        mcp_json_string(mcp_json_get(roots, "uri"), "?"),
        mcp_json_string(mcp_json_get(mcp_json_get(said, "content"), "text"), "?"));
}

/* The model is given a tool, and wants to use it. */
static int
sample_tools(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *said = mcp_request_answer(req, "said");
    const mcp_json *content = mcp_json_get(said, "content");

    (void)user;
    if (!said)
        return mcp_request_sample(
            req, "said",
            &MCP_SAMPLE(.text = "What is the weather?", .max_tokens = 10,
                        .tools = "[{\"name\":\"weather\",\"inputSchema\":"
                                 "{\"type\":\"object\"}}]"));
    if (mcp_json_get_type(content) == MCP_JSON_ARRAY)
        content = mcp_json_at(content, 0);
    return mcp_result_textf(out, "%s %s",
                            mcp_json_string(mcp_json_get(content, "type"), "?"),
                            mcp_json_string(mcp_json_get(content, "name"), "?"));
}

/* Nothing before the user has been there. */
static int
pay(mcp_request *req, mcp_result *out, void *user)
{
    bool *is_paid = user;

    if (!*is_paid && !mcp_request_answer(req, "page")) {
        /* a client of 2025-11-25 says nothing when it comes again */
        *is_paid = strcmp(mcp_request_version(req), "2026-07-28") < 0;
        return mcp_request_elicit_first(req, "page",
                                        &MCP_ELICIT(.message = "Please pay",
                                                    .url = "https://example.com/pay",
                                                    .id = "payment-1"));
    }
    *is_paid = false;
    return mcp_result_text(out, "paid");
}

/* Sends the user to a page, and says when what is done there is done. */
static int
visit(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    if (!mcp_request_answer(req, "page"))
        return mcp_request_elicit(req, "page",
                                  &MCP_ELICIT(.message = "Look",
                                              .url = "https://example.com/look",
                                              .id = "look-1"));
    (void)mcp_server_elicitation_complete(server, "look-1"); /* legacy: told */
    return mcp_result_textf(out, "%d", (int)mcp_request_action(req, "page"));
}

static int
able(mcp_request *req, mcp_result *out, void *user)
{
    unsigned all = 0;

    (void)user;
    for (unsigned what = MCP_ASK_FORM; what <= MCP_ASK_ROOTS; what <<= 1)
        if (mcp_request_can_ask(req, what))
            all |= what;
    return mcp_result_textf(out, "%u", all);
}

/* ---- completion ----------------------------------------------------------------- */

/* folder: 150 of them. file: depends on the folder, if that is known. */
static int
complete_path(mcp_request *req, mcp_result *out, void *user)
{
    const char *known = mcp_request_complete_known(req, "folder");
    char value[64];
    int r = 0;

    (void)user;
    if (strcmp(mcp_request_complete_name(req), "file") == 0) {
        snprintf(value, sizeof(value), "%s-%s.txt", known ? known : "any",
                 mcp_request_complete_value(req));
        return mcp_result_value(out, value);
    }
    for (int i = 0; r == 0 && i < 150; i++) {
        snprintf(value, sizeof(value), "%s%d", mcp_request_complete_value(req), i);
        r = mcp_result_value(out, value);
    }
    return r;
}

static int
read_path(mcp_request *req, mcp_result *out, void *user)
{
    const char *folder = mcp_request_argument(req, "folder");
    const char *file = mcp_request_argument(req, "file");

    (void)user;
    return mcp_result_textf(out, "%s in %s", file ? file : "?", folder ? folder : "?");
}

/* ---- the server ----------------------------------------------------------------- */

static int
add_many(mcp_error *err)
{
    char name[64], uri[64];
    int r = 0;

    for (int i = 0; r == 0 && i < 300; i++) {
        snprintf(name, sizeof(name), "item-%03d", i);
        r = mcp_server_add_tool(server, &MCP_TOOL(.name = name, .reply = say_name),
                                err);
    }
    for (int i = 0; r == 0 && i < 150; i++) {
        snprintf(name, sizeof(name), "item-%03d", i);
        snprintf(uri, sizeof(uri), "item:///%03d", i);
        r = mcp_server_add_resource(
            server, &MCP_RESOURCE(.uri = uri, .name = name, .text = name), err);
        if (r == 0)
            r = mcp_server_add_prompt(
                server, &MCP_PROMPT(.name = name, .reply = say_name), err);
        snprintf(uri, sizeof(uri), "item-%03d://{x}", i);
        if (r == 0)
            r = mcp_server_add_template(
                server,
                &MCP_TEMPLATE(.uri_template = uri, .name = name, .reply = say_name),
                err);
    }
    return r;
}

static int
add_tools(mcp_error *err)
{
    static bool is_paid;
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "slow", .run = sleep_long),
        MCP_TOOL(.name = "counts", .reply = counts),
        MCP_TOOL(.name = "log", .run = log_all),
        MCP_TOOL(.name = "announce", .reply = announce),
        MCP_TOOL(.name = "change", .reply = change),
        MCP_TOOL(.name = "greet", .run = greet),
        MCP_TOOL(.name = "rounds", .run = rounds),
        MCP_TOOL(.name = "ask_all", .reply = ask_all),
        MCP_TOOL(.name = "sample_tools", .reply = sample_tools),
        MCP_TOOL(.name = "pay", .reply = pay, .user = &is_paid),
        MCP_TOOL(.name = "visit", .reply = visit),
        MCP_TOOL(.name = "able", .reply = able),
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(tools) / sizeof(tools[0]); i++)
        r = mcp_server_add_tool(server, &tools[i], err);
    return r;
}

static int
add_others(mcp_error *err)
{
    static const mcp_prompt_argument path_arguments[] = {
        {.name = "folder", .required = true}, {.name = "file"}, {0}};
    const mcp_resource resources[] = {
        MCP_RESOURCE(.uri = "asks://user", .name = "asks", .run = greet),
        MCP_RESOURCE(.uri = "slow://resource", .name = "slow", .run = sleep_long)};
    const mcp_prompt prompts[] = {
        MCP_PROMPT(.name = "asks", .run = greet),
        MCP_PROMPT(.name = "slow", .run = sleep_long),
        MCP_PROMPT(.name = "path", .arguments = path_arguments, .run = read_path,
                   .complete = {.run = complete_path})};
    const mcp_template path = MCP_TEMPLATE(.uri_template = "dir://{folder}/{file}",
                                           .name = "path", .run = read_path,
                                           .complete = {.run = complete_path},
                                           .ttl_ms = 60000);
    int r = mcp_server_add_template(server, &path, err);

    for (int i = 0; r == 0 && i < 2; i++)
        r = mcp_server_add_resource(server, &resources[i], err);
    for (int i = 0; r == 0 && i < 3; i++)
        r = mcp_server_add_prompt(server, &prompts[i], err);
    return r;
}

static void
hear(mcp_server *from, const char *method, const mcp_json *params, void *user)
{
    (void)from, (void)params, (void)user;
    if (strcmp(method, "notifications/roots/list_changed") == 0)
        atomic_fetch_add(&roots_changed, 1);
}

static int
serve_http(const char *where, mcp_error *err)
{
    const char *colon = strrchr(where, ':');
    char url[MCP_HTTP_URL_MAX];
    int r;

    r = mcp_server_listen_http(
        server,
        &MCP_HTTP_OPTIONS(.port = colon ? (int)strtol(colon + 1, NULL, 10) : 0,
                          .sse_path = "/sse"),
        url, err);
    if (r < 0)
        return r;
    printf("%s\n", url);
    fflush(stdout);
    return mcp_server_run(server, &MCP_RUN_OPTIONS(.signals = true), err);
}

int
main(int argc, char **argv)
{
    bool http = argc > 2 && strcmp(argv[1], "--http") == 0;
    mcp_error err = {0};
    int r;

    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "offer-server", .version = "1.0",
                                           .page = 16, .on_notification = hear),
                       &server, &err);
    if (r == 0)
        r = add_many(&err);
    if (r == 0)
        r = add_tools(&err);
    if (r == 0)
        r = add_others(&err);
    if (r == 0)
        r = http ? serve_http(argv[2], &err) : mcp_server_run_stdio(server, &err);
    if (r < 0)
        fprintf(stderr, "offer-server: %s\n", err.message);
    mcp_server_free(server);
    return r < 0;
}
