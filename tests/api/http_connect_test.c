/* http_connect_test.c - a client is opened over HTTP: what may go wrong, and is said */
#include <mcp/auth.h>
#include <netinet/in.h>

#include "api/client.h"
#include "api/http_reached.h"
#include "support/http_script.h"
#include "support/tls_pair.h"

/* ---- what is refused ------------------------------------------------------- */

struct wrong_url {
    const char *url, *why;
};

static char url_long[8194];

static void
a_url_that_is_none_is_refused(void **state)
{
    static const struct wrong_url wrong[] = {
        {NULL, "there is none"},
        {"", "http://"},
        {"127.0.0.1:80/mcp", "http://"},
        {"ftp://127.0.0.1/mcp", "http://"},
        {"unix:///tmp/x", "http://"},
        {"http://", "names no host"},
        {"http:///mcp", "names no host"},
        {"http://:80/mcp", "names no host"},
        {"http://[]/mcp", "names no host"},
        {"http://127.0.0.1:0/", "port"},
        {"http://127.0.0.1:65536/", "port"},
        {"http://127.0.0.1:8x/", "port"},
        {"http://[::1]80/", "port"},
        {"http://me:secret@127.0.0.1/mcp", "use a header"},
        {"http://me@127.0.0.1/mcp", "use a header"},
        {"http://127.0.0.1/mcp#part", "fragment"},
        {"http://127.0.0.1/m cp", "characters"},
        {"http://127.0.0.1/m\r\nX: y", "characters"},
        {"http://127.0.0.1\\mcp", "characters"},
        {"http://exam\xc3\xa4ple/", "characters"},
        {"http://[::1/mcp", "names no host"},
        {"http://[zz]/mcp", "names no host that there could be"},
        {"http://a,b/mcp", "names no host that there could be"},
        {"http://*/mcp", "names no host that there could be"},
        {url_long, "longer than 8192 bytes"},
    };
    mcp_client *client = NULL;
    mcp_error err;

    (void)state;
    memset(url_long, 'a', sizeof(url_long) - 1);
    memcpy(url_long, "http://127.0.0.1/", 17);
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        memset(&err, 0, sizeof(err));
        assert_int_equal(mcp_client_connect_http(wrong[i].url, NULL, &REACHED_OPTIONS(),
                                                 &client, &err),
                         MCP_E_INVAL);
        assert_int_equal(strncmp(err.message, "URL: ", 5), 0);
        if (!strstr(err.message, wrong[i].why))
            fail_msg("%s: %s", wrong[i].url, err.message);
        assert_null(strstr(err.message, "secret"));
    }
    assert_null(client);
}

static void
refuse(const mcp_http_client_options *http, const char *why)
{
    mcp_client *client = NULL;
    mcp_error err = {0};

    assert_int_equal(mcp_client_connect_http("http://127.0.0.1:1/mcp", http,
                                             &REACHED_OPTIONS(), &client, &err),
                     MCP_E_INVAL);
    if (!strstr(err.message, why))
        fail_msg("%s", err.message);
    assert_null(strstr(err.message, "hush"));
    assert_null(client);
}

static void
options_that_are_none_are_refused(void **state)
{
    static const char *const no_colon[] = {"X-Token", NULL};
    static const char *const broken[] = {"X-A: b", "X-B: c\r\nX-C: d", NULL};
    static const char *const ours[] = {"mcp-session-id: x", NULL};
    mcp_http_client_options odd = MCP_HTTP_CLIENT_OPTIONS(.proxy = NULL);
    mcp_client *client = NULL;
    mcp_error err;

    (void)state;
    refuse(&MCP_HTTP_CLIENT_OPTIONS(.headers = no_colon), "line 1");
    refuse(&MCP_HTTP_CLIENT_OPTIONS(.headers = broken), "X-B");
    refuse(&MCP_HTTP_CLIENT_OPTIONS(.headers = ours), "mcp-session-id");
    refuse(&MCP_HTTP_CLIENT_OPTIONS(.connect_ms = -1), "connect_ms");
    refuse(&MCP_HTTP_CLIENT_OPTIONS(.idle_ms = -1), "idle_ms");
    refuse(&MCP_HTTP_CLIENT_OPTIONS(.grace_ms = -1), "grace_ms");
    refuse(&MCP_HTTP_CLIENT_OPTIONS(.tls_key = "/k"), "tls_certificate");
    refuse(&MCP_HTTP_CLIENT_OPTIONS(.tls_key_password = "x"), "tls_key_password");
    odd.size = 3;
    refuse(&odd, "no options");
    assert_int_equal(
        mcp_client_connect_http("http://127.0.0.1:1/", NULL, NULL, &client, &err),
        MCP_E_INVAL);
    assert_int_equal(mcp_client_connect_http("http://127.0.0.1:1/", NULL,
                                             &REACHED_OPTIONS(), NULL, &err),
                     MCP_E_INVAL);
}

