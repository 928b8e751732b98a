/*
 * reach.h - how a client reaches its server: descriptors, memory, a child process, or a
 * way that another library has made
 *
 * Made on the caller's thread, where what the caller gave is still good; opened and
 * closed on the loop.
 */
#ifndef MCPI_API_REACH_H
#define MCPI_API_REACH_H

#include <mcp/client.h>

#include "link/local.h"
#include "link/stream.h"
#include "run/child.h"

struct mcpi_mirrors;
struct mcpi_pool;

/* What a link stands on: its client's. */
struct mcpi_ground {
    struct mcpi_loop *loop;
    struct mcpi_engine *engine;
    const mcp_allocator *mem;
    struct mcpi_mirrors *mirrors; /* for a way that has headers */
    struct mcpi_pool *pool;       /* for what may block; NULL: there is none */
    const char *name;             /* of the client */
};

/* A link that is made elsewhere, as that of libmcp-http is. Embedded in what it is; the
 * functions are constant. */
struct mcpi_way {
    /* Open it: *ret_peer is fresh, and the way's own. After a failure nothing is open,
     * though the loop may have handles to close in this turn. [loop] */
    int (*open)(struct mcpi_way *way, const struct mcpi_ground *ground,
                struct mcpi_peer **ret_peer, mcp_error *err);
    /* Free the way: it was never opened, could not be, or is closed. [any] */
    void (*free)(struct mcpi_way *way);
    bool resumes; /* a legacy call can be taken up again on it (B27) */
    /* Set when it is opened; to be called once, on the loop: the link is closed and
     * freed, the peer is gone, nothing but the way itself is left. */
    void (*closed)(void *user);
    void *user;
};

struct mcpi_reach {
    /* Before it is open; what is not used is -1 or NULL. */
    struct mcpi_way *way; /* also later: it is freed last */
    int in, out;
    struct mcpi_pair *pair; /* our end is 0 */
    char **command;         /* one block: argv, NULL, env, NULL, and the texts */
    char **env;             /* in it */
    char *cwd;              /* in it, or NULL */
    int err;                /* the child's stderr */
    bool own_err;
    bool clear_env;
    int death_signal;
    struct mcpi_child_times times;

    /* Open. */
    struct mcpi_stream *stream;
    struct mcpi_local *local;
    struct mcpi_child *child;
    bool has_exited;
    int exit_status; /* of the child, as waitpid gives it, or MCPI_WAIT_UNKNOWN */
    /* On the loop: the link is closed, and freed; the peer is gone. May be followed by
     * nothing but mcpi_reach_reap. */
    void (*closed)(void *user);
    /* The child has exited; the link is closed, or will be soon. Once. */
    void (*exited)(void *user);
    /* The child is reaped. */
    void (*reaped)(void *user);
    void *user;
};

void mcpi_reach_init(struct mcpi_reach *reach);

/* Closes and frees what was never opened, and a way. [any] */
void mcpi_reach_done(struct mcpi_reach *reach, const mcp_allocator *mem);

/* Are these open? To be asked before we open any of our own, which could get the number
 * of one that is not. MCP_E_INVAL. [any] */
int mcpi_reach_check(int in, int out, mcp_error *err);

/* Over copies of two descriptors, which may be one and are open. MCP_E_LIMIT. [any] */
int mcpi_reach_descriptors(struct mcpi_reach *reach, int in, int out, mcp_error *err);

/* Over a program's stdin and stdout. MCP_E_INVAL, MCP_E_NOMEM, MCP_E_LIMIT. [any] */
int mcpi_reach_command(struct mcpi_reach *reach, const char *const *argv,
                       const mcp_client_options *opt, const mcp_allocator *mem,
                       mcp_error *err);

/* Open it: *ret_peer is fresh. After a failure a child may be there all the same: close
 * it with mcpi_reach_reap. [loop] */
int mcpi_reach_open(struct mcpi_reach *reach, const struct mcpi_ground *ground,
                    struct mcpi_peer **ret_peer, mcp_error *err);

/* Once no link is open: bring the child to its end; `reaped` tells, later. False: there
 * is none. [loop] */
bool mcpi_reach_reap(struct mcpi_reach *reach);

#endif
