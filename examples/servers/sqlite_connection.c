/*
 * sqlite_connection.c - connections to the database, and how a cancel reaches a statement
 *
 * A request takes a connection, runs its statements on it, and gives it back. As many are
 * open as requests run, which the server bounds, and up to WORKERS are kept for the next,
 * unless the file has become another one.
 *
 * A cancel, a time limit and a client that leaves all reach a statement by four ways,
 * since each alone has a hole:
 *
 *   interrupt  sqlite3_interrupt, from the request's cancel hook, ends what runs. It does
 *              nothing to a statement that is about to begin.
 *   steps      SQLite's progress handler looks at the request every STEPS steps, so what
 *              began just after the interrupt ends too. It also tells the client how far
 *              the statement is.
 *   busy       While another connection has the lock, SQLite runs nothing. Its busy
 *              handler waits in mcp_request_sleep, which a cancel ends.
 *   functions  All that is looked at only between steps. Functions that could take hours
 *              in one are our own, in sqlite_functions.c; for the others it is the length
 *              of values that is bounded.
 *
 * The hook is taken off before the connection is rolled back and given to the next: from
 * then on no interrupt can strike it. A flag that SQLite still has from before is cleared
 * by SQLite when its next statement begins.
 */
#include "sqlite_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    STEPS = 1000,        /* some 20 microseconds */
    TELL_MS = 250,       /* between two messages of progress ... */
    TELL_FIRST_MS = 20,  /* ... but before the first */
    BUSY_MS = 20,        /* between two looks at a lock */
    STATEMENT = 1 << 20, /* bytes of SQL */
    VALUE = 4 << 20,     /* bytes of a value or a row that a statement makes */
    PATTERN = 100,       /* bytes of a pattern: LIKE takes time as VALUE times this */
};

/* ---- names ------------------------------------------------------------------------- */

bool
names_add(struct names *names, const char *text)
{
    char **more = realloc(names->items, (names->count + 1) * sizeof(*more));
    char *copy = strdup(text);

    if (more)
        names->items = more;
    if (!more || !copy) {
        free(copy);
        return false;
    }
    names->items[names->count++] = copy;
    return true;
}

void
names_clear(struct names *names)
{
    for (size_t i = 0; i < names->count; i++)
        free(names->items[i]);
    free(names->items);
    *names = (struct names){0};
}

/* ---- what SQLite asks while it compiles and runs ----------------------------------- */

/* Does it only tell something, whatever its argument is? Full-text search asks for
 * data_version itself. */
static bool
pragma_tells(const char *name)
{
    static const char *const names[] = {
        "collation_list",   "compile_options", "data_version",    "foreign_key_check",
        "foreign_key_list", "freelist_count",  "function_list",   "index_info",
        "index_list",       "index_xinfo",     "integrity_check", "page_count",
        "quick_check",      "table_info",      "table_list",      "table_xinfo",
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (sqlite3_stricmp(name, names[i]) == 0)
            return true;
    return false;
}

/* Not for strangers, and forbidden where they are compiled in: both take code from the
 * caller. */
static bool
function_is_dangerous(const char *name)
{
    return sqlite3_stricmp(name, "fts3_tokenizer") == 0 ||
           sqlite3_stricmp(name, "load_extension") == 0;
}

/* May the statement that is compiled do that? Reading is a list of what is allowed, and
 * all else is forbidden. Writing is a list of what is forbidden: other files, the
 * transaction, which is ours, and what would stay with the connection. */
static int
authorize(void *user, int action, const char *first, const char *second,
          const char *schema, const char *trigger)
{
    struct connection *c = user;
    bool is_temporary = schema && strcmp(schema, "temp") == 0;

    (void)trigger;
    if (c->may == MAY_ALL)
        return SQLITE_OK;
    switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
        return SQLITE_OK;
    case SQLITE_FUNCTION:
        return function_is_dangerous(second) ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
        return pragma_tells(first) ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_ATTACH:
    case SQLITE_DETACH:
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
        return SQLITE_DENY;
    case SQLITE_UPDATE:
        /* SQLite asks this to make json_each and its like known, and to rename. That
         * nobody really writes there it sees to itself. */
        if (strcmp(first, "sqlite_master") == 0 ||
            strcmp(first, "sqlite_temp_master") == 0)
            return SQLITE_OK;
        break;
    case SQLITE_INSERT:
    case SQLITE_DELETE:
        break;
    default:
        return c->may == MAY_READ || is_temporary ? SQLITE_DENY : SQLITE_OK;
    }
    if (c->may == MAY_READ || is_temporary || !names_add(&c->touched, first))
        return SQLITE_DENY;
    return SQLITE_OK;
}

