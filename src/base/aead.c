/* aead.c - XChaCha20-Poly1305 */
#include "base/aead.h"

#include <string.h>

#define BLOCK 64

void
mcpi_wipe(void *secret, size_t len)
{
    volatile unsigned char *at = secret;

    while (len-- > 0)
        *at++ = 0;
}

static uint32_t
load32(const unsigned char *from)
{
    return (uint32_t)from[0] | (uint32_t)from[1] << 8 | (uint32_t)from[2] << 16 |
           (uint32_t)from[3] << 24;
}

static void
store32(unsigned char *into, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        into[i] = (unsigned char)(value >> (8 * i));
}

static void
store64(unsigned char *into, uint64_t value)
{
    store32(into, (uint32_t)value);
    store32(into + 4, (uint32_t)(value >> 32));
}

/* ---- ChaCha20 ----------------------------------------------------------- */

static uint32_t
rotate(uint32_t value, int by)
{
    return value << by | value >> (32 - by);
}

static void
quarter_round(uint32_t s[16], int a, int b, int c, int d)
{
    s[a] += s[b];
    s[d] = rotate(s[d] ^ s[a], 16);
    s[c] += s[d];
    s[b] = rotate(s[b] ^ s[c], 12);
    s[a] += s[b];
    s[d] = rotate(s[d] ^ s[a], 8);
    s[c] += s[d];
    s[b] = rotate(s[b] ^ s[c], 7);
}

static void
twenty_rounds(uint32_t s[16])
{
    for (int i = 0; i < 10; i++) {
        quarter_round(s, 0, 4, 8, 12);
        quarter_round(s, 1, 5, 9, 13);
        quarter_round(s, 2, 6, 10, 14);
        quarter_round(s, 3, 7, 11, 15);
        quarter_round(s, 0, 5, 10, 15);
        quarter_round(s, 1, 6, 11, 12);
        quarter_round(s, 2, 7, 8, 13);
        quarter_round(s, 3, 4, 9, 14);
    }
}

/* Constant and key; the last four words are the caller's. */
static void
state_begin(uint32_t s[16], const unsigned char key[32])
{
    static const char constant[] = "expand 32-byte k";

    for (int i = 0; i < 4; i++)
        s[i] = load32((const unsigned char *)constant + (size_t)(4 * i));
    for (int i = 0; i < 8; i++)
        s[4 + i] = load32(key + (size_t)(4 * i));
}

static void
block_make(const uint32_t state[16], unsigned char into[BLOCK])
{
    uint32_t s[16];

    memcpy(s, state, sizeof(s));
    twenty_rounds(s);
    for (int i = 0; i < 16; i++)
        store32(into + (size_t)(4 * i), s[i] + state[i]);
    mcpi_wipe(s, sizeof(s));
}

void
mcpi_chacha20(const unsigned char key[32], uint32_t block,
              const unsigned char nonce[12], unsigned char *text, size_t len)
{
    unsigned char stream[BLOCK];
    uint32_t state[16];
    size_t part;

    state_begin(state, key);
    state[12] = block;
    for (int i = 0; i < 3; i++)
        state[13 + i] = load32(nonce + (size_t)(4 * i));
    for (; len > 0; len -= part, text += part) {
        block_make(state, stream);
        state[12]++;
        part = len < BLOCK ? len : BLOCK;
        for (size_t i = 0; i < part; i++)
            text[i] ^= stream[i];
    }
    mcpi_wipe(stream, sizeof(stream));
    mcpi_wipe(state, sizeof(state));
}

void
mcpi_hchacha20(const unsigned char key[32], const unsigned char nonce[16],
               unsigned char ret_key[32])
{
    uint32_t s[16];

    state_begin(s, key);
    for (int i = 0; i < 4; i++)
        s[12 + i] = load32(nonce + (size_t)(4 * i));
    twenty_rounds(s);
    for (int i = 0; i < 4; i++) {
        store32(ret_key + (size_t)(4 * i), s[i]);
        store32(ret_key + 16 + (size_t)(4 * i), s[12 + i]);
    }
    mcpi_wipe(s, sizeof(s));
}

