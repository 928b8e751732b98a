/*
 * custom_test.c - methods of a program's own, from one public side to the other, over
 * every link and in both eras
 */
#include <mcp/ask.h>
#include <mcp/http.h>

#include "api/raw_client.h"
#include "support/curl_warm.h"
#include "support/script.h"

enum link { MEMORY, SOCKETS, UNIX, HTTP, LINKS };

struct cell {
    enum link link;
    enum mcp_era era;
};

/* What arrived on either side, and when. */
struct heard {
    atomic_int server, client, other, progress, numbers;
    atomic_int wrong; /* after the answer, or not what was sent */
};

struct pairing {
    struct raw raw; /* the server */
    struct gate gate;
    struct heard heard;
    struct test_mem mem;
    mcp_client *client;
};

/* ---- the server's methods -------------------------------------------------- */

static int
stock(mcp_request *req, mcp_result *out, void *user)
{
    const mcp_json *of = mcp_json_get(mcp_request_params(req), "of");
    mcp_builder *b = mcp_result_builder(out);
    int r;

    (void)user;
    r = mcp_request_notify(req, "shop/looking", "{\"n\":1}");
    if (r == 0)
        r = mcp_request_progress(req, 1, 1, NULL);
    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "of", mcp_json_string(of, "?"));
    mcp_builder_int(b, "left", 3);
    mcp_builder_end(b);
    return r;
}

/* Asks the client's own method, and passes on what that says; by "hang" one that does
 * not answer. */
static int
ask_back(mcp_request *req, mcp_result *out, void *user)
{
    const char *method = mcp_json_string(
        mcp_json_get(mcp_request_params(req), "method"), "shop/price");
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    int64_t price;
    char text[64];
    int r;

    (void)user;
    r = mcp_request_call(req, method, "{\"of\":\"tea\"}", NULL, &reply, &err);
    if (r == MCP_E_PEER)
        return mcp_request_fail(req, err.rpc_code, NULL, "%s", err.message);
    if (r < 0)
        return r;
    price = mcp_json_int(mcp_json_get(mcp_reply_result(reply), "price"), 0);
    mcp_reply_free(reply);
    snprintf(text, sizeof(text), "{\"price\":%d}", (int)price);
    return mcp_result_json(out, text, strlen(text));
}

/* Tells the client twenty things, and one in between that does not fit. */
static int
count_aloud(mcp_request *req, mcp_result *out, void *user)
{
    char text[32];
    int r = 0;

    (void)out, (void)user;
    for (int i = 1; r == 0 && i <= 20; i++) {
        snprintf(text, sizeof(text), "{\"n\":%d}", i);
        r = mcp_request_notify(req, "shop/number", text);
        if (r == 0 && i == 10)
            r = mcp_request_notify(req, "shop/number", "{\"m\":0}");
    }
    return r;
}

static void
server_is_told(const char *method, const mcp_json *params, void *user)
{
    struct heard *heard = user;

    if (strcmp(method, "shop/hello") != 0 ||
        !mcp_json_is_string(mcp_json_get(params, "who"), "me"))
        atomic_fetch_add(&heard->wrong, 1);
    atomic_fetch_add(&heard->server, 1);
}

/* ---- the client's ----------------------------------------------------------- */

static void
client_is_told(const char *method, const mcp_json *params, void *user)
{
    struct heard *heard = user;

    if (strcmp(method, "shop/looking") != 0 ||
        mcp_json_int(mcp_json_get(params, "n"), 0) != 1)
        atomic_fetch_add(&heard->wrong, 1);
    atomic_fetch_add(&heard->client, 1);
}

/* One at a time, and in order: else it is wrong. */
static void
client_hears_number(const char *method, const mcp_json *params, void *user)
{
    struct heard *heard = user;
    int64_t n = mcp_json_int(mcp_json_get(params, "n"), 0);

    (void)method;
    if (n != atomic_load(&heard->numbers) + 1)
        atomic_fetch_add(&heard->wrong, 1);
    atomic_fetch_add(&heard->numbers, 1);
}

static void
client_hears_other(mcp_client *client, const char *method, const mcp_json *params,
                   void *user)
{
    struct pairing *p = user;

    (void)client, (void)method, (void)params;
    atomic_fetch_add(&p->heard.other, 1);
}

static int
price(mcp_request *req, mcp_result *out, void *user)
{
    (void)req, (void)user;
    return mcp_result_json(out, "{\"price\":7}", 11);
}

