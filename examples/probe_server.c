/*
 * probe_server.c - a server to measure with: what is left after calls were canceled?
 *
 *     probe-server                       on stdin and stdout, or with --patience alone
 *     probe-server --unix PATH           on a Unix socket, for many clients
 *     probe-server --http HOST:PORT ...  on a port; its URL is the first line on stdout
 *
 *   --json            answers are never streams
 *   --stateless       clients of 2025 and before get no session
 *   --threads N       loop threads
 *   --tls CERT KEY    PEM files
 *   --resume          clients of 2025 can come back for what they missed; and a tool `later`
 *                     that lets them go
 *   --sse             also the transport of 2024, at /sse and /message
 *   --bearer          a request needs an Authorization header, which names the caller; and
 *                     a tool `whoami` that says it
 *   --guard ISSUER RESOURCE  a request needs a token of this issuer, for this URL, which is
 *                     ours; `whoami` too. --scope SCOPE: and with this scope; --dpop: and
 *                     with a proof, which has a nonce of ours
 *   --origin ORIGIN   pages from there may call; up to eight times
 *   --ping MS         a stream is never quiet for longer
 *   --patience MS[,MS]  a stop lets requests finish for that long; then all is written
 *                     and closed, for that long, or as long again
 *
 * Its tools hang, count, ignore their cancel, and tell what is still alive in it. `hang`
 * takes one of ten resources while it runs, as a tool with a database would. `deaf` ignores
 * its cancel, and ends before its time only with SIGUSR1.
 * `deaf_isolated` ignores its cancel in a process of its own. `ask` asks the client's
 * user; watch://0 to watch://2 are resources that `touch` updates.
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <mcp/ask.h>
#include <mcp/isolate.h>

#include "probe.h"

#define RESOURCES 10

static mcp_server *server;
static atomic_int pool_free = RESOURCES;
static atomic_long live_handlers, started, completed, canceled;

/* A handler function was entered; and it returned, or finished. */
static void
enter(void)
{
    atomic_fetch_add(&live_handlers, 1);
    atomic_fetch_add(&started, 1);
}

static int
leave(mcp_request *req, int status)
{
    atomic_fetch_add(mcp_request_is_canceled(req) ? &canceled : &completed, 1);
    atomic_fetch_sub(&live_handlers, 1);
    return status;
}

/* ---- echo, add: answered on the loop ------------------------------------------- */

struct echo_args {
    const char *text;
};

static const mcp_field echo_fields[] = {
    MCP_FIELD(struct echo_args, text, MCP_STRING, MCP_REQUIRED, "what to say"),
    {0},
};

static int
echo(mcp_request *req, mcp_result *out, void *user)
{
    struct echo_args args;
    int r;

    (void)user;
    enter();
    r = mcp_request_bind(req, &args);
    if (r == 0)
        r = mcp_result_text(out, args.text);
    return leave(req, r);
}

struct add_args {
    double a, b;
};

static const mcp_field add_fields[] = {
    MCP_FIELD(struct add_args, a, MCP_NUMBER, MCP_REQUIRED, "left operand"),
    MCP_FIELD(struct add_args, b, MCP_NUMBER, MCP_REQUIRED, "right operand"),
    {0},
};

struct add_sum {
    double sum;
};

static const mcp_field add_output[] = {
    MCP_FIELD(struct add_sum, sum, MCP_NUMBER, MCP_REQUIRED, "a + b"),
    {0},
};

static int
add(mcp_request *req, mcp_result *out, void *user)
{
    struct add_args args;
    struct add_sum result;
    int r;

    (void)user;
    enter();
    r = mcp_request_bind(req, &args);
    if (r == 0) {
        result.sum = args.a + args.b;
        r = mcp_result_struct(out, &result);
    }
    return leave(req, r);
}

/* ---- hang, deaf, count: they block a worker, or a process of their own ----------- */

struct seconds_args {
    double seconds;
};

static const mcp_field seconds_fields[] = {
    MCP_FIELD_WITH(struct seconds_args, seconds, MCP_NUMBER, MCP_REQUIRED,
                   "how long, fractions allowed", MCP_MINIMUM_REAL(0),
                   MCP_MAXIMUM_REAL(1e6)),
    {0},
};

static int64_t
seconds_ms(mcp_request *req)
{
    struct seconds_args args = {0};

    return mcp_request_bind(req, &args) < 0 ? 0 : (int64_t)(args.seconds * 1000);
}

static bool
resource_take(void)
{
    int left = atomic_load(&pool_free);

    while (left > 0)
        if (atomic_compare_exchange_weak(&pool_free, &left, left - 1))
            return true;
    return false;
}

