/* ring.h - the last few hashes seen: a memory that forgets */
#ifndef MCPI_BASE_RING_H
#define MCPI_BASE_RING_H

#include <stdbool.h>
#include <stdint.h>

/* Enough for the late answers of a burst of cancels, and for its late cancels. */
#define MCPI_RING_SIZE 64

struct mcpi_ring {
    uint64_t hash[MCPI_RING_SIZE];
    unsigned next;
    unsigned used;
};

void mcpi_ring_init(struct mcpi_ring *ring);
void mcpi_ring_add(struct mcpi_ring *ring, uint64_t hash);
bool mcpi_ring_has(const struct mcpi_ring *ring, uint64_t hash);

#endif
