/*
 * http_opening.h - how an answer begins: as one JSON body, as an event stream, or as
 * nothing at all
 *
 * A part of http_stream.c. The first message decides: it is taken behind the beginning of
 * an event, which is left away if it becomes a JSON body.
 */
#ifndef MCPI_LINK_HTTP_OPENING_H
#define MCPI_LINK_HTTP_OPENING_H

#include "link/http_stream.h"

/* The HTTP status of an answer with this error code (0: a result) to a request of that
 * era, if nothing was said before. */
int mcpi_http_status_of(int rpc_code, bool modern);

/* Nothing was said yet: say what there is, if there is something. The stream may be freed
 * by that. From its flush. */
void mcpi_http_opening_decide(struct mcpi_http_stream *stream);

#endif
