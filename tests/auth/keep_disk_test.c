/* keep_disk_test.c - one private file in a safe folder */
#include "auth/keep_disk.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#include "auth/keep_fixture.h"

/* Replaced, to be somebody else, to have a bad disk, and to die at the wrong moment. */
static uid_t somebody;
static bool disk_is_bad, dies_at_rename;

uid_t
geteuid(void)
{
    return somebody ? somebody : (uid_t)syscall(SYS_geteuid);
}

int
fsync(int __fd)
{
    if (disk_is_bad) {
        errno = EIO;
        return -1;
    }
    return (int)syscall(SYS_fsync, __fd);
}

int
renameat(int __oldfd, const char *__old, int __newfd, const char *__new)
{
    if (dies_at_rename)
        raise(SIGKILL);
    return (int)syscall(SYS_renameat2, __oldfd, __old, __newfd, __new, 0);
}

/* ---- hands ----------------------------------------------------------------------- */

static const mcp_allocator *
plain(void)
{
    static struct test_mem mem;

    if (!mem.allocator.alloc)
        test_mem_init(&mem);
    return &mem.allocator;
}

static int
enter(const struct folder *folder, struct mcpi_disk *disk)
{
    int fd = -1;

    assert_int_equal(mcpi_disk_init(disk, plain(), folder->file, NULL), 0);
    assert_int_equal(mcpi_disk_enter(disk, &fd, NULL), 0);
    return fd;
}

/* The content; "(none)"; or the name of the status. */
static const char *
content(const struct mcpi_disk *disk, int fd)
{
    static char text[256];
    struct mcpi_buf buf;
    int r;

    mcpi_buf_init(&buf, plain(), sizeof text + 8192);
    r = mcpi_disk_read(disk, fd, &buf);
    snprintf(text, sizeof text, "%.*s", (int)buf.len, buf.data ? buf.data : "");
    mcpi_buf_done(&buf);
    return r == 1 ? text : r == 0 ? "(none)" : mcp_status_name(r);
}

static int
replace(const struct mcpi_disk *disk, int fd, const char *text)
{
    return mcpi_disk_replace(disk, fd, text, strlen(text));
}

static void
leave(const struct folder *folder, struct mcpi_disk *disk, int fd)
{
    close(fd);
    mcpi_disk_done(disk);
    folder_remove(folder);
}

/* What is said of the file, or of its folder. */
static const char *
refusal(const struct folder *folder)
{
    static mcp_error err;
    struct mcpi_disk disk;
    int fd = -1, file = -1, r;

    err.message[0] = '\0';
    assert_int_equal(mcpi_disk_init(&disk, plain(), folder->file, NULL), 0);
    r = mcpi_disk_enter(&disk, &fd, &err);
    if (r == 0)
        r = mcpi_disk_open(&disk, fd, "", O_RDONLY, &file, &err);
    if (r >= 0)
        snprintf(err.message, sizeof err.message, "fine");
    else
        assert_int_equal(r, MCP_E_INVAL);
    if (fd >= 0)
        close(fd);
    if (file >= 0)
        close(file);
    mcpi_disk_done(&disk);
    return err.message;
}

#define assert_says(text, words)                               \
    do {                                                       \
        const char *said_ = (text);                            \
        if (!strstr(said_, words))                             \
            fail_msg("\"%s\" is not in \"%s\"", words, said_); \
    } while (0)

/* ---- reading and replacing ---------------------------------------------------------- */

static void
a_file_is_replaced_as_a_whole(void **state)
{
    struct mcpi_disk disk;
    struct folder folder;
    struct stat before, after;
    int fd;

    (void)state;
    folder_make(&folder);
    fd = enter(&folder, &disk);
    assert_string_equal(content(&disk, fd), "(none)");
    assert_int_equal(replace(&disk, fd, "one"), 0);
    assert_string_equal(content(&disk, fd), "one");
    assert_int_equal(mode_of(folder.file), 0600);
    assert_int_equal(stat(folder.file, &before), 0);
    assert_int_equal(replace(&disk, fd, "2"), 0);
    assert_string_equal(content(&disk, fd), "2");
    assert_int_equal(stat(folder.file, &after), 0);
    assert_int_not_equal(before.st_ino, after.st_ino);
    assert_false(folder_has(&folder, "tokens.json.new"));
    leave(&folder, &disk, fd);
}

