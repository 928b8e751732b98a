/* rogue.c - a server that misbehaves */
#include "end/rogue.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LIFE_S 100 /* if its test fails, it goes by itself */

struct message {
    mcp_doc *doc;
    const mcp_json *root;
    const char *method; /* "" for what has none */
    const char *tool;   /* likewise */
    char id[80];        /* as JSON text; "" if there is none */
};

static char seen[8192]; /* words, each with a space before it */

/* ---- saying something ---------------------------------------------------- */

static void
put(const char *bytes, size_t len)
{
    while (len > 0) {
        ssize_t n = write(STDOUT_FILENO, bytes, len);

        if (n < 0)
            _exit(0); /* the client is gone */
        bytes += n;
        len -= (size_t)n;
    }
}

static void say(const char *format, ...) MCP_PRINTF(1, 2);

static void
say(const char *format, ...)
{
    static char line[16384];
    va_list args;
    int len;

    va_start(args, format);
    len = vsnprintf(line, sizeof(line) - 1, format, args);
    va_end(args);
    line[len++] = '\n';
    put(line, (size_t)len);
}

#define TEXT_RESULT \
    "{\"resultType\":\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}"

static void
answer(const char *id, const char *text)
{
    say("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":" TEXT_RESULT "}", id, text);
}

static void
note(const char *method, const char *params)
{
    say("{\"jsonrpc\":\"2.0\",\"method\":\"%s\",\"params\":%s}", method, params);
}

static void
progress(const char *token, const char *value)
{
    say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":"
        "{\"progressToken\":%s,\"progress\":%s}}",
        token, value);
}

static void
say_here(void)
{
    char text[32];
    int len = snprintf(text, sizeof(text), "here %d\n", (int)getpid());

    if (write(STDERR_FILENO, text, (size_t)len) != len)
        _exit(1);
}

/* What servers print by accident, and worse. */
static void
say_rubbish(void)
{
    static const char bytes[] = "\0\0\xff\xfe\x80 binary\n\n\r\n \n";
    static char nested[6000];

    say("Starting server on stdio...");
    say("{}");
    say("[]");
    say("null");
    say("42");
    say("\"text\"");
    say("{\"jsonrpc\":\"2.0\"");
    say("{\"jsonrpc\":\"1.0\",\"id\":7777,\"result\":{}}");
    say("{\"level\":\"info\",\"message\":\"listening\"}");
    put(bytes, sizeof(bytes) - 1);
    memset(nested, '[', sizeof(nested) - 1);
    say("%s", nested);
}

/* ---- hearing something --------------------------------------------------- */

static void
see(const char *word, const char *id)
{
    size_t len = strlen(seen);

    (void)snprintf(seen + len, sizeof(seen) - len, " %s%s", word, id);
}

static void
id_print(const mcp_json *value, char *into, size_t room)
{
    char *text;

    into[0] = '\0';
    if (!value || mcp_json_print(value, false, NULL, &text, NULL) < 0)
        return;
    (void)snprintf(into, room, "%s", text);
    mcp_text_free(text, NULL);
}

static void
message_note_down(const struct message *m)
{
    const mcp_json *params = mcp_json_get(m->root, "params");
    char id[80];

    if (m->method[0] == '\0') {
        see("answer", "");
    } else if (strcmp(m->method, "notifications/cancelled") == 0) {
        id_print(mcp_json_get(params, "requestId"), id, sizeof(id));
        see("cancel:", id);
    } else if (strcmp(m->tool, "seen") != 0) {
        see(m->tool[0] ? m->tool : m->method, "");
    }
}

/* The next one. Ends the process at EOF. */
static void
hear(struct message *m)
{
    static char *line;
    static size_t room;
    const mcp_json *params;
    ssize_t len;

    mcp_doc_free(m->doc);
    m->doc = NULL;
    len = getline(&line, &room, stdin);
    if (len < 0)
        _exit(0);
    if (mcp_doc_parse(line, (size_t)len, NULL, &m->doc, NULL) < 0)
        _exit(3);
    m->root = mcp_doc_root(m->doc);
    params = mcp_json_get(m->root, "params");
    m->method = mcp_json_string(mcp_json_get(m->root, "method"), "");
    m->tool = mcp_json_string(mcp_json_get(params, "name"), "");
    id_print(mcp_json_get(m->root, "id"), m->id, sizeof(m->id));
    message_note_down(m);
}

/* ---- tools --------------------------------------------------------------- */

static void
be_plain(struct message *m)
{
    answer(m->id, "done");
}

static void
be_mute(struct message *m)
{
    (void)m;
}

static void
tell_seen(struct message *m)
{
    char words[sizeof(seen)];

    (void)snprintf(words, sizeof(words), "%s", seen + (seen[0] == ' '));
    seen[0] = '\0';
    answer(m->id, words);
}

