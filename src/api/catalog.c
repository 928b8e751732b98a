/*
 * catalog.c - what a server offers of one kind, by its key
 *
 * The lock is never held while memory is asked for or text is written: a page is copied
 * as references first, and an array that must grow is made ready outside.
 */
#include "api/catalog.h"

#include <string.h>

#include "base/base64.h"
#include "base/mem.h"

#define ROOM_FIRST 16
#define MARK_SIZE 8 /* bytes of a cursor's signature, at its beginning */

/* The key of a list is made of the common one and its name: a cursor of one list says
 * nothing to another. */
static void
catalog_derive(struct mcpi_catalog *catalog, const unsigned char key[MCPI_SEED_SIZE])
{
    uint64_t common[2];

    memcpy(common, key, sizeof(common));
    catalog->key[0] = mcpi_siphash(common, catalog->member, strlen(catalog->member));
    catalog->key[1] = mcpi_siphash(common, &catalog->key[0], sizeof(catalog->key[0]));
}

int
mcpi_catalog_init(struct mcpi_catalog *catalog, const mcp_allocator *mem,
                  const char *member, const unsigned char key[MCPI_SEED_SIZE])
{
    memset(catalog, 0, sizeof(*catalog));
    catalog->mem = mem;
    catalog->member = member;
    catalog_derive(catalog, key);
    return pthread_mutex_init(&catalog->lock, NULL) == 0 ? 0 : MCP_E_NOMEM;
}

void
mcpi_catalog_done(struct mcpi_catalog *catalog)
{
    for (size_t i = 0; i < catalog->count; i++)
        mcpi_offer_unref(catalog->offers[i]);
    mcpi_free(catalog->mem, catalog->offers);
    pthread_mutex_destroy(&catalog->lock);
}

