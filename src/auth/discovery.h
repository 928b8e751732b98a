/*
 * discovery.h - whom to ask for a token: the metadata of a resource and of its issuer
 *
 *   IDLE -> RESOURCE -> ISSUER -> IDLE, told once; or stopped, and nothing is
 *
 * The resource's document is where its challenge says, or at its well-known places in
 * order; one that is not about the server we talk to is not believed. Servers of before
 * 2025-06-18 have none: then their own origin is the issuer. The issuer's document is at
 * two or three places, and must name that very issuer. Nothing is kept from one search to
 * the next: a server may have moved to another issuer. [loop]
 */
#ifndef MCPI_AUTH_DISCOVERY_H
#define MCPI_AUTH_DISCOVERY_H

#include "auth/lookup.h"
#include "auth/metadata.h"

/* What was found; good until the next search, or done. */
struct mcpi_found {
    struct mcpi_resource_metadata resource; /* resource and issuer are never NULL */
    struct mcpi_issuer_metadata issuer;
};

struct mcpi_discovery {
    /* Set before the first search. */
    const mcp_allocator *mem;
    struct mcpi_loop *loop;
    struct mcpi_fetcher *fetcher;
    const char *server_url;
    const char *only_issuer; /* NULL: any; else wherever it is */
    int64_t limit_us;
    /* 0: found has it; else MCP_E_AUTH, MCP_E_NOMEM, and why. Not from inside start. */
    void (*done)(void *user, int status, const char *why);
    void *user;

    enum mcpi_address_kind nearest;
    struct mcpi_found found;
    struct mcpi_lookup lookup;
    mcp_doc *resource_doc, *issuer_doc;
    struct mcpi_buf places; /* to be tried, each terminated */
    size_t next;            /* offset of the next one */
    char *own;              /* resource and issuer, if no document has them */
    bool by_challenge;
};

void mcpi_discovery_init(struct mcpi_discovery *d);
/* Stops what is under way. */
void mcpi_discovery_done(struct mcpi_discovery *d);

/* From the resource on. hint: resource_metadata of a challenge; "" none. */
int mcpi_discovery_start(struct mcpi_discovery *d, const char *hint);
/* The issuer's alone, of a token that we have: resource and issuer are given, and copied. */
int mcpi_discovery_start_issuer(struct mcpi_discovery *d, const char *resource,
                                const char *issuer);
void mcpi_discovery_stop(struct mcpi_discovery *d);
bool mcpi_discovery_has_found(const struct mcpi_discovery *d);

#endif
