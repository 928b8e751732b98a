/*
 * support/halves.h - two engines, each on the thread of a loop of its own, and
 * thousands of calls from a third
 *
 * The link between them is opened on its loop by a function of the test's.
 */
#ifndef TESTS_SUPPORT_HALVES_H
#define TESTS_SUPPORT_HALVES_H

#include "run/loop.h"
#include "support/world.h"

struct half;

/* How one half opens its end, and lets go of it. Both run on its thread. */
struct half_link {
    struct mcpi_peer *(*open)(struct half *h);
    void (*free)(struct half *h);
};

struct half {
    struct test_mem mem;
    struct mcpi_loop *loop; /* runs on a thread of its own */
    int side;
    enum mcpi_era era;
    const struct half_link *link;
    void *link_user;            /* what the link needs to open */
    struct mcpi_engine *engine; /* its thread only, as all below */
    struct mcpi_peer *peer;     /* NULL: freed */
    void *end;                  /* what the link has opened */
    unsigned turn;
};

/* Two loops that run. The server serves both eras; every third handler waits to be
 * told, the others answer at once. */
void halves_open(struct half halves[2], enum mcpi_era era,
                 const struct half_link *link);

/* Engine and link of a half; the client begins to negotiate. */
void half_begin(struct half *h);
/* The link goes. */
void half_leave(struct half *h);

/* Ends both, asserting that nothing is left. */
void halves_close(struct half halves[2]);

/* Run something on a half's thread, and wait for it. */
void half_do(struct half *h, void (*fn)(struct half *h));

/* A call that the test's thread starts and cancels by posting. */
struct remote {
    struct mcpi_post start, cancel;
    struct half *half;
    const char *params;     /* of tools/call, or NULL: tools/list */
    struct mcpi_call *call; /* the client's thread only, as all below */
    int done, status;
    atomic_int *left;
};

enum { REMOTES = 3000 };

struct remote *remotes_new(struct half *half, atomic_int *left);

/* Start and cancel each, some right behind the start. */
void remotes_post(struct remote *remotes);

/* Wait until each has ended, asserting that it did so once; free all. Returns how many
 * were canceled. */
long remotes_check(struct remote *remotes, atomic_int *left);

#endif
