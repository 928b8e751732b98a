/*
 * tls.c - TLS as a filter of bytes, over OpenSSL
 *
 * OpenSSL reads from and writes to a BIO of ours, which has nothing of its own: it looks at
 * the bytes of the call that is under way and appends to the buffer of that call. So there
 * is one copy less each way, and an idle session holds no bytes.
 *
 * OpenSSL's queue of errors is one for each thread, shared with the program: it is emptied
 * before each call whose outcome we look at, and after each that failed.
 */
#include "link/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"
#include "base/text.h"
#include "run/tls_ciphers.h"

#define RECORD 16384 /* plain text of one record at the most */

struct mcpi_tls_context {
    const mcp_allocator *mem;
    SSL_CTX *ctx;
    BIO_METHOD *method;
    atomic_int refs;
};

struct mcpi_tls {
    struct mcpi_tls_context *context;
    SSL *ssl;
    const char *in; /* of the call that is under way */
    size_t in_len;
    struct mcpi_buf *wire; /* likewise; NULL: none is */
    bool broken;           /* nothing can be said any more */
};

/* ---- the BIO ----------------------------------------------------------------- */

static int
bio_read(BIO *bio, char *into, int room)
{
    struct mcpi_tls *tls = BIO_get_data(bio);
    size_t len = (size_t)room;

    BIO_clear_retry_flags(bio);
    if (room <= 0)
        return 0;
    if (tls->in_len == 0) {
        BIO_set_retry_read(bio);
        return -1;
    }
    if (len > tls->in_len)
        len = tls->in_len;
    memcpy(into, tls->in, len);
    tls->in += len;
    tls->in_len -= len;
    return (int)len;
}

static int
bio_write(BIO *bio, const char *data, int len)
{
    struct mcpi_tls *tls = BIO_get_data(bio);

    BIO_clear_retry_flags(bio);
    if (len <= 0)
        return 0;
    if (!tls->wire)
        return -1;
    mcpi_buf_append(tls->wire, data, (size_t)len);
    return tls->wire->status < 0 ? -1 : len;
}

static long
bio_ctrl(BIO *bio, int command, long number, void *pointer)
{
    (void)bio, (void)number, (void)pointer;
    return command == BIO_CTRL_FLUSH ? 1 : 0;
}

static BIO_METHOD *
bio_method_new(void)
{
    BIO_METHOD *method = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "mcp");

    if (method && BIO_meth_set_read(method, bio_read) &&
        BIO_meth_set_write(method, bio_write) && BIO_meth_set_ctrl(method, bio_ctrl))
        return method;
    BIO_meth_free(method);
    return NULL;
}

/* ---- the context ------------------------------------------------------------- */

