/*
 * shell_tools.h - a tool as the file describes it, and a call of it
 *
 *   shell_tools.c     the program, and how the file is written
 *   shell_file.c      the file: read, checked, made into schemas
 *   shell_template.c  texts with arguments in them, and the words they become
 *   shell_call.c      one call: the command runs, what it writes is shown, the result
 *   shell_text.c      what it writes, made fit to be read
 *   gate.c            how it is reached, and by whom
 */
#ifndef EXAMPLES_SHELL_TOOLS_H
#define EXAMPLES_SHELL_TOOLS_H

#include <mcp/server.h>

/* One of "tools"; everything is borrowed from the document of the file. */
struct shell_tool {
    const char *name, *title, *description;
    const mcp_json *command;
    const mcp_json *arguments; /* by name; or: */
    const mcp_json *schema;
    const mcp_json *env;
    const char *cwd, *input;
    int64_t timeout_ms, grace_ms, max_input, max_output;
    const int *success; /* exit codes; none: 0 */
    size_t success_count;
    const int *hints;
    size_t hint_count;
};

/* The file. */
struct shell_file {
    struct shell_tool *tools;
    size_t count;
    mcp_decoded *decoded; /* owns them */
};

/* Describe what is wrong; returns MCP_E_INVAL. */
int shell_fault(mcp_error *err, const char *format, ...) MCP_PRINTF(2, 3);

/* What the file says of an argument, or NULL: there is none of that name. */
const mcp_json *shell_argument(const struct shell_tool *tool, const char *name,
                               size_t length);

/* ---- the file ------------------------------------------------------------------- */

/* Read and check it; freed with shell_file_done, which must outlive the calls.
 * MCP_E_INVAL: err says what is wrong, and where in the file. */
int shell_file_read(const char *path, struct shell_file *ret_file, mcp_error *err);
void shell_file_done(struct shell_file *file);

/* The JSON Schema of its arguments, as outermost value. */
void shell_schema_write(const struct shell_tool *tool, mcp_builder *b);

/* ---- templates ------------------------------------------------------------------ */

/* Can the text be filled in? MCP_E_INVAL: no, and why. *array is the one array in it so
 * far, or NULL; array NULL: there must be none. */
int shell_template_check(const struct shell_tool *tool, const char *text,
                         const mcp_json **array, mcp_error *err);

/* The same for the words of the command, with the place of what is wrong; and for its
 * input. */
int shell_words_check(const struct shell_tool *tool, mcp_error *err);
int shell_input_check(const struct shell_tool *tool, mcp_error *err);

/* Is an argument in it, so that a caller has a say? */
bool shell_has_argument(const char *text);

/* What is filled in, as its caller is told, and how many bytes of it there may be. */
struct shell_text_bound {
    const char *what;
    size_t most;
};

/* Fill it in; *ret_text is freed with free, and NULL if an argument is missing, or the
 * text is. MCP_E_NOMEM; MCP_E_INVAL: it cannot be that, err says why. */
int shell_template_fill(const struct shell_tool *tool, const mcp_json *arguments,
                        const struct shell_text_bound *bound, const char *text,
                        char **ret_text, mcp_error *err);

/* The words of the command, NULL at the end; freed with shell_words_free.
 * MCP_E_INVAL: these arguments cannot be words, err says why. */
int shell_words_fill(const struct shell_tool *tool, const mcp_json *arguments,
                     char ***ret_words, mcp_error *err);
void shell_words_free(char **words); /* NULL ok */

/* ---- calls ---------------------------------------------------------------------- */

/* What a call answers with. */
extern const mcp_field shell_outcome_fields[];

/* The handler of all tools; user is the struct shell_tool. */
int shell_call_run(mcp_request *req, mcp_result *out, void *user);

#endif
