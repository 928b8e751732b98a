/*
 * shell_room.h - a session for the parts of the shell: with a small server, in memory
 *
 * Between room_hear and room_heard, what is written to stdout and stderr is gathered;
 * no asserts there, since they would be gathered too. Everything else asserts.
 */
#ifndef TESTS_CLI_SHELL_ROOM_H
#define TESTS_CLI_SHELL_ROOM_H

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <mcp/server.h>

#include "cli/session.h"
#include "support/test.h"

struct room {
    struct cli cli;
    struct cli_session session;
    mcp_server *server;
    int saved[2], heard_fd;
    char heard[16384];
};

static inline int
room_echo(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    return mcp_result_text(
        out,
        mcp_json_string(mcp_json_get(mcp_request_arguments(req), "text"), "nothing"));
}

static inline int
room_fail(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_fail(out, "it broke");
}

/* Until it is canceled. */
static inline int
room_hang(mcp_request *req, mcp_result *out, void *user)
{
    (void)out, (void)user;
    (void)mcp_request_progress(req, 1, 4, NULL);
    return mcp_request_sleep(req, 3600000);
}

/* Pages of a book: its name, then a number. */
static inline int
room_pages(mcp_request *req, mcp_result *out, void *user)
{
    const char *book = mcp_request_complete_known(req, "book");

    (void)user;
    if (strcmp(mcp_request_complete_name(req), "book") == 0)
        return mcp_result_value(out, "red book");
    return mcp_result_value(out, book && strcmp(book, "red book") == 0 ? "17" : "?");
}

static inline void
room_add(struct room *room)
{
    static const char *const languages[] = {"c", "python", "perl", NULL};
    static const mcp_prompt_argument arguments[] = {
        {.name = "code", .required = true},
        {.name = "language", .values = languages},
        {0}};
    static const char schema[] =
        "{\"type\":\"object\",\"properties\":{\"text\":{\"type\":\"string\"},"
        "\"color\":{\"enum\":[\"red\",\"green\"]},\"loud\":{\"type\":\"boolean\"}}}";
    const mcp_tool tools[] = {
        MCP_TOOL(.name = "echo", .input_schema = schema, .reply = room_echo),
        MCP_TOOL(.name = "fail", .reply = room_fail),
        MCP_TOOL(.name = "hang", .run = room_hang)};
    mcp_server *server = room->server;

    for (size_t i = 0; i < 3; i++)
        assert_int_equal(mcp_server_add_tool(server, &tools[i], NULL), 0);
    assert_int_equal(
        mcp_server_add_prompt(
            server,
            &MCP_PROMPT(.name = "review", .arguments = arguments, .reply = room_echo),
            NULL),
        0);
    assert_int_equal(
        mcp_server_add_resource(
            server, &MCP_RESOURCE(.uri = "note:index", .name = "index", .text = "all"),
            NULL),
        0);
    assert_int_equal(
        mcp_server_add_template(server,
                                &MCP_TEMPLATE(.uri_template = "page:{book}/{page}",
                                              .name = "page", .reply = room_echo,
                                              .complete = {.reply = room_pages}),
                                NULL),
        0);
}

static inline void
room_open(struct room *room)
{
    memset(room, 0, sizeof(*room));
    cli_options_begin(&room->cli.options);
    cli_say_init(&room->cli.say, false, false, false);
    assert_int_equal(mcp_scope_new(NULL, &room->cli.scope), 0);
    assert_int_equal(mcp_server_new(&MCP_SERVER_OPTIONS(.name = "room", .version = "1"),
                                    &room->server, NULL),
                     0);
    room_add(room);
    assert_int_equal(mcp_server_start(room->server, NULL), 0);
    room->session.cli = &room->cli;
    assert_int_equal(mcp_client_attach_server(
                         room->server, &MCP_CLIENT_OPTIONS(.name = "t", .version = "1"),
                         &room->session.client, NULL),
                     0);
}

static inline void
room_close(struct room *room)
{
    mcp_client_free(room->session.client);
    mcp_server_free(room->server);
    mcp_scope_free(room->cli.scope);
    cli_say_done(&room->cli.say);
}

static inline void
room_hear(struct room *room)
{
    room->heard_fd = memfd_create("heard", MFD_CLOEXEC);
    assert_true(room->heard_fd >= 0);
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        room->saved[i] = fcntl(i + 1, F_DUPFD_CLOEXEC, 3);
        assert_true(room->saved[i] >= 0);
    }
    (void)dup2(room->heard_fd, STDOUT_FILENO);
    (void)dup2(room->heard_fd, STDERR_FILENO);
}

/* What was said; good until the next call. */
static inline const char *
room_heard(struct room *room)
{
    ssize_t n;

    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        (void)dup2(room->saved[i], i + 1);
        close(room->saved[i]);
    }
    n = pread(room->heard_fd, room->heard, sizeof(room->heard) - 1, 0);
    room->heard[n > 0 ? n : 0] = '\0';
    close(room->heard_fd);
    return room->heard;
}

/* Fails unless `text` has this in it, and shows both. */
static inline void
assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("\"%s\" is not in \"%s\"", part, text);
}

#endif
