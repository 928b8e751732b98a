/* run/address_test.c - how near an address is */
#include "run/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#include "support/test.h"

#define ANY MCPI_ADDRESS_ANY
#define PUBLIC MCPI_ADDRESS_PUBLIC
#define PRIVATE MCPI_ADDRESS_PRIVATE
#define LOOPBACK MCPI_ADDRESS_LOOPBACK
#define SPECIAL MCPI_ADDRESS_SPECIAL

struct sample {
    const char *text;
    enum mcpi_address_kind kind;
};

/* Both ends of each range, and their neighbours. */
static const struct sample samples_4[] = {
    {"0.0.0.0", SPECIAL},         {"0.255.255.255", SPECIAL},
    {"1.0.0.0", PUBLIC},          {"8.8.8.8", PUBLIC},
    {"9.255.255.255", PUBLIC},    {"10.0.0.0", PRIVATE},
    {"10.255.255.255", PRIVATE},  {"11.0.0.0", PUBLIC},
    {"100.63.255.255", PUBLIC},   {"100.64.0.0", PRIVATE},
    {"100.100.100.199", PRIVATE}, {"100.100.100.200", SPECIAL},
    {"100.127.255.255", PRIVATE}, {"100.128.0.0", PUBLIC},
    {"126.255.255.255", PUBLIC},  {"127.0.0.0", LOOPBACK},
    {"127.0.0.1", LOOPBACK},      {"127.255.255.255", LOOPBACK},
    {"128.0.0.0", PUBLIC},        {"168.63.129.15", PUBLIC},
    {"168.63.129.16", SPECIAL},   {"168.63.129.17", PUBLIC},
    {"169.253.255.255", PUBLIC},  {"169.254.0.0", SPECIAL},
    {"169.254.169.254", SPECIAL}, {"169.254.255.255", SPECIAL},
    {"169.255.0.0", PUBLIC},      {"172.15.255.255", PUBLIC},
    {"172.16.0.0", PRIVATE},      {"172.31.255.255", PRIVATE},
    {"172.32.0.0", PUBLIC},       {"191.255.255.255", PUBLIC},
    {"192.0.0.0", SPECIAL},       {"192.0.0.192", SPECIAL},
    {"192.0.0.255", SPECIAL},     {"192.0.1.0", PUBLIC},
    {"192.0.2.0", SPECIAL},       {"192.0.2.255", SPECIAL},
    {"192.0.3.0", PUBLIC},        {"192.88.98.255", PUBLIC},
    {"192.88.99.1", SPECIAL},     {"192.88.100.0", PUBLIC},
    {"192.167.255.255", PUBLIC},  {"192.168.0.0", PRIVATE},
    {"192.168.255.255", PRIVATE}, {"192.169.0.0", PUBLIC},
    {"198.17.255.255", PUBLIC},   {"198.18.0.0", SPECIAL},
    {"198.19.255.255", SPECIAL},  {"198.20.0.0", PUBLIC},
    {"198.51.99.255", PUBLIC},    {"198.51.100.0", SPECIAL},
    {"198.51.100.255", SPECIAL},  {"198.51.101.0", PUBLIC},
    {"203.0.112.255", PUBLIC},    {"203.0.113.0", SPECIAL},
    {"203.0.113.255", SPECIAL},   {"203.0.114.0", PUBLIC},
    {"223.255.255.255", PUBLIC},  {"224.0.0.0", SPECIAL},
    {"239.255.255.255", SPECIAL}, {"240.0.0.0", SPECIAL},
    {"255.255.255.254", SPECIAL}, {"255.255.255.255", SPECIAL},
};

