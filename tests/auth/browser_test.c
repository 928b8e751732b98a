/* browser_test.c - an agent: the user's browser, and a port it comes back to */
#include <mcp/auth.h>
#include <pthread.h>

#include "auth/browser_fixture.h"
#include "auth/keep_fixture.h"

#define PAGE "https://as.example/authorize?client_id=a&state=b"

static const char *const nothing[] = {"/bin/true", NULL};

struct fixture {
    struct test_mem mem;
    mcp_auth_browser *browser;
    const mcp_auth_agent *agent;
    char told[256]; /* by on_url */
    int descriptors, threads;
};

static void
on_url(void *user, const char *url)
{
    struct fixture *f = user;

    snprintf(f->told, sizeof f->told, "%s", url);
}

static void
fixture_make(struct fixture *f, mcp_auth_browser_options opt)
{
    mcp_error err;

    f->descriptors = count_descriptors();
    f->threads = count_threads();
    f->told[0] = '\0';
    test_mem_init(&f->mem);
    opt.allocator = &f->mem.allocator;
    opt.user = f;
    if (mcp_auth_browser_new(&opt, &f->browser, &err) < 0)
        fail_msg("%s", err.message);
    f->agent = mcp_auth_browser_interface(f->browser);
}

static void
fixture_done(struct fixture *f)
{
    await_quiet(f->threads);
    mcp_auth_browser_free(f->browser);
    test_mem_done(&f->mem);
    assert_int_equal(count_descriptors(), f->descriptors);
}

struct visited {
    struct fake_visit fake;
    char uri[MCP_AUTH_URI_MAX];
};

static void
visited_begin(struct visited *v, const struct fixture *f, const char *earlier)
{
    fake_visit_make(&v->fake);
    assert_int_equal(f->agent->begin(f->agent->self, &v->fake.visit, earlier, v->uri),
                     0);
}

static void
visited_open(struct visited *v, const struct fixture *f)
{
    assert_int_equal(f->agent->open(f->agent->self, &v->fake.visit, PAGE), 0);
}

static void
visited_end(struct visited *v, const struct fixture *f)
{
    f->agent->end(f->agent->self, &v->fake.visit);
    fake_visit_done(&v->fake);
}

static void
assert_answers(struct visited *v, const char *query)
{
    char target[256], expected[MCP_AUTH_URI_MAX + 256];

    snprintf(target, sizeof target, "%s%s", strchr(v->uri + 7, '/'), query);
    snprintf(expected, sizeof expected, "%s%s", v->uri, query);
    assert_true(fake_visit_waits(&v->fake));
    assert_int_equal(browse_get(v->uri, target), 200);
    assert_string_equal(read_line(v->fake.out), expected);
}

/* ---- a visit ------------------------------------------------------------------------ */

/* The browser is a shell: it learns the page, and the test follows the redirect. */
static void
a_visit_from_its_beginning_to_its_end(void **state)
{
    const char *command[] = {"/bin/sh", "-c", "echo \"$1\" > \"$0\"", NULL, NULL};
    struct folder folder;
    struct fixture f;
    struct visited v;
    char path[256];
    int said;

    (void)state;
    folder_make(&folder);
    snprintf(path, sizeof path, "%s", folder_path(&folder, "said"));
    assert_int_equal(mkfifo(path, 0600), 0);
    said = open(path, O_RDWR | O_CLOEXEC);
    assert_true(said >= 0);
    command[3] = path;
    fixture_make(&f, MCP_AUTH_BROWSER_OPTIONS(.command = command, .on_url = on_url));
    visited_begin(&v, &f, NULL);
    assert_int_equal(f.agent->open(f.agent->self, &v.fake.visit, PAGE), 0);
    assert_string_equal(f.told, PAGE);
    assert_string_equal(read_line(said), PAGE);
    assert_answers(&v, "?code=a&state=b");
    visited_end(&v, &f);
    fixture_done(&f);
    close(said);
    folder_remove(&folder);
}

