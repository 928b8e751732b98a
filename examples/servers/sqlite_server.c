/*
 * sqlite_server.c - an SQLite database for a model: queries, changes, tables to read
 *
 *     sqlite-server notes.db                          over stdio, read-only
 *     sqlite-server --write --http 127.0.0.1:8080 notes.db
 *
 * A query that is canceled, or whose client leaves, stops within moments, whatever it is
 * at; what it had begun to change is rolled back.
 *
 * Each request has 8 MiB of memory that no other can take, and what it can get of 256 MiB
 * that all share, to sort and collect in; a statement that needs more fails alone. While
 * one has most of those 256, large statements of others fail too, small ones do not.
 *
 * On a port, everybody who can reach it can use the database. With SQLITE_SERVER_TOKEN in
 * the environment each request must have it as bearer token; without, only an address of
 * loopback is served.
 */
#include "sqlite_server.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gate.h"

#define TOKEN "SQLITE_SERVER_TOKEN"

/* ---- query ------------------------------------------------------------------------- */

struct query_args {
    const char *sql, *cursor;
    const mcp_json *parameters;
    int64_t limit;
};

#define PARAMETERS                                                                   \
    "values for the statement's parameters: an array for ?, or an object of names "  \
    "for "                                                                           \
    ":name, @name and $name. null, true, false, numbers, texts, or an object as in " \
    "rows"

static const mcp_field query_fields[] = {
    MCP_FIELD(struct query_args, sql, MCP_STRING, MCP_REQUIRED,
              "one SQL statement that reads"),
    MCP_FIELD(struct query_args, parameters, MCP_JSON, 0, PARAMETERS),
    MCP_FIELD_WITH(struct query_args, limit, MCP_INT, 0, "rows on a page",
                   MCP_MINIMUM(1), MCP_MAXIMUM(ROWS_MAX),
                   MCP_DEFAULT_INT(ROWS_DEFAULT)),
    MCP_FIELD(
        struct query_args, cursor, MCP_STRING, 0,
        "of the page before, with the same sql and parameters: gives the next page"),
    {0},
};

static const char query_output[] =
    "{\"type\":\"object\",\"required\":[\"columns\",\"rows\"],\"properties\":{"
    "\"columns\":{\"type\":\"array\",\"items\":{\"type\":[\"string\",\"object\"]}},"
    "\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"array\"},"
    "\"description\":\"What JSON cannot hold is an object of one member: "
    "{integer: digits} beyond 2^53, {real: Infinity or -Infinity}, "
    "{blob_base64: bytes}, {text_base64: text that is not UTF-8}\"},"
    "\"cursor\":{\"type\":\"string\","
    "\"description\":\"There are more rows: give it for the next page\"}}}";

/* The text is JSON with a row on each line: for models to read, and for programs. */
static int
finish(sqlite3_str *text, mcp_result *out)
{
    char *whole = sqlite3_str_finish(text);
    int r = MCP_E_NOMEM;

    if (whole) {
        mcp_result_text(out, whole);
        r = mcp_result_json(out, whole, strlen(whole));
    }
    sqlite3_free(whole);
    return r;
}

static int
query(struct connection *c, mcp_request *req, mcp_result *out)
{
    struct query_args args;
    struct page page = {0};
    sqlite3_str *text;
    bool is_good;
    int r;

    r = mcp_request_bind(req, &args);
    if (r < 0)
        return r;
    text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, "{");
    page.limit = args.limit;
    page.statement = connection_prepare(c, MAY_READ, args.sql);
    is_good = page.statement && parameters_bind(c, page.statement, args.parameters) &&
              page_begin(c, &page, args.cursor) && page_write(c, &page, text);
    sqlite3_finalize(page.statement);
    if (is_good) {
        page_write_cursor(&page, text);
        sqlite3_str_appendall(text, "}");
        return finish(text, out);
    }
    sqlite3_free(sqlite3_str_finish(text));
    return connection_fail(c, out);
}

/* ---- execute ----------------------------------------------------------------------- */

struct execute_args {
    const char *sql;
    const mcp_json *parameters;
};

static const mcp_field execute_fields[] = {
    MCP_FIELD(struct execute_args, sql, MCP_STRING, MCP_REQUIRED,
              "one SQL statement; it is a transaction of its own"),
    MCP_FIELD(struct execute_args, parameters, MCP_JSON, 0, PARAMETERS),
    {0},
};

static const char execute_output[] =
    "{\"type\":\"object\",\"required\":[\"changes\"],\"properties\":{"
    "\"changes\":{\"type\":\"integer\","
    "\"description\":\"Rows that the statement itself inserted, updated or deleted\"},"
    "\"last_row_id\":{\"type\":\"integer\","
    "\"description\":\"Of the last row inserted\"},"
    "\"columns\":{\"type\":\"array\",\"items\":{\"type\":[\"string\",\"object\"]}},"
    "\"rows\":{\"type\":\"array\",\"items\":{\"type\":\"array\"},"
    "\"description\":\"What RETURNING gives, as the rows of query\"},"
    "\"truncated\":{\"type\":\"boolean\","
    "\"description\":\"There were more rows\"}}}";

