/*
 * do.h - what commands do once there is a session: the shell does the same on its own
 *
 * argv: the words behind the target, argc of them, as many as the command's table says
 * (less its target). Each returns how to exit; what went wrong was said.
 */
#ifndef CLI_DO_H
#define CLI_DO_H

#include "cli/session.h"

int cli_do_info(struct cli_session *session, int argc, char **argv);
int cli_do_tools(struct cli_session *session, int argc, char **argv);
int cli_do_call(struct cli_session *session, int argc, char **argv);
int cli_do_resources(struct cli_session *session, int argc, char **argv);
int cli_do_read(struct cli_session *session, int argc, char **argv);
int cli_do_templates(struct cli_session *session, int argc, char **argv);
int cli_do_prompts(struct cli_session *session, int argc, char **argv);
int cli_do_get(struct cli_session *session, int argc, char **argv);
int cli_do_complete(struct cli_session *session, int argc, char **argv);
int cli_do_ping(struct cli_session *session, int argc, char **argv);
int cli_do_raw(struct cli_session *session, int argc, char **argv);

/* The run function of such a command: opens the session with argv[0], does it with the
 * rest, closes. */
int cli_do_in_session(struct cli *cli, int argc, char **argv,
                      int (*fn)(struct cli_session *session, int argc, char **argv));

/* Parts of these that others need. */

/* The result of a call on stdout: JSON, or for people. Returns 5 if the tool failed. */
int cli_show_result(struct cli *cli, const mcp_reply *reply);

/* The tool of that name, borrowed from *ret_list (freed by the caller); says that there is
 * none, with near names, and returns CLI_OTHER. */
int cli_find_tool(struct cli_session *session, const char *name, mcp_reply **ret_list,
                  const mcp_json **ret_tool);

#endif
