/* note.h - messages on the heap: notifications, and refusals of what never became an
 * exchange */
#ifndef MCPI_CORE_NOTE_H
#define MCPI_CORE_NOTE_H

#include "core/exchange.h"
#include "core/leg.h"

/* Maximum bytes of refusals that wait for a client whose share of memory is used up. If
 * more than that wait already, the client does not read them: its response is given up. */
#define MCPI_REFUSALS_FREE_MAX 16384

/* Queue a notification. about: the exchange it belongs to, which takes it back when
 * it is canceled; may be NULL. MCP_E_NOMEM; a full outlet drops it and that is no
 * error. */
int mcpi_note_push(struct mcpi_outlet *outlet, struct mcpi_exchange *about,
                   const char *method, const char *params, size_t params_len);

/* Queue a notification that belongs to the negotiation and passes while it lasts. */
int mcpi_note_push_greeting(struct mcpi_outlet *outlet, const char *method);

/* Queue progress of an exchange that has a token. MCP_E_INVAL: numbers that are not
 * finite, a message that is not UTF-8. */
int mcpi_note_push_progress(struct mcpi_exchange *x, const struct mcpi_progress *p);

/* Queue a hand-written cancel frame that names no leg of ours; the link's kind
 * decides at the last moment whether it goes out (E8, E9). */
int mcpi_note_push_frame(struct mcpi_outlet *outlet, const char *params,
                         size_t params_len);

/* Take back what the exchange still has waiting. */
void mcpi_note_withdraw_all(struct mcpi_exchange *x);

/* Answer with an error something that is no exchange. id NONE: left out. If there is no
 * memory even for that, the outlet fails: nobody must wait for ever. Nothing is said in
 * the peer's own outlet if the peer is many clients (MCPI_PRIVATE_IDS). */
void mcpi_refusal_push(struct mcpi_outlet *outlet, const struct mcpi_id *id,
                       const struct mcpi_refusal *why);

#endif