/* ---- authorization --------------------------------------------------------- */

static int
begin_nowhere(void *self, mcp_auth_visit *visit, const char *earlier, char *ret_uri)
{
    (void)self, (void)visit, (void)earlier, (void)ret_uri;
    return MCP_E_AUTH;
}

static int
open_nothing(void *self, mcp_auth_visit *visit, const char *url)
{
    (void)self, (void)visit, (void)url;
    return MCP_E_AUTH;
}

static void
end_nothing(void *self, mcp_auth_visit *visit)
{
    (void)self, (void)visit;
}

static int
load_nothing(void *self, const char *key, char **ret_text)
{
    (void)self, (void)key;
    *ret_text = NULL;
    return 0;
}

static int
save_nothing(void *self, const char *key, const char *text)
{
    (void)self, (void)key, (void)text;
    return 0;
}

static int
lock_nothing(void *self, const char *key)
{
    (void)self, (void)key;
    return 0;
}

static int
assert_nothing(void *user, const char *audience, char **ret_assertion, mcp_error *err)
{
    (void)user, (void)audience, (void)ret_assertion, (void)err;
    return MCP_E_AUTH;
}

static void
refuse_auth(mcp_auth_options auth, const char *why)
{
    refuse(&MCP_HTTP_CLIENT_OPTIONS(.auth = &auth), why);
}

static void
options_of_authorization_that_are_none_are_refused(void **state)
{
    static const char *const said[] = {"X-A: b", "authorization: Bearer x", NULL};
    const mcp_auth_agent all = MCP_AUTH_AGENT(.begin = begin_nowhere,
                                              .open = open_nothing, .end = end_nothing);
    mcp_auth_agent agent = all;
    mcp_token_store store = MCP_TOKEN_STORE(.load = load_nothing, .save = save_nothing,
                                            .lock = lock_nothing);
    mcp_auth_options auth = MCP_AUTH_OPTIONS(.headless = true);

    (void)state;
    refuse(&MCP_HTTP_CLIENT_OPTIONS(.auth = &auth, .headers = said), "Authorization");
    auth.size = 3;
    refuse(&MCP_HTTP_CLIENT_OPTIONS(.auth = &auth), "auth: these are no options");
    refuse_auth(MCP_AUTH_OPTIONS(.client_secret = "hush"), "client_id: ");
    refuse_auth(MCP_AUTH_OPTIONS(.issuer = "https://as.test"), "client_id: ");
    refuse_auth(MCP_AUTH_OPTIONS(.client_id = "we", .client_secret = "hush",
                                 .private_key = "hush"),
                "private_key: ");
    refuse_auth(MCP_AUTH_OPTIONS(.client_id = "we", .private_key = "hush"),
                "private_key: is no private key");
    refuse_auth(MCP_AUTH_OPTIONS(.client_id = "we", .issuer = "http://as.test"),
                "issuer: ");
    refuse_auth(MCP_AUTH_OPTIONS(.metadata_url = "http://me.test/doc"),
                "metadata_url: ");
    refuse_auth(MCP_AUTH_OPTIONS(.metadata_url = "https://me.test/"), "metadata_url: ");
    refuse_auth(MCP_AUTH_OPTIONS(.grant = MCP_GRANT_CLIENT), "client_id: ");
    refuse_auth(MCP_AUTH_OPTIONS(.grant = MCP_GRANT_CLIENT, .client_id = "we"),
                "client_id: ");
    refuse_auth(MCP_AUTH_OPTIONS(.grant = MCP_GRANT_ENTERPRISE, .client_id = "we"),
                "idp_token_endpoint: ");
    refuse_auth(MCP_AUTH_OPTIONS(.grant = MCP_GRANT_ENTERPRISE, .client_id = "we",
                                 .idp_client_id = "we",
                                 .idp_token_endpoint = "http://idp.test/token"),
                "idp_token_endpoint: ");
    refuse_auth(MCP_AUTH_OPTIONS(.grant = MCP_GRANT_ENTERPRISE, .client_id = "we",
                                 .idp_client_id = "we",
                                 .idp_token_endpoint = "https://idp.test/token"),
                "assertion: ");
    refuse_auth(MCP_AUTH_OPTIONS(.grant = MCP_GRANT_ASSERTION), "assertion: ");
    refuse_auth(
        MCP_AUTH_OPTIONS(.grant = (enum mcp_grant)4, .assertion = assert_nothing),
        "grant: ");
    agent.end = NULL;
    refuse_auth(MCP_AUTH_OPTIONS(.agent = &agent), "agent: ");
    refuse_auth(MCP_AUTH_OPTIONS(.agent = &all, .headless = true), "headless: ");
    refuse_auth(MCP_AUTH_OPTIONS(.redirect_uri = "http://127.0.0.1/"),
                "redirect_uri: ");
    refuse_auth(MCP_AUTH_OPTIONS(.headless = true, .redirect_uri = "http://far.test/"),
                "redirect_uri: ");
    refuse_auth(MCP_AUTH_OPTIONS(.store = &store), "store: ");
    store = MCP_TOKEN_STORE(.load = load_nothing);
    refuse_auth(MCP_AUTH_OPTIONS(.store = &store), "store: ");
    refuse_auth(MCP_AUTH_OPTIONS(.login_ms = -1), "login_ms: ");
    refuse_auth(MCP_AUTH_OPTIONS(.fetch_ms = -1), "fetch_ms: ");
}

