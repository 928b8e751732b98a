/* support/sender.h - who sends a request, for tests that have no server above them */
#ifndef TESTS_SUPPORT_SENDER_H
#define TESTS_SUPPORT_SENDER_H

#include "link/http_endpoint.h"

/* Somebody of that name, whom nobody charges. */
#define SENDER(name) (&(const struct mcpi_http_who){.principal = (name)})

static const struct mcpi_http_clients nobody_counts = {0};

#endif
