/* schema_format.c - what texts of a named format look like */
#include "json/schema_format.h"
#include "json/schema_uri.h"

#include <string.h>

#include "base/text.h"

#define HOSTNAME_MAX 253
#define LABEL_MAX 63
#define LOCAL_PART_MAX 64

static bool
is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool
is_alnum(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool
is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* One of these, and no U+0000, which every C string ends with. */
static bool
is_one_of(char c, const char *chars)
{
    return c != '\0' && strchr(chars, c);
}

/* ---- hosts ----------------------------------------------------------------- */

static bool
is_ascii(char c)
{
    return (unsigned char)c < 0x80;
}

/* RFC 1123, section 2.1; wide: and all that is not ASCII. */
static bool
is_label(const char *text, size_t len, bool wide)
{
    if (len == 0 || mcpi_utf8_count(text, len) > LABEL_MAX || text[0] == '-' ||
        text[len - 1] == '-')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!is_alnum(text[i]) && text[i] != '-' && (is_ascii(text[i]) || !wide))
            return false;
    }
    return true;
}

static bool
is_any_hostname(const char *text, size_t len, bool wide)
{
    const char *end = text + len;

    if (len == 0 || mcpi_utf8_count(text, len) > HOSTNAME_MAX)
        return false;
    for (;;) {
        const char *dot = memchr(text, '.', (size_t)(end - text));

        if (!is_label(text, (size_t)((dot ? dot : end) - text), wide))
            return false;
        if (!dot)
            return true;
        text = dot + 1;
    }
}

static bool
is_hostname(const char *text, size_t len)
{
    return is_any_hostname(text, len, false);
}

/* A number up to 255 without a leading zero; its digits, or 0. */
static size_t
octet_length(const char *text, size_t len)
{
    unsigned number = 0;
    size_t i = 0;

    for (; i < len && i < 3 && is_digit(text[i]); i++)
        number = number * 10 + (unsigned)(text[i] - '0');
    return number > 255 || (i > 1 && text[0] == '0') ? 0 : i;
}

static bool
is_ipv4(const char *text, size_t len)
{
    size_t at = 0;

    for (int i = 0; i < 4; i++) {
        size_t octet;

        if (i > 0 && (at == len || text[at++] != '.'))
            return false;
        octet = octet_length(text + at, len - at);
        if (octet == 0)
            return false;
        at += octet;
    }
    return at == len;
}

/* RFC 4291, section 2.2: groups of four digits, one run of them as "::", an IPv4
 * address for the last two. */
static bool
is_ipv6(const char *text, size_t len)
{
    bool gap = len >= 2 && text[0] == ':' && text[1] == ':';
    size_t at = gap ? 2 : 0;
    int groups = 0;

    while (at < len) {
        size_t digits = 0;

        while (at + digits < len && digits < 5 && is_hex(text[at + digits]))
            digits++;
        if (at + digits < len && text[at + digits] == '.' &&
            is_ipv4(text + at, len - at))
            return gap ? groups <= 5 : groups == 6;
        if (digits == 0 || digits > 4)
            return false;
        groups++;
        at += digits;
        if (at == len)
            break;
        if (text[at++] != ':' || at == len)
            return false;
        if (text[at] == ':') {
            if (gap)
                return false;
            gap = true;
            at++;
        }
    }
    return gap ? groups <= 7 : groups == 8;
}

/* ---- mail ------------------------------------------------------------------ */

/* RFC 5321, section 4.1.2: atoms with dots between them, or a quoted string; wide: also
 * of what is not ASCII (RFC 6531, section 3.3) */
static bool
is_local_part(const char *text, size_t len, bool wide)
{
    bool quoted = len >= 2 && text[0] == '"' && text[len - 1] == '"';

    if (len == 0 || len > LOCAL_PART_MAX)
        return false;
    for (size_t i = quoted; quoted && i < len - 1; i++) {
        if (text[i] == '\\' && i + 2 < len)
            i++;
        else if (text[i] == '"' || text[i] == '\\')
            return false;
        if ((text[i] < ' ' || text[i] > '~') && (is_ascii(text[i]) || !wide))
            return false;
    }
    for (size_t i = 0; !quoted && i < len; i++) {
        bool dot = text[i] == '.';

        if (dot && (i == 0 || i == len - 1 || text[i - 1] == '.'))
            return false;
        if (!dot && !is_alnum(text[i]) && !is_one_of(text[i], "!#$%&'*+-/=?^_`{|}~") &&
            (is_ascii(text[i]) || !wide))
            return false;
    }
    return true;
}

