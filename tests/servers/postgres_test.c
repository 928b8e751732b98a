/* postgres_test.c - postgres-server: what it answers, and what it refuses */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <mcp/http.h>

#include "servers/postgres_fixture.h"

/* ---- rows ----------------------------------------------------------------------- */

/* The member of a reply's structured content, as JSON; in a buffer that is reused. */
static const char *
member_of(const mcp_reply *reply, const char *name)
{
    static char text[8192];
    char *made = NULL;

    if (mcp_reply_is_error(reply))
        fail_msg("%s", mcp_reply_text(reply));
    assert_int_equal(mcp_json_print(mcp_json_get(mcp_reply_structured(reply), name),
                                    false, NULL, &made, NULL),
                     0);
    assert_true(strlen(made) < sizeof(text));
    memcpy(text, made, strlen(made) + 1);
    mcp_text_free(made, NULL);
    return text;
}

static void
expect_rows(struct rig *rig, const char *arguments, const char *rows)
{
    mcp_reply *reply = rig_call(rig, "query", arguments);

    assert_string_equal(member_of(reply, "rows"), rows);
    mcp_reply_free(reply);
}

static void
values_are_what_they_are_in_JSON_or_text(void **state)
{
    struct rig rig;

    rig_open(&rig, *state, "1", false);
    expect_rows(&rig,
                "{\"sql\":\"SELECT 1, 1.5::float8, true, null, 'x', "
                "'{\\\"a\\\": [1, 2]}'::jsonb, '1'::json\"}",
                "[[1,1.5,true,null,\"x\",{\"a\":[1,2]},1]]");
    expect_rows(
        &rig,
        "{\"sql\":\"SELECT 9007199254740991, -9007199254740992, 1.50, "
        "'NaN'::float8, '-Infinity'::float4\"}",
        "[[9007199254740991,\"-9007199254740992\",\"1.50\",\"NaN\",\"-Infinity\"]]");
    expect_rows(
        &rig,
        "{\"sql\":\"SELECT '\\\\x006869'::bytea, array[1,2], date '2026-07-28', "
        "'4294967295'::oid, ''\"}",
        "[[\"\\\\x006869\",\"{1,2}\",\"2026-07-28\",4294967295,\"\"]]");
    expect_rows(&rig, "{\"sql\":\"SELECT 1 WHERE false\"}", "[]");
    rig_close(&rig);
}

/* Inside of JSON too: what would be another number is not given as one. */
static void
numbers_inside_of_JSON_are_not_rounded(void **state)
{
    struct rig rig;

    rig_open(&rig, *state, "1", false);
    expect_rows(&rig,
                "{\"sql\":\"SELECT '[0.30000000000000004, 1.50, -0, 9007199254740991, "
                "1e2]'::jsonb, '\\\"12345678901234567890\\\\\\\"1\\\"'::jsonb\"}",
                "[[[0.30000000000000004,1.5,0,9007199254740991,100],"
                "\"12345678901234567890\\\"1\"]]");
    expect_rows(&rig,
                "{\"sql\":\"SELECT '[12345678901234567890.12]'::jsonb, "
                "'[9007199254740993]'::json, '0.1234567890123456789'::jsonb\"}",
                "[[\"[12345678901234567890.12]\",\"[9007199254740993]\","
                "\"0.1234567890123456789\"]]");
    rig_close(&rig);
}

static void
rows_without_columns_are_rows(void **state)
{
    mcp_reply *reply;
    struct rig rig;

    rig_open(&rig, *state, "1", false);
    reply = rig_sql(&rig, "query", "SELECT FROM generate_series(1, 2)");
    assert_string_equal(member_of(reply, "columns"), "[]");
    assert_string_equal(member_of(reply, "rows"), "[[],[]]");
    mcp_reply_free(reply);
    rig_close(&rig);
}

static void
parameters_are_bound_and_never_part_of_the_statement(void **state)
{
    struct rig rig;

    rig_open(&rig, *state, "1", false);
    expect_rows(&rig,
                "{\"sql\":\"SELECT $1::int + $2::int, $3::text, $4::bool, $5::jsonb, "
                "$6::text, $7::float8\",\"parameters\":[1, 2, \"'; DROP TABLE x; --\", "
                "true, {\"a\": 1}, null, 0.5]}",
                "[[3,\"'; DROP TABLE x; --\",true,{\"a\":1},null,0.5]]");
    rig_close(&rig);
}

