/*
 * doctor.h - checks of a server: what each saw, and how to mend it
 *
 * A check is a row of a table: {id, title, applies, run}. They run in the order of the
 * table and share the doctor, so that one may use what another has begun. None may wait
 * without a limit.
 */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/doctor_http.h"
#include "cli/doctor_pipe.h"
#include "cli/late.h"
#include "cli/session.h"
#include "cli/text.h"

#define CLI_DOCTOR_LISTS 4 /* enum mcp_list */
#define CLI_DOCTOR_SESSION_ID 256
#define CLI_DOCTOR_KNOWN 64

enum cli_verdict { CLI_PASS, CLI_WARN, CLI_FAIL, CLI_SKIP };

/* What a check found. Texts are one line each and harmless. */
struct cli_finding {
    enum cli_verdict verdict;
    struct cli_text seen, mend;
};

/* Sets the verdict, and what was seen; and how to mend it. The last word counts. */
void cli_found(struct cli_finding *finding, enum cli_verdict verdict,
               const char *format, ...) MCP_PRINTF(3, 4);
void cli_mend(struct cli_finding *finding, const char *format, ...) MCP_PRINTF(2, 3);
void cli_finding_done(struct cli_finding *finding);

struct cli_doctor {
    struct cli *cli;
    const char *word; /* the target, as it was said */
    struct cli_target target;
    int64_t timeout_ms; /* for one answer */
    int64_t
        exit_ms; /* for a program to end: hosts wait that long, and then use force */
    int64_t orphan_ms;  /* for what is below it to follow */
    int argument_count; /* of the tool that is to be canceled */
    char **arguments;

    /* a program that we start ourselves, to see its bytes (doctor_stdio.c) */
    struct cli_pipe life;
    bool was_started;
    bool is_modern, is_legacy; /* it answers in that era */
    bool is_silent;            /* it runs, and answers nothing at all */
    struct cli_text refusal;   /* how it answers initialize if it is not legacy */
    size_t foreign, error_bytes;
    char first_foreign[CLI_PIPE_SHOWN];
    struct cli_text orphans;
    size_t orphan_count;
    int64_t known[CLI_DOCTOR_KNOWN]; /* children that we had before */
    size_t known_count;

    /* HTTP, byte by byte (doctor_web.c) */
    struct cli_url url;
    bool is_reachable, wants_authorization;
    char session_id[CLI_DOCTOR_SESSION_ID];
    char challenge[1024]; /* WWW-Authenticate; "": none */

    /* a session as any program would have it (doctor_session.c) */
    struct cli_session session;
    bool is_open;
    bool may_leave; /* processes: it has started a program */
    int open_code;  /* why it is not open */
    struct cli_late late;
    mcp_reply *lists[CLI_DOCTOR_LISTS];
    mcp_error list_errors[CLI_DOCTOR_LISTS];
};

struct cli_check {
    const char *id;    /* "stdio.eof" */
    const char *title; /* "Exits when its stdin ends"; NULL ends a table */
    bool (*applies)(const struct cli_doctor *doctor);
    void (*run)(struct cli_doctor *doctor, struct cli_finding *finding);
};

extern const struct cli_check cli_stdio_checks[];   /* doctor_stdio.c */
extern const struct cli_check cli_web_checks[];     /* doctor_web.c */
extern const struct cli_check cli_session_checks[]; /* doctor_session.c */

/* Times as they are for users. */
#define CLI_DOCTOR_EXIT_MS 2000
#define CLI_DOCTOR_ORPHAN_MS 1000

/* Ends what the checks have begun. */
void cli_stdio_checks_done(struct cli_doctor *doctor);
void cli_web_checks_done(struct cli_doctor *doctor);
void cli_session_checks_done(struct cli_doctor *doctor);

/* How the doctor gets to a server over HTTP (doctor_web.c). */
struct cli_way cli_doctor_way(const struct cli_doctor *doctor);

/* The walk of a 401: what it names, and what stands there (doctor_auth.c). */
void cli_check_authorization(struct cli_doctor *doctor, struct cli_finding *finding);
/* The value of resource_metadata in a challenge; false: there is none, or no room. */
bool cli_challenge_metadata(const char *challenge, char *into, size_t room);

/* A call that is canceled in the middle (doctor_cancel.c). */
void cli_check_cancel(struct cli_doctor *doctor, struct cli_finding *finding);

/* ---- processes that are left behind (doctor_orphans.c) -------------------------- */

/* A server is about to be started: from here on what it leaves falls to us. */
void cli_orphans_begin(struct cli_doctor *doctor);
/* It has ended. Waits, at most orphan_ms, for what is below it to follow; what does not
 * is noted and killed. session: the one that it had (setsid), or 0. */
void cli_orphans_end(struct cli_doctor *doctor, pid_t session);

/* ---- lists of a server (doctor_lint.c, doctor_lint_more.c), pure ---------------- */

void cli_lint_tool_names(const mcp_json *tools, struct cli_finding *finding);
void cli_lint_tool_texts(const mcp_json *tools, struct cli_finding *finding);
void cli_lint_tool_inputs(const mcp_json *tools, struct cli_finding *finding);
void cli_lint_tool_outputs(const mcp_json *tools, struct cli_finding *finding);
void cli_lint_resources(const mcp_json *resources, struct cli_finding *finding);
void cli_lint_templates(const mcp_json *templates, struct cli_finding *finding);
void cli_lint_prompts(const mcp_json *prompts, struct cli_finding *finding);

/* Complaints of one check, gathered: the first ones are shown, all are counted. */
struct cli_complaints {
    size_t count;
    struct cli_text text;
};
void cli_complain(struct cli_complaints *all, const char *format, ...) MCP_PRINTF(2, 3);
/* The finding that they make: `verdict` with them, or PASS and this text. Freed. */
void cli_complaints_found(struct cli_complaints *all, enum cli_verdict verdict,
                          struct cli_finding *finding, const char *passed);
/* Do two of that list have the same text as this member? One such text, or NULL. */
const char *cli_twice(const mcp_json *list, const char *key);

/* ---- messages (doctor_message.c) ------------------------------------------------ */

#define CLI_MODERN "2026-07-28"
#define CLI_LEGACY "2025-11-25"

/* A request, one line without newline. version: CLI_MODERN, or another one to put into
 * _meta; NULL: the legacy era, none. members: of params, "\"name\":\"x\"", or NULL. */
void cli_message_request(struct cli_text *into, int id, const char *method,
                         const char *version, const char *members);
/* initialize of the legacy era. */
void cli_message_initialize(struct cli_text *into, int id);
/* Is this a message of JSON-RPC, or a batch of them? */
bool cli_message_is(const mcp_json *value);
/* The answer to that id? */
bool cli_message_answers(const mcp_json *value, int id);
/* The code of an error, or 0. */
int64_t cli_message_error(const mcp_json *value);

/* ---- the report (doctor_report.c) ----------------------------------------------- */

struct cli_report_row {
    const struct cli_check *check;
    struct cli_finding finding;
};

struct cli_report {
    char *target;
    struct cli_report_row *rows;
    size_t count;
};

size_t cli_report_count(const struct cli_report *report, enum cli_verdict verdict);
void cli_report_text(const struct cli_report *report, size_t width, bool color,
                     struct cli_text *into);
void cli_report_json(const struct cli_report *report, mcp_builder *b);
void cli_report_junit(const struct cli_report *report, struct cli_text *into);

#endif