static void
the_umask_neither_opens_nor_closes_it(void **state)
{
    struct mcpi_disk disk;
    struct folder folder;
    mode_t before;
    int fd;

    (void)state;
    folder_make(&folder);
    fd = enter(&folder, &disk);
    before = umask(0);
    assert_int_equal(replace(&disk, fd, "one"), 0);
    assert_int_equal(mode_of(folder.file), 0600);
    umask(0777);
    assert_int_equal(replace(&disk, fd, "two"), 0);
    assert_int_equal(mode_of(folder.file), 0600);
    umask(before);
    leave(&folder, &disk, fd);
}

static void
folders_on_the_way_are_made(void **state)
{
    struct mcpi_disk disk;
    struct folder folder;
    int fd;

    (void)state;
    folder_make(&folder);
    snprintf(folder.file, sizeof folder.file, "%s/a//b/tokens.json", folder.path);
    fd = enter(&folder, &disk);
    assert_int_equal(mode_of(folder_path(&folder, "a")), 0700);
    assert_int_equal(mode_of(folder_path(&folder, "a/b")), 0700);
    leave(&folder, &disk, fd);
}

static void
a_relative_path_is_one_from_here_for_ever(void **state)
{
    struct mcpi_disk disk;
    struct folder folder;
    char before[4096];
    int fd = -1;

    (void)state;
    folder_make(&folder);
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(folder.path), 0);
    assert_int_equal(mcpi_disk_init(&disk, plain(), "tokens.json", NULL), 0);
    assert_int_equal(chdir(before), 0);
    assert_int_equal(mcpi_disk_enter(&disk, &fd, NULL), 0);
    assert_int_equal(replace(&disk, fd, "here"), 0);
    assert_string_equal(file_get(folder.file), "here");
    leave(&folder, &disk, fd);
}

static void
a_path_names_a_file(void **state)
{
    static const char *const bad[] = {"", "/", "/tmp/", ".", "/tmp/..", NULL};
    char longest[400] = "/tmp/";
    struct mcpi_disk disk;
    mcp_error err;

    (void)state;
    memset(longest + 5, 'n', 250);
    assert_int_equal(mcpi_disk_init(&disk, plain(), longest, &err), MCP_E_INVAL);
    for (int i = 0; bad[i]; i++) {
        assert_int_equal(mcpi_disk_init(&disk, plain(), bad[i], &err), MCP_E_INVAL);
        assert_says(err.message, "no name of a file");
    }
}

static void
a_file_may_be_set_aside(void **state)
{
    struct mcpi_disk disk;
    struct folder folder;
    int fd, file = -1;

    (void)state;
    folder_make(&folder);
    fd = enter(&folder, &disk);
    assert_int_equal(mcpi_disk_set_aside(&disk, fd, ".x"), MCP_E_INVAL);
    file_put(folder.file, "one", 0600);
    assert_int_equal(mcpi_disk_open(&disk, fd, "", O_RDONLY, &file, NULL), 1);
    assert_true(mcpi_disk_is_current(&disk, fd, "", file));
    assert_int_equal(mcpi_disk_set_aside(&disk, fd, ".x"), 0);
    assert_false(mcpi_disk_is_current(&disk, fd, "", file));
    assert_true(mcpi_disk_is_current(&disk, fd, ".x", file));
    assert_string_equal(content(&disk, fd), "(none)");
    close(file);
    leave(&folder, &disk, fd);
}

/* ---- what is not safe ------------------------------------------------------------------ */

static void
a_file_that_others_can_read_is_refused(void **state)
{
    static const mode_t modes[] = {0644, 0640, 0660, 0601, 0602, 0666};
    struct folder folder;

    (void)state;
    folder_make(&folder);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        file_put(folder.file, "{}", modes[i]);
        assert_says(refusal(&folder), "others can read or write it");
    }
    file_put(folder.file, "{}", 0600);
    assert_string_equal(refusal(&folder), "fine");
    folder_remove(&folder);
}

