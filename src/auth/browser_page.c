/* browser_page.c - what a browser asks of us when it comes back, and the page it gets */
#include "auth/browser_page.h"

#include <openssl/crypto.h>
#include <string.h>
#include <strings.h>

#include "auth/form.h"
#include "base/text.h"

/* A piece of the head. */
struct slice {
    const char *at;
    size_t len;
};

struct request {
    struct slice method, path, query; /* query: with its '?', or empty */
    struct slice host;
    unsigned hosts;
};

/* ---- slices ---------------------------------------------------------------------- */

static bool
slice_is(struct slice slice, const char *text)
{
    return slice.len == strlen(text) && memcmp(slice.at, text, slice.len) == 0;
}

static bool
slice_is_letters(struct slice slice, const char *text)
{
    return slice.len == strlen(text) && strncasecmp(slice.at, text, slice.len) == 0;
}

/* Cut off what stands before the separator, which goes too. False: it is not there. */
static bool
slice_cut(struct slice *rest, const char *separator, struct slice *ret_before)
{
    size_t len = strlen(separator);
    const char *found = rest->len > 0 ? memmem(rest->at, rest->len, separator, len)
                                      : NULL;

    if (!found)
        return false;
    *ret_before = (struct slice){rest->at, (size_t)(found - rest->at)};
    rest->len -= ret_before->len + len;
    rest->at = found + len;
    return true;
}

static struct slice
slice_trim(struct slice slice)
{
    while (slice.len > 0 && (*slice.at == ' ' || *slice.at == '\t')) {
        slice.at++;
        slice.len--;
    }
    while (slice.len > 0 &&
           (slice.at[slice.len - 1] == ' ' || slice.at[slice.len - 1] == '\t'))
        slice.len--;
    return slice;
}

/* ---- the head -------------------------------------------------------------------- */

/* Of a binary protocol we would otherwise wait for the end of a line. */
static bool
bytes_are_text(const char *at, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)at[i];

        if ((c < ' ' && c != '\r' && c != '\n' && c != '\t') || c == 0x7f)
            return false;
    }
    return true;
}

/* Only the form that browsers use: a path, visible ASCII. */
static bool
target_read(struct slice target, struct request *ret)
{
    const char *mark;

    if (target.len == 0 || target.at[0] != '/' || memchr(target.at, '#', target.len))
        return false;
    for (size_t i = 0; i < target.len; i++) {
        if (target.at[i] <= ' ' || target.at[i] > '~')
            return false;
    }
    mark = memchr(target.at, '?', target.len);
    ret->path = target;
    if (mark) {
        ret->path.len = (size_t)(mark - target.at);
        ret->query = (struct slice){mark, target.len - ret->path.len};
    }
    return true;
}

static bool
line_read(struct slice line, struct request *ret)
{
    struct slice target;

    return slice_cut(&line, " ", &ret->method) &&
           mcpi_text_is_token(ret->method.at, ret->method.len) &&
           slice_cut(&line, " ", &target) && target_read(target, ret) &&
           (slice_is(line, "HTTP/1.1") || slice_is(line, "HTTP/1.0"));
}

static bool
header_read(struct slice line, struct request *ret)
{
    struct slice name;

    if (!slice_cut(&line, ":", &name) || !mcpi_text_is_token(name.at, name.len))
        return false;
    if (slice_is_letters(name, "host")) {
        ret->host = slice_trim(line);
        ret->hosts++;
    }
    return true;
}

/* The head, with the end of its last line and without the empty one. */
static bool
head_read(struct slice head, struct request *ret)
{
    struct slice line;

    *ret = (struct request){.hosts = 0};
    if (!slice_cut(&head, "\r\n", &line) || !line_read(line, ret))
        return false;
    while (slice_cut(&head, "\r\n", &line)) {
        if (!header_read(line, ret))
            return false;
    }
    return head.len == 0 && ret->hosts == 1;
}

/* ---- the judgment ----------------------------------------------------------------- */

/* A port that http has anyway is not named by browsers. */
static bool
host_is_ours(struct slice host, const char *ours)
{
    size_t len = strlen(ours);

    if (slice_is_letters(host, ours))
        return true;
    return len > 3 && strcmp(ours + len - 3, ":80") == 0 && host.len == len - 3 &&
           strncasecmp(host.at, ours, host.len) == 0;
}