static void
pages_follow_each_other_by_a_cursor_that_is_bound_to_its_query(void **state)
{
    const char *sql = "SELECT n FROM generate_series(1, $1::int) n ORDER BY n";
    char cursor[64] = "";
    mcp_reply *reply;
    struct rig rig;
    int pages = 0;

    rig_open(&rig, *state, "1", false);
    do {
        reply = rig_call(
            &rig, "query",
            formatted("{\"sql\":\"%s\",\"parameters\":[250],\"limit\":100%s%s}", sql,
                      *cursor ? ",\"cursor\":" : "", cursor));
        assert_int_equal(
            mcp_json_int(
                mcp_json_at(
                    mcp_json_at(mcp_json_get(mcp_reply_structured(reply), "rows"), 0),
                    0),
                0),
            pages * 100 + 1);
        pages++;
        if (pages < 3)
            (void)snprintf(cursor, sizeof(cursor), "%s", member_of(reply, "cursor"));
        else
            assert_null(mcp_json_get(mcp_reply_structured(reply), "cursor"));
        mcp_reply_free(reply);
    } while (pages < 3);
    reply = rig_call(
        &rig, "query",
        formatted("{\"sql\":\"%s\",\"parameters\":[251],\"cursor\":%s}", sql, cursor));
    assert_true(mcp_reply_is_error(reply));
    assert_non_null(strstr(mcp_reply_text(reply), "cursor is not of this query"));
    mcp_reply_free(reply);
    rig_close(&rig);
}

/* PostgreSQL writes down who connects, and a cancel connects. */
static void
a_page_that_has_a_next_one_needs_no_cancel(void **state)
{
    mcp_reply *reply;
    struct rig rig;
    int before;

    rig_open(&rig, *state, "1", false);
    postgres_ask("ALTER SYSTEM SET log_connections = on");
    postgres_ask("SELECT pg_reload_conf()");
    postgres_await("SHOW log_connections", "on");
    rig_expect(&rig, "SELECT 1", "1");
    before = postgres_log_count("connection received");
    assert_true(before > 0);
    reply = rig_call(&rig, "query", "{\"sql\":\"VALUES (1), (2)\",\"limit\":1}");
    assert_string_equal(member_of(reply, "rows"), "[[1]]");
    assert_non_null(mcp_json_get(mcp_reply_structured(reply), "cursor"));
    mcp_reply_free(reply);
    rig_expect(&rig, "SELECT 2", "2"); /* the one connection is home then */
    assert_int_equal(postgres_log_count("connection received"), before);
    postgres_ask("ALTER SYSTEM RESET log_connections");
    postgres_ask("SELECT pg_reload_conf()");
    rig_close(&rig);
}

/* A plan has no cursor in PostgreSQL: its rows are counted by the server. */
static void
pages_of_a_plan_follow_each_other_too(void **state)
{
    const char *sql = "\"sql\":\"SELECT $1::int ORDER BY 1\",\"parameters\":[1],"
                      "\"explain\":true";
    char cursor[64];
    mcp_reply *reply;
    struct rig rig;

    rig_open(&rig, *state, "1", false);
    reply = rig_call(&rig, "query", formatted("{%s,\"limit\":1}", sql));
    assert_string_equal(member_of(reply, "columns"), "[\"QUERY PLAN\"]");
    assert_int_equal(mcp_json_count(mcp_json_get(mcp_reply_structured(reply), "rows")),
                     1);
    assert_non_null(strstr(member_of(reply, "rows"), "Result"));
    assert_null(mcp_json_get(mcp_reply_structured(reply), "cursor"));
    mcp_reply_free(reply);
    sql = "\"sql\":\"SELECT count(*) FROM generate_series(1, 9)\"";
    reply = rig_call(&rig, "query",
                     formatted("{%s,\"limit\":1,\"explain\":true}", sql));
    assert_non_null(strstr(member_of(reply, "rows"), "Aggregate"));
    (void)snprintf(cursor, sizeof(cursor), "%s", member_of(reply, "cursor"));
    mcp_reply_free(reply);
    reply = rig_call(&rig, "query",
                     formatted("{%s,\"explain\":true,\"cursor\":%s}", sql, cursor));
    assert_non_null(strstr(member_of(reply, "rows"), "Function Scan"));
    mcp_reply_free(reply);
    reply = rig_call(&rig, "query", formatted("{%s,\"cursor\":%s}", sql, cursor));
    assert_true(mcp_reply_is_error(reply));
    mcp_reply_free(reply);
    rig_close(&rig);
}

