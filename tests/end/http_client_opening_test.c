/*
 * http_client_opening_test.c - how a client over HTTP finds out what its server speaks,
 * and what it leaves behind if it is not let
 *
 * getaddrinfo is ours here: it gives loopback, and not before the test says so.
 */
#include "end/http_client_rig.h"

#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>

#define JSON "application/json"
#define SSE "text/event-stream"
#define GIVEN_MS 2500

/* ---- names --------------------------------------------------------------- */

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int inside; /* how many are in there */
    bool shut;  /* they may not return */
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* Seen by libcurl, unlike the rest of a program of ours. */
__attribute__((visibility("default"))) int
getaddrinfo(const char *name, const char *service, const struct addrinfo *req,
            struct addrinfo **pai)
{
    (void)name, (void)service, (void)req, (void)pai;
    pthread_mutex_lock(&gate.lock);
    gate.inside++;
    pthread_cond_broadcast(&gate.changed);
    while (gate.shut)
        pthread_cond_wait(&gate.changed, &gate.lock);
    gate.inside--;
    pthread_mutex_unlock(&gate.lock);
    return EAI_NONAME;
}

static void
gate_set(bool shut)
{
    pthread_mutex_lock(&gate.lock);
    gate.shut = shut;
    pthread_cond_broadcast(&gate.changed);
    pthread_mutex_unlock(&gate.lock);
}

static int
gate_count(void)
{
    int inside;

    pthread_mutex_lock(&gate.lock);
    inside = gate.inside;
    pthread_mutex_unlock(&gate.lock);
    return inside;
}

/* ---- an opening ---------------------------------------------------------- */

/* A case that fails leaves it behind, for threads may still use it. */
struct place {
    struct rig r;
};

static struct place *
place_open(const struct rig_options *given)
{
    struct place *p = calloc(1, sizeof(*p));
    struct rig_options opt = {.ungreeted = true};

    assert_non_null(p);
    if (given)
        opt = *given;
    opt.ungreeted = true;
    rig_open(&p->r, CELL_MODERN, false, &opt);
    return p;
}

static void
place_close(struct place *p)
{
    rig_close(&p->r);
    free(p);
}

/* It could not be made: with that status; nothing else has come, and nothing will. */
static void
place_fails(struct place *p, int status)
{
    RIG_UNTIL(atomic_load(&p->r.states) == 1);
    if (p->r.state != status)
        fail_msg("%s, not %s", mcp_status_name(p->r.state), mcp_status_name(status));
    rig_done(&p->r);
    free(p);
}

/* From now on it is spoken to as one of that kind. */
static void
become(struct place *p, unsigned cell)
{
    p->r.cell = cell;
}

#define HELLO(version)                                                               \
    "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"" version "\"," \
    "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"n\",\"version\":"    \
    "\"1\"}}}"

static void
finish_greeting(struct place *p)
{
    struct visit v;

    rig_take(&p->r, &v, "notifications/initialized");
    rig_say(&v, "202 Accepted", NULL, "");
    visit_accept(&v, &p->r.s);
    visit_read(&v);
    assert_true(visit_asks(&v, "GET /mcp"));
    rig_say(&v, "405 Method Not Allowed", NULL, "");
    rig_await_ready(&p->r);
}

static void
greet_legacy(struct place *p)
{
    struct visit v;

    become(p, CELL_STATELESS);
    rig_take(&p->r, &v, "initialize");
    rig_say(&v, "200 OK", JSON, HELLO("2025-11-25"));
    finish_greeting(p);
}

static void
refuse_probe(struct place *p, const char *status, const char *type, const char *body)
{
    struct visit v;

    rig_take(&p->r, &v, "server/discover");
    rig_say(&v, status, type, body);
}

/* ---- X12: what says which era -------------------------------------------- */

struct probe {
    const char *status, *type, *body;
    int result; /* 0: it is legacy */
};

#define DISCOVER_ERROR(code, data)                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":\"libmcp:discover\",\"error\":{\"code\":" code \
    ",\"message\":\"m\"" data "}}"

static struct probe legacy_probes[] = {
    {"400 Bad Request", NULL, "", 0},
    {"400 Bad Request", JSON, DISCOVER_ERROR("-32600", ""), 0},
    {"400 Bad Request", JSON, DISCOVER_ERROR("-32601", ""), 0},
    {"400 Bad Request", JSON,
     "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":\"no session\"}}", 0},
    {"400 Bad Request", JSON,
     DISCOVER_ERROR("-32022", ",\"data\":{\"supported\":[\"2025-11-25\"],"
                              "\"requested\":\"2026-07-28\"}"),
     0},
    {"200 OK", JSON, DISCOVER_ERROR("-32601", ""), 0},
    {"404 Not Found", "text/html", "<p>Not here</p>", 0},
    {"405 Method Not Allowed", NULL, "", 0},
    {"406 Not Acceptable", NULL, "", 0},
    {"500 Internal Server Error", "text/plain", "oh", 0},
    {"200 OK", JSON, "garbage", 0},
    {"200 OK", "text/html", "<p>Hello</p>", 0},
    {"200 OK", JSON, "{\"jsonrpc\":\"2.0\",\"id\":\"libmcp:discover\",\"result\":{}}",
     0},
    {"202 Accepted", NULL, "", 0},
};

