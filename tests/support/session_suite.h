/*
 * support/session_suite.h - listening, asking back and rounds, on every link
 *
 * The second suite that a link's test program runs: groups H, J and L as far as they
 * are about one link, between our own client and our own server. A case runs in the era
 * that has what it is about, as "unix.H3_..._modern".
 *
 *     int
 *     main(void)
 *     {
 *         return session_suite_main(__FILE__, &unix_link, own,
 *                                   sizeof(own) / sizeof(own[0]));
 *     }
 */
#ifndef TESTS_SUPPORT_SESSION_SUITE_H
#define TESTS_SUPPORT_SESSION_SUITE_H

#include "support/world.h"

/* Runs the link suite, this one, and then the cases of the link's own. Returns what
 * main should. */
int session_suite_main(const char *file, const struct world_link *link,
                       const struct test_case *own, size_t own_count);

/* The same for several links in one program. */
int session_suites_main(const char *file, const struct world_link *const *links,
                        size_t link_count, const struct test_case *own,
                        size_t own_count);

#endif
