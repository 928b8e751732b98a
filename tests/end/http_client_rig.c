/* http_client_rig.c - a client of the public API, and a server that the test plays */
#include "end/http_client_rig.h"

#include <poll.h>
#include <sys/socket.h>

#include "api/client.h"
#include "end/probe.h"

int64_t
rig_now_ms(void)
{
    return mcpi_loop_clock() / 1000;
}

void
rig_pause(void)
{
    (void)poll(NULL, 0, 1);
}

/* ---- saying -------------------------------------------------------------- */

void
rig_head(struct visit *v, const char *status, const char *type, const char *more)
{
    char head[1024];

    (void)snprintf(
        head, sizeof(head), "HTTP/1.1 %s\r\n%s%s%sConnection: close\r\n%s\r\n", status,
        type ? "Content-Type: " : "", type ? type : "", type ? "\r\n" : "", more);
    visit_say(v, head);
}

void
rig_say(struct visit *v, const char *status, const char *type, const char *body)
{
    char length[64];

    (void)snprintf(length, sizeof(length), "Content-Length: %zu\r\n", strlen(body));
    rig_head(v, status, type, length);
    visit_say(v, body);
    visit_close(v);
}

void
rig_event(struct visit *v, const char *message)
{
    visit_say(v, "data: ");
    visit_say(v, message);
    visit_say(v, "\n\n");
}

const char *
rig_result(const char *id, const char *text)
{
    static char answer[512];

    (void)snprintf(answer, sizeof(answer),
                   "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"resultType\":"
                   "\"complete\",\"content\":[{\"type\":\"text\",\"text\":\"%s\"}]}}",
                   id, text);
    return answer;
}

void
rig_answer(struct rig *r, struct visit *v, const char *id, const char *text)
{
    const char *answer = rig_result(id, text);

    if (r->cell == CELL_BODIES) {
        rig_say(v, "200 OK", "application/json", answer);
    } else if (r->cell == CELL_OLD) {
        rig_say(v, "202 Accepted", NULL, "");
        rig_event(&r->inlet, answer);
    } else {
        rig_head(v, "200 OK", "text/event-stream", "");
        rig_event(v, answer);
        visit_close(v);
    }
}

/* ---- what comes ---------------------------------------------------------- */

static void
expect_field(struct visit *v, const char *name, const char *value)
{
    const char *found = visit_field(v, name);

    if (strcmp(found ? found : "", value ? value : "") != 0)
        fail_msg("%s: %s, not %s", name, found ? found : "(none)",
                 value ? value : "(none)");
}

static const char *
version_of(const struct rig *r)
{
    if (r->cell == CELL_MODERN)
        return "2026-07-28";
    return r->cell == CELL_OLD ? "2024-11-05" : "2025-11-25";
}

/* Has it this method of MCP? */
static bool
body_has(const struct visit *v, const char *method)
{
    char member[96];

    (void)snprintf(member, sizeof(member), "\"method\":\"%s\"", method);
    return v->body && strstr(v->body, member);
}

void
rig_check(struct rig *r, struct visit *v, const char *method)
{
    bool greets = strcmp(method, "initialize") == 0;

    if (!body_has(v, method))
        fail_msg("not %s: %s%.200s", method, v->head, v->body ? v->body : "");
    assert_true(
        visit_asks(v, r->cell == CELL_OLD && !greets ? "POST /message" : "POST /mcp"));
    expect_field(v, "Content-Type", "application/json");
    expect_field(v, "Accept", "application/json, text/event-stream");
    expect_field(v, "MCP-Protocol-Version", greets ? NULL : version_of(r));
    expect_field(v, "Mcp-Session-Id", greets ? NULL : r->session);
    expect_field(v, "Mcp-Method", r->cell == CELL_MODERN ? method : NULL);
    expect_field(v, "Last-Event-ID", NULL);
}

void
rig_take(struct rig *r, struct visit *v, const char *method)
{
    visit_accept(v, &r->s);
    visit_read(v);
    rig_check(r, v, method);
}

void
rig_await_visit(struct rig *r)
{
    for (int i = 0; i < RIG_STEPS && !http_script_is_visited(&r->s, 1); i++)
        virtual_clock_pass(&r->clock, RIG_STEP_MS);
}

void
rig_check_cancel(struct rig *r, struct visit *v, const char *id)
{
    char member[96];
    const char *at;

    rig_check(r, v, "notifications/cancelled");
    (void)snprintf(member, sizeof(member), "\"requestId\":%s", id);
    at = strstr(v->body, member);
    if (!at || !strchr(",}", at[strlen(member)]))
        fail_msg("not for %s: %s", id, v->body);
}

void
rig_take_cancel_as(struct rig *r, struct visit *v, const char *id)
{
    rig_await_visit(r);
    visit_accept(v, &r->s);
    visit_read(v);
    rig_check_cancel(r, v, id);
}

