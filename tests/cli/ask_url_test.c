/* cli/ask_url_test.c - proves cli/ask_url.c: only the user opens a page */
#include <stdio.h>
#include <sys/stat.h>

#include "cli/asking.h"

static void
page_open(struct asking *asking, const char *url)
{
    *asking = (struct asking){.elicit = MCP_ELICIT(.message = "Sign in", .url = url)};
    asking_open(asking, MCP_ERA_MODERN, true);
}

static void
a_page_is_declined_or_dismissed(void **state)
{
    struct asking asking;

    (void)state;
    page_open(&asking, "https://bank.example@evil.example/login?x=1");
    asking_gives(&asking, "n\n", "{'action':'decline'}");
    assert_has(desk_shown(&asking.desk), "open a page: Sign in");
    assert_has(desk_shown(&asking.desk), "host: evil.example\r\n");
    assert_has(desk_shown(&asking.desk),
               "page: https://bank.example@evil.example/login?x=1\r\n");
    asking_gives(&asking, "c\n", "{'action':'cancel'}");
    asking_close(&asking);
}

/* A browser that writes down what it was given, as a script, and a pipe to see it
 * by. */
static void
browser_make(char folder[64], int *ret_fd)
{
    char path[96], text[256];
    FILE *file;

    (void)snprintf(folder, 64, "/tmp/ask_url_test.XXXXXX");
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof(path), "%s/pipe", folder);
    assert_int_equal(mkfifo(path, 0600), 0);
    *ret_fd = open(path, O_RDWR | O_CLOEXEC);
    assert_true(*ret_fd >= 0);
    (void)snprintf(path, sizeof(path), "%s/browser", folder);
    file = fopen(path, "we");
    assert_non_null(file);
    (void)fprintf(file, "#!/bin/sh\necho \"$#:$*\" >%s/pipe\n", folder);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0700), 0);
    (void)snprintf(text, sizeof(text), "/nowhere/browser:%s --new", path);
    assert_int_equal(setenv("BROWSER", text, 1), 0);
}

static void
browser_remove(const char *folder, int fd)
{
    char path[96];

    close(fd);
    (void)snprintf(path, sizeof(path), "%s/pipe", folder);
    assert_int_equal(unlink(path), 0);
    (void)snprintf(path, sizeof(path), "%s/browser", folder);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
    assert_int_equal(unsetenv("BROWSER"), 0);
}

static void
a_page_is_opened_without_a_shell(void **state)
{
    char folder[64], line[256] = "";
    struct asking asking;
    int fd;

    (void)state;
    page_open(&asking, "https://example.com/$(id);id?a=b&c=d");
    browser_make(folder, &fd);
    asking_gives(&asking, "y\n", "{'action':'accept'}");
    assert_true(read(fd, line, sizeof(line) - 1) > 0);
    assert_string_equal(line, "2:--new https://example.com/$(id);id?a=b&c=d\n");
    browser_remove(folder, fd);
    asking_close(&asking);
}

static void
without_a_browser_the_user_is_told(void **state)
{
    struct asking asking;

    (void)state;
    page_open(&asking, "https://xn--exmple-cua.example/");
    assert_int_equal(setenv("BROWSER", "/nowhere/browser", 1), 0);
    asking_gives(&asking, "y\n", "{'action':'accept'}");
    assert_has(desk_shown(&asking.desk), "No browser could be started.");
    assert_has(desk_shown(&asking.desk), "This host has letters beyond ASCII.");
    assert_int_equal(unsetenv("BROWSER"), 0);
    asking_close(&asking);
}

static void
what_is_not_of_the_web_is_declined(void **state)
{
    struct asking asking;

    (void)state;
    page_open(&asking, "file:///etc/passwd");
    asking_gives(&asking, "", "{'action':'decline'}");
    assert_has(desk_shown(&asking.desk), "This is no address of a page");
    asking_close(&asking);
}

static void
a_cancel_of_the_call_ends_the_question(void **state)
{
    struct asking asking;

    (void)state;
    page_open(&asking, "https://example.com/");
    asking_start(&asking);
    desk_until(&asking.desk, "Open it?");
    assert_int_equal(mcp_call_cancel(asking.call, NULL), 0);
    asking_ends(&asking, MCP_E_CANCELED, NULL);
    asking_close(&asking);
}

TEST_MAIN(TEST(a_page_is_declined_or_dismissed), TEST(a_page_is_opened_without_a_shell),
          TEST(without_a_browser_the_user_is_told),
          TEST(what_is_not_of_the_web_is_declined),
          TEST(a_cancel_of_the_call_ends_the_question))
