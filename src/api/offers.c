/*
 * offers.c - what a server offers: added and removed by anybody, and said to all
 *
 * What was ever added is a capability from then on, and its methods are there: a list
 * that has become empty is a list. The text of the capabilities is made on the loop,
 * when a client asks for it and something has been added since: so whoever asks after
 * an offer was added reads of it, and no other thread touches the engine. Its room is
 * reserved at the start for all that there can be, because nobody could be told that
 * memory is short.
 */
#include <assert.h>
#include <string.h>

#include "api/custom.h"
#include "api/prompt.h"
#include "api/resource.h"
#include "api/server.h"
#include "api/tool.h"
#include "base/mem.h"
#include "base/text.h"
#include "json/value.h"

#define RESOURCES ((unsigned)MCP_RESOURCES_CHANGED | MCP_RESOURCE_UPDATED)
#define EVERYTHING (MCP_TOOLS_CHANGED | MCP_PROMPTS_CHANGED | RESOURCES)

/* ---- capabilities ------------------------------------------------------- */

static void
capability(struct mcpi_buf *buf, bool wanted, const char *text)
{
    if (!wanted)
        return;
    mcpi_buf_text(buf, buf->len > 1 ? "," : "");
    mcpi_buf_text(buf, text);
}

static void
capability_object(struct mcpi_buf *buf, const mcp_doc *doc, const char *key)
{
    if (!doc)
        return;
    capability(buf, true, key);
    mcpi_json_write(buf, mcp_doc_root(doc));
}

/* Extensions are a capability of 2026-07-28, but hosts look for them in the handshake
 * of older versions too, where capabilities are no closed set. */
static void
capabilities_write(struct mcpi_branch *branch, unsigned offers)
{
    const mcp_server *server = branch->server;
    struct mcpi_buf *buf = &branch->says;

    mcpi_buf_clear(buf);
    mcpi_buf_char(buf, '{');
    capability_object(buf, server->experimental, "\"experimental\":");
    capability(buf, !server->no_logging, "\"logging\":{}");
    capability(buf, offers & MCPI_OFFERS_COMPLETION, "\"completions\":{}");
    capability(buf, offers & MCP_PROMPTS_CHANGED, "\"prompts\":{\"listChanged\":true}");
    capability(buf, offers & RESOURCES,
               "\"resources\":{\"subscribe\":true,\"listChanged\":true}");
    capability(buf, offers & MCP_TOOLS_CHANGED, "\"tools\":{\"listChanged\":true}");
    capability_object(buf, server->extensions, "\"extensions\":");
    mcpi_buf_char(buf, '}');
    mcpi_buf_char(buf, '\0');
}

void
mcpi_offers_say(struct mcpi_branch *branch)
{
    unsigned offers = atomic_load(&branch->server->offers);
    int r;

    if (offers == branch->said)
        return;
    capabilities_write(branch, offers);
    r = mcpi_engine_set_capabilities(branch->host.engine, branch->says.data);
    assert(r == 0 && branch->says.status == 0); /* there was room for more */
    (void)r;
    branch->said = offers;
}

int
mcpi_offers_reserve(struct mcpi_branch *branch)
{
    branch->said = ~0U;
    mcpi_buf_init(&branch->says, branch->host.mem, SIZE_MAX);
    capabilities_write(branch, ~0U);
    return branch->says.status;
}

/* An object whose members are objects. Extensions are named "prefix/name" (basic,
 * _meta). */
static int
capability_read(const mcp_server *server, const char *text, const char *what,
                bool prefixed, mcp_doc **ret_doc, mcp_error *err)
{
    mcp_json_iterator it;
    mcp_error why = {0};
    const char *key, *slash;
    int r;

    if (!text)
        return 0;
    r = mcpi_object_parse(server->trunk.host.mem, text, what, ret_doc, &why);
    if (r < 0)
        return mcpi_error_set(err, r, "the server: %s", why.message);
    for (it = mcp_json_each(mcp_doc_root(*ret_doc)); mcp_json_next(&it);) {
        key = mcp_json_string(it.key, "");
        slash = strchr(key, '/');
        if (mcp_json_get_type(it.value) != MCP_JSON_OBJECT)
            return mcpi_error_set(err, MCP_E_INVAL,
                                  "%.60s among the %s of the server is not an object",
                                  key, what);
        if (prefixed && (!slash || slash == key || !slash[1]))
            return mcpi_error_set(err, MCP_E_INVAL,
                                  "an extension is named prefix/name, not %.60s", key);
    }
    return 0;
}

