/* http.c - what HTTP says, apart from where it comes from */
#include "link/http.h"

#include <string.h>

/* ---- names ----------------------------------------------------------------- */

static char
lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool
name_is(const char *name, const char *in_lower_case)
{
    while (*name && lower(*name) == *in_lower_case) {
        name++;
        in_lower_case++;
    }
    return *name == *in_lower_case;
}

const char *
mcpi_http_get(const struct mcpi_http_in *in, const char *name, size_t *ret_count)
{
    const char *value = NULL;
    size_t count = 0;

    for (size_t i = 0; i < in->field_count; i++) {
        if (!name_is(in->fields[i].name, name))
            continue;
        if (count++ == 0)
            value = in->fields[i].value;
        if (!ret_count)
            return value;
    }
    if (ret_count)
        *ret_count = count;
    return value;
}

const char *
mcp_http_header(const mcp_http_request *request, const char *name)
{
    size_t len;

    if (!request || !name)
        return NULL;
    len = strlen(name);
    for (size_t i = 0; i < request->field_count; i++) {
        const char *other = request->fields[i].name;
        size_t at = 0;

        while (at < len && other[at] && lower(other[at]) == lower(name[at]))
            at++;
        if (at == len && !other[at])
            return request->fields[i].value;
    }
    return NULL;
}

/* Letters and hyphens only, as these names are: a bit more makes a capital small, and
 * makes nothing else one of them that a name may have. */
#define NAME_IS(name, in_lower_case) \
    name_equals(name, in_lower_case, sizeof(in_lower_case) - 1)

static inline uint64_t
eight_letters(const char *at)
{
    uint64_t letters;

    memcpy(&letters, at, sizeof(letters));
    return letters | UINT64_C(0x2020202020202020);
}

/* Eight letters at a time; the last eight may be some of those before. */
static inline bool
name_equals(const char *name, const char *in_lower_case, size_t len)
{
    uint64_t differ = 0;

    if (len < 8) {
        for (size_t i = 0; i < len; i++)
            differ |= ((unsigned char)name[i] | 0x20u) ^
                      (unsigned char)in_lower_case[i];
        return differ == 0;
    }
    for (size_t i = 0; i + 8 <= len; i += 8)
        differ |= eight_letters(name + i) ^ eight_letters(in_lower_case + i);
    return (differ | (eight_letters(name + len - 8) ^
                      eight_letters(in_lower_case + len - 8))) == 0;
}

/* Its length tells most of what a client sends apart. */
static enum mcpi_http_name
name_find(const char *name, size_t len)
{
    switch (len) {
    case sizeof("host") - 1:
        return NAME_IS(name, "host") ? MCPI_HTTP_HOST : MCPI_HTTP_NAMES;
    case sizeof("accept") - 1:
        if (NAME_IS(name, "accept"))
            return MCPI_HTTP_ACCEPT;
        if (NAME_IS(name, "expect"))
            return MCPI_HTTP_EXPECT;
        return NAME_IS(name, "origin") ? MCPI_HTTP_ORIGIN : MCPI_HTTP_NAMES;
    case sizeof("mcp-name") - 1:
        return NAME_IS(name, "mcp-name") ? MCPI_HTTP_MCP_NAME : MCPI_HTTP_NAMES;
    case sizeof("mcp-method") - 1:
        return NAME_IS(name, "mcp-method") ? MCPI_HTTP_MCP_METHOD : MCPI_HTTP_NAMES;
    case sizeof("content-type") - 1:
        return NAME_IS(name, "content-type") ? MCPI_HTTP_CONTENT_TYPE : MCPI_HTTP_NAMES;
    case sizeof("mcp-session-id") - 1:
        return NAME_IS(name, "mcp-session-id") ? MCPI_HTTP_SESSION : MCPI_HTTP_NAMES;
    case sizeof("content-encoding") - 1:
        return NAME_IS(name, "content-encoding") ? MCPI_HTTP_CONTENT_CODING
                                                 : MCPI_HTTP_NAMES;
    case sizeof("transfer-encoding") - 1:
        return NAME_IS(name, "transfer-encoding") ? MCPI_HTTP_CODING : MCPI_HTTP_NAMES;
    case sizeof("mcp-protocol-version") - 1:
        return NAME_IS(name, "mcp-protocol-version") ? MCPI_HTTP_VERSION
                                                     : MCPI_HTTP_NAMES;
    case sizeof("access-control-request-method") - 1:
        return NAME_IS(name, "access-control-request-method") ? MCPI_HTTP_PREFLIGHT
                                                              : MCPI_HTTP_NAMES;
    default:
        return MCPI_HTTP_NAMES;
    }
}

