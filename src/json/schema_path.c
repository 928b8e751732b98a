/* schema_path.c - JSON pointers: from a value to its path, and back (RFC 6901) */
#include <string.h>

#include "json/schema.h"

void
mcpi_schema_path_token(struct mcpi_buf *buf, const char *text, size_t len)
{
    mcpi_buf_char(buf, '/');
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '~')
            MCPI_BUF_LITERAL(buf, "~0");
        else if (text[i] == '/')
            MCPI_BUF_LITERAL(buf, "~1");
        else
            mcpi_buf_char(buf, text[i]);
    }
}

/* Append the token for the child of v that value is, or is in; NULL if it is the key of
 * a member. */
static const yyjson_val *
path_step(struct mcpi_buf *buf, const yyjson_val *v, const yyjson_val *value)
{
    bool is_object = mcpi_yy_type(v) == YYJSON_TYPE_OBJ;
    const yyjson_val *child = v + 1 + is_object;
    uint64_t index = 0;

    while (value >= mcpi_yy_next(child)) {
        child = mcpi_yy_next(child) + is_object;
        index++;
    }
    if (value < child)
        return NULL;
    if (is_object) {
        mcpi_schema_path_token(buf, child[-1].uni.str, mcpi_yy_len(child - 1));
    } else {
        mcpi_buf_char(buf, '/');
        mcpi_buf_uint(buf, index);
    }
    return child;
}

void
mcpi_schema_path(struct mcpi_buf *buf, const yyjson_val *root, const yyjson_val *value)
{
    while (root && root != value)
        root = path_step(buf, root, value);
}

/* ---- back ------------------------------------------------------------------ */

/* Does the escaped token say this key? */
static bool
token_is(const char *token, size_t len, const yyjson_val *key)
{
    const char *text = key->uni.str;
    size_t left = mcpi_yy_len(key);

    for (size_t i = 0; i < len; i++, text++, left--) {
        char c = token[i];

        if (c == '~') {
            if (++i == len || (token[i] != '0' && token[i] != '1'))
                return false;
            c = token[i] == '0' ? '~' : '/';
        }
        if (left == 0 || *text != c)
            return false;
    }
    return left == 0;
}

static const yyjson_val *
member_find(const yyjson_val *object, const char *token, size_t len, uint64_t *walked)
{
    const yyjson_val *key = object + 1;

    for (size_t i = mcpi_yy_len(object); i > 0; i--) {
        ++*walked;
        if (token_is(token, len, key))
            return key + 1;
        key = mcpi_yy_next(key + 1);
    }
    return NULL;
}

static const yyjson_val *
element_find(const yyjson_val *array, const char *token, size_t len, uint64_t *walked)
{
    uint64_t index = 0;

    if (len == 0 || len > 18 || (token[0] == '0' && len > 1))
        return NULL;
    for (size_t i = 0; i < len; i++) {
        if (token[i] < '0' || token[i] > '9')
            return NULL;
        index = index * 10 + (uint64_t)(token[i] - '0');
    }
    *walked += index < mcpi_yy_len(array) ? index : 0;
    return mcpi_yy(mcp_json_at(mcpi_yy_json(array), index));
}

const yyjson_val *
mcpi_schema_path_find(const yyjson_val *root, const char *pointer, size_t len,
                      uint64_t *walked)
{
    while (root && len > 0) {
        const char *token = pointer + 1;
        const char *end = memchr(token, '/', len - 1);
        size_t token_len = end ? (size_t)(end - token) : len - 1;

        if (pointer[0] != '/')
            return NULL;
        if (mcpi_yy_type(root) == YYJSON_TYPE_OBJ)
            root = member_find(root, token, token_len, walked);
        else if (mcpi_yy_type(root) == YYJSON_TYPE_ARR)
            root = element_find(root, token, token_len, walked);
        else
            return NULL;
        pointer += token_len + 1;
        len -= token_len + 1;
    }
    return root;
}
