/* support/script.c - a server that follows a script */
#include "support/script.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "support/test.h"

#define INFO "{\"name\":\"script\",\"version\":\"9\"}"
#define META "\"_meta\":{\"io.modelcontextprotocol/serverInfo\":" INFO "}"

/* ---- writing ------------------------------------------------------------- */

void
script_say(struct script *s, const char *line)
{
    size_t len = strlen(line);
    char *text = malloc(len + 2);
    size_t at = 0;

    assert_non_null(text);
    memcpy(text, line, len);
    text[len] = '\n';
    while (at < len + 1) {
        ssize_t n = send(s->fd, text + at, len + 1 - at, MSG_NOSIGNAL);

        if (n < 0 && errno != EINTR)
            break; /* the client is gone */
        at += n > 0 ? (size_t)n : 0;
    }
    free(text);
}

static void __attribute__((format(printf, 2, 3)))
say(struct script *s, const char *format, ...)
{
    char line[8192];
    va_list args;

    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    script_say(s, line);
}

/* members: of the result. */
static void
answer(struct script *s, const char *id, const char *members)
{
    if (s->era == MCP_ERA_LEGACY)
        say(s, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{%s}}", id, members);
    else
        say(s,
            "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{%s%s\"resultType\":"
            "\"complete\"," META "}}",
            id, members, members[0] ? "," : "");
}

/* ---- what was planned ---------------------------------------------------- */

struct script_plan {
    struct script_plan *next;
    char *part, *answer;
    struct virtual_clock *clock; /* on which ms pass; NULL: none do */
    int64_t ms;
};

static struct script_plan *
plan_new(const char *part, const char *answer)
{
    struct script_plan *plan = calloc(1, sizeof *plan);

    plan->part = strdup(part);
    plan->answer = answer ? strdup(answer) : NULL;
    return plan;
}

static void
script_add_plan(struct script *s, struct script_plan *plan)
{
    struct script_plan **at;

    pthread_mutex_lock(&s->lock);
    for (at = &s->plans; *at; at = &(*at)->next)
        continue;
    *at = plan;
    pthread_mutex_unlock(&s->lock);
}

void
script_plan(struct script *s, const char *part, const char *answer)
{
    script_add_plan(s, plan_new(part, answer));
}

void
script_plan_late(struct script *s, const char *part, const char *answer,
                 struct virtual_clock *clock, int64_t ms)
{
    struct script_plan *plan = plan_new(part, answer);

    plan->clock = clock;
    plan->ms = ms;
    script_add_plan(s, plan);
}

static void
plan_free(struct script_plan *plan)
{
    free(plan->part);
    free(plan->answer);
    free(plan);
}

/* Take the first one for this line out, or NULL. */
static struct script_plan *
script_take_plan(struct script *s, const char *line)
{
    struct script_plan **at, *plan;

    pthread_mutex_lock(&s->lock);
    for (at = &s->plans; *at && !strstr(line, (*at)->part); at = &(*at)->next)
        continue;
    plan = *at;
    if (plan)
        *at = plan->next;
    pthread_mutex_unlock(&s->lock);
    return plan;
}

/* False: nothing was planned for it. */
static bool
do_plan(struct script *s, const char *line, const char *id)
{
    struct script_plan *plan = script_take_plan(s, line);

    if (!plan)
        return false;
    if (plan->clock)
        virtual_clock_pass(plan->clock, plan->ms);
    if (plan->answer)
        say(s, "{\"jsonrpc\":\"2.0\",\"id\":%s,%s}", id, plan->answer);
    plan_free(plan);
    return true;
}

/* ---- what it does -------------------------------------------------------- */

static void
do_steps(struct script *s, const mcp_json *params, const char *id)
{
    const mcp_json *token = mcp_json_get(mcp_json_get(params, "_meta"),
                                         "progressToken");
    int64_t count = mcp_json_int(
        mcp_json_get(mcp_json_get(params, "arguments"), "count"), 1);
    char *text = NULL;
    int64_t i;

    if (token)
        assert_int_equal(mcp_json_print(token, false, NULL, &text, NULL), 0);
    for (i = 1; token && i <= count; i++)
        say(s,
            "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{"
            "\"progressToken\":%s,\"progress\":%lld,\"total\":%lld,"
            "\"message\":\"step %lld\"}}",
            text, (long long)i, (long long)count, (long long)i);
    mcp_text_free(text, NULL);
    answer(s, id, "\"content\":[]");
}

