/* sqlite_tables_test.c - sqlite-server: tables as resources, schema, prompt, options */
#include "servers/sqlite_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mcp/http.h>
#include <mcp/subscription.h>

/* ---- schema ------------------------------------------------------------------- */

static void
schema_tells_of_all_tables_and_of_one(void **state)
{
    const mcp_json *all, *column, *key;
    mcp_reply *reply;
    struct place p;

    place_make(&p);
    place_open(&p, *state, NULL, NULL);
    reply = call(&p, "schema", "{}");
    all = mcp_json_get(mcp_reply_structured(reply), "tables");
    assert_int_equal(mcp_json_count(all), 5);
    assert_true(
        mcp_json_is_string(mcp_json_get(mcp_json_find(all, "name", "many"), "sql"),
                           "CREATE TABLE many(n INTEGER PRIMARY KEY, text TEXT)"));
    assert_true(mcp_json_is_string(
        mcp_json_get(mcp_json_find(all, "name", "old"), "type"), "view"));
    mcp_reply_free(reply);
    reply = call(&p, "schema", "{\"table\":\"people\"}");
    all = mcp_reply_structured(reply);
    assert_int_equal(mcp_json_count(mcp_json_get(all, "tables")), 1);
    column = mcp_json_find(mcp_json_get(all, "columns"), "name", "name");
    assert_int_equal(mcp_json_int(mcp_json_get(column, "not_null"), 0), 1);
    assert_non_null(mcp_json_find(mcp_json_get(all, "indexes"), "columns", "born"));
    key = mcp_json_find(mcp_json_get(all, "foreign_keys"), "column", "friend");
    assert_true(mcp_json_is_string(mcp_json_get(key, "refers_to"), "people"));
    mcp_reply_free(reply);
    expect_failure(&p, "schema", "{\"table\":\"nowhere\"}",
                   "there is no table nowhere");
    expect_failure(&p, "schema", "{\"table\":\"sqlite_schema\"}", "there is no table");
    place_close(&p);
}

static void
a_view_that_is_broken_spoils_only_itself(void **state)
{
    mcp_reply *reply;
    struct place p;

    (void)state;
    place_make(&p);
    place_sql(&p, "CREATE VIEW broken AS SELECT * FROM nowhere");
    place_open(&p, &ways[0], NULL, NULL);
    reply = call(&p, "schema", "{}");
    assert_false(mcp_reply_is_error(reply));
    assert_non_null(strstr(mcp_reply_text(reply), "broken"));
    mcp_reply_free(reply);
    expect_failure(&p, "schema", "{\"table\":\"broken\"}",
                   "no such table: main.nowhere");
    place_close(&p);
}

/* ---- resources ------------------------------------------------------------------ */

/* Read it and parse its text, which the caller frees. */
static mcp_doc *
read_table(struct place *p, const char *uri)
{
    const mcp_json *text;
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    mcp_doc *doc = NULL;

    if (mcp_client_read(p->client, uri, NULL, &reply, &err) < 0)
        fail_msg("%s: %s", uri, err.message);
    text = mcp_json_get(mcp_json_at(mcp_reply_items(reply), 0), "text");
    assert_int_equal(mcp_doc_parse(mcp_json_string(text, ""),
                                   mcp_json_string_length(text), NULL, &doc, NULL),
                     0);
    mcp_reply_free(reply);
    return doc;
}

static void
expect_listed(struct place *p, const char *uri, bool is_listed)
{
    mcp_reply *reply = NULL;

    assert_int_equal(
        mcp_client_list_all(p->client, MCP_LIST_RESOURCES, NULL, &reply, NULL), 0);
    assert_int_equal(mcp_json_find(mcp_reply_items(reply), "uri", uri) != NULL,
                     is_listed);
    mcp_reply_free(reply);
}