/* Is there a parameter of that name, with a value? */
static bool
query_has(struct slice query, const char *name)
{
    size_t len = strlen(name);
    struct slice pair;

    query.at++;
    query.len--;
    while (query.len > 0) {
        if (!slice_cut(&query, "&", &pair)) {
            pair = query;
            query.len = 0;
        }
        if (pair.len > len + 1 && memcmp(pair.at, name, len) == 0 &&
            pair.at[len] == '=')
            return true;
    }
    return false;
}

/* How long it takes says nothing of where they differ. */
static bool
query_has_state(struct slice query, const struct mcpi_page_rules *rules)
{
    struct mcpi_buf value;
    bool same = false;
    size_t size;

    if (!rules->state)
        return false;
    size = strlen(rules->state) + 1;
    mcpi_buf_init(&value, rules->mem, query.len);
    if (mcpi_form_find(&value, query.at + 1, query.len - 1, "state") == 1)
        same = value.len == size && CRYPTO_memcmp(value.data, rules->state, size) == 0;
    if (value.data)
        explicit_bzero(value.data, value.cap);
    mcpi_buf_done(&value);
    return same;
}

static enum mcpi_page
request_judge(const struct request *request, const struct mcpi_page_rules *rules)
{
    if (!host_is_ours(request->host, rules->host))
        return MCPI_PAGE_ELSEWHERE;
    if (!slice_is(request->path, rules->path))
        return MCPI_PAGE_ABSENT;
    if (!slice_is(request->method, "GET"))
        return MCPI_PAGE_METHOD;
    if (request->query.len == 0 || !query_has_state(request->query, rules) ||
        (!query_has(request->query, "code") && !query_has(request->query, "error")))
        return MCPI_PAGE_BAD;
    return MCPI_PAGE_DONE;
}

enum mcpi_page
mcpi_page_judge(const struct mcpi_page_rules *rules, const char *head, size_t len,
                const char **ret_query, size_t *ret_len)
{
    struct slice rest = {head, len}, whole;
    struct request request;
    enum mcpi_page page;

    if (!slice_cut(&rest, "\r\n\r\n", &whole)) {
        if (!bytes_are_text(head, len))
            return MCPI_PAGE_BAD;
        return len >= MCPI_PAGE_HEAD_MAX ? MCPI_PAGE_LONG : MCPI_PAGE_NONE;
    }
    whole.len += 2;
    if (!bytes_are_text(whole.at, whole.len) || !head_read(whole, &request))
        return MCPI_PAGE_BAD;
    page = request_judge(&request, rules);
    if (page == MCPI_PAGE_DONE) {
        *ret_query = request.query.at;
        *ret_len = request.query.len;
    }
    return page;
}

/* ---- pages ------------------------------------------------------------------------- */

/* The address of the page has a code in it: it is not to be kept, nor told to others. */
#define PAGE(status, extra, title, text)                                             \
    "HTTP/1.1 " status "\r\n" extra "Content-Type: text/html; charset=utf-8\r\n"     \
    "Cache-Control: no-store\r\n"                                                    \
    "Content-Security-Policy: default-src 'none'; base-uri 'none'; "                 \
    "form-action 'none'; frame-ancestors 'none'\r\n"                                 \
    "Referrer-Policy: no-referrer\r\n"                                               \
    "X-Content-Type-Options: nosniff\r\n"                                            \
    "X-Frame-Options: DENY\r\n"                                                      \
    "Connection: close\r\n"                                                          \
    "\r\n"                                                                           \
    "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" title \
    "</title></head><body><p>" text "</p></body></html>\n"

const char *
mcpi_page_text(enum mcpi_page page)
{
    switch (page) {
    case MCPI_PAGE_DONE:
        return PAGE("200 OK", "", "Thank you",
                    "Thank you. You can close this window and go back to the program.");
    case MCPI_PAGE_OVER:
        return PAGE("410 Gone", "", "Already done",
                    "This sign-in was answered before. You can close this window.");
    case MCPI_PAGE_ABSENT:
        return PAGE("404 Not Found", "", "Nothing here", "There is nothing here.");
    case MCPI_PAGE_METHOD:
        return PAGE("405 Method Not Allowed", "Allow: GET\r\n", "Not possible",
                    "This page can only be looked at.");
    case MCPI_PAGE_ELSEWHERE:
        return PAGE("421 Misdirected Request", "", "Not here",
                    "This is not the site that was asked for.");
    case MCPI_PAGE_LONG:
        return PAGE("431 Request Header Fields Too Large", "", "Too long",
                    "The request is too long.");
    case MCPI_PAGE_NONE:
    case MCPI_PAGE_BAD:
    default:
        return PAGE("400 Bad Request", "", "Not understood",
                    "This is not the answer to a sign-in.");
    }
}
