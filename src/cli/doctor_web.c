/*
 * doctor_web.c - checks of a server over HTTP, with requests that no good client sends
 *
 * What is asked for is harmless wherever it is accepted: who it speaks, and a tool that
 * there is not.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/doctor.h"
#include "cli/times.h"

#define ID 1
#define ANSWER_MS 10000 /* for one request, unless there is less time */
#define HEADER_MISMATCH (-32020)
#define NO_TOOL "mcpctl-no-such-tool"

/* How one question is put; what is NULL is as a good client has it. */
struct post {
    const char *method;  /* of the message */
    const char *members; /* of its params */
    bool is_modern;
    const char *body_version;   /* in _meta, modern */
    const char *header_version; /* MCP-Protocol-Version */
    const char *mcp_method, *mcp_name;
    const char *host, *type;
    const char *more;   /* header lines */
    bool is_anonymous;  /* without the user's headers */
    bool is_initialize; /* legacy */
};

static bool
is_url(const struct cli_doctor *doctor)
{
    return doctor->target.kind == CLI_TARGET_URL;
}

static bool
is_there(const struct cli_doctor *doctor)
{
    return is_url(doctor) && doctor->is_reachable;
}

/* ---- asking --------------------------------------------------------------------- */

struct cli_way
cli_doctor_way(const struct cli_doctor *doctor)
{
    const struct cli_options *options = &doctor->cli->options;
    int64_t most = cli_times_get("answer", ANSWER_MS);

    return (struct cli_way){.timeout_ms = doctor->timeout_ms < most ? doctor->timeout_ms
                                                                    : most,
                            .ca = options->ca,
                            .insecure = options->insecure,
                            .scope = doctor->cli->scope};
}

static void
add_header(struct cli_text *into, const char *name, const char *value)
{
    if (value && *value)
        cli_text_printf(into, "%s: %s\r\n", name, value);
}

static void
add_own_headers(const struct cli_doctor *doctor, struct cli_text *into)
{
    const struct cli_list *said = &doctor->cli->options.headers;

    for (size_t i = 0; doctor->target.headers && doctor->target.headers[i]; i++)
        cli_text_printf(into, "%s\r\n", doctor->target.headers[i]);
    for (size_t i = 0; i < said->count; i++)
        cli_text_printf(into, "%s\r\n", said->item[i]);
}

static void
write_headers(const struct cli_doctor *doctor, const struct post *post,
              struct cli_text *into)
{
    const char *version = post->is_modern ? CLI_MODERN : CLI_LEGACY;

    add_header(into, "Content-Type", post->type ? post->type : "application/json");
    add_header(into, "Accept", "application/json, text/event-stream");
    if (!post->is_initialize)
        add_header(into, "MCP-Protocol-Version",
                   post->header_version ? post->header_version : version);
    if (post->is_modern) {
        add_header(into, "Mcp-Method",
                   post->mcp_method ? post->mcp_method : post->method);
        add_header(into, "Mcp-Name", post->mcp_name);
    } else if (!post->is_initialize) {
        add_header(into, "Mcp-Session-Id", doctor->session_id);
    }
    if (post->more)
        cli_text_puts(into, post->more);
    if (!post->is_anonymous)
        add_own_headers(doctor, into);
}

static int
ask(const struct cli_doctor *doctor, const struct post *post,
    struct cli_http_answer *ret_answer, mcp_error *err)
{
    struct cli_text headers = {0}, body = {0};
    struct cli_http_question question = {.method = "POST", .host = post->host};
    const struct cli_way way = cli_doctor_way(doctor);
    const char *version = post->body_version ? post->body_version : CLI_MODERN;
    int r;

    write_headers(doctor, post, &headers);
    if (post->is_initialize)
        cli_message_initialize(&body, ID);
    else
        cli_message_request(&body, ID, post->method, post->is_modern ? version : NULL,
                            post->members);
    question.headers = cli_text_string(&headers);
    question.body = cli_text_string(&body);
    r = cli_http_ask(&doctor->url, &question, &way, ret_answer, err);
    cli_text_done(&headers);
    cli_text_done(&body);
    return r;
}

/* Without a message. What ends a session must also be said after Ctrl-C. */
static int
ask_plainly(const struct cli_doctor *doctor, const char *method, bool in_session,
            struct cli_http_answer *ret_answer, mcp_error *err)
{
    struct cli_text headers = {0};
    struct cli_http_question question = {.method = method, .head_only = true};
    struct cli_way way = cli_doctor_way(doctor);
    int r;

