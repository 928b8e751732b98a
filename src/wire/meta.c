/* meta.c - the `_meta` member: the protocol's own keys, read and stamped */
#include "wire/meta.h"

#include <assert.h>
#include <string.h>

#include "json/value.h"

/* Every key the protocol keeps for itself in params._meta (basic/index, "_meta"). */
#define PREFIX "io.modelcontextprotocol/"
#define KEY_VERSION MCPI_META_VERSION
#define KEY_CLIENT_INFO PREFIX "clientInfo"
#define KEY_CLIENT_CAPABILITIES PREFIX "clientCapabilities"
#define KEY_LOG_LEVEL PREFIX "logLevel"
#define KEY_SUBSCRIPTION_ID PREFIX "subscriptionId"
#define KEY_SERVER_INFO PREFIX "serverInfo"
#define KEY_PROGRESS_TOKEN "progressToken"

enum key {
    OTHER,
    VERSION,
    CLIENT_INFO,
    CLIENT_CAPABILITIES,
    LOG_LEVEL,
    SUBSCRIPTION_ID,
    PROGRESS_TOKEN
};

static enum key
key_find(const char *key, size_t len)
{
#define FIND(number, text)                                                   \
    if (len == sizeof(text) - 1 && memcmp(key, text, sizeof(text) - 1) == 0) \
        return number;
    FIND(VERSION, KEY_VERSION)
    FIND(CLIENT_INFO, KEY_CLIENT_INFO)
    FIND(CLIENT_CAPABILITIES, KEY_CLIENT_CAPABILITIES)
    FIND(LOG_LEVEL, KEY_LOG_LEVEL)
    FIND(SUBSCRIPTION_ID, KEY_SUBSCRIPTION_ID)
    FIND(PROGRESS_TOKEN, KEY_PROGRESS_TOKEN)
#undef FIND
    return OTHER;
}

/* Text that a C string can hold whole; NULL for all else. */
static const char *
plain_text(const mcp_json *value)
{
    const char *text = mcp_json_string(value, NULL);

    if (text && strlen(text) != mcp_json_string_length(value))
        return NULL; /* U+0000 inside: must not pass for what stands before it */
    return text;
}

static const mcp_json *
object_or_null(const mcp_json *value)
{
    return mcp_json_get_type(value) == MCP_JSON_OBJECT ? value : NULL;
}

/* Take one member; NULL, or what is wrong with it. */
static const char *
meta_take(struct mcpi_meta *meta, enum key key, const mcp_json *value)
{
    switch (key) {
    case VERSION:
        meta->version = plain_text(value);
        return meta->version ? NULL : KEY_VERSION " must be a string";
    case CLIENT_INFO:
        meta->client_info = object_or_null(value);
        return meta->client_info ? NULL : KEY_CLIENT_INFO " must be an object";
    case CLIENT_CAPABILITIES:
        meta->client_capabilities = object_or_null(value);
        return meta->client_capabilities ? NULL
                                         : KEY_CLIENT_CAPABILITIES " must be an object";
    case LOG_LEVEL:
        meta->log_level = plain_text(value);
        return meta->log_level ? NULL : KEY_LOG_LEVEL " must be a string";
    case SUBSCRIPTION_ID:
        meta->subscription_id = mcpi_id_read(value);
        break;
    case PROGRESS_TOKEN:
        meta->progress_token = mcpi_id_read(value);
        break;
    case OTHER:
        break;
    }
    return NULL;
}

int
mcpi_meta_read(const mcp_json *params, struct mcpi_meta *ret, const char **ret_fault)
{
    const mcp_json *object = mcp_json_get(params, "_meta");
    struct mcpi_meta meta = {.object = object};
    const char *fault = NULL;
    mcp_json_iterator it;
    enum key key;

    if (object && mcp_json_get_type(object) != MCP_JSON_OBJECT)
        fault = "_meta must be an object";
    else if (mcpi_json_has_duplicates(object))
        fault = "_meta names a key twice";
    for (it = mcp_json_each(object); !fault && mcp_json_next(&it);) {
        key = key_find(mcp_json_string(it.key, ""), mcp_json_string_length(it.key));
        fault = meta_take(&meta, key, it.value);
    }
    if (fault) {
        *ret_fault = fault;
        return MCP_E_PROTO;
    }
    *ret = meta;
    return 0;
}

