/* registration_test.c - who we are to one issuer: chosen, asked for, answered, kept */
#include "auth/registration.h"

#include "auth/key_fixture.h"
#include "auth/safe.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEXT_MAX 32768
#define ISSUER "https://as.test"
#define URI "http://127.0.0.1:8123/callback"

/* ---- how one that was agreed on shows who it is ------------------------------ */

static int
chooses(struct mcpi_issuer_metadata issuer, bool has_secret, bool has_key)
{
    enum mcpi_client_auth auth = MCPI_CLIENT_NONE;
    int r = mcpi_registration_choose(&issuer, has_secret, has_key, &auth);

    return r < 0 ? r : (int)auth;
}

#define TAKES(...) ((struct mcpi_issuer_metadata){__VA_ARGS__})

static void
the_method_is_one_that_both_have(void **state)
{
    (void)state;
    assert_int_equal(chooses(TAKES(.auth_basic = true), true, false),
                     MCPI_CLIENT_BASIC);
    assert_int_equal(chooses(TAKES(.auth_post = true), true, false), MCPI_CLIENT_POST);
    assert_int_equal(chooses(TAKES(.auth_basic = true, .auth_post = true), true, false),
                     MCPI_CLIENT_BASIC);
    assert_int_equal(chooses(TAKES(.auth_jwt = true), false, true), MCPI_CLIENT_JWT);
    assert_int_equal(chooses(TAKES(.auth_jwt = true, .auth_basic = true), true, true),
                     MCPI_CLIENT_JWT);
    assert_int_equal(chooses(TAKES(.auth_basic = true), true, true), MCPI_CLIENT_BASIC);
}

static void
who_has_nothing_to_show_shows_nothing(void **state)
{
    (void)state;
    assert_int_equal(chooses(TAKES(.auth_none = true), false, false), MCPI_CLIENT_NONE);
    assert_int_equal(chooses(TAKES(.auth_basic = true), false, false),
                     MCPI_CLIENT_NONE);
}

static void
what_the_issuer_does_not_take_is_not_shown(void **state)
{
    (void)state;
    assert_int_equal(chooses(TAKES(.auth_none = true), true, false), MCP_E_AUTH);
    assert_int_equal(chooses(TAKES(.auth_jwt = true), true, false), MCP_E_AUTH);
    assert_int_equal(chooses(TAKES(.auth_basic = true, .auth_post = true), false, true),
                     MCP_E_AUTH);
    assert_int_equal(chooses(TAKES(.issuer = ISSUER), true, true), MCP_E_AUTH);
}

/* ---- asking ------------------------------------------------------------------ */

#define GRANTS                                              \
    "'grant_types':['authorization_code','refresh_token']," \
    "'response_types':['code'],'token_endpoint_auth_method':'"

static void
asks(struct mcpi_registration_ask ask, struct mcpi_issuer_metadata issuer,
     const char *wanted)
{
    struct mcpi_buf buf;
    mcp_doc *doc = NULL;

    ask.issuer = &issuer;
    mcpi_buf_init(&buf, NULL, TEXT_MAX);
    mcpi_registration_ask(&ask, &buf);
    assert_text(&buf, wanted);
    assert_int_equal(mcp_doc_parse(buf.data, buf.len, NULL, &doc, NULL), 0);
    mcp_doc_free(doc);
    mcpi_buf_done(&buf);
}

static void
a_program_on_a_users_machine_is_native(void **state)
{
    (void)state;
    asks((struct mcpi_registration_ask){.name = "app", .redirect_uri = URI},
         TAKES(.auth_none = true, .auth_basic = true),
         "{'redirect_uris':['" URI "']," GRANTS "none','application_type':'native',"
         "'client_name':'app'}");
}

static void
one_behind_https_is_of_the_web(void **state)
{
    (void)state;
    asks((struct mcpi_registration_ask){.name = "app",
                                        .uri = "https://app.test",
                                        .redirect_uri = "https://app.test/cb",
                                        .scope = "a b"},
         TAKES(.auth_basic = true),
         "{'redirect_uris':['https://app.test/cb']," GRANTS
         "client_secret_basic','application_type':'web','client_name':'app',"
         "'client_uri':'https://app.test','scope':'a b'}");
}

