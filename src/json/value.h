/*
 * value.h - what the library's own layers need of JSON beyond mcp/json.h
 *
 * Only the files of this folder know yyjson. A mcp_json is a yyjson value; a text is
 * parsed into one allocation (header, values, text), or two if its values are short.
 */
#ifndef MCPI_JSON_VALUE_H
#define MCPI_JSON_VALUE_H

#include <mcp/json.h>

#include "base/buf.h"

/* The longest text we write as one value: four times what we read by default, so that
 * whether a value can be passed on does not depend on how it was escaped. */
#define MCPI_JSON_TEXT_MAX ((size_t)256 << 20)

struct mcpi_json_limits {
    size_t max_bytes;
    size_t max_depth; /* above 256 counts as 256 */
};

/* Parse a message. Like mcp_doc_parse, without the option struct and without a text for
 * the error: MCP_E_SYNTAX, MCP_E_LIMIT, MCP_E_NOMEM. */
int mcpi_doc_parse(const mcp_allocator *mem, const char *text, size_t len,
                   const struct mcpi_json_limits *limits, mcp_doc **ret_doc);

/* Parse what a peer sent: a byte order mark in front is passed over, and an escape that
 * is half of a surrogate pair ("\ud83d" alone) reads as U+FFFD. */
int mcpi_doc_parse_lenient(const mcp_allocator *mem, const char *text, size_t len,
                           const struct mcpi_json_limits *limits, mcp_doc **ret_doc);
bool mcpi_doc_is_repaired(const mcp_doc *doc); /* it held such halves */

/* May this string have been another one, before its document was repaired? Then nothing
 * may be found by it. */
bool mcpi_json_is_repaired(const mcp_json *string);

/* Like mcpi_doc_parse, of what may be a secret: texts and keys are wiped when the document is freed,
 * or was none. */
int mcpi_doc_parse_secret(const mcp_allocator *mem, const char *text, size_t len,
                          const struct mcpi_json_limits *limits, mcp_doc **ret_doc);

/* Memory that a document holds, in bytes; 0 for NULL. */
size_t mcpi_doc_bytes(const mcp_doc *doc);

/* Does this object name a key twice? Keys of nested objects are not looked at. False
 * for anything but an object. Cheap whatever a peer sends: up to 64 keys are compared
 * here, for larger objects the parser already found out, in linear time. */
bool mcpi_json_has_duplicates(const mcp_json *object);

/* Append a value as text, one line; NULL is written as null. A failure is the buffer's,
 * and nothing is appended then. */
void mcpi_json_write(struct mcpi_buf *buf, const mcp_json *value);

/* Append a JSON string with its quotes; text that is not UTF-8 fails with MCP_E_INVAL
 * and appends nothing. */
int mcpi_json_write_string(struct mcpi_buf *buf, const char *text, size_t len);

/* Append a finite number, shortest form that reads back as the same double; MCP_E_INVAL
 * for others. */
int mcpi_json_write_real(struct mcpi_buf *buf, double number);

#endif
