/*
 * ask_parts.h - the parts that answer a server's questions; see ask.h
 */
#ifndef CLI_ASK_PARTS_H
#define CLI_ASK_PARTS_H

#include <mcp/schema.h>

#include "cli/ask_terminal.h"

/* ---- ask_field.c: one value, typed by a schema ---------------------------------- */

/* One question. */
struct cli_question {
    const mcp_json *root; /* the schema of the whole, an object */
    const mcp_schema
        *compiled;         /* of that, to check the answer; NULL: it is not checked */
    const mcp_json *field; /* what it says of this one */
    const char *name;
    bool is_required;
};

enum cli_answer {
    CLI_ANSWER_GIVEN, /* JSON was appended */
    CLI_ANSWER_NONE,  /* left out */
    CLI_ANSWER_END    /* the end of the input, or the turn is over */
};

/* Asks for it until the answer fits, with its description, type, choices and default;
 * an empty line takes the default. */
enum cli_answer cli_ask_field(struct cli_turn *turn,
                              const struct cli_question *question,
                              struct cli_text *json);

/* ---- handlers; user is the struct cli ------------------------------------------- */

/* ask_form.c, ask_url.c: elicitation/create while somebody can be asked. */
int cli_ask_form(struct cli *cli, mcp_request *req, mcp_result *out);
int cli_ask_url(struct cli *cli, mcp_request *req, mcp_result *out);

/* ask_sample.c: sampling/createMessage. */
int cli_ask_sample(struct cli *cli, mcp_request *req, mcp_result *out);

#endif