    if (in_session)
        way.scope = NULL;
    add_header(&headers, "Accept", "text/event-stream");
    add_header(&headers, "MCP-Protocol-Version", CLI_LEGACY);
    if (in_session)
        add_header(&headers, "Mcp-Session-Id", doctor->session_id);
    add_own_headers(doctor, &headers);
    question.headers = cli_text_string(&headers);
    r = cli_http_ask(&doctor->url, &question, &way, ret_answer, err);
    cli_text_done(&headers);
    return r;
}

/* The question that each server answers, in the era that this one speaks. */
static struct post
usual(const struct cli_doctor *doctor)
{
    if (doctor->is_modern)
        return (struct post){.method = "server/discover", .is_modern = true};
    return (struct post){.method = "ping"};
}

static bool
skip(const struct cli_doctor *doctor, struct cli_finding *finding)
{
    if (doctor->is_modern || doctor->is_legacy)
        return false;
    if (doctor->wants_authorization)
        cli_found(finding, CLI_SKIP, "The server wants to know who asks.");
    else
        cli_found(finding, CLI_SKIP, "There was no handshake.");
    return true;
}

/* ---- who is there --------------------------------------------------------------- */

static void
check_reachable(struct cli_doctor *doctor, struct cli_finding *finding)
{
    const struct post post = {
        .method = "server/discover", .is_modern = true, .is_anonymous = true};
    struct cli_http_answer answer;
    mcp_error err = {0};

    if (ask(doctor, &post, &answer, &err) < 0) {
        cli_found(finding, CLI_FAIL, "%s: %s.", doctor->url.authority, err.message);
        cli_mend(finding, "Check the address, and whether the server runs.");
    } else {
        doctor->is_reachable = true;
        doctor->wants_authorization = answer.status == 401;
        if (!cli_http_header(&answer, "WWW-Authenticate", doctor->challenge,
                             sizeof(doctor->challenge)))
            doctor->challenge[0] = '\0';
        cli_found(finding, CLI_PASS, "It answers, with HTTP status %d.", answer.status);
    }
    cli_http_answer_done(&answer);
}

static bool
has_version(const mcp_json *list, const char *version)
{
    mcp_json_iterator it;

    for (it = mcp_json_each(list); mcp_json_next(&it);)
        if (mcp_json_is_string(it.value, version))
            return true;
    return false;
}

static bool
greet_modern(const struct cli_doctor *doctor)
{
    const struct post post = {.method = "server/discover", .is_modern = true};
    struct cli_http_answer answer;
    mcp_error err = {0};
    mcp_doc *doc = NULL;
    bool is_modern;

    if (ask(doctor, &post, &answer, &err) == 0)
        doc = cli_http_message(&answer);
    is_modern = has_version(
        mcp_json_get(mcp_json_get(mcp_doc_root(doc), "result"), "supportedVersions"),
        CLI_MODERN);
    mcp_doc_free(doc);
    cli_http_answer_done(&answer);
    return is_modern;
}

static bool
greet_legacy(struct cli_doctor *doctor)
{
    const struct post post = {.is_initialize = true};
    struct cli_http_answer answer;
    mcp_error err = {0};
    mcp_doc *doc = NULL;
    bool is_legacy;

    if (ask(doctor, &post, &answer, &err) == 0)
        doc = cli_http_message(&answer);
    is_legacy = mcp_json_get(mcp_json_get(mcp_doc_root(doc), "result"),
                             "protocolVersion") != NULL;
    if (is_legacy && !cli_http_header(&answer, "Mcp-Session-Id", doctor->session_id,
                                      sizeof(doctor->session_id)))
        doctor->session_id[0] = '\0';
    mcp_doc_free(doc);
    cli_http_answer_done(&answer);
    return is_legacy;
}

/* Does a GET give the stream of 2024-11-05? Its first event names where to post. */
static bool
is_old(const struct cli_doctor *doctor)
{
    struct cli_http_answer answer;
    mcp_error err = {0};
    char type[128] = "";
    bool found = ask_plainly(doctor, "GET", false, &answer, &err) == 0 &&
                 answer.status == 200 &&
                 cli_http_header(&answer, "Content-Type", type, sizeof(type)) &&
                 strncasecmp(type, "text/event-stream", 17) == 0;

    cli_http_answer_done(&answer);
    return found;
}

static void
check_eras(struct cli_doctor *doctor, struct cli_finding *finding)
{
    doctor->is_modern = greet_modern(doctor);
    doctor->is_legacy = greet_legacy(doctor);
    if (doctor->is_modern || doctor->is_legacy) {
        cli_found(finding, CLI_PASS, "It speaks %s%s%s.",
                  doctor->is_modern ? "2026-07-28" : "",
                  doctor->is_modern && doctor->is_legacy ? ", and " : "",
                  !doctor->is_legacy      ? ""
                  : doctor->session_id[0] ? "2025-11-25 or before, with sessions"
                                          : "2025-11-25 or before, without sessions");
    } else if (skip(doctor, finding) && doctor->wants_authorization) {
        return;
    } else if (is_old(doctor)) {
        cli_found(finding, CLI_WARN,
                  "It speaks the transport of 2024-11-05 alone (HTTP+SSE).");
        cli_mend(finding, "Serve Streamable HTTP: clients give the old one up.");
    } else {
        cli_found(finding, CLI_FAIL,
                  "It answers neither server/discover nor initialize.");
        cli_mend(finding, "Check the path: %s is where messages are posted.",
                 doctor->url.path);
    }
}