static int64_t
now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* How far it is, now and then; waits_for: instead of steps. */
static void
tell(struct connection *c, const char *waits_for)
{
    int64_t now = now_ms();
    char steps[64];

    if (now - c->told_ms < TELL_MS)
        return;
    c->told_ms = now;
    (void)snprintf(steps, sizeof(steps), "%.1f million steps", c->steps / 1e6);
    (void)mcp_request_progress(c->req, c->steps, 0, waits_for ? waits_for : steps);
}

/* Not 0: stop. */
static int
on_steps(void *user)
{
    struct connection *c = user;

    c->steps += STEPS;
    tell(c, NULL);
    return mcp_request_is_canceled(c->req);
}

/* 0: give up. By the clock: where many want to run, a short sleep takes its time. */
static int
on_busy(void *user, int count)
{
    struct connection *c = user;

    if (count == 0)
        c->busy_since_ms = now_ms();
    c->steps += 1; /* progress must rise */
    tell(c, "waiting for the lock of the database");
    return now_ms() - c->busy_since_ms < c->database->busy_ms &&
           mcp_request_sleep(c->req, BUSY_MS) == 0;
}

static void
interrupt(void *user)
{
    struct connection *c = user;

    sqlite3_interrupt(c->db);
}

/* ---- the connections --------------------------------------------------------------- */

static void
connection_close(struct connection *c)
{
    memory_charge(c);
    sqlite3_finalize(c->patch);
    sqlite3_close(c->plain);
    sqlite3_close(c->db);
    memory_charge(NULL);
    memory_close(c);
    free(c);
}

