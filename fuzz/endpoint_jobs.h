/*
 * endpoint_jobs.h - the handlers behind an endpoint, and what must become of them
 *
 * For endpoint_fuzz.c alone. What a tool does is its name: "now" answers, "say" reports
 * and answers, "flood" says much and answers, "ask" asks its client and waits, "hold"
 * waits and stops when it is told to, "deaf" does not.
 */
#ifndef FUZZ_ENDPOINT_JOBS_H
#define FUZZ_ENDPOINT_JOBS_H

#include "endpoint_tickets.h"

enum { FLOOD = 24 };

/* ---- what handlers do ------------------------------------------------------ */

static void
job_finish(struct job *job, int code)
{
    struct mcpi_listener *listener = job->listener;
    struct mcpi_result result;

    CHECK(job->running && !job->finished);
    job->untold = job->x->ending != MCPI_OPEN && job->told == 0;
    CHECK(!job->untold ||
          job->f->depth > 0); /* by what it had asked, which ended too */
    job->listener = NULL;
    job->running = false;
    job->finished = true;
    mcpi_result_init(&result, job->x->engine);
    if (code != 0)
        mcpi_result_error(&result, code, "failed");
    else
        mcpi_buf_text(&result.body, "{\"content\":[]}");
    mcpi_listener_close(listener, code == 0 ? &result : NULL);
    mcpi_exchange_finish(job->x, &result, job->f->now);
}

static void
job_progress(struct job *job)
{
    job->progress += 1;
    (void)mcpi_exchange_progress(job->x, job->progress, (double)NAN, "on", job->f->now);
}

static void
job_say(struct job *job, int filler)
{
    char params[256];
    int len = snprintf(params, sizeof(params),
                       "{\"level\":\"error\",\"data\":\"%0*d\"}", filler, 7);

    (void)mcpi_exchange_notify(job->x, "notifications/message", params, (size_t)len,
                               job->f->now);
}

static void
on_asked(void *user, struct mcpi_call *call, int status, const struct mcpi_rpc *answer)
{
    struct fuzz *f = user;

    (void)call;
    CHECK(status <= 0 && (answer != NULL) == (status == 0 || status == MCP_E_PEER ||
                                              status == MCP_E_PROTO));
    f->told++;
    CHECK(f->told <= f->asked);
    react(f);
}

static void
job_ask(struct job *job)
{
    static const struct mcpi_call_ops ops = {.done = on_asked};
    const struct mcpi_call_options opt = {.method = "roots/list",
                                          .params = "{}",
                                          .params_len = 2,
                                          .timeout_us = 2000000,
                                          .parent = job->x,
                                          .ops = &ops,
                                          .user = job->f};

    if (!job->x->peer)
        return;
    job->f->asked++;
    if (mcpi_call_start(job->x->peer, &opt, job->f->now, NULL) < 0)
        job->f->asked--;
}

static void
job_slow(void *user)
{
    struct job *job = user;

    CHECK(job->listener);
    job_finish(job, MCPI_RPC_INTERNAL_ERROR);
}

static void
job_listen(struct job *job)
{
    struct mcpi_listener_options opt = {15, job_slow, job};
    struct mcpi_refusal why = {.code = 0};
    int r;

    r = mcpi_listener_open(job->x, &opt, &job->listener, &why);
    if (r < 0)
        job_finish(job, why.code ? why.code : MCPI_RPC_INTERNAL_ERROR);
}

static void
job_subscribe(struct job *job, bool on)
{
    const char *uri = mcp_json_string(mcp_json_get(job->x->rpc.params, "uri"), "a:");
    struct mcpi_refusal why;
    int r = 0;

    if (on)
        r = mcpi_peer_subscribe(job->x->peer, uri, &why);
    else
        (void)mcpi_peer_unsubscribe(job->x->peer, uri);
    job_finish(job, r < 0 ? MCPI_RPC_INTERNAL_ERROR : 0);
}