static const struct sample samples_6[] = {
    {"::", SPECIAL},
    {"::1", LOOPBACK},
    {"::2", SPECIAL}, /* compatible: 0.0.0.2 */
    {"::127.0.0.1", LOOPBACK},
    {"::10.1.2.3", PRIVATE},
    {"::8.8.8.8", PUBLIC},
    {"::169.254.169.254", SPECIAL},
    {"::1:0:0", SPECIAL}, /* one bit above those */
    {"::ffff:127.0.0.1", LOOPBACK},
    {"::ffff:10.0.0.1", PRIVATE},
    {"::ffff:100.64.0.1", PRIVATE},
    {"::ffff:0.0.0.0", SPECIAL},
    {"::ffff:169.254.169.254", SPECIAL},
    {"::ffff:8.8.8.8", PUBLIC},
    {"::fffe:8.8.8.8", SPECIAL},
    {"::ffff:0:127.0.0.1", LOOPBACK},
    {"::ffff:0:8.8.8.8", PUBLIC},
    {"64:ff9b::127.0.0.1", LOOPBACK},
    {"64:ff9b::192.168.1.1", PRIVATE},
    {"64:ff9b::169.254.169.254", SPECIAL},
    {"64:ff9b::8.8.8.8", PUBLIC},
    {"64:ff9b:0:0:0:1:808:808", SPECIAL},
    {"64:ff9b:1::8.8.8.8", SPECIAL}, /* of whoever runs it */
    {"100::1", SPECIAL},
    {"1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", SPECIAL},
    {"2000::", PUBLIC},
    {"2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", PUBLIC},
    {"2001::1", SPECIAL}, /* Teredo, whoever is behind it */
    {"2001:0:808:808:0:ffff:f7f7:f7f7", SPECIAL},
    {"2001:2::1", SPECIAL},
    {"2001:10::1", SPECIAL},
    {"2001:20::1", SPECIAL},
    {"2001:1ff:ffff::", SPECIAL},
    {"2001:200::", PUBLIC},
    {"2001:db7:ffff::", PUBLIC},
    {"2001:db8::", SPECIAL},
    {"2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", SPECIAL},
    {"2001:db9::", PUBLIC},
    {"2001:4860:4860::8888", PUBLIC},
    {"2002:7f00:1::1", LOOPBACK}, /* 6to4: 127.0.0.1 */
    {"2002:a00:1::1", PRIVATE},
    {"2002:a9fe:a9fe::1", SPECIAL},
    {"2002::1", SPECIAL},
    {"2002:808:808::1", PUBLIC},
    {"2003::", PUBLIC},
    {"2606:4700::1111", PUBLIC},
    {"3ffe:ffff::", PUBLIC},
    {"3fff::", SPECIAL},
    {"3fff:fff:ffff::", SPECIAL},
    {"3fff:1000::", PUBLIC},
    {"3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", PUBLIC},
    {"4000::", SPECIAL},
    {"5f00::1", SPECIAL},
    {"fbff:ffff::", SPECIAL},
    {"fc00::", PRIVATE},
    {"fd00::1", PRIVATE},
    {"fd00:ec1:ffff::1", PRIVATE},
    {"fd00:ec2::254", SPECIAL},
    {"fd00:ec3::1", PRIVATE},
    {"fd20:ce::254", SPECIAL},
    {"fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", PRIVATE},
    {"fe00::", SPECIAL},
    {"fe80::", SPECIAL},
    {"febf:ffff::1", SPECIAL},
    {"fec0::1", SPECIAL},
    {"ff00::", SPECIAL},
    {"ff02::1", SPECIAL},
    {"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", SPECIAL},
};

static const struct sample hosts[] = {
    {"[::1]", LOOPBACK},
    {"[::ffff:7f00:1]", LOOPBACK},
    {"[fe80::1%25eth0]", SPECIAL},
    {"fe80::1%eth0", SPECIAL},
    {"[2001:4860:4860::8888]", PUBLIC},
    {"127.1", LOOPBACK},
    {"127.0.0.1.", LOOPBACK},
    {"0x7f.1", LOOPBACK},
    {"0x7F000001", LOOPBACK},
    {"017700000001", LOOPBACK},
    {"2130706433", LOOPBACK},
    {"0", SPECIAL},
    {"2852039166", SPECIAL}, /* 169.254.169.254 */
    {"0xa9fea9fe", SPECIAL},
    {"134744072", PUBLIC}, /* 8.8.8.8 */
    {"localhost", LOOPBACK},
    {"LocalHost", LOOPBACK},
    {"localhost.", LOOPBACK},
    {"a.b.localhost", LOOPBACK},
    {"notlocalhost", ANY},
    {"localhost.example.com", ANY},
    {"example.com", ANY},
    {"127.0.0.1.example.com", ANY},
    {"127.0.0.1 x", ANY}, /* who calls that an address is wrong */
    {"256.0.0.1", ANY},
    {"1.2.3.4.5", ANY},
    {"dead.beef", ANY},
    {"", ANY},
    {".", ANY},
    {"[]", ANY},
    {"[", ANY},
    {"[v1.x:y]", ANY},
    {"1::2::3", ANY},
    {":", ANY},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static void
expect(const char *text, enum mcpi_address_kind kind, enum mcpi_address_kind expected)
{
    if (kind != expected)
        fail_msg("%s is %d and not %d", text, (int)kind, (int)expected);
}

static void
expect_host(const char *text, enum mcpi_address_kind kind)
{
    expect(text, mcpi_address_kind_of_host(text, strlen(text)), kind);
}

static void
ipv4_has_its_ranges(void **state)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(443)};

    (void)state;
    for (size_t i = 0; i < COUNT(samples_4); i++) {
        assert_int_equal(inet_pton(AF_INET, samples_4[i].text, &four.sin_addr), 1);
        expect(samples_4[i].text, mcpi_address_kind((struct sockaddr *)&four),
               samples_4[i].kind);
        expect_host(samples_4[i].text, samples_4[i].kind);
    }
}

