/* schema_check.c - one value against one node; the entry and the budget */
#include "json/schema_check.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"

bool
mcpi_check_stop(struct mcpi_check *c, int status, const char *why)
{
    if (c->status == 0) {
        c->status = status;
        c->why = why;
    }
    return false;
}

bool
mcpi_check_spend_slow(struct mcpi_check *c)
{
    c->steps = 0;
    return mcpi_check_stop(c, MCP_E_LIMIT, "the schema takes too many steps");
}

bool
mcpi_check_spend_value(struct mcpi_check *c, const yyjson_val *value)
{
    const yyjson_val *end = mcpi_yy_next(value);
    uint64_t cost = 0;

    for (; value < end; value++) {
        cost++;
        if (mcpi_yy_type(value) == YYJSON_TYPE_STR)
            cost += mcpi_yy_len(value) / MCPI_SCHEMA_STEP_BYTES;
    }
    return mcpi_check_spend(c, cost);
}

/* ---- types, enum and const ------------------------------------------------- */

static const char *
type_name(unsigned bit)
{
    switch (bit) {
    case MCPI_TYPE_NULL:
        return "null";
    case MCPI_TYPE_BOOL:
        return "a boolean";
    case MCPI_TYPE_INTEGER:
        return "an integer";
    case MCPI_TYPE_REAL:
        return "a number";
    case MCPI_TYPE_STRING:
        return "a string";
    case MCPI_TYPE_ARRAY:
        return "an array";
    default:
        return "an object";
    }
}

/* "a string, a number or null" */
static void
types_write(struct mcpi_buf *buf, unsigned types)
{
    /* a number may be an integer: no need to say so */
    if (types & MCPI_TYPE_REAL)
        types &= ~(unsigned)MCPI_TYPE_INTEGER;
    for (unsigned bit = MCPI_TYPE_OBJECT; bit > 0; bit >>= 1) {
        unsigned below = types & (bit - 1);

        if (!(types & bit))
            continue;
        mcpi_buf_text(buf, type_name(bit));
        if (below)
            mcpi_buf_text(buf, below & (below - 1) ? ", " : " or ");
    }
}

static bool
type_fault(struct mcpi_check *c, const struct mcpi_schema_node *node,
           const yyjson_val *value, unsigned type)
{
    struct mcpi_buf types;

    if (!mcpi_check_goes_on(c))
        return false;
    if (node->never)
        return mcpi_check_fault(c, node, "false", value, "must not be there");
    mcpi_buf_init(&types, c->schema->mem, 128);
    types_write(&types, node->types);
    if (types.status < 0)
        (void)mcpi_check_stop(c, types.status, NULL);
    else
        (void)mcpi_check_fault(c, node, "type", value, "must be %.*s, not %s",
                               (int)types.len, types.data, type_name(type));
    mcpi_buf_done(&types);
    return false;
}

static size_t
value_size(const yyjson_val *value)
{
    return (size_t)(mcpi_yy_next(value) - value);
}

/* Equality looks at most at each value of the smaller one. */
static bool
is_equal(struct mcpi_check *c, const yyjson_val *option, const yyjson_val *value)
{
    if (mcpi_yy_type(option) != mcpi_yy_type(value))
        return false;
    if (mcpi_yy_type(option) == YYJSON_TYPE_STR)
        return mcpi_yy_len(option) == mcpi_yy_len(value) &&
               mcpi_check_spend_text(c, value) &&
               mcpi_name_equal(option->uni.str, mcpi_yy_len(option), value);
    if (!mcpi_check_spend_value(c, option))
        return false;
    return mcp_json_equal(mcpi_yy_json(option), mcpi_yy_json(value));
}

static bool
is_option(struct mcpi_check *c, const struct mcpi_schema_choice *choice,
          const yyjson_val *value)
{
    const yyjson_val *at = choice->options + 1;

    if (choice->strings.count > 0)
        return mcpi_yy_type(value) == YYJSON_TYPE_STR &&
               mcpi_check_spend_text(c, value) &&
               mcpi_names_search(&choice->strings, value) != MCPI_NAME_NONE;
    if (!mcpi_check_spend(c, mcpi_yy_len(choice->options) / 16))
        return false;
    for (size_t i = mcpi_yy_len(choice->options); i > 0; i--) {
        if (is_equal(c, at, value))
            return true;
        at = mcpi_yy_next(at);
    }
    return false;
}

/* Say what it must be if that is a short text. */
static bool
constant_fault(struct mcpi_check *c, const struct mcpi_schema_node *node,
               const yyjson_val *value)
{
    const yyjson_val *constant = node->choice->constant;

    if (mcpi_yy_type(constant) == YYJSON_TYPE_STR && mcpi_yy_len(constant) < 80)
        return mcpi_check_fault(c, node, "const", value, "must be \"%s\"",
                                constant->uni.str);
    return mcpi_check_fault(c, node, "const", value,
                            "must be the one value the schema names");
}