static void
errors_are_the_tools_and_have_the_code_of_PostgreSQL(void **state)
{
    struct rig rig;
    mcp_reply *reply;

    rig_open(&rig, *state, "1", true);
    rig_expect_error(&rig, "query", "SELEC 1", "ERROR 42601: syntax error");
    rig_expect_error(&rig, "query", "SELECT * FROM nowhere", "ERROR 42P01");
    rig_expect_error(&rig, "query", "SELECT 1 / 0", "ERROR 22012: division by zero");
    rig_expect_error(&rig, "query", "SELECT 1; SELECT 2", "ERROR 42601");
    rig_expect_error(&rig, "query", "", "ERROR 42601");
    rig_expect_error(&rig, "query", "COPY (SELECT 1) TO STDOUT", "COPY");
    rig_expect_error(&rig, "execute", "COPY pg_class FROM STDIN", "COPY");
    rig_expect_error(&rig, "query", "SELECT repeat('x', 3000000)", "does not fit");
    reply = rig_call(&rig, "query",
                     "{\"sql\":\"SELECT $1::text\",\"parameters\":[\"a\\u0000b\"]}");
    assert_true(mcp_reply_is_error(reply));
    mcp_reply_free(reply);
    rig_expect(&rig, "SELECT 1", "1");
    rig_close(&rig);
}

/* ---- changes -------------------------------------------------------------------- */

static void
a_query_changes_nothing_and_leaves_nothing_behind(void **state)
{
    mcp_reply *reply;
    struct rig rig;

    rig_open(&rig, *state, "1", true);
    postgres_ask("CREATE SEQUENCE counted; CREATE TABLE kept (n int); "
                 "INSERT INTO kept VALUES (1)");
    rig_expect_error(&rig, "query", "DELETE FROM kept", "42601");
    rig_expect_error(&rig, "query", "WITH d AS (DELETE FROM kept RETURNING n) TABLE d",
                     "ERROR");
    rig_expect_error(&rig, "query",
                     "DO $$ BEGIN SET TRANSACTION READ WRITE; DELETE FROM kept; END $$",
                     "ERROR");
    rig_expect_error(&rig, "query", "SET TRANSACTION READ WRITE", "42601");
    mcp_reply_free(rig_sql(&rig, "execute", "SET default_transaction_read_only = off"));
    rig_expect_error(&rig, "query", "SELECT nextval('counted')", "25006");
    rig_expect_error(&rig, "query",
                     "SELECT set_config('transaction_read_only', 'off', true)",
                     "25001");
    reply = rig_sql(&rig, "execute", "SET search_path = nowhere");
    assert_false(mcp_reply_is_error(reply));
    mcp_reply_free(reply);
    mcp_reply_free(rig_sql(&rig, "query", "SELECT pg_advisory_lock(7)"));
    rig_expect(&rig, "SELECT n FROM kept", "1"); /* the path is as it was */
    assert_string_equal(postgres_ask("SELECT pg_try_advisory_lock(7)"), "t");
    postgres_ask("DROP TABLE kept; DROP SEQUENCE counted");
    rig_close(&rig);
}

