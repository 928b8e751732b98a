/*
 * tls.h - TLS as a filter of bytes, over OpenSSL: no socket, no loop
 *
 * Server side for now: a context has a certificate and a key; a session turns what came
 * from the wire into plain text, and plain text into what goes there. It has no buffers of
 * its own on either side, and OpenSSL's are released while it is idle (14 kB instead of
 * 47).
 */
#ifndef MCPI_LINK_TLS_H
#define MCPI_LINK_TLS_H

#include "base/buf.h"

struct mcpi_tls_context;
struct mcpi_tls;

/* PEM files; the certificate's may have its chain behind it. TLS 1.2 at least. MCP_E_INVAL
 * with err: which file, and what OpenSSL says; MCP_E_NOMEM. [any] */
int mcpi_tls_context_new(const mcp_allocator *mem, const char *certificate,
                         const char *key, struct mcpi_tls_context **ret,
                         mcp_error *err);
/* Counted: shared by the listeners of all loops. [any] */
struct mcpi_tls_context *mcpi_tls_context_ref(struct mcpi_tls_context *context);
void mcpi_tls_context_unref(struct mcpi_tls_context *context); /* NULL ok [any] */

/* A session of this context, which it keeps. MCP_E_NOMEM. */
int mcpi_tls_new(struct mcpi_tls_context *context, struct mcpi_tls **ret_tls);
void mcpi_tls_free(struct mcpi_tls *tls); /* NULL ok */

/* Has the handshake been done? */
bool mcpi_tls_is_ready(const struct mcpi_tls *tls);

/* Bytes from the wire; all of them are used. Appends plain text to plain and what must go
 * out (handshake, alerts) to wire, also if it fails. 0; MCP_E_CLOSED: close_notify, nothing
 * more will come; MCP_E_PROTO: broken; MCP_E_NOMEM. */
int mcpi_tls_receive(struct mcpi_tls *tls, const char *data, size_t len,
                     struct mcpi_buf *plain, struct mcpi_buf *wire);

/* Plain text to send; appends to wire. Before the handshake is done: MCP_E_STATE.
 * MCP_E_NOMEM or MCP_E_PROTO: it is of no use any more. */
int mcpi_tls_send(struct mcpi_tls *tls, const char *data, size_t len,
                  struct mcpi_buf *wire);

/* Our close_notify, if one can be said. */
void mcpi_tls_finish(struct mcpi_tls *tls, struct mcpi_buf *wire);

#endif
