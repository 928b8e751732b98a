/*
 * link/tls_fixture.h - a certificate of our own in a folder of its own, and a client of TLS
 * that has its bytes in memory
 */
#ifndef TESTS_LINK_TLS_FIXTURE_H
#define TESTS_LINK_TLS_FIXTURE_H

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "link/tls.h"
#include "support/test.h"

/* Where a key and its certificate are. */
struct tls_files {
    char folder[32];
    char certificate[64], key[64];
};

static inline X509 *
tls_certificate_make(EVP_PKEY *key)
{
    X509 *x = X509_new();
    X509_NAME *name;

    assert_non_null(x);
    ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
    X509_gmtime_adj(X509_getm_notBefore(x), -3600);
    X509_gmtime_adj(X509_getm_notAfter(x), 3600);
    X509_set_pubkey(x, key);
    name = X509_get_subject_name(x);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                               (const unsigned char *)"localhost", -1, -1, 0);
    X509_set_issuer_name(x, name);
    assert_true(X509_sign(x, key, EVP_sha256()) > 0);
    return x;
}

static inline void
tls_files_open(struct tls_files *files, EVP_PKEY *key)
{
    X509 *x;
    FILE *file;

    assert_non_null(key);
    x = tls_certificate_make(key);
    strcpy(files->folder, "/tmp/tls-XXXXXX");
    assert_non_null(mkdtemp(files->folder));
    snprintf(files->certificate, sizeof(files->certificate), "%s/cert", files->folder);
    snprintf(files->key, sizeof(files->key), "%s/key", files->folder);
    file = fopen(files->certificate, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, x), 1);
    fclose(file);
    file = fopen(files->key, "w");
    assert_non_null(file);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    fclose(file);
    X509_free(x);
    EVP_PKEY_free(key);
}

static inline void
tls_files_close(struct tls_files *files)
{
    unlink(files->certificate);
    unlink(files->key);
    assert_int_equal(rmdir(files->folder), 0);
}

/* With this key, which is freed. */
static inline struct mcpi_tls_context *
tls_context_of(const mcp_allocator *mem, EVP_PKEY *key)
{
    struct mcpi_tls_context *context = NULL;
    struct tls_files files;

    tls_files_open(&files, key);
    assert_int_equal(
        mcpi_tls_context_new(mem, files.certificate, files.key, &context, NULL), 0);
    tls_files_close(&files);
    return context;
}

static inline struct mcpi_tls_context *
tls_context(const mcp_allocator *mem)
{
    return tls_context_of(mem, EVP_EC_gen("P-256"));
}

/* ---- a client -------------------------------------------------------------------- */

struct tls_client {
    SSL_CTX *ctx;
    SSL *ssl;
    BIO *in, *out; /* its ends of the wire; the session's */
};

static inline void
tls_client_open(struct tls_client *c, int version)
{
    c->ctx = SSL_CTX_new(TLS_client_method());
    assert_non_null(c->ctx);
    if (version != 0) {
        SSL_CTX_set_min_proto_version(c->ctx, version);
        SSL_CTX_set_max_proto_version(c->ctx, version);
    }
    c->ssl = SSL_new(c->ctx);
    assert_non_null(c->ssl);
    c->in = BIO_new(BIO_s_mem());
    c->out = BIO_new(BIO_s_mem());
    SSL_set_bio(c->ssl, c->in, c->out);
    SSL_set_connect_state(c->ssl);
}

static inline void
tls_client_close(struct tls_client *c)
{
    SSL_free(c->ssl);
    SSL_CTX_free(c->ctx);
    ERR_clear_error();
}

/* What it wants to send, at most room bytes. */
static inline size_t
tls_client_take(struct tls_client *c, char *into, size_t room)
{
    int n = BIO_read(c->out, into, (int)room);

    return n > 0 ? (size_t)n : 0;
}

static inline void
tls_client_give(struct tls_client *c, const char *data, size_t len)
{
    if (len > 0)
        assert_int_equal(BIO_write(c->in, data, (int)len), (int)len);
}

/* Go on with the handshake, or read; what was read, -1: nothing, 0: the end. */
static inline int
tls_client_read(struct tls_client *c, char *into, size_t room)
{
    int n;

    ERR_clear_error();
    n = SSL_read(c->ssl, into, (int)room);
    if (n > 0)
        return n;
    return SSL_get_error(c->ssl, n) == SSL_ERROR_WANT_READ ? -1 : 0;
}

/* What OpenSSL allocates once and keeps comes before the baseline. */
static inline void
tls_warm_up(void)
{
    static const int versions[] = {TLS1_2_VERSION, TLS1_3_VERSION};
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *x = tls_certificate_make(key);
    SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
    char bytes[65536];

    SSL_CTX_use_certificate(ctx, x);
    SSL_CTX_use_PrivateKey(ctx, key);
    for (size_t i = 0; i < 2; i++) {
        SSL *server = SSL_new(ctx);
        BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
        struct tls_client client;
        size_t len;

        SSL_set_bio(server, in, out);
        SSL_set_accept_state(server);
        tls_client_open(&client, versions[i]);
        for (int round = 0; round < 5; round++) {
            (void)tls_client_read(&client, bytes, sizeof(bytes));
            len = tls_client_take(&client, bytes, sizeof(bytes));
            (void)BIO_write(in, bytes, (int)len);
            (void)SSL_do_handshake(server);
            len = (size_t)BIO_read(out, bytes, sizeof(bytes));
            tls_client_give(&client, bytes, (int)len > 0 ? len : 0);
        }
        tls_client_close(&client);
        SSL_free(server);
    }
    SSL_CTX_free(ctx);
    X509_free(x);
    EVP_PKEY_free(key);
    ERR_clear_error();
}

/* As TEST_MAIN. */
#define TLS_TEST_MAIN(...)                                                 \
    int main(void)                                                         \
    {                                                                      \
        static const struct test_case cases[] = {__VA_ARGS__};             \
                                                                           \
        tls_warm_up();                                                     \
        return test_main(__FILE__, cases, sizeof cases / sizeof cases[0]); \
    }

#endif
