/*
 * field_check.c - does a value fit a field table, and if not, where and why
 *
 * The way to a value is a chain of places on the stack, written out only for an error.
 * The walk also adds up what the arrays will need, so that decoding allocates once and
 * cannot fail after that.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "json/field.h"
#include "json/value.h"

/* Bytes of the parts of an error: together they fit the message of an mcp_error. */
#define SHOWN_MAX 48    /* of a value */
#define EXPECTED_MAX 96 /* of what was expected */
#define PLACE_MAX 76    /* of the path */
#define REAL_MAX 32     /* of a number */

struct place {
    const struct place *up;
    const char *name; /* of a member; NULL: an item */
    size_t index;
};

struct check {
    const mcp_fields *fields;
    size_t bytes;
    uint64_t effort; /* left for patterns */
    mcp_error *err;
};

/* ---- wording --------------------------------------------------------------- */

/* As JSON Pointer, from the end: what does not fit is cut off at the front. */
static const char *
place_show(const struct place *at, char into[PLACE_MAX])
{
    size_t left = PLACE_MAX - 1;
    char digits[24];

    into[left] = '\0';
    for (; at->up; at = at->up) {
        const char *name = at->name ? at->name : digits;
        size_t i;

        if (!at->name)
            snprintf(digits, sizeof(digits), "%zu", at->index);
        for (i = strlen(name); i > 0 && left >= 3; i--) {
            char c = name[i - 1];

            if (c == '~' || c == '/') {
                into[--left] = c == '~' ? '0' : '1';
                c = '~';
            }
            into[--left] = c;
        }
        if (i > 0 || left < 2)
            break;
        into[--left] = '/';
    }
    while (((unsigned char)into[left] & 0xC0) == 0x80)
        left++;
    return into[left] ? into + left : "the value";
}

static void
show_string(const mcp_json *value, char into[SHOWN_MAX])
{
    char text[SHOWN_MAX - 8];
    size_t len = mcp_json_string_length(value);
    size_t shown = mcpi_text_clean(text, sizeof(text), mcp_json_string(value, ""), len);

    snprintf(into, SHOWN_MAX, "\"%s%s\"", text, shown < len ? "..." : "");
}

/* With as few digits as tell it from every other number. */
static const char *
real_show(double number, char into[REAL_MAX])
{
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(into, REAL_MAX, "%.*g", digits, number);
        if (strtod(into, NULL) == number)
            break;
    }
    return into;
}

static const char *
value_show(const mcp_json *value, char into[SHOWN_MAX])
{
    struct mcpi_integer number;

    switch (mcp_json_get_type(value)) {
    case MCP_JSON_ABSENT:
        return "nothing";
    case MCP_JSON_NULL:
        return "null";
    case MCP_JSON_BOOL:
        return mcp_json_bool(value, false) ? "true" : "false";
    case MCP_JSON_INTEGER:
        (void)mcpi_integer_read(value, &number); /* it is one */
        if (number.negative)
            snprintf(into, SHOWN_MAX, "%lld", (long long)number.bits);
        else
            snprintf(into, SHOWN_MAX, "%llu", (unsigned long long)number.bits);
        return into;
    case MCP_JSON_REAL:
        return real_show(mcp_json_number(value, 0), into);
    case MCP_JSON_STRING:
        show_string(value, into);
        return into;
    case MCP_JSON_ARRAY:
        snprintf(into, SHOWN_MAX, "an array of %zu", mcp_json_count(value));
        return into;
    case MCP_JSON_OBJECT:
        break;
    }
    return "an object";
}

static int check_refuse(const struct check *c, const struct place *at,
                        const mcp_json *found, const char *expected, ...)
    MCP_PRINTF(4, 5);

