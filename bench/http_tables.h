/* http_tables.h - the tables of bench-http, each in a file of its own */
#ifndef BENCH_HTTP_TABLES_H
#define BENCH_HTTP_TABLES_H

#include "aim.h"
#include "http_target.h"

extern const struct http_recipe http_ours, http_ours_legacy;

/* Says the same to everything, in answers as long as ours. argv[1] is filled in. */
extern struct http_recipe http_bare;

void bench_http_speed(void);   /* echo, on 1 and on 64 connections */
void bench_http_leaving(void); /* how soon it is noticed that a client has left */
void bench_http_streams(void); /* what open streams cost */

#endif
