/*
 * descriptor.h - one descriptor, read and written without ever waiting
 *
 * What it is decides how. A socket is asked call by call not to wait. A pipe or a
 * terminal is opened once more, so that those who share the old open file keep its
 * flags; where that cannot be done the flags are changed and put back at the end. A
 * file, /dev/null and whatever cannot be polled is always ready.
 */
#ifndef MCPI_LINK_DESCRIPTOR_H
#define MCPI_LINK_DESCRIPTOR_H

#include <mcp/base.h>
#include <sys/types.h>

enum mcpi_descriptor_kind {
    MCPI_DESCRIPTOR_SOCKET,
    MCPI_DESCRIPTOR_PIPE,   /* named ones too */
    MCPI_DESCRIPTOR_DEVICE, /* terminals, and all else that can be polled */
    MCPI_DESCRIPTOR_FILE    /* cannot be polled: always ready */
};

struct mcpi_descriptor {
    int fd;    /* -1: closed, or given away */
    int given; /* the one that was handed in, if fd is not it; -1: none */
    enum mcpi_descriptor_kind kind;
    int flags;       /* of the open file, to be put back; -1: left as they are */
    size_t capacity; /* of a pipe's or a socket's buffer */
};

/* Look at a descriptor, and open it once more if that helps; `given` is still the
 * caller's. MCP_E_INVAL: it is not open. */
int mcpi_descriptor_open(struct mcpi_descriptor *d, int given);

/* Somebody has tried to poll it, and made it nonblocking if it can be: the flags of a
 * socket go back at once. */
void mcpi_descriptor_polled(struct mcpi_descriptor *d, bool can_be);

/* It is ours from now on: `given` is closed, if it was opened once more. */
void mcpi_descriptor_keep(struct mcpi_descriptor *d);

/* Undo open: nothing has happened to `given`. */
void mcpi_descriptor_drop(struct mcpi_descriptor *d);

/* Bytes read; 0: EOF. MCP_E_AGAIN: nothing there; MCP_E_CLOSED: broken. */
ssize_t mcpi_descriptor_read(const struct mcpi_descriptor *d, char *into, size_t room);

/* Bytes written, which may be fewer. MCP_E_AGAIN: no room; MCP_E_CLOSED: nobody reads
 * any more; MCP_E_SEND_FAILED: it cannot be written (errno says why). No SIGPIPE from a
 * socket; from others the caller has it blocked. */
ssize_t mcpi_descriptor_write(const struct mcpi_descriptor *d, const char *bytes,
                              size_t len);

/* How many bytes a write takes now: not more than that; 0: it would have to wait. One
 * that would fail has room. */
size_t mcpi_descriptor_room(const struct mcpi_descriptor *d);

/* Nothing more will be written, though it stays open: the other end of a socket sees
 * EOF. */
void mcpi_descriptor_shut(const struct mcpi_descriptor *d);

/* Puts the flags back and closes. No-op if closed. */
void mcpi_descriptor_close(struct mcpi_descriptor *d);

/* Give it away as it is. */
int mcpi_descriptor_take(struct mcpi_descriptor *d);

#endif
