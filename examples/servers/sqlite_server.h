/*
 * sqlite_server.h - what the files of sqlite-server share
 *
 *     sqlite_server.c      the command line, and what is offered
 *     sqlite_connection.c  connections, and how a cancel reaches a statement
 *     sqlite_memory.c      how much memory each connection may have
 *     sqlite_functions.c   functions of SQL that a cancel would not reach
 *     sqlite_rows.c        values and pages of rows as JSON, parameters
 *     sqlite_tables.c      tables: as resources, their schema, completion, the prompt
 *     gate.c               how it is reached, and by whom
 */
#ifndef SQLITE_SERVER_H
#define SQLITE_SERVER_H

#include <pthread.h>
#include <sqlite3.h>

#include <mcp/http.h>
#include <mcp/uri_template.h>

enum {
    WORKERS = 16,       /* requests that run at once, each on a connection */
    ROWS_DEFAULT = 100, /* rows on a page */
    ROWS_MAX = 1000,
    RESULT_BYTES = 1 << 20, /* of one result: what a model can still read */
};

/* What listed tables have as URI, and what reads any page of any table. */
#define TABLE_URI "sqlite://main/{table}{?offset}"

/* Texts in order. */
struct names {
    char **items;
    size_t count;
};

struct database {
    const char *path;
    bool is_writable;
    int64_t busy_ms; /* how long a statement waits for the lock of the database */
    mcp_server *server;
    mcp_uri_template *table_uri;
    pthread_mutex_t lock;
    struct connection *idle; /* under lock */
    size_t idle_count;       /* under lock */
    struct names tables;     /* under lock; those that are listed as resources */
    int64_t tables_version;  /* under lock; of the schema that they are from */
};

/* What a statement may do. */
enum permission {
    MAY_READ,  /* of a client: nothing but reading this database */
    MAY_WRITE, /* of a client: also changes, but nothing that outlives its transaction */
    MAY_ALL,   /* of ours */
};

/* A connection to the database; one request has it at a time. */
struct connection {
    struct connection *next;
    struct database *database;
    sqlite3 *db;
    sqlite3 *plain;      /* of sqlite_functions.c */
    sqlite3_stmt *patch; /* of plain */
    enum permission may;
    mcp_request *req;
    mcp_cancel_hook *hook;
    double steps;          /* of SQLite's machine, for this request */
    int64_t told_ms;       /* when progress was last told */
    int64_t busy_since_ms; /* it waits for the lock */
    char *fault;           /* what went wrong in our words; NULL: SQLite knows */
    struct names touched;  /* tables that the statement writes to */
    int64_t memory;        /* bytes; of sqlite_memory.c */
};

/* ---- sqlite_connection.c ----------------------------------------------------------- */

/* A handler that needs the database: of kind `run`, with a job as its user. The job gets
 * a connection of its own, with no transaction open; what it leaves open is rolled back. */
struct job {
    int (*run)(struct connection *c, mcp_request *req, mcp_result *out);
};
int job_run(mcp_request *req, mcp_result *out, void *user);

/* Take a connection, for a request or for none. NULL: *ret_why, which was NULL, says why,
 * to be freed with sqlite3_free; or still is, for want of memory. */
struct connection *connection_take(struct database *database, mcp_request *req,
                                   char **ret_why);
void connection_give(struct connection *c);
void database_close(struct database *database);

/* Note what went wrong, and return false. */
bool connection_fault(struct connection *c, const char *format, ...) MCP_PRINTF(2, 3);

/* Answer with what went wrong, and return the handler's status. */
int connection_fail(struct connection *c, mcp_result *out);

/* Compile the one statement that sql is; NULL: it is not one, or not allowed. */
sqlite3_stmt *connection_prepare(struct connection *c, enum permission may,
                                 const char *sql);

/* Run a statement of ours that has no rows. */
bool connection_run(struct connection *c, const char *sql);

/* What SQLite sorts and collects goes to files from here on until the connection is given
 * back, and not to memory: for a statement that may fill the disk anyway. */
bool connection_use_files(struct connection *c);

bool names_add(struct names *names, const char *text);
void names_clear(struct names *names);

/* ---- sqlite_memory.c --------------------------------------------------------------- */

/* Before SQLite is used. */
bool memory_bound(void);

/* From here on what SQLite allocates on this thread is on that connection's account;
 * NULL: on nobody's. */
void memory_charge(struct connection *c);

/* It is closed, and has nothing any more. */
void memory_close(struct connection *c);

/* Has it more than it should keep while nobody uses it? */
bool memory_is_high(const struct connection *c);

/* ---- sqlite_functions.c ------------------------------------------------------------ */

/* Put ours in the place of SQLite's. */
bool functions_add(struct connection *c);

/* ---- sqlite_rows.c ----------------------------------------------------------------- */

/* Bind an array by position, or an object by name; NULL: none. Borrows the values. */
bool parameters_bind(struct connection *c, sqlite3_stmt *statement,
                     const mcp_json *parameters);

/* Write all rows as an array of objects, as member `key`. first, if it is not NULL, is
 * the statement's parameter. */
bool rows_write(struct connection *c, mcp_builder *b, const char *key, const char *sql,
                const char *first);

/* Some rows of a result. */
struct page {
    sqlite3_stmt *statement;
    int64_t limit;
    uint64_t query;  /* digest of the statement with its parameters */
    uint64_t offset; /* rows before the next page */
    uint64_t digest; /* of these rows */
    bool is_last;
};

/* Go to where the page begins: a cursor, or NULL for the first. */
bool page_begin(struct connection *c, struct page *page, const char *cursor);

/* Write its rows, as members "columns" and "rows" of an object. */
bool page_write(struct connection *c, struct page *page, sqlite3_str *text);

/* Write where the next page begins, unless this is the last, as member "cursor". */
void page_write_cursor(const struct page *page, sqlite3_str *text);

/* ---- sqlite_tables.c --------------------------------------------------------------- */

/* List the tables that there are now as resources; clients are told of changes. */
bool tables_follow(struct connection *c);

/* The file is another one now, whose schema may have any version. */
void tables_forget(struct database *database);

/* Clients that watch the tables which the last statement has written to are told. */
void tables_updated(struct connection *c);

int tables_schema(struct connection *c, mcp_request *req, mcp_result *out);
int tables_read(struct connection *c, mcp_request *req, mcp_result *out);
int tables_explore(struct connection *c, mcp_request *req, mcp_result *out);
int tables_complete(mcp_request *req, mcp_result *out, void *user);

#endif
