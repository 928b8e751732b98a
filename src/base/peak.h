/*
 * peak.h - when freed memory should go back to the system
 *
 * malloc keeps what was freed. Where much was held and most of that was freed, it should
 * be told to give it back (run/memory.h). Any thread.
 */
#ifndef MCPI_BASE_PEAK_H
#define MCPI_BASE_PEAK_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

/* Less than this is not worth giving back. */
#define MCPI_PEAK_LEAST ((size_t)16 * 1024 * 1024)

struct mcpi_peak {
    atomic_size_t bytes; /* the most since mcpi_peak_settle was last true */
};

void mcpi_peak_init(struct mcpi_peak *peak);

/* So many are held now. */
void mcpi_peak_note(struct mcpi_peak *peak, size_t now);

/* Is `now` at most a quarter of a peak of MCPI_PEAK_LEAST or more? */
bool mcpi_peak_is_calm(const struct mcpi_peak *peak, size_t now);

/* The same, for the caller that gives memory back. If it is true the peak becomes `now`, so
 * it is true once for each peak. */
bool mcpi_peak_settle(struct mcpi_peak *peak, size_t now);

#endif
