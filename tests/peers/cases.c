/* cases.c - what must hold with every server */
#include "peer.h"

#include <string.h>

#define MANY 50

bool
is_modern(void)
{
    return strcmp(peer.version, "2026-07-28") == 0;
}

bool
agrees_on_version(mcp_client *client)
{
    const mcp_json *info = mcp_client_server_info(client);

    if (!mcp_client_version(client) ||
        strcmp(mcp_client_version(client), peer.version) != 0)
        return because("version %s", mcp_client_version(client));
    if (!mcp_json_string(mcp_json_get(info, "name"), NULL))
        return because("the server has no name");
    if (!mcp_json_get(mcp_client_server_capabilities(client), "tools"))
        return because("the server has no tools");
    return true;
}

static bool
is_listed(mcp_client *client, const char *name)
{
    mcp_error err = {0};
    mcp_reply *page;
    bool found;
    int r;

    r = mcp_client_list_tools(client, NULL, NULL, &page, &err);
    if (r < 0)
        return status_is(r, 0, &err);
    found = mcp_json_find(mcp_reply_items(page), "name", name) != NULL;
    mcp_reply_free(page);
    return found || because("%s is not listed", name);
}

static bool
lists_tools(mcp_client *client)
{
    return is_listed(client, "echo") && is_listed(client, peer.kind->slow_tool);
}

static bool
answers_ping(mcp_client *client)
{
    mcp_error err = {0};

    return status_is(mcp_client_ping(client, NULL, &err), 0, &err);
}

static bool
reports_progress(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply;
    static struct slow slow;
    bool ok;
    int r;

    if (!slow_begins(&slow, client, plain, peer.kind->short_arguments))
        return false;
    r = mcp_call_wait(slow.call, PATIENCE_MS, &reply, &err);
    if (!status_is(r, 0, &err))
        return false;
    ok = strstr(mcp_reply_text(reply), peer.kind->short_text) && slow.count == 5 &&
         slow.last == 5 && slow.total == 5 && !slow.fell;
    if (!ok)
        because("%d reports, last %d of %d, then %s", slow.count, slow.last, slow.total,
                mcp_reply_text(reply));
    mcp_reply_free(reply);
    slow_is_dropped(&slow);
    return ok;
}

/* Two hours pass, a tenth of an hour after each report: a timeout of one hour, which each
 * report starts again, never expires. */
static bool
progress_prolongs_call(mcp_client *client)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = HOUR_MS,
                                                  .total_ms = MCP_TIMEOUT_NONE,
                                                  .reset_on_progress = true);
    static struct slow slow;
    bool ok = slow_begins(&slow, client, opt, peer.kind->longer_arguments);

    for (int i = 1; ok && i <= 20; i++)
        ok = slow_reported(&slow, i) && time_passes(client, HOUR_MS / 10);
    return ok && slow_ends(&slow, 0) && still_answers(client);
}

static bool
refuses_unknown_method(mcp_client *client)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r;

    r = mcp_client_call(client, "no/such/method", NULL, NULL, &reply, &err);
    mcp_reply_free(reply);
    if (!status_is(r, MCP_E_PEER, &err))
        return false;
    return err.rpc_code == -32601 || because("code %d", err.rpc_code);
}

/* An error to SDK 2.x, a failed tool to SDK 1.x: both are told apart from success. */
static bool
fails_at(mcp_client *client, const char *tool, const char *arguments)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    bool ok;
    int r;

    r = mcp_client_call_tool(client, tool, arguments, NULL, &reply, &err);
    ok = r == MCP_E_PEER ? err.rpc_code == -32602 : r == 0 && mcp_reply_is_error(reply);
    if (!ok)
        because("%s, code %d, %s", mcp_status_name(r), err.rpc_code, err.message);
    mcp_reply_free(reply);
    return ok;
}

static bool
refuses_unknown_tool(mcp_client *client)
{
    return fails_at(client, "no_such_tool", "{}") && still_answers(client);
}

static bool
refuses_bad_arguments(mcp_client *client)
{
    return fails_at(client, "echo", "{\"text\":7,\"message\":7}") &&
           fails_at(client, "echo", NULL) && still_answers(client);
}

