/*
 * program.h - a program of the examples, spawned, and a client of ours
 *
 * Over stdio and on a port, in both eras. Everything asserts, and nothing waits longer
 * than AWAIT_MS.
 */
#ifndef TESTS_SERVERS_PROGRAM_H
#define TESTS_SERVERS_PROGRAM_H

#include <pthread.h>
#include <stdio.h>
#include <sys/types.h>

#include <mcp/client.h>

#include "servers/child.h"
#include "support/client_clock.h"
#include "support/test.h"

/* How a program is reached. */
struct cell {
    enum mcp_era era;
    bool on_port;
};

extern struct cell program_cells[4];

/* clang-format off */
#define IN_BOTH_ERAS(fn)                                  \
    TEST_AS("stdio.modern." #fn, fn, &program_cells[0]),  \
    TEST_AS("stdio.legacy." #fn, fn, &program_cells[1])
#define IN_EACH_CELL(fn) IN_BOTH_ERAS(fn),                \
    TEST_AS("http.modern." #fn, fn, &program_cells[2]),   \
    TEST_AS("http.legacy." #fn, fn, &program_cells[3])
/* clang-format on */

/* How a call that has begun ends. */
enum ending { BY_CANCEL, BY_TIMEOUT, BY_LEAVING };

struct program {
    mcp_client *client;
    pid_t pid;
    int out; /* its stdout, on a port; -1: over stdio */
    char url[256];
    mcp_call *call;
    struct virtual_clock clock; /* of the client, if the call times out */
    pthread_mutex_t lock;
    char messages[4096]; /* under lock: log messages that came, a line for each */
};

/* Start it with this one argument, or none, and open a client. */
void program_open(struct program *p, const struct cell *cell, const char *argument);

/* The same on a port, in two steps; headers end with NULL, or are NULL. */
void program_start(struct program *p, const char *argument);
int program_connect(const struct program *p, const char *const *headers,
                    const mcp_client_options *me, mcp_client **ret_client,
                    mcp_error *err);

/* Both end in order. */
void program_close(struct program *p);

/* The program is killed; the client is told, and freed. */
void program_kill(struct program *p);

/* Run it with these arguments, which end with NULL, until it ends by itself; returns
 * its exit status, and what it said on stderr. */
int program_run(const char *const *arguments, char *said, size_t room);

/* Call a tool and wait for its reply, which the caller frees. The call must not fail,
 * but the tool may. */
mcp_reply *program_call(struct program *p, const char *tool, const char *arguments);

/* Is this text in a block of its content? */
bool reply_says(const mcp_reply *reply, const char *text);

/* The same; the reply must have this text in it, and be an error or not. */
void program_expect(struct program *p, const char *tool, const char *arguments,
                    bool is_error, const char *text);

/* The time that a call has which will end so; before it is started. */
int64_t program_time(struct program *p, enum ending how);

/* Start a call as p->call, which will end so; returns when its first progress is
 * here. */
void program_begin(struct program *p, enum ending how, const char *tool,
                   const char *arguments);

/* End it, and see it ended. By leaving: there is no client any more. */
void program_end(struct program *p, enum ending how);

/* Has a log message come with this text in it? */
bool program_has_said(struct program *p, const char *text);

/* A text made by a format, in a buffer that the fourth next call reuses. */
const char *text_of(const char *format, ...) MCP_PRINTF(1, 2);

/* Processes that are alive and have this text in their environment. */
size_t count_marked(const char *text);
void expect_none_marked(const char *text);

#endif
