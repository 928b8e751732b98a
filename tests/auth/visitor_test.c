/* auth/visitor_test.c - one sign-in of the user, with agents of all kinds and without */
#include "auth/visitor.h"

#include <pthread.h>

#include "auth/flow_fixture.h"

#define PAGE "https://as.test/authorize?x=1"
#define LOGIN_US 300000000
#define FETCH_US 5000000
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define BACK HOME "?code=geheim-code&state=1"

struct desk {
    struct stage st;
    struct agent agent;
    struct mcpi_visitor v;
    int done, status;
    char text[20000];
};

static void
on_done(void *user, int status, const char *text)
{
    struct desk *d = user;

    d->done++;
    d->status = status;
    (void)snprintf(d->text, sizeof(d->text), "%s", text);
    assert_null(d->agent.visit); /* it is over */
    assert_null(d->v.visit);
}

static int
desk_open_with(struct desk *d, struct test_mem *mem)
{
    int r;

    memset(d, 0, sizeof(*d));
    r = stage_open(&d->st, mem);
    agent_init(&d->agent);
    d->v = (struct mcpi_visitor){.mem = &d->st.wipe.allocator,
                                 .loop = d->st.loop,
                                 .fetcher = &d->st.fetcher.fetcher,
                                 .agent = &d->agent.agent,
                                 .login_us = LOGIN_US,
                                 .fetch_us = FETCH_US,
                                 .done = on_done,
                                 .user = d,
                                 .nearest = MCPI_ADDRESS_PRIVATE};
    mcpi_visitor_init(&d->v);
    return r;
}

static void
desk_open(struct desk *d)
{
    assert_int_equal(desk_open_with(d, NULL), 0);
}

static void
desk_close(struct desk *d)
{
    if (d->st.loop) {
        mcpi_visitor_end(&d->v);
        stage_settle(&d->st);
    }
    assert_null(d->agent.visit);
    stage_close(&d->st);
}

/* The page is shown. */
static void
desk_show(struct desk *d)
{
    assert_int_equal(mcpi_visitor_begin(&d->v, ""), 0);
    assert_string_equal(d->v.redirect_uri, d->agent.uri);
    assert_int_equal(mcpi_visitor_open(&d->v, PAGE), 0);
    assert_string_equal(d->agent.page, PAGE);
}

static void
expect_told(struct desk *d, int times, int status, const char *text)
{
    int before = d->done;

    stage_settle(&d->st);
    assert_int_equal(before, times - 1); /* later, not from inside */
    assert_int_equal(d->done, times);
    assert_int_equal(d->status, status);
    assert_string_equal(d->text, text);
    assert_int_equal(d->agent.ends, d->agent.begins);
}

/* ---- an agent ---------------------------------------------------------------------- */

static void
who_is_sent_back_is_told_once(void **state)
{
    struct desk d;

    (void)state;
    desk_open(&d);
    for (int i = 1; i <= 2; i++) {
        desk_show(&d);
        stage_settle(&d.st);
        assert_int_equal(d.agent.ends, i - 1);
        mcp_auth_answer(d.agent.visit, BACK);
        mcp_auth_answer(d.agent.visit, HOME "?code=other");
        mcp_auth_refuse(d.agent.visit, "no");
        expect_told(&d, i, 0, BACK);
        stage_pass(&d.st, LOGIN_US);
        assert_int_equal(d.done, i);
    }
    desk_close(&d);
}

static void
the_agent_hears_where_it_was_before(void **state)
{
    struct desk d;

    (void)state;
    desk_open(&d);
    assert_int_equal(mcpi_visitor_begin(&d.v, ""), 0);
    assert_string_equal(d.agent.earlier, "(none)");
    assert_int_equal(mcpi_visitor_begin(&d.v, HOME), 0); /* ends the one before */
    assert_string_equal(d.agent.earlier, HOME);
    assert_int_equal(d.agent.ends, 1);
    desk_close(&d);
}

static void
without_anybody_nobody_signs_in(void **state)
{
    struct desk d;

    (void)state;
    desk_open(&d);
    d.v.agent = NULL;
    assert_int_equal(mcpi_visitor_begin(&d.v, ""), MCP_E_AUTH);
    desk_close(&d);
}

