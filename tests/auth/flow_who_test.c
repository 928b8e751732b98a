/* auth/flow_who_test.c - who we are to an issuer, and to whom that is told */
#include "auth/flow_fixture.h"
#include "auth/flow_steps.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define WHO_KEY "client " ISSUER
#define DOCUMENT "https://app.test/client.json"
#define DOCUMENTS ",'client_id_metadata_document_supported':true"
#define NEW_ISSUER "https://new.test"
#define NEW_PLACE "https://new.test/.well-known/oauth-authorization-server"
#define STORED(id, uri)                                                \
    "{'issuer':'" ISSUER "','client_id':'" id "','redirect_uri':'" uri \
    "','auth':'none'}"

/* Basic of "c1:geheim-secret". */
#define BASIC "Basic YzE6Z2VoZWltLXNlY3JldA=="

static void
run(struct scene *s, const char *issuer_json)
{
    refused(s, NULL, "read");
    resource_says(s, RESOURCE_JSON(ISSUER, ""));
    issuer_says(s, issuer_json);
}

/* The page is shown to that client. */
static void
expect_page(struct scene *s, int n, const char *client_id)
{
    assert_int_equal(s->agent.opens, n);
    assert_value(s->agent.page, "client_id", client_id);
}

static void
finish(struct scene *s, int n)
{
    signed_in(s, "&code=geheim-code");
    token_says(s, 200, TOKEN_JSON(""));
    expect_token(s, n, "geheim-new");
}

/* ---- agreed on ---------------------------------------------------------------------- */

static void
who_was_agreed_on_is_nobody_else(void **state)
{
    struct scene s;

    (void)state;
    scene_set(&s);
    s.auth.client_id = "c1";
    s.auth.client_secret = "geheim-secret";
    s.auth.metadata_url = DOCUMENT;
    store_put(&s.store, WHO_KEY, STORED("c9", HOME));
    scene_init(&s);
    run(&s, ISSUER_JSON(ISSUER, DOCUMENTS));
    expect_page(&s, 1, "c1");
    assert_string_equal(s.store.log, "");
    assert_string_equal(s.agent.earlier, "(none)");
    assert_null(strstr(s.agent.page, "geheim-secret"));
    signed_in(&s, "&code=geheim-code");
    assert_string_equal(fake_field(token_asked(&s), "Authorization"), BASIC);
    assert_null(strstr(token_asked(&s)->body, "client_"));
    token_says(&s, 200, TOKEN_JSON(""));
    expect_token(&s, 1, "geheim-new");
    assert_string_equal(s.token->client_id, "c1");
    asked_no_more(&s.st, 3); /* none of them to register */
    scene_close(&s);
}

static void
a_secret_that_nobody_takes_is_not_shown(void **state)
{
    struct scene s;

    (void)state;
    scene_set(&s);
    s.auth.client_id = "c1";
    s.auth.client_secret = "geheim-secret";
    scene_init(&s);
    run(&s, "{'issuer':'" ISSUER "','token_endpoint':'" TOKEN_PLACE
            "','authorization_endpoint':'https://as.test/authorize',"
            "'code_challenge_methods_supported':['S256'],"
            "'token_endpoint_auth_methods_supported':['none','tls_client_auth']}");
    expect_failure(
        &s, 1, "the authorization server takes no authentication that we have", false);
    assert_int_equal(s.agent.begins, 0);
    scene_close(&s);
}

#define MOVED                                                                   \
    "the server has another authorization server now, which does not know our " \
    "client_id"

/* A server that was taken over names an issuer of its own. */
static void
who_was_agreed_on_with_one_is_not_told_another(void **state)
{
    struct scene s;

    (void)state;
    scene_set(&s);
    s.auth.client_id = "c1";
    s.auth.client_secret = "geheim-secret";
    scene_init(&s);
    run(&s, ISSUER_JSON(ISSUER, ""));
    finish(&s, 1);
    refused(&s, NULL, "");
    resource_says(&s, RESOURCE_JSON(NEW_ISSUER, ""));
    answer(asked(&s.st, "GET", NEW_PLACE), 200, ISSUER_JSON(NEW_ISSUER, ""));
    expect_failure(&s, 2, MOVED, false);
    asked_no_more(&s.st, 5);
    assert_int_equal(s.agent.begins, 1);
    run(&s, ISSUER_JSON(ISSUER, "")); /* the one that knows us is still good */
    finish(&s, 3);
    scene_close(&s);
}

