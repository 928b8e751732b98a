/*
 * listening_test.c - a client hears of changes over a stream, until either side ends it
 *
 * In the modern era each subscription is a request of its own, in the legacy era all of
 * a client's share the session.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "end/raw.h"
#include "support/messages.h"

#include <mcp/subscription.h>

enum { HUNDRED = 100, URIS = 3 };

static const char *const uris[URIS] = {"watch://0", "watch://1", "watch://2"};

/* ---- a client that subscribes -------------------------------------------- */

static mcp_subscription *
subscribe(struct probe *p, const char *uri)
{
    const char *const watched[] = {uri, NULL};
    mcp_subscription *s = NULL;
    mcp_error err = {0};
    int r;

    r = mcp_client_subscribe(p->client, &MCP_SUBSCRIBE(.uris = watched), &s, &err);
    if (r < 0)
        fail_msg("%s: %s", uri, err.message);
    assert_true(mcp_subscription_watches(s, uri));
    return s;
}

static void
touch(struct probe *p, const char *uri)
{
    char arguments[64];

    snprintf(arguments, sizeof(arguments), "{\"uri\":\"%s\"}", uri);
    probe_expect(p, "touch", arguments, "touched");
}

static void
expect_event(mcp_subscription *s, const char *uri)
{
    mcp_notice event = {0};

    assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &event), 0);
    assert_int_equal(event.change, MCP_RESOURCE_UPDATED);
    assert_string_equal(event.uri, uri);
}

static void
expect_nothing(mcp_subscription *s)
{
    mcp_notice event;

    assert_int_equal(mcp_subscription_next(s, 0, &event), MCP_E_AGAIN);
    assert_int_equal(mcp_subscription_how(s), MCP_SUBSCRIPTION_OPEN);
}

static void
expect_end(mcp_subscription *s, enum mcp_subscription_end how)
{
    mcp_notice event;

    assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &event), MCP_E_CLOSED);
    assert_int_equal(mcp_subscription_how(s), how);
    assert_int_equal(mcp_subscription_status(s, NULL),
                     how == MCP_SUBSCRIPTION_GRACEFUL ? 0 : MCP_E_CLOSED);
}

static void
subscribe_many(struct probe *p, mcp_subscription **many)
{
    for (int i = 0; i < HUNDRED; i++)
        many[i] = subscribe(p, uris[i % URIS]);
}

static void
free_many(mcp_subscription **many)
{
    for (int i = 0; i < HUNDRED; i++)
        mcp_subscription_free(many[i]);
}

/* ---- events -------------------------------------------------------------- */

static void
events_arrive_and_only_those_asked_for(void **state)
{
    mcp_subscription *first, *second;
    struct probe p;

    probe_open(&p, era_of(state));
    first = subscribe(&p, uris[0]);
    second = subscribe(&p, uris[1]);
    touch(&p, uris[1]);
    touch(&p, uris[2]);
    expect_event(second, uris[1]);
    touch(&p, uris[0]);
    expect_event(first, uris[0]);
    expect_nothing(first);
    expect_nothing(second);
    mcp_subscription_free(first);
    touch(&p, uris[0]);
    touch(&p, uris[1]);
    expect_event(second, uris[1]);
    expect_nothing(second);
    mcp_subscription_free(second);
    probe_close(&p);
}

static void
a_hundred_subscriptions_each_hear_their_own(void **state)
{
    mcp_subscription *many[HUNDRED];
    struct probe_stats before, now;
    size_t descriptors;
    struct probe p;

    probe_open(&p, era_of(state));
    before = probe_calm(&p, 0);
    descriptors = count_descriptors();
    subscribe_many(&p, many);
    for (int round = 0; round < 3; round++) {
        touch(&p, uris[round]);
        for (int i = round; i < HUNDRED; i += URIS)
            expect_event(many[i], uris[round]);
        for (int i = 0; i < HUNDRED; i++)
            expect_nothing(many[i]);
    }
    free_many(many);
    now = probe_calm(&p, 0);
    assert_int_equal(now.open_fds, before.open_fds);
    assert_int_equal(now.workers, 0);
    assert_int_equal(count_descriptors(), descriptors);
    touch(&p, uris[0]); /* nobody is there, and it lives */
    probe_close(&p);
}

/* More than a server gives out at once, one after the other: each frees its slot. */
static void
H16_a_slot_is_free_when_its_subscription_is_closed(void **state)
{
    struct probe p;

    probe_open(&p, era_of(state));
    for (int i = 0; i < 1100; i++)
        mcp_subscription_free(subscribe(&p, uris[i % URIS]));
    probe_close(&p);
}

/* ---- what the client says when it closes --------------------------------- */

struct tapped {
    char folder[32];
    char path[64]; /* where all that the client wrote is copied to */
};

