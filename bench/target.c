/* target.c - a server process that is measured, and the cheapest client to drive it */
#include "target.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define META "io.modelcontextprotocol/"
#define NO_ID "100000000"

static const char modern_meta[] =
    ",\"_meta\":{\"" META "protocolVersion\":\"2026-07-28\",\"" META
    "clientInfo\":{\"name\":\"bench\",\"version\":\"1.0\"},\"" META
    "clientCapabilities\":{}}";

static const char initialize[] =
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"
    "\"protocolVersion\":\"2025-11-25\",\"capabilities\":{},"
    "\"clientInfo\":{\"name\":\"bench\",\"version\":\"1.0\"}}}\n";

static const char initialized[] =
    "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n";

static void
line_build(struct target *target, const struct recipe *recipe)
{
    int n = snprintf(target->line, sizeof(target->line),
                     "{\"jsonrpc\":\"2.0\",\"id\":" NO_ID ",\"method\":\"tools/call\","
                     "\"params\":{\"name\":\"%s\",\"arguments\":%s%s}}\n",
                     recipe->tool, recipe->arguments,
                     recipe->greeting == NO_WORDS ? modern_meta : "");

    must(n > 0 && (size_t)n < sizeof(target->line), "a call is longer than expected");
    target->length = (size_t)n;
    target->id_at = (size_t)(strstr(target->line, NO_ID) - target->line);
    memcpy(target->id, NO_ID, sizeof(NO_ID));
}

/* ---- lines ----------------------------------------------------------------- */

/* Write, and say if that was possible: a peer may be gone. */
static bool
lines_try_write(const struct target *target, const char *bytes, size_t left)
{
    ssize_t n;

    while (left > 0) {
        n = write(target->process.to, bytes, left);
        if (n < 0)
            return false;
        bytes += n;
        left -= (size_t)n;
    }
    return true;
}

static void
lines_write(const struct target *target, const char *bytes, size_t length)
{
    must(lines_try_write(target, bytes, length), "a server does not read");
}

/* One line and no more than that: nothing else is in flight. False: it ended. */
static bool
line_read(const struct target *target, char *line, size_t room)
{
    size_t length = 0;
    ssize_t n;

    do {
        must(length < room - 1, "an answer is longer than expected");
        n = read(target->process.from, line + length, room - 1 - length);
        if (n <= 0)
            return false;
        length += (size_t)n;
    } while (line[length - 1] != '\n');
    line[length] = '\0';
    return true;
}

static void
id_next(struct target *target)
{
    size_t i = sizeof(NO_ID) - 2;

    while (target->id[i] == '9')
        target->id[i--] = '0';
    target->id[i]++;
}

/* Lines for the next calls, side by side. */
static size_t
lines_fill(struct target *target, char *into, int calls)
{
    for (int i = 0; i < calls; i++) {
        id_next(target);
        memcpy(into, target->line, target->length);
        memcpy(into + target->id_at, target->id, sizeof(NO_ID) - 1);
        into += target->length;
    }
    return target->length * (size_t)calls;
}

static int
newlines_count(const char *bytes, size_t length)
{
    const char *end = bytes + length;
    int count = 0;

    while (bytes < end) {
        bytes = memchr(bytes, '\n', (size_t)(end - bytes));
        if (!bytes)
            break;
        bytes++;
        count++;
    }
    return count;
}

/* ---- calls ----------------------------------------------------------------- */

static bool
check(struct target *target, const struct recipe *recipe)
{
    char line[LINE_ROOM * 4], id[32];
    size_t length = lines_fill(target, line, 1);

    if (!lines_try_write(target, line, length) ||
        !line_read(target, line, sizeof(line)))
        return false;
    (void)snprintf(id, sizeof(id), "\"id\":%s", target->id);
    if (strstr(line, id) && strstr(line, recipe->expected))
        return true;
    fprintf(stderr, "bench-stdio: unexpected from %s: %s", recipe->argv[0], line);
    return false;
}

void
target_check(struct target *target, const struct recipe *recipe)
{
    must(check(target, recipe), "a call was not answered well");
}

void
target_write(struct target *target, const char *text)
{
    lines_write(target, text, strlen(text));
}

void
target_read(struct target *target, char *line, size_t room)
{
    must(line_read(target, line, room), "a server has ended");
}

void
target_call(struct target *target, long calls)
{
    char line[LINE_ROOM], answer[LINE_ROOM * 4];

    for (long i = 0; i < calls; i++) {
        lines_write(target, line, lines_fill(target, line, 1));
        must(line_read(target, answer, sizeof(answer)), "a server has ended");
    }
}

void
target_flood(struct target *target, long calls)
{
    static char lines[IN_FLIGHT * LINE_ROOM], answers[1 << 18];
    long unsent = calls;
    long unanswered = calls;
    long room = IN_FLIGHT;
    ssize_t n;

    while (unanswered > 0) {
        if (room > unsent)
            room = unsent;
        lines_write(target, lines, lines_fill(target, lines, (int)room));
        unsent -= room;
        n = read(target->process.from, answers, sizeof(answers));
        must(n > 0, "a server has ended");
        room = newlines_count(answers, (size_t)n);
        unanswered -= room;
    }
}

/* ---- beginning and end ----------------------------------------------------- */

static bool
target_greet(struct target *target, const struct recipe *recipe)
{
    char line[LINE_ROOM * 4];

    if (recipe->greeting == NO_WORDS)
        return check(target, recipe);
    if (!line_read(target, line, sizeof(line)))
        return false;
    return recipe->greeting == ONE_LINE ||
           lines_try_write(target, initialized, sizeof(initialized) - 1);
}

bool
target_start(struct target *target, const struct recipe *recipe, enum spot spot)
{
    line_build(target, recipe);
    process_open(&target->process);
    if (recipe->greeting !=
        NO_WORDS) /* waits in the pipe: the server is not waited for twice */
        lines_write(target, initialize, sizeof(initialize) - 1);
    process_run(&target->process, recipe->argv, recipe->is_peer, spot);
    if (target_greet(target, recipe))
        return true;
    process_kill(&target->process);
    return false;
}

void
target_stop(struct target *target)
{
    char rest[LINE_ROOM];

    close(target->process.to);
    must(read(target->process.from, rest, sizeof(rest)) == 0, "a server said too much");
    close(target->process.from);
    process_wait(&target->process);
}

double
target_cpu(const struct target *target)
{
    return process_cpu(&target->process);
}

long
target_memory(const struct target *target, const char *key)
{
    return process_memory(&target->process, key);
}
