/*
 * http_post.c - what a request is: its era, its peer, and whether it is served
 *
 * The era is decided by the MCP-Protocol-Version header and the stamp in _meta:
 *
 *   header         stamp       what                                     it is
 *   any            any         initialize, unless both say modern       legacy
 *   modern         the same    anything                                 modern
 *   unknown        the same    anything                                 core: -32022
 *   another, none  any         anything                                 400 -32020
 *   modern         none        a request                                400 -32602
 *   unknown        none        anything                                 400 -32022
 *   legacy, none   none        anything                                 legacy
 *
 * That a header does not say what the message says is found before a version that is
 * not served (2026-07-28, transports/streamable-http, Server Validation).
 */
#include <string.h>

#include "link/http_2024.h"
#include "link/http_session.h"
#include "wire/meta.h"
#include "wire/mirror.h"
#include "wire/rpc.h"
#include "json/value.h"

/* What a client speaks that says nothing of it (2025-11-25, basic/transports, Protocol
 * Version Header). */
#define VERSION_UNSAID "2025-03-26"

#define WHY_SIZE 200

struct post {
    struct mcpi_endpoint *endpoint;
    struct mcpi_turn *turn;
    const struct mcpi_http_in *in;
    const struct mcpi_http_known *known;
    const struct mcpi_http_who *who;
    mcp_doc *doc; /* NULL: somebody else's now */
    struct mcpi_rpc rpc;
    const char *header;  /* MCP-Protocol-Version, or NULL */
    const char *version; /* our constant for it; NULL: none, or unknown */
    const char *stamp;   /* of _meta, or NULL */
    bool modern_header;
    struct mcpi_arrival arrival; /* as it is handed up */
};

/* ---- answers --------------------------------------------------------------- */

/* The id that an error has; NONE also for what is an answer itself. */
static struct mcpi_id
post_id(const struct post *post)
{
    static const struct mcpi_id none = {0};

    return post->rpc.method_name || post->rpc.fault_answerable ? post->rpc.id : none;
}

/* Always false, for who returns it. */
static bool
post_refuse(const struct post *post, int status, int code, const char *message)
{
    const struct mcpi_id id = post_id(post);

    mcpi_endpoint_refuse(post->endpoint, post->turn, status, &id, code, message);
    return false;
}

static bool
post_refuse_memory(const struct post *post)
{
    return post_refuse(post, 503, MCPI_RPC_INTERNAL_ERROR, "Out of memory");
}

static bool
post_refuse_version(const struct post *post)
{
    struct mcpi_buf *buf = &post->endpoint->refusal;
    struct mcpi_http_out out = {.status = 400, .type = "application/json"};
    const struct mcpi_id id = post_id(post);

    mcpi_buf_clear(buf);
    mcpi_engine_refuse_version(post->endpoint->engine, &id, post->header, buf);
    if (buf->status < 0)
        return post_refuse_memory(post);
    mcpi_endpoint_log_refusal(post->endpoint, post->in->address, out.status,
                              "Unsupported protocol version");
    out.body = buf->data;
    out.body_len = buf->len;
    (void)mcpi_turn_reply(post->turn, &out); /* the carrier keeps what has not left */
    return false;
}

static void
turn_accept(struct mcpi_turn *turn, int status)
{
    const struct mcpi_http_out out = {.status = status};

    (void)mcpi_turn_reply(turn, &out); /* the carrier keeps what has not left */
}

/* ---- reading --------------------------------------------------------------- */

static bool
post_parse(struct post *post)
{
    const struct mcpi_endpoint *endpoint = post->endpoint;
    const struct mcpi_json_limits limits = {mcpi_engine_max_bytes(endpoint->engine),
                                            mcpi_engine_max_depth(endpoint->engine)};
    const struct mcpi_http_in *in = post->in;
    int r;

    r = mcpi_rpc_parse(endpoint->mem, in->body, in->body_len, &limits, &post->rpc);
    if (r == MCP_E_NOMEM)
        return post_refuse_memory(post);
    post->doc = post->rpc.doc;
    if (r == MCP_E_LIMIT && in->body_len > limits.max_bytes)
        return post_refuse(post, 413, post->rpc.fault, post->rpc.fault_text);
    return true;
}

