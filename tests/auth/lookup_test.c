/* auth/lookup_test.c - one document over HTTP, from servers of all kinds */
#include "auth/lookup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/fake_fetch.h"
#include "support/test.h"

#define URL "https://as.test/.well-known/oauth-authorization-server"
#define LIMIT_US 5000000
#define JSON "application/json"

struct desk {
    struct test_mem own, *mem;
    struct mcpi_loop *loop;
    struct fake_fetcher fetcher;
    struct mcpi_lookup *lookup; /* of its own block; NULL: freed */
    int64_t now;

    int done; /* so often it was called; the rest is of the last time */
    int status, http;
    bool is_object;
    char why[128], issuer[64];
    char location[MCPI_LOOKUP_VALUE_MAX], nonce[MCPI_LOOKUP_VALUE_MAX];
    mcp_doc *kept;
    void (*then)(struct desk *d, const struct mcpi_lookup_answer *answer);
};

static int64_t
desk_clock(void *user)
{
    return ((struct desk *)user)->now;
}

static void
on_done(void *user, const struct mcpi_lookup_answer *answer)
{
    struct desk *d = user;

    d->done++;
    assert_false(mcpi_lookup_is_open(d->lookup));
    assert_int_equal(answer->json != NULL, answer->doc != NULL);
    assert_true(answer->status == 0 || answer->why[0] != '\0');
    assert_true(answer->status != 0 || answer->why[0] == '\0');
    assert_true(answer->status == 0 || !answer->json);
    d->status = answer->status;
    d->http = answer->http;
    d->is_object = answer->json != NULL;
    (void)snprintf(d->why, sizeof(d->why), "%s", answer->why);
    (void)snprintf(d->issuer, sizeof(d->issuer), "%s",
                   mcp_json_string(mcp_json_get(answer->json, "issuer"), ""));
    (void)snprintf(d->location, sizeof(d->location), "%s", answer->location);
    (void)snprintf(d->nonce, sizeof(d->nonce), "%s", answer->nonce);
    if (d->then)
        d->then(d, answer);
}

static struct mcpi_lookup_options
desk_options(struct desk *d)
{
    return (struct mcpi_lookup_options){.loop = d->loop,
                                        .fetcher = &d->fetcher.fetcher,
                                        .method = "GET",
                                        .url = URL,
                                        .limit_us = LIMIT_US,
                                        .done = on_done,
                                        .user = d};
}

static int
desk_open_with(struct desk *d, struct test_mem *mem)
{
    memset(d, 0, sizeof(*d));
    test_mem_init(&d->own);
    d->mem = mem ? mem : &d->own;
    d->now = 1000000;
    d->lookup = calloc(1, sizeof(*d->lookup));
    assert_non_null(d->lookup);
    fake_fetcher_init(&d->fetcher, &d->mem->allocator);
    if (mcpi_loop_new(&d->mem->allocator, NULL, &d->loop) < 0)
        return MCP_E_NOMEM;
    mcpi_loop_set_clock(d->loop, desk_clock, d);
    return 0;
}

static void
desk_open(struct desk *d)
{
    assert_int_equal(desk_open_with(d, NULL), 0);
}

static void
desk_close(struct desk *d)
{
    if (d->lookup)
        mcpi_lookup_abort(d->lookup);
    free(d->lookup);
    mcp_doc_free(d->kept);
    fake_fetcher_done(&d->fetcher);
    mcpi_loop_free(d->loop);
    test_mem_done(&d->own);
}

static void
desk_pass(struct desk *d, int64_t us)
{
    d->now += us;
    assert_int_equal(mcpi_loop_step(d->loop), 0);
}

/* A GET that was started. */
static struct fake_fetch *
desk_ask(struct desk *d)
{
    struct mcpi_lookup_options opt = desk_options(d);

    assert_int_equal(mcpi_lookup_start(d->lookup, &opt), 0);
    assert_true(mcpi_lookup_is_open(d->lookup));
    return fake_last(&d->fetcher);
}

/* ---- what is asked ---------------------------------------------------------- */

