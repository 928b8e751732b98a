/* http_account.c - whom a client of HTTP is charged as */
#include "link/http_account.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "link/http_ticket.h"

#define NETWORK 8 /* bytes of an address of IPv6 */

/* A name begins with what it is of, so that no principal is an address. */
enum { OF_IPV4 = '4', OF_IPV6 = '6', OF_TEXT = 't', OF_PRINCIPAL = 'p' };

static struct mcpi_account *
account_get(const struct mcpi_http_clients *clients, char of, const void *bytes,
            size_t len)
{
    char name[1 + MCPI_TICKET_PRINCIPAL_MAX];

    if (len > MCPI_TICKET_PRINCIPAL_MAX)
        len = MCPI_TICKET_PRINCIPAL_MAX;
    name[0] = of;
    memcpy(name + 1, bytes, len);
    return mcpi_accounts_get(clients->accounts, name, 1 + len);
}

struct mcpi_account *
mcpi_http_account_of_address(const struct mcpi_http_clients *clients,
                             const char *address)
{
    struct in6_addr six;
    struct in_addr four;

    if (clients->proxied || !address || !*address)
        return mcpi_accounts_get(clients->accounts, NULL, 0);
    if (inet_pton(AF_INET, address, &four) == 1)
        return account_get(clients, OF_IPV4, &four, sizeof(four));
    if (inet_pton(AF_INET6, address, &six) != 1)
        return account_get(clients, OF_TEXT, address, strlen(address));
    if (IN6_IS_ADDR_V4MAPPED(&six))
        return account_get(clients, OF_IPV4, six.s6_addr + 12, sizeof(four));
    return account_get(clients, OF_IPV6, &six, NETWORK);
}

struct mcpi_account *
mcpi_http_account_of_principal(const struct mcpi_http_clients *clients,
                               const char *principal)
{
    return account_get(clients, OF_PRINCIPAL, principal, strlen(principal));
}