int
mcpi_offers_init(mcp_server *server, const mcp_server_options *opt, mcp_error *err)
{
    unsigned offers = opt->offers;
    int r;

    if (offers & ~(unsigned)EVERYTHING)
        return mcpi_error_set(err, MCP_E_INVAL, "the server offers something unknown");
    if (opt->list_scope != MCP_CACHE_PRIVATE && opt->list_scope != MCP_CACHE_PUBLIC)
        return mcpi_error_set(err, MCP_E_INVAL, "the scope of the lists is unknown");
    if (offers & RESOURCES)
        offers |= RESOURCES;
    atomic_init(&server->offers, offers);
    server->no_logging = opt->no_logging;
    server->list_ttl_ms = opt->list_ttl_ms;
    server->list_scope = opt->list_scope;
    r = capability_read(server, opt->extensions, "extensions", true,
                        &server->extensions, err);
    if (r == 0)
        r = capability_read(server, opt->experimental, "experimental", false,
                            &server->experimental, err);
    if (r < 0)
        return r;
    r = mcpi_offers_reserve(&server->trunk);
    return r < 0 ? mcpi_error_set(err, r, "%s", mcp_status_text(r)) : 0;
}

void
mcpi_offers_done(mcp_server *server)
{
    mcpi_buf_done(&server->trunk.says);
    mcp_doc_free(server->extensions);
    mcp_doc_free(server->experimental);
}

/* ---- adding and removing ------------------------------------------------ */

/* What tools, resources, templates, prompts and methods differ in. */
static const struct {
    const char *noun;
    unsigned offers;
    enum mcp_change change; /* 0: nobody is told */
} kinds[MCPI_CATALOGS] = {
    [MCPI_TOOLS] = {"tool", MCP_TOOLS_CHANGED, MCP_TOOLS_CHANGED},
    [MCPI_RESOURCES] = {"resource", RESOURCES, MCP_RESOURCES_CHANGED},
    [MCPI_TEMPLATES] = {"template", RESOURCES, MCP_RESOURCES_CHANGED},
    [MCPI_PROMPTS] = {"prompt", MCP_PROMPTS_CHANGED, MCP_PROMPTS_CHANGED},
    [MCPI_METHODS] = {"method", 0, 0},
};

/* Read the definition that a caller gave. */
static int
definition_read(const mcp_server *server, const void *given, void *into, size_t size,
                enum mcpi_catalog_index index, mcp_error *err)
{
    if (!server || !given || mcpi_options_read(into, size, given) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "this is no %s", kinds[index].noun);
    if (mcpi_server_guard(server) < 0)
        return mcpi_error_set(err, MCP_E_STATE, "this is another process");
    return 0;
}

/* Takes the reference, whatever happens. */
static int
offer_add(mcp_server *server, enum mcpi_catalog_index index,
          struct mcpi_offer *take_offer, bool completes, mcp_error *err)
{
    unsigned offers = kinds[index].offers | (completes ? MCPI_OFFERS_COMPLETION : 0);
    int r;

    r = mcpi_catalog_add(&server->catalogs[index], take_offer);
    if (r == MCP_E_INVAL)
        (void)mcpi_error_set(err, r, "there is a %s %.80s already", kinds[index].noun,
                             take_offer->key);
    else if (r < 0)
        (void)mcpi_error_set(err, r, "%s %.80s: %s", kinds[index].noun, take_offer->key,
                             mcp_status_text(r));
    if (r < 0) {
        mcpi_offer_unref(take_offer);
        return r;
    }
    atomic_fetch_or(&server->offers, offers);
    if (kinds[index].change != 0)
        mcpi_server_changed(server, kinds[index].change);
    return 0;
}