static void
a_document_is_asked_for(void **state)
{
    struct fake_fetch *get;
    struct desk d;

    (void)state;
    desk_open(&d);
    get = desk_ask(&d);
    assert_string_equal(get->method, "GET");
    assert_string_equal(get->url, URL);
    assert_string_equal(fake_field(get, "Accept"), "application/json");
    assert_null(fake_field(get, "Content-Type"));
    assert_null(get->body);
    assert_int_equal(get->nearest, MCPI_ADDRESS_ANY);
    assert_false(get->stays);
    assert_true(get->within);
    assert_true(get->anonymous);
    assert_int_equal(d.done, 0);
    fake_answer(get, 200, JSON, "{\"issuer\":\"https://as.test\"}");
    assert_int_equal(d.done, 1);
    assert_int_equal(d.status, 0);
    assert_int_equal(d.http, 200);
    assert_string_equal(d.issuer, "https://as.test");
    assert_string_equal(d.location, "");
    assert_string_equal(d.nonce, "");
    desk_close(&d);
}

static void
a_form_is_posted_with_its_fields(void **state)
{
    static const char fields[] = "Authorization: Basic eHg6eXk=\0DPoP: p";
    struct mcpi_lookup_options opt;
    struct fake_fetch *post;
    struct desk d;

    (void)state;
    desk_open(&d);
    opt = desk_options(&d);
    opt.method = "POST";
    opt.fields = fields;
    opt.fields_len = sizeof(fields);
    opt.body = "a=b&c";
    opt.body_len = 3;
    opt.type = "application/x-www-form-urlencoded";
    opt.nearest = MCPI_ADDRESS_PUBLIC;
    opt.stays = true;
    assert_int_equal(mcpi_lookup_start(d.lookup, &opt), 0);
    post = fake_last(&d.fetcher);
    assert_string_equal(post->method, "POST");
    assert_string_equal(post->body, "a=b");
    assert_string_equal(fake_field(post, "Content-Type"), opt.type);
    assert_string_equal(fake_field(post, "Accept"), "application/json");
    assert_string_equal(fake_field(post, "Authorization"), "Basic eHg6eXk=");
    assert_string_equal(fake_field(post, "DPoP"), "p");
    assert_int_equal(post->nearest, MCPI_ADDRESS_PUBLIC);
    assert_true(post->stays);
    assert_true(post->within);
    assert_true(post->anonymous);
    fake_answer(post, 200, JSON, "{}");
    assert_true(d.is_object);
    desk_close(&d);
}

static void
what_cannot_begin_did_not(void **state)
{
    struct mcpi_lookup_options opt;
    struct desk d;

    (void)state;
    desk_open(&d);
    opt = desk_options(&d);
    d.fetcher.refuse = MCP_E_INVAL;
    d.fetcher.refuse_times = 1;
    assert_int_equal(mcpi_lookup_start(d.lookup, &opt), MCP_E_INVAL);
    assert_false(mcpi_lookup_is_open(d.lookup));
    desk_pass(&d, LIMIT_US * 2);
    assert_int_equal(d.done, 0);
    mcpi_lookup_abort(d.lookup);
    fake_answer(desk_ask(&d), 200, JSON, "{}");
    assert_int_equal(d.done, 1);
    desk_close(&d);
}

/* ---- what comes ------------------------------------------------------------- */

static void
every_status_is_an_answer(void **state)
{
    static const int statuses[] = {200, 201, 204, 302, 400, 401, 403, 404, 429, 500};
    struct desk d;

    (void)state;
    desk_open(&d);
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        fake_answer(desk_ask(&d), statuses[i], JSON, "{\"error\":\"x\"}");
        assert_int_equal(d.status, 0);
        assert_int_equal(d.http, statuses[i]);
        assert_true(d.is_object);
        fake_answer(desk_ask(&d), statuses[i], NULL, NULL);
        assert_int_equal(d.status, 0);
        assert_int_equal(d.http, statuses[i]);
        assert_false(d.is_object);
    }
    desk_close(&d);
}

