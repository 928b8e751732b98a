/* link/http_owner.h - the owner of one flow, over a fake fetcher; time is its own */
#ifndef TESTS_LINK_HTTP_OWNER_H
#define TESTS_LINK_HTTP_OWNER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "link/http_flow.h"
#include "support/fake_fetch.h"
#include "support/messages.h"
#include "json/value.h"

#define SECOND ((int64_t)1000000)
#define URL "http://h/mcp"
#define JSON "application/json"
#define ANSWER RESULT("1", "{}")
#define NEWS NOTE("notifications/message", "{}")
#define DATA(text) "data: " text "\n\n"
#define MARKED(id, text) "id: " id "\n" DATA(text)
#define PRIMED MARKED("7", "") /* an id, and no message */
#define LOST " lost(-7,0,0,the line broke)"

/* ---- an owner --------------------------------------------------------------- */

enum call { NO_CALL, SENT, HEAD, MESSAGE, MARK, EVENT, ENDED };

/* What it heard is in `heard`, each with a blank before: sent, head(STATUS), a message,
 * mark(ID), event(TYPE), whole, lost(STATUS,HTTP,UNSENT,WHY). */
struct owner {
    struct test_mem own_mem, *mem;
    struct fake_fetcher fetcher;
    struct mcpi_timers timers;
    int64_t now;
    struct mcpi_log log;
    char logged[512];
    struct mcpi_http_flow *flow; /* a block of its own; NULL: freed */
    struct mcpi_buf heard;
    int head_answer;
    int fields_answer;
    enum call free_in, renew_in, forgo_in; /* what it does in which call; once */
    int ended;
};

static inline void
owner_log(void *user, enum mcp_log_level level, const char *line)
{
    struct owner *o = user;
    size_t len = strlen(o->logged);

    (void)snprintf(o->logged + len, sizeof(o->logged) - len, "%d: %s\n", (int)level,
                   line);
}

static inline void
owner_free_flow(struct owner *o)
{
    mcpi_http_flow_close(o->flow);
    free(o->flow);
    o->flow = NULL;
}

static inline void post(struct owner *o);

/* Note what was heard, and do what is to be done then. */
static inline void
owner_called(struct owner *o, enum call call, const char *text)
{
    assert_non_null(o->flow); /* who freed it hears nothing more */
    mcpi_buf_char(&o->heard, ' ');
    mcpi_buf_text(&o->heard, text);
    if (o->forgo_in == call) {
        o->forgo_in = NO_CALL;
        assert_false(mcpi_http_flow_forgo(o->flow));
    }
    if (o->free_in == call) {
        o->free_in = NO_CALL;
        owner_free_flow(o);
    } else if (o->renew_in == call) {
        o->renew_in = NO_CALL;
        mcpi_http_flow_close(o->flow);
        mcpi_http_flow_init(o->flow, &o->mem->allocator, 1000, 16);
        post(o);
    }
}

static inline int
op_fields(void *user, struct mcpi_buf *into)
{
    const struct owner *o = user;

    mcpi_buf_append(into, "Mcp-Session-Id: s1", 19);
    return o->fields_answer;
}

static inline void
op_sent(void *user)
{
    owner_called(user, SENT, "sent");
}

static inline int
op_head(void *user, const struct mcpi_fetch_head *head)
{
    struct owner *o = user;
    char text[32];

    (void)snprintf(text, sizeof(text), "head(%d)", head->status);
    owner_called(o, HEAD, text);
    return o->head_answer;
}

static inline void
op_message(void *user, const struct mcpi_rpc *rpc)
{
    struct mcpi_buf text;

    mcpi_buf_init(&text, NULL, 100000);
    mcpi_json_write(&text, mcp_doc_root(rpc->doc));
    mcpi_buf_char(&text, '\0');
    mcp_doc_free(rpc->doc);
    owner_called(user, MESSAGE, text.data);
    mcpi_buf_done(&text);
}

static inline void
op_marked(void *user, const char *event_id)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "mark(%s)", event_id);
    owner_called(user, MARK, text);
}

static inline void
op_event(void *user, const struct mcpi_sse_event *event)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "event(%s)", event->type);
    owner_called(user, EVENT, text);
}

static inline void
op_ended(void *user, const struct mcpi_fault *fault)
{
    struct owner *o = user;
    char text[400] = "whole";

    o->ended++;
    assert_int_equal(o->flow->state, MCPI_FLOW_OVER);
    assert_null(o->flow->fetch);
    assert_false(mcpi_timer_is_armed(&o->flow->retry));
    if (fault)
        (void)snprintf(text, sizeof(text), "lost(%d,%d,%d,%s)", fault->status,
                       fault->http, fault->unsent, fault->why);
    owner_called(o, ENDED, text);
}

