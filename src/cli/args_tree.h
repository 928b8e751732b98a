/*
 * args_tree.h - arguments while they gather: an object that grows, at any depth
 *
 * Values are kept as JSON text, as they came. Where words name a member of an object or
 * an element of an array, that is open: made of the nodes below it.
 */
#ifndef CLI_ARGS_TREE_H
#define CLI_ARGS_TREE_H

#include <mcp/json.h>

#include "cli/text.h"

struct cli_node {
    char *name;    /* as a member; NULL: an element, or the root */
    char *json;    /* NULL: it is open */
    bool is_array; /* if open; else an object */
    bool is_said;  /* by a word, and not only by a file */
    struct cli_node *first, *last, *next;
};

/* The member of that name; NULL: none. */
struct cli_node *cli_node_find(const struct cli_node *object, const char *name,
                               size_t length);

/* One more, an open and empty object; name NULL: as an element. NULL: no memory. */
struct cli_node *cli_node_add(struct cli_node *parent, const char *name, size_t length);

/* What it holds is gone: it is an open and empty object or array. */
void cli_node_clear(struct cli_node *node, bool is_array);

/* What it holds is this value, JSON text. False: no memory. */
bool cli_node_set(struct cli_node *node, const char *json, size_t length);

/* The same from a value that was read; objects and arrays are open. */
bool cli_node_load(struct cli_node *node, const mcp_json *value);

/* As JSON text, appended. */
void cli_node_write(const struct cli_node *node, struct cli_text *into);

/* Frees all in it, not itself. */
void cli_node_done(struct cli_node *node);

#endif