static void
a_secret_is_asked_for_only_where_none_will_not_do(void **state)
{
    static const struct {
        struct mcpi_issuer_metadata issuer;
        const char *method;
    } rows[] = {
        {{.auth_none = true, .auth_post = true}, "none"},
        {{.auth_post = true}, "client_secret_post"},
        {{.auth_post = true, .auth_basic = true}, "client_secret_basic"},
        {{.auth_jwt = true}, "client_secret_basic"},
        {{.issuer = ISSUER}, "client_secret_basic"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(rows); i++) {
        char wanted[512];

        (void)snprintf(wanted, sizeof(wanted),
                       "{'redirect_uris':['" URI "']," GRANTS
                       "%s','application_type':'native','client_name':'app'}",
                       rows[i].method);
        asks((struct mcpi_registration_ask){.name = "app", .redirect_uri = URI},
             rows[i].issuer, wanted);
    }
}

static void
whatever_we_are_called_it_is_json(void **state)
{
    (void)state;
    asks(
        (struct mcpi_registration_ask){
            .name = "\"a\\\n", .uri = "", .redirect_uri = URI, .scope = ""},
        TAKES(.auth_none = true),
        "{'redirect_uris':['" URI "']," GRANTS "none','application_type':'native',"
        "'client_name':'\\'a\\\\\\n'}");
    asks((struct mcpi_registration_ask){.name = "a\xFF", .redirect_uri = "\xFF"},
         TAKES(.auth_none = true),
         "{'redirect_uris':['']," GRANTS "none','application_type':'web',"
         "'client_name':''}");
}

/* ---- the answer -------------------------------------------------------------- */

static int
answer(const mcp_allocator *mem, const char *text, struct mcpi_issuer_metadata issuer,
       struct mcpi_registration **ret, const char **ret_why)
{
    mcp_doc *doc = json_doc(mem, text);
    const struct mcpi_registration_ask ask = {
        .name = "app", .redirect_uri = URI, .issuer = &issuer};
    int r;

    issuer.issuer = ISSUER;
    r = mcpi_registration_answer(mem, mcp_doc_root(doc), &ask, ret, ret_why);
    mcp_doc_free(doc);
    return r;
}

#define ID "{'client_id':'abc'"
#define WITH_SECRET ID ",'client_secret':'" SECRET "'"
#define SAYS(method) ",'token_endpoint_auth_method':'" method "'}"

static void
what_is_given_is_kept(void **state)
{
    struct mcpi_registration *given = NULL;
    const char *why;
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    assert_int_equal(answer(safe.allocator, WITH_SECRET SAYS("client_secret_post"),
                            TAKES(.auth_basic = true), &given, &why),
                     0);
    assert_string_equal(given->issuer, ISSUER);
    assert_string_equal(given->client_id, "abc");
    assert_string_equal(given->client_secret, SECRET);
    assert_string_equal(given->redirect_uri, URI);
    assert_int_equal(given->auth, MCPI_CLIENT_POST);
    mcpi_registration_free(given);
    mcpi_registration_free(NULL);
    safe_done(&safe);
}

static void
the_answer_decides_on_the_method(void **state)
{
    static const struct {
        struct mcpi_issuer_metadata issuer;
        const char *text;
        enum mcpi_client_auth auth;
    } rows[] = {
        /* it says which */
        {{.auth_none = true}, ID SAYS("none"), MCPI_CLIENT_NONE},
        {{.auth_none = true}, WITH_SECRET SAYS("none"), MCPI_CLIENT_NONE},
        {{.auth_none = true},
         WITH_SECRET SAYS("client_secret_basic"),
         MCPI_CLIENT_BASIC},
        {{.auth_none = true}, WITH_SECRET SAYS("client_secret_post"), MCPI_CLIENT_POST},
        /* and there is no secret for it */
        {{.auth_basic = true}, ID SAYS("client_secret_basic"), MCPI_CLIENT_NONE},
        /* it does not say: what was asked for */
        {{.auth_none = true}, ID "}", MCPI_CLIENT_NONE},
        {{.auth_basic = true}, WITH_SECRET "}", MCPI_CLIENT_BASIC},
        {{.auth_post = true}, WITH_SECRET "}", MCPI_CLIENT_POST},
        /* unless that has no secret, and there is one, or the reverse */
        {{.auth_basic = true}, ID "}", MCPI_CLIENT_NONE},
        {{.auth_none = true, .auth_basic = true}, WITH_SECRET "}", MCPI_CLIENT_BASIC},
        {{.auth_none = true, .auth_post = true}, WITH_SECRET "}", MCPI_CLIENT_POST},
        {{.auth_none = true}, WITH_SECRET "}", MCPI_CLIENT_BASIC},
        /* null says nothing */
        {{.auth_none = true}, ID ",'client_secret':null}", MCPI_CLIENT_NONE},
        {{.auth_none = true}, ID ",'client_secret':''}", MCPI_CLIENT_NONE},
        {{.auth_post = true},
         WITH_SECRET ",'token_endpoint_auth_method':null}",
         MCPI_CLIENT_POST},
    };
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct mcpi_registration *given = NULL;
        const char *why = "";

        if (answer(safe.allocator, rows[i].text, rows[i].issuer, &given, &why) < 0)
            fail_msg("%s: %s", rows[i].text, why);
        if (given->auth != rows[i].auth)
            fail_msg("%s: %d", rows[i].text, given->auth);
        mcpi_registration_free(given);
    }
    safe_done(&safe);
}