/* What strangers write is run here: bound what it can take, and what it can reach. */
static bool
connection_harden(struct connection *c)
{
    sqlite3_limit(c->db, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(c->db, SQLITE_LIMIT_LENGTH, VALUE);
    sqlite3_limit(c->db, SQLITE_LIMIT_SQL_LENGTH, STATEMENT);
    sqlite3_limit(c->db, SQLITE_LIMIT_LIKE_PATTERN_LENGTH, PATTERN);
    sqlite3_limit(c->db, SQLITE_LIMIT_VARIABLE_NUMBER, 4096);
    (void)sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    (void)sqlite3_db_config(c->db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
    (void)sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
    (void)sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_FKEY, 1, NULL);
    return sqlite3_set_authorizer(c->db, authorize, c) == SQLITE_OK && functions_add(c);
}

static struct connection *
connection_open(struct database *database, char **ret_why)
{
    int flags = database->is_writable ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
                                      : SQLITE_OPEN_READONLY;
    struct connection *c = calloc(1, sizeof(*c));
    int rc;

    if (!c)
        return NULL;
    c->database = database;
    memory_charge(c);
    rc = sqlite3_open_v2(database->path, &c->db, flags | SQLITE_OPEN_NOMUTEX, NULL);
    if (rc == SQLITE_OK && !connection_harden(c))
        rc = SQLITE_NOMEM;
    if (rc == SQLITE_OK)
        return c;
    connection_close(c);
    *ret_why = sqlite3_mprintf("cannot open the database: %s", sqlite3_errstr(rc));
    return NULL;
}

static struct connection *
idle_take(struct database *database)
{
    struct connection *c;

    pthread_mutex_lock(&database->lock);
    c = database->idle;
    if (c) {
        database->idle = c->next;
        database->idle_count--;
    }
    pthread_mutex_unlock(&database->lock);
    return c;
}

/* Was its file removed, or another one put in its place? */
static bool
connection_is_stale(struct connection *c)
{
    int moved = 0;

    return sqlite3_file_control(c->db, "main", SQLITE_FCNTL_HAS_MOVED, &moved) ==
               SQLITE_OK &&
           moved;
}

struct connection *
connection_take(struct database *database, mcp_request *req, char **ret_why)
{
    struct connection *c = idle_take(database);

    while (c && connection_is_stale(c)) {
        connection_close(c);
        tables_forget(database);
        c = idle_take(database);
    }
    if (!c)
        c = connection_open(database, ret_why);
    if (!c)
        return NULL;
    memory_charge(c);
    /* What strangers let SQLite sort and collect is bounded by memory, not by the disk. */
    if (!connection_run(c, "PRAGMA temp_store = MEMORY")) {
        memory_charge(NULL);
        *ret_why = sqlite3_mprintf("%s", sqlite3_errmsg(c->db));
        connection_give(c);
        return NULL;
    }
    if (!req) {
        sqlite3_busy_timeout(c->db, (int)database->busy_ms);
        return c;
    }
    c->req = req;
    c->steps = 0;
    c->told_ms = now_ms() - TELL_MS + TELL_FIRST_MS;
    sqlite3_progress_handler(c->db, STEPS, on_steps, c);
    sqlite3_busy_handler(c->db, on_busy, c);
    if (mcp_request_on_cancel(req, interrupt, c, &c->hook) < 0) {
        memory_charge(NULL);
        *ret_why = sqlite3_mprintf("out of memory");
        connection_give(c);
        return NULL;
    }
    return c;
}

/* Is it as good as new? */
static bool
connection_clean(struct connection *c)
{
    if (c->req)
        mcp_request_off_cancel(c->req, c->hook);
    sqlite3_progress_handler(c->db, 0, NULL, NULL);
    sqlite3_busy_handler(c->db, NULL, NULL);
    c->req = NULL;
    c->hook = NULL;
    names_clear(&c->touched);
    sqlite3_free(c->fault);
    c->fault = NULL;
    return sqlite3_get_autocommit(c->db) || connection_run(c, "ROLLBACK");
}

void
connection_give(struct connection *c)
{
    struct database *database = c->database;
    bool is_kept;

    memory_charge(c);
    is_kept = connection_clean(c) && !memory_is_high(c);
    memory_charge(NULL);
    pthread_mutex_lock(&database->lock);
    is_kept = is_kept && database->idle_count < WORKERS;
    if (is_kept) {
        c->next = database->idle;
        database->idle = c;
        database->idle_count++;
    }
    pthread_mutex_unlock(&database->lock);
    if (!is_kept)
        connection_close(c);
}

void
database_close(struct database *database)
{
    struct connection *c;

    pthread_mutex_lock(&database->lock);
    while (database->idle) {
        c = database->idle;
        database->idle = c->next;
        connection_close(c);
    }
    names_clear(&database->tables);
    pthread_mutex_unlock(&database->lock);
}

/* ---- using one --------------------------------------------------------------------- */

int
job_run(mcp_request *req, mcp_result *out, void *user)
{
    const struct job *job = user;
    struct connection *c;
    char *why = NULL;
    int r;

    c = connection_take(mcp_request_server_user(req), req, &why);
    if (!c) {
        r = mcp_request_fail(req, -32603, NULL, "%s", why ? why : "out of memory");
        sqlite3_free(why);
        return r;
    }
    r = job->run(c, req, out);
    /* Others may have made tables. The answer does not wait for it: if one of them has
     * the lock, the next request looks again. */
    sqlite3_busy_handler(c->db, NULL, NULL);
    if (r == 0 && !connection_is_stale(c))
        (void)tables_follow(c);
    connection_give(c);
    return r;
}

bool
connection_fault(struct connection *c, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    sqlite3_free(c->fault);
    c->fault = sqlite3_vmprintf(format, list);
    va_end(list);
    return false;
}

int
connection_fail(struct connection *c, mcp_result *out)
{
    const char *why = c->fault ? c->fault : sqlite3_errmsg(c->db);

    if (mcp_request_is_canceled(c->req))
        return MCP_E_CANCELED;
    if (strcmp(mcp_request_method(c->req), "tools/call") == 0)
        return mcp_result_fail(out, "%s", why);
    return mcp_request_fail(c->req, -32603, NULL, "%s", why);
}

/* Does anything but blanks and comments follow? */
static bool
is_more(struct connection *c, const char *tail)
{
    sqlite3_stmt *statement = NULL;
    int rc = sqlite3_prepare_v2(c->db, tail, -1, &statement, NULL);
    bool has = rc != SQLITE_OK || statement;

    sqlite3_finalize(statement);
    return has;
}

sqlite3_stmt *
connection_prepare(struct connection *c, enum permission may, const char *sql)
{
    sqlite3_stmt *statement = NULL;
    const char *tail = NULL;
    bool is_good = false;
    int rc;

    if (may != MAY_ALL)
        names_clear(&c->touched);
    c->may = may; /* until the next one: SQLite may compile it once more when it runs */
    rc = sqlite3_prepare_v2(c->db, sql, -1, &statement, &tail);
    if (rc == SQLITE_AUTH)
        (void)connection_fault(
            c, "%s: this tool %s, and only this database", sqlite3_errmsg(c->db),
            may == MAY_READ ? "only reads" : "changes data or schema");
    else if (rc == SQLITE_OK && !statement)
        (void)connection_fault(c, "there is no statement in this sql");
    else if (rc == SQLITE_OK && is_more(c, tail))
        (void)connection_fault(c,
                               "this is more than one statement: send them one by one");
    else if (rc == SQLITE_OK && may == MAY_READ && !sqlite3_stmt_readonly(statement))
        (void)connection_fault(c, "this tool only reads");
    else
        is_good = rc == SQLITE_OK;
    if (is_good)
        return statement;
    sqlite3_finalize(statement);
    return NULL;
}

bool
connection_run(struct connection *c, const char *sql)
{
    sqlite3_stmt *statement = connection_prepare(c, MAY_ALL, sql);

    if (!statement)
        return false;
    (void)sqlite3_step(statement);
    return sqlite3_finalize(statement) == SQLITE_OK;
}

bool
connection_use_files(struct connection *c)
{
    return connection_run(c, "PRAGMA temp_store = FILE");
}