/* It is in the store since before the program said so. */
static void
nor_is_the_issuer_of_an_old_token_if_the_program_names_one(void **state)
{
    const struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    scene_set(&s);
    s.auth.client_id = "c1";
    s.auth.client_secret = "geheim-secret";
    s.auth.issuer = NEW_ISSUER;
    scene_init(&s);
    renewed(&s, &old);
    scene_settle(&s);
    expect_failure(&s, 1, "its metadata cannot be looked for", false);
    asked_no_more(&s.st, 0);
    refused(&s, &old, ""); /* nor with a server that has no document */
    answer(asked(&s.st, "GET", RESOURCE_PLACE), 404, "");
    answer(asked(&s.st, "GET", RESOURCE_ROOT), 404, "");
    assert_int_equal(s.done, 2);
    assert_int_equal(s.status, MCP_E_AUTH);
    asked_no_more(&s.st, 2);
    scene_close(&s);
}

/* ---- a document ------------------------------------------------------------------------ */

static void
a_document_says_who_we_are_where_that_is_read(void **state)
{
    struct scene s;

    (void)state;
    scene_set(&s);
    s.auth.metadata_url = DOCUMENT;
    scene_init(&s);
    run(&s, ISSUER_JSON(ISSUER, DOCUMENTS));
    expect_page(&s, 1, DOCUMENT);
    assert_string_equal(s.store.log, ""); /* nothing is to be kept */
    signed_in(&s, "&code=geheim-code");
    assert_value(token_asked(&s)->body, "client_id", DOCUMENT);
    assert_null(fake_field(token_asked(&s), "Authorization"));
    token_says(&s, 200, TOKEN_JSON(""));
    assert_string_equal(s.token->client_id, DOCUMENT);
    run(&s, ISSUER_JSON(ISSUER, "")); /* and where it is not, we register */
    registered(&s);
    expect_page(&s, 2, "c1");
    scene_close(&s);
}

/* The server has moved: what we say of ourselves is the same, and nobody registers. */
static void
a_document_is_good_for_any_issuer(void **state)
{
    struct scene s;

    (void)state;
    scene_set(&s);
    s.auth.metadata_url = DOCUMENT;
    scene_init(&s);
    run(&s, ISSUER_JSON(ISSUER, DOCUMENTS));
    finish(&s, 1);
    refused(&s, NULL, "");
    resource_says(&s, RESOURCE_JSON(NEW_ISSUER, ""));
    answer(asked(&s.st, "GET", NEW_PLACE), 200, ISSUER_JSON(NEW_ISSUER, DOCUMENTS));
    scene_settle(&s);
    expect_page(&s, 2, DOCUMENT);
    asked_no_more(&s.st, 5);
    finish(&s, 2);
    assert_string_equal(s.token->issuer, NEW_ISSUER);
    assert_string_equal(s.token->client_id, DOCUMENT);
    scene_close(&s);
}

/* The document has the key's other half. */
static void
who_is_in_a_document_may_sign(void **state)
{
    struct scene s;

    (void)state;
    scene_set(&s);
    s.auth.metadata_url = DOCUMENT;
    s.client_key = key_of(EC_PRIVATE);
    scene_init(&s);
    run(&s,
        "{'issuer':'" ISSUER "','token_endpoint':'" TOKEN_PLACE
        "','authorization_endpoint':'https://as.test/authorize',"
        "'code_challenge_methods_supported':['S256'],"
        "'token_endpoint_auth_methods_supported':['private_key_jwt']" DOCUMENTS "}");
    expect_page(&s, 1, DOCUMENT);
    signed_in(&s, "&code=geheim-code");
    assert_non_null(value_of(token_asked(&s)->body, "client_assertion"));
    scene_close(&s);
}

/* ---- registered before ------------------------------------------------------------------- */

