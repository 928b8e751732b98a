/* everything_cases.c - server-everything, with a client that can be asked */
#include <stdio.h>
#include <string.h>

#include <mcp/subscription.h>

#include "host.h"
#include "peer.h"

#define INVALID (-32602)
#define TEXT_2 "demo://resource/dynamic/text/2"

/* A call of a tool whose reply shows these. */
#define TOOL_SHOWS(client, name, arguments, ...)                                  \
    (reply = NULL,                                                                \
     r = mcp_client_call_tool((client), (name), (arguments), NULL, &reply, &err), \
     shows(r, &err, reply, __VA_ARGS__, NULL))

static bool
adds(mcp_client *client)
{
    return says(client, "get-sum", "{\"a\":2,\"b\":40}", "42");
}

static bool
output_is_structured(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply;
    int r;

    return TOOL_SHOWS(client, "get-structured-content", "{\"location\":\"New York\"}",
                      "structuredContent/temperature", "33",
                      "structuredContent/conditions", "Cloudy");
}

static bool
content_of_every_kind(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply;
    int r;

    return TOOL_SHOWS(client, "get-annotated-message",
                      "{\"messageType\":\"error\",\"includeImage\":true}",
                      "content/0/annotations/priority", "1",
                      "content/0/annotations/audience", "[\"user\",\"assistant\"]",
                      "content/1/type", "image") &&
           TOOL_SHOWS(client, "get-tiny-image", NULL, "content/1/mimeType",
                      "image/png") &&
           TOOL_SHOWS(client, "get-resource-links", "{\"count\":4}", "content/4/type",
                      "resource_link", "content/4/uri",
                      "demo://resource/dynamic/text/4") &&
           TOOL_SHOWS(client, "get-resource-reference",
                      "{\"resourceType\":\"Blob\",\"resourceId\":3}", "content/1/type",
                      "resource", "content/1/resource/uri",
                      "demo://resource/dynamic/blob/3", "content/1/resource/blob", "*");
}

/* ---- resources, prompts, completion --------------------------------------------- */

static bool
reads(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r = mcp_client_list_all(client, MCP_LIST_RESOURCES, NULL, &reply, &err);

    if (!shows(r, &err, reply, "resources/0/uri",
               "demo://resource/static/document/architecture.md", "resources/6", "*",
               NULL))
        return false;
    reply = NULL;
    r = mcp_client_list_all(client, MCP_LIST_TEMPLATES, NULL, &reply, &err);
    if (!shows(r, &err, reply, "resourceTemplates/1/uriTemplate", "*", NULL))
        return false;
    reply = NULL;
    r = mcp_client_read(client, "demo://resource/static/document/architecture.md", NULL,
                        &reply, &err);
    if (!shows(r, &err, reply, "contents/0/mimeType", "text/markdown",
               "contents/0/text", "*", NULL))
        return false;
    reply = NULL;
    r = mcp_client_read(client, TEXT_2, NULL, &reply, &err);
    if (!shows(r, &err, reply, "contents/0/uri", TEXT_2, "contents/0/text", "*", NULL))
        return false;
    reply = NULL;
    r = mcp_client_read(client, "demo://resource/dynamic/blob/2", NULL, &reply, &err);
    if (!shows(r, &err, reply, "contents/0/blob", "*", NULL))
        return false;
    reply = NULL;
    r = mcp_client_read(client, "demo://nothing", NULL, &reply, &err);
    return refused(r, &err, reply, INVALID);
}

static bool
prompt_shows(mcp_client *client, const char *name, const char *arguments,
             const char *path, const char *wanted)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r = mcp_client_get_prompt(client, name, arguments, NULL, &reply, &err);

    return shows(r, &err, reply, path, wanted, NULL);
}