static void
post_read_version(struct post *post)
{
    const mcp_json *meta = mcp_json_get(post->rpc.params, "_meta");

    post->header = post->known->value[MCPI_HTTP_VERSION];
    post->stamp = mcp_json_string(mcp_json_get(meta, MCPI_META_VERSION), NULL);
    if (post->header)
        post->version = mcpi_engine_version(post->endpoint->engine, post->header,
                                            &post->modern_header);
}

/* ---- the era --------------------------------------------------------------- */

enum era { REFUSED, MODERN, LEGACY };

static enum era
post_refuse_header(const struct post *post, const char *why)
{
    (void)post_refuse(post, 400, MCPI_RPC_HEADER_MISMATCH, why);
    return REFUSED;
}

/* The handshake is the legacy era's; whoever says twice that it is modern asks for a
 * method which that era does not have. */
static enum era
post_initialize_era(const struct post *post)
{
    if (!post->modern_header || !post->stamp)
        return LEGACY;
    (void)post_refuse(post, 404, MCPI_RPC_METHOD_NOT_FOUND, "Method not found");
    return REFUSED;
}

static enum era
post_stamped_era(const struct post *post)
{
    if (!post->header)
        return post_refuse_header(post,
                                  "Header mismatch: MCP-Protocol-Version is missing");
    if (strcmp(post->header, post->stamp) != 0)
        return post_refuse_header(post,
                                  "Header mismatch: MCP-Protocol-Version is not what "
                                  "_meta says");
    return MODERN;
}

static enum era
post_unstamped_era(const struct post *post)
{
    bool request = post->rpc.kind == MCPI_RPC_REQUEST;

    if (post->header && !post->version) {
        (void)post_refuse_version(post);
        return REFUSED;
    }
    if (post->modern_header && request) {
        (void)post_refuse(post, 400, MCPI_RPC_INVALID_PARAMS,
                          "Invalid params: _meta names no protocol version");
        return REFUSED;
    }
    if (post->modern_header)
        return MODERN;
    if (post->endpoint->opt.legacy)
        return LEGACY;
    if (request)
        return post_refuse_header(post,
                                  "Header mismatch: MCP-Protocol-Version is missing");
    return MODERN; /* which headers a notification has is not said */
}

static enum era
post_era(const struct post *post)
{
    if (post->known->count[MCPI_HTTP_VERSION] > 1)
        return post_refuse_header(post,
                                  "Header mismatch: MCP-Protocol-Version stands twice");
    if (post->rpc.method == MCPI_METHOD_INITIALIZE)
        return post_initialize_era(post);
    if (post->stamp && post->endpoint->opt.modern)
        return post_stamped_era(post);
    return post_unstamped_era(post);
}

/* ---- handing it up --------------------------------------------------------- */

static void
post_receive(struct post *post, struct mcpi_peer *peer, struct mcpi_outlet *outlet,
             const char *version)
{
    post->arrival.take_doc = post->doc;
    post->arrival.rpc = &post->rpc;
    post->arrival.outlet = outlet;
    post->arrival.version = version;
    post->arrival.principal = *post->who->principal ? post->who->principal : NULL;
    post->arrival.scope = post->who->scope;
    post->arrival.claims = post->who->claims;
    post->doc = NULL;
    mcpi_peer_receive(peer, &post->arrival, mcpi_loop_now(post->endpoint->loop));
}

/* A request gets a stream of its own. */
static bool
post_open(struct post *post, struct mcpi_http_stream_options *opt, const char *version)
{
    const struct mcpi_endpoint *endpoint = post->endpoint;
    bool listens = post->rpc.method == MCPI_METHOD_LISTEN;
    unsigned accepts = mcpi_http_accepts(post->in, post->known);
    struct mcpi_http_stream *stream;

    opt->endpoint = post->endpoint;
    opt->turn = post->turn;
    opt->may_json = (accepts & MCPI_HTTP_JSON) != 0;
    opt->may_sse = (accepts & MCPI_HTTP_SSE) != 0;
    if (endpoint->http->json && !listens)
        opt->may_sse = false; /* a listen is a stream or nothing (H22) */
    if (listens ? !opt->may_sse : !opt->may_sse && !opt->may_json)
        return post_refuse(post, 406, MCPI_RPC_INVALID_REQUEST,
                           "Not acceptable: Accept does not allow what the answer is");
    opt->resumable = opt->session && opt->may_sse && endpoint->http->store;
    if (mcpi_endpoint_keep_headers(post->endpoint, post->in, &post->arrival) < 0 ||
        mcpi_http_stream_new(opt, &stream) < 0)
        return post_refuse_memory(post);
    mcpi_outlet_set_account(stream->outlet, post->who->account);
    post_receive(post, opt->peer, stream->outlet, version);
    return true;
}