/* The statement, in the transaction that is open. */
static bool
execute_statement(struct connection *c, const struct execute_args *args,
                  sqlite3_str *text)
{
    sqlite3_int64 before = sqlite3_total_changes64(c->db);
    struct page page = {.limit = ROWS_MAX, .is_last = true};
    bool is_good, has_changed;

    sqlite3_set_last_insert_rowid(c->db, 0);
    page.statement = connection_prepare(c, MAY_WRITE, args->sql);
    is_good = page.statement && parameters_bind(c, page.statement, args->parameters);
    if (is_good && sqlite3_column_count(page.statement) > 0) {
        is_good = page_write(c, &page, text);
        sqlite3_str_appendf(text, ",\n\"truncated\":%s,\n",
                            page.is_last ? "false" : "true");
    } else if (is_good) {
        is_good = sqlite3_step(page.statement) == SQLITE_DONE;
    }
    sqlite3_finalize(page.statement);
    has_changed = sqlite3_total_changes64(c->db) != before;
    sqlite3_str_appendf(text, "\"changes\":%lld",
                        has_changed ? sqlite3_changes64(c->db) : 0);
    if (sqlite3_last_insert_rowid(c->db) != 0)
        sqlite3_str_appendf(text, ",\"last_row_id\":%lld",
                            sqlite3_last_insert_rowid(c->db));
    return is_good;
}

/* What is not committed when this returns is rolled back when the connection is given
 * back. The lock is taken at the start, so that two writers cannot wait for each other. */
static int
execute(struct connection *c, mcp_request *req, mcp_result *out)
{
    struct execute_args args;
    sqlite3_str *text;
    int r;

    r = mcp_request_bind(req, &args);
    if (r < 0)
        return r;
    text = sqlite3_str_new(NULL);
    sqlite3_str_appendall(text, "{");
    if (connection_use_files(c) && connection_run(c, "BEGIN IMMEDIATE") &&
        execute_statement(c, &args, text) && !mcp_request_is_canceled(req) &&
        connection_run(c, "COMMIT")) {
        tables_updated(c);
        sqlite3_str_appendall(text, "}");
        return finish(text, out);
    }
    sqlite3_free(sqlite3_str_finish(text));
    return connection_fail(c, out);
}

/* ---- what is offered --------------------------------------------------------------- */

struct schema_args {
    const char *table;
};

static const mcp_field schema_fields[] = {
    MCP_FIELD(struct schema_args, table, MCP_STRING, 0,
              "one table or view, in detail; else an overview of all"),
    {0},
};

static const mcp_prompt_argument explore_arguments[] = {
    {.name = "table", .description = "which table", .required = true},
    {.name = "question", .description = "what you want to know about it"},
    {0},
};

static struct job query_job = {query}, execute_job = {execute},
                  schema_job = {tables_schema}, read_job = {tables_read},
                  explore_job = {tables_explore};

static int
add_tools(struct database *database, mcp_error *err)
{
    const unsigned reads = MCP_READ_ONLY | MCP_IDEMPOTENT | MCP_CLOSED_WORLD;
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "query", .title = "Query",
                 .description =
                     "Read from the database with one SQL statement (SQLite). "
                     "Rows come in pages.",
                 .fields = query_fields, .output_schema = query_output, .hints = reads,
                 .run = job_run, .user = &query_job),
        MCP_TOOL(.name = "schema", .title = "Schema",
                 .description = "The tables and views of the database, or one of them "
                                "with its columns, indexes and foreign keys.",
                 .fields = schema_fields, .hints = reads, .run = job_run,
                 .user = &schema_job),
        MCP_TOOL(.name = "execute", .title = "Execute",
                 .description =
                     "Change the database with one SQL statement (SQLite). It "
                     "happens as a whole or not at all.",
                 .fields = execute_fields, .output_schema = execute_output,
                 .hints = MCP_CLOSED_WORLD, .run = job_run, .user = &execute_job),
    };
    size_t count = database->is_writable ? 3 : 2;
    int r = 0;

    for (size_t i = 0; r == 0 && i < count; i++)
        r = mcp_server_add_tool(database->server, &tools[i], err);
    return r;
}

static int
add_all(struct database *database, mcp_error *err)
{
    const mcp_handler complete = {.reply = tables_complete};
    const mcp_template page = MCP_TEMPLATE(
            .uri_template = TABLE_URI, .name = "table", .title = "Rows of a table",
            .description = "A table's schema and rows, from the row `offset` on",
            .mime_type = "application/json", .complete = complete, .run = job_run,
            .user = &read_job);
    const mcp_prompt explore = MCP_PROMPT(
            .name = "explore", .title = "Explore a table",
            .description = "Find out what is in a table, or answer a question about it",
            .arguments = explore_arguments, .complete = complete, .run = job_run,
            .user = &explore_job);
    int r = add_tools(database, err);

    if (r == 0)
        r = mcp_server_add_template(database->server, &page, err);
    if (r == 0)
        r = mcp_server_add_prompt(database->server, &explore, err);
    return r;
}

