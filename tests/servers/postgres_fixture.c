/* postgres_fixture.c - a PostgreSQL of the test's own, and postgres-server on it */
#include "servers/postgres_fixture.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <mcp/http.h>

#include "servers/child.h"
#include "support/curl_warm.h"

static struct {
    pid_t pid; /* of the script; 0: not started */
    int in, out;
    char folder[128], binaries[128];
} postgres;

const char *
formatted(const char *format, ...)
{
    static char text[4][4096];
    static int next;
    char *to = text[next++ % 4];
    va_list args;

    va_start(args, format);
    assert_true(vsnprintf(to, sizeof(text[0]), format, args) < (int)sizeof(text[0]));
    va_end(args);
    return to;
}

void
nap_us(long us)
{
    const struct timespec moment = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&moment, NULL);
}

/* ---- PostgreSQL ----------------------------------------------------------------- */

void
postgres_up(void)
{
    const char *const script[] = {SERVERS "/with-postgres", NULL};
    char line[300];

    test_limit(120); /* for each case */
    if (postgres.pid)
        return;
    test_at_end(postgres_down);
    postgres.pid = child_start(script, CHILD_STDOUT, &postgres.in, &postgres.out);
    child_read(postgres.out, line, sizeof(line), "\n");
    if (sscanf(line, "ready %127s %127s", postgres.folder, postgres.binaries) == 2)
        return;
    close(postgres.in);
    close(postgres.out);
    if (child_exit(postgres.pid) == 77) {
        postgres.pid = 0;
        test_skip("PostgreSQL is not installed (scripts/setup test)");
    }
    fail_msg("PostgreSQL does not start");
}

void
postgres_down(void)
{
    if (!postgres.pid)
        return;
    close(postgres.in);
    assert_int_equal(child_exit(postgres.pid), 0);
    close(postgres.out);
    assert_int_equal(access(postgres.folder, F_OK), -1);
    postgres.pid = 0;
}

void
postgres_tell(const char *word)
{
    char answer[64];

    assert_true(dprintf(postgres.in, "%s\n", word) > 0);
    child_read(postgres.out, answer, sizeof(answer), "\n");
    assert_string_equal(answer, strcmp(word, "stop") == 0 ? "stopped\n" : "ready\n");
}

pid_t
postgres_pid(void)
{
    FILE *file = fopen(postgres_file("data/postmaster.pid"), "re");
    char line[32];

    assert_non_null(file);
    assert_non_null(fgets(line, sizeof(line), file));
    fclose(file);
    return (pid_t)strtol(line, NULL, 10);
}

const char *
postgres_file(const char *name)
{
    return formatted("%s/%s", postgres.folder, name);
}

int
postgres_log_count(const char *part)
{
    FILE *file = fopen(postgres_file("log"), "re");
    char line[4096];
    int count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        count += strstr(line, part) != NULL;
    fclose(file);
    return count;
}

void
postgres_hide(bool is_hidden)
{
    const char *socket = postgres_file(".s.PGSQL.5432"), *away = postgres_file("away");

    assert_int_equal(rename(is_hidden ? socket : away, is_hidden ? away : socket), 0);
}

const char *
postgres_conninfo(const char *application)
{
    return formatted("host=%s user=test dbname=postgres password=geheim "
                     "application_name=%s connect_timeout=60",
                     postgres.folder, application);
}

const char *
postgres_ask(const char *sql)
{
    static char answer[65536];
    const char *const psql[] = {formatted("%s/psql", postgres.binaries),
                                "-XAtq",
                                "-d",
                                postgres_conninfo("test"),
                                "-c",
                                sql,
                                NULL};
    int out;
    pid_t pid = child_start(psql, CHILD_STDOUT, NULL, &out);

    child_read(out, answer, sizeof(answer), NULL);
    close(out);
    assert_int_equal(child_exit(pid), 0);
    if (answer[0] && answer[strlen(answer) - 1] == '\n')
        answer[strlen(answer) - 1] = '\0';
    return answer;
}

static bool
postgres_becomes(const char *sql, const char *answer)
{
    char question[1024];

    assert_true(snprintf(question, sizeof(question), "%s", sql) < 1024);
    for (int waited = 0; waited < AWAIT_MS; waited += 20) {
        if (strcmp(postgres_ask(question), answer) == 0)
            return true;
        nap_us(20000);
    }
    return false;
}

