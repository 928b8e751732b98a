/* resource.c - one resource or template: checked and rendered once, when it is added */
#include "api/resource.h"

#include <string.h>

#include "api/identity.h"
#include "api/result.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/schema_format.h"
#include "json/schema_uri.h"

#define AUDIENCES (MCP_FOR_USER | MCP_FOR_ASSISTANT)

/* What both are made of, whatever they are called by. */
struct description {
    const char *key; /* of the URI in lists */
    const char *name, *title, *description, *mime_type, *last_modified, *meta;
    const mcp_icon *icons;
    unsigned audience;
    double priority;
    int64_t bytes; /* 0: not said */
    mcp_handler handler;
    unsigned flags;
    int64_t limit_ms, ttl_ms;
    enum mcp_cache_scope scope;
};

/* ---- checking ----------------------------------------------------------- */

static int
texts_check(const struct description *d, mcp_error *err)
{
    const struct {
        const char *text, *what;
    } texts[] = {{d->name, "name"},
                 {d->title, "title"},
                 {d->description, "description"},
                 {d->mime_type, "MIME type"},
                 {d->last_modified, "time of the last change"}};
    int r = 0;

    if (!d->name || !*d->name)
        return mcpi_error_set(err, MCP_E_INVAL, "it has no name");
    for (size_t i = 0; r == 0 && i < sizeof(texts) / sizeof(texts[0]); i++)
        r = mcpi_text_check(texts[i].text, texts[i].what, err);
    return r;
}

static int
description_check(const struct description *d, mcp_error *err)
{
    int r;

    r = texts_check(d, err);
    if (r == 0)
        r = mcpi_icons_check(d->icons, err);
    if (r < 0)
        return r;
    if (d->audience & ~(unsigned)AUDIENCES)
        return mcpi_error_set(err, MCP_E_INVAL, "it has an unknown audience");
    if (!(d->priority >= 0 && d->priority <= 1))
        return mcpi_error_set(err, MCP_E_INVAL, "its priority is not from 0 to 1");
    if (d->bytes < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "its size is negative");
    if (d->ttl_ms < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "its time to be kept is negative");
    if (d->scope != MCP_CACHE_PRIVATE && d->scope != MCP_CACHE_PUBLIC)
        return mcpi_error_set(err, MCP_E_INVAL, "its cache scope is unknown");
    return 0;
}

/* ---- its object in lists ------------------------------------------------ */

static void
annotations_build(mcp_builder *b, const struct description *d)
{
    if (!d->audience && d->priority <= 0 && !d->last_modified)
        return;
    mcp_builder_begin_object(b, "annotations");
    if (d->audience) {
        mcp_builder_begin_array(b, "audience");
        if (d->audience & MCP_FOR_USER)
            mcp_builder_string(b, NULL, "user");
        if (d->audience & MCP_FOR_ASSISTANT)
            mcp_builder_string(b, NULL, "assistant");
        mcp_builder_end(b);
    }
    if (d->priority > 0)
        mcp_builder_real(b, "priority", d->priority);
    if (d->last_modified)
        mcp_builder_string(b, "lastModified", d->last_modified);
    mcp_builder_end(b);
}

static int
resource_render(struct mcpi_resource *resource, const struct description *d,
                mcp_error *err)
{
    mcp_builder *b = resource->offer.shown;
    int r;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, d->key, resource->offer.key);
    mcp_builder_string(b, "name", d->name);
    if (d->title)
        mcp_builder_string(b, "title", d->title);
    if (d->description)
        mcp_builder_string(b, "description", d->description);
    if (d->mime_type)
        mcp_builder_string(b, "mimeType", d->mime_type);
    annotations_build(b, d);
    if (d->bytes > 0)
        mcp_builder_int(b, "size", d->bytes);
    mcpi_icons_build(b, "icons", d->icons);
    r = mcpi_offer_write_meta(&resource->offer, d->meta, err);
    if (r < 0)
        return r;
    mcp_builder_end(b);
    r = mcp_builder_status(b);
    return r < 0 ? mcpi_error_set(err, r, "%s", mcp_status_text(r)) : 0;
}

/* ---- what it contains --------------------------------------------------- */

