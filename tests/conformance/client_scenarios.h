/* client_scenarios.h - what everything-client does in each scenario of the suite */
#ifndef CLIENT_SCENARIOS_H
#define CLIENT_SCENARIOS_H

#include <mcp/auth.h>
#include <mcp/client.h>

/*
 * A scenario: what to do with a client that is connected. context is what the suite says
 * besides, an object, or NULL; it stays until the client is freed. 0, or a negative status
 * with err filled: the program says so and exits with 1, for MCP_E_AUTH with 3.
 */
struct scenario {
    const char *name;
    int (*run)(mcp_client *client, const mcp_json *context, mcp_error *err);
    /* Who the client is, if it is asked; its options are zero before. NULL: nobody. */
    void (*identify)(mcp_auth_options *auth, const mcp_json *context);
};

/* Each file has a table of them; ends with {0}. */
extern const struct scenario core_scenarios[];   /* client_scenarios.c */
extern const struct scenario header_scenarios[]; /* client_headers.c */
extern const struct scenario auth_scenarios[];   /* client_auth.c */

/* ---- steps that many have in common; in client_scenarios.c ---------------------- */

/* 0 if what was hoped for is so; else MCP_E_PROTO, and err says `what`. */
int expect(bool is_so, const char *what, mcp_error *err);

/* Call a tool; its answer must be no error, and have `said` in its text. */
int call_tool(mcp_client *client, const char *name, const char *arguments,
              const char *said, mcp_error *err);

/* What most scenarios ask for: list the tools, call this one. */
int list_and_call(mcp_client *client, const char *name, const char *arguments,
                  const char *said, mcp_error *err);

#endif
