/* cli/say_test.c - proves cli/say.c: lines, logs and the bar on stderr */
#include "cli/say.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/text.h"

#include "support/test.h"

#define ERASE "\r\033[K"
#define BAR_1_2 "[=========>          ]  50% 1/2"
#define BAR_2_2 "[====================] 100% 2/2"

/* stderr, caught in a file, and a clock that the test moves. */
struct caught {
    struct cli_say say;
    FILE *file;
    int kept; /* the stderr of before */
    char text[4096];
};

static int64_t clock_ms;

static int64_t
clock_read(void)
{
    return clock_ms;
}

static void
catch_begin(struct caught *caught, bool is_terminal, bool color, bool is_json)
{
    memset(caught, 0, sizeof *caught);
    caught->file = tmpfile();
    assert_non_null(caught->file);
    fflush(stderr);
    caught->kept = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3);
    assert_true(dup2(fileno(caught->file), STDERR_FILENO) >= 0);
    cli_say_init(&caught->say, is_terminal, color, is_json);
    caught->say.now_ms = clock_read;
    clock_ms = 50;
}

/* All that was said, up to the end of it. */
static const char *
catch_end(struct caught *caught)
{
    size_t length;

    cli_say_done(&caught->say);
    dup2(caught->kept, STDERR_FILENO);
    close(caught->kept);
    rewind(caught->file);
    length = fread(caught->text, 1, sizeof caught->text - 1, caught->file);
    caught->text[length] = '\0';
    fclose(caught->file);
    return caught->text;
}

static void
a_note_is_one_harmless_line(void **state)
{
    struct caught caught;

    (void)state;
    catch_begin(&caught, true, true, false);
    cli_note(&caught.say, "the server says %s", "a\033[2J\nmcpctl: b");
    assert_string_equal(catch_end(&caught), "mcpctl: the server says a mcpctl: b\n");
}

static void
a_line_is_written_as_it_is(void **state)
{
    struct caught caught;

    (void)state;
    catch_begin(&caught, true, false, true);
    cli_say_line(&caught.say, "--> {}beyond", 6);
    assert_string_equal(catch_end(&caught), "--> {}\n");
}

static void
a_log_message_cannot_look_like_ours(void **state)
{
    struct caught caught;

    (void)state;
    catch_begin(&caught, true, false, false);
    cli_say_log(&caught.say, MCP_SEVERITY_WARNING, "d\nb",
                "one\033]0;x\007\nmcpctl: two\n\n");
    cli_say_log(&caught.say, MCP_SEVERITY_INFO, NULL, "three");
    assert_string_equal(catch_end(&caught),
                        "[warning] d b: one\n    mcpctl: two\n[info] three\n");
}

static void
only_urgent_logs_have_a_color_and_only_if_there_is_color(void **state)
{
    struct caught caught;

    (void)state;
    catch_begin(&caught, true, true, false);
    cli_say_log(&caught.say, MCP_SEVERITY_NOTICE, NULL, "a");
    cli_say_log(&caught.say, MCP_SEVERITY_WARNING, NULL, "b");
    cli_say_log(&caught.say, MCP_SEVERITY_CRITICAL, NULL, "c");
    assert_string_equal(catch_end(&caught), "[notice] a\n"
                                            "\033[33m[warning]\033[m b\n"
                                            "\033[31m[critical]\033[m c\n");
}

static void
the_bar_is_drawn_ten_times_a_second_at_most(void **state)
{
    struct caught caught;

    (void)state;
    catch_begin(&caught, true, false, false);
    cli_say_progress(&caught.say, 1, 2, NULL);
    clock_ms += 99;
    cli_say_progress(&caught.say, 1.5, 2, NULL);
    clock_ms += 1;
    cli_say_progress(&caught.say, 2, 2, NULL);
    cli_say_progress_end(&caught.say);
    assert_string_equal(catch_end(&caught), BAR_1_2 ERASE BAR_2_2 ERASE);
}

static void
a_line_takes_the_bar_away_and_the_newest_comes_back(void **state)
{
    struct caught caught;

    (void)state;
    catch_begin(&caught, true, false, false);
    cli_say_progress(&caught.say, 1, 2, NULL);
    cli_say_progress(&caught.say, 2, 2, "last\033[1m one");
    cli_note(&caught.say, "hello");
    assert_string_equal(catch_end(&caught),
                        BAR_1_2 ERASE "mcpctl: hello\n" BAR_2_2 "  last one" ERASE);
}

