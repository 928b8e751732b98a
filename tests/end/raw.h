/*
 * raw.h - a peer without the library: bytes against a server, and processes that end
 *
 * Everything asserts, and nothing waits longer than AWAIT_MS.
 */
#ifndef TESTS_END_RAW_H
#define TESTS_END_RAW_H

#include <sys/types.h>

#include "end/probe.h"

struct raw {
    pid_t pid; /* of a server of our own; 0: it was connected to */
    int in;    /* written to; -1: closed */
    int out;   /* read from; the same if it is a socket */
    enum mcp_era era;
    char *data; /* what was read and not yet given out */
    size_t start, len, room;
    mcp_doc *doc; /* the message given out last */
};

/* Start a program with pipes of ours. err: its stderr, -1: ours. Its SIGPIPE is the
 * default one, whatever ours is. */
void raw_spawn(struct raw *raw, const char *const *argv, int err);

/* Introduce ourselves to a server that was spawned. */
void raw_hello(struct raw *raw, enum mcp_era era);

/* Start probe-server and introduce ourselves as a client of that era does. */
void raw_open(struct raw *raw, enum mcp_era era);

/* The same over a socket. */
void raw_connect(struct raw *raw, const char *path, enum mcp_era era);

/* Write all of it, and keep meanwhile what the server says. */
void raw_write(struct raw *raw, const void *bytes, size_t len);
void raw_say(struct raw *raw, const char *line); /* and a newline */

/* Write all of it and read nothing. False: the server has closed. */
bool raw_push(struct raw *raw, const void *bytes, size_t len);

/* tools/call, as the era has it. id is a JSON text. */
void raw_call(struct raw *raw, const char *id, const char *tool, const char *arguments);
/* The text of one, with its newline; freed by the caller. */
char *raw_call_text(enum mcp_era era, const char *id, const char *tool,
                    const char *arguments);

/* The next message, borrowed until the next; NULL: the server has closed. */
const mcp_json *raw_read(struct raw *raw);

/* The next message is the answer to that request, with this text; or an error with this
 * code. id NULL: without an id. */
void raw_expect(struct raw *raw, const char *id, const char *text);
void raw_expect_error(struct raw *raw, const char *id, int64_t code);

/* Call echo and expect the answer next: it lives. */
void raw_expect_alive(struct raw *raw);

/* Ask until that many handlers are alive. Nothing else may be on its way. */
void raw_expect_handlers(struct raw *raw, int64_t live);

/* No more will be said; what the server still says can be read. */
void raw_shut(struct raw *raw);

/* Close all. Returns the wait status of a server of our own, 0 for others. */
int raw_close(struct raw *raw);

/* ---- probe-server on a socket in a folder of its own --------------------- */

struct probe_socket {
    char folder[64];
    char path[80];
    struct raw server; /* only its process, and its stdout */
};

void probe_socket_open(struct probe_socket *s);
void probe_socket_close(struct probe_socket *s); /* by SIGTERM; asserts a good end */

/* ---- processes ----------------------------------------------------------- */

/* Wait for the end of a child; returns its wait status. */
int process_wait(pid_t pid);
bool process_is_gone(pid_t pid);    /* also as a zombie */
int64_t process_peak_kb(pid_t pid); /* most memory it ever had; -1: gone */
void expect_exit(int wait_status, int code);
void expect_signal(int wait_status, int signal);
void expect_no_children(void);

/* Free a client whose server, of that pid, died before. Asserts that it is reaped. */
void probe_close_dead(struct probe *p, pid_t pid);

/* Read until it contains this text; or until the end, which must come. */
void expect_readable(int fd, char *into, size_t room, const char *text);

int64_t now_ms(void);

/* ---- eras ---------------------------------------------------------------------- */

extern enum mcp_era both_eras[2];
enum mcp_era era_of(void **state);

#define IN_BOTH_ERAS(fn) IN_MODERN(fn), IN_LEGACY(fn)
#define IN_MODERN(fn) TEST_AS("modern." #fn, fn, &both_eras[0])
#define IN_LEGACY(fn) TEST_AS("legacy." #fn, fn, &both_eras[1])

#endif
