/* sqlite_limits_test.c - sqlite-server: what a statement may take, and its functions */
#include "servers/sqlite_fixture.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void
sql_that_is_too_much_is_refused(void **state)
{
    char *sql = malloc(2000001);
    struct place p;

    (void)state;
    assert_non_null(sql);
    place_make(&p);
    place_open(&p, &ways[0], NULL, NULL);
    memset(sql, ' ', 2000000);
    sql[2000000] = '\0';
    memcpy(sql, "SELECT 1", 8);
    expect_failure(&p, "query", arguments(sql, NULL), "");
    memset(sql, '(', 100000);
    memcpy(sql, "SELECT ", 7);
    sql[100000] = '\0';
    expect_failure(&p, "query", arguments(sql, NULL), "");
    expect_failure(&p, "query",
                   arguments("SELECT replace(hex(zeroblob(1000000)), '0', "
                             "hex(zeroblob(1000000)))",
                             NULL),
                   "too big");
    expect_failure(&p, "query", /* it would run for an hour, and nothing ends it */
                   arguments(ENDLESS "SELECT json_patch("
                                     "'{' || group_concat('\"a\":0') || '}', "
                                     "'{' || group_concat('\"b\":0') || '}') "
                                     "FROM (SELECT i FROM n LIMIT 500000)",
                             NULL),
                   "too big");
    for (int i = 0; i < 5; i++) /* which also lets go of what is long */
        expect_single(&p, arguments("SELECT 1", NULL), "1");
    free(sql);
    place_close(&p);
}

/* Ours, which a cancel reaches, and those of SQLite. */
static void
functions_give_what_those_of_sqlite_give(void **state)
{
    static const char *const calls[] = {
        "instr('abc', 'c')",
        "instr('abc', '')",
        "instr('', 'a')",
        "instr('', '')",
        "instr(NULL, 'a')",
        "instr('a', NULL)",
        "instr('aéé€b', 'b')",
        "instr('aé€b', '€')",
        "instr(x'c3a962', 'b')",
        "instr('éb', x'62')",
        "instr(x'c3a962', x'62')",
        "instr(x'', x'62')",
        "instr(x'62', x'')",
        "instr(12345, 34)",
        "instr(1.5, '.')",
        "instr('aaab', 'aab')",
        "instr('é', cast(x'a9' AS TEXT))",
        "instr('abc', 'abcd')",
        "instr(cast(x'a96263' AS TEXT), cast(x'a962' AS TEXT))",
        "instr('a' || char(0) || 'b', 'b')",
        "instr('ab', x'')",
        "replace('abcabc', 'b', 'xy')",
        "replace('abcabc', 'bc', '')",
        "replace('aaa', 'aa', 'b')",
        "replace('abc', '', 'x')",
        "replace('', 'a', 'x')",
        "replace('abc', '', NULL)",
        "replace(NULL, 'a', 'b')",
        "replace('a', NULL, 'b')",
        "replace('a', 'a', NULL)",
        "replace(121, 1, 3)",
        "replace(x'6162', 'a', 'b')",
        "replace('éaé', 'é', '€')",
        "replace('abc', char(0), 'x')",
        "replace('a' || char(0) || 'b', 'b', 'c')",
        "replace('abc', 'abcd', 'x')",
        "trim('  a b ')",
        "ltrim('  a b ')",
        "rtrim('  a b ')",
        "trim('xyaxy', 'yx')",
        "ltrim('xyaxy', 'yx')",
        "rtrim('xyaxy', 'yx')",
        "trim('ééaé', 'é')",
        "trim('abc', '')",
        "trim('', 'a')",
        "trim('aaa', 'a')",
        "trim(NULL)",
        "trim('a', NULL)",
        "trim(x'6162', 'a')",
        "trim(121, 1)",
        "trim('€é€', 'é€')",
        "trim(cast(x'c3c3a961' AS TEXT), cast(x'c3' AS TEXT))",
        "trim(cast(x'a961c3a9' AS TEXT), cast(x'a9' AS TEXT))",
        "trim('ab', char(0) || 'a')",
        "trim(' a' || char(0) || ' ')",
        "json_patch('{\"a\":1,\"b\":2}', '{\"b\":null,\"c\":{\"d\":3}}')",
        "json_patch(NULL, '{}')",
        "json_patch('{}', NULL)",
        "json_patch('[1]', '7')",
        "json_array(json_patch('{}', '{\"a\":\"é\"}'))",
    };
    char sql[512], more[512];
    struct place p;

    (void)state;
    place_make(&p);
    place_open(&p, &ways[0], NULL, NULL);
    for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
        sqlite3_stmt *row = NULL;

        (void)snprintf(sql, sizeof(sql),
                       "SELECT typeof(%s) || ' ' || ifnull(hex(%s), 'null')", calls[i],
                       calls[i]);
        assert_int_equal(sqlite3_prepare_v2(p.db, sql, -1, &row, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(row), SQLITE_ROW);
        (void)snprintf(more, sizeof(more), "\"%s\"", sqlite3_column_text(row, 0));
        sqlite3_finalize(row);
        expect_single(&p, arguments(sql, NULL), more);
    }
    expect_failure(&p, "query", arguments("SELECT json_patch('{', '{}')", NULL),
                   "malformed JSON");
    place_close(&p);
}

