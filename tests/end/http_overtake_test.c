/*
 * http_overtake_test.c - probe-server over HTTP: requests and their cancels, sent at the
 * same time on two connections
 *
 * Which of the two a server with several threads reads first is open. MCP_TEST_RACES says
 * how often each case tries, instead of RACES.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "end/http_probe.h"
#include "support/messages.h"

#define RACES 320
#define PAIRS 32 /* at once */

#define HANG(id)              \
    REQUEST(id, "tools/call", \
            "{\"name\":\"hang_async\",\"arguments\":{\"seconds\":600}}")

enum order { REQUEST_FIRST, CANCEL_FIRST, TOGETHER };

struct race {
    enum order order; /* in which they are sent; TOGETHER: from two threads */
    bool is_2024;
};

struct track {
    struct http_probe probe;
    struct http_raw stream; /* 2024 */
    char target[256];
    struct http_raw requests[PAIRS], cancels[PAIRS];
};

static int
races(void)
{
    const char *wanted = getenv("MCP_TEST_RACES");

    return wanted ? atoi(wanted) : RACES;
}

static void
post(const struct track *t, struct http_raw *h, const char *body)
{
    char text[1024];
    int len;

    len = snprintf(text, sizeof(text),
                   "POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                   "Content-Type: application/json\r\n"
                   "Accept: application/json, text/event-stream\r\n"
                   "Content-Length: %zu\r\n"
                   "%s%s%s\r\n%s",
                   t->target, strlen(body), t->probe.session ? "Mcp-Session-Id: " : "",
                   t->probe.session ? t->probe.session : "",
                   t->probe.session ? "\r\n" : "", body);
    assert_true(len > 0 && (size_t)len < sizeof(text));
    http_say(h, text);
}

static void
greet_2024(struct track *t)
{
    struct http_raw h;

    http_probe_open(&t->probe, &t->stream);
    http_say(&t->stream, "GET /sse HTTP/1.1\r\nHost: 127.0.0.1\r\n"
                         "Accept: text/event-stream\r\n\r\n");
    assert_int_equal(http_head(&t->stream), 200);
    (void)snprintf(t->target, sizeof(t->target), "%s", http_event(&t->stream, NULL));
    http_probe_open(&t->probe, &h);
    post(t, &h, INITIALIZE("\"hello\"", "2024-11-05"));
    assert_int_equal(http_answer(&h), 202);
    assert_non_null(strstr(http_event(&t->stream, NULL), "\"result\""));
    post(t, &h, NOTE("notifications/initialized", "{}"));
    assert_int_equal(http_answer(&h), 202);
    http_close(&h);
}

static struct track *
track_new(const struct race *race, unsigned threads)
{
    struct http_way way = http_ways[WAY_LEGACY];
    struct track *t = calloc(1, sizeof(*t));

    assert_non_null(t);
    way.threads = threads;
    way.silent = race->is_2024;
    way.more = "--sse";
    http_probe_start(&t->probe, &way);
    (void)snprintf(t->target, sizeof(t->target), "/mcp");
    if (race->is_2024)
        greet_2024(t);
    for (int i = 0; i < PAIRS; i++) {
        http_probe_open(&t->probe, &t->requests[i]);
        http_probe_open(&t->probe, &t->cancels[i]);
    }
    return t;
}

static void
track_free(struct track *t, const struct race *race)
{
    for (int i = 0; i < PAIRS; i++) {
        http_close(&t->requests[i]);
        http_close(&t->cancels[i]);
    }
    if (race->is_2024)
        http_close(&t->stream);
    http_probe_stop(&t->probe);
    free(t);
}

/* All that are sent at once have ids from `id` on. */
struct batch {
    struct track *track;
    int id;
};

static void
send_request(const struct batch *b, int pair)
{
    char text[256];

    (void)snprintf(text, sizeof(text), HANG("%d"), b->id + pair);
    post(b->track, &b->track->requests[pair], text);
}

static void
send_cancel(const struct batch *b, int pair)
{
    char text[256];

    (void)snprintf(text, sizeof(text), CANCEL("%d"), b->id + pair);
    post(b->track, &b->track->cancels[pair], text);
}

static void *
send_cancels(void *user)
{
    for (int pair = 0; pair < PAIRS; pair++)
        send_cancel(user, pair);
    return NULL;
}

static void
send_together(struct batch *b)
{
    pthread_t thread;

    assert_int_equal(pthread_create(&thread, NULL, send_cancels, b), 0);
    for (int pair = 0; pair < PAIRS; pair++)
        send_request(b, pair);
    assert_int_equal(pthread_join(thread, NULL), 0);
}

static void
send_in_order(const struct batch *b, bool cancel_first)
{
    for (int pair = 0; pair < PAIRS; pair++) {
        if (cancel_first)
            send_cancel(b, pair);
        send_request(b, pair);
        if (!cancel_first)
            send_cancel(b, pair);
    }
}

/* A cancel that was lost leaves a handler, and in a session an answer that never comes. */
static void
read_pair(struct track *t, const struct race *race, int pair)
{
    struct http_raw *h = &t->requests[pair];

    if (race->is_2024)
        assert_int_equal(http_answer(h), 202);
    else
        assert_non_null(strstr(http_probe_message(h), "-32800"));
    assert_int_equal(http_answer(&t->cancels[pair]), 202);
}

static void
race_on(const struct race *race, unsigned threads)
{
    struct batch b = {.track = track_new(race, threads)};

    for (; b.id < races(); b.id += PAIRS) {
        if (race->order == TOGETHER)
            send_together(&b);
        else
            send_in_order(&b, race->order == CANCEL_FIRST);
        for (int pair = 0; pair < PAIRS; pair++)
            read_pair(b.track, race, pair);
    }
    assert_int_equal(http_probe_calm(&b.track->probe, 0).completed, 0);
    track_free(b.track, race);
}

static void
D25_cancel_ends_its_request_whichever_arrives_first(void **state)
{
    for (unsigned threads = 1; threads <= 8; threads *= 2)
        race_on(*state, threads);
}

static struct race request_first = {REQUEST_FIRST, false},
                   cancel_first = {CANCEL_FIRST, false}, together = {TOGETHER, false},
                   old_request_first = {REQUEST_FIRST, true},
                   old_cancel_first = {CANCEL_FIRST, true},
                   old_together = {TOGETHER, true};

#define RACE(race)                                                        \
    TEST_AS(#race ".D25_cancel_ends_its_request_whichever_arrives_first", \
            D25_cancel_ends_its_request_whichever_arrives_first, &(race))

TEST_MAIN(RACE(request_first), RACE(cancel_first), RACE(together),
          RACE(old_request_first), RACE(old_cancel_first), RACE(old_together))
