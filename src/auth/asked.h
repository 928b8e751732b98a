/* asked.h - what a request at the guard brings, and what it is for; all borrowed */
#ifndef MCPI_AUTH_ASKED_H
#define MCPI_AUTH_ASKED_H

#include "auth/bearer.h"

struct mcpi_asked {
    struct mcpi_bearer bearer;
    const char *method, *path; /* the path may go on with a query */
    const char *need;          /* scopes, as far as they are known */
    bool unread;               /* the body may need more */
    size_t body_length;
};

#endif
