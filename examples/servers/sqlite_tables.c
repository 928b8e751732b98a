/*
 * sqlite_tables.c - tables: as resources, their schema, completion, a prompt
 *
 * Each table and view is listed as a resource, which is its schema and its first rows; the
 * template beside them reads any page of it. The list follows the schema: after each
 * request that went well it is compared, so that tables which others make are found too.
 */
#include "sqlite_server.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not SQLite's own, and not those in which full-text search and its like keep things. */
#define TABLES                                                      \
    "pragma_table_list WHERE schema = 'main' AND type <> 'shadow' " \
    "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"

/* ---- the list ---------------------------------------------------------------------- */

/* The URI of a table's page; freed with mcp_text_free. NULL: no memory, or its name is
 * not UTF-8. */
static char *
table_uri(const struct database *database, const char *table, const char *offset)
{
    const mcp_uri_pair pairs[] = {{"table", table}, {"offset", offset}, {0}};
    char *uri = NULL;

    (void)mcp_uri_template_expand_pairs(database->table_uri, pairs, NULL, &uri, NULL,
                                        NULL);
    return uri;
}

static struct job read_job = {tables_read};

/* Add it to the resources, or take it away. */
static void
table_list(struct database *database, const char *table, bool is_new)
{
    char *uri = table_uri(database, table, NULL);

    if (uri && is_new)
        (void)mcp_server_add_resource(
            database->server,
            &MCP_RESOURCE(.uri = uri, .name = table, .mime_type = "application/json",
                          .description = "A table: its schema and its first rows",
                          .run = job_run, .user = &read_job),
            NULL);
    else if (uri)
        (void)mcp_server_remove_resource(database->server, uri);
    mcp_text_free(uri, NULL);
}

/* Both lists are in order: walk them side by side. */
static void
tables_replace(struct database *database, struct names *fresh)
{
    const struct names *old = &database->tables;
    size_t i = 0, j = 0;
    int order;

    while (i < old->count || j < fresh->count) {
        if (i == old->count)
            order = 1;
        else if (j == fresh->count)
            order = -1;
        else
            order = strcmp(old->items[i], fresh->items[j]);
        if (order < 0)
            table_list(database, old->items[i], false);
        if (order > 0)
            table_list(database, fresh->items[j], true);
        i += order <= 0;
        j += order >= 0;
    }
    names_clear(&database->tables);
    database->tables = *fresh;
    *fresh = (struct names){0};
}

static bool
tables_read_names(struct connection *c, struct names *ret_names)
{
    sqlite3_stmt *row = connection_prepare(
        c, MAY_ALL, "SELECT name FROM " TABLES " ORDER BY name COLLATE BINARY");
    bool is_good = true;
    int rc = row ? sqlite3_step(row) : SQLITE_ERROR;

    while (is_good && rc == SQLITE_ROW) {
        const char *name = (const char *)sqlite3_column_text(row, 0);
        char *uri = name ? table_uri(c->database, name, NULL) : NULL;

        if (uri) /* one that is not UTF-8 has none; queries reach it */
            is_good = names_add(ret_names, name);
        mcp_text_free(uri, NULL);
        rc = sqlite3_step(row);
    }
    sqlite3_finalize(row);
    return is_good && rc == SQLITE_DONE;
}

/* Of the schema; it rises with each change. -1: it cannot be read now. */
static int64_t
tables_version(struct connection *c)
{
    sqlite3_stmt *row = connection_prepare(c, MAY_ALL, "PRAGMA main.schema_version");
    int64_t version = -1;

    if (row && sqlite3_step(row) == SQLITE_ROW)
        version = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return version;
}

void
tables_forget(struct database *database)
{
    pthread_mutex_lock(&database->lock);
    database->tables_version = -1;
    pthread_mutex_unlock(&database->lock);
}

bool
tables_follow(struct connection *c)
{
    struct database *database = c->database;
    int64_t version = tables_version(c); /* before the names: they are not older */
    struct names fresh = {0};
    bool is_new, is_good;

    pthread_mutex_lock(&database->lock);
    is_new = version > database->tables_version;
    pthread_mutex_unlock(&database->lock);
    if (version < 0 || !is_new)
        return version >= 0;
    is_good = tables_read_names(c, &fresh);
    pthread_mutex_lock(&database->lock);
    if (is_good && version > database->tables_version) {
        tables_replace(database, &fresh);
        database->tables_version = version;
    }
    pthread_mutex_unlock(&database->lock);
    names_clear(&fresh);
    return is_good;
}

