/*
 * doctor_session.c - checks of a session as any program has it: what is declared and
 * listed, in the era that the command line asks for
 */
#include <stdio.h>
#include <string.h>

#include "cli/doctor.h"

#define NO_METHOD (-32601) /* as a server says that has no such list */

static const char *const list_names[] = {"tools/list", "resources/list",
                                         "resources/templates/list", "prompts/list"};
static const char *const list_capabilities[] = {"tools", "resources", "resources",
                                                "prompts"};

static bool
always(const struct cli_doctor *doctor)
{
    (void)doctor;
    return true;
}

/* What is behind the opening needs it. */
static bool
is_open(const struct cli_doctor *doctor)
{
    return doctor->is_open;
}

/* ---- opening -------------------------------------------------------------------- */

static void
adjust(mcp_client_options *opt, void *user)
{
    const mcp_handler none = {0};

    opt->elicit = none; /* what a check calls is not worth a question */
    opt->sample = none;
    opt->able = 0;
    cli_late_offer(user, opt);
}

static void
read_lists(struct cli_doctor *doctor)
{
    mcp_call_options opt = cli_session_call_options(&doctor->session);

    opt.timeout_ms = doctor->timeout_ms;
    opt.on_progress = NULL;
    for (int i = 0; i < CLI_DOCTOR_LISTS; i++)
        if (mcp_client_list_all(doctor->session.client, (enum mcp_list)i, &opt,
                                &doctor->lists[i], &doctor->list_errors[i]) < 0)
            doctor->lists[i] = NULL;
}

static void
check_opens(struct cli_doctor *doctor, struct cli_finding *finding)
{
    const struct cli_session_wish wish = {.adjust = adjust, .user = &doctor->late};
    const mcp_json *info;

    if (doctor->is_silent) { /* it would be asked the same, and waited for as long */
        doctor->open_code = CLI_UNREACHABLE;
        cli_found(finding, CLI_SKIP, "There was no handshake.");
        return;
    }
    doctor->may_leave = doctor->target.kind == CLI_TARGET_COMMAND;
    if (doctor->may_leave)
        cli_orphans_begin(doctor);
    doctor->open_code = cli_session_open(doctor->cli, doctor->word, &wish,
                                         &doctor->session);
    doctor->is_open = doctor->open_code == CLI_OK;
    if (!doctor->is_open) {
        cli_found(finding, doctor->open_code == CLI_AUTH ? CLI_SKIP : CLI_FAIL,
                  "There is no session%s.",
                  doctor->open_code == CLI_AUTH ? ": the server wants to know who asks"
                                                : "");
        if (doctor->open_code == CLI_AUTH)
            cli_mend(finding, "Sign in first, with mcpctl login.");
        else
            cli_mend(finding, "See what is said above, or run mcpctl info --trace.");
        return;
    }
    info = mcp_client_server_info(doctor->session.client);
    cli_found(finding, CLI_PASS, "%.100s %.100s, protocol %s.",
              mcp_json_string(mcp_json_get(info, "name"), "(no name)"),
              mcp_json_string(mcp_json_get(info, "version"), "(no version)"),
              mcp_client_version(doctor->session.client));
    read_lists(doctor);
}

/* ---- what is declared ----------------------------------------------------------- */

static void
check_capabilities(struct cli_doctor *doctor, struct cli_finding *finding)
{
    struct cli_complaints all = {0};
    const mcp_json *declared;

    declared = mcp_client_server_capabilities(doctor->session.client);
    for (int i = 0; i < CLI_DOCTOR_LISTS; i++) {
        bool is_declared = mcp_json_get(declared, list_capabilities[i]) != NULL;
        size_t count = mcp_json_count(mcp_reply_items(doctor->lists[i]));
        /* a server may have resources without templates, and say so in this way */
        bool may_fail = i == MCP_LIST_TEMPLATES &&
                        doctor->list_errors[i].rpc_code == NO_METHOD;

        if (is_declared && !doctor->lists[i] && !may_fail)
            cli_complain(&all, "%s is declared and fails: %s", list_capabilities[i],
                         doctor->list_errors[i].message);
        else if (!is_declared && count > 0)
            cli_complain(&all, "%s is not declared and %s has %zu",
                         list_capabilities[i], list_names[i], count);
    }
    cli_complaints_found(&all, CLI_FAIL, finding, "What is declared is there.");
    if (finding->verdict != CLI_PASS)
        cli_mend(finding, "Declare in capabilities what there is, and nothing else: "
                          "clients do not ask for the rest.");
}

