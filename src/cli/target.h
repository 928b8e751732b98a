/*
 * target.h - which server: a command line, a URL, a socket, or a configured name
 */
#ifndef CLI_TARGET_H
#define CLI_TARGET_H

#include <mcp/base.h>

enum cli_target_kind { CLI_TARGET_COMMAND, CLI_TARGET_URL, CLI_TARGET_UNIX };

/* All texts are its own. */
struct cli_target {
    enum cli_target_kind kind;
    char *name;     /* as it was configured; NULL: it was not */
    char *url;      /* URL: http: or https: */
    char *path;     /* UNIX */
    char **argv;    /* COMMAND; NULL at the end */
    char **env;     /* "NAME=value", of its configuration; NULL: none */
    char **headers; /* "Name: value", of its configuration; NULL: none */
    char *cwd;      /* of its configuration; NULL: none */
    char *inputs;   /* JSON: what may be asked for in all of these (input.h), or NULL */
    bool is_project; /* a file of a project has it, and not one of the user's own */
    char *note;      /* what the user has to know before it is used; NULL: nothing */
    char *folder; /* where cwd begins if that is asked for; NULL: it is a whole path */
};

/* What a word on the command line means:
 *   "http://..." "https://..."   a URL
 *   "unix:PATH"                  a Unix socket; "unix:@name" is an abstract one
 *   "name:NAME"                  a name in a configuration file, whatever it looks like
 *   a name in a configuration file (see config.h), if it has neither blank nor slash; a
 *       name that is in none, and a program in PATH, is a command. One that is disabled
 *       there may be named as well: that is about another program
 *   else a command line, split as a shell would, but run without one
 * MCP_E_INVAL: err says what is wrong with it; MCP_E_NOMEM. */
int cli_target_read(const char *word, struct cli_target *ret_target, mcp_error *err);
/* Frees what it has; one of zeros, and done twice, is fine. */
void cli_target_done(struct cli_target *target);

/* For people: "./srv --x", the URL without user, query and fragment, "unix:PATH"; what
 * is known as a secret is hidden. NULL: no memory. Freed with free(). */
char *cli_target_describe(const struct cli_target *target);

/* http: or https:, and nothing in it that no address has. */
bool cli_url_is_good(const char *text);

/* A path of a configuration: ~/ is the home, and a relative one begins at the folder, if
 * there is one. Takes the text, which may be NULL. NULL: no memory. Freed with free(). */
char *cli_path_resolve(char *take_text, const char *folder);

/* Words of a command line as sh(1) splits them: blanks, 'single' and "double" quotes,
 * backslashes, and ~/ at the beginning of a word is $HOME/. No variables, patterns or
 * operators: what a shell would obey (; | & < > ( ) and newlines outside of quotes, $
 * and ` outside of single quotes, # at the beginning of a word, ~user) is refused, so
 * that nobody believes it works. NULL at the end. MCP_E_INVAL, MCP_E_NOMEM. */
int cli_words_split(const char *text, char ***ret_words, mcp_error *err);
/* The other way: words behind one another, with quotes where they need them. NULL: no
 * memory. Freed with free(). */
char *cli_words_join(const char *const *words);
void cli_words_free(char **words);

#endif
