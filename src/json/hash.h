/*
 * hash.h - a hash that equal values share
 *
 * One pass, no memory. The members of an object may come in any order; an object that
 * names a key twice is another value in another order, because which of the two counts
 * depends on it. 1 and 1.0 are equal, as JSON Schema has it.
 */
#ifndef MCPI_JSON_HASH_H
#define MCPI_JSON_HASH_H

#include <mcp/json.h>

/* SipHash-1-3 under this key. With a secret key nobody can choose two values that share
 * a hash; with a known one equal hashes must be compared. */
uint64_t mcpi_json_hash(const uint64_t key[2], const mcp_json *value);

/* The hash of a sequence of two. */
uint64_t mcpi_json_hash_pair(const uint64_t key[2], uint64_t a, uint64_t b);

/* How many values are in it, keys and itself included; known without counting. 0 for
 * NULL. */
size_t mcpi_json_values(const mcp_json *value);

#endif