static void
is_legacy(void **state)
{
    const struct probe *probe = *state;
    struct place *p = place_open(NULL);

    refuse_probe(p, probe->status, probe->type, probe->body);
    greet_legacy(p);
    assert_string_equal(mcp_client_version(p->r.client), "2025-11-25");
    rig_works(&p->r);
    place_close(p);
}

static struct probe neutral_probes[] = {
    {"401 Unauthorized", NULL, "", MCP_E_HTTP},
    {"403 Forbidden", "text/html", "<p>No</p>", MCP_E_HTTP},
    {"407 Proxy Authentication Required", NULL, "", MCP_E_HTTP},
    {"429 Too Many Requests", NULL, "", MCP_E_HTTP},
    {"502 Bad Gateway", NULL, "", MCP_E_HTTP},
    {"503 Service Unavailable", NULL, "", MCP_E_HTTP},
    {"504 Gateway Timeout", NULL, "", MCP_E_HTTP},
};

static void
is_nobody(void **state)
{
    const struct probe *probe = *state;
    struct place *p = place_open(NULL);

    refuse_probe(p, probe->status, probe->type, probe->body);
    place_fails(p, probe->result);
}

static void
X12_one_who_knows_the_modern_errors_is_modern(void **state)
{
    struct place *p = place_open(NULL);

    (void)state;
    refuse_probe(p, "400 Bad Request", JSON, DISCOVER_ERROR("-32021", ""));
    rig_await_ready(&p->r);
    assert_string_equal(mcp_client_version(p->r.client), "2026-07-28");
    rig_works(&p->r);
    place_close(p);
}

static void
X12_B17_B18_silence_ends_the_opening(void **state)
{
    const struct rig_options opt = {.client.probe_ms = GIVEN_MS};
    struct place *p = place_open(&opt);
    struct visit v;

    (void)state;
    rig_take(&p->r, &v, "server/discover");
    virtual_clock_pass(&p->r.clock, GIVEN_MS);
    visit_await_gone(&v);
    visit_close(&v);
    place_fails(p, MCP_E_TIMEOUT);
}

static void
X12_a_probe_that_is_cut_off_ends_the_opening(void **state)
{
    struct place *p = place_open(NULL);
    struct visit v;

    (void)state;
    rig_take(&p->r, &v, "server/discover");
    visit_reset(&v);
    place_fails(p, MCP_E_CLOSED);
}

/* ---- B16 to B18: nothing is said of an opening that is given up ---------- */

struct leaving {
    const char *name;
    enum mcp_era era;
    bool scope; /* it is canceled by its scope; else the client is closed */
};

static struct leaving leavings[] = {
    {"server/discover", MCP_ERA_BOTH, true},
    {"server/discover", MCP_ERA_BOTH, false},
    {"initialize", MCP_ERA_LEGACY, true},
    {"initialize", MCP_ERA_LEGACY, false},
};

static void
leave(struct place *p, mcp_scope *scope, bool by_scope)
{
    if (by_scope)
        assert_int_equal(mcp_scope_cancel(scope, NULL), 0);
    else
        mcp_client_close(p->r.client);
}

static void
is_not_framed(void **state)
{
    const struct leaving *leaving = *state;
    struct rig_options opt = {.client.era = leaving->era};
    struct place *p;
    mcp_scope *scope;
    struct visit v;

    assert_int_equal(mcp_scope_new(NULL, &scope), 0);
    opt.client.scope = scope;
    p = place_open(&opt);
    if (leaving->era == MCP_ERA_LEGACY)
        become(p, CELL_STATELESS);
    rig_take(&p->r, &v, leaving->name);
    leave(p, scope, leaving->scope);
    visit_await_gone(&v);
    visit_close(&v);
    mcp_scope_free(scope);
    place_fails(p, leaving->scope ? MCP_E_CANCELED : MCP_E_CLOSED);
}

