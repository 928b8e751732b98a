/* http_copy.c - requests and pieces of answers, in one block each */
#include "link/http_copy.h"

#include <assert.h>
#include <string.h>
#include <strings.h>

#include "base/budget.h"
#include "base/mem.h"
#include "base/text.h"

static size_t
fields_size(const mcp_http_field *fields, size_t count)
{
    size_t size = count * sizeof(*fields);

    for (size_t i = 0; i < count; i++)
        size += strlen(fields[i].name) + strlen(fields[i].value) + 2;
    return size;
}

/* White space around a value does not belong to it, however careless who read it was. */
static const char *
value_trim(const char *value, size_t *ret_len)
{
    size_t len;

    value += strspn(value, " \t");
    len = strlen(value);
    while (len > 0 && (value[len - 1] == ' ' || value[len - 1] == '\t'))
        len--;
    *ret_len = len;
    return value;
}

/* The fields go to `into`, their texts to *at. */
static void
fields_copy(mcp_http_field *into, char **at, const mcp_http_field *fields, size_t count)
{
    const char *value;
    size_t len;

    for (size_t i = 0; i < count; i++) {
        into[i].name = mcpi_text_stow(at, fields[i].name, strlen(fields[i].name));
        value = value_trim(fields[i].value, &len);
        into[i].value = mcpi_text_stow(at, value, len);
    }
}

static void *
charged_alloc(const mcp_allocator *mem, struct mcpi_account *account,
              enum mcpi_holding what, size_t size)
{
    void *block;

    if (!mcpi_account_take(account, what, size))
        return NULL;
    block = mcpi_alloc(mem, size);
    if (!block)
        mcpi_account_give(account, what, size);
    return block;
}

/* ---- requests ------------------------------------------------------------ */

struct request {
    struct mcpi_http_in in; /* first: who frees that frees all */
    size_t size;
    mcp_http_field fields[];
};

struct mcpi_http_in *
mcpi_http_in_copy(const mcp_allocator *mem, const struct mcpi_http_in *in,
                  size_t max_body)
{
    size_t method_len = strlen(in->method_name);
    size_t target_len = strlen(in->target);
    size_t address_len = in->address ? strlen(in->address) : 0;
    size_t body_len = in->body_len <= max_body ? in->body_len : 0;
    size_t size = sizeof(struct request) + fields_size(in->fields, in->field_count) +
                  method_len + target_len + address_len + body_len + 4;
    struct request *copy;
    char *at;

    copy = charged_alloc(mem, in->account, MCPI_HELD_ARRIVING, size);
    if (!copy)
        return NULL;
    copy->in = *in;
    copy->in.account = mcpi_account_ref(in->account);
    copy->size = size;
    copy->in.fields = copy->fields;
    copy->in.known = NULL;
    at = (char *)(copy->fields + in->field_count);
    fields_copy(copy->fields, &at, in->fields, in->field_count);
    copy->in.method_name = mcpi_text_stow(&at, in->method_name, method_len);
    copy->in.target = mcpi_text_stow(&at, in->target, target_len);
    copy->in.address = mcpi_text_stow(&at, in->address, address_len);
    copy->in.body = NULL;
    if (in->body_len <= max_body)
        copy->in.body = mcpi_text_stow(&at, in->body ? in->body : "", body_len);
    return &copy->in;
}

void
mcpi_http_in_free(const mcp_allocator *mem, struct mcpi_http_in *copy)
{
    struct request *request = (struct request *)copy;

    for (size_t i = 0; copy && i < copy->field_count; i++) {
        char *value = (char *)(uintptr_t)request->fields[i].value;

        if (strcasecmp(request->fields[i].name, "Authorization") == 0)
            explicit_bzero(value, strlen(value));
    }
    if (copy) {
        mcpi_account_give(copy->account, MCPI_HELD_ARRIVING, request->size);
        mcpi_account_unref(copy->account);
    }
    mcpi_free(mem, copy);
}

/* ---- pieces of answers --------------------------------------------------- */

void
mcpi_http_piece_of(const struct mcpi_http_out *out, bool last,
                   mcp_http_field fields[MCPI_HTTP_PIECE_FIELDS],
                   struct mcpi_http_piece *ret_piece)
{
    size_t count = 0;

    assert(out->field_count + 2 <= MCPI_HTTP_PIECE_FIELDS);
    if (out->type)
        fields[count++] = (mcp_http_field){"Content-Type", out->type};
    for (size_t i = 0; i < out->field_count; i++)
        fields[count++] = out->fields[i];
    if (out->close)
        fields[count++] = (mcp_http_field){"Connection", "close"};
    *ret_piece = (struct mcpi_http_piece){.status = out->status,
                                          .fields = fields,
                                          .field_count = count,
                                          .body = out->body ? out->body : "",
                                          .body_len = out->body ? out->body_len : 0,
                                          .last = last};
}

void
mcpi_http_piece_head(const struct mcpi_http_piece *piece, struct mcpi_http_out *ret_out)
{
    const mcp_http_field *fields = piece->fields;
    size_t count = piece->field_count;

    *ret_out = (struct mcpi_http_out){
        .status = piece->status, .body = piece->body, .body_len = piece->body_len};
    if (count > 0 && strcmp(fields[0].name, "Content-Type") == 0) {
        ret_out->type = fields[0].value;
        fields++;
        count--;
    }
    if (count > 0 && strcmp(fields[count - 1].name, "Connection") == 0) {
        ret_out->close = true;
        count--;
    }
    ret_out->fields = fields;
    ret_out->field_count = count;
}

struct piece {
    struct mcpi_http_piece piece; /* first: who frees that frees all */
    struct mcpi_account *account;
    size_t size;
    mcp_http_field fields[];
};

struct mcpi_http_piece *
mcpi_http_piece_copy(const mcp_allocator *mem, struct mcpi_account *account,
                     const struct mcpi_http_piece *piece)
{
    size_t size = sizeof(struct piece) +
                  fields_size(piece->fields, piece->field_count) + piece->body_len + 1;
    struct piece *copy;
    char *at;

    copy = charged_alloc(mem, account, MCPI_HELD_BYTES, size);
    if (!copy)
        return NULL;
    copy->piece = *piece;
    copy->account = mcpi_account_ref(account);
    copy->size = size;
    mcpi_list_init(&copy->piece.node);
    at = (char *)(copy->fields + piece->field_count);
    fields_copy(copy->fields, &at, piece->fields, piece->field_count);
    copy->piece.fields = copy->fields;
    copy->piece.body = mcpi_text_stow(&at, piece->body, piece->body_len);
    return &copy->piece;
}

void
mcpi_http_piece_uncharge(struct mcpi_http_piece *copy)
{
    struct piece *piece = (struct piece *)copy;

    mcpi_account_give(piece->account, MCPI_HELD_BYTES, piece->size);
    mcpi_account_unref(piece->account);
    piece->account = NULL;
}

void
mcpi_http_piece_free(const mcp_allocator *mem, struct mcpi_http_piece *copy)
{
    if (copy)
        mcpi_http_piece_uncharge(copy);
    mcpi_free(mem, copy);
}
