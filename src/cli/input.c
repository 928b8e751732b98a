/* input.c - what a configuration leaves to its user: ${input:ID} */
#include "cli/input.h"

#include <stdlib.h>
#include <string.h>

#include <mcp/schema.h>

#include "cli/ask_parts.h"
#include "cli/secret.h"

#define OPENING "${input:"

const mcp_json *
cli_input_find(const mcp_json *inputs, const char *id, size_t length)
{
    const mcp_json *type;
    mcp_json_iterator it;

    for (it = mcp_json_each(inputs); mcp_json_next(&it);) {
        const char *name = mcp_json_string(mcp_json_get(it.value, "id"), "");

        if (strlen(name) != length || memcmp(name, id, length) != 0)
            continue;
        type = mcp_json_get(it.value, "type");
        return mcp_json_is_string(type, "promptString") ||
                       mcp_json_is_string(type, "pickString")
                   ? it.value
                   : NULL;
    }
    return NULL;
}

bool
cli_input_begins(const char *text)
{
    return strncmp(text, OPENING, sizeof(OPENING) - 1) == 0;
}

/* ---- answers ------------------------------------------------------------------- */

struct answer {
    char *id, *value;
};

/* Of one file: another one may mean something else by the same id. */
struct cli_answers {
    char *inputs; /* what that declares */
    struct answer *items;
    size_t count;
};

void
cli_answers_free(struct cli_answers *answers)
{
    if (!answers)
        return;
    for (size_t i = 0; i < answers->count; i++) {
        explicit_bzero(answers->items[i].value, strlen(answers->items[i].value));
        free(answers->items[i].value);
        free(answers->items[i].id);
    }
    free(answers->items);
    free(answers->inputs);
    free(answers);
}

static struct cli_answers *
answers_of(struct cli *cli, const char *inputs)
{
    struct cli_answers *answers = cli->answers;

    if (answers && strcmp(answers->inputs, inputs) == 0)
        return answers;
    cli_answers_free(answers);
    answers = cli->answers = calloc(1, sizeof(*answers));
    if (answers && !(answers->inputs = strdup(inputs))) {
        free(answers);
        answers = cli->answers = NULL;
    }
    return answers;
}

static const char *
answer_find(const struct cli_answers *answers, const char *id)
{
    for (size_t i = 0; i < answers->count; i++)
        if (strcmp(answers->items[i].id, id) == 0)
            return answers->items[i].value;
    return NULL;
}

/* The value as it is kept; NULL: no memory. */
static const char *
answer_keep(struct cli_answers *answers, const char *id, const char *value)
{
    struct answer one = {strdup(id), strdup(value)};
    struct answer *items = realloc(answers->items,
                                   (answers->count + 1) * sizeof(*items));

    if (items)
        answers->items = items;
    if (!items || !one.id || !one.value) {
        free(one.id);
        free(one.value);
        return NULL;
    }
    items[answers->count++] = one;
    return one.value;
}

/* ---- asking -------------------------------------------------------------------- */

/* A target whose texts are filled in; code: what went wrong, and was said. option: what
 * says the text that is being filled in, pair, on the command line; NULL: nothing does. */
struct filling {
    struct cli *cli;
    struct cli_target *target;
    const char *option, *pair;
    const mcp_json *inputs;
    struct cli_answers *answers;
    int code;
};

static bool
lack_memory(struct filling *f)
{
    f->code = cli_fail_with(f->cli, CLI_OTHER, "out of memory");
    return false;
}

