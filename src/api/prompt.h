/* prompt.h - one prompt of a server: its arguments, and what completes them */
#ifndef MCPI_API_PROMPT_H
#define MCPI_API_PROMPT_H

#include <mcp/prompt.h>

#include "api/offer.h"
#include "base/list.h"

struct mcpi_prompt {
    struct mcpi_offer offer;
    mcp_doc *definition;       /* see below */
    const char *description;   /* in it; NULL: none */
    const mcp_json *arguments; /* in it: an object, by name; each is an object with
                                  `required` and, if there are some, `values` */
    bool completes;            /* an argument has values, or there is a handler */
};

static inline struct mcpi_prompt *
mcpi_prompt_of(struct mcpi_offer *offer)
{
    return MCPI_CONTAINER(offer, struct mcpi_prompt, offer);
}

/* One with one reference. MCP_E_INVAL: err names it and what is wrong with it. */
int mcpi_prompt_new(const mcp_allocator *mem, const mcp_prompt *definition,
                    struct mcpi_prompt **ret_prompt, mcp_error *err);

#endif
