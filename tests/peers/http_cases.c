/* http_cases.c - what is different over HTTP: sessions, streams, several clients */
#include <string.h>

#include <mcp/subscription.h>

#include "host.h"
#include "peer.h"

static const char *const watched[] = {"note://changing", NULL};

/* ---- several clients of one server ----------------------------------------------- */

static bool
aborted_become(mcp_client *client, int64_t aborted, int64_t running)
{
    struct stats now = {0};

    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        if (!stats_read(&now, client))
            return false;
        if (now.aborted == aborted && now.running == running)
            return true;
        nap();
    }
    return because("%lld aborted, %lld running", (long long)now.aborted,
                   (long long)now.running);
}

/* The server lives on, so it must be told: by frames and DELETE, or by streams that are
 * closed. */
static bool
free_ends_own_calls(mcp_client *client)
{
    static struct slow mine, others[3];
    struct stats before;
    mcp_client *other = NULL;
    bool ok;

    ok = stats_read(&before, client) && client_joins(client, &other) &&
         slow_begins(&mine, client, plain, peer.kind->long_arguments) &&
         slow_runs(&mine);
    for (int i = 0; ok && i < 3; i++)
        ok = slow_begins(&others[i], other, plain, peer.kind->long_arguments) &&
             slow_runs(&others[i]);
    mcp_client_free(other);
    ok = ok && aborted_become(client, before.aborted + 3, 1);
    for (int i = 0; ok && i < 3; i++)
        ok = slow_ends(&others[i], MCP_E_CLOSED);
    return ok && status_is(mcp_call_cancel(mine.call, NULL), 0, NULL) &&
           slow_ends(&mine, MCP_E_CANCELED) && still_answers(client);
}

const struct peer_case http_cases[] = {
    {"free_ends_own_calls", free_ends_own_calls, 4},
    {0},
};

/* ---- sessions -------------------------------------------------------------------- */

/* What meets the end of the session is sent once more, in the next one. */
static bool
lost_session_is_renewed(mcp_client *client)
{
    struct stats before, now = {0};

    if (!stats_read(&before, client) || !tool_says(client, "bye", NULL, "bye"))
        return false;
    for (int i = 0; i < PATIENCE_MS / 10 && now.sessions <= before.sessions; i++) {
        if (!stats_read(&now, client))
            return false;
        nap();
    }
    return (now.sessions == before.sessions + 1 ||
            because("%lld sessions after %lld", (long long)now.sessions,
                    (long long)before.sessions)) &&
           agrees_on_version(client) && still_answers(client);
}

/* It hears of the gap, in which there may have been a change, and then of changes. */
static bool
subscription_survives_lost_session(mcp_client *client)
{
    mcp_subscription *s = NULL;
    mcp_notice event;
    mcp_error err = {0};
    bool ok;
    int r = mcp_client_subscribe(client, &MCP_SUBSCRIBE(.uris = watched), &s, &err);

    ok = status_is(r, 0, &err) && lost_session_is_renewed(client) &&
         status_is(mcp_subscription_next(s, PATIENCE_MS, &event), 0, NULL) &&
         tool_says(client, "touch", NULL, "touched") &&
         status_is(mcp_subscription_next(s, PATIENCE_MS, &event), 0, NULL);
    mcp_subscription_free(s);
    return ok && still_answers(client);
}

const struct peer_case session_cases[] = {
    {"lost_session_is_renewed", lost_session_is_renewed, 0},
    {"subscription_survives_lost_session", subscription_survives_lost_session, 0},
    {0},
};

/* ---- streams that are cut by the server, and resumed by the client --------------- */

static bool
cut_answer_is_fetched(mcp_client *client)
{
    return tool_says(client, "cut", "{\"ms\":300}", "welcome back") &&
           still_answers(client);
}

static bool
many_cut_answers_are_fetched(mcp_client *client)
{
    static mcp_call *call[20];
    mcp_error err = {0};
    bool ok = true;

    for (int i = 0; ok && i < 20; i++)
        ok = status_is(mcp_client_start_tool(client, "cut", "{\"ms\":300}", NULL, NULL,
                                             NULL, &call[i]),
                       0, NULL);
    for (int i = 0; ok && i < 20; i++) {
        mcp_reply *reply = NULL;
        int r = mcp_call_wait(call[i], PATIENCE_MS, &reply, &err);

        ok = shows(r, &err, reply, "content/0/text", "welcome back", NULL);
        mcp_call_free(call[i]);
    }
    return ok && still_answers(client);
}

/* What is told while nobody listens comes later, once. */
static bool
cut_stream_is_resumed(mcp_client *client)
{
    mcp_subscription *s = NULL;
    mcp_notice event;
    mcp_error err = {0};
    bool ok;
    int r = mcp_client_subscribe(client, &MCP_SUBSCRIBE(.uris = watched), &s, &err);

    ok = status_is(r, 0, &err);
    for (int i = 0; ok && i < 3; i++)
        ok = tool_says(client, "touch", NULL, "touched") &&
             status_is(mcp_subscription_next(s, PATIENCE_MS, &event), 0, NULL) &&
             tool_says(client, "cut", "{\"ms\":0,\"all\":true}", "welcome back");
    ok = ok && status_is(mcp_subscription_next(s, 0, &event), MCP_E_AGAIN, NULL);
    mcp_subscription_free(s);
    return ok && still_answers(client);
}

const struct peer_case resume_cases[] = {
    {"cut_answer_is_fetched", cut_answer_is_fetched, 0},
    {"many_cut_answers_are_fetched", many_cut_answers_are_fetched, 0},
    {"cut_stream_is_resumed", cut_stream_is_resumed, 0},
    {0},
};

/* ---- our own server, through a proxy that gives up what is quiet ----------------- */

static bool
quiet_call_survives(mcp_client *client)
{
    return says(client, "hang", "{\"seconds\":7}", "slept");
}

static bool
hears_touch(mcp_client *client)
{
    const char *const uris[] = {"watch://1", NULL};
    mcp_subscription *s = NULL;
    mcp_notice event = {0};
    mcp_error err = {0};
    bool ok;
    int r = mcp_client_subscribe(client, &MCP_SUBSCRIBE(.uris = uris), &s, &err);

    ok = status_is(r, 0, &err) && quiet_call_survives(client) &&
         says(client, "touch", "{\"uri\":\"watch://1\"}", "touched") &&
         status_is(mcp_subscription_next(s, PATIENCE_MS, &event), 0, NULL) &&
         (strcmp(event.uri, uris[0]) == 0 || because("uri %s", event.uri));
    mcp_subscription_free(s);
    return ok && still_answers(client);
}

const struct peer_case probe_cases[] = {
    {"quiet_call_survives", quiet_call_survives, 0},
    {"quiet_subscription_survives", hears_touch, 0},
    {0},
};
