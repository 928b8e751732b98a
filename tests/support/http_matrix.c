/* support/http_matrix.c - what must hold over HTTP: its server, and running cases */
#include "support/http_matrix.h"

#include <poll.h>
#include <time.h>

#include "api/server.h"

static const struct {
    unsigned cell;
    const char *name;
} cells[] = {{MODERN_SSE, "modern_sse"},
             {MODERN_JSON, "modern_json"},
             {LEGACY_SSE, "legacy_sse"},
             {LEGACY_JSON, "legacy_json"},
             {STATELESS, "legacy_stateless"}};
#define CELLS (sizeof(cells) / sizeof(cells[0]))

/* ---- waiting, with a bound ------------------------------------------------- */

int64_t
matrix_now_ms(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (int64_t)at.tv_sec * 1000 + at.tv_nsec / 1000000;
}

void
matrix_pause(void)
{
    const struct timespec brief = {0, 200000};

    nanosleep(&brief, NULL);
}

/* ---- handlers -------------------------------------------------------------- */

static void
job_told(void *user)
{
    struct matrix_job *job = user;

    atomic_fetch_add(&job->told, 1);
}

static void
job_cleaned(void *user)
{
    struct matrix_job *job = user;

    atomic_fetch_add(&job->cleaned, 1);
}

/* From now on the case can see it. */
static struct matrix_job *
job_begin(struct matrix *m, mcp_request *req, bool holds)
{
    int n = atomic_fetch_add(&m->slots, 1);
    struct matrix_job *job = &m->jobs[n < MATRIX_JOBS ? n : MATRIX_JOBS - 1];

    job->m = m;
    job->req = holds ? req : NULL;
    (void)snprintf(job->id, sizeof(job->id), "%s", mcp_request_id(req));
    (void)mcp_request_on_cancel(req, job_told, job, NULL);
    (void)mcp_request_defer(req, job_cleaned, job);
    atomic_store(&job->begun, true);
    return job;
}

static int
job_leave(struct matrix_job *job, int status)
{
    job->status = status;
    atomic_store(&job->ended, true);
    return status;
}

static int
tool_echo(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *text = mcp_json_get(mcp_request_arguments(req), "text");

    (void)user;
    return mcp_result_textf(out, "%s to <%s>", mcp_json_string(text, ""),
                            mcp_request_principal(req));
}

static int
tool_hold(mcp_request *req, mcp_result *out, void *user)
{
    (void)out;
    (void)job_begin(user, req, true);
    return 0;
}

static int
tool_sleep(mcp_request *req, mcp_result *out, void *user)
{
    struct matrix_job *job = job_begin(user, req, false);

    (void)out;
    return job_leave(job, mcp_request_sleep(req, 600000));
}

static void
gate_wait(struct matrix *m)
{
    int64_t end = matrix_now_ms() + MATRIX_BOUND_MS;

    while (!atomic_load(&m->open) && matrix_now_ms() < end)
        matrix_pause();
}

static int
tool_deaf(mcp_request *req, mcp_result *out, void *user)
{
    struct matrix_job *job = job_begin(user, req, false);

    gate_wait(job->m);
    (void)job_leave(job, 0);
    return mcp_result_text(out, "heard nothing");
}

static int
tool_roots(mcp_request *req, mcp_result *out, void *user)
{
    struct matrix_job *job = job_begin(user, req, false);
    const mcp_json *ms = mcp_json_get(mcp_request_arguments(req), "ms");
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    int r;

    if (mcp_json_get(mcp_request_arguments(req), "gate"))
        gate_wait(job->m);
    r = mcp_request_call(req, "roots/list", NULL,
                         &MCP_REQUEST_CALL_OPTIONS(.timeout_ms = mcp_json_int(ms, 0)),
                         &reply, &err);
    mcp_reply_free(reply);
    (void)job_leave(job, r);
    return mcp_result_textf(out, "roots: %s", mcp_status_text(r));
}

/* Twice through here, once if nobody can be asked. */
static int
tool_form(mcp_request *req, mcp_result *out, void *user)
{
    static const char schema[] = "{\"type\":\"object\",\"properties\":{\"name\":"
                                 "{\"type\":\"string\"}},\"required\":[\"name\"]}";
    struct matrix *m = user;
    const mcp_json *answer = mcp_request_answer(req, "who");
    const mcp_json *content = mcp_json_get(answer, "content");

    if (!answer) {
        (void)job_leave(job_begin(m, req, false), 0);
        return mcp_request_elicit(
            req, "who", &MCP_ELICIT(.message = "Who are you?", .schema = schema));
    }
    if (mcp_request_action(req, "who") == MCP_DISMISSED)
        return mcp_result_text(out, "dismissed");
    return mcp_result_textf(out, "you are %s",
                            mcp_json_string(mcp_json_get(content, "name"), "?"));
}

