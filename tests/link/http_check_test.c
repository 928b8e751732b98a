/* http_check_test.c - which heads may be served, and what is wrong with the others */
#include "link/http_check.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

struct fixture {
    struct test_mem mem;
    struct mcpi_http_parsers parsers;
    struct mcpi_http_head *head;
};

/* One field, or none if its name is NULL. */
struct line {
    const char *name, *value;
};

static size_t
fixture_append(struct fixture *f, const char *text)
{
    size_t at = f->head->text_len;

    assert_int_equal(
        mcpi_http_head_append(&f->parsers, f->head, text, strlen(text) + 1), 0);
    return at;
}

static void
fixture_open(struct fixture *f, const char *target, const struct line *lines,
             size_t count)
{
    mcp_http_field *field;
    size_t name, value;

    test_mem_init(&f->mem);
    mcpi_http_parsers_init(&f->parsers, &f->mem.allocator, 4096, 4096);
    f->head = mcpi_http_head_take(&f->parsers);
    assert_non_null(f->head);
    assert_int_equal(mcpi_http_head_grow(&f->parsers, f->head, 1024), 0);
    (void)fixture_append(f, target);
    for (size_t i = 0; i < count && lines[i].name; i++) {
        name = fixture_append(f, lines[i].name);
        value = fixture_append(f, lines[i].value);
        field = &f->head->fields[f->head->in.field_count++];
        field->name = f->head->text + name;
        field->value = f->head->text + value;
    }
    f->head->in.method = MCPI_HTTP_POST;
}

static void
fixture_close(struct fixture *f)
{
    mcpi_http_head_give(&f->parsers, f->head);
    mcpi_http_parsers_done(&f->parsers);
    test_mem_done(&f->mem);
}

/* status 0: it is good. */
static void
assert_check(const char *target, const struct line lines[2], bool is_old, int status)
{
    const struct mcpi_http_fault *fault;
    struct fixture f;

    fixture_open(&f, target, lines, 2);
    fault = mcpi_http_check(f.head, is_old);
    if ((fault ? fault->status : 0) != status)
        fail_msg("%s with %s: %s", target, lines[0].name ? lines[0].value : "nothing",
                 fault ? fault->why : "is good");
    if (fault)
        assert_true(strlen(fault->why) > 0);
    fixture_close(&f);
}

static void
assert_target(const char *target, int status)
{
    const struct line host[2] = {{"Host", "a:80"}};

    assert_check(target, host, false, status);
}

/* ---- the host -------------------------------------------------------------- */

static void
assert_host(const char *host, int status)
{
    const struct line lines[2] = {{"Host", host}};

    assert_check("/mcp", lines, false, status);
}

static void
there_is_one_host_unless_the_client_is_old(void **state)
{
    static const struct line none[2] = {{0}};
    static const struct line two[2] = {{"Host", "a"}, {"host", "a"}};

    (void)state;
    assert_check("/mcp", none, false, 400);
    assert_check("/mcp", none, true, 0);
    assert_check("/mcp", two, false, 400);
    assert_check("/mcp", two, true, 400);
}

static void
a_host_has_only_what_a_host_may_have(void **state)
{
    (void)state;
    assert_host("", 0);
    assert_host("localhost:8080", 0);
    assert_host("[::1]:80", 0);
    assert_host("a-b_c.example~", 0);
    assert_host("a,b", 400);
    assert_host("a b", 400);
    assert_host("a/b", 400);
    assert_host("a@b", 400);
    assert_host("a?b", 400);
    assert_host("a\"b", 400);
    assert_host("\x7f", 400);
    assert_host("\xc3\xa4", 400);
}

/* ---- the coding ------------------------------------------------------------ */

static void
assert_coding(const char *coding, bool is_old, int status)
{
    const struct line lines[2] = {{"Host", "a"}, {"Transfer-Encoding", coding}};

    assert_check("/mcp", lines, is_old, status);
}

