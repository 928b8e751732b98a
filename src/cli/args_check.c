/* args_check.c - what is wrong with arguments, said with what the schema says */
#include <stdlib.h>
#include <string.h>

#include "cli/args_parts.h"
#include "cli/field.h"

#define COLUMNS_SHOWN 120 /* of a description */
#define FAULTS_MAX 64

/* ---- one fault ------------------------------------------------------------------ */

static void
add_schema_says(const mcp_json *root, const mcp_json *field, struct cli_text *into)
{
    const mcp_json *text = cli_field_keyword(root, field, "description");
    struct cli_text harmless = {0}, says = {0};

    cli_field_describe(root, field, &says);
    if (says.length > 0)
        cli_text_printf(into, "; the schema says: %s", cli_text_string(&says));
    if (mcp_json_string_length(text) > 0) {
        cli_text_add_harmless(&harmless, mcp_json_string(text, ""),
                              mcp_json_string_length(text), true);
        cli_text_puts(into, says.length > 0 ? ", \"" : "; the schema says: \"");
        cli_text_add_cut(into, cli_text_string(&harmless), harmless.length,
                         COLUMNS_SHOWN);
        cli_text_puts(into, "\"");
    }
    cli_text_done(&says);
    cli_text_done(&harmless);
}

void
cli_args_fault(struct cli_args *args, const char *name, size_t length,
               const mcp_json *field, const char *message)
{
    if (args->fault_count++ > 0)
        cli_text_puts(&args->faults, "\n");
    cli_text_add_harmless(&args->faults, name, length, true);
    cli_text_puts(&args->faults, ": ");
    cli_text_add_harmless(&args->faults, message, strlen(message), true);
    if (field)
        add_schema_says(args->schema, field, &args->faults);
}

/* ---- checking ------------------------------------------------------------------- */

void
cli_args_compile(struct cli_args *args)
{
    struct cli_text why = {0};
    mcp_error err;

    if (!args->schema ||
        mcp_schema_compile(args->schema, NULL, &args->compiled, &err) == 0)
        return;
    cli_text_add_harmless(&why, err.message, strlen(err.message), true);
    cli_note(&args->cli->say,
             "the server's schema cannot be used, so the arguments are not checked: %s",
             cli_text_string(&why));
    cli_text_done(&why);
}

static void
token_decode(const char *token, size_t length, struct cli_text *into)
{
    for (size_t i = 0; i < length; i++) {
        char c = token[i];

        if (c == '~' && i + 1 < length)
            c = token[++i] == '1' ? '/' : '~';
        cli_text_add(into, &c, 1);
    }
}

/* "/where/0/city" as "where[0].city", and what the schema says of it. */
static const mcp_json *
path_read(const mcp_json *root, const char *path, struct cli_text *name)
{
    const mcp_json *field = root;

    while (*path == '/') {
        size_t length = strcspn(++path, "/");
        bool is_index = strspn(path, "0123456789") == length && length > 0;
        const mcp_json *member;
        struct cli_text token = {0};

        token_decode(path, length, &token);
        member = cli_field_member(root, field, cli_text_string(&token), token.length);
        is_index = is_index && !member;
        if (!member)
            member = cli_field_keyword(root, field,
                                       is_index ? "items" : "additionalProperties");
        if (name->length > 0 && !is_index)
            cli_text_puts(name, ".");
        cli_text_printf(name, is_index ? "[%s]" : "%s", cli_text_string(&token));
        cli_text_done(&token);
        field = member;
        path += length;
    }
    return field == root ? NULL : field;
}

static void
fault_keep(struct cli_args *args, const mcp_schema_fault *fault)
{
    struct cli_text name = {0};
    const mcp_json *field = path_read(args->schema, fault->instance_path, &name);

    if (name.length == 0)
        cli_text_puts(&name, "arguments");
    cli_args_fault(args, cli_text_string(&name), name.length, field, fault->message);
    cli_text_done(&name);
}

