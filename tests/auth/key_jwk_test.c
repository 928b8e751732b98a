/* key_jwk_test.c - keys as JSON: those that are read, and the hostile ones */
#include "auth/key_fixture.h"

/* Writes bytes, all the same but the first and the last, as base64url. */
static const char *
number(size_t bytes, unsigned char first, unsigned char last)
{
    static char texts[2][8192];
    static int turn;
    unsigned char all[4096];
    struct mcpi_buf buf;
    char *text = texts[turn++ % 2];

    assert_true(bytes <= sizeof(all));
    memset(all, 0x55, sizeof(all));
    all[0] = first;
    all[bytes - 1] = last;
    mcpi_buf_init(&buf, NULL, 8192);
    mcpi_base64url_write(&buf, all, bytes);
    assert_int_equal(buf.status, 0);
    memcpy(text, buf.data, buf.len);
    text[buf.len] = '\0';
    mcpi_buf_done(&buf);
    return text;
}

static int
rsa_status(const char *n, const char *e)
{
    struct mcpi_key *key = NULL;
    char text[16384];
    int r;

    (void)snprintf(text, sizeof(text), "{'kty':'RSA','n':'%s','e':'%s'}", n, e);
    r = key_read(NULL, text, &key);
    assert_int_equal(key == NULL, r < 0);
    mcpi_key_unref(key);
    return r;
}

static void
refused(const char *text)
{
    struct mcpi_key *key = NULL;

    if (key_read(NULL, text, &key) != MCP_E_INVAL || key)
        fail_msg("was read: %s", text);
}

/* ---- those that are read ------------------------------------------------------- */

static void
assert_key(const char *text, const char *alg, bool is_private)
{
    struct mcpi_key *key = NULL;
    struct test_mem mem;

    test_mem_init(&mem);
    assert_int_equal(key_read(&mem.allocator, text, &key), 0);
    assert_string_equal(mcpi_key_alg(key), alg);
    assert_int_equal(mcpi_key_is_private(key), is_private);
    mcpi_key_unref(key);
    test_mem_done(&mem);
}

static void
keys_of_the_standards_are_read(void **state)
{
    (void)state;
    assert_key(RSA_PUBLIC, "RS256", false);
    assert_key(RSA_PRIVATE, "RS256", true);
    assert_key("{'e':'AQAB','kty':'RSA','n':'" RSA_N "','d':'" RSA_D "'}", "RS256",
               true);
    assert_key(EC_PUBLIC, "ES256", false);
    assert_key(EC_PRIVATE, "ES256", true);
    assert_key(ED_PUBLIC, "EdDSA", false);
    assert_key(ED_PRIVATE, "EdDSA", true);
}

static void
names_are_kept(void **state)
{
    struct mcpi_key *key = key_of("{" EC_MEMBERS ",'kid':'the \\u00e9 one'}");

    (void)state;
    assert_string_equal(mcpi_key_id(key), "the \xc3\xa9 one");
    mcpi_key_unref(key);
    refused("{" EC_MEMBERS ",'kid':7}");
    refused("{" EC_MEMBERS ",'kid':null}");
    refused("{" EC_MEMBERS ",'kid':'a\\u0000b'}");
}

static void
keys_that_say_they_sign_are_read(void **state)
{
    (void)state;
    assert_key("{" EC_MEMBERS
               ",'use':'sig','alg':'ES256','key_ops':['verify'],'ext':1}",
               "ES256", false);
    assert_key("{" EC_MEMBERS ",'d':'" EC_D "','key_ops':['sign']}", "ES256", true);
}

static void
keys_for_something_else_are_refused(void **state)
{
    (void)state;
    refused("{" EC_MEMBERS ",'use':'enc'}");
    refused("{" EC_MEMBERS ",'use':null}");
    refused("{" EC_MEMBERS ",'use':['sig']}");
    refused("{" EC_MEMBERS ",'alg':'ES384'}");
    refused("{" EC_MEMBERS ",'alg':'ECDH-ES'}");
    refused("{" EC_MEMBERS ",'alg':'es256'}");
    refused("{" EC_MEMBERS ",'alg':'ES256\\u0000'}");
    refused("{" EC_MEMBERS ",'key_ops':['encrypt','sign']}");
    refused("{" EC_MEMBERS ",'key_ops':[]}");
    refused("{" EC_MEMBERS ",'key_ops':'verify'}");
    refused("{" EC_MEMBERS ",'d':'" EC_D "','key_ops':['verify']}");
    refused("{'e':'AQAB','kty':'RSA','n':'" RSA_N "','alg':'PS256'}");
    refused("{'e':'AQAB','kty':'RSA','n':'" RSA_N "','alg':'HS256'}");
    refused("{'e':'AQAB','kty':'RSA','n':'" RSA_N "','alg':'RSA-OAEP'}");
}

/* ---- what is no key of ours ---------------------------------------------------- */

