/* seal_test.c - what travels through a client comes back as it was, or not at all */
#include "api/seal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

#define NOW 1000000

static const unsigned char key[MCPI_AEAD_KEY] = "the key of all these tests, 32 b";
static const unsigned char other_key[MCPI_AEAD_KEY] =
    "the key of all these tests, 32 c";

static mcp_doc *
parse(const char *text)
{
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &doc, NULL), 0);
    return doc;
}

#define PARAMS "{\"name\":\"t\",\"arguments\":{\"a\":1,\"b\":[1,{\"c\":2,\"d\":3}]}}"

static struct mcpi_seal
seal_to(const mcp_doc *params)
{
    return (struct mcpi_seal){key, "", "tools/call", mcp_doc_root(params)};
}

/* Seal "text" until NOW. */
static void
seal(const struct mcpi_seal *to, struct mcpi_buf *into)
{
    mcpi_buf_init(into, NULL, MCPI_SEAL_MAX);
    assert_int_equal(mcpi_seal_write(to, NOW, "text", 4, into), 0);
}

static int
open_at(const struct mcpi_seal *to, int64_t now, const char *text, size_t len)
{
    struct mcpi_buf buf;
    int r;

    mcpi_buf_init(&buf, NULL, MCPI_SEAL_MAX);
    r = mcpi_seal_open(to, now, text, len, &buf);
    if (r == 0) {
        assert_int_equal(buf.len, 4);
        assert_memory_equal(buf.data, "text", 4);
    } else {
        assert_int_equal(buf.len, 0);
    }
    mcpi_buf_done(&buf);
    return r;
}

/* Sealed for params and opened for other ones. */
static int
open_for(const char *params)
{
    mcp_doc *made = parse(PARAMS), *doc = parse(params);
    struct mcpi_seal to = seal_to(made);
    struct mcpi_buf sealed;
    int r;

    seal(&to, &sealed);
    to.params = mcp_doc_root(doc);
    r = open_at(&to, NOW - 1, sealed.data, sealed.len);
    mcpi_buf_done(&sealed);
    mcp_doc_free(made);
    mcp_doc_free(doc);
    return r;
}

static void
what_was_sealed_opens_until_it_expires(void **state)
{
    mcp_doc *doc = parse(PARAMS);
    struct mcpi_seal to = seal_to(doc);
    struct mcpi_buf sealed;

    (void)state;
    seal(&to, &sealed);
    assert_int_equal(open_at(&to, 0, sealed.data, sealed.len), 0);
    assert_int_equal(open_at(&to, NOW - 1, sealed.data, sealed.len), 0);
    assert_int_equal(open_at(&to, NOW, sealed.data, sealed.len), MCP_E_TIMEOUT);
    assert_int_equal(open_at(&to, NOW + 1, sealed.data, sealed.len), MCP_E_TIMEOUT);
    mcpi_buf_done(&sealed);
    mcp_doc_free(doc);
}

static void
sealed_text_is_plain_ascii_and_another_each_time(void **state)
{
    struct mcpi_seal to = seal_to(NULL);
    struct mcpi_buf one, two;

    (void)state;
    seal(&to, &one);
    seal(&to, &two);
    assert_int_equal(one.len, two.len);
    assert_memory_not_equal(one.data, two.data, one.len);
    for (size_t i = 0; i < one.len; i++)
        assert_non_null(memchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                               "0123456789-_",
                               one.data[i], 64));
    mcpi_buf_done(&one);
    mcpi_buf_done(&two);
}

static void
no_character_can_be_changed(void **state)
{
    struct mcpi_seal to = seal_to(NULL);
    struct mcpi_buf sealed;
    char before;

    (void)state;
    seal(&to, &sealed);
    for (size_t i = 0; i < sealed.len; i++) {
        before = sealed.data[i];
        sealed.data[i] = before == 'A' ? 'B' : 'A';
        assert_int_equal(open_at(&to, 0, sealed.data, sealed.len), MCP_E_INVAL);
        sealed.data[i] = before;
    }
    assert_int_equal(open_at(&to, 0, sealed.data, sealed.len), 0);
    mcpi_buf_done(&sealed);
}

static void
what_is_cut_or_nonsense_does_not_open(void **state)
{
    static const char *const nonsense[] = {
        "", "A", "AQ", "====", "not one of ours", "\xff\xff\xff\xff"};
    struct mcpi_seal to = seal_to(NULL);
    struct mcpi_buf sealed;

    (void)state;
    seal(&to, &sealed);
    for (size_t len = 0; len < sealed.len; len++)
        assert_int_equal(open_at(&to, 0, sealed.data, len), MCP_E_INVAL);
    for (size_t i = 0; i < sizeof(nonsense) / sizeof(nonsense[0]); i++)
        assert_int_equal(open_at(&to, 0, nonsense[i], strlen(nonsense[i])),
                         MCP_E_INVAL);
    mcpi_buf_done(&sealed);
}

