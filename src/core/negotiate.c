/* negotiate.c - how a client finds out which era its server speaks */
#include "core/negotiate.h"

#include <string.h>

#include "core/leg.h"
#include "core/note.h"
#include "core/versions.h"

static int negotiate_legacy(struct mcpi_peer *peer, const char *version);

static void
negotiate_tell(struct mcpi_peer *peer, int status, const struct mcpi_rpc *reply)
{
    const struct mcpi_router *router = peer->engine->router;
    void *user = peer->engine->router_user;
    bool again = peer->negotiated;

    peer->negotiated = true;
    if (!again && router->ready)
        router->ready(user, peer, status, reply);
    if (again && status == 0 && router->renewed)
        router->renewed(user, peer, reply);
}

/* Before the calls that wait can notice: they end CLOSED, and this tells why. */
static void
negotiate_fail(struct mcpi_peer *peer, int status, const struct mcpi_rpc *reply)
{
    if (peer->negotiated)
        MCPI_LOG(&peer->engine->log, MCP_LOG_WARNING,
                 "the server could not be greeted again: %s%s%s",
                 mcp_status_text(status), peer->fault ? "; " : "",
                 peer->fault ? peer->fault->why : "");
    negotiate_tell(peer, status, reply);
    mcpi_peer_close(peer, peer->engine->now);
}

void
mcpi_negotiate_abort(struct mcpi_peer *peer, int status)
{
    if (peer->engine->role == MCPI_CLIENT && !peer->negotiated)
        negotiate_tell(peer, status, NULL);
}

/* Legacy servers wait for a word before they do more; it goes first, in the version
 * that was agreed, as does all that follows without a stamp (D1, E7). */
static int
negotiate_confirm(struct mcpi_peer *peer)
{
    if (peer->dialect->modern || peer->engine->era == MCPI_ERA_MANUAL)
        return 0;
    peer->spoken = peer->version;
    return mcpi_note_push_greeting(peer->outlet,
                                   mcpi_method_name(MCPI_METHOD_NOTE_INITIALIZED));
}

static void
negotiate_agree(struct mcpi_peer *peer, const struct mcpi_dialect *dialect,
                const char *version, const struct mcpi_rpc *reply)
{
    enum mcpi_peer_state before = peer->state;
    int r;

    peer->dialect = dialect;
    peer->version = version;
    r = negotiate_confirm(peer);
    if (peer->state != before)
        return; /* somebody closed it meanwhile */
    if (r < 0) {
        negotiate_fail(peer, r, NULL);
        return;
    }
    peer->agreed = true;
    peer->answered = false;
    mcpi_peer_become(peer, MCPI_PEER_READY);
    if (peer->ops->ready)
        peer->ops->ready(peer);
    if (!mcpi_outlet_is_empty(peer->outlet))
        peer->ops->wake(peer->outlet);
    negotiate_tell(peer, 0, reply);
}

static bool
negotiate_allows(const struct mcpi_peer *peer, enum mcpi_era era)
{
    return peer->engine->era == MCPI_ERA_BOTH || peer->engine->era == era;
}

static int
negotiate_open(struct mcpi_peer *peer, struct mcpi_leg_options *opt)
{
    struct mcpi_leg *leg;

    opt->negotiation = true;
    opt->owner_user = peer;
    return mcpi_leg_open(peer, opt, &leg);
}

/* ---- modern ---------------------------------------------------------------- */

/* Codes that no legacy server gives: whoever uses one speaks the modern era. */
static bool
is_modern_error(const struct mcpi_rpc *error)
{
    return error->error_code == MCPI_RPC_HEADER_MISMATCH ||
           error->error_code == MCPI_RPC_MISSING_CAPABILITY ||
           error->error_code == MCPI_RPC_UNSUPPORTED_VERSION;
}

/* Says nothing of the era: who may come in (401, 403, 407), how often (429), and a
 * server or a gateway that is down. */
static bool
is_neutral_status(int http)
{
    static const int neutral[] = {401, 403, 407, 429, 502, 503, 504};

    for (size_t i = 0; i < sizeof(neutral) / sizeof(neutral[0]); i++)
        if (http == neutral[i])
            return true;
    return false;
}