/* A READ ONLY transaction would let all of these pass. */
static const char *const no_queries[] = {
    "COPY (SELECT 1) TO PROGRAM 'touch %s'",
    "COPY (SELECT 1) TO '%s'",
    " \n-- SELECT\n/* SELECT /* */ 1 */ COPY (SELECT 1) TO PROGRAM 'touch %s' -- ",
    "/**/(COPY (SELECT 1) TO PROGRAM 'touch %s')",
    "SELECT 1; COPY (SELECT 1) TO PROGRAM 'touch %s'",
    "WITH a AS (COPY (SELECT 1) TO PROGRAM 'touch %s') SELECT 1",
    "DO $$ BEGIN COPY (SELECT 1) TO PROGRAM 'touch %s'; END $$",
    "EXPLAIN ANALYZE SELECT 1 /* %s */",
    "ANALYZE SELECT 1 /* %s */",
    "(ANALYZE) SELECT 1 /* %s */",
    "LOCK TABLE guarded /* %s */",
    "CALL touched() /* %s */",
    "CHECKPOINT /* %s */",
    "LOAD 'plpgsql' /* %s */",
    "REINDEX TABLE guarded /* %s */",
    "CLUSTER guarded /* %s */",
    "PREPARE TRANSACTION 'x' /* %s */",
    "SET work_mem = 64 /* %s */",
    "NOTIFY x /* %s */",
    "ROLLBACK /* %s */",
    "CREATE TABLE more AS SELECT 1 /* %s */",
    "SELECT 1 INTO more /* %s */",
    "EXECUTE nothing /* %s */",
    "SELECT n FROM guarded FOR UPDATE /* %s */",
};

static void
expect_refused(struct rig *rig, const char *sql, const char *explain)
{
    mcp_builder *b = mcp_builder_new(NULL);
    mcp_reply *reply;

    mcp_builder_begin_object(b, NULL);
    mcp_builder_string(b, "sql", sql);
    if (explain)
        mcp_builder_bool(b, explain, true);
    mcp_builder_end(b);
    reply = rig_call(rig, "query", mcp_builder_text(b, NULL));
    if (!mcp_reply_is_error(reply) || !strstr(mcp_reply_text(reply), "ERROR "))
        fail_msg("%s: %s", sql, mcp_reply_text(reply));
    mcp_reply_free(reply);
    mcp_builder_free(b);
}

static void
a_query_is_nothing_but_a_query(void **state)
{
    struct rig rig;
    const char *file;

    rig_open(&rig, *state, "1", false);
    file = postgres_file("touched");
    postgres_ask("CREATE TABLE guarded (n int); CREATE PROCEDURE touched() "
                 "LANGUAGE sql AS 'SELECT 1'");
    for (size_t i = 0; i < sizeof(no_queries) / sizeof(no_queries[0]); i++) {
        char sql[512];
        const char *at = strstr(no_queries[i], "%s");

        (void)snprintf(sql, sizeof(sql), "%.*s%s%s", (int)(at - no_queries[i]),
                       no_queries[i], file, at + 2);
        expect_refused(&rig, sql, NULL);
        if (!strstr(sql, "FOR UPDATE")) /* its plan harms nobody */
            expect_refused(&rig, sql, "explain");
        if (access(file, F_OK) == 0)
            fail_msg("%s", sql);
    }
    rig_expect(&rig, " -- one\n/* two */ (VALUES (1))", "1");
    rig_expect(&rig, "TABLE guarded UNION ALL SELECT 2 -- the end", "2");
    postgres_ask("DROP TABLE guarded; DROP PROCEDURE touched");
    rig_close(&rig);
}

static void
a_change_is_made_and_told_and_half_of_one_is_not(void **state)
{
    mcp_reply *reply;
    struct rig rig;

    rig_open(&rig, *state, "2", true);
    mcp_reply_free(rig_sql(&rig, "execute", "CREATE TABLE made (n int UNIQUE)"));
    reply = rig_call(&rig, "execute",
                     "{\"sql\":\"INSERT INTO made SELECT generate_series(1, $1::int) "
                     "RETURNING n\",\"parameters\":[3]}");
    assert_string_equal(member_of(reply, "changes"), "3");
    assert_string_equal(member_of(reply, "rows"), "[[1],[2],[3]]");
    mcp_reply_free(reply);
    rig_expect_error(&rig, "execute", "INSERT INTO made VALUES (4), (1)", "23505");
    assert_string_equal(postgres_ask("SELECT count(*) FROM made"), "3");
    reply = rig_sql(&rig, "execute", "DROP TABLE made");
    assert_string_equal(member_of(reply, "changes"), "0");
    mcp_reply_free(reply);
    rig_close(&rig);
}

static void
what_PostgreSQL_has_to_say_is_a_log_message_of_the_call(void **state)
{
    struct rig rig;

    rig_open(&rig, *state, "1", true);
    mcp_reply_free(rig_sql(&rig, "execute",
                           "DO $$ BEGIN RAISE NOTICE 'hello'; RAISE NOTICE 'hello'; "
                           "RAISE WARNING 'hello'; END $$"));
    rig_await_hellos(2, 1);
    rig_close(&rig);
}