/* Whatever the program does with its own texts: and nothing of ours keeps them. */
static void
what_is_given_of_authorization_is_copied_and_wiped(void **state)
{
    char secret[] = "hush-hush", id[] = "we", scope[] = "some";
    mcp_auth_options auth = MCP_AUTH_OPTIONS(.grant = MCP_GRANT_CLIENT, .client_id = id,
                                             .client_secret = secret, .scope = scope);
    struct reached f;

    reached_serve(&f, MCP_SERVER_OPTIONS(.era = *(enum mcp_era *)*state),
                  MCP_HTTP_OPTIONS(.port = 0));
    f.mem.secret = "hush-hush";
    assert_int_equal(reached_try(&f, &MCP_HTTP_CLIENT_OPTIONS(.auth = &auth),
                                 REACHED_OPTIONS(), &f.client, NULL),
                     0);
    memset(&auth, 0xff, sizeof(auth));
    memset(secret, 'x', sizeof(secret));
    memset(id, 'x', sizeof(id));
    memset(scope, 'x', sizeof(scope));
    reached_says(f.client); /* nobody asks who we are */
    reached_close(&f);
}

static void
a_file_that_is_none_ends_the_opening(void **state)
{
    (void)state;
    refuse(&MCP_HTTP_CLIENT_OPTIONS(.tls_ca_file = "/no/such/ca"), "/no/such/ca");
    refuse(&MCP_HTTP_CLIENT_OPTIONS(.tls_certificate = "/no/such/c",
                                    .tls_key = "/no/such/k"),
           "/no/such/");
}

/* ---- nobody, and others ----------------------------------------------------- */

/* A port that was free a moment ago. */
static int
free_port(void)
{
    struct reached f;

    reached_serve(&f, MCP_SERVER_OPTIONS(.page = 0), MCP_HTTP_OPTIONS(.port = 0));
    reached_close(&f);
    return f.port;
}

static void
nobody_there_is_said_so(void **state)
{
    mcp_client *client = NULL;
    char url[64];
    mcp_error err = {0};

    (void)state;
    snprintf(url, sizeof(url), "http://127.0.0.1:%d/mcp", free_port());
    assert_int_equal(
        mcp_client_connect_http(url, NULL, &REACHED_OPTIONS(), &client, &err),
        MCP_E_SEND_FAILED);
    if (!strstr(err.message, "connect") || !strstr(err.message, "127.0.0.1"))
        fail_msg("%s", err.message);
    assert_null(strstr(err.message, "exited"));
    assert_null(client);
}

static void
identify(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    const char *given = mcp_http_header(request, "Authorization");
    const char *more = mcp_http_header(request, "X-More");

    (void)user;
    if (given && strcmp(given, "Bearer right") == 0 && more && strcmp(more, "y") == 0)
        mcp_http_allow(ticket, "alice");
    else
        mcp_http_deny(ticket, 401, "Bearer", NULL);
}

