/*
 * probe_http.c - probe-server on a port: what its command line may say, and serving
 *
 * Everything it does is what a program of your own would do: fill in the options, listen,
 * run.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "probe.h"

/* ---- serving ------------------------------------------------------------------ */

/* The credential is the header as it is: for tests, which send what they like. */
static void
identify(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    const char *credential = mcp_http_header(request, "authorization");

    (void)user;
    if (credential)
        mcp_http_allow(ticket, credential);
    else
        mcp_http_deny(ticket, 401, "Bearer", "who are you?");
}

/* Thousands of streams need as many descriptors. */
static void
raise_descriptor_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
        return;
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* Only who has a token of that issuer; which may be near, as everything is in a test. */
static int
guard_make(struct probe_http *choice, mcp_error *err)
{
    int r;

    choice->guarding.size = sizeof(choice->guarding);
    choice->guarding.issuers = choice->issuers;
    choice->guarding.private_issuers = true;
    r = mcp_guard_new(&choice->guarding, &choice->guard, err);
    choice->options.guard = choice->guard;
    return r;
}

int
probe_serve_http(mcp_server *server, struct probe_http *choice, mcp_error *err)
{
    char url[MCP_HTTP_URL_MAX];
    int r = 0;

    raise_descriptor_limit();
    if (choice->issuers[0])
        r = guard_make(choice, err);
    if (r < 0)
        return r;
    if (choice->resumes)
        r = mcp_memory_store_new(NULL, 0, &choice->store);
    if (r < 0)
        return r;
    if (choice->store)
        choice->options.store = mcp_memory_store_interface(choice->store);
    if (choice->origin_count > 0)
        choice->options.origins = choice->origins;
    r = mcp_server_listen_http(server, &choice->options, url, err);
    if (r < 0)
        return r;
    printf("%s\n", url);
    fflush(stdout);
    return mcp_server_run(server, &MCP_RUN_OPTIONS(.signals = true), err);
}

void
probe_http_done(struct probe_http *choice)
{
    mcp_memory_store_free(choice->store);
    mcp_guard_free(choice->guard);
}

/* ---- what is asked for ---------------------------------------------------------- */

/* HOST:PORT in place; the host may be an address of IPv6 in brackets. */
static bool
read_address(char *address, mcp_http_options *http)
{
    char *colon = strrchr(address, ':');
    char *end;
    long port;

    if (!colon || !colon[1])
        return false;
    port = strtol(colon + 1, &end, 10);
    if (*end || port < 0 || port > 65535)
        return false;
    *colon = '\0';
    http->host = *address ? address : NULL;
    http->port = (int)port;
    return true;
}

/* A word that stands alone. */
static bool
read_flag(const char *word, struct probe_http *choice)
{
    mcp_http_options *http = &choice->options;

    if (strcmp(word, "--json") == 0)
        http->json = true;
    else if (strcmp(word, "--stateless") == 0)
        http->stateless = true;
    else if (strcmp(word, "--resume") == 0)
        choice->resumes = true;
    else if (strcmp(word, "--sse") == 0)
        http->sse_path = "/sse";
    else if (strcmp(word, "--bearer") == 0)
        http->identify = identify;
    else if (strcmp(word, "--dpop") == 0)
        choice->guarding.dpop_only = choice->guarding.dpop_nonce = true;
    else
        return false;
    return true;
}

/* How many words an option has with its values, 0: it is none. */
static int
read_option(char **word, int left, struct probe_http *choice)
{
    mcp_http_options *http = &choice->options;
    char *rest;

    if (read_flag(*word, choice))
        return 1;
    if (strcmp(*word, "--http") == 0 && left > 1) {
        choice->is_wanted = true;
        return read_address(word[1], http) ? 2 : 0;
    }
    if (strcmp(*word, "--ping") == 0 && left > 1) {
        http->ping_ms = strtol(word[1], NULL, 10);
        return 2;
    }
    if (strcmp(*word, "--patience") == 0 && left > 1) {
        choice->drain_ms = strtol(word[1], &rest, 10);
        choice->stop_ms = *rest == ',' ? strtol(rest + 1, NULL, 10) : choice->drain_ms;
        return 2;
    }
    if (strcmp(*word, "--threads") == 0 && left > 1) {
        http->threads = (unsigned)strtoul(word[1], NULL, 10);
        return 2;
    }
    if (strcmp(*word, "--origin") == 0 && left > 1) {
        if (choice->origin_count == PROBE_ORIGINS)
            return 0;
        choice->origins[choice->origin_count++] = word[1];
        return 2;
    }
    if (strcmp(*word, "--scope") == 0 && left > 1) {
        choice->guarding.scope = word[1];
        return 2;
    }
    if (strcmp(*word, "--guard") == 0 && left > 2) {
        choice->issuers[0] = word[1];
        choice->guarding.resource = word[2];
        return 3;
    }
    if (strcmp(*word, "--tls") == 0 && left > 2) {
        http->tls_certificate = word[1];
        http->tls_key = word[2];
        return 3;
    }
    return 0;
}

bool
probe_read_http(int count, char **words, struct probe_http *choice)
{
    int used = 0;

    for (int at = 0; at < count; at += used) {
        used = read_option(words + at, count - at, choice);
        if (used == 0)
            return false;
    }
    return true;
}
