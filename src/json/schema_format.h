/* schema_format.h - what texts of a named format look like */
#ifndef MCPI_JSON_SCHEMA_FORMAT_H
#define MCPI_JSON_SCHEMA_FORMAT_H

#include <mcp/base.h>

/* Is this valid UTF-8 a text of the format? */
typedef bool mcpi_schema_format_fn(const char *text, size_t len);

/* The test for a format, or NULL if it is none we know. */
mcpi_schema_format_fn *mcpi_schema_format_find(const char *name, size_t len);

/* RFC 3339, and durations of its appendix A; for the table above. */
bool mcpi_time_is_date(const char *text, size_t len);
bool mcpi_time_is_time(const char *text, size_t len);
bool mcpi_time_is_date_time(const char *text, size_t len);
bool mcpi_time_is_duration(const char *text, size_t len);

#endif