static void
tables_are_read_as_resources(void **state)
{
    const mcp_json *table;
    struct place p;
    mcp_doc *doc;

    place_make(&p);
    place_open(&p, *state, NULL, NULL);
    expect_listed(&p, "sqlite://main/people", true);
    expect_listed(&p, "sqlite://main/old", true);
    expect_listed(&p, STRANGE_URI, true);
    doc = read_table(&p, STRANGE_URI);
    table = mcp_doc_root(doc);
    assert_true(mcp_json_is_string(
        mcp_json_at(mcp_json_at(mcp_json_get(table, "rows"), 0), 0), "found"));
    assert_non_null(mcp_json_find(mcp_json_get(mcp_json_get(table, "schema"), "tables"),
                                  "name", STRANGE));
    mcp_doc_free(doc);
    place_close(&p);
}

static void
a_long_table_is_read_page_by_page(void **state)
{
    char uri[256] = "sqlite://main/many";
    mcp_json_iterator it;
    int64_t at = 1;
    struct place p;

    (void)state;
    place_make(&p);
    place_open(&p, &ways[0], NULL, NULL);
    while (*uri) {
        mcp_doc *doc = read_table(&p, uri);
        const mcp_json *table = mcp_doc_root(doc);

        for (it = mcp_json_each(mcp_json_get(table, "rows")); mcp_json_next(&it);)
            assert_int_equal(mcp_json_int(mcp_json_at(it.value, 0), 0), at++);
        (void)snprintf(uri, sizeof(uri), "%s",
                       mcp_json_string(mcp_json_get(table, "next"), ""));
        mcp_doc_free(doc);
    }
    assert_int_equal(at, 2501);
    place_close(&p);
}

static void
what_is_no_table_is_not_found(void **state)
{
    static const char *const uris[] = {
        "sqlite://main/nowhere",
        "sqlite://main/people%22%3B%20DROP%20TABLE%20people%3B--",
        "sqlite://main/people'--",
        "sqlite://main/people%00x",
        "sqlite://main/%C3%28",
        "sqlite://main/",
        "sqlite://main/sqlite_schema",
        "sqlite://main/people?offset=",
        "sqlite://main/people?offset=-1",
        "sqlite://main/people?offset=1x",
        "sqlite://main/people/x",
        "sqlite://temp/people",
        "file:///etc/passwd",
    };
    mcp_error err;
    struct place p;

    place_make(&p);
    place_open(&p, *state, "--write", NULL);
    for (size_t i = 0; i < sizeof(uris) / sizeof(uris[0]); i++) {
        mcp_reply *reply = NULL;
        int r = mcp_client_read(p.client, uris[i], NULL, &reply, &err);

        if (r != MCP_E_PEER || (err.rpc_code != -32602 && err.rpc_code != -32002))
            fail_msg("%s: %d", uris[i], r);
    }
    assert_int_equal(place_number(&p, "SELECT count(*) FROM people"), 3);
    place_close(&p);
}

static void
expect_completion(struct place *p, const mcp_complete *what, const char *json)
{
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    char *text = NULL;

    if (mcp_client_complete(p->client, what, NULL, &reply, &err) < 0)
        fail_msg("%s", err.message);
    assert_int_equal(mcp_json_print(mcp_reply_items(reply), false, NULL, &text, NULL),
                     0);
    assert_string_equal(text, json);
    mcp_text_free(text, NULL);
    mcp_reply_free(reply);
}

static void
a_name_that_is_not_utf8_spoils_nothing(void **state)
{
    mcp_reply *reply;
    struct place p;

    (void)state;
    place_make(&p);
    place_sql(&p, "CREATE TABLE \"a\xff\"(\"b\xff\" TEXT)");
    place_open(&p, &ways[0], NULL, NULL);
    expect_listed(&p, "sqlite://main/people", true);
    reply = call(&p, "schema", "{}");
    assert_non_null(strstr(mcp_reply_text(reply), "{\"text_base64\":\"Yf8=\"}"));
    mcp_reply_free(reply);
    expect_completion(
        &p, &MCP_COMPLETE(.prompt = "explore", .argument = "table", .value = "p"),
        "[\"people\"]");
    place_close(&p);
}

static void
a_database_in_wal_mode_is_read_while_others_write(void **state)
{
    struct place p;

    (void)state;
    place_make(&p);
    place_sql(&p, "PRAGMA journal_mode = WAL");
    place_open(&p, &ways[0], NULL, NULL);
    expect_single(&p, arguments("SELECT count(*) FROM people", NULL), "3");
    place_sql(&p, "BEGIN IMMEDIATE; INSERT INTO people(name) VALUES ('x')");
    expect_single(&p, arguments("SELECT count(*) FROM people", NULL), "3");
    place_sql(&p, "COMMIT");
    expect_single(&p, arguments("SELECT count(*) FROM people", NULL), "4");
    place_close(&p);
}

