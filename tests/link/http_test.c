/* http_test.c - what HTTP says: headers, lists, statuses */
#include "link/http.h"

#include <string.h>

#include "base/list.h"
#include "support/test.h"

static const mcp_http_field fields[] = {
    {"HOST", "a"},
    {"x-host", "b"},
    {"Accept", "text/html"},
    {"ACCEPT", "application/json"},
    {"Mcp-Protocol-Version", "v"},
    {"MCP-METHOD", "m"},
    {"mcp-name", "n"},
    {"Mcp-Names", "no"},
    {"", "empty"},
};

static const struct mcpi_http_in in = {.fields = fields,
                                       .field_count = sizeof fields / sizeof fields[0]};

static void
headers_are_found_without_case(void **state)
{
    size_t count = 7;

    (void)state;
    assert_string_equal(mcpi_http_get(&in, "host", NULL), "a");
    assert_string_equal(mcpi_http_get(&in, "accept", &count), "text/html");
    assert_int_equal(count, 2);
    assert_null(mcpi_http_get(&in, "origin", &count));
    assert_int_equal(count, 0);
    assert_null(mcpi_http_get(&in, "hos", NULL));
    assert_null(mcpi_http_get(&in, "hostx", NULL));
}

static void
known_headers_are_found_in_one_pass(void **state)
{
    struct mcpi_http_known known;

    (void)state;
    mcpi_http_know(&in, &known);
    assert_string_equal(known.value[MCPI_HTTP_HOST], "a");
    assert_int_equal(known.count[MCPI_HTTP_HOST], 1);
    assert_string_equal(known.value[MCPI_HTTP_ACCEPT], "text/html");
    assert_int_equal(known.count[MCPI_HTTP_ACCEPT], 2);
    assert_string_equal(known.value[MCPI_HTTP_VERSION], "v");
    assert_string_equal(known.value[MCPI_HTTP_MCP_METHOD], "m");
    assert_string_equal(known.value[MCPI_HTTP_MCP_NAME], "n");
    assert_int_equal(known.count[MCPI_HTTP_MCP_NAME], 1);
    assert_null(known.value[MCPI_HTTP_ORIGIN]);
    assert_int_equal(known.count[MCPI_HTTP_SESSION], 0);
}

static void
every_known_header_has_its_name(void **state)
{
    static const struct {
        const char *name;
        enum mcpi_http_name is;
    } rows[] = {
        {"accept", MCPI_HTTP_ACCEPT},
        {"Transfer-Encoding", MCPI_HTTP_CODING},
        {"Content-Encoding", MCPI_HTTP_CONTENT_CODING},
        {"EXPECT", MCPI_HTTP_EXPECT},
        {"Content-Type", MCPI_HTTP_CONTENT_TYPE},
        {"host", MCPI_HTTP_HOST},
        {"Origin", MCPI_HTTP_ORIGIN},
        {"Mcp-Session-Id", MCPI_HTTP_SESSION},
        {"MCP-Protocol-Version", MCPI_HTTP_VERSION},
        {"Mcp-Method", MCPI_HTTP_MCP_METHOD},
        {"Mcp-Name", MCPI_HTTP_MCP_NAME},
        {"Access-Control-Request-Method", MCPI_HTTP_PREFLIGHT},
    };

    (void)state;
    assert_int_equal(sizeof rows / sizeof rows[0], MCPI_HTTP_NAMES);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const mcp_http_field one = {rows[i].name, "v"};
        const struct mcpi_http_in with = {.fields = &one, .field_count = 1};
        struct mcpi_http_known known;

        mcpi_http_know(&with, &known);
        for (unsigned name = 0; name < MCPI_HTTP_NAMES; name++)
            assert_int_equal(known.count[name], name == rows[i].is);
    }
}

static void
what_was_found_is_not_looked_for_again(void **state)
{
    const struct mcpi_http_known found = {.count = {[MCPI_HTTP_HOST] = 7}};
    struct mcpi_http_in with = in;
    struct mcpi_http_known room;

    (void)state;
    with.known = &found;
    assert_ptr_equal(mcpi_http_known_of(&with, &room), &found);
    assert_ptr_equal(mcpi_http_known_of(&in, &room), &room);
    assert_int_equal(room.count[MCPI_HTTP_HOST], 1);
}

