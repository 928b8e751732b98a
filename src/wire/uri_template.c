/* uri_template.c - the syntax of URI templates, RFC 6570 section 2 */
#include "wire/uri_template.h"

#include <string.h>

#include "base/mem.h"
#include "base/text.h"

#define PREFIX_MAX 9999

static const struct mcpi_uri_operator operators[] = {
    {'\0', '\0', ',', false, false, false}, {'+', '\0', ',', false, false, true},
    {'#', '#', ',', false, false, true},    {'.', '.', '.', false, false, false},
    {'/', '/', '/', false, false, false},   {';', ';', ';', true, false, false},
    {'?', '?', '&', true, true, false},     {'&', '&', '&', true, true, false},
};

/* ---- characters ------------------------------------------------------------ */

static bool
is_alnum(unsigned char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

static bool
is_one_of(unsigned char c, const char *set)
{
    return c && strchr(set, c);
}

bool
mcpi_uri_is_unreserved(unsigned char c)
{
    return is_alnum(c) || is_one_of(c, "-._~");
}

bool
mcpi_uri_is_reserved(unsigned char c)
{
    return is_one_of(c, ":/?#[]@!$&'()*+,;=");
}

static int
hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

int
mcpi_uri_triplet(const char *text, size_t len)
{
    int high, low;

    if (len < 3 || text[0] != '%')
        return -1;
    high = hex_digit(text[1]);
    low = hex_digit(text[2]);
    return high < 0 || low < 0 ? -1 : high * 16 + low;
}

size_t
mcpi_uri_read(const char *text, size_t len, mcpi_uri_unit *into, size_t *ret_count)
{
    size_t at = 0, count = 0;

    while (at < len) {
        unsigned char c = (unsigned char)text[at];
        int byte = mcpi_uri_triplet(text + at, len - at);

        if (byte >= 0) {
            bool is_plain = mcpi_uri_is_unreserved((unsigned char)byte);

            into[count++] = (mcpi_uri_unit)((unsigned)byte |
                                            (is_plain ? 0 : MCPI_URI_ENCODED));
            at += 3;
            continue;
        }
        if (c < 0x80 && !mcpi_uri_is_unreserved(c) && !mcpi_uri_is_reserved(c))
            break;
        into[count++] = (mcpi_uri_unit)(c | (c < 0x80 ? 0 : MCPI_URI_ENCODED));
        at++;
    }
    *ret_count = count;
    return at;
}

/* ---- parsing --------------------------------------------------------------- */

struct parser {
    mcp_uri_template *t;
    size_t at;
    size_t len;
    mcp_error *err;
};

static int
parser_refuse(const struct parser *p, size_t at, const char *why)
{
    return mcpi_error_set(p->err, MCP_E_INVAL, "not a URI template: %s at byte %zu",
                          why, at);
}

static int
parse_literal(struct parser *p)
{
    mcp_uri_template *t = p->t;
    size_t start = p->at;

    while (p->at < p->len && t->text[p->at] != '{') {
        unsigned char c = (unsigned char)t->text[p->at];
        bool is_triplet = mcpi_uri_triplet(t->text + p->at, p->len - p->at) >= 0;

        if (c == '}')
            return parser_refuse(p, p->at, "a brace that closes nothing");
        if (c < 0x80 && !is_triplet && !mcpi_uri_is_unreserved(c) &&
            !mcpi_uri_is_reserved(c))
            return parser_refuse(p, p->at, "a character that no URI has");
        p->at += is_triplet ? 3 : 1;
    }
    t->parts[t->part_count++] = (struct mcpi_uri_part){.text = t->text + start,
                                                       .len = p->at - start};
    return 0;
}

static const struct mcpi_uri_operator *
find_operator(char mark)
{
    for (size_t i = 1; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (operators[i].mark == mark)
            return &operators[i];
    }
    return &operators[0];
}

/* Bytes of one character of a name; 0: none. */
static size_t
name_char(const char *text, size_t len)
{
    if (mcpi_uri_triplet(text, len) >= 0)
        return 3;
    return is_alnum((unsigned char)text[0]) || text[0] == '_' ? 1 : 0;
}

static int
parse_name(struct parser *p, struct mcpi_uri_variable *variable)
{
    const char *text = p->t->text;
    size_t start = p->at;

    for (;;) {
        size_t step = name_char(text + p->at, p->len - p->at);

        if (step == 0)
            return parser_refuse(p, p->at, "a variable without a name");
        while (step > 0) {
            p->at += step;
            step = name_char(text + p->at, p->len - p->at);
        }
        if (text[p->at] != '.') /* a dot stands only between characters */
            break;
        p->at++;
    }
    variable->name = p->t->names_text + start;
    p->t->names_text[p->at] = '\0';
    return 0;
}

static int
parse_modifier(struct parser *p, struct mcpi_uri_variable *variable)
{
    const char *text = p->t->text;
    size_t start = p->at;

    if (text[p->at] == '*') {
        variable->explode = true;
        p->at++;
    } else if (text[p->at] == ':') {
        for (p->at++; text[p->at] >= '0' && text[p->at] <= '9'; p->at++) {
            variable->prefix = variable->prefix * 10 + (unsigned)(text[p->at] - '0');
            if (variable->prefix == 0 || variable->prefix > PREFIX_MAX)
                return parser_refuse(p, start, "a prefix that is not from 1 to 9999");
        }
        if (variable->prefix == 0)
            return parser_refuse(p, start, "a prefix that is not from 1 to 9999");
    }
    return 0;
}

static size_t
find_slot(mcp_uri_template *t, const char *name)
{
    for (size_t i = 0; i < t->name_count; i++) {
        if (strcmp(t->names[i], name) == 0)
            return i;
    }
    t->names[t->name_count] = name;
    return t->name_count++;
}

static int
parse_variable(struct parser *p)
{
    struct mcpi_uri_variable variable = {0};
    int r = parse_name(p, &variable);

    if (r == 0)
        r = parse_modifier(p, &variable);
    if (r < 0)
        return r;
    variable.slot = find_slot(p->t, variable.name);
    p->t->variables[p->t->variable_count++] = variable;
    return 0;
}

static int
parse_expression(struct parser *p)
{
    mcp_uri_template *t = p->t;
    struct mcpi_uri_part part = {.first = t->variable_count};
    size_t start = p->at++;
    int r;

    part.form = find_operator(t->text[p->at]);
    if (part.form->mark)
        p->at++;
    else if (is_one_of((unsigned char)t->text[p->at], "=,!@|"))
        return parser_refuse(p, p->at, "an operator that is reserved");
    for (;;) {
        r = parse_variable(p);
        if (r < 0)
            return r;
        if (t->text[p->at] != ',')
            break;
        p->at++;
    }
    if (p->at == p->len)
        return parser_refuse(p, start, "a brace that is not closed");
    if (t->text[p->at] != '}')
        return parser_refuse(p, p->at, "a character that no variable has");
    p->at++;
    part.count = t->variable_count - part.first;
    t->parts[t->part_count++] = part;
    return 0;
}

static int
parse(mcp_uri_template *t, size_t len, mcp_error *err)
{
    struct parser p = {.t = t, .len = len, .err = err};
    int r = 0;

    while (r == 0 && p.at < len)
        r = t->text[p.at] == '{' ? parse_expression(&p) : parse_literal(&p);
    return r;
}

/* ---- memory ---------------------------------------------------------------- */

/* Room for as many parts and variables as the braces and commas allow. */
static int
template_reserve(mcp_uri_template *t, const char *text, size_t len, mcp_error *err)
{
    size_t braces = 0, commas = 0;

    for (size_t i = 0; i < len; i++) {
        braces += text[i] == '{';
        commas += text[i] == ',' && braces > 0;
    }
    if (braces > MCP_URI_EXPRESSIONS_MAX)
        return mcpi_error_set(err, MCP_E_LIMIT,
                              "a URI template of more than %d "
                              "expressions",
                              MCP_URI_EXPRESSIONS_MAX);
    t->text = mcpi_alloc_zero(t->mem, len + 1);
    t->names_text = mcpi_alloc_zero(t->mem, len + 1);
    t->parts = mcpi_alloc_zero(t->mem, (2 * braces + 1) * sizeof(*t->parts));
    t->variables = mcpi_alloc_zero(t->mem,
                                   (braces + commas + 1) * sizeof(*t->variables));
    t->names = mcpi_alloc_zero(t->mem, (braces + commas + 1) * sizeof(*t->names));
    if (!t->text || !t->names_text || !t->parts || !t->variables || !t->names)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    memcpy(t->text, text, len);
    memcpy(t->names_text, text, len);
    return 0;
}

static int
template_fill(mcp_uri_template *t, const char *text, size_t len, mcp_error *err)
{
    int r = template_reserve(t, text, len, err);

    if (r == 0)
        r = parse(t, len, err);
    if (r < 0)
        return r;
    if (t->variable_count > MCP_URI_VARIABLES_MAX)
        return mcpi_error_set(err, MCP_E_LIMIT,
                              "a URI template of more than %d variables",
                              MCP_URI_VARIABLES_MAX);
    r = mcpi_uri_program_make(t);
    return r < 0 ? mcpi_error_set(err, r, "%s", mcp_status_text(r)) : 0;
}

int
mcp_uri_template_new(const char *text, const mcp_allocator *allocator,
                     mcp_uri_template **ret_template, mcp_error *err)
{
    const mcp_allocator *mem = mcpi_mem_or_malloc(allocator);
    size_t len = text ? strlen(text) : 0;
    mcp_uri_template *t;
    int r;

    if (!text || !ret_template || !mcpi_utf8_valid(text, len))
        return mcpi_error_set(err, MCP_E_INVAL, "not a URI template: no UTF-8 text");
    if (len > MCP_URI_TEMPLATE_LENGTH_MAX)
        return mcpi_error_set(err, MCP_E_LIMIT, "a URI template longer than %d bytes",
                              MCP_URI_TEMPLATE_LENGTH_MAX);
    t = mcpi_alloc_zero(mem, sizeof(*t));
    if (!t)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    t->mem = mem;
    r = template_fill(t, text, len, err);
    if (r < 0)
        mcp_uri_template_free(t);
    else
        *ret_template = t;
    return r;
}

void
mcp_uri_template_free(mcp_uri_template *t)
{
    if (!t)
        return;
    mcpi_uri_program_done(t);
    mcpi_free(t->mem, t->names);
    mcpi_free(t->mem, t->variables);
    mcpi_free(t->mem, t->parts);
    mcpi_free(t->mem, t->names_text);
    mcpi_free(t->mem, t->text);
    mcpi_free(t->mem, t);
}

const char *
mcp_uri_template_text(const mcp_uri_template *t)
{
    return t ? t->text : NULL;
}

size_t
mcp_uri_template_count(const mcp_uri_template *t)
{
    return t ? t->name_count : 0;
}

const char *
mcp_uri_template_name(const mcp_uri_template *t, size_t index)
{
    return t && index < t->name_count ? t->names[index] : NULL;
}
