/* browser_opener_test.c - which program shows a page to the user, and starting it */
#include "auth/browser_opener.h"

#include "auth/browser_fixture.h"
#include "auth/keep_fixture.h"

#define PAGE "https://as.example/authorize?client_id=a&scope=b%20c&x=;&y=$(id)"

/* A folder with programs that write their arguments to a pipe, which has a name. */
struct fixture {
    struct test_mem mem;
    struct folder folder;
    int said;
    int threads;
};

static void
fixture_make(struct fixture *f)
{
    const char *path;

    test_mem_init(&f->mem);
    folder_make(&f->folder);
    path = folder_path(&f->folder, "said");
    assert_int_equal(mkfifo(path, 0600), 0);
    f->said = open(path, O_RDWR | O_CLOEXEC);
    assert_true(f->said >= 0);
    f->threads = count_threads();
}

static void
fixture_done(struct fixture *f)
{
    await_quiet(f->threads);
    close(f->said);
    folder_remove(&f->folder);
    test_mem_done(&f->mem);
}

/* A program of that name. */
static void
fixture_script(const struct fixture *f, const char *name, const char *line)
{
    char text[512];

    snprintf(text, sizeof text, "#!/bin/sh\n%s > %s/said\n", line, f->folder.path);
    file_put(folder_path(&f->folder, name), text, 0700);
}

#define SAY_WORDS "(printf '%s|' \"${0##*/}\" \"$@\"; echo)"

/* What is said when a page is opened with $BROWSER being this, in which @ is our folder. */
static const char *
opened_by(struct fixture *f, const char *list, const char *url)
{
    struct mcpi_opener opener;
    char text[1024];
    size_t len = 0;

    for (; *list; list++)
        len += (size_t)snprintf(text + len, sizeof text - len,
                                *list == '@' ? "%s" : "%.1s",
                                *list == '@' ? f->folder.path : list);
    text[len] = '\0';
    assert_int_equal(mcpi_opener_init(&opener, &f->mem.allocator, NULL, text), 0);
    assert_int_equal(mcpi_opener_open(&opener, url), 0);
    mcpi_opener_done(&opener);
    return read_line(f->said);
}

static void
a_command_gets_the_page_as_its_last_argument(void **state)
{
    struct mcpi_opener opener;
    struct fixture f;
    char program[256];
    const char *command[] = {program, "--new window", "%s", NULL};

    (void)state;
    fixture_make(&f);
    fixture_script(&f, "show", SAY_WORDS);
    snprintf(program, sizeof program, "%s", folder_path(&f.folder, "show"));
    assert_int_equal(mcpi_opener_init(&opener, &f.mem.allocator, command, "none"), 0);
    program[0] = '\0'; /* it has its own copy */
    assert_int_equal(mcpi_opener_open(&opener, PAGE), 0);
    assert_string_equal(read_line(f.said), "show|--new window|%s|" PAGE "|");
    mcpi_opener_done(&opener);
    fixture_done(&f);
}

static void
the_variable_is_a_list_of_words(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f);
    fixture_script(&f, "show", SAY_WORDS);
    assert_string_equal(opened_by(&f, "@/show", PAGE), "show|" PAGE "|");
    assert_string_equal(opened_by(&f, "/none/such:: :@/none:@/show  -n :@/no", PAGE),
                        "show|-n|" PAGE "|");
    assert_string_equal(opened_by(&f, "@/show %s 100%% --url=%s %x %", PAGE),
                        "show|" PAGE "|100%|--url=" PAGE "|%x|%|");
    fixture_done(&f);
}

static void
then_the_usual_programs_are_tried(void **state)
{
    char before[4096];
    struct mcpi_opener opener;
    struct fixture f;

    (void)state;
    fixture_make(&f);
    snprintf(before, sizeof before, "%s", getenv("PATH"));
    assert_int_equal(setenv("PATH", f.folder.path, 1), 0);
    assert_int_equal(mcpi_opener_init(&opener, &f.mem.allocator, NULL, NULL), 0);
    assert_int_equal(mcpi_opener_open(&opener, PAGE), MCP_E_INVAL);
    fixture_script(&f, "open", SAY_WORDS);
    assert_int_equal(mcpi_opener_open(&opener, PAGE), 0);
    assert_string_equal(read_line(f.said), "open|" PAGE "|");
    fixture_script(&f, "xdg-open", SAY_WORDS);
    assert_int_equal(mcpi_opener_open(&opener, PAGE), 0);
    assert_string_equal(read_line(f.said), "xdg-open|" PAGE "|");
    mcpi_opener_done(&opener);
    assert_string_equal(opened_by(&f, "none-such", PAGE), "xdg-open|" PAGE "|");
    assert_int_equal(setenv("PATH", before, 1), 0);
    fixture_done(&f);
}