static long
memory_kb(const struct rig *rig)
{
    FILE *file = fopen(formatted("/proc/%d/status", (int)mcp_client_pid(rig->client)),
                       "re");
    char line[256];
    long kb = -1;

    assert_non_null(file);
    while (kb < 0 && fgets(line, sizeof(line), file))
        (void)sscanf(line, "VmHWM: %ld kB", &kb);
    fclose(file);
    return kb;
}

/* 35 MB each time. AddressSanitizer keeps 256 MB of what is freed. */
#if defined(__SANITIZE_ADDRESS__)
#define IS_KEPT 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_KEPT 1
#endif
#endif
#ifdef IS_KEPT
enum { TIMES = 20, MOST_KB = 500000 };
#else
enum { TIMES = 8, MOST_KB = 200000 };
#endif

static void
what_a_change_notifies_itself_of_is_not_kept(void **state)
{
    struct rig rig;

    rig_open(&rig, *state, "1", true);
    for (int i = 0; i < TIMES; i++)
        mcp_reply_free(rig_sql(&rig, "execute",
                               "DO $$ BEGIN LISTEN x; FOR i IN 1..5000 LOOP PERFORM "
                               "pg_notify('x', repeat('a', 7000) || i); END LOOP; "
                               "END $$"));
    rig_expect(&rig, "SELECT 1", "1"); /* the one connection is home then */
    assert_in_range(memory_kb(&rig), 1, MOST_KB);
    rig_close(&rig);
}

static void
without_leave_there_is_no_tool_for_changes(void **state)
{
    mcp_reply *reply = NULL;
    struct rig rig;

    rig_open(&rig, *state, "1", false);
    assert_int_equal(mcp_client_call_tool(rig.client, "execute",
                                          "{\"sql\":\"SELECT 1\"}", NULL, &reply, NULL),
                     MCP_E_PEER);
    rig_close(&rig);
}

/* ---- tables --------------------------------------------------------------------- */

static void
expect_completion(struct rig *rig, const mcp_complete *what, const char *values)
{
    mcp_reply *reply = NULL;
    char *text = NULL;

    assert_int_equal(mcp_client_complete(rig->client, what, NULL, &reply, NULL), 0);
    assert_int_equal(mcp_json_print(mcp_reply_items(reply), false, NULL, &text, NULL),
                     0);
    assert_string_equal(text, values);
    mcp_text_free(text, NULL);
    mcp_reply_free(reply);
}

static void
tables_are_resources_and_completed(void **state)
{
    const char *const uri = "postgres://tables/Odd%2C%20one/Ta%2Fble";
    mcp_reply *reply = NULL;
    struct rig rig;

    postgres_up();
    postgres_ask("CREATE SCHEMA \"Odd, one\"; CREATE TABLE \"Odd, one\".\"Ta/ble\" "
                 "(id int PRIMARY KEY, name text NOT NULL DEFAULT 'nobody')");
    rig_open(&rig, *state, "2", false);
    assert_int_equal(
        mcp_client_list_all(rig.client, MCP_LIST_RESOURCES, NULL, &reply, NULL), 0);
    assert_non_null(mcp_json_find(mcp_reply_items(reply), "uri", uri));
    mcp_reply_free(reply);
    assert_int_equal(mcp_client_read(rig.client, uri, NULL, &reply, NULL), 0);
    assert_non_null(
        strstr(mcp_json_string(
                   mcp_json_get(mcp_json_at(mcp_reply_items(reply), 0), "text"), ""),
               "PRIMARY KEY (id)"));
    mcp_reply_free(reply);
    assert_int_equal(mcp_client_read(rig.client, "postgres://tables/public/nowhere",
                                     NULL, &reply, NULL),
                     MCP_E_PEER);
    expect_completion(
        &rig,
        &MCP_COMPLETE(.uri_template = "postgres://tables/{schema}/{table}",
                      .argument = "table", .value = "T",
                      .context = "{\"schema\":\"Odd, one\"}"),
        "[\"Ta/ble\"]");
    expect_completion(
        &rig,
        &MCP_COMPLETE(.uri_template = "postgres://tables/{schema}/{table}",
                      .argument = "schema", .value = "O"),
        "[\"Odd, one\"]");
    expect_completion(
        &rig, &MCP_COMPLETE(.prompt = "explore", .argument = "table", .value = "\"Odd"),
        "[\"\\\"Odd, one\\\".\\\"Ta/ble\\\"\"]");
    postgres_ask("DROP TABLE \"Odd, one\".\"Ta/ble\"; DROP SCHEMA \"Odd, one\"");
    rig_close(&rig);
}

