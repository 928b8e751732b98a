/* demo.h - what the two halves of the demo share: the table */
#ifndef DEMO_H
#define DEMO_H

#include <mcp/json.h>

enum { FIFTY = 50, PATIENCE_MS = 10000 };

/* Ends the demo with what went wrong, unless status is 0. */
void must(int status, const char *what);
void nap(long ms);

/* A row is what the server says of itself, by its tool stats. ask asks it, and hands the
 * structured result to read_stats. */
enum { COLUMNS = 6 };
typedef void ask_fn(int64_t into[COLUMNS]);
void read_stats(const mcp_json *stats, int64_t into[COLUMNS]);
void print_head(void);
void print_row(const char *scene, ask_fn *ask);
/* As soon as no handler is left, which must be so within PATIENCE_MS. */
void print_when_calm(const char *scene, ask_fn *ask);

/* The scenes over HTTP, with sockets and nothing else. */
void play_http(const char *server);

#endif
