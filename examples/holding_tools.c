/*
 * holding_tools.c - three tools that hold something real, and let it go when canceled
 *
 *     build/bin/example-client build/bin/example-holding
 *
 *   fetch     a connection      a poll loop of its own watches the cancel's descriptor
 *   transfer  a transaction     a hook interrupts the statement that runs
 *   locked    a lock on a file  the library's own waits end
 *
 * What is held is given back by what was deferred: after an answer, a failure, a
 * cancel, a timeout, and when the client is gone. No tool has to know which it was.
 *
 * An argument names the database of `transfer`; without one it is a scratch file.
 */
#include <curl/curl.h>
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include <mcp/server.h>

/* ---- fetch: a connection -------------------------------------------------------- */

enum { FETCH_BYTES = 1 << 20 };

struct fetch {
    const char *url; /* the argument */
    CURLM *multi;
    CURL *easy;
    size_t length;
    char body[FETCH_BYTES];
};

static const mcp_field fetch_fields[] = {
    MCP_FIELD(struct fetch, url, MCP_STRING, MCP_REQUIRED, "http: or https:"),
    {0},
};

/* Also closes a connection whose answer is under way: that is the abort. */
static void
fetch_free(void *user)
{
    struct fetch *fetch = user;

    curl_multi_remove_handle(fetch->multi, fetch->easy);
    curl_easy_cleanup(fetch->easy);
    curl_multi_cleanup(fetch->multi);
    free(fetch);
}

static size_t
fetch_take(char *bytes, size_t one, size_t length, void *user)
{
    struct fetch *fetch = user;

    (void)one; /* always 1 */
    if (length > FETCH_BYTES - fetch->length)
        return 0; /* too large: the transfer fails */
    memcpy(fetch->body + fetch->length, bytes, length);
    fetch->length += length;
    return length;
}

static bool
fetch_begin(struct fetch *fetch)
{
    CURL *easy = fetch->easy = curl_easy_init();

    fetch->multi = curl_multi_init();
    return easy && fetch->multi &&
           curl_easy_setopt(easy, CURLOPT_URL, fetch->url) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https") == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           /* an abort does not wait for the thread that looks up the name */
           curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, fetch_take) == CURLE_OK &&
           curl_easy_setopt(easy, CURLOPT_WRITEDATA, fetch) == CURLE_OK &&
           curl_multi_add_handle(fetch->multi, easy) == CURLM_OK;
}

/* libcurl waits for its sockets, and for the cancel with them. */
static int
fetch_run(mcp_request *req, struct fetch *fetch)
{
    struct curl_waitfd cancel = {.events = CURL_WAIT_POLLIN};
    int running = 1, fd;
    int r;

    r = mcp_request_cancel_fd(req, &fd);
    cancel.fd = fd;
    while (r == 0 && running) {
        if (curl_multi_perform(fetch->multi, &running) != CURLM_OK ||
            (running &&
             curl_multi_poll(fetch->multi, &cancel, 1, 1000, NULL) != CURLM_OK))
            r = MCP_E_NOMEM;
        if (mcp_request_is_canceled(req))
            r = MCP_E_CANCELED;
    }
    return r;
}

/* Redirects are not followed: they may lead where the caller did not mean to go. */
static int
fetch_tell(struct fetch *fetch, mcp_result *out)
{
    long status = 0;
    int left;
    const CURLMsg *end = curl_multi_info_read(fetch->multi, &left);

    if (end && end->data.result == CURLE_WRITE_ERROR)
        return mcp_result_fail(out, "there is more than %d bytes", FETCH_BYTES);
    if (end && end->data.result != CURLE_OK)
        return mcp_result_fail(out, "%s", curl_easy_strerror(end->data.result));
    curl_easy_getinfo(fetch->easy, CURLINFO_RESPONSE_CODE, &status);
    if (status < 200 || status > 299)
        return mcp_result_fail(out, "the server answers with status %ld", status);
    if (mcp_result_text_n(out, fetch->body, fetch->length) == 0)
        return 0;
    mcp_result_reset(out); /* it is no text */
    return mcp_result_resource_bytes(out, fetch->url, NULL, fetch->body, fetch->length);
}