static bool
is_address_literal(const char *text, size_t len)
{
    if (len < 3 || text[0] != '[' || text[len - 1] != ']')
        return false;
    text++;
    len -= 2;
    if (len > 5 && memcmp(text, "IPv6:", 5) == 0)
        return is_ipv6(text + 5, len - 5);
    return is_ipv4(text, len);
}

static bool
is_any_email(const char *text, size_t len, bool wide)
{
    size_t at = len;

    while (at > 0 && text[at - 1] != '@')
        at--;
    return at > 0 && is_local_part(text, at - 1, wide) &&
           (is_any_hostname(text + at, len - at, wide) ||
            is_address_literal(text + at, len - at));
}

static bool
is_email(const char *text, size_t len)
{
    return is_any_email(text, len, false);
}

static bool
is_idn_email(const char *text, size_t len)
{
    return is_any_email(text, len, true);
}

/* ---- URIs (RFC 3986) and IRIs (RFC 3987) ----------------------------------- */

#define UNRESERVED_MARKS "-._~"
#define SUB_DELIMITERS "!$&'()*+,;="

/* All of it: letters, digits, some marks, %XX, and for IRIs what is not ASCII. */
static bool
are_uri_chars(const char *text, size_t len, const char *marks, bool iri)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '%' && len - i > 2 && is_hex(text[i + 1]) && is_hex(text[i + 2]))
            i += 2;
        else if (!is_alnum(text[i]) && !is_one_of(text[i], marks) &&
                 !(iri && (unsigned char)text[i] >= 0x80))
            return false;
    }
    return true;
}

static bool
is_ip_literal(const char *text, size_t len)
{
    if (len < 2 || text[len - 1] != ']')
        return false;
    text++;
    len -= 2;
    if (len > 3 && (text[0] == 'v' || text[0] == 'V'))
        return is_hex(text[1]) &&
               are_uri_chars(text, len, UNRESERVED_MARKS SUB_DELIMITERS ":", false);
    return is_ipv6(text, len);
}

/* [userinfo@]host[:port] */
static bool
is_authority(const char *text, size_t len, bool iri)
{
    const char *marks = UNRESERVED_MARKS SUB_DELIMITERS;
    const char *sign = len > 0 ? memchr(text, '@', len) : NULL;
    size_t port = len;

    if (sign) {
        if (!are_uri_chars(text, (size_t)(sign - text),
                           UNRESERVED_MARKS SUB_DELIMITERS ":", iri))
            return false;
        len -= (size_t)(sign - text) + 1;
        port = len;
        text = sign + 1;
    }
    while (port > 0 && is_digit(text[port - 1]))
        port--;
    if (port > 0 && text[port - 1] == ':')
        len = port - 1;
    if (len > 0 && text[0] == '[')
        return is_ip_literal(text, len);
    return are_uri_chars(text, len, marks, iri);
}

/* What follows the scheme. */
static bool
is_hierarchy(const char *text, size_t len, bool iri)
{
    const char *marks = UNRESERVED_MARKS SUB_DELIMITERS ":@/";
    const char *more = UNRESERVED_MARKS SUB_DELIMITERS ":@/?";
    const char *sharp = len > 0 ? memchr(text, '#', len) : NULL;
    size_t end = sharp ? (size_t)(sharp - text) : len;
    const char *query = end > 0 ? memchr(text, '?', end) : NULL;
    size_t authority = 0;

    if (sharp && !are_uri_chars(sharp + 1, len - end - 1, more, iri))
        return false;
    len = end;
    end = query ? (size_t)(query - text) : len;
    if (query && !are_uri_chars(query + 1, len - end - 1, more, iri))
        return false;
    if (end >= 2 && text[0] == '/' && text[1] == '/') {
        authority = 2;
        while (authority < end && text[authority] != '/')
            authority++;
        if (!is_authority(text + 2, authority - 2, iri))
            return false;
    }
    return are_uri_chars(text + authority, end - authority, marks, iri);
}

static bool
is_any_uri(const char *text, size_t len, bool iri)
{
    size_t scheme = mcpi_uri_scheme(text, len);

    return scheme > 0 && is_hierarchy(text + scheme + 1, len - scheme - 1, iri);
}

/* A relative one has no colon in its first segment. */
static bool
is_any_reference(const char *text, size_t len, bool iri)
{
    size_t i = 0;

    if (is_any_uri(text, len, iri))
        return true;
    while (i < len && !is_one_of(text[i], "/?#:"))
        i++;
    return !(i < len && text[i] == ':') && is_hierarchy(text, len, iri);
}

