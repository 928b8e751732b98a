/* run/curl_easy_test.c - certificates and proxies, as the options say */
#include "run/curl_fixture.h"

#include <openssl/pem.h>

#include "run/curl_easy.h"

/* A request that the script has, greeted and read, is answered. */
static void
expect_answer(struct world *w, struct answer *a, struct visit *v)
{
    visit_read(v);
    visit_answer(v, "200 OK", "text/x", "safe");
    world_until(w, &a->ended, 1);
    assert_false(a->faulty);
    assert_int_equal(a->heads, 1);
    assert_string_equal(a->body, "safe");
    visit_close(v);
}

static void
expect_unsent(struct world *w, struct answer *a)
{
    world_until(w, &a->ended, 1);
    assert_int_equal(a->fault.status, MCP_E_SEND_FAILED);
    assert_true(a->fault.unsent);
    assert_int_equal(a->sent + a->heads, 0);
}

/* Whatever proxy there is, and whoever listens at its address. */
static void
a_sweeper_opens_no_socket(void **state)
{
    struct mcpi_curl_options opt = {.loop = NULL};
    struct http_script script;
    CURL *model, *sweeper;
    mcp_error err;

    (void)state;
    http_script_open(&script, NULL, NULL);
    opt.proxy = script.url;
    assert_int_equal(mcpi_curl_easy_new(&opt, &model, &err), 0);
    sweeper = mcpi_curl_easy_new_sweeper(model);
    assert_non_null(sweeper);
    assert_int_equal(curl_easy_perform(sweeper), CURLE_COULDNT_CONNECT);
    assert_false(http_script_is_visited(&script, 0));
    curl_easy_cleanup(sweeper);
    curl_easy_cleanup(model);
    http_script_close(&script);
}

/* ---- the server's certificate ----------------------------------------------- */

static void
a_certificate_of_the_given_authority_is_trusted(void **state)
{
    struct answer a = {.w = NULL};
    struct tls_pair pair;
    struct world w;
    struct visit v;

    (void)state;
    tls_pair_make(&pair);
    world_open_as(&w, (struct mcpi_curl_options){.ca_file = pair.certificate}, &pair);
    answer_post(&a, &w, "{}");
    visit_accept(&v, &w.script);
    expect_answer(&w, &a, &v);
    world_close(&w);
    tls_pair_remove(&pair);
}

static void
expect_distrust(const struct mcpi_curl_options *opt, const struct tls_pair *pair)
{
    struct answer a = {.w = NULL};
    struct world w;
    struct visit v;

    world_open_as(&w, *opt, pair);
    answer_post(&a, &w, "{}");
    visit_accept_plain(&v, &w.script);
    assert_true(!visit_greet(&v) || !visit_try_read(&v));
    expect_unsent(&w, &a);
    assert_non_null(strstr(a.why, "certificate"));
    visit_close(&v);
    world_close(&w);
}

static void
B5_a_certificate_of_somebody_else_is_not(void **state)
{
    struct tls_pair pair, other;

    (void)state;
    tls_pair_make(&pair);
    tls_pair_make(&other);
    expect_distrust(&(struct mcpi_curl_options){.ca_file = other.certificate}, &pair);
    expect_distrust(&(struct mcpi_curl_options){.ca_path = other.folder}, &pair);
    expect_distrust(&(struct mcpi_curl_options){.loop = NULL}, &pair);
    tls_pair_remove(&pair);
    tls_pair_remove(&other);
}

static void
B5_a_certificate_for_another_name_is_not(void **state)
{
    struct answer a = {.w = NULL};
    struct tls_pair pair;
    struct world w;
    struct visit v;
    char url[64];

    (void)state;
    tls_pair_make(&pair);
    world_open_as(&w, (struct mcpi_curl_options){.ca_file = pair.certificate}, &pair);
    /* the same machine, but not by a name that the certificate has */
    (void)snprintf(url, sizeof(url), "https://[::ffff:127.0.0.1]:%d/", w.script.port);
    answer_start_as(&a, &w, fetch_options("POST", url, "{}"));
    visit_accept_plain(&v, &w.script);
    (void)visit_greet(&v);
    expect_unsent(&w, &a);
    visit_close(&v);
    world_close(&w);
    tls_pair_remove(&pair);
}