static void
headers_go_along_with_every_request(void **state)
{
    static const char *const wrong[] = {"Authorization: Bearer wrong", NULL};
    static const char *const right[] = {"Authorization: Bearer right", "X-More: y",
                                        NULL};
    struct reached f;
    mcp_reply *reply;
    mcp_error err = {0};

    reached_serve(&f, MCP_SERVER_OPTIONS(.era = *(enum mcp_era *)*state),
                  MCP_HTTP_OPTIONS(.identify = identify));
    assert_true(reached_try(&f, NULL, REACHED_OPTIONS(), &f.client, &err) < 0);
    if (!strstr(err.message, "Unauthorized"))
        fail_msg("%s", err.message);
    assert_true(reached_try(&f, &MCP_HTTP_CLIENT_OPTIONS(.headers = wrong),
                            REACHED_OPTIONS(), &f.client, &err) < 0);
    assert_int_equal(reached_try(&f, &MCP_HTTP_CLIENT_OPTIONS(.headers = right),
                                 REACHED_OPTIONS(), &f.client, &err),
                     0);
    assert_int_equal(mcp_client_call_tool(f.client, "say", NULL, NULL, &reply, NULL),
                     0);
    assert_string_equal(mcp_reply_text(reply), "said to <alice>");
    mcp_reply_free(reply);
    mcp_call_free(reached_hangs(&f, f.client, NULL));
    RAW_UNTIL(atomic_load(&f.gate.left) == 1); /* also with that of a cancel */
    mcp_client_free(f.client);
    f.client = NULL;
    RAW_UNTIL(raw_counts(&f.raw).sessions == 0); /* and of the end */
    reached_close(&f);
}

/* ---- who it is, and how it is reached ---------------------------------------- */

static void
TLS_is_checked_against_the_given_authority(void **state)
{
    struct tls_pair pair, stranger;
    struct reached f;
    mcp_error err = {0};

    tls_pair_make(&pair);
    tls_pair_make(&stranger);
    reached_serve(
        &f, MCP_SERVER_OPTIONS(.era = *(enum mcp_era *)*state),
        MCP_HTTP_OPTIONS(.tls_certificate = pair.certificate, .tls_key = pair.key));
    assert_int_equal(strncmp(f.url, "https://", 8), 0);
    assert_int_equal(
        reached_try(&f, &MCP_HTTP_CLIENT_OPTIONS(.tls_ca_file = stranger.certificate),
                    REACHED_OPTIONS(), &f.client, &err),
        MCP_E_SEND_FAILED);
    assert_non_null(strstr(err.message, "certificate"));
    assert_int_equal(reached_try(&f, NULL, REACHED_OPTIONS(), &f.client, &err),
                     MCP_E_SEND_FAILED);
    assert_int_equal(
        reached_try(&f, &MCP_HTTP_CLIENT_OPTIONS(.tls_ca_file = pair.certificate),
                    REACHED_OPTIONS(), &f.client, &err),
        0);
    reached_says(f.client);
    mcp_call_free(reached_hangs(&f, f.client, NULL));
    RAW_UNTIL(atomic_load(&f.gate.left) == 1);
    mcp_client_free(f.client);
    assert_int_equal(reached_try(&f, &MCP_HTTP_CLIENT_OPTIONS(.tls_no_verify = true),
                                 REACHED_OPTIONS(), &f.client, &err),
                     0);
    reached_says(f.client);
    reached_close(&f);
    tls_pair_remove(&pair);
    tls_pair_remove(&stranger);
}

/* The answer is the last on its connection, and says so: else the client might send the
 * next request there, which nobody reads. */
static void
dismiss(struct visit *v, const char *status, const char *body)
{
    char head[256];

    snprintf(head, sizeof(head),
             "HTTP/1.1 %s\r\nConnection: close\r\nContent-Type: text/plain\r\n"
             "Content-Length: %zu\r\n\r\n",
             status, strlen(body));
    visit_say(v, head);
    visit_say(v, body);
    visit_close(v);
}

/* The next request is a POST of that to this path, and is accepted; its answer comes on
 * the stream. */
static void
post_2024(struct http_script *s, const char *what, struct visit *stream,
          const char *answer)
{
    struct visit v;

    visit_accept(&v, s);
    visit_read(&v);
    assert_true(visit_asks(&v, "POST /message?of=1"));
    if (!strstr(v.body, what))
        fail_msg("no %s in %s", what, v.body);
    dismiss(&v, "202 Accepted", "");
    if (answer)
        visit_chunk(stream, answer);
}

