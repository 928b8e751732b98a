/* messages_test.c - log messages of a server of ours reach a client of ours */
#include "api/http_reached.h"

/* What a client has heard, a line for each message. */
struct hearer {
    pthread_mutex_t lock;
    char text[512];
};

static void
hear(mcp_client *client, enum mcp_severity severity, const char *logger,
     const mcp_json *data, void *user)
{
    struct hearer *h = user;
    size_t len;

    (void)client;
    pthread_mutex_lock(&h->lock);
    len = strlen(h->text);
    snprintf(h->text + len, sizeof(h->text) - len, "%d %s %d\n", (int)severity,
             logger ? logger : "-", (int)mcp_json_int(mcp_json_get(data, "n"), -1));
    pthread_mutex_unlock(&h->lock);
}

static bool
heard(struct hearer *h, const char *wanted)
{
    bool is;

    pthread_mutex_lock(&h->lock);
    is = strcmp(h->text, wanted) == 0;
    pthread_mutex_unlock(&h->lock);
    return is;
}

#define HEARER(h_, era_)                                                         \
    REACHED_OPTIONS(.messages = MCP_SEVERITY_DEBUG, .era = (era_), .user = (h_), \
                    .on_message = hear)

static int
talk(mcp_request *req, mcp_result *out, void *user)
{
    char data[16];
    int r = 0;

    (void)user;
    for (int i = MCP_SEVERITY_DEBUG; r == 0 && i <= MCP_SEVERITY_EMERGENCY; i++) {
        snprintf(data, sizeof(data), "{\"n\":%d}", 10 * i);
        r = mcp_request_log_json(req, (enum mcp_severity)i, "all", data, strlen(data));
    }
    return r < 0 ? r : mcp_result_text(out, "talked");
}

#define ALL                                                                        \
    "1 all 10\n2 all 20\n3 all 30\n4 all 40\n5 all 50\n6 all 60\n7 all 70\n8 all " \
    "80\n"

static void
all_eight_severities_arrive_with_their_logger_and_data(void **state)
{
    struct hearer h = {.lock = PTHREAD_MUTEX_INITIALIZER};
    const mcp_client_options me = HEARER(&h, *(enum mcp_era *)*state);
    mcp_client *client;
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    raw_tool(&raw, MCP_TOOL(.name = "talk", .run = talk));
    assert_int_equal(mcp_server_start(raw.server, NULL), 0);
    assert_int_equal(mcp_client_attach_server(raw.server, &me, &client, NULL), 0);
    assert_int_equal(mcp_client_call_tool(client, "talk", NULL, NULL, NULL, NULL), 0);
    RAW_UNTIL(heard(&h, ALL));
    mcp_client_free(client);
    raw_done(&raw);
}

/* Over HTTP it comes on the stream of the session, once that is open. */
static void
what_belongs_to_no_request_arrives_too(void **state)
{
    struct hearer h = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct reached f;

    reached_serve(&f, MCP_SERVER_OPTIONS(.era = MCP_ERA_LEGACY),
                  MCP_HTTP_OPTIONS(.port = 0));
    f.client = reached_client(&f, HEARER(&h, MCP_ERA_LEGACY));
    (void)state;
    assert_int_equal(
        mcp_server_log(f.raw.server, MCP_SEVERITY_NOTICE, "core", "{\"n\":7}", 7), 0);
    RAW_UNTIL(heard(&h, "3 core 7\n"));
    reached_close(&f);
}

TEST_MAIN(IN_BOTH_ERAS(all_eight_severities_arrive_with_their_logger_and_data),
          TEST(what_belongs_to_no_request_arrives_too))
