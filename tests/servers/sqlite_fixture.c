/* sqlite_fixture.c - sqlite-server and a database of the test's own */
#include "servers/sqlite_fixture.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mcp/http.h>

#include "support/curl_warm.h"

struct way ways[4] = {
    {MCP_ERA_MODERN, false},
    {MCP_ERA_LEGACY, false},
    {MCP_ERA_MODERN, true},
    {MCP_ERA_LEGACY, true},
};

/* ---- waiting ------------------------------------------------------------------ */

static void
pause_ms(long ms)
{
    const struct timespec time = {ms / 1000, ms % 1000 * 1000000};

    nanosleep(&time, NULL);
}

/* Does this thread run, or want to? One that a tracer holds may want to. */
static bool
does_run(const char *folder, const char *thread)
{
    char path[400], text[512] = "";
    const char *state;
    FILE *file;

    (void)snprintf(path, sizeof(path), "%s/%s/stat", folder, thread);
    file = fopen(path, "re");
    if (!file)
        return false; /* it has ended */
    if (!fgets(text, sizeof(text), file))
        text[0] = '\0';
    fclose(file);
    state = strrchr(text, ')');
    return state && strchr("RDt", state[2]);
}

/* Does any thread of the process? */
static bool
is_busy(pid_t pid)
{
    struct dirent *entry;
    char folder[64];
    bool is = false;
    DIR *dir;

    (void)snprintf(folder, sizeof(folder), "/proc/%d/task", (int)pid);
    dir = opendir(folder);
    assert_non_null(dir);
    for (entry = readdir(dir); entry; entry = readdir(dir))
        is = is || (entry->d_name[0] != '.' && does_run(folder, entry->d_name));
    closedir(dir);
    return is;
}

/* A statement that runs is seen at each look, however little time it gets. */
void
expect_rest(struct place *p)
{
    int looks = 0;

    for (int waited = 0; waited < AWAIT_MS && looks < 10; waited += 4) {
        pause_ms(4);
        looks = is_busy(p->pid) ? 0 : looks + 1;
    }
    if (looks < 10)
        fail_msg("the server does not come to rest");
}

static bool
does_work(void *user)
{
    return is_busy(((struct place *)user)->pid);
}

void
expect_work(struct place *p)
{
    wait_until(does_work, p);
}

/* ---- processes ------------------------------------------------------------------ */

int
run_program(const char *const *args, char *said, size_t room)
{
    const char *argv[8] = {PROGRAM};
    pid_t pid;
    int out;

    for (size_t i = 0; args[i] && i < 6; i++)
        argv[i + 1] = args[i];
    pid = child_start(argv, CHILD_STDOUT | CHILD_STDERR, NULL, &out);
    child_read(out, said, room, NULL);
    close(out);
    return child_exit(pid);
}

/* ---- the database ----------------------------------------------------------------- */

void
place_sql(struct place *p, const char *sql)
{
    char *message = NULL;

    if (sqlite3_exec(p->db, sql, NULL, NULL, &message) != SQLITE_OK)
        fail_msg("%s: %s", sql, message);
}

int64_t
place_number(struct place *p, const char *sql)
{
    sqlite3_stmt *row = NULL;
    int64_t number;

    assert_int_equal(sqlite3_prepare_v2(p->db, sql, -1, &row, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_step(row), SQLITE_ROW);
    number = sqlite3_column_int64(row, 0);
    sqlite3_finalize(row);
    return number;
}

void
place_make(struct place *p)
{
    *p = (struct place){.out = -1};
    (void)snprintf(p->folder, sizeof(p->folder), "/tmp/sqlite-test-XXXXXX");
    assert_non_null(mkdtemp(p->folder));
    (void)snprintf(p->file, sizeof(p->file), "%s/data.db", p->folder);
    assert_int_equal(sqlite3_open(p->file, &p->db), SQLITE_OK);
    sqlite3_busy_timeout(p->db, AWAIT_MS);
    place_sql(p,
              "BEGIN;"
              "CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT NOT NULL,"
              " born INT, friend INT REFERENCES people(id));"
              "CREATE INDEX by_born ON people(born);"
              "INSERT INTO people(name, born) VALUES ('Ada', 1815), ('Alan', 1912),"
              " ('Grace', 1906);"
              "CREATE VIEW old AS SELECT * FROM people WHERE born < 1900;"
              "CREATE TABLE kinds(x);"
              "INSERT INTO kinds VALUES (NULL), (42), (9007199254740991),"
              " (9007199254740992), (-9223372036854775808), (1.5), (-9e999), ('é'),"
              " (cast(x'ff41' AS TEXT)), ('a' || char(0) || 'b'), (x'00ff10'), (x'');"
              "CREATE TABLE many(n INTEGER PRIMARY KEY, text TEXT);"
              "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE"
              " n < 2500) INSERT INTO many SELECT n, 'row ' || n FROM c;"
              "CREATE TABLE \"odd \"\"%/,é?#{x}'\"(x);"
              "INSERT INTO \"odd \"\"%/,é?#{x}'\" VALUES ('found');"
              "COMMIT");
}

/* ---- the server --------------------------------------------------------------------- */

static const mcp_client_options *
who(const struct place *p)
{
    static mcp_client_options me;

    me = MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0", .era = p->way.era,
                            .exit_ms = AWAIT_MS);
    return &me;
}

