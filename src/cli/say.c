/* say.c - what we say to people, on stderr: notes, a server's log, a bar of progress */
#include "cli/say.h"

#include <errno.h>
#include <math.h>
#include <mcp/json.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/bar.h"
#include "cli/clock.h"
#include "cli/text.h"

#define ERASE "\r\033[K" /* to the line's beginning, and all of it away */
#define COLUMNS_DEFAULT 80

/* The bar must not reach the last column: a terminal that wraps there could no longer
 * be cleaned with one ERASE. */
static size_t
bar_columns(void)
{
    struct winsize size = {0};

    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_col == 0)
        size.ws_col = COLUMNS_DEFAULT;
    return size.ws_col - 1u;
}

/* All of it, or as much as stderr takes: there is no other place to complain at. One
 * write for all, so that other programs on this terminal do not get between. */
static void
put(const struct cli_text *text)
{
    const char *data = cli_text_string(text);
    size_t left = text->length;

    while (left > 0) {
        ssize_t put_now = write(STDERR_FILENO, data, left);

        if (put_now < 0 && errno == EAGAIN) {
            struct pollfd ready = {.fd = STDERR_FILENO, .events = POLLOUT};

            (void)poll(&ready, 1, -1);
        } else if (put_now >= 0) {
            data += put_now;
            left -= (size_t)put_now;
        } else if (errno != EINTR) {
            return;
        }
    }
}

/* ---- the bar, under lock --------------------------------------------------- */

static void
bar_erase(struct cli_say *say, struct cli_text *into)
{
    if (say->is_drawn)
        cli_text_puts(into, ERASE);
    say->is_drawn = false;
}

static void
bar_draw(struct cli_say *say, struct cli_text *into)
{
    struct cli_bar bar = {.progress = say->progress,
                          .total = say->total,
                          .text = say->text,
                          .turn = say->turn};

    if (!say->has_bar || say->paused > 0)
        return;
    bar_erase(say, into);
    cli_bar_add(into, &bar, bar_columns());
    say->is_drawn = true;
}

/* ---- lines ----------------------------------------------------------------- */

/* Takes the line. */
static void
line_put(struct cli_say *say, struct cli_text *line)
{
    struct cli_text out = {0};

    pthread_mutex_lock(&say->lock);
    bar_erase(say, &out);
    cli_text_add(&out, cli_text_string(line), line->length);
    cli_text_add(&out, "\n", 1);
    bar_draw(say, &out);
    put(&out);
    pthread_mutex_unlock(&say->lock);
    cli_text_done(&out);
    cli_text_done(line);
}

/* A string that may be no UTF-8, as a member of the open object. */
static void
member_add(mcp_builder *b, const char *key, const char *text)
{
    struct cli_text clean = {0};

    for (size_t at = 0, bytes, length = strlen(text); at < length; at += bytes) {
        uint32_t point;

        bytes = cli_text_decode(text + at, length - at, &point);
        if (point == 0xFFFD)
            cli_text_puts(&clean, "\xEF\xBF\xBD");
        else
            cli_text_add(&clean, text + at, bytes);
    }
    mcp_builder_string(b, key, cli_text_string(&clean));
    cli_text_done(&clean);
}

/* Writes the object of b, closed by us, as one line. Takes b. */
static void
object_put(struct cli_say *say, mcp_builder *b)
{
    struct cli_text line = {0};
    const char *json;
    size_t length;

    mcp_builder_end(b);
    json = mcp_builder_text(b, &length);
    if (json) {
        cli_text_add_json(&line, json, length);
        line_put(say, &line);
    }
    mcp_builder_free(b);
}

static const char *
severity_name(enum mcp_severity severity)
{
    static const char *const names[] = {"",         "debug",   "info",
                                        "notice",   "warning", "error",
                                        "critical", "alert",   "emergency"};

    return severity > 0 && (size_t)severity < sizeof names / sizeof names[0]
               ? names[severity]
               : "log";
}

/* A text of several lines: those behind the first are indented, so that none of them
 * can look like a line of ours. No newlines at its end. */
static void
add_indented(struct cli_text *into, const char *text)
{
    struct cli_text clean = {0};
    const char *at, *end;

    cli_text_add_harmless(&clean, text, strlen(text), false);
    at = cli_text_string(&clean);
    end = at + clean.length;
    while (end > at && end[-1] == '\n')
        end--;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *stop = newline ? newline + 1 : end;

        cli_text_add(into, at, (size_t)(stop - at));
        if (newline)
            cli_text_pad(into, 4);
        at = stop;
    }
    cli_text_done(&clean);
}

/* ---- progress -------------------------------------------------------------- */

/* Most servers count in whole numbers: 13 is to stay 13, not 13.0. */
static void
number_add(mcp_builder *b, const char *key, double number)
{
    if (fabs(number) < 1e15 && number == trunc(number))
        mcp_builder_int(b, key, (int64_t)number);
    else
        mcp_builder_real(b, key, isfinite(number) ? number : 0);
}

static void
progress_put_json(struct cli_say *say, double progress, double total,
                  const char *message)
{
    mcp_builder *b = mcp_builder_new(NULL);

    mcp_builder_begin_object(b, NULL);
    number_add(b, "progress", progress);
    if (isfinite(total) && total > 0)
        number_add(b, "total", total);
    if (message)
        member_add(b, "message", message);
    object_put(say, b);
}