static void
only_chunks_can_be_taken_off_a_body(void **state)
{
    (void)state;
    assert_coding("chunked", false, 0);
    assert_coding("Chunked", false, 0);
    assert_coding("gzip, chunked", false, 501);
    assert_coding("gzip", false, 501);
    assert_coding("", false, 400);
    assert_coding("chunked", true, 400);
}

static void
a_coding_that_is_said_twice_is_another_one(void **state)
{
    static const struct line twice[2] = {{"Transfer-Encoding", "chunked"},
                                         {"Transfer-Encoding", "chunked"}};
    struct fixture f;
    const struct mcpi_http_fault *fault;

    (void)state;
    fixture_open(&f, "/mcp", twice, 2);
    f.head->fields[f.head->in.field_count++] = (mcp_http_field){
        f.head->text + fixture_append(&f, "Host"),
        f.head->text + fixture_append(&f, "a")};
    fault = mcpi_http_check(f.head, false);
    assert_non_null(fault);
    assert_int_equal(fault->status, 501);
    fixture_close(&f);
}

/* ---- the target ------------------------------------------------------------ */

static void
a_target_is_a_path_with_or_without_a_query(void **state)
{
    const struct line host[2] = {{"Host", "a"}};
    struct fixture f;

    (void)state;
    fixture_open(&f, "/mcp?x=1?", host, 2);
    assert_null(mcpi_http_check(f.head, false));
    assert_string_equal(f.head->in.target, "/mcp?x=1?");
    assert_int_equal(f.head->in.path_len, 4);
    assert_ptr_equal(f.head->in.known, &f.head->known);
    assert_ptr_equal(f.head->in.fields, f.head->fields);
    assert_string_equal(f.head->known.value[MCPI_HTTP_HOST], "a");
    fixture_close(&f);
    assert_target("/", 0);
    assert_target("mcp", 400);
    assert_target("", 400);
    assert_target("/a#b", 400);
    assert_target("/a b", 400);
    assert_target("/a\x01", 400);
    assert_target("/a\x7f", 400);
    assert_target("/\xc3\xa4", 400);
}

static void
assert_cut(const char *target, const char *path)
{
    const struct line host[2] = {{"Host", "a:80"}};
    struct fixture f;

    fixture_open(&f, target, host, 2);
    assert_null(mcpi_http_check(f.head, false));
    assert_string_equal(f.head->in.target, path);
    assert_int_equal(f.head->in.path_len, strcspn(path, "?"));
    fixture_close(&f);
}

static void
of_a_target_with_an_authority_the_path_counts(void **state)
{
    (void)state;
    assert_cut("http://a:80/mcp", "/mcp");
    assert_cut("HTTPS://A:80/mcp?x", "/mcp?x");
    assert_cut("http://a:80", "/");
    assert_cut("http://a:80?x", "/?x");
    assert_target("ftp://a:80/mcp", 400);
    assert_target("x?http://a:80/mcp", 400);
}

static void
who_asks_us_for_somebody_else_is_wrong_here(void **state)
{
    (void)state;
    assert_target("http://b/mcp", 400);
    assert_target("http://a:8/mcp", 400);
    assert_target("http://a:800/mcp", 400);
    assert_target("http:///mcp", 400);
}

static void
the_server_itself_can_only_be_asked_for_its_options(void **state)
{
    const struct line host[2] = {{"Host", "a"}};
    struct fixture f;

    (void)state;
    assert_target("*", 400);
    fixture_open(&f, "*", host, 2);
    f.head->in.method = MCPI_HTTP_OPTIONS;
    assert_null(mcpi_http_check(f.head, false));
    assert_string_equal(f.head->in.target, "*");
    fixture_close(&f);
}

TEST_MAIN(TEST(there_is_one_host_unless_the_client_is_old),
          TEST(a_host_has_only_what_a_host_may_have),
          TEST(only_chunks_can_be_taken_off_a_body),
          TEST(a_coding_that_is_said_twice_is_another_one),
          TEST(a_target_is_a_path_with_or_without_a_query),
          TEST(of_a_target_with_an_authority_the_path_counts),
          TEST(who_asks_us_for_somebody_else_is_wrong_here),
          TEST(the_server_itself_can_only_be_asked_for_its_options))
