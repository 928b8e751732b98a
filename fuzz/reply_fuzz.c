/* reply_fuzz.c - an HTTP answer brings the same messages in whatever pieces it comes,
 * and its owner may free it in any of its calls */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "link/http_reply.h"
#include "json/value.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* ---- who listens -------------------------------------------------------- */

/* All that was heard, in a form that no two answers have in common. */
struct ear {
    struct mcpi_http_reply *reply; /* NULL: freed from inside */
    struct mcpi_buf heard;
    unsigned calls_left; /* until it is freed; 0: never */
};

static void
number_append(struct mcpi_buf *into, int64_t number)
{
    mcpi_buf_append(into, &number, sizeof(number));
}

static int
ear_called(struct ear *ear)
{
    if (ear->calls_left == 0 || --ear->calls_left > 0)
        return 0;
    mcpi_http_reply_done(ear->reply);
    free(ear->reply);
    ear->reply = NULL;
    return 0;
}

static int
hear_message(void *user, const struct mcpi_rpc *rpc)
{
    struct ear *ear = user;

    if (!ear->reply)
        abort();
    mcpi_buf_char(&ear->heard, 'm');
    mcpi_json_write(&ear->heard, mcp_doc_root(rpc->doc));
    mcp_doc_free(rpc->doc);
    return ear_called(ear);
}

static void
hear_mark(void *user, const char *event_id)
{
    struct ear *ear = user;

    if (!ear->reply || event_id[0] == '\0' || strpbrk(event_id, "\r\n"))
        abort();
    if (strcmp(mcpi_http_reply_id(ear->reply), event_id) != 0)
        abort();
    mcpi_buf_char(&ear->heard, 'i');
    mcpi_buf_append(&ear->heard, event_id, strlen(event_id) + 1);
    (void)ear_called(ear);
}

static int
hear_event(void *user, const struct mcpi_sse_event *event)
{
    struct ear *ear = user;

    if (!ear->reply)
        abort();
    mcpi_buf_char(&ear->heard, 'e');
    mcpi_buf_append(&ear->heard, event->type, strlen(event->type) + 1);
    number_append(&ear->heard, (int64_t)event->data_len);
    mcpi_buf_append(&ear->heard, event->data, event->data_len);
    return ear_called(ear);
}

/* ---- one answer --------------------------------------------------------- */

struct answer {
    struct mcpi_fetch_head head;
    const char *type;
    size_t max_bytes;
    const char *body;
    size_t len;
};

static const char *
head_find(const struct mcpi_fetch_head *self, const char *name)
{
    const struct answer *answer = (const struct answer *)self;

    return strcmp(name, "content-type") == 0 ? answer->type : NULL;
}

/* The next piece of what seed says; 0: all. */
static size_t
piece_of(uint32_t *seed, size_t left)
{
    size_t most;

    if (*seed == 0)
        return left;
    most = 1 + *seed % 16;
    *seed = *seed * 1103515245u + 12345u;
    if (left > 1 + (*seed >> 16) % most)
        left = 1 + (*seed >> 16) % most;
    return left;
}

static int
body_feed(struct ear *ear, const struct answer *answer, uint32_t seed)
{
    size_t piece;
    int r = 0;

    for (size_t at = 0; r == 0 && ear->reply && at < answer->len; at += piece) {
        piece = piece_of(&seed, answer->len - at);
        r = mcpi_http_reply_body(ear->reply, answer->body + at, piece);
    }
    return r;
}

static void
ear_open(struct ear *ear, const struct answer *answer, unsigned calls)
{
    ear->reply = malloc(sizeof(*ear->reply));
    if (!ear->reply)
        abort();
    ear->calls_left = calls;
    mcpi_buf_init(&ear->heard, NULL, SIZE_MAX);
    mcpi_http_reply_init(ear->reply, NULL, answer->max_bytes, 16);
    ear->reply->message = hear_message;
    ear->reply->marked = hear_mark;
    ear->reply->event = hear_event;
    ear->reply->user = ear;
}

/* What the answer was, once it is read. */
static void
ear_close(struct ear *ear, int status)
{
    struct mcpi_http_reply *reply = ear->reply;

    number_append(&ear->heard, status);
    if (!reply)
        return;
    number_append(&ear->heard, reply->status);
    number_append(&ear->heard, (int64_t)reply->kind);
    number_append(&ear->heard, reply->retry_us);
    number_append(&ear->heard, (int64_t)reply->messages);
    number_append(&ear->heard, (int64_t)reply->garbled);
    mcpi_buf_text(&ear->heard, mcpi_http_reply_id(reply));
    mcpi_http_reply_done(reply);
    free(reply);
}

static void
answer_read(struct ear *ear, const struct answer *answer, uint32_t seed, unsigned calls)
{
    char why[MCPI_HTTP_WHY] = "";
    int r;

    ear_open(ear, answer, calls);
    r = mcpi_http_reply_head(ear->reply, &answer->head);
    if (r == 0)
        r = body_feed(ear, answer, seed);
    if (r == 0 && ear->reply)
        r = mcpi_http_reply_end(ear->reply, why, sizeof(why));
    else if (ear->reply)
        mcpi_http_reply_explain(ear->reply, r, why, sizeof(why));
    if (ear->reply && (r < 0) != (why[0] != '\0'))
        abort(); /* a sentence for each failure */
    ear_close(ear, r);
}

static void
compare(const struct mcpi_buf *a, const struct mcpi_buf *b)
{
    if (a->status < 0 || b->status < 0 || a->len != b->len)
        abort();
    if (memcmp(a->data, b->data, a->len) != 0)
        abort();
}

static void
try_pieces(const struct answer *answer, uint32_t seed, unsigned calls)
{
    struct ear whole, pieces;

    answer_read(&whole, answer, 0, calls);
    answer_read(&pieces, answer, seed, calls);
    compare(&whole.heard, &pieces.heard);
    mcpi_buf_done(&whole.heard);
    mcpi_buf_done(&pieces.heard);
}

/* Four bytes: the status and the type, the longest message, seed of the pieces, and the
 * call in which it is freed. The rest is the body. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const int statuses[] = {200, 202, 204, 201, 400, 404, 503, 302};
    static const char *const types[] = {"application/json",
                                        "text/event-stream",
                                        "text/plain",
                                        "text/html",
                                        "a/b+json; c=d",
                                        NULL,
                                        "",
                                        "Application/JSON"};
    struct answer answer = {.head = {.find = head_find}};

    if (size < 4)
        return 0;
    answer.head.status = statuses[data[0] & 7];
    answer.type = types[(data[0] >> 3) & 7];
    answer.max_bytes = 1 + (size_t)4 * data[1];
    answer.body = (const char *)data + 4;
    answer.len = size - 4;
    try_pieces(&answer, 1u + data[2], 0);
    try_pieces(&answer, 1u + data[2], 1u + data[3] % 8);
    return 0;
}