static void
resource_give_back(void *user)
{
    (void)user;
    atomic_fetch_add(&pool_free, 1);
}

static int
hang(mcp_request *req, mcp_result *out, void *user)
{
    int r;

    (void)user;
    enter();
    if (!resource_take()) {
        r = mcp_result_fail(out, "all %d resources are in use", RESOURCES);
        return leave(req, r);
    }
    r = mcp_request_sleep(req, seconds_ms(req));
    resource_give_back(NULL);
    if (r == 0)
        r = mcp_result_text(out, "slept");
    return leave(req, r);
}

/* Readable after SIGUSR1; -1, which poll(2) ignores: not made. */
static int waking = -1;

static void
on_usr1(int signal)
{
    ssize_t n = write(waking, &(uint64_t){1}, sizeof(uint64_t));

    (void)signal, (void)n; /* readable already, if that fails */
}

static void
watch_usr1(void)
{
    const struct sigaction action = {.sa_handler = on_usr1, .sa_flags = SA_RESTART};

    waking = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)sigaction(SIGUSR1, &action, NULL);
}

static int
deaf(mcp_request *req, mcp_result *out, void *user)
{
    struct pollfd woken = {.fd = waking, .events = POLLIN};
    int64_t ms = seconds_ms(req);

    (void)user;
    enter();
    while (poll(&woken, 1, (int)(ms < INT32_MAX ? ms : INT32_MAX)) < 0 &&
           errno == EINTR)
        continue;
    return leave(req, mcp_result_text(out, "heard nothing"));
}

/* The same in a process of its own, which is killed if it does not end. What it counts
 * there nobody sees: `stats` has the helpers instead. */
static int
deaf_apart(mcp_request *req, mcp_result *out, void *user)
{
    (void)mcp_request_progress(req, 0, 1, NULL); /* it has begun */
    return deaf(req, out, user);
}

static const mcp_isolate apart = {.size = sizeof(apart), .most = 64, .grace_ms = 300};
static const mcp_tool deaf_isolated = {
    .size = sizeof(deaf_isolated),
    .name = "deaf_isolated",
    .description = "Sleep and ignore a cancel, in a process that can be killed",
    .fields = seconds_fields,
    .run = deaf_apart,
    .isolate = &apart};

struct count_args {
    int64_t to, delay_ms;
};

static const mcp_field count_fields[] = {
    MCP_FIELD_WITH(struct count_args, to, MCP_INT, MCP_REQUIRED, "the last number",
                   MCP_MINIMUM(0), MCP_MAXIMUM(1000000)),
    MCP_FIELD_WITH(struct count_args, delay_ms, MCP_INT, 0, "between two numbers",
                   MCP_MINIMUM(0), MCP_MAXIMUM(3600000), MCP_DEFAULT_INT(0)),
    {0},
};

static int
count(mcp_request *req, mcp_result *out, void *user)
{
    struct count_args args;
    int r;

    (void)user;
    enter();
    r = mcp_request_bind(req, &args);
    for (int64_t i = 1; r == 0 && i <= args.to; i++) {
        r = mcp_request_sleep(req, args.delay_ms);
        if (r == 0)
            r = mcp_request_progress(req, (double)i, (double)args.to, NULL);
    }
    if (r == 0)
        r = mcp_result_textf(out, "counted to %lld", (long long)args.to);
    return leave(req, r);
}

/* ---- hang_async: an event, no thread ------------------------------------------- */

struct nap {
    mcp_request *req;
    mcp_timer *timer;
};

static void
nap_end(struct nap *nap, int status)
{
    mcp_request *req = nap->req;

    mcp_timer_free(nap->timer);
    free(nap);
    mcp_request_finish(req, leave(req, status));
}

static void
nap_over(void *user)
{
    struct nap *nap = user;

    nap_end(nap, mcp_result_text(mcp_request_result(nap->req), "slept"));
}

static void
nap_canceled(void *user)
{
    nap_end(user, MCP_E_CANCELED);
}

static int
hang_async(mcp_request *req, mcp_result *out, void *user)
{
    struct nap *nap = malloc(sizeof(*nap));
    int r = MCP_E_NOMEM;

    (void)out, (void)user;
    enter();
    if (nap) {
        nap->req = req;
        (void)mcp_request_progress(req, 0, 1, NULL); /* over HTTP: opens a stream */
        r = mcp_timer_new(mcp_request_loop(req), seconds_ms(req), nap_over, nap,
                          &nap->timer);
    }
    if (r < 0) {
        free(nap);
        return leave(req, r);
    }
    r = mcp_request_on_cancel(req, nap_canceled, nap, NULL);
    if (r < 0)
        nap_end(nap, r);
    return 0;
}

