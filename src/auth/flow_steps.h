/*
 * flow_steps.h - the parts of a run, for the files of auth/flow.h only
 *
 * Each begins one thing that takes time, and goes on from what comes of it; or ends the run.
 */
#ifndef MCPI_AUTH_FLOW_STEPS_H
#define MCPI_AUTH_FLOW_STEPS_H

#include "auth/flow.h"

/* Whom it is about, once that was found. */
static inline const struct mcpi_issuer_metadata *
mcpi_flow_issuer(const struct mcpi_flow *flow)
{
    return &flow->discovery.found.issuer;
}

/* flow.c */
void mcpi_flow_fail(struct mcpi_flow *flow, int status, const char *why);
/* Fail if the status is negative. */
void mcpi_flow_check(struct mcpi_flow *flow, int status, const char *why);
void mcpi_flow_succeed(struct mcpi_flow *flow);
/* Who we are is known, or nobody: refresh, or by the grant. */
void mcpi_flow_go(struct mcpi_flow *flow);
void mcpi_flow_by_grant(struct mcpi_flow *flow);
int64_t mcpi_flow_fetch_us(const struct mcpi_flow *flow);
/* All that is asked for; "" none. */
const char *mcpi_flow_scope(const struct mcpi_flow *flow);
const struct mcpi_credential *mcpi_flow_old(const struct mcpi_flow *flow);
void mcpi_flow_unlock(struct mcpi_flow *flow);

/* flow_post.c: post flow->form to a token endpoint; what it answers is a token (REFRESH,
 * TOKEN) or an ID-JAG (EXCHANGE). */
void mcpi_flow_post(struct mcpi_flow *flow, enum mcpi_flow_step step, const char *url);
/* Begin a form anew. */
void mcpi_flow_form(struct mcpi_flow *flow, const char *grant_type);
void mcpi_flow_form_resource(struct mcpi_flow *flow); /* add resource and scope */

/* flow_who.c: who are we to the issuer that was found? Then go. */
void mcpi_flow_find_who(struct mcpi_flow *flow);
/* The issuer does not know us any more, or may not, if we had registered there: we do so
 * anew, in this run if it goes on to a sign-in, or in the next one. */
void mcpi_flow_forget_who(struct mcpi_flow *flow);
/* We are somebody now, registered: keep that, then mcpi_flow_visit. */
void mcpi_flow_register(struct mcpi_flow *flow);

/* flow_refresh.c */
void mcpi_flow_refresh(struct mcpi_flow *flow);
/* The new token was kept, or was not: then what the store has is older than that. */
void mcpi_flow_kept(struct mcpi_flow *flow, bool kept);
mcpi_timer_fn mcpi_flow_on_pause; /* the lock is asked for once more */
/* No new token came of it, nor ever will, and flow->why says why. */
void mcpi_flow_refresh_refused(struct mcpi_flow *flow);

/* flow_code.c */
void mcpi_flow_by_code(struct mcpi_flow *flow);
void mcpi_flow_visit(struct mcpi_flow *flow); /* the agent has begun: show the page */
void mcpi_flow_visited(void *user, int status, const char *text);

/* flow_assertion.c */
void mcpi_flow_assert(struct mcpi_flow *flow);
void mcpi_flow_by_assertion(struct mcpi_flow *flow, const char *assertion);
void mcpi_flow_drop_errand(struct mcpi_flow *flow);

#endif
