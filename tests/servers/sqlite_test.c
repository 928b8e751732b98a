/* sqlite_test.c - sqlite-server: what it gives, what it refuses, what it tells */
#include "servers/sqlite_fixture.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mcp/subscription.h>

static void
place_open_plain(struct place *p, const char *option)
{
    place_make(p);
    place_open(p, &ways[0], option, NULL);
}

/* ---- query -------------------------------------------------------------------- */

static void
every_value_comes_as_what_it_is(void **state)
{
    static const char whole[] =
        "{\"columns\":[\"x\"],\n\"rows\":[\n"
        "[null],\n[42],\n[9007199254740991],\n"
        "[{\"integer\":\"9007199254740992\"}],\n"
        "[{\"integer\":\"-9223372036854775808\"}],\n"
        "[1.5],\n[{\"real\":\"-Infinity\"}],\n[\"é\"],\n"
        "[{\"text_base64\":\"/0E=\"}],\n[\"a\\u0000b\"],\n"
        "[{\"blob_base64\":\"AP8Q\"}],\n[{\"blob_base64\":\"\"}]"
        "\n]}";
    struct place p;
    mcp_reply *reply;
    mcp_doc *text = NULL;

    (void)state;
    place_open_plain(&p, NULL);
    reply = call(&p, "query", arguments("SELECT x FROM kinds", NULL));
    assert_false(mcp_reply_is_error(reply));
    assert_string_equal(mcp_reply_text(reply), whole);
    assert_int_equal(mcp_doc_parse(whole, strlen(whole), NULL, &text, NULL), 0);
    assert_true(mcp_json_equal(mcp_reply_structured(reply), mcp_doc_root(text)));
    mcp_doc_free(text);
    mcp_reply_free(reply);
    place_close(&p);
}

static void
a_database_in_utf16_is_read_as_well(void **state)
{
    struct place p;

    (void)state;
    place_make(&p);
    assert_int_equal(sqlite3_close(p.db), SQLITE_OK);
    assert_int_equal(remove(p.file), 0);
    assert_int_equal(sqlite3_open(p.file, &p.db), SQLITE_OK);
    place_sql(&p, "PRAGMA encoding = 'UTF-16'; CREATE TABLE t(x);"
                  "INSERT INTO t VALUES ('é1'), ('é2'), ('é3')");
    place_open(&p, &ways[0], NULL, NULL);
    expect_single(&p, arguments("SELECT group_concat(x) FROM t", NULL), "\"é1,é2,é3\"");
    place_close(&p);
}

static void
parameters_are_bound_by_position_and_by_name(void **state)
{
    static const char *const same[] = {
        "null",
        "42",
        "-9007199254740991",
        "1.5",
        "\"it's\"",
        "\"a\\u0000b\"",
        "{\"integer\":\"9223372036854775807\"}",
        "{\"real\":\"Infinity\"}",
        "{\"blob_base64\":\"AP8Q\"}",
        "{\"blob_base64\":\"\"}",
        "{\"blob_base64\":\"AA==\"}",
        "{\"text_base64\":\"/0E=\"}",
    };
    struct place p;
    char more[256];

    (void)state;
    place_open_plain(&p, NULL);
    for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++) {
        (void)snprintf(more, sizeof(more), "\"parameters\":[%s]", same[i]);
        expect_single(&p, arguments("SELECT ?", more), same[i]);
        (void)snprintf(more, sizeof(more), "\"parameters\":{\"x\":%s}", same[i]);
        expect_single(&p, arguments("SELECT :x WHERE :x IS @x", more), same[i]);
    }
    expect_single(&p, arguments("SELECT ?", "\"parameters\":[true]"), "1");
    expect_single(&p, arguments("SELECT ?2 || ?1", "\"parameters\":[1,2]"), "\"21\"");
    expect_single(&p, arguments("SELECT $a || :b", "\"parameters\":{\"b\":1,\"a\":2}"),
                  "\"21\"");
    expect_single(
        &p,
        arguments("SELECT name FROM people WHERE name = ?", "\"parameters\":[\"Ada\"]"),
        "\"Ada\"");
    place_close(&p);
}

