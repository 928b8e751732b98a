/* oauth_rig.c - a guarded server of ours, and the issuer that it believes */
#include "end/oauth_rig.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int
whoami(mcp_request *req, mcp_result *out, void *user)
{
    (void)user;
    return mcp_result_text(out, mcp_request_principal(req));
}

static int
hang(mcp_request *req, mcp_result *out, void *user)
{
    (void)out, (void)user;
    return mcp_request_sleep(req, 3600000);
}

static const char *
needs(void *user, const char *method, const char *name)
{
    (void)user;
    return strcmp(method, "tools/call") == 0 && strcmp(name, "admin") == 0 ? "admin"
                                                                           : NULL;
}

static void
print_log(void *user, enum mcp_log_level level, const char *line)
{
    (void)user, (void)level;
    printf("# %s\n", line);
}

static void
tools_add(mcp_server *server)
{
    const mcp_tool tools[] = {MCP_TOOL(.name = "whoami", .reply = whoami),
                              MCP_TOOL(.name = "admin", .reply = whoami),
                              MCP_TOOL(.name = "hang", .run = hang)};

    for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++)
        assert_int_equal(mcp_server_add_tool(server, &tools[i], NULL), 0);
}

/* What a token is for is said before the server listens: so its port must be known. */
static int
free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    close(fd);
    return ntohs(address.sin_port);
}

/* False: somebody else has taken the port meanwhile. */
static bool
server_listens(struct oauth *o, const mcp_guard_options *guard)
{
    const char *issuers[] = {issuer_url(o->issuer), NULL};
    mcp_guard_options guarding = guard ? *guard : MCP_GUARD_OPTIONS(0);
    mcp_http_options http = MCP_HTTP_OPTIONS(.host = "127.0.0.1", .port = free_port());
    mcp_error err = {0};

    (void)snprintf(o->url, sizeof(o->url), "http://127.0.0.1:%d/mcp", http.port);
    guarding.resource = o->url;
    guarding.issuers = issuers;
    guarding.needs = needs;
    guarding.private_issuers = true;
    guarding.on_log = print_log;
    if (mcp_guard_new(&guarding, &o->guard, &err) < 0)
        fail_msg("%s", err.message);
    http.guard = o->guard;
    assert_int_equal(
        mcp_server_new(&MCP_SERVER_OPTIONS(.name = "guarded", .version = "1.0",
                                           .on_log = print_log),
                       &o->server, NULL),
        0);
    tools_add(o->server);
    if (mcp_server_listen_http(o->server, &http, NULL, &err) == 0)
        return true;
    mcp_server_free(o->server);
    mcp_guard_free(o->guard);
    return false;
}

static void
rig_open(struct oauth *o, const struct issuer_options *issuer,
         const mcp_guard_options *guard)
{
    bool listens = false;

    o->issuer = issuer_open(issuer);
    test_mem_init(&o->mem);
    assert_int_equal(pthread_mutex_init(&o->lock, NULL), 0);
    for (int i = 0; i < 10 && !listens; i++)
        listens = server_listens(o, guard);
    assert_true(listens);
    assert_int_equal(mcp_server_start(o->server, NULL), 0);
}

void
oauth_open(struct oauth *o, const struct issuer_options *issuer,
           const mcp_guard_options *guard)
{
    memset(o, 0, sizeof(*o));
    rig_open(o, issuer, guard);
}

static void
verify(void *user, const char *token, mcp_token_check *check)
{
    struct oauth *o = user;
    bool good;

    pthread_mutex_lock(&o->lock);
    good = strcmp(token, o->banned) != 0;
    (void)snprintf(o->last, sizeof(o->last), "%s", token);
    pthread_mutex_unlock(&o->lock);
    if (good)
        mcp_token_accept(check, &MCP_IDENTITY(.principal = "somebody"));
    else
        mcp_token_reject(check, "banned");
}

void
oauth_open_gullible(struct oauth *o, const struct issuer_options *issuer)
{
    memset(o, 0, sizeof(*o));
    rig_open(o, issuer, &MCP_GUARD_OPTIONS(.verify = verify, .verify_user = o));
}

void
oauth_ban(struct oauth *o)
{
    pthread_mutex_lock(&o->lock);
    memcpy(o->banned, o->last, sizeof(o->banned));
    pthread_mutex_unlock(&o->lock);
}

void
oauth_rest(struct oauth *o)
{
    mcp_server_counts counts = {.size = sizeof(counts)};

    for (int i = 0; i < AWAIT_MS; i++) {
        assert_int_equal(mcp_server_count(o->server, &counts), 0);
        if (counts.in_flight == 0 && counts.live_handlers == 0)
            return;
        (void)poll(NULL, 0, 1);
    }
    fail_msg("%d requests are left", (int)counts.in_flight);
}

void
oauth_close(struct oauth *o)
{
    oauth_rest(o);
    mcp_server_free(o->server);
    mcp_guard_free(o->guard);
    issuer_close(o->issuer);
    pthread_mutex_destroy(&o->lock);
    test_mem_await(&o->mem);
}

int
oauth_try(struct oauth *o, const mcp_auth_options *auth, mcp_client **ret_client,
          mcp_error *err)
{
    const mcp_http_client_options http = MCP_HTTP_CLIENT_OPTIONS(.auth = auth);
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "client", .version = "1.0",
                                                     .allocator = &o->mem.allocator,
                                                     .timeout_ms = AWAIT_MS,
                                                     .hello_ms = AWAIT_MS,
                                                     .on_log = print_log);

    return mcp_client_connect_http(o->url, &http, &me, ret_client, err);
}

void
oauth_connect(struct oauth *o, const mcp_auth_options *auth, mcp_client **ret_client)
{
    mcp_error err = {0};

    if (oauth_try(o, auth, ret_client, &err) < 0)
        fail_msg("%s: %s", mcp_status_name(err.status), err.message);
}

void
oauth_expect(mcp_client *client, const char *tool, const char *said)
{
    mcp_reply *reply = NULL;
    mcp_error err = {0};

    if (mcp_client_call_tool(client, tool, NULL, NULL, &reply, &err) < 0)
        fail_msg("%s: %s", mcp_status_name(err.status), err.message);
    assert_non_null(strstr(mcp_reply_text(reply), said));
    mcp_reply_free(reply);
}
