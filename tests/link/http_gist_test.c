/* http_gist_test.c - what a request says to a session, told before it is served */
#include "link/http_gist.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "support/messages.h"
#include "support/test.h"

static const struct mcpi_json_limits limits = {65536, 64};

static const mcp_allocator *
heap(void)
{
    return mcpi_mem_or_malloc(NULL);
}

static void
gist_of(struct mcpi_http_gist *gist, enum mcpi_http_method method, const char *body)
{
    const struct mcpi_http_in in = {
        .method = method, .body = body, .body_len = body ? strlen(body) : 0};

    assert_int_equal(mcpi_http_gist_read(heap(), &limits, &in, gist), 0);
}

static void
it_is_told_who_asks_and_who_cancels(void **state)
{
    static const struct {
        enum mcpi_http_method method;
        const char *body;
        enum mcpi_http_gist_kind kind;
    } rows[] = {
        {MCPI_HTTP_GET, NULL, MCPI_GIST_ASKS},
        {MCPI_HTTP_DELETE, NULL, MCPI_GIST_OTHER},
        {MCPI_HTTP_POST, REQUEST("1", "tools/list", "{}"), MCPI_GIST_ASKS},
        {MCPI_HTTP_POST, CANCEL("1"), MCPI_GIST_CANCELS},
        {MCPI_HTTP_POST, NOTE("notifications/initialized", "{}"), MCPI_GIST_OTHER},
        {MCPI_HTTP_POST, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}",
         MCPI_GIST_OTHER},
        {MCPI_HTTP_POST, "[" CANCEL("1") "]", MCPI_GIST_OTHER},
        {MCPI_HTTP_POST, "{", MCPI_GIST_OTHER},
        {MCPI_HTTP_POST, "", MCPI_GIST_OTHER},
    };
    struct mcpi_http_gist gist;

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        gist_of(&gist, rows[i].method, rows[i].body);
        assert_int_equal(gist.kind, rows[i].kind);
        mcpi_http_gist_done(heap(), &gist);
    }
}

static bool
is_for(const char *cancel, const char *request)
{
    struct mcpi_http_gist a, b;
    bool is;

    gist_of(&a, MCPI_HTTP_POST, cancel);
    gist_of(&b, MCPI_HTTP_POST, request);
    is = mcpi_http_gist_is_for(&a, &b);
    mcpi_http_gist_done(heap(), &a);
    mcpi_http_gist_done(heap(), &b);
    return is;
}

/* As the table of a session would find it (A4). */
static void
a_cancel_is_for_the_request_of_its_id(void **state)
{
    const char *request = REQUEST("7", "tools/list", "{}");

    (void)state;
    assert_true(is_for(CANCEL("7"), request));
    assert_true(is_for(CANCEL("\"7\""), request));
    assert_true(is_for(CANCEL("\"a\""), REQUEST("\"a\"", "tools/list", "{}")));
    assert_false(is_for(CANCEL("8"), request));
    assert_false(is_for(CANCEL("null"), request));
    assert_false(is_for(NOTE("notifications/cancelled", "{}"), request));
    assert_false(is_for(CANCEL("7"), CANCEL("7")));
    assert_false(is_for(request, request));
}

/* ---- memory ------------------------------------------------------------------ */

/* An allocator that knows how much it has given out. */
union weighed {
    size_t size;
    max_align_t for_all;
};

static void *
scales_alloc(void *user, size_t size)
{
    union weighed *at = malloc(sizeof(*at) + size);

    assert_non_null(at);
    at->size = size;
    *(size_t *)user += size;
    return at + 1;
}

static void
scales_free(void *user, void *ptr)
{
    union weighed *at = ptr;

    if (!at)
        return;
    at--;
    *(size_t *)user -= at->size;
    free(at);
}

static void *
scales_realloc(void *user, void *ptr, size_t size)
{
    union weighed *at = ptr;
    void *more = scales_alloc(user, size);

    if (at)
        memcpy(more, at, at[-1].size < size ? at[-1].size : size);
    scales_free(user, at);
    return more;
}

/* Of a body that is long, and as a tree ten times as long. */
static void
only_the_id_is_kept(void **state)
{
    static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":\"abc\",\"method\":\"x\","
                               "\"params\":{\"y\":[0";
    size_t used = 0;
    const mcp_allocator scales = {scales_alloc, scales_realloc, scales_free, &used};
    struct mcpi_http_gist gist;
    struct mcpi_http_in in = {.method = MCPI_HTTP_POST};
    char body[60000] = "";
    size_t len = sizeof(head) - 1;

    (void)state;
    memcpy(body, head, len);
    for (; len + 8 < sizeof(body); len += 2)
        memcpy(body + len, ",0", 2);
    memcpy(body + len, "]}}", 3);
    in.body = body;
    in.body_len = len + 3;
    assert_int_equal(mcpi_http_gist_read(&scales, &limits, &in, &gist), 0);
    assert_int_equal(gist.kind, MCPI_GIST_ASKS);
    assert_int_equal(gist.id.len, 3);
    assert_true(used < 100);
    mcpi_http_gist_done(&scales, &gist);
    assert_int_equal(used, 0);
}

static void
read_once(struct test_mem *mem, void *user)
{
    const struct mcpi_http_in in = {
        .method = MCPI_HTTP_POST, .body = user, .body_len = strlen(user)};
    struct mcpi_http_gist gist;

    int r = mcpi_http_gist_read(&mem->allocator, &limits, &in, &gist);

    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(gist.kind, r < 0 ? MCPI_GIST_OTHER : MCPI_GIST_CANCELS);
    mcpi_http_gist_done(&mem->allocator, &gist);
}

static void
without_memory_it_is_not_told(void **state)
{
    char text[] = CANCEL("1"), other[] = CANCEL("\"a\"");

    (void)state;
    assert_true(test_each_allocation_fails(read_once, text) > 0);
    assert_true(test_each_allocation_fails(read_once, other) > 1);
}

TEST_MAIN(TEST(it_is_told_who_asks_and_who_cancels),
          TEST(a_cancel_is_for_the_request_of_its_id), TEST(only_the_id_is_kept),
          TEST(without_memory_it_is_not_told))
