/* json/field_fixture.h - a struct with a member of every kind, and its table */
#ifndef TESTS_JSON_FIELD_FIXTURE_H
#define TESTS_JSON_FIELD_FIXTURE_H

#include <mcp/field.h>
#include <string.h>

#include "support/test.h"
#include "json/field.h"

enum color { RED = 7, GREEN = -2, BLUE = 0 };

struct point {
    double x, y;
};

struct stop {
    const char *name;
    struct point at;
    int32_t *minutes;
    size_t minute_count;
};

struct trip {
    const char *title;
    size_t title_length;
    int64_t id;
    int32_t seats;
    uint8_t level;
    uint64_t serial;
    double price;
    bool is_open, has_open;
    enum color color;
    struct point start;
    bool has_start;
    const char **tags;
    size_t tag_count;
    enum color *colors;
    size_t color_count;
    struct stop *stops;
    size_t stop_count;
    const mcp_json *extra;
    const char *code;
    int untouched;
};

static const mcp_enum_name color_names[] = {
    {"red", RED}, {"green", GREEN}, {"blue", BLUE}, {0}};

static const mcp_field point_fields[] = {
    MCP_FIELD(struct point, x, MCP_NUMBER, MCP_REQUIRED, NULL),
    MCP_FIELD_WITH(struct point, y, MCP_NUMBER, 0, NULL, MCP_DEFAULT_NUMBER(0.5)),
    {0},
};

static const mcp_field stop_fields[] = {
    MCP_FIELD(struct stop, name, MCP_STRING, MCP_REQUIRED, NULL),
    MCP_FIELD_WITH(struct stop, at, MCP_STRUCT, 0, NULL, .fields = point_fields),
    MCP_FIELD_ARRAY_WITH(struct stop, minutes, minute_count, MCP_INT, 0, NULL,
                         MCP_MINIMUM(0), MCP_MAXIMUM(59), .max_items = 4),
    {0},
};

static const mcp_field trip_fields[] = {
    MCP_FIELD_WITH(struct trip, title, MCP_STRING, MCP_REQUIRED, "what it is called",
                   MCP_LENGTH(struct trip, title_length), .min_length = 1,
                   .max_length = 5),
    MCP_FIELD_WITH(struct trip, id, MCP_INT, 0, NULL, .header = "Trip-Id"),
    MCP_FIELD(struct trip, seats, MCP_INT, 0, NULL),
    MCP_FIELD_WITH(struct trip, level, MCP_UINT, 0, NULL, MCP_MAXIMUM(9),
                   MCP_DEFAULT_INT(3)),
    MCP_FIELD(struct trip, serial, MCP_UINT, 0, NULL),
    MCP_FIELD_WITH(struct trip, price, MCP_NUMBER, 0, NULL, MCP_MINIMUM(0),
                   MCP_MAXIMUM_REAL(99.5)),
    MCP_FIELD_WITH(struct trip, is_open, MCP_BOOL, 0, NULL, .as = "open",
                   MCP_PRESENT(struct trip, has_open), MCP_DEFAULT_BOOL(true)),
    MCP_FIELD_WITH(struct trip, color, MCP_ENUM, 0, NULL, .names = color_names,
                   MCP_DEFAULT_STRING("green"), .title = "Color"),
    MCP_FIELD_WITH(struct trip, start, MCP_STRUCT, 0, NULL, .fields = point_fields,
                   MCP_PRESENT(struct trip, has_start)),
    MCP_FIELD_ARRAY_WITH(struct trip, tags, tag_count, MCP_STRING, 0, NULL,
                         .pattern = "^[a-z]+$", .max_items = 3),
    MCP_FIELD_ARRAY_WITH(struct trip, colors, color_count, MCP_ENUM, 0, NULL,
                         .names = color_names, .min_items = 1),
    MCP_FIELD_ARRAY_WITH(struct trip, stops, stop_count, MCP_STRUCT, 0, NULL,
                         .fields = stop_fields),
    MCP_FIELD(struct trip, extra, MCP_JSON, 0, "anything"),
    MCP_FIELD_WITH(struct trip, code, MCP_STRING, 0, NULL, .pattern = "^(a+)+$",
                   MCP_DEFAULT_STRING("a")),
    {0},
};

static inline mcp_fields *
make_ready(const mcp_field *table, const mcp_fields_options *opt)
{
    mcp_fields *fields = NULL;
    mcp_error err = {0};

    if (mcp_fields_new(table, opt, &fields, &err) < 0)
        fail_msg("%s", err.message);
    return fields;
}

static inline mcp_doc *
parse(const char *text)
{
    mcp_doc *doc = NULL;

    if (mcp_doc_parse(text, strlen(text), NULL, &doc, NULL) < 0)
        fail_msg("not JSON: %s", text);
    return doc;
}

#endif
