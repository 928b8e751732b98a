/*
 * sqlite_rows.c - values between SQLite and JSON, and pages of rows
 *
 * What JSON cannot hold, or its readers would spoil, is an object of one member. The same
 * objects may be given as parameters:
 *
 *     {"integer": "9007199254740993"}   beyond 2^53, where a double loses digits
 *     {"real": "-Infinity"}
 *     {"blob_base64": "AAEC"}
 *     {"text_base64": "/w=="}           bytes that were stored as text and are not UTF-8
 *
 * A cursor says how many rows were given before, and has a digest of them and one of the
 * statement with its parameters. The next page runs the statement again and passes over
 * those rows; if they are not the same ones any more, it says so rather than give a row
 * twice or leave one out. So nothing is kept for a client that may never come back.
 */
#include "sqlite_server.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX INT64_C(9007199254740991)

/* ---- Base64 ------------------------------------------------------------------------ */

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Freed with free; NULL: no memory. */
static char *
base64_encode(const unsigned char *bytes, size_t length)
{
    char *text = malloc((length + 2) / 3 * 4 + 1);
    char *to = text;

    for (size_t i = 0; text && i < length; i += 3) {
        size_t left = length - i;
        uint32_t group = (uint32_t)bytes[i] << 16;

        if (left > 1)
            group |= (uint32_t)bytes[i + 1] << 8;
        if (left > 2)
            group |= bytes[i + 2];
        *to++ = digits[group >> 18];
        *to++ = digits[group >> 12 & 63];
        *to++ = '=';
        *to++ = '=';
        if (left > 1)
            to[-2] = digits[group >> 6 & 63];
        if (left > 2)
            to[-1] = digits[group & 63];
    }
    if (text)
        *to = '\0';
    return text;
}

/* Freed with free; NULL: it is none, or no memory. */
static unsigned char *
base64_decode(const char *text, size_t length, size_t *ret_length)
{
    unsigned char *bytes = malloc(length / 4 * 3 + 1);
    uint32_t group = 0;
    size_t used, n = 0;

    used = length;
    while (used > 0 && length - used < 2 && text[used - 1] == '=')
        used--;
    for (size_t i = 0; bytes && i < used; i++) {
        const char *digit = memchr(digits, text[i], sizeof(digits) - 1);

        if (!digit || length % 4 != 0) {
            free(bytes);
            return NULL;
        }
        group = group << 6 | (uint32_t)(digit - digits);
        if (i % 4 > 0)
            bytes[n++] = (unsigned char)(group >> (6 - i % 4 * 2));
    }
    *ret_length = n;
    return bytes;
}

/* ---- values ------------------------------------------------------------------------ */

static void
marked_write(mcp_builder *b, const char *key, const char *mark, const char *text)
{
    mcp_builder_begin_object(b, key);
    mcp_builder_string(b, mark, text);
    mcp_builder_end(b);
}

static void
bytes_write(mcp_builder *b, const char *key, const char *mark, const void *bytes,
            size_t length)
{
    char *text = base64_encode(bytes, length);

    marked_write(b, key, mark, text);
    free(text);
}

/* The builder refuses what is not UTF-8, so a scratch one is asked first. */
static void
text_write(mcp_builder *b, const char *key, const char *text, size_t length)
{
    mcp_builder *scratch = mcp_builder_new(NULL);

    mcp_builder_string_n(scratch, NULL, text, length);
    if (mcp_builder_status(scratch) == 0)
        mcp_builder_string_n(b, key, text, length);
    else
        bytes_write(b, key, "text_base64", text, length);
    mcp_builder_free(scratch);
}

static void
integer_write(mcp_builder *b, const char *key, int64_t value)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%" PRId64, value);
    if (value < -EXACT_MAX || value > EXACT_MAX)
        marked_write(b, key, "integer", text);
    else
        mcp_builder_int(b, key, value);
}

/* The bytes of a text, as UTF-8, or of a blob. Asking for the length comes last: in a
 * database that is UTF-16 it would move what was asked for before. */
static const void *
value_bytes(sqlite3_stmt *row, int i, size_t *ret_length)
{
    const void *bytes = sqlite3_column_type(row, i) == SQLITE_TEXT
                            ? (const void *)sqlite3_column_text(row, i)
                            : sqlite3_column_blob(row, i);

    *ret_length = (size_t)sqlite3_column_bytes(row, i);
    return bytes;
}

