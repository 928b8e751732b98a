/* schema_names.c - a fixed table of names, found by binary search */
#include "json/schema_names.h"

typedef int order_fn(const yyjson_val *a, const yyjson_val *b);

static int
bytes_order(const char *a, size_t a_len, const char *b, size_t b_len)
{
    if (a_len != b_len)
        return a_len < b_len ? -1 : 1;
    return memcmp(a, b, a_len);
}

static int
texts_order(const yyjson_val *a, const yyjson_val *b)
{
    return bytes_order(a->uni.str, mcpi_yy_len(a), b->uni.str, mcpi_yy_len(b));
}

static int
places_order(const yyjson_val *a, const yyjson_val *b)
{
    return a < b ? -1 : a > b;
}

/* By text, the same text by its place. */
static int
strings_order(const yyjson_val *a, const yyjson_val *b)
{
    int order = texts_order(a, b);

    return order != 0 ? order : places_order(a, b);
}

static void
strings_sift(const yyjson_val **strings, size_t at, size_t count, order_fn *order)
{
    const yyjson_val *moved = strings[at];
    size_t child = 2 * at + 1;

    while (child < count) {
        if (child + 1 < count && order(strings[child + 1], strings[child]) > 0)
            child++;
        if (order(strings[child], moved) <= 0)
            break;
        strings[at] = strings[child];
        at = child;
        child = 2 * at + 1;
    }
    strings[at] = moved;
}

/* A heap sort: strangers choose the order, and this one has no bad one. */
static void
strings_sort(const yyjson_val **strings, size_t count, order_fn *order)
{
    const yyjson_val *last;

    for (size_t i = count / 2; i > 0; i--)
        strings_sift(strings, i - 1, count, order);
    for (size_t i = count; i > 1; i--) {
        last = strings[i - 1];
        strings[i - 1] = strings[0];
        strings[0] = last;
        strings_sift(strings, 0, i - 1, order);
    }
}

/* Of each text the first in the document stays. */
static size_t
strings_unique(const yyjson_val **strings, size_t count)
{
    size_t kept = 0;

    strings_sort(strings, count, strings_order);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || texts_order(strings[kept - 1], strings[i]) != 0)
            strings[kept++] = strings[i];
    }
    return kept;
}

/* Tell each name which one follows it in the document. */
static void
names_link(struct mcpi_names *names, const yyjson_val **strings)
{
    uint32_t *link = &names->first;

    strings_sort(strings, names->count, places_order);
    for (uint32_t i = 0; i < names->count; i++) {
        *link = mcpi_names_search(names, strings[i]);
        link = &names->names[*link].next;
    }
    *link = MCPI_NAME_NONE;
}

int
mcpi_names_init(struct mcpi_names *names, struct mcpi_arena *arena,
                const yyjson_val **strings, size_t count)
{
    names->count = (uint32_t)strings_unique(strings, count);
    names->names = mcpi_arena_take(arena, names->count * sizeof(*names->names));
    if (!names->names)
        return MCP_E_NOMEM;
    for (uint32_t i = 0; i < names->count; i++) {
        names->names[i].text = strings[i]->uni.str;
        names->names[i].len = mcpi_yy_len(strings[i]);
    }
    names_link(names, strings);
    return 0;
}

uint32_t
mcpi_names_search(const struct mcpi_names *names, const yyjson_val *string)
{
    size_t low = 0, high = names->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct mcpi_name *name = &names->names[middle];
        int order = bytes_order(string->uni.str, mcpi_yy_len(string), name->text,
                                name->len);

        if (order == 0)
            return (uint32_t)middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return MCPI_NAME_NONE;
}
