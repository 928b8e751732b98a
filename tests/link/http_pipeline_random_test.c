/* http_pipeline_random_test.c - many requests behind each other, in random pieces */
#include <stdio.h>

#include "link/http_fixture.h"

enum { ROUNDS = 200, MOST = 80, LONG = 3000, BUDGET = 400000 };

struct run {
    struct fixture f;
    struct client c;
    struct mcpi_buf text;
    size_t sent, answered;
    int count;
    unsigned seed;
};

static unsigned
random_below(struct run *r, unsigned limit)
{
    return (unsigned)rand_r(&r->seed) % limit;
}

/* Refused by its head, answered at once, or later: that is decided when it is served. */
static void
write_request(struct run *r, int number)
{
    int length = (int)random_below(r, random_below(r, 4) == 0 ? LONG : 20) + 1;
    char text[LONG + 100];

    if (random_below(r, 8) == 0)
        snprintf(text, sizeof(text), "GET /refused/%d HTTP/1.1\r\nHost: a\r\n\r\n",
                 number);
    else if (random_below(r, 3) == 0)
        snprintf(text, sizeof(text), "GET /%d HTTP/1.1\r\nHost: a\r\n\r\n", number);
    else
        snprintf(text, sizeof(text),
                 "POST /%d HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n%0*d",
                 number, length, length, 0);
    mcpi_buf_text(&r->text, text);
}

static void
send_some(struct run *r)
{
    size_t len = random_below(r, random_below(r, 5) == 0 ? 9000 : 100);

    if (len > r->text.len - r->sent)
        len = r->text.len - r->sent;
    if (len > 0)
        client_send_bytes(&r->c, r->text.data + r->sent, len);
    r->sent += len;
}

static void
run_step(struct run *r)
{
    r->f.hold = random_below(r, 2);
    if (random_below(r, 2))
        send_some(r);
    step(&r->f);
    client_read(&r->c);
    assert_int_equal(r->f.connections, 1);
    if (r->answered < r->f.held_count && random_below(r, 3))
        turn_reply(r->f.held[r->answered++], "late");
}

static bool
is_done(const struct run *r)
{
    return r->f.served + r->f.refused == r->count && r->answered == r->f.held_count;
}

static int
responses(const struct client *c)
{
    int count = 0;

    for (const char *at = c->text; at && (at = strstr(at, "HTTP/1.1 ")) != NULL; at++)
        count++;
    return count;
}

/* All are answered, and nothing stays charged. */
static void
requests_in_random_pieces_are_all_answered(void **state)
{
    for (unsigned seed = 1; seed <= ROUNDS; seed++) {
        struct run r = {.seed = seed};

        fixture_open_counting(&r.f, state, BUDGET);
        client_open(&r.c, &r.f);
        mcpi_buf_init(&r.text, NULL, UINT32_MAX);
        r.count = 20 + (int)random_below(&r, MOST - 20);
        for (int i = 0; i < r.count; i++)
            write_request(&r, i);
        for (int turns = 0; !is_done(&r); turns++) {
            assert_true(turns < 100000);
            run_step(&r);
        }
        CLIENT_UNTIL(&r.c, responses(&r.c) == r.count);
        assert_int_equal(mcpi_budget_bytes(mcpi_accounts_budget(r.f.accounts)), 0);
        mcpi_buf_done(&r.text);
        client_close(&r.c);
        UNTIL(&r.f, r.f.connections == 0);
        step(&r.f);
        fixture_close(&r.f);
    }
}

TLS_TEST_MAIN(BOTH(requests_in_random_pieces_are_all_answered))
