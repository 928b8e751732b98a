/* tls_test.c - TLS as a filter of bytes, against OpenSSL's own client in memory */
#include "link/tls.h"

#include "link/tls_fixture.h"

struct fixture {
    struct test_mem mem;
    struct mcpi_tls_context *context;
    struct mcpi_tls *tls;
    struct tls_client client;
    struct mcpi_buf plain, wire;
    int status; /* what our side said last */
};

/* With a certificate for this key. */
static void
fixture_open_as(struct fixture *f, int version, EVP_PKEY *key)
{
    memset(f, 0, sizeof(*f));
    test_mem_init(&f->mem);
    f->context = tls_context_of(&f->mem.allocator, key);
    assert_int_equal(mcpi_tls_new(f->context, &f->tls), 0);
    mcpi_buf_init(&f->plain, &f->mem.allocator, 1 << 24);
    mcpi_buf_init(&f->wire, &f->mem.allocator, 1 << 24);
    tls_client_open(&f->client, version);
}

static void
fixture_open(struct fixture *f, int version)
{
    fixture_open_as(f, version, EVP_EC_gen("P-256"));
}

static void
fixture_close(struct fixture *f)
{
    assert_int_equal(ERR_peek_error(), 0); /* nothing is left behind on this thread */
    tls_client_close(&f->client);
    mcpi_tls_free(f->tls);
    mcpi_tls_context_unref(f->context);
    mcpi_buf_done(&f->plain);
    mcpi_buf_done(&f->wire);
    test_mem_done(&f->mem);
}

/* Carry what the client has to say, in pieces, and what is answered. Returns whether
 * anything moved. */
static bool
carry(struct fixture *f, size_t piece)
{
    char bytes[65536];
    size_t len = tls_client_take(&f->client, bytes, sizeof(bytes));
    bool moved = len > 0 || f->wire.len > 0;

    for (size_t at = 0; at < len && f->status == 0; at += piece) {
        char *exact = malloc(piece);
        size_t part = len - at < piece ? len - at : piece;

        memcpy(exact, bytes + at, part);
        f->status = mcpi_tls_receive(f->tls, exact, part, &f->plain, &f->wire);
        free(exact);
    }
    tls_client_give(&f->client, f->wire.data, f->wire.len);
    mcpi_buf_clear(&f->wire);
    return moved;
}

/* The handshake; what the client has read meanwhile, or -1. */
static int
shake(struct fixture *f, size_t piece)
{
    char bytes[1024];
    int n;

    do
        n = tls_client_read(&f->client, bytes, sizeof(bytes));
    while (carry(f, piece) && n != 0);
    return n;
}

static void
expect_exchange(struct fixture *f, size_t piece)
{
    char bytes[1024];

    assert_int_equal(shake(f, piece), -1);
    assert_true(mcpi_tls_is_ready(f->tls));
    assert_int_equal(SSL_write(f->client.ssl, "question", 8), 8);
    (void)carry(f, piece);
    assert_int_equal(f->plain.len, 8);
    assert_memory_equal(f->plain.data, "question", 8);
    assert_int_equal(mcpi_tls_send(f->tls, "answer", 6, &f->wire), 0);
    (void)carry(f, piece);
    assert_int_equal(tls_client_read(&f->client, bytes, sizeof(bytes)), 6);
    assert_memory_equal(bytes, "answer", 6);
}

static void
text_passes_both_ways_in_any_pieces(void **state)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    static const size_t pieces[] = {1, 5, 100, 65536};
    struct fixture f;

    (void)state;
    for (size_t v = 0; v < 2; v++)
        for (size_t p = 0; p < 4; p++) {
            fixture_open(&f, versions[v]);
            expect_exchange(&f, pieces[p]);
            fixture_close(&f);
        }
}

