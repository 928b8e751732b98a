/* http_renewed_test.c - legacy HTTP: sessions that are lost, calls that are taken up again */
#include <mcp/subscription.h>

#include "api/call.h"
#include "api/http_reached.h"

/* ---- sessions --------------------------------------------------------------- */

/* The session that was named last; the server shows it to nobody else. */
struct witness {
    pthread_mutex_t lock;
    char session[128];
    atomic_int named; /* requests that named one */
};

static void
witness_session(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    const char *session = mcp_http_header(request, "Mcp-Session-Id");
    struct witness *witness = user;

    if (session) {
        pthread_mutex_lock(&witness->lock);
        snprintf(witness->session, sizeof(witness->session), "%s", session);
        pthread_mutex_unlock(&witness->lock);
        atomic_fetch_add(&witness->named, 1);
    }
    mcp_http_allow(ticket, NULL);
}

/* A restart without one: the session is ended behind the client's back. */
static void
forget_session(struct reached *f, struct witness *witness)
{
    char session[128];
    struct http_raw h;

    RAW_UNTIL(raw_counts(&f->raw).sessions == 1);
    pthread_mutex_lock(&witness->lock);
    memcpy(session, witness->session, sizeof(session));
    pthread_mutex_unlock(&witness->lock);
    http_open(&h, f->port, NULL);
    http_ask(&h, "DELETE", session);
    assert_int_equal(http_answer(&h), 200);
    http_close(&h);
}

static void
open_witnessed(struct reached *f, struct witness *witness,
               const mcp_http_client_options *http, mcp_client_options opt)
{
    mcp_error err = {0};

    memset(witness, 0, sizeof(*witness));
    pthread_mutex_init(&witness->lock, NULL);
    reached_serve(
        f,
        MCP_SERVER_OPTIONS(.era = MCP_ERA_LEGACY,
                           .offers = MCP_TOOLS_CHANGED | MCP_RESOURCE_UPDATED,
                           .changes_ms = -1),
        MCP_HTTP_OPTIONS(.identify = witness_session, .identify_user = witness));
    if (reached_try(f, http, opt, &f->client, &err) < 0)
        fail_msg("%s", err.message);
}

static void
close_witnessed(struct reached *f, struct witness *witness)
{
    reached_close(f);
    pthread_mutex_destroy(&witness->lock);
}

/* Whoever meets it: a call, or the stream of the session. */
static void
a_lost_session_is_made_anew_and_the_call_succeeds(void **state)
{
    const bool *no_stream = *state;
    struct witness witness;
    struct reached f;

    open_witnessed(&f, &witness, &MCP_HTTP_CLIENT_OPTIONS(.no_stream = *no_stream),
                   REACHED_OPTIONS());
    for (int i = 0; i < 3; i++) {
        reached_says(f.client);
        forget_session(&f, &witness);
        reached_says(f.client);
        RAW_UNTIL(raw_counts(&f.raw).sessions == 1);
    }
    close_witnessed(&f, &witness);
}

static void
a_subscription_outlives_its_session(void **state)
{
    static const char *const uris[] = {"test:///a", NULL};
    struct witness witness;
    mcp_subscription *s;
    struct reached f;
    mcp_notice event;
    unsigned seen = 0;
    mcp_error err;

    (void)state;
    open_witnessed(&f, &witness, NULL, REACHED_OPTIONS());
    mcp_client_free(f.client);
    assert_int_equal(mcp_server_add_resource(
                         f.raw.server,
                         &MCP_RESOURCE(.uri = "test:///a", .name = "a", .text = "text"),
                         NULL),
                     0);
    f.client = reached_client(&f, REACHED_OPTIONS());
    if (mcp_client_subscribe(f.client,
                             &MCP_SUBSCRIBE(.lists = MCP_TOOLS_CHANGED, .uris = uris),
                             &s, &err) < 0)
        fail_msg("%s", err.message);
    forget_session(&f, &witness);
    reached_says(f.client);
    while (seen != (MCP_TOOLS_CHANGED | MCP_RESOURCE_UPDATED)) {
        assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &event), 0);
        seen |= event.change;
    }
    assert_int_equal(mcp_server_resource_updated(f.raw.server, "test:///a"), 0);
    assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &event), 0);
    assert_int_equal(event.change, MCP_RESOURCE_UPDATED);
    assert_int_equal(mcp_subscription_how(s), MCP_SUBSCRIPTION_OPEN);
    mcp_subscription_free(s);
    close_witnessed(&f, &witness);
}