static void
B16_B18_initialize_that_is_not_answered_is_dropped(void **state)
{
    const struct rig_options opt = {.client.era = MCP_ERA_LEGACY,
                                    .client.hello_ms = GIVEN_MS};
    struct place *p = place_open(&opt);
    struct visit v;

    (void)state;
    become(p, CELL_STATELESS);
    rig_take(&p->r, &v, "initialize");
    virtual_clock_pass(&p->r.clock, GIVEN_MS);
    visit_await_gone(&v);
    visit_close(&v);
    place_fails(p, MCP_E_TIMEOUT);
}

/* ---- while a name is looked up ------------------------------------------- */

static mcp_client *
dial_slow(enum mcp_era era, mcp_scope *scope, int64_t probe_ms, const char *discovery)
{
    mcp_client *client = NULL;
    mcp_error err = {0};

    gate_set(true);
    if (mcp_client_connect_http(
            "http://slow.invalid/mcp", NULL,
            &MCP_CLIENT_OPTIONS(.name = "n", .version = "1", .no_wait = true,
                                .era = era, .scope = scope, .probe_ms = probe_ms,
                                .discovery = discovery),
            &client, &err) < 0)
        fail_msg("%s", err.message);
    return client;
}

static void
gate_open(void)
{
    gate_set(false);
    RIG_UNTIL(gate_count() == 0);
}

/* The lookup still hangs when the client is gone. */
static void
E3_B18_an_opening_is_given_up_while_a_name_is_looked_up(void **state)
{
    const enum mcp_era *era = *state;
    mcp_client *client = dial_slow(*era, NULL, 0, NULL);

    RIG_UNTIL(gate_count() == 1);
    mcp_client_free(client);
    assert_int_equal(gate_count(),
                     1); /* the gate is shut still: nobody waited for it */
    gate_open();
}

struct slow_call {
    mcp_client *client;
    mcp_scope *scope;
    mcp_call *call;
    struct virtual_clock clock; /* of the client */
};

static void
slow_cancel(struct slow_call *c)
{
    assert_int_equal(mcp_call_cancel(c->call, NULL), 0);
}

static void
slow_scope(struct slow_call *c)
{
    assert_int_equal(mcp_scope_cancel(c->scope, NULL), 0);
}

static void
slow_close(struct slow_call *c)
{
    mcp_client_close(c->client);
}

static void
slow_wait(struct slow_call *c)
{
    virtual_clock_pass(&c->clock, GIVEN_MS);
}

struct slow_cause {
    void (*strike)(struct slow_call *c);
    int status;
    mcp_call_options opt;
};

static struct slow_cause slow_causes[] = {
    {slow_cancel, MCP_E_CANCELED, {0}},
    {slow_scope, MCP_E_CANCELED, {0}},
    {slow_close, MCP_E_CLOSED, {0}},
    {slow_wait, MCP_E_TIMEOUT, {.timeout_ms = GIVEN_MS}},
    {slow_wait, MCP_E_TOTAL_TIMEOUT, {.total_ms = GIVEN_MS}},
};

static void
E3_a_call_ends_while_a_name_is_looked_up(void **state)
{
    struct slow_cause *cause = *state;
    struct slow_call c = {.call = NULL};

    c.client = dial_slow(MCP_ERA_MODERN, NULL, 0,
                         "{\"resultType\":\"complete\",\"supportedVersions\":["
                         "\"2026-07-28\"],\"capabilities\":{},\"ttlMs\":0,"
                         "\"cacheScope\":\"private\"}");
    rig_clock_hold(&c.clock, c.client);
    assert_int_equal(mcp_scope_new(NULL, &c.scope), 0);
    cause->opt.size = sizeof(cause->opt);
    cause->opt.scope = c.scope;
    assert_int_equal(
        mcp_client_start(c.client, "x/any", NULL, &cause->opt, NULL, NULL, &c.call), 0);
    RIG_UNTIL(gate_count() == 1);
    cause->strike(&c);
    assert_int_equal(mcp_call_wait(c.call, AWAIT_MS, NULL, NULL), cause->status);
    assert_int_equal(gate_count(), 1); /* nobody waited for it */
    mcp_call_free(c.call);
    mcp_client_free(c.client);
    mcp_scope_free(c.scope);
    gate_open();
}

/* ---- 2024-11-05 ---------------------------------------------------------- */

/* Both eras are refused; then the stream that an old server would have is asked for. */
static void
refuse_both(struct place *p, const char *status, struct visit *get)
{
    struct visit v;

    refuse_probe(p, status, NULL, "");
    become(p, CELL_OLD);
    rig_take(&p->r, &v, "initialize");
    rig_say(&v, status, NULL, "");
    visit_accept(get, &p->r.s);
    visit_read(get);
    assert_true(visit_asks(get, "GET /mcp"));
    assert_string_equal(visit_field(get, "Accept"), SSE);
}

