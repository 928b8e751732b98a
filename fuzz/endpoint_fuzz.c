/*
 * endpoint_fuzz.c - the way of requests through an HTTP server, without sockets
 *
 * Bytes of connections go through the parser, the check of the head and the endpoint to
 * a real engine; a script has its handlers, clients and clock in hand. Letters up to
 * the first line break are options:
 *
 *   m l  one era only        j  JSON answers         s r  stateless; and runs on
 *   e E  a store; a small one                        q    canceled ones end silently
 *   o    the transport of 2024                       i    clients are identified
 *   t    small limits        P p  many, no pings     I    sessions are idle soon
 *
 * What follows is read as commands, a letter and mostly one byte for each argument:
 *
 *   c a      go on as client a              b w W   it reads nothing; all; once
 *   x        it leaves                      S a     its bytes come in pieces of a
 *   a a      credentials of what follows    v a     how the next request is odd
 *   m a b    modern message a, id b         l a b c legacy message a, id b, session c
 *   g c b    GET in session c, after event b        d c  DELETE of session c
 *   o        GET of 2024                    O a b c message a, id b, to its session c
 *   h a      another method                 > ..~   raw bytes; $a is session a
 *   f e a    job a is done, fails           p y a   it reports progress, says something
 *   n a      it asks its client             u a     it lets its client go
 *   P a      something has changed          T a     the hook answers ticket a
 *   t z a    time passes: tenths of seconds, tens   k    the endpoint closes
 *   . ,      turns of the loop until nothing moves; one
 *   * a      the allocation after the next a fails
 *   @        the command behind it, of a job, is done inside of the next callback
 *
 * Digits are their value, small letters go on from there, other arguments are the
 * byte's. Every turn is answered once, or its client has left; what becomes of handlers
 * is the era's. At the end all is closed, and nothing may be left.
 */
#include <poll.h>

#include "endpoint_requests.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define SECOND INT64_C(1000000)

enum { ENOUGH_STEPS = 20000 };

/* ---- time and turns -------------------------------------------------------- */

static bool
is_busy(struct mcpi_loop *loop)
{
    struct pollfd fd = {.fd = mcpi_loop_fd(loop), .events = POLLIN};

    return mcpi_loop_timeout_ms(loop) == 0 || poll(&fd, 1, 0) > 0;
}

static void
turn_once(struct fuzz *f)
{
    CHECK(mcpi_loop_step(f->loop) == 0);
    clients_settle(f);
    check(f);
}

/* An endpoint that is never quiet is a fault. */
static void
run(struct fuzz *f)
{
    int steps = 0;

    do {
        turn_once(f);
        CHECK(++steps < ENOUGH_STEPS);
    } while (is_busy(f->loop));
    check_quiet(f);
}

static void
pass(struct fuzz *f, int64_t us)
{
    f->now += us;
    (void)mcpi_timers_expire(mcpi_loop_timers(f->loop), f->now);
    run(f);
}

/* ---- commands -------------------------------------------------------------- */

static unsigned
argument(struct fuzz *f)
{
    unsigned byte = f->at < f->stop ? *f->at++ : 0;

    if (byte >= '0' && byte <= '9')
        return byte - '0';
    return byte >= 'a' && byte <= 'z' ? byte - 'a' + 10 : byte;
}

/* What may be done anywhere, also inside of a callback. */
static bool
act(struct fuzz *f, const struct reaction *todo)
{
    if (todo->letter != '\0' && strchr("fepynu", todo->letter))
        job_command(f, todo->letter, todo->a);
    else if (todo->letter == 'P')
        publish(f, todo->a);
    else if (todo->letter == 'T')
        ticket_answer(f, todo->a);
    else
        return false;
    return true;
}

static void
react(struct fuzz *f)
{
    struct reaction todo;

    if (f->reaction_count == 0 || f->depth == 3)
        return;
    todo = f->reactions[--f->reaction_count];
    f->depth++;
    (void)act(f, &todo);
    f->depth--;
}

static void
ask(struct fuzz *f, int letter)
{
    unsigned a = letter == 'o' ? 0 : argument(f);
    unsigned b = strchr("mlgO", letter) ? argument(f) : 0;
    unsigned c = strchr("lO", letter) ? argument(f) : 0;

    if (!f->endpoint)
        return;
    if (letter == 'm')
        post_modern(f, a, b);
    else if (letter == 'l')
        post_legacy(f, a, b, c);
    else if (letter == 'g')
        of_session(f, "GET", a, b);
    else if (letter == 'd')
        of_session(f, "DELETE", a, 0);
    else if (letter == 'o')
        request(f, "GET", "/sse", NULL, "", NULL);
    else if (letter == 'O')
        post_2024(f, a, b, c);
    else
        request(f, methods[a % COUNT(methods)], "/mcp", NULL, "", NULL);
}

static void
set(struct fuzz *f, int letter)
{
    unsigned a = argument(f);

    if (letter == 'c')
        f->current = a % CLIENTS;
    else if (letter == 'S')
        f->piece = a;
    else if (letter == 'a')
        f->credential = a;
    else if (letter == 'v')
        f->flavor = a % FLAVORS;
    else if (letter == '*')
        f->failing = (long)a;
    else
        pass(f, a * (letter == 'z' ? 10 * SECOND : SECOND / 10));
}