static void
answer_twice(struct message *m)
{
    answer(m->id, "done");
    answer(m->id, "done again");
    say("{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-1,\"message\":\"m\"}}",
        m->id);
}

static void
answer_others(struct message *m)
{
    const char *const ids[] = {"999999", "\"nobody\"", "true", "-1", "1.5", "{}", "[]"};

    for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
        answer(ids[i], "not yours");
    answer(m->id, "done");
}

/* 7 for "7" and the other way round. */
static void
answer_spelled(struct message *m)
{
    char other[sizeof(m->id) + 2];
    size_t len = strlen(m->id);

    if (m->id[0] == '"')
        (void)snprintf(other, sizeof(other), "%.*s", (int)(len - 2), m->id + 1);
    else
        (void)snprintf(other, sizeof(other), "\"%s\"", m->id);
    answer(other, "done");
}

static void
fail_nobody(struct message *m)
{
    say("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":\"m\"}"
        "}");
    say("{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32600,\"message\":\"m\"}}");
    say("{\"jsonrpc\":\"2.0\",\"id\":null,\"result\":{}}");
    answer(m->id, "done");
}

static void
progress_of_nobody(struct message *m)
{
    const char *const tokens[] = {"999999", "\"nobody\"", "true", "null", "{}"};

    for (size_t i = 0; i < sizeof(tokens) / sizeof(tokens[0]); i++)
        progress(tokens[i], "1");
    note("notifications/progress", "{\"progress\":1}");
    progress(m->id, "true");
    progress(m->id, "5");
    answer(m->id, "done");
    progress(m->id, "6");
}

static void
cancel_yours(struct message *m)
{
    for (int i = 0; i < 2; i++)
        say("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":"
            "{\"requestId\":%s,\"reason\":\"no\"}}",
            m->id);
    note("notifications/cancelled", "{}");
    note("notifications/cancelled", "{\"requestId\":true}");
    answer(m->id, "done");
}

static void
ask_back(struct message *m)
{
    say("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"ping\"}", m->id);
    answer(m->id, "done");
}

static void
rubbish(struct message *m)
{
    say_rubbish();
    answer(m->id, "done");
    say_rubbish();
}

/* Far over the limit that the test gives its client. */
static void
long_line(struct message *m)
{
    static char line[1024 * 1024];

    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    put("{\"jsonrpc\":\"2.0\",\"method\":\"", 27);
    put(line, sizeof(line));
    answer(m->id, "done");
}

static void
flood(struct message *m)
{
    for (int i = 0; i < 20000; i++)
        note("notifications/message", "{\"level\":\"info\",\"data\":\"more\"}");
    answer(m->id, "done");
}

/* Only when it is canceled; until then a sign that it is here. */
static void
answer_late(struct message *m)
{
    struct message next = {0};
    char id[sizeof(m->id)];

    (void)snprintf(id, sizeof(id), "%s", m->id);
    progress(id, "1");
    do
        hear(&next);
    while (strcmp(next.method, "notifications/cancelled") != 0);
    mcp_doc_free(next.doc);
    answer(id, "too late");
}

static void
result_of_no_kind(struct message *m)
{
    say("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":[1,2]}", m->id);
}

static void
result_and_error(struct message *m)
{
    say("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{},\"error\":{\"code\":1}}", m->id);
}

static void
half_a_line(struct message *m)
{
    char text[160];
    int len = snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"resu",
                       m->id);

    put(text, (size_t)len);
    _exit(0);
}

static void
leave(struct message *m)
{
    (void)m;
    _exit(0);
}

static void
sleep_for_ever(void)
{
    for (;;)
        pause();
}

/* From now on neither EOF nor SIGTERM makes it go. */
static void
stay(struct message *m)
{
    (void)signal(SIGTERM, SIG_IGN);
    answer(m->id, "done");
    sleep_for_ever();
}

/* Read no more until SIGUSR1 comes. */
static void
stop(struct message *m)
{
    sigset_t set;
    int number;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    answer(m->id, "done");
    (void)sigwait(&set, &number);
}

/* A child of its own, in its group, that holds its pipes and ends only by SIGKILL. */
static void
have_child(struct message *m)
{
    char text[32];
    pid_t pid;

    (void)signal(SIGTERM,
                 SIG_IGN); /* before it is there, so that it is never without */
    pid = fork();
    if (pid == 0) {
        alarm(LIFE_S);
        sleep_for_ever();
    }
    (void)signal(SIGTERM, SIG_DFL);
    (void)snprintf(text, sizeof(text), "%d", (int)pid);
    answer(m->id, text);
}

/* How many it has, without the one that counts. */
static void
tell_descriptors(struct message *m)
{
    char text[32];

    (void)snprintf(text, sizeof(text), "%d", (int)count_descriptors() - 3);
    answer(m->id, text);
}

