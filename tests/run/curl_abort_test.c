/* run/curl_abort_test.c - an abort in every phase, from anywhere */
#include "run/curl_fixture.h"

#include <sys/socket.h>
#include <sys/stat.h>

/* ---- in every phase --------------------------------------------------------- */

#define HEAD "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"

/* What the server has said when the request is aborted. */
struct phase {
    const char *name, *said;
    int heads, bodies;
    bool tls;
};

static void
abort_and_check(struct answer *a, struct world *w, struct visit *v)
{
    int sent = a->sent, heads = a->heads, bodies = a->bodies;
    struct answer next = {.w = NULL};
    struct visit fresh;

    answer_abort(a);
    visit_await_gone(v);
    assert_int_equal(a->ended, 0);
    assert_int_equal(a->sent, sent);
    assert_int_equal(a->heads, heads);
    assert_int_equal(a->bodies, bodies);
    answer_post(&next, w, "{}"); /* not on the connection of the other */
    visit_accept(&fresh, &w->script);
    visit_read(&fresh);
    visit_answer(&fresh, "200 OK", NULL, "next");
    world_until(w, &next.ended, 1);
    assert_false(next.faulty);
    assert_string_equal(next.body, "next");
    visit_close(&fresh);
}

static void
E3_E17_aborted_after(void **state)
{
    const struct phase *phase = *state;
    struct mcpi_curl_options opt = {.no_verify = true};
    struct answer a = {.w = NULL};
    struct tls_pair pair;
    struct world w;
    struct visit v;

    if (phase->tls)
        tls_pair_make(&pair);
    world_open_as(&w, opt, phase->tls ? &pair : NULL);
    answer_post(&a, &w, "{}");
    visit_accept(&v, &w.script);
    visit_read(&v);
    world_until(&w, &a.sent, 1);
    visit_say(&v, phase->said);
    if (phase->heads > 0)
        world_until(&w, &a.heads, 1);
    if (phase->bodies > 0)
        world_until(&w, &a.bodies, 1);
    world_step(&w, 3);
    abort_and_check(&a, &w, &v);
    visit_close(&v);
    world_close(&w);
    if (phase->tls)
        tls_pair_remove(&pair);
}

static const struct phase phases[] = {
    {.name = "the_request", .said = ""},
    {.name = "half_a_head", .said = "HTTP/1.1 200 OK\r\nConte"},
    {.name = "a_provisional_head", .said = "HTTP/1.1 100 Continue\r\n\r\n"},
    {.name = "a_head", .said = HEAD "Content-Length: 100\r\n\r\n", .heads = 1},
    {.name = "half_a_body",
     .said = HEAD "Content-Length: 100\r\n\r\n{\"some\":",
     .heads = 1,
     .bodies = 1},
    {.name = "the_head_of_a_stream",
     .said = HEAD "Transfer-Encoding: chunked\r\n\r\n",
     .heads = 1},
    {.name = "a_keep_alive",
     .said = HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\n:\n\n\r\n",
     .heads = 1,
     .bodies = 1},
    {.name = "half_an_event",
     .said = HEAD "Transfer-Encoding: chunked\r\n\r\n64\r\ndata: {\"half",
     .heads = 1,
     .bodies = 1},
    {.name = "a_piece_without_a_length",
     .said = HEAD "\r\ndata: x",
     .heads = 1,
     .bodies = 1},
};
static struct phase phases_tls[sizeof(phases) / sizeof(phases[0])];

static void
E3_aborted_before_anything_has_left(void **state)
{
    struct answer a = {.w = NULL};
    struct world w;

    (void)state;
    world_open(&w);
    answer_post(&a, &w, "{}");
    answer_abort(&a);
    assert_false(http_script_is_visited(&w.script, 20));
    assert_int_equal(a.ended, 0);
    world_close(&w);
}

static int
sockets_open(void)
{
    struct stat st;
    int count = 0;

    for (int fd = 0; fd < 1024; fd++)
        count += fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode);
    return count;
}

/* The kernel answers nobody once two are in the queue of a backlog of 0. */
static void
E3_aborted_while_it_connects(void **state)
{
    struct answer fill[3], a = {.w = NULL};
    struct world w;
    int before;

    (void)state;
    memset(fill, 0, sizeof(fill));
    world_open(&w);
    http_script_listen(&w.script, 0);
    for (int i = 0; i < 3; i++) {
        answer_post(&fill[i], &w, "{}");
        world_step(&w, 10);
    }
    before = sockets_open();
    answer_post(&a, &w, "{}");
    world_step(&w, 10);
    assert_int_equal(sockets_open(), before + 1);
    assert_int_equal(mcpi_fetch_get_phase(a.fetch), MCPI_FETCH_UNSENT);
    answer_abort(&a);
    assert_int_equal(sockets_open(), before);
    for (int i = 0; i < 3; i++)
        answer_abort(&fill[i]);
    world_step(&w, 3);
    assert_int_equal(a.ended + a.sent, 0);
    world_close(&w);
}

