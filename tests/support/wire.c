/* wire.c - messages that tests put on a wire, kept for the schema check */
#include "support/wire.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static atomic_bool off;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* clients may be threads */

static void
append_locked(unsigned conversation, const char *from, const char *version,
              const char *text, size_t len)
{
    static unsigned count;
    const char *path = getenv("MCP_TEST_WIRE");
    FILE *file;

    if (!path || off || count == WIRE_RECORD_MAX)
        return;
    file = fopen(path,
                 count++ ? "a" : "w"); /* not kept open: the baseline would see it */
    if (!file)
        return;
    fprintf(
        file,
        "{\"conversation\":%u,\"from\":\"%s\",\"version\":\"%s\",\"message\":%.*s}\n",
        conversation, from, version, (int)len, text);
    fclose(file);
}

static void
append(unsigned conversation, const char *from, const char *version, const char *text,
       size_t len)
{
    pthread_mutex_lock(&lock);
    append_locked(conversation, from, version, text, len);
    pthread_mutex_unlock(&lock);
}

void
wire_record(unsigned conversation, const struct mcpi_peer *sender, const char *version,
            const char *text, size_t len)
{
    append(conversation, sender->engine->role == MCPI_CLIENT ? "client" : "server",
           version ? version : "", text, len);
}

void
wire_trace(void *user, struct mcpi_peer *sender, const char *text, size_t len)
{
    (void)user;
    wire_record(0, sender, sender->version, text, len);
}

void
wire_record_injected(unsigned conversation, enum mcpi_role from, const char *text)
{
    mcp_json_options opt = MCP_JSON_OPTIONS(.unique_keys = true);
    struct mcpi_rpc rpc;
    char *line; /* whatever line ends the test put in its text */
    size_t len;
    mcp_doc *doc;

    if (mcp_doc_parse(text, strlen(text), &opt, &doc, NULL) < 0)
        return;
    mcpi_rpc_read(mcp_doc_root(doc), &rpc);
    if (rpc.kind == MCPI_RPC_REQUEST &&
        mcp_json_print(mcp_doc_root(doc), false, NULL, &line, &len) == 0) {
        append(conversation,
               from == MCPI_CLIENT ? "client, injected" : "server, injected", "", line,
               len);
        mcp_text_free(line, NULL);
    }
    mcp_doc_free(doc);
}

void
wire_recording(bool on)
{
    off = !on;
}
