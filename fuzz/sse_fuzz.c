/* sse_fuzz.c - events read from any pieces are those of the whole text, and what is
 * written is read */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "wire/sse.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- the whole and its pieces ------------------------------------------- */

static void
number_append(struct mcpi_buf *into, int64_t number)
{
    mcpi_buf_append(into, &number, sizeof(number));
}

/* All that an event says, in a form that no two have in common. */
static int
hear(void *user, const struct mcpi_sse_event *event)
{
    struct mcpi_buf *heard = user;

    if (event->data[event->data_len] != '\0')
        abort();
    mcpi_buf_append(heard, event->type, strlen(event->type) + 1);
    mcpi_buf_append(heard, event->id, strlen(event->id) + 1);
    mcpi_buf_char(heard, event->has_id ? '1' : '0');
    number_append(heard, event->retry_ms);
    number_append(heard, (int64_t)event->data_len);
    mcpi_buf_append(heard, event->data, event->data_len);
    return 0;
}

/* Reads the text in pieces of what seed says, 0: whole, into heard. */
static int
read_in_pieces(const char *text, size_t len, size_t event_bytes, uint32_t seed,
               struct mcpi_buf *heard)
{
    struct mcpi_sse_reader reader;
    size_t most = 1 + seed % 16, piece;
    int r = 0;

    mcpi_sse_reader_init(&reader, NULL, event_bytes);
    for (size_t at = 0; r == 0 && at < len; at += piece) {
        piece = len - at;
        if (seed) {
            seed = seed * 1103515245u + 12345u;
            if (piece > 1 + (seed >> 16) % most)
                piece = 1 + (seed >> 16) % most;
        }
        r = mcpi_sse_reader_feed(&reader, text + at, piece, hear, heard);
    }
    mcpi_sse_reader_done(&reader);
    return r;
}

static void
compare(const struct mcpi_buf *a, const struct mcpi_buf *b)
{
    if (a->status < 0 || b->status < 0 || a->len != b->len)
        abort();
    if (a->len > 0 && memcmp(a->data, b->data, a->len) != 0)
        abort();
}

static void
try_pieces(const char *text, size_t len, size_t event_bytes, uint32_t seed)
{
    struct mcpi_buf whole, pieces;

    mcpi_buf_init(&whole, NULL, SIZE_MAX);
    mcpi_buf_init(&pieces, NULL, SIZE_MAX);
    if (read_in_pieces(text, len, event_bytes, 0, &whole) !=
        read_in_pieces(text, len, event_bytes, seed, &pieces))
        abort();
    compare(&whole, &pieces);
    mcpi_buf_done(&whole);
    mcpi_buf_done(&pieces);
}

/* ---- there and back ----------------------------------------------------- */

/* CR and CRLF become LF on their way. */
static void
plain_append(struct mcpi_buf *into, const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\r' && i + 1 < len && text[i + 1] == '\n')
            continue;
        mcpi_buf_char(into, (char)(text[i] == '\r' ? '\n' : text[i]));
    }
    mcpi_buf_char(into, '\0');
}

/* A part of the text as a string that ends at its first NUL. */
static char *
string_of(const char *text, size_t len)
{
    char *copy = malloc(len + 1);

    if (!copy)
        abort();
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

static void
try_round_trip(const char *text, size_t len, uint32_t seed)
{
    size_t id_len = len / 4, type_len = len / 8;
    char *id = string_of(text, id_len), *type = string_of(text + id_len, type_len);
    struct mcpi_sse_event event = {
        .type = type,
        .id = seed & 1 ? id : NULL,
        .retry_ms = seed & 2 ? (int64_t)seed : -1,
        .data = text + id_len + type_len,
        .data_len = len - id_len - type_len,
    };
    struct mcpi_buf wire, plain, expected, heard;

    mcpi_buf_init(&wire, NULL, SIZE_MAX);
    mcpi_buf_init(&plain, NULL, SIZE_MAX);
    mcpi_buf_init(&expected, NULL, SIZE_MAX);
    mcpi_buf_init(&heard, NULL, SIZE_MAX);
    mcpi_sse_write_ping(&wire);
    mcpi_sse_write(&wire, &event);
    mcpi_sse_write_ping(&wire);
    if (read_in_pieces(wire.data, wire.len, len + 1, seed, &heard) == 0) {
        plain_append(&plain, event.data, event.data_len);
        event.data = plain.data;
        event.data_len = plain.len - 1;
        event.has_id = event.id && !event.id[strcspn(event.id, "\r\n")];
        if (!event.has_id || strlen(id) > MCPI_SSE_NAME_MAX)
            event.id = "";
        if (event.type[strcspn(event.type, "\r\n")])
            event.type = "";
        else if (strlen(type) > MCPI_SSE_NAME_MAX)
            type[MCPI_SSE_NAME_MAX] = '\0';
        (void)hear(&expected, &event);
        compare(&expected, &heard);
    } else {
        abort();
    }
    mcpi_buf_done(&wire);
    mcpi_buf_done(&plain);
    mcpi_buf_done(&expected);
    mcpi_buf_done(&heard);
    free(id);
    free(type);
}

/* The first byte is the longest data, the second seeds the pieces; the rest is text. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    try_pieces((const char *)data + 2, size - 2, data[0], 1u + data[1]);
    try_round_trip((const char *)data + 2, size - 2, 1u + data[1]);
    return 0;
}
