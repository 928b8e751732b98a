/* ask_cases.c - the server scripts ask: the user, the model, the roots */
#include <string.h>

#include "host.h"
#include "peer.h"

#define ADA                                                                      \
    "{\"action\":\"accept\",\"content\":{\"name\":\"ada\",\"age\":30,\"color\":" \
    "\"green\",\"news\":true}}"

static bool
user_does(mcp_client *client, enum user what, const char *tool, const char *text)
{
    bool ok;

    atomic_store(&host.user, what);
    ok = tool_says(client, tool, NULL, text);
    atomic_store(&host.user, USER_ACCEPTS);
    return ok;
}

static bool
form_is_answered(mcp_client *client)
{
    return user_does(client, USER_ACCEPTS, "elicit", ADA) &&
           user_does(client, USER_DECLINES, "elicit", "{\"action\":\"decline\"}") &&
           user_does(client, USER_DISMISSES, "elicit", "{\"action\":\"cancel\"}");
}

/* Neither an answer that does not fit nor none at all is given as an answer. The first
 * is a mistake of the program, which is told. */
static bool
wrong_answer_is_not_given(mcp_client *client)
{
    static const enum user wrong[] = {USER_ERRS, USER_FAILS};
    mcp_error err = {0};
    bool ok = true;

    for (size_t i = 0; ok && i < 2; i++) {
        mcp_reply *reply = NULL;
        int r;

        atomic_store(&host.user, wrong[i]);
        r = mcp_client_call_tool(client, "elicit", NULL, NULL, &reply, &err);
        ok = r < 0 || mcp_reply_is_error(reply) ||
             because("it was: %s", mcp_reply_text(reply));
        mcp_reply_free(reply);
    }
    atomic_store(&host.user, USER_ACCEPTS);
    return ok && user_does(client, USER_ACCEPTS, "elicit", ADA) &&
           (atomic_exchange(&peer.warnings, 0) == 1 || because("it was not logged"));
}

static bool
page_is_answered(mcp_client *client)
{
    int before = atomic_load(&host.elicited);
    bool tells = strcmp(peer.kind->name, "v1") == 0;

    return user_does(client, USER_ACCEPTS, "visit", "{\"action\":\"accept\"}") &&
           user_does(client, USER_DECLINES, "visit", "{\"action\":\"decline\"}") &&
           (!tells || becomes(&host.elicited, before + 2));
}

/* In the legacy era that may be an error; what it names is for the program. */
static bool
page_first_is_told(mcp_client *client)
{
    const mcp_json *first;
    mcp_error err = {0};
    mcp_call *call;
    bool ok;
    int r = mcp_client_start_tool(client, "pay", NULL, NULL, NULL, NULL, &call);

    if (!status_is(r, 0, NULL))
        return false;
    r = mcp_call_wait(call, PATIENCE_MS, NULL, &err);
    first = mcp_json_at(mcp_json_get(mcp_call_error_data(call), "elicitations"), 0);
    ok = status_is(r, MCP_E_PEER, &err) &&
         (err.rpc_code == -32042 || because("code %d", err.rpc_code)) &&
         (mcp_json_is_string(mcp_json_get(first, "url"), "https://example.com/look") ||
          because("no url"));
    mcp_call_free(call);
    return ok;
}

static bool
model_is_asked(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    bool ok;
    int r = mcp_client_call_tool(client, "sample", NULL, NULL, &reply, &err);

    if (!status_is(r, 0, &err))
        return false;
    ok = strstr(mcp_reply_text(reply), "\"text\":\"hello\"") &&
         strstr(mcp_reply_text(reply), "\"model\":\"parrot\"");
    if (!ok)
        because("%s", mcp_reply_text(reply));
    mcp_reply_free(reply);
    return ok;
}

static bool
model_uses_tool(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    bool ok;
    int r = mcp_client_call_tool(client, "sample_tools", NULL, NULL, &reply, &err);

    if (!status_is(r, 0, &err))
        return false;
    ok = strstr(mcp_reply_text(reply), "\"tool_use\"") &&
         strstr(mcp_reply_text(reply), "\"weather\"");
    if (!ok)
        because("%s", mcp_reply_text(reply));
    mcp_reply_free(reply);
    return ok;
}

/* Over HTTP, what is told and what is asked next take two ways. */
static bool
roots_are_told(mcp_client *client, int64_t wanted)
{
    struct stats now = {0};

    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        if (!stats_read(&now, client))
            return false;
        if (now.roots == wanted)
            return true;
        nap();
    }
    return because("told %lld times, not %lld", (long long)now.roots,
                   (long long)wanted);
}

/* A legacy server is told that they have changed; others ask when they need them. */
static bool
roots_are_asked(mcp_client *client)
{
    static const mcp_root first[] = {
        {"file:///home", "home"}, {"file:///tmp", NULL}, {0}};
    static const mcp_root second[] = {{"file:///srv", NULL}, {0}};
    struct stats before;
    bool ok;

    ok = tool_says(client, "roots", NULL,
                   "{\"roots\":[{\"uri\":\"file:///home\",\"name\":\"home\"},"
                   "{\"uri\":\"file:///tmp\"}]}") &&
         stats_read(&before, client) &&
         status_is(mcp_client_set_roots(client, second), 0, NULL) &&
         tool_says(client, "roots", NULL, "{\"roots\":[{\"uri\":\"file:///srv\"}]}") &&
         roots_are_told(client, before.roots + !is_modern()) &&
         status_is(mcp_client_set_roots(client, first), 0, NULL) &&
         roots_are_told(client, before.roots + (is_modern() ? 0 : 2));
    return ok;
}

