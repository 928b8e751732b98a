/*
 * pages.c - all pages of a list, as one reply
 *
 * Each page is a call of its own, with the caller's options, and may be one that is
 * kept. The total time is that of all of them.
 */
#include <string.h>

#include "api/call.h"
#include "api/reply.h"
#include "api/time.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/value.h"

/* Far above any list that somebody would want as a whole. */
#define MCPI_PAGES_MAX 1000

/* All pages together may be as large as so many of the longest messages. */
#define MCPI_PAGES_MESSAGES_MAX 4

struct list_kind {
    const char *key; /* of the result */
    int (*page)(mcp_client *client, const char *cursor, const mcp_call_options *opt,
                mcp_reply **ret_reply, mcp_error *err);
};

static const struct list_kind kinds[] = {
    [MCP_LIST_TOOLS] = {"tools", mcp_client_list_tools},
    [MCP_LIST_RESOURCES] = {"resources", mcp_client_list_resources},
    [MCP_LIST_TEMPLATES] = {"resourceTemplates", mcp_client_list_templates},
    [MCP_LIST_PROMPTS] = {"prompts", mcp_client_list_prompts},
};

/* A page that was read: kept for its cursor. */
struct page {
    struct page *before;
    mcp_reply *reply;
};

struct pages {
    mcp_client *client;
    const struct list_kind *kind;
    mcp_call_options opt;
    int64_t until; /* the total; MCPI_NEVER: none */
    mcp_builder *builder;
    struct page *last;
    size_t count;
    size_t bytes; /* that they keep */
};

static void
pages_clear(struct pages *p)
{
    struct page *page;

    while ((page = p->last) != NULL) {
        p->last = page->before;
        mcp_reply_free(page->reply);
        mcpi_free(p->client->host.mem, page);
    }
    p->count = 0;
    p->bytes = 0;
}

/* What is left of the total is the next page's. */
static int
pages_take_time(struct pages *p, mcp_error *err)
{
    int64_t left;

    if (p->until == MCPI_NEVER)
        return 0;
    left = (p->until - mcpi_loop_moment(p->client->host.inside)) / 1000;
    if (left <= 0)
        return mcpi_error_set(err, MCP_E_TOTAL_TIMEOUT,
                              "the time for the list of %s is used up", p->kind->key);
    p->opt.total_ms = left;
    return 0;
}

static int
pages_check_cursor(const struct pages *p, const char *cursor, mcp_error *err)
{
    const struct page *page = p->last ? p->last->before : NULL;

    if (p->count >= MCPI_PAGES_MAX)
        return mcpi_error_set(err, MCP_E_LIMIT, "the list of %s has more than %d pages",
                              p->kind->key, MCPI_PAGES_MAX);
    for (; page; page = page->before) {
        if (strcmp(mcp_reply_cursor(page->reply), cursor) == 0)
            return mcpi_error_set(err, MCP_E_PROTO,
                                  "a page of the list of %s leads back to another",
                                  p->kind->key);
    }
    return 0;
}

/* A server that never comes to an end must not fill memory until then. */
static int
pages_add(struct pages *p, mcp_reply *take_reply, mcp_error *err)
{
    struct page *page = mcpi_alloc_zero(p->client->host.mem, sizeof(*page));

    if (!page) {
        mcp_reply_free(take_reply);
        return mcpi_error_set(err, MCP_E_NOMEM, "out of memory");
    }
    page->reply = take_reply;
    page->before = p->last;
    p->last = page;
    p->count++;
    p->bytes += mcpi_doc_bytes(mcpi_reply_doc(take_reply));
    if (p->bytes / MCPI_PAGES_MESSAGES_MAX > p->client->max_bytes)
        return mcpi_error_set(err, MCP_E_LIMIT, "the list of %s is too long",
                              p->kind->key);
    return 0;
}