static void
a_folder_that_others_can_write_to_is_refused(void **state)
{
    static const mode_t modes[] = {0770, 0702, 0777, 01777};
    struct folder folder;

    (void)state;
    folder_make(&folder);
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        assert_int_equal(chmod(folder.path, modes[i]), 0);
        assert_says(refusal(&folder), "others can write to the folder");
    }
    assert_int_equal(chmod(folder.path, 0755), 0);
    assert_string_equal(refusal(&folder), "fine");
    folder_remove(&folder);
}

static void
what_is_somebody_elses_is_refused(void **state)
{
    struct folder folder;
    struct mcpi_disk disk;
    mcp_error err = {.message = ""};
    int fd, file;

    (void)state;
    folder_make(&folder);
    file_put(folder.file, "{}", 0600);
    fd = enter(&folder, &disk);
    somebody = 4242;
    assert_int_equal(mcpi_disk_open(&disk, fd, "", O_RDONLY, &file, &err), MCP_E_INVAL);
    assert_says(err.message, "it is somebody else's");
    if (syscall(SYS_geteuid) != 0) /* root's folders are nobody's danger */
        assert_says(refusal(&folder), "the folder is somebody else's");
    somebody = 0;
    leave(&folder, &disk, fd);
}

static void
a_link_is_not_followed(void **state)
{
    struct folder folder;

    (void)state;
    folder_make(&folder);
    file_put(folder_path(&folder, "victim"), "{}", 0600);
    assert_int_equal(symlink("victim", folder.file), 0);
    assert_says(refusal(&folder), "symbolic link");
    folder_remove(&folder);
}

static void
nothing_is_written_through_a_link(void **state)
{
    struct mcpi_disk disk;
    struct folder folder;
    int fd;

    (void)state;
    folder_make(&folder);
    file_put(folder_path(&folder, "victim"), "theirs", 0600);
    assert_int_equal(symlink("victim", folder_path(&folder, "tokens.json.new")), 0);
    fd = enter(&folder, &disk);
    assert_int_equal(replace(&disk, fd, "ours"), 0);
    assert_string_equal(file_get(folder_path(&folder, "victim")), "theirs");
    assert_string_equal(content(&disk, fd), "ours");
    leave(&folder, &disk, fd);
}

static void
what_is_no_regular_file_is_refused(void **state)
{
    struct folder folder;

    (void)state;
    folder_make(&folder);
    assert_int_equal(mkfifo(folder.file, 0600), 0);
    assert_says(refusal(&folder), "no regular file");
    assert_int_equal(unlink(folder.file), 0);
    assert_int_equal(mkdir(folder.file, 0700), 0);
    assert_says(refusal(&folder), "no regular file");
    folder_remove(&folder);
}

static void
a_file_in_place_of_the_folder_is_refused(void **state)
{
    struct folder folder;

    (void)state;
    folder_make(&folder);
    file_put(folder_path(&folder, "a"), "", 0600);
    snprintf(folder.file, sizeof folder.file, "%s/a/tokens.json", folder.path);
    assert_says(refusal(&folder), "not a directory");
    snprintf(folder.file, sizeof folder.file, "%s/a/b/tokens.json", folder.path);
    assert_says(refusal(&folder), "not a directory");
    folder_remove(&folder);
}

/* ---- when it fails ------------------------------------------------------------------------ */

static void
a_bad_disk_leaves_the_old_file(void **state)
{
    struct mcpi_disk disk;
    struct folder folder;
    int fd;

    (void)state;
    folder_make(&folder);
    fd = enter(&folder, &disk);
    assert_int_equal(replace(&disk, fd, "old"), 0);
    disk_is_bad = true;
    assert_int_equal(replace(&disk, fd, "new"), MCP_E_INVAL);
    disk_is_bad = false;
    assert_string_equal(content(&disk, fd), "old");
    assert_false(folder_has(&folder, "tokens.json.new"));
    leave(&folder, &disk, fd);
}

