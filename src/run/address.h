/* address.h - how near an address is, for those who must not be lured to a near one */
#ifndef MCPI_RUN_ADDRESS_H
#define MCPI_RUN_ADDRESS_H

#include <sys/socket.h>

#include <mcp/base.h>

/* From far to near. Who may go to one may go to those before it, but for SPECIAL. */
enum mcpi_address_kind {
    MCPI_ADDRESS_ANY = 0, /* not known; as a limit: none */
    MCPI_ADDRESS_PUBLIC,
    MCPI_ADDRESS_PRIVATE,  /* RFC 1918, RFC 6598, unique local */
    MCPI_ADDRESS_LOOPBACK, /* also a Unix socket */
    MCPI_ADDRESS_SPECIAL /* link-local (where clouds keep their secrets), multicast, the
                              unspecified one, documentation, reserved */
};

/* An address of IPv4 in one of IPv6 (mapped, compatible, 6to4, NAT64) is what it is of
 * IPv4. */
enum mcpi_address_kind mcpi_address_kind(const struct sockaddr *address);

/* The same of a host as it stands in a URL, with or without brackets: an address, or
 * "localhost" and names below it; a name otherwise is ANY, not known. */
enum mcpi_address_kind mcpi_address_kind_of_host(const char *host, size_t len);

/* May one who is limited to `nearest` go there? SPECIAL only if that is the limit. */
bool mcpi_address_may(enum mcpi_address_kind kind, enum mcpi_address_kind nearest);

#endif
