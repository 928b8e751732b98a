/* cli/config_file_test.c - proves cli/config_file.c: what is read and what is not */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config_file.h"
#include "home.h"

/* How many members the file's object has; -1: there is no document. */
static int
count_in(const char *path)
{
    mcp_doc *doc = NULL;
    mcp_error err;
    int count = -1;

    assert_int_equal(cli_config_file_read(path, NULL, &doc, &err), 0);
    if (doc)
        count = (int)mcp_json_count(mcp_doc_root(doc));
    mcp_doc_free(doc);
    return count;
}

/* Why it is refused. */
static const char *
refusal(const char *path)
{
    static mcp_error err;
    mcp_doc *doc;

    assert_int_equal(cli_config_file_read(path, NULL, &doc, &err), MCP_E_INVAL);
    assert_int_equal(err.status, MCP_E_INVAL);
    assert_non_null(strstr(err.message, path));
    return err.message;
}

static void
comments_and_trailing_commas_are_read(void **state)
{
    (void)state;
    assert_int_equal(count_in(home_write("f", "\xEF\xBB\xBF{ // x\n\"a\":1, }\n")), 1);
    home_unlink("f");
}

static void
no_file_and_an_empty_one_are_no_document(void **state)
{
    (void)state;
    assert_int_equal(count_in(home_path("none")), -1);
    assert_int_equal(count_in(home_path("none/at/all")), -1);
    assert_int_equal(count_in(home_write("f", "")), -1);
    assert_int_equal(count_in(home_path("f/below")), -1);
    assert_int_equal(count_in(home_write("f", " \n// nothing\n")), -1);
    home_unlink("f");
}

static void
what_is_no_json_is_refused_with_its_place(void **state)
{
    const char *path = home_write("f", "{\n // x\n \"a\": oops}");

    (void)state;
    assert_non_null(strstr(refusal(path), "is passed over: "));
    home_write_n("f", "{\"a\":\"\xFF\"}", 9);
    assert_non_null(refusal(path));
    home_write_n("f", "\0\0\0", 3);
    assert_non_null(refusal(path));
    home_unlink("f");
}

static void
what_is_too_deep_is_refused(void **state)
{
    char text[2001];
    const char *path;

    (void)state;
    memset(text, '[', 2000);
    text[2000] = '\0';
    path = home_write("f", text);
    assert_non_null(refusal(path));
    home_unlink("f");
}

static void
what_is_too_large_is_refused(void **state)
{
    const char *path = home_write("f", "{}");

    (void)state;
    assert_int_equal(truncate(path, (off_t)CLI_CONFIG_FILE_MAX + 1), 0);
    assert_non_null(strstr(refusal(path), "larger than 16 MiB"));
    home_unlink("f");
}

static void
a_large_file_is_read_whole(void **state)
{
    size_t length = 100000;
    char *text = malloc(length + 1);

    (void)state;
    assert_non_null(text);
    memset(text, ' ', length);
    memcpy(text, "{\"a\":1,", 7);
    memcpy(text + length - 6, "\"b\":2}", 6);
    text[length] = '\0';
    assert_int_equal(count_in(home_write("f", text)), 2);
    home_unlink("f");
    free(text);
}

static void
only_files_are_read_and_nothing_is_waited_for(void **state)
{
    const char *path = home_path("pipe");

    (void)state;
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_non_null(strstr(refusal(path), "it is not a file"));
    home_unlink("pipe");
    assert_non_null(strstr(refusal(home_path("home")), "it is not a file"));
    assert_non_null(strstr(refusal("/dev/null"), "it is not a file"));
}

static void
a_link_to_a_file_is_read(void **state)
{
    (void)state;
    home_write("f", "{\"a\":1}");
    assert_int_equal(symlink(home_path("f"), home_path("link")), 0);
    assert_int_equal(count_in(home_path("link")), 1);
    home_unlink("f");
    assert_int_equal(count_in(home_path("link")), -1);
    home_unlink("link");
    assert_int_equal(symlink("loop", home_path("loop")), 0);
    assert_non_null(strstr(refusal(home_path("loop")), "cannot be read"));
    home_unlink("loop");
}

/* It is not used where it must be ours, for this reason; elsewhere it is. */
static void
expect_untrusted(const char *path, const char *why)
{
    mcp_doc *doc = NULL;
    mcp_error err;

    assert_int_equal(cli_config_file_read(path, home_root, &doc, &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, why));
    assert_int_equal(count_in(path), 0);
}

static void
expect_trusted(const char *path)
{
    mcp_doc *doc = NULL;
    mcp_error err;

    assert_int_equal(cli_config_file_read(path, home_root, &doc, &err), 0);
    mcp_doc_free(doc);
}

