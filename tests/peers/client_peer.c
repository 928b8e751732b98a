/*
 * client_peer.c - the library's client against servers that somebody else wrote
 *
 *     peer-client v1 ERA VERSION COMMAND...           server_v1.mjs
 *     peer-client v2 ERA VERSION COMMAND...           server_v2.mjs
 *     peer-client everything ERA VERSION COMMAND...   server-everything
 *     peer-client refused ERA - COMMAND...            a server that does not speak ERA
 *
 * ERA is both, modern or legacy; VERSION is what must be agreed on. Prints "PASS name"
 * or "FAIL name reason" for each case.
 */
#include <stdio.h>
#include <string.h>

#include "host.h"
#include "peer.h"

/* ---- cases of the scripts ------------------------------------------------------- */

static bool
reason_is_heard(mcp_client *client)
{
    struct stats now = {0};

    if (!cancel_ends_call(client))
        return false;
    for (int i = 0; i < PATIENCE_MS / 10; i++) {
        if (!stats_read(&now, client))
            return false;
        if (strcmp(now.reason, "the user left") == 0)
            return true;
        nap();
    }
    return because("the server heard \"%s\"", now.reason);
}

static bool
detached_call_goes_on(mcp_client *client)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.on_abandon = MCP_ABANDON_DETACHES);
    struct stats before, now = {0};
    static struct slow slow;

    if (!stats_read(&before, client) ||
        !slow_begins(&slow, client, opt, peer.kind->short_arguments) ||
        !slow_runs(&slow))
        return false;
    mcp_call_free(slow.call);
    for (int i = 0; i < PATIENCE_MS / 10 && now.finished <= before.finished; i++) {
        if (!stats_read(&now, client))
            return false;
        nap();
    }
    return (now.finished > before.finished && now.aborted == before.aborted) ||
           because("%lld finished, %lld aborted", (long long)now.finished,
                   (long long)now.aborted);
}

/* What a modern server said once is enough to speak to it again. */
static bool
discovery_can_be_kept(mcp_client *client)
{
    const char *discovery = mcp_client_discovery(client);
    mcp_client *other;
    bool ok;

    if (!is_modern() || !discovery)
        return is_modern() == (discovery != NULL) || because("not as its era has it");
    if (!client_opens(discovery, &other))
        return false;
    ok = agrees_on_version(other) && still_answers(other);
    mcp_client_free(other);
    return ok;
}

static const struct peer_case script_cases[] = {
    {"reason_is_heard", reason_is_heard, 1},
    {"discovery_can_be_kept", discovery_can_be_kept, 0},
    {"detached_call_goes_on", detached_call_goes_on, 0},
    {0},
};

/* ---- kinds of servers ----------------------------------------------------------- */

static const struct peer_case no_cases[] = {{0}};

#define SCRIPT                                                             \
    .cases = script_cases, .echo_arguments = "{\"text\":\"still there\"}", \
    .slow_tool = "slow", .long_arguments = "{\"ms\":600000,\"steps\":2}",  \
    .short_arguments = "{\"ms\":250,\"steps\":5}", .short_text = "done",   \
    .longer_arguments = "{\"ms\":3000,\"steps\":30}", .tells = true

static const struct peer_kind kinds[] = {
    {SCRIPT, .name = "v1", .host_cases = {offer_cases, ask_cases, ask_v1_cases}},
    {SCRIPT, .name = "v2", .host_cases = {offer_cases, ask_cases, ask_v2_cases}},
    {.name = "everything",
     .cases = no_cases,
     .host_cases = {everything_cases},
     .echo_arguments = "{\"message\":\"still there\"}",
     .slow_tool = "trigger-long-running-operation",
     .long_arguments = "{\"duration\":20,\"steps\":100}",
     .short_arguments = "{\"duration\":0.25,\"steps\":5}",
     .short_text = "completed",
     .longer_arguments = "{\"duration\":3,\"steps\":30}",
     .quiet = true},
    {.name = "refused", .quiet = true},
};

/* ---- the program ---------------------------------------------------------------- */

static mcp_client *session;

static bool
connects(mcp_client *none)
{
    (void)none;
    return client_opens(NULL, &session);
}

static bool
host_connects(mcp_client *none)
{
    (void)none;
    session = NULL;
    return host_opens(&session) && agrees_on_version(session);
}

/* It must be said, and nothing of the attempt may be left. */
static bool
is_refused(mcp_client *none)
{
    mcp_client *client;

    (void)none;
    if (client_opens(NULL, &client)) {
        mcp_client_free(client);
        return because("it was not");
    }
    printf("# refused: %s\n", because_nothing());
    return is_gone(0);
}

/* With a session for all that the server may ask. */
static void
prove_host(void)
{
    static const struct peer_case opening[] = {{"host_connects", host_connects, 0},
                                               {0}};

    if (!peer.kind->host_cases[0])
        return;
    prove(opening, NULL);
    if (!session)
        return;
    for (int i = 0; i < 3 && peer.kind->host_cases[i]; i++)
        prove(peer.kind->host_cases[i], session);
    prove(last_cases, session);
    prove(final_cases, NULL);
}

static void
prove_kind(void)
{
    static const struct peer_case refusal[] = {{"is_refused", is_refused, 0}, {0}};
    static const struct peer_case opening[] = {{"connects", connects, 0}, {0}};

    if (!peer.kind->cases) {
        prove(refusal, NULL);
        return;
    }
    prove(opening, NULL);
    if (!session)
        return;
    prove(common_cases, session);
    prove(peer.kind->cases, session);
    prove(last_cases, session);
    prove(own_session_cases, NULL);
    prove_host();
}

static bool
read_arguments(int argc, char **argv)
{
    static const char *const eras[] = {"both", "modern", "legacy"};
    int found = -1;

    if (argc < 5)
        return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            peer.kind = &kinds[i];
    for (int i = 0; i < 3; i++)
        if (strcmp(argv[2], eras[i]) == 0)
            found = i;
    peer.era = (enum mcp_era)found;
    peer.version = argv[3];
    peer.command = (const char *const *)(argv + 4);
    return peer.kind && found >= 0;
}

int
main(int argc, char **argv)
{
    if (!read_arguments(argc, argv)) {
        fprintf(stderr, "usage: peer-client KIND ERA VERSION COMMAND...\n");
        return 2;
    }
    prove_kind();
    return peer.failures > 0;
}