/* ---- calls that are taken up again ------------------------------------------- */

struct marks {
    pthread_mutex_t lock;
    char token[256]; /* the last one */
    atomic_int count;
    atomic_bool is_late; /* after the end */
    atomic_bool is_done;
    atomic_int steps, step; /* of progress: how many, and the last */
};

static void
note_step(mcp_call *call, double progress, double total, const char *message,
          void *user)
{
    struct marks *marks = user;

    (void)call, (void)total, (void)message;
    atomic_store(&marks->step, (int)progress);
    atomic_fetch_add(&marks->steps, 1);
}

static void
note_token(mcp_call *call, const char *token, void *user)
{
    struct marks *marks = user;

    (void)call;
    pthread_mutex_lock(&marks->lock);
    snprintf(marks->token, sizeof(marks->token), "%s", token);
    pthread_mutex_unlock(&marks->lock);
    if (atomic_load(&marks->is_done))
        atomic_store(&marks->is_late, true);
    atomic_fetch_add(&marks->count, 1);
}

static void
note_done(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    struct marks *marks = user;

    (void)call;
    (void)status;
    (void)reply;
    atomic_store(&marks->is_done, true);
}

/* Says how far it is, then waits at the gate. */
static int
tool_long(mcp_request *req, mcp_result *out, void *user)
{
    int r;

    (void)mcp_request_progress(req, 1, 2, NULL);
    r = gate_run(req, out, user);
    (void)mcp_request_progress(req, 2, 2, NULL);
    return r;
}

struct kept {
    struct reached f;
    mcp_memory_store *store;
    struct gate gate;
    struct marks marks;
};

static void
kept_open(struct kept *k, enum mcp_era era)
{
    memset(k, 0, sizeof(*k));
    pthread_mutex_init(&k->marks.lock, NULL);
    assert_int_equal(mcp_memory_store_new(NULL, 0, &k->store), 0);
    reached_serve(&k->f, MCP_SERVER_OPTIONS(.era = era),
                  MCP_HTTP_OPTIONS(.store = mcp_memory_store_interface(k->store),
                                   .retry_ms = 10));
    raw_tool(&k->f.raw, MCP_TOOL(.name = "long", .run = tool_long, .user = &k->gate));
    k->f.client = reached_client(&k->f, REACHED_OPTIONS());
}

static void
kept_close(struct kept *k)
{
    assert_false(atomic_load(&k->marks.is_late));
    atomic_store(&k->gate.open, true);
    reached_close(&k->f);
    mcp_memory_store_free(k->store);
    pthread_mutex_destroy(&k->marks.lock);
}

struct notes {
    atomic_bool gate_shut;
    atomic_int steps, tokens;
    int last; /* 'p' or 't': the kind that came last; one callback at a time */
    int runs; /* of one kind */
};

static void
notes_take(struct notes *n, int kind)
{
    int64_t end = raw_now_ms() + AWAIT_MS;

    n->runs += kind != n->last;
    n->last = kind;
    while (atomic_load(&n->gate_shut) && raw_now_ms() < end)
        raw_pause();
}

static void
notes_step(mcp_call *call, double progress, double total, const char *message,
           void *user)
{
    struct notes *n = user;

    (void)call;
    (void)message;
    assert_true(progress <= total);
    atomic_fetch_add(&n->steps, 1);
    notes_take(n, 'p');
}

static void
notes_token(mcp_call *call, const char *token, void *user)
{
    struct notes *n = user;

    (void)call;
    assert_true(token[0] != '\0');
    atomic_fetch_add(&n->tokens, 1);
    notes_take(n, 't');
}

static int
tool_many_steps(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    for (int i = 1; i <= 500; i++)
        (void)mcp_request_progress(req, i, 500, NULL);
    return mcp_result_text(out, "done");
}

