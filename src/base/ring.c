/* ring.c - the last few hashes seen */
#include "base/ring.h"

void
mcpi_ring_init(struct mcpi_ring *ring)
{
    *ring = (struct mcpi_ring){.used = 0};
}

void
mcpi_ring_add(struct mcpi_ring *ring, uint64_t hash)
{
    ring->hash[ring->next] = hash;
    ring->next = (ring->next + 1) % MCPI_RING_SIZE;
    if (ring->used < MCPI_RING_SIZE)
        ring->used++;
}

bool
mcpi_ring_has(const struct mcpi_ring *ring, uint64_t hash)
{
    for (unsigned i = 0; i < ring->used; i++) {
        if (ring->hash[i] == hash)
            return true;
    }
    return false;
}