static void
only_pages_are_shown(void **state)
{
    static const char *const bad[] = {"",
                                      "-version",
                                      "--help",
                                      "file:///etc/passwd",
                                      "javascript:alert(1)",
                                      "http://as.example/authorize",
                                      "https:/as.example/",
                                      "https://as.example/a b",
                                      "https://as.example/?a=b c",
                                      "https://as.example/?a\n=b",
                                      "https://as.example/?a=\xc3\xa4",
                                      "https://as.example/?a#b",
                                      "https://user@as.example/",
                                      "data:text/html,x",
                                      "https://as.example/`id`?a=b",
                                      "https://as.example/?a=`id`",
                                      "https://as.example/?a=\"b\"",
                                      "https://as.example/?a|b",
                                      "https://as.example/?<b>",
                                      "https://as.example/?{b}",
                                      "https://as.example/?b\\c",
                                      "https://as.example/?b^c",
                                      NULL};
    static const char *const good[] = {
        "https://as.example/authorize?a=b", "https://as.example",
        "http://127.0.0.1:9/authorize?x",   "http://localhost:9/authorize",
        "http://[::1]:9/authorize",         NULL};
    static const char *const command[] = {"/bin/true", NULL};
    struct mcpi_opener opener;
    struct fixture f;

    (void)state;
    fixture_make(&f);
    assert_int_equal(mcpi_opener_init(&opener, &f.mem.allocator, command, NULL), 0);
    for (int i = 0; bad[i]; i++)
        assert_int_equal(mcpi_opener_open(&opener, bad[i]), MCP_E_INVAL);
    for (int i = 0; good[i]; i++)
        assert_true(mcpi_opener_may(good[i]));
    assert_int_equal(mcpi_opener_open(&opener, good[0]), 0);
    mcpi_opener_done(&opener);
    fixture_done(&f);
}

static void
a_page_has_a_longest_length(void **state)
{
    char *url = malloc(MCPI_OPENER_URL_MAX + 2);

    (void)state;
    assert_non_null(url);
    memset(url, 'a', MCPI_OPENER_URL_MAX + 1);
    memcpy(url, "https://as.example/?", 20);
    url[MCPI_OPENER_URL_MAX + 1] = '\0';
    assert_false(mcpi_opener_may(url));
    url[MCPI_OPENER_URL_MAX] = '\0';
    assert_true(mcpi_opener_may(url));
    url[19] = 'a'; /* no query: an address as long as that is none */
    assert_false(mcpi_opener_may(url));
    free(url);
}

static void
the_program_has_nothing_of_ours(void **state)
{
    struct fixture f;
    int leaky;

    (void)state;
    fixture_make(&f);
    leaky = open("/dev/null", O_RDONLY); /* without close-on-exec */
    fixture_script(&f, "show",
                   "(for fd in /proc/self/fd/[0-9]*; do [ -e $fd ] && printf '%s ' "
                   "${fd##*/}; done; readlink /proc/self/fd/0 /proc/self/fd/2 | "
                   "tr '\\n' ' '; echo)");
    assert_string_equal(opened_by(&f, "@/show", PAGE), "0 1 2 /dev/null /dev/null ");
    close(leaky);
    fixture_done(&f);
}

/* It runs until somebody writes to its pipe; opening did not wait for it, and when it
 * ends nobody has to do anything. */
static void
a_program_that_runs_on_is_waited_for_by_a_thread(void **state)
{
    const char *words[] = {"/bin/sh", "-c", "read l < \"$0\"", NULL, NULL};
    struct mcpi_opener opener;
    struct fixture f;
    char path[256];
    int go;

    (void)state;
    fixture_make(&f);
    snprintf(path, sizeof path, "%s", folder_path(&f.folder, "go"));
    assert_int_equal(mkfifo(path, 0600), 0);
    words[3] = path;
    assert_int_equal(mcpi_opener_init(&opener, &f.mem.allocator, words, NULL), 0);
    assert_int_equal(mcpi_opener_open(&opener, PAGE), 0);
    mcpi_opener_done(&opener); /* the program may outlive it */
    assert_int_equal(count_threads(), f.threads + 1);
    go = open(path, O_WRONLY | O_CLOEXEC);
    assert_true(go >= 0);
    assert_int_equal(write(go, "\n", 1), 1);
    close(go);
    await_quiet(f.threads);
    fixture_done(&f);
}

static void
what_cannot_be_started_is_said(void **state)
{
    static const char *const none[] = {"/none/such", NULL}, *const empty[] = {NULL};
    struct mcpi_opener opener;
    struct fixture f;

    (void)state;
    fixture_make(&f);
    assert_int_equal(mcpi_opener_init(&opener, &f.mem.allocator, none, NULL), 0);
    assert_int_equal(mcpi_opener_open(&opener, PAGE), MCP_E_INVAL);
    mcpi_opener_done(&opener);
    assert_int_equal(mcpi_opener_init(&opener, &f.mem.allocator, empty, "true"), 0);
    assert_int_equal(mcpi_opener_open(&opener, PAGE), MCP_E_INVAL);
    mcpi_opener_done(&opener);
    fixture_done(&f);
}

struct opening {
    const char *const *command;
    const char *list;
};

static void
flow(struct test_mem *mem, void *user)
{
    const struct opening *opening = user;
    struct mcpi_opener opener;
    int r = mcpi_opener_init(&opener, &mem->allocator, opening->command, opening->list);

    if (r == 0) {
        r = mcpi_opener_open(&opener, PAGE);
        mcpi_opener_done(&opener);
    }
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
}

static void
every_allocation_may_fail(void **state)
{
    static const char *const command[] = {"/bin/true", "a", NULL};
    struct opening given = {.command = command}, listed = {.list = "/bin/true %s"};
    int threads = count_threads();

    (void)state;
    assert_true(test_each_allocation_fails(flow, &given) > 2);
    assert_true(test_each_allocation_fails(flow, &listed) > 2);
    await_quiet(threads);
}

TEST_MAIN(TEST(a_command_gets_the_page_as_its_last_argument),
          TEST(the_variable_is_a_list_of_words),
          TEST(then_the_usual_programs_are_tried), TEST(only_pages_are_shown),
          TEST(a_page_has_a_longest_length), TEST(the_program_has_nothing_of_ours),
          TEST(a_program_that_runs_on_is_waited_for_by_a_thread),
          TEST(what_cannot_be_started_is_said), TEST(every_allocation_may_fail))