static void
I12_tokens_come_in_order_with_progress_and_before_the_end(void **state)
{
    struct notes n = {0};
    mcp_call_options opt = MCP_CALL_OPTIONS(.on_progress = notes_step,
                                            .on_resume = notes_token, .user = &n);
    struct kept k;

    (void)state;
    kept_open(&k, MCP_ERA_LEGACY);
    assert_int_equal(mcp_client_call_tool(k.f.client, "steps", NULL, &opt, NULL, NULL),
                     0);
    assert_int_equal(atomic_load(&n.steps), 20);
    assert_true(atomic_load(&n.tokens) > 0);
    assert_true(n.runs > 2); /* one after the other, not first all of one kind */
    kept_close(&k);
}

static bool
is_ended(mcp_call *call)
{
    bool ended;

    pthread_mutex_lock(&call->lock);
    ended = call->is_ended;
    pthread_mutex_unlock(&call->lock);
    return ended;
}

static void
I13_a_callback_that_is_slow_hears_the_newest(void **state)
{
    struct notes n = {.gate_shut = true};
    mcp_call_options opt = MCP_CALL_OPTIONS(.on_progress = notes_step,
                                            .on_resume = notes_token, .user = &n);
    struct kept k;
    mcp_call *call;

    (void)state;
    kept_open(&k, MCP_ERA_LEGACY);
    raw_tool(&k.f.raw, MCP_TOOL(.name = "many", .run = tool_many_steps));
    assert_int_equal(
        mcp_client_start_tool(k.f.client, "many", NULL, &opt, NULL, NULL, &call), 0);
    RAW_UNTIL(is_ended(call));
    reached_says(k.f.client); /* what is slow is this call's alone */
    assert_int_equal(mcp_call_wait(call, 0, NULL, NULL), MCP_E_AGAIN);
    atomic_store(&n.gate_shut, false);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), 0);
    assert_in_range(atomic_load(&n.steps) + atomic_load(&n.tokens), 2,
                    MCPI_PROGRESS_WAITING + 2);
    mcp_call_free(call);
    kept_close(&k);
}

static void
B27_a_call_that_timed_out_is_taken_up_again(void **state)
{
    struct virtual_clock clock;
    mcp_call_options opt;
    mcp_reply *reply = NULL;
    struct kept k;
    mcp_error err = {0};
    mcp_call *call;

    (void)state;
    kept_open(&k, MCP_ERA_LEGACY);
    reached_hold_time(&k.f, &clock);
    opt = MCP_CALL_OPTIONS(.timeout_ms = MINUTE_MS, .on_resume = note_token,
                           .user = &k.marks, .on_progress = note_step);
    assert_int_equal(
        mcp_client_start_tool(k.f.client, "long", NULL, &opt, NULL, NULL, &call), 0);
    RAW_UNTIL(atomic_load(&k.gate.entered) == 1);
    RAW_UNTIL(atomic_load(&k.marks.count) > 0);
    virtual_clock_pass(&clock, MINUTE_MS);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_TIMEOUT);
    mcp_call_free(call);
    reached_says(k.f.client);
    assert_int_equal(raw_counts(&k.f.raw).live_handlers, 1); /* it was not canceled */
    assert_int_equal(raw_counts(&k.f.raw).canceled_by_peer, 0);
    atomic_store(&k.gate.open, true);
    RAW_UNTIL(raw_counts(&k.f.raw).live_handlers == 0); /* all is said, to nobody */
    opt = MCP_CALL_OPTIONS(.resume = k.marks.token, .on_progress = note_step,
                           .user = &k.marks);
    if (mcp_client_call_tool(k.f.client, "long", NULL, &opt, &reply, &err) < 0)
        fail_msg("%s", err.message);
    assert_string_equal(mcp_reply_text(reply), "passed");
    assert_int_equal(atomic_load(&k.marks.step), 2);   /* what it missed, */
    assert_int_equal(atomic_load(&k.marks.steps), 2);  /* and nothing twice */
    assert_int_equal(atomic_load(&k.gate.entered), 1); /* and not run twice */
    mcp_reply_free(reply);
    kept_close(&k);
}