/* It may change what we asked for, and say more than that. */
static void
what_else_the_issuer_says_does_not_matter(void **state)
{
    static const char *const rows[] = {
        ID ",'application_type':'web'}",
        ID ",'application_type':'toaster','redirect_uris':null}",
        ID ",'redirect_uris':[],'response_types':['token']}",
        ID ",'grant_types':['authorization_code','urn:x:y'],'client_name':7}",
        ID ",'client_id_issued_at':1,'client_secret_expires_at':0}",
    };
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct mcpi_registration *given = NULL;
        const char *why = "";

        if (answer(safe.allocator, rows[i], TAKES(.auth_none = true), &given, &why) < 0)
            fail_msg("%s: %s", rows[i], why);
        assert_string_equal(given->client_id, "abc");
        assert_string_equal(given->redirect_uri, URI);
        assert_int_equal(given->auth, MCPI_CLIENT_NONE);
        mcpi_registration_free(given);
    }
    safe_done(&safe);
}

#define NO_ID "the registration has no client_id"
#define NO_TEXT "the registration has a client_secret that is no text"
#define NO_METHOD \
    "the registration wants a method of authentication that we do not have"

static void
what_is_no_registration_is_refused(void **state)
{
    static const struct {
        const char *text, *why;
    } rows[] = {
        {"{}", NO_ID},
        {"[]", NO_ID},
        {"null", NO_ID},
        {"{'client_id':''}", NO_ID},
        {"{'client_id':null}", NO_ID},
        {"{'client_id':1}", NO_ID},
        {"{'client_id':['abc']}", NO_ID},
        {"{'client_id':'a\\u0000b'}", NO_ID},
        {ID ",'client_secret':1}", NO_TEXT},
        {ID ",'client_secret':'a\\u0000b'}", NO_TEXT},
        {WITH_SECRET SAYS("private_key_jwt"), NO_METHOD},
        {WITH_SECRET SAYS("client_secret_jwt"), NO_METHOD},
        {WITH_SECRET SAYS("tls_client_auth"), NO_METHOD},
        {ID SAYS(""), NO_METHOD},
        {ID SAYS("NONE"), NO_METHOD},
    };
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct mcpi_registration *given = NULL;
        const char *why = NULL;

        if (answer(safe.allocator, rows[i].text, TAKES(.auth_none = true), &given,
                   &why) != MCP_E_AUTH)
            fail_msg("%s", rows[i].text);
        assert_null(given);
        assert_string_equal(why, rows[i].why);
    }
    safe_done(&safe);
}

/* With an id and a secret of so many bytes. */
static int
answer_long(const mcp_allocator *mem, size_t id_len, size_t secret_len, char filler,
            struct mcpi_registration **ret, const char **ret_why)
{
    struct mcpi_issuer_metadata issuer = {.auth_basic = true, .issuer = ISSUER};
    const struct mcpi_registration_ask ask = {.redirect_uri = URI, .issuer = &issuer};
    mcp_builder *builder = mcp_builder_new(NULL);
    char text[4096];
    mcp_doc *doc = NULL;
    int r;