void
postgres_await(const char *sql, const char *answer)
{
    char question[1024];

    assert_true(snprintf(question, sizeof(question), "%s", sql) < 1024);
    if (!postgres_becomes(question, answer))
        fail_msg("%s: %s, not %s", question, postgres_ask(question), answer);
}

const char *
busy_of(const char *application)
{
    return formatted(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = '%s' "
        "AND state <> 'idle'",
        application);
}

const char *
all_of(const char *application)
{
    return formatted(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = '%s'",
        application);
}

/* ---- the server ----------------------------------------------------------------- */

struct cell cells[4] = {
    {"stdio_modern", false, MCP_ERA_MODERN},
    {"stdio_legacy", false, MCP_ERA_LEGACY},
    {"http_modern", true, MCP_ERA_MODERN},
    {"http_legacy", true, MCP_ERA_LEGACY},
};

static atomic_int notices, warnings;

static void
on_message(mcp_client *client, enum mcp_severity severity, const char *logger,
           const mcp_json *data, void *user)
{
    (void)client, (void)logger, (void)user;
    if (mcp_json_is_string(data, "hello"))
        atomic_fetch_add(severity == MCP_SEVERITY_WARNING ? &warnings : &notices, 1);
}

void
rig_await_hellos(int notice_count, int warning_count)
{
    for (int i = 0; i < AWAIT_MS && (atomic_load(&notices) < notice_count ||
                                     atomic_load(&warnings) < warning_count);
         i++)
        nap_us(1000);
    assert_int_equal(atomic_exchange(&notices, 0), notice_count);
    assert_int_equal(atomic_exchange(&warnings, 0), warning_count);
}

static mcp_client_options
options_of(const struct rig *rig)
{
    return MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0", .era = rig->cell->era,
                              .messages = MCP_SEVERITY_DEBUG, .on_message = on_message,
                              .exit_ms = AWAIT_MS);
}

void
rig_connect(struct rig *rig)
{
    const mcp_client_options me = options_of(rig);
    mcp_error err = {0};

    if (mcp_client_connect_http(rig->url, NULL, &me, &rig->client, &err) < 0)
        fail_msg("%s: %s", rig->url, err.message);
}

/* How a server is started; texts may be NULL. */
struct words {
    const char *pool, *limit, *connect;
    bool write;
};

/* The program and its arguments, for this rig. */
static void
rig_words(struct rig *rig, const struct cell *cell, const struct words *words,
          const char *argv[11])
{
    static int count;
    size_t n = 0;

    postgres_up();
    *rig = (struct rig){.cell = cell};
    argv[n++] = PROGRAM;
    argv[n++] = "--pool";
    argv[n++] = words->pool ? words->pool : "1";
    if (words->write)
        argv[n++] = "--write";
    if (words->limit) {
        argv[n++] = "--limit";
        argv[n++] = words->limit;
    }
    if (cell->is_http) {
        argv[n++] = "--http";
        argv[n++] = "127.0.0.1:0";
    }
    (void)snprintf(rig->application, sizeof(rig->application), "%s_%d", cell->name,
                   ++count);
    argv[n++] = formatted("%s %s", postgres_conninfo(rig->application),
                          words->connect ? words->connect : "");
    argv[n] = NULL;
}

static void
rig_listen(struct rig *rig, const char *const *argv)
{
    char line[300];

    rig->server = child_start(argv, CHILD_STDOUT, NULL, &rig->said);
    child_read(rig->said, line, sizeof(line), "\n");
    assert_int_equal(sscanf(line, "listening on %255s", rig->url), 1);
}

void
rig_serve(struct rig *rig)
{
    const char *argv[11];

    rig_words(rig, &cells[2], &(struct words){0}, argv);
    rig_listen(rig, argv);
}

static void
rig_open_with(struct rig *rig, const struct cell *cell, const struct words *words)
{
    const char *argv[11];
    mcp_client_options me;
    mcp_error err = {0};

    rig_words(rig, cell, words, argv);
    if (cell->is_http) {
        rig_listen(rig, argv);
        rig_connect(rig);
        return;
    }
    me = options_of(rig);
    if (mcp_client_spawn(argv, &me, &rig->client, &err) < 0)
        fail_msg("%s: %s", PROGRAM, err.message);
}

