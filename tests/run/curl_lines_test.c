/* run/curl_lines_test.c - header lines as libcurl wants them */
#include "run/curl_lines.h"

#include <stdlib.h>
#include <string.h>

#include "support/test.h"

/* All lines, with bars between. */
static const char *
joined(const struct curl_slist *line)
{
    static char text[512];

    text[0] = '\0';
    for (; line; line = line->next) {
        assert_true(strlen(text) + strlen(line->data) + 2 < sizeof(text));
        strcat(text, line->data);
        strcat(text, "|");
    }
    return text;
}

/* The room is as long as it is said to be: the sanitizers see more. */
static void
expect(const char *fields, size_t len, const char *lines, const char *without_secrets)
{
    void *room = malloc(mcpi_curl_lines_room(fields, len));
    struct curl_slist *first;

    assert_non_null(room);
    first = mcpi_curl_lines_make(room, fields, len);
    assert_string_equal(joined(first), lines);
    first = mcpi_curl_lines_drop_secrets(first);
    assert_string_equal(joined(first), without_secrets);
    free(room);
}

#define EXPECT(fields, lines, without) expect(fields, sizeof(fields), lines, without)

static void
what_libcurl_would_add_is_refused(void **state)
{
    (void)state;
    expect(NULL, 0, "Expect:|Content-Type:|", "Expect:|Content-Type:|");
    EXPECT("A: b", "A: b|Expect:|Content-Type:|", "A: b|Expect:|Content-Type:|");
    EXPECT("A: b\0cONTENT-tYPE: c", "A: b|cONTENT-tYPE: c|Expect:|",
           "A: b|cONTENT-tYPE: c|Expect:|");
}

static void
a_line_without_a_value_is_spelled_so_that_it_is_sent(void **state)
{
    (void)state;
    EXPECT("A:\0B: \0C: \t \0Content-Type: d: ", "A;|B;|C;|Content-Type: d: |Expect:|",
           "A;|B;|C;|Content-Type: d: |Expect:|");
}

static void
secrets_are_dropped_wherever_they_stand(void **state)
{
    (void)state;
    EXPECT("Authorization: x\0AUTHORIZATION: y\0Content-Type: t\0cookie:\0"
           "Mcp-Session-Id: s\0DPoP: p",
           "Authorization: x|AUTHORIZATION: y|Content-Type: t|cookie;|"
           "Mcp-Session-Id: s|DPoP: p|Expect:|",
           "Content-Type: t|Expect:|");
    EXPECT("Authorizations: x\0Cookie2: y\0Mcp-Session-Id-Too: z\0DPoP-Too: p\0"
           "Content-Type: t",
           "Authorizations: x|Cookie2: y|Mcp-Session-Id-Too: z|DPoP-Too: p|"
           "Content-Type: t|Expect:|",
           "Authorizations: x|Cookie2: y|Mcp-Session-Id-Too: z|DPoP-Too: p|"
           "Content-Type: t|Expect:|");
}

TEST_MAIN(TEST(what_libcurl_would_add_is_refused),
          TEST(a_line_without_a_value_is_spelled_so_that_it_is_sent),
          TEST(secrets_are_dropped_wherever_they_stand))
