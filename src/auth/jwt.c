/* jwt.c - JSON Web Tokens, compact and signed: written, read, checked */
#include "auth/jwt.h"

#include <string.h>

#include "auth/key_inside.h"
#include "base/base64.h"
#include "json/value.h"

/* A header of ours: names, and a key at the most. */
#define HEAD_MAX 4096

/* Times are seconds from 1970 to here, which all JSON has exactly (RFC 7493, 2.2). What
 * lies beyond is no time, so that no sum of two is beyond what we count with. */
#define TIME_MAX ((int64_t)1 << 53)

/* ---- written ----------------------------------------------------------------- */

static int
member_add(struct mcpi_buf *head, const char *name, const char *text)
{
    if (!text)
        return 0;
    mcpi_buf_text(head, name);
    return mcpi_json_write_string(head, text, strlen(text));
}

static int
head_write(const struct mcpi_jwt_make *make, struct mcpi_buf *head)
{
    int r = member_add(head, "{\"alg\":", mcpi_key_alg(make->key));

    if (r == 0)
        r = member_add(head, ",\"typ\":", make->typ);
    if (r == 0 && make->with_key) {
        MCPI_BUF_LITERAL(head, ",\"jwk\":");
        r = mcpi_key_write(make->key, false, head);
    } else if (r == 0) {
        r = member_add(head, ",\"kid\":", make->kid);
    }
    mcpi_buf_char(head, '}');
    return r < 0 ? r : head->status;
}

static int
signature_write(const struct mcpi_key *key, size_t from, struct mcpi_buf *into)
{
    char bytes[MCPI_KEY_SIGNATURE_MAX];
    struct mcpi_buf signature = mcpi_buf_over(bytes, sizeof(bytes));
    int r = into->status;

    if (r == 0)
        r = mcpi_key_sign(key, into->data + from, into->len - from, &signature);
    if (r < 0)
        return r;
    mcpi_buf_char(into, '.');
    mcpi_base64url_write(into, signature.data, signature.len);
    return into->status;
}

int
mcpi_jwt_write(const struct mcpi_jwt_make *make, struct mcpi_buf *into)
{
    size_t before = into->len;
    struct mcpi_buf head;
    int r;

    mcpi_buf_init(&head, into->mem, HEAD_MAX);
    r = head_write(make, &head);
    if (r == 0) {
        mcpi_base64url_write(into, head.data, head.len);
        mcpi_buf_char(into, '.');
        mcpi_base64url_write(into, make->claims, make->claims_len);
        r = signature_write(make->key, before, into);
    }
    mcpi_buf_done(&head);
    if (r < 0)
        mcpi_buf_truncate(into, before);
    return r;
}

/* ---- read -------------------------------------------------------------------- */

/* The three parts between two dots. */
struct parts {
    const char *text[3];
    size_t len[3];
};

static bool
parts_find(const char *text, size_t len, struct parts *ret)
{
    const char *end = text + len, *dot;

    for (int i = 0; i < 3; i++) {
        dot = memchr(text, '.', (size_t)(end - text));
        if ((dot == NULL) != (i == 2))
            return false;
        ret->text[i] = text;
        ret->len[i] = (size_t)((dot ? dot : end) - text);
        text = dot ? dot + 1 : end;
        if (ret->len[i] == 0)
            return false;
    }
    return true;
}

static void
buf_wipe(struct mcpi_buf *buf)
{
    if (buf->data)
        explicit_bzero(buf->data, buf->cap);
    mcpi_buf_done(buf);
}

static int
object_parse(const mcp_allocator *mem, const char *text, size_t len, mcp_doc **ret_doc)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = mem,
                                                  .max_bytes = MCPI_JWT_BYTES_MAX,
                                                  .max_depth = MCPI_JWT_DEPTH_MAX,
                                                  .unique_keys = true);
    mcp_doc *doc = NULL;
    int r = mcp_doc_parse(text, len, &opt, &doc, NULL);

    if (r < 0)
        return r == MCP_E_SYNTAX ? MCP_E_INVAL : r;
    if (mcp_json_get_type(mcp_doc_root(doc)) != MCP_JSON_OBJECT) {
        mcp_doc_free(doc);
        return MCP_E_INVAL;
    }
    *ret_doc = doc;
    return 0;
}

static int
object_read(const mcp_allocator *mem, const char *part, size_t len, mcp_doc **ret_doc)
{
    struct mcpi_buf json;
    int r;

    mcpi_buf_init(&json, mem, MCPI_JWT_BYTES_MAX);
    r = mcpi_base64url_read(&json, part, len);
    if (r == 0)
        r = object_parse(mem, json.data, json.len, ret_doc);
    buf_wipe(&json);
    return r;
}

/* A member that is a text if it is there; with a U+0000 it is none. */
static int
head_text(const mcp_json *head, const char *name, const char **ret_text)
{
    const mcp_json *value = mcp_json_get(head, name);
    const char *text = mcp_json_string(value, value ? NULL : "");

    if (!text || strlen(text) != mcp_json_string_length(value))
        return MCP_E_INVAL;
    *ret_text = text;
    return 0;
}

