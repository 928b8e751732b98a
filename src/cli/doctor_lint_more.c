/* doctor_lint_more.c - resources, templates and prompts as a server lists them */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include <mcp/uri_template.h>

#include "cli/doctor.h"

/* A scheme, a colon, and no blanks or controls: what all URIs have in common. */
static bool
is_uri(const char *text)
{
    size_t length = strcspn(text, ":");

    if (!isalpha((unsigned char)text[0]) || text[length] != ':' || !text[length + 1])
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("+-.", text[i]))
            return false;
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || strchr("\"<>\\^`{|}\x7f", *text))
            return false;
    return true;
}

void
cli_lint_resources(const mcp_json *resources, struct cli_finding *finding)
{
    struct cli_complaints all = {0};
    const char *twice = cli_twice(resources, "uri"), *uri;
    mcp_json_iterator it;
    char passed[64];

    if (twice)
        cli_complain(&all, "%.200s is there twice", twice);
    for (it = mcp_json_each(resources); mcp_json_next(&it);) {
        uri = mcp_json_string(mcp_json_get(it.value, "uri"), "");
        if (!is_uri(uri))
            cli_complain(&all, "\"%.200s\" is no URI", uri);
        if (!*mcp_json_string(mcp_json_get(it.value, "name"), ""))
            cli_complain(&all, "%.200s has no name", uri);
    }
    (void)snprintf(passed, sizeof(passed), "%zu resources, each with a URI of its own.",
                   mcp_json_count(resources));
    cli_complaints_found(&all, CLI_FAIL, finding, passed);
    if (finding->verdict != CLI_PASS)
        cli_mend(finding, "Each resource needs a name and an absolute URI of its own.");
}

void
cli_lint_templates(const mcp_json *templates, struct cli_finding *finding)
{
    struct cli_complaints all = {0};
    const char *twice = cli_twice(templates, "uriTemplate"), *text;
    mcp_uri_template *parsed;
    mcp_json_iterator it;
    mcp_error err = {0};
    char passed[64];

    if (twice)
        cli_complain(&all, "%.200s is there twice", twice);
    for (it = mcp_json_each(templates); mcp_json_next(&it);) {
        text = mcp_json_string(mcp_json_get(it.value, "uriTemplate"), "");
        if (!*text)
            cli_complain(&all, "a template has no uriTemplate");
        else if (mcp_uri_template_new(text, NULL, &parsed, &err) < 0)
            cli_complain(&all, "%.200s: %s", text, err.message);
        else
            mcp_uri_template_free(parsed);
    }
    (void)snprintf(passed, sizeof(passed), "%zu %s, which can be used.",
                   mcp_json_count(templates),
                   mcp_json_count(templates) == 1 ? "template" : "templates");
    cli_complaints_found(&all, CLI_FAIL, finding, passed);
    if (finding->verdict != CLI_PASS)
        cli_mend(finding, "uriTemplate is a URI template as RFC 6570 has it.");
}

void
cli_lint_prompts(const mcp_json *prompts, struct cli_finding *finding)
{
    struct cli_complaints all = {0};
    const char *twice = cli_twice(prompts, "name"), *name;
    mcp_json_iterator it;
    char passed[64];

    if (twice)
        cli_complain(&all, "%.128s is the name of two prompts", twice);
    for (it = mcp_json_each(prompts); mcp_json_next(&it);) {
        name = mcp_json_string(mcp_json_get(it.value, "name"), "");
        if (!*name)
            cli_complain(&all, "a prompt has no name");
        twice = cli_twice(mcp_json_get(it.value, "arguments"), "name");
        if (twice)
            cli_complain(&all, "%.128s has two arguments named %.128s", name, twice);
    }
    (void)snprintf(passed, sizeof(passed), "%zu prompts, whose names are their own.",
                   mcp_json_count(prompts));
    cli_complaints_found(&all, CLI_FAIL, finding, passed);
    if (finding->verdict != CLI_PASS)
        cli_mend(finding, "Names of prompts, and of arguments of one, are there once.");
}