static void
not_now_is_not_no(void **state)
{
    struct mcpi_lookup_answer answer = {.status = 0};

    (void)state;
    for (answer.http = 100; answer.http < 600; answer.http++)
        assert_int_equal(mcpi_lookup_is_refused(&answer),
                         answer.http / 100 == 4 && answer.http != 408 &&
                             answer.http != 425 && answer.http != 429);
    answer.http = 404;
    answer.status = MCP_E_CLOSED; /* of half an answer */
    assert_false(mcpi_lookup_is_refused(&answer));
}

static void
what_is_no_object_is_nothing(void **state)
{
    static const char *const bodies[] = {"<html>404</html>",
                                         "[]",
                                         "[{\"issuer\":1}]",
                                         "\"{}\"",
                                         "null",
                                         "1",
                                         "{",
                                         "{}{}",
                                         "{'a':1}",
                                         "{\"a\":\"\xff\"}",
                                         "\xef\xbb\xbf{",
                                         "{\"a\"}",
                                         " "};
    struct desk d;

    (void)state;
    desk_open(&d);
    for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
        fake_answer(desk_ask(&d), 200, JSON, bodies[i]);
        assert_int_equal(d.status, 0);
        assert_int_equal(d.http, 200);
        assert_false(d.is_object);
    }
    desk_close(&d);
}

/* {"a":{"a": ... 1}} */
static void
answer_nested(struct fake_fetch *get, int depth)
{
    char text[8 * 1024];
    size_t len = 0;

    for (int i = 0; i < depth; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "{\"a\":");
    text[len++] = '1';
    memset(text + len, '}', (size_t)depth);
    fake_head(get, 200, "Content-Type: " JSON);
    fake_body_n(get, text, len + (size_t)depth);
    fake_end(get);
}

static void
what_is_nested_too_deep_is_nothing(void **state)
{
    struct desk d;

    (void)state;
    desk_open(&d);
    answer_nested(desk_ask(&d), MCPI_LOOKUP_DEPTH_MAX);
    assert_true(d.is_object);
    answer_nested(desk_ask(&d), MCPI_LOOKUP_DEPTH_MAX + 1);
    assert_int_equal(d.status, 0);
    assert_false(d.is_object);
    answer_nested(desk_ask(&d), 1000);
    assert_false(d.is_object);
    desk_close(&d);
}

static void
a_document_comes_in_any_pieces(void **state)
{
    static const char text[] = "{\"issuer\":\"https://as.test\",\"x\":[1,2,3,4,5,6,7]}";
    struct fake_fetch *get;
    struct desk d;

    (void)state;
    desk_open(&d);
    for (size_t piece = 1; piece < sizeof(text); piece++) {
        get = desk_ask(&d);
        fake_head(get, 200, NULL);
        for (size_t at = 0; at < sizeof(text) - 1; at += piece)
            fake_body_n(get, text + at,
                        piece < sizeof(text) - 1 - at ? piece : sizeof(text) - 1 - at);
        fake_end(get);
        assert_string_equal(d.issuer, "https://as.test");
    }
    desk_close(&d);
}

/* As long as it may be, or so much longer. */
static void
answer_long(struct fake_fetch *get, size_t more)
{
    static char blanks[1024];
    size_t left = MCPI_LOOKUP_BYTES_MAX + more - 2;

    memset(blanks, ' ', sizeof(blanks));
    fake_head(get, 200, NULL);
    fake_body(get, "{}");
    while (left > 0 && get->state == FAKE_OPEN) {
        size_t len = left < sizeof(blanks) ? left : sizeof(blanks);

        fake_body_n(get, blanks, len);
        left -= len;
    }
    if (get->state == FAKE_OPEN)
        fake_end(get);
}

static void
a_document_that_is_too_long_is_not_read_on(void **state)
{
    struct fake_fetch *get;
    struct desk d;

    (void)state;
    desk_open(&d);
    get = desk_ask(&d);
    answer_long(get, 0);
    assert_int_equal(d.status, 0);
    assert_true(d.is_object);
    get = desk_ask(&d);
    answer_long(get, 1);
    assert_int_equal(get->stopped, MCP_E_LIMIT);
    assert_int_equal(d.status, MCP_E_LIMIT);
    assert_string_equal(d.why, "the document is too long");
    assert_int_equal(d.done, 2);
    get = desk_ask(&d);
    answer_long(get, (size_t)1 << 40); /* without an end */
    assert_int_equal(d.status, MCP_E_LIMIT);
    desk_close(&d);
}