/* Somebody else on this machine, or a page of anybody's, that has found the port. */
static void
what_does_not_know_the_state_is_no_answer(void **state)
{
    static const char *const queries[] = {
        "?code=a&state=c",         "?error=access_denied&state=c",
        "?code=a&state=bb",        "?code=a&state=B",
        "?code=a&state=b%00",      "?code=a&state=b%",
        "?code=a&state=c&state=b", "?code=a&state=b&st%61te=c",
        "?code=a&state=client_id", "?code=a&state=%63",
    };
    struct fixture f;
    struct visited v;
    char target[256];

    (void)state;
    fixture_make(&f, MCP_AUTH_BROWSER_OPTIONS(.command = nothing));
    visited_begin(&v, &f, NULL);
    visited_open(&v, &f);
    for (size_t i = 0; i < sizeof queries / sizeof queries[0]; i++) {
        snprintf(target, sizeof target, "/callback%s", queries[i]);
        assert_int_equal(browse_get(v.uri, target), 400);
        assert_true(fake_visit_waits(&v.fake));
    }
    assert_answers(&v, "?code=a&state=%62"); /* spelled as the server likes */
    assert_int_equal(browse_get(v.uri, "/callback?code=a&state=c"), 400);
    assert_int_equal(browse_get(v.uri, "/callback?code=a&state=b"), 410);
    visited_end(&v, &f);
    fixture_done(&f);
}

static void
nothing_is_an_answer_before_the_page_is_open(void **state)
{
    struct fixture f;
    struct visited v;

    (void)state;
    fixture_make(&f, MCP_AUTH_BROWSER_OPTIONS(.command = nothing));
    visited_begin(&v, &f, NULL);
    assert_int_equal(browse_get(v.uri, "/callback?code=a&state=b"), 400);
    assert_int_equal(browse_get(v.uri, "/callback?error=a&state=b"), 400);
    assert_int_equal(browse_get(v.uri, "/x"), 404);
    assert_true(fake_visit_waits(&v.fake));
    visited_open(&v, &f);
    assert_answers(&v, "?code=a&state=b");
    visited_end(&v, &f);
    fixture_done(&f);
}

/* Nobody could tell its answer from anybody's. */
static void
a_page_without_one_state_is_not_opened(void **state)
{
    static const char *const pages[] = {
        "https://as.example/authorize",
        "https://as.example/authorize?client_id=a",
        "https://as.example/authorize?state=",
        "https://as.example/authorize?a=b#state=b",
        "https://as.example/authorize?state=a&state=b",
        "https://as.example/authorize?state=%zz",
    };
    struct fixture f;
    struct visited v;

    (void)state;
    fixture_make(&f, MCP_AUTH_BROWSER_OPTIONS(.command = nothing, .on_url = on_url));
    for (size_t i = 0; i < sizeof pages / sizeof pages[0]; i++) {
        visited_begin(&v, &f, NULL);
        assert_int_equal(f.agent->open(f.agent->self, &v.fake.visit, pages[i]),
                         MCP_E_INVAL);
        assert_string_equal(f.told, "");
        assert_int_equal(browse_get(v.uri, "/callback?code=a&state=b"), 400);
        visited_end(&v, &f);
    }
    fixture_done(&f);
}

static void
a_visit_that_never_began_opens_nothing(void **state)
{
    struct mcp_auth_visit visit = {.answered = fake_answered};
    struct fixture f;

    (void)state;
    fixture_make(&f, MCP_AUTH_BROWSER_OPTIONS(.command = nothing, .on_url = on_url));
    assert_int_equal(f.agent->open(f.agent->self, &visit, PAGE), MCP_E_INVAL);
    assert_string_equal(f.told, "");
    fixture_done(&f);
}

static void
a_visit_may_end_without_an_answer(void **state)
{
    struct fixture f;
    struct visited v;
    int silent;

    (void)state;
    fixture_make(&f, MCP_AUTH_BROWSER_OPTIONS(.command = nothing));
    visited_begin(&v, &f, NULL);
    silent = browse_open(v.uri);
    visited_end(&v, &f);
    assert_int_equal(try_connect(AF_INET, port_of_uri(v.uri)), -1);
    close(silent);
    f.agent->end(f.agent->self, &v.fake.visit); /* no such visit any more */
    fixture_done(&f);
}

static void
several_visits_go_on_at_once(void **state)
{
    struct fixture f;
    struct visited v[5];

    (void)state;
    fixture_make(&f, MCP_AUTH_BROWSER_OPTIONS(.command = nothing));
    for (int i = 0; i < 5; i++)
        visited_begin(&v[i], &f, i > 0 ? v[0].uri : NULL);
    for (int i = 0; i < 5; i++)
        visited_open(&v[i], &f);
    assert_answers(&v[3], "?code=3&state=b");
    visited_end(&v[1], &f);
    assert_answers(&v[0], "?code=0&state=b");
    assert_answers(&v[4], "?error=no&state=b");
    visited_end(&v[3], &f);
    assert_true(fake_visit_waits(&v[2].fake));
    assert_answers(&v[2], "?code=2&state=b");
    visited_end(&v[0], &f);
    visited_end(&v[2], &f);
    visited_end(&v[4], &f);
    fixture_done(&f);
}