static int
fetch(mcp_request *req, mcp_result *out, void *user)
{
    struct fetch *fetch = calloc(1, sizeof(*fetch));
    int r = fetch ? mcp_request_defer(req, fetch_free, fetch) : MCP_E_NOMEM;

    (void)user;
    if (r < 0) {
        free(fetch);
        return r;
    }
    r = mcp_request_bind(req, fetch);
    if (r == 0 && !fetch_begin(fetch))
        return mcp_result_fail(out, "cannot fetch %s", fetch->url);
    if (r == 0)
        r = fetch_run(req, fetch);
    return r < 0 ? r : fetch_tell(fetch, out);
}

/* ---- transfer: a transaction ---------------------------------------------------- */

struct transfer {
    const char *from, *to;
    int64_t amount, pause_ms;
};

static const mcp_field transfer_fields[] = {
    MCP_FIELD(struct transfer, from, MCP_STRING, MCP_REQUIRED, "an account"),
    MCP_FIELD(struct transfer, to, MCP_STRING, MCP_REQUIRED, "another"),
    MCP_FIELD_WITH(struct transfer, amount, MCP_INT, MCP_REQUIRED, "how much",
                   MCP_MINIMUM(1), MCP_MAXIMUM(1000000)),
    MCP_FIELD_WITH(struct transfer, pause_ms, MCP_INT, 0, "after each unit",
                   MCP_MINIMUM(0), MCP_MAXIMUM(60000)),
    {0},
};

/* What is not committed is rolled back by this. */
static void
close_database(void *database)
{
    sqlite3_close(database);
}

static void
interrupt_database(void *database)
{
    sqlite3_interrupt(database);
}

/* Another call has the database: wait for it, unless canceled. */
static int
wait_for_database(void *req, int tries)
{
    (void)tries;
    return mcp_request_sleep(req, 10) == 0;
}

static bool
sql_run(sqlite3 *database, const char *text, const char *name)
{
    sqlite3_stmt *statement = NULL;
    bool done;

    done = sqlite3_prepare_v2(database, text, -1, &statement, NULL) == SQLITE_OK &&
           (!name || sqlite3_bind_text(statement, 1, name, -1, SQLITE_STATIC) == 0) &&
           sqlite3_step(statement) == SQLITE_DONE;
    sqlite3_finalize(statement);
    return done;
}

/* Put that much into an account: one, or less than nothing. */
static bool
account_add(sqlite3 *database, const char *name, int amount)
{
    const char *text = amount > 0
                           ? "UPDATE accounts SET balance = balance + 1 WHERE name = ?"
                           : "UPDATE accounts SET balance = balance - 1 WHERE name = ?";

    return sql_run(database, text, name) && sqlite3_changes(database) == 1;
}

static int
transfer_run(mcp_request *req, sqlite3 *database, const struct transfer *args)
{
    bool done = sql_run(database, "BEGIN IMMEDIATE", NULL);
    int r = 0;

    for (int64_t moved = 1; done && moved <= args->amount; moved++) {
        done = account_add(database, args->from, -1) &&
               account_add(database, args->to, 1);
        if (done)
            r = mcp_request_progress(req, (double)moved, (double)args->amount, NULL);
        if (done && r == 0 && args->pause_ms > 0)
            r = mcp_request_sleep(req, args->pause_ms);
        if (r < 0)
            return r;
    }
    done = done && sql_run(database, "COMMIT", NULL);
    if (!done && mcp_request_is_canceled(req))
        return MCP_E_CANCELED;
    return done ? 0 : MCP_E_INVAL;
}

static int
transfer(mcp_request *req, mcp_result *out, void *user)
{
    struct transfer args;
    sqlite3 *database = NULL;
    int r;

    r = mcp_request_bind(req, &args);
    if (r < 0)
        return r;
    if (sqlite3_open(user, &database) != SQLITE_OK) {
        sqlite3_close(database);
        return mcp_result_fail(out, "the database cannot be opened");
    }
    r = mcp_request_defer(req, close_database, database);
    if (r < 0) {
        sqlite3_close(database);
        return r;
    }
    sqlite3_busy_handler(database, wait_for_database, req);
    r = mcp_request_on_cancel(req, interrupt_database, database, NULL);
    if (r == 0)
        r = transfer_run(req, database, &args);
    if (r == MCP_E_INVAL && sqlite3_errcode(database) == SQLITE_OK)
        return mcp_result_fail(out, "no such account");
    if (r == MCP_E_INVAL)
        return mcp_result_fail(out, "%s", sqlite3_errmsg(database));
    return r < 0 ? r : mcp_result_textf(out, "moved %lld", (long long)args.amount);
}