void
mcpi_http_know_field(struct mcpi_http_known *known, const mcp_http_field *field,
                     size_t name_len)
{
    enum mcpi_http_name name = name_find(field->name, name_len);

    if (name != MCPI_HTTP_NAMES && known->count[name]++ == 0)
        known->value[name] = field->value;
}

void
mcpi_http_know(const struct mcpi_http_in *in, struct mcpi_http_known *ret)
{
    memset(ret, 0, sizeof(*ret));
    for (size_t i = 0; i < in->field_count; i++)
        mcpi_http_know_field(ret, &in->fields[i], strlen(in->fields[i].name));
}

const struct mcpi_http_known *
mcpi_http_known_of(const struct mcpi_http_in *in, struct mcpi_http_known *room)
{
    if (in->known)
        return in->known;
    mcpi_http_know(in, room);
    return room;
}

/* ---- lists ----------------------------------------------------------------- */

/* How narrow the range is that an item of a list names: 3 for the thing itself. */
enum narrowness { OTHER = 0, ANYTHING, ANY_SUBTYPE, EXACT };

static bool
is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool
same(const char *text, size_t len, const char *other)
{
    for (size_t i = 0; i < len; i++)
        if (!other[i] || lower(text[i]) != lower(other[i]))
            return false;
    return true;
}

static enum narrowness
range_match(const char *range, size_t len, const char *item)
{
    const char *slash = strchr(item, '/');

    if (len == strlen(item) && same(range, len, item))
        return EXACT;
    if (!slash)
        return OTHER;
    if (len == 3 && memcmp(range, "*/*", 3) == 0)
        return ANYTHING;
    /* "type/" and a star, as long as the item up to its slash and one more */
    if (len == (size_t)(slash - item) + 2 && range[len - 1] == '*' &&
        same(range, len - 1, item))
        return ANY_SUBTYPE;
    return OTHER;
}

/* The end of what stands before a separator; quotes hide separators. */
static const char *
part_end(const char *text, bool *ret_more)
{
    bool quoted = false;

    for (; *text; text++) {
        if (quoted && *text == '\\' && text[1])
            text++;
        else if (*text == '"')
            quoted = !quoted;
        else if (!quoted && (*text == ',' || *text == ';'))
            break;
    }
    *ret_more = *text == ';';
    return text;
}

/* Is it the parameter q=0, in any of its spellings? */
static bool
is_zero_quality(const char *text, const char *end)
{
    while (text < end && is_blank(*text))
        text++;
    if (end - text < 3 || lower(text[0]) != 'q' || text[1] != '=' || text[2] != '0')
        return false;
    for (text += 3; text < end; text++)
        if (*text != '.' && *text != '0' && !is_blank(*text))
            return false;
    return true;
}

bool
mcpi_http_list_has(const char *list, const char *item)
{
    enum narrowness best = OTHER, match;
    bool found = false, zero, more;
    const char *end, *last;

    while (*list) {
        while (is_blank(*list) || *list == ',')
            list++;
        end = part_end(list, &more);
        for (last = end; last > list && is_blank(last[-1]);)
            last--;
        match = range_match(list, (size_t)(last - list), item);
        for (zero = false; more;) {
            list = end + 1;
            end = part_end(list, &more);
            zero = zero || is_zero_quality(list, end);
        }
        if (match > best || (match == best && match != OTHER && !zero)) {
            best = match;
            found = !zero;
        }
        list = end;
    }
    return found;
}