static void
versions_before_1_2_are_refused(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, TLS1_1_VERSION);
    SSL_CTX_set_security_level(f.client.ctx, 0);
    SSL_set_security_level(f.client.ssl, 0);
    assert_int_equal(shake(&f, 65536), 0);
    assert_int_equal(f.status, MCP_E_PROTO);
    assert_false(mcpi_tls_is_ready(f.tls));
    ERR_clear_error();
    fixture_close(&f);
}

/* Does a client of TLS 1.2 that offers this alone come in? */
static bool
lets_in(const char *cipher)
{
    struct fixture f;
    bool is_in;

    fixture_open_as(&f, TLS1_2_VERSION, EVP_RSA_gen(2048));
    assert_int_equal(SSL_set_cipher_list(f.client.ssl, cipher), 1);
    is_in = shake(&f, 65536) == -1;
    assert_int_equal(is_in, mcpi_tls_is_ready(f.tls));
    ERR_clear_error();
    fixture_close(&f);
    return is_in;
}

static void
without_forward_secrecy_or_authenticated_encryption_it_is_refused(void **state)
{
    static const char *const weak[] = {
        "AES128-SHA",           "AES128-SHA256",           "AES256-SHA256",
        "AES128-GCM-SHA256",    "AES256-GCM-SHA384",       "ECDHE-RSA-AES128-SHA",
        "ECDHE-RSA-AES256-SHA", "ECDHE-RSA-AES128-SHA256", "ECDHE-RSA-AES256-SHA384"};
    static const char *const strong[] = {"ECDHE-RSA-AES128-GCM-SHA256",
                                         "ECDHE-RSA-AES256-GCM-SHA384",
                                         "ECDHE-RSA-CHACHA20-POLY1305"};

    (void)state;
    for (size_t i = 0; i < sizeof(weak) / sizeof(weak[0]); i++)
        if (lets_in(weak[i]))
            fail_msg("%s is let in", weak[i]);
    for (size_t i = 0; i < sizeof(strong) / sizeof(strong[0]); i++)
        if (!lets_in(strong[i]))
            fail_msg("%s is refused", strong[i]);
}

static void
much_text_comes_whole(void **state)
{
    enum { MUCH = 300000 };
    char *text = malloc(MUCH), *back = malloc(MUCH);
    struct fixture f;
    int len = 0, n;

    (void)state;
    for (size_t i = 0; i < MUCH; i++)
        text[i] = (char)(i * 31 >> 3);
    fixture_open(&f, 0);
    assert_int_equal(shake(&f, 65536), -1);
    assert_int_equal(mcpi_tls_send(f.tls, text, MUCH, &f.wire), 0);
    (void)carry(&f, 65536);
    for (n = 1; n > 0 && len < MUCH; len += n)
        n = tls_client_read(&f.client, back + len, (size_t)(MUCH - len));
    assert_int_equal(len, MUCH);
    assert_memory_equal(text, back, MUCH);
    assert_int_equal(SSL_write(f.client.ssl, text, MUCH), MUCH);
    while (carry(&f, 1000))
        ;
    assert_int_equal(f.plain.len, MUCH);
    assert_memory_equal(text, f.plain.data, MUCH);
    fixture_close(&f);
    free(text);
    free(back);
}

static void
close_notify_is_the_end_behind_what_was_said(void **state)
{
    struct fixture f;
    char bytes[16];

    (void)state;
    fixture_open(&f, 0);
    assert_int_equal(shake(&f, 65536), -1);
    assert_int_equal(SSL_write(f.client.ssl, "last", 4), 4);
    assert_int_equal(SSL_shutdown(f.client.ssl), 0);
    (void)carry(&f, 65536);
    assert_int_equal(f.status, MCP_E_CLOSED);
    assert_memory_equal(f.plain.data, "last", 4);
    mcpi_tls_finish(f.tls, &f.wire);
    (void)carry(&f, 65536);
    assert_int_equal(SSL_shutdown(f.client.ssl), 1); /* ours has come */
    assert_int_equal(tls_client_read(&f.client, bytes, sizeof(bytes)), 0);
    fixture_close(&f);
}