    memset(text, filler, sizeof(text));
    mcp_builder_begin_object(builder, NULL);
    mcp_builder_string_n(builder, "client_id", text, id_len);
    mcp_builder_string_n(builder, "client_secret", text, secret_len);
    mcp_builder_end(builder);
    assert_int_equal(mcp_builder_parse(builder, &doc), 0);
    mcp_builder_free(builder);
    r = mcpi_registration_answer(mem, mcp_doc_root(doc), &ask, ret, ret_why);
    mcp_doc_free(doc);
    return r;
}

static void
ids_and_secrets_have_a_longest(void **state)
{
    struct mcpi_registration *given = NULL;
    const char *why;
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    assert_int_equal(answer_long(safe.allocator, 2049, 1, 'a', &given, &why),
                     MCP_E_AUTH);
    assert_string_equal(why, "the registration is too long");
    assert_int_equal(answer_long(safe.allocator, 1, 2049, 'a', &given, &why),
                     MCP_E_AUTH);
    assert_string_equal(why, "the registration is too long");
    assert_null(given);
    assert_int_equal(answer_long(safe.allocator, 2048, 2048, 'a', &given, &why), 0);
    mcpi_registration_free(given);
    safe_done(&safe);
}

/* ---- in a store ---------------------------------------------------------------- */

static const struct mcpi_registration parts = {.auth = MCPI_CLIENT_BASIC,
                                               .issuer = ISSUER,
                                               .client_id = "abc",
                                               .client_secret = SECRET,
                                               .redirect_uri = URI};

/* Written, read, and equal. */
static void
survives(const mcp_allocator *mem, const struct mcpi_registration *given)
{
    struct mcpi_registration *read = NULL;
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, mem, TEXT_MAX);
    mcpi_registration_write(given, &buf);
    mcpi_buf_char(&buf, '\0');
    assert_int_equal(buf.status, 0);
    assert_int_equal(mcpi_registration_read(mem, buf.data, &read), 0);
    assert_int_equal(read->auth, given->auth);
    assert_string_equal(read->issuer, given->issuer);
    assert_string_equal(read->client_id, given->client_id);
    assert_string_equal(read->client_secret, given->client_secret);
    assert_string_equal(read->redirect_uri, given->redirect_uri);
    mcpi_registration_free(read);
    mcpi_buf_done(&buf);
}

static void
what_is_written_is_read(void **state)
{
    struct mcpi_registration given = parts;
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    survives(safe.allocator, &given);
    given.auth = MCPI_CLIENT_POST;
    given.client_id = "\"\\ \xC3\xA4";
    survives(safe.allocator, &given);
    given.auth = MCPI_CLIENT_NONE;
    given.client_secret = given.redirect_uri = "";
    survives(safe.allocator, &given);
    safe_done(&safe);
}

/* Each byte is six in JSON. */
static void
the_longest_that_is_taken_is_read_again(void **state)
{
    struct mcpi_registration *given = NULL;
    const char *why;
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    assert_int_equal(answer_long(safe.allocator, 2048, 2048, '\x01', &given, &why), 0);
    survives(safe.allocator, given);
    mcpi_registration_free(given);
    safe_done(&safe);
}

static void
it_is_written_as_json(void **state)
{
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, TEXT_MAX);
    mcpi_registration_write(&parts, &buf);
    assert_text(&buf,
                "{'issuer':'" ISSUER "','client_id':'abc','client_secret':'" SECRET
                "','redirect_uri':'" URI "','auth':'client_secret_basic'}");
    mcpi_buf_done(&buf);
}

static int
registration_of(const mcp_allocator *mem, const char *text,
                struct mcpi_registration **ret)
{
    struct mcpi_buf json;
    int r;

    mcpi_buf_init(&json, NULL, 1 << 20);
    json_append(&json, text);
    mcpi_buf_char(&json, '\0');
    r = mcpi_registration_read(mem, json.data, ret);
    mcpi_buf_done(&json);
    return r;
}

#define KEPT "{'issuer':'" ISSUER "','client_id':'abc'"