/* The value of a column of the row, as member `key`. */
static void
value_write(mcp_builder *b, const char *key, sqlite3_stmt *row, int i)
{
    const void *bytes;
    size_t length = 0;
    double real;

    switch (sqlite3_column_type(row, i)) {
    case SQLITE_INTEGER:
        integer_write(b, key, sqlite3_column_int64(row, i));
        break;
    case SQLITE_FLOAT:
        real = sqlite3_column_double(row, i);
        if (isfinite(real))
            mcp_builder_real(b, key, real);
        else
            marked_write(b, key, "real", real > 0 ? "Infinity" : "-Infinity");
        break;
    case SQLITE_TEXT:
        bytes = value_bytes(row, i, &length);
        text_write(b, key, bytes, length);
        break;
    case SQLITE_BLOB:
        bytes = value_bytes(row, i, &length);
        bytes_write(b, key, "blob_base64", bytes, length);
        break;
    default:
        mcp_builder_null(b, key);
    }
}

/* About how long a row is, before anything of it is copied. */
static size_t
row_bytes(sqlite3_stmt *row)
{
    size_t bytes = 0;

    for (int i = 0; i < sqlite3_column_count(row); i++) {
        int type = sqlite3_column_type(row, i);

        if (type == SQLITE_TEXT || type == SQLITE_BLOB)
            bytes += (size_t)sqlite3_column_bytes(row, i);
    }
    return bytes;
}

/* ---- parameters -------------------------------------------------------------------- */

/* An object as above. SQLite copies what it needs. */
static int
marked_bind(sqlite3_stmt *statement, int i, const mcp_json *marked)
{
    mcp_json_iterator it = mcp_json_each(marked);
    const char *mark, *text;
    char *end = NULL;
    unsigned char *bytes;
    sqlite3_int64 integer;
    size_t length = 0;
    double real;
    int rc = SQLITE_MISMATCH;

    if (mcp_json_count(marked) != 1 || !mcp_json_next(&it))
        return rc;
    mark = mcp_json_string(it.key, "");
    text = mcp_json_string(it.value, "");
    if (strcmp(mark, "integer") == 0) {
        errno = 0;
        integer = strtoll(text, &end, 10);
        return *text && !*end && !errno ? sqlite3_bind_int64(statement, i, integer)
                                        : rc;
    }
    if (strcmp(mark, "real") == 0) {
        real = strtod(text, &end);
        return *text && !*end ? sqlite3_bind_double(statement, i, real) : rc;
    }
    bytes = base64_decode(text, mcp_json_string_length(it.value), &length);
    if (bytes && strcmp(mark, "blob_base64") == 0)
        rc = sqlite3_bind_blob64(statement, i, bytes, length, SQLITE_TRANSIENT);
    else if (bytes && strcmp(mark, "text_base64") == 0)
        rc = sqlite3_bind_text64(statement, i, (char *)bytes, length, SQLITE_TRANSIENT,
                                 SQLITE_UTF8);
    free(bytes);
    return rc;
}

static int
value_bind(sqlite3_stmt *statement, int i, const mcp_json *value)
{
    int64_t integer = 0;

    switch (mcp_json_get_type(value)) {
    case MCP_JSON_NULL:
        return sqlite3_bind_null(statement, i);
    case MCP_JSON_BOOL:
        return sqlite3_bind_int(statement, i, mcp_json_bool(value, false));
    case MCP_JSON_INTEGER:
        if (mcp_json_to_int64(value, &integer) < 0)
            return SQLITE_MISMATCH;
        return sqlite3_bind_int64(statement, i, integer);
    case MCP_JSON_REAL:
        return sqlite3_bind_double(statement, i, mcp_json_number(value, 0));
    case MCP_JSON_STRING:
        return sqlite3_bind_text64(statement, i, mcp_json_string(value, ""),
                                   mcp_json_string_length(value), SQLITE_STATIC,
                                   SQLITE_UTF8);
    case MCP_JSON_OBJECT:
        return marked_bind(statement, i, value);
    default:
        return SQLITE_MISMATCH;
    }
}

