/*
 * support/shell.h - servers that are a line of shell, for tests that spawn one
 *
 * Each begins by greeting: it answers server/discover, the first line it reads, as a
 * modern server. Calls of a client have the ids 1, 2, 3.
 */
#ifndef TESTS_SUPPORT_SHELL_H
#define TESTS_SUPPORT_SHELL_H

#define SHELL_GREETS                                                             \
    "read l; echo '{\"jsonrpc\":\"2.0\",\"id\":\"libmcp:discover\",\"result\":{" \
    "\"supportedVersions\":[\"2026-07-28\"],\"capabilities\":{},\"resultType\":" \
    "\"complete\"}}'; "

/* Answers call n with {"n":n}; goes when its stdin ends. */
#define SHELL_ANSWERS                                                       \
    SHELL_GREETS                                                            \
    "n=0; while read l; do n=$((n+1)); echo '{\"jsonrpc\":\"2.0\",\"id\":'" \
    "$n',\"result\":{\"n\":'$n'}}'; done"

/* Reads and says nothing more; goes when its stdin ends. */
#define SHELL_LISTENS SHELL_GREETS "while read l; do :; done"

/* Its arguments, for mcp_client_spawn. */
#define SHELL(line) ((const char *const[]){"sh", "-c", line, NULL})

#endif
