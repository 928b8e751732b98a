/* ask_field.c - asks for one value at the terminal, until it fits its schema */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/args_parts.h"
#include "cli/ask_parts.h"
#include "cli/field.h"
#include "cli/secret.h"

struct asking {
    struct cli_turn *turn;
    const struct cli_question *question;
    struct cli_choice choices[CLI_CHOICES_MAX];
    size_t choice_count;
    unsigned types;
    const mcp_json *fallback; /* its default, or NULL */
};

/* ---- showing -------------------------------------------------------------------- */

static void
show_choices(struct asking *asking)
{
    struct cli_text line = {0};

    for (size_t i = 0; i < asking->choice_count; i++) {
        const struct cli_choice *choice = &asking->choices[i];

        cli_text_printf(&line, "  %zu) ", i + 1);
        if (choice->title)
            cli_text_add_harmless(&line, choice->title, strlen(choice->title), true);
        else
            cli_field_show(choice->value, &line);
        cli_turn_say(asking->turn, cli_text_string(&line), NULL);
        cli_text_done(&line);
    }
}

static void
show_question(struct asking *asking)
{
    const struct cli_question *q = asking->question;
    const char *text = mcp_json_string(
        cli_field_keyword(q->root, q->field, "description"), NULL);
    const char *title = mcp_json_string(mcp_json_get(q->field, "title"), NULL);
    struct cli_text line = {0};

    cli_text_add_harmless(&line, q->name, strlen(q->name), true);
    if (title && strcasecmp(title, q->name) != 0) {
        cli_text_puts(&line, " - ");
        cli_text_add_harmless(&line, title, strlen(title), true);
    }
    if (text)
        cli_text_puts(&line, ": ");
    cli_turn_say(asking->turn, cli_text_string(&line), text);
    cli_text_done(&line);
    cli_text_puts(&line, "  ");
    cli_field_describe(q->root, q->field, &line);
    if (!q->is_required)
        cli_text_puts(&line, line.length > 2 ? ", optional" : "optional");
    if (asking->choice_count == 0 && line.length > 2)
        cli_turn_say(asking->turn, cli_text_string(&line), NULL);
    cli_text_done(&line);
    show_choices(asking);
    if (asking->choice_count > 0 && (asking->types & CLI_TYPE_ARRAY))
        cli_turn_say(asking->turn, "  Several: numbers with commas between.", NULL);
}

static void
add_prompt(struct asking *asking, struct cli_text *prompt)
{
    const char *name = asking->question->name;

    cli_text_add_harmless(prompt, name, strlen(name), true);
    if (asking->fallback) {
        cli_text_puts(prompt, " [");
        cli_field_show(asking->fallback, prompt);
        cli_text_puts(prompt, "]");
    } else if (!asking->question->is_required) {
        cli_text_puts(prompt, " (may be empty)");
    }
    cli_text_puts(prompt, "> ");
}

/* ---- reading -------------------------------------------------------------------- */

static bool
add_value(const mcp_json *value, struct cli_text *json)
{
    char *text;
    size_t length;

    if (mcp_json_print(value, false, NULL, &text, &length) < 0)
        return false;
    cli_text_add(json, text, length);
    mcp_text_free(text, NULL);
    return true;
}

/* The choice whose value, title or number was typed; NULL: none. A value counts first,
 * since it may look like the number of another. */
static const struct cli_choice *
choice_find(const struct asking *asking, const char *text, size_t length)
{
    struct cli_text shown = {0};
    unsigned long number = 0;
    bool found = false;

    for (size_t i = 0; i < asking->choice_count; i++) {
        const struct cli_choice *choice = &asking->choices[i];

        cli_field_show(choice->value, &shown);
        found = shown.length == length &&
                memcmp(cli_text_string(&shown), text, length) == 0;
        found = found || (choice->title && strlen(choice->title) == length &&
                          strncasecmp(choice->title, text, length) == 0);
        cli_text_done(&shown);
        if (found)
            return choice;
    }
    for (size_t i = 0; i < length && i < 4; i++) {
        if (text[i] < '0' || text[i] > '9')
            return NULL;
        number = number * 10 + (unsigned long)(text[i] - '0');
    }
    if (number >= 1 && number <= asking->choice_count && length < 4)
        return &asking->choices[number - 1];
    return NULL;
}

