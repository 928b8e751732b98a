/*
 * http_account.h - whom a client of HTTP is charged as
 *
 * A client is its principal; without one it is its address, and of IPv6 the network of
 * 64 bits, because a client has all of that. Behind a proxy addresses say nothing: there
 * each connection is a client.
 */
#ifndef MCPI_LINK_HTTP_ACCOUNT_H
#define MCPI_LINK_HTTP_ACCOUNT_H

#include "run/accounts.h"

/* How clients are told apart. */
struct mcpi_http_clients {
    struct mcpi_accounts *accounts; /* outlives whoever has this; NULL: nobody counts */
    bool proxied;
};

/* With a reference for the caller; NULL: no memory, or nobody counts. address NULL or "":
 * not known, and then this is a client of its own. [any] */
struct mcpi_account *mcpi_http_account_of_address(
    const struct mcpi_http_clients *clients, const char *address);

/* Likewise. principal is not "". [any] */
struct mcpi_account *mcpi_http_account_of_principal(
    const struct mcpi_http_clients *clients, const char *principal);

#endif
