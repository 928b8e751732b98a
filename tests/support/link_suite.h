/*
 * support/link_suite.h - what must hold on every link, in both eras
 *
 * A link's test program brings a struct world_link, or several, and the cases of its
 * own (see session_suite.h, which runs this suite too). Each case of the suite runs in
 * each era it is meant for, as "unix.B1_..._legacy", unless it is about something that
 * the link does not have: its traits say so, and the tables of the suites which case
 * that is.
 */
#ifndef TESTS_SUPPORT_LINK_SUITE_H
#define TESTS_SUPPORT_LINK_SUITE_H

#include "support/world.h"

/* What a case is about, that not every link has. */
enum suite_need {
    /* A pipe that can end on one side: over HTTP there is none. Who stops sending has
     * left (E25), and what that means is said by D12, D16 and E18. */
    A_PIPE = 1,
    /* A session, where ids meet and frames find what they name. Modern requests over
     * HTTP share nothing (E24, E28), nor do those of a stateless server. */
    A_SESSION = 2,
    /* Something to be heard of a request that was canceled: a modern client over HTTP
     * has closed the response, so nothing can come on it; so has one in no session. */
    AN_EAR = 4,
    NOTES = 8,      /* a response with more in it than the answer */
    QUESTIONS = 16, /* a server that can ask: else J9 */
    A_RESPONSE = 32 /* of its own for each request, which can be closed: HTTP */
};

/* Has a link all of these, in that era, if it is for that era at all? */
bool link_suite_fits(unsigned needs, const struct world_link *link, bool legacy);

/* Cases that are put together at run time. Zero it. */
struct case_list {
    struct test_case *cases;
    void **owned; /* freed with them, or NULL */
    size_t count;
};

void case_list_add(struct case_list *list, struct test_case one, void *owned);
/* Runs them, as test_main, and frees the list. */
int case_list_main(const char *file, struct case_list *list);

void link_suite_add(struct case_list *list, const struct world_link *link);

/* Runs every case of the suite that is meant for this link and these eras, between a
 * client and a server of those, inside the case that calls it. Returns how many. */
size_t link_suite_run_all(const struct world_link *link, enum mcpi_era client,
                          enum mcpi_era server);

#endif
