/*
 * doctor_wire.h - a connection for HTTP/1.1, plain or under TLS, for bytes as they are
 *
 * libcurl makes it, as the library's own client does: names, proxies and certificates
 * are as they are there. What goes over it is the caller's business.
 */
#ifndef CLI_DOCTOR_WIRE_H
#define CLI_DOCTOR_WIRE_H

#include <mcp/client.h>

/* How to get there. */
struct cli_way {
    int64_t timeout_ms; /* for all of it, from the opening on */
    const char *ca;     /* TLS: who may vouch; NULL: whom the system trusts */
    bool insecure;      /* TLS: whoever it is */
    mcp_scope *scope;   /* its end ends each wait; or NULL */
};

struct cli_wire {
    void *curl;
    int fd;
    int64_t until;
    mcp_scope *scope;
};

/* origin: "https://host:port". MCP_E_SEND_FAILED: there is no connection; MCP_E_CANCELED;
 * MCP_E_NOMEM; err says more. Closed by the caller on success only. */
int cli_wire_open(struct cli_wire *wire, const char *origin, const struct cli_way *way,
                  mcp_error *err);

/* All of it. MCP_E_CLOSED: it went away; MCP_E_TIMEOUT; MCP_E_CANCELED. */
int cli_wire_send(struct cli_wire *wire, const char *data, size_t length,
                  mcp_error *err);

/* What comes next, at most room; 0 bytes: it has ended. As above. */
int cli_wire_read(struct cli_wire *wire, char *into, size_t room, size_t *ret_length,
                  mcp_error *err);

void cli_wire_close(struct cli_wire *wire);

#endif
