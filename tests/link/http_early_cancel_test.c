/*
 * http_early_cancel_test.c - a request and its cancel on two connections and two loops
 *
 * Each of the two arrives on the loop of its session or on another one, waits for its
 * sender to be authenticated or does not, and may lose its client at any moment. All
 * orders of these steps are tried, with and without a turn of the session's loop between
 * any two of them. Whatever the order, no handler is left, each connection gets its
 * answer, and the session goes on.
 */
#include "link/http_session.h"
#include "link/http_site.h"

enum step { ARRIVES = 'a', AUTHENTICATED = 'v', LEAVES = 'l' };

/* Steps of one message. Without 'v' its sender is known at once. */
static const char *const lives[] = {"a", "av", "al", "avl", "alv"};

enum { LIVES = sizeof(lives) / sizeof(lives[0]) };

struct message {
    const char *life;
    bool relayed; /* arrives on the other loop */
    bool left;
    char body[256];
    mcp_http_ticket *ticket;
    struct carrier carrier;
};

struct model {
    struct site site;
    struct mcpi_loop *other;
    bool is_2024;
    struct carrier stream; /* 2024 */
    char target[128];
    char session[MCPI_SESSION_ID];
    struct message request, cancel;
    long long id;
    long orders;
};

/* ---- the server -------------------------------------------------------------- */

static bool
waits(const struct message *m, const mcp_http_request *request)
{
    return m->life && strchr(m->life, AUTHENTICATED) &&
           strlen(m->body) == request->body_length &&
           memcmp(m->body, request->body, request->body_length) == 0;
}

static void
on_identify(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    struct model *model = user;

    if (waits(&model->request, request))
        model->request.ticket = ticket;
    else if (waits(&model->cancel, request))
        model->cancel.ticket = ticket;
    else
        mcp_http_allow(ticket, "alice");
}

static void
run_both(struct model *model)
{
    do {
        site_run(&model->site);
        assert_int_equal(mcpi_loop_step(model->other), 0);
    } while (site_is_busy(model->other) || site_is_busy(model->site.loop));
}

static void
serve(struct model *model, struct carrier *c, enum mcpi_http_method method,
      const char *target, const char *body, bool relayed)
{
    const mcp_http_field fields[] = {{"Host", "localhost"},
                                     {"Content-Type", "application/json"},
                                     {"Accept", "application/json, text/event-stream"},
                                     {"Mcp-Session-Id", model->session}};
    size_t count = *model->session ? 4 : 3;
    struct mcpi_http_in in = request_of(method, target, fields, count, body);

    carrier_init(c);
    if (relayed)
        mcpi_relay_serve(model->other, model->site.mount, &c->turn, &in);
    else
        mcpi_endpoint_serve(model->site.endpoint, &c->turn, &in);
}

static void
say(struct model *model, const char *body)
{
    struct carrier c;

    serve(model, &c, MCPI_HTTP_POST, model->target, body, false);
    run_both(model);
    assert_true(c.status == 200 || c.status == 202);
    carrier_done(&c);
}

static void
open_stream(struct model *model)
{
    static const char before[] = "data: ";
    const char *at;

    serve(model, &model->stream, MCPI_HTTP_GET, "/sse", NULL, false);
    at = strstr(model->stream.text, before);
    assert_non_null(at);
    (void)snprintf(model->target, sizeof(model->target), "%.*s",
                   (int)strcspn(at + sizeof(before) - 1, "\n"),
                   at + sizeof(before) - 1);
}

static void
learn_session(struct model *model)
{
    struct mcpi_list *node = mcpi_list_first(&model->site.endpoint->all_sessions);

    assert_non_null(node);
    strcpy(model->session, MCPI_CONTAINER(node, struct mcpi_session, in_endpoint)->id);
}

static struct model *
model_new(bool is_2024)
{
    struct model *model = calloc(1, sizeof(*model));

    assert_non_null(model);
    model->is_2024 = is_2024;
    site_init(&model->site);
    model->site.http.identify = on_identify;
    model->site.http.identify_user = model;
    model->site.http.sse_path = "/sse";
    model->site.http.message_path = "/message";
    site_open(&model->site, false);
    assert_int_equal(mcpi_loop_new(NULL, NULL, &model->other), 0);
    strcpy(model->target, "/mcp");
    if (is_2024)
        open_stream(model);
    say(model, INITIALIZE("\"hello\"", "2025-03-26"));
    if (!is_2024)
        learn_session(model);
    say(model, NOTE("notifications/initialized", "{}"));
    return model;
}

