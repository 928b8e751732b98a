/* support/rounds.h - a server that answers with questions, and our own handlers */
#ifndef TESTS_SUPPORT_ROUNDS_H
#define TESTS_SUPPORT_ROUNDS_H

#include <stdio.h>
#include <string.h>

#include "support/fake.h"

#define ELICIT                                                                         \
    "{\"method\":\"elicitation/create\",\"params\":{\"mode\":\"form\","                \
    "\"message\":\"who\",\"requestedSchema\":{\"type\":\"object\",\"properties\":{}}}" \
    "}"
#define ROOTS "{\"method\":\"roots/list\"}"
#define ASKS(members) "{\"resultType\":\"input_required\"," members "}"
#define TWO                                                                       \
    ASKS("\"inputRequests\":{\"a\":" ELICIT ",\"b\":" ROOTS "},\"requestState\":" \
         "\"s1\"")
#define ONE ASKS("\"inputRequests\":{\"c\":" ROOTS "}")
#define STATE ASKS("\"requestState\":\"s2\"")
#define ACCEPT "{\"action\":\"accept\"}"
#define NO_ROOTS "{\"roots\":[]}"
#define ANSWERED "{\"content\":[],\"resultType\":\"complete\"}"

/* The server answers the leg under way. */
static inline void
answer(struct fake *f, const struct outcome *out, const char *result)
{
    char text[1024];

    snprintf(text, sizeof(text), RESULT("%lld", "%s"),
             (long long)mcpi_call_id(out->call)->number, result);
    fake_receive_on(f, f->engine && f->eager ? fake_leg(f, out) : NULL, text);
}

/* Our own handler answers a question. */
static inline void
reply(struct fake *f, size_t job, const char *body)
{
    struct mcpi_result r;

    mcpi_result_init(&r, f->engine);
    mcpi_buf_text(&r.body, body);
    mcpi_exchange_finish(f->jobs[job], &r, f->w.now);
}

static inline void
reply_error(struct fake *f, size_t job, int code, const char *message)
{
    struct mcpi_result r;

    mcpi_result_init(&r, f->engine);
    mcpi_result_error(&r, code, "%s", message);
    mcpi_exchange_finish(f->jobs[job], &r, f->w.now);
}

/* A call whose first leg was answered that way. */
static inline void
start_asked(struct fake *f, const struct mcpi_call_options *opt, const char *result,
            struct outcome *out)
{
    fake_start(f, FAKE_PIPE, MCPI_ERA_MODERN);
    fake_issue(f, opt, out);
    answer(f, out, result);
    fake_run(f);
    assert_string_equal(fake_said(f), "");
}

/* And whose second leg is out. */
static inline void
start_second(struct fake *f, const struct mcpi_call_options *opt, struct outcome *out)
{
    start_asked(f, opt, TWO, out);
    reply(f, 0, ACCEPT);
    reply(f, 1, NO_ROOTS);
    fake_run(f);
    assert_string_equal(fake_said(f), "request");
    fake_forget(f);
}

static inline void
stop(struct fake *f, struct outcome *out)
{
    outcome_done(out);
    fake_close(f);
}

#endif
