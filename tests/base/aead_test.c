/* aead_test.c - XChaCha20-Poly1305: the published vectors, and what must not open */
#include "base/aead.h"

#include <string.h>

#include "support/test.h"

static const char sunscreen[] = "Ladies and Gentlemen of the class of '99: If I could "
                                "offer you only one tip for the "
                                "future, sunscreen would be it.";

#define SUNSCREEN (sizeof(sunscreen) - 1)

static unsigned
hex_digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : c - 'a' + 10);
}

static void
unhex(unsigned char *into, const char *hex)
{
    for (; hex[0]; hex += 2)
        *into++ = (unsigned char)(hex_digit(hex[0]) << 4 | hex_digit(hex[1]));
}

static void
assert_hex(const unsigned char *bytes, size_t len, const char *hex)
{
    unsigned char wanted[256];

    assert_int_equal(strlen(hex), 2 * len);
    unhex(wanted, hex);
    assert_memory_equal(bytes, wanted, len);
}

static void
fill(unsigned char *into, size_t len, unsigned char from)
{
    for (size_t i = 0; i < len; i++)
        into[i] = (unsigned char)(from + i);
}

/* ---- its parts ---------------------------------------------------------- */

static void
chacha20_encrypts_as_rfc_8439_has_it(void **state)
{
    unsigned char key[32], nonce[12], text[SUNSCREEN];

    (void)state;
    fill(key, sizeof(key), 0);
    unhex(nonce, "000000000000004a00000000");
    memcpy(text, sunscreen, SUNSCREEN);
    mcpi_chacha20(key, 1, nonce, text, SUNSCREEN);
    assert_hex(
        text, SUNSCREEN,
        "6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0bf91b65c5"
        "524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d807ca0dbf500d6a61"
        "56a38e088a22b65e52bc514d16ccf806818ce91ab77937365af90bbf74a35be6b40b8eed"
        "f2785e42874d");
    mcpi_chacha20(key, 1, nonce, text, SUNSCREEN);
    assert_memory_equal(text, sunscreen, SUNSCREEN);
}

static void
hchacha20_makes_the_key_of_the_draft(void **state)
{
    unsigned char key[32], nonce[16], sub[32];

    (void)state;
    fill(key, sizeof(key), 0);
    unhex(nonce, "000000090000004a0000000031415927");
    mcpi_hchacha20(key, nonce, sub);
    assert_hex(sub, sizeof(sub),
               "82413b4227b27bfed30e42508a877d73a0f9e4d58a74a853c12ec41326d3ecdc");
}

struct mac {
    const char *key, *text, *tag;
};

/* RFC 8439, 2.5.2, and those of its appendix A.3 that are about carries. */
static const struct mac macs[] = {
    {"85d6be7857556d337f4452fe42d506a80103808afb0db2fd4abff6af4149f51b",
     "43727970746f6772617068696320466f72756d2052657365617263682047726f7570",
     "a8061dc1305136c6c22b8baf0c0127a9"},
    {"0200000000000000000000000000000000000000000000000000000000000000",
     "ffffffffffffffffffffffffffffffff", "03000000000000000000000000000000"},
    {"02000000000000000000000000000000ffffffffffffffffffffffffffffffff",
     "02000000000000000000000000000000", "03000000000000000000000000000000"},
    {"0100000000000000000000000000000000000000000000000000000000000000",
     "fffffffffffffffffffffffffffffffff0ffffffffffffffffffffffffffffff"
     "11000000000000000000000000000000",
     "05000000000000000000000000000000"},
    {"0100000000000000000000000000000000000000000000000000000000000000",
     "fffffffffffffffffffffffffffffffffbfefefefefefefefefefefefefefefe"
     "01010101010101010101010101010101",
     "00000000000000000000000000000000"},
    {"0200000000000000000000000000000000000000000000000000000000000000",
     "fdffffffffffffffffffffffffffffff", "faffffffffffffffffffffffffffffff"},
    {"0100000000000000040000000000000000000000000000000000000000000000",
     "e33594d7505e43b900000000000000003394d7505e4379cd01000000000000000000000000000000"
     "000000000000000001000000000000000000000000000000",
     "14000000000000005500000000000000"},
    {"0100000000000000040000000000000000000000000000000000000000000000",
     "e33594d7505e43b900000000000000003394d7505e4379cd01000000000000000000000000000000"
     "0000000000000000",
     "13000000000000000000000000000000"},
};

static void
poly1305_is_that_of_rfc_8439(void **state)
{
    unsigned char key[32], text[80], tag[16];

    (void)state;
    for (size_t i = 0; i < sizeof(macs) / sizeof(macs[0]); i++) {
        unhex(key, macs[i].key);
        unhex(text, macs[i].text);
        mcpi_poly1305(key, text, strlen(macs[i].text) / 2, tag);
        assert_hex(tag, sizeof(tag), macs[i].tag);
    }
}