static int
pages_read(struct pages *p, mcp_error *err)
{
    const char *cursor = NULL;
    mcp_reply *reply = NULL;
    int r;

    do {
        r = pages_take_time(p, err);
        if (r == 0)
            r = p->kind->page(p->client, cursor, &p->opt, &reply, err);
        if (r == 0)
            r = pages_add(p, reply, err);
        if (r < 0)
            return r;
        p->opt.id.type = MCP_ID_NONE; /* an id is one page's */
        cursor = mcp_reply_cursor(p->last->reply);
        if (cursor)
            r = pages_check_cursor(p, cursor, err);
    } while (r == 0 && cursor);
    return r;
}

/* From the last page to the first they are linked; written the other way round. */
static struct page *
pages_turn(struct page *last)
{
    struct page *first = NULL;
    struct page *page;

    while ((page = last) != NULL) {
        last = page->before;
        page->before = first;
        first = page;
    }
    return first;
}

static int
pages_build(struct pages *p, mcp_reply **ret_reply, mcp_error *err)
{
    const struct page *page;
    const mcp_json *items;
    mcp_json_iterator it;
    mcp_doc *doc;
    int r;

    p->last = pages_turn(p->last);
    mcp_builder_begin_object(p->builder, NULL);
    mcp_builder_begin_object(p->builder, "result");
    mcp_builder_begin_array(p->builder, p->kind->key);
    for (page = p->last; page; page = page->before) {
        items = mcp_json_get(mcp_reply_result(page->reply), p->kind->key);
        for (it = mcp_json_each(items); mcp_json_next(&it);)
            mcp_builder_value(p->builder, NULL, it.value);
    }
    mcp_builder_end(p->builder);
    mcp_builder_end(p->builder);
    mcp_builder_end(p->builder);
    r = mcp_builder_parse(p->builder, &doc);
    if (r < 0)
        return mcpi_error_set(err, r, "the list of %s: %s", p->kind->key,
                              mcp_status_text(r));
    if (ret_reply)
        *ret_reply = mcpi_reply_of(doc);
    else
        mcp_doc_free(doc);
    return 0;
}

/* A cursor may come from a page that was kept, and be good no more: by now the kept
 * pages are dropped, so that it is worth another try. */
static bool
is_stale(const struct pages *p, int r, const mcp_error *err)
{
    return r == MCP_E_PEER && err->rpc_code == MCPI_RPC_INVALID_PARAMS &&
           p->count > 0 && !p->opt.fresh && !p->client->opt.no_cache;
}

int
mcp_client_list_all(mcp_client *client, enum mcp_list list, const mcp_call_options *opt,
                    mcp_reply **ret_reply, mcp_error *err)
{
    struct pages p = {.client = client, .until = MCPI_NEVER};
    mcp_error why = {0};
    int r;

    r = mcpi_client_check(client, err);
    if (r < 0)
        return r;
    if ((unsigned)list >= sizeof(kinds) / sizeof(kinds[0]) ||
        mcpi_options_read(&p.opt, sizeof(p.opt), opt) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "there is no such list, or option");
    if (p.opt.resume)
        return mcpi_error_set(err, MCP_E_INVAL, "resume: a list is many calls");
    p.opt.on_resume = NULL;
    p.kind = &kinds[list];
    p.opt.size = sizeof(p.opt);
    p.builder = mcp_builder_new(client->host.mem);
    if (p.opt.total_ms > 0)
        p.until = mcpi_time_add(mcpi_loop_moment(client->host.inside),
                                mcpi_ms(p.opt.total_ms));
    r = pages_read(&p, &why);
    if (is_stale(&p, r, &why)) {
        pages_clear(&p);
        r = pages_read(&p, &why);
    }
    if (r == 0)
        r = pages_build(&p, ret_reply, &why);
    if (r < 0 && err)
        *err = why;
    pages_clear(&p);
    mcp_builder_free(p.builder);
    return r;
}
