/* cli/image_test.c - proves cli/image.c: which way, and what goes to the terminal */
#include "cli/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/base64.h"
#include "support/test.h"

#define PNG "\x89PNG\r\n\x1A\n"

/* The environment that says what the terminal is, and nothing else of that kind. */
static enum cli_images
way_with(const char *name, const char *value)
{
    static const char *const names[] = {"TMUX", "TERM_PROGRAM", "KITTY_WINDOW_ID"};
    enum cli_images way;

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unsetenv(names[i]);
    setenv("TERM", "xterm-256color", 1);
    setenv(name, value, 1);
    way = cli_image_way(CLI_IMAGES_AUTO, true);
    unsetenv(name);
    return way;
}

static void
the_environment_says_what_the_terminal_can(void **state)
{
    (void)state;
    assert_int_equal(way_with("TERM", "xterm"), CLI_IMAGES_FILE);
    assert_int_equal(way_with("TERM", "xterm-kitty"), CLI_IMAGES_KITTY);
    assert_int_equal(way_with("KITTY_WINDOW_ID", "1"), CLI_IMAGES_KITTY);
    assert_int_equal(way_with("TERM_PROGRAM", "WezTerm"), CLI_IMAGES_KITTY);
    assert_int_equal(way_with("TERM_PROGRAM", "ghostty"), CLI_IMAGES_KITTY);
    assert_int_equal(way_with("TERM", "xterm+sixel"), CLI_IMAGES_SIXEL);
    assert_int_equal(way_with("TERM", "foot"), CLI_IMAGES_SIXEL);
    assert_int_equal(way_with("TERM", "mlterm-256color"), CLI_IMAGES_SIXEL);
}

static void
inside_of_tmux_or_a_pipe_images_are_files(void **state)
{
    (void)state;
    setenv("TERM", "xterm-kitty", 1);
    assert_int_equal(cli_image_way(CLI_IMAGES_AUTO, false), CLI_IMAGES_FILE);
    setenv("TMUX", "/tmp/tmux", 1);
    assert_int_equal(cli_image_way(CLI_IMAGES_AUTO, true), CLI_IMAGES_FILE);
    unsetenv("TMUX");
    setenv("KITTY_WINDOW_ID", "1", 1);
    setenv("TERM", "screen.xterm-256color", 1);
    assert_int_equal(cli_image_way(CLI_IMAGES_AUTO, true), CLI_IMAGES_FILE);
    unsetenv("KITTY_WINDOW_ID");
}

static void
what_was_asked_for_is_done(void **state)
{
    (void)state;
    setenv("TERM", "xterm-kitty", 1);
    assert_int_equal(cli_image_way(CLI_IMAGES_SIXEL, true), CLI_IMAGES_SIXEL);
    assert_int_equal(cli_image_way(CLI_IMAGES_NONE, true), CLI_IMAGES_NONE);
    assert_int_equal(cli_image_way(CLI_IMAGES_KITTY, false), CLI_IMAGES_KITTY);
}

static void
png_is_known_by_its_first_bytes(void **state)
{
    struct cli_text image = {0};

    (void)state;
    assert_false(cli_image_is_png(&image));
    cli_text_add(&image, PNG, 8);
    assert_false(cli_image_is_png(&image));
    cli_text_puts(&image, "x");
    assert_true(cli_image_is_png(&image));
    image.data[1] = 'p';
    assert_false(cli_image_is_png(&image));
    cli_text_done(&image);
}

static void
kitty_gets_png_in_pieces_and_is_told_not_to_answer(void **state)
{
    struct cli_text image = {0}, shown = {0}, code = {0}, expected = {0};

    (void)state;
    cli_text_add(&image, PNG, 8);
    cli_text_pad(&image, 4000);
    cli_base64_encode(&code, image.data, image.length);
    cli_text_printf(&expected,
                    "\033_Ga=T,f=100,q=2,m=1;%.4096s\033\\\033_Gq=2,m=0;%s\033\\\n",
                    code.data, code.data + 4096);
    cli_image_add_kitty(&shown, &image);
    assert_string_equal(cli_text_string(&shown), expected.data);
    cli_text_done(&image);
    cli_text_done(&shown);
    cli_text_done(&code);
    cli_text_done(&expected);
}

/* Runs with an img2sixel that is these lines of shell, the only program in PATH; NULL:
 * with none. Returns whether it worked, with what was shown in `shown`. */
static bool
sixel_by(const char *script, struct cli_text *shown, mcp_error *err)
{
    struct cli_text image = {.data = (char[]){"pixels"}, .length = 6};
    char folder[] = "/tmp/mcp-image-XXXXXX", path[64];
    char *kept = strdup(getenv("PATH"));
    bool is_done;
    FILE *file;

    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/img2sixel", folder);
    if (script) {
        file = fopen(path, "we");
        fprintf(file, "#!/bin/sh\n%s\n", script);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(chmod(path, 0700), 0);
    }
    setenv("PATH", folder, 1);
    is_done = cli_image_add_sixel(shown, &image, err);
    setenv("PATH", kept, 1);
    free(kept);
    (void)unlink(path);
    assert_int_equal(rmdir(folder), 0);
    return is_done;
}

static void
a_picture_of_the_converter_is_shown(void **state)
{
    struct cli_text shown = {0};
    mcp_error err;

    (void)state;
    assert_true(
        sixel_by("read x; printf '\\033P0;1q#0%s$-\\n\\033\\\\' \"$x\"", &shown, &err));
    assert_string_equal(cli_text_string(&shown), "\033P0;1q#0pixels$-\n\033\\\n");
    cli_text_done(&shown);
}

/* Nothing of that may be shown, and the reason is `why`. */
static void
check_refused(const char *script, const char *why)
{
    struct cli_text shown = {0};
    mcp_error err = {0};

    assert_false(sixel_by(script, &shown, &err));
    assert_string_equal(err.message, why);
    assert_int_equal(shown.length, 0);
    cli_text_done(&shown);
}

static void
anything_else_of_the_converter_is_not(void **state)
{
    static const char unread[] = "the program img2sixel could not read the image";

    (void)state;
    check_refused("exit 1", unread);
    check_refused("echo text", unread);
    check_refused("printf '\\033Pq#0'", unread);
    check_refused("printf '\\033Pq\\033\\\\\\033]0;x\\033\\\\'", unread);
    check_refused("printf '\\033Pq\\233m\\033\\\\'", unread);
}

static void
a_converter_without_end_is_ended(void **state)
{
    (void)state;
    check_refused("exec /bin/cat /dev/zero",
                  "the program img2sixel took too long or wrote too much");
}

static void
a_converter_that_is_not_there_is_named(void **state)
{
    (void)state;
    check_refused(NULL, "sixel needs the program img2sixel, which is not in PATH");
}

TEST_MAIN(TEST(the_environment_says_what_the_terminal_can),
          TEST(inside_of_tmux_or_a_pipe_images_are_files),
          TEST(what_was_asked_for_is_done), TEST(png_is_known_by_its_first_bytes),
          TEST(kitty_gets_png_in_pieces_and_is_told_not_to_answer),
          TEST(a_picture_of_the_converter_is_shown),
          TEST(anything_else_of_the_converter_is_not),
          TEST(a_converter_without_end_is_ended),
          TEST(a_converter_that_is_not_there_is_named))
