/*
 * sqlite_functions.c - functions of SQL that a cancel would not reach
 *
 * SQLite looks for an interrupt between the steps of a statement, never inside a function.
 * Its own instr, replace, trim and json_patch need time as the product of two lengths,
 * which is an hour for values of some megabytes. These here give the same results: instr
 * and replace in time as the sum of the lengths; trim looks for a cancel at each
 * character; and json_patch, which is SQLite's own behind a guard, refuses what is too
 * long.
 */
#include "sqlite_server.h"

#include <string.h>

#define PATCH_PRODUCT (INT64_C(1) << 32) /* of two lengths; takes about a second */

#ifndef SQLITE_RESULT_SUBTYPE /* from 3.45 on */
#define SQLITE_RESULT_SUBTYPE 0
#endif

/* A value as SQLite sees it. */
struct piece {
    const unsigned char *bytes;
    size_t length;
};

/* Has the request of this statement ended? Then so does the statement. */
static bool
is_over(sqlite3_context *context)
{
    const struct connection *c = sqlite3_user_data(context);

    if (!c->req || !mcp_request_is_canceled(c->req))
        return false;
    sqlite3_result_error_code(context, SQLITE_INTERRUPT);
    return true;
}

/* False: it is NULL, or there is no memory. */
static bool
text_of(sqlite3_value *value, struct piece *ret_text)
{
    ret_text->bytes = sqlite3_value_text(value);
    ret_text->length = (size_t)sqlite3_value_bytes(value);
    return ret_text->bytes != NULL;
}

/* The first place of `part` in the rest of `whole`; NULL: there is none. */
static const unsigned char *
find(const struct piece *whole, size_t from, const struct piece *part)
{
    return memmem(whole->bytes + from, whole->length - from, part->bytes, part->length);
}

/* ---- instr ------------------------------------------------------------------------- */