static void
B27_a_call_that_is_freed_goes_on(void **state)
{
    mcp_call_options opt;
    struct kept k;
    mcp_call *call;

    (void)state;
    kept_open(&k, MCP_ERA_LEGACY);
    opt = MCP_CALL_OPTIONS(.on_resume = note_token, .user = &k.marks);
    assert_int_equal(
        mcp_client_start_tool(k.f.client, "long", NULL, &opt, NULL, NULL, &call), 0);
    RAW_UNTIL(atomic_load(&k.marks.count) > 0);
    RAW_UNTIL(atomic_load(&k.gate.entered) == 1);
    mcp_call_free(call);
    reached_says(k.f.client);
    assert_int_equal(raw_counts(&k.f.raw).canceled_by_peer, 0);
    assert_int_equal(raw_counts(&k.f.raw).live_handlers, 1);
    kept_close(&k);
}

static void
B27_an_explicit_cancel_cancels(void **state)
{
    mcp_call_options opt;
    mcp_scope *scope;
    struct kept k;
    mcp_call *call;

    (void)state;
    kept_open(&k, MCP_ERA_LEGACY);
    opt = MCP_CALL_OPTIONS(.on_resume = note_token, .user = &k.marks);
    assert_int_equal(mcp_client_start_tool(k.f.client, "hang", NULL, &opt, note_done,
                                           &k.marks, &call),
                     0);
    RAW_UNTIL(atomic_load(&k.marks.count) > 0);
    RAW_UNTIL(atomic_load(&k.f.gate.entered) == 1);
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    RAW_UNTIL(atomic_load(&k.f.gate.left) == 1);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    mcp_call_free(call);
    atomic_store(&k.marks.is_done, false);
    assert_int_equal(mcp_scope_new(NULL, &scope), 0);
    opt.scope = scope;
    call = reached_hangs(&k.f, k.f.client, &opt);
    assert_int_equal(mcp_scope_cancel(scope, NULL), 0);
    RAW_UNTIL(atomic_load(&k.f.gate.left) == 2);
    mcp_call_free(call);
    mcp_scope_free(scope);
    kept_close(&k);
}

/* ---- and then canceled -------------------------------------------------------- */

/* A call of `hang` that was let go: its handler goes on, and there is a token. */
static void
kept_leave(struct kept *k, mcp_id id, char *ret_id, size_t size)
{
    mcp_call_options opt = MCP_CALL_OPTIONS(.id = id, .on_resume = note_token,
                                            .user = &k->marks);
    mcp_call *call;

    atomic_store(&k->marks.count, 0);
    call = reached_hangs(&k->f, k->f.client, &opt);
    RAW_UNTIL(atomic_load(&k->marks.count) > 0);
    snprintf(ret_id, size, "%s", mcp_call_id(call));
    mcp_call_free(call);
}

static mcp_call *
kept_resume(struct kept *k, mcp_call_options opt)
{
    mcp_call *call = NULL;

    opt.resume = k->marks.token;
    assert_int_equal(
        mcp_client_start_tool(k->f.client, "hang", NULL, &opt, NULL, NULL, &call), 0);
    return call;
}

/* At once, when nothing was sent yet, or later. */
static void
B27_the_cancel_of_a_call_taken_up_again_reaches_its_handler(void **state)
{
    static const mcp_id ids[] = {{0},
                                 MCP_NUMBER_ID(-77),
                                 MCP_TEXT_ID("7"),
                                 MCP_TEXT_ID("\"a b\"\n\\ \xC3\xA9"),
                                 MCP_TEXT_ID("")};
    const int count = sizeof(ids) / sizeof(ids[0]);
    char id[64];
    struct kept k;
    mcp_call *call;

    (void)state;
    kept_open(&k, MCP_ERA_LEGACY);
    for (int i = 0; i < 2 * count; i++) {
        kept_leave(&k, ids[i / 2], id, sizeof(id));
        call = kept_resume(&k, MCP_CALL_OPTIONS(.rounds = 0));
        assert_string_equal(mcp_call_id(call), id);
        if (i % 2 == 1)
            reached_says(k.f.client);
        assert_int_equal(atomic_load(&k.f.gate.left), i);
        assert_int_equal(mcp_call_cancel(call, "enough"), 0);
        RAW_UNTIL(atomic_load(&k.f.gate.left) == i + 1);
        assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
        assert_int_equal(mcp_call_flush(call, AWAIT_MS), 0);
        mcp_call_free(call);
    }
    assert_int_equal(raw_counts(&k.f.raw).canceled_by_peer, 2 * count);
    kept_close(&k);
}

