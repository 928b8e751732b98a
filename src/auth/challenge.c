/*
 * challenge.c - what a server says of who may come in (WWW-Authenticate)
 *
 * Commas stand between challenges and between the parameters of one alike. A word before
 * '=' is a parameter of the challenge that is open, any other word opens the next. What
 * fits neither closes it, so that nobody's parameters become somebody else's. Each
 * character is looked at a few times at most, whatever the header says.
 */
#include "auth/challenge.h"

#include <string.h>

#include "base/text.h"

struct reader {
    struct mcpi_challenge *into;
    const char *at;
    bool ours; /* the challenge that is open is of one of our schemes */
};

struct text {
    const char *at;
    size_t len;
};

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool
is_end(char c)
{
    return c == ',' || c == '\0';
}

static void
skip_blanks(struct reader *reader)
{
    while (is_blank(*reader->at))
        reader->at++;
}

/* Behind a quoted string, the escapes in it included; or to the end, if it has none. */
static const char *
quoted_end(const char *at)
{
    for (at++; *at && *at != '"'; at++)
        if (*at == '\\' && at[1])
            at++;
    return *at ? at + 1 : at;
}

/* Up to the next comma that is not quoted. */
static void
skip_malformed(struct reader *reader)
{
    while (!is_end(*reader->at))
        reader->at = *reader->at == '"' ? quoted_end(reader->at) : reader->at + 1;
    reader->ours = false;
}

static struct text
read_token(struct reader *reader)
{
    const char *from = reader->at;

    while (mcpi_text_is_token(reader->at, 1))
        reader->at++;
    return (struct text){from, (size_t)(reader->at - from)};
}

static bool
text_is(struct text text, const char *name)
{
    char copy[32]; /* longer than any name of ours */

    if (text.len >= sizeof(copy))
        return false;
    memcpy(copy, text.at, text.len);
    copy[text.len] = '\0';
    return mcpi_text_same_letters(copy, name);
}

/* ---- values -------------------------------------------------------------- */

/* What was read of a value so far. */
struct value {
    char text[MCPI_CHALLENGE_TEXT_MAX];
    size_t len;
    bool bad; /* too long, or with a control character in it: not there */
};

static void
value_add(struct value *value, char c)
{
    unsigned char byte = (unsigned char)c;

    if (value->len + 1 >= sizeof(value->text) || byte < 0x20 || byte == 0x7F)
        value->bad = true;
    else
        value->text[value->len++] = c;
}

/* False: its end is missing. */
static bool
read_quoted(struct reader *reader, struct value *value)
{
    const char *at;

    for (at = reader->at + 1; *at && *at != '"'; at++) {
        if (*at == '\\' && at[1])
            at++;
        value_add(value, *at);
    }
    reader->at = *at ? at + 1 : at;
    return *at == '"';
}

/* Not only tokens: URLs without quotes are about. */
static void
read_bare(struct reader *reader, struct value *value)
{
    while (!is_end(*reader->at) && !is_blank(*reader->at) && *reader->at != '"')
        value_add(value, *reader->at++);
}

/* The first one stays. */
static void
keep(char *into, size_t size, const struct value *value)
{
    if (into[0] != '\0' || value->len >= size)
        return;
    memcpy(into, value->text, value->len);
    into[value->len] = '\0';
}

static void
take(struct mcpi_challenge *into, struct text name, const struct value *value)
{
    if (text_is(name, "resource_metadata"))
        keep(into->resource_metadata, sizeof(into->resource_metadata), value);
    else if (text_is(name, "scope"))
        keep(into->scope, sizeof(into->scope), value);
    else if (text_is(name, "error"))
        keep(into->error, sizeof(into->error), value);
    else if (text_is(name, "error_description") && into->description[0] == '\0')
        (void)mcpi_text_clean(into->description, sizeof(into->description), value->text,
                              value->len);
}

/* ---- challenges ---------------------------------------------------------- */

/* At '='. */
static void
read_value(struct reader *reader, struct text name)
{
    struct value value;
    bool whole = true;

    value.len = 0;
    value.bad = false;
    reader->at++;
    skip_blanks(reader);
    if (*reader->at == '"')
        whole = read_quoted(reader, &value);
    else
        read_bare(reader, &value);
    skip_blanks(reader);
    if (!whole || !is_end(*reader->at))
        skip_malformed(reader);
    else if (reader->ours && !value.bad)
        take(reader->into, name, &value);
}

/* Behind a scheme: credentials without a name, such as those of Negotiate? They are
 * passed over. */
static bool
read_token68(struct reader *reader)
{
    static const char marks[] = "-._~+/";
    const char *at = reader->at;

    while ((*at >= '0' && *at <= '9') || (*at >= 'A' && *at <= 'Z') ||
           (*at >= 'a' && *at <= 'z') || (*at && strchr(marks, *at)))
        at++;
    while (*at == '=')
        at++;
    while (is_blank(*at))
        at++;
    if (at == reader->at || !is_end(*at))
        return false;
    reader->at = at;
    return true;
}

static void
read_parameter(struct reader *reader)
{
    struct text name = read_token(reader);

    skip_blanks(reader);
    if (name.len > 0 && *reader->at == '=')
        read_value(reader, name);
    else
        skip_malformed(reader);
}

static void
open_challenge(struct reader *reader, struct text scheme)
{
    bool bearer = text_is(scheme, "Bearer"), dpop = text_is(scheme, "DPoP");

    reader->into->bearer |= bearer;
    reader->into->dpop |= dpop;
    reader->ours = bearer || dpop;
    if (!is_end(*reader->at) && !read_token68(reader))
        read_parameter(reader);
}

/* What stands between two commas. */
static void
read_element(struct reader *reader)
{
    struct text word = read_token(reader);
    bool apart = is_blank(*reader->at) || is_end(*reader->at);

    skip_blanks(reader);
    if (word.len > 0 && *reader->at == '=')
        read_value(reader, word);
    else if (word.len > 0 && apart)
        open_challenge(reader, word);
    else
        skip_malformed(reader);
}

void
mcpi_challenge_read(struct mcpi_challenge *challenge, const char *value)
{
    struct reader reader = {challenge, value ? value : "", false};

    while (*reader.at) {
        if (is_blank(*reader.at) || *reader.at == ',')
            reader.at++;
        else
            read_element(&reader);
    }
}
