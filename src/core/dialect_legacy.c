/* dialect_legacy.c - 2025-11-25 and before: one handshake, then both sides ask */
#include "core/dialect.h"
#include "core/peer.h"
#include "core/versions.h"

/* A server that serves only the modern era says so in a way that a legacy client can
 * show its user (basic/versioning). */
static int
refuse_era(struct mcpi_peer *peer, const struct mcpi_rpc *rpc, struct mcpi_refusal *why)
{
    const mcp_json *wanted = mcp_json_get(rpc->params, "protocolVersion");

    if (rpc->method == MCPI_METHOD_INITIALIZE)
        return mcpi_dialect_refuse_version(peer->engine, mcp_json_string(wanted, ""),
                                           why);
    mcpi_refuse(why, MCPI_RPC_INVALID_PARAMS,
                "Invalid params: _meta names no protocol version");
    return MCP_E_PROTO;
}

/* May this method come before the handshake? */
static bool
is_early(enum mcpi_method method)
{
    return method == MCPI_METHOD_INITIALIZE || method == MCPI_METHOD_PING;
}

static int
legacy_admit(struct mcpi_peer *peer, const struct mcpi_rpc *rpc,
             const struct mcpi_meta *meta, struct mcpi_caller *into,
             struct mcpi_refusal *why)
{
    bool server = peer->engine->role == MCPI_SERVER;

    if (server && peer->engine->era == MCPI_ERA_MODERN)
        return refuse_era(peer, rpc, why);
    if (server && !peer->initialized && !(peer->traits & MCPI_STATELESS) &&
        !is_early(rpc->method)) {
        mcpi_refuse(
            why, MCPI_RPC_INVALID_PARAMS,
            "Invalid params: no protocol version in _meta, and not initialized");
        return MCP_E_PROTO;
    }
    into->dialect = &mcpi_dialect_legacy;
    into->version = peer->version ? peer->version : MCPI_VERSION_LEGACY;
    into->info = peer->info;
    into->capabilities = peer->capabilities;
    into->log_level = peer->log_level;
    into->progress_token = meta->progress_token;
    into->askable = !(peer->traits & (MCPI_NO_REQUESTS | MCPI_STATELESS));
    return 0;
}

static void
legacy_stamp(const struct mcpi_peer *peer, struct mcpi_stamp *into)
{
    (void)peer;
    (void)into; /* nothing but the token, if there is one */
}

static void
legacy_write_result(const struct mcpi_engine *e, const struct mcpi_result *result,
                    bool comma, struct mcpi_buf *into)
{
    (void)e;
    if (result->meta.len == 0)
        return;
    if (comma)
        mcpi_buf_char(into, ',');
    MCPI_BUF_LITERAL(into, "\"_meta\":");
    mcpi_buf_append(into, result->meta.data, result->meta.len);
}

const struct mcpi_dialect mcpi_dialect_legacy = {
    .name = "legacy",
    .modern = false,
    .asks_back = true,
    .closed_code = MCPI_RPC_CONNECTION_CLOSED,
    .admit = legacy_admit,
    .stamp = legacy_stamp,
    .write_result = legacy_write_result,
};