/* By its scope, whose time may be up: that is no timeout of the call's own. */
static void
B27_so_does_the_end_of_its_scope(void **state)
{
    struct kept k;
    struct virtual_clock clock;
    mcp_scope *scope;
    mcp_call *call;
    char id[64];

    (void)state;
    kept_open(&k, MCP_ERA_LEGACY);
    reached_hold_time(&k.f, &clock);
    for (int i = 0; i < 3; i++) {
        kept_leave(&k, (mcp_id){0}, id, sizeof(id));
        assert_int_equal(
            mcp_scope_new(&MCP_SCOPE_OPTIONS(.timeout_ms = i == 2 ? MINUTE_MS : 0),
                          &scope),
            0);
        call = kept_resume(&k, MCP_CALL_OPTIONS(.scope = scope));
        if (i >= 1)
            reached_says(k.f.client);
        if (i < 2)
            assert_int_equal(mcp_scope_cancel(scope, NULL), 0);
        else
            virtual_clock_pass(&clock, MINUTE_MS);
        RAW_UNTIL(atomic_load(&k.f.gate.left) == i + 1);
        mcp_call_free(call);
        mcp_scope_free(scope);
    }
    kept_close(&k);
}

static void
B27_a_call_taken_up_again_is_let_go_again(void **state)
{
    struct kept k;
    mcp_call *call;
    char id[64];

    (void)state;
    kept_open(&k, MCP_ERA_LEGACY);
    kept_leave(&k, (mcp_id){0}, id, sizeof(id));
    for (int i = 0; i < 20; i++) { /* its id is free as soon as it is */
        call = kept_resume(&k, MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE));
        if (i % 2 == 1)
            reached_says(k.f.client);
        mcp_call_free(call);
    }
    call = kept_resume(&k, MCP_CALL_OPTIONS(.timeout_ms = 1));
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_TIMEOUT);
    mcp_call_free(call);
    reached_says(k.f.client);
    assert_int_equal(raw_counts(&k.f.raw).canceled_by_peer, 0);
    assert_int_equal(raw_counts(&k.f.raw).live_handlers, 1);
    call = kept_resume(&k, MCP_CALL_OPTIONS(.rounds = 0));
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    mcp_call_free(call); /* canceled before */
    RAW_UNTIL(atomic_load(&k.f.gate.left) == 1);
    kept_close(&k);
}

static void
A4_a_call_is_not_taken_up_twice_at_the_same_time(void **state)
{
    mcp_call_options opt;
    struct kept k;
    mcp_call *call, *other;
    mcp_error err;
    char id[64];

    (void)state;
    kept_open(&k, MCP_ERA_LEGACY);
    kept_leave(&k, (mcp_id)MCP_TEXT_ID("mine"), id, sizeof(id));
    call = kept_resume(&k, MCP_CALL_OPTIONS(.rounds = 0));
    opt = MCP_CALL_OPTIONS(.resume = k.marks.token);
    assert_int_equal(mcp_client_call_tool(k.f.client, "hang", NULL, &opt, NULL, &err),
                     MCP_E_ID_IN_USE);
    assert_string_equal(err.message, "request id \"mine\" is in flight");
    other = kept_resume(&k, MCP_CALL_OPTIONS(.id = MCP_NUMBER_ID(500)));
    assert_string_equal(mcp_call_id(other), "500"); /* who names one has that */
    mcp_call_free(other);
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    RAW_UNTIL(atomic_load(&k.f.gate.left) == 1);
    mcp_call_free(call);
    kept_close(&k);
}