/* ---- locked: a lock on a file --------------------------------------------------- */

struct locked {
    const char *file;
    double seconds;
};

static const mcp_field locked_fields[] = {
    MCP_FIELD(struct locked, file, MCP_STRING, MCP_REQUIRED, "one that exists"),
    MCP_FIELD_WITH(struct locked, seconds, MCP_NUMBER, MCP_REQUIRED, "how long",
                   MCP_MINIMUM(0), MCP_MAXIMUM(3600)),
    {0},
};

/* The lock goes with the descriptor. */
static void
close_file(void *user)
{
    close((int)(intptr_t)user);
}

static int
locked(mcp_request *req, mcp_result *out, void *user)
{
    struct locked args;
    int fd, r;

    (void)user;
    r = mcp_request_bind(req, &args);
    if (r < 0)
        return r;
    fd = open(args.file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return mcp_result_fail(out, "cannot open %s", args.file);
    r = mcp_request_defer(req, close_file, (void *)(intptr_t)fd);
    if (r < 0) {
        close(fd);
        return r;
    }
    while (r == 0 && flock(fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK && errno != EINTR)
            return mcp_result_fail(out, "cannot lock %s", args.file);
        r = mcp_request_sleep(req, 10); /* no descriptor tells that a lock is free */
    }
    if (r == 0)
        r = mcp_request_progress(req, 1, 2, "I have the lock");
    if (r == 0)
        r = mcp_request_sleep(req, (int64_t)(args.seconds * 1000));
    return r < 0 ? r : mcp_result_text(out, "done");
}

/* ---- the server ----------------------------------------------------------------- */

static bool
make_accounts(const char *path)
{
    static const char *const text =
        "CREATE TABLE IF NOT EXISTS accounts (name TEXT PRIMARY KEY,"
        " balance INTEGER NOT NULL CHECK (balance >= 0));"
        "INSERT OR IGNORE INTO accounts VALUES ('ann', 1000), ('bob', 1000);";
    sqlite3 *database = NULL;
    bool done;

    done = sqlite3_open(path, &database) == SQLITE_OK &&
           sqlite3_exec(database, text, NULL, NULL, NULL) == SQLITE_OK;
    sqlite3_close(database);
    return done;
}

static int
serve(char *database, mcp_error *err)
{
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "fetch", .description = "Get what is behind a URL",
                 .fields = fetch_fields, .run = fetch, .limit_ms = 60000),
        MCP_TOOL(.name = "transfer", .description = "Move money, slowly",
                 .fields = transfer_fields, .run = transfer, .user = database),
        MCP_TOOL(.name = "locked", .description = "Hold the lock of a file",
                 .fields = locked_fields, .run = locked),
    };
    mcp_server *server = NULL;
    int r;

    r = mcp_server_new(&MCP_SERVER_OPTIONS(.name = "holding", .version = "1.0"),
                       &server, err);
    for (size_t i = 0; r == 0 && i < sizeof(tools) / sizeof(tools[0]); i++)
        r = mcp_server_add_tool(server, &tools[i], err);
    if (r == 0)
        r = mcp_server_run_stdio(server, err);
    mcp_server_free(server);
    return r;
}

int
main(int argc, char **argv)
{
    char scratch[] = "/tmp/holding-XXXXXX";
    char *database = argc > 1 ? argv[1] : scratch;
    int fd = argc > 1 ? -1 : mkstemp(scratch);
    mcp_error err = {.message = "no database"};
    int r = MCP_E_INVAL;

    if (fd >= 0)
        close(fd);
    curl_global_init(CURL_GLOBAL_DEFAULT);
    if (make_accounts(database))
        r = serve(database, &err);
    if (r < 0)
        fprintf(stderr, "holding: %s\n", err.message);
    if (fd >= 0)
        unlink(scratch);
    curl_global_cleanup();
    return r < 0;
}
