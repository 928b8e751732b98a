/* elicit.c - a handler asks the client's user: by a form, or by a URL to go to */
#include <stdio.h>
#include <string.h>

#include "api/offer.h"
#include "api/question.h"
#include "base/mem.h"
#include "run/random.h"
#include "json/schema_format.h"

#define ID_BYTES 16 /* of an elicitation id that is ours: as in a UUID */

/* ---- elicitation: forms ------------------------------------------------- */

static int
form_from_fields(const mcp_request *req, const char *key, const mcp_field *table,
                 mcp_doc **ret_form)
{
    const mcp_fields_options opt = MCP_FIELDS_OPTIONS(.allocator = req->host->mem);
    mcp_error why = {0};
    mcp_fields *fields;
    mcp_builder *b;
    int r;

    r = mcp_fields_new(table, &opt, &fields, &why);
    if (r < 0)
        return r == MCP_E_NOMEM ? r : mcpi_question_fault(req, key, why.message);
    b = mcp_builder_new(req->host->mem);
    mcp_fields_write_schema(fields, b, NULL);
    mcp_fields_free(fields);
    return mcpi_question_finish(b, ret_form);
}

/* A form is flat, so the checker of forms says more than the compiler of schemas; what
 * the answer must fit has to compile all the same. */
static int
form_check(const mcp_request *req, const char *key, const mcp_json *form)
{
    const mcp_schema_options opt = MCP_SCHEMA_OPTIONS(.allocator = req->host->mem,
                                                      .assert_formats = true);
    mcp_schema *schema = NULL;
    mcp_error why = {0};
    int r;

    r = mcp_schema_check_form(form, &why);
    if (r == 0)
        r = mcp_schema_compile(form, &opt, &schema, &why);
    mcp_schema_free(schema);
    if (r == 0 || r == MCP_E_NOMEM)
        return r;
    return mcpi_question_fault(req, key, why.message);
}

static int
form_read(const mcp_request *req, const char *key, const mcp_elicit *question,
          mcp_doc **ret_form)
{
    mcp_error why = {0};
    mcp_doc *form = NULL;
    int r;

    if (question->fields) {
        r = form_from_fields(req, key, question->fields, &form);
    } else {
        r = mcpi_object_parse(req->host->mem, question->schema, "schema", &form, &why);
        if (r == MCP_E_INVAL)
            r = mcpi_question_fault(req, key, why.message);
    }
    if (r < 0)
        return r;
    r = form_check(req, key, mcp_doc_root(form));
    if (r < 0)
        mcp_doc_free(form);
    else
        *ret_form = form;
    return r;
}

/* A choice of several, and one whose values have titles, came with 2025-11-25. */
static bool
form_is_known(const mcp_request *req, const mcp_json *form)
{
    mcp_json_iterator it = mcp_json_each(mcp_json_get(form, "properties"));

    if (mcpi_request_speaks(req, MCPI_VERSION_MODES))
        return true;
    while (mcp_json_next(&it)) {
        if (mcp_json_is_string(mcp_json_get(it.value, "type"), "array") ||
            mcp_json_get(it.value, "oneOf"))
            return false;
    }
    return true;
}

static int
elicit_form(mcp_request *req, const char *key, const mcp_elicit *question)
{
    mcp_doc *form, *doc = NULL;
    mcp_builder *b;
    int r;

    r = form_read(req, key, question, &form);
    if (r < 0)
        return r;
    if (mcpi_request_cannot_ask(req, MCP_ASK_FORM) != 0 ||
        !form_is_known(req, mcp_doc_root(form))) {
        mcp_doc_free(form);
        return mcpi_request_refuse_ask(req, MCP_ASK_FORM);
    }
    b = mcp_builder_new(req->host->mem);
    mcp_builder_begin_object(b, NULL);
    if (mcpi_request_speaks(req, MCPI_VERSION_MODES))
        mcp_builder_string(b, "mode", "form");
    mcp_builder_string(b, "message", question->message);
    mcp_builder_value(b, "requestedSchema", mcp_doc_root(form));
    mcp_builder_end(b);
    mcp_doc_free(form);
    r = mcpi_question_finish(b, &doc);
    return r < 0 ? r : mcpi_question_ask(req, MCPI_ASKED_FORM, key, doc);
}

/* ---- elicitation: URLs -------------------------------------------------- */

/* 32 hexadecimal digits that nobody can guess. */
static int
id_make(char into[2 * ID_BYTES + 1])
{
    unsigned char bytes[ID_BYTES];
    int r = mcpi_random(bytes, sizeof(bytes));

    for (size_t i = 0; r == 0 && i < sizeof(bytes); i++)
        snprintf(into + 2 * i, 3, "%02x", bytes[i]);
    return r;
}

/* {"mode":"url",...}, in what is open in b. */
static void
url_write(mcp_builder *b, const mcp_elicit *question, const char *id)
{
    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "mode", "url");
    mcp_builder_string(b, "message", question->message);
    if (id)
        mcp_builder_string(b, "elicitationId", id);
    mcp_builder_string(b, "url", question->url);
    mcp_builder_end(b);
}