static void
tools_add(struct matrix *m)
{
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "echo", .reply = tool_echo, .user = m),
        MCP_TOOL(.name = "hold", .start = tool_hold, .user = m),
        MCP_TOOL(.name = "quiet", .start = tool_hold, .user = m,
                 .flags = MCP_SIGNAL_ONLY),
        MCP_TOOL(.name = "brief", .start = tool_hold, .user = m, .limit_ms = 20),
        MCP_TOOL(.name = "sleep", .run = tool_sleep, .user = m),
        MCP_TOOL(.name = "deaf", .run = tool_deaf, .user = m),
        MCP_TOOL(.name = "roots", .run = tool_roots, .user = m),
        MCP_TOOL(.name = "form", .reply = tool_form, .user = m)};
    mcp_error err = {0};

    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
        if (mcp_server_add_tool(m->server, &tools[i], &err) < 0)
            fail_msg("%s", err.message);
    assert_int_equal(mcp_server_add_resource(
                         m->server,
                         &MCP_RESOURCE(.uri = "test://a", .name = "a", .text = "A"),
                         NULL),
                     0);
}

static void
on_cancel(mcp_request *req, const char *reason, void *user)
{
    struct matrix *m = user;

    (void)req;
    (void)snprintf(m->reason, sizeof(m->reason), "%s", reason);
    atomic_fetch_add(&m->seen, 1);
}

/* ---- jobs ------------------------------------------------------------------ */

struct matrix_job *
matrix_job(struct matrix *m, int n)
{
    MATRIX_UNTIL(atomic_load(&m->jobs[n].begun));
    return &m->jobs[n];
}

void
matrix_expect_jobs(struct matrix *m, int count)
{
    assert_int_equal(atomic_load(&m->slots), count);
}

static void
job_finish(struct matrix_job *job, int status)
{
    mcp_request *req = job->req;

    job->req = NULL;
    assert_non_null(req);
    mcp_request_finish(req, status);
    (void)job_leave(job, status);
}

void
matrix_finish(struct matrix_job *job, const char *text)
{
    assert_int_equal(mcp_result_text(mcp_request_result(job->req), text), 0);
    job_finish(job, 0);
}

void
matrix_end_job(struct matrix_job *job)
{
    job_finish(job, MCP_E_CANCELED);
}

void
matrix_expect_told(struct matrix_job *job)
{
    struct pollfd one = {.events = POLLIN};

    MATRIX_UNTIL(atomic_load(&job->told) > 0);
    assert_true(mcp_request_is_canceled(job->req));
    assert_int_equal(mcp_request_cancel_fd(job->req, &one.fd), 0);
    assert_int_equal(poll(&one, 1, 0), 1);
    assert_int_equal(mcp_request_progress(job->req, 1e9, 0, "not heard"),
                     MCP_E_CANCELED);
    assert_int_equal(atomic_load(&job->told), 1);
}

/* ---- what it counts -------------------------------------------------------- */

mcp_server_counts
matrix_counts(struct matrix *m)
{
    mcp_server_counts counts = {.size = sizeof(counts)};

    assert_int_equal(mcp_server_count(m->server, &counts), 0);
    return counts;
}

static bool
is_at_rest(struct matrix *m, uint64_t connections, uint64_t streams)
{
    mcp_server_counts c = matrix_counts(m);

    return c.in_flight == 0 && c.live_handlers == 0 && c.queued == 0 &&
           c.busy_workers == 0 && c.connections == connections && c.streams == streams;
}

static void
matrix_fail_noisy(struct matrix *m)
{
    mcp_server_counts c = matrix_counts(m);

    fail_msg("not at rest: %d in flight, %d handlers, %d queued, %d busy, "
             "%d connections, %d streams, %d sessions; the log says:\n%s",
             (int)c.in_flight, (int)c.live_handlers, (int)c.queued, (int)c.busy_workers,
             (int)c.connections, (int)c.streams, (int)c.sessions, m->log);
}

void
matrix_rest(struct matrix *m, uint64_t connections, uint64_t streams)
{
    int64_t end = matrix_now_ms() + MATRIX_BOUND_MS;

    while (!is_at_rest(m, connections, streams)) {
        if (matrix_now_ms() > end)
            matrix_fail_noisy(m);
        matrix_pause();
    }
}

static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    struct matrix *m = user;
    size_t len;

    pthread_mutex_lock(&m->lock);
    len = strlen(m->log);
    (void)snprintf(m->log + len, sizeof(m->log) - len, "%d: %s\n", (int)level, line);
    pthread_mutex_unlock(&m->lock);
}

bool
matrix_logged(struct matrix *m, const char *part)
{
    bool found;

    pthread_mutex_lock(&m->lock);
    found = strstr(m->log, part) != NULL;
    pthread_mutex_unlock(&m->lock);
    return found;
}

/* ---- its life -------------------------------------------------------------- */

