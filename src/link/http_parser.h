/*
 * http_parser.h - bytes of a connection into requests, over llhttp
 *
 * Pure: no socket, no clock. Strict against request smuggling: both a length and chunks,
 * a length said twice, a Host missing or said twice, folded lines, bare CR or LF, a
 * version that is not 1.0 or 1.1, a method with a tunnel: each is an error with its status.
 * How the bytes are split changes nothing of what comes out.
 */
#ifndef MCPI_LINK_HTTP_PARSER_H
#define MCPI_LINK_HTTP_PARSER_H

#include "link/http_head.h"

struct mcpi_http_parser;

/* Head and body of a request that nobody counts: most are no longer. */
#define MCPI_HTTP_FREE_MAX 16384

enum mcpi_http_event {
    MCPI_HTTP_MORE,      /* all was used, more is needed */
    MCPI_HTTP_HEAD_DONE, /* the head is there: look at it, then go on or give up */
    MCPI_HTTP_DONE,      /* the request is whole */
    MCPI_HTTP_FAULT /* status and why say what; the connection is of no use any more */
};

/* parsers outlives it, and keeps one that was freed for the next. MCP_E_NOMEM. */
int mcpi_http_parser_new(struct mcpi_http_parsers *parsers,
                         struct mcpi_http_parser **ret_parser);
void mcpi_http_parser_free(struct mcpi_http_parser *parser); /* NULL ok */

/* Whom a request is charged to that needs more than MCPI_HTTP_FREE_MAX; outlives it. More
 * than its share is a fault, 503. */
void mcpi_http_parser_charge(struct mcpi_http_parser *parser,
                             struct mcpi_account *account);

/* Use bytes up to the next event; *ret_used of them are used. After HEAD_DONE call it
 * again, also with no bytes: only then does a body that is announced too long fail. A body
 * that stands in one piece in data is not copied: then in.body points there, so the
 * request must be served before data goes. */
enum mcpi_http_event mcpi_http_parser_feed(struct mcpi_http_parser *parser,
                                           const char *data, size_t len,
                                           size_t *ret_used);

/* The request: complete but for its body after HEAD_DONE, whole after DONE. Good until
 * mcpi_http_parser_next. address and secure are left to the caller to fill in. */
struct mcpi_http_in *mcpi_http_parser_in(const struct mcpi_http_parser *parser);
/* What is known of it, also before its head has ended or after a fault: the headers of
 * which all is there. As long as in. */
void mcpi_http_parser_known(const struct mcpi_http_parser *parser,
                            struct mcpi_http_known *ret_known);
uint64_t mcpi_http_parser_length(const struct mcpi_http_parser *parser); /* announced */
bool mcpi_http_parser_has_body(const struct mcpi_http_parser *parser);   /* or chunks */
bool mcpi_http_parser_keeps_alive(const struct mcpi_http_parser *parser);
bool mcpi_http_parser_is_old(const struct mcpi_http_parser *parser);  /* HTTP/1.0 */
bool mcpi_http_parser_expects(const struct mcpi_http_parser *parser); /* 100-continue */
/* FAULT: what to answer, and a sentence. */
int mcpi_http_parser_status(const struct mcpi_http_parser *parser,
                            const char **ret_why);

/* Has a request begun of which not all is there? Has its head ended? */
bool mcpi_http_parser_is_within(const struct mcpi_http_parser *parser);
bool mcpi_http_parser_has_head(const struct mcpi_http_parser *parser);

/* Done with this request: forget it, be ready for the next one. Its memory is given
 * back. */
void mcpi_http_parser_next(struct mcpi_http_parser *parser);

#endif
