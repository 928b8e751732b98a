/* auth/discovery_test.c - whom to ask for a token, and whom not to believe */
#include "auth/discovery.h"

#include "auth/flow_fixture.h"

#define ROOT_ISSUER "https://as.test"
#define LIMIT_US 5000000
#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct search {
    struct stage st;
    struct mcpi_discovery d;
    int done, status;
    char why[300];
};

static void
on_done(void *user, int status, const char *why)
{
    struct search *s = user;

    s->done++;
    s->status = status;
    (void)snprintf(s->why, sizeof(s->why), "%s", why);
    assert_int_equal(status == 0, *why == '\0');
    assert_int_equal(mcpi_discovery_has_found(&s->d), status == 0);
}

static int
search_open_with(struct search *s, struct test_mem *mem)
{
    int r;

    memset(s, 0, sizeof(*s));
    r = stage_open(&s->st, mem);
    s->d = (struct mcpi_discovery){.mem = &s->st.mem->allocator,
                                   .loop = s->st.loop,
                                   .fetcher = &s->st.fetcher.fetcher,
                                   .server_url = SERVER,
                                   .limit_us = LIMIT_US,
                                   .done = on_done,
                                   .user = s,
                                   .nearest = MCPI_ADDRESS_PRIVATE};
    mcpi_discovery_init(&s->d);
    return r;
}

static void
search_open(struct search *s)
{
    assert_int_equal(search_open_with(s, NULL), 0);
}

static void
search_close(struct search *s)
{
    mcpi_discovery_done(&s->d);
    stage_close(&s->st);
}

static void
search_start(struct search *s)
{
    int before = s->done;

    assert_int_equal(mcpi_discovery_start(&s->d, ""), 0);
    assert_int_equal(s->done, before); /* not from inside */
    assert_false(mcpi_discovery_has_found(&s->d));
}

static struct fake_fetch *
got(struct search *s, const char *url)
{
    struct fake_fetch *get = asked(&s->st, "GET", url);

    assert_null(get->body);
    assert_false(get->stays);
    assert_int_equal(get->nearest, MCPI_ADDRESS_PRIVATE);
    return get;
}

static void
expect_refused(struct search *s, size_t asked_for, const char *why)
{
    asked_no_more(&s->st, asked_for);
    assert_int_equal(s->done, 1);
    assert_int_equal(s->status, MCP_E_AUTH);
    assert_string_equal(s->why, why);
    assert_false(mcpi_discovery_has_found(&s->d));
    assert_null(s->d.found.issuer.token_endpoint);
    assert_null(s->d.found.resource.issuer);
}

/* ---- places --------------------------------------------------------------------- */

static void
the_path_is_looked_at_before_the_root(void **state)
{
    struct search s;

    (void)state;
    search_open(&s);
    search_start(&s);
    answer(got(&s, RESOURCE_PLACE), 404, "");
    answer(got(&s, RESOURCE_ROOT), 200, RESOURCE_JSON(ISSUER, ""));
    answer(got(&s, ISSUER_PLACE), 404, "");
    answer(got(&s, "https://as.test/.well-known/openid-configuration/tenant"), 404, "");
    answer(got(&s, "https://as.test/tenant/.well-known/openid-configuration"), 200,
           ISSUER_JSON(ISSUER, ""));
    assert_int_equal(s.done, 1);
    assert_int_equal(s.status, 0);
    assert_string_equal(s.d.found.resource.resource, SERVER);
    assert_string_equal(s.d.found.issuer.issuer, ISSUER);
    assert_string_equal(s.d.found.issuer.token_endpoint, TOKEN_PLACE);
    asked_no_more(&s.st, 5);
    search_close(&s);
}

/* Whoever has the root of a host is not who has a path of it. */
static void
the_root_is_never_asked_about_an_issuer_with_a_path(void **state)
{
    struct search s;

    (void)state;
    search_open(&s);
    search_start(&s);
    answer(got(&s, RESOURCE_PLACE), 200, RESOURCE_JSON(ISSUER, ""));
    for (int i = 0; i < 3; i++)
        answer(fake_last(&s.st.fetcher), 404, "");
    expect_refused(&s, 4, "no metadata of the authorization server: HTTP 404");
    for (size_t i = 1; i < s.st.fetcher.count; i++)
        assert_non_null(strstr(fake_at(&s.st.fetcher, i)->url, "/tenant"));
    search_close(&s);
}

