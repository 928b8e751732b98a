/* sse_test.c - server-sent events: writing them, and reading them from pieces */
#include "wire/sse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

/* ---- writing ------------------------------------------------------------ */

static void
writes(struct mcpi_sse_event event, const char *text)
{
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, NULL, 1000);
    if (event.data)
        event.data_len = strlen(event.data);
    mcpi_sse_write(&buf, &event);
    assert_int_equal(buf.status, 0);
    mcpi_buf_char(&buf, '\0');
    assert_string_equal(buf.data, text);
    mcpi_buf_done(&buf);
}

#define EVENT(...) RETRY(-1, __VA_ARGS__)
#define RETRY(ms, ...) ((struct mcpi_sse_event){.retry_ms = (ms), __VA_ARGS__})

static void
an_event_is_its_fields_and_an_empty_line(void **state)
{
    (void)state;
    writes(EVENT(.data = "{\"a\":1}"), "data: {\"a\":1}\n\n");
    writes(EVENT(.data = "x", .type = "", .id = "7"), "id: 7\ndata: x\n\n");
    writes(RETRY(0, .data = "x", .type = "endpoint", .id = "a b"),
           "event: endpoint\nid: a b\nretry: 0\ndata: x\n\n");
    writes(RETRY(3000, .data = "", .id = ""), "id: \nretry: 3000\ndata: \n\n");
    writes(EVENT(.data = NULL), "data: \n\n");
}

static void
data_of_several_lines_is_several_fields(void **state)
{
    (void)state;
    writes(EVENT(.data = "a\nb"), "data: a\ndata: b\n\n");
    writes(EVENT(.data = "a\rb"), "data: a\ndata: b\n\n");
    writes(EVENT(.data = "a\r\nb"), "data: a\ndata: b\n\n");
    writes(EVENT(.data = "a\n\rb\n"), "data: a\ndata: \ndata: b\ndata: \n\n");
    writes(EVENT(.data = "\n"), "data: \ndata: \n\n");
    writes(EVENT(.data = "a\r"), "data: a\ndata: \n\n");
}

static void
a_line_break_makes_no_field_of_a_strangers(void **state)
{
    (void)state;
    writes(EVENT(.data = "x", .id = "1\ndata: y"), "data: x\n\n");
    writes(EVENT(.data = "x", .id = "1\r"), "data: x\n\n");
    writes(EVENT(.data = "x", .type = "a\n\n", .id = "1"), "id: 1\ndata: x\n\n");
}

static void
a_full_buffer_has_no_half_event(void **state)
{
    static const char *const data[] = {"a long one", "of\nlines\nthree"};
    struct mcpi_sse_event event = EVENT(.id = "1");
    struct mcpi_buf buf;

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        event.data = data[i];
        event.data_len = strlen(data[i]);
        for (size_t max = 2; max < 20; max++) {
            mcpi_buf_init(&buf, NULL, max);
            mcpi_buf_text(&buf, "x");
            mcpi_sse_write(&buf, &event);
            assert_int_equal(buf.status, MCP_E_LIMIT);
            assert_int_equal(buf.len, 1);
            mcpi_buf_done(&buf);
        }
    }
}

/* ---- reading ------------------------------------------------------------ */

/* What was read, as text: type|id|retry|data, a star behind an id of its own. */
struct heard {
    struct mcpi_buf text;
    int end_at, count; /* at which event to end */
};

static int
hear(void *user, const struct mcpi_sse_event *event)
{
    struct heard *heard = user;
    char line[100];

    assert_int_equal(event->data[event->data_len], '\0');
    snprintf(line, sizeof(line), "%.20s|%.20s%s|%lld|", event->type, event->id,
             event->has_id ? "*" : "", (long long)event->retry_ms);
    mcpi_buf_text(&heard->text, line);
    mcpi_buf_append(&heard->text, event->data, event->data_len);
    MCPI_BUF_LITERAL(&heard->text, "; ");
    heard->count++;
    return heard->count == heard->end_at ? MCP_E_CANCELED : 0;
}

struct feeding {
    const char *text;
    size_t len;
    size_t event_bytes;
    int end_at;
    int status; /* what is expected */
    const char *heard;
};

static int
feed(struct mcpi_sse_reader *reader, struct heard *heard, const char *text, size_t len)
{
    char *exact = malloc(len > 0 ? len : 1); /* a read beyond its end is caught */
    int r;

    assert_non_null(exact);
    memcpy(exact, text, len);
    r = mcpi_sse_reader_feed(reader, exact, len, hear, heard);
    free(exact);
    return r;
}

