/* record_test.c - texts of one object: in one block, and as JSON */
#include "auth/record.h"

#include "auth/key_fixture.h"
#include "auth/safe.h"
#include "base/mem.h"

struct thing {
    int number;
    const char *first, *second, *third;
};

static const struct mcpi_record_field fields[] = {
    {"first", offsetof(struct thing, first)},
    {"second", offsetof(struct thing, second)},
    {"third", offsetof(struct thing, third)},
    {0},
};

/* ---- one block ------------------------------------------------------------- */

static void
texts_are_copied_behind_their_struct(void **state)
{
    char first[] = "one", third[] = "";
    struct thing parts = {7, first, NULL, third}, *made;
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    made = mcpi_record_new(safe.allocator, &parts, sizeof(parts), fields);
    assert_non_null(made);
    memset(first, 'x', sizeof(first) - 1);
    assert_int_equal(made->number, 7);
    assert_string_equal(made->first, "one");
    assert_string_equal(made->second, "");
    assert_string_equal(made->third, "");
    assert_int_equal(atomic_load(&safe.mem->live), 1);
    mcpi_free(safe.allocator, made);
    safe_done(&safe);
}

static void
there_may_be_no_memory_for_it(void **state)
{
    struct thing parts = {0};
    struct safe safe;

    (void)state;
    safe_init(&safe, NULL);
    atomic_store(&safe.mem->fail_at, 1);
    assert_null(mcpi_record_new(safe.allocator, &parts, sizeof(parts), fields));
    safe_done(&safe);
}

/* ---- written --------------------------------------------------------------- */

static void
writes(struct thing thing, const char *wanted)
{
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, NULL, 4096);
    mcpi_record_write(&thing, fields, &buf);
    assert_text(&buf, wanted);
    mcpi_buf_done(&buf);
}

static void
what_is_empty_is_left_out(void **state)
{
    (void)state;
    writes((struct thing){1, "a", "b", "c"}, "'first':'a','second':'b','third':'c'");
    writes((struct thing){1, "", "b", NULL}, "'second':'b'");
    writes((struct thing){1, "a", NULL, "c"}, "'first':'a','third':'c'");
    writes((struct thing){0}, "");
}

static void
what_json_escapes_is_escaped(void **state)
{
    (void)state;
    writes((struct thing){.first = "\"\\\n", .third = "\xC3\xA4"},
           "'first':'\\'\\\\\\n','third':'\xC3\xA4'");
}

static void
what_is_not_utf8_is_as_if_it_were_not_there(void **state)
{
    (void)state;
    writes((struct thing){.first = "\xFF", .second = "b", .third = "a\xC3"},
           "'first':'','second':'b','third':''");
}

static void
a_failure_is_the_buffers(void **state)
{
    struct thing thing = {1, "a", "b", "c"};
    struct mcpi_buf buf;

    (void)state;
    for (size_t max = 1; max <= 36; max++) {
        mcpi_buf_init(&buf, NULL, max);
        mcpi_record_write(&thing, fields, &buf);
        assert_int_equal(buf.status, max < 36 ? MCP_E_LIMIT : 0);
        mcpi_buf_done(&buf);
    }
}

/* ---- read ------------------------------------------------------------------ */

static bool
reads(const char *text, const char *first, const char *second, const char *third)
{
    mcp_doc *doc = json_doc(NULL, text);
    struct thing thing = {7, "x", "x", "x"};
    bool good = mcpi_record_read(mcp_doc_root(doc), fields, &thing);

    if (good) {
        assert_int_equal(thing.number, 7);
        assert_string_equal(thing.first, first);
        assert_string_equal(thing.second, second);
        assert_string_equal(thing.third, third);
    }
    mcp_doc_free(doc);
    return good;
}

static void
texts_are_read_and_others_passed_over(void **state)
{
    struct thing thing;

    (void)state;
    assert_true(
        reads("{'third':'c','more':[1],'first':'a','second':'b'}", "a", "b", "c"));
    assert_true(reads("{'second':''}", "", "", ""));
    assert_true(reads("{}", "", "", ""));
    assert_true(reads("['first']", "", "", ""));
    assert_true(reads("'first'", "", "", ""));
    assert_true(mcpi_record_read(NULL, fields, &thing));
    assert_string_equal(thing.first, "");
}

/* Some write down what they have not. */
static void
null_is_not_there(void **state)
{
    (void)state;
    assert_true(reads("{'first':'a','second':null}", "a", "", ""));
}

static void
what_is_no_text_is_refused(void **state)
{
    (void)state;
    assert_false(reads("{'first':1}", "", "", ""));
    assert_false(reads("{'first':'a','third':true}", "", "", ""));
    assert_false(reads("{'second':['b']}", "", "", ""));
    assert_false(reads("{'second':{}}", "", "", ""));
}

/* Who reads it as C does would see another text. */
static void
a_nul_in_it_is_refused(void **state)
{
    (void)state;
    assert_false(reads("{'first':'a\\u0000b'}", "", "", ""));
    assert_false(reads("{'third':'\\u0000'}", "", "", ""));
}

TEST_MAIN(TEST(texts_are_copied_behind_their_struct),
          TEST(there_may_be_no_memory_for_it), TEST(what_is_empty_is_left_out),
          TEST(what_json_escapes_is_escaped),
          TEST(what_is_not_utf8_is_as_if_it_were_not_there),
          TEST(a_failure_is_the_buffers), TEST(texts_are_read_and_others_passed_over),
          TEST(null_is_not_there), TEST(what_is_no_text_is_refused),
          TEST(a_nul_in_it_is_refused))