static void
bad_parameters_are_refused_with_the_reason(void **state)
{
    static const struct {
        const char *sql, *parameters, *words;
    } bad[] = {
        {"SELECT ?", NULL, "has 1 parameters, 0 were given"},
        {"SELECT ?", "[]", "has 1 parameters, 0 were given"},
        {"SELECT ?", "[1,2]", "has 1 parameters, 2 were given"},
        {"SELECT 1", "[1]", "has 0 parameters, 1 were given"},
        {"SELECT :a", "{}", "parameter 1 (:a) has no value"},
        {"SELECT :a", "{\"b\":1}", "parameter 1 (:a) has no value"},
        {"SELECT :a", "{\"a\":1,\"b\":1}", "has 1 parameters, 2 were given"},
        {"SELECT ?", "{\"a\":1}", "(without a name) has no value"},
        {"SELECT ?", "7", "neither an array nor an object"},
        {"SELECT ?", "[[1]]", "nothing that SQLite can hold"},
        {"SELECT ?", "[{}]", "nothing that SQLite can hold"},
        {"SELECT ?", "[{\"integer\":\"1\",\"real\":\"1\"}]", "nothing that SQLite"},
        {"SELECT ?", "[{\"integer\":\"\"}]", "nothing that SQLite can hold"},
        {"SELECT ?", "[{\"integer\":\"9223372036854775808\"}]", "nothing that SQLite"},
        {"SELECT ?", "[{\"integer\":7}]", "nothing that SQLite can hold"},
        {"SELECT ?", "[{\"blob_base64\":\"A\"}]", "nothing that SQLite can hold"},
        {"SELECT ?", "[{\"blob_base64\":\"A===\"}]", "nothing that SQLite can hold"},
        {"SELECT ?", "[{\"blob_base64\":\"A*==\"}]", "nothing that SQLite can hold"},
        {"SELECT ?", "[{\"other\":\"AAAA\"}]", "nothing that SQLite can hold"},
        {"SELECT ?", "[18446744073709551615]", "nothing that SQLite can hold"},
    };
    struct place p;
    char more[128];

    (void)state;
    place_open_plain(&p, NULL);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        (void)snprintf(more, sizeof(more), "\"parameters\":%s",
                       bad[i].parameters ? bad[i].parameters : "");
        expect_failure(&p, "query",
                       arguments(bad[i].sql, bad[i].parameters ? more : NULL),
                       bad[i].words);
    }
    place_close(&p);
}

/* ---- pages ----------------------------------------------------------------------- */

/* Ask for a page after that cursor, "" for the first; the cursor of the next, or "". The
 * numbers in its first column go on from *at. */
static void
turn_page(struct place *p, const char *sql, int limit, char cursor[64], int64_t *at)
{
    const mcp_json *structured;
    mcp_json_iterator it;
    mcp_reply *reply;
    char more[128];

    (void)snprintf(more, sizeof(more), "\"limit\":%d%s%s%s", limit,
                   *cursor ? ",\"cursor\":\"" : "", cursor, *cursor ? "\"" : "");
    reply = call(p, "query", arguments(sql, more));
    if (mcp_reply_is_error(reply))
        fail_msg("%s", mcp_reply_text(reply));
    structured = mcp_reply_structured(reply);
    for (it = mcp_json_each(mcp_json_get(structured, "rows")); mcp_json_next(&it);)
        assert_int_equal(mcp_json_int(mcp_json_at(it.value, 0), -1), (*at)++);
    (void)snprintf(cursor, 64, "%s",
                   mcp_json_string(mcp_json_get(structured, "cursor"), ""));
    mcp_reply_free(reply);
}

static void
pages_give_each_row_once(void **state)
{
    static const int limits[] = {1000, 499, 500, 2};
    struct place p;

    place_make(&p);
    place_open(&p, *state, NULL, NULL);
    for (size_t i = 0; i < 4; i++) {
        char cursor[64] = "";
        int64_t at = 1;
        int pages = 0;

        do {
            turn_page(&p,
                      limits[i] == 2 ? "SELECT * FROM many WHERE n <= 20"
                                     : "SELECT * FROM many",
                      limits[i], cursor, &at);
            pages++;
        } while (*cursor);
        assert_int_equal(at, limits[i] == 2 ? 21 : 2501);
        assert_int_equal(pages, (at - 2) / limits[i] + 1);
    }
    place_close(&p);
}

