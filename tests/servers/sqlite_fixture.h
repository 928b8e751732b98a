/*
 * sqlite_fixture.h - sqlite-server and a database of the test's own
 *
 * Over stdio and on a port, in both eras. Everything asserts, and nothing waits longer
 * than AWAIT_MS.
 */
#ifndef TESTS_SERVERS_SQLITE_FIXTURE_H
#define TESTS_SERVERS_SQLITE_FIXTURE_H

#include <sqlite3.h>
#include <sys/types.h>

#include <mcp/client.h>

#include "servers/child.h"
#include "support/test.h"

/* Runs for minutes, and needs no memory. */
#define ENDLESS                                                       \
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n " \
    "WHERE i < 100000000000) "
#define ENDLESS_QUERY ENDLESS "SELECT count(*) FROM n"

/* How the server is reached. */
struct way {
    enum mcp_era era;
    bool is_http;
};
extern struct way ways[4]; /* stdio modern, stdio legacy, HTTP modern, HTTP legacy */

/* clang-format off */
#define IN_BOTH_ERAS(fn)                       \
    TEST_AS("stdio.modern." #fn, fn, &ways[0]), \
    TEST_AS("stdio.legacy." #fn, fn, &ways[1])
#define IN_EACH_WAY(fn) IN_BOTH_ERAS(fn),      \
    TEST_AS("http.modern." #fn, fn, &ways[2]), \
    TEST_AS("http.legacy." #fn, fn, &ways[3])
#define IN_TWO_WAYS(fn)                        \
    TEST_AS("stdio.modern." #fn, fn, &ways[0]), \
    TEST_AS("http.legacy." #fn, fn, &ways[3])
/* clang-format on */

struct place {
    char folder[64];
    char file[96]; /* the database */
    sqlite3 *db;   /* our own connection to it */
    struct way way;
    mcp_client *client;
    pid_t pid;
    int out;         /* the server's stdout, over HTTP; else -1 */
    bool is_guarded; /* set after place_make: place_open connects no client */
    char url[512];
};

/* Make a database in a new folder: table `people`, one with values of all kinds, one of
 * 2500 rows, and one with a strange name. */
#define STRANGE "odd \"%/,é?#{x}'"
#define STRANGE_URI "sqlite://main/odd%20%22%25%2F%2C%C3%A9%3F%23%7Bx%7D%27"
void place_make(struct place *p);

/* Start the server on it, with these options, up to two and then NULL, and a client. */
void place_open(struct place *p, const struct way *way, const char *first,
                const char *second);

/* Another client of the same server; NULL: over HTTP only. */
mcp_client *place_connect(struct place *p);

/* The server ends in order; the database is removed. */
void place_close(struct place *p);

/* Do this on our own connection; it must work. */
void place_sql(struct place *p, const char *sql);

/* The one integer that it gives. */
int64_t place_number(struct place *p, const char *sql);

/* {"sql": sql, more...}; freed by the fourth next call. more: NULL, or members. */
const char *arguments(const char *sql, const char *more);

/* The reply of a tool, which the caller frees. The call must not fail, the tool may. */
mcp_reply *call(struct place *p, const char *tool, const char *args);

/* The tool must fail, and say this among other words. */
void expect_failure(struct place *p, const char *tool, const char *args,
                    const char *words);

/* The query must give one value, which is this as JSON. */
void expect_single(struct place *p, const char *args, const char *json);

/* Wait until no thread of the server runs any more: none of its statements runs. */
void expect_rest(struct place *p);
/* Wait until it works: a thread of it runs. */
void expect_work(struct place *p);

/* Start the program with these arguments, which end with NULL; its exit status, and what
 * it said on stdout and stderr. */
int run_program(const char *const *args, char *said, size_t room);

#endif