/* Under lock: the first offer whose key is not before this one. */
static size_t
catalog_at(const struct mcpi_catalog *catalog, const char *key)
{
    size_t low = 0, high = catalog->count, middle;

    while (low < high) {
        middle = low + (high - low) / 2;
        if (strcmp(catalog->offers[middle]->key, key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Under lock. */
static bool
catalog_has(const struct mcpi_catalog *catalog, size_t at, const char *key)
{
    return at < catalog->count && strcmp(catalog->offers[at]->key, key) == 0;
}

/* ---- changing it -------------------------------------------------------- */

/* Make room for more than `room` offers; somebody else may have done it meanwhile. */
static int
catalog_grow(struct mcpi_catalog *catalog, size_t room)
{
    size_t more = room ? room * 2 : ROOM_FIRST;
    struct mcpi_offer **offers, **old;

    offers = mcpi_alloc(catalog->mem, more * sizeof(offers[0]));
    if (!offers)
        return MCP_E_NOMEM;
    pthread_mutex_lock(&catalog->lock);
    old = offers;
    if (catalog->room < more) {
        if (catalog->count > 0)
            memcpy(offers, catalog->offers, catalog->count * sizeof(offers[0]));
        old = catalog->offers;
        catalog->offers = offers;
        catalog->room = more;
    }
    pthread_mutex_unlock(&catalog->lock);
    mcpi_free(catalog->mem, old);
    return 0;
}

/* 0: added. MCP_E_AGAIN: no room; *ret_room is what there is. */
static int
catalog_try_add(struct mcpi_catalog *catalog, struct mcpi_offer *offer,
                size_t *ret_room)
{
    size_t at;
    int r = 0;

    pthread_mutex_lock(&catalog->lock);
    at = catalog_at(catalog, offer->key);
    *ret_room = catalog->room;
    if (catalog_has(catalog, at, offer->key)) {
        r = MCP_E_INVAL;
    } else if (catalog->count == catalog->room) {
        r = MCP_E_AGAIN;
    } else {
        memmove(catalog->offers + at + 1, catalog->offers + at,
                (catalog->count - at) * sizeof(catalog->offers[0]));
        catalog->offers[at] = offer;
        catalog->count++;
    }
    pthread_mutex_unlock(&catalog->lock);
    return r;
}

int
mcpi_catalog_add(struct mcpi_catalog *catalog, struct mcpi_offer *take_offer)
{
    size_t room;
    int r;

    r = catalog_try_add(catalog, take_offer, &room);
    while (r == MCP_E_AGAIN) {
        r = catalog_grow(catalog, room);
        if (r == 0)
            r = catalog_try_add(catalog, take_offer, &room);
    }
    return r;
}

int
mcpi_catalog_remove(struct mcpi_catalog *catalog, const char *key)
{
    struct mcpi_offer *offer = NULL;
    size_t at;

    pthread_mutex_lock(&catalog->lock);
    at = catalog_at(catalog, key);
    if (catalog_has(catalog, at, key)) {
        offer = catalog->offers[at];
        catalog->count--;
        memmove(catalog->offers + at, catalog->offers + at + 1,
                (catalog->count - at) * sizeof(catalog->offers[0]));
    }
    pthread_mutex_unlock(&catalog->lock);
    mcpi_offer_unref(offer);
    return offer ? 0 : MCP_E_INVAL;
}

struct mcpi_offer *
mcpi_catalog_find(struct mcpi_catalog *catalog, const char *key, size_t len)
{
    struct mcpi_offer *offer = NULL;
    size_t at;

    if (strlen(key) != len)
        return NULL; /* U+0000 in it */
    pthread_mutex_lock(&catalog->lock);
    at = catalog_at(catalog, key);
    if (catalog_has(catalog, at, key))
        offer = mcpi_offer_ref(catalog->offers[at]);
    pthread_mutex_unlock(&catalog->lock);
    return offer;
}

/* Under lock: where what follows that key begins. */
static size_t
catalog_from(const struct mcpi_catalog *catalog, const char *after)
{
    size_t at = after ? catalog_at(catalog, after) : 0;

    return after && catalog_has(catalog, at, after) ? at + 1 : at;
}

struct mcpi_offer *
mcpi_catalog_after(struct mcpi_catalog *catalog, const char *key)
{
    struct mcpi_offer *offer = NULL;
    size_t at;

    pthread_mutex_lock(&catalog->lock);
    at = catalog_from(catalog, key);
    if (at < catalog->count)
        offer = mcpi_offer_ref(catalog->offers[at]);
    pthread_mutex_unlock(&catalog->lock);
    return offer;
}

/* ---- cursors: base64url of a signature and a key ------------------------ */

static void
cursor_sign(const struct mcpi_catalog *catalog, const char *key, size_t len,
            unsigned char mark[MARK_SIZE])
{
    uint64_t hash = mcpi_siphash(catalog->key, key, len);

    memcpy(mark, &hash, MARK_SIZE);
}

static void
cursor_write(const struct mcpi_catalog *catalog, const char *key, struct mcpi_buf *into)
{
    unsigned char mark[MARK_SIZE];
    struct mcpi_buf plain;

    cursor_sign(catalog, key, strlen(key), mark);
    mcpi_buf_init(&plain, catalog->mem, into->max);
    mcpi_buf_append(&plain, mark, sizeof(mark));
    mcpi_buf_text(&plain, key);
    if (plain.status < 0)
        into->status = plain.status;
    else
        mcpi_base64url_write(into, plain.data, plain.len);
    mcpi_buf_done(&plain);
}

/* In the same time whichever byte is the wrong one: it tells nobody how to go on. */
static bool
marks_are_equal(const unsigned char *a, const unsigned char *b)
{
    unsigned difference = 0;

    for (size_t i = 0; i < MARK_SIZE; i++)
        difference |= (unsigned)(a[i] ^ b[i]);
    return difference == 0;
}

/* The key that a cursor of ours carries, terminated, at MARK_SIZE of `plain`. */
static int
cursor_read(const struct mcpi_catalog *catalog, const char *cursor,
            struct mcpi_buf *plain)
{
    unsigned char mark[MARK_SIZE];
    int r;

    r = mcpi_base64url_read(plain, cursor, strlen(cursor));
    if (r < 0)
        return r;
    if (plain->len < MARK_SIZE)
        return MCP_E_INVAL;
    cursor_sign(catalog, plain->data + MARK_SIZE, plain->len - MARK_SIZE, mark);
    if (!marks_are_equal(mark, (const unsigned char *)plain->data))
        return MCP_E_INVAL;
    mcpi_buf_char(plain, '\0');
    return plain->status;
}

/* ---- pages -------------------------------------------------------------- */

struct page {
    struct mcpi_offer **offers; /* each with a reference */
    size_t count;
    bool is_last;
};

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
        page->offers[i] = mcpi_offer_ref(catalog->offers[from + i]);
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
    page->offers = mcpi_alloc(catalog->mem, room * sizeof(page->offers[0]));
    if (!page->offers)
        return MCP_E_NOMEM;
    page_copy(catalog, after, room, page);
    return 0;
}

static void
page_write(const struct mcpi_catalog *catalog, const struct page *page, bool modern,
           struct mcpi_buf *into)
{
    const mcp_builder *shown;
    const char *text;
    size_t len = 0;

    mcpi_buf_char(into, '"');
    mcpi_buf_text(into, catalog->member);
    MCPI_BUF_LITERAL(into, "\":[");
    for (size_t i = 0; i < page->count; i++) {
        if (i > 0)
            mcpi_buf_char(into, ',');
        shown = page->offers[i]->legacy_shown;
        if (modern || !shown)
            shown = page->offers[i]->shown;
        text = mcp_builder_text(shown, &len);
        mcpi_buf_append(into, text, len);
    }
    mcpi_buf_char(into, ']');
    if (page->is_last || page->count == 0)
        return;
    MCPI_BUF_LITERAL(into, ",\"nextCursor\":\"");
    cursor_write(catalog, page->offers[page->count - 1]->key, into);
    mcpi_buf_char(into, '"');
}

static int
page_append(struct mcpi_catalog *catalog, const char *after, size_t most, bool modern,
            struct mcpi_buf *into)
{
    struct page page;
    int r;

    r = page_take(catalog, after, most, &page);
    if (r < 0)
        return r;
    page_write(catalog, &page, modern, into);
    for (size_t i = 0; i < page.count; i++)
        mcpi_offer_unref(page.offers[i]);
    mcpi_free(catalog->mem, page.offers);
    return 0;
}

int
mcpi_catalog_page(struct mcpi_catalog *catalog, const char *cursor, size_t most,
                  bool modern, struct mcpi_buf *into)
{
    struct mcpi_buf plain;
    int r;

    if (!cursor)
        return page_append(catalog, NULL, most, modern, into);
    mcpi_buf_init(&plain, catalog->mem, SIZE_MAX);
    r = cursor_read(catalog, cursor, &plain);
    if (r == 0)
        r = page_append(catalog, plain.data + MARK_SIZE, most, modern, into);
    mcpi_buf_done(&plain);
    return r;
}
