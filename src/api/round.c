/*
 * round.c - asking in the modern era: the answer asks, and the retry brings it all back
 *
 * What is sealed into requestState:
 *
 *   {"round":1,"state":"...",
 *    "answers":{"who":{"kind":1,"value":{...}}},      what was answered so far
 *    "asked":{"where":{"kind":1,"schema":{...}}}}     what this round asks
 *
 * so that the retry, which has nothing but the answers of this round, is enough.
 *
 * Answers that come without a state are to questions that nobody knows yet: they wait
 * until the handler asks. What it asks then and is answered already is not sent; if
 * that is all it has asked, it is run again at once, as if the round had been made. A
 * client gains nothing by it: answers are its own to make in any case, and are checked;
 * what a state protects is what came before, and here nothing did. What was not asked
 * is ignored, what is missing is asked for (2026-07-28, basic/patterns/mrtr, Error
 * Handling).
 */
#include <string.h>

#include "api/asking.h"
#include "api/seal.h"
#include "api/server.h"
#include "base/text.h"

/* The question has this answer, if it is one. */
static int
answer_take(const mcp_request *req, struct mcpi_asked *asked, const mcp_json *answer,
            mcp_error *err)
{
    mcp_error why = {0};
    int r;

    r = mcpi_answer_check(req->host->mem, asked->kind, asked->schema, answer, &why);
    if (r == MCP_E_NOMEM)
        return r;
    if (r < 0)
        return mcpi_error_set(err, MCP_E_INVAL, "inputResponses, %s: %s", asked->key,
                              why.message);
    asked->doc = mcp_doc_ref(req->x->doc);
    asked->answer = answer;
    return 0;
}

/* ---- the answer asks ---------------------------------------------------- */

static struct mcpi_seal
seal_of(const mcp_request *req)
{
    return (struct mcpi_seal){.key = req->server->state_key,
                              .principal = req->x->caller.principal,
                              .method = req->x->rpc.method_name,
                              .params = req->x->rpc.params};
}

/* {"key":{"kind":1,"schema":...}} or with the value. */
static void
list_write(mcp_builder *b, const char *name, const struct mcpi_list *list)
{
    const struct mcpi_asked *asked;
    const struct mcpi_list *node;

    mcp_builder_begin_object(b, name);
    for (node = list->next; node != list; node = node->next) {
        asked = MCPI_CONTAINER(node, struct mcpi_asked, node);
        mcp_builder_begin_object(b, asked->key);
        mcp_builder_int(b, "kind", asked->kind);
        if (asked->answer)
            mcp_builder_value(b, "value", asked->answer);
        else if (asked->schema)
            mcp_builder_value(b, "schema", asked->schema);
        mcp_builder_end(b);
    }
    mcp_builder_end(b);
}

static int
state_write(const mcp_request *req, struct mcpi_buf *into)
{
    const struct mcpi_asking *asking = req->asking;
    mcp_builder *b = mcp_builder_new(req->host->mem);
    struct mcpi_seal seal = seal_of(req);
    const char *text;
    size_t len;
    int r;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_int(b, "round", asking->rounds + 1);
    mcp_builder_string(b, "state", mcpi_asking_kept(asking));
    list_write(b, "answers", &asking->answered);
    list_write(b, "asked", &asking->asked);
    mcp_builder_end(b);
    r = mcp_builder_status(b);
    if (r == 0) {
        text = mcp_builder_text(b, &len);
        r = mcpi_seal_write(&seal, mcpi_seal_now_ms() + req->server->state_ms, text,
                            len, into);
    }
    mcp_builder_free(b);
    return r;
}

static void
requests_write(struct mcpi_buf *into, const struct mcpi_list *list)
{
    const struct mcpi_asked *asked;
    const struct mcpi_list *node;

    MCPI_BUF_LITERAL(into, "\"inputRequests\":{");
    for (node = list->next; node != list; node = node->next) {
        asked = MCPI_CONTAINER(node, struct mcpi_asked, node);
        if (node != list->next)
            mcpi_buf_char(into, ',');
        (void)mcpi_json_write_string(into, asked->key, strlen(asked->key));
        MCPI_BUF_LITERAL(into, ":{\"method\":\"");
        mcpi_buf_text(into, mcpi_method_name(mcpi_asked_method(asked->kind)));
        mcpi_buf_char(into, '"');
        if (asked->params) {
            MCPI_BUF_LITERAL(into, ",\"params\":");
            mcpi_json_write(into, asked->params);
        }
        mcpi_buf_char(into, '}');
    }
    MCPI_BUF_LITERAL(into, "},");
}