/* ---- what must be refused ------------------------------------------------------- */

/* Puts a question that should be refused. PASS if it is, else `otherwise`. */
static int
expect_refused(const struct cli_doctor *doctor, const struct post *post,
               const char *what, enum cli_verdict otherwise,
               struct cli_finding *finding)
{
    struct cli_http_answer answer;
    mcp_error err = {0};
    int status = 0;

    if (ask(doctor, post, &answer, &err) < 0) {
        cli_found(finding, CLI_WARN, "%s: no answer, %s.", what, err.message);
    } else {
        status = answer.status;
        if (status >= 400 && status < 500)
            cli_found(finding, CLI_PASS, "%s is refused with HTTP status %d.", what,
                      status);
        else
            cli_found(finding, otherwise, "%s is answered with HTTP status %d.", what,
                      status);
    }
    cli_http_answer_done(&answer);
    return status;
}

static void
check_type(struct cli_doctor *doctor, struct cli_finding *finding)
{
    struct post post = usual(doctor);

    if (skip(doctor, finding))
        return;
    post.type = "text/plain";
    (void)expect_refused(doctor, &post, "A body of type text/plain", CLI_WARN, finding);
    if (finding->verdict != CLI_PASS)
        cli_mend(finding, "Refuse other types with 415: pages elsewhere can send "
                          "text/plain without asking.");
}

static void
check_host(struct cli_doctor *doctor, struct cli_finding *finding)
{
    struct post post = usual(doctor);

    if (skip(doctor, finding))
        return;
    post.host = "attacker.example";
    (void)expect_refused(doctor, &post, "A foreign Host header", CLI_WARN, finding);
    if (finding->verdict != CLI_PASS)
        cli_mend(finding, "Accept only your own names in Host, against DNS rebinding.");
}

/* A page of anybody reaches what listens on this machine, with the user's browser. */
static bool
is_local(const struct cli_url *url)
{
    return strcasecmp(url->host, "localhost") == 0 || strcmp(url->host, "::1") == 0 ||
           strncmp(url->host, "127.", 4) == 0;
}

/* Origin MUST be validated (basic/transports, Security Warning); but which ones are fine
 * a server for everybody decides itself. */
static void
check_origin(struct cli_doctor *doctor, struct cli_finding *finding)
{
    struct post post = usual(doctor);
    enum cli_verdict otherwise = is_local(&doctor->url) ? CLI_FAIL : CLI_WARN;

    if (skip(doctor, finding))
        return;
    post.more = "Origin: http://attacker.example\r\n";
    (void)expect_refused(doctor, &post, "A foreign Origin header", otherwise, finding);
    if (finding->verdict != CLI_PASS)
        cli_mend(finding, "Refuse pages of other origins with 403.");
}

static void
check_version(struct cli_doctor *doctor, struct cli_finding *finding)
{
    struct post post = usual(doctor);
    const char *what = "A version that does not exist";
    int status;

    if (skip(doctor, finding))
        return;
    if (doctor->is_modern) {
        post.body_version = "2025-11-25"; /* in the header stands another */
        what = "A version header that differs from the message";
    } else {
        post.header_version = "1999-01-01";
    }
    status = expect_refused(doctor, &post, what, CLI_FAIL, finding);
    if (finding->verdict == CLI_PASS && status != 400)
        finding->verdict = CLI_WARN;
    if (finding->verdict != CLI_PASS)
        cli_mend(finding, "Answer with HTTP status 400%s.",
                 doctor->is_modern ? " and error -32020" : "");
}

/* The error code of what a question gets; 0: none. */
static int64_t
error_of(const struct cli_doctor *doctor, const struct post *post)
{
    struct cli_http_answer answer;
    mcp_error err = {0};
    mcp_doc *doc = NULL;
    int64_t code;

    if (ask(doctor, post, &answer, &err) == 0)
        doc = cli_http_message(&answer);
    code = cli_message_error(mcp_doc_root(doc));
    mcp_doc_free(doc);
    cli_http_answer_done(&answer);
    return code;
}