static bool
is_uri(const char *text, size_t len)
{
    return is_any_uri(text, len, false);
}

static bool
is_uri_reference(const char *text, size_t len)
{
    return is_any_reference(text, len, false);
}

static bool
is_iri(const char *text, size_t len)
{
    return is_any_uri(text, len, true);
}

static bool
is_iri_reference(const char *text, size_t len)
{
    return is_any_reference(text, len, true);
}

/* Length of a name in an expression, "a.b%20c"; 0: none. */
static size_t
variable_length(const char *text, size_t len)
{
    size_t i = 0;

    while (i < len) {
        bool is_dot = text[i] == '.' && i > 0 && text[i - 1] != '.' && i + 1 < len;

        if (is_dot || is_alnum(text[i]) || text[i] == '_')
            i++;
        else if (text[i] == '%' && len - i > 2 && is_hex(text[i + 1]) &&
                 is_hex(text[i + 2]))
            i += 3;
        else
            break;
    }
    return i > 0 && text[i - 1] == '.' ? 0 : i;
}

/* A name with its modifier: "a", "a*", "a:3" up to "a:9999". */
static bool
is_variable(const char *text, size_t len)
{
    size_t name = variable_length(text, len);

    if (name == 0 || name == len)
        return name > 0;
    if (text[name] == '*')
        return name + 1 == len;
    if (text[name] != ':' || len - name < 2 || len - name > 5 || text[name + 1] == '0')
        return false;
    for (size_t i = name + 1; i < len; i++) {
        if (!is_digit(text[i]))
            return false;
    }
    return true;
}

/* What stands in braces: an operator, and variables with commas between them. */
static bool
is_expression(const char *text, size_t len)
{
    const char *end = text + len;

    if (len > 0 && is_one_of(text[0], "+#./;?&"))
        text++;
    for (;;) {
        const char *comma = memchr(text, ',', (size_t)(end - text));

        if (!is_variable(text, (size_t)((comma ? comma : end) - text)))
            return false;
        if (!comma)
            return true;
        text = comma + 1;
    }
}

/* RFC 6570, section 2 */
static bool
is_uri_template(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)text[i];
        const char *close;

        if (c <= ' ' || c == 0x7F || is_one_of(text[i], "\"<>\\^`|}"))
            return false;
        if (c != '{')
            continue;
        close = memchr(text + i, '}', len - i);
        if (!close || !is_expression(text + i + 1, (size_t)(close - text) - i - 1))
            return false;
        i = (size_t)(close - text);
    }
    return true;
}

/* ---- others ---------------------------------------------------------------- */

static bool
is_uuid(const char *text, size_t len)
{
    if (len != 36)
        return false;
    for (size_t i = 0; i < len; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (dash ? text[i] != '-' : !is_hex(text[i]))
            return false;
    }
    return true;
}

/* RFC 6901 */
static bool
is_json_pointer(const char *text, size_t len)
{
    if (len > 0 && text[0] != '/')
        return false;
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '~' &&
            (i + 1 == len || (text[i + 1] != '0' && text[i + 1] != '1')))
            return false;
    }
    return true;
}

static bool
is_relative_json_pointer(const char *text, size_t len)
{
    size_t digits = 0;

    while (digits < len && is_digit(text[digits]))
        digits++;
    if (digits == 0 || (digits > 1 && text[0] == '0'))
        return false;
    if (digits + 1 == len && text[digits] == '#')
        return true;
    return is_json_pointer(text + digits, len - digits);
}

mcpi_schema_format_fn *
mcpi_schema_format_find(const char *name, size_t len)
{
    static const struct {
        const char *name;
        mcpi_schema_format_fn *fn;
    } formats[] = {
        {"date-time", mcpi_time_is_date_time},
        {"date", mcpi_time_is_date},
        {"time", mcpi_time_is_time},
        {"duration", mcpi_time_is_duration},
        {"email", is_email},
        {"idn-email", is_idn_email},
        {"hostname", is_hostname},
        {"ipv4", is_ipv4},
        {"ipv6", is_ipv6},
        {"uri", is_uri},
        {"uri-reference", is_uri_reference},
        {"iri", is_iri},
        {"iri-reference", is_iri_reference},
        {"uuid", is_uuid},
        {"uri-template", is_uri_template},
        {"json-pointer", is_json_pointer},
        {"relative-json-pointer", is_relative_json_pointer},
    };

    for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++) {
        if (strlen(formats[i].name) == len && memcmp(formats[i].name, name, len) == 0)
            return formats[i].fn;
    }
    return NULL;
}
