/* http_copy_test.c - requests and pieces of answers, in one block each */
#include "link/http_copy.h"

#include <string.h>

#include "base/budget.h"
#include "base/mem.h"
#include "support/test.h"

static const mcp_http_field fields[] = {
    {"Host", "localhost"}, {"Accept", " \ttext/event-stream \t"}, {"Empty", "  "}};

static struct mcpi_http_in
request(void)
{
    return (struct mcpi_http_in){.method = MCPI_HTTP_POST,
                                 .method_name = "POST",
                                 .target = "/mcp?x=1",
                                 .path_len = 4,
                                 .fields = fields,
                                 .field_count = 3,
                                 .body = "a\0b",
                                 .body_len = 3,
                                 .address = "127.0.0.1",
                                 .secure = true};
}

static void
a_request_is_copied_whole(void **state)
{
    struct mcpi_http_in in = request();
    struct mcpi_http_in *copy;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    copy = mcpi_http_in_copy(&mem.allocator, &in, 3);
    assert_non_null(copy);
    assert_int_equal(atomic_load(&mem.live), 1);
    assert_int_equal(copy->method, MCPI_HTTP_POST);
    assert_string_equal(copy->method_name, "POST");
    assert_ptr_not_equal(copy->target, in.target);
    assert_string_equal(copy->target, "/mcp?x=1");
    assert_int_equal(copy->path_len, 4);
    assert_int_equal(copy->field_count, 3);
    assert_string_equal(copy->fields[0].name, "Host");
    assert_string_equal(copy->fields[0].value, "localhost");
    assert_string_equal(copy->fields[1].value, "text/event-stream");
    assert_string_equal(copy->fields[2].value, "");
    assert_int_equal(copy->body_len, 3);
    assert_memory_equal(copy->body, "a\0b", 4);
    assert_string_equal(copy->address, "127.0.0.1");
    assert_true(copy->secure);
    mcpi_free(&mem.allocator, copy);
    test_mem_done(&mem);
}

static void
a_credential_is_not_left_behind(void **state)
{
    const mcp_http_field secret[] = {{"Host", "x"}, {"authorization", "Bearer geheim"}};
    struct mcpi_http_in in = request();
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    mem.secret = "geheim";
    in.fields = secret;
    in.field_count = 2;
    mcpi_http_in_free(&mem.allocator, mcpi_http_in_copy(&mem.allocator, &in, 3));
    mcpi_http_in_free(&mem.allocator, NULL);
    test_mem_done(&mem);
}

static void
a_request_may_have_nothing_in_it(void **state)
{
    struct mcpi_http_in in = {.method_name = "GET", .target = "/"};
    struct mcpi_http_in *copy;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    copy = mcpi_http_in_copy(&mem.allocator, &in, 0);
    assert_non_null(copy);
    assert_null(copy->address);
    assert_string_equal(copy->body, "");
    assert_int_equal(copy->body_len, 0);
    mcpi_free(&mem.allocator, copy);
    test_mem_done(&mem);
}

static void
a_body_that_is_too_long_is_only_counted(void **state)
{
    struct mcpi_http_in in = request();
    struct mcpi_http_in *copy;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    in.body_len = (size_t)1 << 40;
    copy = mcpi_http_in_copy(&mem.allocator, &in, 100);
    assert_non_null(copy);
    assert_null(copy->body);
    assert_int_equal(copy->body_len, (size_t)1 << 40);
    mcpi_free(&mem.allocator, copy);
    test_mem_done(&mem);
}

/* There and back again. */
static void
assert_head_survives(const struct mcpi_http_out *out)
{
    mcp_http_field room[MCPI_HTTP_PIECE_FIELDS];
    struct mcpi_http_piece piece, *copy;
    struct mcpi_http_out back;
    struct test_mem mem;

    test_mem_init(&mem);
    mcpi_http_piece_of(out, true, room, &piece);
    copy = mcpi_http_piece_copy(&mem.allocator, NULL, &piece);
    assert_non_null(copy);
    memset(room, 0, sizeof(room));
    assert_true(copy->last);
    mcpi_http_piece_head(copy, &back);
    assert_int_equal(back.status, out->status);
    assert_int_equal(back.close, out->close);
    assert_int_equal(back.field_count, out->field_count);
    for (size_t i = 0; i < out->field_count; i++) {
        assert_string_equal(back.fields[i].name, out->fields[i].name);
        assert_string_equal(back.fields[i].value, out->fields[i].value);
    }
    if (out->type)
        assert_string_equal(back.type, out->type);
    else
        assert_null(back.type);
    assert_int_equal(back.body_len, out->body_len);
    assert_memory_equal(back.body, out->body ? out->body : "", out->body_len);
    mcpi_http_piece_free(&mem.allocator, copy);
    test_mem_done(&mem);
}