static void
a_page_ends_before_it_is_too_long(void **state)
{
    char cursor[64] = "";
    int64_t at = 1;
    struct place p;

    (void)state;
    place_open_plain(&p, NULL);
    turn_page(&p, "SELECT n, hex(zeroblob(200000)) FROM many WHERE n <= 5", 100, cursor,
              &at);
    assert_int_equal(at, 3); /* two rows of 400 kB fit in 1 MiB */
    while (*cursor)
        turn_page(&p, "SELECT n, hex(zeroblob(200000)) FROM many WHERE n <= 5", 100,
                  cursor, &at);
    assert_int_equal(at, 6);
    expect_failure(&p, "query", arguments("SELECT hex(zeroblob(600000))", NULL),
                   "a row is longer than 1048576 bytes: select less");
    expect_failure(&p, "query", arguments("SELECT zeroblob(900000)", NULL),
                   "a row is longer than 1048576 bytes: select less");
    expect_failure(&p, "query", arguments("SELECT zeroblob(100000000)", NULL),
                   "too big");
    place_close(&p);
}

static void
a_cursor_is_good_for_its_query_alone(void **state)
{
    char cursor[64] = "", more[256];
    int64_t at = 1;
    struct place p;

    (void)state;
    place_open_plain(&p, NULL);
    turn_page(&p, "SELECT n FROM many", 10, cursor, &at);
    (void)snprintf(more, sizeof(more), "\"cursor\":\"%s\"", cursor);
    expect_failure(&p, "query", arguments("SELECT n FROM many WHERE 1", more),
                   "this cursor is of another query");
    (void)snprintf(more, sizeof(more), "\"cursor\":\"%s\",\"parameters\":[1]", cursor);
    expect_failure(&p, "query", arguments("SELECT n FROM many WHERE ?", more),
                   "this cursor is of another query");
    expect_failure(&p, "query", arguments("SELECT 1", "\"cursor\":\"\""), "no cursor");
    expect_failure(&p, "query", arguments("SELECT 1", "\"cursor\":\"12\""),
                   "no cursor");
    cursor[20] = 'x';
    (void)snprintf(more, sizeof(more), "\"cursor\":\"%s\"", cursor);
    expect_failure(&p, "query", arguments("SELECT n FROM many", more), "no cursor");
    place_close(&p);
}

static void
a_cursor_is_refused_once_the_rows_before_it_changed(void **state)
{
    char cursor[64] = "", more[128];
    int64_t at = 1;
    struct place p;

    (void)state;
    place_open_plain(&p, NULL);
    turn_page(&p, "SELECT n FROM many", 10, cursor, &at);
    (void)snprintf(more, sizeof(more), "\"cursor\":\"%s\"", cursor);
    place_sql(&p, "DELETE FROM many WHERE n = 2000"); /* behind it: no matter */
    turn_page(&p, "SELECT n FROM many", 10, cursor, &at);
    place_sql(&p, "DELETE FROM many WHERE n = 3");
    expect_failure(&p, "query", arguments("SELECT n FROM many", more),
                   "the rows before this cursor have changed");
    place_sql(&p, "DELETE FROM many WHERE n > 5");
    expect_failure(&p, "query", arguments("SELECT n FROM many", more),
                   "the rows before this cursor have changed");
    place_close(&p);
}

/* ---- hostile SQL -------------------------------------------------------------------- */