static void
public_headers_are_found_without_case(void **state)
{
    const mcp_http_request request = MCP_HTTP_REQUEST(.fields = fields,
                                                      .field_count = sizeof fields /
                                                                     sizeof fields[0]);

    (void)state;
    assert_string_equal(mcp_http_header(&request, "Host"), "a");
    assert_string_equal(mcp_http_header(&request, "aCCEPT"), "text/html");
    assert_null(mcp_http_header(&request, "Authorization"));
    assert_null(mcp_http_header(&request, "hos"));
    assert_null(mcp_http_header(&request, NULL));
    assert_null(mcp_http_header(NULL, "host"));
}

static void
lists_have_items(void **state)
{
    static const struct {
        const char *list, *item;
        bool has;
    } rows[] = {
        {"application/json, text/event-stream", "application/json", true},
        {"application/json, text/event-stream", "text/event-stream", true},
        {"application/json,text/event-stream", "text/event-stream", true},
        {"Application/JSON", "application/json", true},
        {"application/json;charset=utf-8", "application/json", true},
        {"application/json ; charset=\"a,b;q=0\", x/y", "application/json", true},
        {"x/y;a=\"application/json,\"", "application/json", false},
        {"x/y;a=\"\\\",application/json,\"", "application/json", false},
        {"application/jsonx", "application/json", false},
        {"xapplication/json", "application/json", false},
        {"application/jso", "application/json", false},
        {"*/*", "application/json", true},
        {"application/*", "application/json", true},
        {"application/*", "text/event-stream", false},
        {"text/*;q=0.3", "text/event-stream", true},
        {"*/*;q=0", "application/json", false},
        {"application/json;q=0", "application/json", false},
        {"application/json;q=0.000", "application/json", false},
        {"application/json; Q=0 , */*", "application/json", false},
        {"application/json; Q=0 , */*", "text/event-stream", true},
        {"*/*, application/json;q=0", "application/json", false},
        {"application/*;q=0, application/json", "application/json", true},
        {"application/json;q=0.001", "application/json", true},
        {"application/json;q=00.5", "application/json", true},
        {"application/json;q=0, application/json", "application/json", true},
        {"", "application/json", false},
        {" , ,", "application/json", false},
        {";q=1", "application/json", false},
        {"keep-alive, Close", "close", true},
        {"keep-alive", "close", false},
        {"closed", "close", false},
        {"*", "close", false},
        {"a/", "a/b", false},
        {"\"", "close", false},
        {"close;\"", "close", true},
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (mcpi_http_list_has(rows[i].list, rows[i].item) != rows[i].has)
            fail_msg("%s in %s", rows[i].item, rows[i].list);
}

static unsigned
accepts(const char *first, const char *second)
{
    const mcp_http_field both[] = {{"Accept", first}, {"ACCEPT", second}};
    const struct mcpi_http_in with = {.fields = both, .field_count = second ? 2 : 1};
    struct mcpi_http_known known;

    mcpi_http_know(&with, &known);
    return mcpi_http_accepts(&with, &known);
}

static void
no_accept_allows_all_and_several_allow_what_any_does(void **state)
{
    const struct mcpi_http_in none = {0};
    const unsigned both = MCPI_HTTP_JSON | MCPI_HTTP_SSE;
    struct mcpi_http_known known;

    (void)state;
    mcpi_http_know(&none, &known);
    assert_int_equal(mcpi_http_accepts(&none, &known), both);
    assert_int_equal(accepts("application/json, text/event-stream", NULL), both);
    assert_int_equal(accepts("text/event-stream,application/json;q=0.1", NULL), both);
    assert_int_equal(accepts("application/json", NULL), MCPI_HTTP_JSON);
    assert_int_equal(accepts("text/*", NULL), MCPI_HTTP_SSE);
    assert_int_equal(accepts("", NULL), 0);
    assert_int_equal(accepts("text/html", "application/json"), MCPI_HTTP_JSON);
    assert_int_equal(accepts("text/event-stream", "application/json"), both);
    assert_int_equal(accepts("text/html", "text/plain"), 0);
}

static void
statuses_have_reasons(void **state)
{
    (void)state;
    assert_string_equal(mcpi_http_reason(200), "OK");
    assert_string_equal(mcpi_http_reason(202), "Accepted");
    assert_string_equal(mcpi_http_reason(404), "Not Found");
    assert_string_equal(mcpi_http_reason(503), "Service Unavailable");
    assert_string_equal(mcpi_http_reason(299), "OK");
    assert_string_equal(mcpi_http_reason(499), "Error");
}

/* ---- turns --------------------------------------------------------------- */

struct seen {
    struct mcpi_turn turn;
    int gone, written;
    char fields[256];
};

static void
on_gone(struct mcpi_turn *turn)
{
    struct seen *seen = turn->by;

    seen->gone++;
}

static void
on_written(struct mcpi_turn *turn)
{
    struct seen *seen = turn->by;

    seen->written++;
}

static void
D22_a_client_leaves_once(void **state)
{
    static const struct mcpi_turn_served served = {on_gone, on_written};
    struct seen seen = {0};

    (void)state;
    mcpi_turn_gone(&seen.turn);
    mcpi_turn_written(&seen.turn);
    seen.turn.served = &served;
    seen.turn.by = &seen;
    mcpi_turn_written(&seen.turn);
    assert_int_equal(seen.written, 1);
    mcpi_turn_gone(&seen.turn);
    mcpi_turn_gone(&seen.turn);
    mcpi_turn_written(&seen.turn);
    assert_int_equal(seen.gone, 1);
    assert_int_equal(seen.written, 1);
}

static bool
say(struct mcpi_turn *turn, const struct mcpi_http_out *out)
{
    struct seen *seen = MCPI_CONTAINER(turn, struct seen, turn);

    seen->fields[0] = '\0';
    for (size_t i = 0; i < out->field_count; i++) {
        strcat(seen->fields, out->fields[i].name);
        strcat(seen->fields, out->fields[i].value);
    }
    return out->status == 200;
}

static void
an_answer_has_the_fields_of_its_turn_too(void **state)
{
    static const struct mcpi_turn_ops ops = {.reply = say, .open = say};
    static const mcp_http_field own[] = {{"a", "1"}, {"b", "2"}},
                                turns[] = {{"c", "3"}};
    const struct mcpi_http_out out = {.status = 200, .fields = own, .field_count = 2};
    struct seen seen = {.turn.ops = &ops};

    (void)state;
    assert_true(mcpi_turn_reply(&seen.turn, &out));
    assert_string_equal(seen.fields, "a1b2");
    assert_true(mcpi_turn_open(&seen.turn, &out));
    assert_string_equal(seen.fields, "a1b2");
    seen.turn.fields = turns;
    seen.turn.field_count = 1;
    assert_true(mcpi_turn_reply(&seen.turn, &out));
    assert_string_equal(seen.fields, "a1b2c3");
    seen.fields[0] = '\0';
    assert_true(mcpi_turn_open(&seen.turn, &out));
    assert_string_equal(seen.fields, "a1b2c3");
}

static void
an_answer_says_the_nonce_of_its_turn(void **state)
{
    static const struct mcpi_turn_ops ops = {.reply = say, .open = say};
    const struct mcpi_http_out out = {.status = 200};
    struct seen seen = {.turn.ops = &ops, .turn.nonce = "n1"};

    (void)state;
    assert_true(mcpi_turn_reply(&seen.turn, &out));
    assert_string_equal(seen.fields, "DPoP-Noncen1");
    seen.fields[0] = '\0';
    assert_true(mcpi_turn_open(&seen.turn, &out));
    assert_string_equal(seen.fields, "DPoP-Noncen1");
}

TEST_MAIN(TEST(headers_are_found_without_case),
          TEST(known_headers_are_found_in_one_pass),
          TEST(every_known_header_has_its_name),
          TEST(what_was_found_is_not_looked_for_again),
          TEST(public_headers_are_found_without_case), TEST(lists_have_items),
          TEST(no_accept_allows_all_and_several_allow_what_any_does),
          TEST(statuses_have_reasons), TEST(D22_a_client_leaves_once),
          TEST(an_answer_has_the_fields_of_its_turn_too),
          TEST(an_answer_says_the_nonce_of_its_turn))