#define THREADS 4

static void *
visit_often(void *user)
{
    const mcp_auth_agent *agent = user;
    char uri[MCP_AUTH_URI_MAX];
    struct fake_visit fake = {.visit = {.answered = fake_answered}};
    int fd;

    for (int i = 0; i < 20; i++) {
        if (agent->begin(agent->self, &fake.visit, NULL, uri) < 0)
            return NULL;
        fd = try_connect(AF_INET, port_of_uri(uri));
        agent->end(agent->self, &fake.visit);
        if (fd < 0)
            return NULL;
        close(fd);
    }
    return user;
}

static void
clients_on_several_threads_share_one(void **state)
{
    pthread_t threads[THREADS];
    struct fixture f;
    void *done;

    (void)state;
    fixture_make(&f, MCP_AUTH_BROWSER_OPTIONS(.command = nothing));
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(
            pthread_create(&threads[i], NULL, visit_often, (void *)(uintptr_t)f.agent),
            0);
    for (int i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], &done), 0);
        assert_non_null(done);
    }
    fixture_done(&f);
}

static void
freeing_ends_what_was_not(void **state)
{
    struct fixture f;
    struct visited v;

    (void)state;
    fixture_make(&f, MCP_AUTH_BROWSER_OPTIONS(.command = nothing));
    visited_begin(&v, &f, NULL);
    mcp_auth_browser_free(f.browser);
    f.browser = NULL;
    fake_visit_done(&v.fake);
    fixture_done(&f);
}

/* ---- the URI ---------------------------------------------------------------------------- */

static void
the_uri_is_made_of_the_options(void **state)
{
    struct fixture f;
    struct visited v;

    (void)state;
    fixture_make(&f, MCP_AUTH_BROWSER_OPTIONS(.command = nothing, .host = "localhost",
                                              .path = "/back/here"));
    visited_begin(&v, &f, NULL);
    assert_memory_equal(v.uri, "http://localhost:", 17);
    assert_non_null(strstr(v.uri, "/back/here"));
    visited_open(&v, &f);
    assert_answers(&v, "?code=a&state=b");
    visited_end(&v, &f);
    fixture_done(&f);
}

static void
an_earlier_uri_of_ours_is_used_again(void **state)
{
    struct fixture f;
    struct visited first, second;
    char other[MCP_AUTH_URI_MAX];
    int port;

    (void)state;
    fixture_make(&f, MCP_AUTH_BROWSER_OPTIONS(.command = nothing));
    visited_begin(&first, &f, NULL);
    port = port_of_uri(first.uri);
    visited_open(&first, &f);
    assert_answers(&first, "?code=a&state=b");
    visited_end(&first, &f);
    visited_begin(&second, &f, first.uri);
    assert_string_equal(second.uri, first.uri);
    visited_end(&second, &f);
    snprintf(other, sizeof other, "http://localhost:%d/callback", port);
    visited_begin(&second, &f, other); /* not one that this browser would make */
    assert_memory_equal(second.uri, "http://127.0.0.1:", 17);
    visited_end(&second, &f);
    fixture_done(&f);
}

static void
an_earlier_uri_that_is_none_does_not_matter(void **state)
{
    static const char *const earlier[] = {
        "",
        "http://127.0.0.1",
        "http://127.0.0.1/callback",
        "http://127.0.0.1:/callback",
        "http://127.0.0.1:0/callback",
        "http://127.0.0.1:-1/callback",
        "http://127.0.0.1:99999999999999999999/callback",
        "http://127.0.0.1:70000/callback",
        "https://127.0.0.1:4321/callback",
        NULL};
    struct fixture f;
    struct visited v;

    (void)state;
    fixture_make(&f, MCP_AUTH_BROWSER_OPTIONS(.command = nothing));
    for (int i = 0; earlier[i]; i++) {
        visited_begin(&v, &f, earlier[i]);
        assert_true(port_of_uri(v.uri) > 0);
        visited_end(&v, &f);
    }
    fixture_done(&f);
}