/* ---- changes -------------------------------------------------------------------- */

static void
expect_notice(mcp_subscription *s, enum mcp_change change, const char *uri)
{
    mcp_notice notice;

    assert_int_equal(mcp_subscription_next(s, AWAIT_MS, &notice), 0);
    assert_int_equal(notice.change, change);
    if (uri)
        assert_string_equal(notice.uri, uri);
}

static void
do_execute(struct place *p, const char *sql)
{
    mcp_reply *reply = call(p, "execute", arguments(sql, NULL));

    if (mcp_reply_is_error(reply))
        fail_msg("%s: %s", sql, mcp_reply_text(reply));
    mcp_reply_free(reply);
}

static void
clients_hear_of_tables_that_come_and_go(void **state)
{
    const mcp_subscribe lists = MCP_SUBSCRIBE(.lists = MCP_RESOURCES_CHANGED);
    mcp_subscription *s = NULL;
    struct place p;

    place_make(&p);
    place_open(&p, *state, "--write", NULL);
    assert_int_equal(mcp_client_subscribe(p.client, &lists, &s, NULL), 0);
    expect_listed(&p, "sqlite://main/fresh", false);
    do_execute(&p, "CREATE TABLE fresh(x)");
    expect_notice(s, MCP_RESOURCES_CHANGED, NULL);
    expect_listed(&p, "sqlite://main/fresh", true);
    do_execute(&p, "DROP TABLE fresh");
    expect_notice(s, MCP_RESOURCES_CHANGED, NULL);
    expect_listed(&p, "sqlite://main/fresh", false);
    place_sql(&p,
              "CREATE TABLE others(x)"); /* another process: seen with the next call */
    expect_single(&p, arguments("SELECT 1", NULL), "1");
    expect_notice(s, MCP_RESOURCES_CHANGED, NULL);
    expect_listed(&p, "sqlite://main/others", true);
    mcp_subscription_free(s);
    place_close(&p);
}

static void
clients_hear_of_tables_that_are_written_to(void **state)
{
    const char *const uris[] = {"sqlite://main/people", STRANGE_URI, NULL};
    const mcp_subscribe wish = MCP_SUBSCRIBE(.uris = uris);
    mcp_subscription *s = NULL;
    struct place p;

    place_make(&p);
    place_open(&p, *state, "--write", NULL);
    assert_int_equal(mcp_client_subscribe(p.client, &wish, &s, NULL), 0);
    do_execute(&p, "DELETE FROM many WHERE n = 1"); /* nobody watches it */
    expect_failure(&p, "execute",
                   arguments("INSERT INTO people(name) SELECT NULL", NULL),
                   "NOT NULL"); /* nothing has changed */
    do_execute(&p, "INSERT INTO \"odd \"\"%/,é?#{x}'\" VALUES (1)");
    expect_notice(s, MCP_RESOURCE_UPDATED, STRANGE_URI);
    do_execute(&p, "UPDATE people SET born = 1");
    expect_notice(s, MCP_RESOURCE_UPDATED, "sqlite://main/people");
    mcp_subscription_free(s);
    place_close(&p);
}

/* ---- completion and the prompt ------------------------------------------------------- */

static void
table_names_are_completed(void **state)
{
    static const char uri[] = "sqlite://main/{table}{?offset}";
    struct place p;

    place_make(&p);
    place_open(&p, *state, NULL, NULL);
    expect_completion(
        &p, &MCP_COMPLETE(.uri_template = uri, .argument = "table", .value = "o"),
        "[\"odd \\\"%/,é?#{x}'\",\"old\"]");
    expect_completion(
        &p, &MCP_COMPLETE(.uri_template = uri, .argument = "offset", .value = ""),
        "[]");
    expect_completion(
        &p, &MCP_COMPLETE(.prompt = "explore", .argument = "table", .value = "pe"),
        "[\"people\"]");
    expect_completion(
        &p, &MCP_COMPLETE(.prompt = "explore", .argument = "question", .value = "p"),
        "[]");
    place_close(&p);
}

