/*
 * schema_form.c - the subset of JSON Schema that elicitation allows
 *
 * Client / Elicitation, "Requested Schema", and PrimitiveSchemaDefinition of the
 * protocol's own schema: an object whose properties are strings, numbers, booleans, a
 * choice of one text or of several.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "json/schema.h"

/* What a keyword of a property may be. */
enum kind { TEXT, COUNT, NUMBER, BOOLEAN, TEXTS, OPTIONS, FORMAT, ITEMS, ANY };

struct rule {
    const char *keyword;
    enum kind kind;
};

struct form {
    const char *property; /* NULL: the form itself */
    mcp_error *err;
};

static const struct rule string_rules[] = {
    {"default", TEXT},  {"enum", TEXTS},      {"enumNames", TEXTS},
    {"format", FORMAT}, {"maxLength", COUNT}, {"minLength", COUNT},
    {"oneOf", OPTIONS}, {"pattern", TEXT},    {NULL, ANY},
};
static const struct rule number_rules[] = {
    {"default", NUMBER}, {"maximum", NUMBER}, {"minimum", NUMBER}, {NULL, ANY}};
static const struct rule boolean_rules[] = {{"default", BOOLEAN}, {NULL, ANY}};
static const struct rule array_rules[] = {{"default", TEXTS},
                                          {"items", ITEMS},
                                          {"maxItems", COUNT},
                                          {"minItems", COUNT},
                                          {NULL, ANY}};

/* Keywords that every property, and the form, may have. */
static const struct rule common_rules[] = {{"$comment", TEXT},
                                           {"description", TEXT},
                                           {"title", TEXT},
                                           {"type", TEXT},
                                           {NULL, ANY}};

/* All others that JSON Schema gives a meaning; what is not here is somebody's own. */
static const char *const other_keywords[] = {
    "$anchor",
    "$defs",
    "$dynamicAnchor",
    "$dynamicRef",
    "$id",
    "$ref",
    "$schema",
    "$vocabulary",
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "default",
    "definitions",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
    "uniqueItems",
};

static int
refuse(const struct form *f, const char *keyword, const char *sentence)
{
    return mcpi_error_set(f->err, MCP_E_INVAL, "%s%s%s%s %s",
                          f->property ? "/properties/" : "",
                          f->property ? f->property : "", keyword ? "/" : "",
                          keyword ? keyword : "", sentence);
}

static bool
is_type(const mcp_json *value, enum mcp_json_type type)
{
    return mcp_json_get_type(value) == type;
}

static bool
is_number(const mcp_json *value)
{
    return is_type(value, MCP_JSON_INTEGER) || is_type(value, MCP_JSON_REAL);
}

static bool
are_texts(const mcp_json *value)
{
    mcp_json_iterator it;

    for (it = mcp_json_each(value); mcp_json_next(&it);) {
        if (!is_type(it.value, MCP_JSON_STRING))
            return false;
    }
    return is_type(value, MCP_JSON_ARRAY);
}

/* [{"const": "#F00", "title": "Red"}, ...] */
static bool
are_options(const mcp_json *value)
{
    mcp_json_iterator it;

    for (it = mcp_json_each(value); mcp_json_next(&it);) {
        if (!is_type(mcp_json_get(it.value, "const"), MCP_JSON_STRING) ||
            !is_type(mcp_json_get(it.value, "title"), MCP_JSON_STRING))
            return false;
    }
    return is_type(value, MCP_JSON_ARRAY);
}

static bool
is_format(const mcp_json *value)
{
    return mcp_json_is_string(value, "email") || mcp_json_is_string(value, "uri") ||
           mcp_json_is_string(value, "date") || mcp_json_is_string(value, "date-time");
}

/* {"type": "string", "enum": [...]} or {"anyOf": [options]} */
static bool
is_choice_of_texts(const mcp_json *items)
{
    const mcp_json *type = mcp_json_get(items, "type");
    mcp_json_iterator it;

    for (it = mcp_json_each(items); mcp_json_next(&it);) {
        if (!it.key || !(mcp_json_is_string(it.key, "type") ||
                         mcp_json_is_string(it.key, "enum") ||
                         mcp_json_is_string(it.key, "anyOf")))
            return false;
    }
    if (mcp_json_get(items, "anyOf"))
        return are_options(mcp_json_get(items, "anyOf")) &&
               !mcp_json_get(items, "enum") &&
               (!type || mcp_json_is_string(type, "string"));
    return mcp_json_is_string(type, "string") && are_texts(mcp_json_get(items, "enum"));
}

