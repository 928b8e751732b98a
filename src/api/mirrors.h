/*
 * mirrors.h - which arguments of a server's tools stand in HTTP headers (2026-07-28)
 *
 * Learned from pages of tools/list, by a client whose link is HTTP and whose server is
 * modern. A tool whose annotations break a rule is not to be used: it is taken out of
 * the page, with a warning in the log. What is not known is sent without headers; a
 * server that wanted some says so (-32020), and then the list is asked for and the call
 * is made once more (call_retry.c).
 *
 * What is known of a tool is used until a later page says otherwise, the list no longer
 * has the tool, the server says that its tools have changed, or newer ones need its
 * room. That a page is stale (ttlMs) is no reason to forget: a header by an old list is
 * a better guess than none, and a server that wants another one says so. Loop thread
 * only.
 */
#ifndef MCPI_API_MIRRORS_H
#define MCPI_API_MIRRORS_H

#include <mcp/json.h>

#include "base/list.h"
#include "base/log.h"
#include "base/map.h"
#include "wire/mirror.h"
#include "wire/rpc.h"

/* Tools with such arguments that are known, and the memory of all of them: a server
 * must not fill the memory of its clients. The oldest go. */
#define MCPI_MIRRORS_MAX 4096
#define MCPI_MIRRORS_BYTES_MAX ((size_t)16 << 20)

/* Tools of one page that are warned of by name; a server must not fill a log either. */
#define MCPI_MIRRORS_WARNED_MAX 8

struct mcpi_mirrors {
    const mcp_allocator *mem;
    bool on; /* the link is HTTP */
    struct mcpi_map tools;
    struct mcpi_list order; /* the oldest first */
    size_t bytes;
    uint64_t changes; /* how often what is known has changed */
    uint64_t lost;    /* the last change by which something was forgotten */
    uint64_t list;    /* counts lists, by their first pages */
    uint64_t next;    /* of the last one: the page that follows, or FIRST for none */
};

/* A page, by the cursor it was asked for with. */
#define MCPI_MIRRORS_FIRST 0              /* with none */
#define MCPI_MIRRORS_ELSEWHERE UINT64_MAX /* with more than a cursor: of another list */

void mcpi_mirrors_init(struct mcpi_mirrors *mirrors, const mcp_allocator *mem,
                       const unsigned char seed[MCPI_SEED_SIZE]);
void mcpi_mirrors_done(struct mcpi_mirrors *mirrors);
void mcpi_mirrors_forget(struct mcpi_mirrors *mirrors);

/* What is known of this tool, borrowed until a page is learned from, or all is forgotten;
 * NULL: nothing. */
const struct mcpi_mirror *mcpi_mirrors_find(const struct mcpi_mirrors *mirrors,
                                            const char *tool);

/* Which page this cursor leads to. */
uint64_t mcpi_mirrors_page(const struct mcpi_mirrors *mirrors, const char *cursor,
                           size_t len);

/* Learn from the result of a tools/list. Tools that a whole list did not have, from its
 * first page to its last, are forgotten. *ret_unfit: how many tools break a rule; the log
 * has their names. MCP_E_NOMEM: not all of it was looked at. */
int mcpi_mirrors_learn(struct mcpi_mirrors *mirrors, const mcp_json *result,
                       uint64_t page, const struct mcpi_log *log, size_t *ret_unfit);

/* The same, and *ret is the answer without the tools that break a rule, all else as it
 * was. Its document is the caller's to free. MCP_E_NOMEM, MCP_E_LIMIT. */
int mcpi_mirrors_read(struct mcpi_mirrors *mirrors, const struct mcpi_rpc *answer,
                      uint64_t page, const struct mcpi_log *log, struct mcpi_rpc *ret);

/* Does this tool, from a page, break no rule? 0, MCP_E_INVAL, MCP_E_NOMEM. */
int mcpi_mirrors_check(const struct mcpi_mirrors *mirrors, const mcp_json *tool);

/* What is known of the tool of this name, as a number: another one whenever something
 * else is. 0: nothing. */
uint64_t mcpi_mirrors_version(const struct mcpi_mirrors *mirrors, const mcp_json *name);

/* May something else have been known of it when `changes` was this? */
bool mcpi_mirrors_changed(const struct mcpi_mirrors *mirrors, const mcp_json *name,
                          uint64_t changes);

#endif
