/*
 * prompt.c - one prompt: checked and rendered once, when it is added
 *
 * What has to be known of it later (which arguments are required, what completes them)
 * is kept as a document: one copy of many small texts, in one block, easy to look
 * things up in.
 */
#include "api/prompt.h"

#include <string.h>

#include "api/identity.h"
#include "base/text.h"

/* ---- checking ----------------------------------------------------------- */

static int
values_check(const char *const *values, mcp_error *err)
{
    int r = 0;

    for (; r == 0 && values && *values; values++)
        r = mcpi_text_check(*values, "value of an argument", err);
    return r;
}

/* first: where the arguments begin, for a name that was there before. */
static int
argument_check(const mcp_prompt_argument *first, const mcp_prompt_argument *argument,
               mcp_error *err)
{
    int r;

    if (!*argument->name)
        return mcpi_error_set(err, MCP_E_INVAL, "an argument has no name");
    for (; first < argument; first++) {
        if (strcmp(first->name, argument->name) == 0)
            return mcpi_error_set(err, MCP_E_INVAL, "its argument %.60s stands twice",
                                  argument->name);
    }
    r = mcpi_text_check(argument->name, "name of an argument", err);
    if (r == 0)
        r = mcpi_text_check(argument->title, "title of an argument", err);
    if (r == 0)
        r = mcpi_text_check(argument->description, "description of an argument", err);
    if (r == 0)
        r = values_check(argument->values, err);
    return r;
}

static int
prompt_check(const mcp_prompt *definition, mcp_error *err)
{
    const mcp_prompt_argument *first = definition->arguments, *at;
    int r;

    r = mcpi_text_check(definition->title, "title", err);
    if (r == 0)
        r = mcpi_text_check(definition->description, "description", err);
    if (r == 0)
        r = mcpi_icons_check(definition->icons, err);
    for (at = first; r == 0 && at && at->name; at++)
        r = argument_check(first, at, err);
    return r;
}

/* ---- its object in lists ------------------------------------------------ */

static void
arguments_build(mcp_builder *b, const mcp_prompt_argument *argument)
{
    if (!argument || !argument->name)
        return;
    mcp_builder_begin_array(b, "arguments");
    for (; argument->name; argument++) {
        mcp_builder_begin_object(b, NULL);
        mcp_builder_string(b, "name", argument->name);
        if (argument->title)
            mcp_builder_string(b, "title", argument->title);
        if (argument->description)
            mcp_builder_string(b, "description", argument->description);
        if (argument->required)
            mcp_builder_bool(b, "required", true);
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
}

static int
prompt_render(struct mcpi_prompt *prompt, const mcp_prompt *definition, mcp_error *err)
{
    mcp_builder *b = prompt->offer.shown;
    int r;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "name", prompt->offer.key);
    if (definition->title)
        mcp_builder_string(b, "title", definition->title);
    if (definition->description)
        mcp_builder_string(b, "description", definition->description);
    arguments_build(b, definition->arguments);
    mcpi_icons_build(b, "icons", definition->icons);
    r = mcpi_offer_write_meta(&prompt->offer, definition->meta, err);
    if (r < 0)
        return r;
    mcp_builder_end(b);
    r = mcp_builder_status(b);
    return r < 0 ? mcpi_error_set(err, r, "%s", mcp_status_text(r)) : 0;
}

/* ---- what is kept of it ------------------------------------------------- */

static void
values_build(mcp_builder *b, const char *const *values)
{
    mcp_builder_begin_array(b, "values");
    for (; *values; values++)
        mcp_builder_string(b, NULL, *values);
    mcp_builder_end(b);
}

static void
definition_build(mcp_builder *b, const mcp_prompt *definition)
{
    const mcp_prompt_argument *argument = definition->arguments;

    mcp_builder_begin_object(b, NULL);
    if (definition->description)
        mcp_builder_string(b, "description", definition->description);
    mcp_builder_begin_object(b, "arguments");
    for (; argument && argument->name; argument++) {
        mcp_builder_begin_object(b, argument->name);
        mcp_builder_bool(b, "required", argument->required);
        if (argument->values)
            values_build(b, argument->values);
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
    mcp_builder_end(b);
}

static int
prompt_keep(struct mcpi_prompt *prompt, const mcp_prompt *definition, mcp_error *err)
{
    mcp_builder *b = mcp_builder_new(prompt->offer.mem);
    const mcp_json *root;
    int r;

    definition_build(b, definition);
    r = mcp_builder_status(b);
    if (r == 0)
        r = mcp_builder_parse(b, &prompt->definition);
    mcp_builder_free(b);
    if (r < 0)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    root = mcp_doc_root(prompt->definition);
    prompt->description = mcp_json_string(mcp_json_get(root, "description"), NULL);
    prompt->arguments = mcp_json_get(root, "arguments");
    return 0;
}

/* ---- its handlers ------------------------------------------------------- */

static int
handlers_take(struct mcpi_prompt *prompt, const mcp_prompt *definition, mcp_error *err)
{
    const mcp_handler handler = {definition->run, definition->start, definition->reply,
                                 definition->user};
    const mcp_handler *complete = &definition->complete;
    const mcp_prompt_argument *argument = definition->arguments;
    struct mcpi_offer *offer = &prompt->offer;
    mcp_error why = {0};
    int r;

    r = mcpi_handler_read(&handler, &offer->handler, err);
    if (r == 0)
        r = mcpi_handler_bound(&offer->handler, definition->flags, definition->limit_ms,
                               err);
    for (; argument && argument->name; argument++)
        prompt->completes = prompt->completes || argument->values;
    if (r < 0 || (!complete->run && !complete->start && !complete->reply))
        return r;
    prompt->completes = true;
    r = mcpi_handler_read(complete, &offer->complete, &why);
    if (r < 0)
        return mcpi_error_set(err, r, "its completion: %s", why.message);
    return mcpi_handler_bound(&offer->complete, definition->flags, definition->limit_ms,
                              err);
}

/* ---- making one --------------------------------------------------------- */

static int
prompt_fill(struct mcpi_prompt *prompt, const mcp_prompt *definition, mcp_error *err)
{
    int r;

    r = prompt_check(definition, err);
    if (r == 0)
        r = handlers_take(prompt, definition, err);
    if (r == 0)
        r = prompt_render(prompt, definition, err);
    if (r == 0)
        r = prompt_keep(prompt, definition, err);
    return r;
}

static void
prompt_destroy(struct mcpi_offer *offer)
{
    mcp_doc_free(mcpi_prompt_of(offer)->definition);
    mcpi_offer_done(offer);
}

int
mcpi_prompt_new(const mcp_allocator *mem, const mcp_prompt *definition,
                struct mcpi_prompt **ret_prompt, mcp_error *err)
{
    size_t len = definition->name ? strlen(definition->name) : 0;
    struct mcpi_prompt *prompt;
    mcp_error why = {0};
    int r;

    if (!mcpi_name_fits(definition->name, len))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "a prompt's name is 1 to 128 letters, digits, _ - and ., "
                              "not \"%.60s\"",
                              definition->name ? definition->name : "");
    prompt = mcpi_offer_new(mem, sizeof(*prompt), definition->name, prompt_destroy);
    if (!prompt)
        return mcpi_error_set(err, MCP_E_NOMEM, "%s", mcp_status_text(MCP_E_NOMEM));
    r = prompt_fill(prompt, definition, &why);
    if (r < 0) {
        (void)mcpi_error_set(err, r, "prompt %s: %s", prompt->offer.key, why.message);
        mcpi_offer_unref(&prompt->offer);
        return r;
    }
    *ret_prompt = prompt;
    return 0;
}