/* A byte now and then does not help. */
static void
a_document_that_is_too_slow_is_given_up(void **state)
{
    struct fake_fetch *get;
    struct desk d;

    (void)state;
    desk_open(&d);
    get = desk_ask(&d);
    desk_pass(&d, LIMIT_US / 2);
    fake_head(get, 200, NULL);
    for (int i = 0; i < 9; i++) {
        desk_pass(&d, LIMIT_US / 20);
        fake_body(get, " ");
    }
    desk_pass(&d, LIMIT_US / 20 - 1);
    assert_int_equal(d.done, 0);
    desk_pass(&d, 1);
    assert_int_equal(d.done, 1);
    assert_int_equal(d.status, MCP_E_TIMEOUT);
    assert_int_equal(get->state, FAKE_ABORTED);
    desk_pass(&d, LIMIT_US * 9);
    assert_int_equal(d.done, 1);
    desk_close(&d);
}

static void
a_server_that_says_nothing_is_given_up(void **state)
{
    struct fake_fetch *get;
    struct desk d;

    (void)state;
    desk_open(&d);
    for (int phase = 0; phase < 3; phase++) {
        get = desk_ask(&d);
        if (phase == 1)
            fake_sending(get);
        else if (phase == 2)
            fake_sent(get);
        desk_pass(&d, LIMIT_US);
        assert_int_equal(d.done, phase + 1);
        assert_int_equal(d.status, MCP_E_TIMEOUT);
        assert_int_equal(get->state, FAKE_ABORTED);
    }
    desk_close(&d);
}

static void
what_the_fetcher_says_is_passed_on(void **state)
{
    static const int statuses[] = {MCP_E_SEND_FAILED, MCP_E_CLOSED, MCP_E_NOMEM,
                                   MCP_E_PROTO};
    struct desk d;

    (void)state;
    desk_open(&d);
    for (size_t i = 0; i < sizeof(statuses) / sizeof(statuses[0]); i++) {
        fake_fail(desk_ask(&d), statuses[i], "no such luck");
        assert_int_equal(d.status, statuses[i]);
        assert_string_equal(d.why, statuses[i] == MCP_E_NOMEM ? "out of memory"
                                                              : "no such luck");
    }
    fake_fail(desk_ask(&d), MCP_E_PROTO, "redirected to another origin: http://x/");
    assert_int_equal(d.status, MCP_E_PROTO);
    assert_string_equal(d.why, "redirected to another origin: http://x/");
    desk_close(&d);
}

/* All of it came, but for the end. */
static void
half_a_document_is_none(void **state)
{
    struct fake_fetch *get;
    struct desk d;

    (void)state;
    desk_open(&d);
    get = desk_ask(&d);
    fake_head(get, 200, NULL);
    fake_body(get, "{}");
    fake_fail(get, MCP_E_CLOSED, "the connection was lost");
    assert_int_equal(d.status, MCP_E_CLOSED);
    assert_false(d.is_object);
    desk_close(&d);
}

/* ---- headers ---------------------------------------------------------------- */

static void
answer_headed(struct desk *d, const char *location, const char *nonce)
{
    char lines[3 * MCPI_LOOKUP_VALUE_MAX];
    struct fake_fetch *get = desk_ask(d);

    (void)snprintf(lines, sizeof(lines), "Location: %s\ndpop-nonce: %s", location,
                   nonce);
    fake_head(get, 302, lines);
    fake_end(get);
}

