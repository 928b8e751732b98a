/* args_tree.c - arguments while they gather: an object that grows, at any depth */
#include "cli/args_tree.h"

#include <stdlib.h>
#include <string.h>

#include "cli/field.h"

struct cli_node *
cli_node_find(const struct cli_node *object, const char *name, size_t length)
{
    for (struct cli_node *node = object->first; node; node = node->next)
        if (node->name && strlen(node->name) == length &&
            memcmp(node->name, name, length) == 0)
            return node;
    return NULL;
}

struct cli_node *
cli_node_add(struct cli_node *parent, const char *name, size_t length)
{
    struct cli_node *node = calloc(1, sizeof(*node));

    if (!node)
        return NULL;
    if (name) {
        node->name = strndup(name, length);
        if (!node->name) {
            free(node);
            return NULL;
        }
    }
    if (parent->last)
        parent->last->next = node;
    else
        parent->first = node;
    parent->last = node;
    return node;
}

void
cli_node_clear(struct cli_node *node, bool is_array)
{
    struct cli_node *next;

    for (struct cli_node *below = node->first; below; below = next) {
        next = below->next;
        cli_node_done(below);
        free(below);
    }
    node->first = node->last = NULL;
    free(node->json);
    node->json = NULL;
    node->is_array = is_array;
}

bool
cli_node_set(struct cli_node *node, const char *json, size_t length)
{
    char *copy = strndup(json, length);

    if (!copy)
        return false;
    cli_node_clear(node, false);
    node->json = copy;
    return true;
}

static bool
node_load_below(struct cli_node *node, const mcp_json *value)
{
    mcp_json_iterator it;
    struct cli_node *below;

    for (it = mcp_json_each(value); mcp_json_next(&it);) {
        below = cli_node_add(node, mcp_json_string(it.key, NULL),
                             mcp_json_string_length(it.key));
        if (!below || !cli_node_load(below, it.value))
            return false;
    }
    return true;
}

bool
cli_node_load(struct cli_node *node, const mcp_json *value)
{
    enum mcp_json_type type = mcp_json_get_type(value);
    char *text;
    size_t length;
    bool ok;

    cli_node_clear(node, type == MCP_JSON_ARRAY);
    if (type == MCP_JSON_ARRAY || type == MCP_JSON_OBJECT)
        return node_load_below(node, value);
    if (mcp_json_print(value, false, NULL, &text, &length) < 0)
        return false;
    ok = cli_node_set(node, text, length);
    mcp_text_free(text, NULL);
    return ok;
}

void
cli_node_write(const struct cli_node *node, struct cli_text *into)
{
    if (node->json) {
        cli_text_puts(into, node->json);
        return;
    }
    cli_text_puts(into, node->is_array ? "[" : "{");
    for (const struct cli_node *below = node->first; below; below = below->next) {
        if (below != node->first)
            cli_text_puts(into, ",");
        if (below->name && !cli_field_quote(below->name, strlen(below->name), into))
            into->failed = true;
        if (below->name)
            cli_text_puts(into, ":");
        cli_node_write(below, into);
    }
    cli_text_puts(into, node->is_array ? "]" : "}");
}

void
cli_node_done(struct cli_node *node)
{
    cli_node_clear(node, false);
    free(node->name);
    node->name = NULL;
}
