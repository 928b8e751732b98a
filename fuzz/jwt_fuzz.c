/*
 * jwt_fuzz.c - tokens, proofs and keys of anybody: read, judged, and never believed
 *
 * The first byte says what the rest is: a token or proof as it comes (a); its header and
 * claims, with a newline between, which are encoded and signed here (s), so that more than
 * noise gets past the signature; or a key as JSON (k).
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "auth/dpop.h"
#include "base/base64.h"

#define NOW 1700000000
#define URL "https://a.example/mcp"
#define NAME_LENGTH (MCPI_KEY_THUMBPRINT_SIZE - 1)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* RFC 7515, A.3. */
static const char key_text[] = "{\"kty\":\"EC\",\"crv\":\"P-256\","
                               "\"x\":\"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU\","
                               "\"y\":\"x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0\","
                               "\"d\":\"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI\"}";

static struct mcpi_key *
key_read(const char *text, size_t len)
{
    struct mcpi_key *key = NULL;
    mcp_doc *doc = NULL;

    if (mcp_doc_parse(text, len, NULL, &doc, NULL) < 0)
        return NULL;
    if (mcpi_key_from_jwk(NULL, mcp_doc_root(doc), &key) < 0 && key)
        abort();
    mcp_doc_free(doc);
    return key;
}

/* For the life of the process. */
static const struct mcpi_key *
key_fixed(void)
{
    static struct mcpi_key *key;

    if (!key)
        key = key_read(key_text, sizeof(key_text) - 1);
    if (!key)
        abort();
    return key;
}

/* ---- tokens ------------------------------------------------------------- */

/* Who did not sign it here has not signed it: the key's secret is not in the fuzzer. */
static void
try_token(const char *text, size_t len, bool may_be_signed)
{
    static const struct mcpi_jwt_rules rules = {.issuer = "https://i.example",
                                                .audience = URL,
                                                .now = NOW,
                                                .leeway = 60,
                                                .needs_expiry = true};
    struct mcpi_jwt jwt;
    const char *fault;

    if (mcpi_jwt_read(NULL, text, len, &jwt) < 0)
        return;
    if (jwt.signed_part != text || jwt.signed_len >= len || jwt.signature.len == 0)
        abort();
    if (mcpi_jwt_is_signed_by(&jwt, key_fixed()) &&
        (!may_be_signed || strcmp(jwt.alg, "ES256") != 0))
        abort();
    fault = mcpi_jwt_fault(&jwt, &rules);
    if (!fault && !mcp_json_is_string(mcp_json_get(jwt.claims, "iss"), rules.issuer))
        abort();
    if (fault && !fault[0])
        abort();
    mcpi_jwt_done(&jwt);
}

/* A string that ends at its first NUL, as a header of HTTP does. */
static void
try_proof(const char *text, size_t len)
{
    struct mcpi_dpop what = {.method = "POST", .url = URL, .now = NOW};
    char thumbprint[MCPI_KEY_THUMBPRINT_SIZE], jti[MCPI_KEY_THUMBPRINT_SIZE];
    char *proof = malloc(len + 1);
    const char *fault;
    bool wants_nonce;

    if (!proof)
        abort();
    memcpy(proof, text, len);
    proof[len] = '\0';
    fault = mcpi_dpop_fault(NULL, proof, &what, thumbprint, jti, &wants_nonce);
    if (wants_nonce)
        abort();
    if (!fault && (strlen(thumbprint) != NAME_LENGTH || strlen(jti) != NAME_LENGTH))
        abort();
    what.nonce = "nonce"; /* one more thing to lack, and nothing else */
    fault = mcpi_dpop_fault(NULL, proof, &what, thumbprint, jti, &wants_nonce);
    if (wants_nonce && !fault)
        abort();
    free(proof);
}

static void
try_signed(const char *text, size_t len)
{
    const char *line = memchr(text, '\n', len);
    struct mcpi_buf token, signature;

    if (!line)
        return;
    mcpi_buf_init(&token, NULL, 1 << 20);
    mcpi_buf_init(&signature, NULL, MCPI_KEY_SIGNATURE_MAX);
    mcpi_base64url_write(&token, text, (size_t)(line - text));
    mcpi_buf_char(&token, '.');
    mcpi_base64url_write(&token, line + 1, (size_t)(text + len - line - 1));
    if (mcpi_key_sign(key_fixed(), token.data, token.len, &signature) < 0)
        abort();
    mcpi_buf_char(&token, '.');
    mcpi_base64url_write(&token, signature.data, signature.len);
    if (token.status == 0) {
        try_token(token.data, token.len, true);
        try_proof(token.data, token.len);
    }
    mcpi_buf_done(&token);
    mcpi_buf_done(&signature);
}

/* ---- keys --------------------------------------------------------------- */

/* What was read can be written, and is the same when it is read again. */
static void
try_key(const char *text, size_t len)
{
    struct mcpi_key *key = key_read(text, len), *again;
    char prints[2][MCPI_KEY_THUMBPRINT_SIZE];
    struct mcpi_buf buf;

    if (!key)
        return;
    mcpi_buf_init(&buf, NULL, 1 << 20);
    if (mcpi_key_write(key, mcpi_key_is_private(key), &buf) < 0)
        abort();
    again = key_read(buf.data, buf.len);
    if (!again || mcpi_key_is_private(again) != mcpi_key_is_private(key) ||
        mcpi_key_thumbprint(key, prints[0]) < 0 ||
        mcpi_key_thumbprint(again, prints[1]) < 0 || strcmp(prints[0], prints[1]) != 0)
        abort();
    if (mcpi_key_verify(key, text, len, text, len))
        abort();
    mcpi_buf_done(&buf);
    mcpi_key_unref(key);
    mcpi_key_unref(again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data + 1;

    if (size == 0)
        return 0;
    switch (data[0]) {
    case 's':
        try_signed(text, size - 1);
        break;
    case 'k':
        try_key(text, size - 1);
        break;
    default:
        try_token(text, size - 1, false);
        try_proof(text, size - 1);
        break;
    }
    return 0;
}