/* Begin the next member: `,"key":`, without the comma for the first. */
static void
member_begin(struct mcpi_buf *buf, bool *first, const char *quoted_key)
{
    if (!*first)
        mcpi_buf_char(buf, ',');
    *first = false;
    mcpi_buf_text(buf, quoted_key);
    mcpi_buf_char(buf, ':');
}

static void
string_write(struct mcpi_buf *buf, const char *text)
{
    int r = mcpi_json_write_string(buf, text, strlen(text));

    assert(r != MCP_E_INVAL);
    (void)r; /* what else can fail is the buffer's, and stays there */
}

bool
mcpi_meta_write(struct mcpi_buf *buf, const struct mcpi_stamp *stamp)
{
    const char *members;
    size_t len;
    bool first;

    mcpi_members(stamp->members, stamp->members_len, &members, &len);
    if (len == 0 && !stamp->version && !stamp->progress_token)
        return false;
    MCPI_BUF_LITERAL(buf, "\"_meta\":{");
    mcpi_buf_append(buf, members, len);
    first = len == 0;
    if (stamp->version) {
        member_begin(buf, &first, "\"" KEY_VERSION "\"");
        string_write(buf, stamp->version);
        if (stamp->client_info) {
            member_begin(buf, &first, "\"" KEY_CLIENT_INFO "\"");
            mcpi_buf_text(buf, stamp->client_info);
        }
        member_begin(buf, &first, "\"" KEY_CLIENT_CAPABILITIES "\"");
        mcpi_buf_text(buf,
                      stamp->client_capabilities ? stamp->client_capabilities : "{}");
        if (stamp->log_level) {
            member_begin(buf, &first, "\"" KEY_LOG_LEVEL "\"");
            string_write(buf, stamp->log_level);
        }
    }
    if (stamp->progress_token) {
        member_begin(buf, &first, "\"" KEY_PROGRESS_TOKEN "\"");
        mcpi_id_write(buf, stamp->progress_token);
    }
    mcpi_buf_char(buf, '}');
    return true;
}

void
mcpi_meta_write_result(struct mcpi_buf *buf, const char *members, size_t len,
                       const char *server_info)
{
    bool first;

    mcpi_members(members, len, &members, &len);
    MCPI_BUF_LITERAL(buf, "\"_meta\":{");
    mcpi_buf_append(buf, members, len);
    first = len == 0;
    member_begin(buf, &first, "\"" KEY_SERVER_INFO "\"");
    mcpi_buf_text(buf, server_info);
    mcpi_buf_char(buf, '}');
}

void
mcpi_meta_write_subscription(struct mcpi_buf *buf, const struct mcpi_id *id)
{
    MCPI_BUF_LITERAL(buf, "{\"" KEY_SUBSCRIPTION_ID "\":");
    mcpi_id_write(buf, id);
    mcpi_buf_char(buf, '}');
}

bool
mcpi_meta_reserved(const char *key, size_t len)
{
    return key_find(key, len) != OTHER || (len == sizeof(KEY_SERVER_INFO) - 1 &&
                                           memcmp(key, KEY_SERVER_INFO, len) == 0);
}

void
mcpi_members(const char *object, size_t len, const char **ret, size_t *ret_len)
{
    if (len == 0) {
        *ret = "";
        *ret_len = 0;
        return;
    }
    assert(len >= 2 && object[0] == '{' && object[len - 1] == '}');
    *ret = object + 1;
    *ret_len = len - 2;
}
