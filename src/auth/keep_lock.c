/* keep_lock.c - turns of those who share a file of tokens, in this process and others */
#include "auth/keep_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/map.h"
#include "base/text.h"

#define SUFFIX ".lock"

/* Who writes has it for some milliseconds, a slow disk for some hundred; who was stopped
 * must not stop all others for ever. In all 10 s. */
#define WAIT_NS 2000000L
#define WAITS 5000

/* Somebody may delete the file under us; nobody does so again and again. */
#define TRIES 8

/* The same in all processes, so no secret: who could choose keys that collide would only
 * make them wait for each other. */
static const uint64_t hash_key[2] = {UINT64_C(0x6c69626d63702074),
                                     UINT64_C(0x6f6b656e206b6579)};

static off_t
offset_of(const char *key)
{
    return 1 + (off_t)(mcpi_siphash(hash_key, key, strlen(key)) >> 2);
}

static int
range_set(int fd, off_t at, short type)
{
    struct flock range = {
        .l_type = type, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};

    return fcntl(fd, F_OFD_SETLK, &range) == 0 ? 0 : errno;
}

/* 0, MCP_E_AGAIN or MCP_E_INVAL: a file system that has no locks. */
static int
range_lock(int fd, off_t at)
{
    int number = range_set(fd, at, F_WRLCK);

    if (number == EAGAIN || number == EACCES || number == EINTR)
        return MCP_E_AGAIN;
    return number == 0 ? 0 : MCP_E_INVAL;
}

static int
range_await(int fd, off_t at)
{
    const struct timespec pause = {.tv_nsec = WAIT_NS};
    int r = range_lock(fd, at);

    for (int i = 0; i < WAITS && r == MCP_E_AGAIN; i++) {
        (void)nanosleep(&pause, NULL);
        r = range_lock(fd, at);
    }
    return r == MCP_E_AGAIN ? MCP_E_TIMEOUT : r;
}

/* 1: it is locked; 0: but not the file that others lock now, so once more. */
static int
lock_try(const struct mcpi_disk *disk, int folder, off_t at,
         int (*lock)(int fd, off_t at), int *ret_lock, mcp_error *err)
{
    int fd, r;

    r = mcpi_disk_open(disk, folder, SUFFIX, O_RDWR | O_CREAT, &fd, err);
    if (r < 0)
        return r;
    r = lock(fd, at);
    if (r == 0 && mcpi_disk_is_current(disk, folder, SUFFIX, fd)) {
        *ret_lock = fd;
        return 1;
    }
    (void)close(fd);
    return r < 0 ? mcpi_error_set(err, r, "cannot lock the file of tokens") : 0;
}

static int
lock_take(const struct mcpi_disk *disk, int folder, off_t at,
          int (*lock)(int fd, off_t at), int *ret_lock, mcp_error *err)
{
    int r;

    for (int i = 0; i < TRIES; i++) {
        r = lock_try(disk, folder, at, lock, ret_lock, err);
        if (r != 0)
            return r < 0 ? r : 0;
    }
    return mcpi_error_set(err, MCP_E_INVAL, "the lock of the file of tokens goes away");
}

int
mcpi_keep_lock_file(const struct mcpi_disk *disk, int folder, int *ret_lock,
                    mcp_error *err)
{
    return lock_take(disk, folder, 0, range_await, ret_lock, err);
}

int
mcpi_keep_lock_key(const struct mcpi_disk *disk, int folder, const char *key,
                   int *ret_lock)
{
    return lock_take(disk, folder, offset_of(key), range_lock, ret_lock, NULL);
}

/* Not only closed: a fork of ours may have a copy of the descriptor. */
void
mcpi_keep_unlock(int take_lock)
{
    struct flock all = {.l_type = F_UNLCK, .l_whence = SEEK_SET};

    (void)fcntl(take_lock, F_OFD_SETLK, &all);
    (void)close(take_lock);
}