static void
do_echo(struct script *s, const mcp_json *params, const char *id)
{
    mcp_builder *b = mcp_builder_new(NULL);
    char *text;
    const char *members;

    assert_int_equal(
        mcp_json_print(mcp_json_get(params, "arguments"), false, NULL, &text, NULL), 0);
    mcp_builder_begin_array(b, NULL);
    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "type", "text");
    mcp_builder_string(b, "text", text);
    mcp_builder_end(b);
    mcp_builder_end(b);
    members = mcp_builder_text(b, NULL);
    say(s,
        "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":%s,\"resultType\":"
        "\"complete\"}}",
        id, members);
    mcp_text_free(text, NULL);
    mcp_builder_free(b);
}

static void
do_tool(struct script *s, const mcp_json *params, const char *id)
{
    const char *name = mcp_json_string(mcp_json_get(params, "name"), "");

    if (strcmp(name, "echo") == 0)
        do_echo(s, params, id);
    else if (strcmp(name, "steps") == 0)
        do_steps(s, params, id);
    else if (strcmp(name, "fail") == 0)
        say(s,
            "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32602,\"message\":"
            "\"not\\nlike that\",\"data\":{\"why\":\"because\"}}}",
            id);
    else if (strcmp(name, "wrong") == 0)
        say(s, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":7}", id);
    else if (strcmp(name, "leave") == 0)
        (void)shutdown(s->fd, SHUT_RDWR);
    else if (strcmp(name, "ask") == 0) {
        script_say(s, "{\"jsonrpc\":\"2.0\",\"id\":\"s1\",\"method\":\"ping\"}");
        script_say(s, "{\"jsonrpc\":\"2.0\",\"method\":\"test/note\",\"params\":"
                      "{\"n\":1}}");
        answer(s, id, "\"content\":[]");
    }
}

static void
do_hello(struct script *s, const char *id)
{
    if (s->era == MCP_ERA_LEGACY)
        say(s,
            "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":"
            "\"Method not found\"}}",
            id);
    else
        answer(s, id,
               "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{\"tools\":{}},"
               "\"instructions\":\"be kind\",\"ttlMs\":0,\"cacheScope\":\"private\"");
}

static void
do_initialize(struct script *s, const char *id)
{
    say(s,
        "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"protocolVersion\":"
        "\"2025-11-25\",\"capabilities\":{\"tools\":{}},\"serverInfo\":" INFO
        ",\"instructions\":\"be kind\"}}",
        id);
}

static void
do_list(struct script *s, const mcp_json *params, const char *id)
{
    if (mcp_json_get(params, "cursor"))
        answer(s, id, "\"tools\":[]");
    else
        answer(s, id, "\"tools\":[{\"name\":\"echo\"}],\"nextCursor\":\"page 2\"");
}

static void
do_request(struct script *s, const mcp_json *root, const char *id)
{
    const mcp_json *method = mcp_json_get(root, "method");
    const mcp_json *params = mcp_json_get(root, "params");

    if (mcp_json_is_string(method, "server/discover"))
        do_hello(s, id);
    else if (mcp_json_is_string(method, "initialize"))
        do_initialize(s, id);
    else if (mcp_json_is_string(method, "ping"))
        answer(s, id, "");
    else if (mcp_json_is_string(method, "tools/list"))
        do_list(s, params, id);
    else if (mcp_json_is_string(method, "tools/call"))
        do_tool(s, params, id);
    else
        say(s,
            "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,\"message\":"
            "\"Method not found\"}}",
            id);
}

/* ---- reading ------------------------------------------------------------- */

