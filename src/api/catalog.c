/*
 * catalog.c - the tools of a server, by name
 *
 * The lock is never held while memory is asked for or text is written: a page is copied
 * as references first, and an array that must grow is made ready outside.
 */
#include "api/catalog.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"

#define ROOM_FIRST 16
#define MARK_DIGITS 16 /* of a cursor's signature, hexadecimal */

int
mcpi_catalog_init(struct mcpi_catalog *catalog, const mcp_allocator *mem,
                  const unsigned char key[MCPI_SEED_SIZE])
{
    memset(catalog, 0, sizeof(*catalog));
    catalog->mem = mem;
    memcpy(catalog->key, key, sizeof(catalog->key));
    return pthread_mutex_init(&catalog->lock, NULL) == 0 ? 0 : MCP_E_NOMEM;
}

void
mcpi_catalog_done(struct mcpi_catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++)
        mcpi_tool_unref(catalog->tools[i]);
    mcpi_free(catalog->mem, catalog->tools);
    pthread_mutex_destroy(&catalog->lock);
}

/* Under lock: the first tool whose name is not before this one. */
static size_t
catalog_at(const struct mcpi_catalog *catalog, const char *name)
{
    size_t low = 0, high = catalog->count, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (strcmp(catalog->tools[middle]->name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Under lock. */
static bool
catalog_has(const struct mcpi_catalog *catalog, size_t at, const char *name)
{
    return at < catalog->count && strcmp(catalog->tools[at]->name, name) == 0;
}

/* ---- changing it -------------------------------------------------------- */

/* Make room for more than `room` tools; somebody else may have done it meanwhile. */
static int
catalog_grow(struct mcpi_catalog *catalog, size_t room)
{
    size_t more = room ? room * 2 : ROOM_FIRST;
    struct mcpi_tool **tools, **old;

    tools = mcpi_alloc(catalog->mem, more * sizeof(tools[0]));
    if (!tools)
        return MCP_E_NOMEM;
    pthread_mutex_lock(&catalog->lock);
    old = tools;
    if (catalog->room < more) {
        if (catalog->count > 0)
            memcpy(tools, catalog->tools, catalog->count * sizeof(tools[0]));
        old = catalog->tools;
        catalog->tools = tools;
        catalog->room = more;
    }
    pthread_mutex_unlock(&catalog->lock);
    mcpi_free(catalog->mem, old);
    return 0;
}

/* 0: added. MCP_E_AGAIN: no room; *ret_room is what there is. */
static int
catalog_try_add(struct mcpi_catalog *catalog, struct mcpi_tool *tool, size_t *ret_room)
{
    size_t at;
    int r = 0;

    pthread_mutex_lock(&catalog->lock);
    at = catalog_at(catalog, tool->name);
    *ret_room = catalog->room;
    if (catalog_has(catalog, at, tool->name)) {
        r = MCP_E_INVAL;
    } else if (catalog->count == catalog->room) {
        r = MCP_E_AGAIN;
    } else {
        memmove(catalog->tools + at + 1, catalog->tools + at,
                (catalog->count - at) * sizeof(catalog->tools[0]));
        catalog->tools[at] = tool;
        catalog->count++;
    }
    pthread_mutex_unlock(&catalog->lock);
    return r;
}

int
mcpi_catalog_add(struct mcpi_catalog *catalog, struct mcpi_tool *take_tool)
{
    size_t room;
    int r;

    r = catalog_try_add(catalog, take_tool, &room);
    while (r == MCP_E_AGAIN) {
        r = catalog_grow(catalog, room);
        if (r == 0)
            r = catalog_try_add(catalog, take_tool, &room);
    }
    return r;
}

int
mcpi_catalog_remove(struct mcpi_catalog *catalog, const char *name)
{
    struct mcpi_tool *tool = NULL;
    size_t at;

    pthread_mutex_lock(&catalog->lock);
    at = catalog_at(catalog, name);
    if (catalog_has(catalog, at, name)) {
        tool = catalog->tools[at];
        catalog->count--;
        memmove(catalog->tools + at, catalog->tools + at + 1,
                (catalog->count - at) * sizeof(catalog->tools[0]));
    }
    pthread_mutex_unlock(&catalog->lock);
    mcpi_tool_unref(tool);
    return tool ? 0 : MCP_E_INVAL;
}

struct mcpi_tool *
mcpi_catalog_find(struct mcpi_catalog *catalog, const char *name, size_t len)
{
    struct mcpi_tool *tool = NULL;
    size_t at;

    if (strlen(name) != len)
        return NULL; /* U+0000 in it */
    pthread_mutex_lock(&catalog->lock);
    at = catalog_at(catalog, name);
    if (catalog_has(catalog, at, name))
        tool = mcpi_tool_ref(catalog->tools[at]);
    pthread_mutex_unlock(&catalog->lock);
    return tool;
}

/* ---- pages -------------------------------------------------------------- */

static void
cursor_sign(const struct mcpi_catalog *catalog, const char *name,
            char mark[MARK_DIGITS + 1])
{
    uint64_t hash = mcpi_siphash(catalog->key, name, strlen(name));

    snprintf(mark, MARK_DIGITS + 1, "%016" PRIx64, hash);
}

/* The name a cursor of ours carries, or NULL. */
static const char *
cursor_name(const struct mcpi_catalog *catalog, const char *cursor)
{
    const char *name = cursor + MARK_DIGITS;
    char mark[MARK_DIGITS + 1];

    if (strlen(cursor) <= MARK_DIGITS)
        return NULL;
    cursor_sign(catalog, name, mark);
    return memcmp(mark, cursor, MARK_DIGITS) == 0 ? name : NULL;
}

struct page {
    struct mcpi_tool **tools; /* each with a reference */
    size_t count;
    bool is_last;
};

/* Under lock: where a page after that name begins. */
static size_t
catalog_from(const struct mcpi_catalog *catalog, const char *after)
{
    size_t at = after ? catalog_at(catalog, after) : 0;

    return after && catalog_has(catalog, at, after) ? at + 1 : at;
}

static void
page_copy(struct mcpi_catalog *catalog, const char *after, size_t room,
          struct page *page)
{
    size_t from, left;

    pthread_mutex_lock(&catalog->lock);
    from = catalog_from(catalog, after);
    left = catalog->count - from;
    page->count = left < room ? left : room;
    page->is_last = page->count == left;
    for (size_t i = 0; i < page->count; i++)
        page->tools[i] = mcpi_tool_ref(catalog->tools[from + i]);
    pthread_mutex_unlock(&catalog->lock);
}

static int
page_take(struct mcpi_catalog *catalog, const char *after, size_t most,
          struct page *page)
{
    size_t room;

    pthread_mutex_lock(&catalog->lock);
    room = catalog->count - catalog_from(catalog, after);
    pthread_mutex_unlock(&catalog->lock);
    if (room > most)
        room = most;
    if (room == 0)
        room = 1; /* no allocation of nothing */
    page->tools = mcpi_alloc(catalog->mem, room * sizeof(page->tools[0]));
    if (!page->tools)
        return MCP_E_NOMEM;
    page_copy(catalog, after, room, page);
    return 0;
}

static void
page_write(const struct mcpi_catalog *catalog, const struct page *page,
           struct mcpi_buf *into)
{
    char mark[MARK_DIGITS + 1];
    const char *text, *last;
    size_t len = 0;

    MCPI_BUF_LITERAL(into, "\"tools\":[");
    for (size_t i = 0; i < page->count; i++) {
        if (i > 0)
            mcpi_buf_char(into, ',');
        text = mcp_builder_text(page->tools[i]->shown, &len);
        mcpi_buf_append(into, text, len);
    }
    mcpi_buf_char(into, ']');
    if (page->is_last || page->count == 0)
        return;
    last = page->tools[page->count - 1]->name;
    cursor_sign(catalog, last, mark);
    MCPI_BUF_LITERAL(into, ",\"nextCursor\":\"");
    mcpi_buf_text(into, mark);
    mcpi_buf_text(into, last); /* a tool's name needs no escape */
    mcpi_buf_char(into, '"');
}

int
mcpi_catalog_page(struct mcpi_catalog *catalog, const char *cursor, size_t most,
                  struct mcpi_buf *into)
{
    const char *after = NULL;
    struct page page;
    int r;

    if (cursor) {
        after = cursor_name(catalog, cursor);
        if (!after)
            return MCP_E_INVAL;
    }
    r = page_take(catalog, after, most, &page);
    if (r < 0)
        return r;
    page_write(catalog, &page, into);
    for (size_t i = 0; i < page.count; i++)
        mcpi_tool_unref(page.tools[i]);
    mcpi_free(catalog->mem, page.tools);
    return 0;
}