static void
refuse_once(struct http_script *s, const char *what)
{
    struct visit v;

    visit_accept(&v, s);
    visit_read(&v);
    assert_non_null(strstr(v.body, what));
    dismiss(&v, "405 Method Not Allowed", "no");
}

static void
D23_our_own_server_of_2024_is_found(void **state)
{
    struct reached f;
    mcp_error err = {0};
    mcp_call *call;

    (void)state;
    reached_serve(&f, MCP_SERVER_OPTIONS(.page = 0),
                  MCP_HTTP_OPTIONS(.sse_path = "/sse"));
    snprintf(f.url, sizeof(f.url), "http://127.0.0.1:%d/sse", f.port);
    assert_true(reached_try(&f, &MCP_HTTP_CLIENT_OPTIONS(.no_2024 = true),
                            REACHED_OPTIONS(), &f.client, &err) < 0);
    f.client = reached_client(&f, REACHED_OPTIONS());
    reached_says(f.client);
    call = reached_hangs(&f, f.client, NULL);
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    RAW_UNTIL(atomic_load(&f.gate.left) == 1);
    mcp_call_free(call);
    reached_says(f.client);
    reached_close(&f);
}

static int
say_tenant(mcp_request *req, mcp_result *out, void *user)
{
    const char *tenant = mcp_request_header(req, "X-Tenant");

    (void)user;
    return mcp_result_text(out, tenant ? tenant : "nobody");
}

static void
a_header_of_the_client_reaches_the_handler(void **state)
{
    static const char *const kept[] = {"x-tenant", NULL};
    static const char *const lines[] = {"X-Tenant: blue", NULL};
    static const char *const paths[] = {"/mcp", "/mcp", "/sse"};
    static const enum mcp_era eras[] = {MCP_ERA_MODERN, MCP_ERA_LEGACY, MCP_ERA_LEGACY};
    struct reached f;
    mcp_error err = {0};
    mcp_reply *reply;

    (void)state;
    for (int i = 0; i < 3; i++) {
        reached_serve(&f, MCP_SERVER_OPTIONS(.era = eras[i]),
                      MCP_HTTP_OPTIONS(.sse_path = "/sse", .headers = kept));
        raw_tool(&f.raw, MCP_TOOL(.name = "tenant", .reply = say_tenant));
        snprintf(f.url, sizeof(f.url), "http://127.0.0.1:%d%s", f.port, paths[i]);
        if (reached_try(&f, &MCP_HTTP_CLIENT_OPTIONS(.headers = lines),
                        REACHED_OPTIONS(), &f.client, &err) < 0)
            fail_msg("%s", err.message);
        assert_int_equal(
            mcp_client_call_tool(f.client, "tenant", NULL, NULL, &reply, NULL), 0);
        assert_string_equal(mcp_reply_text(reply), "blue");
        mcp_reply_free(reply);
        reached_close(&f);
    }
}

static void
D23_a_server_of_2024_is_found_behind_its_URL(void **state)
{
    struct visit stream;
    struct http_script s;
    struct test_mem mem;
    struct told told;
    mcp_client *client;
    mcp_call *call;

    (void)state;
    test_mem_init(&mem);
    told_init(&told);
    http_script_open(&s, NULL, NULL);
    assert_int_equal(mcp_client_connect_http(
                         s.url, NULL,
                         &REACHED_OPTIONS(.allocator = &mem.allocator, .no_wait = true,
                                          .on_state = told_state, .user = &told),
                         &client, NULL),
                     0);
    refuse_once(&s, "server/discover");
    refuse_once(&s, "initialize");
    visit_accept(&stream, &s);
    visit_read(&stream);
    assert_true(visit_asks(&stream, "GET /mcp"));
    visit_begin_chunks(&stream, "200 OK", "text/event-stream");
    visit_chunk(&stream, "event: endpoint\ndata: /message?of=1\n\n");
    post_2024(&s, "initialize", &stream,
              "data: {\"jsonrpc\":\"2.0\",\"id\":0,\"result\":{\"protocolVersion\":"
              "\"2024-11-05\",\"capabilities\":{},\"serverInfo\":{\"name\":\"old\","
              "\"version\":\"1\"}}}\n\n");
    post_2024(&s, "notifications/initialized", &stream, NULL);
    told_await(&told, states, 1);
    assert_int_equal(told_status(&told), 0);
    assert_string_equal(mcp_client_version(client), "2024-11-05");
    assert_int_equal(mcp_client_start(client, "x/any", NULL, NULL, NULL, NULL, &call),
                     0);
    post_2024(&s, "x/any", &stream,
              "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n");
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), 0);
    mcp_call_free(call);
    assert_int_equal(mcp_client_start(client, "x/any", NULL, NULL, NULL, NULL, &call),
                     0);
    post_2024(&s, "x/any", &stream, NULL);
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    post_2024(&s, "notifications/cancelled", &stream, NULL);
    mcp_call_free(call);
    mcp_client_free(client);
    visit_close(&stream);
    http_script_close(&s);
    told_clear(&told);
    test_mem_done(&mem);
}

