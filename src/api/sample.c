/* sample.c - a handler asks the client's model */
#include <mcp/client.h>
#include <string.h>

#include "api/inquiry.h"
#include "api/offer.h"
#include "api/question.h"
#include "base/mem.h"

static const char *
sample_fault(const mcp_sample *question)
{
    if (!question->text == !question->messages)
        return "it must have one of text and messages";
    if (question->max_tokens <= 0)
        return "max_tokens must be above 0";
    if ((question->text && !mcpi_text_fits(question->text)) ||
        (question->system_prompt && !mcpi_text_fits(question->system_prompt)))
        return "its text is not UTF-8";
    return NULL;
}

/* A JSON text of the program's as member `key` of what is open. */
static int
value_write(mcp_builder *b, const mcp_request *req, const char *key, const char *text)
{
    const mcp_json_options opt = MCP_JSON_OPTIONS(.allocator = req->host->mem,
                                                  .unique_keys = true);
    mcp_doc *doc;
    int r;

    if (!text)
        return 0;
    r = mcp_doc_parse(text, strlen(text), &opt, &doc, NULL);
    if (r < 0)
        return r == MCP_E_NOMEM ? r : MCP_E_INVAL;
    mcp_builder_value(b, key, mcp_doc_root(doc));
    mcp_doc_free(doc);
    return 0;
}

/* One message of the user's. */
static void
text_write(mcp_builder *b, const char *text)
{
    mcp_builder_begin_array(b, "messages");
    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "role", "user");
    mcp_builder_begin_object(b, "content");
    mcp_builder_string(b, "type", "text");
    mcp_builder_string(b, "text", text);
    mcp_builder_end(b);
    mcp_builder_end(b);
    mcp_builder_end(b);
}

/* Other members, which must not be those that have a place of their own. */
static int
more_write(mcp_builder *b, const mcp_request *req, const char *text)
{
    static const char *const own[] = {"messages", "systemPrompt", "maxTokens", "tools",
                                      "_meta"};
    mcp_json_iterator it;
    mcp_doc *doc = NULL;
    int r;

    r = text ? mcpi_object_parse(req->host->mem, text, "more", &doc, NULL) : 0;
    for (size_t i = 0; r == 0 && i < sizeof(own) / sizeof(own[0]); i++) {
        if (mcp_json_get(mcp_doc_root(doc), own[i]))
            r = MCP_E_INVAL;
    }
    for (it = mcp_json_each(mcp_doc_root(doc)); r == 0 && mcp_json_next(&it);)
        mcp_builder_value(b, mcp_json_string(it.key, ""), it.value);
    mcp_doc_free(doc);
    return r;
}

static int
sample_build(const mcp_request *req, const mcp_sample *question, mcp_doc **ret_doc)
{
    mcp_builder *b = mcp_builder_new(req->host->mem);
    int r = 0;

    mcp_builder_begin_object(b, NULL);
    if (question->text)
        text_write(b, question->text);
    else
        r = value_write(b, req, "messages", question->messages);
    if (question->system_prompt)
        mcp_builder_string(b, "systemPrompt", question->system_prompt);
    mcp_builder_int(b, "maxTokens", question->max_tokens);
    if (r == 0)
        r = value_write(b, req, "tools", question->tools);
    if (r == 0)
        r = more_write(b, req, question->more);
    mcp_builder_end(b);
    if (r == 0)
        return mcpi_question_finish(b, ret_doc);
    mcp_builder_free(b);
    return r;
}

static int
sample_ask(mcp_request *req, const char *key, mcp_doc *take_doc)
{
    const mcp_json *params = mcp_doc_root(take_doc);
    struct mcpi_refusal why = {0};
    unsigned missing;
    int r = 0;

    if (mcpi_inquiry_sample(params, MCP_ABLE_SAMPLE_TOOLS, &why) < 0)
        r = mcpi_question_fault(req, key, why.message);
    missing = mcpi_request_cannot_ask(req, mcpi_sample_needs(params));
    if (r == 0 && missing != 0)
        r = mcpi_request_refuse_ask(req, missing);
    if (r == 0)
        return mcpi_question_ask(req, MCPI_ASKED_SAMPLE, key, take_doc);
    mcp_doc_free(take_doc);
    return r;
}

static int
sample_read(mcp_request *req, const char *key, const mcp_sample *given,
            mcp_sample *ret_question)
{
    const char *fault;
    int r;

    r = mcpi_question_check(req, key);
    if (r < 0)
        return r;
    if (!given || mcpi_options_read(ret_question, sizeof(*ret_question), given) < 0)
        return mcpi_question_fault(req, key, "this is no question");
    fault = sample_fault(ret_question);
    return fault ? mcpi_question_fault(req, key, fault) : 0;
}

static int
sample_start(mcp_request *req, const char *key, const mcp_sample *question)
{
    mcp_doc *doc = NULL;
    int r;

    r = sample_build(req, question, &doc);
    if (r == MCP_E_INVAL)
        return mcpi_question_fault(req, key,
                                   "messages, tools or more is not what it is");
    return r < 0 ? r : sample_ask(req, key, doc);
}

int
mcp_request_sample(mcp_request *req, const char *key, const mcp_sample *given)
{
    mcp_sample question = {0};
    int r;

    r = sample_read(req, key, given, &question);
    if (r == 0 && !mcp_request_answer(req, key))
        r = sample_start(req, key, &question);
    return mcpi_question_outcome(req, r);
}
