/* pattern_ecma.c - a pattern of ECMA-262 in the words of PCRE2 */
#include "json/pattern_ecma.h"

#include <string.h>

#include "base/text.h"

/* Repetitions up to here are counted as short. */
#define SHORT_REPEAT 64

#define LAST "\\u{10FFFF}"
#define SPACES                                                                \
    "\\x09-\\x0D\\x20\\xA0\\u1680\\u2000-\\u200A\\u2028\\u2029\\u202F\\u205F" \
    "\\u3000\\uFEFF"

/* What a hyphen in a class follows: nothing that a range may begin with, a character, or
 * several of them. */
enum before { BEFORE_NOTHING, BEFORE_CHAR, BEFORE_SEVERAL };

struct reader {
    const char *start, *at, *end;
    struct mcpi_buf *buf;
    bool in_class;
    enum before before;
    bool is_repeated; /* what stands before is a repetition, not made lazy */
    bool was_repeated;
    bool groups;      /* or alternatives */
    unsigned repeats; /* without a small maximum */
    mcp_error *err;
};

static int
refuse(const struct reader *r, const char *what)
{
    return mcpi_error_set(r->err, MCP_E_INVAL, "not a pattern: %s at byte %zu", what,
                          (size_t)(r->at - r->start));
}

static char
peek(const struct reader *r, size_t ahead)
{
    return (size_t)(r->end - r->at) > ahead ? r->at[ahead] : '\0';
}

static void
copy(struct reader *r, size_t count)
{
    mcpi_buf_append(r->buf, r->at, count);
    r->at += count;
}

static void
replace(struct reader *r, size_t count, const char *by)
{
    mcpi_buf_text(r->buf, by);
    r->at += count;
}

/* ---- properties ------------------------------------------------------------ */

/* General categories: PCRE2 knows their short names only. */
static const char *
category_short(const char *name, size_t len)
{
    static const char *const names[][2] = {
        {"Other", "C"},
        {"Control", "Cc"},
        {"Format", "Cf"},
        {"Unassigned", "Cn"},
        {"Private_Use", "Co"},
        {"Surrogate", "Cs"},
        {"Letter", "L"},
        {"Cased_Letter", "L&"},
        {"Lowercase_Letter", "Ll"},
        {"Modifier_Letter", "Lm"},
        {"Other_Letter", "Lo"},
        {"Titlecase_Letter", "Lt"},
        {"Uppercase_Letter", "Lu"},
        {"Mark", "M"},
        {"Spacing_Mark", "Mc"},
        {"Enclosing_Mark", "Me"},
        {"Nonspacing_Mark", "Mn"},
        {"Number", "N"},
        {"Decimal_Number", "Nd"},
        {"digit", "Nd"},
        {"Letter_Number", "Nl"},
        {"Other_Number", "No"},
        {"Punctuation", "P"},
        {"punct", "P"},
        {"Connector_Punctuation", "Pc"},
        {"Dash_Punctuation", "Pd"},
        {"Close_Punctuation", "Pe"},
        {"Final_Punctuation", "Pf"},
        {"Initial_Punctuation", "Pi"},
        {"Other_Punctuation", "Po"},
        {"Open_Punctuation", "Ps"},
        {"Symbol", "S"},
        {"Currency_Symbol", "Sc"},
        {"Modifier_Symbol", "Sk"},
        {"Math_Symbol", "Sm"},
        {"Other_Symbol", "So"},
        {"Separator", "Z"},
        {"Line_Separator", "Zl"},
        {"Paragraph_Separator", "Zp"},
        {"Space_Separator", "Zs"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (strlen(names[i][0]) == len && memcmp(names[i][0], name, len) == 0)
            return names[i][1];
    }
    return NULL;
}

/* Length of a prefix that only says that a category follows. */
static size_t
category_prefix(const char *name, size_t len)
{
    static const char *const prefixes[] = {"General_Category=", "gc="};

    for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++) {
        if (len > strlen(prefixes[i]) &&
            memcmp(name, prefixes[i], strlen(prefixes[i])) == 0)
            return strlen(prefixes[i]);
    }
    return 0;
}

/* \p{...} or \P{...} */
static void
property_copy(struct reader *r)
{
    const char *name = r->at + 3;
    const char *end = r->end - r->at > 3 ? memchr(name, '}', (size_t)(r->end - name))
                                         : NULL;
    const char *category;
    size_t prefix;

    if (peek(r, 2) != '{' || !end) {
        copy(r, 2);
        return;
    }
    copy(r, 3);
    prefix = category_prefix(name, (size_t)(end - name));
    r->at += prefix;
    category = category_short(r->at, (size_t)(end - r->at));
    if (category)
        replace(r, (size_t)(end - r->at), category);
    copy(r, (size_t)(end + 1 - r->at));
}

/* ---- pieces ---------------------------------------------------------------- */

/* Length of \u{1F600}, whose braces are no repetition; of any other escape, 2. */
static size_t
escape_length(const struct reader *r)
{
    size_t len = 3;

    if (peek(r, 1) != 'u' || peek(r, 2) != '{')
        return 2;
    while (peek(r, len) && strchr("0123456789abcdefABCDEF", peek(r, len)))
        len++;
    return len > 3 && peek(r, len) == '}' ? len + 1 : 2;
}

/* What the escape of a letter means in a class, or NULL. Ranges, because PCRE2 (10.42)
 * mistakes a negated class of a \W or \D and a property: for [^\W\p{Z}] it forgets that
 * \W has letters beyond U+00FF. */
