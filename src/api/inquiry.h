/*
 * inquiry.h - what a server asks of a client, looked at before its handler sees it
 *
 * All functions are pure and [any]. They return 0, or negative with `why` filled: the
 * answer is -32602 then, or -32603 if there was no memory.
 */
#ifndef MCPI_API_INQUIRY_H
#define MCPI_API_INQUIRY_H

#include <mcp/schema.h>

#include "core/engine.h"

/* Tool uses in one message: they are matched with their results, each with each. */
#define MCPI_TOOL_USES_MAX 128

/* Subschemas of a form. It is a flat object, so that is one for each thing asked. */
#define MCPI_FORM_MAX 1024

/* Params of elicitation/create. able: mcp_able, as it was declared. *ret_form is what
 * the answer must fit; NULL: the user is sent to a URL. */
int mcpi_inquiry_elicitation(const mcp_allocator *mem, const mcp_json *params,
                             unsigned able, mcp_schema **ret_form,
                             struct mcpi_refusal *why);

/* Params of sampling/createMessage: messages whose tool uses all have their results,
 * and tools only if they were declared. */
int mcpi_inquiry_sample(const mcp_json *params, unsigned able,
                        struct mcpi_refusal *why);

/* May a root have this URI? */
bool mcpi_root_fits(const char *uri);

#endif
