/* welcome.c - how a server receives a client: initialize, server/discover, ping */
#include "core/welcome.h"

#include "base/budget.h"
#include "core/peer.h"
#include "core/versions.h"

static void
write_instructions(const struct mcpi_engine *e, struct mcpi_buf *body)
{
    if (!e->instructions)
        return;
    MCPI_BUF_LITERAL(body, ",\"instructions\":");
    mcpi_buf_text(body, e->instructions);
}

/* Also the second client behind a bridge that puts all its clients on one pipe: from now
 * on it counts. What runs keeps the one that it began with: each exchange has a reference
 * of its own. Log level and subscriptions stay, the first client may still want them. The
 * document lasts as long as the session, so it is charged once more than its request.
 * False: that does not fit. */
static bool
remember_client(struct mcpi_exchange *x, const char *version)
{
    struct mcpi_peer *peer = x->peer;
    size_t held = mcpi_doc_bytes(peer->hello);

    if (!mcpi_account_change(peer->outlet->account, MCPI_HELD_BYTES, &held,
                             mcpi_doc_bytes(x->doc)))
        return false;
    mcp_doc_free(peer->hello);
    peer->hello = mcp_doc_ref(x->doc);
    peer->info = mcp_json_get(x->rpc.params, "clientInfo");
    peer->capabilities = mcp_json_get(x->rpc.params, "capabilities");
    peer->dialect = &mcpi_dialect_legacy;
    peer->version = version;
    peer->initialized = true;
    return true;
}

static void
initialize_write(const struct mcpi_engine *e, const char *version,
                 struct mcpi_buf *body)
{
    MCPI_BUF_LITERAL(body, "{\"protocolVersion\":\"");
    mcpi_buf_text(body, version);
    MCPI_BUF_LITERAL(body, "\",\"capabilities\":");
    mcpi_buf_text(body, e->capabilities);
    MCPI_BUF_LITERAL(body, ",\"serverInfo\":");
    mcpi_buf_text(body, e->info);
    write_instructions(e, body);
    mcpi_buf_char(body, '}');
}

static void
initialize_begin(struct mcpi_exchange *x)
{
    const mcp_json *wanted = mcp_json_get(x->rpc.params, "protocolVersion");
    const char *version = mcpi_version_find(mcp_json_string(wanted, NULL), false);
    struct mcpi_result result;

    mcpi_result_init(&result, x->engine);
    if (mcp_json_get_type(wanted) != MCP_JSON_STRING) {
        mcpi_result_error(&result, MCPI_RPC_INVALID_PARAMS,
                          "Invalid params: protocolVersion must be a string");
    } else {
        version = version ? version : MCPI_VERSION_LEGACY;
        initialize_write(x->engine, version, &result.body);
        /* Whoever comes next is somebody else, as far as we can know (D16). */
        if (result.body.status == 0 && !(x->peer->traits & MCPI_STATELESS) &&
            !remember_client(x, version))
            mcpi_result_error(&result, MCPI_RPC_INTERNAL_ERROR,
                              "Too much memory is in use for this client");
    }
    mcpi_exchange_finish(x, &result, x->engine->now);
}

static void
discover_begin(struct mcpi_exchange *x)
{
    struct mcpi_result result;

    mcpi_result_init(&result, x->engine);
    MCPI_BUF_LITERAL(&result.body, "{\"supportedVersions\":");
    /* The same as in the error for a version that is none of them (-32022). */
    mcpi_version_write(&result.body, true, x->engine->era != MCPI_ERA_MODERN);
    MCPI_BUF_LITERAL(&result.body, ",\"capabilities\":");
    mcpi_buf_text(&result.body, x->engine->capabilities);
    write_instructions(x->engine, &result.body);
    /* What a server can do may change with its next release, and with who asks. */
    MCPI_BUF_LITERAL(&result.body, ",\"ttlMs\":0,\"cacheScope\":\"private\"}");
    mcpi_exchange_finish(x, &result, x->engine->now);
}

static void
ping_begin(struct mcpi_exchange *x)
{
    struct mcpi_result result;

    mcpi_result_init(&result, x->engine);
    MCPI_BUF_LITERAL(&result.body, "{}");
    mcpi_exchange_finish(x, &result, x->engine->now);
}

static const struct mcpi_served_ops initialize_ops = {.begin = initialize_begin};
static const struct mcpi_served_ops discover_ops = {.begin = discover_begin};
static const struct mcpi_served_ops ping_ops = {.begin = ping_begin};

bool
mcpi_welcome_route(struct mcpi_exchange *x)
{
    bool modern = x->caller.dialect->modern;
    bool server = x->engine->role == MCPI_SERVER;
    const struct mcpi_served_ops *ops = NULL;

    if (x->rpc.method == MCPI_METHOD_INITIALIZE && !modern && server)
        ops = &initialize_ops;
    else if (x->rpc.method == MCPI_METHOD_DISCOVER && modern && server)
        ops = &discover_ops;
    else if (x->rpc.method == MCPI_METHOD_PING && !modern)
        ops = &ping_ops;
    if (ops)
        mcpi_exchange_serve(x, ops, NULL);
    return ops != NULL;
}