void
tables_updated(struct connection *c)
{
    for (size_t i = 0; i < c->touched.count; i++) {
        char *uri = table_uri(c->database, c->touched.items[i], NULL);

        if (uri)
            (void)mcp_server_resource_updated(c->database->server, uri);
        mcp_text_free(uri, NULL);
    }
}

/* ---- schema ------------------------------------------------------------------------ */

/* Write the schema of a table, or an overview of all. */
static bool
schema_write(struct connection *c, mcp_builder *b, const char *table)
{
    bool is_good;

    mcp_builder_begin_object(b, NULL);
    is_good = rows_write(c, b, "tables",
                         "SELECT name, type, sql FROM sqlite_schema WHERE name IN "
                         "(SELECT name FROM " TABLES ") AND type IN ('table', 'view') "
                         "AND (?1 IS NULL OR name = ?1) ORDER BY name",
                         table);
    if (is_good && table)
        is_good =
            rows_write(c, b, "columns",
                       "SELECT name, type, \"notnull\" AS not_null, dflt_value AS "
                       "\"default\", pk AS primary_key FROM pragma_table_xinfo(?1)",
                       table) &&
            rows_write(c, b, "indexes",
                       "SELECT name, \"unique\" AS is_unique, (SELECT "
                       "group_concat(ifnull(name, 'expression'), ', ') FROM "
                       "pragma_index_info(l.name)) AS columns "
                       "FROM pragma_index_list(?1) AS l",
                       table) &&
            rows_write(
                c, b, "foreign_keys",
                "SELECT \"from\" AS \"column\", \"table\" AS refers_to, \"to\" AS "
                "refers_to_column, on_delete FROM pragma_foreign_key_list(?1)",
                table);
    mcp_builder_end(b);
    return is_good;
}

/* Is there such a table? False: that cannot be said now. */
static bool
table_find(struct connection *c, const char *table, size_t length, bool *ret_exists)
{
    sqlite3_stmt *row = connection_prepare(c, MAY_ALL,
                                           "SELECT 1 FROM " TABLES " AND name = ?1");
    int rc = SQLITE_ERROR;

    if (row)
        rc = sqlite3_bind_text64(row, 1, table, length, SQLITE_STATIC, SQLITE_UTF8);
    if (rc == SQLITE_OK)
        rc = sqlite3_step(row);
    sqlite3_finalize(row);
    *ret_exists = rc == SQLITE_ROW;
    return rc == SQLITE_ROW || rc == SQLITE_DONE;
}

int
tables_schema(struct connection *c, mcp_request *req, mcp_result *out)
{
    const mcp_json *value = mcp_json_get(mcp_request_arguments(req), "table");
    const char *table = mcp_json_string(value, NULL);
    mcp_builder *b;
    const char *text;
    size_t length = mcp_json_string_length(value);
    bool exists = true;
    int r;

    if (table && !table_find(c, table, length, &exists))
        return connection_fail(c, out);
    if (!exists)
        return mcp_result_fail(out, "there is no table %s", table);
    b = mcp_builder_new(NULL);
    if (schema_write(c, b, table)) {
        text = mcp_builder_text(b, &length);
        r = text ? mcp_result_json(out, text, length) : mcp_builder_status(b);
    } else {
        r = connection_fail(c, out);
    }
    mcp_builder_free(b);
    return r;
}

/* ---- reading a table --------------------------------------------------------------- */

/* Rows of the table, from that one on, as members of an object. */
static bool
table_write_rows(struct connection *c, const char *table, int64_t offset,
                 sqlite3_str *text)
{
    char *sql = sqlite3_mprintf("SELECT * FROM main.\"%w\" LIMIT -1 OFFSET %lld", table,
                                (long long)offset);
    struct page page = {.limit = ROWS_DEFAULT};
    char next[32], *uri;
    bool is_good;

    page.statement = sql ? connection_prepare(c, MAY_READ, sql) : NULL;
    sqlite3_free(sql);
    if (!page.statement)
        return false;
    is_good = page_write(c, &page, text);
    sqlite3_finalize(page.statement);
    if (is_good && !page.is_last) {
        (void)snprintf(next, sizeof(next), "%" PRIu64, (uint64_t)offset + page.offset);
        uri = table_uri(c->database, table, next);
        sqlite3_str_appendf(text, ",\n\"next\":\"%s\"", uri ? uri : "");
        mcp_text_free(uri, NULL);
    }
    return is_good;
}