bool
parameters_bind(struct connection *c, sqlite3_stmt *statement,
                const mcp_json *parameters)
{
    enum mcp_json_type type = mcp_json_get_type(parameters);
    int count = sqlite3_bind_parameter_count(statement);
    size_t given = mcp_json_count(parameters);

    if (parameters && type != MCP_JSON_ARRAY && type != MCP_JSON_OBJECT)
        return connection_fault(c, "parameters is neither an array nor an object");
    if (given > (size_t)count || (type != MCP_JSON_OBJECT && given < (size_t)count))
        return connection_fault(c, "the statement has %d parameters, %d were given",
                                count, (int)given);
    for (int i = 1; i <= count; i++) {
        const char *name = sqlite3_bind_parameter_name(statement, i); /* with its : */
        const mcp_json *value = mcp_json_at(parameters, (size_t)i - 1);
        int rc;

        if (type == MCP_JSON_OBJECT && name)
            value = mcp_json_get(parameters, name + 1);
        if (!value)
            return connection_fault(c, "parameter %d (%s) has no value", i,
                                    name ? name : "without a name");
        rc = value_bind(statement, i, value);
        if (rc == SQLITE_MISMATCH)
            return connection_fault(c, "parameter %d is nothing that SQLite can hold",
                                    i);
        if (rc != SQLITE_OK)
            return false;
    }
    return true;
}

/* ---- pages ------------------------------------------------------------------------- */

/* FNV-1a: it need not withstand anybody, since a forged cursor only spoils its owner's
 * pages. */
static uint64_t
digest_add(uint64_t digest, const void *bytes, size_t length)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < length; i++)
        digest = (digest ^ at[i]) * UINT64_C(0x100000001b3);
    return digest;
}

static uint64_t
digest_add_row(uint64_t digest, sqlite3_stmt *row)
{
    for (int i = 0; i < sqlite3_column_count(row); i++) {
        int type = sqlite3_column_type(row, i);
        double real = type == SQLITE_FLOAT ? sqlite3_column_double(row, i) : 0;
        int64_t integer = type == SQLITE_INTEGER ? sqlite3_column_int64(row, i) : 0;
        const void *bytes = "";
        size_t length = 0;

        if (type == SQLITE_TEXT || type == SQLITE_BLOB)
            bytes = value_bytes(row, i, &length);
        digest = digest_add(digest, &type, sizeof(type));
        digest = digest_add(digest, &real, sizeof(real));
        digest = digest_add(digest, &integer, sizeof(integer));
        digest = digest_add(digest, &length, sizeof(length));
        digest = digest_add(digest, bytes, length);
    }
    return digest;
}

/* Pass over the rows that were given before. */
static bool
page_skip(struct connection *c, struct page *page, uint64_t offset, uint64_t digest)
{
    int rc = SQLITE_ROW;

    while (page->offset < offset && rc == SQLITE_ROW) {
        rc = sqlite3_step(page->statement);
        if (rc == SQLITE_ROW)
            page->digest = digest_add_row(page->digest, page->statement);
        page->offset++;
    }
    if (rc != SQLITE_ROW && rc != SQLITE_DONE)
        return false;
    if (rc == SQLITE_DONE || page->digest != digest)
        return connection_fault(c, "the rows before this cursor have changed: "
                                   "begin again without a cursor");
    return true;
}

/* Three numbers of 16 hexadecimal digits each. */
static bool
cursor_read(const char *cursor, uint64_t numbers[3])
{
    char digits_of[17];

    if (strlen(cursor) != 48 || strspn(cursor, "0123456789abcdef") != 48)
        return false;
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(digits_of, sizeof(digits_of), "%s", cursor + 16 * i);
        numbers[i] = strtoull(digits_of, NULL, 16);
    }
    return true;
}

bool
page_begin(struct connection *c, struct page *page, const char *cursor)
{
    char *sql = sqlite3_expanded_sql(page->statement); /* with its parameters */
    uint64_t from[3];                                  /* query, offset, digest */

    if (!sql)
        return connection_fault(c, "the parameters are too long");
    page->query = digest_add(UINT64_C(0xcbf29ce484222325), sql, strlen(sql));
    page->digest = page->query;
    page->offset = 0;
    sqlite3_free(sql);
    if (!cursor)
        return true;
    if (!cursor_read(cursor, from))
        return connection_fault(c, "this is no cursor of this server");
    if (from[0] != page->query)
        return connection_fault(c, "this cursor is of another query: give the sql and "
                                   "the parameters that it came from");
    return page_skip(c, page, from[1], from[2]);
}