/* Keeps what is to be shown; the text as far as there is room, whole characters. */
static void
progress_keep(struct cli_say *say, double progress, double total, const char *message)
{
    struct cli_text clean = {0};
    size_t length;

    if (message)
        cli_text_add_harmless(&clean, message, strlen(message), true);
    length = clean.length < CLI_BAR_TEXT ? clean.length : CLI_BAR_TEXT - 1;
    while (length < clean.length && length > 0 &&
           ((unsigned char)clean.data[length] & 0xC0) == 0x80)
        length--;
    memcpy(say->text, cli_text_string(&clean), length);
    say->text[length] = '\0';
    say->progress = progress;
    say->total = total;
    say->has_bar = say->is_terminal;
    cli_text_done(&clean);
}

static void
progress_show(struct cli_say *say, struct cli_text *into)
{
    int64_t every = say->is_terminal ? CLI_BAR_EVERY_MS : CLI_LINES_EVERY_MS;
    int64_t now = say->now_ms();

    if (say->paused > 0)
        return;
    if (say->is_told && !cli_bar_is_due(say->told_ms, now, every))
        return;
    say->is_told = true;
    say->told_ms = now;
    if (say->is_terminal) {
        bar_draw(say, into);
        say->turn++;
        return;
    }
    cli_text_puts(into, "progress ");
    cli_bar_add_count(into, say->progress, say->total);
    cli_text_printf(into, "%s%s\n", say->text[0] != '\0' ? ": " : "", say->text);
}

/* ---- the functions of the header ------------------------------------------- */

void
cli_say_init(struct cli_say *say, bool is_terminal, bool color, bool is_json)
{
    memset(say, 0, sizeof *say);
    pthread_mutex_init(&say->lock, NULL);
    say->is_terminal = is_terminal;
    say->color = color;
    say->is_json = is_json;
    say->now_ms = cli_now_ms;
}

void
cli_say_done(struct cli_say *say)
{
    cli_say_progress_end(say);
    pthread_mutex_destroy(&say->lock);
}

void
cli_note(struct cli_say *say, const char *format, ...)
{
    struct cli_text line = {0};
    char *text = NULL;
    va_list args;
    int length;

    va_start(args, format);
    length = vasprintf(&text, format, args);
    va_end(args);
    if (length < 0)
        return;
    if (say->is_json) {
        mcp_builder *b = mcp_builder_new(NULL);

        mcp_builder_begin_object(b, NULL);
        member_add(b, "note", text);
        object_put(say, b);
    } else {
        cli_text_puts(&line, "mcpctl: ");
        cli_text_add_harmless(&line, text, (size_t)length, true);
        line_put(say, &line);
    }
    free(text);
}

void
cli_say_line(struct cli_say *say, const char *line, size_t length)
{
    struct cli_text copy = {0};

    cli_text_add(&copy, line, length);
    line_put(say, &copy);
}

void
cli_say_log(struct cli_say *say, enum mcp_severity severity, const char *logger,
            const char *text)
{
    const char *color = severity >= MCP_SEVERITY_ERROR ? "\033[31m" : "\033[33m";
    bool is_colored = say->color && severity >= MCP_SEVERITY_WARNING;
    struct cli_text line = {0};

    if (say->is_json) {
        mcp_builder *b = mcp_builder_new(NULL);

        mcp_builder_begin_object(b, NULL);
        mcp_builder_string(b, "log", severity_name(severity));
        if (logger)
            member_add(b, "logger", logger);
        member_add(b, "data", text);
        object_put(say, b);
        return;
    }
    cli_text_printf(&line, "%s[%s]%s ", is_colored ? color : "",
                    severity_name(severity), is_colored ? "\033[m" : "");
    if (logger) {
        cli_text_add_harmless(&line, logger, strlen(logger), true);
        cli_text_puts(&line, ": ");
    }
    add_indented(&line, text);
    line_put(say, &line);
}

void
cli_say_progress(struct cli_say *say, double progress, double total,
                 const char *message)
{
    struct cli_text out = {0};

    if (say->is_json) {
        progress_put_json(say, progress, total, message);
        return;
    }
    pthread_mutex_lock(&say->lock);
    progress_keep(say, progress, total, message);
    progress_show(say, &out);
    put(&out);
    pthread_mutex_unlock(&say->lock);
    cli_text_done(&out);
}

void
cli_say_progress_end(struct cli_say *say)
{
    struct cli_text out = {0};

    pthread_mutex_lock(&say->lock);
    say->has_bar = false;
    say->is_told = false;
    bar_erase(say, &out);
    put(&out);
    pthread_mutex_unlock(&say->lock);
    cli_text_done(&out);
}

void
cli_say_pause(struct cli_say *say)
{
    struct cli_text out = {0};

    pthread_mutex_lock(&say->lock);
    say->paused++;
    bar_erase(say, &out);
    put(&out);
    pthread_mutex_unlock(&say->lock);
    cli_text_done(&out);
}

void
cli_say_resume(struct cli_say *say)
{
    struct cli_text out = {0};

    pthread_mutex_lock(&say->lock);
    say->paused--;
    bar_draw(say, &out);
    put(&out);
    pthread_mutex_unlock(&say->lock);
    cli_text_done(&out);
}
