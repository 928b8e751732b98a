/* http_answer.c - the head of an answer as it goes over the wire */
#include "link/http_answer.h"

#include <string.h>
#include <time.h>

static char *
two_digits(char *at, int number)
{
    *at++ = (char)('0' + number / 10 % 10);
    *at++ = (char)('0' + number % 10);
    return at;
}

/* By hand: strftime speaks the language of the program. */
void
mcpi_http_date(char into[MCPI_HTTP_DATE], int64_t unix_seconds)
{
    static const char days[] = "Sun, Mon, Tue, Wed, Thu, Fri, Sat, ";
    static const char months[] = " Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec ";
    time_t seconds = (time_t)unix_seconds;
    struct tm tm = {0};
    char *at = into;

    (void)gmtime_r(&seconds, &tm);
    memcpy(at, days + (size_t)tm.tm_wday * 5, 5);
    at = two_digits(at + 5, tm.tm_mday);
    memcpy(at, months + (size_t)tm.tm_mon * 4, 5);
    at = two_digits(at + 5, (tm.tm_year + 1900) / 100);
    at = two_digits(at, tm.tm_year + 1900);
    *at++ = ' ';
    at = two_digits(at, tm.tm_hour);
    *at++ = ':';
    at = two_digits(at, tm.tm_min);
    *at++ = ':';
    at = two_digits(at, tm.tm_sec);
    memcpy(at, " GMT", 5);
}

static void
append_value(struct mcpi_buf *into, const char *value)
{
    size_t len = strlen(value);
    char *at = mcpi_buf_reserve(into, len + 2);

    if (!at)
        return;
    for (size_t i = 0; i < len; i++) {
        unsigned char c = (unsigned char)value[i];

        at[i] = (c < 0x20 && c != '\t') || c == 0x7f ? ' ' : (char)c;
    }
    at[len] = '\r';
    at[len + 1] = '\n';
    mcpi_buf_commit(into, len + 2);
}

static void
append_field(struct mcpi_buf *into, const char *name, const char *value)
{
    mcpi_buf_text(into, name);
    MCPI_BUF_LITERAL(into, ": ");
    append_value(into, value);
}

static void
append_status(struct mcpi_buf *into, int status)
{
    if (status == 200) {
        MCPI_BUF_LITERAL(into, "HTTP/1.1 200 OK\r\n");
        return;
    }
    MCPI_BUF_LITERAL(into, "HTTP/1.1 ");
    mcpi_buf_int(into, status);
    mcpi_buf_char(into, ' ');
    append_value(into, mcpi_http_reason(status));
}

/* RFC 9110, 8.6: these have no body and do not say so. */
static bool
status_has_length(int status)
{
    return status >= 200 && status != 204 && status != 304;
}

static void
append_framing(struct mcpi_buf *into, const struct mcpi_http_out *out,
               enum mcpi_http_framing framing)
{
    if (framing == MCPI_HTTP_BY_CHUNKS) {
        MCPI_BUF_LITERAL(into, "Transfer-Encoding: chunked\r\n");
    } else if (framing == MCPI_HTTP_BY_LENGTH && status_has_length(out->status)) {
        MCPI_BUF_LITERAL(into, "Content-Length: ");
        mcpi_buf_uint(into, out->body_len);
        MCPI_BUF_LITERAL(into, "\r\n");
    }
}

void
mcpi_http_answer_head(struct mcpi_buf *into, const struct mcpi_http_out *out,
                      enum mcpi_http_framing framing, enum mcpi_http_after after,
                      const char *date)
{
    append_status(into, out->status);
    if (out->type)
        append_field(into, "Content-Type", out->type);
    append_framing(into, out, framing);
    MCPI_BUF_LITERAL(into, "Date: ");
    mcpi_buf_text(into, date);
    MCPI_BUF_LITERAL(into, "\r\n");
    if (after == MCPI_HTTP_CLOSES)
        MCPI_BUF_LITERAL(into, "Connection: close\r\n");
    else if (after == MCPI_HTTP_SAYS_KEEPS)
        MCPI_BUF_LITERAL(into, "Connection: keep-alive\r\n");
    for (size_t i = 0; i < out->field_count; i++)
        append_field(into, out->fields[i].name, out->fields[i].value);
    MCPI_BUF_LITERAL(into, "\r\n");
}

size_t
mcpi_http_chunk_line(char into[MCPI_HTTP_CHUNK_LINE], size_t len)
{
    static const char hex[] = "0123456789abcdef";
    size_t digits = 1;

    for (size_t rest = len >> 4; rest > 0; rest >>= 4)
        digits++;
    for (size_t i = digits; i > 0; i--, len >>= 4)
        into[i - 1] = hex[len & 15];
    into[digits] = '\r';
    into[digits + 1] = '\n';
    return digits + 2;
}
