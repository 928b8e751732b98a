/* host.c - a client that can be asked */
#include "host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peer.h"

struct host host;

/* ---- answers --------------------------------------------------------------------- */

/* All that is not said has a default in the form. */
static int
accept_form(mcp_request *req, mcp_result *out)
{
    const char ada[] = "{\"name\":\"ada\"}";

    (void)req;
    return mcp_result_json(out, ada, strlen(ada));
}

static int
elicit(mcp_request *req, mcp_result *out, void *user)
{
    bool is_page = mcp_json_get(mcp_request_params(req), "url") != NULL;
    int r;

    (void)user;
    atomic_fetch_add(&host.asked, 1);
    switch ((enum user)atomic_load(&host.user)) {
    case USER_DECLINES:
        return mcp_result_decline(out);
    case USER_DISMISSES:
        return mcp_result_dismiss(out);
    case USER_FAILS:
        return mcp_request_fail(req, -32000, NULL, "there is no user");
    case USER_ERRS:
        return mcp_result_json(out, "{\"age\":1000}", 12);
    case USER_THINKS:
        r = mcp_request_sleep(req, 600000);
        if (r == MCP_E_CANCELED)
            atomic_fetch_add(&host.recalled, 1);
        return r;
    default:
        return is_page ? mcp_result_accept(out) : accept_form(req, out);
    }
}

static int
sample(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *tools = mcp_json_get(mcp_request_params(req), "tools");
    const char *name = mcp_json_string(mcp_json_get(mcp_json_at(tools, 0), "name"),
                                       NULL);

    (void)user;
    atomic_fetch_add(&host.asked, 1);
    mcp_result_model(out, "parrot");
    if (name) {
        mcp_result_stop_reason(out, "toolUse");
        return mcp_result_tool_use(out, "1", name, "{}");
    }
    mcp_result_stop_reason(out, "endTurn");
    return mcp_result_text(out, "hello");
}

/* ---- what is heard -------------------------------------------------------------- */

static void
hear_message(mcp_client *client, enum mcp_severity severity, const char *logger,
             const mcp_json *data, void *user)
{
    (void)client, (void)logger, (void)data, (void)user;
    atomic_fetch_add(&host.messages[severity], 1);
}

static void
hear_change(mcp_client *client, enum mcp_change change, const char *uri, void *user)
{
    (void)client, (void)uri, (void)user;
    atomic_fetch_add(&host.changes[change], 1);
}

static void
hear_elicited(mcp_client *client, const char *id, void *user)
{
    (void)client, (void)id, (void)user;
    atomic_fetch_add(&host.elicited, 1);
}

int
messages_heard(void)
{
    int sum = 0;

    for (int i = 0; i <= MCP_SEVERITY_EMERGENCY; i++)
        sum += atomic_load(&host.messages[i]);
    return sum;
}

bool
becomes(atomic_int *value, int wanted)
{
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        if (atomic_load(value) == wanted)
            return true;
        nap();
    }
    return because("%d instead of %d", atomic_load(value), wanted);
}

bool
host_opens(mcp_client **ret_client)
{
    static const struct mcp_root roots[] = {
        {"file:///home", "home"}, {"file:///tmp", NULL}, {0}};
    mcp_client_options opt = MCP_CLIENT_OPTIONS(
            .elicit = {.run = elicit}, .sample = {.reply = sample}, .root_list = roots,
            .able = MCP_ABLE_URL | MCP_ABLE_SAMPLE_TOOLS, .on_message = hear_message,
            .on_change = hear_change, .on_elicited = hear_elicited);

    return client_opens_with(&opt, ret_client);
}

/* ---- replies -------------------------------------------------------------------- */

/* A value by its path; numbers count the elements of arrays. */
static const mcp_json *
find(const mcp_json *value, const char *path)
{
    char key[64];

    while (value && *path) {
        size_t length = strcspn(path, "/");

        if (length >= sizeof(key))
            return NULL;
        memcpy(key, path, length);
        key[length] = '\0';
        if (mcp_json_get_type(value) == MCP_JSON_ARRAY)
            value = mcp_json_at(value, strtoul(key, NULL, 10));
        else
            value = mcp_json_get(value, key);
        path += length + (path[length] == '/');
    }
    return value;
}

static bool
is_shown(const mcp_json *result, const char *path, const char *wanted)
{
    const mcp_json *value = find(result, path);
    char *text = NULL;
    bool ok;

    if (!value)
        return because("there is no %s", path);
    if (strcmp(wanted, "*") == 0)
        return true;
    if (mcp_json_get_type(value) == MCP_JSON_STRING) {
        ok = mcp_json_is_string(value, wanted);
        return ok || because("%s is \"%.200s\"", path, mcp_json_string(value, NULL));
    }
    if (mcp_json_print(value, false, NULL, &text, NULL) < 0)
        return because("cannot print %s", path);
    ok = strcmp(text, wanted) == 0;
    if (!ok)
        because("%s is %.200s", path, text);
    mcp_text_free(text, NULL);
    return ok;
}

bool
shows(int status, const mcp_error *err, mcp_reply *reply, ...)
{
    const char *path;
    va_list args;
    bool ok = true;

    if (!status_is(status, 0, err))
        return false;
    va_start(args, reply);
    for (path = va_arg(args, const char *); ok && path;
         path = va_arg(args, const char *))
        ok = is_shown(mcp_reply_result(reply), path, va_arg(args, const char *));
    va_end(args);
    mcp_reply_free(reply);
    return ok;
}

bool
tool_says(mcp_client *client, const char *tool, const char *arguments, const char *text)
{
    mcp_error err = {0};
    mcp_reply *reply = NULL;
    int r = mcp_client_call_tool(client, tool, arguments, NULL, &reply, &err);

    return shows(r, &err, reply, "content/0/text", text, NULL) ||
           because("tool %s", tool);
}

bool
refused(int status, const mcp_error *err, mcp_reply *reply, int code)
{
    mcp_reply_free(reply);
    if (!status_is(status, MCP_E_PEER, err))
        return false;
    return err->rpc_code == code || because("code %d: %s", err->rpc_code, err->message);
}
