/* http_answer.h - the head of an answer as it goes over the wire */
#ifndef MCPI_LINK_HTTP_ANSWER_H
#define MCPI_LINK_HTTP_ANSWER_H

#include "link/http.h"

/* How a client knows where the body ends. */
enum mcpi_http_framing {
    MCPI_HTTP_BY_LENGTH,
    MCPI_HTTP_BY_CHUNKS,
    MCPI_HTTP_BY_CLOSE /* HTTP/1.0 */
};

enum mcpi_http_after {
    MCPI_HTTP_KEEPS,      /* the connection, which goes without saying */
    MCPI_HTTP_SAYS_KEEPS, /* to a client of HTTP/1.0 */
    MCPI_HTTP_CLOSES
};

/* "Sun, 06 Nov 1994 08:49:37 GMT", and its terminator */
#define MCPI_HTTP_DATE 30
void mcpi_http_date(char into[MCPI_HTTP_DATE], int64_t unix_seconds);

/* Append the head, to its empty line. A control character in a value becomes a space:
 * nobody's words can end a line. */
void mcpi_http_answer_head(struct mcpi_buf *into, const struct mcpi_http_out *out,
                           enum mcpi_http_framing framing, enum mcpi_http_after after,
                           const char *date);

/* The line before a chunk of that length, len > 0; returns its length. */
#define MCPI_HTTP_CHUNK_LINE 20
size_t mcpi_http_chunk_line(char into[MCPI_HTTP_CHUNK_LINE], size_t len);

#endif
