/*
 * result.h - what a handler has written, as the rest of the api sees it
 *
 * The text of the answer is written as it will be sent, straight into the buffer that
 * the exchange takes over in the end.
 */
#ifndef MCPI_API_RESULT_H
#define MCPI_API_RESULT_H

#include <mcp/request.h>
#include <mcp/schema.h>

#include "api/tool.h"
#include "core/engine.h"

#define MCPI_VALUES_MAX 100 /* of one completion: server/utilities/completion */

/* What was asked, and so what may be written. */
enum mcpi_result_kind {
    MCPI_RESULT_PLAIN = 0, /* by the library itself */
    MCPI_RESULT_TOOL,
    MCPI_RESULT_PROMPT,
    MCPI_RESULT_RESOURCE,
    MCPI_RESULT_COMPLETION,
    MCPI_RESULT_ELICITATION,
    MCPI_RESULT_SAMPLE,
    MCPI_RESULT_ROOTS,
    MCPI_RESULT_CUSTOM /* a method of the program's own */
};

struct mcpi_resource;
struct mcpi_prompt;
struct mcpi_custom;

struct mcp_result {
    enum mcpi_result_kind kind;
    int status;                   /* the first failure; answer.message says more */
    const struct mcpi_tool *tool; /* whose; NULL: no tool's */
    const struct mcpi_resource *resource; /* RESOURCE: who is read */
    const struct mcpi_prompt *prompt;     /* PROMPT: whose */
    const struct mcpi_custom *custom;     /* CUSTOM: of which method */
    const char *uri;         /* RESOURCE: what was asked for; the request's */
    const char *version;     /* that the caller speaks; NULL: the newest */
    mcp_builder *structured; /* made when first asked for */
    bool modern;             /* the caller's era */
    bool has_block;          /* the body is a list that is open, with items in it */
    bool has_text;           /* one of them is a text */
    bool can_annotate;       /* the last block has no annotations yet */
    bool is_error;
    bool has_model;           /* SAMPLE: it was named */
    bool has_role, has_cache; /* the next three were said */
    enum mcp_role role;
    enum mcp_cache_scope scope;
    int64_t ttl_ms;
    size_t count;     /* items of the list, also those that are not sent */
    int64_t total;    /* COMPLETION: of which there are so many; 0: not said */
    mcp_schema *form; /* ELICITATION: what is accepted must fit; counted; NULL: none */
    const char *action;        /* ELICITATION: a constant; NULL: not said */
    struct mcpi_buf aside;     /* members for behind the list, each with its comma */
    struct mcpi_result answer; /* the last: made by its init, not cleared before */
};

/* All members but answer are zero. */
void mcpi_tool_result_init(struct mcp_result *out, const struct mcpi_engine *engine,
                           const struct mcpi_tool *tool);
void mcpi_tool_result_done(struct mcp_result *out);

/* Nothing more will be written: check what was promised, and make out->answer the
 * result of its kind. A negative status: it cannot be, and err says why. MCP_E_PROTO:
 * the output is not what the tool has promised. */
int mcpi_tool_result_close(struct mcp_result *out, mcp_error *err);

/* The same of what is a prompt's, a resource's or a completion's: result_more.c. What
 * can fail there is the buffer's. */
void mcpi_result_close_more(struct mcp_result *out);

/* The same of what a client answers (ELICITATION, SAMPLE, ROOTS): result_client.c. Its
 * status is 0 so far. */
int mcpi_result_close_client(struct mcp_result *out, mcp_error *err);

/* ---- for who writes into it --------------------------------------------- */

/* It has failed, for that reason; the first one counts. Returns its status. */
int mcpi_tool_result_fail(mcp_result *out, int status, const char *why);

/* Its status; a failure of a buffer is one of the result. */
int mcpi_tool_result_status(mcp_result *out);

/* Parse what must be one value; `what` names it in the failure. */
int mcpi_tool_result_parse(mcp_result *out, const char *json, size_t length,
                           const char *what, mcp_doc **ret_doc);

/* A block of text; in a resource, an entry. */
int mcpi_tool_result_text(mcp_result *out, const char *text, size_t len);

/* Any block of content, where those may be written. */
void mcpi_tool_result_block(mcp_result *out, const mcp_json *block);

/* May this be written into it? kinds is a set of MCPI_KIND; what names it. If not, it
 * has failed with MCP_E_STATE. False also if it has failed before. */
#define MCPI_KIND(name) (1U << MCPI_RESULT_##name)
bool mcpi_result_takes(mcp_result *out, unsigned kinds, const char *what);

/* Begin the next item of the list that its kind has (content, messages, contents,
 * values, roots); room is a guess at its length. False: it has failed before. */
bool mcpi_result_item(mcp_result *out, size_t room);

/* Append a string to the body, or a member that has one; key with its comma, quotes and
 * colon; text NULL: no member. `what` names the text if it is not UTF-8, which is a
 * failure. */
void mcpi_result_string(mcp_result *out, const char *text, size_t len,
                        const char *what);
void mcpi_result_member(mcp_result *out, const char *key, const char *text,
                        const char *what);

/* The end of the list, opened now if there was no item; then what stands aside. */
void mcpi_result_list_end(mcp_result *out);

/* Put a member aside, a string; key as above. Each once: the second time has failed. */
int mcpi_result_aside(mcp_result *out, const char *key, const char *text,
                      const char *what);

/* Append `,"ttlMs":...,"cacheScope":"..."`. */
void mcpi_cache_write(struct mcpi_buf *buf, int64_t ttl_ms, enum mcp_cache_scope scope);

#endif
