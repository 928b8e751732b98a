/*
 * http_wire.h - the bytes of one connection: a socket, TLS before it or not, and what the
 * socket has not taken yet
 *
 * Reading never stops for long: a client that hangs up is noticed at once, also while it
 * is sent something (libuv does not look at a socket that nobody reads from). But after as
 * much as one buffer holds a connection waits for its next turn, or a few that send much
 * would keep all others waiting; and its owner can hold it until what came is seen to.
 */
#ifndef MCPI_LINK_HTTP_WIRE_H
#define MCPI_LINK_HTTP_WIRE_H

#include "link/tls.h"
#include "run/loop.h"

struct mcpi_http_wire;

/* What those of one loop share: nothing of it outlives a callback of libuv's. */
struct mcpi_http_wires {
    struct mcpi_loop *loop;
    const mcp_allocator *mem;
    struct mcpi_tls_context *tls; /* or NULL; counted */
    char *input;                  /* what is read */
    struct mcpi_buf plain, packed,
        out;                 /* TLS: what came, what leaves, before and after */
    struct mcpi_list paused; /* they have had their turn */
    struct mcpi_flush flush; /* reads from them again */
};
#define MCPI_HTTP_INPUT 65536

/* What TLS itself may want to say (new keys, alerts) to a client that does not read it. No
 * client asks for so much. */
#define MCPI_HTTP_TALK 16384

/* Takes a reference of tls, which may be NULL. MCP_E_NOMEM. */
int mcpi_http_wires_init(struct mcpi_http_wires *wires, struct mcpi_loop *loop,
                         struct mcpi_tls_context *tls);
void mcpi_http_wires_done(struct mcpi_http_wires *wires); /* half made ok */

/* Each is called from libuv, with nothing else of ours below it. */
struct mcpi_http_wire_ops {
    void (*got)(struct mcpi_http_wire *wire, const char *data, size_t len);
    /* EOF, an error, close_notify: nothing more can come or go. Close it. */
    void (*lost)(struct mcpi_http_wire *wire);
    void (*left)(struct mcpi_http_wire *wire); /* what was kept has left */
    void (*closed)(struct mcpi_http_wire *wire);
};

struct mcpi_http_wire {
    uv_tcp_t tcp;
    struct mcpi_list in_paused; /* or alone */
    struct mcpi_http_wires *wires;
    const struct mcpi_http_wire_ops *ops;
    struct mcpi_tls *tls;
    struct mcpi_http_kept *kept;  /* or NULL */
    size_t talk;                  /* of that, what TLS has said of its own accord */
    struct mcpi_account *account; /* whom that is charged to; its owner's, or NULL */
    size_t charged;
    bool failed; /* a write has: it is lost, and its owner knows */
    bool held;   /* not read from */
    bool ended;  /* TLS is over; the owner hears of it when it is not held */
    bool shutting, shut, closing;
};

/* The client's address as text; "": not known. */
#define MCPI_HTTP_ADDRESS 46
void mcpi_http_address(int fd, char into[MCPI_HTTP_ADDRESS]);

/* Begin to read. Takes the socket, nonblocking, on success; after that, close. MCP_E_NOMEM,
 * MCP_E_LIMIT. [loop] */
int mcpi_http_wire_open(struct mcpi_http_wire *wire, struct mcpi_http_wires *wires,
                        const struct mcpi_http_wire_ops *ops, int take_fd);

/* Send these parts, in one system call if there is room. True: they have left, to the
 * system. False: the rest is kept, and `left` is called when all has left; or failed is
 * set. */
bool mcpi_http_wire_send(struct mcpi_http_wire *wire, const uv_buf_t *parts,
                         unsigned count);

/* Read no more, until hold is false again: what came is enough for now. That it is lost is
 * not noticed meanwhile, and may be said from in here then. */
void mcpi_http_wire_hold(struct mcpi_http_wire *wire, bool hold);

/* How much is kept: what does not become less is not taken. */
size_t mcpi_http_wire_waiting(const struct mcpi_http_wire *wire);

/* Say that no more will come, behind what is kept. What the client sends is still
 * read: it comes as it is, also with TLS. */
void mcpi_http_wire_shut(struct mcpi_http_wire *wire);

/* Close it, whatever waits; reset: so that the client cannot take it for an end. `closed`
 * is called later, the memory is needed until then. */
void mcpi_http_wire_close(struct mcpi_http_wire *wire, bool reset);

#endif
