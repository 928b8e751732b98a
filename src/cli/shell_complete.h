/*
 * shell_complete.h - completion in the shell: what is being typed, and what it could be
 *
 * Knows neither terminal nor server: lookup fetches what the server has, and the editor
 * shows it.
 */
#ifndef CLI_SHELL_COMPLETE_H
#define CLI_SHELL_COMPLETE_H

#include <mcp/json.h>

#include "cli/shell_words.h"

enum cli_want_kind {
    CLI_WANT_NOTHING = 0,
    CLI_WANT_COMMAND,
    CLI_WANT_OPTION,
    CLI_WANT_TOOL,
    CLI_WANT_TOOL_ARGUMENT, /* the name of one */
    CLI_WANT_TOOL_VALUE,
    CLI_WANT_PROMPT,
    CLI_WANT_PROMPT_ARGUMENT,
    CLI_WANT_PROMPT_VALUE,
    CLI_WANT_RESOURCE,
    CLI_WANT_JOB,
    CLI_WANT_SETTING,
    CLI_WANT_SETTING_VALUE
};

/* Texts are borrowed from the cli_typed it was read from. */
struct cli_want {
    enum cli_want_kind kind;
    const char *command; /* the first word; NULL: there is none yet */
    const char *subject; /* the tool, prompt or setting that this is about */
    const char *name;    /* of the argument whose value is typed: name_length bytes */
    size_t name_length;
    const char *prefix; /* what there is of it: candidates begin so */
    char *const *given; /* words behind the subject, given_count of them */
    int given_count;
};

void cli_want_read(const struct cli_typed *typed, struct cli_want *ret_want);

/* What it could be. */
struct cli_candidates {
    const char *prefix; /* all begin so; borrowed */
    const char *tail;   /* is typed behind a choice that is the only one; never NULL */
    char **item;
    size_t count, room;
    bool failed; /* no memory; those there are, are good */
};

void cli_candidates_init(struct cli_candidates *list, const struct cli_want *want);
void cli_candidates_done(struct cli_candidates *list);

/* One more, if it begins as it must and a terminal can show it: what a server names
 * must not type for the user. */
void cli_candidates_add(struct cli_candidates *list, const char *text);

/* Texts of a NULL-terminated array; the member `key` of each object of a JSON array, or
 * with key NULL its elements. */
void cli_candidates_add_names(struct cli_candidates *list, const char *const *names);
void cli_candidates_add_items(struct cli_candidates *list, const mcp_json *items,
                              const char *key);

/* Names of a tool's arguments (its inputSchema), or of a prompt's (its list), that are
 * not given yet, as "name=". */
void cli_candidates_add_fields(struct cli_candidates *list, const struct cli_want *want,
                               const mcp_json *schema);
void cli_candidates_add_arguments(struct cli_candidates *list,
                                  const struct cli_want *want,
                                  const mcp_json *arguments);

/* The values that the schema of one field names. */
void cli_candidates_add_values(struct cli_candidates *list, const mcp_json *field);

/* In order, each once. */
void cli_candidates_sort(struct cli_candidates *list);

/* How many bytes all have in common at their beginning; no character is cut. */
size_t cli_candidates_common(const struct cli_candidates *list);

/* All of them, in columns, for a terminal that is that wide. */
void cli_candidates_show(const struct cli_candidates *list, size_t width,
                         struct cli_text *into);

#endif
