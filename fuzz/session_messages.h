/* session_messages.h - what is said in a session: constants for session_fuzz.c */
#ifndef FUZZ_SESSION_MESSAGES_H
#define FUZZ_SESSION_MESSAGES_H

#include "../tests/support/messages.h"
#include "core/call.h"

/* ---- what the engines are told to ask, answer and publish ------------------ */

#define TEXT(literal) literal, sizeof(literal) - 1

/* The client's requests, and those of handlers of the server. */
static const struct mcpi_next_leg turns[] = {
    {"tools/call", TEXT("{\"name\":\"t\",\"arguments\":{}}")},
    {"ping", NULL, 0},
    {"tools/list", TEXT("{}")},
    {"resources/read", TEXT("{\"uri\":\"a:\",\"requestState\":\"s\"}")},
    {"resources/subscribe", TEXT("{\"uri\":\"a:x\"}")},
    {"resources/unsubscribe", TEXT("{\"uri\":\"a:x\"}")},
    {"subscriptions/listen", TEXT("{\"notifications\":{\"toolsListChanged\":true}}")},
    {"no/such", NULL, 0},
};

static const char *const asks[] = {"ping", "elicitation/create", "roots/list",
                                   "sampling/createMessage", "no/such"};

#define QUESTION(method) "{\"method\":\"" method "\",\"params\":{}}"
#define MANY(key) "\"" key "1\":" ROOTS ",\"" key "2\":" ROOTS ",\"" key "3\":" ROOTS
#define ROOTS "{\"method\":\"roots/list\"}"
#define INPUT(members) "{\"resultType\":\"input_required\"," members "}"

/* Results that ask. */
static const char *const inputs[] = {
    "{\"requestState\":\"s1\"}",
    "{\"inputRequests\":{\"a\":" QUESTION("elicitation/create") "}}",
    "{\"inputRequests\":{\"a\":" ROOTS
    ",\"b\":" QUESTION("sampling/createMessage") "},\"requestState\":\"s2\"}",
    "{\"inputRequests\":{}}",
    "{\"inputRequests\":{\"a\":" QUESTION("tools/call") "}}",
    "{\"inputRequests\":{" MANY("a") "," MANY("b") "," MANY("c") "," MANY("d") "}}",
    "{}",
};

#define TOOLS "{\"toolsListChanged\":true}"

static const char everything[] =
    "{\"toolsListChanged\":true,\"promptsListChanged\":true,"
    "\"resourcesListChanged\":true,\"resourceSubscriptions\":[\"a:x\"]}";

static const char *const filters[] = {
    TOOLS,
    "{\"resourceSubscriptions\":[\"a:x\",\"b:\",\"a:x\"]}",
    everything,
    "{}",
    "{\"resourceSubscriptions\":[1]}",
};

static const char *const uris[] = {"a:x", "a:x/y", "a:x/z", "b:", NULL, "", "\xff"};

/* ---- messages of nobody's engine; $ is the id ------------------------------ */

#define TAG(id) "\"_meta\":{" META_KEY("subscriptionId") ":" id "}"

static const char *const of_server[] = {
    RESULT("$", "{\"content\":[],\"resultType\":\"complete\"}"),
    RESULT("$", INPUT("\"inputRequests\":{\"a\":" ROOTS "}")),
    RESULT("$", INPUT("\"requestState\":\"s\"")),
    RESULT("$", INPUT("\"x\":1")),
    RESULT("$", INPUT("\"inputRequests\":{\"a\":" ROOTS ",\"a\":" ROOTS "}")),
    RESULT("$", INPUT("\"inputRequests\":{\"a\":1},\"requestState\":1")),
    RESULT("$", "{}"),
    RESULT("$", "{\"resultType\":\"other\"}"),
    RESULT("$", "7"),
    ERROR("$", "-32603"),
    NOTE("notifications/subscriptions/acknowledged",
         "{" TAG("$") ",\"notifications\":{\"toolsListChanged\":true}}"),
    NOTE("notifications/subscriptions/acknowledged", "{" TAG("$") "}"),
    NOTE("notifications/tools/list_changed", "{" TAG("$") "}"),
    NOTE("notifications/resources/updated", "{" TAG("$") ",\"uri\":\"a:x\"}"),
    NOTE("notifications/resources/updated", "{" TAG("$") "," TAG("1") "}"),
    NOTE("notifications/progress", "{\"progressToken\":$,\"progress\":3}"),
    CANCEL("$"),
    REQUEST("$", "elicitation/create", "{}"),
    REQUEST("$", "ping", "{}"),
};

static const char *const of_client[] = {
    REQUEST("$", "subscriptions/listen",
            "{\"notifications\":{\"toolsListChanged\":true}," STAMP "}"),
    REQUEST(
        "$", "subscriptions/listen",
        "{\"notifications\":{\"resourceSubscriptions\":[\"a:\",\"b:\",\"a:x\",\"c\","
        "\"d\"]}," STAMP "}"),
    REQUEST("$", "subscriptions/listen", "{\"notifications\":[]," STAMP "}"),
    REQUEST("$", "subscriptions/listen", "{\"notifications\":{}}"),
    MODERN_CALL("$"),
    MODERN_DISCOVER("$"),
    LEGACY_CALL("$"),
    INITIALIZE("$", "2025-11-25"),
    NOTE("notifications/initialized", "{\"n\":$}"),
    REQUEST("$", "resources/subscribe", "{\"uri\":\"a:\"}"),
    REQUEST("$", "resources/subscribe", "{\"uri\":\"a:\"," STAMP "}"),
    CANCEL("$"),
    CANCEL("\"$\""),
    RESULT("$", "{\"action\":\"cancel\"}"),
    RESULT("$", "null"),
    ERROR("$", "-1"),
    NOTE("notifications/progress", "{\"progressToken\":$,\"progress\":3}"),
};

#endif