static void
times_of_HTTP_reach_their_place(void **state)
{
    struct reached f;
    mcp_error err;

    (void)state;
    reached_serve(&f, MCP_SERVER_OPTIONS(.page = 0), MCP_HTTP_OPTIONS(.port = 0));
    assert_int_equal(
        reached_try(&f, &MCP_HTTP_CLIENT_OPTIONS(.grace_ms = 1234, .proxy = ""),
                    REACHED_OPTIONS(), &f.client, &err),
        0);
    assert_int_equal(f.client->host.engine->times.grace, 1234000);
    assert_true(f.client->mirrors.on);
    assert_true(f.client->resumes);
    reached_says(f.client);
    reached_close(&f);
}

/* ---- a loop of the program's own --------------------------------------------- */

static void
a_client_opens_on_a_loop_that_somebody_steps(void **state)
{
    struct reached f;
    mcp_loop *loop;
    mcp_error err;

    reached_serve(&f, MCP_SERVER_OPTIONS(.era = *(enum mcp_era *)*state),
                  MCP_HTTP_OPTIONS(.port = 0));
    assert_int_equal(
        mcp_loop_new(&MCP_LOOP_OPTIONS(.allocator = &f.mem.allocator), &loop, NULL), 0);
    assert_int_equal(
        reached_try(&f, NULL,
                    REACHED_OPTIONS(.loop = loop, .no_wait = true,
                                    .callbacks_on_loop = true, .on_state = told_state,
                                    .user = &f.told),
                    &f.client, &err),
        0);
    assert_int_equal(
        mcp_client_start_tool(f.client, "say", NULL, NULL, told_done, &f.told, NULL),
        0);
    RAW_UNTIL((mcp_loop_step(loop), told_count(&f.told, done) == 1));
    assert_string_equal(f.told.text, "said to <>");
    assert_int_equal(told_count(&f.told, states), 1);
    mcp_client_free(f.client); /* only begins: the loop frees it */
    f.client = NULL;
    RAW_UNTIL((mcp_loop_step(loop), raw_counts(&f.raw).connections == 0));
    mcp_loop_free(loop);
    reached_close(&f);
}

/* Nothing of it has been looked at by the loop when the caller's own is gone. */
static void
what_is_given_is_copied(void **state)
{
    char url[MCP_HTTP_URL_MAX], token[] = "Authorization: Bearer right";
    char more[] = "X-More: y", proxy[] = "";
    const char *headers[] = {token, more, NULL};
    struct reached f;
    mcp_loop *loop;

    (void)state;
    reached_serve(&f, MCP_SERVER_OPTIONS(.page = 0),
                  MCP_HTTP_OPTIONS(.identify = identify));
    snprintf(url, sizeof(url), "%s", f.url);
    assert_int_equal(mcp_loop_new(NULL, &loop, NULL), 0);
    assert_int_equal(mcp_client_connect_http(
                         url,
                         &MCP_HTTP_CLIENT_OPTIONS(.headers = headers, .proxy = proxy),
                         &REACHED_OPTIONS(.loop = loop, .no_wait = true,
                                          .on_state = told_state, .user = &f.told),
                         &f.client, NULL),
                     0);
    memset(url, '!', sizeof(url));
    memset(token, '!', sizeof(token));
    memset(more, '!', sizeof(more));
    proxy[0] = '!';
    headers[0] = headers[1] = NULL;
    RAW_UNTIL((mcp_loop_step(loop), told_count(&f.told, states) == 1));
    assert_int_equal(told_status(&f.told), 0);
    mcp_client_free(f.client);
    f.client = NULL;
    mcp_loop_free(loop);
    reached_close(&f);
}