static void
script_note(struct script *s, const char *line)
{
    char *copy = strdup(line);

    pthread_mutex_lock(&s->lock);
    s->lines = realloc(s->lines, (s->count + 1) * sizeof *s->lines);
    s->lines[s->count++] = copy;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

static bool
script_is_deaf(struct script *s)
{
    bool deaf;

    pthread_mutex_lock(&s->lock);
    deaf = s->deaf;
    pthread_mutex_unlock(&s->lock);
    return deaf;
}

static void
script_handle(struct script *s, const char *line)
{
    const mcp_json *id;
    mcp_doc *doc;
    char *text;

    script_note(s, line);
    if (script_is_deaf(s) || mcp_doc_parse(line, strlen(line), NULL, &doc, NULL) < 0)
        return;
    id = mcp_json_get(mcp_doc_root(doc), "id");
    if (id && mcp_json_get(mcp_doc_root(doc), "method") &&
        mcp_json_print(id, false, NULL, &text, NULL) == 0) {
        if (!do_plan(s, line, text))
            do_request(s, mcp_doc_root(doc), text);
        mcp_text_free(text, NULL);
    }
    mcp_doc_free(doc);
}

static void
script_pause(struct script *s)
{
    pthread_mutex_lock(&s->lock);
    while (s->stuck)
        pthread_cond_wait(&s->changed, &s->lock);
    pthread_mutex_unlock(&s->lock);
}

static void *
script_main(void *user)
{
    struct script *s = user;
    char *buf = NULL;
    size_t len = 0;
    char part[65536];
    ssize_t n;

    for (;;) {
        char *end;

        script_pause(s);
        n = recv(s->fd, part, sizeof part, 0);
        if (n <= 0)
            break;
        buf = realloc(buf, len + (size_t)n + 1);
        memcpy(buf + len, part, (size_t)n);
        len += (size_t)n;
        buf[len] = '\0';
        while ((end = strchr(buf, '\n')) != NULL) {
            *end = '\0';
            script_handle(s, buf);
            len -= (size_t)(end + 1 - buf);
            memmove(buf, end + 1, len + 1);
        }
    }
    free(buf);
    pthread_mutex_lock(&s->lock);
    s->over = true;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
    return NULL;
}

/* ---- the test's side ----------------------------------------------------- */

void
script_open_on(struct script *s, enum mcp_era era, int fd, int give_fd)
{
    memset(s, 0, sizeof *s);
    s->fd = fd;
    s->give_fd = give_fd;
    s->era = era;
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->changed, NULL);
    assert_int_equal(pthread_create(&s->thread, NULL, script_main, s), 0);
}

void
script_open(struct script *s, enum mcp_era era)
{
    int ends[2];

    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    script_open_on(s, era, ends[0], ends[1]);
}

int
script_give(struct script *s)
{
    int fd = s->give_fd;

    s->give_fd = -1;
    return fd;
}

void
script_leave(struct script *s)
{
    (void)shutdown(s->fd, SHUT_RDWR);
}

void
script_ignore(struct script *s, bool deaf)
{
    pthread_mutex_lock(&s->lock);
    s->deaf = deaf;
    pthread_mutex_unlock(&s->lock);
}

void
script_hold(struct script *s, bool stuck)
{
    pthread_mutex_lock(&s->lock);
    s->stuck = stuck;
    pthread_cond_broadcast(&s->changed);
    pthread_mutex_unlock(&s->lock);
}

void
script_close(struct script *s)
{
    size_t i;

    script_hold(s, false);
    script_leave(s);
    pthread_join(s->thread, NULL);
    close(s->fd);
    if (s->give_fd >= 0)
        close(s->give_fd);
    for (i = 0; i < s->count; i++)
        free(s->lines[i]);
    free(s->lines);
    while (s->plans) {
        struct script_plan *plan = s->plans;

        s->plans = plan->next;
        plan_free(plan);
    }
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
}

/* Under lock: the nth line with that part, or NULL. */
static const char *
script_find(const struct script *s, const char *part, size_t nth)
{
    size_t i;

    for (i = 0; i < s->count; i++) {
        if (strstr(s->lines[i], part) && --nth == 0)
            return s->lines[i];
    }
    return NULL;
}

static struct timespec
patience_end(void)
{
    struct timespec at;

    clock_gettime(CLOCK_REALTIME, &at);
    at.tv_sec += AWAIT_MS / 1000;
    return at;
}

const char *
script_line(struct script *s, const char *part, size_t nth)
{
    struct timespec at = patience_end();
    const char *line;
    int r = 0;

    pthread_mutex_lock(&s->lock);
    while ((line = script_find(s, part, nth)) == NULL && r == 0)
        r = pthread_cond_timedwait(&s->changed, &s->lock, &at);
    pthread_mutex_unlock(&s->lock);
    if (!line)
        fail_msg("no line %zu with %s", nth, part);
    return line;
}

