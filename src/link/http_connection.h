/*
 * http_connection.h - a client's connection: one request after the other, HTTP/1.1
 *
 *   IDLE -> HEAD -> BODY -> SERVING -> IDLE | LINGERING -> CLOSED
 *
 * Reading goes on while an answer is open (SERVING), into a small bounded buffer: bytes
 * of a next request are not a disconnect (E26), too many are. Reading stops while
 * pipelined requests wait and no answer is open: each flush serves one of them, and a
 * disconnect is noticed after the last. EOF, an error, a hang-up and TLS's close_notify
 * mean that the client is gone, also if it only closed its sending side (E25), in every
 * phase. TCP_NODELAY; TCP keepalive 15 s / 5 s / 3.
 */
#ifndef MCPI_LINK_HTTP_CONNECTION_H
#define MCPI_LINK_HTTP_CONNECTION_H

#include "link/http_endpoint.h"

/* Maximum bytes that wait behind a request: a few pipelined ones. More are kept if one read
 * brought them. */
#define MCPI_HTTP_BEHIND 65536

struct mcpi_http_connection;
struct mcpi_http_listener;

/* Serve a socket. Takes it on success. [loop] MCP_E_NOMEM, MCP_E_LIMIT. */
int mcpi_http_connection_new(struct mcpi_http_listener *listener, int take_fd,
                             struct mcpi_http_connection **ret_connection);

/* Of a listener's list. */
struct mcpi_http_connection *mcpi_http_connection_of(struct mcpi_list *node);

/* Close it now, if nothing is being served, else when that has ended. */
void mcpi_http_connection_retire(struct mcpi_http_connection *connection);

/* Close it now, whatever is served: that is gone. */
void mcpi_http_connection_cut(struct mcpi_http_connection *connection);

#endif