static void
any_certificate_will_do_if_that_is_asked_for(void **state)
{
    struct answer a = {.w = NULL};
    struct tls_pair pair;
    struct world w;
    struct visit v;

    (void)state;
    tls_pair_make(&pair);
    world_open_as(&w, (struct mcpi_curl_options){.no_verify = true}, &pair);
    answer_post(&a, &w, "{}");
    visit_accept(&v, &w.script);
    expect_answer(&w, &a, &v);
    world_close(&w);
    tls_pair_remove(&pair);
}

static void
a_connection_of_tls_is_used_again(void **state)
{
    struct tls_pair pair;
    struct answer a;
    struct world w;
    struct visit v;

    (void)state;
    tls_pair_make(&pair);
    world_open_as(&w, (struct mcpi_curl_options){.ca_file = pair.certificate}, &pair);
    for (int i = 0; i < 5; i++) {
        memset(&a, 0, sizeof(a));
        answer_post(&a, &w, "{}");
        if (i == 0)
            visit_accept(&v, &w.script);
        visit_read(&v);
        visit_answer(&v, "200 OK", NULL, "again");
        world_until(&w, &a.ended, 1);
        assert_false(a.faulty);
        world_step(&w, 3);
    }
    visit_close(&v);
    world_close(&w);
    tls_pair_remove(&pair);
}

/* ---- versions and ciphers --------------------------------------------------- */

static void
expect_strong(const SSL_CIPHER *cipher)
{
    int exchange = SSL_CIPHER_get_kx_nid(cipher);

    if (!SSL_CIPHER_is_aead(cipher) ||
        (exchange != NID_kx_ecdhe && exchange != NID_kx_dhe && exchange != NID_kx_any))
        fail_msg("%s is offered", SSL_CIPHER_get_name(cipher));
}

static void
nothing_is_offered_without_forward_secrecy_and_authenticated_encryption(void **state)
{
    struct answer a = {.w = NULL};
    STACK_OF(SSL_CIPHER) * offered;
    struct tls_pair pair;
    struct world w;
    struct visit v;

    (void)state;
    tls_pair_make(&pair);
    world_open_as(&w, (struct mcpi_curl_options){.ca_file = pair.certificate}, &pair);
    answer_post(&a, &w, "{}");
    visit_accept(&v, &w.script);
    offered = SSL_get_client_ciphers(v.tls);
    assert_true(sk_SSL_CIPHER_num(offered) > 0);
    for (int i = 0; i < sk_SSL_CIPHER_num(offered); i++)
        expect_strong(sk_SSL_CIPHER_value(offered, i));
    expect_answer(&w, &a, &v);
    world_close(&w);
    tls_pair_remove(&pair);
}

/* By a server that is weakened so. */
static void
expect_refused(void (*weaken)(SSL_CTX *server))
{
    struct answer a = {.w = NULL};
    struct tls_pair pair;
    struct world w;
    struct visit v;

    tls_pair_make(&pair);
    world_open_as(&w, (struct mcpi_curl_options){.ca_file = pair.certificate}, &pair);
    weaken(w.script.tls);
    answer_post(&a, &w, "{}");
    visit_accept_plain(&v, &w.script);
    assert_false(visit_greet(&v));
    visit_close(&v);
    expect_unsent(&w, &a);
    world_close(&w);
    tls_pair_remove(&pair);
}

static void
have_only_tls_1_1(SSL_CTX *server)
{
    SSL_CTX_set_security_level(server, 0);
    assert_int_equal(SSL_CTX_set_min_proto_version(server, TLS1_VERSION), 1);
    assert_int_equal(SSL_CTX_set_max_proto_version(server, TLS1_1_VERSION), 1);
}

static void
have_only_cbc(SSL_CTX *server)
{
    assert_int_equal(SSL_CTX_set_max_proto_version(server, TLS1_2_VERSION), 1);
    assert_int_equal(SSL_CTX_set_cipher_list(server, "ECDHE-ECDSA-AES128-SHA"), 1);
}