static void
model_free(struct model *model)
{
    if (model->is_2024) {
        mcpi_turn_gone(&model->stream.turn);
        carrier_done(&model->stream);
    }
    site_close(&model->site);
    mcpi_loop_free(model->other);
    free(model);
}

/* ---- one order --------------------------------------------------------------- */

static void
message_step(struct model *model, struct message *m, enum step step)
{
    switch (step) {
    case ARRIVES:
        serve(model, &m->carrier, MCPI_HTTP_POST, model->target, m->body, m->relayed);
        break;
    case AUTHENTICATED:
        if (!m->ticket) /* it is still on its way between the loops */
            site_run(&model->site);
        assert_non_null(m->ticket);
        mcp_http_allow(m->ticket, "alice");
        break;
    case LEAVES:
        m->left = true;
        mcpi_turn_gone(&m->carrier.turn);
        break;
    }
}

static void
message_begin(struct message *m)
{
    m->left = false;
    m->ticket = NULL;
}

/* The bits of `order` say whose step is next, those of `turns` whether the loop of the
 * session runs behind it. False: that is no order of these steps. */
static bool
play(struct model *model, unsigned order, unsigned turns)
{
    struct message *request = &model->request, *cancel = &model->cancel;
    size_t steps = strlen(request->life) + strlen(cancel->life);
    size_t at[2] = {0, 0};

    for (size_t i = 0; i < steps; i++)
        at[order >> i & 1]++;
    if (at[0] != strlen(request->life))
        return false;
    at[0] = at[1] = 0;
    for (size_t i = 0; i < steps; i++) {
        unsigned whose = order >> i & 1;
        struct message *m = whose ? cancel : request;

        message_step(model, m, (enum step)m->life[at[whose]++]);
        if (turns >> i & 1)
            site_run(&model->site);
    }
    run_both(model);
    return true;
}

static void
nothing_is_left(struct model *model)
{
    const struct message *request = &model->request, *cancel = &model->cancel;
    int served = atomic_load(&model->site.served);
    char body[256];

    assert_int_equal(model->site.held_count, 0);
    assert_true(mcpi_list_empty(&model->site.endpoint->tickets));
    if (!request->left && !model->is_2024)
        assert_int_equal(carrier_heard(&request->carrier, "-32800"), 1);
    if (!request->left)
        assert_true(carrier_is_done(&request->carrier));
    if (!cancel->left)
        assert_int_equal(cancel->carrier.status, 202);
    model->request.life = model->cancel.life = NULL;
    (void)snprintf(body, sizeof(body), LEGACY_TOOL("%lld", "echo"), ++model->id);
    say(model, body);
    assert_int_equal(atomic_load(&model->site.served), served + 1);
}

static void
try_order(struct model *model, unsigned order, unsigned turns)
{
    struct message *request = &model->request, *cancel = &model->cancel;
    const char *const ours = request->life, *const theirs = cancel->life;
    long long id = ++model->id;

    (void)snprintf(request->body, sizeof(request->body), LEGACY_TOOL("%lld", "hold"),
                   id);
    (void)snprintf(cancel->body, sizeof(cancel->body), CANCEL("%lld"), id);
    message_begin(request);
    message_begin(cancel);
    if (!play(model, order, turns))
        return;
    nothing_is_left(model);
    carrier_done(&request->carrier);
    carrier_done(&cancel->carrier);
    request->life = ours;
    cancel->life = theirs;
    model->orders++;
}

/* ---- all of them ------------------------------------------------------------- */

static void
try_orders(struct model *model)
{
    size_t steps = strlen(model->request.life) + strlen(model->cancel.life);

    for (unsigned order = 0; order < 1U << steps; order++)
        for (unsigned turns = 0; turns < 1U << steps; turns++)
            try_order(model, order, turns);
}

static void
D25_no_handler_is_left_in_any_order(void **state)
{
    struct model *model = model_new(*state != NULL);

    test_limit(600);
    for (unsigned i = 0; i < LIVES * LIVES * 4; i++) {
        model->request.life = lives[i / 4 % LIVES];
        model->cancel.life = lives[i / 4 / LIVES];
        model->request.relayed = i & 1;
        model->cancel.relayed = i & 2;
        try_orders(model);
    }
    assert_int_equal(model->orders, 33696);
    model_free(model);
}

static int is_2024;

TEST_MAIN(TEST_AS("session.D25_no_handler_is_left_in_any_order",
                  D25_no_handler_is_left_in_any_order, NULL),
          TEST_AS("2024.D23_D25_no_handler_is_left_in_any_order",
                  D25_no_handler_is_left_in_any_order, &is_2024))
