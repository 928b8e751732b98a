/*
 * early_cancel.h - cancels that arrive before the request they name (D25)
 *
 * The messages of a legacy HTTP session travel on several connections, so a cancel can
 * overtake its request. If it names an id that the session has never used, it is held
 * for MCPI_EARLY_HOLD_MAX and ends the request as that arrives: its handler never starts.
 *
 * The link announces a message whose sender is still being authenticated
 * (mcpi_peer_expect): it may be the request of a cancel that is authenticated first. A
 * held cancel does not expire as long as a message waits that was announced before the
 * cancel would have expired.
 *
 * Holding a cancel allocates nothing: a peer has room for MCPI_EARLY_MAX cancels, and for
 * one more with each announced message. If there is no room, the oldest cancel is dropped.
 *
 * Used ids are remembered, so that a late cancel is not held: integers as ranges, which
 * holds all ids of a client that counts; of other ids the last MCPI_RING_SIZE. A late
 * cancel of a forgotten id is held in vain.
 */
#ifndef MCPI_CORE_EARLY_CANCEL_H
#define MCPI_CORE_EARLY_CANCEL_H

#include "core/peer.h"

/* A cancel is held for so long, in microseconds, and so many of a session. */
#define MCPI_EARLY_HOLD_MAX 2000000
#define MCPI_EARLY_MAX 64
/* Ranges of used ids: beyond it the least recent is forgotten. */
#define MCPI_EARLY_RANGES_MAX 16

/* Makes the peer hold early cancels. MCP_E_NOMEM. */
int mcpi_early_cancel_init(struct mcpi_peer *peer);
void mcpi_early_cancel_done(struct mcpi_peer *peer);

/* Holds a cancel. False: the peer's messages come in order, or it has used the id. */
bool mcpi_early_cancel_hold(struct mcpi_peer *peer, const struct mcpi_id *id);

/* A request arrived: its id is used now. True: its cancel was held; the peer has
 * forgotten the cancel. */
bool mcpi_early_cancel_take(struct mcpi_peer *peer, const struct mcpi_id *id);

/* A new session: no id is used, nothing is held. */
void mcpi_early_cancel_reset(struct mcpi_peer *peer);

#endif
