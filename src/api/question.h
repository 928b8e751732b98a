/*
 * question.h - what the questions of a handler have in common
 *
 * Each kind (elicit.c, sample.c, and roots in question.c) looks for what is wrong with
 * a question first, so that a program hears of its mistake whatever its client is; then
 * whether this client can be asked; then it asks. All functions are [any].
 */
#ifndef MCPI_API_QUESTION_H
#define MCPI_API_QUESTION_H

#include "api/asking.h"

#define MCPI_VERSION_FORMS "2025-06-18" /* elicitation */
#define MCPI_VERSION_MODES "2025-11-25" /* its modes; choices of several; tools */

/* May this request ask, and something of this name? MCP_E_INVAL, MCP_E_STATE,
 * MCP_E_CANCELED. */
int mcpi_question_check(mcp_request *req, const char *key);

/* Nobody is told of it but by a status, MCP_E_INVAL, so the log has the sentence. */
int mcpi_question_fault(const mcp_request *req, const char *key, const char *why);

/* What was written, as a document; the builder is freed. */
int mcpi_question_finish(mcp_builder *take_b, mcp_doc **ret_doc);

/* Ask; takes the document in any case, which has the params and may be NULL. Returns
 * MCP_E_INPUT, or what the public functions say. */
int mcpi_question_ask(mcp_request *req, enum mcpi_asked_kind kind, const char *key,
                      mcp_doc *take_doc);

/* What a question comes to: 0 if this run has asked nothing that is not answered,
 * MCP_E_INPUT if it has, and the first failure of one if there was one. req may be
 * NULL; before its handler was called it is the status itself. */
int mcpi_question_outcome(mcp_request *req, int status);

/* What a client must be able to (mcp_ask), to be asked for a sample with these params. */
unsigned mcpi_sample_needs(const mcp_json *params);

/* Does its client speak this version, or a later one? */
bool mcpi_request_speaks(const mcp_request *req, const char *version);

bool mcpi_text_fits(const char *text); /* is it UTF-8 */

#endif