static void
who_was_registered_before_is_so_still(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s);
    store_put(&s.store, WHO_KEY, STORED("c7", HOME));
    run(&s, ISSUER_JSON(ISSUER, ""));
    expect_page(&s, 1, "c7");
    assert_string_equal(s.agent.earlier, HOME);
    assert_string_equal(s.store.log, "load ");
    finish(&s, 1);
    run(&s, ISSUER_JSON(ISSUER, "")); /* and nobody has to look again */
    expect_page(&s, 2, "c7");
    assert_string_equal(s.store.log, "load save ");
    scene_close(&s);
}

static void
what_the_store_has_of_somebody_else_is_not_used(void **state)
{
    static const char *const texts[] = {
        NULL,
        "nonsense",
        "{}",
        "{'issuer':'https://evil.test','client_id':'c7','redirect_uri':'" HOME
        "','auth':'none'}",
        "{'issuer':'" ISSUER "','client_id':'','redirect_uri':'" HOME
        "','auth':'none'}",
        "{'issuer':'" ISSUER "','client_id':'c7','redirect_uri':'" HOME
        "','auth':'magic'}"};

    (void)state;
    for (size_t i = 0; i < COUNT(texts) + 1; i++) {
        struct scene s;

        scene_open(&s);
        if (i < COUNT(texts))
            store_put(&s.store, WHO_KEY, texts[i]);
        else
            s.store.load_status = MCP_E_SYNTAX;
        run(&s, ISSUER_JSON(ISSUER, ""));
        assert_string_equal(s.agent.earlier, "(none)");
        registered(&s);
        expect_page(&s, 1, "c1");
        assert_string_equal(store_get(&s.store, WHO_KEY, "client_id"), "c1");
        scene_close(&s);
    }
}

static void
a_store_without_memory_is_not_guessed_about(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s);
    s.store.load_status = MCP_E_NOMEM;
    run(&s, ISSUER_JSON(ISSUER, ""));
    assert_int_equal(s.done, 1);
    assert_int_equal(s.status, MCP_E_NOMEM);
    asked_no_more(&s.st, 2);
    scene_close(&s);
}

/* An issuer that has forgotten a client sends nobody back: it says so on its page. */
static void
whom_nobody_could_sign_in_as_registers_anew(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s);
    store_put(&s.store, WHO_KEY, STORED("c7", HOME));
    run(&s, ISSUER_JSON(ISSUER, ""));
    expect_page(&s, 1, "c7");
    s.st.mem->fail_at = s.st.mem->total + 1; /* somebody was sent back */
    mcp_auth_answer(s.agent.visit, HOME "?code=x");
    scene_settle(&s);
    assert_int_equal(s.status, MCP_E_NOMEM);
    assert_string_equal(store_get(&s.store, WHO_KEY, "client_id"), "c7");
    run(&s, ISSUER_JSON(ISSUER, ""));
    expect_page(&s, 2, "c7");
    mcp_auth_refuse(s.agent.visit, "the page says: unknown client");
    scene_settle(&s);
    expect_failure(&s, 2, "the page says: unknown client", false);
    assert_string_equal(store_get(&s.store, WHO_KEY, "client_id"), "");
    run(&s, ISSUER_JSON(ISSUER, ""));
    registered(&s);
    expect_page(&s, 3, "c1");
    finish(&s, 3);
    scene_close(&s);
}

/* We have registered anew meanwhile, be it another process or for a sign-in that nobody
 * went through with: what the old one was given is still good. */
static void
a_token_is_renewed_as_who_it_was_given_to(void **state)
{
    struct mcpi_credential old;
    struct scene s;

    (void)state;
    for (int i = 0; i < 3; i++) {
        scene_open(&s);
        store_put(&s.store, WHO_KEY, STORED("c7", "http://127.0.0.1:99/callback"));
        if (i == 0) { /* a sign-in, that is given up */
            run(&s, ISSUER_JSON(ISSUER, ""));
            registered(&s);
            expect_page(&s, 1, "c1");
            assert_true(mcpi_flow_stop(&s.flow));
        } else if (i == 1) {
            store_put(&s.store, WHO_KEY, NULL);
        }
        old = old_token();
        old.client_id = "c6";
        old.who = "{\"issuer\":\"" ISSUER "\",\"client_id\":\"c6\","
                  "\"client_secret\":\"geheim-c6\",\"redirect_uri\":\"" HOME
                  "\",\"auth\":\"client_secret_post\"}";
        refused(&s, &old, "");
        discovered(&s);
        assert_value(token_asked(&s)->body, "grant_type", "refresh_token");
        assert_value(token_asked(&s)->body, "client_id", "c6");
        assert_value(token_asked(&s)->body, "client_secret", "geheim-c6");
        token_says(&s, 200, TOKEN_JSON(""));
        expect_token(&s, 1, "geheim-new");
        assert_string_equal(s.token->client_id, "c6");
        assert_non_null(strstr(s.token->who, "geheim-c6"));
        scene_close(&s);
    }
}