/* A copy with a terminator; NULL for want of memory. */
static char *
bytes_copy(const mcp_allocator *mem, const void *bytes, size_t len)
{
    char *copy = mcpi_alloc(mem, len + 1);

    if (!copy)
        return NULL;
    if (len > 0)
        memcpy(copy, bytes, len);
    copy[len] = '\0';
    return copy;
}

/* The handler of what never changes. */
static int
content_reply(mcp_request *req, mcp_result *out, void *user)
{
    const struct mcpi_resource *resource = user;

    (void)req;
    if (resource->is_text)
        return mcp_result_text_n(out, resource->content, resource->content_length);
    return mcp_result_bytes(out, resource->content, resource->content_length);
}

static int
content_take(struct mcpi_resource *resource, const mcp_resource *definition,
             struct description *d, mcp_error *err)
{
    const void *bytes = definition->data;
    int r;

    resource->content_length = definition->data_length;
    resource->is_text = definition->text != NULL;
    if (definition->text) {
        r = mcpi_text_check(definition->text, "text", err);
        if (r < 0)
            return r;
        bytes = definition->text;
        resource->content_length = strlen(definition->text);
    }
    resource->content = bytes_copy(resource->offer.mem, bytes,
                                   resource->content_length);
    if (!resource->content)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    if (d->bytes == 0)
        d->bytes = (int64_t)resource->content_length;
    d->handler = (mcp_handler){.reply = content_reply, .user = resource};
    return 0;
}

/* Exactly one source. */
static int
source_take(struct mcpi_resource *resource, const mcp_resource *definition,
            struct description *d, mcp_error *err)
{
    bool handled = d->handler.run || d->handler.start || d->handler.reply;

    if (definition->data_length > 0 && !definition->data)
        return mcpi_error_set(err, MCP_E_INVAL, "its data has a length and no bytes");
    if ((definition->text != NULL) + (definition->data != NULL) + handled != 1)
        return mcpi_error_set(err, MCP_E_INVAL,
                              "it needs one of text, data and a handler");
    return handled ? 0 : content_take(resource, definition, d, err);
}

/* ---- making one --------------------------------------------------------- */

static void
resource_destroy(struct mcpi_offer *offer)
{
    struct mcpi_resource *resource = mcpi_resource_of(offer);

    mcp_uri_template_free(resource->pattern);
    mcpi_free(offer->mem, resource->mime_type);
    mcpi_free(offer->mem, resource->content);
    mcpi_offer_done(offer);
}

static int
description_take(struct mcpi_resource *resource, const struct description *d,
                 mcp_error *err)
{
    struct mcpi_offer *offer = &resource->offer;
    int r;

    r = description_check(d, err);
    if (r == 0)
        r = mcpi_handler_read(&d->handler, &offer->handler, err);
    if (r == 0)
        r = mcpi_handler_bound(&offer->handler, d->flags, d->limit_ms, err);
    if (r == 0)
        r = resource_render(resource, d, err);
    if (r < 0)
        return r;
    resource->ttl_ms = d->ttl_ms;
    resource->scope = d->scope;
    if (!d->mime_type)
        return 0;
    resource->mime_type = bytes_copy(offer->mem, d->mime_type, strlen(d->mime_type));
    if (!resource->mime_type)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    return 0;
}

static int
resource_fill(struct mcpi_resource *resource, const mcp_resource *definition,
              mcp_error *err)
{
    struct description d = {
        .key = "uri",
        .name = definition->name,
        .title = definition->title,
        .description = definition->description,
        .mime_type = definition->mime_type,
        .last_modified = definition->last_modified,
        .meta = definition->meta,
        .icons = definition->icons,
        .audience = definition->audience,
        .priority = definition->priority,
        .bytes = definition->bytes,
        .handler = {definition->run, definition->start, definition->reply,
                    definition->user},
        .flags = definition->flags,
        .limit_ms = definition->limit_ms,
        .ttl_ms = definition->ttl_ms,
        .scope = definition->scope,
    };
    int r;

    r = source_take(resource, definition, &d, err);
    return r < 0 ? r : description_take(resource, &d, err);
}