static void
a_file_that_others_can_write_to_is_not_used_where_it_must_be_ours(void **state)
{
    const char *path = home_write("f", "{}");

    (void)state;
    expect_trusted(path);
    assert_int_equal(chmod(path, 0646), 0);
    expect_untrusted(path, "other users can write to ");
    assert_int_equal(chmod(path, 0644), 0);
    expect_trusted(path);
    home_unlink("f");
}

/* A group that is the user's alone has the user's number. */
static void
a_file_that_a_group_can_write_to_is_not_used_where_it_must_be_ours(void **state)
{
    const char *path = home_write("f", "{}");

    (void)state;
    if (geteuid() != 0)
        test_skip("only root can choose the group of a file");
    assert_int_equal(chmod(path, 0664), 0);
    expect_trusted(path);
    assert_int_equal(chown(path, 0, 100), 0);
    expect_untrusted(path, "other users can write to ");
    home_unlink("f");
}

static void
a_file_of_another_user_is_not_used_where_it_must_be_ours(void **state)
{
    const char *path = home_write("f", "{}");

    (void)state;
    if (geteuid() != 0)
        test_skip("only root can give a file away");
    assert_int_equal(chown(path, 1, 1), 0);
    expect_untrusted(path, "belongs to another user");
    home_unlink("f");
}

/* A command of a project runs in the project's folder, wherever its file is. */
static void
a_link_of_another_user_to_a_file_of_ours_is_not_used(void **state)
{
    const char *path = home_write("f", "{}"), *link = home_path("link");

    (void)state;
    if (geteuid() != 0)
        test_skip("only root can give a link away");
    assert_int_equal(symlink(path, link), 0);
    expect_trusted(link);
    assert_int_equal(lchown(link, 1, 1), 0);
    expect_untrusted(link, "belongs to another user");
    home_unlink("link");
    home_unlink("f");
}

/* Whatever is on the way from the project's folder to the file. */
static void
a_linked_folder_of_another_user_is_not_used(void **state)
{
    const char *path;

    (void)state;
    if (geteuid() != 0)
        test_skip("only root can give a link away");
    assert_int_equal(mkdir(home_path("mine"), 0755), 0);
    home_write("mine/f", "{}");
    assert_int_equal(symlink("mine", home_path("link")), 0);
    path = home_path("link/f");
    expect_trusted(path);
    assert_int_equal(lchown(home_path("link"), 1, 1), 0);
    path = home_path("link/f");
    expect_untrusted(path, "link belongs to another user");
    home_unlink("link");
    home_unlink("mine/f");
    assert_int_equal(rmdir(home_path("mine")), 0);
}

static void
a_file_in_a_folder_that_others_can_write_to_is_not_used(void **state)
{
    const char *path;

    (void)state;
    assert_int_equal(mkdir(home_path("open"), 0755), 0);
    home_write("open/f", "{}");
    assert_int_equal(chmod(home_path("open"), 01777), 0);
    path = home_path("open/f");
    expect_untrusted(path, "open, so");
    home_unlink("open/f");
    assert_int_equal(rmdir(home_path("open")), 0);
}

static void
a_file_in_a_folder_of_another_user_is_not_used(void **state)
{
    const char *path, *folder = home_path("theirs");

    (void)state;
    if (geteuid() != 0)
        test_skip("only root can give a folder away");
    assert_int_equal(mkdir(folder, 0755), 0);
    path = home_write("theirs/f", "{}");
    expect_trusted(path);
    assert_int_equal(chown(folder, 1, 1), 0);
    expect_untrusted(path, "theirs belongs to another user");
    home_unlink("theirs/f");
    assert_int_equal(rmdir(home_path("theirs")), 0);
}

TEST_MAIN_AFTER(
    home_enter, TEST(comments_and_trailing_commas_are_read),
    TEST(no_file_and_an_empty_one_are_no_document),
    TEST(what_is_no_json_is_refused_with_its_place), TEST(what_is_too_deep_is_refused),
    TEST(what_is_too_large_is_refused), TEST(a_large_file_is_read_whole),
    TEST(only_files_are_read_and_nothing_is_waited_for), TEST(a_link_to_a_file_is_read),
    TEST(a_file_that_others_can_write_to_is_not_used_where_it_must_be_ours),
    TEST(a_file_that_a_group_can_write_to_is_not_used_where_it_must_be_ours),
    TEST(a_file_of_another_user_is_not_used_where_it_must_be_ours),
    TEST(a_link_of_another_user_to_a_file_of_ours_is_not_used),
    TEST(a_linked_folder_of_another_user_is_not_used),
    TEST(a_file_in_a_folder_that_others_can_write_to_is_not_used),
    TEST(a_file_in_a_folder_of_another_user_is_not_used))
