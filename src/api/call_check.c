/*
 * call_check.c - the output of a tool, checked against what the tool has promised
 *
 * What was promised stands in the list of tools. If it is not known, the pages of that
 * list are further legs of the same call, so that its cancel and its total time cover
 * them; what they say is kept by the client. A list that cannot be had is no reason to
 * lose an answer that is there.
 *
 * The check itself runs on the call's lane, before `done`: it may take long, and more
 * stack than the loop should spend on it. Then it comes home to the loop, where the
 * call ends. What ends the call meanwhile is faster, and the verdict is dropped. So are
 * the clocks of the call: all workers may be busy with callbacks that block.
 */
#include <string.h>

#include "api/call.h"
#include "api/promise.h"
#include "base/mem.h"

static int64_t
call_now(const mcp_call *call)
{
    return mcpi_loop_now(call->client->host.inside);
}

static uint64_t
list_version(const mcp_call *call)
{
    return mcpi_cache_changes(&call->client->cache, MCPI_METHOD_TOOLS_LIST);
}

static struct mcpi_promise *
promise_find(const mcp_call *call, bool *ret_all)
{
    return mcpi_promises_find(&call->client->promises, call->tool, list_version(call),
                              call_now(call), ret_all);
}

/* ---- the list ------------------------------------------------------------ */

/* Is this the output of a tool that did its job? */
static bool
is_output(const mcp_json *result)
{
    const mcp_json *type = mcp_json_get(result, "resultType");

    return (!type || mcp_json_is_string(type, "complete")) &&
           !mcp_json_bool(mcp_json_get(result, "isError"), false);
}

bool
mcpi_check_is_asking(const mcp_call *call)
{
    return call->output != NULL;
}

/* A server without structured output is not asked for a list that would say so. */
static bool
check_wants_list(const mcp_call *call, const mcp_json *result)
{
    bool all;

    return is_output(result) && mcp_json_get(result, "structuredContent") &&
           !promise_find(call, &all) && !all;
}

/* params of the next page; false: no memory. */
static bool
page_write(mcp_call *call, const mcp_json *cursor, struct mcpi_next_leg *next)
{
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, call->mem, call->client->max_bytes);
    MCPI_BUF_LITERAL(&buf, "{\"cursor\":");
    mcpi_json_write(&buf, cursor);
    mcpi_buf_char(&buf, '}');
    if (buf.status < 0) {
        mcpi_buf_done(&buf);
        return false;
    }
    mcpi_free(call->mem, call->page);
    call->page = buf.data;
    call->page_at = mcpi_mirrors_page(&call->client->mirrors,
                                      mcp_json_string(cursor, ""),
                                      mcp_json_string_length(cursor));
    next->params = buf.data;
    next->params_len = buf.len;
    return true;
}

void
mcpi_check_first_page(mcp_call *call, struct mcpi_next_leg *next)
{
    next->method = mcpi_method_name(MCPI_METHOD_TOOLS_LIST);
    call->asked = list_version(call);
    call->page_at = MCPI_MIRRORS_FIRST;
    call->pages = 1;
}

int
mcpi_check_learn(mcp_call *call, const mcp_json *result)
{
    struct mcp_client *client = call->client;
    size_t unfit;

    if (!client->opt.no_output_check && call->asked == list_version(call))
        mcpi_promises_learn(&client->promises, result, call->pages == 1, call->asked,
                            call_now(call));
    if (!mcpi_handle_has_headers(call))
        return 0;
    return mcpi_mirrors_learn(&client->mirrors, result, call->page_at,
                              &client->host.log, &unfit);
}

static bool
page_is_last(const mcp_call *call, const mcp_json *result)
{
    const mcp_json *cursor = mcp_json_get(result, "nextCursor");

    return mcp_json_get_type(cursor) != MCP_JSON_STRING ||
           call->pages >= MCPI_CHECK_PAGES_MAX;
}

bool
mcpi_check_next_page(mcp_call *call, const mcp_json *result, struct mcpi_next_leg *next)
{
    next->method = mcpi_method_name(MCPI_METHOD_TOOLS_LIST);
    if (page_is_last(call, result) ||
        !page_write(call, mcp_json_get(result, "nextCursor"), next))
        return false;
    call->pages++;
    return true;
}

static bool
check_read_page(mcp_call *call, const mcp_json *result, struct mcpi_next_leg *next)
{
    (void)mcpi_check_learn(call, result); /* nobody is shown this page */
    if (call->asked != list_version(call))
        return false; /* it changes while it is read */
    if (page_is_last(call, result))
        mcpi_promises_close(&call->client->promises, call->asked);
    return mcpi_check_next_page(call, result, next);
}

bool
mcpi_check_more(mcp_call *call, int status, const struct mcpi_rpc *answer,
                struct mcpi_next_leg *next)
{
    if (!call->tool || status < 0)
        return false;
    if (call->output)
        return check_read_page(call, answer->result, next);
    if (!check_wants_list(call, answer->result))
        return false;
    call->output = mcp_doc_ref(answer->doc);
    mcpi_check_first_page(call, next);
    return true;
}

