/* needs_test.c - the scopes that a request needs */
#include "auth/scopes.h"
#include "auth/watch.h"

static void
a_request_needs_its_scopes(void **state)
{
    char seen[64] = "";
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.scope = "mcp", .needs = watch_needs, .user = seen));
    watch_begin(&w, NULL, NULL, NULL, MODERN_T, MODERN_CALL("1"));
    watch_refused(&w, 401, "Bearer scope=\"mcp tools:t\", " SAYS_DOCUMENT);
    assert_string_equal(seen, "tools/call t");
    watch_call(&w, HEAD_EC, ANN(",'scope':'mcp'"), EC_PRIVATE);
    assert_non_null(strstr(w.v.text, "Forbidden: "));
    watch_refused(&w, 403, SAYS_MISSING);
    watch_call(&w, HEAD_EC, ANN(",'scope':'tools:t'"), EC_PRIVATE);
    watch_refused(&w, 403, SAYS_MISSING);
    watch_call(&w, HEAD_EC, ANN(""), EC_PRIVATE);
    watch_refused(&w, 403, SAYS_MISSING);
    assert_int_equal(w.f.served, 0);
    watch_lets_in(&w, ANN(",'scope':'other mcp tools:t'"));
    watch_close(&w);
}

static void
see(struct watch *w, const char *body, char seen[64], const char *expected)
{
    strcpy(seen, "-");
    watch_begin(w, NULL, NULL, NULL, MODERN_T, body);
    watch_gives(w, 401);
    assert_string_equal(seen, expected);
}

static void
what_is_asked_for_is_told_by_its_body(void **state)
{
    static char big[70000];
    char seen[64] = "";
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.needs = watch_needs, .user = seen));
    see(&w, REQUEST("1", "prompts/get", "{\"name\":\"p\"}"), seen, "prompts/get p");
    see(&w, REQUEST("1", "resources/read", "{\"uri\":\"a:b\"}"), seen,
        "resources/read a:b");
    see(&w, REQUEST("1", "resources/subscribe", "{\"uri\":\"a:b\"}"), seen,
        "resources/subscribe a:b");
    see(&w, REQUEST("1", "completion/complete", "{\"ref\":{\"name\":\"p\"}}"), seen,
        "completion/complete p");
    see(&w, REQUEST("1", "completion/complete", "{\"ref\":{\"uri\":\"a:{b}\"}}"), seen,
        "completion/complete a:{b}");
    see(&w, REQUEST("1", "tools/list", "{}"), seen, "tools/list ");
    see(&w, REQUEST("1", "my/own", "{\"name\":\"x\"}"), seen, "my/own ");
    see(&w, NOTE("notifications/x", "{}"), seen, "notifications/x ");
    see(&w, "[" REQUEST("1", "tools/list", "{}") "]", seen, "-");
    see(&w, "{", seen, "-");
    /* as it is served: what a strict reader refuses must not pass for nothing */
    see(&w, REQUEST("1", "prompts/get", "{\"name\":\"p\",\"x\":\"\\ud83d\"}"), seen,
        "prompts/get p");
    see(&w, "\xef\xbb\xbf" REQUEST("1", "prompts/get", "{\"name\":\"q\"}"), seen,
        "prompts/get q");
    see(&w, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", seen, "-");
    memset(big, ' ', sizeof(big) - 1); /* a stranger's is not read for courtesy */
    memcpy(big, REQUEST("1", "tools/list", "{}"),
           strlen(REQUEST("1", "tools/list", "{}")));
    see(&w, big, seen, "-");
    watch_begin(&w, "Basic", "x", NULL, MODERN_T, big);
    watch_gives(&w, 401);
    watch_begin(&w, "Bearer", "x", NULL, MODERN_T, big);
    watch_gives(&w, 401);
    assert_string_equal(seen, "-"); /* nor is that of who only says to be somebody */
    watch_close(&w);
}

static void
get_and_delete_need_what_every_request_needs(void **state)
{
    static const char *const methods[] = {"GET", "DELETE"};
    char headers[2048], seen[64] = "-";
    struct token token;
    struct watch w;

    (void)state;
    watch_open(&w, WATCH_OPTIONS(.scope = "mcp", .needs = watch_needs, .user = seen));
    for (int i = 0; i < 4; i++) {
        token_make(&token, HEAD_EC, i < 2 ? ANN("") : ANN(",'scope':'mcp'"),
                   EC_PRIVATE);
        (void)snprintf(headers, sizeof(headers),
                       HOST BOTH "Mcp-Session-Id: x\nAuthorization: Bearer %s\n",
                       token.text.data);
        token_done(&token);
        front_ask(&w.f, &w.v, methods[i % 2], headers, NULL);
        watch_gives(&w, i < 2 ? 403 : 404); /* there is no such session */
    }
    assert_string_equal(seen, "-");
    watch_close(&w);
}

/* ---- what `needs` gets wrong ------------------------------------------------- */

struct told {
    const char *needs;
    int lines;
};

static const char *
needs_told(void *user, const char *method, const char *name)
{
    (void)method;
    (void)name;
    return ((struct told *)user)->needs;
}

static void
on_log(void *user, enum mcp_log_level level, const char *line)
{
    assert_int_equal(level, MCP_LOG_ERROR);
    assert_non_null(strstr(line, "guard option needs: "));
    assert_non_null(strstr(line, "tools/call"));
    ((struct told *)user)->lines++;
}

/* Less would be required than was meant. */
static void
what_is_no_scope_is_not_left_out_of_what_is_needed(void **state)
{
    static const char *const wrong[] = {"read\"", "mcp a\\b", "mcp\tread",
                                        "caf\xc3\xa9"};
    static char many[MCPI_SCOPES_MAX + 3];
    struct told told = {0};
    struct watch w;

    (void)state;
    for (size_t i = 0; i < MCPI_SCOPES_MAX; i += 2)
        memcpy(many + i, "a ", 2);
    memcpy(many + MCPI_SCOPES_MAX, "b", 2);
    watch_open(&w, WATCH_OPTIONS(.needs = needs_told, .user = &told, .on_log = on_log,
                                 .log_user = &told));
    for (int i = 0; i < 10; i++) {
        told.needs = i < 8 ? wrong[i / 2] : many;
        if (i % 2 == 0)
            watch_call(&w, HEAD_EC, ANN(",'scope':'mcp read a'"), EC_PRIVATE);
        else
            watch_call_long(&w, ANN(",'scope':'mcp read a'"));
        watch_gives(&w, 500);
        assert_int_equal(told.lines, i + 1);
    }
    assert_int_equal(w.f.served, 0);
    told.needs = " mcp  read ";
    watch_lets_in(&w, ANN(",'scope':'mcp read a'"));
    watch_close(&w);
}

TEST_MAIN(TEST(a_request_needs_its_scopes), TEST(what_is_asked_for_is_told_by_its_body),
          TEST(get_and_delete_need_what_every_request_needs),
          TEST(what_is_no_scope_is_not_left_out_of_what_is_needed))