/* At EOF it has much to say, and sticks until somebody reads it. */
static void
chatter(void)
{
    static char line[1024 * 1024];

    memset(line, 'x', sizeof(line));
    line[sizeof(line) - 1] = '\n';
    put(line, sizeof(line));
    if (write(STDERR_FILENO, "said it all\n", 12) != 12)
        _exit(1);
    _exit(0);
}

static void
talk_at_end(struct message *m)
{
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    char byte;

    answer(m->id, "done");
    while (poll(&in, 1, -1) == 1 && read(STDIN_FILENO, &byte, 1) > 0)
        continue;
    chatter();
}

static const struct tool {
    const char *name;
    void (*serve)(struct message *m);
} tools[] = {
    {"plain", be_plain},
    {"mute", be_mute},
    {"seen", tell_seen},
    {"twice", answer_twice},
    {"others", answer_others},
    {"spelled", answer_spelled},
    {"nobody", fail_nobody},
    {"progress", progress_of_nobody},
    {"cancel", cancel_yours},
    {"ask", ask_back},
    {"rubbish", rubbish},
    {"long", long_line},
    {"flood", flood},
    {"late", answer_late},
    {"kindless", result_of_no_kind},
    {"both", result_and_error},
    {"half", half_a_line},
    {"leave", leave},
    {"stop", stop},
    {"stay", stay},
    {"child", have_child},
    {"talk", talk_at_end},
    {"descriptors", tell_descriptors},
};

static void
serve_tool(struct message *m)
{
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
        if (strcmp(tools[i].name, m->tool) == 0)
            tools[i].serve(m);
}

/* ---- receiving a client -------------------------------------------------- */

static void
answer_discover(const char *id, const char *version)
{
    say("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":\"complete\","
        "\"supportedVersions\":[\"%s\"],\"capabilities\":{\"tools\":{}},\"ttlMs\":0,"
        "\"cacheScope\":\"private\"}}",
        id, version);
}

static void
answer_initialize(const char *id)
{
    say("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"protocolVersion\":\"2025-11-25\","
        "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"rogue\","
        "\"version\":\"1\"}}}",
        id);
}

static void
serve_discover(struct message *m, const char *name)
{
    if (strcmp(name, "plain") == 0 || strcmp(name, "noisy") == 0)
        answer_discover(m->id, "2026-07-28");
    else if (strcmp(name, "future") == 0)
        answer_discover(m->id, "2099-01-01");
    else if (strcmp(name, "nonsense") == 0)
        say("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"what\":\"ever\"}}", m->id);
    else if (strcmp(name, "old") == 0)
        say("{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":-32601,"
            "\"message\":\"Method not found\"}}",
            m->id);
}

static void
serve(const char *name)
{
    static char probe[80];
    struct message m = {0};

    for (;;) {
        hear(&m);
        if (strcmp(name, "leaver") == 0)
            _exit(0);
        if (strcmp(m.method, "server/discover") == 0) {
            (void)snprintf(probe, sizeof(probe), "%s", m.id);
            serve_discover(&m, name);
        } else if (strcmp(m.method, "initialize") == 0) {
            if (strcmp(name, "slow") == 0)
                answer_discover(probe, "2026-07-28");
            answer_initialize(m.id);
        } else if (strcmp(m.method, "tools/call") == 0) {
            serve_tool(&m);
        }
    }
}

void
rogue_main(const char *name)
{
    sigset_t set;

    alarm(LIFE_S);
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (strcmp(name, "deaf") == 0)
        (void)signal(SIGTERM, SIG_IGN);
    if (strcmp(name, "leaver") != 0)
        say_here();
    if (strcmp(name, "silent") == 0 || strcmp(name, "deaf") == 0)
        sleep_for_ever();
    if (strcmp(name, "noisy") == 0)
        say_rubbish();
    serve(name);
}

/* ---- for the test -------------------------------------------------------- */

const char *const *
rogue_command(const char *name)
{
    static const char *command[] = {NULL, ROGUE_ARGUMENT, NULL, NULL};
    static char self[4096];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

    assert_true(len > 0);
    self[len] = '\0';
    command[0] = self;
    command[2] = name;
    return command;
}

int
rogue_try(const char *name, mcp_client_options *opt, mcp_client **ret_client)
{
    opt->name = "test";
    opt->version = "1.0";
    opt->quiet = opt->stderr_fd == 0;
    opt->timeout_ms = AWAIT_MS;
    return mcp_client_spawn(rogue_command(name), opt, ret_client, NULL);
}

void
rogue_open(struct probe *p, const char *name, mcp_client_options *opt)
{
    assert_int_equal(rogue_try(name, opt, &p->client), 0);
}

void
rogue_expect_seen(struct probe *p, const char *words)
{
    probe_expect(p, "seen", "{}", words);
}

void
rogue_go_on(struct probe *p)
{
    assert_int_equal(kill((pid_t)mcp_client_pid(p->client), SIGUSR1), 0);
}
