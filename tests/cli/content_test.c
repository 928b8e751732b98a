/* cli/content_test.c - proves cli/content.c: what a person sees of a result */
#include "cli/content.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "support/test.h"

/* A run whose stdout and stderr are files, and a folder for what it saves. */
struct stage {
    struct cli cli;
    char folder[32];
    FILE *files[2];
    int kept[2];
    char out[8192], err[1024];
};

static void
stage_begin(struct stage *stage)
{
    memset(stage, 0, sizeof *stage);
    strcpy(stage->folder, "/tmp/mcp-show-XXXXXX");
    assert_non_null(mkdtemp(stage->folder));
    cli_say_init(&stage->cli.say, false, false, false);
    stage->cli.options.save = stage->folder;
    stage->cli.options.images = CLI_IMAGES_FILE;
}

static void
catch_begin(struct stage *stage)
{
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        stage->files[i] = tmpfile();
        assert_non_null(stage->files[i]);
        stage->kept[i] = fcntl(STDOUT_FILENO + i, F_DUPFD_CLOEXEC, 3);
        dup2(fileno(stage->files[i]), STDOUT_FILENO + i);
    }
}

static void
catch_end(struct stage *stage)
{
    char *texts[] = {stage->out, stage->err};
    size_t rooms[] = {sizeof stage->out, sizeof stage->err}, length;

    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        dup2(stage->kept[i], STDOUT_FILENO + i);
        close(stage->kept[i]);
        rewind(stage->files[i]);
        length = fread(texts[i], 1, rooms[i] - 1, stage->files[i]);
        texts[i][length] = '\0';
        fclose(stage->files[i]);
    }
}

typedef int show_fn(struct cli *cli, const mcp_json *value);

/* Shows this JSON; what went out is in stage->out and stage->err. */
static int
show(struct stage *stage, show_fn *function, const char *json)
{
    mcp_doc *doc;
    int code;

    assert_int_equal(mcp_doc_parse(json, strlen(json), NULL, &doc, NULL), 0);
    catch_begin(stage);
    code = function(&stage->cli, mcp_doc_root(doc));
    catch_end(stage);
    mcp_doc_free(doc);
    return code;
}

/* Removes the files it saved, all of these and no other. */
static void
stage_end(struct stage *stage, const char *const *names)
{
    char path[64];

    for (; names && *names; names++) {
        snprintf(path, sizeof path, "%s/%s", stage->folder, *names);
        assert_int_equal(unlink(path), 0);
    }
    cli_say_done(&stage->cli.say);
    assert_int_equal(rmdir(stage->folder), 0);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__, NULL})

/* Shown without saving anything it is exactly `expected`. */
static void
check(show_fn *function, const char *json, const char *expected)
{
    struct stage stage;

    stage_begin(&stage);
    assert_int_equal(show(&stage, function, json), CLI_OK);
    assert_string_equal(stage.out, expected);
    assert_string_equal(stage.err, "");
    stage_end(&stage, NULL);
}

static void
texts_are_harmless_and_end_with_a_newline(void **state)
{
    (void)state;
    check(cli_show_content,
          "[{\"type\":\"text\",\"text\":\"a\\u001b[31mb\\u202e\"},"
          "{\"type\":\"text\",\"text\":\"c\\n\"}]",
          "ab\nc\n");
    check(cli_show_content, "[]", "");
    check(cli_show_content, "{\"type\":\"text\",\"text\":\"one block\"}",
          "one block\n");
}

static void
long_texts_are_wrapped(void **state)
{
    (void)state;
    check(
        cli_show_content,
        "[{\"type\":\"text\",\"text\":\"0123456789 0123456789 0123456789 0123456789 "
        "0123456789 0123456789 0123456789 0123456789\"}]",
        "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789\n"
        "0123456789\n");
}

static void
links_are_shown_with_their_uri(void **state)
{
    (void)state;
    check(cli_show_content,
          "[{\"type\":\"resource_link\",\"name\":\"n\",\"uri\":\"file:///a\\u0007\"},"
          "{\"type\":\"resource_link\",\"name\":\"n\",\"title\":\"T\\nt\","
          "\"uri\":\"file:///b\",\"mimeType\":\"text/plain\"}]",
          "n: file:///a\nT t: file:///b (text/plain)\n");
}

