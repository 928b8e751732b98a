/* seal.c - a text that travels through a client and comes back as it was */
#include "api/seal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "base/mem.h"
#include "run/random.h"
#include "json/value.h"

#define VERSION 1
#define EXPIRY 8 /* bytes */
#define HEAD (1 + MCPI_AEAD_NONCE)

int64_t
mcpi_seal_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- what it is bound to ------------------------------------------------ */

struct member {
    const mcp_json *key, *value;
    size_t index;
};

/* By bytes, and keys that stand there twice as they stand there. */
static int
member_compare(const void *a, const void *b)
{
    const struct member *x = a, *y = b;
    size_t x_len = mcp_json_string_length(x->key);
    size_t y_len = mcp_json_string_length(y->key);
    int r = memcmp(mcp_json_string(x->key, ""), mcp_json_string(y->key, ""),
                   x_len < y_len ? x_len : y_len);

    if (r != 0)
        return r;
    if (x_len != y_len)
        return x_len < y_len ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

/* Those that the retry of a request brings, or may change. */
static bool
member_is_of_one_round(const mcp_json *key)
{
    return mcp_json_is_string(key, "_meta") ||
           mcp_json_is_string(key, "inputResponses") ||
           mcp_json_is_string(key, "requestState");
}

/* The members of an object in their order, to be freed; NULL: there are none, or the
 * buffer has failed. */
static struct member *
members_sort(struct mcpi_buf *into, const mcp_json *object, bool is_params,
             size_t *ret_count)
{
    mcp_json_iterator it = mcp_json_each(object);
    size_t count = mcp_json_count(object), n = 0;
    struct member *members;

    *ret_count = 0;
    if (count == 0 || into->status < 0)
        return NULL;
    members = mcpi_alloc(into->mem, count * sizeof(members[0]));
    if (!members) {
        into->status = MCP_E_NOMEM;
        return NULL;
    }
    while (mcp_json_next(&it)) {
        if (is_params && member_is_of_one_round(it.key))
            continue;
        members[n] = (struct member){it.key, it.value, n};
        n++;
    }
    qsort(members, n, sizeof(members[0]), member_compare);
    *ret_count = n;
    return members;
}

static void
write_object(struct mcpi_buf *into, const mcp_json *object, bool is_params)
{
    struct member *members;
    size_t count;

    members = members_sort(into, object, is_params, &count);
    mcpi_buf_char(into, '{');
    for (size_t i = 0; i < count; i++) {
        if (i > 0)
            mcpi_buf_char(into, ',');
        mcpi_json_write(into, members[i].key);
        mcpi_buf_char(into, ':');
        mcpi_seal_canonical(into, members[i].value);
    }
    mcpi_buf_char(into, '}');
    mcpi_free(into->mem, members);
}

void
mcpi_seal_canonical(struct mcpi_buf *into, const mcp_json *value)
{
    mcp_json_iterator it;

    if (mcp_json_get_type(value) == MCP_JSON_OBJECT) {
        write_object(into, value, false);
    } else if (mcp_json_get_type(value) == MCP_JSON_ARRAY) {
        mcpi_buf_char(into, '[');
        for (it = mcp_json_each(value); mcp_json_next(&it);) {
            if (it.index > 0)
                mcpi_buf_char(into, ',');
            mcpi_seal_canonical(into, it.value);
        }
        mcpi_buf_char(into, ']');
    } else {
        mcpi_json_write(into, value);
    }
}

/* A text of which no two requests have the same. */
static int
bond_write(const struct mcpi_seal *to, struct mcpi_buf *into)
{
    int r;

    mcpi_buf_char(into, VERSION);
    mcpi_buf_char(into, '[');
    r = mcpi_json_write_string(into, to->principal, strlen(to->principal));
    mcpi_buf_char(into, ',');
    if (r == 0)
        r = mcpi_json_write_string(into, to->method, strlen(to->method));
    mcpi_buf_char(into, ',');
    write_object(into, to->params, true);
    mcpi_buf_char(into, ']');
    return r < 0 ? r : into->status;
}

/* ---- sealing ------------------------------------------------------------ */

static void
expiry_write(unsigned char *into, int64_t expires_ms)
{
    for (int i = 0; i < EXPIRY; i++)
        into[i] = (unsigned char)((uint64_t)expires_ms >> (8 * i));
}

static int64_t
expiry_read(const unsigned char *from)
{
    uint64_t at = 0;

    for (int i = 0; i < EXPIRY; i++)
        at |= (uint64_t)from[i] << (8 * i);
    return (int64_t)at;
}

/* Bytes of its base64url. */
static size_t
length_as_text(size_t bytes)
{
    return bytes / 3 * 4 + (bytes % 3 * 4 + 2) / 3;
}

static int
seal_bytes(const struct mcpi_seal *to, const struct mcpi_buf *bond, int64_t expires_ms,
           const char *text, size_t len, unsigned char *bytes)
{
    unsigned char *nonce = bytes + 1, *inside = bytes + HEAD;
    const struct mcpi_aead with = {to->key, nonce, bond->data, bond->len};
    int r;

    bytes[0] = VERSION;
    r = mcpi_random(nonce, MCPI_AEAD_NONCE);
    if (r < 0)
        return r;
    expiry_write(inside, expires_ms);
    if (len > 0)
        memcpy(inside + EXPIRY, text, len);
    mcpi_aead_seal(&with, inside, EXPIRY + len, inside + EXPIRY + len);
    return 0;
}

int
mcpi_seal_write(const struct mcpi_seal *to, int64_t expires_ms, const char *text,
                size_t len, struct mcpi_buf *into)
{
    size_t size = HEAD + EXPIRY + len + MCPI_AEAD_TAG;
    struct mcpi_buf bond, bytes;
    unsigned char *room;
    int r;

    if (len > MCPI_SEAL_MAX || length_as_text(size) > MCPI_SEAL_MAX)
        return MCP_E_LIMIT;
    mcpi_buf_init(&bond, into->mem, MCPI_JSON_TEXT_MAX);
    mcpi_buf_init(&bytes, into->mem, MCPI_SEAL_MAX);
    r = bond_write(to, &bond);
    room = (unsigned char *)mcpi_buf_reserve(&bytes, size);
    if (r == 0)
        r = bytes.status;
    if (r == 0)
        r = seal_bytes(to, &bond, expires_ms, text, len, room);
    if (r == 0) {
        mcpi_base64url_write(into, room, size);
        r = into->status;
    }
    mcpi_buf_done(&bytes);
    mcpi_buf_done(&bond);
    return r;
}

/* ---- opening ------------------------------------------------------------ */

static int
open_bytes(const struct mcpi_seal *to, const struct mcpi_buf *bond, int64_t now_ms,
           struct mcpi_buf *bytes)
{
    unsigned char *head = (unsigned char *)bytes->data, *inside, *tag;
    struct mcpi_aead with = {to->key, NULL, bond->data, bond->len};

    if (bytes->len < HEAD + EXPIRY + MCPI_AEAD_TAG || head[0] != VERSION)
        return MCP_E_INVAL;
    with.nonce = head + 1;
    inside = head + HEAD;
    tag = head + bytes->len - MCPI_AEAD_TAG;
    if (!mcpi_aead_open(&with, inside, (size_t)(tag - inside), tag))
        return MCP_E_INVAL;
    return expiry_read(inside) > now_ms ? 0 : MCP_E_TIMEOUT;
}

int
mcpi_seal_open(const struct mcpi_seal *to, int64_t now_ms, const char *sealed,
               size_t len, struct mcpi_buf *into)
{
    struct mcpi_buf bond, bytes;
    int r;

    if (len > MCPI_SEAL_MAX)
        return MCP_E_LIMIT;
    mcpi_buf_init(&bond, into->mem, MCPI_JSON_TEXT_MAX);
    mcpi_buf_init(&bytes, into->mem, MCPI_SEAL_MAX);
    r = mcpi_base64url_read(&bytes, sealed, len);
    if (r == 0)
        r = bond_write(to, &bond);
    if (r == 0)
        r = open_bytes(to, &bond, now_ms, &bytes);
    if (r == 0) {
        mcpi_buf_append(into, bytes.data + HEAD + EXPIRY,
                        bytes.len - HEAD - EXPIRY - MCPI_AEAD_TAG);
        r = into->status;
    }
    mcpi_buf_done(&bytes);
    mcpi_buf_done(&bond);
    return r;
}