static void
an_issuer_without_a_path_has_two_places(void **state)
{
    struct search s;

    (void)state;
    search_open(&s);
    search_start(&s);
    answer(got(&s, RESOURCE_PLACE), 200, RESOURCE_JSON(ROOT_ISSUER, ""));
    answer(got(&s, "https://as.test/.well-known/oauth-authorization-server"), 404, "");
    answer(got(&s, "https://as.test/.well-known/openid-configuration"), 404, "");
    expect_refused(&s, 3, "no metadata of the authorization server: HTTP 404");
    search_close(&s);
}

static void
a_challenge_says_where_and_nowhere_else_is_looked(void **state)
{
    struct search s;

    (void)state;
    search_open(&s);
    assert_int_equal(mcpi_discovery_start(&s.d, "https://docs.test/prm?x=1"), 0);
    answer(got(&s, "https://docs.test/prm?x=1"), 404, "");
    expect_refused(&s, 1, "no metadata of the server: HTTP 404");
    assert_int_equal(mcpi_discovery_start(&s.d, "https://docs.test/prm"), 0);
    answer(got(&s, "https://docs.test/prm"), 200, RESOURCE_JSON(ISSUER, ""));
    answer(got(&s, ISSUER_PLACE), 200, ISSUER_JSON(ISSUER, ""));
    assert_int_equal(s.status, 0);
    search_close(&s);
}

static void
a_challenge_that_is_not_safe_is_not_followed(void **state)
{
    static const char *const hints[] = {
        "http://mcp.test/prm",
        "ftp://mcp.test/prm",
        "/prm",
        "//mcp.test/prm",
        "file:///etc/passwd",
        "https://u:p@mcp.test/",
        "https://mcp.test/#x",
        "https://mcp.test/a b",
        "http://localhost.evil.test/",
        "http://127.1/prm",
        "http://169.254.169.254/",
        "javascript:alert(1)",
        "https://mcp.test\\@x/y",
    };
    struct search s;

    (void)state;
    search_open(&s);
    for (size_t i = 0; i < COUNT(hints); i++)
        assert_int_equal(mcpi_discovery_start(&s.d, hints[i]), MCP_E_AUTH);
    asked_no_more(&s.st, 0);
    assert_int_equal(s.done, 0);
    search_close(&s);
}

/* ---- what is not believed ---------------------------------------------------------- */

static void
metadata_of_another_resource_is_refused_before_its_issuer_is_asked(void **state)
{
    static const char *const resources[] = {
        "https://evil.test/v1/mcp",    "http://mcp.test/v1/mcp",
        "https://mcp.test:444/v1/mcp", "https://mcp.test/v2",
        "https://mcp.test/v1/mc",      "https://mcp.test/v1/mcp/x",
        "https://mcp.test/v1/../",
    };
    char json[512];

    (void)state;
    for (size_t i = 0; i < COUNT(resources); i++) {
        struct search s;

        search_open(&s);
        search_start(&s);
        (void)snprintf(json, sizeof(json),
                       "{'resource':'%s','authorization_servers':['" ISSUER "']}",
                       resources[i]);
        answer(got(&s, RESOURCE_PLACE), 200, json);
        expect_refused(&s, 1,
                       "metadata of the server: the resource's metadata is about "
                       "another resource");
        search_close(&s);
    }
}

static void
none_of_the_endpoints_of_another_issuer_is_used(void **state)
{
    static const char *const documents[] = {
        ISSUER_JSON("https://evil.test/tenant", ""),
        ISSUER_JSON(ISSUER "/", ""),
        ISSUER_JSON("https://AS.test/tenant", ""),
        ISSUER_JSON("https://as.test:443/tenant", ""),
        ISSUER_JSON("https://as.test", ""),
        ISSUER_JSON("", ""),
        "{'token_endpoint':'https://as.test/token'}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(documents); i++) {
        struct search s;

        search_open(&s);
        search_start(&s);
        answer(got(&s, RESOURCE_PLACE), 200, RESOURCE_JSON(ISSUER, ""));
        answer(got(&s, ISSUER_PLACE), 200, documents[i]);
        expect_refused(&s, 2,
                       "metadata of the authorization server: the metadata is of "
                       "another issuer");
        search_close(&s);
    }
}

static void
an_issuer_that_is_not_safe_is_not_asked(void **state)
{
    struct search s;

    (void)state;
    search_open(&s);
    search_start(&s);
    answer(got(&s, RESOURCE_PLACE), 200, RESOURCE_JSON("http://as.test", ""));
    expect_refused(&s, 1,
                   "metadata of the server: the resource's metadata names no "
                   "authorization server that is safe");
    search_close(&s);
}

enum mishap { TOO_LONG, TOO_SLOW, REDIRECTED, BROKEN, NOT_JSON, NO_OBJECT, MISHAPS };