/* The options, if they are few and short. */
static bool
option_fault(struct mcpi_check *c, const struct mcpi_schema_node *node,
             const yyjson_val *value)
{
    const yyjson_val *at = node->choice->options + 1;
    size_t count = mcpi_yy_len(node->choice->options);
    struct mcpi_buf list;

    if (!mcpi_check_goes_on(c))
        return false;
    mcpi_buf_init(&list, c->schema->mem, 120);
    for (size_t i = 0; i < count && mcpi_yy_type(at) == YYJSON_TYPE_STR; i++, at++) {
        mcpi_buf_text(&list, i > 0 ? ", \"" : "\"");
        mcpi_buf_append(&list, at->uni.str, mcpi_yy_len(at));
        mcpi_buf_char(&list, '"');
    }
    if (list.status == 0 && count > 0 && at == mcpi_yy_next(node->choice->options))
        (void)mcpi_check_fault(c, node, "enum", value, "must be one of %.*s",
                               (int)list.len, list.data);
    else
        (void)mcpi_check_fault(c, node, "enum", value,
                               "must be one of the %zu values the schema lists", count);
    mcpi_buf_done(&list);
    return false;
}

static bool
choice_check(struct mcpi_check *c, const struct mcpi_schema_node *node,
             const yyjson_val *value)
{
    const struct mcpi_schema_choice *choice = node->choice;
    bool ok = true;

    if (choice->constant && !is_equal(c, choice->constant, value))
        ok = constant_fault(c, node, value);
    if ((ok || mcpi_check_goes_on(c)) && choice->options &&
        !is_option(c, choice, value))
        ok = option_fault(c, node, value);
    return ok;
}

/* ---- a node ---------------------------------------------------------------- */

static bool
scalar_check(struct mcpi_check *c, const struct mcpi_schema_node *node,
             const yyjson_val *value)
{
    bool ok = true;

    if (node->strings && mcpi_yy_type(value) == YYJSON_TYPE_STR)
        ok = mcpi_check_strings(c, node, value);
    else if (node->numbers && mcpi_yy_type(value) == YYJSON_TYPE_NUM)
        ok = mcpi_check_numbers(c, node, value);
    if (node->choice && (ok || mcpi_check_goes_on(c)))
        ok = choice_check(c, node, value) && ok;
    return ok;
}

static bool
rules_check(struct mcpi_check *c, const struct mcpi_schema_node *node,
            const yyjson_val *value, struct mcpi_seen *seen)
{
    bool ok = true;

    if (node->objects && mcpi_yy_type(value) == YYJSON_TYPE_OBJ)
        ok = mcpi_check_objects(c, node, value, seen);
    else if (node->arrays && mcpi_yy_type(value) == YYJSON_TYPE_ARR)
        ok = mcpi_check_arrays(c, node, value, seen);
    if (ok || mcpi_check_goes_on(c))
        ok = scalar_check(c, node, value) && ok;
    if (node->logic && (ok || mcpi_check_goes_on(c)))
        ok = mcpi_check_logic(c, node, value, seen) && ok;
    return ok;
}

static bool
has_unevaluated(const struct mcpi_schema_node *node, unsigned type)
{
    if (type == MCPI_TYPE_ARRAY)
        return node->arrays && node->arrays->unevaluated;
    return type == MCPI_TYPE_OBJECT && node->objects && node->objects->unevaluated;
}

/* What the node's own rules look at is remembered; the rest is for unevaluated*. */
static bool
unevaluated_check(struct mcpi_check *c, const struct mcpi_schema_node *node,
                  const yyjson_val *value, struct mcpi_seen *outer)
{
    struct mcpi_seen seen;
    bool ok;

    if (!mcpi_check_spend(c, mcpi_yy_len(value) / 64))
        return false;
    if (mcpi_seen_init(&seen, c->schema->mem, mcpi_yy_len(value)) < 0)
        return mcpi_check_stop(c, MCP_E_NOMEM, NULL);
    ok = rules_check(c, node, value, &seen);
    if (ok || mcpi_check_goes_on(c)) {
        if (mcpi_yy_type(value) == YYJSON_TYPE_ARR)
            ok = mcpi_check_rest_of_array(c, node, value, &seen) && ok;
        else
            ok = mcpi_check_rest_of_object(c, node, value, &seen) && ok;
    }
    if (outer) /* whoever wants only what conforms has asked for a branch */
        mcpi_seen_merge(outer, &seen);
    mcpi_seen_done(&seen);
    return ok;
}

/* Into a node that has more than a type, one level deeper. */
static bool
node_enter(struct mcpi_check *c, const struct mcpi_schema_node *node,
           const yyjson_val *value, struct mcpi_seen *seen)
{
    const struct mcpi_check_scope scope = {c->scope, node->resource};
    bool ok;

    if (c->depth == MCPI_SCHEMA_DEPTH_MAX)
        return mcpi_check_stop(c, MCP_E_LIMIT, "the schema is nested too deep");
    c->depth++;
    if (!scope.outer || scope.outer->resource != node->resource)
        c->scope = &scope;
    if (has_unevaluated(node, mcpi_schema_type(value)))
        ok = unevaluated_check(c, node, value, seen);
    else
        ok = rules_check(c, node, value, seen);
    c->scope = scope.outer;
    c->depth--;
    return ok;
}

