/*
 * support/link_suite.h - what must hold on every link, in both eras
 *
 * A link's test program brings a struct world_link and the cases of its own:
 *
 *     int
 *     main(void)
 *     {
 *         return link_suite_main(__FILE__, &unix_link, own, sizeof(own) / sizeof(own[0]));
 *     }
 *
 * Each case of the suite runs in each era it is meant for, as "unix.B1_..._legacy".
 */
#ifndef TESTS_SUPPORT_LINK_SUITE_H
#define TESTS_SUPPORT_LINK_SUITE_H

#include "support/world.h"

/* Runs the suite on a link, and then its own cases. Returns what main should. */
int link_suite_main(const char *file, const struct world_link *link,
                    const struct test_case *own, size_t own_count);

/* Runs every case of the suite that is meant for this era, between a client and a
 * server of these eras, inside the case that calls it. Returns how many. */
size_t link_suite_run_all(const struct world_link *link, enum mcpi_era client,
                          enum mcpi_era server);

#endif