static bool
gets_prompts(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r = mcp_client_list_all(client, MCP_LIST_PROMPTS, NULL, &reply, &err);

    if (!shows(r, &err, reply, "prompts/3/name", "*", NULL) ||
        !prompt_shows(client, "simple-prompt", NULL, "messages/0/content/text",
                      "This is a simple prompt without arguments.") ||
        !prompt_shows(client, "args-prompt", "{\"city\":\"Rome\",\"state\":\"Italy\"}",
                      "messages/0/content/text", "What's weather in Rome, Italy?") ||
        !prompt_shows(client, "resource-prompt",
                      "{\"resourceType\":\"Text\",\"resourceId\":\"2\"}",
                      "messages/1/content/resource/uri", TEXT_2))
        return false;
    reply = NULL;
    r = mcp_client_get_prompt(client, "args-prompt", "{}", NULL, &reply, &err);
    return refused(r, &err, reply, INVALID);
}

static bool
completes_as(mcp_client *client, mcp_complete what, const char *values)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r = mcp_client_complete(client, &what, NULL, &reply, &err);

    return shows(r, &err, reply, "completion/values", values, NULL);
}

static bool
completes(mcp_client *client)
{
    return completes_as(client,
                        MCP_COMPLETE(.prompt = "completable-prompt",
                                     .argument = "department", .value = "S"),
                        "[\"Sales\",\"Support\"]") &&
           completes_as(client,
                        MCP_COMPLETE(.prompt = "completable-prompt", .argument = "name",
                                     .value = "",
                                     .context = "{\"department\":\"Sales\"}"),
                        "[\"David\",\"Eve\",\"Frank\"]") &&
           completes_as(
               client,
               MCP_COMPLETE(.uri_template = "demo://resource/dynamic/text/{resourceId}",
                            .argument = "resourceId", .value = "7"),
               "[\"7\"]");
}

/* ---- what it says by itself ----------------------------------------------------- */

/* It tells at once, and then every five seconds. */
static bool
hears_updates(mcp_client *client)
{
    const char *const uris[] = {TEXT_2, NULL};
    mcp_subscription *s = NULL;
    mcp_notice event = {0};
    mcp_error err = {0};
    bool ok;
    int r = mcp_client_subscribe(client, &MCP_SUBSCRIBE(.uris = uris), &s, &err);

    ok = status_is(r, 0, &err) &&
         says(client, "toggle-subscriber-updates", NULL, "Started") &&
         status_is(mcp_subscription_next(s, PATIENCE_MS, &event), 0, NULL) &&
         event.change == MCP_RESOURCE_UPDATED && strcmp(event.uri, TEXT_2) == 0 &&
         says(client, "toggle-subscriber-updates", NULL, "Stopped");
    mcp_subscription_free(s);
    return ok && still_answers(client);
}

/* A resource that is made on the way: the list changes, and it can be read. */
static bool
hears_changes(mcp_client *client)
{
    mcp_subscription *s = NULL;
    mcp_notice event = {0};
    mcp_reply *reply;
    mcp_error err = {0};
    bool ok;
    int r = mcp_client_subscribe(client, &MCP_SUBSCRIBE(.lists = MCP_RESOURCES_CHANGED),
                                 &s, &err);

    ok = status_is(r, 0, &err) &&
         TOOL_SHOWS(client, "gzip-file-as-resource",
                    "{\"name\":\"peer.gz\",\"data\":\"data:text/plain;base64,"
                    "aGVsbG8=\",\"outputType\":\"resourceLink\"}",
                    "content/0/type", "resource_link", "content/0/uri",
                    "demo://resource/session/peer.gz") &&
         status_is(mcp_subscription_next(s, PATIENCE_MS, &event), 0, NULL) &&
         event.change == MCP_RESOURCES_CHANGED;
    mcp_subscription_free(s);
    if (!ok)
        return false;
    reply = NULL;
    r = mcp_client_read(client, "demo://resource/session/peer.gz", NULL, &reply, &err);
    return shows(r, &err, reply, "contents/0/blob", "*", NULL);
}

