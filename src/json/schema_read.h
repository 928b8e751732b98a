/* schema_read.h - what keywords hold: a schema, a list of them, a count, a number */
#ifndef MCPI_JSON_SCHEMA_READ_H
#define MCPI_JSON_SCHEMA_READ_H

#include "json/schema_compile.h"

/* The value of a keyword of a node, or NULL. */
const yyjson_val *mcpi_keyword_get(const struct mcpi_schema_node *node,
                                   const char *keyword);

/* Has it any of these keywords? The list ends with NULL. */
bool mcpi_keyword_any(const struct mcpi_schema_node *node, const char *const *keywords);

/* "... must be <must>". Returns MCP_E_INVAL. */
int mcpi_keyword_refuse(struct mcpi_schema_compiler *c,
                        const struct mcpi_schema_node *node, const char *keyword,
                        const char *must);

/* Zeroed memory of the schema's arena; NULL with the compiler's err set. */
void *mcpi_rules_new(struct mcpi_schema_compiler *c, size_t size);

/* Read a keyword, if it is there, into *ret; 0 or a status with err set. Lists have at
 * least one element; a number that is not there becomes NULL. */
int mcpi_read_schema(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
                     const char *keyword, const struct mcpi_schema_node **ret);
int mcpi_read_list(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
                   const char *keyword, struct mcpi_schema_list *list);
int mcpi_read_count(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
                    const char *keyword, uint64_t *count);
int mcpi_read_range(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
                    const char *min, const char *max, struct mcpi_schema_range *range);
int mcpi_read_number(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
                     const char *keyword, const yyjson_val **ret);

/* Compile all members of an object, for their names and places only. */
int mcpi_read_definitions(struct mcpi_schema_compiler *c, struct mcpi_schema_node *node,
                          const char *keyword);

#endif
