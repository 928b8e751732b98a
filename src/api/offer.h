/*
 * offer.h - what a server offers, by its name: the common part of tools, resources,
 * templates and prompts
 *
 * Counted and immutable: a request keeps its offer though it was withdrawn meanwhile.
 * All functions are [any].
 */
#ifndef MCPI_API_OFFER_H
#define MCPI_API_OFFER_H

#include <mcp/request.h>
#include <stdatomic.h>

enum mcpi_handler_kind { MCPI_NO_HANDLER = 0, MCPI_RUNS, MCPI_STARTS, MCPI_REPLIES };

/* A handler as it is called. */
struct mcpi_handler {
    enum mcpi_handler_kind kind;
    mcp_handler_fn *fn;
    void *user;
    bool signal_only; /* F4 */
    int64_t limit_us; /* 0: the server's; MCPI_NEVER: none */
};

struct mcpi_offer {
    atomic_uint refs;
    const mcp_allocator *mem;
    void (*destroy)(struct mcpi_offer *offer); /* its own parts, and the block */
    const char *key; /* by which it is found: a name, a URI, a template; in the block */
    mcp_builder *shown; /* the object that lists have of it; not written to any more */
    mcp_builder *legacy_shown; /* the same for the legacy era; NULL: no other */
    struct mcpi_handler handler;
    struct mcpi_handler complete; /* of a prompt or a template */
};

/* A new block of that size, zero but for the offer at its beginning, which has one
 * reference, an empty builder, and a copy of key behind the block. NULL for want of
 * memory. */
void *mcpi_offer_new(const mcp_allocator *mem, size_t size, const char *key,
                     void (*destroy)(struct mcpi_offer *offer));
struct mcpi_offer *mcpi_offer_ref(struct mcpi_offer *offer);
void mcpi_offer_unref(struct mcpi_offer *offer); /* NULL ok */

/* For destroy: builder and block. */
void mcpi_offer_done(struct mcpi_offer *offer);

/* Read a handler that must be there, exactly one of the three; MCP_E_INVAL with err. */
int mcpi_handler_read(const mcp_handler *given, struct mcpi_handler *ret,
                      mcp_error *err);

/* The flags and the limit that go with it. */
int mcpi_handler_bound(struct mcpi_handler *handler, unsigned flags, int64_t limit_ms,
                       mcp_error *err);

/* Write a text of the program's that must be a JSON object as member `key`, and its
 * _meta, whose keys must not be the protocol's own. Text NULL: nothing. */
int mcpi_offer_write_meta(struct mcpi_offer *offer, const char *text, mcp_error *err);

/* Parse a text that must be an object; `what` names it in err. */
int mcpi_object_parse(const mcp_allocator *mem, const char *text, const char *what,
                      mcp_doc **ret_doc, mcp_error *err);

/* May a tool or a prompt have this name: 1 to 128 letters, digits, _ - and . ? */
#define MCPI_NAME_MAX 128
bool mcpi_name_fits(const char *name, size_t len);

#endif
