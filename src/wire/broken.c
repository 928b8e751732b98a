/* broken.c - what can still be told of a text that cannot be parsed: whose message it is */
#include "wire/broken.h"

#include <string.h>

#include "json/value.h"

enum expect { FIRST_KEY, KEY, COLON, FIRST_VALUE, VALUE, NEXT };

enum member { OTHER, ID, ENVELOPE, OF_REQUEST, OF_ANSWER };

struct scan {
    const char *at, *end;
    enum expect expect;
    size_t depth;
    unsigned char arrays[MCPI_BROKEN_DEPTH_MAX / 8]; /* a bit for each that is open */
    /* Of the top level: */
    enum member member; /* the current one */
    const char *value;  /* where a scalar begins, to its end */
    const char *value_end;
    const char *id, *id_end; /* the last one that was whole */
    size_t ids;              /* keys */
    bool late;               /* something long stands before the id */
    bool asks, answers, odd;
};

/* ---- members of the top level ------------------------------------------------ */

static bool
key_is(const char *key, size_t len, const char *name)
{
    return len == strlen(name) && memcmp(key, name, len) == 0;
}

static enum member
member_find(const char *key, size_t len)
{
    if (key_is(key, len, "id"))
        return ID;
    if (key_is(key, len, "jsonrpc"))
        return ENVELOPE;
    if (key_is(key, len, "method") || key_is(key, len, "params"))
        return OF_REQUEST;
    if (key_is(key, len, "result") || key_is(key, len, "error"))
        return OF_ANSWER;
    return OTHER;
}

static void
member_begin(struct scan *s, const char *key, size_t len)
{
    s->member = member_find(key, len);
    s->ids += s->member == ID;
    s->asks = s->asks || s->member == OF_REQUEST;
    s->answers = s->answers || s->member == OF_ANSWER;
    s->odd = s->odd || memchr(key, '\\', len); /* it may spell "id" */
    if (s->ids == 0 && s->member != ENVELOPE && !key_is(key, len, "method"))
        s->late = true;
}

/* A comma or a brace stands behind it: it was all of the value. */
static void
member_end(struct scan *s)
{
    if (s->member == ID && s->value) {
        s->id = s->value;
        s->id_end = s->value_end;
    }
    s->value = NULL;
}

/* ---- the structure ------------------------------------------------------------ */

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* Of a number or a word, in any spelling: NaN, Infinity, +1, 0x1f. */
static bool
is_plain(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '+' || c == '-' || c == '.' || c == '_';
}

static void
skip_blanks(struct scan *s)
{
    while (s->at < s->end && is_blank(*s->at))
        s->at++;
}

static bool
wants_value(const struct scan *s)
{
    return s->expect == VALUE || s->expect == FIRST_VALUE;
}

static bool
top_is_array(const struct scan *s)
{
    size_t at = s->depth - 1;

    return s->arrays[at / 8] >> (at % 8) & 1;
}

static bool
scan_open(struct scan *s, bool is_array)
{
    size_t at = s->depth;
    unsigned bit = 1U << (at % 8);

    if (!wants_value(s) || at == MCPI_BROKEN_DEPTH_MAX)
        return false;
    if (at == 1 && s->ids == 0)
        s->late = true;
    if (is_array)
        s->arrays[at / 8] = (unsigned char)(s->arrays[at / 8] | bit);
    else
        s->arrays[at / 8] = (unsigned char)(s->arrays[at / 8] & ~bit);
    s->depth++;
    s->expect = is_array ? FIRST_VALUE : FIRST_KEY;
    s->at++;
    return true;
}

static bool
scan_close(struct scan *s, bool is_array)
{
    enum expect empty = is_array ? FIRST_VALUE : FIRST_KEY;

    if ((s->expect != NEXT && s->expect != empty) || top_is_array(s) != is_array)
        return false;
    if (s->depth == 1)
        member_end(s);
    s->depth--;
    s->expect = NEXT;
    s->at++;
    return true;
}

