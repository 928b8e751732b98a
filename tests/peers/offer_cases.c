/* offer_cases.c - what the server scripts offer: typed calls, lists, changes */
#include <stdio.h>
#include <string.h>

#include <mcp/subscription.h>

#include "host.h"
#include "peer.h"

#define INVALID (-32602)

static const char *const watched[] = {"note://changing", NULL};

/* ---- resources ------------------------------------------------------------------ */

static bool
reads_text(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r = mcp_client_read(client, "note://text", NULL, &reply, &err);

    return shows(r, &err, reply, "contents/0/text", "h\xc3\xa4llo", "contents/0/uri",
                 "note://text", "contents/0/mimeType", "text/plain", NULL);
}

static bool
reads_bytes(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r = mcp_client_read(client, "note://bytes", NULL, &reply, &err);
    const mcp_json *blob = mcp_json_get(mcp_json_at(mcp_reply_items(reply), 0), "blob");
    bool ok = mcp_json_string_length(blob) == 344 &&
              memcmp(mcp_json_string(blob, ""), "AAECAwQF", 8) == 0;

    return shows(r, &err, reply, NULL) && (ok || because("other bytes"));
}

static bool
reads_by_template(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r = mcp_client_read(client, "note://here/a%20b", NULL, &reply, &err);

    return shows(r, &err, reply, "contents/0/text", "a b in here", "contents/0/uri",
                 "note://here/a%20b", NULL);
}

static bool
refuses_unknown_resource(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r = mcp_client_read(client, "no://x", NULL, &reply, &err);

    if (!refused(r, &err, reply, INVALID))
        return false;
    reply = NULL;
    r = mcp_client_read(client, "note://nowhere/x", NULL, &reply, &err);
    return refused(r, &err, reply, INVALID) && strstr(err.message, "nowhere");
}

/* ---- prompts and completion ----------------------------------------------------- */

static bool
gets_prompt(mcp_client *client)
{
    const char *arguments = "{\"name\":\"ada\",\"tone\":\"kindly\"}";
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r = mcp_client_get_prompt(client, "plain", NULL, NULL, &reply, &err);

    if (!shows(r, &err, reply, "messages/0/content/text", "just so", NULL))
        return false;
    reply = NULL;
    r = mcp_client_get_prompt(client, "greet", arguments, NULL, &reply, &err);
    return shows(r, &err, reply, "description", "For ada", "messages/0/role", "user",
                 "messages/0/content/text", "Say hello to ada, kindly",
                 "messages/1/role", "assistant", "messages/1/content/mimeType",
                 "image/png", "messages/2/content/resource/text", "h\xc3\xa4llo", NULL);
}

static bool
refuses_wrong_prompt(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r = mcp_client_get_prompt(client, "greet", "{}", NULL, &reply, &err);

    if (!refused(r, &err, reply, INVALID))
        return false;
    reply = NULL;
    r = mcp_client_get_prompt(client, "nothing", NULL, NULL, &reply, &err);
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
    const char *file = "note://{folder}/{file}";

    return completes_as(
               client,
               MCP_COMPLETE(.prompt = "greet", .argument = "name", .value = "a"),
               "[\"ada\",\"alan\"]") &&
           completes_as(client,
                        MCP_COMPLETE(.prompt = "greet", .argument = "tone",
                                     .value = "kind", .context = "{\"name\":\"ada\"}"),
                        "[\"kindly to ada\"]") &&
           completes_as(
               client,
               MCP_COMPLETE(.uri_template = file, .argument = "folder", .value = "ho"),
               "[\"home\",\"house\"]") &&
           completes_as(client,
                        MCP_COMPLETE(.uri_template = file, .argument = "file",
                                     .value = "x", .context = "{\"folder\":\"work\"}"),
                        "[\"work-x.txt\"]");
}

/* ---- lists ---------------------------------------------------------------------- */

static bool
lists_pages(mcp_client *client)
{
    char cursor[64];
    mcp_error err = {0};
    mcp_reply *page = NULL;
    int r = mcp_client_list_resources(client, NULL, NULL, &page, &err);

    if (!status_is(r, 0, &err))
        return false;
    snprintf(cursor, sizeof(cursor), "%s",
             mcp_reply_cursor(page) ? mcp_reply_cursor(page) : "");
    if (!shows(r, &err, page, "resources/9/name", "page-6", "nextCursor", "*", NULL))
        return false;
    page = NULL;
    r = mcp_client_list_resources(client, cursor, NULL, &page, &err);
    return shows(r, &err, page, "resources/0/name", "page-7", NULL);
}

