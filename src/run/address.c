/* address.c - how near an address is */
#include "run/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>

#include "base/text.h"

#define HOST_MAX 255 /* longest name there is */

/* All addresses whose first `bits` are those. */
struct range {
    uint8_t first[16];
    unsigned bits;
    enum mcpi_address_kind kind;
};

/* What is in none of them is public. Those of clouds: where they keep the secrets of a
 * machine, if that is not link-local. */
static const struct range ranges_4[] = {
    {{0}, 8, MCPI_ADDRESS_SPECIAL}, /* this network; mostly the machine itself */
    {{100, 100, 100, 200}, 32, MCPI_ADDRESS_SPECIAL}, /* a cloud's */
    {{168, 63, 129, 16}, 32, MCPI_ADDRESS_SPECIAL},   /* a cloud's */
    {{10}, 8, MCPI_ADDRESS_PRIVATE},
    {{100, 64}, 10, MCPI_ADDRESS_PRIVATE}, /* between a provider and its customers */
    {{127}, 8, MCPI_ADDRESS_LOOPBACK},
    {{169, 254}, 16, MCPI_ADDRESS_SPECIAL}, /* link-local */
    {{172, 16}, 12, MCPI_ADDRESS_PRIVATE},
    {{192, 0, 0}, 24, MCPI_ADDRESS_SPECIAL},   /* of protocols */
    {{192, 0, 2}, 24, MCPI_ADDRESS_SPECIAL},   /* documentation */
    {{192, 88, 99}, 24, MCPI_ADDRESS_SPECIAL}, /* the relay of 6to4, given up */
    {{192, 168}, 16, MCPI_ADDRESS_PRIVATE},
    {{198, 18}, 15, MCPI_ADDRESS_SPECIAL},      /* measurements */
    {{198, 51, 100}, 24, MCPI_ADDRESS_SPECIAL}, /* documentation */
    {{203, 0, 113}, 24, MCPI_ADDRESS_SPECIAL},  /* documentation */
    {{224}, 3, MCPI_ADDRESS_SPECIAL},           /* multicast, reserved, broadcast */
};

/* What is in none of them is reserved. */
static const struct range ranges_6[] = {
    {{[15] = 1}, 128, MCPI_ADDRESS_LOOPBACK},
    {{0x20, 0x01, 0x0d, 0xb8}, 32, MCPI_ADDRESS_SPECIAL}, /* documentation */
    {{0x20, 0x01}, 23, MCPI_ADDRESS_SPECIAL}, /* of protocols; Teredo is one */
    {{0x3f, 0xff}, 20, MCPI_ADDRESS_SPECIAL}, /* documentation */
    {{0x20}, 3, MCPI_ADDRESS_PUBLIC},
    {{0xfd, 0x00, 0x0e, 0xc2}, 32, MCPI_ADDRESS_SPECIAL}, /* a cloud's */
    {{0xfd, 0x20, 0x00, 0xce}, 32, MCPI_ADDRESS_SPECIAL}, /* a cloud's */
    {{0xfc}, 7, MCPI_ADDRESS_PRIVATE},                    /* unique local */
};

/* Where one of IPv4 stands in one of IPv6: `at` is its first byte there. */
static const struct {
    uint8_t first[16];
    unsigned bits, at;
} carriers[] = {
    {{[10] = 0xff, 0xff}, 96, 12},      /* mapped */
    {{[8] = 0xff, 0xff}, 96, 12},       /* translated */
    {{0}, 96, 12},                      /* compatible */
    {{0x00, 0x64, 0xff, 0x9b}, 96, 12}, /* NAT64 */
    {{0x20, 0x02}, 16, 2},              /* 6to4 */
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool
bits_match(const uint8_t *a, const uint8_t *b, unsigned bits)
{
    unsigned whole = bits / 8, rest = bits % 8;

    return memcmp(a, b, whole) == 0 &&
           (rest == 0 || ((a[whole] ^ b[whole]) >> (8 - rest)) == 0);
}

static enum mcpi_address_kind
kind_of_4(const uint8_t *bytes)
{
    for (size_t i = 0; i < COUNT(ranges_4); i++)
        if (bits_match(bytes, ranges_4[i].first, ranges_4[i].bits))
            return ranges_4[i].kind;
    return MCPI_ADDRESS_PUBLIC;
}

/* ::1 is in the range of the compatible ones too, so it comes first. */
static enum mcpi_address_kind
kind_of_6(const uint8_t *bytes)
{
    if (bits_match(bytes, ranges_6[0].first, ranges_6[0].bits))
        return ranges_6[0].kind;
    for (size_t i = 0; i < COUNT(carriers); i++)
        if (bits_match(bytes, carriers[i].first, carriers[i].bits))
            return kind_of_4(bytes + carriers[i].at);
    for (size_t i = 1; i < COUNT(ranges_6); i++)
        if (bits_match(bytes, ranges_6[i].first, ranges_6[i].bits))
            return ranges_6[i].kind;
    return MCPI_ADDRESS_SPECIAL;
}

enum mcpi_address_kind
mcpi_address_kind(const struct sockaddr *address)
{
    struct sockaddr_in6 six;
    struct sockaddr_in four;

    switch (address->sa_family) {
    case AF_INET:
        memcpy(&four, address, sizeof(four));
        return kind_of_4((const uint8_t *)&four.sin_addr);
    case AF_INET6:
        memcpy(&six, address, sizeof(six));
        return kind_of_6(six.sin6_addr.s6_addr);
    case AF_UNIX:
        return MCPI_ADDRESS_LOOPBACK;
    default: /* nobody knows where that is */
        return MCPI_ADDRESS_SPECIAL;
    }
}

/* ---- hosts ------------------------------------------------------------------ */

static bool
name_is_local(const char *name, size_t len)
{
    static const char local[] = "localhost";
    size_t last = sizeof(local) - 1;

    if (len < last || !mcpi_text_same_letters(name + len - last, local))
        return false;
    return len == last || name[len - last - 1] == '.';
}

/* An address of IPv4 in all the forms that a resolver takes: "127.1", "0x7f000001". */
static enum mcpi_address_kind
kind_of_name(const char *name, size_t len)
{
    struct in_addr four;

    if (name_is_local(name, len))
        return MCPI_ADDRESS_LOOPBACK;
    if (name[strspn(name, "0123456789abcdefABCDEFxX.")] == '\0' &&
        inet_aton(name, &four) != 0)
        return kind_of_4((const uint8_t *)&four);
    return MCPI_ADDRESS_ANY;
}

enum mcpi_address_kind
mcpi_address_kind_of_host(const char *host, size_t len)
{
    struct in6_addr six;
    char name[HOST_MAX + 1];

    if (len >= 2 && host[0] == '[' && host[len - 1] == ']') {
        host++;
        len -= 2;
    }
    if (len > 0 && host[len - 1] == '.') /* of the root: the same name */
        len--;
    if (len == 0 || len > HOST_MAX || memchr(host, '\0', len))
        return MCPI_ADDRESS_ANY;
    memcpy(name, host, len);
    name[len] = '\0';
    if (!memchr(name, ':', len))
        return kind_of_name(name, len);
    name[strcspn(name, "%")] = '\0'; /* on which interface */
    return inet_pton(AF_INET6, name, &six) == 1 ? kind_of_6(six.s6_addr)
                                                : MCPI_ADDRESS_ANY;
}

bool
mcpi_address_may(enum mcpi_address_kind kind, enum mcpi_address_kind nearest)
{
    return nearest == MCPI_ADDRESS_ANY || kind <= nearest;
}