static void
two_headers_are_kept(void **state)
{
    char longest[MCPI_LOOKUP_VALUE_MAX], longer[MCPI_LOOKUP_VALUE_MAX + 1];
    struct desk d;

    (void)state;
    memset(longest, 'x', sizeof(longest));
    longest[sizeof(longest) - 1] = '\0';
    memset(longer, 'x', sizeof(longer));
    longer[sizeof(longer) - 1] = '\0';
    desk_open(&d);
    answer_headed(&d, "http://127.0.0.1/?code=1", "n-1");
    assert_string_equal(d.location, "http://127.0.0.1/?code=1");
    assert_string_equal(d.nonce, "n-1");
    answer_headed(&d, longest, longest);
    assert_string_equal(d.location, longest);
    assert_string_equal(d.nonce, longest);
    answer_headed(&d, longer, "n-2");
    assert_string_equal(d.location, "");
    assert_string_equal(d.nonce, "n-2");
    answer_headed(&d, "/x", longer);
    assert_string_equal(d.location, "/x");
    assert_string_equal(d.nonce, "");
    answer_headed(&d, "/\x01", "a\tb");
    assert_string_equal(d.location, "");
    assert_string_equal(d.nonce, "");
    answer_headed(&d, "/a\rb", "\x7f");
    assert_string_equal(d.location, "");
    assert_string_equal(d.nonce, "");
    fake_answer(desk_ask(&d), 200, JSON, "{}"); /* none of before */
    assert_string_equal(d.location, "");
    assert_string_equal(d.nonce, "");
    desk_close(&d);
}

/* ---- ends ------------------------------------------------------------------- */

static void
an_abort_is_silent_in_any_phase(void **state)
{
    struct fake_fetch *get;
    struct desk d;

    (void)state;
    desk_open(&d);
    mcpi_lookup_abort(d.lookup); /* zeroed */
    for (int phase = 0; phase < 5; phase++) {
        get = desk_ask(&d);
        if (phase == 1)
            fake_sending(get);
        if (phase == 2)
            fake_sent(get);
        if (phase >= 3)
            fake_head(get, 200, "Location: /");
        if (phase == 4)
            fake_body(get, "{");
        mcpi_lookup_abort(d.lookup);
        assert_int_equal(get->state, FAKE_ABORTED);
        assert_false(mcpi_lookup_is_open(d.lookup));
        mcpi_lookup_abort(d.lookup);
        desk_pass(&d, LIMIT_US * 2);
        assert_int_equal(d.done, 0);
    }
    desk_close(&d);
}

static void
start_again(struct desk *d, const struct mcpi_lookup_answer *answer)
{
    struct mcpi_lookup_options opt = desk_options(d);

    mcpi_lookup_abort(d->lookup); /* is over: nothing happens */
    if (d->done >= 3)
        return;
    assert_int_equal(mcpi_lookup_start(d->lookup, &opt), 0);
    assert_string_equal(answer->location, "/there"); /* still */
    assert_string_equal(answer->nonce, "n");
}

static void
who_is_told_may_start_it_again(void **state)
{
    struct fake_fetch *get;
    struct desk d;

    (void)state;
    desk_open(&d);
    d.then = start_again;
    get = desk_ask(&d);
    for (int i = 1; i <= 3; i++) {
        fake_head(get, 200, "Location: /there\nDPoP-Nonce: n");
        fake_body(get, "{\"issuer\":\"x\"}");
        if (i == 2)
            desk_pass(&d, LIMIT_US); /* from the timer too */
        else
            fake_end(get);
        assert_int_equal(d.done, i);
        assert_int_equal(mcpi_lookup_is_open(d.lookup), i < 3);
        get = fake_last(&d.fetcher);
    }
    assert_int_equal(d.fetcher.count, 3);
    desk_close(&d);
}

static void
free_it(struct desk *d, const struct mcpi_lookup_answer *answer)
{
    memset(d->lookup, 0xee, sizeof(*d->lookup));
    free(d->lookup);
    d->lookup = NULL;
    assert_string_equal(answer->location, "/there");
    d->kept = mcp_doc_ref(answer->doc);
}