static void
another_key_method_or_principal_does_not_open_it(void **state)
{
    struct mcpi_seal to = seal_to(NULL), other;
    struct mcpi_buf sealed;

    (void)state;
    seal(&to, &sealed);
    other = to;
    other.key = other_key;
    assert_int_equal(open_at(&other, 0, sealed.data, sealed.len), MCP_E_INVAL);
    other = to;
    other.method = "prompts/get";
    assert_int_equal(open_at(&other, 0, sealed.data, sealed.len), MCP_E_INVAL);
    other = to;
    other.principal = "eve";
    assert_int_equal(open_at(&other, 0, sealed.data, sealed.len), MCP_E_INVAL);
    mcpi_buf_done(&sealed);
}

static void
other_params_do_not_open_it(void **state)
{
    static const char *const others[] = {
        "{}",
        "{\"name\":\"u\",\"arguments\":{\"a\":1,\"b\":[1,{\"c\":2,\"d\":3}]}}",
        "{\"name\":\"t\",\"arguments\":{\"a\":2,\"b\":[1,{\"c\":2,\"d\":3}]}}",
        "{\"name\":\"t\",\"arguments\":{\"a\":1,\"b\":[{\"c\":2,\"d\":3},1]}}",
        "{\"name\":\"t\",\"arguments\":{\"a\":1,\"b\":[1,{\"c\":2,\"d\":3}],\"e\":1}}",
        "{\"name\":\"t\",\"arguments\":{\"a\":1,\"b\":[1,{\"c\":2}]}}",
        "{\"name\":\"t\",\"arguments\":{\"a\":\"1\",\"b\":[1,{\"c\":2,\"d\":3}]}}",
        "{\"name\":\"t\",\"arguments\":{\"a\":1,\"b\":[1,[\"c\",2,\"d\",3]]}}",
        "{\"name\":\"t\",\"arguments\":{\"a\":1,\"b\":[1,{\"c\":3,\"d\":2}]}}",
        "{\"name\":\"t\",\"arguments\":{\"b\":1,\"a\":[1,{\"c\":2,\"d\":3}]}}",
        "{\"name\":\"t\",\"x\":0,\"arguments\":{\"a\":1,\"b\":[1,{\"c\":2,\"d\":3}]}}",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        assert_int_equal(open_for(others[i]), MCP_E_INVAL);
}

static void
order_of_keys_and_what_a_retry_brings_do_not_count(void **state)
{
    (void)state;
    assert_int_equal(
        open_for(
            "{\"arguments\":{\"b\":[1,{\"d\":3,\"c\":2}],\"a\":1},\"name\":\"t\"}"),
        0);
    assert_int_equal(
        open_for("{\"_meta\":{\"x\":1},\"name\":\"t\",\"requestState\":\"s\","
                 "\"arguments\":{\"a\":1,\"b\":[1,{\"c\":2,\"d\":3}]},"
                 "\"inputResponses\":{\"k\":{}}}"),
        0);
    /* but only outermost */
    assert_int_equal(open_for("{\"name\":\"t\",\"arguments\":{\"a\":1,\"_meta\":{},"
                              "\"b\":[1,{\"c\":2,\"d\":3}]}}"),
                     MCP_E_INVAL);
}

/* Which of two members of one name counts depends on their order. */
static void
order_of_duplicate_keys_counts(void **state)
{
    mcp_doc *made = parse("{\"arguments\":{\"a\":{\"x\":1,\"x\":2}}}");
    mcp_doc *swapped = parse("{\"arguments\":{\"a\":{\"x\":2,\"x\":1}}}");
    struct mcpi_seal to = seal_to(made);
    struct mcpi_buf sealed;

    (void)state;
    seal(&to, &sealed);
    assert_int_equal(open_at(&to, 0, sealed.data, sealed.len), 0);
    to.params = mcp_doc_root(swapped);
    assert_int_equal(open_at(&to, 0, sealed.data, sealed.len), MCP_E_INVAL);
    mcpi_buf_done(&sealed);
    mcp_doc_free(made);
    mcp_doc_free(swapped);
}

/* {"arguments":[0,0,...]} with so many values below the outermost object, keys included. */
static mcp_doc *
params_of(size_t values)
{
    size_t zeros = values - 2;
    char *text = malloc(2 * zeros + 32);
    mcp_doc *doc;
    int n;

    assert_non_null(text);
    n = sprintf(text, "{\"arguments\":[0");
    for (size_t i = 1; i < zeros; i++)
        n += sprintf(text + n, ",0");
    sprintf(text + n, "]}");
    doc = parse(text);
    free(text);
    return doc;
}

/* Issue 20, 4: parameters of any length, and no memory for them; a junk state does not
 * even have them counted. */
static void
parameters_take_no_memory_and_junk_has_them_unread(void **state)
{
    mcp_doc *doc = params_of(MCPI_SEAL_VALUES_MAX), *more;
    struct mcpi_seal to = seal_to(doc);
    struct mcpi_buf sealed, opened;
    struct test_mem mem;

    (void)state;
    more = params_of(MCPI_SEAL_VALUES_MAX + 1);
    test_mem_init(&mem);
    mcpi_buf_init(&sealed, &mem.allocator, MCPI_SEAL_MAX);
    mcpi_buf_init(&opened, &mem.allocator, MCPI_SEAL_MAX);
    assert_int_equal(mcpi_seal_write(&to, NOW, "text", 4, &sealed), 0);
    assert_int_equal(mcpi_seal_open(&to, 0, sealed.data, sealed.len, &opened), 0);
    assert_true(mem.largest < 4096);

    to.params = mcp_doc_root(more);
    assert_int_equal(mcpi_seal_write(&to, NOW, "text", 4, &opened), MCP_E_LIMIT);
    assert_int_equal(mcpi_seal_open(&to, 0, sealed.data, sealed.len, &opened),
                     MCP_E_INVAL);
    assert_int_equal(mcpi_seal_open(&to, NOW, sealed.data, sealed.len, &opened),
                     MCP_E_TIMEOUT); /* known before the parameters are */
    mcpi_buf_done(&sealed);
    mcpi_buf_done(&opened);
    test_mem_done(&mem);
    mcp_doc_free(doc);
    mcp_doc_free(more);
}

/* 1 version, 24 nonce, 8 expiry, 16 hash, 16 tag: 65 bytes; three bytes are four
 * characters. */
#define LONGEST (MCPI_SEAL_MAX / 4 * 3 - 65)

static void
too_long_a_text_is_neither_sealed_nor_looked_at(void **state)
{
    struct mcpi_seal to = seal_to(NULL);
    char *text = calloc(1, LONGEST + 1);
    struct mcpi_buf sealed, opened;

    (void)state;
    assert_non_null(text);
    mcpi_buf_init(&sealed, NULL, 2 * MCPI_SEAL_MAX);
    mcpi_buf_init(&opened, NULL, MCPI_SEAL_MAX);
    assert_int_equal(mcpi_seal_write(&to, NOW, text, LONGEST + 1, &sealed),
                     MCP_E_LIMIT);
    assert_int_equal(mcpi_seal_write(&to, NOW, text, LONGEST, &sealed), 0);
    assert_int_equal(sealed.len, MCPI_SEAL_MAX);
    assert_int_equal(mcpi_seal_open(&to, 0, sealed.data, sealed.len, &opened), 0);
    assert_int_equal(opened.len, LONGEST);
    mcpi_buf_char(&sealed, 'A');
    assert_int_equal(mcpi_seal_open(&to, 0, sealed.data, sealed.len, &opened),
                     MCP_E_LIMIT);
    mcpi_buf_done(&sealed);
    mcpi_buf_done(&opened);
    free(text);
}

static void
flow(struct test_mem *mem, void *user)
{
    struct mcpi_seal to = seal_to(user);
    struct mcpi_buf sealed, opened;
    int r;

    mcpi_buf_init(&sealed, &mem->allocator, MCPI_SEAL_MAX);
    mcpi_buf_init(&opened, &mem->allocator, MCPI_SEAL_MAX);
    r = mcpi_seal_write(&to, NOW, "text", 4, &sealed);
    if (r == 0)
        r = mcpi_seal_open(&to, 0, sealed.data, sealed.len, &opened);
    assert_true(r == 0 || r == MCP_E_NOMEM);
    if (r == 0)
        assert_memory_equal(opened.data, "text", 4);
    mcpi_buf_done(&sealed);
    mcpi_buf_done(&opened);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_doc *doc = parse(PARAMS);

    (void)state;
    assert_true(test_each_allocation_fails(flow, doc) > 4);
    mcp_doc_free(doc);
}

static void
clock_goes_forward(void **state)
{
    int64_t now = mcpi_seal_now_ms();

    (void)state;
    assert_true(now > INT64_C(1600000000000));
    assert_true(mcpi_seal_now_ms() - now < 60000);
}

TEST_MAIN(TEST(what_was_sealed_opens_until_it_expires),
          TEST(sealed_text_is_plain_ascii_and_another_each_time),
          TEST(no_character_can_be_changed),
          TEST(what_is_cut_or_nonsense_does_not_open),
          TEST(another_key_method_or_principal_does_not_open_it),
          TEST(other_params_do_not_open_it),
          TEST(order_of_keys_and_what_a_retry_brings_do_not_count),
          TEST(order_of_duplicate_keys_counts),
          TEST(parameters_take_no_memory_and_junk_has_them_unread),
          TEST(too_long_a_text_is_neither_sealed_nor_looked_at),
          TEST(each_allocation_may_fail), TEST(clock_goes_forward))
