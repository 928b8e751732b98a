/* shell_lookup.c - what the server knows of what is being typed */
#include "cli/shell_lookup.h"

#include <stdlib.h>
#include <string.h>

#include "cli/shell_template.h"
#include "cli/times.h"

/* All pages of a list; NULL: it cannot be had in time. Freed by the caller. */
static mcp_reply *
fetch(struct cli_session *session, enum mcp_list what)
{
    int64_t ms = cli_times_get("lookup", CLI_LOOKUP_MS);
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = ms, .total_ms = ms,
                                                  .scope = session->cli->scope);
    mcp_reply *reply = NULL;

    (void)mcp_client_list_all(session->client, what, &opt, &reply, NULL);
    return reply;
}

/* completion/complete, if the server has said that it knows that. */
static mcp_reply *
ask(struct cli_session *session, const mcp_complete *what)
{
    int64_t ms = cli_times_get("lookup", CLI_LOOKUP_MS);
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = ms, .total_ms = ms,
                                                  .scope = session->cli->scope);
    mcp_reply *reply = NULL;

    if (mcp_json_get(mcp_client_server_capabilities(session->client), "completions"))
        (void)mcp_client_complete(session->client, what, &opt, &reply, NULL);
    return reply;
}

static void
look_up_tool(struct cli_session *session, const struct cli_want *want,
             struct cli_candidates *list)
{
    mcp_reply *reply = fetch(session, MCP_LIST_TOOLS);
    const mcp_json *tools = mcp_reply_items(reply), *schema;

    schema = want->subject ? mcp_json_get(mcp_json_find(tools, "name", want->subject),
                                          "inputSchema")
                           : NULL;
    if (want->kind == CLI_WANT_TOOL)
        cli_candidates_add_items(list, tools, "name");
    else if (want->kind == CLI_WANT_TOOL_ARGUMENT)
        cli_candidates_add_fields(list, want, schema);
    else
        cli_candidates_add_values(list,
                                  mcp_json_get_n(mcp_json_get(schema, "properties"),
                                                 want->name, want->name_length));
    mcp_reply_free(reply);
}

/* The other arguments, as the context of a question. NULL: there are none. */
static mcp_builder *
others(const struct cli_want *want)
{
    mcp_builder *b = mcp_builder_new(NULL);
    bool any = false;

    mcp_builder_begin_object(b, NULL);
    for (int i = 0; i < want->given_count; i++) {
        const char *equals = strchr(want->given[i], '=');
        char *name;

        if (!equals || equals == want->given[i])
            continue;
        name = strndup(want->given[i], (size_t)(equals - want->given[i]));
        mcp_builder_string(b, name, equals + 1);
        free(name);
        any = true;
    }
    mcp_builder_end(b);
    if (any)
        return b;
    mcp_builder_free(b);
    return NULL;
}

static void
look_up_prompt_value(struct cli_session *session, const struct cli_want *want,
                     struct cli_candidates *list)
{
    char *name = strndup(want->name, want->name_length);
    mcp_builder *context = others(want);
    mcp_reply *reply = NULL;

    if (name)
        reply = ask(
            session,
            &MCP_COMPLETE(.prompt = want->subject, .argument = name,
                          .value = want->prefix,
                          .context = context ? mcp_builder_text(context, NULL) : NULL));
    cli_candidates_add_items(list, mcp_reply_items(reply), NULL);
    mcp_reply_free(reply);
    mcp_builder_free(context);
    free(name);
}

static void
look_up_prompt(struct cli_session *session, const struct cli_want *want,
               struct cli_candidates *list)
{
    mcp_reply *reply = fetch(session, MCP_LIST_PROMPTS);
    const mcp_json *prompts = mcp_reply_items(reply);

    if (want->kind == CLI_WANT_PROMPT)
        cli_candidates_add_items(list, prompts, "name");
    else
        cli_candidates_add_arguments(
            list, want,
            mcp_json_get(mcp_json_find(prompts, "name", want->subject), "arguments"));
    mcp_reply_free(reply);
}

/* What the URI could be by one template: more of its own text, or values of the
 * variable that is being typed. */
static void
add_template(struct cli_session *session, const char *text, struct cli_candidates *list)
{
    struct cli_template_place place;
    struct cli_text uri = {0};
    mcp_reply *reply = NULL;
    mcp_json_iterator it;

    if (!text || !cli_template_find(text, list->prefix, &place))
        return;
    if (place.next) {
        cli_template_fill(&place, list->prefix, NULL, &uri);
        cli_candidates_add(list, cli_text_string(&uri));
    } else {
        reply = ask(session,
                    &MCP_COMPLETE(.uri_template = text, .argument = place.variable,
                                  .value = place.value, .context = place.context));
    }
    it = mcp_json_each(mcp_reply_items(reply));
    while (mcp_json_next(&it)) {
        cli_text_done(&uri);
        uri = (struct cli_text){0};
        cli_template_fill(&place, list->prefix, mcp_json_string(it.value, ""), &uri);
        cli_candidates_add(list, cli_text_string(&uri));
    }
    mcp_reply_free(reply);
    cli_text_done(&uri);
    cli_template_place_done(&place);
}

static void
look_up_resource(struct cli_session *session, struct cli_candidates *list)
{
    mcp_reply *reply = fetch(session, MCP_LIST_RESOURCES);
    mcp_json_iterator it;
    size_t whole;

    cli_candidates_add_items(list, mcp_reply_items(reply), "uri");
    mcp_reply_free(reply);
    whole = list->count;
    reply = fetch(session, MCP_LIST_TEMPLATES);
    it = mcp_json_each(mcp_reply_items(reply));
    while (mcp_json_next(&it))
        add_template(session,
                     mcp_json_string(mcp_json_get(it.value, "uriTemplate"), NULL),
                     list);
    mcp_reply_free(reply);
    if (list->count > whole)
        list->tail = ""; /* a template may go on */
}

void
cli_lookup(struct cli_session *session, const struct cli_want *want,
           struct cli_candidates *list)
{
    switch (want->kind) {
    case CLI_WANT_TOOL:
    case CLI_WANT_TOOL_ARGUMENT:
    case CLI_WANT_TOOL_VALUE:
        look_up_tool(session, want, list);
        break;
    case CLI_WANT_PROMPT:
    case CLI_WANT_PROMPT_ARGUMENT:
        look_up_prompt(session, want, list);
        break;
    case CLI_WANT_PROMPT_VALUE:
        look_up_prompt_value(session, want, list);
        break;
    case CLI_WANT_RESOURCE:
        look_up_resource(session, list);
        break;
    default:
        break;
    }
}
