/* cli/save_test.c - proves cli/save.c: files of our own names, never over another */
#include "cli/save.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

/* A folder for one case, and a saver that saves there. */
struct place {
    char folder[64];
    struct cli_saver saver;
    struct cli_text path;
    mcp_error err;
};

static const struct cli_text bytes = {.data = (char[]){"a\0b"}, .length = 3};

static void
place_begin(struct place *place)
{
    memset(place, 0, sizeof *place);
    strcpy(place->folder, "/tmp/mcp-save-XXXXXX");
    assert_non_null(mkdtemp(place->folder));
    place->saver.folder = place->folder;
}

static void
place_remove(const struct place *place, const char *name)
{
    char path[256];

    snprintf(path, sizeof path, "%s/%s", place->folder, name);
    assert_int_equal(remove(path), 0);
}

static void
place_end(struct place *place)
{
    cli_text_done(&place->path);
    cli_saver_done(&place->saver);
    assert_int_equal(rmdir(place->folder), 0);
}

/* A folder in it, with two files. */
static void
remove_all(const struct place *place, const char *folder, const char *one,
           const char *two)
{
    char name[128];

    snprintf(name, sizeof name, "%s/%s", folder, one);
    place_remove(place, name);
    snprintf(name, sizeof name, "%s/%s", folder, two);
    place_remove(place, name);
    place_remove(place, folder);
}

/* Saves, and checks the name of the file. */
static void
check_saved(struct place *place, const char *mime_type, const char *name)
{
    cli_text_done(&place->path);
    assert_true(
        cli_save(&place->saver, "image", mime_type, &bytes, &place->path, &place->err));
    assert_string_equal(strrchr(place->path.data, '/') + 1, name);
}

static void
the_bytes_are_there_for_the_user_alone(void **state)
{
    struct place place;
    struct stat info;
    char read_back[8];
    int fd;

    (void)state;
    place_begin(&place);
    check_saved(&place, "image/png", "image-1.png");
    assert_int_equal(stat(place.path.data, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    fd = open(place.path.data, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read(fd, read_back, sizeof read_back), 3);
    assert_memory_equal(read_back, "a\0b", 3);
    close(fd);
    place_remove(&place, "image-1.png");
    place_end(&place);
}

static void
what_is_there_is_never_written_over_or_followed(void **state)
{
    struct place place;
    char link[128];

    (void)state;
    place_begin(&place);
    snprintf(link, sizeof link, "%s/image-1.png", place.folder);
    assert_int_equal(symlink("elsewhere", link), 0);
    check_saved(&place, "image/png", "image-2.png");
    place.saver.number = 0;
    check_saved(&place, "image/png", "image-3.png");
    snprintf(link, sizeof link, "%s/elsewhere", place.folder);
    assert_int_equal(access(link, F_OK), -1);
    place_remove(&place, "image-1.png");
    place_remove(&place, "image-2.png");
    place_remove(&place, "image-3.png");
    place_end(&place);
}

static void
names_end_as_their_kind_does_and_never_as_the_server_says(void **state)
{
    (void)state;
    assert_string_equal(cli_save_ending("image/jpeg"), "jpg");
    assert_string_equal(cli_save_ending("IMAGE/PNG"), "png");
    assert_string_equal(cli_save_ending("text/html; charset=utf-8"), "html");
    assert_string_equal(cli_save_ending("image/../../x"), "bin");
    assert_string_equal(cli_save_ending("image/pn"), "bin");
    assert_string_equal(cli_save_ending(""), "bin");
    assert_string_equal(cli_save_ending(NULL), "bin");
}

static void
the_folder_is_made_if_it_is_not_there(void **state)
{
    struct place place;
    char folder[128];

    (void)state;
    place_begin(&place);
    snprintf(folder, sizeof folder, "%s/new", place.folder);
    place.saver.folder = folder;
    check_saved(&place, NULL, "image-1.bin");
    place_remove(&place, "new/image-1.bin");
    place_remove(&place, "new");
    place_end(&place);
}

static void
without_a_folder_there_is_one_fresh_one(void **state)
{
    struct place place;
    char first[128];

    (void)state;
    place_begin(&place);
    setenv("TMPDIR", place.folder, 1);
    place.saver.folder = NULL;
    check_saved(&place, "image/gif", "image-1.gif");
    snprintf(first, sizeof first, "%s", place.saver.made.data);
    assert_memory_equal(first, place.folder, strlen(place.folder));
    check_saved(&place, "image/gif", "image-2.gif");
    assert_string_equal(first, place.saver.made.data);
    unsetenv("TMPDIR");
    remove_all(&place, strrchr(first, '/'), "image-1.gif", "image-2.gif");
    place_end(&place);
}

static void
a_folder_that_cannot_be_made_is_said(void **state)
{
    struct place place;

    (void)state;
    place_begin(&place);
    place.saver.folder = "/dev/null/x";
    assert_false(
        cli_save(&place.saver, "image", NULL, &bytes, &place.path, &place.err));
    assert_string_equal(place.err.message,
                        "cannot make the folder /dev/null/x: Not a directory");
    place.saver.folder = "/dev/null";
    assert_false(
        cli_save(&place.saver, "image", NULL, &bytes, &place.path, &place.err));
    assert_string_equal(place.err.message,
                        "cannot make a file in /dev/null: Not a directory");
    place_end(&place);
}

TEST_MAIN(TEST(the_bytes_are_there_for_the_user_alone),
          TEST(what_is_there_is_never_written_over_or_followed),
          TEST(names_end_as_their_kind_does_and_never_as_the_server_says),
          TEST(the_folder_is_made_if_it_is_not_there),
          TEST(without_a_folder_there_is_one_fresh_one),
          TEST(a_folder_that_cannot_be_made_is_said))