void
cli_args_check(struct cli_args *args, const char *json, size_t length)
{
    mcp_schema_report *report;
    mcp_schema_fault fault;
    mcp_doc *doc = NULL;
    mcp_error err;
    int r;

    if (!args->compiled)
        return;
    report = mcp_schema_report_new(NULL, FAULTS_MAX);
    r = mcp_doc_parse(json, length, NULL, &doc, &err);
    if (r == 0)
        r = mcp_schema_check(args->compiled, mcp_doc_root(doc), report, &err);
    for (size_t i = 0; mcp_schema_report_get(report, i, &fault); i++)
        fault_keep(args, &fault);
    if (r < 0 && r != MCP_E_LIMIT && mcp_schema_report_count(report) == 0)
        cli_args_fault(args, "arguments", 9, NULL, err.message);
    if (r == MCP_E_LIMIT)
        cli_note(&args->cli->say, "the arguments are too large to be checked here");
    mcp_doc_free(doc);
    mcp_schema_report_free(report);
}

/* Is it about this member, or something below it? A pointer escapes two characters. */
static bool
path_is_of(const char *path, const char *name)
{
    if (*path++ != '/')
        return false;
    for (; *name; name++, path++) {
        if (*name == '~' || *name == '/') {
            if (path[0] != '~' || path[1] != (*name == '~' ? '0' : '1'))
                return false;
            path++;
        } else if (*path != *name) {
            return false;
        }
    }
    return *path == '\0' || *path == '/';
}

bool
cli_args_check_one(const mcp_schema *schema, const char *name, const char *json,
                   struct cli_text *why)
{
    mcp_schema_report *report = mcp_schema_report_new(NULL, FAULTS_MAX);
    struct cli_text whole = {0};
    mcp_schema_fault fault;
    mcp_doc *doc = NULL;
    size_t before = why->length;

    cli_text_puts(&whole, "{");
    (void)cli_field_quote(name, strlen(name), &whole);
    cli_text_printf(&whole, ":%s}", json);
    if (schema &&
        mcp_doc_parse(cli_text_string(&whole), whole.length, NULL, &doc, NULL) == 0)
        (void)mcp_schema_check(schema, mcp_doc_root(doc), report, NULL);
    for (size_t i = 0; mcp_schema_report_get(report, i, &fault); i++) {
        if (!path_is_of(fault.instance_path, name))
            continue;
        if (why->length > before)
            cli_text_puts(why, ", ");
        cli_text_add_harmless(why, fault.message, strlen(fault.message), true);
    }
    mcp_doc_free(doc);
    mcp_schema_report_free(report);
    cli_text_done(&whole);
    return why->length == before;
}

/* ---- saying --------------------------------------------------------------------- */

/* One line of JSON, as cli_fail_with has it, and the faults in it. */
static void
say_as_json(struct cli_args *args, const char *last)
{
    mcp_builder *b = mcp_builder_new(NULL);
    const char *at = cli_text_string(&args->faults), *text;
    size_t length;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_begin_object(b, "error");
    mcp_builder_string(b, "message", last);
    mcp_builder_begin_array(b, "faults");
    while (*at) {
        length = strcspn(at, "\n");
        mcp_builder_string_n(b, NULL, at, length);
        at += length + (at[length] == '\n');
    }
    mcp_builder_end(b);
    mcp_builder_end(b);
    mcp_builder_int(b, "exit", CLI_OTHER);
    mcp_builder_end(b);
    text = mcp_builder_text(b, &length);
    if (text)
        cli_say_line(&args->cli->say, text, length);
    mcp_builder_free(b);
}

int
cli_args_say_faults(struct cli_args *args, const char *last)
{
    const char *at = cli_text_string(&args->faults);

    if (args->cli->say.is_json) {
        say_as_json(args, last);
        return CLI_OTHER;
    }
    while (*at) {
        size_t length = strcspn(at, "\n");

        cli_note(&args->cli->say, "%.*s", (int)length, at);
        at += length + (at[length] == '\n');
    }
    return cli_fail_with(args->cli, CLI_OTHER, "%s", last);
}