/* In the turn in which its socket is opened the kernel does not look at it yet: what
 * libcurl closes then, some versions of it without a word, must not be watched. */
static void
E3_aborted_in_the_turn_in_which_it_connects(void **state)
{
    struct answer fill[3], a = {.w = NULL};
    struct world w;
    int before;

    (void)state;
    memset(fill, 0, sizeof(fill));
    world_open(&w);
    http_script_listen(&w.script, 0);
    for (int i = 0; i < 3; i++) {
        answer_post(&fill[i], &w, "{}");
        world_step(&w, 10);
    }
    before = sockets_open();
    for (int steps = 0; steps < 5; steps++) {
        answer_post(&a, &w, "{}");
        world_step(&w, steps);
        answer_abort(&a);
        assert_int_equal(sockets_open(), before);
        world_step(&w, 3);
    }
    for (int i = 0; i < 3; i++)
        answer_abort(&fill[i]);
    world_close(&w);
}

static void
E3_aborted_in_the_greeting_of_tls(void **state)
{
    struct mcpi_curl_options opt = {.no_verify = true};
    struct answer a = {.w = NULL};
    struct tls_pair pair;
    struct world w;
    struct visit v;

    (void)state;
    tls_pair_make(&pair);
    world_open_as(&w, opt, &pair);
    answer_post(&a, &w, "{}");
    visit_accept_plain(&v, &w.script);
    visit_read_bytes(&v, 10); /* a hello, which is not answered */
    assert_int_equal(mcpi_fetch_get_phase(a.fetch), MCPI_FETCH_UNSENT);
    answer_abort(&a);
    visit_await_gone(&v);
    assert_int_equal(a.ended, 0);
    visit_close(&v);
    world_close(&w);
    tls_pair_remove(&pair);
}

#define MUCH 40000000

static void
E3_aborted_while_it_is_sent(void **state)
{
    struct answer a = {.w = NULL};
    char *body = malloc(MUCH + 1);
    struct world w;
    struct visit v;

    (void)state;
    assert_non_null(body);
    memset(body, 'x', MUCH);
    body[MUCH] = '\0';
    world_open(&w);
    answer_post(&a, &w, body);
    free(body);
    visit_accept(&v, &w.script);
    visit_read_head(&v);
    world_step(&w, 20); /* the server reads no more */
    assert_int_equal(mcpi_fetch_get_phase(a.fetch), MCPI_FETCH_SENDING);
    abort_and_check(&a, &w, &v);
    assert_int_equal(a.sent, 0);
    visit_close(&v);
    world_close(&w);
}

/* ---- from inside ------------------------------------------------------------ */

static void
abort_there(struct answer *a, char at)
{
    if (at != a->where)
        return;
    a->where = '\0';
    if (a->other->fetch)
        answer_abort(a->other);
    if (a->other != a && a->fetch && at != 'e')
        answer_abort(a);
}

/* "head": there it aborts itself; "head_with_another": another one first. */
static void
E12_aborted_from_inside(void **state)
{
    const char *where = *state;
    bool both = strstr(where, "another");
    struct answer b = {.w = NULL};
    struct answer a = {.then = abort_there, .where = where[0], .other = &a};
    struct visit first, second;
    struct world w;

    if (both)
        a.other = &b;
    world_open(&w);
    answer_post(&b, &w, "{}");
    visit_accept(&second, &w.script);
    visit_read(&second);
    visit_begin_chunks(&second, "200 OK", "text/x");
    world_until(&w, &b.heads, 1);
    answer_post(&a, &w, "{}");
    visit_accept(&first, &w.script);
    if (where[0] != 's') {
        visit_read(&first);
        visit_say(&first, HEAD "Content-Length: 4\r\n\r\ndone");
    }
    world_until(&w, &a.ended, where[0] == 'e');
    if (where[0] != 'e')
        visit_await_gone(&first);
    assert_int_equal(a.ended, where[0] == 'e');
    assert_int_equal(a.heads, where[0] != 's');
    assert_int_equal(a.bodies, where[0] == 'b' || where[0] == 'e');
    if (both) {
        visit_await_gone(&second);
    } else {
        visit_chunk(&second, "");
        world_until(&w, &b.ended, 1);
        assert_false(b.faulty);
    }
    assert_int_equal(b.ended, !both);
    visit_close(&first);
    visit_close(&second);
    world_close(&w);
}