/* In three pieces, cut at first and second. */
static void
check_cut(const struct feeding *f, size_t first, size_t second)
{
    const size_t cuts[] = {0, first, second, f->len};
    struct mcpi_sse_reader reader;
    struct heard heard = {.end_at = f->end_at};
    int r = 0;

    mcpi_sse_reader_init(&reader, NULL, f->event_bytes ? f->event_bytes : 1000);
    mcpi_buf_init(&heard.text, NULL, 100000);
    for (int i = 0; r == 0 && i < 3; i++)
        r = feed(&reader, &heard, f->text + cuts[i], cuts[i + 1] - cuts[i]);
    mcpi_buf_char(&heard.text, '\0');
    if (r != f->status || strcmp(heard.text.data, f->heard) != 0)
        fail_msg("%.200s cut at %zu and %zu: %d, %s", f->text, first, second, r,
                 heard.text.data);
    mcpi_buf_done(&heard.text);
    mcpi_sse_reader_done(&reader);
}

static void
check_feeding(const struct feeding *f)
{
    for (size_t first = 0; first <= f->len; first++)
        for (size_t second = first; second <= f->len; second++)
            check_cut(f, first, second);
}

static void
reads(const char *text, const char *heard)
{
    const struct feeding f = {.text = text, .len = strlen(text), .heard = heard};

    check_feeding(&f);
}

static void
every_line_end_ends_a_line(void **state)
{
    (void)state;
    reads("data: a\n\ndata: b\n\n", "||-1|a; ||-1|b; ");
    reads("data: a\r\rdata: b\r\r", "||-1|a; ||-1|b; ");
    reads("data: a\r\n\r\ndata: b\r\n\r\n", "||-1|a; ||-1|b; ");
    reads("data: a\r\n\ndata: b\n\r\n", "||-1|a; ||-1|b; ");
    reads("data: a\n\rdata: b\r\n\r", "||-1|a; ||-1|b; ");
    reads("\n\r\r\n\n\ndata: a\n\n\n\n", "||-1|a; ");
}

static void
lines_of_data_are_joined(void **state)
{
    (void)state;
    reads("data: a\ndata: b\r\ndata\ndata:\n\n", "||-1|a\nb\n\n; ");
    reads("data:a\n\ndata: a\n\ndata:  a \n\ndata:\ta\n\n",
          "||-1|a; ||-1|a; ||-1| a ; ||-1|\ta; ");
    reads("data:\n\ndata\n\n", "||-1|; ||-1|; ");
    reads("data: a:b: c\n\n", "||-1|a:b: c; ");
}

static void
comments_and_unknown_fields_say_nothing(void **state)
{
    (void)state;
    reads(":\n\n: ping\n\n:data: x\n\n", "");
    reads("data: a\n:\ndata: b\nname: c\n data: d\nDATA: e\ndatas: f\n\n",
          "||-1|a\nb; ");
    reads("data : a\n\n", "");
}

static void
types_last_for_one_event(void **state)
{
    (void)state;
    reads("event: ping\ndata: a\n\ndata: b\n\n", "ping||-1|a; ||-1|b; ");
    reads("event: a\nevent: b\ndata: c\n\nevent: d\n\ndata: e\n\n",
          "b||-1|c; ||-1|e; ");
    reads("event: a\nevent\ndata: c\n\n", "||-1|c; ");
}

static void
an_id_lasts_until_the_next(void **state)
{
    (void)state;
    reads("id: 1\ndata: a\n\ndata: b\n\nid: 22\ndata: c\n\nid\ndata: d\n\n",
          "|1*|-1|a; |1|-1|b; |22*|-1|c; |*|-1|d; ");
    reads("id: 1\n\nid: 2\nid: 3\n\ndata: a\n\n", "|1*|-1|; |3*|-1|; |3|-1|a; ");
}

static void
an_id_with_a_nul_is_ignored(void **state)
{
    static const char text[] = "id: 1\ndata: a\n\nid: 2\0\ndata: b\n\n"
                               "id: \0\ndata: c\0d\n\n";
    const struct feeding f = {
        .text = text, .len = sizeof(text) - 1, .heard = "|1*|-1|a; |1|-1|b; |1|-1|c"};

    (void)state;
    check_feeding(&f); /* the string that was heard ends at the NUL of the data */
}

static void
a_type_with_a_nul_is_another_one(void **state)
{
    static const char text[] = "event: message\0x\ndata: a\n\n";
    const struct feeding f = {
        .text = text, .len = sizeof(text) - 1, .heard = "message?x||-1|a; "};

    (void)state;
    check_feeding(&f);
}

static void
retry_is_digits_only(void **state)
{
    (void)state;
    reads("retry: 500\ndata: a\n\ndata: b\n\n", "||500|a; ||-1|b; ");
    reads("retry: 0\n\nretry: 007\n\n", "||0|; ||7|; ");
    reads("retry: -1\n\nretry: 1.5\n\nretry:\n\nretry: 5 \n\nretry: 0x1\n\n", "");
    reads("retry: 5\nretry: x\n\n", "||5|; ");
    reads("retry: 9223372036854775808\n\nretry: 99999999999999999999999\n\n",
          "||9223372036854775807|; ||9223372036854775807|; ");
}