static void
open_tapped(struct probe *p, enum mcp_era era, struct tapped *tap)
{
    const char *const command[] = {"/bin/sh", "-c",         "tee \"$0\" | exec \"$1\"",
                                   tap->path, PROBE_SERVER, NULL};

    snprintf(tap->folder, sizeof(tap->folder), "/tmp/mcp-tap-XXXXXX");
    assert_non_null(mkdtemp(tap->folder));
    snprintf(tap->path, sizeof(tap->path), "%s/said", tap->folder);
    assert_int_equal(
        mcp_client_spawn(command,
                         &MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0",
                                             .era = era, .exit_ms = AWAIT_MS),
                         &p->client, NULL),
        0);
}

/* Lines with both parts. */
static int
count_said(const struct tapped *tap, const char *part, const char *other)
{
    FILE *file = fopen(tap->path, "re");
    char line[4096];
    int count = 0;

    assert_non_null(file);
    while (fgets(line, sizeof(line), file))
        count += strstr(line, part) && strstr(line, other);
    fclose(file);
    return count;
}

static void
tapped_done(struct tapped *tap)
{
    assert_int_equal(unlink(tap->path), 0);
    assert_int_equal(rmdir(tap->folder), 0);
}

static void
H3_each_closed_subscription_is_one_frame(void **state)
{
    mcp_subscription *many[HUNDRED];
    struct tapped tap;
    struct probe p;

    open_tapped(&p, era_of(state), &tap);
    subscribe_many(&p, many);
    touch(&p, uris[0]);
    free_many(many);
    touch(&p, uris[0]);
    probe_close(&p);
    assert_int_equal(count_said(&tap, "subscriptions/listen", "watch://"), HUNDRED);
    assert_int_equal(count_said(&tap, "notifications/cancelled", "listen-"), HUNDRED);
    assert_int_equal(count_said(&tap, "notifications/cancelled", ""), HUNDRED);
    tapped_done(&tap);
}

/* What many watch is watched once, and let go with the last. */
static void
each_resource_is_subscribed_to_and_left_once(void **state)
{
    mcp_subscription *many[HUNDRED];
    struct tapped tap;
    struct probe p;

    open_tapped(&p, era_of(state), &tap);
    subscribe_many(&p, many);
    touch(&p, uris[0]);
    free_many(many);
    touch(&p, uris[0]);
    probe_close(&p);
    for (int i = 0; i < URIS; i++) {
        assert_int_equal(count_said(&tap, "resources/subscribe", uris[i]), 1);
        assert_int_equal(count_said(&tap, "resources/unsubscribe", uris[i]), 1);
    }
    assert_int_equal(count_said(&tap, "notifications/cancelled", ""), 0);
    tapped_done(&tap);
}

static void
a_client_that_is_freed_says_goodbye_by_closing(void **state)
{
    mcp_subscription *many[HUNDRED];
    struct tapped tap;
    struct probe p;

    open_tapped(&p, era_of(state), &tap);
    subscribe_many(&p, many);
    probe_close(&p);
    for (int i = 0; i < HUNDRED; i++)
        expect_end(many[i], MCP_SUBSCRIPTION_LOST);
    free_many(many);
    assert_int_equal(count_said(&tap, "notifications/cancelled", ""), 0);
    tapped_done(&tap);
}

/* ---- the server ends it -------------------------------------------------- */

static void
H17_a_server_that_is_told_to_go_ends_each_in_order(void **state)
{
    mcp_subscription *many[HUNDRED];
    struct probe p;
    pid_t pid;

    probe_open(&p, era_of(state));
    pid = (pid_t)mcp_client_pid(p.client);
    subscribe_many(&p, many);
    touch(&p, uris[1]);
    assert_int_equal(kill(pid, SIGTERM), 0);
    for (int i = 0; i < HUNDRED; i++) {
        if (i % URIS == 1)
            expect_event(many[i], uris[1]);
        expect_end(many[i], MCP_SUBSCRIPTION_GRACEFUL);
    }
    free_many(many);
    probe_close_dead(&p, pid);
}

static void
a_legacy_server_that_goes_is_lost(void **state)
{
    mcp_subscription *s;
    struct probe p;
    pid_t pid;

    probe_open(&p, era_of(state));
    pid = (pid_t)mcp_client_pid(p.client);
    s = subscribe(&p, uris[0]);
    assert_int_equal(kill(pid, SIGTERM), 0);
    expect_end(s, MCP_SUBSCRIPTION_LOST);
    mcp_subscription_free(s);
    probe_close_dead(&p, pid);
}

static void
H10_a_server_that_is_killed_loses_all(void **state)
{
    mcp_subscription *many[HUNDRED], *late = NULL;
    struct probe p;
    pid_t pid;

    probe_open(&p, era_of(state));
    pid = (pid_t)mcp_client_pid(p.client);
    subscribe_many(&p, many);
    assert_int_equal(kill(pid, SIGKILL), 0);
    for (int i = 0; i < HUNDRED; i++)
        expect_end(many[i], MCP_SUBSCRIPTION_LOST);
    assert_int_equal(mcp_client_subscribe(p.client, NULL, &late, NULL), MCP_E_CLOSED);
    assert_null(late);
    free_many(many);
    probe_close_dead(&p, pid);
}

