/*
 * mcp/uri_template.h - URI templates (RFC 6570, all four levels), and back
 *
 * Parsed once, a template is constant and used by any number of threads: it expands
 * with variables to a URI, and it reads the variables back from a URI, which is how a
 * read of a resource finds the resource template it belongs to.
 *
 *     r = mcp_uri_template_new("file:///{+path}{?line}", NULL, &t, &err);
 *     r = mcp_uri_template_match(t, uri, strlen(uri), &variables, NULL, &err);
 *     if (r == 0 && variables)
 *         path = mcp_json_string(mcp_json_get(mcp_doc_root(variables), "path"), NULL);
 */
#ifndef MCP_URI_TEMPLATE_H
#define MCP_URI_TEMPLATE_H

#include <mcp/json.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct mcp_uri_template mcp_uri_template;

/* What people write is far below all of these; together they bound the memory and the
 * time of one match: some 4 MiB, and 50 million steps, which is a tenth of a second. */
#define MCP_URI_TEMPLATE_LENGTH_MAX 4096 /* bytes of a template */
#define MCP_URI_EXPRESSIONS_MAX 64       /* of one template */
#define MCP_URI_VARIABLES_MAX 128        /* of one template, each occurrence counted */
#define MCP_URI_MATCH_LENGTH_MAX 8192    /* bytes of a URI that is matched */
#define MCP_URI_LENGTH_MAX (1 << 20)     /* bytes of a URI that is made */

/* Parse a template. The text is copied. MCP_E_INVAL: not a template, err says what is
 * wrong and where; MCP_E_LIMIT; MCP_E_NOMEM. [any] */
MCP_API int mcp_uri_template_new(const char *text, const mcp_allocator *allocator,
                                 mcp_uri_template **ret_template, mcp_error *err);
MCP_API void mcp_uri_template_free(mcp_uri_template *t);

/* The text it was parsed from; borrowed as long as it lives. NULL for NULL. [any] */
MCP_API const char *mcp_uri_template_text(const mcp_uri_template *t);

/* The names of the variables, each once, in the order of the template; NULL beyond the
 * last. Borrowed as long as the template lives. [any] */
MCP_API size_t mcp_uri_template_count(const mcp_uri_template *t);
MCP_API const char *mcp_uri_template_name(const mcp_uri_template *t, size_t index);

/* ---- expanding; [any] ------------------------------------------------------ */

/*
 * Make a URI. `variables` is an object: strings, numbers and booleans are text, an
 * array is a list, an object is a map, in its order. What is missing or null is
 * undefined, and so are an empty list and an empty map; a null in a list or map is
 * skipped. NULL: no variable is defined. *ret_uri is terminated and freed with
 * mcp_text_free and the same allocator; ret_length may be NULL.
 *
 * MCP_E_INVAL: not an object, a list or map with anything but text in it, or one with a
 * prefix modifier ({list:3}); err names the variable. MCP_E_LIMIT: longer than
 * MCP_URI_LENGTH_MAX; MCP_E_NOMEM.
 */
MCP_API int mcp_uri_template_expand(const mcp_uri_template *t,
                                    const mcp_json *variables,
                                    const mcp_allocator *allocator, char **ret_uri,
                                    size_t *ret_length, mcp_error *err);

/* The same with variables that are plain text. The pairs end with {0}; a value of NULL
 * is undefined. MCP_E_INVAL also for a value that is not UTF-8. */
typedef struct mcp_uri_pair {
    const char *name;
    const char *value;
} mcp_uri_pair;

MCP_API int mcp_uri_template_expand_pairs(const mcp_uri_template *t,
                                          const mcp_uri_pair *pairs,
                                          const mcp_allocator *allocator,
                                          char **ret_uri, size_t *ret_length,
                                          mcp_error *err);

/* ---- matching; [any] ------------------------------------------------------- */

/*
 * Read the variables back from a URI. *ret_variables is a document with an object of
 * them, as mcp_uri_template_expand takes it, or NULL if the URI does not match. Those
 * of the template's names that are not in it are missing: the URI says nothing of them.
 * *ret_missing is their number, written only if the URI matches; ret_missing may be
 * NULL.
 *
 * A URI matches if it is what the template expands to, for some values. Beyond that the
 * pairs of {;...}, {?...} and {&...} may come in any order, their "=" may be left out
 * before an empty value, and %7e is as good as ~. If several values would do:
 *
 *   - Of two expressions, the one to the left takes as little as it can:
 *     {a}{b} reads "xyz" as b alone, {+a}/{b} reads "x/y/z" as "x/y" and "z". But what
 *     begins like a {/...}, {.x}, {;...}, {?...} or {#...} is read as one.
 *   - In {a,b} (and with +, #, ., /) values go to the variables from the left as far as
 *     they fit; what is left over after the last one makes it a list, and those without
 *     any are missing.
 *   - An expression that stands for nothing has all its variables missing.
 *   - A variable without explode is a list if there are commas in its value, else text;
 *     with + and # it is always text. A map written without explode comes back as a
 *     list of its keys and values.
 *   - A variable with explode ({list*}) is a map if each of its items has a "=", else a
 *     list. In {?a,rest*} what has no other name is an item of `rest`; what is named
 *     `rest` alone makes a list.
 *   - A prefix ({a:3}) tells the whole value if it is shorter than that; else `a` is
 *     missing unless it also stands elsewhere in the template.
 *   - A variable that stands there twice must have the same value twice, except where
 *     one of them stands for nothing.
 *
 * One reading is made, and it decides: if a pair, or a key of a map, then stands there
 * twice, a prefix is longer than it may be, or a value is not UTF-8, the URI does not
 * match, even if another reading had fitted. That takes a template that cannot be read
 * in one way only: {?a*,b*}, {?a*}{&b*}, {?a,a}, {a}{b:1}.
 *
 * Values are decoded: %XX strictly (two hex digits, and UTF-8 when decoded), so a value
 * may be any text, with "/", ".." or U+0000 in it: it comes from a stranger. "+" is
 * never a space. Characters beyond ASCII count as encoded ones. Where a value of {+a}
 * had a "%2F" of its own, it comes back as "/".
 *
 * There is no backtracking: time and memory grow with the length of the URI times that
 * of the template. MCP_E_LIMIT: the URI is longer than MCP_URI_MATCH_LENGTH_MAX;
 * MCP_E_NOMEM.
 */
MCP_API int mcp_uri_template_match(const mcp_uri_template *t, const char *uri,
                                   size_t length, mcp_doc **ret_variables,
                                   size_t *ret_missing, mcp_error *err);

#ifdef __cplusplus
}
#endif
#endif