static const char *const hostile[] = {
    "INSERT INTO people(name) VALUES ('x')",
    "INSERT INTO people(name) VALUES ('x') RETURNING id",
    "WITH x AS (SELECT 1) INSERT INTO people(name) SELECT 'x' FROM x RETURNING *",
    "UPDATE people SET name = 'x'",
    "DELETE FROM people",
    "REPLACE INTO people(id, name) VALUES (1, 'x')",
    "EXPLAIN DELETE FROM people",
    "CREATE TABLE x(y)",
    "CREATE TEMP TABLE x(y)",
    "CREATE VIRTUAL TABLE x USING fts5(y)",
    "CREATE TRIGGER x AFTER INSERT ON people BEGIN SELECT 1; END",
    "DROP TABLE people",
    "ALTER TABLE people RENAME TO x",
    "ATTACH 'stolen.db' AS x",
    "DETACH main",
    "VACUUM",
    "VACUUM INTO 'stolen.db'",
    "REINDEX",
    "ANALYZE",
    "BEGIN",
    "BEGIN IMMEDIATE",
    "COMMIT",
    "SAVEPOINT x",
    "PRAGMA writable_schema = 1",
    "PRAGMA journal_mode = WAL",
    "PRAGMA journal_mode",
    "PRAGMA user_version = 7",
    "PRAGMA query_only = 0",
    "PRAGMA locking_mode = EXCLUSIVE",
    "PRAGMA temp_store_directory = '/tmp'",
    "PRAGMA wal_checkpoint(TRUNCATE)",
    "PRAGMA foreign_keys = OFF",
    "PRAGMA optimize",
    "SELECT load_extension('x')",
    "SELECT writefile('stolen.db', 'x')",
    "SELECT readfile('/etc/passwd')",
    "SELECT fts3_tokenizer('simple', x'0011223344556677')",
    "SELECT 1; DELETE FROM people",
    "SELECT 1; nonsense",
    "SELECT 1;;; SELECT 2",
    "",
    ";",
    "-- nothing",
    "SELECT",
    "SELECT * FROM nowhere",
    "UPDATE sqlite_schema SET sql = 'x'",
};