/* stderr is a real terminal, 30 columns wide. */
static void
the_bar_fits_the_terminal(void **state)
{
    struct winsize size = {.ws_col = 30, .ws_row = 10};
    int screen = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;
    struct caught caught;
    char shown[256];
    ssize_t length;

    (void)state;
    assert_int_equal(unlockpt(screen), 0);
    slave = open(ptsname(screen), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
    catch_begin(&caught, true, false, false);
    dup2(slave, STDERR_FILENO);
    cli_say_progress(&caught.say, 1, 2, "a text that is too long for it");
    length = read(screen, shown, sizeof shown);
    (void)catch_end(&caught);
    close(slave);
    close(screen);
    assert_true(length > 0);
    assert_int_equal(cli_text_width(shown, (size_t)length), 29);
    assert_memory_equal(shown, "[====>     ]  50% 1/2  a ", 25);
}

static void
there_is_no_bar_while_the_user_is_asked(void **state)
{
    struct caught caught;

    (void)state;
    catch_begin(&caught, true, false, false);
    cli_say_progress(&caught.say, 1, 2, NULL);
    cli_say_pause(&caught.say);
    cli_say_pause(&caught.say);
    clock_ms += 1000;
    cli_say_progress(&caught.say, 2, 2, NULL);
    cli_note(&caught.say, "hello");
    cli_say_resume(&caught.say);
    cli_say_line(&caught.say, "still asking", 12);
    cli_say_resume(&caught.say);
    assert_string_equal(catch_end(&caught),
                        BAR_1_2 ERASE "mcpctl: hello\nstill asking\n" BAR_2_2 ERASE);
}

static void
the_next_bar_is_drawn_at_once(void **state)
{
    struct caught caught;

    (void)state;
    catch_begin(&caught, true, false, false);
    cli_say_progress(&caught.say, 1, 2, NULL);
    cli_say_progress_end(&caught.say);
    cli_say_progress(&caught.say, 2, 2, NULL);
    assert_string_equal(catch_end(&caught), BAR_1_2 ERASE BAR_2_2 ERASE);
}

static void
a_long_text_is_kept_in_whole_characters(void **state)
{
    struct caught caught;
    char message[400] = "x";

    (void)state;
    for (size_t i = 1; i + 1 < sizeof message; i += 2)
        memcpy(message + i, "\xC3\xBC", 2);
    message[399] = '\0';
    catch_begin(&caught, true, false, false);
    cli_say_progress(&caught.say, 1, 2, message);
    assert_int_equal(strlen(caught.say.text), CLI_BAR_TEXT - 1);
    cli_say_progress(&caught.say, 1, 2, message + 1);
    assert_int_equal(strlen(caught.say.text), CLI_BAR_TEXT - 2);
    (void)catch_end(&caught);
}

static void
without_a_terminal_there_is_a_line_a_second(void **state)
{
    struct caught caught;

    (void)state;
    catch_begin(&caught, false, false, false);
    cli_say_progress(&caught.say, 1, 2, "a\nb");
    clock_ms += 999;
    cli_say_progress(&caught.say, 2, 2, "c");
    clock_ms += 1;
    cli_say_progress(&caught.say, 3, 0, NULL);
    cli_note(&caught.say, "hello");
    assert_string_equal(catch_end(&caught),
                        "progress 1/2: a b\nprogress 3\nmcpctl: hello\n");
}

static void
with_json_each_is_a_line_of_json(void **state)
{
    struct caught caught;

    (void)state;
    catch_begin(&caught, true, true, true);
    cli_say_progress(&caught.say, 1, 2, "a\033[1m\n");
    cli_say_progress(&caught.say, 1.5, 0, NULL);
    cli_say_log(&caught.say, MCP_SEVERITY_WARNING, "db", "t\xC2\x9B\xFF");
    cli_say_log(&caught.say, MCP_SEVERITY_DEBUG, NULL, "u");
    cli_note(&caught.say, "n%d", 1);
    assert_string_equal(catch_end(&caught),
                        "{\"progress\":1,\"total\":2,\"message\":\"a\\u001b[1m\\n\"}\n"
                        "{\"progress\":1.5}\n"
                        "{\"log\":\"warning\",\"logger\":\"db\","
                        "\"data\":\"t\\u009b\xEF\xBF\xBD\"}\n"
                        "{\"log\":\"debug\",\"data\":\"u\"}\n"
                        "{\"note\":\"n1\"}\n");
}

static void *
talk(void *user)
{
    struct cli_say *say = user;

    for (int i = 0; i < 20; i++) {
        cli_say_progress(say, i, 20, "t");
        cli_say_line(say, "0123456789", 10);
    }
    return NULL;
}

static void
lines_of_several_threads_never_tear(void **state)
{
    struct caught caught;
    pthread_t threads[3];
    size_t lines = 0;

    (void)state;
    catch_begin(&caught, false, false, false);
    caught.say.is_told = true; /* no lines of progress between */
    caught.say.told_ms = clock_ms;
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, talk, &caught.say), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    for (const char *at = catch_end(&caught); *at; at += 11, lines++)
        assert_memory_equal(at, "0123456789\n", 11);
    assert_int_equal(lines, 60);
}

TEST_MAIN(TEST(a_note_is_one_harmless_line), TEST(a_line_is_written_as_it_is),
          TEST(a_log_message_cannot_look_like_ours),
          TEST(only_urgent_logs_have_a_color_and_only_if_there_is_color),
          TEST(the_bar_is_drawn_ten_times_a_second_at_most),
          TEST(a_line_takes_the_bar_away_and_the_newest_comes_back),
          TEST(the_bar_fits_the_terminal),
          TEST(there_is_no_bar_while_the_user_is_asked),
          TEST(the_next_bar_is_drawn_at_once),
          TEST(a_long_text_is_kept_in_whole_characters),
          TEST(without_a_terminal_there_is_a_line_a_second),
          TEST(with_json_each_is_a_line_of_json),
          TEST(lines_of_several_threads_never_tear))