bool
cancel_ends_call(mcp_client *client)
{
    static struct slow slow;

    return slow_begins(&slow, client, plain, peer.kind->long_arguments) &&
           slow_runs(&slow) &&
           status_is(mcp_call_cancel(slow.call, "the user left"), 0, NULL) &&
           slow_ends(&slow, MCP_E_CANCELED) && still_answers(client);
}

static bool
timeout_ends_call(mcp_client *client)
{
    static struct slow slow;

    return slow_begins(&slow, client, MCP_CALL_OPTIONS(.timeout_ms = HOUR_MS),
                       peer.kind->long_arguments) &&
           slow_runs(&slow) && time_passes(client, HOUR_MS) &&
           slow_ends(&slow, MCP_E_TIMEOUT) && still_answers(client);
}

static bool
total_timeout_ends_call(mcp_client *client)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = 2 * HOUR_MS,
                                                  .total_ms = HOUR_MS,
                                                  .reset_on_progress = true);
    static struct slow slow;

    return slow_begins(&slow, client, opt, peer.kind->long_arguments) &&
           slow_runs(&slow) && time_passes(client, HOUR_MS) &&
           slow_ends(&slow, MCP_E_TOTAL_TIMEOUT) && still_answers(client);
}

static bool
scope_ends_calls(mcp_client *client)
{
    static struct slow slow[3];
    mcp_scope *scope;
    bool ok = true;

    if (!status_is(mcp_scope_new(NULL, &scope), 0, NULL))
        return false;
    for (int i = 0; ok && i < 3; i++)
        ok = slow_begins(&slow[i], client, MCP_CALL_OPTIONS(.scope = scope),
                         peer.kind->long_arguments) &&
             slow_runs(&slow[i]);
    ok = ok && status_is(mcp_scope_cancel(scope, "all of it"), 0, NULL);
    for (int i = 0; ok && i < 3; i++)
        ok = slow_ends(&slow[i], MCP_E_CANCELED);
    mcp_scope_free(scope);
    return ok && still_answers(client);
}

static bool
scope_in_time_ends_call(mcp_client *client)
{
    static struct slow slow;
    mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);
    bool ok;
    int r;

    r = mcp_scope_new(&MCP_SCOPE_OPTIONS(.timeout_ms = HOUR_MS), &opt.scope);
    if (!status_is(r, 0, NULL))
        return false;
    ok = slow_begins(&slow, client, opt, peer.kind->long_arguments) &&
         slow_runs(&slow) && time_passes(client, HOUR_MS) &&
         slow_ends(&slow, MCP_E_TOTAL_TIMEOUT);
    mcp_scope_free(opt.scope);
    return ok && still_answers(client);
}

static bool
free_ends_call(mcp_client *client)
{
    static struct slow slow;

    if (!slow_begins(&slow, client, plain, peer.kind->long_arguments) ||
        !slow_runs(&slow))
        return false;
    slow_is_dropped(&slow);
    return still_answers(client);
}

static bool
own_ids_can_be_canceled(mcp_client *client)
{
    static struct slow text, number;

    return slow_begins(&text, client, MCP_CALL_OPTIONS(.id = MCP_TEXT_ID("mine-\"1\"")),
                       peer.kind->long_arguments) &&
           slow_begins(&number, client, MCP_CALL_OPTIONS(.id = MCP_NUMBER_ID(7000000)),
                       peer.kind->long_arguments) &&
           slow_runs(&text) && slow_runs(&number) &&
           status_is(mcp_call_cancel(text.call, NULL), 0, NULL) &&
           status_is(mcp_call_cancel(number.call, NULL), 0, NULL) &&
           slow_ends(&text, MCP_E_CANCELED) && slow_ends(&number, MCP_E_CANCELED) &&
           still_answers(client);
}

static bool
many_are_canceled(mcp_client *client)
{
    static struct slow slow[MANY];
    bool ok = true;

    for (int i = 0; ok && i < MANY; i++)
        ok = slow_begins(&slow[i], client, plain, peer.kind->long_arguments);
    for (int i = 0; ok && i < MANY; i++)
        ok = slow_runs(&slow[i]);
    for (int i = 0; ok && i < MANY; i++)
        ok = status_is(mcp_call_cancel(slow[i].call, NULL), 0, NULL);
    for (int i = 0; ok && i < MANY; i++)
        ok = slow_ends(&slow[i], MCP_E_CANCELED);
    return ok && still_answers(client);
}

