/*
 * dialect.h - what differs between the eras, behind one interface
 *
 * Modern (2026-07-28): every request carries version, capabilities and identity;
 * nothing is remembered between requests; only clients ask. Legacy (2025-11-25 and
 * before): one handshake, then both sides ask. Which dialect a request is in is decided
 * for each request: a version stamp in its _meta makes it modern. So a pipe that serves
 * both is never locked into one.
 */
#ifndef MCPI_CORE_DIALECT_H
#define MCPI_CORE_DIALECT_H

#include "core/engine.h"
#include "wire/meta.h"

struct mcpi_dialect;

/* Who is asking: filled for each request in the modern era, the peer's own in the
 * legacy one. Borrowed from the exchange's document or from the peer. */
struct mcpi_caller {
    const struct mcpi_dialect *dialect;
    const char *version; /* a constant of versions.c */
    const mcp_json *info;
    const mcp_json *capabilities;
    const char *log_level;         /* NULL: the peer did not ask for logs */
    struct mcpi_id progress_token; /* NONE: no progress wanted */
    bool askable;                  /* what a handler asks can reach it (J9) */
    const char *principal; /* as the link was told; "" for nobody in particular */
    const char *scope;     /* likewise; NULL or "": nothing is known */
    mcp_doc *claims;       /* likewise, counted by its exchange; or NULL */
    const char *said;      /* likewise: see mcpi_arrival */
    size_t said_len;
};

struct mcpi_dialect {
    const char *name;
    bool modern;
    bool asks_back;  /* a server may send requests */
    int closed_code; /* what a request gets that our own stop ended */

    /* Server: is this request well introduced? 0 with into filled, or negative. */
    int (*admit)(struct mcpi_peer *peer, const struct mcpi_rpc *rpc,
                 const struct mcpi_meta *meta, struct mcpi_caller *into,
                 struct mcpi_refusal *why);
    /* The stamp that a request of ours carries. */
    void (*stamp)(const struct mcpi_peer *peer, struct mcpi_stamp *into);
    /* Append the members of a result object that are the protocol's own, after those of
     * the handler: `,` first if comma. */
    void (*write_result)(const struct mcpi_engine *engine,
                         const struct mcpi_result *result, bool comma,
                         struct mcpi_buf *into);
};

/* -32022, with the versions this engine speaks. Returns MCP_E_PROTO. */
int mcpi_dialect_refuse_version(struct mcpi_engine *engine, const char *requested,
                                struct mcpi_refusal *why);

extern const struct mcpi_dialect mcpi_dialect_modern;
extern const struct mcpi_dialect mcpi_dialect_legacy;

#endif