static void
server_make(struct matrix *m)
{
    mcp_server_options opt = m->what->server;
    mcp_error err = {0};

    opt.size = sizeof(opt);
    opt.name = "matrix";
    opt.version = "1.0";
    opt.allocator = &m->mem.allocator;
    opt.on_log = on_log;
    opt.log_user = m;
    opt.log_level = MCP_LOG_INFO;
    opt.changes_ms = -1;
    if (mcp_server_new(&opt, &m->server, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(
        mcp_server_use(m->server, &MCP_MIDDLEWARE(.on_cancel = on_cancel, .user = m)),
        0);
    tools_add(m);
}

static void
server_listen(struct matrix *m)
{
    mcp_http_options opt = m->what->http;
    char url[MCP_HTTP_URL_MAX];
    mcp_error err = {0};

    opt.size = sizeof(opt);
    opt.json = (m->cell & BODIES) != 0;
    opt.stateless = m->cell == STATELESS;
    opt.identify_user = m;
    if (m->what->store) {
        assert_int_equal(mcp_memory_store_new(&m->mem.allocator, 0, &m->store), 0);
        opt.store = mcp_memory_store_interface(m->store);
    }
    if (m->tls) {
        m->context = tls_pair_client(tls_pair_shared());
        opt.tls_certificate = tls_pair_shared()->certificate;
        opt.tls_key = tls_pair_shared()->key;
    }
    if (mcp_server_listen_http(m->server, &opt, url, &err) < 0)
        fail_msg("%s", err.message);
    m->port = (int)strtol(strrchr(url, ':') + 1, NULL, 10);
    assert_int_equal(mcp_server_start(m->server, NULL), 0);
}

/* The server has seen moments of the real clock, and does not go back behind them. */
void
matrix_hold_time(struct matrix *m)
{
    struct virtual_clock *clock = &m->clock;

    virtual_clock_init(clock);
    virtual_clock_hold(clock, m->server->trunk.host.inside);
    virtual_clock_pass(clock,
                       (mcpi_loop_clock() - virtual_clock_read(clock)) / 1000 + 1);
}

void
matrix_stop(struct matrix *m)
{
    m->stopped = true;
    mcp_server_stop(m->server);
}

/* Nothing may be left of what the case has done. */
static void
matrix_close(struct matrix *m)
{
    for (int i = 0; i < MATRIX_JOBS; i++)
        if (atomic_load(&m->jobs[i].begun) && m->jobs[i].req)
            matrix_end_job(&m->jobs[i]);
    atomic_store(&m->open, true);
    if (m->session && !m->stopped)
        assert_int_equal(matrix_delete(m), 200);
    matrix_rest(m, 0, 0);
    MATRIX_UNTIL(matrix_counts(m).sessions == 0);
    for (int i = 0; i < MATRIX_JOBS; i++)
        if (atomic_load(&m->jobs[i].begun))
            assert_int_equal(atomic_load(&m->jobs[i].cleaned), 1); /* E27 */
    mcp_server_free(m->server);
    mcp_memory_store_free(m->store);
    test_mem_done(&m->mem);
    if (m->tls)
        SSL_CTX_free(m->context);
    pthread_mutex_destroy(&m->lock);
    free(m->session);
    free(m);
}

/* ---- running the cases ----------------------------------------------------- */

/* One case in one cell: what a test_case carries. */
struct matrix_run {
    const struct matrix_case *what;
    unsigned cell;
    bool tls;
    char name[160];
};

static void
run_case(void **state)
{
    static unsigned conversation;
    const struct matrix_run *run = *state;
    struct matrix *m = calloc(1, sizeof(*m));

    assert_non_null(m);
    m->what = run->what;
    m->cell = run->cell;
    m->tls = run->tls;
    m->conversation = ++conversation;
    pthread_mutex_init(&m->lock, NULL);
    test_mem_init(&m->mem);
    server_make(m);
    server_listen(m);
    if (matrix_has_sessions(m) && !run->what->http.identify)
        m->session = matrix_hello(m, NULL);
    run->what->run(m);
    matrix_close(m);
}

static size_t
runs_add(struct matrix_run *runs, size_t count, const struct matrix_case *what)
{
    for (size_t i = 0; i < 2 * CELLS; i++) {
        struct matrix_run *run = &runs[count];

        if (!(what->cells & cells[i / 2].cell))
            continue;
        *run = (struct matrix_run){what, cells[i / 2].cell, i % 2 != 0, ""};
        (void)snprintf(run->name, sizeof(run->name), "%s.%s%s", cells[i / 2].name,
                       run->tls ? "tls." : "", what->name);
        count++;
    }
    return count;
}

int
matrix_main(const char *file, const struct matrix_table *tables, size_t count)
{
    struct matrix_run *runs;
    struct test_case *cases;
    size_t most = 0, used = 0;
    int r = 1;

    for (size_t i = 0; i < count; i++)
        most += 2 * CELLS * tables[i].count;
    runs = calloc(most + 1, sizeof(*runs));
    cases = calloc(most + 1, sizeof(*cases));
    if (runs && cases) {
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < tables[i].count; k++)
                used = runs_add(runs, used, &tables[i].cases[k]);
        for (size_t i = 0; i < used; i++)
            cases[i] = (struct test_case){runs[i].name, run_case, &runs[i]};
        r = test_main(file, cases, used);
    }
    free(cases);
    free(runs);
    return r;
}