static int
check_refuse(const struct check *c, const struct place *at, const mcp_json *found,
             const char *expected, ...)
{
    char path[PLACE_MAX], text[EXPECTED_MAX], shown[SHOWN_MAX];
    va_list args;
    int n;

    va_start(args, expected);
    n = vsnprintf(text, sizeof(text), expected, args);
    va_end(args);
    if (n >= (int)sizeof(text))
        memcpy(text + mcpi_utf8_cut(text, sizeof(text) - 1, sizeof(text) - 4), "...",
               4);
    return mcpi_error_set(c->err, MCP_E_INVAL, "%s: expected %s, found %s",
                          place_show(at, path), text, value_show(found, shown));
}

static const char *
plural(size_t count)
{
    return count == 1 ? "" : "s";
}

/* ---- strings and enums ----------------------------------------------------- */

static bool
length_fits(const mcp_field *field, size_t characters)
{
    return characters >= field->min_length &&
           (field->max_length == 0 || characters <= field->max_length);
}

int
mcpi_field_string_fits(const struct mcpi_field_node *node, const char *text, size_t len,
                       uint64_t *effort)
{
    const mcp_field *field = node->field;

    if ((field->min_length || field->max_length) &&
        !length_fits(field, mcpi_utf8_count(text, len)))
        return 0;
    if (!node->pattern)
        return 1;
    return mcpi_pattern_find_within(node->pattern, text, len, effort);
}

static int
refuse_string(const struct check *c, const struct mcpi_field_node *node,
              const mcp_json *value, const struct place *at)
{
    const mcp_field *field = node->field;
    size_t characters = mcpi_utf8_count(mcp_json_string(value, ""),
                                        mcp_json_string_length(value));

    if (characters < field->min_length)
        return check_refuse(c, at, value, "a string of at least %zu character%s",
                            field->min_length, plural(field->min_length));
    if (!length_fits(field, characters))
        return check_refuse(c, at, value, "a string of at most %zu character%s",
                            field->max_length, plural(field->max_length));
    return check_refuse(c, at, value, "a string that matches %s", field->pattern);
}

static int
check_string(struct check *c, const struct mcpi_field_node *node, const mcp_json *value,
             const struct place *at)
{
    const char *text = mcp_json_string(value, NULL);
    size_t len = mcp_json_string_length(value);
    char path[PLACE_MAX];
    int r;

    if (!text)
        return check_refuse(c, at, value, "a string");
    if (!node->field->length && memchr(text, '\0', len))
        return check_refuse(c, at, value, "a string without U+0000");
    r = mcpi_field_string_fits(node, text, len, &c->effort);
    if (r == 0)
        return refuse_string(c, node, value, at);
    if (r < 0)
        return mcpi_error_set(c->err, r, "%s: %s while matching the pattern",
                              place_show(at, path), mcp_status_text(r));
    return 0;
}

const mcp_enum_name *
mcpi_enum_find(const mcp_enum_name *names, const char *name)
{
    for (; names->name; names++) {
        if (strcmp(names->name, name) == 0)
            return names;
    }
    return NULL;
}

const mcp_enum_name *
mcpi_enum_find_value(const mcp_enum_name *names, int value)
{
    for (; names->name; names++) {
        if (names->value == value)
            return names;
    }
    return NULL;
}

static int
check_enum(struct check *c, const mcp_field *field, const mcp_json *value,
           const struct place *at)
{
    char list[EXPECTED_MAX] = "";
    size_t len = 0;

    for (const mcp_enum_name *entry = field->names; entry->name; entry++) {
        if (mcp_json_is_string(value, entry->name))
            return 0;
        if (len < sizeof(list))
            len += (size_t)snprintf(list + len, sizeof(list) - len, "%s\"%s\"",
                                    len ? ", " : "", entry->name);
    }
    return check_refuse(c, at, value, "one of %s", list);
}

/* ---- numbers --------------------------------------------------------------- */

/* Is it an integer that the words chosen would not refuse? Those of a member of 64 bits
 * do not tell its range, which is what such a number is beyond. */
static bool
is_beyond_words(const mcp_json *value, struct mcpi_integer low, unsigned says)
{
    double number = mcp_json_number(value, 0.5);
    struct mcpi_integer exact;
    bool is_whole = mcpi_integer_read(value, &exact) == 0 ||
                    number > (double)MCPI_SAFE_INTEGER ||
                    number < -(double)MCPI_SAFE_INTEGER;

    return is_whole && !(says & (number < (double)(int64_t)low.bits ? 1u : 2u));
}

