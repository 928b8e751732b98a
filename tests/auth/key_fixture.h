/*
 * auth/key_fixture.h - the keys of the standards, and keys and documents made from texts
 *
 * Texts of JSON have ' where JSON has ".
 */
#ifndef TESTS_AUTH_KEY_FIXTURE_H
#define TESTS_AUTH_KEY_FIXTURE_H

#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "auth/key.h"
#include "base/base64.h"
#include "support/test.h"

/* RFC 7515, A.2. */
#define RSA_N                                                                     \
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-"       \
    "4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47"  \
    "soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2" \
    "CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAc" \
    "o9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ"
#define RSA_D                                                                     \
    "Eq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyWPEAeP88vLNO97IjlA7_GQ5sLKMgvfTe" \
    "XZx9SE-7YwVol2NXOoAJe46sui395IW_GO-pWJ1O0BkTGoVEn2bKVRUCgu-GjBVaYLU6f3l9kJf" \
    "FNS3E0QbVdxzubSu3Mkqzjkn439X0M_V51gfpRLI9JYanrC4D4qAdGcopV_0ZHHzQlBjudU2QvX" \
    "t4ehNYTCBr6XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl_x_jTj3ccPDVZFD9pIuhLhBOneufuBiB" \
    "4cS98l2SR_RQyGWSeWjnczT0QU91p1DhOVRuOopznQ"
#define RSA_P                                                                     \
    "4BzEEOtIpmVdVEZNCqS7baC4crd0pqnRH_5IB3jw3bcxGn6QLvnEtfdUdiYrqBdss1l58BQ3Kho" \
    "oKeQTa9AB0Hw_Py5PJdTJNPY8cQn7ouZ2KKDcmnPGBY5t7yLc1QlQ5xHdwW1VhvKn-nXqhJTBgI" \
    "PgtldC-KDV5z-y2XDwGUc"
#define RSA_REST                                                                  \
    "'q':'uQPEfgmVtjL0Uyyx88GZFF1fOunH3-7cepKmtH4pxhtCoHqpWmT8YAmZxaewHgHAjLYsp1" \
    "ZSe7zFYHj7C6ul7TjeLQeZD_YwD66t62wDmpe_HlB-TnBA-njbglfIsRLtXlnDzQkv5dTltRJ11" \
    "BKBBypeeF6689rjcJIDEz9RWdc',"                                                \
    "'dp':'BwKfV3Akq5_MFZDFZCnW-wzl-CCo83WoZvnLQwCTeDv8uzluRSnm71I3QCLdhrqE2e9Yk" \
    "xvuxdBfpT_PI7Yz-FOKnu1R6HsJeDCjn12Sk3vmAktV2zb34MCdy7cpdTh_YVr7tss2u6vneTwr" \
    "A86rZtu5Mbr1C1XsmvkxHQAdYo0',"                                               \
    "'dq':'h_96-mK1R_7glhsum81dZxjTnYynPbZpHziZjeeHcXYsXaaMwkOlODsWa7I9xXDoRwbKg" \
    "B719rrmI2oKr6N3Do9U0ajaHF-NKJnwgjMd2w9cjz3_-kyNlxAr2v4IKhGNpmM5iIgOS1VZnOZ6" \
    "8m6_pbLBSp3nssTdlqvd0tIiTHU',"                                               \
    "'qi':'IYd7DHOhrWvxkwPQsRM2tOgrjbcrfvtQJipd-DlcxyVuuM9sQLdgjVk2oy26F0EmpScGL" \
    "q2MowX7fhd_QJQ3ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp_gh" \
    "6A5603k2-ZQwVK0JKSHuLFkuQ3U'"
#define RSA_PUBLIC "{'e':'AQAB','kty':'RSA','n':'" RSA_N "'}"
#define RSA_PRIVATE                                                       \
    "{'e':'AQAB','kty':'RSA','n':'" RSA_N "','d':'" RSA_D "','p':'" RSA_P \
    "'," RSA_REST "}"

/* RFC 7515, A.3. */
#define EC_X "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"
#define EC_Y "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"
#define EC_D "jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"
#define EC_MEMBERS "'crv':'P-256','kty':'EC','x':'" EC_X "','y':'" EC_Y "'"
#define EC_PUBLIC "{" EC_MEMBERS "}"
#define EC_PRIVATE "{" EC_MEMBERS ",'d':'" EC_D "'}"

/* RFC 8037, A.1. */
#define ED_X "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"
#define ED_D "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"
#define ED_PUBLIC "{'crv':'Ed25519','kty':'OKP','x':'" ED_X "'}"
#define ED_PRIVATE "{'crv':'Ed25519','kty':'OKP','x':'" ED_X "','d':'" ED_D "'}"