/* "1,3" as an array of those choices. */
static bool
read_choices(struct asking *asking, const char *line, struct cli_text *json)
{
    const struct cli_choice *choice;
    bool is_first = true;

    cli_text_puts(json, "[");
    for (;;) {
        size_t length;

        line += strspn(line, " ");
        length = strcspn(line, ",");
        while (length > 0 && line[length - 1] == ' ')
            length--;
        choice = choice_find(asking, line, length);
        if (!choice)
            return false;
        if (!is_first)
            cli_text_puts(json, ",");
        is_first = false;
        if (!add_value(choice->value, json))
            return false;
        line += strcspn(line, ",");
        if (*line++ == '\0')
            break;
    }
    cli_text_puts(json, "]");
    return true;
}

static bool
read_answer(struct asking *asking, const char *line, struct cli_text *json,
            struct cli_text *why)
{
    const struct cli_question *q = asking->question;
    const struct cli_choice *choice;

    if (asking->choice_count > 0 && (asking->types & CLI_TYPE_ARRAY) &&
        line[0] != '[') {
        if (read_choices(asking, line, json))
            return true;
        cli_text_puts(why, "must be some of these choices");
        return false;
    }
    choice = choice_find(asking, line, strlen(line));
    if (choice)
        return add_value(choice->value, json);
    if (asking->types == CLI_TYPE_BOOL) { /* a person says yes, a command line true */
        if (!strcasecmp(line, "y") || !strcasecmp(line, "yes"))
            line = "true";
        else if (!strcasecmp(line, "n") || !strcasecmp(line, "no"))
            line = "false";
    }
    return cli_field_read(q->root, q->field, line, strlen(line), json, why);
}

/* True: this line answers it. False: it was said why not. */
static bool
take_line(struct asking *asking, const char *line, struct cli_text *json)
{
    const struct cli_question *q = asking->question;
    struct cli_text value = {0}, why = {0};
    bool ok = read_answer(asking, line, &value, &why);

    ok = ok && cli_args_check_one(q->compiled, q->name, cli_text_string(&value), &why);
    if (ok)
        cli_text_add(json, cli_text_string(&value), value.length);
    else
        cli_turn_say(asking->turn, "  It ", cli_text_string(&why));
    if (value.length > 0)
        explicit_bzero(value.data, value.length); /* it may be a secret */
    cli_text_done(&value);
    cli_text_done(&why);
    return ok;
}

static enum cli_answer
ask_once(struct asking *asking, struct cli_text *json, bool *ret_again)
{
    const struct cli_question *q = asking->question;
    enum cli_answer answer = CLI_ANSWER_GIVEN;
    struct cli_text prompt = {0};
    char *line;

    *ret_again = false;
    add_prompt(asking, &prompt);
    line = cli_turn_line(asking->turn, cli_text_string(&prompt),
                         cli_field_is_secret(q->root, q->field));
    cli_text_done(&prompt);
    if (!line)
        return CLI_ANSWER_END;
    if (cli_field_is_secret(q->root, q->field))
        cli_secret_keep(line, strlen(line));
    if (line[0] == '\0' && asking->fallback) {
        (void)add_value(asking->fallback, json);
    } else if (line[0] == '\0' && !q->is_required) {
        answer = CLI_ANSWER_NONE;
    } else if (line[0] == '\0') {
        cli_turn_say(asking->turn, "  It is required. Ctrl-D ends the questions.",
                     NULL);
        *ret_again = true;
    } else {
        *ret_again = !take_line(asking, line, json);
    }
    explicit_bzero(line, strlen(line));
    free(line);
    return answer;
}

enum cli_answer
cli_ask_field(struct cli_turn *turn, const struct cli_question *question,
              struct cli_text *json)
{
    struct asking asking = {.turn = turn, .question = question};
    enum cli_answer answer;
    bool again;

    asking.types = cli_field_types(question->root, question->field);
    asking.choice_count = cli_field_choices(question->root, question->field,
                                            asking.choices);
    asking.fallback = mcp_json_get(question->field, "default");
    show_question(&asking);
    do {
        answer = ask_once(&asking, json, &again);
    } while (again);
    return answer;
}
