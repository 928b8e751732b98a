/* postgres_page.c - rows of PostgreSQL as JSON, a bounded page of them */
#include "postgres_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SAFE_INTEGER ((INT64_C(1) << 53) - 1)
#define DOUBLE_DIGITS 17 /* more are lost when a reader makes a double of them */

/* Object ids of types, which never change: pg_type.dat. */
enum type {
    BOOL = 16,
    INT8 = 20,
    INT2 = 21,
    INT4 = 23,
    OID = 26,
    JSON = 114,
    FLOAT4 = 700,
    FLOAT8 = 701,
    JSONB = 3802
};

/* Bytes of the character that begins here, 0: it is none. */
static size_t
character_length(const unsigned char *s, size_t left)
{
    size_t length = 1 + (s[0] >= 0xc2) + (s[0] >= 0xe0) + (s[0] >= 0xf0);

    if (s[0] < 0x80)
        return 1;
    if (length == 1 || s[0] > 0xf4 || length > left)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((s[i] & 0xc0) != 0x80)
            return 0;
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) ||
        (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return length;
}

char *
text_clean(const char *text, size_t length)
{
    char *copy = malloc(length + 1);
    size_t step;

    if (!copy)
        return NULL;
    memcpy(copy, text, length);
    copy[length] = '\0';
    for (size_t i = 0; i < length; i += step) {
        step = character_length((const unsigned char *)text + i, length - i);
        if (step == 0) {
            copy[i] = '?';
            step = 1;
        }
    }
    return copy;
}

static void
write_text(mcp_builder *b, const char *text, size_t length)
{
    char *copy = text_clean(text, length);

    mcp_builder_string_n(b, NULL, copy, length); /* NULL makes the builder fail */
    free(copy);
}

static bool
integer_is_safe(const char *text)
{
    int64_t number = strtoll(text, NULL, 10);

    return number <= SAFE_INTEGER && number >= -SAFE_INTEGER;
}

/* Zeros count only between other digits. */
static bool
number_is_safe(const char *text, size_t length)
{
    size_t digits = 0, zeros = 0;
    bool is_integer = true;

    for (size_t i = 0; i < length && text[i] != 'e' && text[i] != 'E'; i++)
        if (text[i] == '0') {
            zeros += digits > 0;
        } else if (text[i] >= '1' && text[i] <= '9') {
            digits += zeros + 1;
            zeros = 0;
        } else if (text[i] == '.') {
            is_integer = false;
        }
    return digits <= DOUBLE_DIGITS && (!is_integer || integer_is_safe(text));
}

/* Those in strings are none. */
static bool
numbers_are_safe(const char *text)
{
    bool is_string = false;
    size_t length;

    for (; *text; text += length) {
        length = is_string ? 0 : strspn(text, "+-.0123456789eE");
        if (length > 0 && !number_is_safe(text, length))
            return false;
        if (length > 0)
            continue;
        is_string = is_string != (*text == '"');
        length = *text == '\\' && text[1] ? 2 : 1;
    }
    return true;
}

static bool
write_json(mcp_builder *b, const char *text, size_t length)
{
    const mcp_json_options shallow = MCP_JSON_OPTIONS(.max_depth = 64);
    mcp_doc *doc = NULL;

    if (!numbers_are_safe(text) ||
        mcp_doc_parse(text, length, &shallow, &doc, NULL) < 0)
        return false;
    mcp_builder_value(b, NULL, mcp_doc_root(doc));
    mcp_doc_free(doc);
    return true;
}

static bool
write_integer(mcp_builder *b, const char *text)
{
    if (!integer_is_safe(text))
        return false;
    mcp_builder_int(b, NULL, strtoll(text, NULL, 10));
    return true;
}

static bool
write_real(mcp_builder *b, const char *text)
{
    double number = strtod(text, NULL);

    if (!isfinite(number))
        return false;
    mcp_builder_real(b, NULL, number);
    return true;
}

static void
write_value(mcp_builder *b, Oid type, const char *text, size_t length)
{
    bool is_written = false;

    switch ((enum type)type) {
    case BOOL:
        mcp_builder_bool(b, NULL, text[0] == 't');
        return;
    case INT8:
    case INT2:
    case INT4:
    case OID:
        is_written = write_integer(b, text);
        break;
    case FLOAT4:
    case FLOAT8:
        is_written = write_real(b, text);
        break;
    case JSON:
    case JSONB:
        is_written = write_json(b, text, length);
        break;
    default:
        break;
    }
    if (!is_written)
        write_text(b, text, length);
}

static void
page_begin(struct page *page, const PGresult *result)
{
    mcp_builder_begin_object(page->b, NULL);
    mcp_builder_begin_array(page->b, "columns");
    for (int i = 0; result && i < PQnfields(result); i++)
        write_text(page->b, PQfname(result, i), strlen(PQfname(result, i)));
    mcp_builder_end(page->b);
    mcp_builder_begin_array(page->b, "rows");
    page->is_begun = true;
}

static void
page_write(struct page *page, const PGresult *result, int row)
{
    mcp_builder_begin_array(page->b, NULL);
    for (int i = 0; i < PQnfields(result); i++)
        if (PQgetisnull(result, row, i))
            mcp_builder_null(page->b, NULL);
        else
            write_value(page->b, PQftype(result, i), PQgetvalue(result, row, i),
                        (size_t)PQgetlength(result, row, i));
    mcp_builder_end(page->b);
    page->rows++;
}

/* What is behind the last row is dropped. False: it is too large to be waited for. */
static bool
page_add(struct page *page, const PGresult *result, int row)
{
    size_t bytes = 0;

    if (page->skip > 0) {
        page->skip--;
        return true;
    }
    if (page->rows == page->limit) {
        page->is_cut = true;
        return true;
    }
    for (int i = 0; i < PQnfields(result); i++)
        bytes += (size_t)PQgetlength(result, row, i);
    if (bytes > PAGE_BYTES && page->rows == 0)
        page->too_big = bytes;
    if (page->is_cut || page->bytes + bytes > PAGE_BYTES) {
        page->is_cut = true;
        return false;
    }
    page->bytes += bytes;
    page_write(page, result, row);
    return true;
}

bool
page_take(struct page *page, const PGresult *result)
{
    ExecStatusType status = PQresultStatus(result);

    if ((status == PGRES_SINGLE_TUPLE || status == PGRES_TUPLES_OK) && !page->is_begun)
        page_begin(page, result); /* rows may have no columns */
    for (int row = 0; row < PQntuples(result); row++)
        if (!page_add(page, result, row))
            return false;
    return true;
}

void
page_end(struct page *page)
{
    if (!page->is_begun)
        page_begin(page, NULL);
    mcp_builder_end(page->b);
}
