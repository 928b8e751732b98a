/* option.c - options on the command line: a table describes them, one reader fills them in */
#include "cli/option.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/near.h"

#define TIME_MAX_MS \
    (INT64_C(1000) * 60 * 60 * 24 * 365) /* longer is a slip of the hand */

/* False, so that a reader can return it. */
static bool MCP_PRINTF(2, 3) fail(mcp_error *err, const char *format, ...)
{
    va_list list;

    *err = (mcp_error){.status = MCP_E_INVAL};
    va_start(list, format);
    (void)vsnprintf(err->message, sizeof(err->message), format, list);
    va_end(list);
    return false;
}

/* ---- values -------------------------------------------------------------------- */

/* strtod takes more than people write: "inf", "nan", hexadecimal, blanks in front. */
static bool
number_read(const char *text, double *ret_number, const char **ret_rest)
{
    char *rest;
    double number;

    if (text[strspn(text, "0123456789.")] != '\0' && text[0] != '.' &&
        (text[0] < '0' || text[0] > '9'))
        return false;
    if (text[0] == '0' && (text[1] == 'x' || text[1] == 'X'))
        return false;
    errno = 0;
    number = strtod(text, &rest);
    if (rest == text || errno != 0 || !isfinite(number) || number < 0)
        return false;
    *ret_number = number;
    *ret_rest = rest;
    return true;
}

bool
cli_time_read(const char *text, int64_t *ret_ms)
{
    static const struct {
        const char *name;
        double ms;
    } units[] = {{"ms", 1}, {"s", 1e3}, {"", 1e3}, {"m", 6e4}, {"h", 36e5}};
    const char *unit;
    double number;

    if (!number_read(text, &number, &unit))
        return false;
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
        if (strcmp(unit, units[i].name) != 0)
            continue;
        if (number * units[i].ms > (double)TIME_MAX_MS)
            return false;
        *ret_ms = (int64_t)(number * units[i].ms);
        *ret_ms += (double)*ret_ms < number * units[i].ms; /* 0 is something else */
        return true;
    }
    return false;
}

static bool
count_read(const char *text, int64_t *ret_count)
{
    char *rest;
    long long number;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    number = strtoll(text, &rest, 10);
    if (*rest != '\0' || errno != 0)
        return false;
    *ret_count = number;
    return true;
}

static bool
percent_read(const char *text, double *ret_share)
{
    const char *rest;
    double number;

    if (!number_read(text, &number, &rest))
        return false;
    if (strcmp(rest, "%") == 0)
        number /= 100;
    else if (*rest != '\0')
        return false;
    if (number > 1)
        return false;
    *ret_share = number;
    return true;
}

/* The place of the text among "a|b|c", or -1. */
static int
choice_read(const char *choices, const char *text)
{
    size_t length = strlen(text);
    int index = 0;

    for (;; index++) {
        size_t n = strcspn(choices, "|");

        if (n == length && strncmp(choices, text, n) == 0)
            return index;
        if (choices[n] == '\0')
            return -1;
        choices += n + 1;
    }
}

static bool
list_add(struct cli_list *list, const char *text)
{
    if (list->count == CLI_LIST_MAX)
        return false;
    list->item[list->count++] = text;
    return true;
}

/* ---- one option ---------------------------------------------------------------- */

static bool
option_set(const struct cli_option *option, struct cli_options *opt, const char *value,
           mcp_error *err)
{
    void *member = (char *)opt + option->offset;
    int choice;

    switch (option->kind) {
    case CLI_FLAG:
        *(bool *)member = true;
        return true;
    case CLI_TEXT:
        *(const char **)member = value;
        return true;
    case CLI_LIST:
        return list_add(member, value) || fail(err, "--%s may be said %d times at most",
                                               option->name, CLI_LIST_MAX);
    case CLI_TIME:
        return cli_time_read(value, member) ||
               fail(err, "--%s takes a time such as 500ms, 5s or 2m, not \"%s\"",
                    option->name, value);
    case CLI_COUNT:
        return count_read(value, member) ||
               fail(err, "--%s takes a number, not \"%s\"", option->name, value);
    case CLI_PERCENT:
        return percent_read(value, member) ||
               fail(err, "--%s takes a share such as 30%% or 0.3, not \"%s\"",
                    option->name, value);
    case CLI_CHOICE:
    default:
        choice = choice_read(option->choices, value);
        if (choice < 0)
            return fail(err, "--%s takes one of %s, not \"%s\"", option->name,
                        option->choices, value);
        *(int *)member = choice;
        return true;
    }
}