/* Lines of the log about HTTP, on the client's loop. */
struct wire_log {
    pthread_mutex_t lock;
    char lines[4096];
};

static void
log_wire(void *user, enum mcp_log_level level, const char *line)
{
    struct wire_log *log = user;
    size_t len;

    pthread_mutex_lock(&log->lock);
    len = strlen(log->lines);
    if (level == MCP_LOG_DEBUG && strncmp(line, "http: ", 6) == 0)
        snprintf(log->lines + len, sizeof(log->lines) - len, "%s\n", line);
    pthread_mutex_unlock(&log->lock);
}

static int
count_of(const char *text, const char *part)
{
    int count = 0;

    for (text = strstr(text, part); text; text = strstr(text + 1, part))
        count++;
    return count;
}

static void
each_answer_is_a_line_in_the_log_without_secrets(void **state)
{
    struct wire_log log = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct reached f;
    char part[MCP_HTTP_URL_MAX + 64];

    reached_serve(&f, MCP_SERVER_OPTIONS(.era = *(enum mcp_era *)*state),
                  MCP_HTTP_OPTIONS(.port = 0));
    snprintf(part, sizeof(part), "http: POST %s: 200 after ", f.url);
    strcat(f.url, "?token=secret");
    f.client = reached_client(&f, REACHED_OPTIONS(.on_log = log_wire, .log_user = &log,
                                                  .log_level = MCP_LOG_DEBUG));
    for (int i = 0; i < 3; i++)
        reached_says(f.client);
    mcp_client_free(f.client);
    f.client = NULL;
    if (count_of(log.lines, part) != 4 || count_of(log.lines, "secret") != 0)
        fail_msg("%s", log.lines);
    reached_close(&f);
}

struct named {
    pthread_mutex_t lock;
    char names[128]; /* of the requests of x/y, "1|" */
};

static void
identify_and_note(void *user, const mcp_http_request *request, mcp_http_ticket *ticket)
{
    const char *method = mcp_http_header(request, "Mcp-Method");
    const char *name = mcp_http_header(request, "Mcp-Name");
    struct named *named = user;
    size_t len;

    pthread_mutex_lock(&named->lock);
    len = strlen(named->names);
    if (strcmp(method ? method : "", "x/y") == 0)
        snprintf(named->names + len, sizeof(named->names) - len, "%s|",
                 name ? name : "(none)");
    pthread_mutex_unlock(&named->lock);
    mcp_http_allow(ticket, NULL);
}

static void
what_a_method_of_an_extension_names_stands_in_a_header(void **state)
{
    static const char *const names[] = {"a/b c", "x/y who", NULL};
    static const char *const wrong[] = {"x/y", NULL};
    struct named named = {.lock = PTHREAD_MUTEX_INITIALIZER};
    struct reached f;
    mcp_error err;

    (void)state;
    reached_serve(
        &f, MCP_SERVER_OPTIONS(.era = MCP_ERA_MODERN),
        MCP_HTTP_OPTIONS(.identify = identify_and_note, .identify_user = &named));
    assert_int_equal(reached_try(&f, &MCP_HTTP_CLIENT_OPTIONS(.names = wrong),
                                 REACHED_OPTIONS(), &f.client, &err),
                     MCP_E_INVAL);
    assert_int_equal(reached_try(&f, &MCP_HTTP_CLIENT_OPTIONS(.names = names),
                                 REACHED_OPTIONS(), &f.client, &err),
                     0);
    assert_int_equal(
        mcp_client_call(f.client, "x/y", "{\"who\":\"me\"}", NULL, NULL, &err),
        MCP_E_PEER); /* the server does not know it */
    assert_int_equal(err.rpc_code, -32601);
    assert_int_equal(mcp_client_call(f.client, "x/y", "{}", NULL, NULL, &err),
                     MCP_E_PEER);
    pthread_mutex_lock(&named.lock);
    assert_string_equal(named.names, "me|(none)|");
    pthread_mutex_unlock(&named.lock);
    reached_close(&f);
}

static void
free_inside(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    struct reached *f = user;

    (void)reply;
    mcp_call_free(call);
    mcp_client_free(f->client);
    told_done(NULL, status, NULL, &f->told);
}