/* ---- stats --------------------------------------------------------------------- */

static int
stats(mcp_request *req, mcp_result *out, void *user)
{
    struct probe_stats s = {.live_handlers = atomic_load(&live_handlers),
                            .started = atomic_load(&started),
                            .completed = atomic_load(&completed),
                            .cancelled = atomic_load(&canceled),
                            .pool_free = atomic_load(&pool_free)};

    (void)req, (void)user;
    probe_look(server, &s);
    return mcp_result_struct(out, &s);
}

/* ---- ask: a question for the client's user -------------------------------------- */

struct ask_args {
    const char *question;
};

static const mcp_field ask_fields[] = {
    MCP_FIELD(struct ask_args, question, MCP_STRING, MCP_REQUIRED, "what to ask"),
    {0},
};

struct ask_answer {
    const char *answer;
};

static const mcp_field answer_fields[] = {
    MCP_FIELD(struct ask_answer, answer, MCP_STRING, MCP_REQUIRED, "the answer"),
    {0},
};

static int
ask(mcp_request *req, mcp_result *out, void *user)
{
    struct ask_args args;
    struct ask_answer answer;
    int r;

    (void)user;
    enter();
    r = mcp_request_bind(req, &args);
    if (r == 0)
        r = mcp_request_elicit(
            req, "question",
            &MCP_ELICIT(.message = args.question, .fields = answer_fields));
    if (r == 0 && mcp_request_action(req, "question") != MCP_ACCEPTED)
        return leave(req, mcp_result_text(out, "no answer"));
    if (r == 0)
        r = mcp_request_bind_answer(req, "question", answer_fields, &answer);
    if (r == 0)
        r = mcp_result_textf(out, "answer: %s", answer.answer);
    return leave(req, r);
}

/* ---- watch, touch: resources that change ----------------------------------------- */

#define WATCHED 3

static atomic_long touched[WATCHED];
static const char *const watched[WATCHED] = {"watch://0", "watch://1", "watch://2"};

/* How often it was touched. */
static int
watch(mcp_request *req, mcp_result *out, void *user)
{
    (void)req;
    return mcp_result_textf(out, "%ld", atomic_load((atomic_long *)user));
}

struct touch_args {
    const char *uri;
};

static const mcp_field touch_fields[] = {
    MCP_FIELD(struct touch_args, uri, MCP_STRING, MCP_REQUIRED, "which resource"),
    {0},
};

static int
touch(mcp_request *req, mcp_result *out, void *user)
{
    struct touch_args args;
    int r;

    (void)user;
    enter();
    r = mcp_request_bind(req, &args);
    for (size_t i = 0; r == 0 && i < WATCHED; i++)
        if (strcmp(args.uri, watched[i]) == 0)
            atomic_fetch_add(&touched[i], 1);
    if (r == 0)
        r = mcp_server_resource_updated(server, args.uri);
    if (r == 0)
        r = mcp_result_text(out, "touched");
    return leave(req, r);
}

static int
add_resources(mcp_error *err)
{
    int r = 0;

    for (size_t i = 0; r == 0 && i < WATCHED; i++)
        r = mcp_server_add_resource(server,
                                    &MCP_RESOURCE(.uri = watched[i], .name = watched[i],
                                                  .mime_type = "text/plain",
                                                  .reply = watch, .user = &touched[i]),
                                    err);
    return r;
}

/* ---- whoami, later: who asks, and a client that goes meanwhile -------------------- */

static int
whoami(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    enter();
    return leave(req, mcp_result_text(out, mcp_request_principal(req)));
}

/* Let the client go, if it can come back, and take that long. */
static int
later(mcp_request *req, mcp_result *out, void *user)
{
    int r;

    (void)user;
    enter();
    (void)mcp_request_detach(req); /* nothing happens where it could not come back */
    r = mcp_request_sleep(req, seconds_ms(req));
    if (r == 0)
        r = mcp_result_text(out, "done");
    return leave(req, r);
}

/* ---- the server ----------------------------------------------------------------- */