static bool
hears_messages(mcp_client *client)
{
    int before;
    mcp_error err = {0};
    int r = mcp_client_set_messages(client, MCP_SEVERITY_DEBUG, NULL, &err);

    before = messages_heard();
    if (!status_is(r, 0, &err) ||
        !says(client, "toggle-simulated-logging", NULL, "Started"))
        return false;
    for (int i = 0; i < PATIENCE_MS / 10 && messages_heard() == before; i++)
        nap();
    return (messages_heard() > before || because("none")) &&
           says(client, "toggle-simulated-logging", NULL, "Stopped");
}

/* ---- asking --------------------------------------------------------------------- */

/* Its form has every kind of field, and a default for nearly all. */
static bool
form_is_answered(mcp_client *client)
{
    bool ok;

    ok = says(client, "trigger-elicitation-request", NULL, "User provided");
    atomic_store(&host.user, USER_DECLINES);
    ok = ok && says(client, "trigger-elicitation-request", NULL, "declined");
    atomic_store(&host.user, USER_DISMISSES);
    ok = ok && says(client, "trigger-elicitation-request", NULL, "cancelled");
    atomic_store(&host.user, USER_ACCEPTS);
    return ok;
}

static bool
page_is_answered(mcp_client *client)
{
    const char *arguments = "{\"url\":\"https://example.com/x\",\"errorPath\":true}";
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r;

    if (!says(client, "trigger-url-elicitation", "{\"url\":\"https://example.com/\"}",
              "completed"))
        return false;
    r = mcp_client_call_tool(client, "trigger-url-elicitation", arguments, NULL, &reply,
                             &err);
    return refused(r, &err, reply, -32042) &&
           says(client, "trigger-url-elicitation", arguments, "completed");
}

static bool
model_is_asked(mcp_client *client)
{
    return says(client, "trigger-sampling-request", "{\"prompt\":\"Hi\"}", "parrot");
}

/* It asks for them by itself soon after the start, and again when told. */
static bool
roots_are_asked(mcp_client *client)
{
    static const mcp_root other[] = {{"file:///srv", "srv"}, {0}};

    if (!says(client, "get-roots-list", NULL, "file:///home") ||
        !status_is(mcp_client_set_roots(client, other), 0, NULL))
        return false;
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        if (says(client, "get-roots-list", NULL, "file:///srv")) {
            (void)because_nothing();
            return true;
        }
        nap();
    }
    return false;
}

/* In the legacy era only a server knows what its question was for, and this one takes
 * nothing back: the user thinks on, and must not keep the client from its end. */
static bool
cancel_while_asked(mcp_client *client)
{
    int asked = atomic_load(&host.asked);
    mcp_error err = {0};
    mcp_call *call = NULL;
    bool ok;

    atomic_store(&host.user, USER_THINKS);
    ok = status_is(mcp_client_start_tool(client, "trigger-elicitation-request", NULL,
                                         NULL, NULL, NULL, &call),
                   0, NULL) &&
         becomes(&host.asked, asked + 1) &&
         status_is(mcp_call_cancel(call, NULL), 0, NULL) &&
         status_is(mcp_call_wait(call, PATIENCE_MS, NULL, &err), MCP_E_CANCELED, &err);
    mcp_call_free(call);
    atomic_store(&host.user, USER_ACCEPTS);
    return ok && still_answers(client);
}

const struct peer_case everything_cases[] = {
    {"adds", adds, 0},
    {"output_is_structured", output_is_structured, 0},
    {"content_of_every_kind", content_of_every_kind, 0},
    {"reads", reads, 0},
    {"gets_prompts", gets_prompts, 0},
    {"completes", completes, 0},
    {"hears_messages", hears_messages, 0},
    {"hears_updates", hears_updates, 0},
    {"hears_changes", hears_changes, 0},
    {"form_is_answered", form_is_answered, 0},
    {"page_is_answered", page_is_answered, 0},
    {"model_is_asked", model_is_asked, 0},
    {"roots_are_asked", roots_are_asked, 0},
    {"cancel_while_asked", cancel_while_asked, 0},
    {0},
};
