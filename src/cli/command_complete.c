/* command_complete.c - mcpctl complete: what could an argument be? */
#include <string.h>

#include "cli/do.h"
#include "cli/text.h"

/* {"name":"value",...} of the words "name=value". False: one of them is not. */
static bool
context_build(struct cli *cli, const struct cli_list *words, mcp_builder *b)
{
    mcp_builder_begin_object(b, "arguments");
    for (size_t i = 0; i < words->count; i++) {
        const char *word = words->item[i], *value = strchr(word, '=');
        char name[256];

        if (!value || (size_t)(value - word) >= sizeof(name)) {
            (void)cli_fail_with(cli, CLI_OTHER, "not NAME=VALUE: \"%s\"", word);
            return false;
        }
        memcpy(name, word, (size_t)(value - word));
        name[value - word] = '\0';
        mcp_builder_string(b, name, value + 1);
    }
    mcp_builder_end(b);
    return true;
}

/* A template, or the URI of a resource, has a colon or a brace; a prompt has neither. */
static bool
params_build(struct cli *cli, const char *what, const char *argument, const char *value,
             mcp_builder *b)
{
    bool is_prompt = !strpbrk(what, ":{");

    mcp_builder_begin_object(b, NULL);
    mcp_builder_begin_object(b, "ref");
    mcp_builder_string(b, "type", is_prompt ? "ref/prompt" : "ref/resource");
    mcp_builder_string(b, is_prompt ? "name" : "uri", what);
    mcp_builder_end(b);
    mcp_builder_begin_object(b, "argument");
    mcp_builder_string(b, "name", argument);
    mcp_builder_string(b, "value", value);
    mcp_builder_end(b);
    if (cli->options.arguments.count > 0) {
        mcp_builder_begin_object(b, "context");
        if (!context_build(cli, &cli->options.arguments, b))
            return false;
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
    return true;
}

static int
values_show(struct cli *cli, const mcp_reply *reply)
{
    const mcp_json *completion = mcp_json_get(mcp_reply_result(reply), "completion");
    mcp_json_iterator it;
    bool ok = true;

    if (cli->json)
        return cli_print_json(cli, mcp_reply_result(reply));
    for (it = mcp_json_each(mcp_json_get(completion, "values"));
         ok && mcp_json_next(&it);) {
        const char *text = mcp_json_string(it.value, "");
        struct cli_text line = {0};

        cli_text_add_harmless(&line, text, strlen(text), true);
        cli_text_puts(&line, "\n");
        ok = cli_write(cli, cli_text_string(&line), line.length);
        cli_text_done(&line);
    }
    if (mcp_json_bool(mcp_json_get(completion, "hasMore"), false))
        cli_note(&cli->say, "there are more");
    return ok && cli_flush(cli) ? CLI_OK : CLI_OTHER;
}

int
cli_do_complete(struct cli_session *session, int argc, char **argv)
{
    mcp_builder *b = mcp_builder_new(NULL);
    struct cli_call call = {.method = "completion/complete"};
    mcp_reply *reply = NULL;
    int code = CLI_OTHER;

    if (params_build(session->cli, argv[0], argv[1], argc > 2 ? argv[2] : "", b)) {
        call.params = mcp_builder_text(b, NULL);
        code = call.params ? cli_session_call(session, &call, &reply)
                           : cli_fail_with(session->cli, CLI_OTHER,
                                           "not text that can be sent (UTF-8)");
    }
    if (reply)
        code = values_show(session->cli, reply);
    mcp_reply_free(reply);
    mcp_builder_free(b);
    return code;
}

static int
run(struct cli *cli, int argc, char **argv)
{
    return cli_do_in_session(cli, argc, argv, cli_do_complete);
}

static const struct cli_option options[] = {
    {"argument", "NAME=VALUE", NULL, CLI_LIST, offsetof(struct cli_options, arguments),
     "Another argument, which is known already; may be said again"},
    {0},
};

const struct cli_command cli_command_complete = {
    .name = "complete",
    .arguments = "TARGET PROMPT|TEMPLATE ARGUMENT [VALUE]",
    .summary = "Ask the server what an argument could be",
    .text =
        "What could ARGUMENT of that prompt, or the variable of that name in the URI "
        "template, be, of which VALUE was typed so far? One value a line.",
    .examples = "mcpctl complete ./my-server review language c\n"
                "mcpctl complete ./my-server 'file:///{path}' path no\n",
    .options = options,
    .least = 3,
    .most = 4,
    .words = {CLI_WORD_TARGET, CLI_WORD_PROMPT, CLI_WORD_ANY},
    .run = run,
};
