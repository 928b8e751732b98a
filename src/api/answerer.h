/*
 * answerer.h - what a server may ask a client, and who answers
 *
 * A client is a host of handlers like a server (host.h): a question becomes a
 * mcp_request, from the wire in the legacy era, and as a local exchange of core's in
 * the modern one. A method without a handler is not known to the client.
 */
#ifndef MCPI_API_ANSWERER_H
#define MCPI_API_ANSWERER_H

#include <mcp/client.h>

#include "api/catalog.h"
#include "core/engine.h"

struct mcpi_answerer {
    struct mcpi_handler elicit, sample, roots; /* of no kind: none */
    unsigned able;                             /* mcp_able */
    struct mcpi_catalog methods;               /* of the program's own */
    bool has_methods;                          /* and it was made */
    bool runs_methods;                         /* one of them wants a worker */
    bool tells_methods;                        /* one of them is told */
    char *root_list;   /* the text of a ListRootsResult; NULL: roots is the program's.
                          Under the client's lock */
    bool roots_differ; /* the server is to be told; under the client's lock */
};

/* Read what the options say; MCP_E_INVAL with err. */
int mcpi_answerer_init(struct mcp_client *client, mcp_error *err);
void mcpi_answerer_done(struct mcp_client *client);

/* Does one of its handlers want a worker? */
bool mcpi_answerer_runs(const struct mcpi_answerer *answerer);

/* Write the capabilities, an object, into an empty builder; legacy: as initialize says
 * them. */
int mcpi_answerer_declare(const struct mcp_client *client, bool legacy, mcp_builder *b,
                          mcp_error *err);

/* route() of the client's router. */
int mcpi_answerer_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why);

/* ---- roots.c -------------------------------------------------------------- */

/* Write them, an object with `roots`, as a text to be freed with mcp_text_free. */
int mcpi_roots_print(const mcp_allocator *mem, const mcp_root *roots, char **ret_text,
                     mcp_error *err);

/* The handler that answers with root_list; user is the client. */
int mcpi_roots_reply(mcp_request *req, mcp_result *out, void *user);

/* Tell a legacy server that they have changed, if that is due. [loop] */
void mcpi_roots_tell(struct mcp_client *client);

#endif