static const char *
class_ranges(char letter)
{
    switch (letter) {
    case 's':
        return SPACES;
    case 'S':
        return "\\x00-\\x08\\x0E-\\x1F\\x21-\\x9F\\u00A1-\\u167F\\u1681-\\u1FFF"
               "\\u200B-\\u2027\\u202A-\\u202E\\u2030-\\u205E\\u2060-\\u2FFF"
               "\\u3001-\\uFEFE\\uFF00-" LAST;
    case 'W':
        return "\\x00-\\x2F\\x3A-\\x40\\x5B-\\x5E\\x60\\x7B-" LAST;
    case 'D':
        return "\\x00-\\x2F\\x3A-" LAST;
    default:
        return NULL;
    }
}

static int
escape_copy(struct reader *r)
{
    char c = peek(r, 1);

    if (r->end - r->at < 2)
        return refuse(r, "\\ at the end");
    if (r->in_class && class_ranges(c))
        replace(r, 2, class_ranges(c));
    else if (c == 's')
        replace(r, 2, "[" SPACES "]");
    else if (c == 'S')
        replace(r, 2, "[^" SPACES "]");
    else if (c == 'v')
        replace(r, 2, "\\x0B");
    else if (c == 'p' || c == 'P')
        property_copy(r);
    else if (((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) &&
             !strchr("bBcdDfknrtuwWx", c))
        return refuse(r, "an escape that ECMA-262 does not have");
    else
        copy(r, escape_length(r));
    return 0;
}

/* ( (?: (?= (?! (?<= (?<! (?<name> */
static int
group_copy(struct reader *r)
{
    r->groups = true;
    if (peek(r, 1) == '*')
        return refuse(r, "nothing to repeat");
    if (peek(r, 1) == '?' && !(peek(r, 2) && strchr(":=!<", peek(r, 2))))
        return refuse(r, "a group that ECMA-262 does not have");
    copy(r, 1);
    return 0;
}

/* {3,7}: has it a small maximum? What is no repetition is a plain brace. */
static void
repeat_copy(struct reader *r)
{
    const char *at = r->at + 1;
    unsigned number = 0;

    for (; at < r->end && ((*at >= '0' && *at <= '9') || *at == ','); at++) {
        if (*at == ',')
            number = at + 1 < r->end && at[1] == '}' ? SHORT_REPEAT + 1 : 0;
        else if (number <= SHORT_REPEAT)
            number = number * 10 + (unsigned)(*at - '0');
    }
    r->repeats += number > SHORT_REPEAT;
    r->is_repeated = at < r->end && *at == '}' && r->at[1] >= '0' && r->at[1] <= '9';
    if (r->is_repeated)
        copy(r, (size_t)(at + 1 - r->at));
    else
        replace(r, 1, "\\{"); /* newer ones of PCRE2 repeat by {,3} too */
}

/* \d, \p{Lu} and the like */
static bool
is_several(const struct reader *r, size_t ahead)
{
    return peek(r, ahead) == '\\' && peek(r, ahead + 1) &&
           strchr("dDsSwWpP", peek(r, ahead + 1));
}

static int
class_atom_copy(struct reader *r)
{
    r->before = is_several(r, 0) ? BEFORE_SEVERAL : BEFORE_CHAR;
    if (*r->at == '\\')
        return escape_copy(r);
    if (*r->at == '[') {
        replace(r, 1, "\\[");
        return 0;
    }
    if (*r->at == ']')
        r->in_class = false;
    copy(r, 1);
    return 0;
}

/* From a hyphen to what follows it. Beside several characters, where PCRE2 would refuse
 * it, it stands for itself. */
static int
class_range_copy(struct reader *r)
{
    bool is_plain = r->before == BEFORE_SEVERAL || is_several(r, 1);
    int status;

    replace(r, 1, is_plain ? "\\-" : "-");
    status = class_atom_copy(r);
    r->before = BEFORE_NOTHING;
    return status;
}

static int
class_copy(struct reader *r)
{
    bool is_last = r->end - r->at == 1 || peek(r, 1) == ']';

    if (*r->at != '-' || is_last)
        return class_atom_copy(r);
    if (r->before != BEFORE_NOTHING)
        return class_range_copy(r);
    replace(r, 1, "\\-");
    r->before = BEFORE_CHAR;
    return 0;
}

static int
char_copy(struct reader *r)
{
    switch (*r->at) {
    case '.':
        replace(r, 1, "[^\\n\\r\\u2028\\u2029]");
        return 0;
    case '(':
        return group_copy(r);
    case '{':
        repeat_copy(r);
        return 0;
    case '[':
        r->in_class = true;
        r->before = BEFORE_NOTHING;
        copy(r, peek(r, 1) == '^' ? 2 : 1);
        return 0;
    case '|':
        r->groups = true;
        break;
    case '+':
        if (r->was_repeated) /* to PCRE2 it would be possessive */
            return refuse(r, "nothing to repeat");
        r->is_repeated = true;
        r->repeats++;
        break;
    case '*':
        r->is_repeated = true;
        r->repeats++;
        break;
    case '?':
        r->is_repeated = !r->was_repeated;
        break;
    default:
        break;
    }
    copy(r, 1);
    return 0;
}

int
mcpi_pattern_translate(struct mcpi_buf *buf, const char *text, size_t len,
                       bool *ret_linear, mcp_error *err)
{
    struct reader r = {
        .start = text, .at = text, .end = text + len, .buf = buf, .err = err};
    int status = 0;

    while (status == 0 && r.at < r.end) {
        r.was_repeated = r.is_repeated;
        r.is_repeated = false;
        if (r.in_class)
            status = class_copy(&r);
        else
            status = *r.at == '\\' ? escape_copy(&r) : char_copy(&r);
    }
    *ret_linear = !r.groups && r.repeats <= (len > 0 && text[0] == '^');
    return status;
}