static void
a_server_without_strong_tls_is_sent_nothing(void **state)
{
    (void)state;
    expect_refused(have_only_tls_1_1);
    expect_refused(have_only_cbc);
}

/* ---- our certificate -------------------------------------------------------- */

/* The key of a pair once more, behind a password. */
static void
key_lock(const struct tls_pair *pair, const char *path, const char *password)
{
    FILE *file = fopen(pair->key, "re");
    EVP_PKEY *key;

    assert_non_null(file);
    key = PEM_read_PrivateKey(file, NULL, NULL, NULL);
    assert_non_null(key);
    assert_int_equal(fclose(file), 0);
    file = fopen(path, "we");
    assert_non_null(file);
    assert_int_equal(PEM_write_PKCS8PrivateKey(file, key, EVP_aes_128_cbc(), password,
                                               (int)strlen(password), NULL, NULL),
                     1);
    assert_int_equal(fclose(file), 0);
    EVP_PKEY_free(key);
}

static void
show_certificate(const struct tls_pair *server, const struct tls_pair *client,
                 struct mcpi_curl_options opt)
{
    struct answer a = {.w = NULL};
    struct world w;
    struct visit v;

    opt.ca_file = server->certificate;
    world_open_as(&w, opt, server);
    http_script_ask(&w.script, client);
    answer_post(&a, &w, "{}");
    visit_accept(&v, &w.script);
    expect_answer(&w, &a, &v);
    world_close(&w);
}

static void
a_client_shows_its_certificate(void **state)
{
    struct tls_pair server, client;
    char locked[128];

    (void)state;
    tls_pair_make(&server);
    tls_pair_make(&client);
    (void)snprintf(locked, sizeof(locked), "%s/locked.pem", client.folder);
    key_lock(&client, locked, "open sesame");
    show_certificate(&server, &client,
                     (struct mcpi_curl_options){.cert_file = client.certificate,
                                                .key_file = client.key});
    show_certificate(&server, &client,
                     (struct mcpi_curl_options){.cert_file = client.certificate,
                                                .key_file = locked,
                                                .key_password = "open sesame"});
    assert_int_equal(unlink(locked), 0);
    tls_pair_remove(&server);
    tls_pair_remove(&client);
}

static void
B5_a_key_that_does_not_open_sends_nothing(void **state)
{
    struct mcpi_curl_options opt = {.no_verify = true, .key_password = "wrong"};
    struct answer a = {.w = NULL};
    struct tls_pair server, client;
    char locked[128];
    struct world w;

    (void)state;
    tls_pair_make(&server);
    tls_pair_make(&client);
    (void)snprintf(locked, sizeof(locked), "%s/locked.pem", client.folder);
    key_lock(&client, locked, "right");
    opt.cert_file = client.certificate;
    opt.key_file = locked;
    world_open_as(&w, opt, &server);
    answer_post(&a, &w, "{}");
    expect_unsent(&w, &a);
    world_close(&w);
    assert_int_equal(unlink(locked), 0);
    tls_pair_remove(&server);
    tls_pair_remove(&client);
}

/* Is a certificate shown on that connection? */
static bool
is_named(const struct visit *v)
{
    return SSL_get0_peer_certificate(v->tls) != NULL;
}

static void
ask_as(struct answer *a, struct world *w, bool anonymous)
{
    struct mcpi_fetch_options opt = fetch_options("POST", w->script.url, "{}");

    *a = (struct answer){.w = NULL};
    opt.anonymous = anonymous;
    answer_start_as(a, w, opt);
}

static void
serve_as(struct answer *a, struct world *w, struct visit *v)
{
    visit_read(v);
    visit_answer(v, "200 OK", NULL, "");
    world_until(w, &a->ended, 1);
    assert_false(a->faulty);
    world_step(w, 3);
}

