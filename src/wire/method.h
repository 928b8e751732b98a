/* method.h - every method name of the protocol, once */
#ifndef MCPI_WIRE_METHOD_H
#define MCPI_WIRE_METHOD_H

#include <stddef.h>

#define MCPI_METHOD_MAP(X)                                            \
    X(INITIALIZE, "initialize")                                       \
    X(DISCOVER, "server/discover")                                    \
    X(PING, "ping")                                                   \
    X(TOOLS_LIST, "tools/list")                                       \
    X(TOOLS_CALL, "tools/call")                                       \
    X(RESOURCES_LIST, "resources/list")                               \
    X(RESOURCES_TEMPLATES_LIST, "resources/templates/list")           \
    X(RESOURCES_READ, "resources/read")                               \
    X(RESOURCES_SUBSCRIBE, "resources/subscribe")                     \
    X(RESOURCES_UNSUBSCRIBE, "resources/unsubscribe")                 \
    X(PROMPTS_LIST, "prompts/list")                                   \
    X(PROMPTS_GET, "prompts/get")                                     \
    X(COMPLETE, "completion/complete")                                \
    X(SET_LEVEL, "logging/setLevel")                                  \
    X(LISTEN, "subscriptions/listen")                                 \
    X(SAMPLING, "sampling/createMessage")                             \
    X(ELICIT, "elicitation/create")                                   \
    X(ROOTS_LIST, "roots/list")                                       \
    X(NOTE_CANCELED, "notifications/cancelled")                       \
    X(NOTE_PROGRESS, "notifications/progress")                        \
    X(NOTE_MESSAGE, "notifications/message")                          \
    X(NOTE_INITIALIZED, "notifications/initialized")                  \
    X(NOTE_TOOLS_CHANGED, "notifications/tools/list_changed")         \
    X(NOTE_RESOURCES_CHANGED, "notifications/resources/list_changed") \
    X(NOTE_RESOURCE_UPDATED, "notifications/resources/updated")       \
    X(NOTE_PROMPTS_CHANGED, "notifications/prompts/list_changed")     \
    X(NOTE_ROOTS_CHANGED, "notifications/roots/list_changed")         \
    X(NOTE_ACKNOWLEDGED, "notifications/subscriptions/acknowledged")  \
    X(NOTE_ELICIT_COMPLETE, "notifications/elicitation/complete")

enum mcpi_method {
    MCPI_METHOD_OTHER = 0, /* not one of ours: custom, extension, or nonsense */
#define MCPI_METHOD_ENUM(name, text) MCPI_METHOD_##name,
    MCPI_METHOD_MAP(MCPI_METHOD_ENUM)
#undef MCPI_METHOD_ENUM
};

/* The wire's name; "" for OTHER. */
const char *mcpi_method_name(enum mcpi_method method);

/* The method of that name, or OTHER. */
enum mcpi_method mcpi_method_find(const char *name, size_t len);

#endif
