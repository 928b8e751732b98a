/*
 * everything_client.c - the client that the official conformance suite judges
 *
 *     MCP_CONFORMANCE_SCENARIO=tools_call everything-client [...] URL
 *
 * The suite starts it with the URL of a server as the last argument, and says in the
 * environment what to do there (SCENARIO, above), which version to speak
 * (MCP_CONFORMANCE_PROTOCOL_VERSION; without, whichever the server knows), and what else
 * it needs to know (MCP_CONFORMANCE_CONTEXT, a JSON object). Exits with 0 if all went as
 * it should, with 1 if not, with 2 if it does not know what to do, with 3 if it was not let
 * in, or would not go there (MCP_E_AUTH).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client_scenarios.h"

/* The suite ends us after 30 s, without a word; we would rather say what is missing. */
#define PATIENCE_MS 60000

/* ---- what a server may ask ------------------------------------------------------ */

/* Accepted without a word: what is missing gets the form's defaults. */
static int
elicit(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_accept(out);
}

static int
sample(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    mcp_result_model(out, "none");
    return mcp_result_text(out, "There is no model here.");
}

static const mcp_root roots[] = {{.uri = "file:///tmp", .name = "tmp"}, {0}};

/* ---- the client ----------------------------------------------------------------- */

static void
print_log(void *user, enum mcp_log_level level, const char *line)
{
    (void)user, (void)level;
    fprintf(stderr, "%s\n", line);
}

static enum mcp_era
era_of(const char *version)
{
    if (!version)
        return MCP_ERA_BOTH;
    return strcmp(version, "2026-07-28") >= 0 ? MCP_ERA_MODERN : MCP_ERA_LEGACY;
}

static int
open_client(const struct scenario *scenario, const char *url, const mcp_json *context,
            mcp_client **ret_client, mcp_error *err)
{
    mcp_auth_options auth = MCP_AUTH_OPTIONS(0);
    mcp_http_client_options http = MCP_HTTP_CLIENT_OPTIONS(0);
    const mcp_client_options me = MCP_CLIENT_OPTIONS(
            .name = "everything-client", .version = mcp_version(),
            .era = era_of(getenv("MCP_CONFORMANCE_PROTOCOL_VERSION")),
            .timeout_ms = PATIENCE_MS, .probe_ms = PATIENCE_MS, .hello_ms = PATIENCE_MS,
            .elicit = {.run = elicit}, .sample = {.run = sample}, .root_list = roots,
            .on_log = print_log);

    if (scenario->identify) {
        scenario->identify(&auth, context);
        http.auth = &auth;
    }
    return mcp_client_connect_http(url, &http, &me, ret_client, err);
}

static int
run(const struct scenario *scenario, const char *url, const char *context,
    mcp_error *err)
{
    mcp_client *client = NULL;
    mcp_doc *doc = NULL;
    int r = 0;

    if (context)
        r = mcp_doc_parse(context, strlen(context), NULL, &doc, err);
    if (r == 0)
        r = open_client(scenario, url, mcp_doc_root(doc), &client, err);
    if (r == 0)
        r = scenario->run(client, mcp_doc_root(doc), err);
    mcp_client_free(client);
    mcp_doc_free(doc);
    return r;
}

static const struct scenario *
scenario_find(const char *name)
{
    static const struct scenario *const tables[] = {core_scenarios, header_scenarios,
                                                    auth_scenarios};
    const struct scenario *at;

    for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
        for (at = tables[i]; at->name; at++)
            if (strcmp(at->name, name) == 0)
                return at;
    return NULL;
}

int
main(int argc, char **argv)
{
    const char *name = getenv("MCP_CONFORMANCE_SCENARIO");
    const struct scenario *scenario = name ? scenario_find(name) : NULL;
    mcp_error err = {0};
    int r;

    if (argc < 2 || !name) {
        fprintf(stderr, "usage: MCP_CONFORMANCE_SCENARIO=NAME %s URL\n", argv[0]);
        return 2;
    }
    if (!scenario) {
        fprintf(stderr, "%s: there is no scenario %s\n", argv[0], name);
        return 2;
    }
    r = run(scenario, argv[argc - 1], getenv("MCP_CONFORMANCE_CONTEXT"), &err);
    if (r < 0)
        fprintf(stderr, "%s: %s: %s\n", name, mcp_status_name(r), err.message);
    return r == MCP_E_AUTH ? 3 : r < 0;
}
