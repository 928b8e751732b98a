/*
 * surrogate.h - halves of surrogate pairs among the escapes of a JSON text
 *
 * A program whose strings are UTF-16 may cut one in the middle of a pair, and then writes
 * "\ud83d" alone. RFC 8259 (8.2) allows it and leaves open what it means; no UTF-8 does.
 */
#ifndef MCPI_JSON_SURROGATE_H
#define MCPI_JSON_SURROGATE_H

#include <stddef.h>

/* Make each escape that is half of a pair that of U+FFFD, which is as long. Returns how
 * many they were. Linear, for any bytes. */
size_t mcpi_surrogates_repair(char *text, size_t len);

#endif