static void
job_call(struct job *job)
{
    const char *tool = mcp_json_string(mcp_json_get(job->x->rpc.params, "name"), "");
    bool says = strcmp(tool, "say") == 0, floods = strcmp(tool, "flood") == 0;

    job->deaf = strcmp(tool, "deaf") == 0;
    for (int i = 0; floods && i < FLOOD; i++)
        job_say(job, 100 + i);
    if (says) {
        job_say(job, 1);
        job_progress(job);
    }
    if (strcmp(tool, "ask") == 0)
        job_ask(job);
    else if (strcmp(tool, "hold") != 0 && !job->deaf && job->running)
        job_finish(job, 0);
}

/* ---- what they are told ---------------------------------------------------- */

static void
on_begin(struct mcpi_exchange *x)
{
    struct job *job = x->served_user;
    bool subscribes = x->rpc.method == MCPI_METHOD_RESOURCES_SUBSCRIBE;

    CHECK(!job->begun && x->ending == MCPI_OPEN);
    job->begun = job->running = true;
    if (x->rpc.method == MCPI_METHOD_LISTEN)
        job_listen(job);
    else if (subscribes || x->rpc.method == MCPI_METHOD_RESOURCES_UNSUBSCRIBE)
        job_subscribe(job, subscribes);
    else
        job_call(job);
    react(job->f);
}

static void
on_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct job *job = x->served_user;

    CHECK(how != MCPI_OPEN && how != MCPI_ANSWERED && reason);
    CHECK(++job->told == 1 && job->running);
    react(job->f);
    if (job->running && !job->deaf)
        job_finish(job, MCPI_RPC_INTERNAL_ERROR);
}

/* Our own stop: it is answered with a result (H17). */
static void
on_closing(struct mcpi_exchange *x, struct mcpi_result *last)
{
    struct job *job = x->served_user;
    struct mcpi_listener *listener = job->listener;

    CHECK(listener);
    job->listener = NULL;
    mcpi_listener_close(listener, last);
}

static const struct mcpi_served_ops plain = {.begin = on_begin, .ended = on_ended};
static const struct mcpi_served_ops lasting = {
    .begin = on_begin, .ended = on_ended, .closing = on_closing};

/* Who asks is there, is who they said, and asks in a session of theirs (D20, E20). */
static void
job_meet(struct job *job)
{
    const struct mcpi_exchange *x = job->x;
    const struct fuzz *f = job->f;
    const struct mcpi_http_stream *stream;
    const struct client *c;

    if (!x->own_outlet)
        return; /* 2024: the answer goes where all go */
    stream = mcpi_outlet_link(x->outlet);
    CHECK(stream->turn);
    CHECK(stream->turn->ops == &turn_ops); /* nobody's are answers and cancels alone */
    c = MCPI_CONTAINER(stream->turn, struct client, turn);
    CHECK(c->serving && !c->answered && !c->dead);
    CHECK(strcmp(x->caller.principal, c->principal) == 0);
    if (stream->session)
        CHECK(!x->caller.dialect->modern && !stream->session->ending &&
              strcmp(stream->session->id, c->session) == 0 &&
              strcmp(stream->session->principal, c->principal) == 0);
    job->serial = c->serial;
    job->gone_cancels = x->caller.dialect->modern ||
                        (f->http.stateless && !f->http.stateless_runs_on);
}

static int
on_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    struct fuzz *f = user;
    bool modern = x->caller.dialect->modern;
    bool lasts = x->rpc.method == MCPI_METHOD_LISTEN;
    struct job *job = &f->jobs[f->job_count];

    if (f->job_count == JOBS) {
        mcpi_refuse(why, -32000, "enough");
        return MCP_E_LIMIT;
    }
    if (x->rpc.method == MCPI_METHOD_OTHER || (lasts && !modern) ||
        (modern && (x->rpc.method == MCPI_METHOD_RESOURCES_SUBSCRIBE ||
                    x->rpc.method == MCPI_METHOD_RESOURCES_UNSUBSCRIBE)))
        return MCP_E_INVAL;
    f->job_count++;
    *job = (struct job){.f = f, .x = mcpi_exchange_ref(x)};
    job_meet(job);
    mcpi_exchange_serve(x, lasts ? &lasting : &plain, job);
    return 0;
}

