/*
 * field.h - what a JSON schema says of one value: its types, its choices, its members
 *
 * For people who type and read; mcp_schema_check is what judges. `root` is the schema
 * that a field stands in, where its "#/$defs/x" are looked up; NULL: none of them is
 * followed. All accept NULL, and all end within a limit of steps, whatever a stranger's
 * schema says.
 */
#ifndef CLI_FIELD_H
#define CLI_FIELD_H

#include <mcp/json.h>

#include "cli/text.h"

enum cli_type {
    CLI_TYPE_NULL = 1,
    CLI_TYPE_BOOL = 2,
    CLI_TYPE_INTEGER = 4,
    CLI_TYPE_NUMBER = 8,
    CLI_TYPE_STRING = 16,
    CLI_TYPE_ARRAY = 32,
    CLI_TYPE_OBJECT = 64,
    CLI_TYPE_ANY = 127
};

#define CLI_CHOICES_MAX 64 /* more than anybody reads */

struct cli_choice {
    const mcp_json *value;
    const char *title; /* NULL: the value itself is what is shown */
};

/* ---- reading a schema; all borrowed from it ------------------------------------- */

/* Calls visit for the schema and all that it says of the same value: behind $ref and
 * allOf, and if `maybe` what only an alternative says, anyOf and oneOf. True: visit
 * returned true, which ends it. */
typedef bool cli_field_visit(const mcp_json *schema, void *user);
bool cli_field_walk(const mcp_json *root, const mcp_json *schema, bool maybe,
                    cli_field_visit *visit, void *user);

/* The types it may have, a set. ANY also if the schema does not say. */
unsigned cli_field_types(const mcp_json *root, const mcp_json *field);

/* The first that is said under this keyword, or NULL. */
const mcp_json *cli_field_keyword(const mcp_json *root, const mcp_json *field,
                                  const char *keyword);

/* What an object's schema says of its property of that name; NULL: it does not name
 * it. */
const mcp_json *cli_field_member(const mcp_json *root, const mcp_json *schema,
                                 const char *name, size_t length);

/* Does an object's schema say that it must be there? */
bool cli_field_is_required(const mcp_json *root, const mcp_json *schema,
                           const char *name);

/* Values it lists (enum, const); of an array those of its elements. Returns how many
 * were written, at most CLI_CHOICES_MAX. */
size_t cli_field_choices(const mcp_json *root, const mcp_json *field,
                         struct cli_choice *choices);

/* Is it a secret, which is not shown while it is typed? */
bool cli_field_is_secret(const mcp_json *root, const mcp_json *field);

/* ---- for people ----------------------------------------------------------------- */

/* "integer, 1 to 10, default 5"; harmless. Nothing if nothing is said. */
void cli_field_describe(const mcp_json *root, const mcp_json *field,
                        struct cli_text *into);

/* A value as a person writes it: a string without quotes, else JSON; harmless. */
void cli_field_show(const mcp_json *value, struct cli_text *into);

/* ---- texts into values ---------------------------------------------------------- */

/* What was typed, as JSON of a type that the field may have; appended to into.
 * False: it is none, and why goes on from the field's name: "must be an integer, not
 * \"x\"". */
bool cli_field_read(const mcp_json *root, const mcp_json *field, const char *text,
                    size_t length, struct cli_text *into, struct cli_text *why);

/* A text as a JSON string. False: it is not UTF-8, or there is no memory. */
bool cli_field_quote(const char *text, size_t length, struct cli_text *into);

#endif