/* 0: as it should be; for a fork, where the limit does no harm. */
static int
write_without_room(const struct mcpi_disk *disk, int fd)
{
    struct rlimit limit = {.rlim_cur = 1000, .rlim_max = 1000};
    char text[2000];

    memset(text, 't', sizeof text);
    signal(SIGXFSZ, SIG_IGN);
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0)
        return 1;
    return mcpi_disk_replace(disk, fd, text, sizeof text) == MCP_E_LIMIT ? 0 : 2;
}

static void
a_full_disk_leaves_the_old_file(void **state)
{
    struct mcpi_disk disk;
    struct folder folder;
    int fd, status = -1;
    pid_t pid;

    (void)state;
    folder_make(&folder);
    fd = enter(&folder, &disk);
    assert_int_equal(replace(&disk, fd, "old"), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(write_without_room(&disk, fd));
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_string_equal(content(&disk, fd), "old");
    assert_false(folder_has(&folder, "tokens.json.new"));
    leave(&folder, &disk, fd);
}

static void
a_crash_before_the_end_leaves_the_old_file(void **state)
{
    struct mcpi_disk disk;
    struct folder folder;
    int fd, status = -1;
    pid_t pid;

    (void)state;
    folder_make(&folder);
    fd = enter(&folder, &disk);
    assert_int_equal(replace(&disk, fd, "old"), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        dies_at_rename = true;
        _exit(replace(&disk, fd, "new"));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_true(folder_has(&folder, "tokens.json.new"));
    assert_string_equal(content(&disk, fd), "old");
    assert_int_equal(replace(&disk, fd, "newer"), 0);
    assert_string_equal(content(&disk, fd), "newer");
    assert_false(folder_has(&folder, "tokens.json.new"));
    leave(&folder, &disk, fd);
}

static void
a_file_that_is_too_long_is_not_read(void **state)
{
    struct mcpi_disk disk;
    struct mcpi_buf buf;
    struct folder folder;
    int fd;

    (void)state;
    folder_make(&folder);
    fd = enter(&folder, &disk);
    assert_int_equal(replace(&disk, fd, "twelve bytes"), 0);
    mcpi_buf_init(&buf, plain(), 11);
    assert_int_equal(mcpi_disk_read(&disk, fd, &buf), MCP_E_LIMIT);
    mcpi_buf_done(&buf);
    leave(&folder, &disk, fd);
}

/* ---- memory -------------------------------------------------------------------------------- */

static void
flow(struct test_mem *mem, void *user)
{
    struct mcpi_disk disk;
    int r = mcpi_disk_init(&disk, &mem->allocator, "/tmp/none/tokens.json", NULL);

    (void)user;
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    if (r == 0)
        mcpi_disk_done(&disk);
}

static void
every_allocation_may_fail(void **state)
{
    (void)state;
    assert_int_equal(test_each_allocation_fails(flow, NULL), 1);
}

TEST_MAIN(TEST(a_file_is_replaced_as_a_whole),
          TEST(the_umask_neither_opens_nor_closes_it),
          TEST(folders_on_the_way_are_made),
          TEST(a_relative_path_is_one_from_here_for_ever), TEST(a_path_names_a_file),
          TEST(a_file_may_be_set_aside), TEST(a_file_that_others_can_read_is_refused),
          TEST(a_folder_that_others_can_write_to_is_refused),
          TEST(what_is_somebody_elses_is_refused), TEST(a_link_is_not_followed),
          TEST(nothing_is_written_through_a_link),
          TEST(what_is_no_regular_file_is_refused),
          TEST(a_file_in_place_of_the_folder_is_refused),
          TEST(a_bad_disk_leaves_the_old_file), TEST(a_full_disk_leaves_the_old_file),
          TEST(a_crash_before_the_end_leaves_the_old_file),
          TEST(a_file_that_is_too_long_is_not_read), TEST(every_allocation_may_fail))