static void
an_embedded_resource_is_under_its_uri(void **state)
{
    (void)state;
    check(cli_show_content,
          "[{\"type\":\"resource\",\"resource\":{\"uri\":\"file:///a\\n\","
          "\"text\":\"inside\"}}]",
          "file:///a \ninside\n");
}

static void
what_we_do_not_know_is_json(void **state)
{
    (void)state;
    check(cli_show_content, "[{\"type\":\"new\",\"x\":\"\xE2\x80\xAE\\u001b\"}, 7]",
          "{\"type\":\"new\",\"x\":\"\\u202e\\u001b\"}\n7\n");
    check(cli_show_value, "{\"a\":[1],\"b\":\"\xC2\x9B\"}",
          "{\n  \"a\": [\n    1\n  ],\n  \"b\": \"\\u009b\"\n}\n");
}

static void
contents_have_headings_if_there_are_several(void **state)
{
    (void)state;
    check(cli_show_contents, "[{\"uri\":\"a:\",\"text\":\"x\"}]", "x\n");
    check(cli_show_contents,
          "[{\"uri\":\"a:\",\"text\":\"x\"},{\"uri\":\"b:\",\"text\":\"y\"}]",
          "a:\nx\nb:\ny\n");
}

static void
messages_have_their_role_above_them(void **state)
{
    (void)state;
    check(cli_show_messages,
          "[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"hi\"}},"
          "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"ho\"}]}]",
          "user\nhi\n\nassistant\nho\n");
}

static void
bytes_become_files_and_a_line_says_where(void **state)
{
    struct stage stage;
    char expected[256];

    (void)state;
    stage_begin(&stage);
    assert_int_equal(
        show(
            &stage, cli_show_content,
            "[{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":\"aGk=\"},"
            "{\"type\":\"audio\",\"mimeType\":\"audio/x\\u001b[2J\",\"data\":\"\"},"
            "{\"type\":\"resource\",\"resource\":{\"uri\":\"u:\",\"blob\":\"aGk=\"}}]"),
        CLI_OK);
    snprintf(expected, sizeof expected,
             "image/png, 2 B: %s/image-1.png\naudio/x, 0 B: %s/audio-2.bin\n"
             "u:\ndata, 2 B: %s/file-3.bin\n",
             stage.folder, stage.folder, stage.folder);
    assert_string_equal(stage.out, expected);
    stage_end(&stage, NAMES("image-1.png", "audio-2.bin", "file-3.bin"));
}

static void
sizes_are_short(void **state)
{
    struct stage stage;
    char json[8192] = "[{\"blob\":\"";

    (void)state;
    stage_begin(&stage);
    memset(json + strlen(json), 'A', 4000);
    strcat(json, "\",\"mimeType\":\"image/gif\"}]");
    assert_int_equal(show(&stage, cli_show_contents, json), CLI_OK);
    assert_memory_equal(stage.out, "image/gif, 3.0 kB: ", 19);
    stage_end(&stage, NAMES("image-1.gif"));
}

static void
images_may_go_to_the_terminal_or_nowhere(void **state)
{
    static const char json[] = "[{\"type\":\"image\",\"mimeType\":\"image/png\","
                               "\"data\":\"iVBORw0KGgoA\"}]";
    struct stage stage;

    (void)state;
    stage_begin(&stage);
    stage.cli.options.save = NULL;
    stage.cli.options.images = CLI_IMAGES_KITTY;
    assert_int_equal(show(&stage, cli_show_content, json), CLI_OK);
    assert_string_equal(stage.out, "\033_Ga=T,f=100,q=2,m=0;iVBORw0KGgoA\033\\\n"
                                   "image/png, 9 B\n");
    stage.cli.options.images = CLI_IMAGES_NONE;
    assert_int_equal(show(&stage, cli_show_content, json), CLI_OK);
    assert_string_equal(stage.out, "image/png, 9 B\n");
    stage_end(&stage, NULL);
}

