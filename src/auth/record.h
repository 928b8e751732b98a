/*
 * record.h - texts of one object, in one block, and as JSON: for what a store keeps
 */
#ifndef MCPI_AUTH_RECORD_H
#define MCPI_AUTH_RECORD_H

#include <mcp/json.h>

#include "base/buf.h"

/* A text member of a struct, and what it is called in JSON. */
struct mcpi_record_field {
    const char *name;
    size_t offset; /* of a const char * */
};

/* Make a struct of that size and copy its texts behind it, NULL as "". Other members are
 * copied as they are. NULL: no memory. */
void *mcpi_record_new(const mcp_allocator *mem, const void *parts, size_t size,
                      const struct mcpi_record_field *fields);

/* Append the members, with commas, after an open brace; those that are "" are left out. A
 * failure is the buffer's. */
void mcpi_record_write(const void *record, const struct mcpi_record_field *fields,
                       struct mcpi_buf *into);

/* Point the texts at those of an object, "" where there is none, or null; borrowed.
 * False: one is there and no string, or has a NUL in it. */
bool mcpi_record_read(const mcp_json *json, const struct mcpi_record_field *fields,
                      void *record);

#endif