static void
a_client_is_freed_inside_its_own_callback(void **state)
{
    struct reached f;
    mcp_call *call;

    reached_open(&f, state);
    assert_int_equal(
        mcp_client_start_tool(f.client, "say", NULL, NULL, free_inside, &f, &call), 0);
    told_await(&f.told, done, 1);
    assert_int_equal(told_status(&f.told), 0);
    f.client = NULL;
    RAW_UNTIL(atomic_load(&f.mem.live) == 0);
    reached_close(&f);
}

/* Accepts, as the kernel does, and says nothing. */
static int
silent_socket(int *ret_port)
{
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof(at);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
    *ret_port = ntohs(at.sin_port);
    return fd;
}

static void
M27_a_scope_ends_the_opening(void **state)
{
    struct reached f;
    mcp_scope *scope;
    mcp_error err;
    int fd, port;

    (void)state;
    fd = silent_socket(&port);
    reached_serve(&f, MCP_SERVER_OPTIONS(.page = 0), MCP_HTTP_OPTIONS(.port = 0));
    snprintf(f.url, sizeof(f.url), "http://127.0.0.1:%d/mcp", port);
    assert_int_equal(mcp_scope_new(&MCP_SCOPE_OPTIONS(.timeout_ms = 100), &scope), 0);
    assert_int_equal(
        reached_try(&f, NULL, REACHED_OPTIONS(.scope = scope), &f.client, &err),
        MCP_E_TOTAL_TIMEOUT);
    assert_string_equal(err.message, "the time of the scope is used up");
    /* X12: silence says nothing of the era */
    assert_int_equal(
        reached_try(&f, NULL, REACHED_OPTIONS(.probe_ms = 100), &f.client, &err),
        MCP_E_TIMEOUT);
    assert_string_equal(err.message, "the server did not answer in time");
    close(fd);
    mcp_scope_free(scope);
    reached_close(&f);
}

/* ---- memory ------------------------------------------------------------------- */

/* The clients' memory alone: of the server there is a test of its own. */
static void
open_once(struct test_mem *mem, void *user)
{
    static const char *const headers[] = {"X-A: b", NULL};
    struct reached *f = user;
    mcp_client *client = NULL;
    mcp_error err = {0};
    int r;

    r = mcp_client_connect_http(f->url, &MCP_HTTP_CLIENT_OPTIONS(.headers = headers),
                                &REACHED_OPTIONS(.allocator = &mem->allocator,
                                                 .on_state = told_state,
                                                 .user = &f->told),
                                &client, &err);
    if (r < 0)
        assert_true(err.status == r && err.message[0]);
    else
        (void)mcp_client_call_tool(client, "say", NULL,
                                   &MCP_CALL_OPTIONS(.timeout_ms = 5000), NULL, NULL);
    mcp_client_free(client);
}

static void
each_allocation_may_fail(void **state)
{
    struct reached f;

    reached_serve(&f, MCP_SERVER_OPTIONS(.era = *(enum mcp_era *)*state),
                  MCP_HTTP_OPTIONS(.port = 0));
    assert_in_range(test_each_allocation_fails(open_once, &f), 30, 1000);
    reached_close(&f);
}

TEST_MAIN(TEST(a_url_that_is_none_is_refused), TEST(options_that_are_none_are_refused),
          TEST(options_of_authorization_that_are_none_are_refused),
          IN_BOTH_ERAS(what_is_given_of_authorization_is_copied_and_wiped),
          TEST(a_file_that_is_none_ends_the_opening), TEST(nobody_there_is_said_so),
          IN_BOTH_ERAS(headers_go_along_with_every_request),
          IN_BOTH_ERAS(TLS_is_checked_against_the_given_authority),
          TEST(D23_our_own_server_of_2024_is_found),
          TEST(a_header_of_the_client_reaches_the_handler),
          TEST(D23_a_server_of_2024_is_found_behind_its_URL),
          TEST(times_of_HTTP_reach_their_place),
          IN_BOTH_ERAS(a_client_opens_on_a_loop_that_somebody_steps),
          TEST(what_is_given_is_copied),
          IN_BOTH_ERAS(each_answer_is_a_line_in_the_log_without_secrets),
          TEST(what_a_method_of_an_extension_names_stands_in_a_header),
          IN_BOTH_ERAS(a_client_is_freed_inside_its_own_callback),
          TEST(M27_a_scope_ends_the_opening), IN_BOTH_ERAS(each_allocation_may_fail))