/* Nothing is renewed: who is registered now signs in. */
static void
more_is_asked_for_as_who_we_are_now(void **state)
{
    struct mcpi_credential old = old_token();
    struct scene s;

    (void)state;
    old.client_id = "c6";
    old.who = "{\"issuer\":\"" ISSUER "\",\"client_id\":\"c6\",\"redirect_uri\":\"" HOME
              "\",\"auth\":\"none\"}";
    scene_open(&s);
    store_put(&s.store, WHO_KEY, STORED("c7", HOME));
    stepped_up(&s, &old, "more");
    discovered(&s);
    expect_page(&s, 1, "c7");
    scene_close(&s);
}

/* What is written there is not believed if it is about somebody else. */
static void
a_token_is_renewed_as_nobody_else(void **state)
{
    static const char *const whos[] = {
        "nonsense",
        "{\"issuer\":\"https://evil.test\",\"client_id\":\"c6\",\"auth\":\"none\"}",
        "{\"issuer\":\"" ISSUER "\",\"client_id\":\"c7\",\"auth\":\"none\"}"};
    struct mcpi_credential old = old_token();

    (void)state;
    old.client_id = "c6";
    for (size_t i = 0; i < COUNT(whos); i++) {
        struct scene s;

        scene_open(&s);
        store_put(&s.store, WHO_KEY, STORED("c7", HOME));
        old.who = whos[i];
        refused(&s, &old, "");
        discovered(&s);
        expect_page(&s, 1, "c7");
        scene_close(&s);
    }
}

static void
who_is_sent_back_elsewhere_registers_anew(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s);
    store_put(&s.store, WHO_KEY, STORED("c7", "http://127.0.0.1:99/callback"));
    run(&s, ISSUER_JSON(ISSUER, ""));
    assert_string_equal(s.agent.earlier, "http://127.0.0.1:99/callback");
    registered(&s);
    expect_page(&s, 1, "c1");
    assert_string_equal(store_get(&s.store, WHO_KEY, "client_id"), "c1");
    assert_string_equal(store_get(&s.store, WHO_KEY, "redirect_uri"), HOME);
    scene_close(&s);
}

/* ---- registering --------------------------------------------------------------------------- */

static void
a_registration_says_who_asks_and_what_for(void **state)
{
    struct fake_fetch *post;
    const mcp_json *json;
    struct scene s;
    mcp_doc *doc;

    (void)state;
    scene_set(&s);
    s.auth.client_uri = "https://app.test/";
    scene_init(&s);
    run(&s, ISSUER_JSON(ISSUER, ""));
    post = asked(&s.st, "POST", REGISTER_PLACE);
    assert_true(post->stays);
    assert_int_equal(post->nearest, MCPI_ADDRESS_PUBLIC);
    assert_string_equal(fake_field(post, "Content-Type"), "application/json");
    assert_null(fake_field(post, "Authorization"));
    doc = json_doc(NULL, post->body);
    json = mcp_doc_root(doc);
    assert_true(mcp_json_is_string(mcp_json_get(json, "client_name"), "our client"));
    assert_true(
        mcp_json_is_string(mcp_json_get(json, "client_uri"), s.auth.client_uri));
    assert_true(mcp_json_is_string(mcp_json_get(json, "application_type"), "native"));
    assert_true(mcp_json_is_string(mcp_json_get(json, "scope"), "read"));
    assert_true(
        mcp_json_is_string(mcp_json_get(json, "token_endpoint_auth_method"), "none"));
    assert_int_equal(mcp_json_count(mcp_json_get(json, "redirect_uris")), 1);
    assert_non_null(strstr(post->body, "\"redirect_uris\":[\"" HOME "\"]"));
    mcp_doc_free(doc);
    scene_close(&s);
}

