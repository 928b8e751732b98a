/* proxy_test.c - a handler that forwards to another session and binds its token */
#include <string.h>

#include "run/token.h"
#include "support/messages.h"
#include "support/world.h"

struct proxy {
    struct world front, back; /* its clients; the server it forwards to */
    struct outcome call;      /* the front client's */
    struct outcome forwarded; /* the proxy's own */
    struct mcpi_token *token;
    struct mcpi_hook hook;
};

static void
cancel_forwarded(void *user)
{
    struct proxy *p = user;

    (void)mcpi_call_cancel(p->forwarded.call, mcpi_token_reason(p->token), p->back.now);
}

static void
proxy_begin(struct mcpi_exchange *x)
{
    (void)x;
}

static void
proxy_ended(struct mcpi_exchange *x, enum mcpi_ending how, const char *reason)
{
    struct proxy *p = x->served_user;

    (void)how;
    mcpi_token_set(p->token, reason, true);
}

static const struct mcpi_served_ops proxy_ops = {.begin = proxy_begin,
                                                 .ended = proxy_ended};

/* A request that came under id "front" and was forwarded under id 800. */
static void
proxy_start(struct proxy *p, enum mcpi_era front, enum mcpi_era back)
{
    struct mcpi_id id = mcpi_id_string("front", 5), next = mcpi_id_int(800);
    struct mcpi_call_options opt = {.id = &id}, onward = {.id = &next};

    memset(p, 0, sizeof(*p));
    world_start(&p->front, front);
    world_start(&p->back, back);
    world_call(&p->front, CLIENT, &opt, &p->call);
    world_run(&p->front);
    p->token = mcpi_token_new(NULL);
    assert_non_null(p->token);
    p->hook.fn = cancel_forwarded;
    p->hook.user = p;
    mcpi_exchange_serve(world_job(&p->front, SERVER)->x, &proxy_ops, p);
    world_call(&p->back, CLIENT, &onward, &p->forwarded);
    mcpi_token_hook(p->token, &p->hook);
    world_run(&p->back);
    world_forget(&p->front);
    world_forget(&p->back);
}

static void
proxy_stop(struct proxy *p)
{
    mcpi_token_unhook(p->token, &p->hook);
    mcpi_token_unref(p->token);
    outcome_done(&p->forwarded);
    outcome_done(&p->call);
    world_close(&p->front);
    world_close(&p->back);
}

static void
check_cascade(struct proxy *p)
{
    assert_int_equal(mcpi_call_cancel(p->call.call, "enough", p->front.now), 0);
    world_run(&p->front);
    world_run(&p->back);
    assert_int_equal(p->back.sent_count[CLIENT], 1);
    assert_non_null(strstr(world_sent(&p->back, CLIENT, 0), "notifications/cancelled"));
    assert_non_null(strstr(world_sent(&p->back, CLIENT, 0), "\"requestId\":800"));
    assert_null(strstr(world_sent(&p->back, CLIENT, 0), "front"));
    assert_int_equal(world_job(&p->back, SERVER)->told, 1);
    assert_string_equal(world_job(&p->back, SERVER)->reason, "enough");
    assert_int_equal(p->forwarded.status, MCP_E_CANCELED);
    assert_int_equal(p->front.sent_count[SERVER], 0);
}

static void
F24_cancel_is_forwarded_under_the_outgoing_id(void **state)
{
    struct proxy p;

    (void)state;
    proxy_start(&p, MCPI_ERA_MODERN, MCPI_ERA_MODERN);
    check_cascade(&p);
    proxy_stop(&p);
}

static void
F24_cancel_is_forwarded_across_the_eras(void **state)
{
    struct proxy p;

    (void)state;
    proxy_start(&p, MCPI_ERA_LEGACY, MCPI_ERA_MODERN);
    check_cascade(&p);
    proxy_stop(&p);
    proxy_start(&p, MCPI_ERA_MODERN, MCPI_ERA_LEGACY);
    check_cascade(&p);
    proxy_stop(&p);
}

static void
F24_loss_of_the_front_client_ends_the_outgoing_request_too(void **state)
{
    struct proxy p;

    (void)state;
    proxy_start(&p, MCPI_ERA_MODERN, MCPI_ERA_MODERN);
    world_cut(&p.front, CLIENT);
    world_run(&p.front);
    world_pass(&p.front, 1 * SECOND); /* the drain */
    world_run(&p.back);
    assert_int_equal(p.forwarded.status, MCP_E_CANCELED);
    assert_int_equal(world_job(&p.back, SERVER)->told, 1);
    proxy_stop(&p);
}

static void
F24_answered_request_leaves_nothing_to_cancel(void **state)
{
    struct proxy p;

    (void)state;
    proxy_start(&p, MCPI_ERA_MODERN, MCPI_ERA_MODERN);
    job_finish(&p.back, world_job(&p.back, SERVER), "{}");
    world_run(&p.back);
    assert_int_equal(p.forwarded.status, 0);
    assert_int_equal(mcpi_call_cancel(p.call.call, NULL, p.front.now), 0);
    world_run(&p.front);
    world_run(&p.back);
    assert_true(mcpi_token_is_set(p.token));
    assert_int_equal(p.forwarded.done, 1);
    assert_int_equal(p.back.sent_count[CLIENT], 0);
    proxy_stop(&p);
}

TEST_MAIN(TEST(F24_cancel_is_forwarded_under_the_outgoing_id),
          TEST(F24_cancel_is_forwarded_across_the_eras),
          TEST(F24_loss_of_the_front_client_ends_the_outgoing_request_too),
          TEST(F24_answered_request_leaves_nothing_to_cancel))
