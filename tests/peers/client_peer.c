/*
 * client_peer.c - the library's client against servers that somebody else wrote
 *
 *     peer-client v1 ERA VERSION OPTION... COMMAND...   server_v1.mjs
 *     peer-client v2 ERA VERSION ...                    server_v2.mjs
 *     peer-client everything ERA VERSION ...            server-everything
 *     peer-client probe ERA VERSION ...                 our own probe-server
 *     peer-client refused ERA - ...                     who does not speak ERA
 *
 *   --http        over HTTP: COMMAND prints its URL as its first line
 *   --sse         that is the transport of 2024-11-05
 *   --json        its answers are never streams
 *   --resume      its streams can be resumed
 *   --stateless   it keeps nothing between requests
 *   --oauth       over HTTP: it lets in who signs in, which takes no user
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

    /* long enough to be seen running */
    if (!stats_read(&before, client) ||
        !slow_begins(&slow, client, opt,
                     peer.is_json ? peer.kind->longer_arguments
                                  : peer.kind->short_arguments) ||
        !slow_runs(&slow))
        return false;
    slow_is_dropped(&slow);
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
    return client_ends(other) && ok;
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
    .longer_arguments = "{\"ms\":6000,\"steps\":60}", .tells = true

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
     .longer_arguments = "{\"duration\":6,\"steps\":60}",
     .quiet = true},
    {.name = "probe",
     .cases = probe_cases,
     .echo_arguments = "{\"text\":\"still there\"}",
     .slow_tool = "count",
     .long_tool = "hang_async", /* as many as there are: it needs no thread */
     .long_arguments = "{\"seconds\":600}",
     .short_arguments = "{\"to\":5,\"delay_ms\":50}",
     .short_text = "counted to 5",
     .longer_arguments = "{\"to\":60,\"delay_ms\":100}",
     .tells = true},
    {.name = "refused", .quiet = true},
};

/* ---- what cannot be ------------------------------------------------------------- */

/* Is that how a call is canceled? A stateless server gets the frame, too, but not
 * for the one that runs: what stops the handler is the end of the grace. */
static bool
by_closing(void)
{
    return peer.is_http && (is_modern() || peer.is_stateless);
}

static bool
without_streams(void)
{
    return peer.is_json;
}

static bool
in_sessions(void)
{
    return peer.is_http && !peer.is_sse && !peer.is_stateless && !is_modern();
}

static const struct {
    const char *name;
    bool (*when)(void);
} left_out[] = {
    /* the end of a session is not that of its server: it is renewed (http_cases.c) */
    {"end_of_server_ends_subscription", in_sessions},
    /* a closed stream has no words */
    {"reason_is_heard", by_closing},
    /* all that is said before the answer is dropped by the SDK */
    {"reports_progress", without_streams},
    {"progress_prolongs_call", without_streams},
    {"hears_messages", without_streams},
};

bool
is_left_out(const char *name)
{
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
        if (strcmp(left_out[i].name, name) == 0 && left_out[i].when())
            return true;
    return false;
}

/* Questions of a legacy server come before the answer, too. */
static bool
can_be_asked(void)
{
    return !peer.is_json || is_modern();
}

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
        (void)client_ends(client);
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

    if (!peer.kind->host_cases[0] ||
        peer.is_stateless) /* it has nobody to ask or tell */
        return;
    prove(opening, NULL);
    if (!session)
        return;
    for (int i = 0; i < 3 && peer.kind->host_cases[i]; i++)
        if (peer.kind->host_cases[i] == offer_cases || can_be_asked())
            prove(peer.kind->host_cases[i], session);
    prove(last_cases, session);
    prove(final_cases, NULL);
}

/* The cases need servers that tell, and ours never ends a session. */
static void
prove_http(void)
{
    bool is_script = peer.kind->cases == script_cases;

    if (peer.kind->tells)
        prove(http_cases, session);
    if (peer.resumes)
        prove(resume_cases, session);
    if (is_script && in_sessions())
        prove(session_cases, session);
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
    if (peer.is_http)
        prove_http();
    prove(last_cases, session);
    prove(own_session_cases, NULL);
    prove_host();
}

static bool
read_option(const char *word)
{
    static const struct {
        const char *name;
        bool *flag;
    } options[] = {{"--http", &peer.is_http},     {"--sse", &peer.is_sse},
                   {"--json", &peer.is_json},     {"--stateless", &peer.is_stateless},
                   {"--oauth", &peer.is_guarded}, {"--resume", &peer.resumes}};

    for (size_t i = 0; i < sizeof(options) / sizeof(options[0]); i++)
        if (strcmp(word, options[i].name) == 0) {
            *options[i].flag = true;
            return true;
        }
    return false;
}

static bool
read_arguments(int argc, char **argv)
{
    static const char *const eras[] = {"both", "modern", "legacy"};
    int found = -1, command = 4;

    if (argc < 5)
        return false;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(argv[1], kinds[i].name) == 0)
            peer.kind = &kinds[i];
    for (int i = 0; i < 3; i++)
        if (strcmp(argv[2], eras[i]) == 0)
            found = i;
    while (command < argc && read_option(argv[command]))
        command++;
    peer.era = (enum mcp_era)found;
    peer.version = argv[3];
    peer.command = (const char *const *)(argv + command);
    return peer.kind && found >= 0 && command < argc;
}

int
main(int argc, char **argv)
{
    if (!read_arguments(argc, argv)) {
        fprintf(stderr, "usage: peer-client KIND ERA VERSION OPTION... COMMAND...\n");
        return 2;
    }
    prove_kind();
    return peer.failures > 0;
}