static size_t
count_files(const struct place *p)
{
    DIR *folder = opendir(p->folder);
    size_t count = 0;

    assert_non_null(folder);
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* Everything in the database, as a number. */
static int64_t
place_print(struct place *p)
{
    return place_number(p, "SELECT (SELECT count(*) FROM sqlite_schema) * 10000 + "
                           "(SELECT count(*) FROM people) * 100 + "
                           "(SELECT user_version FROM pragma_user_version) * 10 + "
                           "(SELECT sum(length(name)) FROM people)");
}

static void
queries_change_nothing_whatever_they_say(void **state)
{
    const char *option = *state; /* --write makes no difference */
    int64_t print;
    struct place p;

    place_open_plain(&p, option);
    print = place_print(&p);
    for (size_t i = 0; i < sizeof(hostile) / sizeof(hostile[0]); i++) {
        expect_failure(&p, "query", arguments(hostile[i], NULL), "");
        assert_int_equal(place_print(&p), print);
    }
    assert_int_equal(count_files(&p), 3); /* with . and .. */
    expect_failure(
        &p, "query", /* bound values get round SQLite's own guard */
        arguments("SELECT fts3_tokenizer(?, ?)",
                  "\"parameters\":[\"x\",{\"blob_base64\":\"AAAAAAAAAAA=\"}]"),
        "");
    place_sql(&p, "BEGIN IMMEDIATE; ROLLBACK"); /* no lock is left */
    expect_single(&p, arguments("SELECT count(*) FROM people -- ; all\n;", NULL), "3");
    expect_single(
        &p, arguments("SELECT count(*) FROM pragma_table_info('people')", NULL), "4");
    expect_single(&p, arguments("SELECT value FROM json_each('[7]')", NULL), "7");
    expect_single(&p, arguments("PRAGMA quick_check", NULL), "\"ok\"");
    place_close(&p);
}

/* ---- execute -------------------------------------------------------------------------- */

/* The reply must be this, as JSON. */
static void
expect_execute(struct place *p, const char *args, const char *json)
{
    mcp_reply *reply = call(p, "execute", args);
    char *text = NULL;

    if (mcp_reply_is_error(reply))
        fail_msg("%s: %s", args, mcp_reply_text(reply));
    assert_int_equal(
        mcp_json_print(mcp_reply_structured(reply), false, NULL, &text, NULL), 0);
    assert_string_equal(text, json);
    mcp_text_free(text, NULL);
    mcp_reply_free(reply);
}

static void
execute_says_what_it_changed(void **state)
{
    struct place p;

    place_make(&p);
    place_open(&p, *state, "--write", NULL);
    expect_execute(&p,
                   arguments("INSERT INTO people(name, born) VALUES (:n, :b)",
                             "\"parameters\":{\"n\":\"O'Neil\",\"b\":1950}"),
                   "{\"changes\":1,\"last_row_id\":4}");
    expect_execute(&p,
                   arguments("UPDATE people SET born = born + 1 WHERE born > ?",
                             "\"parameters\":[1910]"),
                   "{\"changes\":2}");
    expect_execute(&p,
                   arguments("INSERT INTO people(name) VALUES ('a'), ('b') "
                             "RETURNING id, name",
                             NULL),
                   "{\"columns\":[\"id\",\"name\"],\"rows\":[[5,\"a\"],[6,\"b\"]],"
                   "\"truncated\":false,\"changes\":2,\"last_row_id\":6}");
    expect_execute(&p, arguments("CREATE TABLE x(y)", NULL), "{\"changes\":0}");
    expect_execute(&p, arguments("DELETE FROM people WHERE id = 4", NULL),
                   "{\"changes\":1}");
    assert_int_equal(place_number(&p, "SELECT count(*) FROM people"), 5);
    expect_single(&p, arguments("SELECT born FROM people WHERE id = 2", NULL), "1913");
    place_close(&p);
}

static void
execute_returns_no_more_rows_than_a_page(void **state)
{
    const mcp_json *structured;
    mcp_reply *reply;
    struct place p;

    (void)state;
    place_open_plain(&p, "--write");
    reply = call(&p, "execute", arguments("DELETE FROM many RETURNING n", NULL));
    structured = mcp_reply_structured(reply);
    assert_int_equal(mcp_json_count(mcp_json_get(structured, "rows")), 1000);
    assert_true(mcp_json_bool(mcp_json_get(structured, "truncated"), false));
    assert_int_equal(mcp_json_int(mcp_json_get(structured, "changes"), 0), 2500);
    mcp_reply_free(reply);
    assert_int_equal(place_number(&p, "SELECT count(*) FROM many"), 0);
    place_close(&p);
}

static void
what_fails_leaves_nothing(void **state)
{
    int64_t print;
    struct place p;

    (void)state;
    place_open_plain(&p, "--write");
    print = place_print(&p);
    expect_failure(&p, "execute",
                   arguments("INSERT INTO people(name) VALUES ('x'), (NULL)", NULL),
                   "NOT NULL constraint failed: people.name");
    expect_failure(&p, "execute",
                   arguments("INSERT INTO people(name, friend) VALUES ('x', 99)", NULL),
                   "FOREIGN KEY constraint failed");
    expect_failure(&p, "execute", arguments("INSERT INTO nowhere VALUES (1)", NULL),
                   "no such table: nowhere");
    expect_failure(&p, "execute", arguments("DELETE FROM people; SELECT 1", NULL),
                   "more than one statement");
    expect_failure(&p, "execute",
                   arguments("UPDATE people SET name = ?", "\"parameters\":[]"),
                   "has 1 parameters, 0 were given");
    assert_int_equal(place_print(&p), print);
    place_sql(&p, "BEGIN IMMEDIATE; ROLLBACK");
    place_close(&p);
}

static void
execute_reaches_no_other_file_and_keeps_no_state(void **state)
{
    static const char *const refused[] = {
        "ATTACH 'stolen.db' AS x",
        "VACUUM INTO 'stolen.db'",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT x",
        "CREATE TEMP TABLE x(y)",
        "CREATE TABLE temp.x(y)",
        "CREATE TEMP VIEW x AS SELECT 1",
        "PRAGMA foreign_keys = OFF",
        "PRAGMA writable_schema = 1",
        "PRAGMA journal_mode = WAL",
        "PRAGMA query_only = 1",
        "PRAGMA locking_mode = EXCLUSIVE",
        "UPDATE sqlite_schema SET sql = 'x'",
        "INSERT INTO sqlite_schema VALUES (1)",
        "SELECT load_extension('x')",
        "CREATE TRIGGER temp.x AFTER INSERT ON people BEGIN SELECT 1; END",
        "CREATE VIRTUAL TABLE temp.x USING fts5(y)",
        "",
        "nonsense",
    };
    int64_t print;
    struct place p;

    (void)state;
    place_open_plain(&p, "--write");
    print = place_print(&p);
    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
        expect_failure(&p, "execute", arguments(refused[i], NULL), "");
        assert_int_equal(place_print(&p), print);
    }
    assert_int_equal(count_files(&p), 3);
    expect_execute(&p, arguments("ALTER TABLE many RENAME TO more", NULL),
                   "{\"changes\":0}");
    expect_execute(&p, arguments("DROP TABLE more", NULL), "{\"changes\":0}");
    mcp_reply_free(
        call(&p, "execute", arguments("CREATE VIRTUAL TABLE f USING fts5(y)", NULL)));
    expect_execute(&p, arguments("INSERT INTO f VALUES ('one two')", NULL),
                   "{\"changes\":1,\"last_row_id\":1}");
    expect_single(&p, arguments("SELECT y FROM f WHERE f MATCH 'two'", NULL),
                  "\"one two\"");
    place_close(&p);
}