void
rig_open(struct rig *rig, const struct cell *cell, const char *pool, bool write)
{
    rig_open_with(rig, cell, &(struct words){.pool = pool, .write = write});
}

void
rig_open_limited(struct rig *rig, const struct cell *cell, const char *seconds)
{
    rig_open_with(rig, cell, &(struct words){.limit = seconds});
}

void
rig_open_impatient(struct rig *rig, const struct cell *cell, int seconds)
{
    rig_open_with(rig, cell,
                  &(struct words){.connect = formatted("connect_timeout=%d", seconds)});
}

void
rig_close(struct rig *rig)
{
    if (rig->cell->is_http)
        assert_int_equal(kill(rig->server, SIGTERM), 0);
    rig_gone(rig);
}

void
rig_gone(struct rig *rig)
{
    pid_t pid = (pid_t)mcp_client_pid(rig->client);

    mcp_client_free(rig->client);
    if (rig->cell->is_http) {
        assert_int_equal(child_exit(rig->server), 0);
        close(rig->said);
    } else if (pid > 0) {
        assert_int_equal(kill(pid, 0), -1);
        assert_int_equal(errno, ESRCH);
    }
}

mcp_reply *
rig_call(struct rig *rig, const char *tool, const char *arguments)
{
    mcp_reply *reply = NULL;
    mcp_error err = {0};

    if (mcp_client_call_tool(rig->client, tool, arguments, NULL, &reply, &err) < 0)
        fail_msg("%s %s: %s", tool, arguments, err.message);
    return reply;
}

/* The arguments of a call, with sql alone. */
static const char *
arguments_of(const char *sql)
{
    static char text[8192];
    mcp_builder *b = mcp_builder_new(NULL);
    size_t length;
    const char *made;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "sql", sql);
    mcp_builder_end(b);
    made = mcp_builder_text(b, &length);
    assert_true(made && length < sizeof(text));
    memcpy(text, made, length + 1);
    mcp_builder_free(b);
    return text;
}

mcp_reply *
rig_sql(struct rig *rig, const char *tool, const char *sql)
{
    return rig_call(rig, tool, arguments_of(sql));
}

void
rig_expect(struct rig *rig, const char *sql, const char *first)
{
    mcp_reply *reply = rig_sql(rig, "query", sql);
    const mcp_json *rows = mcp_json_get(mcp_reply_structured(reply), "rows");
    const mcp_json *value = mcp_json_at(mcp_json_at(rows, 0), 0);
    char *text = NULL;

    if (mcp_reply_is_error(reply))
        fail_msg("%s: %s", sql, mcp_reply_text(reply));
    assert_int_equal(mcp_json_print(value, false, NULL, &text, NULL), 0);
    assert_string_equal(text, first);
    mcp_text_free(text, NULL);
    mcp_reply_free(reply);
}

void
rig_expect_error(struct rig *rig, const char *tool, const char *sql, const char *part)
{
    mcp_reply *reply = rig_sql(rig, tool, sql);

    if (!mcp_reply_is_error(reply) || !strstr(mcp_reply_text(reply), part))
        fail_msg("%s: %s, not %s", sql, mcp_reply_text(reply), part);
    assert_null(strstr(mcp_reply_text(reply), "geheim"));
    mcp_reply_free(reply);
}

mcp_call *
rig_start(struct rig *rig, const char *tool, const char *sql)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE);
    mcp_call *call = NULL;

    assert_int_equal(mcp_client_start_tool(rig->client, tool, arguments_of(sql), &opt,
                                           NULL, NULL, &call),
                     0);
    return call;
}

void
rig_end(mcp_call *call, int status)
{
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), status);
    mcp_call_free(call);
}

int
program_run(const char *options, const char *conninfo, char *said, size_t room)
{
    const char *const argv[] = {"/bin/sh", "-c",    "exec \"$0\" $1 \"$2\" 2>&1",
                                PROGRAM,   options, conninfo,
                                NULL};
    int out;
    pid_t pid = child_start(argv, CHILD_STDOUT, NULL, &out);

    child_read(out, said, room, NULL);
    close(out);
    return child_exit(pid);
}
