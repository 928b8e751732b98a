/*
 * doctor_http.h - one request over HTTP/1.1, as it is written, and its answer
 *
 * For checks only: a connection of its own for each request, no redirects, all of it
 * bounded in size and time.
 */
#ifndef CLI_DOCTOR_HTTP_H
#define CLI_DOCTOR_HTTP_H

#include <mcp/client.h>

#include "cli/doctor_wire.h"
#include "cli/text.h"

#define CLI_HTTP_BYTES (4ul << 20) /* longest answer that is read */

struct cli_url {
    bool is_tls;
    char host[256], port[8];
    char authority[272]; /* as in the Host header */
    char path[2048];     /* and query */
};

/* http: or https:; false: it is no such URL, or too long. */
bool cli_url_read(const char *text, struct cli_url *ret_url);

struct cli_http_question {
    const char *method;  /* "POST" */
    const char *host;    /* of the Host header; NULL: that of the URL */
    const char *headers; /* more lines, each with \r\n; or NULL */
    const char *body;    /* or NULL: none */
    bool head_only;      /* do not read what is behind the head of the answer */
};

struct cli_http_answer {
    int status;           /* 200 */
    struct cli_text head; /* lines, as they came */
    struct cli_text body; /* without chunks */
};

/* Asks. MCP_E_SEND_FAILED: nobody is there; MCP_E_CLOSED: it went away; MCP_E_TIMEOUT;
 * MCP_E_PROTO: that is no HTTP; MCP_E_LIMIT; MCP_E_CANCELED; err says more. A stream of
 * events is read until it has an answer in it. Both texts are the caller's in each case. */
int cli_http_ask(const struct cli_url *url, const struct cli_http_question *question,
                 const struct cli_way *way, struct cli_http_answer *ret_answer,
                 mcp_error *err);
void cli_http_answer_done(struct cli_http_answer *answer);

/* The value of a header, copied; false: there is none, or no room. */
bool cli_http_header(const struct cli_http_answer *answer, const char *name, char *into,
                     size_t room);

/* The JSON-RPC answer in it: the body, or an event of it. NULL: there is none. */
mcp_doc *cli_http_message(const struct cli_http_answer *answer);

/* Pure. Chunks taken apart, as far as they are there; true: the last one is. */
bool cli_http_unchunk(const char *data, size_t length, struct cli_text *into);

#endif
