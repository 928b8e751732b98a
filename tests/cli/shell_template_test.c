/* cli/shell_template_test.c - proves cli/shell_template.c: URIs by a template */
#include "cli/shell_template.h"

#include <stdio.h>
#include <string.h>

#include "support/test.h"

/* "next:TEXT", or "VARIABLE=VALUE TAIL CONTEXT", or "no". */
static const char *
place(const char *text, const char *typed)
{
    static char shown[256];
    struct cli_template_place found;

    if (!cli_template_find(text, typed, &found))
        return "no";
    if (found.next)
        snprintf(shown, sizeof shown, "next:%s", found.next);
    else
        snprintf(shown, sizeof shown, "%s=%s %s %s", found.variable, found.value,
                 found.tail, found.context ? found.context : "-");
    cli_template_place_done(&found);
    return shown;
}

/* The URI with this value for what is typed. */
static const char *
filled(const char *text, const char *typed, const char *value)
{
    static char shown[256];
    struct cli_template_place found;
    struct cli_text into = {0};

    assert_true(cli_template_find(text, typed, &found));
    cli_template_fill(&found, typed, value, &into);
    snprintf(shown, sizeof shown, "%s", cli_text_string(&into));
    cli_text_done(&into);
    cli_template_place_done(&found);
    return shown;
}

static void
the_templates_own_text_comes_first(void **state)
{
    (void)state;
    assert_string_equal(place("page:{book}/{page}", ""), "next:page:");
    assert_string_equal(place("page:{book}/{page}", "pa"), "next:page:");
    assert_string_equal(place("page:{book}/{page}", "px"), "no");
    assert_string_equal(place("x:{a}/rows/{b}", "x:1/ro"), "next:/rows/");
}

static void
the_variable_at_the_cursor_is_found(void **state)
{
    (void)state;
    assert_string_equal(place("page:{book}/{page}", "page:"), "book= / -");
    assert_string_equal(place("page:{book}/{page}", "page:re"), "book=re / -");
    assert_string_equal(place("page:{book}/{page}", "page:red%20b/1"),
                        "page=1  {\"book\":\"red b\"}");
    assert_string_equal(place("file:///{+path}", "file:///a/b"), "path=a/b  -");
}

static void
what_does_not_fit_is_not_found(void **state)
{
    (void)state;
    assert_string_equal(place("page:{book}", "page:a/b"), "no");
    assert_string_equal(place("page:{a,b}", "page:x"), "no");
    assert_string_equal(place("page:{?a}", "page:x"), "no");
    assert_string_equal(place("page:{a}{b}", "page:x"), "no");
    assert_string_equal(place("page:{a", "page:x"), "no");
    assert_string_equal(place("page:index", "page:index"), "no");
}

static void
values_are_encoded_as_the_template_wants(void **state)
{
    (void)state;
    assert_string_equal(filled("page:{book}/{page}", "page:r", "red/\xC3\xA4 1"),
                        "page:red%2F%C3%A4%201/");
    assert_string_equal(filled("file:///{+path}", "file:///a/", "a/b c"),
                        "file:///a/b%20c");
    assert_string_equal(filled("x:{a}/rows/{b}", "x:1/r", NULL), "x:1/rows/");
}

TEST_MAIN(TEST(the_templates_own_text_comes_first),
          TEST(the_variable_at_the_cursor_is_found),
          TEST(what_does_not_fit_is_not_found),
          TEST(values_are_encoded_as_the_template_wants))