static void
tools_are_what_the_option_allows(void **state)
{
    const mcp_json *tool, *hints;
    mcp_reply *reply = NULL;
    mcp_error err = {0};
    struct place p;

    (void)state;
    place_open_plain(&p, NULL);
    assert_int_equal(mcp_client_list_tools(p.client, NULL, NULL, &reply, NULL), 0);
    assert_int_equal(mcp_json_count(mcp_reply_items(reply)), 2);
    tool = mcp_json_find(mcp_reply_items(reply), "name", "query");
    hints = mcp_json_get(tool, "annotations");
    assert_true(mcp_json_bool(mcp_json_get(hints, "readOnlyHint"), false));
    assert_non_null(mcp_json_get(tool, "outputSchema"));
    mcp_reply_free(reply);
    reply = NULL;
    assert_int_equal(mcp_client_call_tool(p.client, "execute",
                                          arguments("DELETE FROM people", NULL), NULL,
                                          &reply, &err),
                     MCP_E_PEER);
    place_close(&p);
    place_open_plain(&p, "--write");
    assert_int_equal(mcp_client_list_tools(p.client, NULL, NULL, &reply, NULL), 0);
    tool = mcp_json_find(mcp_reply_items(reply), "name", "execute");
    hints = mcp_json_get(tool, "annotations");
    assert_false(mcp_json_bool(mcp_json_get(hints, "readOnlyHint"), false));
    assert_true(mcp_json_bool(mcp_json_get(hints, "destructiveHint"), true));
    mcp_reply_free(reply);
    place_close(&p);
}

static char write_option[] = "--write";

TEST_MAIN(TEST(every_value_comes_as_what_it_is),
          TEST(a_database_in_utf16_is_read_as_well),
          TEST(parameters_are_bound_by_position_and_by_name),
          TEST(bad_parameters_are_refused_with_the_reason),
          IN_EACH_WAY(pages_give_each_row_once),
          TEST(a_page_ends_before_it_is_too_long),
          TEST(a_cursor_is_good_for_its_query_alone),
          TEST(a_cursor_is_refused_once_the_rows_before_it_changed),
          TEST(queries_change_nothing_whatever_they_say),
          TEST_AS("write.queries_change_nothing_whatever_they_say",
                  queries_change_nothing_whatever_they_say, write_option),
          IN_EACH_WAY(execute_says_what_it_changed),
          TEST(execute_returns_no_more_rows_than_a_page),
          TEST(what_fails_leaves_nothing),
          TEST(execute_reaches_no_other_file_and_keeps_no_state),
          TEST(tools_are_what_the_option_allows))
