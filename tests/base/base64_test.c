/* base64_test.c - bytes as text (RFC 4648) */
#include "base/base64.h"

#include <string.h>

#include "base/mem.h"
#include "support/test.h"

static void
open_buf(struct mcpi_buf *buf, struct test_mem *mem, size_t max)
{
    test_mem_init(mem);
    mcpi_buf_init(buf, &mem->allocator, max);
}

static void
close_buf(struct mcpi_buf *buf, struct test_mem *mem)
{
    mcpi_buf_done(buf);
    test_mem_done(mem);
}

static void
holds(const struct mcpi_buf *buf, const char *text)
{
    assert_int_equal(buf->status, 0);
    assert_int_equal(buf->len, strlen(text));
    if (buf->len > 0)
        assert_memory_equal(buf->data, text, buf->len);
}

/* RFC 4648, section 10. */
static const char *const vectors[][3] = {
    {"", "", ""},
    {"f", "Zg==", "Zg"},
    {"fo", "Zm8=", "Zm8"},
    {"foo", "Zm9v", "Zm9v"},
    {"foob", "Zm9vYg==", "Zm9vYg"},
    {"fooba", "Zm9vYmE=", "Zm9vYmE"},
    {"foobar", "Zm9vYmFy", "Zm9vYmFy"},
    {"\xfb\xff\xbf", "+/+/", "-_-_"},
};

static void
both_alphabets_are_those_of_the_rfc(void **state)
{
    struct test_mem mem;
    struct mcpi_buf buf;

    (void)state;
    for (size_t i = 0; i < sizeof(vectors) / sizeof(vectors[0]); i++) {
        open_buf(&buf, &mem, 100);
        mcpi_base64_write(&buf, vectors[i][0], strlen(vectors[i][0]));
        holds(&buf, vectors[i][1]);
        mcpi_buf_clear(&buf);
        mcpi_base64url_write(&buf, vectors[i][0], strlen(vectors[i][0]));
        holds(&buf, vectors[i][2]);
        mcpi_buf_clear(&buf);
        assert_int_equal(
            mcpi_base64url_read(&buf, vectors[i][2], strlen(vectors[i][2])), 0);
        holds(&buf, vectors[i][0]);
        mcpi_buf_clear(&buf);
        assert_int_equal(mcpi_base64_read(&buf, vectors[i][1], strlen(vectors[i][1])),
                         0);
        holds(&buf, vectors[i][0]);
        close_buf(&buf, &mem);
    }
}

static void
every_byte_comes_back(void **state)
{
    unsigned char bytes[256];
    struct test_mem mem;
    struct mcpi_buf buf, back;

    (void)state;
    for (int i = 0; i < 256; i++)
        bytes[i] = (unsigned char)i;
    open_buf(&buf, &mem, 4096);
    mcpi_buf_init(&back, &mem.allocator, 4096);
    for (size_t len = 0; len <= sizeof(bytes); len++) {
        mcpi_buf_clear(&buf);
        mcpi_buf_clear(&back);
        mcpi_base64url_write(&buf, bytes, len);
        assert_int_equal(mcpi_base64url_read(&back, buf.data, buf.len), 0);
        assert_int_equal(back.len, len);
        if (len > 0)
            assert_memory_equal(back.data, bytes, len);
        mcpi_buf_clear(&buf);
        mcpi_buf_clear(&back);
        mcpi_base64_write(&buf, bytes, len);
        assert_int_equal(mcpi_base64_read(&back, buf.data, buf.len), 0);
        assert_int_equal(back.len, len);
        if (len > 0)
            assert_memory_equal(back.data, bytes, len);
    }
    mcpi_buf_done(&back);
    close_buf(&buf, &mem);
}

static void
what_is_not_the_one_spelling_is_refused(void **state)
{
    static const char *const bad[] = {"Z",   "Zg==",  "Zm8=",   "Zm9",
                                      "Zh",  "Zm9vY", "Zm9/",   "Zm+v",
                                      "Z g", "Zm9v!", "\xffmm9"};
    struct test_mem mem;
    struct mcpi_buf buf;

    (void)state;
    open_buf(&buf, &mem, 100);
    mcpi_buf_text(&buf, "x");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (mcpi_base64url_read(&buf, bad[i], strlen(bad[i])) != MCP_E_INVAL)
            fail_msg("%s was read", bad[i]);
        holds(&buf, "x"); /* nothing was appended */
    }
    close_buf(&buf, &mem);
}

static void
padding_is_what_it_must_be(void **state)
{
    static const char *const bad[] = {
        "=",    "==",       "===",  "====",     "Zg",        "Zg=",
        "Zm8",  "Zm9v=",    "Z===", "Zg==Zg==", "Zh==",      "Zm9=",
        "=Zg=", "Zm9v====", "Zm-v", "Zm_v",     "Zm9v\nZg=", "Z=g="};
    struct test_mem mem;
    struct mcpi_buf buf;

    (void)state;
    open_buf(&buf, &mem, 100);
    mcpi_buf_text(&buf, "x");
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (mcpi_base64_read(&buf, bad[i], strlen(bad[i])) != MCP_E_INVAL)
            fail_msg("%s was read", bad[i]);
        holds(&buf, "x");
    }
    assert_int_equal(mcpi_base64_read(&buf, "Zg=\0", 4), MCP_E_INVAL);
    close_buf(&buf, &mem);
}

static void
a_full_buffer_is_a_limit(void **state)
{
    struct test_mem mem;
    struct mcpi_buf buf;

    (void)state;
    open_buf(&buf, &mem, 5);
    mcpi_base64_write(&buf, "foobar", 6);
    assert_int_equal(buf.status, MCP_E_LIMIT);
    mcpi_buf_clear(&buf);
    assert_int_equal(mcpi_base64url_read(&buf, "Zm9vYmFyZm9v", 12), MCP_E_LIMIT);
    mcpi_buf_clear(&buf);
    mcpi_base64url_write(&buf, "", SIZE_MAX);
    assert_int_equal(buf.status, MCP_E_LIMIT);
    close_buf(&buf, &mem);
}

static void
flow_in(struct test_mem *mem, void *user)
{
    struct mcpi_buf buf;
    int r;

    (void)user;
    mcpi_buf_init(&buf, &mem->allocator, 100);
    mcpi_base64_write(&buf, "foobar", 6);
    assert_int_equal(buf.status, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    mcpi_buf_done(&buf);
    mcpi_buf_init(&buf, &mem->allocator, 100);
    r = mcpi_base64url_read(&buf, "Zm9v", 4);
    assert_int_equal(r, buf.status);
    mcpi_buf_done(&buf);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(flow_in, NULL), 2);
}

TEST_MAIN(TEST(both_alphabets_are_those_of_the_rfc), TEST(every_byte_comes_back),
          TEST(what_is_not_the_one_spelling_is_refused),
          TEST(padding_is_what_it_must_be), TEST(a_full_buffer_is_a_limit),
          TEST(each_allocation_may_fail))
