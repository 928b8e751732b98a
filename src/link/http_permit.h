/*
 * http_permit.h - leave to send a request, asked of whoever signs it (http_auth.h)
 *
 * A POST that may not be sent yet, or was refused and may be sent again, is HELD like
 * others that were not sent (http_entries.h), with its text and its header lines: so
 * nobody has anything to take back (B5). A GET that takes a stream up again leaves its
 * entry OPEN, and its flow rests: its request was accepted long ago, and a cancel of it is
 * said. Without anybody who signs, all of these do nothing.
 */
#ifndef MCPI_LINK_HTTP_PERMIT_H
#define MCPI_LINK_HTTP_PERMIT_H

#include "link/http_auth.h"
#include "link/http_target.h"

struct mcpi_http_entry;

/* As sign, heard and leave of http_auth.h; the first one also returns the failure of the
 * buffer, and the last one does nothing unless the permit waits. */
int mcpi_http_permit_sign(const struct mcpi_http_target *target,
                          struct mcpi_http_permit *permit, const char *method,
                          const char *url, struct mcpi_buf *into);
int mcpi_http_permit_hear(const struct mcpi_http_target *target,
                          struct mcpi_http_permit *permit,
                          const struct mcpi_fetch_head *head, char *why, size_t size);
void mcpi_http_permit_leave(const struct mcpi_http_target *target,
                            struct mcpi_http_permit *permit);

/* A permit does not wait any more: to who watches the wire. */
void mcpi_http_permit_tell(const struct mcpi_http_target *target, int status);

/* What was signed has been copied: leave nothing of it here. */
void mcpi_http_permit_wipe(struct mcpi_buf *lines);

/* ---- of an entry ----------------------------------------------------------- */

/* To begin with. */
void mcpi_http_entry_permit_init(struct mcpi_http_entry *entry);

/* Keep its message and its header lines (NULL: none), moved out of their buffers, to send
 * it again. */
void mcpi_http_entry_keep(struct mcpi_http_entry *entry, struct mcpi_buf *text,
                          struct mcpi_buf *more);

/* Its permit waits, and so does it: HELD, as if nothing had been sent. The caller has kept
 * its message. */
void mcpi_http_entry_wait(struct mcpi_http_entry *entry);

/* A head came for it. True: it was refused, and is dealt with: it waits, or has failed, or
 * nobody wanted it any more. False: the head is its owner's, and what was kept is gone. */
bool mcpi_http_entry_hears(struct mcpi_http_entry *entry,
                           const struct mcpi_fetch_head *head);

#endif
