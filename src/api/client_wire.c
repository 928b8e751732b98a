/*
 * client_wire.c - who watches the wire of a client
 *
 * on_wire runs on the loop, between a message and what it leads to, so that the order is
 * that of the wire: no lane, no worker, no copy. Whoever frees the client and waits for
 * it still sees its end; whoever does not wait (client.c) sees nothing any more.
 */
#include "api/client.h"

static void
wire_show(struct mcp_client *client, enum mcp_wire what, const char *text, size_t len)
{
    bool left;

    pthread_mutex_lock(&client->lock);
    left = client->is_orphan;
    pthread_mutex_unlock(&client->lock);
    if (!left)
        client->opt.on_wire(client, what, text, len, client->opt.user);
}

static void
wire_sent(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    (void)peer;
    wire_show(user, MCP_WIRE_SENT, text, len);
}

static void
wire_came(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    (void)peer;
    wire_show(user, MCP_WIRE_CAME, text, len);
}

static void
wire_event(void *user, struct mcpi_peer *peer, const char *text, size_t len)
{
    (void)peer;
    wire_show(user, MCP_WIRE_EVENT, text, len);
}

void
mcpi_client_watch_wire(struct mcp_client *client, struct mcpi_engine_options *opt)
{
    if (!client->opt.on_wire)
        return;
    opt->trace = wire_sent;
    opt->trace_came = wire_came;
    opt->trace_event = wire_event;
    opt->trace_user = client;
}
