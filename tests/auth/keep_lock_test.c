/* keep_lock_test.c - turns of those who share a file of tokens */
#include "auth/keep_lock.h"

#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "auth/keep_fixture.h"
#include "base/mem.h"

/* Replaced: time passes at once; and somebody may unlock meanwhile, or delete. */
static long naps;
static int give_back = -1; /* this lock, at the third nap */

int
nanosleep(const struct timespec *__requested_time, struct timespec *__remaining)
{
    (void)__requested_time;
    (void)__remaining;
    if (++naps == 3 && give_back >= 0) {
        mcpi_keep_unlock(give_back);
        give_back = -1;
    }
    return 0;
}

struct fixture {
    struct folder folder;
    struct mcpi_disk disk;
    int fd;
};

static void
fixture_make(struct fixture *f)
{
    folder_make(&f->folder);
    assert_int_equal(
        mcpi_disk_init(&f->disk, mcpi_mem_or_malloc(NULL), f->folder.file, NULL), 0);
    assert_int_equal(mcpi_disk_enter(&f->disk, &f->fd, NULL), 0);
    naps = 0;
}

static void
fixture_done(struct fixture *f)
{
    close(f->fd);
    mcpi_disk_done(&f->disk);
    folder_remove(&f->folder);
}

static void
each_key_has_its_lock(void **state)
{
    struct fixture f;
    int a = -1, b = -1, c = -1;

    (void)state;
    fixture_make(&f);
    assert_int_equal(mcpi_keep_lock_key(&f.disk, f.fd, "a", &a), 0);
    assert_int_equal(mcpi_keep_lock_key(&f.disk, f.fd, "a", &c), MCP_E_AGAIN);
    assert_int_equal(c, -1);
    assert_int_equal(mcpi_keep_lock_key(&f.disk, f.fd, "b", &b), 0);
    assert_int_equal(mcpi_keep_lock_file(&f.disk, f.fd, &c, NULL), 0);
    mcpi_keep_unlock(c);
    mcpi_keep_unlock(a);
    assert_int_equal(mcpi_keep_lock_key(&f.disk, f.fd, "b", &c), MCP_E_AGAIN);
    assert_int_equal(mcpi_keep_lock_key(&f.disk, f.fd, "a", &c), 0);
    mcpi_keep_unlock(c);
    mcpi_keep_unlock(b);
    assert_int_equal(naps, 0);
    assert_int_equal(mode_of(folder_path(&f.folder, "tokens.json.lock")), 0600);
    fixture_done(&f);
}

static void
who_writes_waits_for_its_turn(void **state)
{
    struct fixture f;
    int mine;

    (void)state;
    fixture_make(&f);
    assert_int_equal(mcpi_keep_lock_file(&f.disk, f.fd, &give_back, NULL), 0);
    assert_int_equal(mcpi_keep_lock_file(&f.disk, f.fd, &mine, NULL), 0);
    assert_int_equal(naps, 3);
    mcpi_keep_unlock(mine);
    fixture_done(&f);
}

static void
who_waits_for_too_long_gives_up(void **state)
{
    struct fixture f;
    int theirs, mine = -1;
    mcp_error err = {.status = 0};

    (void)state;
    fixture_make(&f);
    assert_int_equal(mcpi_keep_lock_file(&f.disk, f.fd, &theirs, NULL), 0);
    assert_int_equal(mcpi_keep_lock_file(&f.disk, f.fd, &mine, &err), MCP_E_TIMEOUT);
    assert_int_equal(err.status, MCP_E_TIMEOUT);
    assert_int_equal(mine, -1);
    assert_true(naps > 100);
    mcpi_keep_unlock(theirs);
    fixture_done(&f);
}

static void
a_lock_ends_with_its_process(void **state)
{
    struct fixture f;
    int lock = -1, ready[2];
    pid_t pid;
    char byte;

    (void)state;
    fixture_make(&f);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        if (mcpi_keep_lock_key(&f.disk, f.fd, "a", &lock) == 0)
            (void)!write(ready[1], "!", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(mcpi_keep_lock_key(&f.disk, f.fd, "a", &lock), MCP_E_AGAIN);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(mcpi_keep_lock_key(&f.disk, f.fd, "a", &lock), 0);
    mcpi_keep_unlock(lock);
    close(ready[0]);
    close(ready[1]);
    fixture_done(&f);
}

/* A fork has a copy of the descriptor, and must not keep the lock. */
static void
unlock_is_unlock_for_copies_too(void **state)
{
    struct fixture f;
    int lock, copy;

    (void)state;
    fixture_make(&f);
    assert_int_equal(mcpi_keep_lock_key(&f.disk, f.fd, "a", &lock), 0);
    copy = dup(lock);
    mcpi_keep_unlock(lock);
    assert_int_equal(mcpi_keep_lock_key(&f.disk, f.fd, "a", &lock), 0);
    mcpi_keep_unlock(lock);
    close(copy);
    fixture_done(&f);
}

static void
a_lock_file_of_others_is_refused(void **state)
{
    struct fixture f;
    mcp_error err = {.status = 0};
    int lock;

    (void)state;
    fixture_make(&f);
    file_put(folder_path(&f.folder, "tokens.json.lock"), "", 0666);
    assert_int_equal(mcpi_keep_lock_key(&f.disk, f.fd, "a", &lock), MCP_E_INVAL);
    assert_int_equal(mcpi_keep_lock_file(&f.disk, f.fd, &lock, &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, "tokens.json.lock\": others can read"));
    fixture_done(&f);
}

static void
a_lock_file_that_was_deleted_is_made_anew(void **state)
{
    struct fixture f;
    int old, lock;

    (void)state;
    fixture_make(&f);
    assert_int_equal(mcpi_keep_lock_key(&f.disk, f.fd, "a", &old), 0);
    assert_int_equal(unlink(folder_path(&f.folder, "tokens.json.lock")), 0);
    assert_int_equal(mcpi_keep_lock_key(&f.disk, f.fd, "b", &lock), 0);
    assert_true(mcpi_disk_is_current(&f.disk, f.fd, ".lock", lock));
    mcpi_keep_unlock(old);
    mcpi_keep_unlock(lock);
    fixture_done(&f);
}

TEST_MAIN(TEST(each_key_has_its_lock), TEST(who_writes_waits_for_its_turn),
          TEST(who_waits_for_too_long_gives_up), TEST(a_lock_ends_with_its_process),
          TEST(unlock_is_unlock_for_copies_too), TEST(a_lock_file_of_others_is_refused),
          TEST(a_lock_file_that_was_deleted_is_made_anew))