size_t
script_count(struct script *s, const char *part)
{
    size_t count = 0;
    size_t i;

    pthread_mutex_lock(&s->lock);
    for (i = 0; i < s->count; i++)
        count += strstr(s->lines[i], part) != NULL;
    pthread_mutex_unlock(&s->lock);
    return count;
}

size_t
script_place(struct script *s, const char *part)
{
    const char *line;
    size_t i;

    pthread_mutex_lock(&s->lock);
    line = script_find(s, part, 1);
    for (i = 0; line && s->lines[i] != line;)
        i++;
    pthread_mutex_unlock(&s->lock);
    assert_non_null(line);
    return i;
}

void
script_await_end(struct script *s)
{
    struct timespec at = patience_end();
    int r = 0;

    pthread_mutex_lock(&s->lock);
    while (!s->over && r == 0)
        r = pthread_cond_timedwait(&s->changed, &s->lock, &at);
    pthread_mutex_unlock(&s->lock);
    assert_int_equal(r, 0);
}

mcp_client *
script_client(struct script *s, const mcp_client_options *opt)
{
    mcp_client *client = NULL;
    mcp_error err;
    int fd = script_give(s);

    if (mcp_client_attach(fd, fd, opt, &client, &err) < 0)
        fail_msg("no client: %s", err.message);
    return client;
}

/* ---- what callbacks told ------------------------------------------------- */

void
told_init(struct told *t)
{
    memset(t, 0, sizeof *t);
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->changed, NULL);
}

void
told_clear(struct told *t)
{
    pthread_cond_destroy(&t->changed);
    pthread_mutex_destroy(&t->lock);
}

/* Under lock. */
static void
told_pass_gate(struct told *t)
{
    t->at_gate++;
    pthread_cond_broadcast(&t->changed);
    while (t->gate_shut)
        pthread_cond_wait(&t->changed, &t->lock);
    t->at_gate--;
}

void
told_done(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    struct told *t = user;

    (void)call;
    pthread_mutex_lock(&t->lock);
    told_pass_gate(t);
    t->done++;
    t->status = status;
    snprintf(t->text, sizeof t->text, "%s", mcp_reply_text(reply));
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

void
told_progress(mcp_call *call, double progress, double total, const char *message,
              void *user)
{
    struct told *t = user;

    (void)call;
    (void)total;
    (void)message;
    pthread_mutex_lock(&t->lock);
    told_pass_gate(t);
    t->steps++;
    t->out_of_order |= t->done > 0 || progress <= t->last_step;
    t->last_step = progress;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

void
told_state(mcp_client *client, int status, void *user)
{
    struct told *t = user;

    (void)client;
    pthread_mutex_lock(&t->lock);
    told_pass_gate(t);
    t->states++;
    t->status = status;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

void
told_note(mcp_client *client, const char *method, const mcp_json *params, void *user)
{
    struct told *t = user;

    (void)client;
    (void)params;
    pthread_mutex_lock(&t->lock);
    told_pass_gate(t);
    t->notes++;
    snprintf(t->text, sizeof t->text, "%s", method);
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}

static size_t
told_read(const struct told *t, size_t offset)
{
    size_t value;

    memcpy(&value, (const char *)t + offset, sizeof value);
    return value;
}

void
told_await_count(struct told *t, size_t offset, size_t value)
{
    struct timespec at = patience_end();
    int r = 0;

    pthread_mutex_lock(&t->lock);
    while (told_read(t, offset) < value && r == 0)
        r = pthread_cond_timedwait(&t->changed, &t->lock, &at);
    pthread_mutex_unlock(&t->lock);
    assert_int_equal(r, 0);
}

size_t
told_get_count(struct told *t, size_t offset)
{
    size_t value;

    pthread_mutex_lock(&t->lock);
    value = told_read(t, offset);
    pthread_mutex_unlock(&t->lock);
    return value;
}

int
told_status(struct told *t)
{
    int status;

    pthread_mutex_lock(&t->lock);
    status = t->status;
    pthread_mutex_unlock(&t->lock);
    return status;
}

void
told_gate(struct told *t, bool shut)
{
    pthread_mutex_lock(&t->lock);
    t->gate_shut = shut;
    pthread_cond_broadcast(&t->changed);
    pthread_mutex_unlock(&t->lock);
}