static void
happen(struct search *s, struct fake_fetch *get, int mishap)
{
    switch (mishap) {
    case TOO_LONG:
        answer_too_long(get);
        break;
    case TOO_SLOW:
        fake_head(get, 200, NULL);
        stage_pass(&s->st, LIMIT_US);
        break;
    case REDIRECTED:
        fake_fail(get, MCP_E_PROTO, "redirected to another origin");
        break;
    case BROKEN:
        answer(get, 500, "{}");
        break;
    case NOT_JSON:
        fake_answer(get, 200, "text/html", "<html>");
        break;
    default:
        fake_answer(get, 200, "application/json", "[]");
        break;
    }
}

static const char *const mishaps[MISHAPS] = {
    "the document is too long",     "no answer in time",
    "redirected to another origin", "HTTP 500",
    "it is no JSON object",         "it is no JSON object"};

/* Somebody is there, and does not do what he should: who comes next in the list is no
 * help against that. */
static void
what_is_there_and_of_no_use_ends_the_search(void **state)
{
    char why[300];

    (void)state;
    for (int i = 0; i < 2 * MISHAPS; i++) {
        bool late = i >= MISHAPS;
        struct search s;

        search_open(&s);
        search_start(&s);
        if (late)
            answer(got(&s, RESOURCE_PLACE), 200, RESOURCE_JSON(ISSUER, ""));
        happen(&s, fake_last(&s.st.fetcher), i % MISHAPS);
        (void)snprintf(why, sizeof(why), "no metadata of the %s: %s",
                       late ? "authorization server" : "server", mishaps[i % MISHAPS]);
        expect_refused(&s, late ? 2 : 1, why);
        search_close(&s);
    }
}

/* "Not now" is not "there is none": else who is busy would be taken for somebody of before
 * 2025-06-18. */
static void
who_is_busy_is_not_taken_for_absent(void **state)
{
    static const int busy[] = {408, 425, 429};

    (void)state;
    for (size_t i = 0; i < 2 * COUNT(busy); i++) {
        bool late = i >= COUNT(busy);
        struct search s;

        search_open(&s);
        search_start(&s);
        if (late)
            answer(got(&s, RESOURCE_PLACE), 200, RESOURCE_JSON(ISSUER, ""));
        answer(fake_last(&s.st.fetcher), busy[i % COUNT(busy)], "{}");
        asked_no_more(&s.st, late ? 2 : 1);
        assert_int_equal(s.status, MCP_E_AUTH);
        search_close(&s);
    }
}

/* ---- servers without a document ------------------------------------------------------ */

static void
a_server_without_a_document_is_at_its_issuer(void **state)
{
    static const struct {
        const char *server, *origin;
    } servers[] = {
        {"https://mcp.test/v1/mcp", "https://mcp.test"},
        {"https://mcp.test", "https://mcp.test"},
        {"https://mcp.test?x=/", "https://mcp.test"},
        {"http://127.0.0.1:8080/mcp?x", "http://127.0.0.1:8080"},
        {"http://[::1]:8080/", "http://[::1]:8080"},
    };
    char url[256], json[256];

    (void)state;
    for (size_t i = 0; i < COUNT(servers); i++) {
        struct search s;

        search_open(&s);
        s.d.server_url = servers[i].server;
        search_start(&s);
        while (strstr(fake_last(&s.st.fetcher)->url, "protected-resource"))
            answer(fake_last(&s.st.fetcher), 404, "");
        (void)snprintf(url, sizeof(url), "%s/.well-known/oauth-authorization-server",
                       servers[i].origin);
        (void)snprintf(json, sizeof(json), "{'issuer':'%s'}", servers[i].origin);
        answer(got(&s, url), 200, json);
        assert_int_equal(s.status, 0);
        assert_int_equal(s.done, 1);
        assert_string_equal(s.d.found.resource.resource, servers[i].server);
        assert_string_equal(s.d.found.issuer.issuer, servers[i].origin);
        assert_null(s.d.found.resource.scopes);
        search_close(&s);
    }
}

/* ---- one issuer, and no other ---------------------------------------------------------- */

#define TWO_ISSUERS                                                                   \
    "{'resource':'" SERVER "','authorization_servers':['https://other.test','" ISSUER \
    "']}"