static bool
all_are_asked_at_once(mcp_client *client)
{
    int before = atomic_load(&host.asked);
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    bool ok;
    int r = mcp_client_call_tool(client, "all", NULL, NULL, &reply, &err);

    if (!status_is(r, 0, &err))
        return false;
    ok = strstr(mcp_reply_text(reply), "\"form\":" ADA) &&
         strstr(mcp_reply_text(reply), "\"hello\"") &&
         strstr(mcp_reply_text(reply), "file:///home");
    if (!ok)
        because("%s", mcp_reply_text(reply));
    mcp_reply_free(reply);
    return ok && (atomic_load(&host.asked) == before + 2 || because("asked too often"));
}

static bool
questions_follow_each_other(mcp_client *client)
{
    return tool_says(client, "rounds", NULL, "ada, ada, one");
}

static bool
prompt_and_resource_ask(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r = mcp_client_get_prompt(client, "asks", NULL, NULL, &reply, &err);

    if (!shows(r, &err, reply, "messages/0/content/text", "ada", NULL))
        return false;
    reply = NULL;
    r = mcp_client_read(client, "note://asks", NULL, &reply, &err);
    return shows(r, &err, reply, "contents/0/text", "ada", NULL);
}

/* The user thinks about `calls` questions; then all are given up, and that is heard. */
static bool
give_up(mcp_client *client, mcp_call_options opt, int calls, int wanted)
{
    static mcp_call *call[50];
    int asked = atomic_load(&host.asked), recalled = atomic_load(&host.recalled);
    mcp_error err = {0};
    bool ok = true;

    atomic_store(&host.user, USER_THINKS);
    for (int i = 0; ok && i < calls; i++)
        ok = status_is(
            mcp_client_start_tool(client, "elicit", NULL, &opt, NULL, NULL, &call[i]),
            0, NULL);
    ok = ok && becomes(&host.asked, asked + calls);
    for (int i = 0; ok && wanted == MCP_E_CANCELED && i < calls; i++)
        ok = status_is(mcp_call_cancel(call[i], "changed my mind"), 0, NULL);
    ok = ok && (wanted == MCP_E_CANCELED || time_passes(client, HOUR_MS));
    for (int i = 0; ok && i < calls; i++) {
        ok = status_is(mcp_call_wait(call[i], PATIENCE_MS, NULL, &err), wanted, &err);
        mcp_call_free(call[i]);
    }
    ok = ok && becomes(&host.recalled, recalled + calls);
    atomic_store(&host.user, USER_ACCEPTS);
    return ok && user_does(client, USER_ACCEPTS, "elicit", ADA);
}

static bool
cancel_reaches_user(mcp_client *client)
{
    return give_up(client, plain, 1, MCP_E_CANCELED);
}

static bool
many_cancels_reach_user(mcp_client *client)
{
    return give_up(client, plain, 10, MCP_E_CANCELED);
}

static bool
timeout_reaches_user(mcp_client *client)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE,
                                                  .total_ms = HOUR_MS);

    return give_up(client, opt, 1, MCP_E_TOTAL_TIMEOUT);
}

/* It would go on for ever. */
static bool
greed_is_ended(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r = mcp_client_call_tool(client, "greedy", NULL, NULL, &reply, &err);
    bool ok = r < 0 || mcp_reply_is_error(reply);

    if (!ok)
        because("%s", mcp_reply_text(reply));
    mcp_reply_free(reply);
    return ok && still_answers(client);
}

static bool
comes_again(mcp_client *client)
{
    return tool_says(client, "patient", NULL, "here you are");
}

const struct peer_case ask_cases[] = {
    {"form_is_answered", form_is_answered, 0},
    {"wrong_answer_is_not_given", wrong_answer_is_not_given, 0},
    {"page_is_answered", page_is_answered, 0},
    {"model_is_asked", model_is_asked, 0},
    {"model_uses_tool", model_uses_tool, 0},
    {"roots_are_asked", roots_are_asked, 0},
    {"all_are_asked_at_once", all_are_asked_at_once, 0},
    {"questions_follow_each_other", questions_follow_each_other, 0},
    {"prompt_and_resource_ask", prompt_and_resource_ask, 0},
    {"cancel_reaches_user", cancel_reaches_user, 0},
    {"many_cancels_reach_user", many_cancels_reach_user, 0},
    {"timeout_reaches_user", timeout_reaches_user, 0},
    {0},
};

const struct peer_case ask_v1_cases[] = {
    {"page_first_is_told", page_first_is_told, 0},
    {0},
};

const struct peer_case ask_v2_cases[] = {
    {"greed_is_ended", greed_is_ended, 0},
    {"comes_again", comes_again, 0},
    {0},
};
