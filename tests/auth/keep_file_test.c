/* keep_file_test.c - tokens in a file, for clients of one process and of others */
#include <pthread.h>
#include <signal.h>

#include "auth/keep_fixture.h"

struct fixture {
    struct folder folder;
    struct test_mem mem;
    mcp_token_keep *keep;
};

static mcp_token_keep *
keep_open(struct test_mem *mem, const char *path)
{
    mcp_token_keep *keep = NULL;
    mcp_error err;

    if (mcp_token_keep_file(&mem->allocator, path, &keep, &err) < 0)
        fail_msg("%s", err.message);
    return keep;
}

static void
fixture_make(struct fixture *f)
{
    folder_make(&f->folder);
    test_mem_init(&f->mem);
    f->keep = keep_open(&f->mem, f->folder.file);
}

static void
fixture_done(struct fixture *f)
{
    mcp_token_keep_free(f->keep);
    test_mem_done(&f->mem);
    folder_remove(&f->folder);
}

/* ---- what it keeps -------------------------------------------------------------------- */

static void
what_is_saved_is_found_by_the_next_one(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f);
    assert_string_equal(keep_load(f.keep, "a"), "(none)");
    assert_int_equal(keep_save(f.keep, "a", "{\"token\":\"\\u00e4\"}"), 0);
    assert_int_equal(keep_save(f.keep, "https://b.example/?x=\"1\"", "\xc3\xa4\n"), 0);
    mcp_token_keep_free(f.keep);
    f.keep = keep_open(&f.mem, f.folder.file);
    assert_string_equal(keep_load(f.keep, "a"), "{\"token\":\"\\u00e4\"}");
    assert_string_equal(keep_load(f.keep, "https://b.example/?x=\"1\""), "\xc3\xa4\n");
    assert_int_equal(keep_save(f.keep, "a", ""), 0);
    assert_string_equal(keep_load(f.keep, "a"), "");
    assert_int_equal(keep_save(f.keep, "a", NULL), 0);
    assert_string_equal(keep_load(f.keep, "a"), "(none)");
    assert_string_equal(keep_load(f.keep, "https://b.example/?x=\"1\""), "\xc3\xa4\n");
    fixture_done(&f);
}

static void
the_file_is_one_object_and_private(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f);
    assert_false(folder_has(&f.folder, "tokens.json"));
    assert_int_equal(keep_save(f.keep, "a", NULL), 0);
    assert_false(folder_has(&f.folder, "tokens.json"));
    assert_int_equal(keep_save(f.keep, "a", "1"), 0);
    assert_int_equal(keep_save(f.keep, "b", "\"2\""), 0);
    assert_string_equal(file_get(f.folder.file), "{\"a\":\"1\",\"b\":\"\\\"2\\\"\"}");
    assert_int_equal(mode_of(f.folder.file), 0600);
    assert_int_equal(mode_of(folder_path(&f.folder, "tokens.json.lock")), 0600);
    fixture_done(&f);
}

static void
an_empty_file_is_an_empty_store(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f);
    file_put(f.folder.file, "", 0600);
    assert_string_equal(keep_load(f.keep, "a"), "(none)");
    assert_int_equal(keep_save(f.keep, "a", "1"), 0);
    assert_false(folder_has(&f.folder, "tokens.json.damaged"));
    fixture_done(&f);
}

static void
a_folder_that_went_away_is_made_again(void **state)
{
    struct fixture f;

    (void)state;
    fixture_make(&f);
    assert_int_equal(keep_save(f.keep, "a", "1"), 0);
    folder_remove(&f.folder);
    assert_string_equal(keep_load(f.keep, "a"), "(none)");
    assert_int_equal(keep_save(f.keep, "a", "2"), 0);
    assert_string_equal(keep_load(f.keep, "a"), "2");
    assert_int_equal(mode_of(f.folder.path), 0700);
    fixture_done(&f);
}

static void
what_cannot_be_kept_is_refused(void **state)
{
    struct fixture f;
    const char *text;

    (void)state;
    fixture_make(&f);
    assert_int_equal(keep_save(f.keep, "", "1"), MCP_E_INVAL);
    assert_int_equal(keep_save(f.keep, "a", "\xff"), MCP_E_INVAL);
    assert_int_equal(keep_save(f.keep, "\xff", "1"), MCP_E_INVAL);
    assert_int_equal(keep_load_status(f.keep, NULL, &text), MCP_E_INVAL);
    assert_int_equal(keep_lock(f.keep, NULL), MCP_E_INVAL);
    keep_unlock(f.keep, NULL);
    assert_false(folder_has(&f.folder, "tokens.json"));
    fixture_done(&f);
}