/* Does a legacy server end a probe like that? What is neither a list of versions nor an
 * error that only a modern server gives comes from one, whatever it is
 * (basic/versioning). */
static bool
is_legacy_end(const struct mcpi_peer *peer, int status)
{
    switch (status) {
    case MCP_E_PEER:
    case MCP_E_PROTO:
        return true;
    case MCP_E_HTTP:
        return !is_neutral_status(peer->fault->http); /* only the link says that */
    case MCP_E_TIMEOUT:
        return !peer->ops->hangup; /* X12 */
    default:
        return false;
    }
}

/* version: the legacy one to ask for. */
static void
negotiate_fall_back(struct mcpi_peer *peer, const char *version, int status,
                    const struct mcpi_rpc *reply)
{
    int r;

    if (!negotiate_allows(peer, MCPI_ERA_LEGACY)) {
        negotiate_fail(peer, status, reply);
        return;
    }
    r = negotiate_legacy(peer, version);
    if (r < 0 && peer->state == MCPI_PEER_NEGOTIATING)
        negotiate_fail(peer, r, NULL);
}

/* The server has listed what it speaks: the newest of ours in it, of the newer era. */
static void
negotiate_from_list(struct mcpi_peer *peer, const mcp_json *supported,
                    const struct mcpi_rpc *reply)
{
    const char *version = mcpi_version_choose(supported, true);

    if (version) {
        negotiate_agree(peer, &mcpi_dialect_modern, version, reply);
        return;
    }
    version = mcpi_version_choose(supported, false);
    if (version)
        negotiate_fall_back(peer, version, MCP_E_PROTO, reply);
    else
        negotiate_fail(peer, MCP_E_PROTO, reply);
}

static void
discover_conclude(struct mcpi_peer *peer, int status, const struct mcpi_rpc *answer)
{
    const mcp_json *supported = NULL;

    if (status == 0) {
        supported = mcp_json_get(answer->result, "supportedVersions");
        if (mcp_json_get_type(supported) != MCP_JSON_ARRAY)
            status = MCP_E_PROTO;
    }
    if (status == 0) {
        negotiate_from_list(peer, supported, answer);
    } else if (status == MCP_E_PEER &&
               answer->error_code == MCPI_RPC_UNSUPPORTED_VERSION) {
        negotiate_from_list(peer, mcp_json_get(answer->error_data, "supported"),
                            answer);
    } else if (status == MCP_E_PEER && is_modern_error(answer)) {
        negotiate_agree(peer, &mcpi_dialect_modern, peer->version, answer);
    } else if (is_legacy_end(peer, status)) {
        negotiate_fall_back(peer, MCPI_VERSION_LEGACY, status, answer);
    } else {
        negotiate_fail(peer, status, NULL);
    }
}

static void
discover_ended(void *user, struct mcpi_leg *leg, int status,
               const struct mcpi_rpc *answer)
{
    struct mcpi_peer *peer = user;

    if (peer->state != MCPI_PEER_NEGOTIATING)
        return; /* we close: the router hears of that */
    peer->fault = mcpi_leg_fault(leg);
    discover_conclude(peer, status, answer);
    peer->fault = NULL;
}

static const struct mcpi_leg_owner discover_owner = {.ended = discover_ended};

static int
negotiate_modern(struct mcpi_peer *peer)
{
    static const char name[] = "libmcp:discover"; /* cannot meet a minted id (A9) */
    struct mcpi_id id = mcpi_id_string(name, sizeof(name) - 1);
    struct mcpi_leg_options opt = {
        .id = &id,
        .method = mcpi_method_name(MCPI_METHOD_DISCOVER),
        .timeout_us = peer->engine->times.probe,
        .dialect = &mcpi_dialect_modern,
        .owner = &discover_owner,
    };

    peer->version = MCPI_VERSION_MODERN;
    return negotiate_open(peer, &opt);
}

/* ---- legacy ---------------------------------------------------------------- */

static void
initialize_conclude(struct mcpi_peer *peer, int status, const struct mcpi_rpc *answer)
{
    const mcp_json *said;
    const char *version;

    if (status < 0) {
        negotiate_fail(peer, status, answer);
        return;
    }
    said = mcp_json_get(answer->result, "protocolVersion");
    version = mcpi_version_find(mcp_json_string(said, NULL), false);
    if (!version) {
        negotiate_fail(peer, MCP_E_PROTO, answer);
        return;
    }
    negotiate_agree(peer, &mcpi_dialect_legacy, version, answer);
}

