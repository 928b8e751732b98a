/* seal.c - a text that travels through a client and comes back as it was */
#include "api/seal.h"

#include <string.h>
#include <time.h>

#include "base/base64.h"
#include "run/random.h"
#include "json/hash.h"

#define VERSION 2
#define EXPIRY 8 /* bytes */
#define HASH 16
#define HEAD (1 + MCPI_AEAD_NONCE)
#define INNER (EXPIRY + HASH) /* sealed before the text */

int64_t
mcpi_seal_now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void
number_write(unsigned char *into, uint64_t number)
{
    for (int i = 0; i < 8; i++)
        into[i] = (unsigned char)(number >> (8 * i));
}

static uint64_t
number_read(const unsigned char *from)
{
    uint64_t number = 0;

    for (int i = 0; i < 8; i++)
        number |= (uint64_t)from[i] << (8 * i);
    return number;
}

/* ---- what it is bound to ------------------------------------------------ */

/* Those that the retry of a request brings, or may change. */
static bool
member_is_of_one_round(const mcp_json *key)
{
    return mcp_json_is_string(key, "_meta") ||
           mcp_json_is_string(key, "inputResponses") ||
           mcp_json_is_string(key, "requestState");
}

/* Members are added up: their order does not count. A request that names one twice was
 * refused long ago. */
static uint64_t
member_hash(const uint64_t key[2], const mcp_json_iterator *it)
{
    return mcpi_json_hash_pair(key, mcpi_json_hash(key, it->key),
                               mcpi_json_hash(key, it->value));
}

struct hash {
    uint64_t half[2]; /* each under its own key: 128 bits */
};

static int
params_hash(const struct mcpi_seal *to, struct hash *ret_hash)
{
    static const unsigned char label[16] = "hash of params";
    mcp_json_iterator it = mcp_json_each(to->params);
    unsigned char secret[32];
    uint64_t keys[2][2];
    size_t values = 0;

    *ret_hash = (struct hash){{0, 0}};
    mcpi_hchacha20(to->key, label, secret);
    for (int i = 0; i < 4; i++)
        keys[i / 2][i % 2] = number_read(secret + (size_t)(8 * i));
    while (mcp_json_next(&it)) {
        if (member_is_of_one_round(it.key))
            continue;
        values += 1 + mcpi_json_values(it.value);
        if (values > MCPI_SEAL_VALUES_MAX)
            return MCP_E_LIMIT;
        for (int i = 0; i < 2; i++)
            ret_hash->half[i] += member_hash(keys[i], &it);
    }
    return 0;
}

/* No two pairs of principal and method have the same text. */
static int
bond_write(const struct mcpi_seal *to, struct mcpi_buf *into)
{
    mcpi_buf_char(into, VERSION);
    mcpi_buf_text(into, to->method);
    mcpi_buf_char(into, '\0');
    mcpi_buf_text(into, to->principal);
    return into->status;
}

/* ---- sealing ------------------------------------------------------------ */

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
    struct hash hash;
    int r;

    bytes[0] = VERSION;
    r = params_hash(to, &hash);
    if (r == 0)
        r = mcpi_random(nonce, MCPI_AEAD_NONCE);
    if (r < 0)
        return r;
    number_write(inside, (uint64_t)expires_ms);
    for (int i = 0; i < 2; i++)
        number_write(inside + EXPIRY + (size_t)(8 * i), hash.half[i]);
    if (len > 0)
        memcpy(inside + INNER, text, len);
    mcpi_aead_seal(&with, inside, INNER + len, inside + INNER + len);
    return 0;
}

int
mcpi_seal_write(const struct mcpi_seal *to, int64_t expires_ms, const char *text,
                size_t len, struct mcpi_buf *into)
{
    size_t size = HEAD + INNER + len + MCPI_AEAD_TAG;
    struct mcpi_buf bond, bytes;
    unsigned char *room;
    int r;

    if (len > MCPI_SEAL_MAX || length_as_text(size) > MCPI_SEAL_MAX)
        return MCP_E_LIMIT;
    mcpi_buf_init(&bond, into->mem, MCPI_SEAL_MAX);
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

/* What costs least comes first: nobody makes us read parameters without a seal of ours. */
static int
open_bytes(const struct mcpi_seal *to, const struct mcpi_buf *bond, int64_t now_ms,
           struct mcpi_buf *bytes)
{
    unsigned char *head = (unsigned char *)bytes->data, *inside, *tag;
    struct mcpi_aead with = {to->key, NULL, bond->data, bond->len};
    struct hash hash;

    if (bytes->len < HEAD + INNER + MCPI_AEAD_TAG || head[0] != VERSION)
        return MCP_E_INVAL;
    with.nonce = head + 1;
    inside = head + HEAD;
    tag = head + bytes->len - MCPI_AEAD_TAG;
    if (!mcpi_aead_open(&with, inside, (size_t)(tag - inside), tag))
        return MCP_E_INVAL;
    if ((int64_t)number_read(inside) <= now_ms)
        return MCP_E_TIMEOUT;
    if (params_hash(to, &hash) < 0 || number_read(inside + EXPIRY) != hash.half[0] ||
        number_read(inside + EXPIRY + 8) != hash.half[1])
        return MCP_E_INVAL;
    return 0;
}

int
mcpi_seal_open(const struct mcpi_seal *to, int64_t now_ms, const char *sealed,
               size_t len, struct mcpi_buf *into)
{
    struct mcpi_buf bond, bytes;
    int r;

    if (len > MCPI_SEAL_MAX)
        return MCP_E_LIMIT;
    mcpi_buf_init(&bond, into->mem, MCPI_SEAL_MAX);
    mcpi_buf_init(&bytes, into->mem, MCPI_SEAL_MAX);
    r = mcpi_base64url_read(&bytes, sealed, len);
    if (r == 0)
        r = bond_write(to, &bond);
    if (r == 0)
        r = open_bytes(to, &bond, now_ms, &bytes);
    if (r == 0) {
        mcpi_buf_append(into, bytes.data + HEAD + INNER,
                        bytes.len - HEAD - INNER - MCPI_AEAD_TAG);
        r = into->status;
    }
    mcpi_buf_done(&bytes);
    mcpi_buf_done(&bond);
    return r;
}