mcp_client *
place_connect(struct place *p)
{
    mcp_client *client = NULL;
    mcp_error err = {0};

    if (mcp_client_connect_http(p->url, NULL, who(p), &client, &err) < 0)
        fail_msg("%s: %s", p->url, err.message);
    return client;
}

void
place_open(struct place *p, const struct way *way, const char *first,
           const char *second)
{
    const char *argv[8] = {PROGRAM};
    char said[600];
    mcp_error err = {0};
    size_t n = 1;

    p->way = *way;
    if (way->is_http) {
        argv[n++] = "--http";
        argv[n++] = "127.0.0.1:0";
    }
    if (first)
        argv[n++] = first;
    if (second)
        argv[n++] = second;
    argv[n] = p->file;
    if (!way->is_http) {
        if (mcp_client_spawn(argv, who(p), &p->client, &err) < 0)
            fail_msg("%s: %s", PROGRAM, err.message);
        p->pid = (pid_t)mcp_client_pid(p->client);
        return;
    }
    p->pid = child_start(argv, CHILD_STDOUT, NULL, &p->out);
    child_read(p->out, said, sizeof(said), "\n");
    if (sscanf(said, "listening on %511s", p->url) != 1)
        fail_msg("it said: %s", said);
    if (!p->is_guarded)
        p->client = place_connect(p);
}

void
place_close(struct place *p)
{
    char command[128];

    mcp_client_free(p->client);
    if (p->out >= 0) {
        assert_int_equal(kill(p->pid, SIGTERM), 0);
        assert_int_equal(child_exit(p->pid), 0);
        close(p->out);
    } else if (p->pid) {
        assert_int_equal(kill(p->pid, 0), -1);
        assert_int_equal(errno, ESRCH);
    }
    assert_int_equal(sqlite3_close(p->db), SQLITE_OK);
    (void)snprintf(command, sizeof(command), "rm -r %s", p->folder);
    assert_int_equal(system(command), 0);
    (void)sqlite3_shutdown(); /* what it keeps is no leak of ours */
}

/* ---- calls ------------------------------------------------------------------------------ */

const char *
arguments(const char *sql, const char *more)
{
    static char *texts[4];
    static unsigned next;
    char **text = &texts[next++ % 4];
    mcp_builder *b = mcp_builder_new(NULL);

    mcp_builder_string(b, NULL, sql);
    free(*text);
    assert_true(asprintf(text, "{\"sql\":%s%s%s}", mcp_builder_text(b, NULL),
                         more ? "," : "", more ? more : "") > 0);
    mcp_builder_free(b);
    return *text;
}

mcp_reply *
call(struct place *p, const char *tool, const char *args)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);
    mcp_reply *reply = NULL;
    mcp_error err = {0};

    if (mcp_client_call_tool(p->client, tool, args, &opt, &reply, &err) < 0)
        fail_msg("%s %.200s: %s", tool, args, err.message);
    return reply;
}

void
expect_failure(struct place *p, const char *tool, const char *args, const char *words)
{
    mcp_reply *reply = call(p, tool, args);

    if (!mcp_reply_is_error(reply) || !strstr(mcp_reply_text(reply), words))
        fail_msg("%s %.200s: %s", tool, args, mcp_reply_text(reply));
    mcp_reply_free(reply);
}

void
expect_single(struct place *p, const char *args, const char *json)
{
    mcp_reply *reply = call(p, "query", args);
    const mcp_json *rows = mcp_json_get(mcp_reply_structured(reply), "rows");
    char *text = NULL;

    if (mcp_reply_is_error(reply) || mcp_json_count(rows) != 1)
        fail_msg("%.200s: %s", args, mcp_reply_text(reply));
    assert_int_equal(
        mcp_json_print(mcp_json_at(mcp_json_at(rows, 0), 0), false, NULL, &text, NULL),
        0);
    assert_string_equal(text, json);
    mcp_text_free(text, NULL);
    mcp_reply_free(reply);
}
