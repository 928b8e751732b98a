/* support/messages.h - messages as a peer of either era writes them, as constants */
#ifndef TESTS_SUPPORT_MESSAGES_H
#define TESTS_SUPPORT_MESSAGES_H

#define META_KEY(name) "\"io.modelcontextprotocol/" name "\""
#define STAMP                                                              \
    "\"_meta\":{" META_KEY("protocolVersion") ":\"2026-07-28\"," META_KEY( \
        "clientCapabilities") ":{}}"

/* The ids are JSON texts: MODERN_CALL("7"), LEGACY_CALL("\"seven\""). */
#define REQUEST(id, method, params)                                                   \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":" params \
    "}"
#define NOTE(method, params) \
    "{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":" params "}"
#define RESULT(id, result) "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"result\":" result "}"
#define ERROR(id, code)                                            \
    "{\"jsonrpc\":\"2.0\",\"id\":" id ",\"error\":{\"code\":" code \
    ",\"message\":\"m\"}}"

#define MODERN_CALL(id) REQUEST(id, "tools/call", "{\"name\":\"t\"," STAMP "}")
#define MODERN_DISCOVER(id) REQUEST(id, "server/discover", "{" STAMP "}")
#define LEGACY_CALL(id) REQUEST(id, "tools/call", "{\"name\":\"t\"}")
#define CANCEL(id) \
    NOTE("notifications/cancelled", "{\"requestId\":" id ",\"reason\":\"enough\"}")
#define INITIALIZE(id, version)                                                     \
    REQUEST(id, "initialize",                                                       \
            "{\"protocolVersion\":\"" version "\",\"capabilities\":{\"roots\":{}}," \
            "\"clientInfo\":{\"name\":\"raw\",\"version\":\"1\"}}")

#endif