static void
only_the_issuer_that_knows_us_is_asked(void **state)
{
    struct fake_fetch *get;
    struct search s;

    (void)state;
    search_open(&s);
    s.d.only_issuer = ISSUER;
    search_start(&s);
    answer(got(&s, RESOURCE_PLACE), 200, TWO_ISSUERS);
    get = asked(&s.st, "GET", ISSUER_PLACE); /* the program knows where that is */
    assert_int_equal(get->nearest, MCPI_ADDRESS_ANY);
    answer(get, 404, "");
    get = fake_last(&s.st.fetcher);
    assert_int_equal(get->nearest, MCPI_ADDRESS_ANY);
    answer(get, 200, ISSUER_JSON(ISSUER, ""));
    assert_int_equal(s.status, 0);
    assert_string_equal(s.d.found.resource.issuer, ISSUER);
    search_close(&s);
    search_open(&s);
    s.d.only_issuer = ISSUER "/";
    search_start(&s);
    answer(got(&s, RESOURCE_PLACE), 200, TWO_ISSUERS);
    expect_refused(&s, 1,
                   "metadata of the server: it names another authorization server than "
                   "the one that knows us");
    search_close(&s);
}

static void
a_server_without_a_document_is_no_way_around_that(void **state)
{
    struct search s;

    (void)state;
    search_open(&s);
    s.d.only_issuer = ISSUER;
    search_start(&s);
    answer(got(&s, RESOURCE_PLACE), 404, "");
    answer(got(&s, RESOURCE_ROOT), 404, "");
    expect_refused(&s, 2,
                   "no metadata of the server: it names another authorization server "
                   "than the one that knows us");
    search_close(&s);
    search_open(&s);
    s.d.only_issuer = "https://mcp.test";
    search_start(&s);
    answer(got(&s, RESOURCE_PLACE), 404, "");
    answer(got(&s, RESOURCE_ROOT), 404, "");
    answer(
        asked(&s.st, "GET", "https://mcp.test/.well-known/oauth-authorization-server"),
        200, "{'issuer':'https://mcp.test'}");
    assert_int_equal(s.status, 0);
    search_close(&s);
}

static void
nor_is_the_issuer_of_an_old_token(void **state)
{
    struct search s;

    (void)state;
    search_open(&s);
    s.d.only_issuer = "https://new.test";
    assert_int_equal(mcpi_discovery_start_issuer(&s.d, SERVER, ISSUER), MCP_E_AUTH);
    asked_no_more(&s.st, 0);
    search_close(&s);
}

/* ---- from one search to the next --------------------------------------------------------- */

static void
nothing_is_kept_from_one_search_to_the_next(void **state)
{
    struct search s;

    (void)state;
    search_open(&s);
    for (int i = 0; i < 2; i++) {
        search_start(&s);
        answer(got(&s, RESOURCE_PLACE), 200,
               RESOURCE_JSON(ISSUER, ",'scopes_supported':['a']"));
        answer(got(&s, ISSUER_PLACE), 200, ISSUER_JSON(ISSUER, ""));
        assert_int_equal(s.done, i + 1);
        assert_int_equal(s.st.fetcher.count, 2 * (i + 1));
    }
    search_start(&s); /* it has moved */
    assert_null(s.d.found.issuer.issuer);
    answer(got(&s, RESOURCE_PLACE), 200, RESOURCE_JSON("https://new.test", ""));
    answer(got(&s, "https://new.test/.well-known/oauth-authorization-server"), 200,
           "{'issuer':'https://new.test'}");
    assert_string_equal(s.d.found.issuer.issuer, "https://new.test");
    assert_null(s.d.found.issuer.token_endpoint);
    assert_null(s.d.found.resource.scopes);
    search_close(&s);
}

static void
the_issuer_of_a_token_is_asked_alone(void **state)
{
    char resource[] = SERVER, issuer[] = ISSUER;
    struct search s;

    (void)state;
    search_open(&s);
    assert_int_equal(mcpi_discovery_start_issuer(&s.d, resource, issuer), 0);
    memset(resource, 'x', sizeof(resource) - 1);
    memset(issuer, 'x', sizeof(issuer) - 1);
    answer(got(&s, ISSUER_PLACE), 404, "");
    answer(got(&s, "https://as.test/.well-known/openid-configuration/tenant"), 200,
           ISSUER_JSON(ISSUER, ""));
    assert_int_equal(s.status, 0);
    assert_string_equal(s.d.found.resource.resource, SERVER);
    assert_string_equal(s.d.found.resource.issuer, ISSUER);
    asked_no_more(&s.st, 2);
    search_close(&s);
}

static void
an_issuer_of_a_token_that_is_no_url_is_refused(void **state)
{
    static const char *const issuers[] = {"", "as.test", "https://as.test/?x",
                                          "http://as.test"};
    struct search s;

    (void)state;
    search_open(&s);
    for (size_t i = 0; i < COUNT(issuers); i++)
        assert_int_equal(mcpi_discovery_start_issuer(&s.d, SERVER, issuers[i]),
                         MCP_E_AUTH);
    asked_no_more(&s.st, 0);
    search_close(&s);
}

