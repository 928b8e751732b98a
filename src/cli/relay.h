/*
 * relay.h - a spawned server's stderr, line by line among our own
 *
 * Its lines are made harmless, and do not tear the bar of progress. A thread of its own
 * reads them until the server, and whoever got its stderr, has ended, or until it is
 * stopped.
 */
#ifndef CLI_RELAY_H
#define CLI_RELAY_H

#include "cli/say.h"

struct cli_relay; /* its thread */

/* *ret_fd: for the server, and then to be closed by the caller. NULL: it cannot be, and the
 * server may have our own. */
struct cli_relay *cli_relay_new(struct cli_say *say, int *ret_fd);

/* Shows what is there, and ends it. NULL ok. */
void cli_relay_free(struct cli_relay *relay);

#endif