static const char price_schema[] = "{\"type\":\"object\",\"required\":[\"of\"],"
                                   "\"properties\":{\"of\":{\"type\":\"string\"}},"
                                   "\"additionalProperties\":false}";

#define OWN_OPTIONS(...) \
    MCP_CLIENT_OPTIONS(.name = "shopper", .version = "1", __VA_ARGS__)

static void
client_open(struct pairing *p, const struct cell *cell, const char *place,
            const mcp_client_options *opt)
{
    mcp_error err = {0};
    int pair[2];
    int r;

    if (cell->link == MEMORY) {
        r = mcp_client_attach_server(p->raw.server, opt, &p->client, &err);
    } else if (cell->link == UNIX) {
        r = mcp_client_connect_unix(place, opt, &p->client, &err);
    } else if (cell->link == HTTP) {
        r = mcp_client_connect_http(place, NULL, opt, &p->client, &err);
    } else {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
        assert_int_equal(mcp_server_attach(p->raw.server, pair[0], pair[0], NULL), 0);
        r = mcp_client_attach(pair[1], pair[1], opt, &p->client, &err);
    }
    if (r < 0)
        fail_msg("%s", err.message);
}

static void
server_add(struct pairing *p, mcp_method method)
{
    mcp_error err = {0};

    if (mcp_server_add_method(p->raw.server, &method, &err) < 0)
        fail_msg("%s", err.message);
}

static void
server_listen(struct pairing *p, const struct cell *cell, char place[MCP_HTTP_URL_MAX])
{
    mcp_error err = {0};
    int r = 0;

    snprintf(place, MCP_HTTP_URL_MAX, "@libmcp-custom-%d", (int)getpid());
    if (cell->link == UNIX)
        r = mcp_server_listen_unix(p->raw.server, place, &err);
    if (cell->link == HTTP)
        r = mcp_server_listen_http(p->raw.server, &MCP_HTTP_OPTIONS(.port = 0), place,
                                   &err);
    if (r < 0)
        fail_msg("%s", err.message);
    assert_int_equal(mcp_server_start(p->raw.server, NULL), 0);
}

static void
pairing_open(struct pairing *p, const struct cell *cell)
{
    char place[MCP_HTTP_URL_MAX];
    const mcp_method looking = MCP_METHOD(.name = "shop/looking",
                                          .told = client_is_told, .user = &p->heard);
    const mcp_method number = MCP_METHOD(.name = "shop/number",
                                         .told = client_hears_number,
                                         .schema = "{\"required\":[\"n\"]}",
                                         .user = &p->heard);
    const mcp_method asked = MCP_METHOD(.name = "shop/price", .reply = price,
                                        .schema = price_schema);
    const mcp_method picky = MCP_METHOD(.name = "shop/picky", .run = price,
                                        .schema = "{\"required\":[\"never\"]}");
    const mcp_method deaf = MCP_METHOD(.name = "shop/think", .run = gate_hang,
                                       .user = &p->gate);
    const mcp_method *const methods[] = {&looking, &number, &asked,
                                         &picky,   &deaf,   NULL};

    memset(p, 0, sizeof(*p));
    test_mem_init(&p->mem);
    raw_make(&p->raw, MCP_SERVER_OPTIONS(.era = cell->era));
    server_add(p, MCP_METHOD(.name = "shop/stock", .run = stock));
    server_add(p, MCP_METHOD(.name = "shop/hang", .run = gate_hang, .user = &p->gate));
    server_add(p, MCP_METHOD(.name = "shop/ask", .run = ask_back));
    server_add(p, MCP_METHOD(.name = "shop/count", .run = count_aloud));
    server_add(
        p, MCP_METHOD(.name = "shop/hello", .told = server_is_told, .user = &p->heard));
    server_listen(p, cell, place);
    client_open(p, cell, place,
                &OWN_OPTIONS(.allocator = &p->mem.allocator, .methods = methods,
                             .on_notification = client_hears_other, .user = p));
}

static void
pairing_close(struct pairing *p)
{
    mcp_client_free(p->client);
    raw_done(&p->raw);
    test_mem_done(&p->mem);
}

/* ---- cases ------------------------------------------------------------------ */

static void
on_progress(mcp_call *call, double progress, double total, const char *message,
            void *user)
{
    struct heard *heard = user;

    (void)call, (void)progress, (void)total, (void)message;
    atomic_fetch_add(&heard->progress, 1);
}