/* ---- Poly1305 ----------------------------------------------------------- */

/* Numbers modulo 2^130 - 5, in five limbs of 26 bits: products of two fit in 64 bits
 * with room for the carries. */
#define LIMB UINT32_C(0x3ffffff)

struct poly {
    uint32_t r[5], h[5], pad[4];
};

static void
limbs_load(uint32_t into[5], const unsigned char bytes[16])
{
    into[0] = load32(bytes) & LIMB;
    into[1] = load32(bytes + 3) >> 2 & LIMB;
    into[2] = load32(bytes + 6) >> 4 & LIMB;
    into[3] = load32(bytes + 9) >> 6 & LIMB;
    into[4] = load32(bytes + 12) >> 8;
}

static void
poly_begin(struct poly *p, const unsigned char key[32])
{
    unsigned char r[16];

    memcpy(r, key, sizeof(r));
    for (int i = 3; i < 16; i += 4)
        r[i] &= 15; /* the clamp of RFC 8439, 2.5 */
    for (int i = 4; i < 16; i += 4)
        r[i] &= 252;
    limbs_load(p->r, r);
    memset(p->h, 0, sizeof(p->h));
    for (int i = 0; i < 4; i++)
        p->pad[i] = load32(key + 16 + (size_t)(4 * i));
    mcpi_wipe(r, sizeof(r));
}

/* h = h * r. What passes 2^130 comes back five times, as 2^130 is 5. */
static void
poly_multiply(struct poly *p)
{
    uint64_t sums[5] = {0};
    uint64_t carry = 0;

    for (int i = 0; i < 5; i++) {
        for (int j = 0; j < 5; j++) {
            uint64_t factor = j <= i ? p->r[i - j] : 5 * (uint64_t)p->r[5 + i - j];

            sums[i] += p->h[j] * factor;
        }
    }
    for (int i = 0; i < 5; i++) {
        sums[i] += carry;
        carry = sums[i] >> 26;
        p->h[i] = (uint32_t)sums[i] & LIMB;
    }
    carry = p->h[0] + 5 * carry;
    p->h[0] = (uint32_t)carry & LIMB;
    p->h[1] += (uint32_t)(carry >> 26);
    mcpi_wipe(sums, sizeof(sums));
}

/* One block; top: the bit above its 16 bytes. */
static void
poly_add(struct poly *p, const unsigned char block[16], uint32_t top)
{
    uint32_t limbs[5];

    limbs_load(limbs, block);
    limbs[4] |= top << 24;
    for (int i = 0; i < 5; i++)
        p->h[i] += limbs[i];
    poly_multiply(p);
}

static size_t
poly_add_whole(struct poly *p, const unsigned char *text, size_t len)
{
    size_t at = 0;

    for (; len - at >= 16; at += 16)
        poly_add(p, text + at, 1);
    return at;
}

/* As the construction of RFC 8439, 2.8 has it: filled up with zeros. */
static void
poly_add_padded(struct poly *p, const unsigned char *text, size_t len)
{
    size_t at = len > 0 ? poly_add_whole(p, text, len) : 0;
    unsigned char last[16] = {0};

    if (at == len)
        return;
    memcpy(last, text + at, len - at);
    poly_add(p, last, 1);
}

/* h below the modulus: h, or h + 5 - 2^130 if that is not negative; chosen without a
 * branch. */
static void
poly_reduce(uint32_t h[5])
{
    uint32_t less[5], carry = 0, keep;

    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 5; i++) {
            h[i] += carry;
            carry = h[i] >> 26;
            h[i] &= LIMB;
        }
        carry *= 5;
    }
    h[0] += carry;
    carry = 5;
    for (int i = 0; i < 5; i++) {
        less[i] = h[i] + carry;
        carry = less[i] >> 26;
        less[i] &= LIMB;
    }
    keep = carry - 1; /* all ones: h is below already */
    for (int i = 0; i < 5; i++)
        h[i] = (h[i] & keep) | (less[i] & ~keep);
}

