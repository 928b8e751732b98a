/* examples.h - the example messages, one at a time, and JSON out of parts */
#ifndef TESTS_API_EXAMPLES_H
#define TESTS_API_EXAMPLES_H

#include <mcp/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/data.h"
#include "support/test.h"

struct example {
    const char *name; /* type/name */
    const mcp_json *root;
    char *text; /* on one line */
};

/* How the examples of one type are consumed: feed does it, arg is its own. */
struct way {
    const char *type;
    void (*feed)(const struct example *example, const char *arg);
    const char *arg;
};

static inline mcp_doc *
parse_text(const char *text)
{
    mcp_doc *doc = NULL;

    if (mcp_doc_parse(text, strlen(text), NULL, &doc, NULL) < 0)
        fail_msg("not JSON: %s", text);
    return doc;
}

static inline char *
text_of(const mcp_json *value)
{
    char *text = NULL;

    assert_int_equal(mcp_json_print(value, false, NULL, &text, NULL), 0);
    return text;
}

static inline void
expect_equal(const struct example *example, const mcp_json *is, const mcp_json *should)
{
    char *text;

    if (is && mcp_json_equal(is, should))
        return;
    text = is ? text_of(is) : NULL;
    fail_msg("%s: %s", example->name, text ? text : "nothing came");
}

/* A format with one %s, where the text goes; freed by the caller. */
static inline char *MCP_PRINTF(1, 2) fill(const char *format, ...)
{
    char *text = NULL;
    va_list args;

    va_start(args, format);
    assert_true(vasprintf(&text, format, args) >= 0);
    va_end(args);
    return text;
}

/* The text with each $ replaced by another one; freed by the caller. */
static inline char *
embed(const char *around, const char *part)
{
    size_t room = strlen(around) + 8 * strlen(part) + 1, len = 0;
    char *text = malloc(room);

    assert_non_null(text);
    for (; *around; around++) {
        if (*around == '$')
            len += (size_t)snprintf(text + len, room - len, "%s", part);
        else
            text[len++] = *around;
    }
    text[len] = '\0';
    return text;
}

static inline void
example_feed(const struct data_message *message, void *user)
{
    const struct way *way = user;
    const struct example example = {message->name, message->value,
                                    text_of(message->value)};

    way->feed(&example, way->arg);
    mcp_text_free(example.text, NULL);
}

/* Feed each example of a type; returns how many there are. */
static inline size_t
each_example(struct way *way)
{
    return data_each_message(DATA_MODERN, way->type, example_feed, way);
}

#endif
