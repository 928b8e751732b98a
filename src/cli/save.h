/*
 * save.h - bytes of a server as files: names of our own, never over another file
 *
 * Nothing of a name comes from the server but the kind of data, which is looked up.
 * Files are for the user alone (0600) and new: what stands there is neither written
 * over nor followed. One thread.
 */
#ifndef CLI_SAVE_H
#define CLI_SAVE_H

#include <mcp/base.h>

#include "cli/text.h"

struct cli_saver {
    const char *folder;   /* --save, made if it is not there; NULL: a fresh one */
    struct cli_text made; /* the fresh one, once there is a file; it stays */
    unsigned number;      /* of the last file */
};

/* A new file "kind-NUMBER.ENDING" with these bytes; its path is appended to ret_path.
 * False: err says why, and no part of it is left. */
bool cli_save(struct cli_saver *saver, const char *kind, const char *mime_type,
              const struct cli_text *bytes, struct cli_text *ret_path, mcp_error *err);
void cli_saver_done(struct cli_saver *saver);

/* How names of files with such data end, "png"; "bin" for what is unknown, or NULL. */
const char *cli_save_ending(const char *mime_type);

#endif
