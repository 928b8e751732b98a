/* auth/jwt_fixture.h - tokens with any header and any claims, signed or not */
#ifndef TESTS_AUTH_JWT_FIXTURE_H
#define TESTS_AUTH_JWT_FIXTURE_H

#include "auth/jwt.h"
#include "auth/key_fixture.h"

struct token {
    struct mcpi_buf text; /* terminated; its length is without that */
};

static inline void
token_part(struct token *token, const char *json)
{
    struct mcpi_buf part;

    mcpi_buf_init(&part, NULL, 1 << 20);
    json_append(&part, json);
    mcpi_base64url_write(&token->text, part.data, part.len);
    mcpi_buf_done(&part);
}

/* header.claims, texts of JSON with ' for ". */
static inline void
token_begin(struct token *token, const char *head, const char *claims)
{
    mcpi_buf_init(&token->text, NULL, 1 << 20);
    token_part(token, head);
    mcpi_buf_char(&token->text, '.');
    token_part(token, claims);
}

static inline void
token_end(struct token *token, const void *signature, size_t len)
{
    mcpi_buf_char(&token->text, '.');
    mcpi_base64url_write(&token->text, signature, len);
    mcpi_buf_append(&token->text, "", 1);
    assert_int_equal(token->text.status, 0);
    token->text.len--;
}

/* Signed as the key signs, whatever the header says. */
static inline void
token_make(struct token *token, const char *head, const char *claims, const char *jwk)
{
    struct mcpi_key *key = key_of(jwk);
    struct mcpi_buf signature;

    token_begin(token, head, claims);
    mcpi_buf_init(&signature, NULL, MCPI_KEY_SIGNATURE_MAX);
    assert_int_equal(mcpi_key_sign(key, token->text.data, token->text.len, &signature),
                     0);
    token_end(token, signature.data, signature.len);
    mcpi_buf_done(&signature);
    mcpi_key_unref(key);
}

static inline void
token_done(struct token *token)
{
    mcpi_buf_done(&token->text);
}

#endif