/* The end of making one: r says how that went, and why. */
static int
resource_made(struct mcpi_resource *resource, int r, const mcp_error *why,
              struct mcpi_resource **ret_resource, mcp_error *err)
{
    if (r < 0) {
        (void)mcpi_error_set(err, r, "%s %.80s: %s",
                             resource->pattern ? "template" : "resource",
                             resource->offer.key, why->message);
        mcpi_offer_unref(&resource->offer);
        return r;
    }
    *ret_resource = resource;
    return 0;
}

int
mcpi_resource_new(const mcp_allocator *mem, const mcp_resource *definition,
                  struct mcpi_resource **ret_resource, mcp_error *err)
{
    const char *uri = definition->uri ? definition->uri : "";
    struct mcpi_resource *resource;
    mcp_error why = {0};

    /* Beyond ASCII too: what a host shows is what was given. */
    if (!mcpi_utf8_valid(uri, strlen(uri)) ||
        !mcpi_schema_format_find("iri", 3)(uri, strlen(uri)))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "a resource's URI is absolute, not \"%.80s\"", uri);
    resource = mcpi_offer_new(mem, sizeof(*resource), uri, resource_destroy);
    if (!resource)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    return resource_made(resource, resource_fill(resource, definition, &why), &why,
                         ret_resource, err);
}

/* ---- templates ---------------------------------------------------------- */

static int
complete_take(struct mcpi_offer *offer, const mcp_template *definition, mcp_error *err)
{
    const mcp_handler *given = &definition->complete;
    mcp_error why = {0};
    int r;

    if (!given->run && !given->start && !given->reply)
        return 0;
    r = mcpi_handler_read(given, &offer->complete, &why);
    if (r < 0)
        return mcpi_error_set(err, r, "its completion: %s", why.message);
    return mcpi_handler_bound(&offer->complete, definition->flags, definition->limit_ms,
                              err);
}

static int
template_fill(struct mcpi_resource *template, const mcp_template *definition,
              mcp_error *err)
{
    const struct description d = {
        .key = "uriTemplate",
        .name = definition->name,
        .title = definition->title,
        .description = definition->description,
        .mime_type = definition->mime_type,
        .last_modified = definition->last_modified,
        .meta = definition->meta,
        .icons = definition->icons,
        .audience = definition->audience,
        .priority = definition->priority,
        .handler = {definition->run, definition->start, definition->reply,
                    definition->user},
        .flags = definition->flags,
        .limit_ms = definition->limit_ms,
        .ttl_ms = definition->ttl_ms,
        .scope = definition->scope,
    };
    int r;

    r = complete_take(&template->offer, definition, err);
    return r < 0 ? r : description_take(template, &d, err);
}

int
mcpi_template_new(const mcp_allocator *mem, const mcp_template *definition,
                  struct mcpi_resource **ret_template, mcp_error *err)
{
    const char *text = definition->uri_template ? definition->uri_template : "";
    struct mcpi_resource *template;
    mcp_uri_template *pattern;
    mcp_error why = {0};
    int r;

    if (!*text)
        return mcpi_error_set(err, MCP_E_INVAL, "a template has no text");
    r = mcp_uri_template_new(text, mem, &pattern, &why);
    if (r < 0) /* one that is too long is none either */
        return mcpi_error_set(err, r == MCP_E_NOMEM ? r : MCP_E_INVAL,
                              "template %.80s: %s", text, why.message);
    template = mcpi_offer_new(mem, sizeof(*template), text, resource_destroy);
    if (!template) {
        mcp_uri_template_free(pattern);
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    }
    template->pattern = pattern;
    return resource_made(template, template_fill(template, definition, &why), &why,
                         ret_template, err);
}

bool
mcpi_template_has(const struct mcpi_resource *template, const char *name)
{
    size_t count = mcp_uri_template_count(template->pattern);

    for (size_t i = 0; i < count; i++) {
        if (strcmp(mcp_uri_template_name(template->pattern, i), name) == 0)
            return true;
    }
    return false;
}

/* ---- what it may be called ------------------------------------------------ */

bool
mcpi_uri_fits(const char *uri, size_t len)
{
    if (strlen(uri) != len || !mcpi_utf8_valid(uri, len) ||
        mcpi_uri_scheme(uri, len) == 0)
        return false;
    for (size_t i = 0; i < len; i++) {
        if ((unsigned char)uri[i] <= ' ' || uri[i] == 0x7f)
            return false;
    }
    return true;
}
