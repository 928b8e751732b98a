/* reply.c - an answer: the message that brought it, and ways to look into it */
#include "api/reply.h"

mcp_reply *
mcp_reply_ref(mcp_reply *reply)
{
    if (reply)
        mcp_doc_ref(mcpi_reply_doc(reply));
    return reply;
}

void
mcp_reply_free(mcp_reply *reply)
{
    mcp_doc_free(mcpi_reply_doc(reply));
}

const mcp_json *
mcp_reply_result(const mcp_reply *reply)
{
    return mcp_json_get(mcp_doc_root(mcpi_reply_doc(reply)), "result");
}

bool
mcp_reply_is_error(const mcp_reply *reply)
{
    return mcp_json_bool(mcp_json_get(mcp_reply_result(reply), "isError"), false);
}

const char *
mcp_reply_text(const mcp_reply *reply)
{
    mcp_json_iterator it = mcp_json_each(mcp_reply_content(reply));
    const char *text;

    while (mcp_json_next(&it)) {
        if (!mcp_json_is_string(mcp_json_get(it.value, "type"), "text"))
            continue;
        text = mcp_json_string(mcp_json_get(it.value, "text"), NULL);
        if (text)
            return text;
    }
    return "";
}

const mcp_json *
mcp_reply_content(const mcp_reply *reply)
{
    const mcp_json *content = mcp_json_get(mcp_reply_result(reply), "content");

    return mcp_json_get_type(content) == MCP_JSON_ARRAY ? content : NULL;
}

const mcp_json *
mcp_reply_structured(const mcp_reply *reply)
{
    return mcp_json_get(mcp_reply_result(reply), "structuredContent");
}

const mcp_json *
mcp_reply_items(const mcp_reply *reply)
{
    static const char *const keys[] = {"tools",   "resources", "resourceTemplates",
                                       "prompts", "contents",  "messages"};
    const mcp_json *result = mcp_reply_result(reply);
    const mcp_json *items;
    size_t i;

    for (i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        items = mcp_json_get(result, keys[i]);
        if (mcp_json_get_type(items) == MCP_JSON_ARRAY)
            return items;
    }
    items = mcp_json_get(mcp_json_get(result, "completion"), "values");
    return mcp_json_get_type(items) == MCP_JSON_ARRAY ? items : NULL;
}

const char *
mcp_reply_cursor(const mcp_reply *reply)
{
    return mcp_json_string(mcp_json_get(mcp_reply_result(reply), "nextCursor"), NULL);
}