/* HTTP/1.1 is all we speak; a client that says so and cannot is told at once. */
static int
on_protocols(SSL *ssl, const unsigned char **ret, unsigned char *ret_len,
             const unsigned char *offered, unsigned int offered_len, void *user)
{
    static const unsigned char ours[] = "\x08http/1.1";
    unsigned char *chosen;

    (void)ssl, (void)user;
    if (SSL_select_next_proto(&chosen, ret_len, ours, sizeof(ours) - 1, offered,
                              offered_len) != OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *ret = chosen;
    return SSL_TLSEXT_ERR_OK;
}

/* A key with a password would be asked for on the terminal. */
static int
on_password(char *into, int size, int writing, void *user)
{
    (void)into, (void)size, (void)writing, (void)user;
    return -1;
}

static int
context_fail(mcp_error *err, const char *what, const char *path)
{
    const char *why = ERR_reason_error_string(ERR_peek_last_error());

    ERR_clear_error();
    return mcpi_error_set(err, MCP_E_INVAL, "cannot use the %s %.200s: %s", what, path,
                          why ? why : "it cannot be read");
}

static int
context_load(struct mcpi_tls_context *c, const char *certificate, const char *key,
             mcp_error *err)
{
    ERR_clear_error();
    if (SSL_CTX_use_certificate_chain_file(c->ctx, certificate) != 1)
        return context_fail(err, "certificate", certificate);
    if (SSL_CTX_use_PrivateKey_file(c->ctx, key, SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(c->ctx) != 1)
        return context_fail(err, "key", key);
    return 0;
}

/* Sessions are resumed by tickets, which we need not remember. */
static int
context_set(SSL_CTX *ctx)
{
    if (SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) != 1 ||
        SSL_CTX_set_cipher_list(ctx, MCPI_TLS_CIPHERS) != 1)
        return MCP_E_NOMEM;
    (void)SSL_CTX_set_options(ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                       SSL_OP_CIPHER_SERVER_PREFERENCE);
    (void)SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
    (void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_alpn_select_cb(ctx, on_protocols, NULL);
    SSL_CTX_set_default_passwd_cb(ctx, on_password);
    return 0;
}

int
mcpi_tls_context_new(const mcp_allocator *mem, const char *certificate, const char *key,
                     struct mcpi_tls_context **ret, mcp_error *err)
{
    struct mcpi_tls_context *c;
    int r = MCP_E_NOMEM;

    mem = mcpi_mem_or_malloc(mem);
    c = mcpi_alloc_zero(mem, sizeof(*c));
    if (!c)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    c->mem = mem;
    atomic_init(&c->refs, 1);
    c->method = bio_method_new();
    c->ctx = SSL_CTX_new(TLS_server_method());
    if (c->method && c->ctx)
        r = context_set(c->ctx);
    if (r == 0)
        r = context_load(c, certificate, key, err);
    else
        (void)mcpi_error_set(err, r, "%s", mcp_status_text(r));
    if (r < 0) {
        ERR_clear_error();
        mcpi_tls_context_unref(c);
        return r;
    }
    *ret = c;
    return 0;
}

struct mcpi_tls_context *
mcpi_tls_context_ref(struct mcpi_tls_context *context)
{
    atomic_fetch_add_explicit(&context->refs, 1, memory_order_relaxed);
    return context;
}

void
mcpi_tls_context_unref(struct mcpi_tls_context *context)
{
    if (!context ||
        atomic_fetch_sub_explicit(&context->refs, 1, memory_order_acq_rel) > 1)
        return;
    SSL_CTX_free(context->ctx);
    BIO_meth_free(context->method);
    mcpi_free(context->mem, context);
}

/* ---- a session ----------------------------------------------------------------- */

/* Both directions are the same BIO; the session owns it. */
static int
tls_open(struct mcpi_tls *tls)
{
    BIO *bio;

    tls->ssl = SSL_new(tls->context->ctx);
    if (!tls->ssl)
        return MCP_E_NOMEM;
    bio = BIO_new(tls->context->method);
    if (!bio)
        return MCP_E_NOMEM;
    BIO_set_data(bio, tls);
    BIO_set_init(bio, 1);
    SSL_set_bio(tls->ssl, bio, bio);
    SSL_set_accept_state(tls->ssl);
    return 0;
}

int
mcpi_tls_new(struct mcpi_tls_context *context, struct mcpi_tls **ret_tls)
{
    struct mcpi_tls *tls = mcpi_alloc_zero(context->mem, sizeof(*tls));
    int r;

    if (!tls)
        return MCP_E_NOMEM;
    tls->context = mcpi_tls_context_ref(context);
    ERR_clear_error();
    r = tls_open(tls);
    if (r < 0) {
        ERR_clear_error();
        mcpi_tls_free(tls);
        return r;
    }
    *ret_tls = tls;
    return 0;
}

void
mcpi_tls_free(struct mcpi_tls *tls)
{
    const mcp_allocator *mem;

    if (!tls)
        return;
    mem = tls->context->mem;
    SSL_free(tls->ssl);
    mcpi_tls_context_unref(tls->context);
    mcpi_free(mem, tls);
}

bool
mcpi_tls_is_ready(const struct mcpi_tls *tls)
{
    return !tls->broken && SSL_is_init_finished(tls->ssl);
}

static int
tls_fail(struct mcpi_tls *tls, const struct mcpi_buf *plain)
{
    tls->broken = true;
    ERR_clear_error();
    if (tls->wire->status < 0 || (plain && plain->status < 0))
        return MCP_E_NOMEM;
    return MCP_E_PROTO;
}

/* One record at a time. 1: there may be more. */
static int
tls_read(struct mcpi_tls *tls, struct mcpi_buf *plain)
{
    char *into = mcpi_buf_reserve(plain, RECORD);
    size_t len = 0;

    if (!into)
        return tls_fail(tls, plain);
    ERR_clear_error();
    if (SSL_read_ex(tls->ssl, into, RECORD, &len)) {
        mcpi_buf_commit(plain, len);
        return 1;
    }
    switch (SSL_get_error(tls->ssl, 0)) {
    case SSL_ERROR_WANT_READ:
        return 0;
    case SSL_ERROR_ZERO_RETURN:
        return MCP_E_CLOSED;
    default:
        return tls_fail(tls, plain);
    }
}

int
mcpi_tls_receive(struct mcpi_tls *tls, const char *data, size_t len,
                 struct mcpi_buf *plain, struct mcpi_buf *wire)
{
    int r = tls->broken ? MCP_E_PROTO : 1;

    tls->in = data;
    tls->in_len = len;
    tls->wire = wire;
    while (r > 0)
        r = tls_read(tls, plain);
    tls->in = NULL;
    tls->in_len = 0;
    tls->wire = NULL;
    return r;
}

int
mcpi_tls_send(struct mcpi_tls *tls, const char *data, size_t len, struct mcpi_buf *wire)
{
    size_t written;
    int r = 0;

    if (tls->broken)
        return MCP_E_PROTO;
    if (!SSL_is_init_finished(tls->ssl))
        return MCP_E_STATE;
    if (len == 0)
        return 0;
    tls->wire = wire;
    ERR_clear_error();
    if (!SSL_write_ex(tls->ssl, data, len, &written))
        r = tls_fail(tls, NULL);
    tls->wire = NULL;
    return r;
}

void
mcpi_tls_finish(struct mcpi_tls *tls, struct mcpi_buf *wire)
{
    if (!mcpi_tls_is_ready(tls))
        return;
    tls->wire = wire;
    ERR_clear_error();
    (void)SSL_shutdown(tls->ssl); /* the other side's is not waited for */
    ERR_clear_error();
    tls->wire = NULL;
    tls->broken = true;
}