static void
plan(struct fuzz *f)
{
    struct reaction todo = {.letter = f->at < f->stop ? *f->at++ : 0};

    todo.a = argument(f);
    if (f->reaction_count < REACTIONS)
        f->reactions[f->reaction_count++] = todo;
}

static void
world_stop(struct fuzz *f)
{
    f->closing = true;
    if (f->endpoint)
        mcpi_endpoint_close(f->endpoint);
    CHECK(!f->endpoint || f->closed == 0); /* not from inside */
}

static void
command(struct fuzz *f)
{
    struct reaction todo = {.letter = *f->at++};

    if (todo.letter == '\0')
        return;
    if (strchr("fepynuPT", todo.letter)) {
        todo.a = argument(f);
        (void)act(f, &todo);
    } else if (strchr("mlgdoOh", todo.letter)) {
        ask(f, todo.letter);
    } else if (strchr("cSavtz*", todo.letter)) {
        set(f, todo.letter);
    } else if (strchr("bwWx", todo.letter)) {
        client_command(f, todo.letter);
    } else if (todo.letter == '>') {
        send_raw(f);
    } else if (todo.letter == '@') {
        plan(f);
    } else if (todo.letter == 'k') {
        world_stop(f);
    } else if (todo.letter == ',') {
        turn_once(f);
    } else if (todo.letter == '.') {
        run(f);
    }
    clients_settle(f);
    check(f);
}

/* ---- a world --------------------------------------------------------------- */

static int64_t
on_clock(void *user)
{
    return ((const struct fuzz *)user)->now;
}

static void
on_closed(void *user, struct mcpi_endpoint *endpoint)
{
    struct fuzz *f = user;

    CHECK(++f->closed == 1);
    for (size_t i = 0; i < CLIENTS; i++)
        CHECK(!f->clients[i] || !f->clients[i]->turn.served);
    f->endpoint = NULL;
    mcpi_endpoint_free(endpoint);
}

static void
on_changed(void *user, int connections, int sessions, int streams)
{
    struct fuzz *f = user;

    CHECK(connections == 0);
    f->sessions_open += sessions;
    f->streams_open += streams;
}

static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    (void)user;
    (void)level;
    CHECK(strlen(line) <= MCPI_LOG_LINE);
}

/* One loop for all: the system makes them slowly. */
static struct mcpi_loop *
loop_get(void)
{
    static const struct mcpi_log log = {.fn = on_log, .level = MCP_LOG_DEBUG};
    static struct mcpi_loop *loop;

    if (!loop)
        CHECK(mcpi_loop_new(NULL, &log, &loop) == 0);
    return loop;
}

static void
read_options(struct fuzz *f, const char *letters)
{
    static const char *const origins[] = {"https://app.example", NULL};
    bool small = strchr(letters, 't') != NULL;

    f->small_store = strchr(letters, 'E') != NULL;
    f->http = MCP_HTTP_OPTIONS(.host = "127.0.0.1", .path = "/mcp", .threads = 1,
                               .retry_ms = 1000, .ping_ms = 15000, .head_ms = 10000,
                               .body_ms = 60000, .idle_ms = 75000, .write_ms = 30000,
                               .session_idle_ms = 1800000, .connections = 16,
                               .sessions = small ? 2 : 100,
                               .session_streams = small ? 1 : 64,
                               .body_bytes = small ? 1024 : 65536,
                               .head_bytes = small ? 1024 : 8192,
                               .json = strchr(letters, 'j') != NULL,
                               .stateless = strchr(letters, 's') != NULL,
                               .stateless_runs_on = strchr(letters, 'r') != NULL,
                               .silent_end = strchr(letters, 'q') != NULL,
                               .origins = origins, .message_path = "/message");
    if (strchr(letters, 'o'))
        f->http.sse_path = "/sse";
    if (strchr(letters, 'e') || f->small_store)
        f->http.store = &f->store;
    if (strchr(letters, 'i')) {
        f->http.identify = on_identify;
        f->http.identify_user = f;
    }
    if (strchr(letters, 'P'))
        f->http.ping_ms = 300;
    if (strchr(letters, 'p'))
        f->http.ping_ms = -1;
    if (strchr(letters, 'I'))
        f->http.session_idle_ms = 1500;
}

static void
engine_open(struct fuzz *f, enum mcpi_era era, bool small)
{
    const struct mcpi_engine_options opt = {
        .mem = &f->mem,
        .role = MCPI_SERVER,
        .era = era,
        .identity = {.info = "{\"name\":\"fuzz\",\"version\":\"1\"}"},
        .timers = mcpi_loop_timers(f->loop),
        .router = &router,
        .router_user = f,
        .log = *mcpi_loop_log(f->loop),
        .limits = {.in_flight = small ? 3 : 24,
                   .message_bytes = small ? 512 : 8192,
                   .queued_bytes = small ? 512 : 4096,
                   .listeners = small ? 2 : 16,
                   .subscribed = small ? 2 : 16},
        .times = {.run = small ? 3 * SECOND : 0},
    };

    CHECK(mcpi_engine_new(&opt, &f->engine) == 0);
}