static void
check_pages(struct cli_doctor *doctor, struct cli_finding *finding)
{
    struct cli_complaints all = {0};

    for (int i = 0; i < CLI_DOCTOR_LISTS; i++) {
        const mcp_error *err = &doctor->list_errors[i];

        if (!doctor->lists[i] &&
            (err->status == MCP_E_PROTO || err->status == MCP_E_LIMIT ||
             err->status == MCP_E_TIMEOUT || err->status == MCP_E_TOTAL_TIMEOUT))
            cli_complain(&all, "%s: %s", list_names[i], err->message);
    }
    cli_complaints_found(&all, CLI_FAIL, finding, "All lists have an end.");
    if (finding->verdict != CLI_PASS)
        cli_mend(finding, "The last page has no nextCursor, and none leads back.");
}

/* ---- what is listed ------------------------------------------------------------- */

static void
lint(struct cli_doctor *doctor, enum mcp_list list,
     void (*rule)(const mcp_json *items, struct cli_finding *finding),
     struct cli_finding *finding)
{
    const mcp_json *items = mcp_reply_items(doctor->lists[list]);
    const mcp_error *err = &doctor->list_errors[list];

    if (!doctor->lists[list] && err->rpc_code != NO_METHOD)
        cli_found(finding, CLI_SKIP, "%s cannot be read: %s.", list_names[list],
                  err->message);
    else if (mcp_json_count(items) == 0)
        cli_found(finding, CLI_SKIP, "There are none.");
    else
        rule(items, finding);
}

static void
check_tool_names(struct cli_doctor *doctor, struct cli_finding *finding)
{
    lint(doctor, MCP_LIST_TOOLS, cli_lint_tool_names, finding);
}

static void
check_tool_texts(struct cli_doctor *doctor, struct cli_finding *finding)
{
    lint(doctor, MCP_LIST_TOOLS, cli_lint_tool_texts, finding);
}

static void
check_tool_inputs(struct cli_doctor *doctor, struct cli_finding *finding)
{
    lint(doctor, MCP_LIST_TOOLS, cli_lint_tool_inputs, finding);
}

static void
check_tool_outputs(struct cli_doctor *doctor, struct cli_finding *finding)
{
    lint(doctor, MCP_LIST_TOOLS, cli_lint_tool_outputs, finding);
}

static void
check_resources(struct cli_doctor *doctor, struct cli_finding *finding)
{
    lint(doctor, MCP_LIST_RESOURCES, cli_lint_resources, finding);
}

static void
check_templates(struct cli_doctor *doctor, struct cli_finding *finding)
{
    lint(doctor, MCP_LIST_TEMPLATES, cli_lint_templates, finding);
}

static void
check_prompts(struct cli_doctor *doctor, struct cli_finding *finding)
{
    lint(doctor, MCP_LIST_PROMPTS, cli_lint_prompts, finding);
}

const struct cli_check cli_session_checks[] = {
    {"session.opens", "Opens a session", always, check_opens},
    {"session.capabilities", "Declares what it has", is_open, check_capabilities},
    {"session.pages", "Ends its lists", is_open, check_pages},
    {"tools.names", "Names its tools", is_open, check_tool_names},
    {"tools.texts", "Describes its tools", is_open, check_tool_texts},
    {"tools.inputs", "Has good input schemas", is_open, check_tool_inputs},
    {"tools.outputs", "Has good output schemas", is_open, check_tool_outputs},
    {"resources", "Names its resources", is_open, check_resources},
    {"templates", "Has good templates", is_open, check_templates},
    {"prompts", "Names its prompts", is_open, check_prompts},
    {"cancel", "Obeys a cancel", is_open, cli_check_cancel},
    {0},
};

void
cli_session_checks_done(struct cli_doctor *doctor)
{
    for (int i = 0; i < CLI_DOCTOR_LISTS; i++)
        mcp_reply_free(doctor->lists[i]);
    if (doctor->is_open)
        cli_session_close(&doctor->session);
    doctor->is_open = false;
    if (doctor->may_leave)
        cli_orphans_end(doctor, 0);
    doctor->may_leave = false;
    cli_text_done(&doctor->orphans);
}