/* Has its client room for it? */
static bool
post_check_share(const struct post *post)
{
    if (!mcpi_account_has_room(post->who->account, MCPI_HELD_BYTES,
                               mcpi_doc_bytes(post->doc)))
        return post_refuse(post, 503, MCPI_RPC_INTERNAL_ERROR,
                           "Too much memory is in use for this client");
    return true;
}

/* One of the two peers that all share, or nothing: it could not be made anew. */
static bool
post_check_shared(const struct post *post, const struct mcpi_peer *peer)
{
    if (!peer || !mcpi_peer_has_room(peer) ||
        !mcpi_account_has_room(post->who->account, MCPI_HELD_REQUESTS, 1))
        return post_refuse(post, 503, MCPI_RPC_INTERNAL_ERROR,
                           "Too many requests in flight");
    return true;
}

/* ---- modern ---------------------------------------------------------------- */

static bool
post_check_method(const struct post *post)
{
    const char *said = post->known->value[MCPI_HTTP_MCP_METHOD];
    size_t len = said ? strlen(said) : 0;

    if (!said || post->known->count[MCPI_HTTP_MCP_METHOD] != 1)
        return post_refuse(post, 400, MCPI_RPC_HEADER_MISMATCH,
                           "Header mismatch: Mcp-Method must stand once");
    if (len != post->rpc.method_len || memcmp(said, post->rpc.method_name, len) != 0)
        return post_refuse(post, 400, MCPI_RPC_HEADER_MISMATCH,
                           "Header mismatch: Mcp-Method is not the method");
    return true;
}

/* What Mcp-Name repeats: a constant key of params, or NULL. */
static const char *
name_key(enum mcpi_method method)
{
    if (method == MCPI_METHOD_TOOLS_CALL || method == MCPI_METHOD_PROMPTS_GET)
        return "name";
    return method == MCPI_METHOD_RESOURCES_READ ? "uri" : NULL;
}

static bool
post_check_name(const struct post *post)
{
    const char *key = name_key(post->rpc.method);
    unsigned count = post->known->count[MCPI_HTTP_MCP_NAME];
    const char *said = post->known->value[MCPI_HTTP_MCP_NAME];
    const mcp_json *name;
    int r;

    if (!key)
        return true;
    name = mcp_json_get(post->rpc.params, key);
    if (!name && count == 0)
        return true; /* whoever reads the parameters says what is missing */
    if (count != 1)
        return post_refuse(post, 400, MCPI_RPC_HEADER_MISMATCH,
                           "Header mismatch: Mcp-Name must stand once");
    r = mcpi_mirror_compare(post->endpoint->mem, said, strlen(said), name);
    if (r == MCP_E_NOMEM)
        return post_refuse_memory(post);
    if (r < 0)
        return post_refuse(post, 400, MCPI_RPC_HEADER_MISMATCH,
                           "Header mismatch: Mcp-Name is not what params say");
    return true;
}

static bool
post_check_params(const struct post *post)
{
    const struct mcpi_endpoint_options *opt = &post->endpoint->opt;
    const mcp_json *params = post->rpc.params;
    char why[WHY_SIZE] = "Header mismatch";
    const char *tool;
    int r;

    if (!opt->check_params || post->rpc.method != MCPI_METHOD_TOOLS_CALL)
        return true;
    tool = mcp_json_string(mcp_json_get(params, "name"), NULL);
    if (!tool)
        return true;
    r = opt->check_params(opt->user, tool, mcp_json_get(params, "arguments"), post->in,
                          why, sizeof(why));
    if (r == MCP_E_NOMEM)
        return post_refuse_memory(post);
    if (r < 0) {
        (void)mcpi_text_clean(why, sizeof(why), why, strlen(why));
        return post_refuse(post, 400, MCPI_RPC_HEADER_MISMATCH, why);
    }
    return true;
}

