/* late.c - what still comes for requests that were canceled, as it shows on the wire */
#include "cli/late.h"

#include <stdio.h>
#include <string.h>

#define REQUEST_CANCELED (-32800)

void
cli_late_init(struct cli_late *late)
{
    memset(late, 0, sizeof(*late));
    (void)pthread_mutex_init(&late->lock, NULL);
}

void
cli_late_done(struct cli_late *late)
{
    (void)pthread_mutex_destroy(&late->lock);
}

static void
see_wire(mcp_client *client, enum mcp_wire what, const char *text, size_t length,
         void *user)
{
    struct cli_late *late = user;

    cli_late_look(late, what, text, length);
    if (late->on_wire)
        late->on_wire(client, what, text, length, late->user);
}

static void
see_state(mcp_client *client, int status, void *user)
{
    struct cli_late *late = user;

    late->on_state(client, status, late->user);
}

void
cli_late_offer(struct cli_late *late, mcp_client_options *opt)
{
    late->on_wire = opt->on_wire;
    late->user = opt->user;
    opt->on_wire = see_wire;
    opt->user = late;
    late->on_state = opt->on_state;
    opt->on_state = opt->on_state ? see_state : NULL;
    opt->on_message = NULL;
    opt->on_change = NULL;
    opt->on_elicited = NULL;
    opt->on_notification = NULL;
}

/* "7" and 7 are the same id to who looks for an answer, but a server must not mix them
 * up: so they differ here. False: it is no id, or too long. */
static bool
id_write(const mcp_json *id, char *into, size_t room)
{
    const char *text = mcp_json_string(id, NULL);
    int64_t number;
    int length;

    if (text)
        length = snprintf(into, room, "\"%s", text);
    else if (mcp_json_to_int64(id, &number) == 0)
        length = snprintf(into, room, "%lld", (long long)number);
    else
        return false;
    return length > 0 && (size_t)length < room;
}

static void
see_sent(struct cli_late *late, const mcp_json *message)
{
    const mcp_json *id = mcp_json_get(mcp_json_get(message, "params"), "requestId");
    const mcp_json *method = mcp_json_get(message, "method");
    char text[CLI_LATE_ID];

    if (mcp_json_is_string(method, "tools/call"))
        late->calls++;
    if (!mcp_json_is_string(method, "notifications/cancelled") ||
        !id_write(id, text, sizeof(text)))
        return;
    memcpy(late->ids[late->next], text, sizeof(text));
    late->next = (late->next + 1) % CLI_LATE_IDS;
    late->canceled++;
}

static void
see_came(struct cli_late *late, const mcp_json *message)
{
    const mcp_json *error = mcp_json_get(message, "error");
    const mcp_json *method = mcp_json_get(message, "method");
    char text[CLI_LATE_ID];

    if (mcp_json_is_string(method, "notifications/progress"))
        late->reports++;
    if (method || !id_write(mcp_json_get(message, "id"), text, sizeof(text)) ||
        mcp_json_int(mcp_json_get(error, "code"), 0) == REQUEST_CANCELED)
        return;
    for (size_t i = 0; i < CLI_LATE_IDS; i++) {
        if (strcmp(late->ids[i], text) != 0)
            continue;
        late->ids[i][0] = '\0';
        late->answered++;
        return;
    }
}

/* Most of what goes out is of no interest, and need not be read. */
static bool
may_be_seen(const char *text, size_t length)
{
    return memmem(text, length, "/cancelled", 10) || memmem(text, length, "/call", 5);
}

void
cli_late_look(struct cli_late *late, enum mcp_wire what, const char *text,
              size_t length)
{
    mcp_doc *doc;

    if (what == MCP_WIRE_EVENT ||
        (what == MCP_WIRE_SENT && !may_be_seen(text, length)) ||
        mcp_doc_parse(text, length, NULL, &doc, NULL) < 0)
        return;
    (void)pthread_mutex_lock(&late->lock);
    if (what == MCP_WIRE_SENT)
        see_sent(late, mcp_doc_root(doc));
    else
        see_came(late, mcp_doc_root(doc));
    (void)pthread_mutex_unlock(&late->lock);
    mcp_doc_free(doc);
}

static uint64_t
count_read(struct cli_late *late, const uint64_t *counter)
{
    uint64_t count;

    (void)pthread_mutex_lock(&late->lock);
    count = *counter;
    (void)pthread_mutex_unlock(&late->lock);
    return count;
}

uint64_t
cli_late_count(struct cli_late *late)
{
    return count_read(late, &late->answered);
}

uint64_t
cli_late_reports(struct cli_late *late)
{
    return count_read(late, &late->reports);
}

uint64_t
cli_late_calls(struct cli_late *late)
{
    return count_read(late, &late->calls);
}
