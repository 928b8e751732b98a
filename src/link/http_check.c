/* http_check.c - may the head of a request be served: its Host, its coding, its target */
#include "link/http_check.h"

#include <string.h>
#include <strings.h>

#define FAULT(name, number, sentence) \
    static const struct mcpi_http_fault name = {.status = (number), .why = (sentence)}

FAULT(no_host, 400, "no Host");
FAULT(host_twice, 400, "Host is said twice");
FAULT(bad_host, 400, "bad Host");
FAULT(bad_coding, 400, "bad Transfer-Encoding");
FAULT(other_coding, 501, "a transfer coding other than chunked");
FAULT(bad_target, 400, "bad request target");
FAULT(other_host, 400, "the target is of another host");

#define BIT(c) (UINT64_C(1) << ((c)&63))
#define RANGE(first, last) (BIT(last) - BIT(first) + BIT(last))

/* RFC 3986, 3.2.2, and a port; but no comma, which would be two of them. */
static bool
host_has(char c)
{
    static const uint64_t has[2] = {
        RANGE('0', '9') | BIT('!') | BIT('$') | BIT('%') | BIT('&') | BIT('\'') |
            BIT('(') | BIT(')') | BIT('*') | BIT('+') | BIT('-') | BIT('.') | BIT(':') |
            BIT(';') | BIT('='),
        RANGE('A', 'Z') | RANGE('a', 'z') | BIT('[') | BIT(']') | BIT('_') | BIT('~')};
    unsigned char byte = (unsigned char)c;

    return byte < 128 && (has[byte >> 6] & BIT(byte));
}

static const struct mcpi_http_fault *
head_check_host(const struct mcpi_http_known *known, bool is_old)
{
    const char *host = known->value[MCPI_HTTP_HOST];

    if (!host)
        return is_old ? NULL : &no_host;
    if (known->count[MCPI_HTTP_HOST] > 1)
        return &host_twice;
    for (; *host != '\0'; host++)
        if (!host_has(*host))
            return &bad_host;
    return NULL;
}

/* RFC 9112, 6.1: what we cannot take off the body is not implemented, and a request of
 * HTTP/1.0 cannot have it. llhttp has seen to it that chunked comes last, and once. */
static const struct mcpi_http_fault *
head_check_coding(const struct mcpi_http_known *known, bool is_old)
{
    const char *coding = known->value[MCPI_HTTP_CODING];

    if (!coding)
        return NULL;
    if (is_old || coding[0] == '\0')
        return &bad_coding;
    if (known->count[MCPI_HTTP_CODING] > 1 || strcasecmp(coding, "chunked") != 0)
        return &other_coding;
    return NULL;
}

/* A target with an authority, as if for a proxy: only the path counts, but who asks us for
 * somebody else is wrong here (RFC 9112, 3.2.2). */
static const struct mcpi_http_fault *
head_cut_authority(struct mcpi_http_head *head)
{
    const char *host = head->known.value[MCPI_HTTP_HOST];
    char *at = strstr(head->text, "://");
    size_t len;

    if (!at || (strncasecmp(head->text, "http://", 7) != 0 &&
                strncasecmp(head->text, "https://", 8) != 0))
        return &bad_target;
    at += 3;
    len = strcspn(at, "/?");
    if (len == 0 || !host || strlen(host) != len || strncasecmp(at, host, len) != 0)
        return &other_host;
    at += len;
    if (*at != '/')
        *--at = '/'; /* no path: the last byte of the authority has done its work */
    head->in.target = at;
    return NULL;
}

static const struct mcpi_http_fault *
head_check_target(struct mcpi_http_head *head)
{
    const struct mcpi_http_fault *fault = NULL;

    for (const char *at = head->text; *at != '\0'; at++)
        if (*at <= ' ' || *at == 0x7f || *at == '#')
            return &bad_target;
    head->in.target = head->text;
    if (head->text[0] != '/' &&
        !(strcmp(head->text, "*") == 0 && head->in.method == MCPI_HTTP_OPTIONS))
        fault = head_cut_authority(head);
    head->in.path_len = strcspn(head->in.target, "?");
    return fault;
}

/* A value stands behind the terminator of its name. */
static void
head_know(struct mcpi_http_head *head)
{
    const mcp_http_field *field = head->fields;

    memset(&head->known, 0, sizeof(head->known));
    for (size_t i = 0; i < head->in.field_count; i++, field++)
        mcpi_http_know_field(&head->known, field,
                             (size_t)(field->value - field->name) - 1);
    head->in.known = &head->known;
}

const struct mcpi_http_fault *
mcpi_http_check(struct mcpi_http_head *head, bool is_old)
{
    const struct mcpi_http_fault *fault;

    head->in.fields = head->fields;
    head_know(head);
    fault = head_check_host(&head->known, is_old);
    if (!fault)
        fault = head_check_coding(&head->known, is_old);
    return fault ? fault : head_check_target(head);
}
