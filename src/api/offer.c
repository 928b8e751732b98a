/* offer.c - what a server offers, by its name */
#include "api/offer.h"

#include <string.h>

#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/timers.h"
#include "wire/meta.h"

/* Letters, digits, underscore, hyphen and dot: what a name "SHOULD" be made of is all
 * that hosts can be relied on to take (2026-07-28, server/tools, Tool Names). */
static bool
name_char_fits(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           c == '_' || c == '-' || c == '.';
}

bool
mcpi_name_fits(const char *name, size_t len)
{
    if (len == 0 || len > MCPI_NAME_MAX)
        return false;
    for (size_t i = 0; i < len; i++) {
        if (!name_char_fits(name[i]))
            return false;
    }
    return true;
}

/* ---- its block ---------------------------------------------------------- */

void *
mcpi_offer_new(const mcp_allocator *mem, size_t size, const char *key,
               void (*destroy)(struct mcpi_offer *offer))
{
    size_t len = strlen(key) + 1;
    struct mcpi_offer *offer = mcpi_alloc_zero_first(mem, size + len, size);

    if (!offer)
        return NULL;
    offer->shown = mcp_builder_new(mem);
    if (!offer->shown) {
        mcpi_free(mem, offer);
        return NULL;
    }
    atomic_init(&offer->refs, 1);
    offer->mem = mem;
    offer->destroy = destroy;
    offer->key = memcpy((char *)offer + size, key, len);
    return offer;
}

struct mcpi_offer *
mcpi_offer_ref(struct mcpi_offer *offer)
{
    atomic_fetch_add_explicit(&offer->refs, 1, memory_order_relaxed);
    return offer;
}

void
mcpi_offer_unref(struct mcpi_offer *offer)
{
    if (offer && atomic_fetch_sub_explicit(&offer->refs, 1, memory_order_acq_rel) == 1)
        offer->destroy(offer);
}

void
mcpi_offer_done(struct mcpi_offer *offer)
{
    mcp_builder_free(offer->shown);
    mcp_builder_free(offer->legacy_shown);
    mcpi_free(offer->mem, offer);
}

/* ---- its handler -------------------------------------------------------- */

int
mcpi_handler_read(const mcp_handler *given, struct mcpi_handler *ret, mcp_error *err)
{
    int handlers = (given->run != NULL) + (given->start != NULL) +
                   (given->reply != NULL);

    if (handlers != 1)
        return mcpi_error_set(err, MCP_E_INVAL,
                              "it needs one handler: run, start or reply");
    *ret = (struct mcpi_handler){.user = given->user};
    if (given->run) {
        ret->kind = MCPI_RUNS;
        ret->fn = given->run;
    } else if (given->start) {
        ret->kind = MCPI_STARTS;
        ret->fn = given->start;
    } else {
        ret->kind = MCPI_REPLIES;
        ret->fn = given->reply;
    }
    return 0;
}

int
mcpi_handler_bound(struct mcpi_handler *handler, unsigned flags, int64_t limit_ms,
                   mcp_error *err)
{
    if (flags & ~(unsigned)MCP_SIGNAL_ONLY)
        return mcpi_error_set(err, MCP_E_INVAL, "it has an unknown flag");
    handler->signal_only = flags & MCP_SIGNAL_ONLY;
    handler->limit_us = limit_ms < 0 ? MCPI_NEVER : mcpi_ms(limit_ms);
    return 0;
}

/* ---- what is given as JSON text ----------------------------------------- */

int
mcpi_object_parse(const mcp_allocator *mem, const char *text, const char *what,
                  mcp_doc **ret_doc, mcp_error *err)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = mem,
                                                  .unique_keys = true);
    mcp_error why = {0};
    mcp_doc *doc;
    int r;

    r = mcp_doc_parse(text, strlen(text), &opt, &doc, &why);
    if (r < 0)
        return mcpi_error_set(err, r == MCP_E_NOMEM ? r : MCP_E_INVAL, "its %s: %s",
                              what, why.message);
    if (mcp_json_get_type(mcp_doc_root(doc)) != MCP_JSON_OBJECT) {
        mcp_doc_free(doc);
        return mcpi_error_set(err, MCP_E_INVAL, "its %s is not an object", what);
    }
    *ret_doc = doc;
    return 0;
}

int
mcpi_offer_write_meta(struct mcpi_offer *offer, const char *text, mcp_error *err)
{
    mcp_json_iterator it;
    mcp_doc *doc = NULL;
    int r;

    if (!text)
        return 0;
    r = mcpi_object_parse(offer->mem, text, "_meta", &doc, err);
    if (r < 0)
        return r;
    for (it = mcp_json_each(mcp_doc_root(doc)); r == 0 && mcp_json_next(&it);) {
        if (mcpi_meta_reserved(mcp_json_string(it.key, ""),
                               mcp_json_string_length(it.key)))
            r = mcpi_error_set(err, MCP_E_INVAL, "the key %s of its _meta is reserved",
                               mcp_json_string(it.key, ""));
    }
    if (r == 0)
        mcp_builder_value(offer->shown, "_meta", mcp_doc_root(doc));
    mcp_doc_free(doc);
    return r;
}
