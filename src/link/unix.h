/*
 * unix.h - Unix sockets: a listener with many clients, each a stream and a peer of its
 * own, and the other end
 */
#ifndef MCPI_LINK_UNIX_H
#define MCPI_LINK_UNIX_H

#include "run/loop.h"

struct mcpi_unix_listener;

struct mcpi_unix_listener_options {
    struct mcpi_loop *loop;
    struct mcpi_log log;
    /* A client came: take_fd is nonblocking, close-on-exec, and yours. On the loop. */
    void (*accepted)(void *user, int take_fd);
    void *user;
};

/* Make a listening socket at a path: mode 0600 from its first moment, close-on-exec. A
 * socket file that nobody listens on any more is replaced; anything else there is left
 * alone. MCP_E_INVAL with err: path too long, something is there, no such folder;
 * MCP_E_LIMIT. [any] */
int mcpi_unix_listen(const char *path, int *ret_fd, mcp_error *err);

/* Connect to a path, waiting at most within_us for room in its queue. MCP_E_CLOSED:
 * nobody listens there; MCP_E_TIMEOUT; MCP_E_INVAL. [any] */
int mcpi_unix_connect(const char *path, int64_t within_us, int *ret_fd, mcp_error *err);

/* Is this a stream socket that listens? [any] */
bool mcpi_unix_listens(int fd);

/* Listen on a descriptor, of ours or handed in by socket activation. For want of
 * descriptors (EMFILE) it neither spins nor stops: it waits and tries again. Takes the
 * descriptor on success; MCP_E_INVAL if it is no listening stream socket. [loop] */
int mcpi_unix_listener_new(const struct mcpi_unix_listener_options *opt, int take_fd,
                           struct mcpi_unix_listener **ret_listener, mcp_error *err);

/* No more clients. unlink_path: the socket file, removed if it is still ours; or NULL.
 * [loop] NULL ok */
void mcpi_unix_listener_free(struct mcpi_unix_listener *listener,
                             const char *unlink_path);

#endif
