/*
 * keep_disk.h - one private file in a safe folder: read whole, replaced whole
 *
 * The folder is opened anew for each thing that is done, and looked at: nobody else may
 * be able to write there. All else is then done inside of what was opened, without
 * following links, so that no name can be made to mean another file. Files of ours beside
 * the file have its name and a suffix. Paths are not changed by a later chdir.
 *
 * Statuses: MCP_E_INVAL: it cannot be done, or others can read or write it; MCP_E_LIMIT:
 * no room on the disk, or no descriptors; MCP_E_NOMEM. err, which may be NULL, says more.
 */
#ifndef MCPI_AUTH_KEEP_DISK_H
#define MCPI_AUTH_KEEP_DISK_H

#include "base/buf.h"

struct mcpi_disk {
    const mcp_allocator *mem;
    char *folder; /* absolute */
    char *name;   /* in the same block */
};

/* MCP_E_INVAL: no path of a file. Nothing is touched yet. */
int mcpi_disk_init(struct mcpi_disk *disk, const mcp_allocator *mem, const char *path,
                   mcp_error *err);
void mcpi_disk_done(struct mcpi_disk *disk);

/* A descriptor of the folder, which is made, mode 0700, if there is none. The caller
 * closes it. */
int mcpi_disk_enter(const struct mcpi_disk *disk, int *ret_folder, mcp_error *err);

/* The file with that suffix, "" is the file itself; flags as open's. 1: *ret_fd is a
 * regular file that nobody else can read or write; 0: there is none. */
int mcpi_disk_open(const struct mcpi_disk *disk, int folder, const char *suffix,
                   int flags, int *ret_fd, mcp_error *err);

/* Append the file's content. 1: there is a file; 0: none; or the buffer's status. */
int mcpi_disk_read(const struct mcpi_disk *disk, int folder, struct mcpi_buf *into);

/* Replace the file. Who reads it, or looks after a crash, finds all of the one or all of
 * the other. One at a time: the caller sees to that. */
int mcpi_disk_replace(const struct mcpi_disk *disk, int folder, const char *text,
                      size_t len);

/* The file is called so from now on, and who was called so before is gone. */
int mcpi_disk_set_aside(const struct mcpi_disk *disk, int folder, const char *suffix);

/* Is this descriptor what is now found under that suffix? */
bool mcpi_disk_is_current(const struct mcpi_disk *disk, int folder, const char *suffix,
                          int fd);

#endif