static void
initialize_ended(void *user, struct mcpi_leg *leg, int status,
                 const struct mcpi_rpc *answer)
{
    struct mcpi_peer *peer = user;

    if (peer->state != MCPI_PEER_NEGOTIATING)
        return; /* we close: the router hears of that */
    peer->fault = mcpi_leg_fault(leg);
    initialize_conclude(peer, status, answer);
    peer->fault = NULL;
}

static const struct mcpi_leg_owner initialize_owner = {.ended = initialize_ended};

static int
negotiate_legacy(struct mcpi_peer *peer, const char *version)
{
    struct mcpi_engine *e = peer->engine;
    /* Never minted, so in hardly anybody's way; not all old servers take texts. */
    struct mcpi_id id = mcpi_id_int(0);
    struct mcpi_leg_options opt = {
        .id = mcpi_leg_find_any(peer, &id) ? NULL : &id,
        .method = mcpi_method_name(MCPI_METHOD_INITIALIZE),
        .timeout_us = e->times.hello,
        .dialect = &mcpi_dialect_legacy,
        .owner = &initialize_owner,
    };

    peer->fault = NULL; /* of the probe: it does not say how this one fails */
    mcpi_buf_clear(&e->scratch);
    MCPI_BUF_LITERAL(&e->scratch, "{\"protocolVersion\":\"");
    mcpi_buf_text(&e->scratch, version);
    MCPI_BUF_LITERAL(&e->scratch, "\",\"capabilities\":");
    mcpi_buf_text(&e->scratch, e->legacy_capabilities);
    MCPI_BUF_LITERAL(&e->scratch, ",\"clientInfo\":");
    mcpi_buf_text(&e->scratch, e->info);
    mcpi_buf_char(&e->scratch, '}');
    if (e->scratch.status < 0)
        return e->scratch.status;
    opt.params = e->scratch.data;
    opt.params_len = e->scratch.len;
    peer->dialect = &mcpi_dialect_legacy; /* a server may ping before it has answered */
    return negotiate_open(peer, &opt);
}

void
mcpi_negotiate_again(struct mcpi_peer *peer, const char *version)
{
    int r;

    r = negotiate_legacy(peer, version);
    if (r < 0 && peer->state == MCPI_PEER_NEGOTIATING)
        negotiate_fail(peer, r, NULL);
}

int
mcpi_peer_connect(struct mcpi_peer *peer, int64_t now)
{
    int r;

    mcpi_engine_at(peer->engine, now);
    if (peer->engine->role != MCPI_CLIENT || peer->state != MCPI_PEER_FRESH)
        return MCP_E_STATE;
    if (peer->engine->era == MCPI_ERA_MANUAL) {
        negotiate_agree(peer, &mcpi_dialect_legacy, MCPI_VERSION_LEGACY, NULL);
        return 0;
    }
    mcpi_peer_become(peer, MCPI_PEER_NEGOTIATING);
    r = negotiate_allows(peer, MCPI_ERA_MODERN)
            ? negotiate_modern(peer)
            : negotiate_legacy(peer, MCPI_VERSION_LEGACY);
    if (r < 0 && peer->state == MCPI_PEER_NEGOTIATING)
        mcpi_peer_become(peer, MCPI_PEER_FRESH);
    return r;
}

int
mcpi_peer_adopt(struct mcpi_peer *peer, const mcp_json *discovery, int64_t now)
{
    const mcp_json *supported = mcp_json_get(discovery, "supportedVersions");
    const char *version = mcpi_version_choose(supported, true);

    mcpi_engine_at(peer->engine, now);
    if (peer->engine->role != MCPI_CLIENT || peer->state != MCPI_PEER_FRESH)
        return MCP_E_STATE;
    if (!version || !negotiate_allows(peer, MCPI_ERA_MODERN))
        return MCP_E_PROTO;
    negotiate_agree(peer, &mcpi_dialect_modern, version, NULL);
    return 0;
}