static int
check_integer(struct check *c, const mcp_field *field, const mcp_json *value,
              const struct place *at)
{
    struct mcpi_integer number, low, high;
    unsigned says = mcpi_integer_range(field, &low, &high);

    if (mcpi_integer_read(value, &number) == 0 && !mcpi_integer_less(number, low) &&
        !mcpi_integer_less(high, number))
        return 0;
    if (is_beyond_words(value, low, says))
        says = 3;
    if (says == 3 && high.negative)
        return check_refuse(c, at, value, "an integer from %lld to %lld",
                            (long long)low.bits, (long long)high.bits);
    if (says == 3)
        return check_refuse(c, at, value, "an integer from %lld to %llu",
                            (long long)low.bits, (unsigned long long)high.bits);
    if (says == 1)
        return check_refuse(c, at, value, "an integer of at least %lld",
                            (long long)low.bits);
    if (says == 2)
        return check_refuse(c, at, value, "an integer of at most %lld",
                            (long long)high.bits);
    return check_refuse(c, at, value, "an integer");
}

static int
check_number(struct check *c, const mcp_field *field, const mcp_json *value,
             const struct place *at)
{
    double low = mcpi_constant_number(&field->minimum);
    double high = mcpi_constant_number(&field->maximum);
    double number = mcp_json_number(value, 0);
    enum mcp_json_type type = mcp_json_get_type(value);
    char bound[REAL_MAX];

    if (type != MCP_JSON_INTEGER && type != MCP_JSON_REAL)
        return check_refuse(c, at, value, "a number");
    if (field->minimum.type && number < low)
        return check_refuse(c, at, value, "a number of at least %s",
                            real_show(low, bound));
    if (field->maximum.type && number > high)
        return check_refuse(c, at, value, "a number of at most %s",
                            real_show(high, bound));
    return 0;
}

/* ---- containers ------------------------------------------------------------ */

static int check_struct(struct check *c, struct mcpi_field_range range,
                        const mcp_json *value, const struct place *at);

static int
check_item(struct check *c, const struct mcpi_field_node *node, const mcp_json *value,
           const struct place *at)
{
    switch (mcpi_field_item(node->field)) {
    case MCP_STRING:
        return check_string(c, node, value, at);
    case MCP_INT:
    case MCP_UINT:
        return check_integer(c, node->field, value, at);
    case MCP_NUMBER:
        return check_number(c, node->field, value, at);
    case MCP_BOOL:
        return mcp_json_get_type(value) == MCP_JSON_BOOL
                   ? 0
                   : check_refuse(c, at, value, "true or false");
    case MCP_ENUM:
        return check_enum(c, node->field, value, at);
    case MCP_STRUCT:
        return check_struct(c, node->inner, value, at);
    default:
        return 0;
    }
}

/* An array is a multiple of MCPI_FIELD_ALIGN, so that the next one is aligned too. */
static int
check_room(struct check *c, const mcp_field *field, size_t count,
           const struct place *at)
{
    size_t left = c->fields->max_bytes - c->bytes;
    char path[PLACE_MAX];
    size_t bytes;

    if (count > left / field->item_size)
        goto full;
    bytes = count * field->item_size;
    if (bytes > SIZE_MAX - MCPI_FIELD_ALIGN)
        goto full;
    bytes = (bytes + MCPI_FIELD_ALIGN - 1) & ~(size_t)(MCPI_FIELD_ALIGN - 1);
    if (bytes > left)
        goto full;
    c->bytes += bytes;
    return 0;
full:
    return mcpi_error_set(c->err, MCP_E_LIMIT, "%s: more than %zu bytes of items",
                          place_show(at, path), c->fields->max_bytes);
}

