/*
 * postgres_fixture.h - a PostgreSQL of the test's own, and postgres-server on it
 *
 * Everything asserts, and nothing waits longer than AWAIT_MS.
 */
#ifndef TESTS_SERVERS_POSTGRES_FIXTURE_H
#define TESTS_SERVERS_POSTGRES_FIXTURE_H

#include <sys/types.h>

#include "support/test.h"

#include <mcp/client.h>

/* ---- PostgreSQL; started when it is first needed -------------------------------- */

/* Skips the case if it is not installed. */
void postgres_up(void);
void postgres_down(void);             /* its folder is gone then */
void postgres_tell(const char *word); /* "stop", "start"; waits until it is done */
pid_t postgres_pid(void);             /* of its first process */
const char *postgres_conninfo(const char *application);
const char *postgres_file(const char *name); /* a path that it may write to */
int postgres_log_count(const char *part);    /* lines of its log that have it */
void postgres_hide(bool is_hidden);          /* nobody can connect meanwhile */

/* What a session of the test's own is answered, without the last newline; in a buffer
 * that the next call reuses. */
const char *postgres_ask(const char *sql);
#define postgres_askf(...) postgres_ask(formatted(__VA_ARGS__))
const char *formatted(const char *format, ...) MCP_PRINTF(1, 2);

/* Ask until that is the answer. */
void postgres_await(const char *sql, const char *answer);

/* Connections of that application that are busy, or all: as SQL. */
const char *busy_of(const char *application);
const char *all_of(const char *application);

/* ---- the server ----------------------------------------------------------------- */

struct cell {
    const char *name;
    bool is_http;
    enum mcp_era era;
};

extern struct cell cells[4];
#define ON_EACH(fn)                                  \
    TEST_AS("stdio_modern." #fn, fn, &cells[0]),     \
        TEST_AS("stdio_legacy." #fn, fn, &cells[1]), \
        TEST_AS("http_modern." #fn, fn, &cells[2]),  \
        TEST_AS("http_legacy." #fn, fn, &cells[3])

#define ON_ONE(fn) TEST_AS("stdio_modern." #fn, fn, &cells[0])

struct rig {
    const struct cell *cell;
    mcp_client *client;
    pid_t server; /* HTTP: its process ... */
    int said;     /* ... and its stdout */
    char url[256];
    char application[64]; /* by which PostgreSQL knows it, and no other */
};

/* PostgreSQL is up then, and the server has that many connections at most. */
void rig_open(struct rig *rig, const struct cell *cell, const char *pool, bool write);
/* With one connection: a request has that many seconds. */
void rig_open_limited(struct rig *rig, const struct cell *cell, const char *seconds);
/* With one connection, which has that many seconds to be opened. */
void rig_open_impatient(struct rig *rig, const struct cell *cell, int seconds);
/* With one connection, over HTTP, and no client yet. */
void rig_serve(struct rig *rig);
/* The client goes; over HTTP the server is told to stop. It ends well. */
void rig_close(struct rig *rig);
void rig_gone(struct rig *rig);    /* the same, of a server that was told before */
void rig_connect(struct rig *rig); /* a new client, over HTTP */

/* A call of that tool with sql alone, answered. */
mcp_reply *rig_call(struct rig *rig, const char *tool, const char *arguments);
mcp_reply *rig_sql(struct rig *rig, const char *tool, const char *sql);
void rig_expect(struct rig *rig, const char *sql,
                const char *first); /* its one value */
void rig_expect_error(struct rig *rig, const char *tool, const char *sql,
                      const char *part);

/* One that takes its time: cancel, wait and free it yourself. */
mcp_call *rig_start(struct rig *rig, const char *tool, const char *sql);
void rig_end(mcp_call *call, int status); /* wait until it has ended so, and free it */

/* Wait until so many log messages "hello" have come, since this was asked last. */
void rig_await_hellos(int notice_count, int warning_count);

/* Run it with those options, between blanks, until it ends by itself; what it said. */
int program_run(const char *options, const char *conninfo, char *said, size_t room);

void nap_us(long us);

#endif