/* The row as a JSON array on a line of its own, if there is room for it. */
static bool
page_add(struct page *page, mcp_builder *b, sqlite3_str *text, bool is_first,
         size_t *left)
{
    const char *line;
    size_t length = 0;

    if (row_bytes(page->statement) > *left)
        return false;
    mcp_builder_reset(b);
    mcp_builder_begin_array(b, NULL);
    for (int i = 0; i < sqlite3_column_count(page->statement); i++)
        value_write(b, NULL, page->statement, i);
    mcp_builder_end(b);
    line = mcp_builder_text(b, &length);
    if (!line || length + 2 > *left)
        return false;
    sqlite3_str_appendall(text, is_first ? "\n" : ",\n");
    sqlite3_str_append(text, line, (int)length);
    *left -= length + 2;
    page->digest = digest_add_row(page->digest, page->statement);
    page->offset++;
    return true;
}

/* The names of the columns; what they take is missing for rows. */
static bool
columns_write(struct connection *c, struct page *page, mcp_builder *b,
              sqlite3_str *text, size_t *left)
{
    const char *name, *line;
    size_t bytes = 0, length = 0;

    mcp_builder_begin_array(b, NULL);
    for (int i = 0; i < sqlite3_column_count(page->statement); i++) {
        name = sqlite3_column_name(page->statement, i);
        if (!name)
            return connection_fault(c, "out of memory");
        bytes += strlen(name);
        if (bytes <= *left)
            text_write(b, NULL, name, strlen(name));
    }
    mcp_builder_end(b);
    line = mcp_builder_text(b, &length);
    if (!line)
        return connection_fault(c, "out of memory");
    if (bytes > *left || length > *left)
        return connection_fault(c,
                                "the names of the columns are longer than %d bytes: "
                                "give them others, with AS",
                                RESULT_BYTES);
    *left -= length;
    sqlite3_str_appendf(text, "\"columns\":%s,\n\"rows\":[", line);
    return true;
}

bool
page_write(struct connection *c, struct page *page, sqlite3_str *text)
{
    mcp_builder *b = mcp_builder_new(NULL);
    size_t left = RESULT_BYTES;
    int64_t rows = 0;
    int rc;

    if (!columns_write(c, page, b, text, &left)) {
        mcp_builder_free(b);
        return false;
    }
    rc = sqlite3_step(page->statement);
    while (rc == SQLITE_ROW && rows < page->limit &&
           page_add(page, b, text, rows == 0, &left)) {
        rows++;
        rc = sqlite3_step(page->statement);
    }
    mcp_builder_free(b);
    sqlite3_str_appendall(text, "\n]");
    page->is_last = rc == SQLITE_DONE;
    if (rc == SQLITE_ROW && rows == 0)
        return connection_fault(c,
                                "a row is longer than %d bytes: select less of it, "
                                "with substr() for example",
                                RESULT_BYTES);
    return rc == SQLITE_DONE || rc == SQLITE_ROW;
}

void
page_write_cursor(const struct page *page, sqlite3_str *text)
{
    if (!page->is_last)
        sqlite3_str_appendf(text, ",\n\"cursor\":\"%016llx%016llx%016llx\"",
                            (unsigned long long)page->query,
                            (unsigned long long)page->offset,
                            (unsigned long long)page->digest);
}

/* ---- rows as objects --------------------------------------------------------------- */

bool
rows_write(struct connection *c, mcp_builder *b, const char *key, const char *sql,
           const char *first)
{
    sqlite3_stmt *row = connection_prepare(c, MAY_ALL, sql);
    size_t bytes = 0;
    int rc;

    if (!row)
        return false;
    if (first)
        (void)sqlite3_bind_text(row, 1, first, -1, SQLITE_STATIC);
    mcp_builder_begin_array(b, key);
    for (rc = sqlite3_step(row); rc == SQLITE_ROW; rc = sqlite3_step(row)) {
        bytes += row_bytes(row);
        if (bytes > RESULT_BYTES)
            break;
        mcp_builder_begin_object(b, NULL);
        for (int i = 0; i < sqlite3_column_count(row); i++)
            value_write(b, sqlite3_column_name(row, i), row, i);
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
    sqlite3_finalize(row);
    if (rc == SQLITE_ROW)
        return connection_fault(c, "this is longer than %d bytes: ask for less",
                                RESULT_BYTES);
    return rc == SQLITE_DONE;
}