static void
what_is_no_table_is_not_found(void **state)
{
    static const char *const uris[] = {
        "postgres://tables/public/nowhere",
        "postgres://tables/public/pg_class%00x",
        "postgres://tables/public/x'%3B%20DROP%20TABLE%20y%3B--",
        "postgres://tables/public/%C3%28",
        "postgres://tables/public/",
        "postgres://tables/public/x/y",
        "postgres://tables/pg_catalog/pg_class",
        "file:///etc/passwd",
    };
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    struct rig rig;

    rig_open(&rig, *state, "1", false);
    for (size_t i = 0; i < sizeof(uris) / sizeof(uris[0]); i++) {
        int r = mcp_client_read(rig.client, uris[i], NULL, &reply, &err);

        if (r != MCP_E_PEER || (err.rpc_code != -32602 && err.rpc_code != -32002))
            fail_msg("%s: %d, %d", uris[i], r, err.rpc_code);
    }
    assert_int_equal(mcp_client_get_prompt(rig.client, "explore",
                                           "{\"table\":\"x\\u0000\"}", NULL, &reply,
                                           &err),
                     MCP_E_PEER);
    assert_int_equal(err.rpc_code, -32602);
    rig_close(&rig);
}

static bool
list_has(struct rig *rig, const char *uri)
{
    const mcp_call_options fresh = MCP_CALL_OPTIONS(.fresh = true);
    mcp_reply *reply = NULL;
    bool has;

    assert_int_equal(
        mcp_client_list_all(rig->client, MCP_LIST_RESOURCES, &fresh, &reply, NULL), 0);
    has = mcp_json_find(mcp_reply_items(reply), "uri", uri) != NULL;
    mcp_reply_free(reply);
    return has;
}

static void
await_listed(struct rig *rig, const char *uri, bool is_listed)
{
    for (int waited = 0; waited < AWAIT_MS; waited += 5) {
        if (list_has(rig, uri) == is_listed)
            return;
        nap_us(5000);
    }
    fail_msg("%s", uri);
}

static void
the_list_follows_tables_that_come_and_go(void **state)
{
    const char *const uri = "postgres://tables/public/comet";
    struct rig rig;

    rig_open(&rig, *state, "1", false);
    assert_false(list_has(&rig, uri));
    postgres_ask("CREATE TABLE comet (n int)");
    await_listed(&rig, uri, true);
    postgres_ask("DROP TABLE comet");
    await_listed(&rig, uri, false);
    rig_close(&rig);
}

static void
the_schema_and_the_prompt_tell_of_a_table(void **state)
{
    mcp_reply *reply = NULL;
    struct rig rig;

    rig_open(&rig, *state, "1", false);
    postgres_ask("CREATE TABLE planet (name text); COMMENT ON TABLE planet IS 'round'");
    reply = rig_call(&rig, "schema", "{\"table\":\"planet\"}");
    assert_non_null(strstr(member_of(reply, "tables"), "\"comment\":\"round\""));
    mcp_reply_free(reply);
    reply = rig_call(&rig, "schema", "{}");
    assert_non_null(strstr(member_of(reply, "tables"), "planet"));
    mcp_reply_free(reply);
    assert_int_equal(
        mcp_client_get_prompt(rig.client, "explore",
                              "{\"table\":\"planet\",\"question\":\"Why?\"}", NULL,
                              &reply, NULL),
        0);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 2);
    mcp_reply_free(reply);
    assert_int_equal(mcp_client_get_prompt(rig.client, "explore",
                                           "{\"table\":\"moon\"}", NULL, &reply, NULL),
                     MCP_E_PEER);
    postgres_ask("DROP TABLE planet");
    rig_close(&rig);
}

/* ---- the program ---------------------------------------------------------------- */

