/* ask_form.c - a form of a server's (elicitation/create), filled in at the terminal */
#include <stdlib.h>
#include <string.h>

#include "cli/args_tree.h"
#include "cli/ask_parts.h"
#include "cli/field.h"

struct form {
    struct cli_turn turn;
    const mcp_json *schema;
    mcp_schema *compiled;    /* NULL: answers are not checked here */
    struct cli_node answers; /* those that were given */
};

static bool
form_ask_one(struct form *form, const char *name, const mcp_json *field)
{
    const struct cli_question question = {
        .root = form->schema,
        .compiled = form->compiled,
        .field = field,
        .name = name,
        .is_required = cli_field_is_required(form->schema, form->schema, name)};
    struct cli_text json = {0};
    enum cli_answer answer = cli_ask_field(&form->turn, &question, &json);
    struct cli_node *node;
    bool ok = answer != CLI_ANSWER_END;

    if (answer == CLI_ANSWER_GIVEN) {
        node = cli_node_add(&form->answers, name, strlen(name));
        ok = node && cli_node_set(node, cli_text_string(&json), json.length);
    }
    cli_text_done(&json);
    return ok;
}

static bool
form_ask_all(struct form *form)
{
    mcp_json_iterator it;

    for (it = mcp_json_each(mcp_json_get(form->schema, "properties"));
         mcp_json_next(&it);)
        if (!form_ask_one(form, mcp_json_string(it.key, ""), it.value))
            return false;
    return true;
}

static void
form_show_answers(struct form *form)
{
    struct cli_text line = {0};
    const mcp_json *field;

    cli_turn_say(&form->turn, "Your answer:", NULL);
    if (!form->answers.first)
        cli_turn_say(&form->turn, "  (nothing)", NULL);
    for (struct cli_node *node = form->answers.first; node; node = node->next) {
        field = cli_field_member(form->schema, form->schema, node->name,
                                 strlen(node->name));
        cli_text_puts(&line, "  ");
        cli_text_add_harmless(&line, node->name, strlen(node->name), true);
        cli_text_puts(&line, ": ");
        cli_turn_say(&form->turn, cli_text_string(&line),
                     cli_field_is_secret(form->schema, field) ? "(hidden)"
                                                              : node->json);
        cli_text_done(&line);
    }
}

static int
form_send(struct form *form, mcp_result *out)
{
    struct cli_text json = {0};
    int r = MCP_E_NOMEM;

    cli_node_write(&form->answers, &json);
    if (!json.failed)
        r = mcp_result_json(out, cli_text_string(&json), json.length);
    cli_text_done(&json);
    return r;
}

static int
form_run(struct form *form, const mcp_json *message, mcp_result *out)
{
    char letter = 0;

    cli_turn_show(&form->turn, "The server asks: ", mcp_json_string(message, ""),
                  mcp_json_string_length(message));
    if (form_ask_all(form)) {
        form_show_answers(form);
        letter = cli_turn_choose(&form->turn, "Send it? [y]es, [n]o, [c]ancel> ",
                                 "ync");
    }
    if (letter == 'y')
        return form_send(form, out);
    return letter == 'n' ? mcp_result_decline(out) : mcp_result_dismiss(out);
}

int
cli_ask_form(struct cli *cli, mcp_request *req, mcp_result *out)
{
    const mcp_json *params = mcp_request_params(req);
    struct form form = {.schema = mcp_json_get(params, "requestedSchema")};
    int stop_fd, r;

    r = mcp_request_cancel_fd(req, &stop_fd);
    if (r < 0)
        return r;
    if (!cli_turn_begin(&form.turn, cli, stop_fd))
        return mcp_request_is_canceled(req) ? MCP_E_CANCELED : mcp_result_dismiss(out);
    (void)mcp_schema_compile(form.schema, &MCP_SCHEMA_OPTIONS(.assert_formats = true),
                             &form.compiled, NULL);
    r = form_run(&form, mcp_json_get(params, "message"), out);
    cli_turn_end(&form.turn);
    mcp_schema_free(form.compiled);
    cli_node_done(&form.answers);
    return mcp_request_is_canceled(req) ? MCP_E_CANCELED : r;
}
