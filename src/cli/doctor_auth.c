/* doctor_auth.c - the way from a 401 to who gives tokens, walked as a client would */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/doctor.h"

bool
cli_challenge_metadata(const char *challenge, char *into, size_t room)
{
    static const char name[] = "resource_metadata";
    const char *at = challenge;
    size_t length;

    for (at = strcasestr(at, name); at; at = strcasestr(at, name)) {
        at += sizeof(name) - 1;
        at += strspn(at, " \t");
        if (*at != '=')
            continue;
        at += 1 + strspn(at + 1, " \t");
        if (*at == '"')
            length = strcspn(++at, "\"");
        else
            length = strcspn(at, ", \t");
        if (length == 0 || length >= room)
            return false;
        memcpy(into, at, length);
        into[length] = '\0';
        return true;
    }
    return false;
}

/* Is this the name of the resource behind url: the same origin, and a path that leads
 * to it? */
static bool
is_resource(const char *named, const struct cli_url *url)
{
    struct cli_url resource;
    size_t length;

    if (!cli_url_read(named, &resource) || resource.is_tls != url->is_tls ||
        strcasecmp(resource.authority, url->authority) != 0)
        return false;
    length = strlen(resource.path);
    if (resource.path[length - 1] == '/')
        length--;
    return strncmp(resource.path, url->path, length) == 0 &&
           strchr("/?", url->path[length]) != NULL; /* or its end */
}

static void
judge_metadata(struct cli_doctor *doctor, const char *where, const mcp_json *metadata,
               struct cli_finding *finding)
{
    const char *resource = mcp_json_string(mcp_json_get(metadata, "resource"), "");
    const mcp_json *servers = mcp_json_get(metadata, "authorization_servers");

    if (!is_resource(resource, &doctor->url)) {
        cli_found(finding, CLI_FAIL, "%.200s names another resource: \"%.200s\".",
                  where, resource);
        cli_mend(finding, "Its member resource must be the URL that clients use.");
    } else if (mcp_json_count(servers) == 0) {
        cli_found(finding, CLI_FAIL, "%.200s names no authorization server.", where);
        cli_mend(finding, "List them in its member authorization_servers.");
    } else {
        cli_found(finding, CLI_PASS, "Tokens are given by %.200s.",
                  mcp_json_string(mcp_json_at(servers, 0), "?"));
    }
}

static void
walk(struct cli_doctor *doctor, const char *where, struct cli_finding *finding)
{
    const struct cli_http_question question = {
        .method = "GET", .headers = "Accept: application/json\r\n"};
    const struct cli_way way = cli_doctor_way(doctor);
    struct cli_http_answer answer;
    struct cli_url url;
    mcp_error err = {0};
    mcp_doc *doc = NULL;
    int r;

    if (!cli_url_read(where, &url)) {
        cli_found(finding, CLI_FAIL, "%.200s is no URL that can be read.", where);
        cli_mend(finding, "Name in resource_metadata where clients find it.");
        return;
    }
    r = cli_http_ask(&url, &question, &way, &answer, &err);
    if (r == 0 && answer.status == 200)
        r = mcp_doc_parse(cli_text_string(&answer.body), answer.body.length, NULL, &doc,
                          &err);
    if (doc) {
        judge_metadata(doctor, where, mcp_doc_root(doc), finding);
    } else if (r < 0) {
        cli_found(finding, CLI_FAIL, "%.200s cannot be read: %s.", where, err.message);
    } else {
        cli_found(finding, CLI_FAIL, "%.200s is answered with HTTP status %d.", where,
                  answer.status);
    }
    if (!doc)
        cli_mend(finding, "Serve the metadata of the resource there, as JSON.");
    mcp_doc_free(doc);
    cli_http_answer_done(&answer);
}

/* A challenge need not say where it stands: there is a usual place (RFC 9728). A server
 * with tokens of its own kind has neither, which is allowed. */
static void
walk_well_known(struct cli_doctor *doctor, struct cli_finding *finding)
{
    char where[2560];

    (void)snprintf(
        where, sizeof(where), "%s://%s/.well-known/oauth-protected-resource%s",
        doctor->url.is_tls ? "https" : "http", doctor->url.authority, doctor->url.path);
    walk(doctor, where, finding);
    if (finding->verdict != CLI_FAIL)
        return;
    cli_found(finding, CLI_WARN,
              "A 401 comes without resource_metadata, and nothing usable stands in the "
              "usual place.");
    cli_mend(finding, "To let clients sign in, send WWW-Authenticate: Bearer "
                      "resource_metadata=\"URL\" with it.");
}

void
cli_check_authorization(struct cli_doctor *doctor, struct cli_finding *finding)
{
    char where[1024];

    if (!doctor->wants_authorization) {
        cli_found(finding, CLI_SKIP, "No authorization is wanted.");
    } else if (!cli_challenge_metadata(doctor->challenge, where, sizeof(where))) {
        walk_well_known(doctor, finding);
    } else {
        walk(doctor, where, finding);
    }
}
