/*
 * names.h - a set of resources, by URI, and which of them a resource lies below
 *
 * The set is a map; its elements belong to whoever adds them, so adding cannot fail.
 */
#ifndef MCPI_CORE_NAMES_H
#define MCPI_CORE_NAMES_H

#include "base/map.h"

/* Longest URI that a client may watch: it is kept for a session, and each event is
 * compared with it. As long as one that a template is compared with. */
#define MCPI_WATCHED_URI_MAX 8192

struct mcpi_name {
    struct mcpi_map_node node;
    const char *text; /* borrowed */
    size_t len;
};

struct mcpi_name *mcpi_names_find(const struct mcpi_map *names, const char *text,
                                  size_t len);

/* It must not be there yet. */
void mcpi_names_add(struct mcpi_map *names, struct mcpi_name *name, const char *text,
                    size_t len);

/* Is it one of them, or does it lie below one of at most MCPI_WATCHED_URI_MAX bytes: a/b
 * below a, and below a/? */
bool mcpi_names_cover(const struct mcpi_map *names, const char *uri);

#endif
