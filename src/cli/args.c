/* args.c - the arguments of a call: a file, words, questions, then the check */
#include "cli/args.h"

#include <stdlib.h>
#include <string.h>

#include "cli/args_parts.h"
#include "cli/field.h"
#include "cli/secret.h"

/* ---- where they come from ------------------------------------------------------- */

static int
fail_file(struct cli_args *args, const char *why)
{
    if (cli_is_over(args->cli))
        return cli_fail_with(args->cli, CLI_CANCELED, "canceled; nothing was sent");
    return cli_fail_with(args->cli, CLI_OTHER, "--args: %s", why);
}

/* An object, of the file that --args names. */
static int
read_file(struct cli_args *args, const char *path)
{
    struct cli_text text = {0}, why = {0};
    mcp_doc *doc = NULL;
    mcp_error err;
    int code = CLI_OK;

    if (!cli_args_load(args->cli, path, &text, &why))
        code = fail_file(args, cli_text_string(&why));
    else if (mcp_doc_parse(cli_text_string(&text), text.length,
                           &MCP_JSON_OPTIONS(.unique_keys = true), &doc, &err) < 0)
        code = fail_file(args, err.message);
    else if (mcp_json_get_type(mcp_doc_root(doc)) != MCP_JSON_OBJECT)
        code = fail_file(args, "must be a JSON object with the arguments");
    else if (!cli_node_load(&args->root, mcp_doc_root(doc)))
        args->failed = true;
    mcp_doc_free(doc);
    cli_text_done(&text);
    cli_text_done(&why);
    return code;
}

static int
gather(struct cli_args *args, int count, char **words)
{
    int code = CLI_OK;

    if (args->cli->options.args)
        code = read_file(args, args->cli->options.args);
    if (code != CLI_OK)
        return code;
    for (int i = 0; i < count; i++)
        cli_args_word(args, words[i]);
    if (args->failed)
        return cli_fail_with(args->cli, CLI_OTHER, "out of memory");
    if (cli_is_over(args->cli))
        return cli_fail_with(args->cli, CLI_CANCELED, "canceled; nothing was sent");
    if (args->fault_count > 0)
        return cli_args_say_faults(args, "nothing was sent");
    cli_args_compile(args);
    return cli_args_ask(args);
}

/* What the schema calls a secret is not to be seen in a trace either. */
static void
keep_secrets(const mcp_json *root, const mcp_json *schema, const mcp_json *object)
{
    mcp_json_iterator it;

    for (it = mcp_json_each(object); mcp_json_next(&it);) {
        const mcp_json *field = cli_field_member(
            root, schema, mcp_json_string(it.key, ""), mcp_json_string_length(it.key));

        if (mcp_json_get_type(it.value) == MCP_JSON_OBJECT)
            keep_secrets(root, field, it.value);
        else if (field && cli_field_is_secret(root, field))
            cli_secret_keep(mcp_json_string(it.value, ""),
                            mcp_json_string_length(it.value));
    }
}

static void
hide_secrets(const struct cli_args *args, const struct cli_text *json)
{
    mcp_doc *doc = NULL;

    if (args->schema && args->cli->options.trace &&
        mcp_doc_parse(cli_text_string(json), json->length, NULL, &doc, NULL) == 0)
        keep_secrets(args->schema, args->schema, mcp_doc_root(doc));
    mcp_doc_free(doc);
}

static int
finish(struct cli_args *args, char **ret_json)
{
    struct cli_text json = {0};

    cli_node_write(&args->root, &json);
    if (json.failed) {
        cli_text_done(&json);
        return cli_fail_with(args->cli, CLI_OTHER, "out of memory");
    }
    cli_args_check(args, cli_text_string(&json), json.length);
    if (args->fault_count > 0) {
        cli_text_done(&json);
        return cli_args_say_faults(args, "nothing was sent");
    }
    hide_secrets(args, &json);
    *ret_json = json.data;
    return CLI_OK;
}

int
cli_args_read(struct cli *cli, const mcp_json *schema, int count, char **words,
              char **ret_json)
{
    struct cli_args args = {.cli = cli, .schema = schema};
    int code;

    *ret_json = NULL;
    code = gather(&args, count, words);
    if (code == CLI_OK)
        code = finish(&args, ret_json);
    cli_node_done(&args.root);
    cli_text_done(&args.faults);
    mcp_schema_free(args.compiled);
    return code;
}

/* ---- prompts -------------------------------------------------------------------- */

/* A list of a prompt's arguments as the schema that they would have. */
static mcp_doc *
prompt_schema(const mcp_json *arguments)
{
    mcp_builder *b = mcp_builder_new(NULL);
    const mcp_json *text;
    mcp_doc *doc = NULL;
    mcp_json_iterator it;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "type", "object");
    mcp_builder_begin_object(b, "properties");
    for (it = mcp_json_each(arguments); mcp_json_next(&it);) {
        mcp_builder_begin_object(b,
                                 mcp_json_string(mcp_json_get(it.value, "name"), ""));
        mcp_builder_string(b, "type", "string");
        text = mcp_json_get(it.value, "description");
        if (mcp_json_get_type(text) == MCP_JSON_STRING)
            mcp_builder_value(b, "description", text);
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
    mcp_builder_begin_array(b, "required");
    for (it = mcp_json_each(arguments); mcp_json_next(&it);)
        if (mcp_json_bool(mcp_json_get(it.value, "required"), false))
            mcp_builder_value(b, NULL, mcp_json_get(it.value, "name"));
    mcp_builder_end(b);
    mcp_builder_begin_object(b, "additionalProperties");
    mcp_builder_string(b, "type", "string");
    mcp_builder_end(b);
    mcp_builder_end(b);
    (void)mcp_builder_parse(b, &doc);
    mcp_builder_free(b);
    return doc;
}

int
cli_args_read_prompt(struct cli *cli, const mcp_json *arguments, int count,
                     char **words, char **ret_json)
{
    mcp_doc *schema = prompt_schema(arguments);
    int code;

    *ret_json = NULL;
    if (!schema)
        return cli_fail_with(cli, CLI_OTHER, "out of memory");
    code = cli_args_read(cli, mcp_doc_root(schema), count, words, ret_json);
    mcp_doc_free(schema);
    return code;
}

void
cli_args_describe(const mcp_json *field, struct cli_text *into)
{
    cli_field_describe(NULL, field, into);
}

void
cli_args_describe_in(const mcp_json *schema, const mcp_json *field,
                     struct cli_text *into)
{
    cli_field_describe(schema, field, into);
}