static int
table_write(struct connection *c, mcp_result *out, const char *table, int64_t offset)
{
    mcp_builder *b = mcp_builder_new(NULL);
    sqlite3_str *text = sqlite3_str_new(NULL);
    bool is_good = schema_write(c, b, table) && mcp_builder_status(b) == 0;
    char *whole;
    int r;

    if (is_good) {
        sqlite3_str_appendf(text, "{\"schema\":%s,\n", mcp_builder_text(b, NULL));
        is_good = table_write_rows(c, table, offset, text);
        sqlite3_str_appendall(text, "}");
    }
    mcp_builder_free(b);
    whole = sqlite3_str_finish(text);
    if (!is_good)
        r = connection_fail(c, out);
    else
        r = whole ? mcp_result_text(out, whole) : MCP_E_NOMEM;
    sqlite3_free(whole);
    return r;
}

/* A listed resource and what the template matches come here alike: the URI says it all. */
int
tables_read(struct connection *c, mcp_request *req, mcp_result *out)
{
    const char *uri = mcp_request_name(req);
    const mcp_json *table;
    const char *name, *from;
    mcp_doc *found = NULL;
    char *end = NULL;
    bool exists = false;
    int64_t offset;
    int r;

    r = mcp_uri_template_match(c->database->table_uri, uri, strlen(uri), &found, NULL,
                               NULL);
    if (r < 0 || !found)
        return mcp_request_not_found(req);
    table = mcp_json_get(mcp_doc_root(found), "table");
    name = mcp_json_string(table, "");
    from = mcp_json_string(mcp_json_get(mcp_doc_root(found), "offset"), "0");
    offset = strtoll(from, &end, 10);
    if (!table_find(c, name, mcp_json_string_length(table), &exists))
        r = connection_fail(c, out);
    else if (!exists || !*from || *end || offset < 0)
        r = mcp_request_not_found(req);
    else
        r = table_write(c, out, name, offset);
    mcp_doc_free(found);
    return r;
}

/* ---- completion and the prompt ----------------------------------------------------- */

/* On the loop: nothing is asked of SQLite. */
int
tables_complete(mcp_request *req, mcp_result *out, void *user)
{
    struct database *database = mcp_request_server_user(req);
    const char *typed = mcp_request_complete_value(req);
    int r = 0;

    (void)user;
    if (strcmp(mcp_request_complete_name(req), "table") != 0)
        return 0;
    pthread_mutex_lock(&database->lock);
    for (size_t i = 0; r == 0 && i < database->tables.count; i++)
        if (strncmp(database->tables.items[i], typed, strlen(typed)) == 0)
            r = mcp_result_value(out, database->tables.items[i]);
    pthread_mutex_unlock(&database->lock);
    return r;
}

int
tables_explore(struct connection *c, mcp_request *req, mcp_result *out)
{
    const char *table = mcp_request_argument(req, "table");
    const char *question = mcp_request_argument(req, "question");
    mcp_builder *b = mcp_builder_new(NULL);
    char *uri = table_uri(c->database, table, NULL);
    bool exists = false, is_good;
    int r;

    is_good = table_find(c, table, strlen(table), &exists) &&
              (!exists || schema_write(c, b, table));
    if (!is_good) {
        r = connection_fail(c, out);
    } else if (!exists) {
        r = mcp_request_fail(req, -32602, NULL, "there is no table %s", table);
    } else if (!uri || mcp_builder_status(b) < 0) {
        r = MCP_E_NOMEM;
    } else {
        if (!question)
            question = "What is in this table, and what is noteworthy about it?";
        mcp_result_textf(
            out,
            "%s\n\nThis is about the table %s of an SQLite database; its "
            "schema is below. Read rows with the tool query, and let SQLite "
            "count, group and sort rather than reading them all.",
            question, table);
        r = mcp_result_resource_text(out, uri, "application/json",
                                     mcp_builder_text(b, NULL));
    }
    mcp_text_free(uri, NULL);
    mcp_builder_free(b);
    return r;
}