static void
who_is_told_may_free_it_and_keep_the_document(void **state)
{
    struct fake_fetch *get;
    struct desk d;

    (void)state;
    desk_open(&d);
    d.then = free_it;
    get = desk_ask(&d);
    fake_head(get, 200, "Location: /there");
    fake_body(get, "{\"issuer\":\"x\"}");
    fake_end(get);
    assert_true(mcp_json_is_string(mcp_json_get(mcp_doc_root(d.kept), "issuer"), "x"));
    desk_close(&d);
}

static void
nothing_of_it_is_left_in_memory(void **state)
{
    static const char fields[] = "Authorization: Basic geheim";
    struct mcpi_lookup_options opt;
    struct fake_fetch *post;
    struct desk d;

    (void)state;
    desk_open(&d);
    d.own.secret = "geheim";
    for (int end = 0; end < 5; end++) {
        opt = desk_options(&d);
        opt.method = "POST";
        opt.fields = fields;
        opt.fields_len = sizeof(fields);
        opt.body = "secret=geheim";
        opt.body_len = strlen(opt.body);
        opt.type = "application/x-www-form-urlencoded";
        assert_int_equal(mcpi_lookup_start(d.lookup, &opt), 0);
        post = fake_last(&d.fetcher);
        fake_head(post, 200, "Location: /?code=geheim");
        fake_body(post, "{\"access_token\":\"geheim\",\"more\":\"");
        for (int i = 0; i < 100; i++)
            fake_body(post, "xxxxxxxxxxxxxxxx");
        if (end == 0)
            mcpi_lookup_abort(d.lookup);
        else if (end == 1)
            desk_pass(&d, LIMIT_US);
        else if (end == 2)
            fake_fail(post, MCP_E_CLOSED, "lost");
        if (end == 3)
            fake_body(post, "\"}");
        if (end >= 3)
            fake_end(post); /* an object; not JSON */
        assert_int_equal(d.own.spilled, 0);
        assert_string_equal(d.lookup->location, "");
    }
    desk_close(&d);
}

/* ---- without memory --------------------------------------------------------- */

static void
flow(struct test_mem *mem, void *user)
{
    struct fake_fetch *post;
    struct mcpi_lookup_options opt;
    struct desk d;
    int r;

    (void)user;
    r = desk_open_with(&d, mem);
    opt = desk_options(&d);
    opt.body = "a=b";
    opt.body_len = 3;
    opt.type = "text/x";
    if (r == 0)
        r = mcpi_lookup_start(d.lookup, &opt);
    if (r == 0) {
        post = fake_last(&d.fetcher);
        fake_head(post, 200, NULL);
        fake_body(post, "{\"issuer\":\"https://as.test\",\"x\":\"");
        for (int i = 0; i < 40 && post->state == FAKE_OPEN; i++)
            fake_body(post, "xxxxxxxxxxxxxxxx");
        if (post->state == FAKE_OPEN)
            fake_body(post, "\"}");
        if (post->state == FAKE_OPEN)
            fake_end(post);
        assert_int_equal(d.done, 1);
        assert_int_equal(d.status == 0, d.is_object);
        r = d.status;
    }
    assert_true(r == 0 || r == MCP_E_NOMEM);
    assert_int_equal(r != 0, atomic_load(&mem->failed) > 0);
    desk_close(&d);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 4);
}

TEST_MAIN(TEST(a_document_is_asked_for), TEST(a_form_is_posted_with_its_fields),
          TEST(what_cannot_begin_did_not), TEST(every_status_is_an_answer),
          TEST(not_now_is_not_no), TEST(what_is_no_object_is_nothing),
          TEST(what_is_nested_too_deep_is_nothing),
          TEST(a_document_comes_in_any_pieces),
          TEST(a_document_that_is_too_long_is_not_read_on),
          TEST(a_document_that_is_too_slow_is_given_up),
          TEST(a_server_that_says_nothing_is_given_up),
          TEST(what_the_fetcher_says_is_passed_on), TEST(half_a_document_is_none),
          TEST(two_headers_are_kept), TEST(an_abort_is_silent_in_any_phase),
          TEST(who_is_told_may_start_it_again),
          TEST(who_is_told_may_free_it_and_keep_the_document),
          TEST(nothing_of_it_is_left_in_memory), TEST(each_allocation_may_fail))