static void
an_agent_that_cannot_begin_is_not_ended(void **state)
{
    struct desk d;

    (void)state;
    desk_open(&d);
    d.agent.begin_status = MCP_E_LIMIT;
    assert_int_equal(mcpi_visitor_begin(&d.v, ""), MCP_E_LIMIT);
    d.agent.in_begin = BACK; /* what it says meanwhile is nothing */
    assert_int_equal(mcpi_visitor_begin(&d.v, ""), MCP_E_LIMIT);
    stage_settle(&d.st);
    assert_int_equal(d.agent.ends, 0);
    assert_int_equal(d.done, 0);
    desk_close(&d);
}

static void
nobody_is_sent_back_to_a_place_that_is_not_safe(void **state)
{
    static char longest[2 * MCP_AUTH_URI_MAX];
    static const char *const uris[] = {
        "",      "callback",     "http://example.com/callback", "http://127.0.0.1/#x",
        longest, "com.app:/back"};
    struct desk d;

    (void)state;
    (void)snprintf(longest, sizeof(longest), "ftp://%0*d", MCP_AUTH_URI_MAX, 0);
    desk_open(&d);
    for (size_t i = 0; i < COUNT(uris); i++) {
        d.agent.uri = uris[i];
        assert_int_equal(mcpi_visitor_begin(&d.v, ""), MCP_E_AUTH);
        assert_int_equal(d.agent.ends, i + 1);
    }
    d.agent.uri = "https://app.test/back";
    assert_int_equal(mcpi_visitor_begin(&d.v, ""), 0);
    (void)snprintf(longest, sizeof(longest), "https://%0*d", MCP_AUTH_URI_MAX, 0);
    d.agent.uri = longest; /* without an end: it has one */
    assert_int_equal(mcpi_visitor_begin(&d.v, ""), 0);
    assert_int_equal(strlen(d.v.redirect_uri), MCP_AUTH_URI_MAX - 1);
    desk_close(&d);
}

static void
a_page_that_cannot_be_shown_ends_it(void **state)
{
    struct desk d;

    (void)state;
    desk_open(&d);
    d.agent.open_status = MCP_E_STATE;
    for (int i = 1; i <= 2; i++) {
        assert_int_equal(mcpi_visitor_begin(&d.v, ""), 0);
        assert_int_equal(mcpi_visitor_open(&d.v, PAGE), MCP_E_STATE);
        assert_int_equal(d.agent.ends, i);
        d.agent.in_open = BACK; /* and what it said of it is nothing */
    }
    stage_pass(&d.st, LOGIN_US);
    assert_int_equal(d.done, 0);
    desk_close(&d);
}

static void
an_answer_from_inside_of_open_is_told_later(void **state)
{
    struct desk d;

    (void)state;
    desk_open(&d);
    d.agent.in_open = BACK;
    desk_show(&d);
    expect_told(&d, 1, 0, BACK);
    desk_close(&d);
}

/* It cannot be the answer to what nobody was asked. */
static void
an_answer_before_the_page_is_shown_is_none(void **state)
{
    struct desk d;

    (void)state;
    desk_open(&d);
    assert_int_equal(mcpi_visitor_begin(&d.v, ""), 0);
    mcp_auth_answer(d.agent.visit, BACK);
    expect_told(&d, 1, MCP_E_AUTH,
                "the sign-in was answered before its page was shown");
    d.agent.in_begin = BACK;
    assert_int_equal(mcpi_visitor_begin(&d.v, ""), 0);
    expect_told(&d, 2, MCP_E_AUTH,
                "the sign-in was answered before its page was shown");
    d.agent.in_begin = NULL;
    desk_show(&d);
    mcp_auth_answer(d.agent.visit, BACK);
    expect_told(&d, 3, 0, BACK);
    desk_close(&d);
}