static void
a_method_of_the_servers_is_called(void **state)
{
    struct pairing p;
    mcp_reply *reply = NULL;
    mcp_error err = {0};

    pairing_open(&p, *state);
    assert_int_equal(
        mcp_client_call(p.client, "shop/stock", "{\"of\":\"tea\"}",
                        &MCP_CALL_OPTIONS(.on_progress = on_progress, .user = &p.heard),
                        &reply, &err),
        0);
    assert_int_equal(mcp_json_int(mcp_json_get(mcp_reply_result(reply), "left"), 0), 3);
    assert_true(mcp_json_is_string(mcp_json_get(mcp_reply_result(reply), "of"), "tea"));
    assert_int_equal(atomic_load(&p.heard.progress), 1);
    mcp_reply_free(reply);
    RAW_UNTIL(atomic_load(&p.heard.client) == 1);
    assert_int_equal(atomic_load(&p.heard.wrong), 0);
    assert_int_equal(atomic_load(&p.heard.other), 0);
    assert_int_equal(mcp_client_call(p.client, "shop/none", NULL, NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32601);
    pairing_close(&p);
}

static void
what_a_server_tells_is_told_in_order(void **state)
{
    struct pairing p;

    pairing_open(&p, *state);
    assert_int_equal(mcp_client_call(p.client, "shop/count", NULL, NULL, NULL, NULL),
                     0);
    RAW_UNTIL(atomic_load(&p.heard.numbers) == 20);
    assert_int_equal(atomic_load(&p.heard.wrong), 0);
    assert_int_equal(atomic_load(&p.heard.other), 0);
    pairing_close(&p);
}

static void
a_server_is_told(void **state)
{
    struct pairing p;

    pairing_open(&p, *state);
    assert_int_equal(mcp_client_notify(p.client, "shop/hello", "{\"who\":\"me\"}"), 0);
    RAW_UNTIL(atomic_load(&p.heard.server) == 1);
    assert_int_equal(atomic_load(&p.heard.wrong), 0);
    pairing_close(&p);
}

static void
B1_F2_a_call_that_is_canceled_stops_its_handler(void **state)
{
    struct pairing p;
    mcp_call *call = NULL;

    pairing_open(&p, *state);
    assert_int_equal(
        mcp_client_start(p.client, "shop/hang", NULL, NULL, NULL, NULL, &call), 0);
    RAW_UNTIL(atomic_load(&p.gate.entered) == 1);
    assert_int_equal(mcp_call_cancel(call, "enough"), 0);
    assert_int_equal(mcp_call_wait(call, AWAIT_MS, NULL, NULL), MCP_E_CANCELED);
    RAW_UNTIL(atomic_load(&p.gate.left) == 1);
    assert_int_equal(mcp_client_call(p.client, "shop/stock", NULL, NULL, NULL, NULL),
                     0);
    mcp_call_free(call);
    pairing_close(&p);
}

/* From 2026-07-28 on servers have no way to ask it. */
static void
a_method_of_the_clients_is_asked_in_the_legacy_era(void **state)
{
    const struct cell *cell = *state;
    struct pairing p;
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    int r;

    pairing_open(&p, cell);
    r = mcp_client_call(p.client, "shop/ask", NULL, NULL, &reply, &err);
    if (cell->era == MCP_ERA_MODERN) {
        assert_int_equal(r, MCP_E_PEER);
        pairing_close(&p);
        return;
    }
    assert_int_equal(r, 0);
    assert_int_equal(mcp_json_int(mcp_json_get(mcp_reply_result(reply), "price"), 0),
                     7);
    mcp_reply_free(reply);
    assert_int_equal(mcp_client_call(p.client, "shop/ask", "{\"method\":\"shop/none\"}",
                                     NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32601);
    assert_int_equal(mcp_client_call(p.client, "shop/ask",
                                     "{\"method\":\"shop/picky\"}", NULL, NULL, &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32602);
    assert_non_null(strstr(err.message, "Invalid params"));
    pairing_close(&p);
}

static void
F22_a_cancel_takes_back_what_the_client_was_asked(void **state)
{
    const struct cell *cell = *state;
    struct pairing p;
    mcp_call *call = NULL;

    if (cell->era == MCP_ERA_MODERN)
        return; /* there it is not asked */
    pairing_open(&p, cell);
    assert_int_equal(mcp_client_start(p.client, "shop/ask",
                                      "{\"method\":\"shop/think\"}", NULL, NULL, NULL,
                                      &call),
                     0);
    RAW_UNTIL(atomic_load(&p.gate.entered) == 1);
    assert_int_equal(mcp_call_cancel(call, NULL), 0);
    RAW_UNTIL(atomic_load(&p.gate.left) == 1);
    mcp_call_free(call);
    pairing_close(&p);
}

/* ---- a client's mistakes ----------------------------------------------------- */

static void
refuse(const mcp_method *first, const mcp_method *second, const char *why)
{
    const mcp_method *const methods[] = {first, second, NULL};
    mcp_client *client = NULL;
    mcp_error err = {0};
    struct raw raw;

    raw_make(&raw, MCP_SERVER_OPTIONS(.page = 0));
    assert_int_equal(mcp_client_attach_server(
                         raw.server, &OWN_OPTIONS(.methods = methods), &client, &err),
                     MCP_E_INVAL);
    if (!strstr(err.message, why))
        fail_msg("no %s in %s", why, err.message);
    raw_done(&raw);
}

static void
a_client_is_refused_methods_that_are_none(void **state)
{
    const mcp_method good = MCP_METHOD(.name = "a/b", .run = price);
    const mcp_method theirs = MCP_METHOD(.name = "sampling/createMessage",
                                         .run = price);
    const mcp_method empty = {0};

    (void)state;
    refuse(&theirs, NULL, "of the protocol");
    refuse(&good, &good, "it is there twice");
    refuse(&empty, NULL, "this is no method");
}

/* ---- memory ------------------------------------------------------------------ */

static void
ask_in(struct test_mem *mem, void *user)
{
    struct pairing *p = user;
    const mcp_method looking = MCP_METHOD(.name = "shop/looking",
                                          .told = client_is_told, .user = &p->heard);
    const mcp_method asked = MCP_METHOD(.name = "shop/price", .run = price,
                                        .schema = price_schema);
    const mcp_method *const methods[] = {&looking, &asked, NULL};
    mcp_client *client = NULL;

    if (mcp_client_attach_server(p->raw.server,
                                 &OWN_OPTIONS(.allocator = &mem->allocator,
                                              .era = MCP_ERA_LEGACY,
                                              .methods = methods),
                                 &client, NULL) < 0)
        return;
    (void)mcp_client_call(client, "shop/stock", NULL, NULL, NULL, NULL);
    (void)mcp_client_call(client, "shop/ask", NULL, NULL, NULL, NULL);
    mcp_client_free(client);
}

static void
each_allocation_of_the_client_may_fail(void **state)
{
    const struct cell cell = {MEMORY, MCP_ERA_LEGACY};
    struct pairing p;

    (void)state;
    pairing_open(&p, &cell);
    assert_true(test_each_allocation_fails(ask_in, &p) > 20);
    pairing_close(&p);
}

/* ---- the table ------------------------------------------------------------- */

/* clang-format off */
#define CELL(name, link_, era_, function) \
    TEST_AS(name #function, function, (&(struct cell){link_, era_}))
#define EVERYWHERE(f) \
    CELL("memory.modern.", MEMORY, MCP_ERA_MODERN, f), \
    CELL("memory.legacy.", MEMORY, MCP_ERA_LEGACY, f), \
    CELL("sockets.modern.", SOCKETS, MCP_ERA_MODERN, f), \
    CELL("sockets.legacy.", SOCKETS, MCP_ERA_LEGACY, f), \
    CELL("unix.modern.", UNIX, MCP_ERA_MODERN, f), \
    CELL("unix.legacy.", UNIX, MCP_ERA_LEGACY, f), \
    CELL("http.modern.", HTTP, MCP_ERA_MODERN, f), \
    CELL("http.legacy.", HTTP, MCP_ERA_LEGACY, f)
/* clang-format on */

int
main(void)
{
    const struct test_case cases[] = {
        EVERYWHERE(a_method_of_the_servers_is_called),
        EVERYWHERE(what_a_server_tells_is_told_in_order),
        EVERYWHERE(a_server_is_told),
        EVERYWHERE(B1_F2_a_call_that_is_canceled_stops_its_handler),
        EVERYWHERE(a_method_of_the_clients_is_asked_in_the_legacy_era),
        EVERYWHERE(F22_a_cancel_takes_back_what_the_client_was_asked),
        TEST(a_client_is_refused_methods_that_are_none),
        TEST(each_allocation_of_the_client_may_fail),
    };

    return test_main(__FILE__, cases, sizeof(cases) / sizeof(cases[0]));
}
