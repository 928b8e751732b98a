/*
 * accounts.h - the accounts of a budget, found by the name of a client
 *
 * An account exists as long as somebody has a reference. Any thread.
 */
#ifndef MCPI_RUN_ACCOUNTS_H
#define MCPI_RUN_ACCOUNTS_H

#include <mcp/base.h>

#include "base/budget.h"

struct mcpi_accounts;

/* MCP_E_NOMEM, MCP_E_LIMIT (no random bytes). */
int mcpi_accounts_new(const mcp_allocator *mem, struct mcpi_accounts **ret_accounts);
/* Counted; accounts that exist hold it too. NULL ok */
struct mcpi_accounts *mcpi_accounts_ref(struct mcpi_accounts *accounts);
void mcpi_accounts_unref(struct mcpi_accounts *accounts);

struct mcpi_budget *mcpi_accounts_budget(struct mcpi_accounts *accounts);

/* The account of that name, with a reference for the caller; len 0: one that nobody else
 * finds. NULL: no memory. accounts NULL: NULL. */
struct mcpi_account *mcpi_accounts_get(struct mcpi_accounts *accounts, const void *name,
                                       size_t len);

/* How many exist. */
size_t mcpi_accounts_count(struct mcpi_accounts *accounts);

#endif
