/* keys.c - the keys that an issuer signs with */
#include "auth/keys.h"

#include <stdatomic.h>
#include <string.h>

#include "base/mem.h"

struct mcpi_keys {
    const mcp_allocator *mem;
    atomic_uint refs;
    size_t count;
    struct mcpi_key *all[];
};

/* 0 also for one that is passed over. */
static int
keys_take(struct mcpi_keys *keys, const mcp_json *jwk)
{
    struct mcpi_key *key;
    int r;

    r = mcpi_key_from_jwk(keys->mem, jwk, &key);
    if (r == 0 && mcpi_key_is_private(key))
        mcpi_key_unref(key); /* anybody may sign with it */
    else if (r == 0)
        keys->all[keys->count++] = key;
    return r == MCP_E_NOMEM ? r : 0;
}

int
mcpi_keys_read(const mcp_allocator *mem, const mcp_json *set,
               struct mcpi_keys **ret_keys)
{
    const mcp_json *list = mcp_json_get(set, "keys");
    size_t most = mcp_json_count(list);
    struct mcpi_keys *keys;
    mcp_json_iterator it;
    int r = 0;

    if (mcp_json_get_type(list) != MCP_JSON_ARRAY)
        return MCP_E_INVAL;
    mem = mcpi_mem_or_malloc(mem);
    most = most < MCPI_KEYS_MAX ? most : MCPI_KEYS_MAX;
    keys = mcpi_alloc_zero(mem, sizeof(*keys) + most * sizeof(keys->all[0]));
    if (!keys)
        return MCP_E_NOMEM;
    keys->mem = mem;
    atomic_init(&keys->refs, 1);
    for (it = mcp_json_each(list); r == 0 && keys->count < most && mcp_json_next(&it);)
        r = keys_take(keys, it.value);
    if (r == 0 && keys->count == 0)
        r = MCP_E_INVAL;
    if (r < 0)
        mcpi_keys_unref(keys);
    else
        *ret_keys = keys;
    return r;
}

struct mcpi_keys *
mcpi_keys_ref(struct mcpi_keys *keys)
{
    atomic_fetch_add_explicit(&keys->refs, 1, memory_order_relaxed);
    return keys;
}

void
mcpi_keys_unref(struct mcpi_keys *keys)
{
    if (!keys || atomic_fetch_sub_explicit(&keys->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (size_t i = 0; i < keys->count; i++)
        mcpi_key_unref(keys->all[i]);
    mcpi_free(keys->mem, keys);
}

size_t
mcpi_keys_count(const struct mcpi_keys *keys)
{
    return keys->count;
}

/* May it be the one that this was signed with? A key that has no name may be any. */
static bool
key_is_meant(const struct mcpi_key *key, const struct mcpi_jwt *jwt)
{
    const char *name = mcpi_key_id(key);

    if (strcmp(mcpi_key_alg(key), jwt->alg) != 0)
        return false;
    return !*jwt->kid || !*name || strcmp(name, jwt->kid) == 0;
}

enum mcpi_keys_verdict
mcpi_keys_check(const struct mcpi_keys *keys, const struct mcpi_jwt *jwt)
{
    enum mcpi_keys_verdict verdict = MCPI_KEYS_UNKNOWN;

    for (size_t i = 0; i < keys->count; i++) {
        const struct mcpi_key *key = keys->all[i];

        if (!key_is_meant(key, jwt))
            continue;
        if (mcpi_jwt_is_signed_by(jwt, key))
            return MCPI_KEYS_SIGNED;
        if (*jwt->kid && *mcpi_key_id(key))
            verdict = MCPI_KEYS_FORGED;
    }
    return verdict;
}
