/*
 * schema_check.h - what the files that check share
 *
 *   schema_check.c          the entry, the budget, one value against one node
 *   schema_check_scalar.c   numbers and strings
 *   schema_check_array.c    arrays
 *   schema_check_object.c   objects
 *   schema_check_logic.c    what applies to the same value: references, anyOf, if, ...
 *   schema_report.c         faults
 *
 * A check is run for its verdict first, which stops at the first fault and knows
 * nothing of paths. Only if the verdict is "no" and somebody wants to know why, it is
 * run again, and goes on after a fault (mcpi_check_goes_on) until the report is full.
 */
#ifndef MCPI_JSON_SCHEMA_CHECK_H
#define MCPI_JSON_SCHEMA_CHECK_H

#include "json/schema.h"
#include "json/schema_seen.h"

/* Which resources the check went through to get here, innermost first. */
struct mcpi_check_scope {
    const struct mcpi_check_scope *outer;
    const struct mcpi_schema_resource *resource;
};

struct mcpi_check {
    const mcp_schema *schema;
    const yyjson_val *root;
    const struct mcpi_check_scope *scope;
    uint64_t steps;            /* left */
    unsigned depth;            /* subschemas inside one another */
    unsigned quiet;            /* above 0: what fails here is no fault by itself */
    mcp_schema_report *report; /* NULL: for the verdict only */
    bool full;                 /* the report is: stop */
    int status;                /* the check itself failed: stop */
    const char *why;           /* which limit, if it was one */
};

/* Does the value conform to the node? seen is NULL unless somebody around asks what was
 * looked at. */
bool mcpi_check_node(struct mcpi_check *c, const struct mcpi_schema_node *node,
                     const yyjson_val *value, struct mcpi_seen *seen);

/* The same, without faults of its own, and seen is marked only if it conforms. */
bool mcpi_check_branch(struct mcpi_check *c, const struct mcpi_schema_node *node,
                       const yyjson_val *value, struct mcpi_seen *seen);

/* Rules of one kind. */
bool mcpi_check_numbers(struct mcpi_check *c, const struct mcpi_schema_node *node,
                        const yyjson_val *value);
bool mcpi_check_strings(struct mcpi_check *c, const struct mcpi_schema_node *node,
                        const yyjson_val *value);
bool mcpi_check_arrays(struct mcpi_check *c, const struct mcpi_schema_node *node,
                       const yyjson_val *value, struct mcpi_seen *seen);
bool mcpi_check_objects(struct mcpi_check *c, const struct mcpi_schema_node *node,
                        const yyjson_val *value, struct mcpi_seen *seen);
bool mcpi_check_logic(struct mcpi_check *c, const struct mcpi_schema_node *node,
                      const yyjson_val *value, struct mcpi_seen *seen);

/* unevaluatedItems and unevaluatedProperties, when all else has been looked at. */
bool mcpi_check_rest_of_array(struct mcpi_check *c, const struct mcpi_schema_node *node,
                              const yyjson_val *value, struct mcpi_seen *seen);
bool mcpi_check_rest_of_object(struct mcpi_check *c,
                               const struct mcpi_schema_node *node,
                               const yyjson_val *value, struct mcpi_seen *seen);

/* Are all elements different? Compares hashes; spends steps. */
bool mcpi_check_unique(struct mcpi_check *c, const yyjson_val *array);

/* Is the pattern in the text? False also if the check failed. */
bool mcpi_check_pattern(struct mcpi_check *c, const struct mcpi_pattern *pattern,
                        const yyjson_val *text);

/* The check itself fails: MCP_E_NOMEM, or MCP_E_LIMIT and which. Returns false. */
bool mcpi_check_stop(struct mcpi_check *c, int status, const char *why);
bool mcpi_check_spend_slow(struct mcpi_check *c);

/* Pay for comparing all of a value, or hashing it: its texts may be long. */
bool mcpi_check_spend_value(struct mcpi_check *c, const yyjson_val *value);

/* The steps that a check of this value may take. */
uint64_t mcpi_check_budget(const mcp_schema *schema, const yyjson_val *value);

/* Write a fault down, if faults are wanted: a sentence that goes on from the path of
 * the value. Returns false. */
bool mcpi_check_fault(struct mcpi_check *c, const struct mcpi_schema_node *node,
                      const char *keyword, const yyjson_val *value, const char *format,
                      ...) MCP_PRINTF(5, 6);

/* "1 item", "2 items" */
static inline const char *
mcpi_check_plural(uint64_t count, const char *one, const char *many)
{
    return count == 1 ? one : many;
}

/* After a fault: look for more of them? */
static inline bool
mcpi_check_goes_on(const struct mcpi_check *c)
{
    return c->report && c->quiet == 0 && !c->full && c->status == 0;
}

/* Pay; false: there is nothing left, and the check has failed. */
static inline bool
mcpi_check_spend(struct mcpi_check *c, uint64_t steps)
{
    if (c->steps < steps)
        return mcpi_check_spend_slow(c);
    c->steps -= steps;
    return true;
}

/* Pay for a look at each byte of a text, which may be long. */
static inline bool
mcpi_check_spend_text(struct mcpi_check *c, const yyjson_val *text)
{
    return mcpi_yy_len(text) < MCPI_SCHEMA_STEP_BYTES ||
           mcpi_check_spend(c, mcpi_yy_len(text) / MCPI_SCHEMA_STEP_BYTES);
}

/* mcpi_check_node, without a call for the many values whose type decides. */
static inline bool
mcpi_check_value(struct mcpi_check *c, const struct mcpi_schema_node *node,
                 const yyjson_val *value)
{
    unsigned type = mcpi_schema_type(value);

    if (c->steps > 0 && (node->plain & type || !(node->types & type || c->report))) {
        c->steps--;
        return node->plain & type;
    }
    return mcpi_check_node(c, node, value, NULL);
}

/* ---- for schema_report.c --------------------------------------------------- */

/* Empties it. */
void mcpi_report_reset(mcp_schema_report *report);

/* A report on the stack, of one fault; free it with mcpi_report_done. */
struct mcpi_report_place {
    size_t instance, schema, keyword, message; /* offsets of texts */
};

struct mcp_schema_report {
    const mcp_allocator *mem;
    struct mcpi_buf texts;
    struct mcpi_report_place *places;
    size_t count, room, max;
    bool cut;
};

void mcpi_report_init(mcp_schema_report *report, const mcp_allocator *mem, size_t max);
void mcpi_report_done(mcp_schema_report *report);

#endif
