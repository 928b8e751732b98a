/* schema_check_scalar.c - the rules about numbers and strings */
#include <inttypes.h>

#include "base/text.h"
#include "json/schema_check.h"
#include "json/value.h"

/* What it costs at least to read a regex; and a step for each of its bytes. */
#define REGEX_COST 100

/* ---- numbers --------------------------------------------------------------- */

/* "must be at least 5" */
static bool
bound_fault(struct mcpi_check *c, const struct mcpi_schema_node *node,
            const char *keyword, const yyjson_val *value, const char *must)
{
    const mcp_json *bound = mcp_json_get(mcpi_yy_json(node->value), keyword);
    struct mcpi_buf text;

    if (!mcpi_check_goes_on(c))
        return false;
    mcpi_buf_init(&text, c->schema->mem, 512);
    mcpi_json_write(&text, bound);
    if (text.status < 0)
        (void)mcpi_check_stop(c, MCP_E_NOMEM, NULL);
    else
        (void)mcpi_check_fault(c, node, keyword, value, "must be %s %.*s", must,
                               (int)text.len, text.data);
    mcpi_buf_done(&text);
    return false;
}

static bool
limits_check(struct mcpi_check *c, const struct mcpi_schema_node *node,
             const yyjson_val *value)
{
    const struct mcpi_schema_numbers *rules = node->numbers;

    if (rules->minimum && mcpi_number_order(value, rules->minimum) < 0)
        return bound_fault(c, node, "minimum", value, "at least");
    if (rules->maximum && mcpi_number_order(value, rules->maximum) > 0)
        return bound_fault(c, node, "maximum", value, "at most");
    if (rules->above && mcpi_number_order(value, rules->above) <= 0)
        return bound_fault(c, node, "exclusiveMinimum", value, "above");
    if (rules->below && mcpi_number_order(value, rules->below) >= 0)
        return bound_fault(c, node, "exclusiveMaximum", value, "below");
    return true;
}

bool
mcpi_check_numbers(struct mcpi_check *c, const struct mcpi_schema_node *node,
                   const yyjson_val *value)
{
    struct mcpi_decimal multiple = node->numbers->multiple;
    bool ok = limits_check(c, node, value);

    if (!ok && !mcpi_check_goes_on(c))
        return false;
    if (multiple.digits > 0 &&
        !mcpi_decimal_divides(multiple, mcpi_number_decimal(value)))
        ok = bound_fault(c, node, "multipleOf", value, "a multiple of");
    return ok;
}

/* ---- strings --------------------------------------------------------------- */

static uint64_t
characters(const yyjson_val *string)
{
    return mcpi_utf8_count(string->uni.str, mcpi_yy_len(string));
}

/* A character has one to four bytes, so their number often decides. */
static bool
length_check(struct mcpi_check *c, const struct mcpi_schema_node *node,
             const yyjson_val *value)
{
    struct mcpi_schema_range length = node->strings->length;
    size_t bytes = mcpi_yy_len(value);
    uint64_t count;

    if (bytes <= length.max && bytes / 4 >= length.min)
        return true;
    if (!mcpi_check_spend_text(c, value))
        return false;
    count = characters(value);
    if (count < length.min)
        return mcpi_check_fault(
            c, node, "minLength", value, "must have at least %" PRIu64 " %s",
            length.min, mcpi_check_plural(length.min, "character", "characters"));
    if (count > length.max)
        return mcpi_check_fault(
            c, node, "maxLength", value, "must have at most %" PRIu64 " %s", length.max,
            mcpi_check_plural(length.max, "character", "characters"));
    return true;
}

bool
mcpi_check_pattern(struct mcpi_check *c, const struct mcpi_pattern *pattern,
                   const yyjson_val *text)
{
    int r = mcpi_pattern_find_within(pattern, text->uni.str, mcpi_yy_len(text),
                                     &c->steps);

    if (r < 0)
        return mcpi_check_stop(c, r, "a pattern takes too much effort");
    return r > 0;
}

static bool
pattern_check(struct mcpi_check *c, const struct mcpi_schema_node *node,
              const yyjson_val *value)
{
    const char *text;

    if (mcpi_check_pattern(c, node->strings->pattern, value))
        return true;
    if (!mcpi_check_goes_on(c))
        return false;
    text = mcp_json_string(mcp_json_get(mcpi_yy_json(node->value), "pattern"), "");
    return mcpi_check_fault(c, node, "pattern", value, "must match the pattern %s",
                            text);
}

/* What is too long or not supported may be one to ECMA-262, so it is let pass. */
static bool
is_regex(struct mcpi_check *c, const yyjson_val *value)
{
    struct mcpi_pattern *pattern = NULL;
    int r;

    if (!mcpi_check_spend(c, REGEX_COST + mcpi_yy_len(value)))
        return false;
    r = mcpi_pattern_new(c->schema->mem, value->uni.str, mcpi_yy_len(value), &pattern,
                         NULL);
    mcpi_pattern_free(pattern);
    return r == MCP_E_NOMEM ? mcpi_check_stop(c, r, NULL) : r != MCP_E_INVAL;
}

static bool
format_check(struct mcpi_check *c, const struct mcpi_schema_node *node,
             const yyjson_val *value)
{
    const struct mcpi_schema_strings *rules = node->strings;
    bool ok = rules->is_regex ? is_regex(c, value)
                              : mcpi_check_spend_text(c, value) &&
                                    rules->format(value->uni.str, mcpi_yy_len(value));

    return ok || mcpi_check_fault(c, node, "format", value, "must be of the format %s",
                                  rules->format_name);
}

bool
mcpi_check_strings(struct mcpi_check *c, const struct mcpi_schema_node *node,
                   const yyjson_val *value)
{
    const struct mcpi_schema_strings *rules = node->strings;
    bool ok = length_check(c, node, value);

    if (rules->pattern && (ok || mcpi_check_goes_on(c)))
        ok = pattern_check(c, node, value) && ok;
    if ((rules->format || rules->is_regex) && (ok || mcpi_check_goes_on(c)))
        ok = format_check(c, node, value) && ok;
    return ok;
}
