/* answerer.c - what a server may ask a client, and who answers */
#include "api/answerer.h"

#include <string.h>

#include "api/client.h"
#include "api/custom.h"
#include "api/inquiry.h"
#include "api/methods.h"
#include "api/request.h"
#include "base/mem.h"
#include "base/text.h"

#define ABLE_ELICIT (MCP_ABLE_URL | MCP_ABLE_NO_FORM)
#define ABLE_SAMPLE (MCP_ABLE_SAMPLE_TOOLS | MCP_ABLE_SAMPLE_CONTEXT)

/* ---- what the options say ----------------------------------------------- */

static bool
handler_is_there(const struct mcpi_handler *handler)
{
    return handler->kind != MCPI_NO_HANDLER;
}

/* One that may be missing. */
static int
handler_take(const mcp_handler *given, const char *what, struct mcpi_handler *ret,
             mcp_error *err)
{
    mcp_error why = {0};
    int r;

    if (!given->run && !given->start && !given->reply)
        return 0;
    r = mcpi_handler_read(given, ret, &why);
    return r < 0 ? mcpi_error_set(err, r, "%s: %s", what, why.message) : 0;
}

static int
able_check(const struct mcpi_answerer *a, mcp_error *err)
{
    if (a->able & ~(unsigned)(ABLE_ELICIT | ABLE_SAMPLE))
        return mcpi_error_set(err, MCP_E_INVAL, "able: there is no such ability");
    if ((a->able & ABLE_ELICIT) == MCP_ABLE_NO_FORM)
        return mcpi_error_set(err, MCP_E_INVAL,
                              "able: who elicits knows forms, URLs, or both");
    if (((a->able & ABLE_ELICIT) && !handler_is_there(&a->elicit)) ||
        ((a->able & ABLE_SAMPLE) && !handler_is_there(&a->sample)))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "able: there is no handler for what is named");
    return 0;
}

static int
root_list_take(struct mcp_client *client, mcp_error *err)
{
    struct mcpi_answerer *a = &client->answerer;

    if (!client->opt.root_list)
        return 0;
    if (handler_is_there(&a->roots))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "roots are given as a handler or as a list, not as both");
    a->roots = (struct mcpi_handler){
        .kind = MCPI_REPLIES, .fn = mcpi_roots_reply, .user = client};
    return mcpi_roots_print(client->host.mem, client->opt.root_list, &a->root_list,
                            err);
}

static int
method_take(struct mcp_client *client, const mcp_method *given, mcp_error *err)
{
    struct mcpi_answerer *a = &client->answerer;
    struct mcpi_custom *custom;
    mcp_method definition;
    int r;

    if (mcpi_options_read(&definition, sizeof(definition), given) < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "methods: this is no method");
    r = mcpi_custom_new(client->host.mem, &definition, &custom, err);
    if (r < 0)
        return r;
    r = mcpi_catalog_add(&a->methods, &custom->offer);
    if (r < 0) {
        (void)mcpi_error_set(err, r, "method %s: %s", custom->offer.key,
                             r == MCP_E_INVAL ? "it is there twice"
                                              : mcp_status_text(r));
        mcpi_offer_unref(&custom->offer);
        return r;
    }
    a->runs_methods |= custom->offer.handler.kind == MCPI_RUNS;
    a->tells_methods |= custom->told != NULL;
    return 0;
}

static int
methods_take(struct mcp_client *client, mcp_error *err)
{
    static const unsigned char
        key[MCPI_SEED_SIZE]; /* of cursors, of which none is made */
    const mcp_method *const *methods = client->opt.methods;
    int r;

    r = mcpi_catalog_init(&client->answerer.methods, client->host.mem, "methods", key);
    if (r < 0)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    client->answerer.has_methods = true;
    for (; r == 0 && methods && *methods; methods++)
        r = method_take(client, *methods, err);
    return r;
}

int
mcpi_answerer_init(struct mcp_client *client, mcp_error *err)
{
    struct mcpi_answerer *a = &client->answerer;
    int r;

    a->able = client->opt.able;
    r = handler_take(&client->opt.elicit, "elicit", &a->elicit, err);
    if (r == 0)
        r = handler_take(&client->opt.sample, "sample", &a->sample, err);
    if (r == 0)
        r = handler_take(&client->opt.roots, "roots", &a->roots, err);
    if (r == 0)
        r = able_check(a, err);
    if (r == 0)
        r = methods_take(client, err);
    return r < 0 ? r : root_list_take(client, err);
}

void
mcpi_answerer_done(struct mcp_client *client)
{
    mcp_text_free(client->answerer.root_list, client->host.mem);
    if (client->answerer.has_methods)
        mcpi_catalog_done(&client->answerer.methods);
}

bool
mcpi_answerer_runs(const struct mcpi_answerer *a)
{
    return a->elicit.kind == MCPI_RUNS || a->sample.kind == MCPI_RUNS ||
           a->roots.kind == MCPI_RUNS || a->runs_methods;
}

/* ---- capabilities ------------------------------------------------------- */

static void
declare_empty(mcp_builder *b, const char *key, bool is)
{
    if (!is)
        return;
    mcp_builder_begin_object(b, key);
    mcp_builder_end(b);
}

