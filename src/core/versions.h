/* versions.h - the protocol revisions we speak, listed here alone; other files name at most
 * the one with which something came */
#ifndef MCPI_CORE_VERSIONS_H
#define MCPI_CORE_VERSIONS_H

#include <mcp/json.h>

#include "base/buf.h"

#define MCPI_VERSION_MODERN "2026-07-28"
#define MCPI_VERSION_LEGACY "2025-11-25" /* the newest that begins with a handshake */

/* With which some came that an older peer does not know. */
#define MCPI_VERSION_AUDIO "2025-03-26" /* audio content */
#define MCPI_VERSION_LINKS "2025-06-18" /* links to resources */

/* Is it older? Both are versions we speak: dates, which sort as text. */
bool mcpi_version_is_before(const char *version, const char *other);

/* Our own constant for a version text, or NULL if we do not speak it in that era. */
const char *mcpi_version_find(const char *text, bool modern);

/* The newest version of that era in a peer's array of versions, or NULL. */
const char *mcpi_version_choose(const mcp_json *supported, bool modern);

/* Append a JSON array of the versions we speak, newest first. */
void mcpi_version_write(struct mcpi_buf *buf, bool modern, bool legacy);

#endif