static void
a_search_is_stopped_silently_at_any_place(void **state)
{
    (void)state;
    for (int answers = 0; answers < 4; answers++) {
        struct search s;

        search_open(&s);
        search_start(&s);
        if (answers > 0)
            answer(got(&s, RESOURCE_PLACE), 404, "");
        if (answers > 1)
            answer(got(&s, RESOURCE_ROOT), 200, RESOURCE_JSON(ISSUER, ""));
        if (answers > 2)
            answer(got(&s, ISSUER_PLACE), 404, "");
        mcpi_discovery_stop(&s.d);
        mcpi_discovery_stop(&s.d);
        asked_no_more(&s.st, (size_t)answers + 1);
        stage_pass(&s.st, 2 * LIMIT_US);
        assert_int_equal(s.done, 0);
        assert_false(mcpi_discovery_has_found(&s.d));
        search_close(&s);
    }
}

/* ---- memory ------------------------------------------------------------------------------- */

static void
want_of_memory_is_said_to_be_that(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        struct search s;

        search_open(&s);
        search_start(&s);
        if (late)
            answer(got(&s, RESOURCE_PLACE), 200, RESOURCE_JSON(ISSUER, ""));
        fake_fail(fake_last(&s.st.fetcher), MCP_E_NOMEM, "");
        assert_int_equal(s.done, 1);
        assert_int_equal(s.status, MCP_E_NOMEM);
        search_close(&s);
    }
}

enum search_kind { OF_SERVER, OF_SERVER_WITHOUT, OF_TOKEN, SEARCHES };

/* Answers whatever is asked for, until nothing is. */
static void
search_play(struct search *s, enum search_kind kind)
{
    while (fake_open_count(&s->st.fetcher) > 0) {
        struct fake_fetch *get = fake_last(&s->st.fetcher);

        if (strcmp(get->url, RESOURCE_ROOT) == 0 && kind == OF_SERVER)
            answer(get, 200, RESOURCE_JSON(ISSUER, ""));
        else if (strstr(get->url, "openid-configuration/tenant"))
            answer(get, 200, ISSUER_JSON(ISSUER, ""));
        else if (strstr(get->url, "mcp.test/.well-known/openid-configuration"))
            answer(get, 200, "{'issuer':'https://mcp.test'}");
        else
            answer(get, 404, "");
    }
}

static void
flow(struct test_mem *mem, void *user)
{
    enum search_kind kind = *(enum search_kind *)user;
    struct search s;
    int r = search_open_with(&s, mem);

    if (r == 0)
        r = kind == OF_TOKEN ? mcpi_discovery_start_issuer(&s.d, SERVER, ISSUER)
                             : mcpi_discovery_start(&s.d, "");
    if (r == 0) {
        search_play(&s, kind);
        assert_int_equal(s.done, 1);
        r = s.status;
    }
    assert_int_equal(r, atomic_load(&mem->failed) > 0 ? MCP_E_NOMEM : 0);
    search_close(&s);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    for (enum search_kind kind = OF_SERVER; kind < SEARCHES; kind++)
        assert_true(test_each_allocation_fails(flow, &kind) > 4);
}

TEST_MAIN(TEST(the_path_is_looked_at_before_the_root),
          TEST(the_root_is_never_asked_about_an_issuer_with_a_path),
          TEST(an_issuer_without_a_path_has_two_places),
          TEST(a_challenge_says_where_and_nowhere_else_is_looked),
          TEST(a_challenge_that_is_not_safe_is_not_followed),
          TEST(metadata_of_another_resource_is_refused_before_its_issuer_is_asked),
          TEST(none_of_the_endpoints_of_another_issuer_is_used),
          TEST(an_issuer_that_is_not_safe_is_not_asked),
          TEST(what_is_there_and_of_no_use_ends_the_search),
          TEST(who_is_busy_is_not_taken_for_absent),
          TEST(a_server_without_a_document_is_at_its_issuer),
          TEST(only_the_issuer_that_knows_us_is_asked),
          TEST(a_server_without_a_document_is_no_way_around_that),
          TEST(nor_is_the_issuer_of_an_old_token),
          TEST(nothing_is_kept_from_one_search_to_the_next),
          TEST(the_issuer_of_a_token_is_asked_alone),
          TEST(an_issuer_of_a_token_that_is_no_url_is_refused),
          TEST(a_search_is_stopped_silently_at_any_place),
          TEST(want_of_memory_is_said_to_be_that), TEST(each_allocation_may_fail))