static void
nothing_is_sent_before_the_handshake(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, 0);
    assert_int_equal(mcpi_tls_send(f.tls, "x", 1, &f.wire), MCP_E_STATE);
    mcpi_tls_finish(f.tls, &f.wire);
    assert_int_equal(f.wire.len, 0);
    fixture_close(&f);
}

static void
what_is_no_tls_breaks_the_session_and_nothing_else(void **state)
{
    static const char http[] = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    struct fixture f;

    (void)state;
    fixture_open(&f, 0);
    for (int i = 0; i < 2; i++)
        assert_int_equal(
            mcpi_tls_receive(f.tls, http, sizeof(http) - 1, &f.plain, &f.wire),
            MCP_E_PROTO);
    assert_int_equal(f.plain.len, 0);
    assert_int_equal(mcpi_tls_send(f.tls, "x", 1, &f.wire), MCP_E_PROTO);
    fixture_close(&f);
}

static void
a_record_that_was_changed_breaks_the_session(void **state)
{
    struct fixture f;
    char bytes[1000];
    size_t len;

    (void)state;
    fixture_open(&f, 0);
    assert_int_equal(shake(&f, 65536), -1);
    assert_int_equal(SSL_write(f.client.ssl, "question", 8), 8);
    len = tls_client_take(&f.client, bytes, sizeof(bytes));
    bytes[len - 1] ^= 1;
    assert_int_equal(mcpi_tls_receive(f.tls, bytes, len, &f.plain, &f.wire),
                     MCP_E_PROTO);
    assert_int_equal(f.plain.len, 0);
    assert_true(f.wire.len > 0); /* an alert */
    fixture_close(&f);
}

static void
a_client_may_not_negotiate_again(void **state)
{
    struct fixture f;
    char bytes[100];

    (void)state;
    fixture_open(&f, TLS1_2_VERSION);
    assert_int_equal(shake(&f, 65536), -1);
    assert_int_equal(SSL_renegotiate(f.client.ssl), 1);
    (void)SSL_do_handshake(f.client.ssl);
    (void)carry(&f, 65536);
    assert_int_equal(tls_client_read(&f.client, bytes, sizeof(bytes)), 0);
    ERR_clear_error();
    fixture_close(&f);
}

static void
http_1_1_is_chosen_and_who_cannot_speak_it_is_told(void **state)
{
    static const unsigned char both[] = "\x02h2\x08http/1.1", h2[] = "\x02h2";
    const unsigned char *chosen;
    struct fixture f;
    unsigned len;

    (void)state;
    fixture_open(&f, 0);
    SSL_set_alpn_protos(f.client.ssl, both, sizeof(both) - 1);
    assert_int_equal(shake(&f, 65536), -1);
    SSL_get0_alpn_selected(f.client.ssl, &chosen, &len);
    assert_int_equal(len, 8);
    assert_memory_equal(chosen, "http/1.1", 8);
    fixture_close(&f);
    fixture_open(&f, 0);
    SSL_set_alpn_protos(f.client.ssl, h2, sizeof(h2) - 1);
    assert_int_equal(shake(&f, 65536), 0);
    ERR_clear_error();
    fixture_close(&f);
}

/* ---- files -------------------------------------------------------------------------- */

static void
expect_error(const char *certificate, const char *key, const char *which)
{
    struct mcpi_tls_context *context = NULL;
    mcp_error err = {0};

    assert_int_equal(mcpi_tls_context_new(NULL, certificate, key, &context, &err),
                     MCP_E_INVAL);
    assert_null(context);
    assert_non_null(strstr(err.message, which));
    assert_int_equal(mcpi_tls_context_new(NULL, certificate, key, &context, NULL),
                     MCP_E_INVAL);
    assert_int_equal(ERR_peek_error(), 0);
}

