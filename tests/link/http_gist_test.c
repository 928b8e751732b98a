/* http_gist_test.c - what a request says to a session, told before it is served */
#include "link/http_gist.h"

#include <string.h>

#include "support/messages.h"
#include "support/test.h"

static const struct mcpi_json_limits limits = {65536, 64};

static void
gist_of(struct mcpi_http_gist *gist, enum mcpi_http_method method, const char *body)
{
    const struct mcpi_http_in in = {
        .method = method, .body = body, .body_len = body ? strlen(body) : 0};

    assert_int_equal(mcpi_http_gist_read(NULL, &limits, &in, gist), 0);
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
        mcpi_http_gist_done(&gist);
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
    mcpi_http_gist_done(&a);
    mcpi_http_gist_done(&b);
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

static void
read_once(struct test_mem *mem, void *user)
{
    const struct mcpi_http_in in = {
        .method = MCPI_HTTP_POST, .body = user, .body_len = strlen(user)};
    struct mcpi_http_gist gist;

    int r = mcpi_http_gist_read(&mem->allocator, &limits, &in, &gist);

    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    assert_int_equal(gist.kind, r < 0 ? MCPI_GIST_OTHER : MCPI_GIST_CANCELS);
    mcpi_http_gist_done(&gist);
}

static void
without_memory_it_is_not_told(void **state)
{
    char text[] = CANCEL("1");

    (void)state;
    assert_true(test_each_allocation_fails(read_once, text) > 0);
}

TEST_MAIN(TEST(it_is_told_who_asks_and_who_cancels),
          TEST(a_cancel_is_for_the_request_of_its_id),
          TEST(without_memory_it_is_not_told))