static void
a_secret_that_comes_with_it_is_kept_and_shown_to_its_issuer(void **state)
{
    struct scene s;

    (void)state;
    scene_set(&s);
    s.auth.client_name = "another name";
    scene_init(&s);
    run(&s, ISSUER_JSON(ISSUER, ""));
    assert_non_null(strstr(asked(&s.st, "POST", REGISTER_PLACE)->body, "another name"));
    answer(fake_last(&s.st.fetcher), 200,
           "{'client_id':'c1','client_secret':'geheim-secret',"
           "'token_endpoint_auth_method':'client_secret_basic'}");
    scene_settle(&s);
    assert_string_equal(s.store.log, "load save ");
    assert_string_equal(store_get(&s.store, WHO_KEY, "client_secret"), "geheim-secret");
    signed_in(&s, "&code=geheim-code");
    assert_string_equal(fake_field(token_asked(&s), "Authorization"), BASIC);
    scene_close(&s);
}

static void
a_registration_that_cannot_be_kept_is_good_all_the_same(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s);
    s.store.save_status = MCP_E_LIMIT;
    run(&s, ISSUER_JSON(ISSUER, ""));
    registered(&s);
    expect_page(&s, 1, "c1");
    finish(&s, 1);
    run(&s, ISSUER_JSON(ISSUER, "")); /* we know it ourselves */
    expect_page(&s, 2, "c1");
    scene_close(&s);
}

static void
without_a_store_we_register_once_a_process(void **state)
{
    struct scene s;

    (void)state;
    scene_set(&s);
    s.auth.store = NULL;
    scene_init(&s);
    run(&s, ISSUER_JSON(ISSUER, ""));
    registered(&s);
    finish(&s, 1);
    run(&s, ISSUER_JSON(ISSUER, ""));
    expect_page(&s, 2, "c1");
    assert_string_equal(s.agent.earlier, HOME);
    scene_close(&s);
}

#define NEW_JSON                                                                    \
    "{'issuer':'" NEW_ISSUER                                                        \
    "','authorization_endpoint':'https://new.test/authorize','token_endpoint':"     \
    "'https://new.test/token','registration_endpoint':'https://new.test/register'," \
    "'code_challenge_methods_supported':['S256']}"

static void
a_registration_is_told_to_no_other_issuer(void **state)
{
    struct fake_fetch *post;
    struct scene s;

    (void)state;
    scene_open(&s);
    run(&s, ISSUER_JSON(ISSUER, ""));
    answer(asked(&s.st, "POST", REGISTER_PLACE), 201,
           "{'client_id':'c-old','client_secret':'geheim-secret'}");
    scene_settle(&s);
    finish(&s, 1);
    refused(&s, NULL, ""); /* it has moved */
    resource_says(&s, RESOURCE_JSON(NEW_ISSUER, ""));
    answer(asked(&s.st, "GET", NEW_PLACE), 200, NEW_JSON);
    post = asked(&s.st, "POST", "https://new.test/register");
    assert_null(strstr(post->body, "c-old"));
    assert_string_equal(s.agent.earlier, "(none)");
    answer(post, 201, "{'client_id':'c-new'}");
    scene_settle(&s);
    expect_page(&s, 2, "c-new");
    signed_in(&s, "&code=geheim-code");
    post = asked(&s.st, "POST", "https://new.test/token");
    assert_null(fake_field(post, "Authorization"));
    assert_value(post->body, "client_id", "c-new");
    answer(post, 200, TOKEN_JSON(""));
    scene_settle(&s);
    run(&s, ISSUER_JSON(ISSUER, "")); /* and back: it is known there still */
    expect_page(&s, 3, "c-old");
    scene_close(&s);
}

static void
who_cannot_register_cannot_sign_in(void **state)
{
    static const char why[] =
        "the authorization server does not know us, and we cannot register";
    struct scene s;

    (void)state;
    for (int i = 0; i < 2; i++) {
        scene_set(&s);
        s.auth.no_registration = i == 1;
        scene_init(&s);
        run(&s, i == 1 ? ISSUER_JSON(ISSUER, "")
                       : "{'issuer':'" ISSUER "','token_endpoint':'" TOKEN_PLACE
                         "','authorization_endpoint':'https://as.test/authorize',"
                         "'code_challenge_methods_supported':['S256']}");
        expect_failure(&s, 1, why, false);
        assert_int_equal(s.agent.opens, 0);
        asked_no_more(&s.st, 2);
        scene_close(&s);
    }
}