static void
bad_files_are_named(void **state)
{
    struct tls_files files, other;
    FILE *file;

    (void)state;
    tls_files_open(&files, EVP_EC_gen("P-256"));
    tls_files_open(&other, EVP_EC_gen("P-256"));
    expect_error("/no/such/file", files.key, "/no/such/file");
    expect_error(files.certificate, "/no/such/file", "/no/such/file");
    expect_error(files.key, files.key, "certificate");
    expect_error(files.certificate, files.certificate, "key");
    expect_error(files.certificate, other.key, "key"); /* of another certificate */
    file = fopen(other.key, "w");                      /* with a password */
    fputs("-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIGjMF8GCSqGSIb3DQEFDTBSMDEGCSqGSIb3"
          "DQEFDDAk\n-----END ENCRYPTED PRIVATE KEY-----\n",
          file);
    fclose(file);
    expect_error(files.certificate, other.key, "key");
    tls_files_close(&files);
    tls_files_close(&other);
}

/* ---- memory --------------------------------------------------------------------------- */

static void
a_session_keeps_its_context(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, 0);
    mcpi_tls_context_unref(f.context);
    f.context = NULL;
    expect_exchange(&f, 65536);
    fixture_close(&f);
}

static void
flow(struct test_mem *mem, void *user)
{
    const struct tls_files *files = user;
    struct mcpi_tls_context *context = NULL;
    struct mcpi_tls *tls = NULL;
    int r;

    r = mcpi_tls_context_new(&mem->allocator, files->certificate, files->key, &context,
                             NULL);
    if (r == 0)
        r = mcpi_tls_new(context, &tls);
    assert_int_equal(r, mem->failed ? MCP_E_NOMEM : 0);
    mcpi_tls_free(tls);
    mcpi_tls_context_unref(context);
}

static void
each_allocation_may_fail(void **state)
{
    struct tls_files files;

    (void)state;
    tls_files_open(&files, EVP_EC_gen("P-256"));
    assert_int_equal(test_each_allocation_fails(flow, &files), 2);
    tls_files_close(&files);
}

static void
without_memory_for_its_text_a_session_breaks(void **state)
{
    struct fixture f;

    (void)state;
    fixture_open(&f, 0);
    assert_int_equal(shake(&f, 65536), -1);
    mcpi_buf_done(&f.wire);
    mcpi_buf_init(&f.wire, &f.mem.allocator, 10);
    assert_int_equal(mcpi_tls_send(f.tls, "answer", 6, &f.wire), MCP_E_NOMEM);
    assert_false(mcpi_tls_is_ready(f.tls));
    fixture_close(&f);
    fixture_open(&f, 0);
    assert_int_equal(shake(&f, 65536), -1);
    mcpi_buf_done(&f.plain);
    mcpi_buf_init(&f.plain, &f.mem.allocator, 10);
    assert_int_equal(SSL_write(f.client.ssl, "question", 8), 8);
    (void)carry(&f, 65536);
    assert_int_equal(f.status, MCP_E_NOMEM);
    fixture_close(&f);
}

TLS_TEST_MAIN(TEST(text_passes_both_ways_in_any_pieces),
              TEST(versions_before_1_2_are_refused),
              TEST(without_forward_secrecy_or_authenticated_encryption_it_is_refused),
              TEST(much_text_comes_whole),
              TEST(close_notify_is_the_end_behind_what_was_said),
              TEST(nothing_is_sent_before_the_handshake),
              TEST(what_is_no_tls_breaks_the_session_and_nothing_else),
              TEST(a_record_that_was_changed_breaks_the_session),
              TEST(a_client_may_not_negotiate_again),
              TEST(http_1_1_is_chosen_and_who_cannot_speak_it_is_told),
              TEST(bad_files_are_named), TEST(a_session_keeps_its_context),
              TEST(each_allocation_may_fail),
              TEST(without_memory_for_its_text_a_session_breaks))