static void
what_is_no_registration_is_not_read(void **state)
{
    static const char *const rows[] = {
        "",
        "x",
        "{}",
        "[]",
        KEPT,
        KEPT "}",
        KEPT ",'auth':1}",
        KEPT ",'auth':null}",
        KEPT ",'auth':'private_key_jwt'}",
        KEPT ",'auth':'none','client_secret':1}",
        KEPT ",'auth':'none','redirect_uri':'a\\u0000b'}",
        KEPT ",'auth':'none','more':[[1]]}",
        "{'issuer':'" ISSUER "','auth':'none'}",
        "{'client_id':'abc','auth':'none'}",
        "{'issuer':'','client_id':'abc','auth':'none'}",
        "{'issuer':'" ISSUER "','client_id':'\xFF','auth':'none'}",
    };
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    for (size_t i = 0; i < COUNT(rows); i++) {
        struct mcpi_registration *read = NULL;

        if (registration_of(safe.allocator, rows[i], &read) != MCP_E_INVAL)
            fail_msg("%s", rows[i]);
        assert_null(read);
    }
    safe_done(&safe);
}

static void
a_text_that_is_too_long_is_not_read(void **state)
{
    static char text[TEXT_MAX + 64];
    struct mcpi_registration *read = NULL;
    struct safe safe;
    size_t len;

    (void)state;
    safe_init(&safe, NULL);
    (void)snprintf(text, sizeof(text),
                   "{\"issuer\":\"a\",\"client_id\":\"b\",\"auth\":\"none\"}");
    len = strlen(text);
    memset(text + len, ' ', TEXT_MAX - len);
    assert_int_equal(mcpi_registration_read(safe.allocator, text, &read), 0);
    mcpi_registration_free(read);
    read = NULL;
    text[TEXT_MAX] = ' ';
    assert_int_equal(mcpi_registration_read(safe.allocator, text, &read), MCP_E_INVAL);
    assert_null(read);
    safe_done(&safe);
}

/* ---- memory ---------------------------------------------------------------------- */

static void
round_trip(struct test_mem *mem, void *user)
{
    struct mcpi_registration *given = NULL, *read = NULL;
    const struct mcpi_issuer_metadata issuer = {.auth_basic = true, .issuer = ISSUER};
    const struct mcpi_registration_ask ask = {.redirect_uri = URI, .issuer = &issuer};
    const char *why;
    struct mcpi_buf buf;
    struct safe safe;
    int r;

    safe_init(&safe, mem);
    mcpi_buf_init(&buf, safe.allocator, TEXT_MAX);
    r = mcpi_registration_answer(safe.allocator, mcp_doc_root(user), &ask, &given,
                                 &why);
    if (r == 0) {
        mcpi_registration_write(given, &buf);
        mcpi_buf_char(&buf, '\0');
        r = buf.status;
    }
    if (r == 0)
        r = mcpi_registration_read(safe.allocator, buf.data, &read);
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    mcpi_registration_free(given);
    mcpi_registration_free(read);
    mcpi_buf_done(&buf);
}

static void
memory_may_fail_anywhere(void **state)
{
    mcp_doc *doc = json_doc(NULL, WITH_SECRET "}");

    (void)state;
    assert_true(test_each_allocation_fails(round_trip, doc) > 3);
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(the_method_is_one_that_both_have),
          TEST(who_has_nothing_to_show_shows_nothing),
          TEST(what_the_issuer_does_not_take_is_not_shown),
          TEST(a_program_on_a_users_machine_is_native),
          TEST(one_behind_https_is_of_the_web),
          TEST(a_secret_is_asked_for_only_where_none_will_not_do),
          TEST(whatever_we_are_called_it_is_json), TEST(what_is_given_is_kept),
          TEST(the_answer_decides_on_the_method),
          TEST(what_else_the_issuer_says_does_not_matter),
          TEST(what_is_no_registration_is_refused),
          TEST(ids_and_secrets_have_a_longest), TEST(what_is_written_is_read),
          TEST(the_longest_that_is_taken_is_read_again), TEST(it_is_written_as_json),
          TEST(what_is_no_registration_is_not_read),
          TEST(a_text_that_is_too_long_is_not_read), TEST(memory_may_fail_anywhere))