static void
ipv6_has_its_ranges(void **state)
{
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(443)};

    (void)state;
    for (size_t i = 0; i < COUNT(samples_6); i++) {
        assert_int_equal(inet_pton(AF_INET6, samples_6[i].text, &six.sin6_addr), 1);
        expect(samples_6[i].text, mcpi_address_kind((struct sockaddr *)&six),
               samples_6[i].kind);
        expect_host(samples_6[i].text, samples_6[i].kind);
    }
}

/* Every address of IPv4 that ends a block of 256, in each way that carries one. */
static void
ipv4_in_ipv6_is_what_it_is_alone(void **state)
{
    static const struct {
        uint8_t first[16];
        unsigned at;
    } ways[] = {{{[10] = 0xff, 0xff}, 12},
                {{[8] = 0xff, 0xff}, 12},
                {{0, 0x64, 0xff, 0x9b}, 12},
                {{0x20, 0x02}, 2}};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6};
    struct sockaddr_in four = {.sin_family = AF_INET};

    (void)state;
    for (uint32_t net = 0; net < 1u << 16; net++) {
        four.sin_addr.s_addr = htonl(net << 16 | 0xff);
        for (size_t w = 0; w < COUNT(ways); w++) {
            memcpy(six.sin6_addr.s6_addr, ways[w].first, 16);
            memcpy(six.sin6_addr.s6_addr + ways[w].at, &four.sin_addr, 4);
            assert_int_equal(mcpi_address_kind((struct sockaddr *)&six),
                             mcpi_address_kind((struct sockaddr *)&four));
        }
    }
}

static void
a_unix_socket_is_on_this_machine(void **state)
{
    struct sockaddr_un here = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
    struct sockaddr none = {.sa_family = AF_UNSPEC};

    (void)state;
    assert_int_equal(mcpi_address_kind((struct sockaddr *)&here), LOOPBACK);
    assert_int_equal(mcpi_address_kind(&none), SPECIAL); /* who knows */
}

static void
a_host_is_an_address_or_a_name(void **state)
{
    char longest[400];

    (void)state;
    for (size_t i = 0; i < COUNT(hosts); i++)
        expect_host(hosts[i].text, hosts[i].kind);
    memset(longest, 'a', sizeof(longest));
    memcpy(longest + sizeof(longest) - 10, ".localhost", 10);
    expect("too long", mcpi_address_kind_of_host(longest, sizeof(longest)), ANY);
    expect("255", mcpi_address_kind_of_host(longest + 145, 255), LOOPBACK);
    expect("cut", mcpi_address_kind_of_host("127.0.0.1/x", 9), LOOPBACK);
    expect("zero", mcpi_address_kind_of_host("127.0.0.1\0.example.com", 22), ANY);
}

static void
who_may_go_near_may_go_far(void **state)
{
    /* Rows: what it is; columns: the limit, from ANY to SPECIAL. */
    static const bool may[5][5] = {
        {true, true, true, true, true},    {true, true, true, true, true},
        {true, false, true, true, true},   {true, false, false, true, true},
        {true, false, false, false, true},
    };

    (void)state;
    for (int kind = ANY; kind <= SPECIAL; kind++)
        for (int nearest = ANY; nearest <= SPECIAL; nearest++)
            assert_int_equal(mcpi_address_may((enum mcpi_address_kind)kind,
                                              (enum mcpi_address_kind)nearest),
                             may[kind][nearest]);
}

TEST_MAIN(TEST(ipv4_has_its_ranges), TEST(ipv6_has_its_ranges),
          TEST(ipv4_in_ipv6_is_what_it_is_alone),
          TEST(a_unix_socket_is_on_this_machine), TEST(a_host_is_an_address_or_a_name),
          TEST(who_may_go_near_may_go_far))
