/*
 * support/http_world.h - worlds over Streamable HTTP, without a socket
 *
 * Our client's link and our server's endpoint, each on a loop of its own that is
 * stepped, joined by a fetcher in memory. In the modern era w->peer[SERVER] is the peer
 * that all requests share, in the legacy one that of the session.
 */
#ifndef TESTS_SUPPORT_HTTP_WORLD_H
#define TESTS_SUPPORT_HTTP_WORLD_H

#include "link/http_client.h"
#include "link/http_entry.h"
#include "link/http_session.h"
#include "support/memory_fetch.h"
#include "support/world.h"

/* A world_link, and what its server and its wire are like. */
struct http_world_link {
    struct world_link link;
    bool json, stateless, stored; /* the server's options */
    bool every_byte, as_events;   /* as in memory_fetch.h */
};

extern const struct http_world_link world_http, world_http_json, world_http_stateless,
    world_http_stored, world_http_bytes, world_http_events;

struct http_world {
    struct world *world;
    struct memory_http net;
    struct mcpi_loop *loop[2];
    struct mcpi_post post[2]; /* its half of the net, in a turn of its loop */
    struct mcpi_http_client *client;
    struct mcpi_endpoint *endpoint;
    mcp_http_options http;
    mcp_memory_store *store;
    int told[2];   /* times the half said that it has closed */
    char *line[2]; /* what is being injected */
    size_t line_len[2];
};

struct http_world *http_world_of(struct world *w);

/* The newest legacy session that the server has, or NULL. */
struct mcpi_session *http_world_session(struct world *w);

#endif