static void
who_does_not_sign_in_may_say_why(void **state)
{
    static const struct {
        const char *said, *told;
    } whys[] = {
        {"no browser here", "no browser here"},
        {"", "the user did not sign in"},
        {NULL, "the user did not sign in"},
        {"a\nb\x1b[0m", "a?b?[0m"},
    };
    struct desk d;

    (void)state;
    desk_open(&d);
    for (size_t i = 0; i < COUNT(whys); i++) {
        desk_show(&d);
        mcp_auth_refuse(d.agent.visit, whys[i].said);
        mcp_auth_answer(d.agent.visit, BACK); /* too late */
        expect_told(&d, (int)i + 1, MCP_E_AUTH, whys[i].told);
    }
    desk_close(&d);
}

static void
an_answer_that_is_too_long_is_none(void **state)
{
    static char longest[16384 + 2];
    struct desk d;

    (void)state;
    memset(longest, 'x', sizeof(longest) - 1);
    desk_open(&d);
    desk_show(&d);
    mcp_auth_answer(d.agent.visit, longest);
    expect_told(&d, 1, MCP_E_AUTH, "the answer is too long");
    longest[sizeof(longest) - 2] = '\0';
    desk_show(&d);
    mcp_auth_answer(d.agent.visit, longest);
    expect_told(&d, 2, 0, longest);
    desk_close(&d);
}

static void
a_user_has_so_much_time(void **state)
{
    struct desk d;

    (void)state;
    desk_open(&d);
    desk_show(&d);
    stage_pass(&d.st, LOGIN_US - 1);
    assert_int_equal(d.done, 0);
    d.st.now++;
    expect_told(&d, 1, MCP_E_AUTH, "nobody signed in in time");
    desk_close(&d);
}

/* Said in time, but not heard any more. */
static void
what_was_said_before_an_end_is_not_told_after_it(void **state)
{
    struct desk d;

    (void)state;
    desk_open(&d);
    desk_show(&d);
    mcp_auth_answer(d.agent.visit, BACK);
    mcpi_visitor_end(&d.v);
    assert_int_equal(d.agent.ends, 1);
    desk_show(&d); /* the next one, before the old answer has arrived */
    stage_settle(&d.st);
    assert_int_equal(d.done, 0);
    assert_int_equal(d.agent.ends, 1);
    mcp_auth_refuse(d.agent.visit, "x");
    expect_told(&d, 1, MCP_E_AUTH, "x");
    mcpi_visitor_end(&d.v);
    desk_close(&d);
}

static void *
answer_elsewhere(void *user)
{
    mcp_auth_answer(user, BACK);
    return NULL;
}

static void
an_answer_may_come_from_any_thread(void **state)
{
    pthread_t thread;
    struct desk d;

    (void)state;
    desk_open(&d);
    desk_show(&d);
    assert_int_equal(pthread_create(&thread, NULL, answer_elsewhere, d.agent.visit), 0);
    pthread_join(thread, NULL);
    expect_told(&d, 1, 0, BACK);
    desk_close(&d);
}

/* ---- without anybody -------------------------------------------------------------------- */

#define NOBODY "the page to sign in wants somebody to see it, and nobody is here"

static void
alone_open(struct desk *d)
{
    desk_open(d);
    d->v.agent = NULL;
    d->v.headless = true;
    d->v.headless_uri = HOME;
}

static struct fake_fetch *
alone_look(struct desk *d)
{
    struct fake_fetch *get;

    assert_int_equal(mcpi_visitor_begin(&d->v, "https://earlier.test/"), 0);
    assert_string_equal(d->v.redirect_uri, HOME);
    assert_int_equal(mcpi_visitor_open(&d->v, PAGE), 0);
    get = asked(&d->st, "GET", PAGE);
    return get;
}

static void
send_on(struct fake_fetch *get, int http, const char *to)
{
    char line[4200];

    (void)snprintf(line, sizeof(line), "Location: %s", to);
    answer_headed(get, http, to ? line : NULL, "");
}

static void
a_page_without_anybody_sends_us_back_at_once(void **state)
{
    static const char *const homes[] = {BACK, HOME, HOME "?", HOME "#code=1"};
    static const int statuses[] = {301, 302, 303, 307, 308};
    struct desk d;

    (void)state;
    alone_open(&d);
    for (size_t i = 0; i < COUNT(homes) * COUNT(statuses); i++) {
        const char *home = homes[i % COUNT(homes)];

        send_on(alone_look(&d), statuses[i / COUNT(homes)], home);
        assert_int_equal(d.done, i + 1);
        assert_int_equal(d.status, 0);
        assert_string_equal(d.text, home);
        assert_int_equal(d.st.fetcher.count, i + 1); /* nobody is asked there */
    }
    desk_close(&d);
}

