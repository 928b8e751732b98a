/*
 * keep_lock.h - turns of those who share a file of tokens, in this process and others
 *
 * All locks are ranges of one file beside it, "<name>.lock", which stays for ever: the
 * first byte is for who writes, and each key has a byte of its own, at an offset that is
 * its hash. (A file for each key would leave as many behind, and a file that is deleted
 * when unlocked is a race.) They are locks of the open file description, so each lock
 * excludes every other one, whichever thread or process has it; and the kernel gives them
 * back when the process dies, unless a child that it forked, and that has executed
 * nothing, still has the descriptor.
 *
 * A lock is a descriptor. Statuses as in keep_disk.h.
 */
#ifndef MCPI_AUTH_KEEP_LOCK_H
#define MCPI_AUTH_KEEP_LOCK_H

#include "auth/keep_disk.h"

/* To write. Waits for its turn; MCP_E_TIMEOUT: somebody has it for far too long. */
int mcpi_keep_lock_file(const struct mcpi_disk *disk, int folder, int *ret_lock,
                        mcp_error *err);

/* Of a key. MCP_E_AGAIN: somebody has it. */
int mcpi_keep_lock_key(const struct mcpi_disk *disk, int folder, const char *key,
                       int *ret_lock);

void mcpi_keep_unlock(int take_lock);

#endif
