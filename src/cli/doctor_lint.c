/* doctor_lint.c - tools as a server lists them: names, texts and schemas */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/schema.h>

#include "cli/doctor.h"

#define SHOWN 5             /* complaints that are shown; all are counted */
#define TOOL_NAME_BYTES 128 /* bytes of a tool's name */

/* ---- complaints ----------------------------------------------------------------- */

void
cli_complain(struct cli_complaints *all, const char *format, ...)
{
    char text[512];
    va_list args;

    if (++all->count > SHOWN)
        return;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args);
    va_end(args);
    cli_text_printf(&all->text, "%s%s", all->count > 1 ? "; " : "", text);
}

void
cli_complaints_found(struct cli_complaints *all, enum cli_verdict verdict,
                     struct cli_finding *finding, const char *passed)
{
    if (all->count == 0)
        cli_found(finding, CLI_PASS, "%s", passed);
    else if (all->count > SHOWN)
        cli_found(finding, verdict, "%s; and %zu more.", cli_text_string(&all->text),
                  all->count - SHOWN);
    else
        cli_found(finding, verdict, "%s.", cli_text_string(&all->text));
    cli_text_done(&all->text);
}

static int
compare(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sorted, for a server may list very many. */
const char *
cli_twice(const mcp_json *list, const char *key)
{
    size_t count = mcp_json_count(list), used = 0;
    const char **texts = count > 0 ? calloc(count, sizeof(*texts)) : NULL;
    const char *twice = NULL;
    mcp_json_iterator it;

    for (it = mcp_json_each(list); texts && mcp_json_next(&it);) {
        texts[used] = mcp_json_string(mcp_json_get(it.value, key), NULL);
        used += texts[used] != NULL;
    }
    if (used > 1)
        qsort(texts, used, sizeof(*texts), compare);
    for (size_t i = 1; i < used && !twice; i++)
        if (strcmp(texts[i - 1], texts[i]) == 0)
            twice = texts[i];
    free(texts);
    return twice;
}

static const char *
name_of(const mcp_json *item)
{
    return mcp_json_string(mcp_json_get(item, "name"), "(no name)");
}

/* ---- tools ---------------------------------------------------------------------- */

/* Letters, digits and _-. of ASCII (server/tools, Tool Names): that is advice (SHOULD). */
static bool
is_tool_name(const mcp_json *name)
{
    const char *text = mcp_json_string(name, "");
    size_t length = mcp_json_string_length(name);

    return length >= 1 && length <= TOOL_NAME_BYTES &&
           strspn(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                        "0123456789_-.") == length;
}

void
cli_lint_tool_names(const mcp_json *tools, struct cli_finding *finding)
{
    struct cli_complaints all = {0};
    const char *twice = cli_twice(tools, "name");
    enum cli_verdict verdict = twice ? CLI_FAIL : CLI_WARN;
    mcp_json_iterator it;
    char passed[64];

    if (twice)
        cli_complain(&all, "%.128s is the name of two tools", twice);
    for (it = mcp_json_each(tools); mcp_json_next(&it);) {
        const mcp_json *name = mcp_json_get(it.value, "name");

        if (is_tool_name(name))
            continue;
        cli_complain(&all, "\"%.160s\" is no name for a tool", name_of(it.value));
        if (!*mcp_json_string(name, ""))
            verdict = CLI_FAIL;
    }
    (void)snprintf(passed, sizeof(passed), "%zu tools, each with a name of its own.",
                   mcp_json_count(tools));
    cli_complaints_found(&all, verdict, finding, passed);
    if (finding->verdict != CLI_PASS)
        cli_mend(finding, "A name is 1 to 128 of A-Z a-z 0-9 _ - . and is there once.");
}

/* Of the properties of a schema, those that say nothing of themselves. */
static void
lint_properties(const mcp_json *tool, struct cli_complaints *all)
{
    const mcp_json *properties = mcp_json_get(mcp_json_get(tool, "inputSchema"),
                                              "properties");
    mcp_json_iterator it;

    for (it = mcp_json_each(properties); mcp_json_next(&it);)
        if (it.key && !mcp_json_get(it.value, "description") &&
            !mcp_json_get(it.value, "$ref"))
            cli_complain(all, "%.128s does not describe its argument %.128s",
                         name_of(tool), mcp_json_string(it.key, ""));
}

void
cli_lint_tool_texts(const mcp_json *tools, struct cli_finding *finding)
{
    struct cli_complaints all = {0};
    mcp_json_iterator it;

    for (it = mcp_json_each(tools); mcp_json_next(&it);) {
        if (!*mcp_json_string(mcp_json_get(it.value, "description"), ""))
            cli_complain(&all, "%.128s has no description", name_of(it.value));
        lint_properties(it.value, &all);
    }
    cli_complaints_found(&all, CLI_WARN, finding,
                         "All tools and arguments have descriptions.");
    if (finding->verdict != CLI_PASS)
        cli_mend(finding, "A model knows of a tool only what its description says.");
}

/* One schema of a tool: it can be used, and is one of an object. */
static void
lint_schema(const mcp_json *tool, const char *key, struct cli_complaints *all)
{
    const mcp_json *value = mcp_json_get(tool, key);
    mcp_schema *schema;
    mcp_error err = {0};

    if (mcp_json_get_type(value) != MCP_JSON_OBJECT) {
        cli_complain(all, "%.128s: %s is no object", name_of(tool), key);
    } else if (mcp_schema_compile(value, NULL, &schema, &err) < 0) {
        cli_complain(all, "%.128s: %s cannot be used: %s", name_of(tool), key,
                     err.message);
    } else {
        mcp_schema_free(schema);
        if (!mcp_json_is_string(mcp_json_get(value, "type"), "object") &&
            strcmp(key, "inputSchema") == 0)
            cli_complain(all, "%.128s: %s must have type \"object\"", name_of(tool),
                         key);
    }
}

void
cli_lint_tool_inputs(const mcp_json *tools, struct cli_finding *finding)
{
    struct cli_complaints all = {0};
    mcp_json_iterator it;

    for (it = mcp_json_each(tools); mcp_json_next(&it);)
        lint_schema(it.value, "inputSchema", &all);
    cli_complaints_found(&all, CLI_FAIL, finding, "All input schemas can be used.");
    if (finding->verdict != CLI_PASS)
        cli_mend(finding, "inputSchema is a JSON Schema (2020-12) of type \"object\".");
}

void
cli_lint_tool_outputs(const mcp_json *tools, struct cli_finding *finding)
{
    struct cli_complaints all = {0};
    mcp_json_iterator it;
    size_t count = 0;
    char passed[64];

    for (it = mcp_json_each(tools); mcp_json_next(&it);) {
        if (!mcp_json_get(it.value, "outputSchema"))
            continue;
        count++;
        lint_schema(it.value, "outputSchema", &all);
    }
    (void)snprintf(passed, sizeof(passed), "%zu output schema%s, which can be used.",
                   count, count == 1 ? "" : "s");
    cli_complaints_found(&all, CLI_FAIL, finding, passed);
    if (count == 0)
        cli_found(finding, CLI_SKIP, "No tool has an output schema.");
    else if (finding->verdict != CLI_PASS)
        cli_mend(finding,
                 "outputSchema is a JSON Schema; clients check results by it.");
}