/* Each kind has its connection, and keeps it. */
static void
who_is_anonymous_shows_none(void **state)
{
    static const bool orders[][2] = {{false, true}, {true, false}};
    struct tls_pair server, client;
    struct visit v[2]; /* named, anonymous */
    struct answer a;
    struct world w;

    (void)state;
    tls_pair_make(&server);
    tls_pair_make(&client);
    for (size_t i = 0; i < 2; i++) {
        world_open_as(&w,
                      (struct mcpi_curl_options){.ca_file = server.certificate,
                                                 .cert_file = client.certificate,
                                                 .key_file = client.key},
                      &server);
        http_script_ask(&w.script, &client);
        SSL_CTX_set_verify(w.script.tls, SSL_VERIFY_PEER, NULL); /* but need not */
        for (int turn = 0; turn < 6; turn++) {
            bool anonymous = orders[i][turn % 2];

            ask_as(&a, &w, anonymous);
            if (turn < 2)
                visit_accept(&v[anonymous], &w.script);
            assert_int_equal(is_named(&v[anonymous]), !anonymous);
            serve_as(&a, &w, &v[anonymous]);
            assert_false(http_script_is_visited(&w.script, 0));
        }
        visit_close(&v[0]);
        visit_close(&v[1]);
        world_close(&w);
    }
    tls_pair_remove(&server);
    tls_pair_remove(&client);
}

/* Nor does a session of TLS say who we are, which a new connection would take up. */
static void
who_is_anonymous_resumes_nothing(void **state)
{
    struct tls_pair server, client;
    struct answer a;
    struct world w;
    struct visit v;

    (void)state;
    tls_pair_make(&server);
    tls_pair_make(&client);
    world_open_as(&w,
                  (struct mcpi_curl_options){.ca_file = server.certificate,
                                             .cert_file = client.certificate,
                                             .key_file = client.key},
                  &server);
    http_script_ask(&w.script, &client);
    SSL_CTX_set_verify(w.script.tls, SSL_VERIFY_PEER, NULL);
    assert_int_equal(
        SSL_CTX_set_session_id_context(w.script.tls, (const unsigned char *)"x", 1), 1);
    for (int turn = 0; turn < 4; turn++) {
        ask_as(&a, &w, turn % 2 == 1);
        visit_accept(&v, &w.script);
        assert_int_equal(is_named(&v), turn % 2 == 0);
        if (turn < 2) /* later each may take up its own */
            assert_false(SSL_session_reused(v.tls));
        serve_as(&a, &w, &v);
        visit_close(&v);
        world_step(&w, 3);
    }
    world_close(&w);
    tls_pair_remove(&server);
    tls_pair_remove(&client);
}

static void
who_is_anonymous_needs_no_certificate_to_be_there(void **state)
{
    struct tls_pair server;
    struct answer a;
    struct world w;
    struct visit v;

    (void)state;
    tls_pair_make(&server);
    world_open_as(&w, (struct mcpi_curl_options){.ca_file = server.certificate},
                  &server);
    for (int turn = 0; turn < 4; turn++) { /* all on one connection */
        ask_as(&a, &w, turn % 2 == 1);
        if (turn == 0)
            visit_accept(&v, &w.script);
        serve_as(&a, &w, &v);
    }
    visit_close(&v);
    world_close(&w);
    tls_pair_remove(&server);
}

/* ---- proxies ---------------------------------------------------------------- */

static void
a_proxy_is_asked_for_the_whole_url(void **state)
{
    struct answer a = {.w = NULL};
    struct http_script proxy;
    struct world w;
    struct visit v;

    (void)state;
    http_script_open(&proxy, NULL, NULL);
    world_open_as(&w, (struct mcpi_curl_options){.proxy = proxy.url}, NULL);
    proxy.loop = w.loop;
    answer_start_as(&a, &w, fetch_options("POST", "http://far.invalid:81/x", "{}"));
    visit_accept(&v, &proxy);
    visit_read(&v);
    assert_true(visit_asks(&v, "POST http://far.invalid:81/x"));
    assert_string_equal(visit_field(&v, "Host"), "far.invalid:81");
    visit_answer(&v, "200 OK", NULL, "far");
    world_until(&w, &a.ended, 1);
    assert_string_equal(a.body, "far");
    visit_close(&v);
    http_script_close(&proxy);
    world_close(&w);
}