static void
check_mirrors(struct cli_doctor *doctor, struct cli_finding *finding)
{
    const struct post method = {
        .method = "server/discover", .is_modern = true, .mcp_method = "tools/list"};
    const struct post name = {.method = "tools/call",
                              .members = "\"name\":\"" NO_TOOL "\",\"arguments\":{}",
                              .is_modern = true,
                              .mcp_name = "another-tool"};
    int64_t code;

    if (skip(doctor, finding))
        return;
    if (!doctor->is_modern) {
        cli_found(finding, CLI_SKIP, "These headers came with 2026-07-28.");
        return;
    }
    code = error_of(doctor, &method);
    if (code == HEADER_MISMATCH)
        code = error_of(doctor, &name);
    if (code == HEADER_MISMATCH) {
        cli_found(finding, CLI_PASS, "Mcp-Method and Mcp-Name are compared.");
        return;
    }
    cli_found(
        finding, CLI_FAIL,
        "Mcp-Method or Mcp-Name may differ from the message: the answer has %s %lld.",
        code == 0 ? "no error," : "error", (long long)code);
    cli_mend(finding, "Refuse what differs with HTTP status 400 and error -32020.");
}

/* ---- GET and DELETE ------------------------------------------------------------- */

static void
check_get(struct cli_doctor *doctor, struct cli_finding *finding)
{
    struct cli_http_answer answer;
    mcp_error err = {0};
    char type[128] = "";

    if (skip(doctor, finding))
        return;
    if (ask_plainly(doctor, "GET", false, &answer, &err) < 0) {
        cli_found(finding, CLI_WARN, "No answer: %s.", err.message);
    } else {
        (void)cli_http_header(&answer, "Content-Type", type, sizeof(type));
        if (answer.status >= 400 && answer.status < 500)
            cli_found(finding, CLI_PASS, "It is refused with HTTP status %d.",
                      answer.status);
        else if (strncasecmp(type, "text/event-stream", 17) == 0 &&
                 !doctor->session_id[0])
            cli_found(finding, CLI_PASS, "It opens a stream; there are no sessions.");
        else
            cli_found(finding, CLI_WARN,
                      "It is answered with HTTP status %d and type \"%s\".",
                      answer.status, type);
    }
    if (finding->verdict != CLI_PASS)
        cli_mend(finding, "Answer 405 if there are no streams, 400 without a session.");
    cli_http_answer_done(&answer);
}

static void
check_delete(struct cli_doctor *doctor, struct cli_finding *finding)
{
    const struct post ping = {.method = "ping"};
    struct cli_http_answer answer;
    mcp_error err = {0};

    if (skip(doctor, finding))
        return;
    if (!doctor->session_id[0]) {
        cli_found(finding, CLI_SKIP, "There are no sessions.");
        return;
    }
    if (ask_plainly(doctor, "DELETE", true, &answer, &err) < 0) {
        cli_found(finding, CLI_WARN, "No answer: %s.", err.message);
    } else if (answer.status == 405) {
        cli_found(finding, CLI_PASS, "Clients cannot end sessions, and are told so.");
    } else if (answer.status >= 300) {
        cli_found(finding, CLI_WARN, "It is answered with HTTP status %d.",
                  answer.status);
    } else if (expect_refused(doctor, &ping, "What comes after it", CLI_FAIL,
                              finding) != 404 &&
               finding->verdict == CLI_PASS) {
        finding->verdict = CLI_WARN;
    }
    if (finding->verdict != CLI_PASS)
        cli_mend(finding,
                 "Answer 2xx and forget the session, then 404 to what names it.");
    doctor->session_id[0] = '\0';
    cli_http_answer_done(&answer);
}

const struct cli_check cli_web_checks[] = {
    {"http.reachable", "Is reachable", is_url, check_reachable},
    {"http.eras", "Answers the handshake", is_there, check_eras},
    {"http.authorization", "Says how to sign in", is_there, cli_check_authorization},
    {"http.type", "Refuses other content types", is_there, check_type},
    {"http.host", "Refuses a foreign Host", is_there, check_host},
    {"http.origin", "Refuses a foreign Origin", is_there, check_origin},
    {"http.version", "Compares the version header", is_there, check_version},
    {"http.mirrors", "Compares Mcp-Method and Mcp-Name", is_there, check_mirrors},
    {"http.get", "Knows what to do with GET", is_there, check_get},
    {"http.delete", "Ends a session by DELETE", is_there, check_delete},
    {0},
};

/* A check may have been left before the session was ended. */
void
cli_web_checks_done(struct cli_doctor *doctor)
{
    struct cli_http_answer answer;
    mcp_error err = {0};

    if (!doctor->session_id[0])
        return;
    (void)ask_plainly(doctor, "DELETE", true, &answer, &err);
    cli_http_answer_done(&answer);
}