static void
the_prompt_has_the_schema_of_its_table(void **state)
{
    const mcp_json *content;
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    struct place p;

    place_make(&p);
    place_open(&p, *state, NULL, NULL);
    assert_int_equal(mcp_client_get_prompt(p.client, "explore",
                                           "{\"table\":\"people\","
                                           "\"question\":\"Who is the oldest?\"}",
                                           NULL, &reply, NULL),
                     0);
    content = mcp_json_get(mcp_json_at(mcp_reply_items(reply), 0), "content");
    assert_non_null(strstr(mcp_json_string(mcp_json_get(content, "text"), ""),
                           "Who is the oldest?"));
    content = mcp_json_get(mcp_json_at(mcp_reply_items(reply), 1), "content");
    content = mcp_json_get(content, "resource");
    assert_true(
        mcp_json_is_string(mcp_json_get(content, "uri"), "sqlite://main/people"));
    assert_non_null(strstr(mcp_json_string(mcp_json_get(content, "text"), ""),
                           "CREATE TABLE people"));
    mcp_reply_free(reply);
    assert_int_equal(mcp_client_get_prompt(p.client, "explore", "{\"table\":\"x\"}",
                                           NULL, &reply, &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32602);
    place_close(&p);
}

/* ---- the command line ------------------------------------------------------------------ */

static void
a_wrong_command_line_is_explained(void **state)
{
    static const char *const wrong[][4] = {
        {NULL},
        {"", NULL},
        {":memory:"},
        {"a.db", "b.db"},
        {"--nonsense", "a.db"},
        {"--http", "nowhere", "a.db"},
        {"--http", "127.0.0.1:x", "a.db"},
        {"--http", "127.0.0.1:65536", "a.db"},
        {"--limit", "-1", "a.db"},
        {"--limit", "x", "a.db"},
    };
    char said[4096];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(run_program(wrong[i], said, sizeof(said)), 2);
        assert_non_null(strstr(said, "usage: sqlite-server"));
    }
    assert_int_equal(run_program((const char *[]){"--help", NULL}, said, sizeof(said)),
                     0);
    assert_non_null(strstr(said, "--http HOST:PORT"));
}

/* ---- on a port ------------------------------------------------------------------ */

static void
a_port_for_everybody_needs_a_token(void **state)
{
    static const char *const hosts[] = {"0.0.0.0:0", "[::]:0", "127.example.org:0"};
    char said[4096];
    struct place p;

    (void)state;
    place_make(&p);
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        const char *args[] = {"--http", hosts[i], p.file, NULL};

        assert_int_equal(run_program(args, said, sizeof(said)), 1);
        assert_non_null(strstr(said, "SQLITE_SERVER_TOKEN"));
    }
    place_close(&p);
}

static void
with_a_token_nobody_else_is_served(void **state)
{
    static const char *const with[] = {"Authorization: Bearer open sesame", NULL};
    static const char *const other[] = {"Authorization: Bearer open sesamy", NULL};
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0");
    const char *const *const wrong[] = {NULL, other};
    mcp_error err = {0};
    struct place p;

    (void)state;
    place_make(&p);
    p.is_guarded = true;
    setenv("SQLITE_SERVER_TOKEN", "open sesame", 1);
    place_open(&p, &ways[2], NULL, NULL);
    unsetenv("SQLITE_SERVER_TOKEN");
    for (int i = 0; i < 2; i++) {
        assert_int_equal(mcp_client_connect_http(
                             p.url, &MCP_HTTP_CLIENT_OPTIONS(.headers = wrong[i]), &me,
                             &p.client, &err),
                         MCP_E_HTTP);
        assert_int_equal(err.http_status, 401);
    }
    assert_int_equal(mcp_client_connect_http(p.url,
                                             &MCP_HTTP_CLIENT_OPTIONS(.headers = with),
                                             &me, &p.client, &err),
                     0);
    expect_single(&p, arguments("SELECT 7", NULL), "7");
    place_close(&p);
}