static void
some_hosts_are_reached_without_a_proxy(void **state)
{
    struct mcpi_curl_options opt = {.proxy = "http://127.0.0.1:1",
                                    .no_proxy = "near.invalid,far.invalid"};
    const char *lines[2] = {NULL, NULL};
    struct answer a = {.w = NULL};
    struct http_script script;
    char line[64], url[64];
    struct world w;
    struct visit v;

    (void)state;
    http_script_open(&script, NULL, NULL);
    (void)snprintf(line, sizeof(line), "far.invalid:%d:127.0.0.1", script.port);
    (void)snprintf(url, sizeof(url), "http://far.invalid:%d/", script.port);
    lines[0] = line;
    opt.resolve = lines;
    world_open_as(&w, opt, NULL);
    script.loop = w.loop;
    answer_start_as(&a, &w, fetch_options("POST", url, "{}"));
    visit_accept(&v, &script);
    expect_answer(&w, &a, &v);
    http_script_close(&script);
    world_close(&w);
}

/* What is said there in clear is for this machine. The one after it takes the proxy: the
 * handle is used again. */
static void
expect_direct(struct world *w, struct http_script *proxy, const char *host)
{
    struct answer a = {.w = NULL}, b = {.w = NULL};
    struct visit v;
    char url[64];

    (void)snprintf(url, sizeof(url), "http://%s:%d/x", host, w->script.port);
    answer_start_as(&a, w, fetch_options("POST", url, "{}"));
    visit_accept(&v, &w->script);
    visit_read(&v);
    assert_true(visit_asks(&v, "POST /x"));
    visit_answer(&v, "200 OK", NULL, "");
    world_until(w, &a.ended, 1);
    assert_false(a.faulty);
    assert_int_equal(a.from, MCPI_ADDRESS_LOOPBACK);
    visit_close(&v);
    assert_false(http_script_is_visited(proxy, 0));
    answer_start_as(&b, w, fetch_options("POST", "http://far.invalid/y", "{}"));
    visit_accept(&v, proxy);
    visit_read(&v);
    assert_true(visit_asks(&v, "POST http://far.invalid/y"));
    visit_answer(&v, "200 OK", NULL, "");
    world_until(w, &b.ended, 1);
    assert_int_equal(b.from, MCPI_ADDRESS_ANY);
    visit_close(&v);
}

static const char *const loopback[] = {"127.0.0.1",   "localhost", "LOCALHOST",
                                       "a.localhost", "127.1",     "2130706433"};

#define LOOPBACKS (sizeof(loopback) / sizeof(loopback[0]))

static void
no_proxy_is_told_what_is_for_loopback(void **state)
{
    struct http_script proxy;
    struct world w;

    (void)state;
    http_script_open(&proxy, NULL, NULL);
    world_open_as(&w, (struct mcpi_curl_options){.proxy = proxy.url, .no_proxy = ""},
                  NULL);
    proxy.loop = w.loop;
    for (size_t i = 0; i < LOOPBACKS; i++)
        expect_direct(&w, &proxy, loopback[i]);
    http_script_close(&proxy);
    world_close(&w);
}

static void
nor_is_the_one_of_the_environment(void **state)
{
    static const char *const names[] = {"http_proxy", "all_proxy", "ALL_PROXY"};
    struct mcpi_curl_options opt = {.proxy = NULL};
    struct http_script proxy;
    struct world w;

    (void)state;
    for (size_t n = 0; n < sizeof(names) / sizeof(names[0]); n++) {
        world_open(&w);
        http_script_open(&proxy, NULL, w.loop);
        mcpi_curl_free(w.fetcher);
        opt.loop = w.loop;
        assert_int_equal(setenv(names[n], proxy.url, 1), 0);
        assert_int_equal(setenv("no_proxy", "", 1), 0);
        assert_int_equal(mcpi_curl_new(&opt, &w.fetcher, NULL), 0);
        for (size_t i = 0; i < LOOPBACKS; i++)
            expect_direct(&w, &proxy, loopback[i]);
        assert_int_equal(unsetenv(names[n]), 0);
        assert_int_equal(unsetenv("no_proxy"), 0);
        http_script_close(&proxy);
        world_close(&w);
    }
}