/* ---- answers that were there before the question ------------------------ */

/* 1: it was one. */
static int
early_take(mcp_request *req, struct mcpi_asked *asked)
{
    const mcp_json *responses = mcp_json_get(req->x->rpc.params, "inputResponses");
    const mcp_json *answer = mcp_json_get(responses, asked->key);
    mcp_error why = {0};
    int r;

    if (!answer)
        return 0;
    r = answer_take(req, asked, answer, &why);
    if (r == MCP_E_INVAL) {
        mcpi_request_refuse(req, MCPI_RPC_INVALID_PARAMS, "Invalid params: %s",
                            why.message);
        r = MCP_E_PEER;
    }
    if (r < 0)
        return r;
    mcpi_list_remove(&asked->node);
    mcpi_list_append(&req->asking->answered, &asked->node);
    return 1;
}

int
mcpi_round_take_early(mcp_request *req)
{
    struct mcpi_list *asked = &req->asking->asked;
    struct mcpi_list *node, *next;
    int taken = 0, r;

    if (mcp_json_get(req->x->rpc.params, "requestState"))
        return 0; /* it says what was asked */
    for (node = asked->next; node != asked; node = next) {
        next = node->next;
        r = early_take(req, MCPI_CONTAINER(node, struct mcpi_asked, node));
        if (r < 0)
            return r;
        taken += r;
    }
    return taken > 0 && mcpi_list_empty(asked);
}

/* ---- closing it --------------------------------------------------------- */

/* What the handler has written of a result is not sent: it is not there yet. */
int
mcpi_round_close(mcp_request *req, mcp_error *err)
{
    const struct mcpi_asking *asking = req->asking;
    struct mcpi_result *answer = &req->out.answer;
    int r;

    mcpi_buf_clear(&answer->body);
    mcpi_buf_clear(&answer->meta);
    mcpi_buf_char(&answer->body, '{');
    if (!mcpi_list_empty(&asking->asked))
        requests_write(&answer->body, &asking->asked);
    MCPI_BUF_LITERAL(&answer->body, "\"requestState\":\"");
    r = state_write(req, &answer->body);
    MCPI_BUF_LITERAL(&answer->body, "\"}");
    if (r == MCP_E_LIMIT)
        return mcpi_error_set(err, r,
                              "what was asked and answered so far is too long, or the "
                              "parameters of the request are too many");
    if (r == 0)
        r = answer->body.status;
    if (r < 0)
        return mcpi_error_set(err, r, "%s", mcp_status_text(r));
    answer->type = "input_required";
    return 0;
}

/* ---- the retry ---------------------------------------------------------- */

/* What was sealed is ours: what it has is what we wrote. */
static struct mcpi_asked *
asked_read(struct mcpi_asking *asking, struct mcpi_list *list, mcp_doc *doc,
           const mcp_json_iterator *it)
{
    enum mcpi_asked_kind kind = (enum mcpi_asked_kind)mcp_json_int(
        mcp_json_get(it->value, "kind"), 0);
    struct mcpi_asked *asked = mcpi_asked_new(asking->mem, kind,
                                              mcp_json_string(it->key, ""), NULL);

    if (!asked)
        return NULL;
    asked->asking = asking;
    asked->from = mcp_doc_ref(doc);
    asked->schema = mcp_json_get(it->value, "schema");
    mcpi_list_append(list, &asked->node);
    return asked;
}

static int
answers_read(struct mcpi_asking *asking, mcp_doc *doc)
{
    mcp_json_iterator it = mcp_json_each(mcp_json_get(mcp_doc_root(doc), "answers"));
    struct mcpi_asked *asked;

    while (mcp_json_next(&it)) {
        asked = asked_read(asking, &asking->answered, doc, &it);
        if (!asked)
            return MCP_E_NOMEM;
        asked->doc = mcp_doc_ref(doc);
        asked->answer = mcp_json_get(it.value, "value");
    }
    return 0;
}