static bool
post_modern_request(struct post *post)
{
    struct mcpi_endpoint *endpoint = post->endpoint;
    struct mcpi_http_stream_options opt = {.peer = mcpi_endpoint_anonymous(endpoint)};

    /* What a version that we do not serve has in its headers is not ours to say. */
    if (post->modern_header &&
        !(post_check_method(post) && post_check_name(post) && post_check_params(post)))
        return false;
    return post_check_share(post) && post_check_shared(post, opt.peer) &&
           post_open(post, &opt, NULL);
}

/* Nobody is canceled by an id that a client chose (E24). */
static bool
post_shared_note(struct post *post, struct mcpi_peer *peer, const char *version)
{
    if (peer && post->rpc.method != MCPI_METHOD_NOTE_CANCELED)
        post_receive(post, peer, NULL, version);
    turn_accept(post->turn, 202);
    return true;
}

static bool
post_modern(struct post *post)
{
    if (post->rpc.kind == MCPI_RPC_REQUEST)
        return post_modern_request(post);
    if (post->rpc.kind == MCPI_RPC_NOTIFICATION)
        return post_shared_note(post, mcpi_endpoint_anonymous(post->endpoint), NULL);
    return post_refuse(post, 400, MCPI_RPC_INVALID_REQUEST,
                       "Invalid request: nothing was asked that this could answer");
}

/* ---- legacy, without sessions ---------------------------------------------- */

static bool
post_stateless(struct post *post)
{
    struct mcpi_endpoint *endpoint = post->endpoint;
    struct mcpi_http_stream_options opt = {.peer = mcpi_endpoint_stateless(endpoint)};
    const char *version = post->version;
    bool modern;

    if (!version)
        version = mcpi_engine_version(endpoint->engine, VERSION_UNSAID, &modern);
    if (post->rpc.kind == MCPI_RPC_NOTIFICATION)
        return post_shared_note(post, opt.peer, version);
    if (post->rpc.kind != MCPI_RPC_REQUEST)
        return post_refuse(post, 400, MCPI_RPC_INVALID_REQUEST,
                           "Invalid request: nothing was asked that this could answer");
    return post_check_share(post) && post_check_shared(post, opt.peer) &&
           post_open(post, &opt, version);
}

/* ---- legacy, with sessions ------------------------------------------------- */

/* A refused handshake leaves no session, and its answer names none. */
static void
session_abandon(struct mcpi_session *session)
{
    struct mcpi_list *node = mcpi_list_first(&session->streams);

    if (node)
        MCPI_CONTAINER(node, struct mcpi_http_stream, in_session)->says_session = false;
    mcpi_session_end(session, "initialize was refused");
}

static bool
post_initialize(struct post *post)
{
    struct mcpi_http_stream_options opt = {0};
    struct mcpi_session *session;
    int r;

    r = mcpi_session_new(post->endpoint, post->who, &session);
    if (r == MCP_E_LIMIT)
        return post_refuse(post, 503, MCPI_RPC_INTERNAL_ERROR, "Too many sessions");
    if (r < 0)
        return post_refuse_memory(post);
    opt.session = session;
    opt.peer = session->peer;
    opt.say_session = session->id;
    if (!post_open(post, &opt, NULL)) {
        mcpi_session_end(session, "initialize was refused");
        return false;
    }
    if (*mcpi_peer_agreed_version(session->peer))
        mcpi_session_begun(session);
    else if (mcpi_peer_is_idle(session->peer))
        session_abandon(session);
    return true;
}

/* The session that a request names, or NULL: it was refused. */
static struct mcpi_session *
session_named(struct post *post)
{
    const char *id = post->known->value[MCPI_HTTP_SESSION];
    struct mcpi_session *session;

    if (post->known->count[MCPI_HTTP_SESSION] != 1) {
        (void)post_refuse(post, 400, MCPI_RPC_INVALID_REQUEST,
                          "Bad request: Mcp-Session-Id must stand once");
        return NULL;
    }
    session = mcpi_session_find(post->endpoint, id, post->who->principal);
    if (!session) {
        (void)post_refuse(post, 404, MCPI_RPC_INVALID_REQUEST,
                          "Session not found: it has ended, or never was");
        return NULL;
    }
    mcpi_session_touch(session);
    return session;
}

