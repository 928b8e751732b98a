/* dialect_modern.c - 2026-07-28: every request introduces itself */
#include "core/dialect.h"

#include <string.h>

#include "base/text.h"
#include "core/peer.h"
#include "core/versions.h"
#include "wire/severity.h"

#define REQUESTED_MAX 64 /* bytes echoed of a version that is none of ours */

/* {"supported":[...],"requested":"..."}; what does not fit is left out. */
static void
write_supported(struct mcpi_engine *e, const char *requested, struct mcpi_refusal *why)
{
    struct mcpi_buf *buf = &e->scratch;
    char shown[REQUESTED_MAX + 1];
    size_t len;

    len = mcpi_text_clean(shown, sizeof(shown), requested, strlen(requested));
    mcpi_buf_clear(buf);
    MCPI_BUF_LITERAL(buf, "{\"supported\":");
    mcpi_version_write(buf, e->era != MCPI_ERA_LEGACY, e->era != MCPI_ERA_MODERN);
    MCPI_BUF_LITERAL(buf, ",\"requested\":");
    (void)mcpi_json_write_string(buf, shown,
                                 len); /* clean text: only memory can fail */
    mcpi_buf_char(buf, '}');
    mcpi_buf_char(buf, '\0');
    if (buf->status == 0 && buf->len <= sizeof(why->data))
        memcpy(why->data, buf->data, buf->len);
}

int
mcpi_dialect_refuse_version(struct mcpi_engine *e, const char *requested,
                            struct mcpi_refusal *why)
{
    mcpi_refuse(why, MCPI_RPC_UNSUPPORTED_VERSION, "Unsupported protocol version");
    write_supported(e, requested, why);
    return MCP_E_PROTO;
}

static int
modern_admit(struct mcpi_peer *peer, const struct mcpi_rpc *rpc,
             const struct mcpi_meta *meta, struct mcpi_caller *into,
             struct mcpi_refusal *why)
{
    const char *version = mcpi_version_find(meta->version, true);

    (void)rpc;
    if (!version)
        return mcpi_dialect_refuse_version(peer->engine, meta->version, why);
    if (!meta->client_capabilities) {
        mcpi_refuse(why, MCPI_RPC_INVALID_PARAMS,
                    "Invalid params: _meta names no client capabilities");
        return MCP_E_PROTO;
    }
    if (meta->log_level &&
        mcpi_severity_find(meta->log_level, strlen(meta->log_level)) == 0) {
        mcpi_refuse(why, MCPI_RPC_INVALID_PARAMS,
                    "Invalid params: _meta names a log level that is none");
        return MCP_E_PROTO;
    }
    into->dialect = &mcpi_dialect_modern;
    into->version = version;
    into->info = meta->client_info;
    into->capabilities = meta->client_capabilities;
    into->log_level = meta->log_level;
    into->progress_token = meta->progress_token;
    into->askable = true; /* by the answer */
    return 0;
}

static void
modern_stamp(const struct mcpi_peer *peer, struct mcpi_stamp *into)
{
    into->version = peer->version;
    into->client_info = peer->engine->info;
    into->client_capabilities = peer->engine->capabilities;
}

static void
modern_write_result(const struct mcpi_engine *e, const struct mcpi_result *result,
                    bool comma, struct mcpi_buf *into)
{
    if (comma)
        mcpi_buf_char(into, ',');
    MCPI_BUF_LITERAL(into, "\"resultType\":\"");
    mcpi_buf_text(into, result->type ? result->type : "complete");
    MCPI_BUF_LITERAL(into, "\",");
    mcpi_meta_write_result(into, result->meta.data, result->meta.len, e->info);
}

const struct mcpi_dialect mcpi_dialect_modern = {
    .name = "modern",
    .modern = true,
    .asks_back = false,
    .closed_code = MCPI_RPC_INTERNAL_ERROR, /* -32000 and its like are not to be used */
    .admit = modern_admit,
    .stamp = modern_stamp,
    .write_result = modern_write_result,
};