/* ---- a damaged file -------------------------------------------------------------------- */

static void
a_damaged_file_is_said_to_be_and_moved_aside_by_the_next_save(void **state)
{
    static const char *const damaged[] = {
        "{\"a\":\"1\"",        "[]", "{\"a\":1}", "{\"a\":\"1\",\"a\":\"2\"}", " ",
        "{\"a\\u0000\":\"\"}", NULL};
    struct fixture f;
    const char *text;

    (void)state;
    fixture_make(&f);
    for (int i = 0; damaged[i]; i++) {
        file_put(f.folder.file, damaged[i], 0600);
        assert_int_equal(keep_load_status(f.keep, "a", &text), MCP_E_SYNTAX);
        assert_int_equal(keep_save(f.keep, "a", NULL), MCP_E_SYNTAX);
        assert_string_equal(file_get(f.folder.file), damaged[i]);
        assert_int_equal(keep_save(f.keep, "a", "new"), 0);
        assert_string_equal(keep_load(f.keep, "a"), "new");
        assert_string_equal(file_get(folder_path(&f.folder, "tokens.json.damaged")),
                            damaged[i]);
    }
    fixture_done(&f);
}

static void
a_file_of_another_kind_is_damaged(void **state)
{
    struct fixture f;
    const char *text;

    (void)state;
    fixture_make(&f);
    file_put(f.folder.file, "", 0600);
    assert_int_equal(truncate(f.folder.file, 17 * 1024 * 1024), 0);
    assert_int_equal(keep_load_status(f.keep, "a", &text), MCP_E_SYNTAX);
    assert_int_equal(keep_save(f.keep, "a", "new"), 0);
    assert_string_equal(keep_load(f.keep, "a"), "new");
    fixture_done(&f);
}