static const struct mcpi_router router = {.route = on_route};

/* ---- commands -------------------------------------------------------------- */

static void
job_command(struct fuzz *f, int letter, unsigned a)
{
    struct job *job = f->job_count > 0 ? &f->jobs[a % f->job_count] : NULL;

    if (!job || !job->begun)
        return;
    if (letter == 'n')
        job_ask(job);
    else if (letter == 'p')
        job_progress(job);
    else if (letter == 'y')
        job_say(job, 1);
    else if (letter == 'u')
        (void)mcpi_exchange_detach(job->x, f->now);
    else if (job->running)
        job_finish(job, letter == 'f' ? 0 : -32000);
}

static void
publish(struct fuzz *f, unsigned a)
{
    static const char *const uris[] = {"a:", "a:x", "a:x/y", NULL};
    struct mcpi_event event = {.topic = 1U << a % 4};

    if (event.topic == MCPI_TOPIC_UPDATED)
        event.uri = uris[a / 4 % COUNT(uris)];
    mcpi_engine_publish(f->engine, &event, f->now);
}

/* ---- the invariant --------------------------------------------------------- */

static void
check_jobs(const struct fuzz *f)
{
    const struct mcpi_engine *e = f->engine;
    size_t open = 0, held = 0, listeners = 0;

    for (size_t i = 0; i < f->job_count; i++) {
        const struct job *job = &f->jobs[i];
        bool is_open = job->x->ending == MCPI_OPEN;

        CHECK(!job->finished || !is_open);
        CHECK(!is_open || f->endpoint);
        open += is_open;
        held += job->running && !is_open;
        listeners += job->listener != NULL;
    }
    CHECK(e->counts.exchanges == open && e->counts.held == held);
    CHECK(e->counts.deaf <= held && e->listener_count == listeners);
    CHECK(e->counts.calls == (size_t)(f->asked - f->told));
}

static void
check_clients(const struct fuzz *f)
{
    int streams = 0;

    for (size_t i = 0; i < CLIENTS; i++) {
        const struct client *c = f->clients[i];

        if (!c)
            continue;
        CHECK((c->turn.served != NULL) == (c->serving && !c->answered));
        streams += c->opened && !c->answered;
    }
    CHECK(f->streams_open == streams);
}

static void
check_streams(const struct fuzz *f)
{
    const struct mcpi_list *node;
    const struct mcpi_http_stream *s;

    CHECK(f->sessions_open >= 0 && (size_t)f->sessions_open <= f->http.sessions);
    if (!f->endpoint)
        return;
    CHECK(f->endpoint->session_count == (size_t)f->sessions_open);
    for (node = f->endpoint->streams.next; node != &f->endpoint->streams;
         node = node->next) {
        s = MCPI_CONTAINER(node, struct mcpi_http_stream, in_endpoint);
        CHECK(!s->turn || s->turn->by == s);
        CHECK(s->turn || (s->resumable && s->session && s->kept));
        CHECK(s->sent <= s->events);
        if (s->session) /* GETs, and one that was let go while all of them listen */
            CHECK(s->session->kept_count <= f->http.session_streams + 1);
    }
}

/* Is somebody at work on what this client has posted? */
static bool
is_served(const struct fuzz *f, const struct client *c)
{
    for (size_t i = 0; i < f->job_count; i++)
        if (f->jobs[i].serial == c->serial && !f->jobs[i].finished)
            return true;
    return is_asked_who(f, c);
}

/* Nothing moves: who has posted something and reads is answered, unless that is still
 * somebody's work. */
static void
check_quiet(const struct fuzz *f)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        const struct client *c = f->clients[i];

        if (c && c->serving && !c->keeps && c->method == MCPI_HTTP_POST)
            CHECK(is_served(f, c));
    }
}

static void
check(const struct fuzz *f)
{
    check_jobs(f);
    check_clients(f);
    check_streams(f);
}

#endif