static void
a_token_that_is_not_known_starts_nothing(void **state)
{
    static const char *const bad[] = {
        "", "no-such-event", "1 a\r\nX: b", "1.5 event", "1 ", "\"\\ud800\" event"};
    mcp_call_options opt = MCP_CALL_OPTIONS(.resume = "1 no-such-event");
    struct kept k;
    mcp_error err = {0};

    (void)state;
    kept_open(&k, MCP_ERA_LEGACY);
    assert_true(mcp_client_call_tool(k.f.client, "long", NULL, &opt, NULL, &err) < 0);
    assert_true(err.message[0]);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        opt.resume = bad[i];
        assert_int_equal(
            mcp_client_call_tool(k.f.client, "long", NULL, &opt, NULL, &err),
            MCP_E_INVAL);
        assert_string_equal(err.message, "resume: this is no token");
    }
    opt.resume = "1";
    assert_int_equal(mcp_client_list_all(k.f.client, MCP_LIST_TOOLS, &opt, NULL, &err),
                     MCP_E_INVAL);
    assert_int_equal(atomic_load(&k.gate.entered), 0);
    reached_says(k.f.client);
    kept_close(&k);
}

static void
the_modern_era_takes_nothing_up_again(void **state)
{
    mcp_call_options opt;
    struct kept k;
    mcp_error err;

    (void)state;
    kept_open(&k, MCP_ERA_MODERN);
    opt = MCP_CALL_OPTIONS(.on_resume = note_token, .user = &k.marks);
    assert_int_equal(mcp_client_call_tool(k.f.client, "steps", NULL, &opt, NULL, NULL),
                     0);
    assert_int_equal(atomic_load(&k.marks.count), 0);
    opt.resume = "1";
    assert_int_equal(mcp_client_call_tool(k.f.client, "steps", NULL, &opt, NULL, &err),
                     MCP_E_STATE);
    kept_close(&k);
}

/* On a worker, so it is the loop that lets the client go. */
static int
tool_detach(mcp_request *req, mcp_result *out, void *user)
{
    (void)mcp_request_progress(req, 1, 2, NULL);
    (void)mcp_request_detach(req);
    return gate_run(req, out, user);
}

static void
D8_a_stream_that_the_server_lets_go_is_taken_up_again(void **state)
{
    mcp_reply *reply;
    struct kept k;
    mcp_call *call;

    (void)state;
    kept_open(&k, MCP_ERA_LEGACY);
    raw_tool(&k.f.raw, MCP_TOOL(.name = "detach", .run = tool_detach, .user = &k.gate));
    assert_int_equal(
        mcp_client_start_tool(k.f.client, "detach", NULL, NULL, NULL, NULL, &call), 0);
    RAW_UNTIL(atomic_load(&k.gate.entered) == 1);
    reached_says(k.f.client);
    assert_int_equal(mcp_call_wait(call, 0, NULL, NULL), MCP_E_AGAIN);
    atomic_store(&k.gate.open, true);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, &reply, NULL), 0);
    assert_string_equal(mcp_reply_text(reply), "passed");
    mcp_reply_free(reply);
    mcp_call_free(call);
    kept_close(&k);
}

static bool with_stream = false, without_stream = true;

TEST_MAIN(TEST_AS("a_lost_session_is_made_anew_and_the_call_succeeds",
                  a_lost_session_is_made_anew_and_the_call_succeeds, &with_stream),
          TEST_AS("without_stream.a_lost_session_is_made_anew_and_the_call_succeeds",
                  a_lost_session_is_made_anew_and_the_call_succeeds, &without_stream),
          TEST(a_subscription_outlives_its_session),
          TEST(I12_tokens_come_in_order_with_progress_and_before_the_end),
          TEST(I13_a_callback_that_is_slow_hears_the_newest),
          TEST(B27_a_call_that_timed_out_is_taken_up_again),
          TEST(B27_a_call_that_is_freed_goes_on), TEST(B27_an_explicit_cancel_cancels),
          TEST(B27_the_cancel_of_a_call_taken_up_again_reaches_its_handler),
          TEST(B27_so_does_the_end_of_its_scope),
          TEST(B27_a_call_taken_up_again_is_let_go_again),
          TEST(A4_a_call_is_not_taken_up_twice_at_the_same_time),
          TEST(a_token_that_is_not_known_starts_nothing),
          TEST(the_modern_era_takes_nothing_up_again),
          TEST(D8_a_stream_that_the_server_lets_go_is_taken_up_again))
