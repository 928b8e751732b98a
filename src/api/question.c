/*
 * question.c - a handler's questions: what they must be, and who can be asked them
 *
 * A client must not be asked what it has not said that it knows (2026-07-28,
 * basic/patterns/mrtr, and 2025-11-25, basic/lifecycle), and what a version does not
 * know is not sent to who speaks it. What is wrong with a question is looked for first,
 * so that a program hears of its mistake whatever its client is.
 */
#include "api/question.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "core/versions.h"

/* ---- what a client can be asked ----------------------------------------- */

static bool
has_object(const mcp_json *object, const char *key)
{
    return mcp_json_get_type(mcp_json_get(object, key)) == MCP_JSON_OBJECT;
}

bool
mcpi_request_speaks(const mcp_request *req, const char *version)
{
    return !mcpi_version_is_before(req->x->caller.version, version);
}

/* One that names no mode knows forms (client/elicitation, Capabilities). */
static bool
knows_forms(const mcp_json *elicitation)
{
    return has_object(elicitation, "form") || !has_object(elicitation, "url");
}

/* Before there was a word for it, everybody did who knows sampling. */
static bool
knows_context(const mcp_request *req, const mcp_json *able)
{
    return !mcpi_request_speaks(req, MCPI_VERSION_MODES) ||
           has_object(mcp_json_get(able, "sampling"), "context");
}

static bool
can_ask_one(const mcp_request *req, enum mcp_ask what)
{
    const mcp_json *able = req->x->caller.capabilities;
    const mcp_json *elicitation = mcp_json_get(able, "elicitation");

    switch (what) {
    case MCP_ASK_FORM:
        return mcpi_request_speaks(req, MCPI_VERSION_FORMS) &&
               has_object(able, "elicitation") && knows_forms(elicitation);
    case MCP_ASK_URL:
        return mcpi_request_speaks(req, MCPI_VERSION_MODES) &&
               has_object(elicitation, "url");
    case MCP_ASK_SAMPLE:
        return has_object(able, "sampling");
    case MCP_ASK_SAMPLE_TOOLS:
        return mcpi_request_speaks(req, MCPI_VERSION_MODES) &&
               has_object(mcp_json_get(able, "sampling"), "tools");
    case MCP_ASK_SAMPLE_CONTEXT:
        return has_object(able, "sampling") && knows_context(req, able);
    case MCP_ASK_ROOTS:
        return has_object(able, "roots");
    default:
        return false;
    }
}

unsigned
mcpi_request_cannot_ask(const mcp_request *req, unsigned what)
{
    unsigned missing = 0;

    for (unsigned one = 1; one != 0 && one <= what; one <<= 1) {
        if ((what & one) && !can_ask_one(req, (enum mcp_ask)one))
            missing |= one;
    }
    return missing;
}

unsigned
mcpi_sample_needs(const mcp_json *params)
{
    const mcp_json *context = mcp_json_get(params, "includeContext");
    unsigned what = MCP_ASK_SAMPLE;

    if (mcp_json_get(params, "tools") || mcp_json_get(params, "toolChoice"))
        what |= MCP_ASK_SAMPLE_TOOLS;
    if (context && !mcp_json_is_string(context, "none"))
        what |= MCP_ASK_SAMPLE_CONTEXT;
    return what;
}

/* May it ask at all, and still? */
static int
request_may_ask(const mcp_request *req)
{
    if (!req->server || !req->handler || !mcpi_method_may_ask(req->x->rpc.method) ||
        mcpi_host_guard(req->host) < 0 || atomic_load(&req->over))
        return MCP_E_STATE;
    if (!req->x->caller.askable)
        return MCP_E_NO_CHANNEL;
    return mcp_request_is_canceled(req) ? MCP_E_CANCELED : 0;
}

/* Its handler may; a middleware may not, because it is not asked again when the answer
 * is there. */
static int
handler_may_ask(const mcp_request *req)
{
    int r = request_may_ask(req);

    return r == 0 && !req->entered ? MCP_E_STATE : r;
}

bool
mcp_request_can_ask(const mcp_request *req, unsigned what)
{
    return req && request_may_ask(req) == 0 && mcpi_request_cannot_ask(req, what) == 0;
}

static const struct lack {
    enum mcp_ask what;
    const char *name, *data;
} lacks[] = {
    {MCP_ASK_FORM, "elicitation.form", "{\"elicitation\":{\"form\":{}}}"},
    {MCP_ASK_URL, "elicitation.url", "{\"elicitation\":{\"url\":{}}}"},
    {MCP_ASK_SAMPLE, "sampling", "{\"sampling\":{}}"},
    {MCP_ASK_SAMPLE_TOOLS, "sampling.tools", "{\"sampling\":{\"tools\":{}}}"},
    {MCP_ASK_SAMPLE_CONTEXT, "sampling.context", "{\"sampling\":{\"context\":{}}}"},
    {MCP_ASK_ROOTS, "roots", "{\"roots\":{}}"},
};

static const struct lack *
lack_find(unsigned missing)
{
    size_t i = 0;

    while (i + 1 < sizeof(lacks) / sizeof(lacks[0]) && !(lacks[i].what & missing))
        i++;
    return &lacks[i];
}

int
mcpi_request_refuse_ask(mcp_request *req, unsigned missing)
{
    const struct lack *lack = lack_find(missing);
    char data[96];

    snprintf(data, sizeof(data), "{\"requiredCapabilities\":%s}", lack->data);
    return mcp_request_fail(req, MCPI_RPC_MISSING_CAPABILITY, data,
                            "Missing required client capability: %s", lack->name);
}