static void
a_port_that_was_asked_for_is_that_or_none(void **state)
{
    struct fixture any, fixed;
    struct visited v, w;
    char uri[MCP_AUTH_URI_MAX] = "untouched";
    int port;

    (void)state;
    fixture_make(&any, MCP_AUTH_BROWSER_OPTIONS(.command = nothing));
    visited_begin(&v, &any, NULL);
    port = port_of_uri(v.uri);
    fixture_make(&fixed, MCP_AUTH_BROWSER_OPTIONS(.command = nothing, .port = port));
    fake_visit_make(&w.fake);
    assert_int_equal(fixed.agent->begin(fixed.agent->self, &w.fake.visit, NULL, uri),
                     MCP_E_STATE);
    assert_string_equal(uri, "untouched");
    fake_visit_done(&w.fake);
    visited_end(&v, &any);
    visited_begin(&w, &fixed, NULL);
    assert_int_equal(port_of_uri(w.uri), port);
    visited_open(&w, &fixed);
    assert_answers(&w, "?code=a&state=b");
    visited_end(&w, &fixed);
    fixed.descriptors = any.descriptors; /* v, which was there then, is gone */
    fixed.threads = any.threads;
    fixture_done(&fixed);
    fixture_done(&any);
}

/* ---- showing a page ---------------------------------------------------------------------- */

static int
open_with(mcp_auth_browser_options opt, const char *url, char told[256])
{
    struct fixture f;
    struct visited v;
    int r;

    fixture_make(&f, opt);
    visited_begin(&v, &f, NULL);
    r = f.agent->open(f.agent->self, &v.fake.visit, url);
    snprintf(told, 256, "%s", f.told);
    visited_end(&v, &f);
    fixture_done(&f);
    return r;
}

static void
who_is_told_of_the_page_needs_no_program(void **state)
{
    static const char *const none[] = {"/none/such", NULL}, *const empty[] = {NULL};
    char told[256];

    (void)state;
    assert_int_equal(
        open_with(MCP_AUTH_BROWSER_OPTIONS(.command = none, .on_url = on_url), PAGE,
                  told),
        0);
    assert_string_equal(told, PAGE);
    assert_int_equal(
        open_with(MCP_AUTH_BROWSER_OPTIONS(.command = empty, .on_url = on_url), PAGE,
                  told),
        0);
    assert_string_equal(told, PAGE);
    assert_int_equal(open_with(MCP_AUTH_BROWSER_OPTIONS(.command = none), PAGE, told),
                     MCP_E_INVAL);
}

static void
nobody_is_told_of_what_is_no_page(void **state)
{
    static const char *const bad[] = {"file:///etc/passwd", "javascript:alert(1)",
                                      "--help", "http://as.example/", NULL};
    char told[256];

    (void)state;
    for (int i = 0; bad[i]; i++) {
        assert_int_equal(
            open_with(MCP_AUTH_BROWSER_OPTIONS(.command = nothing, .on_url = on_url),
                      bad[i], told),
            MCP_E_INVAL);
        assert_string_equal(told, "");
    }
}

static void
the_variable_of_the_environment_is_asked(void **state)
{
    struct folder folder;
    struct fixture f;
    struct visited v;
    char path[256], script[256];
    int said;

    (void)state;
    folder_make(&folder);
    snprintf(path, sizeof path, "%s", folder_path(&folder, "said"));
    assert_int_equal(mkfifo(path, 0600), 0);
    said = open(path, O_RDWR | O_CLOEXEC);
    snprintf(script, sizeof script, "#!/bin/sh\necho \"$1\" > %.200s\n", path);
    file_put(folder_path(&folder, "show"), script, 0700);
    assert_int_equal(setenv("BROWSER", folder_path(&folder, "show"), 1), 0);
    fixture_make(&f, MCP_AUTH_BROWSER_OPTIONS(.port = 0));
    unsetenv("BROWSER"); /* it was asked when there was only one thread */
    visited_begin(&v, &f, NULL);
    assert_int_equal(f.agent->open(f.agent->self, &v.fake.visit, PAGE), 0);
    assert_string_equal(read_line(said), PAGE);
    visited_end(&v, &f);
    fixture_done(&f);
    close(said);
    folder_remove(&folder);
}

/* ---- making ---------------------------------------------------------------------------------- */

static void
assert_refused(mcp_auth_browser_options opt, const char *why)
{
    mcp_auth_browser *browser = NULL;
    mcp_error err = {.message = ""};

    assert_int_equal(mcp_auth_browser_new(&opt, &browser, &err), MCP_E_INVAL);
    assert_null(browser);
    if (!strstr(err.message, why))
        fail_msg("%s", err.message);
}