static void
a_wrong_file_is_found_at_the_start(void **state)
{
    const char *args[4] = {NULL};
    char path[128], said[4096];
    struct stat status;
    struct place p;
    FILE *file;

    (void)state;
    place_make(&p);
    (void)snprintf(path, sizeof(path), "%s/none.db", p.folder);
    args[0] = path;
    assert_int_equal(run_program(args, said, sizeof(said)), 1);
    assert_non_null(strstr(said, "unable to open database file"));
    assert_int_equal(stat(path, &status), -1);
    file = fopen(path, "we");
    assert_non_null(file);
    for (int i = 0; i < 1000; i++)
        fputs("this is no database ", file);
    fclose(file);
    assert_int_equal(run_program(args, said, sizeof(said)), 1);
    assert_non_null(strstr(said, "file is not a database"));
    args[0] = p.folder;
    assert_int_equal(run_program(args, said, sizeof(said)), 1);
    place_close(&p);
}

static void
a_new_file_is_made_if_it_may_be_written(void **state)
{
    struct place p;

    (void)state;
    place_make(&p);
    assert_int_equal(sqlite3_close(p.db), SQLITE_OK);
    assert_int_equal(unlink(p.file), 0);
    place_open(&p, &ways[0], "--write", NULL);
    do_execute(&p, "CREATE TABLE x(y)");
    expect_listed(&p, "sqlite://main/x", true);
    expect_single(&p, arguments("SELECT count(*) FROM x", NULL), "0");
    assert_int_equal(sqlite3_open(p.file, &p.db), SQLITE_OK);
    assert_int_equal(place_number(&p, "SELECT count(*) FROM x"), 0);
    place_close(&p);
}

/* As who restores a backup does it: another file under the same name. */
static void
file_replace(const struct place *p)
{
    sqlite3 *fresh = NULL;
    char path[128];

    (void)snprintf(path, sizeof(path), "%s.fresh", p->file);
    assert_int_equal(sqlite3_open(path, &fresh), SQLITE_OK);
    assert_int_equal(sqlite3_exec(fresh,
                                  "CREATE TABLE fresh(n); INSERT INTO fresh VALUES(7)",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    assert_int_equal(sqlite3_close(fresh), SQLITE_OK);
    assert_int_equal(rename(path, p->file), 0);
}

static void
a_file_that_is_replaced_is_served_as_it_is_now(void **state)
{
    struct place p;

    place_make(&p);
    place_open(&p, *state, "--write", NULL);
    expect_single(&p, arguments("SELECT count(*) FROM many", NULL), "2500");
    file_replace(&p);
    expect_single(&p, arguments("SELECT n FROM fresh", NULL), "7");
    expect_listed(&p, "sqlite://main/fresh", true);
    expect_listed(&p, "sqlite://main/many", false);
    do_execute(&p, "INSERT INTO fresh VALUES(8)");
    expect_single(&p, arguments("SELECT count(*) FROM fresh", NULL), "2");
    expect_failure(&p, "query", arguments("SELECT * FROM many", NULL), "no such table");
    place_close(&p);
}

TEST_MAIN(IN_EACH_WAY(schema_tells_of_all_tables_and_of_one),
          TEST(a_view_that_is_broken_spoils_only_itself),
          IN_EACH_WAY(tables_are_read_as_resources),
          TEST(a_long_table_is_read_page_by_page),
          IN_BOTH_ERAS(what_is_no_table_is_not_found),
          TEST(a_name_that_is_not_utf8_spoils_nothing),
          TEST(a_database_in_wal_mode_is_read_while_others_write),
          IN_EACH_WAY(clients_hear_of_tables_that_come_and_go),
          IN_EACH_WAY(clients_hear_of_tables_that_are_written_to),
          IN_EACH_WAY(table_names_are_completed),
          IN_EACH_WAY(the_prompt_has_the_schema_of_its_table),
          TEST(a_wrong_command_line_is_explained),
          TEST(a_port_for_everybody_needs_a_token),
          TEST(with_a_token_nobody_else_is_served),
          TEST(a_wrong_file_is_found_at_the_start),
          TEST(a_new_file_is_made_if_it_may_be_written),
          IN_TWO_WAYS(a_file_that_is_replaced_is_served_as_it_is_now))