static void
poly_end(struct poly *p, unsigned char ret_tag[16])
{
    uint32_t *h = p->h;
    uint32_t words[4];
    uint64_t sum = 0;

    poly_reduce(h);
    words[0] = h[0] | h[1] << 26;
    words[1] = h[1] >> 6 | h[2] << 20;
    words[2] = h[2] >> 12 | h[3] << 14;
    words[3] = h[3] >> 18 | h[4] << 8;
    for (int i = 0; i < 4; i++) {
        sum += (uint64_t)words[i] + p->pad[i];
        store32(ret_tag + (size_t)(4 * i), (uint32_t)sum);
        sum >>= 32;
    }
    mcpi_wipe(words, sizeof(words));
    mcpi_wipe(p, sizeof(*p));
}

void
mcpi_poly1305(const unsigned char key[32], const void *text, size_t len,
              unsigned char ret_tag[16])
{
    unsigned char last[16] = {0};
    struct poly p;
    size_t at;

    poly_begin(&p, key);
    at = len > 0 ? poly_add_whole(&p, text, len) : 0;
    if (at < len) {
        memcpy(last, (const unsigned char *)text + at, len - at);
        last[len - at] = 1;
        poly_add(&p, last, 0);
    }
    poly_end(&p, ret_tag);
}

/* ---- both together ------------------------------------------------------ */

/* The key and the nonce of the inner cipher. */
static void
inner_make(const struct mcpi_aead *with, unsigned char ret_key[32],
           unsigned char ret_nonce[12])
{
    mcpi_hchacha20(with->key, with->nonce, ret_key);
    memset(ret_nonce, 0, 4);
    memcpy(ret_nonce + 4, with->nonce + 16, 8);
}

/* Over what is encrypted already. */
static void
tag_make(const struct mcpi_aead *with, const unsigned char key[32],
         const unsigned char nonce[12], const unsigned char *text, size_t len,
         unsigned char ret_tag[MCPI_AEAD_TAG])
{
    unsigned char once[32] = {0}, lengths[16];
    struct poly p;

    mcpi_chacha20(key, 0, nonce, once, sizeof(once));
    poly_begin(&p, once);
    poly_add_padded(&p, with->data, with->data_len);
    poly_add_padded(&p, text, len);
    store64(lengths, with->data_len);
    store64(lengths + 8, len);
    poly_add(&p, lengths, 1);
    poly_end(&p, ret_tag);
    mcpi_wipe(once, sizeof(once));
}

void
mcpi_aead_seal(const struct mcpi_aead *with, unsigned char *text, size_t len,
               unsigned char tag[MCPI_AEAD_TAG])
{
    unsigned char key[32], nonce[12];

    inner_make(with, key, nonce);
    mcpi_chacha20(key, 1, nonce, text, len);
    tag_make(with, key, nonce, text, len, tag);
    mcpi_wipe(key, sizeof(key));
}

bool
mcpi_aead_open(const struct mcpi_aead *with, unsigned char *text, size_t len,
               const unsigned char tag[MCPI_AEAD_TAG])
{
    unsigned char key[32], nonce[12], wanted[MCPI_AEAD_TAG];
    unsigned differ = 0;

    inner_make(with, key, nonce);
    tag_make(with, key, nonce, text, len, wanted);
    for (size_t i = 0; i < sizeof(wanted); i++)
        differ |= (unsigned)(wanted[i] ^ tag[i]); /* all of them, whatever they are */
    if (differ == 0)
        mcpi_chacha20(key, 1, nonce, text, len);
    mcpi_wipe(key, sizeof(key));
    mcpi_wipe(wanted, sizeof(wanted));
    return differ == 0;
}
