/* support/tls_pair.c - a certificate for this machine, made for a test */
#include "support/tls_pair.h"

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "support/test.h"

enum { DAY_S = 86400 };

static void
extension_add(X509 *certificate, int kind, const char *value)
{
    X509_EXTENSION *extension;
    X509V3_CTX context;

    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
    assert_non_null(extension);
    assert_int_equal(X509_add_ext(certificate, extension, -1), 1);
    X509_EXTENSION_free(extension);
}

static X509 *
certificate_make(EVP_PKEY *key)
{
    static const unsigned char name[] = "localhost";
    X509 *certificate = X509_new();
    X509_NAME *subject;

    assert_non_null(certificate);
    assert_int_equal(X509_set_version(certificate, 2), 1);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
    X509_gmtime_adj(X509_getm_notBefore(certificate), -DAY_S);
    X509_gmtime_adj(X509_getm_notAfter(certificate), DAY_S);
    X509_set_pubkey(certificate, key);
    subject = X509_get_subject_name(certificate);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, name, -1, -1, 0);
    X509_set_issuer_name(certificate, subject);
    extension_add(certificate, NID_subject_alt_name, "IP:127.0.0.1,DNS:localhost");
    assert_true(X509_sign(certificate, key, EVP_sha256()) > 0);
    return certificate;
}

/*
 * What OpenSSL allocates once and keeps, with the first handshake of a process, comes
 * before the baseline of a test, so before main.
 */
static void __attribute__((constructor)) openssl_warm(void)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate = certificate_make(key);
    SSL_CTX *contexts[2] = {SSL_CTX_new(TLS_server_method()),
                            SSL_CTX_new(TLS_client_method())};
    SSL *ends[2] = {SSL_new(contexts[0]), SSL_new(contexts[1])};
    BIO *bios[2];

    (void)BIO_new_bio_pair(&bios[0], 0, &bios[1], 0);
    for (int i = 0; i < 2; i++)
        SSL_set_bio(ends[i], bios[i], bios[i]);
    (void)SSL_use_certificate(ends[0], certificate);
    (void)SSL_use_PrivateKey(ends[0], key);
    SSL_set_accept_state(ends[0]);
    SSL_set_connect_state(ends[1]);
    for (int i = 0; i < 16; i++) /* in turns: each waits for the other */
        (void)SSL_do_handshake(ends[i % 2]);
    for (int i = 0; i < 2; i++) {
        SSL_free(ends[i]);
        SSL_CTX_free(contexts[i]);
    }
    X509_free(certificate);
    EVP_PKEY_free(key);
    ERR_clear_error();
}

void
tls_pair_make(struct tls_pair *pair)
{
    EVP_PKEY *key = EVP_EC_gen("P-256");
    X509 *certificate;
    FILE *file;

    assert_non_null(key);
    certificate = certificate_make(key);
    (void)snprintf(pair->folder, sizeof(pair->folder), "/tmp/mcp-tls-XXXXXX");
    assert_non_null(mkdtemp(pair->folder));
    (void)snprintf(pair->certificate, sizeof(pair->certificate), "%s/certificate.pem",
                   pair->folder);
    (void)snprintf(pair->key, sizeof(pair->key), "%s/key.pem", pair->folder);
    file = fopen(pair->certificate, "wxe");
    assert_non_null(file);
    assert_int_equal(PEM_write_X509(file, certificate), 1);
    assert_int_equal(fclose(file), 0);
    file = fopen(pair->key, "wxe");
    assert_non_null(file);
    assert_int_equal(PEM_write_PrivateKey(file, key, NULL, NULL, 0, NULL, NULL), 1);
    assert_int_equal(fclose(file), 0);
    X509_free(certificate);
    EVP_PKEY_free(key);
}

void
tls_pair_remove(struct tls_pair *pair)
{
    assert_int_equal(unlink(pair->certificate), 0);
    assert_int_equal(unlink(pair->key), 0);
    assert_int_equal(rmdir(pair->folder), 0);
}

static struct tls_pair shared;

static void
shared_remove(void)
{
    tls_pair_remove(&shared);
}

const struct tls_pair *
tls_pair_shared(void)
{
    if (!shared.folder[0]) {
        tls_pair_make(&shared);
        assert_int_equal(atexit(shared_remove), 0);
    }
    return &shared;
}

SSL_CTX *
tls_pair_client(const struct tls_pair *pair)
{
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());

    assert_non_null(context);
    assert_int_equal(SSL_CTX_load_verify_file(context, pair->certificate), 1);
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    return context;
}