static void
D23_an_old_server_is_found(void **state)
{
    struct place *p = place_open(NULL);
    struct visit v;

    refuse_both(p, *state, &p->r.inlet);
    rig_head(&p->r.inlet, "200 OK", SSE, "");
    visit_say(&p->r.inlet, "event: endpoint\ndata: /message\n\n");
    visit_accept(&v, &p->r.s);
    visit_read(&v);
    assert_true(visit_asks(&v, "POST /message"));
    assert_non_null(strstr(v.body, "\"initialize\""));
    rig_say(&v, "202 Accepted", NULL, "");
    rig_event(&p->r.inlet, HELLO("2024-11-05"));
    rig_take(&p->r, &v, "notifications/initialized");
    rig_say(&v, "202 Accepted", NULL, "");
    rig_await_ready(&p->r);
    assert_string_equal(mcp_client_version(p->r.client), "2024-11-05");
    rig_works(&p->r);
    place_close(p);
}

struct no_old {
    const char *status, *type, *says;
};

static struct no_old no_olds[] = {
    {"405 Method Not Allowed", NULL, ""},
    {"200 OK", "text/html", "<p>Hello</p>"},
    {"200 OK", SSE, ""},
    {"200 OK", SSE, "event: endpoint\ndata: http://127.0.0.1:1/message\n\n"},
    {"200 OK", SSE, "event: endpoint\ndata: https://other.example/message\n\n"},
    {"200 OK", SSE, "event: endpoint\ndata: //other.example/message\n\n"},
    {"200 OK", SSE, "event: endpoint\ndata: ftp://x/\n\n"},
    {"200 OK", SSE, "data: {\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n\n"},
};

static void
D23_the_first_refusal_counts(void **state)
{
    const struct no_old *no = *state;
    struct place *p = place_open(NULL);
    struct visit get;

    refuse_both(p, "404 Not Found", &get);
    rig_head(&get, no->status, no->type, "");
    visit_say(&get, no->says);
    visit_close(&get);
    place_fails(p, MCP_E_HTTP);
}

static char refused_400[] = "400 Bad Request", refused_404[] = "404 Not Found",
            refused_405[] = "405 Method Not Allowed";
static enum mcp_era both = MCP_ERA_BOTH, legacy = MCP_ERA_LEGACY;

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define CASES_MAX 64

static struct test_case cases[CASES_MAX];
static char names[CASES_MAX][96];
static size_t used;

static void
add(const char *name, void (*run)(void **state), void *state)
{
    assert_true(used < CASES_MAX);
    (void)snprintf(names[used], sizeof(names[used]), "%s_%zu", name, used);
    cases[used] = (struct test_case){names[used], run, state};
    used++;
}

int
main(void)
{
    for (size_t i = 0; i < COUNT(legacy_probes); i++)
        add("X12_is_legacy", is_legacy, &legacy_probes[i]);
    for (size_t i = 0; i < COUNT(neutral_probes); i++)
        add("X12_is_nobody", is_nobody, &neutral_probes[i]);
    for (size_t i = 0; i < COUNT(leavings); i++)
        add("B16_B17_B18_is_not_framed", is_not_framed, &leavings[i]);
    for (size_t i = 0; i < COUNT(slow_causes); i++)
        add("E3_B5_a_call_ends_while_a_name_is_looked_up",
            E3_a_call_ends_while_a_name_is_looked_up, &slow_causes[i]);
    for (size_t i = 0; i < COUNT(no_olds); i++)
        add("D23_the_first_refusal_counts", D23_the_first_refusal_counts, &no_olds[i]);
    add("D23_an_old_server_is_found", D23_an_old_server_is_found, refused_400);
    add("D23_an_old_server_is_found", D23_an_old_server_is_found, refused_404);
    add("D23_an_old_server_is_found", D23_an_old_server_is_found, refused_405);
    add("E3_B18_given_up_while_a_name_is_looked_up",
        E3_B18_an_opening_is_given_up_while_a_name_is_looked_up, &both);
    add("E3_B18_given_up_while_a_name_is_looked_up",
        E3_B18_an_opening_is_given_up_while_a_name_is_looked_up, &legacy);
    add("X12_one_who_knows_the_modern_errors_is_modern",
        X12_one_who_knows_the_modern_errors_is_modern, NULL);
    add("B17_B18_silence_ends_the_opening", X12_B17_B18_silence_ends_the_opening, NULL);
    add("X12_a_probe_that_is_cut_off", X12_a_probe_that_is_cut_off_ends_the_opening,
        NULL);
    add("B16_B18_initialize_that_is_not_answered",
        B16_B18_initialize_that_is_not_answered_is_dropped, NULL);
    return test_main(__FILE__, cases, used);
}
