/* http_copy.h - requests and pieces of answers, to be kept or handed to another thread */
#ifndef MCPI_LINK_HTTP_COPY_H
#define MCPI_LINK_HTTP_COPY_H

#include "base/list.h"
#include "link/http.h"

/* A copy of a request in one block; what it holds is in->*. Values of headers lose white
 * space around them. A body longer than max_body is not copied: body is NULL and body_len
 * says how long it was. It is charged to the account of its client as long as it exists.
 * NULL: no memory, or no share of it. */
struct mcpi_http_in *mcpi_http_in_copy(const mcp_allocator *mem,
                                       const struct mcpi_http_in *in, size_t max_body);
/* Free it, and leave nothing behind of the credential in it. NULL ok */
void mcpi_http_in_free(const mcp_allocator *mem, struct mcpi_http_in *copy);

/* A piece of an answer. */
struct mcpi_http_piece {
    struct mcpi_list node;
    int status; /* 0: more of a body; else a head */
    const mcp_http_field *fields;
    size_t field_count;
    const char *body; /* never NULL */
    size_t body_len;
    bool last; /* the answer ends with it */
};

/* Fields of a head: those of an answer and of its turn, and two that stand for what is no
 * field in an answer. */
#define MCPI_HTTP_PIECE_FIELDS (MCPI_HTTP_FIELDS + MCPI_HTTP_TURN_FIELDS + 2)

/* A head as a piece: the type becomes the first field, the close the last one, as other
 * HTTP servers know them. Borrows from out and fields. */
void mcpi_http_piece_of(const struct mcpi_http_out *out, bool last,
                        mcp_http_field fields[MCPI_HTTP_PIECE_FIELDS],
                        struct mcpi_http_piece *ret_piece);

/* And back. Borrows from the piece. */
void mcpi_http_piece_head(const struct mcpi_http_piece *piece,
                          struct mcpi_http_out *ret_out);

/* Maximum body of a piece that is charged to nobody, if no other piece waits: a client whose
 * share is used up still hears why it is refused. */
#define MCPI_HTTP_PIECE_FREE_MAX 1024

/* A copy. It is charged to account until it is uncharged or freed; if account is NULL,
 * nobody is charged. Returns NULL without memory, or without a share of it. */
struct mcpi_http_piece *mcpi_http_piece_copy(const mcp_allocator *mem,
                                             struct mcpi_account *account,
                                             const struct mcpi_http_piece *piece);
/* Before it is handed to a function that charges its bytes again. */
void mcpi_http_piece_uncharge(struct mcpi_http_piece *copy);
void mcpi_http_piece_free(const mcp_allocator *mem,
                          struct mcpi_http_piece *copy); /* NULL ok */

#endif
