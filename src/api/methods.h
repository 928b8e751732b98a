/*
 * methods.h - the methods that a server serves, one function each
 *
 * Each gets a request that has begun and passed the middleware, and ends it, now or
 * later. All are [loop].
 */
#ifndef MCPI_API_METHODS_H
#define MCPI_API_METHODS_H

#include "api/request.h"

/* ---- lists: lists.c ----------------------------------------------------- */

void mcpi_tools_list(mcp_request *req);
void mcpi_resources_list(mcp_request *req);
void mcpi_templates_list(mcp_request *req);
void mcpi_prompts_list(mcp_request *req);

/* ---- what is offered: tools.c, resources.c, prompts.c, completion.c ----- */

/* Find who is asked, before the request begins, because the limit of a run is the
 * offer's: set offer, handler and the kind of result. Nothing found: nothing set, or
 * req->status, which is why it is not known. */
void mcpi_tools_find(mcp_request *req);
void mcpi_resources_find(mcp_request *req);
void mcpi_prompts_find(mcp_request *req);
void mcpi_completion_find(mcp_request *req);

void mcpi_tools_call(mcp_request *req);
void mcpi_resources_read(mcp_request *req);
void mcpi_prompts_get(mcp_request *req);
void mcpi_completion_complete(mcp_request *req);

/* ---- changes: listen.c --------------------------------------------------- */

void mcpi_resources_subscribe(mcp_request *req);
void mcpi_resources_unsubscribe(mcp_request *req);
void mcpi_listen(mcp_request *req);

/* Its listener ends, if there is one; last: gracefully, and that is what it is answered
 * with. The request does not end. */
void mcpi_listen_close(mcp_request *req, struct mcpi_result *last);

/* Its exchange has ended otherwise: so does the request. */
void mcpi_listen_stop(mcp_request *req);

/* ---- log messages: logging.c --------------------------------------------- */

void mcpi_set_level(mcp_request *req);

/* ---- for all of them ------------------------------------------------------ */

/* The first template that the URI matches, in the order of their texts, with a
 * reference for the caller, and its variables in req->variables; NULL: none.
 * resources.c */
int mcpi_templates_match(mcp_request *req, const mcp_json *uri,
                         struct mcpi_offer **ret_offer);

/* A sentence for what is wrong with arguments that must be an object of strings; NULL:
 * nothing, or there are none. prompts.c */
const char *mcpi_texts_fault(const mcp_json *object);

/* End it with -32602 and this sentence: tools.c. */
void mcpi_request_reject(mcp_request *req, const char *why);

/* End it with an empty result: listen.c. */
void mcpi_request_agree(mcp_request *req);

/* End it as one of a method that is not there: serve.c. */
void mcpi_request_unknown(mcp_request *req);

/* The request that an open exchange has become, or that of its next run while it rests;
 * NULL: none of ours: serve.c. */
mcp_request *mcpi_request_of(const struct mcpi_exchange *x);

/* The offer that was found serves it from now on: serve.c. Takes the reference. */
void mcpi_request_take_offer(mcp_request *req, struct mcpi_offer *take_offer,
                             const struct mcpi_handler *handler,
                             enum mcpi_result_kind kind);

/* The same of a method of the program's own. Takes the reference. */
void mcpi_request_take_custom(mcp_request *req, struct mcpi_custom *take_custom);

#endif