static bool
scan_comma(struct scan *s)
{
    if (s->expect != NEXT)
        return false;
    if (s->depth == 1)
        member_end(s);
    s->expect = top_is_array(s) ? VALUE : KEY;
    s->at++;
    return true;
}

static bool
scan_colon(struct scan *s)
{
    if (s->expect != COLON)
        return false;
    s->expect = VALUE;
    s->at++;
    return true;
}

static bool
scan_value(struct scan *s, const char *end)
{
    if (!wants_value(s))
        return false;
    if (s->depth == 1) {
        s->value = s->at;
        s->value_end = end;
    }
    s->expect = NEXT;
    s->at = end;
    return true;
}

/* Behind the closing quote; NULL: it has none. */
static const char *
string_end(const struct scan *s)
{
    const char *at = s->at + 1;

    while (at < s->end && *at != '"')
        at += *at == '\\' && s->end - at > 1 ? 2 : 1;
    return at < s->end ? at + 1 : NULL;
}

static bool
scan_string(struct scan *s)
{
    const char *end = string_end(s);

    if (!end)
        return false;
    if (s->expect != KEY && s->expect != FIRST_KEY)
        return scan_value(s, end);
    if (s->depth == 1)
        member_begin(s, s->at + 1, (size_t)(end - s->at) - 2);
    s->expect = COLON;
    s->at = end;
    return true;
}

static bool
scan_plain(struct scan *s)
{
    const char *end = s->at;

    while (end < s->end && is_plain(*end))
        end++;
    return end > s->at && scan_value(s, end);
}

/* One token. False: it does not belong there, or has no end. */
static bool
scan_token(struct scan *s)
{
    switch (*s->at) {
    case '{':
    case '[':
        return scan_open(s, *s->at == '[');
    case '}':
    case ']':
        return scan_close(s, *s->at == ']');
    case ',':
        return scan_comma(s);
    case ':':
        return scan_colon(s);
    case '"':
        return scan_string(s);
    default:
        return scan_plain(s);
    }
}

/* True: one object, and nothing behind it. */
static bool
scan_object(struct scan *s)
{
    skip_blanks(s);
    if (s->at == s->end || *s->at != '{' || !scan_open(s, false))
        return false;
    while (s->depth > 0) {
        skip_blanks(s);
        if (s->at == s->end || !scan_token(s))
            return false;
    }
    skip_blanks(s);
    return s->at == s->end;
}

/* ---- what was found ----------------------------------------------------------- */

static struct mcpi_id
id_read(const mcp_json *value, bool asks)
{
    struct mcpi_id id = mcpi_id_read(value);

    return asks && id.kind == MCPI_ID_NONE ? mcpi_id_read_refused(value) : id;
}

static void
id_take(const mcp_allocator *mem, const struct scan *s, struct mcpi_rpc *ret)
{
    const size_t len = (size_t)(s->id_end - s->id);
    const struct mcpi_json_limits limits = {len, 1};

    if (mcpi_doc_parse(mem, s->id, len, &limits, &ret->doc) < 0)
        return;
    ret->id = id_read(mcp_doc_root(ret->doc), s->asks);
    if (ret->id.kind == MCPI_ID_NONE) {
        mcp_doc_free(ret->doc);
        ret->doc = NULL;
        return;
    }
    ret->fault_answerable = s->asks;
}

void
mcpi_broken_read(const mcp_allocator *mem, const char *text, size_t len, int code,
                 const char *why, struct mcpi_rpc *ret)
{
    static const char bom[] = "\xEF\xBB\xBF";
    struct scan s = {.at = text, .end = text + len, .expect = VALUE};
    bool whole;

    *ret = (struct mcpi_rpc){.kind = MCPI_RPC_INVALID,
                             .fault = code,
                             .fault_text = why,
                             .fault_answerable = true,
                             .fault_unparsed = true};
    if (len == 0)
        return;
    if (len > 3 && memcmp(text, bom, 3) == 0)
        s.at += 3;
    whole = scan_object(&s);
    if (s.id && s.ids == 1 && !s.odd && s.asks != s.answers && (whole || !s.late))
        id_take(mem, &s, ret);
}
