/* schema_set.h - documents by URI, as the compiler looks them up */
#ifndef MCPI_JSON_SCHEMA_SET_H
#define MCPI_JSON_SCHEMA_SET_H

#include <mcp/schema.h>

/* The document of this URI, without fragment, or NULL; borrowed from the set. NULL has
 * none. */
mcp_doc *mcpi_schema_set_find(const mcp_schema_set *set, const char *uri, size_t len);

#endif
