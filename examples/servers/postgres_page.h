/*
 * postgres_page.h - rows of PostgreSQL as JSON, a bounded page of them
 *
 * Values: boolean, the integers, real and double precision, json and jsonb are what
 * they are in JSON. What JSON cannot hold, or readers would round, is the text that
 * PostgreSQL writes: bigint beyond 2^53 - 1, NaN and Infinity, numeric, bytea (\x6869),
 * arrays ({1,2}; to_json(column) makes them JSON), times, and all other types. A number
 * inside of json that is too long for a double is rounded; column::text has all of it.
 */
#ifndef POSTGRES_PAGE_H
#define POSTGRES_PAGE_H

#include <libpq-fe.h>

#include <mcp/json.h>

#define PAGE_BYTES ((size_t)1 << 20) /* of the values on one page */

struct page {
    mcp_builder *b;
    int64_t skip;  /* rows before the first */
    int64_t limit; /* rows at most */
    int64_t rows;  /* so far */
    size_t bytes;
    bool is_begun;
    bool is_cut;    /* there are more rows */
    size_t too_big; /* bytes of a row that is larger than a page; 0: none */
};

/* Add the rows of a result: an object with `columns` and `rows` is begun when the first
 * one comes. Rows beyond the limit are dropped. False: the page has no room for more
 * bytes. */
bool page_take(struct page *page, const PGresult *result);

/* The end of `rows`; the object is left open. */
void page_end(struct page *page);

/* A text that is UTF-8: what is not, in a database that does not know its encoding, has
 * question marks. Freed by the caller; NULL: no memory. */
char *text_clean(const char *text, size_t length);

#endif