void
rig_take_cancel(struct rig *r, const char *id)
{
    struct visit v;

    rig_take_cancel_as(r, &v, id);
    rig_say(&v, "202 Accepted", NULL, "");
}

void
rig_take_delete(struct rig *r, const char *status)
{
    struct visit v;

    visit_accept(&v, &r->s);
    visit_read(&v);
    if (!visit_asks(&v, "DELETE /mcp"))
        fail_msg("no DELETE: %s", v.head);
    expect_field(&v, "Mcp-Session-Id", r->session);
    expect_field(&v, "MCP-Protocol-Version", version_of(r));
    rig_say(&v, status, NULL, "");
}

void
rig_quiet(struct rig *r)
{
    struct visit v;

    if (!http_script_is_visited(&r->s, 0))
        return;
    visit_accept(&v, &r->s);
    visit_read(&v);
    fail_msg("not quiet: %s%.200s", v.head, v.body ? v.body : "");
}

/* ---- greetings ----------------------------------------------------------- */

static void
greet_modern(struct rig *r)
{
    struct visit v;

    rig_take(r, &v, "server/discover");
    rig_say(&v, "200 OK", "application/json",
            "{\"jsonrpc\":\"2.0\",\"id\":\"libmcp:discover\",\"result\":{"
            "\"resultType\":\"complete\",\"supportedVersions\":[\"2026-07-28\"],"
            "\"capabilities\":{\"tools\":{}},\"ttlMs\":0,\"cacheScope\":\"private\"}}");
}

static const char *
hello_of(const struct rig *r)
{
    static char text[256];

    (void)snprintf(
        text, sizeof(text),
        "{\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":\"%s\","
        "\"capabilities\":{\"tools\":{}},\"serverInfo\":{\"name\":\"played\","
        "\"version\":\"1\"}}}",
        version_of(r));
    return text;
}

static void
take_initialized(struct rig *r)
{
    struct visit v;

    rig_take(r, &v, "notifications/initialized");
    rig_say(&v, "202 Accepted", NULL, "");
}

/* The stream that a client may ask for. */
static void
take_inlet(struct rig *r)
{
    visit_accept(&r->inlet, &r->s);
    visit_read(&r->inlet);
    assert_true(visit_asks(&r->inlet, "GET /mcp"));
    expect_field(&r->inlet, "Accept", "text/event-stream");
    expect_field(&r->inlet, "Mcp-Session-Id", r->session);
    if (r->cell & (CELL_SESSION | CELL_OLD)) {
        rig_head(&r->inlet, "200 OK", "text/event-stream", "");
    } else {
        rig_say(&r->inlet, "405 Method Not Allowed", NULL, "");
        r->inlet.fd = -1;
    }
}

static void
greet_legacy(struct rig *r)
{
    struct visit v;
    char more[256];

    rig_take(r, &v, "initialize");
    if (r->cell & CELLS_SESSIONS)
        (void)snprintf(r->session, sizeof(r->session), "%s", RIG_SESSION);
    (void)snprintf(more, sizeof(more), "%s%s%s",
                   r->session[0] ? "Mcp-Session-Id: " : "", r->session,
                   r->session[0] ? "\r\n" : "");
    rig_head(&v, "200 OK", "application/json", more);
    visit_say(&v, hello_of(r));
    visit_close(&v);
    take_initialized(r);
    take_inlet(r);
}

static void
greet_old(struct rig *r)
{
    struct visit v;

    rig_take(r, &v, "initialize");
    rig_say(&v, "405 Method Not Allowed", NULL, "");
    take_inlet(r);
    visit_say(&r->inlet, "event: endpoint\ndata: /message\n\n");
    visit_accept(&v, &r->s);
    visit_read(&v);
    assert_true(visit_asks(&v, "POST /message"));
    assert_true(body_has(&v, "initialize"));
    rig_say(&v, "202 Accepted", NULL, "");
    rig_event(&r->inlet, hello_of(r));
    take_initialized(r);
}

void
rig_await_ready(struct rig *r)
{
    RIG_UNTIL(atomic_load(&r->states) >= 1);
    assert_int_equal(r->state, 0);
}

static void
greet(struct rig *r)
{
    if (r->cell == CELL_MODERN)
        greet_modern(r);
    else if (r->cell == CELL_OLD)
        greet_old(r);
    else
        greet_legacy(r);
    rig_await_ready(r);
}

/* ---- opening ------------------------------------------------------------- */

static void
on_state(mcp_client *client, int status, void *user)
{
    struct rig *r = user;

    (void)client;
    r->state = status;
    atomic_fetch_add(&r->states, 1);
}

static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    struct rig *r = user;

    if (level > MCP_LOG_WARNING)
        return;
    (void)snprintf(r->log, sizeof(r->log), "%s", line);
    atomic_fetch_add(&r->warnings, 1);
}

/* It has seen moments of the real clock, and does not go back behind them. */
void
rig_clock_hold(struct virtual_clock *clock, mcp_client *client)
{
    virtual_clock_init(clock);
    virtual_clock_hold(clock, client->host.inside);
    virtual_clock_pass(clock,
                       (mcpi_loop_clock() - virtual_clock_read(clock)) / 1000 + 1);
}

