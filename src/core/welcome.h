/* welcome.h - how a server receives a client: initialize, server/discover, ping */
#ifndef MCPI_CORE_WELCOME_H
#define MCPI_CORE_WELCOME_H

#include "core/exchange.h"

/* Serve it if it is one of these, in its era. False: it is for the router. */
bool mcpi_welcome_route(struct mcpi_exchange *x);

#endif