static void
a_head_passes_as_a_piece_and_back(void **state)
{
    static const mcp_http_field own[] = {{"Allow", "GET"}, {"Vary", "Origin"}};
    struct mcpi_http_out out = {.status = 405};

    (void)state;
    assert_head_survives(&out);
    out.type = "application/json";
    out.body = "{}";
    out.body_len = 2;
    assert_head_survives(&out);
    out.fields = own;
    out.field_count = 2;
    assert_head_survives(&out);
    out.close = true;
    assert_head_survives(&out);
    out.type = NULL;
    out.field_count = 0;
    assert_head_survives(&out);
}

static void
without_memory_there_is_no_copy(void **state)
{
    const struct mcpi_http_piece piece = {.body = "x", .body_len = 1};
    struct mcpi_http_in in = request();
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    mem.fail_after = true;
    atomic_store(&mem.fail_at, 1);
    assert_null(mcpi_http_in_copy(&mem.allocator, &in, 3));
    assert_null(mcpi_http_piece_copy(&mem.allocator, NULL, &piece));
    test_mem_done(&mem);
}

/* Issue 20, 5: also after its connection has gone. */
static void
a_copy_is_charged_to_its_client(void **state)
{
    struct mcpi_http_in in = request(), *copy;
    struct mcpi_account account;
    struct mcpi_budget budget;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    mcpi_budget_init(&budget);
    mcpi_account_init(&account, &budget, NULL);
    in.account = &account;
    assert_null(mcpi_http_in_copy(&mem.allocator, &in, 3));
    mcpi_budget_raise(&budget, MCPI_HELD_ARRIVING, 10000);
    copy = mcpi_http_in_copy(&mem.allocator, &in, 3);
    assert_non_null(copy);
    assert_ptr_equal(copy->account, &account);
    assert_int_equal(atomic_load(&account.refs), 2);
    assert_true(mcpi_budget_bytes(&budget) > 0);
    mcpi_http_in_free(&mem.allocator, copy);
    assert_int_equal(mcpi_budget_bytes(&budget), 0);
    mem.fail_after = true;
    atomic_store(&mem.fail_at, mem.total + 1);
    assert_null(mcpi_http_in_copy(&mem.allocator, &in, 3));
    assert_int_equal(mcpi_budget_bytes(&budget), 0);
    test_mem_done(&mem);
}

static void
a_piece_is_charged_to_its_client(void **state)
{
    const struct mcpi_http_piece piece = {.body = "x", .body_len = 1};
    struct mcpi_http_piece *copy;
    struct mcpi_account account;
    struct mcpi_budget budget;
    struct test_mem mem;

    (void)state;
    test_mem_init(&mem);
    mcpi_budget_init(&budget);
    mcpi_account_init(&account, &budget, NULL);
    assert_null(mcpi_http_piece_copy(&mem.allocator, &account, &piece));
    mcpi_budget_raise(&budget, MCPI_HELD_BYTES, 10000);
    copy = mcpi_http_piece_copy(&mem.allocator, &account, &piece);
    assert_non_null(copy);
    assert_int_equal(atomic_load(&account.refs), 2);
    assert_true(mcpi_budget_bytes(&budget) > 0);
    mcpi_http_piece_free(&mem.allocator, copy);
    assert_int_equal(mcpi_budget_bytes(&budget), 0);
    mem.fail_after = true;
    atomic_store(&mem.fail_at, mem.total + 1);
    assert_null(mcpi_http_piece_copy(&mem.allocator, &account, &piece));
    assert_int_equal(mcpi_budget_bytes(&budget), 0);
    mcpi_http_piece_free(&mem.allocator, NULL);
    test_mem_done(&mem);
}

TEST_MAIN(TEST(a_request_is_copied_whole), TEST(a_copy_is_charged_to_its_client),
          TEST(a_piece_is_charged_to_its_client), TEST(a_credential_is_not_left_behind),
          TEST(a_request_may_have_nothing_in_it),
          TEST(a_body_that_is_too_long_is_only_counted),
          TEST(a_head_passes_as_a_piece_and_back),
          TEST(without_memory_there_is_no_copy))
