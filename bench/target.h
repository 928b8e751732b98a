/*
 * target.h - a server process that is measured, and the cheapest client to drive it
 *
 * The client knows no JSON: it writes prebuilt lines, whose ids count up, and counts
 * the newlines that come back. It stays on one core. All functions end the program if
 * something goes wrong, except target_start.
 */
#ifndef BENCH_TARGET_H
#define BENCH_TARGET_H

#include <stdbool.h>
#include <stddef.h>

#include "process.h"

enum { IN_FLIGHT = 64, LINE_ROOM = 1024 };

/* How it is met. */
enum greeting {
    HANDSHAKE, /* the legacy initialize */
    NO_WORDS,  /* modern: each request introduces itself, the first is a call */
    ONE_LINE   /* a raw pipe: initialize is a line like any other */
};

/* What to run: filled in by its user. */
struct recipe {
    const char *argv[3]; /* a program beside this one, or one from PATH; its argument */
    const char *tool;
    const char *arguments; /* JSON text */
    const char *expected;  /* must be in every answer */
    enum greeting greeting;
    bool is_peer; /* not of ours, may be missing: what it prints is dropped */
};

struct target {
    struct process process;
    char line[LINE_ROOM]; /* the next call, if its id is put in */
    size_t length, id_at;
    char id[16]; /* the last one used, as digits */
};

/* It has answered the first line. False: it did not; then nothing of it is left. */
bool target_start(struct target *target, const struct recipe *recipe, enum spot spot);

/* Closes its input and waits until it has ended, which must be by itself. */
void target_stop(struct target *target);

/* One call, whose answer is looked at. */
void target_check(struct target *target, const struct recipe *recipe);

/* Bytes of the caller's own, and the next line, terminated; nothing else is in flight. */
void target_write(struct target *target, const char *text);
void target_read(struct target *target, char *line, size_t room);

/* That many calls: each after the one before, or IN_FLIGHT of them at a time. */
void target_call(struct target *target, long calls);
void target_flood(struct target *target, long calls);

double target_cpu(const struct target *target); /* microseconds, since its start */

/* A line of /proc/PID/status, such as "VmRSS:", in KB. */
long target_memory(const struct target *target, const char *key);

#endif
