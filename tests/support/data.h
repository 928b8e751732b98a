/*
 * support/data.h - the data that tests read
 *
 * What is ours is in tests/data and always there. scripts/test-data fetches suites that
 * others maintain into build/test-data. Where MCP_TEST_DATA names a folder of published
 * data, tests read that in addition. Paths are in a buffer that the next call reuses.
 */
#ifndef TESTS_SUPPORT_DATA_H
#define TESTS_SUPPORT_DATA_H

#include <mcp/json.h>

#define DATA_MODERN "2026-07-28"
#define DATA_LEGACY "2025-11-25"

/* The path of tests/data/NAME. */
const char *data_own(const char *name);

/* The path of build/test-data/NAME. NULL if it was not fetched. */
const char *data_fetched(const char *name);

/* The path of NAME below MCP_TEST_DATA. NULL if that is not set: if it is, then all of
 * it is expected to be there. */
const char *data_published(const char *name);

/* The JSON in a file, freed by the caller. NULL if the file is missing or not JSON. */
mcp_doc *data_read(const char *path);

/* An example message, or a part of one. */
struct data_message {
    const char *revision;
    const char *type; /* the name of its definition in the schema */
    const char *name; /* type/name, to tell a failure by */
    const mcp_json *value;
};

typedef void data_message_fn(const struct data_message *message, void *user);

/* Calls fn for each message of a revision and type, ours and published. type NULL: of
 * every type. Returns how many there are. */
size_t data_each_message(const char *revision, const char *type, data_message_fn *fn,
                         void *user);

#endif