static void
what_is_no_key_of_ours_is_refused(void **state)
{
    struct mcpi_key *key = NULL;

    (void)state;
    refused("{}");
    refused("[]");
    refused("'RSA'");
    refused("null");
    assert_int_equal(mcpi_key_from_jwk(NULL, NULL, &key), MCP_E_INVAL);
    refused("{'kty':'oct','k':'AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T'}");
    refused("{'kty':'oct','k':'AyM1','crv':'P-256','x':'" EC_X "','y':'" EC_Y "'}");
    refused("{'kty':'ec','crv':'P-256','x':'" EC_X "','y':'" EC_Y "'}");
    refused("{'kty':'EC','crv':'P-384','x':'" EC_X "','y':'" EC_Y "'}");
    refused("{'kty':'EC','crv':'secp256k1','x':'" EC_X "','y':'" EC_Y "'}");
    refused("{'kty':'EC','x':'" EC_X "','y':'" EC_Y "'}");
    refused("{'kty':'OKP','crv':'X25519','x':'" ED_X "'}");
    refused("{'kty':'OKP','crv':'Ed448','x':'" ED_X "'}");
    refused("{'kty':['RSA'],'n':'" RSA_N "','e':'AQAB'}");
}

static void
a_member_named_twice_is_refused(void **state)
{
    (void)state;
    refused("{" EC_MEMBERS ",'x':'" EC_X "'}");
    refused("{" EC_MEMBERS ",'kty':'RSA'}");
    refused("{" EC_MEMBERS ",'other':1,'other':2}");
}

/* ---- P-256 --------------------------------------------------------------------- */

#define EC_WITH(x, y) "{'kty':'EC','crv':'P-256','x':'" x "','y':'" y "'}"
#define ZERO "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"

static void
points_that_are_not_on_the_curve_are_refused(void **state)
{
    (void)state;
    refused(EC_WITH(EC_X, EC_X));
    refused(EC_WITH(EC_Y, EC_X));
    refused(EC_WITH(ZERO, ZERO));
    refused(EC_WITH(EC_X, ZERO));
    /* x of the point, plus the prime of the field: the same number to who reduces it */
    refused(EC_WITH("_____wAAAAEAAAAAAAAAAAAAAAD_______________8", EC_Y));
    refused(EC_WITH(ED_X, EC_Y));
}

static void
coordinates_have_their_full_length(void **state)
{
    (void)state;
    refused(EC_WITH("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVA", EC_Y));
    refused(EC_WITH("AH_NzidwdsRdQYPL7m_bS3tYBzM1e-nvE7rPbjx70VRF", EC_Y));
    refused(EC_WITH("", EC_Y));
    refused("{'kty':'EC','crv':'P-256','x':'" EC_X "'}");
    refused("{'kty':'EC','crv':'P-256','x':'" EC_X "','y':1}");
    refused("{'kty':'EC','crv':'P-256','x':'" EC_X "','y':null}");
}

static void
only_the_one_spelling_of_base64url_is_read(void **state)
{
    (void)state;
    refused(EC_WITH(EC_X "=", EC_Y));
    refused(EC_WITH(EC_X "\\u0000", EC_Y));
    refused(EC_WITH(" " EC_X, EC_Y));
    refused(EC_WITH("f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEV", EC_Y));
    refused(EC_WITH(EC_X, "x/FEzRu9m36HLN/tue659LNpXW6pCyStikYjKIWI5a0"));
}

#define LONG RSA_N "AAAAAA" /* 260 bytes */

static void
halves_of_two_keys_are_refused(void **state)
{
    (void)state;
    refused("{" EC_MEMBERS ",'d':'" ED_D "'}");
    refused("{" EC_MEMBERS ",'d':'" ZERO "'}");
    refused("{" EC_MEMBERS ",'d':'AQ'}");
    refused("{" EC_MEMBERS ",'d':''}");
    refused("{" EC_MEMBERS ",'d':null}");
    refused("{'crv':'Ed25519','kty':'OKP','x':'" ED_X "','d':'" EC_D "'}");
    refused("{'crv':'Ed25519','kty':'OKP','x':'" ED_X "','d':'AQ'}");
    refused("{'e':'Aw','kty':'RSA','n':'" RSA_N "','d':'" RSA_D "'}");
    refused("{'e':'AQAB','kty':'RSA','n':'" RSA_N "','d':'" LONG LONG LONG LONG LONG
            "'}");
}

/* ---- Ed25519 ------------------------------------------------------------------- */

static void
ed25519_has_32_bytes(void **state)
{
    (void)state;
    refused("{'crv':'Ed25519','kty':'OKP','x':'AQ'}");
    refused("{'crv':'Ed25519','kty':'OKP','x':'" ED_X "AA'}");
    refused("{'crv':'Ed25519','kty':'OKP'}");
}

/* ---- RSA ----------------------------------------------------------------------- */

static void
rsa_has_its_limits(void **state)
{
    (void)state;
    assert_int_equal(rsa_status(number(256, 0x80, 1), "AQAB"), 0);
    assert_int_equal(rsa_status(number(256, 0x7f, 1), "AQAB"), MCP_E_INVAL);
    assert_int_equal(rsa_status(number(128, 0x80, 1), "AQAB"), MCP_E_INVAL);
    assert_int_equal(rsa_status(number(1024, 0x80, 1), "AQAB"), 0);
    assert_int_equal(rsa_status(number(1025, 0x01, 1), "AQAB"), MCP_E_INVAL);
    assert_int_equal(rsa_status(number(2048, 0x80, 1), "AQAB"), MCP_E_INVAL);
    assert_int_equal(rsa_status(number(4096, 0x80, 1), "AQAB"), MCP_E_INVAL);
}

