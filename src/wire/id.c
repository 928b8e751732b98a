/* id.c - request ids: read, folded, compared, hashed, written */
#include "wire/id.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "json/value.h"

/* Above it a double may stand for several integers. */
#define EXACT_MAX 9007199254740992.0

#define INT64_DIGITS 19 /* of 9223372036854775807 */

/* Keeps a number apart from the string of the same bytes. */
static const uint64_t kind_salt[] = {
    [MCPI_ID_NONE] = 0,
    [MCPI_ID_INT] = 0,
    [MCPI_ID_UINT] = UINT64_C(0x9e3779b97f4a7c15),
    [MCPI_ID_STRING] = UINT64_C(0xc2b2ae3d27d4eb4f),
    [MCPI_ID_REAL] = 0,
};

/* The int64 that this text is the shortest decimal spelling of; false: of none. */
static bool
text_to_int64(const char *text, size_t len, int64_t *ret)
{
    bool negative = len > 0 && text[0] == '-';
    uint64_t limit = (uint64_t)INT64_MAX + (negative ? 1 : 0);
    uint64_t value = 0;
    size_t i = negative ? 1 : 0;

    if (len == i || len - i > INT64_DIGITS)
        return false;
    if (text[i] == '0' && len != 1)
        return false; /* "07", "00" and "-0" */
    for (; i < len; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    if (value > limit)
        return false;
    if (!negative)
        *ret = (int64_t)value;
    else
        *ret = value == limit ? INT64_MIN : -(int64_t)value;
    return true;
}

struct mcpi_id
mcpi_id_int(int64_t number)
{
    return (struct mcpi_id){.kind = MCPI_ID_INT, .number = number};
}

struct mcpi_id
mcpi_id_string(const char *text, size_t len)
{
    return (struct mcpi_id){.kind = MCPI_ID_STRING, .text = text, .len = len};
}

struct mcpi_id
mcpi_id_read(const mcp_json *value)
{
    enum mcp_json_type type = mcp_json_get_type(value);
    struct mcpi_id id = {.kind = MCPI_ID_NONE};

    if (type == MCP_JSON_INTEGER) {
        if (mcp_json_to_int64(value, &id.number) == 0)
            id.kind = MCPI_ID_INT;
        else if (mcp_json_to_uint64(value, &id.unsign) == 0)
            id.kind = MCPI_ID_UINT;
    } else if (type == MCP_JSON_STRING && !mcpi_json_is_repaired(value)) {
        id = mcpi_id_string(mcp_json_string(value, ""), mcp_json_string_length(value));
    }
    return id;
}

struct mcpi_id
mcpi_id_read_refused(const mcp_json *value)
{
    struct mcpi_id id = {.kind = MCPI_ID_NONE};
    double real = mcp_json_number(value, 0);

    if (mcp_json_get_type(value) != MCP_JSON_REAL || fabs(real) >= EXACT_MAX ||
        real != trunc(real))
        return id;
    id.kind = MCPI_ID_REAL;
    id.real = real;
    return id;
}

struct mcpi_id
mcpi_id_fold(struct mcpi_id id)
{
    int64_t number;

    if (id.kind == MCPI_ID_STRING && text_to_int64(id.text, id.len, &number))
        return mcpi_id_int(number);
    return id;
}

bool
mcpi_id_same(const struct mcpi_id *a, const struct mcpi_id *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case MCPI_ID_INT:
        return a->number == b->number;
    case MCPI_ID_UINT:
        return a->unsign == b->unsign;
    case MCPI_ID_STRING:
        return a->len == b->len &&
               (a->len == 0 || memcmp(a->text, b->text, a->len) == 0);
    case MCPI_ID_NONE:
    case MCPI_ID_REAL:
        break;
    }
    return false;
}

/* Neighbours stay neighbours: eight numbers in a row share what the secret hash makes
 * of their common part, and so a cache line of the map. Peers count upwards, and cannot
 * aim two numbers at one bucket any better than without this. */
static uint64_t
number_hash(const struct mcpi_map *map, uint64_t number)
{
    uint64_t common = number >> 3;

    return mcpi_map_hash(map, &common, sizeof(common)) << 3 | (number & 7);
}

uint64_t
mcpi_id_hash(const struct mcpi_map *map, const struct mcpi_id *folded)
{
    uint64_t hash;

    if (folded->kind == MCPI_ID_STRING)
        hash = mcpi_map_hash(map, folded->text, folded->len);
    else if (folded->kind == MCPI_ID_UINT)
        hash = number_hash(map, folded->unsign);
    else
        hash = number_hash(map, (uint64_t)folded->number);
    return hash ^ kind_salt[folded->kind];
}

void
mcpi_id_write(struct mcpi_buf *buf, const struct mcpi_id *id)
{
    int r;

    assert(id->kind != MCPI_ID_NONE);
    switch (id->kind) {
    case MCPI_ID_INT:
        mcpi_buf_int(buf, id->number);
        return;
    case MCPI_ID_UINT:
        mcpi_buf_uint(buf, id->unsign);
        return;
    case MCPI_ID_STRING:
        r = mcpi_json_write_string(buf, id->text, id->len);
        assert(r != MCP_E_INVAL);
        (void)r; /* what else can fail is the buffer's, and stays there */
        return;
    case MCPI_ID_REAL:
        (void)mcpi_json_write_real(buf, id->real); /* it is finite */
        return;
    case MCPI_ID_NONE:
        return;
    }
}

const char *
mcpi_id_show(const struct mcpi_id *id, char into[MCPI_ID_SHOWN])
{
    static const char tail[] = "\"...";
    size_t room = MCPI_ID_SHOWN - sizeof tail; /* for the opening quote and the text */
    size_t len;

    switch (id->kind) {
    case MCPI_ID_INT:
        snprintf(into, MCPI_ID_SHOWN, "%" PRId64, id->number);
        break;
    case MCPI_ID_UINT:
        snprintf(into, MCPI_ID_SHOWN, "%" PRIu64, id->unsign);
        break;
    case MCPI_ID_STRING:
        into[0] = '"';
        len = 1 + mcpi_text_clean(into + 1, room, id->text, id->len);
        memcpy(into + len, tail, sizeof tail);
        if (len == 1 + id->len)
            into[len + 1] = '\0'; /* all of it: no dots */
        break;
    case MCPI_ID_REAL:
        snprintf(into, MCPI_ID_SHOWN, "%.1f", id->real);
        break;
    case MCPI_ID_NONE:
        memcpy(into, "none", sizeof "none");
        break;
    }
    return into;
}