/* ---- what the server says ------------------------------------------------ */

#define LISTEN(id)                                                                  \
    REQUEST(id, "subscriptions/listen",                                             \
            "{\"notifications\":{\"resourceSubscriptions\":[\"watch://1\"]}," STAMP \
            "}")

static const mcp_json *
subscription_id(const mcp_json *of)
{
    return mcp_json_get(mcp_json_get(of, "_meta"),
                        "io.modelcontextprotocol/subscriptionId");
}

static void
raw_expect_note(struct raw *raw, const char *method, int64_t id)
{
    const mcp_json *message = raw_read(raw);

    assert_true(mcp_json_is_string(mcp_json_get(message, "method"), method));
    assert_int_equal(mcp_json_int(subscription_id(mcp_json_get(message, "params")), -1),
                     id);
}

static void
raw_listen(struct raw *raw)
{
    static const char *const requests[] = {LISTEN("1"), LISTEN("2"), LISTEN("3")};

    for (int i = 0; i < 3; i++) {
        raw_say(raw, requests[i]);
        raw_expect_note(raw, "notifications/subscriptions/acknowledged", i + 1);
    }
}

static void
H17_a_signal_gives_each_its_result_and_no_frame(void **state)
{
    const mcp_json *message, *result;
    bool ended[4] = {false};
    struct raw raw;
    int64_t id;

    (void)state;
    raw_open(&raw, MCP_ERA_MODERN);
    raw_listen(&raw);
    assert_int_equal(kill(raw.pid, SIGTERM), 0);
    for (int i = 0; i < 3; i++) {
        message = raw_read(&raw);
        id = mcp_json_int(mcp_json_get(message, "id"), 0);
        assert_in_range(id, 1, 3);
        assert_false(ended[id]);
        ended[id] = true;
        result = mcp_json_get(message, "result");
        assert_int_equal(mcp_json_int(subscription_id(result), -1), id);
        assert_true(mcp_json_is_string(mcp_json_get(result, "resultType"), "complete"));
    }
    assert_null(raw_read(&raw));
    expect_exit(raw_close(&raw), 0);
}

/* Touch it, and read what comes: who was told, as a set of bits, and the answer. */
static unsigned
raw_touch(struct raw *raw, size_t messages)
{
    const mcp_json *message, *id;
    unsigned told = 0;

    raw_call(raw, "\"t\"", "touch", "{\"uri\":\"watch://1\"}");
    for (size_t i = 0; i < messages; i++) {
        message = raw_read(raw);
        id = subscription_id(mcp_json_get(message, "params"));
        if (id)
            told |= 1U << mcp_json_int(id, 0);
        else
            assert_true(mcp_json_is_string(mcp_json_get(message, "id"), "t"));
    }
    return told;
}

static void
H16_nothing_is_told_after_its_cancel(void **state)
{
    struct raw raw;

    (void)state;
    raw_open(&raw, MCP_ERA_MODERN);
    raw_listen(&raw);
    assert_int_equal(raw_touch(&raw, 4), 1 << 1 | 1 << 2 | 1 << 3);
    raw_say(&raw, CANCEL("2"));
    assert_int_equal(raw_touch(&raw, 3), 1 << 1 | 1 << 3);
    raw_say(&raw, CANCEL("1"));
    raw_say(&raw, CANCEL("3"));
    assert_int_equal(raw_touch(&raw, 1), 0);
    raw_expect_alive(&raw); /* nothing comes behind the answer either */
    raw_expect_handlers(&raw, 0);
    expect_exit(raw_close(&raw), 0);
}

static void
a_client_that_says_goodbye_is_not_waited_for(void **state)
{
    struct raw raw;

    (void)state;
    raw_open(&raw, MCP_ERA_MODERN);
    raw_listen(&raw);
    raw_shut(&raw);
    assert_null(raw_read(&raw));
    expect_exit(raw_close(&raw), 0);
}

TEST_MAIN(IN_BOTH_ERAS(events_arrive_and_only_those_asked_for),
          IN_BOTH_ERAS(a_hundred_subscriptions_each_hear_their_own),
          IN_BOTH_ERAS(H16_a_slot_is_free_when_its_subscription_is_closed),
          IN_MODERN(H3_each_closed_subscription_is_one_frame),
          IN_LEGACY(each_resource_is_subscribed_to_and_left_once),
          IN_BOTH_ERAS(a_client_that_is_freed_says_goodbye_by_closing),
          IN_MODERN(H17_a_server_that_is_told_to_go_ends_each_in_order),
          IN_LEGACY(a_legacy_server_that_goes_is_lost),
          IN_BOTH_ERAS(H10_a_server_that_is_killed_loses_all),
          TEST(H17_a_signal_gives_each_its_result_and_no_frame),
          TEST(H16_nothing_is_told_after_its_cancel),
          TEST(a_client_that_says_goodbye_is_not_waited_for))
