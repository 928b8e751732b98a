/*
 * errand.h - what may block, done elsewhere, one after the other; and then we are told
 *
 * Functions of the program's that authorization calls: a token store's, an assertion's.
 * They run on a worker of the client, or on its loop if it has none; what came of it is
 * told on the loop. An errand that nobody waits for any more still comes home: who sent it
 * says in its own struct that it is not wanted.
 */
#ifndef MCPI_AUTH_ERRAND_H
#define MCPI_AUTH_ERRAND_H

#include "run/lane.h"

struct mcpi_errands;

/* Embedded; zeroed at first. */
struct mcpi_errand {
    struct mcpi_post post;
    struct mcpi_errands *by;
    void (*work)(struct mcpi_errand *errand); /* may block */
    void (*home)(struct mcpi_errand *errand); /* [loop]; may free it */
};

/* pool NULL: on the loop. [loop] */
int mcpi_errands_new(struct mcpi_loop *loop, struct mcpi_pool *pool,
                     struct mcpi_errands **ret_errands);

/* Cannot fail. [loop] */
void mcpi_errands_send(struct mcpi_errands *errands, struct mcpi_errand *errand);

/* None was ever sent: it is freed at once. [loop] */
void mcpi_errands_discard(struct mcpi_errands *errands);

/* No more are sent. When the last one is home it is freed and closed is called, on the
 * loop, later. [loop] */
void mcpi_errands_close(struct mcpi_errands *errands, void (*closed)(void *user),
                        void *user);

#endif
