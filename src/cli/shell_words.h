/*
 * shell_words.h - a line of the shell as words, whole or while it is typed
 */
#ifndef CLI_SHELL_WORDS_H
#define CLI_SHELL_WORDS_H

#include <mcp/base.h>

#include "cli/text.h"

/* A line that was entered. */
struct cli_line {
    char **words; /* NULL at the end; NULL: there are none */
    int count;
    bool is_background; /* an & stood at the end */
};

/* Splits it as cli_words_split does. A line of blanks, or one that begins with #, has
 * no words. MCP_E_INVAL: err says what is wrong; MCP_E_NOMEM. */
int cli_line_read(const char *text, struct cli_line *ret_line, mcp_error *err);
void cli_line_done(struct cli_line *line);

/* A line up to the cursor, while it is typed. */
struct cli_typed {
    char **words; /* whole ones, before the one at the cursor; NULL at the end */
    int count;
    char *word; /* what there is of the one at the cursor, without its quotes */
    char quote; /* which quote is open at the cursor; 0: none */
};

/* Never refuses a line: who types is not done yet. MCP_E_NOMEM. */
int cli_typed_read(const char *text, size_t length, struct cli_typed *ret_typed);
void cli_typed_done(struct cli_typed *typed);

/* More of a word, as it has to be typed while this quote is open (0: none). */
void cli_words_add_quoted(struct cli_text *into, const char *data, size_t length,
                          char quote);

#endif