/* What is not answered is not there: the handler asks again. */
static int
asked_take(struct mcpi_asking *asking, mcp_doc *doc, const mcp_json_iterator *it,
           const mcp_request *req, mcp_error *err)
{
    const mcp_json *responses = mcp_json_get(req->x->rpc.params, "inputResponses");
    const char *key = mcp_json_string(it->key, "");
    const mcp_json *answer = mcp_json_get(responses, key);
    struct mcpi_asked *asked;

    if (!answer)
        return 0;
    asked = asked_read(asking, &asking->answered, doc, it);
    return asked ? answer_take(req, asked, answer, err) : MCP_E_NOMEM;
}

static int
asking_read(struct mcpi_asking *asking, mcp_doc *doc, const mcp_request *req,
            mcp_error *err)
{
    const mcp_json *root = mcp_doc_root(doc);
    mcp_json_iterator it = mcp_json_each(mcp_json_get(root, "asked"));
    const char *state = mcp_json_string(mcp_json_get(root, "state"), "");
    int r;

    asking->rounds = (unsigned)mcp_json_int(mcp_json_get(root, "round"), 0);
    r = answers_read(asking, doc);
    while (r == 0 && mcp_json_next(&it))
        r = asked_take(asking, doc, &it, req, err);
    if (r == 0 && state[0])
        r = mcpi_asking_keep(asking, state);
    return r;
}

static int
state_open(const mcp_request *req, const mcp_json *state, mcp_doc **ret_doc)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = req->host->mem);
    struct mcpi_seal seal = seal_of(req);
    struct mcpi_buf text;
    int r;

    mcpi_buf_init(&text, req->host->mem, MCPI_SEAL_MAX);
    r = mcpi_seal_open(&seal, mcpi_seal_now_ms(), mcp_json_string(state, ""),
                       mcp_json_string_length(state), &text);
    if (r == 0)
        r = mcp_doc_parse(text.data, text.len, &opt, ret_doc, NULL);
    mcpi_buf_done(&text);
    return r;
}

static int
state_fault(int status, mcp_error *err)
{
    if (status == MCP_E_NOMEM)
        return status;
    return mcpi_error_set(err, MCP_E_INVAL,
                          status == MCP_E_TIMEOUT
                              ? "requestState has expired: begin again without it"
                              : "requestState is not one of ours for this request");
}

static int
round_read(mcp_request *req, const mcp_json *state, mcp_error *err)
{
    mcp_doc *doc = NULL;
    int r;

    r = state_open(req, state, &doc);
    if (r < 0)
        return state_fault(r, err);
    req->asking = mcpi_asking_new(req->host->mem);
    r = req->asking ? asking_read(req->asking, doc, req, err) : MCP_E_NOMEM;
    mcp_doc_free(doc);
    return r;
}

int
mcpi_round_open(mcp_request *req, mcp_error *err)
{
    const mcp_json *params = req->x->rpc.params;
    const mcp_json *state = mcp_json_get(params, "requestState");
    const mcp_json *responses = mcp_json_get(params, "inputResponses");

    if (!req->server || !req->handler || !req->x->caller.dialect->modern ||
        !mcpi_method_may_ask(req->x->rpc.method))
        return 0;
    if (responses && (mcp_json_get_type(responses) != MCP_JSON_OBJECT ||
                      mcpi_json_has_duplicates(responses)))
        return mcpi_error_set(err, MCP_E_INVAL,
                              "inputResponses must be an object, each key once");
    if (mcp_json_count(responses) > MCPI_ROUND_ANSWERS_MAX)
        return mcpi_error_set(err, MCP_E_INVAL,
                              "inputResponses has more than %d members",
                              MCPI_ROUND_ANSWERS_MAX);
    if (!state)
        return 0;
    if (mcp_json_get_type(state) != MCP_JSON_STRING)
        return mcpi_error_set(err, MCP_E_INVAL, "requestState must be a string");
    return round_read(req, state, err);
}
