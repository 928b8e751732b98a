/*
 * asking.h - a server in this process whose one tool asks its client something, and a
 * client that answers at a desk
 */
#ifndef TESTS_CLI_ASKING_H
#define TESTS_CLI_ASKING_H

#include <mcp/ask.h>
#include <mcp/server.h>

#include "cli/ask.h"
#include "cli/desk.h"

struct asking {
    struct desk desk;
    mcp_server *server;
    mcp_client *client;
    mcp_call *call;
    mcp_elicit elicit; /* what is asked: this, or */
    mcp_sample sample; /* this, if it has messages */
};

/* The tool: its text is the whole answer, as JSON. */
static inline int
asking_run(mcp_request *req, mcp_result *out, void *user)
{
    struct asking *asking = user;
    const mcp_json *answer = mcp_request_answer(req, "q");
    char *text;
    int r;

    if (!answer && asking->sample.size > 0)
        return mcp_request_sample(req, "q", &asking->sample);
    if (!answer)
        return mcp_request_elicit(req, "q", &asking->elicit);
    if (mcp_json_print(answer, false, NULL, &text, NULL) < 0)
        return MCP_E_NOMEM;
    r = mcp_result_text(out, text);
    mcp_text_free(text, NULL);
    return r;
}

static inline void
asking_open(struct asking *asking, enum mcp_era era, bool may_ask)
{
    mcp_client_options opt = MCP_CLIENT_OPTIONS(.name = "c", .version = "1",
                                                .era = era);

    desk_open(&asking->desk);
    asking->desk.cli.may_ask = may_ask;
    cli_ask_offer(&asking->desk.cli, &opt);
    assert_int_equal(mcp_server_new(&MCP_SERVER_OPTIONS(.name = "s", .version = "1"),
                                    &asking->server, NULL),
                     0);
    assert_int_equal(
        mcp_server_add_tool(asking->server,
                            &MCP_TOOL(.name = "ask", .run = asking_run, .user = asking),
                            NULL),
        0);
    assert_int_equal(mcp_server_start(asking->server, NULL), 0);
    assert_int_equal(
        mcp_client_attach_server(asking->server, &opt, &asking->client, NULL), 0);
}

static inline void
asking_close(struct asking *asking)
{
    mcp_call_free(asking->call);
    mcp_client_free(asking->client);
    mcp_server_free(asking->server);
    desk_close(&asking->desk);
}

/* Calls the tool; it asks. */
static inline void
asking_start(struct asking *asking)
{
    assert_int_equal(mcp_client_start_tool(asking->client, "ask", NULL, NULL, NULL,
                                           NULL, &asking->call),
                     0);
}

/* Waits for its end, which is this status, and compares the answer; ' is ". */
static inline void
asking_ends(struct asking *asking, int status, const char *answer)
{
    mcp_reply *reply = NULL;
    mcp_doc *wanted, *got = NULL;
    const char *text;

    assert_int_equal(mcp_call_wait(asking->call, 50000, &reply, NULL), status);
    if (answer) {
        wanted = desk_json(answer);
        text = mcp_reply_text(reply);
        assert_int_equal(mcp_doc_parse(text, strlen(text), NULL, &got, NULL), 0);
        if (!mcp_json_equal(mcp_doc_root(wanted), mcp_doc_root(got)))
            fail_msg("%s is not %s", text, answer);
        mcp_doc_free(wanted);
        mcp_doc_free(got);
    }
    mcp_reply_free(reply);
}

/* Type, call, and compare. */
static inline void
asking_gives(struct asking *asking, const char *typed, const char *answer)
{
    desk_type(&asking->desk, typed);
    asking_start(asking);
    asking_ends(asking, 0, answer);
    mcp_call_free(asking->call);
    asking->call = NULL;
}

#endif