static unsigned
list_accepts(const char *list)
{
    unsigned accepts = 0;

    if (strcmp(list, "application/json, text/event-stream") == 0)
        return MCPI_HTTP_JSON | MCPI_HTTP_SSE; /* what nearly everybody says */
    if (mcpi_http_list_has(list, "application/json"))
        accepts |= MCPI_HTTP_JSON;
    if (mcpi_http_list_has(list, "text/event-stream"))
        accepts |= MCPI_HTTP_SSE;
    return accepts;
}

unsigned
mcpi_http_accepts(const struct mcpi_http_in *in, const struct mcpi_http_known *known)
{
    unsigned accepts = 0;

    if (known->count[MCPI_HTTP_ACCEPT] == 0)
        return MCPI_HTTP_JSON | MCPI_HTTP_SSE;
    if (known->count[MCPI_HTTP_ACCEPT] == 1)
        return list_accepts(known->value[MCPI_HTTP_ACCEPT]);
    for (size_t i = 0; i < in->field_count; i++)
        if (name_is(in->fields[i].name, "accept"))
            accepts |= list_accepts(in->fields[i].value);
    return accepts;
}

/* ---- answers --------------------------------------------------------------- */

const char *
mcpi_http_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } rows[] = {
        {200, "OK"},
        {202, "Accepted"},
        {204, "No Content"},
        {400, "Bad Request"},
        {401, "Unauthorized"},
        {402, "Payment Required"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {406, "Not Acceptable"},
        {407, "Proxy Authentication Required"},
        {408, "Request Timeout"},
        {409, "Conflict"},
        {410, "Gone"},
        {411, "Length Required"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {415, "Unsupported Media Type"},
        {417, "Expectation Failed"},
        {422, "Unprocessable Content"},
        {429, "Too Many Requests"},
        {431, "Request Header Fields Too Large"},
        {500, "Internal Server Error"},
        {501, "Not Implemented"},
        {502, "Bad Gateway"},
        {503, "Service Unavailable"},
        {504, "Gateway Timeout"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
        if (rows[i].status == status)
            return rows[i].reason;
    return status < 400 ? "OK" : "Error";
}

/* The answer with the fields of its turn behind its own. */
static struct mcpi_http_out
answer_join(const struct mcpi_turn *turn, const struct mcpi_http_out *out,
            mcp_http_field *room, size_t count)
{
    struct mcpi_http_out joined = *out;
    size_t at = 0;

    for (size_t i = 0; i < out->field_count && at < count; i++)
        room[at++] = out->fields[i];
    for (size_t i = 0; i < turn->field_count && at < count; i++)
        room[at++] = turn->fields[i];
    if (turn->nonce[0] && at < count)
        room[at++] = (mcp_http_field){"DPoP-Nonce", turn->nonce};
    joined.fields = room;
    joined.field_count = at;
    return joined;
}

bool
mcpi_turn_reply(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    mcp_http_field room[MCPI_HTTP_FIELDS + MCPI_HTTP_TURN_FIELDS];
    struct mcpi_http_out joined;

    if (turn->field_count == 0 && !turn->nonce[0])
        return turn->ops->reply(turn, out);
    joined = answer_join(turn, out, room, sizeof(room) / sizeof(room[0]));
    return turn->ops->reply(turn, &joined);
}

bool
mcpi_turn_open(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    mcp_http_field room[MCPI_HTTP_FIELDS + MCPI_HTTP_TURN_FIELDS];
    struct mcpi_http_out joined;

    if (turn->field_count == 0 && !turn->nonce[0])
        return turn->ops->open(turn, out);
    joined = answer_join(turn, out, room, sizeof(room) / sizeof(room[0]));
    return turn->ops->open(turn, &joined);
}

/* ---- turns ----------------------------------------------------------------- */

void
mcpi_turn_gone(struct mcpi_turn *turn)
{
    const struct mcpi_turn_served *served = turn->served;

    if (!served)
        return;
    turn->served = NULL; /* told once */
    served->gone(turn);
}

void
mcpi_turn_written(struct mcpi_turn *turn)
{
    if (turn->served && turn->served->written)
        turn->served->written(turn);
}