bool
mcpi_check_node(struct mcpi_check *c, const struct mcpi_schema_node *node,
                const yyjson_val *value, struct mcpi_seen *seen)
{
    unsigned type = mcpi_schema_type(value);
    bool ok = true;

    if (c->status < 0 || c->full || !mcpi_check_spend(c, 1))
        return false;
    if (node->alias)
        node = node->alias;
    if (!(node->types & type)) {
        ok = type_fault(c, node, value, type);
        if (!mcpi_check_goes_on(c))
            return ok;
    }
    if (!(node->relevant & type))
        return ok;
    /* what leads no deeper needs no new level */
    if (!node->logic && !mcpi_yy_is_container(value))
        return scalar_check(c, node, value) && ok;
    return node_enter(c, node, value, seen) && ok;
}

bool
mcpi_check_branch(struct mcpi_check *c, const struct mcpi_schema_node *node,
                  const yyjson_val *value, struct mcpi_seen *seen)
{
    struct mcpi_seen own;
    bool ok = false;

    c->quiet++;
    if (!seen) {
        ok = mcpi_check_value(c, node, value);
    } else if (!mcpi_check_spend(c, seen->count / 64)) {
        ok = false;
    } else if (mcpi_seen_init(&own, c->schema->mem, seen->count) < 0) {
        ok = mcpi_check_stop(c, MCP_E_NOMEM, NULL);
    } else {
        ok = mcpi_check_node(c, node, value, &own);
        if (ok)
            mcpi_seen_merge(seen, &own);
        mcpi_seen_done(&own);
    }
    c->quiet--;
    return ok;
}

/* ---- the entry ------------------------------------------------------------- */

uint64_t
mcpi_check_budget(const mcp_schema *schema, const yyjson_val *value)
{
    uint64_t size = value ? value_size(value) : 1;

    if (schema->max_steps > 0)
        return schema->max_steps;
    return MCPI_SCHEMA_STEPS + MCPI_SCHEMA_STEPS_PER_VALUE * size;
}

/* 0, MCP_E_INVAL, or why it is not known. */
static int
check_run(const mcp_schema *schema, const yyjson_val *value, mcp_schema_report *report,
          mcp_error *err)
{
    struct mcpi_check c = {
        .schema = schema,
        .root = value,
        .steps = mcpi_check_budget(schema, value),
        .report = report,
    };
    bool ok = mcpi_check_node(&c, schema->root, value, NULL);

    if (c.status < 0)
        return mcpi_error_set(err, c.status, "%s",
                              c.why ? c.why : mcp_status_text(c.status));
    return ok ? 0 : MCP_E_INVAL;
}

/* A long path is cut, so that what is wrong still has room. */
static void
first_fault_set(const mcp_schema_report *report, mcp_error *err)
{
    mcp_schema_fault fault;
    const char *path;
    size_t len, shown;

    if (!mcp_schema_report_get(report, 0, &fault)) {
        (void)mcpi_error_set(err, MCP_E_INVAL, "the value does not conform");
        return;
    }
    path = fault.instance_path[0] ? fault.instance_path : "it";
    len = strlen(path);
    shown = mcpi_utf8_cut(path, len, MCPI_SCHEMA_PATH_SHOWN);
    (void)mcpi_error_set(err, MCP_E_INVAL, "%.*s%s %s", (int)shown, path,
                         shown < len ? "..." : "", fault.message);
}

/* It does not conform: find out why. A limit that is reached now does not matter, the
 * verdict stands; what was found is kept. */
static int
faults_find(const mcp_schema *schema, const yyjson_val *value,
            mcp_schema_report *report, mcp_error *err)
{
    mcp_schema_report own;
    int r;

    if (!report && !err)
        return MCP_E_INVAL;
    mcpi_report_init(&own, schema->mem, 1);
    r = check_run(schema, value, report ? report : &own, err);
    if (r == MCP_E_LIMIT && report)
        report->cut = true;
    if (r != MCP_E_NOMEM) {
        r = MCP_E_INVAL;
        first_fault_set(report ? report : &own, err);
    }
    mcpi_report_done(&own);
    return r;
}

int
mcp_schema_check(const mcp_schema *schema, const mcp_json *value,
                 mcp_schema_report *report, mcp_error *err)
{
    int r;

    if (report)
        mcpi_report_reset(report);
    if (!schema || !value)
        return mcpi_error_set(err, MCP_E_INVAL, "no schema, or no value");
    r = check_run(schema, mcpi_yy(value), NULL, err);
    if (r == MCP_E_INVAL)
        r = faults_find(schema, mcpi_yy(value), report, err);
    return r;
}
