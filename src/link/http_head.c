/* http_head.c - the memory of a request while it arrives */
#include "link/http_head.h"

#include "base/mem.h"

#define TEXT_FIRST 2048 /* what clients send fits */
#define TEXT_KEPT 8192  /* of the spare head */
#define BODY_KEPT 65536 /* likewise: one that came in two reads */

static void
head_free(const mcp_allocator *mem, struct mcpi_http_head *head)
{
    if (!head)
        return;
    mcpi_free(mem, head->text);
    mcpi_buf_done(&head->body);
    mcpi_free(mem, head);
}

static struct mcpi_http_head *
head_new(const struct mcpi_http_parsers *s)
{
    struct mcpi_http_head *head = mcpi_alloc_zero_first(
        s->mem, sizeof(*head), offsetof(struct mcpi_http_head, fields));

    if (!head)
        return NULL;
    head->text = mcpi_alloc(s->mem, TEXT_FIRST);
    if (!head->text) {
        mcpi_free(s->mem, head);
        return NULL;
    }
    head->text_cap = TEXT_FIRST;
    mcpi_buf_init(&head->body, s->mem, s->body_bytes);
    head->fields[0].name = NULL;
    return head;
}

struct mcpi_http_head *
mcpi_http_head_take(struct mcpi_http_parsers *parsers)
{
    struct mcpi_http_head *head = parsers->spare;

    if (!head)
        return head_new(parsers);
    parsers->spare = NULL;
    memset(&head->in, 0, sizeof(head->in));
    mcpi_buf_clear(&head->body);
    head->piece = NULL;
    head->piece_len = 0;
    head->text_len = 0;
    head->fields[0].name = NULL;
    return head;
}

void
mcpi_http_head_give(struct mcpi_http_parsers *parsers, struct mcpi_http_head *head)
{
    if (!head)
        return;
    if (parsers->spare || head->text_cap > TEXT_KEPT || head->body.cap > BODY_KEPT)
        head_free(parsers->mem, head);
    else
        parsers->spare = head;
}

static const char *
moved(const char *old, const char *from, char *to)
{
    return old ? to + (old - from) : NULL;
}

static void
head_move(struct mcpi_http_head *head, char *text)
{
    size_t count = head->in.field_count;

    for (size_t i = 0; i < count; i++) {
        head->fields[i].name = moved(head->fields[i].name, head->text, text);
        head->fields[i].value = moved(head->fields[i].value, head->text, text);
    }
    if (count < MCPI_HTTP_FIELDS_MAX)
        head->fields[count].name = moved(head->fields[count].name, head->text, text);
}

/* Who appends keeps to head_bytes: a text is as long as it was sent, because each
 * terminator stands where a separator was. */
int
mcpi_http_head_grow(const struct mcpi_http_parsers *parsers,
                    struct mcpi_http_head *head, size_t len)
{
    size_t cap = head->text_cap;
    char *text;

    while (cap - head->text_len < len)
        cap *= 2;
    text = mcpi_alloc(parsers->mem, cap);
    if (!text)
        return MCP_E_NOMEM;
    memcpy(text, head->text, head->text_len);
    head_move(head, text);
    mcpi_free(parsers->mem, head->text);
    head->text = text;
    head->text_cap = cap;
    return 0;
}

void
mcpi_http_parsers_init(struct mcpi_http_parsers *parsers, const mcp_allocator *mem,
                       size_t head_bytes, size_t body_bytes)
{
    *parsers = (struct mcpi_http_parsers){
        .mem = mem, .head_bytes = head_bytes, .body_bytes = body_bytes};
}

void
mcpi_http_parsers_done(struct mcpi_http_parsers *parsers)
{
    head_free(parsers->mem, parsers->spare);
    parsers->spare = NULL;
    mcpi_free(parsers->mem, parsers->spare_parser);
    parsers->spare_parser = NULL;
}