static const struct cli_option *
table_find(const struct cli_option *table, const char *name, size_t length)
{
    for (; table && table->name; table++) {
        if (strlen(table->name) == length && strncmp(table->name, name, length) == 0)
            return table;
    }
    return NULL;
}

const struct cli_option *
cli_option_find(const struct cli_option *common, const struct cli_option *own,
                const char *name)
{
    const struct cli_option *found = table_find(own, name, strlen(name));

    return found ? found : table_find(common, name, strlen(name));
}

static bool
fail_unknown(const struct cli_option *common, const struct cli_option *own,
             const char *name, size_t length, mcp_error *err)
{
    const struct cli_option *const tables[] = {own, common};
    struct cli_near near = cli_near_begin(name, length);

    for (int i = 0; i < 2; i++) {
        for (const struct cli_option *o = tables[i]; o && o->name; o++)
            cli_near_offer(&near, o->name);
    }
    if (near.best)
        return fail(err, "there is no option --%.*s here; did you mean --%s?",
                    (int)length, name, near.best);
    return fail(err, "there is no option --%.*s here", (int)length, name);
}

/* word: "name" or "name=value". next: the word behind it, or NULL; *ret_used: it was the
 * value. */
static bool
word_read(const struct cli_option *common, const struct cli_option *own,
          const char *word, const char *next, struct cli_options *opt, bool *ret_used,
          mcp_error *err)
{
    size_t length = strcspn(word, "=");
    const struct cli_option *option = table_find(own, word, length);
    const char *value = word[length] ? word + length + 1 : NULL;

    *ret_used = false;
    if (!option)
        option = table_find(common, word, length);
    if (!option)
        return fail_unknown(common, own, word, length, err);
    if (option->kind == CLI_FLAG && value)
        return fail(err, "--%s takes no value", option->name);
    if (option->kind != CLI_FLAG && !value) {
        if (!next)
            return fail(err, "--%s needs a value: --%s %s", option->name, option->name,
                        option->value);
        value = next;
        *ret_used = true;
    }
    return option_set(option, opt, value, err);
}

void
cli_options_begin(struct cli_options *opt)
{
    memset(opt, 0, sizeof(*opt));
    opt->timeout_ms = 60000;
    opt->severity = -1;
    opt->cancel_after_ms = -1;
}

bool
cli_list_is_pairs(const struct cli_list *said, char end)
{
    for (size_t i = 0; i < said->count; i++) {
        const char *mark = strchr(said->item[i], end);

        if (!mark || mark == said->item[i])
            return false;
    }
    return true;
}

static bool
is_said(const struct cli_list *said, const char *pair, char end)
{
    size_t name = strcspn(pair, (const char[]){end, '\0'});

    for (size_t i = 0; i < said->count; i++) {
        const char *item = said->item[i];

        if ((end == ':' ? strncasecmp(item, pair, name) : strncmp(item, pair, name)) ==
                0 &&
            item[name] == end)
            return true;
    }
    return false;
}

void
cli_list_override(char **pairs, const struct cli_list *said, char end)
{
    char **kept = pairs;

    if (!pairs)
        return;
    for (; *pairs; pairs++) {
        if (is_said(said, *pairs, end))
            free(*pairs);
        else
            *kept++ = *pairs;
    }
    *kept = NULL;
}

const char **
cli_list_join(char *const *configured, const struct cli_list *said)
{
    size_t count = 0;
    const char **all;

    while (configured && configured[count])
        count++;
    all = calloc(count + said->count + 1, sizeof(*all));
    if (!all)
        return NULL;
    for (size_t i = 0; i < count; i++)
        all[i] = configured[i];
    for (size_t i = 0; i < said->count; i++)
        all[count + i] = said->item[i];
    return all;
}

bool
cli_options_read(const struct cli_option *common, const struct cli_option *own,
                 int argc, char **argv, struct cli_options *opt, int *ret_count,
                 mcp_error *err)
{
    int kept = 0;
    bool used, over = false;

    for (int i = 0; i < argc; i++) {
        if (over || strncmp(argv[i], "--", 2) != 0) {
            argv[kept++] = argv[i];
        } else if (argv[i][2] == '\0') {
            over = true;
        } else {
            if (!word_read(common, own, argv[i] + 2, i + 1 < argc ? argv[i + 1] : NULL,
                           opt, &used, err))
                return false;
            i += used;
        }
    }
    *ret_count = kept;
    return true;
}
