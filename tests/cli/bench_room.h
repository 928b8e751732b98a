/* bench_room.h - a server of this process with tools to measure, and a client of it */
#ifndef TESTS_CLI_BENCH_ROOM_H
#define TESTS_CLI_BENCH_ROOM_H

#include <semaphore.h>
#include <stdlib.h>

#include <mcp/server.h>

#include "cli/bench.h"
#include "support/test.h"

struct bench_room {
    mcp_server *server;
    mcp_client *client;
    struct cli_bench_load *load;
    sem_t looked; /* "held" ends once this is posted */
};

static inline int
bench_quick(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_text(out, "quick");
}

static inline int
bench_broken(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_fail(out, "broken");
}

/* Ends only when it is canceled. */
static inline int
bench_hang(mcp_request *req, mcp_result *out, void *user)
{
    (void)out, (void)user;
    return mcp_request_sleep(req, 3600000);
}

static inline int
bench_held(mcp_request *req, mcp_result *out, void *user)
{
    struct bench_room *room = user;

    (void)req;
    while (sem_wait(&room->looked) < 0)
        continue;
    (void)sem_post(&room->looked); /* for the next one */
    return mcp_result_text(out, "looked");
}

static inline void
bench_room_open(struct bench_room *room)
{
    const mcp_tool tools[] = {MCP_TOOL(.name = "held", .run = bench_held, .user = room),
                              MCP_TOOL(.name = "quick", .reply = bench_quick),
                              MCP_TOOL(.name = "broken", .reply = bench_broken),
                              MCP_TOOL(.name = "hang", .run = bench_hang)};

    assert_int_equal(mcp_server_new(&MCP_SERVER_OPTIONS(.name = "room", .version = "1"),
                                    &room->server, NULL),
                     0);
    assert_int_equal(sem_init(&room->looked, 0, 0), 0);
    for (size_t i = 0; i < sizeof(tools) / sizeof(tools[0]); i++)
        assert_int_equal(mcp_server_add_tool(room->server, &tools[i], NULL), 0);
    assert_int_equal(mcp_server_start(room->server, NULL), 0);
    assert_int_equal(
        mcp_client_attach_server(room->server,
                                 &MCP_CLIENT_OPTIONS(.name = "test", .version = "1",
                                                     .callbacks_on_loop = true,
                                                     .no_cache = true),
                                 &room->client, NULL),
        0);
    room->load = calloc(1, sizeof(*room->load));
    assert_non_null(room->load);
}

static inline void
bench_room_close(struct bench_room *room)
{
    mcp_client_free(room->client);
    mcp_server_free(room->server);
    (void)sem_destroy(&room->looked);
    free(room->load);
}

#endif
