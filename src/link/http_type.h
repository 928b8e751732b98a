/*
 * http_type.h - is a body JSON in UTF-8, by its Content-Type
 *
 * Pure.
 */
#ifndef MCPI_LINK_HTTP_TYPE_H
#define MCPI_LINK_HTTP_TYPE_H

enum mcpi_http_type {
    MCPI_TYPE_JSON,   /* application/json, in UTF-8 or without a charset */
    MCPI_TYPE_OTHER,  /* not application/json */
    MCPI_TYPE_CHARSET /* application/json in another charset */
};

/* Parameters other than charset say nothing (RFC 8259, 11), so whatever they are. NULL:
 * no Content-Type. */
enum mcpi_http_type mcpi_http_type_of(const char *content_type);

#endif