/* What can be picked: texts, or values with a label. */
static void
build_options(mcp_builder *b, const mcp_json *options)
{
    mcp_json_iterator it;

    mcp_builder_begin_array(b, "anyOf"); /* a value may stand there twice */
    for (it = mcp_json_each(options); mcp_json_next(&it);) {
        const mcp_json *label = mcp_json_get(it.value, "label");
        const mcp_json *value = mcp_json_get(it.value, "value");

        mcp_builder_begin_object(b, NULL);
        mcp_builder_value(b, "const", value ? value : label ? label : it.value);
        if (label)
            mcp_builder_value(b, "title", label);
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
}

/* The input as a schema, which is what questions at the terminal are made of. */
static mcp_doc *
schema_of(const mcp_json *input, const char *id)
{
    static const char *const kept[] = {"description", "default"};
    const mcp_json *options = mcp_json_get(input, "options");
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_doc *doc = NULL;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_begin_object(b, "properties");
    mcp_builder_begin_object(b, id);
    mcp_builder_string(b, "type", "string");
    for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
        if (mcp_json_get_type(mcp_json_get(input, kept[i])) == MCP_JSON_STRING)
            mcp_builder_value(b, kept[i], mcp_json_get(input, kept[i]));
    if (mcp_json_bool(mcp_json_get(input, "password"), false))
        mcp_builder_string(b, "format", "password");
    if (mcp_json_count(options) > 0)
        build_options(b, options);
    mcp_builder_end(b);
    mcp_builder_end(b);
    mcp_builder_end(b);
    (void)mcp_builder_parse(b, &doc);
    mcp_builder_free(b);
    return doc;
}

/* The answer as JSON into json. */
static enum cli_answer
ask_at_terminal(struct cli_turn *turn, const mcp_json *schema, const char *id,
                struct cli_text *json)
{
    struct cli_question question = {.root = schema, .name = id};
    mcp_schema *compiled = NULL;
    enum cli_answer answer;

    /* VS Code takes an empty line as well, but no key is empty, and no choice */
    question.field = mcp_json_get(mcp_json_get(schema, "properties"), id);
    question.is_required = mcp_json_get(question.field, "anyOf") ||
                           mcp_json_get(question.field, "format");
    if (mcp_schema_compile(schema, NULL, &compiled, NULL) == 0)
        question.compiled = compiled;
    answer = cli_ask_field(turn, &question, json);
    mcp_schema_free(compiled);
    if (answer == CLI_ANSWER_NONE)
        cli_text_puts(json, "\"\"");
    return answer;
}

/* What to do if nobody can be asked. */
static void
add_advice(const struct filling *f, struct cli_text *into)
{
    size_t name = f->pair ? strcspn(f->pair, "=:") + 1 : 0;

    if (!f->option) {
        cli_text_puts(into, "; it can be given at a terminal only");
        return;
    }
    cli_text_printf(into, "; or say %s ", f->option);
    cli_text_add_harmless(into, f->pair ? f->pair : "FOLDER", name ? name : 6, true);
    if (name)
        cli_text_puts(into, "...");
}

/* Nobody has said it. */
static bool
fail_unanswered(struct filling *f, const char *id)
{
    struct cli_text shown = {0}, advice = {0};

    if (cli_is_over(f->cli)) {
        f->code = cli_fail_with(f->cli, CLI_CANCELED,
                                "canceled before there was a session");
        return false;
    }
    cli_text_add_harmless(&shown, id, strnlen(id, 64), true);
    if (!f->cli->may_ask)
        add_advice(f, &advice);
    f->code = cli_fail_with(
        f->cli, CLI_OTHER,
        "the server \"%.64s\" asks for the input %s, which was not given%s",
        f->target->name, cli_text_string(&shown), cli_text_string(&advice));
    cli_text_done(&shown);
    cli_text_done(&advice);
    return false;
}

/* The value that was given; NULL: it was said why there is none. */
static const char *
ask(struct filling *f, const mcp_json *input, const char *id)
{
    mcp_doc *schema = schema_of(input, id), *said = NULL;
    enum cli_answer answer = CLI_ANSWER_END;
    struct cli_text json = {0};
    struct cli_turn turn;
    const char *value = NULL;

    if (schema && f->cli->may_ask && cli_turn_begin(&turn, f->cli, -1)) {
        cli_turn_say(&turn, "Its configuration leaves this to you: the server ",
                     f->target->name);
        answer = ask_at_terminal(&turn, mcp_doc_root(schema), id, &json);
        cli_turn_end(&turn);
    }
    if (answer != CLI_ANSWER_END &&
        mcp_doc_parse(cli_text_string(&json), json.length, NULL, &said, NULL) == 0)
        value = answer_keep(f->answers, id, mcp_json_string(mcp_doc_root(said), ""));
    if (schema && answer == CLI_ANSWER_END)
        (void)fail_unanswered(f, id);
    else if (!value)
        (void)lack_memory(f);
    if (json.length > 0)
        explicit_bzero(json.data, json.length);
    cli_text_done(&json);
    mcp_doc_free(said);
    mcp_doc_free(schema);
    return value;
}

/* ---- filling in ---------------------------------------------------------------- */

/* The reference from its dollar to its brace. One that is not declared was no reference
 * when the file was read: it stays. */
static bool
fill_reference(struct filling *f, const char *from, const char *to,
               struct cli_text *into)
{
    const char *id = from + sizeof(OPENING) - 1, *value;
    const mcp_json *input = cli_input_find(f->inputs, id, (size_t)(to - id));
    const char *name = mcp_json_string(mcp_json_get(input, "id"), NULL);

    if (!name) {
        cli_text_add(into, from, (size_t)(to - from) + 1);
        return true;
    }
    value = answer_find(f->answers, name);
    if (!value)
        value = ask(f, input, name);
    if (value)
        cli_text_puts(into, value);
    return value != NULL;
}

static bool
fill_text(struct filling *f, char **text)
{
    const char *at = *text, *from, *to;
    struct cli_text into = {0};
    bool ok = true;
    char *filled;

    if (!at || !strstr(at, OPENING))
        return true;
    while (ok && (from = strstr(at, OPENING)) && (to = strchr(from, '}'))) {
        cli_text_add(&into, at, (size_t)(from - at));
        ok = fill_reference(f, from, to, &into);
        at = to + 1;
    }
    cli_text_puts(&into, at);
    if (ok) {
        filled = into.failed ? NULL : strdup(cli_text_string(&into));
        ok = filled ? true : lack_memory(f);
        if (filled) {
            free(*text);
            *text = filled;
        }
    }
    if (into.length > 0)
        explicit_bzero(into.data, into.length);
    cli_text_done(&into);
    return ok;
}

static bool
fill_list(struct filling *f, char **texts, const char *option)
{
    f->option = option;
    for (; texts && *texts; texts++) {
        f->pair = option ? *texts : NULL;
        if (!fill_text(f, texts))
            return false;
    }
    f->option = f->pair = NULL;
    return true;
}

/* What was typed may be a whole path. */
static bool
fill_cwd(struct filling *f)
{
    struct cli_target *target = f->target;
    bool ok;

    f->option = "--cwd";
    ok = fill_text(f, &target->cwd);
    f->option = NULL;
    if (!ok || !target->folder || !target->cwd)
        return ok;
    target->cwd = cli_path_resolve(target->cwd, target->folder);
    free(target->folder);
    target->folder = NULL;
    return target->cwd ? true : lack_memory(f);
}

/* That it is an address could not be seen before. */
static bool
fill_url(struct filling *f)
{
    struct cli_target *target = f->target;

    if (!fill_text(f, &target->url))
        return false;
    if (!target->url || cli_url_is_good(target->url))
        return true;
    f->code = cli_fail_with(
        f->cli, CLI_OTHER,
        "the server \"%.64s\" was given no http:// or https:// address", target->name);
    return false;
}

static bool
fill_all(struct filling *f)
{
    struct cli_target *target = f->target;

    return fill_list(f, target->argv, NULL) && fill_url(f) && fill_cwd(f) &&
           fill_list(f, target->env, "--env") &&
           fill_list(f, target->headers, "--header");
}

int
cli_input_fill(struct cli *cli, struct cli_target *target)
{
    struct filling f = {.cli = cli, .target = target, .code = CLI_OK};
    mcp_doc *inputs = NULL;

    if (!target->inputs)
        return CLI_OK;
    f.answers = answers_of(cli, target->inputs);
    if (!f.answers || mcp_doc_parse(target->inputs, strlen(target->inputs), NULL,
                                    &inputs, NULL) < 0) {
        (void)lack_memory(&f);
    } else {
        f.inputs = mcp_doc_root(inputs);
        (void)fill_all(&f);
    }
    mcp_doc_free(inputs);
    if (f.code != CLI_OK)
        cli_target_done(target);
    return f.code;
}

int
cli_target_get(struct cli *cli, const char *word, struct cli_target *ret_target)
{
    mcp_error err = {0};

    /* what was said instead is not shown: it may be the secret itself */
    if (!cli_list_is_pairs(&cli->options.env, '='))
        return cli_fail_with(cli, CLI_OTHER, "--env takes NAME=value");
    if (!cli_list_is_pairs(&cli->options.headers, ':'))
        return cli_fail_with(cli, CLI_OTHER, "--header takes \"Name: value\"");
    if (cli_target_read(word, ret_target, &err) < 0)
        return cli_fail_as(cli, &err, CLI_OTHER);
    if (ret_target->note)
        cli_note(&cli->say, "%s", ret_target->note);
    cli_list_override(ret_target->env, &cli->options.env, '=');
    cli_list_override(ret_target->headers, &cli->options.headers, ':');
    if (cli->options.cwd) {
        free(ret_target->cwd);
        ret_target->cwd = NULL;
    }
    return cli_input_fill(cli, ret_target);
}