static void
what_is_no_registration_is_refused(void **state)
{
    static const struct {
        int http;
        const char *json, *why;
    } answers[] = {
        {400, "{'error':'invalid_redirect_uri','error_description':'not\\nyours'}",
         "registration was refused: HTTP 400 invalid_redirect_uri: not?yours"},
        {403, "{}", "registration was refused: HTTP 403"},
        {302, "{'client_id':'c1'}", "registration was refused: HTTP 302"},
        {201, "{}", "the registration has no client_id"},
        {201, "", "the registration has no client_id"},
        {201, "{'client_id':''}", "the registration has no client_id"},
        {201, "{'client_id':7}", "the registration has no client_id"},
        {201, "{'client_id':'c1','token_endpoint_auth_method':'magic'}",
         "the registration wants a method of authentication that we do not have"},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(answers); i++) {
        struct scene s;

        scene_open(&s);
        run(&s, ISSUER_JSON(ISSUER, ""));
        answer_headed(asked(&s.st, "POST", REGISTER_PLACE), answers[i].http,
                      "Location: https://as.test/elsewhere", answers[i].json);
        scene_settle(&s);
        expect_failure(&s, 1, answers[i].why, false);
        assert_int_equal(s.agent.opens, 0);
        assert_string_equal(s.store.log, "load ");
        asked_no_more(&s.st, 3);
        scene_close(&s);
    }
}

static void
who_does_not_answer_registers_nobody(void **state)
{
    struct scene s;

    (void)state;
    for (int i = 0; i < 3; i++) {
        scene_open(&s);
        run(&s, ISSUER_JSON(ISSUER, ""));
        (void)asked(&s.st, "POST", REGISTER_PLACE);
        if (i == 0)
            stage_pass(&s.st, s.auth.fetch_ms * 1000);
        else if (i == 1)
            fake_fail(fake_last(&s.st.fetcher), MCP_E_CLOSED,
                      "the connection was lost");
        else
            answer_too_long(fake_last(&s.st.fetcher));
        assert_int_equal(s.done, 1);
        assert_int_equal(s.status, MCP_E_AUTH);
        scene_close(&s);
    }
}

/* ---- known no more ------------------------------------------------------------------------- */

static void
who_is_known_no_more_registers_the_next_time(void **state)
{
    struct scene s;

    (void)state;
    scene_open(&s);
    store_put(&s.store, WHO_KEY, STORED("c7", HOME));
    run(&s, ISSUER_JSON(ISSUER, ""));
    signed_in(&s, "&code=geheim-code");
    token_says(&s, 401, "{'error':'invalid_client'}");
    expect_failure(&s, 1, "the authorization server refused: invalid_client", false);
    assert_string_equal(store_get(&s.store, WHO_KEY, "client_id"), "");
    run(&s, ISSUER_JSON(ISSUER, ""));
    registered(&s);
    expect_page(&s, 2, "c1");
    scene_close(&s);
}

/* Who may not do it is known all the same. */
static void
only_who_is_unknown_is_forgotten(void **state)
{
    static const char *const errors[] = {"unauthorized_client", "invalid_grant",
                                         "invalid_request", "invalid_client "};
    char json[64];

    (void)state;
    for (size_t i = 0; i < COUNT(errors); i++) {
        struct scene s;

        scene_open(&s);
        store_put(&s.store, WHO_KEY, STORED("c7", HOME));
        run(&s, ISSUER_JSON(ISSUER, ""));
        signed_in(&s, "&code=geheim-code");
        (void)snprintf(json, sizeof(json), "{'error':'%s'}", errors[i]);
        token_says(&s, 400, json);
        assert_int_equal(s.status, MCP_E_AUTH);
        assert_string_equal(store_get(&s.store, WHO_KEY, "client_id"), "c7");
        run(&s, ISSUER_JSON(ISSUER, ""));
        expect_page(&s, 2, "c7");
        scene_close(&s);
    }
}