/* Both halves of a token of RFC 7515, A.2 and A.3, and their signatures. */
#define JWS_CLAIMS                                                        \
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGx" \
    "lLmNvbS9pc19yb290Ijp0cnVlfQ"
#define JWS_RSA_TEXT "eyJhbGciOiJSUzI1NiJ9." JWS_CLAIMS
#define JWS_RSA_SIGNATURE                                                         \
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-"  \
    "0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnb" \
    "yTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12j" \
    "zDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98r" \
    "qVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw"
#define JWS_EC_TEXT "eyJhbGciOiJFUzI1NiJ9." JWS_CLAIMS
#define JWS_EC_SIGNATURE                          \
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmX" \
    "FCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"

/* RFC 8037, A.4. */
#define JWS_ED_TEXT "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
#define JWS_ED_SIGNATURE                         \
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR" \
    "6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"

/* ---- texts ----------------------------------------------------------------- */

/* Appends it with " for '. */
static inline void
json_append(struct mcpi_buf *into, const char *text)
{
    size_t before = into->len;

    mcpi_buf_text(into, text);
    assert_int_equal(into->status, 0);
    for (size_t i = before; i < into->len; i++) {
        if (into->data[i] == '\'')
            into->data[i] = '"';
    }
}

static inline mcp_doc *
json_doc(const mcp_allocator *mem, const char *text)
{
    struct mcpi_buf json;
    mcp_doc *doc = NULL;

    mcpi_buf_init(&json, NULL, 1 << 20);
    json_append(&json, text);
    if (mcp_doc_parse(json.data, json.len, &MCP_JSON_OPTIONS(.allocator = mem), &doc,
                      NULL) < 0)
        fail_msg("not JSON: %s", text);
    mcpi_buf_done(&json);
    return doc;
}

static inline void
assert_text(const struct mcpi_buf *buf, const char *wanted)
{
    struct mcpi_buf json;

    mcpi_buf_init(&json, NULL, 1 << 20);
    json_append(&json, wanted);
    assert_int_equal(buf->status, 0);
    assert_int_equal(buf->len, json.len);
    assert_memory_equal(buf->data, json.data, json.len);
    mcpi_buf_done(&json);
}

/* ---- keys ------------------------------------------------------------------ */

static inline int
key_read(const mcp_allocator *mem, const char *text, struct mcpi_key **ret_key)
{
    mcp_doc *doc = json_doc(NULL, text);
    int r = mcpi_key_from_jwk(mem, mcp_doc_root(doc), ret_key);

    mcp_doc_free(doc);
    return r;
}

static inline struct mcpi_key *
key_of(const char *text)
{
    struct mcpi_key *key = NULL;

    if (key_read(NULL, text, &key) < 0)
        fail_msg("no key: %s", text);
    return key;
}

/* The bytes of a base64url text. Returns how many. */
static inline size_t
unbase64(const char *text, unsigned char *into, size_t room)
{
    struct mcpi_buf buf;
    size_t len;

    mcpi_buf_init(&buf, NULL, 1 << 16);
    assert_int_equal(mcpi_base64url_read(&buf, text, strlen(text)), 0);
    assert_true(buf.len <= room);
    len = buf.len;
    memcpy(into, buf.data, len);
    mcpi_buf_done(&buf);
    return len;
}

/* ---- what OpenSSL allocates once and keeps comes before the baseline ------- */

static inline void
openssl_use_key(const char *jwk)
{
    struct mcpi_key *key = key_of(jwk), *wrong = NULL;
    char thumbprint[MCPI_KEY_THUMBPRINT_SIZE];
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, NULL, 1 << 16);
    (void)mcpi_key_sign(key, "x", 1, &buf);
    (void)mcpi_key_verify(key, "y", 1, buf.data, buf.len);
    (void)mcpi_key_thumbprint(key, thumbprint);
    (void)mcpi_key_write(key, true, &buf);
    (void)mcpi_key_from_pem(NULL, "-----BEGIN PRIVATE KEY-----\nMA==\n", &wrong);
    mcpi_buf_done(&buf);
    mcpi_key_unref(key);
}

static void __attribute__((constructor)) openssl_warm(void)
{
    struct mcpi_key *key = NULL;

    (void)mcpi_key_generate(NULL, &key);
    mcpi_key_unref(key);
    openssl_use_key(RSA_PRIVATE);
    openssl_use_key(EC_PRIVATE);
    openssl_use_key(ED_PRIVATE);
}

#endif