static void
poly1305_of_nothing_is_the_second_half_of_its_key(void **state)
{
    unsigned char key[32], tag[16];

    (void)state;
    fill(key, sizeof(key), 7);
    mcpi_poly1305(key, NULL, 0, tag);
    assert_memory_equal(tag, key + 16, 16);
}

/* ---- both together ------------------------------------------------------ */

struct sealed {
    unsigned char key[MCPI_AEAD_KEY], nonce[MCPI_AEAD_NONCE], data[12];
    unsigned char text[SUNSCREEN], tag[MCPI_AEAD_TAG];
    struct mcpi_aead with;
};

/* draft-irtf-cfrg-xchacha, A.3.1. */
static void
sealed_make(struct sealed *s)
{
    fill(s->key, sizeof(s->key), 0x80);
    fill(s->nonce, sizeof(s->nonce), 0x40);
    unhex(s->data, "50515253c0c1c2c3c4c5c6c7");
    memcpy(s->text, sunscreen, SUNSCREEN);
    s->with = (struct mcpi_aead){s->key, s->nonce, s->data, sizeof(s->data)};
    mcpi_aead_seal(&s->with, s->text, SUNSCREEN, s->tag);
}

static void
seal_is_that_of_the_draft(void **state)
{
    struct sealed s;

    (void)state;
    sealed_make(&s);
    assert_hex(
        s.text, SUNSCREEN,
        "bd6d179d3e83d43b9576579493c0e939572a1700252bfaccbed2902c21396cbb731c7f1b"
        "0b4aa6440bf3a82f4eda7e39ae64c6708c54c216cb96b72e1213b4522f8c9ba40db5d945"
        "b11b69b982c1bb9e3f3fac2bc369488f76b2383565d3fff921f9664c97637da9768812f6"
        "15c68b13b52e");
    assert_hex(s.tag, sizeof(s.tag), "c0875924c1c7987947deafd8780acf49");
}

static void
what_was_sealed_opens(void **state)
{
    struct sealed s;

    (void)state;
    sealed_make(&s);
    assert_true(mcpi_aead_open(&s.with, s.text, SUNSCREEN, s.tag));
    assert_memory_equal(s.text, sunscreen, SUNSCREEN);
}

static void
empty_text_and_empty_data_are_sealed_too(void **state)
{
    struct sealed s;

    (void)state;
    sealed_make(&s);
    s.with.data = NULL;
    s.with.data_len = 0;
    mcpi_aead_seal(&s.with, s.text, 0, s.tag);
    assert_true(mcpi_aead_open(&s.with, s.text, 0, s.tag));
    s.tag[15] ^= 128;
    assert_false(mcpi_aead_open(&s.with, s.text, 0, s.tag));
}

/* It must not open with that bit of the struct turned, and must stay as it is. */
static void
assert_bit_matters(size_t at, int bit)
{
    unsigned char before[SUNSCREEN];
    struct sealed s;

    sealed_make(&s);
    ((unsigned char *)&s)[at] ^= (unsigned char)(1 << bit);
    memcpy(before, s.text, SUNSCREEN);
    assert_false(mcpi_aead_open(&s.with, s.text, SUNSCREEN, s.tag));
    assert_memory_equal(s.text, before, SUNSCREEN);
}

static void
one_bit_anywhere_and_it_does_not_open(void **state)
{
    (void)state;
    for (size_t at = 0; at < offsetof(struct sealed, tag) + MCPI_AEAD_TAG; at++) {
        for (int bit = 0; bit < 8; bit++)
            assert_bit_matters(at, bit);
    }
}

static void
shorter_or_longer_text_does_not_open(void **state)
{
    struct sealed s;

    (void)state;
    sealed_make(&s);
    assert_false(mcpi_aead_open(&s.with, s.text, SUNSCREEN - 1, s.tag));
    s.with.data_len--;
    assert_false(mcpi_aead_open(&s.with, s.text, SUNSCREEN, s.tag));
}

static void
wiped_memory_is_zero(void **state)
{
    unsigned char secret[33];
    static const unsigned char zero[32];

    (void)state;
    memset(secret, 'x', sizeof(secret));
    mcpi_wipe(secret, 32);
    assert_memory_equal(secret, zero, 32);
    assert_int_equal(secret[32], 'x');
}

TEST_MAIN(TEST(chacha20_encrypts_as_rfc_8439_has_it),
          TEST(hchacha20_makes_the_key_of_the_draft),
          TEST(poly1305_is_that_of_rfc_8439),
          TEST(poly1305_of_nothing_is_the_second_half_of_its_key),
          TEST(seal_is_that_of_the_draft), TEST(what_was_sealed_opens),
          TEST(empty_text_and_empty_data_are_sealed_too),
          TEST(one_bit_anywhere_and_it_does_not_open),
          TEST(shorter_or_longer_text_does_not_open), TEST(wiped_memory_is_zero))