static int
check_array(struct check *c, const struct mcpi_field_node *node, const mcp_json *value,
            const struct place *at)
{
    const mcp_field *field = node->field;
    size_t count = mcp_json_count(value);
    struct place item = {.up = at};
    mcp_json_iterator it;
    int r;

    if (mcp_json_get_type(value) != MCP_JSON_ARRAY)
        return check_refuse(c, at, value, "an array");
    if (count < field->min_items)
        return check_refuse(c, at, value, "at least %zu item%s", field->min_items,
                            plural(field->min_items));
    if (field->max_items && count > field->max_items)
        return check_refuse(c, at, value, "at most %zu item%s", field->max_items,
                            plural(field->max_items));
    r = check_room(c, field, count, at);
    for (it = mcp_json_each(value); r == 0 && mcp_json_next(&it);) {
        item.index = it.index;
        r = check_item(c, node, it.value, &item);
    }
    return r;
}

/* A required member that is not there. NULL is refused by all types but these two. */
static int
check_missing(struct check *c, const struct mcpi_field_node *node,
              const struct place *at)
{
    switch (node->field->type) {
    case MCP_STRUCT:
        return check_refuse(c, at, NULL, "an object");
    case MCP_JSON:
        return check_refuse(c, at, NULL, "a value");
    case MCP_ARRAY:
        return check_array(c, node, NULL, at);
    default:
        return check_item(c, node, NULL, at);
    }
}

static int
check_member(struct check *c, const struct mcpi_field_node *node, const mcp_json *value,
             const struct place *up)
{
    struct place at = {.up = up, .name = node->name};

    if (!value && node->field->flags & MCP_REQUIRED)
        return check_missing(c, node, &at);
    if (!value)
        return 0;
    if (node->field->type == MCP_ARRAY)
        return check_array(c, node, value, &at);
    return check_item(c, node, value, &at);
}

static bool
range_names(const mcp_fields *fields, struct mcpi_field_range range,
            const mcp_json *key)
{
    for (size_t i = range.first; i < range.first + range.count; i++) {
        if (mcp_json_is_string(key, fields->nodes[i].name))
            return true;
    }
    return false;
}

static int
check_no_others(struct check *c, struct mcpi_field_range range, const mcp_json *object,
                const struct place *up)
{
    struct place at = {.up = up};
    mcp_json_iterator it;

    for (it = mcp_json_each(object); mcp_json_next(&it);) {
        if (range_names(c->fields, range, it.key))
            continue;
        at.name = mcp_json_string(it.key, "");
        return check_refuse(c, &at, it.value, "no member of this name");
    }
    return 0;
}

static int
check_struct(struct check *c, struct mcpi_field_range range, const mcp_json *value,
             const struct place *at)
{
    char path[PLACE_MAX];
    int r = 0;

    if (value && mcp_json_get_type(value) != MCP_JSON_OBJECT)
        return check_refuse(c, at, value, "an object");
    if (mcpi_json_has_duplicates(value))
        return mcpi_error_set(c->err, MCP_E_INVAL,
                              "%s: expected each key once, found one twice",
                              place_show(at, path));
    for (size_t i = range.first; r == 0 && i < range.first + range.count; i++) {
        const struct mcpi_field_node *node = &c->fields->nodes[i];

        r = check_member(c, node, mcp_json_get(value, node->name), at);
    }
    if (r == 0 && c->fields->closed)
        r = check_no_others(c, range, value, at);
    return r;
}

int
mcpi_fields_measure(const mcp_fields *fields, const mcp_json *value, size_t *ret_bytes,
                    mcp_error *err)
{
    struct check c = {.fields = fields, .effort = MCPI_FIELDS_EFFORT_MAX, .err = err};
    const struct place top = {0};
    int r = check_struct(&c, fields->top, value, &top);

    if (r == 0)
        *ret_bytes = c.bytes;
    return r;
}

int
mcp_fields_check(const mcp_fields *fields, const mcp_json *value, mcp_error *err)
{
    size_t bytes;

    if (!fields)
        return mcpi_error_set(err, MCP_E_INVAL, "no table to check against");
    return mcpi_fields_measure(fields, value, &bytes, err);
}