/* ---- the check ----------------------------------------------------------- */

static const mcp_json *
output_result(const mcp_call *call)
{
    return mcp_json_get(mcp_doc_root(call->output), "result");
}

/* The answer is what the call ends with. */
static void
check_end(mcp_call *call, int status)
{
    struct mcpi_rpc answer = {.kind = MCPI_RPC_RESULT, .doc = call->output};

    call->output = NULL;
    mcpi_handle_end(call, status, &answer); /* may be the last of the call */
    mcp_doc_free(answer.doc);
}

static void
check_come_home(struct mcpi_post *post)
{
    mcp_call *call = MCPI_CONTAINER(post, mcp_call, checked);

    pthread_mutex_lock(&call->lock);
    call->check_out = false;
    pthread_mutex_unlock(&call->lock);
    if (call->verdict < 0) /* maybe the list is old: ask for it the next time */
        mcpi_promises_forget(&call->client->promises);
    if (call->is_over)
        mcpi_handle_settle(call);
    else
        check_end(call, call->verdict);
}

/* On the lane. Nobody looks at the error before the call has ended with that status. */
static void
check_run(struct mcpi_post *post)
{
    mcp_call *call = MCPI_CONTAINER(post, mcp_call, check);

    call->verdict = mcpi_promise_check(call->promise, output_result(call),
                                       &call->client->host.log, &call->error);
    mcpi_loop_post(call->client->host.inside, &call->checked);
}

static void
check_expired(struct mcpi_timer *timer, int64_t now)
{
    mcp_call *call = MCPI_CONTAINER(timer, mcp_call, patience);

    (void)now;
    mcpi_handle_end(call, call->impatience, NULL);
}

/* As long as the server may take for an answer, and no longer than the total. */
static void
check_start_clock(mcp_call *call)
{
    const struct mcp_client *client = call->client;
    int64_t idle = call->timeout_us ? call->timeout_us : client->timeout_us;
    int64_t total = call->total_us;
    int64_t until = mcpi_time_add(call_now(call), idle > 0 ? idle : 0);

    if (total == MCPI_TIMEOUT_DEFAULT)
        total = call->reset_on_progress ? client->host.engine->times.ceiling
                                        : MCPI_NEVER;
    total = mcpi_time_add(call->begun, total > 0 ? total : 0);
    call->impatience = total < until ? MCP_E_TOTAL_TIMEOUT : MCP_E_TIMEOUT;
    mcpi_timer_init(&call->patience, check_expired);
    mcpi_timer_arm(mcpi_loop_timers(client->host.inside), &call->patience,
                   total < until ? total : until);
}

void
mcpi_check_leave(mcp_call *call)
{
    if (call->promise)
        mcpi_timer_disarm(mcpi_loop_timers(call->client->host.inside), &call->patience);
}

/* False: nothing was promised. */
static bool
check_begin(mcp_call *call)
{
    struct mcpi_promise *promise;
    bool all;

    promise = is_output(output_result(call)) ? promise_find(call, &all) : NULL;
    if (!promise || !promise->text)
        return false;
    call->promise = mcpi_promise_ref(promise);
    mcpi_call_release(call->core); /* answered: it has nothing more to say */
    call->core = NULL;
    call->check.fn = check_run;
    call->checked.fn = check_come_home;
    check_start_clock(call);
    pthread_mutex_lock(&call->lock);
    call->check_out = true;
    pthread_mutex_unlock(&call->lock);
    mcpi_lane_add(&call->lane, &call->check);
    return true;
}

/* The list was asked for, and came, and yet nothing is known: it has changed, or become
 * stale, while it was read. */
static bool
check_read_in_vain(const mcp_call *call)
{
    bool all;

    return call->pages > 0 && !promise_find(call, &all) && !all;
}

/* These end the call, whatever it is at; all else is only the list's. */
static bool
ends_the_call(int status)
{
    return status == MCP_E_CANCELED || status == MCP_E_TOTAL_TIMEOUT;
}

void
mcpi_check_end(mcp_call *call, int status, const struct mcpi_rpc *answer)
{
    if (!call->output && status == 0)
        call->output = mcp_doc_ref(answer->doc);
    else if (call->output && status < 0 && !ends_the_call(status))
        MCPI_LOG(
            &call->client->host.log, MCP_LOG_WARNING,
            "the output of tool %s is not checked: no list of tools: %s", call->tool,
            status == MCP_E_PEER ? answer->error_message : mcp_status_text(status));
    else if (call->output && status == 0 && check_read_in_vain(call))
        MCPI_LOG(&call->client->host.log, MCP_LOG_WARNING,
                 "the output of tool %s is not checked: the list of tools changes",
                 call->tool);
    if (!call->output || ends_the_call(status))
        mcpi_handle_end(call, status, answer);
    else if (!check_begin(call))
        check_end(call, 0);
}

void
mcpi_check_done(mcp_call *call)
{
    mcp_doc_free(call->output);
    mcpi_promise_unref(call->promise);
    mcpi_free(call->mem, call->page);
}