static bool
many_time_out(mcp_client *client)
{
    static struct slow slow[MANY];
    bool ok = true;

    for (int i = 0; ok && i < MANY; i++)
        ok = slow_begins(&slow[i], client, MCP_CALL_OPTIONS(.timeout_ms = HOUR_MS),
                         peer.kind->long_arguments);
    for (int i = 0; ok && i < MANY; i++)
        ok = slow_runs(&slow[i]);
    ok = ok && time_passes(client, HOUR_MS);
    for (int i = 0; ok && i < MANY; i++)
        ok = slow_ends(&slow[i], MCP_E_TIMEOUT);
    return ok && still_answers(client);
}

static bool
nothing_is_pending(mcp_client *client)
{
    mcp_client_counts counts = {.size = sizeof(counts)};

    if (!status_is(mcp_client_count(client, &counts), 0, NULL))
        return false;
    return counts.calls == 0 || because("%llu calls", (unsigned long long)counts.calls);
}

/* By itself, if nothing keeps it. */
static bool
free_ends_process(mcp_client *client)
{
    int64_t pid = client_pid(client);

    return client_ends(client) && is_gone(pid);
}

/* These have a session of their own. */
static bool
free_ends_calls_and_process(mcp_client *none)
{
    mcp_client *client;
    static struct slow slow;
    bool ok;

    (void)none;
    if (!client_opens(NULL, &client))
        return false;
    ok = slow_begins(&slow, client, plain, peer.kind->long_arguments) &&
         slow_runs(&slow);
    return free_ends_process(client) && ok && slow_ends(&slow, MCP_E_CLOSED);
}

static bool
death_of_server_ends_calls(mcp_client *none)
{
    int before = atomic_load(&peer.warnings);
    mcp_client *client;
    static struct slow slow;
    bool ok;

    (void)none;
    if (!client_opens(NULL, &client))
        return false;
    ok = slow_begins(&slow, client, plain, peer.kind->long_arguments) &&
         slow_runs(&slow) && server_dies(client) && slow_ends(&slow, MCP_E_CLOSED);
    ok = free_ends_process(client) && ok;
    /* that nothing can be heard of it any more may be said, once */
    return (atomic_exchange(&peer.warnings, before) - before <= 1 ||
            because("it was warned of more than once")) &&
           ok;
}

static bool
no_warning_was_logged(mcp_client *none)
{
    (void)none;
    return atomic_load(&peer.warnings) == 0 ||
           because("%d", atomic_load(&peer.warnings));
}

const struct peer_case common_cases[] = {
    {"agrees_on_version", agrees_on_version, 0},
    {"lists_tools", lists_tools, 0},
    {"answers_call", still_answers, 0},
    {"answers_ping", answers_ping, 0},
    {"reports_progress", reports_progress, 0},
    {"progress_prolongs_call", progress_prolongs_call, 0},
    {"refuses_unknown_method", refuses_unknown_method, 0},
    {"refuses_unknown_tool", refuses_unknown_tool, 0},
    {"refuses_bad_arguments", refuses_bad_arguments, 0},
    {"cancel_ends_call", cancel_ends_call, 1},
    {"timeout_ends_call", timeout_ends_call, 1},
    {"total_timeout_ends_call", total_timeout_ends_call, 1},
    {"scope_ends_calls", scope_ends_calls, 3},
    {"scope_in_time_ends_call", scope_in_time_ends_call, 1},
    {"free_ends_call", free_ends_call, 1},
    {"own_ids_can_be_canceled", own_ids_can_be_canceled, 2},
    {"many_are_canceled", many_are_canceled, MANY},
    {"many_time_out", many_time_out, MANY},
    {0},
};

const struct peer_case last_cases[] = {
    {"nothing_is_pending", nothing_is_pending, 0},
    {"free_ends_process", free_ends_process, 0},
    {0},
};

const struct peer_case own_session_cases[] = {
    {"free_ends_calls_and_process", free_ends_calls_and_process, 0},
    {"death_of_server_ends_calls", death_of_server_ends_calls, 0},
    {"no_warning_was_logged", no_warning_was_logged, 0},
    {0},
};

const struct peer_case final_cases[] = {
    {"host_had_no_warning", no_warning_was_logged, 0},
    {0},
};
