/* endpoint_messages.h - what clients ask: constants for endpoint_fuzz.c */
#ifndef FUZZ_ENDPOINT_MESSAGES_H
#define FUZZ_ENDPOINT_MESSAGES_H

#include "../tests/support/messages.h"

/* A message: $ in it is the id that the command says. What modern headers repeat of it
 * stands besides. */
struct message {
    const char *method, *name; /* name NULL: none */
    const char *text;
};

#define WANTS                                                                          \
    "\"_meta\":{\"progressToken\":$," META_KEY(                                        \
        "protocolVersion") ":\"2026-07-28\"," META_KEY("logLevel") ":\"debug\""        \
                                                                   "," META_KEY(       \
                                                                       "clie"          \
                                                                       "ntCa"          \
                                                                       "pabi"          \
                                                                       "liti"          \
                                                                       "es") ":{"      \
                                                                             "\"roots" \
                                                                             "\":{}}}"
#define MODERN_TOOL(tool)                                                   \
    {                                                                       \
        "tools/call", tool,                                                 \
            REQUEST("$", "tools/call", "{\"name\":\"" tool "\"," WANTS "}") \
    }
#define LISTEN(filter)                                          \
    {                                                           \
        "subscriptions/listen", NULL,                           \
            REQUEST("$", "subscriptions/listen",                \
                    "{\"notifications\":" filter "," STAMP "}") \
    }

static const struct message of_modern[] = {
    MODERN_TOOL("now"),
    MODERN_TOOL("hold"),
    MODERN_TOOL("say"),
    MODERN_TOOL("ask"),
    MODERN_TOOL("deaf"),
    MODERN_TOOL("flood"),
    {"server/discover", NULL, MODERN_DISCOVER("$")},
    LISTEN("{\"toolsListChanged\":true}"),
    LISTEN("{\"resourceSubscriptions\":[\"a:\",\"a:x\"]}"),
    {"notifications/cancelled", NULL,
     NOTE("notifications/cancelled", "{\"requestId\":$," STAMP "}")},
    {"no/such", NULL, REQUEST("$", "no/such", "{" STAMP "}")},
    {"initialize", NULL, REQUEST("$", "initialize", "{" STAMP "}")},
    {"tools/call", "now", LEGACY_CALL("$")},
    {"x", NULL, RESULT("$", "{}")},
    {"x", NULL, "[" MODERN_CALL("$") "]"},
    {"x", NULL, "{\"jsonrpc\":\"2.0\",\"id\":$"},
    {"resources/read", "a:x",
     REQUEST("$", "resources/read", "{\"uri\":\"a:x\"," STAMP "}")},
    {"tools/call", "hold",
     REQUEST("\"$\"", "tools/call", "{\"name\":\"hold\"," STAMP "}")},
    {"tools/call", "now",
     REQUEST(
         "$", "tools/call",
         "{\"name\":\"now\",\"_meta\":{" META_KEY("protocolVersion") ":\"2099\"}}")},
    {"notifications/x", NULL, NOTE("notifications/x", "{}")},
    {"tools/list", NULL, REQUEST("$", "tools/list", "{" STAMP "}")},
};

#define LEGACY_TOOL(tool)                                                      \
    {                                                                          \
        NULL, NULL,                                                            \
            REQUEST("$", "tools/call",                                         \
                    "{\"name\":\"" tool "\",\"_meta\":{\"progressToken\":$}}") \
    }

static const struct message of_legacy[] = {
    {NULL, NULL, INITIALIZE("$", "2025-11-25")},
    LEGACY_TOOL("now"),
    LEGACY_TOOL("hold"),
    LEGACY_TOOL("say"),
    LEGACY_TOOL("ask"),
    LEGACY_TOOL("deaf"),
    LEGACY_TOOL("flood"),
    {NULL, NULL, CANCEL("$")},
    {NULL, NULL, RESULT("?", "{\"roots\":[]}")}, /* ?: of what was asked last */
    {NULL, NULL, ERROR("?", "-32000")},
    {NULL, NULL, NOTE("notifications/initialized", "{}")},
    {NULL, NULL, REQUEST("$", "ping", "{}")},
    {NULL, NULL, REQUEST("$", "resources/subscribe", "{\"uri\":\"a:\"}")},
    {NULL, NULL, REQUEST("$", "resources/unsubscribe", "{\"uri\":\"a:\"}")},
    {NULL, NULL, REQUEST("$", "no/such", "{}")},
    {NULL, NULL, INITIALIZE("$", "2025-06-18")},
    {NULL, NULL, INITIALIZE("$", "2025-03-26")},
    {NULL, NULL, INITIALIZE("$", "1999-01-01")},
    {NULL, NULL, REQUEST("$", "initialize", "{}")},
    {NULL, NULL, "[" LEGACY_CALL("$") "]"},
    {NULL, NULL, "{\"jsonrpc\":\"2.0\",\"id\":?,\"result\":1}"},
    {NULL, NULL, "{\"id\":$}"},
    {NULL, NULL, "{"},
    {NULL, NULL, REQUEST("\"$\"", "tools/call", "{\"name\":\"hold\"}")},
    {NULL, NULL,
     NOTE("notifications/progress", "{\"progressToken\":$,\"progress\":1}")},
    {NULL, NULL, MODERN_CALL("$")},
};

/* How a request differs from what everybody says. */
enum flavor {
    PLAIN,
    ONLY_JSON,
    ONLY_SSE,
    NO_ACCEPT,
    OLD_HTTP,
    CHUNKED,
    OLD_KEEPS,
    LAST,
    WRONG_VERSION,
    NO_VERSION,
    TWO_VERSIONS,
    WRONG_METHOD,
    EXPECTS,
    OUR_ORIGIN,
    OTHER_ORIGIN,
    TWO_SESSIONS,
    OTHER_HOST,
    WRONG_CODING,
    WRONG_TYPE,
    NOT_ACCEPTED,
    OTHER_PATH,
    WITH_QUERY,
    MUCH_ANNOUNCED,
    MUCH_SAID,
    FLAVORS
};

static const char *const accepts[FLAVORS] = {
    [ONLY_JSON] = "Accept: application/json\r\n",
    [ONLY_SSE] = "Accept: text/event-stream\r\n",
    [NO_ACCEPT] = "",
    [NOT_ACCEPTED] = "Accept: text/html, */*;q=0\r\n",
};
#define ACCEPTS_BOTH "Accept: application/json, text/event-stream\r\n"

static const char preflight[] = "Origin: https://app.example\r\n"
                                "Access-Control-Request-Method: POST\r\n";

static const char *const extras[FLAVORS] = {
    [OLD_KEEPS] = "Connection: keep-alive\r\n",
    [LAST] = "Connection: close\r\n",
    [TWO_VERSIONS] = "MCP-Protocol-Version: 2025-06-18\r\n",
    [WRONG_METHOD] = "Mcp-Method: tools/list\r\n",
    [EXPECTS] = "Expect: 100-continue\r\n",
    [OUR_ORIGIN] = preflight,
    [OTHER_ORIGIN] = "Origin: https://else.example\r\n",
    [TWO_SESSIONS] = "Mcp-Session-Id: 0-00\r\n",
    [OTHER_HOST] = "X-Other: 1\r\n",
    [WRONG_CODING] = "Transfer-Encoding: gzip\r\n",
};

/* What the hook is shown; see on_identify. */
static const char *const credentials[] = {NULL, "a", "b", "n", "x", "wa", "wb", "wn"};

static const char *const methods[] = {"OPTIONS", "HEAD", "PUT",    "GET",
                                      "DELETE",  "POST", "CONNECT"};

#endif
