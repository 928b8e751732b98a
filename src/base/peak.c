/* peak.c - when freed memory should go back to the system */
#include "base/peak.h"

/* Calm: no more than this part of the peak is left. */
#define PEAK_PART 4

void
mcpi_peak_init(struct mcpi_peak *peak)
{
    atomic_init(&peak->bytes, 0);
}

void
mcpi_peak_note(struct mcpi_peak *peak, size_t now)
{
    size_t bytes = atomic_load_explicit(&peak->bytes, memory_order_relaxed);

    while (now > bytes && !atomic_compare_exchange_weak(&peak->bytes, &bytes, now))
        ;
}

static bool
is_calm(size_t bytes, size_t now)
{
    return bytes >= MCPI_PEAK_LEAST && now <= bytes / PEAK_PART;
}

bool
mcpi_peak_is_calm(const struct mcpi_peak *peak, size_t now)
{
    return is_calm(atomic_load_explicit(&peak->bytes, memory_order_relaxed), now);
}

bool
mcpi_peak_settle(struct mcpi_peak *peak, size_t now)
{
    size_t bytes = atomic_load_explicit(&peak->bytes, memory_order_relaxed);

    return is_calm(bytes, now) &&
           atomic_compare_exchange_strong(&peak->bytes, &bytes, now);
}