static bool
count_is(mcp_client *client, enum mcp_list list, size_t wanted, const char *name)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    size_t count;
    bool found;
    int r = mcp_client_list_all(client, list, NULL, &reply, &err);

    if (!status_is(r, 0, &err))
        return false;
    count = mcp_json_count(mcp_reply_items(reply));
    found = mcp_json_find(mcp_reply_items(reply), "name", name) != NULL;
    mcp_reply_free(reply);
    if (!found)
        return because("%s is not in list %d", name, (int)list);
    return count == wanted || because("%zu in list %d", count, (int)list);
}

static bool
lists_all(mcp_client *client)
{
    return count_is(client, MCP_LIST_RESOURCES, 103, "page-99") &&
           count_is(client, MCP_LIST_TEMPLATES, 1, "file") &&
           count_is(client, MCP_LIST_PROMPTS, 3, "greet");
}

static bool
refuses_wrong_cursor(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *page = NULL;
    int r = mcp_client_list_resources(client, "nowhere", NULL, &page, &err);

    return refused(r, &err, page, INVALID);
}

/* A modern server says how long a list may be kept; it is kept until it changes. */
static bool
lists_are_kept(mcp_client *client)
{
    mcp_subscription *s = NULL;
    struct stats before, now;
    mcp_notice event;
    mcp_error err = {0};
    bool ok;
    int r = mcp_client_subscribe(client, &MCP_SUBSCRIBE(.lists = MCP_RESOURCES_CHANGED),
                                 &s, &err);

    ok = status_is(r, 0, &err) && lists_pages(client) && stats_read(&before, client) &&
         lists_pages(client) && lists_all(client) && stats_read(&now, client) &&
         (now.lists == before.lists + (is_modern() ? 0 : 2) ||
          because("%lld lists, then %lld", (long long)before.lists,
                  (long long)now.lists)) &&
         tool_says(client, "change", "{\"add\":true}", "changed") &&
         status_is(mcp_subscription_next(s, PATIENCE_MS, &event), 0, NULL) &&
         count_is(client, MCP_LIST_RESOURCES, 104, "extra") &&
         tool_says(client, "change", "{\"add\":false}", "changed") &&
         status_is(mcp_subscription_next(s, PATIENCE_MS, &event), 0, NULL) &&
         lists_all(client);
    mcp_subscription_free(s);
    return ok;
}

/* ---- output --------------------------------------------------------------------- */

static bool
output_is_checked(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r = mcp_client_call_tool(client, "add", "{\"a\":1,\"b\":2}", NULL, &reply,
                                 &err);

    if (!shows(r, &err, reply, "structuredContent", "{\"sum\":3}", "content/0/text",
               "3", NULL))
        return false;
    reply = NULL;
    r = mcp_client_call_tool(client, "lie", NULL, NULL, &reply, &err);
    mcp_reply_free(reply);
    return status_is(r, MCP_E_PROTO, &err) &&
           (strstr(err.message, "sum") || because("%s", err.message));
}

/* ---- messages ------------------------------------------------------------------- */

static bool
hears_from(mcp_client *client, enum mcp_severity severity)
{
    int before = messages_heard();
    int wanted = before + (MCP_SEVERITY_EMERGENCY + 1 - (int)severity);
    mcp_error err = {0};
    int r = mcp_client_set_messages(client, severity, NULL, &err);

    if (!status_is(r, 0, &err) || !tool_says(client, "log", NULL, "logged"))
        return false;
    for (int i = 0; i < PATIENCE_MS / 10 && messages_heard() < wanted; i++)
        nap();
    return messages_heard() == wanted ||
           because("%d messages from %d on", messages_heard() - before, (int)severity);
}

static bool
hears_messages(mcp_client *client)
{
    return hears_from(client, MCP_SEVERITY_WARNING) &&
           hears_from(client, MCP_SEVERITY_DEBUG) &&
           hears_from(client, MCP_SEVERITY_EMERGENCY);
}

/* ---- subscriptions -------------------------------------------------------------- */

static bool
event_is(mcp_subscription *s, enum mcp_change change, const char *uri)
{
    mcp_notice event;

    if (!status_is(mcp_subscription_next(s, PATIENCE_MS, &event), 0, NULL))
        return false;
    if (event.change != change)
        return because("change %d instead of %d", (int)event.change, (int)change);
    return !uri || strcmp(event.uri, uri) == 0 || because("uri %s", event.uri);
}

