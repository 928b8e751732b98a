/* http_target_test.c - where requests of a client go, and as whom */
#include "link/http_client_fixture.h"
#include "link/http_target.h"

/* A head that has one line. */
struct one_head {
    struct mcpi_fetch_head head;
    const char *value;
};

static const char *
one_find(const struct mcpi_fetch_head *head, const char *name)
{
    const struct one_head *one = (const struct one_head *)head;

    return strcasecmp(name, "mcp-session-id") == 0 ? one->value : NULL;
}

static struct one_head
head_of(const char *value)
{
    return (struct one_head){.head = {.status = 200, .find = one_find}, .value = value};
}

/* A lab without a link is enough. */
static int
target_open(struct lab *l, struct mcpi_http_target *target, const char *url,
            struct test_mem *mem)
{
    static const char fields[] = "X-A: 1\0X-B: 2";
    struct lab_options opt = {.mem = mem};
    struct mcpi_http_target_options to = {
        .url = url, .fields = fields, .fields_len = sizeof(fields), .idle_us = 7};
    int r = lab_open(l, &opt);

    memset(target, 0, sizeof(*target));
    if (r < 0)
        return r;
    to.loop = l->loop;
    to.engine = l->engine;
    to.fetcher = &l->fetcher.fetcher;
    return mcpi_http_target_init(target, &to);
}

static void
target_close(struct lab *l, struct mcpi_http_target *target)
{
    mcpi_http_target_done(target);
    lab_close(l);
}

static void
expect_fields(const struct mcpi_http_target *target, const char *version,
              unsigned session, const char *expected)
{
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, NULL, 65536);
    mcpi_http_target_fields(target, &buf, version, session);
    assert_int_equal(buf.status, 0);
    for (size_t i = 0; i < buf.len; i++)
        buf.data[i] = (char)(buf.data[i] ? buf.data[i] : '|');
    mcpi_buf_char(&buf, '\0');
    assert_string_equal(buf.data, expected);
    mcpi_buf_done(&buf);
}

static void
it_must_be_a_URL_of_HTTP(void **state)
{
    static const char *const urls[] = {"", "server", "ftp://server/", "http:///x"};
    struct mcpi_http_target target;
    struct lab l;

    (void)state;
    for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
        assert_int_equal(target_open(&l, &target, urls[i], NULL), MCP_E_INVAL);
        target_close(&l, &target);
    }
}

static void
every_request_has_the_given_lines_and_its_version(void **state)
{
    struct mcpi_http_target target;
    struct lab l;

    (void)state;
    assert_int_equal(target_open(&l, &target, URL, NULL), 0);
    expect_fields(&target, "", 0, "X-A: 1|X-B: 2|");
    expect_fields(&target, "2025-11-25", 0,
                  "X-A: 1|X-B: 2|MCP-Protocol-Version: 2025-11-25|");
    assert_ptr_equal(target.post_url, target.url);
    target_close(&l, &target);
}

static void
a_session_goes_along_with_what_belongs_to_it(void **state)
{
    struct one_head first = head_of("one"), second = head_of("two");
    struct mcpi_http_target target;
    struct lab l;
    unsigned session;

    (void)state;
    assert_int_equal(target_open(&l, &target, URL, NULL), 0);
    assert_int_equal(mcpi_http_target_session(&target), 0);
    assert_int_equal(mcpi_http_target_enter(&target, &first.head), 0);
    session = mcpi_http_target_session(&target);
    assert_true(session != 0);
    expect_fields(&target, "", session, "X-A: 1|X-B: 2|Mcp-Session-Id: one|");
    expect_fields(&target, "", 0, "X-A: 1|X-B: 2|");
    assert_int_equal(mcpi_http_target_enter(&target, &second.head), 0);
    assert_true(mcpi_http_target_session(&target) != session);
    expect_fields(&target, "", session, "X-A: 1|X-B: 2|");
    mcpi_http_target_leave(&target);
    assert_int_equal(mcpi_http_target_session(&target), 0);
    target_close(&l, &target);
}

static void
no_name_is_no_session_and_ends_the_one_before(void **state)
{
    struct one_head some = head_of("one"), none = head_of(NULL);
    struct mcpi_http_target target;
    struct lab l;

    (void)state;
    assert_int_equal(target_open(&l, &target, URL, NULL), 0);
    assert_int_equal(mcpi_http_target_enter(&target, &some.head), 0);
    assert_int_equal(mcpi_http_target_enter(&target, &none.head), 0);
    assert_int_equal(mcpi_http_target_session(&target), 0);
    target_close(&l, &target);
}

static void
a_session_is_named_in_visible_ASCII(void **state)
{
    static char huge[MCPI_HTTP_SESSION_MAX + 1];
    const char *const bad[] = {"", "a b", "a\tb", "a\x7F", "\xC3\xA9", huge};
    struct mcpi_http_target target;
    struct one_head head;
    struct lab l;

    (void)state;
    memset(huge, 'x', sizeof(huge) - 1);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_int_equal(target_open(&l, &target, URL, NULL), 0);
        head = head_of(bad[i]);
        assert_int_equal(mcpi_http_target_enter(&target, &head.head), 0);
        assert_int_equal(mcpi_http_target_session(&target), 0);
        assert_true(lab_logged(&l, "W: http: a session id that is none"));
        target_close(&l, &target);
    }
    huge[sizeof(huge) - 2] = '\0';
    assert_int_equal(target_open(&l, &target, URL, NULL), 0);
    head = head_of(huge);
    assert_int_equal(mcpi_http_target_enter(&target, &head.head), 0);
    assert_true(mcpi_http_target_session(&target) != 0);
    target_close(&l, &target);
}

static void
a_session_that_cannot_be_kept_is_a_failure(void **state)
{
    struct one_head head = head_of("one");
    struct mcpi_http_target target;
    struct lab l;

    (void)state;
    assert_int_equal(target_open(&l, &target, URL, NULL), 0);
    l.mem->fail_at = l.mem->total + 1;
    assert_int_equal(mcpi_http_target_enter(&target, &head.head), MCP_E_NOMEM);
    assert_int_equal(mcpi_http_target_session(&target), 0);
    target_close(&l, &target);
}

static void
open_and_close(struct test_mem *mem, void *user)
{
    struct mcpi_http_target target;
    struct lab l;

    (void)user;
    (void)target_open(&l, &target, URL, mem);
    target_close(&l, &target);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(open_and_close, NULL) > 5);
}

TEST_MAIN(TEST(it_must_be_a_URL_of_HTTP),
          TEST(every_request_has_the_given_lines_and_its_version),
          TEST(a_session_goes_along_with_what_belongs_to_it),
          TEST(no_name_is_no_session_and_ends_the_one_before),
          TEST(a_session_is_named_in_visible_ASCII),
          TEST(a_session_that_cannot_be_kept_is_a_failure),
          TEST(each_allocation_may_fail))