int
mcpi_ask_missing_error(unsigned missing, mcp_error *err)
{
    int r = mcpi_error_set(err, MCP_E_PEER, "the client cannot be asked that: no %s",
                           lack_find(missing)->name);

    if (err)
        err->rpc_code = MCPI_RPC_MISSING_CAPABILITY;
    return r;
}

/* ---- asking ------------------------------------------------------------- */

bool
mcpi_text_fits(const char *text)
{
    return mcpi_utf8_valid(text, strlen(text));
}

int
mcpi_question_fault(const mcp_request *req, const char *key, const char *why)
{
    MCPI_LOG(&req->host->log, MCP_LOG_WARNING, "the question \"%.64s\": %s", key, why);
    return MCP_E_INVAL;
}

int
mcpi_question_check(mcp_request *req, const char *key)
{
    size_t len;
    int r;

    if (!req || !key)
        return MCP_E_INVAL;
    r = handler_may_ask(req);
    if (r < 0)
        return r;
    len = strlen(key);
    if (len == 0 || len > MCPI_ASKED_KEY_MAX || !mcpi_text_fits(key))
        return mcpi_question_fault(req, "", "its key is empty, too long or not UTF-8");
    return 0;
}

/* Under the request's lock. */
static int
asking_add(struct mcpi_asking *asking, struct mcpi_asked *asked)
{
    if (mcpi_asked_find(&asking->asked, asked->key))
        return MCP_E_INVAL;
    if (asking->rounds >= MCPI_ASKING_ROUNDS_MAX ||
        asking->questions >= MCPI_ROUND_ANSWERS_MAX)
        return MCP_E_LIMIT;
    asking->questions++;
    asked->asking = asking;
    mcpi_list_append(&asking->asked, &asked->node);
    return 0;
}

int
mcpi_question_ask(mcp_request *req, enum mcpi_asked_kind kind, const char *key,
                  mcp_doc *take_doc)
{
    struct mcpi_asking *asking = mcpi_asking_get(req);
    struct mcpi_asked *asked = NULL;
    int r;

    if (asking)
        asked = mcpi_asked_new(req->host->mem, kind, key, take_doc);
    if (!asked) {
        mcp_doc_free(take_doc);
        return MCP_E_NOMEM;
    }
    pthread_mutex_lock(mcpi_request_lock(req));
    r = asking_add(asking, asked);
    pthread_mutex_unlock(mcpi_request_lock(req));
    if (r == 0)
        return MCP_E_INPUT;
    mcpi_asked_free(req->host->mem, asked);
    return r == MCP_E_INVAL ? mcpi_question_fault(req, key, "was asked before") : r;
}

/* That a middleware may not ask is no failure of the handler's. */
int
mcpi_question_outcome(mcp_request *req, int status)
{
    if (!req || !req->entered)
        return status;
    pthread_mutex_lock(mcpi_request_lock(req));
    if (req->ask_fault == 0 && status != MCP_E_INPUT)
        req->ask_fault = status;
    status = req->ask_fault;
    if (status == 0 && req->asking && !mcpi_list_empty(&req->asking->asked))
        status = MCP_E_INPUT;
    pthread_mutex_unlock(mcpi_request_lock(req));
    return status;
}

int
mcpi_question_finish(mcp_builder *take_b, mcp_doc **ret_doc)
{
    int r = mcp_builder_status(take_b);

    if (r == 0)
        r = mcp_builder_parse(take_b, ret_doc);
    mcp_builder_free(take_b);
    return r;
}

/* ---- roots -------------------------------------------------------------- */

static int
roots_ask(mcp_request *req, const char *key)
{
    int r;

    r = mcpi_question_check(req, key);
    if (r < 0 || mcp_request_answer(req, key))
        return r;
    if (mcpi_request_cannot_ask(req, MCP_ASK_ROOTS) != 0)
        return mcpi_request_refuse_ask(req, MCP_ASK_ROOTS);
    return mcpi_question_ask(req, MCPI_ASKED_ROOTS, key, NULL);
}

int
mcp_request_roots(mcp_request *req, const char *key)
{
    return mcpi_question_outcome(req, roots_ask(req, key));
}

/* ---- between the rounds ------------------------------------------------- */

const char *
mcp_request_state(const mcp_request *req)
{
    mcp_request *own = (mcp_request *)(uintptr_t)req; /* for its lock */
    const char *text;

    if (!req)
        return "";
    pthread_mutex_lock(mcpi_request_lock(own));
    text = req->asking ? mcpi_asking_kept(req->asking) : "";
    pthread_mutex_unlock(mcpi_request_lock(own));
    return text;
}

int
mcp_request_set_state(mcp_request *req, const char *text)
{
    struct mcpi_asking *asking;
    int r;

    if (!req || !text || !mcpi_text_fits(text))
        return MCP_E_INVAL;
    r = handler_may_ask(req);
    if (r < 0)
        return r;
    if (strlen(text) > MCPI_ASKING_STATE_MAX)
        return MCP_E_LIMIT;
    asking = mcpi_asking_get(req);
    if (!asking)
        return MCP_E_NOMEM;
    pthread_mutex_lock(mcpi_request_lock(req));
    r = mcpi_asking_keep(asking, text);
    pthread_mutex_unlock(mcpi_request_lock(req));
    return r;
}