static void
start_and_abort(struct answer *a, char at)
{
    if (at != 'h')
        return;
    answer_post(a->other, a->w, "{}");
    answer_abort(a->other);
}

static void
what_was_started_inside_can_be_aborted_there(void **state)
{
    struct answer b = {.w = NULL};
    struct answer a = {.then = start_and_abort, .other = &b};
    struct world w;
    struct visit v;

    (void)state;
    world_open(&w);
    answer_post(&a, &w, "{}");
    visit_accept(&v, &w.script);
    visit_read(&v);
    visit_answer(&v, "200 OK", NULL, "x");
    world_until(&w, &a.ended, 1);
    assert_false(http_script_is_visited(&w.script, 20));
    assert_int_equal(b.sent + b.ended, 0);
    visit_close(&v);
    world_close(&w);
}

/* ---- many ------------------------------------------------------------------- */

enum { MANY = 100 };

static void
E17_aborting_some_leaves_the_others_alone(void **state)
{
    struct answer answers[MANY];
    struct visit visits[MANY];
    unsigned random = 12345;
    struct world w;
    int i;

    (void)state;
    memset(answers, 0, sizeof(answers));
    world_open(&w);
    for (i = 0; i < MANY; i++) {
        answer_post(&answers[i], &w, "{}");
        visit_accept(&visits[i], &w.script);
        visit_read(&visits[i]);
        if (i % 3 == 0)
            visit_begin_chunks(&visits[i], "200 OK", "text/event-stream");
    }
    for (int n = 0; n < MANY / 2; n++) {
        do {
            random = random * 1103515245 + 12345;
            i = (int)(random / 65536 % MANY);
        } while (!answers[i].fetch);
        answer_abort(&answers[i]);
        answers[i].fetch = NULL;
    }
    for (i = 0; i < MANY; i++) {
        if (!answers[i].fetch) {
            visit_await_gone(&visits[i]);
        } else {
            if (i % 3 == 0)
                visit_chunk(&visits[i], "");
            else
                visit_answer(&visits[i], "200 OK", NULL, "x");
            world_until(&w, &answers[i].ended, 1);
            assert_false(answers[i].faulty);
        }
        visit_close(&visits[i]);
    }
    world_close(&w);
}

int
main(void)
{
    enum { PHASES = sizeof(phases) / sizeof(phases[0]) };
    static char inside[][24] = {"sent",
                                "head",
                                "body",
                                "ended",
                                "sent_with_another",
                                "head_with_another",
                                "body_with_another",
                                "ended_with_another"};
    static char names[PHASES * 2 + 8][256];
    struct test_case cases[PHASES * 2 + 8 + 8];
    struct test_case own[] = {TEST(E3_aborted_before_anything_has_left),
                              TEST(E3_aborted_while_it_connects),
                              TEST(E3_aborted_in_the_turn_in_which_it_connects),
                              TEST(E3_aborted_in_the_greeting_of_tls),
                              TEST(E3_aborted_while_it_is_sent),
                              TEST(what_was_started_inside_can_be_aborted_there),
                              TEST(E17_aborting_some_leaves_the_others_alone)};
    size_t count = 0;

    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
        cases[count++] = own[i];
    for (size_t i = 0; i < PHASES * 2; i++) {
        phases_tls[i / 2] = phases[i / 2];
        phases_tls[i / 2].tls = true;
        (void)snprintf(names[i], sizeof(names[i]), "%s.E3_E17_aborted_after_%s",
                       i % 2 ? "tls" : "plain", phases[i / 2].name);
        cases[count++] = (struct test_case){names[i], E3_E17_aborted_after,
                                            i % 2 ? (void *)&phases_tls[i / 2]
                                                  : (void *)(uintptr_t)&phases[i / 2]};
    }
    for (size_t i = 0; i < 8; i++) {
        (void)snprintf(names[PHASES * 2 + i], sizeof(names[0]),
                       "E12_aborted_from_inside_of_%s", inside[i]);
        cases[count++] = (struct test_case){names[PHASES * 2 + i],
                                            E12_aborted_from_inside, inside[i]};
    }
    return test_main(__FILE__, cases, count);
}