/* NULL: it is as it must be. */
static const char *
kind_fault(enum kind kind, const mcp_json *value)
{
    uint64_t count;

    switch (kind) {
    case TEXT:
        return is_type(value, MCP_JSON_STRING) ? NULL : "must be a string";
    case COUNT:
        return mcpi_number_count(mcpi_yy(value), &count) == 0
                   ? NULL
                   : "must be an integer that is not negative";
    case NUMBER:
        return is_number(value) ? NULL : "must be a number";
    case BOOLEAN:
        return is_type(value, MCP_JSON_BOOL) ? NULL : "must be a boolean";
    case TEXTS:
        return are_texts(value) ? NULL : "must be an array of strings";
    case OPTIONS:
        return are_options(value) ? NULL
                                  : "must be an array of objects with const and title";
    case FORMAT:
        return is_format(value) ? NULL : "must be email, uri, date or date-time";
    case ITEMS:
        return is_choice_of_texts(value)
                   ? NULL
                   : "must have an enum of strings, or anyOf with const and title";
    default:
        return NULL;
    }
}

static const struct rule *
rule_find(const struct rule *rules, const mcp_json *keyword)
{
    for (; rules->keyword; rules++) {
        if (mcp_json_is_string(keyword, rules->keyword))
            return rules;
    }
    return NULL;
}

static bool
is_other_keyword(const mcp_json *keyword)
{
    for (size_t i = 0; i < sizeof(other_keywords) / sizeof(other_keywords[0]); i++) {
        if (mcp_json_is_string(keyword, other_keywords[i]))
            return true;
    }
    return false;
}

static int
keyword_check(const struct form *f, const struct rule *rules, const mcp_json *keyword,
              const mcp_json *value)
{
    const struct rule *rule = rule_find(rules, keyword);
    const char *name = mcp_json_string(keyword, "");
    const char *fault;

    if (!rule)
        rule = rule_find(common_rules, keyword);
    if (!rule)
        return is_other_keyword(keyword) ? refuse(f, name, "is not allowed in a form")
                                         : 0;
    fault = kind_fault(rule->kind, value);
    return fault ? refuse(f, name, fault) : 0;
}

static const struct rule *
rules_for(const mcp_json *type)
{
    if (mcp_json_is_string(type, "string"))
        return string_rules;
    if (mcp_json_is_string(type, "number") || mcp_json_is_string(type, "integer"))
        return number_rules;
    if (mcp_json_is_string(type, "boolean"))
        return boolean_rules;
    return mcp_json_is_string(type, "array") ? array_rules : NULL;
}

static int
property_check(const struct form *f, const mcp_json *schema)
{
    const struct rule *rules = rules_for(mcp_json_get(schema, "type"));
    mcp_json_iterator it;
    int r = 0;

    if (!rules)
        return refuse(f, "type",
                      "must be string, number, integer, boolean, or array of choices");
    for (it = mcp_json_each(schema); r == 0 && mcp_json_next(&it);)
        r = keyword_check(f, rules, it.key, it.value);
    if (r == 0 && rules == array_rules && !mcp_json_get(schema, "items"))
        r = refuse(f, "items", "must say what there is to choose from");
    if (r == 0 && mcp_json_get(schema, "enum") && mcp_json_get(schema, "oneOf"))
        r = refuse(f, "oneOf", "must not stand beside enum");
    return r;
}

/* The form itself: besides its properties it may say that it has no others. */
static int
form_keyword_check(const struct form *f, const mcp_json *keyword, const mcp_json *value)
{
    static const struct rule rules[] = {{"$schema", TEXT},
                                        {"additionalProperties", BOOLEAN},
                                        {"properties", ANY},
                                        {"required", TEXTS},
                                        {NULL, ANY}};

    return keyword_check(f, rules, keyword, value);
}

int
mcp_schema_check_form(const mcp_json *schema, mcp_error *err)
{
    const mcp_json *properties = mcp_json_get(schema, "properties");
    struct form f = {NULL, err};
    mcp_json_iterator it;
    int r = 0;

    if (!mcp_json_is_string(mcp_json_get(schema, "type"), "object"))
        return refuse(&f, "type", "must be object");
    if (!is_type(properties, MCP_JSON_OBJECT))
        return refuse(&f, "properties", "must be an object of schemas");
    for (it = mcp_json_each(schema); r == 0 && mcp_json_next(&it);)
        r = form_keyword_check(&f, it.key, it.value);
    for (it = mcp_json_each(properties); r == 0 && mcp_json_next(&it);) {
        f.property = mcp_json_string(it.key, "");
        r = property_check(&f, it.value);
    }
    return r;
}