static void
rsa_modulus_is_odd_and_there(void **state)
{
    (void)state;
    assert_int_equal(rsa_status(number(256, 0x80, 2), "AQAB"), MCP_E_INVAL);
    assert_int_equal(rsa_status("", "AQAB"), MCP_E_INVAL);
    refused("{'kty':'RSA','e':'AQAB'}");
    refused("{'kty':'RSA','e':'AQAB','n':3233}");
}

static void
rsa_exponent_is_odd_above_one_and_short(void **state)
{
    const char *n = RSA_N;

    (void)state;
    assert_int_equal(rsa_status(n, "Aw"), 0);
    assert_int_equal(rsa_status(n, "AQ"), MCP_E_INVAL);   /* 1 */
    assert_int_equal(rsa_status(n, "AA"), MCP_E_INVAL);   /* 0 */
    assert_int_equal(rsa_status(n, "Ag"), MCP_E_INVAL);   /* 2 */
    assert_int_equal(rsa_status(n, "AQAA"), MCP_E_INVAL); /* 65536 */
    assert_int_equal(rsa_status(n, "AAAB"), MCP_E_INVAL); /* 1 with zeros */
    assert_int_equal(rsa_status(n, number(8, 1, 1)), 0);
    assert_int_equal(rsa_status(n, number(9, 1, 1)), MCP_E_INVAL);
    assert_int_equal(rsa_status(n, n), MCP_E_INVAL);
    assert_int_equal(rsa_status(n, ""), MCP_E_INVAL);
}

/* Some put the sign of a signed number there; it is the same key. */
static void
a_zero_before_the_modulus_changes_nothing(void **state)
{
    char prints[2][MCPI_KEY_THUMBPRINT_SIZE];
    struct mcpi_key *key;
    unsigned char n[300];
    struct mcpi_buf text;
    size_t len;

    (void)state;
    n[0] = 0;
    len = unbase64(RSA_N, n + 1, sizeof(n) - 1);
    mcpi_buf_init(&text, NULL, 4096);
    mcpi_buf_text(&text, "{'kty':'RSA','e':'AQAB','n':'");
    mcpi_base64url_write(&text, n, len + 1);
    mcpi_buf_append(&text, "'}", 3);
    key = key_of(text.data);
    assert_int_equal(mcpi_key_thumbprint(key, prints[0]), 0);
    mcpi_key_unref(key);
    key = key_of(RSA_PUBLIC);
    assert_int_equal(mcpi_key_thumbprint(key, prints[1]), 0);
    mcpi_key_unref(key);
    assert_string_equal(prints[0], prints[1]);
    mcpi_buf_done(&text);
}

static void
rsa_has_all_its_primes_or_none(void **state)
{
#define RSA_HALF "{'e':'AQAB','kty':'RSA','n':'" RSA_N "','d':'" RSA_D "'"
    (void)state;
    refused(RSA_HALF ",'p':'" RSA_P "'}");
    refused(RSA_HALF "," RSA_REST "}");
    refused(RSA_HALF ",'p':'" RSA_P "'," RSA_REST ",'oth':[]}");
    refused(RSA_HALF ",'oth':[{'r':'AQ','d':'AQ','t':'AQ'}]}");
}

/* ---- memory -------------------------------------------------------------------- */

static void
flow(struct test_mem *mem, void *user)
{
    const mcp_doc *doc = user;
    struct mcpi_key *key = NULL;
    int r = mcpi_key_from_jwk(&mem->allocator, mcp_doc_root(doc), &key);

    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    mcpi_key_unref(key);
}

static void
each_allocation_may_fail(void **state)
{
    mcp_doc *doc = json_doc(NULL, EC_PRIVATE);

    (void)state;
    assert_int_equal(test_each_allocation_fails(flow, doc), 1);
    mcp_doc_free(doc);
}

TEST_MAIN(TEST(keys_of_the_standards_are_read), TEST(names_are_kept),
          TEST(keys_that_say_they_sign_are_read),
          TEST(keys_for_something_else_are_refused),
          TEST(what_is_no_key_of_ours_is_refused),
          TEST(a_member_named_twice_is_refused),
          TEST(points_that_are_not_on_the_curve_are_refused),
          TEST(coordinates_have_their_full_length),
          TEST(only_the_one_spelling_of_base64url_is_read),
          TEST(halves_of_two_keys_are_refused), TEST(ed25519_has_32_bytes),
          TEST(rsa_has_its_limits), TEST(rsa_modulus_is_odd_and_there),
          TEST(rsa_exponent_is_odd_above_one_and_short),
          TEST(a_zero_before_the_modulus_changes_nothing),
          TEST(rsa_has_all_its_primes_or_none), TEST(each_allocation_may_fail))
