/* args_ask.c - arguments that are required and missing: asked for, or said */
#include <string.h>

#include "cli/args_parts.h"
#include "cli/ask_parts.h"
#include "cli/field.h"

typedef bool missing_fn(struct cli_args *args, const char *name, const mcp_json *field,
                        void *user);

struct missing {
    struct cli_args *args;
    missing_fn *each;
    void *user;
};

/* ---- which are missing ---------------------------------------------------------- */

static bool
visit_missing(const mcp_json *schema, void *user)
{
    struct missing *missing = user;
    struct cli_args *args = missing->args;
    const char *name;
    mcp_json_iterator it;

    for (it = mcp_json_each(mcp_json_get(schema, "required")); mcp_json_next(&it);) {
        name = mcp_json_string(it.value, NULL);
        if (!name || cli_node_find(&args->root, name, strlen(name)))
            continue;
        if (!missing->each(
                args, name,
                cli_field_member(args->schema, args->schema, name, strlen(name)),
                missing->user))
            return true;
    }
    return false;
}

/* What only one of several alternatives requires is not required by that. False: `each`
 * has ended it. */
static bool
each_missing(struct cli_args *args, missing_fn *each, void *user)
{
    struct missing missing = {args, each, user};

    return !cli_field_walk(args->schema, args->schema, false, visit_missing, &missing);
}

/* ---- saying it ------------------------------------------------------------------ */

static bool
name_missing(struct cli_args *args, const char *name, const mcp_json *field, void *user)
{
    struct cli_text *example = user;

    cli_args_fault(args, name, strlen(name), field, "is required and missing");
    cli_text_puts(example, " ");
    cli_text_add_harmless(example, name, strlen(name), true);
    cli_text_puts(example, cli_field_types(args->schema, field) == CLI_TYPE_OBJECT
                               ? ":='{...}'"
                               : "=VALUE");
    return true;
}

static int
say_missing(struct cli_args *args)
{
    struct cli_text last = {0};
    int code;

    cli_text_puts(&last, "nothing was sent; give");
    (void)each_missing(args, name_missing, &last);
    code = cli_args_say_faults(args, cli_text_string(&last));
    cli_text_done(&last);
    return code;
}

/* ---- asking --------------------------------------------------------------------- */

static bool
ask_missing(struct cli_args *args, const char *name, const mcp_json *field, void *user)
{
    const struct cli_question question = {.root = args->schema,
                                          .compiled = args->compiled,
                                          .field = field,
                                          .name = name,
                                          .is_required = true};
    struct cli_text json = {0};
    struct cli_node *node;
    bool ok = cli_ask_field(user, &question, &json) == CLI_ANSWER_GIVEN;

    if (ok) {
        node = cli_node_add(&args->root, name, strlen(name));
        ok = !json.failed && node &&
             cli_node_set(node, cli_text_string(&json), json.length);
        args->failed = !ok;
    }
    cli_text_done(&json);
    return ok;
}

static bool
note_missing(struct cli_args *args, const char *name, const mcp_json *field, void *user)
{
    (void)args;
    (void)name;
    (void)field;
    *(bool *)user = true;
    return false;
}

int
cli_args_ask(struct cli_args *args)
{
    struct cli *cli = args->cli;
    struct cli_turn turn;
    bool some = false, ok;

    (void)each_missing(args, note_missing, &some);
    if (!some)
        return CLI_OK;
    if (!cli->may_ask)
        return say_missing(args);
    ok = cli_turn_begin(&turn, cli, -1);
    if (ok) {
        ok = each_missing(args, ask_missing, &turn);
        cli_turn_end(&turn);
    }
    if (ok)
        return CLI_OK;
    if (args->failed)
        return cli_fail_with(cli, CLI_OTHER, "out of memory");
    if (cli_is_over(cli))
        return cli_fail_with(cli, CLI_CANCELED, "canceled; nothing was sent");
    return say_missing(args);
}