/* Does a character go on with this byte? */
static bool
is_inner(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

/* Counts bytes. */
static int
blob_find(const struct piece *whole, const struct piece *part)
{
    const unsigned char *found = find(whole, 0, part);

    return found ? (int)(found - whole->bytes) + 1 : 0;
}

/* Counts characters. What begins inside of one is found at the very start only. */
static int
text_find(const struct piece *whole, const struct piece *part)
{
    const unsigned char *found;
    int count = 1;

    if (is_inner(part->bytes[0]))
        return whole->length >= part->length &&
               memcmp(whole->bytes, part->bytes, part->length) == 0;
    found = find(whole, 0, part);
    for (const unsigned char *at = whole->bytes + 1; found && at <= found; at++)
        count += !is_inner(*at);
    return found ? count : 0;
}

/* One of them is a blob and the other is not: copies are compared as texts, since what is
 * read as text does not stay the blob that it was. */
static void
instr_mixed(sqlite3_context *context, sqlite3_value **values)
{
    sqlite3_value *first = sqlite3_value_dup(values[0]);
    sqlite3_value *second = sqlite3_value_dup(values[1]);
    struct piece whole, part;

    if (!first || !second || !text_of(first, &whole) || !text_of(second, &part))
        sqlite3_result_error_nomem(context);
    else
        sqlite3_result_int(context, part.length > 0 ? text_find(&whole, &part) : 1);
    sqlite3_value_free(first);
    sqlite3_value_free(second);
}

static void
instr(sqlite3_context *context, int count, sqlite3_value **values)
{
    bool first_is_blob = sqlite3_value_type(values[0]) == SQLITE_BLOB;
    bool second_is_blob = sqlite3_value_type(values[1]) == SQLITE_BLOB;
    struct piece whole, part;

    (void)count;
    if (sqlite3_value_type(values[0]) == SQLITE_NULL ||
        sqlite3_value_type(values[1]) == SQLITE_NULL || is_over(context))
        return;
    if (sqlite3_value_bytes(values[1]) == 0) {
        sqlite3_result_int(context, 1);
    } else if (first_is_blob && second_is_blob) {
        whole.bytes = sqlite3_value_blob(values[0]);
        whole.length = (size_t)sqlite3_value_bytes(values[0]);
        part.bytes = sqlite3_value_blob(values[1]);
        part.length = (size_t)sqlite3_value_bytes(values[1]);
        sqlite3_result_int(context, whole.length > 0 ? blob_find(&whole, &part) : 0);
    } else if (first_is_blob || second_is_blob) {
        instr_mixed(context, values);
    } else if (text_of(values[0], &whole) && text_of(values[1], &part)) {
        sqlite3_result_int(context, text_find(&whole, &part));
    } else {
        sqlite3_result_error_nomem(context);
    }
}

/* ---- replace ----------------------------------------------------------------------- */

/* How long it becomes; more than `most`: it is too long, or a cancel has come. */
static size_t
replaced_length(sqlite3_context *context, const struct piece *whole,
                const struct piece *part, const struct piece *with, size_t most)
{
    const unsigned char *found = find(whole, 0, part);
    size_t length = whole->length;

    while (found && length <= most && !is_over(context)) {
        length = length - part->length + with->length;
        found = find(whole, (size_t)(found - whole->bytes) + part->length, part);
    }
    return found ? most + 1 : length;
}

/* False: a cancel has come. */
static bool
replace_into(sqlite3_context *context, unsigned char *to, const struct piece *whole,
             const struct piece *part, const struct piece *with)
{
    const unsigned char *found = find(whole, 0, part);
    size_t from = 0, at;

    while (found && !is_over(context)) {
        at = (size_t)(found - whole->bytes);
        memcpy(to, whole->bytes + from, at - from);
        to += at - from;
        memcpy(to, with->bytes, with->length);
        to += with->length;
        from = at + part->length;
        found = find(whole, from, part);
    }
    if (found)
        return false;
    memcpy(to, whole->bytes + from, whole->length - from);
    return true;
}

static void
replace(sqlite3_context *context, int count, sqlite3_value **values)
{
    int most = sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH,
                             -1);
    struct piece whole, part, with;
    unsigned char *made;
    size_t length;

    (void)count;
    if (!text_of(values[0], &whole) || !text_of(values[1], &part) || is_over(context))
        return;
    if (!part.bytes[0]) { /* empty, or for SQLite as good as that */
        sqlite3_result_text(context, (const char *)whole.bytes, (int)whole.length,
                            SQLITE_TRANSIENT);
        return;
    }
    if (!text_of(values[2], &with))
        return;
    length = replaced_length(context, &whole, &part, &with, (size_t)most);
    if (length > (size_t)most) {
        if (!is_over(context))
            sqlite3_result_error_toobig(context);
        return;
    }
    made = sqlite3_malloc64(length + 1);
    if (!made) {
        sqlite3_result_error_nomem(context);
        return;
    }
    made[length] = '\0';
    if (replace_into(context, made, &whole, &part, &with))
        sqlite3_result_text(context, (char *)made, (int)length, sqlite3_free);
    else
        sqlite3_free(made);
}

/* ---- trim -------------------------------------------------------------------------- */

/* Bytes of the character that is there, in a text that ends with 0. */
static size_t
character_length(const unsigned char *at)
{
    size_t length = 1;

    while (*at >= 0xc0 && is_inner(at[length]))
        length++;
    return length;
}

/* Bytes of the first of these characters that the text begins with, or ends with; 0: it
 * is none of them. */
static size_t
trim_one(const struct piece *text, const unsigned char *characters, bool at_end)
{
    size_t length;

    for (; *characters; characters += length) {
        length = character_length(characters);
        if (length <= text->length &&
            memcmp(text->bytes + (at_end ? text->length - length : 0), characters,
                   length) == 0)
            return length;
    }
    return 0;
}