static void
options_that_make_no_uri_are_refused(void **state)
{
    static const char *const paths[] = {"",     "callback",  "/a?b",    "/a#b",
                                        "/a b", "/\xc3\xa4", "/a\r\nb", NULL};
    static const char *const empty[] = {NULL};
    char longest[700];

    (void)state;
    for (int i = 0; paths[i]; i++)
        assert_refused(MCP_AUTH_BROWSER_OPTIONS(.path = paths[i]), "no path");
    memset(longest, '/', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_refused(MCP_AUTH_BROWSER_OPTIONS(.path = longest), "no path");
    assert_refused(MCP_AUTH_BROWSER_OPTIONS(.port = -1), "no port");
    assert_refused(MCP_AUTH_BROWSER_OPTIONS(.port = 65536), "no port");
    assert_refused(MCP_AUTH_BROWSER_OPTIONS(.host = "evil.example"), "neither");
    assert_refused(MCP_AUTH_BROWSER_OPTIONS(.host = "0.0.0.0"), "neither");
    assert_refused(MCP_AUTH_BROWSER_OPTIONS(.command = empty), "neither a command");
    assert_refused((mcp_auth_browser_options){.size = 1}, "not understood");
    assert_int_equal(mcp_auth_browser_new(NULL, NULL, NULL), MCP_E_INVAL);
    mcp_auth_browser_free(NULL);
    assert_null(mcp_auth_browser_interface(NULL));
}

static void
without_options_there_are_defaults(void **state)
{
    mcp_auth_browser *browser;
    const mcp_auth_agent *agent;
    struct visited v;

    (void)state;
    assert_int_equal(mcp_auth_browser_new(NULL, &browser, NULL), 0);
    agent = mcp_auth_browser_interface(browser);
    assert_int_equal(agent->size, sizeof *agent);
    fake_visit_make(&v.fake);
    assert_int_equal(agent->begin(agent->self, &v.fake.visit, NULL, v.uri), 0);
    assert_memory_equal(v.uri, "http://127.0.0.1:", 17);
    assert_string_equal(strchr(v.uri + 7, '/'), "/callback");
    agent->end(agent->self, &v.fake.visit);
    fake_visit_done(&v.fake);
    mcp_auth_browser_free(browser);
}

static void
flow(struct test_mem *mem, void *user)
{
    mcp_auth_browser_options opt = MCP_AUTH_BROWSER_OPTIONS(
            .command = nothing, .allocator = &mem->allocator);
    struct mcp_auth_visit visit = {.answered = fake_answered};
    char uri[MCP_AUTH_URI_MAX];
    const mcp_auth_agent *agent;
    mcp_auth_browser *browser;
    int r;

    (void)user;
    r = mcp_auth_browser_new(&opt, &browser, NULL);
    if (r == 0) {
        agent = mcp_auth_browser_interface(browser);
        r = agent->begin(agent->self, &visit, NULL, uri);
        if (r == 0) {
            r = agent->open(agent->self, &visit, PAGE);
            agent->end(agent->self, &visit);
        }
        mcp_auth_browser_free(browser);
    }
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
}

static void
every_allocation_may_fail(void **state)
{
    int threads = count_threads();

    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) >= 5);
    await_quiet(threads);
}

TEST_MAIN(TEST(a_visit_from_its_beginning_to_its_end),
          TEST(what_does_not_know_the_state_is_no_answer),
          TEST(nothing_is_an_answer_before_the_page_is_open),
          TEST(a_page_without_one_state_is_not_opened),
          TEST(a_visit_that_never_began_opens_nothing),
          TEST(a_visit_may_end_without_an_answer), TEST(several_visits_go_on_at_once),
          TEST(clients_on_several_threads_share_one), TEST(freeing_ends_what_was_not),
          TEST(the_uri_is_made_of_the_options),
          TEST(an_earlier_uri_of_ours_is_used_again),
          TEST(an_earlier_uri_that_is_none_does_not_matter),
          TEST(a_port_that_was_asked_for_is_that_or_none),
          TEST(who_is_told_of_the_page_needs_no_program),
          TEST(nobody_is_told_of_what_is_no_page),
          TEST(the_variable_of_the_environment_is_asked),
          TEST(options_that_make_no_uri_are_refused),
          TEST(without_options_there_are_defaults), TEST(every_allocation_may_fail))
