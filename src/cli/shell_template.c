/* shell_template.c - a URI that is being typed, seen through a URI template */
#include "cli/shell_template.h"

#include <stdlib.h>
#include <string.h>

#include <mcp/json.h>

static const char unreserved[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
static const char reserved[] = ":/?#[]@!$&'()*+,;=";

/* "{name}" or "{+name}" at the beginning of text: its length, or 0. */
static size_t
read_variable(const char *text, struct cli_template_place *place)
{
    const char *name = text + 1;
    size_t length;

    place->is_raw = *name == '+';
    name += place->is_raw;
    length = strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                          "0123456789_.");
    if (length == 0 || name[length] != '}')
        return 0;
    free(place->variable);
    place->variable = strndup(name, length);
    return place->variable ? (size_t)(name - text) + length + 1 : 0;
}

static int
hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static char *
decode(const char *text, size_t length)
{
    char *into = malloc(length + 1);
    size_t used = 0;

    for (size_t i = 0; into && i < length; i++) {
        bool is_code = text[i] == '%' && i + 2 < length && hex(text[i + 1]) >= 0 &&
                       hex(text[i + 2]) >= 0;

        into[used++] = is_code ? (char)(hex(text[i + 1]) * 16 + hex(text[i + 2]))
                               : text[i];
        i += is_code ? 2 : 0;
    }
    if (into)
        into[used] = '\0';
    return into;
}

/* How much of the typed text is the value of a variable, before this text of the
 * template's; all of it if that has not been typed yet. */
static size_t
value_length(const char *typed, const char *next, bool is_raw)
{
    size_t length;

    if (*next == '\0')
        return is_raw ? strlen(typed) : strcspn(typed, reserved);
    length = strcspn(typed, (const char[]){*next, '\0'});
    return length;
}

/* The cursor is in a variable: what the place says of it. */
static bool
settle_variable(struct cli_template_place *place, const char *typed, const char *rest)
{
    place->value = decode(typed, strlen(typed));
    place->tail = strndup(rest, strcspn(rest, "{"));
    return place->value && place->tail;
}

static bool
find(const char *text, const char *typed, struct cli_template_place *place,
     mcp_builder *context)
{
    const char *at = typed;

    for (;;) {
        size_t literal = strcspn(text, "{");
        size_t length = strlen(at);
        char *value;

        if (length < literal || text[literal] == '\0') {
            place->next = strndup(text, literal);
            place->start = (size_t)(at - typed);
            return place->next && length < literal && strncmp(at, text, length) == 0;
        }
        if (strncmp(at, text, literal) != 0)
            return false;
        at += literal;
        text += literal;
        length = read_variable(text, place);
        if (length == 0 || text[length] == '{')
            return false;
        text += length;
        place->start = (size_t)(at - typed);
        length = value_length(at, text, place->is_raw);
        if (at[length] == '\0')
            return settle_variable(place, at, text);
        if (*text == '\0')
            return false;
        value = decode(at, length);
        mcp_builder_string(context, place->variable, value);
        free(value);
        at += length;
    }
}

bool
cli_template_find(const char *text, const char *typed,
                  struct cli_template_place *ret_place)
{
    struct cli_template_place place = {0};
    mcp_builder *context = mcp_builder_new(NULL);
    const char *made;
    bool found;

    mcp_builder_begin_object(context, NULL);
    found = find(text, typed, &place, context);
    mcp_builder_end(context);
    made = mcp_builder_text(context, NULL);
    if (found && made && strcmp(made, "{}") != 0)
        place.context = strdup(made);
    mcp_builder_free(context);
    if (found)
        *ret_place = place;
    else
        cli_template_place_done(&place);
    return found;
}

void
cli_template_place_done(struct cli_template_place *place)
{
    free(place->next);
    free(place->variable);
    free(place->value);
    free(place->context);
    free(place->tail);
    *place = (struct cli_template_place){0};
}

void
cli_template_fill(const struct cli_template_place *place, const char *typed,
                  const char *value, struct cli_text *into)
{
    cli_text_add(into, typed, place->start);
    if (place->next)
        cli_text_puts(into, place->next);
    for (; value && *value; value++) {
        if (strchr(unreserved, *value) || (place->is_raw && strchr(reserved, *value)))
            cli_text_add(into, value, 1);
        else
            cli_text_printf(into, "%%%02X", (unsigned char)*value);
    }
    if (place->tail)
        cli_text_puts(into, place->tail);
}