/* Texts k0 to k14 of 1 MiB each. */
static void
file_fill(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    for (int i = 0; i < 15; i++)
        fprintf(file, "%s\"k%d\":\"%s\"", i > 0 ? "," : "{", i, text);
    fprintf(file, "}");
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static void
more_than_the_file_may_hold_is_not_kept(void **state)
{
    size_t len = (size_t)1024 * 1024;
    char *text = malloc(len + 1);
    struct fixture f;

    (void)state;
    assert_non_null(text);
    memset(text, 't', len);
    text[len] = '\0';
    fixture_make(&f);
    file_fill(f.folder.file, text);
    assert_int_equal(keep_save(f.keep, "k15", text), MCP_E_LIMIT);
    assert_string_equal(keep_load(f.keep, "k15"), "(none)");
    assert_int_equal(keep_save(f.keep, "k3", NULL), 0);
    assert_int_equal(keep_save(f.keep, "k15", text), 0);
    free(text);
    fixture_done(&f);
}

/* ---- who may see it -------------------------------------------------------------------- */

static void
a_file_that_is_not_ours_alone_is_refused_at_the_start(void **state)
{
    mcp_token_keep *keep = NULL;
    struct folder folder;
    mcp_error err;

    (void)state;
    folder_make(&folder);
    file_put(folder.file, "{}", 0644);
    assert_int_equal(mcp_token_keep_file(NULL, folder.file, &keep, &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, "tokens.json\": others can read or write it"));
    assert_int_equal(chmod(folder.file, 0600), 0);
    assert_int_equal(chmod(folder.path, 0777), 0);
    assert_int_equal(mcp_token_keep_file(NULL, folder.file, &keep, &err), MCP_E_INVAL);
    assert_non_null(strstr(err.message, "others can write to the folder"));
    assert_int_equal(mcp_token_keep_file(NULL, NULL, &keep, &err), MCP_E_INVAL);
    assert_int_equal(mcp_token_keep_file(NULL, folder.file, NULL, NULL), MCP_E_INVAL);
    assert_int_equal(mcp_token_keep_file(NULL, "/dev/null", &keep, &err), MCP_E_INVAL);
    assert_null(keep);
    folder_remove(&folder);
}

static void
a_file_that_is_opened_to_others_later_is_not_used(void **state)
{
    struct fixture f;
    const char *text;

    (void)state;
    fixture_make(&f);
    assert_int_equal(keep_save(f.keep, "a", "1"), 0);
    assert_int_equal(chmod(f.folder.file, 0604), 0);
    assert_int_equal(keep_load_status(f.keep, "a", &text), MCP_E_INVAL);
    assert_int_equal(keep_save(f.keep, "a", "2"), MCP_E_INVAL);
    assert_int_equal(chmod(f.folder.file, 0600), 0);
    assert_string_equal(keep_load(f.keep, "a"), "1");
    assert_int_equal(chmod(f.folder.path, 0720), 0);
    assert_int_equal(keep_load_status(f.keep, "a", &text), MCP_E_INVAL);
    assert_int_equal(keep_save(f.keep, "a", "2"), MCP_E_INVAL);
    assert_int_equal(keep_lock(f.keep, "a"), MCP_E_INVAL);
    fixture_done(&f);
}

static void
secrets_are_wiped(void **state)
{
    struct watched watched;
    struct folder folder;
    mcp_token_keep *keep;

    (void)state;
    folder_make(&folder);
    watched_init(&watched);
    assert_int_equal(mcp_token_keep_file(&watched.allocator, folder.file, &keep, NULL),
                     0);
    assert_int_equal(keep_save(keep, "a", "{\"t\":\"" SECRET "\"}"), 0);
    assert_int_equal(keep_save(keep, "b", SECRET), 0);
    assert_string_equal(keep_load(keep, "b"), SECRET);
    assert_string_equal(keep_load(keep, "c"), "(none)");
    assert_int_equal(keep_save(keep, "b", NULL), 0);
    file_put(folder.file, "{\"" SECRET "\":", 0600);
    assert_int_equal(keep_save(keep, "b", SECRET), 0);
    mcp_token_keep_free(keep);
    watched_done(&watched);
    folder_remove(&folder);
}

/* ---- locks ------------------------------------------------------------------------------- */

static void
a_lock_is_for_one_of_all_clients(void **state)
{
    mcp_token_keep *other;
    struct fixture f;

    (void)state;
    fixture_make(&f);
    other = keep_open(&f.mem, f.folder.file);
    assert_int_equal(keep_lock(f.keep, "a"), 0);
    assert_int_equal(keep_lock(f.keep, "a"), MCP_E_AGAIN);
    assert_int_equal(keep_lock(other, "a"), MCP_E_AGAIN);
    keep_unlock(other, "a"); /* not its to unlock */
    assert_int_equal(keep_lock(other, "a"), MCP_E_AGAIN);
    assert_int_equal(keep_lock(other, "b"), 0);
    assert_int_equal(keep_save(f.keep, "a", "1"), 0);
    keep_unlock(f.keep, "a");
    assert_int_equal(keep_lock(other, "a"), 0);
    mcp_token_keep_free(other); /* gives back what it has */
    assert_int_equal(keep_lock(f.keep, "a"), 0);
    assert_int_equal(keep_lock(f.keep, "b"), 0);
    fixture_done(&f);
}

static void
a_lock_ends_with_its_process(void **state)
{
    struct fixture f;
    int ready[2];
    pid_t pid;
    char byte;

    (void)state;
    fixture_make(&f);
    assert_int_equal(pipe2(ready, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        alarm(60);
        if (keep_lock(f.keep, "a") == 0)
            (void)!write(ready[1], "!", 1);
        for (;;)
            pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(keep_lock(f.keep, "a"), MCP_E_AGAIN);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(keep_lock(f.keep, "a"), 0);
    close(ready[0]);
    close(ready[1]);
    fixture_done(&f);
}

/* ---- many at once ------------------------------------------------------------------------- */

#define WORKERS 3
#define TURNS 20

static bool
count_up(const mcp_token_store *i)
{
    char text[32], *found = NULL;
    bool saved;

    while (i->lock(i->self, "count") == MCP_E_AGAIN)
        continue;
    if (i->load(i->self, "count", &found) < 0)
        return false;
    snprintf(text, sizeof text, "%ld", (found ? strtol(found, NULL, 10) : 0) + 1);
    mcp_text_free(found, NULL);
    saved = i->save(i->self, "count", text) == 0;
    i->unlock(i->self, "count");
    return saved;
}

/* Saves keys of its own and counts up one of all, and never reads half a file. */
static bool
hammer(const char *path, int worker)
{
    mcp_token_keep *keep;
    const mcp_token_store *i;
    char key[32], *found;
    bool good = mcp_token_keep_file(NULL, path, &keep, NULL) == 0;

    if (!good)
        return false;
    i = mcp_token_keep_interface(keep);
    for (int n = 0; n < TURNS && good; n++) {
        snprintf(key, sizeof key, "%d.%d", worker, n);
        found = NULL;
        good = i->save(i->self, key, key) == 0 && count_up(i) &&
               i->load(i->self, key, &found) == 0 && found && strcmp(found, key) == 0;
        mcp_text_free(found, NULL);
    }
    mcp_token_keep_free(keep);
    return good;
}

/* Nothing that anybody saved is lost. */
static void
assert_hammered(const mcp_token_keep *keep, int workers)
{
    char key[32], count[32];

    for (int w = 0; w < workers; w++) {
        for (int n = 0; n < TURNS; n++) {
            snprintf(key, sizeof key, "%d.%d", w, n);
            assert_string_equal(keep_load(keep, key), key);
        }
    }
    snprintf(count, sizeof count, "%d", workers * TURNS);
    assert_string_equal(keep_load(keep, "count"), count);
}

static void
processes_lose_nothing_of_each_other(void **state)
{
    struct fixture f;
    pid_t pids[WORKERS];
    int status;

    (void)state;
    fixture_make(&f);
    for (int w = 0; w < WORKERS; w++) {
        pids[w] = fork();
        assert_true(pids[w] >= 0);
        if (pids[w] == 0) {
            alarm(120);
            _exit(hammer(f.folder.file, w) ? 0 : 1);
        }
    }
    for (int w = 0; w < WORKERS; w++) {
        assert_int_equal(waitpid(pids[w], &status, 0), pids[w]);
        assert_int_equal(status, 0);
    }
    assert_hammered(f.keep, WORKERS);
    fixture_done(&f);
}

struct thread {
    pthread_t thread;
    const char *path;
    int worker;
};

static void *
thread_run(void *user)
{
    const struct thread *t = user;

    return hammer(t->path, t->worker) ? user : NULL;
}

static void
clients_of_one_process_lose_nothing_of_each_other(void **state)
{
    struct thread threads[WORKERS];
    struct fixture f;
    void *done;

    (void)state;
    fixture_make(&f);
    for (int w = 0; w < WORKERS; w++) {
        threads[w] = (struct thread){.path = f.folder.file, .worker = w};
        assert_int_equal(
            pthread_create(&threads[w].thread, NULL, thread_run, &threads[w]), 0);
    }
    for (int w = 0; w < WORKERS; w++) {
        assert_int_equal(pthread_join(threads[w].thread, &done), 0);
        assert_non_null(done);
    }
    assert_hammered(f.keep, WORKERS);
    fixture_done(&f);
}

/* ---- memory -------------------------------------------------------------------------------- */

static void
flow(struct test_mem *mem, void *user)
{
    const struct folder *folder = user;
    mcp_token_keep *keep = NULL;
    const char *text;
    int r;

    (void)unlink(folder->file);
    r = mcp_token_keep_file(&mem->allocator, folder->file, &keep, NULL);
    if (r < 0) {
        assert_int_equal(r, MCP_E_NOMEM);
        return;
    }
    r = keep_save(keep, "a", "1");
    assert_int_equal(r, atomic_load(&mem->failed) ? MCP_E_NOMEM : 0);
    r = keep_load_status(keep, "a", &text);
    assert_true(r == 0 || r == MCP_E_NOMEM);
    r = keep_save(keep, "b", "2");
    assert_true(r == 0 || r == MCP_E_NOMEM);
    assert_false(folder_has(folder, "tokens.json.damaged"));
    r = keep_lock(keep, "a");
    assert_true(r == 0 || r == MCP_E_NOMEM);
    keep_unlock(keep, "a");
    mcp_token_keep_free(keep);
}

static void
every_allocation_may_fail(void **state)
{
    struct folder folder;

    (void)state;
    folder_make(&folder);
    assert_true(test_each_allocation_fails(flow, &folder) > 8);
    folder_remove(&folder);
}

TEST_MAIN(TEST(what_is_saved_is_found_by_the_next_one),
          TEST(the_file_is_one_object_and_private),
          TEST(an_empty_file_is_an_empty_store),
          TEST(a_folder_that_went_away_is_made_again),
          TEST(what_cannot_be_kept_is_refused),
          TEST(a_damaged_file_is_said_to_be_and_moved_aside_by_the_next_save),
          TEST(a_file_of_another_kind_is_damaged),
          TEST(more_than_the_file_may_hold_is_not_kept),
          TEST(a_file_that_is_not_ours_alone_is_refused_at_the_start),
          TEST(a_file_that_is_opened_to_others_later_is_not_used),
          TEST(secrets_are_wiped), TEST(a_lock_is_for_one_of_all_clients),
          TEST(a_lock_ends_with_its_process),
          TEST(processes_lose_nothing_of_each_other),
          TEST(clients_of_one_process_lose_nothing_of_each_other),
          TEST(every_allocation_may_fail))
