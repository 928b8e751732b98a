/* uri_values.h - what a walk over a URI passed, put together to variables */
#ifndef MCPI_WIRE_URI_VALUES_H
#define MCPI_WIRE_URI_VALUES_H

#include "wire/uri_template.h"

#define MCPI_URI_NONE SIZE_MAX

/* One value that the walk passed; places are indices of units. */
struct mcpi_uri_event {
    size_t variable;
    size_t key; /* where the key begins; MCPI_URI_NONE: no key */
    size_t key_end;
    size_t start;
    size_t end;
    size_t next;  /* event of the same variable, or MCPI_URI_NONE */
    bool is_more; /* it follows the one before it after a comma */
    bool has_name_as_key;
};

/* Events of one variable, linked by `next`. */
struct mcpi_uri_chain {
    size_t first;
    size_t last;
};

struct mcpi_uri_reading {
    const mcp_uri_template *t;
    const char *bytes;      /* the URI, decoded: one for each unit */
    struct mcpi_buf events; /* of struct mcpi_uri_event, in the order of the URI */
    struct mcpi_uri_chain *chains; /* one for each variable */
};

/* Texts, lists and maps of all events as a document; *ret_doc NULL if they do not go
 * together, and so the URI does not match. *ret_missing is how many names have no
 * value, written only with a document. MCP_E_NOMEM. */
int mcpi_uri_values(struct mcpi_uri_reading *reading, mcp_doc **ret_doc,
                    size_t *ret_missing);

#endif