/* Later versions know no id. */
static int
url_id(const mcp_request *req, const mcp_elicit *question, char made[2 * ID_BYTES + 1],
       const char **ret_id)
{
    *ret_id = question->id;
    if (req->x->caller.dialect->modern)
        *ret_id = NULL;
    else if (!question->id)
        *ret_id = made;
    return *ret_id == made ? id_make(made) : 0;
}

static int
elicit_url(mcp_request *req, const char *key, const mcp_elicit *question)
{
    char made[2 * ID_BYTES + 1];
    mcp_doc *doc = NULL;
    mcp_builder *b;
    const char *id;
    int r;

    if (mcpi_request_cannot_ask(req, MCP_ASK_URL) != 0)
        return mcpi_request_refuse_ask(req, MCP_ASK_URL);
    r = url_id(req, question, made, &id);
    if (r < 0)
        return r;
    b = mcp_builder_new(req->host->mem);
    url_write(b, question, id);
    r = mcpi_question_finish(b, &doc);
    return r < 0 ? r : mcpi_question_ask(req, MCPI_ASKED_URL, key, doc);
}

static bool
url_fits(const char *url)
{
    return mcpi_text_fits(url) && mcpi_schema_format_find("uri", 3)(url, strlen(url));
}

/* NULL: it is one. */
static const char *
elicit_fault(const mcp_elicit *question)
{
    if (!question->message || !mcpi_text_fits(question->message))
        return "its message is missing or not UTF-8";
    if (!!question->fields + !!question->schema + !!question->url != 1)
        return "it must have one of fields, schema and url";
    if (question->id && !question->url)
        return "only those with a url have an id";
    if (question->id && (!question->id[0] || !mcpi_text_fits(question->id)))
        return "its id is empty or not UTF-8";
    if (question->url && !url_fits(question->url))
        return "its url is no URL";
    return NULL;
}

static int
elicit_read(mcp_request *req, const char *key, const mcp_elicit *given,
            mcp_elicit *ret_question)
{
    const char *fault;
    int r;

    r = mcpi_question_check(req, key);
    if (r < 0)
        return r;
    if (!given || mcpi_options_read(ret_question, sizeof(*ret_question), given) < 0)
        return mcpi_question_fault(req, key, "this is no question");
    fault = elicit_fault(ret_question);
    return fault ? mcpi_question_fault(req, key, fault) : 0;
}

int
mcp_request_elicit(mcp_request *req, const char *key, const mcp_elicit *given)
{
    mcp_elicit question = {0};
    int r;

    r = elicit_read(req, key, given, &question);
    if (r == 0 && !mcp_request_answer(req, key))
        r = question.url ? elicit_url(req, key, &question)
                         : elicit_form(req, key, &question);
    return mcpi_question_outcome(req, r);
}

/* {"elicitations":[...]}: what URLElicitationRequiredError has. */
static int
fail_with_url(mcp_request *req, const mcp_elicit *question, const char *id)
{
    mcp_builder *b = mcp_builder_new(req->host->mem);
    int r;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_begin_array(b, "elicitations");
    url_write(b, question, id);
    mcp_builder_end(b);
    mcp_builder_end(b);
    r = mcp_builder_status(b);
    if (r == 0)
        r = mcp_request_fail(req, MCPI_RPC_URL_FIRST, mcp_builder_text(b, NULL),
                             "This request needs an elicitation first");
    mcp_builder_free(b);
    return r;
}

/* The user is somewhere else, and the client waits to hear of it. */
static int
elicit_first(mcp_request *req, const mcp_elicit *question)
{
    struct mcpi_asking *asking;
    char made[2 * ID_BYTES + 1];
    const char *id = question->id;
    char *kept;
    int r;

    if (mcpi_request_cannot_ask(req, MCP_ASK_URL) != 0)
        return mcpi_request_refuse_ask(req, MCP_ASK_URL);
    if (!id) {
        r = id_make(made);
        if (r < 0)
            return r;
        id = made;
    }
    asking = mcpi_asking_get(req);
    kept = asking ? mcpi_alloc(req->host->mem, strlen(id) + 1) : NULL;
    if (!kept)
        return MCP_E_NOMEM;
    memcpy(kept, id, strlen(id) + 1);
    pthread_mutex_lock(mcpi_request_lock(req));
    mcpi_free(req->host->mem, asking->first_id);
    asking->first_id = kept;
    pthread_mutex_unlock(mcpi_request_lock(req));
    return fail_with_url(req, question, id);
}

int
mcp_request_elicit_first(mcp_request *req, const char *key, const mcp_elicit *given)
{
    mcp_elicit question = {0};
    int r;

    r = elicit_read(req, key, given, &question);
    if (r == 0 && !question.url)
        r = mcpi_question_fault(req, key, "only a URL can be first");
    if (r == 0 && !mcp_request_answer(req, key))
        r = req->x->caller.dialect->modern ? elicit_url(req, key, &question)
                                           : elicit_first(req, &question);
    return mcpi_question_outcome(req, r);
}
