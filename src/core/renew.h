/*
 * renew.h - a client peer that was READY and has to negotiate once more
 *
 *   READY -> NEGOTIATING -> READY
 *
 * Either its server has forgotten the session (legacy HTTP: mcpi_peer_session_lost in
 * port.h), or it turns out not to speak the modern version that an earlier discovery
 * promised. Only initialize is ever sent anew: what follows is legacy. Meanwhile all is
 * as in the first negotiation: what is started waits, with its clock running, and a
 * cancel takes it back without a trace. The router hears `renewed`; if it fails, the
 * peer is closed.
 *
 * A request that was refused only for that is given back to its outlet, once in its
 * life (mcpi_leg_give_back): whoever started it notices nothing.
 */
#ifndef MCPI_CORE_RENEW_H
#define MCPI_CORE_RENEW_H

#include "core/leg.h"

/* A modern request of ours was answered with -32022 and a list. If we speak another
 * modern version of it, that is spoken from now on; if only a legacy one, and legacy is
 * allowed, the peer negotiates again. True: the leg waits again, and the answer was
 * none. False: it is the answer. */
bool mcpi_peer_change_version(struct mcpi_peer *peer, struct mcpi_leg *leg,
                              const struct mcpi_rpc *refusal);

#endif
