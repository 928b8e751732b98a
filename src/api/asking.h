/*
 * asking.h - what a handler has asked of the client, and what was answered
 *
 * One for each request that asks, over all its rounds. A run asks (question.c) and ends
 * with MCP_E_INPUT; then
 *
 *   modern   round.c    the answer is input_required, with all of this sealed. The
 *                       retry is a request of its own, and makes this anew of what it
 *                       brings. Answers that are there already: as legacy, unasked
 *   legacy   asking.c   the exchange rests, and each question is a nested call. When
 *                       all are answered, the request of the next run takes this over
 *
 * so that a handler sees no difference (answered.c). While the exchange rests, the
 * request of the next run is there already: it is what middleware is told with if
 * nothing comes of it, and nothing is left to fail when the answers are there.
 */
#ifndef MCPI_API_ASKING_H
#define MCPI_API_ASKING_H

#include <mcp/ask.h>

#include "api/request.h"
#include "core/call.h"

/* A name that a program gives its question; it travels. */
#define MCPI_ASKED_KEY_MAX 64
/* A handler that asks without end must come to one (L6). */
#define MCPI_ASKING_ROUNDS_MAX 10
/* Questions of one round, and members of inputResponses: each is looked for among the
 * others. */
#define MCPI_ROUND_ANSWERS_MAX 256
/* What a handler keeps between two rounds makes its way through the client twice. */
#define MCPI_ASKING_STATE_MAX ((size_t)64 << 10)

/* 2025-11-25 only: the user has to see a URL first (client/elicitation). */
#define MCPI_RPC_URL_FIRST (-32042)

/* Numbers that are sealed: they never change. */
enum mcpi_asked_kind {
    MCPI_ASKED_FORM = 1,
    MCPI_ASKED_URL = 2,
    MCPI_ASKED_SAMPLE = 3,
    MCPI_ASKED_ROOTS = 4
};

/* A question, and then its answer. */
struct mcpi_asked {
    struct mcpi_list node; /* in asked or answered */
    struct mcpi_asking *asking;
    enum mcpi_asked_kind kind;
    mcp_doc *from;          /* counted: what params and schema are in; may be NULL */
    const mcp_json *params; /* as they are sent; NULL: none, or sent long ago */
    const mcp_json *schema; /* of a form */
    mcp_doc *doc;           /* counted: what answer is in */
    const mcp_json *answer; /* NULL: none yet */
    struct mcpi_call *call; /* legacy, while the client is asked; loop only */
    char key[];
};

struct mcpi_asking {
    const mcp_allocator *mem;
    struct mcpi_list asked;    /* by this run; under the request's lock */
    struct mcpi_list answered; /* before it */
    unsigned questions;        /* of this run */
    unsigned rounds;           /* that were before it */
    struct mcpi_kept *kept; /* the handler's own texts, the last one first; likewise */
    char *first_id;         /* of the URL that must be seen first; or NULL */

    /* while the exchange rests; loop only */
    struct mcpi_exchange *x; /* counted; NULL: it does not rest */
    mcp_request *next;       /* of the next run; has this */
    size_t open;             /* questions without an answer */
    int status;              /* the first failure */
    int code;                /* to answer with, if it was one of the client's */
    char message[200];
    struct mcpi_post step; /* something is to be done about it */
};

/* The asking of a request, made if there is none; NULL for want of memory. [any] */
struct mcpi_asking *mcpi_asking_get(mcp_request *req);
/* The same; NULL if there is none. */
struct mcpi_asking *mcpi_asking_peek(const mcp_request *req);

struct mcpi_asking *mcpi_asking_new(const mcp_allocator *mem);
void mcpi_asking_free(struct mcpi_asking *asking); /* it does not rest; NULL ok */

/* A question; takes the document. NULL for want of memory. */
struct mcpi_asked *mcpi_asked_new(const mcp_allocator *mem, enum mcpi_asked_kind kind,
                                  const char *key, mcp_doc *take_from);
void mcpi_asked_free(const mcp_allocator *mem, struct mcpi_asked *asked);
struct mcpi_asked *mcpi_asked_find(const struct mcpi_list *list, const char *key);
enum mcpi_method mcpi_asked_method(enum mcpi_asked_kind kind);

/* What the handler keeps; "": nothing. */
const char *mcpi_asking_kept(const struct mcpi_asking *asking);
int mcpi_asking_keep(struct mcpi_asking *asking, const char *text);

/* May requests of this method ask at all (basic/patterns/mrtr, Supported Requests)? */
bool mcpi_method_may_ask(enum mcpi_method method);

/* ask_ms, state_ms and state_key of a server that is being made. */
int mcpi_asking_take_options(struct mcp_server *server,
                             const struct mcp_server_options *opt, mcp_error *err);

/* ---- the end of a run --------------------------------------------------- */

/* It has returned MCP_E_INPUT: make the answer, or leave it to mcpi_asking_rest, and
 * note that. A negative status: it cannot be asked, and err says why. [any] */
int mcpi_asking_close(mcp_request *req, mcp_error *err);

/* Legacy: ask, and let the exchange rest meanwhile. Instead of its finish. [loop] */
void mcpi_asking_rest(mcp_request *req);

/* The request goes home with an error that sends the user somewhere first: note whom to
 * tell when he has been there. [loop] */
void mcpi_asking_note_first(mcp_request *req);

/* ---- modern: round.c ---------------------------------------------------- */

int mcpi_round_close(mcp_request *req, mcp_error *err);

/* Answers that came with the first request, to what its handler has asked now: 1 if
 * that is all it has asked, and it can go on at once. MCP_E_PEER: one of them is none,
 * and that is noted; MCP_E_NOMEM. */
int mcpi_round_take_early(mcp_request *req);

/* Before its handler runs: if this is the retry of a request, make its asking of what
 * it brings. MCP_E_INVAL: that is not what it should be, err says why; MCP_E_NOMEM. */
int mcpi_round_open(mcp_request *req, mcp_error *err);

/* ---- answers: answered.c ------------------------------------------------ */

/* Is this an answer to a question of that kind? MCP_E_INVAL: no, and err says why;
 * MCP_E_NOMEM, MCP_E_LIMIT. */
int mcpi_answer_check(const mcp_allocator *mem, enum mcpi_asked_kind kind,
                      const mcp_json *schema, const mcp_json *answer, mcp_error *err);

/* ---- what a client can be asked: question.c ----------------------------- */

/* Those of what (mcp_ask) that its client, by its version and what it has declared, can
 * not be asked. */
unsigned mcpi_request_cannot_ask(const mcp_request *req, unsigned what);

/* Answer with -32021, which names the first of what is missing. Returns MCP_E_PEER. */
int mcpi_request_refuse_ask(mcp_request *req, unsigned missing);

/* The same as one sentence, with its code, for who is not to end. */
int mcpi_ask_missing_error(unsigned missing, mcp_error *err);

#endif
