/* doctor_session_test.c - proves cli/doctor_session.c: what is declared and there */
#include <stdio.h>
#include <string.h>

#include <mcp/json.h>

#include "cli/doctor.h"
#include "cli/program.h"

/* A server in sh(1) with these capabilities, and this answer to tools/list. */
static struct ran
examine(const char *capabilities, const char *tools)
{
    char script[2048], target[512];

    (void)snprintf(
        script, sizeof(script),
        "while read -r line; do\n"
        "id=${line#*\\\"id\\\":}; id=${id%%%%,*}; id=${id%%\\}}\n"
        "say() { echo \"{\\\"jsonrpc\\\":\\\"2.0\\\",\\\"id\\\":$id,$1}\"; }\n"
        "case $line in\n"
        "*,) ;;\n" /* the line that is no JSON */
        "*initialize\\\"*) say '\"result\":{\"protocolVersion\":\"2025-11-25\","
        "\"capabilities\":%s,\"serverInfo\":{\"name\":\"d\",\"version\":"
        "\"1\"}}';;\n"
        "*tools/list*) say '%s';;\n"
        "*\\\"ping\\\"*) say '\"result\":{}';;\n"
        "*notifications/*) ;;\n"
        "*) say '\"error\":{\"code\":-32601,\"message\":\"no\"}';;\n"
        "esac; done\n",
        capabilities, tools);
    (void)snprintf(target, sizeof(target), "/bin/sh %s",
                   scratch_file("server.sh", script));
    return RUN("doctor", target);
}

static void
assert_found(const struct ran *ran, const char *id, const char *verdict,
             const char *seen)
{
    const mcp_json *row;
    mcp_doc *doc;

    assert_int_equal(mcp_doc_parse(ran->out, strlen(ran->out), NULL, &doc, NULL), 0);
    row = mcp_json_find(mcp_json_get(mcp_doc_root(doc), "checks"), "id", id);
    assert_non_null(row);
    assert_string_equal(mcp_json_string(mcp_json_get(row, "verdict"), ""), verdict);
    assert_non_null(strstr(mcp_json_string(mcp_json_get(row, "seen"), ""), seen));
    mcp_doc_free(doc);
}

static void
what_is_declared_and_there_passes(void **state)
{
    struct ran ran = examine("{\"tools\":{}}",
                             "\"result\":{\"tools\":[{\"name\":\"t\",\"description\":"
                             "\"x\",\"inputSchema\":{\"type\":\"object\"}}]}");

    (void)state;
    assert_int_equal(ran.code, 0);
    assert_found(&ran, "session.opens", "pass", "d 1, protocol 2025-11-25");
    assert_found(&ran, "session.capabilities", "pass", "is there");
    assert_found(&ran, "tools.names", "pass", "1 tools");
    assert_found(&ran, "tools.texts", "pass", "descriptions");
    assert_found(&ran, "resources", "skip", "none");
    ran_done(&ran);
}

static void
what_is_there_and_not_declared_fails(void **state)
{
    struct ran ran = examine("{}", "\"result\":{\"tools\":[{\"name\":\"t\"}]}");

    (void)state;
    assert_int_equal(ran.code, 1);
    assert_found(&ran, "session.capabilities", "fail", "tools is not declared");
    assert_found(&ran, "tools.inputs", "fail", "t: inputSchema is no object");
    ran_done(&ran);
}

static void
what_is_declared_and_fails_fails(void **state)
{
    struct ran ran = examine("{\"tools\":{},\"prompts\":{}}",
                             "\"error\":{\"code\":-32603,\"message\":\"broken\"}");

    (void)state;
    assert_int_equal(ran.code, 1);
    assert_found(&ran, "session.capabilities", "fail",
                 "tools is declared and fails: broken; prompts is declared");
    assert_found(&ran, "tools.names", "skip", "cannot be read");
    ran_done(&ran);
}

static void
a_list_that_leads_back_has_no_end(void **state)
{
    struct ran ran = examine("{\"tools\":{}}",
                             "\"result\":{\"tools\":[],\"nextCursor\":\"again\"}");

    (void)state;
    assert_int_equal(ran.code, 1);
    assert_found(&ran, "session.pages", "fail", "tools/list: ");
    ran_done(&ran);
}

TEST_MAIN(TEST(what_is_declared_and_there_passes),
          TEST(what_is_there_and_not_declared_fails),
          TEST(what_is_declared_and_fails_fails),
          TEST(a_list_that_leads_back_has_no_end))