/* It would fill the disk, or all memory. */
static void
a_query_that_needs_too_much_memory_fails_alone(void **state)
{
    static const char sql[] =
        "WITH RECURSIVE n(i, x) AS (SELECT 1, '' UNION SELECT i + 1, "
        "zeroblob(900) FROM n) SELECT count(*) FROM n";
    static const char sort[] = ENDLESS "SELECT i FROM n "
                                       "ORDER BY -i, zeroblob(100000)";
    struct place p;

    test_limit(200);
    place_make(&p);
    place_open(&p, *state, "--write", NULL);
    expect_failure(&p, "query", arguments(sql, NULL), "out of memory");
    expect_single(&p, arguments("SELECT count(*) FROM many", NULL), "2500");
    expect_failure(&p, "query", arguments(sort, NULL), "out of memory");
    expect_single(&p,
                  arguments("SELECT count(*) FROM (SELECT DISTINCT text FROM many "
                            "ORDER BY text)",
                            NULL),
                  "2500");
    mcp_reply_free(call(&p, "execute", arguments("UPDATE many SET text = 'x'", NULL)));
    assert_int_equal(place_number(&p, "SELECT count(*) FROM many WHERE text = 'x'"),
                     2500);
    place_close(&p);
}

/* A statement that collects so many megabytes, and has them until it is canceled. */
#define HOARD(megabytes)                                                              \
    "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i "         \
    "< " #megabytes "), hoard(x) AS MATERIALIZED (SELECT zeroblob(1048576) FROM k), " \
    "n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000000) "        \
    "SELECT count(*) FROM n CROSS JOIN hoard"
/* One that needs them for a moment, and says how many they were. */
#define COLLECT(megabytes)                                                          \
    "WITH RECURSIVE k(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM k WHERE i "       \
    "< " #megabytes "), some(x) AS MATERIALIZED (SELECT zeroblob(1048576) FROM k) " \
    "SELECT count(x) FROM some"

struct hoarder {
    mcp_call *call;
    atomic_bool has_all, has_failed;
};

/* Collecting takes some thousands of steps. */
static void
on_steps(mcp_call *call, double progress, double total, const char *message, void *user)
{
    struct hoarder *h = user;

    (void)call, (void)total, (void)message;
    if (progress > 1e6)
        atomic_store(&h->has_all, true);
}

static void
on_hoarded(mcp_call *call, int status, mcp_reply *reply, void *user)
{
    struct hoarder *h = user;

    (void)call;
    if (status == 0)
        assert_true(mcp_reply_is_error(reply));
    atomic_store(&h->has_failed, true);
}

static bool
has_hoarded(void *user)
{
    struct hoarder *h = user;

    return atomic_load(&h->has_failed) || atomic_load(&h->has_all);
}

static void
hoard(struct hoarder *h, struct place *p, const char *sql)
{
    const mcp_call_options opt = MCP_CALL_OPTIONS(.timeout_ms = MCP_TIMEOUT_NONE,
                                                  .on_progress = on_steps, .user = h);

    *h = (struct hoarder){.call = NULL};
    assert_int_equal(mcp_client_start_tool(p->client, "query", arguments(sql, NULL),
                                           &opt, on_hoarded, h, &h->call),
                     0);
}

/* It may take what others do not need, and no more. */
static void
a_query_leaves_memory_for_those_of_others(void **state)
{
    struct hoarder first, second;
    struct place p;

    test_limit(200);
    place_make(&p);
    place_open(&p, *state, NULL, NULL);
    expect_single(&p, arguments(COLLECT(5), NULL), "5");
    hoard(&first, &p, HOARD(235));
    wait_until(has_hoarded, &first);
    hoard(&second, &p, HOARD(235));
    for (int i = 0; i < 20; i++)
        expect_single(&p, arguments(COLLECT(5), NULL), "5");
    wait_until(has_hoarded, &second);
    assert_true(atomic_load(&second.has_failed));
    assert_false(atomic_load(&first.has_failed));
    mcp_call_free(first.call);
    mcp_call_free(second.call);
    expect_rest(&p);
    expect_single(&p, arguments(COLLECT(235), NULL), "235"); /* all is given back */
    place_close(&p);
}

static void
names_of_columns_count_and_come_as_what_they_are(void **state)
{
    static char name[200001], sql[204000];
    mcp_reply *reply;
    struct place p;
    size_t length;

    (void)state;
    memset(name, 'n', sizeof(name) - 1);
    length = (size_t)snprintf(sql, sizeof(sql), "WITH c(%s) AS (SELECT 1) SELECT *",
                              name);
    for (int i = 0; i < 400; i++)
        length += (size_t)snprintf(sql + length, sizeof(sql) - length, ",*");
    (void)snprintf(sql + length, sizeof(sql) - length, " FROM c");
    place_make(&p);
    place_sql(&p, "CREATE TABLE strange(\"b\xff\" TEXT, ok INT);"
                  "INSERT INTO strange VALUES ('x', 7)");
    place_open(&p, &ways[0], NULL, NULL);
    expect_failure(&p, "query", arguments(sql, NULL),
                   "the names of the columns are longer than 1048576 bytes");
    reply = call(&p, "query", arguments("SELECT * FROM strange", NULL));
    assert_string_equal(mcp_reply_text(reply),
                        "{\"columns\":[{\"text_base64\":\"Yv8=\"},\"ok\"],\n"
                        "\"rows\":[\n[\"x\",7]\n]}");
    mcp_reply_free(reply);
    for (int i = 0; i < 4; i++) /* which also lets go of what is long */
        expect_single(&p, arguments("SELECT 1", NULL), "1");
    place_close(&p);
}

TEST_MAIN(TEST(sql_that_is_too_much_is_refused),
          TEST(functions_give_what_those_of_sqlite_give),
          IN_TWO_WAYS(a_query_that_needs_too_much_memory_fails_alone),
          IN_TWO_WAYS(a_query_leaves_memory_for_those_of_others),
          TEST(names_of_columns_count_and_come_as_what_they_are))