static void
a_mark_at_the_start_is_passed_over(void **state)
{
    (void)state;
    reads("\xEF\xBB\xBF"
          "data: a\n\n",
          "||-1|a; ");
    reads("\xEF\xBB\xBF\ndata: a\n\n", "||-1|a; ");
    reads("\xEF\xBB\xBF:\n\ndata: a\n\n", "||-1|a; ");
    reads("\xEF\xBB"
          "data: a\n\ndata: b\n\n",
          "||-1|b; ");
    reads("\n\xEF\xBB\xBF"
          "data: a\n\ndata: b\n\n",
          "||-1|b; ");
    reads("\xEF\xBB\xBF\xEF\xBB\xBF"
          "data: a\n\ndata: b\n\n",
          "||-1|b; ");
}

static void
what_has_no_end_is_no_event(void **state)
{
    (void)state;
    reads("data: a", "");
    reads("data: a\n", "");
    reads("data: a\n\nid: 3\ndata: b\n", "||-1|a; ");
}

static void
who_hears_may_end_it(void **state)
{
    const struct feeding f = {.text = "data: a\n\ndata: b\n\ndata: c\n\n",
                              .len = 27,
                              .end_at = 2,
                              .status = MCP_E_CANCELED,
                              .heard = "||-1|a; ||-1|b; "};

    (void)state;
    check_feeding(&f);
}

/* ---- limits ------------------------------------------------------------- */

static void
data_has_a_limit(void **state)
{
    struct feeding f = {.text = "data: 1234\n\ndata: 12\ndata: 4\n\n",
                        .len = 30,
                        .event_bytes = 4,
                        .heard = "||-1|1234; ||-1|12\n4; "};

    (void)state;
    check_feeding(&f);
    f = (struct feeding){.text = "data: 1234\n\ndata: 12345\n\n",
                         .len = 25,
                         .event_bytes = 4,
                         .status = MCP_E_LIMIT,
                         .heard = "||-1|1234; "};
    check_feeding(&f);
    f.text = "data: 1234\n\ndata: 12\ndata: 45\n\n";
    f.len = strlen(f.text);
    check_feeding(&f);
}

static void
a_line_has_a_limit_even_if_it_does_not_end(void **state)
{
    struct feeding f = {.text = ":2345678901234567890\n\ndata: a\n\n",
                        .len = 31,
                        .event_bytes = 4,
                        .heard = "||-1|a; "};

    (void)state;
    check_feeding(&f); /* 4 + MCPI_SSE_FIELD_ROOM */
    f = (struct feeding){.text = "data: a\n\n:23456789012345678901\n\n",
                         .len = 32,
                         .event_bytes = 4,
                         .status = MCP_E_LIMIT,
                         .heard = "||-1|a; "};
    check_feeding(&f);
    f.len -= 2;
    check_feeding(&f);
}

struct names {
    size_t id_len, type_len;
    int count;
};

static int
take_names(void *user, const struct mcpi_sse_event *event)
{
    struct names *names = user;

    assert_true(event->has_id);
    assert_string_equal(event->data, "x");
    names->id_len = strlen(event->id);
    names->type_len = strlen(event->type);
    names->count++;
    return 0;
}

/* Of a longer type the beginning is enough, for nobody knows it; a part of an id would be
 * another id. The event is told. */
static void
an_id_that_is_too_long_is_none_and_a_type_is_cut(void **state)
{
    char name[MCPI_SSE_NAME_MAX + 2] = "";
    char text[2 * sizeof(name) + 50];
    struct mcpi_sse_reader reader;

    (void)state;
    for (size_t more = 0; more < 2; more++) {
        struct names names = {0};
        size_t len;

        memset(name, 'x', MCPI_SSE_NAME_MAX + more);
        len = (size_t)snprintf(text, sizeof(text),
                               "id: 7\nid: %s\nevent: %s\ndata: x\n\n", name, name);
        mcpi_sse_reader_init(&reader, NULL, 1 << 20);
        assert_int_equal(mcpi_sse_reader_feed(&reader, text, len, take_names, &names),
                         0);
        mcpi_sse_reader_done(&reader);
        assert_int_equal(names.count, 1);
        assert_int_equal(names.id_len, more ? 0 : MCPI_SSE_NAME_MAX);
        assert_int_equal(names.type_len, MCPI_SSE_NAME_MAX);
    }
}

/* One kind of line end only, in one large piece: looking for the other one again and
 * again would be quadratic, and take minutes here. */