static bool
post_session_request(struct post *post, struct mcpi_session *session)
{
    struct mcpi_http_stream_options opt = {.session = session, .peer = session->peer};

    if (!mcpi_peer_has_room(session->peer))
        return post_refuse(post, 429, MCPI_RPC_INTERNAL_ERROR,
                           "Too many requests in flight");
    return post_check_share(post) && post_open(post, &opt, NULL);
}

static bool
post_session(struct post *post)
{
    bool hello = post->rpc.kind == MCPI_RPC_REQUEST &&
                 post->rpc.method == MCPI_METHOD_INITIALIZE;
    struct mcpi_session *session;

    if (hello && post->known->count[MCPI_HTTP_SESSION] == 0)
        return post_initialize(post);
    session = session_named(post);
    if (!session)
        return false;
    if (hello) /* a session is one client's; another one begins without its id */
        return post_refuse(post, 400, MCPI_RPC_INVALID_REQUEST, "Already initialized");
    if (post->rpc.kind == MCPI_RPC_REQUEST)
        return post_session_request(post, session);
    /* Whatever it does, nobody waits for a handler (D13). */
    post_receive(post, session->peer, NULL, NULL);
    turn_accept(post->turn, 202);
    return true;
}

/* ---- all of it ------------------------------------------------------------- */

/* What is no message. If it tries to answer what a session asked, whoever waits for
 * that must not wait for ever. */
static void
post_invalid(struct post *post)
{
    const struct mcpi_endpoint *endpoint = post->endpoint;
    const char *id = post->known->value[MCPI_HTTP_SESSION];
    struct mcpi_session *session = NULL;

    if (!post->rpc.fault_answerable && !post->rpc.method_name && id &&
        endpoint->opt.legacy && !endpoint->http->stateless)
        session = mcpi_session_find(post->endpoint, id, post->who->principal);
    (void)post_refuse(post, 400, post->rpc.fault, post->rpc.fault_text);
    if (session)
        post_receive(post, session->peer, NULL, NULL);
}

static void
post_serve(struct post *post)
{
    const struct mcpi_endpoint *endpoint = post->endpoint;
    enum era era;

    if (post->rpc.kind == MCPI_RPC_INVALID) {
        post_invalid(post);
        return;
    }
    if (post->turn->gone && post->rpc.kind == MCPI_RPC_REQUEST)
        return; /* D22 */
    if (endpoint->closing && post->rpc.kind == MCPI_RPC_REQUEST) {
        (void)post_refuse(post, 503, MCPI_RPC_INTERNAL_ERROR, "The server is stopping");
        return;
    }
    post_read_version(post);
    era = post_era(post);
    if (era == REFUSED)
        return;
    /* A modern server refuses the handshake in its own words. */
    if (era == MODERN || !endpoint->opt.legacy)
        (void)post_modern(post);
    else if (endpoint->http->stateless)
        (void)post_stateless(post);
    else
        (void)post_session(post);
}

/* GET and DELETE: of sessions only, which the head has made sure of. */
static void
session_serve(struct post *post)
{
    struct mcpi_session *session;

    if (post->endpoint->closing && post->in->method == MCPI_HTTP_GET) {
        (void)post_refuse(post, 503, MCPI_RPC_INTERNAL_ERROR, "The server is stopping");
        return;
    }
    post_read_version(post);
    if (post->header && !post->version) {
        (void)post_refuse_version(post);
        return;
    }
    session = session_named(post);
    if (!session)
        return;
    if (post->in->method == MCPI_HTTP_GET) {
        mcpi_session_get(session, post->turn, post->in);
        return;
    }
    mcpi_session_end(session, "the client has ended its session");
    turn_accept(post->turn, 200);
}

void
mcpi_endpoint_dispatch(struct mcpi_endpoint *endpoint, struct mcpi_turn *turn,
                       const struct mcpi_http_in *in,
                       const struct mcpi_http_known *known,
                       const struct mcpi_http_who *who)
{
    struct post post = {
        .endpoint = endpoint, .turn = turn, .in = in, .known = known, .who = who};

    if (mcpi_http_2024_wants(endpoint, in)) {
        mcpi_http_2024_serve(endpoint, turn, in, who);
        return;
    }
    if (in->method != MCPI_HTTP_POST) {
        session_serve(&post);
        return;
    }
    if (post_parse(&post))
        post_serve(&post);
    mcp_doc_free(post.doc);
}
