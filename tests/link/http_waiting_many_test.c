/* http_waiting_many_test.c - many who wait at once, to be told who they are */
#include "link/http_door.h"

/* Who looks at all of them for each that waits, each time that one leaves, needs a minute:
 * in that time a loop serves nobody else. */
#define MANY 2000
#define LIMIT_S 20

struct crowd {
    struct door d;
    char headers[1024];
    mcp_http_ticket *asked[MANY];
    struct visit calls[MANY], cancels[MANY];
};

static struct crowd *
crowd_new(void)
{
    struct crowd *c = calloc(1, sizeof(*c));
    char session[128];

    assert_non_null(c);
    door_open(&c->d);
    c->d.now = true;
    c->d.principal = "alice";
    front_hello(&c->d.f, session);
    front_with(c->headers, sizeof(c->headers), PLAIN, session);
    return c;
}

static void
crowd_free(struct crowd *c)
{
    for (int i = 0; i < MANY; i++) {
        visit_done(&c->calls[i]);
        visit_done(&c->cancels[i]);
    }
    front_close(&c->d.f);
    free(c);
}

/* Each asks something, which has to wait, and cancels it, which is known sooner. */
static void
crowd_comes(struct crowd *c)
{
    char body[256];

    c->d.now = false;
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(body, sizeof(body), LEGACY_HOLD("%d"), i + 1);
        front_post(&c->d.f, &c->calls[i], c->headers, body);
        c->asked[i] = c->d.ticket;
    }
    c->d.now = true;
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(body, sizeof(body), CANCEL("%d"), i + 1);
        front_post(&c->d.f, &c->cancels[i], c->headers, body);
    }
}

static void
crowd_is_told(const struct crowd *c)
{
    for (int i = 0; i < MANY; i++)
        assert_int_equal(c->cancels[i].status, 202);
    assert_int_equal(c->d.f.served, 0);
    assert_true(mcpi_list_empty(&c->d.f.endpoint->tickets));
}

static void
D25_many_requests_that_wait_have_each_its_cancel(void **state)
{
    struct crowd *c = crowd_new();

    (void)state;
    test_limit(LIMIT_S);
    crowd_comes(c);
    for (int i = MANY - 1; i >= 0; i--)
        mcp_http_allow(c->asked[i], "alice");
    front_run(&c->d.f);
    crowd_is_told(c);
    for (int i = 0; i < MANY; i++)
        assert_non_null(strstr(c->calls[i].text, "-32800"));
    crowd_free(c);
}

/* Their clients leave, one after the other. */
static void
D22_many_requests_that_leave_are_not_served(void **state)
{
    struct crowd *c = crowd_new();

    (void)state;
    test_limit(LIMIT_S);
    crowd_comes(c);
    for (int i = 0; i < MANY; i++)
        mcpi_turn_gone(&c->calls[i].turn);
    for (int i = 0; i < MANY; i++)
        mcp_http_allow(c->asked[i], "alice");
    front_run(&c->d.f);
    crowd_is_told(c);
    crowd_free(c);
}

TEST_MAIN(TEST(D25_many_requests_that_wait_have_each_its_cancel),
          TEST(D22_many_requests_that_leave_are_not_served))
