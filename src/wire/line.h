/*
 * line.h - newline framing: bytes in, lines out
 *
 * Bytes are fed as they come; whole lines are handed out one by one. Empty lines are
 * skipped, a trailing CR belongs to the newline. A line longer than the maximum is
 * thrown away up to its newline and reported once; what follows it is read as ever
 * (C11).
 */
#ifndef MCPI_WIRE_LINE_H
#define MCPI_WIRE_LINE_H

#include "base/buf.h"

struct mcpi_line {
    struct mcpi_buf buf; /* bytes not yet handed out */
    size_t start;        /* first byte of the current line in buf */
    size_t scanned;      /* no newline before this */
    size_t max;
    bool skipping; /* inside a line that was too long */
};

void mcpi_line_init(struct mcpi_line *line, const mcp_allocator *mem, size_t max);
void mcpi_line_done(struct mcpi_line *line);

/* Where the next bytes may be put, at least one; *ret_room says how many. NULL: no
 * memory. Then say how many were. Invalidates lines handed out before. */
char *mcpi_line_space(struct mcpi_line *line, size_t *ret_room);
void mcpi_line_filled(struct mcpi_line *line, size_t len);

/* 1: a line, borrowed until the next mcpi_line_space. 0: none yet. MCP_E_LIMIT: a line is
 * too long and will be dropped; what there is of it so far is borrowed likewise. Call
 * again. */
int mcpi_line_next(struct mcpi_line *line, const char **ret_text, size_t *ret_len);

/* Bytes of an unfinished line are waiting (to tell at EOF). */
bool mcpi_line_partial(const struct mcpi_line *line);

#endif