static void
redirects_without_anybody_are_followed_and_counted(void **state)
{
    struct fake_fetch *get;
    struct desk d;

    (void)state;
    alone_open(&d);
    get = alone_look(&d);
    for (int i = 0; i < MCPI_VISITOR_REDIRECTS_MAX; i++) {
        assert_int_equal(get->nearest, MCPI_ADDRESS_PRIVATE);
        assert_true(get->stays);
        send_on(get, 302, "https://login.test/next");
        get = asked(&d.st, "GET", "https://login.test/next");
    }
    assert_int_equal(get->nearest, MCPI_ADDRESS_PRIVATE);
    assert_true(get->stays);
    send_on(get, 302, BACK); /* the last one is home */
    assert_string_equal(d.text, BACK);
    get = alone_look(&d);
    for (int i = 0; i < MCPI_VISITOR_REDIRECTS_MAX; i++) {
        send_on(get, 302, "https://login.test/next");
        get = asked(&d.st, "GET", "https://login.test/next");
    }
    send_on(get, 302, "https://login.test/next");
    assert_int_equal(d.done, 2);
    assert_int_equal(d.status, MCP_E_AUTH);
    assert_string_equal(d.text, NOBODY);
    assert_int_equal(fake_open_count(&d.st.fetcher), 0);
    desk_close(&d);
}

static void
a_redirect_to_a_place_that_is_not_safe_is_not_followed(void **state)
{
    static const char *const places[] = {"http://as.test/x",
                                         "/relative",
                                         "",
                                         "ftp://x/",
                                         "https://u@as.test/",
                                         "http://127.0.0.1.evil.test/callback?code=1"};
    struct desk d;

    (void)state;
    alone_open(&d);
    for (size_t i = 0; i < COUNT(places); i++) {
        send_on(alone_look(&d), 302, places[i]);
        asked_no_more(&d.st, i + 1);
        assert_int_equal(d.status, MCP_E_AUTH);
        assert_string_equal(d.text, NOBODY);
        assert_int_equal(d.done, i + 1);
    }
    desk_close(&d);
}

/* It begins as home does, and is elsewhere. */
static void
what_begins_like_home_is_not_home(void **state)
{
    static const char *const places[] = {HOME "x?code=1", HOME "/?code=1",
                                         "http://127.0.0.1:47111/callback?code=1"};
    struct desk d;

    (void)state;
    alone_open(&d);
    for (size_t i = 0; i < COUNT(places); i++) {
        send_on(alone_look(&d), 302, places[i]);
        assert_int_equal(d.done, i);
        answer(asked(&d.st, "GET", places[i]), 404, "");
        assert_int_equal(d.done, i + 1);
        assert_string_equal(d.text, NOBODY);
    }
    desk_close(&d);
}

static void
a_page_that_is_for_people_is_not_for_us(void **state)
{
    static const int statuses[] = {200, 204, 400, 401, 404, 500};
    struct desk d;

    (void)state;
    alone_open(&d);
    for (size_t i = 0; i < COUNT(statuses); i++) {
        answer_headed(alone_look(&d), statuses[i], "Location: " BACK, "");
        assert_int_equal(d.status, MCP_E_AUTH);
        assert_string_equal(d.text, NOBODY);
    }
    fake_fail(alone_look(&d), MCP_E_SEND_FAILED, "no route");
    assert_int_equal(d.status, MCP_E_AUTH);
    assert_string_equal(d.text, "the page to sign in cannot be reached");
    (void)alone_look(&d);
    stage_pass(&d.st, FETCH_US);
    assert_string_equal(d.text, "the page to sign in cannot be reached");
    assert_int_equal(d.done, COUNT(statuses) + 2);
    desk_close(&d);
}