void
rig_open(struct rig *r, unsigned cell, bool tls, const struct rig_options *given)
{
    struct rig_options opt = {.ungreeted = false};
    mcp_error err = {0};

    if (given)
        opt = *given;
    memset(r, 0, sizeof(*r));
    r->cell = cell;
    r->tls = tls;
    r->inlet.fd = -1;
    test_mem_init(&r->mem);
    http_script_open(&r->s, tls ? tls_pair_shared() : NULL, NULL);
    rig_buffers(r, opt.unread);
    opt.http.size = sizeof(opt.http);
    if (tls)
        opt.http.tls_ca_file = tls_pair_shared()->certificate;
    if (opt.http.grace_ms == 0)
        opt.http.grace_ms = RIG_LONG_MS;
    opt.client.size = sizeof(opt.client);
    if (opt.client.flush_ms == 0)
        opt.client.flush_ms = RIG_LONG_MS;
    if (opt.client.timeout_ms == 0)
        opt.client.timeout_ms = MCP_TIMEOUT_NONE;
    opt.client.name = "rig";
    opt.client.version = "1";
    opt.client.allocator = &r->mem.allocator;
    if (opt.client.era == MCP_ERA_BOTH && !opt.ungreeted && cell != CELL_MODERN)
        opt.client.era = MCP_ERA_LEGACY;
    opt.client.no_wait = true;
    opt.client.on_state = on_state;
    opt.client.on_log = on_log;
    opt.client.log_user = r;
    opt.client.user = r;
    if (mcp_client_connect_http(r->s.url, &opt.http, &opt.client, &r->client, &err) < 0)
        fail_msg("%s", err.message);
    rig_clock_hold(&r->clock, r->client);
    if (!opt.ungreeted)
        greet(r);
}

/* ---- closing ------------------------------------------------------------- */

void
rig_done(struct rig *r)
{
    mcp_client_free(r->client);
    rig_quiet(r);
    if (r->inlet.fd >= 0) {
        visit_await_gone(&r->inlet);
        visit_close(&r->inlet);
    }
    http_script_close(&r->s);
    test_mem_done(&r->mem);
}

/* A call that was freed may still be ending, though the server has seen its hang-up. */
static bool
has_no_calls(void *user)
{
    mcp_client_counts counts = {.size = sizeof(counts)};

    assert_int_equal(mcp_client_count(user, &counts), 0);
    return counts.calls == 0;
}

void
rig_close(struct rig *r)
{
    wait_until(has_no_calls, r->client);
    mcp_client_close(r->client);
    if (r->session[0])
        rig_take_delete(r, "405 Method Not Allowed");
    rig_done(r);
}

/* ---- calls --------------------------------------------------------------- */

static void
on_done(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    struct rig_end *end = user;

    (void)call;
    end->status = status;
    (void)snprintf(end->text, sizeof(end->text), "%s", mcp_reply_text(reply));
    atomic_fetch_add(&end->times, 1);
}

void
rig_call_with(struct rig *r, struct rig_call *c, const mcp_call_options *opt,
              const char *params)
{
    memset(c, 0, sizeof(*c));
    assert_int_equal(mcp_client_start(r->client, "tools/call", params, opt, on_done,
                                      &c->end, &c->call),
                     0);
    (void)snprintf(c->id, sizeof(c->id), "%s", mcp_call_id(c->call));
}

void
rig_call(struct rig *r, struct rig_call *c, const mcp_call_options *opt)
{
    rig_call_with(r, c, opt, "{\"name\":\"t\"}");
}

static void
call_ends(struct rig_call *c, int status)
{
    RIG_UNTIL(atomic_load(&c->end.times) > 0);
    if (c->end.status != status)
        fail_msg("%s, not %s", mcp_status_name(c->end.status), mcp_status_name(status));
}

static void
call_free(struct rig_call *c)
{
    mcp_call_free(c->call);
    assert_int_equal(atomic_load(&c->end.times), 1);
}

void
rig_ends(struct rig_call *c, int status, const char *text)
{
    call_ends(c, status);
    if (text)
        assert_string_equal(c->end.text, text);
    call_free(c);
}

void
rig_fails(struct rig_call *c, int status, int http, const char *why)
{
    mcp_error err = {0};

    call_ends(c, status);
    assert_int_equal(mcp_call_wait(c->call, AWAIT_MS, NULL, &err), status);
    assert_int_equal(err.http_status, http);
    if (!strstr(err.message, why))
        fail_msg("not \"%s\": %s", why, err.message);
    call_free(c);
}

void
rig_works(struct rig *r)
{
    struct rig_call c;
    struct visit v;

    rig_call(r, &c, NULL);
    rig_take(r, &v, "tools/call");
    rig_answer(r, &v, c.id, "works");
    rig_ends(&c, 0, "works");
}