static void
declare_handlers(const struct mcpi_answerer *a, bool legacy, mcp_builder *b)
{
    if (handler_is_there(&a->elicit)) {
        mcp_builder_begin_object(b, "elicitation");
        declare_empty(b, "form", !(a->able & MCP_ABLE_NO_FORM));
        declare_empty(b, "url", a->able & MCP_ABLE_URL);
        mcp_builder_end(b);
    }
    if (handler_is_there(&a->sample)) {
        mcp_builder_begin_object(b, "sampling");
        declare_empty(b, "tools", a->able & MCP_ABLE_SAMPLE_TOOLS);
        declare_empty(b, "context", a->able & MCP_ABLE_SAMPLE_CONTEXT);
        mcp_builder_end(b);
    }
    if (handler_is_there(&a->roots)) {
        mcp_builder_begin_object(b, "roots");
        if (legacy) /* later versions have no notification of it */
            mcp_builder_bool(b, "listChanged", true);
        mcp_builder_end(b);
    }
}

/* A member that the program gives as text: an object whose members are objects. */
static int
declare_text(mcp_builder *b, const mcp_allocator *mem, const char *key,
             const char *text, mcp_error *err)
{
    bool fits = true;
    mcp_json_iterator it;
    mcp_doc *doc;
    int r;

    if (!text)
        return 0;
    r = mcpi_object_parse(mem, text, key, &doc, err);
    if (r < 0)
        return r;
    for (it = mcp_json_each(mcp_doc_root(doc)); fits && mcp_json_next(&it);)
        fits = mcp_json_get_type(it.value) == MCP_JSON_OBJECT;
    if (fits)
        mcp_builder_value(b, key, mcp_doc_root(doc));
    mcp_doc_free(doc);
    return fits
               ? 0
               : mcpi_error_set(err, MCP_E_INVAL, "its %s: a member is no object", key);
}

int
mcpi_answerer_declare(const struct mcp_client *client, bool legacy, mcp_builder *b,
                      mcp_error *err)
{
    int r;

    mcp_builder_begin_object(b, NULL);
    r = declare_text(b, client->host.mem, "experimental", client->opt.experimental,
                     err);
    if (r < 0)
        return r;
    declare_handlers(&client->answerer, legacy, b);
    r = declare_text(b, client->host.mem, "extensions", client->opt.extensions, err);
    if (r < 0)
        return r;
    mcp_builder_end(b);
    r = mcp_builder_status(b);
    return r < 0 ? mcpi_error_set(err, r, "%s", mcp_status_text(r)) : 0;
}

/* ---- a question has arrived --------------------------------------------- */

/* A question that somebody answers. */
struct routed {
    const struct mcpi_handler *handler;
    enum mcpi_result_kind kind;
    mcp_schema *form;           /* ours, until the request has it */
    struct mcpi_custom *custom; /* likewise: a method of the program's own */
};

static int
question_check(struct mcp_client *client, const struct mcpi_rpc *rpc,
               struct routed *into, struct mcpi_refusal *why)
{
    struct mcpi_answerer *a = &client->answerer;

    switch (rpc->method) {
    case MCPI_METHOD_ELICIT:
        into->handler = &a->elicit;
        into->kind = MCPI_RESULT_ELICITATION;
        return handler_is_there(&a->elicit)
                   ? mcpi_inquiry_elicitation(client->host.mem, rpc->params, a->able,
                                              &into->form, why)
                   : MCP_E_STATE;
    case MCPI_METHOD_SAMPLING:
        into->handler = &a->sample;
        into->kind = MCPI_RESULT_SAMPLE;
        return handler_is_there(&a->sample)
                   ? mcpi_inquiry_sample(rpc->params, a->able, why)
                   : MCP_E_STATE;
    case MCPI_METHOD_ROOTS_LIST:
        into->handler = &a->roots;
        into->kind = client->opt.root_list ? MCPI_RESULT_PLAIN : MCPI_RESULT_ROOTS;
        return handler_is_there(&a->roots) ? 0 : MCP_E_STATE;
    default:
        into->custom = mcpi_custom_find(&a->methods, rpc);
        return into->custom ? 0 : MCP_E_STATE; /* there is no such method */
    }
}

int
mcpi_answerer_route(void *user, struct mcpi_exchange *x, struct mcpi_refusal *why)
{
    struct mcp_client *client = user;
    struct routed routed = {.form = NULL};
    mcp_request *req;
    int r;

    r = question_check(client, &x->rpc, &routed, why);
    if (r < 0)
        return r;
    req = mcpi_request_new(&client->host, x);
    if (!req) {
        mcp_schema_free(routed.form);
        if (routed.custom)
            mcpi_offer_unref(&routed.custom->offer);
        mcpi_refuse(why, MCPI_RPC_INTERNAL_ERROR, "%s", mcp_status_text(MCP_E_NOMEM));
        return MCP_E_NOMEM;
    }
    req->handler = routed.handler;
    req->serve = mcpi_request_handle;
    req->out.kind = routed.kind;
    req->out.form = routed.form;
    req->out.version = x->caller.version;
    req->out.modern = x->caller.dialect->modern;
    if (routed.custom)
        mcpi_request_take_custom(req, routed.custom);
    mcpi_exchange_serve(x, &mcpi_request_ops, req);
    return 0;
}