static int
add_tools(mcp_error *err)
{
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "echo", .description = "Say it back", .fields = echo_fields,
                 .reply = echo, .hints = MCP_READ_ONLY),
        MCP_TOOL(.name = "add", .description = "Add two numbers", .fields = add_fields,
                 .output_fields = add_output, .reply = add, .hints = MCP_READ_ONLY),
        MCP_TOOL(.name = "hang", .description = "Sleep, holding one of ten resources",
                 .fields = seconds_fields, .run = hang),
        MCP_TOOL(.name = "hang_async", .description = "Sleep without a thread",
                 .fields = seconds_fields, .start = hang_async),
        MCP_TOOL(.name = "deaf", .description = "Sleep and ignore a cancel",
                 .fields = seconds_fields, .run = deaf),
        MCP_TOOL(.name = "count", .description = "Count, with progress",
                 .fields = count_fields, .run = count),
        MCP_TOOL(.name = "ask", .description = "Ask the user", .fields = ask_fields,
                 .run = ask),
        MCP_TOOL(.name = "touch", .description = "Update a resource",
                 .fields = touch_fields, .reply = touch),
        MCP_TOOL(.name = "stats", .description = "What is alive in this server",
                 .output_fields = probe_stats_fields, .reply = stats,
                 .hints = MCP_READ_ONLY),
        deaf_isolated,
    };
    int r = 0;

    for (size_t i = 0; r == 0 && i < sizeof(tools) / sizeof(tools[0]); i++)
        r = mcp_server_add_tool(server, &tools[i], err);
    return r;
}

/* What only means something with --bearer, or with --resume. */
static int
add_http_tools(const struct probe_http *http, mcp_error *err)
{
    int r = 0;

    if (http->options.identify || http->issuers[0])
        r = mcp_server_add_tool(server,
                                &MCP_TOOL(.name = "whoami", .description = "Who asks",
                                          .reply = whoami, .hints = MCP_READ_ONLY),
                                err);
    if (r == 0 && http->resumes)
        r = mcp_server_add_tool(server,
                                &MCP_TOOL(.name = "later",
                                          .description = "Let the client go meanwhile",
                                          .fields = seconds_fields, .run = later),
                                err);
    return r;
}

/* What `stats` says of descriptors must not change by itself: the helper that is kept
 * warm shall be there before the first client is. */
static void
settle(void)
{
    const struct timespec moment = {0, 1000000};
    mcp_server_counts counts = {.size = sizeof(counts)};

    for (int i = 0; i < 5000 && counts.helpers == 0; i++) {
        nanosleep(&moment, NULL);
        mcp_server_count(server, &counts);
    }
}

static void
print_log(void *user, enum mcp_log_level level, const char *line)
{
    (void)user, (void)level;
    fprintf(stderr, "probe-server: %s\n", line);
}

static int
serve_unix(const char *path, mcp_error *err)
{
    int r;

    r = mcp_server_listen_unix(server, path, err);
    if (r < 0)
        return r;
    printf("listening on unix:%s\n", path);
    fflush(stdout);
    return mcp_server_run(server, &MCP_RUN_OPTIONS(.signals = true), err);
}

int
main(int argc, char **argv)
{
    struct probe_http http = {.options = {.size = sizeof(http.options)}};
    bool is_unix = argc == 3 && strcmp(argv[1], "--unix") == 0;
    bool is_stdio = argc == 1 || (argc == 3 && strcmp(argv[1], "--patience") == 0);
    mcp_error err = {0};
    int r;

    mcp_isolated_enter(argc, argv, &deaf_isolated, 1);
    if (!is_unix &&
        !(probe_read_http(argc - 1, argv + 1, &http) && http.is_wanted == !is_stdio)) {
        fprintf(stderr, "usage: probe-server [--unix PATH | --patience MS[,MS] | "
                        "--http HOST:PORT ...]\n"
                        "       --json --stateless --threads N --tls CERT KEY\n"
                        "       --resume --sse --bearer --origin ORIGIN --ping MS\n"
                        "       --patience MS[,MS]\n"
                        "       --guard ISSUER RESOURCE --scope SCOPE --dpop\n");
        return 2;
    }
    watch_usr1();
    r = mcp_server_new(
        &MCP_SERVER_OPTIONS(.name = "probe-server", .version = "1.0", .workers = 32,
                            .overdue = 128, .listeners = 16384, .on_log = print_log,
                            .drain_ms = http.drain_ms, .stop_ms = http.stop_ms),
        &server, &err);
    if (r == 0)
        r = add_tools(&err);
    if (r == 0)
        r = add_http_tools(&http, &err);
    if (r == 0)
        r = add_resources(&err);
    if (r == 0)
        settle();
    if (r == 0 && http.is_wanted)
        r = probe_serve_http(server, &http, &err);
    else if (r == 0)
        r = is_unix ? serve_unix(argv[2], &err) : mcp_server_run_stdio(server, &err);
    if (r < 0)
        fprintf(stderr, "probe-server: %s\n", err.message);
    mcp_server_free(server);
    probe_http_done(&http);
    probe_look_done();
    return r < 0;
}