static bool
hears_updates(mcp_client *client)
{
    mcp_subscription *s = NULL;
    mcp_notice event;
    mcp_error err = {0};
    bool ok;
    int r = mcp_client_subscribe(client, &MCP_SUBSCRIBE(.uris = watched), &s, &err);

    ok = status_is(r, 0, &err) &&
         (mcp_subscription_watches(s, watched[0]) || because("it is not watched")) &&
         tool_says(client, "touch", NULL, "touched") &&
         event_is(s, MCP_RESOURCE_UPDATED, watched[0]) &&
         status_is(mcp_subscription_next(s, 0, &event), MCP_E_AGAIN, NULL) &&
         tool_says(client, "touch", NULL, "touched") &&
         event_is(s, MCP_RESOURCE_UPDATED, watched[0]);
    mcp_subscription_free(s);
    return ok && tool_says(client, "touch", NULL, "touched") && still_answers(client);
}

/* In whatever order. */
static bool
hears_changes(mcp_client *client)
{
    const unsigned all = MCP_TOOLS_CHANGED | MCP_PROMPTS_CHANGED |
                         MCP_RESOURCES_CHANGED;
    mcp_subscription *s = NULL;
    mcp_notice event;
    unsigned heard = 0;
    mcp_error err = {0};
    bool ok;
    int r = mcp_client_subscribe(client, &MCP_SUBSCRIBE(.lists = all), &s, &err);

    ok = status_is(r, 0, &err) &&
         (mcp_subscription_lists(s) == all ||
          because("agreed to %u", mcp_subscription_lists(s))) &&
         tool_says(client, "change", "{\"add\":true}", "changed");
    while (ok && heard != all) {
        ok = status_is(mcp_subscription_next(s, PATIENCE_MS, &event), 0, NULL);
        heard |= ok ? (unsigned)event.change : 0;
    }
    ok = ok && tool_says(client, "extra", NULL, "extra") &&
         tool_says(client, "change", "{\"add\":false}", "changed");
    mcp_subscription_free(s);
    return ok && still_answers(client);
}

static bool
subscriptions_come_and_go(mcp_client *client)
{
    mcp_subscription *s[4] = {NULL};
    mcp_error err = {0};
    bool ok = true;

    for (int round = 0; ok && round < 10; round++) {
        for (int i = 0; ok && i < 4; i++)
            ok = status_is(mcp_client_subscribe(client, &MCP_SUBSCRIBE(.uris = watched),
                                                &s[i], &err),
                           0, &err);
        ok = ok && tool_says(client, "touch", NULL, "touched");
        for (int i = 0; ok && i < 4; i++)
            ok = event_is(s[i], MCP_RESOURCE_UPDATED, watched[0]);
        for (int i = 0; i < 4; i++) {
            mcp_subscription_free(s[i]);
            s[i] = NULL;
        }
    }
    return ok && still_answers(client);
}

/* A modern server says goodbye; of others, the connection is gone. */
static bool
end_of_server_ends_subscription(mcp_client *none)
{
    enum mcp_subscription_end how, wanted;
    mcp_subscription *s = NULL;
    mcp_notice event;
    mcp_client *client;
    mcp_error err = {0};
    bool ok;

    (void)none;
    if (!host_opens(&client))
        return false;
    ok = status_is(
             mcp_client_subscribe(client, &MCP_SUBSCRIBE(.uris = watched), &s, &err), 0,
             &err) &&
         tool_says(client, "bye", NULL, "bye") &&
         status_is(mcp_subscription_next(s, PATIENCE_MS, &event), MCP_E_CLOSED, NULL);
    how = mcp_subscription_how(s);
    wanted = is_modern() ? MCP_SUBSCRIPTION_GRACEFUL : MCP_SUBSCRIPTION_LOST;
    if (ok && how != wanted)
        ok = because("it ended as %d", (int)how);
    mcp_subscription_free(s);
    return client_ends(client) && ok;
}

const struct peer_case offer_cases[] = {
    {"reads_text", reads_text, 0},
    {"reads_bytes", reads_bytes, 0},
    {"reads_by_template", reads_by_template, 0},
    {"refuses_unknown_resource", refuses_unknown_resource, 0},
    {"gets_prompt", gets_prompt, 0},
    {"refuses_wrong_prompt", refuses_wrong_prompt, 0},
    {"completes", completes, 0},
    {"lists_pages", lists_pages, 0},
    {"lists_all", lists_all, 0},
    {"refuses_wrong_cursor", refuses_wrong_cursor, 0},
    {"lists_are_kept", lists_are_kept, 0},
    {"output_is_checked", output_is_checked, 0},
    {"hears_messages", hears_messages, 0},
    {"hears_updates", hears_updates, 0},
    {"hears_changes", hears_changes, 0},
    {"subscriptions_come_and_go", subscriptions_come_and_go, 0},
    {"end_of_server_ends_subscription", end_of_server_ends_subscription, 0},
    {0},
};