/* RFC 7515, 4.1.11: who has to understand something and does not must refuse. */
static int
head_read(struct mcpi_jwt *jwt)
{
    int r = mcp_json_get(jwt->head, "crit") ? MCP_E_INVAL : 0;

    if (r == 0)
        r = head_text(jwt->head, "alg", &jwt->alg);
    if (r == 0)
        r = head_text(jwt->head, "kid", &jwt->kid);
    if (r == 0)
        r = head_text(jwt->head, "typ", &jwt->typ);
    return r == 0 && !jwt->alg[0] ? MCP_E_INVAL : r;
}

static int
jwt_read_parts(const mcp_allocator *mem, const struct parts *parts,
               struct mcpi_jwt *jwt)
{
    int r = object_read(mem, parts->text[0], parts->len[0], &jwt->head_doc);

    if (r == 0)
        r = object_read(mem, parts->text[1], parts->len[1], &jwt->claims_doc);
    if (r == 0)
        r = mcpi_base64url_read(&jwt->signature, parts->text[2], parts->len[2]);
    if (r < 0)
        return r;
    jwt->head = mcp_doc_root(jwt->head_doc);
    jwt->claims = mcp_doc_root(jwt->claims_doc);
    jwt->signed_part = parts->text[0];
    jwt->signed_len = parts->len[0] + 1 + parts->len[1];
    return head_read(jwt);
}

int
mcpi_jwt_read(const mcp_allocator *mem, const char *text, size_t len,
              struct mcpi_jwt *ret_jwt)
{
    struct mcpi_jwt jwt = {0};
    struct parts parts;
    int r;

    if (len > MCPI_JWT_BYTES_MAX)
        return MCP_E_LIMIT;
    if (!parts_find(text, len, &parts))
        return MCP_E_INVAL;
    mcpi_buf_init(&jwt.signature, mem, MCPI_JWT_BYTES_MAX);
    r = jwt_read_parts(mem, &parts, &jwt);
    if (r < 0)
        mcpi_jwt_done(&jwt);
    else
        *ret_jwt = jwt;
    return r;
}

void
mcpi_jwt_done(struct mcpi_jwt *jwt)
{
    mcp_doc_free(jwt->head_doc);
    mcp_doc_free(jwt->claims_doc);
    if (jwt->signature.data)
        buf_wipe(&jwt->signature);
    *jwt = (struct mcpi_jwt){0};
}

/* ---- checked ----------------------------------------------------------------- */

bool
mcpi_jwt_is_signed_by(const struct mcpi_jwt *jwt, const struct mcpi_key *key)
{
    return strcmp(jwt->alg, mcpi_key_alg(key)) == 0 &&
           mcpi_key_verify(key, jwt->signed_part, jwt->signed_len, jwt->signature.data,
                           jwt->signature.len);
}

/* Fractions are allowed (RFC 7519, 2), and left away. */
static bool
time_read(const mcp_json *value, int64_t *ret_time)
{
    double real = mcp_json_number(value, -1);

    if (mcp_json_get_type(value) == MCP_JSON_INTEGER)
        return mcp_json_to_int64(value, ret_time) == 0 && *ret_time >= 0 &&
               *ret_time <= TIME_MAX;
    if (!(real >= 0 && real <= (double)TIME_MAX))
        return false;
    *ret_time = (int64_t)real;
    return true;
}

static bool
time_is_over(int64_t time, const struct mcpi_jwt_rules *rules)
{
    return rules->now >= time && rules->now - time >= rules->leeway;
}

static bool
time_is_ahead(int64_t time, const struct mcpi_jwt_rules *rules)
{
    return time > rules->now &&
           (uint64_t)time - (uint64_t)rules->now > (uint64_t)rules->leeway;
}

static const char *
times_fault(const mcp_json *claims, const struct mcpi_jwt_rules *rules)
{
    const mcp_json *exp = mcp_json_get(claims, "exp");
    const mcp_json *nbf = mcp_json_get(claims, "nbf");
    const mcp_json *iat = mcp_json_get(claims, "iat");
    int64_t time;

    if (!exp && rules->needs_expiry)
        return "the token has no expiry";
    if (exp && !time_read(exp, &time))
        return "the token's expiry is no time";
    if (exp && time_is_over(time, rules))
        return "the token has expired";
    if (nbf && !time_read(nbf, &time))
        return "the token's not-before is no time";
    if (nbf && time_is_ahead(time, rules))
        return "the token is not valid yet";
    if (iat && !time_read(iat, &time))
        return "the token's time of issue is no time";
    return NULL;
}

static bool
audience_has(const mcp_json *aud, const char *audience)
{
    mcp_json_iterator it;
    bool has = false;

    if (mcp_json_get_type(aud) == MCP_JSON_STRING)
        return mcp_json_is_string(aud, audience);
    if (mcp_json_get_type(aud) != MCP_JSON_ARRAY)
        return false;
    for (it = mcp_json_each(aud); mcp_json_next(&it);) {
        if (mcp_json_get_type(it.value) != MCP_JSON_STRING)
            return false;
        has = has || mcp_json_is_string(it.value, audience);
    }
    return has;
}

const char *
mcpi_jwt_fault(const struct mcpi_jwt *jwt, const struct mcpi_jwt_rules *rules)
{
    if (rules->issuer &&
        !mcp_json_is_string(mcp_json_get(jwt->claims, "iss"), rules->issuer))
        return "the token is from another issuer";
    if (rules->audience &&
        !audience_has(mcp_json_get(jwt->claims, "aud"), rules->audience))
        return "the token is for another audience";
    return times_fault(jwt->claims, rules);
}