static void
trim_sides(sqlite3_context *context, int count, sqlite3_value **values, bool left,
           bool right)
{
    struct piece text, characters = {(const unsigned char *)" ", 1};
    size_t length = 1;

    if (!text_of(values[0], &text) || (count == 2 && !text_of(values[1], &characters)))
        return;
    while (left && length > 0 && !is_over(context)) {
        length = trim_one(&text, characters.bytes, false);
        text.bytes += length;
        text.length -= length;
    }
    for (length = 1; right && length > 0 && !is_over(context);) {
        length = trim_one(&text, characters.bytes, true);
        text.length -= length;
    }
    if (!is_over(context))
        sqlite3_result_text(context, (const char *)text.bytes, (int)text.length,
                            SQLITE_TRANSIENT);
}

static void
trim(sqlite3_context *context, int count, sqlite3_value **values)
{
    trim_sides(context, count, values, true, true);
}

static void
ltrim(sqlite3_context *context, int count, sqlite3_value **values)
{
    trim_sides(context, count, values, true, false);
}

static void
rtrim(sqlite3_context *context, int count, sqlite3_value **values)
{
    trim_sides(context, count, values, false, true);
}

/* ---- json_patch -------------------------------------------------------------------- */

/* A connection that knows nothing of ours, to ask SQLite itself. */
static sqlite3_stmt *
patch_statement(struct connection *c)
{
    if (!c->plain &&
        sqlite3_open_v2(":memory:", &c->plain,
                        SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) == SQLITE_OK)
        (void)sqlite3_limit(c->plain, SQLITE_LIMIT_LENGTH,
                            sqlite3_limit(c->db, SQLITE_LIMIT_LENGTH, -1));
    if (c->plain && !c->patch)
        (void)sqlite3_prepare_v2(c->plain, "SELECT json_patch(?1, ?2)", -1, &c->patch,
                                 NULL);
    return c->patch;
}

static void
json_patch(sqlite3_context *context, int count, sqlite3_value **values)
{
    struct connection *c = sqlite3_user_data(context);
    int64_t product = (int64_t)sqlite3_value_bytes(values[0]) *
                      sqlite3_value_bytes(values[1]);
    sqlite3_stmt *row;

    (void)count;
    if (is_over(context))
        return;
    if (product > PATCH_PRODUCT) {
        sqlite3_result_error_toobig(context);
        return;
    }
    row = patch_statement(c);
    if (!row) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (sqlite3_bind_value(row, 1, values[0]) != SQLITE_OK ||
        sqlite3_bind_value(row, 2, values[1]) != SQLITE_OK ||
        sqlite3_step(row) != SQLITE_ROW) {
        sqlite3_result_error(context, sqlite3_errmsg(c->plain), -1);
    } else {
        sqlite3_result_value(context, sqlite3_column_value(row, 0));
        sqlite3_result_subtype(context, 'J'); /* other functions take it as JSON */
    }
    (void)sqlite3_reset(row);
    (void)sqlite3_clear_bindings(row);
}

/* ---- all of them ------------------------------------------------------------------- */

bool
functions_add(struct connection *c)
{
    static const struct {
        const char *name;
        int count;
        void (*run)(sqlite3_context *context, int count, sqlite3_value **values);
    } functions[] = {
        {"instr", 2, instr}, {"replace", 3, replace}, {"trim", 1, trim},
        {"trim", 2, trim},   {"ltrim", 1, ltrim},     {"ltrim", 2, ltrim},
        {"rtrim", 1, rtrim}, {"rtrim", 2, rtrim},     {"json_patch", 2, json_patch},
    };
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS |
                      SQLITE_RESULT_SUBTYPE;
    int rc = SQLITE_OK;

    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
        if (rc == SQLITE_OK)
            rc = sqlite3_create_function(c->db, functions[i].name, functions[i].count,
                                         flags, c, functions[i].run, NULL, NULL);
    return rc == SQLITE_OK;
}