/* Open the database once, so that a wrong file is found before anybody asks. */
static int
list_tables(struct database *database, mcp_error *err)
{
    char *why = NULL;
    struct connection *c = connection_take(database, NULL, &why);
    bool is_good = c && tables_follow(c);

    if (!is_good)
        (void)snprintf(err->message, sizeof(err->message), "%s: %s", database->path,
                       c     ? sqlite3_errmsg(c->db)
                       : why ? why
                             : "out of memory");
    if (c)
        connection_give(c);
    sqlite3_free(why);
    return is_good ? 0 : MCP_E_INVAL;
}

/* ---- the command line -------------------------------------------------------------- */

struct choice {
    struct gate gate;
    int64_t limit_ms, lock_ms;
};

static const char usage[] =
    "usage: sqlite-server [--write] [--http HOST:PORT] [--limit SECONDS]\n"
    "                     [--lock SECONDS] FILE\n"
    "\n"
    "Serves the SQLite database FILE by the Model Context Protocol, over stdin and\n"
    "stdout. Nothing in it can be changed, and no other file can be reached.\n"
    "\n"
    "  --write           allow changes too; FILE is made if it does not exist\n"
    "  --http HOST:PORT  serve HTTP there instead; port 0 is any that is free. "
    "With\n"
    "                    " TOKEN " in the environment it is needed as\n"
    "                    bearer token; without, only loopback is served\n"
    "  --limit SECONDS   longest time of a request (default 300; 0: none)\n"
    "  --lock SECONDS    longest wait for the lock of the database (default 10), or\n"
    "                    half of the limit\n"
    "  --help            this text\n";

static bool
read_limit(const char *text, int64_t *ret_ms)
{
    char *end = NULL;
    double seconds = strtod(text, &end);

    if (!*text || *end || !(seconds >= 0 && seconds < 1e9))
        return false;
    *ret_ms = (int64_t)(seconds * 1000);
    return true;
}

/* How long to wait for the lock of the database: there must be time left to say so. */
static int64_t
busy_ms(const struct choice *choice)
{
    int64_t half = choice->limit_ms / 2;

    return half > 0 && half < choice->lock_ms ? half : choice->lock_ms;
}

static bool
read_command_line(int argc, char **argv, struct choice *choice,
                  struct database *database)
{
    static const struct option options[] = {
        {"write", no_argument, NULL, 'w'},       {"http", required_argument, NULL, 'p'},
        {"limit", required_argument, NULL, 'l'}, {"lock", required_argument, NULL, 'k'},
        {"help", no_argument, NULL, 'h'},        {0}};
    bool is_good = true;
    int option;

    for (;;) {
        option = getopt_long(argc, argv, "", options, NULL);
        if (option == -1)
            break;
        switch (option) {
        case 'w':
            database->is_writable = true;
            break;
        case 'p':
            is_good = is_good && gate_read_address(&choice->gate, optarg);
            break;
        case 'l':
            is_good = is_good && read_limit(optarg, &choice->limit_ms);
            break;
        case 'k':
            is_good = is_good && read_limit(optarg, &choice->lock_ms);
            break;
        case 'h':
            fputs(usage, stdout);
            exit(0);
        default:
            is_good = false;
        }
    }
    database->path = argv[optind];
    return is_good && optind + 1 == argc && *argv[optind] && *argv[optind] != ':';
}

int
main(int argc, char **argv)
{
    /* Not on the stack, nor freed: a handler that does not end in time outlives main. */
    static struct database database = {.lock = PTHREAD_MUTEX_INITIALIZER,
                                       .tables_version = -1};
    struct choice choice = {.limit_ms = 300000, .lock_ms = 10000};
    mcp_error err = {0};
    int r;

    if (!memory_bound()) {
        fprintf(stderr, "sqlite-server: cannot bound the memory of SQLite\n");
        return 1;
    }
    if (!gate_init(&choice.gate, TOKEN) ||
        !read_command_line(argc, argv, &choice, &database)) {
        fputs(usage, stderr);
        gate_done(&choice.gate);
        return 2;
    }
    database.busy_ms = busy_ms(&choice);
    r = mcp_uri_template_new(TABLE_URI, NULL, &database.table_uri, &err);
    if (r == 0)
        r = mcp_server_new(
            &MCP_SERVER_OPTIONS(
                    .name = "sqlite-server", .version = "1.0",
                    .title = "SQLite database",
                    .instructions =
                        "One SQLite database. Begin with the tool schema. "
                        "Bind values as parameters rather than writing them "
                        "into the SQL.",
                    .user = &database, .workers = WORKERS, .limit_ms = choice.limit_ms,
                    .offers = MCP_RESOURCES_CHANGED),
            &database.server, &err);
    if (r == 0)
        r = add_all(&database, &err);
    if (r == 0)
        r = list_tables(&database, &err);
    if (r == 0)
        r = gate_serve(&choice.gate, database.server, &err);
    if (r < 0)
        fprintf(stderr, "sqlite-server: %s\n", err.message);
    mcp_server_free(database.server);
    database_close(&database);
    gate_done(&choice.gate);
    return r < 0;
}
