/* json/schema_format_test.c - proves json/schema_format.c */
#include "json/schema_format.h"

#include <string.h>

#include "support/test.h"

/* Texts up to NULL. */
static void
all(const char *format, bool expected, const char *const *texts)
{
    mcpi_schema_format_fn *fn = mcpi_schema_format_find(format, strlen(format));

    assert_non_null(fn);
    for (; *texts; texts++) {
        if (fn(*texts, strlen(*texts)) != expected)
            fail_msg("%s: %s", format, *texts);
    }
}

#define IS(format, ...) all(format, true, (const char *const[]){__VA_ARGS__, NULL})
#define NOT(format, ...) all(format, false, (const char *const[]){__VA_ARGS__, NULL})

static void
hosts(void **state)
{
    (void)state;
    IS("hostname", "a", "example.com", "xn--4gbwdl.xn--wgbh1c", "1.2.3.4", "a-b.c",
       "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijk.com");
    NOT("hostname", "", ".", "a..b", "-a", "a-", "a_b", "a.", "a b",
        "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefghijkl.com");
    IS("ipv4", "0.0.0.0", "255.255.255.255", "127.0.0.1");
    NOT("ipv4", "", "1.2.3", "1.2.3.4.5", "256.0.0.1", "01.2.3.4", "1.2.3.4 ",
        "a.b.c.d", "1.2.3.", "1..2.3");
    IS("ipv6", "::", "::1", "1::", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2::7:8",
       "1:2:3:4:5:6:1.2.3.4", "a::B", "1:2:3:4:5:6:7::");
    NOT("ipv6", "", ":", ":::", "1", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9",
        "12345::", "1::2::3", "::1:", ":1", "1.2.3.4", "::1.2.3",
        "g::", "1:2:3:4:5:6:7:1.2.3.4", "::%eth0", "1:2:3:4::5:6:7:8");
}

static void
mail(void **state)
{
    (void)state;
    IS("email", "a@b", "joe.bloggs@example.com", "te~st@example.com",
       "\"joe bloggs\"@example.com", "\"joe@b\\\"x\"@example.com", "a@[1.2.3.4]",
       "a@[IPv6:::1]");
    NOT("email", "", "a", "@", "a@", "@b", ".a@b", "a.@b", "a..b@c", "a b@c", "a@b_c",
        "a@[1.2.3]", "\"a\"b\"@c", "a@b@c", "\"a\\\"@c", "\xC3\xA4@b", "a@\xC3\xA4");
    IS("idn-email", "joe.bloggs@example.com", "a@[1.2.3.4]",
       "\xEC\x8B\xA4\xEB\xA1\x80@\xEC\x8B\xA4\xEB\xA1\x80."
       "\xED\x85\x8C\xEC\x8A\xA4\xED\x8A\xB8",
       "\"\xC3\xA4 b\"@\xC3\xA4.de");
    NOT("idn-email", "2962",
        "user\xEF\xBC\xA0"
        "example.com",
        "\xC3\xA4@", "@\xC3\xA4", ".\xC3\xA4@b", "\xC3\xA4 b@c", "a@-\xC3\xA4",
        "a@\xC3\xA4..b");
}

static void
uris(void **state)
{
    (void)state;
    IS("uri", "http://foo.bar/?baz=qux#quux", "urn:oasis:names", "mailto:a@b.c",
       "http://user:pw@[::1]:80/%20", "tel:+1-816-555-1212", "file:///c:/x",
       "a:", "http://[v1.a:b]/");
    NOT("uri", "", "//foo.bar", "/abc", "\\\\WINDOWS", "http:// a", "http://a/<b>",
        "http://a/%zz", "1a:b", "http://[::1", "http://[x]/", "a:b#c#d", "a:\xC3\xA4",
        "http://a^b", "http://a@b@c/");
    IS("uri-reference", "", "/abc", "//foo.bar", "#x", "a/b:c", "?q", "http://a");
    NOT("uri-reference", "\\\\WINDOWS", "a b", ":a", "1:a", "#a\\b", "%");
    IS("iri", "http://\xC6\x92\xC3\xB8.com/?\xC3\xA4#\xC3\xB6");
    NOT("iri", "/abc", "http://a b");
    IS("iri-reference", "\xC3\xA4/b", "");
    NOT("iri-reference", "\\a");
    IS("uri-template", "", "http://a/{b}/{?c*,d:3}", "x{/y}", "{+a,b}",
       "it's{a.b%20:99}");
    NOT("uri-template", "{", "}", "{}", "{a", "a}", "{{a}}", "{a b}", "a b", "{a,}",
        "{,a}", "{a:0}", "{a:12345}", "{a:}", "{a**}", "{a..b}", "{.}", "{a.}", "{=}",
        "{%2}", "{\xC3\xA4}");
}

static void
others(void **state)
{
    (void)state;
    IS("uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380",
       "2EB8AA08-AA98-11EA-B4AA-73B441D16380");
    NOT("uuid", "", "2eb8aa08-aa98-11ea-b4aa-73b441d1638",
        "2eb8aa08aa9811eab4aa73b441d163800000", "2eb8aa08-aa98-11ea-b4aa-73b441d1638g");
    IS("json-pointer", "", "/", "/a/b", "/a~0~1", "//");
    NOT("json-pointer", "a", "/~", "/~2", "#/a");
    IS("relative-json-pointer", "0", "1#", "12/a", "0/");
    NOT("relative-json-pointer", "", "#", "01", "-1", "1##", "1a", "/a");
}

static void
unknown_formats_are_not_found(void **state)
{
    (void)state;
    assert_null(mcpi_schema_format_find("x", 1));
    assert_null(mcpi_schema_format_find("dat", 3));
    assert_null(mcpi_schema_format_find("", 0));
    assert_non_null(mcpi_schema_format_find("date-time", 9));
}

static void
null_bytes_are_in_no_format(void **state)
{
    static const char *const formats[] = {
        "email", "hostname", "ipv4", "ipv6", "uri", "uuid", "time", "duration", "date"};

    (void)state;
    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
        assert_false(
            mcpi_schema_format_find(formats[i], strlen(formats[i]))("a:\0", 3));
    assert_false(mcpi_schema_format_find("uri-reference", 13)("a\0b", 3));
    assert_false(mcpi_schema_format_find("uri-template", 12)("a\0b", 3));
}

TEST_MAIN(TEST(hosts), TEST(mail), TEST(uris), TEST(others),
          TEST(unknown_formats_are_not_found), TEST(null_bytes_are_in_no_format))
