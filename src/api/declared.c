/*
 * declared.c - what a server has declared, and what may be asked of it
 *
 * In 2025-11-25 both sides must keep to what was agreed on (basic/lifecycle,
 * Operation). Many servers forget to declare something and serve it all the same, so
 * that only a client that wants it is held to it.
 */
#include <string.h>

#include "api/call.h"
#include "base/text.h"

/* What a method needs; NULL: nothing. */
struct need {
    const char *capability;
    const char *member; /* of it, that must be true; NULL: none */
};

static struct need
method_need(enum mcpi_method method)
{
    switch (method) {
    case MCPI_METHOD_TOOLS_LIST:
    case MCPI_METHOD_TOOLS_CALL:
        return (struct need){"tools", NULL};
    case MCPI_METHOD_RESOURCES_LIST:
    case MCPI_METHOD_RESOURCES_TEMPLATES_LIST:
    case MCPI_METHOD_RESOURCES_READ:
        return (struct need){"resources", NULL};
    case MCPI_METHOD_RESOURCES_SUBSCRIBE:
    case MCPI_METHOD_RESOURCES_UNSUBSCRIBE:
        return (struct need){"resources", "subscribe"};
    case MCPI_METHOD_PROMPTS_LIST:
    case MCPI_METHOD_PROMPTS_GET:
        return (struct need){"prompts", NULL};
    case MCPI_METHOD_COMPLETE:
        return (struct need){"completions", NULL};
    case MCPI_METHOD_SET_LEVEL:
        return (struct need){"logging", NULL};
    default:
        return (struct need){NULL, NULL};
    }
}

static bool
hello_has(const struct mcpi_hello *hello, const struct need *need)
{
    const mcp_json *found = mcp_json_get(hello->capabilities, need->capability);

    if (need->member)
        return mcp_json_bool(mcp_json_get(found, need->member), false);
    /* servers of 2024-11-05 complete without a word about it */
    return found || (strcmp(need->capability, "completions") == 0 &&
                     strcmp(hello->version, "2024-11-05") == 0);
}

int
mcpi_declared_check(struct mcp_client *client, const char *method, mcp_error *err)
{
    struct need need = {NULL, NULL};
    bool ready, has = false;

    if (client->opt.strict)
        need = method_need(mcpi_method_find(method, strlen(method)));
    if (!need.capability)
        return 0;
    pthread_mutex_lock(&client->lock);
    ready = client->hello.version != NULL;
    if (ready)
        has = hello_has(&client->hello, &need);
    pthread_mutex_unlock(&client->lock);
    if (!ready)
        return mcpi_error_set(err, MCP_E_STATE, "the connection is not ready yet");
    if (!has)
        return mcpi_error_set(
            err, MCP_E_NO_CHANNEL, "%s: the server has not declared %s%s%s", method,
            need.capability, need.member ? "." : "", need.member ? need.member : "");
    return 0;
}