/* There is enough for everybody, but for sessions: what counts is that all of it is given
 * back. */
static void
accounts_open(struct fuzz *f)
{
    CHECK(mcpi_accounts_new(&f->mem, &f->accounts) == 0);
    for (int i = 0; i < MCPI_HOLDINGS; i++)
        mcpi_budget_raise(mcpi_accounts_budget(f->accounts), (enum mcpi_holding)i,
                          i == MCPI_HELD_SESSIONS ? f->http.sessions : SIZE_MAX / 2);
    f->account = mcpi_accounts_get(f->accounts, "anybody", 7);
    CHECK(f->account);
}

static void
accounts_close(struct fuzz *f)
{
    const struct mcpi_budget *budget = mcpi_accounts_budget(f->accounts);

    for (int i = 0; i < MCPI_HOLDINGS; i++)
        CHECK(atomic_load(&budget->used[i]) == 0);
    CHECK(mcpi_accounts_count(f->accounts) == 1);
    mcpi_account_unref(f->account);
    mcpi_accounts_unref(f->accounts);
}

static void
world_open(struct fuzz *f, const char *letters)
{
    bool modern = strchr(letters, 'm') != NULL, legacy = strchr(letters, 'l') != NULL;
    enum mcpi_era era = MCPI_ERA_BOTH;
    struct mcpi_endpoint_options opt = {.modern = modern || !legacy,
                                        .legacy = !modern,
                                        .http = &f->http,
                                        .loopback = true,
                                        .port = 8080,
                                        .shards = 1,
                                        .gauges = {on_changed, f},
                                        .closed = on_closed,
                                        .user = f};

    f->mem = (mcp_allocator){count_alloc, count_realloc, count_free, f};
    f->failing = -1;
    f->now = 1000 * SECOND;
    f->store = MCP_EVENT_STORE(.append = store_append, .replay = store_replay,
                               .forget = store_forget, .self = f);
    read_options(f, letters);
    CHECK(mcp_memory_store_new(&f->mem, f->small_store ? 600 : 0, &f->memory) == 0);
    f->loop = opt.loop = loop_get();
    mcpi_loop_set_clock(f->loop, on_clock, f);
    if (modern || legacy)
        era = modern ? MCPI_ERA_MODERN : MCPI_ERA_LEGACY;
    engine_open(f, era, strchr(letters, 't') != NULL);
    accounts_open(f);
    opt.clients.accounts = f->accounts;
    opt.engine = f->engine;
    CHECK(mcpi_endpoint_new(&opt, &f->endpoint) == 0);
    mcpi_http_parsers_init(&f->parsers, &f->mem, f->http.head_bytes,
                           f->http.body_bytes);
    mcpi_buf_init(&f->refusal, &f->mem, 4096);
}

/* It closes within its bounds, whatever clients, handlers and the hook do. */
static void
world_part(struct fuzz *f)
{
    f->failing = -1;
    f->reaction_count = 0;
    world_stop(f);
    run(f);
    for (int i = 0; i < 10 && f->endpoint; i++)
        pass(f, 10 * SECOND);
    CHECK(!f->endpoint && f->closed == 1);
    CHECK(f->sessions_open == 0 && f->streams_open == 0);
    for (size_t i = 0; i < CLIENTS; i++)
        CHECK(!f->clients[i]);
}

static void
world_close(struct fuzz *f)
{
    world_part(f);
    for (size_t i = 0; i < f->job_count; i++) {
        struct job *job = &f->jobs[i];

        CHECK(job->x->ending != MCPI_OPEN && (!job->running || job->deaf));
        CHECK(job->told == (job->x->ending != MCPI_ANSWERED && !job->untold));
        if (job->running)
            job_finish(job, 0);
        mcpi_exchange_unref(job->x);
    }
    f->job_count = 0;
    while (f->ticket_count > 0)
        ticket_answer(f, 0);
    run(f);
    CHECK(f->engine->counts.held == 0 && f->engine->counts.calls == 0);
    CHECK(f->asked == f->told);
    CHECK(mcpi_engine_free(f->engine) == 0);
    accounts_close(f);
    CHECK(mcpi_timers_next(mcpi_loop_timers(f->loop)) == MCPI_NEVER);
    mcpi_http_parsers_done(&f->parsers);
    mcpi_buf_done(&f->refusal);
    mcp_memory_store_free(f->memory);
    CHECK(f->blocks == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fuzz f;
    char letters[32];
    size_t count = 0;

    memset(&f, 0, sizeof(f));
    f.at = data;
    f.stop = data + size;
    while (f.at < f.stop && *f.at != '\n' && count < sizeof(letters) - 1)
        letters[count++] = (char)*f.at++;
    letters[count] = '\0';
    f.at += f.at < f.stop;
    world_open(&f, letters);
    while (f.at < f.stop)
        command(&f);
    world_close(&f);
    return 0;
}