/* It is sent on by what was reached over the proxy. */
static void
nor_is_one_told_after_a_redirect(void **state)
{
    struct mcpi_curl_options opt = {.follow_any = true, .no_proxy = ""};
    struct answer a = {.w = NULL};
    struct http_script proxy;
    struct visit v, there;
    char text[256];
    struct world w;

    (void)state;
    http_script_open(&proxy, NULL, NULL);
    opt.proxy = proxy.url;
    world_open_as(&w, opt, NULL);
    proxy.loop = w.loop;
    answer_start_as(&a, &w, fetch_options("POST", "http://far.invalid/y", "{}"));
    visit_accept(&v, &proxy);
    visit_read(&v);
    (void)snprintf(text, sizeof(text),
                   "HTTP/1.1 307 T\r\nLocation: %s\r\nContent-Length: 0\r\n\r\n",
                   w.script.url);
    visit_say(&v, text);
    visit_accept(&there, &w.script);
    expect_answer(&w, &a, &there);
    visit_close(&v);
    http_script_close(&proxy);
    world_close(&w);
}

/* One fetcher as the environment says, one that does not listen to it. */
static void
the_environment_names_a_proxy_unless_there_is_to_be_none(void **state)
{
    struct mcpi_curl_options opt = {.proxy = NULL};
    struct mcpi_fetch_options request;
    struct answer a = {.w = NULL}, b = {.w = NULL};
    struct http_script proxy;
    struct world w;
    struct visit v;

    (void)state;
    world_open(&w);
    http_script_open(&proxy, NULL, w.loop);
    assert_int_equal(setenv("http_proxy", proxy.url, 1), 0);
    assert_int_equal(setenv("no_proxy", "", 1), 0);
    answer_post(&a, &w, "{}"); /* its proxy is "" */
    visit_accept(&v, &w.script);
    expect_answer(&w, &a, &v);
    mcpi_curl_free(w.fetcher);
    opt.loop = w.loop;
    assert_int_equal(mcpi_curl_new(&opt, &w.fetcher, NULL), 0);
    request = fetch_options("POST", "http://far.invalid/", "{}");
    answer_start_as(&b, &w, request);
    visit_accept(&v, &proxy);
    expect_answer(&w, &b, &v);
    assert_int_equal(unsetenv("http_proxy"), 0);
    assert_int_equal(unsetenv("no_proxy"), 0);
    http_script_close(&proxy);
    world_close(&w);
}

/* The proxy is the script, and plays the server behind the tunnel as well. */
struct tunnel {
    struct tls_pair pair;
    struct http_script proxy;
    struct world w;
    struct answer a;
    struct visit v;
};

static void
tunnel_open(struct tunnel *t)
{
    static const char fields[] = "Authorization: Bearer x";
    struct mcpi_curl_options opt = {.ca_file = t->pair.certificate};
    struct mcpi_fetch_options request;
    char url[64];

    memset(&t->a, 0, sizeof(t->a));
    tls_pair_make(&t->pair);
    http_script_open(&t->proxy, &t->pair, NULL);
    (void)snprintf(url, sizeof(url), "http://127.0.0.1:%d", t->proxy.port);
    opt.proxy = url;
    world_open_as(&t->w, opt, NULL);
    t->proxy.loop = t->w.loop;
    request = fetch_options("POST", "https://localhost:444/x", "{}");
    request.fields = fields;
    request.fields_len = sizeof(fields);
    answer_start_as(&t->a, &t->w, request);
    visit_accept_plain(&t->v, &t->proxy);
    visit_read(&t->v);
    assert_true(visit_asks(&t->v, "CONNECT localhost:444"));
    assert_null(visit_field(&t->v, "Authorization"));
    assert_int_equal(mcpi_fetch_get_phase(t->a.fetch), MCPI_FETCH_UNSENT);
}

static void
tunnel_close(struct tunnel *t)
{
    if (t->v.fd >= 0)
        visit_close(&t->v);
    http_script_close(&t->proxy);
    world_close(&t->w);
    tls_pair_remove(&t->pair);
}