static const struct mcpi_http_flow_ops all_ops = {
    .fields = op_fields,
    .sent = op_sent,
    .head = op_head,
    .message = op_message,
    .marked = op_marked,
    .event = op_event,
    .ended = op_ended,
};
static const struct mcpi_http_flow_ops few_ops = {.message = op_message,
                                                  .ended = op_ended};

static inline void
flow_make(struct owner *o)
{
    struct mcpi_http_flow *flow = malloc(sizeof(*flow));

    assert_non_null(flow);
    memset(flow, 0xa5, sizeof(*flow)); /* init makes the rest */
    flow->fetcher = &o->fetcher.fetcher;
    flow->timers = &o->timers;
    flow->log = &o->log;
    flow->engine = NULL;
    flow->url = URL;
    flow->idle_us = 9 * SECOND;
    flow->resumes = true;
    flow->reopens = false;
    flow->ops = &all_ops;
    flow->user = o;
    mcpi_http_flow_init(flow, &o->mem->allocator, 1000, 16);
    o->flow = flow;
}

static inline void
owner_init_with(struct owner *o, struct test_mem *mem)
{
    *o = (struct owner){.now = 100 * SECOND};
    o->mem = mem ? mem : &o->own_mem;
    if (!mem)
        test_mem_init(o->mem);
    o->log = (struct mcpi_log){owner_log, o, MCP_LOG_DEBUG};
    fake_fetcher_init(&o->fetcher, &o->mem->allocator);
    mcpi_timers_init(&o->timers);
    mcpi_buf_init(&o->heard, NULL, 1000000);
    flow_make(o);
}

static inline void
owner_init(struct owner *o)
{
    owner_init_with(o, NULL);
}

static inline void
owner_done(struct owner *o)
{
    if (o->flow)
        owner_free_flow(o);
    assert_int_equal(mcpi_timers_next(&o->timers), MCPI_NEVER);
    fake_fetcher_done(&o->fetcher);
    mcpi_buf_done(&o->heard);
    if (o->mem == &o->own_mem)
        test_mem_done(o->mem);
}

/* ---- what tests do with it -------------------------------------------------- */

/* Nothing but that was heard since the last time. */
static inline void
hears(struct owner *o, const char *text)
{
    mcpi_buf_char(&o->heard, '\0');
    assert_string_equal(o->heard.data, text);
    if (o->flow)
        assert_null(o->flow->gone); /* no call is under way */
    mcpi_buf_clear(&o->heard);
}

static inline void
forget(struct owner *o)
{
    mcpi_buf_clear(&o->heard);
}

static inline struct fake_fetch *
last(struct owner *o)
{
    return fake_last(&o->fetcher);
}

static inline void
post(struct owner *o)
{
    assert_int_equal(mcpi_http_flow_start(o->flow, "POST", "A: b", 5, "{}", 2), 0);
    assert_int_equal(o->flow->state, MCPI_FLOW_OPENING);
}

/* A stream that has said this much. */
static inline void
stream(struct owner *o, const char *body)
{
    post(o);
    fake_stream(last(o));
    assert_int_equal(o->flow->state, MCPI_FLOW_STREAM);
    fake_body(last(o), body);
}

static inline void
lose(struct owner *o)
{
    fake_fail(last(o), MCP_E_CLOSED, "the line broke");
}

/* A turn of the loop; time stands still. */
static inline void
turn(struct owner *o)
{
    (void)mcpi_timers_expire(&o->timers, o->now);
}

static inline void
pass(struct owner *o, int64_t us)
{
    o->now += us;
    turn(o);
}

/* A broken stream is taken up again after exactly that time. */
static inline struct fake_fetch *
resumes_after(struct owner *o, int64_t us)
{
    size_t before = o->fetcher.count;

    assert_int_equal(o->flow->state, MCPI_FLOW_BROKEN);
    turn(o);
    if (us > 0) {
        pass(o, us - 1);
        assert_int_equal(o->fetcher.count, before);
        o->now++;
    }
    assert_int_equal(o->flow->state, MCPI_FLOW_BROKEN);
    turn(o);
    assert_int_equal(o->fetcher.count, before + 1);
    assert_int_equal(o->flow->state, MCPI_FLOW_OPENING);
    return last(o);
}

/* As broken as can be: nothing waits, nothing is under way. */
static inline void
stays_over(struct owner *o)
{
    size_t before = o->fetcher.count;

    assert_int_equal(o->flow->state, MCPI_FLOW_OVER);
    assert_null(o->flow->fetch);
    assert_int_equal(mcpi_timers_next(&o->timers), MCPI_NEVER);
    assert_int_equal(fake_open_count(&o->fetcher), 0);
    pass(o, 3600 * SECOND);
    assert_int_equal(o->fetcher.count, before);
}

#endif
