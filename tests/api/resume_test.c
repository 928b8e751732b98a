/* resume_test.c - tokens that a call is taken up again with: written, read, refused */
#include "api/resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/test.h"

static void
writes(struct test_mem *mem, struct mcpi_id id, const char *event, char *ret,
       size_t size)
{
    struct mcpi_buf buf;

    mcpi_buf_init(&buf, &mem->allocator, MCPI_RESUME_MAX + 1);
    mcpi_resume_write(&buf, &id, event);
    mcpi_buf_char(&buf, '\0');
    assert_int_equal(buf.status, 0);
    assert_in_range(buf.len, 1, size);
    memcpy(ret, buf.data, buf.len);
    mcpi_buf_done(&buf);
}

static void
returns(struct mcpi_id id, const char *event, const char *as)
{
    static char token[MCPI_RESUME_MAX + 1];
    struct mcpi_resume resume;
    struct test_mem mem;

    test_mem_init(&mem);
    writes(&mem, id, event, token, sizeof(token));
    if (as)
        assert_string_equal(token, as);
    assert_int_equal(mcpi_resume_read(&mem.allocator, token, &resume), 0);
    assert_int_equal(resume.id.kind, id.kind);
    if (id.kind == MCPI_ID_INT) {
        assert_int_equal(resume.id.number, id.number);
    } else {
        assert_int_equal(resume.id.len, id.len);
        assert_memory_equal(resume.id.text, id.text, id.len);
    }
    assert_string_equal(resume.event, event);
    mcpi_resume_done(&resume);
    mcpi_resume_done(&resume); /* and once more */
    test_mem_done(&mem);
}

static struct mcpi_id
text(const char *text)
{
    return mcpi_id_string(text, strlen(text));
}

static void
A2_an_id_and_an_event_return_as_they_were(void **state)
{
    (void)state;
    returns(mcpi_id_int(7), "event-9", "7 event-9");
    returns(mcpi_id_int(INT64_MIN), "e", "-9223372036854775808 e");
    returns(mcpi_id_int(INT64_MAX), "e", "9223372036854775807 e");
    returns(text("7"), "e", "\"7\" e"); /* the server may tell them apart */
    returns(text(""), "e", "\"\" e");
    returns(text("a \"b\" \\ c\n"), " x  y ", "\"a \\\"b\\\" \\\\ c\\n\"  x  y ");
    returns(text("\\"), "\"", "\"\\\\\" \"");
    returns(text("\xC3\xA9"), "\xC3\xA9 \xE2\x82\xAC", NULL);
    returns(mcpi_id_int(1), "\xFF\x80", NULL); /* not ours to judge */
}

static void
the_longest_of_both_return(void **state)
{
    static char id[MCPI_ID_MAX + 1], event[MCPI_SSE_NAME_MAX + 1];

    (void)state;
    memset(id, '\x01', MCPI_ID_MAX); /* six bytes each */
    memset(event, 'e', MCPI_SSE_NAME_MAX);
    returns(text(id), event, NULL);
}

static int
read_one(const char *token)
{
    struct mcpi_resume resume;
    struct test_mem mem;
    int r;

    test_mem_init(&mem);
    r = mcpi_resume_read(&mem.allocator, token, &resume);
    if (r == 0)
        mcpi_resume_done(&resume);
    test_mem_done(&mem);
    return r;
}

static void
what_is_no_token_is_refused(void **state)
{
    static const char *const bad[] = {"",
                                      " ",
                                      "7",
                                      "7 ",
                                      " e",
                                      "event-9",
                                      "7e",
                                      "7\te",
                                      "07 e",
                                      "7.0 e",
                                      "1e2 e",
                                      "18446744073709551615 e",
                                      "null e",
                                      "true e",
                                      "[1] e",
                                      "{} e",
                                      "\"a e",
                                      "\"a\\\" e",
                                      "\"a\\",
                                      "\"a\"e",
                                      "\"a\" ",
                                      "'a' e",
                                      "\"\\ud800\" e",
                                      "\"\xFF\" e",
                                      "\"a\\u0000b\" e",
                                      "\"\n\" e",
                                      "7 a\nb",
                                      "7 a\r\nX: y",
                                      "7 \x01",
                                      "7 \x7f",
                                      "7 a\tb"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (read_one(bad[i]) != MCP_E_INVAL)
            fail_msg("<%s> is taken", bad[i]);
}

static void
what_is_too_long_is_refused(void **state)
{
    static char token[2 * MCPI_RESUME_MAX];

    (void)state;
    memset(token, 'e', MCPI_SSE_NAME_MAX + 2);
    memcpy(token, "1 ", 2);
    assert_int_equal(read_one(token), 0);
    token[MCPI_SSE_NAME_MAX + 2] = 'e';
    assert_int_equal(read_one(token), MCP_E_INVAL);
    memset(token, 0, sizeof(token));
    memset(token, 'i', MCPI_ID_MAX + 2);
    token[0] = '"';
    memcpy(token + MCPI_ID_MAX + 1, "\" e", 3);
    assert_int_equal(read_one(token), 0);
    memcpy(token + MCPI_ID_MAX + 1, "i\" e", 4);
    assert_int_equal(read_one(token), MCP_E_INVAL);
    memset(token, '1', sizeof(token) - 1);
    assert_int_equal(read_one(token), MCP_E_INVAL);
}

static void
read_with_little_memory(struct test_mem *mem, void *user)
{
    struct mcpi_resume resume;
    int r;

    (void)user;
    r = mcpi_resume_read(&mem->allocator, "\"id\" event", &resume);
    assert_true(r == 0 || r == MCP_E_NOMEM);
    if (r == 0)
        mcpi_resume_done(&resume);
}

static void
without_memory_it_is_not_called_invalid(void **state)
{
    (void)state;
    assert_true(test_each_allocation_fails(read_with_little_memory, NULL) > 0);
}

TEST_MAIN(TEST(A2_an_id_and_an_event_return_as_they_were),
          TEST(the_longest_of_both_return), TEST(what_is_no_token_is_refused),
          TEST(what_is_too_long_is_refused),
          TEST(without_memory_it_is_not_called_invalid))
