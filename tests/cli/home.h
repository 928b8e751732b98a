/*
 * home.h - a home and a project of a test program's own
 *
 * TEST_MAIN_AFTER(home_enter, ...): HOME is home below home_root, the folder we are in
 * is home/project/deep, and nothing else of ours is looked at. Set up before the
 * baseline is taken, since setenv(3) keeps memory; removed at the end.
 */
#ifndef TESTS_CLI_HOME_H
#define TESTS_CLI_HOME_H

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "support/test.h"

static char home_root[256]; /* absolute, without links */

static inline int
home_remove_one(const char *path, const struct stat *info, int kind, struct FTW *at)
{
    (void)info;
    (void)kind;
    (void)at;
    return remove(path);
}

static inline void
home_remove(void)
{
    (void)chdir("/");
    (void)nftw(home_root, home_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

/* The path of something below the root; good until the fourth call from here. */
static inline const char *
home_path(const char *name)
{
    static char paths[4][512];
    static unsigned turn;
    char *path = paths[turn++ % 4];

    snprintf(path, sizeof paths[0], "%s/%s", home_root, name);
    return path;
}

/* A file below the root with this text, and the folders it needs. */
static inline const char *
home_write_n(const char *name, const char *text, size_t length)
{
    const char *path = home_path(name);
    char folder[512], *slash;
    FILE *file;

    snprintf(folder, sizeof folder, "%s", path);
    for (slash = folder + strlen(home_root) + 1; (slash = strchr(slash, '/'));
         slash++) {
        *slash = '\0';
        (void)mkdir(folder, 0700);
        *slash = '/';
    }
    file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return path;
}

static inline const char *
home_write(const char *name, const char *text)
{
    return home_write_n(name, text, strlen(text));
}

static inline void
home_unlink(const char *name)
{
    assert_int_equal(unlink(home_path(name)), 0);
}

static inline void
home_enter(int argc, char **argv)
{
    char made[] = "/tmp/mcpctl-home.XXXXXX";

    (void)argc;
    (void)argv;
    if (!mkdtemp(made) || !realpath(made, home_root))
        abort();
    atexit(home_remove);
    (void)mkdir(home_path("home"), 0700);
    (void)mkdir(home_path("home/project"), 0700);
    (void)mkdir(home_path("home/project/deep"), 0700);
    setenv("HOME", home_path("home"), 1);
    setenv("MCPCTL_TEST", "set", 1);
    setenv("MCPCTL_EMPTY", "", 1);
    unsetenv("MCPCTL_UNSET");
    unsetenv("XDG_CONFIG_HOME");
    if (chdir(home_path("home/project/deep")) != 0)
        abort();
}

#endif