static int
offer_remove(mcp_server *server, enum mcpi_catalog_index index, const char *key)
{
    int r;

    if (!server || !key)
        return MCP_E_INVAL;
    if (mcpi_server_guard(server) < 0)
        return MCP_E_STATE;
    r = mcpi_catalog_remove(&server->catalogs[index], key);
    if (r == 0 && kinds[index].change != 0)
        mcpi_server_changed(server, kinds[index].change);
    return r;
}

static int
tool_isolate(mcp_server *server, struct mcpi_tool *tool, const mcp_tool *definition,
             mcp_error *err)
{
    struct mcpi_crew *crew;
    int r;

    r = mcpi_isolation_add(server, definition, &crew, err);
    if (r == 0)
        mcpi_tool_isolate(tool, crew);
    return r;
}

int
mcp_server_add_tool(mcp_server *server, const mcp_tool *given, mcp_error *err)
{
    struct mcpi_tool *tool;
    mcp_tool definition;
    int r;

    r = definition_read(server, given, &definition, sizeof(definition), MCPI_TOOLS,
                        err);
    if (r < 0)
        return r;
    r = mcpi_tool_new(server->trunk.host.mem, &definition, &tool, err);
    if (r < 0)
        return r;
    if (definition.isolate)
        r = tool_isolate(server, tool, &definition, err);
    if (r < 0) {
        mcpi_offer_unref(&tool->offer);
        return r;
    }
    return offer_add(server, MCPI_TOOLS, &tool->offer, false, err);
}

int
mcp_server_remove_tool(mcp_server *server, const char *name)
{
    return offer_remove(server, MCPI_TOOLS, name);
}

int
mcp_server_add_resource(mcp_server *server, const mcp_resource *given, mcp_error *err)
{
    struct mcpi_resource *resource;
    mcp_resource definition;
    int r;

    r = definition_read(server, given, &definition, sizeof(definition), MCPI_RESOURCES,
                        err);
    if (r < 0)
        return r;
    r = mcpi_resource_new(server->trunk.host.mem, &definition, &resource, err);
    return r < 0 ? r : offer_add(server, MCPI_RESOURCES, &resource->offer, false, err);
}

int
mcp_server_remove_resource(mcp_server *server, const char *uri)
{
    return offer_remove(server, MCPI_RESOURCES, uri);
}

int
mcp_server_add_template(mcp_server *server, const mcp_template *given, mcp_error *err)
{
    struct mcpi_resource *template;
    mcp_template definition;
    int r;

    r = definition_read(server, given, &definition, sizeof(definition), MCPI_TEMPLATES,
                        err);
    if (r < 0)
        return r;
    r = mcpi_template_new(server->trunk.host.mem, &definition, &template, err);
    if (r < 0)
        return r;
    return offer_add(server, MCPI_TEMPLATES, &template->offer,
                     template->offer.complete.kind != MCPI_NO_HANDLER, err);
}

int
mcp_server_remove_template(mcp_server *server, const char *uri_template)
{
    return offer_remove(server, MCPI_TEMPLATES, uri_template);
}

int
mcp_server_add_prompt(mcp_server *server, const mcp_prompt *given, mcp_error *err)
{
    struct mcpi_prompt *prompt;
    mcp_prompt definition;
    int r;

    r = definition_read(server, given, &definition, sizeof(definition), MCPI_PROMPTS,
                        err);
    if (r < 0)
        return r;
    r = mcpi_prompt_new(server->trunk.host.mem, &definition, &prompt, err);
    return r < 0 ? r
                 : offer_add(server, MCPI_PROMPTS, &prompt->offer, prompt->completes,
                             err);
}

int
mcp_server_remove_prompt(mcp_server *server, const char *name)
{
    return offer_remove(server, MCPI_PROMPTS, name);
}

int
mcp_server_add_method(mcp_server *server, const mcp_method *given, mcp_error *err)
{
    struct mcpi_custom *custom;
    mcp_method definition;
    int r;

    r = definition_read(server, given, &definition, sizeof(definition), MCPI_METHODS,
                        err);
    if (r < 0)
        return r;
    r = mcpi_custom_new(server->trunk.host.mem, &definition, &custom, err);
    return r < 0 ? r : offer_add(server, MCPI_METHODS, &custom->offer, false, err);
}

int
mcp_server_remove_method(mcp_server *server, const char *name)
{
    return offer_remove(server, MCPI_METHODS, name);
}