static void
who_was_agreed_on_is_not_forgotten_for_that(void **state)
{
    struct scene s;

    (void)state;
    scene_set(&s);
    s.auth.client_id = "c1";
    scene_init(&s);
    run(&s, ISSUER_JSON(ISSUER, ""));
    signed_in(&s, "&code=geheim-code");
    token_says(&s, 401, "{'error':'invalid_client'}");
    expect_failure(&s, 1, "the authorization server refused: invalid_client", false);
    assert_string_equal(s.store.log, "");
    run(&s, ISSUER_JSON(ISSUER, ""));
    expect_page(&s, 2, "c1");
    scene_close(&s);
}

/* ---- stopping ------------------------------------------------------------------------------- */

struct stop_at {
    struct scene *s;
    const char *what;
};

static void
stop_there(void *user, const char *what)
{
    struct stop_at *at = user;

    if (strcmp(what, at->what) == 0)
        assert_true(mcpi_flow_stop(&at->s->flow));
}

static void
it_is_stopped_while_the_store_is_asked(void **state)
{
    static const char *const steps[] = {"load", "save"};
    struct scene s;

    (void)state;
    for (size_t i = 0; i < COUNT(steps); i++) {
        struct stop_at at = {.s = &s, .what = steps[i]};

        scene_open(&s);
        s.store.then = stop_there;
        s.store.user = &at;
        run(&s, ISSUER_JSON(ISSUER, ""));
        if (i == 1)
            registered(&s);
        asked_no_more(&s.st, 2 + i);
        expect_nothing(&s);
        assert_int_equal(s.agent.opens, 0);
        assert_int_equal(s.agent.ends, i);
        assert_false(mcpi_flow_is_running(&s.flow));
        scene_close(&s);
    }
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* The stored one is used, or it is said that there is no memory: nobody registers. */
static void
flow(struct test_mem *mem, void *user)
{
    struct scene s;

    (void)user;
    scene_set(&s);
    store_put(&s.store, WHO_KEY, STORED("c7", HOME));
    if (scene_init_with(&s, mem) == 0) {
        refused(&s, NULL, "");
        (void)play(&s);
        for (size_t i = 0; i < s.st.fetcher.count; i++)
            assert_string_not_equal(fake_at(&s.st.fetcher, i)->url, REGISTER_PLACE);
        assert_int_equal(s.done, 1);
        assert_true(s.status == 0 ||
                    (s.status == MCP_E_NOMEM && atomic_load(&mem->failed) > 0));
    }
    scene_close(&s);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(flow, NULL) > 30);
}

TEST_MAIN(TEST(who_was_agreed_on_is_nobody_else),
          TEST(a_secret_that_nobody_takes_is_not_shown),
          TEST(who_was_agreed_on_with_one_is_not_told_another),
          TEST(nor_is_the_issuer_of_an_old_token_if_the_program_names_one),
          TEST(a_document_says_who_we_are_where_that_is_read),
          TEST(a_document_is_good_for_any_issuer), TEST(who_is_in_a_document_may_sign),
          TEST(who_was_registered_before_is_so_still),
          TEST(whom_nobody_could_sign_in_as_registers_anew),
          TEST(a_token_is_renewed_as_who_it_was_given_to),
          TEST(a_token_is_renewed_as_nobody_else),
          TEST(more_is_asked_for_as_who_we_are_now),
          TEST(what_the_store_has_of_somebody_else_is_not_used),
          TEST(a_store_without_memory_is_not_guessed_about),
          TEST(who_is_sent_back_elsewhere_registers_anew),
          TEST(a_registration_says_who_asks_and_what_for),
          TEST(a_secret_that_comes_with_it_is_kept_and_shown_to_its_issuer),
          TEST(a_registration_that_cannot_be_kept_is_good_all_the_same),
          TEST(without_a_store_we_register_once_a_process),
          TEST(a_registration_is_told_to_no_other_issuer),
          TEST(who_cannot_register_cannot_sign_in),
          TEST(what_is_no_registration_is_refused),
          TEST(who_does_not_answer_registers_nobody),
          TEST(who_is_known_no_more_registers_the_next_time),
          TEST(only_who_is_unknown_is_forgotten),
          TEST(who_was_agreed_on_is_not_forgotten_for_that),
          TEST(it_is_stopped_while_the_store_is_asked), TEST(each_allocation_may_fail))
