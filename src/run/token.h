/*
 * token.h - the cancel token: one flag that many can watch, set once
 *
 * Whoever works for a request polls it, waits on it, watches its descriptor or hangs a
 * hook on it (F3). Setting it wakes all of them; later sets change nothing, so the
 * reason that can be read is the first one. All functions are [any]; each caller holds
 * a reference.
 */
#ifndef MCPI_RUN_TOKEN_H
#define MCPI_RUN_TOKEN_H

#include <mcp/base.h>

#include "base/list.h"

struct mcpi_token;

/* Embedded by its owner, who zeroes it, fills in fn and user, and keeps it until it is
 * unhooked. */
struct mcpi_hook {
    struct mcpi_list node; /* under the token's lock */
    bool waiting;          /* in the token's list; under its lock */
    void (*fn)(void *user);
    void *user;
};

/* A token with one reference, not set; NULL: no memory. mem NULL: malloc. */
struct mcpi_token *mcpi_token_new(const mcp_allocator *mem);

/* One owner more; returns token. One less; the last one frees it and closes its
 * descriptor. No hook may be left on it then. NULL ok. */
struct mcpi_token *mcpi_token_ref(struct mcpi_token *token);
void mcpi_token_unref(struct mcpi_token *token);

/* Set it: flag, waits and descriptor, then the hooks if run_hooks. Returns false,
 * and does nothing, if it was set before. The reason is kept as clean UTF-8 of at
 * most MCPI_REASON_MAX bytes, or a shorter part of it for want of memory; NULL: "".
 * Without run_hooks hooks stay where they are
 * and late ones do not run either (signal only, F4), unless mcpi_token_run_hooks
 * follows. */
bool mcpi_token_set(struct mcpi_token *token, const char *reason, bool run_hooks);

/* The second half of a set without run_hooks, for what must happen between the two.
 * No-op if the token is not set. */
void mcpi_token_run_hooks(struct mcpi_token *token);

bool mcpi_token_is_set(const struct mcpi_token *token); /* cheap: poll it */

/* Why; "" while it is not set. Valid and unchanged while the token lives. */
const char *mcpi_token_reason(const struct mcpi_token *token);

/* Wait until it is set, at most timeout_us; INT64_MAX: for ever; not above 0: just
 * look. True: it is set. */
bool mcpi_token_wait(struct mcpi_token *token, int64_t timeout_us);

/* A descriptor that polls readable once the token is set. It is the token's: watch it
 * while you hold a reference; do not read or close it. Made when first asked for:
 * MCP_E_LIMIT if there are no descriptors left. */
int mcpi_token_fd(struct mcpi_token *token);

/* Call hook->fn(user) once when the token is set, on the thread that sets it, with
 * no lock held; at once, on this thread, if the hooks have run already (F26). It
 * must not block. It may hook and unhook. */
void mcpi_token_hook(struct mcpi_token *token, struct mcpi_hook *hook);

/* Afterwards the hook is not running and will not run: it may be freed. Waits for it
 * if it runs on another thread; called from inside it, returns at once. Two hooks
 * that run at the same time must not remove one another. Removing one that is gone
 * is a no-op. */
void mcpi_token_unhook(struct mcpi_token *token, struct mcpi_hook *hook);

#endif