static void
many_lines_cost_no_more_than_their_bytes(void **state)
{
    const size_t len = 4 << 20;
    char *text = malloc(len);
    struct mcpi_sse_reader reader;
    struct heard heard = {0};

    (void)state;
    assert_non_null(text);
    for (int i = 0; i < 2; i++) {
        memset(text, "\r\n"[i], len);
        mcpi_sse_reader_init(&reader, NULL, 100);
        assert_int_equal(mcpi_sse_reader_feed(&reader, text, len, hear, &heard), 0);
        mcpi_sse_reader_done(&reader);
    }
    assert_int_equal(heard.count, 0);
    free(text);
}

static void
memory_of_a_large_event_is_given_back(void **state)
{
    const size_t len = 1 << 20;
    char *text = malloc(len);
    struct mcpi_sse_reader reader;
    struct heard heard = {0};

    (void)state;
    assert_non_null(text);
    memset(text, 'x', len);
    memcpy(text, "data: ", 6);
    memcpy(text + len - 2, "\n\n", 2);
    mcpi_sse_reader_init(&reader, NULL, len);
    mcpi_buf_init(&heard.text, NULL, 2 * len);
    assert_int_equal(mcpi_sse_reader_feed(&reader, text, 9, hear, &heard), 0);
    assert_int_equal(mcpi_sse_reader_feed(&reader, text + 9, len - 9, hear, &heard), 0);
    assert_int_equal(heard.count, 1);
    assert_true(reader.data.cap <= 65536 && reader.line.cap <= 65536);
    mcpi_sse_reader_done(&reader);
    mcpi_buf_done(&heard.text);
    free(text);
}

/* ---- there and back ----------------------------------------------------- */

static void
what_is_written_is_read(void **state)
{
    const struct mcpi_sse_event events[] = {
        EVENT(.data = "{\"a\":1}", .data_len = 7),
        EVENT(.data = " a\n\nb\n", .data_len = 6, .id = " 1", .type = "message"),
        RETRY(5, .data = "", .id = "2"),
    };
    struct mcpi_buf buf;

    (void)state;
    mcpi_buf_init(&buf, NULL, 1000);
    for (size_t i = 0; i < 3; i++) {
        mcpi_sse_write(&buf, &events[i]);
        mcpi_sse_write_ping(&buf);
    }
    mcpi_buf_char(&buf, '\0');
    reads(buf.data, "||-1|{\"a\":1}; message| 1*|-1| a\n\nb\n; |2*|5|; ");
    mcpi_buf_done(&buf);
}

static int
ignore(void *user, const struct mcpi_sse_event *event)
{
    (void)user;
    (void)event;
    return 0;
}

static void
write_and_read(struct test_mem *mem, void *user)
{
    static const char text[] = "event: a\nid: 1\ndata: ";
    const struct mcpi_sse_event event = EVENT(.data = "a\nb", .data_len = 3, .id = "1");
    struct mcpi_sse_reader reader;
    struct mcpi_buf buf;
    int r;

    (void)user;
    mcpi_buf_init(&buf, &mem->allocator, 1000);
    mcpi_sse_write(&buf, &event);
    mcpi_sse_write_ping(&buf);
    mcpi_sse_reader_init(&reader, &mem->allocator, 1000);
    r = mcpi_sse_reader_feed(&reader, text, sizeof(text) - 1, ignore, NULL);
    if (r == 0)
        r = mcpi_sse_reader_feed(&reader, "b\n\n", 3, ignore, NULL);
    if (r == 0)
        r = buf.status;
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    mcpi_sse_reader_done(&reader);
    mcpi_buf_done(&buf);
}

static void
each_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(write_and_read, NULL), 5);
}

TEST_MAIN(TEST(an_event_is_its_fields_and_an_empty_line),
          TEST(data_of_several_lines_is_several_fields),
          TEST(a_line_break_makes_no_field_of_a_strangers),
          TEST(a_full_buffer_has_no_half_event), TEST(every_line_end_ends_a_line),
          TEST(lines_of_data_are_joined), TEST(comments_and_unknown_fields_say_nothing),
          TEST(types_last_for_one_event), TEST(an_id_lasts_until_the_next),
          TEST(an_id_with_a_nul_is_ignored), TEST(a_type_with_a_nul_is_another_one),
          TEST(retry_is_digits_only), TEST(a_mark_at_the_start_is_passed_over),
          TEST(what_has_no_end_is_no_event), TEST(who_hears_may_end_it),
          TEST(data_has_a_limit), TEST(a_line_has_a_limit_even_if_it_does_not_end),
          TEST(an_id_that_is_too_long_is_none_and_a_type_is_cut),
          TEST(many_lines_cost_no_more_than_their_bytes),
          TEST(memory_of_a_large_event_is_given_back), TEST(what_is_written_is_read),
          TEST(each_allocation_may_fail))