static void
want_of_memory_is_said_to_be_that(void **state)
{
    struct fake_fetch *get;
    struct desk d;

    (void)state;
    alone_open(&d);
    fake_fail(alone_look(&d), MCP_E_NOMEM, "");
    assert_int_equal(d.status, MCP_E_NOMEM);
    get = alone_look(&d);
    d.st.fetcher.refuse = MCP_E_NOMEM;
    send_on(get, 302, "https://login.test/next");
    assert_int_equal(d.status, MCP_E_NOMEM);
    assert_int_equal(d.done, 2);
    desk_close(&d);
}

static void
all_of_it_has_a_limit_and_an_end(void **state)
{
    struct desk d;

    (void)state;
    alone_open(&d);
    d.v.login_us = FETCH_US / 2;
    (void)alone_look(&d);
    stage_pass(&d.st, FETCH_US / 2);
    assert_int_equal(d.done, 1);
    assert_string_equal(d.text, "nobody signed in in time");
    asked_no_more(&d.st, 1);
    (void)alone_look(&d);
    mcpi_visitor_end(&d.v);
    asked_no_more(&d.st, 2);
    stage_pass(&d.st, FETCH_US);
    assert_int_equal(d.done, 1);
    desk_close(&d);
}

static void
a_page_that_cannot_be_asked_for_is_said_at_once(void **state)
{
    struct desk d;

    (void)state;
    alone_open(&d);
    d.st.fetcher.refuse = MCP_E_INVAL;
    assert_int_equal(mcpi_visitor_begin(&d.v, ""), 0);
    assert_int_equal(mcpi_visitor_open(&d.v, PAGE), MCP_E_INVAL);
    stage_pass(&d.st, LOGIN_US);
    assert_int_equal(d.done, 0);
    desk_close(&d);
}

/* ---- memory --------------------------------------------------------------------------------- */

static void
flow(struct test_mem *mem, void *user)
{
    bool alone = user != NULL;
    struct desk d;
    int r = desk_open_with(&d, mem);

    d.v.headless = alone;
    d.v.headless_uri = HOME;
    if (r == 0)
        r = mcpi_visitor_begin(&d.v, "");
    if (r == 0)
        r = mcpi_visitor_open(&d.v, PAGE);
    if (r == 0) {
        if (alone)
            send_on(fake_last(&d.st.fetcher), 302, BACK);
        else
            mcp_auth_answer(d.agent.visit, BACK);
        stage_settle(&d.st);
        assert_int_equal(d.done, 1);
        r = d.status;
    }
    assert_int_equal(r, atomic_load(&mem->failed) > 0 ? MCP_E_NOMEM : 0);
    desk_close(&d);
}

static void
each_allocation_may_fail(void **state)
{
    int alone;

    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 2);
    assert_true(test_each_allocation_fails(flow, &alone) > 2);
}

TEST_MAIN(TEST(who_is_sent_back_is_told_once),
          TEST(the_agent_hears_where_it_was_before),
          TEST(without_anybody_nobody_signs_in),
          TEST(an_agent_that_cannot_begin_is_not_ended),
          TEST(nobody_is_sent_back_to_a_place_that_is_not_safe),
          TEST(a_page_that_cannot_be_shown_ends_it),
          TEST(an_answer_from_inside_of_open_is_told_later),
          TEST(an_answer_before_the_page_is_shown_is_none),
          TEST(who_does_not_sign_in_may_say_why),
          TEST(an_answer_that_is_too_long_is_none), TEST(a_user_has_so_much_time),
          TEST(what_was_said_before_an_end_is_not_told_after_it),
          TEST(an_answer_may_come_from_any_thread),
          TEST(a_page_without_anybody_sends_us_back_at_once),
          TEST(redirects_without_anybody_are_followed_and_counted),
          TEST(a_redirect_to_a_place_that_is_not_safe_is_not_followed),
          TEST(what_begins_like_home_is_not_home),
          TEST(a_page_that_is_for_people_is_not_for_us),
          TEST(want_of_memory_is_said_to_be_that),
          TEST(all_of_it_has_a_limit_and_an_end),
          TEST(a_page_that_cannot_be_asked_for_is_said_at_once),
          TEST(each_allocation_may_fail))
