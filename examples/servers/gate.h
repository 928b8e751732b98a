/*
 * gate.h - how a server is reached: over stdio, or on a port by those who may come
 *
 * On a port, everybody who can reach it can use what is behind it. With a token in the
 * environment each request must have it as bearer token; without, only an address of
 * loopback is served.
 */
#ifndef EXAMPLES_GATE_H
#define EXAMPLES_GATE_H

#include <mcp/http.h>

struct gate {
    const char *variable; /* of the environment, which may have the token */
    char *token;          /* NULL: none is needed */
    bool is_http;
    mcp_http_options http;
};

/* Take the token out of the environment. False: no memory. Ended with gate_done. */
bool gate_init(struct gate *gate, const char *variable);
void gate_done(struct gate *gate);

/* Serve HTTP there: HOST:PORT, of which the host stays in the text; it may be an address
 * of IPv6 in brackets, port 0 is any that is free. False: it is none. */
bool gate_read_address(struct gate *gate, char *address);

/* Serve until the client leaves, or a signal comes. On a port the first line of stdout is
 * "listening on URL". */
int gate_serve(struct gate *gate, mcp_server *server, mcp_error *err);

#endif