static void
a_proxy_makes_a_tunnel_for_tls(void **state)
{
    struct tunnel t;

    (void)state;
    tunnel_open(&t);
    visit_say(&t.v, "HTTP/1.1 200 Go\r\nX-Extra: proxy\r\n\r\n");
    assert_true(visit_greet(&t.v));
    visit_read(&t.v);
    assert_true(visit_asks(&t.v, "POST /x"));
    assert_string_equal(visit_field(&t.v, "Authorization"), "Bearer x");
    visit_answer(&t.v, "200 OK", NULL, "through");
    world_until(&t.w, &t.a.ended, 1);
    assert_false(t.a.faulty);
    assert_int_equal(t.a.sent, 1);
    assert_int_equal(t.a.heads, 1);
    assert_string_equal(t.a.extra, "(none)");
    assert_string_equal(t.a.body, "through");
    tunnel_close(&t);
}

static void
B5_a_tunnel_that_is_refused_sends_nothing(void **state)
{
    struct tunnel t;

    (void)state;
    tunnel_open(&t);
    visit_answer(&t.v, "403 No", "text/plain", "no");
    expect_unsent(&t.w, &t.a);
    assert_non_null(strstr(t.a.why, "403"));
    tunnel_close(&t);
}

static void
B5_a_tunnel_that_breaks_off_sends_nothing(void **state)
{
    struct tunnel t;

    (void)state;
    tunnel_open(&t);
    visit_reset(&t.v);
    expect_unsent(&t.w, &t.a);
    tunnel_close(&t);
    tunnel_open(&t);
    visit_say(&t.v, "HTTP/1.1 200 Go\r\n\r\n");
    world_step(&t.w, 5);
    visit_reset(&t.v);
    expect_unsent(&t.w, &t.a);
    tunnel_close(&t);
    tunnel_open(&t);
    visit_say(&t.v, "nonsense\r\n\r\n");
    visit_close(&t.v);
    expect_unsent(&t.w, &t.a);
    tunnel_close(&t);
}

static void
E3_aborted_in_a_tunnel(void **state)
{
    struct tunnel t;

    (void)state;
    tunnel_open(&t);
    answer_abort(&t.a);
    visit_await_gone(&t.v);
    tunnel_close(&t);
    tunnel_open(&t);
    visit_say(&t.v, "HTTP/1.1 200 Go\r\n\r\n");
    visit_read_bytes(&t.v, 10); /* a hello of TLS */
    answer_abort(&t.a);
    visit_await_gone(&t.v);
    tunnel_close(&t);
}

TEST_MAIN(TEST(a_certificate_of_the_given_authority_is_trusted),
          TEST(B5_a_certificate_of_somebody_else_is_not),
          TEST(B5_a_certificate_for_another_name_is_not),
          TEST(any_certificate_will_do_if_that_is_asked_for),
          TEST(nothing_is_offered_without_forward_secrecy_and_authenticated_encryption),
          TEST(a_server_without_strong_tls_is_sent_nothing),
          TEST(a_connection_of_tls_is_used_again), TEST(a_client_shows_its_certificate),
          TEST(B5_a_key_that_does_not_open_sends_nothing),
          TEST(a_sweeper_opens_no_socket), TEST(who_is_anonymous_shows_none),
          TEST(who_is_anonymous_resumes_nothing),
          TEST(who_is_anonymous_needs_no_certificate_to_be_there),
          TEST(a_proxy_is_asked_for_the_whole_url),
          TEST(some_hosts_are_reached_without_a_proxy),
          TEST(no_proxy_is_told_what_is_for_loopback),
          TEST(nor_is_the_one_of_the_environment),
          TEST(nor_is_one_told_after_a_redirect),
          TEST(the_environment_names_a_proxy_unless_there_is_to_be_none),
          TEST(a_proxy_makes_a_tunnel_for_tls),
          TEST(B5_a_tunnel_that_is_refused_sends_nothing),
          TEST(B5_a_tunnel_that_breaks_off_sends_nothing), TEST(E3_aborted_in_a_tunnel))