static void
who_asked_for_the_terminal_is_told_once_why_not(void **state)
{
    static const char json[] = "[{\"type\":\"image\",\"data\":\"aGk=\"},"
                               "{\"type\":\"image\",\"data\":\"aGk=\"}]";
    struct stage stage;

    (void)state;
    stage_begin(&stage);
    stage.cli.options.images = CLI_IMAGES_KITTY;
    assert_int_equal(show(&stage, cli_show_content, json), CLI_OK);
    assert_string_equal(stage.err, "mcpctl: images are saved as files: only PNG images "
                                   "can be shown by the protocol of kitty\n");
    stage_end(&stage, NAMES("image-1.bin", "image-2.bin"));
}

static void
broken_data_fails_and_the_rest_is_shown(void **state)
{
    struct stage stage;

    (void)state;
    stage_begin(&stage);
    assert_int_equal(show(&stage, cli_show_content,
                          "[{\"type\":\"image\",\"data\":\"\\u001b[2J\"},"
                          "{\"type\":\"audio\",\"data\":7},"
                          "{\"type\":\"text\",\"text\":\"rest\"}]"),
                     CLI_OTHER);
    assert_string_equal(stage.out, "rest\n");
    assert_string_equal(stage.err, "mcpctl: image: its data is no base64\n"
                                   "mcpctl: audio: its data is no base64\n");
    stage_end(&stage, NULL);
}

static void
a_file_that_cannot_be_written_fails(void **state)
{
    struct stage stage;

    (void)state;
    stage_begin(&stage);
    stage.cli.options.save = "/dev/null";
    assert_int_equal(
        show(&stage, cli_show_contents, "[{\"blob\":\"aGk=\",\"mimeType\":\"x/y\"}]"),
        CLI_OTHER);
    assert_string_equal(stage.out, "x/y, 2 B\n");
    assert_string_equal(stage.err,
                        "mcpctl: cannot make a file in /dev/null: Not a directory\n");
    stage_end(&stage, NULL);
}

static void
without_a_terminal_the_width_is_80(void **state)
{
    struct stage stage;
    size_t width;

    (void)state;
    stage_begin(&stage);
    catch_begin(&stage);
    width = cli_terminal_width();
    catch_end(&stage);
    assert_int_equal(width, 80);
    stage_end(&stage, NULL);
}

/* What it says if stdout is a real terminal with so many columns. */
static size_t
width_on(unsigned short columns)
{
    struct winsize size = {.ws_col = columns, .ws_row = 10};
    int screen = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC), slave;
    struct stage stage;
    size_t width;

    assert_int_equal(unlockpt(screen), 0);
    slave = open(ptsname(screen), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_int_equal(ioctl(slave, TIOCSWINSZ, &size), 0);
    stage_begin(&stage);
    catch_begin(&stage);
    dup2(slave, STDOUT_FILENO);
    width = cli_terminal_width();
    catch_end(&stage);
    stage_end(&stage, NULL);
    close(slave);
    close(screen);
    return width;
}

static void
the_width_is_that_of_the_terminal_but_never_tiny(void **state)
{
    (void)state;
    assert_int_equal(width_on(123), 123);
    assert_int_equal(width_on(10), 40);
    assert_int_equal(width_on(0), 80);
}

TEST_MAIN(TEST(texts_are_harmless_and_end_with_a_newline), TEST(long_texts_are_wrapped),
          TEST(links_are_shown_with_their_uri),
          TEST(an_embedded_resource_is_under_its_uri),
          TEST(what_we_do_not_know_is_json),
          TEST(contents_have_headings_if_there_are_several),
          TEST(messages_have_their_role_above_them),
          TEST(bytes_become_files_and_a_line_says_where), TEST(sizes_are_short),
          TEST(images_may_go_to_the_terminal_or_nowhere),
          TEST(who_asked_for_the_terminal_is_told_once_why_not),
          TEST(broken_data_fails_and_the_rest_is_shown),
          TEST(a_file_that_cannot_be_written_fails),
          TEST(without_a_terminal_the_width_is_80),
          TEST(the_width_is_that_of_the_terminal_but_never_tiny))