static void
a_connection_string_that_is_none_is_not_repeated(void **state)
{
    static const char *const wrong[] = {"postgresql://me:geheim@s@host/shop",
                                        "host=x password='geheim", "nonsense=geheim"};
    char said[512];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(program_run("", wrong[i], said, sizeof(said)), 2);
        assert_non_null(strstr(said, "CONNINFO"));
        assert_null(strstr(said, "geheim"));
    }
}

static void
numbers_that_are_none_are_errors_of_usage(void **state)
{
    static const char *const wrong[] = {
        "--limit x",      "--limit -1",
        "--pool 10x",     "--pool x",
        "--pool -1",      "--pool 0",
        "--pool 1001",    "--http h:80x",
        "--http h:abc",   "--http h:",
        "--http h:65536", "--http h",
        "--http :-1",     "--pool +1",
        "--pool 0x10",    "--http h:99999999999999999999"};
    char said[512];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        if (program_run(wrong[i], "host=/nowhere", said, sizeof(said)) != 2)
            fail_msg("%s: %s", wrong[i], said);
        assert_non_null(strstr(said, "usage: postgres-server"));
    }
}

static void
a_port_for_everybody_needs_a_token(void **state)
{
    static const char *const wrong[] = {"--http 0.0.0.0:0", "--http [::]:0",
                                        "--http 127.example.org:0"};
    static char said[4096];

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        assert_int_equal(program_run(wrong[i], "host=/nowhere", said, sizeof(said)), 1);
        assert_non_null(strstr(said, "POSTGRES_SERVER_TOKEN"));
    }
}

static void
with_a_token_nobody_else_is_served(void **state)
{
    static const char *const with[] = {"Authorization: Bearer open sesame", NULL};
    const mcp_client_options me = MCP_CLIENT_OPTIONS(.name = "test", .version = "1.0");
    const mcp_http_client_options token = MCP_HTTP_CLIENT_OPTIONS(.headers = with);
    mcp_client *client;
    mcp_error err = {0};
    struct rig rig;

    (void)state;
    setenv("POSTGRES_SERVER_TOKEN", "open sesame", 1);
    rig_serve(&rig);
    unsetenv("POSTGRES_SERVER_TOKEN");
    assert_int_equal(mcp_client_connect_http(rig.url, NULL, &me, &client, &err),
                     MCP_E_HTTP);
    assert_int_equal(err.http_status, 401);
    assert_int_equal(mcp_client_connect_http(rig.url, &token, &me, &rig.client, &err),
                     0);
    rig_expect(&rig, "SELECT 7", "7");
    rig_close(&rig);
}

static void
PostgreSQL_is_stopped_and_its_folder_removed(void **state)
{
    (void)state;
    postgres_down();
}

TEST_MAIN(ON_EACH(values_are_what_they_are_in_JSON_or_text),
          ON_ONE(numbers_inside_of_JSON_are_not_rounded),
          ON_ONE(rows_without_columns_are_rows),
          ON_ONE(parameters_are_bound_and_never_part_of_the_statement),
          ON_EACH(pages_follow_each_other_by_a_cursor_that_is_bound_to_its_query),
          ON_ONE(a_page_that_has_a_next_one_needs_no_cancel),
          ON_ONE(pages_of_a_plan_follow_each_other_too),
          ON_EACH(errors_are_the_tools_and_have_the_code_of_PostgreSQL),
          ON_ONE(a_query_changes_nothing_and_leaves_nothing_behind),
          ON_ONE(a_query_is_nothing_but_a_query),
          ON_EACH(a_change_is_made_and_told_and_half_of_one_is_not),
          ON_EACH(what_PostgreSQL_has_to_say_is_a_log_message_of_the_call),
          ON_ONE(what_a_change_notifies_itself_of_is_not_kept),
          ON_ONE(without_leave_there_is_no_tool_for_changes),
          ON_EACH(tables_are_resources_and_completed),
          ON_EACH(what_is_no_table_is_not_found),
          ON_EACH(the_list_follows_tables_that_come_and_go),
          ON_EACH(the_schema_and_the_prompt_tell_of_a_table),
          TEST(a_connection_string_that_is_none_is_not_repeated),
          TEST(numbers_that_are_none_are_errors_of_usage),
          TEST(a_port_for_everybody_needs_a_token),
          TEST(with_a_token_nobody_else_is_served),
          TEST(PostgreSQL_is_stopped_and_its_folder_removed))
